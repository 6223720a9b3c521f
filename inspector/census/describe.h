/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places in the target in words: "conn 0x5581 + 24", "stack of thread 12, frame 3 serve",
 * "variable sessions_by_id + 16", for evidence and listings.  Names that come
 * from target memory are escaped.
 */
#ifndef RI_CENSUS_DESCRIBE_H
#define RI_CENSUS_DESCRIBE_H

#include "census/holders.h"
#include "debug/unwind.h"

/* The stages that a description draws from. */
struct ri_describer {
	const struct ri_target *target;
	const struct ri_modules *modules;
	const struct ri_heap *heap;
	const struct ri_population *population; /* may be null: then only ri_describe_addr() */
	const struct ri_shapes *shapes;
	const struct ri_holders *holders; /* may be null: then only ri_describe_addr() */
	const struct ri_unwind *unwind; /* may be null: then frames have no names */
};

/* The object, block, symbol or mapping that contains `addr`; owned by the caller. */
char *ri_describe_addr(const struct ri_describer *describer, uint64_t addr);

/* A node of the census; owned by the caller. */
char *ri_describe_node(const struct ri_describer *describer, uint32_t node);

/* Where the holder behind an edge lies: "field conn.session of conn 0x5581",
 * "register rbx of thread 12", "member of group all_conns"; owned by the caller. */
char *ri_describe_edge(const struct ri_describer *describer, uint64_t edge);

/* "rbx" for RI_REG_RBX; "vector register" beyond the general ones.  Static text. */
const char *ri_register_name(uint32_t index);

#endif
