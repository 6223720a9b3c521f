/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thin supervisor: the analysis runs in a child, because a core file is
 * untrusted and the libraries that read it can abort, crash or loop.  What the
 * child prints reaches the user whole or not at all: it writes to a memory
 * file, which the supervisor publishes when the child is done.
 */
#ifndef RI_CLI_SUPERVISOR_H
#define RI_CLI_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

#define RI_STATUS_UNUSABLE 2 /* wrong usage or unusable input */

struct ri_supervision {
	unsigned time_limit_seconds; /* 0: none */
	bool may_exit;               /* `work` may end with exit(0), as argp does after --help */
};

/*
 * Runs `work(out, data)` in a child process whose `out` is a fresh memory
 * file, and waits.  *ret_status is what `work` returned, or RI_STATUS_UNUSABLE
 * if the child ended itself with that.  When it ends in any other way (a signal,
 * the time limit, a library that exits), nothing of its output is kept, and the
 * error is one clear line.  Null `rules`: all zero.
 * *ret_output is the memory file, positioned at its start, owned by the caller
 * (close it).
 */
struct ri_error *ri_supervise(int (*work)(FILE *out, void *data), void *data,
			      const struct ri_supervision *rules, int *ret_status,
			      int *ret_output);

/* In such a child: ends it with `status`, as done. */
_Noreturn void ri_supervised_exit(int status);

/* The status that a child ended with by ri_supervised_exit(), or -1 if it ended otherwise. */
int ri_supervised_status(int wait_status);

/* Copies everything in the file `output` to the descriptor `to`. */
struct ri_error *ri_publish_fd(int output, int to, const char *what);

/* The same, until a signal handler sets `*stop`: the rest is left out then. */
struct ri_error *ri_publish_until(int output, int to, const char *what,
				  const volatile sig_atomic_t *stop);

/*
 * Writes everything in the file `output` to `path`: a regular file is replaced
 * as a whole (a temporary file beside it, then rename), anything else written
 * in place.  A null path is standard output.
 */
struct ri_error *ri_publish(int output, const char *path);

#endif
