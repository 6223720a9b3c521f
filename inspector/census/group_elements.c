/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elements of groups: which object a node belongs to, which group an object says
 * that it is in, and what a link word holds.
 */
#include "census/groups_private.h"

bool ri_groups_is_element(const struct ri_finder *finder, const struct ri_group_rule *rule,
			  uint32_t type)
{
	uint32_t convention = finder->types.items[type].convention;

	if (rule->element_type != RI_LAYOUT_NONE)
		return rule->element_type == type;
	return rule->element_convention != RI_LAYOUT_NONE &&
	       (rule->element_convention == convention ||
		rule->element_convention == ri_finder_base(finder, convention));
}

/* What the rule's offsets count from: the object, or its header. */
static uint64_t base_of(const struct ri_groups *groups, const struct ri_group_rule *rule,
			const struct ri_object *object)
{
	return rule->element_type != RI_LAYOUT_NONE ? object->addr
						    : ri_finder_header(groups->finder, object);
}

uint64_t ri_groups_node_of(const struct ri_groups *groups, const struct ri_group_rule *rule,
			   const struct ri_object *object)
{
	return base_of(groups, rule, object) + (uint64_t)rule->link_offset;
}

uint64_t ri_groups_back(struct ri_groups *groups, const struct ri_group_rule *rule,
			const struct ri_object *object, uint64_t *ret_raw)
{
	uint64_t raw = ri_finder_pointer(groups->finder, base_of(groups, rule, object),
					 &rule->back);

	*ret_raw = raw;
	if (!raw)
		return 0;
	return rule->back_to_head ? raw : raw + (uint64_t)rule->head_offset;
}

/* A node in a freed block whose header the allocator has overwritten: it was of
 * a type that the group's other members have, if one of those lies there. */
static uint32_t recognise_freed(struct ri_groups *groups, uint32_t convention, uint64_t header)
{
	struct ri_finder *finder = groups->finder;
	uint32_t block = ri_finder_block(finder, header);

	if (block == RI_NONE || finder->heap->blocks[block].state != RI_BLOCK_FREE)
		return RI_NONE;
	for (unsigned i = 0; i < groups->seen_type_count; i++) {
		uint32_t type = groups->seen_types[i];
		const struct ri_counted_type *t = &finder->types.items[type];

		if (ri_finder_base(finder, t->convention) == ri_finder_base(finder, convention) &&
		    ri_finder_inside(finder, type, header, block))
			return ri_finder_add(finder, header - (uint64_t)t->header_offset, type,
					     RI_FOUND_GROUP);
	}
	return RI_NONE;
}

static void note_type(struct ri_groups *groups, uint32_t type)
{
	for (unsigned i = 0; i < groups->seen_type_count; i++)
		if (groups->seen_types[i] == type)
			return;
	if (groups->seen_type_count < RI_SEEN_TYPES_MAX)
		groups->seen_types[groups->seen_type_count++] = type;
}

uint32_t ri_groups_element_at(struct ri_groups *groups, const struct ri_group_rule *rule,
			      uint64_t addr)
{
	struct ri_finder *finder = groups->finder;
	const struct ri_type_list *list;
	uint32_t object;

	if (rule->element_type != RI_LAYOUT_NONE) {
		const struct ri_counted_type *t = &finder->types.items[rule->element_type];

		return ri_finder_recognise(finder, t->convention,
					   addr + (uint64_t)t->header_offset, rule->element_type,
					   RI_FOUND_GROUP);
	}
	if (rule->element_convention == RI_LAYOUT_NONE)
		return RI_NONE;
	list = &finder->types_of[ri_finder_base(finder, rule->element_convention)];
	for (size_t i = 0; i < list->count; i++) {
		const struct ri_counted_type *t = &finder->types.items[list->types[i]];

		object = ri_finder_find(finder, addr + (uint64_t)t->header_offset,
					rule->element_convention);
		if (object != RI_NONE && finder->objects.items[object].addr == addr)
			return object;
	}
	return RI_NONE;
}

uint32_t ri_groups_element(struct ri_groups *groups, const struct ri_group_rule *rule,
			   uint64_t node)
{
	struct ri_finder *finder = groups->finder;
	uint64_t base = node - (uint64_t)rule->link_offset, payload;
	uint32_t convention, object, expected = RI_NONE;

	if (rule->node_bytes) {
		if (!ri_reader_u64(&finder->reader, base + (uint64_t)rule->payload_offset,
				   &payload))
			return RI_NONE;
		return ri_groups_element_at(groups, rule, payload);
	}
	if (rule->element_type != RI_LAYOUT_NONE) {
		expected = rule->element_type;
		base += (uint64_t)finder->types.items[expected].header_offset;
		convention = finder->types.items[expected].convention;
	} else if (rule->element_convention != RI_LAYOUT_NONE) {
		convention = rule->element_convention;
	} else {
		return RI_NONE;
	}
	object = ri_finder_recognise(finder, convention, base, expected, RI_FOUND_GROUP);
	if (object == RI_NONE)
		object = recognise_freed(groups, convention, base);
	if (object != RI_NONE)
		note_type(groups, finder->objects.items[object].type);
	return object;
}

/*
 * Links
 */

bool ri_groups_link(struct ri_groups *groups, const struct ri_group_rule *rule, uint64_t addr,
		    uint64_t *ret)
{
	if (!ri_reader_u64(&groups->finder->reader, addr, ret))
		return false;
	*ret &= ~rule->tag_mask;
	return true;
}

const char *ri_groups_why_unmapped(const struct ri_groups *groups, const struct ri_group_rule *rule,
				   uint64_t value)
{
	const uint64_t linux_poison[] = { 0x100, 0x122, 0x200, 0xdead000000000100,
					  0xdead000000000122, 0xdead000000000200 };
	const struct ri_finder *finder = groups->finder;
	const struct ri_range *range;
	uint32_t convention = rule->element_convention;

	if (!value)
		return "null";
	if (convention == RI_LAYOUT_NONE && rule->element_type != RI_LAYOUT_NONE)
		convention = finder->types.items[rule->element_type].convention;
	for (size_t i = 0; i < sizeof(linux_poison) / sizeof(linux_poison[0]); i++)
		if (value == linux_poison[i])
			return "list poison: the node was removed from its list";
	if (convention != RI_LAYOUT_NONE) {
		const struct ri_convention *c = &finder->layout->conventions.items[convention];

		for (size_t i = 0; i < c->poison_count; i++)
			if (value == c->poison[i])
				return "poison: the node was freed";
	}
	range = ri_image_find(finder->image, value);
	if (!range)
		return "not mapped";
	return range->kind == RI_RANGE_MISSING || range->kind == RI_RANGE_UNTOUCHED ?
		       "memory that is absent" :
		       NULL;
}
