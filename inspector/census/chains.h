/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak chains: leak roots that are alike, and what hangs on them by type.
 *
 * What hangs on a root, or on all roots that are alike, is what every way from the leak
 * roots leads through it to: freed, it would go with it.  What roots of different kinds
 * share hangs on none of them.
 */
#ifndef RI_CENSUS_CHAINS_H
#define RI_CENSUS_CHAINS_H

#include "census/graph.h"

/* Objects of one type that hang on something. */
struct ri_chain_part {
	uint32_t type;           /* index into population->types[] */
	uint64_t count, bytes;   /* bytes of their blocks */
	uint32_t class_index;    /* the class of most of the holders that keep them there, or
				  * RI_NONE: none but blocks around them; ... */
	uint64_t class_count;    /* ... how many holders of that class there are, ... */
	uint32_t class_others;   /* ... and how many other classes hold any */
};

typedef RI_VEC(struct ri_chain_part) ri_chain_part_list;

struct ri_chain {
	bool is_plain;           /* the roots are used blocks without counted objects */
	bool is_cyclic;          /* they are the smallest objects of cycles */
	uint32_t type;           /* of the roots; of a cycle its members' first by name */
	uint32_t shape;          /* is_plain: of the blocks, or RI_NONE: not typed */
	uint64_t block_bytes;    /* is_plain and not typed: the size of each */
	uint32_t first_root, root_count; /* roots[first_root .. first_root + root_count) */
	uint64_t own_count, own_bytes; /* the roots; of cycles all their members */
	uint64_t plain_count, plain_bytes; /* blocks without counted objects behind them */
	size_t first_part, part_count; /* parts[first_part .. first_part + part_count) */
	uint32_t place, size;    /* order[place .. place + size), itself first */
};

/* Numbers of what hangs on one lost object or block, itself not counted. */
struct ri_hanging {
	uint64_t object_count, plain_count, bytes;
};

struct ri_chains {
	struct ri_chain *items;  /* those of objects first; then by what hangs on them */
	size_t count;
	uint32_t *roots;         /* nodes as in holders.h, ascending within a chain */
	ri_chain_part_list parts; /* of each chain, most objects first */
	uint64_t *lost_of_type;  /* per type: lost objects, roots included */
	/* lost nodes, ascending; what hangs on nodes[i] is
	 * order[place[i] + 1 .. place[i] + size[i]), node numbers again */
	uint32_t *nodes;
	size_t node_count;
	uint32_t *place, *size;
	uint32_t *order;         /* the dominator tree, each node followed by what is below it;
				  * RI_NONE: no node of the census */
	uint64_t *bytes;         /* by place: lost with that node alone */
	bool *is_own;            /* by place: a root, or a member of its cycle */
	uint32_t *index_of;      /* per object and block: index in nodes[]; null: few are lost */
	size_t index_count;
	uint32_t *part_of_type;  /* per type: scratch, RI_NONE between calls */
	const struct ri_holders *holders;
	const struct ri_population *population;
};

/* `graph` must be complete; `holders` and `population` must outlive the result.  Linear in
 * what is unreachable but for sorting, and a pass over the nodes.  Never fails. */
struct ri_chains *ri_chains_create(const struct ri_holders *holders,
				   const struct ri_population *population,
				   const struct ri_heap *heap, const struct ri_graph *graph);
void ri_chains_destroy(struct ri_chains *chains);

/* What hangs on `node`; zeros where it is not lost.  `chains` may be null. */
struct ri_hanging ri_chains_measure(const struct ri_chains *chains, uint32_t node);

/* Appends what hangs on `node` by type, most first; of a cycle's root without the members. */
void ri_chains_list_parts(const struct ri_chains *chains, uint32_t node,
			  ri_chain_part_list *parts);

#endif
