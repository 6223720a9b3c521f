/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The census: one sequential sweep over all readable memory and registers;
 * every aligned word that hits an object or a used block becomes an edge, with
 * its source located and its holder class known.
 *
 * Nodes are numbered: objects [0, object_count), heap blocks
 * [object_count, object_count + block_count), regions after those.  A block
 * that holds objects is the source of its words outside them alone; a word that
 * points into a block with one object, but not into the object, is an edge to
 * the object.
 *
 * Link words of the members of recognised groups, and those that lead to one, are
 * no edges: the membership stands for them.  Other link words (of an object that
 * was taken off a list or got lost from it) are edges with RI_EDGE_LINK.
 */
#ifndef RI_CENSUS_HOLDERS_H
#define RI_CENSUS_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "census/population.h"
#include "census/shapes.h"

enum ri_region_kind {
	RI_REGION_MODULE,        /* data of a module */
	RI_REGION_STACK,         /* of a live thread, from SP - 128 */
	RI_REGION_REGISTERS,     /* of a thread: word i is register i */
	RI_REGION_ENDED_STACK,   /* of no live thread: holds nothing */
	RI_REGION_MAPPING,       /* any other readable mapping outside heaps */
	RI_REGION_TLS,           /* a live thread's copy of a module's thread-local variables */
};

/* A source of words outside objects and blocks; every one is a root. */
struct ri_region {
	enum ri_region_kind kind;
	/* [start, end) that was searched (ended stacks: was not); registers: 0, 8 * count */
	uint64_t start, end;
	uint32_t thread;         /* index into target->threads[], or RI_NONE */
	uint32_t module;         /* index of the module, or RI_NONE */
	const char *name;        /* "stack of thread 123", "libfoo.so data"; owned by holders */
};

enum { /* ri_edge.flags */
	RI_EDGE_POSSIBLE = 1,    /* ownership unknown */
	RI_EDGE_INTERIOR = 2,    /* points inside, not at the start or header */
	RI_EDGE_TAGGED = 4,      /* low bits were set */
	RI_EDGE_LINK = 8,        /* link word: reachability of the image, never a holder */
	RI_EDGE_MEMBERSHIP = 16, /* from a group's head to a member: one per membership */
	RI_EDGE_BORROWS = 32,    /* known to own nothing */
	RI_EDGE_EMBEDS = 64,     /* between an object and one embedded in it; from an object to the
				  * rest of its block; from a region to a static or stack object */
	/* why POSSIBLE; ri_holders_weigh() derives POSSIBLE and BORROWS from these and the class */
	RI_EDGE_UNSURE = 128,    /* possible whatever its class is worth: the place or the hit is
				  * doubtful (dead source, interior, block of inexact size) */
	RI_EDGE_UNTYPED = 256,   /* the place is no pointer to what it hits: possible unless its
				  * class is declared */
};

/* There are several per object: twelve bytes, not sixteen. */
struct ri_edge {
	uint32_t target;         /* node: object or block */
	/* which word of the source: (word address - source start rounded down to 8) / 8;
	 * RI_NONE: not a word (membership, embedding) */
	uint32_t word;
	uint32_t class_index : RI_CLASS_BITS; /* into shapes->classes */
	uint32_t flags : 32 - RI_CLASS_BITS;  /* RI_EDGE_* */
};

struct ri_holders {
	uint32_t node_count, object_count, block_count, region_count;
	struct ri_region *regions;
	/* by source: edges[first[n] .. first[n + 1]) */
	struct ri_edge *edges;
	uint32_t *first;
	uint64_t edge_count;
	uint64_t edges_dropped;  /* beyond what 32 bits can number: a gap */
	/* by target, objects alone: edge indices in_edges[in_first[o] .. in_first[o + 1]) */
	uint32_t *in_first;
	uint32_t *in_edges;
	/* per object, for its primary count */
	uint32_t *certain, *possible;
	/* coverage */
	uint64_t bytes_searched;
	uint64_t words_hit;      /* words that point into something, headers and links apart */
	uint64_t bytes_skipped_free;
	uint64_t bytes_skipped_unknown; /* in ranges that the heap walk could not read */
	uint64_t bytes_missing, bytes_untouched;
};

struct ri_holders *ri_holders_create(const struct ri_target *target,
				     const struct ri_modules *modules, struct ri_types *types,
				     const struct ri_heap *heap,
				     const struct ri_population *population,
				     struct ri_shapes *shapes, unsigned thread_count,
				     struct ri_gaps *gaps);
void ri_holders_destroy(struct ri_holders *holders);

/*
 * Sets RI_EDGE_POSSIBLE and RI_EDGE_BORROWS of every edge and certain[] and
 * possible[] of every object from the classes as they are now.  The census ends
 * with it; whoever changes what classes are worth calls it again.
 */
void ri_holders_weigh(struct ri_holders *holders, const struct ri_shapes *shapes);

/*
 * Takes possible holders outside heap, module data and stacks for what they are where the
 * certain ones use the count up (exhausted.c): they own nothing.  After the last
 * ri_holders_weigh().
 */
void ri_holders_settle(struct ri_holders *holders, const struct ri_population *population,
		       const struct ri_shapes *shapes);

/* Tells which back pointers hold objects while no profile says whether they own (backs.c). */
void ri_holders_tell_backs(const struct ri_holders *holders,
			   const struct ri_population *population, const struct ri_shapes *shapes,
			   struct ri_gaps *gaps);

/* The node that is the source of edge `edge` (binary search). */
uint32_t ri_holders_source(const struct ri_holders *holders, uint64_t edge);

/* The address of the edge's word, 0 for a register or a membership. */
uint64_t ri_holders_word_addr(const struct ri_holders *holders,
			      const struct ri_population *population,
			      const struct ri_heap *heap, uint64_t edge);

/*
 * The bound: how many words, at every byte offset in all readable memory (free
 * blocks and dead stack included) and in registers, point anywhere into
 * [start, end); the words of that range itself are left out.  Link words count
 * one by one, so that the answer is no less than what memory can hold.  For
 * suspects only: one pass over memory for all of them.
 */
struct ri_bound_query {
	uint64_t start, end;
	uint64_t words;          /* the answer */
};
void ri_holders_bound(const struct ri_target *target, struct ri_bound_query *queries,
		      size_t query_count);

#endif
