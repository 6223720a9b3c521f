/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of pools that a program maps for itself, beside those that typed pointers lead to:
 *
 *   pool     at least SEEDS_MIN known objects of one type in one mapping outside heaps, whose
 *            distances have a common divisor no smaller than the type
 *   place    what that divisor reaches in the mapping, no further from an object than there are
 *            objects, and no object covers
 *   alike    the count is alive, and each other word that is the same in nearly all known objects, or
 *            lies at the same distance from nearly all of them that it points to (a pointer
 *            into the object's own slot), is so there too; of such words that are not null there
 *            must be WORDS_MIN, and one of them must be an address
 *
 * Whether such a place is in use only its count says: what rests on it alone is for the checks
 * to doubt, as for all that lies in no block of an allocator.
 *
 * Cost: two passes over the objects and one over the places. Blind spots: pools in heap blocks
 * (pool_slots.c tells of these), of several types, and slots whose objects have no constant.
 */
#include <stdlib.h>
#include <string.h>

#include "census/word_kinds.h"

#define SEEDS_MIN 8
#define WORDS_MAX 64       /* of an object that are compared */
#define WORDS_MIN 2
#define PLACES_PER_OBJECT_MAX 64
#define ALIKE_PERCENT 97u

struct pool {
	const struct ri_range *range;
	uint32_t type;
	uint64_t first, last;      /* P of the first and the last object */
	uint64_t stride_bytes;
	uint32_t objects, word_count;
	uint64_t value[WORDS_MAX]; /* of the first object: as it is, and less the object's address */
	uint32_t same[WORDS_MAX], same_beside[WORDS_MAX];
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void add_object(const struct ri_recognise_input *input, struct pool *pool, uint64_t addr)
{
	for (uint32_t w = 0; w < pool->word_count; w++) {
		uint64_t value = 0;

		if (!ri_image_read_u64(input->image, addr + 8ull * w, &value))
			value = 0;
		if (!pool->objects)
			pool->value[w] = value;
		pool->same[w] += value == pool->value[w];
		pool->same_beside[w] += value - addr == pool->value[w] - pool->first;
	}
	if (pool->objects)
		pool->stride_bytes = common_divisor(pool->stride_bytes, addr - pool->last);
	pool->last = addr;
	pool->objects++;
}

static bool is_most(const struct pool *pool, uint32_t count)
{
	return count * 100ull >= (uint64_t)pool->objects * ALIKE_PERCENT;
}

/* Whether word `w` holds the count, or a part of it. */
static bool is_of_count(const struct ri_recognise_input *input, const struct pool *pool, uint32_t w)
{
	const struct ri_counted_type *type = &input->population->types[pool->type];
	const struct ri_count_rule *count =
		&input->layout->conventions.items[type->convention].counts[0];
	int64_t at = type->header_offset + count->field.offset_bytes;

	return 8ll * w + 8 > at && 8ll * w < at + (int64_t)count->field.size_bytes;
}

/* Whether what lies at `addr` has what the pool's objects have in common. */
static bool is_alike(const struct ri_recognise_input *input, const struct pool *pool, uint64_t addr)
{
	uint32_t words = 0, addresses = 0;

	for (uint32_t w = 0; w < pool->word_count; w++) {
		bool is_fixed = is_most(pool, pool->same[w]);
		uint64_t value;

		if ((!is_fixed && !is_most(pool, pool->same_beside[w])) ||
		    is_of_count(input, pool, w))
			continue;
		if (!ri_image_read_u64(input->image, addr + 8ull * w, &value) ||
		    (is_fixed ? value != pool->value[w]
			      : value - addr != pool->value[w] - pool->first))
			return false;
		words += value != 0;
		addresses += value && ri_image_find(input->image, value) != NULL;
	}
	return words >= WORDS_MIN && addresses;
}

static void look_at_pool(const struct ri_recognise_input *input, const struct pool *pool,
			 ri_recognised_list *ret)
{
	const struct ri_counted_type *type = &input->population->types[pool->type];
	uint64_t before, places, most;

	if (pool->objects < SEEDS_MIN || !pool->stride_bytes ||
	    pool->stride_bytes < type->extent_bytes ||
	    (pool->last - pool->first) / pool->stride_bytes / PLACES_PER_OBJECT_MAX > pool->objects)
		return;
	most = (uint64_t)pool->objects * PLACES_PER_OBJECT_MAX;
	before = (pool->first - pool->range->start) / pool->stride_bytes;
	if (before > most)
		before = most;
	places = (pool->range->end - pool->first) / pool->stride_bytes;
	if (places > most)
		places = most;
	for (uint64_t i = 0; i < before + places; i++) {
		uint64_t addr = pool->first + (i - before) * pool->stride_bytes;

		if (addr + type->size_bytes <= pool->range->end &&
		    ri_population_find(input->population, addr) == RI_NONE &&
		    ri_looks_alive(input, pool->type, addr, NULL) && is_alike(input, pool, addr))
			*ri_push(ret) = (struct ri_lost_object){ addr, pool->type };
	}
}

static bool may_be_of_pool(const struct ri_recognise_input *input, const bool *wanted,
			   const struct ri_object *object)
{
	return object->block == RI_NONE && object->parent == RI_NONE &&
	       object->type < input->layout->types.count && wanted[object->type] &&
	       !input->population->types[object->type].front_bytes &&
	       !(object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS | RI_OBJECT_STATIC |
				  RI_OBJECT_COUNT_IMPOSSIBLE));
}

void ri_pool_places_find(const struct ri_recognise_input *input, const bool *wanted,
			 ri_recognised_list *ret)
{
	const struct ri_population *population = input->population;
	struct pool pool = { 0 };

	for (size_t i = 0; i < population->object_count; i++) {
		const struct ri_object *object = &population->objects[i];
		uint64_t words = population->types[object->type].size_bytes / 8;

		if (!may_be_of_pool(input, wanted, object))
			continue;
		if (!pool.range || object->type != pool.type || object->addr >= pool.range->end) {
			if (pool.range)
				look_at_pool(input, &pool, ret);
			pool = (struct pool){ .range = ri_image_find(input->image, object->addr),
					      .type = object->type,
					      .first = object->addr,
					      .word_count = (uint32_t)(words < WORDS_MAX
									       ? words
									       : WORDS_MAX) };
		}
		if (pool.range)
			add_object(input, &pool, object->addr);
	}
	if (pool.range)
		look_at_pool(input, &pool, ret);
}
