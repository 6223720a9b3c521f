/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fit under way.  Private to learn/.
 */
#ifndef RI_LEARN_FIT_PRIVATE_H
#define RI_LEARN_FIT_PRIVATE_H

#include "base/memory.h"
#include "learn/fit_model.h"

#define RI_FIT_NO_GROUP UINT32_MAX

/* A change of one group's weight in a model, against the best one. */
struct ri_fit_change {
	uint32_t group;
	uint32_t model;
	int32_t weight;
};

struct ri_fit_state {
	const struct ri_fit_row *rows;
	size_t row_count;
	const struct ri_fit_entry *entries;
	struct ri_fit_class *classes;
	size_t class_count;
	uint32_t *group_of;      /* per class; RI_FIT_NO_GROUP: rare */
	uint32_t *leader_of;     /* per group: its first class */
	struct ri_fit_row *fitted; /* copies, with the rare classes in their slack */
	const struct ri_fit_row **fitted_of; /* fitted[], as the model wants it */
	struct ri_fit_model model;
	RI_VEC(struct ri_fit_change) changes; /* by model */
	size_t model_count;      /* besides the best */
	bool *is_open;           /* per group: any weight, since more models were found than kept */
	double threshold;
};

/* Sets the model up from rows, entries and classes, which are given: groups at their
 * priors' optimum, columns, neighbours, threshold. */
void ri_fit_state_init(struct ri_fit_state *fit);
void ri_fit_state_deinit(struct ri_fit_state *fit);

#endif
