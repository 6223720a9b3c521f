/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of commands, the same on the command line, at the prompt and in
 * gdb.  A command is one file and one row.
 */
#ifndef RI_CLI_COMMAND_H
#define RI_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "check/analysis.h"
#include "report/report.h"

struct ri_command_context {
	const struct ri_analysis *analysis; /* null for commands that need no target */
	FILE *out;
	const char *format;      /* "text", "json" */
	struct ri_report_options report;
	/* addresses shown, for gdb's $ref1...: may be null */
	struct ri_shown *shown;
};

struct ri_command {
	const char *name;        /* "holders" */
	const char *arguments;   /* "ADDR", "[TYPE]", "" */
	const char *summary;     /* one line */
	const char *help;        /* paragraphs, for `help NAME` and the manual */
	bool needs_target;
	/* argv[0] is the command's name; options are parsed by the command.  *ret_status is the
	 * exit status (default 0).  RI_ERROR_USAGE prints the command's usage centrally. */
	struct ri_error *(*run)(struct ri_command_context *context, int argc, char **argv,
				int *ret_status);
};

extern const struct ri_command *const ri_commands[]; /* null-terminated */
const struct ri_command *ri_command_find(const char *name);

/* Parses an address: 0x..., a decimal number, or a symbol or variable name.
 * RI_ERROR_USAGE with what was wrong. */
struct ri_error *ri_command_parse_addr(const struct ri_analysis *analysis, const char *text,
				       uint64_t *ret);

#endif
