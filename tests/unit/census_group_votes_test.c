/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which places are taken for heads of groups, and which are not, by what hangs on them. */
#include "whole_program.h"

/* Queues of jobs that a list alone leads to.  What each argument adds:
 *	sound      nothing
 *	few        two jobs in all
 *	mixed      every second node is in a struct of another kind
 *	alike      the nodes may be in structs of another kind as well, by size and place
 *	torn       a node of each queue does not lead back
 */
static const char source[] =
	"#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <unistd.h>\n"
	"struct list_head { struct list_head *next, *prev; };\n"
	"struct job { int refcount; struct list_head link; char text[40]; };\n"
	"struct note { long id; struct list_head link; char text[150]; };\n"
	"struct mark { int level; struct list_head link; char text[38]; };\n"
	"struct queue { int serial; struct list_head jobs; unsigned length; };\n"
	"struct queue queues[5];\n"
	"struct mark *marked;\n" /* else the struct is not described */
	"struct job *kept[40];\n"
	"static void add(struct list_head *n, struct list_head *h)\n"
	"{ n->next = h; n->prev = h->prev; h->prev->next = n; h->prev = n; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	int count = 0, few = !strcmp(argv[1], \"few\"), alike = !strcmp(argv[1], \"alike\");\n"
	"	for (int q = 0; q < 5; q++) {\n"
	"		struct list_head *h = &queues[q].jobs;\n"
	"		h->next = h->prev = h;\n"
	"		for (int i = 0; i < 3 + q && (!few || q == 1) && (!few || i < 2); i++) {\n"
	"			struct job *job = calloc(1, sizeof(*job));\n"
	"			job->refcount = alike ? 1 : 2;\n"
	"			if (!alike)\n"
	"				kept[count++] = job;\n"
	"			add(&job->link, h);\n"
	"			queues[q].length++;\n"
	"			if (!strcmp(argv[1], \"mixed\")) {\n"
	"				struct note *note = calloc(1, sizeof(*note));\n"
	"				add(&note->link, h);\n"
	"			}\n"
	"		}\n"
	"		if (!strcmp(argv[1], \"torn\"))\n"
	"			h->next->next->prev = h;\n"
	"	}\n"
	"	puts(\"READY\");\n"
	"	fflush(stdout);\n"
	"	for (;;)\n"
	"		pause();\n"
	"}\n";

/* What became of queue.jobs; null: nothing fits there. */
static const struct ri_inferred_group *find_jobs(const struct whole_program *p)
{
	const struct ri_inferred_groups *groups = p->analysis->groups;

	for (size_t i = 0; groups && i < groups->items.count; i++)
		if (groups->items.items[i].head_struct &&
		    !strcmp(groups->items.items[i].head_struct, "queue") &&
		    !strcmp(groups->items.items[i].head_member, "jobs"))
			return &groups->items.items[i];
	return NULL;
}

static size_t count_groups(const struct whole_program *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->analysis->population->group_count; i++)
		count += ri_group_is_inferred(
			&p->analysis->layout->groups
				 .items[p->analysis->population->groups[i].rule]);
	return count;
}

static void a_place_whose_nodes_are_elements_is_a_head(void **state)
{
	const struct ri_inferred_group *jobs;
	struct whole_program p;

	(void)state;
	whole_program_open(&p, source, "sound", NULL);
	jobs = find_jobs(&p);
	assert_non_null(jobs);
	assert_int_equal(jobs->state, RI_GROUP_ACCEPTED);
	assert_int_equal(jobs->kind, RI_LINK_LIST);
	assert_string_equal(jobs->element, "job");
	assert_string_equal(jobs->link, "link");
	assert_non_null(jobs->count);
	assert_string_equal(jobs->count, "length");
	assert_int_equal(jobs->heads, 5);
	assert_int_equal(jobs->nodes, 25);
	assert_int_equal(jobs->fitting, 25);
	assert_int_equal(count_groups(&p), 5);
	assert_int_equal(whole_program_count(&p, "broken-link"), 0);
	assert_int_equal(whole_program_count(&p, "count-mismatch"), 0);
	whole_program_close(&p);
}

static void expect_none(const char *what, enum ri_inferred_group_state expected)
{
	const struct ri_inferred_group *jobs;
	struct whole_program p;

	whole_program_open(&p, source, what, NULL);
	jobs = find_jobs(&p);
	assert_non_null(jobs);
	assert_int_equal(jobs->state, expected);
	assert_int_equal(count_groups(&p), 0);
	assert_int_equal(whole_program_count(&p, "foreign-member"), 0);
	assert_int_equal(whole_program_count(&p, "broken-link"), 0);
	if (expected == RI_GROUP_BROKEN)
		assert_true(whole_program_has_gap(&p, RI_GAP_MATTERS, "queue.jobs"));
	whole_program_close(&p);
}

static void few_nodes_make_no_group(void **state)
{
	(void)state;
	expect_none("few", RI_GROUP_TOO_FEW);
}

static void mixed_nodes_make_no_group(void **state)
{
	(void)state;
	expect_none("mixed", RI_GROUP_AMBIGUOUS);
}

static void nodes_that_may_be_something_else_make_no_group(void **state)
{
	(void)state;
	expect_none("alike", RI_GROUP_AMBIGUOUS);
}

static void nodes_that_do_not_lead_back_make_no_group(void **state)
{
	(void)state;
	expect_none("torn", RI_GROUP_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_whose_nodes_are_elements_is_a_head),
		cmocka_unit_test(few_nodes_make_no_group),
		cmocka_unit_test(mixed_nodes_make_no_group),
		cmocka_unit_test(nodes_that_may_be_something_else_make_no_group),
		cmocka_unit_test(nodes_that_do_not_lead_back_make_no_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
