/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap: collects what the allocators of allocators.c find, puts it in
 * address order, and answers for an address which block or region it lies in.
 *
 * Allocators append blocks in ascending order within each arena, so the array
 * is a sequence of a few ascending runs.  Sealing reorders whole runs where
 * they do not interleave, and falls back to sorting block by block where they
 * do (a damaged or hostile image only).  Overlapping blocks are cut, so that
 * whatever an allocator adds, the promise of heap.h holds.
 *
 * What this file does not know: any allocator's format.
 */
#include "heap/heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/span_index.h"
#include "heap/heap_builder.h"

#define DAMAGES_KEPT 10000
#define BLOCK_SIZE_MAX ((1ull << 56) - 1)

void ri_heap_builder_add_block(struct ri_heap_builder *builder, uint64_t addr,
			       uint64_t size_bytes, enum ri_block_state state)
{
	struct ri_heap *heap = builder->heap;
	struct ri_block *block;

	if (!size_bytes || size_bytes > BLOCK_SIZE_MAX || addr + size_bytes < addr)
		return;
	if (heap->block_count >= RI_NONE - 1) {
		builder->is_full = true;
		return;
	}
	if (!heap->block_count || addr < builder->last_addr) {
		builder->runs = ri_grow(builder->runs, &builder->run_capacity,
					builder->run_count + 1, sizeof(*builder->runs));
		builder->runs[builder->run_count++] = heap->block_count;
	}
	if (heap->block_count == builder->block_capacity)
		heap->blocks = ri_grow(heap->blocks, &builder->block_capacity,
				       heap->block_count + 1, sizeof(*heap->blocks));
	block = &heap->blocks[heap->block_count++];
	block->addr = addr;
	block->size_bytes = size_bytes;
	block->state = (uint64_t)state & 0xff;
	builder->last_addr = addr;
	builder->is_sealed = false;
}

void ri_heap_builder_add_region(struct ri_heap_builder *builder, uint64_t start, uint64_t end,
				const char *allocator, bool is_understood)
{
	struct ri_heap *heap = builder->heap;

	if (start >= end)
		return;
	heap->regions = ri_grow(heap->regions, &builder->region_capacity, heap->region_count + 1,
				sizeof(*heap->regions));
	heap->regions[heap->region_count++] =
		(struct ri_heap_region){ start, end, allocator, is_understood };
}

void ri_heap_builder_add_damage(struct ri_heap_builder *builder, uint64_t addr,
				uint64_t neighbour, const char *what)
{
	struct ri_heap *heap = builder->heap;

	if (heap->damage_count >= DAMAGES_KEPT) {
		builder->damages_dropped++;
		return;
	}
	heap->damages = ri_grow(heap->damages, &builder->damage_capacity, heap->damage_count + 1,
				sizeof(*heap->damages));
	heap->damages[heap->damage_count++] = (struct ri_heap_damage){ addr, neighbour, what };
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_blocks(const void *a, const void *b)
{
	return compare_u64(((const struct ri_block *)a)->addr, ((const struct ri_block *)b)->addr);
}

static int compare_regions(const void *a, const void *b)
{
	return compare_u64(((const struct ri_heap_region *)a)->start,
			   ((const struct ri_heap_region *)b)->start);
}

static int compare_damages(const void *a, const void *b)
{
	return compare_u64(((const struct ri_heap_damage *)a)->addr,
			   ((const struct ri_heap_damage *)b)->addr);
}

/* An ascending stretch of blocks[]. */
struct run {
	uint64_t first_addr, last_addr;
	size_t first, count;
};

static int compare_runs(const void *a, const void *b)
{
	return compare_u64(((const struct run *)a)->first_addr,
			   ((const struct run *)b)->first_addr);
}

/* Puts whole runs in order; false where two of them interleave. */
static bool reorder_runs(struct ri_heap_builder *builder)
{
	struct ri_heap *heap = builder->heap;
	size_t count = builder->run_count, done = 0;
	struct run *runs = ri_calloc(count, sizeof(*runs));
	struct ri_block *sorted;
	bool is_disjoint = true;

	for (size_t i = 0; i < count; i++) {
		size_t first = builder->runs[i];
		size_t end = i + 1 < count ? builder->runs[i + 1] : heap->block_count;

		runs[i] = (struct run){ heap->blocks[first].addr, heap->blocks[end - 1].addr,
					first, end - first };
	}
	qsort(runs, count, sizeof(*runs), compare_runs);
	for (size_t i = 1; i < count; i++)
		is_disjoint = is_disjoint && runs[i - 1].last_addr <= runs[i].first_addr;
	if (is_disjoint) {
		sorted = ri_malloc(heap->block_count * sizeof(*sorted));
		for (size_t i = 0; i < count; i++) {
			memcpy(&sorted[done], &heap->blocks[runs[i].first],
			       runs[i].count * sizeof(*sorted));
			done += runs[i].count;
		}
		free(heap->blocks);
		heap->blocks = sorted;
		builder->block_capacity = heap->block_count;
	}
	free(runs);
	return is_disjoint;
}

/* Cuts blocks that begin before the end of the one before them. */
static void remove_overlaps(struct ri_heap *heap)
{
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < heap->block_count; i++) {
		struct ri_block block = heap->blocks[i];
		uint64_t block_end = block.addr + block.size_bytes;

		if (block_end <= end)
			continue;
		if (block.addr < end) {
			block.size_bytes = (block_end - end) & BLOCK_SIZE_MAX;
			block.addr = end;
		}
		heap->blocks[kept++] = block;
		end = block_end;
	}
	heap->block_count = kept;
}

static uint64_t block_start(const void *data, size_t i)
{
	return ((const struct ri_block *)data)[i].addr;
}

static uint64_t block_end_of(const void *data, size_t i)
{
	const struct ri_block *block = &((const struct ri_block *)data)[i];

	return block->addr + block->size_bytes;
}

void ri_heap_builder_seal(struct ri_heap_builder *builder)
{
	struct ri_heap *heap = builder->heap;

	if (builder->run_count > 1 && !reorder_runs(builder))
		qsort(heap->blocks, heap->block_count, sizeof(*heap->blocks), compare_blocks);
	remove_overlaps(heap);
	builder->run_count = heap->block_count ? 1 : 0;
	if (builder->run_count) {
		builder->runs[0] = 0;
		builder->last_addr = heap->blocks[heap->block_count - 1].addr;
	}
	ri_span_index_destroy(heap->index);
	heap->index = ri_span_index_create(heap->block_count, block_start, block_end_of,
					   heap->blocks);
	builder->is_sealed = true;
}

/* Appends to `blocks` what the spans, from `*span` on, leave of `block`. */
static size_t carve_block(const struct ri_block *block, const struct ri_heap_span *spans,
			  size_t span_count, size_t *span, struct ri_block *blocks, size_t count)
{
	uint64_t at = block->addr, end = block->addr + block->size_bytes;

	while (*span < span_count && spans[*span].end <= at)
		(*span)++;
	for (size_t i = *span; at < end; i++) {
		uint64_t until = i < span_count && spans[i].start < end ? spans[i].start : end;

		if (at < until) {
			blocks[count] = *block;
			blocks[count].addr = at;
			blocks[count++].size_bytes = (until - at) & BLOCK_SIZE_MAX;
		}
		at = until < end ? spans[i].end : end;
	}
	return count;
}

void ri_heap_builder_carve(struct ri_heap_builder *builder, const struct ri_heap_span *spans,
			   size_t span_count)
{
	struct ri_heap *heap = builder->heap;
	struct ri_block *blocks;
	size_t count = 0, span = 0;

	if (!builder->is_sealed)
		ri_heap_builder_seal(builder);
	/* each span adds one block at the most */
	blocks = ri_malloc((heap->block_count + span_count) * sizeof(*blocks));
	for (size_t i = 0; i < heap->block_count; i++)
		count = carve_block(&heap->blocks[i], spans, span_count, &span, blocks, count);
	builder->block_capacity = heap->block_count + span_count;
	free(heap->blocks);
	heap->blocks = blocks;
	heap->block_count = count;
	ri_heap_builder_seal(builder);
}

uint32_t ri_heap_builder_find(const struct ri_heap_builder *builder, uint64_t addr, bool is_start)
{
	uint32_t i = ri_heap_find(builder->heap, addr);

	if (i != RI_NONE && is_start && builder->heap->blocks[i].addr != addr)
		return RI_NONE;
	return i;
}

/* Sorts the regions and joins or cuts those that touch or overlap. */
static void finish_regions(struct ri_heap *heap)
{
	size_t kept = 0;

	if (heap->region_count)
		qsort(heap->regions, heap->region_count, sizeof(*heap->regions), compare_regions);
	for (size_t i = 0; i < heap->region_count; i++) {
		struct ri_heap_region region = heap->regions[i];

		if (kept && region.start < heap->regions[kept - 1].end)
			region.start = heap->regions[kept - 1].end;
		if (region.start < region.end)
			heap->regions[kept++] = region;
	}
	heap->region_count = kept;
}

static void count_totals(struct ri_heap *heap)
{
	for (size_t i = 0; i < heap->block_count; i++) {
		const struct ri_block *block = &heap->blocks[i];

		if (block->state == RI_BLOCK_USED) {
			heap->used_count++;
			heap->used_bytes += block->size_bytes;
		} else if (block->state == RI_BLOCK_FREE) {
			heap->free_count++;
			heap->free_bytes += block->size_bytes;
		}
	}
}

static void tell_gaps(const struct ri_heap_builder *builder, struct ri_gaps *gaps)
{
	const struct ri_heap *heap = builder->heap;

	if (builder->is_full)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "heap",
			    "more than %" PRIu32 " heap blocks; those beyond were left out",
			    RI_NONE - 1);
	if (builder->damages_dropped)
		ri_gaps_add(gaps, RI_GAP_TOLD, "heap",
			    "%" PRIu64 " more damaged allocator records are not listed",
			    builder->damages_dropped);
	if (heap->foreign_allocator)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "heap",
			    "%s: used and freed memory cannot be told apart there",
			    heap->foreign_allocator);
}

struct ri_heap *ri_heap_create(const struct ri_target *target, const struct ri_modules *modules,
			       struct ri_gaps *gaps)
{
	struct ri_heap *heap = ri_calloc(1, sizeof(*heap));
	struct ri_heap_builder builder = { .heap = heap };

	heap->allocator = "unknown";
	for (size_t i = 0; i < ri_allocator_count; i++)
		ri_allocators[i]->walk(target, modules, gaps, &builder);
	heap->foreign_allocator = ri_heap_find_foreign(target, modules, heap->arena_count > 0);
	heap->wrapper_bytes = ri_heap_builder_unwrap(&builder, target);
	finish_regions(heap);
	if (heap->damage_count)
		qsort(heap->damages, heap->damage_count, sizeof(*heap->damages), compare_damages);
	count_totals(heap);
	tell_gaps(&builder, gaps);
	free(builder.runs);
	return heap;
}

void ri_heap_destroy(struct ri_heap *heap)
{
	if (!heap)
		return;
	ri_span_index_destroy(heap->index);
	free(heap->blocks);
	free(heap->regions);
	free(heap->damages);
	free(heap);
}

uint32_t ri_heap_find(const struct ri_heap *heap, uint64_t addr)
{
	uint32_t i = ri_span_index_find(heap->index, addr);
	const struct ri_block *block;

	if (i == RI_SPAN_NONE)
		return RI_NONE;
	block = &heap->blocks[i];
	/* The index answers for whole granules of 8 bytes; a block cut by
	 * remove_overlaps() may begin inside one. */
	while (block->addr > addr) {
		if (!i)
			return RI_NONE;
		block = &heap->blocks[--i];
	}
	return addr - block->addr < block->size_bytes ? i : RI_NONE;
}

const struct ri_heap_region *ri_heap_find_region(const struct ri_heap *heap, uint64_t addr)
{
	size_t low = 0, count = heap->region_count;

	while (count) {
		size_t half = count / 2;

		if (heap->regions[low + half].start <= addr) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low && addr < heap->regions[low - 1].end ? &heap->regions[low - 1] : NULL;
}
