/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is left of freed objects in blocks that are used for something else now: buffers that
 * nobody cleared, room in larger structs.  It carries its magic and plausible members.
 *
 * An object that nothing but its magic tells is one of these where a sound pointer of
 * another declared type leads to its block, where it has been written over (its count or a
 * pointer cannot be), or where it takes a part of a block of which no better known object
 * takes another part.  Cost: one pass over the objects, and the members of those in
 * question.  Blind spots: a whole remnant in a block that fits, held by untyped pointers
 * alone, looks like an object in all of this.
 */
#include "census/finder.h"

#define LOWEST_ADDRESS 4096

/* Whether each member that is declared to point at a struct holds null or leads somewhere. */
static bool are_pointers_sound(struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_shape *shape;
	uint32_t index;

	if (!type->type)
		return true;
	index = ri_shapes_counted(finder->shapes, type, object->type);
	shape = &finder->shapes->shapes.items[index];
	for (size_t i = 0; i < shape->slot_count; i++) {
		const struct ri_slot *slot = &shape->slots[i];
		uint64_t value;

		if (slot->in_union || slot->kind != RI_SLOT_POINTER)
			continue;
		if (!ri_reader_u64(&finder->reader,
				   ri_type_start(type, object->addr) + slot->offset_bytes,
				   &value) ||
		    (value >= LOWEST_ADDRESS && !ri_image_find(finder->image, value & ~7ull)))
			return false;
	}
	return true;
}

static bool fills_block(const struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_block *block = &finder->heap->blocks[object->block];

	return ri_type_start(type, object->addr) == block->addr &&
	       ri_finder_fits(type->extent_bytes, block->size_bytes);
}

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

bool ri_is_remnant(struct ri_finder *finder, const struct ri_object *object,
		   const uint64_t *pools)
{
	if (object->found != RI_FOUND_MAGIC || object->block == RI_NONE)
		return false;
	return has_bit(finder->is_contested, object->block) ||
	       object->state & RI_OBJECT_COUNT_IMPOSSIBLE ||
	       (!has_bit(pools, object->block) && !fills_block(finder, object)) ||
	       !are_pointers_sound(finder, object);
}

uint64_t *ri_pools_create(const struct ri_finder *finder)
{
	uint64_t *pools = ri_table_create((finder->heap->block_count / 64 + 1) * 8);

	for (size_t i = 0; i < finder->objects.count; i++) {
		const struct ri_object *object = &finder->objects.items[i];

		if (object->block != RI_NONE &&
		    object->found & ~(uint32_t)(RI_FOUND_MAGIC | RI_FOUND_GUESS) &&
		    !fills_block(finder, object))
			pools[object->block / 64] |= 1ull << object->block % 64;
	}
	return pools;
}

void ri_pools_destroy(const struct ri_finder *finder, uint64_t *pools)
{
	ri_table_destroy(pools, (finder->heap->block_count / 64 + 1) * 8);
}
