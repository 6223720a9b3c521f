/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects at the unexplained places of pools: see recognise.h.
 *
 *   pool     the blocks of one size in which objects of one type stand, POOL_OBJECTS_MIN of
 *            them, at distances with a common divisor no smaller than the type
 *            More blocks of that size belong to it where a word before their first place leads to
 *            a block of the pool, or the like word of one leads there: all of their objects
 *            may have leaked
 *   place    what that divisor reaches in these blocks and no object covers
 *   looks    the count is alive, pointers to structs lead to such, words that all known
 *            objects share (a magic, a class) are there
 *   free     all zero: never used; or in a chain of free places: the word at which most
 *            unexplained places lead to another one is the link, and what is linked is free,
 *            whatever its count
 *
 * A place that looks like an object is one where the pool shows what its free places look
 * like (FREE_MIN of them, nearly all without a live count): then one that kept its count is no
 * free one.  Where it does not show that, the place must be led to by a pointer of some struct.
 * What remains is told as a doubt (pool_slots.c).
 *
 * Cost: a sort of the objects, a few words per place, one pass over the edges.  Blind spots:
 * pools outside the heap, pools of several types, places that are free without a chain and kept
 * their counts while most did not.
 */
#include <stdlib.h>

#include "base/strings.h"
#include "census/extents.h"
#include "census/word_kinds.h"

#define POOL_OBJECTS_MIN 4
#define PLACES_PER_OBJECT_MAX 8 /* more, and the distances are a coincidence */
#define WORDS_MAX 64            /* of an object that are compared */
#define SHARED_OBJECTS_MIN 8
#define SHARED_PERCENT 97
#define FREE_MIN 3
#define HEADER_WORDS_MAX 4      /* of a block before its first place */
#define LOOKED_AT_MAX 100000    /* pairs of blocks of one pool */
#define ODD_PERCENT_MAX 10      /* of the free ones: with a live count all the same */

/* A known object in a block; `offset` of its start. */
struct stand {
	uint32_t type, block;
	uint64_t size_bytes, offset;
};

enum place_state { PLACE_UNUSED, PLACE_DEAD, PLACE_ODD, PLACE_ALIKE };

struct place {
	uint64_t start;
	enum place_state state;
	bool is_chained;
};

/* Words that nearly all known objects share. */
struct shared {
	uint64_t value[WORDS_MAX];
	uint32_t same[WORDS_MAX];
	uint32_t seen, word_count;
};

struct sized_block {
	uint64_t size_bytes;
	uint32_t block;
};

struct search {
	const struct ri_recognise_input *input;
	const bool *is_known;    /* per block: has object or type */
	bool is_listed;          /* unknown[] and led_to, which only a pool needs */
	RI_VEC(struct sized_block) unknown; /* used blocks of neither, by size */
	struct ri_shapes *shapes; /* of its own: the census' stay as they are */
	RI_VEC(struct stand) stands; /* by type, size, block, offset */
	RI_VEC(struct place) places; /* of the pool under way */
	struct ri_address_map place_of; /* start to places[] */
	struct ri_address_map led_to; /* what typed places point at outside objects */
};

/* stands[first .. end) of one type in blocks of one size. */
struct pool {
	size_t first, end;
	uint64_t offset, stride_bytes, extent_bytes;
	uint32_t type;
};

static bool may_teach(const struct search *s, const struct ri_object *object, const bool *wanted)
{
	return object->parent == RI_NONE && object->block != RI_NONE &&
	       object->type < s->input->layout->types.count && wanted[object->type] &&
	       !(object->state & (RI_OBJECT_DOUBTED_BITS | RI_OBJECT_FREED)) &&
	       s->input->heap->blocks[object->block].state == RI_BLOCK_USED;
}

static int by_pool(const void *a, const void *b)
{
	const struct stand *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void list_stands(struct search *s, const bool *wanted)
{
	const struct ri_population *population = s->input->population;

	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		const struct ri_block *block;
		uint64_t start;

		if (!may_teach(s, object, wanted))
			continue;
		block = &s->input->heap->blocks[object->block];
		start = ri_extents_object_start(population, object);
		if (start >= block->addr)
			*ri_push(&s->stands) = (struct stand){ object->type, object->block,
							       block->size_bytes,
							       start - block->addr };
	}
	if (s->stands.count)
		qsort(s->stands.items, s->stands.count, sizeof(*s->stands.items), by_pool);
}

static int by_size(const void *a, const void *b)
{
	const struct sized_block *x = a, *y = b;

	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static void list_unknown(struct search *s)
{
	const struct ri_heap *heap = s->input->heap;

	for (size_t b = 0; b < heap->block_count; b++)
		if (heap->blocks[b].state == RI_BLOCK_USED && !s->is_known[b])
			*ri_push(&s->unknown) =
				(struct sized_block){ heap->blocks[b].size_bytes, (uint32_t)b };
	if (s->unknown.count)
		qsort(s->unknown.items, s->unknown.count, sizeof(*s->unknown.items), by_size);
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

/* Measures the pool; false: it is none. */
static bool measure(const struct search *s, struct pool *pool)
{
	const struct stand *stands = s->stands.items;
	uint64_t blocks = 1, places;
	bool is_shared = false;

	pool->type = stands[pool->first].type;
	pool->extent_bytes = s->input->layout->types.items[pool->type].extent_bytes;
	pool->offset = stands[pool->first].offset;
	pool->stride_bytes = 0;
	if (pool->end - pool->first < POOL_OBJECTS_MIN || !pool->extent_bytes)
		return false;
	for (size_t i = pool->first; i < pool->end; i++)
		if (stands[i].offset < pool->offset)
			pool->offset = stands[i].offset;
	for (size_t i = pool->first; i < pool->end; i++) {
		pool->stride_bytes =
			common_divisor(pool->stride_bytes, stands[i].offset - pool->offset);
		if (i > pool->first) {
			is_shared |= stands[i].block == stands[i - 1].block;
			blocks += stands[i].block != stands[i - 1].block;
		}
	}
	if (!is_shared || pool->stride_bytes < pool->extent_bytes)
		return false;
	places = (stands[pool->first].size_bytes - pool->offset) / pool->stride_bytes;
	return places && places <= PLACES_PER_OBJECT_MAX * (pool->end - pool->first) / blocks;
}

static void read_shared(const struct search *s, const struct pool *pool, struct shared *shared)
{
	uint64_t words = pool->extent_bytes / 8;

	*shared = (struct shared){ .word_count = (uint32_t)(words < WORDS_MAX ? words : WORDS_MAX) };
	for (size_t i = pool->first; i < pool->end; i++, shared->seen++) {
		const struct stand *stand = &s->stands.items[i];
		uint64_t start = s->input->heap->blocks[stand->block].addr + stand->offset, value;

		for (uint32_t w = 0; w < shared->word_count; w++) {
			if (!ri_image_read_u64(s->input->image, start + 8ull * w, &value))
				continue;
			if (!shared->seen)
				shared->value[w] = value;
			shared->same[w] += value == shared->value[w];
		}
	}
}

/* ---- what a place looks like ------------------------------------------------- */

static bool leads_to_counted(const struct search *s, uint32_t type, uint64_t value)
{
	const struct ri_population *population = s->input->population;
	uint32_t o = ri_population_find(population, value);

	for (; o != RI_NONE; o = population->objects[o].parent)
		if (population->objects[o].type == type && population->objects[o].addr == value)
			return !(population->objects[o].state & RI_OBJECT_FREED);
	/* one that was not found yet */
	return ri_looks_alive(s->input, type, value, NULL);
}

static bool is_plausible_pointer(const struct search *s, const struct ri_slot *slot,
				 uint64_t value)
{
	uint32_t block;

	if (!value || slot->in_union || slot->kind == RI_SLOT_HEADER ||
	    slot->kind == RI_SLOT_OTHER || slot->kind == RI_SLOT_VOID_POINTER)
		return true;
	if (!ri_image_find(s->input->image, value))
		return false;
	block = ri_heap_find(s->input->heap, value);
	if (block != RI_NONE && s->input->heap->blocks[block].state == RI_BLOCK_FREE)
		return false;
	return slot->kind != RI_SLOT_POINTER ||
	       slot->pointee_type >= s->input->layout->types.count ||
	       leads_to_counted(s, slot->pointee_type, value);
}

static bool looks_like(const struct search *s, const struct pool *pool,
		       const struct shared *shared, uint64_t start)
{
	const struct ri_counted_type *type = &s->input->layout->types.items[pool->type];
	uint32_t shape_index = ri_shapes_counted(s->shapes, type, pool->type);
	const struct ri_shape *shape = &s->shapes->shapes.items[shape_index];

	for (size_t i = 0; i < shape->slot_count; i++) {
		uint64_t value;

		if (!ri_image_read_u64(s->input->image, start + shape->slots[i].offset_bytes,
				       &value) ||
		    !is_plausible_pointer(s, &shape->slots[i], value))
			return false;
	}
	for (uint32_t w = 0; w < shared->word_count; w++) {
		uint64_t value;

		if (shared->seen >= SHARED_OBJECTS_MIN && shared->value[w] &&
		    shared->same[w] * 100ull >= shared->seen * (uint64_t)SHARED_PERCENT &&
		    (!ri_image_read_u64(s->input->image, start + 8ull * w, &value) ||
		     value != shared->value[w]))
			return false;
	}
	return true;
}

static bool is_zero(const struct search *s, const struct pool *pool, uint64_t start)
{
	for (uint64_t offset = 0; offset + 8 <= pool->extent_bytes; offset += 8) {
		uint64_t value;

		if (!ri_image_read_u64(s->input->image, start + offset, &value) || value)
			return false;
	}
	return true;
}

static void add_place(struct search *s, const struct pool *pool, const struct shared *shared,
		      uint64_t start)
{
	uint64_t addr = start + s->input->layout->types.items[pool->type].front_bytes;
	struct place place = { start, PLACE_DEAD, false };

	if (ri_population_find(s->input->population, addr) != RI_NONE)
		return;
	if (is_zero(s, pool, start))
		place.state = PLACE_UNUSED;
	else if (ri_looks_alive(s->input, pool->type, addr, NULL))
		place.state = looks_like(s, pool, shared, start) ? PLACE_ALIKE : PLACE_ODD;
	ri_address_map_set(&s->place_of, start, (uint32_t)s->places.count);
	*ri_push(&s->places) = place;
}

static void list_places_of(struct search *s, const struct pool *pool, const struct shared *shared,
			   const struct ri_block *block)
{
	for (uint64_t offset = pool->offset; offset + pool->extent_bytes <= block->size_bytes;
	     offset += pool->stride_bytes)
		add_place(s, pool, shared, block->addr + offset);
}

/* Whether one of the words before the first place of `from` leads to the start of `to`. */
static bool leads_to_block(const struct search *s, const struct pool *pool,
			   const struct ri_block *from, const struct ri_block *to)
{
	for (uint64_t offset = 0; offset < pool->offset && offset < 8 * HEADER_WORDS_MAX;
	     offset += 8) {
		uint64_t value;

		if (ri_image_read_u64(s->input->image, from->addr + offset, &value) &&
		    value == to->addr)
			return true;
	}
	return false;
}

/* The first unknown block of at least that size. */
static size_t first_of_size(const struct search *s, uint64_t size_bytes)
{
	size_t low = 0, high = s->unknown.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->unknown.items[middle].size_bytes < size_bytes)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes in blocks of the pool that hold no known object: neighbours in its chain of blocks. */
static void list_lost_blocks(struct search *s, const struct pool *pool, const struct shared *shared)
{
	const struct ri_heap *heap = s->input->heap;
	uint64_t size_bytes = s->stands.items[pool->first].size_bytes;
	size_t looked_at = 0;

	if (pool->end - pool->first < SHARED_OBJECTS_MIN)
		return;
	for (size_t i = first_of_size(s, size_bytes);
	     i < s->unknown.count && s->unknown.items[i].size_bytes == size_bytes; i++) {
		const struct ri_block *block = &heap->blocks[s->unknown.items[i].block];
		bool is_next = false;

		for (size_t k = pool->first; k < pool->end && !is_next; k++) {
			const struct ri_block *known = &heap->blocks[s->stands.items[k].block];

			if (k > pool->first && s->stands.items[k].block == s->stands.items[k - 1].block)
				continue;
			is_next = leads_to_block(s, pool, block, known) ||
				  leads_to_block(s, pool, known, block);
			if (++looked_at > LOOKED_AT_MAX)
				return;
		}
		if (is_next)
			list_places_of(s, pool, shared, block);
	}
}

static void list_places(struct search *s, const struct pool *pool, const struct shared *shared)
{
	s->places.count = 0;
	for (size_t i = pool->first; i < pool->end; i++) {
		const struct stand *stand = &s->stands.items[i];
		const struct ri_block *block = &s->input->heap->blocks[stand->block];

		if (i > pool->first && stand->block == stand[-1].block)
			continue;
		list_places_of(s, pool, shared, block);
	}
	list_lost_blocks(s, pool, shared);
}

/* ---- the chain of free places ------------------------------------------------ */

/* The place that word `w` of a place leads to, or RI_NONE. */
static uint32_t next_place(const struct search *s, uint64_t start, uint32_t w)
{
	uint64_t value;

	return ri_image_read_u64(s->input->image, start + 8ull * w, &value)
		       ? ri_address_map_find(&s->place_of, value) : RI_NONE;
}

/* Marks what is in the chain of free places, if there is one. */
static void mark_chained(struct search *s, const struct pool *pool)
{
	uint32_t words = (uint32_t)(pool->extent_bytes / 8 < WORDS_MAX ? pool->extent_bytes / 8
									: WORDS_MAX);
	uint32_t used = 0, best = RI_NONE, best_hits = 0;

	for (size_t i = 0; i < s->places.count; i++)
		used += s->places.items[i].state != PLACE_UNUSED;
	for (uint32_t w = 0; w < words; w++) {
		uint32_t hits = 0;

		for (size_t i = 0; i < s->places.count; i++)
			hits += next_place(s, s->places.items[i].start, w) != RI_NONE;
		if (hits > best_hits) {
			best_hits = hits;
			best = w;
		}
	}
	if (best == RI_NONE || best_hits * 2 < used)
		return;
	for (size_t i = 0; i < s->places.count; i++) {
		uint32_t next = next_place(s, s->places.items[i].start, best);

		if (next != RI_NONE)
			s->places.items[i].is_chained = s->places.items[next].is_chained = true;
	}
}

/* ---- taking ------------------------------------------------------------------ */

/* What pointers of structs and arrays lead to outside objects. */
static void list_led_to(struct search *s)
{
	const struct ri_holders *holders = s->input->holders;

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];
		enum ri_class_kind kind = s->input->shapes->classes.items[edge->class_index].kind;
		uint64_t addr, value;

		if (edge->target < holders->object_count || edge->word == RI_NONE ||
		    (kind != RI_CLASS_FIELD && kind != RI_CLASS_PLAIN_FIELD &&
		     kind != RI_CLASS_ARRAY))
			continue;
		addr = ri_holders_word_addr(holders, s->input->population, s->input->heap, e);
		if (addr && ri_image_read_u64(s->input->image, addr, &value))
			ri_address_map_set(&s->led_to, value, 1);
	}
}

static void take(struct search *s, const struct pool *pool, ri_recognised_list *ret)
{
	uint64_t front = s->input->layout->types.items[pool->type].front_bytes;
	size_t free_count = 0, odd = 0;
	bool shows_free;

	for (size_t i = 0; i < s->places.count; i++) {
		const struct place *place = &s->places.items[i];

		free_count += place->state != PLACE_ALIKE || place->is_chained;
		odd += place->state == PLACE_ODD ||
		       (place->state == PLACE_ALIKE && place->is_chained);
	}
	shows_free = free_count >= FREE_MIN && odd * 100 <= free_count * ODD_PERCENT_MAX;
	for (size_t i = 0; i < s->places.count; i++) {
		const struct place *place = &s->places.items[i];
		uint64_t addr = place->start + front;

		if (place->state == PLACE_ALIKE && !place->is_chained &&
		    (shows_free || ri_address_map_find(&s->led_to, addr) != RI_NONE))
			*ri_push(ret) = (struct ri_lost_object){ addr, pool->type };
	}
}

static void judge_pool(struct search *s, struct pool *pool, ri_recognised_list *ret)
{
	struct shared shared;

	if (!measure(s, pool))
		return;
	if (!s->is_listed) {
		s->is_listed = true;
		list_led_to(s);
		list_unknown(s);
	}
	read_shared(s, pool, &shared);
	list_places(s, pool, &shared);
	mark_chained(s, pool);
	take(s, pool, ret);
	ri_address_map_deinit(&s->place_of);
	s->place_of = (struct ri_address_map){ 0 };
}

void ri_pool_objects_find(const struct ri_recognise_input *input, const bool *wanted,
			  const bool *is_known, ri_recognised_list *ret)
{
	struct search s = { .input = input, .is_known = is_known };
	struct pool pool;

	list_stands(&s, wanted);
	if (s.stands.count)
		s.shapes = ri_shapes_create(input->layout, input->types);
	for (pool.first = 0; pool.first < s.stands.count; pool.first = pool.end) {
		const struct stand *stand = &s.stands.items[pool.first];

		for (pool.end = pool.first; pool.end < s.stands.count &&
					    s.stands.items[pool.end].type == stand->type &&
					    s.stands.items[pool.end].size_bytes == stand->size_bytes;)
			pool.end++;
		judge_pool(&s, &pool, ret);
	}
	if (s.shapes)
		ri_shapes_destroy(s.shapes);
	ri_address_map_deinit(&s.led_to);
	ri_vec_deinit(&s.places);
	ri_vec_deinit(&s.unknown);
	ri_vec_deinit(&s.stands);
}
