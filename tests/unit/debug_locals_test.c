/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Local variables in the frames of a thread, against what its functions say of them: where
 * they are, which are in scope, and which places are proven dead (never one in scope).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/locals.h"
#include "debug/modules.h"
#include "debug_support.h"

/* TELL prints a variable that is in scope where the program stands, GONE one that is not. */
static const char program_text[] =
	"#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
	"struct big { char bytes[64]; };\n"
	"#define NOINLINE __attribute__((noinline, noclone))\n"
	"#define PRINT(word, f, v) printf(#word \"|\" #f \"|\" #v \"|%lx\\n\", (long)&v)\n"
	"#define TELL(f, v) PRINT(live, f, v)\n#define GONE(f, v) PRINT(gone, f, v)\n"
	"static long zero; void stand(void); long inner(char *given, long many);\n"
	"NOINLINE void stand(void) { puts(\"READY\"); fflush(stdout); for (;;) pause(); }\n"
	"NOINLINE long inner(char *given, long many) { static char *fixed; char *own = given;\n"
	"  TELL(inner, given); TELL(inner, many); TELL(inner, own); fixed = own;\n"
	"  { char *ended = given; GONE(inner, ended); own = ended; }\n"
	"  { struct big large; memset(&large, 1, sizeof(large)); GONE(inner, large);\n"
	"    own += large.bytes[many]; }\n"
	"  { char *open = own; TELL(inner, open); { char *deep = open; TELL(inner, deep);\n"
	"    stand(); open = deep + zero; } own = open; }\n"
	"  { char *later = own; if (zero) GONE(inner, later); own = later; }\n"
	"  return own - fixed; }\n"
	"static inline __attribute__((always_inline)) long within(long *p) { long kept = *p;\n"
	"  TELL(within, kept); return inner((char *)p, kept & 7) + kept; }\n"
	"int main(void) { long first = 3; TELL(main, first); return (int)within(&first); }\n";

/* The block is left, but what is to be done then with its variable is not. */
static const char cleanup_text[] =
	"#include <stdio.h>\n#include <unistd.h>\nstatic char *name = \"name\";\n"
	"__attribute__((noinline)) static void put(char **p) { if (*p) { puts(\"READY\");\n"
	"  fflush(stdout); for (;;) pause(); } }\n"
	"__attribute__((noinline)) static long serve(long n) { long sum = n;\n"
	"  { char *gone = name; sum += gone[n]; }\n"
	"  for (long i = 0; i < 3; i++) {\n"
	"    __attribute__((cleanup(put))) char *guarded = name; sum += guarded[i]; }\n"
	"  return sum; }\n"
	"int main(void) { return (int)serve(0); }\n";

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_unwind *unwind;
	struct ri_gaps gaps;
};

static void set_up(struct fixture *f, const char *text, const char *flags)
{
	struct ri_modules_options options = { 0 };
	struct ri_target_live_options live = { 0 };

	*f = (struct fixture){ 0 };
	ri_gaps_init(&f->gaps);
	scratch_init(&f->scratch);
	write_text(&f->scratch, "program.c", text);
	assert_int_equal(run(&f->scratch, "%s %s -o program program.c", compiler(), flags), 0);
	process_start(&f->process, &f->scratch, "program");
	assert_null(ri_target_open_live(f->process.pid, &live, &f->gaps, &f->target));
	assert_null(ri_modules_create(f->target, &options, &f->gaps, &f->modules));
	f->types = ri_types_create(f->modules, &f->gaps);
	f->unwind = ri_unwind_create(f->modules, &f->gaps);
	ri_types_use_frames(f->types, f->unwind);
}

static void tear_down(struct fixture *f)
{
	ri_types_destroy(f->types);
	ri_unwind_destroy(f->unwind);
	ri_modules_destroy(f->modules);
	ri_target_close(f->target);
	ri_gaps_deinit(&f->gaps);
	process_end(&f->process);
	scratch_deinit(&f->scratch);
}

struct tally {
	struct fixture *fixture;
	size_t live, gone, dead;
};

static bool is_printed(const struct fixture *f, const char *word, const struct ri_local *local)
{
	char *end = ri_format("|%s|%lx\n", local->name, (unsigned long)local->addr);
	const char *at = strstr(f->process.truth, end);
	size_t length = strlen(word);

	free(end);
	while (at && at > f->process.truth && at[-1] != '\n')
		at--;
	return at && !strncmp(at, word, length);
}

static bool visit(const struct ri_local *local, void *data)
{
	struct tally *tally = data;
	const char *function = ri_unwind_function(tally->fixture->unwind, local->frame);
	struct ri_local found;

	assert_false(local->is_live && local->is_dead);
	if (!function || (strcmp(function, "inner") && strcmp(function, "main")))
		return true; /* libc has some too */
	if (is_printed(tally->fixture, "live", local)) {
		assert_true(local->is_live);
		assert_true(ri_types_find_local(tally->fixture->types, local->frame,
						local->addr + local->size_bytes - 1, &found));
		assert_string_equal(found.name, local->name);
		assert_ptr_equal(found.type, local->type);
		tally->live++;
	}
	tally->gone += is_printed(tally->fixture, "gone", local);
	if (!strcmp(local->name, "ended") || !strcmp(local->name, "later")) {
		assert_false(local->is_live);
		tally->dead += local->is_dead;
	} else {
		assert_false(local->is_dead);
	}
	return true;
}

static struct tally count(struct fixture *f)
{
	struct tally tally = { .fixture = f };

	ri_types_each_local(f->types, visit, &tally);
	return tally;
}

static void test_without_optimization(void **state)
{
	struct fixture f;
	struct tally tally;

	(void)state;
	set_up(&f, program_text, "-O0 -g");
	tally = count(&f);
	assert_int_equal(tally.live, 7);   /* given many own open deep, kept, first */
	assert_int_equal(tally.gone, 2);
	if (!strstr(compiler(), "clang"))
		assert_int_equal(tally.dead, 2); /* ended and later; not the large one */
	tear_down(&f);
}

/* Places are found where they are, and nothing is proven. */
static void test_with_optimization(void **state)
{
	static const char *const flags[] = { "-O2 -g", "-O1 -g -fno-var-tracking", "-Og -g",
					     "-O0 -g -gno-record-gcc-switches",
					     "-O2 -g -fno-omit-frame-pointer -gdwarf-4" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct fixture f;
		struct tally tally;

		set_up(&f, program_text, flags[i]);
		tally = count(&f);
		assert_true(tally.live >= 3);
		assert_int_equal(tally.dead, 0);
		tear_down(&f);
	}
}

static bool note_dead(const struct ri_local *local, void *data)
{
	unsigned *seen = data;

	if (!strcmp(local->name, "guarded"))
		*seen |= local->is_dead ? 2 : 1;
	if (!strcmp(local->name, "gone"))
		*seen |= local->is_dead ? 4 : 0;
	return true;
}

static void test_cleanup(void **state)
{
	struct fixture f;
	unsigned seen = 0;

	(void)state;
	set_up(&f, cleanup_text, "-O0 -g");
	ri_types_each_local(f.types, note_dead, &seen);
	assert_true(seen & 1);
	assert_false(seen & 2);
	if (!strstr(compiler(), "clang"))
		assert_true(seen & 4);
	tear_down(&f);
}

static bool fail_on_any(const struct ri_local *local, void *data)
{
	(void)local;
	(void)data;
	fail();
	return false;
}

static void test_without_frames(void **state)
{
	struct fixture f;
	const struct ri_frame *frames;
	struct ri_local local;
	size_t frame_count;

	(void)state;
	set_up(&f, program_text, "-O0 -g");
	frames = ri_unwind_frames(f.unwind, 0, &frame_count);
	assert_true(frame_count > 3);
	assert_false(ri_types_find_local(f.types, &frames[1], 8, &local));
	ri_types_use_frames(f.types, NULL);
	ri_types_each_local(f.types, fail_on_any, NULL);
	assert_false(ri_types_find_local(f.types, &frames[1], frames[1].sp, &local));
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_optimization),
		cmocka_unit_test(test_with_optimization),
		cmocka_unit_test(test_cleanup),
		cmocka_unit_test(test_without_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
