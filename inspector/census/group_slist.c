/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Singly linked lists: nothing but the elements themselves says whether a link
 * is right.  The walk ends at the end mark, at a word that is not mapped or
 * leads to no element, or where it comes back to a node (told by comparing with
 * a node that is moved up at powers of two, so that no marks are needed).
 *
 * A head that knows the last node, or the last link word, is compared with what
 * the walk found.
 *
 * Blind spot: a link that skips members or ends the list early; what the rest
 * was is lost (the group's own counter may tell).
 */
#include "census/groups_private.h"

struct slist_walk {
	struct ri_groups *groups;
	struct ri_group *group;
	const struct ri_group_rule *rule;
	uint64_t head;
	size_t first;            /* of this chain in groups->nodes */
};

static bool is_end(const struct ri_group_rule *rule, uint64_t value)
{
	return !value || (rule->has_end_mark && value == rule->end_mark);
}

static uint64_t word_of(const struct slist_walk *walk, uint64_t node)
{
	if (node == walk->head)
		return node + (uint64_t)walk->rule->head_first_offset;
	return node + (uint64_t)walk->rule->next_offset;
}

static void add_break(struct slist_walk *walk, uint64_t node, uint64_t word, uint64_t value,
		      uint64_t expected, const char *what)
{
	const struct ri_group_break found = {
		.word_addr = word,
		.value = value,
		.expected = expected,
		.node = node,
		.what = what,
	};

	ri_groups_add_node_break(walk->groups, walk->group, walk->head, found);
}

static bool has_elements(const struct ri_group_rule *rule)
{
	return rule->element_type != RI_LAYOUT_NONE || rule->element_convention != RI_LAYOUT_NONE;
}

/* Whether `node` is chained on although it is no element: its own link leads to
 * one. */
static bool is_foreign_link(struct slist_walk *walk, uint64_t node)
{
	uint64_t next;

	return ri_groups_link(walk->groups, walk->rule, word_of(walk, node), &next) &&
	       ri_groups_element(walk->groups, walk->rule, next) != RI_NONE;
}

/* The nodes repeat with `period`: keeps each once and says where it closes. */
static void close_loop(struct slist_walk *walk, size_t period)
{
	ri_group_nodes *nodes = &walk->groups->nodes;
	size_t i = walk->first;

	while (nodes->items[i].addr != nodes->items[i + period].addr)
		i++;
	nodes->count = i + period;
	walk->group->state |= RI_GROUP_LOOP | RI_GROUP_INCOMPLETE;
	walk->group->loop_node = nodes->items[i].addr;
	add_break(walk, nodes->items[i + period - 1].addr,
		  word_of(walk, nodes->items[i + period - 1].addr), nodes->items[i].addr, 0,
		  "leads back to a node that was passed before");
}

/* STAILQ keeps the address of the last link word, others that of the last node. */
static void check_last(struct slist_walk *walk, uint64_t last_node)
{
	uint64_t word = walk->head + (uint64_t)walk->rule->head_last_offset, value;

	if (walk->rule->head_last_offset < 0 ||
	    !ri_groups_link(walk->groups, walk->rule, word, &value) || value == last_node ||
	    value == word_of(walk, last_node))
		return;
	if (last_node == walk->head && is_end(walk->rule, value))
		return;
	add_break(walk, walk->head, word, value,
		  last_node == walk->head ? 0 : last_node, "is not where the list ends");
}

/* One node on from `node`; false at the end. */
static bool step(struct slist_walk *walk, uint64_t *node)
{
	uint64_t word = word_of(walk, *node), next, after;
	struct ri_group_node *added;
	const char *why;
	uint32_t object;

	if (!ri_groups_link(walk->groups, walk->rule, word, &next)) {
		walk->group->state |= RI_GROUP_INCOMPLETE;
		add_break(walk, *node, word, 0, 0, "lies in memory that is not there");
		return false;
	}
	if (is_end(walk->rule, next)) {
		check_last(walk, *node);
		return false;
	}
	why = ri_groups_link(walk->groups, walk->rule, word_of(walk, next), &after)
		      ? NULL
		      : ri_groups_why_unmapped(walk->groups, walk->rule, next);
	object = why ? RI_NONE : ri_groups_element(walk->groups, walk->rule, next);
	if (!why && object == RI_NONE && has_elements(walk->rule) && !is_foreign_link(walk, next))
		why = "leads to something that is no element";
	if (next == walk->head)
		why = "leads to the head, and not to the end";
	if (why || !ri_groups_visit(walk->groups, walk->group)) {
		walk->group->state |= RI_GROUP_INCOMPLETE;
		if (why)
			add_break(walk, *node, word, next, 0, why);
		return false;
	}
	added = ri_push(&walk->groups->nodes);
	added->addr = next;
	added->object = object;
	*node = next;
	return true;
}

void ri_group_walk_slist(struct ri_groups *groups, struct ri_group *group, uint64_t head)
{
	struct slist_walk walk = {
		.groups = groups,
		.group = group,
		.rule = &groups->finder->layout->groups.items[group->rule],
		.head = head,
		.first = groups->nodes.count,
	};
	uint64_t node = head, mark = head;
	size_t steps = 0, limit = 2;

	while (step(&walk, &node)) {
		steps++;
		if (node == mark) {
			close_loop(&walk, steps);
			return;
		}
		if (steps == limit) {
			mark = node;
			steps = 0;
			limit *= 2;
		}
	}
}
