/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing gdb scripts: see gdb_answer.h.
 *
 * A raw newline in an `echo` would start a gdb command, and `shell` is one of
 * them: every byte that is not plain printable text is written so that it is
 * shown, never obeyed.
 */
#include "cli/gdb_answer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TYPES 32 /* that $ref variables are given */

struct ri_error *ri_gdb_answer_directory(const char *base, pid_t gdb_pid, char **ret)
{
	char *path = ri_format("%s/refcheck-%d", base, (int)gdb_pid);
	struct stat status;
	struct ri_error *error = NULL;

	if (mkdir(path, 0700) && errno != EEXIST)
		error = ri_error_create_errno(errno, "cannot make '%s'", path);
	else if (lstat(path, &status))
		error = ri_error_create_errno(errno, "cannot look at '%s'", path);
	else if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
		error = ri_error_create(RI_ERROR_PERMISSION,
					"'%s' is not a directory of ours alone", path);
	if (error) {
		free(path);
		return error;
	}
	*ret = path;
	return NULL;
}

struct ri_error *ri_gdb_answer_open(const char *directory, const char *name, FILE **ret)
{
	char *path = ri_format("%s/%s", directory, name);
	struct ri_error *error = NULL;
	FILE *stream = NULL;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		stream = fdopen(fd, "w");
	if (stream)
		*ret = stream;
	else
		error = ri_error_create_errno(errno, "cannot make '%s'", path);
	if (fd >= 0 && !stream)
		close(fd);
	free(path);
	return error;
}

/* gdb's echo takes C-like escapes; a blank at the ends would be lost. */
static void echo_line(FILE *script, const char *line, size_t length)
{
	fputs("echo ", script);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\\')
			fputs("\\\\", script);
		else if (c == '\t')
			fputs("\\t", script);
		else if (c == ' ' || c == '"' || c == '\'')
			fprintf(script, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(script, "\\\\x%02x", c);
		else
			fputc(c, script);
	}
	fputs("\\n\n", script);
}

void ri_gdb_answer_echo(FILE *script, FILE *text, size_t max_lines)
{
	char *line = NULL;
	size_t capacity = 0, count = 0;
	ssize_t length;

	rewind(text);
	while ((length = getline(&line, &capacity, text)) > 0) {
		if (line[length - 1] == '\n')
			length--;
		count++;
		if (!max_lines || count <= max_lines)
			echo_line(script, line, (size_t)length);
	}
	if (max_lines && count > max_lines) {
		free(line);
		line = ri_format("... %zu more lines; narrow the command with --type, --group, "
				 "--code or --limit", count - max_lines);
		echo_line(script, line, strlen(line));
	}
	free(line);
}

/* A name that can stand in a cast; anything else is left a void pointer. */
static bool is_plain_type_name(const char *name)
{
	if (!name || !(isalpha((unsigned char)*name) || *name == '_'))
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_:<>, *", *p))
			return false;
	return true;
}

void ri_gdb_answer_try(FILE *script, unsigned thread, bool is_silent, const char *command)
{
	/* the command line's only way to go on after an error; it takes a number alone */
	if (thread)
		fprintf(script, "thread apply %u -q %s -- ", thread, is_silent ? "-s" : "-c");
	fprintf(script, "%s\n", command);
}

/* Sets $refcheck_typeN to a null pointer of that type; one that gdb does not know
 * leaves a void pointer. */
static void write_type(FILE *script, size_t number, const char *name, unsigned thread)
{
	char *command;

	fprintf(script, "set $refcheck_type%zu = (void *) 0\n", number);
	if (!thread)
		return;
	/* typedefs, namespaces and templates */
	command = ri_format("with language c++ -- set $refcheck_type%zu = (%s *) 0", number, name);
	ri_gdb_answer_try(script, thread, true, command);
	free(command);
	if (strpbrk(name, ":<"))
		return;
	/* in C a tag may have a variable's name beside it */
	command = ri_format("set $refcheck_type%zu = (struct %s *) 0", number, name);
	ri_gdb_answer_try(script, thread, true, command);
	free(command);
}

/* The number of the type variable for `name`, written the first time that it is
 * asked for: gdb looks through all debug information for a type that is not
 * there.  0: not a name for gdb, or too many. */
static size_t get_type(FILE *script, const char *names[MAX_TYPES], const char *name,
		       unsigned thread)
{
	if (!is_plain_type_name(name))
		return 0;
	for (size_t i = 0; i < MAX_TYPES; i++) {
		if (!names[i]) {
			names[i] = name;
			write_type(script, i + 1, name, thread);
			return i + 1;
		}
		if (!strcmp(names[i], name))
			return i + 1;
	}
	return 0;
}

void ri_gdb_answer_variables(FILE *script, int status, const ri_gdb_ref_list *refs,
			     unsigned stale_count, unsigned thread)
{
	enum { MAX_STALE = 100000 };
	const char *names[MAX_TYPES] = { NULL };

	fprintf(script, "set $refcheck_status = %d\n", status);
	/* hexadecimal, because of `set input-radix` */
	fprintf(script, "set $refcheck_count = 0x%zx\n", refs->count);
	for (size_t i = 0; i < refs->count; i++) {
		const struct ri_gdb_ref *ref = &refs->items[i];
		size_t type = get_type(script, names, ref->type_name, thread);

		if (type)
			fprintf(script, "set $ref%zu = (typeof ($refcheck_type%zu)) 0x%" PRIx64 "\n",
				i + 1, type, ref->addr);
		else
			fprintf(script, "set $ref%zu = (void *) 0x%" PRIx64 "\n", i + 1, ref->addr);
	}
	if (stale_count > MAX_STALE)
		stale_count = MAX_STALE;
	for (size_t i = refs->count; i < stale_count; i++)
		fprintf(script, "set $ref%zu = $refcheck_void\n", i + 1);
}

void ri_gdb_answer_remove(FILE *script, const char *directory)
{
	/* the name is ours: a base directory and a number */
	fprintf(script, "pipe echo | cat >/dev/null; rm -rf -- '%s'\n", directory);
}
