/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completion: see completion.h.  The place on the line decides which names there
 * are to choose from:
 *
 *	first word                      commands
 *	behind help                     commands and codes
 *	behind types, objects, --type   counted types
 *	behind group, --group           groups
 *	behind --code                   codes
 *	a dash                          options of reports
 */
#include "cli/completion.h"

#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/words.h"

/* Candidates that begin with `word`, each with `prefix` in front. */
struct matches {
	const char *word, *prefix;
	RI_VEC(char *) found;
};

static void offer(struct matches *matches, const char *name)
{
	if (!strncmp(name, matches->word, strlen(matches->word)))
		*ri_push(&matches->found) = ri_format("%s%s", matches->prefix, name);
}

static void offer_list(struct matches *matches, char *const *names)
{
	for (size_t i = 0; names && names[i]; i++)
		offer(matches, names[i]);
}

static void offer_commands(struct matches *matches)
{
	for (size_t i = 0; ri_commands[i]; i++)
		if (ri_commands[i] != &ri_command_gdb_session)
			offer(matches, ri_commands[i]->name);
}

static void offer_codes(struct matches *matches)
{
	for (size_t i = 0; ri_checks[i]; i++)
		offer(matches, ri_checks[i]->code);
}

static void offer_formats(struct matches *matches)
{
	for (size_t i = 0; ri_writers[i]; i++)
		offer(matches, ri_writers[i]->name);
}

static void offer_option(const struct ri_option_words *option, void *data)
{
	char *name;

	if (!option->is_of_report || !option->name)
		return;
	name = ri_format("--%s%s", option->name, option->argument ? "=" : "");
	offer(data, name);
	free(name);
}

/* The argument of the option called `option` (without its dashes). */
static void offer_argument(struct matches *matches, const struct ri_completion_names *names,
			   const char *option)
{
	if (!strcmp(option, "type"))
		offer_list(matches, names->types);
	else if (!strcmp(option, "group"))
		offer_list(matches, names->groups);
	else if (!strcmp(option, "code"))
		offer_codes(matches);
	else if (!strcmp(option, "format"))
		offer_formats(matches);
}

/* A word that begins with a dash: "--ty", or "--type=con". */
static void offer_options(struct matches *matches, const struct ri_completion_names *names)
{
	const char *word = matches->word, *equals = strchr(word, '=');
	char *prefix, *option;

	if (strncmp(word, "--", 2) || !equals) {
		ri_options_each(offer_option, matches);
		return;
	}
	prefix = ri_strndup(word, (size_t)(equals + 1 - word));
	option = ri_strndup(word + 2, (size_t)(equals - word - 2));
	matches->prefix = prefix;
	matches->word = equals + 1;
	offer_argument(matches, names, option);
	matches->prefix = "";
	free(option);
	free(prefix);
}

struct option_search {
	const char *name;
	bool takes_argument;
};

static void compare_option(const struct ri_option_words *option, void *data)
{
	struct option_search *search = data;

	if (option->name && option->is_of_report && !strcmp(option->name, search->name))
		search->takes_argument = option->argument != NULL;
}

/* Whether `word` is an option whose argument is the next word. */
static bool wants_argument(const char *word)
{
	struct option_search search = { .name = word + 2 };

	if (strncmp(word, "--", 2))
		return false;
	ri_options_each(compare_option, &search);
	return search.takes_argument;
}

static void offer_words(struct matches *matches, const struct ri_completion_names *names,
			const char *command)
{
	if (!strcmp(command, "help")) {
		offer_commands(matches);
		offer_codes(matches);
		offer(matches, "codes");
	} else if (!strcmp(command, "types") || !strcmp(command, "objects")) {
		offer_list(matches, names->types);
	} else if (!strcmp(command, "group")) {
		offer_list(matches, names->groups);
	}
}

char **ri_completion_find(const struct ri_completion_names *names, const char *before,
			  const char *word)
{
	struct matches matches = { .word = word, .prefix = "" };
	struct ri_error *error;
	char **words = NULL;
	int count = 0;

	error = ri_words_split(before, &count, &words);
	if (error) {
		ri_error_destroy(error); /* an open quote: nothing to offer */
	} else if (!count) {
		offer_commands(&matches);
		offer(&matches, "quit");
	} else if (count > 1 && wants_argument(words[count - 1])) {
		offer_argument(&matches, names, words[count - 1] + 2);
	} else if (word[0] == '-') {
		offer_options(&matches, names);
	} else {
		offer_words(&matches, names, words[0]);
	}
	ri_words_destroy(words);
	*ri_push(&matches.found) = NULL;
	return matches.found.items;
}
