/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Target memory read through ri_image_*, with the last range that had bytes
 * remembered: the same words as the image's own readers, without a search per
 * word.  Private to the census floor.
 */
#ifndef RI_CENSUS_READER_H
#define RI_CENSUS_READER_H

#include <string.h>

#include "target/image.h"

struct ri_reader {
	const struct ri_image *image;
	uint64_t start, size_bytes; /* of the remembered range */
	const uint8_t *bytes;
};

static inline void ri_reader_init(struct ri_reader *reader, const struct ri_image *image)
{
	*reader = (struct ri_reader){ .image = image };
}

/* A pointer to `size_bytes` bytes at `addr` in one range, or null. */
static inline const uint8_t *ri_reader_peek(struct ri_reader *reader, uint64_t addr,
					    uint64_t size_bytes)
{
	const struct ri_range *range;
	uint64_t offset = addr - reader->start;

	if (offset < reader->size_bytes && reader->size_bytes - offset >= size_bytes)
		return reader->bytes + offset;
	range = ri_image_find(reader->image, addr);
	if (!range || !range->bytes || range->end - addr < size_bytes)
		return NULL;
	reader->start = range->start;
	reader->size_bytes = range->end - range->start;
	reader->bytes = range->bytes;
	return range->bytes + (addr - range->start);
}

/* A little-endian unsigned integer of 1, 2, 4 or 8 bytes. */
static inline bool ri_reader_uint(struct ri_reader *reader, uint64_t addr, unsigned size_bytes,
				  uint64_t *ret)
{
	const uint8_t *p = ri_reader_peek(reader, addr, size_bytes);

	if (!p || size_bytes > sizeof(*ret))
		return ri_image_read_uint(reader->image, addr, size_bytes, ret);
	*ret = 0;
	switch (size_bytes) { /* constant sizes are single loads */
	case 8:
		memcpy(ret, p, 8);
		break;
	case 4:
		memcpy(ret, p, 4);
		break;
	default:
		memcpy(ret, p, size_bytes);
		break;
	}
	return true;
}

static inline bool ri_reader_u64(struct ri_reader *reader, uint64_t addr, uint64_t *ret)
{
	const uint8_t *p = ri_reader_peek(reader, addr, sizeof(*ret));

	if (!p)
		return ri_image_read_u64(reader->image, addr, ret);
	memcpy(ret, p, sizeof(*ret));
	return true;
}

#endif
