/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mutations: edits of one word of a sound image, each with the one finding that
 * it must give.  edits.c and edit_groups.c make them, compare.c compares what an
 * analysis says with what must be said, main.c runs the trials.
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/analysis.h"

/* Where random places are drawn from. */
struct sound {
	const struct ri_analysis *analysis; /* of the image before any edit, clean */
	uint64_t random;                    /* state, not 0 */
};

/* Uniform in [0, limit); limit > 0. */
uint64_t sound_draw(struct sound *sound, uint64_t limit);

struct mutation {
	/* the edit: `size_bytes` at `addr` become the low bytes of `value` */
	uint64_t addr, value;
	unsigned size_bytes;
	/* the finding */
	const char *code;
	uint64_t finding_addr;
	uint64_t word;           /* that it must blame; 0: it blames none */
	/* what may differ besides: the edited object or group, or RI_NONE */
	uint32_t object, group;
	bool object_dies;        /* what the object holds is certainly held no more */
	uint32_t loses_owner;    /* the object that one certain owner holds no more, or RI_NONE */
	bool loses_type;         /* the edited object describes itself, and has no type then */
	bool may_lose_more;      /* it is leaked then, and others with it may be */
};

/* A kind of edit.  `make` draws a place and fills the mutation, of which all is zero
 * or RI_NONE; false: this place will not do, draw again. */
struct edit_kind {
	const char *name;
	bool (*make)(struct sound *sound, struct mutation *mutation);
};

/* All kinds; ends with a null name. */
extern const struct edit_kind edit_kinds[];

/* Compares `after`, the analysis of the edited image, with `before`.  Writes a
 * line per difference to `log`; true if there is none. */
bool compare_analyses(const struct ri_analysis *before, const struct ri_analysis *after,
		      const struct mutation *mutation, FILE *log);

#endif
