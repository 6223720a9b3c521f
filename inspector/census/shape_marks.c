/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of a shape that a convention or a group rule knows: counts, magics,
 * descriptors, links, heads, back pointers.  They are marked at every depth (a head inside
 * an array of structs inside another struct is a head), and the marks are put on the slots
 * when all are laid out.  Cost: a visit per convention and rule for each struct, and a sort.
 */
#include "census/shape_builder.h"

#include <stdlib.h>

#include "profile/infer_groups.h"

#define MARKED_SLOTS_MAX 65536

/* `rule`: of a group, or null. */
static void mark(struct ri_shape_builder *b, int64_t offset, enum ri_slot_kind kind,
		 const struct ri_group_rule *rule)
{
	struct ri_shape_mark *added;

	if (offset < 0 || ri_shape_is_misplaced((uint64_t)offset & ~7ull))
		return;
	added = ri_push(&b->marks);
	added->offset = (uint64_t)offset & ~7ull;
	added->kind = kind;
	added->is_inferred = rule && ri_group_is_inferred(rule);
}

static int compare_marks(const void *a, const void *b)
{
	const struct ri_shape_mark *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Link, head and header words hold nothing; a back pointer may own its group. */
static void put_mark(struct ri_shape_builder *b, struct ri_slot *slot,
		     const struct ri_shape_mark *mark)
{
	enum ri_slot_kind kind = mark->kind;
	struct ri_holder_class *class;
	bool is_back = kind == RI_SLOT_BACK;
	size_t path;

	slot->kind = (uint8_t)kind;
	slot->is_inferred = mark->is_inferred;
	if (slot->class_index == RI_NONE) {
		path = ri_shape_push_path(b, ".", is_back ? "(group)" : "(header)");
		slot->class_index = ri_shapes_class_worth(b->shapes, b->path.items, b->kind,
							  is_back, is_back, false);
		ri_shape_pop_path(b, path);
		return;
	}
	class = &b->shapes->classes.items[slot->class_index];
	if (class->is_declared || mark->is_inferred)
		return;
	class->is_possible = is_back;
	class->weight = is_back;
}

void ri_shape_put_marks(struct ri_shape_builder *b)
{
	size_t s = 0, slot_count;

	ri_shape_sort_slots(b, 0);
	if (!b->marks.count)
		return;
	qsort(b->marks.items, b->marks.count, sizeof(*b->marks.items), compare_marks);
	slot_count = b->slots.count;
	for (size_t m = 0; m < b->marks.count; m++) {
		const struct ri_shape_mark *mark = &b->marks.items[m];
		struct ri_slot *last = b->slots.count > slot_count
					       ? &b->slots.items[b->slots.count - 1]
					       : NULL;

		while (s < slot_count && b->slots.items[s].offset_bytes < mark->offset)
			s++;
		if (s < slot_count && b->slots.items[s].offset_bytes == mark->offset)
			put_mark(b, &b->slots.items[s], mark);
		else if (last && last->offset_bytes == mark->offset)
			put_mark(b, last, mark);
		else
			put_mark(b, ri_shape_add_slot(b, mark->offset, mark->kind), mark);
	}
	ri_vec_deinit(&b->marks);
	ri_shape_sort_slots(b, 0);
}

static void mark_field(struct ri_shape_builder *b, int64_t base, const struct ri_field *field,
		       enum ri_slot_kind kind)
{
	if (field->is_present)
		mark(b, base + field->offset_bytes, kind, NULL);
}

void ri_shape_mark_link(struct ri_shape_builder *b, int64_t base,
			const struct ri_group_rule *rule)
{
	const int64_t offsets[] = { rule->next_offset, rule->prev_offset, rule->parent_offset,
				    rule->right_offset };

	for (size_t i = 0; !rule->node_bytes && i < sizeof(offsets) / sizeof(offsets[0]); i++)
		if (offsets[i] >= 0)
			mark(b, base + rule->link_offset + offsets[i], RI_SLOT_LINK, rule);
	mark_field(b, base, &rule->back, RI_SLOT_BACK);
}

void ri_shape_mark_header(struct ri_shape_builder *b, int64_t base, uint32_t convention)
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
			ri_shape_mark_link(b, base, &layout->groups.items[i]);
	}
}

static void mark_head(struct ri_shape_builder *b, int64_t base, const struct ri_group_rule *rule)
{
	bool is_array = rule->kind == RI_LINK_ARRAY || rule->kind == RI_LINK_HASH;
	uint64_t count = is_array && !rule->head_is_pointer ? rule->fixed_length : 1;
	int64_t at = base + rule->head_offset;

	if (is_array && (rule->head_is_pointer || rule->kind == RI_LINK_ARRAY)) {
		for (uint64_t i = 0; i < count && i < MARKED_SLOTS_MAX; i++)
			mark(b, at + (int64_t)(i * rule->slot_bytes), RI_SLOT_HEAD, rule);
		return;
	}
	for (uint64_t i = 0; i < count && i < MARKED_SLOTS_MAX; i++) {
		int64_t bucket = at + (int64_t)(i * rule->slot_bytes);

		if (rule->head_first_offset >= 0)
			mark(b, bucket + rule->head_first_offset, RI_SLOT_HEAD, rule);
		if (rule->head_last_offset >= 0)
			mark(b, bucket + rule->head_last_offset, RI_SLOT_HEAD, rule);
	}
}

void ri_shape_mark_struct(struct ri_shape_builder *b, const struct ri_type *type, uint64_t offset)
{
	const struct ri_layout *layout = b->shapes->layout;
	const struct ri_counted_struct *counted = ri_shapes_find_struct(b->shapes, type);
	int64_t base = (int64_t)offset;

	for (size_t i = 0; i < layout->conventions.count; i++)
		if (layout->conventions.items[i].is_header &&
		    ri_types_are_same(layout->conventions.items[i].type, type))
			ri_shape_mark_header(b, base, (uint32_t)i);
	if (counted)
		ri_shape_mark_header(b, base + counted->header_offset, counted->convention);
	for (size_t i = 0; i < layout->groups.count; i++) {
		const struct ri_group_rule *rule = &layout->groups.items[i];

		if (counted && rule->element_type == counted->index)
			ri_shape_mark_link(b, base, rule);
		if (rule->head_type && !rule->has_variable &&
		    ri_types_are_same(rule->head_type, type))
			mark_head(b, base, rule);
	}
}
