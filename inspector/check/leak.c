/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first objects of leaked chains: see leak.h. */
#include "check/leak.h"

#include "check/evidence.h"

bool ri_object_is_in_used_block(const struct ri_analysis *analysis, uint32_t object)
{
	uint32_t block = analysis->population->objects[object].block;

	return analysis->heap && block < analysis->heap->block_count &&
	       analysis->heap->blocks[block].state == RI_BLOCK_USED;
}

bool ri_object_is_leaked(const struct ri_analysis *analysis, uint32_t object)
{
	uint32_t state = analysis->population->objects[object].state;

	return ri_object_is_unreachable(analysis, object) &&
	       !(state & (RI_OBJECT_NOT_LEAK | RI_OBJECT_STATIC)) &&
	       ri_object_cause(analysis, object) == RI_CAUSE_NONE;
}

/* Whether every object that may own `object` is dead or exempt.  What plain
 * blocks between them hold is taken for theirs. */
static bool is_held_by_the_dead_alone(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_holders *holders = analysis->holders;

	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++) {
		uint64_t edge = holders->in_edges[i];
		uint32_t source = ri_holders_source(holders, edge);
		enum ri_object_cause cause;

		if (!ri_edge_may_own(&holders->edges[edge]) || source == object ||
		    source >= holders->object_count)
			continue;
		cause = ri_object_cause(analysis, source);
		if (cause != RI_CAUSE_DEAD && cause != RI_CAUSE_EXEMPT)
			return false;
	}
	return true;
}

bool ri_object_is_leak_root(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_graph *graph = analysis->graph;
	enum ri_object_cause cause;
	uint32_t root;

	if (!ri_object_is_leaked(analysis, object) || graph->cycle_of[object] != RI_NONE)
		return false;
	root = graph->leak_root[object];
	if (root == object || root == RI_NONE)
		return true;
	cause = ri_object_cause(analysis, root);
	return (cause == RI_CAUSE_DEAD || cause == RI_CAUSE_EXEMPT) &&
	       is_held_by_the_dead_alone(analysis, object);
}

bool *ri_find_group_owners(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	bool *owners = ri_calloc(population->object_count, sizeof(*owners));

	for (size_t g = 0; g < population->group_count; g++)
		if (population->groups[g].member_count &&
		    population->groups[g].object < population->object_count)
			owners[population->groups[g].object] = true;
	return owners;
}
