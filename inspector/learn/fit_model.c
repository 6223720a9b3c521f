/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cost of a model and the search for a cheap one.
 *
 * The cost is a description length: bits for each group's weight (its prior), bits to
 * name the objects that are not explained, log2 C(N, n) + log2(N + 1), and bits for how
 * far each of these is off.  Naming costs less per object the more there are, so that a
 * population with many faulty objects is fitted as well as one with few.
 *
 * Descent moves one group at a time; a move touches the rows of its group's column alone.
 * The steepest one takes the best move of all first: it costs a pass over all columns per move, and
 * does not stop where the first of two groups that stand for one another was moved.
 *
 * Where it starts matters: from the priors it comes close to the exact optimum, from random
 * weights it does not.
 */
#include "learn/fit_model.h"

#include <math.h>

#define ROUNDS_MAX 24
#define STEPS_MAX 100 /* of steepest descent; the other one goes on from there */
#define GAIN_MIN 1e-6 /* bits; less is rounding */

static double log2_choose(uint64_t n, uint64_t k)
{
	double nats = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);

	return nats / M_LN2;
}

static double cost_of(const struct ri_fit_model *model, uint64_t out_objects, double out_bits,
		      double prior_bits)
{
	return prior_bits + log2_choose(model->objects, out_objects) +
	       log2((double)model->objects + 1) + out_bits;
}

double ri_fit_model_cost(const struct ri_fit_model *model)
{
	return cost_of(model, model->out_objects, model->out_bits, model->prior_bits);
}

/* Bits that one object costs which is `distance` off. */
static double bits_off(int64_t distance)
{
	uint64_t size = distance < 0 ? 0 - (uint64_t)distance : (uint64_t)distance;

	return distance ? 2 + 2 * (63 - __builtin_clzll(size)) : 0;
}

/* What a row adds to the cost's parts. */
static void weigh_row(const struct ri_fit_row *row, int64_t residual, uint64_t *out_objects,
		      double *out_bits)
{
	int64_t distance = ri_fit_distance(residual, row->slack);

	if (!distance)
		return;
	*out_objects += row->objects;
	*out_bits += (double)row->objects * bits_off(distance);
}

/* The parts with `change` more weight for group `g`. */
static void weigh_change(const struct ri_fit_model *model, uint32_t g, int64_t change,
			 uint64_t *ret_objects, double *ret_bits)
{
	const struct ri_fit_group *group = &model->groups[g];
	uint64_t before = 0, after = 0;
	double bits_before = 0, bits_after = 0;

	for (uint64_t c = group->first; c < group->first + group->cell_count; c++) {
		const struct ri_fit_cell *cell = &model->cells[c];
		const struct ri_fit_row *row = model->rows[cell->row];
		int64_t residual = model->residual[cell->row];

		weigh_row(row, residual, &before, &bits_before);
		weigh_row(row, residual - change * (int64_t)cell->holders, &after, &bits_after);
	}
	*ret_objects = model->out_objects - before + after;
	*ret_bits = model->out_bits - bits_before + bits_after;
}

double ri_fit_model_try(const struct ri_fit_model *model, uint32_t g, uint32_t weight)
{
	const struct ri_fit_group *group = &model->groups[g];
	uint64_t objects;
	double bits;

	weigh_change(model, g, (int64_t)weight - (int64_t)group->weight, &objects, &bits);
	return cost_of(model, objects, bits,
		       model->prior_bits - group->prior_bits[group->weight] +
			       group->prior_bits[weight]);
}

void ri_fit_model_set(struct ri_fit_model *model, uint32_t g, uint32_t weight)
{
	struct ri_fit_group *group = &model->groups[g];
	int64_t change = (int64_t)weight - (int64_t)group->weight;

	if (!change)
		return;
	weigh_change(model, g, change, &model->out_objects, &model->out_bits);
	for (uint64_t c = group->first; c < group->first + group->cell_count; c++)
		model->residual[model->cells[c].row] -= change * (int64_t)model->cells[c].holders;
	model->prior_bits += group->prior_bits[weight] - group->prior_bits[group->weight];
	group->weight = weight;
}

void ri_fit_model_start(struct ri_fit_model *model)
{
	model->out_objects = 0;
	model->out_bits = model->prior_bits = 0;
	for (size_t r = 0; r < model->row_count; r++)
		model->residual[r] = model->rows[r]->count;
	for (size_t g = 0; g < model->group_count; g++) {
		const struct ri_fit_group *group = &model->groups[g];

		model->prior_bits += group->prior_bits[group->weight];
		for (uint64_t c = group->first; c < group->first + group->cell_count; c++)
			model->residual[model->cells[c].row] -=
				(int64_t)group->weight * (int64_t)model->cells[c].holders;
	}
	for (size_t r = 0; r < model->row_count; r++)
		weigh_row(model->rows[r], model->residual[r], &model->out_objects,
			  &model->out_bits);
}

/* The cheapest weight of group `g` other than its own; *ret_cost is the model's with it. */
static uint32_t best_other(const struct ri_fit_model *model, uint32_t g, double *ret_cost)
{
	const struct ri_fit_group *group = &model->groups[g];
	uint32_t best = group->weight;

	*ret_cost = INFINITY;
	for (uint32_t weight = 0; weight <= group->weight_max; weight++) {
		double cost;

		if (weight == group->weight)
			continue;
		cost = ri_fit_model_try(model, g, weight);
		if (cost < *ret_cost - GAIN_MIN) {
			*ret_cost = cost;
			best = weight;
		}
	}
	return best;
}

void ri_fit_model_descend(struct ri_fit_model *model, const uint32_t *which, size_t count)
{
	bool moved = true;

	for (unsigned round = 0; moved && round < ROUNDS_MAX; round++) {
		moved = false;
		for (size_t i = 0; i < (which ? count : model->group_count); i++) {
			uint32_t g = which ? which[i] : (uint32_t)i;
			double cost;
			uint32_t weight = best_other(model, g, &cost);

			if (cost < ri_fit_model_cost(model) - GAIN_MIN) {
				ri_fit_model_set(model, g, weight);
				moved = true;
			}
		}
	}
}

void ri_fit_model_descend_steeply(struct ri_fit_model *model, const uint32_t *which, size_t count)
{
	for (unsigned step = 0; step < STEPS_MAX; step++) {
		double least = ri_fit_model_cost(model) - GAIN_MIN;
		uint32_t group = 0, weight = 0;
		bool any = false;

		for (size_t i = 0; i < count; i++) {
			double cost;
			uint32_t other = best_other(model, which[i], &cost);

			if (cost >= least)
				continue;
			least = cost;
			group = which[i];
			weight = other;
			any = true;
		}
		if (!any)
			return;
		ri_fit_model_set(model, group, weight);
	}
}
