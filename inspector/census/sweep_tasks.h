/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The holders' sweep in tasks of about equal work.  Private to census/.
 */
#ifndef RI_CENSUS_SWEEP_TASKS_H
#define RI_CENSUS_SWEEP_TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "census/input.h"

enum ri_sweep_task_kind { RI_SWEEP_OBJECTS, RI_SWEEP_BLOCKS, RI_SWEEP_REGION };

/* Sources [first, end); or, where `from` < `to`, that part of the one source. */
struct ri_sweep_task {
	enum ri_sweep_task_kind kind;
	uint32_t first, end;
	uint64_t from, to;
};

typedef RI_VEC(struct ri_sweep_task) ri_sweep_task_list;

/* Appends the tasks for all objects, blocks and regions, in source order. */
void ri_sweep_tasks_list(const struct ri_census_input *input, const struct ri_region *regions,
			 size_t region_count, ri_sweep_task_list *list);

#endif
