/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which stack belongs to which thread, and which to none: see stacks.h.
 *
 * The thread pointer of a live thread leads to its control block.  That begins
 * with a pointer to itself, has another 16 bytes on (x86-64 ABI and glibc), holds
 * the thread's id somewhere, and the start and size of the memory that contains
 * both the stack and the block itself.  Where those members lie differs from
 * release to release, so it is looked for: the id where all live threads have
 * theirs, start and size as two neighbouring words that fit.
 *
 * The library keeps the stacks of ended threads for later ones; a forked child
 * inherits those of its parent's threads.  Their control blocks are found by the
 * two pointers to themselves, in private writable memory outside heaps, and they
 * carry an id that no live thread has (0, mostly).  Such a stack holds nothing.
 *
 * Cost: a word in 64 bytes of that memory.  Blind spots: other thread libraries,
 * and ids that the target sees as others than the system does (a container);
 * those stacks are searched like any mapping.
 */
#include "census/stacks.h"

#include <stdbool.h>
#include <string.h>

#define CONTROL_BLOCK_BYTES 4096 /* members are looked for so far from its start */
#define CONTROL_BLOCK_ALIGNMENT 64
#define SELF_OFFSET 16
#define PAGE_BYTES 4096
#define ABOVE_MAX_BYTES 65536    /* between the control block and the end of the stack */
#define STACK_MAX_BYTES (1ull << 36)

/* Two neighbouring words: start and size of what the control block lies at the end of. */
static bool find_bounds(const struct ri_image *image, uint64_t block, struct ri_stack *stack)
{
	for (uint64_t offset = 0; offset < CONTROL_BLOCK_BYTES; offset += 8) {
		uint64_t start, size;

		if (!ri_image_read_u64(image, block + offset, &start) ||
		    !ri_image_read_u64(image, block + offset + 8, &size))
			return false;
		if (start % PAGE_BYTES || size % PAGE_BYTES || !size || size > STACK_MAX_BYTES ||
		    block <= start || block - start >= size ||
		    start + size - block > ABOVE_MAX_BYTES)
			continue;
		stack->start = start;
		stack->end = start + size;
		stack->control_block = block;
		return true;
	}
	return false;
}

static bool has_id(const struct ri_target *target, const struct ri_thread *thread, uint64_t offset)
{
	uint32_t id;

	return ri_image_read_u32(target->image, thread->registers[RI_REG_FS_BASE] + offset, &id) &&
	       id == (uint32_t)thread->tid;
}

/* Where control blocks have the thread's id; 0: not known. */
static uint64_t find_id_offset(const struct ri_target *target)
{
	for (uint64_t offset = SELF_OFFSET + 8; offset < CONTROL_BLOCK_BYTES; offset += 4) {
		size_t voters = 0, votes = 0;

		for (size_t i = 0; i < target->thread_count && votes == voters; i++) {
			const struct ri_thread *thread = &target->threads[i];

			if (!thread->has_registers || !thread->registers[RI_REG_FS_BASE])
				continue;
			voters++;
			votes += has_id(target, thread, offset);
		}
		if (voters && votes == voters)
			return offset;
	}
	return 0;
}

static void add_living(const struct ri_target *target, ri_stack_list *list)
{
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct ri_thread *thread = &target->threads[i];
		struct ri_stack stack = { .thread = (uint32_t)i };

		if (thread->has_registers && thread->registers[RI_REG_FS_BASE] &&
		    find_bounds(target->image, thread->registers[RI_REG_FS_BASE], &stack))
			*ri_push(list) = stack;
	}
}

static bool is_live_id(const struct ri_target *target, uint32_t id)
{
	for (size_t i = 0; i < target->thread_count; i++)
		if ((uint32_t)target->threads[i].tid == id)
			return true;
	return false;
}

/* The control block at `block`, if it is one, and of no live thread. */
static void add_if_ended(const struct ri_target *target, uint64_t block, uint64_t id_offset,
			 ri_stack_list *list)
{
	struct ri_stack stack = { .thread = RI_NONE };
	uint64_t self;
	uint32_t id;

	if (ri_image_read_u64(target->image, block + SELF_OFFSET, &self) && self == block &&
	    ri_image_read_u32(target->image, block + id_offset, &id) && !is_live_id(target, id) &&
	    find_bounds(target->image, block, &stack))
		*ri_push(list) = stack;
}

static void search_range(const struct ri_target *target, const struct ri_range *range,
			 uint64_t start, uint64_t end, uint64_t id_offset, ri_stack_list *list)
{
	uint64_t at = (start + CONTROL_BLOCK_ALIGNMENT - 1) & ~(CONTROL_BLOCK_ALIGNMENT - 1ull);

	for (; at < end && end - at >= SELF_OFFSET + 8; at += CONTROL_BLOCK_ALIGNMENT) {
		uint64_t word;

		memcpy(&word, range->bytes + (at - range->start), sizeof(word));
		if (word == at)
			add_if_ended(target, at, id_offset, list);
	}
}

static void add_ended(const struct ri_target *target, const struct ri_heap *heap,
		      uint64_t id_offset, ri_stack_list *list)
{
	size_t range_count, next = 0;
	const struct ri_range *ranges = ri_image_ranges(target->image, &range_count);

	for (size_t i = 0; i < range_count; i++) {
		const struct ri_range *range = &ranges[i];
		uint64_t at = range->start;

		if (!range->bytes || range->kind != RI_RANGE_PRESENT ||
		    !(range->flags & RI_RANGE_WRITE) || range->flags & RI_RANGE_SHARED)
			continue;
		while (next < heap->region_count && heap->regions[next].end <= at)
			next++;
		for (size_t r = next; r < heap->region_count && heap->regions[r].start < range->end;
		     r++) {
			if (heap->regions[r].start > at)
				search_range(target, range, at, heap->regions[r].start, id_offset,
					     list);
			at = heap->regions[r].end > at ? heap->regions[r].end : at;
		}
		if (at < range->end)
			search_range(target, range, at, range->end, id_offset, list);
	}
}

void ri_stacks_find(const struct ri_target *target, const struct ri_heap *heap,
		    ri_stack_list *list)
{
	uint64_t id_offset = find_id_offset(target);

	add_living(target, list);
	/* a thread that the target does not tell of looks as if it had ended */
	if (id_offset && !target->has_lost_threads)
		add_ended(target, heap, id_offset, list);
}
