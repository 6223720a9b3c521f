/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `help`: the commands, one command, the codes, one code.  All of its text
 * comes from the tables of commands and checks. */
#include <string.h>

#include "cli/commands.h"
#include "report/words.h"

#define TEXT_WIDTH 80

/* Fills lines of at most TEXT_WIDTH columns, indented by two. */
static void print_paragraphs(FILE *out, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " \n");

		if (column && column + 1 + length > TEXT_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (length) {
			column += (size_t)fprintf(out, "%s%.*s", column ? " " : "  ", (int)length,
						  text);
		}
		text += length;
		if (*text == '\n') {
			fputs("\n\n", out);
			column = 0;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

static void print_commands(FILE *out)
{
	for (size_t i = 0; ri_commands[i]; i++)
		fprintf(out, "%-12s %-12s %s\n", ri_commands[i]->name, ri_commands[i]->arguments,
			ri_commands[i]->summary);
	fputs("\nhelp COMMAND explains one; help codes lists the codes of findings.\n", out);
}

static void print_codes(FILE *out)
{
	for (size_t i = 0; ri_checks[i]; i++)
		fprintf(out, "%-16s %-8s %s\n", ri_checks[i]->code,
			ri_words_severity(ri_checks[i]->severity), ri_checks[i]->summary);
	fputs("\nhelp CODE explains one.\n", out);
}

static struct ri_error *run_help(struct ri_command_context *context, int word_count, char **words,
				 int *ret_status)
{
	const struct ri_command *command;
	const struct ri_check *check;

	(void)ret_status;
	if (!word_count) {
		print_commands(context->out);
		return NULL;
	}
	if (!strcmp(words[0], "codes")) {
		print_codes(context->out);
		return NULL;
	}
	command = ri_command_find(words[0]);
	if (command) {
		fprintf(context->out, "%s%s%s: %s\n\n", command->name,
			*command->arguments ? " " : "", command->arguments, command->summary);
		print_paragraphs(context->out, command->help);
		return NULL;
	}
	check = ri_check_find(words[0]);
	if (check) {
		fprintf(context->out, "%s: %s\n\n", check->code, check->summary);
		print_paragraphs(context->out, check->help);
		return NULL;
	}
	return ri_error_create(RI_ERROR_USAGE, "there is no command and no code '%s'", words[0]);
}

const struct ri_command ri_command_help = {
	.name = "help",
	.arguments = "[COMMAND | CODE | codes]",
	.summary = "explain the commands and the codes of findings",
	.help = "Without an argument, lists the commands. With a command or the code of a "
		"finding, explains it. 'help codes' lists the codes.",
	.is_text_only = true,
	.max_words = 1,
	.run = run_help,
};
