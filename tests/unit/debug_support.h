/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the tests of debug/: compiles a program, runs it until it says READY, and
 * makes a target of it as a kernel core would show it: anonymous and modified
 * memory whole, of unmodified file mappings the first page of ELF files alone.
 * The program prints what is true of it; the tests compare.
 */
#ifndef DEBUG_SUPPORT_H
#define DEBUG_SUPPORT_H

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "target/target.h"

/* A directory of its own for each test program. */
struct scratch {
	char dir[64];
};

__attribute__((unused)) static void scratch_init(struct scratch *scratch)
{
	strcpy(scratch->dir, "/tmp/refinspect-debug-XXXXXX");
	if (!mkdtemp(scratch->dir))
		abort();
}

/* Runs a shell command in the scratch directory; its exit status. */
__attribute__((unused, format(printf, 2, 3))) static int run(const struct scratch *scratch,
							     const char *format, ...)
{
	va_list args;
	char *command, *full;
	int status;

	va_start(args, format);
	command = ri_vformat(format, args);
	va_end(args);
	full = ri_format("cd %s && { %s; }", scratch->dir, command);
	status = system(full);
	free(full);
	free(command);
	return status;
}

__attribute__((unused)) static void scratch_deinit(struct scratch *scratch)
{
	run(scratch, "rm -rf %s", scratch->dir);
}

__attribute__((unused)) static void write_text(const struct scratch *scratch, const char *name,
					       const char *text)
{
	char *path = ri_format("%s/%s", scratch->dir, name);
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
	free(path);
}

/* A running program and what it has printed before READY. */
struct process {
	pid_t pid;
	char *truth;             /* whole lines */
};

__attribute__((unused)) static void process_start(struct process *process,
						  const struct scratch *scratch, const char *name)
{
	char *path = ri_format("%s/%s", scratch->dir, name);
	size_t used = 0, capacity = 1 << 16;
	int out[2];

	if (pipe(out))
		abort();
	process->pid = fork();
	if (!process->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	process->truth = ri_calloc(capacity, 1);
	while (!strstr(process->truth, "READY\n")) {
		ssize_t got = read(out[0], process->truth + used, capacity - used - 1);

		if (got <= 0) {
			fprintf(stderr, "%s ended before READY\n", path);
			abort();
		}
		used += (size_t)got;
	}
	close(out[0]);
	free(path);
}

__attribute__((unused)) static void process_end(struct process *process)
{
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	free(process->truth);
}

/* Adds [start, end) of the process's memory; what cannot be read is left out. */
static void add_memory(struct ri_target *target, int mem, uint64_t start, uint64_t end,
		       uint32_t flags)
{
	uint8_t *bytes = mmap(NULL, end - start, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ri_range range = { .start = start, .end = end, .bytes = bytes, .flags = flags };

	ri_image_own_mapping(target->image, bytes, end - start);
	if (pread(mem, bytes, end - start, (off_t)start) == (ssize_t)(end - start))
		ri_image_add(target->image, &range);
}

/* One mapping; `modified_kb` of it are anonymous copies, in which case the
 * kernel dumps all of it. */
static void add_map_line(struct ri_target *target, int mem, const char *line, bool has_paths,
			 unsigned long modified_kb)
{
	unsigned long start, end, offset;
	char mode[8], path[4096] = "", first[4];
	struct ri_mapping *mapping;
	uint32_t flags;

	if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, mode, &offset, path) <
	    4)
		return;
	flags = (mode[0] == 'r' ? RI_RANGE_READ : 0) | (mode[1] == 'w' ? RI_RANGE_WRITE : 0) |
		(mode[2] == 'x' ? RI_RANGE_EXEC : 0) | (*path ? 0 : RI_RANGE_ANONYMOUS);
	target->mappings = ri_realloc(target->mappings, target->mapping_count + 1,
				      sizeof(*target->mappings));
	mapping = &target->mappings[target->mapping_count++];
	*mapping = (struct ri_mapping){ .start = start, .end = end, .file_offset = offset,
					.path = *path && has_paths ? ri_strdup(path) : NULL };
	if (modified_kb || *path != '/')
		add_memory(target, mem, start, end, flags);
	else if (pread(mem, first, sizeof(first), (off_t)start) == 4 &&
		 !memcmp(first, ELFMAG, SELFMAG))
		add_memory(target, mem, start, start + 4096, flags);
	else
		ri_image_add(target->image,
			     &(struct ri_range){ .start = start, .end = end,
						 .kind = RI_RANGE_MISSING, .flags = flags });
}

static void read_auxv(struct ri_target *target)
{
	char path[64];
	Elf64_auxv_t entry;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)target->pid);
	fd = open(path, O_RDONLY);
	while (read(fd, &entry, sizeof(entry)) == sizeof(entry)) {
		if (entry.a_type == AT_PHDR)
			target->auxv_phdr = entry.a_un.a_val;
		if (entry.a_type == AT_PHNUM)
			target->auxv_phnum = entry.a_un.a_val;
		if (entry.a_type == AT_ENTRY)
			target->auxv_entry = entry.a_un.a_val;
		if (entry.a_type == AT_SYSINFO_EHDR)
			target->auxv_sysinfo_ehdr = entry.a_un.a_val;
	}
	close(fd);
}

/* A core-like target; without `has_paths` as if NT_FILE were missing. */
__attribute__((unused)) static struct ri_target *target_of(const struct process *process,
							   bool has_paths)
{
	struct ri_target *target = ri_calloc(1, sizeof(*target));
	char path[64], line[8192], mapping[8192] = "";
	unsigned long modified_kb;
	FILE *maps;
	int mem;

	target->kind = RI_TARGET_CORE;
	target->pid = process->pid;
	target->image = ri_image_create();
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process->pid);
	mem = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)process->pid);
	maps = fopen(path, "r");
	if (mem < 0 || !maps)
		abort();
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "Anonymous: %lu", &modified_kb) == 1)
			add_map_line(target, mem, mapping, has_paths, modified_kb);
		else if (strchr("0123456789abcdef", line[0]))
			strcpy(mapping, line);
	}
	fclose(maps);
	close(mem);
	read_auxv(target);
	ri_image_seal(target->image);
	return target;
}

__attribute__((unused)) static const char *compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "cc";
}

#endif
