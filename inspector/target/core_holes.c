/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holes in core files.  The kernel skips pages that were never touched, so the
 * core of a process with a large sparse reservation (a garbage-collected heap,
 * a sanitizer's shadow) can be a thousand times longer than what it holds.
 * Read through the file's mapping, each hole would fill the page cache with
 * zeros; instead large ones become ranges of their own over one anonymous
 * mapping that is only ever read and so takes no room.
 *
 * What is in a hole is known: zeros.  That is less than "never touched" (a copy
 * that looked for zeros makes holes too), so the ranges are PRESENT.
 *
 * Cost: a system call for each hole and each stretch of data, up to HOLES_MAX.
 * Segments that share bytes of the file are split at its holes only as often as
 * the file has holes and segments together.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/core_private.h"

#define PAGE_SIZE 4096u

/* Smaller holes are left to the page cache. */
#define HOLE_MIN_BYTES (1u << 20)

#define HOLES_MAX (1u << 20)

/* Whether the file takes less room than it is long, as far as that matters. */
static bool is_sparse(const struct ri_core *core)
{
	struct stat st;

	return !fstat(core->fd, &st) &&
	       (uint64_t)st.st_blocks * 512 + HOLE_MIN_BYTES < core->size_bytes;
}

/* Lists the large holes; returns the size of the largest. */
static uint64_t list_holes(struct ri_core *core)
{
	uint64_t largest = 0;
	off_t at = 0;

	while ((uint64_t)at < core->size_bytes && core->holes.count < HOLES_MAX) {
		off_t start = lseek(core->fd, at, SEEK_HOLE);
		off_t end = start < 0 ? -1 : lseek(core->fd, start, SEEK_DATA);
		struct ri_core_hole *hole;

		if (start >= 0 && end < 0 && errno == ENXIO)
			end = (off_t)core->size_bytes; /* no data behind it */
		if (end <= at)
			break; /* at the end, or the file system cannot tell */
		at = end;
		if (end - start < (off_t)HOLE_MIN_BYTES)
			continue;
		hole = ri_push(&core->holes);
		hole->start = (uint64_t)start;
		hole->end = (uint64_t)end;
		if (hole->end - hole->start > largest)
			largest = hole->end - hole->start;
	}
	return largest;
}

void ri_core_find_holes(struct ri_core *core)
{
	uint64_t largest;
	void *zeros;

	if (!is_sparse(core))
		return;
	largest = list_holes(core);
	if (!largest)
		return;
	zeros = mmap(NULL, largest, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (zeros == MAP_FAILED) {
		core->holes.count = 0;
		return;
	}
	(void)madvise(zeros, largest, MADV_HUGEPAGE);
	ri_image_own_mapping(core->target->image, zeros, largest);
	core->zeros = zeros;
	core->splits_left = core->holes.count + core->loads.count;
}

/* Number of the first hole that ends behind file offset `offset`. */
static size_t first_hole_behind(const struct ri_core *core, uint64_t offset)
{
	size_t low = 0, high = core->holes.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (core->holes.items[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void ri_core_add_bytes(struct ri_core *core, const struct ri_core_load *load, uint32_t flags)
{
	struct ri_image *image = core->target->image;
	uint64_t at = load->start, offset, size_bytes = load->present_end - load->start;
	size_t i;

	if (!load->bytes)
		return;
	offset = (uint64_t)(load->bytes - core->bytes);
	for (i = first_hole_behind(core, offset); i < core->holes.count; i++) {
		const struct ri_core_hole *hole = &core->holes.items[i];
		uint64_t from = hole->start > offset ? hole->start - offset : 0;
		uint64_t to = hole->end - offset < size_bytes ? hole->end - offset : size_bytes;
		uint64_t start, end;

		if (from >= size_bytes || !core->splits_left)
			break;
		/* whole pages, so that no word lies across two ranges */
		start = (load->start + from + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
		end = (load->start + to) & ~(uint64_t)(PAGE_SIZE - 1);
		if (start < at || end < start || end - start < HOLE_MIN_BYTES / 2)
			continue;
		core->splits_left--;
		ri_image_add(image, &(struct ri_range){ at, start, load->bytes + (at - load->start),
							RI_RANGE_PRESENT, flags });
		ri_image_add(image, &(struct ri_range){ start, end, core->zeros, RI_RANGE_PRESENT,
							flags | RI_RANGE_ZERO });
		at = end;
	}
	ri_image_add(image, &(struct ri_range){ at, load->present_end,
						load->bytes + (at - load->start), RI_RANGE_PRESENT,
						flags });
}
