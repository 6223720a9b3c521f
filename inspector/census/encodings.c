/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encoded pointers by class: see encodings.h.  The last encoding whose pattern
 * matches a class is the one.  Cost: each class against each pattern, and nothing
 * at all where no profile declares any.
 */
#include "census/encodings.h"

#include <stdlib.h>

#include "base/memory.h"

static const struct ri_encoding *match(const struct ri_layout *layout, const char *name)
{
	for (size_t i = layout->encodings.count; i-- > 0;)
		if (ri_pattern_matches(layout->encodings.items[i].pattern, name))
			return &layout->encodings.items[i];
	return NULL;
}

static bool mark_shapes(struct ri_encodings *encodings, const struct ri_shapes *shapes)
{
	bool any = false;

	for (size_t s = 0; s < shapes->shapes.count; s++) {
		const struct ri_shape *shape = &shapes->shapes.items[s];

		for (size_t i = 0; i < shape->slot_count && !encodings->of_shape[s]; i++)
			encodings->of_shape[s] = ri_encodings_find(encodings, &shape->slots[i]);
		any |= encodings->of_shape[s];
	}
	return any;
}

struct ri_encodings *ri_encodings_create(const struct ri_shapes *shapes)
{
	struct ri_encodings *encodings;

	if (!shapes->layout || !shapes->layout->encodings.count)
		return NULL;
	encodings = ri_calloc(1, sizeof(*encodings));
	encodings->class_count = shapes->classes.count;
	encodings->shape_count = shapes->shapes.count;
	encodings->of_class = ri_calloc(encodings->class_count, sizeof(*encodings->of_class));
	encodings->of_shape = ri_calloc(encodings->shape_count, sizeof(*encodings->of_shape));
	for (size_t c = 0; c < encodings->class_count; c++)
		encodings->of_class[c] = match(shapes->layout, shapes->classes.items[c].name);
	if (mark_shapes(encodings, shapes))
		return encodings;
	ri_encodings_destroy(encodings);
	return NULL;
}

void ri_encodings_destroy(struct ri_encodings *encodings)
{
	if (!encodings)
		return;
	free(encodings->of_class);
	free(encodings->of_shape);
	free(encodings);
}
