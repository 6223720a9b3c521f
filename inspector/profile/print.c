/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile as YAML, by the schema's tables: the inverse of parse.c.  Only what
 * differs from an absent key is written; sections that hold much (types,
 * groups) a key a line, all others in one line.
 *
 * Rules of ownership are tried in order and the last match wins, so their order
 * is kept: as `owns`, `borrows`, `possible` while each kind is one run, else all
 * under `weights`.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "profile/schema.h"

struct output {
	char *text;
	size_t size_bytes, capacity;
};

static void put(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct output *out, const char *format, ...)
{
	va_list args;
	char *piece;
	size_t length;

	va_start(args, format);
	piece = ri_vformat(format, args);
	va_end(args);
	length = strlen(piece);
	out->text = ri_grow(out->text, &out->capacity, out->size_bytes + length + 1, 1);
	memcpy(out->text + out->size_bytes, piece, length + 1);
	out->size_bytes += length;
	free(piece);
}

static bool is_reserved(const char *text)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "null",
					     "y", "n" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

static bool is_plain(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
			return false;
	return !is_reserved(text);
}

/* Texts hold no control characters (the parser refuses them); those that a
 * caller put in by hand are escaped all the same. */
static void put_text(struct output *out, const char *text)
{
	if (is_plain(text)) {
		put(out, "%s", text);
		return;
	}
	put(out, "\"");
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			put(out, "\\%c", *p);
		else if ((unsigned char)*p < 0x20 || *p == 0x7f)
			put(out, "\\x%02x", (unsigned)(unsigned char)*p);
		else
			put(out, "%c", *p);
	}
	put(out, "\"");
}

static void put_u64(struct output *out, const struct ri_schema_key *key, uint64_t value)
{
	if (key->is_hex)
		put(out, "0x%" PRIx64, value);
	else
		put(out, "%" PRIu64, value);
}

static void put_weight(struct output *out, const struct ri_profile_weight *weight);

static void put_section(struct output *out, const struct ri_schema *schema, const void *base,
			unsigned indent);

/* One item of a list whose items are scalars. */
static void put_item(struct output *out, const struct ri_schema_key *key, const void *items,
		     size_t i)
{
	switch (key->kind) {
	case RI_SCHEMA_TEXTS:
		put_text(out, ((const struct ri_name *)items)[i].text);
		break;
	case RI_SCHEMA_U64S:
		put_u64(out, key, ((const uint64_t *)items)[i]);
		break;
	default:
		put(out, "%" PRId64, ((const int64_t *)items)[i]);
		break;
	}
}

static void put_list(struct output *out, const struct ri_schema_key *key, const void *member)
{
	struct ri_any_vec vec;

	memcpy(&vec, member, sizeof(vec));
	put(out, "[");
	for (size_t i = 0; i < vec.count; i++) {
		put(out, i ? ", " : "");
		put_item(out, key, vec.items, i);
	}
	put(out, "]");
}

static void put_indent(struct output *out, unsigned indent)
{
	put(out, "%*s", (int)indent, "");
}

static void put_sections(struct output *out, const struct ri_schema_key *key, const void *member,
			 unsigned indent)
{
	const struct ri_schema *schema = key->section;
	struct ri_any_vec vec;

	memcpy(&vec, member, sizeof(vec));
	for (size_t i = 0; i < vec.count; i++) {
		const char *item = (const char *)vec.items + i * schema->size_bytes;

		if (key->is_mine && !key->is_mine(item))
			continue;
		put(out, "\n");
		put_indent(out, indent);
		put(out, "- ");
		put_section(out, schema, item, indent + 2);
	}
}

/* The same inside a section of one line. */
static void put_sections_inline(struct output *out, const struct ri_schema_key *key,
				const void *member)
{
	struct ri_any_vec vec;
	bool is_first = true;

	memcpy(&vec, member, sizeof(vec));
	put(out, "[");
	for (size_t i = 0; i < vec.count; i++) {
		const char *item = (const char *)vec.items + i * key->section->size_bytes;

		if (key->is_mine && !key->is_mine(item))
			continue;
		put(out, is_first ? "" : ", ");
		put_section(out, key->section, item, 0);
		is_first = false;
	}
	put(out, "]");
}

static void put_value(struct output *out, const struct ri_schema_key *key, const void *base,
		      unsigned indent)
{
	const void *member = (const char *)base + key->offset;

	switch (key->kind) {
	case RI_SCHEMA_TEXT:
		put_text(out, ((const struct ri_name *)member)->text);
		break;
	case RI_SCHEMA_U64:
		put_u64(out, key, *(const uint64_t *)member);
		break;
	case RI_SCHEMA_I64:
		put(out, "%" PRId64, *(const int64_t *)member);
		break;
	case RI_SCHEMA_UINT:
		put(out, "%u", *(const unsigned *)member);
		break;
	case RI_SCHEMA_BOOL:
		put(out, "true");
		break;
	case RI_SCHEMA_BAND:
		put(out, "[%" PRId64 ", %" PRId64 "]", ((const struct ri_band *)member)->low,
		    ((const struct ri_band *)member)->high);
		break;
	case RI_SCHEMA_CHOICE:
		put(out, "%s", key->choices[*(const unsigned *)member]);
		break;
	case RI_SCHEMA_SECTION:
		put_section(out, key->section, member, indent + 2);
		break;
	case RI_SCHEMA_SECTIONS:
		put_sections(out, key, member, indent);
		break;
	case RI_SCHEMA_WEIGHT:
		put_weight(out, member);
		break;
	case RI_SCHEMA_VERSION:
		put(out, "%d", RI_PROFILE_VERSION);
		break;
	case RI_SCHEMA_LEDGER:
		put(out, "{}");
		break;
	default:
		put_list(out, key, member);
		break;
	}
}

static void put_weight(struct output *out, const struct ri_profile_weight *weight)
{
	if (weight->kind == RI_WEIGHT_IF)
		put_section(out, &ri_schema_weight, weight, 0);
	else if (weight->kind == RI_WEIGHT_POSSIBLE)
		put(out, "possible");
	else if (weight->weight == 0 || weight->weight == 1)
		put(out, "%s", weight->weight ? "owns" : "borrows");
	else
		put(out, "%" PRId64, weight->weight);
}

/* A section of the block style begins where the cursor is (after "- ", or at the
 * very beginning) and goes on with `indent`; others are one line. */
static void put_section(struct output *out, const struct ri_schema *schema, const void *base,
			unsigned indent)
{
	bool is_first = true;

	put(out, schema->is_block ? "" : "{ ");
	for (const struct ri_schema_key *key = schema->keys; key->name; key++) {
		if (!ri_schema_is_given(key, base))
			continue;
		if (!is_first && schema->is_block) {
			put(out, "\n");
			put_indent(out, indent);
		} else if (!is_first) {
			put(out, ", ");
		}
		is_first = false;
		if (key->kind == RI_SCHEMA_SECTIONS && !schema->is_block) {
			put(out, "%s: ", key->name);
			put_sections_inline(out, key, (const char *)base + key->offset);
			continue;
		}
		put(out, key->kind == RI_SCHEMA_SECTIONS ? "%s:" : "%s: ", key->name);
		put_value(out, key, base, indent);
	}
	put(out, schema->is_block ? "" : " }");
}

/* Ownership. */

/* The key whose list can hold the rule, or null: `weights` alone can. */
static const struct ri_schema_key *list_of(const struct ri_profile_owner *owner)
{
	for (const struct ri_schema_key *key = ri_schema_profile.keys; key->name; key++)
		if (key->kind == RI_SCHEMA_OWNERS && key->owner_kind == owner->weight.kind &&
		    (int64_t)key->number == owner->weight.weight)
			return key;
	return NULL;
}

/* Whether the rules are runs, one per list at most. */
static bool are_runs(const struct ri_profile *profile)
{
	const struct ri_schema_key *last = NULL;
	uint64_t seen = 0;

	for (size_t i = 0; i < profile->owners.count; i++) {
		const struct ri_schema_key *key = list_of(&profile->owners.items[i]);

		if (!key)
			return false;
		if (key == last)
			continue;
		if (seen & 1ull << (key - ri_schema_profile.keys))
			return false;
		seen |= 1ull << (key - ri_schema_profile.keys);
		last = key;
	}
	return true;
}

static void put_owners(struct output *out, const struct ri_profile *profile)
{
	const struct ri_schema_key *last = NULL;

	if (!profile->owners.count)
		return;
	if (!are_runs(profile)) {
		const struct ri_schema_key *key = ri_schema_find(&ri_schema_profile, "weights");

		put(out, "%s:", key->name);
		put_sections(out, key, &profile->owners, 0);
		put(out, "\n");
		return;
	}
	for (size_t i = 0; i < profile->owners.count; i++) {
		const struct ri_schema_key *key = list_of(&profile->owners.items[i]);

		if (key != last)
			put(out, "%s%s: [", last ? "]\n" : "", key->name);
		put(out, key == last ? ", " : "");
		put_text(out, profile->owners.items[i].pattern.text);
		last = key;
	}
	put(out, "]\n");
}

static bool is_of_owners(const struct ri_schema_key *key)
{
	return key->offset == offsetof(struct ri_profile, owners);
}

char *ri_profile_print(const struct ri_profile *profile)
{
	struct output out = { 0 };
	bool has_owners = false;

	for (const struct ri_schema_key *key = ri_schema_profile.keys; key->name; key++) {
		if (is_of_owners(key)) {
			if (!has_owners)
				put_owners(&out, profile);
			has_owners = true;
			continue;
		}
		if (!ri_schema_is_given(key, profile))
			continue;
		put(&out, key->kind == RI_SCHEMA_SECTIONS ? "%s:" : "%s: ", key->name);
		put_value(&out, key, profile, 0);
		put(&out, "\n");
	}
	return out.text;
}
