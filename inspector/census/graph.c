/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reachability and shortest paths over the census' nodes: see graph.h.
 *
 * Three levels are reached one after the other, each from everything that the
 * one before reached: over certain owners from module data and thread-local storage,
 * over certain and possible ones from every region, over memberships that borrow as well.  A
 * level goes once through the edges of what was there before, in memory order,
 * and then breadth first through what it found, fetching ahead.
 *
 * Objects that the program marked as no leak are roots, so are static ones.
 * Link words lead nowhere: the membership of what they chain does.
 */
#include "census/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "census/graph_private.h"

#define EDGES_AHEAD 24

struct walk {
	const struct ri_holders *holders;
	uint8_t *reach;
	uint32_t *queue;         /* nodes found at this level, in order */
	size_t head, tail;
	bool met_borrowing;      /* a reached node's membership that borrows */
};

static bool is_root_object(const struct ri_object *object)
{
	return object->state & (RI_OBJECT_NOT_LEAK | RI_OBJECT_STATIC);
}

static bool is_root_region(const struct ri_region *region, uint8_t level)
{
	return level != RI_REACH_CERTAIN || region->kind == RI_REGION_MODULE ||
	       region->kind == RI_REGION_TLS;
}

/* Gives `level` to what the edges of `node` lead to; those that were followed at
 * the level `below` (0: none) need not be looked at. */
static void expand(struct walk *walk, uint32_t node, uint8_t below, uint8_t level)
{
	const struct ri_holders *h = walk->holders;

	for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
		const struct ri_edge *edge = &h->edges[e];

		if (edge->flags & RI_EDGE_BORROWS && edge->flags & RI_EDGE_MEMBERSHIP)
			walk->met_borrowing = true;
		if (!ri_graph_passes(edge->flags, level) ||
		    (below && ri_graph_passes(edge->flags, below)) ||
		    walk->reach[edge->target] & level)
			continue;
		walk->reach[edge->target] |= level;
		walk->queue[walk->tail++] = edge->target;
	}
}

/* Asks for what expanding the nodes behind `node` in memory order will look at. */
static void fetch_targets(const struct walk *walk, uint32_t node)
{
	const struct ri_holders *h = walk->holders;
	uint64_t e = h->first[node] + EDGES_AHEAD, end = h->first[node + 1] + EDGES_AHEAD;

	for (end = end < h->edge_count ? end : h->edge_count; e < end; e++)
		__builtin_prefetch(&walk->reach[h->edges[e].target]);
}

static void drain(struct walk *walk, uint8_t level)
{
	const struct ri_holders *h = walk->holders;

	while (walk->head < walk->tail) {
		size_t ahead = walk->tail - walk->head;

		if (ahead > 8)
			__builtin_prefetch(&h->first[walk->queue[walk->head + 8]]);
		if (ahead > 4)
			__builtin_prefetch(&h->edges[h->first[walk->queue[walk->head + 4]]]);
		expand(walk, walk->queue[walk->head++], 0, level);
	}
}

/* Gives `level` to every root and to all that was reached at `below`, then on. */
static void reach_level(struct walk *walk, const struct ri_population *population, uint8_t below,
			uint8_t level)
{
	const struct ri_holders *h = walk->holders;
	uint32_t regions = h->object_count + h->block_count;
	uint8_t seed = 128;

	for (uint32_t n = 0; n < h->node_count; n++)
		if (walk->reach[n] & below ||
		    (n < h->object_count && is_root_object(&population->objects[n])) ||
		    (n >= regions && is_root_region(&h->regions[n - regions], level)))
			walk->reach[n] |= level | seed;
	walk->head = walk->tail = 0;
	for (uint32_t n = 0; n < h->node_count; n++) {
		fetch_targets(walk, n);
		if (walk->reach[n] & seed)
			expand(walk, n, walk->reach[n] & below, level);
		walk->reach[n] &= (uint8_t)~seed;
	}
	drain(walk, level);
}

static void find_reachable(struct ri_graph *graph, const struct ri_holders *holders,
			   const struct ri_population *population)
{
	struct walk walk = { .holders = holders, .reach = graph->reach };

	walk.queue = ri_malloc(holders->node_count * sizeof(*walk.queue));
	reach_level(&walk, population, 0, RI_REACH_CERTAIN);
	walk.met_borrowing = false;
	reach_level(&walk, population, RI_REACH_CERTAIN, RI_REACH_ANY);
	if (walk.met_borrowing)
		reach_level(&walk, population, RI_REACH_ANY, RI_REACH_GROUP);
	else
		for (uint32_t n = 0; n < holders->node_count; n++)
			if (graph->reach[n] & RI_REACH_ANY)
				graph->reach[n] |= RI_REACH_GROUP;
	free(walk.queue);
}

struct ri_graph *ri_graph_create(const struct ri_holders *holders,
				 const struct ri_population *population,
				 const struct ri_heap *heap)
{
	struct ri_graph *graph = ri_calloc(1, sizeof(*graph));

	graph->reach = ri_calloc(holders->node_count, sizeof(*graph->reach));
	find_reachable(graph, holders, population);
	ri_leaks_find(graph, holders, population, heap);
	return graph;
}

void ri_graph_destroy(struct ri_graph *graph)
{
	if (!graph)
		return;
	free(graph->reach);
	free(graph->leak_root);
	free(graph->hangs_on_count);
	free(graph->hangs_on_bytes);
	free(graph->cycles);
	free(graph->cycle_members);
	free(graph->cycle_of);
	free(graph->plain_roots);
	free(graph);
}

/*
 * Paths
 */

struct search {
	const struct ri_holders *holders;
	uint64_t *came_by;       /* per node: edge + 1; 0: not met; UINT64_MAX: a root */
	uint32_t *queue;
	size_t head, tail;
};

/* Breadth first until `node` is met. */
static bool search_node(struct search *search, uint32_t node, uint32_t without)
{
	const struct ri_holders *h = search->holders;

	while (search->head < search->tail) {
		uint32_t n = search->queue[search->head++];

		for (uint64_t e = h->first[n]; e < h->first[n + 1]; e++) {
			uint32_t target = h->edges[e].target;

			if (search->came_by[target] || h->edges[e].flags & without)
				continue;
			search->came_by[target] = e + 1;
			if (target == node)
				return true;
			search->queue[search->tail++] = target;
		}
	}
	return false;
}

/* The edges by which `node` was met, root first. */
static uint64_t *collect_path(const struct search *search, uint32_t node, size_t *ret_count)
{
	uint64_t *path;
	size_t count = 0, i;

	for (uint32_t n = node; search->came_by[n] != UINT64_MAX; count++)
		n = ri_holders_source(search->holders, search->came_by[n] - 1);
	path = ri_calloc(count, sizeof(*path));
	i = count;
	for (uint32_t n = node; i > 0; n = ri_holders_source(search->holders, path[i]))
		path[--i] = search->came_by[n] - 1;
	*ret_count = count;
	return path;
}

uint64_t *ri_graph_path(const struct ri_holders *holders, uint32_t node, uint32_t without,
			size_t *ret_count)
{
	size_t table_bytes = holders->node_count * sizeof(uint64_t);
	struct search search = { .holders = holders };
	uint64_t *path = NULL;

	*ret_count = 0;
	search.came_by = ri_table_create(table_bytes);
	search.queue = ri_malloc(holders->node_count * sizeof(*search.queue));
	for (uint32_t n = holders->object_count + holders->block_count; n < holders->node_count;
	     n++) {
		search.came_by[n] = UINT64_MAX;
		search.queue[search.tail++] = n;
	}
	if (node < holders->object_count + holders->block_count &&
	    search_node(&search, node, without))
		path = collect_path(&search, node, ret_count);
	free(search.queue);
	ri_table_destroy(search.came_by, table_bytes);
	return path;
}
