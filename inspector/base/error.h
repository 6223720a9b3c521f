/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors as values.  A function that can fail returns `struct ri_error *`:
 * null is success, anything else is owned by the caller, who passes it on,
 * reports it or destroys it.  Results go out through a last parameter named
 * `ret`, written only on success.
 *
 * Running out of memory is not an error value: the allocation functions of
 * base/memory.h end the (child) process with one clear line, because no stage
 * could go on without its tables.
 */
#ifndef RI_BASE_ERROR_H
#define RI_BASE_ERROR_H

#include <stdarg.h>

enum ri_error_code {
	RI_ERROR_USAGE,      /* the user asked for something that does not exist */
	RI_ERROR_INPUT,      /* the target, a profile or another file is unusable */
	RI_ERROR_PERMISSION, /* the system refused */
	RI_ERROR_IO,         /* reading or writing failed */
	RI_ERROR_NOT_FOUND,  /* no such type, address, file, process */
};

struct ri_error {
	enum ri_error_code code;
	char *message; /* one line, no trailing newline or full stop; control characters are '?' */
};

/* A new error with a printf-formatted message.  Never returns null. */
struct ri_error *ri_error_create(enum ri_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, with strerror(error_number) appended after a colon; the code is
 * RI_ERROR_PERMISSION for EPERM and EACCES, RI_ERROR_NOT_FOUND for ENOENT and
 * ESRCH, else RI_ERROR_IO. */
struct ri_error *ri_error_create_errno(int error_number, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Frees `error`; null is allowed. */
void ri_error_destroy(struct ri_error *error);

#endif
