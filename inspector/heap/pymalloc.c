/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pymalloc, CPython's allocator for requests of up to 512 bytes: pools of blocks of one
 * size, cut from arenas that are mapped or, nested, come from malloc.
 *
 * Nothing names the pools in a program without debug information, so each is known by
 * its header (Objects/obmalloc.c, `struct pool_header`):
 *
 *   0 blocks in use (4 bytes); 8 first free block; 16, 24 neighbours; 32 arena's number;
 *   36 size class; 40 where the blocks that were never handed out begin; 44 where the last
 *   block does
 *
 * A pool has 4 KiB or 16 KiB and is aligned to that; the last field gives the size of its
 * blocks, which the size class must agree with at 8 or 16 bytes a step.  Which size pools
 * have in this target is put to the vote.  Free blocks are chained through their first
 * words; the chain and the number in use must add up to the blocks handed out so far.
 * Which version of the interpreter it is, is never asked.
 *
 * Between two pools of one arena everything is pools: what has no sound header there is
 * damage, and its memory unknown.  Not so where the memory is absent, nor where it is blank
 * throughout: interpreters in one process number their arenas alike, and the end of one's
 * may lie beside another's.  At an arena's edge a header that is half right is damage.
 * Where only the chain is wrong, the blocks are known, but not which of them are free.
 *
 * Cost: one look at each page of writable memory, and the chains.  Blind spots: an arena
 * of a single pool; a header at an edge that was overwritten whole, a pool that was cleared.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "heap/heap_builder.h"
#include "heap/reader.h"

#define PAGE_BYTES 4096u
#define HEADER_BYTES 48u
#define LARGE_POOL_BYTES (16u << 10)
#define ARENA_BYTES_MAX (1u << 20)
#define BLOCK_BYTES_MAX 512u
#define BLOCKS_MAX (LARGE_POOL_BYTES / 8)
#define POOLS_AT_LEAST 2u

struct header {
	uint64_t first_free;
	uint32_t used_count;
	uint32_t arena, size_class, carved_end, last_block;
};

struct pool {
	uint64_t addr;
	struct header header;
	uint32_t pool_bytes, block_bytes;
	bool is_sound;           /* else all that is known is that it is a pool */
};

struct pymalloc {
	const struct ri_target *target;
	struct ri_heap_builder *builder;
	struct ri_gaps *gaps;
	struct ri_reader reader;
	RI_VEC(struct pool) pools; /* ascending */
	RI_VEC(struct ri_heap_span) spans;
	uint64_t in_flux, absent;
};

/*
 * Headers
 */

static bool read_header(struct pymalloc *py, uint64_t addr, struct header *ret)
{
	uint64_t words[6];

	for (size_t i = 0; i < 6; i++)
		if (!ri_reader_u64(&py->reader, addr + 8 * i, &words[i]))
			return false;
	ret->used_count = (uint32_t)words[0];
	ret->first_free = words[1];
	ret->arena = (uint32_t)words[4];
	ret->size_class = (uint32_t)(words[4] >> 32);
	ret->carved_end = (uint32_t)words[5];
	ret->last_block = (uint32_t)(words[5] >> 32);
	return true;
}

/* The size of the blocks that a pool of `pool_bytes` has by its header; 0: it is none. */
static uint32_t block_bytes_of(const struct header *header, uint32_t pool_bytes)
{
	uint32_t size = pool_bytes - header->last_block;

	if (header->last_block >= pool_bytes || size > BLOCK_BYTES_MAX ||
	    header->size_class >= BLOCK_BYTES_MAX / 8)
		return 0;
	return size == (header->size_class + 1) * 8 || size == (header->size_class + 1) * 16 ? size
											     : 0;
}

static uint32_t carved_count(const struct header *header, uint32_t block_bytes)
{
	return (header->carved_end - HEADER_BYTES) / block_bytes;
}

static bool is_carved_end(const struct header *header, uint32_t block_bytes)
{
	return header->carved_end > HEADER_BYTES &&
	       header->carved_end <= header->last_block + block_bytes &&
	       (header->carved_end - HEADER_BYTES) % block_bytes == 0;
}

/* Whether `addr` is one of the blocks that were handed out. */
static bool is_block(const struct pool *pool, uint64_t addr)
{
	uint64_t offset = addr - pool->addr;

	return offset >= HEADER_BYTES && offset < pool->header.carved_end &&
	       (offset - HEADER_BYTES) % pool->block_bytes == 0;
}

static bool is_sound_header(struct pool *pool)
{
	const struct header *header = &pool->header;

	pool->block_bytes = block_bytes_of(header, pool->pool_bytes);
	return pool->block_bytes && is_carved_end(header, pool->block_bytes) &&
	       header->used_count <= carved_count(header, pool->block_bytes) &&
	       (!header->first_free || is_block(pool, header->first_free));
}

/* The pool of either size that begins at `addr`. */
static bool find_pool(struct pymalloc *py, uint64_t addr, struct pool *ret)
{
	static const uint32_t sizes[] = { LARGE_POOL_BYTES, PAGE_BYTES };
	uint64_t word;

	if (!ri_reader_u64(&py->reader, addr + 40, &word) || !word ||
	    word >> 32 >= LARGE_POOL_BYTES || !read_header(py, addr, &ret->header))
		return false;
	ret->addr = addr;
	ret->is_sound = true;
	for (size_t i = 0; i < 2; i++) {
		ret->pool_bytes = sizes[i];
		if (addr % sizes[i] == 0 && is_sound_header(ret) &&
		    ri_reader_u64(&py->reader, addr + sizes[i] - 8, &word))
			return true;
	}
	return false;
}

static void find_pools(struct pymalloc *py)
{
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(py->target->image, &count);
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ri_range *range = &ranges[i];
		uint64_t addr = (range->start + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
		struct pool pool;

		if (!range->bytes || !(range->flags & RI_RANGE_WRITE) ||
		    !(range->flags & RI_RANGE_ANONYMOUS) || (range->flags & RI_RANGE_SHARED))
			continue;
		for (addr = addr < done ? done : addr;
		     addr < range->end && range->end - addr >= HEADER_BYTES; addr = done) {
			done = addr + PAGE_BYTES;
			if (!find_pool(py, addr, &pool))
				continue;
			*ri_push(&py->pools) = pool;
			done = addr + pool.pool_bytes;
		}
	}
}

/* Pools of the size that most have; the others are none.  That size, 0: there are none. */
static uint32_t vote(struct pymalloc *py)
{
	size_t large = 0, kept = 0;
	uint32_t winner;

	for (size_t i = 0; i < py->pools.count; i++)
		large += py->pools.items[i].pool_bytes == LARGE_POOL_BYTES;
	winner = large >= py->pools.count - large ? LARGE_POOL_BYTES : PAGE_BYTES;
	for (size_t i = 0; i < py->pools.count; i++)
		if (py->pools.items[i].pool_bytes == winner)
			py->pools.items[kept++] = py->pools.items[i];
	py->pools.count = kept;
	return kept >= POOLS_AT_LEAST ? winner : 0;
}

/*
 * Damaged headers
 */

static void add_damaged(struct pymalloc *py, uint64_t addr, uint64_t neighbour,
			uint32_t pool_bytes)
{
	struct pool *pool = ri_push(&py->pools);

	*pool = (struct pool){ .addr = addr, .pool_bytes = pool_bytes };
	ri_heap_builder_add_damage(py->builder, addr, neighbour,
				   "a pool's header is inconsistent");
}

/* Adds what lies between two pools of one arena and is none: damaged, absent or blank. */
static void add_between(struct pymalloc *py, uint64_t addr, uint32_t pool_bytes)
{
	uint64_t word = 0;

	for (uint32_t at = 0; at < pool_bytes && !word; at += 8)
		if (!ri_reader_u64(&py->reader, addr + at, &word)) {
			py->absent++;
			break;
		}
	if (word)
		add_damaged(py, addr, addr - pool_bytes, pool_bytes);
	else
		*ri_push(&py->pools) = (struct pool){ .addr = addr, .pool_bytes = pool_bytes };
}

/* Whether what lies at an arena's edge is half a pool's header. */
static bool is_half_right(struct pymalloc *py, uint64_t addr, uint32_t arena, uint32_t pool_bytes)
{
	struct pool pool = { .addr = addr, .pool_bytes = pool_bytes };
	uint32_t size;

	if (!read_header(py, addr, &pool.header))
		return false;
	size = block_bytes_of(&pool.header, pool_bytes);
	if (pool.header.arena == arena)
		return size || (pool.header.last_block < pool_bytes &&
				pool.header.last_block >= pool_bytes - BLOCK_BYTES_MAX);
	return size && is_carved_end(&pool.header, size) &&
	       pool.header.used_count <= carved_count(&pool.header, size);
}

static int compare_pools(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Adds the pools whose headers are not sound. */
static void find_damaged(struct pymalloc *py, uint32_t pool_bytes)
{
	size_t count = py->pools.count;

	for (size_t i = 0; i < count; i++) {
		/* copies: the list grows, and may move */
		const struct pool pool = py->pools.items[i];
		bool has_next = i + 1 < count;
		const struct pool next = has_next ? py->pools.items[i + 1]
						  : (struct pool){ .addr = UINT64_MAX };
		uint64_t addr = pool.addr + pool_bytes;

		if (has_next && next.header.arena == pool.header.arena &&
		    next.addr - pool.addr < ARENA_BYTES_MAX) {
			for (; addr < next.addr; addr += pool_bytes)
				add_between(py, addr, pool_bytes);
			continue;
		}
		if (addr < next.addr && is_half_right(py, addr, pool.header.arena, pool_bytes))
			add_damaged(py, addr, pool.addr, pool_bytes);
		if (has_next && next.addr - pool_bytes > pool.addr + 2 * (uint64_t)pool_bytes &&
		    is_half_right(py, next.addr - pool_bytes, next.header.arena, pool_bytes))
			add_damaged(py, next.addr - pool_bytes, next.addr, pool_bytes);
	}
	if (py->pools.count > count)
		qsort(py->pools.items, py->pools.count, sizeof(*py->pools.items), compare_pools);
}

/*
 * Blocks
 */

/* Marks the blocks of the chain as free; what is wrong with it, or null. */
static const char *follow_chain(struct pymalloc *py, const struct pool *pool, uint8_t *is_free)
{
	uint32_t carved = carved_count(&pool->header, pool->block_bytes), length = 0;
	uint64_t addr = pool->header.first_free;

	while (addr) {
		size_t block = (addr - pool->addr - HEADER_BYTES) / pool->block_bytes;

		if (!is_block(pool, addr))
			return "a pool's chain of free blocks leads out of it";
		if (is_free[block])
			return "a pool's chain of free blocks goes round";
		is_free[block] = 1;
		length++;
		if (!ri_reader_u64(&py->reader, addr, &addr))
			return "a pool's chain of free blocks leads to memory that is not there";
	}
	if (length + pool->header.used_count == carved)
		return NULL;
	/* a process that was stopped between the two steps of taking a block */
	if (py->target->kind == RI_TARGET_LIVE && length + pool->header.used_count == carved + 1) {
		py->in_flux++;
		return NULL;
	}
	return "a pool's number of used blocks and its free ones do not add up";
}

static void walk_pool(struct pymalloc *py, const struct pool *pool)
{
	uint8_t is_free[BLOCKS_MAX] = { 0 };
	enum ri_block_state other = RI_BLOCK_USED;
	uint32_t carved;
	const char *what;

	if (!pool->is_sound) {
		ri_heap_builder_add_block(py->builder, pool->addr, pool->pool_bytes,
					  RI_BLOCK_UNKNOWN);
		return;
	}
	what = follow_chain(py, pool, is_free);
	if (what) {
		ri_heap_builder_add_damage(py->builder, pool->addr, 0, what);
		other = RI_BLOCK_UNKNOWN;
	}
	carved = carved_count(&pool->header, pool->block_bytes);
	ri_heap_builder_add_block(py->builder, pool->addr, HEADER_BYTES, RI_BLOCK_RECORD);
	for (uint32_t i = 0; i < carved; i++)
		ri_heap_builder_add_block(py->builder,
					  pool->addr + HEADER_BYTES +
						  (uint64_t)i * pool->block_bytes,
					  pool->block_bytes, is_free[i] ? RI_BLOCK_FREE : other);
	ri_heap_builder_add_block(py->builder, pool->addr + pool->header.carved_end,
				  pool->pool_bytes - pool->header.carved_end, RI_BLOCK_FREE);
}

/* The memory of all pools, neighbours joined. */
static void list_spans(struct pymalloc *py)
{
	for (size_t i = 0; i < py->pools.count; i++) {
		const struct pool *pool = &py->pools.items[i];
		struct ri_heap_span *last =
			py->spans.count ? &py->spans.items[py->spans.count - 1] : NULL;

		if (last && last->end == pool->addr)
			last->end += pool->pool_bytes;
		else
			*ri_push(&py->spans) = (struct ri_heap_span){
				pool->addr, pool->addr + pool->pool_bytes
			};
	}
}

static void walk(const struct ri_target *target, const struct ri_modules *modules,
		 struct ri_gaps *gaps, struct ri_heap_builder *builder)
{
	struct pymalloc py = { .target = target, .builder = builder, .gaps = gaps };
	uint32_t pool_bytes;

	(void)modules;
	ri_reader_init(&py.reader, target->image);
	find_pools(&py);
	pool_bytes = vote(&py);
	if (pool_bytes) {
		find_damaged(&py, pool_bytes);
		list_spans(&py);
		ri_heap_builder_carve(builder, py.spans.items, py.spans.count);
		for (size_t i = 0; i < py.pools.count; i++)
			walk_pool(&py, &py.pools.items[i]);
		for (size_t i = 0; i < py.spans.count; i++)
			ri_heap_builder_add_region(builder, py.spans.items[i].start,
						   py.spans.items[i].end, "pymalloc", true);
		builder->heap->allocator = builder->heap->arena_count
						   ? "glibc 64-bit and pymalloc"
						   : "pymalloc";
		if (py.absent)
			ri_gaps_add(gaps, RI_GAP_MATTERS, "heap",
				    "%" PRIu64 " pools of pymalloc are not in the image whole: what "
				    "is alive in them is not known", py.absent);
		if (py.in_flux)
			ri_gaps_add(gaps, RI_GAP_TOLD, "heap",
				    "%" PRIu64 " pools were being changed when the process was "
				    "stopped; they are not taken for damage", py.in_flux);
	}
	ri_vec_deinit(&py.pools);
	ri_vec_deinit(&py.spans);
}

const struct ri_allocator ri_allocator_pymalloc = {
	.name = "pymalloc",
	.walk = walk,
};
