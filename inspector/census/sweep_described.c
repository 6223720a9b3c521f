/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that describe themselves: each points at a descriptor that is an object of the
 * same convention, and that says how long the object is and what stands before its header.
 *
 * A used block begins with such an object where, behind one of the fronts that the
 * convention knows, a live count is followed by the pointer to a valid descriptor whose
 * objects have exactly that front, and the object is no longer than the block.  A word
 * that is a live count and no pointer, beside one that leads to a descriptor, at the one
 * place of a block where both must stand, is not met by chance.
 *
 * How long an object is: its struct, and the items behind it that it counts itself, cut at
 * the end of its block.  Some are shorter than the struct (the profile says which); they
 * end where their block does.
 *
 * Cost: a few words of each used block.  Blind spots: objects that are part of a larger
 * block, static ones (these are found through variables), objects whose count is dead or
 * whose descriptor pointer is damaged: groups and pointers lead to those.
 */
#include <stdlib.h>

#include "census/finder.h"

#define FRONTS_MAX 16
#define LOWEST_ADDRESS 65536
#define TAGS 7 /* bits that addresses may carry */

/* The sums that fronts can add up to, ascending, none twice. */
static size_t list_fronts(const struct ri_descriptor_rule *rule, uint64_t *ret)
{
	size_t count = 1;

	ret[0] = 0;
	for (size_t i = 0; i < rule->front_count; i++) {
		size_t before = count;

		for (size_t k = 0; k < before && count < FRONTS_MAX; k++) {
			uint64_t sum = ret[k] + rule->fronts[i].bytes;
			size_t known = 0;

			while (known < count && ret[known] != sum)
				known++;
			if (known == count)
				ret[count++] = sum;
		}
	}
	return count;
}

static uint64_t least_bytes(const struct ri_counted_type *type)
{
	return type->least_bytes ? type->least_bytes : type->size_bytes;
}

bool ri_described_is_at(struct ri_finder *finder, uint32_t convention, uint64_t header,
			uint32_t block)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_block *b = &finder->heap->blocks[block];
	uint64_t fronts[FRONTS_MAX];
	size_t count = list_fronts(&c->descriptor, fronts), i = 0;
	int64_t value;

	while (i < count && b->addr + fronts[i] != header)
		i++;
	return i < count && c->count_count &&
	       ri_finder_field(finder, header, &c->counts[0].field, &value) &&
	       ri_count_classify(&c->counts[0], value) == RI_COUNT_LIVE;
}

/* The type of the object whose header lies `front` bytes into the block, or RI_NONE. */
static uint32_t type_at(struct ri_finder *finder, uint32_t convention, const struct ri_block *b,
			uint64_t front)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_counted_type *type;
	enum ri_count_state state;
	uint32_t index;
	int64_t value;

	if (front + c->size_bytes > b->size_bytes ||
	    !ri_finder_field(finder, b->addr + front, &c->counts[0].field, &value))
		return RI_NONE;
	state = ri_count_classify(&c->counts[0], value);
	if (value >= LOWEST_ADDRESS && ri_image_find(finder->image, (uint64_t)value))
		return RI_NONE; /* a pointer to memory that lies low */
	if (state != RI_COUNT_LIVE && state != RI_COUNT_IMMORTAL)
		return RI_NONE;
	index = ri_descriptors_type(finder, convention,
				    ri_finder_pointer(finder, b->addr + front,
						      &c->descriptor.field));
	if (index == RI_NONE)
		return RI_NONE;
	type = &finder->types.items[index];
	return type->front_bytes == front && least_bytes(type) <= b->size_bytes - front
		       ? index
		       : RI_NONE;
}

/* Whether a known descriptor's pointer stands where its objects that begin the block have it:
 * one whose count is dead or damaged, perhaps.  Its own words are no other object. */
static bool may_be_at(struct ri_finder *finder, uint32_t convention, const struct ri_block *b,
		      uint64_t front)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	uint32_t index = ri_descriptors_known(finder, convention,
					      ri_finder_pointer(finder, b->addr + front,
								&c->descriptor.field));

	return index != RI_NONE && finder->types.items[index].front_bytes == front;
}

/* Whether an object that begins the block may stand there whose descriptor is damaged: a live
 * count, and then a word that leads nowhere.  What stands in front of objects are addresses,
 * nulls, and bits in either. */
static bool may_be_damaged_at(struct ri_finder *finder, uint32_t convention,
			      const struct ri_block *b, uint64_t front)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	uint64_t descriptor;
	int64_t count;

	if (!ri_finder_field(finder, b->addr + front, &c->counts[0].field, &count) ||
	    ri_count_classify(&c->counts[0], count) != RI_COUNT_LIVE ||
	    ri_image_find(finder->image, (uint64_t)count))
		return false;
	descriptor = ri_finder_pointer(finder, b->addr + front, &c->descriptor.field);
	return descriptor > TAGS && !ri_image_find(finder->image, descriptor);
}

static void sweep_blocks(struct ri_finder *finder, uint32_t convention)
{
	const struct ri_descriptor_rule *rule =
		&finder->layout->conventions.items[convention].descriptor;
	uint64_t fronts[FRONTS_MAX];
	size_t front_count = list_fronts(rule, fronts);

	for (size_t i = 0; i < finder->heap->block_count; i++) {
		const struct ri_block *b = &finder->heap->blocks[i];

		if (b->state != RI_BLOCK_USED || finder->block_use[i])
			continue;
		for (size_t f = 0; f < front_count; f++) {
			uint32_t type = type_at(finder, convention, b, fronts[f]);

			if (type == RI_NONE)
				continue;
			for (size_t g = 0; g < f && type != RI_NONE; g++)
				if (may_be_at(finder, convention, b, fronts[g]) ||
				    may_be_damaged_at(finder, convention, b, fronts[g]))
					type = RI_NONE;
			if (type == RI_NONE)
				break;
			ri_finder_append(finder, b->addr + fronts[f], type, (uint32_t)i,
					 RI_FOUND_DESCRIPTOR);
			break;
		}
	}
}

void ri_sweep_described(struct ri_finder *finder)
{
	for (size_t i = 0; i < finder->layout->conventions.count; i++) {
		const struct ri_convention *c = &finder->layout->conventions.items[i];

		if (c->base == i && c->descriptor.meta.is_present && c->count_count)
			sweep_blocks(finder, (uint32_t)i);
	}
}

/* Where the items behind the struct end, as the object counts them. */
static uint64_t end_of_items(struct ri_finder *finder, const struct ri_counted_type *type,
			     uint64_t header, uint64_t end, uint64_t limit)
{
	const struct ri_field *items =
		&finder->layout->conventions.items[type->convention].descriptor.items;
	uint64_t count;
	int64_t value;

	if (!type->item_bytes || !ri_finder_field(finder, header, items, &value))
		return end;
	count = value < 0 ? -(uint64_t)value : (uint64_t)value;
	if (end >= limit || count > (limit - end) / type->item_bytes)
		return limit;
	return end + count * type->item_bytes;
}

static int32_t measure(struct ri_finder *finder, const struct ri_object *object)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	uint64_t end = ri_type_end(type, object->addr), limit, items;
	const struct ri_block *b;

	if (!type->descriptor || object->block == RI_NONE ||
	    !finder->layout->conventions.items[type->convention].descriptor.meta.is_present)
		return 0;
	b = &finder->heap->blocks[object->block];
	limit = b->addr + b->size_bytes;
	items = end_of_items(finder, type, ri_finder_header(finder, object), end, limit);
	if (items > limit)
		items = limit;
	/* whole words; what is left of the last one holds no pointer */
	if (items < end)
		return -(int32_t)((end - items + 7) / 8);
	return (items - end) / 8 > INT32_MAX ? INT32_MAX : (int32_t)((items - end) / 8);
}

int32_t *ri_described_measure(struct ri_finder *finder)
{
	bool any = false;
	int32_t *words;

	for (size_t i = 0; i < finder->layout->conventions.count; i++)
		any |= finder->layout->conventions.items[i].descriptor.meta.is_present;
	if (!any)
		return NULL;
	words = ri_malloc(finder->objects.count * sizeof(*words));
	for (size_t i = 0; i < finder->objects.count; i++)
		words[i] = measure(finder, &finder->objects.items[i]);
	return words;
}
