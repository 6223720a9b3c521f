/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile schema as tables: which key of which mapping fills which member
 * of profile.h's structs.  Parsing, printing and freeing all walk these tables,
 * so a key is added in one place (and documented in docs/profile.md, which a
 * test compares with them).  Private to profile/.
 */
#ifndef RI_PROFILE_SCHEMA_H
#define RI_PROFILE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum ri_schema_kind {      /* the member behind `offset`: */
	RI_SCHEMA_TEXT,    /* struct ri_name */
	RI_SCHEMA_TEXTS,   /* ri_name_list */
	RI_SCHEMA_U64,     /* uint64_t */
	RI_SCHEMA_U64S,    /* ri_u64_list */
	RI_SCHEMA_I64,     /* int64_t */
	RI_SCHEMA_I64S,    /* ri_i64_list */
	RI_SCHEMA_UINT,    /* unsigned, 0 .. max */
	RI_SCHEMA_BOOL,    /* bool */
	RI_SCHEMA_BAND,    /* struct ri_band */
	RI_SCHEMA_CHOICE,  /* an enum; `choices` by value */
	RI_SCHEMA_SECTION, /* the struct that `section` fills, of which it may be a part */
	RI_SCHEMA_SECTIONS, /* RI_VEC of the struct that `section` fills */
	RI_SCHEMA_WEIGHT,  /* struct ri_profile_weight */
	RI_SCHEMA_OWNERS,  /* the profile's owners, each of weight `number` / kind `owner_kind` */
	RI_SCHEMA_VERSION, /* nothing: must be RI_PROFILE_VERSION */
	RI_SCHEMA_LEDGER,  /* struct ri_mark; the value is not looked at */
};

#define RI_PROFILE_VERSION 1

/* What `field_offset` of a section must be after its keys were read. */
enum ri_field_rule {
	RI_FIELD_NONE,     /* there is no such field */
	RI_FIELD_INTEGER,  /* member, or offset with a size of 1, 2, 4 or 8 */
	RI_FIELD_TEXT,     /* the same with any size or none */
	RI_FIELD_PLACE,    /* member, or offset without a size */
	RI_FIELD_MAY_PLACE, /* the same, or neither */
	RI_FIELD_MAY_INTEGER, /* as INTEGER, or neither */
};

struct ri_schema;

struct ri_schema_key {
	const char *name;
	enum ri_schema_kind kind;
	size_t offset;             /* in the struct that the section fills */
	size_t present;            /* 1 + offset of a bool set when the key is given; 0: none */
	const struct ri_schema *section;
	const char *const *choices; /* null-terminated */
	uint64_t max;              /* UINT, U64; 0: none */
	uint64_t number;           /* what an absent key means (numbers); OWNERS: the weight */
	enum ri_weight_kind owner_kind;
	bool is_hex;               /* printed so */
	bool is_required;
	bool defaults_to_zero;     /* I64S: an absent key means [0] */
	/* SECTIONS that share one array: which items are this key's; null: all */
	bool (*is_mine)(const void *item);
};

#define RI_SCHEMA_NOWHERE SIZE_MAX

struct ri_schema {
	const char *what;          /* "a count", for messages */
	size_t size_bytes;         /* of the struct, for SECTIONS */
	const struct ri_schema_key *keys; /* ends with a null name */
	const char *shorthand;     /* the key that a lone scalar stands for, or null */
	size_t mark;               /* of a struct ri_mark to be set; RI_SCHEMA_NOWHERE */
	size_t field_offset;       /* of a struct ri_profile_field, see field_rule */
	enum ri_field_rule field_rule;
	void (*init)(void *base);  /* what absent keys mean, where not 0; or null */
	/* What is wrong with the section as a whole (static text), or null. */
	const char *(*check)(const void *base);
	bool is_block;             /* printed a key a line; else in one line */
};

/* The mapping at the top: fills struct ri_profile. */
extern const struct ri_schema ri_schema_profile;

/* The mapping form of a weight, `{ owns-if: CONDITION }`: fills struct ri_profile_weight. */
extern const struct ri_schema ri_schema_weight;

/* The key called `name`, or null. */
const struct ri_schema_key *ri_schema_find(const struct ri_schema *schema, const char *name);

/* Sets every member that `schema` fills to what an absent key means.  `base`
 * was zeroed before. */
void ri_schema_init(const struct ri_schema *schema, void *base);

/* Frees the lists that `schema` fills. */
void ri_schema_deinit(const struct ri_schema *schema, void *base);

/* Whether the key says anything that its absence would not. */
bool ri_schema_is_given(const struct ri_schema_key *key, const void *base);

/* A growable array of unknown element type; RI_VEC's members in a form that may
 * be copied in and out. */
struct ri_any_vec {
	void *items;
	size_t count, capacity;
};

#endif
