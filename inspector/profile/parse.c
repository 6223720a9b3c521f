/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tree of YAML nodes to a profile, by the schema's tables.  Knows kinds of
 * values and how to say what is wrong with one; knows no key by name except
 * where order between keys matters.
 *
 * The first thing wrong ends the parse, with its line and column.  Work is
 * linear in the tree times the keys of one mapping (a few dozen).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "profile/suggest.h"
#include "profile/yaml_tree.h"

struct parser {
	const char *file; /* interned */
	struct ri_strings *strings;
	struct ri_profile *profile;
};

static struct ri_error *fail(const struct parser *parser, const struct ri_yaml_node *node,
			     const char *format, ...) __attribute__((format(printf, 3, 4)));

static struct ri_error *fail(const struct parser *parser, const struct ri_yaml_node *node,
			     const char *format, ...)
{
	struct ri_error *error;
	va_list args;
	char *what;

	va_start(args, format);
	what = ri_vformat(format, args);
	va_end(args);
	error = ri_error_create(RI_ERROR_INPUT, "%s:%u:%u: %s", parser->file, node->line,
				node->column, what);
	free(what);
	return error;
}

static struct ri_mark mark_of(const struct parser *parser, const struct ri_yaml_node *node)
{
	return (struct ri_mark){ parser->file, node->line, node->column };
}

static const char *kind_text(const struct ri_yaml_node *node)
{
	switch (node->kind) {
	case RI_YAML_LIST:
		return "a list";
	case RI_YAML_MAP:
		return "a mapping";
	default:
		return node->is_plain && !*node->text ? "nothing" : "a single value";
	}
}

static struct ri_error *fail_kind(const struct parser *parser, const struct ri_schema_key *key,
				  const struct ri_yaml_node *node, const char *wanted)
{
	return fail(parser, node, "'%s' must be %s, not %s", key->name, wanted, kind_text(node));
}

/* Scalars. */

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static struct ri_error *parse_text(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, struct ri_name *ret)
{
	if (node->kind != RI_YAML_SCALAR || !*node->text)
		return fail_kind(parser, key, node, "a name");
	if (!is_printable(node->text))
		return fail(parser, node, "'%s' cannot contain control characters", key->name);
	ret->text = ri_strings_add(parser->strings, node->text);
	ret->mark = mark_of(parser, node);
	return NULL;
}

/* The magnitude of a number written in decimal or, after 0x, in hexadecimal. */
static const char *parse_digits(const char *text, uint64_t *ret)
{
	unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *p = base == 16 ? text + 2 : text;
	uint64_t value = 0;

	if (!*p)
		return "is not a number";
	if (base == 10 && p[0] == '0' && p[1] >= '0' && p[1] <= '9')
		return "begins with 0: write octal numbers in decimal or hexadecimal";
	for (; *p; p++) {
		unsigned digit = *p >= '0' && *p <= '9' ? (unsigned)(*p - '0') :
				 *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10 :
				 *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A') + 10 : 99;

		if (digit >= base)
			return "is not a number (decimal, or hexadecimal after 0x)";
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return "does not fit 64 bits";
	}
	*ret = value;
	return NULL;
}

/* A number between -2^63 and 2^64 - 1, as two's complement. */
static struct ri_error *parse_number(const struct parser *parser, const struct ri_schema_key *key,
				     const struct ri_yaml_node *node, bool *ret_is_negative,
				     uint64_t *ret)
{
	const char *wrong = NULL;
	bool is_negative;
	uint64_t value = 0;

	if (node->kind != RI_YAML_SCALAR || !*node->text)
		return fail_kind(parser, key, node, "a number");
	if (!node->is_plain)
		return fail(parser, node, "'%s' must be a number, written without quotes",
			    key->name);
	is_negative = node->text[0] == '-';
	wrong = parse_digits(node->text + is_negative, &value);
	if (!wrong && is_negative && value > (uint64_t)INT64_MAX + 1)
		wrong = "does not fit 64 bits";
	if (wrong)
		return fail(parser, node, "'%s' must be a number: '%s' %s", key->name, node->text,
			    wrong);
	*ret_is_negative = is_negative && value;
	*ret = is_negative ? -value : value;
	return NULL;
}

static struct ri_error *parse_u64(const struct parser *parser, const struct ri_schema_key *key,
				  const struct ri_yaml_node *node, uint64_t *ret)
{
	bool is_negative = false;
	uint64_t value = 0;
	struct ri_error *error = parse_number(parser, key, node, &is_negative, &value);

	if (error)
		return error;
	if (key->max && (is_negative || value > key->max))
		return fail(parser, node, "'%s' must be between 0 and %llu", key->name,
			    (unsigned long long)key->max);
	*ret = value;
	return NULL;
}

static struct ri_error *parse_i64(const struct parser *parser, const struct ri_schema_key *key,
				  const struct ri_yaml_node *node, int64_t *ret)
{
	bool is_negative = false;
	uint64_t value = 0;
	struct ri_error *error = parse_number(parser, key, node, &is_negative, &value);

	if (error)
		return error;
	if (!is_negative && value > INT64_MAX)
		return fail(parser, node,
			    "'%s' is a signed number: '%s' is more than 0x7fffffffffffffff",
			    key->name, node->text);
	*ret = (int64_t)value;
	return NULL;
}

static struct ri_error *parse_uint(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, unsigned *ret)
{
	uint64_t value = 0;
	struct ri_error *error = parse_u64(parser, key, node, &value);

	assert(key->max && key->max <= UINT32_MAX);
	if (!error)
		*ret = (unsigned)value;
	return error;
}

static struct ri_error *parse_bool(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, bool *ret)
{
	bool is_true = node->kind == RI_YAML_SCALAR && !strcmp(node->text, "true");

	if (!is_true && (node->kind != RI_YAML_SCALAR || strcmp(node->text, "false") != 0))
		return fail(parser, node, "'%s' must be true or false", key->name);
	*ret = is_true;
	return NULL;
}

static struct ri_error *parse_choice(const struct parser *parser, const struct ri_schema_key *key,
				     const struct ri_yaml_node *node, unsigned *ret)
{
	struct ri_suggestion suggestion;
	struct ri_error *error;
	char *choices = NULL, *hint;

	if (node->kind != RI_YAML_SCALAR)
		return fail_kind(parser, key, node, "one word");
	ri_suggestion_init(&suggestion, node->text);
	for (unsigned i = 0; key->choices[i]; i++) {
		char *longer;

		if (!strcmp(node->text, key->choices[i])) {
			*ret = i;
			free(choices);
			return NULL;
		}
		ri_suggestion_offer(&suggestion, key->choices[i]);
		longer = ri_format("%s%s%s", choices ? choices : "", choices ? ", " : "",
				   key->choices[i]);
		free(choices);
		choices = longer;
	}
	hint = ri_suggestion_text(&suggestion);
	error = fail(parser, node, "'%s' cannot be '%s', only one of %s%s", key->name, node->text,
		     choices, hint);
	free(hint);
	free(choices);
	return error;
}

/* Lists.  A lone value stands for a list of one. */

static size_t item_count(const struct ri_yaml_node *node)
{
	return node->kind == RI_YAML_LIST ? node->count : 1;
}

static const struct ri_yaml_node *item_of(const struct ri_yaml_node *node, size_t i)
{
	return node->kind == RI_YAML_LIST ? &node->items[i] : node;
}

static struct ri_error *parse_texts(const struct parser *parser, const struct ri_schema_key *key,
				    const struct ri_yaml_node *node, ri_name_list *ret)
{
	struct ri_error *error = NULL;

	for (size_t i = 0; !error && i < item_count(node); i++)
		error = parse_text(parser, key, item_of(node, i), ri_push(ret));
	return error;
}

static struct ri_error *parse_u64s(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, ri_u64_list *ret)
{
	struct ri_error *error = NULL;

	for (size_t i = 0; !error && i < item_count(node); i++)
		error = parse_u64(parser, key, item_of(node, i), ri_push(ret));
	return error;
}

static struct ri_error *parse_i64s(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, ri_i64_list *ret)
{
	struct ri_error *error = NULL;

	ret->count = 0; /* what an absent key would mean */
	for (size_t i = 0; !error && i < item_count(node); i++)
		error = parse_i64(parser, key, item_of(node, i), ri_push(ret));
	return error;
}

static struct ri_error *parse_band(const struct parser *parser, const struct ri_schema_key *key,
				   const struct ri_yaml_node *node, struct ri_band *ret)
{
	struct ri_error *error;

	if (node->kind == RI_YAML_MAP || (node->kind == RI_YAML_LIST && node->count != 2))
		return fail(parser, node, "'%s' must be a band, [LOWEST, HIGHEST]", key->name);
	error = parse_i64(parser, key, item_of(node, 0), &ret->low);
	if (!error)
		error = parse_i64(parser, key, item_of(node, item_count(node) - 1), &ret->high);
	if (!error && ret->low > ret->high)
		error = fail(parser, node, "the band '%s' is empty: %lld is more than %lld",
			     key->name, (long long)ret->low, (long long)ret->high);
	return error;
}

/* Sections. */

static struct ri_error *parse_section(const struct parser *parser, const struct ri_schema *schema,
				      const struct ri_schema_key *of,
				      const struct ri_yaml_node *node, void *base);

static struct ri_error *parse_sections(const struct parser *parser, const struct ri_schema_key *key,
				       const struct ri_yaml_node *node, void *member)
{
	const struct ri_schema *schema = key->section;
	struct ri_error *error = NULL;

	for (size_t i = 0; !error && i < item_count(node); i++) {
		struct ri_any_vec vec;
		char *item;

		memcpy(&vec, member, sizeof(vec));
		vec.items = ri_grow(vec.items, &vec.capacity, vec.count + 1, schema->size_bytes);
		item = (char *)vec.items + vec.count++ * schema->size_bytes;
		memset(item, 0, schema->size_bytes);
		ri_schema_init(schema, item);
		memcpy(member, &vec, sizeof(vec));
		error = parse_section(parser, schema, key, item_of(node, i), item);
	}
	return error;
}

#define MAX_WEIGHT 255

static struct ri_error *parse_weight(const struct parser *parser, const struct ri_schema_key *key,
				     const struct ri_yaml_node *node, struct ri_profile_weight *ret)
{
	static const struct ri_schema_key number_key = { .name = "weight", .max = MAX_WEIGHT };
	struct ri_error *error;
	uint64_t value = 0;

	ret->mark = mark_of(parser, node);
	ret->kind = RI_WEIGHT_FIXED;
	if (node->kind == RI_YAML_MAP) {
		ret->kind = RI_WEIGHT_IF;
		error = parse_section(parser, &ri_schema_weight, key, node, ret);
		if (!error && !ret->owns_if.is_present)
			error = fail(parser, node, "'%s' needs 'owns-if' here", key->name);
		return error;
	}
	if (node->kind != RI_YAML_SCALAR)
		return fail_kind(parser, key, node, "owns, borrows, possible or a number");
	if (!strcmp(node->text, "owns")) {
		ret->weight = 1;
	} else if (!strcmp(node->text, "possible")) {
		ret->kind = RI_WEIGHT_POSSIBLE;
	} else if (strcmp(node->text, "borrows") != 0) {
		if (node->text[0] < '0' || node->text[0] > '9')
			return fail(parser, node,
				    "'%s' must be owns, borrows, possible or a number, not '%s'",
				    key->name, node->text);
		error = parse_u64(parser, &number_key, node, &value);
		if (error)
			return error;
		ret->weight = (int64_t)value;
	}
	return NULL;
}

static struct ri_error *parse_owners(const struct parser *parser, const struct ri_schema_key *key,
				     const struct ri_yaml_node *node)
{
	struct ri_error *error = NULL;

	for (size_t i = 0; !error && i < item_count(node); i++) {
		const struct ri_yaml_node *item = item_of(node, i);
		struct ri_profile_owner *owner = ri_push(&parser->profile->owners);

		ri_schema_init(&ri_schema_weight, &owner->weight);
		owner->weight.kind = key->owner_kind;
		owner->weight.weight = (int64_t)key->number;
		owner->weight.mark = mark_of(parser, item);
		error = parse_text(parser, key, item, &owner->pattern);
	}
	return error;
}

static struct ri_error *parse_version(const struct parser *parser, const struct ri_schema_key *key,
				      const struct ri_yaml_node *node)
{
	uint64_t version = 0;
	struct ri_error *error = parse_u64(parser, key, node, &version);

	if (!error && version != RI_PROFILE_VERSION)
		error = fail(parser, node, "this is schema version %s; only version %d is known",
			     node->text, RI_PROFILE_VERSION);
	return error;
}

static struct ri_error *parse_value(const struct parser *parser, const struct ri_schema_key *key,
				    const struct ri_yaml_node *node, void *base)
{
	void *member = (char *)base + key->offset;

	if (key->present)
		*((bool *)base + key->present - 1) = true;
	switch (key->kind) {
	case RI_SCHEMA_TEXT:
		return parse_text(parser, key, node, member);
	case RI_SCHEMA_TEXTS:
		return parse_texts(parser, key, node, member);
	case RI_SCHEMA_U64:
		return parse_u64(parser, key, node, member);
	case RI_SCHEMA_U64S:
		return parse_u64s(parser, key, node, member);
	case RI_SCHEMA_I64:
		return parse_i64(parser, key, node, member);
	case RI_SCHEMA_I64S:
		return parse_i64s(parser, key, node, member);
	case RI_SCHEMA_UINT:
		return parse_uint(parser, key, node, member);
	case RI_SCHEMA_BOOL:
		return parse_bool(parser, key, node, member);
	case RI_SCHEMA_BAND:
		return parse_band(parser, key, node, member);
	case RI_SCHEMA_CHOICE:
		return parse_choice(parser, key, node, member);
	case RI_SCHEMA_SECTION:
		return parse_section(parser, key->section, key, node, member);
	case RI_SCHEMA_SECTIONS:
		return parse_sections(parser, key, node, member);
	case RI_SCHEMA_WEIGHT:
		return parse_weight(parser, key, node, member);
	case RI_SCHEMA_OWNERS:
		return parse_owners(parser, key, node);
	case RI_SCHEMA_VERSION:
		return parse_version(parser, key, node);
	case RI_SCHEMA_LEDGER:
		*(struct ri_mark *)member = mark_of(parser, node);
		return NULL;
	}
	return NULL;
}

static struct ri_error *fail_unknown(const struct parser *parser, const struct ri_schema *schema,
				     const struct ri_yaml_node *node)
{
	struct ri_suggestion suggestion;
	struct ri_error *error;
	char *hint;

	ri_suggestion_init(&suggestion, node->text);
	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		ri_suggestion_offer(&suggestion, key->name);
	hint = ri_suggestion_text(&suggestion);
	error = fail(parser, node, "%s has no key '%s'%s", schema->what, node->text, hint);
	free(hint);
	return error;
}

static struct ri_error *parse_pairs(const struct parser *parser, const struct ri_schema *schema,
				    const struct ri_yaml_node *node, void *base, uint64_t *ret_seen)
{
	unsigned first_line[64] = { 0 };
	struct ri_error *error = NULL;

	for (size_t i = 0; !error && i < node->count; i++) {
		const struct ri_yaml_node *name = &node->items[2 * i];
		const struct ri_schema_key *key;
		size_t index;

		if (name->kind != RI_YAML_SCALAR)
			return fail(parser, name, "a key must be one word, not %s",
				    kind_text(name));
		key = ri_schema_find(schema, name->text);
		if (!key)
			return fail_unknown(parser, schema, name);
		index = (size_t)(key - schema->keys);
		assert(index < 64);
		if (*ret_seen & 1ull << index)
			return fail(parser, name, "'%s' is given twice; the first is on line %u",
				    key->name, first_line[index]);
		*ret_seen |= 1ull << index;
		first_line[index] = name->line;
		error = parse_value(parser, key, &node->items[2 * i + 1], base);
	}
	return error;
}

static bool is_integer_size(unsigned size_bytes)
{
	return size_bytes == 1 || size_bytes == 2 || size_bytes == 4 || size_bytes == 8;
}

/* Checks the field that a section describes, by the section's rule. */
static struct ri_error *check_field(const struct parser *parser, const struct ri_schema *schema,
				    const struct ri_yaml_node *node,
				    const struct ri_profile_field *field)
{
	bool may_lack = schema->field_rule == RI_FIELD_MAY_PLACE ||
			schema->field_rule == RI_FIELD_MAY_INTEGER;
	bool is_integer = schema->field_rule == RI_FIELD_INTEGER ||
			  schema->field_rule == RI_FIELD_MAY_INTEGER;

	if (field->member.text && field->has_offset)
		return fail(parser, node, "%s lies at a 'member' or at an 'offset', not both",
			    schema->what);
	if (!field->member.text && !field->has_offset)
		return may_lack ? NULL :
				  fail(parser, node, "%s needs its place: 'member' or 'offset'",
				       schema->what);
	if (field->size_bytes && !field->has_offset)
		return fail(parser, node, "'size' goes with 'offset'; a member has its own size");
	if (is_integer && field->has_offset &&
	    !is_integer_size(field->size_bytes))
		return fail(parser, node, "%s at an 'offset' needs its 'size': 1, 2, 4 or 8",
			    schema->what);
	return NULL;
}

static struct ri_error *check_section(const struct parser *parser, const struct ri_schema *schema,
				      const struct ri_yaml_node *node, uint64_t seen, void *base)
{
	const char *wrong;

	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		if (key->is_required && !(seen & 1ull << (key - schema->keys)))
			return fail(parser, node, "%s needs '%s'", schema->what, key->name);
	if (schema->field_rule != RI_FIELD_NONE) {
		struct ri_error *error = check_field(
			parser, schema, node, (void *)((char *)base + schema->field_offset));

		if (error)
			return error;
	}
	wrong = schema->check ? schema->check(base) : NULL;
	return wrong ? fail(parser, node, "%s", wrong) : NULL;
}

static struct ri_error *parse_section(const struct parser *parser, const struct ri_schema *schema,
				      const struct ri_schema_key *of,
				      const struct ri_yaml_node *node, void *base)
{
	struct ri_error *error;
	uint64_t seen = 0;

	if (schema->mark != RI_SCHEMA_NOWHERE)
		*(struct ri_mark *)(void *)((char *)base + schema->mark) = mark_of(parser, node);
	if (node->kind == RI_YAML_SCALAR && *node->text && schema->shorthand) {
		const struct ri_schema_key *key = ri_schema_find(schema, schema->shorthand);

		seen = 1ull << (key - schema->keys);
		error = parse_value(parser, key, node, base);
	} else if (node->kind == RI_YAML_MAP) {
		error = parse_pairs(parser, schema, node, base, &seen);
	} else if (of) {
		return fail_kind(parser, of, node,
				 schema->shorthand ? "a member or a mapping" : "a mapping");
	} else {
		return fail(parser, node, "%s is a mapping of keys, this is %s", schema->what,
			    kind_text(node));
	}
	return error ? error : check_section(parser, schema, node, seen, base);
}

/* Headers first, otherwise in the order written: printing separates them. */
static void put_headers_first(struct ri_profile *profile)
{
	size_t headers = 0;

	for (size_t i = 0; i < profile->types.count; i++) {
		struct ri_profile_type type = profile->types.items[i];

		if (!type.is_header)
			continue;
		memmove(&profile->types.items[headers + 1], &profile->types.items[headers],
			(i - headers) * sizeof(type));
		profile->types.items[headers++] = type;
	}
}

/* A profile without a name is called after its file. */
static void name_profile(const struct parser *parser)
{
	struct ri_profile *profile = parser->profile;
	const char *slash = strrchr(parser->file, '/');
	char *name;
	size_t length;

	if (profile->name.text)
		return;
	name = ri_strdup(slash ? slash + 1 : parser->file);
	length = strlen(name);
	if (length > 5 && !strcmp(name + length - 5, ".yaml"))
		name[length - 5] = '\0';
	profile->name.text = ri_strings_add(parser->strings, *name ? name : "profile");
	free(name);
}

struct ri_error *ri_profile_parse(const char *file, const char *text, size_t size_bytes,
				  struct ri_profile **ret)
{
	struct ri_profile *profile = ri_profile_create(file);
	const struct parser parser = { profile->file, profile->strings, profile };
	struct ri_yaml_node *root = NULL;
	struct ri_error *error = ri_yaml_parse(file, text, size_bytes, &root);

	if (!error)
		error = parse_section(&parser, &ri_schema_profile, NULL, root, profile);
	ri_yaml_destroy(root);
	if (error) {
		ri_profile_destroy(profile);
		return error;
	}
	put_headers_first(profile);
	name_profile(&parser);
	*ret = profile;
	return NULL;
}
