/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links and heads by the pointers that structs are made of: see infer_groups.h.  Names tell only
 * which of two like pointers is the next one; where they do not, the first.  What the
 * pointers of a candidate lead to in memory is looked at elsewhere.
 *
 * Blind spots: chains without a link back whose head is a plain pointer, nodes apart that know
 * the next one alone, trees without parents, links in arrays.
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

/* Words of names of the later one of two pointers. */
static const char *const later[] = { "prev", "previous", "last", "tail", "back", "pred", "end",
				     "newest", "youngest", "bwd", "blink", NULL };

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

/* The pointer or word of the struct that has the word in its name. */
static const struct ri_member *find_member(const struct ri_type *type, const char *word)
{
	for (size_t i = 0; i < type->member_count; i++) {
		struct ri_tokens tokens;

		if (!type->members[i].name || type->members[i].bit_size)
			continue;
		ri_tokens_split(type->members[i].name, &tokens);
		if (ri_tokens_have(&tokens, word))
			return &type->members[i];
	}
	return NULL;
}

static bool is_word(struct ri_types *types, const struct ri_member *member)
{
	return member && ri_type_strip(types, member->type)->size_bytes == 8;
}

static void add_tree(struct collecting *c, const struct ri_shape_link *shape, const char *prefix,
		     uint64_t base, bool is_self)
{
	const struct ri_member *left = find_member(shape->node, "left");
	const struct ri_member *right = find_member(shape->node, "right");
	const struct ri_member *parent = find_member(shape->node, "parent");
	const struct ri_type *node = is_self ? shape->node : c->element;
	struct ri_chain_link *link;

	if (c->list->count >= LINKS_MAX || !is_word(c->types, parent) || !left || !right ||
	    !is_one(below(c->types, left->type), node) || !is_one(below(c->types, right->type), node))
		return;
	link = ri_push(c->list);
	link->type = c->type;
	link->kind = RI_LINK_TREE;
	link->path = ri_strings_format(c->strings, "%s%s%s", prefix, *prefix ? "." : "",
				       shape->path);
	link->node = node;
	link->is_at_element = !is_self;
	link->link_offset = base + shape->offset_bytes;
	link->next_offset = (int64_t)(left->offset_bits / 8);
	link->right_offset = (int64_t)(right->offset_bits / 8);
	link->parent_offset = (int64_t)(parent->offset_bits / 8);
	link->prev_offset = -1;
	link->next = ri_strings_add(c->strings, left->name);
	link->right = ri_strings_add(c->strings, right->name);
	link->parent = ri_strings_add(c->strings, parent->name);
}

/* The link whose name is `name` with `from` replaced by `to`; null if there is none. */
static const struct ri_shape_link *find_sibling(const ri_shape_link_list *links, const char *name,
						const char *from, const char *to)
{
	const char *at = strstr(name, from);
	char wanted[PATH_MAX_BYTES];

	if (!at || strlen(name) + strlen(to) + 1 > sizeof(wanted))
		return NULL;
	memcpy(wanted, name, (size_t)(at - name));
	strcpy(stpcpy(wanted + (at - name), to), at + strlen(from));
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i].kind == RI_SHAPE_DIRECT && !strcmp(links->items[i].path, wanted))
			return &links->items[i];
	return NULL;
}

/* Pointers to T in T itself: what their names say belongs together is one link. */
static void add_plain(struct collecting *c, const ri_shape_link_list *links,
		      const struct ri_shape_link *next)
{
	const struct ri_shape_link *prev = find_sibling(links, next->path, "next", "prev");
	const struct ri_shape_link *right = find_sibling(links, next->path, "left", "right");
	const struct ri_shape_link *parent = find_sibling(links, next->path, "left", "parent");
	struct ri_chain_link *link;

	if (c->list->count >= LINKS_MAX ||
	    !(strstr(next->path, "next") || (right && parent)))
		return;
	link = ri_push(c->list);
	link->type = c->type;
	link->kind = right && parent ? RI_LINK_TREE : prev ? RI_LINK_DLIST : RI_LINK_SLIST;
	link->is_plain = link->is_at_element = true;
	link->path = "";
	link->node = c->element;
	link->next_offset = (int64_t)next->offset_bytes;
	link->next = ri_strings_add(c->strings, next->path);
	link->prev_offset = link->kind == RI_LINK_DLIST ? (int64_t)prev->offset_bytes : -1;
	link->prev = link->kind == RI_LINK_DLIST ? ri_strings_add(c->strings, prev->path) : NULL;
	if (link->kind != RI_LINK_TREE)
		return;
	link->right_offset = (int64_t)right->offset_bytes;
	link->right = ri_strings_add(c->strings, right->path);
	link->parent_offset = (int64_t)parent->offset_bytes;
	link->parent = ri_strings_add(c->strings, parent->path);
}

static void add_shape(struct collecting *c, const ri_shape_link_list *links,
		      const struct ri_shape_link *link, const char *prefix, uint64_t base,
		      bool is_outermost)
{
	enum ri_shape_link_kind kind;
	bool is_self = link->kind != RI_SHAPE_DIRECT &&
		       ri_shape_node_kind(c->types, link->node, &kind);

	if (link->kind == RI_SHAPE_DIRECT) {
		if (is_outermost)
			add_plain(c, links, link);
	} else if (!is_self && !is_outermost) {
		return;
	} else if (link->kind == RI_SHAPE_TREE) {
		add_tree(c, link, prefix, base, is_self);
	} else if (link->kind != RI_SHAPE_SLIST) {
		add_link(c, link, prefix, base);
	}
}

static void collect(struct collecting *c, const struct ri_type *type, const char *prefix,
		    uint64_t base, unsigned depth)
{
	ri_shape_link_list links = { 0 };

	ri_shape_links(c->types, type, c->strings, &links);
	for (size_t i = 0; i < links.count; i++)
		add_shape(c, &links, &links.items[i], prefix, base, !depth);
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

/* The one pointer of the struct that does not lead to such structs; null where there are more. */
static const struct ri_member *find_payload(struct ri_types *types, const struct ri_type *type)
{
	const struct ri_member *found = NULL;

	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *declared = ri_type_strip(types, member->type);
		const struct ri_type *target = below(types, declared);

		if (declared->kind != RI_TYPE_POINTER || (target && is_one(target, type)))
			continue;
		if (found || !member->name || !target ||
		    (target->kind != RI_TYPE_VOID && target->kind != RI_TYPE_STRUCT))
			return NULL;
		found = member;
	}
	return found;
}

static bool add_node(const struct ri_type *type, void *data)
{
	struct collecting *c = data;
	const struct ri_member *payload;
	struct ri_chain_link *link;
	struct pointers p;

	if (!type->name || type->size_bytes < 24 || type->size_bytes > HEAD_BYTES_MAX ||
	    type->member_count < 3 || type->member_count > 5)
		return true;
	p = sort_pointers(c->types, type, type);
	put_in_order(&p);
	payload = find_payload(c->types, type);
	if (p.own_count != 2 || p.to_own_count || !payload || has_word(p.own[0]->name, later) ||
	    !has_word(p.own[1]->name, later))
		return true;
	for (size_t i = 0; i < c->list->count; i++) /* the same struct of another module */
		if (c->list->items[i].is_external && is_one(c->list->items[i].node, type))
			return true;
	link = ri_push(c->list);
	link->type = RI_LAYOUT_NONE;
	link->kind = RI_LINK_DLIST;
	link->is_plain = link->is_at_element = link->is_external = true;
	link->path = "";
	link->node = type;
	link->next_offset = (int64_t)(p.own[0]->offset_bits / 8);
	link->prev_offset = (int64_t)(p.own[1]->offset_bits / 8);
	link->next = ri_strings_add(c->strings, p.own[0]->name);
	link->prev = ri_strings_add(c->strings, p.own[1]->name);
	link->payload_offset = payload->offset_bits / 8;
	link->payload = ri_strings_add(c->strings, payload->name);
	return c->list->count < LINKS_MAX;
}

static bool is_inferred(const struct ri_layout *layout, const struct ri_counted_type *type)
{
	return ri_convention_is_inferred(&layout->conventions.items[type->convention]);
}

void ri_chain_links(const struct ri_layout *layout, struct ri_types *types,
		    struct ri_strings *strings, ri_chain_link_list *list)
{
	struct collecting nodes = { types, strings, list, RI_LAYOUT_NONE, NULL };
	bool is_any = false;

	for (uint32_t i = 0; i < layout->types.count; i++) {
		const struct ri_counted_type *type = &layout->types.items[i];
		struct collecting c = { types, strings, list, i, type->type };
		size_t before = list->count;

		if (type->container != RI_LAYOUT_NONE || !type->type || !type->type->name ||
		    !is_inferred(layout, type))
			continue;
		is_any = true;
		collect(&c, type->type, "", 0, 0);
		if (list->count > before && !is_alone(layout, i))
			list->count = before;
	}
	if (is_any && list->count < LINKS_MAX)
		ri_types_each_struct(types, add_node, &nodes);
}

/*
 * Heads
 */

/* A pointer to the first element, or to the root. */
static bool is_plain_head(struct ri_types *types, const struct ri_type *type,
			  const struct ri_chain_link *link, struct ri_head_shape *ret)
{
	*ret = (struct ri_head_shape){ .kind = link->kind, .node = link->node, .last_offset = -1 };
	return (link->is_plain || link->kind == RI_LINK_TREE) &&
	       is_one(below(types, type), link->node);
}

bool ri_head_shape_of(struct ri_types *types, const struct ri_type *type,
		      const struct ri_chain_link *link, struct ri_head_shape *ret)
{
	struct pointers p;

	if (type->kind == RI_TYPE_POINTER)
		return is_plain_head(types, type, link, ret);
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
		return link->kind == RI_LINK_DLIST && p.words < 2 && has_word(ret->last, later) &&
		       !has_word(ret->first, later);
	}
	if (p.to_own) {
		ret->kind = link->kind == RI_LINK_HLIST ? RI_LINK_TAILQ : RI_LINK_SLIST;
		ret->last_offset = (int64_t)(p.to_own->offset_bits / 8);
		ret->last = p.to_own->name;
	}
	if (p.to_own)
		return (link->kind == RI_LINK_HLIST || link->kind == RI_LINK_SLIST) &&
		       link->is_at_element;
	return !(link->is_plain && link->kind == RI_LINK_SLIST);
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
