/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading fields, conditions and counts out of an image of a few bytes, the
 * weights of holder classes, and layouts that need no debug information.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "profile/layout.h"
#include "target/image.h"

#define BASE 0x10000u

static uint8_t bytes[64];

static int make_image(void **state)
{
	struct ri_image *image = ri_image_create();
	const struct ri_range range = {
		.start = BASE, .end = BASE + sizeof(bytes), .bytes = bytes,
		.kind = RI_RANGE_PRESENT, .flags = RI_RANGE_READ,
	};

	ri_image_add(image, &range);
	ri_image_seal(image);
	*state = image;
	return 0;
}

static int drop_image(void **state)
{
	ri_image_destroy(*state);
	return 0;
}

static void put(size_t at, uint64_t value, size_t size_bytes)
{
	memcpy(bytes + at, &value, size_bytes);
}

static struct ri_field field_at(int64_t offset, uint8_t size_bytes, bool is_signed)
{
	return (struct ri_field){ .is_present = true, .offset_bytes = offset,
				  .size_bytes = size_bytes, .is_signed = is_signed };
}

static int64_t read_field(const struct ri_image *image, uint64_t base, struct ri_field field)
{
	int64_t value = 0x7eadbeef;

	assert_true(ri_field_read(image, base, &field, &value));
	return value;
}

static void test_fields(void **state)
{
	const struct ri_image *image = *state;
	struct ri_field bits = { .is_present = true, .size_bytes = 2, .bit_shift = 3,
				 .bit_size = 5 };
	struct ri_field field;
	int64_t value = 7;

	put(8, 0xfedcba9876543210u, 8);
	assert_int_equal(read_field(image, BASE, field_at(8, 8, false)), 0xfedcba9876543210u);
	assert_int_equal(read_field(image, BASE, field_at(8, 1, false)), 0x10);
	assert_int_equal(read_field(image, BASE, field_at(12, 4, false)), 0xfedcba98u);
	assert_int_equal(read_field(image, BASE, field_at(12, 4, true)), (int32_t)0xfedcba98u);
	assert_int_equal(read_field(image, BASE, field_at(15, 1, true)), -2);
	assert_int_equal(read_field(image, BASE + 16, field_at(-8, 2, true)), 0x3210);
	put(0, 0x12 << 3 | 7, 2);
	assert_int_equal(read_field(image, BASE, bits), 0x12);
	bits.is_signed = true;
	assert_int_equal(read_field(image, BASE, bits), 0x12 - 0x20);
	/* not there */
	field = field_at(60, 8, false);
	assert_false(ri_field_read(image, BASE, &field, &value));
	field = field_at(-1, 1, false);
	assert_false(ri_field_read(image, BASE, &field, &value));
	field = field_at(INT64_MIN, 8, false);
	assert_false(ri_field_read(image, BASE, &field, &value));
	field.is_present = false;
	assert_false(ri_field_read(image, BASE, &field, &value));
	assert_int_equal(value, 7);
}

static void test_conditions(void **state)
{
	const struct ri_image *image = *state;
	struct ri_condition c = { .is_present = true, .field = field_at(4, 4, true),
				  .mask = UINT64_MAX };

	put(4, 0, 4);
	assert_false(ri_condition_holds(image, BASE, &c));
	put(4, 0x80000004u, 4);
	assert_true(ri_condition_holds(image, BASE, &c));
	c.mask = 3;
	assert_false(ri_condition_holds(image, BASE, &c));
	c.is_negated = true;
	assert_true(ri_condition_holds(image, BASE, &c));
	c.is_negated = false;
	c.mask = 0xf;
	c.has_equals = true;
	c.equals = 4;
	assert_true(ri_condition_holds(image, BASE, &c));
	c.equals = 5;
	assert_false(ri_condition_holds(image, BASE, &c));
	c.equals = 0; /* equals 0 is not "absent" */
	c.mask = 3;
	assert_true(ri_condition_holds(image, BASE, &c));
	/* -1 in a field of four bytes */
	put(4, 0xffffffffu, 4);
	c.mask = UINT64_MAX;
	c.equals = UINT64_MAX;
	assert_true(ri_condition_holds(image, BASE, &c));
	c.field.is_signed = false;
	assert_true(ri_condition_holds(image, BASE, &c));
	/* not mapped: false, negated too */
	c.is_negated = true;
	assert_false(ri_condition_holds(image, BASE + 0x1000, &c));
	c.is_present = false;
	assert_false(ri_condition_holds(image, BASE, &c));
}

static const int64_t zero[] = { 0 };

static struct ri_count_rule count_rule(uint8_t size_bytes, bool is_signed)
{
	return (struct ri_count_rule){
		.field = field_at(0, size_bytes, is_signed), .mask = UINT64_MAX,
		.live = { 1, 100 }, .saturated = { 0, -1 }, .immortal = { 0, -1 },
		.dead = zero, .dead_count = 1,
	};
}

static void expect_count(const struct ri_image *image, const struct ri_count_rule *rule,
			 uint64_t stored, enum ri_count_state state, int64_t count)
{
	int64_t got = INT64_MAX;

	put(0, stored, rule->field.size_bytes);
	assert_int_equal(ri_count_read(image, BASE, rule, &got), state);
	assert_int_equal(got, count);
}

static void test_bands(void **state)
{
	const struct ri_image *image = *state;
	struct ri_count_rule rule = count_rule(4, true);
	static const int64_t dead[] = { 0, -559038737 };
	int64_t count = 3;

	rule.saturated = (struct ri_band){ -2000, -1000 };
	rule.immortal = (struct ri_band){ 50, 60 };
	expect_count(image, &rule, 1, RI_COUNT_LIVE, 1);
	expect_count(image, &rule, 100, RI_COUNT_LIVE, 100);
	expect_count(image, &rule, 101, RI_COUNT_IMPOSSIBLE, 101);
	expect_count(image, &rule, 0, RI_COUNT_DEAD, 0);
	expect_count(image, &rule, (uint64_t)-1, RI_COUNT_IMPOSSIBLE, -1);
	expect_count(image, &rule, (uint64_t)-1000, RI_COUNT_SATURATED, -1000);
	expect_count(image, &rule, (uint64_t)-2001, RI_COUNT_IMPOSSIBLE, -2001);
	expect_count(image, &rule, 55, RI_COUNT_IMMORTAL, 55);
	expect_count(image, &rule, 0xdeadbeef, RI_COUNT_IMPOSSIBLE, -559038737);
	rule.dead = dead;
	rule.dead_count = 2;
	expect_count(image, &rule, 0xdeadbeef, RI_COUNT_DEAD, -559038737);
	rule.dead_count = 0;
	expect_count(image, &rule, 0, RI_COUNT_IMPOSSIBLE, 0);
	assert_int_equal(ri_count_read(image, BASE - 64, &rule, &count), RI_COUNT_UNREADABLE);
	assert_int_equal(count, 3);
}

static void test_masks_signs_and_biases(void **state)
{
	const struct ri_image *image = *state;
	struct ri_count_rule rule = count_rule(4, false);

	/* two flag bits below, one above */
	rule.mask = 0x7ffffffc;
	rule.shift = 2;
	expect_count(image, &rule, 0x80000000u | 5 << 2 | 3, RI_COUNT_LIVE, 5);
	expect_count(image, &rule, 0x80000003u, RI_COUNT_DEAD, 0);
	/* a signed part of a word */
	rule.mask = 0xffff0;
	rule.shift = 4;
	rule.field.is_signed = true;
	expect_count(image, &rule, 0xffff0, RI_COUNT_IMPOSSIBLE, -1);
	/* counts downwards */
	rule = count_rule(4, true);
	rule.is_negative = true;
	expect_count(image, &rule, (uint64_t)-2, RI_COUNT_LIVE, 2);
	expect_count(image, &rule, 2, RI_COUNT_IMPOSSIBLE, -2);
	/* starts at -1 */
	rule = count_rule(4, true);
	rule.bias = 1;
	expect_count(image, &rule, 0, RI_COUNT_LIVE, 1);
	expect_count(image, &rule, (uint64_t)-1, RI_COUNT_DEAD, 0);
	/* bit-fields, and arithmetic that cannot overflow ours */
	rule = count_rule(2, false);
	rule.field.bit_shift = 1;
	rule.field.bit_size = 15;
	expect_count(image, &rule, 7 << 1 | 1, RI_COUNT_LIVE, 7);
	rule = count_rule(8, true);
	rule.is_negative = true;
	rule.bias = INT64_MIN;
	expect_count(image, &rule, (uint64_t)INT64_MIN, RI_COUNT_DEAD, 0);
}

static void test_conditional_references(void **state)
{
	const struct ri_image *image = *state;
	struct ri_count_rule weak = count_rule(4, false);

	/* weak = weak references + (strong > 0) */
	weak.plus = (struct ri_condition){ .is_present = true, .field = field_at(4, 4, false),
					   .mask = UINT64_MAX };
	weak.plus_value = 1;
	put(4, 3, 4);
	expect_count(image, &weak, 1, RI_COUNT_LIVE, 0);
	expect_count(image, &weak, 4, RI_COUNT_LIVE, 3);
	put(4, 0, 4);
	expect_count(image, &weak, 1, RI_COUNT_LIVE, 1);
	expect_count(image, &weak, 0, RI_COUNT_DEAD, 0);
}

/* Profiles that need no DWARF. */

static struct ri_layout *bind(const char *text, bool is_user, struct ri_gaps *gaps)
{
	struct ri_profile *profile = NULL;
	struct ri_error *error = ri_profile_parse("p", text, strlen(text), &profile);
	struct ri_layout *layout;

	if (error)
		print_error("%s\n", error->message);
	assert_null(error);
	ri_gaps_init(gaps);
	layout = ri_layout_create((const struct ri_profile *const *)&profile, &is_user, 1, NULL,
				  NULL, gaps);
	ri_profile_destroy(profile); /* the layout must not need it */
	return layout;
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(ri_pattern_matches("table.slots[]", "table.slots[]"));
	assert_true(ri_pattern_matches("a[].b[]", "a[].b[]"));
	assert_true(ri_pattern_matches("*[]", "x.y[]"));
	assert_true(ri_pattern_matches("conn.[rt]x", "conn.tx"));
	assert_true(ri_pattern_matches("group:*", "group:all conns"));
	assert_false(ri_pattern_matches("conn.[rt]x", "conn.[rt]x"));
	assert_false(ri_pattern_matches("a[].b[]", "a.b]"));
	assert_false(ri_pattern_matches("conn", "conn.x"));
}

static void test_weights(void **state)
{
	struct ri_gaps gaps;
	struct ri_layout *layout = bind("version: 1\nborrows: ['*']\nowns: ['conn.*', 'x[]']\n"
					"weights: [{class: conn.both, weight: 2}]\n"
					"possible: [conn.maybe]\n", true, &gaps);
	struct ri_weight weight;

	(void)state;
	assert_int_equal(ri_layout_weight(layout, "other").kind, RI_WEIGHT_FIXED);
	assert_int_equal(ri_layout_weight(layout, "other").weight, 0);
	assert_int_equal(ri_layout_weight(layout, "conn.a").weight, 1);
	assert_int_equal(ri_layout_weight(layout, "x[]").weight, 1);
	assert_int_equal(ri_layout_weight(layout, "conn.both").weight, 2);
	assert_int_equal(ri_layout_weight(layout, "conn.maybe").kind, RI_WEIGHT_POSSIBLE);
	assert_int_equal(layout->owners.items[1].mark.line, 3);
	assert_string_equal(layout->owners.items[1].mark.file, "p");
	assert_false(ri_gaps_has_serious(&gaps));
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
	layout = bind("version: 1\nowns: [a]\n", true, &gaps);
	weight = ri_layout_weight(layout, "b");
	assert_int_equal(weight.kind, RI_WEIGHT_NONE);
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
}

static void test_fixed_layout_binds_without_types(void **state)
{
	struct ri_gaps gaps;
	struct ri_layout *layout = bind(
		"version: 1\nheaders:\n- label: hdr\n  bytes: 32\n  in-front: true\n"
		"  counts: {offset: 4, size: 4, dead: 0xdeadbeef}\n"
		"  magic: {offset: 8, size: 4, at-end: true, live: -1}\n"
		"types:\n- label: thing\n  bytes: 64\n  header: {offset: -32, struct: hdr}\n"
		"  counts: {name: inner, offset: 8, size: 2}\n"
		"groups:\n- head: {variable: v, bytes: 16, offset: 0}\n  link: {offset: 8}\n",
		true, &gaps);
	const struct ri_convention *hdr = &layout->conventions.items[0];
	const struct ri_convention *thing = &layout->conventions.items[1];
	const struct ri_counted_type *type = &layout->types.items[0];

	(void)state;
	assert_int_equal(layout->conventions.count, 2);
	assert_string_equal(hdr->name, "hdr");
	assert_true(hdr->is_header && hdr->may_stand_in_front && !hdr->type);
	assert_int_equal(hdr->size_bytes, 32);
	assert_true(hdr->counts[0].field.is_signed);
	assert_int_equal(hdr->counts[0].dead[0], (int32_t)0xdeadbeef);
	assert_int_equal(hdr->counts[0].live.high, INT32_MAX / 2);
	assert_int_equal(hdr->magics[0].field.offset_bytes, -8);
	assert_int_equal(hdr->magics[0].live[0], 0xffffffffu);
	assert_int_equal(thing->base, 0);
	assert_int_equal(thing->count_count, 2);
	assert_string_equal(thing->counts[1].name, "inner");
	assert_int_equal(thing->counts[1].field.offset_bytes, 8 + 32);
	assert_int_equal(layout->types.count, 1);
	assert_string_equal(type->name, "thing");
	assert_int_equal(type->header_offset, -32);
	assert_int_equal(type->front_bytes, 32);
	assert_int_equal(type->extent_bytes, 96);
	/* no such variable anywhere: the group is not there, and it matters */
	assert_int_equal(layout->groups.count, 0);
	assert_int_equal(layout->unbound.count, 1);
	assert_string_equal(layout->unbound.items[0].message, "no variable 'v'");
	assert_true(ri_gaps_has_serious(&gaps));
	assert_string_equal(gaps.items[0].message, "p:14:20: no variable 'v'");
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
}

/* The built-in profile of refobj.h, as a target without DWARF has it. */
static void test_refobj_profile(void **state)
{
	const struct ri_builtin_profile *builtin = ri_builtin_profiles;
	const struct ri_count_rule *count;
	const struct ri_group_rule *group;
	const struct ri_convention *c;
	struct ri_layout *layout;
	struct ri_gaps gaps;

	(void)state;
	while (strcmp(builtin->name, "refobj") != 0)
		builtin++;
	layout = bind(builtin->text, false, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_string_equal(layout->in_force.items[0], "refobj");
	assert_int_equal(layout->types.count, 0);
	c = &layout->conventions.items[0];
	assert_int_equal(c->size_bytes, 48);
	assert_int_equal(c->magics[0].live[0], 0x6a626f72);
	assert_int_equal(c->magics[0].dead[0], 0x64616564);
	count = &c->counts[0];
	assert_int_equal(count->field.offset_bytes, 4);
	assert_int_equal(ri_count_classify(count, 1), RI_COUNT_LIVE);
	assert_int_equal(ri_count_classify(count, 0), RI_COUNT_DEAD);
	assert_int_equal(ri_count_classify(count, -1), RI_COUNT_IMPOSSIBLE);
	assert_int_equal(ri_count_classify(count, INT32_MIN), RI_COUNT_IMPOSSIBLE);
	assert_int_equal(ri_count_classify(count, INT32_MIN / 2), RI_COUNT_SATURATED);
	assert_int_equal(ri_count_classify(count, INT32_MIN / 2 - (1 << 29)), RI_COUNT_SATURATED);
	assert_int_equal(ri_count_classify(count, INT32_MIN / 2 + (1 << 29)), RI_COUNT_SATURATED);
	assert_int_equal(ri_count_classify(count, INT32_MIN / 2 + (1 << 29) + 1),
			 RI_COUNT_IMPOSSIBLE);
	assert_int_equal(ri_count_classify(count, INT32_MAX), RI_COUNT_IMPOSSIBLE);
	assert_true(c->descriptor.is_present && c->descriptor.fields.is_present);
	assert_int_equal(c->descriptor.field.offset_bytes, 8);
	assert_int_equal(c->descriptor.field.size_bytes, 8);
	assert_int_equal(c->descriptor.header_offset.offset_bytes, 24);
	assert_true(c->descriptor.magic_live[0] == 0x657079746a626f72u);
	assert_int_equal(c->ignore.mask, 2);
	group = &layout->groups.items[0];
	assert_int_equal(group->element_convention, 0);
	assert_int_equal(group->element_type, RI_LAYOUT_NONE);
	assert_int_equal(group->link_offset, 16);
	assert_int_equal(group->next_offset, 0);
	assert_int_equal(group->prev_offset, 8);
	assert_int_equal(group->head_offset, 8);
	assert_int_equal(group->head_struct_bytes, 128);
	assert_int_equal(group->head_first_offset, 0);
	assert_int_equal(group->head_last_offset, 8);
	assert_int_equal(group->back.offset_bytes, 32);
	assert_false(group->back_to_head);
	assert_int_equal(group->membership.kind, RI_WEIGHT_IF);
	assert_int_equal(group->membership.owns_if.field.offset_bytes, 72);
	assert_int_equal(group->parent_group.offset_bytes, 40);
	assert_string_equal(group->head_type_name, "refobj_group");
	assert_int_equal(ri_layout_weight(layout, "refobj_group.parent").weight, 1);
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
}

/* What does not apply is not in force; only of the user's does it matter. */
static void test_requires(void **state)
{
	static const char text[] = "version: 1\nname: x\nrequires: [thing]\nowns: [a]\n";
	struct ri_layout *layout;
	struct ri_gaps gaps;

	(void)state;
	layout = bind(text, false, &gaps);
	assert_int_equal(layout->in_force.count, 0);
	assert_int_equal(layout->owners.count, 0);
	assert_int_equal(gaps.count, 0);
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
	layout = bind(text, true, &gaps);
	assert_int_equal(layout->in_force.count, 0);
	assert_string_equal(gaps.items[0].message, "p:3:12: no struct 'thing'");
	assert_true(ri_gaps_has_serious(&gaps));
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
	layout = bind("version: 1\nowns: [a]\n", false, &gaps); /* built in, for nobody */
	assert_int_equal(layout->in_force.count, 0);
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
	layout = bind("version: 1\nledger: 1\n", true, &gaps);
	assert_string_equal(gaps.items[0].message,
			    "p:2:9: 'ledger' is reserved; nothing is read from it yet");
	assert_false(ri_gaps_has_serious(&gaps));
	ri_layout_destroy(layout);
	ri_gaps_deinit(&gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_bands),
		cmocka_unit_test(test_masks_signs_and_biases),
		cmocka_unit_test(test_conditional_references),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_fixed_layout_binds_without_types),
		cmocka_unit_test(test_refobj_profile),
		cmocka_unit_test(test_requires),
	};

	return cmocka_run_group_tests(tests, make_image, drop_image);
}
