/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sweep: every searched word of every source, in source order, to edges.
 * Private to census/.
 */
#ifndef RI_CENSUS_HOLDER_SWEEP_H
#define RI_CENSUS_HOLDER_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "census/classify.h"
#include "census/input.h"

/* Edges of consecutive sources. */
struct ri_holder_sweep_part {
	RI_VEC(struct ri_edge) edges;
	uint64_t bytes_searched, words_hit;
};

struct ri_holder_sweep {
	struct ri_holder_sweep_part *parts; /* in source order */
	size_t part_count;
};

/*
 * Sweeps objects, blocks and `regions`, in the order of their node numbers, on
 * input->thread_count threads; the result is the same for any number.
 * ret_counts[n + 1] becomes the number of edges of node n, ret_counts[0] 0.
 * Static variables whose words hit something get their shapes.
 */
void ri_holder_sweep_run(struct ri_holder_sweep *sweep, const struct ri_census_input *input,
			 const struct ri_classifier *classifier, const struct ri_region *regions,
			 size_t region_count, uint32_t *ret_counts);

/* Frees one part's edges, or all. */
void ri_holder_sweep_part_deinit(struct ri_holder_sweep_part *part);
void ri_holder_sweep_deinit(struct ri_holder_sweep *sweep);

#endif
