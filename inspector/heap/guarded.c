/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks with guards around what the program asked for: CPython's debug hooks over any
 * allocator (Objects/obmalloc.c, _PyMem_DebugAlloc).  Found in the used blocks of the
 * other allocators, which are cut down to the bytes that were asked for.
 *
 *   0 the number of bytes asked for, big-endian; 8 a letter (o, m or r: whose memory it
 *   is); 9 seven bytes 0xfd; 16 the program's bytes; behind them eight bytes 0xfd
 *
 * Guards behind a block that were written over are damage.  Cost: one look at each used
 * block.  Blind spot: a block whose front was written over stays as it was.
 */
#include <stdlib.h>

#include "heap/heap_builder.h"
#include "heap/reader.h"

#define FRONT_BYTES 16u
#define BEHIND_BYTES 8u
#define GUARD 0xfdfdfdfdfdfdfdfdull
#define BLOCKS_AT_LEAST 16u

struct guarded {
	uint64_t asked_bytes;
	bool is_whole;           /* the guards behind it stand */
};

static bool read_front(struct ri_reader *reader, const struct ri_block *block,
		       struct guarded *ret)
{
	uint64_t asked, letter, behind;

	if (block->state != RI_BLOCK_USED || block->size_bytes < FRONT_BYTES + BEHIND_BYTES ||
	    !ri_reader_u64(reader, block->addr + 8, &letter) || letter >> 8 != GUARD >> 8 ||
	    !ri_reader_u64(reader, block->addr, &asked))
		return false;
	letter &= 0xff;
	ret->asked_bytes = __builtin_bswap64(asked);
	if ((letter != 'o' && letter != 'm' && letter != 'r') ||
	    ret->asked_bytes > block->size_bytes - FRONT_BYTES - BEHIND_BYTES)
		return false;
	ret->is_whole = ri_reader_u64(reader, block->addr + FRONT_BYTES + ret->asked_bytes,
				      &behind) &&
			behind == GUARD;
	return true;
}

static void cut(struct ri_heap_builder *builder, struct ri_block *block,
		const struct guarded *guarded)
{
	if (!guarded->is_whole)
		ri_heap_builder_add_damage(builder, block->addr, 0,
					   "the guard bytes behind a block were written over");
	block->addr += FRONT_BYTES;
	block->size_bytes = guarded->asked_bytes ? guarded->asked_bytes & ((1ull << 56) - 1) : 1;
}

static void walk(const struct ri_target *target, const struct ri_modules *modules,
		 struct ri_gaps *gaps, struct ri_heap_builder *builder)
{
	struct ri_heap *heap = builder->heap;
	struct ri_reader reader;
	struct guarded guarded;
	size_t count = 0;

	(void)modules;
	(void)gaps;
	ri_reader_init(&reader, target->image);
	if (!builder->is_sealed)
		ri_heap_builder_seal(builder);
	for (size_t i = 0; i < heap->block_count && count < BLOCKS_AT_LEAST; i++)
		count += read_front(&reader, &heap->blocks[i], &guarded) && guarded.is_whole;
	if (count < BLOCKS_AT_LEAST)
		return;
	for (size_t i = 0; i < heap->block_count; i++)
		if (read_front(&reader, &heap->blocks[i], &guarded))
			cut(builder, &heap->blocks[i], &guarded);
	ri_heap_builder_seal(builder);
}

const struct ri_allocator ri_allocator_guarded = {
	.name = "guarded",
	.walk = walk,
};
