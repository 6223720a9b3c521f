/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of single objects: headers, counts against holders, freed blocks,
 * and which of several codes speaks. */
#include "check_world.h"

static void test_sound_world_has_no_finding(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_group(w, "all_conns", 0, 4);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* A world in which object 2 has `bits`; spoilt by every test below. */
static struct world *spoilt(uint32_t bits)
{
	struct world *w = world_create();

	w->population.objects[2].state = bits;
	return w;
}

static void test_bad_magic(void **state)
{
	struct world *w = spoilt(RI_OBJECT_MAGIC_BAD);
	const struct ri_finding *f;

	(void)state;
	w->population.objects[2].count = 77; /* a count behind a wrong magic says nothing */
	world_check(w);
	f = world_only(w, "bad-magic");
	assert_int_equal(f->addr, world_addr(2));
	assert_string_equal(f->fingerprint, "bad-magic:conn");
	assert_string_equal(finding_last(f), "show 0x12000");
	assert_true(finding_says(f, "1 in table[], certain"));
	world_destroy(w);
}

static void test_freed_magic_needs_a_holder(void **state)
{
	struct world *w = spoilt(RI_OBJECT_MAGIC_DEAD | RI_OBJECT_COUNT_DEAD);
	const struct ri_finding *f;

	(void)state;
	world_check(w);
	f = world_only(w, "freed-object");
	assert_true(finding_implies(f, "bad-count"));
	assert_true(finding_implies(f, "bad-magic"));
	assert_true(finding_implies(f, "dangling"));
	assert_false(finding_implies(f, "freed-object"));
	world_destroy(w);

	w = spoilt(RI_OBJECT_MAGIC_DEAD | RI_OBJECT_COUNT_DEAD);
	world_drop(w, 2);
	world_hold(w, world_region(w), 2, CLASS_STACK, RI_EDGE_POSSIBLE);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_bad_group_magic(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 4);
	const struct ri_finding *f;

	(void)state;
	w->groups.items[g].state = RI_GROUP_HEAD_BAD_MAGIC;
	world_check(w);
	f = world_only(w, "bad-magic");
	assert_int_equal(f->group, g);
	assert_string_equal(f->fingerprint, "bad-magic:conn:group=all_conns");
	world_destroy(w);

	/* a static group that nobody initialised has no magic either */
	w = world_create();
	g = world_group(w, "later", 0, 0);
	w->groups.items[g].state = RI_GROUP_HEAD_BAD_MAGIC | RI_GROUP_UNINITIALISED;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_bad_type(void **state)
{
	struct world *w = spoilt(RI_OBJECT_DESCRIPTOR_BAD);

	(void)state;
	world_check(w);
	world_only(w, "bad-type");
	world_destroy(w);

	w = spoilt(RI_OBJECT_DESCRIPTOR_BAD | RI_OBJECT_MAGIC_BAD);
	world_check(w);
	assert_true(finding_implies(world_only(w, "bad-magic"), "bad-type"));
	world_destroy(w);
}

/* A descriptor in the image, whose release function is `release`. */
static void check_release(uint64_t release, size_t finding_count)
{
	const uint64_t descriptor[] = { 0x1234, release };
	const struct ri_range ranges[] = {
		{ 0x800000, 0x800000 + sizeof(descriptor), (const uint8_t *)descriptor,
		  RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE },
		{ 0x400000, 0x401000, NULL, RI_RANGE_MISSING, RI_RANGE_READ | RI_RANGE_EXEC },
	};
	struct world *w = world_create();

	for (size_t i = 0; i < 2; i++)
		ri_image_add(w->target.image, &ranges[i]);
	w->layout.conventions.items[0].descriptor.release =
		(struct ri_field){ .is_present = true, .offset_bytes = 8, .size_bytes = 8 };
	w->types[0].descriptor = w->types[2].descriptor = 0x800000; /* [2] has no objects */
	world_check(w);
	assert_int_equal(w->findings.count, finding_count);
	if (finding_count) {
		assert_string_equal(world_only(w, "bad-type")->fingerprint, "bad-type:conn");
		assert_string_equal(finding_last(world_only(w, "bad-type")), "objects conn");
	}
	world_destroy(w);
}

static void test_release_function_must_be_code(void **state)
{
	(void)state;
	check_release(0x800000, 1);
	check_release(0x400010, 0); /* code, though it is not there */
	check_release(0x900000, 0); /* nothing is known of it */
	check_release(0, 0);
}

static void check_bad_count(uint32_t bits, int64_t count, const char *text)
{
	struct world *w = spoilt(bits);
	const struct ri_finding *f;

	w->population.objects[2].count = count;
	world_check(w);
	f = world_only(w, "bad-count");
	assert_true(finding_says(f, text));
	assert_int_equal(f->stored, count);
	assert_string_equal(finding_last(f), "holders 0x12000");
	world_destroy(w);
}

static void test_bad_count(void **state)
{
	(void)state;
	check_bad_count(RI_OBJECT_COUNT_IMPOSSIBLE, -7, "negative");
	check_bad_count(RI_OBJECT_COUNT_IMPOSSIBLE, 1 << 30, "impossible");
	check_bad_count(RI_OBJECT_SATURATED, INT32_MIN / 2, "saturated");
	check_bad_count(RI_OBJECT_COUNT_DEAD, 0, "dead while it is held");
}

static void test_dead_and_unheld_is_no_finding(void **state)
{
	struct world *w = spoilt(RI_OBJECT_COUNT_DEAD);

	(void)state;
	w->population.objects[2].count = 0;
	world_drop(w, 2);
	world_leak(w, 2, 2);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_dangling(void **state)
{
	struct world *w = spoilt(RI_OBJECT_FREED | RI_OBJECT_MAGIC_BAD | RI_OBJECT_COUNT_DEAD);
	const struct ri_finding *f;

	(void)state;
	w->heap.blocks[2].state = RI_BLOCK_FREE;
	world_check(w);
	f = world_only(w, "dangling");
	assert_true(finding_implies(f, "freed-object"));
	assert_true(finding_implies(f, "bad-magic"));
	assert_int_equal(f->status, RI_FINDING_SURE);
	world_destroy(w);

	/* What merely may point there, or borrows, is stale and no finding. */
	w = spoilt(RI_OBJECT_FREED | RI_OBJECT_MAGIC_BAD);
	world_drop(w, 2);
	world_hold(w, 1, 2, CLASS_SESSION, RI_EDGE_BORROWS);
	world_hold(w, 1, 2, CLASS_STACK, RI_EDGE_POSSIBLE);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_foreign_allocator_leaves_liveness_unchecked(void **state)
{
	struct world *w = spoilt(RI_OBJECT_FREED);

	(void)state;
	w->heap.foreign_allocator = "jemalloc, by its symbols";
	w->population.objects[3].count = 9;
	world_hold(w, 0, 4, CLASS_SESSION, 0);
	w->population.objects[5].state = RI_OBJECT_MAGIC_BAD;
	world_check(w);
	assert_int_equal(w->findings.count, 4);
	for (size_t i = 0; i < w->findings.count; i++)
		assert_int_equal(w->findings.items[i].status,
				 strcmp(w->findings.items[i].check->code, "bad-magic")
					 ? RI_FINDING_UNCHECKED
					 : RI_FINDING_SURE);
	world_destroy(w);
}

static void test_exempt_objects(void **state)
{
	static const uint32_t bits[] = {
		RI_OBJECT_IGNORE | RI_OBJECT_MAGIC_BAD,
		RI_OBJECT_SUSPECT | RI_OBJECT_COUNT_IMPOSSIBLE,
		RI_OBJECT_IMMORTAL,
		RI_OBJECT_NOT_LEAK,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		struct world *w = spoilt(bits[i]);

		w->population.objects[2].count = 40;
		world_check(w);
		assert_int_equal(w->findings.count, 0);
		world_destroy(w);
	}
}

/* It may start with a reference that nobody puts: that is one, and no more. */
static void test_surplus_of_a_static_object(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[2].state = RI_OBJECT_STATIC;
	w->population.objects[2].count = 2;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
	w = world_create();
	w->population.objects[2].state = RI_OBJECT_STATIC;
	w->population.objects[2].count = 3;
	world_check(w);
	assert_true(finding_says(world_only(w, "surplus"), "1 more than anything here holds"));
	world_destroy(w);
}

static void test_surplus(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	world_group(w, "all_conns", 0, 4);
	w->population.objects[2].count = 4;
	world_hold(w, world_region(w), 2, CLASS_STACK, RI_EDGE_POSSIBLE);
	world_hold(w, 1, 2, CLASS_PEER, RI_EDGE_BORROWS);
	world_check(w);
	f = world_only(w, "surplus");
	assert_int_equal(f->stored, 4);
	assert_int_equal(f->certain, 1);
	assert_int_equal(f->possible, 1);
	assert_string_equal(f->fingerprint, "surplus:conn:group=all_conns");
	assert_true(finding_says(f, "2 more than anything here holds"));
	assert_true(finding_says(f, "1 in stack, possible"));
	assert_true(finding_says(f, "1 in conn.peer, which borrows"));
	assert_true(finding_says(f, "no arrangement of ownership explains"));
	assert_string_equal(finding_last(f), "holders 0x12000");
	world_destroy(w);

	/* The clean twins: as many as may hold it, and fewer. */
	for (int possible = 1; possible < 3; possible++) {
		w = world_create();
		w->population.objects[2].count = 2;
		for (int i = 0; i < possible; i++)
			world_hold(w, world_region(w), 2, CLASS_STACK, RI_EDGE_POSSIBLE);
		world_check(w);
		assert_int_equal(w->findings.count, 0);
		world_destroy(w);
	}
}

static void test_surplus_tells_the_words_that_point_there(void **state)
{
	static const uint64_t words[] = { 0x12000, 0x12008, 0x12010, 5 };
	struct world *w = world_create();
	const struct ri_range range = { 0x800000, 0x800000 + sizeof(words), (const uint8_t *)words,
					RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE };
	const struct ri_finding *f;

	(void)state;
	ri_image_add(w->target.image, &range);
	w->population.objects[2].count = 3;
	world_check(w);
	f = world_only(w, "surplus");
	assert_true(finding_says(f, "3 words in all memory point at it, stale"));
	assert_false(finding_says(f, "no arrangement"));
	world_destroy(w);
}

static void check_absence(enum ri_range_kind kind, bool is_strict, enum ri_finding_status status,
			  const char *text)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	w->analysis.is_strict = is_strict;
	world_lose(w, kind, 0x700000, 0x702000);
	w->population.objects[2].count = 4;
	world_hold(w, 0, 3, CLASS_PEER, 0);
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	f = &w->findings.items[0];
	assert_string_equal(f->check->code, "surplus");
	assert_int_equal(f->status, status);
	assert_true(finding_says(f, text));
	/* A deficit rests on what is there. */
	assert_string_equal(w->findings.items[1].check->code, "deficit");
	assert_int_equal(w->findings.items[1].status, RI_FINDING_SURE);
	world_destroy(w);
}

static void test_surplus_with_missing_memory(void **state)
{
	(void)state;
	check_absence(RI_RANGE_MISSING, false, RI_FINDING_UNCHECKED, "8.0 KiB of writable");
	check_absence(RI_RANGE_UNTOUCHED, false, RI_FINDING_SURE, "presumed never touched");
	check_absence(RI_RANGE_UNTOUCHED, true, RI_FINDING_UNCHECKED, "8.0 KiB of writable");
}

static void test_surplus_in_shared_memory(void **state)
{
	struct world *w = spoilt(RI_OBJECT_SHARED);

	(void)state;
	w->population.objects[2].count = 4;
	world_check(w);
	assert_int_equal(world_only(w, "surplus")->status, RI_FINDING_UNCHECKED);
	world_destroy(w);
}

static void test_surplus_in_truncated_core(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->target.missing_percent = 12.5;
	w->population.objects[2].count = 4;
	world_check(w);
	assert_int_equal(world_only(w, "surplus")->status, RI_FINDING_UNCHECKED);
	assert_true(finding_says(world_only(w, "surplus"), "12.5 %"));
	world_destroy(w);
}

static void test_deficit(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	world_hold(w, 0, 2, CLASS_PEER, 0);
	world_check(w);
	f = world_only(w, "deficit");
	assert_int_equal(f->certain, 2);
	assert_true(finding_says(f, "1 too few"));
	assert_string_equal(f->fingerprint, "deficit:conn");
	world_destroy(w);

	/* The clean twin: the second holder is only possible. */
	w = world_create();
	world_hold(w, 0, 2, CLASS_PEER, RI_EDGE_POSSIBLE);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_weight_is_told(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->shapes.classes.items[CLASS_PEER].weight = 2;
	world_hold(w, 0, 2, CLASS_PEER, 0);
	world_check(w);
	assert_true(finding_says(world_only(w, "deficit"), "worth 2 each"));
	world_destroy(w);
}

static struct world *off_by_one(uint32_t count, uint32_t sound)
{
	struct world *w = world_create_sized(count);

	for (uint32_t o = sound; o < count; o++)
		w->population.objects[o].count = 2;
	return w;
}

static void test_policy(void **state)
{
	struct world *w = off_by_one(20, 0);
	const struct ri_finding *f;

	(void)state;
	w->population.objects[7].count = 5; /* beyond the constant: a surplus all the same */
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	f = &w->findings.items[1];
	assert_string_equal(f->check->code, "policy");
	assert_true(finding_says(f, "19 of 20"));
	assert_true(finding_says(f, "bias: -1"));
	assert_string_equal(w->findings.items[0].check->code, "surplus");
	assert_int_equal(w->findings.items[0].addr, world_addr(7));
	world_destroy(w);
}

static void test_policy_needs_nearly_all_of_many(void **state)
{
	struct world *w = off_by_one(20, 3);

	(void)state;
	world_check(w);
	assert_int_equal(w->findings.count, 17);
	assert_string_equal(w->findings.items[16].check->code, "surplus");
	world_destroy(w);

	w = off_by_one(15, 0);
	world_check(w);
	assert_int_equal(w->findings.count, 15);
	world_destroy(w);
}

static void test_leaks_make_no_policy(void **state)
{
	struct world *w = world_create_sized(20);

	(void)state;
	for (uint32_t o = 0; o < 20; o++) {
		world_drop(w, o);
		world_leak(w, o, o);
	}
	world_check(w);
	assert_int_equal(w->findings.count, 20);
	for (size_t i = 0; i < 20; i++)
		assert_string_equal(w->findings.items[i].check->code, "unreachable");
	world_destroy(w);

	/* Nor do those that hang on another: each holds the next. */
	w = world_create_sized(20);
	for (uint32_t o = 0; o < 20; o++) {
		world_drop(w, o);
		world_leak(w, o, 0);
		w->population.objects[o].count = 2;
		if (o)
			world_hold(w, o - 1, o, CLASS_PEER, 0);
	}
	world_check(w);
	assert_int_equal(w->findings.count, 20);
	assert_string_equal(w->findings.items[0].check->code, "surplus");
	assert_string_equal(w->findings.items[19].check->code, "unreachable");
	world_destroy(w);
}

static void test_heap_damage(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	*ri_push(&w->damages) = (struct ri_heap_damage){ 0x13ff0, 0x13fb0, "size is no multiple" };
	world_check(w);
	f = world_only(w, "heap-damage");
	assert_int_equal(f->addr, 0x13ff0);
	assert_true(finding_says(f, "0x13fb0"));
	assert_string_equal(f->fingerprint, "heap-damage:-:class=size is no multiple");
	world_destroy(w);
}

static void test_order_is_table_then_address(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[5].count = 3;
	w->population.objects[1].count = 3;
	w->population.objects[7].state = RI_OBJECT_MAGIC_BAD;
	world_seal(w);
	/* In another order than the table's. */
	for (const char *const *code = (const char *const[]){ "surplus", "bad-magic", NULL }; *code;
	     code++)
		ri_check_find(*code)->run(ri_check_find(*code), &w->analysis, &w->findings);
	ri_findings_sort(&w->findings);
	assert_int_equal(w->findings.count, 3);
	assert_int_equal(w->findings.items[0].addr, world_addr(7));
	assert_int_equal(w->findings.items[1].addr, world_addr(1));
	assert_int_equal(w->findings.items[2].addr, world_addr(5));
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound_world_has_no_finding),
		cmocka_unit_test(test_bad_magic),
		cmocka_unit_test(test_freed_magic_needs_a_holder),
		cmocka_unit_test(test_bad_group_magic),
		cmocka_unit_test(test_bad_type),
		cmocka_unit_test(test_release_function_must_be_code),
		cmocka_unit_test(test_bad_count),
		cmocka_unit_test(test_dead_and_unheld_is_no_finding),
		cmocka_unit_test(test_dangling),
		cmocka_unit_test(test_foreign_allocator_leaves_liveness_unchecked),
		cmocka_unit_test(test_exempt_objects),
		cmocka_unit_test(test_surplus),
		cmocka_unit_test(test_surplus_of_a_static_object),
		cmocka_unit_test(test_surplus_tells_the_words_that_point_there),
		cmocka_unit_test(test_surplus_with_missing_memory),
		cmocka_unit_test(test_surplus_in_shared_memory),
		cmocka_unit_test(test_surplus_in_truncated_core),
		cmocka_unit_test(test_deficit),
		cmocka_unit_test(test_weight_is_told),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_policy_needs_nearly_all_of_many),
		cmocka_unit_test(test_leaks_make_no_policy),
		cmocka_unit_test(test_heap_damage),
		cmocka_unit_test(test_order_is_table_then_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
