/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graph over the census' nodes: reachability from the roots twice (over
 * certain owners, over certain and possible ones), strongly connected
 * components of what is unreachable, leak roots, and the shortest path from a
 * root to a node.
 */
#ifndef RI_CENSUS_GRAPH_H
#define RI_CENSUS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census/holders.h"

enum { /* ri_graph.reach[node] */
	RI_REACH_CERTAIN = 1,    /* from a root over certain owners */
	RI_REACH_ANY = 2,        /* over certain and possible owners */
	RI_REACH_GROUP = 4,      /* over borrowing memberships too */
};

struct ri_cycle {
	uint32_t first, count;   /* members cycle_members[first .. first + count), objects alone */
};

struct ri_graph {
	uint8_t *reach;          /* per node */
	/* unreachable objects: the leak root each hangs on (itself for a root or for the
	 * smallest member of a cycle); RI_NONE for reachable ones */
	uint32_t *leak_root;
	/* per object, of leak roots: objects behind it, itself not counted, and the bytes of
	 * those and of the plain blocks behind it */
	uint32_t *hangs_on_count;
	uint64_t *hangs_on_bytes;
	struct ri_cycle *cycles; /* unreachable components of two or more objects, or a self loop */
	size_t cycle_count;
	uint32_t *cycle_members;
	uint32_t *cycle_of;      /* per object: index into cycles[], or RI_NONE */
	/* used blocks without objects that nothing reaches, unreachable objects included */
	uint32_t plain_leak_count;
	uint64_t plain_leak_bytes;
	/* those of them that no other one holds: block indices, ascending */
	uint32_t *plain_roots;
	size_t plain_root_count;
};

struct ri_graph *ri_graph_create(const struct ri_holders *holders,
				 const struct ri_population *population,
				 const struct ri_heap *heap);
void ri_graph_destroy(struct ri_graph *graph);

/*
 * A shortest path from a root to `node` over edges whose flags have none of
 * `without` (RI_EDGE_*): edge indices root first, in a new array owned by the
 * caller; *ret_count 0 and null when there is none.
 */
uint64_t *ri_graph_path(const struct ri_holders *holders, uint32_t node, uint32_t without,
			size_t *ret_count);

#endif
