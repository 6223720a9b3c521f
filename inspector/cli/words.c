/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitting a line into words: see words.h. */
#include "cli/words.h"

#include <stdlib.h>
#include <string.h>

#include <stdbool.h>

#include "base/memory.h"

/* Reads one word at *line into `out`; false where a quote does not end. */
static bool take_word(const char **line, char *out)
{
	const char *p = *line;
	char quote = 0;

	for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (quote && *p == quote)
			quote = 0;
		else if (!quote && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			*out++ = *++p;
		else
			*out++ = *p;
	}
	*out = '\0';
	*line = p;
	return !quote;
}

struct ri_error *ri_words_split(const char *line, int *ret_count, char ***ret)
{
	RI_VEC(char *) words = { 0 };
	bool is_closed = true;

	for (;;) {
		line += strspn(line, " \t\n");
		if (!*line || !is_closed)
			break;
		*ri_push(&words) = ri_malloc(strlen(line) + 1);
		is_closed = take_word(&line, words.items[words.count - 1]);
	}
	*ret_count = (int)words.count;
	*ri_push(&words) = NULL;
	if (!is_closed) {
		ri_words_destroy(words.items);
		return ri_error_create(RI_ERROR_USAGE, "a quote does not end");
	}
	*ret = words.items;
	return NULL;
}

void ri_words_destroy(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}
