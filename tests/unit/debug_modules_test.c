/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules of real processes: which files are taken for them, which are refused
 * and why, what the image gains, symbols.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/modules.h"
#include "debug_support.h"

static const char program[] =
	"#include <stdio.h>\n#include <unistd.h>\n#include <fcntl.h>\n#include <sys/mman.h>\n"
	"int answer = 42; int untouched[5000] = { 1 }; const char text[] = \"read-only text\";\n"
	"static int hidden_counter[3]; int work(void) { return ++hidden_counter[1]; }\n"
	"int main(int argc, char **argv) {\n"
	"  int fd = open(argv[0], O_RDONLY);\n"
	"  if (mmap(0, 65536, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) return 1;\n"
	"  printf(\"answer %lx\\ntext %lx\\nhidden_counter %lx\\nwork %lx\\nuntouched %lx\\n\",\n"
	"         (unsigned long)&answer, (unsigned long)text, (unsigned long)hidden_counter,\n"
	"         (unsigned long)work, (unsigned long)untouched);\n"
	"  work(); puts(\"READY\"); fflush(stdout); pause(); return argc; }\n";

/* The same, with another build-id. */
static const char other_program[] = "int main(void) { return 7; }\n";

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
};

static void compile(struct fixture *fixture, const char *flags)
{
	scratch_init(&fixture->scratch);
	write_text(&fixture->scratch, "main.c", program);
	write_text(&fixture->scratch, "other.c", other_program);
	assert_int_equal(run(&fixture->scratch, "%s -g %s -o program main.c", compiler(), flags), 0);
	assert_int_equal(run(&fixture->scratch, "%s -g -o other other.c", compiler()), 0);
}

static void start(struct fixture *fixture)
{
	process_start(&fixture->process, &fixture->scratch, "program");
	ri_gaps_init(&fixture->gaps);
	fixture->target = target_of(&fixture->process, true);
	fixture->modules = NULL;
}

static void find_modules(struct fixture *fixture, const struct ri_modules_options *options)
{
	struct ri_error *error = ri_modules_create(fixture->target, options, &fixture->gaps,
						   &fixture->modules);

	if (error)
		fail_msg("%s", error->message);
}

static void finish(struct fixture *fixture)
{
	ri_modules_destroy(fixture->modules);
	ri_target_close(fixture->target);
	ri_gaps_deinit(&fixture->gaps);
	process_end(&fixture->process);
	scratch_deinit(&fixture->scratch);
}

static const struct ri_module *find_by_name(const struct ri_modules *modules, const char *part)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(modules, &count);

	for (size_t i = 0; i < count; i++)
		if (strstr(list[i].path, part))
			return &list[i];
	return NULL;
}

static const struct ri_module *get_main(const struct ri_modules *modules)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(modules, &count), *main = NULL;

	for (size_t i = 0; i < count; i++)
		if (list[i].is_main) {
			assert_null(main); /* one only */
			main = &list[i];
		}
	assert_non_null(main);
	return main;
}

static uint64_t printed(const struct fixture *fixture, const char *name)
{
	char *pattern = ri_format("%s ", name);
	const char *at = strstr(fixture->process.truth, pattern);
	uint64_t value = at ? strtoull(at + strlen(pattern), NULL, 16) : 0;

	free(pattern);
	assert_true(value);
	return value;
}

static bool has_gap(const struct ri_gaps *gaps, const char *part)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (strstr(gaps->items[i].message, part))
			return true;
	return false;
}

/* All bytes that the image has from files are what the process has there. */
static size_t compare_file_ranges(const struct fixture *fixture)
{
	size_t count, compared = 0;
	const struct ri_range *ranges = ri_image_ranges(fixture->target->image, &count);
	char path[64];
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)fixture->process.pid);
	mem = open(path, O_RDONLY);
	for (size_t i = 0; i < count; i++) {
		size_t size_bytes = ranges[i].end - ranges[i].start;
		uint8_t *bytes = ri_malloc(size_bytes);

		if (ranges[i].kind == RI_RANGE_FILE) {
			assert_int_equal(pread(mem, bytes, size_bytes, (off_t)ranges[i].start),
					 size_bytes);
			assert_memory_equal(bytes, ranges[i].bytes, size_bytes);
			compared += size_bytes;
		}
		free(bytes);
	}
	close(mem);
	return compared;
}

struct data_ranges {
	uint64_t wanted;
	bool is_found;
};

static void note_data_range(const struct ri_module *module, uint64_t low, uint64_t high,
			    void *data)
{
	struct data_ranges *ranges = data;

	assert_true(low >= module->start && high <= module->end && low < high);
	if (ranges->wanted >= low && ranges->wanted < high)
		ranges->is_found = true;
}

static void check_symbols(const struct fixture *fixture)
{
	static const char *const names[] = { "answer", "text", "work", "untouched",
					     "hidden_counter" };
	uint64_t addr, offset, size_bytes;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(ri_modules_find_symbol_addr(fixture->modules, NULL, names[i], &addr));
		assert_int_equal(addr, printed(fixture, names[i]));
		assert_string_equal(ri_modules_find_symbol(fixture->modules, addr + 2, true,
							   &offset, &size_bytes),
				    names[i]);
		assert_int_equal(offset, 2);
	}
	assert_false(ri_modules_find_symbol_addr(fixture->modules, NULL, "no_such_symbol", &addr));
	assert_null(ri_modules_find_symbol(fixture->modules, 16, false, NULL, NULL));
}

static void check_program(const char *flags, bool is_dynamic)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	const struct ri_module *main;
	struct data_ranges ranges;

	compile(&fixture, flags);
	start(&fixture);
	ranges = (struct data_ranges){ .wanted = printed(&fixture, "hidden_counter") };
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_true(main->has_dwarf);
	assert_null(main->why_not);
	assert_true(strstr(main->file, "/program") != NULL);
	assert_ptr_equal(ri_modules_find(fixture.modules, printed(&fixture, "work")), main);
	assert_ptr_equal(ri_modules_find(fixture.modules, printed(&fixture, "hidden_counter")),
			 main);
	assert_int_equal(find_by_name(fixture.modules, "libc.so") != NULL, is_dynamic);
	assert_non_null(find_by_name(fixture.modules, "[vdso]"));
	ri_modules_each_data_range(fixture.modules, note_data_range, &ranges);
	assert_true(ranges.is_found);
	/* text at least; the mapping of the file as data is no module */
	assert_true(compare_file_ranges(&fixture) > 8192);
	check_symbols(&fixture);
	finish(&fixture);
}

static void kinds_of_executables(void **state)
{
	(void)state;
	check_program("-pie", true);
	check_program("-no-pie", true);
	check_program("-static", false);
	check_program("-static-pie", false);
	check_program("-Wl,-z,noseparate-code -no-pie", true);
	check_program("-Wl,-z,norelro -Wl,--hash-style=sysv", true);
}

/* The build-id of a file as readelf prints it. */
static void read_build_id(const struct fixture *fixture, const char *name, char *ret)
{
	char *path = ri_format("%s/id", fixture->scratch.dir);
	FILE *file;

	assert_int_equal(run(&fixture->scratch,
			     "readelf -n %s 2>/dev/null | sed -n 's/.*Build ID: //p' >id", name),
			 0);
	file = fopen(path, "r");
	assert_int_equal(fscanf(file, "%64s", ret), 1);
	fclose(file);
	free(path);
}

static void replaced_file_is_refused(void **state)
{
	struct ri_modules_options options = { 0 };
	char ours[65], theirs[65];
	struct fixture fixture;
	const struct ri_module *main;

	(void)state;
	compile(&fixture, "");
	read_build_id(&fixture, "program", theirs);
	read_build_id(&fixture, "other", ours);
	start(&fixture);
	run(&fixture.scratch, "mv other program");
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_null(main->file);
	assert_false(main->has_dwarf);
	assert_non_null(strstr(main->why_not, ours));
	assert_non_null(strstr(main->why_not, theirs));
	assert_true(has_gap(&fixture.gaps, theirs));
	assert_int_equal(main->build_id_size_bytes, strlen(theirs) / 2);
	finish(&fixture);
}

static void exe_option(void **state)
{
	char *exe, ours[65], theirs[65];
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	struct ri_error *error;

	(void)state;
	compile(&fixture, "");
	read_build_id(&fixture, "program", theirs);
	read_build_id(&fixture, "other", ours);
	start(&fixture);
	run(&fixture.scratch, "mv program renamed");
	options.exe_path = exe = ri_format("%s/other", fixture.scratch.dir);
	error = ri_modules_create(fixture.target, &options, &fixture.gaps, &fixture.modules);
	assert_non_null(error);
	assert_int_equal(error->code, RI_ERROR_INPUT);
	assert_non_null(strstr(error->message, ours));
	assert_non_null(strstr(error->message, theirs));
	ri_error_destroy(error);
	strcpy(strrchr(exe, '/'), "/none");
	error = ri_modules_create(fixture.target, &options, &fixture.gaps, &fixture.modules);
	assert_int_equal(error->code, RI_ERROR_NOT_FOUND);
	ri_error_destroy(error);
	free(exe);
	options.exe_path = exe = ri_format("%s/renamed", fixture.scratch.dir);
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	free(exe);
	finish(&fixture);
}

static void fifo_does_not_block(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	const struct ri_module *main;

	(void)state;
	compile(&fixture, "");
	start(&fixture);
	run(&fixture.scratch, "rm program && mkfifo program");
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_null(main->file);
	assert_non_null(strstr(main->why_not, "not a regular file"));
	finish(&fixture);
}

static void deleted_file(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	const struct ri_module *main;

	(void)state;
	compile(&fixture, "");
	process_start(&fixture.process, &fixture.scratch, "program");
	ri_gaps_init(&fixture.gaps);
	run(&fixture.scratch, "cp program copy && rm program");
	fixture.target = target_of(&fixture.process, true);
	fixture.modules = NULL;
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_non_null(strstr(main->path, " (deleted)"));
	assert_null(main->file);
	ri_modules_destroy(fixture.modules);
	/* the same build is back under its name */
	run(&fixture.scratch, "mv copy program");
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	ri_modules_destroy(fixture.modules);
	/* a live process still has it */
	run(&fixture.scratch, "rm program");
	fixture.target->kind = RI_TARGET_LIVE;
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	finish(&fixture);
}

static void separate_debug_file(void **state)
{
	char *dir, id[65];
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	const struct ri_module *main;

	(void)state;
	compile(&fixture, "");
	read_build_id(&fixture, "program", id);
	run(&fixture.scratch, "mkdir -p debug/.build-id/%.2s && "
			      "objcopy --only-keep-debug program debug/.build-id/%.2s/%s.debug && "
			      "strip program",
	    id, id, id + 2);
	start(&fixture);
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_non_null(main->file);
	assert_false(main->has_dwarf);
	assert_non_null(strstr(main->why_not, id));
	ri_modules_destroy(fixture.modules);
	dir = ri_format("%s/debug", fixture.scratch.dir);
	options.debug_dirs = (const char *const[]){ dir, NULL };
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_true(main->has_dwarf);
	assert_non_null(strstr(main->debug_file, id + 2));
	check_symbols(&fixture);
	ri_modules_destroy(fixture.modules);
	/* the executable is gone, its debug file is not: types, but no bytes */
	run(&fixture.scratch, "rm program");
	find_modules(&fixture, &options);
	main = get_main(fixture.modules);
	assert_null(main->file);
	assert_true(main->has_dwarf);
	check_symbols(&fixture);
	finish(&fixture);
	free(dir);
}

static void debug_link(const char *flags)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;

	compile(&fixture, flags);
	run(&fixture.scratch, "objcopy --only-keep-debug program p.debug && strip program && "
			      "objcopy --add-gnu-debuglink=p.debug program && mkdir .debug && "
			      "mv p.debug .debug/");
	start(&fixture);
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	assert_non_null(strstr(get_main(fixture.modules)->debug_file, "/.debug/p.debug"));
	ri_modules_destroy(fixture.modules);
	run(&fixture.scratch, "objcopy --only-keep-debug other .debug/p.debug");
	find_modules(&fixture, &options);
	assert_false(get_main(fixture.modules)->has_dwarf);
	assert_non_null(strstr(get_main(fixture.modules)->why_not, "another build"));
	finish(&fixture);
}

static void debug_links(void **state)
{
	(void)state;
	debug_link("");
	debug_link("-Wl,--build-id=none");
}

/* Debug files that lie straight in a folder that the user names. */
static void debug_file_in_a_folder(void **state)
{
	static const struct {
		const char *flags, *prepare, *file;
	} cases[] = {
		{ "", "", "/flat/program.debug" },
		{ "", "mv flat/program.debug flat/linked.dbg && "
		      "objcopy --add-gnu-debuglink=flat/linked.dbg program && ",
		  "/flat/linked.dbg" },
		{ "-Wl,--build-id=none", "mv flat/program.debug flat/linked.dbg && "
		      "objcopy --add-gnu-debuglink=flat/linked.dbg program && ",
		  "/flat/linked.dbg" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ri_modules_options options = { 0 };
		struct fixture fixture;
		char *dir;

		compile(&fixture, cases[i].flags);
		run(&fixture.scratch, "mkdir flat && "
				      "objcopy --only-keep-debug program flat/program.debug && "
				      "strip program && %strue", cases[i].prepare);
		start(&fixture);
		dir = ri_format("%s/flat", fixture.scratch.dir);
		options.debug_dirs = (const char *const[]){ dir, NULL };
		find_modules(&fixture, &options);
		assert_true(get_main(fixture.modules)->has_dwarf);
		assert_non_null(strstr(get_main(fixture.modules)->debug_file, cases[i].file));
		ri_modules_destroy(fixture.modules);
		run(&fixture.scratch, "objcopy --only-keep-debug other .%s", cases[i].file);
		find_modules(&fixture, &options);
		assert_false(get_main(fixture.modules)->has_dwarf);
		assert_non_null(strstr(get_main(fixture.modules)->why_not, "another build"));
		finish(&fixture);
		free(dir);
	}
}

/* -e with a debug-only file: its DWARF, the program's bytes. */
static void exe_is_debug_file(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	char *exe;

	(void)state;
	compile(&fixture, "");
	run(&fixture.scratch, "objcopy --only-keep-debug program p.debug && strip program");
	start(&fixture);
	options.exe_path = exe = ri_format("%s/p.debug", fixture.scratch.dir);
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	assert_non_null(strstr(get_main(fixture.modules)->file, "/program"));
	assert_true(compare_file_ranges(&fixture) > 8192);
	free(exe);
	finish(&fixture);
}

static void no_build_id(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;

	(void)state;
	compile(&fixture, "-Wl,--build-id=none");
	start(&fixture);
	/* still the same object */
	run(&fixture.scratch, "strip -o stripped program && mv stripped program");
	find_modules(&fixture, &options);
	assert_non_null(get_main(fixture.modules)->file);
	assert_true(has_gap(&fixture.gaps, "by its headers alone"));
	ri_modules_destroy(fixture.modules);
	run(&fixture.scratch, "%s -g -Wl,--build-id=none -O2 -o program other.c", compiler());
	find_modules(&fixture, &options);
	assert_null(get_main(fixture.modules)->file);
	finish(&fixture);
}

static void link_map_without_mappings(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	const struct ri_module *libc;
	char *exe;

	(void)state;
	compile(&fixture, "");
	process_start(&fixture.process, &fixture.scratch, "program");
	ri_gaps_init(&fixture.gaps);
	fixture.target = target_of(&fixture.process, false);
	options.exe_path = exe = ri_format("%s/program", fixture.scratch.dir);
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	libc = find_by_name(fixture.modules, "libc.so");
	assert_non_null(libc);
	assert_non_null(libc->file);
	assert_true(compare_file_ranges(&fixture) > 100000);
	check_symbols(&fixture);
	free(exe);
	finish(&fixture);
}

/* AT_PHDR is the dynamic linker's when that is run as a command. */
static void run_by_the_linker(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	char *script;

	(void)state;
	compile(&fixture, "-pie");
	run(&fixture.scratch, "mv program real");
	script = ri_format("#!/bin/sh\nexec /lib64/ld-linux-x86-64.so.2 %s/real\n",
			   fixture.scratch.dir);
	write_text(&fixture.scratch, "program", script);
	run(&fixture.scratch, "chmod +x program");
	start(&fixture);
	find_modules(&fixture, &options);
	assert_non_null(strstr(get_main(fixture.modules)->path, "/real"));
	check_symbols(&fixture);
	free(script);
	finish(&fixture);
}

/* Takes the pages of ELF headers out of the image; the whole one is returned. */
static struct ri_image *drop_headers(struct ri_target *target)
{
	struct ri_image *image = ri_image_create(), *whole = target->image;
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(whole, &count);

	for (size_t i = 0; i < count; i++) {
		struct ri_range range = ranges[i];

		if (range.bytes && !memcmp(range.bytes, ELFMAG, SELFMAG)) {
			range.kind = RI_RANGE_MISSING;
			range.bytes = NULL;
		}
		ri_image_add(image, &range);
	}
	ri_image_seal(image);
	target->image = image;
	return whole;
}

/* A core without ELF headers: only what the user names is taken. */
static void no_headers(void **state)
{
	struct ri_modules_options options = { 0 };
	struct fixture fixture;
	struct ri_image *whole;
	char *exe;

	(void)state;
	compile(&fixture, "");
	start(&fixture);
	whole = drop_headers(fixture.target);
	find_modules(&fixture, &options);
	assert_null(get_main(fixture.modules)->file);
	assert_non_null(strstr(get_main(fixture.modules)->why_not, "coredump_filter"));
	ri_modules_destroy(fixture.modules);
	options.exe_path = exe = ri_format("%s/program", fixture.scratch.dir);
	find_modules(&fixture, &options);
	assert_true(get_main(fixture.modules)->has_dwarf);
	assert_true(has_gap(&fixture.gaps, "unchecked"));
	check_symbols(&fixture);
	free(exe);
	finish(&fixture);
	ri_image_destroy(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_executables),
		cmocka_unit_test(replaced_file_is_refused),
		cmocka_unit_test(exe_option),
		cmocka_unit_test(fifo_does_not_block),
		cmocka_unit_test(deleted_file),
		cmocka_unit_test(separate_debug_file),
		cmocka_unit_test(debug_links),
		cmocka_unit_test(debug_file_in_a_folder),
		cmocka_unit_test(exe_is_debug_file),
		cmocka_unit_test(no_build_id),
		cmocka_unit_test(link_map_without_mappings),
		cmocka_unit_test(run_by_the_linker),
		cmocka_unit_test(no_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
