/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Local variables and parameters in the frames of threads, as DWARF describes them.
 */
#ifndef RI_DEBUG_LOCALS_H
#define RI_DEBUG_LOCALS_H

#include <stdbool.h>
#include <stdint.h>

#include "debug/types.h"
#include "debug/unwind.h"

/* A variable that has a place in memory. */
struct ri_local {
	const char *name;
	const struct ri_frame *frame;
	const struct ri_type *type;
	uint64_t addr;
	uint64_t size_bytes;     /* 0: unknown */
	bool is_live;            /* the frame is in its scope */
	bool is_dead;            /* nothing in this frame can use its place any more, or yet: proven
				  * (locals.c); neither: nothing is known */
};

/* Makes the frames known to `types`; they must outlive it, or be taken back with null. */
void ri_types_use_frames(struct ri_types *types, const struct ri_unwind *unwind);

/* Calls back for the variables of every frame, by thread and depth; stops on false.  Without
 * frames for none. */
void ri_types_each_local(struct ri_types *types,
			 bool (*callback)(const struct ri_local *local, void *data), void *data);

/* The live variable of `frame` that `addr` lies in; false: none is known. */
bool ri_types_find_local(struct ri_types *types, const struct ri_frame *frame, uint64_t addr,
			 struct ri_local *ret);

#endif
