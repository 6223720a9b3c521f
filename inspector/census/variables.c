/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Static variables by address: see variables.h.
 *
 * A program has thousands of them, libraries included, and few ever hold an
 * object: only those few get shapes, in a pass over module data before the
 * sweep, which is done by several threads and must not make any.
 */
#include "census/variables.h"

#include "census/words.h"

struct ri_variable_span *ri_variables_find(const struct ri_census_input *input, uint64_t addr)
{
	size_t low = 0, high = input->variable_count;
	struct ri_variable_span *variable;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->variables[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	variable = &input->variables[low - 1];
	return addr - variable->addr < variable->size_bytes ? variable : NULL;
}

size_t ri_variables_first(const struct ri_census_input *input, uint64_t addr)
{
	const struct ri_variable_span *around = ri_variables_find(input, addr);
	size_t low = 0, high = input->variable_count;

	if (around)
		return (size_t)(around - input->variables);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->variables[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes the shape of the variable around `at`, of which a word hits something.
 * Returns the last word that need not be looked at any more: one hit is enough. */
static uint64_t shape_variable(const struct ri_census_input *input, uint64_t at)
{
	struct ri_variable_span *variable = ri_variables_find(input, at);
	uint64_t last;

	if (!variable)
		return at;
	if (variable->shape == RI_NONE && variable->type)
		variable->shape = ri_shapes_shape(input->shapes, variable->type, variable->name,
						  RI_CLASS_VARIABLE);
	last = (variable->addr + variable->size_bytes - 1) & ~7ull;
	return last > at ? last : at;
}

void ri_variables_shape(const struct ri_census_input *input, const struct ri_extents *extents,
			uint64_t start, uint64_t end)
{
	const struct ri_range *range = NULL;

	/* an encoded pointer is not seen to hit anything */
	if (input->shapes->layout && input->shapes->layout->encodings.count)
		for (size_t i = ri_variables_first(input, start);
		     i < input->variable_count && input->variables[i].addr < end; i++)
			shape_variable(input, input->variables[i].addr);
	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end; at += 8) {
		struct ri_hit hit;

		if (!range || at + 8 > range->end)
			range = ri_image_find(input->target->image, at);
		if (!range)
			return;
		if (range->bytes && at + 8 <= range->end &&
		    ri_extents_find(extents, ri_words_load(range->bytes + (at - range->start), 0),
				    &hit))
			at = shape_variable(input, at);
	}
}
