/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The back pointer of one membership, and links in two chains: see membership.h.
 *
 * The population keeps one back pointer per object.  An object that is in
 * groups of several rules may have several; so the word of the membership's own
 * rule is read, and the population's answer serves where that cannot be read.
 */
#include "check/membership.h"

#include <stdlib.h>

#include "check/evidence.h"

static bool read_back(const struct ri_analysis *analysis, const struct ri_membership *m,
		      const struct ri_group_rule *rule, uint64_t *ret)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *object = &population->objects[m->object];
	uint64_t base = rule->element_convention != RI_LAYOUT_NONE
				? ri_object_header(population, object)
				: object->addr;
	int64_t value;

	if (!analysis->target || !analysis->target->image ||
	    !ri_field_read(analysis->target->image, base, &rule->back, &value))
		return false;
	*ret = (uint64_t)value;
	return true;
}

enum ri_back_state ri_membership_back(const struct ri_analysis *analysis, uint32_t membership,
				      uint64_t *ret_value, uint32_t *ret_group)
{
	const struct ri_population *population = analysis->population;
	const struct ri_membership *m = &population->memberships[membership];
	const struct ri_group *group = &population->groups[m->group];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, m->group);

	*ret_value = 0;
	*ret_group = RI_NONE;
	if (!rule || !rule->back.is_present)
		return RI_BACK_NONE;
	if (population->back_group && population->back_group[m->object] == m->group)
		return RI_BACK_FITS;
	if (!read_back(analysis, m, rule, ret_value)) {
		if (!population->back_pointer)
			return RI_BACK_NONE;
		*ret_value = population->back_pointer[m->object];
	}
	if (*ret_value == group->struct_addr || *ret_value == group->head)
		return RI_BACK_FITS;
	if (!*ret_value)
		return RI_BACK_NULL;
	if (population->back_group && population->back_pointer &&
	    population->back_pointer[m->object] == *ret_value)
		*ret_group = population->back_group[m->object];
	return RI_BACK_OTHER;
}

/* The address of the link's first word.  The node of links that point at the element
 * itself is the element, whichever link it is. */
static uint64_t link_of(const struct ri_analysis *analysis, const struct ri_membership *membership)
{
	return membership->node +
	       (uint64_t)ri_group_rule_of(analysis, membership->group)->next_offset;
}

static int compare_links(const void *a, const void *b, void *data)
{
	const struct ri_analysis *analysis = data;
	const struct ri_membership *all = analysis->population->memberships;
	const struct ri_membership *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
	uint64_t link_x = link_of(analysis, x), link_y = link_of(analysis, y);

	if (link_x != link_y)
		return link_x < link_y ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Memberships of objects that have several, by ascending link and group: only
 * these can share a link, and they are few where each object is in one group.
 * Elements of arrays have no link. */
static uint32_t *candidates_by_link(const struct ri_analysis *analysis, size_t *ret_count)
{
	const struct ri_population *population = analysis->population;
	RI_VEC(uint32_t) list = { 0 };

	for (uint32_t i = 0; i < population->membership_count; i++) {
		uint32_t o = population->memberships[i].object;

		if (population->member_of_first[o + 1] - population->member_of_first[o] > 1 &&
		    ri_group_rule_of(analysis, population->memberships[i].group)->next_offset >= 0)
			*ri_push(&list) = i;
	}
	if (list.count)
		qsort_r(list.items, list.count, sizeof(*list.items), compare_links,
			(void *)analysis);
	*ret_count = list.count;
	return list.items;
}

struct ri_shared_link *ri_find_shared_links(const struct ri_analysis *analysis, size_t *ret_count)
{
	const struct ri_population *population = analysis->population;
	RI_VEC(struct ri_shared_link) shared = { 0 };
	size_t count;
	uint32_t *order = candidates_by_link(analysis, &count);

	for (size_t i = 1; i < count; i++) {
		const struct ri_membership *a = &population->memberships[order[i - 1]];
		const struct ri_membership *b = &population->memberships[order[i]];

		if (link_of(analysis, a) != link_of(analysis, b) || a->group == b->group ||
		    ((population->groups[a->group].state | population->groups[b->group].state) &
		     RI_GROUP_HEAD_FREED))
			continue;
		*ri_push(&shared) = (struct ri_shared_link){ order[i - 1], order[i] };
	}
	free(order);
	*ret_count = shared.count;
	return shared.items;
}

bool *ri_find_doubly_chained(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	size_t count;
	struct ri_shared_link *shared = ri_find_shared_links(analysis, &count);
	bool *marks = count ? ri_calloc(population->object_count, sizeof(*marks)) : NULL;

	for (size_t i = 0; i < count; i++) {
		marks[population->memberships[shared[i].first].object] = true;
		marks[population->memberships[shared[i].second].object] = true;
	}
	free(shared);
	return marks;
}

uint32_t ri_find_membership(const struct ri_population *population, uint32_t group, uint64_t node)
{
	uint32_t o = ri_population_find(population, node);

	for (; o != RI_NONE; o = population->objects[o].parent) {
		for (uint32_t i = population->member_of_first[o];
		     i < population->member_of_first[o + 1]; i++) {
			const struct ri_membership *m =
				&population->memberships[population->member_of[i]];

			if (m->group == group && m->node == node)
				return population->member_of[i];
		}
	}
	return RI_NONE;
}
