/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edges within one cycle: see cycle_edges.h.
 *
 * The members are known from the graph; plain blocks between them are not, so
 * the edges are followed from the members through blocks (BLOCKS_MAX of them)
 * and those are kept from which a member can be reached again.
 *
 * The set to release is made of the back edges of a depth-first search: without
 * them no loop is left.  It is smallest for one loop and for loops that share a
 * node; small cycles try every start and keep the best answer, large ones start
 * at the node with the most edges both ways.  Cost: linear in the edges, times the
 * nodes for cycles of at most SMALL_NODES nodes and SMALL_EDGES edges.
 */
#include "check/cycle_edges.h"

#include <stdlib.h>
#include <string.h>

#include "check/evidence.h"

#define BLOCKS_MAX  1024
#define SMALL_NODES 64
#define SMALL_EDGES 512
/* Bytes of one object inside another cannot be released. */
#define EMBEDS_COST 1000

struct ri_cycle_tracer {
	const struct ri_analysis *analysis;
	uint32_t *local_of; /* per object and block: index into nodes[], or RI_NONE */
	RI_VEC(uint32_t) nodes;
	uint32_t *first; /* edges[first[n] .. first[n + 1]) by local source */
	size_t first_capacity;
};

struct ri_cycle_tracer *ri_cycle_tracer_create(const struct ri_analysis *analysis)
{
	struct ri_cycle_tracer *tracer = ri_calloc(1, sizeof(*tracer));
	size_t count = (size_t)analysis->holders->object_count + analysis->holders->block_count;

	tracer->analysis = analysis;
	tracer->local_of = ri_malloc(count * sizeof(*tracer->local_of));
	for (size_t i = 0; i < count; i++)
		tracer->local_of[i] = RI_NONE;
	return tracer;
}

void ri_cycle_tracer_destroy(struct ri_cycle_tracer *tracer)
{
	if (!tracer)
		return;
	free(tracer->local_of);
	ri_vec_deinit(&tracer->nodes);
	free(tracer->first);
	free(tracer);
}

void ri_cycle_edges_deinit(struct ri_cycle_edges *edges)
{
	free(edges->items);
	*edges = (struct ri_cycle_edges){ 0 };
}

static void add_node(struct ri_cycle_tracer *tracer, uint32_t node)
{
	if (tracer->local_of[node] != RI_NONE)
		return;
	tracer->local_of[node] = (uint32_t)tracer->nodes.count;
	*ri_push(&tracer->nodes) = node;
}

static bool is_way(const struct ri_edge *edge)
{
	return !(edge->flags & (RI_EDGE_LINK | RI_EDGE_BORROWS));
}

/* Whether the walk goes on at `target`: members, and blocks while there is room. */
static bool is_wanted(struct ri_cycle_tracer *tracer, size_t cycle, size_t member_count,
		      uint32_t target, bool *is_cut)
{
	const struct ri_holders *holders = tracer->analysis->holders;

	if (target < holders->object_count)
		return tracer->analysis->graph->cycle_of[target] == cycle;
	if (target - holders->object_count >= holders->block_count)
		return false;
	if (tracer->local_of[target] != RI_NONE)
		return true;
	if (tracer->nodes.count - member_count < BLOCKS_MAX)
		return true;
	*is_cut = true;
	return false;
}

typedef RI_VEC(struct ri_cycle_edge) edge_list;

static void collect(struct ri_cycle_tracer *tracer, size_t index, edge_list *list, bool *is_cut)
{
	const struct ri_graph *graph = tracer->analysis->graph;
	const struct ri_holders *holders = tracer->analysis->holders;
	const struct ri_cycle *cycle = &graph->cycles[index];

	tracer->nodes.count = 0;
	for (uint32_t i = 0; i < cycle->count; i++)
		add_node(tracer, graph->cycle_members[cycle->first + i]);
	for (size_t n = 0; n < tracer->nodes.count; n++) {
		uint32_t node = tracer->nodes.items[n];

		for (uint64_t e = holders->first[node]; e < holders->first[node + 1]; e++) {
			const struct ri_edge *edge = &holders->edges[e];

			if (!is_way(edge) ||
			    !is_wanted(tracer, index, cycle->count, edge->target, is_cut))
				continue;
			add_node(tracer, edge->target);
			*ri_push(list) =
				(struct ri_cycle_edge){ node, edge->target, edge->class_index,
							edge->flags, false };
		}
	}
}

/* Which nodes lead back to a member: marks[] by local index. */
static bool *mark_returning(const struct ri_cycle_tracer *tracer, size_t member_count,
			    const edge_list *list)
{
	size_t count = tracer->nodes.count;
	bool *marks = ri_calloc(count, sizeof(*marks));
	uint32_t *first = ri_calloc(count + 2, sizeof(*first));
	uint32_t *sources = ri_malloc(list->count * sizeof(*sources));
	uint32_t *queue = ri_malloc(count * sizeof(*queue));
	size_t queued = 0;

	for (size_t i = 0; i < list->count; i++)
		first[tracer->local_of[list->items[i].target] + 2]++;
	for (size_t n = 2; n < count + 2; n++)
		first[n] += first[n - 1];
	for (size_t i = 0; i < list->count; i++)
		sources[first[tracer->local_of[list->items[i].target] + 1]++] =
			tracer->local_of[list->items[i].source];
	for (uint32_t n = 0; n < member_count; n++) {
		marks[n] = true;
		queue[queued++] = n;
	}
	for (size_t q = 0; q < queued; q++)
		for (uint32_t i = first[queue[q]]; i < first[queue[q] + 1]; i++)
			if (!marks[sources[i]]) {
				marks[sources[i]] = true;
				queue[queued++] = sources[i];
			}
	free(first);
	free(sources);
	free(queue);
	return marks;
}

static void drop_dead_ends(struct ri_cycle_tracer *tracer, size_t member_count, edge_list *list)
{
	bool *marks = mark_returning(tracer, member_count, list);
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (marks[tracer->local_of[list->items[i].target]])
			list->items[kept++] = list->items[i];
	list->count = kept;
	free(marks);
}

/* The edges come in the order of their sources' local index. */
static void index_edges(struct ri_cycle_tracer *tracer, const edge_list *list)
{
	size_t count = tracer->nodes.count, edge = 0;

	tracer->first =
		ri_grow(tracer->first, &tracer->first_capacity, count + 1, sizeof(*tracer->first));
	for (size_t n = 0; n < count; n++) {
		tracer->first[n] = (uint32_t)edge;
		while (edge < list->count && list->items[edge].source == tracer->nodes.items[n])
			edge++;
	}
	tracer->first[count] = (uint32_t)edge;
}

enum colour { WHITE, GREY, BLACK };

struct search {
	uint8_t *colour;        /* by local index */
	uint32_t *stack, *next; /* nodes on the way, and each one's next edge */
};

/* Marks in back[] the edges that lead to a node on the way; returns their cost. */
static size_t find_back_edges(const struct ri_cycle_tracer *tracer, const edge_list *list,
			      struct search *search, uint32_t start, bool *back)
{
	size_t depth = 0, cost = 0;

	memset(search->colour, WHITE, tracer->nodes.count);
	memset(back, 0, list->count * sizeof(*back));
	search->stack[depth] = start;
	search->next[depth++] = tracer->first[start];
	search->colour[start] = GREY;
	while (depth) {
		uint32_t node = search->stack[depth - 1];
		uint32_t e = search->next[depth - 1]++;
		uint32_t target;

		if (e >= tracer->first[node + 1]) {
			search->colour[node] = BLACK;
			depth--;
			continue;
		}
		target = tracer->local_of[list->items[e].target];
		if (search->colour[target] == GREY) {
			back[e] = true;
			cost += list->items[e].flags & RI_EDGE_EMBEDS ? EMBEDS_COST : 1;
		} else if (search->colour[target] == WHITE) {
			search->colour[target] = GREY;
			search->stack[depth] = target;
			search->next[depth++] = tracer->first[target];
		}
	}
	return cost;
}

/* The node with the most edges in the scarcer direction. */
static uint32_t busiest_node(const struct ri_cycle_tracer *tracer, const edge_list *list)
{
	uint32_t *in = ri_calloc(tracer->nodes.count, sizeof(*in));
	uint32_t best = 0, best_degree = 0;

	for (size_t i = 0; i < list->count; i++)
		in[tracer->local_of[list->items[i].target]]++;
	for (uint32_t n = 0; n < tracer->nodes.count; n++) {
		uint32_t out = tracer->first[n + 1] - tracer->first[n];
		uint32_t degree = in[n] < out ? in[n] : out;

		if (degree > best_degree) {
			best = n;
			best_degree = degree;
		}
	}
	free(in);
	return best;
}

static void choose_release(const struct ri_cycle_tracer *tracer, edge_list *list)
{
	size_t count = tracer->nodes.count, best_cost;
	struct search search = { ri_malloc(count), ri_malloc(count * sizeof(uint32_t)),
				 ri_malloc(count * sizeof(uint32_t)) };
	bool *back = ri_malloc(list->count * sizeof(*back));
	bool *best = ri_malloc(list->count * sizeof(*best));

	best_cost = find_back_edges(tracer, list, &search, busiest_node(tracer, list), best);
	if (count <= SMALL_NODES && list->count <= SMALL_EDGES)
		for (uint32_t start = 0; start < count; start++) {
			size_t cost = find_back_edges(tracer, list, &search, start, back);

			if (cost && cost < best_cost) {
				best_cost = cost;
				memcpy(best, back, list->count * sizeof(*best));
			}
		}
	for (size_t i = 0; i < list->count; i++)
		list->items[i].is_to_release = best[i] && !(list->items[i].flags & RI_EDGE_EMBEDS);
	free(search.colour);
	free(search.stack);
	free(search.next);
	free(back);
	free(best);
}

struct ri_cycle_edges ri_cycle_trace(struct ri_cycle_tracer *tracer, size_t index)
{
	size_t member_count = tracer->analysis->graph->cycles[index].count;
	struct ri_cycle_edges edges = { .is_simple = true };
	edge_list list = { 0 };

	collect(tracer, index, &list, &edges.is_cut);
	drop_dead_ends(tracer, member_count, &list);
	index_edges(tracer, &list);
	if (list.count)
		choose_release(tracer, &list);
	for (size_t n = 0; n < tracer->nodes.count; n++)
		edges.is_simple &= tracer->first[n + 1] - tracer->first[n] <= 1;
	for (size_t i = 0; i < list.count; i++)
		edges.release_count += list.items[i].is_to_release;
	edges.items = list.items;
	edges.count = list.count;
	for (size_t n = 0; n < tracer->nodes.count; n++)
		tracer->local_of[tracer->nodes.items[n]] = RI_NONE;
	return edges;
}
