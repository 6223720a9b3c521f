/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A hand-made analysis for the tests of checks and reports: the stages' values
 * are plain structs and are filled here without a target.
 *
 * The world starts sound: object i of type conn lies at world_addr(i) in a used
 * block of its own, counts 1, and is held by one word of module data.  A test
 * spoils one thing, seals and runs a check.
 */
#ifndef CHECK_WORLD_H
#define CHECK_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/span_index.h"
#include "check/check.h"

enum {
	WORLD_OBJECTS = 8,
	WORLD_STEP = 0x1000,
	WORLD_BYTES = 64,
	WORLD_MEMBERS = 64,
};

enum world_class { CLASS_VARIABLE, CLASS_SESSION, CLASS_PEER, CLASS_STACK, CLASS_GROUP, CLASSES };

struct world_edge {
	uint32_t source, target, class_index, flags;
};

struct world {
	struct ri_analysis analysis;
	struct ri_target target;
	struct ri_layout layout;
	struct ri_shapes shapes;
	struct ri_population population;
	struct ri_heap heap;
	struct ri_holders holders;
	struct ri_graph graph;
	struct ri_findings findings;
	struct ri_counted_type types[3];
	struct ri_thread thread;
	uint32_t object_count;
	RI_VEC(struct world_edge) edges;
	RI_VEC(struct ri_membership) memberships;
	RI_VEC(struct ri_group) groups;
	RI_VEC(struct ri_group_break) breaks;
	RI_VEC(struct ri_foreign_node) foreign_nodes;
	RI_VEC(struct ri_heap_damage) damages;
	bool is_sealed;
};

static inline uint64_t world_addr(uint32_t object)
{
	return 0x10000 + (uint64_t)object * WORLD_STEP;
}

/* The node of the one region: module data. */
static inline uint32_t world_region(const struct world *w)
{
	return 2 * w->object_count;
}

static inline void world_hold(struct world *w, uint32_t source, uint32_t target,
			      enum world_class class_index, uint32_t flags)
{
	*ri_push(&w->edges) = (struct world_edge){ source, target, class_index, flags };
}

/* Takes away every edge to `target` that the world started with. */
static inline void world_drop(struct world *w, uint32_t target)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->edges.count; i++)
		if (w->edges.items[i].target != target ||
		    w->edges.items[i].source != world_region(w))
			w->edges.items[kept++] = w->edges.items[i];
	w->edges.count = kept;
}

static inline void world_add_classes(struct world *w)
{
	static const char *const names[CLASSES] = { "table[]", "conn.session", "conn.peer", "stack",
						    "group:all_conns" };
	static const enum ri_class_kind kinds[CLASSES] = { RI_CLASS_VARIABLE, RI_CLASS_FIELD,
							   RI_CLASS_FIELD, RI_CLASS_STACK,
							   RI_CLASS_MEMBERSHIP };

	for (size_t i = 0; i < CLASSES; i++) {
		struct ri_holder_class *c = ri_push(&w->shapes.classes);

		c->name = names[i];
		c->kind = kinds[i];
		c->weight = 1;
	}
}

static inline void world_add_layout(struct world *w)
{
	static struct ri_magic_rule magic = { .field = { .is_present = true, .size_bytes = 4 },
					      .live_count = 1,
					      .dead_count = 1 };
	static const uint64_t live = 0x6a626f72, dead = 0x64616564;
	struct ri_convention *convention = ri_push(&w->layout.conventions);
	struct ri_group_rule *rule = ri_push(&w->layout.groups);

	magic.live = &live;
	magic.dead = &dead;
	convention->name = "refobj";
	convention->magics = &magic;
	convention->magic_count = 1;
	rule->kind = RI_LINK_LIST;
	rule->element_convention = 0;
	rule->element_type = RI_LAYOUT_NONE;
	rule->link_offset = 16;
	rule->back = (struct ri_field){ .is_present = true, .offset_bytes = 32, .size_bytes = 8 };
}

static inline struct world *world_create_sized(uint32_t object_count)
{
	static const char *const type_names[3] = { "conn", "session", "unused" };
	struct world *w = ri_calloc(1, sizeof(*w));
	struct ri_population *p = &w->population;

	w->object_count = object_count;
	for (size_t t = 0; t < 3; t++) {
		w->types[t].name = type_names[t];
		w->types[t].size_bytes = w->types[t].extent_bytes = WORLD_BYTES;
		w->types[t].container = RI_LAYOUT_NONE;
	}
	p->types = w->types;
	p->type_count = 3;
	p->objects = ri_calloc(object_count, sizeof(*p->objects));
	p->object_count = object_count;
	p->back_group = ri_calloc(object_count, sizeof(*p->back_group));
	p->back_pointer = ri_calloc(object_count, sizeof(*p->back_pointer));
	w->heap.blocks = ri_calloc(object_count, sizeof(*w->heap.blocks));
	w->heap.block_count = object_count;
	w->heap.allocator = "glibc 64-bit";
	w->graph.reach = ri_calloc(2 * object_count + 1, 1);
	w->graph.leak_root = ri_calloc(object_count, sizeof(uint32_t));
	w->graph.hangs_on_count = ri_calloc(object_count, sizeof(uint32_t));
	w->graph.hangs_on_bytes = ri_calloc(object_count, sizeof(uint64_t));
	w->graph.cycle_of = ri_calloc(object_count, sizeof(uint32_t));
	for (uint32_t o = 0; o < object_count; o++) {
		p->objects[o] = (struct ri_object){ .addr = world_addr(o),
						    .count = 1,
						    .block = o,
						    .parent = RI_NONE,
						    .found = RI_FOUND_MAGIC };
		p->back_group[o] = RI_NONE;
		w->heap.blocks[o] = (struct ri_block){ world_addr(o), WORLD_BYTES, RI_BLOCK_USED };
		w->graph.reach[o] = RI_REACH_CERTAIN | RI_REACH_ANY | RI_REACH_GROUP;
		w->graph.leak_root[o] = w->graph.cycle_of[o] = RI_NONE;
		world_hold(w, world_region(w), o, CLASS_VARIABLE, 0);
	}
	world_add_classes(w);
	world_add_layout(w);
	w->thread.has_registers = true;
	w->target.command = (char *)"server";
	w->target.pid = 4711;
	w->target.path = (char *)"core.4711";
	w->target.threads = &w->thread;
	w->target.thread_count = 1;
	w->target.image = ri_image_create();
	w->analysis.target = &w->target;
	w->analysis.layout = &w->layout;
	w->analysis.heap = &w->heap;
	w->analysis.shapes = &w->shapes;
	w->analysis.population = p;
	w->analysis.holders = &w->holders;
	w->analysis.graph = &w->graph;
	w->analysis.findings = &w->findings;
	ri_gaps_init(&w->analysis.gaps);
	return w;
}

static inline struct world *world_create(void)
{
	return world_create_sized(WORLD_OBJECTS);
}

/* A group whose members are objects [first, first + count), links at +16. */
static inline uint32_t world_group(struct world *w, const char *name, uint32_t first,
				   uint32_t count)
{
	uint32_t index = (uint32_t)w->groups.count;
	struct ri_group *group = ri_push(&w->groups);

	*group = (struct ri_group){
		.name = name,
		.head = 0x500008 + index * 0x100,
		.struct_addr = 0x500000 + index * 0x100,
		.object = RI_NONE,
		.parent = RI_NONE,
		.first_member = (uint32_t)w->memberships.count,
		.member_count = count,
		.has_stored_count = true,
		.stored_count = count,
		.membership = { .kind = RI_WEIGHT_FIXED },
	};
	for (uint32_t i = 0; i < count; i++) {
		*ri_push(&w->memberships) =
			(struct ri_membership){ first + i, index, world_addr(first + i) + 16 };
		w->population.back_group[first + i] = index;
		w->population.back_pointer[first + i] = 0x500000 + index * 0x100;
	}
	return index;
}

static inline void world_break(struct world *w, uint32_t group, struct ri_group_break fault)
{
	assert_int_equal(group + 1, w->groups.count); /* breaks are grouped by group */
	if (!w->groups.items[group].break_count)
		w->groups.items[group].break_first = (uint32_t)w->breaks.count;
	w->groups.items[group].break_count++;
	*ri_push(&w->breaks) = fault;
}

static inline void world_seal_edges(struct world *w)
{
	struct ri_holders *h = &w->holders;
	uint32_t nodes = 2 * w->object_count + 1, objects = w->object_count;
	uint64_t at = 0;

	h->object_count = objects;
	h->block_count = objects;
	h->region_count = 1;
	h->node_count = nodes;
	h->edge_count = w->edges.count;
	h->edges = ri_calloc(w->edges.count, sizeof(*h->edges));
	h->first = ri_calloc(nodes + 1, sizeof(*h->first));
	h->in_first = ri_calloc(objects + 1, sizeof(*h->in_first));
	h->in_edges = ri_calloc(w->edges.count, sizeof(*h->in_edges));
	h->certain = ri_calloc(objects, sizeof(*h->certain));
	h->possible = ri_calloc(objects, sizeof(*h->possible));
	h->regions = ri_calloc(1, sizeof(*h->regions));
	h->regions[0] = (struct ri_region){ .kind = RI_REGION_MODULE,
					    .start = 0x900000,
					    .end = 0x901000,
					    .thread = RI_NONE,
					    .module = RI_NONE,
					    .name = "server data" };
	for (uint32_t n = 0; n < nodes; n++) {
		h->first[n] = at;
		for (size_t i = 0; i < w->edges.count; i++)
			if (w->edges.items[i].source == n) {
				const struct world_edge *e = &w->edges.items[i];

				h->edges[at] =
					(struct ri_edge){ .target = e->target,
							  .class_index = e->class_index,
							  .word = (uint32_t)(at - h->first[n]),
							  .flags = e->flags };
				at++;
			}
	}
	h->first[nodes] = at;
	at = 0;
	for (uint32_t o = 0; o < objects; o++) {
		h->in_first[o] = at;
		for (uint64_t e = 0; e < h->edge_count; e++) {
			const struct ri_edge *edge = &h->edges[e];

			if (edge->target != o)
				continue;
			h->in_edges[at++] = e;
			if (edge->flags & (RI_EDGE_LINK | RI_EDGE_BORROWS | RI_EDGE_EMBEDS))
				continue;
			if (edge->flags & RI_EDGE_POSSIBLE)
				h->possible[o]++;
			else
				h->certain[o]++;
		}
	}
	h->in_first[objects] = at;
}

static inline uint64_t world_object_start(const void *data, size_t i)
{
	const struct ri_population *population = data;

	return ri_object_start(population, &population->objects[i]);
}

static inline uint64_t world_object_end(const void *data, size_t i)
{
	const struct ri_population *population = data;

	return ri_object_end(population, &population->objects[i]);
}

static inline void world_seal(struct world *w)
{
	struct ri_population *p = &w->population;
	uint32_t at = 0;

	if (w->is_sealed)
		return;
	w->is_sealed = true;
	world_seal_edges(w);
	p->groups = w->groups.items;
	p->group_count = w->groups.count;
	p->memberships = w->memberships.items;
	p->membership_count = w->memberships.count;
	p->breaks = w->breaks.items;
	p->break_count = w->breaks.count;
	p->foreign_nodes = w->foreign_nodes.items;
	p->foreign_node_count = w->foreign_nodes.count;
	w->heap.damages = w->damages.items;
	w->heap.damage_count = w->damages.count;
	p->member_of_first = ri_calloc(w->object_count + 1, sizeof(uint32_t));
	p->member_of = ri_calloc(p->membership_count, sizeof(uint32_t));
	for (uint32_t o = 0; o < w->object_count; o++) {
		p->member_of_first[o] = at;
		for (uint32_t m = 0; m < p->membership_count; m++)
			if (p->memberships[m].object == o)
				p->member_of[at++] = m;
	}
	p->member_of_first[w->object_count] = at;
	p->index = ri_span_index_create(w->object_count, world_object_start, world_object_end, p);
	ri_image_seal(w->target.image);
}

static inline void world_destroy(struct world *w)
{
	struct ri_findings *findings = ri_calloc(1, sizeof(*findings));

	*findings = w->findings;
	ri_findings_destroy(findings);
	free(w->population.objects);
	free(w->population.back_group);
	free(w->population.back_pointer);
	free(w->population.member_of_first);
	free(w->population.member_of);
	free(w->heap.blocks);
	ri_chains_destroy(w->analysis.chains);
	free(w->graph.reach);
	free(w->graph.leak_root);
	ri_span_index_destroy(w->population.index);
	free(w->graph.hangs_on_count);
	free(w->graph.hangs_on_bytes);
	free(w->graph.cycle_of);
	free(w->graph.cycles);
	free(w->graph.cycle_members);
	free(w->holders.edges);
	free(w->holders.first);
	free(w->holders.in_first);
	free(w->holders.in_edges);
	free(w->holders.certain);
	free(w->holders.possible);
	free(w->holders.regions);
	ri_vec_deinit(&w->edges);
	ri_vec_deinit(&w->memberships);
	ri_vec_deinit(&w->groups);
	ri_vec_deinit(&w->breaks);
	ri_vec_deinit(&w->foreign_nodes);
	ri_vec_deinit(&w->damages);
	ri_vec_deinit(&w->shapes.classes);
	ri_vec_deinit(&w->layout.conventions);
	ri_vec_deinit(&w->layout.groups);
	ri_image_destroy(w->target.image);
	ri_gaps_deinit(&w->analysis.gaps);
	free(w);
}

/* Runs every check, as the analysis does. */
static inline void world_check(struct world *w)
{
	world_seal(w);
	ri_chains_destroy(w->analysis.chains);
	w->analysis.chains =
		ri_chains_create(&w->holders, &w->population, &w->heap, &w->graph);
	for (size_t i = 0; ri_checks[i]; i++)
		ri_checks[i]->run(ri_checks[i], &w->analysis, &w->findings);
	ri_findings_sort(&w->findings);
}

/* The only finding, which must be of `code`. */
static inline const struct ri_finding *world_only(const struct world *w, const char *code)
{
	for (size_t i = 0; i < w->findings.count; i++)
		if (w->findings.count != 1)
			print_message("%s: %s\n", w->findings.items[i].check->code,
				      w->findings.items[i].summary);
	assert_int_equal(w->findings.count, 1);
	assert_string_equal(w->findings.items[0].check->code, code);
	return &w->findings.items[0];
}

static inline bool finding_says(const struct ri_finding *finding, const char *text)
{
	for (size_t i = 0; i < finding->evidence.count; i++)
		if (strstr(finding->evidence.items[i], text))
			return true;
	return strstr(finding->summary, text) != NULL;
}

static inline bool finding_implies(const struct ri_finding *finding, const char *code)
{
	for (size_t i = 0; i < finding->also.count; i++)
		if (!strcmp(finding->also.items[i], code))
			return true;
	return false;
}

static inline const char *finding_last(const struct ri_finding *finding)
{
	return finding->evidence.items[finding->evidence.count - 1];
}

/* Makes [start, end) a writable range without bytes. */
static inline void world_lose(struct world *w, enum ri_range_kind kind, uint64_t start,
			      uint64_t end)
{
	const struct ri_range range = { start, end, NULL, kind, RI_RANGE_READ | RI_RANGE_WRITE };

	ri_image_add(w->target.image, &range);
}

/* Makes `count` objects unreachable, hanging on `root`. */
static inline void world_leak(struct world *w, uint32_t object, uint32_t root)
{
	w->graph.reach[object] = 0;
	w->graph.leak_root[object] = root;
	if (object != root) {
		w->graph.hangs_on_count[root]++;
		w->graph.hangs_on_bytes[root] += WORLD_BYTES;
	}
}

/* Makes objects [first, first + count) one unreachable cycle of the graph. */
static inline void world_cycle(struct world *w, uint32_t first, uint32_t count)
{
	w->graph.cycles = ri_calloc(1, sizeof(*w->graph.cycles));
	w->graph.cycles[0] = (struct ri_cycle){ 0, count };
	w->graph.cycle_count = 1;
	w->graph.cycle_members = ri_calloc(count, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++) {
		w->graph.cycle_members[i] = first + i;
		w->graph.cycle_of[first + i] = 0;
		world_drop(w, first + i);
		world_leak(w, first + i, first);
	}
}

#endif
