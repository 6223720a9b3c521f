/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a core of a live process in the shape that the kernel gives it, so that
 * tests have fresh cores wherever core_pattern leads.  The process is stopped,
 * dumped and goes on.
 *
 * Knows how the kernel chooses what to dump (coredump_filter, MADV_DONTDUMP,
 * memory that was never written, first pages of ELF files) and lays it out.
 * Stops and reads the process by itself rather than with the code under test;
 * only the look-up of existing pages is shared.  All memory goes through a
 * chunk buffer; pages of zeros become holes.
 */
#include <dirent.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "target/live_private.h"

#define PAGE 4096u
#define CHUNK (1u << 20)
#define VECTOR_MAX (1u << 16)
#define DEADLINE_SECONDS 60

/* Bits of /proc/PID/coredump_filter, see core(5). */
enum { ANON_PRIVATE = 1, ANON_SHARED = 2, MAPPED_PRIVATE = 4, MAPPED_SHARED = 8, ELF_HEADERS = 16 };

struct thread {
	pid_t tid;
	int signal; /* to hand over on release */
	struct user_regs_struct registers;
	uint8_t *fp, *xsave;
	size_t fp_size, xsave_size;
};

struct area {
	uint64_t start, end, offset, inode;
	char permissions[5];
	char *path;                   /* "" for none */
	bool was_written;             /* has pages of its own */
	bool dont_dump, is_io;
	uint64_t dump_size;           /* p_filesz */
};

struct maker {
	pid_t pid;
	const char *out;
	int signal;
	bool gdb_shape, drop_anon;
	double keep_percent;
	int mem_fd, out_fd;
	unsigned filter;
	RI_VEC(struct thread) threads;
	RI_VEC(struct area) areas;
	RI_VEC(uint8_t) notes;
};

/* --- stopping --- */

static bool is_known(const struct maker *maker, pid_t tid)
{
	for (size_t i = 0; i < maker->threads.count; i++)
		if (maker->threads.items[i].tid == tid)
			return true;
	return false;
}

static uint8_t *read_regset(pid_t tid, unsigned long type, size_t *ret_size)
{
	struct iovec iov = { ri_malloc(VECTOR_MAX), VECTOR_MAX };

	*ret_size = 0;
	if (!ptrace(PTRACE_GETREGSET, tid, (void *)type, &iov))
		*ret_size = iov.iov_len;
	return iov.iov_base;
}

/* Stops one thread and reads its registers; false when it is gone. */
static bool stop_thread(pid_t tid, struct thread *ret)
{
	struct iovec iov = { &ret->registers, sizeof(ret->registers) };
	int status;

	*ret = (struct thread){ .tid = tid };
	iov.iov_base = &ret->registers;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		if (errno == ESRCH)
			return false;
		err(1, "thread %d cannot be traced", (int)tid);
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status))
		return false;
	if (status >> 16 != PTRACE_EVENT_STOP)
		ret->signal = WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov))
		err(1, "registers of thread %d", (int)tid);
	ret->fp = read_regset(tid, NT_PRFPREG, &ret->fp_size);
	ret->xsave = read_regset(tid, NT_X86_XSTATE, &ret->xsave_size);
	return true;
}

/* Stops all threads: until the list names no new one. */
static void stop_all(struct maker *maker)
{
	size_t before;

	do {
		size_t count;
		pid_t *tids = ri_proc_list_threads(maker->pid, &count);

		before = maker->threads.count;
		for (size_t i = 0; i < count; i++) {
			struct thread thread;

			if (!is_known(maker, tids[i]) && stop_thread(tids[i], &thread))
				*ri_push(&maker->threads) = thread;
		}
		free(tids);
	} while (maker->threads.count > before);
	if (!maker->threads.count)
		errx(1, "process %d cannot be stopped: is it there?", (int)maker->pid);
}

static void release_all(struct maker *maker)
{
	for (size_t i = 0; i < maker->threads.count; i++) {
		struct thread *thread = &maker->threads.items[i];

		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
		free(thread->fp);
		free(thread->xsave);
	}
}

/* --- what there is to dump --- */

/* The kilobytes that a line of smaps gives for `key`, or 0. */
static unsigned long kilobytes(const char *line, const char *key)
{
	return strncmp(line, key, strlen(key)) ? 0 : strtoul(line + strlen(key), NULL, 10);
}

static void read_areas(struct maker *maker)
{
	char *text = ri_proc_read(maker->threads.items[0].tid, "smaps", SIZE_MAX, NULL);
	char *line, *rest = text;
	struct area *area = NULL;

	if (!text)
		err(1, "/proc/%d/smaps", (int)maker->pid);
	while ((line = strsep(&rest, "\n"))) {
		struct area new = { 0 };
		int path_at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
			   &new.start, &new.end, new.permissions, &new.offset, &new.inode,
			   &path_at) == 5) {
			area = ri_push(&maker->areas);
			*area = new;
			area->path = ri_strdup(line + path_at);
		} else if (area && (kilobytes(line, "Anonymous:") || kilobytes(line, "Swap:"))) {
			area->was_written = true;
		} else if (area && !strncmp(line, "VmFlags:", 8)) {
			area->dont_dump = strstr(line, " dd") != NULL;
			area->is_io = strstr(line, " io") != NULL;
		}
	}
	free(text);
}

static bool is_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path);

	return length >= sizeof(mark) - 1 && !strcmp(path + length - (sizeof(mark) - 1), mark);
}

static bool read_target(const struct maker *maker, uint64_t addr, void *buffer, size_t size)
{
	return pread(maker->mem_fd, buffer, size, (off_t)addr) == (ssize_t)size;
}

/* Whether a thread stands with its stack in the area. */
static bool is_stack(const struct maker *maker, const struct area *area)
{
	for (size_t i = 0; i < maker->threads.count; i++)
		if (maker->threads.items[i].registers.rsp >= area->start &&
		    maker->threads.items[i].registers.rsp < area->end)
			return true;
	return false;
}

/* What --drop-anon leaves out: memory mapped by the program or by malloc; not
 * stacks, nor the .bss behind a file's data (`before` is the area before). */
static bool is_dropped(const struct maker *maker, const struct area *area,
		       const struct area *before)
{
	return maker->drop_anon && !area->inode && !*area->path && area->permissions[1] == 'w' &&
	       area->permissions[3] == 'p' && !is_stack(maker, area) &&
	       !(before && before->inode && before->end == area->start);
}

/* How much of an area the kernel would dump (vma_dump_size in fs/coredump.c). */
static uint64_t dump_size(const struct maker *maker, const struct area *area,
			  const struct area *before)
{
	uint64_t whole = area->end - area->start;
	char magic[SELFMAG];

	if (!strncmp(area->path, "[v", 2))
		return whole; /* [vdso], [vvar], [vsyscall] */
	if (area->dont_dump || area->is_io || is_dropped(maker, area, before))
		return 0;
	if (area->permissions[3] == 's')
		return maker->filter & (is_deleted(area->path) ? ANON_SHARED : MAPPED_SHARED)
			       ? whole : 0;
	if (area->was_written && maker->filter & ANON_PRIVATE)
		return whole;
	if (!area->inode)
		return 0;
	if (maker->filter & MAPPED_PRIVATE)
		return whole;
	if (maker->filter & ELF_HEADERS && !area->offset && area->permissions[0] == 'r' &&
	    read_target(maker, area->start, magic, SELFMAG) && !memcmp(magic, ELFMAG, SELFMAG))
		return PAGE;
	return 0;
}

/* --- notes --- */

static void append(struct maker *maker, const void *p, size_t size)
{
	maker->notes.items = ri_grow(maker->notes.items, &maker->notes.capacity,
				     maker->notes.count + size, 1);
	if (size)
		memcpy(maker->notes.items + maker->notes.count, p, size);
	maker->notes.count += size;
}

static void add_note(struct maker *maker, const char *name, uint32_t type, const void *desc,
		     size_t size)
{
	Elf64_Nhdr header = { (uint32_t)strlen(name) + 1, (uint32_t)size, type };

	append(maker, &header, sizeof(header));
	append(maker, name, header.n_namesz);
	append(maker, "\0\0\0", -maker->notes.count % 4);
	append(maker, desc, size);
	append(maker, "\0\0\0", -maker->notes.count % 4);
}

static void add_status_note(struct maker *maker, const struct thread *thread)
{
	struct elf_prstatus status = { .pr_pid = thread->tid, .pr_fpvalid = thread->fp_size > 0 };

	status.pr_info.si_signo = maker->signal;
	status.pr_cursig = (short)maker->signal;
	status.pr_pgrp = getpgid(maker->pid);
	status.pr_sid = getsid(maker->pid);
	memcpy(&status.pr_reg, &thread->registers, sizeof(status.pr_reg));
	add_note(maker, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

static void add_vector_notes(struct maker *maker, const struct thread *thread)
{
	if (thread->fp_size)
		add_note(maker, "CORE", NT_PRFPREG, thread->fp, thread->fp_size);
	if (thread->xsave_size)
		add_note(maker, "LINUX", NT_X86_XSTATE, thread->xsave, thread->xsave_size);
}

static void add_process_note(struct maker *maker)
{
	struct elf_prpsinfo info = { .pr_sname = 'R', .pr_pid = maker->pid,
				     .pr_pgrp = getpgid(maker->pid),
				     .pr_sid = getsid(maker->pid) };
	pid_t tid = maker->threads.items[0].tid;
	size_t size = 0;
	char *text = ri_proc_read(tid, "comm", sizeof(info.pr_fname) - 1, NULL);

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		memcpy(info.pr_fname, text, strlen(text));
	}
	free(text);
	text = ri_proc_read(tid, "cmdline", sizeof(info.pr_psargs) - 1, &size);
	for (size_t i = 0; i < size; i++)
		info.pr_psargs[i] = text[i] ? text[i] : ' ';
	free(text);
	add_note(maker, "CORE", NT_PRPSINFO, &info, sizeof(info));
}

/* The kernel counts file offsets in pages, gdb in bytes. */
static void add_files_note(struct maker *maker)
{
	uint64_t unit = maker->gdb_shape ? 1 : PAGE, count = 0;
	RI_VEC(uint64_t) words = { 0 };
	size_t names_size = 0, rows_size;
	uint8_t *desc, *name;

	*ri_push(&words) = 0;
	*ri_push(&words) = unit;
	for (size_t i = 0; i < maker->areas.count; i++) {
		const struct area *area = &maker->areas.items[i];

		if (!area->inode)
			continue;
		count++;
		*ri_push(&words) = area->start;
		*ri_push(&words) = area->end;
		*ri_push(&words) = area->offset / unit;
		names_size += strlen(area->path) + 1;
	}
	words.items[0] = count;
	rows_size = words.count * sizeof(*words.items);
	desc = ri_malloc(rows_size + names_size);
	memcpy(desc, words.items, rows_size);
	name = desc + rows_size;
	for (size_t i = 0; i < maker->areas.count; i++)
		if (maker->areas.items[i].inode)
			name = (uint8_t *)stpcpy((char *)name, maker->areas.items[i].path) + 1;
	add_note(maker, "CORE", NT_FILE, desc, rows_size + names_size);
	free(desc);
	ri_vec_deinit(&words);
}

static void add_notes(struct maker *maker)
{
	siginfo_t siginfo = { .si_signo = maker->signal, .si_code = SI_USER };
	size_t size = 0;
	char *auxv = ri_proc_read(maker->threads.items[0].tid, "auxv", 4096, &size);

	add_status_note(maker, &maker->threads.items[0]);
	add_process_note(maker);
	if (maker->signal)
		add_note(maker, "CORE", NT_SIGINFO, &siginfo, sizeof(siginfo));
	add_note(maker, "CORE", NT_AUXV, auxv, size);
	free(auxv);
	add_files_note(maker);
	add_vector_notes(maker, &maker->threads.items[0]);
	for (size_t i = 1; i < maker->threads.count; i++) {
		add_status_note(maker, &maker->threads.items[i]);
		add_vector_notes(maker, &maker->threads.items[i]);
	}
}

/* --- writing --- */

static void write_at(const struct maker *maker, const void *p, size_t size, uint64_t offset)
{
	const uint8_t *bytes = p;

	while (size) {
		ssize_t n = pwrite(maker->out_fd, bytes, size, (off_t)offset);

		if (n <= 0)
			err(1, "%s", maker->out);
		bytes += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
}

static bool is_zero(const uint8_t *p, size_t size)
{
	return !*p && !memcmp(p, p + 1, size - 1);
}

/* Copies [start, end); pages that cannot be read or are zero become holes. */
static void write_pages(const struct maker *maker, uint64_t start, uint64_t end, uint64_t offset,
			uint8_t *chunk)
{
	while (start < end) {
		size_t size = end - start < CHUNK ? end - start : CHUNK;
		ssize_t n = pread(maker->mem_fd, chunk, size, (off_t)start);

		size = n > 0 ? (size_t)n / PAGE * PAGE : 0;
		for (size_t at = 0; at < size; at += PAGE)
			if (!is_zero(chunk + at, PAGE))
				write_at(maker, chunk + at, PAGE, offset + at);
		if (!size)
			size = PAGE; /* unreadable */
		start += size;
		offset += size;
	}
}

static void write_area(const struct maker *maker, struct ri_pagemap *pagemap,
		       const struct area *area, uint64_t offset, uint8_t *chunk)
{
	struct ri_page_runs runs = { 0 };
	uint64_t end = area->start + area->dump_size;

	if (area->inode || *area->path == '[' || !pagemap ||
	    !ri_pagemap_find(pagemap, area->start, end, false, &runs)) {
		write_pages(maker, area->start, end, offset, chunk);
	} else {
		for (size_t i = 0; i < runs.count; i++)
			write_pages(maker, runs.items[i].start, runs.items[i].end,
				    offset + (runs.items[i].start - area->start), chunk);
	}
	ri_vec_deinit(&runs);
}

static uint32_t segment_flags(const struct area *area)
{
	return (area->permissions[0] == 'r' ? PF_R : 0u) |
	       (area->permissions[1] == 'w' ? PF_W : 0u) |
	       (area->permissions[2] == 'x' ? PF_X : 0u);
}

/* Writes header, program headers and notes; returns where the file ends. */
static uint64_t write_headers(const struct maker *maker, Elf64_Phdr *phdrs)
{
	size_t count = maker->areas.count + 1;
	Elf64_Ehdr header = { .e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			      .e_phoff = sizeof(header), .e_ehsize = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (uint16_t)count };
	uint64_t offset = sizeof(header) + count * sizeof(*phdrs);

	if (count >= PN_XNUM)
		errx(1, "process %d has too many mappings", (int)maker->pid);
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	phdrs[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offset,
				 .p_filesz = maker->notes.count, .p_align = 4 };
	offset += maker->notes.count;
	if (!maker->gdb_shape)
		offset = (offset + PAGE - 1) / PAGE * PAGE;
	for (size_t i = 0; i < maker->areas.count; i++) {
		const struct area *area = &maker->areas.items[i];

		phdrs[i + 1] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = segment_flags(area), .p_offset = offset,
			.p_vaddr = area->start, .p_filesz = area->dump_size,
			.p_memsz = area->end - area->start,
			.p_align = maker->gdb_shape ? 1 : PAGE,
		};
		offset += area->dump_size;
	}
	write_at(maker, &header, sizeof(header), 0);
	write_at(maker, phdrs, count * sizeof(*phdrs), sizeof(header));
	write_at(maker, maker->notes.items, maker->notes.count, phdrs[0].p_offset);
	return offset;
}

static void write_core(struct maker *maker)
{
	Elf64_Phdr *phdrs = ri_calloc(maker->areas.count + 1, sizeof(*phdrs));
	struct ri_pagemap *pagemap = ri_pagemap_open(maker->threads.items[0].tid);
	uint8_t *chunk = ri_malloc(CHUNK);
	uint64_t size;

	maker->out_fd = open(maker->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (maker->out_fd < 0)
		err(1, "%s", maker->out);
	size = write_headers(maker, phdrs);
	for (size_t i = 0; i < maker->areas.count; i++)
		write_area(maker, pagemap, &maker->areas.items[i], phdrs[i + 1].p_offset, chunk);
	size = (uint64_t)((double)size * maker->keep_percent / 100);
	if (ftruncate(maker->out_fd, (off_t)size) || close(maker->out_fd))
		err(1, "%s", maker->out);
	ri_pagemap_close(pagemap);
	free(chunk);
	free(phdrs);
}

static void make_core(struct maker *maker)
{
	char *text, path[64];

	stop_all(maker);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)maker->threads.items[0].tid);
	maker->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (maker->mem_fd < 0)
		err(1, "%s", path);
	text = ri_proc_read(maker->threads.items[0].tid, "coredump_filter", 64, NULL);
	maker->filter = text ? (unsigned)strtoul(text, NULL, 16) : ANON_PRIVATE | ELF_HEADERS;
	free(text);
	read_areas(maker);
	for (size_t i = 0; i < maker->areas.count; i++)
		maker->areas.items[i].dump_size =
			dump_size(maker, &maker->areas.items[i],
				  i ? &maker->areas.items[i - 1] : NULL);
	add_notes(maker);
	write_core(maker);
	close(maker->mem_fd);
	release_all(maker);
	for (size_t i = 0; i < maker->areas.count; i++)
		free(maker->areas.items[i].path);
	ri_vec_deinit(&maker->areas);
	ri_vec_deinit(&maker->threads);
	ri_vec_deinit(&maker->notes);
}

static _Noreturn void usage(void)
{
	fputs("usage: coremaker [options] PID OUT\n"
	      "Writes a core of process PID, which goes on, to the file OUT.\n"
	      "  --gdb-shape         unaligned segments, file offsets in bytes, as gdb writes them\n"
	      "  --truncate PERCENT  keep only the first PERCENT percent of the file\n"
	      "  --drop-anon         leave out unnamed anonymous memory (not stacks, not .bss),\n"
	      "                      as if marked with MADV_DONTDUMP\n"
	      "  --signal N          record that signal N ended the process\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "gdb-shape", no_argument, NULL, 'g' },
		{ "truncate", required_argument, NULL, 't' },
		{ "drop-anon", no_argument, NULL, 'd' },
		{ "signal", required_argument, NULL, 's' },
		{ 0 },
	};
	struct maker maker = { .keep_percent = 100 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'g':
			maker.gdb_shape = true;
			break;
		case 't':
			maker.keep_percent = atof(optarg);
			break;
		case 'd':
			maker.drop_anon = true;
			break;
		case 's':
			maker.signal = atoi(optarg);
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2 || maker.keep_percent < 0 || maker.keep_percent > 100)
		usage();
	maker.pid = atoi(argv[optind]);
	maker.out = argv[optind + 1];
	alarm(DEADLINE_SECONDS); /* the end of the tracer lets the process go */
	make_core(&maker);
	return 0;
}
