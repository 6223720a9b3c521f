/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program: parses the command line, runs one command or the prompt. */
#include <stdlib.h>

#include "cli/options.h"
#include "cli/prompt.h"
#include "cli/session.h"

int main(int argc, char **argv)
{
	struct ri_options options;
	int status;

	ri_options_parse(&options, argc, argv);
	status = options.is_interactive ? ri_prompt_run(&options) : ri_session_run_once(&options);
	ri_options_deinit(&options);
	return status;
}
