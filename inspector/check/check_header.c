/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The header of each object: bad-magic, bad-type, bad-count.  One pass over the
 * objects each; which of them speaks for an object is ri_object_cause()'s.  What a
 * type's descriptor says of all its objects is looked at once per type.
 *
 * A group's head carries a magic too in some conventions; a wrong one is the
 * same code, with the group as its subject.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"

/* The first magic rule of the object's convention and what stands there. */
static void explain_magic(struct ri_finding *finding, const struct ri_analysis *analysis,
			  uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];
	const struct ri_counted_type *type = &population->types[o->type];
	const struct ri_convention *convention;
	bool has_image = analysis->target && analysis->target->image;

	if (!analysis->layout || type->convention >= analysis->layout->conventions.count)
		return;
	convention = &analysis->layout->conventions.items[type->convention];
	for (size_t i = 0; has_image && i < convention->magic_count; i++) {
		const struct ri_magic_rule *rule = &convention->magics[i];
		uint64_t base = rule->at_end ? ri_object_end(population, o)
					     : ri_object_header(population, o);
		int64_t value;

		if (!ri_field_read(analysis->target->image, base, &rule->field, &value))
			continue;
		if (rule->field.size_bytes < 8)
			value &= (int64_t)((1ull << 8 * rule->field.size_bytes) - 1);
		if (rule->live_count)
			ri_finding_explain(finding,
					   "magic is 0x%" PRIx64 ", a live object has 0x%" PRIx64,
					   (uint64_t)value, rule->live[0]);
		else
			ri_finding_explain(finding, "magic is 0x%" PRIx64, (uint64_t)value);
	}
}

static void explain_found(struct ri_finding *finding, uint32_t found)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} ways[] = {
		{ RI_FOUND_GROUP, "a group's chain" },
		{ RI_FOUND_POINTER, "a typed pointer" },
		{ RI_FOUND_DESCRIPTOR, "its descriptor" },
		{ RI_FOUND_VARIABLE, "a variable" },
		{ RI_FOUND_EMBEDDED, "the object around it" },
		{ RI_FOUND_MAGIC, "its magic" },
		{ RI_FOUND_ASSUMED, "the user's word" },
		{ RI_FOUND_CONTENT, "its size and content alone" },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (found & ways[i].bit)
			ri_finding_explain(finding, "known by %s", ways[i].text);
}

static void report_magic(const struct ri_check *check, const struct ri_analysis *analysis,
			       struct ri_findings *findings, uint32_t object)
{
	const struct ri_object *o = &analysis->population->objects[object];
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, object);

	ri_finding_summarize(finding, "%s 0x%" PRIx64 " %s", finding->type_name, o->addr,
			     o->state & RI_OBJECT_MAGIC_DEAD
				     ? "carries the magic of a freed object and is still held"
				     : "does not carry its type's magic");
	ri_finding_identify(finding, NULL);
	explain_magic(finding, analysis, object);
	explain_found(finding, o->found);
	ri_finding_explain_holders(finding, analysis, object);
	ri_finding_imply_states(finding, analysis, object);
	ri_finding_explain(finding, "show 0x%" PRIx64, o->addr);
}

static void run_bad_magic(const struct ri_check *check, const struct ri_analysis *analysis,
			  struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t o = 0; o < population->object_count; o++)
		if (ri_object_cause(analysis, o) == RI_CAUSE_BAD_MAGIC)
			report_magic(check, analysis, findings, o);
	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		struct ri_finding *finding;

		if (!(group->state & RI_GROUP_HEAD_BAD_MAGIC) ||
		    (group->state & (RI_GROUP_HEAD_FREED | RI_GROUP_UNINITIALISED)))
			continue;
		finding = ri_finding_of_group(findings, check, analysis, g);
		ri_finding_summarize(finding,
				     "group %s: its head 0x%" PRIx64
				     " does not carry the magic of a group",
				     finding->group_name, group->struct_addr);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "%" PRIu32 " members are chained to it",
				   group->member_count);
		ri_finding_show_group(finding, analysis, g);
	}
}

const struct ri_check ri_check_bad_magic = {
	.code = "bad-magic",
	.severity = RI_SEVERITY_ERROR,
	.summary = "an object does not carry its type's magic",
	.help = "An object that is known from elsewhere (a group chains it, a typed pointer or a "
		"descriptor says so) does not carry the magic of its type. Either the header was "
		"overwritten, or the pointer that leads there is stale. Look at the neighbouring "
		"words with `show`, and at who holds it with `holders`. The magic of a freed "
		"object is told by `freed-object` and `dead-member`, which name this code.",
	.run = run_bad_magic,
};

static void run_freed_object(const struct ri_check *check, const struct ri_analysis *analysis,
			     struct ri_findings *findings)
{
	for (uint32_t o = 0; o < analysis->population->object_count; o++)
		if (ri_object_cause(analysis, o) == RI_CAUSE_FREED_MARK)
			report_magic(check, analysis, findings, o);
}

const struct ri_check ri_check_freed_object = {
	.code = "freed-object",
	.severity = RI_SEVERITY_ERROR,
	.summary = "an object is freed while something certain points at it",
	.help = "The object carries the mark of a freed one, and a certain holder still leads to "
		"it, while its block is not free: it went back to a pool, or its release has "
		"not ended. It was put once too often, or the holder was not cleared. Where the "
		"allocator has taken the block back too, `dangling` tells it; where a group "
		"still chains it, `dead-member`; both name this code beside theirs.",
	.run = run_freed_object,
};

/* The release function that the descriptor of `type` names where that is memory that
 * holds no code; else 0.  Where nothing is known of the memory, neither is this. */
static uint64_t find_bad_release(const struct ri_analysis *analysis,
				 const struct ri_counted_type *type)
{
	const struct ri_layout *layout = analysis->layout;
	const struct ri_range *range;
	int64_t release;

	if (!type->descriptor || !layout || type->convention >= layout->conventions.count ||
	    !analysis->target || !analysis->target->image ||
	    !ri_field_read(analysis->target->image, type->descriptor,
			   &layout->conventions.items[type->convention].descriptor.release,
			   &release) ||
	    !release)
		return 0;
	range = ri_image_find(analysis->target->image, (uint64_t)release);
	return range && !(range->flags & RI_RANGE_EXEC) ? (uint64_t)release : 0;
}

/* A finding per type that has objects: the next one to be freed calls it. */
static void check_releases(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	bool *has_objects = ri_calloc(population->type_count, sizeof(*has_objects));

	for (size_t o = 0; o < population->object_count; o++)
		has_objects[population->objects[o].type] = true;
	for (size_t t = 0; t < population->type_count; t++) {
		const struct ri_counted_type *type = &population->types[t];
		uint64_t release = has_objects[t] ? find_bad_release(analysis, type) : 0;
		struct ri_finding *finding;
		char *place;

		if (!release)
			continue;
		place = ri_evidence_addr(analysis, release);
		finding = ri_findings_add(findings, check, type->descriptor);
		finding->type_name = type->name;
		ri_finding_summarize(finding,
				     "%s: the release function of its descriptor 0x%" PRIx64
				     " is no code",
				     type->name, type->descriptor);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "it leads to %s", place);
		ri_finding_explain(finding, "objects %s", type->name);
		free(place);
	}
	free(has_objects);
}

static void run_bad_type(const struct ri_check *check, const struct ri_analysis *analysis,
			 struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;

	check_releases(check, analysis, findings);
	for (uint32_t o = 0; o < population->object_count; o++) {
		enum ri_object_cause cause;
		struct ri_finding *finding;

		if (!(population->objects[o].state & RI_OBJECT_DESCRIPTOR_BAD))
			continue;
		cause = ri_object_cause(analysis, o);
		if (cause != RI_CAUSE_NONE && cause != RI_CAUSE_BAD_COUNT)
			continue;
		finding = ri_finding_of_object(findings, check, analysis, o);
		ri_finding_summarize(
			finding, "%s 0x%" PRIx64 ": its descriptor pointer is none of its type's",
			finding->type_name, finding->addr);
		ri_finding_identify(finding, NULL);
		explain_found(finding, population->objects[o].found);
		ri_finding_explain(finding, "show 0x%" PRIx64, finding->addr);
	}
}

const struct ri_check ri_check_bad_type = {
	.code = "bad-type",
	.severity = RI_SEVERITY_ERROR,
	.summary = "an object's type descriptor is not one of its type's",
	.help = "The pointer to the type descriptor or vtable in the header does not lead to a "
		"descriptor that the object's type has. A call through it would run code of "
		"another type, or none. The header was overwritten, or the memory was used for "
		"another object meanwhile. Told once per type where the descriptor itself names a "
		"release function that lies in no executable memory.",
	.run = run_bad_type,
};

static const char *count_fault(uint32_t state)
{
	if (state & RI_OBJECT_SATURATED)
		return "is saturated: it was counted beyond its range and will never reach zero";
	if (state & RI_OBJECT_COUNT_IMPOSSIBLE)
		return "is impossible for its type";
	return "says that it is dead while it is held";
}

static void run_bad_count(const struct ri_check *check, const struct ri_analysis *analysis,
			  struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	int64_t *offsets = analysis->holders ? ri_policy_offsets(analysis) : NULL;

	for (uint32_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		struct ri_finding *finding;

		if (ri_object_cause(analysis, o) != RI_CAUSE_BAD_COUNT ||
		    (offsets && ri_policy_explains_death(analysis, offsets, o)))
			continue;
		finding = ri_finding_of_object(findings, check, analysis, o);
		ri_finding_summarize(finding, "%s 0x%" PRIx64 ": count %" PRId64 " %s",
				     finding->type_name, object->addr, object->count,
				     count_fault(object->state));
		ri_finding_identify(finding, NULL);
		if (object->count < 0)
			ri_finding_explain(finding, "negative: put more often than it was taken");
		ri_finding_explain(finding, "%" PRId64 " certain and %" PRId64 " possible holders",
				   finding->certain, finding->possible);
		ri_finding_explain_holders(finding, analysis, o);
		ri_finding_imply_states(finding, analysis, o);
		ri_finding_explain(finding, "holders 0x%" PRIx64, object->addr);
	}
	free(offsets);
}

const struct ri_check ri_check_bad_count = {
	.code = "bad-count",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a count has a value that no sound object has",
	.help = "The stored count itself cannot be right: negative, saturated, a poison value, "
		"beyond what the type allows, or zero while somebody certain holds the object. "
		"Usually one reference too many was dropped, or the count was overwritten. "
		"`holders` lists who would use the object after it is gone.",
	.run = run_bad_count,
};
