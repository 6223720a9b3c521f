/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inconsistencies that a thread was about to mend, and those that none was. */
#include <signal.h>

#include "check/flux.h"
#include "check_world.h"

enum { WORKER_TID = 4712, SYSTEM_CALL = 34 };

/* A world with a broken link at object 2 (neighbours 2, 3 and 6), and a second thread that
 * was running with `first` and `second` in registers. */
struct scene {
	struct world *w;
	struct ri_thread threads[2];
};

static struct scene *scene_create(uint64_t first, uint64_t second)
{
	struct scene *s = ri_calloc(1, sizeof(*s));

	s->w = world_create();
	for (size_t i = 0; i < 2; i++) {
		s->threads[i].has_registers = true;
		s->threads[i].tid = WORKER_TID - 1 + (int)i;
		s->threads[i].registers[RI_REG_ORIG_RAX] = SYSTEM_CALL;
	}
	s->threads[1].registers[RI_REG_ORIG_RAX] = UINT64_MAX;
	s->threads[1].registers[RI_REG_RBX] = first;
	s->threads[1].registers[RI_REG_RSI] = second;
	s->w->target.kind = RI_TARGET_CORE;
	s->w->target.threads = s->threads;
	s->w->target.thread_count = 2;
	return s;
}

static void scene_destroy(struct scene *s)
{
	world_destroy(s->w);
	free(s);
}

static void break_link(struct scene *s)
{
	uint32_t g = world_group(s->w, "all_conns", 0, 4);
	const struct ri_group_break fault = {
		.word_addr = world_addr(2) + 16,
		.value = world_addr(6) + 16,
		.expected = world_addr(3) + 16,
		.node = world_addr(2) + 16,
		.object = 2,
		.what = "next does not lead back",
	};

	world_break(s->w, g, fault);
}

static const struct ri_finding *check_link(struct scene *s, enum ri_finding_status status)
{
	const struct ri_finding *f;

	break_link(s);
	world_check(s->w);
	f = world_only(s->w, "broken-link");
	assert_int_equal(f->status, status);
	assert_int_equal(ri_finding_severity(f),
			 status == RI_FINDING_SURE ? RI_SEVERITY_ERROR : RI_SEVERITY_NOTE);
	assert_int_equal(ri_analysis_verdict(&s->w->analysis),
			 status == RI_FINDING_SURE ? RI_VERDICT_FINDINGS : RI_VERDICT_UNCHECKED);
	return f;
}

static void test_link_in_another_threads_hands(void **state)
{
	struct scene *s = scene_create(world_addr(2) + 16, world_addr(3) + 16);
	const struct ri_finding *f = check_link(s, RI_FINDING_IN_FLUX);

	(void)state;
	assert_true(finding_says(f, "thread 4712 was running"));
	assert_string_equal(finding_last(f), "group 0x500000");
	scene_destroy(s);
}

static void test_link_of_a_reader(void **state)
{
	struct scene *s = scene_create(world_addr(2) + 16, world_addr(2));

	(void)state; /* one node, by two pointers */
	check_link(s, RI_FINDING_SURE);
	scene_destroy(s);
}

static void test_link_of_a_thread_at_rest(void **state)
{
	struct scene *s = scene_create(world_addr(2) + 16, world_addr(3) + 16);

	(void)state;
	s->threads[1].registers[RI_REG_ORIG_RAX] = SYSTEM_CALL;
	check_link(s, RI_FINDING_SURE);
	scene_destroy(s);
}

static void test_link_of_the_faulted_thread(void **state)
{
	struct scene *s = scene_create(0, 0);
	struct ri_thread faulted;

	(void)state;
	s->threads[1].registers[RI_REG_RBX] = world_addr(2) + 16;
	s->threads[1].registers[RI_REG_RSI] = world_addr(3) + 16;
	faulted = s->threads[1];
	s->threads[1] = s->threads[0];
	s->threads[0] = faulted;
	s->w->target.signal = SIGSEGV;
	check_link(s, RI_FINDING_SURE);
	scene_destroy(s);
}

static void test_link_in_two_threads(void **state)
{
	struct scene *s = scene_create(world_addr(2) + 16, 0);

	(void)state; /* no thread has two of the neighbours */
	s->threads[0] = s->threads[1];
	s->threads[0].registers[RI_REG_RBX] = world_addr(3) + 16;
	check_link(s, RI_FINDING_SURE);
	scene_destroy(s);
}

static void test_top_frame(void **state)
{
	const uint64_t stack[64] = { [18] = world_addr(2) + 16, [20] = world_addr(3) };
	const struct ri_range range = { 0x700000, 0x700000 + sizeof(stack),
					(const uint8_t *)stack, RI_RANGE_PRESENT,
					RI_RANGE_READ | RI_RANGE_WRITE };
	struct scene *s = scene_create(0, 0);

	(void)state;
	ri_image_add(s->w->target.image, &range);
	s->threads[1].registers[RI_REG_RSP] = 0x700000 + 16 * 8;
	check_link(s, RI_FINDING_IN_FLUX);
	scene_destroy(s);

	s = scene_create(0, 0); /* far above the top frame */
	ri_image_add(s->w->target.image, &range);
	s->threads[1].registers[RI_REG_RSP] = 0x700000 - 256;
	check_link(s, RI_FINDING_SURE);
	scene_destroy(s);
}

/* Object 2 has `holders` certain holders and counts 1; the thread points at `pointer`. */
static void check_deficit(uint64_t pointer, int holders, enum ri_finding_status status)
{
	struct scene *s = scene_create(pointer, 0);

	for (int i = 1; i < holders; i++)
		world_hold(s->w, 0, 2, CLASS_SESSION, 0);
	world_check(s->w);
	assert_int_equal(world_only(s->w, "deficit")->status, status);
	scene_destroy(s);
}

static void test_off_by_one(void **state)
{
	(void)state;
	check_deficit(world_addr(2), 2, RI_FINDING_IN_FLUX);
	check_deficit(world_addr(2) + 8, 2, RI_FINDING_IN_FLUX);
	check_deficit(world_addr(2), 3, RI_FINDING_SURE);
	check_deficit(world_addr(3), 2, RI_FINDING_SURE);
}

static void check_counter(int64_t stored, enum ri_finding_status status)
{
	struct scene *s = scene_create(0x500008, 0);

	world_group(s->w, "all_conns", 0, 4);
	s->w->groups.items[0].stored_count = stored;
	world_check(s->w);
	assert_int_equal(world_only(s->w, "count-mismatch")->status, status);
	scene_destroy(s);
}

static void test_counter_off_by_one(void **state)
{
	(void)state;
	check_counter(3, RI_FINDING_IN_FLUX);
	check_counter(5, RI_FINDING_IN_FLUX);
	check_counter(6, RI_FINDING_SURE);
}

/* The group's lock says `owner`; nobody runs. */
static void check_lock(uint64_t owner, enum ri_finding_status status)
{
	const struct ri_range range = { 0x500000, 0x500008, (const uint8_t *)&owner,
					RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE };
	struct scene *s = scene_create(0, 0);
	const struct ri_finding *f;

	s->threads[1].registers[RI_REG_ORIG_RAX] = SYSTEM_CALL;
	s->threads[1].registers[RI_REG_FS_BASE] = 0x7ffff000;
	s->w->analysis.lock_owners = ri_lock_owners_create(&s->w->target);
	s->w->layout.groups.items[0].lock_owner =
		(struct ri_field){ .is_present = true, .size_bytes = 8 };
	ri_image_add(s->w->target.image, &range);
	f = check_link(s, status);
	assert_true(finding_says(f, "holds the lock") == (status == RI_FINDING_IN_FLUX));
	ri_lock_owners_destroy(s->w->analysis.lock_owners);
	scene_destroy(s);
}

static void test_lock(void **state)
{
	(void)state;
	check_lock(WORKER_TID, RI_FINDING_IN_FLUX);
	check_lock(0x7ffff000, RI_FINDING_IN_FLUX);
	check_lock(0, RI_FINDING_SURE);
	check_lock(1, RI_FINDING_SURE); /* nobody's id: left by a thread that is gone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_in_another_threads_hands),
		cmocka_unit_test(test_link_of_a_reader),
		cmocka_unit_test(test_link_of_a_thread_at_rest),
		cmocka_unit_test(test_link_of_the_faulted_thread),
		cmocka_unit_test(test_link_in_two_threads),
		cmocka_unit_test(test_top_frame),
		cmocka_unit_test(test_off_by_one),
		cmocka_unit_test(test_counter_off_by_one),
		cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests_name("in flux", tests, NULL, NULL);
}
