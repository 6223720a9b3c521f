/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of memory and registers that lie in a range of values: who points there, before
 * anything is known of objects, blocks or types.
 */
#ifndef RI_CENSUS_FOUND_WORDS_H
#define RI_CENSUS_FOUND_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "target/target.h"

struct ri_found_word {
	uint64_t addr;           /* of the word; of a register, its index (ri_regions_register()) */
	uint64_t value;
	uint32_t thread;         /* index into target->threads[] of a register's; else UINT32_MAX */
};

typedef RI_VEC(struct ri_found_word) ri_found_word_list;

/* So many are kept in all; what has more is no address but a common value. */
#define RI_FOUND_WORDS_MAX (1u << 20)

/*
 * Appends the aligned 8-byte words of all memory with bytes whose value lies in [low, low +
 * span), ascending by address, and then the registers.  Code that comes from a file is left
 * out.  False where there are more than RI_FOUND_WORDS_MAX: `list` is then empty.  The same
 * list for any number of threads (at least 1).
 */
bool ri_found_words_list(const struct ri_target *target, uint64_t low, uint64_t span,
			 unsigned thread_count, ri_found_word_list *list);

#endif
