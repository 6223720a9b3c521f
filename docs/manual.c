/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the manual page, refinspect.1, from the tables of commands, options and
 * checks: what they say is said here as well, and nothing twice.  Run when the
 * program is built; the text that no table has stands below.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/words.h"

/* Text as troff reads it back: a line never begins with a request, and dashes
 * are those that are typed. */
static void put_text(const char *text)
{
	bool is_at_start = true;

	for (; *text; text++) {
		if (is_at_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\n')
			fputs("\n.IP\n", stdout); /* a paragraph of the same entry */
		else
			fputc(*text, stdout);
		is_at_start = *text == '\n';
	}
	fputc('\n', stdout);
}

/* `prefix` and `text`, bold. */
static void put_bold(const char *prefix, const char *text)
{
	fputs("\\fB", stdout);
	for (; *prefix; prefix++)
		fputs(*prefix == '-' ? "\\-" : (char[]){ *prefix, '\0' }, stdout);
	for (; *text; text++)
		fputs(*text == '-' ? "\\-" : (char[]){ *text, '\0' }, stdout);
	fputs("\\fR", stdout);
}

static void put_option(const struct ri_option_words *option, void *data)
{
	(void)data;
	if (option->heading) {
		printf(".SS %.*s\n", (int)strcspn(option->heading, ":"), option->heading);
		return;
	}
	puts(".TP");
	if (option->letter) {
		put_bold("-", (char[]){ option->letter, '\0' });
		printf("%s%s%s, ", option->argument ? " \\fI" : "",
		       option->argument ? option->argument : "", option->argument ? "\\fR" : "");
	}
	put_bold("--", option->name);
	if (option->argument)
		printf("=\\fI%s\\fR", option->argument);
	fputc('\n', stdout);
	put_text(option->summary);
}

static void put_options(void)
{
	puts(".SH OPTIONS\n"
	     "Options that choose the target or steer the analysis stand before the command; those\n"
	     "under \\(lqReport\\(rq and \\(lqFilters\\(rq may stand behind it too.");
	ri_options_each(put_option, NULL);
	puts(".SS Help");
	puts(".TP\n\\fB\\-?\\fR, \\fB\\-\\-help\\fR\nlist the options and the commands\n"
	     ".TP\n\\fB\\-\\-usage\\fR\nlist the options briefly\n"
	     ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nprint the version");
}

static void put_commands(void)
{
	puts(".SH COMMANDS\n"
	     "The same on the command line, at the prompt and in gdb.");
	for (size_t i = 0; ri_commands[i]; i++) {
		const struct ri_command *command = ri_commands[i];

		puts(".TP");
		put_bold("", command->name);
		if (*command->arguments)
			printf(" \\fI%s\\fR", command->arguments);
		fputc('\n', stdout);
		put_text(command->summary);
		puts(".IP");
		put_text(command->help);
	}
}

static void put_findings(void)
{
	puts(".SH FINDINGS\n"
	     "Each finding has a code, which is never renamed, and a severity.");
	for (size_t i = 0; ri_checks[i]; i++) {
		puts(".TP");
		put_bold("", ri_checks[i]->code);
		printf(" (%s)\n", ri_words_severity(ri_checks[i]->severity));
		put_text(ri_checks[i]->summary);
		puts(".IP");
		put_text(ri_checks[i]->help);
	}
}

int main(void)
{
	puts(".\\\" Made from the tables of the program: see docs/manual.c.\n"
	     ".TH REFINSPECT 1 \"\" \"refinspect " RI_VERSION "\" \"User Commands\"\n"
	     ".SH NAME\n"
	     "refinspect \\- audit reference counts and intrusive lists in a core file or a live "
	     "process\n"
	     ".SH SYNOPSIS\n"
	     ".B refinspect\n[\\fIOPTION\\fR...] \\fICORE\\fR [\\fICOMMAND\\fR [\\fIARGUMENT\\fR...]]\n"
	     ".br\n"
	     ".B refinspect\n[\\fIOPTION\\fR...] \\fB\\-p\\fR \\fIPID\\fR [\\fICOMMAND\\fR "
	     "[\\fIARGUMENT\\fR...]]\n"
	     ".br\n"
	     ".B refinspect \\-i\n[\\fIOPTION\\fR...] \\fICORE\\fR\n"
	     ".SH DESCRIPTION\n"
	     "Reads the memory image of a program and its debug information, and tells whether every\n"
	     "counted object's header is intact, whether every count adds up with the references that\n"
	     "exist in memory, whether every intrusive list is sound, what leaked and what it hangs on,\n"
	     "and whether all of this could be checked. It runs no code in the target and changes\n"
	     "nothing in it; a live process stands still only while its memory is copied.");
	put_options();
	put_commands();
	puts(".SH PROMPT\n"
	     "With \\fB\\-i\\fR the target is analysed once and commands are read from the terminal, or\n"
	     "from a file or pipe, a line each, until \\fBquit\\fR or the end of input. TAB completes\n"
	     "commands, codes, counted types, groups and options by their place. Ctrl\\-C ends the\n"
	     "running command or clears the line that is being typed. The exit status is the last\n"
	     "command's, 130 where it was interrupted.\n"
	     ".SH EXIT STATUS\n"
	     ".TP\n.B 0\nclean and complete\n"
	     ".TP\n.B 1\nfindings\n"
	     ".TP\n.B 2\nwrong usage or unusable input\n"
	     ".TP\n.B 3\nnothing found, but something that matters could not be checked");
	put_findings();
	puts(".SH ENVIRONMENT\n"
	     ".TP\n.B NO_COLOR\nif not empty, no colours on a terminal\n"
	     ".TP\n.B XDG_STATE_HOME\nwhere the prompt's history is kept; \\fI~/.local/state\\fR "
	     "otherwise\n"
	     ".SH FILES\n"
	     ".TP\n.I ~/.local/state/refinspect_history\nthe prompt's history\n"
	     ".TP\n.I /usr/lib/debug\nseparate debug files\n"
	     ".SH SEE ALSO\n"
	     ".BR gdb (1),\n.BR core (5),\n.BR debuginfod\\-find (1)");
	return fflush(stdout) != 0 || ferror(stdout);
}
