/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two objects in the same bytes. */
#include "check_world.h"

/* A world in which object 3 begins in the middle of object 2. */
static struct world *overlapping(void)
{
	struct world *w = world_create();

	w->population.objects[3].addr = world_addr(2) + WORLD_BYTES / 2;
	w->population.objects[3].block = 2;
	return w;
}

static void test_overlap(void **state)
{
	struct world *w = overlapping();
	const struct ri_finding *f;

	(void)state;
	w->population.objects[3].type = 1;
	world_check(w);
	f = world_only(w, "overlap");
	assert_int_equal(f->object, 3);
	assert_int_equal(f->addrs.items[0], world_addr(2));
	assert_string_equal(f->fingerprint, "overlap:session:class=conn");
	assert_true(finding_says(f, "begins inside the other"));
	world_destroy(w);
}

static void test_overlap_needs_two_sound_objects(void **state)
{
	struct world *w = overlapping();

	(void)state;
	w->population.objects[3].state = RI_OBJECT_REMNANT;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);

	w = overlapping();
	world_drop(w, 3); /* what merely may point there vouches for nothing */
	world_hold(w, world_region(w), 3, CLASS_STACK, RI_EDGE_POSSIBLE);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);

	w = overlapping();
	w->population.objects[2].state = RI_OBJECT_MAGIC_BAD;
	world_check(w);
	world_only(w, "bad-magic");
	world_destroy(w);
}

static void test_neighbours_do_not_overlap(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[3].addr = world_addr(2) + WORLD_BYTES;
	w->population.objects[3].block = 2;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* A second type that claims object 2's address, in `claim_state` and found so. */
static struct world *claimed(uint32_t claim_state, uint32_t found)
{
	struct world *w = world_create();

	w->population.rivals = ri_calloc(1, sizeof(*w->population.rivals));
	w->population.rival_count = 1;
	w->population.rivals[0] = (struct ri_rival){
		.object = 2,
		.claim = { .addr = world_addr(2), .type = 1, .block = 2, .parent = RI_NONE,
			   .count = 1, .found = found, .state = claim_state },
	};
	world_check(w);
	return w;
}

static void test_overlap_of_rivals(void **state)
{
	struct world *w = claimed(0, RI_FOUND_POINTER);

	(void)state;
	assert_string_equal(world_only(w, "overlap")->fingerprint, "overlap:conn:class=session");
	free(w->population.rivals);
	world_destroy(w);

	w = claimed(RI_OBJECT_COUNT_DEAD, RI_FOUND_POINTER);
	assert_int_equal(w->findings.count, 0);
	free(w->population.rivals);
	world_destroy(w);

	w = claimed(0, RI_FOUND_MAGIC);
	assert_int_equal(w->findings.count, 0);
	free(w->population.rivals);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_overlap_needs_two_sound_objects),
		cmocka_unit_test(test_neighbours_do_not_overlap),
		cmocka_unit_test(test_overlap_of_rivals),
	};

	return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
