/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What shapes.c and shape_*.c share.  Private to them. */
#ifndef RI_CENSUS_SHAPES_PRIVATE_H
#define RI_CENSUS_SHAPES_PRIVATE_H

#include "census/address_map.h"
#include "census/shapes.h"

/* A counted type by its struct. */
struct ri_counted_struct {
	const struct ri_type *type;
	uint32_t index;          /* of the counted type */
	uint32_t convention;
	int64_t header_offset;
	uint32_t next;           /* with the same signature, or RI_NONE */
};

struct ri_shapes_tables {
	struct ri_address_map class_of_name;   /* interned name (its pointer) to classes[] */
	struct ri_address_map shape_of_key;    /* hash of type, name and kind to shapes[] */
	struct ri_address_map struct_of_sign;  /* signature to structs[] */
	struct ri_address_map struct_of_type;  /* type (its pointer) to structs[], a cache */
	RI_VEC(struct ri_counted_struct) structs;
	RI_VEC(uint32_t) shape_of_counted;     /* by counted type: shape + 1, 0: not made */
};

/* A class whose default worth is the caller's instead of its kind's.  The
 * layout's owner rules still override it. */
uint32_t ri_shapes_class_worth(struct ri_shapes *shapes, const char *name,
			       enum ri_class_kind kind, bool is_possible, int64_t weight,
			       bool is_declared);

/* Lets the rules that name `place`, the struct and member that a class' holders lie in
 * ("ns::handle.pointer"), decide about it where none names the class itself. */
void ri_shapes_rule_by_place(struct ri_shapes *shapes, uint32_t index, const char *place);

/* The entry of a counted struct, or null. */
const struct ri_counted_struct *ri_shapes_find_struct(const struct ri_shapes *shapes,
						      const struct ri_type *type);

/* Whether a pointer to counted type `counted` (index, or RI_NONE) is a possible holder unless
 * it is declared. */
bool ri_shapes_is_undecided(const struct ri_shapes *shapes, uint32_t counted);

/* shape_layout.c: lays `type` out from byte `offset_bytes` of `shape` on, with
 * classes "NAME.path"; shape_counted.c: a counted type with the words of its header. */
void ri_shape_lay_out(struct ri_shapes *shapes, struct ri_shape *shape,
		      const struct ri_type *type, uint64_t offset_bytes, const char *name,
		      enum ri_class_kind kind);
void ri_shape_lay_out_counted(struct ri_shapes *shapes, struct ri_shape *shape,
			      const struct ri_counted_type *type, uint32_t index);

/* Fills slot_of_word from the slots, which it sorts. */
void ri_shape_index(struct ri_shape *shape);

#endif
