/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks the chunks of one span of an arena's memory.
 *
 * Each chunk's size leads to the next one, whose PREV_INUSE flag says whether
 * the first is in use.  The walk is right as long as every header that it meets
 * can be one; where one cannot, either it was overwritten, or the size of the
 * chunk before it was and led astray.  Two questions settle which:
 *
 *  1. Does a run of fitting chunks begin inside the chunk before, and pass over
 *     the bad header without meeting it?  Then that chunk's size is wrong.  (Old
 *     headers in reused memory make runs too, but those end on the boundary that
 *     they always shared with the bad header, not beyond it.)
 *  2. Else the header itself is bad, and the walk goes on at the next address
 *     from which a run of fitting chunks follows.
 *
 * The range between is UNKNOWN.  A header that the image lacks is a gap, not
 * damage; the search for the next run is the same.
 *
 * Memory that brk gave to someone else ends an arena's chunks with a marker: two
 * headers of 16 bytes (in heaps with heap_info: one of 16, one of 0).
 *
 * Cost: one load per chunk; after damage, RUN_CHUNKS loads per 16 bytes until
 * the next run; searches inside chunks are limited in sum to a small multiple of
 * the span.  Blind spot: a wrong size that leads to another true header passes
 * unless the free lists name a chunk in between.
 */
#include <stdlib.h>

#include "heap/glibc.h"

#define RUN_CHUNKS 8
#define INTERIOR_FACTOR 4

struct walk {
	struct ri_glibc *glibc;
	const struct ri_glibc_span *span;
	const struct ri_glibc_arena *arena;
	uint64_t top;            /* in this span, else 0 */
	uint64_t limit;          /* no chunk but top passes it */
	uint64_t forbidden;      /* flags that no header here has */
	uint64_t prev, before;   /* the last chunk of the run, and the one before; 0: none */
	uint64_t prev_word;
	uint64_t interior_budget; /* bytes */
};

static void walk_init(struct walk *walk, struct ri_glibc *glibc, const struct ri_glibc_span *span)
{
	const struct ri_glibc_arena *arena = &glibc->arenas.items[span->arena];
	bool has_top = arena->top >= span->first && arena->top < span->end;

	*walk = (struct walk){
		.glibc = glibc,
		.span = span,
		.arena = arena,
		.top = has_top ? arena->top : 0,
		.limit = has_top ? arena->top : span->end,
		.forbidden = 8u | RI_CHUNK_MMAPPED | (arena->is_main ? RI_CHUNK_NON_MAIN : 0),
		.interior_budget = (span->end - span->start) * INTERIOR_FACTOR,
	};
}

static uint64_t size_of(uint64_t word)
{
	return word & ~(uint64_t)RI_CHUNK_FLAGS;
}

/* Whether a chunk at `addr` can have the size word `word`. */
static inline bool is_plausible(const struct walk *walk, uint64_t addr, uint64_t word)
{
	return !(word & walk->forbidden) && size_of(word) >= RI_CHUNK_SIZE_MIN &&
	       size_of(word) <= walk->limit - addr;
}

static inline bool read_word(struct walk *walk, uint64_t addr, uint64_t *ret)
{
	return ri_reader_u64(&walk->glibc->reader, addr, ret);
}

/* Whether an end marker stands at `addr`, whose size word is `word`. */
static bool is_fence(struct walk *walk, uint64_t addr, uint64_t word)
{
	uint64_t next;

	if (word & walk->forbidden)
		return false;
	if (size_of(word) == 0)
		return !walk->arena->is_main && walk->span->end - addr <= RI_CHUNK_SIZE_MIN;
	if (size_of(word) != RI_CHUNK_FENCE ||
	    !read_word(walk, addr + RI_CHUNK_FENCE + 8, &next) || !(next & RI_CHUNK_PREV_INUSE))
		return false;
	return walk->arena->is_main ? size_of(next) == RI_CHUNK_FENCE : size_of(next) == 0;
}

/* The first address behind the marker at `addr`. */
static uint64_t fence_end(struct walk *walk, uint64_t addr)
{
	uint64_t word, end = addr + RI_CHUNK_FENCE;

	while (end < walk->span->end && read_word(walk, end + 8, &word) &&
	       size_of(word) <= RI_CHUNK_FENCE && end - addr < 3 * RI_CHUNK_FENCE &&
	       (word & RI_CHUNK_PREV_INUSE))
		end += RI_CHUNK_FENCE;
	return end;
}

/* Goes from a chunk with the size word `word` to the next one where both fit
 * together; false where they do not. */
static bool step_run(struct walk *walk, uint64_t *addr, uint64_t *word)
{
	uint64_t size = size_of(*word), next = *addr + size, next_word, prev_size;

	if (!is_plausible(walk, *addr, *word))
		return false;
	if (next == walk->span->end) {
		*addr = next;
		return true;
	}
	if (!read_word(walk, next + 8, &next_word))
		return false;
	if (!(next_word & RI_CHUNK_PREV_INUSE)) {
		if (!read_word(walk, next, &prev_size) || prev_size != size)
			return false;
	} else if (!walk->arena->is_main && !(*word & RI_CHUNK_NON_MAIN) &&
		   !is_fence(walk, next, next_word)) {
		return false;
	}
	*addr = next;
	*word = next_word;
	return true;
}

static bool is_run(struct walk *walk, uint64_t addr)
{
	uint64_t word;

	if (addr == walk->top || addr >= walk->limit || !read_word(walk, addr + 8, &word))
		return walk->top && addr == walk->top;
	for (unsigned i = 0; i < RUN_CHUNKS; i++) {
		if (!step_run(walk, &addr, &word))
			return i > 0 && is_fence(walk, addr, word);
		if (addr == walk->top || addr == walk->span->end)
			return true;
	}
	return true;
}

bool ri_glibc_is_run(struct ri_glibc *glibc, const struct ri_glibc_span *span, uint64_t addr)
{
	struct walk walk;

	walk_init(&walk, glibc, span);
	return is_run(&walk, addr);
}

/* The next address at or behind `addr` that has bytes, or the span's end. */
static uint64_t next_readable(struct walk *walk, uint64_t addr)
{
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(walk->glibc->target->image, &count);
	size_t low = ri_glibc_first_range(ranges, count, addr);

	while (low < count && !ranges[low].bytes && ranges[low].start < walk->span->end)
		low++;
	if (low == count || ranges[low].start >= walk->span->end)
		return walk->span->end;
	return ranges[low].start > addr ? ranges[low].start : addr;
}

/* The first chunk at or behind `addr` that begins a run; top or the end of the
 * span if there is none. */
static uint64_t find_run(struct walk *walk, uint64_t addr)
{
	uint64_t word;

	addr = (addr + RI_CHUNK_ALIGN - 1) & ~(uint64_t)(RI_CHUNK_ALIGN - 1);
	while (addr < walk->limit) {
		if (!read_word(walk, addr + 8, &word)) {
			uint64_t next = next_readable(walk, addr + RI_CHUNK_ALIGN);

			addr = (next + RI_CHUNK_ALIGN - 1) & ~(uint64_t)(RI_CHUNK_ALIGN - 1);
			continue;
		}
		if (is_plausible(walk, addr, word) && is_run(walk, addr))
			return addr;
		addr += RI_CHUNK_ALIGN;
	}
	return walk->top ? walk->top : walk->span->end;
}

/*
 * Follows the run from `addr`, inside the chunk before `bad`, until it passes
 * over `bad` and goes on behind it.  `visited` has a bit for each place in
 * [base, bad): a run that was followed before is not followed again.
 */
static bool crosses(struct walk *walk, uint64_t addr, uint64_t bad, uint64_t base,
		    uint64_t *visited)
{
	uint64_t word;

	if (!read_word(walk, addr + 8, &word))
		return false;
	while (addr < bad) {
		uint64_t place = (addr - base) / RI_CHUNK_ALIGN;

		if (visited[place / 64] >> place % 64 & 1)
			return false;
		visited[place / 64] |= 1ull << place % 64;
		if (!step_run(walk, &addr, &word))
			return false;
	}
	return addr != bad && is_run(walk, addr);
}

/* The first run inside the chunk `prev` that passes over `bad`, or 0. */
static uint64_t find_crossing(struct walk *walk, uint64_t prev, uint64_t bad)
{
	uint64_t size = bad - prev, found = 0;
	uint64_t *visited;

	if (size <= RI_CHUNK_SIZE_MIN || size > walk->interior_budget)
		return 0;
	walk->interior_budget -= size;
	visited = ri_calloc(size / RI_CHUNK_ALIGN / 64 + 1, sizeof(*visited));
	for (uint64_t addr = prev + RI_CHUNK_SIZE_MIN; addr < bad && !found; addr += RI_CHUNK_ALIGN)
		if (crosses(walk, addr, bad, prev, visited))
			found = addr;
	free(visited);
	return found;
}

/* The block that was added last. */
static struct ri_block *last_block(struct walk *walk)
{
	struct ri_heap *heap = walk->glibc->builder->heap;

	return &heap->blocks[heap->block_count - 1];
}

/* Whether `chunk` is linked into a bin: both neighbours point back at it. */
static bool is_binned(struct walk *walk, uint64_t chunk)
{
	uint64_t next, prev, back, forward;

	return read_word(walk, chunk + 16, &next) && read_word(walk, chunk + 24, &prev) &&
	       read_word(walk, next + 24, &back) && read_word(walk, prev + 16, &forward) &&
	       back == chunk && forward == chunk;
}

enum stop {
	STOP_TOP,
	STOP_END,        /* of the span */
	STOP_FENCE,
	STOP_BAD,        /* a header that cannot be one */
	STOP_UNREADABLE, /* a header without bytes */
};

/* The size that stands behind a free chunk must be its own. */
static void check_free(struct walk *walk, uint64_t addr, uint64_t next, uint64_t next_word)
{
	uint64_t prev_size;

	if (next != walk->top && !is_plausible(walk, next, next_word) &&
	    !is_fence(walk, next, next_word))
		return; /* the walk stops there anyway */
	if (read_word(walk, next, &prev_size) && prev_size != next - addr)
		ri_glibc_damage(walk->glibc, walk->arena, next, addr,
				"the size of the free chunk before differs from what stands here");
}

/* Adds blocks from the chunk `*addr` on; `*addr` becomes where it stopped. */
static enum stop walk_run(struct walk *walk, uint64_t *ret_addr)
{
	struct ri_heap_builder *builder = walk->glibc->builder;
	uint64_t addr = *ret_addr, word, next, next_word;
	enum stop stop;

	walk->prev = walk->before = 0;
	if (!read_word(walk, addr + 8, &word))
		return STOP_UNREADABLE;
	for (;;) {
		enum ri_block_state state = RI_BLOCK_USED;

		if (!is_plausible(walk, addr, word)) {
			stop = addr == walk->top && walk->top ? STOP_TOP :
			       is_fence(walk, addr, word)     ? STOP_FENCE :
								STOP_BAD;
			break;
		}
		next = addr + size_of(word);
		stop = STOP_END;
		if (next != walk->span->end) {
			stop = STOP_UNREADABLE;
			if (read_word(walk, next + 8, &next_word)) {
				stop = STOP_BAD;
				if (!(next_word & RI_CHUNK_PREV_INUSE)) {
					state = RI_BLOCK_FREE;
					check_free(walk, addr, next, next_word);
				}
			}
		}
		ri_heap_builder_add_block(builder, addr + RI_CHUNK_USER, next - addr - 8, state);
		walk->before = walk->prev;
		walk->prev = addr;
		walk->prev_word = word;
		addr = next;
		if (stop != STOP_BAD)
			break;
		word = next_word;
	}
	*ret_addr = addr;
	return stop;
}

/* Adds [chunk, next) as one block that could not be read. */
static void add_unknown(struct walk *walk, uint64_t chunk, uint64_t next)
{
	if (next - chunk > RI_CHUNK_USER)
		ri_heap_builder_add_block(walk->glibc->builder, chunk + RI_CHUNK_USER,
					  next - chunk - RI_CHUNK_USER, RI_BLOCK_UNKNOWN);
}

/* Deals with the bad header at `bad`; returns where the walk goes on. */
static uint64_t pass_damage(struct walk *walk, uint64_t bad)
{
	struct ri_glibc *glibc = walk->glibc;
	uint64_t next;

	if (walk->prev) {
		next = find_crossing(walk, walk->prev, bad);
		if (next) {
			last_block(walk)->state = RI_BLOCK_UNKNOWN;
			last_block(walk)->size_bytes = next - walk->prev - RI_CHUNK_USER;
			ri_glibc_damage(glibc, walk->arena, walk->prev, walk->before,
					"a chunk's size does not lead to the next chunk");
			return next;
		}
		/* The flag that tells its state lies in the bad header. */
		last_block(walk)->state = is_binned(walk, walk->prev) ? RI_BLOCK_FREE :
									RI_BLOCK_USED;
	}
	ri_glibc_damage(glibc, walk->arena, bad, walk->prev,
			"a chunk header is overwritten");
	next = find_run(walk, bad + RI_CHUNK_ALIGN);
	add_unknown(walk, bad, next);
	return next;
}

/* What lies behind an end marker: more chunks after memory of someone else, or
 * nothing.  Ends the region and returns where the next begins, or the end. */
static uint64_t pass_fence(struct walk *walk, uint64_t addr, uint64_t *region_start)
{
	uint64_t end = fence_end(walk, addr), next;

	/* What is left of a top chunk that was too small to be freed. */
	if (!walk->arena->is_main && walk->prev && !(walk->prev_word & RI_CHUNK_NON_MAIN) &&
	    last_block(walk)->state == RI_BLOCK_USED)
		last_block(walk)->state = RI_BLOCK_RECORD;
	next = end < walk->span->end ? find_run(walk, end) : walk->span->end;
	ri_heap_builder_add_region(walk->glibc->builder, *region_start, end, "glibc", true);
	*region_start = next;
	return next;
}

static void walk_from(struct walk *walk, uint64_t addr)
{
	struct ri_heap_builder *builder = walk->glibc->builder;
	uint64_t region_start = walk->span->start, end = walk->span->end, next;

	while (addr < end) {
		enum stop stop = walk_run(walk, &addr);

		switch (stop) {
		case STOP_TOP:
			ri_heap_builder_add_block(builder, addr + RI_CHUNK_USER,
						  end - addr - RI_CHUNK_USER, RI_BLOCK_FREE);
			addr = end;
			break;
		case STOP_END:
			break;
		case STOP_FENCE:
			addr = pass_fence(walk, addr, &region_start);
			break;
		case STOP_BAD:
			addr = pass_damage(walk, addr);
			break;
		case STOP_UNREADABLE:
			walk->glibc->unreadable++;
			if (addr == walk->top && walk->top) {
				next = end;
			} else {
				next = find_run(walk, addr + RI_CHUNK_ALIGN);
			}
			add_unknown(walk, addr, next);
			addr = next;
			break;
		}
	}
	ri_heap_builder_add_region(builder, region_start, end, "glibc", true);
}

void ri_glibc_walk_span(struct ri_glibc *glibc, const struct ri_glibc_span *span)
{
	struct walk walk;

	walk_init(&walk, glibc, span);
	if (span->first > span->start)
		ri_heap_builder_add_block(glibc->builder, span->start, span->first - span->start,
					  RI_BLOCK_RECORD);
	walk_from(&walk, span->first);
}

bool ri_glibc_measure_piece(struct ri_glibc *glibc, uint32_t arena, uint64_t addr, uint64_t limit,
			    uint64_t *steps, uint64_t *ret_end)
{
	struct ri_glibc_span span = { addr, addr, limit, arena };
	struct walk walk;
	uint64_t word;

	walk_init(&walk, glibc, &span);
	if (!read_word(&walk, addr + 8, &word))
		return false;
	while (addr < limit) {
		(*steps)++;
		if (addr == walk.top && walk.top) {
			*ret_end = addr + size_of(word);
			return *ret_end > addr && *ret_end <= limit;
		}
		if (is_fence(&walk, addr, word)) {
			*ret_end = fence_end(&walk, addr);
			return addr > span.first;
		}
		if (!step_run(&walk, &addr, &word))
			return false;
	}
	return false;
}
