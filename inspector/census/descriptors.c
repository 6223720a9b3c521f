/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Type descriptors: constant structs in a module's data that say what the
 * objects pointing at them are.  Each valid one is a counted type; one that
 * describes a type the layout has already becomes that type's descriptor.
 *
 * A descriptor is validated once, on the first pointer to it, and remembered
 * with the verdict: its magic where the convention has one, a name that looks
 * like an identifier, a plausible size, a header that lies within (or directly
 * before) it, and its place in a module, since everything else in memory could
 * be made to look like one by chance or by a stale copy.  Cost: a map look-up
 * per pointer.  Blind spot: descriptors that a program builds on the heap.
 */
#include "census/finder.h"
#include "census/type_walk.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "debug/corefile.h"
#include "debug/modules.h"

#define NAME_MAX_BYTES 128
#define SIZE_MAX_BYTES (1ull << 32)
#define FRONT_MAX_BYTES 4096
#define OWNERS_MAX 4096
#define DESCRIPTORS_MAX 4096 /* some look-ups go through all types of a convention */
#define OBJECTS_MAX 65536 /* of descriptors that are objects */
#define SAME_NAMES_MAX 64
#define META_DEPTH_MAX 8
#define BASES_MAX 32
#define TABLE_END UINT64_MAX

struct descriptor {
	uint64_t addr;
	uint32_t type; /* RI_NONE: no descriptor */
};

struct ri_descriptors {
	struct ri_address_map seen; /* address and convention to all[] */
	RI_VEC(struct descriptor) all;
	struct ri_address_map names; /* hashes of the types' display names */
	size_t named;               /* types[0 .. named) are in it */
	size_t valid_count;
	uint64_t low, high;         /* of the valid ones */
};

struct ri_descriptors *ri_descriptors_create(void)
{
	struct ri_descriptors *descriptors = ri_calloc(1, sizeof(*descriptors));

	descriptors->low = UINT64_MAX;
	return descriptors;
}

void ri_descriptors_destroy(struct ri_descriptors *descriptors)
{
	if (!descriptors)
		return;
	ri_address_map_deinit(&descriptors->seen);
	ri_vec_deinit(&descriptors->all);
	ri_address_map_deinit(&descriptors->names);
	free(descriptors);
}

void ri_descriptors_bounds(const struct ri_finder *finder, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = finder->descriptors->low;
	*ret_high = finder->descriptors->high;
}

/*
 * Validation
 */

/* A string that could name a type, interned; null if it is none.  `is_any`: in any script. */
static const char *read_type_name(struct ri_finder *finder, uint64_t addr, bool is_any)
{
	char *text = addr ? ri_image_read_string(finder->image, addr, NAME_MAX_BYTES) : NULL;
	const char *name = NULL;
	const char *p;

	if (!text)
		return NULL;
	for (p = text; isalnum((unsigned char)*p) || (*p && strchr("_:<>,.*&()~ -", *p)) ||
		       (is_any && (unsigned char)*p > 0x7f);
	     p++)
		;
	if (!*p && (isalpha((unsigned char)text[0]) || text[0] == '_' || (is_any && text[0])))
		name = ri_strings_add(finder->shapes->strings, text);
	free(text);
	return name;
}

/* The struct that the profile gives to the descriptor called `name`, or null. */
static const struct ri_described_struct *find_described(const struct ri_descriptor_rule *rule,
							const char *name)
{
	for (size_t i = 0; name && i < rule->struct_count; i++)
		if (!strcmp(rule->structs[i].name, name))
			return &rule->structs[i];
	return NULL;
}

/* The struct of the objects of the descriptor at `addr`, or of what it is derived from. */
static void find_inherited(struct ri_finder *finder, const struct ri_descriptor_rule *rule,
			   uint64_t addr, struct ri_counted_type *ret)
{
	const struct ri_described_struct *found = find_described(rule, ret->name);

	for (unsigned i = 0; !found && addr && i < BASES_MAX; i++) {
		addr = ri_finder_pointer(finder, addr, &rule->base);
		if (addr && ri_finder_is_static(finder, addr))
			found = find_described(rule,
					       read_type_name(finder,
							      ri_finder_pointer(finder, addr,
										&rule->name),
							      true));
	}
	if (!found)
		return;
	if (found->least_bytes < ret->size_bytes)
		ret->least_bytes = found->least_bytes;
	/* the struct may end in an array of one item that the size leaves out */
	if (found->type->size_bytes <= ret->size_bytes + 2 * sizeof(uint64_t))
		ret->type = found->type;
}

/* What a descriptor says of objects that it describes in full. */
static void read_description(struct ri_finder *finder, const struct ri_descriptor_rule *rule,
			     uint64_t addr, struct ri_counted_type *ret)
{
	int64_t item_bytes;

	for (size_t i = 0; i < rule->front_count; i++)
		if (ri_condition_holds(finder->image, addr, &rule->fronts[i].condition))
			ret->front_bytes += rule->fronts[i].bytes;
	ret->extent_bytes = ret->front_bytes + ret->size_bytes;
	if (rule->items.is_present && ri_finder_field(finder, addr, &rule->item_size, &item_bytes) &&
	    item_bytes > 0)
		ret->item_bytes = (uint64_t)item_bytes;
	ret->owns_descriptor = ri_condition_holds(finder->image, addr, &rule->owned_if);
	find_inherited(finder, rule, addr, ret);
}

/* Reads what the descriptor says into `ret`; false if it cannot be one. */
static bool read_descriptor(struct ri_finder *finder, uint32_t convention, uint64_t addr,
			    struct ri_counted_type *ret)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_descriptor_rule *rule = &c->descriptor;
	int64_t magic, size = 0, offset = 0;
	bool is_magic = !rule->magic.is_present;

	if (rule->magic.is_present && !ri_finder_field(finder, addr, &rule->magic, &magic))
		return false;
	for (size_t i = 0; !is_magic && i < rule->magic_live_count; i++)
		is_magic = (uint64_t)magic == rule->magic_live[i];
	if (!is_magic || !rule->name.is_present || !rule->size.is_present)
		return false;
	if (!ri_finder_field(finder, addr, &rule->size, &size) ||
	    (size <= 0 && !rule->meta.is_present) || size < 0 ||
	    (uint64_t)size > SIZE_MAX_BYTES)
		return false;
	/* one that was never used may not have been given the size of what it is derived from */
	if (rule->meta.is_present && (uint64_t)size < c->size_bytes)
		size = (int64_t)c->size_bytes;
	if (rule->header_offset.is_present &&
	    !ri_finder_field(finder, addr, &rule->header_offset, &offset))
		return false;
	if (offset < -FRONT_MAX_BYTES ||
	    (offset >= 0 && (uint64_t)offset + c->size_bytes > (uint64_t)size))
		return false;
	ret->name = read_type_name(finder, ri_finder_pointer(finder, addr, &rule->name),
				   rule->meta.is_present);
	ret->convention = convention;
	ret->header_offset = offset;
	ret->size_bytes = (uint64_t)size;
	ret->front_bytes = offset < 0 ? (uint64_t)-offset : 0;
	ret->extent_bytes = ret->front_bytes + ret->size_bytes;
	ret->descriptor = addr;
	ret->is_from_descriptor = true;
	ret->container = RI_LAYOUT_NONE;
	if (rule->meta.is_present)
		read_description(finder, rule, addr, ret);
	return ret->name != NULL;
}

/*
 * Matching with the layout's types
 */

static bool is_named(const struct ri_counted_type *type, const char *name)
{
	return !strcmp(type->name, name) ||
	       (type->type && type->type->name && !strcmp(type->type->name, name));
}

/* The type without a descriptor that `described` describes, or RI_NONE. */
static uint32_t find_same_type(const struct ri_finder *finder,
			       const struct ri_counted_type *described)
{
	uint32_t base = ri_finder_base(finder, described->convention);

	for (size_t i = 0; i < finder->layout->types.count; i++) {
		const struct ri_counted_type *type = &finder->types.items[i];

		if (!type->descriptor && type->size_bytes == described->size_bytes &&
		    type->header_offset == described->header_offset &&
		    ri_finder_base(finder, type->convention) == base &&
		    is_named(type, described->name))
			return (uint32_t)i;
	}
	return RI_NONE;
}

static bool is_name_taken(struct ri_finder *finder, const char *name)
{
	struct ri_descriptors *descriptors = finder->descriptors;

	for (; descriptors->named < finder->types.count; descriptors->named++) {
		const char *text = finder->types.items[descriptors->named].name;

		ri_address_map_set(&descriptors->names, ri_hash_bytes(text, strlen(text)),
				   (uint32_t)descriptors->named);
	}
	return ri_address_map_find(&descriptors->names, ri_hash_bytes(name, strlen(name))) !=
	       RI_NONE;
}

/* A display name that no other type has and that is the same in every dump. */
static const char *unique_name(struct ri_finder *finder, const struct ri_counted_type *type)
{
	struct ri_strings *strings = finder->shapes->strings;
	const char *name = type->name;

	if (is_name_taken(finder, name))
		name = ri_strings_format(strings, "%s:%llu", type->name,
					 (unsigned long long)type->size_bytes);
	if (is_name_taken(finder, name))
		name = ri_strings_format(strings, "%s:%llu%+lld", type->name,
					 (unsigned long long)type->size_bytes,
					 (long long)type->header_offset);
	for (unsigned n = 2; n < SAME_NAMES_MAX && is_name_taken(finder, name); n++)
		name = ri_strings_format(strings, "%s:%llu#%u", type->name,
					 (unsigned long long)type->size_bytes, n);
	if (is_name_taken(finder, name))
		name = ri_strings_format(strings, "%s@0x%llx", type->name,
					 (unsigned long long)type->descriptor);
	return name;
}

/* The DWARF struct that a descriptor's type is, or null. */
static const struct ri_type *find_struct(struct ri_finder *finder, const char *name, uint64_t size)
{
	const struct ri_type *type;

	if (!finder->dwarf)
		return NULL;
	type = ri_type_bare(finder->dwarf, ri_types_find(finder->dwarf, name, NULL, NULL));
	return type && type->kind == RI_TYPE_STRUCT && type->size_bytes == size ? type : NULL;
}

static uint32_t add_described_type(struct ri_finder *finder, struct ri_counted_type *described)
{
	bool is_object =
		finder->layout->conventions.items[described->convention].descriptor.meta.is_present;
	/* names that a program gives at run time are not those of its structs */
	uint32_t index = is_object ? RI_NONE : find_same_type(finder, described);

	if (index != RI_NONE) {
		finder->types.items[index].descriptor = described->descriptor;
		return index;
	}
	if (!is_object)
		described->type = find_struct(finder, described->name, described->size_bytes);
	described->name = unique_name(finder, described);
	index = ri_finder_add_type(finder, described);
	if (described->type)
		ri_shapes_add_counted(finder->shapes, &finder->types.items[index], index);
	return index;
}

/* Whether two names are equal but for spaces, which demanglers and compilers set differently. */
static bool is_same_spelling(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* The type among `list` that a vtable's symbol names; RI_NONE: none, or two. */
static uint32_t type_of_vtable(const struct ri_finder *finder, const struct ri_type_list *list,
			       const char *symbol)
{
	static const char prefix[] = "vtable for ";
	char *demangled = ri_demangle(symbol);
	uint32_t found = RI_NONE;
	size_t count = 0;

	if (demangled && !strncmp(demangled, prefix, strlen(prefix)))
		for (size_t i = 0; i < list->count; i++) {
			const struct ri_counted_type *type = &finder->types.items[list->types[i]];

			if (!is_same_spelling(type->type && type->type->name ? type->type->name
									     : type->name,
					      demangled + strlen(prefix)))
				continue;
			found = list->types[i];
			count++;
		}
	free(demangled);
	return count == 1 ? found : RI_NONE;
}

/* A descriptor that is a vtable or the like, known by its symbol: the type is
 * the only one of the convention, or the one that the symbol names. */
static uint32_t type_by_symbol(struct ri_finder *finder, uint32_t convention, uint64_t addr)
{
	const struct ri_convention *c = &finder->layout->conventions.items[convention];
	const struct ri_type_list *list = &finder->types_of[ri_finder_base(finder, convention)];
	const char *symbol = NULL;

	if (finder->modules)
		symbol = ri_modules_find_symbol(finder->modules, addr, true, NULL, NULL);
	if (!symbol || fnmatch(c->descriptor.vtable, symbol, 0))
		return RI_NONE;
	return list->count == 1 ? list->types[0] : type_of_vtable(finder, list, symbol);
}

/*
 * Whether `addr` is an object that describes others: its own descriptor is one that
 * describes descriptors, and so on to one in a module that describes itself.
 */
static bool is_described_descriptor(struct ri_finder *finder,
				    const struct ri_descriptor_rule *rule, uint64_t addr)
{
	uint32_t block = ri_finder_block(finder, addr);

	if (addr % 8 || (block == RI_NONE ? !ri_finder_is_static(finder, addr)
					  : finder->heap->blocks[block].state != RI_BLOCK_USED))
		return false;
	for (unsigned i = 0; i < META_DEPTH_MAX; i++) {
		uint64_t meta = ri_finder_pointer(finder, addr, &rule->field);

		if (!meta || !ri_condition_holds(finder->image, meta, &rule->meta))
			return false;
		if (meta == addr)
			return ri_finder_is_static(finder, meta);
		addr = meta;
	}
	return false;
}

static uint32_t judge(struct ri_finder *finder, uint32_t convention, uint64_t addr)
{
	const struct ri_descriptor_rule *rule =
		&finder->layout->conventions.items[convention].descriptor;
	struct ri_counted_type described = { 0 };
	size_t most = rule->meta.is_present ? OBJECTS_MAX : DESCRIPTORS_MAX;

	if (rule->meta.is_present ? !is_described_descriptor(finder, rule, addr)
				  : !ri_finder_is_static(finder, addr))
		return RI_NONE;
	if (finder->layout->conventions.items[convention].descriptor.vtable)
		return type_by_symbol(finder, convention, addr);
	if (!read_descriptor(finder, convention, addr, &described))
		return RI_NONE;
	if (finder->descriptors->valid_count++ >= most) {
		ri_gaps_add(finder->gaps, RI_GAP_MATTERS, "census",
			    "more than %zu type descriptors; further ones were not used", most);
		return RI_NONE;
	}
	return add_described_type(finder, &described);
}

static uint64_t seen_key(const struct ri_finder *finder, uint32_t convention, uint64_t addr)
{
	return addr ^ (uint64_t)ri_finder_base(finder, convention) << 48;
}

static const struct descriptor *find_seen(const struct ri_finder *finder, uint32_t convention,
					  uint64_t addr)
{
	uint32_t index = ri_address_map_find(&finder->descriptors->seen,
					     seen_key(finder, convention, addr));

	if (index == RI_NONE || finder->descriptors->all.items[index].addr != addr)
		return NULL;
	return &finder->descriptors->all.items[index];
}

uint32_t ri_descriptors_known(const struct ri_finder *finder, uint32_t convention, uint64_t addr)
{
	const struct descriptor *seen = find_seen(finder, convention, addr);

	return seen ? seen->type : RI_NONE;
}

uint32_t ri_descriptors_type(struct ri_finder *finder, uint32_t convention, uint64_t addr)
{
	struct ri_descriptors *descriptors = finder->descriptors;
	const struct descriptor *seen = find_seen(finder, convention, addr);
	struct descriptor *added;
	uint32_t type;

	if (!addr)
		return RI_NONE;
	if (seen)
		return seen->type;
	type = judge(finder, ri_finder_base(finder, convention), addr);
	ri_address_map_set(&descriptors->seen, seen_key(finder, convention, addr),
			   (uint32_t)descriptors->all.count);
	added = ri_push(&descriptors->all);
	added->addr = addr;
	added->type = type;
	if (type != RI_NONE && addr < descriptors->low)
		descriptors->low = addr;
	if (type != RI_NONE && addr > descriptors->high)
		descriptors->high = addr;
	return type;
}

/*
 * Tables of owned members: { u64 offset, u64 name } ended by offset ~0
 */

static void read_table(struct ri_finder *finder, struct ri_counted_type *type, uint64_t table)
{
	struct ri_declared_owner *owners = NULL;
	size_t count = 0, capacity = 0;
	uint64_t offset, name;

	for (; count < OWNERS_MAX; count++, table += 16) {
		if (!ri_reader_u64(&finder->reader, table, &offset) ||
		    !ri_reader_u64(&finder->reader, table + 8, &name))
			break;
		if (offset == TABLE_END || offset > type->size_bytes ||
		    type->size_bytes - offset < sizeof(uint64_t))
			break;
		owners = ri_grow(owners, &capacity, count + 1, sizeof(*owners));
		owners[count].offset_bytes = (int64_t)offset;
		owners[count].name = read_type_name(finder, name, false);
	}
	if (count < OWNERS_MAX && ri_reader_u64(&finder->reader, table, &offset) &&
	    offset == TABLE_END) {
		type->has_owners = true;
		type->owners = owners;
		type->owner_count = count;
	} else {
		ri_gaps_add(finder->gaps, RI_GAP_MATTERS, "census",
			    "the table of owned members of '%s' is damaged and was not used",
			    type->name);
	}
	if (owners)
		*ri_push(&finder->owner_tables) = owners;
}

void ri_descriptors_read_owners(struct ri_finder *finder)
{
	for (size_t i = 0; i < finder->types.count; i++) {
		struct ri_counted_type *type = &finder->types.items[i];
		const struct ri_descriptor_rule *rule =
			&finder->layout->conventions.items[type->convention].descriptor;
		uint64_t table;

		if (!type->descriptor || type->has_owners || !rule->fields.is_present)
			continue;
		table = ri_finder_pointer(finder, type->descriptor, &rule->fields);
		if (table)
			read_table(finder, type, table);
	}
}
