/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running a command for gdb: see gdb_call.h.  The command runs in a child (see
 * supervisor.h) that leaves three memory files: what it printed, what it said on
 * stderr, and facts, a line each:
 *
 *	machine          the output is for machines: nothing may be cut off or added
 *	output PATH      it goes to that file
 *	ref ADDR TYPE    an object that it showed
 *
 * From these the script is made.  Knows nothing of how the target is got at.
 */
#include "cli/gdb_call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/session.h"
#include "cli/supervisor.h"

#define MAX_ECHO_LINES 1000 /* of text: gdb echoes some 10,000 a second */
#define MAX_REFS 1000

/* A call while it is worked on. */
struct work {
	const struct ri_gdb_call *call;
	bool uses_exe;         /* gdb's idea of the executable is passed on */
	FILE *output, *diagnostics, *facts; /* from the child; output may be null */
	/* the facts, read */
	bool is_machine;
	char *output_path;
	ri_gdb_ref_list refs;
};

/* ---- the child: one command, as the command line would run it ------------- */

static char **make_argv(const struct work *work, int *ret_argc)
{
	const struct ri_gdb_call *call = work->call;
	const struct ri_gdb_context *context = &call->context;
	RI_VEC(char *) argv = { 0 };

	*ri_push(&argv) = ri_strdup("refcheck");
	if (call->core_path)
		*ri_push(&argv) = ri_format("--core=%s", call->core_path);
	else if (call->uses_pid)
		*ri_push(&argv) = ri_format("--pid=%d", (int)context->pid);
	if (work->uses_exe)
		*ri_push(&argv) = ri_format("--exe=%s", context->exe_path);
	if (context->sysroot)
		*ri_push(&argv) = ri_format("--sysroot=%s", context->sysroot);
	for (size_t i = 0; context->debug_dirs.items[i]; i++)
		*ri_push(&argv) = ri_format("--debug-dir=%s", context->debug_dirs.items[i]);
	*ri_push(&argv) = ri_strdup("--color=never");
	for (size_t i = 0; i < context->arguments.count; i++)
		*ri_push(&argv) = ri_strdup(context->arguments.items[i]);
	*ret_argc = (int)argv.count;
	*ri_push(&argv) = NULL;
	return argv.items;
}

/* An object that $ref1, $ref2, ... shall point at; findings about no address have 0. */
static void write_ref_fact(FILE *facts, const struct ri_analysis *analysis, uint64_t addr)
{
	uint32_t object = ri_population_find(analysis->population, addr);
	const struct ri_object *o = &analysis->population->objects[object == RI_NONE ? 0 : object];
	bool is_object = object != RI_NONE && o->addr == addr;
	const char *type = is_object ? analysis->population->types[o->type].name : NULL;

	if (addr)
		fprintf(facts, "ref %#" PRIx64 " %s\n", addr, type ? type : "");
}

/* Those of the findings printed, of the rows listed, or the one asked about. */
static void write_refs(FILE *facts, const struct ri_analysis *analysis,
		       const struct ri_command_call *command)
{
	const struct ri_findings *findings = analysis->findings;
	const ri_report_addr_list *rows = command->addresses;
	uint64_t addr;

	if (!strcmp(command->command->name, "check")) {
		for (size_t i = 0; i < findings->count && i < MAX_REFS; i++)
			if (!command->request.code ||
			    !strcmp(findings->items[i].check->code, command->request.code))
				write_ref_fact(facts, analysis, findings->items[i].addr);
	} else if (rows->count) {
		for (size_t i = 0; i < rows->count && i < MAX_REFS; i++)
			write_ref_fact(facts, analysis, rows->items[i]);
	} else if (command->word_count && command->command->needs_target) {
		struct ri_error *error = ri_command_parse_addr(analysis, command->words[0], &addr);

		if (!error)
			write_ref_fact(facts, analysis, addr);
		ri_error_destroy(error);
	}
}

/* Reports name what gdb has open, not the descriptor that we read. */
static void name_core(const struct ri_gdb_call *call, struct ri_analysis *analysis)
{
	if (!call->core_name)
		return;
	free(analysis->target->path);
	analysis->target->path = ri_strdup(call->core_name);
}

/* The same in messages, which begin with the path. */
static void print_error(const struct ri_gdb_call *call, const struct ri_error *error)
{
	size_t length = call->core_name ? strlen(call->core_path) : 0;

	if (length && !strncmp(error->message, call->core_path, length))
		fprintf(stderr, "refcheck: core %s%s\n", call->core_name, error->message + length);
	else
		fprintf(stderr, "refcheck: %s\n", error->message);
}

static void write_facts(FILE *facts, const struct ri_options *options,
			const struct ri_analysis *analysis, const struct ri_command_call *command)
{
	if (strcmp(command->request.format, "text"))
		fputs("machine\n", facts);
	if (options->output_path)
		fprintf(facts, "output %s\n", options->output_path);
	if (analysis)
		write_refs(facts, analysis, command);
}

static int run_parsed(const struct work *work, struct ri_options *options, FILE *out)
{
	static char check[] = "check";
	char *default_argv[] = { check, NULL };
	bool has_target = options->core_path || options->pid;
	struct ri_analysis *analysis = NULL;
	ri_report_addr_list addresses = { 0 };
	struct ri_command_call command;
	struct ri_error *error = NULL;
	int status;

	if (options->is_interactive) {
		fprintf(stderr, "refcheck: gdb is the prompt; -i has no meaning here\n");
		return RI_STATUS_UNUSABLE;
	}
	if (!ri_command_prepare(options, options->command_argc ? options->command_argc : 1,
				options->command_argc ? options->command_argv : default_argv,
				&command))
		return RI_STATUS_UNUSABLE;
	ri_confine_time(options->time_limit_seconds);
	if (has_target)
		error = ri_session_analyse(options, 0, false, &analysis);
	if (error) {
		print_error(work->call, error);
		ri_error_destroy(error);
		return RI_STATUS_UNUSABLE;
	}
	if (analysis)
		name_core(work->call, analysis);
	command.addresses = &addresses;
	/* names are shown in gdb as on a terminal */
	command.request.show_names |= !options->output_path &&
				      !strcmp(command.request.format, "text");
	status = ri_command_execute(options, analysis, &command, out);
	if (status != RI_STATUS_UNUSABLE)
		write_facts(work->facts, options, analysis, &command);
	ri_vec_deinit(&addresses);
	ri_analysis_destroy(analysis);
	return status;
}

static int run_in_child(FILE *out, void *data)
{
	const struct work *work = data;
	struct ri_options options;
	char **argv;
	int argc, status;

	if (dup2(fileno(work->diagnostics), STDERR_FILENO) < 0 ||
	    dup2(fileno(out), STDOUT_FILENO) < 0)
		return RI_STATUS_UNUSABLE;
	argv = make_argv(work, &argc);
	ri_options_parse(&options, argc, argv);
	options.command_prefix = "refcheck";
	options.live = (struct ri_target_live_options){
		.held_by_debugger = true,
		.threads = work->call->context.threads,
		.thread_count = work->call->context.thread_count,
	};
	status = run_parsed(work, &options, out);
	fflush(work->facts);
	fflush(stderr);
	ri_options_deinit(&options);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	free(argv);
	return status;
}

/* ---- the answer ------------------------------------------------------------ */

static void read_ref(struct work *work, const char *text)
{
	struct ri_gdb_ref *ref = ri_push(&work->refs);
	char *rest;

	ref->addr = strtoull(text, &rest, 0);
	rest += *rest == ' ';
	ref->type_name = ri_strdup(rest);
}

static void read_facts(struct work *work)
{
	char *line = NULL;
	size_t capacity = 0;

	rewind(work->facts);
	while (getline(&line, &capacity, work->facts) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "machine"))
			work->is_machine = true;
		else if (!strncmp(line, "output ", strlen("output ")))
			work->output_path = ri_strdup(line + strlen("output "));
		else if (!strncmp(line, "ref ", strlen("ref ")))
			read_ref(work, line + strlen("ref "));
	}
	free(line);
}

/* Which $ref is what, behind the report: the pointers alone would tell nothing. */
static void print_refs(FILE *text, const ri_gdb_ref_list *refs)
{
	enum { SHOWN = 20 };

	for (size_t i = 0; i < refs->count && i < SHOWN; i++)
		fprintf(text, "$ref%zu: %s %#" PRIx64 "\n", i + 1,
			*refs->items[i].type_name ? refs->items[i].type_name : "address",
			refs->items[i].addr);
	if (refs->count > SHOWN)
		fprintf(text, "... up to $ref%zu\n", refs->count);
}

/* Everything that gdb shall print.  Output for machines stands alone: what was said
 * besides it goes to the terminal. */
static void echo_all(FILE *script, const struct work *work, const char *message)
{
	FILE *rest = tmpfile();

	if (work->is_machine)
		ri_error_destroy(ri_publish_fd(fileno(work->diagnostics), STDERR_FILENO, "stderr"));
	else
		ri_gdb_answer_echo(script, work->diagnostics, MAX_ECHO_LINES);
	if (work->output && !work->output_path)
		ri_gdb_answer_echo(script, work->output, work->is_machine ? 0 : MAX_ECHO_LINES);
	if (!rest)
		return;
	if (message)
		fprintf(rest, "refcheck: %s\n", message);
	if (!work->is_machine)
		print_refs(rest, &work->refs);
	ri_gdb_answer_echo(script, rest, 0);
	fclose(rest);
}

static struct ri_error *write_answer(const struct work *work, int status, const char *message)
{
	const struct ri_gdb_call *call = work->call;
	FILE *script;
	struct ri_error *error = ri_gdb_answer_open(call->directory, call->script, &script);

	if (error)
		return error;
	ri_gdb_answer_remove(script, call->directory);
	ri_gdb_answer_variables(script, status, &work->refs, call->context.ref_count,
				call->context.thread);
	echo_all(script, work, message);
	if (fclose(script))
		error = ri_error_create_errno(errno, "cannot write the answer");
	return error;
}

struct ri_error *ri_gdb_call_ask_for_core(const struct ri_gdb_call *call, const char *path)
{
	char *command = ri_format("generate-core-file %s", path);
	FILE *script;
	struct ri_error *error = ri_gdb_answer_open(call->directory, call->script, &script);

	if (!error) {
		ri_gdb_answer_try(script, call->context.thread, false, command);
		fputs("with language c -- _refcheck_again\n", script);
		if (fclose(script))
			error = ri_error_create_errno(errno, "cannot write the answer");
	}
	free(command);
	return error;
}

/* ---- both ------------------------------------------------------------------ */

static FILE *memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "w+");
}

static struct ri_error *work_init(struct work *work, const struct ri_gdb_call *call)
{
	*work = (struct work){
		.call = call,
		.diagnostics = memory_file("refcheck diagnostics"),
		.facts = memory_file("refcheck facts"),
	};
	if (work->diagnostics && work->facts)
		return NULL;
	return ri_error_create_errno(errno, "cannot make a memory file");
}

static void close_file(FILE *file)
{
	if (file)
		fclose(file);
}

static void work_deinit(struct work *work)
{
	close_file(work->output);
	close_file(work->diagnostics);
	close_file(work->facts);
	for (size_t i = 0; i < work->refs.count; i++)
		free(work->refs.items[i].type_name);
	ri_vec_deinit(&work->refs);
	free(work->output_path);
}

/* Whether the diagnostics speak of a build-id: the executable that gdb was given
 * is not the one that the target ran. */
static bool is_wrong_executable(FILE *diagnostics)
{
	char *line = NULL;
	size_t capacity = 0;
	bool is_wrong = false;

	rewind(diagnostics);
	while (!is_wrong && getline(&line, &capacity, diagnostics) > 0)
		is_wrong = strstr(line, "build-id") != NULL;
	free(line);
	return is_wrong;
}

static bool empty_file(FILE *file)
{
	rewind(file);
	return ftruncate(fileno(file), 0) == 0;
}

/* gdb's executable helps where the target's own is not found by its name, and is
 * dropped where it is another one. */
static struct ri_error *run_command(struct work *work, int *ret_status)
{
	const char *exe = work->call->context.exe_path;
	const struct ri_supervision rules = { .may_exit = true };
	struct ri_error *error;
	int output = -1;

	work->uses_exe = exe && !access(exe, R_OK);
	error = ri_supervise(run_in_child, work, &rules, ret_status, &output);
	if (!error && *ret_status == RI_STATUS_UNUSABLE && work->uses_exe &&
	    is_wrong_executable(work->diagnostics) && empty_file(work->diagnostics)) {
		close(output);
		output = -1;
		work->uses_exe = false;
		error = ri_supervise(run_in_child, work, &rules, ret_status, &output);
	}
	if (error)
		*ret_status = RI_STATUS_UNUSABLE;
	else if (*ret_status == RI_STATUS_UNUSABLE)
		close(output);
	else
		work->output = fdopen(output, "r");
	return error;
}

struct ri_error *ri_gdb_call_run(const struct ri_gdb_call *call)
{
	struct work work;
	struct ri_error *error = work_init(&work, call), *failed = NULL;
	char *message = NULL;
	int status = RI_STATUS_UNUSABLE;

	if (!error) {
		failed = run_command(&work, &status);
		read_facts(&work);
		if (!failed && work.output_path && work.output)
			failed = ri_publish(fileno(work.output), work.output_path);
		if (failed)
			message = ri_strdup(failed->message);
		else if (work.output_path)
			message = ri_format("the report is in %s", work.output_path);
		error = write_answer(&work, failed ? RI_STATUS_UNUSABLE : status, message);
	}
	ri_error_destroy(failed);
	free(message);
	work_deinit(&work);
	return error;
}

struct ri_error *ri_gdb_call_refuse(const struct ri_gdb_call *call, int status,
				    const char *message)
{
	struct work work;
	struct ri_error *error = work_init(&work, call);

	if (!error)
		error = write_answer(&work, status, message);
	work_deinit(&work);
	return error;
}
