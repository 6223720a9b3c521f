/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile's groups to group rules: where heads are, what their members are,
 * which words chain them.
 *
 * Link words point either at the link inside the next element (list_head,
 * rb_node) or at the element itself (BSD and ISC lists, `struct conn *next`);
 * the declared type of the next word tells which.  Where it says nothing (no
 * debug information, void *), they point at the link.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "profile/bind.h"

struct grouping {
	const struct ri_profile_group *from;
	enum ri_link_kind chain;          /* of a hash: its buckets' kind */
	const struct ri_type *head_struct; /* around the head, or null */
	const struct ri_type *head_type;  /* of the head itself, stripped, or null */
	const struct ri_type *element;    /* struct that link and back are relative to, or null */
	struct ri_group_rule *to;
};

static bool is_array_like(const struct grouping *grouping)
{
	return grouping->from->kind == RI_LINK_ARRAY || grouping->from->kind == RI_LINK_HASH;
}

/* Heads. */

static bool fail_variable(struct ri_binder *binder, const struct grouping *grouping,
			  const struct ri_type *type, const char *what)
{
	const struct ri_name *name = &grouping->from->variable;
	const struct ri_type *inner = ri_type_target(binder->types, type);
	const char *spelled = inner ? ri_type_spell(binder->types, inner) : "its struct";

	ri_bind_fail(binder, &name->mark,
		     "variable '%s' is %s: name the struct instead, head: { struct: %s, ... }",
		     name->text, what, ri_bind_bare_name(spelled));
	return false;
}

static bool offer_variable(const struct ri_variable *variable, void *data)
{
	struct ri_suggestion *suggestion = data;

	ri_suggestion_offer(suggestion, variable->name);
	return suggestion->offered < RI_SUGGEST_MAX;
}

static void fail_no_variable(struct ri_binder *binder, const struct ri_name *name)
{
	struct ri_suggestion suggestion;
	char *hint;

	ri_suggestion_init(&suggestion, name->text);
	if (ri_bind_has_names(binder))
		ri_types_each_variable(binder->types, offer_variable, &suggestion);
	hint = ri_suggestion_text(&suggestion);
	ri_bind_fail(binder, &name->mark, "no variable '%s'%s", name->text, hint);
	free(hint);
}

/* The variable that is the head or holds it; without debug information an ELF
 * symbol of that name will do where the layout is fixed or usual. */
static bool bind_variable(struct ri_binder *binder, struct grouping *grouping)
{
	const struct ri_name *name = &grouping->from->variable;
	struct ri_variable variable = { 0 };
	const struct ri_type *type;

	grouping->to->has_variable = true;
	grouping->to->variable_name = ri_bind_text(binder, name->text);
	if (!binder->types || !ri_types_find_variable(binder->types, name->text, &variable)) {
		if (binder->modules &&
		    ri_modules_find_symbol_addr(binder->modules, NULL, name->text,
						&grouping->to->variable_addr))
			return true;
		fail_no_variable(binder, name);
		return false;
	}
	grouping->to->variable_addr = variable.addr;
	type = ri_type_strip(binder->types, variable.type);
	if (!ri_bind_has_place(&grouping->from->head)) {
		grouping->head_type = type;
		return true;
	}
	if (type->kind == RI_TYPE_POINTER || type->kind == RI_TYPE_ARRAY)
		return fail_variable(binder, grouping, type,
				     type->kind == RI_TYPE_POINTER ? "a pointer" : "an array");
	if (!grouping->head_struct)
		grouping->head_struct = type;
	return true;
}

static bool find_head(struct ri_binder *binder, struct grouping *grouping)
{
	const struct ri_profile_group *from = grouping->from;
	struct ri_group_rule *to = grouping->to;
	struct ri_bound_place place;

	if (from->head_type.text) {
		grouping->head_struct = ri_bind_struct(binder, &from->head_type,
						       from->head.member.text, NULL,
						       from->head_struct_bytes != 0);
		if (!grouping->head_struct && !from->head_struct_bytes)
			return false;
		if (grouping->head_struct && from->head_struct_bytes &&
		    grouping->head_struct->size_bytes != from->head_struct_bytes)
			grouping->head_struct = NULL; /* another struct of that name */
	}
	if (from->variable.text && !bind_variable(binder, grouping))
		return false;
	if (ri_bind_has_place(&from->head)) {
		if (!ri_bind_place(binder, &from->head, grouping->head_struct, &place))
			return false;
		to->head_offset = place.offset_bytes;
		if (place.type)
			grouping->head_type = ri_type_strip(binder->types, place.type);
		if (from->head.member.text)
			to->head_member = ri_bind_text(binder, from->head.member.text);
	}
	to->head_type = grouping->head_struct;
	to->head_type_name = from->head_type.text ?
				     ri_bind_text(binder, ri_bind_bare_name(from->head_type.text)) :
			     grouping->head_struct ?
				     ri_bind_text(binder, grouping->head_struct->name) : NULL;
	to->head_struct_bytes = grouping->head_struct ? grouping->head_struct->size_bytes :
							from->head_struct_bytes;
	return true;
}

/* The slots of an array or hash: inline or behind a pointer.  *ret_slot is the
 * declared type of one, or null. */
static bool bind_slots(struct ri_binder *binder, struct grouping *grouping,
		       const struct ri_type **ret_slot)
{
	const struct ri_type *type = grouping->head_type, *slot;
	struct ri_group_rule *to = grouping->to;

	*ret_slot = NULL;
	if (!type) {
		to->head_is_pointer = true;
		return true;
	}
	if (type->kind != RI_TYPE_ARRAY && type->kind != RI_TYPE_POINTER) {
		ri_bind_fail(binder, &grouping->from->mark,
			     "the head of an array or hash is an array or a pointer to one, not %s",
			     ri_type_spell(binder->types, type));
		return false;
	}
	slot = ri_type_target(binder->types, type);
	to->head_is_pointer = type->kind == RI_TYPE_POINTER;
	to->fixed_length = to->head_is_pointer ? 0 : type->element_count;
	*ret_slot = slot ? ri_type_strip(binder->types, slot) : NULL;
	if (*ret_slot && !(*ret_slot)->size_bytes)
		*ret_slot = NULL;
	return true;
}

/* What has the head's words as members: the head's own struct, or, where the profile puts
 * the head at offset 0 and names its words, the struct that it lies in. */
static const struct ri_type *find_words_type(const struct grouping *grouping)
{
	const struct ri_profile_group *from = grouping->from;

	if (!grouping->head_type && from->head.has_offset && !from->head.offset_bytes &&
	    (from->first.member.text || from->last.member.text))
		return grouping->head_struct;
	return grouping->head_type;
}

static bool bind_head(struct ri_binder *binder, struct grouping *grouping)
{
	struct ri_group_rule *to = grouping->to;
	const struct ri_type *words_type;
	struct ri_link_words words = { .next = 0, .prev = -1, .size_bytes = 8 };
	const struct ri_profile_group *from = grouping->from;

	to->head_first_offset = to->head_last_offset = -1;
	to->is_headless = from->is_headless;
	if (!from->head_type.text && !from->variable.text && !from->head_struct_bytes)
		return true; /* headless */
	if (!find_head(binder, grouping))
		return false;
	if (!ri_bind_has_place(&from->head) && !from->variable.text)
		return true;
	words_type = find_words_type(grouping);
	if (is_array_like(grouping) && !bind_slots(binder, grouping, &words_type))
		return false;
	if (grouping->chain == RI_LINK_ARRAY)
		words.size_bytes = words_type ? words_type->size_bytes : 8;
	else if (!ri_bind_head_words(binder, from, grouping->chain, words_type, &words))
		return false;
	if (words_type && words_type == grouping->head_struct && !grouping->head_type) {
		/* The head begins at the lower of its words: other heads may lie before it. */
		to->head_offset = words.prev < 0 || words.next < words.prev ? words.next : words.prev;
		words.next -= to->head_offset;
		words.prev -= words.prev < 0 ? 0 : to->head_offset;
	}
	to->head_first_offset = words.next;
	to->head_last_offset = words.prev;
	if (is_array_like(grouping))
		to->slot_bytes = words.size_bytes;
	return true;
}

/* Elements and links. */

/* The counted type whose struct is called `name`, or RI_LAYOUT_NONE. */
static uint32_t find_counted(const struct ri_binder *binder, const char *name)
{
	const struct ri_layout *layout = binder->layout;
	const char *bare = ri_bind_bare_name(name);

	for (size_t i = 0; i < layout->types.count; i++) {
		const struct ri_counted_type *type = &layout->types.items[i];

		if (type->container == RI_LAYOUT_NONE &&
		    (!strcmp(type->name, bare) ||
		     (type->type && type->type->name && !strcmp(type->type->name, bare))))
			return (uint32_t)i;
	}
	return RI_LAYOUT_NONE;
}

static void fail_element(struct ri_binder *binder, const struct ri_name *name)
{
	struct ri_suggestion suggestion;
	char *hint;

	ri_suggestion_init(&suggestion, ri_bind_bare_name(name->text));
	for (size_t i = 0; i < binder->layout->types.count; i++)
		ri_suggestion_offer(&suggestion, binder->layout->types.items[i].name);
	for (size_t i = 0; i < binder->bound->roots.count; i++)
		ri_suggestion_offer(&suggestion, binder->bound->roots.items[i].name);
	hint = ri_suggestion_text(&suggestion);
	ri_bind_fail(binder, &name->mark, "no counted struct or header '%s'%s",
		     ri_bind_bare_name(name->text), hint);
	free(hint);
}

static const struct ri_root *sole_header(const struct ri_binder *binder)
{
	const struct ri_root *found = NULL;

	for (size_t i = binder->first_root; i < binder->end_root; i++) {
		const struct ri_root *root = &binder->bound->roots.items[i];

		if (!root->is_header)
			continue;
		if (found)
			return NULL;
		found = root;
	}
	return found;
}

/* What the group's members are: anything with a header, or one counted type. */
static bool bind_element(struct ri_binder *binder, struct grouping *grouping)
{
	const struct ri_profile_group *from = grouping->from;
	struct ri_group_rule *to = grouping->to;
	const struct ri_root *root = from->element.text ?
			ri_bind_find_root(binder, from->element.text, false) : sole_header(binder);

	to->element_convention = to->element_type = RI_LAYOUT_NONE;
	if (root && root->is_header) {
		to->element_convention = root->convention;
		grouping->element = root->type;
		return true;
	}
	if (!from->element.text) {
		ri_bind_fail(binder, &from->mark,
			     "which struct are the members? 'link: { struct: ... }' says it");
		return false;
	}
	to->element_type = root ? root->counted_type : find_counted(binder, from->element.text);
	if (to->element_type == RI_LAYOUT_NONE) {
		fail_element(binder, &from->element);
		return false;
	}
	grouping->element = binder->layout->types.items[to->element_type].type;
	return true;
}

/* Whether the next word is declared as a pointer to `type`. */
static bool leads_to(struct ri_binder *binder, const struct ri_type *next,
		     const struct ri_type *type)
{
	const struct ri_type *target;

	next = next ? ri_type_strip(binder->types, next) : NULL;
	target = next && next->kind == RI_TYPE_POINTER ? ri_type_target(binder->types, next) : NULL;
	return target && type && ri_bind_is_same(binder, target, type);
}

static void move_word(int64_t *offset, int64_t by)
{
	if (*offset >= 0)
		*offset += by;
}

/* The struct that the link lies in: the external node, else the element. */
static bool find_node(struct ri_binder *binder, struct grouping *grouping,
		      const struct ri_type **ret)
{
	const struct ri_profile_group *from = grouping->from;
	struct ri_bound_place payload;

	*ret = grouping->element;
	if (!from->node_type.text && !from->node_bytes)
		return true;
	*ret = from->node_type.text ?
		       ri_bind_struct(binder, &from->node_type, from->payload.member.text, NULL,
				      from->node_bytes != 0) : NULL;
	if ((!*ret && !from->node_bytes) ||
	    !ri_bind_place(binder, &from->payload, *ret, &payload))
		return false;
	grouping->to->node_bytes = *ret ? (*ret)->size_bytes : from->node_bytes;
	grouping->to->payload_offset = payload.offset_bytes;
	return true;
}

static bool bind_link(struct ri_binder *binder, struct grouping *grouping)
{
	const struct ri_profile_group *from = grouping->from;
	struct ri_group_rule *to = grouping->to;
	const struct ri_type *node, *link_type;
	struct ri_bound_place place = { 0 };
	struct ri_link_words words = { 0 };
	bool has_member = ri_bind_has_place(&from->link);

	to->next_offset = to->prev_offset = to->right_offset = to->parent_offset = -1;
	if (!find_node(binder, grouping, &node))
		return false;
	if (grouping->chain == RI_LINK_ARRAY)
		return true; /* slots point at the elements */
	if (has_member && !ri_bind_place(binder, &from->link, node, &place))
		return false;
	link_type = has_member ? place.type : node;
	link_type = link_type ? ri_type_strip(binder->types, link_type) : NULL;
	if (link_type && link_type->kind == RI_TYPE_POINTER) { /* `struct conn *next` itself */
		words = (struct ri_link_words){ 0, -1, -1, -1, link_type, 8 };
	} else if (!ri_bind_link_words(binder, from, grouping->chain, link_type, &words)) {
		return false;
	}
	to->link_offset = place.offset_bytes;
	to->next_offset = words.next;
	to->prev_offset = words.prev;
	to->right_offset = words.right;
	to->parent_offset = words.parent;
	if (has_member && leads_to(binder, words.next_type, node)) {
		to->link_offset = 0;
		move_word(&to->next_offset, place.offset_bytes);
		move_word(&to->prev_offset, place.offset_bytes);
		move_word(&to->right_offset, place.offset_bytes);
		move_word(&to->parent_offset, place.offset_bytes);
	}
	return true;
}

/* A counter in a variable of its own, or in one that holds it as a member. */
static void bind_count_variable(struct ri_binder *binder, const struct ri_profile_group *from,
				struct ri_group_rule *to)
{
	struct ri_profile_field field = from->count;
	struct ri_variable variable = { 0 };

	if (!binder->types ||
	    !ri_types_find_variable(binder->types, from->count_variable.text, &variable)) {
		if (!field.has_offset || !binder->modules ||
		    !ri_modules_find_symbol_addr(binder->modules, NULL, from->count_variable.text,
						 &variable.addr)) {
			fail_no_variable(binder, &from->count_variable);
			return;
		}
	}
	if (!ri_bind_has_place(&field)) {
		field.member = from->count_variable;
		field.member.text = ""; /* the variable itself */
	}
	if (ri_bind_field(binder, &field, variable.type, 0, RI_BIND_INTEGER, &to->count))
		to->count_variable_addr = variable.addr;
}

/* What a group can lack and still be walked. */
static void bind_rest(struct ri_binder *binder, const struct grouping *grouping)
{
	const struct ri_profile_group *from = grouping->from;
	const struct ri_type *around = grouping->head_struct;
	struct ri_group_rule *to = grouping->to;

	/* a variable that is the head may have more than links */
	if (!around && from->variable.text && grouping->head_type &&
	    grouping->head_type->kind == RI_TYPE_STRUCT)
		around = grouping->head_type;
	ri_bind_field(binder, &from->name_field, around, 0, RI_BIND_TEXT, &to->name_field);
	if (from->count_variable.text)
		bind_count_variable(binder, from, to);
	else
		ri_bind_field(binder, &from->count, around, 0, RI_BIND_INTEGER, &to->count);
	ri_bind_field(binder, &from->length, around, 0, RI_BIND_INTEGER, &to->length);
	ri_bind_field(binder, &from->lock_owner, around, 0, RI_BIND_INTEGER, &to->lock_owner);
	ri_bind_field(binder, &from->parent_group, around, 0, RI_BIND_POINTER, &to->parent_group);
	if (ri_bind_field(binder, &from->magic_field, around, 0, RI_BIND_INTEGER,
			  &to->magic.field)) {
		to->magic.field.is_signed = false;
		to->magic.live = ri_bind_u64s(binder, &from->magic_live);
		to->magic.live_count = from->magic_live.count;
	}
	ri_bind_field(binder, &from->back, grouping->element, 0, RI_BIND_POINTER, &to->back);
	to->back_to_head = from->back_target == RI_BACK_TO_HEAD;
	ri_bind_condition(binder, &from->rule, grouping->element, 0, &to->rule);
	to->membership = ri_bind_weight(binder, &from->membership, around);
	to->tag_mask = from->tag_mask;
	to->has_end_mark = from->has_end_mark;
	to->end_mark = from->end_mark;
}

static void bind_group(struct ri_binder *binder, const struct ri_profile_group *from)
{
	struct ri_group_rule rule = { 0 };
	struct grouping grouping = {
		.from = from,
		.chain = from->kind == RI_LINK_HASH ? from->bucket : from->kind,
		.to = &rule,
	};

	assert(grouping.chain != RI_LINK_HASH); /* the parser refuses hashes of hashes */
	rule.name = ri_bind_text(binder, from->name.text);
	rule.kind = from->kind;
	rule.bucket = from->bucket;
	rule.mark = ri_bind_mark(binder, &from->mark);
	if (!bind_head(binder, &grouping) || !bind_element(binder, &grouping) ||
	    !bind_link(binder, &grouping))
		return;
	bind_rest(binder, &grouping);
	*ri_push(&binder->layout->groups) = rule;
}

void ri_bind_groups(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->groups.count; i++)
		bind_group(binder, &binder->profile->groups.items[i]);
}
