/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Back pointers whose ownership nobody declared.  A member's pointer to its group may
 * own the group or not, and programs do both, so it is a possible holder until a profile
 * says; as long as none does, a group that is short of a reference shows no deficit.
 * Cost: one pass over the edges.
 */
#include "census/holders.h"

#include <stdlib.h>

/* Per class, whether it is one of undeclared back pointers: a new array. */
static bool *find_undeclared(const struct ri_shapes *shapes)
{
	bool *is_back = ri_calloc(shapes->classes.count, sizeof(*is_back));

	for (size_t i = 0; i < shapes->shapes.count; i++) {
		const struct ri_shape *shape = &shapes->shapes.items[i];

		for (size_t s = 0; s < shape->slot_count; s++) {
			uint32_t class = shape->slots[s].class_index;

			if (shape->slots[s].kind == RI_SLOT_BACK && class < shapes->classes.count)
				is_back[class] = shapes->classes.items[class].is_possible &&
						 !shapes->classes.items[class].is_declared;
		}
	}
	return is_back;
}

void ri_holders_tell_backs(const struct ri_holders *holders,
			   const struct ri_population *population, const struct ri_shapes *shapes,
			   struct ri_gaps *gaps)
{
	bool *is_untold = find_undeclared(shapes);

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];

		if (edge->class_index >= shapes->classes.count || !is_untold[edge->class_index] ||
		    edge->target >= holders->object_count || edge->flags & RI_EDGE_LINK)
			continue;
		is_untold[edge->class_index] = false;
		ri_gaps_add(gaps, RI_GAP_TOLD, "census",
			    "%s: ownership not declared, deficits of %s may go unseen",
			    shapes->classes.items[edge->class_index].name,
			    population->types[population->objects[edge->target].type].name);
	}
	free(is_untold);
}
