/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is still alive at the end of a program, by type and by root; counts that are off by
 * one constant. */
#include "check_world.h"

static const struct ri_finding *find(const struct world *w, const char *fingerprint)
{
	for (size_t i = 0; i < w->findings.count; i++)
		if (!strcmp(w->findings.items[i].fingerprint, fingerprint))
			return &w->findings.items[i];
	return NULL;
}

static void test_unreclaimed(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	w->analysis.is_at_exit = true;
	for (uint32_t o = 4; o < WORLD_OBJECTS; o++)
		w->population.objects[o].type = 1;
	world_drop(w, 5); /* held by conn 0, which the table holds */
	world_hold(w, 0, 5, CLASS_SESSION, 0);
	world_drop(w, 6);
	world_hold(w, world_region(w), 6, CLASS_STACK, RI_EDGE_POSSIBLE);
	w->population.objects[7].state = RI_OBJECT_NOT_LEAK;
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	f = find(w, "unreclaimed:conn");
	assert_non_null(f);
	assert_true(finding_says(f, "4 objects (256 bytes) are still alive"));
	assert_true(finding_says(f, "4 kept by table[]"));
	f = find(w, "unreclaimed:session");
	assert_non_null(f);
	assert_true(finding_says(f, "3 objects"));
	assert_true(finding_says(f, "2 kept by table[]"));
	assert_true(finding_says(f, "1 kept by stack"));
	assert_string_equal(finding_last(f), "objects session");
	world_destroy(w);
}

static void test_leaks_keep_their_own_finding(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->analysis.is_at_exit = true;
	world_drop(w, 3);
	world_leak(w, 3, 3);
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	assert_non_null(find(w, "unreachable:conn"));
	assert_true(finding_says(find(w, "unreclaimed:conn"), "7 objects"));
	world_destroy(w);
}

static void test_nothing_is_unreclaimed_while_it_runs(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* `zeros` of 20 objects count 0 for their one holder, the others 1 for their two. */
static struct world *counting_from_zero(uint32_t zeros)
{
	struct world *w = world_create_sized(20);

	for (uint32_t o = 0; o < 20; o++) {
		struct ri_object *object = &w->population.objects[o];

		object->count = o < zeros ? 0 : 1;
		object->state = o < zeros ? RI_OBJECT_COUNT_DEAD : 0;
		if (o >= zeros)
			world_hold(w, world_region(w), o, CLASS_VARIABLE, 0);
	}
	return w;
}

static void test_counts_from_zero_are_policy(void **state)
{
	struct world *w = counting_from_zero(14);

	(void)state;
	world_check(w);
	world_only(w, "policy");
	world_destroy(w);

	/* one that is dead for its two holders is no part of the convention */
	w = counting_from_zero(14);
	world_hold(w, world_region(w), 3, CLASS_VARIABLE, 0);
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	assert_non_null(find(w, "bad-count:conn"));
	assert_non_null(find(w, "policy:conn"));
	world_destroy(w);
}

static void test_single_dead_counts_are_damage(void **state)
{
	struct world *w = world_create_sized(20);

	(void)state;
	w->population.objects[3].state = RI_OBJECT_COUNT_DEAD;
	w->population.objects[3].count = 0;
	world_check(w);
	world_only(w, "bad-count");
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreclaimed),
		cmocka_unit_test(test_leaks_keep_their_own_finding),
		cmocka_unit_test(test_nothing_is_unreclaimed_while_it_runs),
		cmocka_unit_test(test_counts_from_zero_are_policy),
		cmocka_unit_test(test_single_dead_counts_are_damage),
	};

	return cmocka_run_group_tests_name("at exit", tests, NULL, NULL);
}
