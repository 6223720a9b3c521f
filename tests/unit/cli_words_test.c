/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitting lines into words, and running work in a supervised child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cli/supervisor.h"
#include "cli/words.h"

static void assert_words(const char *line, const char *const *expected)
{
	char **words;
	int count, i;

	assert_null(ri_words_split(line, &count, &words));
	for (i = 0; expected[i]; i++) {
		assert_true(i < count);
		assert_string_equal(words[i], expected[i]);
	}
	assert_int_equal(count, i);
	assert_null(words[count]);
	ri_words_destroy(words);
}

static void words_are_split_like_a_shell(void **state)
{
	(void)state;
	assert_words("", (const char *[]){ NULL });
	assert_words("  \t ", (const char *[]){ NULL });
	assert_words("holders 0x10", (const char *[]){ "holders", "0x10", NULL });
	assert_words(" a  'b c' \"d \\\" e\" f\\ g ",
		     (const char *[]){ "a", "b c", "d \" e", "f g", NULL });
	assert_words("x'y'z ''", (const char *[]){ "xyz", "", NULL });
	assert_words("* $HOME ; | `ls`", (const char *[]){ "*", "$HOME", ";", "|", "`ls`", NULL });
}

static void an_open_quote_is_an_error(void **state)
{
	char **words = NULL;
	int count;
	struct ri_error *error = ri_words_split("a 'b", &count, &words);

	(void)state;
	assert_non_null(error);
	assert_int_equal(error->code, RI_ERROR_USAGE);
	ri_error_destroy(error);
}

static int print_and_return(FILE *out, void *data)
{
	fputs("one line\n", out);
	return *(const int *)data;
}

static int print_and_abort(FILE *out, void *data)
{
	(void)data;
	fputs("half a report\n", out);
	fflush(out);
	abort();
}

static int sleep_long(FILE *out, void *data)
{
	(void)out;
	(void)data;
	sleep(60);
	return 0;
}

static void output_and_status_of_a_child_arrive(void **state)
{
	int wanted = 3, status = -1, output = -1;
	char text[32] = "";

	(void)state;
	assert_null(ri_supervise(print_and_return, &wanted, NULL, &status, &output));
	assert_int_equal(status, 3);
	assert_int_equal(read(output, text, sizeof(text)), 9);
	assert_string_equal(text, "one line\n");
	close(output);
}

static void a_child_that_dies_is_one_error(void **state)
{
	int status, output = -1;
	struct ri_error *error = ri_supervise(print_and_abort, NULL, NULL, &status, &output);

	(void)state;
	assert_non_null(error);
	assert_non_null(strstr(error->message, "signal 6"));
	assert_int_equal(output, -1);
	ri_error_destroy(error);
}

static int exit_by_itself(FILE *out, void *data)
{
	fputs("half a report\n", out);
	exit(*(const int *)data);
}

/* As libdw does where it has no memory, with the status of "findings". */
static void a_child_that_exits_by_itself_has_no_report(void **state)
{
	const struct ri_supervision rules = { .may_exit = true };
	int output = -1, code = 1, status = -1;
	struct ri_error *error = ri_supervise(exit_by_itself, &code, NULL, &status, &output);

	(void)state;
	assert_non_null(error);
	assert_non_null(strstr(error->message, "status 1"));
	assert_int_equal(output, -1);
	ri_error_destroy(error);
	code = 0;
	error = ri_supervise(exit_by_itself, &code, NULL, &status, &output);
	assert_non_null(error);
	ri_error_destroy(error);
	assert_null(ri_supervise(exit_by_itself, &code, &rules, &status, &output));
	assert_int_equal(status, 0);
	close(output);
	code = 2;
	assert_null(ri_supervise(exit_by_itself, &code, NULL, &status, &output));
	assert_int_equal(status, 2);
	close(output);
}

static void a_child_that_is_late_is_ended(void **state)
{
	const struct ri_supervision rules = { .time_limit_seconds = 1 };
	int status, output = -1;
	struct ri_error *error = ri_supervise(sleep_long, NULL, &rules, &status, &output);

	(void)state;
	assert_non_null(error);
	assert_non_null(strstr(error->message, "1 second"));
	ri_error_destroy(error);
}

static void a_full_disk_is_an_error(void **state)
{
	int wanted = 0, status, output = -1;
	struct ri_error *error;

	(void)state;
	assert_null(ri_supervise(print_and_return, &wanted, NULL, &status, &output));
	error = ri_publish(output, "/dev/full");
	assert_non_null(error);
	ri_error_destroy(error);
	close(output);
}

static void a_regular_file_is_replaced_whole(void **state)
{
	char folder[] = "/tmp/refinspect-test-XXXXXX", text[32] = "";
	int wanted = 0, status, output = -1;
	struct stat before, after;
	FILE *file;
	char *path;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = ri_format("%s/report", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("an older and longer report\n", file);
	fclose(file);
	assert_int_equal(stat(path, &before), 0);
	assert_null(ri_supervise(print_and_return, &wanted, NULL, &status, &output));
	assert_null(ri_publish(output, path));
	close(output);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	file = fopen(path, "r");
	assert_int_equal(fread(text, 1, sizeof(text), file), 9);
	fclose(file);
	assert_string_equal(text, "one line\n");
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* no temporary file is left beside it */
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_split_like_a_shell),
		cmocka_unit_test(an_open_quote_is_an_error),
		cmocka_unit_test(output_and_status_of_a_child_arrive),
		cmocka_unit_test(a_child_that_dies_is_one_error),
		cmocka_unit_test(a_child_that_exits_by_itself_has_no_report),
		cmocka_unit_test(a_child_that_is_late_is_ended),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_regular_file_is_replaced_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
