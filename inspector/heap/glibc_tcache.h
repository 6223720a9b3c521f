/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to the glibc walker: the per-thread caches of freed chunks.
 */
#ifndef RI_HEAP_GLIBC_TCACHE_H
#define RI_HEAP_GLIBC_TCACHE_H

#include "heap/glibc.h"

#define RI_TCACHE_LISTS_MAX 76u  /* 64 of one size each, 12 of large ones (2.42) */

/* One thread's cache, read from its block. */
struct ri_tcache {
	uint32_t block;          /* index of its block */
	unsigned list_count;
	uint32_t counts[RI_TCACHE_LISTS_MAX];  /* chunks on each list */
	uint64_t entries[RI_TCACHE_LISTS_MAX]; /* user address of the first, or 0 */
};

/*
 * Reads the block `block` (its index) as a tcache.  False where it cannot be one,
 * or holds no chunk, so that nothing tells it from zeroed memory.
 */
bool ri_tcache_read(const struct ri_glibc *glibc, uint32_t block, struct ri_tcache *ret);

/* The chunk size of list `list`, or 0 where sizes on it vary. */
uint64_t ri_tcache_chunk_size(unsigned list);

#endif
