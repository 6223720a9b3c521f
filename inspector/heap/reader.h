/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to heap/: reading words of the image one after another.  The range of
 * the last read is kept, so that a walk over contiguous memory costs one
 * comparison a word.
 */
#ifndef RI_HEAP_READER_H
#define RI_HEAP_READER_H

#include <string.h>

#include "target/image.h"

struct ri_reader {
	const struct ri_image *image;
	uint64_t start;          /* of the cached range */
	uint64_t last;           /* offset of the last whole word in it */
	const uint8_t *bytes;    /* null: nothing is cached */
};

static inline void ri_reader_init(struct ri_reader *reader, const struct ri_image *image)
{
	*reader = (struct ri_reader){ .image = image };
}

/* The slow path of ri_reader_u64(). */
bool ri_reader_refill(struct ri_reader *reader, uint64_t addr, uint64_t *ret);

/* The word at `addr`; false where it has no bytes.  Unlike ri_image_read() this
 * gives no zeros for untouched memory: an allocator's record was written. */
static inline bool ri_reader_u64(struct ri_reader *reader, uint64_t addr, uint64_t *ret)
{
	uint64_t offset = addr - reader->start;

	if (__builtin_expect(!reader->bytes || offset > reader->last, 0))
		return ri_reader_refill(reader, addr, ret);
	memcpy(ret, reader->bytes + offset, sizeof(*ret));
	return true;
}

#endif
