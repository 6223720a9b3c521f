/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lays a type out in words: which pointer, link, head or header word lies at
 * which offset.
 *
 * Members are taken depth first; arrays are unrolled, their elements sharing
 * one class "path[]".  In a union the words on which all arms agree are
 * ordinary, the others carry in_union.  Then the words that a convention or a
 * group rule knows (counts, magics, descriptors, links, heads, back pointers)
 * are marked, at every depth: a head inside an array of structs inside another
 * struct is a head.  Pointers at odd offsets (packed structs) are not seen: the
 * census looks at aligned words alone.
 *
 * Cost: a visit per member and element, cut off at VISITS_MAX (a table of a
 * million slots inside one struct); words beyond the cut count as OTHER, which
 * is never certain.
 */
#include "census/shapes_private.h"
#include "census/type_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "heap/heap.h"

#define DEPTH_MAX 32
#define VISITS_MAX (1u << 22)
#define UNTYPED_NAMED_BYTES 4096   /* words beyond share one class */
#define SHAPE_MAX_BYTES (64u << 20)
#define MARKED_SLOTS_MAX 65536

/* A word that a convention or a group rule knows. */
struct mark {
	uint64_t offset;
	enum ri_slot_kind kind;
};

struct builder {
	struct ri_shapes *shapes;
	RI_VEC(struct ri_slot) slots;
	RI_VEC(struct mark) marks; /* put on the slots at the end */
	enum ri_class_kind kind;
	RI_VEC(char) path;
	const char *inner;       /* the innermost struct's name, or null; its members' paths ... */
	size_t inner_path;       /* ... begin here in path */
	unsigned depth;
	unsigned arms;           /* how many union arms are open */
	uint32_t visits;
};

static void lay_out(struct builder *b, const struct ri_type *type, uint64_t offset);

/*
 * Paths and slots
 */

static size_t push_path(struct builder *b, const char *separator, const char *text)
{
	size_t before = b->path.count, a = strlen(separator), n = strlen(text);

	b->path.items = ri_grow(b->path.items, &b->path.capacity, before + a + n + 1, 1);
	memcpy(b->path.items + before, separator, a);
	memcpy(b->path.items + before + a, text, n);
	b->path.count += a + n;
	b->path.items[b->path.count] = '\0';
	return before;
}

static void pop_path(struct builder *b, size_t before)
{
	b->path.count = before;
	b->path.items[before] = '\0';
}

static struct ri_slot *add_slot(struct builder *b, uint64_t offset, enum ri_slot_kind kind)
{
	struct ri_slot *slot = ri_push(&b->slots);

	slot->offset_bytes = (uint32_t)offset;
	slot->kind = (uint8_t)kind;
	slot->class_index = RI_NONE;
	slot->pointee_type = RI_NONE;
	return slot;
}

static bool is_misplaced(uint64_t offset)
{
	return offset % 8 || offset >= SHAPE_MAX_BYTES;
}

static void lay_out_pointer(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	struct ri_types *types = b->shapes->types;
	const struct ri_type *target = ri_type_below(types, type), *declared;
	struct ri_slot *slot;
	bool is_possible = true;

	if (is_misplaced(offset))
		return;
	while (target && target->kind == RI_TYPE_ARRAY)
		target = ri_type_below(types, target);
	declared = target;
	target = ri_shapes_resolve_opaque(b->shapes, target);
	slot = add_slot(b, offset, RI_SLOT_VOID_POINTER);
	slot->is_opaque = target != declared;
	if (target && (target->kind == RI_TYPE_STRUCT || target->kind == RI_TYPE_UNION)) {
		slot->kind = RI_SLOT_POINTER;
		slot->pointee = target;
		slot->pointee_type = ri_shapes_find_counted(b->shapes, target);
		is_possible = b->arms > 0 || ri_shapes_is_undecided(b->shapes, slot->pointee_type);
	} else if (target && target->kind == RI_TYPE_POINTER) {
		slot->kind = RI_SLOT_POINTER_ARRAY;
		slot->pointee = target;
	} else if (target && target->kind == RI_TYPE_INT) {
		slot->is_to_numbers = true;
	}
	slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, is_possible,
						  1, false);
	if (b->inner) {
		char *place = ri_format("%s%s", b->inner, b->path.items + b->inner_path);

		ri_shapes_rule_by_place(b->shapes, slot->class_index, place);
		free(place);
	}
}

static void lay_out_array(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	struct ri_types *types = b->shapes->types;
	const struct ri_type *element = ri_type_below(types, type);
	size_t path = push_path(b, "", "[]"), before = b->slots.count + b->marks.count;

	for (uint64_t i = 0; element && element->size_bytes && i < type->element_count; i++) {
		lay_out(b, element, offset + i * element->size_bytes);
		if (b->slots.count + b->marks.count == before || b->visits >= VISITS_MAX)
			break; /* nothing in the first: nothing in any */
	}
	pop_path(b, path);
}

/*
 * Unions: each arm is laid out, then the words are compared
 */

static int compare_offsets(const void *a, const void *b)
{
	const struct ri_slot *x = a, *y = b;

	return x->offset_bytes < y->offset_bytes ? -1 : x->offset_bytes > y->offset_bytes;
}

/* Sorts slots[first ..). */
static void sort_slots(struct builder *b, size_t first)
{
	if (b->slots.count > first)
		qsort(b->slots.items + first, b->slots.count - first, sizeof(*b->slots.items),
		      compare_offsets);
}

static bool agree(const struct ri_slot *a, const struct ri_slot *b)
{
	return a->kind == b->kind &&
	       (a->pointee == b->pointee || ri_types_are_same(a->pointee, b->pointee));
}

/* Folds slots[first ..), sorted, to one per offset; certain where `arm_count`
 * arms agree. */
static void fold_arms(struct builder *b, size_t first, size_t arm_count)
{
	size_t kept = first;

	for (size_t i = first; i < b->slots.count;) {
		struct ri_slot *slot = &b->slots.items[i];
		bool same = !slot->in_union;
		size_t n = 1;

		for (; i + n < b->slots.count && slot[n].offset_bytes == slot->offset_bytes; n++)
			same &= agree(slot, &slot[n]) && !slot[n].in_union;
		i += n;
		slot->in_union = !same || n != arm_count;
		b->slots.items[kept++] = *slot;
	}
	b->slots.count = kept;
}

/* Classes inside arms are made as possible; here it is known which are certain. */
static void promote_classes(struct builder *b, size_t first)
{
	for (size_t s = first; s < b->slots.count; s++) {
		struct ri_slot *slot = &b->slots.items[s];
		struct ri_holder_class *class = &b->shapes->classes.items[slot->class_index];

		if (!slot->in_union && slot->kind == RI_SLOT_POINTER && !class->is_declared &&
		    !ri_shapes_is_undecided(b->shapes, slot->pointee_type))
			class->is_possible = false;
	}
}

static void lay_out_union(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	size_t first = b->slots.count;

	b->arms++;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		size_t path = push_path(b, member->name ? "." : "", member->name ? member->name : "");

		lay_out(b, member->type, offset + member->offset_bits / 8);
		pop_path(b, path);
	}
	b->arms--;
	sort_slots(b, first);
	fold_arms(b, first, type->member_count);
	if (!b->arms)
		promote_classes(b, first);
}

/*
 * Words that conventions and group rules know
 */

static void mark(struct builder *b, int64_t offset, enum ri_slot_kind kind)
{
	struct mark *added;

	if (offset < 0 || is_misplaced((uint64_t)offset & ~7ull))
		return;
	added = ri_push(&b->marks);
	added->offset = (uint64_t)offset & ~7ull;
	added->kind = kind;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Link, head and header words hold nothing; a back pointer may own its group. */
static void put_mark(struct builder *b, struct ri_slot *slot, enum ri_slot_kind kind)
{
	struct ri_holder_class *class;
	bool is_back = kind == RI_SLOT_BACK;
	size_t path;

	slot->kind = (uint8_t)kind;
	if (slot->class_index == RI_NONE) {
		path = push_path(b, ".", is_back ? "(group)" : "(header)");
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind,
							  is_back, is_back, false);
		pop_path(b, path);
		return;
	}
	class = &b->shapes->classes.items[slot->class_index];
	if (class->is_declared)
		return;
	class->is_possible = is_back;
	class->weight = is_back;
}

/* Puts the marks on the slots, which get sorted; where a word has no slot, it
 * gets one. */
static void put_marks(struct builder *b)
{
	size_t s = 0, slot_count;

	sort_slots(b, 0);
	if (!b->marks.count)
		return;
	qsort(b->marks.items, b->marks.count, sizeof(*b->marks.items), compare_marks);
	slot_count = b->slots.count;
	for (size_t m = 0; m < b->marks.count; m++) {
		const struct mark *mark = &b->marks.items[m];
		struct ri_slot *last = b->slots.count > slot_count
					       ? &b->slots.items[b->slots.count - 1]
					       : NULL;

		while (s < slot_count && b->slots.items[s].offset_bytes < mark->offset)
			s++;
		if (s < slot_count && b->slots.items[s].offset_bytes == mark->offset)
			put_mark(b, &b->slots.items[s], mark->kind);
		else if (last && last->offset_bytes == mark->offset)
			put_mark(b, last, mark->kind);
		else
			put_mark(b, add_slot(b, mark->offset, mark->kind), mark->kind);
	}
	ri_vec_deinit(&b->marks);
	sort_slots(b, 0);
}

static void mark_field(struct builder *b, int64_t base, const struct ri_field *field,
		       enum ri_slot_kind kind)
{
	if (field->is_present)
		mark(b, base + field->offset_bytes, kind);
}

static void mark_link(struct builder *b, int64_t base, const struct ri_group_rule *rule)
{
	const int64_t offsets[] = { rule->next_offset, rule->prev_offset, rule->parent_offset,
				    rule->right_offset };

	for (size_t i = 0; !rule->node_bytes && i < sizeof(offsets) / sizeof(offsets[0]); i++)
		if (offsets[i] >= 0)
			mark(b, base + rule->link_offset + offsets[i], RI_SLOT_LINK);
	mark_field(b, base, &rule->back, RI_SLOT_BACK);
}

static void mark_header(struct builder *b, int64_t base, uint32_t convention)
{
	const struct ri_layout *layout = b->shapes->layout;
	const struct ri_convention *c = &layout->conventions.items[convention];

	for (size_t i = 0; i < c->count_count; i++)
		mark_field(b, base, &c->counts[i].field, RI_SLOT_HEADER);
	for (size_t i = 0; i < c->magic_count; i++)
		if (!c->magics[i].at_end)
			mark_field(b, base, &c->magics[i].field, RI_SLOT_HEADER);
	if (c->descriptor.is_present)
		mark_field(b, base, &c->descriptor.field, RI_SLOT_HEADER);
	for (size_t i = 0; i < layout->groups.count; i++) {
		uint32_t element = layout->groups.items[i].element_convention;

		if (element != RI_LAYOUT_NONE && (element == convention || element == c->base))
			mark_link(b, base, &layout->groups.items[i]);
	}
}

static void mark_head(struct builder *b, int64_t base, const struct ri_group_rule *rule)
{
	bool is_array = rule->kind == RI_LINK_ARRAY || rule->kind == RI_LINK_HASH;
	uint64_t count = is_array && !rule->head_is_pointer ? rule->fixed_length : 1;
	int64_t at = base + rule->head_offset;

	if (is_array && (rule->head_is_pointer || rule->kind == RI_LINK_ARRAY)) {
		for (uint64_t i = 0; i < count && i < MARKED_SLOTS_MAX; i++)
			mark(b, at + (int64_t)(i * rule->slot_bytes), RI_SLOT_HEAD);
		return;
	}
	for (uint64_t i = 0; i < count && i < MARKED_SLOTS_MAX; i++) {
		int64_t bucket = at + (int64_t)(i * rule->slot_bytes);

		if (rule->head_first_offset >= 0)
			mark(b, bucket + rule->head_first_offset, RI_SLOT_HEAD);
		if (rule->head_last_offset >= 0)
			mark(b, bucket + rule->head_last_offset, RI_SLOT_HEAD);
	}
}

/* Marks what is known of a struct that lies at `offset`. */
static void mark_struct(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = b->shapes->layout;
	const struct ri_counted_struct *counted = ri_shapes_find_struct(b->shapes, type);
	int64_t base = (int64_t)offset;

	for (size_t i = 0; i < layout->conventions.count; i++)
		if (layout->conventions.items[i].is_header &&
		    ri_types_are_same(layout->conventions.items[i].type, type))
			mark_header(b, base, (uint32_t)i);
	if (counted)
		mark_header(b, base + counted->header_offset, counted->convention);
	for (size_t i = 0; i < layout->groups.count; i++) {
		const struct ri_group_rule *rule = &layout->groups.items[i];

		if (counted && rule->element_type == counted->index)
			mark_link(b, base, rule);
		if (rule->head_type && !rule->has_variable &&
		    ri_types_are_same(rule->head_type, type))
			mark_head(b, base, rule);
	}
}

static void lay_out_struct(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	const char *inner = b->inner;
	size_t inner_path = b->inner_path;

	if (type->name) {
		b->inner = type->name;
		b->inner_path = b->path.count;
	}
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		size_t path;

		if (member->bit_size || member->offset_bits % 8)
			continue;
		path = push_path(b, member->name ? "." : "", member->name ? member->name : "");
		lay_out(b, member->type, offset + member->offset_bits / 8);
		pop_path(b, path);
	}
	b->inner = inner;
	b->inner_path = inner_path;
	mark_struct(b, type, offset);
}

/* An integer that is a pointer because a profile says how it is encoded. */
static void lay_out_encoded(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = b->shapes->layout;
	bool is_encoded = false;

	for (size_t i = 0; i < layout->encodings.count && type->size_bytes == 8; i++)
		is_encoded |= ri_pattern_matches(layout->encodings.items[i].pattern, b->path.items);
	if (is_encoded && !is_misplaced(offset))
		add_slot(b, offset, RI_SLOT_VOID_POINTER)->class_index = ri_shapes_class_worth(
			b->shapes, b->path.items, b->kind, true, 1, false);
}

static void lay_out(struct builder *b, const struct ri_type *type, uint64_t offset)
{
	type = ri_type_bare(b->shapes->types, type);
	if (!type || b->depth >= DEPTH_MAX || b->visits++ >= VISITS_MAX ||
	    offset >= SHAPE_MAX_BYTES)
		return;
	b->depth++;
	switch (type->kind) {
	case RI_TYPE_POINTER:
		lay_out_pointer(b, type, offset);
		break;
	case RI_TYPE_ARRAY:
		lay_out_array(b, type, offset);
		break;
	case RI_TYPE_UNION:
		lay_out_union(b, type, offset);
		break;
	case RI_TYPE_STRUCT:
		lay_out_struct(b, type, offset);
		break;
	case RI_TYPE_INT:
		lay_out_encoded(b, type, offset);
		break;
	default:
		break;
	}
	b->depth--;
}

static void finish(struct builder *b, struct ri_shape *shape)
{
	shape->slots = b->slots.items;
	shape->slot_count = b->slots.count;
	ri_vec_deinit(&b->marks);
	ri_vec_deinit(&b->path);
}

void ri_shape_lay_out(struct ri_shapes *shapes, struct ri_shape *shape,
		      const struct ri_type *type, uint64_t offset_bytes, const char *name,
		      enum ri_class_kind kind)
{
	struct builder b = { .shapes = shapes, .kind = kind };

	push_path(&b, "", name);
	lay_out(&b, type, offset_bytes);
	put_marks(&b);
	finish(&b, shape);
}

/*
 * Counted types
 */

/* The name of what lies `offset` bytes from the handle of `type`. */
static void push_offset(struct builder *b, int64_t offset)
{
	char text[32];

	snprintf(text, sizeof(text), "%c0x%llx", offset < 0 ? '-' : '+',
		 (unsigned long long)(offset < 0 ? -offset : offset));
	push_path(b, "", text);
}

/* Every word without a slot gets one: without debug information any of them may
 * be a pointer. */
static void add_untyped_words(struct builder *b, const struct ri_counted_type *type,
			      bool is_declared)
{
	uint64_t words = type->extent_bytes / 8;
	uint8_t taken[UNTYPED_NAMED_BYTES / 8] = { 0 };

	if (words > UNTYPED_NAMED_BYTES / 8)
		words = UNTYPED_NAMED_BYTES / 8;
	for (size_t i = 0; i < b->slots.count; i++)
		if (b->slots.items[i].offset_bytes / 8 < words)
			taken[b->slots.items[i].offset_bytes / 8] = 1;
	for (uint64_t word = 0; word < words; word++) {
		struct ri_slot *slot;
		size_t path = b->path.count;

		if (taken[word])
			continue;
		slot = add_slot(b, word * 8, RI_SLOT_OTHER);
		if (is_declared)
			push_path(b, ".", "(undeclared)");
		else
			push_offset(b, (int64_t)(word * 8) - (int64_t)type->front_bytes);
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items,
							  RI_CLASS_UNTYPED_OBJECT, !is_declared,
							  !is_declared, is_declared);
		pop_path(b, path);
	}
}

/*
 * Tables of owned members: what they list owns one reference, no other word of
 * the type any.
 */

enum { OWNED = 1, NOT_OWNED = 2 };

/* The owner declared at byte `offset` of the shape, or null. */
static const struct ri_declared_owner *find_owner(const struct ri_address_map *owner_at,
						  const struct ri_counted_type *type,
						  uint64_t offset)
{
	uint32_t index = ri_address_map_find(owner_at, offset);

	return index == RI_NONE ? NULL : &type->owners[index];
}

/* Adds slots for listed offsets that have none (no debug information). */
static void add_owner_slots(struct builder *b, const struct ri_counted_type *type)
{
	size_t slot_count = b->slots.count;

	for (size_t i = 0; i < type->owner_count; i++) {
		uint64_t offset = type->front_bytes + (uint64_t)type->owners[i].offset_bytes;
		struct ri_slot key = { .offset_bytes = (uint32_t)offset };

		if (!is_misplaced(offset) && offset + 8 <= type->extent_bytes &&
		    !(slot_count &&
		      bsearch(&key, b->slots.items, slot_count, sizeof(key), compare_offsets)))
			add_slot(b, offset, RI_SLOT_VOID_POINTER);
	}
	sort_slots(b, 0);
}

static uint32_t owner_class(struct builder *b, const struct ri_declared_owner *owner,
			    int64_t offset)
{
	size_t path = b->path.count;
	uint32_t class;

	if (owner && owner->name)
		push_path(b, ".", owner->name);
	else
		push_offset(b, offset);
	class = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, false, owner != NULL,
				      true);
	pop_path(b, path);
	return class;
}

static void apply_owner_table(struct builder *b, const struct ri_counted_type *type)
{
	struct ri_address_map seen = { 0 };     /* class to OWNED, NOT_OWNED or both */
	struct ri_address_map owner_at = { 0 }; /* offset to owners[] */

	add_owner_slots(b, type);
	for (size_t i = 0; i < type->owner_count; i++)
		ri_address_map_set(&owner_at,
				   type->front_bytes + (uint64_t)type->owners[i].offset_bytes,
				   (uint32_t)i);
	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];
		uint32_t flags = ri_address_map_find(&seen, slot->class_index);

		flags = flags == RI_NONE ? 0 : flags;
		flags |= find_owner(&owner_at, type, slot->offset_bytes) ? OWNED : NOT_OWNED;
		if (slot->class_index != RI_NONE)
			ri_address_map_set(&seen, slot->class_index, flags);
	}
	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];
		const struct ri_declared_owner *owner =
			find_owner(&owner_at, type, slot->offset_bytes);
		struct ri_holder_class *class;

		/* an element of an array of which others own nothing: a class of its own */
		if (slot->class_index == RI_NONE ||
		    (owner && ri_address_map_find(&seen, slot->class_index) != OWNED)) {
			slot->class_index = owner_class(b, owner,
							(int64_t)slot->offset_bytes -
								(int64_t)type->front_bytes);
			continue;
		}
		class = &b->shapes->classes.items[slot->class_index];
		if (class->is_declared)
			continue;
		class->is_possible = false;
		class->weight = owner != NULL;
		class->is_declared = true;
	}
	ri_address_map_deinit(&seen);
	ri_address_map_deinit(&owner_at);
}

/* The pointer to the descriptor owns it: a place of its own. */
static void own_descriptor(struct builder *b, uint64_t offset)
{
	size_t path = push_path(b, ".", "(type)");

	for (size_t i = 0; i < b->slots.count; i++) {
		struct ri_slot *slot = &b->slots.items[i];

		if (slot->offset_bytes != offset)
			continue;
		slot->kind = RI_SLOT_VOID_POINTER;
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind, false,
							  1, true);
	}
	pop_path(b, path);
}

void ri_shape_lay_out_counted(struct ri_shapes *shapes, struct ri_shape *shape,
			      const struct ri_counted_type *type, uint32_t index)
{
	const struct ri_convention *c = &shapes->layout->conventions.items[type->convention];
	struct builder b = { .shapes = shapes, .kind = RI_CLASS_FIELD };
	int64_t header = (int64_t)type->front_bytes + type->header_offset;
	size_t path;

	push_path(&b, "", type->name);
	if (type->type)
		lay_out(&b, type->type, type->front_bytes);
	if (type->header_offset < 0 && c->type) {
		path = push_path(&b, ".", "(header)");
		lay_out(&b, c->type, (uint64_t)header);
		pop_path(&b, path);
	}
	mark_header(&b, header, type->convention);
	for (size_t i = 0; i < shapes->layout->groups.count; i++)
		if (shapes->layout->groups.items[i].element_type == index)
			mark_link(&b, (int64_t)type->front_bytes, &shapes->layout->groups.items[i]);
	put_marks(&b);
	if (type->owns_descriptor)
		own_descriptor(&b, (uint64_t)(header + c->descriptor.field.offset_bytes));
	if (type->has_owners)
		apply_owner_table(&b, type);
	if (!type->type || type->has_owners)
		add_untyped_words(&b, type, type->has_owners);
	finish(&b, shape);
}

void ri_shape_index(struct ri_shape *shape)
{
	uint64_t words = shape->element_bytes / 8;

	if (!shape->slot_count || !words || shape->element_bytes > SHAPE_MAX_BYTES) {
		if (shape->element_bytes > SHAPE_MAX_BYTES)
			shape->slot_count = 0;
		return;
	}
	qsort(shape->slots, shape->slot_count, sizeof(*shape->slots), compare_offsets);
	shape->slot_of_word = ri_malloc(words * sizeof(*shape->slot_of_word));
	memset(shape->slot_of_word, 0xff, words * sizeof(*shape->slot_of_word));
	for (size_t i = 0; i < shape->slot_count; i++)
		if (shape->slots[i].offset_bytes / 8 < words)
			shape->slot_of_word[shape->slots[i].offset_bytes / 8] = (uint32_t)i;
}
