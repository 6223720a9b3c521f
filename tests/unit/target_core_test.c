/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The core reader: the shapes that the kernel and gdb write, cores cut off or
 * incomplete, and what is no core.
 */
#include <sys/stat.h>

#include "core_builder.h"

static void assert_process(const struct ri_target *target)
{
	char *text = ri_image_read_string(target->image, 0x404000, 20);

	assert_string_equal(text, "a page");
	free(text);
	assert_kind(target, 0x400000, RI_RANGE_PRESENT, R);
	assert_kind(target, 0x401000, RI_RANGE_MISSING, R | X);
	assert_kind(target, 0x403000, RI_RANGE_MISSING, R | W);
	assert_kind(target, 0x404000, RI_RANGE_PRESENT, R | W);
	assert_kind(target, 0x405000, RI_RANGE_UNTOUCHED, R | W | A);
	assert_kind(target, 0x600fff, RI_RANGE_PRESENT, R | W | A);
	assert_kind(target, 0x601000, RI_RANGE_UNTOUCHED, R | W | A);
	assert_kind(target, 0x610000, RI_RANGE_MISSING, R | A);
	assert_kind(target, 0x620000, RI_RANGE_UNTOUCHED, A);
	assert_kind(target, 0x700000, RI_RANGE_PRESENT, R | W | S);
	assert_kind(target, 0x710000, RI_RANGE_MISSING, R);
	assert_kind(target, 0x721fff, RI_RANGE_MISSING, R | W | S);
	assert_kind(target, 0x730000, RI_RANGE_MISSING, R | S);
	assert_kind(target, 0xffffffffff600000, RI_RANGE_PRESENT, X | A);
	assert_null(ri_image_find(target->image, 0x500000));
}

static void kernel_shape(void **state)
{
	const struct ri_mapping *mapping;
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	build_process(&builder);
	target = open_built(&builder, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_int_equal(target->kind, RI_TARGET_CORE);
	assert_process(target);
	assert_int_equal(target->signal, SIGABRT);
	assert_int_equal(target->thread_count, 2);
	assert_int_equal(target->threads[1].tid, 12);
	assert_true(target->threads[1].has_registers);
	assert_int_equal(target->threads[1].registers[RI_REG_R15], 1200);
	assert_int_equal(target->threads[1].registers[RI_REG_FS_BASE], 1221);
	assert_int_equal(target->threads[1].registers[RI_REG_RSP], 0x7ff900);
	assert_true(target->missing_percent == 0);

	assert_int_equal(target->mapping_count, 14);
	mapping = ri_target_find_mapping(target, 0x402fff);
	assert_string_equal(mapping->path, "/bin/p");
	assert_int_equal(mapping->file_offset, PAGE);
	assert_int_equal(mapping->flags, R | X);
	mapping = ri_target_find_mapping(target, 0x601fff);
	assert_null(mapping->path);
	assert_int_equal(mapping->flags, R | W | A);
	assert_int_equal(ri_target_find_mapping(target, 0x720000)->file_offset, 7 * PAGE);
	assert_null(ri_target_find_mapping(target, 0x3fffff));
	assert_null(ri_target_find_mapping(target, 0x602000));
	close_all(target, &gaps);
}

static void gdb_shape_has_unaligned_offsets(void **state)
{
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	build_process(&builder);
	builder.data_align = 1;
	APPEND(&builder.notes, "\0\0\0", 3);
	target = open_built(&builder, &gaps);
	assert_process(target);
	close_all(target, &gaps);
}

static void gdb_counts_file_offsets_in_bytes(void **state)
{
	static const struct row rows[] = { { 0x2000, 0x3000, 0x5000 }, { 0x8000, 0x9000, 0 } };
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0);
	add_files(&builder, 2, 1, rows, 2, "/a\0/b", 6);
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R);
	target = open_built(&builder, &gaps);
	assert_int_equal(ri_target_find_mapping(target, 0x2000)->file_offset, 0x5000);
	/* no segment: nothing is known of it but that it was mapped */
	assert_kind(target, 0x8000, RI_RANGE_MISSING, 0);
	close_all(target, &gaps);
}

static void many_segments_are_counted_elsewhere(void **state)
{
	enum { COUNT = 70000 };
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;
	uint64_t value;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		char path[64];
		int fd;

		builder_init(&builder);
		builder.extended = true;
		builder.data_align = 8;
		add_thread(&builder, 1, 0);
		for (uint64_t i = 0; i < COUNT; i++)
			add_load(&builder, 0x10000 + i * 16, 8, &i, 8, PF_R);
		fd = write_core(&builder, path);
		if (cut) /* the section header is at the end */
			assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 68), 0);
		ri_gaps_init(&gaps);
		target = NULL;
		assert_null(ri_target_open_core(path, &gaps, &target));
		assert_true(ri_image_read_u64(target->image, 0x10000 + (COUNT - 3) * 16, &value));
		assert_int_equal(value, COUNT - 3);
		assert_int_equal(ri_image_read_u64(target->image, 0x10000 + (COUNT - 1) * 16,
						   &value), !cut);
		close(fd);
		builder_deinit(&builder);
		close_all(target, &gaps);
	}
}

static void truncated_core_has_missing_ranges(void **state)
{
	struct ri_target *target = NULL;
	struct builder builder;
	struct ri_gaps gaps;
	char path[64];
	int fd;

	(void)state;
	build_process(&builder);
	fd = write_core(&builder, path);
	/* of 6 pages dumped, the last 1 1/2 are gone */
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 3 * PAGE / 2), 0);
	ri_gaps_init(&gaps);
	assert_null(ri_target_open_core(path, &gaps, &target));
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "truncated"));
	assert_true(target->missing_percent > 24.9 && target->missing_percent < 25.1);
	assert_kind(target, 0x7ff000, RI_RANGE_PRESENT, R | W | A);
	assert_kind(target, 0x7ff000 + PAGE / 2, RI_RANGE_MISSING, R | W | A);
	assert_kind(target, 0xffffffffff600000, RI_RANGE_MISSING, X | A);
	assert_kind(target, 0x405000, RI_RANGE_UNTOUCHED, R | W | A);
	close(fd);
	builder_deinit(&builder);
	close_all(target, &gaps);
}

/* A hole of a gigabyte less two pages: it takes no room and is not read. */
static void large_holes_are_known_to_be_zero(void **state)
{
	enum { LOADS = 5 };
	const uint64_t size = 1ull << 30;
	struct ri_target *target = NULL;
	struct builder builder;
	struct ri_gaps gaps;
	char path[64];
	Elf64_Phdr *phdr;
	uint64_t value, offset;
	int fd;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0);
	add_files(&builder, 0, PAGE, NULL, 0, "", 0);
	for (uint64_t i = 0; i < LOADS; i++) /* all of the same bytes */
		add_load(&builder, (i + 1) << 40, size, "", 0, PF_R | PF_W);
	for (uint64_t i = 0; i < LOADS; i++) {
		phdr = &builder.phdrs.items[1 + i];
		phdr->p_filesz = size;
	}
	phdr->p_offset += 123; /* the last one: not aligned */
	fd = write_core(&builder, path);
	offset = builder.phdrs.items[1].p_offset;
	value = 77;
	assert_int_equal(pwrite(fd, &value, 8, (off_t)offset), 8);
	assert_int_equal(pwrite(fd, &value, 8, (off_t)(offset + size - 8)), 8);
	assert_int_equal(ftruncate(fd, (off_t)(offset + size + 123)), 0);
	ri_gaps_init(&gaps);
	assert_null(ri_target_open_core(path, &gaps, &target));
	assert_int_equal(gaps.count, 0);
	for (uint64_t start = 1ull << 40; start < LOADS * (1ull << 40); start += 1ull << 40) {
		assert_true(ri_image_read_u64(target->image, start, &value) && value == 77);
		assert_true(ri_image_read_u64(target->image, start + size - 8, &value));
		assert_int_equal(value, 77);
		assert_kind(target, start + PAGE - 1, RI_RANGE_PRESENT, R | W | A);
		assert_kind(target, start + size / 2, RI_RANGE_PRESENT,
			    R | W | A | RI_RANGE_ZERO);
		assert_int_equal(ri_image_find(target->image, start + size / 2)->start % PAGE, 0);
		assert_int_equal(ri_image_find(target->image, start + size / 2)->end % PAGE, 0);
		assert_true(ri_image_read_u64(target->image, start + size / 2, &value));
		assert_int_equal(value, 0);
	}
	/* the last one begins 123 bytes further in the file */
	assert_true(ri_image_read_u64(target->image, 5 * (1ull << 40) + size - 131, &value));
	assert_int_equal(value, 77);
	assert_int_equal(ri_image_find(target->image, (5ull << 40) + size / 2)->start % PAGE, 0);
	close(fd);
	builder_deinit(&builder);
	close_all(target, &gaps);
}

static void absent_stack_means_that_absent_memory_is_missing(void **state)
{
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0x5800);
	add_files(&builder, 0, PAGE, NULL, 0, "", 0);
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R | PF_W);
	add_load(&builder, 0x5000, PAGE, "", 0, PF_R | PF_W);
	target = open_built(&builder, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "leaves out memory"));
	assert_kind(target, 0x2000, RI_RANGE_MISSING, R | W | A);
	assert_kind(target, 0x5000, RI_RANGE_MISSING, R | W | A);
	close_all(target, &gaps);
}

/* A coredump_filter may leave the first pages of ELF files out. */
static void objects_are_not_shared_though_their_headers_are_absent(void **state)
{
	static const struct row rows[] = { { 0x2000, 0x3000, 0 }, { 0x3000, 0x4000, 1 },
					   { 0x8000, 0x9000, 0 } };
	static const char names[] = "/lib/a\0/lib/a\0/data/b";
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0);
	add_files(&builder, 3, PAGE, rows, 3, names, sizeof(names));
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R | PF_X);
	add_load(&builder, 0x3000, PAGE, "", 0, PF_R | PF_W);
	add_load(&builder, 0x8000, PAGE, "", 0, PF_R | PF_W);
	target = open_built(&builder, &gaps);
	assert_kind(target, 0x3000, RI_RANGE_MISSING, R | W);
	assert_kind(target, 0x8000, RI_RANGE_MISSING, R | W | S);
	close_all(target, &gaps);
}

static void without_list_of_files_absent_memory_is_missing(void **state)
{
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0);
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R | PF_W);
	target = open_built(&builder, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_TOLD, "NT_FILE"));
	assert_kind(target, 0x2000, RI_RANGE_MISSING, R | W);
	close_all(target, &gaps);
}

static void notes_are_read(void **state)
{
	struct elf_prpsinfo info = { .pr_pid = 77, .pr_fname = "daemon",
				     .pr_psargs = "daemon --run " };
	const uint64_t auxv[] = { AT_PHDR, 0x400040, AT_PHNUM, 13, AT_ENTRY, 0x401000, AT_BASE,
				  0x7f0000, AT_SYSINFO_EHDR, 0x7fe000, AT_RANDOM,
				  0x7ffd10, AT_EXECFN, 0x7ffe20, AT_NULL, 0, AT_PHDR, 1 };
	siginfo_t siginfo = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	uint8_t fxsave[512] = { 1 }, xsave[832] = { 2 };
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	siginfo.si_addr = (void *)0xdead0;
	builder_init(&builder);
	add_thread(&builder, 78, 0);
	add_note(&builder, "CORE", NT_PRPSINFO, &info, sizeof(info));
	add_note(&builder, "CORE", NT_SIGINFO, &siginfo, sizeof(siginfo));
	add_note(&builder, "CORE", NT_AUXV, auxv, sizeof(auxv));
	add_note(&builder, "CORE", NT_FPREGSET, fxsave, sizeof(fxsave));
	add_note(&builder, "LINUX", NT_X86_XSTATE, xsave, sizeof(xsave));
	add_thread(&builder, 79, 0);
	add_note(&builder, "CORE", NT_FPREGSET, fxsave, sizeof(fxsave));
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R);
	target = open_built(&builder, &gaps);
	assert_int_equal(target->pid, 77);
	assert_string_equal(target->command, "daemon");
	assert_string_equal(target->arguments, "daemon --run");
	assert_int_equal(target->signal, SIGSEGV);
	assert_true(target->has_siginfo);
	assert_int_equal(target->signal_code, SEGV_MAPERR);
	assert_int_equal(target->fault_addr, 0xdead0);
	assert_int_equal(target->auxv_phdr, 0x400040);
	assert_int_equal(target->auxv_phnum, 13);
	assert_int_equal(target->auxv_entry, 0x401000);
	assert_int_equal(target->auxv_base, 0x7f0000);
	assert_int_equal(target->auxv_sysinfo_ehdr, 0x7fe000);
	assert_int_equal(target->auxv_random, 0x7ffd10);
	assert_int_equal(target->auxv_execfn, 0x7ffe20);
	assert_int_equal(target->threads[0].vector_size_bytes, sizeof(xsave));
	assert_int_equal(target->threads[0].vector[0], 2);
	assert_int_equal(target->threads[1].vector_size_bytes, sizeof(fxsave));
	assert_int_equal(target->threads[1].vector[0], 1);
	close_all(target, &gaps);
}

static void core_without_threads_is_told(void **state)
{
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	add_note(&builder, "CORE", NT_PRSTATUS, "short", 5);
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R);
	target = open_built(&builder, &gaps);
	assert_int_equal(target->thread_count, 0);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "NT_PRSTATUS) is too short"));
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "no thread"));
	assert_true(target->has_lost_threads);
	close_all(target, &gaps);
}

/* --- what is no core --- */

static void assert_bytes_refused(const void *bytes, size_t size, const char *part)
{
	int fd = memfd_create("none", MFD_CLOEXEC);
	char path[64];

	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_refused(path, RI_ERROR_INPUT, part);
	close(fd);
}

static void other_files_are_named(void **state)
{
	char directory[] = "/tmp/ri-core-test-XXXXXX", fifo[64];

	(void)state;
	assert_refused("/nonexistent/core", RI_ERROR_NOT_FOUND, "No such file");
	assert_refused("/tmp", RI_ERROR_INPUT, "directory");
	assert_refused("/dev/null", RI_ERROR_INPUT, "device");
	assert_refused("/proc/self/exe", RI_ERROR_INPUT, "executable");
	assert_non_null(mkdtemp(directory));
	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_refused(fifo, RI_ERROR_INPUT, "FIFO");
	unlink(fifo);
	rmdir(directory);
	assert_bytes_refused("", 0, "empty");
	assert_bytes_refused("x", 1, "not an ELF file");
	assert_bytes_refused(ELFMAG, 4, "cut off");
	assert_bytes_refused("\x28\xb5\x2f\xfd....", 8, "(zstd); decompress it first");
	assert_bytes_refused("\x1f\x8b......", 8, "(gzip); decompress it first");
	assert_bytes_refused("\xfd" "7zXZ\0..", 8, "(xz); decompress it first");
	assert_bytes_refused("KDUMP   ", 8, "kernel dump");
}

static void assert_header_refused(uint8_t class, uint8_t data, uint16_t type, uint16_t machine,
				  const char *part)
{
	Elf64_Ehdr header = { .e_type = type, .e_machine = machine,
			      .e_phentsize = sizeof(Elf64_Phdr) };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = class;
	header.e_ident[EI_DATA] = data;
	if (data == ELFDATA2MSB) {
		header.e_type = __builtin_bswap16(type);
		header.e_machine = __builtin_bswap16(machine);
	}
	assert_bytes_refused(&header, sizeof(header), part);
}

static void other_elf_files_are_named(void **state)
{
	struct builder builder;
	char path[64];
	int fd;

	(void)state;
	assert_header_refused(ELFCLASS64, ELFDATA2LSB, ET_REL, EM_X86_64, "object file");
	assert_header_refused(ELFCLASS64, ELFDATA2LSB, ET_EXEC, EM_X86_64, "an executable");
	assert_header_refused(ELFCLASS64, ELFDATA2LSB, ET_CORE, EM_AARCH64, "AArch64");
	assert_header_refused(ELFCLASS32, ELFDATA2LSB, ET_CORE, EM_386, "32-bit i386");
	assert_header_refused(ELFCLASS32, ELFDATA2LSB, ET_CORE, EM_X86_64, "x32");
	assert_header_refused(ELFCLASS64, ELFDATA2MSB, ET_CORE, EM_S390, "S/390");
	assert_header_refused(ELFCLASS64, ELFDATA2LSB, ET_CORE, 0xfeed, "machine 65261");
	assert_header_refused(ELFCLASS64, ELFDATA2LSB, ET_CORE, EM_X86_64, "no program headers");

	builder_init(&builder);
	add_thread(&builder, 1, 0);
	fd = write_core(&builder, path);
	assert_refused(path, RI_ERROR_INPUT, "no PT_LOAD");
	close(fd);
	builder.phdrs.items[0].p_offset = 0;
	add_note(&builder, "VMCOREINFO", 0, "OSRELEASE=6.1", 13);
	add_load(&builder, 0xffff888000000000, PAGE, "", 0, PF_R);
	fd = write_core(&builder, path);
	assert_refused(path, RI_ERROR_INPUT, "kernel dump");
	close(fd);
	builder_deinit(&builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_shape),
		cmocka_unit_test(gdb_shape_has_unaligned_offsets),
		cmocka_unit_test(gdb_counts_file_offsets_in_bytes),
		cmocka_unit_test(many_segments_are_counted_elsewhere),
		cmocka_unit_test(truncated_core_has_missing_ranges),
		cmocka_unit_test(large_holes_are_known_to_be_zero),
		cmocka_unit_test(absent_stack_means_that_absent_memory_is_missing),
		cmocka_unit_test(objects_are_not_shared_though_their_headers_are_absent),
		cmocka_unit_test(without_list_of_files_absent_memory_is_missing),
		cmocka_unit_test(notes_are_read),
		cmocka_unit_test(core_without_threads_is_told),
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(other_elf_files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
