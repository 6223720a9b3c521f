/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * refinspect as it would be if one row of the table of checks were deleted: for the test
 * that sees each fixture's test turn red without its check (tests/lost-checks.sh).
 *
 *	check_less --without=CODE [--profile=FILE]... [--at-exit] [--strict]
 *	           [--debug-dir=DIR] [--format=json] (--core=FILE | -p PID)
 *
 * Prints the JSON report of `check` and ends with its exit status; 2 where the target
 * cannot be used or there is no such code.  CODE `none` deletes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "report/report.h"

#define STATUS_UNUSABLE 2

static const char *after(const char *argument, const char *option)
{
	size_t length = strlen(option);

	return strncmp(argument, option, length) ? NULL : argument + length;
}

/* The table without `code` in a new array, or null: there is no such code. */
static const struct ri_check **table_without(const char *code)
{
	RI_VEC(const struct ri_check *) table = { 0 };
	bool is_found = !strcmp(code, "none");

	for (size_t i = 0; ri_checks[i]; i++) {
		if (strcmp(ri_checks[i]->code, code))
			*ri_push(&table) = ri_checks[i];
		else
			is_found = true;
	}
	*ri_push(&table) = NULL;
	if (is_found)
		return table.items;
	ri_vec_deinit(&table);
	return NULL;
}

static int inspect(const struct ri_analysis_options *options)
{
	const struct ri_report_options report = { 0 };
	struct ri_analysis *analysis;
	struct ri_error *error = ri_analysis_create(options, &analysis);
	int status;

	if (error) {
		fprintf(stderr, "check_less: %s\n", error->message);
		ri_error_destroy(error);
		return STATUS_UNUSABLE;
	}
	ri_writer_find("json")->write_check(stdout, analysis, &report);
	status = (int)ri_analysis_verdict(analysis);
	ri_analysis_destroy(analysis);
	return status;
}

int main(int argc, char **argv)
{
	RI_VEC(const char *) profiles = { 0 };
	const char *debug_dirs[2] = { NULL, NULL }, *code = NULL, *value;
	struct ri_analysis_options options = { 0 };
	const struct ri_check **table;
	int status = STATUS_UNUSABLE;

	for (int i = 1; i < argc; i++) {
		if ((value = after(argv[i], "--without=")))
			code = value;
		else if ((value = after(argv[i], "--profile=")))
			*ri_push(&profiles) = value;
		else if ((value = after(argv[i], "--debug-dir=")))
			debug_dirs[0] = value;
		else if ((value = after(argv[i], "--core=")))
			options.core_path = value;
		else if (!strcmp(argv[i], "-p") && i + 1 < argc)
			options.pid = (pid_t)strtol(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--at-exit"))
			options.is_at_exit = true;
		else if (!strcmp(argv[i], "--strict"))
			options.is_strict = true;
	}
	*ri_push(&profiles) = NULL;
	options.profile_paths = profiles.items;
	options.modules.debug_dirs = debug_dirs;
	table = code ? table_without(code) : NULL;
	options.checks = (const struct ri_check *const *)table;
	if (!table)
		fprintf(stderr, "check_less: there is no such code\n");
	else
		status = inspect(&options);
	free(table);
	ri_vec_deinit(&profiles);
	return status;
}
