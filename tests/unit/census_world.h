/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small made-up target for the tests of the census floor: one static range,
 * one heap whose blocks the test hands out, and a layout by hand with the
 * header of refobj.h.  No types, no modules: the static range is what is not
 * anonymous.
 */
#ifndef RI_TESTS_CENSUS_WORLD_H
#define RI_TESTS_CENSUS_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "base/span_index.h"
#include "base/strings.h"
#include "census/population.h"
#include "census/shapes.h"
#include "refobj.h"

#define WORLD_STATIC 0x400000u
#define WORLD_HEAP 0x10000000u
#define WORLD_STATIC_BYTES 0x4000u
#define WORLD_HEAP_BYTES 0x40000u

struct world {
	struct ri_target target;
	struct ri_layout layout;
	struct ri_heap heap;
	struct ri_heap_region region;
	RI_VEC(struct ri_block) blocks;
	struct ri_gaps gaps;
	uint8_t statics[WORLD_STATIC_BYTES], bytes[WORLD_HEAP_BYTES];
	uint64_t static_end, heap_end; /* what is handed out so far */
	/* results of world_find() */
	struct ri_shapes *shapes;
	struct ri_population *population;
};

static inline uint8_t *world_at(struct world *w, uint64_t addr)
{
	if (addr >= WORLD_HEAP && addr < WORLD_HEAP + WORLD_HEAP_BYTES)
		return w->bytes + (addr - WORLD_HEAP);
	if (addr >= WORLD_STATIC && addr < WORLD_STATIC + WORLD_STATIC_BYTES)
		return w->statics + (addr - WORLD_STATIC);
	abort();
}

static inline void world_put64(struct world *w, uint64_t addr, uint64_t value)
{
	memcpy(world_at(w, addr), &value, sizeof(value));
}

static inline void world_put32(struct world *w, uint64_t addr, uint32_t value)
{
	memcpy(world_at(w, addr), &value, sizeof(value));
}

static inline uint64_t world_get64(struct world *w, uint64_t addr)
{
	uint64_t value;

	memcpy(&value, world_at(w, addr), sizeof(value));
	return value;
}

static inline uint64_t world_static(struct world *w, uint64_t size)
{
	uint64_t addr = WORLD_STATIC + w->static_end;

	w->static_end += (size + 15) & ~15ull;
	if (w->static_end > WORLD_STATIC_BYTES)
		abort();
	return addr;
}

static inline uint64_t world_string(struct world *w, const char *text)
{
	uint64_t addr = world_static(w, strlen(text) + 1);

	strcpy((char *)world_at(w, addr), text);
	return addr;
}

/* A block as glibc would give for `size` bytes; 8 bytes of chunk header before it. */
static inline uint64_t world_block(struct world *w, uint64_t size, enum ri_block_state state)
{
	uint64_t usable = size <= 24 ? 24 : ((size + 8 + 15) & ~15ull) - 8;
	struct ri_block *block = ri_push(&w->blocks);

	block->addr = WORLD_HEAP + w->heap_end + 16;
	block->size_bytes = usable;
	block->state = state;
	w->heap_end += usable + 8;
	if (w->heap_end + 32 > WORLD_HEAP_BYTES)
		abort();
	return block->addr;
}

static inline struct ri_field world_field(int64_t offset, unsigned size)
{
	return (struct ri_field){
		.is_present = true,
		.offset_bytes = offset,
		.size_bytes = (uint8_t)size,
	};
}

/* The convention of refobj.h. */
static inline void world_add_refobj(struct world *w)
{
	static const uint64_t live[] = { REFOBJ_MAGIC }, dead[] = { REFOBJ_MAGIC_DEAD };
	static const uint64_t type_live[] = { REFOBJ_TYPE_MAGIC };
	static const int64_t dead_counts[] = { 0 };
	struct ri_convention *c = ri_push(&w->layout.conventions);
	struct ri_count_rule *count = ri_calloc(1, sizeof(*count));
	struct ri_magic_rule *magic = ri_calloc(1, sizeof(*magic));

	*count = (struct ri_count_rule){
		.name = "refs",
		.field = world_field(4, 4),
		.mask = UINT64_MAX,
		.live = { 1, INT32_MAX / 2 },
		.saturated = { 1, 0 },
		.immortal = { 1, 0 },
		.dead = dead_counts,
		.dead_count = 1,
	};
	count->field.is_signed = true;
	*magic = (struct ri_magic_rule){
		.field = world_field(0, 4),
		.live = live,
		.live_count = 1,
		.dead = dead,
		.dead_count = 1,
	};
	c->name = "refobj";
	c->size_bytes = sizeof(struct refobj);
	c->alignment = 8;
	c->is_header = true;
	c->may_stand_in_front = true;
	c->counts = count;
	c->count_count = 1;
	c->magics = magic;
	c->magic_count = 1;
	c->descriptor.is_present = true;
	c->descriptor.field = world_field(8, 8);
	c->descriptor.magic = world_field(0, 8);
	c->descriptor.magic_live = type_live;
	c->descriptor.magic_live_count = 1;
	c->descriptor.name = world_field(8, 8);
	c->descriptor.size = world_field(16, 8);
	c->descriptor.header_offset = world_field(24, 8);
	c->descriptor.release = world_field(32, 8);
	c->descriptor.fields = world_field(40, 8);
	c->not_leak = (struct ri_condition){
		.is_present = true, .field = world_field(40, 4), .mask = REFOBJ_NOT_LEAK };
	c->ignore = (struct ri_condition){
		.is_present = true, .field = world_field(40, 4), .mask = REFOBJ_IGNORE };
}

/* The groups of refobj.h. */
static inline struct ri_group_rule *world_add_refobj_group(struct world *w)
{
	static const uint64_t live[] = { REFOBJ_GROUP_MAGIC };
	struct ri_group_rule *g = ri_push(&w->layout.groups);

	*g = (struct ri_group_rule){
		.kind = RI_LINK_LIST,
		.head_type_name = "refobj_group",
		.head_struct_bytes = sizeof(struct refobj_group),
		.head_offset = 8,
		.name_field = world_field(32, 8),
		.count = world_field(24, 8),
		.parent_group = world_field(40, 8),
		.magic = { .field = world_field(0, 8), .live = live, .live_count = 1 },
		.element_convention = 0,
		.element_type = RI_LAYOUT_NONE,
		.link_offset = 16,
		.next_offset = 0,
		.prev_offset = 8,
		.parent_offset = -1,
		.right_offset = -1,
		.head_first_offset = 0,
		.head_last_offset = 8,
		.back = world_field(32, 8),
		.membership = { .kind = RI_WEIGHT_IF,
				.owns_if = { .is_present = true,
					     .field = world_field(72, 4),
					     .mask = REFOBJ_GROUP_OWNS } },
	};
	return g;
}

static inline struct world *world_create(void)
{
	struct world *w = ri_calloc(1, sizeof(*w));
	struct ri_range range = {
		.start = WORLD_STATIC,
		.end = WORLD_STATIC + WORLD_STATIC_BYTES,
		.bytes = w->statics,
		.flags = RI_RANGE_READ | RI_RANGE_WRITE,
	};

	ri_gaps_init(&w->gaps);
	w->target.image = ri_image_create();
	ri_image_add(w->target.image, &range);
	range.start = WORLD_HEAP;
	range.end = WORLD_HEAP + WORLD_HEAP_BYTES;
	range.bytes = w->bytes;
	range.flags |= RI_RANGE_ANONYMOUS;
	ri_image_add(w->target.image, &range);
	ri_image_seal(w->target.image);
	return w;
}

static inline uint64_t world_block_start(const void *data, size_t i)
{
	return ((const struct ri_block *)data)[i].addr;
}

static inline uint64_t world_block_end(const void *data, size_t i)
{
	const struct ri_block *block = (const struct ri_block *)data + i;

	return block->addr + block->size_bytes;
}

static inline void world_forget(struct world *w)
{
	ri_population_destroy(w->population);
	ri_shapes_destroy(w->shapes);
	ri_span_index_destroy(w->heap.index);
	w->population = NULL;
	w->shapes = NULL;
	w->heap.index = NULL;
}

/* Finds the population anew. */
static inline const struct ri_population *world_find(struct world *w)
{
	world_forget(w);
	w->region = (struct ri_heap_region){
		.start = WORLD_HEAP,
		.end = WORLD_HEAP + WORLD_HEAP_BYTES,
		.allocator = "test",
		.is_understood = true,
	};
	w->heap.blocks = w->blocks.items;
	w->heap.block_count = w->blocks.count;
	w->heap.regions = &w->region;
	w->heap.region_count = 1;
	w->heap.index = ri_span_index_create(w->blocks.count, world_block_start, world_block_end,
					     w->blocks.items);
	w->shapes = ri_shapes_create(&w->layout, NULL);
	w->population = ri_population_create(&w->target, NULL, NULL, &w->heap, &w->layout, NULL,
					     w->shapes, &w->gaps);
	return w->population;
}

static inline void world_destroy(struct world *w)
{
	world_forget(w);
	for (size_t i = 0; i < w->layout.conventions.count; i++) {
		free(w->layout.conventions.items[i].counts);
		free(w->layout.conventions.items[i].magics);
	}
	ri_vec_deinit(&w->layout.conventions);
	ri_vec_deinit(&w->layout.groups);
	ri_vec_deinit(&w->layout.types);
	ri_vec_deinit(&w->layout.owners);
	ri_vec_deinit(&w->blocks);
	ri_image_destroy(w->target.image);
	ri_gaps_deinit(&w->gaps);
	free(w);
}

/* A descriptor in static memory. */
static inline uint64_t world_descriptor(struct world *w, const char *name, uint64_t size,
					int64_t header_offset)
{
	uint64_t text = world_string(w, name), addr = world_static(w, sizeof(struct refobj_type));

	world_put64(w, addr, REFOBJ_TYPE_MAGIC);
	world_put64(w, addr + 8, text);
	world_put64(w, addr + 16, size);
	world_put64(w, addr + 24, (uint64_t)header_offset);
	return addr;
}

/* Writes a live header of one reference. */
static inline void world_header(struct world *w, uint64_t header, uint64_t descriptor)
{
	world_put32(w, header, REFOBJ_MAGIC);
	world_put32(w, header + 4, 1);
	world_put64(w, header + 8, descriptor);
}

/* An empty group in static memory; its struct's address. */
static inline uint64_t world_group(struct world *w, const char *name)
{
	uint64_t text = world_string(w, name), addr = world_static(w, sizeof(struct refobj_group));

	world_put64(w, addr, REFOBJ_GROUP_MAGIC);
	world_put64(w, addr + 8, addr + 8);
	world_put64(w, addr + 16, addr + 8);
	world_put64(w, addr + 32, text);
	return addr;
}

/* Chains the object with its header at `header` at the group's end. */
static inline void world_chain(struct world *w, uint64_t group, uint64_t header)
{
	uint64_t head = group + 8, node = header + 16, last = world_get64(w, head + 8);

	world_put64(w, node, head);
	world_put64(w, node + 8, last);
	world_put64(w, last, node);
	world_put64(w, head + 8, node);
	world_put64(w, header + 32, group);
	world_put64(w, group + 24, world_get64(w, group + 24) + 1);
}

#endif
