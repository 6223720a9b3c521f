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
#include "cli/options.h"
#include "report/report.h"

struct ri_command_context {
	const struct ri_analysis *analysis; /* null for commands that need no target */
	FILE *out;
	const struct ri_options *options;   /* of the whole call */
	/* of this command: the global ones, then its own */
	struct ri_report_request request;
	struct ri_report_options report;    /* made from `request` when the command runs */
};

struct ri_command {
	const char *name;        /* "holders" */
	const char *arguments;   /* "ADDR", "[TYPE]", "" */
	const char *summary;     /* one line */
	const char *help;        /* paragraphs, for `help NAME` and the manual */
	bool needs_target;
	bool needs_memory_alone; /* of a target, memory, modules and blocks do: no census has to be
				  * taken for it.  The command says itself what it lacked. */
	bool is_text_only;       /* there is no JSON of it: --format=json is a usage error */
	unsigned min_words, max_words; /* words behind the name that are no options */
	/* words[0 .. word_count) are the command's words.  *ret_status is the exit status
	 * (default 0).  RI_ERROR_USAGE prints the command's usage centrally. */
	struct ri_error *(*run)(struct ri_command_context *context, int word_count, char **words,
				int *ret_status);
};

extern const struct ri_command *const ri_commands[]; /* null-terminated */
const struct ri_command *ri_command_find(const char *name);

/* Parses an address: 0x..., a decimal number, or the name of a variable or
 * symbol, which means what it points at where it is a pointer to a counted
 * object.  RI_ERROR_USAGE with what was wrong. */
struct ri_error *ri_command_parse_addr(const struct ri_analysis *analysis, const char *text,
				       uint64_t *ret);

/* A command line that was understood, ready to run. */
struct ri_command_call {
	const struct ri_command *command;
	struct ri_report_request request;
	int word_count;
	char **words;            /* into the argv it was made from */
	/* null, or where the addresses of the rows that it lists are appended */
	ri_report_addr_list *addresses;
};

/*
 * Looks up the command `argv[0]`, parses its options and counts its words;
 * `argv` is reordered and must outlive the call.  Prints what is wrong, and the
 * usage, to stderr and returns false; the exit status is then 2.
 */
bool ri_command_prepare(const struct ri_options *options, int argc, char **argv,
			struct ri_command_call *ret);

/* Runs it on `analysis` (null: none), errors to stderr; the exit status: the command's own,
 * and 3 in place of 0 where something that matters could not be checked. */
int ri_command_execute(const struct ri_options *options, const struct ri_analysis *analysis,
		       const struct ri_command_call *call, FILE *out);

#endif
