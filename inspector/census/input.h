/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the census works on, as plain tables: what ri_holders_create() gathers
 * from modules and types, and what a test makes by hand.  Private to census/.
 */
#ifndef RI_CENSUS_INPUT_H
#define RI_CENSUS_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "census/extents.h"
#include "census/holders.h"
#include "census/links.h"
#include "census/population.h"
#include "census/regions.h"
#include "census/shapes.h"
#include "census/thread_storage.h"

/* A static variable, or a thread's copy of a thread-local one; ascending by address. */
struct ri_variable_span {
	uint64_t addr, size_bytes;
	const char *name;
	const struct ri_type *type; /* null: `shape` is final */
	uint32_t shape;          /* RI_NONE: made when a word of it hits something */
};

struct ri_skipped_span {
	uint64_t start, end;     /* [start, end): an allocator's records in module data, or the
				  * dead place of a local variable on a stack */
};

struct ri_census_input {
	const struct ri_target *target;
	const struct ri_heap *heap;
	const struct ri_population *population;
	struct ri_shapes *shapes;
	const uint32_t *shape_of_type; /* by population->types[]: index of its shape */
	struct ri_regions_input regions;
	struct ri_variable_span *variables;
	size_t variable_count;
	const struct ri_skipped_span *skipped; /* ascending */
	size_t skipped_count;
	const ri_storage_block_list *storage_blocks; /* or null: none */
	const struct ri_links *links;
	/* the ELF symbol that contains an address, or null; may be null */
	const char *(*symbol_of)(void *data, uint64_t addr);
	void *symbol_data;
	unsigned thread_count;   /* at least 1 */
};

/* The census itself.  Gaps as ri_holders_create(). */
struct ri_holders *ri_holders_run(const struct ri_census_input *input, struct ri_gaps *gaps);

#endif
