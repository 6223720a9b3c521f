/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of groups: links, counters, members, and objects without a group. */
#include "check_world.h"

static void test_broken_link(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);
	const struct ri_finding *f;

	(void)state;
	world_break(w, g,
		    (struct ri_group_break){ .word_addr = world_addr(3) + 24,
					     .value = 0xdead000000000122,
					     .expected = world_addr(2) + 16,
					     .node = world_addr(3) + 16,
					     .object = 3,
					     .from_head = 3,
					     .from_tail = 2,
					     .what = "prev is poison" });
	world_check(w);
	f = world_only(w, "broken-link");
	assert_int_equal(f->addr, world_addr(3));
	assert_int_equal(f->object, 3);
	assert_string_equal(f->type_name, "conn");
	assert_string_equal(f->fingerprint, "broken-link:conn:group=all_conns");
	assert_true(finding_says(f, "prev is poison"));
	assert_true(finding_says(f, "0xdead000000000122"));
	assert_true(finding_says(f, "implies 0x12010"));
	assert_true(finding_says(f, "3 members from the head's side"));
	assert_true(finding_says(f, "2 members from the tail's side"));
	assert_string_equal(finding_last(f), "group 0x500000");
	world_destroy(w);
}

static void test_one_finding_per_break(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);

	(void)state;
	w->layout.groups.items[0].name = "all_conns";
	for (uint32_t o = 4; o > 0; o -= 2)
		world_break(w, g,
			    (struct ri_group_break){ .word_addr = world_addr(o) + 16,
						     .node = world_addr(o) + 16,
						     .object = o,
						     .from_head = o,
						     .from_tail = RI_NONE,
						     .what = "next is not mapped" });
	world_break(w, g,
		    (struct ri_group_break){ .word_addr = 0x500008,
					     .node = 0x500008,
					     .object = RI_NONE,
					     .from_head = 0,
					     .from_tail = 0,
					     .what = "next is not mapped" });
	world_check(w);
	assert_int_equal(w->findings.count, 3);
	assert_int_equal(w->findings.items[0].addr, world_addr(2));
	assert_int_equal(w->findings.items[1].addr, world_addr(4));
	assert_true(finding_says(&w->findings.items[1], "not reached from the tail's side"));
	assert_int_equal(w->findings.items[2].addr, 0x500008);
	assert_true(finding_says(&w->findings.items[2], "at the head"));
	/* The rule names the group: so does the command. */
	assert_string_equal(finding_last(&w->findings.items[2]), "group all_conns");
	world_destroy(w);
}

static void test_list_loop_tells_its_break(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);
	const struct ri_finding *f;

	(void)state;
	w->groups.items[g].state = RI_GROUP_LOOP;
	w->groups.items[g].loop_node = world_addr(1) + 16;
	world_break(w, g,
		    (struct ri_group_break){ .word_addr = world_addr(4) + 16,
					     .value = world_addr(1) + 16,
					     .node = world_addr(4) + 16,
					     .object = 4,
					     .what = "prev does not lead back" });
	world_check(w);
	f = world_only(w, "list-loop");
	assert_string_equal(f->type_name, "conn");
	assert_int_equal(f->addr, 0x500000);
	assert_true(finding_implies(f, "broken-link"));
	assert_true(finding_says(f, "0x14010 closes the loop, walking forward"));
	world_destroy(w);
}

/* One break in a chain of six: the word at `offset` of member `from` leads to
 * member `to`. */
static void check_break(uint32_t from, uint64_t offset, uint32_t to, const char *code)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);

	w->layout.groups.items[0].prev_offset = 8;
	world_break(w, g,
		    (struct ri_group_break){ .word_addr = world_addr(from) + 16 + offset,
					     .value = world_addr(to) + 16,
					     .node = world_addr(from) + 16,
					     .object = from,
					     .what = "does not lead back" });
	world_check(w);
	world_only(w, code);
	world_destroy(w);
}

/* The other direction may be whole: the population found every member. */
static void test_loop_in_one_direction(void **state)
{
	(void)state;
	check_break(4, 0, 1, "list-loop");   /* next leads back */
	check_break(4, 0, 4, "list-loop");   /* next leads to itself */
	check_break(1, 0, 4, "broken-link"); /* next leaves out two */
	check_break(1, 8, 4, "list-loop");   /* prev leads forward */
	check_break(4, 8, 1, "broken-link"); /* prev leaves out two */
}

static void test_count_mismatch(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);
	const struct ri_finding *f;

	(void)state;
	w->groups.items[g].stored_count = 7;
	world_check(w);
	f = world_only(w, "count-mismatch");
	assert_int_equal(f->status, RI_FINDING_SURE);
	assert_string_equal(f->fingerprint, "count-mismatch:conn:group=all_conns");
	assert_true(finding_says(f, "its counter says 7, 6 members"));
	assert_true(finding_says(f, "off by +1"));
	world_destroy(w);
}

static void test_foreign_nodes_count_in_the_length(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);

	(void)state;
	w->groups.items[g].stored_count = 7;
	*ri_push(&w->foreign_nodes) = (struct ri_foreign_node){ g, 0x600000 };
	world_check(w);
	assert_int_equal(world_only(w, "foreign-member")->addr, 0x600000);
	world_destroy(w);
}

static void test_count_mismatch_of_a_broken_chain(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);
	const struct ri_finding *f;

	(void)state;
	w->groups.items[g].state = RI_GROUP_INCOMPLETE;
	w->groups.items[g].stored_count = 8;
	w->population.back_group[7] = g; /* outside, and names the group */
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	f = &w->findings.items[1];
	assert_string_equal(f->check->code, "count-mismatch");
	assert_int_equal(f->status, RI_FINDING_UNCHECKED);
	assert_true(finding_says(f, "off by +2"));
	assert_true(finding_says(f, "1 living objects name this group"));
	assert_string_equal(w->findings.items[0].check->code, "orphan");
	assert_int_equal(w->findings.items[0].status, RI_FINDING_UNCHECKED);
	world_destroy(w);
}

static void test_unused_group_is_not_checked(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 0);

	(void)state;
	w->groups.items[g].state = RI_GROUP_UNINITIALISED;
	w->groups.items[g].stored_count = 3;
	world_break(w, g, (struct ri_group_break){ .object = RI_NONE, .what = "not mapped" });
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void check_dead_member(uint32_t bits, const char *also)
{
	struct world *w = world_create();
	const struct ri_finding *f;

	world_group(w, "all_conns", 0, 4);
	w->population.objects[2].state = bits;
	w->population.objects[2].count = 0;
	world_check(w);
	f = world_only(w, "dead-member");
	assert_string_equal(f->fingerprint, "dead-member:conn:group=all_conns");
	assert_int_equal(f->addr, world_addr(2));
	assert_true(finding_implies(f, also));
	world_destroy(w);
}

static void test_dead_member(void **state)
{
	struct world *w;
	uint32_t g;

	(void)state;
	check_dead_member(RI_OBJECT_MAGIC_DEAD, "bad-magic");
	check_dead_member(RI_OBJECT_FREED, "freed-object");

	/* A dead count alone, and an owner besides the group that contradicts it. */
	w = world_create();
	world_group(w, "all_conns", 0, 4);
	w->population.objects[2].state = RI_OBJECT_COUNT_DEAD;
	w->population.objects[2].count = 0;
	world_check(w);
	assert_true(finding_implies(world_only(w, "bad-count"), "dead-member"));
	assert_true(finding_implies(world_only(w, "bad-count"), "deficit"));
	world_destroy(w);

	/* The only owner is the group that chains it: that contradicts nothing. */
	w = world_create();
	g = world_group(w, "all_conns", 0, 4);
	w->groups.items[g].membership.weight = 1; /* of the one certain owner */
	w->population.objects[2].state = RI_OBJECT_COUNT_DEAD;
	w->population.objects[2].count = 0;
	world_check(w);
	world_only(w, "dead-member");
	world_destroy(w);

	/* Nothing certain holds it: still a member, still dead. */
	w = world_create();
	world_group(w, "all_conns", 0, 4);
	w->population.objects[2].state = RI_OBJECT_COUNT_DEAD;
	w->population.objects[2].count = 0;
	world_drop(w, 2);
	world_check(w);
	assert_int_equal(world_only(w, "dead-member")->also.count, 0);
	world_destroy(w);

	/* The clean twin: dead, and in no group. */
	w = world_create();
	w->population.objects[2].state = RI_OBJECT_COUNT_DEAD;
	world_drop(w, 2);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_freed_member_tells_its_break(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 4);
	const struct ri_finding *f;

	(void)state;
	w->population.objects[2].state = RI_OBJECT_FREED | RI_OBJECT_MAGIC_BAD;
	w->heap.blocks[2].state = RI_BLOCK_FREE;
	world_break(w, g,
		    (struct ri_group_break){ .word_addr = world_addr(2) + 16,
					     .value = world_addr(1) + 16, /* no loop either */
					     .node = world_addr(2) + 16,
					     .object = 2,
					     .what = "next is not mapped" });
	world_check(w);
	f = world_only(w, "dead-member");
	assert_true(finding_implies(f, "broken-link"));
	assert_true(finding_says(f, "next is not mapped"));
	world_destroy(w);
}

static void test_wrong_group(void **state)
{
	struct world *w = world_create();
	uint32_t a = world_group(w, "all_conns", 0, 3), b = world_group(w, "idle_conns", 3, 3);
	const struct ri_finding *f;

	(void)state;
	w->population.back_group[4] = a;
	w->population.back_pointer[4] = 0x500000;
	world_check(w);
	f = world_only(w, "wrong-group");
	assert_int_equal(f->group, b);
	assert_string_equal(f->fingerprint, "wrong-group:conn:group=idle_conns");
	assert_true(finding_says(f, "says that it is in all_conns"));
	world_destroy(w);
}

static void test_wrong_group_null_and_garbage(void **state)
{
	static const uint64_t values[] = { 0, 0x12345 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_create();

		world_group(w, "all_conns", 0, 3);
		w->population.back_group[1] = RI_NONE;
		w->population.back_pointer[1] = values[i];
		world_check(w);
		assert_true(finding_says(world_only(w, "wrong-group"),
					 i ? "names no group" : "is null"));
		world_destroy(w);
	}
}

static void test_no_back_pointer_no_wrong_group(void **state)
{
	struct world *w = world_create();

	(void)state;
	world_group(w, "all_conns", 0, 3);
	w->layout.groups.items[0].back.is_present = false;
	w->population.back_group[1] = RI_NONE;
	w->population.back_pointer[1] = 0;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* `node_bytes`: of nodes that lie apart; the back pointer is the member's own even so. */
static void expect_own_rules_back(uint64_t node_bytes)
{
	static uint8_t bytes[WORLD_BYTES];
	static const uint64_t back = 0x500000;
	struct world *w = world_create();
	const struct ri_range range = { world_addr(1), world_addr(1) + WORLD_BYTES, bytes,
					RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE };

	memcpy(bytes + 32, &back, sizeof(back));
	world_group(w, "all_conns", 0, 3);
	world_group(w, "other_rule", 6, 1);
	w->layout.groups.items[0].node_bytes = node_bytes;
	ri_image_add(w->target.image, &range);
	/* The population's one back pointer is that of another rule. */
	w->population.back_group[1] = 1;
	w->population.back_pointer[1] = 0x500100;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_back_pointer_of_the_memberships_own_rule_is_read(void **state)
{
	(void)state;
	expect_own_rules_back(0);
	expect_own_rules_back(24);
}

/* Both words of one node are one finding, whatever lies between them in the list. */
static void test_both_words_of_a_node_are_one_finding(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 6);
	const uint64_t nodes[] = { world_addr(1) + 16, world_addr(3) + 16, world_addr(1) + 16 };

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		world_break(w, g,
			    (struct ri_group_break){ .word_addr = nodes[i] + 8 * (i == 2),
						     .value = 0x100,
						     .node = nodes[i],
						     .object = i == 1 ? 3 : 1,
						     .what = "poison" });
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	assert_int_equal(w->findings.items[0].addr, world_addr(1));
	assert_int_equal(w->findings.items[0].addrs.count, 4);
	assert_int_equal(w->findings.items[1].addrs.count, 2);
	world_destroy(w);
}

static void test_two_groups(void **state)
{
	struct world *w = world_create();
	uint32_t a = world_group(w, "all_conns", 0, 3), b = world_group(w, "idle_conns", 2, 1);
	const struct ri_finding *f;

	(void)state;
	w->population.back_group[2] = a;
	/* The chain that came first is broken there, and one back pointer cannot fit: both
	 * for the same cause. */
	world_break(w, b,
		    (struct ri_group_break){ .word_addr = world_addr(2) + 24,
					     .value = 0x500008,
					     .node = world_addr(2) + 16,
					     .object = 2,
					     .what = "does not lead back" });
	world_check(w);
	f = world_only(w, "two-groups");
	assert_int_equal(f->addr, world_addr(2));
	assert_int_equal(f->addrs.count, 2);
	assert_int_equal(f->group, a);
	assert_true(finding_implies(f, "broken-link"));
	world_destroy(w);

	/* Two chains that share their tail have one cause; the longer chain is named, in
	 * whichever order they lie. */
	for (uint32_t first = 0; first < 2; first++) {
		w = world_create();
		world_group(w, first ? "fired" : "pending", first ? 3 : 0, first ? 3 : 6);
		world_group(w, first ? "pending" : "fired", first ? 0 : 3, first ? 6 : 3);
		w->layout.groups.items[0].back.is_present = false;
		world_check(w);
		f = world_only(w, "two-groups");
		assert_int_equal(f->addr, world_addr(3));
		assert_string_equal(f->group_name, "pending");
		assert_true(finding_says(f, "share 3 members"));
		world_destroy(w);
	}

	/* The clean twin: two links of one object. */
	w = world_create();
	world_group(w, "all_conns", 0, 3);
	world_group(w, "idle_conns", 2, 1);
	w->layout.groups.items[0].back.is_present = false;
	w->memberships.items[3].node += 24;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* Links that point at the element itself have the element for their node, whichever
 * member they are. */
static void test_two_links_of_one_element(void **state)
{
	struct world *w = world_create();
	struct ri_group_rule *second = ri_push(&w->layout.groups);
	uint32_t b;

	(void)state;
	*second = w->layout.groups.items[0];
	second->next_offset = 8;
	second->back.is_present = false;
	world_group(w, "all_conns", 0, 3);
	b = world_group(w, "idle_conns", 2, 1);
	w->groups.items[b].rule = 1;
	w->population.back_group[2] = 0;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_orphan(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "all_conns", 0, 3);
	const struct ri_finding *f;

	(void)state;
	w->population.back_group[5] = g;
	world_check(w);
	f = world_only(w, "orphan");
	assert_int_equal(f->addr, world_addr(5));
	assert_int_equal(f->group, g);
	assert_int_equal(f->status, RI_FINDING_SURE);
	assert_string_equal(f->fingerprint, "orphan:conn:group=all_conns");
	world_destroy(w);

	/* Dead, it may keep its pointer. */
	w = world_create();
	w->population.back_group[5] = world_group(w, "all_conns", 0, 3);
	w->population.objects[5].state = RI_OBJECT_COUNT_DEAD;
	world_drop(w, 5);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

static void test_orphan_with_missing_memory(void **state)
{
	struct world *w = world_create();

	(void)state;
	w->population.back_group[5] = world_group(w, "all_conns", 0, 3);
	world_lose(w, RI_RANGE_MISSING, 0x700000, 0x701000);
	world_check(w);
	assert_int_equal(world_only(w, "orphan")->status, RI_FINDING_UNCHECKED);
	world_destroy(w);
}

/* Each kind of group has a back pointer of its own: being in one says nothing of the other. */
static void test_orphan_with_two_back_pointers(void **state)
{
	static uint8_t bytes[WORLD_BYTES];
	struct world *w = world_create();
	struct ri_group_rule *second = ri_push(&w->layout.groups);
	uint64_t named;
	uint32_t b;

	(void)state;
	*second = w->layout.groups.items[0];
	second->next_offset = 8;
	second->back.offset_bytes = 40;
	world_group(w, "all_conns", 0, 3);
	b = world_group(w, "idle_conns", 3, 1);
	w->groups.items[b].rule = 1;
	named = w->groups.items[0].struct_addr;
	memcpy(bytes + 32, &named, sizeof(named));
	named = w->groups.items[b].struct_addr;
	memcpy(bytes + 40, &named, sizeof(named));
	ri_image_add(w->target.image,
		     &(struct ri_range){ world_addr(1), world_addr(1) + WORLD_BYTES, bytes,
					 RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE });
	world_check(w);
	assert_int_equal(world_only(w, "orphan")->addr, world_addr(1));
	assert_int_equal(world_only(w, "orphan")->group, b);
	world_destroy(w);

	/* One word that serves both kinds is satisfied by either. */
	w = world_create();
	second = ri_push(&w->layout.groups);
	*second = w->layout.groups.items[0];
	second->next_offset = 8;
	world_group(w, "all_conns", 0, 3);
	b = world_group(w, "idle_conns", 3, 1);
	w->groups.items[b].rule = 1;
	w->groups.items[b].struct_addr = w->groups.items[0].struct_addr;
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

/* A member that a damaged chain lost has a reference of the group's. */
static void test_surplus_of_a_lost_member(void **state)
{
	(void)state;
	for (int64_t extra = 1; extra <= 2; extra++) {
		struct world *w = world_create();
		uint32_t g = world_group(w, "all_conns", 0, 3);
		const struct ri_finding *f;

		w->groups.items[g].membership.weight = 1;
		w->groups.items[g].state = RI_GROUP_INCOMPLETE;
		w->population.objects[5].count += extra;
		world_check(w);
		f = world_only(w, "surplus");
		assert_int_equal(f->status,
				 extra == 1 ? RI_FINDING_UNCHECKED : RI_FINDING_SURE);
		world_destroy(w);
	}
}

static void test_orphan_by_membership_rule(void **state)
{
	static uint8_t bytes[WORLD_BYTES] = { [40] = 1 };
	struct world *w = world_create();
	const struct ri_finding *f;

	(void)state;
	world_group(w, "all_conns", 0, 3);
	w->layout.groups.items[0].name = "all_conns";
	w->layout.groups.items[0].back.is_present = false;
	w->layout.groups.items[0].rule = (struct ri_condition){
		.is_present = true,
		.mask = ~0ull,
		.field = { .is_present = true, .offset_bytes = 40, .size_bytes = 4 }
	};
	for (uint32_t o = 0; o < 5; o += 4) { /* a member and a stranger fulfil it */
		const struct ri_range range = { world_addr(o), world_addr(o) + WORLD_BYTES, bytes,
						RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE };
		ri_image_add(w->target.image, &range);
	}
	world_check(w);
	f = world_only(w, "orphan");
	assert_int_equal(f->addr, world_addr(4));
	assert_true(finding_says(f, "by its own state"));
	world_destroy(w);
}

static void test_dead_group(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "conns_of", 1, 3);
	const struct ri_finding *f;

	(void)state;
	w->groups.items[g].state = RI_GROUP_HEAD_FREED;
	world_break(w, g, (struct ri_group_break){ .object = RI_NONE, .what = "not mapped" });
	w->groups.items[g].stored_count = 99;
	world_check(w);
	f = world_only(w, "dead-group");
	assert_true(finding_says(f, "head lies in freed memory while it has 3 living"));
	assert_true(finding_implies(f, "broken-link"));
	world_destroy(w);
}

static void test_group_in_dead_or_lost_object(void **state)
{
	struct world *w = world_create();
	uint32_t g = world_group(w, "conns_of", 1, 3);

	(void)state;
	w->groups.items[g].object = 0;
	w->population.objects[0].state = RI_OBJECT_COUNT_DEAD;
	world_drop(w, 0);
	world_check(w);
	assert_true(finding_says(world_only(w, "dead-group"), "contains its head is dead"));
	world_destroy(w);

	w = world_create();
	g = world_group(w, "conns_of", 1, 3);
	w->groups.items[g].object = 0;
	world_leak(w, 0, 0);
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	assert_string_equal(w->findings.items[0].check->code, "dead-group");
	assert_string_equal(w->findings.items[1].check->code, "unreachable");
	assert_true(finding_implies(&w->findings.items[1], "dead-group"));
	world_destroy(w);

	/* Its members are lost with it: that is the leak's, no finding of the group. */
	w = world_create();
	g = world_group(w, "conns_of", 1, 3);
	w->groups.items[g].object = 0;
	for (uint32_t o = 0; o < 4; o++)
		world_leak(w, o, 0);
	world_check(w);
	assert_true(finding_implies(world_only(w, "unreachable"), "dead-group"));
	world_destroy(w);

	/* The clean twin: its members are gone with it. */
	w = world_create();
	g = world_group(w, "conns_of", 1, 1);
	w->groups.items[g].state = RI_GROUP_HEAD_FREED;
	w->population.objects[1].state = RI_OBJECT_FREED;
	world_drop(w, 1);
	world_check(w);
	assert_int_equal(w->findings.count, 0);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broken_link),
		cmocka_unit_test(test_one_finding_per_break),
		cmocka_unit_test(test_list_loop_tells_its_break),
		cmocka_unit_test(test_loop_in_one_direction),
		cmocka_unit_test(test_count_mismatch),
		cmocka_unit_test(test_foreign_nodes_count_in_the_length),
		cmocka_unit_test(test_count_mismatch_of_a_broken_chain),
		cmocka_unit_test(test_unused_group_is_not_checked),
		cmocka_unit_test(test_dead_member),
		cmocka_unit_test(test_freed_member_tells_its_break),
		cmocka_unit_test(test_wrong_group),
		cmocka_unit_test(test_wrong_group_null_and_garbage),
		cmocka_unit_test(test_no_back_pointer_no_wrong_group),
		cmocka_unit_test(test_back_pointer_of_the_memberships_own_rule_is_read),
		cmocka_unit_test(test_both_words_of_a_node_are_one_finding),
		cmocka_unit_test(test_two_groups),
		cmocka_unit_test(test_two_links_of_one_element),
		cmocka_unit_test(test_orphan),
		cmocka_unit_test(test_orphan_with_two_back_pointers),
		cmocka_unit_test(test_surplus_of_a_lost_member),
		cmocka_unit_test(test_orphan_with_missing_memory),
		cmocka_unit_test(test_orphan_by_membership_rule),
		cmocka_unit_test(test_dead_group),
		cmocka_unit_test(test_group_in_dead_or_lost_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
