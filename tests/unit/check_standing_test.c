/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many counts must fit before a type that was found by its shape is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/standing.h"

static enum ri_standing decide(uint64_t objects, uint64_t explained, enum ri_learned_state state)
{
	const struct ri_learned_type type = {
		.state = state, .result = { .objects = objects, .explained = explained },
	};

	return ri_standing_decide(&type);
}

static void test_decision(void **state)
{
	(void)state;
	assert_int_equal(decide(0, 0, RI_LEARNED_NOT), RI_STANDING_UNDECIDED);
	assert_int_equal(decide(9, 9, RI_LEARNED_FITS), RI_STANDING_UNDECIDED); /* too few */
	assert_int_equal(decide(9, 0, RI_LEARNED_NOT), RI_STANDING_UNDECIDED);
	assert_int_equal(decide(10, 10, RI_LEARNED_FITS), RI_STANDING_SUPPORTED);
	assert_int_equal(decide(10, 5, RI_LEARNED_PARTLY), RI_STANDING_UNDECIDED);
	assert_int_equal(decide(10, 0, RI_LEARNED_NOT), RI_STANDING_REFUTED);
	assert_int_equal(decide(1000, 1000, RI_LEARNED_FITS), RI_STANDING_SUPPORTED);
}

static void test_vague(void **state)
{
	struct ri_learned_type type = { .state = RI_LEARNED_FITS,
					.result = { .objects = 40, .explained = 40 } };

	(void)state;
	type.undecided = 20;
	assert_false(ri_standing_is_vague(&type));
	type.undecided = 21;
	assert_true(ri_standing_is_vague(&type));
	/* what is found all the same stays a finding */
	assert_int_equal(ri_standing_decide(&type), RI_STANDING_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_decision),
					   cmocka_unit_test(test_vague) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
