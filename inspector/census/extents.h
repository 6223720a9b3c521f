/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Extents: objects and used blocks under one index, for the census' question
 * "what does this word point into?".  Private to census/.
 */
#ifndef RI_CENSUS_EXTENTS_H
#define RI_CENSUS_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span_index.h"
#include "census/population.h"
#include "heap/heap.h"

#define RI_EXTENTS_MANY (RI_NONE - 1) /* block_object[]: several outermost objects */
#define RI_EXTENTS_DEPTH_MAX 16       /* how far the chain of parents is followed */

struct ri_extents {
	const struct ri_population *population;
	const struct ri_heap *heap;
	/* an object's index or object_count + a block's, ascending by start; a block that
	 * begins with an object has no entry of its own */
	uint32_t *entries;
	size_t entry_count;
	struct ri_span_index *index; /* over entries[] */
	uint64_t low, high;      /* no word outside [low, high) points into an extent */
	/* per block: its outermost object, RI_NONE (plain) or RI_EXTENTS_MANY */
	uint32_t *block_object;
	/* a bit per object: its block has several outermost objects; null: none has */
	uint64_t *shares_block;
	uint32_t *subtree_end;   /* per object: objects (o, subtree_end[o]) lie inside it */
};

/* What an address lies in: the innermost object, else the used block.  `block` is
 * the block of the object too, of whatever state, or RI_NONE. */
struct ri_hit {
	uint32_t object, block;
};

/* Both arguments must outlive the extents. */
struct ri_extents *ri_extents_create(const struct ri_population *population,
				     const struct ri_heap *heap);
void ri_extents_destroy(struct ri_extents *extents);

/* The look-up in two steps, so that a batch can fetch ahead: the last entry that
 * starts at or before `addr` (RI_NONE: none), and what of it contains `addr`. */
uint32_t ri_extents_find_entry(const struct ri_extents *extents, uint64_t addr);
bool ri_extents_resolve(const struct ri_extents *extents, uint32_t entry, uint64_t addr,
			struct ri_hit *ret);

/* Both steps. */
bool ri_extents_find(const struct ri_extents *extents, uint64_t addr, struct ri_hit *ret);

/* A new array, per block: its outermost object, RI_NONE or RI_EXTENTS_MANY. */
uint32_t *ri_extents_list_block_objects(const struct ri_population *population,
					const struct ri_heap *heap);

/* Index of the block of any state that contains `addr`, or RI_NONE (binary search). */
uint32_t ri_extents_find_block(const struct ri_heap *heap, uint64_t addr);

/* The first object whose start is at or after `addr`, or object_count. */
uint32_t ri_extents_first_object(const struct ri_population *population, uint64_t addr);

static inline uint64_t ri_extents_object_start(const struct ri_population *population,
					       const struct ri_object *object)
{
	return object->addr - population->types[object->type].front_bytes;
}

static inline uint64_t ri_extents_object_end(const struct ri_population *population,
					     const struct ri_object *object)
{
	uint64_t start = ri_extents_object_start(population, object);
	uint64_t end = start + population->types[object->type].extent_bytes;

	if (population->extra_words)
		end += (uint64_t)population->extra_words[object - population->objects] * 8;

	return end < start ? UINT64_MAX : end;
}

static inline uint64_t ri_extents_object_header(const struct ri_population *population,
						const struct ri_object *object)
{
	return object->addr + (uint64_t)population->types[object->type].header_offset;
}

static inline uint64_t ri_extents_block_end(const struct ri_block *block)
{
	return block->addr + block->size_bytes;
}

#endif
