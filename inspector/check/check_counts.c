/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stored counts against their holders: surplus and deficit, for objects whose
 * header is sound.  An object marked as no leak is not compared from above:
 * the program says that something outside this memory holds it.
 *
 * A leaked object that nothing holds has a surplus for the same cause as it is
 * unreachable; that finding names this code, and there is none of its own.
 *
 * Types that were found by their shape and that memory does not support are left out.
 *
 * Objects of a type whose counts are nearly all off by one constant (policy)
 * are left to that note where they have exactly that constant.
 *
 * For every surplus the bound is computed, one pass over memory for all: with
 * fewer words in all memory than the count says, no rule of ownership could
 * explain it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "census/address_map.h"
#include "check/cause.h"
#include "check/flux.h"
#include "check/leak.h"

/* [start, end) that handles of `object` can point into: its block, unless that
 * holds other objects too. */
static struct ri_bound_query bound_query(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];
	struct ri_bound_query query = { ri_object_start(population, o),
					ri_object_end(population, o), 0 };
	const struct ri_block *block;
	bool is_shared;

	if (!analysis->heap || o->block >= analysis->heap->block_count)
		return query;
	is_shared = (object > 0 && population->objects[object - 1].block == o->block) ||
		    (object + 1 < population->object_count &&
		     population->objects[object + 1].block == o->block);
	block = &analysis->heap->blocks[o->block];
	if (!is_shared && block->addr <= query.start) {
		query.start = block->addr;
		if (block->addr + block->size_bytes > query.end)
			query.end = block->addr + block->size_bytes;
	}
	return query;
}

/* Whether the object may as well be a free slot of a pool, whose count was left as it was. */
static bool is_slot_alone(const struct ri_analysis *analysis, uint32_t object)
{
	return analysis->population->objects[object].found == RI_FOUND_CONTENT &&
	       !analysis->holders->certain[object] && !analysis->holders->possible[object];
}

/* Whether `residual` of `object` is a finding; `offset` is its type's policy. */
static bool is_off(const struct ri_analysis *analysis, uint32_t object, int64_t offset,
		   int64_t residual)
{
	uint32_t held = analysis->holders->certain[object];

	if (!residual || ri_object_cause(analysis, object) != RI_CAUSE_NONE ||
	    ri_object_standing(analysis, object) == RI_STANDING_UNDECIDED)
		return false;
	if (residual > 0 && (analysis->population->objects[object].state & RI_OBJECT_NOT_LEAK))
		return false;
	if (residual > 0 && ri_object_is_leak_root(analysis, object) &&
	    (ri_object_is_in_used_block(analysis, object) || is_slot_alone(analysis, object)))
		return false;
	if (offset && residual == offset && (held || analysis->holders->possible[object]) &&
	    !ri_object_is_unreachable(analysis, object))
		return false;
	return true;
}

static bool owns_members(const struct ri_weight *weight)
{
	return weight->kind != RI_WEIGHT_FIXED || weight->weight > 0;
}

/* Per rule whose membership owns, whether a group of it has lost members. */
static bool *find_lossy_rules(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	bool *lossy = NULL;

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];

		if (!(group->state & (RI_GROUP_INCOMPLETE | RI_GROUP_LOOP)) ||
		    !ri_group_rule_of(analysis, g) || !owns_members(&group->membership))
			continue;
		if (!lossy)
			lossy = ri_calloc(analysis->layout->groups.count, sizeof(*lossy));
		lossy[group->rule] = true;
	}
	return lossy;
}

/* Whether some group of rule `r` chains `object`. */
static bool is_chained_by(const struct ri_population *population, uint32_t object, uint32_t r)
{
	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		uint32_t m = population->member_of[i];

		if (population->groups[population->memberships[m].group].rule == r)
			return true;
	}
	return false;
}

/* From how many kinds of damaged group the object may have been lost: it fits the rule, and
 * no group of that rule chains it.  Each may own one reference. */
static int64_t count_lost_memberships(const struct ri_analysis *analysis, const bool *lossy,
				      uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];
	uint32_t convention = population->types[o->type].convention;
	int64_t count = 0;

	for (uint32_t r = 0; lossy && r < analysis->layout->groups.count; r++) {
		const struct ri_group_rule *rule = &analysis->layout->groups.items[r];

		if (lossy[r] &&
		    (rule->element_convention != RI_LAYOUT_NONE
			     ? rule->element_convention == convention
			     : rule->element_type == o->type) &&
		    !is_chained_by(population, object, r))
			count++;
	}
	return count;
}

/* A count that is off by one may be between its get and the store of the pointer. */
static void consider_flux(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct ri_flux *flux, int64_t residual)
{
	struct ri_flux_thing thing = ri_flux_object(analysis, finding->object);

	if (residual == 1 || residual == -1)
		ri_finding_consider_flux(finding, analysis, flux, &thing, 1, 1, RI_NONE,
					 finding->object);
}

/* Where the counts of most objects do not tell who owns, they hardly tell who borrows. */
static void rest_on_borrowers(struct ri_finding *finding, const struct ri_analysis *analysis,
			      uint64_t words)
{
	if (finding->status != RI_FINDING_SURE || (uint64_t)finding->stored > words ||
	    ri_object_standing(analysis, finding->object) != RI_STANDING_SUPPORTED ||
	    !analysis->fits[analysis->population->objects[finding->object].type].is_vague)
		return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: enough words point at it, and the counts of "
				    "its type do not tell which of them own");
}

/* Where more counts would be right if all of them started elsewhere, it is not known that this
 * one is wrong. */
static void rest_on_convention(struct ri_finding *finding, const struct ri_analysis *analysis)
{
	if (finding->status != RI_FINDING_SURE ||
	    ri_object_standing(analysis, finding->object) != RI_STANDING_SUPPORTED ||
	    !analysis->ownership->ranges[finding->object].is_otherwise)
		return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: if all counts of its type started one higher "
				    "or lower, this one and more others would be right");
}

static void report_surplus(struct ri_finding *finding, const struct ri_analysis *analysis,
			   const struct ri_flux *flux, const struct ri_absence *absence,
			   const struct ri_bound_query *bound, int64_t lost_memberships)
{
	int64_t surplus = ri_object_residual(analysis, finding->object);
	int64_t holders = finding->certain + finding->possible;
	const struct ri_object *object = &analysis->population->objects[finding->object];

	ri_finding_summarize(finding,
			     "%s 0x%" PRIx64 ": count %" PRId64 ", %" PRId64 " holder%s: %" PRId64
			     " more than anything here holds",
			     finding->type_name, finding->addr, finding->stored, holders,
			     holders == 1 ? "" : "s", surplus);
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding,
			   "count %" PRId64 ", certain holders %" PRId64
			   ", possible holders %" PRId64,
			   finding->stored, finding->certain, finding->possible);
	ri_finding_explain_holders(finding, analysis, finding->object);
	if (finding->stored > 0 && (uint64_t)finding->stored > bound->words)
		ri_finding_explain(finding,
				   "%" PRIu64 " word%s in all memory point%s at it: no arrangement of "
				   "ownership explains the count",
				   bound->words, bound->words == 1 ? "" : "s",
				   bound->words == 1 ? "s" : "");
	else
		ri_finding_explain(finding,
				   "%" PRIu64 " word%s in all memory point%s at it, stale and untyped "
				   "ones included",
				   bound->words, bound->words == 1 ? "" : "s",
				   bound->words == 1 ? "s" : "");
	ri_finding_explain(finding, "leaked, or held from outside this memory");
	if (object->state & RI_OBJECT_STATIC)
		ri_finding_explain(finding,
				   "it lies in static memory: one more is allowed for, a first "
				   "reference that nobody ever puts");
	ri_finding_imply_states(finding, analysis, finding->object);
	if (surplus <= lost_memberships) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding,
				   "could not check: a chain that owns its members is damaged, and "
				   "the object may be in the part that was not walked");
	}
	rest_on_borrowers(finding, analysis, bound->words);
	if ((uint64_t)finding->stored <= bound->words + 1)
		rest_on_convention(finding, analysis);
	ri_finding_rest_on_absence(finding, analysis, absence);
	ri_finding_rest_on_registers(finding, absence, (uint64_t)surplus);
	ri_finding_rest_on_liveness(finding, analysis);
	consider_flux(finding, analysis, flux, surplus);
	ri_finding_explain(finding, "holders 0x%" PRIx64, finding->addr);
}

#define CLASS_EDGES_MIN 5 /* so many holders of a class to objects tell that it is one of such */

/* Holders per class and type of the object that they lead to, where wanted[type]. */
struct class_tally {
	const struct ri_analysis *analysis;
	struct ri_address_map edges;
};

/* Not 0, which the map does not hold. */
static uint64_t tally_key(const struct class_tally *tally, const struct ri_edge *edge)
{
	uint64_t type = tally->analysis->population->objects[edge->target].type;

	return type << 32 | ((uint64_t)edge->class_index + 1);
}

static void tally_classes(struct class_tally *tally, const bool *wanted)
{
	const struct ri_holders *holders = tally->analysis->holders;

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];
		uint32_t before;

		if (edge->target >= holders->object_count ||
		    !wanted[tally->analysis->population->objects[edge->target].type])
			continue;
		before = ri_address_map_find(&tally->edges, tally_key(tally, edge));
		ri_address_map_set(&tally->edges, tally_key(tally, edge),
				   before == RI_NONE ? 1 : before + 1);
	}
}

static bool is_held_as_object(const struct class_tally *tally, uint32_t object)
{
	const struct ri_holders *holders = tally->analysis->holders;

	for (uint64_t at = holders->in_first[object]; at < holders->in_first[object + 1]; at++) {
		const struct ri_edge *edge = &holders->edges[holders->in_edges[at]];

		if (ri_address_map_find(&tally->edges, tally_key(tally, edge)) >= CLASS_EDGES_MIN)
			return true;
	}
	return false;
}

static bool is_looks_alone(const struct ri_analysis *analysis, const struct ri_finding *finding)
{
	return finding->status == RI_FINDING_SURE && !finding->certain && finding->possible &&
	       analysis->population->objects[finding->object].found == RI_FOUND_CONTENT;
}

/* What is known by its content alone, and held by nothing certain nor by a place that leads to
 * other objects, may be something else of the same size, such as a buffer. */
static void doubt_looks(struct ri_findings *findings, size_t first,
			const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	bool *wanted = ri_calloc(population->type_count + 1, sizeof(*wanted)), any = false;
	struct class_tally tally = { .analysis = analysis };

	for (size_t i = first; i < findings->count; i++)
		if (is_looks_alone(analysis, &findings->items[i]))
			any = wanted[population->objects[findings->items[i].object].type] = true;
	if (any)
		tally_classes(&tally, wanted);
	for (size_t i = first; any && i < findings->count; i++) {
		struct ri_finding *finding = &findings->items[i];

		if (!is_looks_alone(analysis, finding) ||
		    is_held_as_object(&tally, finding->object))
			continue;
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding, "could not check: it is known by the size and content "
					    "of its block alone, and nothing that points at it "
					    "tells its type");
	}
	ri_address_map_deinit(&tally.edges);
	free(wanted);
}

static void run_surplus(const struct ri_check *check, const struct ri_analysis *analysis,
			struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	struct ri_absence absence = ri_absence_measure(analysis);
	int64_t *offsets = ri_policy_offsets(analysis);
	RI_VEC(uint32_t) suspects = { 0 };
	struct ri_bound_query *queries;
	bool *lossy = find_lossy_rules(analysis);
	struct ri_flux *flux = ri_flux_create(analysis);
	size_t first = findings->count;

	for (uint32_t o = 0; o < population->object_count; o++) {
		int64_t residual = ri_object_residual(analysis, o);

		if (residual > 0 &&
		    is_off(analysis, o, offsets[population->objects[o].type], residual))
			*ri_push(&suspects) = o;
	}
	queries = ri_calloc(suspects.count, sizeof(*queries));
	for (size_t i = 0; i < suspects.count; i++)
		queries[i] = bound_query(analysis, suspects.items[i]);
	if (suspects.count)
		ri_holders_bound(analysis->target, queries, suspects.count);
	for (size_t i = 0; i < suspects.count; i++)
		report_surplus(ri_finding_of_object(findings, check, analysis, suspects.items[i]),
			       analysis, flux, &absence, &queries[i],
			       count_lost_memberships(analysis, lossy, suspects.items[i]));
	doubt_looks(findings, first, analysis);
	ri_flux_destroy(flux);
	free(lossy);
	free(queries);
	ri_vec_deinit(&suspects);
	free(offsets);
}

const struct ri_check ri_check_surplus = {
	.code = "surplus",
	.severity = RI_SEVERITY_WARNING,
	.summary = "a count is higher than everything that holds the object",
	.help = "The stored count exceeds all certain and possible holders that were found in "
		"memory (for a static object and one more, the reference that it may start with "
		"and nobody puts). A reference was taken and its pointer forgotten, so the object can never "
		"be freed; or something outside this memory holds it (the kernel, another "
		"process). The evidence gives the number of words in all memory that point at it: "
		"where even that is less than the count, no rule of ownership could explain it.",
	.run = run_surplus,
};

/* Of a type that was found by its shape untyped words may be learned to own; one that holds
 * too much is as likely stale. */
static void rest_on_untyped(struct ri_finding *finding, const struct ri_analysis *analysis,
			    int64_t residual)
{
	if (ri_object_standing(analysis, finding->object) != RI_STANDING_SUPPORTED ||
	    residual + ri_object_untyped_owners(analysis, finding->object) < 0)
		return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: it rests on words of no known type, which may "
				    "be stale");
}

#define ZEROS_PERCENT 5 /* of a type's objects: a few may be cached */

/* Where many objects that are in use count 0, counts may be of further owners alone, though what
 * was learned did not bear that out: then one holder too many is none. */
static void rest_on_start(struct ri_finding *finding, const struct ri_analysis *analysis,
			  int64_t residual)
{
	const struct ri_type_fit *fit;

	if (residual != -1 ||
	    ri_object_standing(analysis, finding->object) != RI_STANDING_SUPPORTED)
		return;
	fit = &analysis->fits[analysis->population->objects[finding->object].type];
	if (fit->zeros * 100 < fit->objects * ZEROS_PERCENT)
		return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: %" PRIu64 " objects of its type are in use and "
				    "count 0, so that counts may start there", fit->zeros);
}

static void run_deficit(const struct ri_check *check, const struct ri_analysis *analysis,
			struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	int64_t *offsets = ri_policy_offsets(analysis);
	struct ri_flux *flux = ri_flux_create(analysis);

	for (uint32_t o = 0; o < population->object_count; o++) {
		int64_t residual = ri_object_residual(analysis, o);
		struct ri_finding *finding;

		if (residual >= 0 ||
		    !is_off(analysis, o, offsets[population->objects[o].type], residual))
			continue;
		finding = ri_finding_of_object(findings, check, analysis, o);
		ri_finding_summarize(finding,
				     "%s 0x%" PRIx64 ": count %" PRId64 ", but %" PRId64
				     " certain holder%s: %" PRId64 " too few",
				     finding->type_name, finding->addr, finding->stored,
				     finding->certain, finding->certain == 1 ? "" : "s", -residual);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding,
				   "count %" PRId64 ", certain holders %" PRId64
				   ", possible holders %" PRId64,
				   finding->stored, finding->certain, finding->possible);
		ri_finding_explain_holders(finding, analysis, o);
		ri_finding_explain(finding, "it will be freed while it is still held");
		rest_on_untyped(finding, analysis, residual);
		rest_on_start(finding, analysis, residual);
		rest_on_convention(finding, analysis);
		ri_finding_imply_states(finding, analysis, o);
		ri_finding_rest_on_liveness(finding, analysis);
		consider_flux(finding, analysis, flux, residual);
		ri_finding_explain(finding, "holders 0x%" PRIx64, finding->addr);
	}
	ri_flux_destroy(flux);
	free(offsets);
}

const struct ri_check ri_check_deficit = {
	.code = "deficit",
	.severity = RI_SEVERITY_ERROR,
	.summary = "more certain holders than the count says: an early free is bound to happen",
	.help = "More holders certainly own a reference than the stored count says. When they all "
		"put theirs, the count reaches zero while one still points at the object: a use "
		"after free. A get is missing, or one reference was put twice. If the holders of "
		"one class only borrow, say so in a profile (`borrows`).",
	.run = run_deficit,
};
