/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the back ends of a target alone: what core.c, live.c and their parsers
 * share.  Those who use a target include target.h.
 */
#ifndef RI_TARGET_TARGET_PRIVATE_H
#define RI_TARGET_TARGET_PRIVATE_H

#include "base/gaps.h"
#include "base/memory.h"
#include "target/target.h"

/*
 * Sorts `mappings` and removes overlaps: the one that starts first keeps its
 * range, the rest of a later one stays.  `*count` is updated, dropped paths are
 * freed; returns how many were cut or dropped for overlapping.
 */
size_t ri_mappings_arrange(struct ri_mapping *mappings, size_t *count);

/* Frees target->mappings. */
void ri_target_deinit_mappings(struct ri_target *target);

/* Takes the auxv_* fields from an auxiliary vector: pairs of 64-bit words, ended
 * by AT_NULL or by `size_bytes`. */
void ri_target_take_auxv(struct ri_target *target, const void *auxv, size_t size_bytes);

/* Whether a mapping of a file with this name is memory shared by its nature:
 * POSIX or System V shared memory, a memfd, /dev/zero mapped shared. */
bool ri_path_is_shared_memory(const char *path);

/* Whether a mapping of a file with this name is anonymous all the same: huge
 * pages have such a name instead of none. */
bool ri_path_is_anonymous(const char *path);

/*
 * A core's notes, as far as read.  Threads go straight to the target; rows of
 * NT_FILE stay here until the segments are known.
 */
struct ri_core_notes {
	struct ri_target *target;
	struct ri_gaps *gaps;
	RI_VEC(struct ri_thread) threads;
	RI_VEC(struct ri_mapping) files; /* as the note has them: any order */
	bool has_files;                  /* a readable NT_FILE was there */
	bool is_kernel_dump;             /* VMCOREINFO: no process core at all */
};

/*
 * Reads one PT_NOTE segment: `bytes` is what the file has of it, `align` its
 * p_align.  Damage goes to notes->gaps.  Sources of the formats: the gABI on
 * notes, <sys/procfs.h>, <linux/elfcore.h>, and core(5) for NT_FILE.
 */
void ri_core_notes_read(struct ri_core_notes *notes, const uint8_t *bytes, uint64_t size_bytes,
			uint64_t align);

#endif
