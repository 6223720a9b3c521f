/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the unit tests that need a program with types: compiles a source text with debug
 * information, runs it until it prints READY, and analyses the live process under a
 * profile text; null: under none, so that types and groups are inferred.
 */
#ifndef TESTS_UNIT_WHOLE_PROGRAM_H
#define TESTS_UNIT_WHOLE_PROGRAM_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "check/analysis.h"
#include "check/check.h"

struct whole_program {
	char directory[40];
	pid_t pid;
	struct ri_analysis *analysis;
};

static inline char *whole_program_path(const struct whole_program *p, const char *name)
{
	return ri_format("%s/%s", p->directory, name);
}

static inline void whole_program_write(const struct whole_program *p, const char *name,
				       const char *text)
{
	char *path = whole_program_path(p, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

/* Runs it with one argument, and waits for its READY. */
static inline void whole_program_start(struct whole_program *p, const char *argument)
{
	char *path = whole_program_path(p, "program"), line[64] = "";
	int ends[2];
	FILE *out;

	assert_int_equal(pipe(ends), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (!p->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test must not leave it behind */
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(path, path, argument, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	out = fdopen(ends[0], "r");
	assert_non_null(fgets(line, sizeof(line), out));
	assert_string_equal(line, "READY\n");
	fclose(out);
	free(path);
}

static inline void whole_program_open(struct whole_program *p, const char *source,
				      const char *argument, const char *profile)
{
	struct ri_analysis_options options = { 0 };
	const char *profiles[2] = { 0 };
	char *command, *path;
	struct ri_error *error;

	memset(p, 0, sizeof(*p));
	strcpy(p->directory, "/tmp/refinspect-program-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	whole_program_write(p, "program.c", source);
	if (profile)
		whole_program_write(p, "program.yaml", profile);
	command = ri_format("cc -O0 -g -D_GNU_SOURCE -o %s/program %s/program.c", p->directory,
			    p->directory);
	assert_int_equal(system(command), 0);
	free(command);
	whole_program_start(p, argument);
	profiles[0] = path = whole_program_path(p, "program.yaml");
	options.pid = p->pid;
	options.profile_paths = profile ? profiles : NULL;
	options.thread_count = 1;
	error = ri_analysis_create(&options, &p->analysis);
	if (error)
		fail_msg("%s", error->message);
	free(path);
}

static inline void whole_program_close(struct whole_program *p)
{
	static const char *const names[] = { "program", "program.c", "program.yaml" };

	ri_analysis_destroy(p->analysis);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = whole_program_path(p, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(p->directory);
}

static inline size_t whole_program_count(const struct whole_program *p, const char *code)
{
	size_t count = 0;

	for (size_t i = 0; i < p->analysis->findings->count; i++)
		count += !strcmp(p->analysis->findings->items[i].check->code, code);
	return count;
}

static inline bool whole_program_has_gap(const struct whole_program *p, enum ri_gap_weight weight,
					 const char *text)
{
	for (size_t i = 0; i < p->analysis->gaps.count; i++)
		if (p->analysis->gaps.items[i].weight == weight &&
		    strstr(p->analysis->gaps.items[i].message, text))
			return true;
	return false;
}

#endif
