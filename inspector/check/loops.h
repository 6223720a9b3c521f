/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What to take out of a graph so that no loop is left: the fewest edges, and the fewest
 * classes of edges.
 */
#ifndef RI_CHECK_LOOPS_H
#define RI_CHECK_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ri_loop_edge {
	uint32_t source, target; /* below node_count */
	uint32_t class_index;
	bool is_fixed;           /* cannot be taken out */
};

struct ri_loops {
	uint32_t node_count;
	const struct ri_loop_edge *edges; /* ascending by source */
	size_t edge_count;
};

/*
 * Marks in ret[edge_count] edges without which no loop is left (but of fixed ones).
 * *steps, what an exact answer may cost in all, goes down by what it did; true: there is
 * no smaller set.
 */
bool ri_loops_choose_edges(const struct ri_loops *loops, uint64_t *steps, bool *ret);

/*
 * The same for classes: writes them, ascending, to a new array of *ret_count; null and 0
 * where fixed edges make a loop by themselves, or there are too many edges to try.
 */
uint32_t *ri_loops_choose_classes(const struct ri_loops *loops, uint64_t *steps, bool *ret_is_exact,
				  size_t *ret_count);

#endif
