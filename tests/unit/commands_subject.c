/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program for cli_commands_test.c to look at: a sound object, one with forty
 * references too many, a group, and a plain struct with a name and an index.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "refobj.h"

struct conn {
	int fd;
	struct refobj ref;
};

struct item {
	int refs;
	int number;
	char name[16];
};

static void conn_release(void *object)
{
	(void)object;
}

static REFOBJ_OWNS_NOTHING(conn_owns);
static REFOBJ_TYPE(conn_type, "conn", struct conn, ref, conn_release, conn_owns);

static struct conn sound, leaked;
struct conn *volatile conn_holders[2] = { &sound, &leaked };
static struct refobj_group all_conns;
struct item test_item = { 1, 17, "inline name" };
struct item *volatile test_item_holder = &test_item, *volatile test_no_item;

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	refobj_init(&sound.ref, &conn_type);
	refobj_init(&leaked.ref, &conn_type);
	for (int i = 0; i < 40; i++) /* more than stale stack slots could explain */
		refobj_get(&leaked.ref);
	refobj_group_init(&all_conns, "all_conns", 0);
	refobj_group_add(&all_conns, &sound.ref);
	printf("%p\n%p\n%p\n%p\nREADY\n", (void *)&sound, (void *)&leaked, (void *)&test_item,
	       (void *)&test_item_holder);
	fflush(stdout);
	for (;;)
		pause();
}
