/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's memory as a sorted list of address ranges that do not overlap.
 *
 * A range has bytes (PRESENT: from the core or the live copy; FILE: from the
 * ELF file with the right build-id), or has none and says why (UNTOUCHED: an
 * absent private anonymous range, presumed never written; MISSING: absent, and
 * what it held is unknown).  The rest of the library reads target memory
 * through this interface alone; target addresses are integers, never pointers.
 *
 * A target back end adds ranges while it opens, the module loader adds the
 * FILE ranges, ri_image_seal() sorts; after that the image does not change.
 */
#ifndef RI_TARGET_IMAGE_H
#define RI_TARGET_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum ri_range_kind {
	RI_RANGE_PRESENT,
	RI_RANGE_FILE,
	RI_RANGE_UNTOUCHED,
	RI_RANGE_MISSING,
};

enum {
	RI_RANGE_READ = 1,
	RI_RANGE_WRITE = 2,
	RI_RANGE_EXEC = 4,
	RI_RANGE_SHARED = 8,    /* mapped shared: holders may live in other processes */
	RI_RANGE_ANONYMOUS = 16, /* no file behind it */
	RI_RANGE_ZERO = 32,     /* PRESENT and all zeros, as a large hole in a core file says:
				 * a sweep may pass over it without reading */
};

struct ri_range {
	uint64_t start, end;    /* [start, end) */
	const uint8_t *bytes;   /* end - start bytes, or null (UNTOUCHED, MISSING) */
	enum ri_range_kind kind;
	uint32_t flags;         /* RI_RANGE_* */
};

/* Behind every range: no program's memory lies above (the vsyscall page ends below), and an
 * address in an image can be rounded up to any page without wrapping. */
#define RI_IMAGE_END (UINT64_MAX - ((1ull << 20) - 1))

struct ri_image;

struct ri_image *ri_image_create(void);
void ri_image_destroy(struct ri_image *image);

/*
 * Adds [range->start, range->end).  Where it overlaps ranges that were added
 * earlier, those with bytes win over those without, and earlier over later;
 * only the remaining parts of the new one are kept (a MISSING or UNTOUCHED
 * range is so filled by a later FILE one).  What lies at RI_IMAGE_END and above
 * is left out.  `range->bytes` must stay valid as
 * long as the image; an owner can be handed over with ri_image_own_mapping().
 */
void ri_image_add(struct ri_image *image, const struct ri_range *range);

/* Makes the image munmap [p, p + size_bytes) when it is destroyed. */
void ri_image_own_mapping(struct ri_image *image, void *p, size_t size_bytes);

/* Sorts what was added and settles overlaps; must be called after the last
 * ri_image_add() and before any reading.  Again after further additions is allowed. */
void ri_image_seal(struct ri_image *image);

/* The ranges in ascending order, count in *ret_count; valid until the next
 * ri_image_add(). */
const struct ri_range *ri_image_ranges(const struct ri_image *image, size_t *ret_count);

/* The range that contains `addr`, or null. */
const struct ri_range *ri_image_find(const struct ri_image *image, uint64_t addr);

/*
 * Reads exactly `size_bytes` at `addr` into `buffer`, across adjoining ranges.
 * False, with nothing promised about `buffer`, when a byte has no range or no
 * bytes; an UNTOUCHED range reads as zeros.
 */
bool ri_image_read(const struct ri_image *image, uint64_t addr, void *buffer, size_t size_bytes);

/* A pointer to `size_bytes` bytes at `addr` where one range holds them all with
 * bytes; else null.  Not aligned for wider types: use memcpy or the readers. */
const uint8_t *ri_image_peek(const struct ri_image *image, uint64_t addr, size_t size_bytes);

/* Little-endian readers; false when the bytes are not there. */
bool ri_image_read_u64(const struct ri_image *image, uint64_t addr, uint64_t *ret);
bool ri_image_read_u32(const struct ri_image *image, uint64_t addr, uint32_t *ret);

/* An unsigned little-endian integer of 1 to 8 bytes; false as above. */
bool ri_image_read_uint(const struct ri_image *image, uint64_t addr, unsigned size_bytes,
			uint64_t *ret);

/* Reads a NUL-terminated string of at most `max_bytes` bytes (without the NUL)
 * into a new string owned by the caller; null when it is not mapped, longer,
 * or not there. */
char *ri_image_read_string(const struct ri_image *image, uint64_t addr, size_t max_bytes);

#endif
