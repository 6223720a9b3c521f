/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of recognition share; first, what kind of thing a word of the target is,
 * coarsely, so that words at the same place of several objects can be compared.  Private to
 * census/.
 */
#ifndef RI_CENSUS_WORD_KINDS_H
#define RI_CENSUS_WORD_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "census/address_map.h"
#include "census/recognise.h"

/* A kind: null, a pointer by what it leads to, or a number by the size of its halves. */
uint32_t ri_word_kind(const struct ri_recognise_input *input, uint64_t value);

/* Whether words of the kind lead to memory; whether they are numbers (null is neither). */
bool ri_kind_is_pointer(uint32_t kind);
bool ri_kind_is_number(uint32_t kind);

/*
 * How often which kind stands at which word of which owner (an owner is any number below
 * 2^24), in a map that is of no other use.
 */
void ri_kind_counts_add(struct ri_address_map *counts, uint32_t owner, uint32_t word,
			uint32_t kind);
uint32_t ri_kind_counts_get(const struct ri_address_map *counts, uint32_t owner, uint32_t word,
			    uint32_t kind);

/*
 * Whether the primary count of an object of the population's type `type` at P = `addr` is
 * alive and no larger than programs have holders; *ret_count (may be null) is the count.
 */
bool ri_looks_alive(const struct ri_recognise_input *input, uint32_t type, uint64_t addr,
		    int64_t *ret_count);

/* payloads.c: appends what void pointers of one class lead to, where that is an object of
 * a wanted type; see recognise.h.  `is_known`: per block, whether it has object or type. */
void ri_payloads_find(const struct ri_recognise_input *input, const bool *wanted,
		      const bool *is_known, ri_recognised_list *ret);

/* twins.c: appends blocks that have the class pointer of a known object. */
void ri_twins_find(const struct ri_recognise_input *input, const bool *wanted,
		   const bool *is_known, ri_recognised_list *ret);

/* pool_places.c: appends what looks like the known objects of pools outside heaps. */
void ri_pool_places_find(const struct ri_recognise_input *input, const bool *wanted,
			 ri_recognised_list *ret);

/* pool_objects.c: appends what stands at the unexplained places of pools of wanted types and
 * looks like an object. */
void ri_pool_objects_find(const struct ri_recognise_input *input, const bool *wanted,
			  const bool *is_known, ri_recognised_list *ret);

#endif
