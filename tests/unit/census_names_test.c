/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What groups without a name of their own are called: after struct or variable, and member. */
#include "whole_program.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"struct list { struct list *next, *prev; };\n"
	"struct item { int refs; struct list link; struct list other; struct owner *owner; };\n"
	"struct owner { int refs; struct list items, others; };\n"
	"struct owner *owners[2];\n"
	"struct state { long spare; struct list items; } state;\n"
	"static void empty(struct list *l) { l->next = l->prev = l; }\n"
	"static void add(struct list *n, struct list *h) { n->next = h; n->prev = h->prev;\n"
	"	h->prev->next = n; h->prev = n; }\n"
	"static char buffer[4096];\n"
	"int main(void)\n"
	"{\n"
	"	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);\n"
	"	empty(&state.items);\n"
	"	for (int i = 0; i < 2; i++) {\n"
	"		struct owner *o = owners[i] = calloc(1, sizeof *o); o->refs = 1;\n"
	"		empty(&o->items); empty(&o->others);\n"
	"		struct item *n = calloc(1, sizeof *n); n->refs = 1;\n"
	"		empty(&n->other); add(&n->link, &o->items);\n"
	"		n = calloc(1, sizeof *n); n->refs = 1;\n"
	"		empty(&n->other); add(&n->link, &state.items);\n"
	"	}\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

static const char profile[] = "version: 1\n"
			      "name: names\n"
			      "types:\n"
			      "- { struct: item, counts: refs }\n"
			      "- { struct: owner, counts: refs }\n"
			      "groups:\n"
			      "- head: { struct: owner, member: items }\n"
			      "  link: { struct: item, member: link }\n"
			      "  membership: owns\n"
			      "- head: { struct: owner, member: others }\n"
			      "  link: { struct: item, member: other }\n"
			      "  membership: owns\n"
			      "- head: { variable: state, member: items }\n"
			      "  link: { struct: item, member: link }\n"
			      "  membership: owns\n";

static size_t count_named(const struct whole_program *p, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < p->analysis->population->group_count; i++)
		count += !strcmp(p->analysis->population->groups[i].name, name);
	return count;
}

static void groups_are_called_after_struct_and_member(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "nothing", profile);
	assert_int_equal(count_named(&p, "owner.items"), 2);
	assert_int_equal(count_named(&p, "owner.others"), 2);
	assert_int_equal(count_named(&p, "state.items"), 1);
	assert_int_equal(p.analysis->population->group_count, 5);
	whole_program_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_called_after_struct_and_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
