/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for holder classes without a type: see naming.h.
 *
 *   a plain block       "heap:SIZE+OFFSET", beyond LARGE_BYTES "heap:large"
 *   the rest of a block with objects  "TYPE tail"; "heap:several" where their
 *                       number is more than one
 *   an object           "TYPE+OFFSET" from P, "TYPE+..." far out; "TYPE[]" for the items
 *                       behind the struct
 *   module data         "SYMBOL (symbol)", or "static"
 *   anything else       "stack", "register", "thread-local", "mapping"
 *
 * Offsets are bounded, so that the number of classes does not grow with what a
 * damaged target claims.  A small hash table keeps what was named already.
 */
#include "census/naming.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"

#define LARGE_BYTES 1024
#define OFFSET_MAX_BYTES 4096
#define NAME_MAX_BYTES 512

struct named {
	uint64_t key;            /* 0: empty */
	uint32_t class_index;
};

struct ri_naming {
	const struct ri_census_input *input;
	const struct ri_extents *extents;
	const struct ri_holders *holders;
	struct named *table;     /* open addressing, a power of two */
	size_t capacity, count;
};

/* The top 4 bits of a key. */
enum { KEY_BLOCK = 1, KEY_TAIL, KEY_OBJECT, KEY_REGION, KEY_GROUP, KEY_GROUP_RULED };

struct ri_naming *ri_naming_create(const struct ri_census_input *input,
				   const struct ri_extents *extents,
				   const struct ri_holders *holders)
{
	struct ri_naming *naming = ri_calloc(1, sizeof(*naming));

	naming->input = input;
	naming->extents = extents;
	naming->holders = holders;
	naming->capacity = 256;
	naming->table = ri_calloc(naming->capacity, sizeof(*naming->table));
	return naming;
}

void ri_naming_destroy(struct ri_naming *naming)
{
	if (!naming)
		return;
	free(naming->table);
	free(naming);
}

static struct named *find_slot(const struct ri_naming *naming, uint64_t key)
{
	size_t i = ri_hash_u64(key) & (naming->capacity - 1);

	while (naming->table[i].key && naming->table[i].key != key)
		i = (i + 1) & (naming->capacity - 1);
	return &naming->table[i];
}

static void grow(struct ri_naming *naming)
{
	struct named *old = naming->table;
	size_t old_capacity = naming->capacity;

	naming->capacity *= 2;
	naming->table = ri_calloc(naming->capacity, sizeof(*naming->table));
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i].key)
			*find_slot(naming, old[i].key) = old[i];
	free(old);
}

static void insert(struct ri_naming *naming, uint64_t key, uint32_t class_index)
{
	if (naming->count * 2 >= naming->capacity)
		grow(naming);
	*find_slot(naming, key) = (struct named){ key, class_index };
	naming->count++;
}

static uint32_t remember(struct ri_naming *naming, uint64_t key, const char *name,
			 enum ri_class_kind kind)
{
	uint32_t c = ri_shapes_class(naming->input->shapes, name, kind);

	insert(naming, key, c);
	return c;
}

static uint32_t name_block(struct ri_naming *naming, uint32_t b, uint64_t offset)
{
	const struct ri_population *population = naming->input->population;
	uint64_t size = naming->input->heap->blocks[b].size_bytes, key;
	uint32_t only = naming->extents->block_object[b];
	char name[NAME_MAX_BYTES];

	if (only != RI_NONE) {
		uint32_t type = only == RI_EXTENTS_MANY ? RI_NONE : population->objects[only].type;

		key = (uint64_t)KEY_TAIL << 60 | type;
		if (find_slot(naming, key)->key)
			return find_slot(naming, key)->class_index;
		if (type == RI_NONE)
			return remember(naming, key, "heap:several", RI_CLASS_UNTYPED_BLOCK);
		snprintf(name, sizeof(name), "%s tail", population->types[type].name);
		return remember(naming, key, name, RI_CLASS_TAIL);
	}
	if (size > LARGE_BYTES)
		size = offset = 0;
	key = (uint64_t)KEY_BLOCK << 60 | size << 24 | offset;
	if (find_slot(naming, key)->key)
		return find_slot(naming, key)->class_index;
	snprintf(name, sizeof(name), size ? "heap:%" PRIu64 "+%" PRIu64 : "heap:large", size,
		 offset);
	return remember(naming, key, name, RI_CLASS_UNTYPED_BLOCK);
}

static uint32_t name_object(struct ri_naming *naming, uint32_t o, uint32_t word)
{
	const struct ri_population *population = naming->input->population;
	const struct ri_object *object = &population->objects[o];
	uint64_t base = ri_extents_object_start(population, object) & ~7ull;
	int64_t offset = (int64_t)(base + word * 8ull - object->addr);
	bool is_item = offset >= 0 &&
		       (uint64_t)offset >= population->types[object->type].size_bytes;
	bool is_far = is_item || offset > OFFSET_MAX_BYTES || offset < -OFFSET_MAX_BYTES;
	uint64_t key = (uint64_t)KEY_OBJECT << 60 | (uint64_t)object->type << 20 |
		       (is_item ? 0xffffe
			: is_far ? 0xfffff
				 : (uint64_t)(offset + OFFSET_MAX_BYTES));
	const char *type = population->types[object->type].name;
	char name[NAME_MAX_BYTES];

	if (find_slot(naming, key)->key)
		return find_slot(naming, key)->class_index;
	if (is_item)
		snprintf(name, sizeof(name), "%s[]", type);
	else if (is_far)
		snprintf(name, sizeof(name), "%s+...", type);
	else
		snprintf(name, sizeof(name), "%s%c0x%" PRIx64, type, offset < 0 ? '-' : '+',
			 (uint64_t)(offset < 0 ? -offset : offset));
	return remember(naming, key, name, RI_CLASS_UNTYPED_OBJECT);
}

static uint32_t name_static(struct ri_naming *naming, uint64_t addr)
{
	const struct ri_census_input *input = naming->input;
	const char *symbol = input->symbol_of ? input->symbol_of(input->symbol_data, addr) : NULL;
	char name[NAME_MAX_BYTES];

	if (!symbol)
		return ri_shapes_class(input->shapes, "static", RI_CLASS_STATIC);
	snprintf(name, sizeof(name), "%s (symbol)", symbol);
	return ri_shapes_class(input->shapes, name, RI_CLASS_STATIC);
}

static uint32_t name_region(struct ri_naming *naming, enum ri_region_kind kind)
{
	static const struct {
		const char *name;
		enum ri_class_kind kind;
	} names[] = {
		[RI_REGION_MODULE] = { "static", RI_CLASS_STATIC },
		[RI_REGION_STACK] = { "stack", RI_CLASS_STACK },
		[RI_REGION_REGISTERS] = { "register", RI_CLASS_REGISTER },
		[RI_REGION_ENDED_STACK] = { "stack of an ended thread", RI_CLASS_STACK },
		[RI_REGION_MAPPING] = { "mapping", RI_CLASS_MAPPING },
		[RI_REGION_TLS] = { "thread-local", RI_CLASS_STATIC },
	};
	uint64_t key = (uint64_t)KEY_REGION << 60 | kind;

	if (find_slot(naming, key)->key)
		return find_slot(naming, key)->class_index;
	return remember(naming, key, names[kind].name, names[kind].kind);
}

uint32_t ri_naming_word(struct ri_naming *naming, uint32_t node, uint32_t word)
{
	const struct ri_holders *h = naming->holders;
	const struct ri_region *region;

	if (node < h->object_count)
		return name_object(naming, node, word);
	if (node < h->object_count + h->block_count)
		return name_block(naming, node - h->object_count, word * 8ull);
	region = &h->regions[node - h->object_count - h->block_count];
	if (region->kind == RI_REGION_MODULE)
		return name_static(naming, (region->start & ~7ull) + word * 8ull);
	return name_region(naming, region->kind);
}

/*
 * Sets what class `c` is worth when its first group is met.  Returns whether it
 * is worth `weight` (or is possible) to the group at hand, or was declared by an
 * owner rule, which decides over the groups' own.
 */
static bool settle_group_class(struct ri_naming *naming, uint32_t c, bool is_possible,
			       int64_t weight)
{
	struct ri_holder_class *class = &naming->input->shapes->classes.items[c];
	uint64_t key = (uint64_t)KEY_GROUP << 60 | c;
	uint64_t ruled = (uint64_t)KEY_GROUP_RULED << 60 | c;

	if (!find_slot(naming, key)->key) {
		insert(naming, key, c);
		if (class->is_declared) {
			insert(naming, ruled, c);
			return true;
		}
		class->is_possible = is_possible;
		class->weight = weight;
		class->is_declared = !is_possible;
		return true;
	}
	return find_slot(naming, ruled)->key ||
	       (class->is_possible == is_possible && (is_possible || class->weight == weight));
}

uint32_t ri_naming_group(struct ri_naming *naming, const struct ri_group *group)
{
	struct ri_shapes *shapes = naming->input->shapes;
	bool is_possible = group->membership.kind != RI_WEIGHT_FIXED;
	int64_t weight = is_possible ? 1 : group->membership.weight;
	const char *group_name = group->name ? group->name : "?";
	char name[NAME_MAX_BYTES];
	uint32_t c;

	snprintf(name, sizeof(name), "group:%s", group_name);
	c = ri_shapes_class(shapes, name, RI_CLASS_MEMBERSHIP);
	if (settle_group_class(naming, c, is_possible, weight))
		return c;
	if (is_possible)
		snprintf(name, sizeof(name), "group:%s (possible)", group_name);
	else
		snprintf(name, sizeof(name), "group:%s (weight %" PRId64 ")", group_name, weight);
	c = ri_shapes_class(shapes, name, RI_CLASS_MEMBERSHIP);
	settle_group_class(naming, c, is_possible, weight);
	return c;
}

uint32_t ri_naming_embedding(struct ri_naming *naming)
{
	uint32_t c = ri_shapes_class(naming->input->shapes, "embedded", RI_CLASS_FIELD);

	naming->input->shapes->classes.items[c].is_possible = false;
	naming->input->shapes->classes.items[c].weight = 0;
	return c;
}
