/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The standing of inferred types: see standing.h.
 *
 * One pass over the objects compares counts with holders, as the default weighs them
 * (typed pointers own).  Where that explains nearly all objects of a type, the few
 * others are findings; where it explains none, the member is no reference count; in
 * between nobody knows who owns what, and the type's counts are not compared.
 *
 * Objects whose count is impossible, saturated or immortal have no say: programs mark
 * shared objects so.  A count of zero with a certain owner has one: it speaks of counts
 * that start at zero, or of owners that are none.
 *
 * ri_standing_decide() is the one place that decides; what holders are worth is
 * guess.c's.
 */
#include "check/standing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "check/analysis.h"
#include "check/guess.h"

#define OBJECTS_MIN   10
#define SHARE_PERCENT 90
#define NEGATIVES_PER_OBJECTS 100 /* at most one negative count in so many objects is damage */

enum ri_standing ri_standing_decide(const struct ri_type_fit *fit)
{
	if (fit->objects < OBJECTS_MIN)
		return RI_STANDING_UNDECIDED;
	if (!fit->fitting)
		return RI_STANDING_REFUTED;
	return fit->fitting * 100 >= fit->objects * SHARE_PERCENT ? RI_STANDING_SUPPORTED
								  : RI_STANDING_UNDECIDED;
}

static bool has_say(const struct ri_holders *holders, const struct ri_object *object, uint32_t o)
{
	const uint32_t barred = RI_OBJECT_DOUBTED_BITS | RI_OBJECT_IGNORE | RI_OBJECT_FREED |
				RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED |
				RI_OBJECT_IMMORTAL;

	if (object->state & barred)
		return false;
	return !(object->state & RI_OBJECT_COUNT_DEAD) || holders->certain[o];
}

static void measure(struct ri_type_fit *fits, const struct ri_population *population,
		    const struct ri_holders *holders)
{
	for (uint32_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		struct ri_type_fit *fit = &fits[object->type];
		int64_t certain = holders->certain[o], most = certain + holders->possible[o];

		if (object->state & RI_OBJECT_COUNT_IMPOSSIBLE && object->count < 0)
			fit->negative++;
		if (!has_say(holders, object, o))
			continue;
		fit->objects++;
		/* a static object may start with a reference that nobody puts */
		most += (object->state & RI_OBJECT_STATIC) != 0;
		if (object->count < certain)
			fit->below++;
		else if (object->count > most)
			fit->above++;
		else
			fit->fitting++;
	}
}

static void tell(const struct ri_counted_type *type, const struct ri_type_fit *fit,
		 struct ri_gaps *gaps)
{
	if (fit->standing == RI_STANDING_REFUTED)
		ri_gaps_add(gaps, RI_GAP_TOLD, "check",
			    "type '%s', found by its shape: a count that fits the holders for no "
			    "object (%" PRIu64 "): it is left out", type->name, fit->objects);
	else if (fit->objects < OBJECTS_MIN)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s', found by its shape: %" PRIu64 " object%s too few to tell "
			    "who owns references: counts not compared",
			    type->name, fit->objects, fit->objects == 1 ? " is" : "s are");
	else
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s', found by its shape: the counts of %" PRIu64 " of %" PRIu64
			    " objects fit their holders (%" PRIu64 " above, %" PRIu64 " below), too "
			    "few to tell who owns references: counts not compared",
			    type->name, fit->fitting, fit->objects, fit->above, fit->below);
}

static bool has_inferred(const struct ri_layout *layout)
{
	for (size_t i = 0; i < layout->conventions.count; i++)
		if (ri_convention_is_inferred(&layout->conventions.items[i]))
			return true;
	return false;
}

struct ri_type_fit *ri_standings_create(const struct ri_layout *layout,
					const struct ri_population *population,
					struct ri_holders *holders, struct ri_shapes *shapes,
					struct ri_gaps *gaps)
{
	struct ri_type_fit *fits = ri_calloc(population->type_count, sizeof(*fits));
	const struct ri_guess guess = { layout, population, holders, shapes, fits };

	if (!has_inferred(layout))
		return fits;
	for (size_t t = 0; t < population->type_count; t++)
		if (ri_convention_is_inferred(
			    &layout->conventions.items[population->types[t].convention]))
			fits[t].standing = RI_STANDING_UNDECIDED;
	if (ri_guess_heads(&guess))
		ri_holders_weigh(holders, shapes);
	measure(fits, population, holders);
	for (size_t t = 0; t < population->type_count; t++) {
		if (fits[t].standing == RI_STANDING_DECLARED)
			continue;
		fits[t].standing = ri_standing_decide(&fits[t]);
		if (fits[t].standing != RI_STANDING_SUPPORTED && fits[t].objects)
			tell(&population->types[t], &fits[t], gaps);
	}
	if (ri_guess_unsupported(&guess, gaps))
		ri_holders_weigh(holders, shapes);
	return fits;
}

enum ri_standing ri_object_standing(const struct ri_analysis *analysis, uint32_t object)
{
	if (!analysis->fits)
		return RI_STANDING_DECLARED;
	return analysis->fits[analysis->population->objects[object].type].standing;
}

bool ri_object_count_is_suspect(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_object *o = &analysis->population->objects[object];
	const struct ri_type_fit *fit = &analysis->fits[o->type];

	return o->count < 0 && fit->negative * NEGATIVES_PER_OBJECTS <= fit->objects;
}
