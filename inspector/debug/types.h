/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's types and static variables, read from DWARF on demand into
 * plain structs.  Names are indexed first, in one pass over the top-level DIEs
 * (and those nested in namespaces and classes) of each module; a type is
 * loaded when somebody asks for it.  A type that DWARF describes in a way that
 * cannot be true (a member beyond its struct, a size of 2^60, a typedef of
 * itself) is cut down to what is safe and counted in the gaps.
 *
 * Every `struct ri_type *` handed out is owned by the `struct ri_types` and
 * valid as long as it.  The same DIE gives the same pointer.
 */
#ifndef RI_DEBUG_TYPES_H
#define RI_DEBUG_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/gaps.h"
#include "debug/modules.h"

enum ri_type_kind {
	RI_TYPE_UNKNOWN,  /* incomplete everywhere, or beyond what is understood */
	RI_TYPE_VOID,
	RI_TYPE_INT,      /* integer, character, bool, enumeration */
	RI_TYPE_FLOAT,
	RI_TYPE_POINTER,  /* references of C++ included */
	RI_TYPE_ARRAY,
	RI_TYPE_STRUCT,   /* struct and class */
	RI_TYPE_UNION,
	RI_TYPE_FUNCTION,
	RI_TYPE_TYPEDEF,  /* kept in the chain, for its name */
	RI_TYPE_QUALIFIED, /* const, volatile, _Atomic, ...; nameless */
};

struct ri_type;

struct ri_member {
	const char *name;         /* null: anonymous struct or union, or a base class; the
				   * discriminant of a Rust enum is "__discriminant" */
	const struct ri_type *type;
	uint64_t offset_bits;     /* from the start of the struct; little-endian bit numbering */
	uint32_t bit_size;        /* of a bit-field; 0: not one */
};

struct ri_type {
	enum ri_type_kind kind;
	const char *name;         /* without "struct ", with its namespaces ("ns::conn"); an
				   * anonymous struct goes by its typedef's; null: none */
	uint64_t size_bytes;      /* 0: unknown, or a flexible array */
	bool is_signed;           /* INT */
	bool is_bool;             /* INT: _Bool and the like */
	bool is_enum;             /* INT */
	bool is_atomic;           /* QUALIFIED: _Atomic */
	const struct ri_module *module;
	uint64_t die_offset;      /* of its DIE in .debug_info, for messages */
	uint64_t element_count;   /* ARRAY: all dimensions multiplied; 0: flexible or unknown */
	const struct ri_member *members; /* STRUCT, UNION: loaded with the type */
	size_t member_count;
	bool has_discriminant;   /* UNION of a Rust enumeration: what says which arm it is ... */
	uint64_t discriminant_bytes; /* ... lies here; a word of an arm there is told by its value */
};

struct ri_variable {
	const char *name;         /* source name; C++: unqualified */
	uint64_t addr;            /* in the target, bias applied */
	const struct ri_type *type;
	const struct ri_module *module;
	uint32_t thread;          /* index into target->threads[] of the one whose copy it is;
				   * UINT32_MAX: static */
};

struct ri_types;

/* Indexes the names of all modules with DWARF.  `modules` must outlive it, and
 * so must `gaps`: what types loaded later cannot be true for goes there too. */
struct ri_types *ri_types_create(const struct ri_modules *modules, struct ri_gaps *gaps);
void ri_types_destroy(struct ri_types *types);

/*
 * The complete struct, union, class, enum or typedef called `name` ("conn",
 * "struct conn", "ns::conn"; outer namespaces may be left out where nothing is
 * called so without them); null if there is none.  Where several differ,
 * the one that has the member path `with_member` (null: any); among those the
 * one of the executable, then the first.  *ret_ambiguous (may be null) is set
 * when several of different size or layout qualify equally: in the executable,
 * or, where it has none, in other modules.
 */
const struct ri_type *ri_types_find(struct ri_types *types, const char *name,
				    const char *with_member, bool *ret_ambiguous);

/* The first struct or typedef called `name`, with the member path `with_member` (null: any),
 * of another module than `type` and of another layout; null if there is none. */
const struct ri_type *ri_types_find_elsewhere(struct ri_types *types, const char *name,
					      const char *with_member, const struct ri_type *type);

/* Calls back for each complete struct and class of every module that has
 * DWARF, anonymous ones that a typedef names included; duplicates of the same
 * module, name, size, line and members once; stops when the callback returns
 * false.  Loads them all: linear in the DWARF. */
void ri_types_each_struct(struct ri_types *types,
			  bool (*callback)(const struct ri_type *type, void *data), void *data);

/*
 * The same for the modules that could hold one of the `name_count` structs called `names` by
 * value, since they define one of that name (its scopes do not matter): a struct of another
 * module cannot embed any.  Does not load the types of other modules.
 */
void ri_types_each_struct_near(struct ri_types *types, const char *const *names,
			       size_t name_count,
			       bool (*callback)(const struct ri_type *type, void *data),
			       void *data);

/* Whether `name` stands for all instances of a template or generic type: "ns::Inner<*>". */
bool ri_types_is_generic(const char *name);

/* Calls back for each complete struct and class that is an instance of `generic`
 * (ri_types_is_generic()), duplicates once, by the order of the DWARF; stops when the callback
 * returns false.  Outer namespaces may be left out.  Linear in the number of names. */
void ri_types_each_instance(struct ri_types *types, const char *generic,
			    bool (*callback)(const struct ri_type *type, void *data), void *data);

/* Calls back for each variable of static storage with a fixed address,
 * thread-local ones left out; once per address.  Stops on false. */
void ri_types_each_variable(struct ri_types *types,
			    bool (*callback)(const struct ri_variable *variable, void *data),
			    void *data);

/* The same for the copies of thread-local variables that threads have, as far as it is
 * known where (tls.h): by thread, then module and offset. */
void ri_types_each_thread_variable(struct ri_types *types,
				   bool (*callback)(const struct ri_variable *variable,
						    void *data),
				   void *data);

/* The variable called `name` (of any unit: the first by address); false if none. */
bool ri_types_find_variable(struct ri_types *types, const char *name, struct ri_variable *ret);

/* What a pointer, array, typedef or qualified type refers to, loaded now;
 * null for other kinds; a void pointer gives a type of kind VOID.  A struct
 * that is only declared in its unit gives its definition elsewhere in the same
 * module, else in any module, where there is exactly one by that name. */
const struct ri_type *ri_type_target(struct ri_types *types, const struct ri_type *type);

/* The type under all typedefs and qualifiers; never null for a non-null type. */
const struct ri_type *ri_type_strip(struct ri_types *types, const struct ri_type *type);

/* The name without its scopes, "e" of "a::b<c::d>::e": what follows the last "::" outside of
 * brackets.  The ">" of "->" closes none. */
const char *ri_unqualified_name(const char *name);

/* A C-like spelling: "struct conn *", "uint32_t", "void *[16]"; owned by `types`. */
const char *ri_type_spell(struct ri_types *types, const struct ri_type *type);

/*
 * A place inside a type, found by a member path.
 */
struct ri_place {
	const struct ri_type *type; /* of the place, not stripped */
	uint64_t offset_bytes;      /* of the byte that holds its first bit, from the type's start */
	uint32_t bit_shift;         /* within that storage; 0 unless a bit-field */
	uint32_t bit_size;          /* 0: not a bit-field */
	bool in_union;              /* some step chose a union arm */
};

/*
 * Resolves "ref.count", "hdr.u.refs", "slots[3].obj", through typedefs,
 * qualifiers and anonymous members; "" is the type itself.  RI_ERROR_NOT_FOUND
 * with a message that names the step that failed and what its struct offers.
 */
struct ri_error *ri_type_resolve_path(struct ri_types *types, const struct ri_type *type,
				      const char *path, struct ri_place *ret);

#endif
