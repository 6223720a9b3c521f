/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a word at the prompt may become: from the tables of commands, checks and
 * options, and from the target's names.  Knows nothing of readline. */
#ifndef RI_CLI_COMPLETION_H
#define RI_CLI_COMPLETION_H

/* Names of the target, null-terminated lists; a null list is empty. */
struct ri_completion_names {
	char *const *types, *const *groups;
};

/*
 * The words that `word` may be completed to where `before` stands on the line in
 * front of it: a new null-terminated array of new strings, in the order of the
 * tables, owned by the caller.  One that ends in '=' wants more behind it.
 */
char **ri_completion_find(const struct ri_completion_names *names, const char *before,
			  const char *word);

#endif
