/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types whose objects live on with a count of zero: nodes of a tree, entries of a cache, which
 * their container keeps and their count only pins. Elsewhere zero is death. For types that were
 * found by their shape memory tells: where most objects that sound pointers lead to, in used
 * blocks, have a count of zero, it is no sign of death in any of them. Nor does their container
 * own references then, so that how they hang together says nothing of leaks: they are roots,
 * and that no leak of theirs is looked for is told.
 *
 * Cost: two passes over the objects. Blind spot: a type most of whose objects are held after
 * their death is taken for one of these.
 */
#include <stdlib.h>

#include "census/finder.h"
#include "profile/infer.h"

static bool is_evidence(const struct ri_finder *finder, const struct ri_object *object)
{
	const uint32_t sound = RI_FOUND_POINTER | RI_FOUND_GROUP | RI_FOUND_VARIABLE;

	return object->found & sound && object->block != RI_NONE &&
	       finder->heap->blocks[object->block].state == RI_BLOCK_USED &&
	       !(object->state & (RI_OBJECT_MAGIC_DEAD | RI_OBJECT_MAGIC_BAD | RI_OBJECT_FREED |
				  RI_OBJECT_DOUBTED_BITS));
}

void ri_idle_settle(struct ri_finder *finder)
{
	struct tally { uint32_t all, idle; } *tallies;
	bool any = false;

	tallies = ri_calloc(finder->types.count + 1, sizeof(*tallies));
	for (size_t i = 0; i < finder->objects.count; i++) {
		const struct ri_object *object = &finder->objects.items[i];
		const struct ri_counted_type *type = &finder->types.items[object->type];

		if (!is_evidence(finder, object) ||
		    !ri_convention_is_inferred(&finder->layout->conventions.items[type->convention]))
			continue;
		tallies[object->type].all++;
		tallies[object->type].idle +=
			object->state & RI_OBJECT_COUNT_DEAD && !object->count;
	}
	for (size_t t = 0; t < finder->types.count; t++) {
		if (2ull * tallies[t].idle <= tallies[t].all)
			continue;
		any = true;
		ri_gaps_add(finder->gaps, RI_GAP_MATTERS, "census",
			    "type '%s', found by its shape: most of its objects are in use with a "
			    "count of zero: what leaked of it is not told", finder->types.items[t].name);
	}
	for (size_t i = 0; any && i < finder->objects.count; i++) {
		struct ri_object *object = &finder->objects.items[i];
		const struct tally *tally = &tallies[object->type];

		if (2ull * tally->idle <= tally->all || object->state & RI_OBJECT_FREED)
			continue;
		object->state |= RI_OBJECT_NOT_LEAK;
		if (is_evidence(finder, object) && !object->count)
			object->state &= ~(uint32_t)RI_OBJECT_COUNT_DEAD;
	}
	free(tallies);
}
