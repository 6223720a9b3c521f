/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits what one holder of each class is worth to the stored counts of one type's
 * objects.  Knows rows of numbers alone: no memory, no names.
 *
 * A row stands for all objects that have the same count and the same number of
 * holders in each class.  The model is: count = sum over the classes of weight times
 * holders, for most objects.  No constant is fitted: "one more for all" would explain
 * a leak on every object.
 */
#ifndef RI_LEARN_FIT_H
#define RI_LEARN_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ri_fit_entry {
	uint32_t class_index;    /* into classes[]; at most one entry of a class in a row */
	uint32_t holders;        /* more than 0 */
};

struct ri_fit_row {
	int64_t count;
	uint64_t objects;        /* how many have this row; more than 0 */
	uint64_t slack;          /* holders that are worth 0 or 1 each, never learned */
	uint64_t first;          /* entries[first .. first + entry_count) */
	uint32_t entry_count;
};

#define RI_FIT_CHANGES 4

/* The cheapest model in which the class' group has another weight; its further changes are
 * what fits best then. */
struct ri_fit_other {
	bool is_there;           /* with the first class of each group alone */
	uint64_t explained, surplus, deficit; /* objects under it: of those that were fitted */
	uint32_t change_count;   /* groups whose weight differs, the first RI_FIT_CHANGES here: */
	struct {
		uint32_t class_index; /* the group's first class */
		uint32_t weight;
	} changes[RI_FIT_CHANGES];
};

struct ri_fit_class {
	double prior;            /* that a holder of the class owns, in (0, 1) */
	bool is_mixture;         /* its holders need not be alike: where the class is learned to
				  * borrow, one of them may own all the same */
	/* the answer */
	bool is_rare;            /* seen on too few objects to be learned: 0 or 1 each */
	bool is_undecided;       /* another model explains as much */
	bool is_contested;       /* many objects that do not fit would, with another weight */
	bool is_moved;           /* decided, and not as the prior has it */
	uint32_t weight;         /* in the best model */
	uint32_t group;          /* classes with the same holders everywhere share it */
	uint32_t group_size;
	uint32_t group_weight;   /* of the group's members together, in the best model */
	double margin_bits;      /* what the next best weight costs more */
	uint64_t objects;        /* that have a holder of the class */
	uint64_t for_objects, against_objects; /* explained so; explained otherwise alone */
	struct ri_fit_other other;
};

/* What the holders of a row are worth together: [low, high], slack included. */
struct ri_fit_range {
	int64_t low, high;
	bool is_explained;       /* by the best model */
	bool is_otherwise;       /* of an object: it is not, and would be if all counts of the type
				  * were one more or one less, as more others would */
};

struct ri_fit_result {
	uint64_t objects;
	uint64_t explained;      /* by the best model */
	uint64_t surplus, deficit; /* counts above and below it, of those that were fitted */
	double threshold_bits;   /* below this margin a class is undecided */
	size_t model_count;      /* the best one and those that explain as much */
};

/*
 * Fits classes[0 .. class_count) to rows[0 .. row_count) and writes one range per row to
 * ret_ranges.  The same input gives the same answer; where models tie, the class that
 * stands first owns.  Cost: some sweeps over the entries of the 20,000 rows that stand
 * for most objects.
 */
struct ri_fit_result ri_fit(const struct ri_fit_row *rows, size_t row_count,
			    const struct ri_fit_entry *entries, struct ri_fit_class *classes,
			    size_t class_count, struct ri_fit_range *ret_ranges);

#endif
