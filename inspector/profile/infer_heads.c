/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links and heads by the pointers that structs are made of: see infer_groups.h.  Names tell only
 * which of two like pointers is the next one; where they do not, the first.  What the
 * pointers of a candidate lead to in memory is looked at elsewhere.
 *
 * Blind spots: pointers to elements that stand in a struct by themselves (`struct conn *first`
 * beside other members), nodes apart from what they chain, trees, void pointers.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/infer_groups.h"
#include "profile/infer_links.h"
#include "profile/infer_private.h"

#define LINKS_MAX      2000
#define DEPTH_MAX      4
#define PATH_MAX_BYTES 256
#define HEAD_BYTES_MAX 40

/* The pointers of a small struct: to `node`, and to such a pointer. */
struct pointers {
	const struct ri_member *own[2], *to_own;
	unsigned own_count, to_own_count, others, words;
};

static const struct ri_type *below(struct ri_types *types, const struct ri_type *type)
{
	const struct ri_type *target;

	type = type ? ri_type_strip(types, type) : NULL;
	if (!type || type->kind != RI_TYPE_POINTER)
		return NULL;
	target = ri_type_target(types, type);
	return target ? ri_type_strip(types, target) : NULL;
}

static bool is_one(const struct ri_type *a, const struct ri_type *b)
{
	return a && b && (a == b || ri_structs_are_one(a, b));
}

static struct pointers sort_pointers(struct ri_types *types, const struct ri_type *type,
				     const struct ri_type *node)
{
	struct pointers p = { 0 };

	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *target = below(types, member->type);

		if (!target)
			p.words += ri_type_strip(types, member->type)->size_bytes > 0;
		else if (member->name && is_one(target, node)) {
			if (p.own_count < 2)
				p.own[p.own_count] = member;
			p.own_count++;
		} else if (member->name && is_one(below(types, target), node)) {
			p.to_own = member;
			p.to_own_count++;
		} else
			p.others++;
	}
	return p;
}

static bool has_word(const char *name, const char *const *words)
{
	struct ri_tokens tokens;

	ri_tokens_split(name, &tokens);
	for (; *words; words++)
		if (ri_tokens_have(&tokens, *words))
			return true;
	return false;
}

/* Puts the one that its name says is the later one last. */
static void put_in_order(struct pointers *p)
{
	static const char *const later[] = { "prev", "previous", "last", "tail", "back", "pred",
					     "bwd", "blink", NULL };
	const struct ri_member *first = p->own[0];

	if (p->own_count != 2 || !has_word(first->name, later) || has_word(p->own[1]->name, later))
		return;
	p->own[0] = p->own[1];
	p->own[1] = first;
}

/*
 * Links
 */

struct collecting {
	struct ri_types *types;
	struct ri_strings *strings;
	ri_chain_link_list *list;
	uint32_t type;
	const struct ri_type *element;
};

static void add_link(struct collecting *c, const struct ri_shape_link *shape, const char *prefix,
		     uint64_t base)
{
	bool is_self = shape->kind == RI_SHAPE_LIST || shape->kind == RI_SHAPE_HLIST;
	const struct ri_type *node = is_self ? shape->node : c->element;
	struct pointers p = sort_pointers(c->types, shape->node, node);
	struct ri_chain_link *link;
	const struct ri_member *prev;

	if (c->list->count >= LINKS_MAX || p.others || p.words || !p.own_count || p.own_count > 2 ||
	    p.own_count + p.to_own_count > 2)
		return;
	put_in_order(&p);
	prev = p.to_own ? p.to_own : p.own_count == 2 ? p.own[1] : NULL;
	link = ri_push(c->list);
	link->type = c->type;
	link->kind = shape->kind == RI_SHAPE_LIST ? RI_LINK_LIST :
		     p.to_own			  ? RI_LINK_HLIST :
		     prev			  ? RI_LINK_DLIST : RI_LINK_SLIST;
	link->path = ri_strings_format(c->strings, "%s%s%s", prefix, *prefix ? "." : "",
				       shape->path);
	link->node = node;
	link->is_at_element = !is_self;
	link->link_offset = base + shape->offset_bytes;
	link->next_offset = (int64_t)(p.own[0]->offset_bits / 8);
	link->prev_offset = prev ? (int64_t)(prev->offset_bits / 8) : -1;
	link->next = ri_strings_add(c->strings, p.own[0]->name);
	link->prev = prev ? ri_strings_add(c->strings, prev->name) : NULL;
}

static void collect(struct collecting *c, const struct ri_type *type, const char *prefix,
		    uint64_t base, unsigned depth)
{
	ri_shape_link_list links = { 0 };

	ri_shape_links(c->types, type, c->strings, &links);
	for (size_t i = 0; i < links.count; i++) {
		const struct ri_shape_link *link = &links.items[i];

		if (link->kind == RI_SHAPE_LIST || link->kind == RI_SHAPE_HLIST ||
		    (!depth && (link->kind == RI_SHAPE_TAILQ || link->kind == RI_SHAPE_STAILQ)))
			add_link(c, link, prefix, base);
	}
	ri_vec_deinit(&links);
	for (size_t i = 0; i < type->member_count && depth < DEPTH_MAX; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *inner = ri_type_strip(c->types, member->type);
		enum ri_shape_link_kind kind;
		char path[PATH_MAX_BYTES];

		if (!member->name || inner->kind != RI_TYPE_STRUCT || !inner->name ||
		    ri_shape_node_kind(c->types, inner, &kind) ||
		    strlen(prefix) + strlen(member->name) + 2 > sizeof(path))
			continue;
		strcpy(stpcpy(stpcpy(path, prefix), *prefix ? "." : ""), member->name);
		collect(c, inner, path, base + member->offset_bits / 8, depth + 1);
	}
}

/* Whether the profile's notation can say which type is meant. */
static bool is_alone(const struct ri_layout *layout, uint32_t index)
{
	const struct ri_counted_type *type = &layout->types.items[index];

	for (uint32_t i = 0; i < layout->types.count; i++)
		if (i != index && layout->types.items[i].type && layout->types.items[i].type->name &&
		    !strcmp(layout->types.items[i].type->name, type->type->name))
			return false;
	return true;
}

void ri_chain_links(const struct ri_layout *layout, struct ri_types *types,
		    struct ri_strings *strings, ri_chain_link_list *list)
{
	for (uint32_t i = 0; i < layout->types.count; i++) {
		const struct ri_counted_type *type = &layout->types.items[i];
		const struct ri_convention *convention =
			&layout->conventions.items[type->convention];
		struct collecting c = { types, strings, list, i, type->type };
		size_t before = list->count;

		if (type->container != RI_LAYOUT_NONE || !type->type || !type->type->name ||
		    !convention->mark.file || strcmp(convention->mark.file, RI_INFERRED_FILE))
			continue;
		collect(&c, type->type, "", 0, 0);
		if (list->count > before && !is_alone(layout, i))
			list->count = before;
	}
}

/*
 * Heads
 */

bool ri_head_shape_of(struct ri_types *types, const struct ri_type *type,
		      const struct ri_chain_link *link, struct ri_head_shape *ret)
{
	struct pointers p;

	if (type->kind != RI_TYPE_STRUCT || type->size_bytes > HEAD_BYTES_MAX)
		return false;
	*ret = (struct ri_head_shape){ .kind = link->kind, .node = link->node,
				       .first_offset = link->next_offset, .last_offset = -1,
				       .first = link->next };
	if (link->kind == RI_LINK_LIST) {
		ret->last_offset = link->prev_offset;
		ret->last = link->prev;
		return is_one(type, link->node);
	}
	if (is_one(type, link->node))
		return false;
	p = sort_pointers(types, type, link->node);
	if (p.others || p.own_count < 1 || p.own_count + p.to_own_count > 2)
		return false;
	put_in_order(&p);
	ret->first_offset = (int64_t)(p.own[0]->offset_bits / 8);
	ret->first = p.own[0]->name;
	if (p.own_count == 2) {
		ret->last_offset = (int64_t)(p.own[1]->offset_bits / 8);
		ret->last = p.own[1]->name;
		return link->kind == RI_LINK_DLIST;
	}
	if (p.to_own) {
		ret->kind = link->kind == RI_LINK_HLIST ? RI_LINK_TAILQ : RI_LINK_SLIST;
		ret->last_offset = (int64_t)(p.to_own->offset_bits / 8);
		ret->last = p.to_own->name;
	}
	return p.to_own ? link->kind != RI_LINK_DLIST && link->is_at_element : true;
}

/*
 * Results
 */

void ri_inferred_groups_destroy(struct ri_inferred_groups *groups)
{
	if (!groups)
		return;
	ri_vec_deinit(&groups->items);
	ri_strings_destroy(groups->strings);
	free(groups);
}

bool ri_group_is_inferred(const struct ri_group_rule *rule)
{
	return rule->mark.file && !strcmp(rule->mark.file, RI_INFERRED_FILE);
}
