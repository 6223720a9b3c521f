/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link members by shape.  A struct is judged by its pointer members alone: a
 * word that is neither a pointer to its own type nor a colour makes it no link.
 * For pointers of T in T itself the shape says nothing (a parent is held, a next
 * is chained), so there the names decide.
 *
 * Blind spots: links that are integers (xor lists, offsets), void pointers
 * (external nodes), heads without elements.
 */
#include "profile/infer_links.h"

#include <string.h>

#include "profile/infer_private.h"

#define NODE_BYTES_MAX   40
#define NODE_MEMBERS_MAX 8
#define MEMBERS_MAX      4096
#define PATH_MAX_BYTES   512
#define DEPTH_MAX        4

/* What the members of a struct point at, seen from `owner`. */
struct tally {
	unsigned own, own_pointers, others; /* T *; T **; anything else that is a pointer */
	unsigned words;          /* that are no pointers */
	bool has_side;           /* one is called left, right, parent, child */
};

static const struct ri_type *pointee_of(struct ri_types *types, const struct ri_type *type)
{
	type = ri_type_strip(types, type);
	if (type->kind != RI_TYPE_POINTER)
		return NULL;
	type = ri_type_target(types, type);
	return type ? ri_type_strip(types, type) : NULL;
}

static bool is_side(const char *name)
{
	static const char *const words[] = { "left", "right", "parent", "child", "children" };
	struct ri_tokens tokens;

	ri_tokens_split(name ? name : "", &tokens);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_tokens_have(&tokens, words[i]))
			return true;
	return false;
}

static struct tally tally_members(struct ri_types *types, const struct ri_type *type,
				  const struct ri_type *owner)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *pointee = pointee_of(types, member->type);

		tally.has_side |= is_side(member->name);
		if (!pointee)
			tally.words += ri_type_strip(types, member->type)->size_bytes > 0;
		else if (ri_structs_are_one(pointee, owner))
			tally.own++;
		else if (ri_structs_are_one(pointee_of(types, pointee), owner))
			tally.own_pointers++;
		else
			tally.others++;
	}
	return tally;
}

static bool is_small(const struct ri_type *type)
{
	return type->kind == RI_TYPE_STRUCT && type->member_count &&
	       type->member_count <= NODE_MEMBERS_MAX && type->size_bytes <= NODE_BYTES_MAX;
}

bool ri_shape_node_kind(struct ri_types *types, const struct ri_type *type,
			enum ri_shape_link_kind *ret)
{
	struct tally tally;

	if (!is_small(type) || !type->name)
		return false;
	tally = tally_members(types, type, type);
	if (tally.others || tally.words > 1)
		return false;
	if (tally.own >= 2 && tally.has_side)
		*ret = RI_SHAPE_TREE;
	else if (tally.words)
		return false;
	else if (tally.own == 2 && !tally.own_pointers)
		*ret = RI_SHAPE_LIST;
	else if (tally.own == 1 && tally.own_pointers == 1)
		*ret = RI_SHAPE_HLIST;
	else if (tally.own == 1 && !tally.own_pointers)
		*ret = RI_SHAPE_SLIST;
	else
		return false;
	return true;
}

/* A struct inside `owner` whose words point at `owner`: the entries of <sys/queue.h>. */
static bool find_entry_kind(struct ri_types *types, const struct ri_type *type,
			    const struct ri_type *owner, enum ri_shape_link_kind *ret)
{
	struct tally tally;

	if (!is_small(type))
		return false;
	tally = tally_members(types, type, owner);
	if (tally.others || tally.words > 1 || !tally.own)
		return false;
	if (tally.words || tally.own > 1) /* RB_ENTRY: left, right, parent, colour */
		*ret = tally.own >= 2 && tally.has_side ? RI_SHAPE_TREE : RI_SHAPE_TAILQ;
	else
		*ret = tally.own_pointers ? RI_SHAPE_TAILQ : RI_SHAPE_STAILQ;
	return tally.own <= 3 && (!tally.words || tally.own >= 2);
}

/* Whether `T *name` in T is a link by its name. */
static bool is_link_name(const char *name, bool has_sides)
{
	static const char *const words[] = { "next", "prev", "previous", "sibling", "succ", "pred",
					     "link", "chain" };
	struct ri_tokens tokens;

	ri_tokens_split(name, &tokens);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_tokens_have(&tokens, words[i]))
			return true;
	return has_sides && is_side(name);
}

/* Both sides of a tree: then the parent belongs to it. */
static bool has_both_sides(struct ri_types *types, const struct ri_type *type)
{
	bool has_left = false, has_right = false;

	for (size_t i = 0; i < type->member_count && i < MEMBERS_MAX; i++) {
		const struct ri_member *member = &type->members[i];
		struct ri_tokens tokens;

		if (!member->name || !ri_structs_are_one(pointee_of(types, member->type), type))
			continue;
		ri_tokens_split(member->name, &tokens);
		has_left |= ri_tokens_have(&tokens, "left");
		has_right |= ri_tokens_have(&tokens, "right");
	}
	return has_left && has_right;
}

struct collecting {
	struct ri_types *types;
	const struct ri_type *owner;
	struct ri_strings *strings;
	ri_shape_link_list *list;
	bool has_sides;
	size_t visits;
};

static void collect(struct collecting *c, const struct ri_type *type, uint64_t base,
		    const char *prefix, unsigned depth);

static void add(struct collecting *c, const char *path, uint64_t offset,
		enum ri_shape_link_kind kind, const struct ri_type *node)
{
	struct ri_shape_link *link = ri_push(c->list);

	link->path = ri_strings_add(c->strings, path);
	link->offset_bytes = offset;
	link->kind = kind;
	link->node = node;
}

static void collect_member(struct collecting *c, const struct ri_member *member, uint64_t base,
			   const char *prefix, unsigned depth)
{
	const struct ri_type *below = ri_type_strip(c->types, member->type);
	uint64_t offset = base + member->offset_bits / 8;
	enum ri_shape_link_kind kind;
	char path[PATH_MAX_BYTES];

	if (member->bit_size || strlen(prefix) + (member->name ? strlen(member->name) : 0) + 2 >
					sizeof(path))
		return;
	strcpy(stpcpy(stpcpy(path, prefix), *prefix && member->name ? "." : ""),
	       member->name ? member->name : "");
	if (below->kind == RI_TYPE_STRUCT &&
	    (ri_shape_node_kind(c->types, below, &kind) ||
	     find_entry_kind(c->types, below, c->owner, &kind)))
		add(c, path, offset, kind, below);
	else if ((below->kind == RI_TYPE_STRUCT || below->kind == RI_TYPE_UNION) && !below->name &&
		 depth < DEPTH_MAX)
		collect(c, below, offset, path, depth + 1);
	else if (member->name && is_link_name(member->name, c->has_sides) &&
		 ri_structs_are_one(pointee_of(c->types, member->type), c->owner))
		add(c, path, offset, RI_SHAPE_DIRECT, c->owner);
}

static void collect(struct collecting *c, const struct ri_type *type, uint64_t base,
		    const char *prefix, unsigned depth)
{
	for (size_t i = 0; i < type->member_count && c->visits < MEMBERS_MAX; i++, c->visits++)
		collect_member(c, &type->members[i], base, prefix, depth);
}

void ri_shape_links(struct ri_types *types, const struct ri_type *type,
		    struct ri_strings *strings, ri_shape_link_list *list)
{
	struct collecting c = { .types = types, .owner = type, .strings = strings, .list = list };

	c.has_sides = has_both_sides(types, type);
	collect(&c, type, 0, "", 0);
}

void ri_shape_link_classes(struct ri_types *types, const char *type_name,
			   const struct ri_shape_link *link,
			   void (*each)(const char *class_name, void *data), void *data)
{
	char *name;

	if (link->kind == RI_SHAPE_DIRECT) {
		name = ri_format("%s.%s", type_name, link->path);
		each(name, data);
		ri_free_and_null((void **)&name);
		return;
	}
	for (size_t i = 0; i < link->node->member_count; i++) {
		const struct ri_type *pointee = pointee_of(types, link->node->members[i].type);

		/* pointers to links are no pointers to T */
		if (!pointee || ri_structs_are_one(pointee, link->node) ||
		    pointee->kind != RI_TYPE_STRUCT || !link->node->members[i].name)
			continue;
		name = ri_format("%s.%s.%s", type_name, link->path, link->node->members[i].name);
		each(name, data);
		ri_free_and_null((void **)&name);
	}
}
