/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `gdb-session`: what gdb's refcheck command calls.  Reads what gdb knows,
 * decides how to get at the memory, runs the command as the command line would,
 * and answers with a script.
 *
 *	core file   opened here
 *	process     /proc/PID/mem, which needs no ptrace of our own while gdb holds it;
 *	            where that is refused, gdb is asked to write a core file
 *	remote      gdb is asked to write a core file
 *
 * Exit status 0 means that the script is there, whatever was found.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/gdb_call.h"
#include "cli/gdb_dump.h"
#include "cli/supervisor.h"

#define STATUS_NO_DIRECTORY 73 /* EX_CANTCREAT of <sysexits.h> */
#define STATUS_UNCHECKED 3

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
		/* traced and stopped; or ended, as a main thread may have */
		if (fgets(line, sizeof(line), stream) && (state = strrchr(line, ')')) && state[1])
			is_running = !strchr("tTZXx", state[2]);
		fclose(stream);
	}
	if (folder)
		closedir(folder);
	free(path);
	return is_running;
}

/* gdb lists the threads of every inferior. */
static void drop_other_threads(struct ri_gdb_context *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < context->thread_count; i++) {
		char *path = ri_format("/proc/%d/task/%d", (int)context->pid,
				       (int)context->threads[i].tid);

		if (access(path, F_OK))
			free(context->threads[i].vector);
		else
			context->threads[kept++] = context->threads[i];
		free(path);
	}
	context->thread_count = kept;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The core file as gdb has it open, where its name leads nowhere any more or to
 * another file; owned by the caller, null if gdb has it not open either. */
static char *find_open_core(pid_t gdb_pid, const char *core_path)
{
	char *path = ri_format("/proc/%d/fd", (int)gdb_pid), *found = NULL;
	char *deleted = ri_format("%s (deleted)", core_path);
	size_t length = strlen(deleted);
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && !found && (entry = readdir(folder))) {
		char *name = ri_format("%s/%s", path, entry->d_name);
		char *target = ri_calloc(1, length + 2);

		if (readlink(name, target, length + 1) == (ssize_t)length &&
		    !strcmp(target, deleted) && !is_same_file(name, core_path))
			found = name;
		else
			free(name);
		free(target);
	}
	if (folder)
		closedir(folder);
	free(deleted);
	free(path);
	return found;
}

static struct ri_error *answer_core(struct ri_gdb_call *call, pid_t gdb_pid)
{
	const char *path = call->context.core_path;

	call->core_path = find_open_core(gdb_pid, path);
	call->core_name = path;
	if (!call->core_path && access(path, R_OK))
		return ri_gdb_call_refuse(call, RI_STATUS_UNUSABLE,
					  "the core file that gdb has open cannot be read by its "
					  "name any more");
	if (!call->core_path)
		call->core_path = ri_strdup(path);
	return ri_gdb_call_run(call);
}

static struct ri_error *ask_for_core(struct ri_gdb_call *call)
{
	char *path = NULL;
	struct ri_error *error = ri_gdb_dump_prepare(call->directory, &call->context, &path);

	if (!error)
		error = ri_gdb_call_ask_for_core(call, path);
	free(path);
	return error;
}

static struct ri_error *answer_native(struct ri_gdb_call *call)
{
	pid_t pid = call->context.pid;

	if (has_running_thread(pid))
		return ri_gdb_call_refuse(call, STATUS_UNCHECKED,
					  "the program is running; interrupt it first");
	if (!can_read_memory(pid))
		return ask_for_core(call);
	drop_other_threads(&call->context);
	call->uses_pid = true;
	return ri_gdb_call_run(call);
}

static struct ri_error *answer_first(struct ri_gdb_call *call, pid_t gdb_pid)
{
	struct ri_gdb_context *context = &call->context;

	if (context->argument_count > context->arguments.count)
		return ri_gdb_call_refuse(call, RI_STATUS_UNUSABLE,
					  "too many arguments: gdb hands over 20 at most");
	ri_gdb_context_expand_refs(context);
	if (context->arguments.count && !strcmp(context->arguments.items[0], "help"))
		return ri_gdb_call_run(call);
	if (context->stratum == RI_GDB_CORE && context->core_path)
		return answer_core(call, gdb_pid);
	if (context->stratum == RI_GDB_NATIVE && context->pid)
		return answer_native(call);
	if (context->stratum == RI_GDB_REMOTE)
		return ask_for_core(call);
	return ri_gdb_call_refuse(call, RI_STATUS_UNUSABLE, "no core file and no process");
}

/* gdb was asked for a core file before. */
static struct ri_error *answer_again(struct ri_gdb_call *call)
{
	int fd = -1;
	struct ri_error *error = ri_gdb_dump_take(call->directory, &call->context, &fd), *failed;

	if (error) {
		failed = ri_gdb_call_refuse(call, STATUS_UNCHECKED, error->message);
		ri_error_destroy(error);
		return failed;
	}
	call->core_path = ri_format("/proc/self/fd/%d", fd);
	call->core_name = "written by gdb";
	error = ri_gdb_call_run(call);
	close(fd);
	return error;
}

/* Takes away what a call left that did not come to its end. */
static void clean(const char *directory)
{
	static const char *const names[] = { "run.gdb", "again.gdb" };

	ri_gdb_dump_discard(directory);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = ri_format("%s/%s", directory, names[i]);

		unlink(path);
		free(path);
	}
}

static struct ri_error *run_phase(struct ri_gdb_call *call, pid_t gdb_pid, const char *phase)
{
	if (!strcmp(phase, "again")) {
		call->script = "again.gdb";
		return answer_again(call);
	}
	clean(call->directory);
	if (!strcmp(phase, "clean")) {
		rmdir(call->directory);
		return NULL;
	}
	call->script = "run.gdb";
	return answer_first(call, gdb_pid);
}

static struct ri_error *run_gdb_session(struct ri_command_context *context, int word_count,
					char **words, int *ret_status)
{
	const char *phase = word_count > 2 ? words[2] : "";
	struct ri_gdb_call call = { 0 };
	char *end;
	long gdb_pid = strtol(words[0], &end, 10);
	struct ri_error *error;

	(void)context;
	if (*end || gdb_pid <= 0 || words[1][0] != '/' || strpbrk(words[1], "'\\\n") ||
	    (*phase && strcmp(phase, "again") && strcmp(phase, "clean")))
		return ri_error_create(RI_ERROR_USAGE,
				       "this is for gdb's refcheck command; see refcheck.gdb");
	/* the input is read to its end first: gdb dies of SIGPIPE otherwise */
	error = ri_gdb_context_read(stdin, &call.context);
	if (error && !strcmp(phase, "clean")) {
		ri_error_destroy(error); /* nothing was sent */
		error = NULL;
	}
	if (error)
		return error;
	error = ri_gdb_answer_directory(words[1], (pid_t)gdb_pid, &call.directory);
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		error = NULL;
		*ret_status = STATUS_NO_DIRECTORY;
	} else {
		error = run_phase(&call, (pid_t)gdb_pid, phase);
	}
	free(call.directory);
	free(call.core_path);
	ri_gdb_context_deinit(&call.context);
	return error;
}

const struct ri_command ri_command_gdb_session = {
	.name = "gdb-session",
	.arguments = "GDBPID DIR [again|clean]",
	.summary = "what gdb's refcheck command calls; not for use by hand",
	.help = "Reads on standard input what gdb knows of its target, runs the command that was "
		"given to refcheck, and leaves a gdb script in DIR/refcheck-GDBPID for gdb to "
		"source. 'again' goes on when gdb has written the core file that the script asked "
		"for; 'clean' removes what a call left that was interrupted.",
	.min_words = 2,
	.max_words = 3,
	.run = run_gdb_session,
};
