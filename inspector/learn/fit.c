/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From rows and classes to weights, and to what is left open.
 *
 *   columns   the rows' entries by class; classes on fewer than RARE_OBJECTS objects are
 *             worth 0 or 1 and not learned; classes with identical columns become one group,
 *             of which only the sum can be known
 *   search    the cheapest model (fit_model.c), over the rows that stand for most objects
 *   margins   each group is moved off its best weight and its neighbours are fitted again:
 *             what the model then costs more is the group's margin; below the threshold
 *             the other model explains as much, and both stand
 *   contested a weight with which many objects that do not fit now would fit: it may be right
 *             where half of a population is faulty; that model stands beside the best too
 *   ranges    per row, the least and the most that its holders are worth in these models
 *
 * Judging by whole models rather than class by class keeps what is known: where a hash
 * and a list hold the same objects and one of the two owns, the sum is 1 in every model.
 * Of several models that touch one row their changes are added up, which can only make
 * the range too wide.
 */
#include <math.h>
#include <stdlib.h>

#include "learn/fit_private.h"

#define CONTESTED_OBJECTS_MIN 3
#define CONTESTED_SHARE 0.25
#define BETTER_MAX 32 /* times that a margin may show a better model */
#define BETTER_BITS 1e-6
#define COMMON_MAX 6 /* classes from whose weights the search begins once more */
#define MODELS_MAX 256 /* kept beside the best; groups that would make more are open */

/* ---- other models ----------------------------------------------------------- */

/* The weights of group `g` and its neighbours. */
static void save_weights(const struct ri_fit_model *model, uint32_t g, uint32_t *weights)
{
	const struct ri_fit_group *group = &model->groups[g];

	weights[0] = group->weight;
	for (uint32_t i = 0; i < group->neighbour_count; i++)
		weights[i + 1] = model->groups[group->neighbours[i]].weight;
}

static void restore_weights(struct ri_fit_model *model, uint32_t g, const uint32_t *weights)
{
	const struct ri_fit_group *group = &model->groups[g];

	ri_fit_model_set(model, g, weights[0]);
	for (uint32_t i = 0; i < group->neighbour_count; i++)
		ri_fit_model_set(model, group->neighbours[i], weights[i + 1]);
}

/* Keeps the model as it is now beside the best one, whose weights around `g` are given. */
static void keep_model(struct ri_fit_state *fit, uint32_t g, const uint32_t *best)
{
	const struct ri_fit_group *group = &fit->model.groups[g];
	uint32_t model = (uint32_t)fit->model_count++;

	for (uint32_t i = 0; i <= group->neighbour_count; i++) {
		uint32_t other = i ? group->neighbours[i - 1] : g;
		int32_t change = (int32_t)fit->model.groups[other].weight - (int32_t)best[i];

		if (change)
			*ri_push(&fit->changes) = (struct ri_fit_change){ other, model, change };
	}
}

/* How many objects count more than the model as it is says, and how many less. */
static void count_misfits(const struct ri_fit_model *model, uint64_t *ret_surplus,
			  uint64_t *ret_deficit)
{
	*ret_surplus = *ret_deficit = 0;
	for (size_t r = 0; r < model->row_count; r++) {
		int64_t distance = ri_fit_distance(model->residual[r], model->rows[r]->slack);

		if (distance)
			*(distance > 0 ? ret_surplus : ret_deficit) += model->rows[r]->objects;
	}
}

/* Notes what the model as it is would mean, beside the best one as above. */
static void note_other(const struct ri_fit_state *fit, uint32_t g, const uint32_t *best,
		       struct ri_fit_other *other)
{
	const struct ri_fit_group *group = &fit->model.groups[g];

	*other = (struct ri_fit_other){
		.is_there = true,
		.explained = fit->model.objects - fit->model.out_objects,
	};
	count_misfits(&fit->model, &other->surplus, &other->deficit);
	for (uint32_t i = 0; i <= group->neighbour_count; i++) {
		uint32_t changed = i ? group->neighbours[i - 1] : g;
		uint32_t weight = fit->model.groups[changed].weight;

		if (weight == best[i])
			continue;
		if (other->change_count < RI_FIT_CHANGES) {
			other->changes[other->change_count].class_index = fit->leader_of[changed];
			other->changes[other->change_count].weight = weight;
		}
		other->change_count++;
	}
}

/* Moves `g` to `weight`, fits its neighbours again, and returns what that costs more than
 * `cost`.  The model is left so. */
static double cost_of_other(struct ri_fit_model *model, uint32_t g, uint32_t weight, double cost)
{
	const struct ri_fit_group *group = &model->groups[g];

	ri_fit_model_set(model, g, weight);
	ri_fit_model_descend(model, group->neighbours, group->neighbour_count);
	return ri_fit_model_cost(model) - cost;
}

/* Finds the margin of group `g`; false if a better model came up and may be taken, which is
 * then the model. */
static bool find_margin(struct ri_fit_state *fit, uint32_t g, bool may_take, double *ret_margin)
{
	struct ri_fit_model *model = &fit->model;
	uint32_t best[RI_FIT_NEIGHBOURS + 1];
	double cost = ri_fit_model_cost(model);
	uint32_t own = model->groups[g].weight;

	save_weights(model, g, best);
	*ret_margin = INFINITY;
	fit->classes[fit->leader_of[g]].other.is_there = false;
	for (uint32_t w = 0; w <= model->groups[g].weight_max; w++) {
		double more;

		if (w == own)
			continue;
		more = cost_of_other(model, g, w, cost);
		if (more < -BETTER_BITS && may_take)
			return false;
		if (more < *ret_margin)
			note_other(fit, g, best, &fit->classes[fit->leader_of[g]].other);
		*ret_margin = fmin(*ret_margin, more);
		if (more < fit->threshold && fit->model_count < MODELS_MAX)
			keep_model(fit, g, best);
		else
			fit->is_open[g] |= more < fit->threshold;
		restore_weights(model, g, best);
	}
	return true;
}

/* Objects that fit and would not, and that do not and would, with `change` more for `g`. */
static void count_change(const struct ri_fit_model *model, uint32_t g, int64_t change,
			 uint64_t *ret_lost, uint64_t *ret_won)
{
	const struct ri_fit_group *group = &model->groups[g];

	*ret_lost = *ret_won = 0;
	for (uint64_t c = group->first; c < group->first + group->cell_count; c++) {
		const struct ri_fit_cell *cell = &model->cells[c];
		const struct ri_fit_row *row = model->rows[cell->row];
		int64_t residual = model->residual[cell->row];
		bool fits = !ri_fit_distance(residual, row->slack);
		bool would = !ri_fit_distance(residual - change * (int64_t)cell->holders,
					      row->slack);

		*ret_lost += fits && !would ? row->objects : 0;
		*ret_won += !fits && would ? row->objects : 0;
	}
}

/* Keeps the models in which another weight of `g` would explain many objects that do not
 * fit; tells the most objects for and against its weight. */
static bool find_contest(struct ri_fit_state *fit, uint32_t g, uint64_t *ret_for,
			 uint64_t *ret_against)
{
	struct ri_fit_model *model = &fit->model;
	int64_t own = model->groups[g].weight;
	bool is_contested = false;

	*ret_for = *ret_against = 0;
	for (int64_t w = 0; w <= model->groups[g].weight_max; w++) {
		uint64_t lost, won;

		if (w == own)
			continue;
		count_change(model, g, w - own, &lost, &won);
		if (won >= *ret_against) {
			*ret_for = lost;
			*ret_against = won;
		}
		if (won < CONTESTED_OBJECTS_MIN ||
		    (double)won < CONTESTED_SHARE * (double)(lost + won))
			continue;
		is_contested = true;
		if (fit->model_count >= MODELS_MAX)
			fit->is_open[g] = true;
		else
			*ri_push(&fit->changes) = (struct ri_fit_change){
				g, (uint32_t)fit->model_count++, (int32_t)(w - own)
			};
	}
	return is_contested;
}

/* Margins and contests of all groups, kept with the groups' first classes.  Begins again
 * with a better model where one comes up. */
static void find_models(struct ri_fit_state *fit)
{
	struct ri_fit_model *model = &fit->model;
	unsigned better = 0;
	uint32_t g = 0;

	while (g < model->group_count) {
		struct ri_fit_class *class = &fit->classes[fit->leader_of[g]];

		if (find_margin(fit, g, better < BETTER_MAX, &class->margin_bits)) {
			class->is_undecided = class->margin_bits < fit->threshold;
			g++;
			continue;
		}
		better++;
		ri_fit_model_descend(model, NULL, 0);
		fit->changes.count = fit->model_count = 0;
		g = 0;
	}
	for (g = 0; g < model->group_count; g++) {
		struct ri_fit_class *class = &fit->classes[fit->leader_of[g]];

		class->is_contested =
			find_contest(fit, g, &class->for_objects, &class->against_objects);
	}
}

/* ---- where the search starts -------------------------------------------------- */

static void set_weights(struct ri_fit_model *model, const uint32_t *weights)
{
	for (uint32_t g = 0; g < model->group_count; g++)
		ri_fit_model_set(model, g, weights[g]);
}

static void get_weights(const struct ri_fit_model *model, uint32_t *weights)
{
	for (uint32_t g = 0; g < model->group_count; g++)
		weights[g] = model->groups[g].weight;
}

/* Parts the groups into those that hold most objects, at most COMMON_MAX, and others. */
static size_t part_groups(const struct ri_fit_state *fit, uint32_t *common, uint32_t *others)
{
	const struct ri_fit_model *model = &fit->model;
	size_t count = 0, other_count = 0;

	for (uint32_t g = 0; g < model->group_count; g++)
		if (count < COMMON_MAX &&
		    fit->classes[fit->leader_of[g]].objects * 2 >= model->objects)
			common[count++] = g;
		else
			others[other_count++] = g;
	return count;
}

/*
 * A class that holds most objects may stand for what many others hold together (each object
 * is in the one list, and most have one owner), and no single move leads from the one model to
 * the other.  So the search begins once more with such classes borrowing, and with one of them
 * owning, while the others are fitted from `priors`; the cheapest end counts.
 */
static void descend_from_common(struct ri_fit_state *fit, const uint32_t *priors)
{
	struct ri_fit_model *model = &fit->model;
	uint32_t *best = ri_calloc(model->group_count + 1, sizeof(*best));
	uint32_t *others = ri_calloc(model->group_count + 1, sizeof(*others));
	uint32_t common[COMMON_MAX];
	size_t count = part_groups(fit, common, others);
	double cost = ri_fit_model_cost(model);

	get_weights(model, best);
	for (size_t owner = 0; owner <= count; owner++) {
		set_weights(model, priors);
		for (size_t i = 0; i < count; i++)
			ri_fit_model_set(model, common[i], i == owner);
		ri_fit_model_descend_steeply(model, others, model->group_count - count);
		ri_fit_model_descend(model, NULL, 0);
		if (ri_fit_model_cost(model) < cost - BETTER_BITS) {
			cost = ri_fit_model_cost(model);
			get_weights(model, best);
		}
	}
	set_weights(model, best);
	free(best);
	free(others);
}

static void search(struct ri_fit_state *fit)
{
	struct ri_fit_model *model = &fit->model;
	uint32_t *priors = ri_calloc(model->group_count + 1, sizeof(*priors));

	get_weights(model, priors);
	ri_fit_model_start(model);
	ri_fit_model_descend(model, NULL, 0);
	descend_from_common(fit, priors);
	free(priors);
}

/* ---- answers ---------------------------------------------------------------- */

static void answer_class(const struct ri_fit_state *fit, size_t k)
{
	struct ri_fit_class *class = &fit->classes[k];
	const struct ri_fit_class *leader;
	const struct ri_fit_group *group;
	uint32_t cheapest = 0;

	class->group = fit->group_of[k];
	if (class->group == RI_FIT_NO_GROUP) {
		class->is_undecided = true;
		class->group_size = 1;
		return;
	}
	group = &fit->model.groups[class->group];
	leader = &fit->classes[fit->leader_of[class->group]];
	for (uint32_t w = 1; w <= group->weight_max; w++)
		if (group->prior_bits[w] < group->prior_bits[cheapest])
			cheapest = w;
	class->group_weight = group->weight;
	class->group_size = leader->group_size;
	class->margin_bits = leader->margin_bits;
	class->for_objects = leader->for_objects;
	class->against_objects = leader->against_objects;
	class->is_contested = leader->is_contested;
	class->is_undecided = leader->is_undecided;
	class->is_moved = !class->is_undecided && !class->is_contested &&
			  group->weight != cheapest &&
			  fabs(group->prior_bits[group->weight] - group->prior_bits[cheapest]) > 0.1;
	/* Of some of the members' being owners, which ones cannot be known. */
	if (group->weight && group->weight < class->group_size)
		class->is_undecided = true;
	class->weight = group->weight >= class->group_size;
}

/* The changes by group: changes[first[g] .. first[g + 1]). */
static int by_group(const void *a, const void *b)
{
	const struct ri_fit_change *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->model < y->model ? -1 : x->model > y->model;
}

static size_t *index_changes(struct ri_fit_state *fit)
{
	size_t *first = ri_calloc(fit->model.group_count + 2, sizeof(*first));

	if (fit->changes.count)
		qsort(fit->changes.items, fit->changes.count, sizeof(*fit->changes.items),
		      by_group);
	for (size_t i = 0; i < fit->changes.count; i++)
		first[fit->changes.items[i].group + 1]++;
	for (size_t g = 0; g < fit->model.group_count; g++)
		first[g + 1] += first[g];
	return first;
}

/* The range of row `r`; sums[] holds a number per model, all zero before and after. */
static struct ri_fit_range range_of(const struct ri_fit_state *fit, const struct ri_fit_row *row,
				    const size_t *first, int64_t *sums)
{
	struct ri_fit_range range = { .high = (int64_t)row->slack };
	int64_t mixed = 0, open = 0;

	for (uint32_t i = 0; i < row->entry_count; i++) {
		const struct ri_fit_entry *entry = &fit->entries[row->first + i];
		uint32_t g = fit->group_of[entry->class_index];
		int64_t holders = entry->holders;

		if (g == RI_FIT_NO_GROUP) {
			range.high += holders;
			continue;
		}
		if (fit->classes[entry->class_index].is_mixture && !fit->model.groups[g].weight)
			mixed += holders;
		if (fit->leader_of[g] != entry->class_index)
			continue;
		if (fit->is_open[g])
			open += holders * fit->model.groups[g].weight_max;
		range.low += fit->model.groups[g].weight * holders;
		range.high += fit->model.groups[g].weight * holders;
		for (size_t c = first[g]; c < first[g + 1]; c++)
			sums[fit->changes.items[c].model] +=
				fit->changes.items[c].weight * holders;
	}
	range.is_explained = row->count >= range.low && row->count <= range.high;
	range.high += mixed;
	for (uint32_t i = 0; i < row->entry_count; i++) {
		uint32_t g = fit->group_of[fit->entries[row->first + i].class_index];

		if (g == RI_FIT_NO_GROUP)
			continue;
		for (size_t c = first[g]; c < first[g + 1]; c++) {
			int64_t *sum = &sums[fit->changes.items[c].model];

			*(*sum < 0 ? &range.low : &range.high) += *sum;
			*sum = 0;
		}
	}
	range.low = range.low > open ? range.low - open : 0;
	range.high += open;
	return range;
}

struct ri_fit_result ri_fit(const struct ri_fit_row *rows, size_t row_count,
			    const struct ri_fit_entry *entries, struct ri_fit_class *classes,
			    size_t class_count, struct ri_fit_range *ret_ranges)
{
	struct ri_fit_state fit = {
		.rows = rows,
		.row_count = row_count,
		.entries = entries,
		.classes = classes,
		.class_count = class_count,
	};
	struct ri_fit_result result = { 0 };
	int64_t *sums;
	size_t *first;

	ri_fit_state_init(&fit);
	search(&fit);
	find_models(&fit);
	for (size_t k = 0; k < class_count; k++)
		answer_class(&fit, k);
	first = index_changes(&fit);
	sums = ri_calloc(fit.model_count + 1, sizeof(*sums));
	for (size_t r = 0; r < row_count; r++)
		ret_ranges[r] = range_of(&fit, &rows[r], first, sums);
	result.objects = fit.model.objects;
	result.explained = fit.model.objects - fit.model.out_objects;
	count_misfits(&fit.model, &result.surplus, &result.deficit);
	result.threshold_bits = fit.threshold;
	result.model_count = fit.model_count + 1;
	free(sums);
	free(first);
	ri_fit_state_deinit(&fit);
	return result;
}
