/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares what tests/bare/world.c planted with a report that was made without a profile.
 *
 *	compare_bare TRUTH REPORT STATUS
 *
 * Without a profile not every fault can be found; what is found must be right.  Prints a line
 * per difference and one of totals, which the caller adds up:
 *
 *	false CODE ADDRESS TYPE: SUMMARY        a sure finding that is no fault
 *	missed KIND TYPE ADDRESS: WHY           no sure finding, though no other word hides it
 *	silent                                  faults were missed, and the answer is "clean"
 *	total OBJECTS FAULTS MASKED FOUND FALSE
 *
 * WHY is what the report itself says about the type or the object: the reasons that
 * tests/bare/README.md lists.
 *
 * Exit status 0; 2: unusable input, or a status that contradicts the report.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { FAULTS_MAX = 256 };

static struct fault {
	char kind[16], codes[64], type[32], addrs[64];
	bool is_masked, is_found;
} faults[FAULTS_MAX];
static size_t fault_count;
static unsigned object_count;

static void read_truth(const char *path)
{
	char line[400], how[8];
	FILE *file = fopen(path, "r");
	bool is_ready = false;

	if (!file)
		err(2, "%s", path);
	while (!is_ready && fgets(line, sizeof(line), file)) {
		struct fault *fault = &faults[fault_count];

		is_ready = !strcmp(line, "READY\n");
		if (is_ready || sscanf(line, "OBJECTS %u", &object_count) == 1)
			continue;
		if (fault_count == FAULTS_MAX ||
		    sscanf(line, "FAULT %15s %7s %63s %31s %63s", fault->kind, how, fault->codes,
			   fault->type, fault->addrs) != 5)
			errx(2, "%s: not a fault: %s", path, line);
		fault->is_masked = !strcmp(how, "masked");
		fault_count++;
	}
	fclose(file);
	if (!is_ready)
		errx(2, "%s: never got ready", path);
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

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

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

static bool is_sure(const json_t *finding)
{
	return !strcmp(text_of(finding, "status"), "sure") &&
	       strcmp(text_of(finding, "severity"), "note") != 0;
}

/* Whether the finding is a fault. */
static bool match(const json_t *finding)
{
	bool any = false;

	for (size_t i = 0; i < fault_count; i++)
		if (is_listed(faults[i].codes, text_of(finding, "code")) && is_at(&faults[i], finding))
			any = faults[i].is_found = true;
	return any;
}

/* What the report says of the fault that it does not tell. */
static void print_reason(const struct fault *fault, const json_t *report)
{
	json_t *record;
	char quoted[40], plain[40];
	size_t i;

	json_array_foreach(json_object_get(report, "findings"), i, record)
		if (is_at(fault, record)) {
			printf("%s %s: %s\n", text_of(record, "status"), text_of(record, "code"),
			       text_of(record, "summary"));
			return;
		}
	snprintf(quoted, sizeof(quoted), "'%s'", fault->type);
	snprintf(plain, sizeof(plain), "type %s", fault->type);
	json_array_foreach(json_object_get(json_object_get(report, "coverage"), "gaps"), i, record)
		if (!strcmp(text_of(record, "weight"), "matters") &&
		    (strstr(text_of(record, "message"), quoted) ||
		     strstr(text_of(record, "message"), plain))) {
			printf("%s\n", text_of(record, "message"));
			return;
		}
	printf("nothing is said about it\n");
}

int main(int argc, char **argv)
{
	size_t masked = 0, found = 0, false_count = 0, sure = 0, i;
	json_t *report, *finding;
	json_error_t error;
	int status;

	if (argc != 4)
		errx(2, "usage: compare_bare TRUTH REPORT STATUS");
	read_truth(argv[1]);
	report = json_load_file(argv[2], 0, &error);
	if (!report)
		errx(2, "%s: %s", argv[2], error.text);
	json_array_foreach(json_object_get(report, "findings"), i, finding) {
		if (!is_sure(finding))
			continue;
		sure++;
		if (match(finding))
			continue;
		false_count++;
		printf("false %s %s %s: %s\n", text_of(finding, "code"), text_of(finding, "address"),
		       text_of(finding, "type"), text_of(finding, "summary"));
	}
	status = atoi(argv[3]);
	for (i = 0; i < fault_count; i++) {
		masked += faults[i].is_masked;
		if (faults[i].is_masked)
			continue;
		found += faults[i].is_found;
		if (faults[i].is_found)
			continue;
		printf("missed %s %s %s: ", faults[i].kind, faults[i].type, faults[i].addrs);
		print_reason(&faults[i], report);
	}
	if (!status && found + masked < fault_count)
		printf("silent\n");
	printf("total %u %zu %zu %zu %zu\n", object_count, fault_count, masked, found, false_count);
	json_decref(report);
	if (status != 0 && status != 1 && status != 3)
		errx(2, "exit status %d", status);
	if ((status == 1) != (sure > 0))
		errx(2, "exit status %d with %zu sure findings", status, sure);
	return 0;
}
