/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a circular list that neither end of it reaches: between two
 * damaged places there may be nodes whose links are sound.  They are found from
 * the objects whose back pointers name the group, walked both ways while
 * neighbours agree, and put in order by what their outer links say.
 *
 * Only groups whose two walks did not meet come here: an object outside a list
 * that is whole is an orphan, whatever its stale links say.
 *
 * Cost: one pass over all objects for all such groups together, then in
 * proportion to the nodes found.
 */
#include "census/groups_private.h"

#include <stdlib.h>

/* An object that says it belongs to a group with a gap. */
struct claim {
	uint32_t gap;            /* index into groups->gaps */
	uint32_t object;
};

/* Nodes in a row: island.nodes[first .. first + count). */
struct island {
	size_t first, count;
	uint64_t before, after;  /* where its outer links lead */
	bool is_used;
};

struct filler {
	struct ri_chain chain;
	struct ri_groups *groups;
	const struct ri_group_rule *rule;
	const struct ri_group_gap *gap;
	uint64_t head;
	ri_group_nodes nodes;    /* of all islands */
	RI_VEC(struct island) islands;
	uint64_t *is_member;     /* a bit per object */
};

static bool has_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void flip_bit(uint64_t *bits, uint32_t i)
{
	bits[i / 64] ^= 1ull << i % 64;
}

/* Where `node` leads to; false if its word is not mapped. */
static bool leads(struct filler *f, uint64_t node, enum ri_direction direction, uint64_t *ret)
{
	uint64_t value;

	return ri_chain_read(&f->chain, node, direction, ret, &value);
}

/* The node after (before) `node` if the two agree and it is no member yet. */
static bool neighbour(struct filler *f, uint64_t node, enum ri_direction direction, uint64_t *ret)
{
	uint64_t next, back;
	uint32_t object;

	if (!leads(f, node, direction, &next) || next == f->head ||
	    !leads(f, next, direction == RI_FORWARD ? RI_BACKWARD : RI_FORWARD, &back) ||
	    back != node)
		return false;
	object = ri_groups_element(f->groups, f->rule, next);
	/* objects recognised just now lie behind the bits: they are no members */
	if (object != RI_NONE && object < f->groups->examined && has_bit(f->is_member, object))
		return false;
	*ret = next;
	return true;
}

static void push_node(struct filler *f, uint64_t node)
{
	struct ri_group_node *added = ri_push(&f->nodes);

	added->addr = node;
	added->object = ri_groups_element(f->groups, f->rule, node);
	if (added->object != RI_NONE && added->object < f->groups->examined)
		flip_bit(f->is_member, added->object);
}

/* Walks the island of `start`, a node of no member. */
static void walk_island(struct filler *f, uint64_t start)
{
	struct ri_group *group = &f->groups->groups.items[f->gap->group];
	struct island island = { .first = f->nodes.count };
	uint64_t node = start, next;
	bool has_neighbour = false;

	while (neighbour(f, node, RI_BACKWARD, &next) && next != start &&
	       ri_groups_visit(f->groups, group)) {
		node = next;
		has_neighbour = true;
	}
	if (!leads(f, node, RI_BACKWARD, &island.before))
		return;
	start = node;
	while (neighbour(f, node, RI_FORWARD, &next) && ri_groups_visit(f->groups, group)) {
		push_node(f, node);
		node = next;
		has_neighbour = true;
		if (node == start) {
			group->state |= RI_GROUP_LOOP;
			group->loop_node = start;
			break;
		}
	}
	if (node != start || island.first == f->nodes.count)
		push_node(f, node);
	island.count = f->nodes.count - island.first;
	if (!leads(f, node, RI_FORWARD, &island.after))
		island.after = 0;
	/* a node that agrees with neither neighbour must lead to both ends of the gap:
	 * otherwise it may have left the list long ago */
	if (!has_neighbour && (island.before != f->gap->last_from_head ||
			       island.after != f->gap->last_from_tail)) {
		uint32_t object = f->nodes.items[island.first].object;

		if (object != RI_NONE && object < f->groups->examined)
			flip_bit(f->is_member, object);
		f->nodes.count = island.first;
		return;
	}
	*ri_push(&f->islands) = island;
}

static void take_island(struct filler *f, ri_group_nodes *out, struct island *island)
{
	for (size_t i = 0; i < island->count; i++)
		*ri_push(out) = f->nodes.items[island->first + i];
	island->is_used = true;
}

/* Says what the word of a break should hold, now that its neighbour is known. */
static void expect(const struct filler *f, uint32_t index, enum ri_direction direction,
		   uint64_t node)
{
	if (index != RI_NONE && !f->groups->breaks.items[index].expected)
		f->groups->breaks.items[index].expected =
			ri_chain_encode(&f->chain, node, direction);
}

/* Puts the islands in order into groups->nodes, between the two ends; whether
 * they close the gap. */
static bool order_islands(struct filler *f, const ri_group_nodes *old)
{
	struct ri_groups *groups = f->groups;
	struct ri_address_map by_before = { 0 };
	ri_group_nodes out = { 0 };
	uint64_t last = f->gap->last_from_head;
	uint32_t next;
	bool closes = false;

	for (size_t i = 0; i < f->gap->members_from_head; i++)
		*ri_push(&out) = old->items[i];
	for (size_t i = f->islands.count; i--;)
		ri_address_map_set(&by_before, f->islands.items[i].before, (uint32_t)i);
	while ((next = ri_address_map_find(&by_before, last)) != RI_NONE &&
	       !f->islands.items[next].is_used) {
		struct island *island = &f->islands.items[next];

		take_island(f, &out, island);
		if (last == f->gap->last_from_head)
			expect(f, f->gap->break_from_head, RI_FORWARD,
			       f->nodes.items[island->first].addr);
		last = out.items[out.count - 1].addr;
		closes = island->after == f->gap->last_from_tail;
		if (closes)
			expect(f, f->gap->break_from_tail, RI_BACKWARD, last);
	}
	for (size_t i = 0; i < f->islands.count; i++)
		if (!f->islands.items[i].is_used) {
			take_island(f, &out, &f->islands.items[i]);
			closes = false;
		}
	for (size_t i = f->gap->members_from_head; i < old->count; i++)
		*ri_push(&out) = old->items[i];
	ri_address_map_deinit(&by_before);
	ri_vec_deinit(&groups->nodes);
	groups->nodes = out;
	return closes;
}

/* groups->nodes from the members and foreign nodes stored for the group. */
static void load_nodes(struct ri_groups *groups, const struct ri_group *group, ri_group_nodes *ret)
{
	for (uint32_t i = 0; i < group->member_count; i++) {
		const struct ri_membership *m = &groups->memberships.items[group->first_member + i];
		struct ri_group_node *node = ri_push(ret);

		node->addr = m->node;
		node->object = m->object;
	}
}

static void fill_gap(struct filler *f, const struct claim *claims, size_t claim_count)
{
	struct ri_groups *groups = f->groups;
	struct ri_group *group = &groups->groups.items[f->gap->group];
	ri_group_nodes old = { 0 };

	load_nodes(groups, group, &old);
	for (size_t i = 0; i < old.count; i++)
		flip_bit(f->is_member, old.items[i].object);
	for (size_t i = 0; i < claim_count; i++) {
		const struct ri_object *object =
			&groups->finder->objects.items[claims[i].object];

		if (!has_bit(f->is_member, claims[i].object))
			walk_island(f, ri_groups_node_of(groups, f->rule, object));
	}
	for (size_t i = 0; i < old.count; i++)
		flip_bit(f->is_member, old.items[i].object);
	for (size_t i = 0; i < f->nodes.count; i++)
		if (f->nodes.items[i].object < groups->examined)
			flip_bit(f->is_member, f->nodes.items[i].object);
	if (order_islands(f, &old) ||
	    (!f->islands.count && group->has_stored_count &&
	     group->stored_count == (int64_t)group->member_count))
		group->state &= ~(uint32_t)RI_GROUP_INCOMPLETE;
	if (f->islands.count)
		ri_groups_set_members(groups, f->gap->group);
	ri_vec_deinit(&f->nodes);
	ri_vec_deinit(&f->islands);
	ri_vec_deinit(&old);
}

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->gap != y->gap)
		return x->gap < y->gap ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

/* The gap of the group whose head is `head`, or RI_NONE. */
static uint32_t gap_of_head(const struct ri_groups *groups, const struct ri_address_map *gap_of,
			    uint64_t head)
{
	uint32_t index = ri_address_map_find(&groups->finder->head_index, head);

	return index == RI_NONE ? RI_NONE : ri_address_map_find(gap_of, index);
}

void ri_groups_fill_gaps(struct ri_groups *groups)
{
	struct ri_finder *finder = groups->finder;
	struct ri_address_map gap_of = { 0 };
	RI_VEC(struct claim) claims = { 0 };
	size_t object_count = finder->objects.count;
	uint64_t *is_member, raw;

	if (!groups->gaps.count)
		return;
	is_member = ri_calloc(object_count / 64 + 1, sizeof(*is_member));
	for (size_t i = 0; i < groups->gaps.count; i++)
		ri_address_map_set(&gap_of, groups->gaps.items[i].group, (uint32_t)i);
	for (size_t r = 0; r < finder->layout->groups.count; r++) {
		const struct ri_group_rule *rule = &finder->layout->groups.items[r];
		bool is_intrusive = rule->back.is_present && !rule->node_bytes;

		for (size_t i = 0; is_intrusive && i < object_count; i++) {
			const struct ri_object *object = &finder->objects.items[i];
			uint32_t gap;

			if (!ri_groups_is_element(finder, rule, object->type))
				continue;
			gap = gap_of_head(groups, &gap_of,
					  ri_groups_back(groups, rule, object, &raw));
			if (gap == RI_NONE ||
			    groups->groups.items[groups->gaps.items[gap].group].rule != r)
				continue;
			ri_push(&claims)->gap = gap;
			claims.items[claims.count - 1].object = (uint32_t)i;
		}
	}
	if (claims.count)
		qsort(claims.items, claims.count, sizeof(*claims.items), compare_claims);
	for (size_t g = 0, at = 0; g < groups->gaps.count; g++) {
		struct filler filler = {
			.groups = groups,
			.gap = &groups->gaps.items[g],
			.is_member = is_member,
		};
		const struct ri_group *group = &groups->groups.items[filler.gap->group];
		size_t first = at;

		while (at < claims.count && claims.items[at].gap == g)
			at++;
		filler.rule = &finder->layout->groups.items[group->rule];
		filler.head = group->head;
		filler.chain = (struct ri_chain){ groups, filler.rule, filler.rule->kind,
						  filler.head };
		fill_gap(&filler, claims.items + first, at - first);
	}
	ri_vec_deinit(&claims);
	ri_address_map_deinit(&gap_of);
	free(is_member);
}
