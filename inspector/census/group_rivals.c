/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What else the nodes of a list may lie in: links that lead to links (list_head) do not say of
 * what struct they are a member.  Every struct with such a link at the same offset that fits the
 * blocks is weighed against the counted type by what its pointers would lead to.
 *
 * Blind spot: a struct that no debug information describes.
 */
#include <string.h>

#include "census/finder.h"
#include "census/group_votes_private.h"
#include "census/type_walk.h"

#define RIVALS_MAX 200
#define DEPTH_MAX  8
#define MARGIN     1.0 /* points a block by which the counted type must be better */

struct rivals {
	struct ri_votes *votes;
	const struct ri_chain_link *link;
	const struct ri_counted_type *type;
	RI_VEC(const struct ri_type *) structs;
};

/* Whether the struct has a `node` at the offset. */
static bool has_node_at(struct ri_types *types, const struct ri_type *type,
			const struct ri_type *node, uint64_t offset, unsigned depth)
{
	for (size_t i = 0; i < type->member_count && depth < DEPTH_MAX; i++) {
		const struct ri_member *member = &type->members[i];
		uint64_t start = member->offset_bits / 8;
		const struct ri_type *inner;

		if (member->bit_size || start > offset)
			continue;
		inner = ri_type_bare(types, member->type);
		if (!inner || offset - start >= inner->size_bytes)
			continue;
		if (start == offset && inner->kind == RI_TYPE_STRUCT &&
		    (inner == node || ri_types_are_same(inner, node)))
			return true;
		if ((inner->kind == RI_TYPE_STRUCT || inner->kind == RI_TYPE_UNION) &&
		    has_node_at(types, inner, node, offset - start, depth + 1))
			return true;
	}
	return false;
}

static bool add_rival(const struct ri_type *type, void *data)
{
	struct rivals *r = data;

	if (r->structs.count >= RIVALS_MAX)
		return false;
	if (type->name && type->size_bytes >= r->link->link_offset + r->link->node->size_bytes &&
	    !ri_types_are_same(type, r->type->type) &&
	    has_node_at(r->votes->input->types, type, r->link->node, r->link->link_offset, 0))
		*ri_push(&r->structs) = type;
	return true;
}

/* Points of one word that is declared a pointer. */
static double weigh_pointer(struct rivals *r, const struct ri_slot *slot, uint64_t value)
{
	const struct ri_group_votes_input *input = r->votes->input;
	uint32_t index;

	if (!value)
		return 0;
	if (!ri_image_find(input->image, value))
		return -5;
	index = ri_heap_find(input->heap, value);
	if (index != RI_NONE && input->heap->blocks[index].state == RI_BLOCK_FREE)
		return -2;
	if (slot->kind != RI_SLOT_POINTER || !slot->pointee || !slot->pointee->size_bytes)
		return 0.6;
	if (index == RI_NONE)
		return 0.6;
	return input->heap->blocks[index].addr == value &&
			       ri_finder_fits(slot->pointee->size_bytes,
					      input->heap->blocks[index].size_bytes) ?
		       2 : -1;
}

/* How well the struct's words at `addr` are what they are declared as. */
static double weigh(struct rivals *r, const struct ri_shape *shape, uint64_t addr)
{
	double points = 0;

	for (uint64_t offset = 0; offset + 8 <= shape->element_bytes; offset += 8) {
		const struct ri_slot *slot = ri_shape_slot(shape, offset);
		uint64_t value;

		/* what all candidates have, and what groups found before say of one of them */
		if ((offset >= r->link->link_offset &&
		     offset < r->link->link_offset + r->link->node->size_bytes) ||
		    (slot && (slot->in_union || slot->is_inferred || slot->kind == RI_SLOT_HEADER)) ||
		    !ri_reader_u64(&r->votes->reader, addr + offset, &value))
			continue;
		if (slot && slot->kind != RI_SLOT_OTHER)
			points += weigh_pointer(r, slot, value);
		else if (value > 0x10000 && ri_heap_find(r->votes->input->heap, value) != RI_NONE)
			points -= 2.5;
	}
	return points;
}

static double weigh_all(struct rivals *r, const struct ri_type *type, const uint64_t *nodes,
			size_t node_count)
{
	struct ri_shapes *shapes = r->votes->input->shapes;
	uint32_t index = ri_shapes_shape(shapes, type, type->name, RI_CLASS_PLAIN_FIELD);
	double points = 0;

	for (size_t i = 0; i < node_count; i++)
		points += weigh(r, &shapes->shapes.items[index], nodes[i]);
	return points / (double)node_count;
}

/* Whether the blocks at the nodes are of the struct's size. */
static bool fits_blocks(struct rivals *r, const struct ri_type *type, const uint64_t *nodes,
			size_t node_count)
{
	const struct ri_heap *heap = r->votes->input->heap;
	size_t fitting = 0;

	for (size_t i = 0; i < node_count; i++) {
		uint32_t block = ri_heap_find(heap, nodes[i]);

		fitting += block != RI_NONE && heap->blocks[block].addr == nodes[i] &&
			   ri_finder_fits(type->size_bytes, heap->blocks[block].size_bytes);
	}
	return fitting * 2 > node_count;
}

const char *ri_votes_rival(struct ri_votes *votes, const struct ri_chain_link *link,
			   const uint64_t *nodes, size_t node_count)
{
	struct rivals r = {
		.votes = votes,
		.link = link,
		.type = &votes->input->layout->types.items[link->type],
	};
	const char *rival = NULL;
	double own;

	if (!node_count)
		return NULL;
	ri_types_each_struct(votes->input->types, add_rival, &r);
	own = weigh_all(&r, r.type->type, nodes, node_count);
	for (size_t i = 0; i < r.structs.count && !rival; i++)
		if (fits_blocks(&r, r.structs.items[i], nodes, node_count) &&
		    own - weigh_all(&r, r.structs.items[i], nodes, node_count) < MARGIN)
			rival = ri_strings_add(votes->strings, r.structs.items[i]->name);
	ri_vec_deinit(&r.structs);
	return rival;
}
