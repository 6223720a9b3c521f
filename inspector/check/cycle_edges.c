/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edges within one cycle: see cycle_edges.h.
 *
 * The members are known from the graph; plain blocks between them are not, so
 * the edges are followed from the members through blocks (BLOCKS_MAX of them)
 * and those are kept from which a member can be reached again.
 *
 * Which of them to release is found in loops.c; bytes of one object inside another
 * cannot be.  Cost: linear in the edges, and what exact answers take, EXACT_STEPS for all
 * cycles of one analysis together.
 */
#include "check/cycle_edges.h"

#include <stdlib.h>

#include "check/evidence.h"
#include "check/loops.h"

#define BLOCKS_MAX  1024
#define EXACT_STEPS (1ull << 28)

struct ri_cycle_tracer {
	const struct ri_analysis *analysis;
	uint32_t *local_of; /* per object and block: index into nodes[], or RI_NONE */
	RI_VEC(uint32_t) nodes;
	uint64_t steps;     /* left for exact answers */
};

struct ri_cycle_tracer *ri_cycle_tracer_create(const struct ri_analysis *analysis)
{
	struct ri_cycle_tracer *tracer = ri_calloc(1, sizeof(*tracer));
	size_t count = (size_t)analysis->holders->object_count + analysis->holders->block_count;

	tracer->analysis = analysis;
	tracer->steps = EXACT_STEPS;
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
	free(tracer);
}

void ri_cycle_edges_deinit(struct ri_cycle_edges *edges)
{
	free(edges->items);
	free(edges->fields);
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

/* Which edges, and which fields, are to be released: see loops.h. */
static void choose_release(struct ri_cycle_tracer *tracer, const edge_list *list,
			   struct ri_cycle_edges *edges)
{
	struct ri_loop_edge *items = ri_malloc(list->count * sizeof(*items));
	bool *is_out = ri_calloc(list->count, sizeof(*is_out));
	struct ri_loops loops = { (uint32_t)tracer->nodes.count, items, list->count };

	for (size_t i = 0; i < list->count; i++) {
		const struct ri_cycle_edge *edge = &list->items[i];

		items[i] = (struct ri_loop_edge){
			tracer->local_of[edge->source], tracer->local_of[edge->target],
			edge->class_index, edge->flags & RI_EDGE_EMBEDS
		};
	}
	for (size_t i = 0; i < list->count; i++)
		edges->is_simple &= !i || items[i].source != items[i - 1].source;
	edges->is_smallest = ri_loops_choose_edges(&loops, &tracer->steps, is_out);
	edges->fields = ri_loops_choose_classes(&loops, &tracer->steps, &edges->is_fewest,
						&edges->field_count);
	for (size_t i = 0; i < list->count; i++) {
		list->items[i].is_to_release = is_out[i];
		edges->release_count += is_out[i];
	}
	free(items);
	free(is_out);
}

struct ri_cycle_edges ri_cycle_trace(struct ri_cycle_tracer *tracer, size_t index)
{
	size_t member_count = tracer->analysis->graph->cycles[index].count;
	struct ri_cycle_edges edges = { .is_simple = true };
	edge_list list = { 0 };

	collect(tracer, index, &list, &edges.is_cut);
	drop_dead_ends(tracer, member_count, &list);
	choose_release(tracer, &list, &edges);
	edges.items = list.items;
	edges.count = list.count;
	for (size_t n = 0; n < tracer->nodes.count; n++)
		tracer->local_of[tracer->nodes.items[n]] = RI_NONE;
	return edges;
}
