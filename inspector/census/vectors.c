/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of an array on the heap is in use.  Vectors keep spare room at their
 * end, and what was removed from there often still stands in it: a holder that
 * is none.
 *
 * C++ vectors say it themselves: begin, end of the elements, end of the room,
 * three pointers of one type in a row.  A profile may name the counter.  Else, in C,
 * one beside the pointer does, if its name says so.  One that is called after the pointer (slots, slot_count), or
 * lies next to it, is the pointer's own: of several (used, room) the least counts,
 * for what is cut off in error is only a possible holder.  Any other counter in the
 * struct must explain the contents: the elements before it all hold something,
 * and some behind it do too.  A counter that is the number of filled elements of a
 * sparse table explains that as well and cuts nothing off.
 *
 * Cost: one pass over the array where there is a counter.  Blind spots: counters
 * in other structs, and arrays held by variables.
 */
#include "census/traverse_private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* Whether the counter's name says that it is the pointer's: slots and slot_count, nslots. */
static bool is_counter_of(const char *counter, const char *pointer)
{
	char stem[64];
	size_t n = pointer ? strlen(pointer) : 0;

	while (n > 2 && (pointer[n - 1] == 's' || pointer[n - 1] == '_'))
		n--;
	if (!n || n >= sizeof(stem))
		return false;
	memcpy(stem, pointer, n);
	stem[n] = '\0';
	return n == 1 ? !strncasecmp(counter, stem, 1) && counter[1] == '_'
		      : strcasestr(counter, stem) != NULL;
}

static bool is_counter(struct ri_finder *finder, const struct ri_member *member)
{
	const struct ri_type *bare = ri_type_bare(finder->dwarf, member->type);

	return bare && bare->kind == RI_TYPE_INT && !bare->is_bool && !bare->is_enum &&
	       !member->bit_size && bare->size_bytes <= 8 && member->name &&
	       is_counter_name(member->name);
}

/* Whether only integers lie between members `a` and `b`. */
static bool is_adjacent(struct ri_finder *finder, const struct ri_type *type, size_t a, size_t b)
{
	size_t low = a < b ? a : b, high = a < b ? b : a;

	for (size_t i = low + 1; i < high; i++) {
		const struct ri_type *bare = ri_type_bare(finder->dwarf, type->members[i].type);

		if (!bare || bare->kind != RI_TYPE_INT)
			return false;
	}
	return true;
}

static size_t member_at(const struct ri_type *type, uint64_t offset_bytes)
{
	size_t i = 0;

	while (i < type->member_count && type->members[i].offset_bits != offset_bytes * 8)
		i++;
	return i;
}

/* How near a counter is to the pointer. */
enum nearness { SAME_STRUCT, ADJACENT, NAMESAKE };

struct counters {
	enum nearness nearness;  /* of all of them: farther ones are left out */
	uint64_t values[COUNTERS_MAX];
	size_t count;
};

/* The values of the nearest counters beside the pointer that are at most `capacity`. */
static void read_counters(struct ri_finder *finder, const struct ri_pointer_place *place,
			  const struct surroundings *around, uint64_t capacity,
			  struct counters *ret)
{
	const struct ri_type *type = around->type;
	size_t pointer = member_at(type, place->slot->offset_bytes - around->offset_bytes);
	const char *name = pointer < type->member_count ? type->members[pointer].name : NULL;

	*ret = (struct counters){ .nearness = SAME_STRUCT };
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *bare = ri_type_bare(finder->dwarf, member->type);
		uint64_t addr = place->addr + around->offset_bytes + member->offset_bits / 8;
		enum nearness nearness = SAME_STRUCT;
		uint64_t value;

		if (!is_counter(finder, member))
			continue;
		if (name && is_counter_of(member->name, name))
			nearness = NAMESAKE;
		else if (pointer < type->member_count && is_adjacent(finder, type, pointer, i))
			nearness = ADJACENT;
		if (nearness < ret->nearness || ret->count == COUNTERS_MAX ||
		    !ri_reader_uint(&finder->reader, addr, (unsigned)bare->size_bytes, &value))
			continue;
		if (nearness > ret->nearness)
			*ret = (struct counters){ .nearness = nearness };
		if (value <= capacity)
			ret->values[ret->count++] = value;
	}
}

/* How many elements hold something, and how many before the first that does not. */
struct contents {
	uint64_t capacity, filled, leading;
};

static struct contents look_at(uint64_t capacity, bool (*is_null)(void *data, uint64_t i),
			       void *data)
{
	struct contents contents = { .capacity = capacity };

	for (uint64_t i = 0; i < capacity; i++) {
		bool null = is_null(data, i);

		contents.leading += !null && contents.leading == i;
		contents.filled += !null;
	}
	return contents;
}

/* The least of the pointer's own counters: it may stand beside one of the room.  That of
 * a sparse table means nothing. */
static bool explain_near(const struct counters *counters, const struct contents *contents,
			 uint64_t *ret)
{
	uint64_t least = counters->values[0];

	for (size_t i = 1; i < counters->count; i++)
		if (counters->values[i] < least)
			least = counters->values[i];
	if (least == contents->filled && contents->filled > contents->leading)
		return false;
	*ret = least;
	return true;
}

/* The greatest of any counters' values that explains the contents. */
static bool explain_far(const struct counters *counters, const struct contents *contents,
			uint64_t *ret)
{
	bool any = false;

	for (size_t i = 0; i < counters->count; i++) {
		uint64_t value = counters->values[i];

		if (value == contents->filled)
			return false; /* nothing behind, or a sparse table's counter */
		if (value > contents->leading)
			continue;
		if (!any || value > *ret)
			*ret = value;
		any = true;
	}
	return any;
}

/* The length that a profile declares for the array, at most `capacity`. */
static bool read_declared(struct ri_finder *finder, const struct ri_pointer_place *place,
			  uint64_t capacity, uint64_t *ret)
{
	const struct ri_layout *layout = finder->layout;
	uint64_t offset = place->slot->offset_bytes - place->type_offset;
	int64_t value;

	for (size_t i = 0; place->type && i < layout->arrays.count; i++) {
		const struct ri_array_rule *rule = &layout->arrays.items[i];

		if (rule->offset_bytes != offset || !ri_types_are_same(rule->type, place->type) ||
		    !ri_finder_field(finder, place->addr + place->type_offset, &rule->length,
				     &value) ||
		    value < 0 || (uint64_t)value > capacity)
			continue;
		*ret = (uint64_t)value;
		return true;
	}
	return false;
}

bool ri_vector_length(struct ri_finder *finder, const struct ri_pointer_place *place,
		      uint64_t start, uint64_t capacity, uint64_t element_bytes,
		      bool (*is_null)(void *data, uint64_t i), void *data, uint64_t *ret,
		      bool *ret_is_dead)
{
	struct surroundings around;
	struct counters counters;
	struct contents contents;
	uint64_t end;

	*ret_is_dead = false;
	if (read_declared(finder, place, capacity, ret)) {
		*ret_is_dead = true;
		return true;
	}
	if (!find_surroundings(finder->dwarf, place->type, place->type_offset,
			       place->slot->offset_bytes, &around))
		return false;
	if (read_end(finder, place, &around, start, capacity * element_bytes, &end)) {
		*ret_is_dead = true;
		*ret = (end - start) / element_bytes;
		return true;
	}
	read_counters(finder, place, &around, capacity, &counters);
	if (!counters.count)
		return false;
	contents = look_at(capacity, is_null, data);
	return counters.nearness == SAME_STRUCT ? explain_far(&counters, &contents, ret)
						: explain_near(&counters, &contents, ret);
}
