/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A second look at what nothing leads to.  Objects of a type without magic and
 * descriptor are found through pointers and groups alone; one that leaked is then a
 * used block like any other.  Its size and its content may still tell what it is.
 */
#ifndef RI_CENSUS_LOST_H
#define RI_CENSUS_LOST_H

#include "base/memory.h"
#include "census/graph.h"

struct ri_lost_object {
	uint64_t addr;           /* P */
	uint32_t type;           /* index into layout->types[] */
};

/* Blocks of one size that hold objects of one type at equal distances: P is
 * phase_bytes + n * stride_bytes from the block's start. */
struct ri_pool {
	uint64_t block_bytes, phase_bytes, stride_bytes;
	uint32_t type;           /* index into layout->types[] */
};

/* Blocks that may be objects and cannot be told. */
struct ri_lost_doubt {
	char *types;             /* "conn", "conn or session" */
	bool is_reachable;       /* something untyped leads there; `types` has no object at all */
	uint64_t count, bytes;
	uint64_t first_addr;     /* of the first such block's payload */
};

/* What the user says of a block: assumed.h. */
struct ri_assumed {
	uint64_t addr;
	const struct ri_type *type;
	const char *name;        /* as the user gave it */
};

struct ri_lost {
	RI_VEC(struct ri_lost_object) objects; /* evident ones, ascending by address */
	RI_VEC(struct ri_lost_doubt) doubts;
	RI_VEC(struct ri_assumed) assumed;
	RI_VEC(struct ri_pool) pools; /* POOLS_MAX at most, pools.c */
	RI_VEC(uint64_t) stale;  /* ascending: P of objects that the counts deny, stale.c */
};

/* What the stages before found, all of one census. */
struct ri_lost_input {
	const struct ri_image *image;
	struct ri_types *types;  /* null: no debug information */
	const struct ri_layout *layout;
	const struct ri_heap *heap;
	const struct ri_population *population;
	const struct ri_graph *graph;
	const struct ri_lost *known; /* what earlier censuses showed, or null: what the counts
				      * denied is not proposed again */
};

/*
 * Judges every used block that has neither object nor type: see lost.c.  With
 * `no_objects` evident ones are doubts like any other.  Never fails.
 */
struct ri_lost *ri_lost_find(const struct ri_lost_input *input, bool no_objects);
void ri_lost_destroy(struct ri_lost *lost);

/* Whether the object at `addr` is one of lost->stale; `lost` may be null. */
bool ri_lost_is_stale(const struct ri_lost *lost, uint64_t addr);

/* Adds to lost->stale what the counts deny: see stale.c. */
void ri_stale_find(const struct ri_lost_input *input, const struct ri_holders *holders,
		   struct ri_lost *lost);

/* A doubt in one line, owned by the caller. */
char *ri_lost_doubt_words(const struct ri_lost_doubt *doubt);

/* Tells the doubts, and the types of the user's profiles that have no object. */
void ri_lost_tell(const struct ri_lost *lost, const struct ri_lost_input *input,
		  struct ri_gaps *gaps);

#endif
