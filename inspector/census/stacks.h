/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of glibc's threads, living and ended ones, from their thread control
 * blocks.  Private to census/.
 */
#ifndef RI_CENSUS_STACKS_H
#define RI_CENSUS_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "heap/heap.h"
#include "target/target.h"

/* A control block begins with a pointer to itself, one to the vector of TLS blocks, and
 * one to itself. */
#define RI_STACK_HEADER_BYTES 24

struct ri_stack {
	uint64_t start, end;     /* [start, end) that the thread library set apart, guard included */
	uint64_t control_block;  /* its address: the thread pointer (fs_base) */
	uint32_t thread;         /* index into target->threads[]; RI_NONE: of no live thread */
};

typedef RI_VEC(struct ri_stack) ri_stack_list;

/* Appends what is found, at most one for each thread, ascending by `thread` (those of
 * ended threads last); the main thread has none, nor has one that was given
 * memory for its stack in a way that its control block does not tell. */
void ri_stacks_find(const struct ri_target *target, const struct ri_heap *heap,
		    ri_stack_list *list);

#endif
