/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors as values: see error.h.  Knows nothing of where they end up. */
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What a message quotes from a file or a target may hold anything: line ends, the commands of a
 * terminal.  Returns `message`, cleaned in place. */
static char *make_one_line(char *message)
{
	for (char *p = message; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return message;
}

struct ri_error *ri_error_create(enum ri_error_code code, const char *format, ...)
{
	struct ri_error *error = ri_calloc(1, sizeof(*error));
	va_list args;

	error->code = code;
	va_start(args, format);
	error->message = make_one_line(ri_vformat(format, args));
	va_end(args);
	return error;
}

static enum ri_error_code code_of_errno(int error_number)
{
	switch (error_number) {
	case EPERM:
	case EACCES:
		return RI_ERROR_PERMISSION;
	case ENOENT:
	case ESRCH:
		return RI_ERROR_NOT_FOUND;
	default:
		return RI_ERROR_IO;
	}
}

struct ri_error *ri_error_create_errno(int error_number, const char *format, ...)
{
	struct ri_error *error = ri_calloc(1, sizeof(*error));
	va_list args;
	char *what;

	error->code = code_of_errno(error_number);
	va_start(args, format);
	what = ri_vformat(format, args);
	va_end(args);
	error->message = make_one_line(ri_format("%s: %s", what, strerror(error_number)));
	free(what);
	return error;
}

void ri_error_destroy(struct ri_error *error)
{
	if (!error)
		return;
	free(error->message);
	free(error);
}
