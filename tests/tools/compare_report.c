/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares what a fixture says with what refinspect reports.
 *
 *	compare_report check CONDITION TRUTH REPORT STATUS
 *		every finding of REPORT (refinspect --format=json) against every
 *		EXPECT line of TRUTH (a fixture's output); STATUS is the exit status
 *		that refinspect ended with.  CONDITION ("dwarf" or "nodebug")
 *		selects among the -IF lines.
 *	compare_report agree REPORT...
 *		whether all reports have the same findings at the same addresses.
 *
 * Exit status 0: equal; 1: not, the differences are printed; 2: unusable input.
 * fixtures/README.md has the format of TRUTH.
 *
 * A finding and an expectation are compared by one text, "CODE TYPE group=NAME"
 * ("-" for null; an expected group "*" fits every one); a finding that could not be
 * checked has "?" after its code, one in flux "~".
 * The number of findings is small: lists are searched one by one.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Texts, each with how often it is wanted and how often it was seen. */
struct tally {
	struct tally_item {
		char *text;
		long wanted, seen;
	} *items;
	size_t count;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "compare_report: ");
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(2);
}

static struct tally_item *tally_get(struct tally *tally, const char *text)
{
	struct tally_item *item;

	for (size_t i = 0; i < tally->count; i++)
		if (!strcmp(tally->items[i].text, text))
			return &tally->items[i];
	tally->items = realloc(tally->items, (tally->count + 1) * sizeof(*tally->items));
	if (!tally->items)
		die("out of memory");
	item = &tally->items[tally->count++];
	*item = (struct tally_item){ .text = strdup(text) };
	if (!item->text)
		die("out of memory");
	return item;
}

static void tally_deinit(struct tally *tally)
{
	for (size_t i = 0; i < tally->count; i++)
		free(tally->items[i].text);
	free(tally->items);
}

/* Prints what differs; true if nothing does. */
static bool tally_is_even(const struct tally *tally, const char *missing, const char *extra)
{
	bool is_even = true;

	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_item *item = &tally->items[i];

		if (item->seen == item->wanted)
			continue;
		is_even = false;
		printf("%s: %ld x %s\n", item->seen < item->wanted ? missing : extra,
		       labs(item->wanted - item->seen), item->text);
	}
	return is_even;
}

struct truth {
	struct tally expected;
	long status;             /* -1: 0 without, 1 with expectations */
};

/* "CODE TYPE COUNT group=NAME" */
static void parse_expectation(struct truth *truth, const char *path, const char *line)
{
	char code[64], type[128], group[128], text[400];
	long count;

	if (sscanf(line, "%63s %127s %ld group=%127s", code, type, &count, group) != 4 ||
	    count < 1)
		die("%s: not an expectation: %s", path, line);
	snprintf(text, sizeof(text), "%s %s group=%s", code, type, group);
	tally_get(&truth->expected, text)->wanted += count;
}

/* The rest of `line` after `word` and one blank, or null. */
static const char *after(const char *line, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(line, word, length) && line[length] == ' ' ? line + length + 1 : NULL;
}

/* A line of the truth; false at READY. */
static bool parse_line(struct truth *truth, const char *path, const char *line,
		       const char *condition)
{
	const char *rest;

	if (!strcmp(line, "READY"))
		return false;
	if ((rest = after(line, "EXPECT")))
		parse_expectation(truth, path, rest);
	else if ((rest = after(line, "STATUS")))
		truth->status = strtol(rest, NULL, 10);
	else if ((rest = after(line, "EXPECT-IF"))) {
		if ((rest = after(rest, condition)))
			parse_expectation(truth, path, rest);
	} else if ((rest = after(line, "STATUS-IF"))) {
		if ((rest = after(rest, condition)))
			truth->status = strtol(rest, NULL, 10);
	} else if (!after(line, "OBJECT") && !after(line, "PROFILE") && !after(line, "NEEDS") && !after(line, "PID") &&
		   !after(line, "OPTION"))
		die("%s: not a line of truth: %s", path, line);
	return true;
}

static struct truth read_truth(const char *path, const char *condition)
{
	struct truth truth = { .status = -1 };
	FILE *file = fopen(path, "r");
	bool is_ready = false;
	char line[512];

	if (!file)
		die("cannot open %s", path);
	while (!is_ready && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		is_ready = !parse_line(&truth, path, line, condition);
	}
	fclose(file);
	if (!is_ready)
		die("%s: the fixture never said READY", path);
	return truth;
}

static json_t *read_report(const char *path)
{
	json_error_t error;
	json_t *report = json_load_file(path, 0, &error);

	if (!report)
		die("%s:%d:%d: %s", path, error.line, error.column, error.text);
	if (!json_is_array(json_object_get(report, "findings")))
		die("%s: no findings in it", path);
	if (!json_is_true(json_object_get(report, "complete")))
		die("%s: the report is cut off", path);
	return report;
}

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text && *text ? text : "-";
}

/* What stands behind the code of a finding that is not sure. */
static const char *mark_of(const json_t *finding)
{
	const char *status = text_of(finding, "status");

	return !strcmp(status, "sure") ? "" : !strcmp(status, "in-flux") ? "~" : "?";
}

/* Counts a finding as what was expected, by its group or by any. */
static void tally_finding(struct tally *expected, const json_t *finding)
{
	char text[400], any[402];
	int head = snprintf(text, sizeof(text), "%s%s %s group=", text_of(finding, "code"),
			    mark_of(finding), text_of(finding, "type"));

	snprintf(any, sizeof(any), "%s*", text);
	for (size_t i = 0; i < expected->count; i++)
		if (!strcmp(expected->items[i].text, any)) {
			expected->items[i].seen++;
			return;
		}
	if (head > 0 && (size_t)head < sizeof(text))
		snprintf(text + head, sizeof(text) - (size_t)head, "%s", text_of(finding, "group"));
	tally_get(expected, text)->seen++;
}

static void print_finding(const json_t *finding)
{
	const char *summary = text_of(finding, "summary");

	printf("  reported: %s %s %s: %s\n", text_of(finding, "code"),
	       text_of(finding, "address"), text_of(finding, "type"), summary);
}

static int check(const char *condition, const char *truth_path, const char *report_path,
		 const char *status_text)
{
	struct truth truth = read_truth(truth_path, condition);
	json_t *report = read_report(report_path);
	json_t *findings = json_object_get(report, "findings"), *finding;
	long status = strtol(status_text, NULL, 10), told;
	bool is_right;
	size_t i;

	if (truth.status < 0)
		truth.status = truth.expected.count > 0;
	json_array_foreach(findings, i, finding)
		tally_finding(&truth.expected, finding);
	is_right = tally_is_even(&truth.expected, "missing", "not expected");
	told = (long)json_integer_value(
		json_object_get(json_object_get(report, "verdict"), "exit_status"));
	if (status != truth.status || told != status) {
		printf("exit status %ld, the report says %ld, expected %ld\n", status, told,
		       truth.status);
		is_right = false;
	}
	if (!is_right)
		json_array_foreach(findings, i, finding)
			print_finding(finding);
	tally_deinit(&truth.expected);
	json_decref(report);
	return !is_right;
}

static int agree(int count, char **paths)
{
	bool do_agree = true;

	for (int i = 1; i < count; i++) {
		struct tally tally = { 0 };
		char extra[300];

		for (int side = 0; side < 2; side++) {
			json_t *report = read_report(paths[side ? i : 0]), *finding;
			size_t f;

			json_array_foreach(json_object_get(report, "findings"), f, finding) {
				struct tally_item *item;
				char text[400];

				snprintf(text, sizeof(text), "%s%s %s", text_of(finding, "code"),
					 mark_of(finding), text_of(finding, "address"));
				item = tally_get(&tally, text);
				*(side ? &item->seen : &item->wanted) += 1;
			}
			json_decref(report);
		}
		snprintf(extra, sizeof(extra), "only in %s", paths[i]);
		if (!tally_is_even(&tally, "missing there", extra)) {
			printf("%s and %s differ\n", paths[0], paths[i]);
			do_agree = false;
		}
		tally_deinit(&tally);
	}
	return !do_agree;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "check"))
		return check(argv[2], argv[3], argv[4], argv[5]);
	if (argc >= 4 && !strcmp(argv[1], "agree"))
		return agree(argc - 2, argv + 2);
	die("usage: compare_report check CONDITION TRUTH REPORT STATUS | agree REPORT REPORT...");
}
