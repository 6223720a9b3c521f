/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies behind debug/types.h: the index of names, the loaded types, and
 * the loader that makes the one from the other.
 */
#ifndef RI_DEBUG_TYPES_PRIVATE_H
#define RI_DEBUG_TYPES_PRIVATE_H

#include "debug/names.h"
#include "debug/types.h"

struct ri_type_node {
	struct ri_type type;     /* first: a pointer to it is a pointer to the node */
	int tag;                 /* DW_TAG_*, for spelling; 0: void or unknown */
	bool is_loading;         /* it is being loaded further up the call stack */
	bool is_named_by_typedef; /* an anonymous struct that goes by its typedef's name */
	struct ri_die die;       /* its own; null address: none */
	bool has_target;         /* pointer, array, typedef, qualified, function */
	struct ri_die target_die; /* null address: void */
	struct ri_type_node *target; /* null: not loaded yet */
	uint64_t *dimensions;    /* ARRAY: element counts, outermost first */
	size_t dimension_count;
	struct ri_member *members;
	const char *spelling;    /* interned, once asked for */
};

struct ri_locals;

struct ri_types {
	struct ri_names names;
	struct ri_gaps *gaps;
	struct ri_die_map *nodes; /* DIE -> struct ri_type_node */
	RI_VEC(struct ri_type_node *) all;
	struct ri_type_node *void_node, *unknown_node;
	uint32_t *variables_by_name; /* indices into names.variables, sorted; or null */
	size_t variable_count;   /* after duplicates are gone */
	size_t thread_variable_count;
	struct ri_locals *locals; /* null: frames are not known (locals.c) */
};

/*
 * The type that `die` describes, loaded with all that it holds by value; never
 * null.  `module` is the module on whose behalf it is loaded.
 */
struct ri_type_node *ri_loader_load(struct ri_types *types, uint32_t module, struct ri_die die);

/* The type of the DIE's DW_AT_type (integrated), void where it has none. */
struct ri_type_node *ri_loader_load_type_of(struct ri_types *types, uint32_t module,
					    struct ri_die die);

/* What the node refers to, loaded now; null for kinds that refer to nothing. */
struct ri_type_node *ri_loader_target(struct ri_types *types, struct ri_type_node *node);

/* Creates and frees the loader's part of `types`. */
void ri_loader_init(struct ri_types *types);
void ri_loader_deinit(struct ri_types *types);

/* Sorts the variables by address, one per address (variables.c). */
void ri_variables_init(struct ri_types *types);
void ri_variables_deinit(struct ri_types *types);

/* Forgets the frames (locals.c). */
void ri_locals_deinit(struct ri_types *types);

static inline struct ri_type_node *ri_type_node_of(const struct ri_type *type)
{
	return (struct ri_type_node *)type;
}

#endif
