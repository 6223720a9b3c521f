/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writers and listings, on hand-made analyses; and docs/findings.md, which
 * must say what the table of checks says. */
#include "check_world.h"

#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include "report/report.h"
#include "report/text.h"
#include "report/words.h"

#define HOSTILE "evil\033[2J\n\xff\"name"

static char *write_report(struct world *w, const char *format,
			  const struct ri_report_options *options)
{
	char *text = NULL;
	size_t size_bytes;
	FILE *stream = open_memstream(&text, &size_bytes);

	ri_writer_find(format)->write_check(stream, &w->analysis, options);
	fclose(stream);
	return text;
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, line, length) && (p[length] == '\n' || !p[length]))
			return true;
	}
	return false;
}

static const char *last_line(char *text)
{
	char *end = text + strlen(text) - 1;

	assert_int_equal(*end, '\n');
	*end = '\0';
	return strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
}

/* A world with three surpluses alike, one bad magic and one sound group. */
static struct world *faulty_world(void)
{
	struct world *w = world_create();

	world_group(w, "all_conns", 0, 4);
	for (uint32_t o = 0; o < 3; o++)
		w->population.objects[o].count = 3;
	w->population.objects[6].state = RI_OBJECT_MAGIC_BAD;
	w->population.objects[7].type = 1;
	world_check(w);
	assert_int_equal(w->findings.count, 4);
	return w;
}

static void test_text_folds_alike(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { .command_prefix = "refinspect core.4711" };
	char *text = write_report(w, "text", &options);

	(void)state;
	assert_non_null(strstr(text, "program: server, pid 4711, core core.4711\n"));
	assert_non_null(
		strstr(text, "TYPE    OBJECTS LIVE SURPLUS DEFICIT UNREACHABLE CYCLES DAMAGED"));
	assert_true(
		has_line(text, "conn          7    7       3       0           0      0       1"));
	assert_true(has_line(text, "all_conns list       4      4 sound"));
	assert_non_null(strstr(text, "surplus: conn 0x10000: count 3"));
	assert_true(has_line(text, "    3 alike: 0x10000, 0x11000, 0x12000"));
	assert_null(strstr(text, "conn 0x11000: count"));
	assert_true(has_line(text, "    again: refinspect core.4711 holders 0x10000"));
	assert_string_equal(last_line(text), "4 findings");
	free(text);
	world_destroy(w);
}

static void test_text_verbose_unfolds(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { .is_verbose = true };
	char *text = write_report(w, "text", &options);

	(void)state;
	assert_non_null(strstr(text, "surplus: conn 0x11000: count 3"));
	assert_non_null(strstr(text, "surplus: conn 0x12000: count 3"));
	assert_null(strstr(text, "alike"));
	/* every holder */
	assert_non_null(strstr(text, "table[] owns"));
	free(text);
	world_destroy(w);
}

static void test_text_quiet_and_filters(void **state)
{
	struct world *w = faulty_world();
	struct ri_report_options options = { .is_quiet = true, .code = "bad-magic" };
	char *text = write_report(w, "text", &options);

	(void)state;
	assert_int_equal(strncmp(text, "bad-magic: ", 11), 0);
	assert_null(strstr(text, "surplus"));
	assert_string_equal(last_line(text), "4 findings"); /* the verdict is not filtered */
	free(text);
	options = (struct ri_report_options){ .is_quiet = true, .group = "all_conns", .limit = 1 };
	text = write_report(w, "text", &options);
	assert_int_equal(strncmp(text, "surplus: ", 9), 0);
	free(text);
	options = (struct ri_report_options){ .is_quiet = true, .type = "session" };
	text = write_report(w, "text", &options);
	assert_string_equal(text, "4 findings\n");
	free(text);
	world_destroy(w);
}

static void test_text_lines_are_not_long(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { .is_verbose = true };
	char *text, *line, *save;

	(void)state;
	for (int i = 0; i < 40; i++)
		ri_finding_explain(&w->findings.items[0],
				   "%0*d blanks between words of a long line "
				   "of evidence that has to be broken somewhere",
				   10 + i, i);
	ri_finding_explain(&w->findings.items[0], "show 0x1");
	text = write_report(w, "text", &options);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_in_range(strlen(line), 1, RI_TEXT_WIDTH);
	free(text);
	world_destroy(w);
}

static void test_text_colours_only_if_asked(void **state)
{
	struct world *w = faulty_world();
	struct ri_report_options options = { .is_terminal = true };
	char *text = write_report(w, "text", &options);

	(void)state;
	assert_null(strchr(text, '\033'));
	free(text);
	options.use_colour = true;
	text = write_report(w, "text", &options);
	assert_non_null(strstr(text, "\033[1;31mbad-magic\033[0m"));
	free(text);
	world_destroy(w);
}

static struct world *hostile_world(void)
{
	struct world *w = world_create();

	w->types[0].name = HOSTILE;
	w->target.command = (char *)HOSTILE;
	world_group(w, HOSTILE, 0, 4);
	w->groups.items[0].stored_count = 9;
	w->population.objects[2].count = 3;
	world_check(w);
	assert_int_equal(w->findings.count, 2);
	return w;
}

static void test_text_escapes_hostile_names(void **state)
{
	struct world *w = hostile_world();
	const struct ri_report_options options = { .is_verbose = true, .is_terminal = true };
	char *text = write_report(w, "text", &options);

	(void)state;
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p < 0x7f));
	assert_non_null(strstr(text, "evil\\x1b[2J\\x0a\\xff\"name"));
	free(text);
	world_destroy(w);
}

static void test_verdict_lines(void **state)
{
	struct world *w = world_create();
	const struct ri_report_options options = { 0 };
	char *text;

	(void)state;
	world_check(w);
	text = write_report(w, "text", &options);
	assert_string_equal(last_line(text), "clean");
	free(text);
	ri_gaps_add(&w->analysis.gaps, RI_GAP_MATTERS, "census", "it\033 failed");
	text = write_report(w, "text", &options);
	assert_non_null(strstr(text, "gap that matters: census: it\\x1b failed"));
	assert_string_equal(last_line(text), "could not check: it\\x1b failed");
	free(text);
	world_destroy(w);

	w = world_create();
	w->population.objects[2].count = 3;
	world_check(w);
	text = write_report(w, "text", &options);
	assert_string_equal(last_line(text), "1 finding");
	free(text);
	world_destroy(w);
}

static void test_signal_and_fault_address(void **state)
{
	struct world *w = world_create();
	const struct ri_report_options options = { 0 };
	char *text;

	(void)state;
	w->target.signal = 11;
	w->target.has_siginfo = true;
	w->target.signal_code = SEGV_MAPERR;
	w->target.fault_addr = 0x18;
	world_check(w);
	text = write_report(w, "text", &options);
	assert_true(has_line(text, "ended by: SIGSEGV (Segmentation fault) at 0x18"));
	free(text);
	text = write_report(w, "json", &options);
	assert_non_null(strstr(text, "\"fault_address\": \"0x18\""));
	free(text);
	w->target.signal_code = SI_USER;
	text = write_report(w, "json", &options);
	assert_null(strstr(text, "fault_address"));
	free(text);
	w->target.signal_code = SI_TKILL;
	w->target.signal = SIGABRT;
	text = write_report(w, "text", &options);
	assert_true(has_line(text, "ended by: SIGABRT (Aborted)"));
	free(text);
	text = write_report(w, "json", &options);
	assert_null(strstr(text, "fault_address"));
	free(text);
	world_destroy(w);
}

static void test_many_groups_are_folded(void **state)
{
	struct world *w = world_create();
	const struct ri_report_options options = { 0 };
	char *text;

	(void)state;
	for (int i = 0; i < 30; i++)
		world_group(w, "conns_of", 0, 0);
	w->groups.items[7].stored_count = 1;
	world_check(w);
	text = write_report(w, "text", &options);
	assert_true(has_line(text, "conns_of list       0      1 count differs      1"));
	assert_true(has_line(text, "conns_of list       0      0 sound             29"));
	free(text);
	world_destroy(w);
}

static json_t *parse(char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("%s at line %d: %s", error.text, error.line, text);
	free(text);
	return root;
}

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_at(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static void test_json_report(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { 0 };
	json_t *root = parse(write_report(w, "json", &options)), *finding, *row, *verdict;

	(void)state;
	assert_string_equal(text_at(root, "format"), "refinspect-report");
	assert_int_equal(number_at(root, "version"), 1);
	assert_true(json_is_true(json_object_get(root, "complete")));
	assert_string_equal(text_at(json_object_get(root, "target"), "kind"), "core");
	assert_int_equal(number_at(json_object_get(root, "target"), "pid"), 4711);
	assert_int_equal(number_at(json_object_get(root, "coverage"), "threads"), 1);
	assert_int_equal(json_array_size(json_object_get(root, "findings")), 4);
	assert_int_equal(json_array_size(json_object_get(root, "types")), 2);
	row = json_array_get(json_object_get(root, "groups"), 0);
	assert_string_equal(text_at(row, "group"), "all_conns");
	assert_int_equal(number_at(row, "stored"), 4);
	assert_string_equal(text_at(row, "membership"), "borrows");
	finding = json_array_get(json_object_get(root, "findings"), 1);
	assert_string_equal(text_at(finding, "code"), "surplus");
	assert_string_equal(text_at(finding, "severity"), "warning");
	assert_string_equal(text_at(finding, "status"), "sure");
	assert_string_equal(text_at(finding, "type"), "conn");
	assert_string_equal(text_at(finding, "address"), "0x10000");
	assert_string_equal(text_at(finding, "group"), "all_conns");
	assert_string_equal(text_at(finding, "fingerprint"), "surplus:conn:group=all_conns");
	assert_string_equal(text_at(finding, "command"), "holders 0x10000");
	assert_int_equal(number_at(finding, "stored"), 3);
	assert_int_equal(number_at(finding, "certain"), 1);
	assert_true(json_array_size(json_object_get(finding, "evidence")) > 1);
	assert_null(json_object_get(finding, "holders"));
	verdict = json_object_get(root, "verdict");
	assert_string_equal(text_at(verdict, "verdict"), "findings");
	assert_int_equal(number_at(verdict, "exit_status"), 1);
	assert_string_equal(text_at(verdict, "summary"), "4 findings");
	json_decref(root);
	world_destroy(w);
}

static void test_json_verbose_and_limit(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { .is_verbose = true, .limit = 2 };
	json_t *root, *holders;

	(void)state;
	w->analysis.stages[0] = (struct ri_stage_time){ "target", 0.25 };
	w->analysis.stage_count = 1;
	root = parse(write_report(w, "json", &options));
	assert_int_equal(json_array_size(json_object_get(root, "findings")), 2);
	assert_int_equal(number_at(root, "findings_left_out"), 2);
	holders = json_object_get(json_array_get(json_object_get(root, "findings"), 1), "holders");
	assert_int_equal(json_array_size(holders), 1);
	assert_string_equal(text_at(json_array_get(holders, 0), "class"), "table[]");
	assert_string_equal(text_at(json_array_get(json_object_get(root, "stages"), 0), "stage"),
			    "target");
	json_decref(root);
	world_destroy(w);
}

static void test_json_of_hostile_and_empty(void **state)
{
	struct world *w = hostile_world();
	const struct ri_report_options options = { .show_names = true };
	json_t *root = parse(write_report(w, "json", &options));

	(void)state;
	assert_string_equal(text_at(json_array_get(json_object_get(root, "types"), 0), "type"),
			    "evil\\x1b[2J\\x0a\\xff\"name");
	json_decref(root);
	world_destroy(w);

	w = world_create_sized(0);
	world_check(w);
	root = parse(write_report(w, "json", &options));
	assert_string_equal(text_at(json_object_get(root, "verdict"), "verdict"), "unchecked");
	assert_int_equal(json_array_size(json_object_get(root, "findings")), 0);
	json_decref(root);
	world_destroy(w);
}

static void test_coverage_reports(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { 0 };
	char *text = NULL;
	size_t size_bytes;
	FILE *stream = open_memstream(&text, &size_bytes);
	json_t *root;

	(void)state;
	ri_writer_find("json")->write_coverage(stream, &w->analysis, &options);
	fclose(stream);
	root = parse(text);
	assert_string_equal(text_at(root, "format"), "refinspect-coverage");
	json_decref(root);
	stream = open_memstream(&text, &size_bytes);
	ri_writer_find("text")->write_coverage(stream, &w->analysis, &options);
	fclose(stream);
	assert_non_null(strstr(text, "threads: 1, the registers of all\n"));
	free(text);
	world_destroy(w);
}

/* Names come from memory: shown on a terminal, in files only if asked for. */
static void test_names_are_shown_where_allowed(void **state)
{
	static const char bytes[WORLD_BYTES] = "name\033-two";
	struct world *w = world_create();
	const struct ri_range range = { world_addr(2), world_addr(2) + WORLD_BYTES,
					(const uint8_t *)bytes, RI_RANGE_PRESENT, RI_RANGE_READ };
	struct ri_report_options options = { 0 };
	char *text;

	(void)state;
	ri_image_add(w->target.image, &range);
	w->layout.conventions.items[0].name_field =
		(struct ri_field){ .is_present = true, .text_bytes = 16 };
	w->population.objects[2].count = 3;
	world_check(w);
	text = write_report(w, "text", &options);
	assert_null(strstr(text, "-two"));
	free(text);
	options.show_names = true;
	text = write_report(w, "text", &options);
	assert_non_null(strstr(text, "\"name\\x1b-two\""));
	free(text);
	text = write_report(w, "json", &options);
	assert_non_null(strstr(text, "\"name\": \"name\\\\x1b-two\""));
	free(text);
	options = (struct ri_report_options){ .is_terminal = true, .name = "name\\x1b-two" };
	text = write_report(w, "text", &options);
	assert_non_null(strstr(text, "surplus: conn 0x12000"));
	free(text);
	world_destroy(w);
}

static const struct ri_column columns[] = {
	{ "address", false },
	{ "known_by", false },
	{ "count", true },
	{ "name", false },
};

static char *list(const char *format, size_t row_count, const struct ri_report_options *options,
		  const char *name)
{
	char *text = NULL;
	size_t size_bytes;
	FILE *stream = open_memstream(&text, &size_bytes);
	struct ri_listing *listing =
		ri_listing_create(stream, format, "objects", columns, 4, options);

	for (size_t i = 0; i < row_count; i++) {
		char count[24];
		const char *cells[] = { "0x1000", NULL, count, name };

		snprintf(count, sizeof(count), "%zu", i);
		ri_listing_add(listing, cells);
		fflush(stream);
		if (i == 10000) /* one more than are kept */
			assert_true(size_bytes > 0);
	}
	ri_listing_finish(listing);
	fclose(stream);
	return text;
}

static void test_text_listing(void **state)
{
	struct ri_report_options options = { .limit = 2 };
	char *text = list("text", 3, &options, "a\nb"), longer[200];

	(void)state;
	assert_true(has_line(text, "ADDRESS KNOWN BY COUNT NAME"));
	assert_true(has_line(text, "0x1000  -            1 a\\x0ab"));
	assert_true(has_line(text, "1 more rows left out by the limit"));
	free(text);
	text = list("text", 0, &options, "");
	assert_string_equal(text, "no objects\n");
	free(text);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	text = list("text", 1, &options, longer);
	assert_non_null(strstr(text, "xxx...\n"));
	assert_true(strlen(text) < 200);
	free(text);
	options.is_verbose = true;
	text = list("text", 1, &options, longer);
	assert_non_null(strstr(text, longer));
	free(text);
}

static void test_long_listing_streams(void **state)
{
	const struct ri_report_options options = { 0 };
	char *text = list("text", 10002, &options, "n");
	size_t lines = 0;

	(void)state;
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 10003);
	assert_true(has_line(text, "ADDRESS KNOWN BY COUNT NAME"));
	assert_true(has_line(text, "0x1000  -            9 n"));
	assert_true(has_line(text, "0x1000  -        10001 n"));
	free(text);
}

static void test_json_listing(void **state)
{
	const struct ri_report_options options = { .limit = 2 };
	json_t *root = parse(list("json", 3, &options, HOSTILE)), *row;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(root, "objects")), 2);
	assert_int_equal(number_at(root, "left_out"), 1);
	row = json_array_get(json_object_get(root, "objects"), 1);
	assert_int_equal(number_at(row, "count"), 1);
	assert_true(json_is_null(json_object_get(row, "known_by")));
	assert_string_equal(text_at(row, "name"), "evil\\x1b[2J\\x0a\\xff\"name");
	json_decref(root);
	root = parse(list("json", 0, &options, ""));
	assert_int_equal(json_array_size(json_object_get(root, "objects")), 0);
	json_decref(root);
}

static void test_addresses_of_the_rows_shown(void **state)
{
	ri_report_addr_list addresses = { 0 };
	const struct ri_report_options options = { .limit = 2, .addresses = &addresses };

	(void)state;
	free(list("text", 3, &options, "n"));
	free(list("json", 1, &options, "n"));
	assert_int_equal(addresses.count, 3);
	assert_true(addresses.items[1] == 0x1000);
	ri_vec_deinit(&addresses);
}

static void test_a_held_process_was_not_stopped_by_us(void **state)
{
	struct world *w = faulty_world();
	const struct ri_report_options options = { 0 };
	char *text;
	json_t *root;

	(void)state;
	w->target.kind = RI_TARGET_LIVE;
	text = write_report(w, "text", &options);
	assert_non_null(strstr(text, "stopped for: "));
	free(text);
	w->target.is_held = true;
	text = write_report(w, "text", &options);
	assert_null(strstr(text, "stopped for: "));
	assert_non_null(strstr(text, "stopped by the debugger that holds it; "));
	free(text);
	root = parse(write_report(w, "json", &options));
	assert_null(json_object_get(json_object_get(root, "target"), "pause_seconds"));
	assert_non_null(json_object_get(json_object_get(root, "target"), "bytes_copied"));
	json_decref(root);
	world_destroy(w);
}

static void test_clean_leaves_escapes_alone(void **state)
{
	char *once = ri_words_clean("a\\b\001\\"), *twice = ri_words_clean(once);

	(void)state;
	assert_string_equal(once, "a\\b\\x01\\");
	assert_string_equal(twice, once);
	assert_null(ri_words_clean(NULL));
	free(once);
	free(twice);
}

/* The file's text with runs of blanks and newlines as one blank. */
static char *read_flat(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = ri_malloc(1 << 20);
	size_t length = 0;
	int c;

	if (!file)
		fail_msg("cannot open %s (the tests run in the top directory)", path);
	while ((c = getc(file)) != EOF && length < (1 << 20) - 1) {
		if (isspace(c))
			c = ' ';
		if (c != ' ' || (length && text[length - 1] != ' '))
			text[length++] = (char)c;
	}
	text[length] = '\0';
	fclose(file);
	return text;
}

static void test_findings_are_documented(void **state)
{
	char *text = read_flat("docs/findings.md");

	(void)state;
	for (size_t i = 0; ri_checks[i]; i++) {
		char *section = ri_format("## `%s` *%s: %s.* %s", ri_checks[i]->code,
					  ri_words_severity(ri_checks[i]->severity),
					  ri_checks[i]->summary, ri_checks[i]->help);

		if (!strstr(text, section))
			fail_msg("docs/findings.md does not say: %s", section);
		free(section);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_folds_alike),
		cmocka_unit_test(test_text_verbose_unfolds),
		cmocka_unit_test(test_text_quiet_and_filters),
		cmocka_unit_test(test_text_lines_are_not_long),
		cmocka_unit_test(test_text_colours_only_if_asked),
		cmocka_unit_test(test_text_escapes_hostile_names),
		cmocka_unit_test(test_verdict_lines),
		cmocka_unit_test(test_signal_and_fault_address),
		cmocka_unit_test(test_many_groups_are_folded),
		cmocka_unit_test(test_json_report),
		cmocka_unit_test(test_json_verbose_and_limit),
		cmocka_unit_test(test_json_of_hostile_and_empty),
		cmocka_unit_test(test_coverage_reports),
		cmocka_unit_test(test_names_are_shown_where_allowed),
		cmocka_unit_test(test_text_listing),
		cmocka_unit_test(test_long_listing_streams),
		cmocka_unit_test(test_json_listing),
		cmocka_unit_test(test_addresses_of_the_rows_shown),
		cmocka_unit_test(test_a_held_process_was_not_stopped_by_us),
		cmocka_unit_test(test_clean_leaves_escapes_alone),
		cmocka_unit_test(test_findings_are_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
