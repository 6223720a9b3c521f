/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a pointer to a counted object leads to, where no object is known yet:
 * mostly objects without a magic, objects whose magic is damaged, and freed ones.
 *
 * In a used block the object must fill the block, or carry its magic.  Where the
 * pointer is in doubt itself (beyond a vector's length, in an object that may be none),
 * an object without magic is a guess.  In a free
 * one the pointer's holder must be sound itself, and the memory must still look
 * like the object; where the allocator's own words lie over the magic, the block
 * must fit instead.
 *
 * Outside heaps lie the pools that a program maps for itself. There nothing says where an
 * object begins or whether it is in use, so that the object has to: its count must be alive and
 * no larger than programs have holders, and its own pointers must lead where they should.
 */
#include "census/traverse_private.h"

#include "debug/modules.h"

#define MAPPED_COUNT_MAX 100000

#define FREE_OVERWRITTEN_BYTES 16 /* glibc's next and key words in a freed chunk */

/* The magic of a header whose block is free: NONE where the allocator has
 * written over it. */
static bool may_have_been(struct ri_finder *finder, const struct ri_counted_type *type,
			  uint64_t header, const struct ri_block *block)
{
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	enum ri_magic_state magic;
	bool is_at_start = ri_type_start(type, header - (uint64_t)type->header_offset) ==
			   block->addr;

	magic = ri_finder_magic(finder, type->convention, header, RI_NONE);
	if (magic == RI_MAGIC_LIVE || magic == RI_MAGIC_DEAD)
		return true;
	if (magic == RI_MAGIC_NONE)
		return is_at_start;
	return is_at_start && ri_finder_fits(type->extent_bytes, block->size_bytes) &&
	       header + (uint64_t)c->magics[0].field.offset_bytes <
		       block->addr + FREE_OVERWRITTEN_BYTES;
}

/* The type of an object that describes itself and begins the block, behind its front.  Its
 * count need not be sound where the pointer is; in a free block it says nothing. */
static uint32_t described_type(struct ri_finder *finder, uint32_t convention, uint64_t header,
			       uint32_t block, bool is_sound)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_block *b = &finder->heap->blocks[block];
	uint32_t type;

	if (b->state == RI_BLOCK_USED && !is_sound &&
	    !ri_described_is_at(finder, convention, header, block))
		return RI_NONE;
	type = ri_descriptors_type(finder, convention,
				   ri_finder_pointer(finder, header, &c->descriptor.field));
	if (type == RI_NONE ||
	    header - finder->types.items[type].front_bytes != b->addr)
		return RI_NONE;
	return type;
}

/* The type of the object that a pointer to `type` leads to in a used block:
 * that one, or the only one that embeds it there; RI_NONE if it is none or
 * cannot be told.  A magic that is bad needs a sound holder to vouch for it. */
static uint32_t type_in_used_block(struct ri_finder *finder, uint32_t type, uint64_t header,
				   uint32_t block, bool is_sound)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_block *b = &finder->heap->blocks[block];
	uint64_t start = ri_type_start(t, header - (uint64_t)t->header_offset);
	enum ri_magic_state magic = ri_finder_magic(finder, t->convention, header, RI_NONE);
	bool is_inside = ri_finder_inside(finder, type, header, block);
	uint32_t found = RI_NONE;

	if (magic == RI_MAGIC_BAD && !is_sound)
		return RI_NONE;
	if (is_inside && start == b->addr &&
	    (ri_finder_fits(t->extent_bytes, b->size_bytes) ||
	     ri_finder_has_tail(finder, t)))
		return type;
	if (is_inside && (magic == RI_MAGIC_LIVE ||
			  (is_sound && ri_finder_is_in_pool(finder, type, header, block))))
		return type;
	if (magic != RI_MAGIC_BAD)
		found = ri_finder_decide(finder, t->convention, header, block);
	if (found == RI_NONE && is_sound)
		ri_finder_keep_unproved(finder, type, header, block);
	return found;
}

/* Whether memory of no heap, module or stack holds what must be an object of `type`. */
static bool is_in_mapping(struct ri_finder *finder, uint32_t type, uint64_t addr)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
	const struct ri_range *range = ri_image_find(finder->image, addr);
	struct ri_object object = { .addr = addr, .type = type, .block = RI_NONE };
	int64_t count;

	if (!range || !(range->flags & RI_RANGE_WRITE) || addr % 8 || !t->type || !c->count_count ||
	    ri_heap_find_region(finder->heap, addr) ||
	    (finder->modules && ri_modules_find(finder->modules, addr)))
		return false;
	for (size_t i = 0; i < finder->target->thread_count; i++) {
		const struct ri_thread *thread = &finder->target->threads[i];

		if (thread->has_registers && thread->registers[RI_REG_RSP] >= range->start &&
		    thread->registers[RI_REG_RSP] < range->end)
			return false;
	}
	return ri_finder_magic(finder, t->convention, addr + (uint64_t)t->header_offset, type) !=
		       RI_MAGIC_BAD &&
	       ri_reader_peek(&finder->reader, ri_type_start(t, addr), t->extent_bytes) &&
	       ri_count_read(finder->image, addr + (uint64_t)t->header_offset, &c->counts[0],
			     &count) == RI_COUNT_LIVE &&
	       count >= 1 && count <= MAPPED_COUNT_MAX && ri_pointers_balance(finder, &object) > 0;
}

static bool is_described(const struct ri_finder *finder, uint32_t convention)
{
	return finder->layout->conventions.items[convention].descriptor.meta.is_present;
}

void ri_pointee_counted(struct ri_finder *finder, uint64_t value, uint32_t type, bool is_sound)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	uint64_t header = value + (uint64_t)t->header_offset;
	uint32_t block = ri_finder_block(finder, value), found = RI_NONE;
	uint32_t how = RI_FOUND_GUESS;

	if (block == RI_NONE) {
		if (is_sound && is_in_mapping(finder, type, value))
			ri_finder_add(finder, value, type, RI_FOUND_POINTER);
		return;
	}
	if (is_described(finder, t->convention)) {
		if (is_sound || finder->heap->blocks[block].state == RI_BLOCK_USED)
			found = described_type(finder, t->convention, header, block, is_sound);
		if (found != RI_NONE)
			ri_finder_add(finder,
				      header -
					      (uint64_t)finder->types.items[found].header_offset,
				      found, RI_FOUND_POINTER);
		return;
	}
	switch (finder->heap->blocks[block].state) {
	case RI_BLOCK_USED:
		found = type_in_used_block(finder, type, header, block, is_sound);
		break;
	case RI_BLOCK_FREE:
		if (is_sound && ri_finder_inside(finder, type, header, block) &&
		    may_have_been(finder, t, header, &finder->heap->blocks[block]))
			found = type;
		break;
	case RI_BLOCK_UNKNOWN:
		if (ri_finder_magic(finder, t->convention, header, RI_NONE) == RI_MAGIC_LIVE &&
		    ri_finder_inside(finder, type, header, block))
			found = type;
		break;
	default:
		break;
	}
	if (found == RI_NONE)
		return;
	if (is_sound)
		how = RI_FOUND_POINTER;
	else if (ri_finder_magic(finder, t->convention, header, RI_NONE) == RI_MAGIC_LIVE)
		how = RI_FOUND_MAGIC;
	else if (finder->block_use[block])
		return;
	ri_finder_add(finder, header - (uint64_t)finder->types.items[found].header_offset, found,
		      how);
}

bool ri_pointee_by_magic(struct ri_finder *finder, uint64_t value, uint32_t type)
{
	const struct ri_counted_type *t = &finder->types.items[type];

	if (ri_finder_block(finder, value) == RI_NONE)
		return true;
	if (ri_finder_magic(finder, t->convention, value + (uint64_t)t->header_offset, RI_NONE) ==
	    RI_MAGIC_NONE)
		return false;
	ri_pointee_counted(finder, value, type, false);
	return true;
}

/* The type of the freed object whose handle `value` is: the one whose descriptor
 * it still carries, else the only one that its block fits. */
static uint32_t freed_type_at(struct ri_finder *finder, uint64_t value, uint32_t convention,
			      uint32_t block)
{
	const struct ri_type_list *list = &finder->types_of[ri_finder_base(finder, convention)];
	uint32_t only = RI_NONE;
	size_t fitting = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct ri_counted_type *t = &finder->types.items[list->types[i]];
		const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
		uint64_t header = value + (uint64_t)t->header_offset;

		if (!ri_finder_inside(finder, list->types[i], header, block) ||
		    !may_have_been(finder, t, header, &finder->heap->blocks[block]))
			continue;
		if (t->descriptor &&
		    t->descriptor == ri_finder_pointer(finder, header, &c->descriptor.field))
			return list->types[i];
		only = list->types[i];
		fitting++;
	}
	return fitting == 1 ? only : RI_NONE;
}

void ri_pointee_owned(struct ri_finder *finder, uint64_t value, uint32_t convention)
{
	uint32_t block = ri_finder_block(finder, value), type = RI_NONE;

	if (block == RI_NONE || finder->heap->blocks[block].state != RI_BLOCK_FREE)
		return;
	for (uint32_t c = 0; type == RI_NONE && c < finder->layout->conventions.count; c++)
		if (c == convention ||
		    (convention == RI_NONE && ri_finder_base(finder, c) == c))
			type = freed_type_at(finder, value, c, block);
	if (type != RI_NONE)
		ri_finder_add(finder, value, type, RI_FOUND_POINTER);
}
