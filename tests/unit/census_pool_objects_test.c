/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects at the places of pools that no typed pointer leads to: leaked ones are told from
 * free ones where the pool shows what free ones look like, and not where it does not.
 */
#include "whole_program.h"

#include "census/recognise.h"

#define LOST 3

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct item { const char *kind; int refs; int id; struct item *peer; void *data; };\n"
	"void *pages[8]; struct item *items[192]; void *free_items;\n"
	"static const char kind[] = \"item\";\n"
	"static struct item *take(int page, int i) {\n"
	"	struct item *it = (struct item *)((char *)pages[page] + 16) + i;\n"
	"	it->kind = kind; it->refs = 1; it->id = i; return it; }\n"
	"static void give(struct item *it, int refs) { it->refs = refs;\n"
	"	it->data = free_items; free_items = it; }\n"
	"static void __attribute__((noinline)) build(const char *what)\n"
	"{\n"
	"	for (int p = 0; p < 8; p++) {\n"
	"		pages[p] = calloc(1, 16 + 24 * sizeof(struct item));\n"
	"		for (int i = 0; i < 20; i++) items[p * 24 + i] = take(p, i);\n"
	"		for (int i = 0; i < 19; i++) { items[p * 24 + i]->peer = items[p * 24 + i + 1];\n"
	"			items[p * 24 + i + 1]->refs++; } }\n"
	"	if (!strcmp(what, \"full\")) return;\n"
	/* free ones: dead, or, where they kept their counts, in the chain all the same */
	"	for (int p = 0; p < 8; p++)\n"
	"		for (int i = 20; i < 22; i++)\n"
	"			give(take(p, i), strcmp(what, \"kept\") ? 0 : 1);\n"
	"	for (int p = 0; p < 3; p++) take(p, 23);\n"
	"	if (!strcmp(what, \"stray\")) give(take(4, 23), 1);\n"
	"}\n"
	"static void wipe(void) { volatile char area[65536]; for (size_t i = 0;\n"
	"	i < sizeof area; i++) area[i] = 0; }\n"
	"static char buffer[4096];\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argc; setvbuf(stdout, buffer, _IOFBF, sizeof buffer); build(argv[1]); wipe();\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

static const char profile[] = "version: 1\nname: pools\ntypes:\n"
			      "- { struct: item, counts: refs }\n";

/* How many objects are recognised in the program's first census. */
static size_t recognise(const char *what)
{
	struct whole_program p;
	ri_recognised_list list = { 0 };
	const struct ri_analysis *a;
	struct ri_recognise_input input;
	bool *wanted;
	size_t count;

	memset(&p, 0, sizeof(p));
	whole_program_open(&p, source, what, profile);
	a = p.analysis;
	input = (struct ri_recognise_input){ a->target->image, a->layout, a->heap,   a->population,
					     a->types,	       a->shapes, a->holders };
	wanted = ri_calloc(a->layout->types.count, sizeof(bool));
	memset(wanted, true, a->layout->types.count);
	ri_recognise(&input, wanted, &list);
	count = list.count;
	ri_vec_deinit(&list);
	free(wanted);
	whole_program_close(&p);
	return count;
}

static void lost_objects_are_told_from_dead_ones(void **state)
{
	(void)state;
	assert_int_equal(recognise("dead"), LOST);
	assert_int_equal(recognise("stray"), LOST);
}

static void where_free_ones_look_alive_nothing_is_told(void **state)
{
	(void)state;
	assert_int_equal(recognise("kept"), 0);
}

static void places_that_were_never_used_are_none(void **state)
{
	(void)state;
	assert_int_equal(recognise("full"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_objects_are_told_from_dead_ones),
		cmocka_unit_test(where_free_ones_look_alive_nothing_is_told),
		cmocka_unit_test(places_that_were_never_used_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
