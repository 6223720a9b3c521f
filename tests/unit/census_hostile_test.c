/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random words in a sound world: the population must come to an end, and what it
 * says must be consistent in itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "census_world.h"

enum { OBJECTS = 40, GROUPS = 4, ROUNDS = 400, EDITS = 24 };

struct subject {
	struct world *w;
	uint64_t groups[GROUPS], headers[OBJECTS];
};

static void build(struct subject *s)
{
	struct world *w = world_create();
	uint64_t types[3];

	s->w = w;
	world_add_refobj(w);
	world_add_refobj_group(w);
	types[0] = world_descriptor(w, "conn", 80, 0);
	types[1] = world_descriptor(w, "session", 120, 24);
	types[2] = world_descriptor(w, "page", 64, -48);
	for (size_t i = 0; i < GROUPS; i++)
		s->groups[i] = world_group(w, i % 2 ? "odd" : "even");
	for (size_t i = 0; i < OBJECTS; i++) {
		static const uint64_t bytes[] = { 80, 120, 112 }, header[] = { 0, 24, 0 };

		s->headers[i] = world_block(w, bytes[i % 3], RI_BLOCK_USED) + header[i % 3];
		world_header(w, s->headers[i], types[i % 3]);
		world_chain(w, s->groups[i % GROUPS], s->headers[i]);
	}
}

static uint64_t random_addr(const struct subject *s)
{
	if (rand() % 3)
		return s->headers[rand() % OBJECTS] + (uint64_t)(rand() % 6) * 8;
	return rand() % 2 ? s->groups[rand() % GROUPS] + (uint64_t)(rand() % 16) * 8
			  : WORLD_STATIC + (uint64_t)(rand() % 64) * 8;
}

static uint64_t random_value(const struct subject *s)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, INT64_MAX, 0x100, REFOBJ_TYPE_MAGIC,
					   REFOBJ_GROUP_MAGIC, REFOBJ_MAGIC,
					   (uint64_t)INT64_MIN, UINT64_MAX - 47 };

	if (rand() % 4)
		return random_addr(s) + (rand() % 8 ? 0 : (uint64_t)(rand() % 8));
	return values[(size_t)rand() % (sizeof(values) / sizeof(values[0]))];
}

static void check_objects(const struct ri_population *population)
{
	for (size_t i = 0; i < population->object_count; i++) {
		const struct ri_object *object = &population->objects[i];
		uint64_t start = ri_object_start(population, object);

		assert_true(object->type < population->type_count);
		assert_true(start < ri_object_end(population, object));
		assert_true(object->parent == RI_NONE || object->parent < i);
		if (i)
			assert_true(ri_object_start(population, object - 1) <= start);
		assert_int_not_equal(ri_population_find(population, start), RI_NONE);
		assert_true(population->back_group[i] == RI_NONE ||
			    population->back_group[i] < population->group_count);
	}
}

static void check_groups(const struct ri_population *population)
{
	size_t members = 0, breaks = 0;

	for (size_t i = 0; i < population->group_count; i++) {
		const struct ri_group *group = &population->groups[i];

		assert_non_null(group->name);
		assert_int_equal(group->first_member, members);
		members += group->member_count;
		breaks += group->break_count;
		assert_true(group->break_first + group->break_count <= population->break_count);
		for (uint32_t m = 0; m < group->member_count; m++) {
			const struct ri_membership *membership =
				&population->memberships[group->first_member + m];

			assert_int_equal(membership->group, i);
			assert_true(membership->object < population->object_count);
		}
		for (uint32_t a = 0; a < group->break_count; a++)
			for (uint32_t b = 0; b < a; b++)
				assert_int_not_equal(
					population->breaks[group->break_first + a].word_addr,
					population->breaks[group->break_first + b].word_addr);
	}
	assert_int_equal(members, population->membership_count);
	assert_int_equal(breaks, population->break_count);
	for (size_t i = 0; i < population->membership_count; i++) {
		uint32_t m = population->member_of[i];
		uint32_t object = population->memberships[m].object;

		assert_true(population->member_of_first[object] <= i &&
			    i < population->member_of_first[object + 1]);
	}
}

static void random_words_are_survived(void **state)
{
	struct subject s;

	(void)state;
	srand(11);
	for (int round = 0; round < ROUNDS; round++) {
		int edits = 1 + rand() % EDITS;

		build(&s);
		for (int i = 0; i < edits; i++)
			world_put64(s.w, random_addr(&s), random_value(&s));
		for (int i = rand() % 4; i--;)
			s.w->blocks.items[rand() % OBJECTS].state =
				(uint64_t)(rand() % (RI_BLOCK_RECORD + 1));
		check_objects(world_find(s.w));
		check_groups(s.w->population);
		world_destroy(s.w);
	}
}

/* Every node's links lead to one node: nothing may be walked over and over. */
static void many_heads_of_one_circle_are_bounded(void **state)
{
	struct subject s;

	(void)state;
	build(&s);
	for (size_t i = 0; i < OBJECTS; i++)
		world_put64(s.w, s.headers[i] + 32, s.headers[(i + 1) % OBJECTS] + 8);
	check_groups(world_find(s.w));
	world_destroy(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_words_are_survived),
		cmocka_unit_test(many_heads_of_one_circle_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
