/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inferred types against one another: which are headers that others embed, and
 * which begin with the same members up to the count, as structs that a header
 * macro begins do.  One more pass over the structs; look-up by hash.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/infer_private.h"

/* Inferred types by the hash of something: open addressing over indices + 1. */
struct table {
	uint32_t *slots;
	size_t slot_count;
};

struct relation {
	struct ri_inference *inference;
	struct ri_types *types;
	bool *is_embedded;       /* per inferred type */
};

bool ri_structs_are_one(const struct ri_type *a, const struct ri_type *b)
{
	return a == b || (a && b && a->name && b->name && a->size_bytes == b->size_bytes &&
			  !strcmp(a->name, b->name));
}

static struct table table_create(size_t count)
{
	struct table table = { NULL, 64 };

	while (table.slot_count < 2 * (count + 1))
		table.slot_count *= 2;
	table.slots = ri_calloc(table.slot_count, sizeof(*table.slots));
	return table;
}

uint64_t ri_struct_hash(const struct ri_type *type)
{
	return ri_hash_bytes(type->name, strlen(type->name)) ^ ri_hash_u64(type->size_bytes);
}

size_t ri_inference_slot(const struct ri_inference *inference, const struct ri_type *type)
{
	size_t i = ri_struct_hash(type) & (inference->slot_count - 1);

	while (inference->slots[i] &&
	       !ri_structs_are_one(inference->types.items[inference->slots[i] - 1].type, type))
		i = (i + 1) & (inference->slot_count - 1);
	return i;
}

/* Of several types that are one struct the first keeps the slot. */
static void index_types(struct ri_inference *inference)
{
	struct table table = table_create(inference->types.count);

	inference->slots = table.slots;
	inference->slot_count = table.slot_count;
	for (size_t i = 0; i < inference->types.count; i++) {
		size_t slot = ri_inference_slot(inference, inference->types.items[i].type);

		if (!inference->slots[slot])
			inference->slots[slot] = (uint32_t)i + 1;
	}
}

static bool visit_struct(const struct ri_type *type, void *data)
{
	struct relation *relation = data;

	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_type *below = ri_type_strip(relation->types, type->members[i].type);
		uint32_t found;

		if (below->kind != RI_TYPE_STRUCT || !below->name)
			continue;
		found = relation->inference->slots[ri_inference_slot(relation->inference, below)];
		if (found)
			relation->is_embedded[found - 1] = true;
	}
	return true;
}

/* Hash of the members up to the count, 0 where the count is the first. */
static uint64_t hash_beginning(struct ri_types *types, const struct ri_inferred_type *type)
{
	uint64_t end = type->counts[0].offset_bits, hash = 0;
	size_t used = 0;

	for (size_t i = 0; i < type->type->member_count; i++) {
		const struct ri_member *member = &type->type->members[i];
		const struct ri_type *below = ri_type_strip(types, member->type);

		if (member->offset_bits > end)
			break;
		if (member->name)
			hash ^= ri_hash_bytes(member->name, strlen(member->name));
		hash = ri_hash_u64(hash ^ member->offset_bits ^ (uint64_t)below->kind << 56 ^
				   below->size_bytes << 32);
		used++;
	}
	return used > 1 ? hash | 1 : 0;
}

static void group_conventions(struct ri_inference *inference, struct ri_types *types)
{
	struct table table = table_create(inference->types.count);
	uint64_t *hashes = ri_calloc(inference->types.count, sizeof(*hashes));

	for (size_t i = 0; i < inference->types.count; i++) {
		struct ri_inferred_type *type = &inference->types.items[i];
		size_t slot;

		hashes[i] = hash_beginning(types, type);
		if (!hashes[i] || type->state == RI_INFERRED_POSSIBLE)
			continue;
		slot = hashes[i] & (table.slot_count - 1);
		while (table.slots[slot] && hashes[table.slots[slot] - 1] != hashes[i])
			slot = (slot + 1) & (table.slot_count - 1);
		if (table.slots[slot])
			type->convention = inference->types.items[table.slots[slot] - 1].name;
		else
			table.slots[slot] = (uint32_t)i + 1;
	}
	free(hashes);
	free(table.slots);
}

void ri_inference_relate(struct ri_inference *inference, struct ri_types *types)
{
	struct relation relation = { inference, types,
				     ri_calloc(inference->types.count, sizeof(bool)) };

	index_types(inference);
	ri_types_each_struct(types, visit_struct, &relation);
	for (size_t i = 0; i < inference->types.count; i++)
		inference->types.items[i].is_header =
			relation.is_embedded[i] &&
			ri_name_is_of_header(inference->types.items[i].name);
	group_conventions(inference, types);
	free(relation.is_embedded);
}
