/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lays a counted type out: its struct, the header in front of it, and the words that its
 * type descriptor says own something.  Without debug information every word of the object
 * gets a slot, since any may be a pointer.  Cost: see shape_layout.c.
 */
#include "census/shape_builder.h"

#include <stdio.h>
#include <stdlib.h>

#define UNTYPED_NAMED_BYTES 4096   /* words beyond share one class */

/* The name of what lies `offset` bytes from the handle of `type`. */
static void push_offset(struct ri_shape_builder *b, int64_t offset)
{
	char text[32];

	snprintf(text, sizeof(text), "%c0x%llx", offset < 0 ? '-' : '+',
		 (unsigned long long)(offset < 0 ? -offset : offset));
	ri_shape_push_path(b, "", text);
}

/* Every word without a slot gets one: without debug information any of them may
 * be a pointer. */
static void add_untyped_words(struct ri_shape_builder *b, const struct ri_counted_type *type,
			      bool is_declared)
{
	uint64_t words = type->extent_bytes / 8;
	uint8_t taken[UNTYPED_NAMED_BYTES / 8] = { 0 };

	if (words > UNTYPED_NAMED_BYTES / 8)
		words = UNTYPED_NAMED_BYTES / 8;
	for (size_t i = 0; i < b->slots.count; i++)
		if (b->slots.items[i].offset_bytes / 8 < words)
			taken[b->slots.items[i].offset_bytes / 8] = 1;
	for (uint64_t word = 0; word < words; word++) {
		struct ri_slot *slot;
		size_t path = b->path.count;

		if (taken[word])
			continue;
		slot = ri_shape_add_slot(b, word * 8, RI_SLOT_OTHER);
		if (is_declared)
			ri_shape_push_path(b, ".", "(undeclared)");
		else
			push_offset(b, (int64_t)(word * 8) - (int64_t)type->front_bytes);
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items,
							  RI_CLASS_UNTYPED_OBJECT, !is_declared,
							  !is_declared, is_declared);
		ri_shape_pop_path(b, path);
	}
}

/*
 * Tables of owned members: what they list owns one reference, no other word of
 * the type any.
 */

enum { OWNED = 1, NOT_OWNED = 2 };

/* The owner declared at byte `offset` of the shape, or null. */
static const struct ri_declared_owner *find_owner(const struct ri_address_map *owner_at,
						  const struct ri_counted_type *type,
						  uint64_t offset)
{
	uint32_t index = ri_address_map_find(owner_at, offset);

	return index == RI_NONE ? NULL : &type->owners[index];
}

/* Adds slots for listed offsets that have none (no debug information). */
static void add_owner_slots(struct ri_shape_builder *b, const struct ri_counted_type *type)
{
	size_t slot_count = b->slots.count;

	for (size_t i = 0; i < type->owner_count; i++) {
		uint64_t offset = type->front_bytes + (uint64_t)type->owners[i].offset_bytes;
		struct ri_slot key = { .offset_bytes = (uint32_t)offset };

		if (!ri_shape_is_misplaced(offset) && offset + 8 <= type->extent_bytes &&
		    !(slot_count &&
		      bsearch(&key, b->slots.items, slot_count, sizeof(key),
			      ri_shape_compare_offsets)))
			ri_shape_add_slot(b, offset, RI_SLOT_VOID_POINTER);
	}
	ri_shape_sort_slots(b, 0);
}

static uint32_t owner_class(struct ri_shape_builder *b, const struct ri_declared_owner *owner,
			    int64_t offset)
{
	size_t path = b->path.count;
	uint32_t class;

	if (owner && owner->name)
		ri_shape_push_path(b, ".", owner->name);
	else
		push_offset(b, offset);
	class = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, false, owner != NULL,
				      true);
	ri_shape_pop_path(b, path);
	return class;
}

static void apply_owner_table(struct ri_shape_builder *b, const struct ri_counted_type *type)
{
	struct ri_address_map seen = { 0 };     /* class to OWNED, NOT_OWNED or both */
	struct ri_address_map owner_at = { 0 }; /* offset to owners[] */

	add_owner_slots(b, type);
	for (size_t i = 0; i < type->owner_count; i++)
		ri_address_map_set(&owner_at,
				   type->front_bytes + (uint64_t)type->owners[i].offset_bytes,
				   (uint32_t)i);
	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];
		uint32_t flags = ri_address_map_find(&seen, slot->class_index);

		flags = flags == RI_NONE ? 0 : flags;
		flags |= find_owner(&owner_at, type, slot->offset_bytes) ? OWNED : NOT_OWNED;
		if (slot->class_index != RI_NONE)
			ri_address_map_set(&seen, slot->class_index, flags);
	}
	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];
		const struct ri_declared_owner *owner =
			find_owner(&owner_at, type, slot->offset_bytes);
		struct ri_holder_class *class;

		/* an element of an array of which others own nothing: a class of its own */
		if (slot->class_index == RI_NONE ||
		    (owner && ri_address_map_find(&seen, slot->class_index) != OWNED)) {
			slot->class_index = owner_class(b, owner,
							(int64_t)slot->offset_bytes -
								(int64_t)type->front_bytes);
			continue;
		}
		class = &b->shapes->classes.items[slot->class_index];
		if (class->is_declared)
			continue;
		class->is_possible = false;
		class->weight = owner != NULL;
		class->is_declared = true;
	}
	ri_address_map_deinit(&seen);
	ri_address_map_deinit(&owner_at);
}

/* The pointer to the descriptor owns it: a place of its own. */
static void own_descriptor(struct ri_shape_builder *b, uint64_t offset)
{
	size_t path = ri_shape_push_path(b, ".", "(type)");

	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];

		if (slot->offset_bytes != offset)
			continue;
		slot->kind = RI_SLOT_VOID_POINTER;
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, false,
							  1, true);
	}
	ri_shape_pop_path(b, path);
}

void ri_shape_lay_out_counted(struct ri_shapes *shapes, struct ri_shape *shape,
			      const struct ri_counted_type *type, uint32_t index)
{
	const struct ri_convention *c = &shapes->layout->conventions.items[type->convention];
	struct ri_shape_builder b = { .shapes = shapes, .kind = RI_CLASS_FIELD };
	int64_t header = (int64_t)type->front_bytes + type->header_offset;
	size_t path;

	ri_shape_push_path(&b, "", type->name);
	if (type->type)
		ri_shape_lay_out_at(&b, type->type, type->front_bytes);
	if (type->header_offset < 0 && c->type) {
		path = ri_shape_push_path(&b, ".", "(header)");
		ri_shape_lay_out_at(&b, c->type, (uint64_t)header);
		ri_shape_pop_path(&b, path);
	}
	ri_shape_mark_header(&b, header, type->convention);
	for (size_t i = 0; i < shapes->layout->groups.count; i++)
		if (shapes->layout->groups.items[i].element_type == index)
			ri_shape_mark_link(&b, (int64_t)type->front_bytes,
					   &shapes->layout->groups.items[i]);
	ri_shape_put_marks(&b);
	if (type->owns_descriptor)
		own_descriptor(&b, (uint64_t)(header + c->descriptor.field.offset_bytes));
	if (type->has_owners)
		apply_owner_table(&b, type);
	if (!type->type || type->has_owners)
		add_untyped_words(&b, type, type->has_owners);
	ri_shape_finish(&b, shape);
}
