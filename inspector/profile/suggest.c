/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nearest name by edit distance: see suggest.h.  A swap of two neighbouring
 * letters is one edit (the restricted Damerau distance), since that is the
 * commonest slip.  A candidate is near when edits are at most one more than a
 * third of the letters written, and fewer than the candidate's own letters; of
 * equally near ones the first offered is kept.
 */
#include "profile/suggest.h"

#include <string.h>

#include "base/memory.h"

#define MAX_LENGTH 63

void ri_suggestion_init(struct ri_suggestion *suggestion, const char *wanted)
{
	size_t length = strlen(wanted);

	suggestion->wanted = wanted;
	suggestion->best = NULL;
	suggestion->best_edits = length <= 2 ? 2 : length / 3 + 2; /* exclusive */
	suggestion->offered = 0;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

static size_t count_edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][MAX_LENGTH + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				      above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[b_length];
}

void ri_suggestion_offer(struct ri_suggestion *suggestion, const char *candidate)
{
	size_t wanted_length = strlen(suggestion->wanted), length, edits;

	if (!candidate || suggestion->offered >= RI_SUGGEST_MAX)
		return;
	suggestion->offered++;
	length = strnlen(candidate, MAX_LENGTH + 1);
	if (wanted_length > MAX_LENGTH || length > MAX_LENGTH ||
	    length + suggestion->best_edits <= wanted_length ||
	    wanted_length + suggestion->best_edits <= length)
		return;
	edits = count_edits(suggestion->wanted, wanted_length, candidate, length);
	if (edits < suggestion->best_edits && edits < length) {
		suggestion->best_edits = edits;
		suggestion->best = candidate;
	}
}

char *ri_suggestion_text(const struct ri_suggestion *suggestion)
{
	if (!suggestion->best)
		return ri_strdup("");
	return ri_format("; did you mean '%s'?", suggestion->best);
}
