/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was inferred as a profile.  It is written as YAML and parsed back, so that
 * what is in force is by construction what `profile` prints and a person may edit.
 *
 * Words that chain a type's free objects to one another are written down as possible
 * holders: what their counts were left at tells nothing of what the chain holds.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/infer_groups.h"
#include "profile/infer_links.h"
#include "profile/infer_private.h"

#define POSSIBLE_MAX 4000
#define GROUPS_MAX   1000

/* A text that grows; always ended. */
struct text {
	char *items;
	size_t count, capacity;
};

struct writing {
	struct text *out;
	size_t count;            /* of possible classes */
	size_t left_out;         /* of these, for want of room */
};

static void put(struct text *out, const char *more)
{
	size_t length = strlen(more);

	out->items = ri_grow(out->items, &out->capacity, out->count + length + 1, 1);
	memcpy(out->items + out->count, more, length + 1);
	out->count += length;
}

static void put_char(struct text *out, char c)
{
	const char more[] = { c, '\0' };

	put(out, more);
}

bool ri_inferred_is_in_force(const struct ri_inferred_type *type, bool is_all)
{
	return type->state == RI_INFERRED_ACCEPTED ||
	       (is_all && type->state == RI_INFERRED_POSSIBLE);
}

size_t ri_inference_beyond(const struct ri_inference *inference, bool is_all)
{
	size_t counts[2] = { 0 }, beyond = 0; /* of types, of headers */

	for (size_t i = 0; i < inference->types.count; i++)
		counts[inference->types.items[i].is_header] +=
			ri_inferred_is_in_force(&inference->types.items[i], is_all);
	for (size_t i = 0; i < 2; i++)
		if (counts[i] > RI_INFERRED_TYPES_MAX)
			beyond += counts[i] - RI_INFERRED_TYPES_MAX;
	return beyond;
}

bool ri_convention_is_inferred(const struct ri_convention *convention)
{
	return convention->mark.file && !strcmp(convention->mark.file, RI_INFERRED_FILE);
}

/* Names hold printable characters alone: the scan sees to that. */
static void put_quoted(struct text *out, const char *text)
{
	put_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			put_char(out, '\\');
		put_char(out, *text);
	}
	put_char(out, '"');
}

/* A module's name as a shell pattern that means it alone. */
static void put_module(struct text *out, const char *module)
{
	put(out, "\n  module: \"");
	for (; *module; module++) {
		if (strchr("*?[\\", *module))
			put(out, "\\\\");
		if (*module == '"')
			put_char(out, '\\');
		put_char(out, *module);
	}
	put_char(out, '"');
}

static void put_type(struct text *out, const struct ri_inferred_type *type)
{
	int least = type->counts[0].score >= RI_INFER_ACCEPT ? RI_INFER_ACCEPT : RI_INFER_POSSIBLE;

	put(out, "- struct: ");
	put_quoted(out, type->name);
	if (type->needs_module)
		put_module(out, type->module);
	put(out, "\n  counts:");
	for (size_t i = 0; i < type->count_count; i++) {
		const struct ri_inferred_count *count = &type->counts[i];

		if (count->score < least || (i && least < RI_INFER_ACCEPT))
			continue;
		put(out, "\n  - { member: ");
		put_quoted(out, count->path);
		if (count->bias)
			put(out, count->bias > 0 ? ", bias: 1" : ", bias: -1");
		put(out, count->is_negative ? ", negative: true }" : " }");
	}
	put_char(out, '\n');
}

static void put_types(struct text *out, const struct ri_inference *inference, bool is_header, bool is_all)
{
	size_t written = 0;

	for (size_t i = 0; i < inference->types.count && written < RI_INFERRED_TYPES_MAX; i++) {
		const struct ri_inferred_type *type = &inference->types.items[i];

		if (type->is_header != is_header || !ri_inferred_is_in_force(type, is_all))
			continue;
		if (!written++)
			put(out, is_header ? "headers:\n" : "types:\n");
		put_type(out, type);
	}
}

static void put_possible(const char *class_name, void *data)
{
	struct writing *writing = data;

	for (const char *p = class_name; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e || strchr("*?\\", *p))
			return; /* would not mean itself in a pattern */
	if (writing->count >= POSSIBLE_MAX) {
		writing->left_out++;
		return;
	}
	put(writing->out, writing->count++ ? ",\n  " : "possible: [\n  ");
	put_quoted(writing->out, class_name);
}

/*
 * What chains free objects.  Other links are words like any, whose worth the counts tell;
 * what the counts of free objects were left at would pass for what such a chain holds.
 */
static bool is_free_chain(const struct ri_shape_link *link)
{
	static const char *const words[] = { "free", "freed", "freelist", "avail", "unused" };
	struct ri_tokens tokens;

	ri_tokens_split(link->path, &tokens);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_tokens_have(&tokens, words[i]))
			return true;
	return false;
}

/* Those of the types that put_types() writes; returns how many classes had no room. */
static size_t put_links(struct text *out, const struct ri_inference *inference,
			struct ri_types *types, bool is_all)
{
	struct writing writing = { .out = out };
	struct ri_strings *strings = ri_strings_create();
	size_t written[2] = { 0 }; /* of types, of headers */

	for (size_t i = 0; i < inference->types.count; i++) {
		const struct ri_inferred_type *type = &inference->types.items[i];
		ri_shape_link_list links = { 0 };

		if (!ri_inferred_is_in_force(type, is_all) ||
		    written[type->is_header]++ >= RI_INFERRED_TYPES_MAX)
			continue;
		ri_shape_links(types, type->type, strings, &links);
		for (size_t k = 0; k < links.count; k++)
			if (is_free_chain(&links.items[k]))
				ri_shape_link_classes(types, type->name, &links.items[k], put_possible,
						      &writing);
		ri_vec_deinit(&links);
	}
	if (writing.count)
		put(out, " ]\n");
	ri_strings_destroy(strings);
	return writing.left_out;
}

size_t ri_inference_links_beyond(const struct ri_inference *inference, struct ri_types *types,
				 bool is_all)
{
	struct text text = { 0 };
	size_t beyond = put_links(&text, inference, types, is_all);

	free(text.items);
	return beyond;
}

static void put_key(struct text *out, const char *key, const char *value)
{
	if (!value)
		return;
	put(out, key);
	put_quoted(out, value);
}

/* Names may hold what a line of YAML cannot: such a group is left out. */
static bool is_writable(const struct ri_inferred_group *group)
{
	const char *const texts[] = { group->variable, group->head_struct, group->head_member,
				      group->first, group->last, group->element, group->link,
				      group->next, group->prev, group->right, group->parent,
				      group->node, group->payload,
				      group->count };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (const char *p = texts[i]; p && *p; p++)
			if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
				return false;
	return group->state == RI_GROUP_ACCEPTED;
}

static void put_group(struct text *out, const struct ri_inferred_group *group)
{
	static const char *const kinds[] = {
		[RI_LINK_LIST] = "list", [RI_LINK_HLIST] = "hlist", [RI_LINK_SLIST] = "slist",
		[RI_LINK_DLIST] = "dlist", [RI_LINK_TAILQ] = "tailq", [RI_LINK_TREE] = "tree",
		[RI_LINK_ARRAY] = "array", [RI_LINK_HASH] = "hash",
	};

	put(out, "- kind: ");
	put(out, group->is_hash ? "hash" : kinds[group->kind]);
	put_key(out, "\n  bucket: ", group->is_hash ? kinds[group->kind] : NULL);
	put(out, "\n  head: { ");
	put_key(out, "variable: ", group->variable);
	put_key(out, "struct: ", group->head_struct);
	put_key(out, ", member: ", group->head_member);
	put_key(out, ", first: ", group->first);
	put_key(out, ", last: ", group->last);
	put(out, " }\n  link: { struct: ");
	put_quoted(out, group->element);
	put_key(out, ", member: ", group->link && *group->link ? group->link : NULL);
	put_key(out, group->kind == RI_LINK_TREE ? ", left: " : ", next: ", group->next);
	put_key(out, ", prev: ", group->prev);
	put_key(out, ", right: ", group->right);
	put_key(out, ", parent: ", group->parent);
	put(out, " }");
	if (group->node) {
		put_key(out, "\n  node: { struct: ", group->node);
		put_key(out, ", payload: ", group->payload);
		put(out, " }");
	}
	put_key(out, "\n  count: ", group->count);
	put(out, "\n");
}

static void put_groups(struct text *out, const struct ri_inferred_groups *groups)
{
	size_t written = 0;

	for (size_t i = 0; groups && i < groups->items.count && written < GROUPS_MAX; i++) {
		if (!is_writable(&groups->items.items[i]))
			continue;
		if (!written++)
			put(out, "groups:\n");
		put_group(out, &groups->items.items[i]);
	}
}

struct ri_error *ri_inference_profile(const struct ri_inference *inference,
				      struct ri_types *types,
				      const struct ri_infer_options *options,
				      const struct ri_inferred_groups *groups,
				      struct ri_profile **ret)
{
	struct ri_error *error;
	bool is_any = false;
	struct text text = { 0 };
	struct text *out = &text;

	*ret = NULL;
	for (size_t i = 0; i < inference->types.count && !is_any; i++)
		is_any = ri_inferred_is_in_force(&inference->types.items[i], options->is_all);
	if (!is_any)
		return NULL;
	put(out, "version: 1\nname: inferred\nabout: counted types found by their shape\n"
	      "always: true\n");
	put_types(out, inference, true, options->is_all);
	put_types(out, inference, false, options->is_all);
	put_groups(out, groups);
	put_links(out, inference, types, options->is_all);
	error = ri_profile_parse(RI_INFERRED_FILE, text.items, text.count, ret);
	free(text.items);
	return error;
}

size_t ri_inference_find(const struct ri_inference *inference, const struct ri_layout *layout,
			 const struct ri_counted_type *type)
{
	const struct ri_convention *convention = &layout->conventions.items[type->convention];
	uint32_t found;

	if (!ri_convention_is_inferred(convention) || !convention->type)
		return SIZE_MAX;
	found = convention->type->name ? inference->slots[ri_inference_slot(inference,
									    convention->type)] : 0;
	return found ? found - 1 : SIZE_MAX;
}
