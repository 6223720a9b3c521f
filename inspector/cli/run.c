/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running one command: its options, its words, its errors.  The one place that
 * prints a usage line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/verdict.h"
#include "cli/commands.h"
#include "cli/supervisor.h"

static bool wants_colour(const struct ri_options *options, bool is_terminal)
{
	const char *no_colour = getenv("NO_COLOR");

	if (options->colour != RI_COLOUR_AUTO)
		return options->colour == RI_COLOUR_ALWAYS;
	return is_terminal && !(no_colour && *no_colour);
}

/* A word as a shell takes it back. */
static char *quote_word(const char *word)
{
	char *quoted, *out;

	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_+-./:=@%,")])
		return ri_strdup(word);
	quoted = out = ri_malloc(4 * strlen(word) + 3);
	*out++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			out = stpcpy(out, "'\\'");
		*out++ = *word;
	}
	strcpy(out, "'");
	return quoted;
}

/* Appends " OPTIONWORD" to the new string `*text`. */
static void append_word(char **text, const char *option, const char *word)
{
	char *quoted = quote_word(word);
	char *longer = ri_format("%s %s%s", *text, option, quoted);

	free(quoted);
	free(*text);
	*text = longer;
}

/* Appends the options that choose how the image is looked at, whatever it is of. */
static void append_analysis(char **text, const struct ri_options *options)
{
	for (size_t i = 0; options->profile_paths.items && options->profile_paths.items[i]; i++)
		append_word(text, "--profile=", options->profile_paths.items[i]);
	if (options->no_builtin_profiles)
		append_word(text, "", "--no-builtin");
	if (options->infer != RI_INFER_AUTO)
		append_word(text, "", options->infer == RI_INFER_ALL ? "--infer=all" : "--no-infer");
	for (size_t i = 0; i < options->assumptions.count; i++) {
		const struct ri_assumption *assumption = &options->assumptions.items[i];
		char *word = ri_format("0x%" PRIx64 "=%s", assumption->addr, assumption->type_name);

		append_word(text, "--assume=", word);
		free(word);
	}
	if (options->is_strict)
		append_word(text, "", "--strict");
	if (options->is_at_exit)
		append_word(text, "", "--at-exit");
}

/* How the user would call the tool again on this target to see the same: with
 * every option that the analysis depends on. */
static char *command_prefix(const struct ri_options *options)
{
	char *text = ri_strdup(options->command_prefix ? options->command_prefix : "refinspect");

	if (options->command_prefix) { /* the target, and where its files are, is the caller's */
		append_analysis(&text, options);
		return text;
	}
	if (options->exe_path)
		append_word(&text, "--exe=", options->exe_path);
	if (options->sysroot)
		append_word(&text, "--sysroot=", options->sysroot);
	for (size_t i = 0; options->debug_dirs.items && options->debug_dirs.items[i]; i++)
		append_word(&text, "--debug-dir=", options->debug_dirs.items[i]);
	append_analysis(&text, options);
	if (options->pid) {
		char *pid = ri_format("%d", (int)options->pid);

		append_word(&text, "-p ", pid);
		free(pid);
	} else if (options->core_path) {
		append_word(&text, "", options->core_path);
	}
	return text;
}

static struct ri_report_options make_report_options(const struct ri_options *options,
						    const struct ri_analysis *analysis,
						    const struct ri_report_request *request,
						    const char *prefix)
{
	bool is_terminal = !options->output_path && isatty(STDOUT_FILENO);
	bool has_object = analysis && request->has_object;

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
		.has_object = has_object,
		.object = has_object && analysis->population ? ri_population_find(analysis->population,
							  request->object_addr) : RI_NONE,
		.has_index = request->has_index,
		.index = request->index,
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
	if (!error && command->is_text_only && strcmp(ret->request.format, "text"))
		error = ri_error_create(RI_ERROR_USAGE, "'%s' prints text alone, no %s",
					command->name, ret->request.format);
	if (!error && ret->request.wants_unknown && command != &ri_command_types)
		error = ri_error_create(RI_ERROR_USAGE, "--unknown is an option of 'types'");
	if (!error && ret->request.wants_models && command != &ri_command_ownership)
		error = ri_error_create(RI_ERROR_USAGE, "--explain is an option of 'ownership'");
	if (!error)
		return true;
	print_error(command, error);
	ri_error_destroy(error);
	return false;
}

/* An empty listing must not pass for a clean answer where not all could be looked at. */
static bool has_doubts(const struct ri_analysis *analysis)
{
	ri_doubts doubts = { 0 };
	bool has_any;

	ri_analysis_doubts(analysis, &doubts);
	has_any = doubts.count > 0;
	ri_doubts_deinit(&doubts);
	return has_any;
}

int ri_command_execute(const struct ri_options *options, const struct ri_analysis *analysis,
		       const struct ri_command_call *call, FILE *out)
{
	char *prefix = command_prefix(options);
	struct ri_command_context context = {
		.analysis = analysis, .out = out, .options = options, .request = call->request,
		.report = make_report_options(options, analysis, &call->request, prefix),
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
	} else if (!status && call->command->needs_target &&
		   !call->command->needs_memory_alone && has_doubts(analysis)) {
		status = (int)RI_VERDICT_UNCHECKED;
	}
	ri_error_destroy(error);
	free(prefix);
	return status;
}
