/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of the graph, and the verdict. */
#include "check_world.h"

#include "check/cycle_edges.h"
#include "check/verdict.h"

static void test_unreachable(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	/* 2 is lost; 3 and 4 (a session) hang on it. */
	for (uint32_t o = 2; o < 5; o++) {
		world_drop(w, o);
		world_leak(w, o, 2);
	}
	world_hold(w, 2, 3, CLASS_PEER, 0);
	world_hold(w, 3, 4, CLASS_SESSION, 0);
	w->population.objects[4].type = 1;
	world_check(w);
	f = world_only(w, "unreachable");
	assert_int_equal(f->addr, world_addr(2));
	assert_true(finding_implies(f, "surplus"));
	assert_true(finding_says(f, "2 more objects hang on it, 128 bytes"));
	assert_true(finding_says(f, "of these 1 session, in conn.session"));
	assert_true(finding_says(f, "it is in no group, and nothing tells one"));
	assert_true(finding_says(f, "nothing that was searched holds it"));
	assert_string_equal(finding_last(f), "why 0x12000");
	world_destroy(w);
}

/* Object 6 is lost and in no group; members of all_conns are objects 0 to `members` - 1. */
static struct world *lost_beside(uint32_t members)
{
	struct world *w = world_create();

	world_group(w, "all_conns", 0, members);
	world_drop(w, 6);
	world_leak(w, 6, 6);
	return w;
}

static void test_group_of_most_of_the_type(void **state)
{
	struct world *w = lost_beside(4); /* of seven that are not lost */

	(void)state;
	world_check(w);
	assert_string_equal(world_only(w, "unreachable")->group_name, "all_conns");
	assert_true(finding_says(world_only(w, "unreachable"), "it may have belonged to group"));
	assert_string_equal(world_only(w, "unreachable")->fingerprint, "unreachable:conn");
	world_destroy(w);

	w = lost_beside(3);
	world_check(w);
	assert_null(world_only(w, "unreachable")->group_name);
	world_destroy(w);
}

static void test_group_by_stale_links(void **state)
{
	const uint64_t words[8] = { 0, 0, 0, world_addr(2) + 16 };
	const struct ri_range range = { world_addr(6), world_addr(6) + sizeof(words),
					(const uint8_t *)words, RI_RANGE_PRESENT,
					RI_RANGE_READ | RI_RANGE_WRITE };
	struct world *w = lost_beside(3);

	(void)state;
	w->layout.groups.items[0].prev_offset = 8;
	ri_image_add(w->target.image, &range);
	world_check(w);
	assert_string_equal(world_only(w, "unreachable")->group_name, "all_conns");
	assert_true(finding_says(world_only(w, "unreachable"),
				 "it last belonged to group all_conns: its stale link words"));
	world_destroy(w);
}

static void test_group_by_a_neighbours_link(void **state)
{
	struct world *w = lost_beside(3);

	(void)state;
	world_hold(w, 1, 6, CLASS_PEER, RI_EDGE_LINK);
	world_check(w);
	assert_true(finding_says(world_only(w, "unreachable"), "a link word there leads to it"));
	world_destroy(w);
}

static void test_unreachable_without_surplus(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	/* A lost plain block holds it: the block of object 7 stands in. */
	world_drop(w, 2);
	world_leak(w, 2, 2);
	world_hold(w, w->object_count + 7, 2, CLASS_SESSION, 0);
	world_check(w);
	f = world_only(w, "unreachable");
	assert_int_equal(f->also.count, 0);
	world_destroy(w);
}

static void test_leak_names_its_last_group(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 2);
	const struct ri_finding *f;

	(void)state;
	w->layout.groups.items[0].back.is_present = true;
	w->population.back_group[2] = g;
	world_drop(w, 2);
	world_leak(w, 2, 2);
	world_check(w);
	assert_int_equal(w->findings.count, 2); /* it is an orphan too */
	f = &w->findings.items[1];
	assert_string_equal(f->check->code, "unreachable");
	assert_string_equal(f->fingerprint, "unreachable:conn:group=all_conns");
	assert_true(finding_says(f, "last belonged to group all_conns"));
	world_destroy(w);
}

static void test_group_only(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 4);
	const struct ri_finding *f;

	(void)state;
	world_drop(w, 2);
	world_leak(w, 2, 2);
	w->graph.reach[2] = RI_REACH_GROUP;
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	f = &w->findings.items[0];
	assert_string_equal(f->check->code, "unreachable");
	assert_int_equal(f->group, g);
	assert_true(finding_implies(f, "group-only"));
	assert_true(finding_implies(f, "surplus"));
	f = &w->findings.items[1];
	assert_string_equal(f->check->code, "group-only");
	assert_int_equal(f->addr, 0x500000);
	assert_int_equal(f->addrs.count, 1);
	assert_int_equal(f->addrs.items[0], world_addr(2));
	assert_string_equal(f->fingerprint, "group-only:conn:group=all_conns");
	world_destroy(w);

	/* A group that may own is none that merely keeps them findable. */
	w = world_create();
	g = world_group(w, "all_conns", 0, 4);
	w->groups.items[g].membership.weight = 1;
	world_leak(w, 2, 2);
	w->graph.reach[2] = RI_REACH_GROUP;
	world_check(w);
	world_only(w, "unreachable");
	world_destroy(w);

	/* The clean twin: it is reachable otherwise. */
	w = world_create();
	world_group(w, "all_conns", 0, 4);
	w->graph.reach[2] = RI_REACH_GROUP | RI_REACH_ANY;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_no_leak_where_the_program_says_so(void **state)
{
	static const uint32_t bits[] = { RI_OBJECT_NOT_LEAK, RI_OBJECT_IGNORE, RI_OBJECT_SUSPECT };

	(void)state;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		struct world *w = world_create();

		w->population.objects[2].state = bits[i];
		world_drop(w, 2);
		world_leak(w, 2, 2);
		world_check(w);
		assert_int_equal(w->findings.count, 0);
		world_destroy(w);
	}
}

static void test_leak_behind_a_dead_object(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[2].state = RI_OBJECT_COUNT_DEAD;
	w->population.objects[2].count = 0;
	for (uint32_t o = 2; o < 5; o++) {
		world_drop(w, o);
		world_leak(w, o, 2);
	}
	world_hold(w, 2, 3, CLASS_PEER, RI_EDGE_POSSIBLE);
	world_hold(w, 3, 4, CLASS_PEER, 0);
	world_check(w);
	assert_int_equal(world_only(w, "unreachable")->addr, world_addr(3));
	world_destroy(w);
}

static void check_unsure_leak(struct world *w)
{
	world_drop(w, 2);
	world_leak(w, 2, 2);
	world_check(w);
	assert_int_equal(w->findings.count, 1);
	assert_string_equal(w->findings.items[0].check->code, "unreachable");
	assert_int_equal(w->findings.items[0].status, RI_FINDING_UNCHECKED);
	assert_int_equal(ri_analysis_verdict(&w->analysis), RI_VERDICT_UNCHECKED);
	world_destroy(w);
}

static void test_leak_that_cannot_be_checked(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_lose(w, RI_RANGE_MISSING, 0x700000, 0x701000);
	check_unsure_leak(w);
	w = world_create();
	w->holders.bytes_skipped_unknown = 4096;
	check_unsure_leak(w);
	w = world_create();
	w->population.objects[2].state = RI_OBJECT_SHARED;
	check_unsure_leak(w);
	w = world_create();
	w->heap.foreign_allocator = "jemalloc";
	check_unsure_leak(w);
}

static void test_leak_outside_of_blocks(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[2].block = RI_NONE;
	world_drop(w, 2);
	world_leak(w, 2, 2);
	world_check(w);
	/* Whether it is alive is not known; that nothing holds its count is. */
	assert_int_equal(w->findings.count, 2);
	assert_string_equal(w->findings.items[0].check->code, "surplus");
	assert_int_equal(w->findings.items[0].status, RI_FINDING_SURE);
	assert_string_equal(w->findings.items[1].check->code, "unreachable");
	assert_int_equal(w->findings.items[1].status, RI_FINDING_UNCHECKED);
	world_destroy(w);
}

static void test_simple_cycle(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	world_cycle(w, 2, 3);
	for (uint32_t o = 2; o < 5; o++)
		world_hold(w, o, o == 4 ? 2 : o + 1, CLASS_PEER, 0);
	world_check(w);
	f = world_only(w, "cycle");
	assert_int_equal(f->addr, world_addr(2));
	assert_int_equal(f->addrs.count, 3);
	assert_int_equal(f->addrs.items[2], world_addr(4));
	assert_string_equal(f->fingerprint, "cycle:conn:class=conn.peer");
	assert_true(finding_says(f, "conn 0x14000 holds conn 0x12000 in conn.peer"));
	assert_true(finding_says(f, "any one of these fields"));
	world_destroy(w);
}

static void test_parent_and_children(void **state)
{
	struct world *w = world_create();
	struct ri_cycle_tracer *tracer;
	struct ri_cycle_edges edges;

	(void)state;
	/* 2 holds 3, 4, 5 and each holds it back; 3 and 4 hold nothing else. */
	world_cycle(w, 2, 4);
	w->population.objects[2].count = 3;
	for (uint32_t o = 3; o < 6; o++) {
		world_hold(w, 2, o, CLASS_SESSION, 0);
		world_hold(w, o, 2, CLASS_PEER, 0);
	}
	world_check(w);
	assert_true(finding_says(world_only(w, "cycle"), "releasing 3 of these fields"));
	tracer = ri_cycle_tracer_create(&w->analysis);
	edges = ri_cycle_trace(tracer, 0);
	assert_int_equal(edges.count, 6);
	assert_int_equal(edges.release_count, 3);
	assert_false(edges.is_simple);
	ri_cycle_edges_deinit(&edges);
	ri_cycle_tracer_destroy(tracer);
	world_destroy(w);
}

static void test_chains_keep_what_is_shared(void **state)
{
	struct world *w = world_create();
	const struct ri_chain *chain;
	ri_chain_part_list parts = { 0 };

	(void)state;
	/* 2 and 3 are lost and hold 5; 3 alone holds 4, and that 6. */
	for (uint32_t o = 2; o < 7; o++) {
		world_drop(w, o);
		world_leak(w, o, o == 2 ? 2 : 3);
	}
	w->graph.leak_root[5] = 2;
	world_hold(w, 2, 5, CLASS_SESSION, 0);
	world_hold(w, 3, 5, CLASS_SESSION, 0);
	world_hold(w, 3, 4, CLASS_PEER, 0);
	world_hold(w, 4, 6, CLASS_PEER, 0);
	w->population.objects[5].type = 1;
	world_check(w);
	assert_int_equal(w->analysis.chains->count, 1);
	chain = &w->analysis.chains->items[0];
	assert_int_equal(chain->root_count, 2);
	assert_int_equal(chain->own_count, 2);
	assert_int_equal(chain->part_count, 2);
	ri_chains_list_parts(w->analysis.chains, 2, &parts);
	assert_int_equal(parts.count, 0);
	ri_chains_list_parts(w->analysis.chains, 3, &parts);
	assert_int_equal(parts.count, 1);
	assert_int_equal(parts.items[0].count, 2);
	assert_int_equal(parts.items[0].class_count, 2);
	assert_int_equal(ri_chains_measure(w->analysis.chains, 4).object_count, 1);
	assert_int_equal(ri_chains_measure(w->analysis.chains, 0).object_count, 0);
	ri_vec_deinit(&parts);
	world_destroy(w);
}

static void test_two_loops_share_one_field(void **state)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	/* 2 -> 3 -> 2 and 2 -> 3 -> 4 -> 2: the field of 2 alone breaks both. */
	world_cycle(w, 2, 3);
	world_hold(w, 2, 3, CLASS_SESSION, 0);
	world_hold(w, 3, 2, CLASS_PEER, 0);
	world_hold(w, 3, 4, CLASS_PEER, 0);
	world_hold(w, 4, 2, CLASS_PEER, 0);
	w->population.objects[2].count = 2;
	world_check(w);
	f = world_only(w, "cycle");
	assert_true(finding_says(f, "releasing 1 of these fields"));
	assert_true(finding_says(f, "without conn.session there is no loop; no fewer fields do"));
	assert_string_equal(f->evidence.items[f->evidence.count - 2],
			    "conn 0x12000 holds conn 0x13000 in conn.session");
	world_destroy(w);
}

static void test_cycle_through_a_plain_block(void **state)
{
	struct world *w = world_create();
	uint32_t block = w->object_count + 7;
	const struct ri_finding *f;

	(void)state;
	world_cycle(w, 2, 2);
	world_hold(w, 2, block, CLASS_SESSION, 0);
	world_hold(w, block, 3, CLASS_PEER, 0);
	world_hold(w, 3, 2, CLASS_PEER, 0);
	/* What the block holds besides leads nowhere back. */
	world_hold(w, block, w->object_count + 6, CLASS_PEER, 0);
	world_check(w);
	f = world_only(w, "cycle");
	assert_true(finding_says(f, "conn 0x12000 holds block 0x17000 in conn.session"));
	assert_true(finding_says(f, "block 0x17000 holds conn 0x13000"));
	assert_false(finding_says(f, "0x16000"));
	assert_true(finding_says(f, "any one of these fields"));
	world_destroy(w);
}

static void test_object_that_holds_itself(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_cycle(w, 2, 1);
	world_hold(w, 2, 2, CLASS_PEER, 0);
	world_check(w);
	assert_true(finding_says(world_only(w, "cycle"), "holds itself"));
	world_destroy(w);
}

static void test_cycle_with_missing_memory_or_a_root(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_lose(w, RI_RANGE_MISSING, 0x700000, 0x701000);
	world_cycle(w, 2, 2);
	world_hold(w, 2, 3, CLASS_PEER, 0);
	world_hold(w, 3, 2, CLASS_PEER, 0);
	world_check(w);
	assert_int_equal(world_only(w, "cycle")->status, RI_FINDING_UNCHECKED);
	world_destroy(w);

	w = world_create();
	world_cycle(w, 2, 2);
	world_hold(w, 2, 3, CLASS_PEER, 0);
	world_hold(w, 3, 2, CLASS_PEER, 0);
	w->population.objects[3].state = RI_OBJECT_NOT_LEAK;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_large_cycle_is_folded(void **state)
{
	struct world *w = world_create_sized(200);
	const struct ri_finding *f;

	(void)state;
	world_cycle(w, 0, 200);
	for (uint32_t o = 0; o < 200; o++)
		world_hold(w, o, (o + 1) % 200, CLASS_PEER, 0);
	world_check(w);
	f = world_only(w, "cycle");
	assert_true(finding_says(f, "200 in conn.peer"));
	assert_true(finding_says(f, "any one of these fields"));
	assert_int_equal(f->addrs.count, 200);
	world_destroy(w);
}

static enum ri_verdict verdict_of(struct world *w)
{
	world_check(w);
	return ri_analysis_verdict(&w->analysis);
}

/* Registers that are not known may hold what nothing else holds; not any number of it. */
static void test_unknown_registers(void **state)
{
	struct world *w;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		w = world_create();
		world_drop(w, 2);
		world_leak(w, 2, 2);
		w->thread.has_registers = i != 0;
		w->thread.registers_partial = i == 1;
		w->target.has_lost_threads = i == 2;
		assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
		assert_int_equal(world_only(w, "unreachable")->status, RI_FINDING_UNCHECKED);
		assert_true(finding_says(world_only(w, "unreachable"), "could not check: "));
		world_destroy(w);
	}
	for (unsigned i = 0; i < 3; i++) {
		w = world_create();
		w->population.objects[2].count = i ? 5000 : 3;
		w->thread.has_registers = i == 2;
		w->target.has_lost_threads = i == 2;
		assert_int_equal(verdict_of(w),
				 i == 1 ? RI_VERDICT_FINDINGS : RI_VERDICT_UNCHECKED);
		assert_int_equal(world_only(w, "surplus")->status,
				 i == 1 ? RI_FINDING_SURE : RI_FINDING_UNCHECKED);
		world_destroy(w);
	}
}

static void test_verdicts(void **state)
{
	struct world *w = world_create();

	(void)state;
	assert_int_equal(verdict_of(w), RI_VERDICT_CLEAN);
	ri_gaps_add(&w->analysis.gaps, RI_GAP_TOLD, "debug", "libfoo.so: no debug information");
	assert_int_equal(ri_analysis_verdict(&w->analysis), RI_VERDICT_CLEAN);
	ri_gaps_add(&w->analysis.gaps, RI_GAP_MATTERS, "census", "a stage failed");
	assert_int_equal(ri_analysis_verdict(&w->analysis), RI_VERDICT_UNCHECKED);
	w->population.objects[2].count = 9;
	assert_int_equal(verdict_of(w), RI_VERDICT_FINDINGS);
	world_destroy(w);

	w = world_create();
	w->thread.has_registers = false;
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);

	w = world_create();
	world_lose(w, RI_RANGE_MISSING, 0x700000, 0x701000);
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);

	w = world_create();
	world_lose(w, RI_RANGE_UNTOUCHED, 0x700000, 0x701000);
	assert_int_equal(verdict_of(w), RI_VERDICT_CLEAN);
	w->analysis.is_strict = true;
	assert_int_equal(ri_analysis_verdict(&w->analysis), RI_VERDICT_UNCHECKED);
	world_destroy(w);

	w = world_create();
	w->heap.foreign_allocator = "jemalloc";
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);

	w = world_create_sized(0);
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);

	w = world_create();
	w->holders.bytes_skipped_unknown = 4096;
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);
}

static void test_group_without_objects(void **state)
{
	struct world *w = world_create_sized(0);
	uint32_t g = world_group(w, "all_conns", 0, 0);

	(void)state;
	assert_int_equal(verdict_of(w), RI_VERDICT_CLEAN);
	w->groups.items[g].state = RI_GROUP_UNINITIALISED;
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	world_destroy(w);
}

static void test_objects_that_no_check_looks_at(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.objects[2].state = RI_OBJECT_SUSPECT;
	w->population.objects[2].count = 9;
	assert_int_equal(verdict_of(w), RI_VERDICT_UNCHECKED);
	assert_int_equal(w->findings.count, 0);
	w->population.objects[2].state |= RI_OBJECT_IGNORE;
	assert_int_equal(ri_analysis_verdict(&w->analysis), RI_VERDICT_CLEAN);
	world_destroy(w);
}

static void test_read_only_memory_does_not_matter(void **state)
{
	struct world *w = world_create();
	const struct ri_range range = { 0x700000, 0x701000, NULL, RI_RANGE_MISSING,
					RI_RANGE_READ | RI_RANGE_EXEC };

	(void)state;
	ri_image_add(w->target.image, &range);
	assert_int_equal(verdict_of(w), RI_VERDICT_CLEAN);
	world_destroy(w);
}

static void test_notes_do_not_decide(void **state)
{
	struct world *w = world_create_sized(20);

	(void)state;
	for (uint32_t o = 0; o < 20; o++)
		w->population.objects[o].count = 2;
	assert_int_equal(verdict_of(w), RI_VERDICT_CLEAN);
	assert_string_equal(world_only(w, "policy")->type_name, "conn");
	world_destroy(w);
}

static void test_table_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; ri_checks[i]; i++) {
		assert_ptr_equal(ri_check_find(ri_checks[i]->code), ri_checks[i]);
		assert_non_null(ri_checks[i]->summary);
		assert_non_null(ri_checks[i]->help);
	}
	assert_null(ri_check_find("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_group_of_most_of_the_type),
		cmocka_unit_test(test_group_by_stale_links),
		cmocka_unit_test(test_group_by_a_neighbours_link),
		cmocka_unit_test(test_unreachable_without_surplus),
		cmocka_unit_test(test_leak_names_its_last_group),
		cmocka_unit_test(test_group_only),
		cmocka_unit_test(test_no_leak_where_the_program_says_so),
		cmocka_unit_test(test_leak_behind_a_dead_object),
		cmocka_unit_test(test_leak_that_cannot_be_checked),
		cmocka_unit_test(test_leak_outside_of_blocks),
		cmocka_unit_test(test_simple_cycle),
		cmocka_unit_test(test_parent_and_children),
		cmocka_unit_test(test_chains_keep_what_is_shared),
		cmocka_unit_test(test_two_loops_share_one_field),
		cmocka_unit_test(test_cycle_through_a_plain_block),
		cmocka_unit_test(test_object_that_holds_itself),
		cmocka_unit_test(test_cycle_with_missing_memory_or_a_root),
		cmocka_unit_test(test_large_cycle_is_folded),
		cmocka_unit_test(test_unknown_registers),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_group_without_objects),
		cmocka_unit_test(test_objects_that_no_check_looks_at),
		cmocka_unit_test(test_read_only_memory_does_not_matter),
		cmocka_unit_test(test_notes_do_not_decide),
		cmocka_unit_test(test_table_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
