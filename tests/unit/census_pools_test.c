/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects without magic at equal distances in blocks of a program's own: that typed pointers
 * and lists lead to several is what tells them (pools.c).
 */
#include "whole_program.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct link { struct link *next, *prev; };\n"
	"struct conn { int refs; struct link link; long more[3]; };\n"
	"static struct link all; static struct conn *held[16]; static char *pools[2];\n"
	"static void __attribute__((noinline)) build(const char *what)\n"
	"{\n"
	"	all.next = all.prev = &all;\n"
	"	for (int i = 0; i < 16; i++) {\n"
	"		char **pool = &pools[i / 8];\n"
	"		if (!*pool) *pool = calloc(1, 24 + 8 * sizeof(struct conn));\n"
	"		struct conn *c = (void *)(*pool + 24 + i % 8 * sizeof *c);\n"
	"		c->refs = 1; held[i] = c;\n"
	"		c->link.next = &all; c->link.prev = all.prev;\n"
	"		all.prev->next = &c->link; all.prev = &c->link;\n"
	"	}\n"
	"	held[5]->refs += !strcmp(what, \"surplus\");\n"
	"}\n"
	"static void wipe(void) { volatile char area[65536]; for (size_t i = 0;\n"
	"	i < sizeof area; i++) area[i] = 0; }\n"
	"static char buffer[4096];\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argc; setvbuf(stdout, buffer, _IOFBF, sizeof buffer); build(argv[1]); wipe();\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

static const char profile[] = "version: 1\n"
			      "name: pools\n"
			      "types:\n"
			      "- { struct: conn, counts: refs }\n"
			      "groups:\n"
			      "- head: { variable: all }\n"
			      "  link: { struct: conn, member: link }\n"
			      "  membership: borrows\n";

static void expect(const char *argument, size_t findings)
{
	struct whole_program p;

	whole_program_open(&p, source, argument, profile);
	for (size_t i = 0; i < p.analysis->findings->count; i++)
		print_message("%s: %s\n", argument, p.analysis->findings->items[i].summary);
	assert_int_equal(p.analysis->population->object_count, 16);
	assert_int_equal(p.analysis->findings->count, findings);
	assert_int_equal(whole_program_count(&p, "surplus"), findings);
	whole_program_close(&p);
}

static void objects_of_pools_are_found(void **state)
{
	(void)state;
	expect("clean", 0);
	expect("surplus", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_of_pools_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
