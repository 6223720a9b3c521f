/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libbfd: what a core says of its end, and demangling.
 *
 * Only cores that our own reader has accepted come here.  libbfd's identity
 * check is not used: without build-ids it falls back to comparing names.
 * libbfd keeps its error handler and its list of formats in file scope of its
 * own; the handler is silenced for the time of a call.
 */
#include "debug/corefile.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGE "refinspect" /* bfd.h insists on a configured package */
#include <bfd.h>

#include "base/memory.h"

/* Of libiberty's demangle.h, which Debian keeps in a package of its own. */
enum {
	DEMANGLE_PARAMETERS = 1 << 0,
	DEMANGLE_QUALIFIERS = 1 << 1,
	DEMANGLE_ANY_STYLE = 1 << 8,
};

static void say_nothing(const char *format, va_list args)
{
	(void)format;
	(void)args;
}

/* A descriptor of the regular file `path`, or -1; never waits for a FIFO. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The four functions through which libbfd reads; the stream is a pointer to the
 * descriptor. */
static void *stream_open(struct bfd *core, void *fd)
{
	(void)core;
	return fd;
}

static file_ptr stream_read(struct bfd *core, void *stream, void *buffer, file_ptr size_bytes,
			    file_ptr offset)
{
	(void)core;
	return pread(*(int *)stream, buffer, (size_t)size_bytes, offset);
}

static int stream_close(struct bfd *core, void *stream)
{
	(void)core;
	return close(*(int *)stream);
}

/* A truncated core makes libbfd write a warning to stderr, past its error
 * handler, unless the file seems long enough. */
static int stream_stat(struct bfd *core, void *stream, struct stat *ret)
{
	int status = fstat(*(int *)stream, ret);

	(void)core;
	ret->st_size = INT64_MAX;
	return status;
}

void ri_corefile_describe(const char *path, char **ret_command, int *ret_signal)
{
	bfd_error_handler_type previous;
	const char *command;
	int fd = open_regular(path);
	bfd *core;

	*ret_command = NULL;
	*ret_signal = 0;
	if (fd < 0)
		return;
	previous = bfd_set_error_handler(say_nothing);
	bfd_init();
	core = bfd_openr_iovec(path, NULL, stream_open, &fd, stream_read, stream_close,
			       stream_stat);
	if (core && bfd_check_format(core, bfd_core)) {
		command = bfd_core_file_failing_command(core);
		if (command)
			*ret_command = ri_strdup(command);
		*ret_signal = bfd_core_file_failing_signal(core);
	}
	if (core)
		bfd_close(core);
	else
		close(fd);
	bfd_set_error_handler(previous);
}

char *ri_demangle(const char *name)
{
	int options = DEMANGLE_PARAMETERS | DEMANGLE_QUALIFIERS | DEMANGLE_ANY_STYLE;
	char *demangled = bfd_demangle(NULL, name, options);
	char *copy = NULL;

	if (demangled)
		copy = ri_strdup(demangled);
	free(demangled);
	return copy;
}
