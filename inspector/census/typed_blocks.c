/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plain blocks and what points at them: a pointer to a struct gives the block at
 * its target that type, one to pointers makes it an array named after the holder.
 *
 * A block that the type fits is exact, and so is an array of it that fills the
 * block with null or mapped pointers: what such a block holds is certain.  In
 * any other the type is at least what the block begins with.  Where two pointers
 * disagree, the one that fits and says more wins; on a tie nothing in the block
 * is certain.
 *
 * Cost: the contents of a block are read for the first pointer to it.  A table that
 * every object points at must not be read once per object: pointers that say the
 * same add nothing, and what others may read is bounded for all blocks together.
 */
#include "census/traverse_private.h"

#include "census/type_walk.h"

#define LINK_TYPE_MAX_BYTES 32
#define TAIL_SLACK_WORDS 2 /* at a block's end, beyond what was asked for */
#define SMALLEST_WORDS 3   /* of a block: one may be all that was asked for */

/* How much a shape says about a block: a struct that fits, a struct, an array of
 * typed pointers, an array of any pointers. */
static unsigned rank_of(const struct ri_finder *finder, uint32_t shape, bool is_exact)
{
	const struct ri_shape *s = &finder->shapes->shapes.items[shape];

	if (ri_typed_block_is_array(finder, shape))
		return s->slots->kind == RI_SLOT_VOID_POINTER ? 0 : 1;
	return is_exact ? 3 : 2;
}

bool ri_typed_block_is_array(const struct ri_finder *finder, uint32_t shape)
{
	const struct ri_shape *s = &finder->shapes->shapes.items[shape];

	return s->slot_count == 1 && s->element_bytes == 8 &&
	       finder->shapes->classes.items[s->slots->class_index].kind == RI_CLASS_ARRAY;
}

/* What a pointer says about a block. */
struct claim {
	uint32_t block, shape;
	bool is_exact, is_spare_dead;
	uint64_t spare_bytes;
};

static void take_claim(struct ri_typed_block *typed, const struct claim *claim)
{
	typed->block = claim->block;
	typed->shape = claim->shape;
	typed->is_exact = claim->is_exact;
	typed->is_spare_dead = claim->is_spare_dead;
	typed->spare_bytes = claim->spare_bytes;
}

/* Whether the claim adds nothing to what is known of its block, or nothing that may
 * still be found out; call before the block is read. */
static bool is_settled(struct ri_finder *finder, const struct claim *claim)
{
	uint32_t use = finder->block_use[claim->block];
	uint64_t words = finder->heap->blocks[claim->block].size_bytes / 8;
	struct ri_typed_block *typed;

	if (!use)
		return false;
	typed = &finder->typed.items[use - 1];
	if (typed->shape == claim->shape && !typed->spare_bytes)
		return true;
	if (words <= finder->reread_words) {
		finder->reread_words -= words;
		return false;
	}
	typed->is_exact &= typed->shape == claim->shape;
	return true;
}

/* Settles the claim against what is known; the block's index in finder->typed if
 * it is to be examined, else RI_NONE. */
static uint32_t settle(struct ri_finder *finder, const struct claim *claim)
{
	uint32_t use = finder->block_use[claim->block];
	struct ri_typed_block *typed;
	unsigned old, new;

	if (!use) {
		take_claim(ri_push(&finder->typed), claim);
		finder->block_use[claim->block] = (uint32_t)finder->typed.count;
		return (uint32_t)finder->typed.count - 1;
	}
	typed = &finder->typed.items[use - 1];
	if (typed->shape == claim->shape) {
		/* two holders, two lengths: the longer one is not proved wrong */
		if (claim->spare_bytes < typed->spare_bytes)
			typed->spare_bytes = claim->spare_bytes;
		return RI_NONE;
	}
	old = rank_of(finder, typed->shape, typed->is_exact);
	new = rank_of(finder, claim->shape, claim->is_exact);
	if (new == old)
		typed->is_exact = false;
	if (new <= old)
		return RI_NONE;
	take_claim(typed, claim);
	return use - 1;
}

static bool is_mapped(struct ri_finder *finder, uint64_t addr)
{
	return ri_reader_peek(&finder->reader, addr, 1) || ri_image_find(finder->image, addr);
}

/* Whether every word that should be a pointer is null or leads somewhere, for
 * `count` elements at `addr`; `forgiven` words at the end may fail. */
static bool are_pointers(struct ri_finder *finder, const struct ri_shape *shape, uint64_t addr,
			 uint64_t count, uint64_t forgiven)
{
	for (uint64_t i = 0; i < count; i++)
		for (size_t s = 0; s < shape->slot_count; s++) {
			const struct ri_slot *slot = &shape->slots[s];
			uint64_t value;

			if (slot->in_union || slot->kind == RI_SLOT_OTHER ||
			    slot->kind == RI_SLOT_HEADER)
				continue;
			if (!ri_reader_u64(&finder->reader,
					   addr + i * shape->element_bytes + slot->offset_bytes,
					   &value))
				return false;
			if (value && !is_mapped(finder, value) && i + forgiven < count)
				return false;
		}
	return true;
}

/* list_head, hlist_node, rb_node: pointers to itself and no payload. */
static bool is_link_type(struct ri_finder *finder, const struct ri_type *type)
{
	bool has_self = false;

	if (type->size_bytes > LINK_TYPE_MAX_BYTES)
		return false;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_type *member =
			ri_type_bare(finder->dwarf, type->members[i].type);

		if (member && member->kind == RI_TYPE_INT)
			continue;
		while (member && member->kind == RI_TYPE_POINTER) {
			member = ri_type_below(finder->dwarf, member);
			has_self |= ri_types_are_same(member, type);
		}
		if (!ri_types_are_same(member, type))
			return false;
	}
	return has_self;
}

/* The used block that starts at `value`, or RI_NONE. */
static uint32_t used_block_at(const struct ri_finder *finder, uint64_t value)
{
	uint32_t block = ri_finder_block(finder, value);

	if (block == RI_NONE || finder->heap->blocks[block].state != RI_BLOCK_USED ||
	    finder->heap->blocks[block].addr != value)
		return RI_NONE;
	return block;
}

/* Elements of a block, for ri_vector_length(). */
struct elements {
	struct ri_finder *finder;
	const struct ri_shape *shape;
	uint64_t start;
};

/* Whether element `i` holds no pointer at all. */
static bool is_null_element(void *data, uint64_t i)
{
	const struct elements *elements = data;
	const struct ri_shape *shape = elements->shape;

	for (size_t s = 0; s < shape->slot_count; s++) {
		uint64_t value;

		if (shape->slots[s].kind != RI_SLOT_OTHER &&
		    ri_reader_u64(&elements->finder->reader,
				  elements->start + i * shape->element_bytes +
					  shape->slots[s].offset_bytes,
				  &value) &&
		    value)
			return false;
	}
	return true;
}

/* How many words at the end of an array of `count` words may not have been asked for: the
 * allocator rounds up, and what was there before stays.  Null words do no harm. */
static uint64_t slack_words(struct elements *elements, uint64_t count)
{
	uint64_t slack = 0;

	for (uint64_t i = 1; i < count && i <= (count <= SMALLEST_WORDS ? 2 : 1); i++)
		if (!is_null_element(elements, count - i))
			slack = i;
	return slack;
}

/* How many of the block's `count` elements are in use; what is beyond is cut off. */
static uint64_t measure(struct ri_finder *finder, const struct ri_pointer_place *place,
			uint64_t start, uint64_t count, struct claim *claim)
{
	struct elements elements = {
		.finder = finder,
		.shape = &finder->shapes->shapes.items[claim->shape],
		.start = start,
	};
	uint64_t element_bytes = elements.shape->element_bytes, length;

	if (!ri_vector_length(finder, place, start, count, element_bytes, is_null_element,
			      &elements, &length, &claim->is_spare_dead))
		length = element_bytes == 8 ? count - slack_words(&elements, count) : count;
	if (length < count)
		claim->spare_bytes = finder->heap->blocks[claim->block].size_bytes -
				     length * element_bytes;
	return length;
}

static bool claim_plain(struct ri_finder *finder, uint64_t value,
			const struct ri_pointer_place *place, struct claim *claim)
{
	struct ri_shapes *shapes = finder->shapes;
	const struct ri_type *type = place->slot->pointee;
	uint64_t usable = finder->heap->blocks[claim->block].size_bytes, count;
	const char *name = type->name;

	if (type->size_bytes < 8 || type->size_bytes > usable || is_link_type(finder, type))
		return false;
	if (!name)
		name = ri_strings_format(shapes->strings, "%s*",
					 shapes->classes.items[place->slot->class_index].name);
	claim->shape = ri_shapes_shape(shapes, type, name, RI_CLASS_PLAIN_FIELD);
	if (ri_finder_fits(type->size_bytes, usable)) {
		claim->is_exact = true;
		claim->spare_bytes = usable - type->size_bytes;
		return true;
	}
	if (is_settled(finder, claim))
		return false;
	count = usable / type->size_bytes;
	if (type->size_bytes % 8 || !ri_finder_fits(count * type->size_bytes, usable) ||
	    ri_finder_has_flexible_tail(finder, type) ||
	    !are_pointers(finder, &shapes->shapes.items[claim->shape], value, count, 0))
		return true;
	claim->is_exact = true;
	measure(finder, place, value, count, claim);
	return true;
}

uint32_t ri_typed_block_assume(struct ri_finder *finder, uint64_t value,
			       const struct ri_type *type, const char *name)
{
	struct claim claim = { .block = used_block_at(finder, value), .is_exact = true };
	uint64_t usable, count;

	if (claim.block == RI_NONE || type->size_bytes < 8 ||
	    finder->block_use[claim.block] == RI_BLOCK_HAS_OBJECT)
		return RI_NONE;
	usable = finder->heap->blocks[claim.block].size_bytes;
	count = usable / type->size_bytes;
	claim.shape = ri_shapes_shape(finder->shapes, type, type->name ? type->name : name,
				      RI_CLASS_PLAIN_FIELD);
	/* one, or as many as fill it; what is behind one may hold anything */
	if (type->size_bytes % 8 || ri_finder_fits(type->size_bytes, usable) ||
	    !ri_finder_fits(count * type->size_bytes, usable) ||
	    ri_finder_has_flexible_tail(finder, type) ||
	    !are_pointers(finder, &finder->shapes->shapes.items[claim.shape], value, count, 0))
		count = 1;
	claim.spare_bytes = usable - count * type->size_bytes;
	return settle(finder, &claim);
}

static bool claim_array(struct ri_finder *finder, uint64_t value,
			const struct ri_pointer_place *place, struct claim *claim)
{
	struct ri_shapes *shapes = finder->shapes;
	const struct ri_type *pointee = ri_type_below(finder->dwarf, place->slot->pointee);
	uint64_t words = finder->heap->blocks[claim->block].size_bytes / 8;
	const char *name;

	if (pointee && ri_shapes_resolve_opaque(shapes, pointee) == pointee &&
	    pointee->kind != RI_TYPE_STRUCT && pointee->kind != RI_TYPE_UNION &&
	    pointee->kind != RI_TYPE_POINTER)
		pointee = NULL;
	name = ri_strings_format(shapes->strings, "%s[]",
				 shapes->classes.items[place->slot->class_index].name);
	claim->shape = ri_shapes_pointer_array(shapes, name, pointee);
	if (is_settled(finder, claim))
		return false;
	words = measure(finder, place, value, words, claim);
	claim->is_exact = are_pointers(finder, &shapes->shapes.items[claim->shape], value, words,
				       !claim->spare_bytes && words > TAIL_SLACK_WORDS
					       ? TAIL_SLACK_WORDS
					       : 0);
	return true;
}

uint32_t ri_typed_block_table(struct ri_finder *finder, uint64_t value, const char *class_name,
			      const struct ri_type *pointee)
{
	uint32_t block = ri_finder_block(finder, value);
	const struct ri_block *b;
	struct claim claim = { .block = block, .is_exact = true };
	uint64_t lead;

	if (block == RI_NONE || finder->block_use[block] || value % 8)
		return RI_NONE;
	b = &finder->heap->blocks[block];
	lead = value - b->addr;
	if (b->state != RI_BLOCK_USED || b->addr % 8 || lead > UINT32_MAX ||
	    b->size_bytes - lead < 8)
		return RI_NONE;
	claim.shape = ri_shapes_pointer_array(finder->shapes, class_name, pointee);
	/* the last word may be what the allocator added */
	claim.spare_bytes = b->size_bytes % 8 + 8;
	(void)settle(finder, &claim);
	finder->typed.items[finder->typed.count - 1].lead_bytes = (uint32_t)lead;
	return (uint32_t)finder->typed.count - 1;
}

void ri_typed_block_contest(struct ri_finder *finder, uint64_t value)
{
	uint32_t block = used_block_at(finder, value);

	if (block != RI_NONE)
		finder->is_contested[block / 64] |= 1ull << block % 64;
}

static bool fill_claim(struct ri_finder *finder, uint64_t value,
		       const struct ri_pointer_place *place, struct claim *claim)
{
	return place->slot->kind == RI_SLOT_POINTER_ARRAY
		       ? claim_array(finder, value, place, claim)
		       : claim_plain(finder, value, place, claim);
}

bool ri_typed_block_is_taken(const struct ri_finder *finder, uint64_t value)
{
	uint32_t block = used_block_at(finder, value);

	return block != RI_NONE && finder->block_use[block] == RI_BLOCK_HAS_OBJECT;
}

uint32_t ri_typed_block_claim(struct ri_finder *finder, uint64_t value,
			      const struct ri_pointer_place *place, bool is_sound)
{
	struct claim claim = { .block = used_block_at(finder, value) };

	if (claim.block == RI_NONE || finder->block_use[claim.block] == RI_BLOCK_HAS_OBJECT ||
	    !fill_claim(finder, value, place, &claim))
		return RI_NONE;
	claim.is_exact &= is_sound;
	return settle(finder, &claim);
}

uint32_t ri_typed_block_take(struct ri_finder *finder, uint64_t value,
			     const struct ri_pointer_place *place, uint32_t object)
{
	struct claim claim = { .block = used_block_at(finder, value) };
	bool is_taken, is_array = place->slot->kind == RI_SLOT_POINTER_ARRAY;

	if (claim.block == RI_NONE ||
	    (object != RI_NONE && !is_array &&
	     ri_type_begins_with(finder->dwarf,
				 finder->types.items[finder->objects.items[object].type].type,
				 place->slot->pointee)))
		return RI_NONE;
	is_taken = finder->block_use[claim.block] == RI_BLOCK_HAS_OBJECT;
	if (is_taken)
		finder->block_use[claim.block] = 0;
	if (fill_claim(finder, value, place, &claim) && claim.is_exact) {
		ri_typed_block_contest(finder, value);
		return settle(finder, &claim);
	}
	if (is_array)
		ri_typed_block_contest(finder, value);
	if (is_taken)
		finder->block_use[claim.block] = RI_BLOCK_HAS_OBJECT;
	return RI_NONE;
}
