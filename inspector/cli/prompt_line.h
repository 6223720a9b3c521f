/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines for the prompt, from a terminal or not; the history between sessions. */
#ifndef RI_CLI_PROMPT_LINE_H
#define RI_CLI_PROMPT_LINE_H

#include <signal.h>
#include <stdbool.h>

#include "cli/completion.h"

/* Sets the terminal's side up and reads the history; `names` must live until
 * ri_prompt_line_close(). */
void ri_prompt_line_open(const struct ri_completion_names *names);
/* Writes the history. */
void ri_prompt_line_close(void);

/* The next line as it was typed at the terminal, a new string owned by the
 * caller; null at the end of input.  Ctrl-C clears what was typed and starts
 * anew, wherever in editing it comes; one that comes behind the line stays set. */
char *ri_prompt_line_read(void);

/* The next line of a standard input that is no terminal. */
char *ri_prompt_line_read_plain(void);

/* Handles Ctrl-C from here on: it only sets ri_prompt_line_interrupted(). */
void ri_prompt_line_catch_interrupts(void);
/* Whether Ctrl-C came since the last line was read. */
const volatile sig_atomic_t *ri_prompt_line_interrupted(void);

#endif
