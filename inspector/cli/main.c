/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program: parses the command line, runs one command or the prompt.  Sees to
 * it that what is opened never gets the number of a standard stream that the
 * caller closed, and that output which cannot be written is never taken for written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/prompt.h"
#include "cli/session.h"
#include "cli/supervisor.h"

/* Closed standard streams are opened so that using them still fails. */
static void keep_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* At exit: what --help and --version print goes out late. */
static void close_standard_output(void)
{
	bool has_failed = ferror(stdout);

	if (has_failed) /* of which the error number is lost: once more */
		putc('\n', stdout);
	if (!fclose(stdout) && !has_failed)
		return;
	fprintf(stderr, "refinspect: cannot write standard output: %s\n", strerror(errno));
	_exit(RI_STATUS_UNUSABLE);
}

int main(int argc, char **argv)
{
	static char program_name[] = "refinspect";
	struct ri_options options;
	int status;

	keep_standard_streams();
	if (argc)
		argv[0] = program_name; /* getopt's messages begin with it */
	atexit(close_standard_output);
	ri_options_parse(&options, argc, argv);
	status = options.is_interactive ? ri_prompt_run(&options) : ri_session_run_once(&options);
	ri_options_deinit(&options);
	return status;
}
