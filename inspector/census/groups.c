/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups: finds their heads, has each walked by its kind, and keeps the tables
 * of members, breaks and foreign nodes.
 *
 * Heads come from rules that name a variable, from the sweep (magic), from the
 * traversal (structs that contain one), from the members' back pointers and, for
 * rules without a head, from the members' links (group_headless.c).
 * Those last ones are believed when their magic or at least one neighbour's
 * link confirms them; a stray back pointer must not make a group.
 *
 * What chains members (group_list.c and its like), how gaps are closed
 * (group_islands.c) and what a group is called (group_names.c) is elsewhere.
 *
 * Walks are bounded together: the same nodes walked over and over from many
 * heads use up a budget in proportion to the memory at hand, and that is a gap.
 */
#include "census/groups_private.h"

#include <stdlib.h>

#define VISITS_PER_BLOCK 16
#define VISITS_AT_LEAST (1u << 22)

static const struct ri_group_rule *rule_of(const struct ri_groups *groups, uint32_t rule)
{
	return &groups->finder->layout->groups.items[rule];
}

/*
 * Bounds and breaks
 */

bool ri_groups_visit(struct ri_groups *groups, struct ri_group *group)
{
	if (groups->budget) {
		groups->budget--;
		return true;
	}
	if (!(group->state & RI_GROUP_INCOMPLETE))
		ri_gaps_add(groups->finder->gaps, RI_GAP_MATTERS, "census",
			    "groups overlap so much that their walks were cut short");
	group->state |= RI_GROUP_INCOMPLETE;
	return false;
}

uint32_t ri_groups_add_break(struct ri_groups *groups, struct ri_group *group,
			     const struct ri_group_break *found, struct ri_break_place place)
{
	/* the links of a freed head are the allocator's now */
	if ((group->state & RI_GROUP_HEAD_FREED) && found->node == group->head)
		return RI_NONE;
	*ri_push(&groups->breaks) = *found;
	*ri_push(&groups->places) = place;
	group->break_count++;
	return (uint32_t)(groups->breaks.count - 1);
}

void ri_groups_add_node_break(struct ri_groups *groups, struct ri_group *group, uint64_t head,
			      struct ri_group_break found)
{
	const struct ri_group_rule *rule = &groups->finder->layout->groups.items[group->rule];
	const struct ri_break_place place = { (uint32_t)groups->nodes.count, false };

	found.object = found.node == head ? RI_NONE : ri_groups_element(groups, rule, found.node);
	ri_groups_add_break(groups, group, &found, place);
}

/*
 * Heads
 */

static bool is_doubly_linked(enum ri_link_kind kind)
{
	return kind == RI_LINK_LIST || kind == RI_LINK_HLIST || kind == RI_LINK_DLIST ||
	       kind == RI_LINK_TAILQ;
}

/* Whether a neighbour of a node, or of the head, leads back to it. */
static bool is_linked(const struct ri_chain *chain, uint64_t at)
{
	uint64_t node, back, value;

	for (int direction = RI_FORWARD; direction <= RI_BACKWARD; direction++)
		if (ri_chain_read(chain, at, (enum ri_direction)direction, &node, &value) &&
		    value &&
		    ri_chain_read(chain, node, (enum ri_direction)!direction, &back, &value) &&
		    value && back == at)
			return true;
	return false;
}

/* Whether what hangs on a head confirms it. */
static bool has_neighbour(struct ri_groups *groups, const struct ri_group_rule *rule, uint64_t head)
{
	const struct ri_chain chain = { groups, rule, rule->kind, head };
	uint64_t node;

	switch (rule->kind) {
	case RI_LINK_LIST:
	case RI_LINK_HLIST:
	case RI_LINK_DLIST:
	case RI_LINK_TAILQ:
		return is_linked(&chain, head);
	case RI_LINK_SLIST:
	case RI_LINK_TREE:
		return ri_groups_link(groups, rule, head + (uint64_t)rule->head_first_offset,
				      &node) &&
		       node && ri_groups_element(groups, rule, node) != RI_NONE;
	default:
		return false;
	}
}

static enum ri_magic_state head_magic(struct ri_groups *groups, const struct ri_group_rule *rule,
				      uint64_t struct_addr)
{
	int64_t value;

	if (!rule->magic.field.is_present)
		return RI_MAGIC_NONE;
	if (!ri_finder_field(groups->finder, struct_addr, &rule->magic.field, &value))
		return RI_MAGIC_BAD;
	for (size_t i = 0; i < rule->magic.live_count; i++)
		if (rule->magic.live[i] == (uint64_t)value)
			return RI_MAGIC_LIVE;
	return RI_MAGIC_BAD;
}

static void add_head_of_back(struct ri_groups *groups, uint32_t rule_index, uint64_t head)
{
	const struct ri_group_rule *rule = rule_of(groups, rule_index);
	struct ri_head added = {
		.rule = rule_index,
		.head = head,
		.struct_addr = head - (uint64_t)rule->head_offset,
	};

	if (ri_address_map_find(&groups->finder->head_index, head) != RI_NONE)
		return;
	if (head_magic(groups, rule, added.struct_addr) == RI_MAGIC_LIVE)
		added.is_certain = true;
	else if (!has_neighbour(groups, rule, head))
		return;
	ri_finder_add_head(groups->finder, &added);
}

/* Whether the object may name a group: what is known by its looks alone only where it is
 * chained itself. */
static bool may_name_group(struct ri_groups *groups, const struct ri_group_rule *rule,
			   uint32_t object, uint64_t head)
{
	const struct ri_chain chain = { groups, rule, rule->kind, head };

	if (ri_finder_is_confirmed(groups->finder, object) ||
	    (is_doubly_linked(rule->kind) &&
	     is_linked(&chain, ri_groups_node_of(groups, rule,
						 &groups->finder->objects.items[object]))))
		return true;
	groups->has_unheard = true;
	return false;
}

/* Reads the back pointers of the objects found since the last time. */
static void examine_backs(struct ri_groups *groups)
{
	struct ri_finder *finder = groups->finder;
	size_t end = finder->objects.count;

	for (uint32_t r = 0; r < finder->layout->groups.count; r++) {
		const struct ri_group_rule *rule = rule_of(groups, r);

		for (uint32_t i = (uint32_t)groups->examined;
		     rule->back.is_present && !rule->is_headless && i < end; i++) {
			const struct ri_object *object = &finder->objects.items[i];
			uint64_t head, raw;

			if (!ri_groups_is_element(finder, rule, object->type) ||
			    (object->block != RI_NONE &&
			     finder->heap->blocks[object->block].state == RI_BLOCK_FREE))
				continue;
			head = ri_groups_back(groups, rule, object, &raw);
			if (!head || head == groups->last_back[r] ||
			    !may_name_group(groups, rule, i, head))
				continue;
			groups->last_back[r] = head;
			add_head_of_back(groups, r, head);
		}
	}
	groups->examined = end;
}

static void add_heads_of_variables(struct ri_groups *groups)
{
	for (uint32_t r = 0; r < groups->finder->layout->groups.count; r++) {
		const struct ri_group_rule *rule = rule_of(groups, r);
		const struct ri_head head = {
			.rule = r,
			.head = rule->variable_addr + (uint64_t)rule->head_offset,
			.struct_addr = rule->variable_addr,
			.name = rule->variable_name,
			.is_certain = true,
		};

		if (rule->has_variable)
			ri_finder_add_head(groups->finder, &head);
	}
}

struct ri_groups *ri_groups_create(struct ri_finder *finder)
{
	struct ri_groups *groups = ri_calloc(1, sizeof(*groups));

	groups->finder = finder;
	groups->budget = VISITS_AT_LEAST + VISITS_PER_BLOCK * (uint64_t)finder->heap->block_count;
	groups->last_back = ri_calloc(finder->layout->groups.count, sizeof(*groups->last_back));
	add_heads_of_variables(groups);
	return groups;
}

void ri_groups_destroy(struct ri_groups *groups)
{
	if (!groups)
		return;
	ri_vec_deinit(&groups->groups);
	ri_vec_deinit(&groups->memberships);
	ri_vec_deinit(&groups->foreign_nodes);
	ri_vec_deinit(&groups->breaks);
	ri_vec_deinit(&groups->places);
	ri_vec_deinit(&groups->node_counts);
	ri_vec_deinit(&groups->gaps);
	ri_vec_deinit(&groups->nodes);
	free(groups->last_back);
	free(groups);
}

/*
 * Walking
 */

void ri_groups_set_members(struct ri_groups *groups, uint32_t index)
{
	struct ri_group *group = &groups->groups.items[index];
	const struct ri_group_rule *rule = rule_of(groups, group->rule);
	bool has_elements = rule->element_type != RI_LAYOUT_NONE ||
			    rule->element_convention != RI_LAYOUT_NONE;

	/* a second time, foreign nodes found earlier are still counted */
	groups->node_counts.items[index] += (uint32_t)groups->nodes.count - group->member_count;
	group->first_member = (uint32_t)groups->memberships.count;
	for (size_t i = 0; i < groups->nodes.count; i++) {
		const struct ri_group_node *node = &groups->nodes.items[i];

		if (node->object != RI_NONE) {
			struct ri_membership *membership = ri_push(&groups->memberships);

			membership->object = node->object;
			membership->group = index;
			membership->node = node->addr;
		} else if (has_elements) {
			struct ri_foreign_node *foreign = ri_push(&groups->foreign_nodes);

			foreign->group = index;
			foreign->node = node->addr;
		}
	}
	group->member_count = (uint32_t)groups->memberships.count - group->first_member;
}

void ri_group_walk(struct ri_groups *groups, struct ri_group *group, enum ri_link_kind kind,
		   uint64_t head)
{
	switch (kind) {
	case RI_LINK_LIST:
	case RI_LINK_HLIST:
	case RI_LINK_DLIST:
	case RI_LINK_TAILQ:
		ri_group_walk_list(groups, group, kind, head);
		break;
	case RI_LINK_SLIST:
		ri_group_walk_slist(groups, group, head);
		break;
	case RI_LINK_TREE:
		ri_group_walk_tree(groups, group, head);
		break;
	case RI_LINK_ARRAY:
	case RI_LINK_HASH:
		ri_group_walk_slots(groups, group);
		break;
	}
}

static void walk_head(struct ri_groups *groups, const struct ri_head *head)
{
	struct ri_finder *finder = groups->finder;
	const struct ri_group_rule *rule = rule_of(groups, head->rule);
	uint32_t index = (uint32_t)groups->groups.count, block;
	struct ri_group *group = ri_push(&groups->groups);

	*ri_push(&groups->node_counts) = 0;
	group->rule = head->rule;
	group->head = head->head;
	group->struct_addr = head->struct_addr;
	group->object = RI_NONE;
	group->parent = RI_NONE;
	group->break_first = (uint32_t)groups->breaks.count;
	group->has_stored_count = ri_finder_field(
		finder, rule->count_variable_addr ? rule->count_variable_addr : head->struct_addr,
		&rule->count, &group->stored_count);
	block = ri_finder_block(finder, head->head);
	if (block != RI_NONE && finder->heap->blocks[block].state == RI_BLOCK_FREE)
		group->state |= RI_GROUP_HEAD_FREED;
	if (head_magic(groups, rule, head->struct_addr) == RI_MAGIC_BAD)
		group->state |= RI_GROUP_HEAD_BAD_MAGIC;
	ri_vec_deinit(&groups->nodes);
	groups->seen_type_count = 0;
	if (head->is_beyond && !has_neighbour(groups, rule, head->head)) {
		group->state |= RI_GROUP_UNINITIALISED;
		return;
	}
	ri_group_walk(groups, group, rule->kind, head->head);
	ri_groups_set_members(groups, index);
	if (rule->is_headless)
		ri_groups_name_headless(groups, index);
}

bool ri_groups_run(struct ri_groups *groups)
{
	struct ri_finder *finder = groups->finder;
	size_t before = groups->groups.count;

	do {
		examine_backs(groups);
		ri_groups_find_headless(groups);
		while (groups->groups.count < finder->heads.count) {
			const struct ri_head head = finder->heads.items[groups->groups.count];

			walk_head(groups, &head);
		}
	} while (groups->examined < finder->objects.count);
	return groups->groups.count > before;
}

bool ri_groups_look_again(struct ri_groups *groups)
{
	if (!groups->has_unheard)
		return false;
	groups->has_unheard = false;
	groups->examined = 0;
	return ri_groups_run(groups);
}

/*
 * The end
 */

/* Distances of each break from both ends, where the whole length is known. */
static void place_breaks(struct ri_groups *groups, const struct ri_group *group,
			 uint32_t node_count)
{
	bool is_whole = !(group->state & RI_GROUP_INCOMPLETE);

	for (uint32_t i = 0; i < group->break_count; i++) {
		struct ri_group_break *b = &groups->breaks.items[group->break_first + i];
		const struct ri_break_place *place = &groups->places.items[group->break_first + i];
		uint32_t rest = is_whole && place->passed <= node_count
					? node_count - place->passed
					: RI_NONE;

		b->from_head = place->from_tail ? rest : place->passed;
		b->from_tail = place->from_tail ? place->passed : rest;
	}
}

static struct ri_weight resolve_membership(struct ri_groups *groups, const struct ri_group *group)
{
	const struct ri_finder *finder = groups->finder;
	struct ri_weight weight = rule_of(groups, group->rule)->membership, ruled;
	char *class_name = ri_format("group:%s", group->name);

	ruled = ri_layout_weight(finder->layout, class_name);
	free(class_name);
	if (ruled.kind != RI_WEIGHT_NONE)
		weight = ruled;
	if (weight.kind == RI_WEIGHT_IF) {
		bool owns = ri_condition_holds(finder->image, group->struct_addr, &weight.owns_if);

		return (struct ri_weight){
			.kind = RI_WEIGHT_FIXED,
			.weight = !owns ? 0 : weight.weight ? weight.weight : 1,
		};
	}
	if (weight.kind == RI_WEIGHT_FIXED)
		return (struct ri_weight){ .kind = RI_WEIGHT_FIXED, .weight = weight.weight };
	return (struct ri_weight){ .kind = RI_WEIGHT_POSSIBLE };
}

/* The group whose struct (or head) lies at `addr`, or RI_NONE. */
static uint32_t find_group_at(const struct ri_groups *groups, const struct ri_address_map *structs,
			      uint64_t addr)
{
	uint32_t index = ri_address_map_find(structs, addr);

	return index != RI_NONE ? index
				: ri_address_map_find(&groups->finder->head_index, addr);
}

static void set_parents(struct ri_groups *groups)
{
	struct ri_address_map structs = { 0 };

	for (size_t i = groups->groups.count; i--;)
		ri_address_map_set(&structs, groups->groups.items[i].struct_addr, (uint32_t)i);
	for (size_t i = 0; i < groups->groups.count; i++) {
		struct ri_group *group = &groups->groups.items[i];
		uint64_t parent = ri_finder_pointer(groups->finder, group->struct_addr,
						    &rule_of(groups, group->rule)->parent_group);

		if (parent)
			group->parent = find_group_at(groups, &structs, parent);
	}
	ri_address_map_deinit(&structs);
}

/* Hands the members over group by group: a group whose gap was filled has an
 * older, shorter run of them that is left behind. */
static void hand_over_members(struct ri_groups *groups, struct ri_population *population)
{
	bool is_in_order = true;
	size_t count = 0;

	for (size_t i = 0; i < groups->groups.count; i++) {
		is_in_order &= groups->groups.items[i].first_member == count;
		count += groups->groups.items[i].member_count;
	}
	if (is_in_order) {
		population->memberships = groups->memberships.items;
		population->membership_count = count;
		groups->memberships.items = NULL;
		return;
	}
	population->memberships = ri_malloc(count * sizeof(*population->memberships));
	population->membership_count = count;
	count = 0;
	for (size_t i = 0; i < groups->groups.count; i++) {
		struct ri_group *group = &groups->groups.items[i];

		memcpy(population->memberships + count,
		       groups->memberships.items + group->first_member,
		       group->member_count * sizeof(*population->memberships));
		group->first_member = (uint32_t)count;
		count += group->member_count;
	}
	ri_vec_deinit(&groups->memberships);
}

/* Whether an element of the group's type is known at `node` by now: a walk may have met it before
 * something typed led there. */
static bool is_known_element(const struct ri_groups *groups, const struct ri_foreign_node *node)
{
	const struct ri_finder *finder = groups->finder;
	const struct ri_group_rule *rule =
		rule_of(groups, groups->groups.items[node->group].rule);
	const struct ri_counted_type *type;
	uint64_t addr = node->node - (uint64_t)rule->link_offset;
	uint32_t object;

	if (rule->element_type == RI_LAYOUT_NONE || rule->node_bytes)
		return false;
	type = &finder->types.items[rule->element_type];
	object = ri_finder_find(finder, addr + (uint64_t)type->header_offset, type->convention);
	return object != RI_NONE && finder->objects.items[object].addr == addr &&
	       finder->objects.items[object].type == rule->element_type &&
	       !(finder->objects.items[object].state & RI_OBJECT_DOUBTED_BITS);
}

static void drop_known_elements(struct ri_groups *groups)
{
	size_t kept = 0;

	for (size_t i = 0; i < groups->foreign_nodes.count; i++)
		if (!is_known_element(groups, &groups->foreign_nodes.items[i]))
			groups->foreign_nodes.items[kept++] = groups->foreign_nodes.items[i];
	groups->foreign_nodes.count = kept;
}

void ri_groups_finish(struct ri_groups *groups, struct ri_population *population)
{
	ri_groups_fill_gaps(groups);
	set_parents(groups);
	for (size_t i = 0; i < groups->groups.count; i++) {
		struct ri_group *group = &groups->groups.items[i];

		group->name = ri_groups_name(groups, &groups->finder->heads.items[i]);
		group->membership = resolve_membership(groups, group);
		place_breaks(groups, group, groups->node_counts.items[i]);
	}
	drop_known_elements(groups);
	hand_over_members(groups, population);
	population->groups = groups->groups.items;
	population->group_count = groups->groups.count;
	groups->groups.items = NULL;
	population->breaks = groups->breaks.items;
	population->break_count = groups->breaks.count;
	groups->breaks.items = NULL;
	population->foreign_nodes = groups->foreign_nodes.items;
	population->foreign_node_count = groups->foreign_nodes.count;
	groups->foreign_nodes.items = NULL;
}

/* The first rule under which a back pointer leads to a group decides; failing
 * that, the first back pointer that is not null is kept raw. */
void ri_groups_read_backs(struct ri_groups *groups, struct ri_population *population)
{
	struct ri_finder *finder = groups->finder;

	population->back_group = ri_malloc(population->object_count * sizeof(uint32_t));
	population->back_pointer = ri_calloc(population->object_count, sizeof(uint64_t));
	memset(population->back_group, 0xff, population->object_count * sizeof(uint32_t));
	for (uint32_t r = 0; r < finder->layout->groups.count; r++) {
		const struct ri_group_rule *rule = rule_of(groups, r);
		uint64_t head, raw, last_head = 0;
		uint32_t group, last_group = RI_NONE;

		for (size_t i = 0; rule->back.is_present && i < population->object_count; i++) {
			const struct ri_object *object = &population->objects[i];

			if (population->back_group[i] != RI_NONE ||
			    !ri_groups_is_element(finder, rule, object->type))
				continue;
			head = ri_groups_back(groups, rule, object, &raw);
			if (!head)
				continue;
			group = head == last_head ? last_group
						  : ri_address_map_find(&finder->head_index, head);
			last_head = head;
			last_group = group;
			if (group != RI_NONE || !population->back_pointer[i])
				population->back_pointer[i] = raw;
			population->back_group[i] = group;
		}
	}
}
