/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pymalloc's pools on images that are written here word by word: sound ones, damaged
 * headers between pools and at the edges of arenas, and what is no damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "heap/heap.h"

#define MEMORY 0x7f0000000000u
#define POOL 4096u
#define BLOCK 64u
#define HEADER 48u
#define BLOCKS ((POOL - HEADER) / BLOCK)

struct process {
	struct ri_target target;
	struct ri_gaps gaps;
	struct ri_heap *heap;
	uint8_t *memory;
	size_t pages;
};

static struct process create(size_t pages)
{
	struct process process = { .memory = ri_calloc(pages, POOL), .pages = pages };

	process.target.image = ri_image_create();
	ri_gaps_init(&process.gaps);
	return process;
}

static void put(struct process *process, size_t page, uint64_t offset, uint64_t word)
{
	memcpy(process->memory + page * POOL + offset, &word, sizeof(word));
}

static uint64_t page_addr(size_t page)
{
	return MEMORY + page * POOL;
}

/* A pool all of whose blocks are in use. */
static void put_pool(struct process *process, size_t page, uint32_t arena)
{
	uint64_t last = POOL - BLOCK, carved = HEADER + BLOCKS * BLOCK;

	put(process, page, 0, BLOCKS);
	put(process, page, 32, (uint64_t)(BLOCK / 16 - 1) << 32 | arena);
	put(process, page, 40, last << 32 | carved);
}

/* What is left of a pool's header: where its blocks were handed out up to cannot be. */
static void put_half(struct process *process, size_t page, uint32_t arena)
{
	put_pool(process, page, arena);
	put(process, page, 40, (uint64_t)(POOL - BLOCK) << 32 | 0xffff);
}

static void add(struct process *process, size_t first, size_t end, enum ri_range_kind kind)
{
	struct ri_range range = {
		.start = page_addr(first),
		.end = page_addr(end),
		.bytes = kind == RI_RANGE_PRESENT ? process->memory + first * POOL : NULL,
		.kind = kind,
		.flags = RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_ANONYMOUS,
	};

	ri_image_add(process->target.image, &range);
}

static void walk(struct process *process)
{
	ri_image_seal(process->target.image);
	process->heap = ri_heap_create(&process->target, NULL, &process->gaps);
	assert_string_equal(process->heap->allocator, "pymalloc");
}

static void walk_all(struct process *process)
{
	add(process, 0, process->pages, RI_RANGE_PRESENT);
	walk(process);
}

static void destroy(struct process *process)
{
	ri_heap_destroy(process->heap);
	ri_image_destroy(process->target.image);
	ri_gaps_deinit(&process->gaps);
	free(process->memory);
}

static int state_of(const struct process *process, uint64_t addr)
{
	uint32_t i = ri_heap_find(process->heap, addr);

	return i == RI_NONE ? -1 : (int)process->heap->blocks[i].state;
}

static bool has_gap(const struct process *process, const char *text)
{
	for (size_t i = 0; i < process->gaps.count; i++)
		if (strstr(process->gaps.items[i].message, text))
			return true;
	return false;
}

static void blocks_are_told_apart(void **state)
{
	struct process p = create(3);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		put_pool(&p, i, 1);
	/* blocks 2 and 5 of the second pool are free */
	put(&p, 1, 0, BLOCKS - 2);
	put(&p, 1, 8, page_addr(1) + HEADER + 5 * BLOCK);
	put(&p, 1, HEADER + 5 * BLOCK, page_addr(1) + HEADER + 2 * BLOCK);
	walk_all(&p);
	assert_int_equal(p.heap->damage_count, 0);
	assert_int_equal(state_of(&p, page_addr(0)), RI_BLOCK_RECORD);
	for (size_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(state_of(&p, page_addr(0) + HEADER + i * BLOCK), RI_BLOCK_USED);
		assert_int_equal(state_of(&p, page_addr(1) + HEADER + i * BLOCK),
				 i == 2 || i == 5 ? RI_BLOCK_FREE : RI_BLOCK_USED);
	}
	destroy(&p);
}

static void chain_that_does_not_add_up(void **state)
{
	struct process p = create(2);

	(void)state;
	put_pool(&p, 0, 1);
	put_pool(&p, 1, 1);
	put(&p, 1, 0, BLOCKS - 3);
	walk_all(&p);
	assert_int_equal(p.heap->damage_count, 1);
	assert_int_equal(p.heap->damages[0].addr, page_addr(1));
	assert_int_equal(state_of(&p, page_addr(0) + HEADER), RI_BLOCK_USED);
	assert_int_equal(state_of(&p, page_addr(1) + HEADER), RI_BLOCK_UNKNOWN);
	destroy(&p);
}

static void header_between_pools(void **state)
{
	struct process p = create(3);

	(void)state;
	put_pool(&p, 0, 1);
	memset(p.memory + POOL, 0x41, POOL);
	put_pool(&p, 2, 1);
	walk_all(&p);
	assert_int_equal(p.heap->damage_count, 1);
	assert_int_equal(p.heap->damages[0].addr, page_addr(1));
	assert_int_equal(state_of(&p, page_addr(1) + HEADER), RI_BLOCK_UNKNOWN);
	assert_int_equal(state_of(&p, page_addr(2) + HEADER), RI_BLOCK_USED);
	destroy(&p);
}

/* Many: the list of pools grows while it is gone through. */
static void headers_at_edges(void **state)
{
	enum { ARENAS = 300, PAGES = 8 };
	struct process p = create(ARENAS * PAGES);

	(void)state;
	for (uint32_t i = 0; i < ARENAS; i++) {
		put_pool(&p, i * PAGES, i);
		put_half(&p, i * PAGES + 1, i);
		put_half(&p, i * PAGES + PAGES - 1, i + 1);
	}
	walk_all(&p);
	/* nothing follows the last arena's */
	assert_int_equal(p.heap->damage_count, 2 * ARENAS - 1);
	for (size_t i = 0; i + 1 < ARENAS; i++) {
		const struct ri_heap_damage *after = &p.heap->damages[2 * i];

		assert_int_equal(after[0].addr, page_addr(i * PAGES + 1));
		assert_int_equal(after[0].neighbour, page_addr(i * PAGES));
		assert_int_equal(after[1].addr, page_addr(i * PAGES + PAGES - 1));
		assert_int_equal(after[1].neighbour, page_addr(i * PAGES + PAGES));
	}
	destroy(&p);
}

/* Two interpreters number their arenas alike: the unused end of one's is no damage. */
static void blank_between_pools_is_no_damage(void **state)
{
	struct process p = create(6);

	(void)state;
	put_pool(&p, 0, 0);
	put_pool(&p, 1, 0);
	put_pool(&p, 5, 0);
	walk_all(&p);
	assert_int_equal(p.heap->damage_count, 0);
	assert_false(has_gap(&p, "not in the image"));
	assert_int_equal(state_of(&p, page_addr(3)), RI_BLOCK_UNKNOWN);
	assert_int_equal(state_of(&p, page_addr(5) + HEADER), RI_BLOCK_USED);
	destroy(&p);
}

/* What the image lacks is no damage, and is said. */
static void absent_pool_is_a_gap(void **state)
{
	struct process p = create(4);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		put_pool(&p, i, 1);
	add(&p, 0, 1, RI_RANGE_PRESENT);
	add(&p, 1, 2, RI_RANGE_MISSING);
	add(&p, 2, 4, RI_RANGE_PRESENT);
	walk(&p);
	assert_int_equal(p.heap->damage_count, 0);
	assert_true(has_gap(&p, "1 pools of pymalloc are not in the image"));
	assert_int_equal(state_of(&p, page_addr(1) + HEADER), RI_BLOCK_UNKNOWN);
	assert_int_equal(state_of(&p, page_addr(2) + HEADER), RI_BLOCK_USED);
	destroy(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_told_apart),
		cmocka_unit_test(chain_that_does_not_add_up),
		cmocka_unit_test(header_between_pools),
		cmocka_unit_test(headers_at_edges),
		cmocka_unit_test(blank_between_pools_is_no_damage),
		cmocka_unit_test(absent_pool_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
