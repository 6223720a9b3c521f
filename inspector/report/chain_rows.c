/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak chains for the writers: see chain_rows.h.  The census knows what hangs on what; which
 * of the roots are leaks, and what would break a cycle, the findings say.  In text, what
 * hangs on leak roots is a line per type: how much of it leaked, behind what, held where.
 * Plain blocks are left to `leaks`: nearly every object has a string.
 */
#include "report/chain_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/evidence.h"
#include "report/text.h"

#define LINES_SHOWN 8

static bool name_the_same(const struct ri_finding *a, const struct ri_finding *b)
{
	if (a->release.count != b->release.count)
		return false;
	for (size_t i = 0; i < a->release.count; i++)
		if (strcmp(a->release.items[i], b->release.items[i]))
			return false;
	return true;
}

/* Per object: the row of the chain whose root it is, or RI_NONE; a new array. */
static uint32_t *map_roots(const struct ri_analysis *analysis)
{
	const struct ri_chains *chains = analysis->chains;
	size_t count = analysis->population->object_count;
	uint32_t *row_of = ri_malloc(count * sizeof(*row_of));

	memset(row_of, 0xff, count * sizeof(*row_of));
	for (size_t c = 0; c < chains->count; c++) {
		const struct ri_chain *chain = &chains->items[c];

		for (uint32_t r = 0; !chain->is_plain && r < chain->root_count; r++)
			row_of[chains->roots[chain->first_root + r]] = (uint32_t)c;
	}
	return row_of;
}

struct ri_chain_row *ri_report_chain_rows(const struct ri_analysis *analysis, size_t *ret_count)
{
	const struct ri_chains *chains = analysis->chains;
	struct ri_chain_row *rows;
	bool *differs;
	uint32_t *row_of;

	*ret_count = 0;
	if (!chains || !chains->count || !analysis->findings)
		return NULL;
	rows = ri_calloc(chains->count, sizeof(*rows));
	differs = ri_calloc(chains->count, sizeof(*differs));
	row_of = map_roots(analysis);
	for (size_t c = 0; c < chains->count; c++)
		rows[c].chain = &chains->items[c];
	for (size_t i = 0; i < analysis->findings->count; i++) {
		const struct ri_finding *finding = &analysis->findings->items[i];
		bool is_cycle = !strcmp(finding->check->code, "cycle");
		uint32_t root, c;

		if (finding->object == RI_NONE ||
		    (!is_cycle && strcmp(finding->check->code, "unreachable")))
			continue;
		root = analysis->graph->leak_root[finding->object];
		c = root == RI_NONE ? RI_NONE : row_of[root];
		if (c == RI_NONE || rows[c].chain->is_cyclic != is_cycle)
			continue;
		rows[c].sure += finding->status == RI_FINDING_SURE;
		rows[c].unchecked += finding->status == RI_FINDING_UNCHECKED;
		if (!rows[c].release)
			rows[c].release = finding;
		else
			differs[c] |= !name_the_same(rows[c].release, finding);
	}
	for (size_t c = 0; c < chains->count; c++)
		if (!rows[c].chain->is_cyclic || differs[c])
			rows[c].release = NULL;
	*ret_count = chains->count;
	free(differs);
	free(row_of);
	return rows;
}

char *ri_report_chain_roots(const struct ri_analysis *analysis, const struct ri_chain *chain)
{
	const char *plural = chain->root_count == 1 ? "" : "s";

	if (chain->is_cyclic)
		return ri_format("%" PRIu32 " cycle%s of %s", chain->root_count, plural,
				 analysis->population->types[chain->type].name);
	if (!chain->is_plain)
		return ri_format("%" PRIu32 " %s", chain->root_count,
				 analysis->population->types[chain->type].name);
	if (chain->shape != RI_NONE)
		return ri_format("%" PRIu32 " block%s of %s", chain->root_count, plural,
				 analysis->shapes->shapes.items[chain->shape].name);
	return ri_format("%" PRIu32 " block%s of %" PRIu64 " bytes", chain->root_count, plural,
			 chain->block_bytes);
}

uint64_t ri_report_node_address(const struct ri_analysis *analysis, uint32_t node)
{
	uint32_t object_count = analysis->holders->object_count;

	return node < object_count ? analysis->population->objects[node].addr
				   : analysis->heap->blocks[node - object_count].addr;
}

char *ri_report_release_fields(const struct ri_finding *finding)
{
	char *text = NULL;

	for (size_t i = 0; i < finding->release.count; i++) {
		char *longer = text ? ri_format("%s, %s", text, finding->release.items[i])
				    : ri_strdup(finding->release.items[i]);

		free(text);
		text = longer;
	}
	return text;
}

bool ri_report_wants_chain(const struct ri_analysis *analysis,
			   const struct ri_report_options *options, const struct ri_chain *chain)
{
	const struct ri_counted_type *types = analysis->population->types;

	if (options->code || options->group || options->name || options->has_object ||
	    options->has_index)
		return false;
	if (!options->type)
		return true;
	if (!chain->is_plain && !strcmp(types[chain->type].name, options->type))
		return true;
	for (size_t i = 0; i < chain->part_count; i++)
		if (!strcmp(types[analysis->chains->parts.items[chain->first_part + i].type].name,
			    options->type))
			return true;
	return false;
}

/* "chain: 143 conn leaked (18 KiB), all behind 9 session, in session.conns[]". */
static void write_part(FILE *stream, const struct ri_analysis *analysis,
		       const struct ri_chain_row *row, const struct ri_chain_part *part)
{
	const char *type = analysis->population->types[part->type].name;
	uint64_t lost = analysis->chains->lost_of_type[part->type];
	char *bytes = ri_format_bytes(part->bytes);
	char *roots = ri_report_chain_roots(analysis, row->chain);
	char *fields = row->release ? ri_report_release_fields(row->release) : NULL;
	char *where = part->class_index == RI_NONE
			      ? ri_strdup("")
			      : ri_format(", in %s%s", ri_class_name(analysis, part->class_index),
					  part->class_others ? " and others" : "");
	char *count = part->count == lost
			      ? ri_format("%" PRIu64 " %s leaked (%s), all behind", lost, type,
					  bytes)
			      : ri_format("%" PRIu64 " of %" PRIu64 " leaked %s (%s) behind",
					  part->count, lost, type, bytes);

	ri_text_print(stream, 0, "chain%s: %s %s%s%s%s%s", row->sure ? "" : " (could not check)",
		      count, roots, where, fields ? "; releasing " : "", fields ? fields : "",
		      fields ? " breaks the loops" : "");
	free(bytes);
	free(roots);
	free(fields);
	free(where);
	free(count);
}

void ri_text_write_chains(FILE *stream, const struct ri_analysis *analysis,
			  const struct ri_report_options *options)
{
	size_t count, shown = 0, left_out = 0;
	struct ri_chain_row *rows = ri_report_chain_rows(analysis, &count);

	for (size_t c = 0; c < count; c++) {
		const struct ri_chain *chain = rows[c].chain;

		if ((!rows[c].sure && !rows[c].unchecked) ||
		    !ri_report_wants_chain(analysis, options, chain))
			continue;
		for (size_t i = 0; i < chain->part_count; i++) {
			if (!options->is_verbose && shown == LINES_SHOWN) {
				left_out++;
				continue;
			}
			write_part(stream, analysis, &rows[c],
				   &analysis->chains->parts.items[chain->first_part + i]);
			shown++;
		}
	}
	if (left_out)
		ri_text_print(stream, 0, "and %zu more; `leaks` lists all", left_out);
	if (shown)
		fputc('\n', stream);
	free(rows);
}
