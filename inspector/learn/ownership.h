/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who owns a reference, learned from all objects of a type: for each holder class what
 * one of its holders is worth, and for each object the range in which its count may lie.
 *
 * A class here is finer than a holder class of the census: one pointer array or large
 * block may be a class of its own, pointers into the middle of objects are classes by
 * the place that they point at.
 */
#ifndef RI_LEARN_OWNERSHIP_H
#define RI_LEARN_OWNERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "census/holders.h"
#include "census/population.h"
#include "census/shapes.h"
#include "heap/heap.h"
#include "learn/fit.h"

/* fit.other.changes[].class_index counts from its type's class_first. */
struct ri_learned_class {
	uint32_t holder_class;   /* index into shapes->classes */
	uint32_t container;      /* node that the holders lie in (ri_holders_source()), where that
				  * makes the class; else RI_NONE */
	int64_t target_offset;   /* from the object's P; 0: at the object or its header */
	struct ri_fit_class fit;
};

enum ri_learned_state {
	RI_LEARNED_FITS,         /* holders explain the counts of most objects */
	RI_LEARNED_PARTLY,       /* of less than half: nothing may be said of the others */
	RI_LEARNED_NOT,          /* of hardly any: perhaps it is no reference count */
};

struct ri_learned_type {
	uint32_t type;           /* index into population->types */
	enum ri_learned_state state;
	int8_t bias;             /* what added to all counts has holders explain them, while as they
				  * stand they do not; 0: nothing has.  The rest is said without it */
	struct ri_fit_result result;
	uint32_t class_first, class_count; /* classes[first .. first + count), by name */
	uint32_t owning_first, owning_count; /* owning[first .. first + count), ascending */
	uint64_t surplus, deficit, undecided; /* objects; the rest are as their holders say */
};

struct ri_ownership {
	RI_VEC(struct ri_learned_type) types; /* ascending by type */
	RI_VEC(struct ri_learned_class) classes;
	/* holder classes that own for certain where they point at the object itself */
	RI_VEC(uint32_t) owning;
	/* per object what its holders are worth, [low, high]; high < low: not judged */
	struct ri_fit_range *ranges;
	size_t object_count;
};

struct ri_ownership_input {
	const struct ri_image *image;
	const struct ri_heap *heap;
	const struct ri_population *population;
	const struct ri_shapes *shapes;
	struct ri_holders *holders; /* with in_edges; changed by RI_OWNERSHIP_APPLY alone */
};

enum ri_ownership_wish {
	RI_OWNERSHIP_LEAVE = 0,
	RI_OWNERSHIP_LOOK,       /* learn, and change nothing */
	RI_OWNERSHIP_APPLY,      /* learn, and weigh the type's holders by it */
};

/*
 * Learns the types t with wishes[t] (population->type_count of them) other than LEAVE.
 * What a profile declares is taken as it is.  For APPLY the flags of the edges to the
 * type's objects (RI_EDGE_POSSIBLE, RI_EDGE_BORROWS) and these objects' certain[] and
 * possible[] in `holders` are set to what was learned; where holders do not explain the
 * counts of most objects, no holder is certain, and where they explain hardly any, no
 * count is too high.  Never fails; owned by the caller.
 */
struct ri_ownership *ri_ownership_learn(const struct ri_ownership_input *input,
					const uint8_t *wishes);
void ri_ownership_destroy(struct ri_ownership *ownership);

/* The learned type of `type`, or null. */
const struct ri_learned_type *ri_ownership_find(const struct ri_ownership *ownership,
						uint32_t type);

/* Whether the counts of the type's objects say that holders of the class (index into
 * shapes->classes) own.  A binary search. */
bool ri_ownership_is_owning(const struct ri_ownership *ownership, uint32_t type,
			    uint32_t holder_class);

#endif
