/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the units of the sample program share.  A connection is opaque here: conn.c
 * defines it, and legacy.c has another struct of the same name for itself.
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>

struct list_head {
	struct list_head *next, *prev;
};

struct conn;

enum user_kind { USER_HUMAN = 1, USER_ROBOT = 70000 };

/* Its count shares a word with other things. */
struct user {
	const char *name;
	unsigned int level : 5;
	unsigned int uses : 12;
	unsigned int is_admin : 1;
	enum user_kind kind;
	struct list_head conns; /* own */
	uint64_t nr;
	struct list_head link;
};

extern struct list_head all_conns, all_users;

static inline void list_init(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

/* Takes over the caller's references to `peer` (null: none) and `owner`. */
struct conn *conn_create(uint32_t id, struct conn *peer, struct user *owner);
struct conn *conn_get(struct conn *conn);
void conn_put(struct conn *conn);

long legacy_start(void);

#endif
