/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The census' filters: pass over the words of memory that cannot be pointers into
 * what is looked for, at the speed of reading.  Private to census/.
 */
#ifndef RI_CENSUS_WORDS_H
#define RI_CENSUS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words in a group that the filter passes over or leaves as a whole. */
#define RI_WORDS_GROUP 16

/*
 * For the 8-byte words at `p` (not aligned), the least j >= i for which j = n,
 * fewer than RI_WORDS_GROUP words are left, or one of the words j ..
 * j + RI_WORDS_GROUP - 1 lies in [low, low + span).
 */
typedef size_t ri_words_skip_function(const uint8_t *p, size_t i, size_t n, uint64_t low,
				      uint64_t span);

/* The fastest one for this processor. */
ri_words_skip_function *ri_words_skipper(void);

/* The same with the words that are `value` in the bits of `mask`. */
typedef size_t ri_words_differ_function(const uint8_t *p, size_t i, size_t n, uint64_t value,
					uint64_t mask);

ri_words_differ_function *ri_words_differ_skipper(void);

/* A bit for each remainder of an address divided by 16 and then by the number of bits: 8 KiB,
 * which stay in the cache, and what is set are few. */
#define RI_WORDS_FILTER_BITS 65536u
#define RI_WORDS_FILTER_SHIFT 4

static inline bool ri_words_passes(const uint64_t *filter, uint64_t word)
{
	uint64_t bit = (word >> RI_WORDS_FILTER_SHIFT) % RI_WORDS_FILTER_BITS;

	return filter[bit / 64] >> bit % 64 & 1;
}

/*
 * For words at every byte offset: the least j >= i below n for which the word at
 * p + j has `top` in its bits 40 to 63 and passes the filter, else n.  Reads n + 7 bytes
 * at most.
 */
typedef size_t ri_words_top_function(const uint8_t *p, size_t i, size_t n, uint32_t top,
				     const uint64_t *filter);

ri_words_top_function *ri_words_top_finder(void);

static inline uint64_t ri_words_load(const uint8_t *p, size_t i)
{
	uint64_t word;

	memcpy(&word, p + i * sizeof(word), sizeof(word));
	return word;
}

#endif
