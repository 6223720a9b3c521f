/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds of words: see word_kinds.h.
 *
 * A pointer is told by where it leads: an object (by its type, at its start or inside), a
 * used block (by its size), freed memory, code, data, anything else that is mapped.  A
 * number by what its halves look like: counters, flags and lengths fill 32 bits
 * in most structs.
 */
#include "census/word_kinds.h"


enum { KIND_NUMBER, KIND_NULL, KIND_OBJECT, KIND_INSIDE, KIND_BLOCK, KIND_FREE, KIND_CODE,
       KIND_DATA, KIND_MAPPED };

#define KIND_SHIFT 20 /* of a kind's sort over its detail */
#define DETAIL_MASK ((1u << KIND_SHIFT) - 1)
#define SMALLEST_POINTER 4096
#define COUNT_MAX 100000

static uint32_t make_kind(uint32_t sort, uint64_t detail)
{
	return sort << KIND_SHIFT | (uint32_t)(detail & DETAIL_MASK);
}

static bool is_text(uint32_t half)
{
	for (int i = 0; i < 4; i++) {
		uint32_t byte = half >> 8 * i & 0xff;

		if (byte < 0x20 || byte > 0x7e)
			return false;
	}
	return true;
}

static uint32_t kind_of_half(uint32_t half)
{
	if (half <= 1)
		return half;
	if (half < 256)
		return 2;
	if (half < 65536)
		return 3;
	if (is_text(half))
		return 4;
	if (half < 1u << 24)
		return 5;
	return half >= 0xffff0000u ? 6 : 7; /* a small negative number, anything */
}

static uint32_t kind_of_number(uint64_t value)
{
	return make_kind(KIND_NUMBER,
			 kind_of_half((uint32_t)value) | kind_of_half(value >> 32) << 3);
}

static uint32_t kind_in_heap(const struct ri_recognise_input *input, uint64_t value, uint32_t b)
{
	const struct ri_block *block = &input->heap->blocks[b];
	uint32_t o;

	if (block->state == RI_BLOCK_FREE)
		return make_kind(KIND_FREE, 0);
	o = ri_population_find(input->population, value);
	if (o != RI_NONE) {
		const struct ri_object *object = &input->population->objects[o];

		return make_kind(value == object->addr ? KIND_OBJECT : KIND_INSIDE, object->type);
	}
	return make_kind(KIND_BLOCK, block->size_bytes / 8 << 1 | (value != block->addr));
}

uint32_t ri_word_kind(const struct ri_recognise_input *input, uint64_t value)
{
	const struct ri_range *range;
	uint32_t block;

	if (!value)
		return make_kind(KIND_NULL, 0);
	if (value < SMALLEST_POINTER)
		return kind_of_number(value);
	block = ri_heap_find(input->heap, value);
	if (block != RI_NONE)
		return kind_in_heap(input, value, block);
	range = ri_image_find(input->image, value);
	if (!range)
		return kind_of_number(value);
	if (range->flags & RI_RANGE_EXEC)
		return make_kind(KIND_CODE, 0);
	if (range->flags & RI_RANGE_ANONYMOUS)
		return make_kind(KIND_MAPPED, 0);
	return make_kind(KIND_DATA, 0);
}

bool ri_kind_is_pointer(uint32_t kind)
{
	return kind >> KIND_SHIFT >= KIND_OBJECT;
}

bool ri_kind_is_number(uint32_t kind)
{
	return kind >> KIND_SHIFT == KIND_NUMBER;
}

static uint64_t make_key(uint32_t owner, uint32_t word, uint32_t kind)
{
	return (uint64_t)owner << 36 | (uint64_t)(word & 0xfff) << 24 | kind;
}

void ri_kind_counts_add(struct ri_address_map *counts, uint32_t owner, uint32_t word, uint32_t kind)
{
	ri_address_map_set(counts, make_key(owner, word, kind),
			   ri_kind_counts_get(counts, owner, word, kind) + 1);
}

uint32_t ri_kind_counts_get(const struct ri_address_map *counts, uint32_t owner, uint32_t word,
			    uint32_t kind)
{
	uint32_t count = ri_address_map_find(counts, make_key(owner, word, kind));

	return count == RI_NONE ? 0 : count;
}

bool ri_looks_alive(const struct ri_recognise_input *input, uint32_t type, uint64_t addr,
		    int64_t *ret_count)
{
	const struct ri_counted_type *t = &input->population->types[type];
	const struct ri_convention *c = &input->layout->conventions.items[t->convention];
	int64_t count;

	if (!c->count_count ||
	    ri_count_read(input->image, addr + (uint64_t)t->header_offset, &c->counts[0],
			  &count) != RI_COUNT_LIVE ||
	    count < 1 || count > COUNT_MAX)
		return false;
	if (ret_count)
		*ret_count = count;
	return true;
}
