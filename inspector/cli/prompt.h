/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interactive prompt (-i).  prompt_line.c is the one file that uses readline. */
#ifndef RI_CLI_PROMPT_H
#define RI_CLI_PROMPT_H

#include "cli/options.h"

/* Runs the prompt until end of input or `quit`; returns the exit status. */
int ri_prompt_run(const struct ri_options *options);

#endif
