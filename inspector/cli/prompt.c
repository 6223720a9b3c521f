/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interactive prompt, and the one file that uses readline: history kept
 * between sessions, completion of commands, codes and counted types.  Ctrl-C
 * ends the running command (the server's child dies of it) or clears the line,
 * never the tool.
 */
#include "cli/prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/supervisor.h"

#define PROMPT "refinspect> "
#define HISTORY_LINES 1000

/* readline's callbacks take no data of ours, so what they complete from and the
 * generator's position must stand here; one prompt runs per process. */
static char **completion_types;
static size_t completion_next;

/* Kept from readline's point of view: commands first, then codes, then types. */
static const char *candidate(size_t index)
{
	for (size_t i = 0; ri_commands[i]; i++)
		if (index-- == 0)
			return ri_commands[i]->name;
	for (size_t i = 0; ri_checks[i]; i++)
		if (index-- == 0)
			return ri_checks[i]->code;
	for (size_t i = 0; completion_types && completion_types[i]; i++)
		if (index-- == 0)
			return completion_types[i];
	return NULL;
}

static char *generate(const char *text, int state)
{
	const char *name;

	if (!state)
		completion_next = 0;
	while ((name = candidate(completion_next)) != NULL) {
		completion_next++;
		if (!strncmp(name, text, strlen(text)))
			return ri_strdup(name);
	}
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	(void)start;
	(void)end;
	rl_attempted_completion_over = 1; /* no file names */
	return rl_completion_matches(text, generate);
}

static void on_interrupt(int signal_number)
{
	(void)signal_number;
}

/* $XDG_STATE_HOME or ~/.local/state; owned by the caller, null without a home. */
static char *history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *folder, *path;

	if (state && *state)
		folder = ri_strdup(state);
	else if (home && *home)
		folder = ri_format("%s/.local/state", home);
	else
		return NULL;
	path = ri_format("%s/refinspect_history", folder);
	free(folder);
	return path;
}

static char *read_plain_line(void)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length = getline(&line, &capacity, stdin);

	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static char *read_terminal_line(void)
{
	char *line = readline(PROMPT);

	if (line && *line)
		add_history(line);
	return line;
}

static bool is_quit(const char *line)
{
	line += strspn(line, " \t");
	return !strcmp(line, "quit") || !strcmp(line, "exit") || !strcmp(line, "q");
}

/* Runs a line; where the server died, starts a fresh one.  False when there is
 * none to be had. */
static bool run_line(const struct ri_options *options, struct ri_server **server, const char *line,
		     int *status)
{
	int output;
	struct ri_error *error = ri_server_run(*server, line, status, &output);

	if (!error)
		error = ri_publish_fd(output, STDOUT_FILENO, "standard output");
	if (!error)
		return true;
	fprintf(stderr, "refinspect: %s\n", error->message);
	if (error->code == RI_ERROR_USAGE) {
		ri_error_destroy(error);
		return true;
	}
	ri_error_destroy(error);
	*status = RI_STATUS_UNUSABLE;
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

static void destroy_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static int run_loop(const struct ri_options *options, struct ri_server *server, bool is_terminal)
{
	int status = 0;
	char *line;

	while ((line = is_terminal ? read_terminal_line() : read_plain_line()) != NULL) {
		bool is_done = is_quit(line);
		bool goes_on = is_done || run_line(options, &server, line, &status);

		free(line);
		if (is_done || !goes_on)
			break;
	}
	if (!line && is_terminal)
		putchar('\n');
	ri_server_destroy(server);
	return status;
}

int ri_prompt_run(const struct ri_options *options)
{
	const struct sigaction action = { .sa_handler = on_interrupt };
	bool is_terminal = isatty(STDIN_FILENO);
	struct ri_server *server;
	struct ri_error *error = ri_server_create(options, &server);
	char *history = is_terminal ? history_path() : NULL;
	int status;

	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		free(history);
		return RI_STATUS_UNUSABLE;
	}
	sigaction(SIGINT, &action, NULL);
	if (is_terminal) {
		completion_types = ri_server_type_names(server);
		rl_readline_name = "refinspect";
		rl_attempted_completion_function = complete;
		rl_completer_word_break_characters = " \t\n";
		using_history();
		stifle_history(HISTORY_LINES);
		if (history)
			read_history(history);
	}
	status = run_loop(options, server, is_terminal);
	if (history)
		write_history(history);
	free(history);
	destroy_names(completion_types);
	completion_types = NULL;
	return status;
}
