/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `gdb-session`: what gdb's refcheck command calls.  Reads what gdb knows,
 * decides how to get at the memory, runs the command as the command line would,
 * and answers with a script.
 *
 *   core file   opened here
 *   process     /proc/PID/mem, which needs no ptrace of our own while gdb holds it;
 *               where that is refused, gdb is asked to write a core file
 *   remote      gdb is asked to write a core file
 *
 * Exit status 0 means that the script is there, whatever was found.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/gdb_answer.h"
#include "cli/gdb_context.h"
#include "cli/session.h"
#include "cli/supervisor.h"

#define MAX_ECHO_LINES 1000
#define MAX_REFS 1000
#define STATUS_NO_DIRECTORY 73 /* EX_CANTCREAT of <sysexits.h> */
#define STATUS_UNCHECKED 3
#define DUMP_NOTE "dump" /* in the answer's directory: where the requested core file is */

/* One call of refcheck. */
struct gdb_call {
	struct ri_gdb_context context;
	char *directory;
	bool is_again;
	char *dump_path;   /* the core file that gdb wrote, or null */
	FILE *output;      /* memory files: the report, */
	FILE *diagnostics; /* what went to stderr, */
	FILE *refs;        /* and the objects shown, a line each */
	bool uses_exe;     /* gdb's idea of the executable is passed on */
};

/* ---- the child: one command, as the command line would run it ------------- */

static char **make_argv(const struct gdb_call *call, int *ret_argc)
{
	const struct ri_gdb_context *context = &call->context;
	RI_VEC(char *) argv = { 0 };
	const char *core = call->dump_path ? call->dump_path : context->core_path;

	*ri_push(&argv) = ri_strdup("refcheck");
	*ri_push(&argv) = core ? ri_format("--core=%s", core)
			       : ri_format("--pid=%d", (int)context->pid);
	if (call->uses_exe && context->exe_path)
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

static void write_ref_line(FILE *refs, const struct ri_counted_type *type, uint64_t addr)
{
	fprintf(refs, "%#" PRIx64 " %s\n", addr, type && type->name ? type->name : "");
}

static const struct ri_counted_type *type_at(const struct ri_analysis *analysis, uint64_t addr)
{
	uint32_t object = ri_population_find(analysis->population, addr);

	if (object == RI_NONE || analysis->population->objects[object].addr != addr)
		return NULL;
	return &analysis->population->types[analysis->population->objects[object].type];
}

/* The objects that $ref1, $ref2, ... shall point at: those of the findings
 * printed, or the one that the command was asked about. */
static void write_refs(FILE *refs, const struct ri_analysis *analysis,
		       const struct ri_command_call *command)
{
	const struct ri_findings *findings = analysis->findings;
	uint64_t addr;

	if (!strcmp(command->command->name, "check")) {
		for (size_t i = 0; i < findings->count && i < MAX_REFS; i++)
			if (!command->request.code ||
			    !strcmp(findings->items[i].check->code, command->request.code))
				write_ref_line(refs, type_at(analysis, findings->items[i].addr),
					       findings->items[i].addr);
	} else if (command->word_count && command->command->needs_target) {
		struct ri_error *error = ri_command_parse_addr(analysis, command->words[0], &addr);

		if (!error)
			write_ref_line(refs, type_at(analysis, addr), addr);
		ri_error_destroy(error);
	}
}

static int run_parsed(struct gdb_call *call, struct ri_options *options, FILE *out)
{
	static char check[] = "check";
	char *default_argv[] = { check, NULL };
	struct ri_analysis *analysis = NULL;
	struct ri_command_call command;
	struct ri_error *error = NULL;
	int status = RI_STATUS_UNUSABLE;

	if (options->is_interactive) {
		fprintf(stderr, "refinspect: gdb is the prompt; -i has no meaning here\n");
		return RI_STATUS_UNUSABLE;
	}
	if (!ri_command_prepare(options, options->command_argc ? options->command_argc : 1,
				options->command_argc ? options->command_argv : default_argv,
				&command))
		return RI_STATUS_UNUSABLE;
	if (command.command->needs_target || strcmp(command.command->name, "help"))
		error = ri_session_analyse(options, &analysis);
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		return RI_STATUS_UNUSABLE;
	}
	status = ri_command_execute(options, analysis, &command, out);
	if (analysis && status != RI_STATUS_UNUSABLE)
		write_refs(call->refs, analysis, &command);
	ri_analysis_destroy(analysis);
	return status;
}

static int run_in_child(FILE *out, void *data)
{
	struct gdb_call *call = data;
	struct ri_options options;
	char **argv;
	int argc, status;

	if (dup2(fileno(call->diagnostics), STDERR_FILENO) < 0 ||
	    dup2(fileno(out), STDOUT_FILENO) < 0)
		return RI_STATUS_UNUSABLE;
	argv = make_argv(call, &argc);
	ri_options_parse(&options, argc, argv);
	options.live = (struct ri_target_live_options){
		.held_by_debugger = true,
		.threads = call->context.threads,
		.thread_count = call->context.thread_count,
	};
	status = run_parsed(call, &options, out);
	fflush(call->refs);
	fflush(stderr);
	ri_options_deinit(&options);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	free(argv);
	return status;
}

/* ---- the answer ------------------------------------------------------------ */

static FILE *memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "w+");
}

static void read_refs(FILE *stream, ri_gdb_ref_list *refs)
{
	char *line = NULL, *rest;
	size_t capacity = 0;

	rewind(stream);
	while (getline(&line, &capacity, stream) > 0) {
		struct ri_gdb_ref *ref = ri_push(refs);

		ref->addr = strtoull(line, &rest, 0);
		rest += *rest == ' ';
		ref->type_name = ri_strndup(rest, strcspn(rest, "\n"));
	}
	free(line);
}

/* Which $ref is what, behind the report: the pointers alone would tell nothing. */
static void echo_refs(FILE *script, const ri_gdb_ref_list *refs)
{
	enum { SHOWN = 20 };
	FILE *text = tmpfile();

	if (!text)
		return;
	for (size_t i = 0; i < refs->count && i < SHOWN; i++)
		fprintf(text, "$ref%zu: %s %#" PRIx64 "\n", i + 1, refs->items[i].type_name,
			refs->items[i].addr);
	if (refs->count > SHOWN)
		fprintf(text, "... up to $ref%zu\n", refs->count);
	ri_gdb_answer_echo(script, text, SHOWN + 1);
	fclose(text);
}

static struct ri_error *write_answer(const struct gdb_call *call, int status,
				     const char *message)
{
	FILE *script;
	ri_gdb_ref_list refs = { 0 };
	struct ri_error *error = ri_gdb_answer_open(
		call->directory, call->is_again ? "again.gdb" : "run.gdb", &script);

	if (error)
		return error;
	read_refs(call->refs, &refs);
	ri_gdb_answer_remove(script, call->directory);
	ri_gdb_answer_variables(script, status, &refs, call->context.ref_count,
				call->context.thread);
	ri_gdb_answer_echo(script, call->diagnostics, MAX_ECHO_LINES);
	if (message) {
		FILE *text = tmpfile();

		if (text) {
			fprintf(text, "refcheck: %s\n", message);
			ri_gdb_answer_echo(script, text, 1);
			fclose(text);
		}
	}
	ri_gdb_answer_echo(script, call->output, MAX_ECHO_LINES);
	echo_refs(script, &refs);
	for (size_t i = 0; i < refs.count; i++)
		free(refs.items[i].type_name);
	ri_vec_deinit(&refs);
	if (fclose(script))
		error = ri_error_create_errno(errno, "cannot write the answer");
	return error;
}

/* ---- asking gdb for a core file -------------------------------------------- */

/* Remembers across the two calls where the core file goes and what was asked. */
static struct ri_error *write_dump_note(const struct gdb_call *call, const char *path)
{
	FILE *note;
	struct ri_error *error = ri_gdb_answer_open(call->directory, DUMP_NOTE, &note);

	if (error)
		return error;
	fprintf(note, "%s\n", path);
	for (size_t i = 0; i < call->context.arguments.count; i++)
		fprintf(note, "%s\n", call->context.arguments.items[i]);
	if (fclose(note))
		error = ri_error_create_errno(errno, "cannot write the answer");
	return error;
}

static struct ri_error *read_dump_note(struct gdb_call *call)
{
	char *path = ri_format("%s/" DUMP_NOTE, call->directory), *line = NULL;
	size_t capacity = 0;
	FILE *note = fopen(path, "re");
	ssize_t length;

	free(path);
	if (!note)
		return ri_error_create_errno(errno, "nothing is known of the core file asked for");
	while ((length = getline(&line, &capacity, note)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!call->dump_path)
			call->dump_path = ri_strdup(line);
		else
			*ri_push(&call->context.arguments) = ri_strdup(line);
	}
	free(line);
	fclose(note);
	return call->dump_path ? NULL : ri_error_create(RI_ERROR_INPUT, "no core file was asked for");
}

static struct ri_error *ask_for_dump(const struct gdb_call *call)
{
	const char *base = getenv("TMPDIR");
	char *folder = ri_format("%s/refcheck-XXXXXX",
				 base && *base == '/' && !strpbrk(base, "'\n") ? base : "/var/tmp");
	struct ri_error *error = NULL;
	char *path = NULL;
	FILE *script;

	if (!mkdtemp(folder))
		error = ri_error_create_errno(errno, "cannot make a directory for a core file");
	if (!error) {
		path = ri_format("%s/core", folder);
		error = write_dump_note(call, path);
	}
	if (!error)
		error = ri_gdb_answer_open(call->directory, "run.gdb", &script);
	if (!error) {
		fprintf(script, "generate-core-file %s\n", path);
		fputs("with language c -- _refcheck_again\n", script);
		if (fclose(script))
			error = ri_error_create_errno(errno, "cannot write the answer");
	}
	free(path);
	free(folder);
	return error;
}

static void remove_dump(const struct gdb_call *call)
{
	char *slash;
	char *folder;

	if (!call->dump_path)
		return;
	unlink(call->dump_path);
	folder = ri_strdup(call->dump_path);
	slash = strrchr(folder, '/');
	if (slash) {
		*slash = '\0';
		rmdir(folder);
	}
	free(folder);
}

/* ---- routes ---------------------------------------------------------------- */

static bool can_read_memory(pid_t pid)
{
	char *path = ri_format("/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Whether some thread of `pid` is not stopped: gdb can run it in the background. */
static bool has_running_thread(pid_t pid)
{
	char *path = ri_format("/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool is_running = false;

	while (folder && !is_running && (entry = readdir(folder))) {
		char *file = ri_format("%s/%s/stat", path, entry->d_name), line[512];
		FILE *stream = isdigit((unsigned char)entry->d_name[0]) ? fopen(file, "re") : NULL;
		const char *state;

		free(file);
		if (!stream)
			continue;
		if (fgets(line, sizeof(line), stream) && (state = strrchr(line, ')')) && state[1])
			is_running = state[2] != 't' && state[2] != 'T';
		fclose(stream);
	}
	if (folder)
		closedir(folder);
	free(path);
	return is_running;
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

/* Runs the command on what the context names and writes the answer.  gdb's
 * executable helps where the target's own is not found by its name, and is
 * dropped where it is another one. */
static struct ri_error *analyse_and_answer(struct gdb_call *call)
{
	struct ri_error *error, *failed;
	int status = RI_STATUS_UNUSABLE, output = -1;

	call->uses_exe = call->context.exe_path && !access(call->context.exe_path, R_OK);
	failed = ri_supervise(run_in_child, call, 0, &status, &output);
	if (!failed && status == RI_STATUS_UNUSABLE && call->uses_exe &&
	    is_wrong_executable(call->diagnostics)) {
		close(output);
		output = -1;
		call->uses_exe = false;
		failed = ri_supervise(run_in_child, call, 0, &status, &output);
	}
	if (!failed && status != RI_STATUS_UNUSABLE)
		call->output = fdopen(output, "r");
	else if (output >= 0)
		close(output);
	if (!call->output)
		call->output = tmpfile();
	error = write_answer(call, failed ? RI_STATUS_UNUSABLE : status,
			     failed ? failed->message : NULL);
	ri_error_destroy(failed);
	return error;
}

static struct ri_error *answer_message(struct gdb_call *call, int status, const char *message)
{
	call->output = tmpfile();
	return write_answer(call, status, message);
}

static struct ri_error *answer(struct gdb_call *call)
{
	const struct ri_gdb_context *context = &call->context;

	if (call->is_again)
		return analyse_and_answer(call);
	if (context->argument_count > context->arguments.count)
		return answer_message(call, RI_STATUS_UNUSABLE,
				      "too many arguments: gdb hands over 20 at most");
	switch (context->stratum) {
	case RI_GDB_CORE:
		if (!context->core_path)
			break;
		if (access(context->core_path, R_OK))
			return answer_message(call, RI_STATUS_UNUSABLE,
					      "the core file that gdb has open cannot be read by "
					      "its name any more");
		return analyse_and_answer(call);
	case RI_GDB_NATIVE:
		if (!context->pid)
			break;
		if (has_running_thread(context->pid))
			return answer_message(call, STATUS_UNCHECKED,
					      "the program is running; interrupt it first");
		return can_read_memory(context->pid) ? analyse_and_answer(call)
						     : ask_for_dump(call);
	case RI_GDB_REMOTE:
		return ask_for_dump(call);
	case RI_GDB_NOTHING:
		break;
	}
	return answer_message(call, RI_STATUS_UNUSABLE, "no core file and no process");
}

static struct ri_error *open_files(struct gdb_call *call)
{
	call->diagnostics = memory_file("refcheck diagnostics");
	call->refs = memory_file("refcheck refs");
	if (call->diagnostics && call->refs)
		return NULL;
	return ri_error_create_errno(errno, "cannot make a memory file");
}

static void close_file(FILE *file)
{
	if (file)
		fclose(file);
}

static struct ri_error *run_gdb_session(struct ri_command_context *context, int word_count,
					char **words, int *ret_status)
{
	struct gdb_call call = { .is_again = word_count > 2 };
	char *end;
	long gdb_pid = strtol(words[0], &end, 10);
	struct ri_error *error;

	(void)context;
	if (*end || gdb_pid <= 0 || words[1][0] != '/' || strpbrk(words[1], "'\n") ||
	    (call.is_again && strcmp(words[2], "again")))
		return ri_error_create(RI_ERROR_USAGE,
				       "this is for gdb's refcheck command; see refcheck.gdb");
	/* the input is read to its end first: gdb dies of SIGPIPE otherwise */
	error = ri_gdb_context_read(stdin, &call.context);
	if (error)
		return error;
	error = ri_gdb_answer_directory(words[1], (pid_t)gdb_pid, &call.directory);
	if (error)
		*ret_status = STATUS_NO_DIRECTORY;
	if (!error && call.is_again)
		error = read_dump_note(&call);
	if (!error)
		error = open_files(&call);
	if (!error)
		error = answer(&call);
	if (call.is_again)
		remove_dump(&call);
	if (error && *ret_status) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		error = NULL;
	}
	close_file(call.output);
	close_file(call.diagnostics);
	close_file(call.refs);
	free(call.directory);
	free(call.dump_path);
	ri_gdb_context_deinit(&call.context);
	return error;
}

const struct ri_command ri_command_gdb_session = {
	.name = "gdb-session",
	.arguments = "GDBPID DIR [again]",
	.summary = "what gdb's refcheck calls; not for use by hand",
	.help = "Reads on standard input what gdb knows of its target, runs the command that was "
		"given to refcheck, and leaves a gdb script in DIR/refcheck-GDBPID for gdb to "
		"source.",
	.min_words = 2,
	.max_words = 3,
	.run = run_gdb_session,
};
