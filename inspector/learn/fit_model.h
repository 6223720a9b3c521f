/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One model of who owns, and what it costs in bits.  Private to learn/.
 */
#ifndef RI_LEARN_FIT_MODEL_H
#define RI_LEARN_FIT_MODEL_H

#include "learn/fit.h"

#define RI_FIT_WEIGHTS_MAX 16   /* of one group; a larger group has the rest borrow */
#define RI_FIT_NEIGHBOURS 12

/* Classes with identical columns: their sum alone can be known. */
struct ri_fit_group {
	uint32_t weight;         /* of all members together */
	uint32_t weight_max;
	uint64_t first;          /* cells[first .. first + cell_count) */
	uint32_t cell_count;
	uint64_t holders;        /* sum of them */
	double prior_bits[RI_FIT_WEIGHTS_MAX + 1]; /* cost of each weight */
	uint32_t neighbours[RI_FIT_NEIGHBOURS]; /* groups that occur on the same rows, most first */
	uint32_t neighbour_count;
};

struct ri_fit_cell {
	uint32_t row;
	uint32_t holders;
};

struct ri_fit_model {
	/* of the rows that are fitted: */
	const struct ri_fit_row *const *rows;
	size_t row_count;
	int64_t *residual;       /* count less what the holders are worth, slack not taken off */
	struct ri_fit_group *groups;
	size_t group_count;
	struct ri_fit_cell *cells; /* by group, rows ascending */
	uint64_t objects;        /* of all rows */
	/* the cost's parts as the weights are now */
	uint64_t out_objects;    /* not explained */
	double out_bits, prior_bits;
};

/* The cost of the model as it is. */
double ri_fit_model_cost(const struct ri_fit_model *model);

/* The cost with `weight` for group `g` instead of its own. */
double ri_fit_model_try(const struct ri_fit_model *model, uint32_t g, uint32_t weight);

/* Gives group `g` that weight. */
void ri_fit_model_set(struct ri_fit_model *model, uint32_t g, uint32_t weight);

/* Computes the residuals and the cost's parts anew from the weights. */
void ri_fit_model_start(struct ri_fit_model *model);

/*
 * Moves one group at a time to its cheapest weight until none moves, over
 * which[0 .. count) (null: all groups).
 */
void ri_fit_model_descend(struct ri_fit_model *model, const uint32_t *which, size_t count);

/* The same over which[0 .. count), the move that gains most first; ends after a bound of moves. */
void ri_fit_model_descend_steeply(struct ri_fit_model *model, const uint32_t *which, size_t count);

/* How far `residual` is from what `slack` can explain: 0 for explained. */
static inline int64_t ri_fit_distance(int64_t residual, uint64_t slack)
{
	if (residual < 0)
		return residual;
	return (uint64_t)residual > slack ? residual - (int64_t)slack : 0;
}

#endif
