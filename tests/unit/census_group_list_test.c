/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Circular lists: every single damaged word, and what goes beyond one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "census_world.h"

#define NODES_MAX 100

struct list {
	struct world *w;
	uint64_t group, other;       /* the list under test, and a sound one */
	uint64_t headers[NODES_MAX]; /* of its members */
	uint64_t other_header;
	size_t count;
};

static void make_list(struct list *list, size_t count)
{
	struct world *w = world_create();
	uint64_t conn;

	world_add_refobj(w);
	world_add_refobj_group(w);
	conn = world_descriptor(w, "conn", 80, 0);
	*list = (struct list){ .w = w, .count = count };
	list->group = world_group(w, "all_conns");
	list->other = world_group(w, "other");
	for (size_t i = 0; i < count + 2; i++) {
		uint64_t header = world_block(w, 80, RI_BLOCK_USED);

		world_header(w, header, conn);
		world_chain(w, i < count ? list->group : list->other, header);
		if (i < count)
			list->headers[i] = header;
		else
			list->other_header = header;
	}
}

static uint64_t node(const struct list *list, size_t i)
{
	return list->headers[i] + 16;
}

static const struct ri_group *find_group(const struct ri_population *population, uint64_t addr)
{
	for (size_t i = 0; i < population->group_count; i++)
		if (population->groups[i].struct_addr == addr)
			return &population->groups[i];
	fail_msg("no group at %#llx", (unsigned long long)addr);
	return NULL;
}

static void assert_members(const struct list *list, const struct ri_population *population,
			   const struct ri_group *group)
{
	assert_int_equal(group->member_count, list->count);
	for (size_t i = 0; i < list->count; i++) {
		const struct ri_membership *m = &population->memberships[group->first_member + i];

		assert_int_equal(m->node, node(list, i));
		assert_int_equal(ri_object_header(population, &population->objects[m->object]),
				 list->headers[i]);
	}
}

static void sound_lists_have_all_members_and_no_breaks(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 100 };

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		struct list list;
		const struct ri_population *population;
		const struct ri_group *group;

		make_list(&list, counts[c]);
		population = world_find(list.w);
		assert_int_equal(population->object_count, counts[c] + 2);
		group = find_group(population, list.group);
		assert_int_equal(group->break_count, 0);
		assert_int_equal(group->state, 0);
		assert_string_equal(group->name, "all_conns");
		assert_true(group->has_stored_count);
		assert_int_equal(group->stored_count, counts[c]);
		assert_int_equal(group->membership.kind, RI_WEIGHT_FIXED);
		assert_int_equal(group->membership.weight, 0);
		assert_members(&list, population, group);
		assert_int_equal(population->foreign_node_count, 0);
		for (size_t i = 0; i < population->object_count; i++)
			assert_int_not_equal(population->back_group[i], RI_NONE);
		world_destroy(list.w);
	}
}

/* Writes `value` into one link word and expects exactly that to be told. */
static void edit(struct list *list, uint64_t word, uint64_t value)
{
	uint64_t right = world_get64(list->w, word);
	const struct ri_population *population;
	const struct ri_group_break *found;
	const struct ri_group *group;

	if (value == right)
		return;
	world_put64(list->w, word, value);
	population = world_find(list->w);
	group = find_group(population, list->group);
	if (group->break_count != 1 || group->member_count != list->count)
		print_message("word %#llx = %#llx\n", (unsigned long long)word,
			      (unsigned long long)value);
	assert_int_equal(group->break_count, 1);
	found = &population->breaks[group->break_first];
	assert_int_equal(found->word_addr, word);
	assert_int_equal(found->value, value);
	assert_int_equal(found->expected, right);
	assert_int_equal(found->from_head + found->from_tail, list->count);
	assert_int_equal(group->state, 0);
	assert_members(list, population, group);
	assert_int_equal(find_group(population, list->other)->break_count, 0);
	assert_int_equal(population->foreign_node_count, 0);
	world_put64(list->w, word, right);
}

static void edit_word(struct list *list, uint64_t word)
{
	uint64_t head = list->group + 8;
	const uint64_t values[] = {
		0, 0x100, 0xdead0000, UINT64_MAX - 7, head, word & ~15ull, head + 8,
		list->other + 8, list->other_header + 16, list->other_header,
		list->other_header + 48, WORLD_HEAP, WORLD_HEAP + WORLD_HEAP_BYTES - 8,
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		edit(list, word, values[i]);
	for (size_t i = 0; i < list->count; i += list->count > 10 ? 33 : 1) {
		edit(list, word, node(list, i));
		edit(list, word, node(list, i) + 8);
		edit(list, word, list->headers[i]);
	}
}

static void one_damaged_word_is_one_break_and_loses_no_member(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 5, 100 };

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		struct list list;

		make_list(&list, counts[c]);
		edit_word(&list, list.group + 8);
		edit_word(&list, list.group + 16);
		for (size_t i = 0; i < list.count; i += list.count > 10 ? 9 : 1) {
			edit_word(&list, node(&list, i));
			edit_word(&list, node(&list, i) + 8);
		}
		world_destroy(list.w);
	}
}

static void distances_count_members_on_both_sides(void **state)
{
	const struct ri_population *population;
	const struct ri_group_break *found;
	struct list list;

	(void)state;
	make_list(&list, 10);
	world_put64(list.w, node(&list, 2), 0x100);
	population = world_find(list.w);
	found = &population->breaks[find_group(population, list.group)->break_first];
	assert_int_equal(found->from_head, 3);
	assert_int_equal(found->from_tail, 7);
	assert_int_equal(ri_object_header(population, &population->objects[found->object]),
			 list.headers[2]);
	assert_string_equal(found->what, "list poison: the node was removed from its list");
	world_put64(list.w, node(&list, 2), node(&list, 3));
	world_put64(list.w, node(&list, 4) + 8, 0);
	population = world_find(list.w);
	found = &population->breaks[find_group(population, list.group)->break_first];
	assert_int_equal(found->from_head, 4);
	assert_int_equal(found->from_tail, 6);
	assert_string_equal(found->what, "null");
	world_destroy(list.w);
}

static void overwritten_node_stays_a_member(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 5);
	world_put64(list.w, node(&list, 2), 0x1234);
	world_put64(list.w, node(&list, 2) + 8, 0x5678);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_members(&list, population, group);
	assert_int_equal(group->break_count, 2);
	assert_int_equal(group->state, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(population->breaks[group->break_first + i].node, node(&list, 2));
	assert_int_equal(population->breaks[group->break_first].expected, node(&list, 1));
	assert_int_equal(population->breaks[group->break_first + 1].expected, node(&list, 3));
	world_destroy(list.w);
}

static void nodes_between_two_breaks_are_found_again(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	for (size_t last = 3; last < 8; last++) {
		make_list(&list, 10);
		world_put64(list.w, node(&list, 2), 0x1234);
		world_put64(list.w, node(&list, last + 1) + 8, 0x5678);
		population = world_find(list.w);
		group = find_group(population, list.group);
		assert_members(&list, population, group);
		assert_int_equal(group->break_count, 2);
		assert_int_equal(group->state, 0);
		assert_int_equal(population->breaks[group->break_first].expected, node(&list, 3));
		assert_int_equal(population->breaks[group->break_first + 1].expected,
				 node(&list, last));
		world_destroy(list.w);
	}
}

static void two_islands_are_put_in_order(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 12);
	world_put64(list.w, node(&list, 2), 0);
	world_put64(list.w, node(&list, 5), 0);
	world_put64(list.w, node(&list, 6) + 8, node(&list, 5));
	world_put64(list.w, node(&list, 9) + 8, 0);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_members(&list, population, group);
	assert_int_equal(group->state, 0);
	world_destroy(list.w);
}

static void missing_middle_without_back_pointers_is_incomplete(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 10);
	for (size_t i = 3; i < 7; i++)
		world_put64(list.w, list.headers[i] + 32, 0);
	world_put64(list.w, node(&list, 2), 0x1234);
	world_put64(list.w, node(&list, 7) + 8, 0x5678);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_int_equal(group->state, RI_GROUP_INCOMPLETE);
	assert_int_equal(group->member_count, 6);
	assert_int_equal(population->breaks[group->break_first].from_tail, RI_NONE);
	world_destroy(list.w);
}

/* list_add_tail() of a node that is on the list already. */
static void node_added_twice_is_a_loop(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;
	uint64_t head, last;

	(void)state;
	make_list(&list, 4);
	head = list.group + 8;
	last = node(&list, 3);
	world_put64(list.w, node(&list, 1), head);
	world_put64(list.w, node(&list, 1) + 8, last);
	world_put64(list.w, last, node(&list, 1));
	world_put64(list.w, head + 8, node(&list, 1));
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_true(group->state & RI_GROUP_LOOP);
	assert_int_equal(group->member_count, 4);
	world_destroy(list.w);
}

static void circle_without_its_head_is_a_loop(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 5);
	world_put64(list.w, node(&list, 4), node(&list, 0));
	world_put64(list.w, node(&list, 0) + 8, node(&list, 4));
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_true(group->state & RI_GROUP_LOOP);
	assert_int_equal(group->loop_node, node(&list, 0));
	assert_members(&list, population, group);
	world_destroy(list.w);
}

static void object_off_its_list_is_no_member(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;
	size_t strays = 0;

	(void)state;
	make_list(&list, 5);
	/* node 2 is taken out but keeps its links and its back pointer */
	world_put64(list.w, node(&list, 1), node(&list, 3));
	world_put64(list.w, node(&list, 3) + 8, node(&list, 1));
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_int_equal(group->break_count, 0);
	assert_int_equal(group->member_count, 4);
	assert_int_equal(population->object_count, 7);
	for (size_t i = 0; i < population->object_count; i++)
		if (population->member_of_first[i] == population->member_of_first[i + 1]) {
			strays++;
			assert_int_equal(population->back_pointer[i], list.group);
			assert_ptr_equal(&population->groups[population->back_group[i]], group);
		}
	assert_int_equal(strays, 1);
	world_destroy(list.w);
}

static void freed_member_is_an_object_of_the_group(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;
	const struct ri_object *object;

	(void)state;
	make_list(&list, 5);
	/* as free() leaves it in a tcache: the first two words are the allocator's */
	list.w->blocks.items[2].state = RI_BLOCK_FREE;
	world_put64(list.w, list.headers[2], 0x123456789abcdef0);
	world_put64(list.w, list.headers[2] + 8, 0xfedcba9876543210);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_members(&list, population, group);
	object = &population->objects[population->memberships[group->first_member + 2].object];
	assert_int_equal(object->state, RI_OBJECT_FREED);
	assert_int_equal(object->found, RI_FOUND_GROUP);
	world_destroy(list.w);
}

static void foreign_node_is_told_and_passed(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 3);
	/* node 1's block holds something else now: no magic, no type, wrong size */
	list.w->blocks.items[1].size_bytes = 40;
	world_put64(list.w, list.headers[1], 0);
	world_put64(list.w, list.headers[1] + 8, 0);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_int_equal(group->break_count, 0);
	assert_int_equal(group->member_count, 2);
	assert_int_equal(population->foreign_node_count, 1);
	assert_int_equal(population->foreign_nodes[0].node, node(&list, 1));
	world_destroy(list.w);
}

static void group_without_magic_is_found_by_its_members(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 3);
	world_put64(list.w, list.group, 0);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_int_equal(group->state, RI_GROUP_HEAD_BAD_MAGIC);
	assert_members(&list, population, group);
	world_destroy(list.w);
}

static void stray_back_pointer_makes_no_group(void **state)
{
	const struct ri_population *population;
	struct list list;

	(void)state;
	make_list(&list, 3);
	world_put64(list.w, list.headers[1] + 32, list.headers[0] + 40);
	population = world_find(list.w);
	assert_int_equal(population->group_count, 2);
	assert_int_equal(population->back_group[1], RI_NONE);
	assert_int_equal(population->back_pointer[1], list.headers[0] + 40);
	world_destroy(list.w);
}

static void zeroed_head_is_uninitialised(void **state)
{
	const struct ri_population *population;
	struct list list;

	(void)state;
	make_list(&list, 0);
	world_put64(list.w, list.group + 8, 0);
	world_put64(list.w, list.group + 16, 0);
	population = world_find(list.w);
	assert_int_equal(find_group(population, list.group)->state, RI_GROUP_UNINITIALISED);
	assert_int_equal(find_group(population, list.group)->break_count, 0);
	world_destroy(list.w);
}

static void owning_group_and_parent_are_resolved(void **state)
{
	const struct ri_population *population;
	const struct ri_group *group;
	struct list list;

	(void)state;
	make_list(&list, 1);
	world_put32(list.w, list.group + 72, REFOBJ_GROUP_OWNS);
	world_put64(list.w, list.group + 40, list.other);
	population = world_find(list.w);
	group = find_group(population, list.group);
	assert_int_equal(group->membership.weight, 1);
	assert_int_equal(population->groups[group->parent].struct_addr, list.other);
	world_destroy(list.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_lists_have_all_members_and_no_breaks),
		cmocka_unit_test(one_damaged_word_is_one_break_and_loses_no_member),
		cmocka_unit_test(distances_count_members_on_both_sides),
		cmocka_unit_test(overwritten_node_stays_a_member),
		cmocka_unit_test(nodes_between_two_breaks_are_found_again),
		cmocka_unit_test(two_islands_are_put_in_order),
		cmocka_unit_test(missing_middle_without_back_pointers_is_incomplete),
		cmocka_unit_test(node_added_twice_is_a_loop),
		cmocka_unit_test(circle_without_its_head_is_a_loop),
		cmocka_unit_test(object_off_its_list_is_no_member),
		cmocka_unit_test(freed_member_is_an_object_of_the_group),
		cmocka_unit_test(foreign_node_is_told_and_passed),
		cmocka_unit_test(group_without_magic_is_found_by_its_members),
		cmocka_unit_test(stray_back_pointer_makes_no_group),
		cmocka_unit_test(zeroed_head_is_uninitialised),
		cmocka_unit_test(owning_group_and_parent_are_resolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
