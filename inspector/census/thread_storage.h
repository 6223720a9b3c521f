/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thread-local storage that lies in blocks of the heap: that of modules which were
 * loaded while the program ran.  Private to census/.
 */
#ifndef RI_CENSUS_THREAD_STORAGE_H
#define RI_CENSUS_THREAD_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "debug/tls.h"
#include "heap/heap.h"

struct ri_storage_block {
	uint32_t block;          /* index into heap->blocks[], used */
	uint32_t thread;
};

/* Ascending by block, each once. */
typedef RI_VEC(struct ri_storage_block) ri_storage_block_list;

/* Appends the used blocks that the storage of `tls` lies in. */
void ri_storage_blocks_find(const struct ri_heap *heap, const struct ri_tls_block *tls,
			    size_t tls_count, ri_storage_block_list *list);

/* Whether `block` is one of them. */
bool ri_storage_blocks_has(const ri_storage_block_list *list, uint32_t block);

#endif
