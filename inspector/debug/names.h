/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The index of type names and static variables over all modules: what stands
 * where in the DWARF, before any type is loaded.
 */
#ifndef RI_DEBUG_NAMES_H
#define RI_DEBUG_NAMES_H

#include "base/gaps.h"
#include "base/memory.h"
#include "base/strings.h"
#include "debug/die.h"
#include "debug/modules.h"

#define RI_NAMES_NONE UINT32_MAX

/* The definition of a struct, class, union, enumeration or typedef. */
struct ri_name_entry {
	const char *name;        /* unqualified */
	const char *scope;       /* "ns::outer", interned; null: none */
	struct ri_die die;
	uint64_t size_bytes;     /* as DW_AT_byte_size says; 0: not said */
	uint64_t signature;      /* of its members, once has_signature */
	uint32_t module;         /* index of the module */
	uint32_t group;
	uint32_t next;           /* of the same name, in order; RI_NAMES_NONE */
	uint32_t decl_line;
	uint16_t tag;
	bool is_local;           /* inside a function */
	bool is_naming;          /* a typedef that names an anonymous struct, union or enum */
	bool is_duplicate;       /* once its group is unique: an earlier entry is the same */
	bool has_signature;
};

/* All entries of one unqualified name. */
struct ri_name_group {
	const char *name;
	uint32_t first, last, count;
	bool is_unique;          /* duplicates are marked */
};

struct ri_variable_entry {
	const char *name;
	uint64_t addr;           /* in the target */
	struct ri_die die;
	uint32_t module;
};

struct ri_names {
	const struct ri_modules *modules;
	struct ri_gaps *gaps;
	RI_VEC(struct ri_name_entry) entries; /* by module, unit, offset */
	RI_VEC(struct ri_name_group) groups;
	uint32_t *slots;         /* hash table of group indices */
	size_t slot_count;
	RI_VEC(struct ri_variable_entry) variables;
	RI_VEC(struct ri_variable_entry) thread_variables; /* addr: offset in their segment */
	struct ri_die_map *scopes;    /* declaration DIE -> its scope (const char *) */
	struct ri_die_map *anonymous; /* anonymous DIE -> the typedef name it goes by */
	struct ri_strings *strings;
};

/* Walks the DWARF of all modules (walk.c). */
void ri_names_init(struct ri_names *names, const struct ri_modules *modules,
		   struct ri_gaps *gaps);
void ri_names_deinit(struct ri_names *names);

/* Appends an entry to its group. */
void ri_names_add(struct ri_names *names, const struct ri_name_entry *entry);

/* The group of `length` bytes of `name`, or null; duplicates among its entries
 * (same module, tag, scope, size, line and members) are marked. */
const struct ri_name_group *ri_names_find(struct ri_names *names, const char *name,
					  size_t length);

/* The same for the group of an entry. */
void ri_names_mark_duplicates(struct ri_names *names, uint32_t group);

/*
 * The one definition of what `name` in `scope` only declares, with this tag: in
 * `module` if it has any there, else in any module; RI_NAMES_NONE where there
 * is none or where several differ in size or members.
 */
uint32_t ri_names_find_definition(struct ri_names *names, uint32_t module, int tag,
				  const char *name, const char *scope);

/* DIE address -> pointer; the first value put for a key stays. */
struct ri_die_map *ri_die_map_create(void);
void ri_die_map_destroy(struct ri_die_map *map);
void ri_die_map_put(struct ri_die_map *map, const void *die_addr, const void *value);
void *ri_die_map_find(const struct ri_die_map *map, const void *die_addr);

/* Fills the index from `module`'s DWARF. */
void ri_names_walk_module(struct ri_names *names, const struct ri_module *module);

#endif
