/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A memory image, in the shape of a core file: every allocator's records are walked, and what
 * comes of it keeps the promises of heap.h.  No module is known, so that main_arena is found by
 * its shape.
 */
#include "base/gaps.h"
#include "fuzz.h"
#include "heap/heap.h"

#define SIZE_MAX_BYTES ((size_t)1 << 20)

static void check_order(const struct ri_heap *heap)
{
	for (size_t i = 0; i < heap->block_count; i++) {
		const struct ri_block *block = &heap->blocks[i];

		if (i && block->addr < block[-1].addr + block[-1].size_bytes)
			abort();
		if (ri_heap_find(heap, block->addr) != i ||
		    ri_heap_find(heap, block->addr + block->size_bytes - 1) != i)
			abort();
	}
	for (size_t i = 1; i < heap->region_count; i++)
		if (heap->regions[i].start < heap->regions[i - 1].end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct ri_target *target;
	struct ri_error *error;
	struct ri_gaps gaps;
	struct file file;

	if (size_bytes > SIZE_MAX_BYTES)
		return 0;
	file_open(&file, bytes, size_bytes);
	ri_gaps_init(&gaps);
	error = ri_target_open_core(file.path, &gaps, &target);
	if (!error) {
		struct ri_heap *heap;

		ri_image_seal(target->image);
		heap = ri_heap_create(target, NULL, &gaps);
		check_order(heap);
		ri_heap_destroy(heap);
		ri_target_close(target);
	}
	ri_error_destroy(error);
	ri_gaps_deinit(&gaps);
	file_close(&file);
	return 0;
}
