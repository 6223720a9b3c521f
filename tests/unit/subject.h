/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the unit tests that look at a whole program: compiles a source that lies
 * beside the test, without sanitizers (those replace the allocator), runs it
 * and reads the addresses that it prints.
 *
 * The subject prints an address a line, then READY, and waits.
 */
#ifndef TESTS_UNIT_SUBJECT_H
#define TESTS_UNIT_SUBJECT_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"

struct subject_process {
	char folder[64];
	char *path;
	pid_t pid;
};

/* Starts the program at s->path and reads `count` addresses. */
static inline void subject_run(struct subject_process *s, uint64_t *addrs, size_t count)
{
	char line[64];
	int ends[2];
	FILE *out;

	assert_int_equal(pipe(ends), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		dup2(ends[1], STDOUT_FILENO);
		execl(s->path, s->path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	out = fdopen(ends[0], "r");
	for (size_t i = 0; i < count; i++) {
		assert_non_null(fgets(line, sizeof(line), out));
		addrs[i] = strtoull(line, NULL, 0);
	}
	assert_non_null(fgets(line, sizeof(line), out));
	assert_string_equal(line, "READY\n");
	fclose(out);
}

/* Compiles SOURCE, a file in the folder of `test_file` (__FILE__), and starts it. */
static inline void subject_start(struct subject_process *s, const char *test_file,
				 const char *source, uint64_t *addrs, size_t count)
{
	const char *slash = strrchr(test_file, '/');
	char *command;

	strcpy(s->folder, "/tmp/refinspect-subject-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	s->path = ri_format("%s/subject", s->folder);
	command = ri_format("cc -O0 -g -D_GNU_SOURCE -Iinclude -o %s %.*s/%s", s->path,
			    (int)(slash - test_file), test_file, source);
	assert_int_equal(system(command), 0);
	free(command);
	subject_run(s, addrs, count);
}

static inline void subject_end(struct subject_process *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	unlink(s->path);
	rmdir(s->folder);
	free(s->path);
}

#endif
