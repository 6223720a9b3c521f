/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory image: see image.h.  Knows address ranges and bytes; knows nothing
 * of where they came from.
 *
 * Additions are kept as they come and resolved by ri_image_seal() in one sweep
 * over the sorted starts: a heap holds the ranges that cover the current
 * address, best on top (with bytes before without, earlier before later), and a
 * piece ends where a better range begins or its own source ends.  n additions
 * cost n log n and give at most 2n pieces, however they overlap.  Sealing again
 * takes the pieces of the last time as the earliest additions.
 */
#include "target/image.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

struct addition {
	struct ri_range range;
	size_t order; /* of arrival: lower wins */
};

struct owned_mapping {
	void *p;
	size_t size_bytes;
};

struct ri_image {
	RI_VEC(struct ri_range) ranges;   /* ascending, no overlaps; as of the last seal */
	RI_VEC(struct addition) additions; /* since then */
	RI_VEC(struct owned_mapping) owned;
};

struct ri_image *ri_image_create(void)
{
	return ri_calloc(1, sizeof(struct ri_image));
}

void ri_image_destroy(struct ri_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->owned.count; i++)
		munmap(image->owned.items[i].p, image->owned.items[i].size_bytes);
	ri_vec_deinit(&image->owned);
	ri_vec_deinit(&image->additions);
	ri_vec_deinit(&image->ranges);
	free(image);
}

void ri_image_add(struct ri_image *image, const struct ri_range *range)
{
	struct addition *addition;

	if (range->start >= range->end || range->start >= RI_IMAGE_END)
		return;
	assert(!range->bytes == (range->kind == RI_RANGE_UNTOUCHED ||
				 range->kind == RI_RANGE_MISSING));
	addition = ri_push(&image->additions);
	addition->range = *range;
	if (range->end > RI_IMAGE_END)
		addition->range.end = RI_IMAGE_END;
}

void ri_image_own_mapping(struct ri_image *image, void *p, size_t size_bytes)
{
	struct owned_mapping *owned = ri_push(&image->owned);

	owned->p = p;
	owned->size_bytes = size_bytes;
}

static int compare_starts(const void *a, const void *b)
{
	const struct addition *x = a, *y = b;

	if (x->range.start != y->range.start)
		return x->range.start < y->range.start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static bool is_better(const struct addition *a, const struct addition *b)
{
	if (!a->range.bytes != !b->range.bytes)
		return a->range.bytes;
	return a->order < b->order;
}

/* The ranges that cover the sweep's address, and perhaps some that have ended. */
struct cover {
	const struct addition **items; /* a binary heap, the best first */
	size_t count;
};

static void cover_push(struct cover *cover, const struct addition *addition)
{
	size_t i = cover->count++;

	while (i && is_better(addition, cover->items[(i - 1) / 2])) {
		cover->items[i] = cover->items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	cover->items[i] = addition;
}

static void cover_pop(struct cover *cover)
{
	const struct addition *last = cover->items[--cover->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < cover->count) {
		if (child + 1 < cover->count &&
		    is_better(cover->items[child + 1], cover->items[child]))
			child++;
		if (!is_better(cover->items[child], last))
			break;
		cover->items[i] = cover->items[child];
		i = child;
	}
	cover->items[i] = last;
}

/* Appends [start, end) of `source`, to the piece before where they adjoin. */
static void append_piece(struct ri_image *image, const struct addition **last_source,
			 const struct addition *source, uint64_t start, uint64_t end)
{
	struct ri_range *piece;

	if (*last_source == source && image->ranges.items[image->ranges.count - 1].end == start) {
		image->ranges.items[image->ranges.count - 1].end = end;
		return;
	}
	piece = ri_push(&image->ranges);
	*piece = source->range;
	piece->start = start;
	piece->end = end;
	if (piece->bytes)
		piece->bytes += start - source->range.start;
	*last_source = source;
}

/* Makes ranges[] out of additions[], which are sorted by start. */
static void sweep(struct ri_image *image)
{
	const struct addition *items = image->additions.items, *last_source = NULL;
	size_t count = image->additions.count, next = 0;
	struct cover cover = { ri_calloc(count, sizeof(*cover.items)), 0 };
	uint64_t at = 0;

	while (next < count || cover.count) {
		uint64_t end;

		if (cover.count && cover.items[0]->range.end <= at) {
			cover_pop(&cover);
			continue;
		}
		if (!cover.count && next < count && items[next].range.start > at)
			at = items[next].range.start;
		if (next < count && items[next].range.start <= at) {
			cover_push(&cover, &items[next++]);
			continue;
		}
		end = cover.items[0]->range.end;
		if (next < count && items[next].range.start < end)
			end = items[next].range.start;
		append_piece(image, &last_source, cover.items[0], at, end);
		at = end;
	}
	free(cover.items);
}

void ri_image_seal(struct ri_image *image)
{
	size_t sealed_count = image->ranges.count;

	if (!image->additions.count)
		return;
	for (size_t i = 0; i < image->additions.count; i++)
		image->additions.items[i].order = sealed_count + i;
	for (size_t i = 0; i < sealed_count; i++) {
		struct addition *addition = ri_push(&image->additions);

		addition->range = image->ranges.items[i];
		addition->order = i;
	}
	image->ranges.count = 0;
	qsort(image->additions.items, image->additions.count, sizeof(*image->additions.items),
	      compare_starts);
	sweep(image);
	ri_vec_deinit(&image->additions);
}

const struct ri_range *ri_image_ranges(const struct ri_image *image, size_t *ret_count)
{
	assert(!image->additions.count);
	*ret_count = image->ranges.count;
	return image->ranges.items;
}

const struct ri_range *ri_image_find(const struct ri_image *image, uint64_t addr)
{
	const struct ri_range *low = image->ranges.items;
	size_t count = image->ranges.count;

	assert(!image->additions.count);
	while (count > 1) {
		size_t half = count / 2;

		if (low[half].start <= addr)
			low += half;
		count -= half;
	}
	return count && addr >= low->start && addr < low->end ? low : NULL;
}

const uint8_t *ri_image_peek(const struct ri_image *image, uint64_t addr, size_t size_bytes)
{
	const struct ri_range *range = ri_image_find(image, addr);

	if (!range || !range->bytes || size_bytes > range->end - addr)
		return NULL;
	return range->bytes + (addr - range->start);
}

bool ri_image_read(const struct ri_image *image, uint64_t addr, void *buffer, size_t size_bytes)
{
	const struct ri_range *range, *end;
	uint8_t *out = buffer;

	if (!size_bytes)
		return true;
	range = ri_image_find(image, addr);
	if (!range)
		return false;
	end = image->ranges.items + image->ranges.count;
	while (range && range->kind != RI_RANGE_MISSING) {
		size_t size = range->end - addr;

		if (size > size_bytes)
			size = size_bytes;
		if (range->bytes)
			memcpy(out, range->bytes + (addr - range->start), size);
		else
			memset(out, 0, size);
		out += size;
		addr += size;
		size_bytes -= size;
		if (!size_bytes)
			return true;
		range++;
		if (range == end || range->start != addr)
			return false;
	}
	return false;
}

bool ri_image_read_uint(const struct ri_image *image, uint64_t addr, unsigned size_bytes,
			uint64_t *ret)
{
	uint64_t value = 0;

	assert(size_bytes >= 1 && size_bytes <= sizeof(value));
	if (!ri_image_read(image, addr, &value, size_bytes))
		return false;
	*ret = le64toh(value);
	return true;
}

bool ri_image_read_u64(const struct ri_image *image, uint64_t addr, uint64_t *ret)
{
	const uint8_t *bytes = ri_image_peek(image, addr, sizeof(*ret));

	if (bytes) {
		memcpy(ret, bytes, sizeof(*ret));
		*ret = le64toh(*ret);
		return true;
	}
	return ri_image_read_uint(image, addr, sizeof(*ret), ret);
}

bool ri_image_read_u32(const struct ri_image *image, uint64_t addr, uint32_t *ret)
{
	uint64_t value;

	if (!ri_image_read_uint(image, addr, sizeof(*ret), &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

/*
 * Length of the string at `addr` in the ranges from there on; false when it is
 * longer than `max_bytes` or runs out of bytes.  An UNTOUCHED byte is a NUL.
 */
static bool measure_string(const struct ri_image *image, uint64_t addr, size_t max_bytes,
			   size_t *ret)
{
	const struct ri_range *range = ri_image_find(image, addr);
	const struct ri_range *end = image->ranges.items + image->ranges.count;
	size_t length = 0;

	while (range && range != end && range->kind != RI_RANGE_MISSING) {
		uint64_t size = range->end - addr;
		const uint8_t *bytes, *nul;

		if (!range->bytes) {
			*ret = length;
			return true;
		}
		bytes = range->bytes + (addr - range->start);
		if (size - 1 > max_bytes - length)
			size = max_bytes - length + 1;
		nul = memchr(bytes, 0, size);
		if (nul) {
			*ret = length + (size_t)(nul - bytes);
			return *ret <= max_bytes;
		}
		length += size;
		addr += size;
		if (length > max_bytes || addr != range->end)
			return false;
		range++;
		if (range != end && range->start != addr)
			return false;
	}
	return false;
}

char *ri_image_read_string(const struct ri_image *image, uint64_t addr, size_t max_bytes)
{
	char *string;
	size_t length;

	if (!measure_string(image, addr, max_bytes, &length))
		return NULL;
	string = ri_malloc(length + 1);
	if (!ri_image_read(image, addr, string, length)) {
		free(string);
		return NULL;
	}
	string[length] = '\0';
	return string;
}
