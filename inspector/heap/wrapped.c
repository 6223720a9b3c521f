/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks that begin with a header of the program's own. Many programs have an allocator in
 * front of malloc() that keeps the size of what was asked for, and more, before the memory that
 * it hands out: objects then begin some words into their block. The size is what gives such a
 * header away, since it has to agree with the allocator's:
 *
 *   size word   at one of SIZE_PLACES offsets in the block, the same in all
 *   front       a multiple of 8 bytes up to FRONT_MAX, the same in all, so that size and front
 *               fill the block but for the allocator's rounding
 *
 * Where SHARE_PERCENT of all used blocks, and BLOCKS_MIN, agree on both, and words
 * lead behind the headers and hardly ever to the blocks' starts (as to headers that are
 * chained, or vectors with their length in front), the blocks of which none does so are cut to
 * what was handed out.
 *
 * Cost: a few words of each used block; where these agree, one pass over writable memory.
 * Blind spots: headers without a size; free blocks, whose headers the allocator has overwritten;
 * the few pointers to a header that there may be.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "heap/heap_builder.h"
#include "heap/reader.h"
#include "target/target.h"

#define SIZE_PLACES 4
#define FRONT_WORDS_MAX 16 /* FRONT_MAX: 128 bytes */
#define ROUNDING_BYTES 16
#define LEAST_USABLE 24
#define MAPPED_BYTES (128u << 10)
#define PAGE_BYTES 4096
#define BLOCKS_MIN 64
#define SHARE_PERCENT 5
#define STARTS_PERCENT 3
#define WORDS_MAX (64u << 20) /* that are looked at */

struct wrapping {
	uint64_t place_bytes;    /* of the size in the block */
	uint64_t front_bytes;    /* of the header; 0: blocks have none */
};

static bool is_wrapped(uint64_t usable_bytes, uint64_t asked_bytes, uint64_t front_bytes)
{
	uint64_t slack = usable_bytes <= LEAST_USABLE ? LEAST_USABLE : ROUNDING_BYTES;

	if (usable_bytes >= MAPPED_BYTES)
		slack += PAGE_BYTES;
	return asked_bytes && asked_bytes < usable_bytes &&
	       usable_bytes - asked_bytes >= front_bytes &&
	       usable_bytes - asked_bytes - front_bytes < slack;
}

static bool block_is_wrapped(struct ri_reader *reader, const struct ri_block *block,
			     const struct wrapping *wrapping)
{
	uint64_t asked;

	return block->state == RI_BLOCK_USED &&
	       ri_reader_u64(reader, block->addr + wrapping->place_bytes, &asked) &&
	       is_wrapped(block->size_bytes, asked, wrapping->front_bytes);
}

/* The place and front that most used blocks agree on. */
static struct wrapping choose(struct ri_reader *reader, const struct ri_heap *heap)
{
	uint64_t votes[SIZE_PLACES][FRONT_WORDS_MAX + 1] = { { 0 } }, used = 0, most = 0;
	struct wrapping best = { 0, 0 };

	for (size_t i = 0; i < heap->block_count; i++) {
		const struct ri_block *block = &heap->blocks[i];
		uint64_t asked;

		if (block->state != RI_BLOCK_USED || block->size_bytes <= LEAST_USABLE)
			continue;
		used++;
		for (uint64_t p = 0; p < SIZE_PLACES && 8 * p + 8 < block->size_bytes; p++) {
			if (!ri_reader_u64(reader, block->addr + 8 * p, &asked) ||
			    asked >= block->size_bytes)
				continue;
			for (uint64_t f = p + 1; f <= FRONT_WORDS_MAX; f++)
				votes[p][f] += is_wrapped(block->size_bytes, asked, 8 * f);
		}
	}
	for (uint64_t p = 0; p < SIZE_PLACES; p++)
		for (uint64_t f = p + 1; f <= FRONT_WORDS_MAX; f++)
			if (votes[p][f] > most) {
				most = votes[p][f];
				best = (struct wrapping){ 8 * p, 8 * f };
			}
	if (most < BLOCKS_MIN || most < used / 100 * SHARE_PERCENT)
		best.front_bytes = 0;
	return best;
}

/* What words lead to. */
struct leads {
	const struct ri_heap_builder *builder;
	const struct wrapping *wrapping;
	struct ri_reader *reader; /* of the headers */
	uint64_t low, high;      /* [low, high]: what may be an address of interest */
	uint64_t starts;         /* that lead to the starts of wrapped blocks */
	uint64_t fronts;         /* that lead behind their headers */
	uint64_t words;          /* looked at */
	uint64_t *is_start;      /* a bit per block: something leads to its start, */
	uint64_t *is_front;      /* behind its header */
};

static void look_at_word(struct leads *leads, uint64_t value)
{
	const struct ri_block *block;
	uint32_t i;
	uint64_t beyond;

	if (value < leads->low || value > leads->high || value % 8)
		return;
	i = ri_heap_builder_find(leads->builder, value, false);
	if (i == RI_NONE)
		return;
	block = &leads->builder->heap->blocks[i];
	beyond = value - block->addr;
	if ((beyond && beyond != leads->wrapping->front_bytes) ||
	    !block_is_wrapped(leads->reader, block, leads->wrapping))
		return;
	if (block->size_bytes > LEAST_USABLE) {
		leads->starts += !beyond;
		leads->fronts += beyond != 0;
	}
	(beyond ? leads->is_front : leads->is_start)[i / 64] |= 1ull << i % 64;
}

static void look_at_words(struct leads *leads, uint64_t start, uint64_t end)
{
	struct ri_reader reader = { .image = leads->reader->image };

	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end && leads->words < WORDS_MAX; at += 8) {
		uint64_t value;

		leads->words++;
		if (!ri_reader_u64(&reader, at, &value))
			return;
		look_at_word(leads, value);
	}
}

static bool has_stack(const struct ri_target *target, const struct ri_range *range)
{
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct ri_thread *thread = &target->threads[i];

		if (thread->has_registers && thread->registers[RI_REG_RSP] >= range->start &&
		    thread->registers[RI_REG_RSP] < range->end)
			return true;
	}
	return false;
}

/* Used blocks, and writable memory besides heaps and stacks. */
static void look_everywhere(struct leads *leads, const struct ri_target *target)
{
	const struct ri_heap *heap = leads->builder->heap;
	size_t count, block = 0;
	const struct ri_range *ranges = ri_image_ranges(target->image, &count);

	for (size_t r = 0; r < count; r++) {
		const struct ri_range *range = &ranges[r];
		bool has_blocks;

		while (block < heap->block_count && heap->blocks[block].addr < range->start)
			block++;
		has_blocks = block < heap->block_count && heap->blocks[block].addr < range->end;
		if (!has_blocks && range->flags & RI_RANGE_WRITE && !(range->flags & RI_RANGE_ZERO) &&
		    !has_stack(target, range))
			look_at_words(leads, range->start, range->end);
		for (; block < heap->block_count && heap->blocks[block].addr < range->end; block++)
			if (heap->blocks[block].state == RI_BLOCK_USED)
				look_at_words(leads, heap->blocks[block].addr,
					      heap->blocks[block].addr +
						      heap->blocks[block].size_bytes);
	}
}

static bool has_bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* Cuts the wrapped blocks whose start nothing leads to; false if too many starts are. Of the
 * smallest blocks, any of which may hold a small number, those that a pointer bears out. */
static bool cut(struct leads *leads)
{
	struct ri_heap *heap = leads->builder->heap;

	if (leads->fronts < BLOCKS_MIN || leads->starts > leads->fronts / 100 * STARTS_PERCENT)
		return false;
	for (size_t i = 0; i < heap->block_count; i++) {
		struct ri_block *block = &heap->blocks[i];

		if (has_bit(leads->is_start, i) ||
		    (block->size_bytes <= LEAST_USABLE && !has_bit(leads->is_front, i)) ||
		    !block_is_wrapped(leads->reader, block, leads->wrapping))
			continue;
		block->addr += leads->wrapping->front_bytes;
		block->size_bytes = (block->size_bytes - leads->wrapping->front_bytes) &
				    ((1ull << 56) - 1);
	}
	return true;
}

uint64_t ri_heap_builder_unwrap(struct ri_heap_builder *builder, const struct ri_target *target)
{
	const struct ri_heap *heap = builder->heap;
	struct ri_reader reader = { .image = target->image };
	struct wrapping wrapping;
	struct leads leads = { .builder = builder, .wrapping = &wrapping, .reader = &reader };
	bool is_cut;

	if (!builder->is_sealed)
		ri_heap_builder_seal(builder);
	wrapping = choose(&reader, heap);
	if (!wrapping.front_bytes)
		return 0;
	leads.low = heap->blocks[0].addr;
	leads.high = heap->blocks[heap->block_count - 1].addr + wrapping.front_bytes;
	leads.is_start = ri_calloc(heap->block_count / 64 + 1, sizeof(*leads.is_start));
	leads.is_front = ri_calloc(heap->block_count / 64 + 1, sizeof(*leads.is_front));
	look_everywhere(&leads, target);
	is_cut = cut(&leads);
	free(leads.is_start);
	free(leads.is_front);
	if (!is_cut)
		return 0;
	ri_heap_builder_seal(builder);
	return wrapping.front_bytes;
}
