/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The group that a leaked object is in, last was in, or would have been in: it often names
 * the code that lost it.
 */
#ifndef RI_CHECK_LEAK_GROUP_H
#define RI_CHECK_LEAK_GROUP_H

#include "check/check.h"

/* What tells the group, the best first. */
enum ri_group_clue {
	RI_CLUE_NONE,
	RI_CLUE_MEMBER,     /* it is chained in it */
	RI_CLUE_BACK,       /* its back pointer names it */
	RI_CLUE_LINKS,      /* its stale link words lead to members or to the head */
	RI_CLUE_NEIGHBOUR,  /* a link word of a member, or of one that was, leads to it */
	RI_CLUE_POOL,       /* it points at the struct that the head lies in */
	RI_CLUE_BLOCK,      /* most objects of its block are in it */
	RI_CLUE_TYPE,       /* most objects of its type are in it */
};

struct ri_leak_groups;

/* Tables for any number of questions; to be destroyed. */
struct ri_leak_groups *ri_leak_groups_create(const struct ri_analysis *analysis);
void ri_leak_groups_destroy(struct ri_leak_groups *groups);

/* The group of `object`, RI_NONE (and RI_CLUE_NONE) where nothing tells one. */
uint32_t ri_leak_group(const struct ri_leak_groups *groups, uint32_t object,
		       enum ri_group_clue *ret_clue);

/* The clue in words behind "group NAME: ": "its back pointer names it"; static. */
const char *ri_leak_group_words(enum ri_group_clue clue);

/* Sets the group of a finding about a leaked object that has none, and says what tells it.
 * To be called behind ri_finding_identify(): the fingerprint must not rest on a guess.
 * False where nothing tells a group. */
bool ri_finding_explain_leak_group(struct ri_finding *finding, const struct ri_analysis *analysis,
				   const struct ri_leak_groups *groups);

#endif
