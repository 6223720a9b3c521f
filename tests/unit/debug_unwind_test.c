/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames against what the functions of a program say of themselves: their names, where
 * their frames end (the canonical frame address), signal handlers on a stack of their
 * own, and call frame information that lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/modules.h"
#include "debug/unwind.h"
#include "debug_support.h"

static const char prelude[] =
	"#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n"
	"#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	"#define NOINLINE __attribute__((noinline, noclone))\n"
	"#define TELL(name) printf(\"frame|%s|%lx\\n\", name, (long)__builtin_dwarf_cfa())\n"
	"void stand(void); int outer(int n);\n"
	"NOINLINE void stand(void) { TELL(\"stand\"); puts(\"READY\"); fflush(stdout);\n"
	"  for (;;) pause(); }\n";

static const char plain_text[] =
	"NOINLINE int deep(int n); NOINLINE int deep(int n) { char area[64];\n"
	"  TELL(\"deep\"); memset(area, n, sizeof(area));\n"
	"  if (n) return deep(n - 1) + area[n]; stand(); return area[0]; }\n"
	"NOINLINE int outer(int n) { TELL(\"outer\"); return deep(n) + 1; }\n"
	"static void *run(void *data) { pause(); return data; }\n"
	"int main(void) { pthread_t t; pthread_create(&t, 0, run, 0);\n"
	"  TELL(\"main\"); return outer(3) + 1; }\n";

static const char signal_text[] =
	"static void handle(int number) { TELL(\"handle\"); if (number) stand(); }\n"
	"NOINLINE int outer(int n) { TELL(\"outer\"); return raise(SIGUSR1) + n; }\n"
	"int main(void) { static char area[65536];\n"
	"  struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };\n"
	"  stack_t other = { .ss_sp = area, .ss_size = sizeof(area) };\n"
	"  sigaltstack(&other, 0); sigaction(SIGUSR1, &action, 0);\n"
	"  TELL(\"main\"); return outer(3) + 1; }\n";

/* `liar` says that its caller is itself, with the stack pointer `GROWTH` bytes up. */
static const char liar_text[] =
	"__asm__(\".globl liar\\n.type liar, @function\\nliar: .cfi_startproc\\n\"\n"
	"  \".cfi_def_cfa %rsp, \" GROWTH \"\\n.cfi_same_value %rip\\n\"\n"
	"  \"call stand\\nnop\\n.cfi_endproc\\n.size liar, . - liar\\n\");\n"
	"int liar(void);\n"
	"NOINLINE int outer(int n) { TELL(\"outer\"); return liar() + n; }\n"
	"int main(void) { TELL(\"main\"); return outer(3) + 1; }\n";

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_unwind *unwind;
	struct ri_gaps gaps;
};

static void set_up(struct fixture *f, const char *text, const char *flags)
{
	struct ri_modules_options options = { 0 };
	struct ri_target_live_options live = { 0 };
	char *program = ri_format("%s%s", prelude, text);

	*f = (struct fixture){ 0 };
	ri_gaps_init(&f->gaps);
	scratch_init(&f->scratch);
	write_text(&f->scratch, "program.c", program);
	free(program);
	assert_int_equal(run(&f->scratch, "%s -pthread %s -o program program.c", compiler(),
			     flags), 0);
	process_start(&f->process, &f->scratch, "program");
	usleep(100000); /* READY was printed before the last call */
	assert_null(ri_target_open_live(f->process.pid, &live, &f->gaps, &f->target));
	assert_null(ri_modules_create(f->target, &options, &f->gaps, &f->modules));
	f->unwind = ri_unwind_create(f->modules, &f->gaps);
}

static void tear_down(struct fixture *f)
{
	ri_unwind_destroy(f->unwind);
	ri_modules_destroy(f->modules);
	ri_target_close(f->target);
	ri_gaps_deinit(&f->gaps);
	process_end(&f->process);
	scratch_deinit(&f->scratch);
}

/* The functions that the program told about are on the stack of its first thread in the
 * same order, their frames end where they said, and each is found by its addresses. */
static void assert_frames(struct fixture *f)
{
	const char *line = f->process.truth;
	const struct ri_frame *frames;
	size_t count, next;

	frames = ri_unwind_frames(f->unwind, 0, &count);
	next = count;
	for (; (line = strstr(line, "frame|")); line++) {
		char name[32];
		unsigned long cfa;
		const struct ri_frame *frame = NULL;

		assert_int_equal(sscanf(line, "frame|%31[^|]|%lx", name, &cfa), 2);
		while (!frame && next--) {
			const char *function = ri_unwind_function(f->unwind, &frames[next]);

			if (function && !strcmp(function, name))
				frame = &frames[next];
		}
		if (!frame)
			fail_msg("%s is on no frame", name);
		assert_int_equal(frame->cfa, cfa);
		assert_int_equal(frame->depth, next);
		assert_ptr_equal(ri_unwind_find(f->unwind, frame->sp), frame);
		assert_ptr_equal(ri_unwind_find(f->unwind, frame->cfa - 8), frame);
		assert_ptr_not_equal(ri_unwind_find(f->unwind, frame->cfa), frame);
	}
}

static void test_calls(void **state)
{
	static const char *const flags[] = { "-O0 -g", "-O2 -g", "-O2 -g0 -fomit-frame-pointer",
					     "-O2 -static", "-O0 -fno-omit-frame-pointer -no-pie" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct ri_unwind_totals totals;
		struct fixture f;

		set_up(&f, plain_text, flags[i]);
		assert_frames(&f);
		totals = ri_unwind_count(f.unwind);
		assert_int_equal(totals.threads_whole, 2);
		assert_int_equal(totals.threads_cut + totals.threads_without, 0);
		assert_true(totals.frame_count >= 9);
		tear_down(&f);
	}
}

static void test_handler_on_its_own_stack(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, signal_text, "-O0 -g");
	assert_frames(&f);
	assert_int_equal(ri_unwind_count(f.unwind).threads_whole, 1);
	tear_down(&f);
}

static size_t count_frames(struct fixture *f)
{
	size_t count;

	ri_unwind_frames(f->unwind, 0, &count);
	return count;
}

/* A frame that is its own caller, and one that goes on for ever. */
static void test_lies(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, liar_text, "-O0 -g '-DGROWTH=\"0\"'");
	assert_int_equal(ri_unwind_count(f.unwind).threads_cut, 1);
	assert_true(count_frames(&f) < 10);
	tear_down(&f);
	set_up(&f, liar_text, "-O0 -g '-DGROWTH=\"8\"'");
	assert_int_equal(ri_unwind_count(f.unwind).threads_cut, 1);
	assert_true(count_frames(&f) >= 1000 && count_frames(&f) <= 1024);
	tear_down(&f);
}

/* Registers that lead nowhere, or are not known. */
static void test_unusable_registers(void **state)
{
	struct fixture f;
	struct ri_unwind *again;

	(void)state;
	set_up(&f, plain_text, "-O0 -g");
	f.target->threads[0].registers[RI_REG_RSP] = UINT64_MAX - 7;
	f.target->threads[0].registers[RI_REG_RBP] = 8;
	f.target->threads[1].has_registers = false;
	again = ri_unwind_create(f.modules, &f.gaps);
	assert_int_equal(ri_unwind_count(again).threads_without, 1);
	assert_int_equal(ri_unwind_count(again).threads_whole, 0);
	assert_null(ri_unwind_find(again, UINT64_MAX - 7));
	assert_null(ri_unwind_find(again, 0));
	ri_unwind_destroy(again);
	assert_null(ri_unwind_find(NULL, 4096));
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_handler_on_its_own_stack),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_unusable_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
