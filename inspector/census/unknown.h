/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which used blocks have no known type, and which of them would tell most about others if
 * its type were known.
 */
#ifndef RI_CENSUS_UNKNOWN_H
#define RI_CENSUS_UNKNOWN_H

#include "census/graph.h"

/* Unknown blocks of one size. */
struct ri_unknown_class {
	uint64_t size_bytes;
	uint64_t blocks;
	uint64_t with_pointers;  /* that hold a word which leads to an object or another block */
	/* the block from which most other unknown ones are reached through unknown ones alone */
	uint32_t best;           /* block index */
	uint64_t settles, settles_bytes; /* how many that are, itself not counted */
	uint32_t held_class;     /* the class of a holder of it, a typed one if there is any; or
				  * RI_NONE */
};

struct ri_unknown {
	struct ri_unknown_class *classes; /* most bytes first */
	size_t count;
	uint64_t blocks, bytes;  /* unknown ones in all */
	uint32_t best;           /* index into classes[] of the one whose block settles most, or
				  * RI_NONE: none settles any */
};

/* Linear in the blocks and their holders but for sorting, and a bounded number of walks for
 * the blocks that look best.  Never fails. */
struct ri_unknown *ri_unknown_find(const struct ri_holders *holders,
				   const struct ri_population *population,
				   const struct ri_heap *heap, const struct ri_shapes *shapes);
void ri_unknown_destroy(struct ri_unknown *unknown);

#endif
