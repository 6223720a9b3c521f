/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitting a line into words, as a shell does, but expanding nothing. */
#ifndef RI_CLI_WORDS_H
#define RI_CLI_WORDS_H

#include "base/error.h"

/* Splits at blanks; single and double quotes keep blanks, a backslash keeps the
 * next character.  A new null-terminated array, owned by the caller, freed with
 * ri_words_destroy(); RI_ERROR_USAGE for a quote without its end. */
struct ri_error *ri_words_split(const char *line, int *ret_count, char ***ret);
void ri_words_destroy(char **words);

#endif
