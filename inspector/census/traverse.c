/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The traversal: typed pointers followed from static and thread-local variables,
 * through objects and through plain blocks, which get their type from what points at
 * them.
 *
 * A pointer to a counted struct leads to an object if the block it points into
 * fits; one into a freed block leads to a freed object if its holder is sound
 * itself (pointees.c).  A pointer to a plain struct gives the block that type; a
 * pointer to pointers makes the block an array named after the holder
 * (typed_blocks.c).  Not followed: void pointers that no field table declares,
 * unions whose arms disagree, pointers into the middle of blocks, and link words
 * (groups.c walks those with more care: a link type repeated over a block would
 * swallow its fields).
 *
 * Each object and block is examined once.  Pointers to counted structs, which
 * are most of them and hit memory at random, are queued and looked up in
 * batches with prefetching.  What to do with an element of a shape is planned once
 * (traverse_plans.c); what it embeds (counted structs, group heads) is added on the
 * way (traverse_nested.c).
 */
#include "census/traverse_private.h"

#include <stdlib.h>

#include "census/type_walk.h"
#include "debug/types.h"

#define BATCH 256
#define LOWEST_ADDRESS 4096

struct pending {
	uint64_t value;
	struct ri_pointer_place place;
	uint32_t convention;      /* of the holder, for words that a field table declares */
	bool is_sound;            /* the holder is */
	bool is_plausible;        /* see struct element */
};

typedef RI_VEC(struct ri_variable) variable_list;

struct ri_traversal {
	struct ri_finder *finder;
	uint64_t *pools;          /* while guesses are examined */
	size_t guessed_count;     /* of finder->objects: looked at as guesses */
	RI_VEC(uint32_t) blocks_to_do; /* indices into finder->typed */
	ri_plan_list plans;
	struct pending queue[BATCH];
	size_t queued;
	RI_VEC(struct pending) doubtful; /* from unsound places, to be followed last */
	RI_VEC(struct pending) contests; /* to blocks in which a magic shows something else */
};

struct ri_traversal *ri_traversal_create(struct ri_finder *finder)
{
	struct ri_traversal *traversal = ri_calloc(1, sizeof(*traversal));

	traversal->finder = finder;
	return traversal;
}

void ri_traversal_destroy(struct ri_traversal *traversal)
{
	if (!traversal)
		return;
	ri_plans_deinit(&traversal->plans);
	ri_vec_deinit(&traversal->blocks_to_do);
	ri_vec_deinit(&traversal->doubtful);
	ri_vec_deinit(&traversal->contests);
	free(traversal);
}

void ri_traversal_add_block(struct ri_traversal *traversal, uint32_t typed)
{
	*ri_push(&traversal->blocks_to_do) = typed;
}

/*
 * Pointers to counted structs
 */

static uint64_t header_of(const struct ri_finder *finder, const struct pending *p)
{
	return p->value + (uint64_t)finder->types.items[p->place.slot->pointee_type].header_offset;
}

/* Whether the pointer vouches for what it leads to.  To objects that describe themselves only
 * one that is declared to own does: there is no telling what others were left from. */
static bool is_voucher(const struct ri_finder *finder, const struct pending *p)
{
	const struct ri_holder_class *class =
		&finder->shapes->classes.items[p->place.slot->class_index];
	uint32_t convention;

	if (!p->is_sound || p->place.slot->pointee_type == RI_NONE)
		return p->is_sound;
	convention = finder->types.items[p->place.slot->pointee_type].convention;
	return !finder->layout->conventions.items[convention].descriptor.meta.is_present ||
	       (class->is_declared && !class->is_possible && class->weight > 0);
}

/* What an unknown pointee is.  A place that is in doubt may vouch for no magic and no
 * freed object, and what has no magic at all is a guess, to be made last. */
static void recognise(struct ri_traversal *t, const struct pending *p, bool is_last)
{
	struct ri_finder *finder = t->finder;
	uint32_t type = p->place.slot->pointee_type;

	if (type == RI_NONE && p->is_sound)
		ri_pointee_owned(finder, p->value, p->convention);
	else if (type != RI_NONE && (p->is_sound || is_last))
		ri_pointee_counted(finder, p->value, type, is_voucher(finder, p));
	else if (type != RI_NONE && !ri_pointee_by_magic(finder, p->value, type))
		*ri_push(&t->doubtful) = *p;
}

/* The object of the sweep that it points at, or RI_NONE: look_up() sees. */
static uint32_t glance(const struct ri_traversal *t, const struct pending *p)
{
	const struct ri_finder *finder = t->finder;
	uint32_t type = p->place.slot->pointee_type;

	return type == RI_NONE ? RI_NONE
			       : ri_finder_glance(finder, header_of(finder, p),
						  finder->types.items[type].convention);
}

/* `object` is what glance() gave. */
static void look_up(struct ri_traversal *t, const struct pending *p, uint32_t object)
{
	struct ri_finder *finder = t->finder;
	uint32_t type = p->place.slot->pointee_type;

	if (object == RI_NONE && type != RI_NONE)
		object = ri_finder_find(finder, header_of(finder, p),
					finder->types.items[type].convention);
	if (object == RI_NONE)
		recognise(t, p, false);
	else if (p->is_sound)
		ri_finder_point_at(finder, object, type);
	else if (p->is_plausible && !ri_finder_is_confirmed(finder, object) &&
		 !ri_is_remnant(finder, &finder->objects.items[object], t->pools))
		ri_finder_confirm(finder, object, RI_NONE, RI_FOUND_HINT);
}

/* What a pointer to a plain struct or to pointers says of its block. */
static void claim_block(struct ri_traversal *t, const struct pending *p)
{
	uint32_t block;

	if (ri_typed_block_is_taken(t->finder, p->value)) {
		if (p->is_sound)
			*ri_push(&t->contests) = *p;
		return;
	}
	block = ri_typed_block_claim(t->finder, p->value, &p->place, p->is_sound);
	if (block != RI_NONE)
		*ri_push(&t->blocks_to_do) = block;
}

/* Whether the pointer is followed by looking up an object, rather than a block. */
static bool leads_to_objects(const struct ri_slot *slot)
{
	return slot->kind != RI_SLOT_POINTER_ARRAY &&
	       (slot->pointee_type != RI_NONE || slot->kind == RI_SLOT_VOID_POINTER);
}

static bool leads_to_numbers(const struct ri_traversal *t, const struct ri_slot *slot)
{
	return slot->is_to_numbers && !ri_plan_is_declared_owner(t->finder->shapes, slot);
}

/* Looks the queued pointers up, in two steps that each find in the cache what they read: the
 * records of the index were prefetched when the pointers were queued, the objects in the
 * first step, but for those that the bits alone are about. */
static void flush(struct ri_traversal *t)
{
	const struct ri_finder *finder = t->finder;
	uint32_t objects[BATCH];
	size_t queued = t->queued;

	t->queued = 0;
	for (size_t i = 0; i < queued; i++) {
		objects[i] = glance(t, &t->queue[i]);
		if (objects[i] != RI_NONE && !ri_finder_is_pointed_at(finder, objects[i]))
			__builtin_prefetch(&finder->objects.items[objects[i]]);
	}
	for (size_t i = 0; i < queued; i++)
		look_up(t, &t->queue[i], objects[i]);
}

static void queue(struct ri_traversal *t, const struct pending *pending)
{
	if (pending->place.slot->pointee_type != RI_NONE)
		ri_span_index_prefetch(t->finder->headers, header_of(t->finder, pending));
	else if (t->finder->heap->index)
		ri_span_index_prefetch(t->finder->heap->index, pending->value);
	t->queue[t->queued++] = *pending;
	if (t->queued == BATCH)
		flush(t);
}

/*
 * Elements
 */

/* One element of a shape, wherever it lies. */
struct element {
	uint32_t shape;
	uint64_t addr;
	const struct ri_type *type; /* its struct, or null; `type_offset` in it */
	uint64_t type_offset;
	uint32_t object;            /* or RI_NONE */
	uint32_t convention;        /* of an object; RI_NONE: it is none */
	bool is_sound;              /* what it holds is certain */
	bool is_plausible;          /* its magic alone tells it, and its looks hold together: what
				     * it says of blocks counts, and of what has a magic itself;
				     * it finds no other objects */
};

static void follow(struct ri_traversal *t, const struct element *element, uint64_t value,
		   const struct ri_slot *slot)
{
	const struct pending pending = {
		.value = value,
		.place = { slot, element->addr, element->type, element->type_offset },
		.convention = element->convention,
		.is_sound = element->is_sound || (element->is_plausible && !leads_to_objects(slot)),
		.is_plausible = element->is_plausible,
	};

	if (leads_to_numbers(t, slot)) {
		if (pending.is_sound)
			ri_typed_block_contest(t->finder, value);
	} else if (leads_to_objects(slot)) {
		queue(t, &pending);
	} else if (pending.is_sound) {
		claim_block(t, &pending);
	} else {
		*ri_push(&t->doubtful) = pending;
	}
}

static void follow_slots(struct ri_traversal *t, const struct ri_plan *plan,
			 const struct element *element)
{
	/* shapes may move while a pointer is followed, their slots stay */
	const struct ri_slot *slots = t->finder->shapes->shapes.items[element->shape].slots;

	for (size_t i = 0; i < plan->slot_count; i++) {
		const struct ri_slot *slot = &slots[plan->slots[i]];
		uint64_t value;

		if (ri_reader_u64(&t->finder->reader, element->addr + slot->offset_bytes,
				  &value) &&
		    value >= LOWEST_ADDRESS)
			follow(t, element, value, slot);
	}
}

/* Elements [first, end) of a variable. */
static void examine_elements(struct ri_traversal *t, const struct ri_variable *variable,
			     struct element *element, bool is_array, uint64_t first, uint64_t end)
{
	struct ri_finder *finder = t->finder;
	const struct ri_plan *plan = ri_plan_of(finder, &t->plans, element->shape, element->type);

	if (!plan->slot_count && !plan->nested.count)
		return;
	for (uint64_t i = first; i < end; i++) {
		const char *prefix = variable->name;

		element->addr = variable->addr + i * element->type->size_bytes;
		if (plan->nested.count && is_array)
			prefix = ri_strings_format(finder->shapes->strings, "%s[%llu]", prefix,
						   (unsigned long long)i);
		ri_plan_add_nested(finder, plan, element->addr, prefix, true, RI_FOUND_VARIABLE);
		follow_slots(t, plan, element);
	}
}

/* A variable may lie in several ranges: the pages that a program's file has, those
 * behind them, and those that were never touched, which are left out. */
static void examine_variable(struct ri_traversal *t, const struct ri_variable *variable)
{
	struct ri_finder *finder = t->finder;
	const struct ri_type *type = ri_type_bare(finder->dwarf, variable->type);
	struct element element = { .type = type, .object = RI_NONE, .convention = RI_NONE,
				   .is_sound = true };
	bool is_array = type && type->kind == RI_TYPE_ARRAY;
	uint64_t count = 1, done = 0, size, end;

	if (is_array) {
		element.type = ri_type_below(finder->dwarf, type);
		count = type->element_count;
	}
	if (!element.type || element.type->size_bytes < 8 ||
	    count > (UINT64_MAX - variable->addr) / element.type->size_bytes)
		return;
	size = element.type->size_bytes;
	end = variable->addr + count * size;
	element.shape = ri_shapes_shape(finder->shapes, variable->type, variable->name,
					RI_CLASS_VARIABLE);
	for (uint64_t at = variable->addr; at < end;) {
		const struct ri_range *range = ri_image_find(finder->image, at);
		uint64_t until;

		if (!range)
			return;
		until = range->end < end ? (range->end - variable->addr + size - 1) / size : count;
		if (range->bytes) {
			uint64_t first = (at - variable->addr) / size;

			examine_elements(t, variable, &element, is_array,
					 first > done ? first : done, until);
			done = until;
		}
		at = range->end;
	}
}

static bool collect_variable(const struct ri_variable *variable, void *data)
{
	variable_list *list = data;

	*ri_push(list) = *variable;
	return true;
}

void ri_traversal_variables(struct ri_traversal *traversal)
{
	variable_list list = { 0 };

	if (!traversal->finder->dwarf)
		return;
	ri_types_each_variable(traversal->finder->dwarf, collect_variable, &list);
	ri_types_each_thread_variable(traversal->finder->dwarf, collect_variable, &list);
	for (size_t i = 0; i < list.count; i++)
		examine_variable(traversal, &list.items[i]);
	flush(traversal);
	ri_vec_deinit(&list);
}

/* The tables of references that words of a self-describing object lead to. */
static void follow_tables(struct ri_traversal *t, const struct ri_object *object)
{
	struct ri_finder *finder = t->finder;
	const struct ri_counted_type *type = &finder->types.items[object->type];
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	uint64_t header = ri_finder_header(finder, object);
	uint32_t block;

	for (size_t i = 0; type->descriptor && i < c->descriptor.table_count; i++) {
		int64_t offset = c->descriptor.tables[i];
		uint64_t value;
		const char *name;

		if (offset < 0 && type->front_bytes + (uint64_t)type->header_offset <
					  (uint64_t)-offset)
			continue;
		if (!ri_reader_u64(&finder->reader, header + (uint64_t)offset, &value) ||
		    value < LOWEST_ADDRESS)
			continue;
		name = ri_strings_format(finder->shapes->strings, "%s.(table)[]", type->name);
		block = ri_typed_block_table(finder, value & ~7ull, name, c->type);
		if (block != RI_NONE)
			*ri_push(&t->blocks_to_do) = block;
	}
}

/* `is_plausible`: see struct element. */
static void examine_object(struct ri_traversal *t, uint32_t index, bool is_plausible)
{
	struct ri_finder *finder = t->finder;
	const struct ri_object object = finder->objects.items[index];
	const struct ri_counted_type *type = &finder->types.items[object.type];
	struct element element = {
		.type = type->type,
		.type_offset = type->front_bytes,
		.object = index,
		.convention = type->convention,
		.addr = ri_type_start(type, object.addr),
		.is_plausible = is_plausible,
	};
	bool is_sure = ri_finder_is_confirmed(finder, index);
	const struct ri_plan *plan;
	enum ri_magic_state magic;

	if (object.block != RI_NONE && finder->heap->blocks[object.block].state == RI_BLOCK_FREE)
		return;
	follow_tables(t, &object);
	type = &finder->types.items[object.type];
	if (!type->type && !type->has_owners)
		return;
	element.shape = ri_shapes_counted(finder->shapes, type, object.type);
	plan = ri_plan_of_counted(t->finder, &t->plans, element.shape, object.type);
	if (!plan->slot_count && !plan->nested.count)
		return;
	magic = ri_finder_magic(finder, type->convention, ri_finder_header(finder, &object),
				object.type);
	element.is_sound = (magic == RI_MAGIC_LIVE || magic == RI_MAGIC_NONE) && is_sure;
	if (is_sure || is_plausible)
		ri_plan_add_nested(finder, plan, element.addr, type->name, false,
				   RI_FOUND_EMBEDDED);
	follow_slots(t, plan, &element);
}

static void examine_block(struct ri_traversal *t, uint32_t index)
{
	struct ri_finder *finder = t->finder;
	const struct ri_typed_block typed = finder->typed.items[index];
	const struct ri_shape shape = finder->shapes->shapes.items[typed.shape];
	const struct ri_block *block = &finder->heap->blocks[typed.block];
	bool is_array = ri_typed_block_is_array(finder, typed.shape);
	struct element element = {
		.shape = typed.shape,
		.type = is_array ? NULL : shape.type,
		.object = RI_NONE,
		.convention = RI_NONE,
	};
	const struct ri_plan *plan = ri_plan_of(t->finder, &t->plans, typed.shape, element.type);
	uint64_t count = block->size_bytes / shape.element_bytes;

	if (!is_array && !typed.is_exact)
		count = 1;
	if (!plan->slot_count && !plan->nested.count)
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t offset = i * shape.element_bytes;

		bool is_spare = offset >= block->size_bytes - typed.spare_bytes;

		if (offset < typed.lead_bytes)
			continue;
		if (is_spare && typed.is_spare_dead)
			break;
		element.addr = block->addr + offset;
		element.is_sound = typed.is_exact && !is_spare;
		if (element.is_sound)
			ri_plan_add_nested(finder, plan, element.addr, shape.name, false,
					   RI_FOUND_POINTER);
		else if (typed.is_exact && offset + shape.element_bytes <= block->size_bytes)
			ri_plan_add_heads_beyond(finder, plan, element.addr, shape.name);
		follow_slots(t, plan, &element);
	}
}

/* Objects that nothing but their looks tells are passed over; those that more speaks for
 * later are handed back by the finder. */
static bool examine_objects(struct ri_traversal *t)
{
	struct ri_finder *finder = t->finder;
	bool any = false;

	while (finder->examined_count < finder->objects.count) {
		uint32_t object = (uint32_t)finder->examined_count++;

		if (!ri_finder_is_confirmed(finder, object))
			continue;
		examine_object(t, object, false);
		any = true;
	}
	while (finder->confirmed.count) {
		examine_object(t, finder->confirmed.items[--finder->confirmed.count], false);
		any = true;
	}
	return any;
}

bool ri_traversal_run(struct ri_traversal *traversal)
{
	struct ri_finder *finder = traversal->finder;
	bool any = false;

	do {
		while (traversal->blocks_to_do.count) {
			uint32_t block =
				traversal->blocks_to_do.items[--traversal->blocks_to_do.count];

			examine_block(traversal, block);
			any = true;
		}
		any |= examine_objects(traversal);
		flush(traversal);
	} while (traversal->blocks_to_do.count || finder->confirmed.count ||
		 finder->examined_count < finder->objects.count);
	return any;
}

#define SURE_OBJECT (RI_NONE - 1)

/* Per block: SURE_OBJECT, or an object at its start that its magic alone tells, or RI_NONE. */
static uint32_t *list_block_objects(const struct ri_finder *finder)
{
	uint32_t *list = ri_malloc(finder->heap->block_count * sizeof(*list));

	for (size_t b = 0; b < finder->heap->block_count; b++)
		list[b] = RI_NONE;
	for (uint32_t o = 0; o < finder->objects.count; o++) {
		const struct ri_object *object = &finder->objects.items[o];
		uint32_t block = object->block;

		if (block == RI_NONE || list[block] == SURE_OBJECT)
			continue;
		if (ri_finder_is_confirmed(finder, o))
			list[block] = SURE_OBJECT;
		else if (ri_type_start(&finder->types.items[object->type], object->addr) ==
			 finder->heap->blocks[block].addr)
			list[block] = o;
	}
	return list;
}

bool ri_traversal_settle(struct ri_traversal *traversal)
{
	struct ri_finder *finder = traversal->finder;
	size_t count = traversal->contests.count;
	uint32_t *objects;

	if (!count)
		return false;
	objects = list_block_objects(finder);
	for (size_t i = 0; i < count; i++) {
		const struct pending *p = &traversal->contests.items[i];
		uint32_t block = ri_finder_block(finder, p->value);

		if (objects[block] == SURE_OBJECT)
			continue;
		block = ri_typed_block_take(finder, p->value, &p->place, objects[block]);
		if (block != RI_NONE)
			*ri_push(&traversal->blocks_to_do) = block;
	}
	traversal->contests.count = 0;
	free(objects);
	return traversal->blocks_to_do.count > 0;
}

/* Objects that nothing else was found to speak for. */
static bool examine_guesses(struct ri_traversal *t)
{
	struct ri_finder *finder = t->finder;
	bool any = false;

	if (t->guessed_count == finder->objects.count)
		return false;
	t->pools = ri_pools_create(finder);
	for (; t->guessed_count < finder->objects.count; t->guessed_count++) {
		uint32_t i = (uint32_t)t->guessed_count;
		const struct ri_object *object = &finder->objects.items[i];

		if (ri_finder_is_confirmed(finder, i))
			continue;
		examine_object(t, i, object->found != RI_FOUND_GUESS &&
					     !ri_is_remnant(finder, object, t->pools));
		any = true;
	}
	flush(t);
	ri_pools_destroy(finder, t->pools);
	t->pools = NULL;
	return any;
}

static bool follow_doubtful(struct ri_traversal *t)
{
	size_t count = t->doubtful.count;

	for (size_t i = 0; i < count; i++) {
		const struct pending p = t->doubtful.items[i];

		if (leads_to_objects(p.place.slot))
			recognise(t, &p, true);
		else
			claim_block(t, &p);
	}
	t->doubtful.count = 0;
	return count > 0;
}

bool ri_traversal_guess(struct ri_traversal *traversal)
{
	return examine_guesses(traversal) || follow_doubtful(traversal);
}
