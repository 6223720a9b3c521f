/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the unit tests of the core reader: cores built in memory files, opened,
 * and asked what they hold.
 */
#ifndef TESTS_UNIT_CORE_BUILDER_H
#define TESTS_UNIT_CORE_BUILDER_H

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "target/target.h"

#define PAGE 4096u

/* --- building cores --- */

struct builder {
	RI_VEC(Elf64_Phdr) phdrs; /* [0]: the notes */
	RI_VEC(uint8_t) notes;
	RI_VEC(uint8_t) data;     /* of the segments, behind the notes */
	uint64_t data_align;      /* of each segment in the file */
	bool extended;            /* count the segments in a section header */
};

static inline void append(uint8_t **items, size_t *count, size_t *capacity, const void *p, size_t size)
{
	*items = ri_grow(*items, capacity, *count + size, 1);
	if (size)
		memcpy(*items + *count, p, size);
	*count += size;
}

#define APPEND(vec, p, size) append(&(vec)->items, &(vec)->count, &(vec)->capacity, p, size)

static inline void pad(struct builder *builder, size_t align)
{
	while (builder->data.count % align)
		APPEND(&builder->data, "", 1);
}

static inline void builder_init(struct builder *builder)
{
	*builder = (struct builder){ .data_align = PAGE };
	ri_push(&builder->phdrs)->p_type = PT_NOTE;
}

static inline void builder_deinit(struct builder *builder)
{
	ri_vec_deinit(&builder->phdrs);
	ri_vec_deinit(&builder->notes);
	ri_vec_deinit(&builder->data);
}

static inline void add_note(struct builder *builder, const char *name, uint32_t type, const void *desc,
		     size_t size)
{
	Elf64_Nhdr header = { (uint32_t)strlen(name) + 1, (uint32_t)size, type };

	APPEND(&builder->notes, &header, sizeof(header));
	APPEND(&builder->notes, name, header.n_namesz);
	while (builder->notes.count % 4)
		APPEND(&builder->notes, "", 1);
	APPEND(&builder->notes, desc, size);
	while (builder->notes.count % 4)
		APPEND(&builder->notes, "", 1);
}

static inline void add_thread(struct builder *builder, pid_t tid, uint64_t stack)
{
	struct elf_prstatus status = { .pr_pid = tid, .pr_cursig = SIGABRT };
	uint64_t registers[RI_REGISTER_COUNT];

	for (size_t i = 0; i < RI_REGISTER_COUNT; i++)
		registers[i] = (uint64_t)tid * 100 + i;
	registers[RI_REG_RSP] = stack;
	memcpy(&status.pr_reg, registers, sizeof(registers));
	add_note(builder, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

static inline Elf64_Phdr *add_load(struct builder *builder, uint64_t addr, uint64_t memory_size,
			    const void *bytes, uint64_t file_size, uint32_t flags)
{
	Elf64_Phdr *phdr = ri_push(&builder->phdrs);

	pad(builder, builder->data_align);
	phdr->p_type = PT_LOAD;
	phdr->p_vaddr = addr;
	phdr->p_memsz = memory_size;
	phdr->p_filesz = file_size;
	phdr->p_flags = flags;
	phdr->p_offset = builder->data.count; /* made absolute when it is written */
	APPEND(&builder->data, bytes, file_size);
	return phdr;
}

struct row {
	uint64_t start, end, page_offset;
};

static inline void add_files(struct builder *builder, uint64_t count, uint64_t page_size,
		      const struct row *rows, size_t row_count, const char *names,
		      size_t names_size)
{
	RI_VEC(uint8_t) desc = { 0 };

	APPEND(&desc, &count, sizeof(count));
	APPEND(&desc, &page_size, sizeof(page_size));
	APPEND(&desc, rows, row_count * sizeof(*rows));
	APPEND(&desc, names, names_size);
	add_note(builder, "CORE", NT_FILE, desc.items, desc.count);
	ri_vec_deinit(&desc);
}

/* Writes the core to a memory file; its path in `path` (at least 64 bytes).
 * Returns the descriptor. */
static inline int write_core(struct builder *builder, char *path)
{
	Elf64_Ehdr header = { .e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			      .e_phoff = sizeof(header), .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = (uint16_t)builder->phdrs.count };
	uint64_t notes_at = sizeof(header) + builder->phdrs.count * sizeof(Elf64_Phdr);
	uint64_t data_at = notes_at + builder->notes.count;
	int fd = memfd_create("core", MFD_CLOEXEC);

	assert_true(fd >= 0);
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	if (builder->data_align > 1)
		data_at = (data_at + PAGE - 1) / PAGE * PAGE;
	builder->phdrs.items[0].p_offset = notes_at;
	builder->phdrs.items[0].p_filesz = builder->notes.count;
	for (size_t i = 1; i < builder->phdrs.count; i++)
		builder->phdrs.items[i].p_offset += data_at;
	if (builder->extended) {
		Elf64_Shdr section = { .sh_info = (uint32_t)builder->phdrs.count };

		header.e_phnum = PN_XNUM;
		header.e_shnum = 1;
		header.e_shoff = data_at + builder->data.count;
		assert_int_equal(pwrite(fd, &section, sizeof(section), (off_t)header.e_shoff),
				 sizeof(section));
	}
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, builder->phdrs.items, notes_at - sizeof(header),
				sizeof(header)), notes_at - sizeof(header));
	assert_int_equal(pwrite(fd, builder->notes.items, builder->notes.count, (off_t)notes_at),
			 builder->notes.count);
	assert_int_equal(pwrite(fd, builder->data.items, builder->data.count, (off_t)data_at),
			 builder->data.count);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* --- opening and comparing --- */

/* Writes, opens and frees the builder; the open must succeed. */
static inline struct ri_target *open_built(struct builder *builder, struct ri_gaps *gaps)
{
	struct ri_target *target = NULL;
	char path[64];
	int fd = write_core(builder, path);
	struct ri_error *error;

	ri_gaps_init(gaps);
	error = ri_target_open_core(path, gaps, &target);
	if (error)
		fail_msg("%s", error->message);
	close(fd);
	builder_deinit(builder);
	return target;
}

static inline bool has_gap(const struct ri_gaps *gaps, enum ri_gap_weight weight, const char *part)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].weight == weight && strstr(gaps->items[i].message, part))
			return true;
	return false;
}

static inline void assert_refused(const char *path, enum ri_error_code code, const char *part)
{
	struct ri_target *target = NULL;
	struct ri_error *error;
	struct ri_gaps gaps;

	ri_gaps_init(&gaps);
	error = ri_target_open_core(path, &gaps, &target);
	assert_non_null(error);
	assert_null(target);
	assert_int_equal(error->code, code);
	if (!strstr(error->message, part))
		fail_msg("\"%s\" does not say \"%s\"", error->message, part);
	ri_error_destroy(error);
	ri_gaps_deinit(&gaps);
}

static inline void assert_kind(const struct ri_target *target, uint64_t addr, enum ri_range_kind kind,
			uint32_t flags)
{
	const struct ri_range *range = ri_image_find(target->image, addr);

	assert_non_null(range);
	assert_int_equal(range->kind, kind);
	assert_int_equal(range->flags, flags);
}

static inline void close_all(struct ri_target *target, struct ri_gaps *gaps)
{
	ri_target_close(target);
	ri_gaps_deinit(gaps);
}

enum { R = RI_RANGE_READ, W = RI_RANGE_WRITE, X = RI_RANGE_EXEC, S = RI_RANGE_SHARED,
       A = RI_RANGE_ANONYMOUS };

/*
 * A process: an executable (text absent but for the first page, data written,
 * .bss), a heap, memory never touched, shared memory, a data file mapped
 * read-only and one mapped to be written, a guard, a stack, the vsyscall page.
 */
static inline void build_process(struct builder *builder)
{
	static const struct row rows[] = {
		{ 0x400000, 0x401000, 0 }, { 0x401000, 0x403000, 1 }, { 0x403000, 0x404000, 3 },
		{ 0x404000, 0x405000, 4 }, { 0x700000, 0x701000, 0 }, { 0x710000, 0x711000, 0 },
		{ 0x720000, 0x722000, 7 }, { 0x730000, 0x731000, 0 },
	};
	static const char names[] = "/bin/p\0/bin/p\0/bin/p\0/bin/p\0/memfd:m (deleted)\0/data/ro\0"
				    "/data/rw\0/dev/shm/x";
	static const char elf_page[PAGE] = ELFMAG "first page";
	static const char page[PAGE] = "a page";

	builder_init(builder);
	add_thread(builder, 11, 0x7ff800);
	add_thread(builder, 12, 0x7ff900);
	add_files(builder, 8, PAGE, rows, 8, names, sizeof(names));
	add_load(builder, 0x400000, PAGE, elf_page, PAGE, PF_R);
	add_load(builder, 0x401000, 2 * PAGE, "", 0, PF_R | PF_X);
	add_load(builder, 0x403000, PAGE, "", 0, PF_R | PF_W);
	add_load(builder, 0x404000, PAGE, page, PAGE, PF_R | PF_W);
	add_load(builder, 0x405000, PAGE, "", 0, PF_R | PF_W);
	add_load(builder, 0x600000, 2 * PAGE, page, PAGE, PF_R | PF_W);
	add_load(builder, 0x610000, PAGE, "", 0, PF_R);
	add_load(builder, 0x620000, PAGE, "", 0, 0);
	add_load(builder, 0x700000, PAGE, page, PAGE, PF_R | PF_W);
	add_load(builder, 0x710000, PAGE, "", 0, PF_R);
	add_load(builder, 0x720000, 2 * PAGE, "", 0, PF_R | PF_W);
	add_load(builder, 0x730000, PAGE, "", 0, PF_R);
	add_load(builder, 0x7ff000, PAGE, page, PAGE, PF_R | PF_W);
	add_load(builder, 0xffffffffff600000, PAGE, page, PAGE, PF_X);
}

#endif
