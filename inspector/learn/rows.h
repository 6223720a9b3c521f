/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The objects of one type as rows of numbers for the fit.  Private to learn/.
 */
#ifndef RI_LEARN_ROWS_H
#define RI_LEARN_ROWS_H

#include "learn/ownership.h"

/* What makes a class; see ri_learned_class. */
struct ri_rows_key {
	uint32_t holder_class, container;
	int64_t target_offset;
};

/* A container whose holders are to be a class of their own. */
struct ri_rows_split {
	uint32_t holder_class, container;
};

/* Ascending by ri_rows_compare_splits(): class, then container. */
typedef RI_VEC(struct ri_rows_split) ri_rows_splits;

int ri_rows_compare_splits(const void *a, const void *b); /* for qsort() */

struct ri_rows {
	RI_VEC(struct ri_rows_key) classes; /* by name, container, offset */
	RI_VEC(struct ri_fit_row) rows;
	RI_VEC(struct ri_fit_entry) entries;
	RI_VEC(uint32_t) row_of; /* per object handed in: its row */
	RI_VEC(int64_t) base_of; /* per object: what declared owners are worth, not in the row */
	uint32_t *alias_of;      /* per class: the class that its holders count for, mostly itself */
	uint32_t *class_slots;   /* of a hash table; see ri_rows_find_class() */
	size_t class_capacity;
};

/* Whether object `o` may teach and be judged: alive, sound, and no doubt about it. */
bool ri_rows_is_judged(const struct ri_population *population, uint32_t o);

/* Rows of objects[0 .. count), which are of one type and judged. */
void ri_rows_init(struct ri_rows *rows, const struct ri_ownership_input *input,
		  const uint32_t *objects, size_t count, const ri_rows_splits *splits);
void ri_rows_deinit(struct ri_rows *rows);

/* The class that holders with that key, which must be one of the rows', count for. */
uint32_t ri_rows_find_class(const struct ri_rows *rows, const struct ri_rows_key *key);

enum ri_rows_role {
	RI_ROWS_NOTHING,         /* holds nothing here */
	RI_ROWS_DECLARED,        /* worth what the profile says */
	RI_ROWS_POSSIBLE,        /* 0 or 1 */
	RI_ROWS_LEARNED,         /* of class *ret_key */
};

/* What edge `edge`, which leads to object `o`, is to the fit. */
enum ri_rows_role ri_rows_role_of(const struct ri_ownership_input *input,
				  const ri_rows_splits *splits, uint32_t o, uint64_t edge,
				  struct ri_rows_key *ret_key);

#endif
