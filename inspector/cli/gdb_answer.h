/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What we answer gdb: a script in a private directory that gdb sources.  Its
 * text goes through gdb's own output, so that the pager, logging and front ends
 * all see it; everything printed is untrusted and escaped.
 */
#ifndef RI_CLI_GDB_ANSWER_H
#define RI_CLI_GDB_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"

/* A $ref variable: a pointer to an object. */
struct ri_gdb_ref {
	uint64_t addr;
	char *type_name;         /* "conn", a struct or class; null: void */
};

typedef RI_VEC(struct ri_gdb_ref) ri_gdb_ref_list;

/*
 * Makes sure that BASE/refcheck-GDBPID is a directory of ours that nobody else
 * can enter; its name is a new string in *ret.  RI_ERROR_PERMISSION where
 * something else stands there: nothing in it may be trusted then.
 */
struct ri_error *ri_gdb_answer_directory(const char *base, pid_t gdb_pid, char **ret);

/* Opens DIRECTORY/NAME afresh for writing, never through a link. */
struct ri_error *ri_gdb_answer_open(const char *directory, const char *name, FILE **ret);

/* `echo` lines for the text in `text` (read from its start), at most
 * `max_lines` of them (0: all), then how many were left out. */
void ri_gdb_answer_echo(FILE *script, FILE *text, size_t max_lines);

/* Sets $refcheck_status, $refcheck_count and $ref1 ...; the `stale_count`
 * variables of an earlier run beyond them become void.  `thread` is gdb's
 * number of the selected thread, 0 for none: then the pointers stay void ones. */
void ri_gdb_answer_variables(FILE *script, int status, const ri_gdb_ref_list *refs,
			     unsigned stale_count, unsigned thread);

/* A line that goes on after an error of the gdb command `command`: silently, or
 * with gdb's message.  Needs a thread; with none the command stands alone. */
void ri_gdb_answer_try(FILE *script, unsigned thread, bool is_silent, const char *command);

/* The line that removes the directory; gdb has the script open then. */
void ri_gdb_answer_remove(FILE *script, const char *directory);

#endif
