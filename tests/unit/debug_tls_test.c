/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads have their thread-local variables, against what the threads of a
 * program say themselves: in the executable, a library that it is linked with, one
 * that it loads while its threads run, and in programs that are linked statically.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/modules.h"
#include "debug/tls.h"
#include "debug/types.h"
#include "debug_support.h"

static const char library_text[] =
	"struct slot { char pad[40]; long *p; };\n"
	"__thread long NAME(first) = 5; static __thread struct slot NAME(second);\n"
	"void NAME(tell)(void (*say)(const char *, void *));\n"
	"void NAME(tell)(void (*say)(const char *, void *)) {\n"
	"  NAME(second).p = &NAME(first);\n"
	"  say(TEXT(NAME(first)), &NAME(first)); say(TEXT(NAME(second)), &NAME(second)); }\n";

/* Threads 1 and 2 use the linked library, the main thread and thread 1 the loaded one. */
static const char program_text[] =
	"#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\n"
	"#include <stdint.h>\n#include <unistd.h>\n"
	"typedef void say_function(const char *, void *);\n"
	"struct wide { char pad[100]; long last; } __attribute__((aligned(64)));\n"
	"__thread long exe_first = 7; static __thread struct wide exe_wide;\n"
	"static pthread_barrier_t started, loaded, done; static void (*late_tell)(say_function *);\n"
	"void linked_tell(say_function *);\n"
	"static void say(const char *name, void *p) {\n"
	"  printf(\"tls|%s|%d|%lx\\n\", name, (int)gettid(), (unsigned long)p); }\n"
	"static void own(void) {\n"
	"  exe_wide.last = (long)&exe_first; say(\"exe_first\", &exe_first);\n"
	"  say(\"exe_wide\", &exe_wide); }\n"
	"static void *run(void *data) {\n"
	"  own();\n"
	"#ifndef ALONE\n"
	"  linked_tell(say);\n"
	"#endif\n"
	"  pthread_barrier_wait(&started); pthread_barrier_wait(&loaded);\n"
	"  if ((intptr_t)data == 1 && late_tell) late_tell(say);\n"
	"  pthread_barrier_wait(&done); for (;;) pause(); return data; }\n"
	"int main(void) {\n"
	"  pthread_t t; pthread_barrier_init(&started, 0, 3); pthread_barrier_init(&loaded, 0, 3);\n"
	"  pthread_barrier_init(&done, 0, 3);\n"
	"  for (intptr_t i = 1; i <= 2; i++) pthread_create(&t, 0, run, (void *)i);\n"
	"  own(); pthread_barrier_wait(&started);\n"
	"#ifndef ALONE\n"
	"  linked_tell(say);\n"
	"  void *late = dlopen(\"./liblate.so\", RTLD_NOW);\n"
	"  *(void **)&late_tell = dlsym(late, \"late_tell\"); late_tell(say);\n"
	"#endif\n"
	"  pthread_barrier_wait(&loaded); pthread_barrier_wait(&done);\n"
	"  puts(\"READY\"); fflush(stdout); for (;;) pause(); }\n";

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_gaps gaps;
};

static void open_modules(struct fixture *f)
{
	struct ri_modules_options options = { 0 };

	assert_null(ri_modules_create(f->target, &options, &f->gaps, &f->modules));
	f->types = ri_types_create(f->modules, &f->gaps);
}

static void close_modules(struct fixture *f)
{
	ri_types_destroy(f->types);
	ri_modules_destroy(f->modules);
}

static void set_up(struct fixture *f, const char *flags, bool is_alone)
{
	struct ri_target_live_options options = { 0 };
	const char *defines = "'-DTEXT(x)=TEXT_(x)' '-DTEXT_(x)=#x'";

	*f = (struct fixture){ 0 };
	ri_gaps_init(&f->gaps);
	scratch_init(&f->scratch);
	write_text(&f->scratch, "library.c", library_text);
	write_text(&f->scratch, "program.c", program_text);
	assert_int_equal(run(&f->scratch, "%s -g -fPIC -shared '-DNAME(x)=linked_##x' %s "
					  "-o liblinked.so library.c", compiler(), defines), 0);
	assert_int_equal(run(&f->scratch, "%s -g -fPIC -shared '-DNAME(x)=late_##x' %s "
					  "-o liblate.so library.c", compiler(), defines), 0);
	assert_int_equal(run(&f->scratch, "%s -g -pthread %s -o program program.c %s", compiler(),
			     flags, is_alone ? "" : "./liblinked.so -Wl,-rpath,'$ORIGIN'"), 0);
	assert_int_equal(chdir(f->scratch.dir), 0);
	process_start(&f->process, &f->scratch, "program");
	assert_null(ri_target_open_live(f->process.pid, &options, &f->gaps, &f->target));
	open_modules(f);
}

static void tear_down(struct fixture *f)
{
	close_modules(f);
	ri_target_close(f->target);
	ri_gaps_deinit(&f->gaps);
	process_end(&f->process);
	assert_int_equal(chdir("/"), 0);
	scratch_deinit(&f->scratch);
}

struct comparison {
	struct fixture *fixture;
	size_t found;
};

/* Every copy of the program's own variables was printed as it is. */
static bool compare_copy(const struct ri_variable *variable, void *data)
{
	struct comparison *comparison = data;
	const struct ri_target *target = comparison->fixture->target;
	char *line;

	if (strncmp(variable->name, "exe_", 4) && strncmp(variable->name, "linked_", 7) &&
	    strncmp(variable->name, "late_", 5))
		return true; /* libc has some too */
	assert_true(variable->thread < target->thread_count);
	line = ri_format("tls|%s|%d|%lx\n", variable->name,
			 (int)target->threads[variable->thread].tid,
			 (unsigned long)variable->addr);
	if (!strstr(comparison->fixture->process.truth, line))
		fail_msg("not printed: %s", line);
	free(line);
	comparison->found++;
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (const char *p = text; (p = strstr(p, "tls|")); p++)
		count++;
	return count;
}

static void assert_all_found(struct fixture *f, size_t expected)
{
	struct comparison comparison = { .fixture = f };

	ri_types_each_thread_variable(f->types, compare_copy, &comparison);
	assert_int_equal(count_lines(f->process.truth), expected);
	assert_int_equal(comparison.found, expected);
}

static void test_shared_libraries(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, "-ldl", false);
	/* 3 threads: two variables in the program, two linked; two of them loaded ones */
	assert_all_found(&f, 3 * 2 + 3 * 2 + 2 * 2);
	tear_down(&f);
}

static void test_static_programs(void **state)
{
	static const char *const flags[] = { "-DALONE -static", "-DALONE -static-pie -fPIE",
					     "-DALONE -no-pie", "-DALONE -O2" };
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		set_up(&f, flags[i], true);
		assert_all_found(&f, 3 * 2);
		tear_down(&f);
	}
}

/* Sorted, disjoint, each in a module and a thread, and found again one by one. */
static void test_blocks(void **state)
{
	const struct ri_tls_block *blocks;
	struct fixture f;
	uint64_t addr;
	size_t count;

	(void)state;
	set_up(&f, "-ldl", false);
	blocks = ri_tls_blocks(f.modules, &count);
	assert_true(count >= 8);
	for (size_t i = 0; i < count; i++) {
		assert_true(blocks[i].start < blocks[i].end);
		assert_true(!i || blocks[i - 1].end <= blocks[i].start);
		assert_true(ri_tls_find(f.modules, blocks[i].module, blocks[i].thread, 1, &addr));
		assert_int_equal(addr, blocks[i].start + 1);
		assert_false(ri_tls_find(f.modules, blocks[i].module, blocks[i].thread,
					 blocks[i].end - blocks[i].start, &addr));
	}
	assert_false(ri_tls_find(f.modules, UINT32_MAX, 0, 0, &addr));
	assert_false(ri_tls_find(f.modules, 0, UINT32_MAX, 0, &addr));
	tear_down(&f);
}

/* Writes into the copy that the image is. */
static void poke(struct ri_target *target, uint64_t addr, uint64_t value)
{
	uint8_t *p = (uint8_t *)ri_image_peek(target->image, addr, sizeof(value));

	assert_non_null(p);
	memcpy(p, &value, sizeof(value));
}

static bool has_copy(struct fixture *f, const char *name, size_t thread)
{
	struct ri_variable variable = { 0 };
	char *line = ri_format("tls|%s|%d|", name, (int)f->target->threads[thread].tid);
	const char *at = strstr(f->process.truth, line);
	const struct ri_tls_block *blocks;
	size_t count;

	assert_non_null(at);
	variable.addr = strtoull(at + strlen(line), NULL, 16);
	free(line);
	blocks = ri_tls_blocks(f->modules, &count);
	for (size_t i = 0; i < count; i++)
		if (blocks[i].thread == thread && variable.addr >= blocks[i].start &&
		    variable.addr < blocks[i].end)
			return true;
	return false;
}

/* A thread pointer that leads nowhere, and a vector that lies: the copy is unknown, and
 * that of the executable is not believed where the two sources differ. */
static void test_damaged_records(void **state)
{
	struct fixture f;
	uint64_t tp, dtv;

	(void)state;
	set_up(&f, "-ldl", false);
	assert_true(has_copy(&f, "exe_first", 1));
	assert_true(has_copy(&f, "late_first", 0));
	tp = f.target->threads[0].registers[RI_REG_FS_BASE];
	assert_true(ri_image_read_u64(f.target->image, tp + 8, &dtv));
	poke(f.target, dtv + 16, tp - 4096);        /* module 1, the executable */
	poke(f.target, dtv - 16, UINT64_MAX);       /* its length */
	poke(f.target, f.target->threads[1].registers[RI_REG_FS_BASE], 0);
	close_modules(&f);
	open_modules(&f);
	assert_false(has_copy(&f, "exe_first", 0));
	assert_true(has_copy(&f, "late_first", 0));
	assert_false(has_copy(&f, "exe_first", 1));
	assert_true(has_copy(&f, "exe_first", 2));
	poke(f.target, tp + 8, UINT64_MAX - 7);     /* the vector itself */
	close_modules(&f);
	open_modules(&f);
	assert_true(has_copy(&f, "exe_first", 0));
	assert_false(has_copy(&f, "late_first", 0));
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_libraries),
		cmocka_unit_test(test_static_programs),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_damaged_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
