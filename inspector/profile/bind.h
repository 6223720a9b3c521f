/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files that bind profiles to types share.  Private to profile/.
 */
#ifndef RI_PROFILE_BIND_H
#define RI_PROFILE_BIND_H

#include "base/memory.h"
#include "profile/layout.h"
#include "profile/suggest.h"

/* A header or type of a profile, bound: what embedding is searched for and what
 * groups name as their elements. */
struct ri_root {
	const char *name;        /* the struct's, or the label where there is no struct */
	const char *label;       /* display name */
	const struct ri_type *type; /* stripped DWARF struct, or null: fixed layout alone */
	const char *module;      /* glob on the module's base name, or null */
	uint32_t convention;
	uint32_t counted_type;   /* once it has one; RI_LAYOUT_NONE */
	bool is_header, is_user;
	bool is_embedded;        /* some struct has it inside ... */
	bool is_alone;           /* ... and some static variable is it */
	uint64_t size_bytes;
	uint64_t count_offset;   /* of the primary count, from the struct's start */
	int64_t header_offset;   /* a type with a header: of it; else 0 */
	uint64_t alignment;
	struct ri_field payload;
	bool payload_is_pointer;
	struct ri_mark mark;
};

/* The layout, and what only its maker and its destruction need. */
struct ri_bound {
	struct ri_layout layout; /* first: the two are one address */
	RI_VEC(void *) owned;    /* arrays that the layout's rules point at */
	RI_VEC(struct ri_root) roots;
};

struct ri_binder {
	struct ri_bound *bound;
	struct ri_layout *layout; /* of bound */
	struct ri_types *types;  /* null: there is no debug information */
	const struct ri_modules *modules; /* may be null */
	struct ri_gaps *gaps;
	/* the profile at hand */
	const struct ri_profile *profile;
	bool is_user;
	size_t first_root, end_root; /* its roots: roots[first .. end) */
};

/* Records that a name of the profile did not bind. */
void ri_bind_fail(struct ri_binder *binder, const struct ri_mark *mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The layout's own copy of a text (null stays null) and of a mark. */
const char *ri_bind_text(struct ri_binder *binder, const char *text);
struct ri_mark ri_bind_mark(struct ri_binder *binder, const struct ri_mark *mark);

/* Memory that lives as long as the layout, zeroed. */
void *ri_bind_alloc(struct ri_binder *binder, size_t count, size_t size_bytes);

/* Values copied for the layout; null for an empty list. */
const uint64_t *ri_bind_u64s(struct ri_binder *binder, const ri_u64_list *list);

/* The name without a leading "struct ", "union " or "class ". */
const char *ri_bind_bare_name(const char *name);

/* Whether a nearest name means anything: the executable's own names are known. */
bool ri_bind_has_names(const struct ri_binder *binder);

/* Whether the type's module has a base name that matches `glob` (null: any). */
bool ri_bind_is_in_module(const struct ri_type *type, const char *glob);

/* The stripped struct called `name` (with the member `member` where several
 * differ), in a module that matches the glob `module` unless null.  Null, and
 * recorded unless `may_lack`, where there is none. */
const struct ri_type *ri_bind_struct(struct ri_binder *binder, const struct ri_name *name,
				     const char *member, const char *module, bool may_lack);

/* Whether two types are one struct, perhaps seen in two units or modules. */
bool ri_bind_is_same(struct ri_binder *binder, const struct ri_type *a, const struct ri_type *b);

/* A field's place, its type as declared (null: fixed offset). */
struct ri_bound_place {
	int64_t offset_bytes;
	const struct ri_type *type;
	uint32_t bit_shift, bit_size;
};

/* Whether the profile says where the field lies. */
bool ri_bind_has_place(const struct ri_profile_field *field);

/* Finds the field in `type` (may be null); false, and recorded, where it cannot. */
bool ri_bind_place(struct ri_binder *binder, const struct ri_profile_field *field,
		   const struct ri_type *type, struct ri_bound_place *ret);

enum ri_bind_kind {
	RI_BIND_INTEGER,         /* integers and pointers, through structs of one member */
	RI_BIND_POINTER,         /* 8 bytes, not signed */
	RI_BIND_TEXT,            /* pointer to characters, or characters inline */
};

/* The field in `type` as what is read, `adjust_bytes` added to its offset.  Not
 * present where the profile does not give it or (recorded) it does not bind;
 * returns whether it is present. */
bool ri_bind_field(struct ri_binder *binder, const struct ri_profile_field *field,
		   const struct ri_type *type, int64_t adjust_bytes, enum ri_bind_kind kind,
		   struct ri_field *ret);
bool ri_bind_condition(struct ri_binder *binder, const struct ri_profile_condition *condition,
		       const struct ri_type *type, int64_t adjust_bytes,
		       struct ri_condition *ret);
struct ri_weight ri_bind_weight(struct ri_binder *binder, const struct ri_profile_weight *weight,
				const struct ri_type *type);

/* One profile's headers and types: conventions and roots.  bind_types.c */
void ri_bind_types(struct ri_binder *binder);

/* The root called `name` (struct or label): of the profile at hand first, else the
 * last one; null if none. */
struct ri_root *ri_bind_find_root(const struct ri_binder *binder, const char *name,
				  bool is_header_only);

/* Counted types for all roots: themselves and what embeds them.  bind_embed.c */
void ri_bind_embeddings(struct ri_binder *binder);

/* One profile's groups; after ri_bind_embeddings().  bind_groups.c */
void ri_bind_groups(struct ri_binder *binder);

/* How the words of links and heads of one kind are usually called and placed;
 * bind_links.c. */
struct ri_link_words {
	/* relative to the link (head); -1: absent */
	int64_t next, prev, right, parent; /* TREE: next is left */
	const struct ri_type *next_type;   /* null: fixed */
	uint64_t size_bytes;
};

/* The link words of `kind` in `link_type` (null: fixed layout); false, and
 * recorded, where they are not found. */
bool ri_bind_link_words(struct ri_binder *binder, const struct ri_profile_group *group,
			enum ri_link_kind kind, const struct ri_type *link_type,
			struct ri_link_words *ret);

/* The head's words: `next` is the first, `prev` the last. */
bool ri_bind_head_words(struct ri_binder *binder, const struct ri_profile_group *group,
			enum ri_link_kind kind, const struct ri_type *head_type,
			struct ri_link_words *ret);

#endif
