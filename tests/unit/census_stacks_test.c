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

/* Starts the program and analyses it. */
static void set_up(struct whole_program *p, const char *text)
{
	char *program = ri_format("%s%s", prelude, text);

	whole_program_open(p, program, "nothing", profile_text);
	free(program);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
