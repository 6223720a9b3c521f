/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognises a tcache_perthread_struct among the used blocks.
 *
 * It is a block of a known size that holds a number per list and then the first
 * entry of each list.  Formats (malloc/malloc.c of glibc):
 *
 *   2.26 to 2.29   64 counts of 1 byte, 64 entries
 *   2.30 to 2.41   64 counts of 2 bytes, 64 entries
 *   2.42           76 numbers of 2 bytes that say how many places are left on
 *                  the list, 76 entries
 *
 * A block is taken for one when each list has an entry exactly where its number
 * says so, and each entry is the start of a used block of the list's size.  One
 * list may disagree where at least four agree: an entry that a thread just
 * changes, or one that was overwritten.
 *
 * Blind spot: a tcache that holds no chunk looks like zeros, and stays a used
 * block; it points at nothing, so that does no harm.
 */
#include "heap/glibc_tcache.h"

#define SMALL_LISTS RI_SMALL_CLASS_COUNT
#define BLOCK_BYTES_MAX 0x310u
#define AGREE_MIN 4u
#define LARGE_CHUNK_MIN 0x410u

struct format {
	uint64_t size_bytes;     /* of the structure */
	unsigned list_count, number_bytes;
	bool counts_down;        /* numbers are places left */
};

static const struct format formats[] = {
	{ 64 * 2 + 64 * 8, 64, 2, false },
	{ 64 * 1 + 64 * 8, 64, 1, false },
	{ 76 * 2 + 76 * 8, 76, 2, true },
};

uint64_t ri_tcache_chunk_size(unsigned list)
{
	return list < SMALL_LISTS ? RI_CHUNK_SIZE_MIN + RI_CHUNK_ALIGN * (uint64_t)list : 0;
}

/* The format whose block has `size_bytes` usable bytes, or null.  A block may be
 * 16 bytes larger where the rest was too small to be split off. */
static const struct format *find_format(uint64_t size_bytes)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		uint64_t chunk = (formats[i].size_bytes + 8 + 15) & ~15ull;

		if (size_bytes == chunk - 8 || size_bytes == chunk + 8)
			return &formats[i];
	}
	return NULL;
}

static void parse(const struct format *format, const uint8_t *bytes, struct ri_tcache *ret)
{
	const uint8_t *entries = bytes + (size_t)format->list_count * format->number_bytes;
	uint32_t most = 0;

	ret->list_count = format->list_count;
	for (unsigned i = 0; i < format->list_count; i++) {
		const uint8_t *number = bytes + (size_t)i * format->number_bytes;

		ret->counts[i] = number[0];
		if (format->number_bytes == 2)
			ret->counts[i] |= (uint32_t)number[1] << 8;
		memcpy(&ret->entries[i], entries + 8ull * i, 8);
		if (ret->counts[i] > most)
			most = ret->counts[i];
	}
	for (unsigned i = 0; format->counts_down && i < format->list_count; i++)
		ret->counts[i] = most - ret->counts[i];
}

/* Whether the first entry of list `list` can be one. */
static bool is_entry(const struct ri_glibc *glibc, unsigned list, uint64_t entry)
{
	const struct ri_heap *heap = glibc->builder->heap;
	uint64_t chunk_size = ri_tcache_chunk_size(list), usable;
	uint32_t i;

	if (entry % RI_CHUNK_ALIGN)
		return false;
	i = ri_heap_builder_find(glibc->builder, entry, true);
	if (i == RI_NONE || heap->blocks[i].state != RI_BLOCK_USED)
		return false;
	usable = heap->blocks[i].size_bytes;
	return chunk_size ? usable == chunk_size - 8 : usable >= LARGE_CHUNK_MIN - 8;
}

bool ri_tcache_read(const struct ri_glibc *glibc, uint32_t block, struct ri_tcache *ret)
{
	const struct ri_block *b = &glibc->builder->heap->blocks[block];
	const struct format *format;
	uint8_t bytes[BLOCK_BYTES_MAX];
	unsigned good = 0, bad = 0;

	format = b->state == RI_BLOCK_USED ? find_format(b->size_bytes) : NULL;
	if (!format ||
	    !ri_image_read(glibc->target->image, b->addr, bytes, format->size_bytes))
		return false;
	ret->block = block;
	parse(format, bytes, ret);
	for (unsigned i = 0; i < ret->list_count && bad <= 1; i++) {
		if (!ret->counts[i] && !ret->entries[i])
			continue;
		if (ret->counts[i] && ret->entries[i] && is_entry(glibc, i, ret->entries[i]))
			good++;
		else
			bad++;
	}
	return bad ? bad == 1 && good >= AGREE_MIN : good > 0;
}
