/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The population: every counted object and every group of one target, found
 * from all sides and merged.
 *
 *   sweep       magics and type descriptors, in used blocks and data segments
 *   traversal   typed pointers followed from static variables, through objects
 *               and plain blocks whose type is declared by what points at them
 *   groups      lists walked from both ends, from heads found in variables, in
 *               objects, through back pointers and by magic
 *
 * Nothing here judges: states are recorded, checks turn them into findings.
 */
#ifndef RI_CENSUS_POPULATION_H
#define RI_CENSUS_POPULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "heap/heap.h"
#include "profile/layout.h"

enum { /* how an object was found: ri_object.found */
	RI_FOUND_MAGIC = 1,
	RI_FOUND_DESCRIPTOR = 2,
	RI_FOUND_GROUP = 4,
	RI_FOUND_POINTER = 8,    /* a typed pointer */
	RI_FOUND_VARIABLE = 16,  /* it is, or lies in, a static or thread-local variable */
	RI_FOUND_EMBEDDED = 32,  /* a member of another object */
	RI_FOUND_ASSUMED = 64,   /* the user said so */
	RI_FOUND_CONTENT = 128,  /* lost, and told by size and content alone: census/lost.h */
	RI_FOUND_GUESS = 256,    /* a typed pointer at a doubtful place, and no magic */
	RI_FOUND_HINT = 512,     /* a typed pointer of an object that its magic alone tells */
};

/* Whether nothing but its magic, and the like of it, says that there is an object. */
static inline bool ri_found_by_looks(uint32_t found)
{
	return (found & ~(uint32_t)RI_FOUND_HINT) == RI_FOUND_MAGIC;
}

enum { /* ri_object.state */
	RI_OBJECT_MAGIC_BAD = 1,   /* neither live nor dead magic */
	RI_OBJECT_MAGIC_DEAD = 2,  /* carries the freed magic */
	RI_OBJECT_FREED = 4,       /* its header lies in a free block */
	RI_OBJECT_COUNT_DEAD = 8,
	RI_OBJECT_COUNT_IMPOSSIBLE = 16,
	RI_OBJECT_SATURATED = 32,
	RI_OBJECT_IMMORTAL = 64,
	RI_OBJECT_SUSPECT = 128,   /* known by content alone under an unknown allocator */
	RI_OBJECT_NOT_LEAK = 256,  /* marked by the program: a root, never a leak */
	RI_OBJECT_IGNORE = 512,    /* marked by the program: not audited */
	RI_OBJECT_DESCRIPTOR_BAD = 1024, /* descriptor pointer is not its type's */
	RI_OBJECT_SHARED = 2048,   /* lies in memory shared with other processes */
	RI_OBJECT_STATIC = 4096,   /* lies in a module's data or in a thread-local variable */
	RI_OBJECT_REMNANT = 8192,  /* looks like one, but more says that its block is used for
				    * something else now, or only a doubtful pointer leads there */
};

/* It may be no object at all: its words are possible holders, it has no findings. */
#define RI_OBJECT_DOUBTED_BITS (RI_OBJECT_SUSPECT | RI_OBJECT_REMNANT)

/* Its count or its magic says that it is dead, or its block is free. */
#define RI_OBJECT_DEAD_BITS (RI_OBJECT_MAGIC_DEAD | RI_OBJECT_FREED | RI_OBJECT_COUNT_DEAD)

/* 32 bytes, so that each lies in one cache line. */
struct ri_object {
	uint64_t addr;           /* P: where handles point */
	int64_t count;           /* primary count, decoded */
	uint32_t type;           /* index into population.types[] */
	uint32_t block;          /* index into heap->blocks[], or RI_NONE */
	uint32_t parent;         /* the object whose bytes contain this one, or RI_NONE */
	uint32_t found : 12;     /* RI_FOUND_* */
	uint32_t state : 20;     /* RI_OBJECT_* */
};

/* One place where the neighbours of a group disagree. */
struct ri_group_break {
	uint64_t word_addr;      /* the link word that is wrong */
	uint64_t value;          /* what it holds */
	uint64_t expected;       /* what its neighbour implies; 0: unknown */
	uint64_t node;           /* the node or head that contains the word */
	uint32_t object;         /* that node's object, RI_NONE: the head or no object */
	uint32_t from_head;      /* members passed from the head's side before the break */
	uint32_t from_tail;      /* and from the tail's side; RI_NONE: not reached */
	const char *what;        /* static text: "prev does not lead back", "not mapped", ... */
};

/* One object chained in one group. */
struct ri_membership {
	uint32_t object;
	uint32_t group;
	uint64_t node;           /* address of its link (or external node) */
};

enum { /* ri_group.state */
	RI_GROUP_LOOP = 1,        /* a walk came back to a node without passing the head */
	RI_GROUP_INCOMPLETE = 2,  /* a part between two breaks may be missing */
	RI_GROUP_HEAD_FREED = 4,  /* the head lies in a free block */
	RI_GROUP_HEAD_BAD_MAGIC = 8,
	RI_GROUP_UNINITIALISED = 16, /* links all zero: never used; nothing to check */
};

struct ri_group {
	uint32_t rule;           /* index into layout->groups[] */
	uint64_t head;           /* address of the head */
	uint64_t struct_addr;    /* of the struct around it; == head where none */
	const char *name;        /* "all_conns"; from the rule, its name field or its variable */
	uint32_t object;         /* the counted object that is, or contains, the head; or RI_NONE */
	uint32_t parent;         /* the group that parent_group names, or RI_NONE */
	uint32_t first_member, member_count; /* memberships[first .. first + count), in list order */
	bool has_stored_count;
	int64_t stored_count;
	uint32_t break_first, break_count;   /* breaks[first .. first + count) */
	uint64_t loop_node;      /* with RI_GROUP_LOOP: the node met twice */
	uint64_t slots, slot_count; /* of arrays and hashes: the table that was walked, cut to
				     * the memory that is there; 0, 0: none */
	uint32_t state;          /* RI_GROUP_* */
	struct ri_weight membership; /* resolved: FIXED or POSSIBLE */
};

/* A node that a group chains and that is no element of it. */
struct ri_foreign_node {
	uint32_t group;
	uint64_t node;
};

/* What claimed the address of an object for another type, with less to speak for it. */
struct ri_rival {
	uint32_t object;         /* the one that was kept */
	struct ri_object claim;  /* the other; its `parent` is RI_NONE */
};

/* What a declared pointer or a group leads to, inside a larger block: too little speaks for it. */
struct ri_unproved {
	uint64_t addr;           /* P */
	uint32_t type;
};

/* [start, end) */
struct ri_unused_span {
	uint64_t start, end;
};

struct ri_population {
	/* layout's types, then those that descriptors in memory added */
	struct ri_counted_type *types;
	size_t type_count;
	struct ri_declared_owner **owner_tables; /* that types[].owners point at */
	size_t owner_table_count;
	struct ri_object *objects; /* ascending by start (addr - front), outer before inner */
	size_t object_count;
	/* per object: words that it is longer than its type's extent (items that it counts
	 * itself) or shorter; null: none is */
	int32_t *extra_words;
	struct ri_group *groups;
	size_t group_count;
	struct ri_membership *memberships; /* grouped by group, see ri_group.first_member */
	size_t membership_count;
	/* the same indices by object: memberships member_of[first_of[o] .. first_of[o + 1]) */
	uint32_t *member_of_first, *member_of;
	struct ri_group_break *breaks;
	size_t break_count;
	struct ri_foreign_node *foreign_nodes;
	size_t foreign_node_count;
	struct ri_rival *rivals;
	size_t rival_count;
	struct ri_unproved *unproved; /* as often as something leads there */
	size_t unproved_count;
	/* the group that an object's back pointer names: index, or RI_NONE; and the raw
	 * pointer (0: null or no back pointer) */
	uint32_t *back_group;
	uint64_t *back_pointer;
	/* plain blocks whose type is declared by what points at them: an entry per heap
	 * block; see census/shapes.h */
	struct ri_typed_block *typed_blocks; /* ascending by block */
	size_t typed_block_count;
	/* memory that a profile's structs say is not in use: in no order, may overlap */
	struct ri_unused_span *unused;
	size_t unused_count;
	struct ri_span_index *index; /* over objects[]; see ri_population_find() */
};

/* A used plain block that is known to hold `type` (count > 1: an array), or a
 * pointer array of class `class_index`. */
struct ri_typed_block {
	uint32_t block;
	uint32_t shape;          /* index of its shape in the classes */
	bool is_exact;           /* size fits; false: holders in it are possible */
	bool is_spare_dead;      /* what is left in the spare bytes holds nothing */
	uint64_t spare_bytes;    /* at the block's end, not in use by the array: what is left
				  * there is a possible holder, unless is_spare_dead */
	uint32_t lead_bytes;     /* at the block's start, in front of a table: hold nothing */
};

struct ri_shapes;

struct ri_lost;

/*
 * Finds everything; `lost` (may be null) are objects that an earlier census of the same
 * target showed to be lost.  `shapes` gets the shapes of the types met.  All arguments
 * must outlive the result.  Never fails.
 */
struct ri_population *ri_population_create(const struct ri_target *target,
					   const struct ri_modules *modules,
					   struct ri_types *types, const struct ri_heap *heap,
					   const struct ri_layout *layout,
					   const struct ri_lost *lost, struct ri_shapes *shapes,
					   struct ri_gaps *gaps);
void ri_population_destroy(struct ri_population *population);

/* The innermost object whose bytes contain `addr`, or RI_NONE. */
uint32_t ri_population_find(const struct ri_population *population, uint64_t addr);

/* The bytes of an object: [start, end); a tail up to the end of its block is
 * not included. */
uint64_t ri_object_start(const struct ri_population *population, const struct ri_object *object);
uint64_t ri_object_end(const struct ri_population *population, const struct ri_object *object);

/* The address of its header. */
uint64_t ri_object_header(const struct ri_population *population, const struct ri_object *object);

#endif
