/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Member paths: "hdr.refs", "slots[3].obj", "grid[1][2]".
 *
 * A name is looked for among the members of a struct, then inside its anonymous
 * structs, unions and base classes.  Anonymous members nest like a graph, not
 * like a tree, so the number of members that one look-up visits is bounded.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"

#define VISITS_MAX 100000
#define ANONYMOUS_DEPTH_MAX 16
#define OFFERED_MAX 8

struct step {
	const char *name;
	size_t length;
	uint64_t visits;
};

static bool is_named(const struct ri_member *member, const struct step *step)
{
	return member->name && !strncmp(member->name, step->name, step->length) &&
	       !member->name[step->length];
}

/* Finds the member; adds its place and what is chosen on the way to `place`. */
static bool find_member(struct ri_types *types, const struct ri_type *type, struct step *step,
			int depth, struct ri_place *place)
{
	const struct ri_member *members = type->members;

	if (type->kind != RI_TYPE_STRUCT && type->kind != RI_TYPE_UNION)
		return false;
	for (size_t i = 0; i < type->member_count; i++) {
		if (!is_named(&members[i], step))
			continue;
		place->type = members[i].type;
		place->offset_bytes += members[i].offset_bits / 8;
		place->bit_shift = members[i].bit_size ? members[i].offset_bits % 8 : 0;
		place->bit_size = members[i].bit_size;
		place->in_union |= type->kind == RI_TYPE_UNION;
		return true;
	}
	if (depth >= ANONYMOUS_DEPTH_MAX)
		return false;
	for (size_t i = 0; i < type->member_count; i++) {
		struct ri_place inner = *place;

		if (members[i].name)
			continue;
		if (step->visits++ >= VISITS_MAX)
			return false;
		inner.offset_bytes += members[i].offset_bits / 8;
		inner.in_union |= type->kind == RI_TYPE_UNION;
		if (find_member(types, ri_type_strip(types, members[i].type), step, depth + 1,
				&inner)) {
			*place = inner;
			return true;
		}
	}
	return false;
}

static size_t list_members(char *buffer, size_t size_bytes, const struct ri_type *type,
			   size_t *count)
{
	size_t used = 0;

	for (size_t i = 0; i < type->member_count && *count < OFFERED_MAX; i++) {
		int written;

		if (!type->members[i].name)
			continue;
		written = snprintf(buffer + used, size_bytes - used, "%s%s", *count ? ", " : "",
				   type->members[i].name);
		if (written < 0 || (size_t)written >= size_bytes - used)
			break;
		used += (size_t)written;
		++*count;
	}
	return used;
}

static struct ri_error *no_member(struct ri_types *types, const struct ri_type *outer,
				  const struct ri_type *stripped, const struct step *step,
				  const char *path)
{
	char offered[512] = "";
	size_t count = 0;

	if (stripped->kind != RI_TYPE_STRUCT && stripped->kind != RI_TYPE_UNION)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "'%.*s' in '%s': %s has no members", (int)step->length,
				       step->name, path, ri_type_spell(types, outer));
	list_members(offered, sizeof(offered), stripped, &count);
	return ri_error_create(RI_ERROR_NOT_FOUND, "%s has no member '%.*s'; it has %s%s",
			       ri_type_spell(types, stripped), (int)step->length, step->name,
			       count ? offered : "no named members",
			       count < stripped->member_count ? ", ..." : "");
}

/* "[3]" or all subscripts of an array of several dimensions; *cursor moves
 * behind them. */
static struct ri_error *resolve_subscripts(struct ri_types *types, const char *path,
					   const char **cursor, struct ri_place *place)
{
	const struct ri_type *array = ri_type_strip(types, place->type), *element;
	const struct ri_type_node *node = ri_type_node_of(array);
	uint64_t index = 0;
	size_t given = 0;

	if (array->kind != RI_TYPE_ARRAY)
		return ri_error_create(RI_ERROR_NOT_FOUND, "'%s': %s is no array", path,
				       ri_type_spell(types, place->type));
	while (**cursor == '[') {
		char *end;
		uint64_t subscript = strtoull(*cursor + 1, &end, 0);

		if (!isdigit((unsigned char)(*cursor)[1]) || *end != ']')
			return ri_error_create(RI_ERROR_NOT_FOUND,
					       "'%s': a subscript is a number in brackets", path);
		if (given && given < node->dimension_count &&
		    __builtin_mul_overflow(index, node->dimensions[given], &index))
			index = RI_TYPE_MAX_BYTES;
		if (__builtin_add_overflow(index, subscript, &index))
			index = RI_TYPE_MAX_BYTES;
		given++;
		*cursor = end + 1;
		if (given >= node->dimension_count)
			break;
	}
	element = ri_type_target(types, array);
	if (given > 1 && given < node->dimension_count)
		return ri_error_create(RI_ERROR_NOT_FOUND, "'%s': %s takes %zu subscripts", path,
				       ri_type_spell(types, array), node->dimension_count);
	if ((array->element_count && index >= array->element_count) ||
	    index >= RI_TYPE_MAX_BYTES || element->size_bytes > RI_TYPE_MAX_BYTES)
		return ri_error_create(RI_ERROR_NOT_FOUND, "'%s': subscript beyond %s", path,
				       ri_type_spell(types, array));
	place->type = element;
	if (__builtin_mul_overflow(index, element->size_bytes, &index) ||
	    __builtin_add_overflow(place->offset_bytes, index, &place->offset_bytes))
		return ri_error_create(RI_ERROR_NOT_FOUND, "'%s': subscript beyond any memory",
				       path);
	return NULL;
}

struct ri_error *ri_type_resolve_path(struct ri_types *types, const struct ri_type *type,
				      const char *path, struct ri_place *ret)
{
	struct ri_place place = { .type = type };
	const char *cursor = path;
	struct ri_error *error;

	while (*cursor) {
		const struct ri_type *outer = place.type, *stripped;
		struct step step = { .name = cursor, .length = strcspn(cursor, ".[") };

		if (*cursor == '[') {
			error = resolve_subscripts(types, path, &cursor, &place);
			if (error)
				return error;
		} else {
			stripped = ri_type_strip(types, outer);
			if (!step.length || !find_member(types, stripped, &step, 0, &place))
				return no_member(types, outer, stripped, &step, path);
			cursor += step.length;
		}
		if (*cursor == '.' && cursor[1])
			cursor++;
		else if (*cursor && *cursor != '[')
			return ri_error_create(RI_ERROR_NOT_FOUND,
					       "'%s' is no member path: 'a.b[3].c' is one", path);
	}
	*ret = place;
	return NULL;
}
