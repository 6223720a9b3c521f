/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be done with the schema's tables alone: defaults, freeing, "was it
 * given?".  Knows kinds of members, not what any of them means.
 */
#include "profile/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const struct ri_schema_key *ri_schema_find(const struct ri_schema *schema, const char *name)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		if (!strcmp(key->name, name))
			return key;
	return NULL;
}

static void init_key(const struct ri_schema_key *key, char *member)
{
	switch (key->kind) {
	case RI_SCHEMA_U64:
	case RI_SCHEMA_I64:
		memcpy(member, &key->number, sizeof(key->number));
		break;
	case RI_SCHEMA_BAND:
		*(struct ri_band *)(void *)member = (struct ri_band){ 0, -1 };
		break;
	case RI_SCHEMA_I64S:
		if (key->defaults_to_zero)
			*ri_push((ri_i64_list *)(void *)member) = 0;
		break;
	case RI_SCHEMA_SECTION:
		ri_schema_init(key->section, member);
		break;
	case RI_SCHEMA_WEIGHT:
		ri_schema_init(&ri_schema_weight, member);
		break;
	default:
		break;
	}
}

void ri_schema_init(const struct ri_schema *schema, void *base)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		init_key(key, (char *)base + key->offset);
	if (schema->init)
		schema->init(base);
}

static void deinit_key(const struct ri_schema_key *key, char *member)
{
	struct ri_any_vec vec;

	switch (key->kind) {
	case RI_SCHEMA_SECTION:
		ri_schema_deinit(key->section, member);
		return;
	case RI_SCHEMA_SECTIONS:
	case RI_SCHEMA_TEXTS:
	case RI_SCHEMA_U64S:
	case RI_SCHEMA_I64S:
	case RI_SCHEMA_OWNERS:
		break;
	default:
		return;
	}
	memcpy(&vec, member, sizeof(vec));
	if (key->kind == RI_SCHEMA_SECTIONS)
		for (size_t i = 0; i < vec.count; i++)
			ri_schema_deinit(key->section,
					 (char *)vec.items + i * key->section->size_bytes);
	free(vec.items);
	memset(member, 0, sizeof(vec)); /* other keys may share the array */
}

void ri_schema_deinit(const struct ri_schema *schema, void *base)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		deinit_key(key, (char *)base + key->offset);
}

static bool is_any_given(const struct ri_schema *schema, const void *base)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++)
		if (ri_schema_is_given(key, base))
			return true;
	return false;
}

static bool has_items(const struct ri_schema_key *key, const char *member)
{
	struct ri_any_vec vec;

	memcpy(&vec, member, sizeof(vec));
	if (key->kind == RI_SCHEMA_I64S && key->defaults_to_zero)
		return vec.count != 1 || *(const int64_t *)vec.items != 0;
	if (!key->is_mine)
		return vec.count > 0;
	for (size_t i = 0; i < vec.count; i++)
		if (key->is_mine((const char *)vec.items + i * key->section->size_bytes))
			return true;
	return false;
}

bool ri_schema_is_given(const struct ri_schema_key *key, const void *base)
{
	const char *member = (const char *)base + key->offset;

	if (key->present)
		return *((const bool *)base + key->present - 1);
	switch (key->kind) {
	case RI_SCHEMA_TEXT:
		return ((const struct ri_name *)(const void *)member)->text != NULL;
	case RI_SCHEMA_U64:
	case RI_SCHEMA_I64:
		return memcmp(member, &key->number, sizeof(key->number)) != 0;
	case RI_SCHEMA_UINT:
	case RI_SCHEMA_CHOICE:
		return *(const unsigned *)(const void *)member != 0;
	case RI_SCHEMA_BOOL:
		return *(const bool *)member;
	case RI_SCHEMA_BAND: {
		const struct ri_band *band = (const void *)member;

		return band->low <= band->high;
	}
	case RI_SCHEMA_SECTION:
		return is_any_given(key->section, member);
	case RI_SCHEMA_WEIGHT:
		return ((const struct ri_profile_weight *)(const void *)member)->kind !=
		       RI_WEIGHT_NONE;
	case RI_SCHEMA_VERSION:
		return true;
	case RI_SCHEMA_LEDGER:
		return ((const struct ri_mark *)(const void *)member)->line != 0;
	default:
		return has_items(key, member);
	}
}
