/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sound program whose debug information comes from somewhere else: compiled without, and
 * linked with what tests/lies.sh says of it.  What is true:
 *
 *	struct conn { int refcount; int id; struct conn *peer; long data[3]; };
 *	struct conn *conns[40];
 *
 * Each connection is held by conns[], an odd one by the one before as well.  A library's
 * part, where there is one, is hold_foreign(): it keeps a connection too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONNS = 40 };

struct conn {
	int refcount, id;
	struct conn *peer;
	long data[3];
};

extern struct conn *conns[CONNS];
struct conn *conns[CONNS];

__attribute__((weak)) void hold_foreign(void *conn, int *refcount);

int main(void)
{
	alarm(300);
	for (int i = 0; i < CONNS; i++) {
		conns[i] = calloc(1, sizeof(*conns[i]));
		if (!conns[i])
			return 1;
		conns[i]->refcount = 1;
		conns[i]->id = i;
	}
	for (int i = 0; i < CONNS; i += 2) {
		conns[i]->peer = conns[i + 1];
		conns[i + 1]->refcount++;
	}
	if (hold_foreign)
		for (int i = 0; i < CONNS; i += 4)
			hold_foreign(conns[i], &conns[i]->refcount);
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}
