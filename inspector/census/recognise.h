/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that no typed pointer leads to, recognised by one of these:
 *
 *   places       the place where a pool of the type has one, if it looks alike and is no free
 *                one (pool_objects.c)
 *   twins        the pointer to a class that known objects of the type carry (twins.c)
 *   pools        places at the distances of known ones in memory that the program mapped itself,
 *                with the same words (pool_places.c)
 *   payloads     what void pointers of one class lead to is mostly of one type: where a count
 *                member of a type that fits agrees with the number of holders, block after
 *                block, it is that type (payloads.c)
 *   likeness     what a type's known objects have in common, word by word, against what blocks
 *                of that size hold in general (recognise.c)
 */
#ifndef RI_CENSUS_RECOGNISE_H
#define RI_CENSUS_RECOGNISE_H

#include <stdbool.h>

#include "base/memory.h"
#include "census/holders.h"
#include "census/lost.h"

struct ri_recognise_input {
	const struct ri_image *image;
	const struct ri_layout *layout;
	const struct ri_heap *heap;
	const struct ri_population *population;
	struct ri_types *types;
	const struct ri_shapes *shapes; /* of the population's typed blocks and the edges' classes */
	const struct ri_holders *holders;
};

typedef RI_VEC(struct ri_lost_object) ri_recognised_list;

/*
 * Appends to `ret`, ascending by address, the used blocks without object and type that
 * look like objects of a type t with wanted[t] (layout->types.count of them).  Never
 * fails.  Linear in the blocks, with as many comparisons for each as types have its size.
 */
void ri_recognise(const struct ri_recognise_input *input, const bool *wanted,
		  ri_recognised_list *ret);

#endif
