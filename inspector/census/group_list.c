/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Doubly linked lists: every link is written twice, so that one damaged word
 * can be told from its neighbours.  Lists that are no circles are walked as if
 * they were (group_chain.c).
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
 * are all of one wrong list (told by the members' back pointers, not here); and
 * where the head has no link to the last node, a link that ends the list early.
 */
#include "census/groups_private.h"

struct side {
	ri_group_nodes nodes;    /* in the order of this side's walk */
	uint64_t last;           /* the last node reached, or the head */
	uint64_t lost;           /* what its word leads to */
	uint32_t break_index;    /* of that word, or RI_NONE */
	bool met_again;          /* `lost` is a node of this side */
};

struct list_walk {
	struct ri_chain chain;
	struct ri_groups *groups;
	struct ri_group *group;
	const struct ri_group_rule *rule;
	uint64_t head;
	size_t passed_before;    /* nodes of earlier buckets */
	struct side sides[2];
	bool is_joined;          /* the sides meet: every node is known */
	struct ri_address_map wrong; /* words found wrong, to breaks[] */
};

static uint64_t word_on(const struct list_walk *walk, uint64_t node, enum ri_direction direction)
{
	return ri_chain_word(&walk->chain, node, direction);
}

static enum ri_direction opposite(enum ri_direction direction)
{
	return direction == RI_FORWARD ? RI_BACKWARD : RI_FORWARD;
}

/* Whether `from` leads to `node`, or should and its word is known to be wrong. */
static bool leads_to(const struct list_walk *walk, uint64_t from, enum ri_direction direction,
		     uint64_t node)
{
	uint32_t wrong = ri_address_map_find(&walk->wrong, word_on(walk, from, direction));
	uint64_t next, value;

	if (wrong != RI_NONE)
		return walk->groups->breaks.items[wrong].expected ==
		       ri_chain_encode(&walk->chain, node, direction);
	/* a head without a link to its last node has nothing to say against it */
	if (!ri_chain_has_word(&walk->chain, from, direction))
		return true;
	return ri_chain_read(&walk->chain, from, direction, &next, &value) && next == node;
}

/*
 * Breaks
 */

/* `from`: the side's node count at the break; the word is `node`'s in direction
 * `of` and holds `value`. */
static uint32_t add_break(struct list_walk *walk, enum ri_direction direction, uint64_t node,
			  enum ri_direction of, uint64_t value, const char *what)
{
	const struct side *side = &walk->sides[direction];
	const struct ri_break_place place = {
		(uint32_t)(side->nodes.count +
			   (direction == RI_FORWARD ? walk->passed_before : 0)),
		direction == RI_BACKWARD,
	};
	struct ri_group_break found = {
		.word_addr = word_on(walk, node, of),
		.value = value,
		.node = node,
		.what = what,
	};
	uint32_t index = ri_address_map_find(&walk->wrong, found.word_addr);

	if (index != RI_NONE)
		return index; /* both sides lost their way at one word */
	found.object = node == walk->head ? RI_NONE
					  : ri_groups_element(walk->groups, walk->rule, node);
	index = ri_groups_add_break(walk->groups, walk->group, &found, place);
	if (index != RI_NONE)
		ri_address_map_set(&walk->wrong, found.word_addr, index);
	return index;
}

static bool stop(struct list_walk *walk, enum ri_direction direction, uint64_t next,
		 uint64_t value, const char *what)
{
	struct side *side = &walk->sides[direction];

	side->lost = next;
	side->break_index = add_break(walk, direction, side->last, direction, value, what);
	return false;
}

/* Whether `node` looks like an element: known, or nothing speaks against it. */
static bool is_plausible(const struct list_walk *walk, uint64_t node)
{
	const struct ri_group_rule *rule = walk->rule;
	uint32_t convention = rule->element_convention;
	struct ri_finder *finder = walk->groups->finder;

	if (node == walk->head || rule->node_bytes ||
	    ri_groups_element(walk->groups, rule, node) != RI_NONE)
		return true;
	if (convention == RI_LAYOUT_NONE)
		return rule->element_type == RI_LAYOUT_NONE;
	return ri_finder_magic(finder, convention, node - (uint64_t)rule->link_offset, RI_NONE) !=
	       RI_MAGIC_BAD;
}

/* Where the ends of a list are null, any zero in memory looks like one: a node
 * that says no more than that must be an element. */
static bool is_believed(const struct list_walk *walk, uint64_t node, uint64_t leads_to)
{
	const struct ri_group_rule *rule = walk->rule;

	return walk->chain.kind == RI_LINK_LIST || leads_to != walk->head || node == walk->head ||
	       (rule->element_type == RI_LAYOUT_NONE &&
		rule->element_convention == RI_LAYOUT_NONE) ||
	       ri_groups_element(walk->groups, rule, node) != RI_NONE;
}

/* From `node` the walk went to `next`, which leads back to `back` instead:
 * whether it is the word back that is wrong. */
static bool is_word_back_wrong(const struct list_walk *walk, enum ri_direction direction,
			       uint64_t node, uint64_t next, uint64_t back)
{
	uint64_t head = walk->head, after, value;
	bool has_after = ri_chain_read(&walk->chain, next, direction, &after, &value);
	uint64_t voucher = word_on(walk, back, direction);

	/* the word back of the node after `next` leads to it too, and vouches for nothing */
	if (leads_to(walk, back, direction, next) && is_believed(walk, back, next) &&
	    !(has_after && voucher == word_on(walk, after, opposite(direction))))
		return false;
	/* an empty list has no third node to ask, and nobody claims to be before it */
	if (node == head && next == head)
		return true;
	return has_after && leads_to(walk, after, opposite(direction), next) &&
	       is_plausible(walk, next);
}

/*
 * Steps
 */

/* `next` (to which `word` leads) leads back to `back`, not to where the walk
 * comes from: finds out which word is wrong.  True if the walk goes on through
 * `next`. */
static bool settle(struct list_walk *walk, enum ri_direction direction, uint64_t next,
		   uint64_t word, uint64_t back, uint64_t word_back)
{
	struct side *side = &walk->sides[direction];
	struct ri_groups *groups = walk->groups;
	const char *why = NULL;
	uint32_t index;

	if (ri_address_map_find(&walk->wrong, word_on(walk, next, opposite(direction))) !=
	    RI_NONE) {
		side->met_again = true;
		return stop(walk, direction, next, word,
			    "leads to a node that was passed before");
	}
	if (!is_word_back_wrong(walk, direction, side->last, next, back))
		return stop(walk, direction, next, word,
			    "leads to a node that does not lead back");
	if (word_back != ri_chain_encode(&walk->chain, walk->head, opposite(direction)))
		why = ri_groups_why_unmapped(groups, walk->rule, word_back);
	index = add_break(walk, direction, next, opposite(direction), word_back,
			  why ? why : "does not lead back to the node before it");
	if (index != RI_NONE)
		groups->breaks.items[index].expected =
			ri_chain_encode(&walk->chain, side->last, opposite(direction));
	return true;
}

/* The backward side has come to where the forward one lost its way: the word
 * that is wrong there should lead to the node before. */
static bool join(struct list_walk *walk)
{
	uint32_t wrong = walk->sides[RI_FORWARD].break_index;

	if (wrong != RI_NONE)
		walk->groups->breaks.items[wrong].expected = ri_chain_encode(
			&walk->chain, walk->sides[RI_BACKWARD].last, RI_FORWARD);
	walk->is_joined = true;
	return false;
}

/* One node on; false at the end of the side. */
static bool step(struct list_walk *walk, enum ri_direction direction)
{
	struct side *side = &walk->sides[direction];
	uint64_t next, word, back, word_back;
	struct ri_group_node *node;
	const char *why;

	if (!ri_chain_read(&walk->chain, side->last, direction, &next, &word))
		return stop(walk, direction, 0, 0, "lies in memory that is not there");
	if (next == walk->head && !ri_chain_has_word(&walk->chain, next, opposite(direction))) {
		walk->is_joined = true;
		return false;
	}
	if (!ri_chain_read(&walk->chain, next, opposite(direction), &back, &word_back)) {
		why = ri_groups_why_unmapped(walk->groups, walk->rule, word);
		return stop(walk, direction, next, word, why ? why : "not mapped");
	}
	if (direction == RI_BACKWARD && next == walk->sides[RI_FORWARD].last)
		return join(walk);
	if (!is_believed(walk, next, back))
		return stop(walk, direction, next, word, "leads to something that is no element");
	if (back != side->last && !settle(walk, direction, next, word, back, word_back))
		return false;
	if (next == walk->head) {
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
	struct side *forward = &walk->sides[RI_FORWARD], *backward = &walk->sides[RI_BACKWARD];
	struct ri_groups *groups = walk->groups;
	struct ri_group_break *first, *second;
	uint64_t node = forward->lost, ignored, back, on;
	struct ri_group_node *added;

	if (node != backward->lost || node == walk->head || forward->break_index == RI_NONE ||
	    backward->break_index == RI_NONE ||
	    ri_address_map_find(&walk->wrong, word_on(walk, node, RI_BACKWARD)) != RI_NONE ||
	    ri_address_map_find(&walk->wrong, word_on(walk, node, RI_FORWARD)) != RI_NONE ||
	    !ri_chain_read(&walk->chain, node, RI_BACKWARD, &ignored, &back) ||
	    !ri_chain_read(&walk->chain, node, RI_FORWARD, &ignored, &on))
		return false;
	first = &groups->breaks.items[forward->break_index];
	second = &groups->breaks.items[backward->break_index];
	first->word_addr = word_on(walk, node, RI_BACKWARD);
	first->value = back;
	first->expected = ri_chain_encode(&walk->chain, forward->last, RI_BACKWARD);
	second->word_addr = word_on(walk, node, RI_FORWARD);
	second->value = on;
	second->expected = ri_chain_encode(&walk->chain, backward->last, RI_FORWARD);
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
	return ri_groups_back(walk->groups, walk->rule, object, &raw) == walk->head;
}

/* Follows the links from `start` as long as neighbours agree; true, with the
 * nodes in `circle`, if that leads back to `start` past no head. */
static bool follow_circle(struct list_walk *walk, uint64_t start, ri_group_nodes *circle)
{
	uint64_t node = start, next, value;

	do {
		struct ri_group_node *added;

		if (ri_address_map_find(&walk->groups->finder->head_index, node) != RI_NONE ||
		    !ri_groups_visit(walk->groups, walk->group))
			return false;
		added = ri_push(circle);
		added->addr = node;
		added->object = ri_groups_element(walk->groups, walk->rule, node);
		if (!ri_chain_read(&walk->chain, node, RI_FORWARD, &next, &value) ||
		    next == walk->head || !leads_to(walk, next, RI_BACKWARD, node))
			return false;
		node = next;
	} while (node != start);
	return true;
}

/* Whether a side came back to one of its own nodes. */
static bool find_node_met_again(struct list_walk *walk)
{
	for (int direction = RI_FORWARD; direction <= RI_BACKWARD; direction++) {
		const struct side *side = &walk->sides[direction];

		if (!side->met_again &&
		    (side->break_index == RI_NONE || !is_on_side(side, side->lost)))
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
	struct side *forward = &walk->sides[RI_FORWARD];
	ri_group_nodes circle = { 0 };

	if (forward->break_index == RI_NONE ||
	    is_on_side(&walk->sides[RI_BACKWARD], forward->lost) ||
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
	struct ri_group_gap *gap;

	walk->group->state |= RI_GROUP_INCOMPLETE;
	if (walk->head != walk->group->head)
		return; /* back pointers do not tell the bucket */
	gap = ri_push(&walk->groups->gaps);
	gap->group = (uint32_t)(walk->group - walk->groups->groups.items);
	gap->last_from_head = walk->sides[RI_FORWARD].last;
	gap->last_from_tail = walk->sides[RI_BACKWARD].last;
	gap->break_from_head = walk->sides[RI_FORWARD].break_index;
	gap->break_from_tail = walk->sides[RI_BACKWARD].break_index;
	for (size_t i = 0; i < walk->sides[RI_FORWARD].nodes.count; i++)
		gap->members_from_head += walk->sides[RI_FORWARD].nodes.items[i].object != RI_NONE;
}

/* The forward side, then the backward one turned round. */
static void collect(struct list_walk *walk)
{
	for (int direction = RI_FORWARD; direction <= RI_BACKWARD; direction++) {
		struct side *side = &walk->sides[direction];

		for (size_t i = 0; i < side->nodes.count; i++)
			*ri_push(&walk->groups->nodes) =
				side->nodes.items[direction == RI_FORWARD
							  ? i
							  : side->nodes.count - 1 - i];
		ri_vec_deinit(&side->nodes);
	}
}

static bool is_uninitialised(const struct list_walk *walk)
{
	uint64_t next, first, last;

	return walk->chain.kind == RI_LINK_LIST &&
	       ri_chain_read(&walk->chain, walk->head, RI_FORWARD, &next, &first) &&
	       ri_chain_read(&walk->chain, walk->head, RI_BACKWARD, &next, &last) && !first &&
	       !last;
}

void ri_group_walk_list(struct ri_groups *groups, struct ri_group *group, enum ri_link_kind kind,
			uint64_t head)
{
	const struct ri_group_rule *rule = &groups->finder->layout->groups.items[group->rule];
	struct list_walk walk = {
		.chain = { groups, rule, kind, head },
		.groups = groups,
		.group = group,
		.rule = rule,
		.head = head,
		.passed_before = groups->nodes.count,
	};

	if (is_uninitialised(&walk)) {
		if (head == group->head)
			group->state |= RI_GROUP_UNINITIALISED;
		return;
	}
	for (int direction = RI_FORWARD; direction <= RI_BACKWARD && !walk.is_joined;
	     direction++) {
		walk.sides[direction].last = head;
		walk.sides[direction].break_index = RI_NONE;
		while (ri_chain_has_word(&walk.chain, head, (enum ri_direction)direction) &&
		       step(&walk, (enum ri_direction)direction))
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
