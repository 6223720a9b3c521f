/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Child processes and their output: see supervisor.h.  Knows nothing of what
 * the child does.
 */
#include "cli/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/confine.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define HAS_LEAKS() __lsan_do_recoverable_leak_check()
#else
#define HAS_LEAKS() 0
#endif

#define COPY_BYTES ((size_t)1 << 16)

/* What a child that came to its end adds to its status: a library that exits by itself, as
 * libdw does without memory, cannot be taken for one. */
#define STATUS_DONE 0x80

/* In the child: never returns. */
static _Noreturn void run_child(int (*work)(FILE *out, void *data), void *data, int output,
				pid_t parent, unsigned time_limit_seconds)
{
	FILE *out;
	int status;

	ri_confine_time(time_limit_seconds);
	/* a crash of ours must not leave a core behind, nor an orphan run on */
	ri_confine_resources(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(RI_STATUS_UNUSABLE);
	out = fdopen(output, "w");
	if (!out)
		_exit(RI_STATUS_UNUSABLE);
	status = work(out, data);
	if (fclose(out)) {
		dprintf(STDERR_FILENO, "refinspect: cannot hold the report in memory: %s\n",
			errno == EFBIG ? "it is larger than --max-memory" : strerror(errno));
		status = RI_STATUS_UNUSABLE;
	}
	ri_supervised_exit(status);
}

int ri_supervised_status(int wait_status)
{
	int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;

	if (code & STATUS_DONE)
		return code & ~STATUS_DONE;
	return code == RI_STATUS_UNUSABLE ? code : -1; /* it has said why */
}

_Noreturn void ri_supervised_exit(int status)
{
	/* the sanitizer's own check runs at exit(), which is not called */
	if (HAS_LEAKS())
		status = RI_STATUS_UNUSABLE;
	/* no exit handlers: they belong to the supervisor */
	_exit(STATUS_DONE | status);
}

/* How a child ended that was not done; *ret_status where that tells it. */
static struct ri_error *describe_end(int wait_status, const struct ri_supervision *rules,
				     int *ret_status)
{
	int status = ri_supervised_status(wait_status), signal_number = WTERMSIG(wait_status);

	if (WIFEXITED(wait_status) && !WEXITSTATUS(wait_status) && rules->may_exit)
		status = 0;
	if (status >= 0)
		*ret_status = status;
	else if (WIFEXITED(wait_status))
		return ri_error_create(RI_ERROR_INPUT,
				       "the analysis ended before it was done (status %d); "
				       "nothing is reported", WEXITSTATUS(wait_status));
	else if (signal_number == SIGALRM && rules->time_limit_seconds)
		return ri_error_create(RI_ERROR_INPUT,
				       "not done after %u seconds; nothing is reported",
				       rules->time_limit_seconds);
	else
		return ri_error_create(RI_ERROR_INPUT,
				       "the analysis ended by signal %d (%s); nothing is reported",
				       signal_number, strsignal(signal_number));
	return NULL;
}

struct ri_error *ri_supervise(int (*work)(FILE *out, void *data), void *data,
			      const struct ri_supervision *rules, int *ret_status, int *ret_output)
{
	const struct ri_supervision none = { 0 };
	int output = memfd_create("refinspect report", MFD_CLOEXEC), wait_status = 0;
	pid_t parent = getpid(), child;
	struct ri_error *error;

	rules = rules ? rules : &none;
	if (output < 0)
		return ri_error_create_errno(errno, "cannot make a memory file");
	fflush(NULL);
	child = fork();
	if (child < 0) {
		close(output);
		return ri_error_create_errno(errno, "cannot start the analysis");
	}
	if (child == 0)
		run_child(work, data, output, parent, rules->time_limit_seconds);
	while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	error = describe_end(wait_status, rules, ret_status);
	if (error) {
		close(output);
		return error;
	}
	lseek(output, 0, SEEK_SET);
	*ret_output = output;
	return NULL;
}

static struct ri_error *write_all(int to, const char *bytes, size_t count, const char *what,
				  const volatile sig_atomic_t *stop)
{
	while (count && !*stop) {
		ssize_t written = write(to, bytes, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return ri_error_create_errno(errno, "cannot write %s", what);
		bytes += written;
		count -= (size_t)written;
	}
	return NULL;
}

struct ri_error *ri_publish_fd(int output, int to, const char *what)
{
	const volatile sig_atomic_t never = 0;

	return ri_publish_until(output, to, what, &never);
}

struct ri_error *ri_publish_until(int output, int to, const char *what,
				  const volatile sig_atomic_t *stop)
{
	char *buffer = ri_malloc(COPY_BYTES);
	struct ri_error *error = NULL;
	ssize_t count;

	lseek(output, 0, SEEK_SET);
	while (!error && !*stop && (count = read(output, buffer, COPY_BYTES)) != 0) {
		if (count > 0)
			error = write_all(to, buffer, (size_t)count, what, stop);
		else if (errno != EINTR)
			error = ri_error_create_errno(errno, "cannot read the report back");
	}
	free(buffer);
	return error;
}

/* Writes to `path` as it is: devices, pipes, and files whose folder is not ours. */
static struct ri_error *publish_in_place(int output, const char *path)
{
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	struct ri_error *error;

	if (to < 0)
		return ri_error_create_errno(errno, "cannot open '%s'", path);
	error = ri_publish_fd(output, to, path);
	if (close(to) && !error)
		error = ri_error_create_errno(errno, "cannot write %s", path);
	return error;
}

static struct ri_error *publish_by_rename(int output, const char *path)
{
	char *temporary = ri_format("%s.XXXXXX", path);
	int to = mkostemp(temporary, O_CLOEXEC);
	struct ri_error *error = NULL;
	mode_t mask = umask(0);

	umask(mask);
	if (to < 0) {
		free(temporary);
		return publish_in_place(output, path);
	}
	error = ri_publish_fd(output, to, path);
	(void)fchmod(to, 0666 & ~mask);
	if (close(to) && !error)
		error = ri_error_create_errno(errno, "cannot write %s", path);
	if (!error && rename(temporary, path))
		error = ri_error_create_errno(errno, "cannot rename to '%s'", path);
	if (error)
		unlink(temporary);
	free(temporary);
	return error;
}

struct ri_error *ri_publish(int output, const char *path)
{
	struct stat status;

	if (!path)
		return ri_publish_fd(output, STDOUT_FILENO, "standard output");
	if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return publish_in_place(output, path);
	return publish_by_rename(output, path);
}
