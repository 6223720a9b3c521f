/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fields through which the members of one cycle hold one another, and a
 * small set of them whose release breaks every loop.
 */
#ifndef RI_CHECK_CYCLE_EDGES_H
#define RI_CHECK_CYCLE_EDGES_H

#include "check/check.h"

/* One holder inside a cycle.  Nodes are numbered as in census/holders.h. */
struct ri_cycle_edge {
	uint32_t source, target;
	uint32_t class_index;
	uint32_t flags;      /* RI_EDGE_* */
	bool is_to_release;  /* part of the set that breaks every loop */
};

struct ri_cycle_edges {
	struct ri_cycle_edge *items; /* by source, then as in the census */
	size_t count;
	size_t release_count;
	bool is_smallest;    /* no smaller set of edges breaks every loop */
	/* holder classes without which no loop is left either, ascending; null: not found */
	uint32_t *fields;
	size_t field_count;
	bool is_fewest;      /* no fewer classes do */
	bool is_simple;      /* one loop: releasing any one edge breaks it */
	bool is_cut;         /* too many plain blocks on the way: some edges are left out */
};

struct ri_cycle_tracer;

/* Tables for any number of cycles of one analysis, used one after another. */
struct ri_cycle_tracer *ri_cycle_tracer_create(const struct ri_analysis *analysis);
void ri_cycle_tracer_destroy(struct ri_cycle_tracer *tracer);

/* The edges of cycle `index` of the graph.  ri_cycle_edges_deinit() frees them. */
struct ri_cycle_edges ri_cycle_trace(struct ri_cycle_tracer *tracer, size_t index);
void ri_cycle_edges_deinit(struct ri_cycle_edges *edges);

#endif
