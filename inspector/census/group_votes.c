/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks the chains of each place that may be a head and lets the nodes vote: a node is an
 * element of a type if one is known there, or if a block begins there that the type fits,
 * with a live count, and nothing says that the block is something else.
 *
 * A place becomes a group where nearly all of its nodes are elements of one link, of no
 * other, and where nearly all neighbours agree; what is then off in it is damage.  In a circle
 * nothing but position tells the head: a place whose nodes are elements and which has chains of
 * several is one, and one that is itself chained by a better supported group is none.
 *
 * Cost: a node is visited once for each link that its place's head may chain, usually one.
 */
#include "census/group_votes_private.h"

#include <stdlib.h>
#include <string.h>

#include "census/finder.h"

#define WALK_MAX         65536 /* nodes of one chain */
#define CHECKED_MAX      64    /* of them asked what they are */
#define VISITS_PER_BLOCK 16
#define VISITS_AT_LEAST  (1u << 20)
#define NODES_MIN        3
#define SAMPLE_MAX       24
#define LIVE_MAX         1000000 /* of a count that nothing else speaks for */

/* What the nodes of one place say of one link. */
struct vote {
	uint32_t link;
	struct ri_head_shape shape;
	uint64_t heads;          /* with nodes */
	uint64_t nodes, known, likely; /* looked at; known to be elements; fit to be */
	uint64_t several;        /* chains of two nodes or more that fit */
	uint64_t breaks;
	uint64_t sample[SAMPLE_MAX];
	size_t sample_count;
};

struct walk {
	struct ri_votes *votes;
	const struct ri_chain_link *link;
	const struct ri_head_shape *shape;
	uint64_t nodes[CHECKED_MAX];
	size_t checked;
	uint64_t length;
	bool is_broken;
};

bool ri_group_votes_are_of_use(const struct ri_layout *layout, struct ri_types *types)
{
	struct ri_strings *strings = ri_strings_create();
	ri_chain_link_list links = { 0 };
	bool are_any;

	ri_chain_links(layout, types, strings, &links);
	are_any = links.count > 0;
	ri_vec_deinit(&links);
	ri_strings_destroy(strings);
	return are_any;
}

/*
 * Walks
 */

static bool read_word(struct ri_votes *votes, uint64_t addr, uint64_t *ret)
{
	return ri_reader_u64(&votes->reader, addr, ret);
}

/* Where the next word of the node lies. */
static uint64_t next_word(const struct walk *walk, uint64_t node)
{
	return node + (uint64_t)walk->link->next_offset +
	       (walk->link->is_at_element ? walk->link->link_offset : 0);
}

static uint64_t prev_word(const struct walk *walk, uint64_t node)
{
	return node + (uint64_t)walk->link->prev_offset +
	       (walk->link->is_at_element ? walk->link->link_offset : 0);
}

/* Counts the node; false where the walk must end. */
static bool take_node(struct walk *walk, uint64_t node)
{
	if (walk->checked < CHECKED_MAX)
		walk->nodes[walk->checked++] = node;
	walk->length++;
	if (!walk->votes->budget)
		return false;
	walk->votes->budget--;
	return walk->length < WALK_MAX;
}

/* A circle from `head` by the words at `on`, which the words at `back` must answer. */
static void walk_circle(struct walk *walk, uint64_t head, int64_t on, int64_t back)
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

static void walk_list(struct walk *walk, uint64_t head)
{
	const struct ri_chain_link *link = walk->link;

	walk_circle(walk, head, link->next_offset, link->prev_offset);
	if (walk->is_broken && walk->checked < CHECKED_MAX)
		walk_circle(walk, head, link->prev_offset, link->next_offset);
}

/* Whether `node`, to which the word at `word` in `before` (0: the head) leads, answers with what
 * its kind of link holds for it.  False in *ret_is_there where nothing is there. */
static bool answers(struct walk *walk, uint64_t node, uint64_t word, uint64_t before,
		    bool *ret_is_there)
{
	bool is_dlist = walk->link->kind == RI_LINK_DLIST;
	uint64_t answer;

	if (walk->link->prev_offset < 0) {
		*ret_is_there = read_word(walk->votes, next_word(walk, node), &answer);
		return *ret_is_there;
	}
	*ret_is_there = read_word(walk->votes, prev_word(walk, node), &answer);
	return *ret_is_there && (answer == (is_dlist ? before : word) ||
				 (is_dlist && !before && answer == UINT64_MAX));
}

/* A chain that ends in null, or in -1.  One node that does not answer is passed: its own word
 * may be the wrong one. */
static void walk_chain(struct walk *walk, uint64_t head)
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
		if (!take_node(walk, node))
			return;
		before = node;
		word = next_word(walk, node);
	}
	walk->is_broken = true;
}

/* Whether the head has been set up at all: circular ones are never null. */
static bool is_set_up(struct ri_votes *votes, const struct ri_head_shape *shape, uint64_t head)
{
	uint64_t first, last;

	return shape->kind != RI_LINK_LIST ||
	       (read_word(votes, head + (uint64_t)shape->first_offset, &first) &&
		read_word(votes, head + (uint64_t)shape->last_offset, &last) && (first || last));
}

/*
 * Votes
 */

static const struct ri_counted_type *type_of(const struct ri_votes *votes,
					     const struct ri_chain_link *link)
{
	return &votes->input->layout->types.items[link->type];
}

/* Whether nothing is known of the block but that an object of the type may fill it. */
static bool may_be_element(struct ri_votes *votes, const struct ri_chain_link *link, uint64_t addr)
{
	const struct ri_group_votes_input *input = votes->input;
	const struct ri_counted_type *type = type_of(votes, link);
	const struct ri_convention *convention =
		&input->layout->conventions.items[type->convention];
	uint64_t start = ri_type_start(type, addr);
	uint32_t index = ri_heap_find(input->heap, start);
	const struct ri_block *block;
	int64_t count;

	if (index == RI_NONE)
		return false;
	block = &input->heap->blocks[index];
	return block->state == RI_BLOCK_USED && block->addr == start &&
	       ri_finder_fits(type->extent_bytes, block->size_bytes) &&
	       ri_address_map_find(&votes->shape_of_block, block->addr) == RI_NONE &&
	       ri_count_read(input->image, addr + (uint64_t)type->header_offset,
			     &convention->counts[0], &count) == RI_COUNT_LIVE &&
	       count <= LIVE_MAX;
}

static void ask_node(struct ri_votes *votes, const struct ri_chain_link *link, struct vote *vote,
		     uint64_t node, bool *ret_fits)
{
	const struct ri_population *population = votes->input->population;
	uint64_t addr = node - (link->is_at_element ? 0 : link->link_offset);
	uint32_t object = ri_population_find(population, addr);

	vote->nodes++;
	if (object != RI_NONE) {
		const struct ri_object *o = &population->objects[object];

		if (o->addr != addr || o->type != link->type ||
		    o->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS))
			return;
		vote->known++;
	} else if (may_be_element(votes, link, addr)) {
		vote->likely++;
		if (vote->sample_count < SAMPLE_MAX)
			vote->sample[vote->sample_count++] = addr;
	} else {
		return;
	}
	*ret_fits = true;
}

static void ask_head(struct ri_votes *votes, const struct ri_chain_link *link, struct vote *vote,
		     struct ri_place_head *head)
{
	struct walk walk = { .votes = votes, .link = link, .shape = &vote->shape };
	size_t fitting = 0;

	head->length = UINT64_MAX;
	if (!is_set_up(votes, &vote->shape, head->addr))
		return;
	if (link->kind == RI_LINK_LIST)
		walk_list(&walk, head->addr);
	else
		walk_chain(&walk, head->addr);
	if (!walk.is_broken && walk.length < WALK_MAX)
		head->length = walk.length;
	vote->breaks += walk.is_broken;
	vote->heads += walk.checked || walk.is_broken;
	for (size_t i = 0; i < walk.checked; i++) {
		bool fits = false;

		ask_node(votes, link, vote, walk.nodes[i], &fits);
		fitting += fits;
	}
	vote->several += fitting > 1;
}

static void ask_place(struct ri_votes *votes, struct ri_head_place *place, uint32_t index,
		      struct vote *vote)
{
	const struct ri_chain_link *link = &votes->links.items[index];

	vote->link = index;
	for (size_t i = 0; i < place->heads.count; i++)
		ask_head(votes, link, vote, &place->heads.items[i]);
}

/*
 * Decisions
 */

static uint64_t fitting_of(const struct vote *vote)
{
	return vote->known + vote->likely;
}

/* At most one in ten, or one of a few. */
static bool is_few(uint64_t bad, uint64_t all)
{
	return bad * 10 <= all || (bad == 1 && all > NODES_MIN);
}

/* Whether the place is the link itself: what hangs there is in a list, and heads none. */
static bool is_link_itself(const struct ri_votes *votes, const struct ri_head_place *place,
			   const struct ri_chain_link *link)
{
	const struct ri_type *type = type_of(votes, link)->type;

	return place->owner && ri_types_are_same(place->owner, type) &&
	       place->offset_bytes == link->link_offset;
}

static void put_group(struct ri_votes *votes, const struct ri_head_place *place,
		      const struct vote *vote, enum ri_inferred_group_state state,
		      const char *rival)
{
	const struct ri_chain_link *link = &votes->links.items[vote->link];
	struct ri_inferred_group *group = ri_push(&votes->result->items);
	struct ri_strings *strings = votes->strings;

	group->state = state;
	group->kind = vote->shape.kind;
	group->is_hash = place->is_hash;
	group->variable = place->variable;
	group->head_struct = place->owner ? ri_strings_add(strings, place->owner->name) : NULL;
	group->head_member = place->owner ? place->path : NULL;
	group->first = ri_strings_add(strings, vote->shape.first);
	group->last = vote->shape.last ? ri_strings_add(strings, vote->shape.last) : NULL;
	group->element = ri_strings_add(strings, type_of(votes, link)->type->name);
	group->link = link->path;
	group->next = link->next;
	group->prev = link->prev;
	group->rival = rival;
	group->heads = vote->heads;
	group->nodes = vote->nodes;
	group->fitting = fitting_of(vote);
	group->breaks = vote->breaks;
}

static void decide(struct ri_votes *votes, struct ri_head_place *place, const struct vote *best,
		   uint64_t second, uint32_t second_link)
{
	const struct ri_chain_link *link = &votes->links.items[best->link];
	uint64_t fitting = fitting_of(best);
	const char *rival = NULL;

	if (!fitting || fitting * 2 < best->nodes)
		return; /* something else hangs there */
	if (fitting < NODES_MIN || !best->several) {
		put_group(votes, place, best, RI_GROUP_TOO_FEW, NULL);
		return;
	}
	if (!is_few(best->nodes - fitting, best->nodes) || second * 2 > fitting)
		rival = second * 2 > fitting ?
				ri_strings_format(votes->strings, "%s.%s",
						  type_of(votes, &votes->links.items[second_link])
							  ->type->name,
						  votes->links.items[second_link].path) :
				"other types";
	else if (!best->known && !link->is_at_element)
		rival = ri_votes_rival(votes, link, best->sample, best->sample_count);
	if (rival) {
		put_group(votes, place, best, RI_GROUP_AMBIGUOUS, rival);
		return;
	}
	if (!is_few(best->breaks, best->heads) && !(best->breaks == 1 && fitting > NODES_MIN)) {
		put_group(votes, place, best, RI_GROUP_BROKEN, NULL);
		return;
	}
	put_group(votes, place, best, RI_GROUP_ACCEPTED, NULL);
	if (!place->is_hash && place->owner) {
		struct vote again = { .shape = best->shape };

		/* lengths are those of the last link that was tried */
		ask_place(votes, place, best->link, &again);
		votes->result->items.items[votes->result->items.count - 1].count =
			ri_place_length(votes, place);
	}
}

static void vote_on(struct ri_votes *votes, struct ri_head_place *place)
{
	struct vote best = { 0 };
	uint64_t second = 0;
	uint32_t second_link = 0;

	for (uint32_t i = 0; i < votes->links.count; i++) {
		const struct ri_chain_link *link = &votes->links.items[i];
		struct vote vote = { 0 };

		if (is_link_itself(votes, place, link) ||
		    !ri_head_shape_of(votes->input->types, place->head, link, &vote.shape))
			continue;
		ask_place(votes, place, i, &vote);
		if (fitting_of(&vote) > fitting_of(&best) ||
		    (fitting_of(&vote) == fitting_of(&best) && vote.known > best.known)) {
			second = fitting_of(&best);
			second_link = best.link;
			best = vote;
		} else if (fitting_of(&vote) > second) {
			second = fitting_of(&vote);
			second_link = i;
		}
	}
	/* what is known outweighs what merely fits */
	if (best.known * 2 > fitting_of(&best))
		second = 0;
	decide(votes, place, &best, second, second_link);
}

/* Whether the head of `a` is what `b` chains. */
static bool is_chained_by(const struct ri_inferred_group *a, const struct ri_inferred_group *b)
{
	return a->head_struct && !strcmp(a->head_struct, b->element) &&
	       !strcmp(a->head_member, b->link);
}

/* Of two places each of which would be the head of the other, the one with longer chains is;
 * of equal ones neither. */
static void settle_roles(struct ri_inferred_groups *result)
{
	for (size_t i = 0; i < result->items.count; i++) {
		struct ri_inferred_group *a = &result->items.items[i];

		for (size_t k = 0; k < result->items.count && a->state == RI_GROUP_ACCEPTED; k++) {
			const struct ri_inferred_group *b = &result->items.items[k];

			if (i == k || b->state != RI_GROUP_ACCEPTED || !is_chained_by(a, b) ||
			    b->fitting * a->heads < a->fitting * b->heads)
				continue;
			a->state = RI_GROUP_AMBIGUOUS;
			a->rival = "a link of another group";
		}
	}
}

struct ri_inferred_groups *ri_group_votes_take(const struct ri_group_votes_input *input)
{
	struct ri_votes votes = {
		.input = input,
		.result = ri_calloc(1, sizeof(*votes.result)),
		.strings = ri_strings_create(),
		.budget = VISITS_AT_LEAST + VISITS_PER_BLOCK * (uint64_t)input->heap->block_count,
	};

	votes.result->strings = votes.strings;
	ri_reader_init(&votes.reader, input->image);
	ri_chain_links(input->layout, input->types, votes.strings, &votes.links);
	if (votes.links.count)
		ri_places_find(&votes);
	for (size_t i = 0; i < votes.places.count; i++)
		vote_on(&votes, &votes.places.items[i]);
	settle_roles(votes.result);
	ri_places_deinit(&votes.places);
	ri_address_map_deinit(&votes.shape_of_block);
	ri_vec_deinit(&votes.links);
	return votes.result;
}
