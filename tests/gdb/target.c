/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program that tests/run-gdb looks at in gdb: the world of the fixtures
 * with one reference too many, and besides
 *
 *	frames     main, outer, inner, with locals and variables to be named in gdb
 *	threads    enough of them that what gdb tells is more than a pipe holds
 *	names      of a type and a group that would do harm if they were obeyed
 *	           (--evil)
 *	secret     a type that gdb cannot know
 *
 * Prints READY and waits; `clean` as first argument: no fault.
 */
#include <pthread.h>

#include "world.h"

#define THREADS 8
#define EVIL "evil\nshell touch pwned\n\\\"';|touch pwned\033[31m%s%n"

static REFOBJ_TYPE(secret_type, "secret", struct session, ref, session_release, session_owns);
static REFOBJ_TYPE(evil_type, EVIL, struct session, ref, session_release, session_owns);

extern struct conn *first, whole;
extern struct refobj_group secrets, evils;
struct conn *first, whole;
struct refobj_group secrets, evils;

/* An object of a disguised session type with a reference that nobody holds. */
static FIXTURE_NOINLINE void add_stranger(struct refobj_group *group, const char *name,
					  const struct refobj_type *type)
{
	struct session *session = session_create(7);

	session->ref.type = type;
	refobj_group_init(group, name, REFOBJ_GROUP_OWNS);
	refobj_group_add(group, &session->ref);
}

static void *wait_in_thread(void *ready)
{
	fixture_wipe();
	pthread_barrier_wait(ready);
	for (;;)
		pause();
	return NULL;
}

static FIXTURE_NOINLINE void start_threads(void)
{
	static pthread_barrier_t ready;
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, wait_in_thread, &ready))
			abort();
	pthread_barrier_wait(&ready);
}

static FIXTURE_NOINLINE void inner(int depth)
{
	struct conn *volatile local = first;
	/* a call that gdb does not know to be the last one: the frame has a line then */
	void (*volatile wait)(void) = fixture_ready;

	(void)local;
	wait();
	fixture.argc = depth;
}

static FIXTURE_NOINLINE void outer(int depth)
{
	inner(depth + 1);
	fixture.argc = depth;
}

int main(int argc, char **argv)
{
	fixture_start(argc, argv);
	world_build();
	first = conn_get(conns[1]);
	FIXTURE_FAULT(refobj_get(&conns[3]->ref), refobj_get(&conns[5]->ref));
	FIXTURE_FAULT(add_stranger(&secrets, "secrets", &secret_type));
	if (argc > 1 && !strcmp(argv[1], "--evil"))
		add_stranger(&evils, EVIL, &evil_type);
	start_threads();
	outer(1);
}
