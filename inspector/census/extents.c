/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects and used blocks under one span index: see extents.h.
 *
 * Starts of objects and of used blocks are merged into one ascending list.  The
 * last entry that starts at or before an address is its innermost candidate;
 * from there the chain of parents, and after it the object's block, leads
 * outwards to whatever contains the address.  Objects come "outer before
 * inner", so that of several with one start the innermost is met first.
 *
 * Cost: linear to build; a look-up reads one index record, one entry, one object
 * or block.  Blind spot: of two objects that overlap without one containing the
 * other (a finding of its own) the later one hides the shared bytes of the
 * earlier.
 */
#include "census/extents.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

/* Entries that start after the address in its granule, at most this many. */
#define STEP_BACK_MAX 64

static uint64_t entry_start(const void *data, size_t i)
{
	const struct ri_extents *extents = data;
	uint32_t id = extents->entries[i];
	size_t object_count = extents->population->object_count;

	if (id < object_count)
		return ri_extents_object_start(extents->population,
					       &extents->population->objects[id]);
	return extents->heap->blocks[id - object_count].addr;
}

/* An object answers for the rest of its block too. */
static uint64_t entry_end(const void *data, size_t i)
{
	const struct ri_extents *extents = data;
	const struct ri_heap *heap = extents->heap;
	uint32_t id = extents->entries[i];
	size_t object_count = extents->population->object_count;
	const struct ri_object *object;
	uint64_t end;

	if (id >= object_count)
		return ri_extents_block_end(&heap->blocks[id - object_count]);
	object = &extents->population->objects[id];
	end = ri_extents_object_end(extents->population, object);
	if (object->block < heap->block_count &&
	    ri_extents_block_end(&heap->blocks[object->block]) > end)
		end = ri_extents_block_end(&heap->blocks[object->block]);
	return end;
}

uint32_t *ri_extents_list_block_objects(const struct ri_population *population,
					const struct ri_heap *heap)
{
	uint32_t *list = ri_malloc(heap->block_count * sizeof(*list));

	for (size_t b = 0; b < heap->block_count; b++)
		list[b] = RI_NONE;
	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];

		if (object->block < heap->block_count && object->parent == RI_NONE)
			list[object->block] = list[object->block] == RI_NONE ? (uint32_t)o
									     : RI_EXTENTS_MANY;
	}
	return list;
}

/* Kept apart from block_object[], since it is asked for every typed pointer: a bit per
 * object stays in the cache where a word per block does not. */
static void mark_shared_blocks(struct ri_extents *extents)
{
	const struct ri_population *population = extents->population;

	for (size_t o = 0; o < population->object_count; o++) {
		uint32_t block = population->objects[o].block;

		if (block < extents->heap->block_count &&
		    extents->block_object[block] == RI_EXTENTS_MANY) {
			if (!extents->shares_block)
				extents->shares_block = ri_calloc(
					population->object_count / 64 + 1, sizeof(uint64_t));
			extents->shares_block[o / 64] |= 1ull << o % 64;
		}
	}
}

static void fill_subtree_ends(struct ri_extents *extents)
{
	const struct ri_population *population = extents->population;
	uint32_t *end = ri_calloc(population->object_count, sizeof(*end));

	for (size_t o = population->object_count; o-- > 0;) {
		uint32_t parent = population->objects[o].parent;

		if (end[o] <= o)
			end[o] = (uint32_t)o + 1;
		if (parent < o && end[parent] < end[o])
			end[parent] = end[o];
	}
	extents->subtree_end = end;
}

static void merge_entries(struct ri_extents *extents)
{
	const struct ri_population *population = extents->population;
	const struct ri_heap *heap = extents->heap;
	size_t o = 0, n = 0;

	extents->entries = ri_malloc((population->object_count + heap->block_count) *
				     sizeof(*extents->entries));
	for (size_t b = 0; b < heap->block_count; b++) {
		const struct ri_block *block = &heap->blocks[b];

		if (block->state != RI_BLOCK_USED || !block->size_bytes)
			continue;
		while (o < population->object_count &&
		       ri_extents_object_start(population, &population->objects[o]) < block->addr)
			extents->entries[n++] = (uint32_t)o++;
		if (o < population->object_count && population->objects[o].block == b &&
		    ri_extents_object_start(population, &population->objects[o]) == block->addr)
			continue;
		extents->entries[n++] = (uint32_t)(population->object_count + b);
	}
	while (o < population->object_count)
		extents->entries[n++] = (uint32_t)o++;
	extents->entries = ri_realloc(extents->entries, n, sizeof(*extents->entries));
	extents->entry_count = n;
}

struct ri_extents *ri_extents_create(const struct ri_population *population,
				     const struct ri_heap *heap)
{
	struct ri_extents *extents = ri_calloc(1, sizeof(*extents));

	assert(population->object_count + heap->block_count < RI_EXTENTS_MANY);
	extents->population = population;
	extents->heap = heap;
	extents->block_object = ri_extents_list_block_objects(population, heap);
	mark_shared_blocks(extents);
	fill_subtree_ends(extents);
	merge_entries(extents);
	extents->index =
		ri_span_index_create(extents->entry_count, entry_start, entry_end, extents);
	ri_span_index_bounds(extents->index, &extents->low, &extents->high);
	return extents;
}

void ri_extents_destroy(struct ri_extents *extents)
{
	if (!extents)
		return;
	ri_span_index_destroy(extents->index);
	free(extents->entries);
	free(extents->block_object);
	free(extents->shares_block);
	free(extents->subtree_end);
	free(extents);
}

uint32_t ri_extents_find_entry(const struct ri_extents *extents, uint64_t addr)
{
	uint32_t entry = ri_span_index_find(extents->index, addr);

	return entry == RI_SPAN_NONE ? RI_NONE : entry;
}

static bool contains_block(const struct ri_heap *heap, uint32_t block, uint64_t addr)
{
	return block < heap->block_count && heap->blocks[block].state == RI_BLOCK_USED &&
	       addr - heap->blocks[block].addr < heap->blocks[block].size_bytes;
}

bool ri_extents_resolve(const struct ri_extents *extents, uint32_t entry, uint64_t addr,
			struct ri_hit *ret)
{
	const struct ri_population *population = extents->population;
	uint32_t id, block;

	for (unsigned i = 0; entry != RI_NONE && entry_start(extents, entry) > addr; i++) {
		if (!entry || i == STEP_BACK_MAX)
			return false;
		entry--;
	}
	if (entry == RI_NONE)
		return false;
	id = extents->entries[entry];
	if (id >= population->object_count) {
		block = id - (uint32_t)population->object_count;
	} else {
		block = population->objects[id].block;
		for (unsigned i = 0; id != RI_NONE && i < RI_EXTENTS_DEPTH_MAX; i++) {
			const struct ri_object *object = &population->objects[id];

			if (addr < ri_extents_object_end(population, object)) {
				ret->object = id;
				ret->block = object->block;
				return true;
			}
			id = object->parent;
		}
	}
	if (!contains_block(extents->heap, block, addr))
		return false;
	ret->object = RI_NONE;
	ret->block = block;
	return true;
}

bool ri_extents_find(const struct ri_extents *extents, uint64_t addr, struct ri_hit *ret)
{
	if (addr < extents->low || addr >= extents->high)
		return false;
	return ri_extents_resolve(extents, ri_extents_find_entry(extents, addr), addr, ret);
}

uint32_t ri_extents_find_block(const struct ri_heap *heap, uint64_t addr)
{
	size_t low = 0, high = heap->block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (heap->blocks[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || addr - heap->blocks[low - 1].addr >= heap->blocks[low - 1].size_bytes)
		return RI_NONE;
	return (uint32_t)(low - 1);
}

uint32_t ri_extents_first_object(const struct ri_population *population, uint64_t addr)
{
	size_t low = 0, high = population->object_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ri_extents_object_start(population, &population->objects[middle]) < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}
