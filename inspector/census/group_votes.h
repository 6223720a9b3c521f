/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which heads chain which links, told by memory alone: from a first population of an inferred
 * profile's types, every place that may be a head is walked, and the nodes say by where they
 * fall what they are.  The result is groups that a profile can declare; a population taken with
 * them finds what they chain.
 */
#ifndef RI_CENSUS_GROUP_VOTES_H
#define RI_CENSUS_GROUP_VOTES_H

#include "census/population.h"
#include "census/shapes.h"
#include "profile/infer_groups.h"

struct ri_group_votes_input {
	const struct ri_image *image;
	struct ri_types *types;
	const struct ri_heap *heap;
	const struct ri_layout *layout;
	const struct ri_population *population; /* taken with `layout` */
	struct ri_shapes *shapes; /* of that census */
};

/* Whether any inferred counted type has a link, so that votes are worth taking. */
bool ri_group_votes_are_of_use(const struct ri_layout *layout, struct ri_types *types);

/* New: all places whose nodes fit a link, whatever came of it; by place.  Bounded by a budget
 * of nodes in proportion to the heap. */
struct ri_inferred_groups *ri_group_votes_take(const struct ri_group_votes_input *input);

#endif
