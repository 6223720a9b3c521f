/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a word and what it hits to edges: see classify.h.
 *
 * A hit on an object is exact when the word equals its P, its header or its
 * first byte; with low bits set and equal otherwise it is tagged; else it is
 * interior.  Several nested objects may share the address.  A typed pointer is
 * an edge to the one that it is a pointer to; any other exact word is a possible
 * holder of each, so that none of them is short of one.
 *
 * What a pointer of a struct type is a pointer to is decided by the header: if
 * the pointee at that address would have its header where the object has its
 * own, then both are views of one count (a base at some offset of a larger
 * struct, the struct itself, the header alone).
 *
 * Where several objects share a block, a typed pointer to its start may be one to the
 * array as well as to its first element: possible, unless its class is declared.
 *
 * A pointer to a payload that lies in its control block is no holder either: an edge with
 * RI_EDGE_LINK.  One that lies apart is a plain block, which its control block owns.
 *
 * A word inside the object that it hits is no holder, except a typed pointer to
 * exactly that object, which is a possible one: `obj->self = get(obj)` counts,
 * `obj->root = obj` does not.
 */
#include "census/classify.h"

#include <string.h>

enum exactness { NOT_EXACT, EXACT, EXACT_TAGGED };

static enum exactness how_exact(const struct ri_population *population, uint32_t o, uint64_t value)
{
	const struct ri_object *object = &population->objects[o];
	uint64_t header = ri_extents_object_header(population, object);
	uint64_t start = ri_extents_object_start(population, object);
	uint64_t cleared = value & ~7ull;

	if (value == object->addr || value == header || value == start)
		return EXACT;
	if (value != cleared &&
	    (cleared == object->addr || cleared == header || cleared == start))
		return EXACT_TAGGED;
	return NOT_EXACT;
}

static bool is_same_struct(const struct ri_type *a, const struct ri_type *b)
{
	if (!a || !b)
		return false;
	return a == b || (a->size_bytes == b->size_bytes && a->name && b->name &&
			  !strcmp(a->name, b->name));
}

/* Headers of conventions that extend one another are the same header. */
static uint32_t base_convention(const struct ri_layout *layout, uint32_t convention)
{
	if (!layout || convention >= layout->conventions.count)
		return convention;
	return layout->conventions.items[convention].base;
}

/* Whether a pointer of the slot's type with `value` is a pointer to object `o`. */
static bool fits(const struct ri_classifier *classifier, const struct ri_slot *slot, uint32_t o,
		 uint64_t value)
{
	const struct ri_population *population = classifier->extents->population;
	const struct ri_layout *layout = classifier->shapes->layout;
	const struct ri_object *object = &population->objects[o];
	const struct ri_counted_type *type = &population->types[object->type];
	uint64_t header = ri_extents_object_header(population, object);

	if (slot->pointee_type < population->type_count) {
		const struct ri_counted_type *pointee = &population->types[slot->pointee_type];

		if (value == object->addr && object->type == slot->pointee_type)
			return true;
		return value + (uint64_t)pointee->header_offset == header &&
		       base_convention(layout, pointee->convention) ==
			       base_convention(layout, type->convention);
	}
	if (value == object->addr && is_same_struct(slot->pointee, type->type))
		return true;
	return value == header && layout && type->convention < layout->conventions.count &&
	       is_same_struct(slot->pointee, layout->conventions.items[type->convention].type);
}

static bool is_inside(const struct ri_population *population, uint32_t o, uint64_t addr)
{
	const struct ri_object *object = &population->objects[o];

	return addr && addr >= ri_extents_object_start(population, object) &&
	       addr < ri_extents_object_end(population, object);
}

/* Whether `value` leads to the payload that lies in the block of control block `o`: that is
 * no handle, and who has one besides keeps it next to this pointer. */
static bool is_payload(const struct ri_population *population, uint32_t o, uint64_t value)
{
	const struct ri_object *object = &population->objects[o];
	const struct ri_counted_type *type = &population->types[object->type];

	return type->payload.is_present && !type->payload_is_pointer &&
	       value >= ri_extents_object_header(population, object) +
				(uint64_t)type->payload.offset_bytes;
}

/* Whether the word is the one by which a control block owns its payload. */
static bool owns_payload(const struct ri_population *population, const struct ri_word *word)
{
	const struct ri_object *object;
	const struct ri_counted_type *type;

	if (word->object == RI_NONE)
		return false;
	object = &population->objects[word->object];
	type = &population->types[object->type];
	return type->payload.is_present && type->payload_is_pointer &&
	       word->addr == ri_extents_object_header(population, object) +
				     (uint64_t)type->payload.offset_bytes;
}

static void put(struct ri_edge *edge, const struct ri_word *word, uint32_t target, uint32_t flags)
{
	*edge = (struct ri_edge){
		.target = target,
		.class_index = word->slot ? word->slot->class_index : RI_CLASS_PENDING,
		.word = word->index,
		.flags = flags | word->flags,
	};
}

/* Whether `value` may be meant for the block's array of objects rather than its first. */
static bool may_be_array(const struct ri_classifier *classifier, const struct ri_hit *hit,
			 uint64_t value)
{
	const struct ri_extents *extents = classifier->extents;

	return extents->shares_block &&
	       extents->shares_block[hit->object / 64] >> hit->object % 64 & 1 &&
	       value == extents->heap->blocks[hit->block].addr;
}

/* A typed pointer: the edge to the object that it is a pointer to, if there is one. */
static unsigned classify_typed(const struct ri_classifier *classifier, const struct ri_word *word,
			       const struct ri_hit *hit, struct ri_edge *edge)
{
	const struct ri_population *population = classifier->extents->population;
	uint32_t o = hit->object;

	for (unsigned i = 0; o != RI_NONE && i < RI_EXTENTS_DEPTH_MAX; i++) {
		enum exactness exactness = how_exact(population, o, word->value);
		uint64_t value = exactness == EXACT_TAGGED ? word->value & ~7ull : word->value;

		if (fits(classifier, word->slot, o, value)) {
			uint32_t flags = exactness == EXACT_TAGGED ? RI_EDGE_TAGGED : 0;

			if (is_inside(population, o, word->addr))
				flags |= RI_EDGE_UNSURE;
			if (word->slot->in_union || may_be_array(classifier, hit, value))
				flags |= RI_EDGE_UNTYPED;
			put(edge, word, o, flags);
			return 1;
		}
		o = population->objects[o].parent;
	}
	return 0;
}

/* An interior hit is no reference in general; but a place without a pointee that
 * is declared to own holds the whole object by a struct inside it. */
static uint32_t interior_doubt(const struct ri_slot *slot)
{
	return slot && slot->kind == RI_SLOT_VOID_POINTER && !slot->in_union ? RI_EDGE_UNTYPED
									     : RI_EDGE_UNSURE;
}

/* Whether the object counts no word but those that equal its address. */
static bool is_exact(const struct ri_classifier *classifier, uint32_t o)
{
	const struct ri_population *population = classifier->extents->population;
	const struct ri_layout *layout = classifier->shapes->layout;
	uint32_t convention = population->types[population->objects[o].type].convention;

	return layout && convention < layout->conventions.count &&
	       layout->conventions.items[convention].is_exact;
}

/* Whether it is such an object, and this is one of the other words: registers and stacks may
 * have what a compiler derived from one that counts. */
static bool is_passed_by(const struct ri_classifier *classifier, const struct ri_word *word,
			 uint32_t o)
{
	return is_exact(classifier, o) && (word->object != RI_NONE || word->block != RI_NONE) &&
	       (word->value & ~7ull) != classifier->extents->population->objects[o].addr;
}

/* Any other word: an edge to each object that it hits exactly, else to the innermost. */
static unsigned classify_object(const struct ri_classifier *classifier,
				const struct ri_word *word, const struct ri_hit *hit,
				struct ri_edge *edges)
{
	const struct ri_population *population = classifier->extents->population;
	bool is_back = word->slot && word->slot->kind == RI_SLOT_BACK;
	uint32_t o = hit->object;
	bool any_exact = false;
	unsigned n = 0;

	for (unsigned i = 0; o != RI_NONE && i < RI_EXTENTS_DEPTH_MAX; i++) {
		enum exactness exactness = how_exact(population, o, word->value);

		any_exact |= exactness != NOT_EXACT;
		if (exactness != NOT_EXACT && !is_inside(population, o, word->addr) &&
		    !is_passed_by(classifier, word, o))
			put(&edges[n++], word, o,
			    (exactness == EXACT_TAGGED ? RI_EDGE_TAGGED : 0) |
				    (is_back ? 0 : RI_EDGE_UNTYPED));
		else if (word->value == population->objects[o].addr && word->object == o &&
			 is_exact(classifier, o))
			put(&edges[n++], word, o, RI_EDGE_UNSURE); /* it may hold itself */
		o = population->objects[o].parent;
	}
	if (!any_exact && is_payload(population, hit->object, word->value) &&
	    !is_inside(population, hit->object, word->addr))
		put(&edges[n++], word, hit->object, RI_EDGE_INTERIOR | RI_EDGE_LINK);
	else if (!any_exact && !is_inside(population, hit->object, word->addr) &&
		 !is_passed_by(classifier, word, hit->object))
		put(&edges[n++], word, hit->object,
		    RI_EDGE_INTERIOR | (is_back ? 0 : interior_doubt(word->slot)));
	return n;
}

/* A link word: the membership stands for it where the target is a member of anything. */
static unsigned classify_link(const struct ri_classifier *classifier, const struct ri_word *word,
			      const struct ri_hit *hit, struct ri_edge *edge)
{
	const struct ri_population *population = classifier->extents->population;

	if (ri_classify_is_member(classifier->is_member, hit->object) ||
	    is_inside(population, hit->object, word->addr))
		return 0;
	put(edge, word, hit->object,
	    RI_EDGE_LINK | (how_exact(population, hit->object, word->value) == NOT_EXACT
				    ? RI_EDGE_INTERIOR
				    : 0));
	return 1;
}

static bool is_pointer_slot(const struct ri_slot *slot)
{
	return slot && !slot->in_union &&
	       (slot->kind == RI_SLOT_POINTER || slot->kind == RI_SLOT_POINTER_ARRAY ||
		slot->kind == RI_SLOT_BACK || slot->kind == RI_SLOT_LINK ||
		slot->kind == RI_SLOT_HEAD);
}

/*
 * A hit on a block outside its objects.  Nobody counts references to plain
 * blocks, so these edges serve reachability alone: certain through a pointer by
 * type.  Heads lead to slots and to external nodes, and those on to others, which
 * belong to the group; a link word inside an object leads back to the head, which
 * the object does not own.
 */
static unsigned classify_block(const struct ri_classifier *classifier, const struct ri_word *word,
			       const struct ri_hit *hit, struct ri_edge *edge)
{
	const struct ri_extents *extents = classifier->extents;
	uint32_t only = extents->block_object[hit->block], flags = 0;
	bool is_back_link = word->object != RI_NONE && word->slot &&
			    word->slot->kind == RI_SLOT_LINK;

	if (word->block == hit->block)
		return 0;
	if (is_back_link ||
	    (only < RI_EXTENTS_MANY && is_payload(extents->population, only, word->value)))
		flags = RI_EDGE_LINK;
	else if (only < RI_EXTENTS_MANY)
		flags = RI_EDGE_UNSURE;
	else if (!word->is_link && !is_pointer_slot(word->slot) &&
		 !owns_payload(extents->population, word))
		flags = RI_EDGE_UNTYPED;
	if (only < RI_EXTENTS_MANY) {
		if (is_passed_by(classifier, word, only))
			return 0;
		put(edge, word, only, flags | RI_EDGE_INTERIOR);
		return 1;
	}
	if (word->value != extents->heap->blocks[hit->block].addr)
		flags |= RI_EDGE_INTERIOR;
	put(edge, word, (uint32_t)extents->population->object_count + hit->block, flags);
	return 1;
}

static bool is_group_slot(const struct ri_slot *slot)
{
	return slot && (slot->kind == RI_SLOT_LINK || slot->kind == RI_SLOT_HEAD);
}

/* A link of an inferred kind to what no known group chains: it may be chained by a head that
 * was not found, so it holds what any pointer would. */
static bool is_doubtful_link(const struct ri_classifier *classifier, const struct ri_word *word,
			     const struct ri_hit *hit)
{
	return (word->is_inferred_link || (word->slot && word->slot->is_inferred)) &&
	       !ri_classify_is_member(classifier->is_member, hit->object);
}

unsigned ri_classify(const struct ri_classifier *classifier, const struct ri_word *word,
		     const struct ri_hit *hit, struct ri_edge *ret_edges)
{
	const struct ri_slot *slot = word->slot;
	bool is_doubtful;
	unsigned n = 0;

	if (slot && slot->kind == RI_SLOT_HEADER)
		return 0;
	if (hit->object == RI_NONE)
		return classify_block(classifier, word, hit, ret_edges);
	is_doubtful = is_doubtful_link(classifier, word, hit);
	if ((word->is_link || is_group_slot(slot)) && !is_doubtful)
		return classify_link(classifier, word, hit, ret_edges);
	if (slot && (slot->kind == RI_SLOT_POINTER || (is_group_slot(slot) && slot->pointee)))
		n = classify_typed(classifier, word, hit, ret_edges);
	return n ? n : classify_object(classifier, word, hit, ret_edges);
}
