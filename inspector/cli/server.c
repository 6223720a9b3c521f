/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The analysis server behind the prompt: see session.h.
 *
 * Requests and replies are packets on a socket pair (a line with its NUL, because
 * an empty packet reads like the end of the socket); output goes through one
 * memory file that both sides share (each command starts it anew).  Commands
 * run in children of the server: they see the finished analysis, copied on
 * write, and may crash or be interrupted alone.  Ctrl-C reaches the whole
 * foreground group: the server ignores it, its commands do not.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/session.h"
#include "cli/supervisor.h"
#include "cli/words.h"
#include "report/words.h"

#define MAX_LINE_BYTES 65536
#define TYPE_NAMES_REQUEST  "\1types"
#define GROUP_NAMES_REQUEST "\1groups"
#define STATUS_INTERRUPTED 130

struct ri_server {
	pid_t child;
	int socket; /* our end */
	int output; /* the shared memory file */
};

/* What the server child knows. */
struct service {
	const struct ri_options *options;
	struct ri_analysis *analysis;
	int socket, output;
	char *line; /* the request; here, where a command's child still has it when it ends */
};

/* A name that would not stand on a line as it is cannot be typed either. */
static void write_name(FILE *out, const char *name)
{
	char *clean = ri_words_clean(name);

	if (!strcmp(clean, name))
		fprintf(out, "%s\n", name);
	free(clean);
}

static void write_names(FILE *out, const struct ri_population *population, bool wants_types)
{
	size_t count = wants_types ? population->type_count : population->group_count;

	for (size_t i = 0; i < count; i++)
		write_name(out, wants_types ? population->types[i].name
					    : population->groups[i].name);
}

static int run_line(const struct service *service, const char *line, FILE *out)
{
	struct ri_command_call call;
	struct ri_error *error;
	char **words;
	int count, status;

	if (line[0] == TYPE_NAMES_REQUEST[0]) {
		write_names(out, service->analysis->population, !strcmp(line, TYPE_NAMES_REQUEST));
		return 0;
	}
	error = ri_words_split(line, &count, &words);
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		return RI_STATUS_UNUSABLE;
	}
	status = RI_STATUS_UNUSABLE;
	if (!count)
		status = 0;
	else if (ri_command_prepare(service->options, count, words, &call))
		status = ri_command_execute(service->options, service->analysis, &call, out);
	ri_words_destroy(words);
	return status;
}

/* In a child of the server: one command. */
static _Noreturn void run_command_child(const struct service *service, const char *line)
{
	struct ri_error *error;
	FILE *out;
	int status;

	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ri_confine_time(service->options->time_limit_seconds);
	/* as the server is, and no children; what cannot be had here the server missed */
	error = ri_confine(service->options->confine, RI_CONFINE_SEES_PROCESSES);
	if (error)
		_exit(RI_STATUS_UNUSABLE);
	out = fdopen(service->output, "w");
	if (!out)
		_exit(RI_STATUS_UNUSABLE);
	status = run_line(service, line, out);
	if (fclose(out))
		status = RI_STATUS_UNUSABLE;
	ri_supervised_exit(status);
}

static int exit_status_of(int wait_status)
{
	int status = ri_supervised_status(wait_status);

	if (status >= 0)
		return status;
	if (WIFEXITED(wait_status)) {
		dprintf(STDERR_FILENO, "refinspect: the command ended before it was done "
			"(status %d)\n", WEXITSTATUS(wait_status));
		return RI_STATUS_UNUSABLE;
	}
	if (WTERMSIG(wait_status) == SIGINT) {
		dprintf(STDERR_FILENO, "refinspect: interrupted\n");
		return STATUS_INTERRUPTED;
	}
	dprintf(STDERR_FILENO, "refinspect: the command ended by signal %d (%s)\n",
		WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	return RI_STATUS_UNUSABLE;
}

static int serve_line(const struct service *service, const char *line)
{
	int wait_status = 0;
	pid_t child;

	if (ftruncate(service->output, 0) || lseek(service->output, 0, SEEK_SET) ||
	    (child = fork()) < 0) {
		dprintf(STDERR_FILENO, "refinspect: cannot start the command: %s\n",
			strerror(errno));
		return RI_STATUS_UNUSABLE;
	}
	if (child == 0)
		run_command_child(service, line);
	while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	return exit_status_of(wait_status);
}

static void serve(struct service *service)
{
	char *line = ri_malloc(MAX_LINE_BYTES + 1);

	service->line = line;
	for (;;) {
		ssize_t length = recv(service->socket, line, MAX_LINE_BYTES + 1, 0);
		int status;

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			break;
		line[length - 1] = '\0';
		status = serve_line(service, line);
		if (send(service->socket, &status, sizeof(status), MSG_NOSIGNAL) < 0)
			break;
	}
	free(line);
}

/* The server child: analyses, says so, serves until its socket closes. */
static _Noreturn void run_server(const struct ri_options *options, int socket, int output)
{
	struct service service = { .options = options, .socket = socket, .output = output };
	struct ri_error *error;
	int status = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL); /* not the prompt's handler: Ctrl-C ends the analysis */
	ri_confine_time(options->time_limit_seconds);
	error = ri_session_analyse(options, RI_CONFINE_MAY_FORK, false, &service.analysis);
	alarm(0);
	if (error) {
		fprintf(stderr, "refinspect: %s\n", error->message);
		ri_error_destroy(error);
		_exit(RI_STATUS_UNUSABLE);
	}
	signal(SIGINT, SIG_IGN);
	if (send(socket, &status, sizeof(status), MSG_NOSIGNAL) == sizeof(status))
		serve(&service);
	ri_analysis_destroy(service.analysis);
	_exit(0);
}

/* Why the server child is gone; reaps it. */
static struct ri_error *describe_end(struct ri_server *server)
{
	int wait_status = 0;

	while (waitpid(server->child, &wait_status, 0) < 0 && errno == EINTR)
		;
	server->child = -1;
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM)
		return ri_error_create(RI_ERROR_INPUT, "the analysis is not done after its time "
				       "limit");
	if (WIFSIGNALED(wait_status))
		return ri_error_create(RI_ERROR_INPUT, "the analysis ended by signal %d (%s)",
				       WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	/* it has said on stderr what was wrong */
	return ri_error_create(RI_ERROR_INPUT, "the analysis could not be done");
}

/* Waits for a reply; false when the server is gone. */
static bool receive_status(const struct ri_server *server, int *ret_status)
{
	ssize_t length;

	do {
		length = recv(server->socket, ret_status, sizeof(*ret_status), 0);
	} while (length < 0 && errno == EINTR);
	return length == (ssize_t)sizeof(*ret_status);
}

struct ri_error *ri_server_create(const struct ri_options *options, struct ri_server **ret)
{
	int ends[2], output = memfd_create("refinspect output", MFD_CLOEXEC), status;
	struct ri_server *server;
	struct ri_error *error;

	if (output < 0)
		return ri_error_create_errno(errno, "cannot make a memory file");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		error = ri_error_create_errno(errno, "cannot make a socket pair");
		close(output);
		return error;
	}
	server = ri_calloc(1, sizeof(*server));
	server->socket = ends[0];
	server->output = output;
	fflush(NULL);
	server->child = fork();
	if (server->child == 0) {
		close(ends[0]);
		free(server);
		run_server(options, ends[1], output);
	}
	close(ends[1]);
	if (server->child < 0)
		error = ri_error_create_errno(errno, "cannot start the analysis");
	else
		error = receive_status(server, &status) ? NULL : describe_end(server);
	if (error) {
		ri_server_destroy(server);
		return error;
	}
	*ret = server;
	return NULL;
}

void ri_server_destroy(struct ri_server *server)
{
	if (!server)
		return;
	close(server->socket);
	close(server->output);
	if (server->child > 0)
		while (waitpid(server->child, NULL, 0) < 0 && errno == EINTR)
			;
	free(server);
}

struct ri_error *ri_server_run(struct ri_server *server, const char *line, int *ret_status,
			       int *ret_output)
{
	size_t size_bytes = strlen(line) + 1;

	if (size_bytes > MAX_LINE_BYTES + 1)
		return ri_error_create(RI_ERROR_USAGE, "the line is too long");
	if (send(server->socket, line, size_bytes, MSG_NOSIGNAL) != (ssize_t)size_bytes ||
	    !receive_status(server, ret_status))
		return describe_end(server);
	lseek(server->output, 0, SEEK_SET);
	*ret_output = server->output;
	return NULL;
}

char **ri_server_names(struct ri_server *server, enum ri_server_names_of of)
{
	RI_VEC(char *) names = { 0 };
	char *line = NULL;
	size_t capacity = 0;
	int status, output, copy;
	struct ri_error *error = ri_server_run(
		server, of == RI_SERVER_TYPES ? TYPE_NAMES_REQUEST : GROUP_NAMES_REQUEST, &status,
		&output);
	FILE *stream = NULL;

	if (!error) {
		copy = dup(output);
		stream = copy >= 0 ? fdopen(copy, "r") : NULL;
	}
	while (stream && getline(&line, &capacity, stream) > 0)
		*ri_push(&names) = ri_strndup(line, strcspn(line, "\n"));
	if (stream)
		fclose(stream);
	free(line);
	ri_error_destroy(error);
	*ri_push(&names) = NULL;
	return names.items;
}
