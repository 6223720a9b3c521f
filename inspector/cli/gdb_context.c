/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parsing what gdb tells us: see gdb_context.h.  One pass over the lines; each
 * kind of line is recognised by how gdb (9 to 16) spells it.  Lines that are
 * not known are passed over: the target's section lists are thousands of them.
 */
#include "cli/gdb_context.h"

#include <stdlib.h>
#include <string.h>

#define VECTOR_REGISTERS 16
#define VECTOR_BYTES 32 /* ymm */

/* Where the parser is between lines. */
struct parser {
	struct ri_gdb_context *context;
	bool in_core_section, in_exec_section, in_registers, is_whole;
	struct ri_thread *thread; /* whose registers are being listed */
	size_t thread_capacity;
};

static const char *after(const char *line, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(line, prefix, length) ? NULL : line + length;
}

/* What stands between the first `open` and the last `close`; null if nothing
 * does. */
static char *between(const char *line, char open, const char *close)
{
	const char *start = strchr(line, open), *end = NULL, *p;

	if (!start)
		return NULL;
	start++;
	for (p = strstr(start, close); p; p = strstr(p + 1, close))
		end = p;
	return end ? ri_strndup(start, (size_t)(end - start)) : NULL;
}

/* "conn" and 'conn' lose their quotes: they kept blanks together for gdb. */
static char *strip_quotes(const char *text)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == ' ')
		length--;
	if (length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0])
		return ri_strndup(text + 1, length - 2);
	return ri_strndup(text, length);
}

static bool parse_own_line(struct parser *parser, const char *line)
{
	struct ri_gdb_context *context = parser->context;
	const char *rest;

	if ((rest = after(line, "%arg ")))
		*ri_push(&context->arguments) = strip_quotes(rest);
	else if ((rest = after(line, "%argc ")))
		context->argument_count = (unsigned)strtoul(rest, NULL, 10);
	else if ((rest = after(line, "%thread ")))
		context->thread = (unsigned)strtoul(rest, NULL, 10);
	else if ((rest = after(line, "%refs ")))
		context->ref_count = (unsigned)strtoul(rest, NULL, 10);
	else if (!strcmp(line, "%registers"))
		parser->in_registers = true;
	else if (!strcmp(line, "%end"))
		parser->is_whole = true;
	else
		return false;
	return true;
}

/* A row of `maint print target-stack`: "  - native (Native process)". */
static void parse_stratum(struct ri_gdb_context *context, const char *name)
{
	if (context->stratum != RI_GDB_NOTHING)
		return;
	if (after(name, "core "))
		context->stratum = RI_GDB_CORE;
	else if (after(name, "native "))
		context->stratum = RI_GDB_NATIVE;
	else if (after(name, "remote ") || after(name, "extended-remote ") || after(name, "sim "))
		context->stratum = RI_GDB_REMOTE;
}

static void keep(char **place, char *text)
{
	if (*place)
		free(text);
	else
		*place = text;
}

/* A file row of `info files`: a tab, a backtick, the path, "', file type ...". */
static void parse_file(struct parser *parser, const char *line)
{
	char *path = between(line, '`', "', file type");

	if (!path)
		return;
	if (parser->in_core_section)
		keep(&parser->context->core_path, path);
	else if (parser->in_exec_section)
		keep(&parser->context->exe_path, path);
	else
		free(path);
}

static void parse_debug_dirs(struct ri_gdb_context *context, const char *line)
{
	char *list = between(line, '"', "\""), *position = list, *folder;

	while (position && (folder = strsep(&position, ":")))
		if (*folder == '/')
			*ri_push(&context->debug_dirs) = ri_strdup(folder);
	free(list);
}

static void parse_sysroot(struct ri_gdb_context *context, const char *line)
{
	char *sysroot = between(line, '"', "\"");

	if (sysroot && *sysroot == '/')
		keep(&context->sysroot, sysroot);
	else
		free(sysroot);
}

static void parse_line(struct parser *parser, const char *line)
{
	struct ri_gdb_context *context = parser->context;
	const char *rest;

	if ((rest = after(line, "  - ")))
		parse_stratum(context, rest);
	else if (*line == '*' && (rest = strstr(line, " process ")))
		context->pid = (pid_t)strtol(rest + strlen(" process "), NULL, 10);
	else if (after(line, "Local core dump file:"))
		parser->in_core_section = true, parser->in_exec_section = false;
	else if (after(line, "Local exec file:"))
		parser->in_exec_section = true, parser->in_core_section = false;
	else if (after(line, "\t`"))
		parse_file(parser, line);
	else if (after(line, "The current system root is "))
		parse_sysroot(context, line);
	else if (after(line, "The directory where separate debug symbols are searched for is "))
		parse_debug_dirs(context, line);
}

/* "Thread 2 (Thread 0x7f.. (LWP 9268) "name"):" or "Thread 1 (process 17):" */
static bool parse_thread_heading(struct parser *parser, const char *line)
{
	const char *tid = strstr(line, "LWP ");
	pid_t number;

	if (!after(line, "Thread "))
		return false;
	tid = tid ? tid + strlen("LWP ") : strstr(line, "process ");
	if (!tid)
		return false;
	if (*tid == 'p')
		tid += strlen("process ");
	number = (pid_t)strtol(tid, NULL, 10);
	for (size_t i = 0; i < parser->context->thread_count; i++) {
		if (parser->context->threads[i].tid == number) {
			parser->thread = &parser->context->threads[i];
			return true;
		}
	}
	parser->context->threads =
		ri_grow(parser->context->threads, &parser->thread_capacity,
			parser->context->thread_count + 1, sizeof(*parser->context->threads));
	parser->thread = &parser->context->threads[parser->context->thread_count++];
	*parser->thread = (struct ri_thread){ .tid = number };
	return true;
}

/* "ymm3  {v16_bfloat16 = {...}, ..., v4_int64 = {0x0, 0x1, 0x2, 0x3}, ...}" */
static void parse_vector_register(struct ri_thread *thread, unsigned long number, const char *line)
{
	const char *values = strstr(line, "v4_int64 = {");
	uint8_t *to;

	if (!values || number >= VECTOR_REGISTERS)
		return;
	if (!thread->vector) {
		thread->vector_size_bytes = VECTOR_REGISTERS * VECTOR_BYTES;
		thread->vector = ri_calloc(1, thread->vector_size_bytes);
	}
	to = thread->vector + number * VECTOR_BYTES;
	values += strlen("v4_int64 = {");
	for (size_t i = 0; i < VECTOR_BYTES / sizeof(uint64_t); i++) {
		char *end;
		uint64_t value = strtoull(values, &end, 0);

		memcpy(to + i * sizeof(value), &value, sizeof(value));
		values = end + strspn(end, ", ");
	}
}

static void parse_register(struct ri_thread *thread, const char *line)
{
	static const char *const names[RI_REGISTER_COUNT] = {
		"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx",
		"rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base",
		"gs_base", "ds", "es", "fs", "gs",
	};
	size_t length = strcspn(line, " ");

	if (after(line, "ymm")) {
		parse_vector_register(thread, strtoul(line + strlen("ymm"), NULL, 10), line);
		return;
	}
	for (size_t i = 0; i < RI_REGISTER_COUNT; i++) {
		if (strlen(names[i]) == length && !strncmp(line, names[i], length)) {
			thread->registers[i] = strtoull(line + length, NULL, 0);
			thread->has_registers = true;
			return;
		}
	}
}

struct ri_error *ri_gdb_context_read(FILE *stream, struct ri_gdb_context *ret)
{
	struct parser parser = { .context = ret };
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	*ret = (struct ri_gdb_context){ 0 };
	while ((length = getline(&line, &capacity, stream)) >= 0) {
		if (length && line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (parse_own_line(&parser, line))
			continue;
		if (!parser.in_registers)
			parse_line(&parser, line);
		else if (!parse_thread_heading(&parser, line) && parser.thread)
			parse_register(parser.thread, line);
	}
	free(line);
	*ri_push(&ret->debug_dirs) = NULL;
	if (parser.is_whole)
		return NULL;
	ri_gdb_context_deinit(ret);
	return ri_error_create(RI_ERROR_INPUT, "what gdb sent is not whole");
}

void ri_gdb_context_deinit(struct ri_gdb_context *context)
{
	for (size_t i = 0; i < context->arguments.count; i++)
		free(context->arguments.items[i]);
	ri_vec_deinit(&context->arguments);
	for (size_t i = 0; i < context->debug_dirs.count; i++)
		free(context->debug_dirs.items[i]);
	ri_vec_deinit(&context->debug_dirs);
	for (size_t i = 0; i < context->thread_count; i++)
		free(context->threads[i].vector);
	free(context->threads);
	free(context->core_path);
	free(context->exe_path);
	free(context->sysroot);
	*context = (struct ri_gdb_context){ 0 };
}
