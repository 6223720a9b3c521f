/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lays a type out in words: which pointer, link, head or header word lies at
 * which offset.
 *
 * Members are taken depth first; arrays are unrolled, their elements sharing
 * one class "path[]".  In a union the words on which all arms agree are
 * ordinary, the others carry in_union.  Words that conventions and group rules
 * know are marked in shape_marks.c; what is particular to a counted type is laid
 * out in shape_counted.c.  Pointers at odd offsets (packed structs) are not seen: the
 * census looks at aligned words alone.
 *
 * Cost: a visit per member and element, cut off at VISITS_MAX (a table of a
 * million slots inside one struct); words beyond the cut count as OTHER, which
 * is never certain.
 */
#include "census/shape_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "census/type_walk.h"

#define DEPTH_MAX 32
#define VISITS_MAX (1u << 22)

/*
 * Paths and slots
 */

size_t ri_shape_push_path(struct ri_shape_builder *b, const char *separator, const char *text)
{
	size_t before = b->path.count, a = strlen(separator), n = strlen(text);

	b->path.items = ri_grow(b->path.items, &b->path.capacity, before + a + n + 1, 1);
	memcpy(b->path.items + before, separator, a);
	memcpy(b->path.items + before + a, text, n);
	b->path.count += a + n;
	b->path.items[b->path.count] = '\0';
	return before;
}

void ri_shape_pop_path(struct ri_shape_builder *b, size_t before)
{
	b->path.count = before;
	b->path.items[before] = '\0';
}

struct ri_slot *ri_shape_add_slot(struct ri_shape_builder *b, uint64_t offset,
				  enum ri_slot_kind kind)
{
	struct ri_slot *slot = ri_push(&b->slots);

	slot->offset_bytes = (uint32_t)offset;
	slot->kind = (uint8_t)kind;
	slot->class_index = RI_NONE;
	slot->pointee_type = RI_NONE;
	return slot;
}

bool ri_shape_is_misplaced(uint64_t offset)
{
	return offset % 8 || offset >= RI_SHAPE_MAX_BYTES;
}

static void lay_out_pointer(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	struct ri_types *types = b->shapes->types;
	const struct ri_type *target = ri_type_below(types, type), *declared;
	struct ri_slot *slot;
	bool is_possible = true;

	if (ri_shape_is_misplaced(offset))
		return;
	while (target && target->kind == RI_TYPE_ARRAY)
		target = ri_type_below(types, target);
	declared = target;
	target = ri_shapes_resolve_opaque(b->shapes, target);
	slot = ri_shape_add_slot(b, offset, RI_SLOT_VOID_POINTER);
	slot->is_opaque = target != declared;
	if (target && (target->kind == RI_TYPE_STRUCT || target->kind == RI_TYPE_UNION)) {
		slot->kind = RI_SLOT_POINTER;
		slot->pointee = target;
		slot->pointee_type = ri_shapes_find_counted(b->shapes, target);
		is_possible = b->arms > 0 || ri_shapes_is_undecided(b->shapes, slot->pointee_type);
	} else if (target && target->kind == RI_TYPE_POINTER) {
		slot->kind = RI_SLOT_POINTER_ARRAY;
		slot->pointee = target;
	} else if (target && target->kind == RI_TYPE_INT) {
		slot->is_to_numbers = true;
	}
	slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, is_possible,
						  1, false);
	if (b->inner) {
		char *place = ri_format("%s%s", b->inner, b->path.items + b->inner_path);

		ri_shapes_rule_by_place(b->shapes, slot->class_index, place);
		free(place);
	}
}

static void lay_out_array(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	struct ri_types *types = b->shapes->types;
	const struct ri_type *element = ri_type_below(types, type);
	size_t path = ri_shape_push_path(b, "", "[]"), before = b->slots.count + b->marks.count;

	for (uint64_t i = 0; element && element->size_bytes && i < type->element_count; i++) {
		ri_shape_lay_out_at(b, element, offset + i * element->size_bytes);
		if (b->slots.count + b->marks.count == before || b->visits >= VISITS_MAX)
			break; /* nothing in the first: nothing in any */
	}
	ri_shape_pop_path(b, path);
}

/*
 * Unions: each arm is laid out, then the words are compared
 */

int ri_shape_compare_offsets(const void *a, const void *b)
{
	const struct ri_slot *x = a, *y = b;

	return x->offset_bytes < y->offset_bytes ? -1 : x->offset_bytes > y->offset_bytes;
}

void ri_shape_sort_slots(struct ri_shape_builder *b, size_t first)
{
	if (b->slots.count > first)
		qsort(b->slots.items + first, b->slots.count - first, sizeof(*b->slots.items),
		      ri_shape_compare_offsets);
}

static bool agree(const struct ri_slot *a, const struct ri_slot *b)
{
	return a->kind == b->kind &&
	       (a->pointee == b->pointee || ri_types_are_same(a->pointee, b->pointee));
}

/* Folds slots[first ..), sorted, to one per offset; certain where all arms agree, and
 * where a word itself says whether it is one (the pointer of Rust's Option). */
static void fold_arms(struct ri_shape_builder *b, size_t first, const struct ri_type *type,
		      uint64_t offset)
{
	size_t kept = first;

	for (size_t i = first; i < b->slots.count;) {
		struct ri_slot *slot = &b->slots.items[i];
		bool same = !slot->in_union, is_told;
		size_t n = 1;

		for (; i + n < b->slots.count && slot[n].offset_bytes == slot->offset_bytes; n++)
			same &= agree(slot, &slot[n]) && !slot[n].in_union;
		i += n;
		is_told = n == 1 && type->has_discriminant &&
			  slot->offset_bytes == offset + type->discriminant_bytes;
		slot->in_union = !same || (n != type->member_count && !is_told);
		b->slots.items[kept++] = *slot;
	}
	b->slots.count = kept;
}

/* Classes inside arms are made as possible; here it is known which are certain. */
static void promote_classes(struct ri_shape_builder *b, size_t first)
{
	for (size_t s = first; s < b->slots.count; s++) {
		struct ri_slot *slot = &b->slots.items[s];
		struct ri_holder_class *class = &b->shapes->classes.items[slot->class_index];

		if (!slot->in_union && slot->kind == RI_SLOT_POINTER && !class->is_declared &&
		    !ri_shapes_is_undecided(b->shapes, slot->pointee_type))
			class->is_possible = false;
	}
}

static void lay_out_union(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	size_t first = b->slots.count;

	b->arms++;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		size_t path = ri_shape_push_path(b, member->name ? "." : "",
						 member->name ? member->name : "");

		ri_shape_lay_out_at(b, member->type, offset + member->offset_bits / 8);
		ri_shape_pop_path(b, path);
	}
	b->arms--;
	ri_shape_sort_slots(b, first);
	fold_arms(b, first, type, offset);
	if (!b->arms)
		promote_classes(b, first);
}

static void lay_out_struct(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	const char *inner = b->inner;
	size_t inner_path = b->inner_path;

	if (type->name) {
		b->inner = type->name;
		b->inner_path = b->path.count;
	}
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		size_t path;

		if (member->bit_size || member->offset_bits % 8)
			continue;
		path = ri_shape_push_path(b, member->name ? "." : "",
					  member->name ? member->name : "");
		ri_shape_lay_out_at(b, member->type, offset + member->offset_bits / 8);
		ri_shape_pop_path(b, path);
	}
	b->inner = inner;
	b->inner_path = inner_path;
	ri_shape_mark_struct(b, type, offset);
}

/* An integer that is a pointer because a profile says how it is encoded. */
static void lay_out_encoded(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = b->shapes->layout;
	bool is_encoded = false;

	for (size_t i = 0; i < layout->encodings.count && type->size_bytes == 8; i++)
		is_encoded |= ri_pattern_matches(layout->encodings.items[i].pattern, b->path.items);
	if (is_encoded && !ri_shape_is_misplaced(offset))
		ri_shape_add_slot(b, offset, RI_SLOT_VOID_POINTER)->class_index =
			ri_shapes_class_worth(b->shapes, b->path.items, b->kind, true, 1, false);
}

void ri_shape_lay_out_at(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	type = ri_type_bare(b->shapes->types, type);
	if (!type || b->depth >= DEPTH_MAX || b->visits++ >= VISITS_MAX ||
	    offset >= RI_SHAPE_MAX_BYTES)
		return;
	b->depth++;
	switch (type->kind) {
	case RI_TYPE_POINTER:
		lay_out_pointer(b, type, offset);
		break;
	case RI_TYPE_ARRAY:
		lay_out_array(b, type, offset);
		break;
	case RI_TYPE_UNION:
		lay_out_union(b, type, offset);
		break;
	case RI_TYPE_STRUCT:
		lay_out_struct(b, type, offset);
		break;
	case RI_TYPE_INT:
		lay_out_encoded(b, type, offset);
		break;
	default:
		break;
	}
	b->depth--;
}

void ri_shape_finish(struct ri_shape_builder *b, struct ri_shape *shape)
{
	shape->slots = b->slots.items;
	shape->slot_count = b->slots.count;
	ri_vec_deinit(&b->marks);
	ri_vec_deinit(&b->path);
}

void ri_shape_lay_out(struct ri_shapes *shapes, struct ri_shape *shape,
		      const struct ri_type *type, uint64_t offset_bytes, const char *name,
		      enum ri_class_kind kind)
{
	struct ri_shape_builder b = { .shapes = shapes, .kind = kind };

	ri_shape_push_path(&b, "", name);
	ri_shape_lay_out_at(&b, type, offset_bytes);
	ri_shape_put_marks(&b);
	ri_shape_finish(&b, shape);
}

void ri_shape_index(struct ri_shape *shape)
{
	uint64_t words = shape->element_bytes / 8;

	if (!shape->slot_count || !words || shape->element_bytes > RI_SHAPE_MAX_BYTES) {
		if (shape->element_bytes > RI_SHAPE_MAX_BYTES)
			shape->slot_count = 0;
		return;
	}
	qsort(shape->slots, shape->slot_count, sizeof(*shape->slots), ri_shape_compare_offsets);
	shape->slot_of_word = ri_malloc(words * sizeof(*shape->slot_of_word));
	memset(shape->slot_of_word, 0xff, words * sizeof(*shape->slot_of_word));
	for (size_t i = 0; i < shape->slot_count; i++)
		if (shape->slots[i].offset_bytes / 8 < words)
			shape->slot_of_word[shape->slots[i].offset_bytes / 8] = (uint32_t)i;
}
