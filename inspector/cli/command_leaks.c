/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `leaks`: the leak roots and what hangs on each.  `cycles`: unreachable
 * objects that hold one another. */
#include <inttypes.h>
#include <stdlib.h>

#include "check/evidence.h"
#include "check/leak_group.h"
#include "cli/commands.h"

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
	if (context->request.format[0] == 't' && graph->plain_leak_count)
		fprintf(context->out,
			"besides, %" PRIu32 " blocks without a counted object, %" PRIu64
			" bytes, are unreachable\n",
			graph->plain_leak_count, graph->plain_leak_bytes);
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
		"say so), or has perhaps been in (others like it are).",
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
