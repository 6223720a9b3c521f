/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places among the objects of a pool that look like objects and that nothing leads to.  A
 * leaked object of a pool is no lost block: its block is used by its neighbours.
 */
#ifndef RI_CENSUS_POOL_SLOTS_H
#define RI_CENSUS_POOL_SLOTS_H

#include <stdbool.h>

#include "base/gaps.h"
#include "census/population.h"

/*
 * Tells, per type t with wanted[t] (layout->types.count of them), how many places between
 * objects of t in one block hold no object and a count that is alive.  See pool_slots.c.
 */
void ri_pool_slots_tell(const struct ri_image *image, const struct ri_layout *layout,
			const struct ri_population *population, const bool *wanted,
			struct ri_gaps *gaps);

#endif
