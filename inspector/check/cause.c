/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wrong with one object itself: the one place that knows which code
 * comes first where several are true at once.
 *
 *   ignored, suspect             exempt from everything
 *   count dead, all else alive,
 *     an owner besides groups    bad-count: the owner contradicts the count, which is what is
 *                                wrong; the object itself is as alive as its holders say
 *   dead and chained in a group  dead-member
 *   in a free block              dangling where something certain holds it, else nothing:
 *                                what stands in a free block says nothing about magic or count
 *   magic wrong                  bad-magic
 *   freed magic                  freed-object where something certain holds it, else nothing
 *   immortal                     exempt: its count means nothing
 *   count impossible, saturated  bad-count
 *   count dead                   bad-count where something certain holds it, else nothing
 *
 * Of types that were found by their shape less is said: see find_cause().
 *
 * A group whose own head lies in freed memory makes no dead members: both are
 * gone, and what is left of the list is nobody's.
 */
#include "check/cause.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_member_of_living_group(const struct ri_population *population, uint32_t object)
{
	if (!population->member_of_first)
		return false;
	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		uint32_t m = population->member_of[i];
		uint32_t g = population->memberships[m].group;

		if (!(population->groups[g].state & RI_GROUP_HEAD_FREED))
			return true;
	}
	return false;
}

/* Whether something certain holds the object besides its being chained in groups
 * that own their members. */
static bool has_owner_besides_groups(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	int64_t certain = analysis->holders ? analysis->holders->certain[object] : 0;

	for (uint32_t i = population->member_of_first ? population->member_of_first[object] : 0;
	     population->member_of_first && i < population->member_of_first[object + 1]; i++) {
		const struct ri_membership *m = &population->memberships[population->member_of[i]];
		const struct ri_weight *weight = &population->groups[m->group].membership;

		if (weight->kind == RI_WEIGHT_FIXED)
			certain -= weight->weight;
	}
	return certain > 0;
}

static enum ri_object_cause find_own_cause(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t state = population->objects[object].state;
	bool is_held = analysis->holders && analysis->holders->certain[object] > 0;

	if (state & (RI_OBJECT_IGNORE | RI_OBJECT_DOUBTED_BITS))
		return RI_CAUSE_EXEMPT;
	if ((state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_MAGIC_BAD)) == RI_OBJECT_COUNT_DEAD &&
	    has_owner_besides_groups(analysis, object))
		return RI_CAUSE_BAD_COUNT;
	if ((state & RI_OBJECT_DEAD_BITS) && is_member_of_living_group(population, object))
		return RI_CAUSE_DEAD_MEMBER;
	if (state & RI_OBJECT_FREED)
		return is_held ? RI_CAUSE_FREED : RI_CAUSE_DEAD;
	if (state & RI_OBJECT_MAGIC_BAD)
		return RI_CAUSE_BAD_MAGIC;
	if (state & RI_OBJECT_MAGIC_DEAD)
		return is_held ? RI_CAUSE_FREED_MARK : RI_CAUSE_DEAD;
	if (state & RI_OBJECT_IMMORTAL)
		return RI_CAUSE_EXEMPT;
	if (state & (RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED))
		return RI_CAUSE_BAD_COUNT;
	if (state & RI_OBJECT_COUNT_DEAD)
		return is_held ? RI_CAUSE_BAD_COUNT : RI_CAUSE_DEAD;
	return RI_CAUSE_NONE;
}

/* Whether the cause is that something owns what is dead. */
static bool rests_on_owners(enum ri_object_cause cause)
{
	return cause == RI_CAUSE_BAD_COUNT || cause == RI_CAUSE_FREED;
}

/* The same for a type that was found by its shape: what its members mean is a guess,
 * so that of what is wrong with it only what memory bears out is said. */
static enum ri_object_cause find_cause(const struct ri_analysis *analysis, uint32_t object)
{
	enum ri_object_cause cause = find_own_cause(analysis, object);

	switch (ri_object_standing(analysis, object)) {
	case RI_STANDING_REFUTED:
		return RI_CAUSE_EXEMPT;
	case RI_STANDING_UNDECIDED:
		return cause == RI_CAUSE_NONE || cause == RI_CAUSE_DEAD ? cause : RI_CAUSE_EXEMPT;
	case RI_STANDING_SUPPORTED:
		if (cause == RI_CAUSE_BAD_COUNT &&
		    !(analysis->population->objects[object].state & RI_OBJECT_COUNT_DEAD))
			return ri_object_count_is_suspect(analysis, object) ? cause :
									      RI_CAUSE_EXEMPT;
		if (rests_on_owners(cause) && !ri_object_has_taught_owner(analysis, object))
			return RI_CAUSE_DEAD;
		return cause;
	default:
		return cause;
	}
}

enum ri_object_cause ri_object_cause(const struct ri_analysis *analysis, uint32_t object)
{
	if (analysis->causes)
		return (enum ri_object_cause)analysis->causes[object];
	return find_cause(analysis, object);
}

void ri_causes_tell(const struct ri_analysis *analysis, struct ri_gaps *gaps)
{
	const struct ri_population *population = analysis->population;
	uint64_t *stale = ri_calloc(population->type_count + 1, sizeof(*stale));

	for (uint32_t o = 0; o < population->object_count; o++)
		stale[population->objects[o].type] +=
			ri_object_standing(analysis, o) == RI_STANDING_SUPPORTED &&
			ri_object_cause(analysis, o) == RI_CAUSE_DEAD &&
			rests_on_owners(find_own_cause(analysis, o));
	for (size_t t = 0; t < population->type_count; t++)
		if (stale[t])
			ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
				    "type '%s', found by its shape: places that are not known to own "
				    "point at %" PRIu64 " dead object%s", population->types[t].name,
				    stale[t], stale[t] == 1 ? "" : "s");
	free(stale);
}

uint8_t *ri_causes_create(const struct ri_analysis *analysis)
{
	size_t count = analysis->population->object_count;
	uint8_t *causes = ri_malloc(count);

	for (uint32_t o = 0; o < count; o++)
		causes[o] = (uint8_t)find_cause(analysis, o);
	return causes;
}

void ri_finding_imply_states(struct ri_finding *finding, const struct ri_analysis *analysis,
			     uint32_t object)
{
	uint32_t state = analysis->population->objects[object].state;
	uint32_t certain = analysis->holders ? analysis->holders->certain[object] : 0;

	if (state & (RI_OBJECT_MAGIC_BAD | RI_OBJECT_MAGIC_DEAD))
		ri_finding_imply(finding, "bad-magic");
	if (state & RI_OBJECT_DESCRIPTOR_BAD)
		ri_finding_imply(finding, "bad-type");
	if (((state & (RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED)) &&
	     !(state & RI_OBJECT_FREED)) ||
	    ((state & RI_OBJECT_COUNT_DEAD) && certain))
		ri_finding_imply(finding, "bad-count");
	if (state & (RI_OBJECT_FREED | RI_OBJECT_MAGIC_DEAD))
		ri_finding_imply(finding, "freed-object");
	if ((state & RI_OBJECT_DEAD_BITS) && is_member_of_living_group(analysis->population, object))
		ri_finding_imply(finding, "dead-member");
	if ((state & RI_OBJECT_DEAD_BITS) && certain)
		ri_finding_imply(finding, "dangling");
	if ((state & RI_OBJECT_DEAD_BITS) == RI_OBJECT_COUNT_DEAD && certain)
		ri_finding_imply(finding, "deficit");
}
