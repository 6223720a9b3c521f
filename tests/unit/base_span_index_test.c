/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The span index against a linear search, on spans of many shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/span_index.h"

struct span {
	uint64_t start, end;
};

static uint64_t start_of(const void *data, size_t i)
{
	return ((const struct span *)data)[i].start;
}

static uint64_t end_of(const void *data, size_t i)
{
	return ((const struct span *)data)[i].end;
}

static struct ri_span_index *create(const struct span *spans, size_t count)
{
	return ri_span_index_create(count, start_of, end_of, spans);
}

/* What ri_span_index_find() promises, found slowly. */
static uint32_t slow_find(const struct span *spans, size_t count, uint64_t addr)
{
	uint32_t found = RI_SPAN_NONE;

	for (size_t i = 0; i < count; i++)
		if (spans[i].start <= (addr | 7))
			found = (uint32_t)i;
	return found;
}

/* The last span that starts in the granule of `addr`, found slowly. */
static uint32_t slow_find_start(const struct span *spans, size_t count, uint64_t addr)
{
	uint32_t found = slow_find(spans, count, addr);

	return found != RI_SPAN_NONE && spans[found].start / 8 == addr / 8 ? found : RI_SPAN_NONE;
}

static void empty_index_finds_nothing(void **state)
{
	struct ri_span_index *index = create(NULL, 0);
	uint64_t low, high;

	(void)state;
	ri_span_index_bounds(index, &low, &high);
	assert_int_equal(low, 0);
	assert_int_equal(high, 0);
	assert_int_equal(ri_span_index_find(index, 0), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, UINT64_MAX), RI_SPAN_NONE);
	ri_span_index_destroy(index);
}

static void random_spans_match_linear_search(void **state)
{
	enum { COUNT = 2000 };
	static struct span spans[COUNT];
	struct ri_span_index *index;
	uint64_t at = 0x7f0000001008;

	(void)state;
	srand(7);
	for (size_t i = 0; i < COUNT; i++) {
		spans[i].start = at;
		spans[i].end = at + 16 + (uint64_t)(rand() % 40) * 8;
		/* now and then the next span starts at the same place, or far away */
		if (rand() % 16)
			at = spans[i].end + (uint64_t)(rand() % 5) * 8;
		if (rand() % 300 == 0)
			at += 64u << 20;
	}
	index = create(spans, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		for (uint64_t addr = spans[i].start; addr < spans[i].end; addr += 4) {
			assert_int_equal(ri_span_index_find(index, addr),
					 slow_find(spans, COUNT, addr));
			assert_int_equal(ri_span_index_find_start(index, addr),
					 slow_find_start(spans, COUNT, addr));
		}
	assert_int_equal(ri_span_index_find_start(index, at + (128u << 20)), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, spans[0].start - 4096), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, at + (128u << 20)), RI_SPAN_NONE);
	ri_span_index_destroy(index);
}

static void spans_sharing_a_granule_give_the_last(void **state)
{
	static const struct span spans[] = {
		{ 0x1000, 0x1100 }, { 0x1000, 0x1040 }, { 0x1004, 0x1008 }, { 0x1040, 0x1048 },
	};
	struct ri_span_index *index = create(spans, 4);

	(void)state;
	assert_int_equal(ri_span_index_find(index, 0x1000), 2);
	assert_int_equal(ri_span_index_find(index, 0x1038), 2);
	assert_int_equal(ri_span_index_find_start(index, 0x1000), 2);
	assert_int_equal(ri_span_index_find_start(index, 0x1038), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, 0x1040), 3);
	ri_span_index_destroy(index);
}

/* A span that holds others far apart in it, and one that reaches to the end. */
static void spans_may_be_as_large_as_memory(void **state)
{
	const uint64_t tib = UINT64_C(1) << 40;
	const struct span spans[] = {
		{ 0x1000, 100 * tib },          { 0x1008, 0x1010 },
		{ 50 * tib + 4, 50 * tib + 8 }, { 50 * tib + 64, 50 * tib + 128 },
		{ 200 * tib, UINT64_MAX },      { 201 * tib, 201 * tib + 8 },
	};
	struct ri_span_index *index = create(spans, 6);
	uint64_t low, high;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (int offset = 0; offset < 4096; offset += 8)
			if (spans[i].start + (uint64_t)offset < spans[i].end)
				assert_int_equal(
					ri_span_index_find(index,
							   spans[i].start + (uint64_t)offset),
					slow_find(spans, 6, spans[i].start + (uint64_t)offset));
	assert_int_equal(ri_span_index_find(index, 0xfff), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, 10 * tib), 1);
	assert_int_equal(ri_span_index_find(index, 50 * tib - 1), 1);
	assert_int_equal(ri_span_index_find(index, 50 * tib), 2);
	assert_int_equal(ri_span_index_find(index, 60 * tib), 3);
	assert_int_equal(ri_span_index_find(index, 100 * tib - 1), 3);
	assert_int_equal(ri_span_index_find(index, 100 * tib), RI_SPAN_NONE);
	assert_int_equal(ri_span_index_find(index, 200 * tib), 4);
	assert_int_equal(ri_span_index_find(index, 300 * tib), 5);
	assert_int_equal(ri_span_index_find(index, UINT64_MAX - 1), 5);
	ri_span_index_bounds(index, &low, &high);
	assert_int_equal(low, 0x1000);
	assert_true(high == UINT64_MAX);
	ri_span_index_destroy(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_index_finds_nothing),
		cmocka_unit_test(random_spans_match_linear_search),
		cmocka_unit_test(spans_sharing_a_granule_give_the_last),
		cmocka_unit_test(spans_may_be_as_large_as_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
