/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search without a census: see found_words.h.  The ranges of the image are cut into
 * pieces, which threads take one after the other; each piece has its own list, so that the
 * whole is in address order whoever searched what.  The filter of the census passes over
 * what cannot match, so that the cost is that of reading memory once.
 *
 * Blind spots: words that are not aligned, and pointers that are stored in another form
 * (tagged, shifted, relative).
 */
#include "census/found_words.h"

#include <pthread.h>
#include <stdlib.h>

#include "census/regions.h"
#include "census/words.h"

#define PIECE_BYTES ((uint64_t)16 << 20)

struct piece {
	const uint8_t *bytes;
	uint64_t addr;           /* of word 0 */
	size_t word_count;
	ri_found_word_list list;
};

struct search {
	uint64_t low, span;
	ri_words_skip_function *skip;
	RI_VEC(struct piece) pieces;
	size_t next_piece;       /* atomic */
	size_t found_count;      /* atomic; beyond RI_FOUND_WORDS_MAX the search ends */
};

static void add_range(struct search *search, const struct ri_range *range)
{
	uint64_t start = (range->start + 7) & ~7ull;

	if (!range->bytes || (range->kind == RI_RANGE_FILE && range->flags & RI_RANGE_EXEC))
		return;
	if (range->flags & RI_RANGE_ZERO && search->low)
		return;
	while (start < range->end && range->end - start >= 8) {
		uint64_t size_bytes = range->end - start;

		if (size_bytes > PIECE_BYTES)
			size_bytes = PIECE_BYTES;
		*ri_push(&search->pieces) = (struct piece){
			.bytes = range->bytes + (start - range->start),
			.addr = start,
			.word_count = size_bytes / 8,
		};
		start += size_bytes;
	}
}

static void search_piece(struct search *search, struct piece *piece)
{
	const uint8_t *p = piece->bytes;
	size_t count = piece->word_count;

	for (size_t i = 0; i < count;) {
		size_t before = piece->list.count, end;

		if (count - i >= RI_WORDS_GROUP)
			i = search->skip(p, i, count, search->low, search->span);
		end = count - i < RI_WORDS_GROUP ? count : i + RI_WORDS_GROUP;
		for (; i < end; i++) {
			uint64_t word = ri_words_load(p, i);

			if (word - search->low < search->span)
				*ri_push(&piece->list) = (struct ri_found_word){
					piece->addr + i * 8, word, UINT32_MAX
				};
		}
		if (piece->list.count != before &&
		    __atomic_add_fetch(&search->found_count, piece->list.count - before,
				       __ATOMIC_RELAXED) > RI_FOUND_WORDS_MAX)
			return;
	}
}

static void *work(void *data)
{
	struct search *search = data;

	for (;;) {
		size_t i = __atomic_fetch_add(&search->next_piece, 1, __ATOMIC_RELAXED);

		if (i >= search->pieces.count ||
		    __atomic_load_n(&search->found_count, __ATOMIC_RELAXED) > RI_FOUND_WORDS_MAX)
			return NULL;
		search_piece(search, &search->pieces.items[i]);
	}
}

static void run_threads(struct search *search, unsigned thread_count)
{
	pthread_t *threads = ri_calloc(thread_count, sizeof(*threads));
	unsigned started = 0;

	/* A thread that cannot be started leaves its work to the others. */
	while (started + 1 < thread_count && started + 1 < search->pieces.count &&
	       !pthread_create(&threads[started], NULL, work, search))
		started++;
	work(search);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void search_registers(const struct ri_target *target, struct search *search,
			     ri_found_word_list *list)
{
	for (size_t t = 0; t < target->thread_count; t++) {
		const struct ri_thread *thread = &target->threads[t];
		size_t count = thread->has_registers ? ri_regions_register_count(thread) : 0;

		for (size_t i = 0; i < count; i++) {
			uint64_t value = ri_regions_register(thread, i);

			if (value - search->low >= search->span)
				continue;
			*ri_push(list) = (struct ri_found_word){ i, value, (uint32_t)t };
			search->found_count++;
		}
	}
}

bool ri_found_words_list(const struct ri_target *target, uint64_t low, uint64_t span,
			 unsigned thread_count, ri_found_word_list *list)
{
	struct search search = { .low = low, .span = span, .skip = ri_words_skipper() };
	size_t range_count;
	const struct ri_range *ranges = ri_image_ranges(target->image, &range_count);

	for (size_t i = 0; i < range_count; i++)
		add_range(&search, &ranges[i]);
	run_threads(&search, thread_count);
	for (size_t i = 0; i < search.pieces.count; i++) {
		struct piece *piece = &search.pieces.items[i];

		for (size_t k = 0; k < piece->list.count; k++)
			*ri_push(list) = piece->list.items[k];
		ri_vec_deinit(&piece->list);
	}
	search_registers(target, &search, list);
	ri_vec_deinit(&search.pieces);
	if (search.found_count <= RI_FOUND_WORDS_MAX)
		return true;
	list->count = 0;
	return false;
}
