/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a member's declaration says about its being a reference count, in points.
 * The tables are the knowledge; they were weighed on C, C++ and Rust programs
 * read in source.  Six points are accepted, three to five are possible.
 *
 * A name alone is nearly enough: half of all counts in plain C have no special
 * type.  A type alone is not, but for the few that mean nothing else.  What no
 * name tells ("times this message was repeated" called refcount) is for the
 * population to settle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/infer_private.h"

#define POINTS_SURE_TYPE     6
#define POINTS_TYPE_NAMED    6
#define POINTS_TYPE_NAMELESS 4
#define POINTS_ATOMIC        2

typedef const char *const word_list[];

static const char *const sure_types[] = {
	"refcount_t", "refcount_struct", "kref", "percpu_ref", "lockref", "grefcount",
	"gatomicrefcount", NULL,
};
static const char *const count_words[] = { "cnt", "count", "counter", "ct", "num", NULL };
static const char *const ref_words[] = { "ref", "refs", "reference", "references", NULL };
static const char *const ref_count_ends[] = {
	"refcnt", "refcount", "refcounter", "refct", "referencecount", "referencecounter", NULL,
};
static const char *const plural_refs[] = {
	"refs", "nref", "nrefs", "kref", "irefs", "erefs", "weakrefs", NULL,
};
static const char *const single_refs[] = { "ref", "treeref", "clntref", "dataref", NULL };
static const char *const use_words[] = {
	"users", "usage", "holders", "pins", "inuse", NULL,
};
static const char *const lone_words[] = { "count", "cnt", "rc", NULL };
static const char *const abbreviated_words[] = { "count", "cnt", "users", "active", NULL };
static const char *const value_words[] = {
	"count", "cnt", "counter", "n", "num", "val", "value", "refs", NULL,
};
static const char *const rust_inners[] = { "ArcInner", "RcInner", "RcBox", NULL };

/* Words that only look like "ref". */
static const char *const lookalikes[] = {
	"xref", "href", "prefer", "reflect", "refresh", "refine", "prefix", "referer", "referrer",
	"referral", NULL,
};
static const char *const measures[] = {
	"max", "min", "total", "stat", "stats", "hits", "rate", "size", "len", "length", "id",
	"idx", "index", "offset", "off", "time", "flag", "flags", "mask", "bytes", "type", "memory", "mem", NULL,
};
static const char *const actions[] = {
	"show", "dump", "snapshot", "cached", "call", "return", "toggle", NULL,
};

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Whether "ref" at `at` in `text` is the end of href, xref or pref. */
static bool is_lookalike(const char *text, const char *at)
{
	return at > text && strchr("hxp", at[-1]);
}

static const char *find_end(const char *token, const char *const *ends)
{
	for (; *ends; ends++)
		if (ends_with(token, *ends))
			return token + strlen(token) - strlen(*ends);
	return NULL;
}

static void add(struct ri_member_score *score, int points, const char *text)
{
	struct ri_inferred_reason *reason = ri_push(&score->reasons);

	reason->points = points;
	reason->text = text;
	score->points += points;
}

/* "refcount", "ob_refcnt", "ref_count", "RefCounter", "reference_count", "ref_num". */
static bool is_ref_count(const struct ri_tokens *tokens)
{
	const char *last = ri_tokens_last(tokens), *end = find_end(last, ref_count_ends);

	if (end && !is_lookalike(last, end))
		return true;
	if (!is_one_of(last, count_words))
		return false;
	for (size_t i = 0; i + 1 < tokens->count; i++)
		if (is_one_of(tokens->items[i], ref_words))
			return true;
	return false;
}

/* "i_count" in struct inode, "mm_users" in struct mm_struct, "cn_count" in cache_node. */
static bool abbreviates(const struct ri_tokens *tokens, const char *struct_name)
{
	const char *prefix = tokens->items[0];
	size_t length = tokens->count == 2 ? strlen(prefix) : 0, i;
	struct ri_tokens owner;

	if (length < 1 || length > 2 || !is_one_of(tokens->items[1], abbreviated_words))
		return false;
	ri_tokens_split(struct_name, &owner);
	if (owner.count && !strncmp(owner.items[0], prefix, length))
		return true;
	for (i = 0; i < length; i++)
		if (i >= owner.count || owner.items[i][0] != prefix[i])
			return false;
	return true;
}

/* "ref", "conn_ref", "ConnRef"; not "xref". */
static bool is_named_ref(const char *struct_name)
{
	struct ri_tokens tokens;
	const char *last;

	ri_tokens_split(struct_name, &tokens);
	last = ri_tokens_last(&tokens);
	return ends_with(last, "ref") && !is_lookalike(last, last + strlen(last) - 3);
}

/* A type's name that says "reference count": refcnt_t, my_ref_count, AtomicRefCount, obj_ref_t. */
static bool is_count_type(const char *name)
{
	static const char *const parts[] = { "refcnt", "refcount", "ref_cnt", "ref_count", NULL };
	char lower[RI_TOKEN_TEXT_BYTES];
	size_t length = strlen(name);
	const char *found;

	if (length >= sizeof(lower))
		return false;
	for (size_t i = 0; i <= length; i++)
		lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	for (size_t i = 0; parts[i]; i++)
		if ((found = strstr(lower, parts[i])) && !is_lookalike(lower, found))
			return true;
	return ends_with(lower, "ref_t") && !is_lookalike(lower, lower + length - 5);
}

static bool is_rust_inner(const char *struct_name)
{
	const char *name = ri_unqualified_name(struct_name);

	for (size_t i = 0; rust_inners[i]; i++) {
		size_t length = strlen(rust_inners[i]);

		if (!strncmp(name, rust_inners[i], length) && (!name[length] || name[length] == '<'))
			return true;
	}
	return false;
}

static int rate_words(const struct ri_member_facts *facts, const struct ri_tokens *tokens,
		      const char **ret_why)
{
	const char *last = ri_tokens_last(tokens), *owner = ri_unqualified_name(facts->struct_name);

	*ret_why = "the name means a reference count";
	if (is_ref_count(tokens))
		return 6;
	*ret_why = "a value in a struct named for a reference count";
	if (is_one_of(last, value_words) && is_count_type(owner))
		return 6;
	*ret_why = "the name means references";
	if (tokens->count == 1 && !strcmp(last, "references"))
		return 6;
	if (is_one_of(last, plural_refs))
		return 5;
	*ret_why = "a count in a struct named for a reference";
	if (is_one_of(last, lone_words) && is_named_ref(owner))
		return 5;
	*ret_why = "the name means a reference";
	if (is_one_of(last, single_refs) || !strcmp(last, "references"))
		return 4;
	*ret_why = "the name means a count of uses";
	if (!strcmp(last, "usecount") || !strcmp(last, "usecnt") ||
	    (tokens->count > 1 && !strcmp(tokens->items[tokens->count - 2], "use") &&
	     is_one_of(last, count_words)))
		return 4;
	*ret_why = "the name is a count's with the struct's letters in front";
	if (abbreviates(tokens, owner))
		return 3;
	*ret_why = "the name means a weak count";
	if (ri_tokens_have(tokens, "weak") && is_one_of(last, count_words))
		return 1;
	*ret_why = "the name means users";
	if (is_one_of(last, use_words))
		return 2;
	*ret_why = "the name means a count";
	return tokens->count == 1 && is_one_of(last, lone_words) ? 1 : 0;
}

static void rate_name(const struct ri_member_facts *facts, const struct ri_tokens *tokens,
		      struct ri_member_score *score)
{
	const char *why;
	int points = rate_words(facts, tokens, &why);

	if (tokens->count == 1 &&
	    (!strcmp(tokens->items[0], "strong") || !strcmp(tokens->items[0], "weak"))) {
		points = 3;
		why = "the name means strong or weak references";
		if (is_rust_inner(facts->struct_name)) {
			add(score, 6, "the struct is what Rust's Arc or Rc points at");
			score->name_points += 6;
		}
	}
	if (!points)
		return;
	score->name_points += points;
	add(score, points, why);
}

static void rate_type(const struct ri_member_facts *facts, struct ri_strings *strings,
		      struct ri_member_score *score)
{
	const char *atomic = facts->is_atomic ? "_Atomic" : NULL;

	for (size_t i = 0; i < facts->chain_count; i++) {
		const char *name = ri_unqualified_name(facts->chain[i]);

		if (is_one_of(name, sure_types)) {
			score->is_by_type = true;
			add(score, POINTS_SURE_TYPE,
			    ri_strings_format(strings, "its type is %s, which counts references",
					      name));
			return;
		}
	}
	for (size_t i = 0; i < facts->chain_count; i++)
		if (is_count_type(ri_unqualified_name(facts->chain[i]))) {
			add(score, score->name_points ? POINTS_TYPE_NAMED : POINTS_TYPE_NAMELESS,
			    ri_strings_format(strings, "its type %s is named for a reference count",
					      facts->chain[i]));
			return;
		}
	for (size_t i = 0; i < facts->chain_count && !atomic; i++)
		if (strcasestr(facts->chain[i], "atomic"))
			atomic = facts->chain[i];
	if (atomic && score->name_points)
		add(score, POINTS_ATOMIC,
		    ri_strings_format(strings, "it is atomic (%s)", atomic));
}

static bool has_lookalike(const struct ri_tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++) {
		if (!strcmp(tokens->items[i], "pref") || !strcmp(tokens->items[i], "prefs"))
			return true;
		for (size_t k = 0; lookalikes[k]; k++)
			if (!strncmp(tokens->items[i], lookalikes[k], strlen(lookalikes[k])))
				return true;
	}
	return false;
}

static const char *find_word(const struct ri_tokens *tokens, const char *const *list)
{
	for (size_t i = 0; i < tokens->count; i++)
		if (is_one_of(tokens->items[i], list))
			return tokens->items[i];
	return NULL;
}

static bool is_boolean(const struct ri_member_facts *facts)
{
	if (facts->is_bool)
		return true;
	for (size_t i = 0; i < facts->chain_count; i++)
		if (strcasestr(facts->chain[i], "bool"))
			return true;
	return false;
}

static void rate_against(const struct ri_member_facts *facts, const struct ri_tokens *tokens,
			 struct ri_strings *strings, struct ri_member_score *score)
{
	const char *word;

	if (is_boolean(facts) || facts->is_enum)
		add(score, -6, facts->is_enum ? "it is an enumeration" : "it is true or false");
	if (facts->bit_size && facts->bit_size < 4)
		add(score, -6, "a bit-field of under 4 bits");
	if (has_lookalike(tokens))
		add(score, -5, "a word that only looks like ref");
	word = find_word(tokens, measures);
	if (word)
		add(score, -4, ri_strings_format(strings, "the word %s", word));
	if (facts->is_mirrored)
		add(score, -4, "the struct is the kernel's interface: values are copies");
	if (facts->size_bytes == 1 && !facts->bit_size)
		add(score, -3, "8 bits");
	word = find_word(tokens, actions);
	if (word)
		add(score, -2, ri_strings_format(strings, "the word %s", word));
}

void ri_member_rate(const struct ri_member_facts *facts, struct ri_strings *strings,
		    struct ri_member_score *ret)
{
	struct ri_tokens tokens;

	*ret = (struct ri_member_score){ 0 };
	ri_tokens_split(facts->name, &tokens);
	rate_name(facts, &tokens, ret);
	rate_type(facts, strings, ret);
	if (ret->points > 0)
		rate_against(facts, &tokens, strings, ret);
}

bool ri_name_is_secondary(const char *name)
{
	struct ri_tokens tokens;
	const char *last;

	ri_tokens_split(name, &tokens);
	last = ri_tokens_last(&tokens);
	return ri_tokens_have(&tokens, "weak") || ri_tokens_have(&tokens, "weakref") ||
	       ri_tokens_have(&tokens, "internal") || ri_tokens_have(&tokens, "intern") ||
	       !strcmp(last, "irefs") || !strcmp(last, "weakrefs") || !strcmp(last, "iref");
}

bool ri_name_is_of_header(const char *name)
{
	const char *own = ri_unqualified_name(name);

	return is_named_ref(own) || is_count_type(own) || strcasestr(own, "kobj") ||
	       strcasestr(own, "refobj") || is_one_of(own, sure_types);
}
