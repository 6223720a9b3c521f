/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lost blocks are objects, and which may be: see lost.h.
 *
 * Candidates are used blocks with neither object nor type whose size is what the
 * allocator gives for a counted type that pointers and groups alone identify.  For each
 * such type the content is weighed word by word (lost_weigh.c, lost_rivals.c):
 *
 *	ruled out   the count is not alive, or a pointer to a struct leads nowhere
 *	possible    nothing speaks against it
 *	evident     every pointer to a struct is null or leads to what it should, some of
 *	            that is no coincidence (EVIDENT_SCORE), nothing leads to the block,
 *	            and no other struct of the program explains the content as well
 *
 * A pointer to an object of its type says most, an empty list head or link and a block
 * of the right size something; null says nothing.  Words that may hold anything (void
 * pointers, link words of known groups, unions) are no evidence against a type.
 *
 * Evident objects go into a census of their own, which follows their pointers; what is
 * possible is told.  Cost: one pass over the blocks, a few words for each that fits;
 * where any is evident, one pass over the program's structs.
 *
 * Blind spots: several objects in one block, types without a struct pointer that is set
 * (they stay possible), types that the debug information does not tell.
 */
#include "census/lost_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "census/extents.h"

#define EVIDENT_SCORE 3
#define NAMES_MAX 4

/*
 * Candidate types
 */

static bool has_magic(const struct ri_convention *c)
{
	for (size_t i = 0; i < c->magic_count; i++)
		if (c->magics[i].field.is_present)
			return true;
	return false;
}

static bool is_known_by_pointers_alone(const struct ri_layout *layout, uint32_t index)
{
	const struct ri_counted_type *type = &layout->types.items[index];
	const struct ri_convention *c = &layout->conventions.items[type->convention];

	return type->type && type->extent_bytes && type->container == RI_LAYOUT_NONE &&
	       c->count_count && !has_magic(c) && !c->descriptor.is_present;
}

static int compare_extents(const void *a, const void *b, void *data)
{
	const struct ri_layout *layout = data;
	uint64_t x = layout->types.items[*(const uint32_t *)a].extent_bytes;
	uint64_t y = layout->types.items[*(const uint32_t *)b].extent_bytes;

	return (x > y) - (x < y);
}

static void list_types(struct ri_lost_search *s)
{
	const struct ri_layout *layout = s->input->layout;

	s->types = ri_calloc(layout->types.count, sizeof(*s->types));
	s->flexible = ri_calloc(layout->types.count, sizeof(*s->flexible));
	for (uint32_t i = 0; i < layout->types.count; i++) {
		if (!is_known_by_pointers_alone(layout, i))
			continue;
		if (ri_finder_has_tail(&s->finder, &layout->types.items[i]))
			s->flexible[s->flexible_count++] = i;
		else
			s->types[s->type_count++] = i;
	}
	if (s->type_count)
		qsort_r(s->types, s->type_count, sizeof(*s->types), compare_extents,
			(void *)layout);
}

/* The first candidate whose extent may fill `usable` bytes. */
static size_t first_that_may_fit(const struct ri_lost_search *s, uint64_t usable)
{
	size_t low = 0, high = s->type_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t extent =
			s->input->layout->types.items[s->types[middle]].extent_bytes;

		if (extent <= usable && !ri_finder_fits(extent, usable))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Names of types joined by "or". */
struct names {
	char *text;
	size_t count;
};

static void add_name(struct names *names, const char *name)
{
	char *text;

	if (names->count++ >= NAMES_MAX)
		return;
	text = names->count == NAMES_MAX ? ri_format("%s or others", names->text)
	       : names->text		 ? ri_format("%s or %s", names->text, name)
					 : ri_strdup(name);
	free(names->text);
	names->text = text;
}

/*
 * Blocks
 */

/* The best explanation of one block so far. */
struct judgement {
	struct names names;
	uint32_t type;           /* RI_NONE: none yet */
	unsigned score;
	bool is_strict, is_tie;
};

static void judge_type(const struct ri_lost_search *s, uint32_t type, const struct ri_block *block,
		       bool is_reachable, struct judgement *judgement)
{
	struct ri_lost_weight weight;

	if (is_reachable && !s->is_missing[type])
		return; /* what leads there would have typed it */
	weight = ri_lost_weigh_type(s, type, block->addr);
	if (!weight.is_possible)
		return;
	add_name(&judgement->names, s->input->layout->types.items[type].name);
	if (judgement->type != RI_NONE && weight.score <= judgement->score) {
		judgement->is_tie |= weight.score == judgement->score;
		return;
	}
	judgement->type = type;
	judgement->score = weight.score;
	judgement->is_strict = weight.is_strict;
	judgement->is_tie = false;
}

static struct judgement judge(const struct ri_lost_search *s, const struct ri_block *block,
			      bool is_reachable)
{
	const struct ri_layout *layout = s->input->layout;
	struct judgement judgement = { .type = RI_NONE };

	for (size_t i = first_that_may_fit(s, block->size_bytes);
	     i < s->type_count &&
	     layout->types.items[s->types[i]].extent_bytes <= block->size_bytes;
	     i++)
		judge_type(s, s->types[i], block, is_reachable, &judgement);
	for (size_t i = 0; i < s->flexible_count; i++)
		if (layout->types.items[s->flexible[i]].extent_bytes <= block->size_bytes)
			judge_type(s, s->flexible[i], block, is_reachable, &judgement);
	return judgement;
}

static bool is_candidate(const struct ri_lost_search *s, uint32_t block)
{
	return s->input->heap->blocks[block].state == RI_BLOCK_USED &&
	       s->block_object[block] == RI_NONE && !s->is_typed[block];
}

/* A block that looks evident, until its rivals were seen. */
struct nominee {
	struct ri_lost_object object;
	uint32_t block;
	unsigned score;
	char *names;             /* what is told if it is not */
};

typedef RI_VEC(struct nominee) nominee_list;

static void judge_blocks(struct ri_lost_search *s, nominee_list *nominees)
{
	const struct ri_heap *heap = s->input->heap;
	size_t object_count = s->input->population->object_count;

	for (uint32_t b = 0; b < heap->block_count; b++) {
		const struct ri_block *block = &heap->blocks[b];
		bool is_reachable = s->input->graph->reach[object_count + b] & RI_REACH_ANY;
		struct judgement j;

		if (!is_candidate(s, b))
			continue;
		j = judge(s, block, is_reachable);
		if (j.type == RI_NONE)
			continue;
		if (s->no_objects || is_reachable || !j.is_strict || j.is_tie ||
		    j.score < EVIDENT_SCORE) {
			ri_lost_add_doubt(s->lost, j.names.text, is_reachable, block);
			free(j.names.text);
			continue;
		}
		*ri_push(nominees) = (struct nominee){
			{ block->addr + s->input->layout->types.items[j.type].front_bytes, j.type },
			b, j.score, j.names.text
		};
	}
}

static void decide(struct ri_lost_search *s, const nominee_list *nominees)
{
	if (!nominees->count)
		return;
	for (size_t i = 0; i < nominees->count; i++)
		*ri_push(&s->sizes) =
			s->input->heap->blocks[nominees->items[i].block].size_bytes;
	ri_lost_list_rivals(s);
	for (size_t i = 0; i < nominees->count; i++) {
		const struct nominee *n = &nominees->items[i];

		if (ri_lost_is_stale(s->input->known, n->object.addr))
			continue;
		if (ri_lost_has_rival(s, &n->object, n->block, n->score))
			ri_lost_add_doubt(s->lost, n->names, false,
					  &s->input->heap->blocks[n->block]);
		else
			*ri_push(&s->lost->objects) = n->object;
	}
}

/* A block that a control block owns as its payload is lost with it, and nothing else. */
static void mark_payloads(struct ri_lost_search *s)
{
	const struct ri_population *population = s->input->population;
	const struct ri_heap *heap = s->input->heap;

	for (size_t i = 0; i < population->object_count; i++) {
		const struct ri_object *object = &population->objects[i];
		const struct ri_counted_type *type = &population->types[object->type];
		uint32_t block;
		int64_t payload;

		if (!type->payload.is_present || !type->payload_is_pointer ||
		    !ri_field_read(s->input->image, ri_object_header(population, object),
				   &type->payload, &payload))
			continue;
		block = heap->block_count ? ri_heap_find(heap, (uint64_t)payload) : RI_NONE;
		if (block != RI_NONE)
			s->is_typed[block] = true;
	}
}

static void find_known(struct ri_lost_search *s)
{
	const struct ri_population *population = s->input->population;

	s->is_missing = ri_lost_list_missing(s->input);
	s->block_object = ri_extents_list_block_objects(population, s->input->heap);
	s->is_typed = ri_calloc(s->input->heap->block_count, sizeof(*s->is_typed));
	for (size_t i = 0; i < population->typed_block_count; i++)
		s->is_typed[population->typed_blocks[i].block] = true;
	mark_payloads(s);
}

struct ri_lost *ri_lost_find(const struct ri_lost_input *input, bool no_objects)
{
	struct ri_lost *lost = ri_calloc(1, sizeof(*lost));
	struct ri_lost_search s = { .input = input, .lost = lost, .no_objects = no_objects };
	nominee_list nominees = { 0 };

	if (!input->types || input->heap->foreign_allocator)
		return lost;
	s.finder = (struct ri_finder){ .dwarf = input->types };
	s.shapes = ri_shapes_create(input->layout, input->types);
	list_types(&s);
	if (s.type_count || s.flexible_count) {
		find_known(&s);
		judge_blocks(&s, &nominees);
		decide(&s, &nominees);
	}
	for (size_t i = 0; i < nominees.count; i++)
		free(nominees.items[i].names);
	ri_vec_deinit(&nominees);
	ri_vec_deinit(&s.sizes);
	ri_vec_deinit(&s.rivals);
	ri_shapes_destroy(s.shapes);
	free(s.types);
	free(s.flexible);
	free(s.is_missing);
	free(s.block_object);
	free(s.is_typed);
	return lost;
}

void ri_lost_destroy(struct ri_lost *lost)
{
	if (!lost)
		return;
	for (size_t i = 0; i < lost->doubts.count; i++)
		free(lost->doubts.items[i].types);
	ri_vec_deinit(&lost->doubts);
	ri_vec_deinit(&lost->objects);
	ri_vec_deinit(&lost->stale);
	ri_vec_deinit(&lost->pools);
	free(lost);
}
