/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sample program of tests/run-dwarf, in three units: main.c handles connections
 * without knowing what is in them.
 *
 *	conns_by_id[i] ──owns──► conn i ──owns──► user i % USERS
 *	                         conn i ──owns──► conn i - 1, for odd i (peers[0])
 *	user.conns               chains every third connection, owns
 *	all_conns, all_users     chain, borrow
 *
 *	current (thread-local) ──owns──► conn 1
 *
 * Connection 1 is short of the reference of `current`.  Connection 4 has a reference too many, user 2 one too few and a wrong number of
 * connections; connection 11 is lost, and connection 10 with it.
 */
#include "world.h"

#include "../../fixtures/fixture.h"

enum { CONNS = 16, USERS = 4 };

struct list_head all_conns, all_users;
struct conn *conns_by_id[CONNS];
struct user *users[USERS];
extern __thread struct conn *current;
__thread struct conn *current;

static struct user *user_create(unsigned i)
{
	static const char *const names[USERS] = { "anna", "ben", "carl", "dora" };
	struct user *user = fixture_alloc(sizeof(*user));

	user->name = names[i];
	user->kind = i & 1 ? USER_ROBOT : USER_HUMAN;
	user->level = 31 - i;
	user->is_admin = 1;
	user->uses = 1;
	list_init(&user->conns);
	list_add_tail(&user->link, &all_users);
	return user;
}

static struct user *user_get(struct user *user)
{
	user->uses++;
	return user;
}

static FIXTURE_NOINLINE void build(void)
{
	list_init(&all_conns);
	list_init(&all_users);
	for (unsigned i = 0; i < USERS; i++)
		users[i] = user_create(i);
	for (unsigned i = 0; i < CONNS; i++)
		conns_by_id[i] = conn_create(i, i & 1 ? conn_get(conns_by_id[i - 1]) : NULL,
					     user_get(users[i % USERS]));
	current = conn_get(conns_by_id[1]);
	FIXTURE_FAULT(conn_put(current);
		      conn_get(conns_by_id[4]);
		      users[2]->uses--;
		      users[2]->nr++;
		      conn_put(conns_by_id[10]);
		      conns_by_id[10] = NULL;
		      conns_by_id[11] = NULL);
}

int main(int argc, char **argv)
{
	fixture_start(argc, argv);
	build();
	fixture_expect("surplus", "conn", 1, "all_conns");
	fixture_expect("deficit", "conn", 1, "all_conns");
	fixture_expect("deficit", "user", 1, "all_users");
	fixture_expect("count-mismatch", "conn", 1, "carl");
	fixture_expect("unreachable", "conn", 1, "all_conns");
	fixture_expect("group-only", "conn", 1, "all_conns");
	if (legacy_start() != 115201)
		return 1;
	fixture_ready();
}
