/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "Did you mean ...?": of the candidates offered one by one, the one that is
 * least edits away from what was written.
 */
#ifndef RI_PROFILE_SUGGEST_H
#define RI_PROFILE_SUGGEST_H

#include <stddef.h>

struct ri_suggestion {
	const char *wanted;      /* what was written; valid as long as this is used */
	const char *best;        /* the candidate so far (the caller's string), or null */
	size_t best_edits;
	size_t offered;          /* candidates looked at; after RI_SUGGEST_MAX no more are */
};

#define RI_SUGGEST_MAX 100000

void ri_suggestion_init(struct ri_suggestion *suggestion, const char *wanted);

/* Offers a candidate; null is ignored.  Bounded work: names of more than 63
 * bytes and those whose length alone is too different are not compared. */
void ri_suggestion_offer(struct ri_suggestion *suggestion, const char *candidate);

/* A new string: "; did you mean 'BEST'?", or "" where nothing is near. */
char *ri_suggestion_text(const struct ri_suggestion *suggestion);

#endif
