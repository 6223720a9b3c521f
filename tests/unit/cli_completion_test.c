/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a word at the prompt may become, by its place on the line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cli/completion.h"

static char session[] = "session", session_key[] = "session_key", conn[] = "conn";
static char all_conns[] = "all_conns", all_sessions[] = "all_sessions";
static char *types[] = { session, session_key, conn, NULL };
static char *groups[] = { all_conns, all_sessions, NULL };

/* The candidates, blanks between them; owned by the caller. */
static char *find(const char *before, const char *word)
{
	const struct ri_completion_names names = { types, groups };
	char **found = ri_completion_find(&names, before, word), *text = ri_strdup("");

	for (size_t i = 0; found[i]; i++) {
		char *longer = ri_format("%s%s%s", text, *text ? " " : "", found[i]);

		free(text);
		free(found[i]);
		text = longer;
	}
	free(found);
	return text;
}

static void the_place_decides(void **state)
{
	static const struct {
		const char *before, *word, *found;
	} cases[] = {
		{ "", "t", "types" },
		{ " ", "group", "groups group" },
		{ "", "q", "quit" },
		{ "", "gdb", "" },
		{ "", "se", "" },
		{ "", "-", "" },
		{ "types ", "se", "session session_key" },
		{ "objects -v ", "c", "conn" },
		{ "objects ", "all", "" },
		{ "group ", "all", "all_conns all_sessions" },
		{ "group ", "se", "" },
		{ "groups ", "all", "" },
		{ "help ", "bad-c", "bad-count" },
		{ "help ", "cyc", "cycles cycle" },
		{ "help ", "code", "codes" },
		{ "check ", "", "" },
		{ "check ", "--ty", "--type=" },
		{ "check ", "--ver", "--verbose" },
		{ "check ", "--pid", "" },
		{ "check ", "--type=se", "--type=session --type=session_key" },
		{ "check ", "--group=all_s", "--group=all_sessions" },
		{ "check ", "--code=two", "--code=two-groups" },
		{ "check ", "--format=", "--format=text --format=json" },
		{ "check ", "--limit=", "" },
		{ "check --type ", "c", "conn" },
		{ "check --group ", "all_c", "all_conns" },
		{ "types --limit ", "se", "" },
		{ "types --verbose ", "con", "conn" },
		{ "types 'open ", "se", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *found = find(cases[i].before, cases[i].word);

		if (strcmp(found, cases[i].found))
			print_error("case %zu: \"%s%s\"\n", i, cases[i].before, cases[i].word);
		assert_string_equal(found, cases[i].found);
		free(found);
	}
}

static void without_names_there_is_nothing(void **state)
{
	const struct ri_completion_names names = { NULL, NULL };
	char **found = ri_completion_find(&names, "types ", "");

	(void)state;
	assert_null(found[0]);
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_decides),
		cmocka_unit_test(without_names_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
