/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where heads may lie: static variables, and members of structs that are known to lie somewhere
 * (objects, blocks whose type is told, variables).  A place is called by the innermost struct
 * that has a name, since that is what a profile calls it by.
 *
 * Cost: a walk over each type once, and one step per head that memory has.
 */
#include <stdlib.h>
#include <string.h>

#include "census/group_votes_private.h"
#include "census/type_walk.h"

#define PLAN_MAX       4096  /* heads in one type */
#define HEADS_MAX      20000 /* of one place */
#define PLACES_MAX     4096
#define ELEMENTS_MAX   65536 /* of one array */
#define DEPTH_MAX      8
#define PATH_MAX_BYTES 256

/* Heads in a type: `count` of them, `stride` apart. */
struct entry {
	uint32_t place;
	uint64_t owner_offset, offset; /* in the type */
	uint64_t count, stride;
};

struct plan {
	RI_VEC(struct entry) entries;
};

struct search {
	struct ri_votes *votes;
	RI_VEC(struct plan) plans;
	struct ri_address_map plan_of;  /* type to plans[] */
	struct ri_address_map is_head;  /* type to 0 or 1 */
	struct ri_address_map place_of; /* interned name to places[] */
	struct plan *plan;              /* under way */
	const struct ri_type *owner;
	uint64_t owner_offset;
	char path[PATH_MAX_BYTES];
};

static bool is_head(struct search *s, const struct ri_type *type)
{
	struct ri_votes *votes = s->votes;
	uint32_t known = ri_address_map_find(&s->is_head, (uint64_t)(uintptr_t)type);
	struct ri_head_shape shape;

	if (known != RI_NONE)
		return known;
	known = 0;
	for (size_t i = 0; i < votes->links.count && !known; i++)
		known = ri_head_shape_of(votes->input->types, type, &votes->links.items[i], &shape);
	ri_address_map_set(&s->is_head, (uint64_t)(uintptr_t)type, known);
	return known;
}

static uint32_t get_place(struct search *s, const char *variable, const struct ri_type *owner,
			  uint64_t offset, const struct ri_type *head, bool is_hash)
{
	const char *name = ri_strings_format(s->votes->strings, "%s %s %s %llu",
					     variable ? variable : "", owner ? owner->name : "",
					     s->path, (unsigned long long)(owner ? owner->size_bytes
										 : 0));
	uint32_t index = ri_address_map_find(&s->place_of, (uint64_t)(uintptr_t)name);
	struct ri_head_place *place;

	if (index != RI_NONE || s->votes->places.count >= PLACES_MAX)
		return index;
	index = (uint32_t)s->votes->places.count;
	place = ri_push(&s->votes->places);
	place->variable = variable ? ri_strings_add(s->votes->strings, variable) : NULL;
	place->owner = owner;
	place->path = ri_strings_add(s->votes->strings, s->path);
	place->offset_bytes = offset;
	place->head = head;
	place->is_hash = is_hash;
	ri_address_map_set(&s->place_of, (uint64_t)(uintptr_t)name, index);
	return index;
}

static void search_type(struct search *s, const struct ri_type *type, uint64_t offset,
			unsigned depth);

static void add_entry(struct search *s, const struct ri_type *head, uint64_t offset,
		      uint64_t count)
{
	struct entry *entry;
	uint32_t place;

	if (!s->owner || s->plan->entries.count >= PLAN_MAX)
		return;
	place = get_place(s, NULL, s->owner, offset - s->owner_offset, head, count > 1);
	if (place == RI_NONE)
		return;
	entry = ri_push(&s->plan->entries);
	*entry = (struct entry){ place, s->owner_offset, offset, count, head->size_bytes };
}

static void search_struct(struct search *s, const struct ri_type *type, uint64_t offset,
			  unsigned depth)
{
	const struct ri_type *owner = s->owner;
	uint64_t owner_offset = s->owner_offset;
	char path[PATH_MAX_BYTES];
	size_t length;

	strcpy(path, s->path);
	if (type->name) {
		s->owner = type;
		s->owner_offset = offset;
		s->path[0] = '\0';
	}
	length = strlen(s->path);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const char *name = member->name ? member->name : "";

		if (member->bit_size || length + strlen(name) + 2 > sizeof(s->path))
			continue;
		strcpy(stpcpy(s->path + length, length && *name ? "." : ""), name);
		search_type(s, member->type, offset + member->offset_bits / 8, depth + 1);
		s->path[length] = '\0';
	}
	strcpy(s->path, path);
	s->owner = owner;
	s->owner_offset = owner_offset;
}

static void search_type(struct search *s, const struct ri_type *type, uint64_t offset,
			unsigned depth)
{
	const struct ri_type *element;

	type = ri_type_bare(s->votes->input->types, type);
	if (!type || depth > DEPTH_MAX || s->plan->entries.count >= PLAN_MAX)
		return;
	if ((type->kind == RI_TYPE_STRUCT || type->kind == RI_TYPE_POINTER) && is_head(s, type)) {
		add_entry(s, type, offset, 1);
	} else if (type->kind == RI_TYPE_STRUCT) {
		search_struct(s, type, offset, depth);
	} else if (type->kind == RI_TYPE_ARRAY) {
		element = ri_type_below(s->votes->input->types, type);
		if (!element || !element->size_bytes ||
		    (element->kind != RI_TYPE_STRUCT && element->kind != RI_TYPE_POINTER))
			return;
		if (is_head(s, element)) {
			add_entry(s, element, offset, type->element_count);
			return;
		}
		for (uint64_t i = 0; i < type->element_count && i < ELEMENTS_MAX &&
				     element->kind == RI_TYPE_STRUCT && element->name; i++) {
			size_t before = s->plan->entries.count;

			search_type(s, element, offset + i * element->size_bytes, depth + 1);
			if (s->plan->entries.count == before)
				break;
		}
	}
}

static const struct plan *plan_of(struct search *s, const struct ri_type *type)
{
	uint32_t index = ri_address_map_find(&s->plan_of, (uint64_t)(uintptr_t)type);
	struct plan plan = { 0 };

	if (index != RI_NONE)
		return &s->plans.items[index];
	s->plan = &plan;
	s->owner = NULL;
	s->path[0] = '\0';
	search_type(s, type, 0, 0);
	s->plan = NULL;
	index = (uint32_t)s->plans.count;
	*ri_push(&s->plans) = plan;
	ri_address_map_set(&s->plan_of, (uint64_t)(uintptr_t)type, index);
	return &s->plans.items[index];
}

static void add_heads(struct search *s, uint32_t index, uint64_t addr, uint64_t struct_addr,
		      uint64_t count, uint64_t stride)
{
	struct ri_head_place *place = &s->votes->places.items[index];

	for (uint64_t i = 0; i < count && place->heads.count < HEADS_MAX; i++) {
		struct ri_place_head *head = ri_push(&place->heads);

		head->addr = addr + i * stride;
		head->struct_addr = struct_addr;
		head->length = UINT64_MAX;
	}
}

/* Adds the heads in `count` elements of `type` at `addr`. */
static void add_instances(struct search *s, const struct ri_type *type, uint64_t addr,
			  uint64_t count)
{
	const struct plan *plan;

	type = ri_type_bare(s->votes->input->types, type);
	if (!type || type->kind != RI_TYPE_STRUCT || !type->size_bytes)
		return;
	plan = plan_of(s, type);
	for (uint64_t i = 0; i < count && i < ELEMENTS_MAX && plan->entries.count; i++)
		for (size_t k = 0; k < plan->entries.count; k++) {
			const struct entry *entry = &plan->entries.items[k];
			uint64_t base = addr + i * type->size_bytes;

			add_heads(s, entry->place, base + entry->offset, base + entry->owner_offset,
				  entry->count, entry->stride);
		}
}

static bool add_variable(const struct ri_variable *variable, void *data)
{
	struct search *s = data;
	struct ri_types *types = s->votes->input->types;
	const struct ri_type *type = ri_type_bare(types, variable->type), *element = type;
	struct ri_variable found;
	uint64_t count = 1;
	uint32_t place;

	if (type && type->kind == RI_TYPE_ARRAY) {
		element = ri_type_below(types, type);
		count = type->element_count;
	}
	if (!element || !element->size_bytes || !count ||
	    (element->kind != RI_TYPE_STRUCT && element->kind != RI_TYPE_POINTER))
		return true;
	if (!is_head(s, element)) {
		add_instances(s, element, variable->addr, count);
		return true;
	}
	/* of several variables of one name a profile means the first */
	if (!variable->name || !ri_types_find_variable(types, variable->name, &found) ||
	    found.addr != variable->addr)
		return true;
	s->path[0] = '\0';
	place = get_place(s, variable->name, NULL, 0, element, type != element);
	if (place != RI_NONE)
		add_heads(s, place, variable->addr, variable->addr, count, element->size_bytes);
	return true;
}

static void add_objects(struct search *s)
{
	const struct ri_population *population = s->votes->input->population;

	for (size_t i = 0; i < population->object_count; i++) {
		const struct ri_object *object = &population->objects[i];

		if (!(object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS)))
			add_instances(s, population->types[object->type].type, object->addr, 1);
	}
}

static void add_blocks(struct search *s)
{
	const struct ri_group_votes_input *input = s->votes->input;
	const struct ri_population *population = input->population;

	for (size_t i = 0; i < population->typed_block_count; i++) {
		const struct ri_typed_block *typed = &population->typed_blocks[i];
		const struct ri_shape *shape = &input->shapes->shapes.items[typed->shape];
		const struct ri_block *block = &input->heap->blocks[typed->block];
		uint64_t out = typed->spare_bytes + typed->lead_bytes;

		ri_address_map_set(&s->votes->shape_of_block, block->addr, (uint32_t)i);
		if (typed->is_exact && shape->type && shape->element_bytes &&
		    out < block->size_bytes)
			add_instances(s, shape->type, block->addr + typed->lead_bytes,
				      (block->size_bytes - out) / shape->element_bytes);
	}
}

void ri_places_find(struct ri_votes *votes)
{
	struct search s = { .votes = votes };

	ri_types_each_variable(votes->input->types, add_variable, &s);
	add_objects(&s);
	add_blocks(&s);
	for (size_t i = 0; i < s.plans.count; i++)
		ri_vec_deinit(&s.plans.items[i].entries);
	ri_vec_deinit(&s.plans);
	ri_address_map_deinit(&s.plan_of);
	ri_address_map_deinit(&s.is_head);
	ri_address_map_deinit(&s.place_of);
}

void ri_places_deinit(ri_place_list *places)
{
	for (size_t i = 0; i < places->count; i++)
		ri_vec_deinit(&places->items[i].heads);
	ri_vec_deinit(places);
}
