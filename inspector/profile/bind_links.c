/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of links and heads: by the profile's names, else by the names that
 * each kind of list usually has, else (no debug information) by the order in
 * which such structs usually have them.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/bind.h"

#define NAMES_MAX 6

/* One word of a link or head: usual names, and usual offset; -1: it has none. */
struct usual_word {
	int offset;
	bool is_needed;
	const char *names[NAMES_MAX];
};

struct usual_link {
	struct usual_word next, prev, right, parent; /* TREE: next is left */
	uint64_t size_bytes;
};

static const struct usual_link usual_links[] = {
	[RI_LINK_LIST] = {
		.next = { 0, true, { "next" } },
		.prev = { 8, true, { "prev", "previous" } },
		.right = { -1, false, { NULL } }, .parent = { -1, false, { NULL } },
		.size_bytes = 16,
	},
	[RI_LINK_HLIST] = {
		.next = { 0, true, { "next", "le_next" } },
		.prev = { 8, true, { "pprev", "le_prev" } },
		.right = { -1, false, { NULL } }, .parent = { -1, false, { NULL } },
		.size_bytes = 16,
	},
	[RI_LINK_SLIST] = {
		.next = { 0, true, { "next", "sle_next", "stqe_next" } },
		.prev = { -1, false, { NULL } },
		.right = { -1, false, { NULL } }, .parent = { -1, false, { NULL } },
		.size_bytes = 8,
	},
	[RI_LINK_DLIST] = {
		.next = { 0, true, { "next" } },
		.prev = { 8, true, { "prev", "previous" } },
		.right = { -1, false, { NULL } }, .parent = { -1, false, { NULL } },
		.size_bytes = 16,
	},
	[RI_LINK_TAILQ] = {
		.next = { 0, true, { "tqe_next", "next" } },
		.prev = { 8, true, { "tqe_prev", "prev" } },
		.right = { -1, false, { NULL } }, .parent = { -1, false, { NULL } },
		.size_bytes = 16,
	},
	[RI_LINK_TREE] = { /* offsets as in the Linux kernel's rb_node */
		.next = { 16, true, { "rb_left", "rbe_left", "left" } },
		.prev = { -1, false, { NULL } },
		.right = { 8, true, { "rb_right", "rbe_right", "right" } },
		.parent = { 0, false,
			    { "__rb_parent_color", "rb_parent_color", "rbe_parent", "parent" } },
		.size_bytes = 24,
	},
};

static const struct usual_link usual_heads[] = {
	[RI_LINK_LIST] = {
		.next = { 0, true, { "next" } },
		.prev = { 8, true, { "prev", "previous" } }, .size_bytes = 16,
	},
	[RI_LINK_HLIST] = {
		.next = { 0, true, { "first", "lh_first" } },
		.prev = { -1, false, { NULL } }, .size_bytes = 8,
	},
	[RI_LINK_SLIST] = {
		.next = { 0, true, { "first", "slh_first", "stqh_first", "head" } },
		.prev = { -1, false, { "last", "stqh_last", "tail" } }, .size_bytes = 8,
	},
	[RI_LINK_DLIST] = {
		.next = { 0, true, { "first", "head" } },
		.prev = { 8, false, { "last", "tail" } }, .size_bytes = 16,
	},
	[RI_LINK_TAILQ] = {
		.next = { 0, true, { "tqh_first", "first" } },
		.prev = { 8, true, { "tqh_last", "last" } }, .size_bytes = 16,
	},
	[RI_LINK_TREE] = {
		.next = { 0, true, { "rb_node", "rbh_root", "root" } },
		.prev = { -1, false, { NULL } }, .size_bytes = 8,
	},
};

/* One word being bound. */
struct word {
	const struct ri_profile_field *field; /* the profile's, or null: it has no key */
	const char *key;
	const struct usual_word *usual;
	int64_t *ret;
	const struct ri_type **ret_type;      /* or null */
};

static bool try_names(struct ri_binder *binder, const struct word *word,
		      const struct ri_type *type, struct ri_bound_place *ret)
{
	for (size_t i = 0; i < NAMES_MAX && word->usual->names[i]; i++) {
		struct ri_place place;
		struct ri_error *error = ri_type_resolve_path(binder->types, type,
							      word->usual->names[i], &place);

		if (!error) {
			ret->offset_bytes = (int64_t)place.offset_bytes;
			ret->type = place.type;
			return true;
		}
		ri_error_destroy(error);
	}
	return false;
}

static bool bind_word(struct ri_binder *binder, const struct ri_profile_group *group,
		      const struct word *word, const struct ri_type *type, const char *what)
{
	struct ri_bound_place place = { .offset_bytes = word->usual->offset };

	*word->ret = -1;
	if (word->field && ri_bind_has_place(word->field)) {
		if (!ri_bind_place(binder, word->field, type, &place))
			return false;
	} else if (type && !try_names(binder, word, type, &place)) {
		if (!word->usual->is_needed)
			return true;
		ri_bind_fail(binder, ri_bind_has_place(&group->link) ? &group->link.mark :
								       &group->mark,
			     "%s has no '%s' to be the %s's; '%s:' says which member it is",
			     ri_type_spell(binder->types, type), word->usual->names[0], what,
			     word->key);
		return false;
	}
	*word->ret = place.offset_bytes;
	if (word->ret_type)
		*word->ret_type = place.type;
	return true;
}

bool ri_bind_link_words(struct ri_binder *binder, const struct ri_profile_group *group,
			enum ri_link_kind kind, const struct ri_type *link_type,
			struct ri_link_words *ret)
{
	const struct usual_link *usual = &usual_links[kind];
	bool is_tree = kind == RI_LINK_TREE;
	const struct word words[] = {
		{ is_tree ? &group->left : &group->next, is_tree ? "left" : "next", &usual->next,
		  &ret->next, &ret->next_type },
		{ &group->prev, "prev", &usual->prev, &ret->prev, NULL },
		{ &group->right, "right", &usual->right, &ret->right, NULL },
		{ &group->parent, "parent", &usual->parent, &ret->parent, NULL },
	};

	*ret = (struct ri_link_words){ .size_bytes = link_type ? link_type->size_bytes :
								 usual->size_bytes };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!bind_word(binder, group, &words[i], link_type, "link"))
			return false;
	return true;
}

bool ri_bind_head_words(struct ri_binder *binder, const struct ri_profile_group *group,
			enum ri_link_kind kind, const struct ri_type *head_type,
			struct ri_link_words *ret)
{
	const struct usual_link *usual = &usual_heads[kind];
	const struct word words[] = {
		{ &group->first, "first", &usual->next, &ret->next, &ret->next_type },
		{ &group->last, "last", &usual->prev, &ret->prev, NULL },
	};

	*ret = (struct ri_link_words){ .right = -1, .parent = -1,
				       .size_bytes = head_type ? head_type->size_bytes :
								 usual->size_bytes };
	if (head_type && head_type->kind == RI_TYPE_POINTER) { /* `struct conn *first` */
		ret->prev = -1;
		return true;
	}
	for (size_t i = 0; i < 2; i++)
		if (!bind_word(binder, group, &words[i], head_type, "head"))
			return false;
	return true;
}
