/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holder classes of what no shape names: untyped places, memberships,
 * embeddings.  Private to census/.
 */
#ifndef RI_CENSUS_NAMING_H
#define RI_CENSUS_NAMING_H

#include <stdint.h>

#include "census/input.h"

struct ri_naming;

/* All arguments must outlive the result; `holders` needs its node counts and regions. */
struct ri_naming *ri_naming_create(const struct ri_census_input *input,
				   const struct ri_extents *extents,
				   const struct ri_holders *holders);
void ri_naming_destroy(struct ri_naming *naming);

/* The class of word `word` of node `node`, about whose type nothing is known. */
uint32_t ri_naming_word(struct ri_naming *naming, uint32_t node, uint32_t word);

/* The class "group:NAME" with the worth of `group`'s memberships.  Groups that share a
 * name but not what membership is worth get a class each. */
uint32_t ri_naming_group(struct ri_naming *naming, const struct ri_group *group);

/* The class of RI_EDGE_EMBEDS edges; worth nothing. */
uint32_t ri_naming_embedding(struct ri_naming *naming);

#endif
