/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a core that claims more than the process had, so that what grows with threads,
 * mapped files and segments can be tried without making them.
 *
 *	inflate [options] CORE OUT
 *		--threads=N   N threads more, with the registers of the first, whose stack
 *		              pointers lie in the stack of the first
 *		--modules=N   N more mapped files, each with the first page of the one at AT_ENTRY's
 *		              side: the first file of NT_FILE
 *		--segments=N  N more segments of a page without bytes
 *		--copies=N    N more segments that all have the bytes of the largest one
 *
 * All segments keep their bytes; what is added lies behind what is there, with segments
 * beyond 65534 counted as the kernel counts them.  CORE is one that coremaker wrote.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/memory.h"

#define PAGE 4096ul
/* Where nothing of a process lies: its mappings are at 0x5..., 0x7f... or below 2^32. */
#define MODULES_AT  0x100000000000ul
#define SEGMENTS_AT 0x200000000000ul
#define COPIES_AT   0x300000000000ul
#define STRIDE      0x10000ul

typedef RI_VEC(uint8_t) bytes;

struct inflater {
	unsigned long threads, modules, segments, copies;
	const uint8_t *core;
	size_t core_bytes;
	const Elf64_Phdr *phdrs;
	size_t phdr_count;
	RI_VEC(Elf64_Phdr) headers;
	bytes notes;
	uint64_t page_at;        /* in the core: the first page of the first mapped file */
};

static void append(bytes *to, const void *p, size_t size)
{
	to->items = ri_grow(to->items, &to->capacity, to->count + size, 1);
	if (size)
		memcpy(to->items + to->count, p, size);
	to->count += size;
}

static void append_note(bytes *to, const Elf64_Nhdr *like, const char *name, const void *desc,
			size_t size)
{
	Elf64_Nhdr header = *like;

	header.n_descsz = (uint32_t)size;
	append(to, &header, sizeof(header));
	append(to, name, header.n_namesz);
	append(to, "\0\0\0", -to->count % 4);
	append(to, desc, size);
	append(to, "\0\0\0", -to->count % 4);
}

static const Elf64_Phdr *find_load(const struct inflater *inflater, uint64_t addr)
{
	for (size_t i = 0; i < inflater->phdr_count; i++) {
		const Elf64_Phdr *phdr = &inflater->phdrs[i];

		if (phdr->p_type == PT_LOAD && addr >= phdr->p_vaddr &&
		    addr - phdr->p_vaddr < phdr->p_filesz)
			return phdr;
	}
	return NULL;
}

static void add_threads(struct inflater *inflater, const Elf64_Nhdr *note,
			const struct elf_prstatus *first)
{
	struct user_regs_struct registers;
	const Elf64_Phdr *stack;
	uint64_t room;

	memcpy(&registers, &first->pr_reg, sizeof(registers));
	stack = find_load(inflater, registers.rsp);
	if (!stack)
		errx(1, "no stack");
	room = stack->p_vaddr + stack->p_filesz - registers.rsp;
	for (unsigned long i = 0; i < inflater->threads; i++) {
		struct elf_prstatus status = *first;
		struct user_regs_struct own = registers;

		status.pr_pid += (int)i + 1;
		own.rsp += i * 16 % room;
		memcpy(&status.pr_reg, &own, sizeof(own));
		append_note(&inflater->notes, note, "CORE", &status, sizeof(status));
	}
}

/* NT_FILE with rows for the added files. */
static void add_modules(struct inflater *inflater, const Elf64_Nhdr *note, const uint8_t *desc)
{
	uint64_t count, unit, row[3];
	bytes rows = { 0 }, names = { 0 };
	const Elf64_Phdr *load;

	memcpy(&count, desc, 8);
	memcpy(&unit, desc + 8, 8);
	memcpy(row, desc + 16, 24);
	load = find_load(inflater, row[0]);
	if (!load)
		errx(1, "no first page of a file");
	inflater->page_at = load->p_offset + (row[0] - load->p_vaddr);
	append(&rows, &(uint64_t){ count + inflater->modules }, 8);
	append(&rows, &unit, 8);
	append(&rows, desc + 16, count * 24);
	append(&names, desc + 16 + count * 24, note->n_descsz - 16 - count * 24);
	for (unsigned long i = 0; i < inflater->modules; i++) {
		uint64_t start = MODULES_AT + i * STRIDE;
		char name[64];

		append(&rows, (uint64_t[]){ start, start + STRIDE, 0 }, 24);
		append(&names, name, (size_t)snprintf(name, sizeof(name),
						      "/nonexistent/lib%lu.so", i) + 1);
	}
	append(&rows, names.items, names.count);
	append_note(&inflater->notes, note, "CORE", rows.items, rows.count);
	ri_vec_deinit(&rows);
	ri_vec_deinit(&names);
}

static void copy_notes(struct inflater *inflater, const uint8_t *notes, size_t size)
{
	size_t at = 0;
	unsigned seen = 0;

	while (at + sizeof(Elf64_Nhdr) <= size) {
		Elf64_Nhdr note;
		const uint8_t *name, *desc;

		memcpy(&note, notes + at, sizeof(note));
		name = notes + at + sizeof(note);
		desc = name + (note.n_namesz + 3) / 4 * 4;
		if (note.n_type == NT_FILE && inflater->modules)
			add_modules(inflater, &note, desc);
		else
			append_note(&inflater->notes, &note, (const char *)name, desc, note.n_descsz);
		if (note.n_type == NT_PRSTATUS && !seen++) {
			struct elf_prstatus first;

			memcpy(&first, desc, sizeof(first));
			add_threads(inflater, &note, &first);
		}
		at = (size_t)(desc - notes) + (note.n_descsz + 3) / 4 * 4;
	}
}

static void add_segments(struct inflater *inflater, uint64_t shift)
{
	const Elf64_Phdr *largest = &inflater->phdrs[0];

	for (size_t i = 0; i < inflater->phdr_count; i++)
		if (inflater->phdrs[i].p_type == PT_LOAD &&
		    inflater->phdrs[i].p_filesz > largest->p_filesz &&
		    inflater->phdrs[i].p_flags & PF_W)
			largest = &inflater->phdrs[i];
	for (unsigned long i = 0; i < inflater->modules; i++)
		*ri_push(&inflater->headers) = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = PAGE,
			.p_offset = inflater->page_at + shift, .p_vaddr = MODULES_AT + i * STRIDE,
			.p_filesz = PAGE, .p_memsz = STRIDE,
		};
	for (unsigned long i = 0; i < inflater->segments; i++)
		*ri_push(&inflater->headers) = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_align = PAGE,
			.p_vaddr = SEGMENTS_AT + i * 2 * PAGE, .p_memsz = PAGE,
		};
	for (unsigned long i = 0; i < inflater->copies; i++) {
		Elf64_Phdr *phdr = ri_push(&inflater->headers);

		*phdr = *largest;
		phdr->p_offset += shift;
		phdr->p_vaddr = COPIES_AT + i * (largest->p_memsz + PAGE);
	}
}

static void write_out(int fd, const void *p, size_t size)
{
	const uint8_t *at = p;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n <= 0)
			err(1, "write");
		at += n;
		size -= (size_t)n;
	}
}

static void inflate(struct inflater *inflater, int out)
{
	Elf64_Ehdr header;
	uint64_t shift, count;

	memcpy(&header, inflater->core, sizeof(header));
	inflater->phdrs = (const Elf64_Phdr *)(inflater->core + header.e_phoff);
	inflater->phdr_count = header.e_phnum;
	copy_notes(inflater, inflater->core + inflater->phdrs[0].p_offset,
		   inflater->phdrs[0].p_filesz);
	count = header.e_phnum + inflater->modules + inflater->segments + inflater->copies;
	/* in front of the old file: header, program headers, a section header, notes */
	shift = sizeof(header) + count * sizeof(Elf64_Phdr) + sizeof(Elf64_Shdr);
	*ri_push(&inflater->headers) = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = shift, .p_filesz = inflater->notes.count, .p_align = 4,
	};
	shift = (shift + inflater->notes.count + PAGE - 1) / PAGE * PAGE;
	for (size_t i = 1; i < inflater->phdr_count; i++) {
		*ri_push(&inflater->headers) = inflater->phdrs[i];
		inflater->headers.items[i].p_offset += shift;
	}
	add_segments(inflater, shift);
	header.e_phoff = sizeof(header);
	header.e_phnum = count < PN_XNUM ? (uint16_t)count : PN_XNUM;
	header.e_shoff = sizeof(header) + count * sizeof(Elf64_Phdr);
	header.e_shnum = 1;
	header.e_shentsize = sizeof(Elf64_Shdr);
	write_out(out, &header, sizeof(header));
	write_out(out, inflater->headers.items, count * sizeof(Elf64_Phdr));
	write_out(out, &(Elf64_Shdr){ .sh_size = 1, .sh_info = (uint32_t)count }, sizeof(Elf64_Shdr));
	write_out(out, inflater->notes.items, inflater->notes.count);
	if (lseek(out, (off_t)shift, SEEK_SET) < 0)
		err(1, "seek");
	write_out(out, inflater->core, inflater->core_bytes);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "modules", required_argument, NULL, 'm' },
		{ "segments", required_argument, NULL, 's' },
		{ "copies", required_argument, NULL, 'c' },
		{ 0 },
	};
	struct inflater inflater = { 0 };
	struct stat st;
	int option, fd, out;
	void *p;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		unsigned long *number = option == 't' ? &inflater.threads
					: option == 'm' ? &inflater.modules
					: option == 's' ? &inflater.segments
					: option == 'c' ? &inflater.copies : NULL;

		if (!number)
			return 2;
		*number = strtoul(optarg, NULL, 0);
	}
	if (argc - optind != 2) {
		fputs("usage: inflate [options] CORE OUT\n", stderr);
		return 2;
	}
	fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", argv[optind]);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	out = open(argv[optind + 1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (p == MAP_FAILED || out < 0)
		err(1, "%s", argv[optind + 1]);
	inflater.core = p;
	inflater.core_bytes = (size_t)st.st_size;
	inflate(&inflater, out);
	if (close(out))
		err(1, "%s", argv[optind + 1]);
	munmap(p, (size_t)st.st_size);
	close(fd);
	ri_vec_deinit(&inflater.headers);
	ri_vec_deinit(&inflater.notes);
	return 0;
}
