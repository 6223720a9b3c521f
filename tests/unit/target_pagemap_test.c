/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages exist: on this kernel, and in the way that older kernels need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/live_private.h"

#define PAGE 4096u
#define PAGES 40u

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static struct ri_page_runs find(const void *p, size_t size, bool only_private, bool as_older,
				bool *ret)
{
	struct ri_pagemap *pagemap = ri_pagemap_open(getpid());
	struct ri_page_runs runs = { 0 };

	assert_non_null(pagemap);
	if (as_older)
		ri_pagemap_refuse_scan(pagemap);
	*ret = ri_pagemap_find(pagemap, (uintptr_t)p, (uintptr_t)p + size, only_private, &runs);
	ri_pagemap_close(pagemap);
	return runs;
}

static void assert_run(const struct ri_page_runs *runs, size_t i, const uint8_t *p, size_t first,
		       size_t behind)
{
	assert_true(i < runs->count);
	assert_int_equal(runs->items[i].start, (uintptr_t)p + first * PAGE);
	assert_int_equal(runs->items[i].end, (uintptr_t)p + behind * PAGE);
}

static uint8_t *map(int flags, int fd)
{
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static void touched_pages_are_found(void **state)
{
	uint8_t *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)state;
	p[0] = p[7 * PAGE] = p[8 * PAGE + 5] = p[(PAGES - 1) * PAGE] = 1;
	for (int as_older = 0; as_older < 2; as_older++) {
		bool found;
		struct ri_page_runs runs = find(p, PAGES * PAGE, false, as_older, &found);

		assert_true(found);
		assert_int_equal(runs.count, 3);
		assert_run(&runs, 0, p, 0, 1);
		assert_run(&runs, 1, p, 7, 9);
		assert_run(&runs, 2, p, PAGES - 1, PAGES);
		ri_vec_deinit(&runs);
	}
	munmap(p, PAGES * PAGE);
}

static void written_pages_of_a_file_are_told_from_read_ones(void **state)
{
	int fd = memfd_create("pages", 0);
	volatile uint8_t *p;
	uint8_t *mapped;

	(void)state;
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	p = mapped = map(MAP_PRIVATE, fd);
	p[3 * PAGE] = 1;
	(void)p[20 * PAGE];
	for (int as_older = 0; as_older < 2; as_older++) {
		bool found;
		struct ri_page_runs runs = find(mapped, PAGES * PAGE, true, as_older, &found);

		assert_true(found);
		assert_int_equal(runs.count, 1);
		assert_run(&runs, 0, mapped, 3, 4);
		ri_vec_deinit(&runs);
		runs = find(mapped + 10 * PAGE, 30 * PAGE, false, as_older, &found);
		assert_true(runs.count >= 1); /* its neighbours may be mapped along */
		ri_vec_deinit(&runs);
	}
	munmap(mapped, PAGES * PAGE);
	close(fd);
}

static void guard_pages_do_not_exist(void **state)
{
	uint8_t *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)state;
	p[2 * PAGE] = 1;
	if (madvise(p + 5 * PAGE, 2 * PAGE, MADV_GUARD_INSTALL))
		print_message("skipped: this kernel has no guard pages\n");
	for (int as_older = 0; as_older < 2; as_older++) {
		bool found;
		struct ri_page_runs runs = find(p, PAGES * PAGE, false, as_older, &found);

		assert_true(found);
		assert_int_equal(runs.count, 1);
		assert_run(&runs, 0, p, 2, 3);
		ri_vec_deinit(&runs);
	}
	munmap(p, PAGES * PAGE);
}

static void many_runs_are_found_whole(void **state)
{
	enum { COUNT = 30000 }; /* more than one answer of the kernel holds */
	uint8_t *p = mmap(NULL, 2ul * COUNT * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	madvise(p, 2ul * COUNT * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < COUNT; i++)
		p[2 * i * PAGE] = 1;
	for (int as_older = 0; as_older < 2; as_older++) {
		bool found;
		struct ri_page_runs runs = find(p, 2ul * COUNT * PAGE, false, as_older, &found);

		assert_true(found);
		assert_int_equal(runs.count, COUNT);
		for (size_t i = 0; i < COUNT; i++)
			assert_run(&runs, i, p, 2 * i, 2 * i + 1);
		ri_vec_deinit(&runs);
	}
	munmap(p, 2ul * COUNT * PAGE);
}

static void huge_ranges_are_refused_on_older_kernels(void **state)
{
	bool found;
	struct ri_page_runs runs = find(NULL, 1ull << 40, false, true, &found);

	(void)state;
	assert_false(found);
	assert_int_equal(runs.count, 0);
	ri_vec_deinit(&runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touched_pages_are_found),
		cmocka_unit_test(written_pages_of_a_file_are_told_from_read_ones),
		cmocka_unit_test(guard_pages_do_not_exist),
		cmocka_unit_test(many_runs_are_found_whole),
		cmocka_unit_test(huge_ranges_are_refused_on_older_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
