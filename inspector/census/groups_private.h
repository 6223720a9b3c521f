/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files that walk groups share.  groups.c finds heads and owns the
 * tables; one file per kind of link walks (group_list.c, group_chain.c, ...).
 */
#ifndef RI_CENSUS_GROUPS_PRIVATE_H
#define RI_CENSUS_GROUPS_PRIVATE_H

#include "census/finder.h"

/* A node of the group being walked. */
struct ri_group_node {
	uint64_t addr;           /* where link words point at */
	uint32_t object;         /* RI_NONE: no element could be recognised */
};

typedef RI_VEC(struct ri_group_node) ri_group_nodes;

/* Where a break lies among the members: between `passed` of them and the rest,
 * counted from the head's side or from the tail's. */
struct ri_break_place {
	uint32_t passed;
	bool from_tail;
};

/*
 * One chain of doubly linked nodes from one head: a circular list, or one whose
 * ends are marked (by null or the rule's end mark).  Where they are, the mark is
 * taken for a link to the head, so that all of them are circles: first and last
 * are the head's neighbours.  HLIST and TAILQ nodes point back at the word that
 * points at them; HLIST heads, and DLIST heads of some programs, have no link to
 * the last node.
 */
struct ri_chain {
	struct ri_groups *groups;
	const struct ri_group_rule *rule;
	enum ri_link_kind kind;  /* LIST, HLIST, DLIST or TAILQ */
	uint64_t head;
};

enum ri_direction { RI_FORWARD, RI_BACKWARD };

/* group_chain.c: whether `node` has a word in that direction, and its address. */
bool ri_chain_has_word(const struct ri_chain *chain, uint64_t node, enum ri_direction direction);
uint64_t ri_chain_word(const struct ri_chain *chain, uint64_t node, enum ri_direction direction);

/* Reads where `node` leads to: a node, the head, or 0 for nowhere; and the word as
 * it is.  False if the word is not mapped (or absent). */
bool ri_chain_read(const struct ri_chain *chain, uint64_t node, enum ri_direction direction,
		   uint64_t *ret_node, uint64_t *ret_value);

/* What a word in that direction holds that leads to `node`. */
uint64_t ri_chain_encode(const struct ri_chain *chain, uint64_t node,
			 enum ri_direction direction);

/* How far a walk that did not close got: the last good node on each side. */
struct ri_group_gap {
	uint32_t group;
	uint64_t last_from_head, last_from_tail;
	uint32_t break_from_head, break_from_tail; /* breaks[] where each side ended */
	uint32_t members_from_head;
};

#define RI_SEEN_TYPES_MAX 8

struct ri_groups {
	struct ri_finder *finder;
	RI_VEC(struct ri_group) groups;   /* parallel to finder->heads */
	RI_VEC(struct ri_membership) memberships;
	RI_VEC(struct ri_foreign_node) foreign_nodes;
	RI_VEC(struct ri_group_break) breaks;
	RI_VEC(struct ri_break_place) places; /* parallel to breaks */
	RI_VEC(uint32_t) node_counts;         /* parallel to groups: members and foreign nodes */
	RI_VEC(struct ri_group_gap) gaps;
	size_t examined;                  /* objects whose back pointers were read */
	bool has_unheard;                 /* some named a group before they were confirmed */
	uint64_t budget;                  /* nodes that may still be visited */
	uint64_t *last_back;              /* per rule: the last back pointer seen */
	size_t headless_examined;         /* objects from which heads were looked for */

	/* of the walk under way */
	ri_group_nodes nodes;             /* its members in list order */
	uint32_t seen_types[RI_SEEN_TYPES_MAX]; /* of members */
	unsigned seen_type_count;
};

/* The element whose node lies at `node`, recognised if need be; RI_NONE. */
uint32_t ri_groups_element(struct ri_groups *groups, const struct ri_group_rule *rule,
			   uint64_t node);

/* The node of `object` under an intrusive `rule` that applies to its type. */
uint64_t ri_groups_node_of(const struct ri_groups *groups, const struct ri_group_rule *rule,
			   const struct ri_object *object);

/* Whether objects of `type` are elements under `rule`. */
bool ri_groups_is_element(const struct ri_finder *finder, const struct ri_group_rule *rule,
			  uint32_t type);

/* The head that the back pointer of `object` names under `rule`; 0: null. */
uint64_t ri_groups_back(struct ri_groups *groups, const struct ri_group_rule *rule,
			const struct ri_object *object, uint64_t *ret_raw);

/* Reads a link word, tag bits cut off; false if not mapped. */
bool ri_groups_link(struct ri_groups *groups, const struct ri_group_rule *rule, uint64_t addr,
		    uint64_t *ret);

/* Takes one visit from the budget; false when it is used up. */
bool ri_groups_visit(struct ri_groups *groups, struct ri_group *group);

/* Appends a break to the group under way; its index. */
uint32_t ri_groups_add_break(struct ri_groups *groups, struct ri_group *group,
			     const struct ri_group_break *found, struct ri_break_place place);

/* The same for a walk in one direction from `head` (of the group or of one of its slots): fills
 * in the object of `found`'s node, and places it behind the nodes found so far. */
void ri_groups_add_node_break(struct ri_groups *groups, struct ri_group *group, uint64_t head,
			      struct ri_group_break found);

/* Static text for a link word that leads nowhere: null, poison, not mapped. */
const char *ri_groups_why_unmapped(const struct ri_groups *groups,
				   const struct ri_group_rule *rule, uint64_t value);

/*
 * The walkers append to groups->nodes, add breaks and set the group's state.
 * `head` is the group's, or that of one bucket of a hash.
 */
void ri_group_walk_list(struct ri_groups *groups, struct ri_group *group, enum ri_link_kind kind,
			uint64_t head);
void ri_group_walk_slist(struct ri_groups *groups, struct ri_group *group, uint64_t head);
void ri_group_walk_tree(struct ri_groups *groups, struct ri_group *group, uint64_t head);
void ri_group_walk_slots(struct ri_groups *groups, struct ri_group *group);

/* Walks one chain or tree of `kind`. */
void ri_group_walk(struct ri_groups *groups, struct ri_group *group, enum ri_link_kind kind,
		   uint64_t head);

/* The element at `addr` (its P) that a slot or an external node points at. */
uint32_t ri_groups_element_at(struct ri_groups *groups, const struct ri_group_rule *rule,
			      uint64_t addr);

/* group_headless.c: adds the heads of rules that know none: in the circles of
 * members found since the last call, the node that is no element. */
void ri_groups_find_headless(struct ri_groups *groups);

/* Makes what the members' back pointers name stand for the group. */
void ri_groups_name_headless(struct ri_groups *groups, uint32_t group);

/* group_islands.c: completes the groups in `gaps` from objects whose back
 * pointers name them. */
void ri_groups_fill_gaps(struct ri_groups *groups);

/* Replaces the members of `group` by groups->nodes. */
void ri_groups_set_members(struct ri_groups *groups, uint32_t group);

/* group_names.c: the group's display name, the same in every dump. */
const char *ri_groups_name(struct ri_groups *groups, const struct ri_head *head);

#endif
