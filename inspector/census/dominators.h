/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Immediate dominators of a flow graph: which node every way to a node leads through last.
 * What a node dominates is what would go with it.  Private to the census floor and its tests.
 */
#ifndef RI_CENSUS_DOMINATORS_H
#define RI_CENSUS_DOMINATORS_H

#include <stdint.h>

/* Node 0 is the entry; targets[first[n] .. first[n + 1]) are the successors of node n.
 * Loops, and several edges between two nodes, are allowed. */
struct ri_flow {
	uint32_t node_count;
	const uint32_t *first;
	const uint32_t *targets;
};

/* The immediate dominator of each node, RI_NONE for the entry and for what no way leads to.
 * A new array of node_count, owned by the caller. */
uint32_t *ri_dominators_find(const struct ri_flow *flow);

#endif
