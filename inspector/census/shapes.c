/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holder classes and the tables of shapes: see shapes.h.  What lies at which
 * word is worked out in shape_layout.c, shape_marks.c and shape_counted.c.
 *
 * A class is worth what its kind says (typed members, variables and arrays of
 * typed pointers own one reference; every other place may), unless an owner
 * rule of the layout says otherwise.  Classes are found by their interned name,
 * shapes by type, name and kind, and the counted type behind a struct by a
 * signature, since every unit of a program has its own copy of a struct.
 */
#include "census/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "census/shapes_private.h"
#include "census/type_walk.h"
#include "heap/heap.h"

#define NOT_COUNTED (RI_NONE - 1)

/*
 * Structs of counted types
 */

bool ri_types_are_same(const struct ri_type *a, const struct ri_type *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || a->size_bytes != b->size_bytes ||
	    a->member_count != b->member_count || !a->name != !b->name)
		return false;
	if (a->kind != RI_TYPE_STRUCT && a->kind != RI_TYPE_UNION)
		return false;
	if (a->name ? strcmp(a->name, b->name) : !a->member_count)
		return false;
	for (size_t i = 0; i < a->member_count; i++) {
		const struct ri_member *m = &a->members[i], *n = &b->members[i];

		if (m->offset_bits != n->offset_bits || !m->name != !n->name ||
		    (m->name && strcmp(m->name, n->name)))
			return false;
	}
	return true;
}

static uint64_t signature_of(const struct ri_type *type)
{
	uint64_t hash = type->name ? ri_hash_bytes(type->name, strlen(type->name)) : 1;

	return ri_hash_u64(hash ^ type->size_bytes) + type->member_count;
}

void ri_shapes_add_counted(struct ri_shapes *shapes, const struct ri_counted_type *type,
			   uint32_t index)
{
	struct ri_shapes_tables *tables = shapes->tables;
	struct ri_counted_struct *added;
	uint64_t signature;

	/* through the second header of a struct no pointer leads: it is the first's */
	if (!type->type || type->container != RI_LAYOUT_NONE)
		return;
	signature = signature_of(type->type);
	added = ri_push(&tables->structs);
	added->type = type->type;
	added->index = index;
	added->convention = type->convention;
	added->header_offset = type->header_offset;
	added->next = ri_address_map_find(&tables->struct_of_sign, signature);
	ri_address_map_set(&tables->struct_of_sign, signature,
			   (uint32_t)(tables->structs.count - 1));
	ri_address_map_deinit(&tables->struct_of_type);
}

const struct ri_counted_struct *ri_shapes_find_struct(const struct ri_shapes *shapes,
						      const struct ri_type *type)
{
	struct ri_shapes_tables *tables = shapes->tables;
	uint32_t cached, i, found = NOT_COUNTED;

	if (!type || type->kind != RI_TYPE_STRUCT)
		return NULL;
	cached = ri_address_map_find(&tables->struct_of_type, (uintptr_t)type);
	if (cached == RI_NONE) {
		i = ri_address_map_find(&tables->struct_of_sign, signature_of(type));
		/* the oldest entry wins: the layout's before a descriptor's */
		for (; i != RI_NONE; i = tables->structs.items[i].next)
			if (ri_types_are_same(tables->structs.items[i].type, type))
				found = i;
		ri_address_map_set(&tables->struct_of_type, (uintptr_t)type, found);
		cached = found;
	}
	return cached == NOT_COUNTED ? NULL : &tables->structs.items[cached];
}

const struct ri_type *ri_shapes_resolve_opaque(const struct ri_shapes *shapes,
					       const struct ri_type *type)
{
	const struct ri_shapes_tables *tables = shapes->tables;
	const struct ri_type *found[2] = { NULL, NULL }; /* in the type's module, elsewhere */
	bool differ[2] = { false, false };

	if (!type || type->kind != RI_TYPE_UNKNOWN || !type->name)
		return type;
	for (size_t i = 0; i < tables->structs.count; i++) {
		const struct ri_type *candidate = tables->structs.items[i].type;
		bool is_elsewhere = candidate->module != type->module;

		if (!candidate->name || strcmp(candidate->name, type->name))
			continue;
		if (!found[is_elsewhere])
			found[is_elsewhere] = candidate;
		else if (!ri_types_are_same(found[is_elsewhere], candidate))
			differ[is_elsewhere] = true;
	}
	if (found[0])
		return differ[0] ? type : found[0];
	return found[1] && !differ[1] ? found[1] : type;
}

uint32_t ri_shapes_find_counted(const struct ri_shapes *shapes, const struct ri_type *type)
{
	const struct ri_counted_struct *found = ri_shapes_find_struct(shapes, type);

	return found ? found->index : RI_NONE;
}

bool ri_shapes_is_undecided(const struct ri_shapes *shapes, uint32_t counted)
{
	const struct ri_layout *layout = shapes->layout;
	uint32_t convention;

	if (counted >= layout->types.count)
		return false;
	convention = layout->types.items[counted].convention;
	return layout->conventions.items[convention].is_pointer_possible;
}

struct ri_shapes *ri_shapes_create(const struct ri_layout *layout, struct ri_types *types)
{
	struct ri_shapes *shapes = ri_calloc(1, sizeof(*shapes));

	shapes->layout = layout;
	shapes->types = types;
	shapes->strings = ri_strings_create();
	shapes->tables = ri_calloc(1, sizeof(*shapes->tables));
	for (size_t i = 0; i < layout->types.count; i++)
		ri_shapes_add_counted(shapes, &layout->types.items[i], (uint32_t)i);
	return shapes;
}

void ri_shapes_destroy(struct ri_shapes *shapes)
{
	if (!shapes)
		return;
	for (size_t i = 0; i < shapes->shapes.count; i++) {
		free(shapes->shapes.items[i].slots);
		free(shapes->shapes.items[i].slot_of_word);
	}
	ri_address_map_deinit(&shapes->tables->class_of_name);
	ri_address_map_deinit(&shapes->tables->shape_of_key);
	ri_address_map_deinit(&shapes->tables->struct_of_sign);
	ri_address_map_deinit(&shapes->tables->struct_of_type);
	ri_vec_deinit(&shapes->tables->structs);
	ri_vec_deinit(&shapes->tables->shape_of_counted);
	free(shapes->tables);
	ri_vec_deinit(&shapes->shapes);
	ri_vec_deinit(&shapes->classes);
	ri_strings_destroy(shapes->strings);
	free(shapes);
}

/*
 * Classes
 */

static bool is_certain_kind(enum ri_class_kind kind)
{
	return kind == RI_CLASS_FIELD || kind == RI_CLASS_PLAIN_FIELD ||
	       kind == RI_CLASS_VARIABLE || kind == RI_CLASS_ARRAY;
}

/* The count that holders of a class feed: the one whose patterns name it. */
static uint32_t count_of_class(const struct ri_layout *layout, const char *name)
{
	for (size_t c = 0; c < layout->conventions.count; c++) {
		const struct ri_convention *convention = &layout->conventions.items[c];

		for (size_t i = 1; i < convention->count_count; i++) {
			const char *const *pattern = convention->counts[i].holders;

			for (; pattern && *pattern; pattern++)
				if (ri_pattern_matches(*pattern, name))
					return (uint32_t)i;
		}
	}
	return 0;
}

static void apply_owner_rules(const struct ri_layout *layout, struct ri_holder_class *class,
			      const char *name)
{
	struct ri_weight weight = ri_layout_weight(layout, name);

	switch (weight.kind) {
	case RI_WEIGHT_NONE:
		return;
	case RI_WEIGHT_FIXED:
		class->is_possible = false;
		class->weight = weight.weight;
		break;
	case RI_WEIGHT_POSSIBLE:
	case RI_WEIGHT_IF: /* on a group's struct: its members' weight is the group's own */
		class->is_possible = true;
		class->weight = 1;
		break;
	}
	class->is_declared = true;
}

uint32_t ri_shapes_class_worth(struct ri_shapes *shapes, const char *name,
			       enum ri_class_kind kind, bool is_possible, int64_t weight,
			       bool is_declared)
{
	struct ri_address_map *map = &shapes->tables->class_of_name;
	const char *interned = ri_strings_add(shapes->strings, name);
	uint32_t index = ri_address_map_find(map, (uintptr_t)interned);
	struct ri_holder_class *class;

	if (index != RI_NONE)
		return index;
	/* more classes than an edge can name: the rest share the last one, whatever its name */
	if (shapes->classes.count == RI_CLASSES_MAX)
		return RI_CLASSES_MAX - 1;
	index = (uint32_t)shapes->classes.count;
	class = ri_push(&shapes->classes);
	class->name = interned;
	class->kind = kind;
	class->is_possible = is_possible;
	class->weight = weight;
	class->is_declared = is_declared;
	class->count_index = count_of_class(shapes->layout, interned);
	apply_owner_rules(shapes->layout, class, interned);
	ri_address_map_set(map, (uintptr_t)interned, index);
	return index;
}

void ri_shapes_rule_by_place(struct ri_shapes *shapes, uint32_t index, const char *place)
{
	struct ri_holder_class *class = &shapes->classes.items[index];

	if (!class->count_index)
		class->count_index = count_of_class(shapes->layout, place);
	if (!class->is_declared)
		apply_owner_rules(shapes->layout, class, place);
}

uint32_t ri_shapes_class(struct ri_shapes *shapes, const char *name, enum ri_class_kind kind)
{
	return ri_shapes_class_worth(shapes, name, kind, !is_certain_kind(kind), 1, false);
}

/*
 * Shapes
 */

static uint32_t add_shape(struct ri_shapes *shapes, const struct ri_shape *shape)
{
	*ri_push(&shapes->shapes) = *shape;
	return (uint32_t)(shapes->shapes.count - 1);
}

static uint64_t shape_key(const struct ri_type *type, const char *name, unsigned kind)
{
	return ri_hash_u64((uintptr_t)type) ^ ri_hash_u64((uintptr_t)name + kind);
}

/* The shape already made under `key`, checked against what it must be. */
static uint32_t find_shape(const struct ri_shapes *shapes, uint64_t key,
			   const struct ri_type *type, const char *name)
{
	uint32_t index = ri_address_map_find(&shapes->tables->shape_of_key, key);

	if (index == RI_NONE || shapes->shapes.items[index].type != type ||
	    shapes->shapes.items[index].name != name)
		return RI_NONE;
	return index;
}

uint32_t ri_shapes_shape(struct ri_shapes *shapes, const struct ri_type *type, const char *name,
			 enum ri_class_kind kind)
{
	const char *interned = ri_strings_add(shapes->strings, name);
	const struct ri_type *element = ri_type_bare(shapes->types, type);
	uint64_t key = shape_key(type, interned, kind);
	uint32_t index = find_shape(shapes, key, type, interned);
	struct ri_shape shape = { .type = type, .name = interned };
	const char *path = interned;

	if (index != RI_NONE)
		return index;
	if (element && element->kind == RI_TYPE_ARRAY) {
		element = ri_type_below(shapes->types, element);
		path = ri_strings_format(shapes->strings, "%s[]", name);
	}
	shape.element_bytes = element ? element->size_bytes : 0;
	ri_shape_lay_out(shapes, &shape, element, 0, path, kind);
	ri_shape_index(&shape);
	index = add_shape(shapes, &shape);
	ri_address_map_set(&shapes->tables->shape_of_key, key, index);
	return index;
}

uint32_t ri_shapes_counted(struct ri_shapes *shapes, const struct ri_counted_type *type,
			   uint32_t index)
{
	struct ri_shape shape = {
		.type = type->type,
		.name = type->name,
		.element_bytes = type->extent_bytes,
	};

	while (shapes->tables->shape_of_counted.count <= index)
		ri_push(&shapes->tables->shape_of_counted);
	if (!shapes->tables->shape_of_counted.items[index]) {
		ri_shape_lay_out_counted(shapes, &shape, type, index);
		ri_shape_index(&shape);
		shapes->tables->shape_of_counted.items[index] = add_shape(shapes, &shape) + 1;
	}
	return shapes->tables->shape_of_counted.items[index] - 1;
}

uint32_t ri_shapes_pointer_array(struct ri_shapes *shapes, const char *class_name,
				 const struct ri_type *pointee)
{
	const char *name = ri_strings_add(shapes->strings, class_name);
	uint64_t key = shape_key(pointee, name, RI_CLASS_ARRAY);
	uint32_t index = find_shape(shapes, key, pointee, name);
	struct ri_shape shape = { .type = pointee, .name = name, .element_bytes = 8 };
	const struct ri_type *declared = pointee;
	bool is_typed;

	if (index != RI_NONE)
		return index;
	pointee = ri_shapes_resolve_opaque(shapes, declared);
	is_typed = pointee &&
		   (pointee->kind == RI_TYPE_STRUCT || pointee->kind == RI_TYPE_UNION);
	shape.slots = ri_calloc(1, sizeof(*shape.slots));
	shape.slot_count = 1;
	shape.slots->kind = is_typed ? RI_SLOT_POINTER
			    : pointee && pointee->kind == RI_TYPE_POINTER ? RI_SLOT_POINTER_ARRAY
									   : RI_SLOT_VOID_POINTER;
	shape.slots->pointee = shape.slots->kind == RI_SLOT_VOID_POINTER ? NULL : pointee;
	shape.slots->pointee_type = ri_shapes_find_counted(shapes, shape.slots->pointee);
	shape.slots->is_opaque = pointee != declared;
	shape.slots->class_index = ri_shapes_class_worth(
		shapes, name, RI_CLASS_ARRAY,
		!is_typed || ri_shapes_is_undecided(shapes, shape.slots->pointee_type), 1, false);
	ri_shape_index(&shape);
	index = add_shape(shapes, &shape);
	ri_address_map_set(&shapes->tables->shape_of_key, key, index);
	return index;
}

const struct ri_slot *ri_shape_slot(const struct ri_shape *shape, uint64_t offset_bytes)
{
	uint64_t word;
	uint32_t slot;

	if (!shape->slot_of_word || !shape->element_bytes)
		return NULL;
	offset_bytes %= shape->element_bytes;
	word = offset_bytes / 8;
	if (offset_bytes % 8 || word >= shape->element_bytes / 8)
		return NULL;
	slot = shape->slot_of_word[word];
	return slot == RI_NONE ? NULL : &shape->slots[slot];
}
