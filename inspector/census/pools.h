/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pools: blocks in which a program places objects of one type at regular distances.  What a
 * pointer leads to there fills no block, and without a magic, or with a wrong one, it is not
 * believed alone; that others stand at the same distances speaks for it in the next census.
 */
#ifndef RI_CENSUS_POOLS_H
#define RI_CENSUS_POOLS_H

#include "census/lost.h"

/* Appends to lost->pools those that are new. */
void ri_pools_find(const struct ri_lost_input *input, struct ri_lost *lost);

/* Whether `addr` (P), in `block`, is a place for `type` in a pool like those of lost->pools;
 * `lost` may be null. */
bool ri_lost_is_in_pool(const struct ri_lost *lost, const struct ri_block *block, uint32_t type,
			uint64_t addr);

#endif
