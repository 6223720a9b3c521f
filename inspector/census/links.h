/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The link words of groups that no shape knows, by address: words of heads,
 * slots of array and hash groups, words of external nodes.  The membership
 * stands for what they lead to.  Private to census/.
 */
#ifndef RI_CENSUS_LINKS_H
#define RI_CENSUS_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census/population.h"
#include "profile/layout.h"

#define RI_LINK_WORDS_MAX 4

/* In [start, end), every `stride` bytes, link words at `offsets`. */
struct ri_link_span {
	uint64_t start, end;
	uint32_t stride;
	uint16_t offsets[RI_LINK_WORDS_MAX];
	uint16_t offset_count;
	bool is_inferred;        /* of a group that nobody declared */
};

struct ri_links {
	struct ri_link_span *spans; /* ascending by start, not overlapping */
	size_t count;
};

/* `layout` may be null: no links. */
struct ri_links *ri_links_create(const struct ri_population *population,
				 const struct ri_layout *layout);
void ri_links_destroy(struct ri_links *links);

/* Whether [start, end) has a part of any span. */
bool ri_links_touches(const struct ri_links *links, uint64_t start, uint64_t end);

/* The span that the word at `addr` is a link word of, or null. */
const struct ri_link_span *ri_links_find(const struct ri_links *links, uint64_t addr);

#endif
