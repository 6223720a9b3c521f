/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules of ownership that name a struct and its member: they hold wherever the struct is
 * embedded, and where no rule names the class itself.
 */
#include "whole_program.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"struct thing { int refs; int id; char text[40]; };\n"
	"struct strong { struct thing *pointer; };\n"
	"struct weak { int flags; struct { struct thing *pointer; } inner; };\n"
	"struct owner { struct strong kept; struct weak seen, watched; };\n"
	"struct owner *owners[4]; struct weak last_seen;\n"
	"int main(void)\n"
	"{\n"
	"	for (int i = 0; i < 4; i++) {\n"
	"		struct thing *t = calloc(1, sizeof *t);\n"
	"		t->refs = 1; owners[i] = calloc(1, sizeof **owners);\n"
	"		owners[i]->kept.pointer = owners[i]->seen.inner.pointer = t;\n"
	"		if (i == 1) owners[i]->watched.inner.pointer = t, t->refs++;\n"
	"		last_seen.inner.pointer = t;\n"
	"	}\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

#define THINGS "version: 1\nname: places\ntypes:\n- { struct: thing, counts: refs }\n"

static void a_rule_for_the_struct_holds_wherever_it_is(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "", THINGS);
	assert_int_equal(whole_program_count(&p, "deficit"), 4);
	whole_program_close(&p);
	whole_program_open(&p, source, "", THINGS "borrows: [ \"weak.inner.pointer\" ]\n");
	assert_int_equal(whole_program_count(&p, "deficit"), 0);
	assert_int_equal(whole_program_count(&p, "surplus"), 1);
	whole_program_close(&p);
}

static void a_rule_for_the_class_goes_before_it(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "",
			   THINGS "owns: [ \"owner.watched.*\" ]\n"
				  "borrows: [ \"weak.inner.pointer\" ]\n");
	assert_int_equal(p.analysis->findings->count, 0);
	assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_CLEAN);
	whole_program_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_for_the_struct_holds_wherever_it_is),
		cmocka_unit_test(a_rule_for_the_class_goes_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
