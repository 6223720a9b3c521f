/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one unit that knows the members of a connection. */
#include <stdlib.h>

#include "world.h"

typedef _Atomic unsigned int count_t;

/* Nameless but for the typedef. */
typedef struct {
	uint16_t kind;
	count_t refs;
} counted_t;

struct conn {
	uint32_t id;
	unsigned char state : 3;
	unsigned char : 0;
	unsigned char has_tail : 1;
	counted_t base;
	union {
		struct {
			struct list_head all;
			struct list_head by_user;
		};
		char raw[32];
	};
	struct user *const volatile owner;
	struct user *user; /* whose list it is in */
	void (*release)(struct conn *conn);
	uint16_t length;
	struct conn *peers[];
};

static void conn_release(struct conn *conn)
{
	free(conn);
}

struct conn *conn_create(uint32_t id, struct conn *peer, struct user *owner)
{
	struct conn *conn = calloc(1, sizeof(*conn) + 2 * sizeof(struct conn *));

	if (!conn)
		abort();
	conn->id = id;
	conn->base.refs = 1;
	conn->release = conn_release;
	conn->length = 2;
	conn->peers[0] = peer;
	*(struct user **)&conn->owner = owner;
	list_add_tail(&conn->all, &all_conns);
	list_init(&conn->by_user);
	if (id % 3 == 0) {
		list_add_tail(&conn->by_user, &owner->conns);
		owner->nr++;
		conn->user = owner;
		conn_get(conn);
	}
	return conn;
}

struct conn *conn_get(struct conn *conn)
{
	conn->base.refs++;
	return conn;
}

/* The last reference is never put here. */
void conn_put(struct conn *conn)
{
	conn->base.refs--;
}
