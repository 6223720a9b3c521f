/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups by their shape: which members of counted structs are links, what in other structs and
 * variables may be the heads of what they chain, and groups as a profile writes them.  Which
 * head chains what, memory tells (census/group_votes.h).
 *
 * Kinds that are told: circular lists whose head is a link (list_head); a head of one pointer
 * and links with the address of the word that points at them (hlist, LIST); a head of one
 * pointer and links of one (SLIST), with a last pointer too (STAILQ); heads of two pointers to
 * elements (TAILQ, and lists with first and last that end in null or another mark); trees whose
 * nodes know their parent, colour bits in that word or not.  Where the words stand in the element
 * itself (`struct conn *next, *prev`), or a tree's root does in a variable, the head is a plain
 * pointer; with `next` alone, an array of such is.  So it is for nodes apart that know the next
 * and the previous one and have one pointer besides, to what they chain.
 */
#ifndef RI_PROFILE_INFER_GROUPS_H
#define RI_PROFILE_INFER_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strings.h"
#include "debug/types.h"
#include "profile/layout.h"

/* A member that chains objects of a counted type. */
struct ri_chain_link {
	uint32_t type;           /* index into layout->types[] */
	enum ri_link_kind kind;  /* LIST, HLIST, SLIST or TREE, by its own shape; HLIST may be
				  * TAILQ's; DLIST: next and prev lead to elements */
	bool is_plain;           /* its words are members of the element itself, or of a node */
	bool is_external;        /* `node` lies apart and points at the element; `type` is told by
				  * what such nodes point at */
	uint64_t payload_offset; /* of that pointer in the node */
	const char *payload;
	const char *path;        /* of the link in the struct; "": it has none */
	const struct ri_type *node; /* what link words point at: the link's struct, or the
				     * element's */
	bool is_at_element;      /* they point at the element */
	/* relative to what is pointed at; names in the link's struct */
	uint64_t link_offset;    /* of the link in the struct */
	int64_t next_offset, prev_offset; /* TREE: left; prev -1: none */
	int64_t right_offset, parent_offset; /* TREE */
	const char *next, *prev, *right, *parent;
};

typedef RI_VEC(struct ri_chain_link) ri_chain_link_list;

/* Appends the links of the layout's inferred counted types, then nodes that may lie apart from
 * such; texts go to `strings`. */
void ri_chain_links(const struct ri_layout *layout, struct ri_types *types,
		    struct ri_strings *strings, ri_chain_link_list *list);

/* A struct or a pointer that may be the head of what links of one kind chain. */
struct ri_head_shape {
	enum ri_link_kind kind;
	const struct ri_type *node; /* what its words point at */
	int64_t first_offset, last_offset; /* last -1: none */
	const char *first, *last; /* null: the head is a pointer; it has no last one */
};

/* Whether `type` (stripped) may be the head of what `link` chains. */
bool ri_head_shape_of(struct ri_types *types, const struct ri_type *type,
		      const struct ri_chain_link *link, struct ri_head_shape *ret);

enum ri_inferred_group_state {
	RI_GROUP_ACCEPTED,
	RI_GROUP_AMBIGUOUS,      /* several links, or other structs, fit as well */
	RI_GROUP_TOO_FEW,        /* too few nodes to tell */
	RI_GROUP_BROKEN,         /* too many places where neighbours disagree */
};

/* A place that is the head of groups, as far as memory told. */
struct ri_inferred_group {
	enum ri_inferred_group_state state;
	enum ri_link_kind kind;
	bool is_hash;            /* an array of heads */
	const char *variable;    /* the head is this variable, or ... */
	const char *head_struct, *head_member; /* ... a member of this struct */
	const char *first, *last; /* the head's words; last may be null */
	const char *node, *payload; /* nodes apart from the elements; or null */
	const char *element, *link, *next, *prev, *right, *parent; /* any but element may be null */
	const char *count;       /* member of the head's struct that is the length; or null */
	const char *rival;       /* AMBIGUOUS: what fits as well */
	uint64_t heads, nodes, fitting; /* not empty; walked; elements among them */
	uint64_t breaks;
	uint64_t instances;      /* heads, empty ones included */
	uint32_t place_index, link_index; /* while votes are taken */
};

struct ri_inferred_groups {
	RI_VEC(struct ri_inferred_group) items;
	struct ri_strings *strings;
};

void ri_inferred_groups_destroy(struct ri_inferred_groups *groups);

/* Whether the group rule comes from inference. */
bool ri_group_is_inferred(const struct ri_group_rule *rule);

#endif
