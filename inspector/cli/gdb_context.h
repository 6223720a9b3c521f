/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What gdb tells us: the text that refcheck.gdb pipes to `gdb-session`, parsed.
 * It is made of the output of gdb's own commands, because a gdb without Python
 * has no variables for most of it.
 */
#ifndef RI_CLI_GDB_CONTEXT_H
#define RI_CLI_GDB_CONTEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "target/target.h"

enum ri_gdb_stratum {
	RI_GDB_NOTHING,  /* no core file and no process */
	RI_GDB_CORE,
	RI_GDB_NATIVE,
	RI_GDB_REMOTE,   /* remote, extended-remote, a simulator: only gdb can read it */
};

struct ri_gdb_context {
	RI_VEC(char *) arguments; /* as typed, quotes stripped */
	unsigned argument_count;  /* as gdb counted them; more than arguments: some were lost */
	unsigned thread;          /* gdb's number of the selected thread, 0: none */
	unsigned ref_count;       /* $ref variables that an earlier run left */
	RI_VEC(uint64_t) refs;    /* what they hold, $ref1 first; 0: no address */
	enum ri_gdb_stratum stratum;
	char *core_path, *exe_path; /* or null */
	pid_t pid;                /* 0: none */
	char *sysroot;            /* or null; "target:" is left out */
	RI_VEC(char *) debug_dirs; /* null-terminated */
	struct ri_thread *threads; /* of every inferior, with their registers; live processes alone */
	size_t thread_count;
};

/* Reads `stream` to its end.  RI_ERROR_INPUT when the text is not whole. */
struct ri_error *ri_gdb_context_read(FILE *stream, struct ri_gdb_context *ret);

/* Puts the values of $ref1, $ref2, ... where arguments name them ("$ref1",
 * "--object=$ref1"); one without a value stays as it is. */
void ri_gdb_context_expand_refs(struct ri_gdb_context *context);

void ri_gdb_context_deinit(struct ri_gdb_context *context);

#endif
