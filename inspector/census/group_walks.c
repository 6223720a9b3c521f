/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks from what may be a head along what may be its chain, as far as neighbours agree: see
 * group_votes.c, which asks what the nodes are.  Every walk has a bound, and all together a
 * budget.
 */
#include "census/group_votes_private.h"

#define TREE_DEPTH_MAX 128
#define COLOUR_BITS    3u

static bool read_word(struct ri_votes *votes, uint64_t addr, uint64_t *ret)
{
	return ri_reader_u64(&votes->reader, addr, ret);
}

/* The address of the node's word at `offset` of its link. */
static uint64_t word_at(const struct ri_place_walk *walk, uint64_t node, int64_t offset)
{
	return node + (uint64_t)offset + (walk->link->is_at_element ? walk->link->link_offset : 0);
}

uint64_t ri_place_next_word(const struct ri_place_walk *walk, uint64_t node)
{
	return word_at(walk, node, walk->link->next_offset);
}

static uint64_t prev_word(const struct ri_place_walk *walk, uint64_t node)
{
	return word_at(walk, node, walk->link->prev_offset);
}

/* Counts the node; false where the walk must end. */
static bool take_node(struct ri_place_walk *walk, uint64_t node)
{
	if (walk->seen) {
		uint32_t chain = ri_address_map_find(walk->seen, node);

		walk->is_broken |= chain == walk->chain;
		walk->overlaps |= chain != RI_NONE && chain != walk->chain;
		if (chain != RI_NONE)
			return false;
		ri_address_map_set(walk->seen, node, walk->chain);
	}
	if (walk->checked < RI_WALK_CHECKED_MAX)
		walk->nodes[walk->checked++] = node;
	walk->length++;
	if (!walk->votes->budget)
		return false;
	walk->votes->budget--;
	return walk->length < RI_WALK_MAX;
}

/* A circle from `head` by the words at `on`, which the words at `back` must answer. */
static void walk_circle(struct ri_place_walk *walk, uint64_t head, int64_t on, int64_t back)
{
	uint64_t at = head, next, answer;

	for (;;) {
		if (!read_word(walk->votes, at + (uint64_t)on, &next) ||
		    !read_word(walk->votes, next + (uint64_t)back, &answer) || answer != at) {
			walk->is_broken = true;
			return;
		}
		if (next == head || !take_node(walk, next))
			return;
		at = next;
	}
}

static void walk_list(struct ri_place_walk *walk, uint64_t head)
{
	const struct ri_chain_link *link = walk->link;

	walk_circle(walk, head, link->next_offset, link->prev_offset);
	if (walk->is_broken && walk->checked < RI_WALK_CHECKED_MAX)
		walk_circle(walk, head, link->prev_offset, link->next_offset);
}

/* Whether `node`, to which the word at `word` in `before` (0: the head) leads, answers with what
 * its kind of link holds for it.  False in *ret_is_there where nothing is there. */
static bool answers(struct ri_place_walk *walk, uint64_t node, uint64_t word, uint64_t before,
		    bool *ret_is_there)
{
	bool is_dlist = walk->link->kind == RI_LINK_DLIST;
	uint64_t answer;

	if (walk->link->prev_offset < 0) {
		*ret_is_there = read_word(walk->votes, ri_place_next_word(walk, node), &answer);
		return *ret_is_there;
	}
	*ret_is_there = read_word(walk->votes, prev_word(walk, node), &answer);
	return *ret_is_there && (answer == (is_dlist ? before : word) ||
				 (is_dlist && !before && answer == UINT64_MAX));
}

/* A chain that ends in null, or in -1.  One node that does not answer is passed: its own word
 * may be the wrong one. */
static void walk_chain(struct ri_place_walk *walk, uint64_t head)
{
	uint64_t word = head + (uint64_t)walk->shape->first_offset, before = 0, node;
	bool is_there;

	while (read_word(walk->votes, word, &node)) {
		if (!node || (walk->link->kind == RI_LINK_DLIST && node == UINT64_MAX))
			return;
		if (!answers(walk, node, word, before, &is_there)) {
			if (!is_there || walk->is_broken)
				break;
			walk->is_broken = true;
		}
		walk->good += !walk->is_broken;
		if (!take_node(walk, node))
			return;
		before = node;
		word = ri_place_next_word(walk, node);
	}
	walk->is_broken = true;
}

/* Nodes from the root down; each must name the one it hangs on.  A node that does not is not
 * passed: what hangs below may be anything. */
static void walk_tree(struct ri_place_walk *walk, uint64_t head)
{
	const struct ri_chain_link *link = walk->link;
	struct {
		uint64_t node, parent;
	} stack[TREE_DEPTH_MAX], at;
	size_t depth = 1;

	stack[0].parent = 0;
	if (!read_word(walk->votes, head + (uint64_t)walk->shape->first_offset, &stack[0].node))
		depth = 0;
	while (depth) {
		uint64_t parent, left, right;

		at = stack[--depth];
		if (!at.node)
			continue;
		if (!read_word(walk->votes, word_at(walk, at.node, link->parent_offset), &parent) ||
		    !read_word(walk->votes, word_at(walk, at.node, link->next_offset), &left) ||
		    !read_word(walk->votes, word_at(walk, at.node, link->right_offset), &right)) {
			walk->is_broken = true;
			continue;
		}
		parent &= ~(uint64_t)COLOUR_BITS;
		if (parent != at.parent && (at.parent || parent != head)) {
			walk->is_broken = true;
			continue;
		}
		walk->good++;
		if (!take_node(walk, at.node) || depth + 2 > TREE_DEPTH_MAX)
			return;
		stack[depth].node = right;
		stack[depth++].parent = at.node;
		stack[depth].node = left;
		stack[depth++].parent = at.node;
	}
}

void ri_place_walk_head(struct ri_place_walk *walk, uint64_t head)
{
	if (walk->link->kind == RI_LINK_LIST)
		walk_list(walk, head);
	else if (walk->link->kind == RI_LINK_TREE)
		walk_tree(walk, head);
	else
		walk_chain(walk, head);
}

/* Whether the head has been set up at all: circular ones are never null. */
bool ri_place_is_set_up(struct ri_votes *votes, const struct ri_head_shape *shape, uint64_t head)
{
	uint64_t first, last;

	return shape->kind != RI_LINK_LIST ||
	       (read_word(votes, head + (uint64_t)shape->first_offset, &first) &&
		read_word(votes, head + (uint64_t)shape->last_offset, &last) && (first || last));
}
