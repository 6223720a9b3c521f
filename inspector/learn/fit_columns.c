/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From rows to what the search works on: columns by class, groups of classes whose
 * columns are identical, each group's prior, the rows to fit, and the groups that
 * occur together.  Cost: a few passes over the entries, and a sort of the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/fit_private.h"

#define RARE_OBJECTS 3
#define FIT_ROWS_MAX 20000
#define COOCCURRENCE_CELLS_MAX 2000 /* of a column, to find a group's neighbours */
#define COOCCURRENCE_ENTRIES_MAX 65536 /* of these rows */

/* All cells by class: cells[first[k] .. first[k + 1]). */
struct columns {
	uint64_t *first;
	struct ri_fit_cell *cells;
};

static struct columns make_columns(const struct ri_fit_state *fit)
{
	struct columns columns = { ri_calloc(fit->class_count + 1, sizeof(uint64_t)), NULL };
	uint64_t *at = ri_calloc(fit->class_count + 1, sizeof(*at));

	for (size_t r = 0; r < fit->row_count; r++)
		for (uint32_t i = 0; i < fit->rows[r].entry_count; i++)
			columns.first[fit->entries[fit->rows[r].first + i].class_index + 1]++;
	for (size_t k = 0; k < fit->class_count; k++)
		columns.first[k + 1] += columns.first[k];
	columns.cells = ri_calloc(columns.first[fit->class_count] + 1, sizeof(*columns.cells));
	memcpy(at, columns.first, fit->class_count * sizeof(*at));
	for (size_t r = 0; r < fit->row_count; r++)
		for (uint32_t i = 0; i < fit->rows[r].entry_count; i++) {
			const struct ri_fit_entry *entry = &fit->entries[fit->rows[r].first + i];

			columns.cells[at[entry->class_index]++] =
				(struct ri_fit_cell){ (uint32_t)r, entry->holders };
		}
	free(at);
	return columns;
}

static uint64_t hash_column(const struct columns *columns, size_t k)
{
	uint64_t hash = 1469598103934665603ull;

	for (uint64_t c = columns->first[k]; c < columns->first[k + 1]; c++)
		hash = (hash ^ ((uint64_t)columns->cells[c].row << 32 |
				columns->cells[c].holders)) *
		       1099511628211ull;
	return hash;
}

static bool is_same_column(const struct columns *columns, size_t a, size_t b)
{
	uint64_t count = columns->first[a + 1] - columns->first[a];

	return count == columns->first[b + 1] - columns->first[b] &&
	       !memcmp(&columns->cells[columns->first[a]], &columns->cells[columns->first[b]],
		       count * sizeof(*columns->cells));
}

struct hashed_class {
	uint64_t hash;
	uint32_t class_index;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed_class *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

/* Gives each class that is not rare the first class with the same column as leader. */
static void find_leaders(struct ri_fit_state *fit, const struct columns *columns, uint32_t *leader)
{
	struct hashed_class *hashed = ri_calloc(fit->class_count, sizeof(*hashed));
	size_t count = 0;

	for (size_t k = 0; k < fit->class_count; k++) {
		struct ri_fit_class *class = &fit->classes[k];

		leader[k] = RI_FIT_NO_GROUP;
		class->objects = 0;
		for (uint64_t c = columns->first[k]; c < columns->first[k + 1]; c++)
			class->objects += fit->rows[columns->cells[c].row].objects;
		class->is_rare = class->objects < RARE_OBJECTS;
		if (!class->is_rare)
			hashed[count++] = (struct hashed_class){ hash_column(columns, k),
								 (uint32_t)k };
	}
	qsort(hashed, count, sizeof(*hashed), by_hash);
	for (size_t i = 0; i < count; i++) {
		bool is_same = i && hashed[i].hash == hashed[i - 1].hash &&
			       is_same_column(columns, hashed[i].class_index,
					      leader[hashed[i - 1].class_index]);

		leader[hashed[i].class_index] = is_same ? leader[hashed[i - 1].class_index]
							: hashed[i].class_index;
	}
	free(hashed);
}

/* Adds a class with probability `prior` to the distribution p[0 .. WEIGHTS_MAX] of how
 * many members own. */
static void add_member(double *p, double prior)
{
	for (int w = RI_FIT_WEIGHTS_MAX; w >= 0; w--)
		p[w] = p[w] * (1 - prior) + (w ? p[w - 1] * prior : 0);
}

static void make_groups(struct ri_fit_state *fit, const uint32_t *leader)
{
	struct ri_fit_model *model = &fit->model;
	double(*sums)[RI_FIT_WEIGHTS_MAX + 1];

	for (size_t k = 0; k < fit->class_count; k++)
		fit->group_of[k] = leader[k] == k ? (uint32_t)model->group_count++ : RI_FIT_NO_GROUP;
	model->groups = ri_calloc(model->group_count + 1, sizeof(*model->groups));
	fit->leader_of = ri_calloc(model->group_count + 1, sizeof(*fit->leader_of));
	sums = ri_calloc(model->group_count + 1, sizeof(*sums));
	for (size_t k = 0; k < fit->class_count; k++) {
		uint32_t g;

		if (leader[k] == RI_FIT_NO_GROUP)
			continue;
		g = fit->group_of[k] = fit->group_of[leader[k]];
		if (leader[k] == k) {
			fit->leader_of[g] = (uint32_t)k;
			sums[g][0] = 1;
		}
		add_member(sums[g], fit->classes[k].prior);
		fit->classes[fit->leader_of[g]].group_size++;
		if (model->groups[g].weight_max < RI_FIT_WEIGHTS_MAX)
			model->groups[g].weight_max++;
	}
	for (size_t g = 0; g < model->group_count; g++) {
		struct ri_fit_group *group = &model->groups[g];

		for (uint32_t w = 0; w <= group->weight_max; w++) {
			group->prior_bits[w] = -log2(fmax(sums[g][w], 1e-12));
			if (group->prior_bits[w] < group->prior_bits[group->weight])
				group->weight = w;
		}
	}
	free(sums);
}

struct counted_row {
	uint64_t objects;
	uint32_t row;
};

static int by_objects(const void *a, const void *b)
{
	const struct counted_row *x = a, *y = b;

	if (x->objects != y->objects)
		return x->objects > y->objects ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int by_row(const void *a, const void *b)
{
	const struct counted_row *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

/* The rows to fit: *ret_index[r] is the place of row r among them, or RI_FIT_NO_GROUP. */
static void choose_rows(struct ri_fit_state *fit, uint32_t *index)
{
	struct counted_row *order = ri_calloc(fit->row_count + 1, sizeof(*order));
	size_t count = fit->row_count < FIT_ROWS_MAX ? fit->row_count : FIT_ROWS_MAX;

	for (size_t r = 0; r < fit->row_count; r++) {
		order[r] = (struct counted_row){ fit->rows[r].objects, (uint32_t)r };
		index[r] = RI_FIT_NO_GROUP;
	}
	qsort(order, fit->row_count, sizeof(*order), by_objects);
	qsort(order, count, sizeof(*order), by_row);
	fit->fitted = ri_calloc(count + 1, sizeof(*fit->fitted));
	fit->fitted_of = ri_calloc(count + 1, sizeof(*fit->fitted_of));
	for (size_t i = 0; i < count; i++) {
		index[order[i].row] = (uint32_t)i;
		fit->fitted[i] = fit->rows[order[i].row];
		fit->fitted_of[i] = &fit->fitted[i];
		fit->model.objects += fit->fitted[i].objects;
	}
	free(order);
	fit->model.rows = fit->fitted_of;
	fit->model.row_count = count;
	fit->model.residual = ri_calloc(count + 1, sizeof(*fit->model.residual));
}

/* Takes the columns of the groups' leaders into the model; rare classes become slack. */
static void fill_model(struct ri_fit_state *fit, const struct columns *columns,
		       const uint32_t *index)
{
	struct ri_fit_model *model = &fit->model;
	uint64_t at = 0;

	model->cells = ri_calloc(columns->first[fit->class_count] + 1, sizeof(*model->cells));
	for (size_t k = 0; k < fit->class_count; k++) {
		uint32_t g = fit->group_of[k];
		bool leads = g != RI_FIT_NO_GROUP && fit->leader_of[g] == k;

		if (leads)
			model->groups[g].first = at;
		for (uint64_t c = columns->first[k]; c < columns->first[k + 1]; c++) {
			uint32_t row = index[columns->cells[c].row];
			uint32_t holders = columns->cells[c].holders;

			if (row == RI_FIT_NO_GROUP)
				continue;
			if (g == RI_FIT_NO_GROUP)
				fit->fitted[row].slack += holders;
			if (!leads)
				continue;
			model->cells[at++] = (struct ri_fit_cell){ row, holders };
			model->groups[g].cell_count++;
			model->groups[g].holders += holders * fit->fitted[row].objects;
		}
	}
}

/* The groups that share most objects with group `g`, by shared[] (all zero before and after). */
static void find_neighbours(struct ri_fit_state *fit, uint32_t g, uint64_t *shared, uint32_t *met)
{
	struct ri_fit_model *model = &fit->model;
	struct ri_fit_group *group = &model->groups[g];
	uint32_t step = group->cell_count / COOCCURRENCE_CELLS_MAX + 1;
	size_t met_count = 0, looked_at = 0;

	for (uint32_t c = 0; c < group->cell_count && looked_at < COOCCURRENCE_ENTRIES_MAX;
	     c += step) {
		const struct ri_fit_row *row = &fit->fitted[model->cells[group->first + c].row];

		looked_at += row->entry_count;

		for (uint32_t i = 0; i < row->entry_count; i++) {
			uint32_t k = fit->entries[row->first + i].class_index;
			uint32_t other = fit->group_of[k];

			if (other == RI_FIT_NO_GROUP || other == g || fit->leader_of[other] != k)
				continue;
			if (!shared[other])
				met[met_count++] = other;
			shared[other] += row->objects;
		}
	}
	while (group->neighbour_count < RI_FIT_NEIGHBOURS) {
		uint32_t best = RI_FIT_NO_GROUP;

		for (size_t i = 0; i < met_count; i++)
			if (shared[met[i]] && (best == RI_FIT_NO_GROUP || shared[met[i]] > shared[best] ||
					       (shared[met[i]] == shared[best] && met[i] < best)))
				best = met[i];
		if (best == RI_FIT_NO_GROUP)
			break;
		shared[best] = 0;
		group->neighbours[group->neighbour_count++] = best;
	}
	for (size_t i = 0; i < met_count; i++)
		shared[met[i]] = 0;
}

void ri_fit_state_init(struct ri_fit_state *fit)
{
	struct columns columns = make_columns(fit);
	uint32_t *leader = ri_calloc(fit->class_count + 1, sizeof(*leader));
	uint32_t *index = ri_calloc(fit->row_count + 1, sizeof(*index));
	uint64_t *shared;
	uint32_t *met;

	fit->group_of = ri_calloc(fit->class_count + 1, sizeof(*fit->group_of));
	find_leaders(fit, &columns, leader);
	make_groups(fit, leader);
	choose_rows(fit, index);
	fill_model(fit, &columns, index);
	shared = ri_calloc(fit->model.group_count + 1, sizeof(*shared));
	met = ri_calloc(fit->model.group_count + 1, sizeof(*met));
	for (uint32_t g = 0; g < fit->model.group_count; g++)
		find_neighbours(fit, g, shared, met);
	free(shared);
	free(met);
	free(leader);
	free(index);
	free(columns.first);
	free(columns.cells);
	fit->is_open = ri_calloc(fit->model.group_count + 1, sizeof(*fit->is_open));
	fit->threshold = 2 * (log2((double)fit->model.objects + 1) + 3);
}

void ri_fit_state_deinit(struct ri_fit_state *fit)
{
	ri_vec_deinit(&fit->changes);
	free(fit->model.groups);
	free(fit->model.cells);
	free(fit->model.residual);
	free(fit->fitted);
	free(fit->fitted_of);
	free(fit->group_of);
	free(fit->leader_of);
	free(fit->is_open);
}
