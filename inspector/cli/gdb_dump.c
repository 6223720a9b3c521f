/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file by gdb's generate-core-file: see gdb_dump.h.  Knows files and
 * folders, not what is in the core file.
 *
 * The note between the two calls is the path, then the arguments, a line each.
 * It is read from the answer's directory, which nobody else can write to.
 */
#include "cli/gdb_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gdb_answer.h"

#define NOTE "dump"

static struct ri_error *write_note(const char *directory, const char *path,
				   const struct ri_gdb_context *context)
{
	FILE *note;
	struct ri_error *error = ri_gdb_answer_open(directory, NOTE, &note);

	if (error)
		return error;
	fprintf(note, "%s\n", path);
	for (size_t i = 0; i < context->arguments.count; i++)
		fprintf(note, "%s\n", context->arguments.items[i]);
	if (fclose(note))
		error = ri_error_create_errno(errno, "cannot write the answer");
	return error;
}

/* The path in the note, which is removed, owned by the caller; the arguments go to
 * `context` (null: nowhere).  Null: there is no note. */
static char *take_note(const char *directory, struct ri_gdb_context *context)
{
	char *name = ri_format("%s/" NOTE, directory), *line = NULL, *path = NULL;
	size_t capacity = 0;
	FILE *note = fopen(name, "re");

	while (note && getline(&line, &capacity, note) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!path)
			path = ri_strdup(line);
		else if (context)
			*ri_push(&context->arguments) = ri_strdup(line);
	}
	if (note) {
		fclose(note);
		unlink(name);
	}
	free(line);
	free(name);
	return path;
}

static void remove_file_and_folder(char *path)
{
	char *slash = strrchr(path, '/');

	unlink(path);
	if (slash && slash != path) {
		*slash = '\0';
		rmdir(path);
	}
}

struct ri_error *ri_gdb_dump_prepare(const char *directory, const struct ri_gdb_context *context,
				     char **ret)
{
	const char *base = getenv("TMPDIR");
	char *folder = ri_format("%s/refcheck-XXXXXX",
				 base && *base == '/' && !strpbrk(base, "'\\\n") ? base
										  : "/var/tmp");
	struct ri_error *error = NULL;
	char *path;

	if (!mkdtemp(folder)) {
		error = ri_error_create_errno(errno, "cannot make a folder for a core file");
		free(folder);
		return error;
	}
	path = ri_format("%s/core", folder);
	free(folder);
	error = write_note(directory, path, context);
	if (error) {
		remove_file_and_folder(path);
		free(path);
		return error;
	}
	*ret = path;
	return NULL;
}

struct ri_error *ri_gdb_dump_take(const char *directory, struct ri_gdb_context *context, int *ret)
{
	char *path = take_note(directory, context);
	struct ri_error *error = NULL;
	int fd;

	if (!path)
		return ri_error_create(RI_ERROR_INPUT, "no core file was asked for");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		error = ri_error_create(RI_ERROR_NOT_FOUND,
					"gdb could not write a core file of this process");
	else if (fd < 0)
		error = ri_error_create_errno(errno, "cannot open the core file that gdb wrote");
	remove_file_and_folder(path);
	free(path);
	if (!error)
		*ret = fd;
	return error;
}

void ri_gdb_dump_discard(const char *directory)
{
	char *path = take_note(directory, NULL);

	if (path)
		remove_file_and_folder(path);
	free(path);
}
