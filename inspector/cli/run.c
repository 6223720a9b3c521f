/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running one command: its options, its words, its errors.  The one place that
 * prints a usage line.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/supervisor.h"

static bool wants_colour(const struct ri_options *options, bool is_terminal)
{
	const char *no_colour = getenv("NO_COLOR");

	if (options->colour != RI_COLOUR_AUTO)
		return options->colour == RI_COLOUR_ALWAYS;
	return is_terminal && !(no_colour && *no_colour);
}

/* How the user would call the tool again on this target. */
static char *command_prefix(const struct ri_options *options)
{
	if (options->command_prefix)
		return ri_strdup(options->command_prefix);
	if (options->pid)
		return ri_format("refinspect -p %d", (int)options->pid);
	return ri_format("refinspect %s", options->core_path ? options->core_path : "");
}

static struct ri_report_options make_report_options(const struct ri_options *options,
						    const struct ri_report_request *request,
						    const char *prefix)
{
	bool is_terminal = !options->output_path && isatty(STDOUT_FILENO);

	return (struct ri_report_options){
		.is_verbose = request->is_verbose,
		.is_quiet = request->is_quiet,
		.show_names = request->show_names,
		.is_terminal = is_terminal,
		.use_colour = wants_colour(options, is_terminal),
		.limit = request->limit,
		.type = request->type,
		.group = request->group,
		.code = request->code,
		.name = request->name,
		.command_prefix = prefix,
	};
}

static void print_error(const struct ri_command *command, const struct ri_error *error)
{
	fprintf(stderr, "refinspect: %s\n", error->message);
	if (error->code == RI_ERROR_USAGE)
		fprintf(stderr, "Usage: %s%s%s\n", command->name, *command->arguments ? " " : "",
			command->arguments);
}

static struct ri_error *check_words(const struct ri_command *command, int word_count)
{
	if ((unsigned)word_count < command->min_words)
		return ri_error_create(RI_ERROR_USAGE, "'%s' needs %s", command->name,
				       command->arguments);
	if ((unsigned)word_count > command->max_words)
		return ri_error_create(RI_ERROR_USAGE, "too many arguments for '%s'",
				       command->name);
	return NULL;
}

bool ri_command_prepare(const struct ri_options *options, int argc, char **argv,
			struct ri_command_call *ret)
{
	const struct ri_command *command = ri_command_find(argv[0]);
	struct ri_error *error;

	*ret = (struct ri_command_call){ .command = command, .request = options->report,
					 .words = argv + 1 };
	if (!command) {
		fprintf(stderr, "refinspect: there is no command '%s'; 'help' lists them\n",
			argv[0]);
		return false;
	}
	error = ri_options_parse_report(&ret->request, argc, argv, &ret->word_count);
	if (!error)
		error = check_words(command, ret->word_count);
	if (!error)
		return true;
	print_error(command, error);
	ri_error_destroy(error);
	return false;
}

int ri_command_execute(const struct ri_options *options, const struct ri_analysis *analysis,
		       const struct ri_command_call *call, FILE *out)
{
	char *prefix = command_prefix(options);
	struct ri_command_context context = {
		.analysis = analysis, .out = out, .options = options, .request = call->request,
		.report = make_report_options(options, &call->request, prefix),
	};
	struct ri_error *error = NULL;
	int status = 0;

	context.report.addresses = call->addresses;
	if (call->command->needs_target && !analysis)
		error = ri_error_create(RI_ERROR_USAGE, "'%s' needs a target: a core file, or -p PID",
					call->command->name);
	if (!error && analysis)
		error = ri_filter_check(analysis, &context.request);
	if (!error)
		error = call->command->run(&context, call->word_count, call->words, &status);
	if (error) {
		print_error(call->command, error);
		status = RI_STATUS_UNUSABLE;
	}
	ri_error_destroy(error);
	free(prefix);
	return status;
}
