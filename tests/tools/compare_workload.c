/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the truth that fixtures/perf_target.c writes with what refinspect
 * reports about it, address by address.
 *
 *	compare_workload TRUTH REPORT STATUS
 *
 * REPORT is of refinspect --format=json, STATUS what it ended with.  Every fault
 * must give its finding at its address, nothing else above a note may be reported,
 * the group's counter must be off by the objects that were taken out behind its
 * back, the lost blocks must be counted, and all objects must have been found.
 *
 * Exit status 0: all of it is right; 1: not, the differences are printed; 2:
 * unusable input.
 *
 * Faults and findings are turned into texts of one form, which are sorted and
 * merged.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"

/* Of struct buf in the fixture: its link, the link's second word. */
enum { LINK_OFFSET = 16, PREV_OFFSET = LINK_OFFSET + 8, LOST_BLOCK_BYTES = 200 };

typedef RI_VEC(char *) text_list;

struct truth {
	text_list faults;
	uint64_t objects, off_list, lost_blocks;
	bool has_faults;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "compare_workload: ");
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(2);
}

static void free_texts(text_list *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	ri_vec_deinit(texts);
}

static char *pair_text(uint64_t a, uint64_t b)
{
	return ri_format("cycle 0x%" PRIx64 " 0x%" PRIx64, a < b ? a : b, a < b ? b : a);
}

/*
 * Truth
 */

static void parse_fault(struct truth *truth, const char *path, const char *line)
{
	static const struct {
		const char *word, *code;
		uint64_t offset; /* of what the finding is compared by */
	} faults[] = {
		{ "leaked_ref", "surplus", 0 },
		{ "missing_ref", "too-few", 0 },
		{ "broken_prev", "broken-link", LINK_OFFSET },
		{ "dead_on_list", "dead-member", 0 },
		{ "off_list", "orphan", 0 },
	};
	char word[32], type[32];
	uint64_t a, b;
	int fields = sscanf(line, "%31s %31s %" SCNx64 " %" SCNx64, word, type, &a, &b);

	truth->has_faults = true;
	if (!strcmp(word, "cycle") && fields == 4) {
		*ri_push(&truth->faults) = pair_text(a, b);
		return;
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults) && fields == 3; i++)
		if (!strcmp(word, faults[i].word)) {
			truth->off_list += !strcmp(word, "off_list");
			*ri_push(&truth->faults) = ri_format("%s 0x%" PRIx64, faults[i].code,
							     a + faults[i].offset);
			return;
		}
	die("%s: not a line of truth: %s", path, line);
}

static void read_truth(const char *path, struct truth *truth)
{
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		die("cannot open %s", path);
	*truth = (struct truth){ 0 };
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "objects %" SCNu64, &truth->objects) == 1 ||
		    !strncmp(line, "references ", 11) || !strncmp(line, "roots ", 6))
			continue;
		if (!strncmp(line, "unreferenced_block ", 19))
			truth->lost_blocks++;
		else
			parse_fault(truth, path, line);
	}
	fclose(file);
	if (!truth->objects)
		die("%s: no number of objects", path);
	if (truth->off_list)
		*ri_push(&truth->faults) = ri_strdup("count-mismatch buf");
}

/*
 * Report
 */

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "-";
}

static uint64_t address_at(const json_t *finding, size_t index)
{
	const char *text =
		json_string_value(json_array_get(json_object_get(finding, "addresses"), index));

	return text ? strtoull(text, NULL, 16) : 0;
}

/* The text of a finding; what is about another type or group, or not sure, is like
 * no fault. */
static char *finding_text(const json_t *finding)
{
	const char *code = text_of(finding, "code");
	uint64_t addr = strtoull(text_of(finding, "address"), NULL, 16);

	if (strcmp(text_of(finding, "status"), "sure") || strcmp(text_of(finding, "type"), "buf") ||
	    strcmp(text_of(finding, "group"), "buf"))
		return ri_format("%s of another kind: %s", code, text_of(finding, "summary"));
	if (!strcmp(code, "cycle") && json_array_size(json_object_get(finding, "addresses")) == 2)
		return pair_text(address_at(finding, 0), address_at(finding, 1));
	if (!strcmp(code, "count-mismatch"))
		return ri_strdup("count-mismatch buf");
	/* the word blamed must be the object's own; what it should lead to tells which it is */
	if (!strcmp(code, "broken-link") && address_at(finding, 0) == addr + PREV_OFFSET)
		return ri_format("%s 0x%" PRIx64, code, address_at(finding, 2));
	if (!strcmp(code, "deficit") || !strcmp(code, "bad-count"))
		code = "too-few";
	return ri_format("%s 0x%" PRIx64, code, addr);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_texts(text_list *texts)
{
	if (texts->count)
		qsort(texts->items, texts->count, sizeof(*texts->items), compare_texts);
}

/* Prints what only one of the lists has; how much that is. */
static size_t count_differences(text_list *wanted, text_list *seen)
{
	size_t w = 0, s = 0, differences = 0;

	sort_texts(wanted);
	sort_texts(seen);
	while (w < wanted->count || s < seen->count) {
		int order = w == wanted->count ? 1
			    : s == seen->count ? -1
					       : strcmp(wanted->items[w], seen->items[s]);

		if (order < 0)
			printf("missing: %s\n", wanted->items[w]);
		else if (order > 0)
			printf("not expected: %s\n", seen->items[s]);
		differences += order != 0;
		w += order <= 0;
		s += order >= 0;
	}
	return differences;
}

static size_t compare_number(const char *what, uint64_t wanted, uint64_t seen)
{
	if (wanted == seen)
		return 0;
	printf("%s: %" PRIu64 ", expected %" PRIu64 "\n", what, seen, wanted);
	return 1;
}

static size_t compare_findings(struct truth *truth, const json_t *report)
{
	text_list seen = { 0 };
	const json_t *finding;
	size_t i, differences;

	json_array_foreach(json_object_get(report, "findings"), i, finding)
		if (strcmp(text_of(finding, "severity"), "note"))
			*ri_push(&seen) = finding_text(finding);
	differences = count_differences(&truth->faults, &seen);
	free_texts(&seen);
	return differences;
}

static uint64_t number_of(const json_t *record, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(record, key));
}

static size_t compare_numbers(const struct truth *truth, const json_t *report, uint64_t status)
{
	const json_t *coverage = json_object_get(report, "coverage"), *record;
	uint64_t objects = 0, differences = 0;
	size_t i;

	json_array_foreach(json_object_get(report, "types"), i, record)
		objects += number_of(record, "objects");
	json_array_foreach(json_object_get(report, "groups"), i, record)
		if (!strcmp(text_of(record, "group"), "buf"))
			differences += compare_number("what the group's counter is off by",
						      truth->off_list,
						      number_of(record, "stored") -
							      number_of(record, "members"));
	differences += compare_number("objects", truth->objects, objects);
	differences += compare_number("lost blocks", truth->lost_blocks,
				      number_of(coverage, "plain_leaks"));
	differences += compare_number("bytes of lost blocks",
				      truth->lost_blocks * LOST_BLOCK_BYTES,
				      number_of(coverage, "plain_leaks_bytes"));
	differences += compare_number("exit status", truth->has_faults, status);
	differences += compare_number(
		"exit status in the report", truth->has_faults,
		number_of(json_object_get(report, "verdict"), "exit_status"));
	if (!json_is_true(json_object_get(report, "complete"))) {
		puts("the report is cut off");
		differences++;
	}
	return differences;
}

int main(int argc, char **argv)
{
	struct truth truth;
	json_error_t error;
	json_t *report;
	size_t differences;

	if (argc != 4)
		die("usage: compare_workload TRUTH REPORT STATUS");
	read_truth(argv[1], &truth);
	report = json_load_file(argv[2], 0, &error);
	if (!report)
		die("%s:%d:%d: %s", argv[2], error.line, error.column, error.text);
	differences = compare_findings(&truth, report) +
		      compare_numbers(&truth, report, strtoull(argv[3], NULL, 10));
	free_texts(&truth.faults);
	json_decref(report);
	return differences != 0;
}
