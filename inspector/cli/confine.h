/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the child that reads an untrusted target may do, and how much of the machine
 * it may use.  Nothing here protects the target; it protects the user from a core
 * file that was made to take over the libraries which read it.
 */
#ifndef RI_CLI_CONFINE_H
#define RI_CLI_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum ri_confine_mode {
	RI_CONFINE_AUTO,    /* by what this build and this kernel have */
	RI_CONFINE_NEVER,
	RI_CONFINE_REQUIRE, /* an error where either of the two is not to be had */
};

enum ri_confine_flag {
	/* The child forks to run commands; each child of its own confines itself anew. */
	RI_CONFINE_MAY_FORK = 1 << 0,
	/* It reads files of other processes in /proc, which Landlock would hide. */
	RI_CONFINE_SEES_PROCESSES = 1 << 1,
};

/*
 * Confines the calling process for good, all its threads and children with it: files
 * are opened for reading alone, and there is no network, no program to start, no other
 * process to make (see RI_CONFINE_MAY_FORK), to trace or to signal.  Descriptors that
 * are open stay usable.  What breaks this is not done, and ends the process with status
 * 2 and one line on stderr.  A second call can only narrow.
 */
struct ri_error *ri_confine(enum ri_confine_mode mode, unsigned flags);

/*
 * Bounds what the calling process and its children may use: `max_memory_bytes` of memory
 * that is their own (mapped files do not count) and as much of one file's length, no core
 * file.  RI_MEMORY_OF_MACHINE: what the machine has, swap included; 0: no bound.
 */
#define RI_MEMORY_OF_MACHINE UINT64_MAX
void ri_confine_resources(uint64_t max_memory_bytes);

/* In a process of which waitpid() is told: SIGALRM ends it after that long (0: never),
 * whatever was inherited. */
void ri_confine_time(unsigned seconds);

/* Whether this build or this run is instrumented (a sanitizer, valgrind), which takes
 * more system calls and more memory than the rules allow; they are loose then. */
bool ri_confine_is_loose(void);

/* One line for --version: what this build and this kernel have. */
void ri_confine_describe(FILE *out);

#endif
