/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts of the traversal on stacks: see local_starts.h.
 *
 * A thread that works on an object often has the only pointer to it in a local variable.
 * Such a pointer proves less than a static one: the variable may not have been assigned
 * yet and hold what some other function left, or hold what was put already.  So the
 * block that it leads to has to speak for itself: it is used and nothing else is known of
 * it, it has the size of the struct, the count is alive, every pointer to a counted
 * struct is null or leads to such an object, every other pointer to a struct leads into
 * memory that is not free, and at least one of the counted ones is set.
 *
 * The holder stays what it is, a possible one.  Cost: one pass over the variables of
 * the frames, and a look at each candidate whenever nothing else is left to find.
 * Blind spots: variables in registers, types without pointers to counted structs.
 */
#include "census/local_starts.h"

#include <stdlib.h>

#include "census/type_walk.h"
#include "debug/locals.h"

#define STARTS_MAX 65536

struct gathering {
	struct ri_finder *finder;
	ri_local_start_list *list;
};

static bool gather_local(const struct ri_local *local, void *data)
{
	struct gathering *g = data;
	struct ri_finder *finder = g->finder;
	const struct ri_type *type, *pointee;
	struct ri_local_start start;

	if (!local->is_live || !local->frame->is_exact)
		return true;
	type = ri_type_bare(finder->dwarf, local->type);
	if (!type || type->kind != RI_TYPE_POINTER)
		return true;
	pointee = ri_type_below(finder->dwarf, type);
	if (!pointee || pointee->kind != RI_TYPE_STRUCT)
		return true;
	start.type = ri_shapes_find_counted(finder->shapes, pointee);
	if (start.type == RI_NONE || start.type >= finder->types.count ||
	    !ri_image_read_u64(finder->image, local->addr, &start.value))
		return true;
	*ri_push(g->list) = start;
	return g->list->count < STARTS_MAX;
}

static int compare_starts(const void *a, const void *b)
{
	const struct ri_local_start *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

void ri_local_starts_list(struct ri_finder *finder, ri_local_start_list *list)
{
	struct gathering g = { finder, list };
	size_t kept = 0;

	if (finder->dwarf)
		ri_types_each_local(finder->dwarf, gather_local, &g);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_starts);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || compare_starts(&list->items[kept - 1], &list->items[i]))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

static bool is_live(struct ri_finder *finder, const struct ri_counted_type *type, uint64_t value)
{
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	int64_t count;

	return c->count_count &&
	       ri_count_read(finder->image, value + (uint64_t)type->header_offset, &c->counts[0],
			     &count) == RI_COUNT_LIVE;
}

/* Whether a used block that nothing is known of is at `value`, and of the struct's size. */
static bool is_unknown_block(struct ri_finder *finder, const struct ri_counted_type *type,
			     uint64_t value)
{
	uint32_t block = ri_finder_block(finder, value);
	const struct ri_block *b;

	if (block == RI_NONE || finder->block_use[block] ||
	    finder->is_contested[block / 64] >> block % 64 & 1)
		return false;
	b = &finder->heap->blocks[block];
	return b->state == RI_BLOCK_USED && ri_type_start(type, value) == b->addr &&
	       ri_finder_fits(type->extent_bytes, b->size_bytes);
}

/* Whether `value` leads into memory, and not into a block that is free. */
static bool is_usable(struct ri_finder *finder, uint64_t value)
{
	uint32_t block = ri_finder_block(finder, value);

	if (block != RI_NONE)
		return finder->heap->blocks[block].state == RI_BLOCK_USED;
	return ri_image_find(finder->image, value) != NULL;
}

/* Whether the words of the struct say that it is one. */
static bool has_sound_pointers(struct ri_finder *finder, const struct ri_counted_type *type,
			       uint32_t index, uint64_t value)
{
	uint32_t shape_index = ri_shapes_counted(finder->shapes, type, index);
	const struct ri_shape shape = finder->shapes->shapes.items[shape_index];
	uint64_t start = ri_type_start(type, value), word;
	size_t score = 0;

	for (size_t i = 0; i < shape.slot_count; i++) {
		const struct ri_slot *slot = &shape.slots[i];
		const struct ri_counted_type *pointee;

		if (slot->in_union || (slot->kind != RI_SLOT_POINTER &&
				       slot->kind != RI_SLOT_POINTER_ARRAY))
			continue;
		if (!ri_image_read_u64(finder->image, start + slot->offset_bytes, &word))
			return false;
		if (!word)
			continue;
		if (slot->kind == RI_SLOT_POINTER_ARRAY || slot->pointee_type == RI_NONE) {
			if (!is_usable(finder, word))
				return false;
			continue;
		}
		pointee = &finder->types.items[slot->pointee_type];
		if (ri_finder_find(finder, word + (uint64_t)pointee->header_offset,
				   pointee->convention) == RI_NONE)
			return false;
		score++;
	}
	return score > 0;
}

bool ri_local_starts_add(struct ri_finder *finder, const ri_local_start_list *list)
{
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		const struct ri_local_start *start = &list->items[i];
		/* a copy: the array may grow */
		const struct ri_counted_type type = finder->types.items[start->type];
		uint64_t header = start->value + (uint64_t)type.header_offset;

		if (!is_unknown_block(finder, &type, start->value) ||
		    ri_finder_magic(finder, type.convention, header, RI_NONE) != RI_MAGIC_NONE ||
		    !is_live(finder, &type, start->value) ||
		    !has_sound_pointers(finder, &type, start->type, start->value))
			continue;
		ri_finder_add(finder, start->value, start->type, RI_FOUND_POINTER);
		any = true;
	}
	return any;
}
