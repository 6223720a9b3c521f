/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks: what an allocator handed out, from the allocator's own records as
 * they lie in the image.  Says for an address whether it lies in a used or a
 * freed block and where that block begins and ends.
 *
 * An allocator is one file that offers a `struct ri_allocator` (allocators.c
 * has the table).  A damaged record stops the walk of its arena only: the
 * walk looks for the next record from which the rest fits, the range between
 * is UNKNOWN, and the damage is listed.
 */
#ifndef RI_HEAP_HEAP_H
#define RI_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "debug/modules.h"
#include "target/target.h"

#define RI_NONE UINT32_MAX /* "no such index" for every 32-bit index of the library */

enum ri_block_state {
	RI_BLOCK_USED,
	RI_BLOCK_FREE,      /* binned, in a tcache or fastbin, or the top chunk */
	RI_BLOCK_UNKNOWN,   /* a range that the walk could not read */
	RI_BLOCK_RECORD,    /* the allocator's own: tcache, arena header; holds nothing */
};

/* User bytes [addr, addr + size_bytes); blocks ascend and do not overlap. */
struct ri_block {
	uint64_t addr;
	uint64_t size_bytes : 56; /* usable size */
	uint64_t state : 8;       /* enum ri_block_state */
};

/* Memory that an allocator manages: words there count only inside used blocks. */
struct ri_heap_region {
	uint64_t start, end;      /* [start, end) */
	const char *allocator;    /* static text, "glibc" */
	bool is_understood;       /* false: the mapping looks like a heap but was not walked */
};

struct ri_heap_damage {
	uint64_t addr;            /* of the record (glibc: the chunk header) */
	uint64_t neighbour;       /* the record before it, 0: none */
	const char *what;         /* static text: what is wrong with it */
};

struct ri_heap {
	struct ri_block *blocks;  /* in address order over all regions */
	size_t block_count;
	struct ri_heap_region *regions; /* ascending, not overlapping */
	size_t region_count;
	struct ri_heap_damage *damages;
	size_t damage_count;
	const char *allocator;    /* "glibc 64-bit", "unknown"; static text */
	uint64_t used_count, used_bytes, free_count, free_bytes;
	uint64_t arena_count;
	uint64_t wrapper_bytes;   /* of the program's own header in front of most blocks, which
				   * are taken without it; 0: none */
	/* An allocator other than those understood serves this target: what rests on
	 * liveness cannot be checked.  Says which and how it was noticed, or null. */
	const char *foreign_allocator;

	/* index over blocks[]; see ri_heap_find() */
	struct ri_span_index *index;
};

/* Walks every allocator's records.  Never fails: what is not understood is in
 * the gaps and in `foreign_allocator`. */
struct ri_heap *ri_heap_create(const struct ri_target *target, const struct ri_modules *modules,
			       struct ri_gaps *gaps);
void ri_heap_destroy(struct ri_heap *heap);

/* Index of the block whose user bytes contain `addr`, or RI_NONE. */
uint32_t ri_heap_find(const struct ri_heap *heap, uint64_t addr);

/* The region of an allocator that contains `addr`, or null. */
const struct ri_heap_region *ri_heap_find_region(const struct ri_heap *heap, uint64_t addr);

struct ri_heap_builder;

/* One allocator: `walk` finds its regions and adds blocks, regions and damages to
 * `builder` (in any order; ri_heap_create() sorts). */
struct ri_allocator {
	const char *name;
	void (*walk)(const struct ri_target *target, const struct ri_modules *modules,
		     struct ri_gaps *gaps, struct ri_heap_builder *builder);
};

/* What an allocator's walk function may call. */
void ri_heap_builder_add_block(struct ri_heap_builder *builder, uint64_t addr,
			       uint64_t size_bytes, enum ri_block_state state);
void ri_heap_builder_add_region(struct ri_heap_builder *builder, uint64_t start, uint64_t end,
				const char *allocator, bool is_understood);
void ri_heap_builder_add_damage(struct ri_heap_builder *builder, uint64_t addr,
				uint64_t neighbour, const char *what);

extern const struct ri_allocator ri_allocator_glibc;
extern const struct ri_allocator ri_allocator_pymalloc;
extern const struct ri_allocator ri_allocator_guarded;

#endif
