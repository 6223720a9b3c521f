/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image: which of overlapping ranges wins, and reading across ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/memory.h"
#include "target/image.h"

static void add(struct ri_image *image, uint64_t start, uint64_t end, const void *bytes,
		enum ri_range_kind kind)
{
	ri_image_add(image, &(struct ri_range){ start, end, bytes, kind, RI_RANGE_READ });
}

static void assert_range(const struct ri_image *image, size_t i, uint64_t start, uint64_t end,
			 const uint8_t *bytes, enum ri_range_kind kind)
{
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(image, &count);

	assert_true(i < count);
	assert_int_equal(ranges[i].start, start);
	assert_int_equal(ranges[i].end, end);
	assert_ptr_equal(ranges[i].bytes, bytes);
	assert_int_equal(ranges[i].kind, kind);
}

static void assert_range_count(const struct ri_image *image, size_t expected)
{
	size_t count;

	ri_image_ranges(image, &count);
	assert_int_equal(count, expected);
}

static void empty_image_has_nothing(void **state)
{
	struct ri_image *image = ri_image_create();
	uint8_t byte;

	(void)state;
	ri_image_seal(image);
	assert_range_count(image, 0);
	assert_null(ri_image_find(image, 0));
	assert_false(ri_image_read(image, 0, &byte, 1));
	assert_null(ri_image_read_string(image, 0, 10));
	ri_image_destroy(image);
	ri_image_destroy(NULL);
}

static void empty_ranges_are_ignored(void **state)
{
	struct ri_image *image = ri_image_create();

	(void)state;
	add(image, 5, 5, NULL, RI_RANGE_MISSING);
	add(image, 6, 5, NULL, RI_RANGE_MISSING);
	ri_image_seal(image);
	assert_range_count(image, 0);
	ri_image_destroy(image);
}

static void file_fills_a_missing_range(void **state)
{
	static const uint8_t present[0x10], file[0x40];
	struct ri_image *image = ri_image_create();

	(void)state;
	add(image, 0x120, 0x130, present, RI_RANGE_PRESENT);
	add(image, 0x100, 0x200, NULL, RI_RANGE_MISSING);
	ri_image_seal(image);
	assert_range_count(image, 3);
	assert_range(image, 0, 0x100, 0x120, NULL, RI_RANGE_MISSING);
	assert_range(image, 1, 0x120, 0x130, present, RI_RANGE_PRESENT);
	assert_range(image, 2, 0x130, 0x200, NULL, RI_RANGE_MISSING);

	add(image, 0x110, 0x150, file, RI_RANGE_FILE);
	ri_image_seal(image);
	assert_range_count(image, 5);
	assert_range(image, 0, 0x100, 0x110, NULL, RI_RANGE_MISSING);
	assert_range(image, 1, 0x110, 0x120, file, RI_RANGE_FILE);
	assert_range(image, 2, 0x120, 0x130, present, RI_RANGE_PRESENT);
	assert_range(image, 3, 0x130, 0x150, file + 0x20, RI_RANGE_FILE);
	assert_range(image, 4, 0x150, 0x200, NULL, RI_RANGE_MISSING);
	ri_image_destroy(image);
}

static void earlier_range_wins_among_equals(void **state)
{
	static const uint8_t first[0x20], second[0x20];
	struct ri_image *image = ri_image_create();

	(void)state;
	add(image, 0x110, 0x130, first, RI_RANGE_PRESENT);
	add(image, 0x100, 0x120, second, RI_RANGE_PRESENT);
	add(image, 0x200, 0x220, NULL, RI_RANGE_UNTOUCHED);
	add(image, 0x200, 0x230, NULL, RI_RANGE_MISSING);
	ri_image_seal(image);
	assert_range_count(image, 4);
	assert_range(image, 0, 0x100, 0x110, second, RI_RANGE_PRESENT);
	assert_range(image, 1, 0x110, 0x130, first, RI_RANGE_PRESENT);
	assert_range(image, 2, 0x200, 0x220, NULL, RI_RANGE_UNTOUCHED);
	assert_range(image, 3, 0x220, 0x230, NULL, RI_RANGE_MISSING);
	ri_image_destroy(image);
}

static void range_to_the_end_of_the_address_space(void **state)
{
	static const uint8_t bytes[15];
	struct ri_image *image = ri_image_create();
	uint8_t buffer[16];

	(void)state;
	add(image, RI_IMAGE_END - 15, RI_IMAGE_END, bytes, RI_RANGE_PRESENT);
	add(image, RI_IMAGE_END, RI_IMAGE_END + 15, bytes, RI_RANGE_PRESENT);
	add(image, UINT64_MAX - 15, UINT64_MAX, bytes, RI_RANGE_PRESENT);
	add(image, 0, UINT64_MAX, NULL, RI_RANGE_MISSING);
	ri_image_seal(image);
	assert_range_count(image, 2);
	assert_true(ri_image_read(image, RI_IMAGE_END - 15, buffer, 15));
	assert_false(ri_image_read(image, RI_IMAGE_END - 15, buffer, 16));
	assert_null(ri_image_find(image, RI_IMAGE_END));
	assert_null(ri_image_find(image, UINT64_MAX - 8));
	assert_null(ri_image_find(image, UINT64_MAX));
	ri_image_destroy(image);
}

/* What the contract promises, byte by byte: the number of the winner, or -1. */
static int slow_winner(const struct ri_range *ranges, size_t count, uint64_t addr)
{
	int winner = -1;

	for (size_t i = 0; i < count; i++) {
		if (addr < ranges[i].start || addr >= ranges[i].end)
			continue;
		if (winner < 0 || (!ranges[winner].bytes && ranges[i].bytes))
			winner = (int)i;
	}
	return winner;
}

static void assert_same(const struct ri_image *image, const struct ri_range *ranges, size_t count,
			uint64_t addr)
{
	const struct ri_range *found = ri_image_find(image, addr);
	int winner = slow_winner(ranges, count, addr);

	assert_int_equal(found != NULL, winner >= 0);
	if (!found)
		return;
	/* flags carry the number of the range */
	assert_int_equal(found->flags, winner);
	assert_int_equal(found->kind, ranges[winner].kind);
	if (found->bytes)
		assert_ptr_equal(found->bytes + (addr - found->start),
				 ranges[winner].bytes + (addr - ranges[winner].start));
}

static void random_overlaps_match_the_contract(void **state)
{
	enum { ROUNDS = 60, COUNT = 40, SPACE = 300 };
	static const uint8_t bytes[SPACE];
	struct ri_range ranges[COUNT];

	(void)state;
	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		struct ri_image *image = ri_image_create();
		size_t count, span = 1u + (size_t)rand() % 60;

		for (size_t i = 0; i < COUNT; i++) {
			struct ri_range *range = &ranges[i];

			range->start = (uint64_t)rand() % SPACE;
			range->end = range->start + (uint64_t)rand() % span;
			range->kind = (enum ri_range_kind)(rand() % 4);
			range->bytes = range->kind <= RI_RANGE_FILE ? bytes : NULL;
			range->flags = (uint32_t)i;
			ri_image_add(image, range);
			if (rand() % 16 == 0)
				ri_image_seal(image);
		}
		ri_image_seal(image);
		ri_image_ranges(image, &count);
		assert_true(count <= 2 * COUNT);
		for (uint64_t addr = 0; addr < SPACE + 60; addr++)
			assert_same(image, ranges, COUNT, addr);
		ri_image_destroy(image);
	}
}

/* "abcdefgh" at 0x100, "ijklmnop" at 0x108, 8 untouched bytes, 8 missing, "q" after a hole. */
static struct ri_image *create_text_image(void)
{
	struct ri_image *image = ri_image_create();

	add(image, 0x118, 0x120, NULL, RI_RANGE_MISSING);
	add(image, 0x100, 0x108, "abcdefgh", RI_RANGE_PRESENT);
	add(image, 0x108, 0x110, "ijklmnop", RI_RANGE_FILE);
	add(image, 0x110, 0x118, NULL, RI_RANGE_UNTOUCHED);
	add(image, 0x200, 0x202, "q", RI_RANGE_PRESENT);
	ri_image_seal(image);
	return image;
}

static void reads_cross_adjoining_ranges(void **state)
{
	struct ri_image *image = create_text_image();
	uint8_t buffer[32];
	uint64_t value;
	uint32_t value32;

	(void)state;
	assert_true(ri_image_read(image, 0x104, buffer, 16));
	assert_memory_equal(buffer, "efghijklmnop\0\0\0\0", 16);
	assert_true(ri_image_read(image, 0x100, buffer, 24));
	assert_false(ri_image_read(image, 0x100, buffer, 25));
	assert_false(ri_image_read(image, 0xff, buffer, 2));
	assert_false(ri_image_read(image, 0x118, buffer, 1));
	assert_false(ri_image_read(image, 0x201, buffer, 2));
	assert_true(ri_image_read(image, 0x118, buffer, 0));
	assert_true(ri_image_read_u64(image, 0x100, &value));
	assert_true(value == 0x6867666564636261);
	assert_true(ri_image_read_u64(image, 0x104, &value));
	assert_true(value == 0x6c6b6a6968676665);
	assert_true(ri_image_read_u32(image, 0x10e, &value32));
	assert_int_equal(value32, 0x706f);
	assert_true(ri_image_read_uint(image, 0x107, 3, &value));
	assert_int_equal(value, 0x6a6968);
	assert_false(ri_image_read_u64(image, 0x111, &value));
	ri_image_destroy(image);
}

static void peek_stays_in_one_range(void **state)
{
	struct ri_image *image = create_text_image();

	(void)state;
	assert_memory_equal(ri_image_peek(image, 0x100, 8), "abcdefgh", 8);
	assert_null(ri_image_peek(image, 0x101, 8));
	assert_null(ri_image_peek(image, 0x110, 1));
	assert_null(ri_image_peek(image, 0x118, 1));
	assert_null(ri_image_peek(image, 0x100, SIZE_MAX));
	ri_image_destroy(image);
}

static void assert_string(const struct ri_image *image, uint64_t addr, size_t max_bytes,
			  const char *expected)
{
	char *string = ri_image_read_string(image, addr, max_bytes);

	if (expected)
		assert_string_equal(string, expected);
	else
		assert_null(string);
	free(string);
}

static void strings_end_at_nul_and_limit(void **state)
{
	struct ri_image *image = create_text_image();

	(void)state;
	assert_string(image, 0x104, 100, "efghijklmnop");
	assert_string(image, 0x104, SIZE_MAX, "efghijklmnop");
	assert_string(image, 0x104, 12, "efghijklmnop");
	assert_string(image, 0x104, 11, NULL);
	assert_string(image, 0x104, 0, NULL);
	assert_string(image, 0x112, 0, "");
	assert_string(image, 0x118, 10, NULL);
	assert_string(image, 0x200, 1, "q");
	assert_string(image, 0x201, 0, "");
	assert_string(image, 0x300, 10, NULL);
	ri_image_destroy(image);

	image = ri_image_create(); /* no NUL before the hole */
	add(image, 0x100, 0x104, "abcd", RI_RANGE_PRESENT);
	add(image, 0x108, 0x10c, "efg", RI_RANGE_PRESENT);
	ri_image_seal(image);
	assert_string(image, 0x100, 100, NULL);
	ri_image_destroy(image);
}

static void owned_mappings_are_unmapped(void **state)
{
	struct ri_image *image = ri_image_create();
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char resident;

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	ri_image_own_mapping(image, p, 4096);
	assert_int_equal(mincore(p, 4096, &resident), 0);
	ri_image_destroy(image);
	assert_int_equal(mincore(p, 4096, &resident), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_image_has_nothing),
		cmocka_unit_test(empty_ranges_are_ignored),
		cmocka_unit_test(file_fills_a_missing_range),
		cmocka_unit_test(earlier_range_wins_among_equals),
		cmocka_unit_test(range_to_the_end_of_the_address_space),
		cmocka_unit_test(random_overlaps_match_the_contract),
		cmocka_unit_test(reads_cross_adjoining_ranges),
		cmocka_unit_test(peek_stays_in_one_range),
		cmocka_unit_test(strings_end_at_nul_and_limit),
		cmocka_unit_test(owned_mappings_are_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
