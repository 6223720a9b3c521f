/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sequence of steps that finds a population, and its final form: sweep, what
 * an earlier census showed to be lost; then traversal and groups in turn, until neither
 * finds anything new; then states, order, parents and index.
 *
 * What each step knows is in its own file; this one knows how their results
 * fit together.  Cost: linear in the memory swept and in the objects, plus one
 * sort of those that were not found in address order.
 */
#include "census/population.h"

#include <stdlib.h>

#include "census/extents.h"
#include "census/finder.h"
#include "census/local_starts.h"
#include "census/assumed.h"
#include "census/lost.h"
#include "census/type_walk.h"
#include "debug/modules.h"

/*
 * States
 */

static bool is_plain_count(const struct ri_count_rule *rule)
{
	return rule->mask == UINT64_MAX && !rule->shift && !rule->is_negative && !rule->bias &&
	       !rule->plus.is_present && !rule->field.bit_size;
}

/* The primary count; the reader's remembered range makes the usual case fast. */
static enum ri_count_state read_count(struct ri_finder *finder, uint64_t header,
				      const struct ri_count_rule *rule, int64_t *ret)
{
	if (!is_plain_count(rule))
		return ri_count_read(finder->image, header, rule, ret);
	if (!ri_finder_field(finder, header, &rule->field, ret))
		return RI_COUNT_UNREADABLE;
	return ri_count_classify(rule, *ret);
}

static uint32_t state_of_count(enum ri_count_state state)
{
	switch (state) {
	case RI_COUNT_DEAD:
		return RI_OBJECT_COUNT_DEAD;
	case RI_COUNT_SATURATED:
		return RI_OBJECT_SATURATED;
	case RI_COUNT_IMMORTAL:
		return RI_OBJECT_IMMORTAL;
	case RI_COUNT_IMPOSSIBLE:
	case RI_COUNT_UNREADABLE:
		return RI_OBJECT_COUNT_IMPOSSIBLE;
	case RI_COUNT_LIVE:
		break;
	}
	return 0;
}

static uint32_t state_of_place(struct ri_finder *finder, const struct ri_object *object)
{
	const uint32_t sure = RI_FOUND_GROUP | RI_FOUND_POINTER | RI_FOUND_VARIABLE |
			      RI_FOUND_EMBEDDED | RI_FOUND_ASSUMED;
	const struct ri_range *range;
	uint32_t state = 0;

	if (object->found == RI_FOUND_GUESS)
		state |= RI_OBJECT_REMNANT;
	if (object->block != RI_NONE) {
		switch (finder->heap->blocks[object->block].state) {
		case RI_BLOCK_FREE:
			return RI_OBJECT_FREED;
		case RI_BLOCK_UNKNOWN:
			return object->found & sure ? 0 : RI_OBJECT_SUSPECT;
		default:
			/* only thread-local storage is a variable in a block */
			return state | (object->found & RI_FOUND_VARIABLE ? RI_OBJECT_STATIC : 0);
		}
	}
	range = ri_image_find(finder->image, object->addr);
	if (range && (range->flags & RI_RANGE_SHARED))
		state |= RI_OBJECT_SHARED;
	if (ri_finder_is_static(finder, object->addr) || object->found & RI_FOUND_VARIABLE)
		state |= RI_OBJECT_STATIC;
	else if (!(object->found & (sure | RI_FOUND_CONTENT)))
		state |= RI_OBJECT_SUSPECT;
	return state;
}

static uint32_t state_of_descriptor(struct ri_finder *finder, const struct ri_object *object,
				    uint64_t header)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	uint64_t descriptor;

	if (!c->descriptor.is_present)
		return 0;
	descriptor = ri_finder_pointer(finder, header, &c->descriptor.field);
	if (c->descriptor.meta.is_present && !type->descriptor) {
		if (ri_descriptors_type(finder, type->convention, descriptor) != RI_NONE)
			return 0;
		/* static ones get their descriptor, and that its own, when they are first used */
		if (object->block == RI_NONE && !descriptor)
			return RI_OBJECT_IGNORE;
		return object->block == RI_NONE && ri_finder_is_static(finder, descriptor) &&
				       !ri_finder_pointer(finder, descriptor, &c->descriptor.field)
			       ? 0
			       : RI_OBJECT_DESCRIPTOR_BAD;
	}
	if (type->descriptor ? descriptor == type->descriptor
			     : ri_descriptors_type(finder, type->convention, descriptor) ==
				       object->type)
		return 0;
	return RI_OBJECT_DESCRIPTOR_BAD;
}

/* ri_condition_holds() through the reader. */
static bool holds(struct ri_finder *finder, uint64_t base, const struct ri_condition *condition)
{
	const struct ri_field *field = &condition->field;
	uint64_t value, mask = condition->mask;

	if (!condition->is_present)
		return false;
	if (field->bit_size)
		return ri_condition_holds(finder->image, base, condition);
	if (!ri_reader_uint(&finder->reader, base + (uint64_t)field->offset_bytes,
			    field->size_bytes, &value))
		return false;
	if (field->size_bytes < sizeof(mask))
		mask &= (1ull << 8 * field->size_bytes) - 1;
	if (condition->has_equals)
		return ((value & mask) == (condition->equals & mask)) != condition->is_negated;
	return ((value & mask) != 0) != condition->is_negated;
}

/* In a freed block the allocator has written over the object: its magic, its
 * count and its descriptor say nothing any more. */
static void set_state(struct ri_finder *finder, struct ri_object *object, const uint64_t *pools)
{
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	uint64_t header = ri_finder_header(finder, object);
	enum ri_count_state count = RI_COUNT_LIVE;
	enum ri_magic_state magic;

	object->state |= state_of_place(finder, object);
	if (c->count_count)
		count = read_count(finder, header, &c->counts[0], &object->count);
	magic = ri_finder_magic(finder, type->convention, header, object->type);
	if (magic == RI_MAGIC_DEAD)
		object->state |= RI_OBJECT_MAGIC_DEAD;
	if (object->state & RI_OBJECT_FREED)
		return;
	if (magic == RI_MAGIC_BAD)
		object->state |= RI_OBJECT_MAGIC_BAD;
	object->state |= state_of_count(count) | state_of_descriptor(finder, object, header);
	if (ri_is_remnant(finder, object, pools))
		object->state |= RI_OBJECT_REMNANT;
	if (holds(finder, header, &c->not_leak))
		object->state |= RI_OBJECT_NOT_LEAK;
	if (holds(finder, header, &c->ignore))
		object->state |= RI_OBJECT_IGNORE;
}

/*
 * Order: by start, the outer before the inner
 */

/* An object and where it stood in the finder. */
struct placed {
	struct ri_object object;
	uint32_t old;
};

static int compare_places(const struct ri_finder *finder, const struct ri_object *a,
			  const struct ri_object *b)
{
	const struct ri_counted_type *t = &finder->types.items[a->type];
	const struct ri_counted_type *u = &finder->types.items[b->type];
	uint64_t start_a = ri_type_start(t, a->addr), start_b = ri_type_start(u, b->addr);

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	if (t->extent_bytes != u->extent_bytes)
		return t->extent_bytes > u->extent_bytes ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static int compare_placed(const void *a, const void *b, void *data)
{
	const struct placed *x = a, *y = b;
	int order = compare_places(data, &x->object, &y->object);

	return order ? order : x->old < y->old ? -1 : x->old > y->old;
}

/* objects[first .. end), sorted, in a new array. */
static struct placed *sort_run(struct ri_finder *finder, size_t first, size_t end)
{
	struct placed *run = ri_malloc((end - first) * sizeof(*run));

	for (size_t i = first; i < end; i++)
		run[i - first] = (struct placed){ finder->objects.items[i], (uint32_t)i };
	qsort_r(run, end - first, sizeof(*run), compare_placed, finder);
	return run;
}

static bool is_sorted(const struct ri_finder *finder, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare_places(finder, &finder->objects.items[i - 1],
				   &finder->objects.items[i]) > 0)
			return false;
	return true;
}

/*
 * Puts the finder's objects in their final order, in place; place_of[old] is
 * where each went.  Those of the sweep are in order already, unless some contain
 * others; then the late ones are sorted alone and merged in from behind.
 */
static void sort_objects(struct ri_finder *finder, uint32_t *place_of)
{
	struct ri_object *objects = finder->objects.items;
	size_t count = finder->objects.count, swept = finder->indexed_count;
	struct placed *run;
	size_t to = count;

	if (!is_sorted(finder, swept))
		swept = 0;
	run = sort_run(finder, swept, count);
	for (size_t late = count - swept; late;) {
		const struct placed *last = &run[late - 1];

		to--;
		if (swept && compare_places(finder, &objects[swept - 1], &last->object) > 0) {
			objects[to] = objects[--swept];
			place_of[swept] = (uint32_t)to;
		} else {
			objects[to] = last->object;
			place_of[last->old] = (uint32_t)to;
			late--;
		}
	}
	while (swept--)
		place_of[swept] = (uint32_t)swept;
	free(run);
}

/* Parents: the innermost earlier object that contains all of this one. */
static void set_parents(struct ri_population *population)
{
	uint32_t open = RI_NONE;

	for (size_t i = 0; i < population->object_count; i++) {
		struct ri_object *object = &population->objects[i];
		uint64_t start = ri_object_start(population, object);
		uint64_t end = ri_object_end(population, object);

		while (open != RI_NONE &&
		       ri_object_end(population, &population->objects[open]) <= start)
			open = population->objects[open].parent;
		object->parent = open;
		while (object->parent != RI_NONE &&
		       ri_object_end(population, &population->objects[object->parent]) < end)
			object->parent = population->objects[object->parent].parent;
		open = (uint32_t)i;
	}
}

/*
 * Index
 */

static uint64_t start_of(const void *data, size_t i)
{
	const struct ri_population *population = data;

	return ri_object_start(population, &population->objects[i]);
}

static uint64_t end_of(const void *data, size_t i)
{
	const struct ri_population *population = data;

	return ri_object_end(population, &population->objects[i]);
}

/* member_of: the memberships of each object, by counting. */
static void index_memberships(struct ri_population *population)
{
	uint32_t *first = ri_calloc(population->object_count + 2, sizeof(*first));

	for (size_t i = 0; i < population->membership_count; i++)
		first[population->memberships[i].object + 2]++;
	for (size_t i = 2; i < population->object_count + 2; i++)
		first[i] += first[i - 1];
	population->member_of = ri_malloc(population->membership_count * sizeof(uint32_t));
	for (size_t i = 0; i < population->membership_count; i++)
		population->member_of[first[population->memberships[i].object + 1]++] =
			(uint32_t)i;
	population->member_of_first = first;
}

static int compare_typed(const void *a, const void *b)
{
	const struct ri_typed_block *x = a, *y = b;

	return x->block < y->block ? -1 : x->block > y->block;
}

/* Typed blocks without those that turned out to be objects. */
static void place_typed_blocks(struct ri_finder *finder, struct ri_population *population)
{
	size_t kept = 0;

	for (size_t i = 0; i < finder->typed.count; i++) {
		const struct ri_typed_block *typed = &finder->typed.items[i];
		uint64_t start = finder->heap->blocks[typed->block].addr;
		uint32_t object = ri_population_find(population, start);
		const struct ri_shape *shape = &finder->shapes->shapes.items[typed->shape];

		if (object == RI_NONE ||
		    ri_object_end(population, &population->objects[object]) <
			    start + shape->element_bytes)
			finder->typed.items[kept++] = *typed;
	}
	if (kept)
		qsort(finder->typed.items, kept, sizeof(*finder->typed.items), compare_typed);
	population->typed_blocks = finder->typed.items;
	population->typed_block_count = kept;
	finder->typed.items = NULL;
}

static void finish(struct ri_finder *finder, struct ri_groups *groups,
		   struct ri_population *population)
{
	uint32_t *place_of;
	uint64_t *pools;

	ri_groups_finish(groups, population);
	for (size_t i = 0; i < finder->indexed_count; i++)
		if (finder->is_pointed_at[i / 64] >> i % 64 & 1)
			finder->objects.items[i].found |= RI_FOUND_POINTER;
	pools = ri_pools_create(finder);
	for (size_t i = 0; i < finder->objects.count; i++)
		set_state(finder, &finder->objects.items[i], pools);
	ri_pools_destroy(finder, pools);
	ri_idle_settle(finder);
	place_of = ri_malloc(finder->objects.count * sizeof(*place_of));
	sort_objects(finder, place_of);
	ri_rivals_drop(finder, place_of, population);
	population->extra_words = ri_described_measure(finder);
	population->objects = ri_copy_aligned(finder->objects.items, finder->objects.count,
					      sizeof(*population->objects));
	population->object_count = finder->objects.count;
	ri_vec_deinit(&finder->objects);
	population->unproved = finder->unproved.items;
	population->unproved_count = finder->unproved.count;
	population->types = finder->types.items;
	population->type_count = finder->types.count;
	population->owner_tables = finder->owner_tables.items;
	population->owner_table_count = finder->owner_tables.count;
	set_parents(population);
	population->index = ri_span_index_create(population->object_count, start_of, end_of,
						 population);
	for (size_t i = 0; i < population->membership_count; i++)
		population->memberships[i].object = place_of[population->memberships[i].object];
	for (size_t i = 0; i < population->break_count; i++)
		if (population->breaks[i].object != RI_NONE)
			population->breaks[i].object = place_of[population->breaks[i].object];
	for (size_t i = 0; i < population->group_count; i++)
		population->groups[i].object =
			ri_population_find(population, population->groups[i].head);
	free(place_of);
	index_memberships(population);
	ri_groups_read_backs(groups, population);
	place_typed_blocks(finder, population);
	population->unused = finder->unused.items;
	population->unused_count = finder->unused.count;
	/* moved into the population */
	finder->unused.items = NULL;
	finder->types.items = NULL;
	finder->owner_tables.items = NULL;
	finder->owner_tables.count = 0;
}

/* What cannot be judged because nothing says which words are references. */
static void tell_untyped(const struct ri_population *population, const struct ri_layout *layout,
			 struct ri_gaps *gaps)
{
	uint8_t *has_objects = ri_calloc(population->type_count, 1);
	const char *described = NULL;
	size_t described_count = 0;

	for (size_t i = 0; i < population->object_count; i++)
		has_objects[population->objects[i].type] = 1;
	for (size_t i = 0; i < population->type_count; i++) {
		const struct ri_counted_type *type = &population->types[i];

		if (!has_objects[i] || type->type || type->has_owners)
			continue;
		if (layout->conventions.items[type->convention].descriptor.meta.is_present) {
			described = described ? described : type->name;
			described_count++;
			continue;
		}
		ri_gaps_add(gaps, RI_GAP_MATTERS, "census",
			    "no debug information and no field table for '%s': early "
			    "frees (deficit) cannot be told",
			    type->name);
	}
	if (described_count)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "census",
			    "no debug information for the objects of %zu types that describe "
			    "themselves ('%s' the first): early frees (deficit) of what they alone "
			    "hold cannot be told", described_count, described);
	free(has_objects);
}

/* Remnants are left out of the checks; how many must be seen. */
static void tell_remnants(const struct ri_population *population, struct ri_gaps *gaps)
{
	size_t count = 0;

	for (size_t i = 0; i < population->object_count; i++)
		count += (population->objects[i].state &
			  (RI_OBJECT_REMNANT | RI_OBJECT_IGNORE)) == RI_OBJECT_REMNANT;
	if (count)
		ri_gaps_add(gaps, RI_GAP_TOLD, "census",
			    "%zu places that look like an object were taken for remnants of freed "
			    "ones in blocks of another use, and not checked",
			    count);
}

struct ri_population *ri_population_create(const struct ri_target *target,
					   const struct ri_modules *modules,
					   struct ri_types *types, const struct ri_heap *heap,
					   const struct ri_layout *layout,
					   const struct ri_lost *lost, struct ri_shapes *shapes,
					   struct ri_gaps *gaps)
{
	struct ri_population *population = ri_calloc(1, sizeof(*population));
	struct ri_finder finder = {
		.target = target,
		.modules = modules,
		.dwarf = types,
		.heap = heap,
		.layout = layout,
		.shapes = shapes,
		.gaps = gaps,
		.lost = lost,
	};
	struct ri_traversal *traversal;
	struct ri_groups *groups;
	ri_local_start_list local_starts = { 0 };
	bool is_new = true;

	ri_finder_init(&finder);
	ri_sweep(&finder);
	ri_descriptors_read_owners(&finder);
	groups = ri_groups_create(&finder);
	traversal = ri_traversal_create(&finder);
	ri_assumed_apply(&finder, traversal);
	ri_traversal_variables(traversal);
	ri_local_starts_list(&finder, &local_starts);
	for (size_t i = 0; lost && i < lost->objects.count; i++) {
		const struct ri_lost_object *object = &lost->objects.items[i];

		if (!ri_lost_is_stale(lost, object->addr))
			ri_finder_add(&finder, object->addr, object->type, RI_FOUND_CONTENT);
	}
	while (is_new) {
		is_new = ri_traversal_run(traversal);
		is_new |= ri_groups_run(groups);
		if (!is_new)
			is_new = ri_groups_look_again(groups) ||
				 ri_traversal_settle(traversal) ||
				 ri_local_starts_add(&finder, &local_starts) ||
				 ri_traversal_guess(traversal);
	}
	ri_descriptors_read_owners(&finder);
	ri_traversal_destroy(traversal);
	ri_vec_deinit(&local_starts);
	finish(&finder, groups, population);
	tell_untyped(population, layout, gaps);
	tell_remnants(population, gaps);
	ri_groups_destroy(groups);
	ri_finder_deinit(&finder);
	return population;
}

void ri_population_destroy(struct ri_population *population)
{
	if (!population)
		return;
	for (size_t i = 0; i < population->owner_table_count; i++)
		free(population->owner_tables[i]);
	free(population->owner_tables);
	free(population->types);
	free(population->objects);
	free(population->extra_words);
	free(population->groups);
	free(population->memberships);
	free(population->member_of_first);
	free(population->member_of);
	free(population->breaks);
	free(population->foreign_nodes);
	free(population->rivals);
	free(population->unproved);
	free(population->back_group);
	free(population->back_pointer);
	free(population->typed_blocks);
	free(population->unused);
	ri_span_index_destroy(population->index);
	free(population);
}

/*
 * Look-up
 */

uint32_t ri_population_find(const struct ri_population *population, uint64_t addr)
{
	uint32_t i = ri_span_index_find(population->index, addr);

	if (i == RI_SPAN_NONE)
		return RI_NONE;
	while (ri_object_start(population, &population->objects[i]) > addr)
		if (!i--)
			return RI_NONE;
	while (i != RI_NONE && ri_object_end(population, &population->objects[i]) <= addr)
		i = population->objects[i].parent;
	return i;
}

uint64_t ri_object_start(const struct ri_population *population, const struct ri_object *object)
{
	return ri_extents_object_start(population, object);
}

uint64_t ri_object_end(const struct ri_population *population, const struct ri_object *object)
{
	return ri_extents_object_end(population, object);
}

uint64_t ri_object_header(const struct ri_population *population, const struct ri_object *object)
{
	return ri_extents_object_header(population, object);
}
