/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Profiles: reference-counting conventions in terms of types and members, as
 * written in YAML (docs/profile.md is the schema).  This header is the parsed
 * form, names not yet bound to a target; layout.h binds them.
 *
 * Every name keeps the mark of where it stood, so that a name that does not
 * bind is reported as file:line:column too.
 */
#ifndef RI_PROFILE_PROFILE_H
#define RI_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/strings.h"

struct ri_mark {
	const char *file;        /* "<builtin>/refobj.yaml" for built-in profiles */
	unsigned line, column;   /* from 1; 0: none */
};

/* A name (type, member path, variable, pattern) or null if absent. */
struct ri_name {
	const char *text;
	struct ri_mark mark;
};

/* [low, high], both included; absent: low > high. */
struct ri_band {
	int64_t low, high;
};

typedef RI_VEC(struct ri_name) ri_name_list;
typedef RI_VEC(uint64_t) ri_u64_list;
typedef RI_VEC(int64_t) ri_i64_list;

/* Where a value lies: by member path, or by fixed offset and size (no DWARF). */
struct ri_profile_field {
	struct ri_name member;
	bool has_offset;
	int64_t offset_bytes;
	unsigned size_bytes;     /* with has_offset: 1, 2, 4, 8; names: of inline characters, 0: a
				  * pointer to them; 0 for pointers and for structs */
	struct ri_mark mark;
};

/* "a value is set": field & mask (default all) compared with `equals`, or non-zero. */
struct ri_profile_condition {
	bool is_present;
	struct ri_profile_field field;
	uint64_t mask;
	bool has_equals;
	uint64_t equals;
	bool is_negated;
};

enum ri_sign { RI_SIGN_OF_TYPE, RI_SIGN_SIGNED, RI_SIGN_UNSIGNED };

/* value = ((raw & mask) >> shift, sign-extended), negated if `is_negative`,
 * plus `bias`; from the count the conditional part is taken off. */
struct ri_profile_count {
	struct ri_name name;     /* "refs", "weak"; the first count is the primary one */
	struct ri_profile_field field;
	uint64_t mask;           /* ~0: all */
	unsigned shift;          /* after masking, bits to the right */
	enum ri_sign sign;
	bool is_negative;        /* counts downwards from 0: two references are -2 */
	int64_t bias;            /* added to what is stored */
	struct ri_band live;     /* plausible values; default 1..INT32_MAX/2 */
	struct ri_band saturated;
	struct ri_band immortal; /* never checked against holders */
	ri_i64_list dead;        /* values of a dead object; default 0 */
	struct ri_profile_condition plus; /* where true, `plus_value` is a reference of its own */
	int64_t plus_value;      /* default 1 */
	ri_name_list holders;    /* class patterns that count here; empty: all (primary), none (others) */
};

struct ri_profile_magic {
	struct ri_profile_field field;
	bool at_end;             /* offset counts back from the object's end */
	ri_u64_list live, dead;
};

/* Bytes of the object before its header, by its descriptor. */
struct ri_profile_front {
	struct ri_profile_condition condition; /* on the descriptor */
	uint64_t bytes;
};

/* The struct of the objects whose descriptor has this name. */
struct ri_profile_described {
	struct ri_name name, type;
	struct ri_name shortest; /* struct that the shortest of them are; null: that one */
};

struct ri_profile_descriptor {
	bool is_present;
	struct ri_profile_field field; /* in the header: pointer to the descriptor */
	struct ri_name type;     /* the descriptor's struct; null with fixed offsets */
	struct ri_profile_field magic, name, size, header_offset, release, fields;
	ri_u64_list magic_live;
	struct ri_name vtable;   /* instead: pattern of the vtable symbols it must point at */
	bool has_fields;         /* `fields`: table of owned members (see docs) */
	struct ri_profile_field item_size, base; /* in the descriptor */
	struct ri_profile_field items; /* in the header: number of items behind the struct */
	struct ri_profile_condition meta; /* descriptors are objects: on their descriptors */
	struct ri_profile_condition owned_if; /* on the descriptor: its objects own it */
	RI_VEC(struct ri_profile_front) fronts;
	ri_i64_list tables;      /* offsets in the header of pointers to tables of references */
	RI_VEC(struct ri_profile_described) structs;
};

enum ri_link_kind {
	RI_LINK_LIST,      /* circular, doubly linked, head embedded (list_head) */
	RI_LINK_HLIST,     /* head.first, node.next, node.pprev */
	RI_LINK_SLIST,     /* head.first, node.next, ends with the end mark */
	RI_LINK_DLIST,     /* first/last, next/prev, ends with the end mark */
	RI_LINK_TAILQ,     /* BSD: first, last pointer-to-pointer */
	RI_LINK_TREE,      /* left, right, parent with colour bits */
	RI_LINK_ARRAY,     /* pointer array with a length */
	RI_LINK_HASH,      /* array of heads of `bucket` kind */
};

/* `owns` / `borrows` / a number: what a holder is worth. */
enum ri_weight_kind { RI_WEIGHT_NONE, RI_WEIGHT_FIXED, RI_WEIGHT_POSSIBLE, RI_WEIGHT_IF };

struct ri_profile_weight {
	enum ri_weight_kind kind;
	int64_t weight;          /* FIXED */
	struct ri_profile_condition owns_if; /* IF: on the group's struct */
	struct ri_mark mark;
};

struct ri_profile_group {
	struct ri_name name;     /* fixed name; null: from name_field or the head's variable */
	enum ri_link_kind kind, bucket;
	struct ri_name head_type; /* struct that holds the head; null with `variable` or fixed */
	struct ri_profile_field head; /* place of the head in it */
	struct ri_name variable; /* a variable that is (or, with member path, holds) the head */
	struct ri_profile_field name_field, count, lock_owner;
	struct ri_name count_variable; /* a variable that is, or holds, `count`; or null */
	struct ri_profile_field magic_field;
	ri_u64_list magic_live;
	struct ri_name element;  /* element struct or header; null: any type with `link`'s header */
	struct ri_profile_field link; /* link member in the element (or header) */
	/* the link's words in it (tree: left, right, parent); absent: the kind's usual names */
	struct ri_profile_field next, prev, left, right, parent;
	struct ri_profile_field first, last; /* the head's words in it; absent as above */
	uint64_t head_struct_bytes; /* fixed layout; 0: from DWARF */
	struct ri_name node_type; /* external nodes: `link` lies in them, ... */
	uint64_t node_bytes;     /* ... fixed layout; 0: from DWARF */
	struct ri_profile_field payload; /* ... and this is the pointer to the element */
	struct ri_profile_field length; /* ARRAY, HASH: number of slots, in the head's struct */
	struct ri_profile_field back; /* element's pointer to its group */
	enum { RI_BACK_TO_STRUCT, RI_BACK_TO_HEAD } back_target;
	struct ri_profile_condition rule; /* membership rule on the element: true = must be in */
	struct ri_profile_weight membership;
	struct ri_profile_field parent_group; /* nested: pointer to the parent's struct */
	uint64_t tag_mask;       /* low bits of link words to be ignored */
	bool has_end_mark;
	uint64_t end_mark;       /* e.g. -1 for ISC lists */
	bool is_headless;        /* no head known: found through the members' back pointers */
	struct ri_mark mark;
};

/* A counted type, or the header that is embedded in counted types. */
struct ri_profile_type {
	bool is_header;
	struct ri_name type;     /* struct name; null: fixed offsets only */
	struct ri_name module;   /* glob on the module's base name; null: any */
	struct ri_profile_field header; /* place of the header in it (type with a header) */
	struct ri_name header_type; /* which header that is; null: the one of the member's type */
	struct ri_name label;    /* display name; null: the struct's */
	uint64_t size_bytes;     /* fixed layout; 0: from DWARF */
	bool may_stand_in_front; /* header at a negative offset of the payload */
	uint64_t alignment;      /* of header addresses, for sweeping; default 8 */
	RI_VEC(struct ri_profile_count) counts;
	RI_VEC(struct ri_profile_magic) magics;
	struct ri_profile_descriptor descriptor;
	ri_u64_list poison;      /* words that freed members carry */
	struct ri_profile_field payload; /* control block: pointer to, or place of, the payload */
	bool payload_is_pointer;
	struct ri_profile_condition not_leak, ignore;
	struct ri_profile_field lock_owner, name_field, index_field;
	bool is_exact;           /* only pointers to its address are references */
	bool is_by_looks;        /* objects that no typed pointer leads to are looked for */
	enum { RI_POINTERS_OWN, RI_POINTERS_POSSIBLE } pointers; /* to it, where undeclared */
	enum { RI_OWNERSHIP_DECLARED, RI_OWNERSHIP_LEARNED } ownership;
	struct ri_mark mark;
};

/* A member that points at an array: how many of its elements are in use. */
struct ri_profile_array {
	struct ri_name type;
	struct ri_profile_field pointer, length; /* in it */
};

/* Memory between two pointers of a struct that is not in use. */
struct ri_profile_unused {
	struct ri_name type;
	struct ri_profile_field from, to;
};

/* A rule of ownership: holder classes whose name matches the pattern
 * (shell wildcards; "conn.session", "sessions_by_id[]", "group:NAME"). */
struct ri_profile_owner {
	struct ri_name pattern;
	struct ri_profile_weight weight;
};

/* How handles of a class are stored: target = ((word & ~mask) << shift) ^ xor + add. */
struct ri_profile_encoding {
	struct ri_name pattern;
	uint64_t mask, xor_value;
	unsigned shift;
	int64_t add;
};

struct ri_profile {
	const char *file;        /* as in the marks */
	struct ri_name name, about;
	ri_name_list requires_types; /* built-in profiles apply where all of these occur ... */
	ri_name_list requires_any;   /* ... and one of these */
	bool is_always;          /* ... or always (it needs no DWARF) */
	RI_VEC(struct ri_profile_type) types;
	RI_VEC(struct ri_profile_group) groups;
	RI_VEC(struct ri_profile_owner) owners;
	RI_VEC(struct ri_profile_encoding) encodings;
	RI_VEC(struct ri_profile_array) arrays;
	RI_VEC(struct ri_profile_unused) unused;
	ri_name_list uncounted;  /* structs that look counted and are not to be taken for it */
	struct ri_mark ledger;   /* where the reserved key `ledger` stood; line 0: nowhere */
	struct ri_strings *strings; /* owns every text */
};

/* Parses `path`; RI_ERROR_INPUT with file:line:column in the message. */
struct ri_error *ri_profile_read(const char *path, struct ri_profile **ret);

/* The same from memory, called `file` in messages. */
struct ri_error *ri_profile_parse(const char *file, const char *text, size_t size_bytes,
				  struct ri_profile **ret);

/* An empty profile, to be filled by hand (members at what an absent key means). */
struct ri_profile *ri_profile_create(const char *file);
void ri_profile_destroy(struct ri_profile *profile);

/* The built-in profiles: name and YAML text, compiled in from inspector/profiles/.
 * The table ends with a null name. */
struct ri_builtin_profile {
	const char *name;
	const char *text;
	size_t size_bytes;
};
extern const struct ri_builtin_profile ri_builtin_profiles[];

/* A new string: `profile` as YAML that parses back to the same profile. */
char *ri_profile_print(const struct ri_profile *profile);

#endif
