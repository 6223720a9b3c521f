/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Identifiers to words.  Knows snake case, camel case and the prefixes of
 * members; knows no word's meaning.
 */
#include <ctype.h>
#include <string.h>

#include "profile/infer_private.h"

static const char *skip_prefix(const char *name)
{
	if (!strncmp(name, "_M_", 3))
		return name + 3;
	if (!strncmp(name, "m_", 2) && name[2])
		return name + 2;
	return name;
}

/* Whether a new word begins at p[0], which follows `before`: "refCount", and the last
 * capital of "HTTPRef", which small letters follow. */
static bool is_hump(char before, const char *p)
{
	if (!isupper((unsigned char)p[0]))
		return false;
	if (islower((unsigned char)before) || isdigit((unsigned char)before))
		return true;
	return isupper((unsigned char)before) && islower((unsigned char)p[1]);
}

void ri_tokens_split(const char *name, struct ri_tokens *ret)
{
	size_t used = 0;
	bool is_inside = false;

	ret->count = 0;
	name = skip_prefix(name);
	for (const char *p = name; *p && used + 2 < sizeof(ret->text); p++) {
		bool is_word = isalnum((unsigned char)*p);

		if (is_inside && (!is_word || is_hump(p[-1], p))) {
			ret->text[used++] = '\0';
			is_inside = false;
		}
		if (!is_word)
			continue;
		if (!is_inside) {
			if (ret->count == RI_TOKENS_MAX)
				break;
			ret->items[ret->count++] = &ret->text[used];
			is_inside = true;
		}
		ret->text[used++] = (char)tolower((unsigned char)*p);
	}
	ret->text[used] = '\0';
}

bool ri_tokens_have(const struct ri_tokens *tokens, const char *word)
{
	for (size_t i = 0; i < tokens->count; i++)
		if (!strcmp(tokens->items[i], word))
			return true;
	return false;
}

const char *ri_tokens_last(const struct ri_tokens *tokens)
{
	return tokens->count ? tokens->items[tokens->count - 1] : "";
}
