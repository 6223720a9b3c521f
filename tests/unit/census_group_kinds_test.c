/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups that are no circular lists: each kind sound, then damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "census_world.h"

#define NODES_MAX 64
#define LINK 16 /* of the link in an object's header */
#define HEAD_BYTES 32

struct chain {
	struct world *w;
	struct ri_group_rule *rule;
	uint64_t head;
	uint64_t headers[NODES_MAX];
	size_t count;
};

/* `count` live objects and a head in static memory that a rule names. */
static void make_chain(struct chain *chain, enum ri_link_kind kind, size_t count)
{
	struct world *w = world_create();
	uint64_t conn;

	world_add_refobj(w);
	*chain = (struct chain){ .w = w, .count = count, .rule = ri_push(&w->layout.groups) };
	conn = world_descriptor(w, "conn", 80, 0);
	chain->head = world_static(w, HEAD_BYTES);
	*chain->rule = (struct ri_group_rule){
		.kind = kind,
		.has_variable = true,
		.variable_addr = chain->head,
		.variable_name = "conns",
		.element_type = RI_LAYOUT_NONE,
		.link_offset = LINK,
		.next_offset = 0,
		.prev_offset = -1,
		.parent_offset = -1,
		.right_offset = -1,
		.head_last_offset = -1,
	};
	for (size_t i = 0; i < count; i++) {
		chain->headers[i] = world_block(w, 80, RI_BLOCK_USED);
		world_header(w, chain->headers[i], conn);
	}
}

static uint64_t node(const struct chain *chain, size_t i)
{
	return chain->headers[i] + LINK;
}

/* The word that should lead to node `i` (or end the chain). */
static uint64_t word_to(const struct chain *chain, size_t i)
{
	return i ? node(chain, i - 1) : chain->head;
}

static void link_forward(struct chain *chain)
{
	for (size_t i = 0; i <= chain->count; i++)
		world_put64(chain->w, word_to(chain, i), i < chain->count ? node(chain, i) : 0);
}

static void make_slist(struct chain *chain, size_t count)
{
	make_chain(chain, RI_LINK_SLIST, count);
	link_forward(chain);
}

static void make_dlist(struct chain *chain, size_t count, bool has_last)
{
	make_chain(chain, RI_LINK_DLIST, count);
	link_forward(chain);
	chain->rule->prev_offset = 8;
	for (size_t i = 0; i < count; i++)
		world_put64(chain->w, node(chain, i) + 8, i ? node(chain, i - 1) : 0);
	if (has_last) {
		chain->rule->head_last_offset = 8;
		world_put64(chain->w, chain->head + 8, count ? node(chain, count - 1) : 0);
	}
}

/* TAILQ, or HLIST without the head's last word. */
static void make_tailq(struct chain *chain, size_t count, enum ri_link_kind kind)
{
	make_chain(chain, kind, count);
	link_forward(chain);
	chain->rule->prev_offset = 8;
	for (size_t i = 0; i < count; i++)
		world_put64(chain->w, node(chain, i) + 8, word_to(chain, i));
	if (kind == RI_LINK_TAILQ) {
		chain->rule->head_last_offset = 8;
		world_put64(chain->w, chain->head + 8, word_to(chain, count));
	}
}

static void assert_members(const struct chain *chain, const struct ri_population *population,
			   size_t count)
{
	const struct ri_group *group = &population->groups[0];

	assert_int_equal(population->group_count, 1);
	assert_string_equal(group->name, "conns");
	assert_int_equal(group->member_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(population->memberships[group->first_member + i].node,
				 node(chain, i));
}

static void assert_sound(struct chain *chain)
{
	const struct ri_population *population = world_find(chain->w);

	assert_members(chain, population, chain->count);
	assert_int_equal(population->groups[0].break_count, 0);
	assert_int_equal(population->groups[0].state, 0);
	world_destroy(chain->w);
}

static void sound_chains_have_all_members(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 20 };
	struct chain chain;

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		make_slist(&chain, counts[c]);
		assert_sound(&chain);
		make_dlist(&chain, counts[c], false);
		assert_sound(&chain);
		make_dlist(&chain, counts[c], true);
		assert_sound(&chain);
		make_tailq(&chain, counts[c], RI_LINK_TAILQ);
		assert_sound(&chain);
		make_tailq(&chain, counts[c], RI_LINK_HLIST);
		assert_sound(&chain);
	}
}

/* One wrong word: one break at it, and every member. */
static void edit(struct chain *chain, uint64_t word, uint64_t value)
{
	uint64_t right = world_get64(chain->w, word);
	const struct ri_population *population;

	if (value == right)
		return;
	world_put64(chain->w, word, value);
	population = world_find(chain->w);
	if (population->groups[0].break_count != 1 || population->breaks[0].word_addr != word)
		print_message("word %#llx = %#llx, %u breaks\n", (unsigned long long)word,
			      (unsigned long long)value, population->groups[0].break_count);
	assert_int_equal(population->groups[0].break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, word);
	assert_int_equal(population->breaks[0].value, value);
	assert_int_equal(population->breaks[0].expected, right);
	assert_members(chain, population, chain->count);
	assert_int_equal(population->groups[0].state, 0);
	world_put64(chain->w, word, right);
}

static void edit_word(struct chain *chain, uint64_t word)
{
	const uint64_t values[] = { 0, 0x100, 0xdead0000, chain->head, chain->head + 8,
				    WORLD_HEAP, word & ~15ull };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		edit(chain, word, values[i]);
	for (size_t i = 0; i < chain->count; i++) {
		edit(chain, word, node(chain, i));
		edit(chain, word, node(chain, i) + 8);
	}
}

static void edit_all(struct chain *chain)
{
	edit_word(chain, chain->head);
	edit_word(chain, chain->head + 8);
	for (size_t i = 0; i < chain->count; i++) {
		edit_word(chain, node(chain, i));
		edit_word(chain, node(chain, i) + 8);
	}
	world_destroy(chain->w);
}

static void one_damaged_word_of_a_dlist_loses_no_member(void **state)
{
	struct chain chain;

	(void)state;
	for (size_t count = 0; count < 6; count++) {
		make_dlist(&chain, count, true);
		edit_all(&chain);
	}
}

static void one_damaged_word_of_a_tailq_loses_no_member(void **state)
{
	struct chain chain;

	(void)state;
	for (size_t count = 0; count < 6; count++) {
		make_tailq(&chain, count, RI_LINK_TAILQ);
		edit_all(&chain);
	}
}

static void damaged_word_back_of_an_hlist_loses_no_member(void **state)
{
	struct chain chain;

	(void)state;
	make_tailq(&chain, 5, RI_LINK_HLIST);
	for (size_t i = 0; i < 5; i++)
		edit_word(&chain, node(&chain, i) + 8);
	world_destroy(chain.w);
}

static void lost_way_in_an_hlist_is_incomplete(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tailq(&chain, 5, RI_LINK_HLIST);
	world_put64(chain.w, node(&chain, 2), 0xdead0000);
	population = world_find(chain.w);
	assert_members(&chain, population, 3);
	assert_int_equal(population->groups[0].state, RI_GROUP_INCOMPLETE);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 2));
	assert_int_equal(population->breaks[0].from_head, 3);
	assert_int_equal(population->breaks[0].from_tail, RI_NONE);
	world_destroy(chain.w);
}

static void slist_stops_where_the_way_is_lost(void **state)
{
	static const uint64_t values[] = { 0xdead0000, 0x100, WORLD_HEAP, WORLD_STATIC + 0x3000 };
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		make_slist(&chain, 6);
		world_put64(chain.w, WORLD_STATIC + 0x3000 + 0, WORLD_HEAP + 8);
		world_put64(chain.w, node(&chain, 3), values[i]);
		population = world_find(chain.w);
		assert_members(&chain, population, 4);
		assert_int_equal(population->groups[0].break_count, 1);
		assert_int_equal(population->breaks[0].word_addr, node(&chain, 3));
		assert_int_equal(population->groups[0].state, RI_GROUP_INCOMPLETE);
		world_destroy(chain.w);
	}
}

static void slist_loop_counts_each_member_once(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	for (size_t last = 0; last < 20; last++)
		for (size_t to = 0; to <= last; to++) {
			make_slist(&chain, 20);
			world_put64(chain.w, node(&chain, last), node(&chain, to));
			population = world_find(chain.w);
			assert_members(&chain, population, last + 1);
			assert_true(population->groups[0].state & RI_GROUP_LOOP);
			assert_int_equal(population->groups[0].loop_node, node(&chain, to));
			assert_int_equal(population->breaks[0].word_addr, node(&chain, last));
			world_destroy(chain.w);
		}
}

static void slist_tail_pointer_is_compared(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_slist(&chain, 4);
	chain.rule->head_last_offset = 8;
	for (int is_word = 0; is_word < 2; is_word++) {
		world_put64(chain.w, chain.head + 8,
			    is_word ? word_to(&chain, 4) : node(&chain, 3));
		assert_int_equal(world_find(chain.w)->break_count, 0);
	}
	world_put64(chain.w, chain.head + 8, node(&chain, 2));
	population = world_find(chain.w);
	assert_int_equal(population->break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, chain.head + 8);
	world_destroy(chain.w);
}

static void end_mark_ends_a_chain(void **state)
{
	struct chain chain;

	(void)state;
	make_slist(&chain, 4);
	chain.rule->has_end_mark = true;
	chain.rule->end_mark = UINT64_MAX;
	world_put64(chain.w, node(&chain, 3), UINT64_MAX);
	assert_sound(&chain);
	/* in both directions, and where the way back leads to members */
	make_dlist(&chain, 4, true);
	chain.rule->has_end_mark = true;
	chain.rule->end_mark = UINT64_MAX;
	world_put64(chain.w, node(&chain, 3), UINT64_MAX);
	world_put64(chain.w, node(&chain, 0) + 8, UINT64_MAX);
	assert_sound(&chain);
}

static void external_nodes_lead_to_their_payload(void **state)
{
	const struct ri_population *population;
	struct chain chain;
	uint64_t word;

	(void)state;
	make_chain(&chain, RI_LINK_SLIST, 3);
	chain.rule->node_bytes = 24;
	chain.rule->link_offset = 0;
	chain.rule->payload_offset = 8;
	word = chain.head;
	for (size_t i = 0; i < 3; i++) {
		uint64_t external = world_block(chain.w, 24, RI_BLOCK_USED);

		world_put64(chain.w, word, external);
		world_put64(chain.w, external + 8, chain.headers[i]);
		word = external;
	}
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 3);
	assert_int_equal(population->foreign_node_count, 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct ri_membership *m = &population->memberships[i];

		assert_int_equal(population->objects[m->object].addr, chain.headers[i]);
		assert_int_equal(m->node, chain.w->blocks.items[3 + i].addr);
	}
	world_destroy(chain.w);
}

/* A complete tree of `count` nodes as an rb_root has it: parent with colour bits
 * at 0, right at 8, left at 16; node i has children 2i + 1 and 2i + 2. */
static void make_tree(struct chain *chain, size_t count)
{
	make_chain(chain, RI_LINK_TREE, count);
	chain->rule->parent_offset = 0;
	chain->rule->right_offset = 8;
	chain->rule->next_offset = 16;
	world_put64(chain->w, chain->head, count ? node(chain, 0) : 0);
	for (size_t i = 0; i < count; i++) {
		world_put64(chain->w, node(chain, i),
			    (i ? node(chain, (i - 1) / 2) : 0) | (i & 1));
		world_put64(chain->w, node(chain, i) + 16,
			    2 * i + 1 < count ? node(chain, 2 * i + 1) : 0);
		world_put64(chain->w, node(chain, i) + 8,
			    2 * i + 2 < count ? node(chain, 2 * i + 2) : 0);
	}
}

static void tree_is_walked_in_order(void **state)
{
	static const size_t in_order[] = { 7, 3, 8, 1, 9, 4, 0, 5, 2, 6 };
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 10);
	for (int has_parents = 1; has_parents >= 0; has_parents--) {
		chain.rule->parent_offset = has_parents ? 0 : -1;
		population = world_find(chain.w);
		assert_int_equal(population->groups[0].member_count, 10);
		assert_int_equal(population->break_count, 0);
		for (size_t i = 0; i < 10; i++)
			assert_int_equal(population->memberships[i].node,
					 node(&chain, in_order[i]));
	}
	world_destroy(chain.w);
}

static void wrong_parent_word_of_a_tree_is_told(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 15);
	world_put64(chain.w, node(&chain, 4), node(&chain, 5) | 1);
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 15);
	assert_int_equal(population->break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 4));
	assert_int_equal(population->breaks[0].expected, node(&chain, 1) | 1);
	assert_int_equal(population->groups[0].state, 0);
	world_destroy(chain.w);
}

static void tree_link_into_another_branch_is_not_followed(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 15);
	world_put64(chain.w, node(&chain, 3) + 16, node(&chain, 2));
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 14);
	assert_int_equal(population->break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 3) + 16);
	assert_true(population->groups[0].state & RI_GROUP_INCOMPLETE);
	world_destroy(chain.w);
}

static void tree_links_that_meet_are_followed_once(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 15);
	world_put64(chain.w, node(&chain, 3) + 8, node(&chain, 7)); /* right as left */
	for (int has_parents = 1; has_parents >= 0; has_parents--) {
		chain.rule->parent_offset = has_parents ? 0 : -1;
		population = world_find(chain.w);
		assert_int_equal(population->groups[0].member_count, 14);
		assert_int_equal(population->break_count, 1);
		assert_int_equal(population->breaks[0].word_addr, node(&chain, 3) + 8);
		assert_true(population->groups[0].state & RI_GROUP_INCOMPLETE);
	}
	world_destroy(chain.w);
}

static void tree_link_back_to_the_root_is_a_loop(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 15);
	world_put64(chain.w, node(&chain, 2) + 16, node(&chain, 0));
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 12);
	assert_int_equal(population->break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 2) + 16);
	assert_true(population->groups[0].state & RI_GROUP_LOOP);
	world_destroy(chain.w);
}

static void tree_without_parents_enters_each_node_once(void **state)
{
	const struct ri_population *population;
	struct chain chain;

	(void)state;
	make_tree(&chain, 15);
	chain.rule->parent_offset = -1;
	world_put64(chain.w, node(&chain, 10) + 8, node(&chain, 0));
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 15);
	assert_true(population->groups[0].state & RI_GROUP_LOOP);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 10) + 8);
	world_destroy(chain.w);
}

static void array_slots_hold_elements(void **state)
{
	const struct ri_population *population;
	struct chain chain;
	uint64_t table;

	(void)state;
	make_chain(&chain, RI_LINK_ARRAY, 5);
	table = world_block(chain.w, 8 * 8, RI_BLOCK_USED);
	chain.rule->head_is_pointer = true;
	chain.rule->slot_bytes = 8;
	chain.rule->length = world_field(8, 8);
	world_put64(chain.w, chain.head, table);
	world_put64(chain.w, chain.head + 8, 8);
	for (size_t i = 0; i < 5; i++)
		world_put64(chain.w, table + 8 * (i + 1), chain.headers[i]);
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 5);
	assert_int_equal(population->groups[0].state, 0);
	assert_int_equal(population->groups[0].slots, table);
	assert_int_equal(population->groups[0].slot_count, 8);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(population->memberships[i].node, table + 8 * (i + 1));
	world_put64(chain.w, table + 8, 0xdead0000);
	world_put64(chain.w, table + 16, WORLD_HEAP + 8);
	world_put64(chain.w, chain.head + 8, 4000);
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 3);
	assert_int_equal(population->foreign_node_count, 1);
	assert_int_equal(population->breaks[0].word_addr, table + 8);
	assert_int_equal(population->groups[0].state, RI_GROUP_INCOMPLETE);
	assert_int_equal(population->groups[0].slot_count, 9); /* as many as its block has */
	world_destroy(chain.w);
}

static void hash_walks_each_bucket(void **state)
{
	const struct ri_population *population;
	struct chain chain;
	uint64_t table;

	(void)state;
	make_chain(&chain, RI_LINK_HASH, 9);
	table = world_block(chain.w, 4 * 8, RI_BLOCK_USED);
	chain.rule->bucket = RI_LINK_HLIST;
	chain.rule->head_is_pointer = true;
	chain.rule->prev_offset = 8;
	chain.rule->slot_bytes = 8;
	chain.rule->fixed_length = 4;
	world_put64(chain.w, chain.head, table);
	for (size_t i = 0; i < 9; i++) { /* three in each bucket but the last */
		uint64_t word = i % 3 ? node(&chain, i - 1) : table + 8 * (i / 3);

		world_put64(chain.w, word, node(&chain, i));
		world_put64(chain.w, node(&chain, i) + 8, word);
	}
	assert_members(&chain, world_find(chain.w), 9);
	world_put64(chain.w, node(&chain, 4), 0xdead0000);
	population = world_find(chain.w);
	assert_int_equal(population->groups[0].member_count, 8);
	assert_int_equal(population->groups[0].break_count, 1);
	assert_int_equal(population->breaks[0].word_addr, node(&chain, 4));
	assert_int_equal(population->breaks[0].from_head, 5);
	assert_int_equal(population->groups[0].state, RI_GROUP_INCOMPLETE);
	world_destroy(chain.w);
}

static void headless_list_finds_the_node_that_is_no_element(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct chain chain;

	(void)state;
	make_chain(&chain, RI_LINK_LIST, 6);
	chain.rule->has_variable = false;
	chain.rule->is_headless = true;
	chain.rule->head_first_offset = -1;
	chain.rule->prev_offset = 8;
	chain.rule->back = world_field(32, 8);
	for (size_t i = 0; i <= 6; i++) {
		uint64_t from = i ? node(&chain, i - 1) : chain.head;
		uint64_t to = i < 6 ? node(&chain, i) : chain.head;

		world_put64(chain.w, from, to);
		world_put64(chain.w, to + 8, from);
		if (i < 6)
			world_put64(chain.w, chain.headers[i] + 32, chain.head - 16);
	}
	population = world_find(chain.w);
	assert_int_equal(population->group_count, 1);
	group = &population->groups[0];
	assert_int_equal(group->head, chain.head);
	assert_int_equal(group->member_count, 6);
	assert_int_equal(group->break_count, 0);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(population->memberships[i].node, node(&chain, i));
		assert_int_equal(population->back_group[i], 0);
	}
	/* a circle of elements alone is no group */
	world_put64(chain.w, node(&chain, 5), node(&chain, 0));
	world_put64(chain.w, node(&chain, 0) + 8, node(&chain, 5));
	assert_int_equal(world_find(chain.w)->group_count, 0);
	world_destroy(chain.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_chains_have_all_members),
		cmocka_unit_test(one_damaged_word_of_a_dlist_loses_no_member),
		cmocka_unit_test(one_damaged_word_of_a_tailq_loses_no_member),
		cmocka_unit_test(damaged_word_back_of_an_hlist_loses_no_member),
		cmocka_unit_test(lost_way_in_an_hlist_is_incomplete),
		cmocka_unit_test(slist_stops_where_the_way_is_lost),
		cmocka_unit_test(slist_loop_counts_each_member_once),
		cmocka_unit_test(slist_tail_pointer_is_compared),
		cmocka_unit_test(end_mark_ends_a_chain),
		cmocka_unit_test(external_nodes_lead_to_their_payload),
		cmocka_unit_test(tree_is_walked_in_order),
		cmocka_unit_test(wrong_parent_word_of_a_tree_is_told),
		cmocka_unit_test(tree_link_into_another_branch_is_not_followed),
		cmocka_unit_test(tree_links_that_meet_are_followed_once),
		cmocka_unit_test(tree_link_back_to_the_root_is_a_loop),
		cmocka_unit_test(tree_without_parents_enters_each_node_once),
		cmocka_unit_test(array_slots_hold_elements),
		cmocka_unit_test(hash_walks_each_bucket),
		cmocka_unit_test(headless_list_finds_the_node_that_is_no_element),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
