/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which blocks are pools of one type, from pointers that could not be believed alone: see
 * pools.h.
 *
 *   place   of an object that is known and does not fill its block, or what a declared pointer
 *           or a group led to
 *   pool    at least PLACES_MIN places of one type in one used block whose counts are alive and
 *           whose distances have a common divisor no smaller than the type
 *
 * A program's pools are alike: what one showed holds for all blocks of its size, so that a chain
 * through many pools is walked in the next census at once.
 *
 * A pointer that was left behind and leads into a block that was handed out again makes no pool:
 * it would take several, at regular distances.  Cost: the places are sorted; each
 * pointer to be proved is compared with POOLS_MAX pools at most.  Blind spots: pools with fewer
 * objects that anything points at, unless they have the size of others; more kinds of pools.
 */
#include "census/pools.h"

#include <stdlib.h>

#include "census/finder.h"

#define PLACES_MIN 3
#define POOLS_MAX 256
#define SPARE_BYTES 16     /* malloc gives away what is too little to be split off */

struct place {
	uint64_t addr;           /* P */
	uint32_t block, type;
	bool is_new;             /* could not be believed */
};

struct search {
	const struct ri_lost_input *input;
	RI_VEC(struct place) places;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->is_new > y->is_new) - (x->is_new < y->is_new);
}

static void add_place(struct search *s, uint64_t addr, uint32_t type, bool is_new)
{
	uint32_t block = ri_heap_find(s->input->heap, addr);

	if (block < s->input->heap->block_count &&
	    s->input->heap->blocks[block].state == RI_BLOCK_USED)
		*ri_push(&s->places) = (struct place){ addr, block, type, is_new };
}

static bool is_alive(const struct search *s, const struct place *place)
{
	const struct ri_layout *layout = s->input->layout;
	const struct ri_counted_type *type = &layout->types.items[place->type];
	const struct ri_convention *c = &layout->conventions.items[type->convention];
	int64_t count;

	return !place->is_new ||
	       (c->count_count && ri_count_read(s->input->image,
						place->addr + (uint64_t)type->header_offset,
						&c->counts[0], &count) == RI_COUNT_LIVE);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The pool that the places [first, end) of one type in one block make; its stride is 0 if they
 * make none, or nothing new. */
static struct ri_pool judge(const struct search *s, size_t first, size_t end)
{
	const struct place *p = s->places.items;
	const struct ri_counted_type *type = &s->input->layout->types.items[p[first].type];
	const struct ri_block *block = &s->input->heap->blocks[p[first].block];
	struct ri_pool pool = { .block_bytes = block->size_bytes, .type = p[first].type };
	uint64_t last = 0, places = 0;
	bool is_new = false;

	for (size_t i = first; i < end; i++) {
		is_new |= p[i].is_new;
		if ((places && p[i].addr == last) || !is_alive(s, &p[i]))
			continue;
		if (places++)
			pool.stride_bytes = common_divisor(p[i].addr - last, pool.stride_bytes);
		last = p[i].addr;
	}
	if (places < PLACES_MIN || pool.stride_bytes < type->extent_bytes || !is_new)
		pool.stride_bytes = 0;
	else
		pool.phase_bytes = (last - block->addr) % pool.stride_bytes;
	return pool;
}

static bool is_same(const struct ri_pool *a, const struct ri_pool *b)
{
	return a->type == b->type && a->stride_bytes == b->stride_bytes &&
	       a->phase_bytes == b->phase_bytes && a->block_bytes == b->block_bytes;
}

static bool is_among(const struct ri_lost *lost, const struct ri_pool *pool)
{
	for (size_t i = 0; lost && i < lost->pools.count; i++)
		if (is_same(&lost->pools.items[i], pool))
			return true;
	return false;
}

bool ri_lost_is_in_pool(const struct ri_lost *lost, const struct ri_block *block, uint32_t type,
			uint64_t addr)
{
	for (size_t i = 0; lost && i < lost->pools.count; i++) {
		const struct ri_pool *pool = &lost->pools.items[i];
		uint64_t bytes = block->size_bytes;

		if (pool->type == type && bytes + SPARE_BYTES >= pool->block_bytes &&
		    bytes <= pool->block_bytes + SPARE_BYTES &&
		    (addr - block->addr) % pool->stride_bytes == pool->phase_bytes)
			return true;
	}
	return false;
}

void ri_pools_find(const struct ri_lost_input *input, struct ri_lost *lost)
{
	const struct ri_population *population = input->population;
	size_t known = input->known ? input->known->pools.count : 0;
	struct search s = { .input = input };

	if (!population->unproved_count)
		return;
	for (size_t i = 0; i < population->unproved_count; i++)
		add_place(&s, population->unproved[i].addr, population->unproved[i].type, true);
	for (uint32_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];

		if (object->block != RI_NONE && object->parent == RI_NONE &&
		    object->type < input->layout->types.count &&
		    !(object->state & RI_OBJECT_DOUBTED_BITS))
			add_place(&s, object->addr, object->type, false);
	}
	if (s.places.count)
		qsort(s.places.items, s.places.count, sizeof(struct place), compare_places);
	for (size_t i = 0, end; i < s.places.count && known + lost->pools.count < POOLS_MAX;
	     i = end) {
		struct ri_pool pool;

		for (end = i + 1; end < s.places.count &&
				  s.places.items[end].block == s.places.items[i].block &&
				  s.places.items[end].type == s.places.items[i].type;)
			end++;
		pool = judge(&s, i, end);
		if (pool.stride_bytes && !is_among(input->known, &pool) && !is_among(lost, &pool))
			*ri_push(&lost->pools) = pool;
	}
	ri_vec_deinit(&s.places);
}
