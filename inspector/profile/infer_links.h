/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links by their shape: which members of a struct chain it to others.  What
 * hangs in which list, and whether a link is a head, memory decides; this says
 * what the words are.
 */
#ifndef RI_PROFILE_INFER_LINKS_H
#define RI_PROFILE_INFER_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strings.h"
#include "debug/types.h"

enum ri_shape_link_kind {
	RI_SHAPE_LIST,   /* a struct of two pointers to itself: list_head; node or head */
	RI_SHAPE_HLIST,  /* a pointer to itself and one to such a pointer */
	RI_SHAPE_SLIST,  /* a struct that is one pointer to itself */
	RI_SHAPE_TREE,   /* two or more pointers to itself, one of them a side or the parent */
	RI_SHAPE_TAILQ,  /* unnamed or own struct in T: T * and T ** (tailq, list entries) */
	RI_SHAPE_STAILQ, /* struct in T of one T * (slist, stailq entries) */
	RI_SHAPE_DIRECT, /* T * in T itself, called next, prev, left, right ... */
};

struct ri_shape_link {
	const char *path;        /* of the member in T */
	uint64_t offset_bytes;
	enum ri_shape_link_kind kind;
	const struct ri_type *node; /* stripped struct of the member; DIRECT: T */
};

typedef RI_VEC(struct ri_shape_link) ri_shape_link_list;

/* What a struct is as a link by itself: LIST, HLIST, SLIST or TREE; false: none of them. */
bool ri_shape_node_kind(struct ri_types *types, const struct ri_type *type,
			enum ri_shape_link_kind *ret);

/* Appends the links of `type` (stripped struct), those in unnamed structs included; paths
 * are interned in `strings`.  Bounded work per struct. */
void ri_shape_links(struct ri_types *types, const struct ri_type *type,
		    struct ri_strings *strings, ri_shape_link_list *list);

/*
 * The words of a link that point at T itself, as holder classes name them ("conn.next",
 * "conn.entry.tqe_next"): calls back with each class name.  LIST, HLIST, SLIST and TREE have
 * none: their words point at links.
 */
void ri_shape_link_classes(struct ri_types *types, const char *type_name,
			   const struct ri_shape_link *link,
			   void (*each)(const char *class_name, void *data), void *data);

#endif
