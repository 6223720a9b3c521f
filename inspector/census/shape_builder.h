/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that lay types out share.  Private to shape_*.c. */
#ifndef RI_CENSUS_SHAPE_BUILDER_H
#define RI_CENSUS_SHAPE_BUILDER_H

#include "census/shapes_private.h"
#include "heap/heap.h"

#define RI_SHAPE_MAX_BYTES (64u << 20)

/* A word that a convention or a group rule knows. */
struct ri_shape_mark {
	uint64_t offset;
	enum ri_slot_kind kind;
	bool is_inferred;        /* the rule of a group that nobody declared */
};

/* A shape that is being laid out. */
struct ri_shape_builder {
	struct ri_shapes *shapes;
	RI_VEC(struct ri_slot) slots;
	RI_VEC(struct ri_shape_mark) marks; /* put on the slots at the end */
	enum ri_class_kind kind;
	RI_VEC(char) path;
	const char *inner;       /* the innermost struct's name, or null; its members' paths ... */
	size_t inner_path;       /* ... begin here in path */
	unsigned depth;
	unsigned arms;           /* how many union arms are open */
	uint32_t visits;
};

/* shape_layout.c: appends to the path of the member that is being laid out; returns what
 * ri_shape_pop_path() takes it back to. */
size_t ri_shape_push_path(struct ri_shape_builder *b, const char *separator, const char *text);
void ri_shape_pop_path(struct ri_shape_builder *b, size_t before);

/* Valid until the next one is added. */
struct ri_slot *ri_shape_add_slot(struct ri_shape_builder *b, uint64_t offset,
				  enum ri_slot_kind kind);

/* Whether a word at byte `offset` is none of a shape's: not aligned, or too far away. */
bool ri_shape_is_misplaced(uint64_t offset);

/* Orders struct ri_slot by offset, for qsort and bsearch; sorts slots[first ..). */
int ri_shape_compare_offsets(const void *a, const void *b);
void ri_shape_sort_slots(struct ri_shape_builder *b, size_t first);

/* Lays `type` out from byte `offset` on. */
void ri_shape_lay_out_at(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset);

/* Gives the slots to `shape` and frees the rest. */
void ri_shape_finish(struct ri_shape_builder *b, struct ri_shape *shape);

/* shape_marks.c: marks what is known of a struct that lies at `offset`, of a header and of
 * a link whose struct begins at `base`. */
void ri_shape_mark_struct(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset);
void ri_shape_mark_header(struct ri_shape_builder *b, int64_t base, uint32_t convention);
void ri_shape_mark_link(struct ri_shape_builder *b, int64_t base,
			const struct ri_group_rule *rule);

/* Puts the marks on the slots, which get sorted; where a word has no slot, it gets one. */
void ri_shape_put_marks(struct ri_shape_builder *b);

#endif
