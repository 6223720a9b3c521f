/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks that the user gave a type: see assumed.h.
 *
 * An object of a counted type is added as one that more than its looks tells, so that its
 * pointers find others.  Any other struct becomes the type of its block, as if a sound
 * pointer to it had been met; where a pointer to something else leads there as well,
 * nothing in the block is certain (typed_blocks.c).  Blind spot: what the user says is
 * taken for true; a wrong type that fits shows in its findings at best.
 */
#include "census/assumed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "census/traverse_private.h"

static void refuse(struct ri_gaps *gaps, const struct ri_assumption *assumption, const char *why)
{
	ri_gaps_add(gaps, RI_GAP_MATTERS, "census", "--assume=0x%" PRIx64 "=%s: %s",
		    assumption->addr, assumption->type_name, why);
}

/* The struct that is meant, or null with the reason in the gaps. */
static const struct ri_type *find_type(struct ri_types *types,
				       const struct ri_assumption *assumption,
				       struct ri_gaps *gaps)
{
	const struct ri_type *type = NULL;
	bool is_ambiguous = false;

	if (types)
		type = ri_types_find(types, assumption->type_name, NULL, &is_ambiguous);
	type = type ? ri_type_strip(types, type) : NULL;
	if (!type)
		refuse(gaps, assumption, "the debug information has no type of that name");
	else if (is_ambiguous)
		refuse(gaps, assumption, "several different types have that name");
	else if ((type->kind != RI_TYPE_STRUCT && type->kind != RI_TYPE_UNION) || !type->size_bytes)
		refuse(gaps, assumption, "it is no struct");
	else
		return type;
	return NULL;
}

/* Whether the block may hold the struct; if not, the reason is in the gaps. */
static bool has_room(const struct ri_heap *heap, const struct ri_assumption *assumption,
		     const struct ri_type *type, struct ri_gaps *gaps)
{
	const struct ri_block *block;
	uint32_t index;
	char *why;

	if (heap->foreign_allocator) {
		refuse(gaps, assumption, "the allocator is not understood");
		return false;
	}
	index = heap->block_count ? ri_heap_find(heap, assumption->addr) : RI_NONE;
	if (index == RI_NONE) {
		refuse(gaps, assumption, "the address lies in no block of the heap");
		return false;
	}
	block = &heap->blocks[index];
	if (block->state != RI_BLOCK_USED) {
		refuse(gaps, assumption, block->state == RI_BLOCK_FREE
						 ? "the block there is free"
						 : "nobody knows whether the block there is used");
		return false;
	}
	if (type->size_bytes <= block->addr + block->size_bytes - assumption->addr)
		return true;
	why = ri_format("the struct has %" PRIu64 " bytes, the block 0x%" PRIx64
			" there has %" PRIu64,
			type->size_bytes, (uint64_t)block->addr,
			(uint64_t)(block->addr + block->size_bytes - assumption->addr));
	refuse(gaps, assumption, why);
	free(why);
	return false;
}

void ri_assumed_resolve(struct ri_types *types, const struct ri_heap *heap,
			const struct ri_assumption *assumptions, size_t count,
			struct ri_lost *known, struct ri_gaps *gaps)
{
	for (size_t i = 0; i < count; i++) {
		const struct ri_type *type = find_type(types, &assumptions[i], gaps);

		if (!type || !has_room(heap, &assumptions[i], type, gaps))
			continue;
		*ri_push(&known->assumed) =
			(struct ri_assumed){ assumptions[i].addr, type, assumptions[i].type_name };
		ri_gaps_add(gaps, RI_GAP_TOLD, "census", "assumed as told: 0x%" PRIx64 " is %s",
			    assumptions[i].addr, assumptions[i].type_name);
	}
}

static void add_object(struct ri_finder *finder, const struct ri_assumed *assumed,
		       uint32_t type)
{
	uint64_t block = finder->heap->blocks[ri_finder_block(finder, assumed->addr)].addr;

	if (assumed->addr - block < finder->types.items[type].front_bytes)
		ri_gaps_add(finder->gaps, RI_GAP_MATTERS, "census",
			    "--assume=0x%" PRIx64 "=%s: the header in front of it has no room",
			    assumed->addr, assumed->name);
	else
		ri_finder_add(finder, assumed->addr, type, RI_FOUND_ASSUMED);
}

void ri_assumed_apply(struct ri_finder *finder, struct ri_traversal *traversal)
{
	for (size_t i = 0; finder->lost && i < finder->lost->assumed.count; i++) {
		const struct ri_assumed *assumed = &finder->lost->assumed.items[i];
		uint32_t counted = ri_shapes_find_counted(finder->shapes, assumed->type);
		uint32_t block;

		if (counted != RI_NONE) {
			add_object(finder, assumed, counted);
			continue;
		}
		block = ri_typed_block_assume(finder, assumed->addr, assumed->type, assumed->name);
		if (block != RI_NONE)
			ri_traversal_add_block(traversal, block);
		else
			ri_gaps_add(finder->gaps, RI_GAP_MATTERS, "census",
				    "--assume=0x%" PRIx64 "=%s: no block without counted objects "
				    "starts there",
				    assumed->addr, assumed->name);
	}
}
