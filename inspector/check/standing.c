/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The standing of inferred types, and of declared ones whose profile leaves it to the counts who
 * owns: see standing.h.
 *
 * Who owns their objects is learned from the counts of all of them (learn/).  Where the
 * model explains most, the few others are findings; where it explains hardly any, the
 * member is no reference count; in between nobody knows who owns what, and the type's
 * counts are not compared.
 *
 * ri_standing_decide() is the one place that decides.
 */
#include "check/standing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "check/analysis.h"
#include "profile/infer.h"

#define OBJECTS_MIN   10
#define SHARE_PERCENT 75
#define UNDECIDED_PERCENT_MAX 50 /* of the objects: beyond, a type is not called clean */
#define NEGATIVES_PER_OBJECTS 100 /* at most one negative count in so many objects is damage */
#define MOVED_TOLD_MAX 20

enum ri_standing ri_standing_decide(const struct ri_learned_type *type)
{
	const struct ri_fit_result *result = &type->result;

	if (result->objects < OBJECTS_MIN)
		return RI_STANDING_UNDECIDED;
	if (type->state == RI_LEARNED_NOT)
		return RI_STANDING_REFUTED;
	return result->explained * 100 >= result->objects * SHARE_PERCENT ? RI_STANDING_SUPPORTED
									    : RI_STANDING_UNDECIDED;
}

static void tell(const struct ri_counted_type *type, const struct ri_type_fit *fit,
		 struct ri_gaps *gaps)
{
	if (fit->standing == RI_STANDING_REFUTED)
		ri_gaps_add(gaps, RI_GAP_TOLD, "check",
			    "type '%s', found by its shape: a count that is what holders say for "
			    "%" PRIu64 " of %" PRIu64 " objects is no reference count: left out",
			    type->name, fit->fitting, fit->objects);
	else if (fit->objects < OBJECTS_MIN)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s', found by its shape: %" PRIu64 " object%s too few to tell "
			    "who owns references: counts not compared",
			    type->name, fit->objects, fit->objects == 1 ? " is" : "s are");
	else
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s', found by its shape: the counts of %" PRIu64 " of %" PRIu64
			    " objects are what their holders say (%" PRIu64 " above, %" PRIu64
			    " below), too few to tell who owns references: counts not compared",
			    type->name, fit->fitting, fit->objects, fit->above, fit->below);
}

bool ri_standing_is_vague(const struct ri_learned_type *type)
{
	return type->undecided * 100 > type->result.objects * UNDECIDED_PERCENT_MAX;
}

static void tell_undecided(const struct ri_counted_type *type,
			   const struct ri_learned_type *learned, struct ri_gaps *gaps)
{
	if (ri_standing_is_vague(learned))
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s': who owns references to %" PRIu64
			    " of %" PRIu64 " objects is not told by the counts: one reference "
			    "too many or too few would not show there",
			    type->name, learned->undecided, learned->result.objects);
}

/* What was added to the counts as a convention that memory shows. */
static void tell_bias(const struct ri_layout *layout, const struct ri_counted_type *type,
		      const struct ri_type_fit *fit, struct ri_gaps *gaps)
{
	const struct ri_convention *c = &layout->conventions.items[type->convention];
	int64_t bias = c->count_count ? c->counts[0].bias : 0;

	if (bias > 0)
		ri_gaps_add(gaps, RI_GAP_TOLD, "check",
			    "type '%s', found by its shape: its counts are of further owners, 0 where "
			    "there is one: the holders of %" PRIu64 " of %" PRIu64 " objects say so",
			    type->name, fit->fitting, fit->objects);
	else if (bias < 0)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
			    "type '%s', found by its shape: %" PRIu64 " of %" PRIu64 " objects count "
			    "one more than their holders: a convention, or one reference leaked on "
			    "each", type->name, fit->fitting, fit->objects);
}

/* What the counts say against a place's type: a convention, or a get missing everywhere. */
static void tell_moved(const struct ri_ownership *ownership, const struct ri_learned_type *type,
		       const struct ri_ownership_input *input, struct ri_gaps *gaps)
{
	size_t told = 0;

	for (uint32_t k = 0; k < type->class_count && told < MOVED_TOLD_MAX; k++) {
		const struct ri_learned_class *class =
			&ownership->classes.items[type->class_first + k];
		const struct ri_holder_class *holders =
			&input->shapes->classes.items[class->holder_class];

		/* Of a place without a type nothing was expected. */
		if (!class->fit.is_moved || class->target_offset ||
		    (holders->kind != RI_CLASS_FIELD && holders->kind != RI_CLASS_PLAIN_FIELD &&
		     holders->kind != RI_CLASS_MEMBERSHIP))
			continue;
		told++;
		ri_gaps_add(gaps, RI_GAP_TOLD, "ownership",
			    "%s is taken to %s references to %s: the counts of %" PRIu64
			    " objects say so, those of %" PRIu64 " the contrary",
			    holders->name, class->fit.weight ? "own" : "borrow",
			    input->population->types[type->type].name, class->fit.for_objects,
			    class->fit.against_objects);
	}
}

static void count_negatives(const struct ri_population *population, struct ri_type_fit *fits)
{
	for (uint32_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];

		fits[object->type].negative +=
			object->state & RI_OBJECT_COUNT_IMPOSSIBLE && object->count < 0;
		fits[object->type].zeros += !object->count &&
			!(object->state & (RI_OBJECT_FREED | RI_OBJECT_MAGIC_DEAD));
	}
}

static bool is_inferred(const struct ri_layout *layout, const struct ri_counted_type *type)
{
	return ri_convention_is_inferred(&layout->conventions.items[type->convention]);
}

static bool is_learned(const struct ri_layout *layout, const struct ri_counted_type *type)
{
	return layout->conventions.items[type->convention].is_learned;
}

/* Types whose profile leaves it to the counts who owns: where the counts tell.  Elsewhere the
 * profile's own rules hold, by which an untyped word is a possible holder. */
static void wish_learned(const struct ri_layout *layout, const struct ri_ownership_input *input,
			 uint8_t *wishes)
{
	const struct ri_population *population = input->population;
	uint8_t *looks = ri_calloc(population->type_count + 1, sizeof(*looks));
	struct ri_ownership *ownership = NULL;
	bool any = false;

	for (size_t t = 0; t < population->type_count; t++) {
		if (!is_learned(layout, &population->types[t]))
			continue;
		any = true;
		looks[t] = RI_OWNERSHIP_LOOK;
	}
	if (any)
		ownership = ri_ownership_learn(input, looks);
	for (size_t i = 0; ownership && i < ownership->types.count; i++)
		if (ri_standing_decide(&ownership->types.items[i]) == RI_STANDING_SUPPORTED)
			wishes[ownership->types.items[i].type] = RI_OWNERSHIP_APPLY;
	ri_ownership_destroy(ownership);
	free(looks);
}

struct ri_type_fit *ri_standings_create(const struct ri_layout *layout,
					const struct ri_ownership_input *input,
					struct ri_ownership **ret_ownership,
					struct ri_gaps *gaps)
{
	const struct ri_population *population = input->population;
	struct ri_type_fit *fits = ri_calloc(population->type_count + 1, sizeof(*fits));
	uint8_t *wishes = ri_calloc(population->type_count + 1, sizeof(*wishes));
	struct ri_ownership *ownership;
	bool any = false;

	wish_learned(layout, input, wishes);
	for (size_t t = 0; t < population->type_count; t++) {
		if (is_inferred(layout, &population->types[t])) {
			wishes[t] = RI_OWNERSHIP_APPLY;
			fits[t].standing = RI_STANDING_UNDECIDED;
		}
		any |= wishes[t] != RI_OWNERSHIP_LEAVE;
	}
	*ret_ownership = ownership = any ? ri_ownership_learn(input, wishes) : NULL;
	free(wishes);
	for (size_t i = 0; ownership && i < ownership->types.count; i++) {
		const struct ri_learned_type *type = &ownership->types.items[i];
		struct ri_type_fit *fit = &fits[type->type];

		fit->objects = type->result.objects;
		fit->fitting = type->result.explained;
		fit->above = type->surplus;
		fit->below = type->deficit;
		fit->is_vague = ri_standing_is_vague(type);
		fit->standing = ri_standing_decide(type);
		if (fit->standing != RI_STANDING_SUPPORTED)
			tell(&population->types[type->type], fit, gaps);
		else {
			tell_bias(layout, &population->types[type->type], fit, gaps);
			tell_undecided(&population->types[type->type], type, gaps);
			tell_moved(ownership, type, input, gaps);
		}
	}
	if (any)
		count_negatives(population, fits);
	return fits;
}

bool *ri_standings_wanted(const struct ri_layout *layout, const struct ri_type_fit *fits)
{
	bool *wanted = ri_calloc(layout->types.count + 1, sizeof(*wanted)), any = false;

	for (size_t t = 0; t < layout->types.count; t++) {
		const struct ri_counted_type *type = &layout->types.items[t];

		wanted[t] = layout->conventions.items[type->convention].is_by_looks ||
			    ((is_inferred(layout, type) || is_learned(layout, type)) &&
			     fits[t].standing != RI_STANDING_REFUTED);
		any |= wanted[t];
	}
	if (any)
		return wanted;
	free(wanted);
	return NULL;
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

static bool is_certain(const struct ri_edge *edge)
{
	return !(edge->flags & (RI_EDGE_POSSIBLE | RI_EDGE_BORROWS | RI_EDGE_LINK | RI_EDGE_EMBEDS));
}

/* Whether the holder is an object of the same type: free objects may be chained like others. */
static bool is_chain(const struct ri_analysis *analysis, uint64_t edge, uint32_t type)
{
	uint32_t source = ri_holders_source(analysis->holders, edge);

	return source < analysis->population->object_count &&
	       analysis->population->objects[source].type == type;
}

bool ri_object_has_taught_owner(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_holders *holders = analysis->holders;
	uint32_t type = analysis->population->objects[object].type;

	if (!analysis->ownership)
		return false;
	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++) {
		const struct ri_edge *edge = &holders->edges[holders->in_edges[i]];

		if (is_certain(edge) && !(edge->flags & RI_EDGE_UNTYPED) &&
		    !is_chain(analysis, holders->in_edges[i], type) &&
		    ri_ownership_is_owning(analysis->ownership, type, edge->class_index))
			return true;
	}
	return false;
}

/* Whether the place is a void pointer of a known struct that the counts taught to own: nothing
 * that uses such a struct leaves it stale. */
static bool is_taught_member(const struct ri_analysis *analysis, const struct ri_edge *edge,
			     uint32_t type)
{
	enum ri_class_kind kind = analysis->shapes->classes.items[edge->class_index].kind;

	return (kind == RI_CLASS_FIELD || kind == RI_CLASS_PLAIN_FIELD) && analysis->ownership &&
	       ri_ownership_is_owning(analysis->ownership, type, edge->class_index);
}

int64_t ri_object_untyped_owners(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_holders *holders = analysis->holders;
	uint32_t type = analysis->population->objects[object].type;
	int64_t count = 0;

	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++) {
		const struct ri_edge *edge = &holders->edges[holders->in_edges[i]];

		count += is_certain(edge) && edge->flags & RI_EDGE_UNTYPED &&
			 !is_taught_member(analysis, edge, type);
	}
	return count;
}
