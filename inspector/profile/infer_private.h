/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the inference: names, scores, pairs of functions, links. */
#ifndef RI_PROFILE_INFER_PRIVATE_H
#define RI_PROFILE_INFER_PRIVATE_H

#include "debug/functions.h"
#include "profile/infer.h"

/*
 * Names.  infer_tokens.c
 */

#define RI_TOKENS_MAX 16
#define RI_TOKEN_TEXT_BYTES 160

/* An identifier taken apart: "m_refCount" is "ref", "count".  All in lower case. */
struct ri_tokens {
	char text[RI_TOKEN_TEXT_BYTES];
	const char *items[RI_TOKENS_MAX]; /* into text */
	size_t count;
};

/* Splits snake and camel case; m_ and _M_ in front are left out, and so is what is
 * beyond RI_TOKENS_MAX words or the text's length. */
void ri_tokens_split(const char *name, struct ri_tokens *ret);

bool ri_tokens_have(const struct ri_tokens *tokens, const char *word);

/* The last word; "" where there is none. */
const char *ri_tokens_last(const struct ri_tokens *tokens);

/*
 * Scores.  infer_score.c
 */

#define RI_CHAIN_MAX 12

/* What is known of a member from its own declaration. */
struct ri_member_facts {
	const char *name;        /* of the member */
	const char *struct_name; /* of the struct that it counts for */
	/* names of the typedefs and wrappers from the member down to the integer */
	const char *chain[RI_CHAIN_MAX];
	size_t chain_count;
	bool is_atomic;          /* _Atomic somewhere in the chain */
	bool is_bool, is_enum;
	uint32_t bit_size;
	uint8_t size_bytes;
	bool is_mirrored;        /* its struct is a wire format or the kernel's interface */
};

typedef RI_VEC(struct ri_inferred_reason) ri_reason_list;

struct ri_member_score {
	int name_points, points; /* of the name; of everything */
	bool is_by_type;         /* the type alone says it is a count */
	ri_reason_list reasons;
};

/* Scores a member without the functions; texts go to `strings`. */
void ri_member_rate(const struct ri_member_facts *facts, struct ri_strings *strings,
		    struct ri_member_score *ret);

/* Whether the name is that of a second count: weak, internal references. */
bool ri_name_is_secondary(const char *name);

/* Whether the name is that of a struct made to be embedded: `struct refcount`, `kref`, `kobject`. */
bool ri_name_is_of_header(const char *name);

/*
 * Pairs of functions.  infer_pairs.c
 */

struct ri_pairs;

/* Looks for pairs of functions that take the structs in `names` (unqualified; sorted by
 * strcmp, `count` of them) in `modules[0 .. module_count)`. */
struct ri_pairs *ri_pairs_create(struct ri_types *types, const struct ri_module *const *modules,
				 size_t module_count, const char *const *names, size_t count);
void ri_pairs_destroy(struct ri_pairs *pairs);

/* The weight of the best pair on the struct called `name`, with its two functions; 0: none. */
int ri_pairs_find(const struct ri_pairs *pairs, const char *name, const char **ret_get,
		  const char **ret_put);

/* For tests: the pairs that a list of function names on one struct makes. */
int ri_pairs_rate(const char *const *functions, size_t count, const char **ret_get,
		  const char **ret_put);

/*
 * What the scan hands on.  infer_scan.c, infer_keep.c
 */

/* One candidate member while its struct is scanned. */
struct ri_candidate {
	const char *path;
	const char *name;
	const struct ri_type *declared; /* as the member declares it, stripped */
	uint64_t offset_bits;
	uint32_t bit_size;
	uint8_t size_bytes, wrappers;
	bool is_atomic, is_negative;
	struct ri_member_score score;
};

struct ri_found_struct {
	const struct ri_type *type;
	size_t module;           /* index into modules */
	RI_VEC(struct ri_candidate) candidates;
};

typedef RI_VEC(struct ri_found_struct) ri_found_list;

/* Makes inference->types of what was found, whose parts it takes or frees. */
void ri_inference_keep(struct ri_inference *inference, const struct ri_layout *layout,
		       ri_found_list *found);

/* The last part of a module's path. */
const char *ri_module_base_name(const char *path);

/* Frees what an inferred type holds. */
void ri_inferred_type_deinit(struct ri_inferred_type *type);

/*
 * What follows from seeing all structs.  infer_relate.c
 */

/* Whether two structs are one, perhaps seen in two modules: by name and size; and a hash
 * that is the same for both.  The structs of the hash have names. */
bool ri_structs_are_one(const struct ri_type *a, const struct ri_type *b);
uint64_t ri_struct_hash(const struct ri_type *type);

/* The slot of the struct in inference->slots: where it is, or would be. */
size_t ri_inference_slot(const struct ri_inference *inference, const struct ri_type *type);

/* Marks headers and gives structs that begin alike one convention. */
void ri_inference_relate(struct ri_inference *inference, struct ri_types *types);

#endif
