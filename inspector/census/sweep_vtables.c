/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that only their vtable tells: used blocks in which nothing was recognised are
 * asked for a word, where objects of a convention have their pointer to a vtable, that
 * leads to a symbol of the name that the profile gives.  Such an object is found though
 * nothing points at it: a control block whose last handle was lost.
 *
 * Where several types embed one base, the symbol's own name tells which it is ("vtable
 * for T").  Objects that do not begin their block are left to pointers.
 *
 * Cost: a word per block, convention and place of the header; a symbol is looked up once
 * per address.
 */
#include "census/finder.h"

#include "debug/modules.h"

#define PLACES_MAX 8 /* of the header in a block, over the types of a convention */

/* Where objects of a convention that begin their block have their header. */
struct places {
	uint64_t offsets[PLACES_MAX];
	size_t count;
};

static void list_places(const struct ri_finder *finder, uint32_t convention, struct places *places)
{
	const struct ri_type_list *list = &finder->types_of[convention];

	places->count = 0;
	for (size_t i = 0; i < list->count && places->count < PLACES_MAX; i++) {
		const struct ri_counted_type *t = &finder->types.items[list->types[i]];
		uint64_t offset = t->front_bytes + (uint64_t)t->header_offset;
		size_t known = 0;

		while (known < places->count && places->offsets[known] != offset)
			known++;
		if (known == places->count)
			places->offsets[places->count++] = offset;
	}
}

static bool may_hold(const struct ri_finder *finder, const struct ri_counted_type *type,
		     const struct ri_block *block)
{
	return type->extent_bytes <= block->size_bytes &&
	       (ri_finder_fits(type->extent_bytes, block->size_bytes) ||
		ri_finder_has_tail(finder, type));
}

static void ask_block(struct ri_finder *finder, uint32_t convention, uint64_t offset,
		      uint32_t block)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_block *b = &finder->heap->blocks[block];
	const struct ri_counted_type *t;
	uint64_t vtable;
	uint32_t type;

	if (offset + (uint64_t)c->descriptor.field.offset_bytes + 8 > b->size_bytes)
		return;
	vtable = ri_finder_pointer(finder, b->addr + offset, &c->descriptor.field);
	if (!vtable || !ri_modules_find(finder->modules, vtable))
		return;
	type = ri_descriptors_type(finder, convention, vtable);
	if (type == RI_NONE)
		return;
	t = &finder->types.items[type];
	if (t->front_bytes + (uint64_t)t->header_offset == offset && may_hold(finder, t, b))
		ri_finder_add(finder, b->addr + t->front_bytes, type, RI_FOUND_DESCRIPTOR);
}

void ri_sweep_vtables(struct ri_finder *finder)
{
	for (uint32_t c = 0; finder->modules && c < finder->layout->conventions.count; c++) {
		const struct ri_convention *convention = &finder->layout->conventions.items[c];
		struct places places;

		if (convention->base != c || !convention->descriptor.is_present ||
		    !convention->descriptor.vtable)
			continue;
		list_places(finder, c, &places);
		for (uint32_t b = 0; places.count && b < finder->heap->block_count; b++)
			for (size_t i = 0; i < places.count &&
					   finder->heap->blocks[b].state == RI_BLOCK_USED &&
					   !finder->block_use[b];
			     i++)
				ask_block(finder, c, places.offsets[i], b);
	}
}
