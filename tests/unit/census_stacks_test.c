/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies on stacks, by the names that reports give it. */
#include "whole_program.h"

#include "census/describe.h"
#include "check/evidence.h"

static const char profile_text[] = "version: 1\nname: stacks\ntypes:\n"
				   "  - struct: item\n    counts: [refs]\n";

static const char prelude[] =
	"#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n"
	"#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct item { long id; int refs; char pad[60]; };\n"
	"struct item *kept[2];\n"
	"#define NOINLINE __attribute__((noinline, noclone))\n"
	"static struct item *make(void) { struct item *i = calloc(1, sizeof(*i)); i->refs = 2;\n"
	"  i->id = 7; return i; }\n"
	"NOINLINE static void stand(void) { puts(\"READY\"); fflush(stdout); for (;;) pause(); }\n";

static const char local_text[] =
	"NOINLINE static int serve(struct item *volatile item) { stand(); return item->refs; }\n"
	"NOINLINE static void *run(void *data) { serve(data); return data; }\n"
	"int main(void) { pthread_t t; kept[0] = make(); pthread_create(&t, 0, run, kept[0]);\n"
	"  for (;;) pause(); }\n";

static const char starts_profile_text[] =
	"version: 1\nname: starts\ntypes:\n  - struct: user\n    counts: [refs]\n"
	"  - struct: job\n    counts: [refs]\n";

/* `good` is a job; the others' blocks are as large and look like none: a bad pointer, a
 * pointer to what is no user, no pointer, a dead count, a block that something else is
 * known to be, and one that was freed. */
static const char starts_text[] =
	"struct user { long id; int refs; char pad[20]; };\n"
	"struct job { long id; int refs; struct user *user; char pad[40]; };\n"
	"struct other { long id; int refs; void *data; char pad[40]; };\n"
	"struct user *users[1]; struct other *others[1];\n"
	"static struct job *job(struct user *user, int refs) { struct job *j = calloc(1, sizeof(*j));\n"
	"  j->refs = refs; j->user = user; j->id = 3; return j; }\n"
	"NOINLINE static long serve(void) { struct job *volatile good = job(users[0], 2);\n"
	"  struct job *volatile bad = job((struct user *)0x1230, 2);\n"
	"  struct job *volatile stray = job(calloc(1, 40), 2);\n"
	"  struct job *volatile empty = job(NULL, 2), *volatile dead = job(users[0], 0);\n"
	"  struct job *volatile known = job(users[0], 2), *volatile gone = job(users[0], 2);\n"
	"  others[0] = (struct other *)known; free(gone); stand();\n"
	"  return good->id + bad->id + stray->id + empty->id + dead->id + gone->id; }\n"
	"int main(void) { users[0] = calloc(1, sizeof(struct user)); users[0]->refs = 1;\n"
	"  return (int)serve(); }\n";

/* Starts the program and analyses it. */
static void set_up_with(struct whole_program *p, const char *text, const char *profile)
{
	char *program = ri_format("%s%s", prelude, text);

	whole_program_open(p, program, "nothing", profile);
	free(program);
}

static void set_up(struct whole_program *p, const char *text)
{
	set_up_with(p, text, profile_text);
}

/* A holder of object 0 whose description has `part`. */
static bool is_described(const struct ri_analysis *analysis, const char *part)
{
	const struct ri_describer describer = ri_analysis_describer(analysis);
	const struct ri_holders *h = analysis->holders;
	bool is_found = false;

	for (uint64_t i = h->in_first[0]; i < h->in_first[1]; i++) {
		char *text = ri_describe_edge(&describer, h->in_edges[i]);

		is_found |= strstr(text, part) != NULL;
		free(text);
	}
	return is_found;
}

static void test_frames_have_names(void **state)
{
	struct whole_program p;

	(void)state;
	set_up(&p, local_text);
	assert_int_equal(p.analysis->population->object_count, 1);
	assert_true(is_described(p.analysis, " serve, local item, at 0x"));
	assert_true(is_described(p.analysis, " run, local data, at 0x"));
	assert_true(is_described(p.analysis, ", frame "));
	assert_false(is_described(p.analysis, " main, at 0x"));
	whole_program_close(&p);
}

static void test_local_starts(void **state)
{
	const struct ri_population *population;
	struct whole_program p;
	size_t jobs = 0;

	(void)state;
	set_up_with(&p, starts_text, starts_profile_text);
	population = p.analysis->population;
	for (size_t o = 0; o < population->object_count; o++)
		if (!strcmp(population->types[population->objects[o].type].name, "job")) {
			assert_int_equal(population->objects[o].found, RI_FOUND_POINTER);
			jobs++;
		}
	assert_int_equal(jobs, 1);
	assert_int_equal(population->object_count, 2);
	whole_program_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_starts),
		cmocka_unit_test(test_frames_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
