/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Word reader: see reader.h. */
#include "heap/reader.h"

bool ri_reader_refill(struct ri_reader *reader, uint64_t addr, uint64_t *ret)
{
	const struct ri_range *range = ri_image_find(reader->image, addr);

	if (!range || !range->bytes)
		return false;
	if (range->end - addr < sizeof(*ret))
		return ri_image_read_u64(reader->image, addr, ret);
	reader->start = range->start;
	reader->last = range->end - range->start - sizeof(*ret);
	reader->bytes = range->bytes;
	memcpy(ret, range->bytes + (addr - range->start), sizeof(*ret));
	return true;
}
