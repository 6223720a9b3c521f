/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The census on random memory against a naive one: every word of memory, every
 * object and block for each, the rules written out once more in plain words.
 * The result must not depend on the number of threads.
 */
#include "holders_world.h"

#define OUTER_BYTES 192

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

/* Blocks of many kinds, objects in most of them, some inside a buffer. */
static void fill_heap(struct world *w, uint64_t *seed)
{
	uint64_t at = HEAP + 0x100;

	while (at < HEAP + 0x6000) {
		uint64_t size = 24 + 16ull * (next_random(seed) % 20);
		enum ri_block_state state = next_random(seed) % 5 ? RI_BLOCK_USED
							    : next_random(seed) % 4;
		uint32_t count = next_random(seed) % 3, type = next_random(seed) % 3;
		uint64_t start = at + 8 * (next_random(seed) % 2);

		add_block(w, at, size, state);
		while (count-- && start + w->types[type].extent_bytes <= at + size) {
			uint32_t states = next_random(seed) % 8 ? 0 : RI_OBJECT_COUNT_DEAD;
			uint32_t o = add_object(w, start, type, RI_NONE, states);

			if (type == BUFFER && next_random(seed) % 2) {
				add_object(w, start, next_random(seed) % 2, o, 0);
				add_object(w, start + 72, CONN, o, 0);
			}
			start += w->types[type].extent_bytes + 8 * (next_random(seed) % 3);
		}
		at += (size + 8 + 15) & ~15ull;
	}
}

static uint64_t random_value(const struct world *w, uint64_t *seed)
{
	const struct ri_object *object =
		&w->objects.items[next_random(seed) % w->objects.count];

	switch (next_random(seed) % 8) {
	case 0:
	case 1:
	case 2:
		return object->addr;
	case 3:
		return object->addr + next_random(seed) % 8;
	case 4:
		return object->addr + next_random(seed) % (TYPE_BYTES * 4);
	case 5:
		return w->blocks.items[next_random(seed) % w->blocks.count].addr;
	default:
		return next_random(seed);
	}
}

static void fill_words(struct world *w, uint64_t *seed)
{
	static const uint64_t starts[] = { HEAP, DATA, MAPPING, STACK + 0x7000 };

	for (size_t part = 0; part < 4; part++)
		for (uint64_t i = 0; i < 0x7000; i += 8)
			if (next_random(seed) % (part ? 64 : 3) == 0)
				poke(w, starts[part] + i, random_value(w, seed));
	for (unsigned i = 0; i < RI_REGISTER_COUNT; i++)
		if (i != RI_REG_RSP && next_random(seed) % 2)
			w->thread.registers[i] = random_value(w, seed);
}

static void fill_world(struct world *w, uint64_t seed)
{
	world_init(w);
	w->types[BUFFER].extent_bytes = OUTER_BYTES;
	fill_heap(w, &seed);
	add_object(w, DATA + 0x1000, CONN, RI_NONE, RI_OBJECT_STATIC);
	add_object(w, DATA + 0x1020 + TYPE_BYTES, SESSION, RI_NONE, RI_OBJECT_STATIC);
	fill_words(w, &seed);
	add_group(w, "some", MAPPING + 64, RI_NONE, RI_WEIGHT_FIXED, 1);
	for (uint32_t o = 0; o < w->objects.count; o += 1 + next_random(&seed) % 4)
		add_member(w, o);
}

/*
 * The naive census
 */

struct expected {
	uint32_t source, word, target, flags;
};

struct naive {
	const struct world *w;
	RI_VEC(struct expected) edges;
	uint64_t hits;
};

static uint64_t end_of(const struct world *w, uint32_t o)
{
	return w->objects.items[o].addr + w->types[w->objects.items[o].type].extent_bytes;
}

static bool is_in(const struct world *w, uint32_t o, uint64_t addr)
{
	return addr >= w->objects.items[o].addr && addr < end_of(w, o);
}

/* Objects come outer before inner: the last one that contains the address. */
static uint32_t innermost(const struct world *w, uint64_t addr)
{
	uint32_t found = RI_NONE;

	for (uint32_t o = 0; o < w->objects.count; o++)
		if (is_in(w, o, addr))
			found = o;
	return found;
}

static uint32_t block_at(const struct world *w, uint64_t addr)
{
	for (uint32_t b = 0; b < w->blocks.count; b++)
		if (addr - w->blocks.items[b].addr < w->blocks.items[b].size_bytes)
			return b;
	return RI_NONE;
}

static uint32_t used_block_at(const struct world *w, uint64_t addr)
{
	uint32_t b = block_at(w, addr);

	return b != RI_NONE && w->blocks.items[b].state == RI_BLOCK_USED ? b : RI_NONE;
}

/* The outermost objects of a block: how many, and the first. */
static uint32_t objects_in(const struct world *w, uint32_t block, uint32_t *ret_first)
{
	uint32_t count = 0;

	for (uint32_t o = (uint32_t)w->objects.count; o-- > 0;)
		if (w->objects.items[o].block == block && w->objects.items[o].parent == RI_NONE) {
			*ret_first = o;
			count++;
		}
	return count;
}

struct naive_word {
	uint64_t addr, value;
	uint32_t source, word, object, block;
	bool is_dead;
};

static void expect(struct naive *n, const struct naive_word *word, uint32_t target, uint32_t flags)
{
	*ri_push(&n->edges) = (struct expected){ word->source, word->word, target, flags };
}

static bool is_member(const struct world *w, uint32_t o)
{
	for (size_t m = 0; m < w->memberships.count; m++)
		if (w->memberships.items[m].object == o)
			return true;
	return false;
}

/* What stands at a word of an object: offset 8 a link, 16 a typed pointer, ... */
enum naive_slot { NOTHING, HEADER, LINK, TYPED, BACK };

static enum naive_slot slot_of(const struct world *w, const struct naive_word *word)
{
	uint64_t offset;

	if (word->object == RI_NONE)
		return NOTHING;
	offset = word->addr - w->objects.items[word->object].addr;
	return offset == 0 ? HEADER : offset == 8 ? LINK : offset == 16 ? TYPED
	       : offset == 56 ? BACK : NOTHING;
}

static uint32_t pointee_of(const struct world *w, uint32_t object)
{
	uint32_t type = w->objects.items[object].type;

	return type == CONN ? SESSION : type == SESSION ? CONN : BUFFER;
}

/* Where several objects share a block, its start is theirs together. */
static bool may_be_array(const struct world *w, uint64_t value)
{
	uint32_t block = block_at(w, value), only;

	return block != RI_NONE && w->blocks.items[block].addr == value &&
	       objects_in(w, block, &only) > 1;
}

static void expect_objects(struct naive *n, const struct naive_word *word, uint32_t inner)
{
	const struct world *w = n->w;
	enum naive_slot slot = slot_of(w, word);
	uint32_t doubt = slot == BACK ? RI_EDGE_BORROWS : RI_EDGE_POSSIBLE;
	bool any = false;

	for (uint32_t o = inner; slot == TYPED && o != RI_NONE; o = w->objects.items[o].parent) {
		uint32_t tag = word->value & 7 ? RI_EDGE_TAGGED : 0;

		if ((word->value & ~7ull) != w->objects.items[o].addr ||
		    w->objects.items[o].type != pointee_of(w, word->object))
			continue;
		expect(n, word, o,
		       tag | (word->is_dead || is_in(w, o, word->addr) ||
					      may_be_array(w, word->value & ~7ull)
				      ? RI_EDGE_POSSIBLE
				      : 0));
		return;
	}
	for (uint32_t o = inner; o != RI_NONE; o = w->objects.items[o].parent) {
		if ((word->value & ~7ull) != w->objects.items[o].addr)
			continue;
		any = true;
		if (!is_in(w, o, word->addr))
			expect(n, word, o, doubt | (word->value & 7 ? RI_EDGE_TAGGED : 0));
	}
	if (!any && !is_in(w, inner, word->addr))
		expect(n, word, inner, doubt | RI_EDGE_INTERIOR);
}

static void expect_block(struct naive *n, const struct naive_word *word, uint32_t block)
{
	const struct world *w = n->w;
	enum naive_slot slot = slot_of(w, word);
	uint32_t only = RI_NONE, flags = 0;

	if (word->block == block)
		return;
	if (objects_in(w, block, &only) == 1) {
		flags = slot == LINK ? RI_EDGE_LINK
			: slot == BACK ? RI_EDGE_BORROWS : RI_EDGE_POSSIBLE;
		expect(n, word, only, flags | RI_EDGE_INTERIOR);
		return;
	}
	if (slot == LINK)
		flags = RI_EDGE_LINK;
	else if (slot == NOTHING || word->is_dead)
		flags = RI_EDGE_POSSIBLE;
	if (word->value != w->blocks.items[block].addr)
		flags |= RI_EDGE_INTERIOR;
	expect(n, word, (uint32_t)w->objects.count + block, flags);
}

static void expect_word(struct naive *n, const struct naive_word *word)
{
	const struct world *w = n->w;
	uint32_t inner = innermost(w, word->value), block = used_block_at(w, word->value);
	enum naive_slot slot = slot_of(w, word);

	if (inner == RI_NONE && block == RI_NONE)
		return;
	if (slot == HEADER || (slot == LINK && is_member(w, word->object)))
		return;
	n->hits++;
	if (inner == RI_NONE)
		expect_block(n, word, block);
	else if (slot != LINK)
		expect_objects(n, word, inner);
	else if (!is_member(w, inner) && !is_in(w, inner, word->addr))
		expect(n, word, inner,
		       RI_EDGE_LINK | ((word->value & ~7ull) != w->objects.items[inner].addr
					       ? RI_EDGE_INTERIOR : 0));
}

/* The region that was searched around an address, or RI_NONE. */
static uint32_t region_at(const struct world *w, uint64_t addr)
{
	for (uint32_t r = 0; r < w->holders->region_count; r++)
		if (w->holders->regions[r].kind != RI_REGION_REGISTERS &&
		    addr >= w->holders->regions[r].start && addr < w->holders->regions[r].end)
			return r;
	return RI_NONE;
}

static bool find_source(const struct world *w, struct naive_word *word)
{
	uint32_t b = block_at(w, word->addr), r;

	word->object = innermost(w, word->addr);
	word->block = used_block_at(w, word->addr);
	word->is_dead = false;
	if (word->object != RI_NONE) {
		uint64_t start = w->objects.items[word->object].addr;

		if (b != RI_NONE && (w->blocks.items[b].state == RI_BLOCK_FREE ||
				     w->blocks.items[b].state == RI_BLOCK_RECORD))
			return false;
		word->is_dead = w->objects.items[word->object].state & RI_OBJECT_DEAD_BITS ||
				(b != RI_NONE && w->blocks.items[b].state == RI_BLOCK_UNKNOWN);
		word->source = word->object;
		word->word = (uint32_t)((word->addr - start) / 8);
		return true;
	}
	if (word->block != RI_NONE) {
		word->source = (uint32_t)w->objects.count + word->block;
		word->word = (uint32_t)((word->addr - w->blocks.items[word->block].addr) / 8);
		return true;
	}
	r = region_at(w, word->addr);
	if (r == RI_NONE)
		return false;
	word->source = w->holders->object_count + w->holders->block_count + r;
	word->word = (uint32_t)((word->addr - w->holders->regions[r].start) / 8);
	return true;
}

static void take_naive_census(struct naive *n)
{
	const struct world *w = n->w;
	uint32_t registers = region_node(w, RI_REGION_REGISTERS, 0);

	for (size_t part = 0; part < 5; part++)
		for (uint64_t i = 0; i < PART_BYTES; i += 8) {
			struct naive_word word = { .addr = world_starts[part] + i };

			memcpy(&word.value, w->memory[part] + i, 8);
			if (word.value && find_source(w, &word))
				expect_word(n, &word);
		}
	for (uint32_t i = 0; i < RI_REGISTER_COUNT; i++)
		expect_word(n, &(struct naive_word){ .value = w->thread.registers[i],
						     .source = registers, .word = i,
						     .object = RI_NONE, .block = RI_NONE });
}

static void compare(const struct world *w, const struct naive *n)
{
	const struct ri_holders *h = w->holders;
	uint64_t words = 0;

	for (uint64_t e = 0; e < h->edge_count; e++)
		words += h->edges[e].word != RI_NONE;
	assert_int_equal(words, n->edges.count);
	assert_int_equal(h->words_hit, n->hits);
	for (size_t i = 0; i < n->edges.count; i++) {
		const struct expected *x = &n->edges.items[i];
		const struct ri_edge *edge = find_edge(w, x->source, x->word, x->target);

		assert_non_null(edge);
		assert_int_equal(edge->flags & (RI_EDGE_POSSIBLE | RI_EDGE_BORROWS | RI_EDGE_LINK |
						RI_EDGE_INTERIOR | RI_EDGE_TAGGED),
				 x->flags);
	}
}

static void compare_counts(const struct world *w, const struct naive *n)
{
	for (uint32_t o = 0; o < w->objects.count; o++) {
		uint32_t certain = is_member(w, o), possible = 0;

		for (size_t i = 0; i < n->edges.count; i++) {
			const struct expected *x = &n->edges.items[i];

			if (x->target != o || x->flags & (RI_EDGE_LINK | RI_EDGE_BORROWS))
				continue;
			certain += !(x->flags & RI_EDGE_POSSIBLE);
			possible += (x->flags & RI_EDGE_POSSIBLE) != 0;
		}
		assert_int_equal(w->holders->certain[o], certain);
		assert_int_equal(w->holders->possible[o], possible);
	}
}

/* in_edges[] lists each edge to an object once, under its target, ascending. */
static void check_reverse(const struct ri_holders *h)
{
	uint64_t listed = 0, to_objects = 0;

	for (uint64_t e = 0; e < h->edge_count; e++)
		to_objects += h->edges[e].target < h->object_count;
	for (uint32_t o = 0; o < h->object_count; o++)
		for (uint64_t i = h->in_first[o]; i < h->in_first[o + 1]; i++, listed++) {
			assert_int_equal(h->edges[h->in_edges[i]].target, o);
			assert_true(i == h->in_first[o] || h->in_edges[i] > h->in_edges[i - 1]);
		}
	assert_int_equal(listed, to_objects);
	assert_int_equal(h->first[h->node_count], h->edge_count);
}

static void random_memory_matches_a_naive_census(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct naive n = { 0 };
		struct world w;

		fill_world(&w, seed);
		world_take_census(&w);
		n.w = &w;
		take_naive_census(&n);
		assert_true(n.edges.count > 500);
		compare(&w, &n);
		compare_counts(&w, &n);
		check_reverse(w.holders);
		ri_vec_deinit(&n.edges);
		world_deinit(&w);
	}
}

/* A block of many tasks, with an object across each border between two of them. */
#define LARGE 0x20000000ull
#define LARGE_BYTES (40ull << 20)

static void add_large_block(struct world *w, uint8_t *memory, uint64_t *seed)
{
	struct ri_range range = { LARGE, LARGE + LARGE_BYTES, memory, RI_RANGE_PRESENT,
				  RI_RANGE_READ | RI_RANGE_WRITE };
	uint64_t target = w->objects.items[0].addr;

	ri_image_add(w->target.image, &range);
	ri_image_seal(w->target.image);
	add_block(w, LARGE, LARGE_BYTES, RI_BLOCK_USED);
	for (uint64_t border = 8ull << 20; border < LARGE_BYTES; border += 8ull << 20)
		add_object(w, LARGE + border - 32, CONN, RI_NONE, 0);
	for (uint64_t i = 0; i < LARGE_BYTES; i += 8)
		if (next_random(seed) % 300 == 0 || (i + 64) % (8 << 20) < 128)
			memcpy(memory + i, &target, sizeof(target));
}

static void assert_same(const struct ri_holders *a, const struct ri_holders *b)
{
	assert_int_equal(a->edge_count, b->edge_count);
	assert_int_equal(a->words_hit, b->words_hit);
	assert_int_equal(a->bytes_searched, b->bytes_searched);
	assert_memory_equal(a->edges, b->edges, a->edge_count * sizeof(*a->edges));
	assert_memory_equal(a->first, b->first, (a->node_count + 1ul) * sizeof(*a->first));
	assert_memory_equal(a->certain, b->certain, a->object_count * sizeof(*a->certain));
	assert_memory_equal(a->possible, b->possible, a->object_count * sizeof(*a->possible));
}

static void threads_change_nothing(void **state)
{
	struct ri_heap_region regions[2];
	uint8_t *memory = ri_calloc(1, LARGE_BYTES);
	struct ri_holders *alone;
	uint64_t seed = 99, words = 0;
	struct world w;

	(void)state;
	fill_world(&w, seed);
	while (w.objects.items[1].parent == 0) { /* the target must not share its address */
		world_deinit(&w);
		fill_world(&w, ++seed);
	}
	/* objects in module data come after the heap's; here they would stand in between */
	w.objects.count -= 2;
	w.memberships.count = w.groups.count = 0;
	add_large_block(&w, memory, &seed);
	regions[0] = w.heap_region;
	regions[1] = (struct ri_heap_region){ LARGE, LARGE + LARGE_BYTES, "test", true };
	w.heap.regions = regions;
	w.heap.region_count = 2;
	world_take_census(&w);
	alone = w.holders;
	w.holders = NULL;
	/* every word of the large block but the objects' own is an edge of it */
	for (uint64_t i = 0; i < LARGE_BYTES; i += 8) {
		uint64_t value;

		memcpy(&value, memory + i, sizeof(value));
		words += value && innermost(&w, LARGE + i) == RI_NONE;
	}
	assert_int_equal(out_count(&(struct world){ .holders = alone },
				   alone->object_count + alone->block_count - 1),
			 words);
	for (unsigned threads = 2; threads <= 7; threads++) {
		w.thread_count = threads;
		world_take_census(&w);
		assert_same(alone, w.holders);
	}
	ri_holders_destroy(alone);
	world_deinit(&w);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_memory_matches_a_naive_census),
		cmocka_unit_test(threads_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
