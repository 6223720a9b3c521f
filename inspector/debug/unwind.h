/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frames of every thread's stack, from the saved registers and the modules' call
 * frame information; the same for a core file and a live process.
 */
#ifndef RI_DEBUG_UNWIND_H
#define RI_DEBUG_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "debug/modules.h"

#define RI_FRAME_REGISTERS 16 /* DWARF's numbers 0 to 15 on x86-64: rax ... r15 */

/* One frame; frame 0 is the innermost. */
struct ri_frame {
	uint64_t pc;             /* where it runs, or, of a caller, will go on */
	uint64_t sp;             /* its stack pointer: [sp, cfa) is the frame's memory */
	uint64_t cfa;            /* the stack pointer of its caller; 0: not known */
	uint32_t thread;         /* index into target->threads[] */
	uint32_t depth;
	uint32_t known;          /* bit n: registers[n] is */
	bool is_exact;           /* call frame information led to it from frame 0 on, and from it */
	bool is_activation;      /* pc is an instruction that was stopped at, not one after a
				  * call: frame 0, and what a signal interrupted */
	uint64_t registers[RI_FRAME_REGISTERS]; /* as they are in this frame */
};

struct ri_unwind;

/* Unwinds every thread that has registers.  `modules` must outlive the result; what could
 * not be unwound is told in `gaps`. */
struct ri_unwind *ri_unwind_create(const struct ri_modules *modules, struct ri_gaps *gaps);
void ri_unwind_destroy(struct ri_unwind *unwind);

/* The frames of a thread, innermost first; none where it has no registers. */
const struct ri_frame *ri_unwind_frames(const struct ri_unwind *unwind, uint32_t thread,
					size_t *ret_count);

/* Those of all threads, by thread and depth. */
const struct ri_frame *ri_unwind_all(const struct ri_unwind *unwind, size_t *ret_count);

/* The frame whose memory has `addr`, the red zone below frame 0 included; or null.
 * `unwind` may be null. */
const struct ri_frame *ri_unwind_find(const struct ri_unwind *unwind, uint64_t addr);

/* The function that the frame is in, by its symbol, valid as long as the modules; or null. */
const char *ri_unwind_function(const struct ri_unwind *unwind, const struct ri_frame *frame);

struct ri_unwind_totals {
	size_t threads_whole;    /* unwound to their outermost frame */
	size_t threads_cut;      /* some of their frames */
	size_t threads_without;  /* none: no registers */
	size_t frame_count;
};
struct ri_unwind_totals ri_unwind_count(const struct ri_unwind *unwind);

#endif
