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
#include "learn/ownership.h"

enum ri_standing {
	RI_STANDING_DECLARED,    /* by a profile: judged by its rules */
	RI_STANDING_SUPPORTED,   /* inferred, and most counts are what their holders say */
	/* inferred, and not to be told: counts are not compared (could not check); that
	 * nothing leads to an object needs no rule of ownership and stays a finding */
	RI_STANDING_UNDECIDED,
	RI_STANDING_REFUTED,     /* inferred, and hardly any count fits: it is none */
};

/* What the objects of one type say. */
struct ri_type_fit {
	uint64_t objects;        /* that were compared */
	uint64_t fitting;        /* explained by the learned model */
	uint64_t above, below;   /* counts above and below whatever their holders may be worth */
	uint64_t negative;       /* impossible counts below zero */
	uint64_t zeros;          /* objects in use whose count is 0 */
	bool is_vague;           /* see ri_standing_is_vague() */
	enum ri_standing standing;
};

/* The decision about one inferred type, by what was learned of it. */
enum ri_standing ri_standing_decide(const struct ri_learned_type *type);

/* Whether the counts of most objects fit only because nobody knows what their holders are
 * worth: a reference too many or too few would not show there. */
bool ri_standing_is_vague(const struct ri_learned_type *type);

/*
 * A new array, an entry per type of the population.  Learns who owns objects of the
 * inferred types, and of those declared with `ownership: learned` whose counts tell it, into
 * *ret_ownership (null where there is no such type), and weighs their holders by it.  What was not decided goes to `gaps`, once per type, and so does what the
 * counts say against a place's type.
 */
struct ri_type_fit *ri_standings_create(const struct ri_layout *layout,
					const struct ri_ownership_input *input,
					struct ri_ownership **ret_ownership,
					struct ri_gaps *gaps);

/* A new array, per type of the layout: whether who owns it is learned, and not refuted, or its
 * profile says so, so that objects of it are worth looking for; null if none is. */
bool *ri_standings_wanted(const struct ri_layout *layout, const struct ri_type_fit *fits);

struct ri_analysis;

/*
 * Whether something holds the object from a place whose type says what it points at and
 * which the counts taught to own: a dead object of an inferred type is a finding then
 * alone.  C programs leave stale pointers behind, and what lies untyped may be one; objects
 * of the same type may chain free ones.
 */
bool ri_object_has_taught_owner(const struct ri_analysis *analysis, uint32_t object);

/* How many of the object's certain references rest on untyped words. */
int64_t ri_object_untyped_owners(const struct ri_analysis *analysis, uint32_t object);

/* The standing of the type of `object`. */
enum ri_standing ri_object_standing(const struct ri_analysis *analysis, uint32_t object);

/* Whether an impossible count of an object of an inferred type is a finding all the same:
 * negative, where hardly any other is. */
bool ri_object_count_is_suspect(const struct ri_analysis *analysis, uint32_t object);

#endif
