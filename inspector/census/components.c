/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strongly connected components of the unreachable nodes: Tarjan's algorithm
 * with its recursion on a stack of its own.
 *
 * Only what no root reaches is looked at, which in a sound program is next to
 * nothing; in the worst case every edge is seen once.  Cycles may lead through
 * plain blocks, so those are nodes too.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "census/graph_private.h"

struct frame {
	uint64_t next_edge;
	uint32_t node;
};

struct tarjan {
	const struct ri_holders *holders;
	struct ri_components *components;
	/* per node: 0 not met, else the order in which it was met, from 1; and the
	 * smallest such number that its subtree leads back to */
	uint32_t *number, *low;
	size_t table_bytes;
	uint32_t met;
	RI_VEC(struct frame) frames;
	RI_VEC(uint32_t) open;   /* nodes met whose component is not complete */
	size_t order_capacity, first_object_capacity;
};

#define TAKES_PART UINT32_MAX /* components->of[] of a node whose component is not known yet */

static void enter(struct tarjan *t, uint32_t node)
{
	struct frame *frame = ri_push(&t->frames);

	frame->node = node;
	frame->next_edge = t->holders->first[node];
	t->number[node] = t->low[node] = ++t->met;
	*ri_push(&t->open) = node;
}

/* All nodes above and including `node` on the stack of open ones are a component. */
static void close_component(struct tarjan *t, uint32_t node)
{
	struct ri_components *c = t->components;
	uint32_t number = ++c->count, member, smallest = RI_NONE;

	do {
		member = t->open.items[--t->open.count];
		c->of[member] = number;
		c->order = ri_grow(c->order, &t->order_capacity, c->order_count + 1,
				   sizeof(*c->order));
		c->order[c->order_count++] = member;
		if (member < t->holders->object_count && member < smallest)
			smallest = member;
	} while (member != node);
	c->first_object = ri_grow(c->first_object, &t->first_object_capacity, number + 1ul,
				  sizeof(*c->first_object));
	c->first_object[number] = smallest;
}

/* The next edge of the topmost frame, or its end. */
static void step(struct tarjan *t)
{
	const struct ri_holders *h = t->holders;
	struct frame *frame = &t->frames.items[t->frames.count - 1];
	uint32_t node = frame->node;

	while (frame->next_edge < h->first[node + 1]) {
		const struct ri_edge *edge = &h->edges[frame->next_edge++];

		/* a component that is complete takes no further part */
		if (t->components->of[edge->target] != TAKES_PART ||
		    !ri_graph_passes(edge->flags, RI_REACH_ANY))
			continue;
		if (!t->number[edge->target]) {
			enter(t, edge->target);
			return;
		}
		if (t->number[edge->target] < t->low[node])
			t->low[node] = t->number[edge->target];
	}
	t->frames.count--;
	if (t->frames.count) {
		uint32_t parent = t->frames.items[t->frames.count - 1].node;

		if (t->low[node] < t->low[parent])
			t->low[parent] = t->low[node];
	}
	if (t->low[node] == t->number[node])
		close_component(t, node);
}

void ri_components_init(struct ri_components *components, const struct ri_holders *holders,
			const uint8_t *reach, bool (*is_node)(const void *data, uint32_t node),
			const void *data)
{
	struct tarjan t = { .holders = holders, .components = components };

	*components = (struct ri_components){
		.node_count = holders->object_count + holders->block_count,
	};
	/* regions get entries too, which stay 0 */
	t.table_bytes = components->of_bytes = (size_t)holders->node_count * sizeof(uint32_t);
	components->of = ri_table_create(components->of_bytes);
	t.number = ri_table_create(t.table_bytes);
	t.low = ri_table_create(t.table_bytes);
	for (uint32_t n = 0; n < components->node_count; n++)
		if (!(reach[n] & RI_REACH_ANY) && is_node(data, n))
			components->of[n] = TAKES_PART;
	for (uint32_t n = 0; n < components->node_count; n++) {
		if (components->of[n] != TAKES_PART)
			continue;
		enter(&t, n);
		while (t.frames.count)
			step(&t);
	}
	ri_table_destroy(t.number, t.table_bytes);
	ri_table_destroy(t.low, t.table_bytes);
	ri_vec_deinit(&t.frames);
	ri_vec_deinit(&t.open);
}

void ri_components_deinit(struct ri_components *components)
{
	ri_table_destroy(components->of, components->of_bytes);
	free(components->order);
	free(components->first_object);
}
