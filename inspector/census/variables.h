/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Static variables of a census by address.  Private to census/.
 */
#ifndef RI_CENSUS_VARIABLES_H
#define RI_CENSUS_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

#include "census/extents.h"
#include "census/input.h"

/* The variable that contains `addr`, or null. */
struct ri_variable_span *ri_variables_find(const struct ri_census_input *input, uint64_t addr);

/* Index of the first variable that ends after `addr`. */
size_t ri_variables_first(const struct ri_census_input *input, uint64_t addr);

/* Gives shapes to the variables in [start, end) of which a word hits something. */
void ri_variables_shape(const struct ri_census_input *input, const struct ri_extents *extents,
			uint64_t start, uint64_t end);

#endif
