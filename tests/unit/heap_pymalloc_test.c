/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pymalloc and the debug hooks on memory that is written here: pools of both sizes, mapped
 * and inside a block of another allocator, and what damaged records must give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/span_index.h"
#include "heap/heap_builder.h"

#define BASE 0x7f0000040000u
#define POOLS 6u
#define MEMORY_BYTES (POOLS * (16u << 10))
#define HEADER_BYTES 48u

struct world {
	struct ri_target target;
	struct ri_gaps gaps;
	struct ri_heap heap;
	struct ri_heap_builder builder;
	uint32_t pool_bytes;
	uint8_t memory[MEMORY_BYTES];
};

static void put(struct world *world, uint64_t addr, uint64_t value, unsigned size)
{
	assert_true(addr - BASE + size <= MEMORY_BYTES);
	memcpy(world->memory + (addr - BASE), &value, size);
}

static uint64_t pool_at(const struct world *world, unsigned i)
{
	return BASE + (uint64_t)i * world->pool_bytes;
}

static uint64_t block_at(const struct world *world, unsigned pool, unsigned size, unsigned i)
{
	return pool_at(world, pool) + HEADER_BYTES + (uint64_t)i * size;
}

/* A pool of arena 7 with `carved` blocks of `size` bytes, of which those at `first_free`,
 * `first_free` + 2, ... are free, `free_count` in all. */
static void put_pool(struct world *world, unsigned pool, unsigned size, unsigned step,
		     unsigned carved, unsigned first_free, unsigned free_count)
{
	uint64_t at = pool_at(world, pool);

	put(world, at, carved - free_count, 4);
	put(world, at + 8, free_count ? block_at(world, pool, size, first_free) : 0, 8);
	put(world, at + 32, 7, 4);
	put(world, at + 36, size / step - 1, 4);
	put(world, at + 40, HEADER_BYTES + carved * size, 4);
	put(world, at + 44, world->pool_bytes - size, 4);
	for (unsigned i = 0; i < free_count; i++)
		put(world, block_at(world, pool, size, first_free + 2 * i),
		    i + 1 < free_count ? block_at(world, pool, size, first_free + 2 * i + 2) : 0,
		    8);
}

/* Pools of 16, 64 and 512 bytes (8 a step: of 24), and some that were never used. */
static struct world *create(uint32_t pool_bytes, unsigned step)
{
	struct world *world = ri_calloc(1, sizeof(*world));

	world->pool_bytes = pool_bytes;
	put_pool(world, 0, 16, step, 20, 3, 4);
	put_pool(world, 1, step == 8 ? 24 : 64, step, 10, 0, 0);
	put_pool(world, 2, 512, step, 5, 1, 2);
	world->builder.heap = &world->heap;
	return world;
}

static void walk(struct world *world)
{
	const struct ri_range range = {
		.start = BASE,
		.end = BASE + MEMORY_BYTES,
		.bytes = world->memory,
		.kind = RI_RANGE_PRESENT,
		.flags = RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_ANONYMOUS,
	};

	ri_gaps_init(&world->gaps);
	world->target.kind = RI_TARGET_CORE;
	world->target.image = ri_image_create();
	ri_image_add(world->target.image, &range);
	ri_image_seal(world->target.image);
	ri_allocator_pymalloc.walk(&world->target, NULL, &world->gaps, &world->builder);
	ri_allocator_guarded.walk(&world->target, NULL, &world->gaps, &world->builder);
	ri_heap_builder_seal(&world->builder);
}

static void destroy(struct world *world)
{
	ri_span_index_destroy(world->heap.index);
	free(world->heap.blocks);
	free(world->heap.regions);
	free(world->heap.damages);
	free(world->builder.runs);
	ri_image_destroy(world->target.image);
	ri_gaps_deinit(&world->gaps);
	free(world);
}

static void expect_block(const struct world *world, uint64_t addr, uint64_t size,
			 enum ri_block_state state)
{
	uint32_t i = ri_heap_find(&world->heap, addr);

	assert_int_not_equal(i, RI_NONE);
	assert_int_equal(world->heap.blocks[i].addr, addr);
	assert_int_equal(world->heap.blocks[i].size_bytes, size);
	assert_int_equal(world->heap.blocks[i].state, state);
}

static size_t count_blocks(const struct world *world, enum ri_block_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < world->heap.block_count; i++)
		count += world->heap.blocks[i].state == state;
	return count;
}

static void expect_sound(uint32_t pool_bytes, unsigned step)
{
	struct world *world = create(pool_bytes, step);
	unsigned middle = step == 8 ? 24 : 64;

	walk(world);
	assert_int_equal(world->heap.damage_count, 0);
	for (unsigned i = 0; i < 20; i++)
		expect_block(world, block_at(world, 0, 16, i), 16,
			     i >= 3 && i <= 9 && i % 2 ? RI_BLOCK_FREE : RI_BLOCK_USED);
	for (unsigned i = 0; i < 10; i++)
		expect_block(world, block_at(world, 1, middle, i), middle, RI_BLOCK_USED);
	for (unsigned i = 0; i < 5; i++)
		expect_block(world, block_at(world, 2, 512, i), 512,
			     i == 1 || i == 3 ? RI_BLOCK_FREE : RI_BLOCK_USED);
	expect_block(world, pool_at(world, 1), HEADER_BYTES, RI_BLOCK_RECORD);
	expect_block(world, block_at(world, 0, 16, 20), pool_bytes - HEADER_BYTES - 20 * 16,
		     RI_BLOCK_FREE);
	assert_int_equal(count_blocks(world, RI_BLOCK_USED), 16 + 10 + 3);
	assert_int_equal(ri_heap_find(&world->heap, pool_at(world, 3)), RI_NONE);
	assert_int_equal(world->heap.region_count, 1);
	assert_int_equal(world->heap.regions[0].end, pool_at(world, 3));
	destroy(world);
}

static void test_pools_of_both_sizes_and_alignments(void **state)
{
	(void)state;
	expect_sound(16u << 10, 16);
	expect_sound(4u << 10, 16);
	expect_sound(4u << 10, 8);
}

static void test_one_pool_alone_is_none(void **state)
{
	struct world *world = create(16u << 10, 16);

	(void)state;
	memset(world->memory + world->pool_bytes, 0, 2 * (size_t)world->pool_bytes);
	walk(world);
	assert_int_equal(world->heap.block_count, 0);
	destroy(world);
}

/* Each word of a header but the neighbours', wrong. */
static void test_a_damaged_header_between_others(void **state)
{
	static const struct {
		unsigned offset, size;
		uint64_t value;
	} edits[] = {
		{ 0, 4, 11 }, { 8, 8, BASE + 5 }, { 8, 8, 0xdeadbeef }, { 36, 4, 9 },
		{ 40, 4, 0xffff }, { 40, 4, 49 }, { 44, 4, 3 }, { 44, 4, 0xffffffff },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		struct world *world = create(16u << 10, 16);

		put(world, pool_at(world, 1) + edits[i].offset, edits[i].value, edits[i].size);
		walk(world);
		assert_int_equal(world->heap.damage_count, 1);
		assert_int_equal(world->heap.damages[0].addr, pool_at(world, 1));
		expect_block(world, pool_at(world, 1), world->pool_bytes, RI_BLOCK_UNKNOWN);
		assert_int_equal(count_blocks(world, RI_BLOCK_USED), 16 + 3);
		destroy(world);
	}
}

static void test_a_damaged_header_at_an_end(void **state)
{
	struct world *world = create(16u << 10, 16);

	(void)state;
	put(world, pool_at(world, 2) + 40, 0xffff, 4);
	walk(world);
	assert_int_equal(world->heap.damage_count, 1);
	expect_block(world, pool_at(world, 2), world->pool_bytes, RI_BLOCK_UNKNOWN);
	destroy(world);
}

/* The blocks are known, but not which of those that the chain does not reach are free. */
static void expect_bad_chain(uint64_t addr_in_pool, uint64_t value, unsigned size)
{
	struct world *world = create(16u << 10, 16);

	put(world, pool_at(world, 2) + addr_in_pool, value, size);
	walk(world);
	assert_int_equal(world->heap.damage_count, 1);
	assert_int_equal(world->heap.damages[0].addr, pool_at(world, 2));
	expect_block(world, block_at(world, 2, 512, 0), 512, RI_BLOCK_UNKNOWN);
	expect_block(world, block_at(world, 2, 512, 1), 512, RI_BLOCK_FREE);
	assert_int_equal(count_blocks(world, RI_BLOCK_USED), 16 + 10);
	destroy(world);
}

static void test_damaged_chains(void **state)
{
	const uint64_t second = HEADER_BYTES + 512, first = BASE + 2 * (16u << 10) + second;

	(void)state;
	expect_bad_chain(second, 0x1234, 8);     /* leads out of the pool */
	expect_bad_chain(second, first, 8);      /* goes round */
	expect_bad_chain(second, first + 8, 8);  /* leads into a block */
	expect_bad_chain(second, 0, 8);          /* ends early */
	expect_bad_chain(0, 2, 4);               /* the number in use is too low */
}

static void test_pools_inside_another_allocators_block(void **state)
{
	struct world *world = create(4u << 10, 16);

	(void)state;
	ri_heap_builder_add_block(&world->builder, BASE - 0x800, 0x1000, RI_BLOCK_USED);
	ri_heap_builder_add_block(&world->builder, BASE + 0x2800, 0x8000, RI_BLOCK_USED);
	walk(world);
	assert_int_equal(world->heap.damage_count, 0);
	expect_block(world, BASE - 0x800, 0x800, RI_BLOCK_USED);
	expect_block(world, BASE + 0x3000, 0x7800, RI_BLOCK_USED);
	expect_block(world, block_at(world, 1, 64, 0), 64, RI_BLOCK_USED);
	assert_int_equal(count_blocks(world, RI_BLOCK_USED), 16 + 10 + 3 + 2);
	destroy(world);
}

/* Every block of the first pool, of 64 bytes now, with guards around 24 bytes. */
static void put_guards(struct world *world)
{
	put_pool(world, 0, 64, 16, 20, 0, 0);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t at = block_at(world, 0, 64, i);

		put(world, at, __builtin_bswap64(24), 8);
		put(world, at + 8, 0xfdfdfdfdfdfdfd00 | (i % 2 ? 'o' : 'm'), 8);
		put(world, at + 40, 0xfdfdfdfdfdfdfdfd, 8);
	}
}

static void test_guards_are_no_part_of_a_block(void **state)
{
	struct world *world = create(16u << 10, 16);

	(void)state;
	put_guards(world);
	walk(world);
	assert_int_equal(world->heap.damage_count, 0);
	for (unsigned i = 0; i < 20; i++)
		expect_block(world, block_at(world, 0, 64, i) + 16, 24, RI_BLOCK_USED);
	expect_block(world, block_at(world, 1, 64, 0), 64, RI_BLOCK_USED);
	assert_int_equal(ri_heap_find(&world->heap, block_at(world, 0, 64, 3)), RI_NONE);
	destroy(world);
}

static void test_guards_that_were_written_over(void **state)
{
	struct world *world = create(16u << 10, 16);

	(void)state;
	put_guards(world);
	put(world, block_at(world, 0, 64, 5) + 40, 0, 1);
	walk(world);
	assert_int_equal(world->heap.damage_count, 1);
	assert_int_equal(world->heap.damages[0].addr, block_at(world, 0, 64, 5));
	expect_block(world, block_at(world, 0, 64, 5) + 16, 24, RI_BLOCK_USED);
	destroy(world);
}

/* Whatever a header says, the walk ends and adds no block outside the pools. */
static void test_random_headers_end(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned trial = 0; trial < 2000; trial++) {
		struct world *world = create(4u << 10, 16);

		for (unsigned i = 0; i < 4; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			put(world, pool_at(world, (random >> 33) % 3) + (random >> 40) % 56,
			    random >> (random >> 58), 1u << (random >> 36) % 4);
		}
		walk(world);
		for (size_t i = 0; i < world->heap.block_count; i++)
			assert_true(world->heap.blocks[i].addr >= BASE &&
				    world->heap.blocks[i].addr +
						    world->heap.blocks[i].size_bytes <=
					    BASE + MEMORY_BYTES);
		destroy(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools_of_both_sizes_and_alignments),
		cmocka_unit_test(test_one_pool_alone_is_none),
		cmocka_unit_test(test_a_damaged_header_between_others),
		cmocka_unit_test(test_a_damaged_header_at_an_end),
		cmocka_unit_test(test_damaged_chains),
		cmocka_unit_test(test_pools_inside_another_allocators_block),
		cmocka_unit_test(test_guards_are_no_part_of_a_block),
		cmocka_unit_test(test_guards_that_were_written_over),
		cmocka_unit_test(test_random_headers_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
