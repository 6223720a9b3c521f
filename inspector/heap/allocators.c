/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of allocators whose records can be walked; a new one is one row. */
#include "heap/heap_builder.h"

const struct ri_allocator *const ri_allocators[] = {
	&ri_allocator_glibc,
	&ri_allocator_pymalloc, /* may be nested in the one before */
	&ri_allocator_guarded,  /* last: cuts down what the others found */
};

const size_t ri_allocator_count = sizeof(ri_allocators) / sizeof(ri_allocators[0]);
