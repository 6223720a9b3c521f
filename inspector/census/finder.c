/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The store of objects while a population is built, and the judgement whether
 * an address is an object: see finder.h.  Leaves where to look to sweep.c,
 * traverse.c and groups.c, and all states but existence to population.c.
 *
 * The sweep finds nearly all objects of a program with magics, in ascending
 * order: they stay in one array under a span index.  What other steps find goes
 * behind it, under a hash map.
 *
 * A block of u usable bytes fits a request of r when malloc would have given u
 * for r: u - 24 < r <= u (sizes are rounded to 16, and a remainder too small to
 * split stays with the block); mapped blocks are rounded to pages.
 */
#include "census/finder.h"

#include <stdlib.h>

#include "census/pools.h"
#include "census/type_walk.h"
#include "debug/modules.h"

/* Requests are rounded up to 16 bytes, at least to 24, and a chunk that would leave too little
 * to be split is given away whole. */
#define FIT_SLACK_BYTES 32
#define CLOSE_FIT_SLACK_BYTES 24 /* where the fit alone decides between types */
#define MAPPED_BLOCK_BYTES (128u << 10) /* glibc's lowest mmap threshold */
#define PAGE_BYTES 4096
#define REREAD_WORDS_AT_LEAST (1u << 24)
#define REREAD_WORDS_PER_BLOCK 16
#define UNPROVED_MAX (1u << 20)

void ri_finder_init(struct ri_finder *finder)
{
	size_t conventions = finder->layout->conventions.count;

	finder->image = finder->target->image;
	ri_reader_init(&finder->reader, finder->image);
	finder->types_of = ri_calloc(conventions, sizeof(*finder->types_of));
	finder->block_use = ri_table_create(finder->heap->block_count * sizeof(uint32_t));
	finder->reread_words = REREAD_WORDS_AT_LEAST +
			       REREAD_WORDS_PER_BLOCK * (uint64_t)finder->heap->block_count;
	finder->is_contested = ri_table_create((finder->heap->block_count / 64 + 1) * 8);
	finder->descriptors = ri_descriptors_create();
	for (size_t i = 0; i < finder->layout->types.count; i++)
		ri_finder_add_type(finder, &finder->layout->types.items[i]);
}

void ri_finder_deinit(struct ri_finder *finder)
{
	for (size_t i = 0; i < finder->layout->conventions.count; i++)
		free(finder->types_of[i].types);
	free(finder->types_of);
	ri_table_destroy(finder->block_use, finder->heap->block_count * sizeof(uint32_t));
	ri_table_destroy(finder->is_contested, (finder->heap->block_count / 64 + 1) * 8);
	ri_descriptors_destroy(finder->descriptors);
	ri_span_index_destroy(finder->headers);
	free(finder->is_pointed_at);
	ri_address_map_deinit(&finder->late);
	ri_address_map_deinit(&finder->head_index);
	for (size_t i = 0; i < finder->owner_tables.count; i++)
		free(finder->owner_tables.items[i]);
	ri_vec_deinit(&finder->owner_tables);
	ri_vec_deinit(&finder->types);
	ri_vec_deinit(&finder->objects);
	ri_vec_deinit(&finder->typed);
	ri_vec_deinit(&finder->confirmed);
	ri_vec_deinit(&finder->heads);
	ri_vec_deinit(&finder->unused);
}

uint32_t ri_finder_add_type(struct ri_finder *finder, const struct ri_counted_type *type)
{
	uint32_t index = (uint32_t)finder->types.count;
	struct ri_type_list *list = &finder->types_of[ri_finder_base(finder, type->convention)];
	size_t at = list->count;

	*ri_push(&finder->types) = *type;
	list->types = ri_grow(list->types, &list->capacity, list->count + 1, sizeof(index));
	while (at && finder->types.items[list->types[at - 1]].extent_bytes > type->extent_bytes) {
		list->types[at] = list->types[at - 1];
		at--;
	}
	list->types[at] = index;
	list->count++;
	return index;
}

/*
 * Objects
 */

void ri_finder_append(struct ri_finder *finder, uint64_t addr, uint32_t type, uint32_t block,
		      uint32_t found)
{
	struct ri_object *object = ri_push(&finder->objects);

	object->addr = addr;
	object->type = type;
	object->block = block;
	object->parent = RI_NONE;
	object->found = found;
	if (block != RI_NONE)
		finder->block_use[block] = RI_BLOCK_HAS_OBJECT;
}

/* How much a way of finding says about the type. */
static unsigned rank_of(uint32_t found)
{
	static const struct {
		uint32_t found;
		unsigned rank;
	} ranks[] = {
		{ RI_FOUND_ASSUMED, 7 },  { RI_FOUND_VARIABLE, 6 }, { RI_FOUND_DESCRIPTOR, 5 },
		{ RI_FOUND_EMBEDDED, 4 }, { RI_FOUND_POINTER, 3 },  { RI_FOUND_GROUP, 2 },
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		if (found & ranks[i].found)
			return ranks[i].rank;
	return 1;
}

/* Gives a known object another type, if what speaks for that says more; the header stays
 * where it is. */
static void retype(struct ri_finder *finder, struct ri_object *object, uint32_t type,
		   uint32_t found)
{
	if (type == object->type || rank_of(found) <= rank_of(object->found))
		return;
	object->addr = ri_finder_header(finder, object) -
		       (uint64_t)finder->types.items[type].header_offset;
	object->type = type;
}

/* Adds evidence to a known object. */
static void merge(struct ri_finder *finder, struct ri_object *object, uint32_t type, uint32_t found)
{
	retype(finder, object, type, found);
	if (found & ~object->found)
		object->found |= found;
}

static uint32_t base_of(const struct ri_finder *finder, const struct ri_object *object)
{
	return ri_finder_base(finder, finder->types.items[object->type].convention);
}

static uint64_t header_start(const void *data, size_t i)
{
	const struct ri_finder *finder = data;

	return ri_finder_header(finder, &finder->objects.items[i]);
}

static uint64_t header_end(const void *data, size_t i)
{
	return header_start(data, i) + 1;
}

static int compare_headers(const void *a, const void *b, void *data)
{
	const struct ri_finder *finder = data;
	uint64_t ha = ri_finder_header(finder, a), hb = ri_finder_header(finder, b);
	uint32_t ca = base_of(finder, a), cb = base_of(finder, b);

	if (ha != hb)
		return ha < hb ? -1 : 1;
	return ca < cb ? -1 : ca > cb;
}

static bool is_sorted(const struct ri_finder *finder)
{
	for (size_t i = 1; i < finder->objects.count; i++)
		if (header_start(finder, i - 1) >= header_start(finder, i))
			return false;
	return true;
}

void ri_finder_index(struct ri_finder *finder)
{
	size_t kept = 0;

	if (!is_sorted(finder)) {
		qsort_r(finder->objects.items, finder->objects.count,
			sizeof(*finder->objects.items), compare_headers, finder);
		for (size_t i = 0; i < finder->objects.count; i++) {
			struct ri_object *object = &finder->objects.items[i];
			struct ri_object *last = &finder->objects.items[kept ? kept - 1 : 0];

			if (kept && !compare_headers(last, object, finder))
				merge(finder, last, object->type, object->found);
			else
				finder->objects.items[kept++] = *object;
		}
		finder->objects.count = kept;
	}
	finder->indexed_count = finder->objects.count;
	finder->indexed_base = finder->indexed_count ? base_of(finder, finder->objects.items)
						     : RI_NONE;
	for (size_t i = 0; i < finder->indexed_count; i++)
		if (base_of(finder, &finder->objects.items[i]) != finder->indexed_base) {
			finder->indexed_base = RI_NONE;
			break;
		}
	finder->is_pointed_at =
		ri_calloc(finder->indexed_count / 64 + 1, sizeof(*finder->is_pointed_at));
	finder->headers = ri_span_index_create(finder->indexed_count, header_start, header_end,
					       finder);
}

static uint64_t late_key(uint64_t header, uint32_t base)
{
	return header ^ (uint64_t)base << 48;
}

static bool is_at(const struct ri_finder *finder, uint32_t object, uint64_t header, uint32_t base)
{
	const struct ri_object *o = &finder->objects.items[object];

	return ri_finder_header(finder, o) == header && base_of(finder, o) == base;
}

uint32_t ri_finder_find(const struct ri_finder *finder, uint64_t header, uint32_t convention)
{
	uint32_t base = ri_finder_base(finder, convention), object;

	object = finder->headers ? ri_span_index_find(finder->headers, header) : RI_SPAN_NONE;
	while (object != RI_SPAN_NONE && header_start(finder, object) >= header) {
		if (is_at(finder, object, header, base))
			return object;
		if (!object--)
			break;
	}
	object = ri_address_map_find(&finder->late, late_key(header, base));
	return object != RI_NONE && is_at(finder, object, header, base) ? object : RI_NONE;
}

uint32_t ri_finder_add(struct ri_finder *finder, uint64_t addr, uint32_t type, uint32_t found)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	uint64_t header = addr + (uint64_t)t->header_offset;
	uint32_t object = ri_finder_find(finder, header, t->convention);

	if (object != RI_NONE) {
		bool was_confirmed = ri_finder_is_confirmed(finder, object);

		merge(finder, &finder->objects.items[object], type, found);
		if (!was_confirmed && object < finder->examined_count &&
		    ri_finder_is_confirmed(finder, object))
			*ri_push(&finder->confirmed) = object;
		return object;
	}
	object = (uint32_t)finder->objects.count;
	ri_finder_append(finder, addr, type, ri_finder_block(finder, header), found);
	ri_address_map_set(&finder->late, late_key(header, ri_finder_base(finder, t->convention)),
			   object);
	return object;
}

/*
 * Places
 */

uint32_t ri_finder_block(const struct ri_finder *finder, uint64_t addr)
{
	return finder->heap->block_count ? ri_heap_find(finder->heap, addr) : RI_NONE;
}

bool ri_finder_is_static(const struct ri_finder *finder, uint64_t addr)
{
	const struct ri_range *range;

	if (finder->heap->region_count && ri_heap_find_region(finder->heap, addr))
		return false;
	if (finder->modules)
		return ri_modules_find(finder->modules, addr) != NULL;
	range = ri_image_find(finder->image, addr);
	return range && !(range->flags & RI_RANGE_ANONYMOUS);
}

static bool fits_within(uint64_t size_bytes, uint64_t usable_bytes, uint64_t slack)
{
	if (usable_bytes >= MAPPED_BLOCK_BYTES)
		slack += PAGE_BYTES;
	return size_bytes <= usable_bytes && usable_bytes - size_bytes < slack;
}

bool ri_finder_fits(uint64_t size_bytes, uint64_t usable_bytes)
{
	return fits_within(size_bytes, usable_bytes, FIT_SLACK_BYTES);
}

bool ri_finder_inside(const struct ri_finder *finder, uint32_t type, uint64_t header,
		      uint32_t block)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_block *b = &finder->heap->blocks[block];
	uint64_t start = ri_type_start(t, header - (uint64_t)t->header_offset);

	return start >= b->addr && start - b->addr <= b->size_bytes &&
	       t->extent_bytes <= b->size_bytes - (start - b->addr);
}

bool ri_finder_has_flexible_tail(const struct ri_finder *finder, const struct ri_type *type)
{
	const struct ri_type *last;

	if (!type || !type->member_count)
		return false;
	last = ri_type_bare(finder->dwarf, type->members[type->member_count - 1].type);
	return last && last->kind == RI_TYPE_ARRAY && !last->element_count;
}

bool ri_finder_has_tail(const struct ri_finder *finder, const struct ri_counted_type *type)
{
	return (type->payload.is_present && !type->payload_is_pointer &&
		type->header_offset + type->payload.offset_bytes >= (int64_t)type->size_bytes) ||
	       ri_finder_has_flexible_tail(finder, type->type);
}

/*
 * Contents
 */

static bool is_one_of(const uint64_t *values, size_t count, uint64_t value, unsigned size_bytes)
{
	uint64_t mask = size_bytes < 8 ? (1ull << 8 * size_bytes) - 1 : UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (((values[i] ^ value) & mask) == 0)
			return true;
	return false;
}

static enum ri_magic_state one_magic(struct ri_finder *finder, const struct ri_magic_rule *rule,
				     uint64_t base)
{
	int64_t value;

	if (!ri_finder_field(finder, base, &rule->field, &value))
		return RI_MAGIC_BAD;
	if (is_one_of(rule->live, rule->live_count, (uint64_t)value, rule->field.size_bytes))
		return RI_MAGIC_LIVE;
	if (is_one_of(rule->dead, rule->dead_count, (uint64_t)value, rule->field.size_bytes))
		return RI_MAGIC_DEAD;
	return RI_MAGIC_BAD;
}

enum ri_magic_state ri_finder_magic(struct ri_finder *finder, uint32_t convention, uint64_t header,
				    uint32_t type)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	enum ri_magic_state state = RI_MAGIC_NONE;

	for (size_t i = 0; i < c->magic_count; i++) {
		uint64_t base = header;
		enum ri_magic_state one;

		if (!c->magics[i].field.is_present)
			continue;
		if (c->magics[i].at_end) {
			const struct ri_counted_type *t;
			int64_t offset = c->magics[i].field.offset_bytes;

			if (type == RI_NONE)
				continue;
			t = &finder->types.items[type];
			base = ri_type_end(t, header - (uint64_t)t->header_offset);
			/* written as a distance back from the end, or as an offset to it */
			base -= offset > 0 ? 2 * (uint64_t)offset : 0;
		}
		one = one_magic(finder, &c->magics[i], base);
		if (state == RI_MAGIC_NONE || one == RI_MAGIC_BAD ||
		    (one == RI_MAGIC_DEAD && state == RI_MAGIC_LIVE))
			state = one;
	}
	return state;
}

/*
 * Recognition
 */

static bool fills(const struct ri_counted_type *type, uint64_t header,
		  const struct ri_block *block)
{
	return ri_type_start(type, header - (uint64_t)type->header_offset) == block->addr &&
	       ri_finder_fits(type->extent_bytes, block->size_bytes);
}

/* A pointer or a group may be to a base of the object's struct: it tells the type where
 * both types fill the block. */
static bool may_be_of(const struct ri_finder *finder, const struct ri_object *object,
		      uint32_t type)
{
	return object->block != RI_NONE &&
	       fills(&finder->types.items[type], ri_finder_header(finder, object),
		     &finder->heap->blocks[object->block]);
}

void ri_finder_confirm(struct ri_finder *finder, uint32_t object, uint32_t type, uint32_t found)
{
	struct ri_object *o = &finder->objects.items[object];
	bool was_confirmed = ri_finder_is_confirmed(finder, object);

	if (type != RI_NONE && type != o->type && !was_confirmed && may_be_of(finder, o, type))
		retype(finder, o, type, found);
	if (object < finder->indexed_count && found == RI_FOUND_POINTER)
		finder->is_pointed_at[object / 64] |= 1ull << object % 64;
	else
		o->found |= found;
	if (!was_confirmed && object < finder->examined_count)
		*ri_push(&finder->confirmed) = object;
}

/* The first type of `list` whose extent is more than `usable` less the slack. */
static size_t first_that_may_fit(const struct ri_finder *finder, const struct ri_type_list *list,
				 uint64_t usable)
{
	size_t low = 0, count = list->count;

	while (count) {
		size_t half = count / 2;
		uint64_t extent = finder->types.items[list->types[low + half]].extent_bytes;

		if (extent <= usable && !fits_within(extent, usable, CLOSE_FIT_SLACK_BYTES)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

uint32_t ri_finder_decide(const struct ri_finder *finder, uint32_t convention, uint64_t header,
			  uint32_t block)
{
	const struct ri_type_list *list = &finder->types_of[ri_finder_base(finder, convention)];
	const struct ri_block *b;
	uint32_t only = RI_NONE;

	if (block == RI_NONE)
		return list->count == 1 ? list->types[0] : RI_NONE;
	b = &finder->heap->blocks[block];
	for (size_t i = first_that_may_fit(finder, list, b->size_bytes); i < list->count; i++) {
		const struct ri_counted_type *type = &finder->types.items[list->types[i]];

		if (type->extent_bytes > b->size_bytes)
			break;
		if (!fills(type, header, b))
			continue;
		if (only != RI_NONE)
			return RI_NONE;
		only = list->types[i];
	}
	if (only == RI_NONE && list->count == 1 &&
	    ri_finder_inside(finder, list->types[0], header, block))
		only = list->types[0];
	return only;
}

/* The type of an object that something points at, RI_NONE if it cannot be told. */
static uint32_t type_at(struct ri_finder *finder, uint32_t convention, uint64_t header,
			uint32_t block, uint32_t expected)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	uint32_t type = RI_NONE;

	if (c->descriptor.is_present)
		type = ri_descriptors_type(finder, convention,
					   ri_finder_pointer(finder, header,
							     &c->descriptor.field));
	if (type == RI_NONE)
		type = expected;
	if (type == RI_NONE && !c->descriptor.meta.is_present)
		type = ri_finder_decide(finder, convention, header, block);
	return type;
}

bool ri_finder_is_in_pool(const struct ri_finder *finder, uint32_t type, uint64_t header,
			  uint32_t block)
{
	return ri_lost_is_in_pool(finder->lost, &finder->heap->blocks[block], type,
				  header - (uint64_t)finder->types.items[type].header_offset);
}

/* Whether what lies at `header` can be taken for an object of `type`, which
 * something that points there implies.  A magic or a descriptor says so by
 * itself; without one the object must fill its block. */
static bool is_convincing(struct ri_finder *finder, uint32_t type, uint64_t header, uint32_t block)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
	enum ri_magic_state magic = ri_finder_magic(finder, t->convention, header, type);
	const struct ri_block *b;

	if (block == RI_NONE)
		return magic != RI_MAGIC_BAD &&
		       ri_reader_peek(&finder->reader,
				      ri_type_start(t, header - (uint64_t)t->header_offset),
				      t->extent_bytes);
	if (!ri_finder_inside(finder, type, header, block))
		return false;
	b = &finder->heap->blocks[block];
	if (magic == RI_MAGIC_LIVE || magic == RI_MAGIC_DEAD || fills(t, header, b))
		return true;
	/* freed neighbours are merged: the block begins elsewhere now */
	if (magic == RI_MAGIC_NONE && b->state == RI_BLOCK_FREE)
		return true;
	if (t->descriptor && t->descriptor == ri_finder_pointer(finder, header,
								&c->descriptor.field))
		return true;
	if (ri_finder_is_in_pool(finder, type, header, block))
		return true;
	return magic == RI_MAGIC_NONE && ri_finder_has_tail(finder, t) &&
	       ri_type_start(t, header - (uint64_t)t->header_offset) == b->addr;
}

void ri_finder_keep_unproved(struct ri_finder *finder, uint32_t type, uint64_t header,
			     uint32_t block)
{
	const struct ri_counted_type *t = &finder->types.items[type];

	if (block == RI_NONE || type >= finder->layout->types.count ||
	    finder->heap->blocks[block].state != RI_BLOCK_USED ||
	    finder->unproved.count >= UNPROVED_MAX || !ri_finder_inside(finder, type, header, block))
		return;
	*ri_push(&finder->unproved) =
		(struct ri_unproved){ header - (uint64_t)t->header_offset, type };
}

/* What describes itself and has a bad descriptor pointer: the header alone, if that is a
 * type, where all else fits. */
static uint32_t bare_type_at(struct ri_finder *finder, uint32_t convention, uint64_t header,
			     uint32_t block)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];

	if (!c->descriptor.meta.is_present || block == RI_NONE ||
	    !ri_described_is_at(finder, convention, header, block))
		return RI_NONE;
	return ri_shapes_find_counted(finder->shapes, c->type);
}

uint32_t ri_finder_recognise(struct ri_finder *finder, uint32_t convention, uint64_t header,
			     uint32_t expected, uint32_t found)
{
	uint32_t object = ri_finder_find(finder, header, convention), block, type;
	const struct ri_counted_type *t;

	if (object != RI_NONE) {
		ri_finder_confirm(finder, object, expected, found);
		return object;
	}
	block = ri_finder_block(finder, header);
	if (block != RI_NONE ? finder->heap->blocks[block].state == RI_BLOCK_RECORD
			     : ri_heap_find_region(finder->heap, header) != NULL)
		return RI_NONE;
	type = type_at(finder, convention, header, block, expected);
	if (type == RI_NONE) {
		type = bare_type_at(finder, convention, header, block);
	} else if (!is_convincing(finder, type, header, block)) {
		ri_finder_keep_unproved(finder, type, header, block);
		return RI_NONE;
	}
	if (type == RI_NONE)
		return RI_NONE;
	t = &finder->types.items[type];
	return ri_finder_add(finder, header - (uint64_t)t->header_offset, type, found);
}

uint32_t ri_finder_add_head(struct ri_finder *finder, const struct ri_head *head)
{
	uint32_t index = ri_address_map_find(&finder->head_index, head->head);

	if (index == RI_NONE) {
		index = (uint32_t)finder->heads.count;
		*ri_push(&finder->heads) = *head;
		ri_address_map_set(&finder->head_index, head->head, index);
		return index;
	}
	if (!finder->heads.items[index].name)
		finder->heads.items[index].name = head->name;
	finder->heads.items[index].is_certain |= head->is_certain;
	finder->heads.items[index].is_beyond &= head->is_beyond;
	return index;
}
