/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program where it may not look into processes outside: in a Landlock
 * domain of its own, which forbids ptrace access to all but its own children.
 * /proc/PID/mem is refused there as it is by Yama to a user who is not root.
 *
 *	confine PROGRAM [ARGUMENT...]
 *
 * Exit status 77: this system has no Landlock.
 */
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_NOT_HERE 77

int main(int argc, char **argv)
{
	/* a domain must handle something: device files, which nobody here makes */
	const struct landlock_ruleset_attr attributes = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK,
	};
	int ruleset;

	if (argc < 2) {
		fprintf(stderr, "usage: confine PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0)) {
		perror("confine: no Landlock");
		return STATUS_NOT_HERE;
	}
	close(ruleset);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
