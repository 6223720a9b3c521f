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
#include "cli/gdb_dump.h"

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
			  "%gdb 13.1\n%argc 3\n%thread 2\n%refs 7\n%target\n"
			  /* a name with a newline in it */
			  "%arg -o\n%argc 9\n%refs 9\n%ref 1 0x10\n"
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
	assert_int_equal(context.refs.count, 0);
	ri_gdb_context_deinit(&context);
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static void registers_of_every_thread_are_read(void **state)
{
	struct ri_gdb_context context;
	const uint8_t *vector;

	(void)state;
	assert_null(parse("  - record-full (x)\n  - native (Native process)\n"
			  "  1    process 5      1 (native)   /bin/no \n"
			  "* 2    process 9265      1 (native)   /bin/a \n%registers\n"
			  "\nThread 2 (Thread 0x7ffff7dcf6c0 (LWP 9268) \"LWP 1 (process 2\"):\n"
			  " Name         Nr  Rel Offset    Size  Type            Raw value\n"
			  " rax           0    0      0       8 int64_t         0xfffffffffffffdfe\n"
			  " rsp           7    7     56       8 *1              0x00007ffff7dceeb0\n"
			  " st7          31   31    234      10 _i387_ext       0xffff0000000000005581\n"
			  " xmm1         41   41    292      16 vec128          "
			  "0x00000000000000020000000000000001\n"
			  " ymm1h        58   58    552      16 uint128_t       "
			  "0x00005581deadbeef0000000000000003\n"
			  " zmm31h       59   59    552      32 v4_int64        0x"
			  "0000000000000007000000000000000600000000000000050000000000000004\n"
			  " xmm32        41   41    292      16 vec128          0x01\n"
			  " ''           73   73    792       0 int0_t          \n"
			  " ymm1        208   53    964      32 _vec256i        <cooked>\n"
			  "\nThread 1 (process 9265):\n"
			  " r12          12   12     96       8 int64_t         0xffffffffffffff80\n"
			  " rsp           7    7     56       8 *1              <unavailable>\n"
			  "\nThread 3 (LWP 9270):\n%end\n",
			  &context));
	assert_int_equal(context.stratum, RI_GDB_NATIVE);
	assert_int_equal(context.pid, 9265);
	assert_int_equal(context.thread_count, 3);
	assert_int_equal(context.threads[0].tid, 9268);
	assert_true(context.threads[0].has_registers);
	assert_true(context.threads[0].registers[RI_REG_RAX] == (uint64_t)-514);
	assert_true(context.threads[0].registers[RI_REG_RSP] == 0x7ffff7dceeb0);
	vector = context.threads[0].vector;
	assert_true(word_at(vector + 64) == 1);
	assert_true(word_at(vector + 64 + 8) == 2);
	assert_true(word_at(vector + 64 + 16) == 3);
	assert_true(word_at(vector + 64 + 24) == 0x5581deadbeef);
	assert_true(word_at(vector + 31 * 64 + 32) == 4);
	assert_true(word_at(vector + 31 * 64 + 56) == 7);
	assert_true(word_at(vector + 32 * 64 + 7 * 16) == 0x5581);
	assert_int_equal(context.threads[0].vector_size_bytes, 32 * 64 + 8 * 16);
	assert_int_equal(context.threads[1].tid, 9265);
	assert_true(context.threads[1].registers[RI_REG_R12] == (uint64_t)-128);
	assert_false(context.threads[1].has_registers); /* without a stack pointer */
	assert_int_equal(context.threads[2].tid, 9270);
	ri_gdb_context_deinit(&context);
}

static void refs_in_arguments_get_their_values(void **state)
{
	static const char *const expected[] = { "show", "0x5581", "--object=0x77", "$ref2", "$ref4",
						"$ref", "x=$ref1", "$ref1x" };
	struct ri_gdb_context context;

	(void)state;
	assert_null(parse("%arg show\n%arg $ref1\n%arg --object=$ref3\n%arg $ref2\n%arg $ref4\n"
			  "%arg $ref\n%arg x=$ref1\n%arg $ref1x\n"
			  "%refs 3\n%ref 1 0x5581\n%ref 2 void\n%ref 3 0x77\n%end\n",
			  &context));
	ri_gdb_context_expand_refs(&context);
	assert_int_equal(context.arguments.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < context.arguments.count; i++)
		assert_string_equal(context.arguments.items[i], expected[i]);
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
	assert_null(strchr(answer, '\x1b'));
	assert_non_null(strstr(answer, "1\\ more\\ lines"));
	fclose(text);
	fclose(script);
}

static char *variables(const ri_gdb_ref_list *refs, unsigned stale_count, unsigned thread)
{
	FILE *script = tmpfile();
	char *answer = ri_calloc(1, 4096);

	assert_non_null(script);
	ri_gdb_answer_variables(script, 1, refs, stale_count, thread);
	rewind(script);
	assert_true(fread(answer, 1, 4095, script) > 0);
	fclose(script);
	return answer;
}

static void variables_are_set_and_stale_ones_cleared(void **state)
{
	char conn[] = "conn", bad[] = "x;shell", box[] = "ns::box<int>";
	ri_gdb_ref_list refs = { 0 };
	char *answer;

	(void)state;
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x5581, conn };
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x99, bad };
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x5582, box };
	*ri_push(&refs) = (struct ri_gdb_ref){ 0x5583, conn };
	answer = variables(&refs, 5, 4);
	assert_non_null(strstr(answer, "set $refcheck_status = 1\nset $refcheck_count = 0x4\n"));
	assert_non_null(strstr(answer, "set $refcheck_type1 = (void *) 0\n"));
	assert_non_null(strstr(answer,
			       "thread apply 4 -q -s -- set $refcheck_type1 = (struct conn *) 0\n"));
	assert_non_null(strstr(answer, "thread apply 4 -q -s -- with language c++ -- "
				       "set $refcheck_type2 = (ns::box<int> *) 0\n"));
	assert_null(strstr(answer, "struct ns"));
	assert_null(strstr(answer, "$refcheck_type3"));
	assert_non_null(strstr(answer, "set $ref1 = (typeof ($refcheck_type1)) 0x5581\n"));
	assert_non_null(strstr(answer, "set $ref2 = (void *) 0x99\n"));
	assert_non_null(strstr(answer, "set $ref3 = (typeof ($refcheck_type2)) 0x5582\n"));
	assert_non_null(strstr(answer, "set $ref4 = (typeof ($refcheck_type1)) 0x5583\n"));
	assert_non_null(strstr(answer, "set $ref5 = $refcheck_void\n"));
	assert_null(strstr(answer, "shell"));
	free(answer);
	answer = variables(&refs, 0, 0);
	assert_null(strstr(answer, "thread apply"));
	free(answer);
	ri_vec_deinit(&refs);
}

static void errors_are_survived_where_there_is_a_thread(void **state)
{
	char answer[256] = "";
	FILE *script = tmpfile();

	(void)state;
	ri_gdb_answer_try(script, 2, true, "a");
	ri_gdb_answer_try(script, 2, false, "b");
	ri_gdb_answer_try(script, 0, false, "c");
	rewind(script);
	assert_true(fread(answer, 1, sizeof(answer) - 1, script) > 0);
	assert_string_equal(answer, "thread apply 2 -q -s -- a\nthread apply 2 -q -c -- b\nc\n");
	fclose(script);
}

static void a_core_file_is_asked_for_and_taken(void **state)
{
	char base[] = "/tmp/refinspect-test-XXXXXX", first[] = "check", second[] = "--type=a b", *path,
	     *folder;
	struct ri_gdb_context asked = { 0 }, taken = { 0 };
	struct ri_error *error;
	struct stat status;
	FILE *core;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(base));
	*ri_push(&asked.arguments) = first;
	*ri_push(&asked.arguments) = second;
	assert_null(ri_gdb_dump_prepare(base, &asked, &path));
	folder = ri_strndup(path, (size_t)(strrchr(path, '/') - path));
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	core = fopen(path, "w");
	assert_non_null(core);
	fputs("core", core);
	fclose(core);
	assert_null(ri_gdb_dump_take(base, &taken, &fd));
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 4);
	assert_int_equal(status.st_nlink, 0);
	close(fd);
	assert_int_not_equal(access(folder, F_OK), 0);
	assert_int_equal(taken.arguments.count, 2);
	assert_string_equal(taken.arguments.items[1], "--type=a b");
	ri_gdb_context_deinit(&taken);
	free(path);
	free(folder);

	/* gdb wrote none */
	assert_null(ri_gdb_dump_prepare(base, &asked, &path));
	error = ri_gdb_dump_take(base, &taken, &fd);
	assert_non_null(error);
	assert_int_equal(error->code, RI_ERROR_NOT_FOUND);
	ri_error_destroy(error);
	ri_gdb_context_deinit(&taken);
	free(path);

	/* gdb never came back */
	assert_null(ri_gdb_dump_prepare(base, &asked, &path));
	ri_gdb_dump_discard(base);
	*strrchr(path, '/') = '\0';
	assert_int_not_equal(access(path, F_OK), 0);
	free(path);
	assert_int_equal(rmdir(base), 0);
	ri_vec_deinit(&asked.arguments);
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
		cmocka_unit_test(refs_in_arguments_get_their_values),
		cmocka_unit_test(text_that_is_cut_off_is_refused),
		cmocka_unit_test(hostile_text_is_shown_and_never_obeyed),
		cmocka_unit_test(variables_are_set_and_stale_ones_cleared),
		cmocka_unit_test(errors_are_survived_where_there_is_a_thread),
		cmocka_unit_test(a_core_file_is_asked_for_and_taken),
		cmocka_unit_test(only_a_private_directory_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
