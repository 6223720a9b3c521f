/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a word that hits something is: which edges it makes, in which class, how
 * certain.  Private to census/.
 */
#ifndef RI_CENSUS_CLASSIFY_H
#define RI_CENSUS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "census/extents.h"
#include "census/holders.h"
#include "census/shapes.h"

#define RI_CLASS_PENDING RI_CLASSES_MAX /* ri_edge.class_index until the census names it */

struct ri_classifier {
	const struct ri_extents *extents;
	const struct ri_shapes *shapes;
	const uint64_t *is_member; /* bit per object: some group chains it */
};

/* A word and where it stands. */
struct ri_word {
	uint64_t addr;           /* 0: a register */
	uint64_t value;
	uint32_t index;          /* for ri_edge.word */
	const struct ri_slot *slot; /* null: nothing is known of its place */
	uint32_t object;         /* the object that it stands in, or RI_NONE */
	uint32_t block;          /* the block that it stands in, or RI_NONE */
	uint32_t flags;          /* RI_EDGE_UNSURE where the source is doubtful */
	bool is_link;            /* a link word by its address ... */
	bool is_inferred_link;   /* ... of a group that nobody declared */
};

/* Writes the edges of a word that hits `hit`, at most RI_EXTENTS_DEPTH_MAX, and
 * returns how many. */
unsigned ri_classify(const struct ri_classifier *classifier, const struct ri_word *word,
		     const struct ri_hit *hit, struct ri_edge *ret_edges);

static inline bool ri_classify_is_member(const uint64_t *is_member, uint32_t object)
{
	return is_member[object / 64] >> object % 64 & 1;
}

/* The slot at `offset_bytes`; null beyond the shape (within its element, unless it `repeats`)
 * and where the shape says nothing. */
static inline const struct ri_slot *ri_classify_slot(const struct ri_shape *shape,
						     uint64_t offset_bytes, bool repeats)
{
	uint32_t slot;

	if (offset_bytes >= shape->element_bytes) {
		if (!repeats || !shape->element_bytes)
			return NULL;
		offset_bytes %= shape->element_bytes;
	}
	if (!shape->slot_of_word || offset_bytes % 8 ||
	    offset_bytes / 8 >= shape->element_bytes / 8)
		return NULL;
	slot = shape->slot_of_word[offset_bytes / 8];
	return slot < shape->slot_count ? &shape->slots[slot] : NULL;
}

#endif
