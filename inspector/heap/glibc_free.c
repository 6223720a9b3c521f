/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is free although its chunk says that it is in use: the chunks on tcaches
 * and fastbins; and whether the free lists are sound.
 *
 * The walk finds chunks in bins free by themselves: the flag of the next chunk
 * says so.  Chunks in a tcache or fastbin keep that flag set, and are full of
 * what their last user left there; each one taken for used would be a false
 * finding, so they are looked for thoroughly:
 *
 *  1. tcaches are found among the used blocks by their shape (glibc_tcache.c).
 *  2. Links are plain up to glibc 2.31 and since then XORed with their own
 *     address / 4096.  Which of the two leads to blocks of the right size is put
 *     to the vote over the first link of every list.
 *  3. Each list is followed for as many chunks as its count says (fastbins: to
 *     the null link), as long as each is the start of a block of the list's size
 *     that is on no list yet.
 *  4. A link that leads elsewhere was overwritten after the chunk was freed (a
 *     use after free hits just this word).  The rest of the list is found by
 *     its marks: the second word of a chunk in a tcache is the thread's key, and
 *     a link with XOR leads to a block of its own size, which a word of user
 *     data would not.
 *
 * Chunks in bins are checked as malloc does it: both neighbours on the list must
 * point back.
 *
 * Cost: the index is asked once per listed chunk; two distant reads per binned
 * chunk; one more pass over used blocks of the sizes whose lists are broken.
 * Blind spot: before 2.29 (no key, no XOR), what follows a broken link is lost.
 */
#include <stdlib.h>

#include "heap/glibc_tcache.h"

#define LINK_SHIFT 12

enum { BROKEN_TCACHE = 1, BROKEN_FASTBIN = 2 };

struct free_lists {
	struct ri_glibc *glibc;
	struct ri_heap *heap;
	struct ri_reader *reader;
	RI_VEC(struct ri_tcache) tcaches;
	uint64_t *listed;        /* a bit per block: it is on a list */
	bool has_xor_links;
	uint64_t plain_votes, xor_votes;
	uint8_t broken[RI_SMALL_CLASS_COUNT]; /* by size: BROKEN_* */
	bool is_any_broken;
	uint64_t unknown_budget; /* links still followed through ranges not walked */
	/* what stands in the second word of chunks in tcaches: one value for the
	 * whole process (the leader of a majority vote), or the tcache's address */
	uint64_t key, key_lead, key_total, key_own;
};

enum place {
	PLACE_START,             /* of a block */
	PLACE_UNKNOWN,           /* in a range that could not be walked */
	PLACE_NONE,
};

/* Where the user address `addr` lies; its block in *ret_block for PLACE_START. */
static enum place find_place(const struct free_lists *lists, uint64_t addr, uint32_t *ret_block)
{
	uint32_t i;

	if (addr % RI_CHUNK_ALIGN)
		return PLACE_NONE;
	i = ri_heap_builder_find(lists->glibc->builder, addr, false);
	if (i == RI_NONE || lists->heap->blocks[i].state == RI_BLOCK_RECORD)
		return PLACE_NONE;
	if (lists->heap->blocks[i].state == RI_BLOCK_UNKNOWN)
		return PLACE_UNKNOWN;
	*ret_block = i;
	return lists->heap->blocks[i].addr == addr ? PLACE_START : PLACE_NONE;
}

static bool read_word(const struct free_lists *lists, uint64_t addr, uint64_t *ret)
{
	return ri_reader_u64(lists->reader, addr, ret);
}

/* A list as its first chunk's user address, and what its links lead to. */
struct list {
	uint64_t first;
	uint64_t chunk_size;     /* 0: varies */
	uint64_t link_offset;    /* added to a link that is not null: user address */
	uint64_t max_count;
	uint64_t counted;        /* chunks that a tcache says it has */
	uint64_t owner;          /* the record that holds the head */
	uint64_t owner_addr;     /* of the tcache, for its key; else 0 */
	const struct ri_glibc_arena *arena; /* of a fastbin, else null */
};

static bool has_list_size(const struct free_lists *lists, const struct list *list, uint32_t block)
{
	return !list->chunk_size || lists->heap->blocks[block].size_bytes == list->chunk_size - 8;
}

/* Whether `link` (made plain) is null or leads to a chunk of this list. */
static bool leads_on(const struct free_lists *lists, const struct list *list, uint64_t link)
{
	uint32_t block;

	if (!link)
		return true;
	return find_place(lists, link + list->link_offset, &block) == PLACE_START &&
	       has_list_size(lists, list, block);
}

/* Calls back for each tcache list and fastbin that is not empty. */
static void each_list(struct free_lists *lists,
		      void (*callback)(struct free_lists *lists, const struct list *list))
{
	const struct ri_glibc *glibc = lists->glibc;
	/* A live thread may just have put a chunk on a list and not counted it. */
	uint64_t slack = glibc->target->kind == RI_TARGET_LIVE;

	for (size_t t = 0; t < lists->tcaches.count; t++) {
		const struct ri_tcache *tcache = &lists->tcaches.items[t];
		uint64_t owner = lists->heap->blocks[tcache->block].addr;

		for (unsigned i = 0; i < tcache->list_count; i++)
			if (tcache->entries[i])
				callback(lists, &(struct list){
					tcache->entries[i], ri_tcache_chunk_size(i), 0,
					tcache->counts[i] + slack, tcache->counts[i],
					owner - RI_CHUNK_USER, owner, NULL });
	}
	for (size_t a = 0; a < glibc->arenas.count; a++) {
		const struct ri_glibc_arena *arena = &glibc->arenas.items[a];

		/* Without room for them before bins[], there are no fastbins. */
		if (arena->bins - arena->state < (uint64_t)-(int64_t)RI_STATE_FASTBINS)
			continue;
		for (unsigned i = 0; i < RI_FASTBIN_COUNT; i++) {
			uint64_t head = arena->bins + (uint64_t)RI_STATE_FASTBINS + 8ull * i;
			uint64_t chunk;

			if (read_word(lists, head, &chunk) && chunk)
				callback(lists, &(struct list){
					chunk + RI_CHUNK_USER,
					RI_CHUNK_SIZE_MIN + (uint64_t)RI_CHUNK_ALIGN * i,
					RI_CHUNK_USER, UINT64_MAX, 0, arena->state, 0, arena });
		}
	}
}

static void vote_on_link(struct free_lists *lists, const struct list *list)
{
	uint64_t link;
	uint32_t block;

	if (find_place(lists, list->first, &block) != PLACE_START ||
	    !read_word(lists, list->first, &link))
		return;
	lists->plain_votes += leads_on(lists, list, link);
	lists->xor_votes += leads_on(lists, list, link ^ list->first >> LINK_SHIFT);
}

/* Counts the second word of a chunk in a tcache towards the process's key. */
static void count_key(struct free_lists *lists, const struct list *list, uint64_t user)
{
	uint64_t key;

	if (!list->owner_addr || !read_word(lists, user + 8, &key))
		return;
	lists->key_total++;
	if (key == list->owner_addr) {
		lists->key_own++;
	} else if (key == lists->key) {
		lists->key_lead++;
	} else if (!lists->key_lead) {
		lists->key = key;
		lists->key_lead = 1;
	} else {
		lists->key_lead--;
	}
}

/* The rest of the list must be looked for by its marks. */
static void lose_rest(struct free_lists *lists, const struct list *list)
{
	if (!list->chunk_size)
		return;
	lists->broken[(list->chunk_size - RI_CHUNK_SIZE_MIN) / RI_CHUNK_ALIGN] |=
		list->arena ? BROKEN_FASTBIN : BROKEN_TCACHE;
	lists->is_any_broken = true;
}

/* The link of the chunk `previous` (0: the list's head) leads to `user`, where no
 * chunk of the list begins. */
static void break_list(struct free_lists *lists, const struct list *list, uint64_t user,
		       uint64_t previous)
{
	lose_rest(lists, list);
	if (previous)
		ri_glibc_damage(lists->glibc, list->arena, previous - RI_CHUNK_USER, 0,
				"a freed chunk's list link leads to no such chunk "
				"(written to after it was freed?)");
	else
		ri_glibc_damage(lists->glibc, list->arena, list->owner, user - RI_CHUNK_USER,
				"a list of freed chunks begins at no such chunk");
}

/* Marks the chunk in block `block` as free; false if a list had it before. */
static bool take_chunk(struct free_lists *lists, const struct list *list, uint32_t block,
		       uint64_t previous)
{
	struct ri_block *b = &lists->heap->blocks[block];
	uint64_t *bits = &lists->listed[block / 64];
	uint64_t bit = 1ull << block % 64;

	if (*bits & bit || b->state == RI_BLOCK_FREE) {
		ri_glibc_damage(lists->glibc, list->arena, b->addr - RI_CHUNK_USER,
				previous ? previous - RI_CHUNK_USER : 0,
				"a freed chunk is on two free lists (freed twice?)");
		*bits |= bit;
		lose_rest(lists, list);
		return false;
	}
	*bits |= bit;
	b->state = RI_BLOCK_FREE;
	count_key(lists, list, b->addr);
	return true;
}

/* The list ended after `count` chunks.  A thread that takes one counts it a moment
 * later, so that one too few is nothing to report. */
static void end_list(struct free_lists *lists, const struct list *list, uint64_t count)
{
	if (list->arena || count >= list->counted)
		return;
	lose_rest(lists, list);
	if (count + 1 < list->counted)
		ri_glibc_damage(lists->glibc, NULL, list->owner, list->first - RI_CHUNK_USER,
				"a list of freed chunks is shorter than its count");
}

/* Marks every chunk of the list as free. */
static void follow_list(struct free_lists *lists, const struct list *list)
{
	uint64_t user = list->first, previous = 0, link;

	for (uint64_t n = 0; n < list->max_count; n++) {
		uint32_t block = RI_NONE;
		enum place place = find_place(lists, user, &block);

		if (place == PLACE_NONE ||
		    (place == PLACE_START && !has_list_size(lists, list, block))) {
			break_list(lists, list, user, previous);
			return;
		}
		if (place == PLACE_START && !take_chunk(lists, list, block, previous))
			return;
		/* An unknown range has no bits to notice a loop by. */
		if (place == PLACE_UNKNOWN && !lists->unknown_budget--) {
			lists->unknown_budget = 0;
			lose_rest(lists, list);
			return;
		}
		if (!read_word(lists, user, &link)) { /* not in the image */
			lose_rest(lists, list);
			return;
		}
		if (lists->has_xor_links)
			link ^= user >> LINK_SHIFT;
		if (!link) {
			end_list(lists, list, n + 1);
			return;
		}
		previous = user;
		user = link + list->link_offset;
	}
}

static bool is_tcache_addr(const struct free_lists *lists, uint64_t addr)
{
	size_t low = 0, count = lists->tcaches.count;

	while (count) {
		size_t half = count / 2;
		uint64_t found = lists->heap->blocks[lists->tcaches.items[low + half].block].addr;

		if (found == addr)
			return true;
		if (found < addr) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return false;
}

/* Whether the used block, of a size whose lists are broken, bears the marks of a
 * chunk on such a list. */
static bool bears_marks(const struct free_lists *lists, const struct ri_block *b, uint8_t broken)
{
	uint64_t link, key;
	uint32_t block;

	if (!read_word(lists, b->addr, &link) || !read_word(lists, b->addr + 8, &key))
		return false;
	if (broken & BROKEN_TCACHE) {
		if (lists->key_own * 2 > lists->key_total)
			return is_tcache_addr(lists, key);
		/* A key of the process exists only where links are XORed (2.34). */
		if (lists->has_xor_links && lists->key && lists->key_lead * 2 > lists->key_total &&
		    key == lists->key)
			return true;
	}
	if (!(broken & BROKEN_FASTBIN) || !lists->has_xor_links)
		return false;
	link ^= b->addr >> LINK_SHIFT;
	return !link || (find_place(lists, link + RI_CHUNK_USER, &block) == PLACE_START &&
			 lists->heap->blocks[block].size_bytes == b->size_bytes);
}

/* Finds the rest of broken lists among the used blocks. */
static void mend_lists(struct free_lists *lists)
{
	for (size_t i = 0; i < lists->heap->block_count; i++) {
		struct ri_block *b = &lists->heap->blocks[i];
		uint64_t class = (b->size_bytes + 8 - RI_CHUNK_SIZE_MIN) / RI_CHUNK_ALIGN;

		if (b->state == RI_BLOCK_USED && class < RI_SMALL_CLASS_COUNT &&
		    lists->broken[class] && bears_marks(lists, b, lists->broken[class]))
			b->state = RI_BLOCK_FREE;
	}
}

static void find_tcaches(struct free_lists *lists)
{
	struct ri_tcache tcache;

	for (size_t i = 0; i < lists->heap->block_count; i++)
		if (ri_tcache_read(lists->glibc, (uint32_t)i, &tcache))
			*ri_push(&lists->tcaches) = tcache;
	for (size_t i = 0; i < lists->tcaches.count; i++)
		lists->heap->blocks[lists->tcaches.items[i].block].state = RI_BLOCK_RECORD;
}

enum link { LINK_GOOD, LINK_BAD, LINK_UNKNOWN };

/* Whether `chunk`, which a free chunk of `arena` names as its neighbour on a list,
 * is a free chunk or a bin of the arena. */
static enum link judge_link(const struct free_lists *lists, const struct ri_glibc_arena *arena,
			    uint64_t chunk)
{
	uint32_t block;

	if (chunk - (arena->bins - RI_CHUNK_USER) < RI_BIN_COUNT * 16)
		return chunk % RI_CHUNK_ALIGN == arena->bins % RI_CHUNK_ALIGN ? LINK_GOOD :
										LINK_BAD;
	switch (find_place(lists, chunk + RI_CHUNK_USER, &block)) {
	case PLACE_START:
		return lists->heap->blocks[block].state == RI_BLOCK_FREE ? LINK_GOOD : LINK_BAD;
	case PLACE_UNKNOWN:
		return LINK_UNKNOWN;
	default:
		return LINK_BAD;
	}
}

/*
 * Whether the link at `chunk` + `there` is sound: it leads to a neighbour whose
 * link back, `back`, is to this chunk.  Where the neighbour's link is bad by itself,
 * the neighbour is to blame and not this chunk.
 */
static bool is_link_sound(const struct free_lists *lists, const struct ri_glibc_arena *arena,
			  uint64_t chunk, uint64_t there, uint64_t back)
{
	uint64_t neighbour, link;

	if (!read_word(lists, chunk + there, &neighbour))
		return true; /* not in the image: nothing is known */
	switch (judge_link(lists, arena, neighbour)) {
	case LINK_BAD:
		return false;
	case LINK_UNKNOWN:
		return true;
	default:
		break;
	}
	return !read_word(lists, neighbour + back, &link) || link == chunk ||
	       judge_link(lists, arena, link) != LINK_GOOD;
}

/* Whether the free chunk is linked as malloc's own check demands. */
static bool is_linked(const struct free_lists *lists, const struct ri_glibc_arena *arena,
		      uint64_t chunk)
{
	uint64_t next, prev, back, forward;

	if (read_word(lists, chunk + 16, &next) && read_word(lists, chunk + 24, &prev) &&
	    read_word(lists, next + 24, &back) && read_word(lists, prev + 16, &forward) &&
	    back == chunk && forward == chunk)
		return true;
	return is_link_sound(lists, arena, chunk, 16, 24) &&
	       is_link_sound(lists, arena, chunk, 24, 16);
}

/* Checks the chunks of `span` that lie in bins; *block is its first block. */
static void check_bins(struct free_lists *lists, const struct ri_glibc_span *span, size_t *block)
{
	const struct ri_glibc_arena *arena = &lists->glibc->arenas.items[span->arena];
	const struct ri_heap *heap = lists->heap;

	while (*block < heap->block_count && heap->blocks[*block].addr < span->start)
		(*block)++;
	for (; *block < heap->block_count && heap->blocks[*block].addr < span->end; (*block)++) {
		const struct ri_block *b = &heap->blocks[*block];
		uint64_t chunk = b->addr - RI_CHUNK_USER;

		if (b->state != RI_BLOCK_FREE || chunk == arena->top ||
		    lists->listed[*block / 64] >> *block % 64 & 1)
			continue;
		if (!is_linked(lists, arena, chunk))
			ri_glibc_damage(lists->glibc, arena, chunk, 0,
					"the neighbours of a free chunk on its list do not point "
					"back (written to after it was freed?)");
	}
}

void ri_glibc_mark_free(struct ri_glibc *glibc)
{
	struct free_lists lists = {
		.glibc = glibc,
		.heap = glibc->builder->heap,
		.reader = &glibc->reader,
	};
	size_t block = 0;

	ri_heap_builder_seal(glibc->builder);
	lists.unknown_budget = lists.heap->block_count;
	lists.listed = ri_calloc(lists.heap->block_count / 64 + 1, sizeof(*lists.listed));
	find_tcaches(&lists);
	each_list(&lists, vote_on_link);
	lists.has_xor_links = lists.xor_votes > lists.plain_votes;
	each_list(&lists, follow_list);
	for (size_t i = 0; i < glibc->spans.count; i++)
		check_bins(&lists, &glibc->spans.items[i], &block);
	if (lists.is_any_broken)
		mend_lists(&lists);
	free(lists.listed);
	ri_vec_deinit(&lists.tcaches);
}
