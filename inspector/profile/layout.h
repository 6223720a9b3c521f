/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout: profiles bound to one target's types.  Sizes and offsets instead
 * of names; what the later stages read.  Nothing in it refers to the profiles'
 * own memory except the interned strings, which the layout keeps alive.
 */
#ifndef RI_PROFILE_LAYOUT_H
#define RI_PROFILE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/gaps.h"
#include "base/memory.h"
#include "debug/types.h"
#include "profile/profile.h"
#include "target/target.h"

/* An integer in the target, relative to some start (header, struct, group). */
struct ri_field {
	bool is_present;
	int64_t offset_bytes;
	uint8_t size_bytes;      /* 1, 2, 4 or 8: of the storage to read */
	uint8_t bit_shift;       /* within that storage */
	uint8_t bit_size;        /* 0: all of it */
	bool is_signed;
	uint32_t text_bytes;     /* names alone; not 0: that many characters inline, no pointer */
};

/* Reads `field` relative to `base`; sign- or zero-extended.  False if not mapped. */
bool ri_field_read(const struct ri_image *image, uint64_t base, const struct ri_field *field,
		   int64_t *ret);

struct ri_condition {
	bool is_present;
	struct ri_field field;
	uint64_t mask;
	bool has_equals;
	uint64_t equals;
	bool is_negated;
};

/* Whether `condition` holds at `base`; false too when absent or not mapped. */
bool ri_condition_holds(const struct ri_image *image, uint64_t base,
			const struct ri_condition *condition);

enum ri_count_state {
	RI_COUNT_LIVE,
	RI_COUNT_DEAD,           /* one of the dead values */
	RI_COUNT_SATURATED,
	RI_COUNT_IMMORTAL,
	RI_COUNT_IMPOSSIBLE,     /* none of the bands */
	RI_COUNT_UNREADABLE,
};

struct ri_count_rule {
	const char *name;
	struct ri_field field;   /* relative to the header (or struct, where there is none) */
	uint64_t mask;
	unsigned shift;
	bool is_negative;
	int64_t bias;
	struct ri_band live, saturated, immortal;
	const int64_t *dead;
	size_t dead_count;
	struct ri_condition plus;
	int64_t plus_value;
	const char *const *holders; /* class patterns (ri_pattern_matches()); null-terminated;
				     * null: default */
};

/* Decodes the count at `base`: *ret_count is after mask, shift, sign and bias,
 * the conditional part taken off.  The state is that of the value before the
 * conditional part is taken off: a weak count of 1 that is all conditional is
 * alive, and 0 is returned. */
enum ri_count_state ri_count_read(const struct ri_image *image, uint64_t base,
				  const struct ri_count_rule *rule, int64_t *ret_count);

/* Classifies an already decoded value: dead values first, then the immortal, the
 * saturated and the live band. */
enum ri_count_state ri_count_classify(const struct ri_count_rule *rule, int64_t count);

enum ri_magic_state { RI_MAGIC_NONE, RI_MAGIC_LIVE, RI_MAGIC_DEAD, RI_MAGIC_BAD };

struct ri_magic_rule {
	struct ri_field field;   /* relative to the header; at_end: to the object's end */
	bool at_end;
	const uint64_t *live, *dead;
	size_t live_count, dead_count;
};

/* Bytes of an object before its header, where the condition holds on its descriptor. */
struct ri_front_rule {
	struct ri_condition condition;
	uint64_t bytes;
};

/* The struct of objects whose descriptor is called `name`. */
struct ri_described_struct {
	const char *name;
	const struct ri_type *type; /* stripped */
	uint64_t least_bytes;    /* of the shortest such objects */
};

struct ri_descriptor_rule {
	bool is_present;
	struct ri_field field;   /* in the header */
	/* in the descriptor; absent ones have is_present false */
	struct ri_field magic, name, size, header_offset, release, fields;
	const uint64_t *magic_live;
	size_t magic_live_count;
	const struct ri_type *type; /* DWARF struct of the descriptor, or null */
	const char *vtable;      /* pattern of vtable symbols, or null */
	/* Descriptors that are objects themselves, of the same convention: they may lie
	 * anywhere; one is valid where this holds on its own descriptor. */
	struct ri_condition meta;
	struct ri_condition owned_if; /* on the descriptor: each of its objects owns it */
	struct ri_field item_size, base; /* in the descriptor */
	struct ri_field items;   /* in the header: number of items, its sign ignored */
	const struct ri_front_rule *fronts;
	size_t front_count;
	/* Offsets (from the header) of words that lead, low bits aside, into a block that is a
	 * table of references from there on. */
	const int64_t *tables;
	size_t table_count;
	const struct ri_described_struct *structs;
	size_t struct_count;
};

/* One convention: everything relative to the header (or to the struct itself
 * where the count is a direct member). */
struct ri_convention {
	const char *name;        /* "refobj", or the struct's name */
	const struct ri_type *type; /* the header's struct, or null (fixed layout) */
	uint64_t size_bytes;     /* of the header */
	uint64_t alignment;
	bool may_stand_in_front;
	bool is_header;          /* embedded in other structs */
	uint32_t base;           /* the header's convention that this one adds members of one struct
				  * to (declared under `types` with `header`); else its own index */
	struct ri_count_rule *counts;
	size_t count_count;
	struct ri_magic_rule *magics;
	size_t magic_count;
	struct ri_descriptor_rule descriptor;
	const uint64_t *poison;
	size_t poison_count;
	struct ri_condition not_leak, ignore;
	struct ri_field lock_owner, name_field, index_field;
	bool is_exact;           /* in memory, only pointers to its address are references */
	bool is_by_looks;        /* objects are recognised by what they look like: census/recognise.h */
	bool is_pointer_possible; /* an undeclared pointer to it is a possible holder */
	bool is_learned;         /* the counts tell what undeclared holders own, as far as they do */
	struct ri_mark mark;
};

/* A counted type.  P is the struct's (payload's) address, the one that handles
 * point at; the header lies at P + header_offset.  The object's bytes are
 * [P - front_bytes, P - front_bytes + extent_bytes). */
struct ri_counted_type {
	const char *name;        /* display name, unique */
	const struct ri_type *type; /* DWARF struct at P, or null */
	uint32_t convention;     /* index into conventions[] */
	int64_t header_offset;   /* bytes; negative: header in front of the payload */
	uint64_t size_bytes;     /* of the struct at P */
	uint64_t front_bytes;    /* bytes of the object before P */
	uint64_t extent_bytes;   /* front_bytes + what follows P */
	uint64_t descriptor;     /* address of its descriptor; 0: none */
	bool is_from_descriptor; /* added by the population, not by a profile or DWARF */
	/* Offsets (from P) of members that own a reference, as the descriptor's field
	 * table declares them; null: not declared. */
	const struct ri_declared_owner *owners;
	size_t owner_count;
	bool has_owners;         /* a table (perhaps empty) was there */
	/* Types whose objects say how long they are: items of `item_bytes` follow the
	 * struct; the shortest objects have `least_bytes` from P (0: size_bytes). */
	uint64_t item_bytes, least_bytes;
	bool owns_descriptor;    /* the pointer to the descriptor owns it */
	/* A struct that embeds two headers gives type "T", through the first one, and
	 * "T.member": P is then the address of that member, the header inside it. */
	uint32_t container;      /* index of T; RI_LAYOUT_NONE: this is no such type */
	uint64_t container_offset; /* of the member in T */
	/* control block apart from its payload */
	struct ri_field payload; /* relative to the header; not a pointer: a place, of size 0 */
	bool payload_is_pointer;
};

#define RI_LAYOUT_NONE UINT32_MAX

struct ri_declared_owner {
	int64_t offset_bytes;
	const char *name;        /* or null */
};

struct ri_weight {
	enum ri_weight_kind kind;
	int64_t weight;
	struct ri_condition owns_if;
};

/* How one kind of group is laid out. */
struct ri_group_rule {
	const char *name;        /* fixed, or null */
	enum ri_link_kind kind, bucket;
	const struct ri_type *head_type; /* struct around the head, or null */
	const char *head_type_name;
	const char *head_member; /* path of the head in that struct or variable, or null */
	uint64_t head_struct_bytes; /* size of that struct, 0: unknown */
	int64_t head_offset;     /* of the head within it */
	bool has_variable;
	uint64_t variable_addr;  /* of the head struct (or head) in static memory */
	const char *variable_name;
	struct ri_field name_field, count, lock_owner, parent_group; /* relative to the head struct */
	uint64_t count_variable_addr; /* not 0: `count` is relative to this variable instead */
	struct ri_magic_rule magic; /* relative to the head struct; field absent: none */
	uint32_t element_convention; /* elements have this header; RI_LAYOUT_NONE: see element_type */
	uint32_t element_type;   /* index into types[]; or RI_LAYOUT_NONE */
	/* Where the next words point at: relative to the header (element_convention), to P
	 * (element_type), or to the external node (node_bytes).  Usually the link member; where
	 * link words point at the element itself (BSD, ISC lists, `struct conn *next`), the
	 * element, and the offsets below are taken from there. */
	int64_t link_offset;
	/* The link words, relative to link_offset; -1: absent.  TREE: next is the left child.
	 * HLIST, TAILQ: prev is the address of the word that points here. */
	int64_t next_offset, prev_offset, parent_offset, right_offset;
	int64_t head_first_offset, head_last_offset; /* in the head or bucket; -1: absent */
	struct ri_field back;    /* relative like the link */
	bool back_to_head;
	struct ri_condition rule; /* relative like the link */
	struct ri_weight membership;
	/* external nodes */
	uint64_t node_bytes;     /* 0: intrusive */
	int64_t payload_offset;  /* of the pointer to the element (its P), in the node */
	/* ARRAY, HASH: slots (pointers to elements, or heads of kind `bucket`) */
	bool head_is_pointer;    /* the head member points at the first slot; else it is one */
	uint64_t slot_bytes;     /* distance of slots */
	uint64_t fixed_length;   /* number of slots, from DWARF; 0: see `length` */
	struct ri_field length;  /* relative to the head struct */
	bool is_headless;        /* no head known: found through the members' back pointers */
	uint64_t tag_mask;
	bool has_end_mark;
	uint64_t end_mark;
	struct ri_mark mark;
};

struct ri_owner_rule {
	const char *pattern;     /* shell wildcards over holder class names */
	struct ri_weight weight;
	struct ri_mark mark;
};

struct ri_encoding {
	const char *pattern;
	uint64_t mask, xor_value;
	unsigned shift;
	int64_t add;
};

/* The array that a member points at has so many elements in use. */
struct ri_array_rule {
	const struct ri_type *type; /* stripped struct ... */
	uint64_t offset_bytes;   /* ... of the pointer in it */
	struct ri_field length;  /* in the struct */
};

/* What lies in [from, to) of each such struct is not in use: room above a stack's top. */
struct ri_unused_rule {
	const struct ri_type *type; /* stripped */
	struct ri_field from, to; /* pointers */
};

/* A name of a profile that did not bind, for `profile` and diagnostics. */
struct ri_unbound {
	struct ri_mark mark;
	const char *message;     /* "no struct 'connn'; did you mean 'conn'?" */
};

struct ri_layout {
	RI_VEC(struct ri_convention) conventions;
	RI_VEC(struct ri_counted_type) types;
	RI_VEC(struct ri_group_rule) groups;
	RI_VEC(struct ri_owner_rule) owners;
	RI_VEC(struct ri_encoding) encodings;
	RI_VEC(struct ri_array_rule) arrays;
	RI_VEC(struct ri_unused_rule) unused;
	RI_VEC(const struct ri_type *) uncounted; /* not to be taken for counted by their looks */
	RI_VEC(struct ri_unbound) unbound;
	RI_VEC(const char *) in_force; /* names of the profiles that applied */
	struct ri_strings *strings;
	/* For ri_layout_weight(), made with the layout; empty: it goes through all rules.  The
	 * last rule of each pattern without wildcards by hash of the pattern (index + 1), and
	 * the rules that have wildcards, ascending. */
	RI_VEC(uint32_t) owner_slots, owner_wildcards;
};

/*
 * Binds `profiles` (`profile_count` of them) to the target's types.  A header
 * convention makes every struct that embeds the header, at any depth, a
 * counted type.  Names that do not bind go to `unbound`; for profiles that the
 * user named (`is_user[i]`) they are gaps that matter too.  Never fails.
 */
struct ri_layout *ri_layout_create(const struct ri_profile *const *profiles, const bool *is_user,
				   size_t profile_count, struct ri_types *types,
				   const struct ri_modules *modules, struct ri_gaps *gaps);
void ri_layout_destroy(struct ri_layout *layout);

/* Whether a class pattern of a profile matches: shell wildcards (*, ?, [a-z]), where
 * "[]" is what it is in class names, the elements of an array. */
bool ri_pattern_matches(const char *pattern, const char *class_name);

/* The weight that the owner rules give to a holder class: the last rule whose
 * pattern matches decides; kind RI_WEIGHT_NONE where none does. */
struct ri_weight ri_layout_weight(const struct ri_layout *layout, const char *class_name);

#endif
