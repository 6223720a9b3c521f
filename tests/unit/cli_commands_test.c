/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands on a live process (commands_subject.c), run as the command line and the
 * prompt run them: filters, names, words of states, the command that shows a
 * finding again, lines at the prompt.
 */
#include <inttypes.h>

#include "subject.h"

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/supervisor.h"

/* The addresses that the subject prints. */
enum { SOUND, LEAKED, ITEM, HOLDER, ADDR_COUNT };

/* A process, a profile for struct item in a file, and the options for both. */
struct stage {
	struct subject_process subject;
	uint64_t addrs[ADDR_COUNT];
	char profile[64];
	char *pid_option, *profile_option;
	struct ri_options options;
	struct ri_analysis *analysis;
};

static int set_up(void **state)
{
	static const char profile[] = "version: 1\nname: items\ntypes:\n- struct: item\n"
				      "  counts: refs\n  name: name\n  index: number\n";
	static char program[] = "refinspect", strict[] = "--strict";
	static char confine[] = "--confine=never"; /* the tests go on in this process */
	struct stage *stage = ri_calloc(1, sizeof(*stage));
	int fd;

	subject_start(&stage->subject, __FILE__, "commands_subject.c", stage->addrs, ADDR_COUNT);
	strcpy(stage->profile, "/tmp/refinspect-test it's-XXXXXX");
	fd = mkstemp(stage->profile);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, profile, strlen(profile)), strlen(profile));
	close(fd);
	stage->pid_option = ri_format("--pid=%d", (int)stage->subject.pid);
	stage->profile_option = ri_format("--profile=%s", stage->profile);
	ri_options_parse(&stage->options, 5,
			 (char *[]){ program, stage->pid_option, stage->profile_option, strict,
				     confine, NULL });
	assert_null(ri_session_analyse(&stage->options, 0, false, &stage->analysis));
	*state = stage;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	ri_analysis_destroy(stage->analysis);
	ri_options_deinit(&stage->options);
	subject_end(&stage->subject);
	unlink(stage->profile);
	free(stage->pid_option);
	free(stage->profile_option);
	free(stage);
	return 0;
}

/* What the command prints; owned by the caller. */
static char *run(struct stage *stage, int *ret_status, int argc, char **argv)
{
	struct ri_command_call call;
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_true(ri_command_prepare(&stage->options, argc, argv, &call));
	*ret_status = ri_command_execute(&stage->options, stage->analysis, &call, out);
	fclose(out);
	return text;
}

static void check_shows_the_object_that_is_asked_for(void **state)
{
	const uint64_t *addrs = ((struct stage *)*state)->addrs;
	char check[] = "check", *at_sound = ri_format("--object=0x%" PRIx64, addrs[SOUND]);
	char *at_leaked = ri_format("--object=0x%" PRIx64, addrs[LEAKED]), *text;
	int status;

	text = run(*state, &status, 2, (char *[]){ check, at_leaked, NULL });
	assert_non_null(strstr(text, "surplus: conn"));
	assert_int_equal(status, 1);
	free(text);
	text = run(*state, &status, 2, (char *[]){ check, at_sound, NULL });
	assert_null(strstr(text, "surplus: conn"));
	assert_int_equal(status, 1); /* filters never change it */
	free(text);
	free(at_sound);
	free(at_leaked);
}

static void check_shows_the_index_that_is_asked_for(void **state)
{
	char check[] = "check", index[] = "--index=17", *text;
	int status;

	text = run(*state, &status, 2, (char *[]){ check, index, NULL });
	assert_null(strstr(text, "surplus: conn"));
	free(text);
}

static void the_command_to_run_again_has_the_options(void **state)
{
	struct stage *stage = *state;
	char check[] = "check", *text, *wanted;
	int status;

	text = run(stage, &status, 1, (char *[]){ check, NULL });
	wanted = ri_format("again: refinspect --profile='/tmp/refinspect-test it'\\''s-%s' "
			   "--strict -p %d holders 0x%" PRIx64,
			   strrchr(stage->profile, '-') + 1, (int)stage->subject.pid,
			   stage->addrs[LEAKED]);
	assert_non_null(strstr(text, wanted));
	free(wanted);
	free(text);
}

static void inline_names_are_names(void **state)
{
	char objects[] = "objects", item[] = "item", names[] = "--show-names", *text;
	char wanted[] = "--name=inline name", other[] = "--name=other";
	int status;

	text = run(*state, &status, 4, (char *[]){ objects, item, names, wanted, NULL });
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "inline name"));
	free(text);
	text = run(*state, &status, 4, (char *[]){ objects, item, names, other, NULL });
	assert_null(strstr(text, "inline name"));
	free(text);
}

static void an_address_has_digits_alone(void **state)
{
	struct stage *stage = *state;
	struct ri_error *error;
	uint64_t addr;

	assert_null(ri_command_parse_addr(stage->analysis, "0x10", &addr));
	assert_int_equal(addr, 16);
	assert_null(ri_command_parse_addr(stage->analysis, "010", &addr));
	assert_int_equal(addr, 10);
	assert_null(ri_command_parse_addr(stage->analysis, "test_item", &addr));
	assert_int_equal(addr, stage->addrs[ITEM]);
	for (size_t i = 0; i < 4; i++) {
		static const char *const bad[] = { "-1", " -1", "0x", "10g" };

		error = ri_command_parse_addr(stage->analysis, bad[i], &addr);
		assert_non_null(error);
		assert_int_equal(error->code, RI_ERROR_USAGE);
		ri_error_destroy(error);
	}
}

static void a_pointer_means_what_it_points_at(void **state)
{
	char holders[] = "holders", why[] = "why", show[] = "show", *text, *wanted;
	char pointer[] = "test_item_holder", object[] = "test_item", json[] = "--format=json";
	char *words[] = { holders, why, show };
	int status;

	wanted = ri_format("test_item_holder at 0x%" PRIx64 " points at item 0x%" PRIx64 "\n",
			   ((struct stage *)*state)->addrs[HOLDER],
			   ((struct stage *)*state)->addrs[ITEM]);
	for (size_t i = 0; i < 3; i++) {
		char *by_object;

		text = run(*state, &status, 2, (char *[]){ words[i], pointer, NULL });
		by_object = run(*state, &status, 2, (char *[]){ words[i], object, NULL });
		assert_int_equal(status, 0);
		assert_memory_equal(text, wanted, strlen(wanted));
		assert_string_equal(text + strlen(wanted), by_object);
		free(text);
		free(by_object);
		text = run(*state, &status, 3, (char *[]){ words[i], pointer, json, NULL });
		assert_null(strstr(text, "points at"));
		free(text);
	}
	free(wanted);
}

static void null_is_no_object(void **state)
{
	struct stage *stage = *state;
	static const struct {
		const char *word, *message;
	} cases[] = {
		{ "0", "0 is the null pointer" },
		{ "0x0", "0x0 is the null pointer" },
		{ "test_no_item", "the pointer test_no_item is null" },
	};

	for (size_t i = 0; i < 3; i++) {
		uint32_t object;
		struct ri_error *error =
			ri_command_take_object(stage->analysis, cases[i].word, &object);

		assert_non_null(error);
		assert_non_null(strstr(error->message, cases[i].message));
		ri_error_destroy(error);
	}
}

static void lines_at_the_prompt_may_be_empty(void **state)
{
	static const char *const lines[] = { "", " ", "groups" };
	struct stage *stage = *state;
	struct ri_server *server;
	char text[4096] = "";
	int status, output;

	assert_null(ri_server_create(&stage->options, &server));
	for (size_t i = 0; i < 3; i++) {
		assert_null(ri_server_run(server, lines[i], &status, &output));
		assert_int_equal(status, 0);
		assert_true(read(output, text, sizeof(text) - 1) >= 0);
		assert_true((strstr(text, "all_conns") != NULL) == (i == 2));
	}
	ri_server_destroy(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_shows_the_object_that_is_asked_for),
		cmocka_unit_test(check_shows_the_index_that_is_asked_for),
		cmocka_unit_test(the_command_to_run_again_has_the_options),
		cmocka_unit_test(inline_names_are_names),
		cmocka_unit_test(an_address_has_digits_alone),
		cmocka_unit_test(a_pointer_means_what_it_points_at),
		cmocka_unit_test(null_is_no_object),
		cmocka_unit_test(lines_at_the_prompt_may_be_empty),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
