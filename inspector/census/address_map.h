/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A map from 64-bit keys (addresses, pointers, hashes) to 32-bit indices: open
 * addressing, at most half full, 12 bytes a slot.  For thousands of entries, or
 * for those few of millions that a sorted array does not hold.
 */
#ifndef RI_CENSUS_ADDRESS_MAP_H
#define RI_CENSUS_ADDRESS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ri_address_map {
	uint64_t *keys;
	uint32_t *values;        /* value + 1; 0: the slot is empty */
	size_t count, capacity;  /* capacity: a power of two, or 0 */
};

/* An all-zero map is empty and ready. */
void ri_address_map_deinit(struct ri_address_map *map);

/* The value of `key`, or RI_NONE. */
uint32_t ri_address_map_find(const struct ri_address_map *map, uint64_t key);

/* Sets the value (below RI_NONE) of `key`, replacing an earlier one. */
void ri_address_map_set(struct ri_address_map *map, uint64_t key, uint32_t value);

#endif
