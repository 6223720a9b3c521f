/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The traversal: typed pointers followed from static variables, through objects
 * and through plain blocks, which get their type from what points at them.
 *
 * A pointer to a counted struct leads to an object if the block it points into
 * fits; one into a freed block leads to a freed object if its holder is sound
 * itself.  A pointer to a plain struct gives the block that type; a pointer to
 * pointers makes the block an array named after the holder ("table.slots[]").
 * Not followed: void pointers, unions whose arms disagree, pointers into the
 * middle of blocks, and link words (groups.c walks those with more care: a link
 * type repeated over a block would swallow its fields).
 *
 * Where two pointers claim one block for different types, the one that fits and
 * says more wins, and on a tie the block's holders are no longer certain.
 *
 * Each object and block is examined once.  Pointers to counted structs, which
 * are most of them and hit memory at random, are queued and looked up in
 * batches with prefetching.  What variables, objects and blocks embed (counted
 * structs, group heads) is found on the way.
 */
#include "census/finder.h"

#include <stdlib.h>

#include "census/nested.h"
#include "census/type_walk.h"
#include "debug/types.h"

#define BATCH 256
#define LINK_TYPE_MAX_BYTES 32
#define FREE_OVERWRITTEN_BYTES 16 /* glibc's next and key words in a freed chunk */
#define TAIL_SLACK_WORDS 2        /* at a block's end, beyond what was asked for */
#define LOWEST_ADDRESS 4096

/* What to do with an element of a shape. */
struct plan {
	bool is_made;
	uint32_t *slots;          /* those to follow */
	size_t slot_count, slot_capacity;
	ri_nested_list nested;
};

struct pending {
	uint64_t value;
	const struct ri_slot *slot;
	uint32_t candidate;       /* of the first look-up */
	bool is_sound;            /* the holder is */
};

typedef RI_VEC(struct ri_variable) variable_list;

struct ri_traversal {
	struct ri_finder *finder;
	size_t objects_done;
	RI_VEC(uint32_t) blocks_to_do; /* indices into finder->typed */
	RI_VEC(struct plan) plans;     /* by shape */
	struct pending queue[BATCH];
	size_t queued;
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
	for (size_t i = 0; i < traversal->plans.count; i++) {
		free(traversal->plans.items[i].slots);
		ri_vec_deinit(&traversal->plans.items[i].nested);
	}
	ri_vec_deinit(&traversal->plans);
	ri_vec_deinit(&traversal->blocks_to_do);
	free(traversal);
}

/*
 * Plans
 */

static void list_slots(struct plan *plan, const struct ri_shape *shape)
{
	for (size_t i = 0; i < shape->slot_count; i++) {
		if (shape->slots[i].in_union || (shape->slots[i].kind != RI_SLOT_POINTER &&
						 shape->slots[i].kind != RI_SLOT_POINTER_ARRAY))
			continue;
		plan->slots = ri_grow(plan->slots, &plan->slot_capacity, plan->slot_count + 1,
				      sizeof(*plan->slots));
		plan->slots[plan->slot_count++] = (uint32_t)i;
	}
}

/* The plan of a shape, to be filled if it was not made before. */
static struct plan *get_plan(struct ri_traversal *t, uint32_t shape, bool *ret_is_made)
{
	struct plan *plan;

	while (t->plans.count <= shape)
		ri_push(&t->plans);
	plan = &t->plans.items[shape];
	*ret_is_made = plan->is_made;
	if (!plan->is_made)
		list_slots(plan, &t->finder->shapes->shapes.items[shape]);
	plan->is_made = true;
	return plan;
}

/* The plan of a shape whose elements are of `type`; null: of no struct. */
static const struct plan *plan_of(struct ri_traversal *t, uint32_t shape,
				  const struct ri_type *type)
{
	bool is_made;
	struct plan *plan = get_plan(t, shape, &is_made);

	if (!is_made && type)
		ri_nested_find(t->finder->shapes, type, 0, &plan->nested);
	return plan;
}

/* The plan of a counted type: what it embeds has other headers than its own. */
static const struct plan *plan_of_counted(struct ri_traversal *t, uint32_t shape, uint32_t index)
{
	struct ri_finder *finder = t->finder;
	const struct ri_counted_type *type = &finder->types.items[index];
	int64_t own_header = (int64_t)type->front_bytes + type->header_offset;
	ri_nested_list all = { 0 };
	bool is_made;
	struct plan *plan = get_plan(t, shape, &is_made);

	if (is_made)
		return plan;
	for (uint32_t i = 0; i < finder->types.count; i++)
		if (finder->types.items[i].container == index) {
			struct ri_nested *second = ri_push(&plan->nested);

			second->index = i;
			second->offset_bytes =
				type->front_bytes + finder->types.items[i].container_offset;
			second->count = 1;
			second->path = "";
		}
	ri_nested_find(finder->shapes, type->type, type->front_bytes, &all);
	for (size_t i = 0; i < all.count; i++) {
		const struct ri_nested *nested = &all.items[i];

		if (nested->is_head ||
		    (int64_t)nested->offset_bytes +
				    finder->types.items[nested->index].header_offset !=
			    own_header)
			*ri_push(&plan->nested) = *nested;
	}
	ri_vec_deinit(&all);
	return plan;
}

/*
 * Pointers to counted structs
 */

static bool has_flexible_tail(struct ri_finder *finder, const struct ri_type *type)
{
	const struct ri_type *last;

	if (!type || !type->member_count)
		return false;
	last = ri_type_bare(finder->dwarf, type->members[type->member_count - 1].type);
	return last && last->kind == RI_TYPE_ARRAY && !last->element_count;
}

/* The magic of a header whose block is free: NONE where the allocator has
 * written over it. */
static bool may_have_been(struct ri_finder *finder, const struct ri_counted_type *type,
			  uint64_t header, const struct ri_block *block)
{
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];
	enum ri_magic_state magic;
	bool is_at_start = ri_type_start(type, header - (uint64_t)type->header_offset) ==
			   block->addr;

	magic = ri_finder_magic(finder, type->convention, header, RI_NONE);
	if (magic == RI_MAGIC_LIVE || magic == RI_MAGIC_DEAD)
		return true;
	if (magic == RI_MAGIC_NONE)
		return is_at_start;
	return is_at_start && ri_finder_fits(type->extent_bytes, block->size_bytes) &&
	       header + (uint64_t)c->magics[0].field.offset_bytes <
		       block->addr + FREE_OVERWRITTEN_BYTES;
}

/* The type of the object that a pointer to `type` leads to in a used block:
 * that one, or the only one that embeds it there; RI_NONE if it is none or
 * cannot be told.  A magic that is bad needs a sound holder to vouch for it. */
static uint32_t type_in_used_block(struct ri_finder *finder, uint32_t type, uint64_t header,
				   uint32_t block, bool is_sound)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_block *b = &finder->heap->blocks[block];
	uint64_t start = ri_type_start(t, header - (uint64_t)t->header_offset);
	enum ri_magic_state magic = ri_finder_magic(finder, t->convention, header, RI_NONE);
	bool is_inside = ri_finder_inside(finder, type, header, block);

	if (magic == RI_MAGIC_BAD && !is_sound)
		return RI_NONE;
	if (is_inside && start == b->addr &&
	    (ri_finder_fits(t->extent_bytes, b->size_bytes) ||
	     has_flexible_tail(finder, t->type)))
		return type;
	if (magic == RI_MAGIC_BAD)
		return RI_NONE;
	if (is_inside && magic == RI_MAGIC_LIVE)
		return type;
	return ri_finder_decide(finder, t->convention, header, block);
}

static void follow_counted(struct ri_finder *finder, uint64_t value, uint32_t type, bool is_sound)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	uint64_t header = value + (uint64_t)t->header_offset;
	uint32_t block = ri_finder_block(finder, value), found = RI_NONE;

	if (block == RI_NONE)
		return;
	switch (finder->heap->blocks[block].state) {
	case RI_BLOCK_USED:
		found = type_in_used_block(finder, type, header, block, is_sound);
		break;
	case RI_BLOCK_FREE:
		if (is_sound && ri_finder_inside(finder, type, header, block) &&
		    may_have_been(finder, t, header, &finder->heap->blocks[block]))
			found = type;
		break;
	case RI_BLOCK_UNKNOWN:
		if (ri_finder_magic(finder, t->convention, header, RI_NONE) == RI_MAGIC_LIVE &&
		    ri_finder_inside(finder, type, header, block))
			found = type;
		break;
	default:
		break;
	}
	if (found != RI_NONE)
		ri_finder_add(finder,
			      header - (uint64_t)finder->types.items[found].header_offset, found,
			      RI_FOUND_POINTER);
}

/* Looks the queued pointers up: known objects in a first, cheap pass. */
static void flush(struct ri_traversal *t)
{
	struct ri_finder *finder = t->finder;
	size_t queued = t->queued;

	t->queued = 0;
	for (size_t i = 0; i < queued; i++) {
		struct pending *p = &t->queue[i];
		const struct ri_counted_type *type = &finder->types.items[p->slot->pointee_type];

		p->candidate = ri_span_index_find(finder->headers,
						  p->value + (uint64_t)type->header_offset);
		if (p->candidate != RI_SPAN_NONE)
			__builtin_prefetch(&finder->objects.items[p->candidate], 1);
	}
	for (size_t i = 0; i < queued; i++) {
		const struct pending *p = &t->queue[i];
		const struct ri_counted_type *type = &finder->types.items[p->slot->pointee_type];
		uint64_t header = p->value + (uint64_t)type->header_offset;
		uint32_t object = p->candidate;

		if (object == RI_SPAN_NONE ||
		    finder->objects.items[object].addr != p->value ||
		    finder->objects.items[object].type != p->slot->pointee_type)
			object = ri_finder_find(finder, header, type->convention);
		if (object == RI_NONE)
			follow_counted(finder, p->value, p->slot->pointee_type, p->is_sound);
		else if (!(finder->objects.items[object].found & RI_FOUND_POINTER))
			finder->objects.items[object].found |= RI_FOUND_POINTER;
	}
}

static void queue(struct ri_traversal *t, uint64_t value, const struct ri_slot *slot, bool is_sound)
{
	const struct ri_counted_type *type = &t->finder->types.items[slot->pointee_type];

	ri_span_index_prefetch(t->finder->headers, value + (uint64_t)type->header_offset);
	t->queue[t->queued++] = (struct pending){
		.value = value,
		.slot = slot,
		.is_sound = is_sound,
	};
	if (t->queued == BATCH)
		flush(t);
}

/*
 * Plain blocks
 */

/* How much a shape says about a block: a struct that fits, a struct, an array of
 * typed pointers, an array of any pointers. */
static unsigned rank_of(const struct ri_finder *finder, uint32_t shape, bool is_exact)
{
	const struct ri_shape *s = &finder->shapes->shapes.items[shape];
	bool is_array = s->slot_count == 1 && s->element_bytes == 8 &&
			finder->shapes->classes.items[s->slots->class_index].kind ==
				RI_CLASS_ARRAY;

	if (is_array)
		return s->slots->kind == RI_SLOT_VOID_POINTER ? 0 : 1;
	return is_exact ? 3 : 2;
}

static void claim_block(struct ri_traversal *t, uint32_t block, uint32_t shape, bool is_exact)
{
	struct ri_finder *finder = t->finder;
	uint32_t use = finder->block_use[block];
	struct ri_typed_block *typed;
	unsigned old, new;

	if (use == RI_BLOCK_HAS_OBJECT)
		return;
	if (!use) {
		typed = ri_push(&finder->typed);
		typed->block = block;
		typed->shape = shape;
		typed->is_exact = is_exact;
		finder->block_use[block] = (uint32_t)finder->typed.count;
		*ri_push(&t->blocks_to_do) = (uint32_t)finder->typed.count - 1;
		return;
	}
	typed = &finder->typed.items[use - 1];
	if (typed->shape == shape)
		return;
	old = rank_of(finder, typed->shape, typed->is_exact);
	new = rank_of(finder, shape, is_exact);
	if (new == old)
		typed->is_exact = false;
	if (new <= old)
		return;
	typed->shape = shape;
	typed->is_exact = is_exact;
	*ri_push(&t->blocks_to_do) = use - 1;
}

static bool is_mapped(struct ri_finder *finder, uint64_t addr)
{
	return ri_reader_peek(&finder->reader, addr, 1) || ri_image_find(finder->image, addr);
}

/* Whether every word that should be a pointer is null or leads somewhere, for
 * `count` elements at `addr`; `forgiven` words at the end may fail. */
static bool are_pointers(struct ri_finder *finder, const struct ri_shape *shape, uint64_t addr,
			 uint64_t count, uint64_t forgiven)
{
	for (uint64_t i = 0; i < count; i++)
		for (size_t s = 0; s < shape->slot_count; s++) {
			const struct ri_slot *slot = &shape->slots[s];
			uint64_t value;

			if (slot->in_union || slot->kind == RI_SLOT_OTHER ||
			    slot->kind == RI_SLOT_HEADER)
				continue;
			if (!ri_reader_u64(&finder->reader,
					   addr + i * shape->element_bytes + slot->offset_bytes,
					   &value))
				return false;
			if (value && !is_mapped(finder, value) && i + forgiven < count)
				return false;
		}
	return true;
}

/* list_head, hlist_node, rb_node: pointers to itself and no payload. */
static bool is_link_type(struct ri_finder *finder, const struct ri_type *type)
{
	bool has_self = false;

	if (type->size_bytes > LINK_TYPE_MAX_BYTES)
		return false;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_type *member =
			ri_type_bare(finder->dwarf, type->members[i].type);

		if (member && member->kind == RI_TYPE_INT)
			continue;
		while (member && member->kind == RI_TYPE_POINTER) {
			member = ri_type_below(finder->dwarf, member);
			has_self |= ri_types_are_same(member, type);
		}
		if (!ri_types_are_same(member, type))
			return false;
	}
	return has_self;
}

static bool is_exact_array(struct ri_finder *finder, const struct ri_shape *shape, uint64_t addr,
			   uint64_t usable)
{
	uint64_t count = usable / shape->element_bytes;

	return shape->element_bytes % 8 == 0 && count > 1 &&
	       ri_finder_fits(count * shape->element_bytes, usable) &&
	       are_pointers(finder, shape, addr, count, 0);
}

/* The used block that starts at `value`, or RI_NONE. */
static uint32_t used_block_at(const struct ri_finder *finder, uint64_t value)
{
	uint32_t block = ri_finder_block(finder, value);

	if (block == RI_NONE || finder->heap->blocks[block].state != RI_BLOCK_USED ||
	    finder->heap->blocks[block].addr != value)
		return RI_NONE;
	return block;
}

static void follow_plain(struct ri_traversal *t, uint64_t value, const struct ri_slot *slot)
{
	struct ri_finder *finder = t->finder;
	struct ri_shapes *shapes = finder->shapes;
	const struct ri_type *type = slot->pointee;
	uint32_t block = used_block_at(finder, value), shape;
	const char *name = type->name;
	uint64_t usable;
	bool is_exact;

	if (block == RI_NONE || finder->block_use[block] == RI_BLOCK_HAS_OBJECT)
		return;
	usable = finder->heap->blocks[block].size_bytes;
	if (type->size_bytes < 8 || type->size_bytes > usable || is_link_type(finder, type))
		return;
	if (!name)
		name = ri_strings_format(shapes->strings, "%s*",
					 shapes->classes.items[slot->class_index].name);
	shape = ri_shapes_shape(shapes, type, name, RI_CLASS_PLAIN_FIELD);
	is_exact = ri_finder_fits(type->size_bytes, usable) ||
		   (!has_flexible_tail(finder, type) &&
		    is_exact_array(finder, &shapes->shapes.items[shape], value, usable));
	claim_block(t, block, shape, is_exact);
}

static void follow_array(struct ri_traversal *t, uint64_t value, const struct ri_slot *slot)
{
	struct ri_finder *finder = t->finder;
	struct ri_shapes *shapes = finder->shapes;
	uint32_t block = used_block_at(finder, value), shape;
	const struct ri_type *pointee;
	const char *name;
	uint64_t words;

	if (block == RI_NONE || finder->block_use[block] == RI_BLOCK_HAS_OBJECT)
		return;
	pointee = ri_type_below(finder->dwarf, slot->pointee);
	if (pointee && pointee->kind != RI_TYPE_STRUCT && pointee->kind != RI_TYPE_UNION &&
	    pointee->kind != RI_TYPE_POINTER)
		pointee = NULL;
	name = ri_strings_format(shapes->strings, "%s[]",
				 shapes->classes.items[slot->class_index].name);
	shape = ri_shapes_pointer_array(shapes, name, pointee);
	words = finder->heap->blocks[block].size_bytes / 8;
	claim_block(t, block, shape,
		    are_pointers(finder, &shapes->shapes.items[shape], value, words,
				 words > TAIL_SLACK_WORDS ? TAIL_SLACK_WORDS : 0));
}

/*
 * Elements
 */

static void follow(struct ri_traversal *t, uint64_t value, const struct ri_slot *slot,
		   bool is_sound)
{
	if (value < LOWEST_ADDRESS)
		return;
	if (slot->kind == RI_SLOT_POINTER_ARRAY)
		follow_array(t, value, slot);
	else if (slot->pointee_type != RI_NONE)
		queue(t, value, slot, is_sound);
	else if (slot->pointee)
		follow_plain(t, value, slot);
}

static void follow_slots(struct ri_traversal *t, uint32_t shape_index, const struct plan *plan,
			 uint64_t addr, bool is_sound)
{
	const struct ri_slot *slots = t->finder->shapes->shapes.items[shape_index].slots;

	/* shapes may move while a pointer is followed, their slots stay */
	for (size_t i = 0; i < plan->slot_count; i++) {
		const struct ri_slot *slot = &slots[plan->slots[i]];
		uint64_t value;

		if (ri_reader_u64(&t->finder->reader, addr + slot->offset_bytes, &value))
			follow(t, value, slot, is_sound);
	}
}

static bool is_zero(struct ri_finder *finder, uint64_t addr, uint64_t size)
{
	const uint8_t *p = ri_reader_peek(&finder->reader, addr, size);

	for (uint64_t i = 0; p && i < size; i++)
		if (p[i])
			return false;
	return true;
}

/* A counted struct inside something known: an object, unless its header was
 * never initialised. */
static void add_embedded(struct ri_finder *finder, uint32_t type, uint64_t addr, uint32_t found)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
	uint64_t header = addr + (uint64_t)t->header_offset, size;

	size = c->is_header && c->size_bytes ? c->size_bytes : t->size_bytes;
	if (is_zero(finder, header, size))
		return;
	/* static memory starts as zeros; elsewhere it may never have been written */
	if (!(found & RI_FOUND_VARIABLE) &&
	    ri_finder_magic(finder, t->convention, header, type) == RI_MAGIC_BAD &&
	    ri_descriptors_known(finder, t->convention,
				 ri_finder_pointer(finder, header, &c->descriptor.field)) != type)
		return;
	/* an embedded header that an outer type counts through stands for that one */
	if (!(found & RI_FOUND_VARIABLE) &&
	    ri_finder_find(finder, header, t->convention) != RI_NONE)
		return;
	ri_finder_add(finder, addr, type, found);
}

/* The path of a nested head with its own indices in place of "[]". */
static const char *indexed_path(struct ri_finder *finder, const char *path, uint64_t index)
{
	const char *last = NULL, *at = path;

	while ((at = strstr(at, "[]")))
		last = at++;
	if (!last)
		return path;
	return ri_strings_format(finder->shapes->strings, "%.*s[%llu]%s", (int)(last - path), path,
				 (unsigned long long)index, last + 2);
}

static void add_head(struct ri_finder *finder, const struct ri_nested *nested, uint64_t addr,
		     const char *prefix, const char *path)
{
	const struct ri_group_rule *rule = &finder->layout->groups.items[nested->index];
	const struct ri_head head = {
		.rule = nested->index,
		.head = addr + (uint64_t)rule->head_offset,
		.struct_addr = addr,
		.name = *path ? ri_strings_format(finder->shapes->strings, "%s%s", prefix, path)
			      : ri_strings_add(finder->shapes->strings, prefix),
		.is_certain = true,
	};

	ri_finder_add_head(finder, &head);
}

/* Adds what is nested in an element at `addr`.  Heads are called `prefix` and
 * their path, with indices if `is_variable`. */
static void add_nested(struct ri_traversal *t, const struct plan *plan, uint64_t addr,
		       const char *prefix, bool is_variable, uint32_t found)
{
	for (size_t n = 0; n < plan->nested.count; n++) {
		const struct ri_nested *nested = &plan->nested.items[n];

		for (uint64_t i = 0; i < nested->count; i++) {
			uint64_t at = addr + nested->offset_bytes + i * nested->stride_bytes;

			if (!nested->is_head) {
				add_embedded(t->finder, nested->index, at, found);
				continue;
			}
			add_head(t->finder, nested, at, prefix,
				 is_variable ? indexed_path(t->finder, nested->path, i)
					     : nested->path);
		}
	}
}

static void examine_variable(struct ri_traversal *t, const struct ri_variable *variable)
{
	struct ri_finder *finder = t->finder;
	const struct ri_type *type = ri_type_bare(finder->dwarf, variable->type);
	const struct ri_type *element = type;
	uint32_t shape_index;
	const struct plan *plan;
	uint64_t count = 1;

	if (type && type->kind == RI_TYPE_ARRAY) {
		element = ri_type_below(finder->dwarf, type);
		count = type->element_count;
	}
	if (!element || element->size_bytes < 8 || count > UINT64_MAX / element->size_bytes ||
	    !ri_reader_peek(&finder->reader, variable->addr, count * element->size_bytes))
		return;
	shape_index = ri_shapes_shape(finder->shapes, variable->type, variable->name,
				      RI_CLASS_VARIABLE);
	plan = plan_of(t, shape_index, element);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t addr = variable->addr + i * element->size_bytes;
		const char *prefix = variable->name;

		if (plan->nested.count && type->kind == RI_TYPE_ARRAY)
			prefix = ri_strings_format(finder->shapes->strings, "%s[%llu]", prefix,
						   (unsigned long long)i);
		add_nested(t, plan, addr, prefix, true, RI_FOUND_VARIABLE);
		follow_slots(t, shape_index, plan, addr, true);
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
	for (size_t i = 0; i < list.count; i++)
		examine_variable(traversal, &list.items[i]);
	flush(traversal);
	ri_vec_deinit(&list);
}

static void examine_object(struct ri_traversal *t, uint32_t index)
{
	struct ri_finder *finder = t->finder;
	const struct ri_object object = finder->objects.items[index];
	const struct ri_counted_type *type = &finder->types.items[object.type];
	uint64_t header = ri_finder_header(finder, &object);
	uint64_t start = ri_type_start(type, object.addr);
	const struct plan *plan;
	enum ri_magic_state magic;
	uint32_t shape_index;

	if (object.block != RI_NONE && finder->heap->blocks[object.block].state == RI_BLOCK_FREE)
		return;
	if (!type->type)
		return;
	shape_index = ri_shapes_counted(finder->shapes, type, object.type);
	plan = plan_of_counted(t, shape_index, object.type);
	if (!plan->slot_count && !plan->nested.count)
		return;
	magic = ri_finder_magic(finder, type->convention, header, object.type);
	add_nested(t, plan, start, type->name, false, RI_FOUND_EMBEDDED);
	follow_slots(t, shape_index, plan, start,
		     magic == RI_MAGIC_LIVE || magic == RI_MAGIC_NONE);
}

static void examine_block(struct ri_traversal *t, uint32_t index)
{
	struct ri_finder *finder = t->finder;
	const struct ri_typed_block typed = finder->typed.items[index];
	const struct ri_shape shape = finder->shapes->shapes.items[typed.shape];
	const struct ri_block *block = &finder->heap->blocks[typed.block];
	bool is_array = rank_of(finder, typed.shape, typed.is_exact) < 2;
	const struct plan *plan = plan_of(t, typed.shape, is_array ? NULL : shape.type);
	uint64_t count = block->size_bytes / shape.element_bytes;

	if (!is_array && !typed.is_exact)
		count = 1;
	if (!plan->slot_count && !plan->nested.count)
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t addr = block->addr + i * shape.element_bytes;

		if (typed.is_exact)
			add_nested(t, plan, addr, shape.name, false, RI_FOUND_POINTER);
		follow_slots(t, typed.shape, plan, addr, typed.is_exact);
	}
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
		while (traversal->objects_done < finder->objects.count) {
			examine_object(traversal, (uint32_t)traversal->objects_done++);
			any = true;
		}
		flush(traversal);
	} while (traversal->blocks_to_do.count ||
		 traversal->objects_done < finder->objects.count);
	return any;
}
