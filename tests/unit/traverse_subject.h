/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The types of traverse_subject.c, for census_traverse_test.c too: counted
 * structs without any magic, so that typed pointers alone lead to them.
 */
#ifndef TESTS_UNIT_TRAVERSE_SUBJECT_H
#define TESTS_UNIT_TRAVERSE_SUBJECT_H

#include <stdint.h>

struct tr_user {
	int refs;
	char name[36];
	struct tr_user *boss;
};

struct tr_conn {
	uint64_t id;
	int refs;
	struct tr_user *user;
	union {
		struct tr_user *user;
		long number;
	} mixed;
	union {
		struct tr_user *user;
		struct tr_user *same;
	} agreeing;
	void *any;
	struct tr_user *peers[2];
	char room[40];
};

struct tr_plain {
	long id;
	struct tr_conn *conn;
	struct tr_plain *next;
	char room[70];
};

struct tr_vector {
	struct tr_user **items;
	unsigned used, room;
};

/* The room counter would explain the contents as well. */
struct tr_spare {
	long total;
	struct tr_user **slots;
	unsigned slots_count, slots_size;
};

/* Counts through the struct inside it. */
struct tr_outer {
	long id;
	struct tr_user inner;
	struct tr_user *user;
};

/* Has a count of its own and a counted struct inside it. */
struct tr_pair {
	int refs;
	struct tr_user inner;
	char room[130];
};

/* A header, and structs that count through it; tr_dev embeds a whole tr_node. */
struct tr_ref {
	int count;
};

struct tr_node {
	long id;
	struct tr_ref ref;
};

struct tr_dev {
	long id;
	struct tr_node node;
	char room[200];
};

struct tr_list {
	struct tr_list *next, *prev;
};

struct tr_bag {
	const char *name;
	struct tr_list members;
};

struct tr_item {
	int refs;
	struct tr_list link;
	char room[300];
};

/* The addresses that the subject prints, a line each, in this order. */
enum { IN_UNION, IN_VOID, FREED_USER, LINKED, DEV, ADDR_COUNT };

#endif
