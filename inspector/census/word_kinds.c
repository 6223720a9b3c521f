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

#include <stdlib.h>

#include "base/strings.h"

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

struct entry {
	uint64_t key;            /* 0: empty */
	uint32_t count;
};

struct ri_kind_counts {
	struct entry *entries;   /* open addressing, a power of two */
	size_t capacity, used;
};

struct ri_kind_counts *ri_kind_counts_create(void)
{
	struct ri_kind_counts *counts = ri_calloc(1, sizeof(*counts));

	counts->capacity = 1024;
	counts->entries = ri_calloc(counts->capacity, sizeof(*counts->entries));
	return counts;
}

void ri_kind_counts_destroy(struct ri_kind_counts *counts)
{
	if (!counts)
		return;
	free(counts->entries);
	free(counts);
}

/* Never 0: kinds leave the top bits free. */
static uint64_t make_key(uint32_t owner, uint32_t word, uint32_t kind)
{
	return 1ull << 63 | (uint64_t)owner << 36 | (uint64_t)(word & 0xfff) << 24 | kind;
}

static struct entry *find_entry(const struct ri_kind_counts *counts, uint64_t key)
{
	size_t i = ri_hash_u64(key) & (counts->capacity - 1);

	while (counts->entries[i].key && counts->entries[i].key != key)
		i = (i + 1) & (counts->capacity - 1);
	return &counts->entries[i];
}

static void grow(struct ri_kind_counts *counts)
{
	struct entry *old = counts->entries;
	size_t old_capacity = counts->capacity;

	counts->capacity *= 2;
	counts->entries = ri_calloc(counts->capacity, sizeof(*counts->entries));
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i].key)
			*find_entry(counts, old[i].key) = old[i];
	free(old);
}

void ri_kind_counts_add(struct ri_kind_counts *counts, uint32_t owner, uint32_t word,
			uint32_t kind)
{
	struct entry *entry;

	if (counts->used * 2 >= counts->capacity)
		grow(counts);
	entry = find_entry(counts, make_key(owner, word, kind));
	if (!entry->key) {
		entry->key = make_key(owner, word, kind);
		counts->used++;
	}
	entry->count++;
}

uint32_t ri_kind_counts_get(const struct ri_kind_counts *counts, uint32_t owner, uint32_t word,
			    uint32_t kind)
{
	return find_entry(counts, make_key(owner, word, kind))->count;
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
