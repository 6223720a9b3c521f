/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Immediate dominators: see dominators.h.
 *
 * Lengauer and Tarjan's algorithm with path compression and without balancing.  Nodes are
 * numbered in the order of a depth-first search.  The semidominator of a node is the
 * smallest number from which a path leads to it through larger numbers alone; going from
 * the last node to the first, it is the smallest among its predecessors and those of the
 * nodes above them in the forest of what was done.  From the semidominators follow the
 * dominators.  The search and the compression keep their stacks in arrays: a chain of ten
 * million objects needs no deep recursion.  Cost: O(edges log nodes) time at worst, ten
 * words of 32 bits per node and one per edge.
 */
#include "census/dominators.h"

#include <stdlib.h>

#include "base/memory.h"
#include "heap/heap.h"

/* All arrays but number[] are by number. */
struct search {
	const struct ri_flow *flow;
	uint32_t *number;        /* by node; RI_NONE: not met */
	uint32_t *node;
	uint32_t count;          /* nodes met */
	uint32_t *parent;        /* in the depth-first tree */
	uint32_t *pred_first, *preds; /* predecessors preds[pred_first[i] .. pred_first[i + 1]) */
	uint32_t *semi, *label, *ancestor, *dominator;
	uint32_t *bucket, *bucket_next; /* lists of nodes by their semidominator */
	uint32_t *stack;
};

static uint32_t *new_array(uint32_t count)
{
	return ri_malloc(((size_t)count + 1) * sizeof(uint32_t));
}

static void enter(struct search *s, uint32_t node, uint32_t parent)
{
	s->number[node] = s->count;
	s->node[s->count] = node;
	s->parent[s->count] = parent;
	s->count++;
}

/* Numbers the nodes; stack[] has the way, ancestor[] each one's next edge meanwhile. */
static void number_nodes(struct search *s)
{
	const struct ri_flow *flow = s->flow;
	uint32_t depth = 0;

	enter(s, 0, RI_NONE);
	s->ancestor[0] = flow->first[0];
	s->stack[depth++] = 0;
	while (depth) {
		uint32_t at = s->stack[depth - 1];
		uint32_t target;

		if (s->ancestor[at] == flow->first[s->node[at] + 1]) {
			depth--;
			continue;
		}
		target = flow->targets[s->ancestor[at]++];
		if (s->number[target] != RI_NONE)
			continue;
		enter(s, target, at);
		s->ancestor[s->count - 1] = flow->first[target];
		s->stack[depth++] = s->count - 1;
	}
}

static void list_predecessors(struct search *s)
{
	const struct ri_flow *flow = s->flow;
	uint32_t edges = flow->first[flow->node_count];

	s->pred_first = ri_calloc((size_t)s->count + 2, sizeof(*s->pred_first));
	s->preds = new_array(edges);
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t e = flow->first[s->node[i]]; e < flow->first[s->node[i] + 1]; e++)
			s->pred_first[s->number[flow->targets[e]] + 2]++;
	for (uint32_t i = 2; i < s->count + 2; i++)
		s->pred_first[i] += s->pred_first[i - 1];
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t e = flow->first[s->node[i]]; e < flow->first[s->node[i] + 1]; e++)
			s->preds[s->pred_first[s->number[flow->targets[e]] + 1]++] = i;
}

/* The node with the smallest semidominator on the way from `at` up to below its tree's root
 * in the forest; the way gets shorter with it. */
static uint32_t evaluate(struct search *s, uint32_t at)
{
	uint32_t depth = 0, up = at;

	if (s->ancestor[at] == RI_NONE)
		return s->label[at];
	while (s->ancestor[s->ancestor[up]] != RI_NONE) {
		s->stack[depth++] = up;
		up = s->ancestor[up];
	}
	while (depth) {
		uint32_t i = s->stack[--depth], above = s->ancestor[i];

		if (s->semi[s->label[above]] < s->semi[s->label[i]])
			s->label[i] = s->label[above];
		s->ancestor[i] = s->ancestor[above];
	}
	return s->label[at];
}

static void find_semidominators(struct search *s)
{
	for (uint32_t i = s->count; i-- > 1;) {
		uint32_t parent = s->parent[i];

		for (uint32_t p = s->pred_first[i]; p < s->pred_first[i + 1]; p++) {
			uint32_t semi = s->semi[evaluate(s, s->preds[p])];

			if (semi < s->semi[i])
				s->semi[i] = semi;
		}
		s->bucket_next[i] = s->bucket[s->semi[i]];
		s->bucket[s->semi[i]] = i;
		s->ancestor[i] = parent;
		for (uint32_t b = s->bucket[parent]; b != RI_NONE; b = s->bucket_next[b]) {
			uint32_t best = evaluate(s, b);

			s->dominator[b] = s->semi[best] < s->semi[b] ? best : parent;
		}
		s->bucket[parent] = RI_NONE;
	}
	for (uint32_t i = 1; i < s->count; i++)
		if (s->dominator[i] != s->semi[i])
			s->dominator[i] = s->dominator[s->dominator[i]];
}

uint32_t *ri_dominators_find(const struct ri_flow *flow)
{
	uint32_t count = flow->node_count;
	uint32_t *of_node = new_array(count);
	struct search s = {
		.flow = flow,
		.number = new_array(count),
		.node = new_array(count),
		.parent = new_array(count),
		.semi = new_array(count),
		.label = new_array(count),
		.ancestor = new_array(count),
		.dominator = new_array(count),
		.bucket = new_array(count),
		.bucket_next = new_array(count),
		.stack = new_array(count),
	};

	for (uint32_t i = 0; i < count; i++)
		of_node[i] = s.number[i] = s.bucket[i] = RI_NONE;
	if (count)
		number_nodes(&s);
	list_predecessors(&s);
	for (uint32_t i = 0; i < s.count; i++) {
		s.semi[i] = s.label[i] = i;
		s.ancestor[i] = RI_NONE;
	}
	find_semidominators(&s);
	for (uint32_t i = 1; i < s.count; i++)
		of_node[s.node[i]] = s.node[s.dominator[i]];
	free(s.number);
	free(s.node);
	free(s.parent);
	free(s.pred_first);
	free(s.preds);
	free(s.semi);
	free(s.label);
	free(s.ancestor);
	free(s.dominator);
	free(s.bucket);
	free(s.bucket_next);
	free(s.stack);
	return of_node;
}
