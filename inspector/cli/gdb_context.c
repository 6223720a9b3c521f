/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parsing what gdb tells us: see gdb_context.h.  One pass over the lines; each
 * kind of line is recognised by how gdb (9 to 16) spells it.  Lines that are
 * not known are passed over: the target's section lists are thousands of them.
 *
 * Registers are those of `maint print raw-registers`: of the thread, whichever
 * frame is selected, in hexadecimal, and all of them, five times as fast as
 * `info registers` formats the vector registers.
 */
#include "cli/gdb_context.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "census/describe.h"

#define VECTOR_REGISTERS 32
#define VECTOR_BYTES 64 /* zmm */
#define FLOAT_REGISTERS 8 /* x87, and MMX in them; behind the vector registers */
#define FLOAT_BYTES 16

/* Where the parser is between lines. */
struct parser {
	struct ri_gdb_context *context;
	bool in_target; /* what comes now is gdb's, and names in it the target's choice */
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

/* "%ref 3 0x5581", in order; what the user put there instead may be anything. */
static void parse_ref(struct ri_gdb_context *context, const char *rest)
{
	char *end;
	unsigned long number = strtoul(rest, &end, 10);

	if (number == context->refs.count + 1)
		*ri_push(&context->refs) = strtoull(end, NULL, 0);
}

static bool parse_own_line(struct parser *parser, const char *line)
{
	struct ri_gdb_context *context = parser->context;
	const char *rest;

	if (*line != '%')
		return false;
	if (!strcmp(line, "%target"))
		parser->in_target = true;
	else if (!strcmp(line, "%registers"))
		parser->in_registers = true;
	else if (!strcmp(line, "%end"))
		parser->is_whole = true;
	else if (parser->in_target)
		return true;
	else if ((rest = after(line, "%arg ")))
		*ri_push(&context->arguments) = strip_quotes(rest);
	else if ((rest = after(line, "%argc ")))
		context->argument_count = (unsigned)strtoul(rest, NULL, 10);
	else if ((rest = after(line, "%thread ")))
		context->thread = (unsigned)strtoul(rest, NULL, 10);
	else if ((rest = after(line, "%refs ")))
		context->ref_count = (unsigned)strtoul(rest, NULL, 10);
	else if ((rest = after(line, "%ref ")))
		parse_ref(context, rest);
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

/* "Thread 2 (Thread 0x7f.. (LWP 9268) "name"):", "Thread 1 (process 17):" or
 * "Thread 1 (LWP 17):"; the name is the target's choice. */
static bool parse_thread_heading(struct parser *parser, const char *line)
{
	struct ri_gdb_context *context = parser->context;
	const char *tid = after(line, "Thread ") ? strchr(line, '(') : NULL;

	if (!tid)
		return false;
	tid++;
	if (after(tid, "Thread ") && (tid = strchr(tid, '(')))
		tid++;
	if (tid && after(tid, "LWP "))
		tid += strlen("LWP ");
	else if (tid && after(tid, "process "))
		tid += strlen("process ");
	else
		return false;
	context->threads = ri_grow(context->threads, &parser->thread_capacity,
				   context->thread_count + 1, sizeof(*context->threads));
	parser->thread = &context->threads[context->thread_count++];
	*parser->thread = (struct ri_thread){ .tid = (pid_t)strtol(tid, NULL, 10) };
	return true;
}

/* The digits of a hexadecimal number, lowest byte first; at most `size_bytes`. */
static void parse_hex(const char *digits, uint8_t *to, size_t size_bytes)
{
	size_t length = strspn(digits, "0123456789abcdefABCDEF");

	for (size_t i = 0; i < length && i / 2 < size_bytes; i++) {
		int c = tolower((unsigned char)digits[length - 1 - i]);
		unsigned digit = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);

		to[i / 2] |= (uint8_t)(digit << (i % 2 ? 4 : 0));
	}
}

/* xmm3 is the low quarter of the third vector register, ymm3h the next, zmm3h the
 * upper half, st3 an x87 register; false: none of these. */
static bool parse_vector_register(struct ri_thread *thread, const char *name, const char *digits)
{
	static const struct {
		const char *prefix, *suffix;
		size_t offset, stride, size_bytes;
		unsigned long count;
	} parts[] = {
		{ "xmm", "", 0, VECTOR_BYTES, 16, VECTOR_REGISTERS },
		{ "ymm", "h", 16, VECTOR_BYTES, 16, VECTOR_REGISTERS },
		{ "zmm", "h", 32, VECTOR_BYTES, 32, VECTOR_REGISTERS },
		{ "st", "", VECTOR_REGISTERS * VECTOR_BYTES, FLOAT_BYTES, 10, FLOAT_REGISTERS },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *start = after(name, parts[i].prefix);
		char *suffix;
		unsigned long number;

		if (!start || !isdigit((unsigned char)*start))
			continue;
		number = strtoul(start, &suffix, 10);
		if (strcmp(suffix, parts[i].suffix) || number >= parts[i].count)
			return false;
		if (!thread->vector) {
			thread->vector_size_bytes = VECTOR_REGISTERS * VECTOR_BYTES +
						    FLOAT_REGISTERS * FLOAT_BYTES;
			thread->vector = ri_calloc(1, thread->vector_size_bytes);
		}
		parse_hex(digits, thread->vector + parts[i].offset + number * parts[i].stride,
			  parts[i].size_bytes);
		return true;
	}
	return false;
}

/* A row of `maint print raw-registers`: " rsp  7  7  56  8 *1  0x00007fff468c2560";
 * registers that have no value end in another word. */
static void parse_register(struct ri_thread *thread, const char *line)
{
	const char *value = strrchr(line, ' ');
	char name[16];

	if (!value || !(value = after(value, " 0x")) || sscanf(line, " %15s", name) != 1)
		return;
	if (parse_vector_register(thread, name, value))
		return;
	for (uint32_t i = 0; i < RI_REGISTER_COUNT; i++) {
		if (!strcmp(ri_register_name(i), name)) {
			thread->registers[i] = strtoull(value, NULL, 16);
			thread->has_registers |= i == RI_REG_RSP;
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

void ri_gdb_context_expand_refs(struct ri_gdb_context *context)
{
	for (size_t i = 0; i < context->arguments.count; i++) {
		char *argument = context->arguments.items[i], *end;
		const char *equals = strchr(argument, '=');
		const char *name = *argument == '-' && equals ? equals + 1 : argument;
		const char *digits = after(name, "$ref");
		unsigned long number;

		if (!digits || !isdigit((unsigned char)*digits))
			continue;
		number = strtoul(digits, &end, 10);
		if (*end || !number || number > context->refs.count ||
		    !context->refs.items[number - 1])
			continue;
		context->arguments.items[i] =
			ri_format("%.*s%#" PRIx64, (int)(name - argument), argument,
				  context->refs.items[number - 1]);
		free(argument);
	}
}

void ri_gdb_context_deinit(struct ri_gdb_context *context)
{
	for (size_t i = 0; i < context->arguments.count; i++)
		free(context->arguments.items[i]);
	ri_vec_deinit(&context->arguments);
	for (size_t i = 0; i < context->debug_dirs.count; i++)
		free(context->debug_dirs.items[i]);
	ri_vec_deinit(&context->debug_dirs);
	ri_vec_deinit(&context->refs);
	for (size_t i = 0; i < context->thread_count; i++)
		free(context->threads[i].vector);
	free(context->threads);
	free(context->core_path);
	free(context->exe_path);
	free(context->sysroot);
	*context = (struct ri_gdb_context){ 0 };
}
