/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small hand-made target for the tests of the census and of the graph: a
 * heap, module data, one thread with stack and registers, a mapping, and
 * whatever blocks, objects, groups and words a test puts there.
 */
#ifndef HOLDERS_WORLD_H
#define HOLDERS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "census/graph.h"
#include "census/input.h"
#include "census/links.h"

#define HEAP 0x10000ull
#define DATA 0x600000ull
#define RODATA 0x610000ull
#define MAPPING 0x700000ull
#define STACK 0x800000ull
#define PART_BYTES 0x10000ull
#define SP (STACK + 0x8000)

/* Types of the world: P at the start, header at 0, one pointer at 16. */
enum { CONN, SESSION, BUFFER, WORLD_TYPE_COUNT };
#define TYPE_BYTES 64

struct world {
	uint8_t *memory[5];
	struct ri_target target;
	struct ri_thread thread;
	struct ri_mapping mappings[2];
	struct ri_heap heap;
	struct ri_heap_region heap_region;
	RI_VEC(struct ri_block) blocks;
	struct ri_population population;
	struct ri_counted_type types[WORLD_TYPE_COUNT];
	RI_VEC(struct ri_object) objects;
	RI_VEC(struct ri_group) groups;
	RI_VEC(struct ri_membership) memberships;
	RI_VEC(struct ri_typed_block) typed_blocks;
	struct ri_layout layout;
	struct ri_shapes *shapes;
	uint32_t shape_of_type[WORLD_TYPE_COUNT];
	RI_VEC(struct ri_variable_span) variables;
	struct ri_data_range data;
	struct ri_module_span module;
	struct ri_skipped_span skipped[1];
	size_t skipped_count;
	struct ri_links *links;
	unsigned thread_count;
	struct ri_gaps gaps;
	struct ri_holders *holders;
	struct ri_graph *graph;
};

static const uint64_t world_starts[] = { HEAP, DATA, RODATA, MAPPING, STACK };

/* A shape without slots. */
static inline uint32_t world_shape(struct world *w, const char *name, uint64_t element_bytes)
{
	struct ri_shape *shape = ri_push(&w->shapes->shapes);

	shape->name = name;
	shape->element_bytes = element_bytes;
	shape->slot_of_word = ri_malloc(element_bytes / 8 * sizeof(uint32_t));
	memset(shape->slot_of_word, 0xff, element_bytes / 8 * sizeof(uint32_t));
	return (uint32_t)w->shapes->shapes.count - 1;
}

static inline uint32_t world_slot(struct world *w, uint32_t shape_index, uint32_t offset,
				  enum ri_slot_kind kind, const char *class_name,
				  uint32_t pointee_type)
{
	struct ri_shape *shape = &w->shapes->shapes.items[shape_index];
	struct ri_slot *slot;

	shape->slots = ri_realloc(shape->slots, shape->slot_count + 1, sizeof(*shape->slots));
	shape->slot_of_word[offset / 8] = (uint32_t)shape->slot_count;
	slot = &shape->slots[shape->slot_count++];
	*slot = (struct ri_slot){ .offset_bytes = offset,
				  .kind = (uint8_t)kind,
				  .class_index = ri_shapes_class(w->shapes, class_name,
								 RI_CLASS_FIELD),
				  .pointee_type = pointee_type };
	return slot->class_index;
}

static inline struct ri_holder_class *world_class(struct world *w, const char *name)
{
	for (size_t i = 0; i < w->shapes->classes.count; i++)
		if (!strcmp(w->shapes->classes.items[i].name, name))
			return &w->shapes->classes.items[i];
	return NULL;
}

static inline void world_add_type(struct world *w, uint32_t type, const char *name,
				  const char *field, const char *void_field, uint32_t pointee)
{
	uint32_t shape;

	w->types[type] = (struct ri_counted_type){ .name = name,
						   .size_bytes = TYPE_BYTES,
						   .extent_bytes = TYPE_BYTES,
						   .convention = type,
						   .container = RI_LAYOUT_NONE };
	shape = world_shape(w, name, TYPE_BYTES);
	w->shape_of_type[type] = shape;
	world_slot(w, shape, 0, RI_SLOT_HEADER, "header", RI_NONE);
	world_slot(w, shape, 8, RI_SLOT_LINK, "link", RI_NONE);
	world_slot(w, shape, 16, RI_SLOT_POINTER, field, pointee);
	world_slot(w, shape, 24, RI_SLOT_VOID_POINTER, void_field, RI_NONE);
	/* 32, 40, 48 are OTHER */
	world_slot(w, shape, 56, RI_SLOT_BACK, "back", RI_NONE);
	world_class(w, "back")->weight = 0;
	world_class(w, "back")->is_possible = false;
}

static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->target.image = ri_image_create();
	for (size_t i = 0; i < 5; i++) {
		struct ri_range range = { world_starts[i], world_starts[i] + PART_BYTES, NULL,
					  RI_RANGE_PRESENT, RI_RANGE_READ | RI_RANGE_WRITE };

		range.bytes = w->memory[i] = ri_calloc(1, PART_BYTES);
		ri_image_add(w->target.image, &range);
	}
	ri_image_seal(w->target.image);
	w->thread = (struct ri_thread){ .tid = 7, .has_registers = true };
	w->thread.registers[RI_REG_RSP] = SP;
	w->target.threads = &w->thread;
	w->target.thread_count = 1;
	w->mappings[0] = (struct ri_mapping){ MAPPING, MAPPING + PART_BYTES, 0, 3, NULL };
	w->mappings[1] = (struct ri_mapping){ STACK, STACK + PART_BYTES, 0, 3,
					      (char *)"[stack]" };
	w->target.mappings = w->mappings;
	w->target.mapping_count = 2;
	w->heap_region = (struct ri_heap_region){ HEAP, HEAP + PART_BYTES, "test", true };
	w->heap.regions = &w->heap_region;
	w->heap.region_count = 1;
	w->shapes = ri_shapes_create(&w->layout, NULL);
	world_add_type(w, CONN, "conn", "conn.session", "conn.cookie", SESSION);
	world_add_type(w, SESSION, "session", "session.conn", "session.cookie", CONN);
	world_add_type(w, BUFFER, "buffer", "buffer.next", "buffer.cookie", BUFFER);
	w->data = (struct ri_data_range){ DATA, DATA + PART_BYTES, 0, false };
	w->module = (struct ri_module_span){ DATA, RODATA + PART_BYTES, 0, "program" };
	w->thread_count = 1;
	ri_gaps_init(&w->gaps);
}

static inline void world_forget_results(struct world *w)
{
	ri_graph_destroy(w->graph);
	ri_holders_destroy(w->holders);
	ri_links_destroy(w->links);
	w->graph = NULL;
	w->holders = NULL;
	w->links = NULL;
}

static inline void world_deinit(struct world *w)
{
	world_forget_results(w);
	ri_gaps_deinit(&w->gaps);
	ri_shapes_destroy(w->shapes);
	ri_image_destroy(w->target.image);
	for (size_t i = 0; i < 5; i++)
		free(w->memory[i]);
	ri_vec_deinit(&w->blocks);
	ri_vec_deinit(&w->objects);
	ri_vec_deinit(&w->groups);
	ri_vec_deinit(&w->memberships);
	ri_vec_deinit(&w->typed_blocks);
	ri_vec_deinit(&w->variables);
}

static inline void poke(struct world *w, uint64_t addr, uint64_t value)
{
	for (size_t i = 0; i < 5; i++)
		if (addr - world_starts[i] < PART_BYTES)
			memcpy(w->memory[i] + (addr - world_starts[i]), &value, sizeof(value));
}

/* Blocks are to be added in address order. */
static inline uint32_t add_block(struct world *w, uint64_t addr, uint64_t size_bytes,
				 enum ri_block_state state)
{
	struct ri_block *block = ri_push(&w->blocks);

	block->addr = addr;
	block->size_bytes = size_bytes;
	block->state = state;
	return (uint32_t)w->blocks.count - 1;
}

/* Objects are to be added in address order, outer before inner. */
static inline uint32_t add_object(struct world *w, uint64_t addr, uint32_t type, uint32_t parent,
				  uint32_t state)
{
	struct ri_object *object = ri_push(&w->objects);
	struct ri_heap heap = { .blocks = w->blocks.items, .block_count = w->blocks.count };

	object->addr = addr;
	object->type = type;
	object->count = 1;
	object->block = ri_extents_find_block(&heap, addr);
	object->parent = parent;
	object->state = state;
	return (uint32_t)w->objects.count - 1;
}

/* A used block with one object at its start. */
static inline uint32_t add_block_object(struct world *w, uint64_t addr, uint32_t type)
{
	add_block(w, addr, TYPE_BYTES + 8, RI_BLOCK_USED);
	return add_object(w, addr, type, RI_NONE, 0);
}

static inline uint32_t add_group(struct world *w, const char *name, uint64_t head, uint32_t object,
				 enum ri_weight_kind kind, int64_t weight)
{
	struct ri_group *group = ri_push(&w->groups);

	group->name = name;
	group->head = group->struct_addr = head;
	group->object = object;
	group->parent = RI_NONE;
	group->first_member = (uint32_t)w->memberships.count;
	group->membership = (struct ri_weight){ .kind = kind, .weight = weight };
	return (uint32_t)w->groups.count - 1;
}

/* To the last group. */
static inline void add_member(struct world *w, uint32_t object)
{
	struct ri_group *group = &w->groups.items[w->groups.count - 1];
	struct ri_membership *membership = ri_push(&w->memberships);

	membership->object = object;
	membership->group = (uint32_t)w->groups.count - 1;
	membership->node = w->objects.items[object].addr + 8;
	group->member_count++;
}

static inline void world_take_census(struct world *w)
{
	world_forget_results(w);
	w->heap.blocks = w->blocks.items;
	w->heap.block_count = w->blocks.count;
	w->population.types = w->types;
	w->population.type_count = WORLD_TYPE_COUNT;
	w->population.objects = w->objects.items;
	w->population.object_count = w->objects.count;
	w->population.groups = w->groups.items;
	w->population.group_count = w->groups.count;
	w->population.memberships = w->memberships.items;
	w->population.membership_count = w->memberships.count;
	w->population.typed_blocks = w->typed_blocks.items;
	w->population.typed_block_count = w->typed_blocks.count;
	w->links = ri_links_create(&w->population, &w->layout);
	w->holders = ri_holders_run(
		&(struct ri_census_input){
			.target = &w->target,
			.heap = &w->heap,
			.population = &w->population,
			.shapes = w->shapes,
			.shape_of_type = w->shape_of_type,
			.regions = { .target = &w->target,
				     .heap = &w->heap,
				     .data = &w->data,
				     .data_count = 1,
				     .modules = &w->module,
				     .module_count = 1 },
			.variables = w->variables.items,
			.variable_count = w->variables.count,
			.skipped = w->skipped,
			.skipped_count = w->skipped_count,
			.links = w->links,
			.thread_count = w->thread_count,
		},
		&w->gaps);
}

static inline uint32_t block_node(const struct world *w, uint32_t block)
{
	return (uint32_t)w->objects.count + block;
}

/* The region node of the kind that contains `addr` (registers: 0). */
static inline uint32_t region_node(const struct world *w, enum ri_region_kind kind, uint64_t addr)
{
	for (uint32_t r = 0; r < w->holders->region_count; r++)
		if (w->holders->regions[r].kind == kind && w->holders->regions[r].start <= addr &&
		    addr < w->holders->regions[r].end)
			return w->holders->object_count + w->holders->block_count + r;
	return RI_NONE;
}

/* The edge from node to node of word `word` (RI_NONE: no word), or null. */
static inline const struct ri_edge *find_edge(const struct world *w, uint32_t source,
					      uint32_t word, uint32_t target)
{
	const struct ri_holders *h = w->holders;

	if (source == RI_NONE)
		return NULL;
	for (uint64_t e = h->first[source]; e < h->first[source + 1]; e++)
		if (h->edges[e].word == word && h->edges[e].target == target)
			return &h->edges[e];
	return NULL;
}

static inline uint64_t out_count(const struct world *w, uint32_t node)
{
	return w->holders->first[node + 1] - w->holders->first[node];
}

static inline const char *class_of(const struct world *w, const struct ri_edge *edge)
{
	return edge ? w->shapes->classes.items[edge->class_index].name : "no edge";
}

#endif
