/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the unit tests on live processes: a forked child in a known state.  The
 * child runs a function of the test and shares one page with it.
 */
#ifndef TESTS_UNIT_LIVE_CHILD_H
#define TESTS_UNIT_LIVE_CHILD_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "target/target.h"

struct shared {
	volatile int ready;        /* threads (or steps) that have come to their place */
	volatile int go;           /* set by the test */
	volatile uint64_t counter; /* counted up by the child while it runs */
	volatile uint64_t addrs[8];
	volatile pid_t tids[8];
};

struct child {
	pid_t pid;
	struct shared *shared;
};

/* The state letter of a process in /proc, or 0. */
static inline char state_of(pid_t pid)
{
	char path[64], text[512] = "", *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	name_end = strrchr(text, ')');
	return name_end && name_end[1] ? name_end[2] : 0;
}

/* Waits until the condition holds; the test fails after ten seconds. */
#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		int waited_ms = 0;                                                                 \
		while (!(condition)) {                                                             \
			if (waited_ms++ > 10000)                                                   \
				fail_msg("waited in vain for: %s", #condition);                    \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)

/* Forks a child that runs `body`, and waits until `ready` has counted to `ready`. */
static inline struct child start_child(void (*body)(struct shared *shared), int ready)
{
	struct child child;

	child.shared = mmap(NULL, sizeof(*child.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(child.shared, MAP_FAILED);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body(child.shared);
		for (;;)
			pause();
	}
	WAIT_UNTIL(child.shared->ready >= ready);
	return child;
}

static inline void end_child(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	munmap(child->shared, sizeof(*child->shared));
}

/* The child's counter must go on: it runs. */
static inline void assert_runs(const struct child *child)
{
	uint64_t before = child->shared->counter;

	WAIT_UNTIL(child->shared->counter > before + 2);
}

/* For the child: counts, for ever. */
static inline void *count_for_ever(void *data)
{
	struct shared *shared = data;

	for (;;) {
		shared->counter++;
		usleep(500);
	}
	return NULL;
}

static inline void start_thread(void *(*function)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, data))
		abort();
}

/* Opens a live process; it must succeed. */
static inline struct ri_target *open_live(pid_t pid, const struct ri_target_live_options *options,
					  struct ri_gaps *gaps)
{
	struct ri_target *target = NULL;
	struct ri_error *error;

	ri_gaps_init(gaps);
	error = ri_target_open_live(pid, options, gaps, &target);
	if (error)
		fail_msg("%s", error->message);
	return target;
}

static inline void close_live(struct ri_target *target, struct ri_gaps *gaps)
{
	ri_target_close(target);
	ri_gaps_deinit(gaps);
}

static inline const struct ri_thread *find_thread(const struct ri_target *target, pid_t tid)
{
	for (size_t i = 0; i < target->thread_count; i++)
		if (target->threads[i].tid == tid)
			return &target->threads[i];
	fail_msg("thread %d is not there", (int)tid);
	return NULL;
}

#endif
