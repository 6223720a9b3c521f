/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of checks against what explains it: every row has all it needs, `help CODE`
 * prints it.  (report_test compares docs/findings.md; the manual page is made from it.)
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "check/check.h"

/* Every run of white space becomes one blank, in place. */
static void fold_space(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		if (!isspace((unsigned char)*in))
			*out++ = *in;
		else if (out > text && out[-1] != ' ')
			*out++ = ' ';
	}
	while (out > text && out[-1] == ' ')
		out--;
	*out = '\0';
}

static char *folded(const char *text)
{
	char *copy = ri_strdup(text);

	fold_space(copy);
	return copy;
}

static void test_rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; ri_checks[i]; i++) {
		const struct ri_check *check = ri_checks[i];

		assert_non_null(check->run);
		assert_true(*check->summary && *check->help);
		assert_ptr_equal(ri_check_find(check->code), check);
		assert_int_equal(ri_check_order(check), i);
		assert_int_equal(strspn(check->code, "abcdefghijklmnopqrstuvwxyz-"),
				 strlen(check->code));
	}
}

static void test_help_explains_each(void **state)
{
	(void)state;
	for (size_t i = 0; ri_checks[i]; i++) {
		char *words[] = { (char *)ri_checks[i]->code, NULL };
		char *text = NULL, *help = folded(ri_checks[i]->help), *title;
		size_t size;
		struct ri_command_context context = { .out = open_memstream(&text, &size) };
		int status = 0;

		assert_null(ri_command_help.run(&context, 1, words, &status));
		fclose(context.out);
		assert_int_equal(status, 0);
		fold_space(text);
		title = ri_format("%s: %s", ri_checks[i]->code, ri_checks[i]->summary);
		if (!strstr(text, title) || !strstr(text, help))
			fail_msg("help %s says: %s", ri_checks[i]->code, text);
		free(title);
		free(text);
		free(help);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_whole),
		cmocka_unit_test(test_help_explains_each),
	};

	return cmocka_run_group_tests_name("the table of checks", tests, NULL, NULL);
}
