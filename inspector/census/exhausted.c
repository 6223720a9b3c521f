/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a count has left over for words of other mappings: stacks of an interpreter's own,
 * whose slots above what is in use keep what was there.  Where an object's count is used
 * up by certain holders, such a word owns nothing, and keeps nothing alive.
 *
 * Only for objects that count nothing but words with their address: there a certain holder
 * is one that owns by the convention's own rules.  Threads' stacks and registers are left
 * as they are: what they hold without owning is in use.
 */
#include "census/holders.h"

static bool is_exact(const struct ri_population *population, const struct ri_layout *layout,
		     uint32_t object)
{
	uint32_t convention = population->types[population->objects[object].type].convention;

	return layout && convention < layout->conventions.count &&
	       layout->conventions.items[convention].is_exact;
}

void ri_holders_settle(struct ri_holders *holders, const struct ri_population *population,
		       const struct ri_shapes *shapes)
{
	uint32_t first = holders->object_count + holders->block_count;

	for (uint64_t e = holders->first[first]; e < holders->edge_count; e++) {
		struct ri_edge *edge = &holders->edges[e];
		uint32_t o = edge->target;

		if (o >= holders->object_count || !(edge->flags & RI_EDGE_POSSIBLE) ||
		    shapes->classes.items[edge->class_index].kind != RI_CLASS_MAPPING ||
		    !is_exact(population, shapes->layout, o) || !holders->certain[o] ||
		    population->objects[o].count != (int64_t)holders->certain[o])
			continue;
		edge->flags = (edge->flags & ~(uint32_t)RI_EDGE_POSSIBLE) | RI_EDGE_BORROWS;
		if (holders->possible[o])
			holders->possible[o]--;
	}
}
