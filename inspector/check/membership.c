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

	if (!analysis->target || !analysis->target->image || rule->node_bytes ||
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

static int compare_nodes(const void *a, const void *b, void *data)
{
	const struct ri_membership *all = data;
	const struct ri_membership *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

uint32_t *ri_memberships_by_node(const struct ri_population *population)
{
	uint32_t *order = ri_malloc(population->membership_count * sizeof(*order));

	for (uint32_t i = 0; i < population->membership_count; i++)
		order[i] = i;
	qsort_r(order, population->membership_count, sizeof(*order), compare_nodes,
		population->memberships);
	return order;
}

bool *ri_find_doubly_chained(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	uint32_t *order = ri_memberships_by_node(population);
	bool *marks = NULL;

	for (size_t i = 1; i < population->membership_count; i++) {
		const struct ri_membership *a = &population->memberships[order[i - 1]];
		const struct ri_membership *b = &population->memberships[order[i]];

		if (a->node != b->node || a->group == b->group ||
		    ((population->groups[a->group].state | population->groups[b->group].state) &
		     RI_GROUP_HEAD_FREED))
			continue;
		if (!marks)
			marks = ri_calloc(population->object_count, sizeof(*marks));
		marks[a->object] = marks[b->object] = true;
	}
	free(order);
	return marks;
}
