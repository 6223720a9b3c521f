/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that name their type themselves. Where several structs embed one counted base, as
 * classes do in C, the base often carries what tells them apart: the address of something
 * static that is called after the struct (struct stream: stream_type_id, stream_ops,
 * stream.class), or a string that is its name. A used block that fits the struct, with such
 * a word in a base with a live count, and no word that names another one, is an object of it,
 * though nothing typed leads there: containers of void pointers hide most objects of such
 * programs.
 *
 * The longest name wins: stream_pool_ops belongs to stream_pool, where that is a type too.
 * Functions of the base, and names that are no type's, say nothing.
 *
 * Cost: the pointers of the base in each used block that has the size of an embedding struct;
 * an address is looked up once per base, NAMES_MAX at most. Blind spots: objects that do not begin a block; names
 * that have nothing to do with the struct's.
 */
#include <stdlib.h>
#include <string.h>

#include "census/finder.h"
#include "debug/modules.h"
#include "debug/types.h"

#define STRUCTS_MIN 2     /* that embed the base */
#define WORDS_MAX 8       /* of the base that are looked at */
#define NAME_BYTES_MAX 128
#define NAMES_MAX 8192    /* addresses that are looked up */
#define SIZES_MAX 4096    /* types of one base */

struct naming {
	struct ri_finder *finder;
	uint32_t convention;
	const struct ri_type_list *list;
	uint64_t offsets[WORDS_MAX]; /* of pointers, from the header */
	size_t offset_count;
	uint64_t low_bytes;      /* extent of the smallest type */
	struct ri_address_map known; /* address to type + 1; RI_NONE + 1 (0): none */
	size_t known_count;
};

static const char *struct_name(const struct ri_counted_type *type)
{
	return type->type && type->type->name ? type->type->name : type->name;
}

/* Whether `symbol` is called after the struct `name`: it, or it and more words. */
static bool is_called_after(const char *symbol, const char *name, size_t length)
{
	return length && !strncmp(symbol, name, length) &&
	       (!symbol[length] || symbol[length] == '_' || symbol[length] == '.');
}

static uint32_t type_called(const struct naming *naming, const char *text, bool is_exact)
{
	uint32_t best = RI_NONE;
	size_t most = 0;

	for (size_t i = 0; i < naming->list->count && i < SIZES_MAX; i++) {
		const char *name = struct_name(&naming->finder->types.items[naming->list->types[i]]);
		size_t length = strlen(name);

		if (length <= most || !is_called_after(text, name, length) ||
		    (is_exact && text[length]))
			continue;
		best = naming->list->types[i];
		most = length;
	}
	return best;
}

static uint32_t name_of(struct naming *naming, uint64_t addr)
{
	struct ri_finder *finder = naming->finder;
	uint32_t known = ri_address_map_find(&naming->known, addr);
	const char *symbol;
	uint32_t type = RI_NONE;

	if (known != RI_NONE)
		return known - 1;
	if (naming->known_count >= NAMES_MAX || !ri_modules_find(finder->modules, addr))
		return RI_NONE;
	symbol = ri_modules_find_symbol(finder->modules, addr, true, NULL, NULL);
	if (symbol)
		type = type_called(naming, symbol, false);
	if (type == RI_NONE) {
		char *text = ri_image_read_string(finder->image, addr, NAME_BYTES_MAX);

		if (text)
			type = type_called(naming, text, true);
		free(text);
	}
	naming->known_count++;
	ri_address_map_set(&naming->known, addr, type + 1);
	return type;
}

/* The type that the words of the base at `header` name; RI_NONE: none, or two. */
static uint32_t named_at(struct naming *naming, uint64_t header)
{
	const struct ri_convention *c =
		&naming->finder->layout->conventions.items[naming->convention];
	uint32_t found = RI_NONE;

	for (size_t i = 0; i < naming->offset_count; i++) {
		uint64_t value;
		uint32_t type;

		if (!ri_reader_u64(&naming->finder->reader, header + naming->offsets[i], &value) ||
		    !value)
			continue;
		type = name_of(naming, value);
		if (type == RI_NONE || naming->finder->types.items[type].type == c->type)
			continue;
		if (found != RI_NONE && found != type)
			return RI_NONE;
		found = type;
	}
	return found;
}

static bool may_hold(const struct ri_finder *finder, const struct ri_counted_type *type,
		     const struct ri_block *block)
{
	return type->extent_bytes <= block->size_bytes &&
	       (ri_finder_fits(type->extent_bytes, block->size_bytes) ||
		ri_finder_has_tail(finder, type));
}

static void ask_block(struct naming *naming, uint32_t block)
{
	struct ri_finder *finder = naming->finder;
	const struct ri_convention *c = &finder->layout->conventions.items[naming->convention];
	const struct ri_block *b = &finder->heap->blocks[block];
	const struct ri_counted_type *t;
	uint32_t type;
	int64_t count;

	if (b->state != RI_BLOCK_USED || finder->block_use[block] ||
	    b->size_bytes < naming->low_bytes)
		return;
	type = named_at(naming, b->addr);
	if (type == RI_NONE)
		return;
	t = &finder->types.items[type];
	if (t->front_bytes || t->header_offset || !may_hold(finder, t, b) ||
	    ri_count_read(finder->image, b->addr, &c->counts[0], &count) != RI_COUNT_LIVE)
		return;
	ri_finder_add(finder, b->addr, type, RI_FOUND_DESCRIPTOR);
}

/* The pointers of the base; false if it has none, or too few structs embed it. */
static bool prepare(struct naming *naming)
{
	struct ri_finder *finder = naming->finder;
	const struct ri_convention *c = &finder->layout->conventions.items[naming->convention];
	const struct ri_type *base = c->type;

	naming->list = &finder->types_of[naming->convention];
	if (!base || c->base != naming->convention || c->magic_count || c->descriptor.is_present ||
	    !c->count_count || naming->list->count < STRUCTS_MIN)
		return false;
	for (size_t i = 0; i < base->member_count && naming->offset_count < WORDS_MAX; i++) {
		const struct ri_member *member = &base->members[i];
		const struct ri_type *type = ri_type_strip(finder->dwarf, member->type);

		if (type && type->kind == RI_TYPE_POINTER && !(member->offset_bits % 64))
			naming->offsets[naming->offset_count++] = member->offset_bits / 8;
	}
	naming->low_bytes = UINT64_MAX;
	for (size_t i = 0; i < naming->list->count; i++) {
		uint64_t bytes = finder->types.items[naming->list->types[i]].extent_bytes;

		naming->low_bytes = bytes < naming->low_bytes ? bytes : naming->low_bytes;
	}
	return naming->offset_count;
}

void ri_sweep_named(struct ri_finder *finder)
{
	for (uint32_t c = 0; finder->modules && finder->dwarf &&
			     c < finder->layout->conventions.count; c++) {
		struct naming naming = { .finder = finder, .convention = c };

		if (prepare(&naming))
			for (uint32_t b = 0; b < finder->heap->block_count; b++)
				ask_block(&naming, b);
		ri_address_map_deinit(&naming.known);
	}
}
