/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is left of freed objects in blocks that are used for something else now: buffers that
 * nobody cleared, room in larger structs.  It carries its magic and plausible members.
 *
 * An object that nothing but its magic tells is one of these where
 *
 *	a sound pointer of another declared type leads to its block (no pool: a block of
 *	which a better known object takes another part);
 *	it takes a part of a block that is no pool;
 *	it has been written over: its count cannot be, or is absurd (COUNT_MAX), or a part of
 *	an address, or a pointer leads nowhere;
 *	no more of its typed pointers lead to what they should than lead elsewhere: into
 *	freed memory, into the middle of blocks, to objects of other types.  Those that
 *	are known to borrow may have been left behind by what they led to and say nothing.
 *
 *	an earlier census showed that the counts of what it points at deny it (stale.c).
 *
 * So is what lies in the middle of a block, told by a pointer to a type found by its shape alone,
 * and has been written over.
 *
 * Cost: one pass over the objects, and the members of those in question.  Blind spots: a
 * whole remnant in a block that fits, held by untyped pointers alone, looks like an object
 * in all of this.
 */
#include "census/finder.h"

#include "census/lost.h"
#include "profile/infer.h"

#define LOWEST_ADDRESS 4096
#define POINTERS_MAX 3
#define SMALL_COUNT_MAX 255
#define COUNT_MAX (1ll << 28) /* half a pointer is more, and so many holders are not met */

/* Typed pointers of an object: those that lead to what they should, and others. */
struct pointers {
	size_t good, bad;
	bool is_wild;            /* one leads nowhere at all */
};

enum lead { GOOD, BAD, NEUTRAL, WILD };

/* Where a pointer to a counted object leads. */
static enum lead weigh_counted(const struct ri_finder *finder, uint64_t value, uint32_t pointee)
{
	const struct ri_counted_type *type = &finder->types.items[pointee];
	uint64_t header = value + (uint64_t)type->header_offset;
	uint32_t block = ri_finder_block(finder, value);
	const struct ri_block *b;

	if (ri_finder_find(finder, header, type->convention) != RI_NONE)
		return GOOD;
	if (block == RI_NONE)
		return ri_heap_find_region(finder->heap, value) ? BAD : NEUTRAL;
	b = &finder->heap->blocks[block];
	/* an object without magic that nothing else leads to */
	return b->state == RI_BLOCK_USED && !finder->block_use[block] &&
			       ri_type_start(type, value) == b->addr &&
			       ri_finder_fits(type->extent_bytes, b->size_bytes)
		       ? NEUTRAL
		       : BAD;
}

/* A pointer to a plain struct, or to pointers. */
static enum lead weigh_plain(const struct ri_finder *finder, uint64_t value)
{
	uint32_t block = ri_finder_block(finder, value);

	if (block == RI_NONE)
		return ri_heap_find_region(finder->heap, value) ? BAD : NEUTRAL;
	if (finder->heap->blocks[block].state == RI_BLOCK_FREE)
		return BAD;
	return finder->heap->blocks[block].addr == value && finder->block_use[block] &&
			       finder->block_use[block] != RI_BLOCK_HAS_OBJECT
		       ? GOOD
		       : NEUTRAL;
}

static enum lead weigh_word(struct ri_finder *finder, const struct ri_slot *slot, uint64_t value)
{
	const struct ri_holder_class *class = &finder->shapes->classes.items[slot->class_index];
	enum lead lead;

	if (value < LOWEST_ADDRESS)
		return NEUTRAL;
	if (!ri_image_find(finder->image, value & ~7ull))
		return slot->kind == RI_SLOT_POINTER ? WILD : NEUTRAL;
	if (slot->pointee_type != RI_NONE && slot->kind == RI_SLOT_POINTER)
		lead = weigh_counted(finder, value, slot->pointee_type);
	else
		lead = weigh_plain(finder, value);
	return lead == BAD && class->is_declared && !class->is_possible && !class->weight
		       ? NEUTRAL
		       : lead;
}

static struct pointers weigh_pointers(struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	struct pointers pointers = { 0 };
	const struct ri_shape *shape;
	uint32_t shape_index;

	if (!type->type)
		return pointers;
	shape_index = ri_shapes_counted(finder->shapes, type, object->type); /* may move them all */
	shape = &finder->shapes->shapes.items[shape_index];
	for (size_t i = 0; i < shape->slot_count; i++) {
		const struct ri_slot *slot = &shape->slots[i];
		enum lead lead = WILD;
		uint64_t value;

		if (slot->in_union ||
		    (slot->kind != RI_SLOT_POINTER && slot->kind != RI_SLOT_POINTER_ARRAY))
			continue;
		if (ri_reader_u64(&finder->reader,
				  ri_type_start(type, object->addr) + slot->offset_bytes, &value))
			lead = weigh_word(finder, slot, value);
		pointers.good += lead == GOOD;
		pointers.bad += lead == BAD;
		pointers.is_wild |= lead == WILD;
	}
	return pointers;
}

/* Whether the count is part of a word that is an address: nothing that counts stands there.
 * A small one may have been written over what was left of an address. */
static bool is_part_of_address(struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	uint64_t place, word;

	if (object->count <= SMALL_COUNT_MAX || !c->count_count || !c->counts[0].field.is_present)
		return false;
	place = (ri_finder_header(finder, object) + (uint64_t)c->counts[0].field.offset_bytes) &
		~7ull;
	if (!ri_reader_u64(&finder->reader, place, &word) || word < LOWEST_ADDRESS)
		return false;
	/* glibc mangles the pointers of its lists of freed blocks so */
	return ri_image_find(finder->image, word & ~7ull) || word == place >> 12 ||
	       ri_image_find(finder->image, (word ^ place >> 12) & ~7ull);
}

/* Whether what the object holds was written over. */
static bool is_written_over(struct ri_finder *finder, const struct ri_object *object)
{
	struct pointers pointers;

	if (object->state & RI_OBJECT_COUNT_IMPOSSIBLE || object->count > COUNT_MAX ||
	    is_part_of_address(finder, object))
		return true;
	pointers = weigh_pointers(finder, object);
	return pointers.is_wild || (pointers.bad && pointers.bad >= pointers.good);
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

/* Whether nothing but a pointer into the middle of a block says that there is an object, of a
 * type that was found by its shape, and what lies there cannot be one. */
static bool is_stray(struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];

	return object->found == RI_FOUND_POINTER && object->block != RI_NONE && !c->magic_count &&
	       ri_convention_is_inferred(c) && !fills_block(finder, object) &&
	       is_written_over(finder, object);
}

bool ri_is_remnant(struct ri_finder *finder, const struct ri_object *object,
		   const uint64_t *pools)
{
	bool is_in_pool;

	if (is_stray(finder, object))
		return true;
	if (!ri_found_by_looks(object->found) || object->block == RI_NONE)
		return false;
	is_in_pool = has_bit(pools, object->block);
	return (!is_in_pool && (has_bit(finder->is_contested, object->block) ||
				!fills_block(finder, object))) ||
	       is_written_over(finder, object) || ri_lost_is_stale(finder->lost, object->addr);
}

int ri_pointers_balance(struct ri_finder *finder, const struct ri_object *object)
{
	struct pointers pointers = weigh_pointers(finder, object);
	int good = pointers.good < POINTERS_MAX ? (int)pointers.good : POINTERS_MAX;
	int bad = pointers.bad < POINTERS_MAX ? (int)pointers.bad : POINTERS_MAX;

	return good - bad - (pointers.is_wild ? POINTERS_MAX : 0);
}

uint64_t *ri_pools_create(const struct ri_finder *finder)
{
	uint64_t *pools = ri_table_create((finder->heap->block_count / 64 + 1) * 8);

	for (uint32_t i = 0; i < finder->objects.count; i++) {
		const struct ri_object *object = &finder->objects.items[i];

		if (object->block != RI_NONE && ri_finder_is_confirmed(finder, i) &&
		    !fills_block(finder, object))
			pools[object->block / 64] |= 1ull << object->block % 64;
	}
	return pools;
}

void ri_pools_destroy(const struct ri_finder *finder, uint64_t *pools)
{
	ri_table_destroy(pools, (finder->heap->block_count / 64 + 1) * 8);
}
