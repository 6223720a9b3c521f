/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks that have a mapping of their own.
 *
 * malloc gives a large block its own pages: the chunk header at the start of a
 * page says how large they are (since 2.43: without 16 bytes at their end), with
 * IS_MMAPPED and no other flag.  A block with a wider alignment has a second
 * header further on, whose first word leads back to the page.  No list names
 * these blocks, and the kernel joins neighbouring mappings, so that one mapping may
 * hold several, and other memory besides.
 *
 * A header is believed where its size leads to the end of the mapping, or to
 * another such header; or where it stands at the start of the mapping, or behind
 * such a block, and the size is one that malloc maps: 128 KiB by default, less
 * where smaller blocks were seen that leave no doubt.  What is not believed
 * remains ordinary memory, whose words hold what they point at: the careful side.
 *
 * Cost: one look at each page of anonymous memory outside arenas.
 */
#include "heap/glibc.h"

#define THRESHOLD_BYTES (128u << 10) /* the default M_MMAP_THRESHOLD */

#define MOVED_PAGES_MAX 256u         /* for blocks of up to 1 MiB alignment */
#define HUGE_PAGES 1u                /* flag in a chunk's first word since 2.43 */

struct mmapped {
	uint64_t chunk;          /* its header */
	uint64_t usable_bytes;
	uint64_t end;            /* of its pages */
};

/* What the size `word` lacks to the end of the pages, for a header at `lead` bytes
 * in them; or RI_PAGE_BYTES where it cannot be one. */
static uint64_t find_tail(uint64_t word, uint64_t lead)
{
	uint64_t rest = ((word & ~(uint64_t)RI_CHUNK_FLAGS) + lead) % RI_PAGE_BYTES;

	if ((word & 15) != RI_CHUNK_MMAPPED || (rest && rest != RI_PAGE_BYTES - RI_CHUNK_USER))
		return RI_PAGE_BYTES;
	return rest ? RI_CHUNK_USER : 0;
}

/* One header: `page` + `lead` with the chunk's own idea of `lead`. */
static bool read_header(struct ri_glibc *glibc, uint64_t page, uint64_t lead, uint64_t limit,
			struct mmapped *ret)
{
	uint64_t prev_size, word, size, tail;

	if (!ri_reader_u64(&glibc->reader, page + lead + 8, &word) ||
	    !ri_reader_u64(&glibc->reader, page + lead, &prev_size))
		return false;
	if (lead >= limit - page)
		return false;
	tail = find_tail(word, lead);
	size = word & ~(uint64_t)RI_CHUNK_FLAGS;
	if (tail == RI_PAGE_BYTES || prev_size - lead > (tail ? HUGE_PAGES : 0) ||
	    size < RI_CHUNK_SIZE_MIN || size > limit - (page + lead))
		return false;
	*ret = (struct mmapped){ page + lead, size - (tail ? 8 : 16), page + lead + size + tail };
	return ret->end <= limit;
}

/* The block whose pages begin at `page` and end at or before `limit`. */
static bool find_block(struct ri_glibc *glibc, uint64_t page, uint64_t limit, struct mmapped *ret)
{
	uint64_t word;

	/* Before a further header the first one stays, with the size that it had
	 * when the pages were mapped. */
	if (!ri_reader_u64(&glibc->reader, page + 8, &word) || find_tail(word, 0) == RI_PAGE_BYTES)
		return false;
	for (uint64_t align = 32; align && align < limit - page; align *= 2) {
		uint64_t lead = ((page + RI_CHUNK_USER + align - 1) & ~(align - 1)) -
				RI_CHUNK_USER - page;

		if (lead && lead < RI_CHUNK_SIZE_MIN)
			lead += align;
		if (lead && read_header(glibc, page, lead, limit, ret))
			return true;
	}
	/* Pages that realloc moved kept the distance, but not the alignment. */
	for (uint64_t i = 1; i <= MOVED_PAGES_MAX && i * RI_PAGE_BYTES < limit - page; i++)
		if (read_header(glibc, page, i * RI_PAGE_BYTES - RI_CHUNK_USER, limit, ret))
			return true;
	return read_header(glibc, page, 0, limit, ret);
}

struct search {
	struct ri_glibc *glibc;
	uint64_t anchor;         /* a block that begins here begins where something ended */
	uint64_t addr;           /* up to where memory was looked at */
	uint64_t threshold;      /* from which size blocks are mapped, as far as known */
};

/* Adds the block at `page`, if there is one.  Memory that is not an arena's goes
 * on to `limit`. */
static bool add_block_at(struct search *search, uint64_t page, uint64_t limit)
{
	struct ri_glibc *glibc = search->glibc;
	bool is_anchored = page == search->anchor, leads_on;
	struct mmapped block, next;

	if (!find_block(glibc, page, limit, &block))
		return false;
	leads_on = block.end == limit || find_block(glibc, block.end, limit, &next);
	if (!leads_on && !(is_anchored && block.end - page >= search->threshold))
		return false;
	if (leads_on && block.end - page < search->threshold)
		search->threshold = block.end - page;
	if (block.chunk > page)
		ri_heap_builder_add_block(glibc->builder, page, block.chunk - page,
					  RI_BLOCK_RECORD);
	ri_heap_builder_add_block(glibc->builder, block.chunk + RI_CHUNK_USER,
				  block.usable_bytes, RI_BLOCK_USED);
	ri_heap_builder_add_region(glibc->builder, page, block.end, "glibc", true);
	search->addr = search->anchor = block.end;
	return true;
}

/* Looks at the pages of [start, end), part of an extent that goes on to `limit`. */
static void search_pages(struct search *search, uint64_t start, uint64_t end, uint64_t limit)
{
	if (search->addr < start)
		search->addr = start;
	search->addr = (search->addr + RI_PAGE_BYTES - 1) & ~(uint64_t)(RI_PAGE_BYTES - 1);
	while (search->addr < end && end - search->addr >= RI_CHUNK_USER)
		if (!add_block_at(search, search->addr, limit))
			search->addr += RI_PAGE_BYTES;
}

/* Looks at what the spans leave of one range; `*span` is the first of them that
 * does not end before it. */
static void search_range(struct search *search, const struct ri_range *range, uint64_t extent_end,
			 size_t *span)
{
	const struct ri_glibc *glibc = search->glibc;
	uint64_t start = range->start;

	while (start < range->end) {
		uint64_t end = range->end, limit = extent_end;

		while (*span < glibc->spans.count && glibc->spans.items[*span].end <= start)
			(*span)++;
		if (*span < glibc->spans.count && glibc->spans.items[*span].start < limit)
			limit = glibc->spans.items[*span].start;
		if (limit < end)
			end = limit;
		if (start < end)
			search_pages(search, start, end, limit);
		if (end == range->end)
			return;
		start = glibc->spans.items[*span].end;
		search->anchor = (start + RI_PAGE_BYTES - 1) & ~(uint64_t)(RI_PAGE_BYTES - 1);
	}
}

void ri_glibc_walk_mmapped(struct ri_glibc *glibc)
{
	struct search search = { .glibc = glibc, .threshold = THRESHOLD_BYTES };
	size_t count, span = 0;
	const struct ri_range *ranges = ri_image_ranges(glibc->target->image, &count);
	uint64_t extent_start, extent_end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ri_range *range = &ranges[i];

		if (!range->bytes || !(range->flags & RI_RANGE_WRITE) ||
		    !(range->flags & RI_RANGE_ANONYMOUS) || (range->flags & RI_RANGE_SHARED))
			continue;
		if (range->start >= extent_end) {
			(void)ri_glibc_extent(glibc->target->image, range->start, &extent_start,
					      &extent_end);
			search.anchor = extent_start;
		}
		search_range(&search, range, extent_end, &span);
	}
}
