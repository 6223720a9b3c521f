/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a member says about the group that it is in: shared by the checks of
 * groups.
 */
#ifndef RI_CHECK_MEMBERSHIP_H
#define RI_CHECK_MEMBERSHIP_H

#include "check/check.h"

enum ri_back_state {
	RI_BACK_NONE,     /* the group's rule has no back pointer */
	RI_BACK_FITS,     /* it names this group */
	RI_BACK_NULL,
	RI_BACK_OTHER,    /* it names something else */
};

/*
 * The back pointer that belongs to membership `membership`.  *ret_value is what
 * it holds (0: null or unknown) and *ret_group the group it names, RI_NONE where
 * it names none.
 */
enum ri_back_state ri_membership_back(const struct ri_analysis *analysis, uint32_t membership,
				      uint64_t *ret_value, uint32_t *ret_group);

/*
 * Per object, whether one of its links is chained in two groups whose heads are
 * not freed; a new array of object_count, or null where no object is so.
 */
bool *ri_find_doubly_chained(const struct ri_analysis *analysis);

/* Two memberships (indices) whose node is the same: one link in two chains. */
struct ri_shared_link {
	uint32_t first, second;
};

/* All of them, groups whose head is freed left out, by ascending node; a new
 * array, or null where *ret_count is 0. */
struct ri_shared_link *ri_find_shared_links(const struct ri_analysis *analysis, size_t *ret_count);

/* The membership of `group` whose link lies at `node` inside its object; RI_NONE
 * if there is none, and for external nodes, which lie in no object. */
uint32_t ri_find_membership(const struct ri_population *population, uint32_t group, uint64_t node);

#endif
