/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognition by content: see recognise.h.
 *
 *   portraits   of each type with at least SEEDS_MIN known objects, and of each plain struct
 *               with as many typed blocks (a rival): per word, how often which kind stands
 *               there (word_kinds.c), and the value that nearly all have (a magic, a table
 *               of functions, a class)
 *   background  the same over all used blocks of each size that a candidate may have
 *   score       of a candidate block, in nats: the sum over the words of
 *               log(frequency in the portrait / frequency in the background), each within
 *               WORD_NATS_MAX; a constant that is there or not counts more; and half the log
 *               of how many objects the portrait rests on
 *   filling     where nearly all blocks of a size are known objects of one type, the blocks of
 *               that size say nothing against it: then the words are held against those of all
 *               blocks, and how many of the size are of the type counts instead
 *
 * A block is recognised where the best type scores enough by itself and enough more than
 * the best other one; small blocks have to score more, since few words say little.  The
 * count must be alive.  Blind spots: types none of whose objects is known, objects that do
 * not begin a block, types of one layout.
 *
 * Cost: the words of all used blocks of the sizes in question, sampled for portraits and
 * background; each candidate is compared with the portraits that fit its size.
 */
#include "census/recognise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "census/address_map.h"
#include "census/extents.h"
#include "census/finder.h"
#include "census/word_kinds.h"

#define SEEDS_MIN 3
#define SAMPLE_MAX 4096        /* objects per portrait, blocks per background */
#define WORDS_MAX 64           /* of an object that are compared */
#define SIZES_MAX 1024
#define NOT_LOOKED_FOR (RI_NONE - 1)
#define WORD_NATS_MAX 6.0
#define CONSTANT_NATS 5.0
#define CONSTANT_MISSED_NATS (-8.0)
#define CONSTANT_SEEDS_MIN 8
#define POINTERS_MIN 8         /* at one word, that deny that it may be a number */
#define SMOOTHING 0.5
#define KINDS_EXPECTED 8       /* at one word */
#define DRAWN_TO_BACKGROUND 4.0 /* objects that look like the background, added to the seeds */
#define SCORE_MIN 4.0
#define MARGIN_MIN 4.0
#define FILLING_SEEDS_MIN 16   /* known objects of a type that fills a size of blocks */
#define FILLING_TO_OTHERS 9    /* so many for each other block of that size */
#define FILLING_NULL_NATS 1.0  /* at most, of all nulls together */
#define SMALL_BYTES 24
#define SMALL_SCORE_MIN 6.0
#define SMALL_MARGIN_MIN 6.0

/* What the known ones of a type, or of a plain struct, look like. */
struct portrait {
	uint32_t owner;          /* in the counts */
	uint32_t type;           /* index of the counted type, or RI_NONE: a rival */
	uint64_t size_bytes, front_bytes;
	bool has_tail;           /* blocks may be larger */
	uint32_t seeds;          /* objects or blocks known */
	uint32_t sampled;        /* of which so many were looked at */
	uint32_t word_count;
	/* per word: the value of the first, and how many have it */
	uint64_t value[WORDS_MAX];
	uint32_t same[WORDS_MAX];
	uint32_t pointers[WORDS_MAX], numbers[WORDS_MAX]; /* per word: how many are */
};

/* The used blocks of one size, and the portraits of what may lie in them:
 * candidates[first .. first + count). */
struct background {
	uint64_t size_bytes;
	uint32_t owner, blocks, seen, sampled, step;
	uint32_t first, count;
	uint32_t filler, filling; /* the portrait that most objects of such blocks are of, and how
				   * many; RI_NONE: no object is known */
};

struct gallery {
	const struct ri_recognise_input *input;
	const bool *wanted;
	uint64_t least_with_tail; /* size of the smallest wanted type that has one */
	struct ri_address_map counts; /* of kinds, see word_kinds.h */
	uint32_t owner_count;
	uint32_t general, general_words; /* the owner that counts the kinds of all blocks' words */
	RI_VEC(struct portrait) portraits; /* ascending by size */
	RI_VEC(struct background) backgrounds;
	RI_VEC(uint32_t) candidates; /* portraits, by background */
	struct ri_address_map background_of; /* block size to backgrounds[], or NOT_LOOKED_FOR */
};

/* ---- portraits -------------------------------------------------------------- */

static bool is_seed(const struct ri_object *object)
{
	return !(object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS |
				  RI_OBJECT_MAGIC_BAD | RI_OBJECT_COUNT_IMPOSSIBLE |
				  RI_OBJECT_SATURATED | RI_OBJECT_IMMORTAL)) &&
	       object->found & ~(uint32_t)RI_FOUND_GUESS;
}

static void sample(struct gallery *g, struct portrait *portrait, uint64_t start)
{
	for (uint32_t w = 0; w < portrait->word_count; w++) {
		uint64_t value;
		uint32_t kind;

		if (!ri_image_read_u64(g->input->image, start + 8ull * w, &value))
			value = 0;
		if (!portrait->sampled)
			portrait->value[w] = value;
		portrait->same[w] += value == portrait->value[w];
		kind = ri_word_kind(g->input, value);
		portrait->pointers[w] += ri_kind_is_pointer(kind);
		portrait->numbers[w] += ri_kind_is_number(kind);
		ri_kind_counts_add(&g->counts, portrait->owner, w, kind);
	}
	portrait->sampled++;
}

static struct portrait new_portrait(struct gallery *g, uint64_t size_bytes, uint32_t type)
{
	uint64_t words = size_bytes / 8;

	return (struct portrait){ .owner = g->owner_count++,
				  .type = type,
				  .size_bytes = size_bytes,
				  .word_count =
					  (uint32_t)(words < WORDS_MAX ? words : WORDS_MAX) };
}

/* Portraits of the counted types: their objects in blocks of their own. */
static void paint_types(struct gallery *g)
{
	const struct ri_population *population = g->input->population;
	const struct ri_heap *heap = g->input->heap;
	struct portrait *of_type = ri_calloc(population->type_count + 1, sizeof(*of_type));

	for (uint32_t t = 0; t < population->type_count; t++) {
		of_type[t] = new_portrait(g, population->types[t].extent_bytes, t);
		of_type[t].front_bytes = population->types[t].front_bytes;
	}
	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		uint64_t start = ri_extents_object_start(population, object);
		struct portrait *portrait = &of_type[object->type];
		const struct ri_block *block;

		if (!is_seed(object) || object->block == RI_NONE)
			continue;
		block = &heap->blocks[object->block];
		if (block->addr != start || block->state != RI_BLOCK_USED)
			continue;
		portrait->seeds++;
		portrait->has_tail |= !ri_finder_fits(portrait->size_bytes, block->size_bytes);
		if (portrait->sampled < SAMPLE_MAX)
			sample(g, portrait, start);
	}
	for (uint32_t t = 0; t < population->type_count; t++)
		if (of_type[t].seeds >= SEEDS_MIN && of_type[t].word_count)
			*ri_push(&g->portraits) = of_type[t];
	free(of_type);
}

/* Portraits of the plain structs that typed blocks hold. */
static void paint_rivals(struct gallery *g)
{
	const struct ri_population *population = g->input->population;
	const struct ri_shapes *shapes = g->input->shapes;
	struct portrait *of_shape = ri_calloc(shapes->shapes.count + 1, sizeof(*of_shape));

	for (size_t s = 0; s < shapes->shapes.count; s++)
		of_shape[s] = new_portrait(g, shapes->shapes.items[s].element_bytes, RI_NONE);
	for (size_t i = 0; i < population->typed_block_count; i++) {
		const struct ri_typed_block *typed = &population->typed_blocks[i];
		const struct ri_block *block = &g->input->heap->blocks[typed->block];
		struct portrait *portrait = &of_shape[typed->shape];

		if (!typed->is_exact || !ri_finder_fits(portrait->size_bytes, block->size_bytes))
			continue;
		portrait->seeds++;
		if (portrait->sampled < SAMPLE_MAX)
			sample(g, portrait, block->addr);
	}
	for (size_t s = 0; s < shapes->shapes.count; s++)
		if (of_shape[s].seeds >= SEEDS_MIN && of_shape[s].word_count)
			*ri_push(&g->portraits) = of_shape[s];
	free(of_shape);
}

static int by_size(const void *a, const void *b)
{
	const struct portrait *x = a, *y = b;

	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

/* ---- background ------------------------------------------------------------- */

static bool is_wanted(const struct gallery *g, const struct portrait *portrait)
{
	return portrait->type != RI_NONE && portrait->type < g->input->layout->types.count &&
	       g->wanted[portrait->type];
}

static bool may_hold(const struct portrait *portrait, uint64_t usable_bytes)
{
	return ri_finder_fits(portrait->size_bytes, usable_bytes) ||
	       (portrait->has_tail && portrait->size_bytes <= usable_bytes);
}

/* The first portrait that is large enough to fill blocks of `usable_bytes`. */
static size_t first_that_fills(const struct gallery *g, uint64_t usable_bytes)
{
	size_t low = 0, high = g->portraits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t size_bytes = g->portraits.items[middle].size_bytes;

		if (size_bytes <= usable_bytes && !ri_finder_fits(size_bytes, usable_bytes))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool any_may_hold(const struct gallery *g, uint64_t usable_bytes)
{
	if (usable_bytes >= g->least_with_tail)
		return true;
	for (size_t i = first_that_fills(g, usable_bytes);
	     i < g->portraits.count && g->portraits.items[i].size_bytes <= usable_bytes; i++)
		if (is_wanted(g, &g->portraits.items[i]))
			return true;
	return false;
}

/* Notes the smallest wanted type whose blocks may be larger than it. */
static void find_least_with_tail(struct gallery *g)
{
	g->least_with_tail = UINT64_MAX;
	for (size_t i = 0; i < g->portraits.count; i++) {
		const struct portrait *portrait = &g->portraits.items[i];

		if (portrait->has_tail && is_wanted(g, portrait) &&
		    portrait->size_bytes < g->least_with_tail)
			g->least_with_tail = portrait->size_bytes;
	}
}

/* Lists the portraits that may hold blocks of the background's size. */
static void list_candidates(struct gallery *g, struct background *background)
{
	background->first = (uint32_t)g->candidates.count;
	for (size_t i = 0; i < g->portraits.count; i++)
		if (may_hold(&g->portraits.items[i], background->size_bytes))
			*ri_push(&g->candidates) = (uint32_t)i;
	background->count = (uint32_t)g->candidates.count - background->first;
}

static struct background *find_background(struct gallery *g, uint64_t size_bytes)
{
	uint32_t index = ri_address_map_find(&g->background_of, size_bytes);

	return index < g->backgrounds.count ? &g->backgrounds.items[index] : NULL;
}

/* The sizes of used blocks that an object of a wanted type may have. */
static void list_backgrounds(struct gallery *g)
{
	const struct ri_heap *heap = g->input->heap;

	for (size_t b = 0; b < heap->block_count; b++) {
		uint64_t size_bytes = heap->blocks[b].size_bytes;
		struct background *background;

		if (heap->blocks[b].state != RI_BLOCK_USED ||
		    ri_address_map_find(&g->background_of, size_bytes) != RI_NONE)
			continue;
		if (g->backgrounds.count >= SIZES_MAX || !any_may_hold(g, size_bytes)) {
			ri_address_map_set(&g->background_of, size_bytes, NOT_LOOKED_FOR);
			continue;
		}
		ri_address_map_set(&g->background_of, size_bytes, (uint32_t)g->backgrounds.count);
		background = ri_push(&g->backgrounds);
		background->size_bytes = size_bytes;
		background->owner = g->owner_count++;
		background->filler = RI_NONE;
		list_candidates(g, background);
	}
}

/* Notes which type's objects most blocks of each size are. */
static void find_fillers(struct gallery *g)
{
	const struct ri_population *population = g->input->population;
	uint32_t *known = ri_calloc(g->candidates.count + 1, sizeof(*known));

	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		const struct background *background;

		if (object->block == RI_NONE || object->parent != RI_NONE || !is_seed(object))
			continue;
		background = find_background(g, g->input->heap->blocks[object->block].size_bytes);
		for (uint32_t i = 0; background && i < background->count; i++)
			known[background->first + i] +=
				g->portraits.items[g->candidates.items[background->first + i]].type ==
				object->type;
	}
	for (size_t i = 0; i < g->backgrounds.count; i++) {
		struct background *background = &g->backgrounds.items[i];

		for (uint32_t k = background->first; k < background->first + background->count; k++)
			if (known[k] > background->filling) {
				background->filling = known[k];
				background->filler = g->candidates.items[k];
			}
	}
	free(known);
}

/* The kinds of the words of blocks of any size. */
static void paint_general(struct gallery *g)
{
	const struct ri_heap *heap = g->input->heap;
	size_t step = heap->block_count / SAMPLE_MAX + 1;

	g->general = g->owner_count++;
	for (size_t b = 0; b < heap->block_count; b += step) {
		const struct ri_block *block = &heap->blocks[b];

		for (uint32_t w = 0; block->state == RI_BLOCK_USED && w < WORDS_MAX &&
				     w < block->size_bytes / 8; w++) {
			uint64_t value;

			if (!ri_image_read_u64(g->input->image, block->addr + 8ull * w, &value))
				continue;
			ri_kind_counts_add(&g->counts, g->general, 0, ri_word_kind(g->input, value));
			g->general_words++;
		}
	}
}

static void paint_backgrounds(struct gallery *g)
{
	const struct ri_heap *heap = g->input->heap;

	for (size_t b = 0; b < heap->block_count; b++) {
		struct background *background =
			heap->blocks[b].state == RI_BLOCK_USED
				? find_background(g, heap->blocks[b].size_bytes)
				: NULL;

		if (background)
			background->blocks++;
	}
	for (size_t i = 0; i < g->backgrounds.count; i++)
		g->backgrounds.items[i].step = g->backgrounds.items[i].blocks / SAMPLE_MAX + 1;
	for (size_t b = 0; b < heap->block_count; b++) {
		const struct ri_block *block = &heap->blocks[b];
		struct background *background = block->state == RI_BLOCK_USED
							? find_background(g, block->size_bytes)
							: NULL;

		if (!background || background->seen++ % background->step)
			continue;
		background->sampled++;
		for (uint32_t w = 0; w < WORDS_MAX && w < block->size_bytes / 8; w++) {
			uint64_t value;

			if (!ri_image_read_u64(g->input->image, block->addr + 8ull * w, &value))
				value = 0;
			ri_kind_counts_add(&g->counts, background->owner, w,
					   ri_word_kind(g->input, value));
		}
	}
}

/* ---- candidates ------------------------------------------------------------- */

/* A candidate block's words. */
struct candidate {
	const struct ri_block *block;
	const struct background *background;
	uint32_t word_count;
	uint64_t value[WORDS_MAX];
	uint32_t kind[WORDS_MAX];
};

static bool is_constant(const struct portrait *portrait, uint32_t w)
{
	return portrait->sampled >= CONSTANT_SEEDS_MIN && portrait->value[w] &&
	       portrait->same[w] * 100ull >= portrait->sampled * 97ull;
}

/* Whether a number stands where all objects that are known have pointers or null. */
static bool is_denied(const struct portrait *portrait, const struct candidate *c)
{
	for (uint32_t w = 0; w < portrait->word_count && w < c->word_count; w++)
		if (ri_kind_is_number(c->kind[w]) && !portrait->numbers[w] &&
		    portrait->pointers[w] >= POINTERS_MIN)
			return true;
	return false;
}

/* How much more often the kind stands at word `w` in the portrait than in the background, as
 * nats.  The portrait's own frequencies are drawn towards the background's: a kind that none of
 * a few objects had says little. */
static double nats_of(const struct gallery *g, const struct portrait *portrait,
		      const struct background *background, uint32_t w, uint32_t kind)
{
	double usual = (ri_kind_counts_get(&g->counts, background->owner, w, kind) + SMOOTHING) /
		       (background->sampled + SMOOTHING * KINDS_EXPECTED);
	double seen = ri_kind_counts_get(&g->counts, portrait->owner, w, kind);
	double nats = log((seen / usual + DRAWN_TO_BACKGROUND) /
			  (portrait->sampled + DRAWN_TO_BACKGROUND));

	return fmax(-WORD_NATS_MAX, fmin(WORD_NATS_MAX, nats));
}

static double score_of(const struct gallery *g, const struct portrait *portrait,
		       const struct candidate *c)
{
	double score = 0.5 * log(portrait->seeds + 1.0);

	for (uint32_t w = 0; w < portrait->word_count && w < c->word_count; w++) {
		if (is_constant(portrait, w))
			score += c->value[w] == portrait->value[w] ? CONSTANT_NATS
								   : CONSTANT_MISSED_NATS;
		else
			score += nats_of(g, portrait, c->background, w, c->kind[w]);
	}
	return score;
}

/* The score of a block of a size that nearly nothing but objects of one type has; the worst where
 * there is no such type. */
static double filling_score(const struct gallery *g, const struct candidate *c)
{
	const struct background *background = c->background;
	const struct portrait *portrait;
	double score, nulls = 0;
	uint32_t others = background->blocks - background->filling;

	if (background->filler == RI_NONE || background->filling < FILLING_SEEDS_MIN ||
	    background->filling > background->blocks ||
	    (uint64_t)others * FILLING_TO_OTHERS > background->filling)
		return -INFINITY;
	portrait = &g->portraits.items[background->filler];
	score = log((background->filling + 1.0) / (others + 1.0));
	for (uint32_t w = 0; w < portrait->word_count && w < c->word_count; w++) {
		double seen = ri_kind_counts_get(&g->counts, portrait->owner, w, c->kind[w]);
		double usual = ri_kind_counts_get(&g->counts, g->general, 0, c->kind[w]);
		double nats = log((seen + SMOOTHING) / (portrait->sampled + SMOOTHING * KINDS_EXPECTED) /
				  ((usual + SMOOTHING) / (g->general_words + SMOOTHING * KINDS_EXPECTED)));

		if (is_constant(portrait, w) && c->value[w] != portrait->value[w])
			return -INFINITY;
		*(c->value[w] ? &score : &nulls) += fmax(-WORD_NATS_MAX, fmin(WORD_NATS_MAX, nats));
	}
	return score + fmin(nulls, FILLING_NULL_NATS);
}

/* The type that fills the blocks of the candidate's size, if the candidate is one more, or null. */
static const struct portrait *recognise_filler(const struct gallery *g, const struct candidate *c)
{
	bool is_small = c->block->size_bytes <= SMALL_BYTES;
	const struct portrait *filler;

	if (filling_score(g, c) < (is_small ? SMALL_SCORE_MIN : SCORE_MIN))
		return NULL;
	filler = &g->portraits.items[c->background->filler];
	return is_wanted(g, filler) && !is_denied(filler, c) && ri_looks_alive(g->input, filler->type,
						      c->block->addr + filler->front_bytes, NULL)
		       ? filler : NULL;
}

static bool is_same_name(const struct gallery *g, const struct portrait *a,
			 const struct portrait *b)
{
	return a->type != RI_NONE && b->type != RI_NONE &&
	       !strcmp(g->input->population->types[a->type].name,
		       g->input->population->types[b->type].name);
}

/* The portrait that the candidate is recognised as, or null. */
static const struct portrait *recognise(const struct gallery *g, const struct candidate *c)
{
	bool is_small = c->block->size_bytes <= SMALL_BYTES;
	const struct portrait *best = NULL;
	double best_score = 0, second = 0;

	for (uint32_t i = 0; i < c->background->count; i++) {
		const struct portrait *portrait =
			&g->portraits.items[g->candidates.items[c->background->first + i]];
		double score;

		if (is_denied(portrait, c))
			continue;
		if (portrait->type != RI_NONE &&
		    !ri_looks_alive(g->input, portrait->type,
				    c->block->addr + portrait->front_bytes, NULL))
			continue;
		score = score_of(g, portrait, c);
		if (!best || score > best_score) {
			if (best && !is_same_name(g, best, portrait))
				second = fmax(second, best_score);
			best = portrait;
			best_score = score;
		} else if (!is_same_name(g, best, portrait)) {
			second = fmax(second, score);
		}
	}
	if (!best || !is_wanted(g, best) ||
	    best_score < (is_small ? SMALL_SCORE_MIN : SCORE_MIN) ||
	    best_score - second < (is_small ? SMALL_MARGIN_MIN : MARGIN_MIN))
		return NULL;
	return best;
}

static void look_at(const struct gallery *g, const struct ri_block *block,
		    const struct background *background, ri_recognised_list *ret)
{
	struct candidate c = { .block = block, .background = background };
	const struct portrait *portrait;
	uint64_t words = block->size_bytes / 8;

	c.word_count = (uint32_t)(words < WORDS_MAX ? words : WORDS_MAX);
	for (uint32_t w = 0; w < c.word_count; w++) {
		if (!ri_image_read_u64(g->input->image, block->addr + 8ull * w, &c.value[w]))
			return;
		c.kind[w] = ri_word_kind(g->input, c.value[w]);
	}
	portrait = recognise(g, &c);
	if (!portrait)
		portrait = recognise_filler(g, &c);
	if (portrait)
		*ri_push(ret) = (struct ri_lost_object){ block->addr + portrait->front_bytes,
							 portrait->type };
}

/* Per block, whether an object lies in it or its type is known; a new array. */
static bool *list_known(const struct ri_recognise_input *input)
{
	const struct ri_population *population = input->population;
	bool *is_known = ri_calloc(input->heap->block_count + 1, sizeof(*is_known));
	uint32_t *block_object = ri_extents_list_block_objects(population, input->heap);

	for (size_t b = 0; b < input->heap->block_count; b++)
		is_known[b] = block_object[b] != RI_NONE;
	for (size_t i = 0; i < population->typed_block_count; i++)
		is_known[population->typed_blocks[i].block] = true;
	free(block_object);
	return is_known;
}

static void find_alike(const struct ri_recognise_input *input, const bool *wanted,
		       const bool *is_known, ri_recognised_list *ret)
{
	struct gallery g = { .input = input, .wanted = wanted };

	paint_types(&g);
	paint_rivals(&g);
	if (g.portraits.count)
		qsort(g.portraits.items, g.portraits.count, sizeof(*g.portraits.items), by_size);
	find_least_with_tail(&g);
	list_backgrounds(&g);
	paint_backgrounds(&g);
	find_fillers(&g);
	paint_general(&g);
	for (size_t b = 0; b < input->heap->block_count; b++) {
		const struct ri_block *block = &input->heap->blocks[b];
		const struct background *background;

		if (block->state != RI_BLOCK_USED || is_known[b])
			continue;
		background = find_background(&g, block->size_bytes);
		if (background)
			look_at(&g, block, background, ret);
	}
	ri_address_map_deinit(&g.counts);
	ri_vec_deinit(&g.portraits);
	ri_vec_deinit(&g.backgrounds);
	ri_vec_deinit(&g.candidates);
	ri_address_map_deinit(&g.background_of);
}

static int by_addr(const void *a, const void *b)
{
	const struct ri_lost_object *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void ri_recognise(const struct ri_recognise_input *input, const bool *wanted,
		  ri_recognised_list *ret)
{
	bool *is_known = list_known(input);
	size_t before = ret->count;

	ri_pool_objects_find(input, wanted, is_known, ret);
	ri_twins_find(input, wanted, is_known, ret);
	ri_pool_places_find(input, wanted, ret);
	if (ret->count == before)
		ri_payloads_find(input, wanted, is_known, ret);
	/* What was found is the best evidence for the next census: likeness waits for that. */
	if (ret->count == before)
		find_alike(input, wanted, is_known, ret);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_addr);
	free(is_known);
}
