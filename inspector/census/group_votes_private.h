/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that infer groups share: group_places.c finds heads, group_walks.c walks
 * them, group_votes.c decides, group_lengths.c looks for their counters. */
#ifndef RI_CENSUS_GROUP_VOTES_PRIVATE_H
#define RI_CENSUS_GROUP_VOTES_PRIVATE_H

#include "census/address_map.h"
#include "census/group_votes.h"
#include "census/reader.h"

/* A head: its address, that of the struct around it (or itself), and its walked length. */
struct ri_place_head {
	uint64_t addr, struct_addr;
	uint64_t length;         /* UINT64_MAX: not known */
};

/* Where heads lie, by type. */
struct ri_head_place {
	const char *variable;    /* or null */
	const struct ri_type *owner; /* struct around it, or null: the variable is it */
	const char *path;        /* in the owner */
	uint64_t offset_bytes;   /* in the owner */
	const struct ri_type *head; /* stripped */
	bool is_hash;            /* one of an array's */
	RI_VEC(struct ri_place_head) heads;
};

typedef RI_VEC(struct ri_head_place) ri_place_list;

struct ri_votes {
	const struct ri_group_votes_input *input;
	struct ri_inferred_groups *result;
	struct ri_strings *strings; /* the result's */
	struct ri_reader reader;
	ri_chain_link_list links;
	ri_place_list places;
	struct ri_address_map shape_of_block; /* block address to its typed block, + 1 */
	uint64_t budget;         /* nodes that may still be visited */
};

#define RI_WALK_MAX         65536 /* nodes of one chain */
#define RI_WALK_CHECKED_MAX 64    /* of them kept, to be asked what they are */

/* A walk from one head; the first three are set by the caller, the rest is zero. */
struct ri_place_walk {
	struct ri_votes *votes;
	const struct ri_chain_link *link;
	const struct ri_head_shape *shape;
	uint64_t nodes[RI_WALK_CHECKED_MAX];
	size_t checked;
	uint64_t length;
	bool is_broken, overlaps;
	uint64_t good;           /* nodes before the first that did not answer */
	struct ri_address_map *seen; /* nodes of this place's chains, to which one; or null */
	uint32_t chain;
};

/* group_walks.c: walks the chain or tree that hangs on `head`. */
void ri_place_walk_head(struct ri_place_walk *walk, uint64_t head);

/* Whether the head has been set up at all: circular ones are never null. */
bool ri_place_is_set_up(struct ri_votes *votes, const struct ri_head_shape *shape, uint64_t head);

/* The address of the node's word that leads on. */
uint64_t ri_place_next_word(const struct ri_place_walk *walk, uint64_t node);

/* group_places.c: fills votes->places. */
void ri_places_find(struct ri_votes *votes);
void ri_places_deinit(ri_place_list *places);

/* group_lengths.c: the member of the place's owner that is the length of its heads' chains,
 * as their walks say; null where none is.  Interned. */
const char *ri_place_length(struct ri_votes *votes, const struct ri_head_place *place);

/* group_rivals.c: the name of a struct that is no `link`'s element and fits the nodes as well;
 * null where there is none. */
const char *ri_votes_rival(struct ri_votes *votes, const struct ri_chain_link *link,
			   const uint64_t *nodes, size_t node_count);

#endif
