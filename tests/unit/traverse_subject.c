/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program for census_traverse_test.c to look at: builds what typed pointers
 * lead to, prints the addresses that the test asks about, then READY, and waits.
 * Compiled by the test without sanitizers, which replace the allocator.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "traverse_subject.h"

struct tr_plain *tr_first;
struct tr_conn *tr_table[4];
struct tr_conn **tr_dynamic;
void **tr_any;
struct tr_vector tr_vector;
struct tr_spare tr_spare;
struct tr_user tr_static, tr_unused;
struct tr_outer *tr_outer;
struct tr_pair *tr_pair;
struct tr_node *tr_base;
struct tr_bag tr_bags[2];
struct tr_user *tr_freed;
struct tr_list *tr_link;

static struct tr_user *user_create(void)
{
	struct tr_user *user = calloc(1, sizeof(*user));

	user->refs = 1;
	return user;
}

static struct tr_conn *conn_create(struct tr_user *user)
{
	struct tr_conn *conn = calloc(1, sizeof(*conn));

	conn->refs = 1;
	conn->user = user;
	return conn;
}

static struct tr_plain *plain_create(struct tr_conn *conn, struct tr_plain *next)
{
	struct tr_plain *plain = calloc(1, sizeof(*plain));

	plain->conn = conn;
	plain->next = next;
	return plain;
}

static void add_item(struct tr_bag *bag)
{
	struct tr_item *item = calloc(1, sizeof(*item));

	item->refs = 1;
	item->link.next = &bag->members;
	item->link.prev = bag->members.prev;
	bag->members.prev->next = &item->link;
	bag->members.prev = &item->link;
}

static void build(uintptr_t *addrs)
{
	struct tr_dev *dev = calloc(1, sizeof(*dev));
	struct tr_conn *conn = conn_create(user_create());
	struct tr_user *freed = user_create();

	conn->user->boss = user_create();
	conn->mixed.user = user_create();
	addrs[IN_UNION] = (uintptr_t)conn->mixed.user;
	conn->agreeing.user = user_create();
	conn->any = user_create();
	addrs[IN_VOID] = (uintptr_t)conn->any;
	conn->peers[1] = user_create();
	tr_first = plain_create(conn, plain_create(conn_create(NULL), NULL));
	tr_table[2] = conn_create(NULL);
	tr_dynamic = calloc(20, sizeof(*tr_dynamic));
	tr_dynamic[7] = conn_create(NULL);
	tr_any = calloc(30, sizeof(*tr_any));
	tr_any[0] = conn;
	tr_vector.items = calloc(8, sizeof(*tr_vector.items));
	tr_vector.room = 8;
	tr_vector.used = 3;
	for (unsigned i = 0; i < 5; i++)
		tr_vector.items[i] = user_create();
	tr_spare.slots = calloc(5, sizeof(*tr_spare.slots));
	tr_spare.slots_count = 1;
	tr_spare.slots_size = 4;
	for (unsigned i = 0; i < 4; i++)
		tr_spare.slots[i] = i == 1 ? NULL : conn->user;
	tr_any[30] = conn; /* what the allocator rounded up to */
	tr_static.refs = 1;
	tr_static.boss = user_create();
	tr_outer = calloc(1, sizeof(*tr_outer));
	tr_outer->inner.refs = 1;
	tr_outer->user = user_create();
	tr_pair = calloc(1, sizeof(*tr_pair));
	tr_pair->refs = 5;
	tr_pair->inner.refs = 6;
	dev->node.ref.count = 1;
	tr_base = &dev->node;
	addrs[DEV] = (uintptr_t)dev;
	for (unsigned i = 0; i < 2; i++)
		tr_bags[i].members.next = tr_bags[i].members.prev = &tr_bags[i].members;
	add_item(&tr_bags[1]);
	add_item(&tr_bags[1]);
	tr_link = calloc(10, sizeof(*tr_link));
	addrs[LINKED] = (uintptr_t)tr_link;
	tr_freed = freed;
	addrs[FREED_USER] = (uintptr_t)freed;
	free(freed);
}

int main(void)
{
	uintptr_t addrs[ADDR_COUNT];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	build(addrs);
	for (int i = 0; i < ADDR_COUNT; i++)
		printf("%#lx\n", (unsigned long)addrs[i]);
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}
