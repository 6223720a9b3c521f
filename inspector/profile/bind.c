/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of a profile to places in a target's types: structs, member paths,
 * conditions.  Knows what kinds of members can be read as what; what they mean
 * for a type or a group is bind_types.c's and bind_groups.c's.
 *
 * A name that is not found is recorded with its mark and the nearest name that
 * would have been; looking for that may load every type, which the search for
 * embedded headers does anyway.
 */
#include "profile/bind.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WRAPPERS 8      /* structs of one member around an integer */
#define TEXT_BYTES_UNKNOWN 256 /* how much of `char name[]` is looked at */

void ri_bind_fail(struct ri_binder *binder, const struct ri_mark *mark, const char *format, ...)
{
	struct ri_unbound *unbound;
	va_list args;
	char *message;

	va_start(args, format);
	message = ri_vformat(format, args);
	va_end(args);
	unbound = ri_push(&binder->layout->unbound);
	unbound->mark = ri_bind_mark(binder, mark);
	unbound->message = ri_bind_text(binder, message);
	ri_gaps_add(binder->gaps, binder->is_user ? RI_GAP_MATTERS : RI_GAP_TOLD, "profile",
		    "%s:%u:%u: %s", mark->file ? mark->file : binder->profile->file, mark->line,
		    mark->column, message);
	free(message);
}

const char *ri_bind_text(struct ri_binder *binder, const char *text)
{
	return text ? ri_strings_add(binder->layout->strings, text) : NULL;
}

struct ri_mark ri_bind_mark(struct ri_binder *binder, const struct ri_mark *mark)
{
	return (struct ri_mark){ ri_bind_text(binder, mark->file), mark->line, mark->column };
}

void *ri_bind_alloc(struct ri_binder *binder, size_t count, size_t size_bytes)
{
	void *p = ri_calloc(count, size_bytes);

	*ri_push(&binder->bound->owned) = p;
	return p;
}

const uint64_t *ri_bind_u64s(struct ri_binder *binder, const ri_u64_list *list)
{
	uint64_t *copy;

	if (!list->count)
		return NULL;
	copy = ri_bind_alloc(binder, list->count, sizeof(*copy));
	memcpy(copy, list->items, list->count * sizeof(*copy));
	return copy;
}

/* Structs. */

const char *ri_bind_bare_name(const char *name)
{
	static const char *const prefixes[] = { "struct ", "union ", "class " };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

bool ri_bind_has_names(const struct ri_binder *binder)
{
	const struct ri_module *executable = ri_modules_main(binder->modules);

	return binder->types && (!executable || executable->has_dwarf);
}

static bool offer_struct(const struct ri_type *type, void *data)
{
	struct ri_suggestion *suggestion = data;

	ri_suggestion_offer(suggestion, type->name);
	return suggestion->offered < RI_SUGGEST_MAX;
}

static void fail_struct(struct ri_binder *binder, const struct ri_name *name, const char *module)
{
	struct ri_suggestion suggestion;
	char *hint;

	ri_suggestion_init(&suggestion, ri_bind_bare_name(name->text));
	if (ri_bind_has_names(binder))
		ri_types_each_struct(binder->types, offer_struct, &suggestion);
	hint = ri_suggestion_text(&suggestion);
	ri_bind_fail(binder, &name->mark, "no struct '%s'%s%s%s%s", ri_bind_bare_name(name->text),
		     module ? " in modules like '" : "", module ? module : "", module ? "'" : "",
		     hint);
	free(hint);
}

bool ri_bind_is_in_module(const struct ri_type *type, const char *glob)
{
	const char *path = type->module ? type->module->path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	return !glob || (path && !fnmatch(glob, slash ? slash + 1 : path, 0));
}

struct module_search {
	struct ri_types *types;
	const char *name, *module;
	const char *member;      /* null: any */
	const struct ri_type *found;
};

static bool has_member(struct ri_types *types, const struct ri_type *type, const char *member)
{
	struct ri_place place;
	struct ri_error *error = member ? ri_type_resolve_path(types, type, member, &place) : NULL;

	ri_error_destroy(error);
	return !error;
}

static bool is_in_module(const struct ri_type *type, void *data)
{
	struct module_search *search = data;

	if (type->name && !strcmp(type->name, search->name) &&
	    ri_bind_is_in_module(type, search->module) && has_member(search->types, type, search->member))
		search->found = type;
	return !search->found;
}

const struct ri_type *ri_bind_struct(struct ri_binder *binder, const struct ri_name *name,
				     const char *member, const char *module, bool may_lack)
{
	const struct ri_type *type = NULL;
	bool is_ambiguous = false;

	if (binder->types && module) {
		struct module_search search = { .types = binder->types,
						.name = ri_bind_bare_name(name->text),
						.module = module, .member = member };

		ri_types_each_struct(binder->types, is_in_module, &search);
		search.member = NULL;
		if (!search.found && member)
			ri_types_each_struct(binder->types, is_in_module, &search);
		type = search.found;
	} else if (binder->types) {
		type = ri_types_find(binder->types, name->text, member, &is_ambiguous);
		if (!type && member)
			type = ri_types_find(binder->types, name->text, NULL, &is_ambiguous);
	}
	if (type)
		type = ri_type_strip(binder->types, type);
	if (!type || (type->kind != RI_TYPE_STRUCT && type->kind != RI_TYPE_UNION)) {
		if (!may_lack)
			fail_struct(binder, name, module);
		return NULL;
	}
	if (is_ambiguous)
		ri_gaps_add(binder->gaps, RI_GAP_TOLD, "profile",
			    "several structs are called '%s'; the one of %s is meant: "
			    "'module:' says which",
			    ri_bind_bare_name(name->text),
			    type->module ? type->module->path : "the program");
	return type;
}

bool ri_bind_is_same(struct ri_binder *binder, const struct ri_type *a, const struct ri_type *b)
{
	if (!a || !b)
		return false;
	a = ri_type_strip(binder->types, a);
	b = ri_type_strip(binder->types, b);
	return a == b || (a->kind == b->kind && a->size_bytes == b->size_bytes && a->name &&
			  b->name && !strcmp(a->name, b->name));
}

/* Members. */

bool ri_bind_has_place(const struct ri_profile_field *field)
{
	return field->member.text || field->has_offset;
}

static void offer_members(struct ri_binder *binder, const struct ri_type *type,
			  struct ri_suggestion *suggestion, unsigned depth)
{
	type = ri_type_strip(binder->types, type);
	for (size_t i = 0; i < type->member_count && depth < MAX_WRAPPERS; i++) {
		if (type->members[i].name)
			ri_suggestion_offer(suggestion, type->members[i].name);
		else
			offer_members(binder, type->members[i].type, suggestion, depth + 1);
	}
}

/* Says which step of the path failed: the first prefix that does not resolve. */
static void fail_member(struct ri_binder *binder, const struct ri_name *member,
			const struct ri_type *type, const struct ri_error *error)
{
	const struct ri_type *around = ri_type_strip(binder->types, type);
	char *path = ri_strdup(member->text), *step = path;

	for (;;) {
		size_t length = strcspn(step, ".[");
		char *end = step + length, ended_by = *end;
		struct ri_place place;
		struct ri_error *failed;

		*end = '\0';
		failed = ri_type_resolve_path(binder->types, type, path, &place);
		if (failed || ended_by != '.') {
			ri_error_destroy(failed);
			break;
		}
		around = ri_type_strip(binder->types, place.type);
		*end = ended_by;
		step = end + 1;
	}
	if ((around->kind == RI_TYPE_STRUCT || around->kind == RI_TYPE_UNION) && *step) {
		struct ri_suggestion suggestion;
		char *hint;

		ri_suggestion_init(&suggestion, step);
		offer_members(binder, around, &suggestion, 0);
		hint = ri_suggestion_text(&suggestion);
		ri_bind_fail(binder, &member->mark, "%s has no member '%s'%s",
			     ri_type_spell(binder->types, around), step, hint);
		free(hint);
	} else {
		ri_bind_fail(binder, &member->mark, "%s", error->message);
	}
	free(path);
}

bool ri_bind_place(struct ri_binder *binder, const struct ri_profile_field *field,
		   const struct ri_type *type, struct ri_bound_place *ret)
{
	struct ri_place place = { 0 };
	struct ri_error *error;

	*ret = (struct ri_bound_place){ 0 };
	if (field->has_offset) {
		ret->offset_bytes = field->offset_bytes;
		return true;
	}
	if (!type) {
		ri_bind_fail(binder, &field->member.mark,
			     "'%s' cannot be placed: there is no debug information for its struct",
			     field->member.text);
		return false;
	}
	error = ri_type_resolve_path(binder->types, type, field->member.text, &place);
	if (error) {
		fail_member(binder, &field->member, type, error);
		ri_error_destroy(error);
		return false;
	}
	ret->offset_bytes = (int64_t)place.offset_bytes;
	ret->type = place.type;
	ret->bit_shift = place.bit_shift;
	ret->bit_size = place.bit_size;
	return true;
}

/* Goes down through structs whose only member with a size begins where they do:
 * refcount_t, atomic_t, std::atomic and the like. */
static const struct ri_type *unwrap(struct ri_binder *binder, const struct ri_type *type)
{
	for (unsigned depth = 0; depth < MAX_WRAPPERS; depth++) {
		const struct ri_type *inner = NULL;
		size_t sized = 0;

		type = ri_type_strip(binder->types, type);
		if (type->kind != RI_TYPE_STRUCT)
			return type;
		for (size_t i = 0; i < type->member_count; i++) {
			const struct ri_member *member = &type->members[i];

			if (!ri_type_strip(binder->types, member->type)->size_bytes)
				continue;
			sized++;
			inner = member->offset_bits || member->bit_size ? NULL : member->type;
		}
		if (sized != 1 || !inner)
			return type;
		type = inner;
	}
	return type;
}

/* The smallest storage that holds the bits; 0: none does. */
static uint8_t storage_bytes(uint32_t bits)
{
	return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : 0;
}

static bool fail_kind(struct ri_binder *binder, const struct ri_profile_field *field,
		      const struct ri_type *type, const char *wanted)
{
	ri_bind_fail(binder, &field->member.mark, "'%s' is %s, not %s", field->member.text,
		     ri_type_spell(binder->types, type), wanted);
	return false;
}

static bool read_integer(struct ri_binder *binder, const struct ri_profile_field *field,
			 const struct ri_bound_place *place, bool is_pointer, struct ri_field *ret)
{
	const struct ri_type *type = unwrap(binder, place->type);
	bool is_integer = type->kind == RI_TYPE_INT || type->kind == RI_TYPE_POINTER;

	ret->size_bytes = (uint8_t)type->size_bytes;
	ret->is_signed = type->kind == RI_TYPE_INT && type->is_signed && !is_pointer;
	if (type->kind == RI_TYPE_POINTER)
		ret->size_bytes = 8;
	if (is_pointer && (!is_integer || ret->size_bytes != 8 || place->bit_size))
		return fail_kind(binder, field, place->type, "a pointer");
	if (place->bit_size) {
		ret->bit_shift = (uint8_t)place->bit_shift;
		ret->bit_size = (uint8_t)place->bit_size;
		ret->size_bytes = storage_bytes(place->bit_shift + place->bit_size);
	}
	if (!is_integer || type->size_bytes > 8 || !ret->size_bytes ||
	    (ret->size_bytes & (ret->size_bytes - 1)))
		return fail_kind(binder, field, place->type, "an integer of 1, 2, 4 or 8 bytes");
	return true;
}

static bool read_text(struct ri_binder *binder, const struct ri_profile_field *field,
		      const struct ri_bound_place *place, struct ri_field *ret)
{
	const struct ri_type *type = unwrap(binder, place->type);
	const struct ri_type *element = NULL;

	if (type->kind == RI_TYPE_ARRAY)
		element = ri_type_strip(binder->types, ri_type_target(binder->types, type));
	if (element && element->size_bytes == 1) {
		ret->text_bytes = type->size_bytes && type->size_bytes <= UINT32_MAX ?
					  (uint32_t)type->size_bytes : TEXT_BYTES_UNKNOWN;
		ret->size_bytes = 1;
		return true;
	}
	if (type->kind != RI_TYPE_POINTER)
		return fail_kind(binder, field, place->type,
				 "a pointer to characters or an array of them");
	ret->size_bytes = 8;
	return true;
}

static void fix_field(const struct ri_profile_field *field, enum ri_bind_kind kind,
		      struct ri_field *ret)
{
	ret->size_bytes = (uint8_t)field->size_bytes;
	if (kind == RI_BIND_TEXT && field->size_bytes) {
		ret->size_bytes = 1;
		ret->text_bytes = field->size_bytes;
	} else if (kind != RI_BIND_INTEGER) {
		ret->size_bytes = 8;
	}
}

bool ri_bind_field(struct ri_binder *binder, const struct ri_profile_field *field,
		   const struct ri_type *type, int64_t adjust_bytes, enum ri_bind_kind kind,
		   struct ri_field *ret)
{
	struct ri_bound_place place;
	struct ri_field bound = { .is_present = true };

	*ret = (struct ri_field){ 0 };
	if (!ri_bind_has_place(field) || !ri_bind_place(binder, field, type, &place))
		return false;
	bound.offset_bytes = place.offset_bytes + adjust_bytes;
	if (!place.type)
		fix_field(field, kind, &bound);
	else if (kind == RI_BIND_TEXT ?
			 !read_text(binder, field, &place, &bound) :
			 !read_integer(binder, field, &place, kind == RI_BIND_POINTER, &bound))
		return false;
	*ret = bound;
	return true;
}

bool ri_bind_condition(struct ri_binder *binder, const struct ri_profile_condition *condition,
		       const struct ri_type *type, int64_t adjust_bytes,
		       struct ri_condition *ret)
{
	*ret = (struct ri_condition){ 0 };
	if (!condition->is_present)
		return false;
	ret->is_present = ri_bind_field(binder, &condition->field, type, adjust_bytes,
					RI_BIND_INTEGER, &ret->field);
	ret->mask = condition->mask;
	ret->has_equals = condition->has_equals;
	ret->equals = condition->equals;
	ret->is_negated = condition->is_negated;
	return ret->is_present;
}

struct ri_weight ri_bind_weight(struct ri_binder *binder, const struct ri_profile_weight *weight,
				const struct ri_type *type)
{
	struct ri_weight bound = { .kind = weight->kind, .weight = weight->weight };

	if (weight->kind == RI_WEIGHT_IF &&
	    !ri_bind_condition(binder, &weight->owns_if, type, 0, &bound.owns_if))
		bound.kind = RI_WEIGHT_POSSIBLE; /* recorded as unbound: do not guess */
	return bound;
}
