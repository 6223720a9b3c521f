/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the live back end share: /proc, page maps, copying. */
#ifndef RI_TARGET_LIVE_PRIVATE_H
#define RI_TARGET_LIVE_PRIVATE_H

#include "target/target_private.h"

/* --- proc.c: what /proc tells of a process --- */

/* What is known of a process or thread without stopping it. */
struct ri_proc_status {
	char state;          /* as in /proc/PID/stat: R S D T t Z X ... */
	bool is_kernel_thread;
	pid_t tgid;          /* the process it belongs to */
	pid_t tracer;        /* who traces it, or 0 */
};

/* Reads it; false (errno set) when there is no such process or thread. */
bool ri_proc_read_status(pid_t tid, struct ri_proc_status *ret);

/* Whether the process or thread is gone, or a zombie. */
bool ri_proc_has_ended(pid_t tid);

/*
 * The contents of /proc/TID/NAME, at most `max_bytes`, as a new buffer with a
 * NUL behind it that *ret_size_bytes (may be null) does not count; null with
 * errno set when it cannot be read.
 */
char *ri_proc_read(pid_t tid, const char *name, size_t max_bytes, size_t *ret_size_bytes);

/*
 * The mappings of /proc/TID/maps into target->mappings, which must be empty.
 * Lines that cannot be understood are counted as gaps.
 */
struct ri_error *ri_proc_read_mappings(struct ri_target *target, pid_t tid, struct ri_gaps *gaps);

/* Fills command, arguments and the auxv_* fields. */
void ri_proc_describe(struct ri_target *target, pid_t tid);

/*
 * The instruction and stack pointers of a thread that is not running, from
 * /proc/TID/syscall, into `thread`, which gets `registers_partial`; all other
 * registers become 0.  False when the thread runs or /proc refuses.
 */
bool ri_proc_read_stack_pointer(pid_t tid, struct ri_thread *thread);

/* The threads of a process, new array of *ret_count, owned by the caller; null
 * (and a count of 0) when there is no such process. */
pid_t *ri_proc_list_threads(pid_t pid, size_t *ret_count);

/* --- pagemap.c: which pages of a process exist --- */

struct ri_page_run {
	uint64_t start, end; /* [start, end), whole pages */
};

struct ri_page_runs {
	struct ri_page_run *items; /* ascending, never adjoining */
	size_t count, capacity;
};

struct ri_pagemap;

/* Opens the page map of `tid`; null (errno set) when the system refuses. */
struct ri_pagemap *ri_pagemap_open(pid_t tid);
void ri_pagemap_close(struct ri_pagemap *pagemap);

/*
 * Appends to `runs` the pages of [start, end) that are in memory or swapped out;
 * with `only_private` those alone that belong to the process itself (written
 * private pages), not to a file or shared memory.  False when it cannot be
 * told in reasonable time (a huge range on a kernel before 6.7).
 */
bool ri_pagemap_find(struct ri_pagemap *pagemap, uint64_t start, uint64_t end, bool only_private,
		     struct ri_page_runs *runs);

/* Makes ri_pagemap_find() do without the system call of newer kernels: for tests
 * of what happens on older ones. */
void ri_pagemap_refuse_scan(struct ri_pagemap *pagemap);

/* --- live_copy.c: the copy --- */

/* Memory to copy to; it becomes the image's. */
struct ri_live_buffer {
	uint8_t *p;
	uint64_t size_bytes;
};

/*
 * Makes room for a copy of `tid`'s process while it still runs, by what its
 * mappings are now, so that the pause is not spent on finding memory.  Where
 * that fails, the buffer is empty and ri_live_copy() makes its own.
 */
void ri_live_prepare(pid_t tid, struct ri_live_buffer *ret);

/*
 * Copies the memory of the stopped process that `tid` belongs to into the
 * target's image, by target->mappings, and sets bytes_copied.  `use_mem` reads
 * /proc/TID/mem alone.  RI_ERROR_PERMISSION when nothing may be read,
 * RI_ERROR_NOT_FOUND when the process ended meanwhile; what else cannot be read
 * becomes MISSING and a gap.  Takes `buffer` over, which may be empty or too
 * small.
 */
struct ri_error *ri_live_copy(struct ri_target *target, pid_t tid, bool use_mem,
			      const struct ri_live_buffer *buffer, struct ri_gaps *gaps);

#endif
