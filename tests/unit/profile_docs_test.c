/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * docs/profile.md against the program: every example is a profile that parses
 * and survives printing, every key of the schema is in a table of the page, and
 * some example uses it.  The fixtures' profiles parse, too.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "profile/schema.h"

#define PAGE "docs/profile.md"
#define FENCE "\n```yaml\n"

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = ri_calloc(1, 1 << 20);

	if (!file)
		fail_msg("%s cannot be opened; run the test in the top directory", path);
	text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void expect_profile(const char *file, const char *text, size_t size_bytes)
{
	struct ri_profile *profile = NULL, *again = NULL;
	struct ri_error *error = ri_profile_parse(file, text, size_bytes, &profile);
	char *printed, *twice;

	if (error)
		fail_msg("%s in:\n%.*s", error->message, (int)size_bytes, text);
	printed = ri_profile_print(profile);
	assert_null(ri_profile_parse(file, printed, strlen(printed), &again));
	twice = ri_profile_print(again);
	assert_string_equal(printed, twice);
	free(printed);
	free(twice);
	ri_profile_destroy(profile);
	ri_profile_destroy(again);
}

/* The examples, one after the other, in a new string. */
static char *examples_of(const char *page, size_t *ret_count)
{
	char *examples = ri_calloc(1, strlen(page) + 1);

	*ret_count = 0;
	for (const char *at = strstr(page, FENCE); at; at = strstr(at, FENCE)) {
		const char *end;

		at += strlen(FENCE);
		end = strstr(at, "\n```\n");
		assert_non_null(end);
		strncat(examples, at, (size_t)(end + 1 - at));
		(*ret_count)++;
	}
	return examples;
}

static void test_examples_parse(void **state)
{
	char *page = read_file(PAGE), *at = strstr(page, FENCE);
	unsigned line = 0, count = 0;

	(void)state;
	for (const char *last = page; at; last = at, at = strstr(at, FENCE), count++) {
		char *end, *file;

		at += strlen(FENCE);
		for (; last < at; last++)
			line += *last == '\n';
		end = strstr(at, "\n```\n");
		assert_non_null(end);
		file = ri_format(PAGE ", example after line %u", line);
		expect_profile(file, at, (size_t)(end + 1 - at));
		free(file);
	}
	assert_true(count >= 15);
	free(page);
}

static void expect_documented(const struct ri_schema *schema, const char *page,
			      const char *examples)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++) {
		char *quoted = ri_format("`%s`", key->name), *used = ri_format("%s:", key->name);
		char *valued = ri_format("`%s: ", key->name);

		if (!strstr(page, quoted) && !strstr(page, valued))
			fail_msg(PAGE " does not say what '%s' of %s is", key->name, schema->what);
		if (!strstr(examples, used) && key->kind != RI_SCHEMA_LEDGER)
			fail_msg("no example of " PAGE " uses '%s' of %s", key->name,
				 schema->what);
		free(quoted);
		free(valued);
		free(used);
		if (key->section)
			expect_documented(key->section, page, examples);
	}
}

static void test_every_key_is_documented(void **state)
{
	char *page = read_file(PAGE);
	size_t count;
	char *examples = examples_of(page, &count);

	(void)state;
	assert_true(count >= 15);
	expect_documented(&ri_schema_profile, page, examples);
	expect_documented(&ri_schema_weight, page, examples);
	free(examples);
	free(page);
}

static void test_profiles_of_fixtures_parse(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("fixtures/*.yaml", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *text = read_file(found.gl_pathv[i]);

		expect_profile(found.gl_pathv[i], text, strlen(text));
		free(text);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples_parse),
		cmocka_unit_test(test_every_key_is_documented),
		cmocka_unit_test(test_profiles_of_fixtures_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
