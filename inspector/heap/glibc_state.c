/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds glibc's arenas without being told where they are.
 *
 * An arena is recognised by bins[], 127 list heads behind one another that are
 * empty (both words point 16 bytes before themselves) or point at chunks that
 * point back.  The distance from the start of malloc_state to bins[] differs
 * between versions; it is found from `next`, which leads round a ring of states
 * back to its start.
 *
 *  - The main arena lies in initialised data of libc, or of a static executable:
 *    file-backed writable ranges are searched first, anonymous ones where that
 *    gave nothing.  A symbol `main_arena` is one more place to look, with less
 *    demanded of the bins.  Where that gives nothing either, bins of which few are
 *    empty are looked for.
 *  - Every other arena lies behind a heap_info at the start of its first heap, at
 *    an address that is a multiple of the largest heap size: 64 MiB, or four huge
 *    pages.  All multiples of 8 MiB in anonymous memory are looked at.
 *  - States that are reached over `next` alone (their heap_info is damaged) are
 *    taken too.
 *
 * Cost: one comparison per word of the file-backed writable data, and one look at
 * each multiple of 8 MiB.  Blind spots: an arena most of whose bins were
 * overwritten; later heaps of an arena whose heap_info was.
 */
#include <stdlib.h>

#include "heap/glibc.h"

#define HEAP_STEP (8ull << 20)
#define HEAP_DEFAULT_MAX (64ull << 20)
#define HEAP_LARGEST (4ull << 30)
#define ARENAS_MAX 16384u
#define MAIN_ARENAS_MAX 16u
#define FAILED_SHAPES_MAX 4096u
#define GOOD_BINS_MIN 119u
#define GOOD_BINS_MIN_NAMED 64u
#define EMPTY_BINS_MIN 8u
#define LINKED_BINS_MIN 8u
#define BIN_BYTES 16u

/* Distances from malloc_state to bins[]: 2.27 to 2.42, 2.26, 2.43 (no fastbins),
 * then others that a later version may have. */
static const uint64_t known_heads[] = { 0x70, 0x68, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40,
					0x48, 0x50, 0x58, 0x60, 0x78, 0x80, 0x88, 0x90 };

#define HEAD_COUNT (sizeof(known_heads) / sizeof(known_heads[0]))

static bool read_word(struct ri_glibc *glibc, uint64_t addr, uint64_t *ret)
{
	return ri_reader_u64(&glibc->reader, addr, ret);
}

enum bin { BIN_BAD, BIN_LINKED, BIN_EMPTY };

/* What the two words at `addr`, taken for a bin, look like. */
static enum bin look_at_bin(const struct ri_image *image, uint64_t addr)
{
	uint64_t links[2], back, forward, header = addr - BIN_BYTES;

	if (!ri_image_read(image, addr, links, sizeof(links)))
		return BIN_BAD;
	if (links[0] == header && links[1] == header)
		return BIN_EMPTY;
	if (!links[0] || !links[1] || (links[0] | links[1]) % RI_CHUNK_ALIGN)
		return BIN_BAD;
	if (!ri_image_read_u64(image, links[0] + 24, &back) ||
	    !ri_image_read_u64(image, links[1] + 16, &forward))
		return BIN_BAD;
	return back == header && forward == header ? BIN_LINKED : BIN_BAD;
}

/* Whether the members behind and before bins[] can be what they should be. */
static bool has_state_members(struct ri_glibc *glibc, uint64_t bins)
{
	uint64_t top, next, system_mem, max_system_mem;

	if (!read_word(glibc, bins + (uint64_t)RI_STATE_TOP, &top) ||
	    !read_word(glibc, bins + RI_STATE_NEXT, &next) ||
	    !read_word(glibc, bins + RI_STATE_SYSTEM_MEM, &system_mem) ||
	    !read_word(glibc, bins + RI_STATE_MAX_SYSTEM_MEM, &max_system_mem))
		return false;
	return top % 8 == 0 && top && next && next % 8 == 0 &&
	       ri_image_find(glibc->target->image, next) && system_mem <= max_system_mem;
}

/* How many of the RI_BIN_COUNT bins at `bins` look like one; 0 where it is fewer
 * than `good_min` or the members around them do not fit. */
static unsigned count_good_bins(struct ri_glibc *glibc, uint64_t bins, unsigned good_min)
{
	unsigned good = 0;

	if (!has_state_members(glibc, bins))
		return 0;
	for (unsigned i = 0; i < RI_BIN_COUNT; i++) {
		good += look_at_bin(glibc->target->image, bins + i * BIN_BYTES) != BIN_BAD;
		if (good + (RI_BIN_COUNT - 1 - i) < good_min)
			return 0;
	}
	return good;
}

/* The distance from the malloc_state at `state` to its bins[]; 0: there is none. */
static uint64_t find_head_at(struct ri_glibc *glibc, uint64_t state)
{
	unsigned best_good = 0;
	uint64_t best = 0;

	/* One bin more or less leaves most of them in their places. */
	for (size_t i = 0; i < HEAD_COUNT; i++) {
		unsigned good = count_good_bins(glibc, state + known_heads[i], GOOD_BINS_MIN);

		if (good > best_good) {
			best_good = good;
			best = known_heads[i];
		}
	}
	return best;
}

/* The distance from its start to `bins`, from where `next` leads. */
static uint64_t find_head(struct ri_glibc *glibc, uint64_t bins)
{
	uint64_t next, head;

	if (!read_word(glibc, bins + RI_STATE_NEXT, &next))
		return known_heads[0];
	for (size_t i = 0; i < HEAD_COUNT; i++)
		if (next == bins - known_heads[i])
			return known_heads[i];
	head = find_head_at(glibc, next);
	return head ? head : known_heads[0];
}

/* Appends the arena whose bins are at `bins`. */
static struct ri_glibc_arena *add_arena(struct ri_glibc *glibc, uint64_t state, uint64_t bins,
					bool is_main)
{
	struct ri_glibc_arena *arena = ri_push(&glibc->arenas);
	uint32_t words[2] = { 0, 0 };

	arena->state = state;
	arena->bins = bins;
	arena->is_main = is_main;
	(void)read_word(glibc, bins + (uint64_t)RI_STATE_TOP, &arena->top);
	(void)read_word(glibc, bins + RI_STATE_SYSTEM_MEM, &arena->system_mem);
	if (ri_image_read(glibc->target->image, state, words, sizeof(words))) {
		arena->is_locked = words[0] != 0;
		arena->is_noncontiguous = is_main && (words[1] & 2);
	}
	/* As initialised: the top chunk is the first bin itself. */
	if (arena->top == bins - BIN_BYTES)
		arena->top = 0;
	return arena;
}

/* Where the bins[] begin that the bin at `addr` is one of, by which of the possible
 * places has the most good bins; 0: none has enough. */
static uint64_t find_bins_around(struct ri_glibc *glibc, uint64_t addr)
{
	enum { WINDOW = 2 * RI_BIN_COUNT - 1 };
	uint64_t first = addr - (RI_BIN_COUNT - 1) * BIN_BYTES, best = 0;
	unsigned good_before[WINDOW + 1], best_good = GOOD_BINS_MIN - 1;

	good_before[0] = 0;
	for (unsigned i = 0; i < WINDOW; i++)
		good_before[i + 1] =
			good_before[i] +
			(look_at_bin(glibc->target->image, first + i * BIN_BYTES) != BIN_BAD);
	for (unsigned i = 0; i < RI_BIN_COUNT; i++) {
		unsigned good = good_before[i + RI_BIN_COUNT] - good_before[i];

		if (good > best_good && has_state_members(glibc, first + i * BIN_BYTES)) {
			best_good = good;
			best = first + i * BIN_BYTES;
		}
	}
	return best;
}

/* Number of empty bins among the RI_BIN_COUNT places that begin at `p`. */
static unsigned count_empty(const uint8_t *p, const uint8_t *end, uint64_t addr)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < RI_BIN_COUNT && p + BIN_BYTES <= end; i++) {
		uint64_t links[2];

		memcpy(links, p, sizeof(links));
		empty += links[0] == addr - BIN_BYTES && links[1] == addr - BIN_BYTES;
		p += BIN_BYTES;
		addr += BIN_BYTES;
	}
	return empty;
}

static bool is_known_bins(const struct ri_glibc *glibc, uint64_t bins)
{
	for (size_t i = 0; i < glibc->arenas.count; i++)
		if (glibc->arenas.items[i].bins == bins)
			return true;
	return false;
}

/* Whether bins[] may begin or go on at `addr`, for which `p` stands: the bin there is empty, and
 * so are some behind it.  Where few are, as in a heap that has been at work for long
 * (`is_full`), bins that lead to chunks do as well. */
static bool may_be_bins(struct ri_glibc *glibc, const uint8_t *p, const uint8_t *end, uint64_t addr,
			bool is_full)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	if (word == addr - BIN_BYTES)
		return count_empty(p, end, addr) >= (is_full ? 1 : EMPTY_BINS_MIN);
	for (unsigned i = 0; is_full && i < LINKED_BINS_MIN; i++)
		if (look_at_bin(glibc->target->image, addr + i * BIN_BYTES) != BIN_LINKED)
			return false;
	return is_full;
}

/* Searches one range for bins[]; adds what it finds as main arenas. */
static void search_range(struct ri_glibc *glibc, const struct ri_range *range, bool is_full,
			 unsigned *failures)
{
	uint64_t addr = (range->start + 7) & ~7ull;

	while (addr < range->end && range->end - addr >= BIN_BYTES) {
		const uint8_t *p = range->bytes + (addr - range->start);
		const uint8_t *end = range->bytes + (range->end - range->start);
		uint64_t bins;

		if (!may_be_bins(glibc, p, end, addr, is_full)) {
			addr += 8;
			continue;
		}
		bins = find_bins_around(glibc, addr);
		if (!bins) {
			if (++*failures > FAILED_SHAPES_MAX)
				return;
			addr += BIN_BYTES;
			continue;
		}
		if (!is_known_bins(glibc, bins) &&
		    glibc->arenas.count - glibc->heap_arena_count < MAIN_ARENAS_MAX)
			add_arena(glibc, bins - find_head(glibc, bins), bins, true);
		addr = bins + RI_STATE_END;
	}
}

static void search_main_arenas(struct ri_glibc *glibc, bool is_anonymous, bool is_full)
{
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(glibc->target->image, &count);
	unsigned failures = 0;

	for (size_t i = 0; i < count && failures <= FAILED_SHAPES_MAX; i++) {
		const struct ri_range *range = &ranges[i];

		if (!range->bytes || !(range->flags & RI_RANGE_WRITE) ||
		    (range->flags & RI_RANGE_SHARED) ||
		    !(range->flags & RI_RANGE_ANONYMOUS) == is_anonymous)
			continue;
		search_range(glibc, range, is_full, &failures);
	}
	if (failures > FAILED_SHAPES_MAX)
		ri_gaps_add(glibc->gaps, RI_GAP_MATTERS, "heap",
			    "gave up looking for further arenas: too much looks like one");
}

/* The place that the symbol main_arena names, if it was not found by shape. */
static void try_symbol(struct ri_glibc *glibc)
{
	uint64_t state;

	if (!glibc->modules ||
	    !ri_modules_find_symbol_addr(glibc->modules, NULL, "main_arena", &state))
		return;
	for (size_t i = 0; i < 3; i++) {
		uint64_t bins = state + known_heads[i];

		if (is_known_bins(glibc, bins))
			return;
		if (count_good_bins(glibc, bins, GOOD_BINS_MIN_NAMED)) {
			add_arena(glibc, state, bins, true);
			return;
		}
	}
}

struct heap_info {
	uint64_t arena, prev, size_bytes, mprotect_size;
};

/* Whether `info`, read at `addr`, can be a heap_info. */
static bool is_heap_info(const struct heap_info *info, uint64_t addr)
{
	uint64_t offset = info->arena % HEAP_STEP;

	return (offset == 32 || offset == 48 || offset == 64) && info->prev % HEAP_STEP == 0 &&
	       info->prev != addr && info->size_bytes % RI_PAGE_BYTES == 0 &&
	       info->size_bytes && info->size_bytes <= info->mprotect_size &&
	       info->mprotect_size <= HEAP_LARGEST && addr + info->size_bytes > addr;
}

struct heap {
	uint64_t addr;
	struct heap_info info;
};

typedef RI_VEC(struct heap) heaps_t;

static void find_heaps(struct ri_glibc *glibc, heaps_t *heaps)
{
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(glibc->target->image, &count);

	for (size_t i = 0; i < count; i++) {
		const struct ri_range *range = &ranges[i];
		uint64_t addr = (range->start + HEAP_STEP - 1) & ~(HEAP_STEP - 1);

		if (!range->bytes || !(range->flags & RI_RANGE_WRITE) ||
		    (range->flags & RI_RANGE_SHARED) || addr < range->start)
			continue;
		for (; addr < range->end && range->end - addr >= sizeof(struct heap_info);
		     addr += HEAP_STEP) {
			struct heap_info info;

			memcpy(&info, range->bytes + (addr - range->start), sizeof(info));
			if (is_heap_info(&info, addr))
				*ri_push(heaps) = (struct heap){ addr, info };
		}
	}
}

/* Adds the arena whose malloc_state is at `state`, if there is one. */
static void add_heap_arena(struct ri_glibc *glibc, uint64_t state)
{
	uint64_t head = find_head_at(glibc, state);

	if (head)
		add_arena(glibc, state, state + head, false);
}

static uint32_t find_heap_arena(const struct ri_glibc *glibc, uint64_t state)
{
	size_t low = 0, count = glibc->heap_arena_count;

	while (count) {
		size_t half = count / 2;
		uint64_t found = glibc->arenas.items[low + half].state;

		if (found == state)
			return (uint32_t)(low + half);
		if (found < state) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return RI_NONE;
}

/* `base` is where the heap_info of the arena's first heap lies. */
static void add_heap_span(struct ri_glibc *glibc, uint32_t index, uint64_t base, uint64_t start,
			  uint64_t end)
{
	const struct ri_glibc_arena *arena = &glibc->arenas.items[index];
	uint64_t first = start == base ? arena->bins + RI_STATE_END :
					 start + (arena->state - base);
	uint64_t floor = glibc->spans.count ? glibc->spans.items[glibc->spans.count - 1].end : 0;

	first = (first + RI_CHUNK_ALIGN - 1) & ~(uint64_t)(RI_CHUNK_ALIGN - 1);
	/* Only a heap_info that was tampered with overlaps the heap before it. */
	if (start < floor || first >= end)
		return;
	*ri_push(&glibc->spans) = (struct ri_glibc_span){ start, first, end, index };
}

static void find_heap_arenas(struct ri_glibc *glibc)
{
	heaps_t heaps = { 0 };

	find_heaps(glibc, &heaps);
	for (size_t i = 0; i < heaps.count && glibc->arenas.count < ARENAS_MAX; i++) {
		const struct heap *heap = &heaps.items[i];

		if (heap->info.arena - heap->addr <= 64)
			add_heap_arena(glibc, heap->info.arena);
	}
	glibc->heap_arena_count = glibc->arenas.count;
	for (size_t i = 0; i < heaps.count; i++) {
		const struct heap *heap = &heaps.items[i];
		uint32_t arena = find_heap_arena(glibc, heap->info.arena);

		if (arena != RI_NONE)
			add_heap_span(glibc, arena, heap->info.arena & ~(HEAP_STEP - 1),
				      heap->addr, heap->addr + heap->info.size_bytes);
	}
	ri_vec_deinit(&heaps);
}

static bool is_known_state(const struct ri_glibc *glibc, uint64_t state)
{
	if (find_heap_arena(glibc, state) != RI_NONE)
		return true;
	for (size_t i = glibc->heap_arena_count; i < glibc->arenas.count; i++)
		if (glibc->arenas.items[i].state == state)
			return true;
	return false;
}

/* Takes the arena at `state`, which another one's `next` names.  Its heap_info
 * is damaged (else it would be known), so its memory ends where its mapping does. */
static void add_from_ring(struct ri_glibc *glibc, uint64_t state, uint64_t head)
{
	uint64_t base = state & ~(HEAP_DEFAULT_MAX - 1), low, high;
	uint64_t bins = state + head;

	if (!count_good_bins(glibc, bins, GOOD_BINS_MIN) || state - base > 64 ||
	    !ri_glibc_extent(glibc->target->image, base, &low, &high))
		return;
	add_arena(glibc, state, bins, false);
	if (high > base + HEAP_DEFAULT_MAX)
		high = base + HEAP_DEFAULT_MAX;
	ri_glibc_damage(glibc, &glibc->arenas.items[glibc->arenas.count - 1], base, 0,
			"the heap_info before an arena is damaged");
	ri_glibc_add_span(glibc, &(struct ri_glibc_span){
		base, (bins + RI_STATE_END + 15) & ~15ull, high,
		(uint32_t)(glibc->arenas.count - 1) });
}

static void follow_rings(struct ri_glibc *glibc)
{
	for (size_t i = 0; i < glibc->arenas.count && glibc->arenas.count < ARENAS_MAX; i++) {
		struct ri_glibc_arena arena = glibc->arenas.items[i];
		uint64_t next;

		if (read_word(glibc, arena.bins + RI_STATE_NEXT, &next) &&
		    !is_known_state(glibc, next))
			add_from_ring(glibc, next, arena.bins - arena.state);
	}
}

static bool has_main_arena(const struct ri_glibc *glibc)
{
	return glibc->arenas.count > glibc->heap_arena_count;
}

void ri_glibc_find_arenas(struct ri_glibc *glibc)
{
	find_heap_arenas(glibc);
	search_main_arenas(glibc, false, false);
	try_symbol(glibc);
	if (!has_main_arena(glibc))
		search_main_arenas(glibc, false, true);
	if (!has_main_arena(glibc))
		search_main_arenas(glibc, true, false);
	follow_rings(glibc);
	if (glibc->arenas.count >= ARENAS_MAX)
		ri_gaps_add(glibc->gaps, RI_GAP_MATTERS, "heap",
			    "more than %u arenas; those beyond were left out", ARENAS_MAX - 1);
}
