/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is unreachable, put in order: leak roots and what hangs on each, cycles,
 * plain blocks that nothing holds.
 *
 * A component that no object outside it leads to, through plain blocks or not,
 * has the leak root: its smallest object.  In the order of their addresses the
 * roots claim what they reach and no earlier one did.
 *
 * A component is a cycle when an edge inside it is a reference: not just an
 * object with those embedded in it, nor a possible pointer from the rest of an
 * object's own block.  Objects without such an edge are no members of it.
 *
 * Freed objects take no part: their memory is not leaked.  Linear throughout.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "census/extents.h"
#include "census/graph_private.h"

enum { /* search.marks[node] */
	MARK_CLAIMED = 1,
	MARK_ON_CYCLE = 2,
};

struct search {
	struct ri_graph *graph;
	const struct ri_holders *holders;
	const struct ri_population *population;
	const struct ri_heap *heap;
	struct ri_components components;
	uint32_t *block_object;  /* per block: its outermost object, RI_NONE, RI_EXTENTS_MANY */
	bool *is_held;           /* per component: by an object outside it */
	uint32_t *cycle_of_component; /* RI_NONE: none */
	uint8_t *marks;
	size_t marks_bytes;
	uint32_t *queue;
};

static bool takes_part(const void *data, uint32_t node)
{
	const struct search *s = data;

	if (node < s->holders->object_count)
		return !(s->population->objects[node].state & RI_OBJECT_FREED);
	return s->heap->blocks[node - s->holders->object_count].state == RI_BLOCK_USED;
}

/* Components in an order in which holders come before what they hold. */
static void find_held_components(struct search *s)
{
	const struct ri_holders *h = s->holders;
	const struct ri_components *c = &s->components;

	s->is_held = ri_calloc(c->count + 1ul, sizeof(*s->is_held));
	for (size_t i = c->order_count; i-- > 0;) {
		uint32_t node = c->order[i], own = c->of[node];

		if (c->first_object[own] == RI_NONE && !s->is_held[own])
			continue;
		for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
			uint32_t other = c->of[h->edges[e].target];

			if (other && other != own &&
			    ri_graph_passes(h->edges[e].flags, RI_REACH_ANY))
				s->is_held[other] = true;
		}
	}
}

uint64_t ri_graph_lost_bytes(const struct ri_population *population, const struct ri_heap *heap,
			     const uint32_t *block_object, uint32_t node)
{
	const struct ri_object *object;

	if (node >= population->object_count) {
		uint32_t block = node - (uint32_t)population->object_count;

		return block_object[block] == RI_NONE ? heap->blocks[block].size_bytes : 0;
	}
	object = &population->objects[node];
	if (object->parent != RI_NONE)
		return 0;
	if (object->block < heap->block_count && block_object[object->block] == node)
		return heap->blocks[object->block].size_bytes;
	return population->types[object->type].extent_bytes;
}

static uint64_t lost_bytes(const struct search *s, uint32_t node)
{
	return ri_graph_lost_bytes(s->population, s->heap, s->block_object, node);
}

/* Everything that `root` reaches and that is not claimed yet hangs on it. */
static void claim(struct search *s, uint32_t root)
{
	const struct ri_holders *h = s->holders;
	size_t head = 0, tail = 0;

	s->graph->leak_root[root] = root;
	s->marks[root] |= MARK_CLAIMED;
	s->queue[tail++] = root;
	while (head < tail) {
		uint32_t node = s->queue[head++];

		if (node != root) {
			s->graph->hangs_on_bytes[root] += lost_bytes(s, node);
			if (node < h->object_count) {
				s->graph->leak_root[node] = root;
				s->graph->hangs_on_count[root]++;
			}
		}
		for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
			uint32_t target = h->edges[e].target;

			if (!s->components.of[target] || s->marks[target] & MARK_CLAIMED ||
			    !ri_graph_passes(h->edges[e].flags, RI_REACH_ANY))
				continue;
			s->marks[target] |= MARK_CLAIMED;
			s->queue[tail++] = target;
		}
	}
}

static void find_roots(struct search *s)
{
	const struct ri_components *c = &s->components;

	for (uint32_t o = 0; o < s->holders->object_count; o++)
		if (c->of[o] && c->first_object[c->of[o]] == o && !s->is_held[c->of[o]])
			claim(s, o);
}

/* Whether a lost node is a block that hangs on no object. */
static bool is_plain_leak(const struct search *s, uint32_t node)
{
	uint32_t own = s->components.of[node];

	return own && s->components.first_object[own] == RI_NONE && !s->is_held[own];
}

/* Counts the blocks that hang on no object, and lists those that no other such block holds:
 * the lowest one where some hold one another.  Blocks with objects are none. */
static void list_plain_leaks(struct search *s)
{
	const struct ri_holders *h = s->holders;
	const struct ri_components *c = &s->components;
	bool *is_below = ri_calloc(c->count + 1ul, sizeof(*is_below));
	size_t capacity = 0;

	for (size_t i = 0; i < c->order_count; i++) {
		uint32_t node = c->order[i];

		if (!is_plain_leak(s, node))
			continue;
		if (s->block_object[node - h->object_count] == RI_NONE) {
			s->graph->plain_leak_count++;
			s->graph->plain_leak_bytes += lost_bytes(s, node);
		}
		for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++)
			if (c->of[h->edges[e].target] != c->of[node] &&
			    ri_graph_passes(h->edges[e].flags, RI_REACH_ANY))
				is_below[c->of[h->edges[e].target]] = true;
	}
	for (uint32_t b = 0; b < h->block_count; b++) {
		uint32_t own = c->of[h->object_count + b];

		if (!is_plain_leak(s, h->object_count + b) || is_below[own] ||
		    s->block_object[b] != RI_NONE)
			continue;
		is_below[own] = true; /* its component has its root */
		s->graph->plain_roots = ri_grow(s->graph->plain_roots, &capacity,
						s->graph->plain_root_count + 1,
						sizeof(*s->graph->plain_roots));
		s->graph->plain_roots[s->graph->plain_root_count++] = b;
	}
	free(is_below);
}

/* What a node is part of: its outermost object, where it has one. */
static uint32_t whole_of(const struct search *s, uint32_t node)
{
	if (node >= s->holders->object_count) {
		uint32_t only = s->block_object[node - s->holders->object_count];

		return only < RI_EXTENTS_MANY ? only : node;
	}
	for (unsigned i = 0; i < RI_EXTENTS_DEPTH_MAX; i++)
		if (s->population->objects[node].parent != RI_NONE)
			node = s->population->objects[node].parent;
	return node;
}

static bool is_reference(const struct search *s, uint32_t source, const struct ri_edge *edge)
{
	if (edge->flags & RI_EDGE_EMBEDS || !ri_graph_passes(edge->flags, RI_REACH_ANY))
		return false;
	return !(edge->flags & RI_EDGE_POSSIBLE) || whole_of(s, source) != whole_of(s, edge->target);
}

/* Marks the ends of references inside components; notes which components have any. */
static void mark_cycles(struct search *s)
{
	const struct ri_holders *h = s->holders;
	const struct ri_components *c = &s->components;

	s->cycle_of_component = ri_calloc(c->count + 1ul, sizeof(uint32_t));
	for (uint32_t i = 0; i <= c->count; i++)
		s->cycle_of_component[i] = RI_NONE;
	for (size_t i = 0; i < c->order_count; i++) {
		uint32_t node = c->order[i];

		for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
			uint32_t target = h->edges[e].target;

			if (c->of[target] != c->of[node] || !is_reference(s, node, &h->edges[e]))
				continue;
			s->marks[node] |= MARK_ON_CYCLE;
			s->marks[target] |= MARK_ON_CYCLE;
		}
	}
}

/* Cycles by their smallest member, members ascending. */
static void list_cycles(struct search *s)
{
	struct ri_graph *graph = s->graph;
	const struct ri_components *c = &s->components;
	size_t capacity = 0, member_count = 0;
	uint32_t *filled;

	for (uint32_t o = 0; o < s->holders->object_count; o++) {
		uint32_t *cycle = &s->cycle_of_component[c->of[o]];

		if (!c->of[o] || !(s->marks[o] & MARK_ON_CYCLE))
			continue;
		if (*cycle == RI_NONE) {
			graph->cycles = ri_grow(graph->cycles, &capacity, graph->cycle_count + 1,
						sizeof(*graph->cycles));
			*cycle = (uint32_t)graph->cycle_count++;
			graph->cycles[*cycle] = (struct ri_cycle){ 0, 0 };
		}
		graph->cycle_of[o] = *cycle;
		graph->cycles[*cycle].count++;
		member_count++;
	}
	for (size_t i = 1; i < graph->cycle_count; i++)
		graph->cycles[i].first = graph->cycles[i - 1].first + graph->cycles[i - 1].count;
	graph->cycle_members = ri_calloc(member_count, sizeof(*graph->cycle_members));
	filled = ri_calloc(graph->cycle_count, sizeof(*filled));
	for (uint32_t o = 0; o < s->holders->object_count; o++) {
		uint32_t cycle = graph->cycle_of[o];

		if (cycle != RI_NONE)
			graph->cycle_members[graph->cycles[cycle].first + filled[cycle]++] = o;
	}
	free(filled);
}

void ri_leaks_find(struct ri_graph *graph, const struct ri_holders *holders,
		   const struct ri_population *population, const struct ri_heap *heap)
{
	struct search s = { .graph = graph,
			    .holders = holders,
			    .population = population,
			    .heap = heap,
			    .marks_bytes = holders->node_count };
	uint32_t object_count = holders->object_count;

	graph->leak_root = ri_malloc(object_count * sizeof(*graph->leak_root));
	graph->cycle_of = ri_malloc(object_count * sizeof(*graph->cycle_of));
	for (uint32_t o = 0; o < object_count; o++)
		graph->leak_root[o] = graph->cycle_of[o] = RI_NONE;
	graph->hangs_on_count = ri_calloc(object_count, sizeof(*graph->hangs_on_count));
	graph->hangs_on_bytes = ri_calloc(object_count, sizeof(*graph->hangs_on_bytes));
	ri_components_init(&s.components, holders, graph->reach, takes_part, &s);
	s.block_object = ri_extents_list_block_objects(population, heap);
	s.marks = ri_table_create(s.marks_bytes);
	s.queue = ri_malloc(s.components.order_count * sizeof(*s.queue));
	find_held_components(&s);
	find_roots(&s);
	list_plain_leaks(&s);
	mark_cycles(&s);
	list_cycles(&s);
	ri_table_destroy(s.marks, s.marks_bytes);
	free(s.queue);
	free(s.block_object);
	free(s.is_held);
	free(s.cycle_of_component);
	ri_components_deinit(&s.components);
}
