/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sees that what is on standard input is JSON, and as docs/json.md says.
 *
 *	check_json DOCS [FORMAT...] <OUTPUT
 *
 * OUTPUT is one document after the other, nothing between them but white space.
 * FORMATs are what they must be, in order: the "format" of a report, or the name
 * of a listing.  A report must end with "complete", and each of its members, at
 * any depth, must be named in DOCS; the records of a listing must have just the
 * members, in their order, that the row of its name in DOCS gives.
 *
 * Exit status 0: all true; 1: not, and stderr says what; 2: wrong usage.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_right = true;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("check_json: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	is_right = false;
}

static char *read_file(const char *path)
{
	FILE *stream = fopen(path, "r");
	char *text = NULL;
	size_t capacity = 0;

	if (!stream)
		return NULL;
	if (getdelim(&text, &capacity, '\0', stream) < 0) {
		free(text);
		text = NULL;
	}
	fclose(stream);
	return text;
}

static bool is_named(const char *docs, const char *key)
{
	char quoted[128];

	snprintf(quoted, sizeof(quoted), "`%s`", key);
	if (strstr(docs, quoted))
		return true;
	snprintf(quoted, sizeof(quoted), "\"%s\"", key); /* in the sketch of the frame */
	return strstr(docs, quoted) != NULL;
}

static void check_members(const char *docs, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, member) {
			if (!is_named(docs, key))
				complain("a report has '%s', of which the docs know nothing", key);
			check_members(docs, member);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, member)
			check_members(docs, member);
	}
}

/* The line of DOCS whose second cell is `name`; owned by the caller, or null. */
static char *find_row(const char *docs, const char *name)
{
	char cell[128];
	const char *found = docs, *start;

	snprintf(cell, sizeof(cell), " | `%s` | ", name);
	while ((found = strstr(found, cell)) != NULL) {
		for (start = found; start > docs && start[-1] != '\n'; start--)
			;
		if (*start == '|')
			return strndup(found + strlen(cell), strcspn(found + strlen(cell), "|\n"));
		found++;
	}
	/* the first cell is empty where a command prints a second table */
	snprintf(cell, sizeof(cell), "\n| | `%s` | ", name);
	found = strstr(docs, cell);
	if (!found)
		return NULL;
	return strndup(found + strlen(cell), strcspn(found + strlen(cell), "|\n"));
}

/* `row` is "`a`, `b`, `c` ". */
static void check_record(const char *name, const char *row, const json_t *record)
{
	const char *key, *p = row;
	json_t *value;

	json_object_foreach((json_t *)record, key, value) {
		const char *start = strchr(p, '`'), *end = start ? strchr(start + 1, '`') : NULL;

		(void)value;
		if (!end || (size_t)(end - start - 1) != strlen(key) ||
		    strncmp(start + 1, key, strlen(key))) {
			complain("a record of '%s' has '%s' where the docs say %s", name, key,
				 start ? start : "nothing");
			return;
		}
		p = end + 1;
	}
	if (strchr(p, '`'))
		complain("a record of '%s' lacks %s", name, p);
}

static void check_listing(const char *docs, const char *name, const json_t *root)
{
	char *row = find_row(docs, name);
	json_t *records = json_object_get(root, name), *record;
	size_t i;

	if (!row)
		complain("the docs have no row of the listing '%s'", name);
	if (!json_is_integer(json_object_get(root, "left_out")) || json_object_size(root) != 2)
		complain("the listing '%s' has not just its records and left_out", name);
	json_array_foreach(records, i, record)
		if (row)
			check_record(name, row, record);
	free(row);
}

static void check_report(const char *docs, const json_t *root)
{
	const char *key, *last = "";
	json_t *value;

	check_members(docs, root);
	json_object_foreach((json_t *)root, key, value)
		last = key;
	if (strcmp(last, "complete") || !json_is_true(json_object_get(root, "complete")))
		complain("a report does not end with \"complete\": true");
	if (!json_is_integer(json_object_get(root, "version")))
		complain("a report has no version");
}

/* What the document is, or null. */
static const char *format_of(const json_t *root)
{
	const char *format = json_string_value(json_object_get(root, "format")), *key;
	json_t *value;

	if (format)
		return format;
	json_object_foreach((json_t *)root, key, value)
		if (json_is_array(value))
			return key;
	return NULL;
}

static void check_document(const char *docs, const json_t *root, const char *wanted)
{
	const char *format = format_of(root);

	if (!format) {
		complain("a document is neither a report nor a listing");
		return;
	}
	if (wanted && strcmp(wanted, format))
		complain("a document is '%s', not '%s'", format, wanted);
	if (json_object_get(root, "format"))
		check_report(docs, root);
	else
		check_listing(docs, format, root);
}

static bool is_at_end(FILE *stream)
{
	int c;

	do {
		c = getc(stream);
	} while (c == ' ' || c == '\n');
	if (c == EOF)
		return true;
	ungetc(c, stream);
	return false;
}

int main(int argc, char **argv)
{
	char *docs = argc > 1 ? read_file(argv[1]) : NULL;
	int count = 0;

	if (!docs) {
		fprintf(stderr, "usage: check_json DOCS [FORMAT...] <OUTPUT\n");
		return 2;
	}
	while (!is_at_end(stdin)) {
		json_error_t error;
		json_t *root = json_loadf(stdin, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK,
					  &error);

		if (!root) {
			complain("document %d, line %d: %s", count + 1, error.line, error.text);
			break;
		}
		check_document(docs, root, count + 2 < argc ? argv[count + 2] : NULL);
		json_decref(root);
		count++;
	}
	if (!count)
		complain("there is no document");
	else if (argc > 2 && count != argc - 2)
		complain("%d documents, not %d", count, argc - 2);
	free(docs);
	return !is_right;
}
