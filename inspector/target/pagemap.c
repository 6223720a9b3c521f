/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pages of a live process exist, so that memory that was only reserved is
 * neither copied nor touched.  Source: Documentation/admin-guide/mm/pagemap.rst
 * of the Linux kernel.
 *
 * Since 6.7 the kernel answers with runs of pages (the PAGEMAP_SCAN ioctl), at a
 * cost in proportion to the page tables that exist.  Before, there are 8 bytes
 * to read for each page of the range, so ranges beyond SLOW_MAX_BYTES are
 * refused.  Page frame numbers are hidden from ordinary users; the bits used
 * here are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "target/live_private.h"

#define PAGE_SIZE 4096u

/* 256 MiB of page map entries: a fraction of a second. */
#define SLOW_MAX_BYTES (1ull << 37)

/* Bits of an entry of /proc/PID/pagemap. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE_OR_SHARED (1ull << 61)
#define ENTRY_GUARD (1ull << 58)

/* The ioctl, which older headers do not have: categories, result, argument. */
#define SCAN_FILE (1u << 2)
#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)
#define SCAN_GUARD (1u << 8)

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_argument {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_argument)

struct ri_pagemap {
	int fd;
	bool scan_refused;  /* this kernel has no ioctl */
	bool guard_unknown; /* it has, without the category for guard pages */
};

struct ri_pagemap *ri_pagemap_open(pid_t tid)
{
	struct ri_pagemap *pagemap;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	pagemap = ri_calloc(1, sizeof(*pagemap));
	pagemap->fd = fd;
	return pagemap;
}

void ri_pagemap_close(struct ri_pagemap *pagemap)
{
	if (!pagemap)
		return;
	close(pagemap->fd);
	free(pagemap);
}

void ri_pagemap_refuse_scan(struct ri_pagemap *pagemap)
{
	pagemap->scan_refused = true;
}

static void add_run(struct ri_page_runs *runs, size_t first, uint64_t start, uint64_t end)
{
	struct ri_page_run *run;

	if (runs->count > first && runs->items[runs->count - 1].end == start) {
		runs->items[runs->count - 1].end = end;
		return;
	}
	run = ri_push(runs);
	run->start = start;
	run->end = end;
}

/* Asks by ioctl; false when this kernel cannot. */
static bool scan(struct ri_pagemap *pagemap, uint64_t start, uint64_t end, bool only_private,
		 struct ri_page_runs *runs)
{
	enum { REGIONS = 512 };
	struct scan_region *regions = ri_calloc(REGIONS, sizeof(*regions));
	size_t first = runs->count;

	while (start < end) {
		uint64_t without = (only_private ? SCAN_FILE : 0u) |
				   (pagemap->guard_unknown ? 0u : SCAN_GUARD);
		struct scan_argument argument = {
			.size = sizeof(argument),
			.start = start,
			.end = end,
			.vec = (uintptr_t)regions,
			.vec_len = REGIONS,
			.category_inverted = without,
			.category_mask = without,
			.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
			.return_mask = SCAN_PRESENT,
		};
		int count = ioctl(pagemap->fd, SCAN_IOCTL, &argument);

		if (count < 0 && errno == EINVAL && !pagemap->guard_unknown) {
			pagemap->guard_unknown = true;
			continue;
		}
		if (count < 0 || argument.walk_end <= start) {
			pagemap->scan_refused = true;
			runs->count = first;
			break;
		}
		for (int i = 0; i < count; i++)
			add_run(runs, first, regions[i].start, regions[i].end);
		start = argument.walk_end;
	}
	free(regions);
	return !pagemap->scan_refused;
}

/* Reads the entries of all pages; false when they cannot be read. */
static bool read_entries(struct ri_pagemap *pagemap, uint64_t start, uint64_t end,
			 bool only_private, struct ri_page_runs *runs)
{
	enum { ENTRIES = 8192 };
	uint64_t *entries;
	size_t first = runs->count;
	bool ok = true;

	if (end - start > SLOW_MAX_BYTES)
		return false;
	entries = ri_calloc(ENTRIES, sizeof(*entries));
	while (ok && start < end) {
		size_t count = (end - start) / PAGE_SIZE < ENTRIES ? (end - start) / PAGE_SIZE
								   : ENTRIES;
		ssize_t n = pread(pagemap->fd, entries, count * sizeof(*entries),
				  (off_t)(start / PAGE_SIZE * sizeof(*entries)));

		ok = n >= (ssize_t)sizeof(*entries);
		for (size_t i = 0; ok && i < (size_t)n / sizeof(*entries); i++) {
			uint64_t entry = entries[i];

			if (entry & (ENTRY_PRESENT | ENTRY_SWAPPED) && !(entry & ENTRY_GUARD) &&
			    !(only_private && entry & ENTRY_FILE_OR_SHARED))
				add_run(runs, first, start, start + PAGE_SIZE);
			start += PAGE_SIZE;
		}
	}
	free(entries);
	if (!ok)
		runs->count = first;
	return ok;
}

bool ri_pagemap_find(struct ri_pagemap *pagemap, uint64_t start, uint64_t end, bool only_private,
		     struct ri_page_runs *runs)
{
	if (!pagemap->scan_refused && scan(pagemap, start, end, only_private, runs))
		return true;
	return read_entries(pagemap, start, end, only_private, runs);
}
