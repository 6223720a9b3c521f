/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that local variables lead to and nothing else does.  Private to census/.
 */
#ifndef RI_CENSUS_LOCAL_STARTS_H
#define RI_CENSUS_LOCAL_STARTS_H

#include <stdbool.h>

#include "base/memory.h"
#include "census/finder.h"

/* What a live local variable says: a counted struct is at `value`. */
struct ri_local_start {
	uint64_t value;
	uint32_t type;           /* index into finder->types[] */
};

typedef RI_VEC(struct ri_local_start) ri_local_start_list;

/* Appends what the frames' live variables point at, ascending, each once. */
void ri_local_starts_list(struct ri_finder *finder, ri_local_start_list *list);

/* Adds the objects that are evident by their content as well; whether there were any.  For
 * when all else was found: more objects make more of them evident. */
bool ri_local_starts_add(struct ri_finder *finder, const ri_local_start_list *list);

#endif
