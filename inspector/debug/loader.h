/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the two halves of the type loader, loader.c and members.c. */
#ifndef RI_DEBUG_LOADER_H
#define RI_DEBUG_LOADER_H

#include "debug/types_private.h"

#define RI_TYPE_MAX_BYTES ((uint64_t)1 << 40)

/* One load, from the outermost type inwards. */
struct loader {
	struct ri_types *types;
	uint32_t module;
	int depth;
};

/* A new node of `module`, owned by `types`. */
struct ri_type_node *ri_loader_create_node(struct ri_types *types, uint32_t module);

/* The type that `die` describes; a node with is_loading set when it is further
 * up the call stack. */
struct ri_type_node *ri_loader_load_die(struct loader *loader, Dwarf_Die *die);

/* The type of the DIE's DW_AT_type, held by value. */
struct ri_type_node *ri_loader_load_value(struct loader *loader, Dwarf_Die *die);

/* The inside of a struct, class or union. */
void ri_loader_fill_aggregate(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die);

/* Counts what cannot be true in the gaps. */
void ri_loader_tell_lie(struct loader *loader, Dwarf_Die *die, const char *what);

#endif
