/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines for the prompt, and the one file that uses readline: editing,
 * completion, history.
 *
 * readline's callback interface is used, because only with it an interrupt can
 * end the editing of a line in whatever state that is (a search, an argument):
 * the line's handler is removed and installed anew.  Signals are noted by
 * readline's own handlers, which take the terminal's modes back before a signal
 * goes on to ours, and looked at whenever waiting for a key ends.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/memory.h"
#include "cli/prompt_line.h"

#define PROMPT "refinspect> "
#define HISTORY_LINES 1000
#define SIGNAL_POLL_MS 200 /* how late one is seen that comes just before the wait */

/* readline's callbacks and signal handlers take no data of ours, so what they
 * share must stand here; one prompt runs per process. */
static struct {
	const struct ri_completion_names *names;
	char **matches; /* of the word being completed */
	size_t next_match;
	char *line;
	bool has_line;
	char *history_path; /* or null */
	volatile sig_atomic_t is_interrupted;
} prompt;

/* ---- completion ------------------------------------------------------------- */

static char *next_match(const char *text, int state)
{
	const char *match;

	(void)text;
	if (!state)
		prompt.next_match = 0;
	match = prompt.matches[prompt.next_match];
	prompt.next_match += match != NULL;
	return match ? ri_strdup(match) : NULL; /* readline frees it */
}

static void destroy_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static char **complete(const char *text, int start, int end)
{
	char *before = ri_strndup(rl_line_buffer, (size_t)start), **result;

	(void)end;
	rl_attempted_completion_over = 1; /* no file names */
	prompt.matches = ri_completion_find(prompt.names, before, text);
	result = rl_completion_matches(text, next_match);
	if (result && !result[1] && *result[0] && result[0][strlen(result[0]) - 1] == '=')
		rl_completion_suppress_append = 1;
	destroy_list(prompt.matches);
	prompt.matches = NULL;
	free(before);
	return result;
}

/* ---- history ---------------------------------------------------------------- */

/* Makes the folders of `path`, for their owner alone as the XDG specification
 * has it; what fails shows when the file is written. */
static void make_folders(const char *path)
{
	char *folder = ri_strdup(path);

	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0700);
		*slash = '/';
	}
	free(folder);
}

/* Below $XDG_STATE_HOME or ~/.local/state; owned by the caller, null without a
 * home. */
static char *find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		return ri_format("%s/refinspect_history", state);
	if (home && *home == '/')
		return ri_format("%s/.local/state/refinspect_history", home);
	return NULL;
}

static void keep_in_history(const char *line)
{
	const HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1)
						: NULL;

	if (line[strspn(line, " \t")] && !(last && !strcmp(last->line, line)))
		add_history(line);
}

void ri_prompt_line_open(const struct ri_completion_names *names)
{
	prompt.names = names;
	rl_readline_name = "refinspect";
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n";
	/* without questions, which would wait for a key by themselves */
	rl_completion_query_items = 0;
	rl_variable_bind("page-completions", "off");
	rl_persistent_signal_handlers = 1;
	if (!isatty(STDOUT_FILENO))
		rl_outstream = stderr;
	using_history();
	stifle_history(HISTORY_LINES);
	prompt.history_path = find_history();
	if (prompt.history_path)
		read_history(prompt.history_path);
}

void ri_prompt_line_close(void)
{
	if (prompt.history_path && history_length) {
		make_folders(prompt.history_path);
		write_history(prompt.history_path);
	}
	free(prompt.history_path);
	prompt.history_path = NULL;
	clear_history();
}

/* ---- lines ------------------------------------------------------------------- */

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	prompt.is_interrupted = 1;
}

void ri_prompt_line_catch_interrupts(void)
{
	const struct sigaction action = { .sa_handler = on_interrupt };

	sigaction(SIGINT, &action, NULL);
}

const volatile sig_atomic_t *ri_prompt_line_interrupted(void)
{
	return &prompt.is_interrupted;
}

static void take_line(char *line)
{
	prompt.line = line;
	prompt.has_line = true;
	rl_callback_handler_remove(); /* or the next prompt would be printed already */
}

char *ri_prompt_line_read(void)
{
	struct pollfd input = { .fd = fileno(rl_instream ? rl_instream : stdin),
				.events = POLLIN };

	prompt.has_line = false;
	prompt.is_interrupted = 0;
	rl_callback_handler_install(PROMPT, take_line);
	while (!prompt.has_line) {
		int ready = poll(&input, 1, SIGNAL_POLL_MS);

		rl_check_signals();
		if (prompt.is_interrupted) {
			prompt.is_interrupted = 0;
			rl_callback_handler_remove();
			fputc('\n', rl_outstream);
			rl_callback_handler_install(PROMPT, take_line);
		} else if (ready > 0) {
			rl_callback_read_char();
		}
	}
	if (prompt.line)
		keep_in_history(prompt.line);
	else
		fputc('\n', rl_outstream);
	return prompt.line;
}

char *ri_prompt_line_read_plain(void)
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
