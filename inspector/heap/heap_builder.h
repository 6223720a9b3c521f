/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to heap/: what the builder keeps while the allocators walk, and the
 * parts of it that an allocator may use beyond heap.h: finding blocks that it
 * has already added, and changing their state.
 */
#ifndef RI_HEAP_HEAP_BUILDER_H
#define RI_HEAP_HEAP_BUILDER_H

#include "heap/heap.h"

/* The table in allocators.c. */
extern const struct ri_allocator *const ri_allocators[];
extern const size_t ri_allocator_count;

struct ri_heap_builder {
	struct ri_heap *heap;
	size_t block_capacity, region_capacity, damage_capacity;
	/* blocks[] is a sequence of ascending runs: runs[i] is the index of the
	 * first block of run i */
	size_t *runs;
	size_t run_count, run_capacity;
	uint64_t last_addr;      /* of the block that was added last */
	uint64_t damages_dropped; /* beyond the number that is kept */
	bool is_full;            /* no further block has a 32-bit index */
	bool is_sealed;          /* no block was added since the index was built */
};

/*
 * Sorts what was added so far, removes overlaps and builds the index, so that
 * the builder can be asked for blocks.  Adding blocks afterwards is allowed; it
 * takes effect at the next call.  Indices of blocks change.
 */
void ri_heap_builder_seal(struct ri_heap_builder *builder);

/* Index of the block whose user bytes begin at `addr` (is_start) or contain it,
 * else RI_NONE.  The builder must be sealed. */
uint32_t ri_heap_builder_find(const struct ri_heap_builder *builder, uint64_t addr, bool is_start);

/* [start, end) */
struct ri_heap_span {
	uint64_t start, end;
};

/*
 * Takes `spans` (ascending, not overlapping) out of the blocks that were added so far: an
 * allocator that got its memory from another one knows better.  Blocks around a
 * span are cut in two.  Seals the builder; indices of blocks change.
 */
void ri_heap_builder_carve(struct ri_heap_builder *builder, const struct ri_heap_span *spans,
			   size_t span_count);

/*
 * Cuts used blocks that begin with a header of the program's own allocator to what follows
 * it: see wrapped.c. Returns the bytes of such a header, 0: blocks have none, nothing was
 * changed. Seals the builder.
 */
uint64_t ri_heap_builder_unwrap(struct ri_heap_builder *builder, const struct ri_target *target);

/*
 * Looks for an allocator that this floor cannot walk: by the names of the
 * mapped files, by symbols of the executable, and by malloc's being defined
 * outside libc.  Returns what was noticed as one line of static text, or null.
 * `has_arena`: a glibc arena was found.  `modules` may be null.
 */
const char *ri_heap_find_foreign(const struct ri_target *target, const struct ri_modules *modules,
				 bool has_arena);

#endif
