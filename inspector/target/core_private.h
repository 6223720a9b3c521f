/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the core reader share while a core is being opened. */
#ifndef RI_TARGET_CORE_PRIVATE_H
#define RI_TARGET_CORE_PRIVATE_H

#include "target/target_private.h"

/* One PT_LOAD segment. */
struct ri_core_load {
	uint64_t start, end;      /* [start, end) in the target */
	uint64_t dumped_end;      /* [start, dumped_end) should be in the file */
	uint64_t present_end;     /* [start, present_end) is there */
	const uint8_t *bytes;     /* present_end - start of them, or null */
	uint32_t flags;           /* RI_RANGE_READ, WRITE, EXEC */
};

/* [start, end) of the file has no bytes on disk. */
struct ri_core_hole {
	uint64_t start, end;
};

struct ri_core {
	const char *path;
	struct ri_gaps *gaps;
	struct ri_target *target;
	int fd;                   /* the file, open while the core is being opened; or -1 */
	const uint8_t *bytes;     /* the mapped file; owned by the image */
	uint64_t size_bytes;
	const uint8_t *phdrs;     /* phdr_count of them, all within the file */
	uint64_t phdr_count;
	uint64_t note_bytes;      /* read so far */
	uint64_t load_bytes;      /* that segments have had in the file so far */
	double dumped_bytes;      /* of all segments, as promised by the headers */
	double lost_bytes;        /* of these, beyond the end of the file */
	struct ri_core_notes notes;
	RI_VEC(struct ri_core_load) loads; /* ascending starts, once all are read */
	RI_VEC(struct ri_core_hole) holes; /* ascending, as found by ri_core_find_holes() */
	const uint8_t *zeros;     /* as many as the largest hole has */
	uint64_t splits_left;     /* how many more holes may become ranges */
};

/* Finds the file's large holes, unless it has none or they cannot be told. */
void ri_core_find_holes(struct ri_core *core);

/* Adds the bytes that the file has of `load` to the image: its data, and for
 * large holes ranges of zeros, marked RI_RANGE_ZERO. */
void ri_core_add_bytes(struct ri_core *core, const struct ri_core_load *load, uint32_t flags);

/* Fills the target's image and mappings from the segments, the notes' files
 * and the threads' stack pointers. */
void ri_core_fill(struct ri_core *core);

#endif
