/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a counted type can be judged.  A type that a profile declares is taken at
 * its word.  One that was found by its shape is a guess, and who owns its objects is
 * another: memory must bear both out before a count that does not fit is a finding.
 */
#ifndef RI_CHECK_STANDING_H
#define RI_CHECK_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gaps.h"
#include "census/holders.h"
#include "census/population.h"
#include "census/shapes.h"

enum ri_standing {
	RI_STANDING_DECLARED,    /* by a profile: judged by its rules */
	RI_STANDING_SUPPORTED,   /* inferred, and nearly all counts fit their holders */
	/* inferred, and not to be told: counts are not compared (could not check); that
	 * nothing leads to an object needs no rule of ownership and stays a finding */
	RI_STANDING_UNDECIDED,
	RI_STANDING_REFUTED,     /* inferred, and the count of no object fits: it is none */
};

/* What the objects of one type say. */
struct ri_type_fit {
	uint64_t objects;        /* whose count is alive, or zero while something owns them */
	uint64_t fitting;        /* certain <= count <= certain + possible */
	uint64_t above, below;   /* the others: counts above and below that */
	uint64_t negative;       /* impossible counts below zero */
	enum ri_standing standing;
};

/*
 * The decision about one inferred type, by its fit alone: at least 10 objects, of which
 * nine in ten fit, support it; none that fits refutes it.
 */
enum ri_standing ri_standing_decide(const struct ri_type_fit *fit);

/*
 * A new array, an entry per type of the population.  Holders of types that are not
 * supported become possible ones: the classes that hold nothing else are changed and all
 * holders weighed again.  What was not decided goes to `gaps`, once per type.
 */
struct ri_type_fit *ri_standings_create(const struct ri_layout *layout,
					const struct ri_population *population,
					struct ri_holders *holders, struct ri_shapes *shapes,
					struct ri_gaps *gaps);

struct ri_analysis;

/* The standing of the type of `object`. */
enum ri_standing ri_object_standing(const struct ri_analysis *analysis, uint32_t object);

/* Whether an impossible count of an object of an inferred type is a finding all the same:
 * negative, where hardly any other is. */
bool ri_object_count_is_suspect(const struct ri_analysis *analysis, uint32_t object);

#endif
