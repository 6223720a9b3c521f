/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies inside a type, at every depth: counted structs and the structs
 * around group heads.  Private to the census floor.
 */
#ifndef RI_CENSUS_NESTED_H
#define RI_CENSUS_NESTED_H

#include "census/shapes.h"

struct ri_nested {
	bool is_head;
	bool is_unused;          /* has pointers to memory that is not in use */
	uint32_t index;          /* the counted type, the group rule, the rule of that memory */
	uint64_t offset_bytes;   /* of the struct, from the start of the outer type */
	uint64_t count, stride_bytes; /* of the innermost array of them; 1, 0: none */
	const char *path;        /* ".conns", ".tables[].conns"; "" at offset 0; interned */
};

typedef RI_VEC(struct ri_nested) ri_nested_list;

/*
 * Appends what `type` contains, itself included, in ascending order of depth
 * first.  Arms of unions are not looked into.  `offset_bytes` is added to all
 * offsets.
 */
void ri_nested_find(struct ri_shapes *shapes, const struct ri_type *type, uint64_t offset_bytes,
		    ri_nested_list *ret);

#endif
