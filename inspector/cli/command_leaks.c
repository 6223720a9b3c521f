/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `leaks`: the leak roots and what hangs on each.  `cycles`: unreachable
 * objects that hold one another. */
#include <inttypes.h>
#include <stdlib.h>

#include "check/evidence.h"
#include "check/leak_group.h"
#include "cli/commands.h"
#include "report/chain_rows.h"

#define CELL_BYTES 32

/* The groups that the object is in, or the one that it was in, or may have been. */
static char *group_of(const struct ri_analysis *analysis, const struct ri_leak_groups *known,
		      uint32_t object)
{
	char *groups = ri_command_group_words(analysis->population, object);
	enum ri_group_clue clue;
	uint32_t group;

	if (*groups)
		return groups;
	group = ri_leak_group(known, object, &clue);
	if (group == RI_NONE)
		return groups;
	free(groups);
	return ri_format("%s (%s)", ri_group_label(analysis, group),
			 clue < RI_CLUE_POOL ? "left" : "perhaps");
}

static void add_leak_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			 const struct ri_leak_groups *known, uint32_t index)
{
	const struct ri_object *object = &analysis->population->objects[index];
	char addr[CELL_BYTES], count[CELL_BYTES], behind[CELL_BYTES], bytes[CELL_BYTES];
	char *groups = group_of(analysis, known, index);
	const char *cells[] = { addr, analysis->population->types[object->type].name, count, behind,
				bytes, groups };

	snprintf(addr, sizeof(addr), "%#" PRIx64, object->addr);
	snprintf(count, sizeof(count), "%" PRId64, object->count);
	snprintf(behind, sizeof(behind), "%" PRIu32, analysis->graph->hangs_on_count[index]);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, analysis->graph->hangs_on_bytes[index]);
	ri_listing_add(listing, cells);
	free(groups);
}

/* One row per type that hangs on leak roots that are alike, and one for plain blocks. */
static void add_chain_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			  const struct ri_chain_row *row, const struct ri_chain_part *part)
{
	const struct ri_chain *chain = row->chain;
	char *roots = ri_report_chain_roots(analysis, chain);
	char *release = row->release ? ri_report_release_fields(row->release) : NULL;
	char *where = part && part->class_index != RI_NONE
			      ? ri_format("%s%s", ri_class_name(analysis, part->class_index),
					  part->class_others ? " and others" : "")
			      : NULL;
	char behind[CELL_BYTES], bytes[CELL_BYTES], leaked[CELL_BYTES];
	const char *type = part ? analysis->population->types[part->type].name : "(plain blocks)";
	const char *cells[] = { roots, behind, type, bytes, part ? leaked : NULL, where, release };

	snprintf(behind, sizeof(behind), "%" PRIu64, part ? part->count : chain->plain_count);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, part ? part->bytes : chain->plain_bytes);
	snprintf(leaked, sizeof(leaked), "%" PRIu64,
		 part ? analysis->chains->lost_of_type[part->type] : 0);
	ri_listing_add(listing, cells);
	free(roots);
	free(release);
	free(where);
}

static void list_chains(const struct ri_command_context *context)
{
	static const struct ri_column columns[] = {
		{ "roots", false },  { "behind", true },   { "type", false },    { "bytes", true },
		{ "leaked", true }, { "held_in", false }, { "release", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	struct ri_report_options options = context->report;
	struct ri_listing *listing;
	struct ri_chain_row *rows;
	size_t count;

	options.addresses = NULL;
	listing = ri_listing_create(context->out, context->request.format, "chains", columns,
				    sizeof(columns) / sizeof(columns[0]), &options);
	rows = ri_report_chain_rows(analysis, &count);
	for (size_t c = 0; c < count; c++) {
		const struct ri_chain *chain = rows[c].chain;

		if (!ri_report_wants_chain(analysis, &context->report, chain))
			continue;
		for (size_t i = 0; i < chain->part_count; i++)
			add_chain_row(listing, analysis, &rows[c],
				      &analysis->chains->parts.items[chain->first_part + i]);
		if (chain->plain_count)
			add_chain_row(listing, analysis, &rows[c], NULL);
	}
	free(rows);
	ri_listing_finish(listing);
}

/* Plain blocks that nothing leads to: those that no other such block holds. */
static void list_blocks(const struct ri_command_context *context)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false },	 { "bytes", true },
		{ "behind", true },   { "bytes_behind", true },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_chains *chains = analysis->chains;
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "blocks", columns,
				  sizeof(columns) / sizeof(columns[0]), &context->report);

	for (size_t c = 0; chains && c < chains->count; c++) {
		const struct ri_chain *chain = &chains->items[c];

		if (!chain->is_plain || !ri_report_wants_chain(analysis, &context->report, chain))
			continue;
		for (uint32_t r = 0; r < chain->root_count; r++) {
			uint32_t node = chains->roots[chain->first_root + r];
			struct ri_hanging hanging = ri_chains_measure(chains, node);
			uint32_t block = node - analysis->holders->object_count;
			char addr[CELL_BYTES], bytes[CELL_BYTES], behind[CELL_BYTES];
			char bytes_behind[CELL_BYTES];
			const char *cells[] = { addr, NULL, bytes, behind, bytes_behind };

			if (chain->shape != RI_NONE)
				cells[1] = analysis->shapes->shapes.items[chain->shape].name;
			snprintf(addr, sizeof(addr), "%#" PRIx64,
				 analysis->heap->blocks[block].addr);
			snprintf(bytes, sizeof(bytes), "%" PRIu64,
				 (uint64_t)analysis->heap->blocks[block].size_bytes);
			snprintf(behind, sizeof(behind), "%" PRIu64, hanging.plain_count);
			snprintf(bytes_behind, sizeof(bytes_behind), "%" PRIu64, hanging.bytes);
			ri_listing_add(listing, cells);
		}
	}
	ri_listing_finish(listing);
}

static bool has_chains(const struct ri_analysis *analysis)
{
	for (size_t c = 0; analysis->chains && c < analysis->chains->count; c++)
		if (analysis->chains->items[c].part_count || analysis->chains->items[c].plain_count)
			return true;
	return false;
}

static struct ri_error *run_leaks(struct ri_command_context *context, int word_count, char **words,
				  int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false },       { "count", true },
		{ "behind", true },   { "bytes_behind", true }, { "group", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_graph *graph = analysis->graph;
	struct ri_leak_groups *known = ri_leak_groups_create(analysis);
	struct ri_listing *listing;

	(void)word_count;
	(void)words;
	(void)ret_status;
	listing = ri_listing_create(context->out, context->request.format, "leaks", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (uint32_t i = 0; i < analysis->population->object_count; i++)
		if (graph->leak_root[i] == i && ri_filter_has_object(analysis, &context->request, i))
			add_leak_row(listing, analysis, known, i);
	ri_leak_groups_destroy(known);
	ri_listing_finish(listing);
	if (context->request.format[0] != 't' || has_chains(analysis))
		list_chains(context);
	if (context->request.format[0] == 't' && graph->plain_leak_count)
		fprintf(context->out,
			"besides, %" PRIu32 " blocks without a counted object, %" PRIu64
			" bytes, are unreachable\n",
			graph->plain_leak_count, graph->plain_leak_bytes);
	if (context->request.format[0] != 't' || graph->plain_root_count)
		list_blocks(context);
	for (size_t i = 0; context->request.format[0] == 't' && analysis->lost &&
			   i < analysis->lost->doubts.count; i++) {
		char *doubt = ri_lost_doubt_words(&analysis->lost->doubts.items[i]);

		if (!analysis->lost->doubts.items[i].is_reachable)
			fprintf(context->out, "could not check: %s\n", doubt);
		free(doubt);
	}
	return NULL;
}

const struct ri_command ri_command_leaks = {
	.name = "leaks",
	.arguments = "",
	.summary = "the first object of each leaked chain, what hangs on it",
	.help = "A row per leak root: an unreachable object that no other unreachable object "
		"holds, or the lowest one of a cycle; how many objects and bytes hang on it; and "
		"the group that it is in, has left (its back pointer, link words or neighbours "
		"say so), or has perhaps been in (others like it are). Then what hangs on roots "
		"that are alike, by type: how many objects and bytes hang on them and on nothing "
		"else, how many of the type leaked in all, the fields that hold most of them "
		"there, and of a cycle those that would break it. Last the plain blocks that "
		"nothing leads to, and what hangs on each.",
	.needs_target = true,
	.run = run_leaks,
};

static struct ri_error *run_cycles(struct ri_command_context *context, int word_count, char **words,
				   int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "cycle", true }, { "address", false }, { "type", false }, { "count", true },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_graph *graph = analysis->graph;
	struct ri_listing *listing;

	(void)word_count;
	(void)words;
	(void)ret_status;
	listing = ri_listing_create(context->out, context->request.format, "cycles", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < graph->cycle_count; i++) {
		for (uint32_t k = 0; k < graph->cycles[i].count; k++) {
			uint32_t index = graph->cycle_members[graph->cycles[i].first + k];
			const struct ri_object *object = &analysis->population->objects[index];
			char number[CELL_BYTES], addr[CELL_BYTES], count[CELL_BYTES];
			const char *cells[] = { number, addr,
						analysis->population->types[object->type].name,
						count };

			if (!ri_filter_has_object(analysis, &context->request, index))
				continue;
			snprintf(number, sizeof(number), "%zu", i + 1);
			snprintf(addr, sizeof(addr), "%#" PRIx64, object->addr);
			snprintf(count, sizeof(count), "%" PRId64, object->count);
			ri_listing_add(listing, cells);
		}
	}
	ri_listing_finish(listing);
	return NULL;
}

const struct ri_command ri_command_cycles = {
	.name = "cycles",
	.arguments = "",
	.summary = "unreachable objects that hold one another",
	.help = "A row per object of each garbage cycle, cycles numbered; the report's 'cycle' "
		"findings name the fields to release.",
	.needs_target = true,
	.run = run_cycles,
};
