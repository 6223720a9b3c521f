/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Report writers.  Each format is one file with a `struct ri_writer`; the table
 * in writers.c lists them.  They write to a stdio stream and change nothing.
 */
#ifndef RI_REPORT_REPORT_H
#define RI_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "check/analysis.h"

typedef RI_VEC(uint64_t) ri_report_addr_list;

struct ri_report_options {
	bool is_verbose;         /* -v: every finding with every holder, nothing folded */
	bool is_quiet;           /* -q: findings and the verdict alone */
	bool show_names;         /* object names (read from memory) in files and machine formats */
	bool is_terminal;        /* the stream ends at a terminal (colours, names) */
	bool use_colour;
	size_t limit;            /* rows of a listing, 0: all */
	/* filters, null: all */
	const char *type, *group, *code, *name;
	bool has_object, has_index;
	uint32_t object;         /* index of the one object that is meant, if has_object */
	int64_t index;           /* value of the objects' index member, if has_index */
	const char *command_prefix; /* how the user would call the tool again: "refinspect core.1234" */
	/* null, or where listings append what their "address" column shows, row by row */
	ri_report_addr_list *addresses;
};

struct ri_writer {
	const char *name;        /* "text", "json" */
	/* The report of `check`. */
	void (*write_check)(FILE *stream, const struct ri_analysis *analysis,
			    const struct ri_report_options *options);
	/* What the result rests on: the report of `coverage`. */
	void (*write_coverage)(FILE *stream, const struct ri_analysis *analysis,
			       const struct ri_report_options *options);
};

extern const struct ri_writer *const ri_writers[]; /* null-terminated */
const struct ri_writer *ri_writer_find(const char *name);

/*
 * Listings (types, objects, groups, holders, ...): columns and rows that the
 * text writer shows as a table (libsmartcols up to 10,000 rows, then streamed)
 * and the JSON writer as one record per row.
 */
struct ri_column {
	const char *name;        /* JSON key; upper-cased as the heading */
	bool is_number;          /* right-aligned; a JSON number where it parses as one */
};

struct ri_listing;
struct ri_listing *ri_listing_create(FILE *stream, const char *format, const char *record_name,
				     const struct ri_column *columns, size_t column_count,
				     const struct ri_report_options *options);
/* One row: `column_count` strings, null for an empty cell; copied. */
void ri_listing_add(struct ri_listing *listing, const char *const *cells);
/* Writes what is left (how many rows were left out by the limit included). */
void ri_listing_finish(struct ri_listing *listing);

/* Every holder of one object, a row each (shared by `holders` and -v). */
void ri_report_holders(FILE *stream, const char *format, const struct ri_analysis *analysis,
		       uint32_t object, const struct ri_report_options *options);

#endif
