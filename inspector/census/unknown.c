/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unknown blocks: see unknown.h.
 *
 * A block is unknown when it is used, holds no object, and nothing told its type.  A type
 * would tell what its pointers lead to, so a block settles at most the unknown ones that it
 * reaches through unknown ones; strings and numbers, which have no pointers, settle none.
 *
 * Each unknown block claims those that it reaches and that none before did, first the ones
 * that no other unknown block leads to; what hangs below a block in that forest is a bound
 * from below.  The blocks that it shows best, a few per size and in all, are walked from
 * anew for the exact number, WALK_EDGES edges together: what is left of them keeps its
 * bound.  Blind spots: words that only look like pointers count too; a type may say that
 * what they lead to is no struct.
 */
#include "census/unknown.h"

#include <stdlib.h>

#include "base/memory.h"
#include "census/extents.h"

#define WALK_EDGES (1u << 25)
#define WALKS_MAX 256

/* All arrays are per block. */
struct search {
	const struct ri_holders *holders;
	const struct ri_heap *heap;
	struct ri_unknown *unknown;
	bool *is_unknown, *is_led_to, *is_claimed;
	uint32_t *parent;        /* in the forest; RI_NONE: none */
	uint32_t *order;         /* unknown blocks, each behind its parent */
	size_t order_count;
	uint64_t *below, *below_bytes;
	uint32_t *seen;          /* the walk that came by last, from 1 */
};

static void mark_unknown(struct search *s, const struct ri_population *population)
{
	uint32_t *block_object = ri_extents_list_block_objects(population, s->heap);

	for (size_t b = 0; b < s->heap->block_count; b++)
		s->is_unknown[b] = s->heap->blocks[b].state == RI_BLOCK_USED &&
				   block_object[b] == RI_NONE;
	for (size_t i = 0; i < population->typed_block_count; i++)
		s->is_unknown[population->typed_blocks[i].block] = false;
	free(block_object);
}

/* The unknown block that an edge leads to, or RI_NONE. */
static uint32_t target_of(const struct search *s, const struct ri_edge *edge)
{
	uint32_t block = edge->target - s->holders->object_count;

	return edge->target >= s->holders->object_count && block < s->holders->block_count &&
			       s->is_unknown[block]
		       ? block
		       : RI_NONE;
}

static uint32_t first_edge(const struct search *s, uint32_t block)
{
	return s->holders->first[s->holders->object_count + block];
}

static void mark_led_to(struct search *s)
{
	for (uint32_t b = 0; b < s->holders->block_count; b++)
		for (uint64_t e = first_edge(s, b); s->is_unknown[b] && e < first_edge(s, b + 1);
		     e++) {
			uint32_t target = target_of(s, &s->holders->edges[e]);

			if (target != RI_NONE && target != b)
				s->is_led_to[target] = true;
		}
}

static void claim(struct search *s, uint32_t root)
{
	size_t head = s->order_count;

	if (!s->is_unknown[root] || s->is_claimed[root])
		return;
	s->is_claimed[root] = true;
	s->order[s->order_count++] = root;
	for (; head < s->order_count; head++) {
		uint32_t block = s->order[head];

		for (uint64_t e = first_edge(s, block); e < first_edge(s, block + 1); e++) {
			uint32_t target = target_of(s, &s->holders->edges[e]);

			if (target == RI_NONE || s->is_claimed[target])
				continue;
			s->is_claimed[target] = true;
			s->parent[target] = block;
			s->order[s->order_count++] = target;
		}
	}
}

static void grow_forest(struct search *s)
{
	for (uint32_t b = 0; b < s->holders->block_count; b++)
		if (!s->is_led_to[b])
			claim(s, b);
	for (uint32_t b = 0; b < s->holders->block_count; b++)
		claim(s, b);
	for (size_t i = s->order_count; i-- > 0;) {
		uint32_t block = s->order[i], parent = s->parent[block];

		if (parent == RI_NONE)
			continue;
		s->below[parent] += s->below[block] + 1;
		s->below_bytes[parent] +=
			s->below_bytes[block] + s->heap->blocks[block].size_bytes;
	}
}

/*
 * Classes
 */

static int compare_blocks(const void *a, const void *b, void *data)
{
	const struct search *s = data;
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	uint64_t x = s->heap->blocks[m].size_bytes, y = s->heap->blocks[n].size_bytes;

	if (x != y)
		return x < y ? -1 : 1;
	return (m > n) - (m < n);
}

static void make_classes(struct search *s)
{
	struct ri_unknown *unknown = s->unknown;
	size_t capacity = 0;

	if (s->order_count)
		qsort_r(s->order, s->order_count, sizeof(*s->order), compare_blocks, s);
	for (size_t i = 0; i < s->order_count; i++) {
		uint32_t block = s->order[i];
		uint64_t size_bytes = s->heap->blocks[block].size_bytes;
		struct ri_unknown_class *class;

		if (!unknown->count || unknown->classes[unknown->count - 1].size_bytes != size_bytes) {
			unknown->classes = ri_grow(unknown->classes, &capacity, unknown->count + 1,
						   sizeof(*unknown->classes));
			unknown->classes[unknown->count++] = (struct ri_unknown_class){
				.size_bytes = size_bytes, .best = block, .held_class = RI_NONE
			};
		}
		class = &unknown->classes[unknown->count - 1];
		class->blocks++;
		class->with_pointers += first_edge(s, block) < first_edge(s, block + 1);
		unknown->blocks++;
		unknown->bytes += size_bytes;
		if (s->below[block] > s->below[class->best])
			class->best = block;
	}
}

/* The exact number of what is reached from `block`; false: *edges did not suffice. */
static bool walk(struct search *s, uint32_t block, uint32_t number, uint64_t *edges,
		 uint64_t *ret_blocks, uint64_t *ret_bytes)
{
	size_t head = 0, tail = 0;

	*ret_blocks = *ret_bytes = 0;
	s->seen[block] = number;
	s->order[tail++] = block;
	while (head < tail) {
		uint32_t at = s->order[head++];

		for (uint64_t e = first_edge(s, at); e < first_edge(s, at + 1); e++) {
			uint32_t target = target_of(s, &s->holders->edges[e]);

			if (!*edges)
				return false;
			--*edges;
			if (target == RI_NONE || s->seen[target] == number)
				continue;
			s->seen[target] = number;
			s->order[tail++] = target;
			++*ret_blocks;
			*ret_bytes += s->heap->blocks[target].size_bytes;
		}
	}
	return true;
}

static int compare_settling(const void *a, const void *b)
{
	const struct ri_unknown_class *x = a, *y = b;

	if (x->settles != y->settles)
		return x->settles < y->settles ? 1 : -1;
	return (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct ri_unknown_class *x = a, *y = b;
	uint64_t m = x->blocks * x->size_bytes, n = y->blocks * y->size_bytes;

	if (m != n)
		return m < n ? 1 : -1;
	return (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
}

static void walk_from_the_best(struct search *s)
{
	struct ri_unknown *unknown = s->unknown;
	uint64_t edges = WALK_EDGES;

	for (size_t c = 0; c < unknown->count; c++) {
		unknown->classes[c].settles = s->below[unknown->classes[c].best];
		unknown->classes[c].settles_bytes = s->below_bytes[unknown->classes[c].best];
	}
	if (!unknown->count)
		return;
	qsort(unknown->classes, unknown->count, sizeof(*unknown->classes), compare_settling);
	for (uint32_t c = 0; c < unknown->count && c < WALKS_MAX; c++) {
		struct ri_unknown_class *class = &unknown->classes[c];
		uint64_t blocks, bytes;

		if (walk(s, class->best, c + 1, &edges, &blocks, &bytes)) {
			class->settles = blocks;
			class->settles_bytes = bytes;
		}
	}
	qsort(unknown->classes, unknown->count, sizeof(*unknown->classes), compare_bytes);
	for (uint32_t c = 0; c < unknown->count; c++)
		if (unknown->classes[c].settles &&
		    (unknown->best == RI_NONE ||
		     unknown->classes[c].settles > unknown->classes[unknown->best].settles))
			unknown->best = c;
}

/* Whether holders of the class lie at a place that has a name. */
static bool is_telling(const struct ri_holder_class *class)
{
	return class->kind == RI_CLASS_FIELD || class->kind == RI_CLASS_PLAIN_FIELD ||
	       class->kind == RI_CLASS_VARIABLE || class->kind == RI_CLASS_ARRAY;
}

static void find_holders(struct search *s, const struct ri_shapes *shapes)
{
	const struct ri_holders *h = s->holders;
	uint32_t *class_of = ri_malloc(h->block_count * sizeof(*class_of));

	for (uint32_t b = 0; b < h->block_count; b++)
		class_of[b] = RI_NONE;
	for (size_t c = 0; c < s->unknown->count; c++)
		class_of[s->unknown->classes[c].best] = (uint32_t)c;
	for (uint64_t e = 0; e < h->edge_count; e++) {
		uint32_t block = target_of(s, &h->edges[e]);
		struct ri_unknown_class *class;

		if (block == RI_NONE || class_of[block] == RI_NONE)
			continue;
		class = &s->unknown->classes[class_of[block]];
		if (class->held_class == RI_NONE ||
		    (!is_telling(&shapes->classes.items[class->held_class]) &&
		     is_telling(&shapes->classes.items[h->edges[e].class_index])))
			class->held_class = h->edges[e].class_index;
	}
	free(class_of);
}

struct ri_unknown *ri_unknown_find(const struct ri_holders *holders,
				   const struct ri_population *population,
				   const struct ri_heap *heap, const struct ri_shapes *shapes)
{
	size_t count = holders->block_count;
	struct ri_unknown *unknown = ri_calloc(1, sizeof(*unknown));
	struct search s = {
		.holders = holders,
		.heap = heap,
		.unknown = unknown,
		.is_unknown = ri_calloc(count, sizeof(bool)),
		.is_led_to = ri_calloc(count, sizeof(bool)),
		.is_claimed = ri_calloc(count, sizeof(bool)),
		.parent = ri_malloc(count * sizeof(uint32_t)),
		.order = ri_malloc(count * sizeof(uint32_t)),
		.below = ri_calloc(count, sizeof(uint64_t)),
		.below_bytes = ri_calloc(count, sizeof(uint64_t)),
		.seen = ri_calloc(count, sizeof(uint32_t)),
	};

	unknown->best = RI_NONE;
	for (size_t b = 0; b < count; b++)
		s.parent[b] = RI_NONE;
	mark_unknown(&s, population);
	mark_led_to(&s);
	grow_forest(&s);
	make_classes(&s);
	walk_from_the_best(&s);
	find_holders(&s, shapes);
	free(s.is_unknown);
	free(s.is_led_to);
	free(s.is_claimed);
	free(s.parent);
	free(s.order);
	free(s.below);
	free(s.below_bytes);
	free(s.seen);
	return unknown;
}

void ri_unknown_destroy(struct ri_unknown *unknown)
{
	if (!unknown)
		return;
	free(unknown->classes);
	free(unknown);
}
