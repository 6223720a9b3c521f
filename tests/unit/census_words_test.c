/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The census' filters against loops over every word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "census/found_words.h"
#include "census/words.h"

#define LOW 0x560000001000ull
#define SPAN 0x100000ull

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

/* Bytes among which are a few words on both sides of both ends of the range. */
static uint8_t *make_bytes(size_t size_bytes, uint64_t *seed)
{
	static const uint64_t words[] = { LOW - 1, LOW, LOW + SPAN - 1, LOW + SPAN, 0,
					  UINT64_MAX, LOW | 1ull << 63, 0x56ffffffffffull };
	uint8_t *bytes = ri_malloc(size_bytes);

	for (size_t i = 0; i < size_bytes; i++)
		bytes[i] = (uint8_t)(next_random(seed) % 4 ? 0 : next_random(seed));
	for (size_t k = 0; size_bytes >= 8 && k < size_bytes / 200 + 1; k++)
		memcpy(bytes + next_random(seed) % (size_bytes - 7),
		       &words[next_random(seed) % 8], 8);
	return bytes;
}

static void groups_that_differ_have_no_equal_word(void **state)
{
	ri_words_differ_function *skip_groups = ri_words_differ_skipper();
	uint64_t seed = 9;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t n = next_random(&seed) % 200, offset = next_random(&seed) % 8;
		uint64_t mask = round % 2 ? UINT64_MAX : UINT32_MAX;
		uint8_t *bytes = make_bytes(n * 8 + offset, &seed);
		const uint8_t *p = bytes + offset;
		uint64_t value = n ? ri_words_load(p, next_random(&seed) % n) : 0;

		if (round % 3)
			value = round % 2 ? LOW : 0; /* zeros are everywhere, LOW is rare */
		for (size_t i = 0; i < n; i++) {
			size_t end = skip_groups(p, i, n, value, mask), found = 0;

			assert_true(end >= i && end <= n && (end - i) % RI_WORDS_GROUP == 0);
			for (size_t k = i; k < end; k++)
				assert_true((ri_words_load(p, k) ^ value) & mask);
			for (size_t k = end; n - end >= RI_WORDS_GROUP && k < end + RI_WORDS_GROUP; k++)
				found += !((ri_words_load(p, k) ^ value) & mask);
			assert_true(n - end < RI_WORDS_GROUP || found);
		}
		free(bytes);
	}
}

static void skipped_groups_have_no_word_in_the_range(void **state)
{
	ri_words_skip_function *skip_groups = ri_words_skipper();
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t n = next_random(&seed) % 200, offset = next_random(&seed) % 8;
		uint8_t *bytes = make_bytes(n * 8 + offset, &seed);
		const uint8_t *p = bytes + offset;

		for (size_t i = 0; i < n; i++) {
			size_t end = skip_groups(p, i, n, LOW, SPAN), found = 0;

			assert_true(end >= i && end <= n && (end - i) % RI_WORDS_GROUP == 0);
			for (size_t k = i; k < end; k++)
				assert_false(ri_words_load(p, k) - LOW < SPAN);
			for (size_t k = end; n - end >= RI_WORDS_GROUP && k < end + RI_WORDS_GROUP; k++)
				found += ri_words_load(p, k) - LOW < SPAN;
			assert_true(n - end < RI_WORDS_GROUP || found);
		}
		free(bytes);
	}
}

static void upper_bytes_are_found_at_every_offset(void **state)
{
	ri_words_top_function *find = ri_words_top_finder();
	uint64_t *filter = ri_calloc(RI_WORDS_FILTER_BITS / 64, sizeof(*filter));
	uint64_t seed = 6;
	size_t total = 0;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t n = next_random(&seed) % 300, expected = 0;
		uint8_t *bytes = make_bytes(n + 7, &seed);

		for (size_t k = 0; k < RI_WORDS_FILTER_BITS / 64; k++)
			filter[k] = round % 2 ? UINT64_MAX
					      : (uint64_t)next_random(&seed) << 32 |
							next_random(&seed);
		for (size_t i = 0; i < n; i = expected + 1, total++) {
			for (expected = i; expected < n; expected++) {
				uint64_t word = ri_words_load(bytes + expected, 0);

				if (word >> 40 == 0x56 && ri_words_passes(filter, word))
					break;
			}
			assert_int_equal(find(bytes, i, n, 0x56, filter), expected);
		}
		free(bytes);
	}
	free(filter);
	assert_true(total > 500);
}

/* Words at both ends of the value's range and of memory, in every kind of range, and in a
 * register, against a loop over all of them. */
static void words_are_found_wherever_they_lie(void **state)
{
	const size_t size_bytes = 40u << 20;
	struct ri_thread thread = { .has_registers = true };
	struct ri_target target = { .image = ri_image_create(), .threads = &thread,
				    .thread_count = 1 };
	uint8_t *bytes = ri_calloc(1, size_bytes), code[64] = { 0 };
	uint64_t seed = 4, base = 0x7f0000000000;
	ri_found_word_list one = { 0 }, three = { 0 };
	size_t expected = 0;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		uint64_t value = LOW - 2 + next_random(&seed) % 8;
		size_t at = i < 2 ? (size_bytes - 8) * i : next_random(&seed) % (size_bytes / 8) * 8;

		memcpy(bytes + at, &value, 8);
	}
	for (size_t i = 0; i < size_bytes; i += 8)
		expected += ri_words_load(bytes + i, 0) - LOW < 5;
	memcpy(code, &(uint64_t){ LOW }, 8);
	ri_image_add(target.image, &(struct ri_range){ base, base + size_bytes, bytes,
						       RI_RANGE_PRESENT, RI_RANGE_WRITE });
	ri_image_add(target.image, &(struct ri_range){ 0x1000, 0x1040, code, RI_RANGE_FILE,
						       RI_RANGE_EXEC });
	ri_image_add(target.image, &(struct ri_range){ 0x2000, 0x3000, NULL, RI_RANGE_MISSING,
						       RI_RANGE_WRITE });
	ri_image_seal(target.image);
	thread.registers[RI_REG_RBX] = LOW + 4;
	thread.registers[RI_REG_R12] = LOW + 5;

	assert_true(ri_found_words_list(&target, LOW, 5, 1, &one));
	assert_true(ri_found_words_list(&target, LOW, 5, 3, &three));
	assert_int_equal(one.count, expected + 1);
	assert_int_equal(three.count, one.count);
	assert_memory_equal(three.items, one.items, one.count * sizeof(*one.items));
	for (size_t i = 0; i < expected; i++) {
		assert_true(!i || one.items[i].addr > one.items[i - 1].addr);
		assert_int_equal(ri_words_load(bytes + (one.items[i].addr - base), 0),
				 one.items[i].value);
	}
	assert_int_equal(one.items[expected].thread, 0);
	assert_int_equal(one.items[expected].addr, RI_REG_RBX);
	assert_false(ri_found_words_list(&target, 0, 1, 2, &three)); /* zeros */
	assert_int_equal(three.count, 0);
	ri_vec_deinit(&one);
	ri_vec_deinit(&three);
	ri_image_destroy(target.image);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_that_differ_have_no_equal_word),
		cmocka_unit_test(skipped_groups_have_no_word_in_the_range),
		cmocka_unit_test(upper_bytes_are_found_at_every_offset),
		cmocka_unit_test(words_are_found_wherever_they_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
