/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bound: how many words point at a suspect at all; see holders.h.
 *
 * The queries are sorted by start.  Where all of them have the upper 24 bits of
 * their addresses in common (suspects of one heap), memory is searched once for
 * those three bytes at any offset, and a small table of what lies in queries at all
 * keeps most pointers from being looked up; else eight times, once per byte offset of a
 * word, through the census' range filter.  What passes is looked up by binary
 * search; from the last query that starts before it the way leads on to those
 * that end later, past all neighbours that cannot reach so far.  A word that
 * crosses from one range of the image to the next is read on its own.  Cost: one
 * to eight passes at the speed of reading, and for each word that points at
 * queries as much as they are nested there, whatever their number.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "census/holders.h"
#include "census/regions.h"
#include "census/words.h"

struct bound {
	const struct ri_image *image;
	struct ri_bound_query **queries; /* ascending by start */
	size_t *outer;           /* per query: 1 + the last one before it that ends later; 0: none */
	size_t count;
	uint64_t low, span;
	bool has_top;            /* the queries' bits 40 to 63 are all `top` */
	uint32_t top;
	uint64_t filter[RI_WORDS_FILTER_BITS / 64]; /* of what lies in a query */
	ri_words_skip_function *skip;
	ri_words_top_function *find_top;
};

static int compare_queries(const void *a, const void *b)
{
	const struct ri_bound_query *x = *(struct ri_bound_query *const *)a;
	const struct ri_bound_query *y = *(struct ri_bound_query *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* One word that stands at `addr` (0: a register). */
static void count_word(const struct bound *bound, uint64_t word, uint64_t addr)
{
	size_t low = 0, high = bound->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bound->queries[middle]->start <= word)
			low = middle + 1;
		else
			high = middle;
	}
	/* of those before one that ends too early, only those that end later can contain the word */
	while (low) {
		struct ri_bound_query *query = bound->queries[low - 1];
		bool is_own = addr >= query->start && addr < query->end;

		query->words += word < query->end && !is_own;
		low = word < query->end ? low - 1 : bound->outer[low - 1];
	}
}

/* Fills outer[]; returns the greatest end. */
static uint64_t find_outer(struct bound *bound)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < bound->count; i++) {
		size_t outer = i;

		while (outer && bound->queries[outer - 1]->end <= bound->queries[i]->end)
			outer = bound->outer[outer - 1];
		bound->outer[i] = outer;
		if (bound->queries[i]->end > reach)
			reach = bound->queries[i]->end;
	}
	return reach;
}

/* The words at p + 0, 8, 16, ... , `count` of them. */
static void count_words(const struct bound *bound, const uint8_t *p, uint64_t addr, size_t count)
{
	for (size_t i = 0; i < count;) {
		size_t end;

		if (count - i >= RI_WORDS_GROUP)
			i = bound->skip(p, i, count, bound->low, bound->span);
		end = count - i < RI_WORDS_GROUP ? count : i + RI_WORDS_GROUP;
		for (; i < end; i++) {
			uint64_t word = ri_words_load(p, i);

			if (word - bound->low < bound->span)
				count_word(bound, word, addr + i * 8);
		}
	}
}

/* Every word that begins and ends in the range, by its upper bits. */
static void count_by_top(const struct bound *bound, const struct ri_range *range)
{
	size_t n = range->end - range->start >= 8 ? range->end - range->start - 7 : 0;

	for (size_t i = 0; (i = bound->find_top(range->bytes, i, n, bound->top,
					      bound->filter)) < n; i++) {
		uint64_t word = ri_words_load(range->bytes + i, 0);

		if (word - bound->low < bound->span)
			count_word(bound, word, range->start + i);
	}
}

/* Every word that begins in the range. */
static void count_range(const struct bound *bound, const struct ri_range *range)
{
	uint64_t size = range->end - range->start;
	uint64_t tail = size < 7 ? size : 7;

	if (bound->has_top)
		count_by_top(bound, range);
	else
		for (unsigned shift = 0; shift < 8 && size >= shift + 8; shift++)
			count_words(bound, range->bytes + shift, range->start + shift,
				    (size - shift) / 8);
	for (uint64_t addr = range->end - tail; addr < range->end; addr++) {
		uint64_t word;

		if (ri_image_read_u64(bound->image, addr, &word) &&
		    word - bound->low < bound->span)
			count_word(bound, word, addr);
	}
}

/* Sets the filter's bits of all queries; all of them where those would be many. */
static void fill_filter(struct bound *bound)
{
	uint64_t total = 0;

	for (size_t i = 0; i < bound->count; i++) {
		const struct ri_bound_query *query = bound->queries[i];
		uint64_t grain = query->start >> RI_WORDS_FILTER_SHIFT, last;

		if (query->end <= query->start)
			continue;
		last = (query->end - 1) >> RI_WORDS_FILTER_SHIFT;
		total += last - grain + 1;
		if (total > RI_WORDS_FILTER_BITS) {
			memset(bound->filter, 0xff, sizeof(bound->filter));
			return;
		}
		for (; grain <= last; grain++) {
			uint64_t bit = grain % RI_WORDS_FILTER_BITS;

			bound->filter[bit / 64] |= 1ull << bit % 64;
		}
	}
}

static void count_registers(const struct bound *bound, const struct ri_thread *thread)
{
	size_t count = thread->has_registers ? ri_regions_register_count(thread) : 0;

	for (size_t i = 0; i < count; i++)
		count_word(bound, ri_regions_register(thread, i), 0);
}

void ri_holders_bound(const struct ri_target *target, struct ri_bound_query *queries,
		      size_t query_count)
{
	struct bound bound = { .image = target->image,
			       .count = query_count,
			       .skip = ri_words_skipper(),
			       .find_top = ri_words_top_finder() };
	size_t range_count;
	const struct ri_range *ranges = ri_image_ranges(target->image, &range_count);
	uint64_t reach;

	if (!query_count)
		return;
	bound.queries = ri_calloc(query_count, sizeof(*bound.queries));
	bound.outer = ri_calloc(query_count, sizeof(*bound.outer));
	for (size_t i = 0; i < query_count; i++) {
		queries[i].words = 0;
		bound.queries[i] = &queries[i];
	}
	qsort(bound.queries, query_count, sizeof(*bound.queries), compare_queries);
	reach = find_outer(&bound);
	bound.low = bound.queries[0]->start;
	bound.span = reach > bound.low ? reach - bound.low : 0;
	bound.top = (uint32_t)(bound.low >> 40);
	fill_filter(&bound);
	bound.has_top = reach && (reach - 1) >> 40 == bound.low >> 40;
	for (size_t i = 0; i < range_count; i++)
		if (ranges[i].bytes)
			count_range(&bound, &ranges[i]);
	for (size_t i = 0; i < target->thread_count; i++)
		count_registers(&bound, &target->threads[i]);
	free(bound.queries);
	free(bound.outer);
}
