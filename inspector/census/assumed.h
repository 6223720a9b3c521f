/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the user says of blocks: "the block at 0x5581f0 holds a struct table".  It is
 * evidence like a typed pointer, and pointers are followed from there.
 */
#ifndef RI_CENSUS_ASSUMED_H
#define RI_CENSUS_ASSUMED_H

#include "base/gaps.h"
#include "base/memory.h"
#include "census/lost.h"
#include "heap/heap.h"

struct ri_finder;
struct ri_traversal;

/* As the user gave it. */
struct ri_assumption {
	uint64_t addr;
	const char *type_name;
};

/*
 * Appends to known->assumed what holds water: a struct of that name is known and is one
 * alone, and the address is that of a used block (of a counted type: lies in one) with
 * room for it.  What does not is a gap that matters; what does is told as one.  `types` may
 * be null.
 */
void ri_assumed_resolve(struct ri_types *types, const struct ri_heap *heap,
			const struct ri_assumption *assumptions, size_t count,
			struct ri_lost *known, struct ri_gaps *gaps);

/* Adds the objects and types that finder->lost assumes. */
void ri_assumed_apply(struct ri_finder *finder, struct ri_traversal *traversal);

#endif
