/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The name index.
 *
 * Entries lie in one array in the order of the walk; those of one name are
 * chained, and a hash table leads to the chains.  The same struct stands in as
 * many units as include its header; which entries are the same is found out
 * per name, and only when the name is asked for, because it takes a walk over
 * the members.  Members' names and offsets are compared rather than the file
 * name, which would cost a parse of every unit's line table and would take
 * two configurations of one header for the same.
 *
 * Cost: linear to build; O(n log n) in the entries of a name that is asked for.
 */
#include "debug/names.h"

#include <stdlib.h>
#include <string.h>

#include "debug/modules_private.h"

struct die_slot {
	const void *key, *value;
};

struct ri_die_map {
	struct die_slot *slots;
	size_t count, capacity;  /* capacity is a power of two */
};

struct ri_die_map *ri_die_map_create(void)
{
	struct ri_die_map *map = ri_calloc(1, sizeof(*map));

	map->capacity = 1024;
	map->slots = ri_calloc(map->capacity, sizeof(*map->slots));
	return map;
}

void ri_die_map_destroy(struct ri_die_map *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map);
}

static size_t find_slot(const struct ri_die_map *map, const void *key)
{
	size_t i = ri_hash_u64((uint64_t)(uintptr_t)key) & (map->capacity - 1);

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return i;
}

void ri_die_map_put(struct ri_die_map *map, const void *die_addr, const void *value)
{
	size_t i;

	if (map->count * 2 >= map->capacity) {
		struct ri_die_map old = *map;

		map->capacity *= 2;
		map->slots = ri_calloc(map->capacity, sizeof(*map->slots));
		for (i = 0; i < old.capacity; i++)
			if (old.slots[i].key)
				map->slots[find_slot(map, old.slots[i].key)] = old.slots[i];
		free(old.slots);
	}
	i = find_slot(map, die_addr);
	if (map->slots[i].key)
		return;
	map->slots[i].key = die_addr;
	map->slots[i].value = value;
	map->count++;
}

void *ri_die_map_find(const struct ri_die_map *map, const void *die_addr)
{
	return (void *)map->slots[find_slot(map, die_addr)].value;
}

void ri_names_init(struct ri_names *names, const struct ri_modules *modules, struct ri_gaps *gaps)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(modules, &count);

	*names = (struct ri_names){ .modules = modules, .gaps = gaps };
	names->slot_count = 1024;
	names->slots = ri_malloc(names->slot_count * sizeof(*names->slots));
	memset(names->slots, 0xff, names->slot_count * sizeof(*names->slots));
	names->scopes = ri_die_map_create();
	names->anonymous = ri_die_map_create();
	names->strings = ri_strings_create();
	for (size_t i = 0; i < count; i++)
		if (list[i].has_dwarf)
			ri_names_walk_module(names, &list[i]);
}

void ri_names_deinit(struct ri_names *names)
{
	ri_vec_deinit(&names->entries);
	ri_vec_deinit(&names->groups);
	ri_vec_deinit(&names->variables);
	ri_vec_deinit(&names->thread_variables);
	free(names->slots);
	ri_die_map_destroy(names->scopes);
	ri_die_map_destroy(names->anonymous);
	ri_strings_destroy(names->strings);
}

static uint32_t *find_group_slot(const struct ri_names *names, const char *name, size_t length)
{
	size_t i = ri_hash_bytes(name, length) & (names->slot_count - 1);

	while (names->slots[i] != RI_NAMES_NONE) {
		const char *other = names->groups.items[names->slots[i]].name;

		if (!strncmp(other, name, length) && !other[length])
			break;
		i = (i + 1) & (names->slot_count - 1);
	}
	return &names->slots[i];
}

static void grow_slots(struct ri_names *names)
{
	names->slot_count *= 2;
	names->slots = ri_realloc(names->slots, names->slot_count, sizeof(*names->slots));
	memset(names->slots, 0xff, names->slot_count * sizeof(*names->slots));
	for (uint32_t i = 0; i < names->groups.count; i++) {
		const char *name = names->groups.items[i].name;

		*find_group_slot(names, name, strlen(name)) = i;
	}
}

void ri_names_add(struct ri_names *names, const struct ri_name_entry *entry)
{
	uint32_t index = (uint32_t)names->entries.count, *slot;
	struct ri_name_entry *added;
	struct ri_name_group *group;

	if (index == RI_NAMES_NONE)
		return;
	slot = find_group_slot(names, entry->name, strlen(entry->name));
	if (*slot == RI_NAMES_NONE) {
		*slot = (uint32_t)names->groups.count;
		group = ri_push(&names->groups);
		group->name = entry->name;
		group->first = index;
	} else {
		group = &names->groups.items[*slot];
		names->entries.items[group->last].next = index;
	}
	group->last = index;
	group->count++;
	added = ri_push(&names->entries);
	*added = *entry;
	added->group = *slot;
	added->next = RI_NAMES_NONE;
	if (names->groups.count * 2 >= names->slot_count)
		grow_slots(names);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return ri_hash_u64(hash ^ value) + value;
}

static int sign_attribute(Dwarf_Attribute *attr, void *data)
{
	uint64_t *hash = data;
	unsigned which = dwarf_whatattr(attr);
	const char *name;
	Dwarf_Word value;

	switch (which) {
	case DW_AT_name:
		name = dwarf_formstring(attr);
		if (name)
			*hash = mix(*hash, ri_hash_bytes(name, strlen(name)));
		break;
	case DW_AT_data_member_location:
	case DW_AT_bit_size:
	case DW_AT_data_bit_offset:
	case DW_AT_bit_offset:
		if (!dwarf_formudata(attr, &value))
			*hash = mix(*hash, value + which);
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

/* Over the members' names and places; two structs that agree in these, in size
 * and in line are the same for our purposes. */
static uint64_t sign_members(Dwarf_Die *die)
{
	uint64_t hash = 1;
	Dwarf_Die child;

	for (bool ok = ri_die_next_child(die, true, &child); ok;
	     ok = ri_die_next_child(die, false, &child)) {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_member && tag != DW_TAG_inheritance && tag != DW_TAG_variant_part)
			continue;
		hash = mix(hash, (uint64_t)tag);
		dwarf_getattrs(&child, sign_attribute, &hash, 0);
	}
	return hash;
}

static void sign(struct ri_name_entry *entry)
{
	Dwarf_Die die = ri_die_open(entry->die), target;
	const char *name;

	if (entry->has_signature)
		return;
	entry->has_signature = true;
	if (ri_tag_is_aggregate(entry->tag)) {
		entry->signature = sign_members(&die);
	} else if (entry->tag == DW_TAG_typedef &&
		   ri_die_reference(&die, DW_AT_type, false, &target)) {
		name = dwarf_diename(&target);
		entry->signature = mix(name ? ri_hash_bytes(name, strlen(name)) : 0,
				       (uint64_t)dwarf_tag(&target));
		if (!name && ri_tag_is_aggregate(dwarf_tag(&target)))
			entry->signature = mix(entry->signature, sign_members(&target));
	}
}

#define COMPARE_FIELD(field)                                                                       \
	if (left->field != right->field)                                                           \
		return left->field < right->field ? -1 : 1

static int compare_same(const struct ri_name_entry *left, const struct ri_name_entry *right)
{
	COMPARE_FIELD(module);
	COMPARE_FIELD(tag);
	COMPARE_FIELD(scope);
	COMPARE_FIELD(size_bytes);
	COMPARE_FIELD(decl_line);
	COMPARE_FIELD(signature);
	return 0;
}

static int compare_entries(const void *a, const void *b, void *data)
{
	const struct ri_name_entry *entries = data;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int order = compare_same(&entries[left], &entries[right]);

	return order ? order : left < right ? -1 : left > right;
}

/* So that later walks over the chain are as long as it has different entries. */
static void unchain_duplicates(struct ri_name_group *group, struct ri_name_entry *entries)
{
	uint32_t last = group->first; /* the first one is never a duplicate */

	group->count = 1;
	for (uint32_t i = entries[last].next; i != RI_NAMES_NONE; i = entries[i].next)
		if (!entries[i].is_duplicate) {
			entries[last].next = i;
			last = i;
			group->count++;
		}
	entries[last].next = RI_NAMES_NONE;
	group->last = last;
}

void ri_names_mark_duplicates(struct ri_names *names, uint32_t group_index)
{
	struct ri_name_group *group = &names->groups.items[group_index];
	struct ri_name_entry *entries = names->entries.items;
	uint32_t *order, count = 0;

	if (group->is_unique)
		return;
	group->is_unique = true;
	if (group->count == 1)
		return;
	order = ri_calloc(group->count, sizeof(*order));
	for (uint32_t i = group->first; i != RI_NAMES_NONE; i = entries[i].next) {
		sign(&entries[i]);
		order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), compare_entries, entries);
	for (uint32_t i = 1; i < count; i++)
		entries[order[i]].is_duplicate =
			!compare_same(&entries[order[i - 1]], &entries[order[i]]);
	free(order);
	unchain_duplicates(group, entries);
}

const struct ri_name_group *ri_names_find(struct ri_names *names, const char *name, size_t length)
{
	uint32_t group = *find_group_slot(names, name, length);

	if (group == RI_NAMES_NONE)
		return NULL;
	ri_names_mark_duplicates(names, group);
	return &names->groups.items[group];
}

static bool is_same_kind(int a, int b)
{
	return a == b || (ri_tag_is_struct(a) && ri_tag_is_struct(b));
}

uint32_t ri_names_find_definition(struct ri_names *names, uint32_t module, int tag,
				  const char *name, const char *scope)
{
	const struct ri_name_group *group = ri_names_find(names, name, strlen(name));
	struct ri_name_entry *entries = names->entries.items;
	uint32_t found[2] = { RI_NAMES_NONE, RI_NAMES_NONE }; /* in the module, elsewhere */
	bool differ[2] = { false, false };

	for (uint32_t i = group ? group->first : RI_NAMES_NONE; i != RI_NAMES_NONE;
	     i = entries[i].next) {
		struct ri_name_entry *entry = &entries[i];
		bool is_elsewhere = entry->module != module;
		uint32_t *first = &found[is_elsewhere];

		if (entry->is_duplicate || entry->is_local || !is_same_kind(entry->tag, tag) ||
		    entry->scope != scope)
			continue;
		if (*first == RI_NAMES_NONE) {
			*first = i;
			continue;
		}
		sign(entry);
		sign(&entries[*first]);
		if (entry->size_bytes != entries[*first].size_bytes ||
		    entry->signature != entries[*first].signature)
			differ[is_elsewhere] = true;
	}
	if (found[0] != RI_NAMES_NONE)
		return differ[0] ? RI_NAMES_NONE : found[0];
	return differ[1] ? RI_NAMES_NONE : found[1];
}
