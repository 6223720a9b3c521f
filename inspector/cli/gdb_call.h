/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call of gdb's refcheck: what is to be run on what, and the script that
 * answers it.
 */
#ifndef RI_CLI_GDB_CALL_H
#define RI_CLI_GDB_CALL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/gdb_answer.h"
#include "cli/gdb_context.h"

struct ri_gdb_call {
	struct ri_gdb_context context;
	char *directory;       /* the answer's */
	const char *script;    /* its name there: "run.gdb" */
	/* what to open: a core file, or the context's process where `uses_pid`; or nothing */
	char *core_path;
	const char *core_name; /* what the report calls the core file; null: its path */
	bool uses_pid;
};

/*
 * Runs the context's command on the target, as the command line would, and
 * leaves the answer.  Whatever was found or went wrong with the command is in the
 * answer; an error means that there is none.
 */
struct ri_error *ri_gdb_call_run(const struct ri_gdb_call *call);

/* Answers without running anything: an exit status, and why. */
struct ri_error *ri_gdb_call_refuse(const struct ri_gdb_call *call, int status,
				    const char *message);

/* Answers that gdb shall write a core file to `path` and call again. */
struct ri_error *ri_gdb_call_ask_for_core(const struct ri_gdb_call *call, const char *path);

#endif
