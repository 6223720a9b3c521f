/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread-local storage in heap blocks: see thread_storage.h.  One look-up per copy. */
#include "census/thread_storage.h"

#include <stdlib.h>

static int compare_blocks(const void *a, const void *b)
{
	const struct ri_storage_block *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void ri_storage_blocks_find(const struct ri_heap *heap, const struct ri_tls_block *tls,
			    size_t tls_count, ri_storage_block_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < tls_count; i++) {
		uint32_t block = ri_heap_find(heap, tls[i].start);

		if (block != RI_NONE && heap->blocks[block].state == RI_BLOCK_USED)
			*ri_push(list) = (struct ri_storage_block){ block, tls[i].thread };
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_blocks);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || list->items[kept - 1].block != list->items[i].block)
			list->items[kept++] = list->items[i];
	list->count = kept;
}

bool ri_storage_blocks_has(const ri_storage_block_list *list, uint32_t block)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && list->items[low].block == block;
}
