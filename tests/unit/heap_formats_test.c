/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap floor on images that are written here word by word: the record formats
 * of glibc versions that the machine at hand does not have, memory that an image
 * lacks, and the signs of other allocators.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "heap/glibc.h"

#define DATA 0x7f0000001000u
#define STATE (DATA + 0x100)
#define HEAP 0x555500000000u
#define DATA_BYTES 0x2000u
#define HEAP_BYTES 0x10000u
#define CHUNK 0x70u
#define CHUNK_COUNT 200u
#define CLASS ((CHUNK - 0x20) / 16)

struct format {
	const char *name;
	uint64_t head;           /* from malloc_state to bins[] */
	uint64_t tcache_bytes;
	unsigned number_bytes, list_count;
	bool counts_down, has_xor;
};

static const struct format formats[] = {
	{ "2.26", 0x68, 64 * 9, 1, 64, false, false },
	{ "2.28", 0x70, 64 * 9, 1, 64, false, false },
	{ "2.31", 0x70, 64 * 10, 2, 64, false, false },
	{ "2.36", 0x70, 64 * 10, 2, 64, false, true },
	{ "2.42", 0x70, 76 * 10, 2, 76, true, true },
	{ "2.43", 0x18, 76 * 10, 2, 76, true, true },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

struct process {
	struct ri_target target;
	struct ri_gaps gaps;
	uint8_t data[DATA_BYTES], heap[HEAP_BYTES];
	uint64_t first;          /* the first of the chunks behind the tcache */
};

static void put(struct process *process, uint64_t addr, uint64_t word)
{
	uint8_t *p = addr >= DATA ? process->data + (addr - DATA) : process->heap + (addr - HEAP);

	memcpy(p, &word, sizeof(word));
}

static uint64_t user(const struct process *process, unsigned i)
{
	return process->first + i * CHUNK + 16;
}

static uint64_t tie(const struct format *format, uint64_t at, uint64_t link)
{
	return format->has_xor ? link ^ at >> 12 : link;
}

/* Chunks 10 to 14 are in the tcache, 20 to 22 in a fastbin (where there are any). */
static void put_lists(struct process *process, const struct format *format)
{
	uint64_t tcache = HEAP + 16;
	uint64_t entries = tcache + (uint64_t)format->list_count * format->number_bytes;
	uint64_t fastbin = STATE + format->head - 0x60 + 8 * CLASS;

	for (unsigned i = 0; i < format->list_count; i++) {
		uint16_t number = format->counts_down ? 7 : 0;

		if (i == CLASS)
			number = format->counts_down ? 2 : 5;
		memcpy(process->heap + 16 + (size_t)i * format->number_bytes, &number,
		       format->number_bytes);
	}
	put(process, entries + 8 * CLASS, user(process, 10));
	for (unsigned i = 10; i < 15; i++)
		put(process, user(process, i),
		    tie(format, user(process, i), i < 14 ? user(process, i + 1) : 0));
	if (format->head < 0x68)
		return;
	put(process, fastbin, user(process, 20) - 16);
	for (unsigned i = 20; i < 23; i++)
		put(process, user(process, i),
		    tie(format, user(process, i), i < 22 ? user(process, i + 1) - 16 : 0));
}

static struct process *create(const struct format *format)
{
	struct process *process = ri_calloc(1, sizeof(*process));
	uint64_t tcache = (format->tcache_bytes + 8 + 15) & ~15ull;
	uint64_t bins = STATE + format->head, top;

	process->first = HEAP + tcache;
	put(process, HEAP + 8, tcache | 1);
	for (unsigned i = 0; i < CHUNK_COUNT; i++) {
		put(process, user(process, i) - 8, CHUNK | 1);
		memset(process->heap + (user(process, i) - HEAP), 0x5a, CHUNK - 16);
	}
	top = process->first + CHUNK_COUNT * CHUNK;
	put(process, top + 8, (HEAP + HEAP_BYTES - top) | 1);
	for (unsigned i = 0; i < 127; i++) {
		put(process, bins + 16 * i, bins + 16 * i - 16);
		put(process, bins + 16 * i + 8, bins + 16 * i - 16);
	}
	put(process, bins - 16, top);
	put(process, bins + 0x800, STATE);
	put(process, bins + 0x810, 1);
	put(process, bins + 0x818, HEAP_BYTES);
	put(process, bins + 0x820, HEAP_BYTES);
	put_lists(process, format);
	process->target.image = ri_image_create();
	ri_gaps_init(&process->gaps);
	return process;
}

static void add_range(struct process *process, uint64_t start, uint64_t end,
		      enum ri_range_kind kind)
{
	bool is_heap = start < DATA;
	struct ri_range range = {
		.start = start,
		.end = end,
		.bytes = is_heap ? process->heap + (start - HEAP) : process->data + (start - DATA),
		.kind = kind,
		.flags = RI_RANGE_READ | RI_RANGE_WRITE | (is_heap ? RI_RANGE_ANONYMOUS : 0),
	};

	if (kind != RI_RANGE_PRESENT)
		range.bytes = NULL;
	ri_image_add(process->target.image, &range);
}

static struct ri_heap *walk(struct process *process)
{
	ri_image_seal(process->target.image);
	return ri_heap_create(&process->target, NULL, &process->gaps);
}

static void destroy(struct process *process, struct ri_heap *heap)
{
	ri_heap_destroy(heap);
	ri_image_destroy(process->target.image);
	ri_gaps_deinit(&process->gaps);
	free(process);
}

static int state_of(const struct ri_heap *heap, uint64_t addr)
{
	uint32_t i = ri_heap_find(heap, addr);

	return i == RI_NONE ? -1 : (int)heap->blocks[i].state;
}

static void each_format_is_read(void **state)
{
	(void)state;
	for (size_t f = 0; f < FORMAT_COUNT; f++) {
		struct process *process = create(&formats[f]);
		struct ri_heap *heap;

		print_message("%s\n", formats[f].name);
		add_range(process, DATA, DATA + DATA_BYTES, RI_RANGE_PRESENT);
		add_range(process, HEAP, HEAP + HEAP_BYTES, RI_RANGE_PRESENT);
		heap = walk(process);
		assert_int_equal(heap->damage_count, 0);
		assert_int_equal(heap->arena_count, 1);
		assert_int_equal(heap->region_count, 2);
		assert_int_equal(state_of(heap, HEAP + 16), RI_BLOCK_RECORD);
		assert_int_equal(state_of(heap, STATE), RI_BLOCK_RECORD);
		for (unsigned i = 0; i < CHUNK_COUNT; i++) {
			bool is_free = (i >= 10 && i < 15) ||
				       (i >= 20 && i < 23 && formats[f].head >= 0x68);

			assert_int_equal(state_of(heap, user(process, i)),
					 is_free ? RI_BLOCK_FREE : RI_BLOCK_USED);
		}
		assert_int_equal(state_of(heap, HEAP + HEAP_BYTES - 1), RI_BLOCK_FREE);
		assert_int_equal(state_of(heap, HEAP + 8), -1);
		assert_int_equal(process->gaps.count, heap->foreign_allocator ? 1 : 0);
		destroy(process, heap);
	}
}

/* One page is not in the image: the blocks on it are unknown, no others. */
static void missing_page_is_a_gap(void **state)
{
	struct process *process = create(&formats[3]);
	struct ri_heap *heap;
	uint64_t hole = HEAP + 0x2000;

	(void)state;
	add_range(process, DATA, DATA + DATA_BYTES, RI_RANGE_PRESENT);
	add_range(process, HEAP, hole, RI_RANGE_PRESENT);
	add_range(process, hole, hole + 0x1000, RI_RANGE_MISSING);
	add_range(process, hole + 0x1000, HEAP + HEAP_BYTES, RI_RANGE_PRESENT);
	heap = walk(process);
	assert_int_equal(heap->damage_count, 0);
	assert_true(ri_gaps_has_serious(&process->gaps));
	assert_int_equal(state_of(heap, hole + 0x800), RI_BLOCK_UNKNOWN);
	for (unsigned i = 0; i < CHUNK_COUNT; i++) {
		uint64_t start = user(process, i), end = start + CHUNK;

		if (end <= hole || start - 16 >= hole + 0x1000)
			assert_int_not_equal(state_of(heap, start), RI_BLOCK_UNKNOWN);
	}
	assert_int_equal(state_of(heap, user(process, CHUNK_COUNT - 1)), RI_BLOCK_USED);
	destroy(process, heap);
}

/* A free chunk's size stands twice; here the second one is wrong. */
static void wrong_size_behind_free_chunk(void **state)
{
	struct process *process = create(&formats[3]);
	struct ri_heap *heap;
	uint64_t bins = STATE + formats[3].head, chunk = user(process, 50) - 16;

	(void)state;
	put(process, bins, chunk);
	put(process, bins + 8, chunk);
	put(process, chunk + 16, bins - 16);
	put(process, chunk + 24, bins - 16);
	put(process, chunk + CHUNK, CHUNK + 0x10);
	put(process, chunk + CHUNK + 8, CHUNK);
	add_range(process, DATA, DATA + DATA_BYTES, RI_RANGE_PRESENT);
	add_range(process, HEAP, HEAP + HEAP_BYTES, RI_RANGE_PRESENT);
	heap = walk(process);
	assert_int_equal(heap->damage_count, 1);
	assert_int_equal(heap->damages[0].addr, chunk + CHUNK);
	assert_int_equal(heap->damages[0].neighbour, chunk);
	assert_int_equal(state_of(heap, chunk + 16), RI_BLOCK_FREE);
	assert_int_equal(state_of(heap, chunk + CHUNK + 16), RI_BLOCK_USED);
	destroy(process, heap);
}

/* The top chunk was overrun: its size leads nowhere. */
static void overwritten_top(void **state)
{
	struct process *process = create(&formats[3]);
	struct ri_heap *heap;

	(void)state;
	put(process, process->first + CHUNK_COUNT * CHUNK + 8, UINT64_MAX);
	add_range(process, DATA, DATA + DATA_BYTES, RI_RANGE_PRESENT);
	add_range(process, HEAP, HEAP + HEAP_BYTES, RI_RANGE_PRESENT);
	heap = walk(process);
	assert_int_equal(heap->damage_count, 1);
	assert_int_equal(heap->damages[0].addr, process->first + CHUNK_COUNT * CHUNK);
	assert_int_equal(state_of(heap, user(process, 0)), RI_BLOCK_USED);
	assert_int_equal(state_of(heap, user(process, CHUNK_COUNT - 1)), RI_BLOCK_USED);
	destroy(process, heap);
}

static const char *foreign_of(const char *path, const struct format *format)
{
	static const struct ri_mapping none;
	struct process *process = create(format ? format : &formats[3]);
	char *copy = ri_strdup(path);
	struct ri_mapping mapping = none;
	struct ri_heap *heap;
	const char *foreign;

	mapping.start = 0x1000;
	mapping.end = 0x2000;
	mapping.path = copy;
	process->target.mappings = &mapping;
	process->target.mapping_count = 1;
	if (format) {
		add_range(process, DATA, DATA + DATA_BYTES, RI_RANGE_PRESENT);
		add_range(process, HEAP, HEAP + HEAP_BYTES, RI_RANGE_PRESENT);
	}
	heap = walk(process);
	foreign = heap->foreign_allocator;
	assert_int_equal(ri_gaps_has_serious(&process->gaps), foreign != NULL);
	destroy(process, heap);
	free(copy);
	return foreign;
}

static void foreign_allocators_are_noticed(void **state)
{
	(void)state;
	assert_non_null(strstr(foreign_of("/usr/lib/libjemalloc.so.2", &formats[3]), "jemalloc"));
	assert_non_null(strstr(foreign_of("/usr/lib/libasan.so.8", &formats[3]), "Address"));
	assert_non_null(strstr(foreign_of("/lib/ld-musl-x86_64.so.1", NULL), "musl"));
	assert_non_null(foreign_of("[heap]", NULL));
	assert_non_null(foreign_of("/usr/bin/something", NULL));
	assert_null(foreign_of("/usr/lib/libc.so.6", &formats[3]));
	assert_null(foreign_of("/usr/bin/something", &formats[3]));
	assert_non_null(foreign_of("/usr/lib/libc.so.6", NULL));
}

static void empty_image(void **state)
{
	struct process *process = create(&formats[3]);
	struct ri_heap *heap = walk(process);

	(void)state;
	assert_int_equal(heap->block_count, 0);
	assert_int_equal(ri_heap_find(heap, 0), RI_NONE);
	assert_int_equal(ri_heap_find(heap, HEAP), RI_NONE);
	assert_null(ri_heap_find_region(heap, HEAP));
	assert_string_equal(heap->allocator, "unknown");
	destroy(process, heap);
}

/* Whatever order spans are found in, they ascend and do not overlap. */
static void spans_are_kept_in_order(void **state)
{
	static const struct ri_glibc_span found[] = {
		{ 0x5000, 0x5010, 0x6000, 0 }, { 0x1000, 0x1010, 0x2000, 1 },
		{ 0x3000, 0x3010, 0x4000, 2 }, { 0x1800, 0x1810, 0x3000, 3 }, /* overlaps */
		{ 0x5800, 0x5800, 0x5900, 4 }, /* lies within */
		{ 0x7000, 0x8000, 0x8000, 5 }, /* empty */
		{ 0x2000, 0x2000, 0x3000, 6 }, { 0x6000, 0x6010, 0x7000, 7 },
	};
	static const uint32_t wanted[] = { 1, 6, 2, 0, 7 };
	struct ri_glibc glibc = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		ri_glibc_add_span(&glibc, &found[i]);
	assert_int_equal(glibc.spans.count, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < glibc.spans.count; i++)
		assert_int_equal(glibc.spans.items[i].arena, wanted[i]);
	ri_vec_deinit(&glibc.spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_is_read),
		cmocka_unit_test(missing_page_is_a_gap),
		cmocka_unit_test(wrong_size_behind_free_chunk),
		cmocka_unit_test(overwritten_top),
		cmocka_unit_test(foreign_allocators_are_noticed),
		cmocka_unit_test(empty_image),
		cmocka_unit_test(spans_are_kept_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
