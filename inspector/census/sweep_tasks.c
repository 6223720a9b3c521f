/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks of the holders' sweep: see sweep_tasks.h.  Objects go by number, blocks
 * by bytes; a source larger than a task is cut.
 */
#include "census/sweep_tasks.h"

#define TASK_OBJECTS 16384u
#define TASK_BLOCKS 65536u
#define TASK_BYTES (8ull << 20)

/* Cuts one source into tasks of TASK_BYTES. */
static void add_split_tasks(ri_sweep_task_list *list, enum ri_sweep_task_kind kind, uint32_t source,
			    uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t to = end - start > TASK_BYTES ? start + TASK_BYTES : end;

		*ri_push(list) = (struct ri_sweep_task){ kind, source, source + 1, start, to };
		start = to;
	}
}

static void add_blocks(ri_sweep_task_list *list, const struct ri_heap *heap)
{
	uint32_t first = 0;
	uint64_t bytes = 0;

	for (uint32_t b = 0; b < heap->block_count; b++) {
		const struct ri_block *block = &heap->blocks[b];
		bool is_large = block->state == RI_BLOCK_USED && block->size_bytes > TASK_BYTES;

		if (is_large || bytes > TASK_BYTES || b - first >= TASK_BLOCKS) {
			if (b > first)
				*ri_push(list) =
					(struct ri_sweep_task){ RI_SWEEP_BLOCKS, first, b, 0, 0 };
			first = b;
			bytes = 0;
		}
		if (is_large) {
			add_split_tasks(list, RI_SWEEP_BLOCKS, b, block->addr,
					ri_extents_block_end(block));
			first = b + 1;
		} else if (block->state == RI_BLOCK_USED) {
			bytes += block->size_bytes;
		}
	}
	if (first < heap->block_count)
		*ri_push(list) = (struct ri_sweep_task){ RI_SWEEP_BLOCKS, first,
							(uint32_t)heap->block_count, 0, 0 };
}

void ri_sweep_tasks_list(const struct ri_census_input *input, const struct ri_region *regions,
			 size_t region_count, ri_sweep_task_list *list)
{
	uint32_t object_count = (uint32_t)input->population->object_count;

	for (uint32_t o = 0; o < object_count; o += TASK_OBJECTS)
		*ri_push(list) = (struct ri_sweep_task){
			RI_SWEEP_OBJECTS, o,
			object_count - o > TASK_OBJECTS ? o + TASK_OBJECTS : object_count, 0, 0
		};
	add_blocks(list, input->heap);
	for (size_t r = 0; r < region_count; r++) {
		if (regions[r].kind == RI_REGION_ENDED_STACK)
			continue;
		add_split_tasks(list, RI_SWEEP_REGION, (uint32_t)r, regions[r].start,
				regions[r].end);
	}
}
