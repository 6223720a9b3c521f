/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chains of world.c beyond lists that are linked to the next link: the lists of BSD, lists
 * with an end mark, trees, tables of pointers, and lists of nodes that lie apart.
 */
#ifndef CHAINS_H
#define CHAINS_H

#include "world.h"

/* A chain of two ways as its words: where a member's next and previous lie in its link (or its
 * node), and what stands where there is none. */
struct two_ways {
	size_t next, prev;
	void *none;
};

static struct two_ways two_ways_of(const struct group *group)
{
	if (group->kind == NODES)
		return (struct two_ways){ group->next_offset, group->prev_offset, NULL };
	return (struct two_ways){ group->link_offset, group->link_offset + sizeof(void *),
				  group->kind == ISC ? (void *)-1 : NULL };
}

static void put_word(void *base, size_t offset, void *value)
{
	memcpy((char *)base + offset, &value, sizeof(value));
}

/* Puts `item` at the end; a head is its first and its last member. */
static void chain_two_ways(const struct group *group, void **head, char *item)
{
	const struct two_ways w = two_ways_of(group);

	put_word(item, w.next, w.none);
	put_word(item, w.prev, head[1]);
	if (head[1] == w.none)
		head[0] = item;
	else
		put_word(head[1], w.next, item);
	head[1] = item;
}

static void unchain_two_ways(const struct group *group, void **head, char *item)
{
	const struct two_ways w = two_ways_of(group);
	void *next = word_at(item, w.next), *prev = word_at(item, w.prev);

	if (prev == w.none)
		head[0] = next;
	else
		put_word(prev, w.next, next);
	if (next == w.none)
		head[1] = prev;
	else
		put_word(next, w.prev, prev);
	if (group->kind == ISC) {
		put_word(item, w.next, w.none);
		put_word(item, w.prev, w.none);
	}
}

/* The node that says `p`. */
static char *node_of(const struct group *group, void *const *head, const char *p)
{
	char *node = head[0];

	while (word_at(node, group->payload_offset) != p)
		node = word_at(node, group->next_offset);
	return node;
}

static void chain_node(const struct group *group, void **head, char *p)
{
	char *node = must(malloc(group->node_bytes));

	note_block(node);
	put_word(node, group->payload_offset, p);
	chain_two_ways(group, head, node);
}

static void unchain_node(const struct group *group, void **head, const char *p)
{
	char *node = node_of(group, head, p);

	unchain_two_ways(group, head, node);
	forget_block(node);
	free(node);
}

/* BSD's STAILQ; the head is the first member and where its last one's word lies. */
static void chain_stailq(const struct group *group, void **head, char *p)
{
	put_word(p, group->link_offset, NULL);
	put_word(head[1], 0, p);
	head[1] = p + group->link_offset;
}

static void unchain_stailq(const struct group *group, void **head, const char *p)
{
	void **word = head;

	while (*word != p)
		word = (void **)((char *)*word + group->link_offset);
	*word = word_at(p, group->link_offset);
	if (!*word)
		head[1] = word;
}

/* BSD's LIST: the way back leads to the word that points here. */
static void chain_bsd(const struct group *group, void **head, char *p)
{
	size_t next = group->link_offset, prev = next + sizeof(void *);

	put_word(p, next, head[0]);
	put_word(p, prev, head);
	if (head[0])
		put_word(head[0], prev, p + next);
	head[0] = p;
}

static void unchain_bsd(const struct group *group, const char *p)
{
	size_t next = group->link_offset, prev = next + sizeof(void *);
	void *after = word_at(p, next), *back = word_at(p, prev);

	put_word(back, 0, after);
	if (after)
		put_word(after, prev, back);
}

/* ---- trees: nobody balances them, and their colours mean nothing ---- */

struct tree_node {
	uint64_t parent_color;
	struct tree_node *right, *left;
};

static struct tree_node *tree_parent(const struct tree_node *node)
{
	return (struct tree_node *)(node->parent_color & ~3ull);
}

static void set_tree_parent(struct tree_node *node, struct tree_node *parent)
{
	node->parent_color = (uint64_t)parent | (node->parent_color & 1);
}

static void chain_tree(struct tree_node **root, struct tree_node *node)
{
	struct tree_node **word = root, *parent = NULL;

	while (*word) {
		parent = *word;
		word = draw(2) ? &parent->left : &parent->right;
	}
	*node = (struct tree_node){ .parent_color = draw(2) };
	set_tree_parent(node, parent);
	*word = node;
}

static void unchain_tree(struct tree_node **root, struct tree_node *node)
{
	struct tree_node *parent = tree_parent(node), *rest = node->left ? node->left : node->right;
	struct tree_node **word = !parent		 ? root
				  : parent->left == node ? &parent->left
							 : &parent->right;

	if (node->left && node->right) {
		struct tree_node *last = node->left;

		while (last->right)
			last = last->right;
		last->right = node->right;
		set_tree_parent(last->right, last);
	}
	*word = rest;
	if (rest)
		set_tree_parent(rest, parent);
}

/* ---- tables ---- */

/* Slots in use lie in the first `length`; what lies behind is what was there before. */
static void chain_slot(const struct group *group, char *head, char *p)
{
	char *length_place = head - group->head_offset + group->length_offset;
	unsigned length = number_at(length_place, 0), size = length ? length : 4;
	void **slots = word_at(head, 0);

	for (unsigned i = 0; i < length; i++)
		if (!slots[i]) {
			slots[i] = p;
			return;
		}
	/* a power of two, and more than is in use */
	while (size & (size - 1))
		size++;
	if (!slots || size == length) {
		size = slots ? size * 2 : size;
		if (slots)
			forget_block(slots);
		slots = must(realloc(slots, size * sizeof(*slots)));
		note_block(slots);
		put_word(head, 0, slots);
	}
	slots[length++] = p;
	memcpy(length_place, &length, sizeof(length));
}

/* Takes `p` out: at the end by the length alone, else its slot becomes empty. */
static void unchain_slot(const struct group *group, char *head, const char *p)
{
	char *length_place = head - group->head_offset + group->length_offset;
	unsigned length = number_at(length_place, 0), i = 0;
	void **slots = word_at(head, 0);

	while (slots[i] != p)
		i++;
	if (i == length - 1)
		memcpy(length_place, &i, sizeof(i));
	else
		slots[i] = NULL;
}

static void open_chain(const struct group *group, char *head)
{
	void **words = (void **)head;
	unsigned none = 0;

	words[0] = group->kind == ISC ? (void *)-1 : NULL;
	if (group->kind == ARRAY_OF)
		memcpy(head - group->head_offset + group->length_offset, &none, sizeof(none));
	else if (group->kind == STAILQ)
		words[1] = words;
	else if (group->kind != BSD_LIST && group->kind != TREE)
		words[1] = words[0];
}

static void chain_more(const struct group *group, char *head, char *p)
{
	void **words = (void **)head;

	switch (group->kind) {
	case NODES:
		chain_node(group, words, p);
		break;
	case STAILQ:
		chain_stailq(group, words, p);
		break;
	case BSD_LIST:
		chain_bsd(group, words, p);
		break;
	case TREE:
		chain_tree((struct tree_node **)head, (struct tree_node *)(p + group->link_offset));
		break;
	case ARRAY_OF:
		chain_slot(group, head, p);
		break;
	default:
		chain_two_ways(group, words, p);
	}
}

static void unchain_more(const struct group *group, char *head, char *p)
{
	void **words = (void **)head;

	switch (group->kind) {
	case NODES:
		unchain_node(group, words, p);
		break;
	case STAILQ:
		unchain_stailq(group, words, p);
		break;
	case BSD_LIST:
		unchain_bsd(group, p);
		break;
	case TREE:
		unchain_tree((struct tree_node **)head,
			     (struct tree_node *)(p + group->link_offset));
		break;
	case ARRAY_OF:
		unchain_slot(group, head, p);
		break;
	default:
		unchain_two_ways(group, words, p);
	}
}

#endif
