/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binary trees, walked in order without recursion.
 *
 * Where nodes know their parent (colour bits cut off), each link is written
 * twice: a child whose parent word names another node that has it as a child
 * belongs there, and the link that led to it is wrong; else its parent word is.
 * Trees without parent words are believed, but each node is entered once.
 *
 * Cost: linear, with a stack as deep as the tree; a map of all nodes only where
 * there are no parent words.
 */
#include "census/groups_private.h"

#define COLOUR_BITS 3u

/* A node on the way down: its left part is done once it is taken. */
struct tree_step {
	uint64_t node;
	bool is_left_done;
};

struct tree_walk {
	struct ri_groups *groups;
	struct ri_group *group;
	const struct ri_group_rule *rule;
	uint64_t head;
	RI_VEC(struct tree_step) stack;
	struct ri_address_map entered; /* nodes that nothing but this stops from entering again */
};

static bool has_parents(const struct tree_walk *walk)
{
	return walk->rule->parent_offset >= 0;
}

static bool read_parent(const struct tree_walk *walk, uint64_t node, uint64_t *ret_value)
{
	return ri_reader_u64(&walk->groups->finder->reader,
			     node + (uint64_t)walk->rule->parent_offset, ret_value);
}

static uint64_t parent_of(uint64_t value)
{
	return value & ~(uint64_t)COLOUR_BITS;
}

static bool has_child(const struct tree_walk *walk, uint64_t node, uint64_t child)
{
	uint64_t left = 0, right = 0;

	ri_groups_link(walk->groups, walk->rule, node + (uint64_t)walk->rule->next_offset, &left);
	ri_groups_link(walk->groups, walk->rule, node + (uint64_t)walk->rule->right_offset,
		       &right);
	return left == child || right == child;
}

static void add_break(struct tree_walk *walk, uint64_t node, uint64_t word, uint64_t value,
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

/* Whether `child` says that it hangs on `node`; `value` is its parent word. */
static bool names_parent(const struct tree_walk *walk, uint64_t node, uint64_t value)
{
	if (node == walk->head) /* some roots name their head */
		return !parent_of(value) || parent_of(value) == walk->head;
	return parent_of(value) == node;
}

/* Whether `word` is the right link of `node` and the left one leads to `child` too. */
static bool is_left_child(const struct tree_walk *walk, uint64_t node, uint64_t word,
			  uint64_t child)
{
	uint64_t left;

	return node != walk->head && word == node + (uint64_t)walk->rule->right_offset &&
	       ri_groups_link(walk->groups, walk->rule, node + (uint64_t)walk->rule->next_offset,
			      &left) &&
	       left == child;
}

/* Whether `child`, reached from `node` over `word`, is to be entered. */
static bool may_enter(struct tree_walk *walk, uint64_t node, uint64_t word, uint64_t child)
{
	uint64_t value = 0, expected = node == walk->head ? 0 : node;
	const char *why = NULL;

	if (!ri_reader_peek(&walk->groups->finder->reader, child, sizeof(uint64_t)) ||
	    (has_parents(walk) && !read_parent(walk, child, &value)))
		why = ri_groups_why_unmapped(walk->groups, walk->rule, child);
	if (!why && is_left_child(walk, node, word, child))
		why = "leads to the same node as the other link";
	if (!why && has_parents(walk) && names_parent(walk, node, value)) {
		/* a link back to the root is the only one that its parent word cannot refute */
		if (node == walk->head)
			ri_address_map_set(&walk->entered, child, 0);
		return true;
	}
	if (!why && has_parents(walk) && parent_of(value) &&
	    has_child(walk, parent_of(value), child))
		why = "leads to a node that hangs on another parent";
	if (!why && ri_address_map_find(&walk->entered, child) != RI_NONE) {
		walk->group->state |= RI_GROUP_LOOP;
		walk->group->loop_node = child;
		why = "leads to a node that was passed before";
	}
	if (why) {
		walk->group->state |= RI_GROUP_INCOMPLETE;
		add_break(walk, node, word, child, 0, why);
		return false;
	}
	ri_address_map_set(&walk->entered, child, 0);
	if (has_parents(walk))
		add_break(walk, child, child + (uint64_t)walk->rule->parent_offset, value,
			  expected | (value & COLOUR_BITS), "does not name its parent");
	return true;
}

/* Pushes the node that `word` of `node` leads to, if there is one. */
static void enter(struct tree_walk *walk, uint64_t node, uint64_t word)
{
	uint64_t child;

	if (!ri_groups_link(walk->groups, walk->rule, word, &child)) {
		walk->group->state |= RI_GROUP_INCOMPLETE;
		add_break(walk, node, word, 0, 0, "lies in memory that is not there");
		return;
	}
	if (!child || (walk->rule->has_end_mark && child == walk->rule->end_mark) ||
	    !may_enter(walk, node, word, child) || !ri_groups_visit(walk->groups, walk->group))
		return;
	ri_push(&walk->stack)->node = child;
}

void ri_group_walk_tree(struct ri_groups *groups, struct ri_group *group, uint64_t head)
{
	struct tree_walk walk = {
		.groups = groups,
		.group = group,
		.rule = &groups->finder->layout->groups.items[group->rule],
		.head = head,
	};

	enter(&walk, head, head + (uint64_t)walk.rule->head_first_offset);
	while (walk.stack.count) {
		struct tree_step *top = &walk.stack.items[walk.stack.count - 1];
		uint64_t node = top->node;
		struct ri_group_node *added;

		if (!top->is_left_done) {
			top->is_left_done = true;
			enter(&walk, node, node + (uint64_t)walk.rule->next_offset);
			continue;
		}
		walk.stack.count--;
		added = ri_push(&groups->nodes);
		added->addr = node;
		added->object = ri_groups_element(groups, walk.rule, node);
		enter(&walk, node, node + (uint64_t)walk.rule->right_offset);
	}
	ri_vec_deinit(&walk.stack);
	ri_address_map_deinit(&walk.entered);
}
