/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Option parsing with argp.  Knows the grammar of the command line and nothing
 * of what the commands do.
 *
 * argp runs in order: the first word is the target (unless -p or --core gave
 * it, or the word needs none), the second the command, and everything behind
 * the command belongs to the command.
 */
#include "cli/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

#define STATUS_USAGE 2
#define MAX_ANALYSIS_THREADS 256

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fputs("refinspect " RI_VERSION "\n", stream);
	ri_confine_describe(stream);
}

void (*argp_program_version_hook)(FILE *stream, struct argp_state *state) = print_version;
const char *argp_program_bug_address = NULL;

enum {
	OPT_CORE = 256, OPT_PROFILE, OPT_NO_BUILTIN, OPT_SYSROOT, OPT_DEBUG_DIR, OPT_STRICT, OPT_AT_EXIT,
	OPT_THREADS, OPT_TIMINGS, OPT_TIME_LIMIT, OPT_MAX_MEMORY, OPT_CONFINE,
	OPT_COLOUR, OPT_FORMAT, OPT_SHOW_NAMES, OPT_TYPE,
	OPT_GROUP, OPT_NAME, OPT_INDEX, OPT_OBJECT, OPT_CODE, OPT_LIMIT,
	OPT_INFER, OPT_NO_INFER, OPT_ASSUME, OPT_UNKNOWN, OPT_EXPLAIN,
};

static const struct argp_option report_options[] = {
	{ 0, 0, 0, 0, "Report:", 20 },
	{ "format", OPT_FORMAT, "FORMAT", 0, "text (default) or json", 0 },
	{ "verbose", 'v', 0, 0, "every finding with every holder, nothing folded", 0 },
	{ "quiet", 'q', 0, 0, "findings and the verdict alone", 0 },
	{ "show-names", OPT_SHOW_NAMES, 0, 0,
	  "object names, which come from the target's memory, in files and machine formats too", 0 },
	{ "unknown", OPT_UNKNOWN, 0, 0,
	  "of 'types': heap blocks of no known type, by size, and which would settle the most", 0 },
	{ "explain", OPT_EXPLAIN, 0, 0,
	  "of 'ownership': the models that explain about as much, and what each would mean", 0 },
	{ 0, 0, 0, 0, "Filters:", 30 },
	{ "type", OPT_TYPE, "TYPE", 0, "objects of this counted type", 0 },
	{ "group", OPT_GROUP, "GROUP", 0, "members of this group", 0 },
	{ "name", OPT_NAME, "TEXT", 0, "objects whose name member is TEXT", 0 },
	{ "index", OPT_INDEX, "N", 0, "objects whose index member is N", 0 },
	{ "object", OPT_OBJECT, "ADDR", 0, "the object that contains ADDR", 0 },
	{ "code", OPT_CODE, "CODE", 0, "findings with this code", 0 },
	{ "limit", OPT_LIMIT, "N", 0, "at most N rows", 0 },
	{ 0 },
};

static error_t parse_number(struct argp_state *state, const char *what, const char *text,
			    int64_t low, int64_t high, int64_t *ret)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno || end == text || *end || value < low || value > high) {
		argp_error(state, "%s takes a number from %lld to %lld, not '%s'", what,
			   (long long)low, (long long)high, text);
		return EINVAL;
	}
	*ret = value;
	return 0;
}

static error_t parse_format(struct argp_state *state, struct ri_report_request *request,
			    const char *text)
{
	if (!ri_writer_find(text)) {
		argp_error(state, "there is no format '%s': text or json", text);
		return EINVAL;
	}
	request->format = text;
	return 0;
}

static error_t parse_report_option(int key, char *arg, struct argp_state *state)
{
	struct ri_report_request *request = state->input;
	int64_t number = 0;
	char *end;

	switch (key) {
	case OPT_FORMAT:
		return parse_format(state, request, arg);
	case 'v':
		request->is_verbose = true;
		return 0;
	case 'q':
		request->is_quiet = true;
		return 0;
	case OPT_SHOW_NAMES:
		request->show_names = true;
		return 0;
	case OPT_EXPLAIN:
		request->wants_models = true;
		return 0;
	case OPT_UNKNOWN:
		request->wants_unknown = true;
		return 0;
	case OPT_TYPE:
		request->type = arg;
		return 0;
	case OPT_GROUP:
		request->group = arg;
		return 0;
	case OPT_NAME:
		request->name = arg;
		return 0;
	case OPT_CODE:
		request->code = arg;
		return 0;
	case OPT_INDEX:
		request->has_index = true;
		return parse_number(state, "--index", arg, INT64_MIN, INT64_MAX, &request->index);
	case OPT_LIMIT:
		if (parse_number(state, "--limit", arg, 0, INT64_MAX, &number))
			return EINVAL;
		request->limit = (size_t)number;
		return 0;
	case OPT_OBJECT:
		errno = 0;
		request->object_addr = strtoull(arg, &end, 0);
		request->has_object = true;
		if (errno || end == arg || *end) {
			argp_error(state, "--object takes an address, not '%s'", arg);
			return EINVAL;
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp report_argp = { report_options, parse_report_option, 0, 0, 0, 0, 0 };

static const struct argp_option global_options[] = {
	{ 0, 0, 0, 0, "Target:", 1 },
	{ "pid", 'p', "PID", 0, "inspect a live process; it stands still while it is copied", 0 },
	{ "core", OPT_CORE, "FILE", 0, "inspect this core file; the first word is the command", 0 },
	{ "exe", 'e', "FILE", 0, "the executable, where it is not found by itself", 0 },
	{ "sysroot", OPT_SYSROOT, "DIR", 0, "look for the target's files below DIR first", 0 },
	{ "debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	  "look for separate debug files in DIR besides /usr/lib/debug (repeatable): by build-id "
	  "below DIR/.build-id, by the debug link below DIR and in it, and as DIR/NAME.debug",
	  0 },
	{ 0, 0, 0, 0, "Analysis:", 10 },
	{ "profile", OPT_PROFILE, "FILE", 0, "add the conventions in FILE (repeatable)", 0 },
	{ "no-builtin", OPT_NO_BUILTIN, 0, 0, "leave the built-in profiles out", 0 },
	{ "infer", OPT_INFER, "WHAT", 0,
	  "counted types found by their shape: auto (default: what is clear, where no --profile is "
	  "given), all (with what is only possible, and beside profiles), none",
	  0 },
	{ "no-infer", OPT_NO_INFER, 0, 0, "the same as --infer=none", 0 },
	{ "assume", OPT_ASSUME, "ADDR=TYPE", 0,
	  "the heap block at ADDR holds a TYPE of the debug information (repeatable); 'types "
	  "--unknown' tells which address would settle the most",
	  0 },
	{ "strict", OPT_STRICT, 0, 0,
	  "memory that is absent and presumed never touched counts as missing", 0 },
	{ "at-exit", OPT_AT_EXIT, 0, 0,
	  "the program is ending: objects that are still alive are findings (unreclaimed)", 0 },
	{ "threads", OPT_THREADS, "N", 0, "threads of the census (default: one per processor)", 0 },
	{ "time-limit", OPT_TIME_LIMIT, "SECONDS", 0, "give up (status 2) after that long", 0 },
	{ "max-memory", OPT_MAX_MEMORY, "SIZE", 0,
	  "give up (status 2) where the analysis would take more memory (suffixes K, M, G; 0: no "
	  "bound; default: what the machine has, swap included); mapped files do not count", 0 },
	{ "confine", OPT_CONFINE, "WHEN", 0,
	  "confine the analysis with seccomp and Landlock: auto (default: with what the kernel has), "
	  "never, or require (give up where either is missing)", 0 },
	{ "timings", OPT_TIMINGS, 0, 0, "print what each stage took to stderr", 0 },
	{ 0, 0, 0, 0, "Use:", 15 },
	{ "interactive", 'i', 0, 0, "a prompt that takes the same commands; quit ends it", 0 },
	{ "output", 'o', "FILE", 0, "write the report to FILE", 0 },
	{ "color", OPT_COLOUR, "WHEN", 0, "auto (default), always or never; NO_COLOR is heeded", 0 },
	{ "colour", OPT_COLOUR, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0 },
	{ 0 },
};

static error_t parse_colour(struct argp_state *state, struct ri_options *options, const char *text)
{
	static const char *const names[] = { "auto", "always", "never" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			options->colour = (enum ri_colour_mode)i;
			return 0;
		}
	}
	argp_error(state, "--color takes auto, always or never, not '%s'", text);
	return EINVAL;
}

static error_t parse_confine(struct argp_state *state, struct ri_options *options, const char *text)
{
	static const char *const names[] = { "auto", "never", "require" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			options->confine = (enum ri_confine_mode)i;
			return 0;
		}
	}
	argp_error(state, "--confine takes auto, never or require, not '%s'", text);
	return EINVAL;
}

/* A number of bytes with an optional K, M or G. */
static error_t parse_size(struct argp_state *state, const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMG";
	const char *suffix = "";
	char *end;
	unsigned long long value;
	unsigned shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end && (suffix = strchr(suffixes, *end)) != NULL) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (errno || *text < '0' || *text > '9' || *end || value > UINT64_MAX >> 1 >> shift) {
		argp_error(state, "--max-memory takes a size like 500M or 2G, not '%s'", text);
		return EINVAL;
	}
	*ret = value << shift;
	return 0;
}

static error_t parse_infer(struct argp_state *state, struct ri_options *options, const char *text)
{
	static const char *const names[] = { "auto", "none", "all" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			options->infer = (enum ri_infer_mode)i;
			return 0;
		}
	}
	argp_error(state, "--infer takes auto, all or none, not '%s'", text);
	return EINVAL;
}

static error_t parse_assume(struct argp_state *state, struct ri_options *options,
			    const char *text)
{
	struct ri_assumption assumption;
	char *end;

	errno = 0;
	assumption.addr = strtoull(text, &end, 0);
	if (errno || end == text || *end != '=' || !end[1]) {
		argp_error(state, "--assume takes ADDR=TYPE, like 0x5581a0=table, not '%s'",
			   text);
		return EINVAL;
	}
	assumption.type_name = end + 1;
	*ri_push(&options->assumptions) = assumption;
	return 0;
}

bool ri_options_is_targetless(const char *word)
{
	const struct ri_command *command = ri_command_find(word);

	return command && !command->needs_target;
}

/* A word that is no option: the target, or the command with all behind it. */
static error_t take_word(struct argp_state *state, struct ri_options *options, char *word)
{
	bool has_target = options->core_path || options->pid;

	if (!has_target && !ri_options_is_targetless(word)) {
		options->core_path = word;
		return 0;
	}
	options->command_argv = &state->argv[state->next - 1];
	options->command_argc = state->argc - (state->next - 1);
	state->next = state->argc;
	return 0;
}

static error_t check_whole(struct argp_state *state, const struct ri_options *options)
{
	bool has_target = options->core_path || options->pid;

	if (options->core_path && options->pid)
		argp_error(state, "--core and --pid are two targets; give one");
	else if (!has_target && !options->command_argc)
		argp_error(state, "no target: a core file, or -p PID");
	else if (options->is_interactive && !has_target)
		argp_error(state, "the prompt needs a target: a core file, or -p PID");
	else if (options->is_interactive && options->command_argc)
		argp_error(state, "-i takes its commands at the prompt, not here");
	else if (options->is_interactive && options->output_path)
		argp_error(state, "-o has no meaning at the prompt");
	return 0;
}

static error_t parse_global_option(int key, char *arg, struct argp_state *state)
{
	struct ri_options *options = state->input;
	int64_t number = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->report;
		return 0;
	case 'p':
		if (parse_number(state, "--pid", arg, 1, INT32_MAX, &number))
			return EINVAL;
		options->pid = (pid_t)number;
		return 0;
	case OPT_CORE:
		options->core_path = arg;
		return 0;
	case 'e':
		options->exe_path = arg;
		return 0;
	case OPT_SYSROOT:
		options->sysroot = arg;
		return 0;
	case OPT_DEBUG_DIR:
		*ri_push(&options->debug_dirs) = arg;
		return 0;
	case OPT_PROFILE:
		*ri_push(&options->profile_paths) = arg;
		return 0;
	case OPT_NO_BUILTIN:
		options->no_builtin_profiles = true;
		return 0;
	case OPT_INFER:
		return parse_infer(state, options, arg);
	case OPT_NO_INFER:
		options->infer = RI_INFER_NONE;
		return 0;
	case OPT_ASSUME:
		return parse_assume(state, options, arg);
	case OPT_STRICT:
		options->is_strict = true;
		return 0;
	case OPT_AT_EXIT:
		options->is_at_exit = true;
		return 0;
	case OPT_THREADS:
		if (parse_number(state, "--threads", arg, 1, MAX_ANALYSIS_THREADS, &number))
			return EINVAL;
		options->thread_count = (unsigned)number;
		return 0;
	case OPT_TIME_LIMIT:
		if (parse_number(state, "--time-limit", arg, 1, 1000000, &number))
			return EINVAL;
		options->time_limit_seconds = (unsigned)number;
		return 0;
	case OPT_MAX_MEMORY:
		return parse_size(state, arg, &options->max_memory_bytes);
	case OPT_CONFINE:
		return parse_confine(state, options, arg);
	case OPT_TIMINGS:
		options->show_timings = true;
		return 0;
	case 'i':
		options->is_interactive = true;
		return 0;
	case 'o':
		options->output_path = arg;
		return 0;
	case OPT_COLOUR:
		return parse_colour(state, options, arg);
	case ARGP_KEY_ARG:
		return take_word(state, options, arg);
	case ARGP_KEY_END:
		return check_whole(state, options);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void each_of(const struct argp_option *options, bool is_of_report,
		    void (*each)(const struct ri_option_words *option, void *data), void *data)
{
	for (; options->name || options->doc; options++) {
		const struct ri_option_words words = {
			.heading = options->name ? NULL : options->doc,
			.name = options->name,
			.letter = options->key > 0 && options->key < 128 ? (char)options->key : 0,
			.argument = options->arg,
			.summary = options->name ? options->doc : NULL,
			.is_of_report = is_of_report,
		};

		if (!(options->flags & OPTION_HIDDEN))
			each(&words, data);
	}
}

void ri_options_each(void (*each)(const struct ri_option_words *option, void *data), void *data)
{
	each_of(global_options, false, each, data);
	each_of(report_options, true, each, data);
}

/* The list of commands behind the options in --help, from the table. */
static char *append_commands(int key, const char *text, void *input)
{
	char *list, *longer;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	list = ri_strdup("Commands ('help COMMAND' tells more):\n");
	for (size_t i = 0; ri_commands[i]; i++) {
		longer = ri_format("%s  %-11s %s\n", list, ri_commands[i]->name,
				   ri_commands[i]->summary);
		free(list);
		list = longer;
	}
	longer = ri_format("%s\nExit status: 0 clean and complete; 1 findings; 2 wrong usage or "
			   "unusable input; 3 nothing found, but something that matters could not "
			   "be checked.\n", list);
	free(list);
	return longer;
}

static const struct argp_child global_children[] = {
	{ &report_argp, 0, 0, 0 },
	{ 0 },
};

static const struct argp global_argp = {
	global_options,
	parse_global_option,
	"TARGET [COMMAND [ARGUMENT...]]\n-p PID [COMMAND [ARGUMENT...]]\nCOMMAND [ARGUMENT...]",
	"Audits the reference counts and the intrusive lists in a core file or a live process."
	"\vThe text behind this is replaced by the table of commands.",
	global_children,
	append_commands,
	0,
};

void ri_options_parse(struct ri_options *options, int argc, char **argv)
{
	*options = (struct ri_options){ .report.format = "text",
					.max_memory_bytes = RI_MEMORY_OF_MACHINE };
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&global_argp, argc, argv, ARGP_IN_ORDER, NULL, options);
	*ri_push(&options->profile_paths) = NULL;
	*ri_push(&options->debug_dirs) = NULL;
}

void ri_options_deinit(struct ri_options *options)
{
	ri_vec_deinit(&options->profile_paths);
	ri_vec_deinit(&options->assumptions);
	ri_vec_deinit(&options->debug_dirs);
}

/* A command's words are collected to the front of its argv. */
struct command_words {
	struct ri_report_request *request;
	char **argv;
	int count;
};

static error_t parse_command_option(int key, char *arg, struct argp_state *state)
{
	struct command_words *words = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = words->request;
		return 0;
	case ARGP_KEY_ARG:
		words->argv[++words->count] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp command_argp = {
	0, parse_command_option, 0, 0, global_children, 0, 0,
};

struct ri_error *ri_options_parse_report(struct ri_report_request *request, int argc, char **argv,
					 int *ret_word_count)
{
	struct command_words words = { request, argv, 0 };
	int next = 0;

	/* argp's own messages would name the command as the program; the index says enough */
	if (argp_parse(&command_argp, argc, argv,
		       ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, &next, &words))
		return ri_error_create(RI_ERROR_USAGE, "'%s' is no option that '%s' takes, or lacks "
				       "a proper value", next > 1 ? argv[next - 1] : argv[argc - 1],
				       argv[0]);
	*ret_word_count = words.count;
	return NULL;
}
