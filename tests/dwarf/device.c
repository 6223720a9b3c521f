/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library whose struct user has nothing to do with the program's: another size, its
 * count elsewhere.  Three of them, each held by the one before.
 */
#include <stdint.h>
#include <stdlib.h>

struct user {
	char serial[72];
	struct user *next;
	long uses;
	uint64_t flags;
};

extern struct user *device_users;
struct user *device_users;

__attribute__((constructor)) static void plug_in(void)
{
	for (int i = 0; i < 3; i++) {
		struct user *user = calloc(1, sizeof(*user));

		if (!user)
			abort();
		user->uses = 1;
		user->next = device_users;
		device_users = user;
	}
}
