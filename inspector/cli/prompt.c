/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interactive prompt: one analysis, many commands.  Ctrl-C ends the running
 * command (the server's child dies of it), the printing of what it said, or the
 * line that is being typed, never the tool.  Where the commands come from a file
 * or a pipe there is no prompt, and Ctrl-C ends everything.
 */
#include "cli/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/prompt_line.h"
#include "cli/session.h"
#include "cli/supervisor.h"

#define STATUS_INTERRUPTED 130

static bool is_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(line, word, length) && !line[length + strspn(line + length, " \t")];
}

static bool is_quit(const char *line)
{
	line += strspn(line, " \t");
	return is_word(line, "quit") || is_word(line, "exit") || is_word(line, "q");
}

static bool is_empty(const char *line)
{
	return !line[strspn(line, " \t")];
}

/* A '|' or, where a word begins, a '>': meant for a shell. */
static bool is_for_a_shell(const char *line)
{
	char quote = 0;

	for (const char *p = line; *p; p++) {
		if (quote)
			quote = *p == quote ? 0 : quote;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		else if (*p == '\\' && p[1])
			p++;
		else if (*p == '|' || (*p == '>' && p > line && strchr(" \t", p[-1])))
			return true;
	}
	return false;
}

/* Prints what the command wrote, nothing more once Ctrl-C was typed. */
static struct ri_error *publish(int output, int *status)
{
	const volatile sig_atomic_t *is_interrupted = ri_prompt_line_interrupted();
	struct ri_error *error = ri_publish_until(output, STDOUT_FILENO, "standard output",
						  is_interrupted);

	/* a command that died of it has that status already, and was told about */
	if (*is_interrupted && *status != STATUS_INTERRUPTED) {
		fprintf(stderr, "\nrefinspect: interrupted\n");
		*status = STATUS_INTERRUPTED;
	}
	return error;
}

/* The server is gone: says why, starts a fresh one; false when there is none to
 * be had. */
static bool restart(const struct ri_options *options, struct ri_server **server,
		    struct ri_error *why)
{
	struct ri_error *error;

	fprintf(stderr, "refinspect: %s\n", why->message);
	ri_error_destroy(why);
	ri_server_destroy(*server);
	*server = NULL;
	fprintf(stderr, "refinspect: analysing anew\n");
	error = ri_server_create(options, server);
	if (!error)
		return true;
	fprintf(stderr, "refinspect: %s\n", error->message);
	ri_error_destroy(error);
	return false;
}

/* Runs a line; false when there is nothing to go on with. */
static bool run_line(const struct ri_options *options, struct ri_server **server, const char *line,
		     int *status)
{
	struct ri_error *error;
	int output;

	if (is_empty(line))
		return true;
	if (is_for_a_shell(line)) {
		fprintf(stderr, "refinspect: no shell reads this line; pipe or redirect on the "
				"shell's own line: refinspect TARGET COMMAND | ..., or -o FILE\n");
		*status = RI_STATUS_UNUSABLE;
		return true;
	}
	error = ri_server_run(*server, line, status, &output);
	if (error && error->code != RI_ERROR_USAGE) {
		*status = RI_STATUS_UNUSABLE;
		return restart(options, server, error);
	}
	if (!error && (error = publish(output, status)) != NULL) {
		/* nobody reads on */
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		*status = RI_STATUS_UNUSABLE;
		return false;
	}
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		*status = RI_STATUS_UNUSABLE;
	}
	return true;
}

static void destroy_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static int run_loop(const struct ri_options *options, struct ri_server **server, bool is_terminal)
{
	int status = 0;
	bool goes_on = true;

	while (goes_on) {
		char *line = is_terminal ? ri_prompt_line_read() : ri_prompt_line_read_plain();

		goes_on = line && !is_quit(line) && run_line(options, server, line, &status);
		free(line);
	}
	return status;
}

static int run_at_terminal(const struct ri_options *options, struct ri_server **server)
{
	char **types = ri_server_names(*server, RI_SERVER_TYPES);
	char **groups = ri_server_names(*server, RI_SERVER_GROUPS);
	const struct ri_completion_names names = { types, groups };
	int status;

	ri_prompt_line_catch_interrupts();
	ri_prompt_line_open(&names);
	status = run_loop(options, server, true);
	ri_prompt_line_close();
	destroy_names(types);
	destroy_names(groups);
	return status;
}

int ri_prompt_run(const struct ri_options *options)
{
	struct ri_server *server;
	struct ri_error *error = ri_server_create(options, &server);
	int status;

	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		return RI_STATUS_UNUSABLE;
	}
	if (isatty(STDIN_FILENO))
		status = run_at_terminal(options, &server);
	else
		status = run_loop(options, &server, false);
	ri_server_destroy(server);
	return status;
}
