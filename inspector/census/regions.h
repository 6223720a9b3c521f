/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regions: the readable memory outside heaps, cut by what it is (module data,
 * thread-local storage, stacks, other mappings), and the threads' registers.  Private to census/.
 */
#ifndef RI_CENSUS_REGIONS_H
#define RI_CENSUS_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "census/holders.h"
#include "debug/tls.h"

/* Writable data of a module; ascending, not overlapping. */
struct ri_data_range {
	uint64_t start, end;     /* [start, end) */
	uint32_t module;
	bool has_allocator;      /* of the module that carries malloc */
};

/* A module's mappings, for what it has besides writable data. */
struct ri_module_span {
	uint64_t start, end;
	uint32_t module;
	const char *name;        /* base name, for ri_region.name */
};

struct ri_regions_input {
	const struct ri_target *target;
	const struct ri_heap *heap;
	const struct ri_data_range *data;
	size_t data_count;
	const struct ri_module_span *modules; /* ascending */
	size_t module_count;
	const struct ri_tls_block *tls; /* ascending */
	size_t tls_count;
};

typedef RI_VEC(struct ri_region) ri_region_list;

/* Appends the regions in ascending order, then the registers; names are new
 * strings, each to be freed. */
void ri_regions_list(const struct ri_regions_input *input, ri_region_list *list);

/* Words of a thread's registers region: general, then the vector area. */
size_t ri_regions_register_count(const struct ri_thread *thread);

/* Word `i` of them. */
uint64_t ri_regions_register(const struct ri_thread *thread, size_t i);

#endif
