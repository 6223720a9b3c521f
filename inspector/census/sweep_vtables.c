/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that only their vtable tells: used blocks in which nothing was recognised are
 * asked for a word, where objects of a convention have their pointer to a vtable, that
 * leads to a symbol of the name that the profile gives.  Such an object is found though
 * nothing points at it: a control block whose last handle was lost.
 *
 * The vtable alone tells the type of a convention that has one; where several embed one
 * base, pointers by type must tell.  Objects that do not begin their block are left to
 * pointers too.
 *
 * Cost: a word per block and convention; a symbol is looked up once per address.
 */
#include "census/finder.h"

#include "debug/modules.h"

/* The type of `convention` if it is the only one and has a vtable; RI_NONE otherwise. */
static uint32_t type_with_vtable(const struct ri_finder *finder, uint32_t convention)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_type_list *list = &finder->types_of[convention];

	return c->base == convention && c->descriptor.is_present && c->descriptor.vtable &&
			       list->count == 1
		       ? list->types[0]
		       : RI_NONE;
}

static void ask_block(struct ri_finder *finder, uint32_t type, uint32_t block)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_block *b = &finder->heap->blocks[block];
	const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
	uint64_t header = b->addr + t->front_bytes + (uint64_t)t->header_offset;
	uint64_t vtable;

	if (t->extent_bytes > b->size_bytes ||
	    (!ri_finder_fits(t->extent_bytes, b->size_bytes) && !ri_finder_has_tail(finder, t)))
		return;
	vtable = ri_finder_pointer(finder, header, &c->descriptor.field);
	if (vtable && finder->modules && ri_modules_find(finder->modules, vtable) &&
	    ri_descriptors_type(finder, t->convention, vtable) == type)
		ri_finder_add(finder, b->addr + t->front_bytes, type, RI_FOUND_DESCRIPTOR);
}

void ri_sweep_vtables(struct ri_finder *finder)
{
	for (uint32_t c = 0; c < finder->layout->conventions.count; c++) {
		uint32_t type = type_with_vtable(finder, c);

		for (uint32_t b = 0; type != RI_NONE && b < finder->heap->block_count; b++)
			if (finder->heap->blocks[b].state == RI_BLOCK_USED &&
			    !finder->block_use[b])
				ask_block(finder, type, b);
	}
}
