/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open addressing with linear probing over a mixed hash: see address_map.h. */
#include "census/address_map.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/strings.h"
#include "heap/heap.h"

#define FIRST_CAPACITY 64

void ri_address_map_deinit(struct ri_address_map *map)
{
	free(map->keys);
	free(map->values);
	*map = (struct ri_address_map){ 0 };
}

/* The slot of `key`, or the empty one where it would go. */
static size_t find_slot(const struct ri_address_map *map, uint64_t key)
{
	size_t i = ri_hash_u64(key) & (map->capacity - 1);

	while (map->values[i] && map->keys[i] != key)
		i = (i + 1) & (map->capacity - 1);
	return i;
}

uint32_t ri_address_map_find(const struct ri_address_map *map, uint64_t key)
{
	size_t i;

	if (!map->count)
		return RI_NONE;
	i = find_slot(map, key);
	return map->values[i] ? map->values[i] - 1 : RI_NONE;
}

static void double_capacity(struct ri_address_map *map)
{
	struct ri_address_map old = *map;

	map->capacity = old.capacity ? old.capacity * 2 : FIRST_CAPACITY;
	map->keys = ri_malloc(map->capacity * sizeof(*map->keys));
	map->values = ri_calloc(map->capacity, sizeof(*map->values));
	for (size_t i = 0; i < old.capacity; i++) {
		size_t slot;

		if (!old.values[i])
			continue;
		slot = find_slot(map, old.keys[i]);
		map->keys[slot] = old.keys[i];
		map->values[slot] = old.values[i];
	}
	ri_address_map_deinit(&old);
}

void ri_address_map_set(struct ri_address_map *map, uint64_t key, uint32_t value)
{
	size_t i;

	if (map->count * 2 >= map->capacity)
		double_capacity(map);
	i = find_slot(map, key);
	map->count += !map->values[i];
	map->keys[i] = key;
	map->values[i] = value + 1;
}
