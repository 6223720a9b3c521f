/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unexplained places in pools: see pool_slots.h.
 *
 *   pool    at least OBJECTS_MIN objects of one type in one block, one after another, whose
 *           distances have a common divisor no smaller than the type
 *   place   what that divisor reaches from the first to the last of them and no object covers
 *
 * A place whose count is alive is a leaked object, or a free one that kept its count: which of
 * them cannot be told, so it is a gap and no finding.  Cost: one pass over the objects, and
 * one over the places, of which a block has no more than bytes.  Blind spots: places before
 * the first and after the last object, pools outside the heap, pools of several types.
 */
#include "census/pool_slots.h"

#include <inttypes.h>
#include <stdlib.h>

#define OBJECTS_MIN 4
#define PLACES_PER_OBJECT_MAX 8 /* more, and the distances are a coincidence */

struct pool {
	uint64_t first, last;    /* P of the first and the last object */
	uint64_t stride_bytes;   /* 0: one object so far */
	uint64_t objects;
	uint32_t type, block;
};

struct search {
	const struct ri_image *image;
	const struct ri_layout *layout;
	const struct ri_population *population;
	uint64_t *places;        /* per type: that look alive */
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

static bool is_alive(const struct search *s, const struct ri_counted_type *type, uint64_t addr)
{
	const struct ri_convention *c = &s->layout->conventions.items[type->convention];
	int64_t count;

	return c->count_count &&
	       ri_count_read(s->image, addr + (uint64_t)type->header_offset, &c->counts[0],
			     &count) == RI_COUNT_LIVE;
}

static void look_between(struct search *s, const struct pool *pool)
{
	const struct ri_counted_type *type = &s->population->types[pool->type];
	uint64_t places;

	if (pool->objects < OBJECTS_MIN || !type->extent_bytes ||
	    pool->stride_bytes < type->extent_bytes)
		return;
	places = (pool->last - pool->first) / pool->stride_bytes + 1;
	if (places / PLACES_PER_OBJECT_MAX > pool->objects)
		return;
	for (uint64_t i = 0; i < places; i++) {
		uint64_t addr = pool->first + i * pool->stride_bytes;

		if (ri_population_find(s->population, addr) == RI_NONE &&
		    is_alive(s, type, addr))
			s->places[pool->type]++;
	}
}

static void look_at_objects(struct search *s, const bool *wanted)
{
	struct pool pool = { .type = RI_NONE, .block = RI_NONE };

	for (size_t i = 0; i < s->population->object_count; i++) {
		const struct ri_object *object = &s->population->objects[i];

		if (object->parent != RI_NONE || object->block == RI_NONE ||
		    object->type >= s->layout->types.count || !wanted[object->type])
			continue;
		if (object->type == pool.type && object->block == pool.block) {
			pool.stride_bytes =
				common_divisor(pool.stride_bytes, object->addr - pool.last);
			pool.last = object->addr;
			pool.objects++;
			continue;
		}
		look_between(s, &pool);
		pool = (struct pool){ object->addr, object->addr, 0, 1, object->type,
				      object->block };
	}
	look_between(s, &pool);
}

void ri_pool_slots_tell(const struct ri_image *image, const struct ri_layout *layout,
			const struct ri_population *population, const bool *wanted,
			struct ri_gaps *gaps)
{
	struct search s = { image, layout, population,
			    ri_calloc(layout->types.count + 1, sizeof(*s.places)) };

	look_at_objects(&s, wanted);
	for (size_t t = 0; t < layout->types.count; t++)
		if (s.places[t])
			ri_gaps_add(gaps, RI_GAP_MATTERS, "census",
				    "%" PRIu64 " place%s among objects of type %s in pools may be "
				    "%s that nothing leads to, or free",
				    s.places[t], s.places[t] == 1 ? "" : "s",
				    layout->types.items[t].name,
				    s.places[t] == 1 ? "an object" : "objects");
	free(s.places);
}
