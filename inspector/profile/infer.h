/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counted types found by their shape: a scan of the structs in the debug
 * information for integer members that are reference counts, by what their
 * types and their names are and by which functions take the struct.  What is
 * found is evidence with reasons, and becomes a profile like any other.
 *
 * Whether memory bears it out is not asked here.
 */
#ifndef RI_PROFILE_INFER_H
#define RI_PROFILE_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/strings.h"
#include "debug/modules.h"
#include "debug/types.h"
#include "profile/layout.h"
#include "profile/profile.h"

/* Points from which a member is taken for a count, and from which it may be one. */
#define RI_INFER_ACCEPT   6
#define RI_INFER_POSSIBLE 3

/* The file that inferred profiles and what is bound from them are marked with. */
#define RI_INFERRED_FILE "<inferred>"

/* Of types, and of headers, so many are written into the profile; well within what one may
 * hold. */
#define RI_INFERRED_TYPES_MAX 1500

struct ri_inferred_reason {
	int points;
	const char *text;        /* "name ends in refcount", "conn_get and conn_put" */
};

/* An integer member that is, or may be, a reference count. */
struct ri_inferred_count {
	const char *path;        /* of the member in its struct, through unnamed ones */
	uint64_t offset_bits;
	uint32_t bit_size;       /* of a bit-field; 0: not one */
	uint8_t size_bytes;      /* of the integer under all wrappers */
	uint8_t wrappers;        /* structs around it */
	bool is_atomic;
	bool is_negative;        /* counts downwards, as GLib's grefcount does */
	bool is_secondary;       /* weak, internal: not the one that handles feed */
	int8_t bias;             /* what memory says is to be added, so that one reference is 1 */
	int score;
	struct ri_inferred_reason *reasons;
	size_t reason_count;
};

enum ri_inferred_state {
	RI_INFERRED_POSSIBLE,    /* 3 to 5 points: shown, in force with --infer=all alone */
	RI_INFERRED_ACCEPTED,
	RI_INFERRED_COVERED,     /* a profile knows the struct */
	RI_INFERRED_SHADOWED,    /* another struct of its name is in the same module: a profile
				  * can name but one of them */
};

/* A struct with at least one such member. */
struct ri_inferred_type {
	const struct ri_type *type;
	const char *name;
	const char *module;      /* base name of the module that defines it first */
	enum ri_inferred_state state;
	bool is_header;          /* made to be embedded, and embedded by others */
	bool needs_module;       /* other modules have another struct of this name */
	const char *convention;  /* the first struct that begins with the same members up to the
				  * count; its own name where none does */
	struct ri_inferred_count *counts; /* the primary one first */
	size_t count_count;
};

struct ri_inference {
	RI_VEC(struct ri_inferred_type) types; /* by module in the order of relevance, then name */
	struct ri_strings *strings;
	/* look-up by struct: hash table of indices + 1 into types */
	uint32_t *slots;
	size_t slot_count;
};

struct ri_infer_options {
	bool is_all;             /* with what is only possible, and the C library's own types */
};

/*
 * Scans the structs of all modules.  `layout` (may be null) is what profiles cover
 * already.  Never fails; linear in the debug information.
 */
struct ri_inference *ri_inference_create(struct ri_types *types, const struct ri_modules *modules,
					 const struct ri_layout *layout,
					 const struct ri_infer_options *options);
void ri_inference_destroy(struct ri_inference *inference);

/* Whether the type takes part: accepted, or possible with `is_all`. */
bool ri_inferred_is_in_force(const struct ri_inferred_type *type, bool is_all);

/* How many types in force are more than the profile takes. */
size_t ri_inference_beyond(const struct ri_inference *inference, bool is_all);

/* How many holder classes, of words that chain free objects of these types, are more than the
 * profile takes: they pass for words like any. */
size_t ri_inference_links_beyond(const struct ri_inference *inference, struct ri_types *types,
				 bool is_all);

struct ri_inferred_groups;

/*
 * The profile of what is in force, with the accepted ones of `groups` (infer_groups.h; may be
 * null); null in *ret where nothing is.  An error only for what
 * cannot be written as a profile at all (more types than one may have).
 */
struct ri_error *ri_inference_profile(const struct ri_inference *inference,
				      struct ri_types *types,
				      const struct ri_infer_options *options,
				      const struct ri_inferred_groups *groups,
				      struct ri_profile **ret);

/* The index of the inferred type that counted type `type` of `layout` is counted by (its own
 * struct or an embedded header); or SIZE_MAX. */
size_t ri_inference_find(const struct ri_inference *inference, const struct ri_layout *layout,
			 const struct ri_counted_type *type);

/* Whether a convention comes from inference. */
bool ri_convention_is_inferred(const struct ri_convention *convention);

#endif
