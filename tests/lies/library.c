/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library with a struct conn of its own, which is none of the program's, and references to
 * those of the program in a table of its own.
 */
#include <stdlib.h>

struct conn {
	char name[16];
	struct conn *next;
	long refcount;
};

extern struct conn *own_conns[20];
extern void *foreign[20];
struct conn *own_conns[20];
void *foreign[20];

void hold_foreign(void *conn, int *refcount);

void hold_foreign(void *conn, int *refcount)
{
	static unsigned count;

	if (count >= 20)
		abort();
	own_conns[count] = calloc(1, sizeof(*own_conns[count]));
	if (!own_conns[count])
		abort();
	own_conns[count]->refcount = 1;
	own_conns[count]->name[0] = 'c';
	foreign[count++] = conn;
	++*refcount;
}
