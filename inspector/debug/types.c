/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The type interface: finding types by name, following references, going
 * through all structs.  names.c has the index, loader.c makes types.
 */
#include "debug/types.h"

#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"

struct ri_types *ri_types_create(const struct ri_modules *modules, struct ri_gaps *gaps)
{
	struct ri_types *types = ri_calloc(1, sizeof(*types));

	types->gaps = gaps;
	ri_names_init(&types->names, modules, gaps);
	ri_loader_init(types);
	ri_variables_init(types);
	return types;
}

void ri_types_destroy(struct ri_types *types)
{
	if (!types)
		return;
	ri_variables_deinit(types);
	ri_locals_deinit(types);
	ri_loader_deinit(types);
	ri_names_deinit(&types->names);
	free(types);
}

const struct ri_type *ri_type_target(struct ri_types *types, const struct ri_type *type)
{
	struct ri_type_node *target = ri_loader_target(types, ri_type_node_of(type));

	return target && type->kind != RI_TYPE_FUNCTION ? &target->type : NULL;
}

const struct ri_type *ri_type_strip(struct ri_types *types, const struct ri_type *type)
{
	/* ends: an alias never leads back to itself, the loader sees to that */
	while (type->kind == RI_TYPE_TYPEDEF || type->kind == RI_TYPE_QUALIFIED)
		type = ri_type_target(types, type);
	return type;
}

/* What the user wrote, taken apart. */
struct wanted {
	const char *name;        /* unqualified, as long as length */
	size_t length;
	char *scope;             /* null: none given */
	bool allows_struct, allows_union, allows_enum, allows_typedef;
};

static const char *skip_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(text, word, length) || text[length] != ' ')
		return NULL;
	text += length;
	while (*text == ' ')
		text++;
	return text;
}

const char *ri_unqualified_name(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (*p == '<' || *p == '(' || *p == '[' || *p == '{')
			depth++;
		else if (*p == ')' || *p == ']' || *p == '}' ||
			 (*p == '>' && (p == name || p[-1] != '-')))
			depth--;
		else if (!depth && p[0] == ':' && p[1] == ':')
			last = p + 2;
	}
	return last;
}

static void parse_wanted(const char *text, struct wanted *ret)
{
	const char *rest;

	*ret = (struct wanted){ 0 };
	while (*text == ' ')
		text++;
	if ((rest = skip_word(text, "struct")) || (rest = skip_word(text, "class")))
		ret->allows_struct = true;
	else if ((rest = skip_word(text, "union")))
		ret->allows_union = true;
	else if ((rest = skip_word(text, "enum")))
		ret->allows_enum = true;
	else
		ret->allows_struct = ret->allows_union = ret->allows_enum = ret->allows_typedef =
			true;
	text = rest ? rest : text;
	if (text[0] == ':' && text[1] == ':')
		text += 2;
	ret->name = ri_unqualified_name(text);
	if (ret->name - text > 2)
		ret->scope = ri_strndup(text, (size_t)(ret->name - text) - 2);
	ret->length = strlen(ret->name);
	while (ret->length && ret->name[ret->length - 1] == ' ')
		ret->length--;
}

static bool allows_tag(const struct wanted *wanted, int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		return wanted->allows_struct;
	case DW_TAG_union_type:
		return wanted->allows_union;
	case DW_TAG_enumeration_type:
		return wanted->allows_enum;
	default:
		return wanted->allows_typedef;
	}
}

/* How well the scope fits: 2 as given, 1 with outer scopes left out, 0 not. */
static int match_scope(const char *wanted, const char *scope)
{
	size_t length = scope ? strlen(scope) : 0, wanted_length = wanted ? strlen(wanted) : 0;

	if (!wanted || !scope)
		return !wanted && !scope ? 2 : !wanted ? 1 : 0;
	if (length < wanted_length || strcmp(scope + length - wanted_length, wanted))
		return 0;
	if (length == wanted_length)
		return 2;
	return length >= wanted_length + 2 && scope[length - wanted_length - 1] == ':' ? 1 : 0;
}

static bool has_path(struct ri_types *types, const struct ri_type *type, const char *path)
{
	struct ri_place place;
	struct ri_error *error;

	if (!path)
		return true;
	error = ri_type_resolve_path(types, type, path, &place);
	if (!error)
		return true;
	ri_error_destroy(error);
	return false;
}

/* Better candidates have a greater value. */
static int rate(const struct ri_types *types, const struct ri_name_entry *entry, int scope_match)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(types->names.modules, &count);

	return (scope_match == 2 ? 8 : 0) + (entry->is_local ? 0 : 4) +
	       (list[entry->module].is_main ? 2 : 0) + (entry->tag == DW_TAG_typedef ? 0 : 1);
}

static bool is_same_layout(struct ri_types *types, const struct ri_type *a,
			   const struct ri_type *b)
{
	a = ri_type_strip(types, a);
	b = ri_type_strip(types, b);
	if (a == b)
		return true;
	if (a->kind != b->kind || a->size_bytes != b->size_bytes ||
	    a->member_count != b->member_count)
		return false;
	for (size_t i = 0; i < a->member_count; i++) {
		const struct ri_member *left = &a->members[i], *right = &b->members[i];

		if (left->offset_bits != right->offset_bits || left->bit_size != right->bit_size ||
		    !left->name != !right->name ||
		    (left->name && strcmp(left->name, right->name)))
			return false;
	}
	return true;
}

/* The best candidate with the member path; whether others, rated as good or a
 * typedef instead of a struct, have another layout. */
static const struct ri_type *choose(struct ri_types *types, const struct ri_name_group *group,
				    const struct wanted *wanted, const char *with_member,
				    bool *ret_ambiguous)
{
	const struct ri_type *best = NULL;
	int best_rate = -1;

	*ret_ambiguous = false;
	for (uint32_t i = group->first; i != RI_NAMES_NONE;) {
		const struct ri_name_entry *entry = &types->names.entries.items[i];
		int match = match_scope(wanted->scope, entry->scope), rated;
		const struct ri_type *type;

		i = entry->next;
		if (!match || !allows_tag(wanted, entry->tag))
			continue;
		rated = rate(types, entry, match);
		if (rated < (best_rate & ~1))
			continue; /* a poorer class of candidates altogether */
		type = &ri_loader_load(types, entry->module, entry->die)->type;
		if (!has_path(types, type, with_member))
			continue;
		if ((rated & ~1) > (best_rate & ~1))
			*ret_ambiguous = false;
		else if (best && !is_same_layout(types, best, type))
			*ret_ambiguous = true;
		if (rated > best_rate) {
			best = type;
			best_rate = rated;
		}
	}
	return best;
}

const struct ri_type *ri_types_find(struct ri_types *types, const char *name,
				    const char *with_member, bool *ret_ambiguous)
{
	const struct ri_name_group *group;
	const struct ri_type *type = NULL;
	struct wanted wanted;
	bool is_ambiguous = false;

	parse_wanted(name, &wanted);
	group = wanted.length ? ri_names_find(&types->names, wanted.name, wanted.length) : NULL;
	if (group)
		type = choose(types, group, &wanted, with_member, &is_ambiguous);
	free(wanted.scope);
	if (ret_ambiguous)
		*ret_ambiguous = is_ambiguous;
	return type;
}

const struct ri_type *ri_types_find_elsewhere(struct ri_types *types, const char *name,
					      const char *with_member, const struct ri_type *type)
{
	const struct ri_name_group *group;
	const struct ri_type *found = NULL;
	struct wanted wanted;

	parse_wanted(name, &wanted);
	group = wanted.length ? ri_names_find(&types->names, wanted.name, wanted.length) : NULL;
	for (uint32_t i = group ? group->first : RI_NAMES_NONE; !found && i != RI_NAMES_NONE;) {
		const struct ri_name_entry *entry = &types->names.entries.items[i];
		const struct ri_type *other;

		i = entry->next;
		if (!allows_tag(&wanted, entry->tag) || entry->is_local ||
		    match_scope(wanted.scope, entry->scope) != 2)
			continue;
		other = &ri_loader_load(types, entry->module, entry->die)->type;
		if (other->module != type->module && has_path(types, other, with_member) &&
		    !is_same_layout(types, other, type))
			found = other;
	}
	free(wanted.scope);
	return found;
}

#define ANY_ARGUMENTS "<*>"

bool ri_types_is_generic(const char *name)
{
	size_t length = strlen(name), tail = strlen(ANY_ARGUMENTS);

	return length > tail && !strcmp(name + length - tail, ANY_ARGUMENTS);
}

static bool is_instance(const char *name, const struct wanted *wanted)
{
	size_t stem = wanted->length - strlen(ANY_ARGUMENTS), length = strlen(name);

	return length > stem + 2 && name[stem] == '<' && name[length - 1] == '>' &&
	       !strncmp(name, wanted->name, stem);
}

/* False where the callback said so. */
static bool each_of_group(struct ri_types *types, size_t group, const struct wanted *wanted,
			  bool (*callback)(const struct ri_type *type, void *data), void *data)
{
	ri_names_mark_duplicates(&types->names, (uint32_t)group);
	for (uint32_t i = types->names.groups.items[group].first; i != RI_NAMES_NONE;) {
		const struct ri_name_entry *entry = &types->names.entries.items[i];
		const struct ri_type *type;

		i = entry->next;
		if (!ri_tag_is_struct(entry->tag) || entry->is_duplicate ||
		    !match_scope(wanted->scope, entry->scope))
			continue;
		type = &ri_loader_load(types, entry->module, entry->die)->type;
		if (type->kind == RI_TYPE_STRUCT && !callback(type, data))
			return false;
	}
	return true;
}

void ri_types_each_instance(struct ri_types *types, const char *generic,
			    bool (*callback)(const struct ri_type *type, void *data), void *data)
{
	struct wanted wanted;

	parse_wanted(generic, &wanted);
	/* the loader adds no names */
	for (size_t i = 0; wanted.length > strlen(ANY_ARGUMENTS) &&
			   i < types->names.groups.count; i++)
		if (is_instance(types->names.groups.items[i].name, &wanted) &&
		    !each_of_group(types, i, &wanted, callback, data))
			break;
	free(wanted.scope);
}

/* `is_wanted[module]`; null: all modules are. */
static void each_struct(struct ri_types *types, const bool *is_wanted,
			bool (*callback)(const struct ri_type *type, void *data), void *data)
{
	for (size_t i = 0; i < types->names.entries.count; i++) {
		const struct ri_name_entry *entry = &types->names.entries.items[i];
		const struct ri_type *type;

		if (!ri_tag_is_struct(entry->tag) && !entry->is_naming)
			continue;
		if (is_wanted && !is_wanted[entry->module])
			continue;
		ri_names_mark_duplicates(&types->names, entry->group);
		if (entry->is_duplicate)
			continue;
		type = &ri_loader_load(types, entry->module, entry->die)->type;
		type = ri_type_strip(types, type);
		if (type->kind == RI_TYPE_STRUCT && !callback(type, data))
			return;
	}
}

void ri_types_each_struct(struct ri_types *types,
			  bool (*callback)(const struct ri_type *type, void *data), void *data)
{
	each_struct(types, NULL, callback, data);
}

void ri_types_each_struct_near(struct ri_types *types, const char *const *names,
			       size_t name_count,
			       bool (*callback)(const struct ri_type *type, void *data),
			       void *data)
{
	size_t module_count;
	bool *is_wanted;

	ri_modules_list(types->names.modules, &module_count);
	is_wanted = ri_calloc(module_count, sizeof(*is_wanted));
	for (size_t i = 0; i < name_count; i++) {
		const char *name = ri_unqualified_name(names[i]);
		const struct ri_name_group *group = ri_names_find(&types->names, name,
								  strlen(name));

		for (uint32_t k = group ? group->first : RI_NAMES_NONE; k != RI_NAMES_NONE;
		     k = types->names.entries.items[k].next)
			is_wanted[types->names.entries.items[k].module] = true;
	}
	each_struct(types, is_wanted, callback, data);
	free(is_wanted);
}
