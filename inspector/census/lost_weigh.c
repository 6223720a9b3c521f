/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the content of a block says for a struct: see lost.c for what the words are worth.
 * A pointer to a counted struct says most, one to a block of its pointee's size and an
 * empty link something; null says nothing.  Cost: one visit per slot of the shape.
 */
#include "census/lost_private.h"

#include "census/extents.h"

#define SCORE_OBJECT 2       /* a pointer to an object of its type */
#define SCORE_FITS 1         /* to a block of its type's size, or to itself */

bool ri_lost_is_live(const struct ri_lost_search *s, const struct ri_counted_type *type,
		     uint64_t addr)
{
	const struct ri_convention *c = &s->input->layout->conventions.items[type->convention];
	int64_t count;

	return ri_count_read(s->input->image, addr + (uint64_t)type->header_offset, &c->counts[0],
			     &count) == RI_COUNT_LIVE;
}

static bool is_poison(const struct ri_lost_search *s, const struct ri_counted_type *type,
		      uint64_t value)
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

static bool is_used_block(const struct ri_lost_search *s, uint32_t block)
{
	return block != RI_NONE && s->input->heap->blocks[block].state == RI_BLOCK_USED;
}

/* A pointer to counted type `pointee`. */
static void weigh_counted(const struct ri_lost_search *s, uint32_t pointee, uint64_t value,
			  uint32_t block, struct ri_lost_weight *weight)
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
	    ri_lost_is_live(s, type, value))
		weight->score += SCORE_FITS;
	else
		weight->is_strict = false;
}

/* A pointer to a plain struct. */
static void weigh_plain(const struct ri_lost_search *s, const struct ri_type *pointee,
			uint64_t value, uint32_t block, struct ri_lost_weight *weight)
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

static void weigh_word(const struct ri_lost_search *s, const struct ri_counted_type *type,
		       const struct ri_slot *slot, uint64_t base, uint64_t value,
		       struct ri_lost_weight *weight)
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

struct ri_lost_weight ri_lost_weigh(const struct ri_lost_search *s,
				    const struct ri_counted_type *type, uint32_t shape_index,
				    uint64_t base)
{
	const struct ri_shape *shape = &s->shapes->shapes.items[shape_index];
	struct ri_lost_weight weight = { true, true, 0 };

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

struct ri_lost_weight ri_lost_weigh_type(const struct ri_lost_search *s, uint32_t index,
					 uint64_t start)
{
	const struct ri_counted_type *type = &s->input->layout->types.items[index];

	if (!ri_lost_is_live(s, type, start + type->front_bytes))
		return (struct ri_lost_weight){ false, false, 0 };
	return ri_lost_weigh(s, type, ri_shapes_counted(s->shapes, type, index), start);
}
