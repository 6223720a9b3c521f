/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes and holder classes: for each type that can hold references, what lies
 * at each 8-byte word of it, and under which name holders there are counted.
 *
 * A holder class is the set of all holders at one place by type: "conn.session",
 * "sessions_by_id[]", "group:all_conns", "stack".  Array indices collapse to
 * "[]".  A class carries what one of its holders is worth.
 */
#ifndef RI_CENSUS_SHAPES_H
#define RI_CENSUS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/layout.h"

/* A class' index takes so many bits, of which the largest value is none. */
#define RI_CLASS_BITS 22
#define RI_CLASSES_MAX ((1u << RI_CLASS_BITS) - 1)

enum ri_class_kind {
	RI_CLASS_FIELD,          /* a typed member of a counted object */
	RI_CLASS_PLAIN_FIELD,    /* a typed member of a plain struct (block or variable) */
	RI_CLASS_VARIABLE,       /* a static variable or an element of one */
	RI_CLASS_ARRAY,          /* an element of a pointer array on the heap */
	RI_CLASS_MEMBERSHIP,     /* being chained in a group */
	RI_CLASS_UNTYPED_OBJECT, /* a word at some offset of an object without DWARF */
	RI_CLASS_UNTYPED_BLOCK,  /* "heap:SIZE+OFFSET", "heap:large" */
	RI_CLASS_TAIL,           /* beyond the typed part of an object's block */
	RI_CLASS_STATIC,         /* module data without a variable */
	RI_CLASS_STACK,
	RI_CLASS_REGISTER,
	RI_CLASS_MAPPING,        /* other anonymous or shared mappings */
};

struct ri_holder_class {
	const char *name;
	enum ri_class_kind kind;
	/* what one holder is worth: certain `weight` times, or possible (0..1) */
	bool is_possible;
	int64_t weight;
	bool is_declared;        /* by a profile or a descriptor, not by the default */
	uint32_t count_index;    /* which of the type's counts it feeds; 0: the primary */
};

enum ri_slot_kind {
	RI_SLOT_OTHER,           /* numbers, characters, padding: a hit is possible, not certain */
	RI_SLOT_POINTER,         /* pointer to the struct `pointee` */
	RI_SLOT_VOID_POINTER,    /* pointer to void, char, function, unknown */
	RI_SLOT_POINTER_ARRAY,   /* pointer to pointers: leads to an array of holders */
	RI_SLOT_LINK,            /* link word of a recognised group: never a holder */
	RI_SLOT_HEAD,            /* head of a recognised group: never a holder */
	RI_SLOT_BACK,            /* back pointer of a member to its group */
	RI_SLOT_HEADER,          /* count, magic, descriptor pointer */
};

/* One word of a shape. */
struct ri_slot {
	uint32_t offset_bytes;   /* multiple of 8, within one element */
	uint8_t kind;            /* enum ri_slot_kind */
	bool in_union;           /* arm unknown: possible */
	bool is_to_numbers;      /* VOID_POINTER: declared to point at numbers or characters */
	bool is_inferred;        /* LINK, HEAD: of a group that nobody declared */
	bool is_opaque;          /* POINTER: by name alone, of several structs of that name */
	uint32_t class_index;    /* of holders here, for hits that fit `pointee` */
	const struct ri_type *pointee; /* POINTER: stripped; POINTER_ARRAY: the element pointer's type */
	uint32_t pointee_type;   /* index of the counted type at the pointee, or RI_NONE */
};

/* A type laid out in words; `element_bytes` long, repeated over the extent. */
struct ri_shape {
	const struct ri_type *type;
	const char *name;        /* "conn", "sessions_by_id" */
	uint64_t element_bytes;
	struct ri_slot *slots;   /* ascending by offset; words that are absent are OTHER */
	size_t slot_count;
	uint32_t *slot_of_word;  /* [element_bytes / 8]: index into slots[], or RI_NONE */
};

struct ri_shapes {
	RI_VEC(struct ri_holder_class) classes;
	RI_VEC(struct ri_shape) shapes;
	const struct ri_layout *layout;
	struct ri_types *types;
	struct ri_strings *strings;
	struct ri_shapes_tables *tables; /* look-up by name and by type */
};

struct ri_shapes *ri_shapes_create(const struct ri_layout *layout, struct ri_types *types);
void ri_shapes_destroy(struct ri_shapes *shapes);

/* The class called `name`, made on first use with the default of its kind and
 * then the layout's owner rules applied. */
uint32_t ri_shapes_class(struct ri_shapes *shapes, const char *name, enum ri_class_kind kind);

/*
 * The shape of `type` under the display name `name` (holder classes are
 * "NAME.path"), made on first use.  `kind` is the class kind of its pointer
 * members; `convention` and `header_offset` mark header and link words for a
 * counted type (RI_LAYOUT_NONE for others).
 */
uint32_t ri_shapes_shape(struct ri_shapes *shapes, const struct ri_type *type, const char *name,
			 enum ri_class_kind kind);

/* The shape of counted type `index` (`type` is population.types[index]).  Its
 * offsets count from the object's start, ri_object_start(): a header in front of
 * the payload has its words too. */
uint32_t ri_shapes_counted(struct ri_shapes *shapes, const struct ri_counted_type *type,
			   uint32_t index);

/* Makes `type` known as the struct of counted type `index`, which a descriptor
 * in memory added to the layout's: pointers to it are pointers to counted
 * objects in every shape made from now on. */
void ri_shapes_add_counted(struct ri_shapes *shapes, const struct ri_counted_type *type,
			   uint32_t index);

/* The counted type whose struct `type` (stripped) is, or RI_NONE.  Units of one
 * program that define the same struct name the same counted type. */
uint32_t ri_shapes_find_counted(const struct ri_shapes *shapes, const struct ri_type *type);

/*
 * What a pointer to `type` (stripped, may be null) is taken for a pointer to: where it is
 * declared only, several different structs of its name exist and one of them is counted,
 * that one; else `type` itself.
 */
const struct ri_type *ri_shapes_resolve_opaque(const struct ri_shapes *shapes,
					       const struct ri_type *type);

/* Whether two stripped structs or unions are the same one, perhaps read from
 * two units: by name, size, and the members' names and offsets. */
bool ri_types_are_same(const struct ri_type *a, const struct ri_type *b);

/* The shape of an array of pointers whose elements have class `class_name` and
 * point at `pointee` (null: void). */
uint32_t ri_shapes_pointer_array(struct ri_shapes *shapes, const char *class_name,
				 const struct ri_type *pointee);

/* The slot at byte `offset` of a shape (repeats by element_bytes), or null. */
const struct ri_slot *ri_shape_slot(const struct ri_shape *shape, uint64_t offset_bytes);

#endif
