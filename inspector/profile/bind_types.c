/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile's headers and types to conventions: counts, magics, descriptors.
 * Knows what an absent value means (bands by width, signs); which structs carry
 * a convention is bind_embed.c's.
 *
 * A type that names the place of a header in it gets a convention of its own:
 * the header's rules and then its own members, all relative to the header.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/bind.h"

#define INSTANCES_MAX 4096 /* of one generic type */

/* One type while it is being bound. */
struct typing {
	const struct ri_profile_type *from;
	const struct ri_type *type; /* its struct, or null */
	int64_t adjust_bytes;       /* to offsets in the struct: -header offset */
	struct ri_convention *to;
};

/* Counts. */

static unsigned count_bits(const struct ri_count_rule *rule)
{
	unsigned bits = rule->field.bit_size ? rule->field.bit_size : 8u * rule->field.size_bytes;
	uint64_t mask = rule->mask & (bits >= 64 ? UINT64_MAX : (1ull << bits) - 1);

	mask >>= rule->shift;
	return mask ? 64u - (unsigned)__builtin_clzll(mask) : 1;
}

/* Whether the bits that mask and shift leave are a signed number: as declared, but
 * a mask that takes the sign bit away leaves an unsigned one. */
static bool is_signed_count(const struct ri_profile_count *from, const struct ri_count_rule *rule,
			    bool is_fixed)
{
	unsigned bits = rule->field.bit_size ? rule->field.bit_size : 8u * rule->field.size_bytes;

	if (from->sign != RI_SIGN_OF_TYPE)
		return from->sign == RI_SIGN_SIGNED;
	if (!(rule->mask >> (bits - 1) & 1))
		return false;
	return is_fixed || rule->field.is_signed;
}

/* 1 to half of what an int holds, less where the field holds less, 2^62 where it
 * holds more. */
static struct ri_band default_live(const struct ri_count_rule *rule)
{
	bool is_halved = rule->field.is_signed || rule->is_negative;
	unsigned bits = count_bits(rule) - (is_halved && count_bits(rule) > 1);
	int64_t limit = count_bits(rule) > 32 ? (int64_t)1 << 62 : INT32_MAX / 2;
	int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;

	return (struct ri_band){ 1, most < limit ? most : limit };
}

/* A value that was written as the field's bits (0xdeadbeef for an int) becomes
 * the number that is read from them. */
static int64_t as_read(const struct ri_count_rule *rule, int64_t value)
{
	unsigned bits = count_bits(rule);
	int64_t half;

	if (!rule->field.is_signed || rule->is_negative || rule->bias || bits >= 63)
		return value;
	half = (int64_t)1 << (bits - 1);
	return value >= half && value < 2 * half ? value - 2 * half : value;
}

static struct ri_band band_as_read(const struct ri_count_rule *rule, const struct ri_band *from)
{
	struct ri_band band = { as_read(rule, from->low), as_read(rule, from->high) };

	/* a band over the middle of the unsigned range has no such meaning */
	return from->low <= from->high && band.low <= band.high ? band : *from;
}

static const char *const *bind_holders(struct ri_binder *binder, const ri_name_list *from)
{
	const char **patterns;

	if (!from->count)
		return NULL;
	patterns = ri_bind_alloc(binder, from->count + 1, sizeof(*patterns));
	for (size_t i = 0; i < from->count; i++)
		patterns[i] = ri_bind_text(binder, from->items[i].text);
	return patterns;
}

static bool bind_count(struct ri_binder *binder, const struct typing *typing,
		       const struct ri_profile_count *from, struct ri_count_rule *rule)
{
	int64_t *dead;

	if (!ri_bind_field(binder, &from->field, typing->type, typing->adjust_bytes,
			   RI_BIND_INTEGER, &rule->field))
		return false;
	rule->name = ri_bind_text(binder, from->name.text	  ? from->name.text :
					  from->field.member.text ? from->field.member.text :
								    "count");
	rule->mask = from->mask;
	rule->shift = from->shift;
	rule->is_negative = from->is_negative;
	rule->bias = from->bias;
	rule->field.is_signed = is_signed_count(from, rule, from->field.has_offset);
	rule->live = from->live.low <= from->live.high ? band_as_read(rule, &from->live) :
							 default_live(rule);
	rule->saturated = band_as_read(rule, &from->saturated);
	rule->immortal = band_as_read(rule, &from->immortal);
	dead = ri_bind_alloc(binder, from->dead.count, sizeof(*dead));
	for (size_t i = 0; i < from->dead.count; i++)
		dead[i] = as_read(rule, from->dead.items[i]);
	rule->dead = dead;
	rule->dead_count = from->dead.count;
	if (ri_bind_condition(binder, &from->plus, typing->type, typing->adjust_bytes,
			      &rule->plus))
		rule->plus_value = from->plus_value;
	rule->holders = bind_holders(binder, &from->holders);
	return true;
}

/* The header's own counts, then those of the type.  False if there is no first one. */
static bool bind_counts(struct ri_binder *binder, const struct typing *typing)
{
	struct ri_convention *to = typing->to;
	size_t inherited = to->count_count;
	struct ri_count_rule *rules =
		ri_bind_alloc(binder, inherited + typing->from->counts.count, sizeof(*rules));

	if (inherited)
		memcpy(rules, to->counts, inherited * sizeof(*rules));
	to->counts = rules;
	for (size_t i = 0; i < typing->from->counts.count; i++) {
		if (bind_count(binder, typing, &typing->from->counts.items[i],
			       &rules[to->count_count]))
			to->count_count++;
		else if (!to->count_count)
			return false; /* the primary one: without it there is no convention */
	}
	return to->count_count > 0;
}

/* Magics and descriptors. */

static bool bind_magic(struct ri_binder *binder, const struct ri_profile_field *field,
		       const struct ri_type *type, int64_t adjust_bytes, struct ri_magic_rule *rule)
{
	if (!ri_bind_field(binder, field, type, adjust_bytes, RI_BIND_INTEGER, &rule->field))
		return false;
	rule->field.is_signed = false;
	return true;
}

/* Values cut to the width that is read, so that -1 is all bits of any field. */
static const uint64_t *bind_values(struct ri_binder *binder, const ri_u64_list *list,
				   const struct ri_field *field)
{
	unsigned bits = field->bit_size ? field->bit_size : 8u * field->size_bytes;
	uint64_t *values;

	if (!list->count)
		return NULL;
	values = ri_bind_alloc(binder, list->count, sizeof(*values));
	for (size_t i = 0; i < list->count; i++)
		values[i] = bits >= 64 ? list->items[i] : list->items[i] & ((1ull << bits) - 1);
	return values;
}

static void bind_magics(struct ri_binder *binder, const struct typing *typing)
{
	struct ri_convention *to = typing->to;
	size_t inherited = to->magic_count;
	struct ri_magic_rule *rules =
		ri_bind_alloc(binder, inherited + typing->from->magics.count, sizeof(*rules));

	if (inherited)
		memcpy(rules, to->magics, inherited * sizeof(*rules));
	to->magics = rules;
	for (size_t i = 0; i < typing->from->magics.count; i++) {
		const struct ri_profile_magic *from = &typing->from->magics.items[i];
		struct ri_magic_rule *rule = &rules[to->magic_count];

		if (!bind_magic(binder, &from->field, typing->type,
				from->at_end ? 0 : typing->adjust_bytes, rule))
			continue;
		rule->at_end = from->at_end;
		if (from->at_end)
			rule->field.offset_bytes = -rule->field.offset_bytes;
		rule->live = bind_values(binder, &from->live, &rule->field);
		rule->live_count = from->live.count;
		rule->dead = bind_values(binder, &from->dead, &rule->field);
		rule->dead_count = from->dead.count;
		to->magic_count++;
	}
}

static bool names_members(const struct ri_profile_descriptor *from)
{
	return from->magic.member.text || from->name.member.text || from->size.member.text ||
	       from->header_offset.member.text || from->release.member.text ||
	       from->fields.member.text;
}

/* The descriptor's struct: as named, else what the header's member points at. */
static const struct ri_type *find_descriptor(struct ri_binder *binder, const struct typing *typing)
{
	const struct ri_profile_descriptor *from = &typing->from->descriptor;
	struct ri_bound_place place;
	const struct ri_type *type;

	if (from->type.text)
		return ri_bind_struct(binder, &from->type, from->name.member.text, NULL,
				      !names_members(from));
	if (!from->field.member.text || !typing->type ||
	    !ri_bind_place(binder, &from->field, typing->type, &place) || !place.type)
		return NULL;
	type = ri_type_target(binder->types, ri_type_strip(binder->types, place.type));
	type = type ? ri_type_strip(binder->types, type) : NULL;
	return type && type->kind == RI_TYPE_STRUCT ? type : NULL;
}

/* Objects that their descriptors describe in full. */

static void bind_fronts(struct ri_binder *binder, const struct ri_profile_descriptor *from,
			struct ri_descriptor_rule *rule)
{
	struct ri_front_rule *fronts =
		ri_bind_alloc(binder, from->fronts.count, sizeof(*fronts));

	for (size_t i = 0; i < from->fronts.count; i++)
		if (ri_bind_condition(binder, &from->fronts.items[i].condition, rule->type, 0,
				      &fronts[rule->front_count].condition))
			fronts[rule->front_count++].bytes = from->fronts.items[i].bytes;
	rule->fronts = fronts;
}

static void bind_tables(struct ri_binder *binder, const struct ri_profile_descriptor *from,
			struct ri_descriptor_rule *rule)
{
	int64_t *tables = ri_bind_alloc(binder, from->tables.count, sizeof(*tables));

	for (size_t i = 0; i < from->tables.count; i++)
		tables[i] = from->tables.items[i];
	rule->tables = tables;
	rule->table_count = from->tables.count;
}

/* Structs that this version of the program does not have are left out. */
static void bind_structs(struct ri_binder *binder, const struct ri_profile_descriptor *from,
			 struct ri_descriptor_rule *rule)
{
	struct ri_described_struct *structs =
		ri_bind_alloc(binder, from->structs.count, sizeof(*structs));

	for (size_t i = 0; i < from->structs.count; i++) {
		const struct ri_profile_described *item = &from->structs.items[i];
		struct ri_described_struct *to = &structs[rule->struct_count];
		const struct ri_type *shortest = NULL;

		to->type = ri_bind_struct(binder, &item->type, NULL, NULL, true);
		if (!to->type)
			continue;
		if (item->shortest.text)
			shortest = ri_bind_struct(binder, &item->shortest, NULL, NULL, true);
		to->name = ri_bind_text(binder, item->name.text);
		to->least_bytes = shortest ? shortest->size_bytes : to->type->size_bytes;
		rule->struct_count++;
	}
	rule->structs = structs;
}

static void bind_description(struct ri_binder *binder, const struct typing *typing,
			     struct ri_descriptor_rule *rule)
{
	const struct ri_profile_descriptor *from = &typing->from->descriptor;

	ri_bind_field(binder, &from->item_size, rule->type, 0, RI_BIND_INTEGER, &rule->item_size);
	ri_bind_field(binder, &from->base, rule->type, 0, RI_BIND_POINTER, &rule->base);
	ri_bind_field(binder, &from->items, typing->type, typing->adjust_bytes, RI_BIND_INTEGER,
		      &rule->items);
	if (from->items.has_offset)
		rule->items.is_signed = true;
	ri_bind_condition(binder, &from->meta, rule->type, 0, &rule->meta);
	ri_bind_condition(binder, &from->owned_if, rule->type, 0, &rule->owned_if);
	bind_fronts(binder, from, rule);
	bind_tables(binder, from, rule);
	bind_structs(binder, from, rule);
}

static void bind_descriptor(struct ri_binder *binder, const struct typing *typing)
{
	const struct ri_profile_descriptor *from = &typing->from->descriptor;
	struct ri_descriptor_rule *to = &typing->to->descriptor;
	struct ri_descriptor_rule rule = { .is_present = true };
	struct ri_magic_rule magic = { 0 };

	if (!from->is_present || !ri_bind_field(binder, &from->field, typing->type,
						typing->adjust_bytes, RI_BIND_POINTER, &rule.field))
		return;
	rule.vtable = ri_bind_text(binder, from->vtable.text);
	rule.type = find_descriptor(binder, typing);
	if (!rule.type && names_members(from) && from->type.text) {
		*to = (struct ri_descriptor_rule){ 0 }; /* recorded: no such struct */
		return;
	}
	bind_magic(binder, &from->magic, rule.type, 0, &magic);
	rule.magic = magic.field;
	if (magic.field.is_present) {
		rule.magic_live = bind_values(binder, &from->magic_live, &magic.field);
		rule.magic_live_count = from->magic_live.count;
	}
	ri_bind_field(binder, &from->name, rule.type, 0, RI_BIND_TEXT, &rule.name);
	ri_bind_field(binder, &from->size, rule.type, 0, RI_BIND_INTEGER, &rule.size);
	ri_bind_field(binder, &from->header_offset, rule.type, 0, RI_BIND_INTEGER,
		      &rule.header_offset);
	if (from->header_offset.has_offset)
		rule.header_offset.is_signed = true;
	ri_bind_field(binder, &from->release, rule.type, 0, RI_BIND_POINTER, &rule.release);
	ri_bind_field(binder, &from->fields, rule.type, 0, RI_BIND_POINTER, &rule.fields);
	bind_description(binder, typing, &rule);
	*to = rule;
}

/* Conventions. */

static void bind_payload(struct ri_binder *binder, const struct typing *typing,
			 struct ri_root *root)
{
	const struct ri_profile_type *from = typing->from;
	struct ri_bound_place place;

	if (!ri_bind_has_place(&from->payload))
		return;
	root->payload_is_pointer = from->payload_is_pointer;
	if (from->payload_is_pointer) {
		ri_bind_field(binder, &from->payload, typing->type, typing->adjust_bytes,
			      RI_BIND_POINTER, &root->payload);
	} else if (ri_bind_place(binder, &from->payload, typing->type, &place)) {
		root->payload.is_present = true;
		root->payload.offset_bytes = place.offset_bytes + typing->adjust_bytes;
	}
}

/* What may be absent without the convention's being worthless.  What the header
 * already says stays unless the type says it too. */
static void bind_rest(struct ri_binder *binder, const struct typing *typing)
{
	const struct ri_profile_type *from = typing->from;
	struct ri_convention *to = typing->to;
	const struct ri_type *type = typing->type;
	int64_t adjust = typing->adjust_bytes;

	bind_magics(binder, typing);
	bind_descriptor(binder, typing);
	to->is_exact |= from->is_exact;
	to->is_by_looks |= from->is_by_looks;
	to->is_pointer_possible |= from->pointers == RI_POINTERS_POSSIBLE;
	to->is_learned |= from->ownership == RI_OWNERSHIP_LEARNED;
	if (from->poison.count) {
		to->poison = ri_bind_u64s(binder, &from->poison);
		to->poison_count = from->poison.count;
	}
	if (from->not_leak.is_present)
		ri_bind_condition(binder, &from->not_leak, type, adjust, &to->not_leak);
	if (from->ignore.is_present)
		ri_bind_condition(binder, &from->ignore, type, adjust, &to->ignore);
	if (ri_bind_has_place(&from->lock_owner))
		ri_bind_field(binder, &from->lock_owner, type, adjust, RI_BIND_INTEGER,
			      &to->lock_owner);
	if (ri_bind_has_place(&from->name_field))
		ri_bind_field(binder, &from->name_field, type, adjust, RI_BIND_TEXT,
			      &to->name_field);
	if (ri_bind_has_place(&from->index_field))
		ri_bind_field(binder, &from->index_field, type, adjust, RI_BIND_INTEGER,
			      &to->index_field);
}

struct ri_root *ri_bind_find_root(const struct ri_binder *binder, const char *name,
				  bool is_header_only)
{
	const char *bare = ri_bind_bare_name(name);
	struct ri_root *found = NULL;

	for (size_t i = 0; i < binder->bound->roots.count; i++) {
		struct ri_root *root = &binder->bound->roots.items[i];

		if ((is_header_only && !root->is_header) ||
		    (strcmp(root->name, bare) != 0 && strcmp(root->label, bare) != 0))
			continue;
		found = root;
		if (i >= binder->first_root && i < binder->end_root)
			break; /* this profile's own */
	}
	return found;
}

static const struct ri_root *find_header_of_type(struct ri_binder *binder,
						 const struct ri_type *type)
{
	const struct ri_root *found = NULL;

	for (size_t i = 0; i < binder->bound->roots.count; i++) {
		const struct ri_root *root = &binder->bound->roots.items[i];

		if (root->is_header && ri_bind_is_same(binder, root->type, type))
			found = root;
	}
	return found;
}

/* The header that a type says it has, and where in the type's struct it lies. */
static const struct ri_root *find_header(struct ri_binder *binder, const struct typing *typing,
					 int64_t *ret_offset)
{
	const struct ri_profile_type *from = typing->from;
	const struct ri_root *root = NULL;
	struct ri_bound_place place;
	const struct ri_type *type;

	if (!ri_bind_place(binder, &from->header, typing->type, &place))
		return NULL;
	*ret_offset = place.offset_bytes;
	type = place.type ? ri_type_strip(binder->types, place.type) : NULL;
	if (from->header_type.text)
		root = ri_bind_find_root(binder, from->header_type.text, true);
	else if (type)
		root = find_header_of_type(binder, type);
	else
		for (size_t i = binder->first_root; !root && i < binder->end_root; i++)
			if (binder->bound->roots.items[i].is_header)
				root = &binder->bound->roots.items[i];
	if (!root)
		ri_bind_fail(binder,
			     from->header_type.text ? &from->header_type.mark : &from->header.mark,
			     "no header '%s' is declared under 'headers'",
			     from->header_type.text ? from->header_type.text :
			     type && type->name	    ? type->name :
						      "at this offset");
	return root;
}

/* Whether a profile that the user named declares the struct: then the built-in
 * one gives way. */
static bool is_overridden(const struct ri_binder *binder, const struct ri_root *root)
{
	for (size_t i = 0; i < binder->bound->roots.count; i++) {
		const struct ri_root *other = &binder->bound->roots.items[i];

		if (other->is_user && !root->is_user && !strcmp(other->name, root->name))
			return true;
	}
	return false;
}

static void name_root(struct ri_binder *binder, const struct typing *typing, struct ri_root *root)
{
	const struct ri_profile_type *from = typing->from;
	bool is_generic = from->type.text && ri_types_is_generic(from->type.text);

	root->type = typing->type;
	root->is_user = binder->is_user;
	root->is_header = from->is_header;
	root->counted_type = RI_LAYOUT_NONE;
	root->name = ri_bind_text(binder, is_generic ? typing->type->name :
					  from->type.text ? ri_bind_bare_name(from->type.text) :
							    from->label.text);
	root->label = from->label.text ? ri_bind_text(binder, from->label.text) : root->name;
	root->module = ri_bind_text(binder, from->module.text);
	root->size_bytes = typing->type ? typing->type->size_bytes : from->size_bytes;
	root->alignment = from->alignment;
	root->mark = ri_bind_mark(binder, &from->mark);
}

/* Another module's struct of the same name is not what the profile's entry is bound to. */
static void tell_namesake(struct ri_binder *binder, const struct typing *typing,
			  const char *member)
{
	const struct ri_type *other =
		ri_types_find_elsewhere(binder->types, typing->from->type.text, member,
					typing->type);
	const char *path = other && other->module ? other->module->path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (path && member)
		ri_gaps_add(binder->gaps, RI_GAP_TOLD, "profile",
			    "%s has another struct '%s', which is not counted: an entry with "
			    "'module: %s' counts it",
			    path, ri_bind_bare_name(typing->from->type.text),
			    slash ? slash + 1 : path);
}

/* The type's struct; false, and recorded, where it has to be there and is not. */
static bool find_type(struct ri_binder *binder, struct typing *typing)
{
	const struct ri_profile_type *from = typing->from;
	const char *member = from->counts.count ? from->counts.items[0].field.member.text :
						  from->header.member.text;

	if (!from->type.text)
		return true;
	typing->type = ri_bind_struct(binder, &from->type, member, from->module.text,
				      from->size_bytes != 0);
	if (typing->type && !from->module.text && binder->types)
		tell_namesake(binder, typing, member);
	if (typing->type && from->size_bytes && typing->type->size_bytes != from->size_bytes) {
		ri_gaps_add(binder->gaps, RI_GAP_TOLD, "profile",
			    "struct %s of this program has %llu bytes, not the %llu of profile "
			    "'%s'",
			    typing->type->name ? typing->type->name : from->type.text,
			    (unsigned long long)typing->type->size_bytes,
			    (unsigned long long)from->size_bytes, binder->profile->name.text);
		typing->type = NULL;
	}
	return typing->type || from->size_bytes;
}

/* `instance`: of the generic type that the entry names; null: the entry names one struct. */
static void bind_type(struct ri_binder *binder, const struct ri_profile_type *from,
		      const struct ri_type *instance)
{
	struct ri_convention convention = { 0 };
	struct typing typing = { .from = from, .type = instance, .to = &convention };
	struct ri_root root = { 0 };
	const struct ri_root *header;

	if (!instance && !find_type(binder, &typing))
		return;
	name_root(binder, &typing, &root);
	if (is_overridden(binder, &root))
		return;
	root.convention = (uint32_t)binder->layout->conventions.count;
	convention.base = root.convention;
	if (ri_bind_has_place(&from->header)) {
		header = find_header(binder, &typing, &root.header_offset);
		if (!header)
			return;
		convention = binder->layout->conventions.items[header->convention];
		root.payload = header->payload;
		root.payload_is_pointer = header->payload_is_pointer;
		typing.adjust_bytes = -root.header_offset;
	}
	convention.name = root.label;
	convention.is_header = from->is_header;
	convention.mark = root.mark;
	if (!ri_bind_has_place(&from->header)) {
		convention.type = typing.type;
		convention.size_bytes = root.size_bytes;
		convention.alignment = from->alignment;
		convention.may_stand_in_front = from->may_stand_in_front;
	}
	if (!bind_counts(binder, &typing))
		return;
	bind_rest(binder, &typing);
	bind_payload(binder, &typing, &root);
	root.count_offset =
		(uint64_t)(convention.counts[0].field.offset_bytes + root.header_offset);
	*ri_push(&binder->layout->conventions) = convention;
	*ri_push(&binder->bound->roots) = root;
	binder->end_root = binder->bound->roots.count;
}

struct instances {
	struct ri_binder *binder;
	const struct ri_profile_type *from;
	size_t count;
};

static bool bind_instance(const struct ri_type *type, void *data)
{
	struct instances *instances = data;

	if (ri_bind_is_in_module(type, instances->from->module.text))
		bind_type(instances->binder, instances->from, type);
	return ++instances->count < INSTANCES_MAX;
}

/* Where there are none, an entry of a profile that the user named is wrong. */
static void bind_instances(struct ri_binder *binder, const struct ri_profile_type *from)
{
	struct instances instances = { .binder = binder, .from = from };

	if (binder->types)
		ri_types_each_instance(binder->types, from->type.text, bind_instance, &instances);
	if (!instances.count && binder->is_user)
		ri_bind_fail(binder, &from->type.mark, "no instance of '%s'", from->type.text);
	if (instances.count == INSTANCES_MAX)
		ri_bind_fail(binder, &from->type.mark, "more than %d instances of '%s'",
			     INSTANCES_MAX, from->type.text);
}

void ri_bind_types(struct ri_binder *binder)
{
	for (size_t i = 0; i < binder->profile->types.count; i++) {
		const struct ri_profile_type *from = &binder->profile->types.items[i];

		if (from->type.text && ri_types_is_generic(from->type.text))
			bind_instances(binder, from);
		else
			bind_type(binder, from, NULL);
	}
}
