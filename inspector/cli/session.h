/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session: one analysis and the commands that are run on it, each in a child
 * process (see supervisor.h).
 */
#ifndef RI_CLI_SESSION_H
#define RI_CLI_SESSION_H

#include "cli/options.h"

/* Runs the command of `options` (the default: check) in a supervised child,
 * publishes what it printed, and returns the exit status. */
int ri_session_run_once(const struct ri_options *options);

/*
 * The analysis that `options` ask for, in a child process, which is confined by them and by the
 * `confine_flags` of cli/confine.h for good; with `is_memory_alone` without a census.
 */
struct ri_error *ri_session_analyse(const struct ri_options *options, unsigned confine_flags,
				    bool is_memory_alone, struct ri_analysis **ret);

/*
 * A server for many commands: a child that analyses once and then runs each
 * command in a child of its own, so that a command that crashes or is
 * interrupted does not cost the analysis.
 */
struct ri_server;

/* Starts the server and waits until the analysis is done.  The error is what
 * the analysis said, or one line on how the child ended. */
struct ri_error *ri_server_create(const struct ri_options *options, struct ri_server **ret);
void ri_server_destroy(struct ri_server *server);

/*
 * Runs one command line (words split like a shell's, without expansion) and
 * gives its output as a file positioned at its start; the file belongs to the
 * server and is valid until the next call.  *ret_status is the command's exit
 * status.  An error means that the server is gone.
 */
struct ri_error *ri_server_run(struct ri_server *server, const char *line, int *ret_status,
			       int *ret_output);

enum ri_server_names_of { RI_SERVER_TYPES, RI_SERVER_GROUPS };

/* The names that complete a word: of the counted types or of the groups; a new
 * null-terminated array of new strings, owned by the caller. */
char **ri_server_names(struct ri_server *server, enum ri_server_names_of of);

#endif
