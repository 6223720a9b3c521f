/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the traversal does with an element of a shape: which of its words are followed,
 * and what lies nested in it.  Made once per shape and kept.  Cost: a visit per slot of
 * the shape and per member of its type.
 */
#include "census/traverse_private.h"

#include <stdlib.h>

bool ri_plan_is_declared_owner(const struct ri_shapes *shapes, const struct ri_slot *slot)
{
	const struct ri_holder_class *class = &shapes->classes.items[slot->class_index];

	return slot->kind == RI_SLOT_VOID_POINTER && class->is_declared && !class->is_possible &&
	       class->weight > 0;
}

static void list_slots(struct ri_plan *plan, const struct ri_shapes *shapes,
		       const struct ri_shape *shape)
{
	for (size_t i = 0; i < shape->slot_count; i++) {
		const struct ri_slot *slot = &shape->slots[i];

		if (slot->in_union ||
		    (slot->kind != RI_SLOT_POINTER && slot->kind != RI_SLOT_POINTER_ARRAY &&
		     !slot->is_to_numbers && !ri_plan_is_declared_owner(shapes, slot)))
			continue;
		plan->slots = ri_grow(plan->slots, &plan->slot_capacity, plan->slot_count + 1,
				      sizeof(*plan->slots));
		plan->slots[plan->slot_count++] = (uint32_t)i;
	}
}

/* The plan of a shape, to be filled if it was not made before. */
static struct ri_plan *get_plan(struct ri_finder *finder, ri_plan_list *plans, uint32_t shape,
				bool *ret_is_made)
{
	struct ri_plan *plan;

	while (plans->count <= shape)
		ri_push(plans);
	plan = &plans->items[shape];
	*ret_is_made = plan->is_made;
	if (!plan->is_made)
		list_slots(plan, finder->shapes, &finder->shapes->shapes.items[shape]);
	plan->is_made = true;
	return plan;
}

const struct ri_plan *ri_plan_of(struct ri_finder *finder, ri_plan_list *plans, uint32_t shape,
				 const struct ri_type *type)
{
	bool is_made;
	struct ri_plan *plan = get_plan(finder, plans, shape, &is_made);

	if (!is_made && type)
		ri_nested_find(finder->shapes, type, 0, &plan->nested);
	return plan;
}

const struct ri_plan *ri_plan_of_counted(struct ri_finder *finder, ri_plan_list *plans,
					 uint32_t shape, uint32_t index)
{
	const struct ri_counted_type *type = &finder->types.items[index];
	int64_t own_header = (int64_t)type->front_bytes + type->header_offset;
	ri_nested_list all = { 0 };
	bool is_made;
	struct ri_plan *plan = get_plan(finder, plans, shape, &is_made);

	if (is_made)
		return plan;
	/* no descriptor in memory adds a type of a second header */
	for (uint32_t i = 0; i < finder->layout->types.count; i++)
		if (finder->types.items[i].container == index) {
			struct ri_nested *second = ri_push(&plan->nested);

			second->index = i;
			second->offset_bytes =
				type->front_bytes + finder->types.items[i].container_offset;
			second->count = 1;
			second->path = "";
		}
	if (type->type)
		ri_nested_find(finder->shapes, type->type, type->front_bytes, &all);
	for (size_t i = 0; i < all.count; i++) {
		const struct ri_nested *nested = &all.items[i];

		if (nested->is_head || nested->is_unused ||
		    (int64_t)nested->offset_bytes +
				    finder->types.items[nested->index].header_offset !=
			    own_header)
			*ri_push(&plan->nested) = *nested;
	}
	ri_vec_deinit(&all);
	return plan;
}

void ri_plans_deinit(ri_plan_list *plans)
{
	for (size_t i = 0; i < plans->count; i++) {
		free(plans->items[i].slots);
		ri_vec_deinit(&plans->items[i].nested);
	}
	ri_vec_deinit(plans);
}
