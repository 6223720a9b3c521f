/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One command in a supervised child.  Decides whether the command needs the
 * analysis at all, and where its output goes.
 */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/verdict.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/supervisor.h"
#include "report/words.h"

/* Landlock hides what /proc shows of other processes. */
static bool is_of_process(const char *path)
{
	return path && !strncmp(path, "/proc/", strlen("/proc/"));
}

static bool names_process(const struct ri_options *options)
{
	bool does = is_of_process(options->core_path) || is_of_process(options->exe_path) ||
		    is_of_process(options->sysroot);

	for (size_t i = 0; options->debug_dirs.items && options->debug_dirs.items[i]; i++)
		does |= is_of_process(options->debug_dirs.items[i]);
	for (size_t i = 0; options->profile_paths.items && options->profile_paths.items[i]; i++)
		does |= is_of_process(options->profile_paths.items[i]);
	return does;
}

struct confinement {
	const struct ri_options *options;
	unsigned flags;
};

static struct ri_error *confine(void *data)
{
	const struct confinement *confinement = data;

	return ri_confine(confinement->options->confine, confinement->flags);
}

struct ri_error *ri_session_analyse(const struct ri_options *options, unsigned confine_flags,
				    bool is_memory_alone, struct ri_analysis **ret)
{
	struct confinement confinement = { options, confine_flags };
	struct ri_analysis_options request = {
		.core_path = options->core_path,
		.pid = options->pid,
		.live = options->live,
		.modules = {
			.exe_path = options->exe_path,
			.debug_dirs = options->debug_dirs.items,
			.sysroot = options->sysroot,
		},
		.profile_paths = options->profile_paths.items,
		.no_builtin_profiles = options->no_builtin_profiles,
		.infer = options->infer,
		.thread_count = options->thread_count,
		.is_strict = options->is_strict,
		.is_memory_alone = is_memory_alone,
		.is_at_exit = options->is_at_exit,
		.assumptions = options->assumptions.items,
		.assumption_count = options->assumptions.count,
	};
	struct ri_error *error = NULL;

	ri_confine_resources(options->max_memory_bytes);
	if (options->pid || names_process(options))
		confinement.flags |= RI_CONFINE_SEES_PROCESSES;
	if (options->pid) { /* which is traced first */
		request.target_opened = confine;
		request.target_opened_data = &confinement;
	} else {
		error = confine(&confinement);
	}
	return error ? error : ri_analysis_create(&request, ret);
}

static void print_timings(const struct ri_analysis *analysis)
{
	double total = 0;

	for (size_t i = 0; i < analysis->stage_count; i++) {
		fprintf(stderr, "stage %-12s %9.6f s\n", analysis->stages[i].name,
			analysis->stages[i].seconds);
		total += analysis->stages[i].seconds;
	}
	fprintf(stderr, "stage %-12s %9.6f s\n", "total", total);
}

struct once {
	const struct ri_options *options;
	struct ri_command_call call;
	bool needs_analysis;
};

/* Why a listing is not the whole answer; `check` and `coverage` tell all. */
static void tell_doubt(const struct ri_analysis *analysis)
{
	ri_doubts doubts = { 0 };

	ri_analysis_doubts(analysis, &doubts);
	if (doubts.count) {
		char *clean = ri_words_clean(doubts.items[0]);

		fprintf(stderr, "refinspect: could not check: %s%s\n", clean,
			doubts.count > 1 ? ", and more that coverage tells" : "");
		free(clean);
	}
	ri_doubts_deinit(&doubts);
}

/* The child's work. */
static int run_command(FILE *out, void *data)
{
	const struct once *once = data;
	struct ri_analysis *analysis = NULL;
	int status;

	if (once->needs_analysis) {
		struct ri_error *error = ri_session_analyse(
			once->options, 0, once->call.command->needs_memory_alone, &analysis);

		if (error) {
			fprintf(stderr, "refinspect: %s\n", error->message);
			ri_error_destroy(error);
			return RI_STATUS_UNUSABLE;
		}
		if (once->options->show_timings)
			print_timings(analysis);
	}
	status = ri_command_execute(once->options, analysis, &once->call, out);
	if (status == (int)RI_VERDICT_UNCHECKED && once->call.command != &ri_command_check &&
	    !once->call.command->needs_memory_alone)
		tell_doubt(analysis);
	ri_analysis_destroy(analysis);
	return status;
}

int ri_session_run_once(const struct ri_options *options)
{
	static char check[] = "check";
	char *default_argv[] = { check, NULL };
	const struct ri_supervision rules = { .time_limit_seconds = options->time_limit_seconds };
	struct once once = { .options = options };
	struct ri_error *error;
	int status = RI_STATUS_UNUSABLE, output;

	if (!ri_command_prepare(options, options->command_argc ? options->command_argc : 1,
				options->command_argc ? options->command_argv : default_argv,
				&once.call))
		return RI_STATUS_UNUSABLE;
	/* `help` explains the tool, not the target */
	once.needs_analysis = (options->core_path || options->pid) &&
			      strcmp(once.call.command->name, "help");
	error = ri_supervise(run_command, &once, &rules, &status, &output);
	if (!error) {
		if (status != RI_STATUS_UNUSABLE)
			error = ri_publish(output, options->output_path);
		close(output);
	}
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		return RI_STATUS_UNUSABLE;
	}
	return status;
}
