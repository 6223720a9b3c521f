/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc tells of a live process: state, threads, mappings, names.  Knows
 * the formats of proc(5); stops and changes nothing.  The texts come from the
 * kernel, but names within them are the target's choice: a command may hold
 * blanks and parentheses, a path anything but a newline.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/live_private.h"

#define STAGE "target"
#define PROC_PATH_MAX 64
#define PF_KTHREAD 0x00200000u
#define ARGUMENTS_MAX 1024

char *ri_proc_read(pid_t tid, const char *name, size_t max_bytes, size_t *ret_size_bytes)
{
	char path[PROC_PATH_MAX];
	RI_VEC(char) text = { 0 };
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		text.count += (size_t)n;
		text.items = ri_grow(text.items, &text.capacity, text.count + 4096, 1);
		n = read(fd, text.items + text.count, text.capacity - text.count - 1);
	} while (n > 0 && text.count < max_bytes);
	if (n < 0) {
		int saved = errno;

		ri_vec_deinit(&text);
		close(fd);
		errno = saved;
		return NULL;
	}
	close(fd);
	if (text.count > max_bytes)
		text.count = max_bytes;
	text.items[text.count] = '\0';
	if (ret_size_bytes)
		*ret_size_bytes = text.count;
	return text.items;
}

/* The number behind `key` at the start of a line of `text`, or 0. */
static long number_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length))
			return strtol(line + length, NULL, 10);
	}
	return 0;
}

bool ri_proc_read_status(pid_t tid, struct ri_proc_status *ret)
{
	char *stat = ri_proc_read(tid, "stat", 4096, NULL);
	char *status = stat ? ri_proc_read(tid, "status", 65536, NULL) : NULL;
	const char *behind_name = stat ? strrchr(stat, ')') : NULL;
	unsigned flags = 0;
	bool ok = false;

	/* state ppid pgrp session tty_nr tpgid flags */
	if (status && behind_name &&
	    sscanf(behind_name, ") %c %*d %*d %*d %*d %*d %u", &ret->state, &flags) == 2) {
		ret->is_kernel_thread = flags & PF_KTHREAD;
		ret->tgid = (pid_t)number_of(status, "Tgid:");
		ret->tracer = (pid_t)number_of(status, "TracerPid:");
		ok = true;
	}
	free(stat);
	free(status);
	return ok;
}

bool ri_proc_has_ended(pid_t tid)
{
	struct ri_proc_status status;

	return !ri_proc_read_status(tid, &status) || strchr("ZXx", status.state);
}

static uint32_t flags_of(const char *permissions, const char *path, unsigned long inode)
{
	uint32_t flags = 0;

	flags |= permissions[0] == 'r' ? RI_RANGE_READ : 0u;
	flags |= permissions[1] == 'w' ? RI_RANGE_WRITE : 0u;
	flags |= permissions[2] == 'x' ? RI_RANGE_EXEC : 0u;
	flags |= permissions[3] == 's' ? RI_RANGE_SHARED : 0u;
	if ((!inode && (!*path || *path == '[')) || ri_path_is_anonymous(path))
		flags |= RI_RANGE_ANONYMOUS;
	return flags;
}

/* Parses "START-END PERM OFFSET DEVICE INODE   PATH"; `line` has no newline. */
static bool parse_mapping(const char *line, struct ri_mapping *ret)
{
	unsigned long long start, end, offset;
	unsigned long inode;
	char permissions[5];
	int path_at = 0;
	const char *path;

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %lu %n", &start, &end, permissions, &offset,
		   &inode, &path_at) != 5 ||
	    !path_at || start >= end || strlen(permissions) != 4)
		return false;
	path = line + path_at;
	*ret = (struct ri_mapping){ .start = start, .end = end, .file_offset = offset,
				    .flags = flags_of(permissions, path, inode),
				    .path = *path ? ri_strdup(path) : NULL };
	return true;
}

struct ri_error *ri_proc_read_mappings(struct ri_target *target, pid_t tid, struct ri_gaps *gaps)
{
	RI_VEC(struct ri_mapping) mappings = { 0 };
	char *text = ri_proc_read(tid, "maps", SIZE_MAX, NULL), *line, *rest = text;

	if (!text)
		return ri_error_create_errno(errno, "/proc/%d/maps", (int)tid);
	while ((line = strsep(&rest, "\n"))) {
		struct ri_mapping mapping;

		if (!*line)
			continue;
		if (parse_mapping(line, &mapping))
			*ri_push(&mappings) = mapping;
		else
			ri_gaps_add(gaps, RI_GAP_MATTERS, STAGE,
				    "a line of /proc/PID/maps was not understood");
	}
	free(text);
	target->mappings = mappings.items;
	target->mapping_count = mappings.count;
	ri_mappings_arrange(target->mappings, &target->mapping_count);
	return NULL;
}

void ri_proc_describe(struct ri_target *target, pid_t tid)
{
	size_t size_bytes;
	char *text = ri_proc_read(tid, "comm", 64, NULL);

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		target->command = text;
	}
	text = ri_proc_read(tid, "cmdline", ARGUMENTS_MAX, &size_bytes);
	if (text) {
		while (size_bytes && !text[size_bytes - 1])
			size_bytes--;
		for (size_t i = 0; i < size_bytes; i++)
			if (!text[i])
				text[i] = ' ';
		target->arguments = text;
	}
	text = ri_proc_read(tid, "auxv", 4096, &size_bytes);
	if (text)
		ri_target_take_auxv(target, text, size_bytes);
	free(text);
}

bool ri_proc_read_stack_pointer(pid_t tid, struct ri_thread *thread)
{
	char *text = ri_proc_read(tid, "syscall", 4096, NULL);
	char *pc, *sp;
	bool ok = false;

	/* "NUMBER ARG... SP PC", "-1 SP PC", or "running" */
	pc = text ? strrchr(text, ' ') : NULL;
	if (pc) {
		*pc++ = '\0';
		sp = strrchr(text, ' ');
		if (sp) {
			memset(thread->registers, 0, sizeof(thread->registers));
			thread->registers[RI_REG_RSP] = strtoull(sp + 1, NULL, 16);
			thread->registers[RI_REG_RIP] = strtoull(pc, NULL, 16);
			thread->has_registers = thread->registers_partial = true;
			ok = true;
		}
	}
	free(text);
	return ok;
}

pid_t *ri_proc_list_threads(pid_t pid, size_t *ret_count)
{
	RI_VEC(pid_t) tids = { 0 };
	char path[PROC_PATH_MAX];
	struct dirent *entry;
	DIR *directory;

	*ret_count = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return NULL;
	while ((entry = readdir(directory))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid <= INT_MAX)
			*ri_push(&tids) = (pid_t)tid;
	}
	closedir(directory);
	*ret_count = tids.count;
	return tids.items;
}
