/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of an array on the heap is in use.  Vectors keep spare room at their
 * end, and what was removed from there often still stands in it: a holder that
 * is none.
 *
 * C++ vectors say it themselves: begin, end of the elements, end of the room,
 * three pointers of one type in a row.  In C a counter beside the pointer does,
 * if its name says so, and only where it explains the contents: the elements
 * before it all hold something, and some behind it do too.  A counter that is
 * the number of filled elements of a sparse table explains that as well and
 * cuts nothing off.
 *
 * Cost: one pass over the array where there is a counter.  Blind spots: counters
 * in other structs, and arrays held by variables.
 */
#include "census/traverse_private.h"

#include <ctype.h>

#include "census/type_walk.h"

#define DEPTH_MAX 32
#define COUNTERS_MAX 8

/* The struct around a pointer, found from the outermost one. */
struct surroundings {
	const struct ri_type *type; /* innermost struct that contains the pointer */
	uint64_t offset_bytes;      /* of it */
};

static bool find_surroundings(struct ri_types *types, const struct ri_type *type, uint64_t base,
			      uint64_t offset, struct surroundings *ret)
{
	bool found = false;

	for (unsigned depth = 0; type && depth < DEPTH_MAX; depth++) {
		const struct ri_type *inner = NULL;

		if (type->kind == RI_TYPE_ARRAY) {
			inner = ri_type_below(types, type);
			if (!inner || !inner->size_bytes)
				return found;
			base += (offset - base) / inner->size_bytes * inner->size_bytes;
			type = inner;
			continue;
		}
		if (type->kind != RI_TYPE_STRUCT)
			return found;
		ret->type = type;
		ret->offset_bytes = base;
		found = true;
		for (size_t i = 0; i < type->member_count && !inner; i++) {
			const struct ri_member *member = &type->members[i];
			const struct ri_type *bare = ri_type_bare(types, member->type);
			uint64_t start = base + member->offset_bits / 8;

			/* all of the pointer: an empty base lies at offset 0 too */
			if (!bare || offset < start || bare->size_bytes < sizeof(uint64_t) ||
			    offset - start > bare->size_bytes - sizeof(uint64_t))
				continue;
			inner = bare;
			base = start;
		}
		type = inner;
	}
	return found;
}

/* The struct's pointer member at `offset`, of the same type as `like`. */
static bool is_same_pointer(struct ri_types *types, const struct ri_type *type, uint64_t offset,
			    const struct ri_slot *like)
{
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_type *bare = ri_type_bare(types, type->members[i].type);
		const struct ri_type *target;

		if (type->members[i].offset_bits != offset * 8)
			continue;
		if (!bare || bare->kind != RI_TYPE_POINTER)
			return false;
		target = ri_type_below(types, bare);
		return like->pointee &&
		       (target == like->pointee || ri_types_are_same(target, like->pointee) ||
			(target && target->kind == like->pointee->kind &&
			 target->kind == RI_TYPE_POINTER));
	}
	return false;
}

/* The end of the elements, where the pointer is the first of a C++ vector's three. */
static bool read_end(struct ri_finder *finder, const struct ri_pointer_place *place,
		     const struct surroundings *around, uint64_t start, uint64_t room_bytes,
		     uint64_t *ret)
{
	uint64_t addr = place->addr + place->slot->offset_bytes, end, limit;
	uint64_t offset = place->slot->offset_bytes - around->offset_bytes;

	if (!is_same_pointer(finder->dwarf, around->type, offset + 8, place->slot) ||
	    !is_same_pointer(finder->dwarf, around->type, offset + 16, place->slot) ||
	    !ri_reader_u64(&finder->reader, addr + 8, &end) ||
	    !ri_reader_u64(&finder->reader, addr + 16, &limit))
		return false;
	*ret = end;
	return start <= end && end <= limit && limit - start <= room_bytes;
}

/* Whether a word of the name, in snake or camel case, is one that counts. */
static bool is_counter_name(const char *name)
{
	static const char *const words[] = { "count", "cnt", "len", "length", "num", "nr", "size",
					     "used", "fill", "filled", "top", "n", "items",
					     "elements", "nelts", "nitems", "entries" };
	char word[16];
	size_t n = 0;

	for (const char *p = name; p && (*p || n); p++) {
		bool is_end = !isalpha((unsigned char)*p) || (n && isupper((unsigned char)*p));

		if (is_end && n) {
			word[n] = '\0';
			for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
				if (!strcmp(word, words[i]))
					return true;
			n = 0;
		}
		if (!*p)
			break;
		if (isalpha((unsigned char)*p) && n + 1 < sizeof(word))
			word[n++] = (char)tolower((unsigned char)*p);
	}
	return false;
}

/* The values of the counters beside the pointer that are at most `capacity`. */
static size_t read_counters(struct ri_finder *finder, const struct ri_pointer_place *place,
			    const struct surroundings *around, uint64_t capacity,
			    uint64_t values[COUNTERS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < around->type->member_count && count < COUNTERS_MAX; i++) {
		const struct ri_member *member = &around->type->members[i];
		const struct ri_type *bare = ri_type_bare(finder->dwarf, member->type);
		uint64_t addr = place->addr + around->offset_bytes + member->offset_bits / 8;

		if (!bare || bare->kind != RI_TYPE_INT || bare->is_bool || bare->is_enum ||
		    member->bit_size || bare->size_bytes > 8 || !member->name ||
		    !is_counter_name(member->name))
			continue;
		if (ri_reader_uint(&finder->reader, addr, (unsigned)bare->size_bytes,
				   &values[count]) &&
		    values[count] <= capacity)
			count++;
	}
	return count;
}

/* The longest counter that explains the contents, `capacity` if none does. */
static uint64_t explain(const uint64_t *values, size_t count, uint64_t capacity,
			bool (*is_null)(void *data, uint64_t i), void *data)
{
	uint64_t filled = 0, leading = 0, best = 0;
	bool any = false;

	for (uint64_t i = 0; i < capacity; i++) {
		bool null = is_null(data, i);

		leading += !null && leading == i;
		filled += !null;
	}
	for (size_t i = 0; i < count; i++) {
		if (values[i] == filled)
			return capacity; /* nothing behind, or a sparse table's counter */
		if (values[i] > leading)
			continue;
		any = true;
		if (values[i] > best)
			best = values[i];
	}
	return any ? best : capacity;
}

uint64_t ri_vector_length(struct ri_finder *finder, const struct ri_pointer_place *place,
			  uint64_t start, uint64_t capacity, uint64_t element_bytes,
			  bool (*is_null)(void *data, uint64_t i), void *data, bool *ret_is_dead)
{
	struct surroundings around;
	uint64_t values[COUNTERS_MAX], end;
	size_t count;

	*ret_is_dead = false;
	if (!find_surroundings(finder->dwarf, place->type, place->type_offset,
			       place->slot->offset_bytes, &around))
		return capacity;
	if (read_end(finder, place, &around, start, capacity * element_bytes, &end)) {
		*ret_is_dead = true;
		return (end - start) / element_bytes;
	}
	count = read_counters(finder, place, &around, capacity, values);
	return count ? explain(values, count, capacity, is_null, data) : capacity;
}
