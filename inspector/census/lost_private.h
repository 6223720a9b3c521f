/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the search for lost objects share.  Private to them. */
#ifndef RI_CENSUS_LOST_PRIVATE_H
#define RI_CENSUS_LOST_PRIVATE_H

#include "census/finder.h"
#include "census/lost.h"

/* A struct that is no counted type and may be what a block holds. */
struct ri_lost_rival {
	const struct ri_type *type;
	uint32_t shape;          /* RI_NONE: not laid out yet */
};

/* One run of ri_lost_find(). */
struct ri_lost_search {
	const struct ri_lost_input *input;
	struct ri_lost *lost;
	struct ri_shapes *shapes; /* of its own: the census' stay as they are */
	struct ri_finder finder;  /* for its questions about sizes alone */
	uint32_t *types;         /* candidates among layout->types, by ascending extent */
	size_t type_count;
	uint32_t *flexible;      /* those of them that end in an array without a length */
	size_t flexible_count;
	bool no_objects;
	bool *is_missing;        /* per layout type: the user names it and it has no object */
	uint32_t *block_object;  /* see extents.h */
	bool *is_typed;          /* per block */
	RI_VEC(uint64_t) sizes;  /* of the blocks that look evident, ascending */
	RI_VEC(struct ri_lost_rival) rivals; /* by ascending size */
};

/* What the words of a block say for a struct. */
struct ri_lost_weight {
	bool is_possible, is_strict;
	unsigned score;
};

/* lost_weigh.c: whether the count of an object of `type` at `addr` (P) is alive. */
bool ri_lost_is_live(const struct ri_lost_search *s, const struct ri_counted_type *type,
		     uint64_t addr);

/* What the words of a `shape` at `base` say; `type` is null for a plain struct. */
struct ri_lost_weight ri_lost_weigh(const struct ri_lost_search *s,
				    const struct ri_counted_type *type, uint32_t shape_index,
				    uint64_t base);

/* The same for counted type `index` in the block that starts at `start`, count included. */
struct ri_lost_weight ri_lost_weigh_type(const struct ri_lost_search *s, uint32_t index,
					 uint64_t start);

/* lost_rivals.c: lists the structs that may fill a block of one of s->sizes, which it sorts. */
void ri_lost_list_rivals(struct ri_lost_search *s);

/* Whether another struct explains the block at least as well as `score`. */
bool ri_lost_has_rival(struct ri_lost_search *s, const struct ri_lost_object *object,
		       uint32_t block, unsigned score);

/* lost_doubts.c: one more block that may be an object of `types`. */
void ri_lost_add_doubt(struct ri_lost *lost, const char *types, bool is_reachable,
		       const struct ri_block *block);

/* Per type of the layout, whether the user names it and it has no object; a new array. */
bool *ri_lost_list_missing(const struct ri_lost_input *input);

#endif
