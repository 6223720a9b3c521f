/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The back pointer of one membership: see membership.h.
 *
 * The population keeps one back pointer per object.  An object that is in
 * groups of several rules may have several; so the word of the membership's own
 * rule is read, and the population's answer serves where that cannot be read.
 */
#include "check/membership.h"

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
