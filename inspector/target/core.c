/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Core files: the ELF header, the program headers, and what they say of memory.
 * Knows the shapes that the kernel, gdb and other writers of x86-64 cores give
 * their files; leaves notes to notes.c, modules to the module loader.
 *
 * The file is mapped, never read whole; PRESENT ranges point into the mapping.
 * A segment's bytes beyond its p_filesz are absent.  What was there follows from
 * what the mapping was: private anonymous memory that a process has written is
 * dumped by every common setting, so absent writable anonymous memory is
 * presumed never touched, unless a thread's stack pointer lies in such memory:
 * then this core leaves out what was written, and all of it is MISSING.  Absent
 * memory with a file behind it is MISSING, to be filled by the module loader
 * where the file is an ELF file that matches.
 *
 * Cost: n log n in the number of segments and files, whatever overlaps; bytes
 * are not touched.  Blind spots: a PT_LOAD does not say whether a mapping was
 * shared (see mark_shared() in core_files.c); MADV_DONTDUMP looks like memory
 * that was never touched.  A file that shrinks while it is mapped raises SIGBUS.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/core_private.h"

#define STAGE "target"

/* So many times the file's size may its segments have between them.  No writer that is known
 * has segments share their bytes. */
#define SHARING_MAX 16

static struct ri_error *unusable(const struct ri_core *core, const char *what)
{
	return ri_error_create(RI_ERROR_INPUT, "%s: %s", core->path, what);
}

/* Null for a regular file, else what it is. */
static const char *why_not_regular(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NULL;
	case S_IFDIR:
		return "is a directory, not a core file";
	case S_IFIFO:
		return "is a FIFO, not a core file";
	case S_IFCHR:
	case S_IFBLK:
		return "is a device, not a core file";
	case S_IFSOCK:
		return "is a socket, not a core file";
	default:
		return "is no regular file";
	}
}

/*
 * Opens and maps the file.  Its kind is asked before it is opened, because
 * opening some devices has effects, and again afterwards, of the file opened.
 */
static struct ri_error *map_file(struct ri_core *core)
{
	struct ri_error *error = NULL;
	struct stat st;
	void *p;
	int fd;

	if (stat(core->path, &st))
		return ri_error_create_errno(errno, "%s", core->path);
	if (why_not_regular(st.st_mode))
		return unusable(core, why_not_regular(st.st_mode));
	fd = open(core->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return ri_error_create_errno(errno, "%s", core->path);
	if (fstat(fd, &st)) {
		error = ri_error_create_errno(errno, "%s", core->path);
	} else if (why_not_regular(st.st_mode)) {
		error = unusable(core, why_not_regular(st.st_mode));
	} else if (!st.st_size) {
		error = unusable(core, "is empty");
	} else {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			error = ri_error_create_errno(errno, "%s: cannot be mapped", core->path);
		} else {
			core->bytes = p;
			core->size_bytes = (uint64_t)st.st_size;
			ri_image_own_mapping(core->target->image, p, (size_t)st.st_size);
		}
	}
	core->fd = fd;
	return error;
}

/* What a file that is not ELF is, where its first bytes tell something useful. */
static const char *describe_magic(const uint8_t *bytes, uint64_t size_bytes)
{
	static const struct {
		const char *magic;
		size_t size_bytes;
		const char *what;
	} known[] = {
		{ "\x28\xb5\x2f\xfd", 4, "is compressed (zstd); decompress it first" },
		{ "\x1f\x8b", 2, "is compressed (gzip); decompress it first" },
		{ "\xfd" "7zXZ", 6, "is compressed (xz); decompress it first" },
		{ "\x04\x22\x4d\x18", 4, "is compressed (lz4); decompress it first" },
		{ "BZh", 3, "is compressed (bzip2); decompress it first" },
		{ "PK\x03\x04", 4, "is a ZIP archive; unpack it first" },
		{ "KDUMP   ", 8, "is a kernel dump (kdump); only process cores can be read" },
		{ "MDMP", 4, "is a minidump; it does not hold the memory that is needed" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (size_bytes >= known[i].size_bytes &&
		    !memcmp(bytes, known[i].magic, known[i].size_bytes))
			return known[i].what;
	return "is not an ELF file";
}

static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} known[] = {
		{ EM_386, "i386" },       { EM_X86_64, "x32" },       { EM_AARCH64, "AArch64" },
		{ EM_ARM, "Arm" },        { EM_PPC, "PowerPC" },      { EM_PPC64, "64-bit PowerPC" },
		{ EM_S390, "S/390" },     { EM_RISCV, "RISC-V" },     { EM_MIPS, "MIPS" },
		{ EM_SPARC, "SPARC" },    { EM_SPARCV9, "SPARC V9" }, { EM_IA_64, "Itanium" },
		{ EM_ALPHA, "Alpha" },    { EM_PARISC, "PA-RISC" },   { EM_68K, "m68k" },
		{ EM_LOONGARCH, "LoongArch" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].machine == machine)
			return known[i].name;
	return NULL;
}

static struct ri_error *refuse_machine(const struct ri_core *core, const uint8_t *ident,
				       unsigned machine)
{
	const char *bits = ident[EI_CLASS] == ELFCLASS32 ? "32-bit " : "";
	const char *name = machine_name(machine);

	if (name)
		return ri_error_create(RI_ERROR_INPUT,
				       "%s: is a core of a %s%s process; only x86-64 can be read",
				       core->path, strncmp(name, "64", 2) ? bits : "", name);
	return ri_error_create(RI_ERROR_INPUT,
			       "%s: is a core of a %sprocess of ELF machine %u; only x86-64 can be "
			       "read", core->path, bits, machine);
}

/* Checks that the file is an x86-64 core and copies its header. */
static struct ri_error *read_header(const struct ri_core *core, Elf64_Ehdr *ret)
{
	unsigned type, machine;
	bool big;

	if (core->size_bytes < SELFMAG || memcmp(core->bytes, ELFMAG, SELFMAG))
		return unusable(core, describe_magic(core->bytes, core->size_bytes));
	if (core->size_bytes < sizeof(*ret))
		return unusable(core, "is cut off within its ELF header");
	memcpy(ret, core->bytes, sizeof(*ret));
	/* e_type and e_machine lie at the same place in both classes */
	big = ret->e_ident[EI_DATA] == ELFDATA2MSB;
	type = big ? __builtin_bswap16(ret->e_type) : ret->e_type;
	machine = big ? __builtin_bswap16(ret->e_machine) : ret->e_machine;
	switch (type) {
	case ET_CORE:
		break;
	case ET_EXEC:
		return unusable(core, "is an executable, not a core file");
	case ET_DYN:
		return unusable(core, "is an executable or shared object, not a core file");
	case ET_REL:
		return unusable(core, "is an object file, not a core file");
	default:
		return unusable(core, "is an ELF file, but no core file");
	}
	if (machine != EM_X86_64 || ret->e_ident[EI_CLASS] != ELFCLASS64 || big)
		return refuse_machine(core, ret->e_ident, machine);
	if (ret->e_phentsize != sizeof(Elf64_Phdr))
		return unusable(core, "has program headers of an unknown size");
	return NULL;
}

/*
 * More than 65534 segments are counted in the first section header, which the
 * kernel puts at the end of the file: lost when the core is cut off.  Then the
 * first segment, the notes, tells: the kernel puts it right behind the program
 * headers.
 */
static struct ri_error *count_many_phdrs(const struct ri_core *core, const Elf64_Ehdr *header,
					 uint64_t *ret)
{
	Elf64_Shdr section;
	Elf64_Phdr first;

	if (core->size_bytes >= sizeof(section) &&
	    header->e_shoff <= core->size_bytes - sizeof(section) && header->e_shoff) {
		memcpy(&section, core->bytes + header->e_shoff, sizeof(section));
		*ret = section.sh_info;
		return NULL;
	}
	if (core->size_bytes >= sizeof(first) &&
	    header->e_phoff <= core->size_bytes - sizeof(first)) {
		memcpy(&first, core->bytes + header->e_phoff, sizeof(first));
		if (first.p_type == PT_NOTE && first.p_offset > header->e_phoff) {
			*ret = (first.p_offset - header->e_phoff) / sizeof(first);
			return NULL;
		}
	}
	return unusable(core, "is cut off; how many segments it had is lost");
}

/* Finds the program headers: `core->phdrs`, as many as the file still has. */
static struct ri_error *find_phdrs(struct ri_core *core, const Elf64_Ehdr *header)
{
	uint64_t count = header->e_phnum, room;

	if (count == PN_XNUM) {
		struct ri_error *error = count_many_phdrs(core, header, &count);

		if (error)
			return error;
	}
	if (!count)
		return unusable(core, "has no program headers");
	if (header->e_phoff >= core->size_bytes)
		return unusable(core, "is cut off before its program headers");
	room = (core->size_bytes - header->e_phoff) / sizeof(Elf64_Phdr);
	if (count > room) {
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "the core is cut off within its program headers: %llu of %llu segments "
			    "are known", (unsigned long long)room, (unsigned long long)count);
		count = room;
	}
	core->phdrs = core->bytes + header->e_phoff;
	core->phdr_count = count;
	return NULL;
}

/* How many of the `size_bytes` bytes at `offset` the file has. */
static uint64_t bytes_there(const struct ri_core *core, uint64_t offset, uint64_t size_bytes)
{
	if (offset >= core->size_bytes)
		return 0;
	return size_bytes < core->size_bytes - offset ? size_bytes : core->size_bytes - offset;
}

static void read_notes(struct ri_core *core, const Elf64_Phdr *phdr)
{
	uint64_t size_bytes = bytes_there(core, phdr->p_offset, phdr->p_filesz);

	core->target->has_lost_threads |= size_bytes < phdr->p_filesz;
	if (size_bytes < phdr->p_filesz)
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "the core is cut off within its notes (threads, mapped files)");
	/* Segments that share their bytes would be read over and over. */
	if (size_bytes > core->size_bytes - core->note_bytes) {
		core->target->has_lost_threads = true;
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "note segments overlap; some were not read");
		return;
	}
	core->note_bytes += size_bytes;
	if (size_bytes)
		ri_core_notes_read(&core->notes, core->bytes + phdr->p_offset, size_bytes,
				   phdr->p_align);
}

/* Whether the segment may have these bytes.  A small file whose segments share them could
 * claim any amount of memory. */
static bool take_bytes(struct ri_core *core, uint64_t size_bytes)
{
	if (__builtin_add_overflow(core->load_bytes, size_bytes, &core->load_bytes))
		core->load_bytes = UINT64_MAX;
	if (core->load_bytes / SHARING_MAX <= core->size_bytes)
		return true;
	ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
		    "segments overlap in the file; the memory of some was not used");
	return false;
}

static void read_load(struct ri_core *core, const Elf64_Phdr *phdr)
{
	uint64_t end, there, file_size = phdr->p_filesz;
	struct ri_core_load *load;

	if (!phdr->p_memsz)
		return;
	if (__builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end)) {
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "a segment runs past the end of the address space; it was not used");
		return;
	}
	if (file_size > phdr->p_memsz) {
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "a segment has more bytes in the file than in memory");
		file_size = phdr->p_memsz;
	}
	load = ri_push(&core->loads);
	load->start = phdr->p_vaddr;
	load->end = end;
	load->dumped_end = load->start + file_size;
	there = bytes_there(core, phdr->p_offset, file_size);
	core->dumped_bytes += (double)file_size;
	core->lost_bytes += (double)(file_size - there);
	load->present_end = load->start + (take_bytes(core, there) ? there : 0);
	load->bytes = load->present_end > load->start ? core->bytes + phdr->p_offset : NULL;
	load->flags = (phdr->p_flags & PF_R ? RI_RANGE_READ : 0u) |
		      (phdr->p_flags & PF_W ? RI_RANGE_WRITE : 0u) |
		      (phdr->p_flags & PF_X ? RI_RANGE_EXEC : 0u);
}

static int compare_loads(const void *a, const void *b)
{
	const struct ri_core_load *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static struct ri_error *read_segments(struct ri_core *core)
{
	for (uint64_t i = 0; i < core->phdr_count; i++) {
		Elf64_Phdr phdr;

		memcpy(&phdr, core->phdrs + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_NOTE)
			read_notes(core, &phdr);
		else if (phdr.p_type == PT_LOAD)
			read_load(core, &phdr);
	}
	if (core->notes.is_kernel_dump)
		return unusable(core, "is a kernel dump; only process cores can be read");
	if (!core->loads.count)
		return unusable(core, "is a core without memory (no PT_LOAD segment)");
	qsort(core->loads.items, core->loads.count, sizeof(*core->loads.items), compare_loads);
	return NULL;
}

/* Hands the threads over and says what is missing of the file. */
static void finish(struct ri_core *core)
{
	struct ri_target *target = core->target;

	target->threads = core->notes.threads.items;
	target->thread_count = core->notes.threads.count;
	core->notes.threads.items = NULL;
	target->has_lost_threads |= !target->thread_count;
	if (!target->thread_count)
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "the core has no thread (no NT_PRSTATUS note): registers and stacks "
			    "are unknown");
	else if (!target->pid)
		target->pid = target->threads[0].tid;
	if (core->lost_bytes > 0) {
		target->missing_percent = 100 * core->lost_bytes / core->dumped_bytes;
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "the core is truncated: %.3g %% of its memory is missing (disk full, or "
			    "a size limit when it was written?)", target->missing_percent);
	}
}

static struct ri_error *open_core(struct ri_core *core)
{
	struct ri_error *error;
	Elf64_Ehdr header;

	error = map_file(core);
	if (!error)
		error = read_header(core, &header);
	if (!error)
		error = find_phdrs(core, &header);
	if (!error)
		error = read_segments(core);
	if (error)
		return error;
	finish(core);
	ri_core_find_holes(core);
	ri_core_fill(core);
	ri_image_seal(core->target->image);
	return NULL;
}

struct ri_error *ri_target_open_core(const char *path, struct ri_gaps *gaps,
				     struct ri_target **ret)
{
	struct ri_target *target = ri_calloc(1, sizeof(*target));
	struct ri_core core = { .path = path, .gaps = gaps, .target = target, .fd = -1 };
	struct ri_error *error;

	target->kind = RI_TARGET_CORE;
	target->path = ri_strdup(path);
	target->image = ri_image_create();
	core.notes.target = target;
	core.notes.gaps = gaps;
	error = open_core(&core);
	for (size_t i = 0; core.notes.threads.items && i < core.notes.threads.count; i++)
		free(core.notes.threads.items[i].vector);
	for (size_t i = 0; i < core.notes.files.count; i++)
		free(core.notes.files.items[i].path);
	ri_vec_deinit(&core.notes.threads);
	ri_vec_deinit(&core.notes.files);
	ri_vec_deinit(&core.loads);
	ri_vec_deinit(&core.holes);
	if (core.fd >= 0)
		close(core.fd);
	if (error)
		ri_target_close(target);
	else
		*ret = target;
	return error;
}
