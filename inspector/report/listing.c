/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings: see report.h.
 *
 * Text: up to BUFFERED_ROWS rows are kept and laid out as one table by
 * libsmartcols; when one more comes, the kept rows decide the widths and this
 * and all further rows are streamed in the same columns.  Cells are cleaned and,
 * unless verbose, cut at CELL_MAX_BYTES, so that one long name from a target does
 * not make every line long.
 *
 * JSON: {"RECORDS": [ one row per line ], "left_out": N}; the rows are streamed.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/records.h"
#include "report/words.h"

#define BUFFERED_ROWS  10000
#define CELL_MAX_BYTES 64

struct ri_listing {
	FILE *stream;
	bool is_json, is_verbose;
	char *record_name;
	struct ri_column *columns; /* names owned */
	size_t column_count, limit;
	size_t row_count, left_out;
	size_t address_column;             /* or column_count: there is none */
	ri_report_addr_list *addresses;    /* the caller's, or null */
	RI_VEC(char *) cells; /* text: kept rows, column_count each; null: empty */
	int *widths;          /* text, once streaming: null before */
};

struct ri_listing *ri_listing_create(FILE *stream, const char *format, const char *record_name,
				     const struct ri_column *columns, size_t column_count,
				     const struct ri_report_options *options)
{
	struct ri_listing *listing = ri_calloc(1, sizeof(*listing));

	listing->stream = stream;
	listing->is_json = !strcmp(format, "json");
	listing->is_verbose = options->is_verbose;
	listing->record_name = ri_strdup(record_name);
	listing->columns = ri_calloc(column_count, sizeof(*columns));
	listing->address_column = column_count;
	for (size_t i = 0; i < column_count; i++) {
		listing->columns[i].name = ri_strdup(columns[i].name);
		listing->columns[i].is_number = columns[i].is_number;
		if (!strcmp(columns[i].name, "address"))
			listing->address_column = i;
	}
	listing->addresses = options->addresses;
	listing->column_count = column_count;
	listing->limit = options->limit;
	if (listing->is_json) {
		fputc('{', stream);
		ri_json_write_string(stream, record_name);
		fputs(": [", stream);
	}
	return listing;
}

static void destroy(struct ri_listing *listing)
{
	for (size_t i = 0; i < listing->cells.count; i++)
		free(listing->cells.items[i]);
	ri_vec_deinit(&listing->cells);
	for (size_t i = 0; i < listing->column_count; i++)
		free((char *)listing->columns[i].name);
	free(listing->columns);
	free(listing->record_name);
	free(listing->widths);
	free(listing);
}

/* Cleaned, and cut between two characters. */
static char *make_cell(const struct ri_listing *listing, const char *text)
{
	char *clean = ri_words_clean(text && *text ? text : "-");
	size_t length = strlen(clean);

	if (!listing->is_verbose && length > CELL_MAX_BYTES) {
		length = CELL_MAX_BYTES - 3;
		while (length && ((unsigned char)clean[length] & 0xc0) == 0x80)
			length--;
		strcpy(clean + length, "...");
	}
	return clean;
}

static char *make_heading(const char *name)
{
	char *heading = ri_strdup(name);

	for (char *p = heading; *p; p++)
		*p = *p == '_' ? ' ' : *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
	return heading;
}

/* Characters, where each takes one column: continuation bytes do not count. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void write_cell(const struct ri_listing *listing, size_t column, const char *text)
{
	int padding = listing->widths[column] - width_of(text);
	bool is_last = column + 1 == listing->column_count;

	if (padding < 0)
		padding = 0;
	if (listing->columns[column].is_number)
		fprintf(listing->stream, "%*s%s", padding, "", text);
	else
		fprintf(listing->stream, "%s%*s", text, is_last ? 0 : padding, "");
	fputc(is_last ? '\n' : ' ', listing->stream);
}

/* From here on rows are written as they come, the kept ones first. */
static void start_streaming(struct ri_listing *listing)
{
	size_t columns = listing->column_count;

	listing->widths = ri_calloc(columns, sizeof(*listing->widths));
	for (size_t c = 0; c < columns; c++)
		listing->widths[c] = width_of(listing->columns[c].name);
	for (size_t i = 0; i < listing->cells.count; i++) {
		int width = width_of(listing->cells.items[i]);

		if (width > listing->widths[i % columns])
			listing->widths[i % columns] = width;
	}
	for (size_t c = 0; c < columns; c++) {
		char *heading = make_heading(listing->columns[c].name);

		write_cell(listing, c, heading);
		free(heading);
	}
	for (size_t i = 0; i < listing->cells.count; i++) {
		write_cell(listing, i % columns, listing->cells.items[i]);
		free(listing->cells.items[i]);
	}
	listing->cells.count = 0;
}

static void keep_address(struct ri_listing *listing, const char *const *cells)
{
	if (!listing->addresses || listing->address_column == listing->column_count ||
	    !cells[listing->address_column])
		return;
	*ri_push(listing->addresses) = strtoull(cells[listing->address_column], NULL, 0);
}

void ri_listing_add(struct ri_listing *listing, const char *const *cells)
{
	if (listing->limit && listing->row_count >= listing->limit) {
		listing->left_out++;
		return;
	}
	listing->row_count++;
	keep_address(listing, cells);
	if (listing->is_json) {
		fputs(listing->row_count > 1 ? ",\n" : "\n", listing->stream);
		ri_json_write_record(listing->stream, listing->columns, cells,
				     listing->column_count);
		return;
	}
	if (listing->row_count == BUFFERED_ROWS + 1)
		start_streaming(listing);
	for (size_t c = 0; c < listing->column_count; c++) {
		char *cell = make_cell(listing, cells[c]);

		if (listing->widths) {
			write_cell(listing, c, cell);
			free(cell);
		} else {
			*ri_push(&listing->cells) = cell;
		}
	}
}

/* What libsmartcols makes fails for want of memory alone; a row less would not be noticed. */
static void check_memory(const void *made)
{
	if (!made)
		ri_memory_exhausted(0);
}

static void write_table(struct ri_listing *listing)
{
	struct libscols_table *table = scols_new_table();
	size_t columns = listing->column_count;

	check_memory(table);
	scols_table_set_stream(table, listing->stream);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_enable_noencoding(table, 1); /* the cells are clean */
	for (size_t c = 0; c < columns; c++) {
		char *heading = make_heading(listing->columns[c].name);

		check_memory(scols_table_new_column(
			table, heading, 0, listing->columns[c].is_number ? SCOLS_FL_RIGHT : 0));
		free(heading);
	}
	for (size_t i = 0; i < listing->cells.count; i += columns) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		check_memory(line);
		for (size_t c = 0; c < columns; c++)
			if (scols_line_set_data(line, c, listing->cells.items[i + c]))
				ri_memory_exhausted(0);
	}
	if (scols_print_table(table) == -ENOMEM)
		ri_memory_exhausted(0);
	scols_unref_table(table);
}

void ri_listing_finish(struct ri_listing *listing)
{
	if (listing->is_json) {
		fprintf(listing->stream, "%s], \"left_out\": %zu}\n",
			listing->row_count ? "\n" : "", listing->left_out);
	} else {
		if (!listing->row_count)
			fprintf(listing->stream, "no %s\n", listing->record_name);
		else if (!listing->widths)
			write_table(listing);
		if (listing->left_out)
			fprintf(listing->stream, "%zu more rows left out by the limit\n",
				listing->left_out);
	}
	destroy(listing);
}
