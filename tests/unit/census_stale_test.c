/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole copies of objects, magic and all, in memory that is used for something else: what they
 * are taken for, what the memory is taken for instead, and that a leak is still one.
 */
#include "whole_program.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct conn { char name[16]; unsigned magic; int refs; struct conn *peer, *other;\n"
	"	void *data; long more[3]; };\n"
	"struct big { unsigned magic; int refs; char room[48]; struct conn *held; long more[4]; };\n"
	"struct plain { int refs; char text[68]; };\n"
	"static struct conn *a, *b, *c; static struct big *outer;\n"
	"static struct { struct conn **slots; unsigned slot_count, slot_size; } set;\n"
	"static char *text; static void *loose;\n"
	"static struct conn *new_conn(void) { struct conn *n = calloc(1, sizeof *n);\n"
	"	n->magic = 0x636f6e6e; n->refs = 1; return n; }\n"
	"/* what is left of a conn that held b and c */\n"
	"static void *left_over(void) { struct conn *n = malloc(sizeof *n); *n = *a;\n"
	"	n->peer = b; n->other = c; n->data = NULL; n->refs = 3; return n; }\n"
	"static void __attribute__((noinline)) build(const char *what)\n"
	"{\n"
	"	a = new_conn(); b = new_conn(); c = new_conn();\n"
	"	outer = calloc(1, sizeof *outer); outer->magic = 0x62696721; outer->refs = 1;\n"
	"	if (!strcmp(what, \"buffer\")) {\n"
	"		text = left_over(); strcpy(text, \"some text\");\n"
	"	} else if (!strncmp(what, \"vector\", 6)) {\n"
	"		set.slots = left_over(); set.slot_count = 2; set.slot_size = 9;\n"
	"		set.slots[0] = a; set.slots[1] = b;\n"
	"		b->refs++; a->refs += !what[6];\n"
	"	} else if (!strncmp(what, \"inside\", 6)) {\n"
	"		struct conn *n = left_over(); memcpy(outer->room, n, sizeof outer->room);\n"
	"		free(n); outer->held = a; a->refs += !what[6];\n"
	"	} else if (!strcmp(what, \"counts\")) {\n"
	"		struct plain *p = left_over(); p->refs = 1; a->data = p;\n"
	"	} else if (!strncmp(what, \"loose\", 5)) {\n"
	"		struct conn *n = loose = left_over(); n->refs = 1; n->data = b;\n"
	"		n->other = NULL; n->peer = what[5] ? a : NULL; a->refs += what[5] != 0;\n"
	"	} else if (!strcmp(what, \"leak\")) {\n"
	"		struct conn *n = left_over(); n->refs = 1; b->refs++; c->refs++;\n"
	"	}\n"
	"}\n"
	"static void wipe(void) { volatile char area[65536]; for (size_t i = 0;\n"
	"	i < sizeof area; i++) area[i] = 0; }\n"
	"static char buffer[4096];\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argc; setvbuf(stdout, buffer, _IOFBF, sizeof buffer); build(argv[1]); wipe();\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

static const char profile[] =
	"version: 1\n"
	"name: stale\n"
	"types:\n"
	"- { struct: conn, counts: refs, magic: { member: magic, live: 0x636f6e6e } }\n"
	"- { struct: big, counts: refs, magic: { member: magic, live: 0x62696721 } }\n"
	"- { struct: plain, counts: refs }\n"
	"owns: [ conn.data ]\n";

static void expect_clean(const char *argument)
{
	struct whole_program p;

	whole_program_open(&p, source, argument, profile);
	for (size_t i = 0; i < p.analysis->findings->count; i++)
		print_error("%s: %s\n", argument, p.analysis->findings->items[i].summary);
	assert_int_equal(p.analysis->findings->count, 0);
	whole_program_close(&p);
}

static void expect_one(const char *argument, const char *code)
{
	struct whole_program p;

	whole_program_open(&p, source, argument, profile);
	for (size_t i = 0; i < p.analysis->findings->count; i++)
		print_message("%s: %s\n", argument, p.analysis->findings->items[i].summary);
	assert_int_equal(p.analysis->findings->count, 1);
	assert_int_equal(whole_program_count(&p, code), 1);
	whole_program_close(&p);
}

static void copy_in_a_buffer_is_none(void **state)
{
	(void)state;
	expect_clean("buffer");
}

static void vector_in_a_copy_holds(void **state)
{
	(void)state;
	expect_clean("vector");
	expect_one("vector-short", "deficit");
}

static void copy_inside_an_object_hides_no_member(void **state)
{
	(void)state;
	expect_clean("inside");
	expect_one("inside-short", "deficit");
}

static void counts_deny_a_copy(void **state)
{
	(void)state;
	expect_clean("counts");
}

/* Where nothing certain leads to it, one count that denies it is enough. */
static void count_denies_what_is_hardly_held(void **state)
{
	(void)state;
	expect_clean("loose");
	expect_one("loose-short", "deficit");
}

static void leak_is_no_copy(void **state)
{
	(void)state;
	expect_one("leak", "unreachable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_in_a_buffer_is_none),
		cmocka_unit_test(vector_in_a_copy_holds),
		cmocka_unit_test(copy_inside_an_object_hides_no_member),
		cmocka_unit_test(counts_deny_a_copy),
		cmocka_unit_test(count_denies_what_is_hardly_held),
		cmocka_unit_test(leak_is_no_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
