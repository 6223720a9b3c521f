/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks a type for the structs that the layout knows: see nested.h.  An array
 * stays one entry with a count; where an array's elements contain arrays, the
 * outer one is written out, up to NESTED_MAX entries in all.
 */
#include "census/nested.h"
#include "census/type_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "heap/heap.h"

#define DEPTH_MAX 32
#define NESTED_MAX 65536
#define PATH_MAX_BYTES 512
#define VISITS_MAX (1u << 20)

struct search {
	struct ri_shapes *shapes;
	ri_nested_list *list;
	char path[PATH_MAX_BYTES];
	size_t path_length;
	unsigned depth;
	uint32_t visits;
};

static void search_type(struct search *s, const struct ri_type *type, uint64_t offset);

/* Appends to the path; one that grows too long stays as it is. */
static size_t push_path(struct search *s, const char *separator, const char *text)
{
	size_t before = s->path_length, n = strlen(separator) + strlen(text);

	if (before + n < sizeof(s->path)) {
		snprintf(s->path + before, sizeof(s->path) - before, "%s%s", separator, text);
		s->path_length += n;
	}
	return before;
}

static void pop_path(struct search *s, size_t before)
{
	s->path_length = before;
	s->path[before] = '\0';
}

static void add(struct search *s, bool is_head, uint32_t index, uint64_t offset)
{
	struct ri_nested *added;

	if (s->list->count >= NESTED_MAX)
		return;
	added = ri_push(s->list);
	added->is_head = is_head;
	added->index = index;
	added->offset_bytes = offset;
	added->count = 1;
	added->path = ri_strings_add(s->shapes->strings, s->path);
}

/* The member of `type` at byte `offset`, or null. */
static const char *member_at(const struct ri_type *type, uint64_t offset)
{
	for (size_t i = 0; i < type->member_count; i++)
		if (type->members[i].offset_bits == offset * 8)
			return type->members[i].name;
	return NULL;
}

/* Whether the struct around the head stands for the group, so that the group
 * is called like it and not like the head inside it. */
static bool is_group_struct(const struct ri_group_rule *rule)
{
	return rule->name_field.is_present ||
	       (rule->count.is_present && !rule->count_variable_addr) ||
	       rule->magic.field.is_present || (rule->back.is_present && !rule->back_to_head);
}

static void add_heads(struct search *s, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = s->shapes->layout;

	for (size_t i = 0; i < layout->groups.count; i++) {
		const struct ri_group_rule *rule = &layout->groups.items[i];
		const char *member;
		size_t path;

		if (!rule->head_type || rule->has_variable ||
		    !ri_types_are_same(rule->head_type, type))
			continue;
		member = is_group_struct(rule) ? NULL
					       : member_at(type, (uint64_t)rule->head_offset);
		path = push_path(s, member ? "." : "", member ? member : "");
		add(s, true, (uint32_t)i, offset);
		pop_path(s, path);
	}
}

static void add_unused(struct search *s, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = s->shapes->layout;

	for (size_t i = 0; i < layout->unused.count; i++) {
		size_t before = s->list->count;

		if (!ri_types_are_same(layout->unused.items[i].type, type))
			continue;
		add(s, false, (uint32_t)i, offset);
		if (s->list->count > before)
			s->list->items[before].is_unused = true;
	}
}

static void search_struct(struct search *s, const struct ri_type *type, uint64_t offset)
{
	uint32_t counted = ri_shapes_find_counted(s->shapes, type);

	if (counted != RI_NONE)
		add(s, false, counted, offset);
	add_heads(s, type, offset);
	add_unused(s, type, offset);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		size_t path = push_path(s, member->name ? "." : "", member->name ? member->name : "");

		if (!member->bit_size)
			search_type(s, member->type, offset + member->offset_bits / 8);
		pop_path(s, path);
	}
}

static void search_array(struct search *s, const struct ri_type *type, uint64_t offset)
{
	struct ri_types *types = s->shapes->types;
	const struct ri_type *element = ri_type_below(types, type);
	size_t path = push_path(s, "", "[]"), first = s->list->count;
	size_t last;

	if (element && element->size_bytes && type->element_count)
		search_type(s, element, offset);
	last = s->list->count;
	for (size_t n = first; n < last; n++) {
		struct ri_nested nested = s->list->items[n];

		if (nested.count == 1) {
			s->list->items[n].count = type->element_count;
			s->list->items[n].stride_bytes = element->size_bytes;
			continue;
		}
		for (uint64_t i = 1; i < type->element_count && s->list->count < NESTED_MAX; i++) {
			nested.offset_bytes += element->size_bytes;
			*ri_push(s->list) = nested;
		}
	}
	pop_path(s, path);
}

static void search_type(struct search *s, const struct ri_type *type, uint64_t offset)
{
	type = ri_type_bare(s->shapes->types, type);
	if (!type || s->depth >= DEPTH_MAX || s->visits++ >= VISITS_MAX)
		return;
	s->depth++;
	if (type->kind == RI_TYPE_STRUCT)
		search_struct(s, type, offset);
	else if (type->kind == RI_TYPE_ARRAY)
		search_array(s, type, offset);
	s->depth--;
}

void ri_nested_find(struct ri_shapes *shapes, const struct ri_type *type, uint64_t offset_bytes,
		    ri_nested_list *ret)
{
	struct search s = { .shapes = shapes, .list = ret };

	search_type(&s, type, offset_bytes);
}
