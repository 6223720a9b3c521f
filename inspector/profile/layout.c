/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Profiles to a layout: which apply, in what order they are bound, and the
 * questions that rules of ownership answer.  How names are bound is in the
 * bind_*.c files.
 *
 * Built-in profiles are bound first and the user's after them, so that of
 * ownership rules, where the last match wins, the user's win; a struct that the
 * user's profile declares is left out of the built-in ones.  Headers and types
 * of all profiles come before the one search for structs that embed them, and
 * groups after it, because a group may name any counted struct.
 */
#include "profile/layout.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "profile/bind.h"

/* The roots of one profile that applies. */
struct applied {
	const struct ri_profile *profile;
	bool is_user;
	size_t first_root, end_root;
};

struct applied_list {
	struct applied *items;
	size_t count, capacity;
};

static void enter(struct ri_binder *binder, const struct applied *applied)
{
	binder->profile = applied->profile;
	binder->is_user = applied->is_user;
	binder->first_root = applied->first_root;
	binder->end_root = applied->end_root;
}

static bool is_found(const struct ri_type *type, void *data)
{
	*(bool *)data = true;
	return !type;
}

static bool has_struct(struct ri_binder *binder, const struct ri_name *name, bool may_lack)
{
	bool found = false;

	if (!ri_types_is_generic(name->text))
		return ri_bind_struct(binder, name, NULL, NULL, may_lack);
	if (binder->types)
		ri_types_each_instance(binder->types, name->text, is_found, &found);
	if (!found && !may_lack)
		ri_bind_fail(binder, &name->mark, "no instance of '%s'", name->text);
	return found;
}

/* Whether the profile applies to this target.  One that the user named says so
 * when it does not. */
static bool is_in_force(struct ri_binder *binder)
{
	const struct ri_profile *profile = binder->profile;
	const ri_name_list *all = &profile->requires_types, *any = &profile->requires_any;
	bool has_any = !any->count;

	if (profile->is_always)
		return true;
	for (size_t i = 0; i < all->count; i++)
		if (!has_struct(binder, &all->items[i], !binder->is_user))
			return false;
	for (size_t i = 0; i < any->count && !has_any; i++)
		has_any = has_struct(binder, &any->items[i], !binder->is_user || i + 1 < any->count);
	return has_any && (binder->is_user || all->count || any->count);
}

static void tell_ledger(struct ri_binder *binder)
{
	const struct ri_mark *mark = &binder->profile->ledger;

	if (mark->line)
		ri_gaps_add(binder->gaps, RI_GAP_TOLD, "profile",
			    "%s:%u:%u: 'ledger' is reserved; nothing is read from it yet",
			    mark->file, mark->line, mark->column);
}

static void bind_owners(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->owners.count; i++) {
		const struct ri_profile_owner *from = &binder->profile->owners.items[i];
		struct ri_owner_rule *rule = ri_push(&binder->layout->owners);

		rule->pattern = ri_bind_text(binder, from->pattern.text);
		rule->weight = ri_bind_weight(binder, &from->weight, NULL);
		rule->mark = ri_bind_mark(binder, &from->pattern.mark);
	}
}

static void bind_encodings(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->encodings.count; i++) {
		const struct ri_profile_encoding *from = &binder->profile->encodings.items[i];
		struct ri_encoding *encoding = ri_push(&binder->layout->encodings);

		encoding->pattern = ri_bind_text(binder, from->pattern.text);
		encoding->mask = from->mask;
		encoding->xor_value = from->xor_value;
		encoding->shift = from->shift;
		encoding->add = from->add;
	}
}

/* The user's roots must be known before a built-in profile's types are bound: they
 * override.  So types are bound user first; all else built-in first. */
static void bind_all_types(struct ri_binder *binder, struct applied_list *list)
{
	for (int is_user = 1; is_user >= 0; is_user--)
		for (size_t i = 0; i < list->count; i++) {
			struct applied *applied = &list->items[i];

			if (applied->is_user != (is_user != 0))
				continue;
			enter(binder, applied);
			binder->first_root = binder->end_root = binder->bound->roots.count;
			ri_bind_types(binder);
			applied->first_root = binder->first_root;
			applied->end_root = binder->end_root;
		}
}

static void bind_arrays(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->arrays.count; i++) {
		const struct ri_profile_array *from = &binder->profile->arrays.items[i];
		struct ri_array_rule rule = { 0 };
		struct ri_bound_place place;

		rule.type = ri_bind_struct(binder, &from->type, from->pointer.member.text, NULL,
					   false);
		if (!rule.type || !ri_bind_place(binder, &from->pointer, rule.type, &place) ||
		    place.offset_bytes < 0 ||
		    !ri_bind_field(binder, &from->length, rule.type, 0, RI_BIND_INTEGER,
				   &rule.length))
			continue;
		rule.offset_bytes = (uint64_t)place.offset_bytes;
		*ri_push(&binder->layout->arrays) = rule;
	}
}

static void bind_unused(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->unused.count; i++) {
		const struct ri_profile_unused *from = &binder->profile->unused.items[i];
		struct ri_unused_rule rule = { 0 };

		rule.type = ri_bind_struct(binder, &from->type, from->from.member.text, NULL,
					   false);
		if (rule.type &&
		    ri_bind_field(binder, &from->from, rule.type, 0, RI_BIND_POINTER, &rule.from) &&
		    ri_bind_field(binder, &from->to, rule.type, 0, RI_BIND_POINTER, &rule.to))
			*ri_push(&binder->layout->unused) = rule;
	}
	for (size_t i = 0; i < binder->profile->uncounted.count; i++) {
		const struct ri_type *type = ri_bind_struct(
			binder, &binder->profile->uncounted.items[i], NULL, NULL, true);

		if (type)
			*ri_push(&binder->layout->uncounted) = type;
	}
}

static void bind_all_rules(struct ri_binder *binder, const struct applied_list *list)
{
	for (int is_user = 0; is_user <= 1; is_user++)
		for (size_t i = 0; i < list->count; i++) {
			if (list->items[i].is_user != (is_user != 0))
				continue;
			enter(binder, &list->items[i]);
			ri_bind_groups(binder);
			bind_owners(binder);
			bind_encodings(binder);
			bind_arrays(binder);
			bind_unused(binder);
			tell_ledger(binder);
		}
}

/* Whether a pattern matches itself alone; most do, and there may be thousands. */
static bool is_literal(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '[' && p[1] == ']')
			p++;
		else if (strchr("*?[\\", *p))
			return false;
	}
	return true;
}

/* The slot of a pattern without wildcards: empty, or that of the last rule that has it. */
static uint32_t *owner_slot(const struct ri_layout *layout, const char *pattern)
{
	size_t mask = layout->owner_slots.count - 1;
	size_t i = ri_hash_bytes(pattern, strlen(pattern)) & mask;

	for (; layout->owner_slots.items[i]; i = (i + 1) & mask) {
		uint32_t rule = layout->owner_slots.items[i] - 1;

		if (!strcmp(layout->owners.items[rule].pattern, pattern))
			break;
	}
	return &layout->owner_slots.items[i];
}

static void index_owners(struct ri_layout *layout)
{
	size_t slot_count = 16;

	while (slot_count < 2 * (layout->owners.count + 1))
		slot_count *= 2;
	for (size_t i = 0; i < slot_count; i++)
		*ri_push(&layout->owner_slots) = 0;
	for (size_t i = 0; i < layout->owners.count; i++) {
		const char *pattern = layout->owners.items[i].pattern;

		if (is_literal(pattern))
			*owner_slot(layout, pattern) = (uint32_t)i + 1;
		else
			*ri_push(&layout->owner_wildcards) = (uint32_t)i;
	}
}

struct ri_layout *ri_layout_create(const struct ri_profile *const *profiles, const bool *is_user,
				   size_t profile_count, struct ri_types *types,
				   const struct ri_modules *modules, struct ri_gaps *gaps)
{
	struct ri_bound *bound = ri_calloc(1, sizeof(*bound));
	struct ri_layout *layout = &bound->layout;
	struct ri_binder binder = {
		.bound = bound, .layout = layout, .types = types, .modules = modules, .gaps = gaps,
	};
	struct applied_list list = { 0 };

	layout->strings = ri_strings_create();
	for (size_t i = 0; i < profile_count; i++) {
		const struct applied applied = { .profile = profiles[i], .is_user = is_user[i] };

		enter(&binder, &applied);
		if (!is_in_force(&binder))
			continue;
		*ri_push(&list) = applied;
		*ri_push(&layout->in_force) = ri_bind_text(&binder, profiles[i]->name.text);
	}
	bind_all_types(&binder, &list);
	ri_bind_embeddings(&binder);
	bind_all_rules(&binder, &list);
	index_owners(layout);
	ri_vec_deinit(&list);
	return layout;
}

void ri_layout_destroy(struct ri_layout *layout)
{
	struct ri_bound *bound = (struct ri_bound *)layout;

	if (!layout)
		return;
	for (size_t i = 0; i < bound->owned.count; i++)
		free(bound->owned.items[i]);
	ri_vec_deinit(&bound->owned);
	ri_vec_deinit(&bound->roots);
	ri_vec_deinit(&layout->conventions);
	ri_vec_deinit(&layout->types);
	ri_vec_deinit(&layout->groups);
	ri_vec_deinit(&layout->owners);
	ri_vec_deinit(&layout->owner_slots);
	ri_vec_deinit(&layout->owner_wildcards);
	ri_vec_deinit(&layout->encodings);
	ri_vec_deinit(&layout->arrays);
	ri_vec_deinit(&layout->unused);
	ri_vec_deinit(&layout->uncounted);
	ri_vec_deinit(&layout->unbound);
	ri_vec_deinit(&layout->in_force);
	ri_strings_destroy(layout->strings);
	free(bound);
}

bool ri_pattern_matches(const char *pattern, const char *class_name)
{
	char *escaped, *to;
	bool matches;

	if (is_literal(pattern))
		return !strcmp(pattern, class_name);
	escaped = to = ri_malloc(2 * strlen(pattern) + 1);
	for (const char *from = pattern; *from; from++) {
		if (from[0] == '[' && from[1] == ']') {
			memcpy(to, "\\[\\]", 4); /* fnmatch would look for a later ']' */
			to += 4;
			from++;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	matches = !fnmatch(escaped, class_name, 0);
	free(escaped);
	return matches;
}

/* The index + 1 of the last rule that matches; 0: none. */
static size_t find_owner_rule(const struct ri_layout *layout, const char *class_name)
{
	size_t found;

	if (!layout->owner_slots.count) {
		for (size_t i = layout->owners.count; i > 0; i--)
			if (ri_pattern_matches(layout->owners.items[i - 1].pattern, class_name))
				return i;
		return 0;
	}
	found = *owner_slot(layout, class_name);
	for (size_t i = layout->owner_wildcards.count; i-- > 0;) {
		uint32_t rule = layout->owner_wildcards.items[i];

		if (rule < found)
			break;
		if (ri_pattern_matches(layout->owners.items[rule].pattern, class_name))
			return rule + 1;
	}
	return found;
}

struct ri_weight ri_layout_weight(const struct ri_layout *layout, const char *class_name)
{
	size_t found = find_owner_rule(layout, class_name);

	return found ? layout->owners.items[found - 1].weight
		     : (struct ri_weight){ .kind = RI_WEIGHT_NONE };
}
