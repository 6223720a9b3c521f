/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which holder classes have pointers that are not stored as such, and how.
 * Private to census/.
 */
#ifndef RI_CENSUS_ENCODINGS_H
#define RI_CENSUS_ENCODINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census/shapes.h"

struct ri_encodings {
	const struct ri_encoding **of_class; /* per class; null: plain pointers */
	size_t class_count;
	bool *of_shape;          /* per shape: some slot of it is encoded */
	size_t shape_count;
};

/* Null where no class of `shapes`, as they are now, is encoded. */
struct ri_encodings *ri_encodings_create(const struct ri_shapes *shapes);
void ri_encodings_destroy(struct ri_encodings *encodings);

/* The encoding of a slot's class, or null; `encodings` and `slot` may be null. */
static inline const struct ri_encoding *ri_encodings_find(const struct ri_encodings *encodings,
							  const struct ri_slot *slot)
{
	if (!encodings || !slot || slot->class_index >= encodings->class_count)
		return NULL;
	return encodings->of_class[slot->class_index];
}

/* The address that `word` stands for. */
static inline uint64_t ri_encodings_decode(const struct ri_encoding *encoding, uint64_t word)
{
	word &= ~encoding->mask;
	word = encoding->shift < 64 ? word << encoding->shift : 0;
	return (word ^ encoding->xor_value) + (uint64_t)encoding->add;
}

#endif
