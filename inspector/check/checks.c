/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of checks, in the order of the report: damage to single objects,
 * the allocator, groups and their members, counts, leaks.
 */
#include <string.h>

#include "check/check.h"

extern const struct ri_check ri_check_bad_magic, ri_check_bad_type, ri_check_bad_count,
	ri_check_freed_object, ri_check_overlap, ri_check_heap_damage, ri_check_broken_link,
	ri_check_list_loop, ri_check_foreign_member, ri_check_dead_member,
	ri_check_wrong_group, ri_check_two_groups,
	ri_check_orphan, ri_check_count_mismatch, ri_check_dead_group, ri_check_surplus,
	ri_check_deficit, ri_check_dangling, ri_check_policy, ri_check_unreachable, ri_check_cycle,
	ri_check_group_only, ri_check_unreclaimed;

const struct ri_check *const ri_checks[] = {
	&ri_check_bad_magic,
	&ri_check_bad_type,
	&ri_check_bad_count,
	&ri_check_freed_object,
	&ri_check_overlap,
	&ri_check_heap_damage,
	&ri_check_broken_link,
	&ri_check_list_loop,
	&ri_check_foreign_member,
	&ri_check_dead_member,
	&ri_check_wrong_group,
	&ri_check_two_groups,
	&ri_check_orphan,
	&ri_check_count_mismatch,
	&ri_check_dead_group,
	&ri_check_surplus,
	&ri_check_deficit,
	&ri_check_dangling,
	&ri_check_policy,
	&ri_check_unreachable,
	&ri_check_cycle,
	&ri_check_group_only,
	&ri_check_unreclaimed,
	NULL,
};

const struct ri_check *ri_check_find(const char *code)
{
	for (size_t i = 0; ri_checks[i]; i++)
		if (!strcmp(ri_checks[i]->code, code))
			return ri_checks[i];
	return NULL;
}

size_t ri_check_order(const struct ri_check *check)
{
	size_t i = 0;

	while (ri_checks[i] && ri_checks[i] != check)
		i++;
	return i;
}
