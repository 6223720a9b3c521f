/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libbfd is asked: a core's command and signal, demangling; rubbish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/procfs.h>

#include "debug/corefile.h"
#include "debug_support.h"

/* A core that has notes and no memory. */
struct small_core {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Nhdr status_note;
	char status_name[8];
	struct elf_prstatus status;
	Elf64_Nhdr info_note;
	char info_name[8];
	struct elf_prpsinfo info;
} __attribute__((packed));

static void fill_core(struct small_core *core)
{
	*core = (struct small_core){
		.ehdr = { .e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct small_core, phdr),
			  .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.phdr = { .p_type = PT_NOTE, .p_offset = offsetof(struct small_core, status_note),
			  .p_filesz = sizeof(*core) - offsetof(struct small_core, status_note),
			  .p_align = 4 },
		.status_note = { 5, sizeof(struct elf_prstatus), NT_PRSTATUS },
		.status_name = "CORE",
		.info_note = { 5, sizeof(struct elf_prpsinfo), NT_PRPSINFO },
		.info_name = "CORE",
	};
	memcpy(core->ehdr.e_ident, "\177ELF\2\1\1", 7);
	core->status.pr_cursig = 11;
	core->status.pr_pid = 77;
	strcpy(core->info.pr_fname, "daemon");
	strcpy(core->info.pr_psargs, "daemon --fast");
}

static void write_core(const char *path, const struct small_core *core, size_t size_bytes)
{
	FILE *file = fopen(path, "w");

	assert_int_equal(fwrite(core, 1, size_bytes, file), size_bytes);
	fclose(file);
}

static void command_and_signal(void **state)
{
	struct scratch scratch;
	struct small_core core;
	char *command, *path, *said;
	int signal_number, saved = dup(STDERR_FILENO);
	size_t notes = offsetof(struct small_core, status_note);
	struct stat status;

	(void)state;
	scratch_init(&scratch);
	path = ri_format("%s/small", scratch.dir);
	said = ri_format("%s/said", scratch.dir);
	assert_non_null(freopen(said, "w", stderr));
	fill_core(&core);
	write_core(path, &core, sizeof(core));
	ri_corefile_describe(path, &command, &signal_number);
	assert_string_equal(command, "daemon --fast");
	assert_int_equal(signal_number, 11);
	free(command);
	for (size_t size_bytes = 0; size_bytes < sizeof(core); size_bytes += 24) {
		write_core(path, &core, size_bytes);
		ri_corefile_describe(path, &command, &signal_number);
		free(command);
	}
	srand(1);
	for (int i = 0; i < 300; i++) {
		fill_core(&core);
		for (int k = 0; k < 10; k++)
			((uint8_t *)&core)[notes + (size_t)rand() % (sizeof(core) - notes)] =
				(uint8_t)rand();
		write_core(path, &core, sizeof(core));
		ri_corefile_describe(path, &command, &signal_number);
		free(command);
	}
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(stat(said, &status), 0);
	assert_int_equal(status.st_size, 0);
	free(said);
	free(path);
	scratch_deinit(&scratch);
}

static void other_files(void **state)
{
	struct scratch scratch;
	char *command, *path;
	int signal_number = 9;

	(void)state;
	scratch_init(&scratch);
	path = ri_format("%s/file", scratch.dir);
	ri_corefile_describe(path, &command, &signal_number);
	assert_null(command);
	assert_int_equal(signal_number, 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	ri_corefile_describe(path, &command, &signal_number);
	assert_null(command);
	free(path);
	scratch_deinit(&scratch);
}

static void assert_demangled(const char *name, const char *expected)
{
	char *demangled = ri_demangle(name);

	if (expected)
		assert_string_equal(demangled, expected);
	else
		assert_null(demangled);
	free(demangled);
}

static void demangling(void **state)
{
	(void)state;
	assert_demangled("_ZN3foo3barEi", "foo::bar(int)");
	assert_demangled("_ZTVSt9exception", "vtable for std::exception");
	assert_demangled("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	assert_demangled("main", NULL);
	assert_demangled("_Z", NULL);
	assert_demangled("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_and_signal),
		cmocka_unit_test(other_files),
		cmocka_unit_test(demangling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
