/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Circular doubly linked lists with an embedded head: every link is written
 * twice, so that one damaged word can be told from its neighbours.
 *
 * The walk goes forward from the head.  Where it goes from n to m and m does
 * not lead back to n, either n's word or m's is wrong:
 *   - if the node that m leads back to leads on to m, those two agree: n's word
 *     is wrong, and the way on is lost;
 *   - else, if m and the node after it agree, m is part of the list: m's word
 *     back is wrong, and the walk goes on through m;
 *   - else n's word is wrong.
 * Where the way was lost, the same walk is made backward from the head's last
 * link until it meets the node where the forward one ended.  A single damaged
 * word thus gives one break and all members.  Where the two ends do not meet,
 * but both lost their way to the same node, that node's own two words are
 * wrong; otherwise the part between them is left to group_islands.c.
 *
 * No marks are needed against loops: a node that was entered over two words
 * that agree cannot be entered over two others that agree, and a node whose
 * word back was found wrong is remembered.  Cost: four words read per node.
 *
 * Blind spots: two damaged words that agree with each other; a list whose nodes
 * are all of one wrong list (told by the members' back pointers, not here).
 */
#include "census/groups_private.h"

enum { FORWARD, BACKWARD };

struct side {
	ri_group_nodes nodes;    /* in the order of this side's walk */
	uint64_t last;           /* the last node reached, or the head */
	uint64_t lost;           /* what its word leads to */
	uint32_t break_index;    /* of that word, or RI_NONE */
	bool met_again;          /* `lost` is a node of this side */
};

struct list_walk {
	struct ri_groups *groups;
	struct ri_group *group;
	const struct ri_group_rule *rule;
	struct side sides[2];
	bool is_joined;          /* the sides meet: every node is known */
	struct ri_address_map wrong; /* words found wrong, to breaks[] */
};

/* The word of `node` that leads on in `direction`. */
static uint64_t word_on(const struct list_walk *walk, uint64_t node, int direction)
{
	const struct ri_group_rule *rule = walk->rule;

	if (node == walk->group->head)
		return node + (uint64_t)(direction == FORWARD ? rule->head_first_offset
							      : rule->head_last_offset);
	return node + (uint64_t)(direction == FORWARD ? rule->next_offset : rule->prev_offset);
}

static uint64_t word_back(const struct list_walk *walk, uint64_t node, int direction)
{
	return word_on(walk, node, !direction);
}

static bool read_link(const struct list_walk *walk, uint64_t word, uint64_t *ret)
{
	return ri_groups_link(walk->groups, walk->rule, word, ret);
}

/* Whether `word` leads to `node`, or should and is known to be wrong. */
static bool leads_to(const struct list_walk *walk, uint64_t word, uint64_t node)
{
	uint32_t wrong = ri_address_map_find(&walk->wrong, word);
	uint64_t value;

	if (wrong != RI_NONE)
		return walk->groups->breaks.items[wrong].expected == node;
	return read_link(walk, word, &value) && value == node;
}

/*
 * Breaks
 */

static uint32_t add_break(struct list_walk *walk, int direction, uint64_t node, uint64_t word,
			  uint64_t value, uint64_t expected, const char *what)
{
	const struct side *side = &walk->sides[direction];
	const struct ri_break_place place = { (uint32_t)side->nodes.count, direction == BACKWARD };
	struct ri_group_break found = {
		.word_addr = word,
		.value = value,
		.expected = expected,
		.node = node,
		.what = what,
	};
	uint32_t index;

	found.object = node == walk->group->head
			       ? RI_NONE
			       : ri_groups_element(walk->groups, walk->rule, node);
	index = ri_groups_add_break(walk->groups, walk->group, &found, place);
	if (index != RI_NONE)
		ri_address_map_set(&walk->wrong, word, index);
	return index;
}

static bool stop(struct list_walk *walk, int direction, uint64_t word, uint64_t value,
		 const char *what)
{
	struct side *side = &walk->sides[direction];

	side->lost = value;
	side->break_index = add_break(walk, direction, side->last, word, value, 0, what);
	return false;
}

/* Whether `node` looks like an element: known, or nothing speaks against it. */
static bool is_plausible(const struct list_walk *walk, uint64_t node)
{
	const struct ri_group_rule *rule = walk->rule;
	uint32_t convention = rule->element_convention;
	struct ri_finder *finder = walk->groups->finder;

	if (node == walk->group->head || rule->node_bytes ||
	    ri_groups_element(walk->groups, rule, node) != RI_NONE)
		return true;
	if (convention == RI_LAYOUT_NONE)
		return rule->element_type == RI_LAYOUT_NONE;
	return ri_finder_magic(finder, convention, node - (uint64_t)rule->link_offset, RI_NONE) !=
	       RI_MAGIC_BAD;
}

/* From `node` the walk went to `next`, which leads back to `back` instead:
 * whether it is the word back that is wrong. */
static bool is_word_back_wrong(const struct list_walk *walk, int direction, uint64_t node,
			       uint64_t next, uint64_t back)
{
	uint64_t head = walk->group->head, after;
	bool has_after = read_link(walk, word_on(walk, next, direction), &after);
	uint64_t voucher = word_on(walk, back, direction);

	/* the word back of the node after `next` leads to it too, and vouches for nothing */
	if (leads_to(walk, voucher, next) &&
	    !(has_after && voucher == word_back(walk, after, direction)))
		return false;
	/* an empty list has no third node to ask, and nobody claims to be before it */
	if (node == head && next == head)
		return true;
	return has_after && leads_to(walk, word_back(walk, after, direction), next) &&
	       is_plausible(walk, next);
}

/*
 * Steps
 */

/* `next` does not lead back to where the walk comes from: finds out which word
 * is wrong.  True if the walk goes on through `next`. */
static bool settle(struct list_walk *walk, int direction, uint64_t word, uint64_t next,
		   uint64_t back)
{
	struct side *side = &walk->sides[direction];
	struct ri_groups *groups = walk->groups;
	uint64_t in = word_back(walk, next, direction);
	const char *why;

	if (ri_address_map_find(&walk->wrong, in) != RI_NONE) {
		side->met_again = true;
		return stop(walk, direction, word, next, "leads to a node that was passed before");
	}
	if (!is_word_back_wrong(walk, direction, side->last, next, back))
		return stop(walk, direction, word, next, "leads to a node that does not lead back");
	why = ri_groups_why_unmapped(groups, walk->rule, back);
	add_break(walk, direction, next, in, back, side->last,
		  why ? why : "does not lead back to the node before it");
	return true;
}

/* The backward side has come to where the forward one lost its way: the word
 * that is wrong there should lead to the node before. */
static bool join(struct list_walk *walk)
{
	uint32_t wrong = walk->sides[FORWARD].break_index;

	if (wrong != RI_NONE)
		walk->groups->breaks.items[wrong].expected = walk->sides[BACKWARD].last;
	walk->is_joined = true;
	return false;
}

/* One node on; false at the end of the side. */
static bool step(struct list_walk *walk, int direction)
{
	struct side *side = &walk->sides[direction];
	uint64_t word = word_on(walk, side->last, direction), next, back;
	struct ri_group_node *node;
	const char *why;

	if (!read_link(walk, word, &next))
		return stop(walk, direction, word, 0, "lies in memory that is not there");
	if (!read_link(walk, word_back(walk, next, direction), &back)) {
		why = ri_groups_why_unmapped(walk->groups, walk->rule, next);
		return stop(walk, direction, word, next, why ? why : "not mapped");
	}
	if (direction == BACKWARD && next == walk->sides[FORWARD].last)
		return join(walk);
	if (back != side->last && !settle(walk, direction, word, next, back))
		return false;
	if (next == walk->group->head) {
		walk->is_joined = true;
		return false;
	}
	if (!ri_groups_visit(walk->groups, walk->group)) {
		side->break_index = RI_NONE;
		return false;
	}
	node = ri_push(&side->nodes);
	node->addr = next;
	node->object = ri_groups_element(walk->groups, walk->rule, next);
	side->last = next;
	return true;
}

/*
 * What two lost sides have in common
 */

/* Both sides lost their way at one node: its own words are wrong. */
static bool join_at_node(struct list_walk *walk)
{
	struct side *forward = &walk->sides[FORWARD], *backward = &walk->sides[BACKWARD];
	struct ri_groups *groups = walk->groups;
	struct ri_group_break *first, *second;
	uint64_t node = forward->lost;
	struct ri_group_node *added;

	if (node != backward->lost || node == walk->group->head ||
	    forward->break_index == RI_NONE || backward->break_index == RI_NONE)
		return false;
	first = &groups->breaks.items[forward->break_index];
	second = &groups->breaks.items[backward->break_index];
	first->word_addr = word_on(walk, node, BACKWARD);
	second->word_addr = word_on(walk, node, FORWARD);
	if (!read_link(walk, first->word_addr, &first->value) ||
	    !read_link(walk, second->word_addr, &second->value))
		return false;
	first->expected = forward->last;
	second->expected = backward->last;
	added = ri_push(&forward->nodes);
	added->addr = node;
	added->object = ri_groups_element(groups, walk->rule, node);
	first->node = second->node = node;
	first->object = second->object = added->object;
	first->what = second->what = "both neighbours lead here, but it does not lead back";
	return walk->is_joined = true;
}

static bool is_on_side(const struct side *side, uint64_t node)
{
	for (size_t i = 0; i < side->nodes.count; i++)
		if (side->nodes.items[i].addr == node)
			return true;
	return false;
}

static bool belongs_here(struct list_walk *walk, const struct ri_group_node *node)
{
	const struct ri_object *object;
	uint64_t raw;

	if (node->object == RI_NONE || !walk->rule->back.is_present)
		return node->object != RI_NONE;
	object = &walk->groups->finder->objects.items[node->object];
	return ri_groups_back(walk->groups, walk->rule, object, &raw) == walk->group->head;
}

/* Follows the links from `start` as long as neighbours agree; true, with the
 * nodes in `circle`, if that leads back to `start` past no head. */
static bool follow_circle(struct list_walk *walk, uint64_t start, ri_group_nodes *circle)
{
	uint64_t node = start, next;

	do {
		struct ri_group_node *added;

		if (ri_address_map_find(&walk->groups->finder->head_index, node) != RI_NONE ||
		    !ri_groups_visit(walk->groups, walk->group))
			return false;
		added = ri_push(circle);
		added->addr = node;
		added->object = ri_groups_element(walk->groups, walk->rule, node);
		if (!read_link(walk, word_on(walk, node, FORWARD), &next) ||
		    !leads_to(walk, word_back(walk, next, FORWARD), node))
			return false;
		node = next;
	} while (node != start);
	return true;
}

/* Whether a side came back to one of its own nodes. */
static bool find_node_met_again(struct list_walk *walk)
{
	for (int direction = FORWARD; direction <= BACKWARD; direction++) {
		const struct side *side = &walk->sides[direction];

		if (!side->met_again && !is_on_side(side, side->lost))
			continue;
		walk->group->state |= RI_GROUP_LOOP;
		walk->group->loop_node = side->lost;
		return true;
	}
	return false;
}

/* Whether the head's side was lost to a circle of nodes that has no head; those
 * of them that belong here become members. */
static void find_circle(struct list_walk *walk)
{
	struct side *forward = &walk->sides[FORWARD];
	ri_group_nodes circle = { 0 };

	if (forward->break_index == RI_NONE ||
	    is_on_side(&walk->sides[BACKWARD], forward->lost) ||
	    !follow_circle(walk, forward->lost, &circle))
		circle.count = 0;
	for (size_t i = 0; i < circle.count; i++)
		if (belongs_here(walk, &circle.items[i])) {
			*ri_push(&forward->nodes) = circle.items[i];
			walk->group->state |= RI_GROUP_LOOP;
			walk->group->loop_node = forward->lost;
		}
	ri_vec_deinit(&circle);
}

static void add_gap(struct list_walk *walk)
{
	struct ri_group_gap *gap = ri_push(&walk->groups->gaps);

	gap->group = (uint32_t)(walk->group - walk->groups->groups.items);
	gap->last_from_head = walk->sides[FORWARD].last;
	gap->last_from_tail = walk->sides[BACKWARD].last;
	gap->break_from_head = walk->sides[FORWARD].break_index;
	gap->break_from_tail = walk->sides[BACKWARD].break_index;
	for (size_t i = 0; i < walk->sides[FORWARD].nodes.count; i++)
		gap->members_from_head += walk->sides[FORWARD].nodes.items[i].object != RI_NONE;
	walk->group->state |= RI_GROUP_INCOMPLETE;
}

/* The forward side, then the backward one turned round. */
static void collect(struct list_walk *walk)
{
	const struct side *backward = &walk->sides[BACKWARD];

	walk->groups->nodes = walk->sides[FORWARD].nodes;
	for (size_t i = backward->nodes.count; i--;)
		*ri_push(&walk->groups->nodes) = backward->nodes.items[i];
	ri_vec_deinit(&walk->sides[BACKWARD].nodes);
}

void ri_group_walk_list(struct ri_groups *groups, struct ri_group *group)
{
	struct list_walk walk = {
		.groups = groups,
		.group = group,
		.rule = &groups->finder->layout->groups.items[group->rule],
	};
	uint64_t first, last;

	if (read_link(&walk, word_on(&walk, group->head, FORWARD), &first) &&
	    read_link(&walk, word_on(&walk, group->head, BACKWARD), &last) && !first && !last) {
		group->state |= RI_GROUP_UNINITIALISED;
		return;
	}
	ri_vec_deinit(&groups->nodes);
	for (int direction = FORWARD; direction <= BACKWARD && !walk.is_joined; direction++) {
		walk.sides[direction].last = group->head;
		while (step(&walk, direction))
			;
	}
	if (!walk.is_joined && (find_node_met_again(&walk) || !join_at_node(&walk))) {
		if (!(group->state & RI_GROUP_LOOP))
			find_circle(&walk);
		add_gap(&walk);
	}
	collect(&walk);
	ri_address_map_deinit(&walk.wrong);
}
