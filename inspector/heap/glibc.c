/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * glibc's malloc, versions 2.26 and later, 64-bit.  Which version it is, is never
 * asked; every format that differs between them is decided by what fits.
 *
 * Order: find the arenas (glibc_state.c); settle which memory is theirs (here,
 * for the main arena); walk the chunks of each span of memory (glibc_walk.c);
 * take the anonymous mappings that are left for blocks with a mapping of their
 * own where they look like it (glibc_mmap.c); then mark what the free lists hold
 * (glibc_free.c).  The states themselves become blocks of kind RECORD.
 *
 * The main arena's memory comes from brk and is one span that ends with its top
 * chunk; its length is system_mem.  Once brk failed, it also has pieces mapped
 * anywhere, that are found by trying the pages of anonymous memory.
 *
 * A live process can stand inside malloc, even without holding the arena's lock
 * when it has one thread.  What looks damaged then may be work in progress, and is
 * counted as a gap instead.
 */
#include "heap/glibc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define PIECE_STEPS_MAX (1ull << 26)
#define EXTENT_FLAGS (RI_RANGE_WRITE | RI_RANGE_SHARED | RI_RANGE_ANONYMOUS)

size_t ri_glibc_first_range(const struct ri_range *ranges, size_t count, uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool ri_glibc_extent(const struct ri_image *image, uint64_t addr, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	size_t count, i, first, last;
	const struct ri_range *ranges = ri_image_ranges(image, &count);

	i = ri_glibc_first_range(ranges, count, addr);
	if (i == count || ranges[i].start > addr || !(ranges[i].flags & RI_RANGE_WRITE))
		return false;
	for (first = i; first && ranges[first - 1].end == ranges[first].start &&
			!((ranges[first - 1].flags ^ ranges[i].flags) & EXTENT_FLAGS);)
		first--;
	for (last = i; last + 1 < count && ranges[last + 1].start == ranges[last].end &&
		       !((ranges[last + 1].flags ^ ranges[i].flags) & EXTENT_FLAGS);)
		last++;
	*ret_start = ranges[first].start;
	*ret_end = ranges[last].end;
	return true;
}

/* Whether the thread may be inside malloc: its next instruction lies in the file
 * that holds the main arena, and it is not in a system call, or in one of those
 * that malloc makes. */
static bool may_be_allocating(const struct ri_target *target, const struct ri_thread *thread,
			      const char *path)
{
	const struct ri_mapping *mapping;

	if (!thread->has_registers)
		return false;
	mapping = ri_target_find_mapping(target, thread->registers[RI_REG_RIP]);
	if (!mapping || !mapping->path || strcmp(mapping->path, path))
		return false;
	switch ((int64_t)thread->registers[RI_REG_ORIG_RAX]) {
	case -1:
	case SYS_brk:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_madvise:
		return true;
	default:
		return false;
	}
}

static bool is_in_flux(const struct ri_glibc *glibc, const struct ri_glibc_arena *arena)
{
	const struct ri_target *target = glibc->target;
	const struct ri_mapping *mapping;

	if (target->kind != RI_TARGET_LIVE)
		return false;
	if (arena->is_locked)
		return true;
	if (!arena->is_main || target->thread_count != 1)
		return false;
	mapping = ri_target_find_mapping(target, arena->state);
	return mapping && mapping->path &&
	       may_be_allocating(target, &target->threads[0], mapping->path);
}

void ri_glibc_damage(struct ri_glibc *glibc, const struct ri_glibc_arena *arena, uint64_t addr,
		     uint64_t neighbour, const char *what)
{
	if (arena && is_in_flux(glibc, arena))
		glibc->in_flux++;
	else
		ri_heap_builder_add_damage(glibc->builder, addr, neighbour, what);
}

void ri_glibc_add_span(struct ri_glibc *glibc, const struct ri_glibc_span *span)
{
	size_t i = 0, high = glibc->spans.count;

	while (i < high) {
		size_t middle = i + (high - i) / 2;

		if (glibc->spans.items[middle].end <= span->start)
			i = middle + 1;
		else
			high = middle;
	}
	if (span->first >= span->end ||
	    (i < glibc->spans.count && glibc->spans.items[i].start < span->end))
		return;
	(void)ri_push(&glibc->spans);
	memmove(&glibc->spans.items[i + 1], &glibc->spans.items[i],
		(glibc->spans.count - 1 - i) * sizeof(*span));
	glibc->spans.items[i] = *span;
}

/* Where the top chunk at `top` ends, at most `limit`. */
static uint64_t find_top_end(struct ri_glibc *glibc, const struct ri_glibc_arena *arena,
			     uint64_t limit)
{
	uint64_t word, size;

	if (!ri_reader_u64(&glibc->reader, arena->top + 8, &word)) {
		glibc->unreadable++;
		return limit;
	}
	size = word & ~(uint64_t)RI_CHUNK_FLAGS;
	if (size < RI_CHUNK_USER || size > limit - arena->top || size % RI_CHUNK_ALIGN ||
	    (word & RI_CHUNK_MMAPPED)) {
		ri_glibc_damage(glibc, arena, arena->top, 0,
				"the top chunk's size leads out of its mapping");
		return limit;
	}
	return arena->top + size;
}

/* The span that ends with the top chunk. */
static void add_top_span(struct ri_glibc *glibc, uint32_t index)
{
	struct ri_glibc_arena *arena = &glibc->arenas.items[index];
	struct ri_glibc_span span = { .arena = index };
	uint64_t low, high, start;

	if (!arena->top)
		return;
	if (arena->top % RI_CHUNK_ALIGN ||
	    !ri_glibc_extent(glibc->target->image, arena->top, &low, &high)) {
		ri_glibc_damage(glibc, arena, arena->bins + (uint64_t)RI_STATE_TOP, 0,
				"the main arena's top chunk lies outside writable memory");
		arena->top = 0;
		return;
	}
	span.end = find_top_end(glibc, arena, high);
	start = (span.end - arena->system_mem + RI_CHUNK_ALIGN - 1) & ~15ull;
	low = (low + RI_CHUNK_ALIGN - 1) & ~15ull;
	span.start = span.first = start;
	if (start < low || start > arena->top ||
	    (!ri_glibc_is_run(glibc, &span, start) &&
	     (arena->is_noncontiguous || ri_glibc_is_run(glibc, &span, low))))
		span.start = span.first = low;
	ri_glibc_add_span(glibc, &span);
}

struct piece_search {
	struct ri_glibc *glibc;
	uint32_t arena;
	uint64_t steps;
	uint64_t claimed;        /* up to where memory was looked at */
};

/* Tries the pages of [start, end), which lies in one range of an extent that ends
 * at `extent_end`. */
static void search_pieces(struct piece_search *search, uint64_t start, uint64_t end,
			  uint64_t extent_end)
{
	struct ri_glibc *glibc = search->glibc;
	uint64_t addr = (start + RI_PAGE_BYTES - 1) & ~(uint64_t)(RI_PAGE_BYTES - 1);
	uint64_t word, piece_end;

	if (addr < search->claimed)
		addr = search->claimed;
	while (addr < end && search->steps < PIECE_STEPS_MAX) {
		if (ri_reader_u64(&glibc->reader, addr + 8, &word) &&
		    (word & 15) == RI_CHUNK_PREV_INUSE && word > RI_CHUNK_SIZE_MIN &&
		    ri_glibc_measure_piece(glibc, search->arena, addr, extent_end, &search->steps,
					   &piece_end)) {
			ri_glibc_add_span(glibc, &(struct ri_glibc_span){ addr, addr, piece_end,
									  search->arena });
			search->claimed = (piece_end + RI_PAGE_BYTES - 1) &
					  ~(uint64_t)(RI_PAGE_BYTES - 1);
			addr = search->claimed;
			continue;
		}
		addr += RI_PAGE_BYTES;
	}
}

/* Finds the pieces of a main arena whose memory is not all from brk. */
static void add_pieces(struct ri_glibc *glibc, uint32_t arena)
{
	struct piece_search search = { .glibc = glibc, .arena = arena };
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(glibc->target->image, &count);
	uint64_t extent_end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ri_range *range = &ranges[i];
		uint64_t low;

		if (!range->bytes || (range->flags & EXTENT_FLAGS) !=
					     (RI_RANGE_WRITE | RI_RANGE_ANONYMOUS))
			continue;
		if (range->start >= extent_end)
			(void)ri_glibc_extent(glibc->target->image, range->start, &low,
					      &extent_end);
		search_pieces(&search, range->start, range->end, extent_end);
	}
	if (search.steps >= PIECE_STEPS_MAX)
		ri_gaps_add(glibc->gaps, RI_GAP_MATTERS, "heap",
			    "gave up looking for further pieces of the main arena");
}

static bool has_span_of_top(const struct ri_glibc *glibc, uint32_t index)
{
	uint64_t top = glibc->arenas.items[index].top;

	for (size_t i = 0; i < glibc->spans.count; i++)
		if (glibc->spans.items[i].arena == index && top >= glibc->spans.items[i].first &&
		    top < glibc->spans.items[i].end)
			return true;
	return false;
}

static void add_main_spans(struct ri_glibc *glibc)
{
	for (size_t i = glibc->heap_arena_count; i < glibc->arenas.count; i++) {
		const struct ri_glibc_arena *arena = &glibc->arenas.items[i];

		if (!arena->is_main || !arena->top)
			continue;
		if (arena->is_noncontiguous)
			add_pieces(glibc, (uint32_t)i);
		if (!arena->is_noncontiguous || !has_span_of_top(glibc, (uint32_t)i))
			add_top_span(glibc, (uint32_t)i);
	}
}

/* An arena's newest heap holds its top chunk. */
static void check_tops(struct ri_glibc *glibc)
{
	uint8_t *has_top = ri_calloc(glibc->arenas.count, 1);

	for (size_t i = 0; i < glibc->spans.count; i++) {
		const struct ri_glibc_span *span = &glibc->spans.items[i];
		uint64_t top = glibc->arenas.items[span->arena].top;

		if (top >= span->first && top < span->end)
			has_top[span->arena] = 1;
	}
	for (size_t i = 0; i < glibc->arenas.count; i++) {
		const struct ri_glibc_arena *arena = &glibc->arenas.items[i];

		if (!has_top[i] && !arena->is_main)
			ri_glibc_damage(glibc, arena, arena->state, 0,
					"an arena's top chunk lies in none of its heaps");
	}
	free(has_top);
}

/* The states of main arenas lie among other data of their module. */
static void add_states(struct ri_glibc *glibc)
{
	for (size_t i = glibc->heap_arena_count; i < glibc->arenas.count; i++) {
		const struct ri_glibc_arena *arena = &glibc->arenas.items[i];
		uint64_t end = arena->bins + RI_STATE_END;

		if (!arena->is_main)
			continue;
		ri_heap_builder_add_block(glibc->builder, arena->state, end - arena->state,
					  RI_BLOCK_RECORD);
		ri_heap_builder_add_region(glibc->builder, arena->state, end, "glibc", true);
	}
}

static void tell_gaps(const struct ri_glibc *glibc)
{
	if (glibc->unreadable)
		ri_gaps_add(glibc->gaps, RI_GAP_MATTERS, "heap",
			    "%" PRIu64 " stretches of heap memory are not in the image; what they "
			    "hold is unknown", glibc->unreadable);
	if (glibc->in_flux)
		ri_gaps_add(glibc->gaps, RI_GAP_TOLD, "heap",
			    "%" PRIu64 " allocator records were being changed when the process was "
			    "stopped; they are not taken for damage", glibc->in_flux);
}

static void walk(const struct ri_target *target, const struct ri_modules *modules,
		 struct ri_gaps *gaps, struct ri_heap_builder *builder)
{
	struct ri_glibc glibc = {
		.target = target,
		.modules = modules,
		.gaps = gaps,
		.builder = builder,
	};

	ri_reader_init(&glibc.reader, target->image);
	ri_glibc_find_arenas(&glibc);
	if (glibc.arenas.count) {
		builder->heap->arena_count += glibc.arenas.count;
		builder->heap->allocator = "glibc 64-bit";
		add_main_spans(&glibc);
		check_tops(&glibc);
		for (size_t i = 0; i < glibc.spans.count; i++)
			ri_glibc_walk_span(&glibc, &glibc.spans.items[i]);
		ri_glibc_walk_mmapped(&glibc);
		add_states(&glibc);
		ri_glibc_mark_free(&glibc);
		tell_gaps(&glibc);
	}
	ri_vec_deinit(&glibc.arenas);
	ri_vec_deinit(&glibc.spans);
}

const struct ri_allocator ri_allocator_glibc = {
	.name = "glibc",
	.walk = walk,
};
