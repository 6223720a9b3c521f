/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lost objects of types without magic: told by their content where it is evident, told as
 * a doubt where it is not, and left alone where it rules the type out.
 */
#include "whole_program.h"

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct list { struct list *next, *prev; };\n"
	"struct node { int refs; int id; struct node *peer, *parent; struct list link;\n"
	"	struct list more; };\n"
	"struct note { int refs; int kind; char text[200]; };\n"
	"struct pair { int refs; struct node *a, *b, *c; };\n"
	"struct twin { int total; struct node *a, *b, *c; };\n"
	"struct rare { long refs; char text[600]; };\n"
	"struct node *root; struct note *first; struct pair *kept; struct twin *other;\n"
	"void *anything;\n"
	"static void empty(struct list *l) { l->next = l->prev = l; }\n"
	"static struct node *new_node(void) { struct node *n = calloc(1, sizeof *n);\n"
	"	n->refs = 1; empty(&n->link); empty(&n->more); return n; }\n"
	"static void __attribute__((noinline)) build(const char *what)\n"
	"{\n"
	"	root = new_node(); first = calloc(1, sizeof *first); first->refs = 1;\n"
	"	kept = calloc(1, sizeof *kept); kept->refs = 1;\n"
	"	other = calloc(1, sizeof *other);\n"
	"	if (!strcmp(what, \"chain\")) {\n"
	"		struct node *n = new_node(); n->parent = root; root->refs++;\n"
	"		n->peer = new_node();\n"
	"	} else if (!strcmp(what, \"cycle\")) {\n"
	"		struct node *a = new_node(), *b = new_node(); a->peer = b; b->peer = a;\n"
	"	} else if (!strcmp(what, \"note\")) {\n"
	"		struct note *n = calloc(1, sizeof *n); n->refs = 1;\n"
	"	} else if (!strcmp(what, \"dead\")) {\n"
	"		struct note *n = calloc(1, sizeof *n); n->kind = 7;\n"
	"	} else if (!strcmp(what, \"wild\")) {\n"
	"		struct node *n = new_node(); n->parent = (void *)0x1234567;\n"
	"	} else if (!strcmp(what, \"rival\")) {\n"
	"		struct twin *t = calloc(1, sizeof *t); t->total = 1;\n"
	"		t->a = t->b = root; root->refs += 0;\n"
	"	} else if (!strcmp(what, \"hidden\")) {\n"
	"		struct rare *r = calloc(1, sizeof *r); r->refs = 1; anything = r;\n"
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

static const char profile[] = "version: 1\n"
			      "name: lost\n"
			      "types:\n"
			      "- { struct: node, counts: refs }\n"
			      "- { struct: note, counts: refs }\n"
			      "- { struct: pair, counts: refs }\n"
			      "- { struct: rare, counts: refs }\n";

static void sound_program_is_clean(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "nothing", profile);
	assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_CLEAN);
	assert_true(whole_program_has_gap(&p, RI_GAP_TOLD, "type rare"));
	whole_program_close(&p);
}

static void evident_objects_are_leaks(void **state)
{
	struct whole_program p;
	const struct ri_population *population;
	size_t by_content = 0;

	(void)state;
	whole_program_open(&p, source, "chain", profile);
	assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_FINDINGS);
	assert_int_equal(p.analysis->findings->count, 1);
	assert_int_equal(whole_program_count(&p, "unreachable"), 1);
	population = p.analysis->population;
	for (size_t i = 0; i < population->object_count; i++)
		by_content += population->objects[i].found == RI_FOUND_CONTENT;
	assert_true(by_content >= 1);
	assert_int_equal(p.analysis->lost->doubts.count, 0);
	whole_program_close(&p);
	whole_program_open(&p, source, "cycle", profile);
	assert_int_equal(p.analysis->findings->count, 1);
	assert_int_equal(whole_program_count(&p, "cycle"), 1);
	whole_program_close(&p);
}

static void what_cannot_be_told_is_a_doubt(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "note", profile);
	assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_UNCHECKED);
	assert_true(whole_program_has_gap(&p, RI_GAP_MATTERS,
					  "1 lost block (216 bytes) may be an object of type note"));
	whole_program_close(&p);
	/* a plain struct explains the content as well */
	whole_program_open(&p, source, "rival", profile);
	assert_int_equal(p.analysis->findings->count, 0);
	assert_true(whole_program_has_gap(&p, RI_GAP_MATTERS, "of type pair"));
	whole_program_close(&p);
}

static void content_rules_a_type_out(void **state)
{
	static const char *const cases[] = { "dead", "wild" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct whole_program p;

		whole_program_open(&p, source, cases[i], profile);
		assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_CLEAN);
		assert_int_equal(p.analysis->graph->plain_leak_count, 1);
		whole_program_close(&p);
	}
}

static void named_type_without_objects_is_a_doubt_where_blocks_fit(void **state)
{
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "hidden", profile);
	assert_int_equal(ri_analysis_verdict(p.analysis), RI_VERDICT_UNCHECKED);
	assert_true(whole_program_has_gap(&p, RI_GAP_MATTERS, "no object of type rare was found"));
	whole_program_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_program_is_clean),
		cmocka_unit_test(evident_objects_are_leaks),
		cmocka_unit_test(what_cannot_be_told_is_a_doubt),
		cmocka_unit_test(content_rules_a_type_out),
		cmocka_unit_test(named_type_without_objects_is_a_doubt_where_blocks_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
