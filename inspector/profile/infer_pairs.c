/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that come in pairs on one struct: conn_get and conn_put.
 *
 * Two functions that take the struct are a pair when removing one verb from each
 * leaves the same rest.  A verb is a word of the name, or the end of a word
 * behind one or two letters (iget, iput).  Kept per struct and rest is the set of
 * verbs seen, so the work is linear in the functions times the words of a name.
 *
 * A pair makes no member a count: it speaks for one whose name does already.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/infer_private.h"

#define ENTRIES_MAX (1u << 20)

static const char *const verbs[] = {
	"ref", "unref", "deref", "incref", "decref", "addref", "delref", "get", "put", "hold",
	"release", "retain", "attach", "detach", "grab", "drop", "acquire", "use", "unuse",
	"incr", "decr", "inc", "dec", "copy", "new", "free", "open", "close", "take", "reference",
	"unreference", "unhold", "clone", "removeref", "dropref",
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static const struct {
	const char *get, *put;
	int weight;
} pairs_table[] = {
	{ "ref", "unref", 4 },       { "ref", "deref", 4 },    { "incref", "decref", 4 },
	{ "addref", "delref", 4 },   { "addref", "release", 4 }, { "addref", "removeref", 4 },
	{ "addref", "dropref", 4 },  { "addref", "unref", 4 },
	{ "reference", "unreference", 4 }, { "get", "put", 4 }, { "hold", "release", 4 },
	{ "hold", "unhold", 4 },     { "hold", "put", 4 },     { "retain", "release", 4 },
	{ "attach", "detach", 4 },   { "grab", "drop", 4 },    { "ref", "release", 4 },
	{ "get", "release", 3 },     { "take", "drop", 3 },    { "take", "put", 3 },
	{ "get", "drop", 3 },        { "acquire", "release", 3 }, { "use", "unuse", 3 },
	{ "incr", "decr", 3 },       { "inc", "dec", 3 },      { "copy", "free", 1 },
	{ "clone", "free", 1 },      { "get", "free", 1 },     { "new", "free", 1 },
	{ "open", "close", 0 },
};
#define PAIR_COUNT (sizeof(pairs_table) / sizeof(pairs_table[0]))

struct entry {
	uint64_t key;            /* hash of struct and rest; 0: free */
	uint32_t owner;          /* index of the struct */
	const char *functions[VERB_COUNT]; /* by verb, the first seen; null: none */
};

/* What the best pair on a struct is. */
struct best {
	int weight;
	const char *get, *put;
};

struct ri_pairs {
	const char *const *names;
	size_t name_count;
	struct best *best;       /* by name */
	struct entry **slots;    /* open addressing */
	size_t slot_count, entry_count;
};

static struct entry *find_slot(struct ri_pairs *pairs, uint64_t key, uint32_t owner)
{
	size_t i = ri_hash_u64(key) & (pairs->slot_count - 1);

	while (pairs->slots[i] && (pairs->slots[i]->key != key || pairs->slots[i]->owner != owner))
		i = (i + 1) & (pairs->slot_count - 1);
	if (!pairs->slots[i] && pairs->entry_count < ENTRIES_MAX) {
		pairs->slots[i] = ri_calloc(1, sizeof(**pairs->slots));
		pairs->slots[i]->key = key;
		pairs->slots[i]->owner = owner;
		pairs->entry_count++;
	}
	return pairs->slots[i];
}

static void grow(struct ri_pairs *pairs)
{
	struct entry **old = pairs->slots;
	size_t old_count = pairs->slot_count;

	if (2 * (pairs->entry_count + 1) <= pairs->slot_count)
		return;
	pairs->slot_count = old_count ? 2 * old_count : 256;
	pairs->slots = ri_calloc(pairs->slot_count, sizeof(*pairs->slots));
	for (size_t i = 0; i < old_count; i++) {
		size_t to;

		if (!old[i])
			continue;
		to = ri_hash_u64(old[i]->key) & (pairs->slot_count - 1);
		while (pairs->slots[to])
			to = (to + 1) & (pairs->slot_count - 1);
		pairs->slots[to] = old[i];
	}
	free(old);
}

/* The verb that `word` is or, behind one or two letters, ends with: its index and the length
 * of what stands before it; VERB_COUNT: none. */
static size_t find_verb(const char *word, size_t *ret_before)
{
	size_t length = strlen(word);

	for (size_t before = 0; before <= 2 && before < length; before++)
		for (size_t v = 0; v < VERB_COUNT; v++)
			if (!strcmp(word + before, verbs[v])) {
				*ret_before = before;
				return v;
			}
	return VERB_COUNT;
}

/* Words that make one verb: "add" "ref". */
static bool is_fused(const char *first, const char *second)
{
	static const char *const firsts[] = { "add", "del", "remove", "drop", "inc", "dec", NULL };

	if (strcmp(second, "ref") != 0 && strcmp(second, "reference") != 0)
		return false;
	for (size_t i = 0; firsts[i]; i++)
		if (!strcmp(first, firsts[i]))
			return true;
	return false;
}

static void note(struct ri_pairs *pairs, uint32_t owner, const char *rest, size_t verb,
		 const char *function)
{
	struct entry *entry;

	grow(pairs);
	entry = find_slot(pairs, ri_hash_bytes(rest, strlen(rest)) | 1, owner);
	if (entry && !entry->functions[verb])
		entry->functions[verb] = function;
}

/* The words but those in [skip, skip + skipped), `before` letters of the first of these kept. */
static void join_rest(const struct ri_tokens *tokens, size_t skip, size_t skipped, size_t before,
		      char *rest)
{
	char *to = rest;

	for (size_t i = 0; i < tokens->count; i++) {
		if (i < skip || i >= skip + skipped) {
			to = stpcpy(to, tokens->items[i]);
			*to++ = '_';
		} else if (i == skip && before) {
			memcpy(to, tokens->items[i], before);
			to += before;
			*to++ = '_';
		}
	}
	*to = '\0';
}

static void take_function(struct ri_pairs *pairs, uint32_t owner, const char *function)
{
	char rest[RI_TOKEN_TEXT_BYTES + 2 * RI_TOKENS_MAX];
	struct ri_tokens tokens;
	size_t before, verb;

	ri_tokens_split(function, &tokens);
	for (size_t i = 0; i < tokens.count; i++) {
		if (i + 1 < tokens.count && is_fused(tokens.items[i], tokens.items[i + 1])) {
			char fused[32];

			strcpy(stpcpy(fused, tokens.items[i]), "ref");
			verb = find_verb(fused, &before);
			join_rest(&tokens, i, 2, 0, rest);
			if (verb < VERB_COUNT)
				note(pairs, owner, rest, verb, function);
			continue;
		}
		verb = find_verb(tokens.items[i], &before);
		if (verb == VERB_COUNT)
			continue;
		join_rest(&tokens, i, 1, before, rest);
		note(pairs, owner, rest, verb, function);
	}
}

static size_t verb_index(const char *verb)
{
	size_t before;

	return find_verb(verb, &before);
}

static void offer_pair(struct best *best, int weight, const char *get, const char *put)
{
	/* of equal ones the first by name: the order of slots is no order */
	if (!get || !put || weight < best->weight ||
	    (best->get && weight == best->weight && strcmp(get, best->get) >= 0))
		return;
	*best = (struct best){ weight, get, put };
}

static void choose_best(struct ri_pairs *pairs)
{
	size_t gets[PAIR_COUNT], puts[PAIR_COUNT];

	for (size_t p = 0; p < PAIR_COUNT; p++) {
		gets[p] = verb_index(pairs_table[p].get);
		puts[p] = verb_index(pairs_table[p].put);
	}
	for (size_t i = 0; i < pairs->slot_count; i++) {
		const struct entry *entry = pairs->slots[i];

		for (size_t p = 0; entry && p < PAIR_COUNT; p++)
			offer_pair(&pairs->best[entry->owner], pairs_table[p].weight,
				   entry->functions[gets[p]], entry->functions[puts[p]]);
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool visit_function(const struct ri_function *function, void *data)
{
	struct ri_pairs *pairs = data;

	for (size_t i = 0; i < RI_FUNCTION_PARAMETERS; i++) {
		const char *const *found =
			function->pointees[i]
				? bsearch(&function->pointees[i], pairs->names, pairs->name_count,
					  sizeof(*pairs->names), compare_names)
				: NULL;

		if (found)
			take_function(pairs, (uint32_t)(found - pairs->names), function->name);
		if (found && i + 1 < RI_FUNCTION_PARAMETERS && function->pointees[i + 1] &&
		    !strcmp(function->pointees[i + 1], *found))
			break; /* both are the struct: once is enough */
	}
	return true;
}

static void free_entries(struct ri_pairs *pairs)
{
	for (size_t i = 0; i < pairs->slot_count; i++)
		free(pairs->slots[i]);
	free(pairs->slots);
	pairs->slots = NULL;
	pairs->slot_count = 0;
}

struct ri_pairs *ri_pairs_create(struct ri_types *types, const struct ri_module *const *modules,
				 size_t module_count, const char *const *names, size_t count)
{
	struct ri_pairs *pairs = ri_calloc(1, sizeof(*pairs));

	pairs->names = names;
	pairs->name_count = count;
	pairs->best = ri_calloc(count, sizeof(*pairs->best));
	for (size_t i = 0; count && i < module_count; i++)
		ri_types_each_function(types, modules[i], visit_function, pairs);
	choose_best(pairs);
	free_entries(pairs);
	return pairs;
}

void ri_pairs_destroy(struct ri_pairs *pairs)
{
	if (!pairs)
		return;
	free_entries(pairs);
	free(pairs->best);
	free(pairs);
}

int ri_pairs_find(const struct ri_pairs *pairs, const char *name, const char **ret_get,
		  const char **ret_put)
{
	const char *const *found = bsearch(&name, pairs->names, pairs->name_count,
					   sizeof(*pairs->names), compare_names);
	const struct best *best = found ? &pairs->best[found - pairs->names] : NULL;

	*ret_get = best ? best->get : NULL;
	*ret_put = best ? best->put : NULL;
	return best ? best->weight : 0;
}

int ri_pairs_rate(const char *const *functions, size_t count, const char **ret_get,
		  const char **ret_put)
{
	struct best best = { 0 };
	struct ri_pairs pairs = { .best = &best };

	for (size_t i = 0; i < count; i++)
		take_function(&pairs, 0, functions[i]);
	choose_best(&pairs);
	free_entries(&pairs);
	*ret_get = best.get;
	*ret_put = best.put;
	return best.weight;
}
