/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lost blocks are objects, and which may be: see lost.h.
 *
 * Candidates are used blocks with neither object nor type whose size is what the
 * allocator gives for a counted type that pointers and groups alone identify.  For each
 * such type the content is weighed word by word:
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
#include "census/lost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "census/extents.h"
#include "census/finder.h"
#include "census/type_walk.h"
#include "profile/infer.h"

#define EVIDENT_SCORE 3
#define SCORE_OBJECT 2       /* a pointer to an object of its type */
#define SCORE_FITS 1         /* to a block of its type's size, or to itself */
#define RIVALS_MAX 256       /* structs of one size: with more nothing is evident */
#define DOUBTS_MAX 64        /* sets of types; the rest is told as one */
#define NAMES_MAX 4

/* A struct that is no counted type and may be what a block holds. */
struct rival {
	const struct ri_type *type;
	uint32_t shape;          /* RI_NONE: not laid out yet */
};

struct search {
	const struct ri_lost_input *input;
	struct ri_lost *lost;
	struct ri_shapes *shapes; /* of its own: the census' stay as they are */
	struct ri_finder finder;  /* for its questions about sizes alone */
	uint32_t *types;         /* candidates among layout->types, by ascending extent */
	size_t type_count;
	uint32_t *flexible;      /* those of them that end in an array without a length */
	size_t flexible_count;
	bool no_objects;
	bool *is_missing;        /* per layout type: the user names it and it has no object */
	uint32_t *block_object;  /* see extents.h */
	bool *is_typed;          /* per block */
	RI_VEC(uint64_t) sizes;  /* of the blocks that look evident, ascending */
	RI_VEC(struct rival) rivals; /* by ascending size */
};

struct weight {
	bool is_possible, is_strict;
	unsigned score;
};

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

static void list_types(struct search *s)
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
static size_t first_that_may_fit(const struct search *s, uint64_t usable)
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

/*
 * Content
 */

static bool is_live(const struct search *s, const struct ri_counted_type *type, uint64_t addr)
{
	const struct ri_convention *c = &s->input->layout->conventions.items[type->convention];
	int64_t count;

	return ri_count_read(s->input->image, addr + (uint64_t)type->header_offset, &c->counts[0],
			     &count) == RI_COUNT_LIVE;
}

static bool is_poison(const struct search *s, const struct ri_counted_type *type, uint64_t value)
{
	const uint64_t linux_poison[] = { 0x100, 0x122, 0x200, 0xdead000000000100,
					  0xdead000000000122, 0xdead000000000200 };
	const struct ri_convention *c =
		type ? &s->input->layout->conventions.items[type->convention] : NULL;

	for (size_t i = 0; i < sizeof(linux_poison) / sizeof(linux_poison[0]); i++)
		if (value == linux_poison[i])
			return true;
	for (size_t i = 0; c && i < c->poison_count; i++)
		if (value == c->poison[i])
			return true;
	return false;
}

static bool is_used_block(const struct search *s, uint32_t block)
{
	return block != RI_NONE && s->input->heap->blocks[block].state == RI_BLOCK_USED;
}

/* A pointer to counted type `pointee`. */
static void weigh_counted(const struct search *s, uint32_t pointee, uint64_t value, uint32_t block,
			  struct weight *weight)
{
	const struct ri_population *population = s->input->population;
	const struct ri_counted_type *type = &population->types[pointee];
	uint32_t o = ri_population_find(population, value);

	for (; o != RI_NONE; o = population->objects[o].parent) {
		const struct ri_object *object = &population->objects[o];

		if (object->type != pointee || object->addr != value)
			continue;
		if (object->state & RI_OBJECT_FREED)
			break;
		weight->score += SCORE_OBJECT;
		return;
	}
	if (is_used_block(s, block) && s->block_object[block] == RI_NONE &&
	    value == s->input->heap->blocks[block].addr + type->front_bytes &&
	    ri_finder_fits(type->extent_bytes, s->input->heap->blocks[block].size_bytes) &&
	    is_live(s, type, value))
		weight->score += SCORE_FITS;
	else
		weight->is_strict = false;
}

/* A pointer to a plain struct. */
static void weigh_plain(const struct search *s, const struct ri_type *pointee, uint64_t value,
			uint32_t block, struct weight *weight)
{
	const struct ri_block *b;

	if (block == RI_NONE) {
		weight->is_strict &= !ri_heap_find_region(s->input->heap, value);
		return;
	}
	b = &s->input->heap->blocks[block];
	if (b->state != RI_BLOCK_USED || pointee->size_bytes > ri_extents_block_end(b) - value)
		weight->is_strict = false;
	else if (value == b->addr && ri_finder_fits(pointee->size_bytes, b->size_bytes))
		weight->score += SCORE_FITS;
}

/* A link word, known or by its pointee's look: leads to itself, elsewhere, or was poisoned. */
static bool is_self_link(const struct ri_slot *slot, uint64_t base, uint64_t value)
{
	uint64_t place = base + slot->offset_bytes;

	return value == place || value == place - 8;
}

static void weigh_word(const struct search *s, const struct ri_counted_type *type,
		       const struct ri_slot *slot, uint64_t base, uint64_t value,
		       struct weight *weight)
{
	bool is_link = slot->kind == RI_SLOT_LINK || slot->kind == RI_SLOT_HEAD;
	uint32_t block;

	if (is_link || (slot->pointee && slot->pointee->size_bytes <= 2 * sizeof(value))) {
		if (is_self_link(slot, base, value)) {
			weight->score += SCORE_FITS;
			return;
		}
		if (is_link || is_poison(s, type, value))
			return;
	}
	if (!ri_image_find(s->input->image, value)) {
		weight->is_possible = false;
		return;
	}
	block = ri_heap_find(s->input->heap, value);
	if (slot->pointee_type < s->input->population->type_count)
		weigh_counted(s, slot->pointee_type, value, block, weight);
	else if (slot->pointee)
		weigh_plain(s, slot->pointee, value, block, weight);
}

/* What the words of a `shape` at `base` say; `type` is null for a plain struct. */
static struct weight weigh(const struct search *s, const struct ri_counted_type *type,
			   uint32_t shape_index, uint64_t base)
{
	const struct ri_shape *shape = &s->shapes->shapes.items[shape_index];
	struct weight weight = { true, true, 0 };

	for (size_t i = 0; i < shape->slot_count && weight.is_possible; i++) {
		const struct ri_slot *slot = &shape->slots[i];
		uint64_t value;

		if (slot->in_union || slot->kind == RI_SLOT_OTHER ||
		    slot->kind == RI_SLOT_HEADER || slot->kind == RI_SLOT_VOID_POINTER)
			continue;
		if (!ri_image_read_u64(s->input->image, base + slot->offset_bytes, &value))
			weight.is_possible = false;
		else if (value)
			weigh_word(s, type, slot, base, value, &weight);
	}
	return weight;
}

static struct weight weigh_type(const struct search *s, uint32_t index, uint64_t start)
{
	const struct ri_counted_type *type = &s->input->layout->types.items[index];

	if (!is_live(s, type, start + type->front_bytes))
		return (struct weight){ false, false, 0 };
	return weigh(s, type, ri_shapes_counted(s->shapes, type, index), start);
}

/*
 * Rivals: structs that explain a block as well
 */

static bool add_rival(const struct ri_type *type, void *data)
{
	struct search *s = data;
	size_t low = 0, high = s->sizes.count;

	while (low < high) { /* the first block that is no smaller */
		size_t middle = low + (high - low) / 2;

		if (s->sizes.items[middle] < type->size_bytes)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < s->sizes.count && ri_finder_fits(type->size_bytes, s->sizes.items[low]))
		*ri_push(&s->rivals) = (struct rival){ type, RI_NONE };
	return true;
}

static int compare_rivals(const void *a, const void *b)
{
	const struct rival *x = a, *y = b;

	return (x->type->size_bytes > y->type->size_bytes) -
	       (x->type->size_bytes < y->type->size_bytes);
}

static size_t first_rival(const struct search *s, uint64_t usable)
{
	size_t low = 0, high = s->rivals.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t size_bytes = s->rivals.items[middle].type->size_bytes;

		if (size_bytes <= usable && !ri_finder_fits(size_bytes, usable))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether another struct explains the block at least as well as `score`. */
static bool has_rival(struct search *s, const struct ri_lost_object *object, uint32_t block,
		      unsigned score)
{
	const struct ri_block *b = &s->input->heap->blocks[block];
	const struct ri_type *own = s->input->layout->types.items[object->type].type;
	size_t seen = 0;

	for (size_t i = first_rival(s, b->size_bytes); i < s->rivals.count; i++) {
		struct rival *rival = &s->rivals.items[i];
		struct weight weight;

		if (rival->type->size_bytes > b->size_bytes)
			break;
		if (ri_types_are_same(rival->type, own))
			continue;
		if (++seen > RIVALS_MAX)
			return true;
		if (rival->shape == RI_NONE)
			rival->shape = ri_shapes_shape(s->shapes, rival->type,
						       rival->type->name ? rival->type->name : "",
						       RI_CLASS_PLAIN_FIELD);
		weight = weigh(s, NULL, rival->shape, b->addr);
		if (weight.is_possible && weight.is_strict && weight.score >= score)
			return true;
	}
	return false;
}

/*
 * Doubts
 */

static void add_doubt(struct search *s, const char *types, bool is_reachable,
		      const struct ri_block *block)
{
	struct ri_lost_doubt *doubt = NULL;

	for (size_t i = 0; i < s->lost->doubts.count && !doubt; i++)
		if (s->lost->doubts.items[i].is_reachable == is_reachable &&
		    !strcmp(s->lost->doubts.items[i].types, types))
			doubt = &s->lost->doubts.items[i];
	if (!doubt && s->lost->doubts.count >= DOUBTS_MAX) {
		doubt = &s->lost->doubts.items[DOUBTS_MAX - 1];
	} else if (!doubt) {
		doubt = ri_push(&s->lost->doubts);
		doubt->types = ri_strdup(s->lost->doubts.count == DOUBTS_MAX ? "other types"
									      : types);
		doubt->is_reachable = is_reachable;
	}
	if (!doubt->count || block->addr < doubt->first_addr)
		doubt->first_addr = block->addr;
	doubt->count++;
	doubt->bytes += block->size_bytes;
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

static void judge_type(const struct search *s, uint32_t type, const struct ri_block *block,
		       bool is_reachable, struct judgement *judgement)
{
	struct weight weight;

	if (is_reachable && !s->is_missing[type])
		return; /* what leads there would have typed it */
	weight = weigh_type(s, type, block->addr);
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

static struct judgement judge(const struct search *s, const struct ri_block *block,
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

static bool is_candidate(const struct search *s, uint32_t block)
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

static void judge_blocks(struct search *s, nominee_list *nominees)
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
		if (s->no_objects || is_reachable || !j.is_strict || j.is_tie || j.score < EVIDENT_SCORE) {
			add_doubt(s, j.names.text, is_reachable, block);
			free(j.names.text);
			continue;
		}
		*ri_push(nominees) = (struct nominee){
			{ block->addr + s->input->layout->types.items[j.type].front_bytes, j.type },
			b, j.score, j.names.text
		};
	}
}

static int compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The distinct sizes of the nominees' blocks. */
static void list_sizes(struct search *s, const nominee_list *nominees)
{
	size_t kept = 0;

	for (size_t i = 0; i < nominees->count; i++)
		*ri_push(&s->sizes) =
			s->input->heap->blocks[nominees->items[i].block].size_bytes;
	qsort(s->sizes.items, s->sizes.count, sizeof(*s->sizes.items), compare_sizes);
	for (size_t i = 0; i < s->sizes.count; i++)
		if (!kept || s->sizes.items[i] != s->sizes.items[kept - 1])
			s->sizes.items[kept++] = s->sizes.items[i];
	s->sizes.count = kept;
}

static void decide(struct search *s, const nominee_list *nominees)
{
	if (!nominees->count)
		return;
	list_sizes(s, nominees);
	ri_types_each_struct(s->input->types, add_rival, s);
	if (s->rivals.count)
		qsort(s->rivals.items, s->rivals.count, sizeof(*s->rivals.items), compare_rivals);
	for (size_t i = 0; i < nominees->count; i++) {
		const struct nominee *n = &nominees->items[i];

		if (ri_lost_is_stale(s->input->known, n->object.addr))
			continue;
		if (has_rival(s, &n->object, n->block, n->score))
			add_doubt(s, n->names, false, &s->input->heap->blocks[n->block]);
		else
			*ri_push(&s->lost->objects) = n->object;
	}
}

/* Whether a profile of the user names the type itself, rather than its header. */
static bool is_named_by_user(const struct ri_layout *layout, uint32_t type)
{
	uint32_t convention = layout->types.items[type].convention;
	const struct ri_convention *c = &layout->conventions.items[convention];

	return c->mark.file && strncmp(c->mark.file, "<builtin>", strlen("<builtin>")) &&
	       !ri_convention_is_inferred(c) &&
	       (c->base != convention ||
		(!c->is_header && ri_types_are_same(c->type, layout->types.items[type].type)));
}

/* Per type of the layout; a new array. */
static bool *list_missing(const struct ri_lost_input *input)
{
	const struct ri_layout *layout = input->layout;
	const struct ri_population *population = input->population;
	bool *is_missing = ri_calloc(layout->types.count, sizeof(*is_missing));

	for (uint32_t i = 0; i < layout->types.count; i++)
		is_missing[i] = is_named_by_user(layout, i);
	for (size_t i = 0; i < population->object_count; i++)
		if (population->objects[i].type < layout->types.count)
			is_missing[population->objects[i].type] = false;
	return is_missing;
}

/* A block that a control block owns as its payload is lost with it, and nothing else. */
static void mark_payloads(struct search *s)
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

static void find_known(struct search *s)
{
	const struct ri_population *population = s->input->population;

	s->is_missing = list_missing(s->input);
	s->block_object = ri_extents_list_block_objects(population, s->input->heap);
	s->is_typed = ri_calloc(s->input->heap->block_count, sizeof(*s->is_typed));
	for (size_t i = 0; i < population->typed_block_count; i++)
		s->is_typed[population->typed_blocks[i].block] = true;
	mark_payloads(s);
}

struct ri_lost *ri_lost_find(const struct ri_lost_input *input, bool no_objects)
{
	struct ri_lost *lost = ri_calloc(1, sizeof(*lost));
	struct search s = { .input = input, .lost = lost, .no_objects = no_objects };
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
	free(lost);
}

static void tell_doubt(const struct ri_lost_doubt *doubt, struct ri_gaps *gaps)
{
	char *message = ri_lost_doubt_words(doubt);

	ri_gaps_add(gaps, RI_GAP_MATTERS, "census", "%s", message);
	free(message);
}

char *ri_lost_doubt_words(const struct ri_lost_doubt *doubt)
{
	const char *plural = doubt->count == 1 ? "" : "s";
	const char *first = doubt->count == 1 ? "" : "the first at ";

	if (doubt->is_reachable)
		return ri_format("no object of type %s was found, but %" PRIu64
				 " used block%s (%" PRIu64 " bytes) that no typed pointer leads "
				 "to may be such: %s0x%" PRIx64,
				 doubt->types, doubt->count, plural, doubt->bytes, first,
				 doubt->first_addr);
	return ri_format("%" PRIu64 " lost block%s (%" PRIu64 " bytes) may be %s of type %s, "
			 "which nothing but pointers identifies: %s0x%" PRIx64,
			 doubt->count, plural, doubt->bytes,
			 doubt->count == 1 ? "an object" : "objects", doubt->types, first,
			 doubt->first_addr);
}

void ri_lost_tell(const struct ri_lost *lost, const struct ri_lost_input *input,
		  struct ri_gaps *gaps)
{
	bool *is_missing = list_missing(input);

	for (uint32_t i = 0; i < input->layout->types.count; i++)
		if (is_missing[i])
			ri_gaps_add(gaps, RI_GAP_TOLD, "census",
				    "the profile names type %s, and no object of it was found",
				    input->layout->types.items[i].name);
	for (size_t i = 0; i < lost->doubts.count; i++)
		tell_doubt(&lost->doubts.items[i], gaps);
	free(is_missing);
}
