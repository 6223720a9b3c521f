/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that claim the same bytes, where neither embeds the other: which of them stay.
 *
 * Of two at one address that one stays for which more speaks: what leads to it as what
 * it is (a group, pointers of its type) before its looks, and looks that hold together (a
 * live count, pointers that lead to what they should) before a mere magic.  What was there
 * before the block was used anew may still look like itself, but seldom in all of these.
 *
 * A remnant (remnants.c) that overlaps a better known object, or lies in a block of a
 * known other use, is dropped: what is there are the other's members.
 *
 * Cost: linear; the members of rivals are read.
 */
#include "census/finder.h"

#include <stdlib.h>

#include "census/type_walk.h"

#define NESTING_MAX 16
#define LOOKS (RI_FOUND_MAGIC | RI_FOUND_GUESS | RI_FOUND_HINT)

bool ri_type_begins_with(struct ri_types *types, const struct ri_type *outer,
			 const struct ri_type *inner)
{
	for (unsigned depth = 0; outer && inner && depth < NESTING_MAX; depth++) {
		if (ri_types_are_same(outer, inner))
			return true;
		if (outer->kind != RI_TYPE_STRUCT || !outer->member_count ||
		    outer->members[0].offset_bits)
			return false;
		outer = ri_type_bare(types, outer->members[0].type);
	}
	return false;
}

/* Whether two types at one address are two views of one thing: two headers of a
 * struct. */
static bool stand_together(const struct ri_counted_type *a, const struct ri_counted_type *b)
{
	return a->container != RI_LAYOUT_NONE || b->container != RI_LAYOUT_NONE ||
	       (a->type && a->type == b->type);
}

/* Whether objects[i] claims the address of objects[i - 1] for another type, and
 * neither embeds the other. */
static bool is_rival(const struct ri_finder *finder, size_t i)
{
	const struct ri_object *a = &finder->objects.items[i - 1], *b = &finder->objects.items[i];
	const struct ri_counted_type *t = &finder->types.items[a->type];
	const struct ri_counted_type *u = &finder->types.items[b->type];

	return a->addr == b->addr && !((a->found | b->found) & RI_FOUND_EMBEDDED) &&
	       !stand_together(t, u) && !ri_type_begins_with(finder->dwarf, t->type, u->type) &&
	       !ri_type_begins_with(finder->dwarf, u->type, t->type);
}

/* How much speaks for an object. */
static int evidence_of(struct ri_finder *finder, const struct ri_object *object)
{
	bool looks_alone = !(object->found & ~(uint32_t)LOOKS);
	int score = 4 * __builtin_popcount(object->found & ~(uint32_t)LOOKS);

	score += object->found & RI_FOUND_MAGIC ? 2 : 0;
	score += object->found & RI_FOUND_HINT ? 1 : 0;
	score -= object->state & RI_OBJECT_MAGIC_BAD ? 5 : 0;
	score -= object->state & RI_OBJECT_COUNT_IMPOSSIBLE ? 3 : 0;
	score -= object->state & RI_OBJECT_COUNT_DEAD ? looks_alone ? 4 : 1 : 0;
	score -= object->state & RI_OBJECT_REMNANT ? 8 : 0;
	if (looks_alone)
		score += ri_pointers_balance(finder, object);
	return score;
}

/* What is to become of each object: itself, or another one's index. */
struct fate {
	uint32_t *heir;          /* of a rival that loses: what led to it leads to that */
	bool *is_dropped;
	bool any;
	RI_VEC(struct ri_rival) rivals; /* losers and, until all is carried out, their heirs */
};

/* Of rivals all but the one that more speaks for. */
static void drop_rivals(struct ri_finder *finder, struct fate *fate)
{
	const struct ri_object *objects = finder->objects.items;
	uint32_t best = 0;

	for (uint32_t i = 1; i < finder->objects.count; i++) {
		uint32_t loser = i;

		if (!is_rival(finder, i)) {
			best = i;
			continue;
		}
		if (evidence_of(finder, &objects[i]) > evidence_of(finder, &objects[best])) {
			loser = best;
			best = i;
		}
		fate->heir[loser] = best;
		fate->is_dropped[loser] = fate->any = true;
	}
}

static uint64_t start_of(const struct ri_finder *finder, size_t i)
{
	const struct ri_object *object = &finder->objects.items[i];

	return ri_type_start(&finder->types.items[object->type], object->addr);
}

static uint64_t end_of(const struct ri_finder *finder, size_t i)
{
	const struct ri_object *object = &finder->objects.items[i];

	return ri_type_end(&finder->types.items[object->type], object->addr);
}

static bool is_remnant(const struct ri_object *object)
{
	return object->state & RI_OBJECT_REMNANT;
}

static void drop(struct fate *fate, size_t i)
{
	fate->is_dropped[i] = fate->any = true;
}

/* The remnants in the way of something better known. */
static void drop_remnants(const struct ri_finder *finder, struct fate *fate)
{
	const struct ri_object *objects = finder->objects.items;
	uint64_t last_end = 0, next_start = UINT64_MAX;

	for (size_t i = 0; i < finder->objects.count; i++) {
		uint32_t block = objects[i].block;

		if (!is_remnant(&objects[i])) {
			if (!fate->is_dropped[i] && end_of(finder, i) > last_end)
				last_end = end_of(finder, i);
		} else if (start_of(finder, i) < last_end ||
			   (block != RI_NONE &&
			    finder->block_use[block] != RI_BLOCK_HAS_OBJECT)) {
			drop(fate, i);
		}
	}
	for (size_t i = finder->objects.count; i-- > 0;) {
		if (!is_remnant(&objects[i])) {
			if (!fate->is_dropped[i])
				next_start = start_of(finder, i);
		} else if (end_of(finder, i) > next_start) {
			drop(fate, i);
		}
	}
}

static uint32_t heir_of(const struct fate *fate, uint32_t i)
{
	while (fate->heir[i] != i)
		i = fate->heir[i];
	return i;
}

/* Drops them, and says in place_of[] where each object, or its heir, is now. */
static void carry_out(struct ri_finder *finder, struct fate *fate, uint32_t *place_of)
{
	struct ri_object *objects = finder->objects.items;
	size_t count = finder->objects.count, kept = 0;
	uint32_t *moved = ri_malloc(count * sizeof(*moved));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t heir = heir_of(fate, i);

		if (heir != i && !fate->is_dropped[heir])
			*ri_push(&fate->rivals) = (struct ri_rival){ heir, objects[i] };
	}
	for (uint32_t i = 0; i < count; i++) {
		moved[i] = (uint32_t)kept;
		if (!fate->is_dropped[i])
			objects[kept++] = objects[i];
	}
	for (uint32_t i = 0; i < count; i++) /* a remnant that was dropped may have been the last */
		if (kept && moved[i] >= kept)
			moved[i] = (uint32_t)kept - 1;
	for (size_t i = 0; i < count; i++)
		place_of[i] = moved[heir_of(fate, place_of[i])];
	for (size_t i = 0; i < fate->rivals.count; i++)
		fate->rivals.items[i].object = moved[fate->rivals.items[i].object];
	finder->objects.count = kept;
	free(moved);
}

void ri_rivals_drop(struct ri_finder *finder, uint32_t *place_of,
		    struct ri_population *population)
{
	size_t count = finder->objects.count;
	struct fate fate = { .heir = ri_malloc(count * sizeof(*fate.heir)),
			     .is_dropped = ri_calloc(count, sizeof(*fate.is_dropped)) };

	for (uint32_t i = 0; i < count; i++)
		fate.heir[i] = i;
	drop_rivals(finder, &fate);
	drop_remnants(finder, &fate);
	if (fate.any)
		carry_out(finder, &fate, place_of);
	population->rivals = fate.rivals.items;
	population->rival_count = fate.rivals.count;
	free(fate.heir);
	free(fate.is_dropped);
}
