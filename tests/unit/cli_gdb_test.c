/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What gdb tells us, parsed; what we answer, escaped. */
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

#include "cli/gdb_answer.h"
#include "cli/gdb_context.h"

static FILE *text_stream(const char *text)
{
	FILE *stream = tmpfile();

	assert_non_null(stream);
	fputs(text, stream);
	rewind(stream);
	return stream;
}

static struct ri_error *parse(const char *text, struct ri_gdb_context *context)
{
	FILE *stream = text_stream(text);
	struct ri_error *error = ri_gdb_context_read(stream, context);

	fclose(stream);
	return error;
}

static void a_core_session_is_understood(void **state)
{
	struct ri_gdb_context context;

	(void)state;
	assert_null(parse("%arg 'two words'\n%arg --type\n%arg \"conn\"\n"
			  "%gdb 13.1\n%argc 3\n%thread 2\n%refs 7\n"
			  "The current target stack is:\n  - multi-thread (threads)\n"
			  "  - core (Local core dump file)\n  - exec (Local exec file)\n"
			  "  Num  Description       Connection           Executable        \n"
			  "* 1    process 9265      1 (core)             /tmp/a b/prog \n"
			  "Local core dump file:\n\t`/tmp/a 'b', file type/core.1', file type elf64-x86-64.\n"
			  "\t0x1000 - 0x2000 is load1\n"
			  "Local exec file:\n\t`/tmp/a b/prog', file type elf64-x86-64.\n"
			  "The current system root is \"target:\".\n"
			  "The directory where separate debug symbols are searched for is "
			  "\"/usr/lib/debug:/opt/debug\".\n%registers\n%end\n",
			  &context));
	assert_int_equal(context.stratum, RI_GDB_CORE);
	assert_string_equal(context.core_path, "/tmp/a 'b', file type/core.1");
	assert_string_equal(context.exe_path, "/tmp/a b/prog");
	assert_null(context.sysroot);
	assert_string_equal(context.debug_dirs.items[1], "/opt/debug");
	assert_int_equal(context.arguments.count, 3);
	assert_string_equal(context.arguments.items[0], "two words");
	assert_string_equal(context.arguments.items[2], "conn");
	assert_int_equal(context.argument_count, 3);
	assert_int_equal(context.thread, 2);
	assert_int_equal(context.ref_count, 7);
	ri_gdb_context_deinit(&context);
}

static void registers_of_every_thread_are_read(void **state)
{
	struct ri_gdb_context context;
	uint64_t lane;

	(void)state;
	assert_null(parse("  - record-full (x)\n  - native (Native process)\n"
			  "  1    process 5      1 (native)   /bin/no \n"
			  "* 2    process 9265      1 (native)   /bin/a \n%registers\n"
			  "\nThread 2 (Thread 0x7ffff7dcf6c0 (LWP 9268) \"name\"):\n"
			  "rax            0xfffffffffffffdfe  -514\nrsp            0x7ffff7dceeb0      0x7ffff7dceeb0\n"
			  "\nThread 1 (process 9265):\nr12            0xffffffffffffff80  -128\n"
			  "\nThread 2 (Thread 0x7ffff7dcf6c0 (LWP 9268) \"name\"):\n"
			  "ymm1           {v8_float = {0x0}, v4_int64 = {0x1, 0x5581deadbeef, 0x0, 0x3}, "
			  "v2_int128 = {0x0, 0x0}}\n%end\n",
			  &context));
	assert_int_equal(context.stratum, RI_GDB_NATIVE);
	assert_int_equal(context.pid, 9265);
	assert_int_equal(context.thread_count, 2);
	assert_int_equal(context.threads[0].tid, 9268);
	assert_true(context.threads[0].registers[RI_REG_RAX] == (uint64_t)-514);
	assert_true(context.threads[0].registers[RI_REG_RSP] == 0x7ffff7dceeb0);
	assert_true(context.threads[1].registers[RI_REG_R12] == (uint64_t)-128);
	memcpy(&lane, context.threads[0].vector + 32 + 8, sizeof(lane));
	assert_true(lane == 0x5581deadbeef);
	ri_gdb_context_deinit(&context);
}

static void text_that_is_cut_off_is_refused(void **state)
{
	struct ri_gdb_context context;
	struct ri_error *error = parse("%arg check\n%argc 1\n  - core (x)\n", &context);

	(void)state;
	assert_non_null(error);
	ri_error_destroy(error);
}

static void hostile_text_is_shown_and_never_obeyed(void **state)
{
	FILE *text = text_stream("a\\b\x1b[31m 'c'\tz\nsecond\nthird\n"), *script = tmpfile();
	char answer[512] = "";

	(void)state;
	ri_gdb_answer_echo(script, text, 2);
	rewind(script);
	assert_true(fread(answer, 1, sizeof(answer) - 1, script) > 0);
	assert_non_null(strstr(answer, "echo a\\\\b\\\\x1b[31m\\ \\'c\\'\\tz\\n\n"));
	assert_non_null(strstr(answer, "echo second\\n\n"));
	assert_null(strstr(answer, "third"));
	assert_non_null(strstr(answer, "1\\ more\\ lines"));
	fclose(text);
	fclose(script);
}

static void variables_are_set_and_stale_ones_cleared(void **state)
{
	ri_gdb_ref_list refs = { 0 };
	char answer[1024] = "", type[] = "conn", bad[] = "x;shell";
	FILE *script = tmpfile();

	(void)state;
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x5581, type };
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x99, bad };
	ri_gdb_answer_variables(script, 1, &refs, 3, 4);
	rewind(script);
	assert_true(fread(answer, 1, sizeof(answer) - 1, script) > 0);
	assert_non_null(strstr(answer, "set $refcheck_status = 1\n"));
	assert_non_null(strstr(answer, "thread apply 4 -q -s -- set $ref1 = (struct conn *) 0x5581\n"));
	assert_non_null(strstr(answer, "set $ref2 = (void *) 0x99\n"));
	assert_non_null(strstr(answer, "set $ref3 = $refcheck_void\n"));
	assert_null(strstr(answer, "shell"));
	ri_vec_deinit(&refs);
	fclose(script);
}

static void only_a_private_directory_is_used(void **state)
{
	char base[] = "/tmp/refinspect-test-XXXXXX", *path = NULL, *again = NULL, *link;
	struct ri_error *error;

	(void)state;
	assert_non_null(mkdtemp(base));
	assert_null(ri_gdb_answer_directory(base, 42, &path));
	assert_null(ri_gdb_answer_directory(base, 42, &again));
	assert_string_equal(path, again);
	assert_int_equal(chmod(path, 0755), 0);
	error = ri_gdb_answer_directory(base, 42, &again);
	assert_non_null(error);
	ri_error_destroy(error);
	link = ri_format("%s/refcheck-43", base);
	assert_int_equal(symlink(path, link), 0);
	error = ri_gdb_answer_directory(base, 43, &again);
	assert_non_null(error);
	ri_error_destroy(error);
	unlink(link);
	rmdir(path);
	rmdir(base);
	free(link);
	free(path);
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_core_session_is_understood),
		cmocka_unit_test(registers_of_every_thread_are_read),
		cmocka_unit_test(text_that_is_cut_off_is_refused),
		cmocka_unit_test(hostile_text_is_shown_and_never_obeyed),
		cmocka_unit_test(variables_are_set_and_stale_ones_cleared),
		cmocka_unit_test(only_a_private_directory_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
