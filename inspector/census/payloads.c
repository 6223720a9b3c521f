/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What void pointers lead to: see recognise.h.
 *
 * The blocks that pointers of one holder class lead to are pooled by size.  A pool is of
 * counted type T where T fits its size, nearly every block of it is plausible as a T (its
 * count alive and not large, its pointers null or mapped, its numbers no pointers), and
 * the count of nearly every one is the number of words that point at it: what a program
 * keeps equal to the number of holders is a reference count.  No other type may pass as well.
 * Pools of the same class and of larger blocks, whose blocks pass likewise, hold the same
 * type with a tail.
 *
 * Blind spots: pools of few blocks, pools that mix types of one size, types whose counts
 * hardly follow the words in memory.  Cost: one pass over the edges, a few words per block.
 */
#include <stdlib.h>

#include "census/finder.h"
#include "census/word_kinds.h"

#define POOL_BLOCKS_MIN 8
#define PLAUSIBLE_PERCENT 90
#define AGREEING_PERCENT 80

/* A pointer from a place without a declared pointee to the start of an unknown block. */
struct lead {
	uint32_t class_index, block;
	uint64_t size_bytes;
};

/* Words that point at a block: those that may own, and stack slots and registers. */
struct holders_of_block {
	uint32_t words, slack;
};

struct search {
	const struct ri_recognise_input *input;
	const bool *is_known;
	struct ri_shapes *shapes; /* of its own: the census' stay as they are */
	struct holders_of_block *holders; /* per block */
	RI_VEC(struct lead) leads;        /* by class, size, block */
	uint32_t *types;         /* wanted ones */
	size_t type_count;
	bool *is_taken;          /* per block */
};

static void list_leads(struct search *s)
{
	const struct ri_holders *holders = s->input->holders;
	const struct ri_heap *heap = s->input->heap;

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];
		uint32_t block = edge->target - holders->object_count;
		enum ri_class_kind kind;

		if (edge->target < holders->object_count || block >= heap->block_count ||
		    s->is_known[block] || heap->blocks[block].state != RI_BLOCK_USED ||
		    edge->flags & (RI_EDGE_LINK | RI_EDGE_EMBEDS | RI_EDGE_INTERIOR))
			continue;
		kind = s->input->shapes->classes.items[edge->class_index].kind;
		if (kind == RI_CLASS_STACK || kind == RI_CLASS_REGISTER) {
			s->holders[block].slack++;
			continue;
		}
		s->holders[block].words++;
		*ri_push(&s->leads) = (struct lead){ edge->class_index, block,
						     heap->blocks[block].size_bytes };
	}
}

static int by_pool(const void *a, const void *b)
{
	const struct lead *x = a, *y = b;

	if (x->class_index != y->class_index)
		return x->class_index < y->class_index ? -1 : 1;
	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Whether the word at the count is an address: then that is what the "count" is a part of. */
static bool is_count_in_pointer(const struct search *s, const struct ri_count_rule *rule,
				uint64_t base)
{
	uint64_t value;

	return rule->field.size_bytes < sizeof(value) &&
	       ri_image_read_u64(s->input->image,
				 (base + (uint64_t)rule->field.offset_bytes) & ~7ull, &value) &&
	       ri_image_find(s->input->image, value);
}

static bool is_plausible_word(const struct search *s, const struct ri_slot *slot, uint64_t value)
{
	if (!value || slot->kind == RI_SLOT_HEADER || slot->in_union)
		return true;
	if (slot->kind == RI_SLOT_OTHER || slot->kind == RI_SLOT_VOID_POINTER)
		return true; /* a void pointer may hold a number */
	return ri_image_find(s->input->image, value);
}

/* Whether the block may be an object of `type`; *ret_agrees: its count is the number of
 * its holders. */
static bool is_plausible(const struct search *s, uint32_t type_index, uint32_t block,
			 bool *ret_agrees)
{
	const struct ri_counted_type *type = &s->input->layout->types.items[type_index];
	const struct ri_convention *c = &s->input->layout->conventions.items[type->convention];
	const struct holders_of_block *holders = &s->holders[block];
	uint64_t start = s->input->heap->blocks[block].addr, value;
	const struct ri_shape *shape;
	uint32_t shape_index;
	int64_t count;

	*ret_agrees = false;
	if (!ri_looks_alive(s->input, type_index, start + type->front_bytes, &count) ||
	    is_count_in_pointer(s, &c->counts[0],
				start + type->front_bytes + (uint64_t)type->header_offset))
		return false;
	shape_index = ri_shapes_counted(s->shapes, type, type_index);
	shape = &s->shapes->shapes.items[shape_index];
	for (uint64_t word = 0; word < shape->element_bytes / 8; word++) {
		uint32_t slot = shape->slot_of_word ? shape->slot_of_word[word] : RI_NONE;

		if (!ri_image_read_u64(s->input->image, start + 8 * word, &value))
			return false;
		if (slot < shape->slot_count
			    ? !is_plausible_word(s, &shape->slots[slot], value)
			    : ri_heap_find(s->input->heap, value) != RI_NONE)
			return false;
	}
	*ret_agrees = count >= holders->words && count <= (int64_t)holders->words + holders->slack;
	return true;
}

/* leads[first .. end) of one class and size, a lead per block. */
struct pool {
	size_t first, end;
};

/* Whether the pool's blocks are of `type`. */
static bool passes(const struct search *s, const struct pool *pool, uint32_t type)
{
	size_t count = pool->end - pool->first, plausible = 0, agreeing = 0;

	if (count < POOL_BLOCKS_MIN)
		return false;
	for (size_t i = pool->first; i < pool->end; i++) {
		bool agrees;

		plausible += is_plausible(s, type, s->leads.items[i].block, &agrees);
		agreeing += agrees;
	}
	return plausible * 100 >= count * PLAUSIBLE_PERCENT &&
	       agreeing * 100 >= count * AGREEING_PERCENT;
}

static bool fits(const struct search *s, uint32_t type, uint64_t usable_bytes, bool with_tail)
{
	uint64_t extent = s->input->layout->types.items[type].extent_bytes;

	return ri_finder_fits(extent, usable_bytes) || (with_tail && extent <= usable_bytes);
}

/* The only type that the pool passes for, or RI_NONE. */
static uint32_t type_of(const struct search *s, const struct pool *pool)
{
	uint32_t found = RI_NONE;

	for (size_t i = 0; i < s->type_count; i++) {
		if (!fits(s, s->types[i], s->leads.items[pool->first].size_bytes, false) ||
		    !passes(s, pool, s->types[i]))
			continue;
		if (found != RI_NONE)
			return RI_NONE;
		found = s->types[i];
	}
	return found;
}

static void take(struct search *s, const struct pool *pool, uint32_t type, ri_recognised_list *ret)
{
	for (size_t i = pool->first; i < pool->end; i++) {
		uint32_t block = s->leads.items[i].block;
		bool agrees;

		if (s->is_taken[block] || !is_plausible(s, type, block, &agrees))
			continue;
		s->is_taken[block] = true;
		*ri_push(ret) = (struct ri_lost_object){
			s->input->heap->blocks[block].addr +
				s->input->layout->types.items[type].front_bytes,
			type
		};
	}
}

/* The pools of leads[first .. end), which are of one class. */
static void judge_class(struct search *s, size_t first, size_t end, ri_recognised_list *ret)
{
	struct pool pool = { first, first };
	uint32_t type = RI_NONE;

	for (int is_tail = 0; is_tail <= 1; is_tail++)
		for (pool.first = first; pool.first < end; pool.first = pool.end) {
			uint64_t size_bytes = s->leads.items[pool.first].size_bytes;

			pool.end = pool.first;
			while (pool.end < end && s->leads.items[pool.end].size_bytes == size_bytes)
				pool.end++;
			if (!is_tail) {
				uint32_t found = type_of(s, &pool);

				if (found == RI_NONE)
					continue;
				take(s, &pool, found, ret);
				type = found;
			} else if (type != RI_NONE && !fits(s, type, size_bytes, false) &&
				   fits(s, type, size_bytes, true) && passes(s, &pool, type)) {
				take(s, &pool, type, ret);
			}
		}
}

/* Sorts the leads and drops repeats: one per class and block. */
static void sort_leads(struct search *s)
{
	size_t kept = 0;

	if (!s->leads.count)
		return;
	qsort(s->leads.items, s->leads.count, sizeof(*s->leads.items), by_pool);
	for (size_t i = 0; i < s->leads.count; i++)
		if (!kept || by_pool(&s->leads.items[i], &s->leads.items[kept - 1]))
			s->leads.items[kept++] = s->leads.items[i];
	s->leads.count = kept;
}

void ri_payloads_find(const struct ri_recognise_input *input, const bool *wanted,
		      const bool *is_known, ri_recognised_list *ret)
{
	const struct ri_layout *layout = input->layout;
	struct search s = { .input = input, .is_known = is_known };

	s.types = ri_calloc(layout->types.count + 1, sizeof(*s.types));
	for (uint32_t t = 0; t < layout->types.count; t++)
		if (wanted[t] && layout->types.items[t].extent_bytes)
			s.types[s.type_count++] = t;
	if (s.type_count) {
		s.shapes = ri_shapes_create(layout, input->types);
		s.holders = ri_calloc(input->heap->block_count + 1, sizeof(*s.holders));
		s.is_taken = ri_calloc(input->heap->block_count + 1, sizeof(*s.is_taken));
		list_leads(&s);
		sort_leads(&s);
		for (size_t first = 0, end; first < s.leads.count; first = end) {
			for (end = first; end < s.leads.count &&
					  s.leads.items[end].class_index ==
						  s.leads.items[first].class_index;)
				end++;
			judge_class(&s, first, end, ret);
		}
		ri_shapes_destroy(s.shapes);
	}
	ri_vec_deinit(&s.leads);
	free(s.holders);
	free(s.is_taken);
	free(s.types);
}
