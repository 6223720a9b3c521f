/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Circular lists of which a rule knows the members alone.  In the circle that a
 * member's links run in, the one node around which no element lies is the head,
 * a link like the others.  A circle of elements alone has lost its head; it is
 * no group.
 *
 * Each member is passed once: a walk ends where an earlier one was.
 */
#include "census/groups_private.h"

#include <stdlib.h>

struct bits {
	uint64_t *words;
	size_t object_count;     /* objects with a bit, from the first on */
};

static bool test_and_set(struct bits *bits, uint32_t object)
{
	uint64_t mask = 1ull << object % 64, *word;

	if (object >= bits->object_count)
		return false; /* recognised just now: its turn comes */
	word = &bits->words[object / 64];
	if (*word & mask)
		return true;
	*word |= mask;
	return false;
}

/* Goes on from the member `node` while neighbours agree; 0, or the head. */
static uint64_t find_head(struct ri_groups *groups, const struct ri_chain *chain, uint64_t node,
			  struct bits *covered)
{
	struct ri_group scratch = { 0 };
	uint64_t next, back, value;

	while (ri_groups_visit(groups, &scratch)) {
		uint32_t object;

		if (!ri_chain_read(chain, node, RI_FORWARD, &next, &value) || next == node ||
		    !ri_chain_read(chain, next, RI_BACKWARD, &back, &value) || back != node)
			return 0;
		object = ri_groups_element(groups, chain->rule, next);
		if (object == RI_NONE)
			return next;
		if (test_and_set(covered, object))
			return 0;
		node = next;
	}
	return 0;
}

static void find_heads(struct ri_groups *groups, uint32_t rule_index, size_t first, size_t end)
{
	struct ri_finder *finder = groups->finder;
	const struct ri_group_rule *rule = &finder->layout->groups.items[rule_index];
	/* no address is the head yet: UINT64_MAX is no node's */
	const struct ri_chain chain = { groups, rule, RI_LINK_LIST, UINT64_MAX };
	struct bits covered = { ri_calloc(end / 64 + 1, sizeof(uint64_t)), end };

	for (size_t i = first; i < end; i++) {
		const struct ri_object *object = &finder->objects.items[i];
		struct ri_head head = { .rule = rule_index };

		if (!ri_groups_is_element(finder, rule, object->type) ||
		    (object->block != RI_NONE &&
		     finder->heap->blocks[object->block].state == RI_BLOCK_FREE) ||
		    test_and_set(&covered, (uint32_t)i))
			continue;
		head.head = find_head(groups, &chain, ri_groups_node_of(groups, rule, object),
				      &covered);
		head.struct_addr = head.head;
		if (head.head)
			ri_finder_add_head(finder, &head);
	}
	free(covered.words);
}

void ri_groups_find_headless(struct ri_groups *groups)
{
	const struct ri_layout *layout = groups->finder->layout;
	size_t first = groups->headless_examined, end = groups->finder->objects.count;

	groups->headless_examined = end;
	for (uint32_t r = 0; r < layout->groups.count && first < end; r++) {
		const struct ri_group_rule *rule = &layout->groups.items[r];

		if (!rule->is_headless)
			continue;
		if (rule->kind == RI_LINK_LIST && !rule->node_bytes)
			find_heads(groups, r, first, end);
		else
			ri_gaps_add(groups->finder->gaps, RI_GAP_MATTERS, "census",
				    "%s:%u: only circular lists can be walked without a head",
				    rule->mark.file ? rule->mark.file : "profile",
				    rule->mark.line);
	}
}

void ri_groups_name_headless(struct ri_groups *groups, uint32_t index)
{
	struct ri_finder *finder = groups->finder;
	const struct ri_group *group = &groups->groups.items[index];
	const struct ri_group_rule *rule = &finder->layout->groups.items[group->rule];

	for (uint32_t i = 0; rule->back.is_present && i < group->member_count; i++) {
		uint32_t object = groups->memberships.items[group->first_member + i].object;
		uint64_t raw, named;

		named = ri_groups_back(groups, rule, &finder->objects.items[object], &raw);
		if (!named || ri_address_map_find(&finder->head_index, named) != RI_NONE)
			continue;
		ri_address_map_set(&finder->head_index, named, index);
		return;
	}
}
