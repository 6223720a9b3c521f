/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the traversal share.  Private to them. */
#ifndef RI_CENSUS_TRAVERSE_PRIVATE_H
#define RI_CENSUS_TRAVERSE_PRIVATE_H

#include "census/finder.h"
#include "census/nested.h"

/* What to do with an element of a shape. */
struct ri_plan {
	bool is_made;
	uint32_t *slots;          /* those to follow */
	size_t slot_count, slot_capacity;
	ri_nested_list nested;
};

typedef RI_VEC(struct ri_plan) ri_plan_list; /* by shape */

/* traverse_plans.c: the plan of a shape whose elements are of `type`; null: of no struct.
 * Valid until the next plan is asked for. */
const struct ri_plan *ri_plan_of(struct ri_finder *finder, ri_plan_list *plans, uint32_t shape,
				 const struct ri_type *type);

/* The plan of a counted type: what it embeds has other headers than its own. */
const struct ri_plan *ri_plan_of_counted(struct ri_finder *finder, ri_plan_list *plans,
					 uint32_t shape, uint32_t index);
void ri_plans_deinit(ri_plan_list *plans);

/* Whether a field table or an owner rule declares the word to own something. */
bool ri_plan_is_declared_owner(const struct ri_shapes *shapes, const struct ri_slot *slot);

/* traverse_nested.c: adds what is nested in an element at `addr`.  Heads are called
 * `prefix` and their path, with indices if `is_variable`. */
void ri_plan_add_nested(struct ri_finder *finder, const struct ri_plan *plan, uint64_t addr,
			const char *prefix, bool is_variable, uint32_t found);

/* Heads in what may be one more element of an array that one alone would fill as well. */
void ri_plan_add_heads_beyond(struct ri_finder *finder, const struct ri_plan *plan, uint64_t addr,
			      const char *prefix);

/*
 * pointees.c: a pointer to counted struct `type` that leads to no known object:
 * adds one if there is one.  `is_sound`: its holder is certain to hold it.
 */
void ri_pointee_counted(struct ri_finder *finder, uint64_t value, uint32_t type, bool is_sound);

/* The same from a place that is not sound, where the type has a magic or `value` leads
 * into no block; else false, and nothing is done. */
bool ri_pointee_by_magic(struct ri_finder *finder, uint64_t value, uint32_t type);

/* The same for an untyped word that is declared to own an object of any type of
 * `convention` (RI_NONE: of any): adds freed ones, since live ones are known. */
void ri_pointee_owned(struct ri_finder *finder, uint64_t value, uint32_t convention);

/* Where a pointer was found. */
struct ri_pointer_place {
	const struct ri_slot *slot;
	uint64_t addr;              /* of the element that has the slot */
	const struct ri_type *type; /* the struct of the element, or null; ... */
	uint64_t type_offset;       /* ... at that offset in it */
};

/* typed_blocks.c: gives the block at `value` the type that a pointer to a plain
 * struct, or to pointers, says it has; from a place that is not sound nothing in it is
 * certain.  The index into finder->typed if that is to be examined (anew), else RI_NONE. */
uint32_t ri_typed_block_claim(struct ri_finder *finder, uint64_t value,
			      const struct ri_pointer_place *place, bool is_sound);

/* Gives the used block that starts at `value` the struct `type`, called `name` if it has no
 * name of its own, for certain.  The index into finder->typed, or RI_NONE: no such block, or
 * a counted object is there. */
uint32_t ri_typed_block_assume(struct ri_finder *finder, uint64_t value,
			       const struct ri_type *type, const char *name);

/* traverse.c: has finder->typed[typed] examined. */
void ri_traversal_add_block(struct ri_traversal *traversal, uint32_t typed);

/* Whether the used block that starts at `value` holds an object, sure or not. */
bool ri_typed_block_is_taken(const struct ri_finder *finder, uint64_t value);

/* The same for a block of which a magic alone says that it holds an object, where the
 * pointer is sound: the object gives way to what fits the block.  `object` is one that starts
 * the block, or RI_NONE; if its struct begins with what the pointer leads to, it stays. */
uint32_t ri_typed_block_take(struct ri_finder *finder, uint64_t value,
			     const struct ri_pointer_place *place, uint32_t object);

/* The same for a word that leads to a table of pointers to `pointee` which goes on to the end of
 * its block; what lies in front of it there is none of them. */
uint32_t ri_typed_block_table(struct ri_finder *finder, uint64_t value, const char *class_name,
			      const struct ri_type *pointee);

/* Notes that something else than a counted object is said to start at `value`. */
void ri_typed_block_contest(struct ri_finder *finder, uint64_t value);

/* Whether its elements are pointers by themselves. */
bool ri_typed_block_is_array(const struct ri_finder *finder, uint32_t shape);

/*
 * vectors.c: how many of the `capacity` elements of `element_bytes` at `start`
 * are in use, judged from what lies beside the pointer at `place`: the end
 * pointers of a C++ vector, or a counter.  `is_null(data, i)`: element i holds
 * nothing.  False where nothing says it; *ret_is_dead: what lies behind was
 * destroyed, and is not merely unknown.
 */
bool ri_vector_length(struct ri_finder *finder, const struct ri_pointer_place *place,
		      uint64_t start, uint64_t capacity, uint64_t element_bytes,
		      bool (*is_null)(void *data, uint64_t i), void *data, uint64_t *ret,
		      bool *ret_is_dead);

#endif
