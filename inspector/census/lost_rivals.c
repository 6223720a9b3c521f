/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rivals of a lost object: other structs of the program that fill its block and explain
 * what is in it at least as well.  Cost: one pass over the program's structs, then for each
 * block those of its size, RIVALS_MAX at most: with more nothing is evident.
 */
#include "census/lost_private.h"

#include <stdlib.h>

#include "census/type_walk.h"

#define RIVALS_MAX 256       /* structs of one size */

static bool add_rival(const struct ri_type *type, void *data)
{
	struct ri_lost_search *s = data;
	size_t low = 0, high = s->sizes.count;

	while (low < high) { /* the first block that is no smaller */
		size_t middle = low + (high - low) / 2;

		if (s->sizes.items[middle] < type->size_bytes)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < s->sizes.count && ri_finder_fits(type->size_bytes, s->sizes.items[low]))
		*ri_push(&s->rivals) = (struct ri_lost_rival){ type, RI_NONE };
	return true;
}

static int compare_rivals(const void *a, const void *b)
{
	const struct ri_lost_rival *x = a, *y = b;

	return (x->type->size_bytes > y->type->size_bytes) -
	       (x->type->size_bytes < y->type->size_bytes);
}

static size_t first_rival(const struct ri_lost_search *s, uint64_t usable)
{
	size_t low = 0, high = s->rivals.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t size_bytes = s->rivals.items[middle].type->size_bytes;

		if (size_bytes <= usable && !ri_finder_fits(size_bytes, usable))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The distinct ones among s->sizes, sorted. */
static void sort_sizes(struct ri_lost_search *s)
{
	size_t kept = 0;

	qsort(s->sizes.items, s->sizes.count, sizeof(*s->sizes.items), compare_sizes);
	for (size_t i = 0; i < s->sizes.count; i++)
		if (!kept || s->sizes.items[i] != s->sizes.items[kept - 1])
			s->sizes.items[kept++] = s->sizes.items[i];
	s->sizes.count = kept;
}

void ri_lost_list_rivals(struct ri_lost_search *s)
{
	sort_sizes(s);
	ri_types_each_struct(s->input->types, add_rival, s);
	if (s->rivals.count)
		qsort(s->rivals.items, s->rivals.count, sizeof(*s->rivals.items), compare_rivals);
}

bool ri_lost_has_rival(struct ri_lost_search *s, const struct ri_lost_object *object,
		       uint32_t block, unsigned score)
{
	const struct ri_block *b = &s->input->heap->blocks[block];
	const struct ri_type *own = s->input->layout->types.items[object->type].type;
	size_t seen = 0;

	for (size_t i = first_rival(s, b->size_bytes); i < s->rivals.count; i++) {
		struct ri_lost_rival *rival = &s->rivals.items[i];
		struct ri_lost_weight weight;

		if (rival->type->size_bytes > b->size_bytes)
			break;
		if (ri_types_are_same(rival->type, own))
			continue;
		if (++seen > RIVALS_MAX)
			return true;
		if (rival->shape == RI_NONE)
			rival->shape = ri_shapes_shape(s->shapes, rival->type,
						       rival->type->name ? rival->type->name : "",
						       RI_CLASS_PLAIN_FIELD);
		weight = ri_lost_weigh(s, NULL, rival->shape, b->addr);
		if (weight.is_possible && weight.is_strict && weight.score >= score)
			return true;
	}
	return false;
}
