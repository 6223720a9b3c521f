/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line: `refinspect [options] TARGET [command [arguments]]`.
 *
 * Options before the command are global; those that shape a report (format,
 * verbosity, filters) are accepted after the command too, because every
 * command parses them with ri_options_parse_report().
 */
#ifndef RI_CLI_OPTIONS_H
#define RI_CLI_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"
#include "check/analysis.h"
#include "cli/confine.h"
#include "report/report.h"

enum ri_colour_mode { RI_COLOUR_AUTO, RI_COLOUR_ALWAYS, RI_COLOUR_NEVER };

/* What shapes a report, wherever it stood on the line. */
struct ri_report_request {
	const char *format;      /* "text", "json" */
	bool is_verbose, is_quiet, show_names;
	bool wants_unknown;      /* of `types` */
	bool wants_models;       /* of `ownership` */
	const char *type, *group, *name, *code;
	bool has_object;
	uint64_t object_addr;
	bool has_index;
	int64_t index;
	size_t limit;            /* 0: all */
};

struct ri_options {
	const char *core_path;   /* or null */
	struct ri_target_live_options live; /* for a process that a debugger holds */
	const char *command_prefix; /* how to call the tool again; null: made from the target */
	pid_t pid;               /* 0: none */
	const char *exe_path, *sysroot, *output_path;
	RI_VEC(const char *) profile_paths; /* null-terminated once parsed */
	RI_VEC(struct ri_assumption) assumptions;
	RI_VEC(const char *) debug_dirs;    /* null-terminated once parsed */
	enum ri_infer_mode infer;
	bool no_builtin_profiles, is_interactive, is_strict, is_at_exit,
		show_timings;
	unsigned thread_count;   /* 0: by the number of processors */
	unsigned time_limit_seconds; /* 0: none */
	uint64_t max_memory_bytes; /* see ri_confine_resources() */
	enum ri_confine_mode confine;
	enum ri_colour_mode colour;
	struct ri_report_request report;
	/* The command and its arguments; argc 0: the default command. */
	int command_argc;
	char **command_argv;
};

/*
 * Parses the whole command line into `options`.  Prints help, version and
 * usage errors itself and exits then (0, 0 and 2): this is the program's outer
 * edge.
 */
void ri_options_parse(struct ri_options *options, int argc, char **argv);
void ri_options_deinit(struct ri_options *options);

/*
 * Parses a command's own arguments (argv[0] is its name): report options go to
 * `request`, the words that are no options are moved to argv[1 ..] and counted
 * in *ret_word_count.  RI_ERROR_USAGE for an option that does not exist.
 */
struct ri_error *ri_options_parse_report(struct ri_report_request *request, int argc, char **argv,
					 int *ret_word_count);

/* An option as help, the manual and completion name it. */
struct ri_option_words {
	const char *heading;     /* of the options from here on, or null: as before */
	const char *name;        /* "format"; null beside a heading */
	char letter;             /* 'v' for -v, or 0 */
	const char *argument;    /* "FORMAT", or null */
	const char *summary;
	bool is_of_report;       /* accepted behind the command too */
};

/* Every option that is not hidden, in the order of --help. */
void ri_options_each(void (*each)(const struct ri_option_words *option, void *data), void *data);

/* The words that come first and need no target; see commands.c. */
bool ri_options_is_targetless(const char *word);

#endif
