/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What graph.c, components.c, leaks.c and chains.c share.  Private to them. */
#ifndef RI_CENSUS_GRAPH_PRIVATE_H
#define RI_CENSUS_GRAPH_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census/graph.h"

/* Whether an edge leads on at a level of reachability (one RI_REACH_* bit). */
static inline bool ri_graph_passes(uint32_t flags, uint8_t level)
{
	if (flags & RI_EDGE_LINK)
		return false;
	if (level == RI_REACH_CERTAIN)
		return !(flags & (RI_EDGE_POSSIBLE | RI_EDGE_BORROWS));
	if (level == RI_REACH_GROUP)
		return !(flags & RI_EDGE_BORROWS) || flags & RI_EDGE_MEMBERSHIP;
	return !(flags & RI_EDGE_BORROWS);
}

/*
 * The strongly connected components of the unreachable objects and used blocks,
 * over certain and possible owners.  Numbers count from 1 in an order in which
 * every edge leads to a component of the same or a smaller number.
 */
struct ri_components {
	uint32_t node_count;     /* objects and blocks */
	uint32_t *of;            /* per node: its component; 0: not among the unreachable */
	size_t of_bytes;
	uint32_t *order;         /* the unreachable nodes by ascending component */
	size_t order_count;
	uint32_t *first_object;  /* per component: its smallest object, or RI_NONE; [0] unused */
	uint32_t count;          /* components 1 .. count */
};

/* `is_node` says which unreachable nodes take part. */
void ri_components_init(struct ri_components *components, const struct ri_holders *holders,
			const uint8_t *reach, bool (*is_node)(const void *data, uint32_t node),
			const void *data);
void ri_components_deinit(struct ri_components *components);

/* Bytes that are lost with a node, an object or a block; those of embedded objects are their
 * container's.  `block_object`: see extents.h. */
uint64_t ri_graph_lost_bytes(const struct ri_population *population, const struct ri_heap *heap,
			     const uint32_t *block_object, uint32_t node);

/* Fills leak roots, what hangs on them, cycles and plain leaks of `graph`, whose
 * reach[] is there. */
void ri_leaks_find(struct ri_graph *graph, const struct ri_holders *holders,
		   const struct ri_population *population, const struct ri_heap *heap);

#endif
