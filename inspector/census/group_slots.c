/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups whose head is a table: arrays of pointers to elements, and hashes,
 * whose slots are heads of chains or trees.
 *
 * The number of slots comes from the debug information, from the length that
 * the group's struct keeps, or from the block that the table lies in; it is cut
 * to the memory that is there.  The node of an array's member is its slot.
 *
 * Empty slots are paid for too, though little: many heads may name one large table.
 */
#include "census/groups_private.h"

#define SLOTS_PER_VISIT 64
#define ADJOINING_MAX 8

struct table {
	uint64_t start;          /* of the first slot */
	uint64_t length;         /* slots */
};

/* The bytes from `addr` to the end of its block, or of its range; where these are less than
 * `wanted`, of the ranges that adjoin it: static data lie in two or three. */
static uint64_t bytes_from(const struct ri_finder *finder, uint64_t addr, uint64_t wanted)
{
	uint32_t block = ri_finder_block(finder, addr);
	const struct ri_range *range;
	uint64_t bytes = 0;

	if (block != RI_NONE)
		return finder->heap->blocks[block].addr + finder->heap->blocks[block].size_bytes -
		       addr;
	for (unsigned i = 0; i < ADJOINING_MAX && (!i || bytes < wanted); i++) {
		range = ri_image_find(finder->image, addr + bytes);
		if (!range)
			break;
		bytes = range->end - addr;
	}
	return bytes;
}

/* The length that something says: fixed, or kept in the group's struct. */
static bool read_length(struct ri_finder *finder, const struct ri_group *group,
			const struct ri_group_rule *rule, uint64_t *ret)
{
	int64_t length;

	*ret = rule->fixed_length;
	if (rule->fixed_length)
		return true;
	if (!ri_finder_field(finder, group->struct_addr, &rule->length, &length))
		return false;
	*ret = length < 0 ? 0 : (uint64_t)length;
	return true;
}

/* Where the slots lie; false if there are none (a null table) or none readable. */
static bool find_table(struct ri_groups *groups, struct ri_group *group,
		       const struct ri_group_rule *rule, struct table *ret)
{
	struct ri_finder *finder = groups->finder;
	uint64_t room, wanted = 0;
	bool is_told;

	ret->start = group->head;
	if (!rule->slot_bytes ||
	    (rule->head_is_pointer && !ri_reader_u64(&finder->reader, group->head, &ret->start)))
		return false;
	if (!ret->start)
		return false;
	is_told = read_length(finder, group, rule, &ret->length);
	if (is_told && ret->length <= UINT64_MAX / rule->slot_bytes)
		wanted = ret->length * rule->slot_bytes;
	room = bytes_from(finder, ret->start, wanted) / rule->slot_bytes;
	if (!room) {
		const struct ri_group_break found = {
			.word_addr = group->head,
			.value = ret->start,
			.node = group->head,
			.object = RI_NONE,
			.what = "not mapped",
		};

		group->state |= RI_GROUP_INCOMPLETE;
		ri_groups_add_break(groups, group, &found, (struct ri_break_place){ 0, false });
		return false;
	}
	if (!is_told)
		ret->length = room;
	if (ret->length > room) {
		ret->length = room;
		group->state |= RI_GROUP_INCOMPLETE;
	}
	return true;
}

static void take_slot(struct ri_groups *groups, struct ri_group *group,
		      const struct ri_group_rule *rule, uint64_t slot)
{
	struct ri_group_node *added;
	uint64_t element;
	const char *why;
	uint32_t object;

	if (!ri_groups_link(groups, rule, slot, &element) || !element ||
	    (rule->has_end_mark && element == rule->end_mark) ||
	    !ri_groups_visit(groups, group))
		return;
	object = ri_groups_element_at(groups, rule, element);
	why = object == RI_NONE ? ri_groups_why_unmapped(groups, rule, element) : NULL;
	if (why) {
		const struct ri_group_break found = {
			.word_addr = slot,
			.value = element,
			.node = slot,
			.object = RI_NONE,
			.what = why,
		};

		ri_groups_add_break(
			groups, group, &found,
			(struct ri_break_place){ (uint32_t)groups->nodes.count, false });
		return;
	}
	added = ri_push(&groups->nodes);
	added->addr = slot;
	added->object = object;
}

void ri_group_walk_slots(struct ri_groups *groups, struct ri_group *group)
{
	const struct ri_group_rule *rule = &groups->finder->layout->groups.items[group->rule];
	struct table table;

	if (!find_table(groups, group, rule, &table))
		return;
	group->slots = table.start;
	group->slot_count = table.length;
	for (uint64_t i = 0; i < table.length; i++) {
		uint64_t slot = table.start + i * rule->slot_bytes;

		if (i % SLOTS_PER_VISIT == SLOTS_PER_VISIT - 1 && !ri_groups_visit(groups, group))
			return;
		if (rule->kind == RI_LINK_HASH)
			ri_group_walk(groups, group, rule->bucket, slot);
		else
			take_slot(groups, group, rule, slot);
	}
}
