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
#include "profile/infer.h"

#define VISITS_PER_BLOCK 16
#define VISITS_AT_LEAST  (1u << 20)
#define NODES_MIN        3
#define TYPES_SEEN_MAX   16
#define HEADS_ASKED_MAX  256
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
	uint64_t overlaps;       /* chains that lead into others of the place */
	uint64_t strays;         /* heads whose first node says that it is not the first */
	struct ri_address_map *seen; /* of all nodes, where chains may overlap; else null */
	uint64_t sample[SAMPLE_MAX];
	size_t sample_count;
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
 * Votes
 */

static const struct ri_counted_type *type_of(const struct ri_votes *votes,
					     const struct ri_chain_link *link)
{
	return &votes->input->layout->types.items[link->type];
}

static bool is_inferred_type(const struct ri_votes *votes, uint32_t type)
{
	const struct ri_layout *layout = votes->input->layout;

	return layout->types.items[type].container == RI_LAYOUT_NONE &&
	       layout->types.items[type].type && layout->types.items[type].type->name &&
	       ri_convention_is_inferred(
		       &layout->conventions.items[layout->types.items[type].convention]);
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
	uint32_t object;

	vote->nodes++;
	if (link->is_external && !ri_reader_u64(&votes->reader, node + link->payload_offset, &addr))
		return;
	object = ri_population_find(population, addr);
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
		     struct ri_place_head *head, uint32_t chain)
{
	struct ri_place_walk walk = { .votes = votes, .link = link, .shape = &vote->shape,
			     .seen = vote->seen, .chain = chain };
	size_t fitting = 0;

	head->length = UINT64_MAX;
	if (!ri_place_is_set_up(votes, &vote->shape, head->addr))
		return;
	ri_place_walk_head(&walk, head->addr);
	if (!walk.is_broken && walk.length < RI_WALK_MAX)
		head->length = walk.length;
	vote->breaks += walk.is_broken;
	vote->overlaps += walk.overlaps;
	vote->strays += walk.is_broken && walk.good < 1;
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

	struct ri_address_map seen = { 0 };

	vote->link = index;
	if (link->kind == RI_LINK_SLIST)
		vote->seen = &seen;
	for (size_t i = 0; i < place->heads.count; i++)
		ask_head(votes, link, vote, &place->heads.items[i], (uint32_t)i);
	vote->seen = NULL;
	ri_address_map_deinit(&seen);
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

/* Whether the head is one pointer, as any that leads to an element. */
static bool is_bare(const struct vote *vote)
{
	return vote->shape.last_offset < 0;
}

/* Whether the place is the link itself: what hangs there is in a list, and heads none. */
static bool is_link_itself(const struct ri_votes *votes, const struct ri_head_place *place,
			   const struct ri_chain_link *link)
{
	const struct ri_type *type = type_of(votes, link)->type;

	if (!place->owner)
		return false;
	/* each word of a link that points at elements, or at links, looks like a plain head */
	if (place->head->kind == RI_TYPE_POINTER)
		return ri_types_are_same(place->owner, type) ||
		       ri_types_are_same(place->owner, link->node);
	return ri_types_are_same(place->owner, type) && place->offset_bytes == link->link_offset;
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
	group->first = vote->shape.first ? ri_strings_add(strings, vote->shape.first) : NULL;
	group->last = vote->shape.last ? ri_strings_add(strings, vote->shape.last) : NULL;
	group->element = ri_strings_add(strings, type_of(votes, link)->type->name);
	group->link = link->path;
	group->next = link->next;
	group->prev = link->prev;
	group->right = link->right;
	group->node = link->is_external ? ri_strings_add(strings, link->node->name) : NULL;
	group->payload = link->payload;
	group->parent = link->parent;
	group->rival = rival;
	group->heads = vote->heads;
	group->nodes = vote->nodes;
	group->fitting = fitting_of(vote);
	group->breaks = vote->breaks;
	group->instances = place->heads.count;
	group->place_index = (uint32_t)(place - votes->places.items);
	group->link_index = vote->link;
}

static void decide(struct ri_votes *votes, struct ri_head_place *place, const struct vote *best,
		   uint64_t second, uint32_t second_link)
{
	const struct ri_chain_link *link = &votes->links.items[best->link];
	uint64_t fitting = fitting_of(best);
	const char *rival = NULL;

	if (!fitting || fitting * 2 < best->nodes || best->overlaps)
		return; /* something else hangs there */
	if (is_bare(best) && (!best->several || best->strays))
		return; /* pointers to elements are many, and few of them heads */
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
	else if (link->is_external && best->known < best->likely)
		rival = "any struct of that size";
	else if (!best->known && !link->is_at_element)
		rival = ri_votes_rival(votes, link, best->sample, best->sample_count);
	if (rival) {
		put_group(votes, place, best, RI_GROUP_AMBIGUOUS, rival);
		return;
	}
	if (!is_few(best->breaks, best->heads) && !(best->breaks == 1 && fitting > NODES_MIN)) {
		if (!is_bare(best))
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

/* The type that most of the objects are of that nodes of the place point at; RI_LAYOUT_NONE where
 * none is known. */
static uint32_t pick_type(struct ri_votes *votes, const struct ri_head_place *place,
			  const struct ri_chain_link *link, const struct ri_head_shape *shape)
{
	const struct ri_population *population = votes->input->population;
	struct { uint32_t type; uint64_t count; } seen[TYPES_SEEN_MAX], best = { RI_LAYOUT_NONE, 0 };
	size_t seen_count = 0;

	for (size_t i = 0; i < place->heads.count && i < HEADS_ASKED_MAX; i++) {
		struct ri_place_walk walk = { .votes = votes, .link = link, .shape = shape };

		ri_place_walk_head(&walk, place->heads.items[i].addr);
		for (size_t n = 0; n < walk.checked; n++) {
			uint64_t addr;
			uint32_t object;
			size_t k = 0;

			if (!ri_reader_u64(&votes->reader, walk.nodes[n] + link->payload_offset, &addr))
				continue;
			object = ri_population_find(population, addr);
			if (object == RI_NONE || population->objects[object].addr != addr)
				continue;
			while (k < seen_count && seen[k].type != population->objects[object].type)
				k++;
			if (k == TYPES_SEEN_MAX)
				continue;
			if (k == seen_count) {
				seen[seen_count].type = population->objects[object].type;
				seen[seen_count++].count = 0;
			}
			if (++seen[k].count > best.count) {
				best.type = seen[k].type;
				best.count = seen[k].count;
			}
		}
	}
	return best.type < votes->input->layout->types.count ? best.type : RI_LAYOUT_NONE;
}

static void vote_on(struct ri_votes *votes, struct ri_head_place *place)
{
	struct vote best = { 0 };
	uint64_t second = 0;
	uint32_t second_link = 0;

	for (uint32_t i = 0; i < votes->links.count; i++) {
		struct ri_chain_link *link = &votes->links.items[i];
		struct vote vote = { 0 };

		if (link->is_external) {
			if (!ri_head_shape_of(votes->input->types, place->head, link, &vote.shape))
				continue;
			link->type = pick_type(votes, place, link, &vote.shape);
			if (link->type == RI_LAYOUT_NONE || !is_inferred_type(votes, link->type))
				continue;
		}
		/* what has no link back says nothing of where a chain begins */
		if ((link->is_plain && link->kind == RI_LINK_SLIST && !place->is_hash) ||
		    is_link_itself(votes, place, link) ||
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

/*
 * What hangs on two heads by one link hangs on one of them: pointers to the first element are
 * many, and a head of one pointer looks like them.  Places claim their nodes in an order: those
 * whose heads are circles or know the last node, tables, then by how much hangs on them, then
 * by how few heads there are.  One that meets a node of another is none.
 */
struct claim {
	uint32_t group, place, link;
	unsigned rank;
	uint64_t fitting, instances;
};

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->fitting != y->fitting)
		return x->fitting > y->fitting ? -1 : 1;
	if (x->instances != y->instances)
		return x->instances < y->instances ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Whether a chain of the place has a node that another has claimed; claims the others. */
static bool claim_nodes(struct ri_votes *votes, const struct claim *claim,
			struct ri_address_map *owner_of)
{
	struct ri_head_place *place = &votes->places.items[claim->place];
	const struct ri_chain_link *link = &votes->links.items[claim->link];
	struct vote vote = { .link = claim->link };
	bool is_met = false;

	ri_head_shape_of(votes->input->types, place->head, link, &vote.shape);
	for (size_t i = 0; i < place->heads.count; i++) {
		struct ri_place_walk walk = { .votes = votes, .link = link, .shape = &vote.shape };

		if (!ri_place_is_set_up(votes, &vote.shape, place->heads.items[i].addr))
			continue;
		ri_place_walk_head(&walk, place->heads.items[i].addr);
		for (size_t k = 0; k < walk.checked; k++) {
			uint64_t word = ri_place_next_word(&walk, walk.nodes[k]);
			uint32_t owner = ri_address_map_find(owner_of, word);

			is_met |= owner != RI_NONE && owner != claim->group;
			if (owner == RI_NONE)
				ri_address_map_set(owner_of, word, claim->group);
		}
	}
	return is_met;
}

static void settle_claims(struct ri_votes *votes)
{
	struct ri_inferred_groups *result = votes->result;
	struct claim *claims = ri_calloc(result->items.count + 1, sizeof(*claims));
	struct ri_address_map owner_of = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; i < result->items.count; i++) {
		const struct ri_inferred_group *group = &result->items.items[i];

		if (group->state == RI_GROUP_ACCEPTED)
			claims[count++] = (struct claim){
				i, group->place_index, group->link_index,
				group->kind == RI_LINK_LIST || group->last ? 0 : group->is_hash ? 1 : 2,
				group->fitting, group->instances };
	}
	qsort(claims, count, sizeof(*claims), compare_claims);
	for (size_t i = 0; i < count; i++)
		if (claim_nodes(votes, &claims[i], &owner_of) && claims[i].rank) {
			result->items.items[claims[i].group].state = RI_GROUP_AMBIGUOUS;
			result->items.items[claims[i].group].rival = "another head";
		}
	ri_address_map_deinit(&owner_of);
	free(claims);
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
	settle_claims(&votes);
	settle_roles(votes.result);
	ri_places_deinit(&votes.places);
	ri_address_map_deinit(&votes.shape_of_block);
	ri_vec_deinit(&votes.links);
	return votes.result;
}
