/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which objects that their magic alone tells, or their content (lost.c), are none, by the counts of what they point at.
 *
 * A freed object that was whole when its block was handed out again, and fits it, looks like
 * an object in all that it holds itself.  But what it points at has given its reference back.
 * Each of its words that leads to an object of sound state is a vote:
 *
 *	against   the word owns, and the other has more certain owners than its count says; or it
 *	          is one that holds nothing (a link, a borrower), and the other has fewer
 *	          holders than its count says: were the place no member, it might be one
 *	for       the word owns, and without it the other would have too few
 *
 * Most against decide, if they are two, or if the object's own count is not what holds it
 * either, or something else claims its place, or it has not even a magic, or nothing certain
 * leads to it and none of its typed pointers to an object: one alone may be the other object's
 * own fault.  What is leaked has votes for it, or none.
 *
 * An object whose own count is not what holds it, and for which no vote speaks, is none either
 * where the count of another type is: of one that claims the same place by its magic, or, if
 * no typed pointer of the object leads to an object, of any type without magic that fits the
 * block.  That is then what the block holds.
 *
 * Cost: the edges of objects that their magic alone tells.  Blind spots: remnants whose
 * pointers are null or lead to objects that something doubtful may hold.
 */
#include <stdlib.h>

#include "census/finder.h"
#include "census/lost.h"

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool ri_lost_is_stale(const struct ri_lost *lost, uint64_t addr)
{
	return lost && lost->stale.count &&
	       bsearch(&addr, lost->stale.items, lost->stale.count, sizeof(addr),
		       compare_addresses);
}

struct votes {
	unsigned against, in_favour, typed;
};

struct search {
	const struct ri_lost_input *input;
	const struct ri_population *population;
	const struct ri_holders *holders;
	const struct ri_rival **rivals; /* per object: what else claims its place, or null */
};

/* Whether the counts of `object` mean anything for others. */
static bool is_comparable(const struct ri_object *object)
{
	return !(object->state &
		 (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS | RI_OBJECT_MAGIC_BAD |
		  RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED | RI_OBJECT_IMMORTAL |
		  RI_OBJECT_DESCRIPTOR_BAD | RI_OBJECT_IGNORE | RI_OBJECT_NOT_LEAK));
}

static void vote(const struct search *s, const struct ri_edge *edge, struct votes *votes)
{
	const struct ri_object *object = &s->population->objects[edge->target];
	int64_t certain = s->holders->certain[edge->target];
	int64_t possible = s->holders->possible[edge->target];

	votes->typed += !(edge->flags & (RI_EDGE_UNTYPED | RI_EDGE_UNSURE | RI_EDGE_INTERIOR |
					 RI_EDGE_LINK | RI_EDGE_EMBEDS));
	if (!is_comparable(object) || edge->word == RI_NONE || edge->flags & RI_EDGE_POSSIBLE)
		return;
	if (edge->flags & (RI_EDGE_BORROWS | RI_EDGE_LINK))
		votes->against += certain + possible < object->count;
	else if (certain > object->count)
		votes->against++;
	else
		votes->in_favour += certain - 1 + possible < object->count;
}

static bool is_what_holds(const struct search *s, uint32_t o, int64_t count)
{
	return count > 0 && count >= s->holders->certain[o] &&
	       count <= (int64_t)s->holders->certain[o] + s->holders->possible[o];
}

/* Whether a type that has no magic fits the object's block and has a count there that is what
 * holds it. */
static bool has_better_type(const struct search *s, uint32_t o)
{
	const struct ri_layout *layout = s->input->layout;
	const struct ri_block *block = &s->input->heap->blocks[s->population->objects[o].block];

	for (size_t i = 0; i < layout->types.count; i++) {
		const struct ri_counted_type *type = &layout->types.items[i];
		const struct ri_convention *c = &layout->conventions.items[type->convention];
		int64_t count;

		if (i == s->population->objects[o].type || !type->type || c->magic_count ||
		    !c->count_count || c->descriptor.is_present ||
		    !ri_finder_fits(type->extent_bytes, block->size_bytes) ||
		    ri_count_read(s->input->image,
				  block->addr + type->front_bytes + (uint64_t)type->header_offset,
				  &c->counts[0], &count) != RI_COUNT_LIVE)
			continue;
		if (is_what_holds(s, o, count))
			return true;
	}
	return false;
}

static bool is_denied(const struct search *s, uint32_t o)
{
	const struct ri_object *object = &s->population->objects[o];
	bool is_held = is_what_holds(s, o, object->count);
	const struct ri_rival *rival = s->rivals[o];
	struct votes votes = { 0 };

	for (uint64_t e = s->holders->first[o]; e < s->holders->first[o + 1]; e++)
		if (s->holders->edges[e].target < s->holders->object_count &&
		    s->holders->edges[e].target != o)
			vote(s, &s->holders->edges[e], &votes);
	if (votes.against > votes.in_favour &&
	    (votes.against > 1 || !is_held || rival || object->found == RI_FOUND_CONTENT ||
	     (!votes.typed && !s->holders->certain[o])))
		return true;
	if (is_held || votes.in_favour)
		return false;
	return (rival && is_comparable(&rival->claim) &&
		is_what_holds(s, o, rival->claim.count)) ||
	       (!votes.typed && s->holders->certain[o] && has_better_type(s, o));
}

static bool is_in_question(const struct search *s, const struct ri_object *object)
{
	const struct ri_heap *heap = s->input->heap;

	return (ri_found_by_looks(object->found) || object->found == RI_FOUND_CONTENT) && object->block < heap->block_count &&
	       heap->blocks[object->block].state == RI_BLOCK_USED &&
	       !(object->state & (RI_OBJECT_DOUBTED_BITS | RI_OBJECT_IGNORE));
}

void ri_stale_find(const struct ri_lost_input *input, const struct ri_holders *holders,
		   struct ri_lost *lost)
{
	const struct ri_population *population = input->population;
	struct search s = { input, population, holders,
			    ri_calloc(population->object_count, sizeof(*s.rivals)) };

	for (size_t i = 0; i < population->rival_count; i++)
		s.rivals[population->rivals[i].object] = &population->rivals[i];
	for (uint32_t o = 0; o < population->object_count; o++)
		if (is_in_question(&s, &population->objects[o]) && is_denied(&s, o))
			*ri_push(&lost->stale) = population->objects[o].addr;
	free(s.rivals);
}
