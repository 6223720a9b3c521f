/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to the glibc walker: what its files pass to one another.
 *
 *   glibc.c        what is walked, in which order; arenas, mappings, gaps
 *   glibc_state.c  finds malloc_state and heap_info records by their shape
 *   glibc_walk.c   walks the chunks of one span of memory, past damage
 *   glibc_mmap.c   finds blocks that have a mapping of their own
 *   glibc_free.c   takes what lies in tcaches and fastbins as free, checks bins
 *   glibc_tcache.c recognises the tcaches
 *
 * Formats: malloc/malloc.c and malloc/arena.c of glibc 2.26 and later, 64-bit.
 * A chunk begins with the size of the chunk before it (only where that one is
 * free; else the word is its user's) and its own size, whose low bits are
 * flags; user memory follows.  Sizes are multiples of 16, at least 32.
 */
#ifndef RI_HEAP_GLIBC_H
#define RI_HEAP_GLIBC_H

#include "base/memory.h"
#include "heap/heap_builder.h"
#include "heap/reader.h"

#define RI_CHUNK_PREV_INUSE 1u
#define RI_CHUNK_MMAPPED 2u
#define RI_CHUNK_NON_MAIN 4u
#define RI_CHUNK_FLAGS 7u
#define RI_CHUNK_SIZE_MIN 32u
#define RI_CHUNK_ALIGN 16u
#define RI_CHUNK_USER 16u        /* from a chunk to its user memory */
#define RI_CHUNK_FENCE 16u       /* size of the marker at the end of memory that was left */
#define RI_PAGE_BYTES 4096u

/* bins[] of malloc_state is the one part that no version moved against the
 * members around it; these are offsets from bins[0]. */
#define RI_STATE_FASTBINS (-0x60)
#define RI_STATE_TOP (-0x10)
#define RI_STATE_NEXT 0x800
#define RI_STATE_SYSTEM_MEM 0x818
#define RI_STATE_MAX_SYSTEM_MEM 0x820
#define RI_STATE_END 0x828
#define RI_BIN_COUNT 127u
#define RI_FASTBIN_COUNT 10u
#define RI_SMALL_CLASS_COUNT 64u /* tcache lists; chunk sizes 32 + 16 * class */

struct ri_glibc_arena {
	uint64_t state;          /* its malloc_state */
	uint64_t bins;           /* bins[0] in it */
	uint64_t top;            /* chunk; 0: none yet, or not to be trusted */
	uint64_t system_mem;     /* bytes got from the system, as it says itself */
	bool is_main;            /* memory from brk, no heap_info */
	bool is_noncontiguous;   /* brk failed once: pieces anywhere */
	bool is_locked;          /* stood in an allocation when the image was taken */
};

/* Memory in which chunks lie one behind the other. */
struct ri_glibc_span {
	uint64_t start;          /* including the heap_info, where there is one */
	uint64_t first;          /* where chunks begin */
	uint64_t end;
	uint32_t arena;
};

/* One walk: what it was given, and what its stages have found so far. */
struct ri_glibc {
	const struct ri_target *target;
	const struct ri_modules *modules; /* may be null */
	struct ri_gaps *gaps;
	struct ri_heap_builder *builder;
	struct ri_reader reader;
	/* heap arenas first, ascending by state (heap_arena_count), then main ones */
	RI_VEC(struct ri_glibc_arena) arenas;
	size_t heap_arena_count;
	RI_VEC(struct ri_glibc_span) spans; /* ascending, not overlapping */
	uint64_t unreadable;     /* chunk headers that the image lacks */
	uint64_t in_flux;        /* damages of an arena that was locked in a live process */
};

/* Finds all arenas, and as spans the heaps of those with heap_info. */
void ri_glibc_find_arenas(struct ri_glibc *glibc);

/* Adds a span, in its place among the others, unless it is empty or overlaps one
 * that is known. */
void ri_glibc_add_span(struct ri_glibc *glibc, const struct ri_glibc_span *span);

/* Index of the first of `count` ascending ranges that ends behind `addr`; `count` if none does. */
size_t ri_glibc_first_range(const struct ri_range *ranges, size_t count, uint64_t addr);

/* Adjoining anonymous private writable ranges around `addr`, with or without
 * bytes; false if `addr` is not in such a range. */
bool ri_glibc_extent(const struct ri_image *image, uint64_t addr, uint64_t *ret_start,
		     uint64_t *ret_end);

/* Lists a damage of `arena`, or counts it as in flux. */
void ri_glibc_damage(struct ri_glibc *glibc, const struct ri_glibc_arena *arena, uint64_t addr,
		     uint64_t neighbour, const char *what);

/*
 * Walks the chunks of `span` and adds their blocks and regions.  Memory behind
 * an end marker that holds no chunks (someone else's brk) is left out.
 */
void ri_glibc_walk_span(struct ri_glibc *glibc, const struct ri_glibc_span *span);

/*
 * Whether chunks that fit together begin at `addr` and go on for some chunks or
 * to the top or the end of the span.
 */
bool ri_glibc_is_run(struct ri_glibc *glibc, const struct ri_glibc_span *span, uint64_t addr);

/*
 * Where the chunks that begin at `addr` end: at the arena's top chunk or behind
 * an end marker, [addr, *ret_end); false if they meet anything else before
 * `limit`.  Adds to `*steps` what it cost.
 */
bool ri_glibc_measure_piece(struct ri_glibc *glibc, uint32_t arena, uint64_t addr,
			    uint64_t limit, uint64_t *steps, uint64_t *ret_end);

/* Finds blocks with a mapping of their own outside the spans; adds them. */
void ri_glibc_walk_mmapped(struct ri_glibc *glibc);

/* Marks as free what the free lists hold; checks them.  Seals the builder. */
void ri_glibc_mark_free(struct ri_glibc *glibc);

#endif
