/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The schema's tables: the names of all keys, and what must hold within one
 * mapping.  Reading text is parse.c's work, writing it print.c's, what the
 * values mean for a target the binder's.
 *
 * A section either fills a struct of its own (a count, a group) or, so that
 * YAML may nest where profile.h is flat, some members of the struct around it
 * (`head: { struct: , member: }` of a group): then its key's offset is 0 and
 * its table's offsets are those of the outer struct.
 */
#include "profile/schema.h"

#define ABSENT RI_SCHEMA_NOWHERE
#define ALL_BITS UINT64_MAX
#define PRESENT(type, member) (1 + offsetof(type, member))

#define KEY(key_name, key_kind, type, member, ...)                                                 \
	{                                                                                          \
		.name = key_name, .kind = RI_SCHEMA_##key_kind, .offset = offsetof(type, member),  \
		__VA_ARGS__                                                                        \
	}
/* A section that fills members of the struct around it. */
#define PART(key_name, schema, ...)                                                                \
	{                                                                                          \
		.name = key_name, .kind = RI_SCHEMA_SECTION, .offset = 0, .section = &(schema),    \
		__VA_ARGS__                                                                        \
	}
#define SECTION(key_name, type, member, schema, ...)                                               \
	KEY(key_name, SECTION, type, member, .section = &(schema), __VA_ARGS__)
#define SECTIONS(key_name, type, member, schema, ...)                                              \
	KEY(key_name, SECTIONS, type, member, .section = &(schema), __VA_ARGS__)
#define END                                                                                        \
	{                                                                                          \
		.name = NULL                                                                       \
	}

/* Where a value lies, as keys of the section that `type` stands for. */
#define PLACE_KEYS(type, field)                                                                    \
	KEY("member", TEXT, type, field.member),                                                   \
		KEY("offset", I64, type, field.offset_bytes,                                       \
		    .present = PRESENT(type, field.has_offset))
#define FIELD_KEYS(type, field)                                                                    \
	PLACE_KEYS(type, field), KEY("size", UINT, type, field.size_bytes, .max = 4096)
#define CONDITION_KEYS(type, condition)                                                            \
	FIELD_KEYS(type, condition.field),                                                         \
		KEY("mask", U64, type, condition.mask, .number = ALL_BITS, .is_hex = true),        \
		KEY("equals", U64, type, condition.equals,                                         \
		    .present = PRESENT(type, condition.has_equals)),                              \
		KEY("not", BOOL, type, condition.is_negated)

#define FIELD_RULE(type, field, rule)                                                              \
	.mark = offsetof(type, field.mark), .field_offset = offsetof(type, field),                 \
	.field_rule = rule

/* Fields alone.  The wrappers give the macros a member to name. */

struct lone_field {
	struct ri_profile_field field;
};

static const struct ri_schema_key integer_keys[] = { FIELD_KEYS(struct lone_field, field), END };
static const struct ri_schema_key place_keys[] = { PLACE_KEYS(struct lone_field, field), END };

static const struct ri_schema integer_schema = {
	.what = "a field", .keys = integer_keys, .shorthand = "member",
	FIELD_RULE(struct lone_field, field, RI_FIELD_INTEGER),
};
static const struct ri_schema text_schema = {
	.what = "a text field", .keys = integer_keys, .shorthand = "member",
	FIELD_RULE(struct lone_field, field, RI_FIELD_TEXT),
};
/* Pointers (8 bytes always) and embedded structs. */
static const struct ri_schema place_schema = {
	.what = "a place", .keys = place_keys, .shorthand = "member",
	FIELD_RULE(struct lone_field, field, RI_FIELD_PLACE),
};

/* Conditions. */

struct lone_condition {
	struct ri_profile_condition condition;
};

static const char *wrong_with_condition(const struct ri_profile_condition *condition)
{
	if (condition->has_equals && (condition->equals & ~condition->mask))
		return "'equals' has bits that 'mask' takes away, so it never holds";
	return condition->mask ? NULL : "a mask of 0 leaves nothing to test";
}

static const char *check_condition(const void *base)
{
	return wrong_with_condition(base);
}

static const struct ri_schema_key condition_keys[] = {
	CONDITION_KEYS(struct lone_condition, condition), END
};
static const struct ri_schema condition_schema = {
	.what = "a condition", .keys = condition_keys, .shorthand = "member",
	FIELD_RULE(struct lone_condition, condition.field, RI_FIELD_INTEGER),
	.check = check_condition,
};

#define CONDITION(key_name, type, member)                                                          \
	SECTION(key_name, type, member, condition_schema,                                          \
		.present = PRESENT(type, member.is_present))

/* The condition inside `owns-if` of a weight. */
static const struct ri_schema_key weight_keys[] = {
	CONDITION("owns-if", struct ri_profile_weight, owns_if), END
};
const struct ri_schema ri_schema_weight = {
	.what = "a weight", .keys = weight_keys,
	.mark = ABSENT, .field_offset = ABSENT,
};

/* Counts. */

static const char *check_plus(const void *base)
{
	return wrong_with_condition(&((const struct ri_profile_count *)base)->plus);
}

static const struct ri_schema_key plus_keys[] = {
	CONDITION_KEYS(struct ri_profile_count, plus),
	KEY("value", I64, struct ri_profile_count, plus_value, .number = 1), END
};
static const struct ri_schema plus_schema = {
	.what = "a conditional reference", .keys = plus_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_count, plus.field, RI_FIELD_INTEGER),
	.check = check_plus,
};

static const char *check_count(const void *base)
{
	const struct ri_profile_count *count = base;

	if (!count->mask)
		return "a mask of 0 leaves nothing to count";
	if (!(count->mask >> count->shift))
		return "'shift' moves every bit of 'mask' out";
	return NULL;
}

static const char *const sign_choices[] = { "of-type", "signed", "unsigned", NULL };

static const struct ri_schema_key count_keys[] = {
	KEY("name", TEXT, struct ri_profile_count, name),
	FIELD_KEYS(struct ri_profile_count, field),
	KEY("mask", U64, struct ri_profile_count, mask, .number = ALL_BITS, .is_hex = true),
	KEY("shift", UINT, struct ri_profile_count, shift, .max = 63),
	KEY("sign", CHOICE, struct ri_profile_count, sign, .choices = sign_choices),
	KEY("negative", BOOL, struct ri_profile_count, is_negative),
	KEY("bias", I64, struct ri_profile_count, bias),
	KEY("live", BAND, struct ri_profile_count, live),
	KEY("saturated", BAND, struct ri_profile_count, saturated),
	KEY("immortal", BAND, struct ri_profile_count, immortal),
	KEY("dead", I64S, struct ri_profile_count, dead, .defaults_to_zero = true),
	PART("plus", plus_schema, .present = PRESENT(struct ri_profile_count, plus.is_present)),
	KEY("holders", TEXTS, struct ri_profile_count, holders), END
};
static const struct ri_schema count_schema = {
	.what = "a count", .size_bytes = sizeof(struct ri_profile_count), .keys = count_keys,
	.shorthand = "member",
	FIELD_RULE(struct ri_profile_count, field, RI_FIELD_INTEGER),
	.check = check_count,
};

/* Magics. */

static const char *check_magic(const void *base)
{
	const struct ri_profile_magic *magic = base;

	if (!magic->live.count && !magic->dead.count)
		return "a magic needs its value: 'live: 0x...'";
	if (magic->at_end && !magic->field.has_offset)
		return "'at-end' needs an 'offset', counted back from the object's end";
	return NULL;
}

static const struct ri_schema_key magic_keys[] = {
	FIELD_KEYS(struct ri_profile_magic, field),
	KEY("at-end", BOOL, struct ri_profile_magic, at_end),
	KEY("live", U64S, struct ri_profile_magic, live, .is_hex = true),
	KEY("dead", U64S, struct ri_profile_magic, dead, .is_hex = true), END
};
static const struct ri_schema magic_schema = {
	.what = "a magic", .size_bytes = sizeof(struct ri_profile_magic), .keys = magic_keys,
	FIELD_RULE(struct ri_profile_magic, field, RI_FIELD_INTEGER),
	.check = check_magic,
};

/* Type descriptors. */

static const struct ri_schema_key descriptor_magic_keys[] = {
	FIELD_KEYS(struct ri_profile_descriptor, magic),
	KEY("live", U64S, struct ri_profile_descriptor, magic_live, .is_hex = true,
	    .is_required = true), END
};
static const struct ri_schema descriptor_magic_schema = {
	.what = "a descriptor's magic", .keys = descriptor_magic_keys,
	FIELD_RULE(struct ri_profile_descriptor, magic, RI_FIELD_INTEGER),
};

static const struct ri_schema_key front_keys[] = {
	CONDITION_KEYS(struct ri_profile_front, condition),
	KEY("bytes", U64, struct ri_profile_front, bytes, .max = 4096, .is_required = true), END
};
static void init_front(void *base)
{
	((struct ri_profile_front *)base)->condition.is_present = true;
}
static const char *check_front(const void *base)
{
	return wrong_with_condition(&((const struct ri_profile_front *)base)->condition);
}
static const struct ri_schema front_schema = {
	.what = "a front", .size_bytes = sizeof(struct ri_profile_front), .keys = front_keys,
	FIELD_RULE(struct ri_profile_front, condition.field, RI_FIELD_INTEGER),
	.init = init_front, .check = check_front,
};

static const struct ri_schema_key described_keys[] = {
	KEY("name", TEXT, struct ri_profile_described, name, .is_required = true),
	KEY("struct", TEXT, struct ri_profile_described, type, .is_required = true),
	KEY("shortest", TEXT, struct ri_profile_described, shortest), END
};
static const struct ri_schema described_schema = {
	.what = "a described struct", .size_bytes = sizeof(struct ri_profile_described),
	.keys = described_keys, .mark = ABSENT, .field_offset = ABSENT,
};

static const struct ri_schema_key descriptor_keys[] = {
	PLACE_KEYS(struct ri_profile_descriptor, field),
	KEY("struct", TEXT, struct ri_profile_descriptor, type),
	PART("magic", descriptor_magic_schema),
	SECTION("name", struct ri_profile_descriptor, name, text_schema),
	SECTION("size", struct ri_profile_descriptor, size, integer_schema),
	SECTION("header-offset", struct ri_profile_descriptor, header_offset, integer_schema),
	SECTION("release", struct ri_profile_descriptor, release, place_schema),
	SECTION("owns", struct ri_profile_descriptor, fields, place_schema,
		.present = PRESENT(struct ri_profile_descriptor, has_fields)),
	KEY("vtable", TEXT, struct ri_profile_descriptor, vtable),
	CONDITION("meta", struct ri_profile_descriptor, meta),
	SECTION("base", struct ri_profile_descriptor, base, place_schema),
	SECTION("item-size", struct ri_profile_descriptor, item_size, integer_schema),
	SECTION("items", struct ri_profile_descriptor, items, integer_schema),
	CONDITION("owned-if", struct ri_profile_descriptor, owned_if),
	SECTIONS("front", struct ri_profile_descriptor, fronts, front_schema),
	KEY("tables", I64S, struct ri_profile_descriptor, tables),
	SECTIONS("structs", struct ri_profile_descriptor, structs, described_schema), END
};
static const struct ri_schema descriptor_schema = {
	.what = "a descriptor", .keys = descriptor_keys,
	FIELD_RULE(struct ri_profile_descriptor, field, RI_FIELD_PLACE),
};

/* Types and headers. */

static const struct ri_schema_key payload_keys[] = {
	PLACE_KEYS(struct ri_profile_type, payload),
	KEY("pointer", BOOL, struct ri_profile_type, payload_is_pointer), END
};
static const struct ri_schema payload_schema = {
	.what = "a payload", .keys = payload_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_type, payload, RI_FIELD_PLACE),
};

static const struct ri_schema_key header_place_keys[] = {
	PLACE_KEYS(struct ri_profile_type, header),
	KEY("struct", TEXT, struct ri_profile_type, header_type), END
};
static const struct ri_schema header_place_schema = {
	.what = "a header's place", .keys = header_place_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_type, header, RI_FIELD_PLACE),
};

static bool has_place(const struct ri_profile_field *field)
{
	return field->member.text || field->has_offset;
}

static const char *check_any_type(const struct ri_profile_type *type)
{
	if (!type->type.text && !type->label.text)
		return "a type needs 'struct', or a 'label' where its layout is fixed";
	if (!type->type.text && !type->size_bytes)
		return "a type without 'struct' needs its size: 'bytes'";
	if (!type->alignment || (type->alignment & (type->alignment - 1)))
		return "'alignment' must be a power of two";
	return NULL;
}

static const char *check_header(const void *base)
{
	const struct ri_profile_type *type = base;

	if (!type->counts.count)
		return "a header needs 'counts'";
	return check_any_type(type);
}

static const char *check_type(const void *base)
{
	const struct ri_profile_type *type = base;

	if (!type->counts.count && !has_place(&type->header))
		return "a type needs 'counts', or the place of its 'header'";
	return check_any_type(type);
}

static void init_header(void *base)
{
	((struct ri_profile_type *)base)->is_header = true;
}

static bool is_header(const void *item)
{
	return ((const struct ri_profile_type *)item)->is_header;
}

static bool is_no_header(const void *item)
{
	return !is_header(item);
}

#define MAX_STRUCT_BYTES (1u << 30)

static const char *const pointers_choices[] = { "own", "possible", NULL };
static const char *const ownership_choices[] = { "declared", "learned", NULL };

#define TYPE_KEYS                                                                                  \
	KEY("struct", TEXT, struct ri_profile_type, type),                                         \
		KEY("module", TEXT, struct ri_profile_type, module),                               \
		KEY("label", TEXT, struct ri_profile_type, label),                                 \
		KEY("bytes", U64, struct ri_profile_type, size_bytes, .max = MAX_STRUCT_BYTES),    \
		KEY("alignment", U64, struct ri_profile_type, alignment, .number = 8,              \
		    .max = 4096),                                                                  \
		SECTIONS("magic", struct ri_profile_type, magics, magic_schema),                   \
		SECTIONS("counts", struct ri_profile_type, counts, count_schema),                  \
		SECTION("descriptor", struct ri_profile_type, descriptor, descriptor_schema,       \
			.present = PRESENT(struct ri_profile_type, descriptor.is_present)),       \
		KEY("poison", U64S, struct ri_profile_type, poison, .is_hex = true),               \
		KEY("exact", BOOL, struct ri_profile_type, is_exact),                              \
		KEY("by-looks", BOOL, struct ri_profile_type, is_by_looks),                        \
		KEY("pointers", CHOICE, struct ri_profile_type, pointers,                          \
		    .choices = pointers_choices),                                                  \
		KEY("ownership", CHOICE, struct ri_profile_type, ownership,                        \
		    .choices = ownership_choices),                                                 \
		PART("payload", payload_schema),                                                   \
		CONDITION("not-leak", struct ri_profile_type, not_leak),                           \
		CONDITION("ignore", struct ri_profile_type, ignore),                               \
		SECTION("lock-owner", struct ri_profile_type, lock_owner, integer_schema),         \
		SECTION("name", struct ri_profile_type, name_field, text_schema),                  \
		SECTION("index", struct ri_profile_type, index_field, integer_schema)

static const struct ri_schema_key header_keys[] = {
	TYPE_KEYS, KEY("in-front", BOOL, struct ri_profile_type, may_stand_in_front), END
};
static const struct ri_schema header_schema = {
	.what = "a header", .size_bytes = sizeof(struct ri_profile_type), .keys = header_keys,
	.mark = offsetof(struct ri_profile_type, mark), .field_offset = ABSENT,
	.init = init_header, .check = check_header, .is_block = true,
};

static const struct ri_schema_key type_keys[] = {
	TYPE_KEYS, PART("header", header_place_schema), END
};
static const struct ri_schema type_schema = {
	.what = "a type", .size_bytes = sizeof(struct ri_profile_type), .keys = type_keys,
	.mark = offsetof(struct ri_profile_type, mark), .field_offset = ABSENT,
	.check = check_type, .is_block = true,
};

/* Groups. */

static const struct ri_schema_key head_keys[] = {
	KEY("struct", TEXT, struct ri_profile_group, head_type),
	KEY("variable", TEXT, struct ri_profile_group, variable),
	PLACE_KEYS(struct ri_profile_group, head),
	KEY("bytes", U64, struct ri_profile_group, head_struct_bytes, .max = MAX_STRUCT_BYTES),
	SECTION("first", struct ri_profile_group, first, place_schema),
	SECTION("last", struct ri_profile_group, last, place_schema), END
};
static const char *check_head(const void *base)
{
	const struct ri_profile_group *group = base;

	if (!group->head_type.text && !group->variable.text && !group->head_struct_bytes)
		return "a head needs the 'struct' it lies in, or the 'variable' that it is";
	if (!group->variable.text && !has_place(&group->head))
		return "a head needs its 'member' in the struct; where its words are "
		       "themselves members, 'offset: 0', 'first' and 'last'";
	return NULL;
}
static const struct ri_schema head_schema = {
	.what = "a head", .keys = head_keys,
	FIELD_RULE(struct ri_profile_group, head, RI_FIELD_MAY_PLACE),
	.check = check_head,
};

static const struct ri_schema_key link_keys[] = {
	KEY("struct", TEXT, struct ri_profile_group, element),
	PLACE_KEYS(struct ri_profile_group, link),
	SECTION("next", struct ri_profile_group, next, place_schema),
	SECTION("prev", struct ri_profile_group, prev, place_schema),
	SECTION("left", struct ri_profile_group, left, place_schema),
	SECTION("right", struct ri_profile_group, right, place_schema),
	SECTION("parent", struct ri_profile_group, parent, place_schema), END
};
static const struct ri_schema link_schema = {
	.what = "a link", .keys = link_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_group, link, RI_FIELD_MAY_PLACE),
};

static const struct ri_schema_key node_keys[] = {
	KEY("struct", TEXT, struct ri_profile_group, node_type),
	KEY("bytes", U64, struct ri_profile_group, node_bytes, .max = MAX_STRUCT_BYTES),
	SECTION("payload", struct ri_profile_group, payload, place_schema, .is_required = true),
	END
};
static const char *check_node(const void *base)
{
	const struct ri_profile_group *group = base;

	return group->node_type.text || group->node_bytes ?
		       NULL : "a node needs its 'struct', or its size: 'bytes'";
}
static const struct ri_schema node_schema = {
	.what = "an external node", .keys = node_keys,
	.mark = ABSENT, .field_offset = ABSENT, .check = check_node,
};

static const struct ri_schema_key group_magic_keys[] = {
	FIELD_KEYS(struct ri_profile_group, magic_field),
	KEY("live", U64S, struct ri_profile_group, magic_live, .is_hex = true,
	    .is_required = true), END
};
static const struct ri_schema group_magic_schema = {
	.what = "a group's magic", .keys = group_magic_keys,
	FIELD_RULE(struct ri_profile_group, magic_field, RI_FIELD_INTEGER),
};

static const char *check_group_count(const void *base)
{
	const struct ri_profile_group *group = base;

	if (group->count_variable.text || has_place(&group->count))
		return NULL;
	return "a group's count needs its place: 'member', 'offset' or 'variable'";
}
static const struct ri_schema_key group_count_keys[] = {
	KEY("variable", TEXT, struct ri_profile_group, count_variable),
	FIELD_KEYS(struct ri_profile_group, count), END
};
static const struct ri_schema group_count_schema = {
	.what = "a group's count", .keys = group_count_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_group, count, RI_FIELD_MAY_INTEGER),
	.check = check_group_count,
};

static const char *const back_choices[] = { "struct", "head", NULL };
static const struct ri_schema_key back_keys[] = {
	PLACE_KEYS(struct ri_profile_group, back),
	KEY("to", CHOICE, struct ri_profile_group, back_target, .choices = back_choices), END
};
static const struct ri_schema back_schema = {
	.what = "a back pointer", .keys = back_keys, .shorthand = "member",
	FIELD_RULE(struct ri_profile_group, back, RI_FIELD_PLACE),
};

static const char *check_group(const void *base)
{
	const struct ri_profile_group *group = base;
	enum ri_link_kind chain = group->kind == RI_LINK_HASH ? group->bucket : group->kind;
	bool has_head = group->head_type.text || group->variable.text || group->head_struct_bytes;
	bool has_link = group->element.text || has_place(&group->link) ||
			has_place(&group->next) || has_place(&group->left) ||
			group->node_type.text || group->node_bytes;

	if (!has_head && !group->is_headless)
		return "a group needs its 'head', or 'headless: true'";
	if (group->count_variable.text && !group->variable.text)
		return "a count in a 'variable' counts one group: its head is a variable too";
	if (group->is_headless && !has_place(&group->back))
		return "a headless group is found through its members: it needs 'back'";
	if (!has_link && chain != RI_LINK_ARRAY)
		return "a group needs the 'link' that chains its members";
	if (group->bucket == RI_LINK_HASH || (group->bucket && group->kind != RI_LINK_HASH))
		return "'bucket' says what a hash's slots are: list, hlist, slist, ...";
	return NULL;
}

static const char *const kind_choices[] = {
	"list", "hlist", "slist", "dlist", "tailq", "tree", "array", "hash", NULL
};

static const struct ri_schema_key group_keys[] = {
	PART("head", head_schema),
	KEY("kind", CHOICE, struct ri_profile_group, kind, .choices = kind_choices),
	KEY("bucket", CHOICE, struct ri_profile_group, bucket, .choices = kind_choices),
	KEY("headless", BOOL, struct ri_profile_group, is_headless),
	KEY("label", TEXT, struct ri_profile_group, name),
	SECTION("name", struct ri_profile_group, name_field, text_schema),
	PART("magic", group_magic_schema),
	PART("count", group_count_schema),
	SECTION("length", struct ri_profile_group, length, integer_schema),
	PART("link", link_schema),
	PART("node", node_schema),
	PART("back", back_schema),
	CONDITION("belongs-if", struct ri_profile_group, rule),
	KEY("membership", WEIGHT, struct ri_profile_group, membership),
	SECTION("lock-owner", struct ri_profile_group, lock_owner, integer_schema),
	SECTION("parent", struct ri_profile_group, parent_group, place_schema),
	KEY("tag-mask", U64, struct ri_profile_group, tag_mask, .is_hex = true),
	KEY("end-mark", U64, struct ri_profile_group, end_mark,
	    .present = PRESENT(struct ri_profile_group, has_end_mark), .is_hex = true),
	END
};
static const struct ri_schema group_schema = {
	.what = "a group", .size_bytes = sizeof(struct ri_profile_group), .keys = group_keys,
	.mark = offsetof(struct ri_profile_group, mark), .field_offset = ABSENT,
	.check = check_group, .is_block = true,
};

/* Ownership and encodings. */

static const char *check_owner(const void *base)
{
	const struct ri_profile_owner *owner = base;

	return owner->weight.kind == RI_WEIGHT_IF ?
		       "'owns-if' is for the membership of a group alone" : NULL;
}

static const struct ri_schema_key owner_keys[] = {
	KEY("class", TEXT, struct ri_profile_owner, pattern, .is_required = true),
	KEY("weight", WEIGHT, struct ri_profile_owner, weight, .is_required = true), END
};
static const struct ri_schema owner_schema = {
	.what = "a rule of ownership", .size_bytes = sizeof(struct ri_profile_owner),
	.keys = owner_keys, .mark = ABSENT, .field_offset = ABSENT, .check = check_owner,
};

static const struct ri_schema_key encoding_keys[] = {
	KEY("class", TEXT, struct ri_profile_encoding, pattern, .is_required = true),
	KEY("mask", U64, struct ri_profile_encoding, mask, .is_hex = true),
	KEY("shift", UINT, struct ri_profile_encoding, shift, .max = 63),
	KEY("xor", U64, struct ri_profile_encoding, xor_value, .is_hex = true),
	KEY("add", I64, struct ri_profile_encoding, add), END
};
static const struct ri_schema encoding_schema = {
	.what = "an encoding", .size_bytes = sizeof(struct ri_profile_encoding),
	.keys = encoding_keys, .mark = ABSENT, .field_offset = ABSENT,
};

static const struct ri_schema_key array_keys[] = {
	KEY("struct", TEXT, struct ri_profile_array, type, .is_required = true),
	PLACE_KEYS(struct ri_profile_array, pointer),
	SECTION("length", struct ri_profile_array, length, integer_schema, .is_required = true),
	END
};
static const struct ri_schema array_schema = {
	.what = "an array", .size_bytes = sizeof(struct ri_profile_array), .keys = array_keys,
	FIELD_RULE(struct ri_profile_array, pointer, RI_FIELD_PLACE),
};

static const struct ri_schema_key unused_keys[] = {
	KEY("struct", TEXT, struct ri_profile_unused, type, .is_required = true),
	SECTION("from", struct ri_profile_unused, from, place_schema, .is_required = true),
	SECTION("to", struct ri_profile_unused, to, place_schema, .is_required = true), END
};
static const struct ri_schema unused_schema = {
	.what = "unused memory", .size_bytes = sizeof(struct ri_profile_unused),
	.keys = unused_keys, .mark = ABSENT, .field_offset = ABSENT,
};

/* The top. */

static const struct ri_schema_key profile_keys[] = {
	{ .name = "version", .kind = RI_SCHEMA_VERSION, .is_required = true },
	KEY("name", TEXT, struct ri_profile, name),
	KEY("about", TEXT, struct ri_profile, about),
	KEY("requires", TEXTS, struct ri_profile, requires_types),
	KEY("requires-any", TEXTS, struct ri_profile, requires_any),
	KEY("always", BOOL, struct ri_profile, is_always),
	SECTIONS("headers", struct ri_profile, types, header_schema, .is_mine = is_header),
	SECTIONS("types", struct ri_profile, types, type_schema, .is_mine = is_no_header),
	SECTIONS("groups", struct ri_profile, groups, group_schema),
	KEY("owns", OWNERS, struct ri_profile, owners, .owner_kind = RI_WEIGHT_FIXED, .number = 1),
	KEY("borrows", OWNERS, struct ri_profile, owners, .owner_kind = RI_WEIGHT_FIXED),
	KEY("possible", OWNERS, struct ri_profile, owners, .owner_kind = RI_WEIGHT_POSSIBLE),
	SECTIONS("weights", struct ri_profile, owners, owner_schema),
	SECTIONS("encodings", struct ri_profile, encodings, encoding_schema),
	SECTIONS("arrays", struct ri_profile, arrays, array_schema),
	SECTIONS("unused", struct ri_profile, unused, unused_schema),
	KEY("uncounted", TEXTS, struct ri_profile, uncounted),
	KEY("ledger", LEDGER, struct ri_profile, ledger), END
};

const struct ri_schema ri_schema_profile = {
	.what = "a profile", .size_bytes = sizeof(struct ri_profile), .keys = profile_keys,
	.mark = ABSENT, .field_offset = ABSENT, .is_block = true,
};
