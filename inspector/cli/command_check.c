/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `check`: the whole report.  `coverage`: what it rests on. */
#include "cli/commands.h"

static struct ri_error *run_check(struct ri_command_context *context, int word_count, char **words,
				  int *ret_status)
{
	(void)word_count;
	(void)words;
	ri_writer_find(context->request.format)
		->write_check(context->out, context->analysis, &context->report);
	*ret_status = (int)ri_analysis_verdict(context->analysis);
	return NULL;
}

const struct ri_command ri_command_check = {
	.name = "check",
	.arguments = "",
	.summary = "audit every count and every group (the default)",
	.help = "Prints the program and how it ended, what could be searched, a row per counted "
		"type and per group, and the findings, those alike folded into one. With -v "
		"every finding stands alone with every holder.\n"
		"The exit status is 0 when all is clean and complete, 1 when there are findings, "
		"3 when nothing was found but something that matters could not be checked.\n"
		"Filters narrow what is printed, never the exit status.",
	.needs_target = true,
	.run = run_check,
};

static struct ri_error *run_coverage(struct ri_command_context *context, int word_count,
				     char **words, int *ret_status)
{
	(void)word_count;
	(void)words;
	(void)ret_status;
	ri_writer_find(context->request.format)
		->write_coverage(context->out, context->analysis, &context->report);
	return NULL;
}

const struct ri_command ri_command_coverage = {
	.name = "coverage",
	.arguments = "",
	.summary = "what was present, typed and searched, and what was not",
	.help = "Prints which share of the image was present, backed by files, presumed never "
		"touched or missing; which modules have debug information and why others have "
		"none; which threads have registers; what the heap walk understood; and every "
		"gap, those that keep a clean result from being complete first.",
	.needs_target = true,
	.run = run_coverage,
};
