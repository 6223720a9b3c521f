/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the faults that tests/nasty/world.c planted with a report.
 *
 *	compare_nasty TRUTH REPORT STATUS
 *
 * Every fault that is not masked must be a sure finding above a note, under one of its
 * codes at one of its addresses; every sure finding above a note must be a fault; and
 * the exit status must be 1 with such findings and 0 without.  3 is never right: all of the
 * memory is there and all of the types are declared.
 *
 * Codes that are right for one fault alike, beside those the truth names:
 *
 *	lost-holder   `unreachable`, and `surplus` where something borrows it;
 *	dead-in-group  `bad-count` where something else owns it;
 *	missing-reference  `bad-count`, `dead-member` or `dangling` where the count became 0;
 *	broken-link   `list-loop` where the word leads back.
 *
 * Exit status 0: equal; 1: not, the differences are printed; 2: unusable input.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct fault {
	char name[32], codes[64], addrs[160];
	bool is_masked, is_found;
};

struct truth {
	struct fault *faults;
	size_t count;
};

static struct truth read_truth(const char *path)
{
	struct truth truth = { 0 };
	bool is_ready = false;
	char line[400], how[8];
	FILE *file = fopen(path, "r");

	if (!file)
		err(2, "%s", path);
	while (!is_ready && fgets(line, sizeof(line), file)) {
		struct fault fault = { 0 };

		is_ready = !strcmp(line, "READY\n");
		if (is_ready)
			break;
		if (sscanf(line, "FAULT %31s %7s %63s %159s", fault.name, how, fault.codes,
			   fault.addrs) != 4)
			errx(2, "%s: not a fault: %s", path, line);
		fault.is_masked = !strcmp(how, "masked");
		truth.faults = realloc(truth.faults, (truth.count + 1) * sizeof(fault));
		if (!truth.faults)
			err(2, NULL);
		truth.faults[truth.count++] = fault;
	}
	fclose(file);
	if (!is_ready)
		errx(2, "%s: never got ready", path);
	return truth;
}

/* Whether `word` is one of `list`, which commas separate. */
static bool is_listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list; length && (p = strstr(p, word)); p++)
		if ((p == list || p[-1] == ',') && (!p[length] || p[length] == ','))
			return true;
	return false;
}

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

static bool is_at(const struct fault *fault, const json_t *finding)
{
	json_t *addr;
	size_t i;

	if (is_listed(fault->addrs, text_of(finding, "address")))
		return true;
	json_array_foreach(json_object_get(finding, "addresses"), i, addr)
		if (is_listed(fault->addrs, json_string_value(addr)))
			return true;
	return false;
}

/* Finds the finding's faults; false if there is none. */
static bool match(struct truth *truth, const json_t *finding)
{
	bool any = false;

	for (size_t i = 0; i < truth->count; i++) {
		struct fault *fault = &truth->faults[i];

		if (!is_listed(fault->codes, text_of(finding, "code")) || !is_at(fault, finding))
			continue;
		fault->is_found = true;
		any = true;
	}
	return any;
}

/* Of findings that are false for one cause there are often thousands. */
enum { FALSE_PRINTED_MAX = 20 };

static void print_false(const json_t *finding, size_t *printed)
{
	json_t *line;
	size_t i;

	if (++*printed > FALSE_PRINTED_MAX)
		return;
	printf("false: %s %s %s group %s: %s\n", text_of(finding, "code"),
	       text_of(finding, "address"), text_of(finding, "type"), text_of(finding, "group"),
	       text_of(finding, "summary"));
	json_array_foreach(json_object_get(finding, "evidence"), i, line)
		printf("    %s\n", json_string_value(line));
}

int main(int argc, char **argv)
{
	json_t *report, *finding;
	json_error_t error;
	struct truth truth;
	bool is_right = true, any = false;
	size_t i, printed = 0;

	if (argc != 4)
		errx(2, "usage: compare_nasty TRUTH REPORT STATUS");
	truth = read_truth(argv[1]);
	report = json_load_file(argv[2], 0, &error);
	if (!report)
		errx(2, "%s: %s", argv[2], error.text);
	if (!json_is_true(json_object_get(report, "complete"))) {
		printf("the report is not complete\n");
		is_right = false;
	}
	json_array_foreach(json_object_get(report, "findings"), i, finding) {
		if (strcmp(text_of(finding, "status"), "sure") ||
		    !strcmp(text_of(finding, "severity"), "note"))
			continue;
		any = true;
		if (match(&truth, finding))
			continue;
		print_false(finding, &printed);
		is_right = false;
	}
	if (printed > FALSE_PRINTED_MAX)
		printf("and %zu false ones more\n", printed - FALSE_PRINTED_MAX);
	for (i = 0; i < truth.count; i++) {
		const struct fault *fault = &truth.faults[i];

		if (fault->is_found || fault->is_masked)
			continue;
		printf("missed: %s (%s) %s\n", fault->name, fault->codes, fault->addrs);
		is_right = false;
	}
	if (atoi(argv[3]) != any) {
		printf("exit status %s, not %d: %s\n", argv[3], any,
		       text_of(json_object_get(report, "verdict"), "summary"));
		is_right = false;
	}
	free(truth.faults);
	json_decref(report);
	return !is_right;
}
