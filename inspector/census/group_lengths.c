/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counter beside a head: the integer of the same struct that equals the walked lengths.
 * Lengths of 0 and 1 alone equal many things, so several heads with different ones are asked
 * for, or one long chain and a name that says what the member is.  Where a name says so and most
 * lengths fit, the few others may be damage.
 */
#include <string.h>

#include "census/group_votes_private.h"
#include "profile/infer_private.h"

#define DISTINCT_MIN   2
#define HEADS_MIN      3
#define LONG_CHAIN     8
#define MANY_HEADS     10 /* of so many, one in ten may be off */
#define DEPTH_MAX      3
#define PATH_MAX_BYTES 256

struct length_search {
	struct ri_votes *votes;
	const struct ri_head_place *place;
	char path[PATH_MAX_BYTES];
	const char *best;
	unsigned best_points;
	uint64_t best_distance;
};

/* How well a member's values are the lengths. */
struct agreement {
	uint64_t heads, agreeing, distinct, longest;
};

static struct agreement compare(struct length_search *s, uint64_t offset, unsigned size_bytes)
{
	struct agreement a = { 0 };
	uint64_t seen[HEADS_MIN];

	for (size_t i = 0; i < s->place->heads.count; i++) {
		const struct ri_place_head *head = &s->place->heads.items[i];
		uint64_t value;
		bool is_new = a.distinct < HEADS_MIN;

		if (head->length == UINT64_MAX ||
		    !ri_reader_uint(&s->votes->reader, head->struct_addr + offset, size_bytes, &value))
			continue;
		a.heads++;
		if (value != head->length)
			continue;
		a.agreeing++;
		if (value > a.longest)
			a.longest = value;
		for (size_t k = 0; k < a.distinct && is_new; k++)
			is_new = seen[k] != value;
		if (is_new)
			seen[a.distinct++] = value;
	}
	return a;
}

/* What was ever added equals the length until something is taken out. */
static bool is_called_total(const char *name)
{
	static const char *const words[] = { "total", "max", "peak", "ever", "seen", "created", "added",
					     "high", "capacity", "alloc", "allocated", "limit" };
	struct ri_tokens tokens;

	ri_tokens_split(name, &tokens);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ri_tokens_have(&tokens, words[i]))
			return true;
	return false;
}

/* Whether the names have a word in common: "lru" and "lru_len". */
static bool share_word(const char *a, const char *b)
{
	struct ri_tokens x, y;

	ri_tokens_split(a, &x);
	ri_tokens_split(b, &y);
	for (size_t i = 0; i < x.count; i++)
		if (strlen(x.items[i]) > 1 && ri_tokens_have(&y, x.items[i]))
			return true;
	return false;
}

static bool is_called_length(const char *name)
{
	static const char *const words[] = { "count", "cnt", "nr", "num", "len", "length", "size", "n",
					     "items", "entries", "members", "nelems",
					     "elements", "nitems", "depth" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (length >= n && !strcasecmp(name + length - n, words[i]))
			return true;
	}
	return !strncmp(name, "nr_", 3) || !strncmp(name, "num", 3) || !strncmp(name, "n_", 2);
}

static bool is_accepted(const struct agreement *a, bool is_named)
{
	uint64_t off = a->heads - a->agreeing;

	if (!off)
		return (a->heads >= HEADS_MIN && a->distinct >= DISTINCT_MIN) ||
		       (is_named && a->longest >= LONG_CHAIN);
	if (!is_named)
		return false;
	return off * 10 <= a->heads && a->heads >= MANY_HEADS && a->distinct >= HEADS_MIN;
}

static void try_member(struct length_search *s, const struct ri_member *member, uint64_t offset)
{
	const struct ri_type *type = ri_type_strip(s->votes->input->types, member->type);
	uint64_t distance = offset > s->place->offset_bytes ? offset - s->place->offset_bytes
							     : s->place->offset_bytes - offset;
	struct agreement agreement;
	bool is_named;
	unsigned points;

	if (type->kind != RI_TYPE_INT || type->is_bool || type->is_enum || member->bit_size ||
	    (type->size_bytes != 2 && type->size_bytes != 4 && type->size_bytes != 8))
		return;
	agreement = compare(s, offset, (unsigned)type->size_bytes);
	is_named = is_called_length(member->name) && !is_called_total(member->name);
	if (!is_accepted(&agreement, is_named))
		return;
	points = 1 + is_named + 2 * share_word(member->name, s->place->path);
	if (points < s->best_points || (points == s->best_points && distance >= s->best_distance))
		return;
	s->best = ri_strings_add(s->votes->strings, s->path);
	s->best_points = points;
	s->best_distance = distance;
}

static void search(struct length_search *s, const struct ri_type *type, uint64_t base,
		   unsigned depth)
{
	size_t length = strlen(s->path);

	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *inner = ri_type_strip(s->votes->input->types, member->type);
		const char *name = member->name ? member->name : "";
		uint64_t offset = base + member->offset_bits / 8;

		if (length + strlen(name) + 2 > sizeof(s->path))
			continue;
		strcpy(stpcpy(s->path + length, length && *name ? "." : ""), name);
		if (member->name)
			try_member(s, member, offset);
		if (inner->kind == RI_TYPE_STRUCT && depth < DEPTH_MAX)
			search(s, inner, offset, depth + 1);
		s->path[length] = '\0';
	}
}

const char *ri_place_length(struct ri_votes *votes, const struct ri_head_place *place)
{
	struct length_search s = { .votes = votes, .place = place };

	if (place->owner)
		search(&s, place->owner, 0, 0);
	return s.best;
}
