/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nearest root of every node: see roots.h.  Breadth first from all roots at once,
 * twice as reachability is (graph.c): over certain owners, then on over possible ones.
 * Each node hands the class by which its root was left to what it leads to.
 *
 * A static object, or one marked as no leak, is a root without a class; what it holds
 * gets the class of its own member.  Of several roots at one distance the first in memory
 * order is taken.
 */
#include "census/roots.h"

#include <stdlib.h>

#include "base/memory.h"
#include "census/graph_private.h"

#define IS_ROOT (RI_NONE - 1) /* class_of[]: a root itself */

struct walk {
	const struct ri_holders *holders;
	uint32_t *class_of;
	uint32_t *queue;
	size_t head, tail;
};

static void expand(struct walk *walk, uint32_t node, uint8_t level)
{
	const struct ri_holders *h = walk->holders;

	for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
		const struct ri_edge *edge = &h->edges[e];
		uint32_t *class_of = &walk->class_of[edge->target];

		if (*class_of != RI_NONE || !ri_graph_passes(edge->flags, level))
			continue;
		if (walk->class_of[node] != IS_ROOT)
			*class_of = walk->class_of[node];
		else if (edge->flags & RI_EDGE_EMBEDS)
			*class_of = IS_ROOT;
		else
			*class_of = edge->class_index;
		walk->queue[walk->tail++] = edge->target;
	}
}

/* From everything that is known so far, in memory order. */
static void spread(struct walk *walk, uint8_t level)
{
	const struct ri_holders *h = walk->holders;

	walk->head = walk->tail = 0;
	for (uint32_t n = 0; n < h->node_count; n++)
		if (walk->class_of[n] != RI_NONE)
			walk->queue[walk->tail++] = n;
	while (walk->head < walk->tail)
		expand(walk, walk->queue[walk->head++], level);
}

uint32_t *ri_roots_find(const struct ri_holders *holders, const struct ri_population *population)
{
	uint32_t regions = holders->object_count + holders->block_count;
	struct walk walk = { .holders = holders };

	walk.class_of = ri_malloc(holders->node_count * sizeof(*walk.class_of));
	walk.queue = ri_malloc(holders->node_count * sizeof(*walk.queue));
	for (uint32_t n = 0; n < holders->node_count; n++) {
		bool is_root = n < holders->object_count
				       ? population->objects[n].state &
						 (RI_OBJECT_NOT_LEAK | RI_OBJECT_STATIC)
				       : n >= regions &&
						 holders->regions[n - regions].kind ==
							 RI_REGION_MODULE;

		walk.class_of[n] = is_root ? IS_ROOT : RI_NONE;
	}
	spread(&walk, RI_REACH_CERTAIN);
	for (uint32_t n = regions; n < holders->node_count; n++)
		walk.class_of[n] = IS_ROOT;
	spread(&walk, RI_REACH_ANY);
	for (uint32_t n = 0; n < holders->node_count; n++)
		if (walk.class_of[n] == IS_ROOT)
			walk.class_of[n] = RI_NONE;
	free(walk.queue);
	return walk.class_of;
}
