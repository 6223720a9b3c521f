/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * orphan and dead-group: objects without the group they name, groups without
 * the head their members need.
 *
 * An orphan is a living object whose back pointer names a known group while no
 * group of a rule with back pointers chains it (one that is chained elsewhere is
 * wrong-group), or whose membership rule says that it is in a group of a kind
 * that chains it nowhere.  An object may have a back pointer for each of several
 * kinds of group; each is looked at.  Costs objects times rules with a membership
 * rule or a back pointer, and those are as many as profiles declare.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/cause.h"
#include "check/flux.h"
#include "check/membership.h"
#include "profile/infer_groups.h"

static uint32_t first_of(const struct ri_population *population, uint32_t object)
{
	return population->member_of_first ? population->member_of_first[object] : 0;
}

static uint32_t end_of(const struct ri_population *population, uint32_t object)
{
	return population->member_of_first ? population->member_of_first[object + 1] : 0;
}

/* Whether some group chains `object` whose rule has a back pointer. */
static bool is_chained_with_back(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t i = first_of(population, object); i < end_of(population, object); i++) {
		uint32_t m = population->member_of[i];
		const struct ri_group_rule *rule =
			ri_group_rule_of(analysis, population->memberships[m].group);

		if ((rule && rule->back.is_present) ||
		    population->memberships[m].group == population->back_group[object])
			return true;
	}
	return false;
}

static bool is_chained_by_rule(const struct ri_population *population, uint32_t object,
			       uint32_t rule)
{
	for (uint32_t i = first_of(population, object); i < end_of(population, object); i++) {
		uint32_t m = population->member_of[i];

		if (population->groups[population->memberships[m].group].rule == rule)
			return true;
	}
	return false;
}

static bool is_damaged(const struct ri_group *group)
{
	return group->state & (RI_GROUP_INCOMPLETE | RI_GROUP_LOOP);
}

static void finish(struct ri_finding *finding, const struct ri_analysis *analysis,
		   const struct ri_absence *absence, bool may_be_lost)
{
	if (may_be_lost) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding,
				   "could not check: the chain is damaged, and the object may "
				   "be in the part that was not walked");
	}
	ri_finding_rest_on_absence(finding, analysis, absence);
	ri_finding_consider_lock(finding, analysis);
	ri_finding_explain(finding, "show 0x%" PRIx64, finding->addr);
}

static void report_by_back(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings, const struct ri_absence *absence,
			   uint32_t object, uint32_t group)
{
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, object);

	ri_finding_set_group(finding, analysis, group);
	ri_finding_summarize(finding, "%s 0x%" PRIx64 " says that it is in group %s and is not",
			     finding->type_name, finding->addr, finding->group_name);
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding,
			   "its back pointer names the group at 0x%" PRIx64
			   ", which chains %" PRIu32 " members",
			   analysis->population->groups[group].struct_addr,
			   analysis->population->groups[group].member_count);
	*ri_push(&finding->addrs) = analysis->population->groups[group].struct_addr;
	finish(finding, analysis, absence, is_damaged(&analysis->population->groups[group]));
}

/*
 * Objects with several back pointers
 */

/* What the back pointers to a group hold, by rule and value. */
struct back_target {
	uint32_t rule, group;
	uint64_t value;
};

struct back_targets {
	RI_VEC(uint32_t) rules; /* those with a back pointer */
	struct back_target *items;
	size_t count;
};

static int compare_back_targets(const void *a, const void *b)
{
	const struct back_target *x = a, *y = b;

	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Nothing where one rule has a back pointer: then the population knows all of them. */
static void collect_back_targets(const struct ri_analysis *analysis, struct back_targets *ret)
{
	const struct ri_population *population = analysis->population;

	*ret = (struct back_targets){ 0 };
	for (uint32_t r = 0; r < analysis->layout->groups.count; r++) {
		const struct ri_group_rule *rule = &analysis->layout->groups.items[r];

		if (rule->back.is_present)
			*ri_push(&ret->rules) = r;
	}
	if (ret->rules.count < 2) {
		ret->rules.count = 0;
		return;
	}
	ret->items = ri_calloc(population->group_count, sizeof(*ret->items));
	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);

		if (rule && rule->back.is_present && !(group->state & RI_GROUP_HEAD_FREED))
			ret->items[ret->count++] = (struct back_target){
				group->rule, g, rule->back_to_head ? group->head : group->struct_addr
			};
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_back_targets);
}

/* Whether a group chains `object` whose back pointer is the same word as that of `rule`. */
static bool is_chained_by_word(const struct ri_analysis *analysis, uint32_t object,
			       const struct ri_group_rule *rule)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t i = first_of(population, object); i < end_of(population, object); i++) {
		const struct ri_group_rule *other = ri_group_rule_of(
			analysis, population->memberships[population->member_of[i]].group);

		if (other && other->back.is_present &&
		    other->element_convention == rule->element_convention &&
		    other->element_type == rule->element_type &&
		    other->back.offset_bytes == rule->back.offset_bytes)
			return true;
	}
	return false;
}

/* Rules that have a membership rule, and what is known of their groups. */
struct rule_state {
	bool is_damaged; /* some group of it */
	bool has_group;
};

static bool fits_rule(const struct ri_analysis *analysis, const struct ri_group_rule *rule,
		      const struct ri_object *object)
{
	uint32_t convention = analysis->population->types[object->type].convention;

	return rule->element_convention != RI_LAYOUT_NONE ? rule->element_convention == convention
							  : rule->element_type == object->type;
}

/* The group that one of the back pointers of `o` names, while no group chains it whose
 * members have that pointer; RI_NONE if there is none.  Where there are several, one that was
 * walked whole: in a damaged one the object may be after all. */
static uint32_t find_lost_group(const struct ri_analysis *analysis,
				const struct back_targets *targets, uint32_t o)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *object = &population->objects[o];
	uint32_t damaged = RI_NONE;

	for (size_t i = 0; i < targets->rules.count; i++) {
		struct back_target key = { .rule = targets->rules.items[i] };
		const struct ri_group_rule *rule = &analysis->layout->groups.items[key.rule];
		const struct back_target *found;
		int64_t value;

		if (!fits_rule(analysis, rule, object) || is_chained_by_word(analysis, o, rule) ||
		    !ri_field_read(analysis->target->image,
				   rule->element_convention != RI_LAYOUT_NONE
					   ? ri_object_header(population, object)
					   : object->addr,
				   &rule->back, &value))
			continue;
		key.value = (uint64_t)value;
		found = bsearch(&key, targets->items, targets->count, sizeof(key),
				compare_back_targets);
		if (found && !is_damaged(&population->groups[found->group]))
			return found->group;
		if (found)
			damaged = found->group;
	}
	return damaged;
}

static void report_by_rule(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings, const struct ri_absence *absence,
			   uint32_t o, const struct ri_group_rule *rule, bool may_be_lost)
{
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, o);

	finding->group = RI_NONE;
	finding->group_name = rule->name             ? rule->name
			      : rule->variable_name  ? rule->variable_name
			      : rule->head_type_name ? rule->head_type_name
						     : "(unnamed group)";
	ri_finding_summarize(finding,
			     "%s 0x%" PRIx64 ": by its own state it must be in group %s and is not",
			     finding->type_name, finding->addr, finding->group_name);
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding, "the membership rule of the profile holds (%s:%u)",
			   rule->mark.file ? rule->mark.file : "profile", rule->mark.line);
	finish(finding, analysis, absence, may_be_lost);
}

static void check_rules(const struct ri_check *check, const struct ri_analysis *analysis,
			struct ri_findings *findings, const struct ri_absence *absence,
			const struct rule_state *states, uint32_t o)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *object = &population->objects[o];

	for (uint32_t r = 0; r < analysis->layout->groups.count; r++) {
		const struct ri_group_rule *rule = &analysis->layout->groups.items[r];
		uint64_t base;

		if (!rule->rule.is_present || !states[r].has_group ||
		    !fits_rule(analysis, rule, object) || is_chained_by_rule(population, o, r))
			continue;
		base = rule->element_convention != RI_LAYOUT_NONE
			       ? ri_object_header(population, object)
			       : object->addr;
		if (!ri_condition_holds(analysis->target->image, base, &rule->rule))
			continue;
		report_by_rule(check, analysis, findings, absence, o, rule, states[r].is_damaged);
		return;
	}
}

static struct rule_state *survey_rules(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	struct rule_state *states = ri_calloc(analysis->layout->groups.count, sizeof(*states));

	for (size_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];

		if (group->rule >= analysis->layout->groups.count)
			continue;
		states[group->rule].has_group = true;
		states[group->rule].is_damaged |= is_damaged(group);
	}
	return states;
}

/* The group that `object` names and is not in, or RI_NONE. */
static uint32_t orphaned_from(const struct ri_analysis *analysis,
			      const struct back_targets *targets, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t group = population->back_group ? population->back_group[object] : RI_NONE, other;

	if (group != RI_NONE && (population->groups[group].state & RI_GROUP_HEAD_FREED ||
				 is_chained_with_back(analysis, object)))
		group = RI_NONE;
	if (group != RI_NONE && !is_damaged(&population->groups[group]))
		return group;
	other = targets->count ? find_lost_group(analysis, targets, object) : RI_NONE;
	return other != RI_NONE ? other : group;
}

static void run_orphan(const struct ri_check *check, const struct ri_analysis *analysis,
		       struct ri_findings *findings)
{
	struct ri_absence absence = ri_absence_measure(analysis);
	struct rule_state *states = NULL;
	struct back_targets targets = { 0 };

	if (analysis->layout && analysis->target && analysis->target->image) {
		states = survey_rules(analysis);
		collect_back_targets(analysis, &targets);
	}
	for (uint32_t o = 0; o < analysis->population->object_count; o++) {
		uint32_t group;

		if (ri_object_cause(analysis, o) != RI_CAUSE_NONE)
			continue;
		group = orphaned_from(analysis, &targets, o);
		if (group != RI_NONE)
			report_by_back(check, analysis, findings, &absence, o, group);
		else if (states)
			check_rules(check, analysis, findings, &absence, states, o);
	}
	free(states);
	free(targets.items);
	ri_vec_deinit(&targets.rules);
}

const struct ri_check ri_check_orphan = {
	.code = "orphan",
	.severity = RI_SEVERITY_ERROR,
	.summary = "an object says that it belongs to a group and is not in it",
	.help = "A living object's back pointer names a group whose chain does not contain it, or "
		"its state fulfils the membership rule of the profile without any group chaining "
		"it. Code that iterates the group misses it: it will not be closed, timed out or "
		"released with the others. It was removed without clearing the pointer, or the "
		"chain was cut.",
	.run = run_orphan,
};

/* Members that are not dead themselves; `are_reached`: and that something leads to. */
static uint64_t count_living(const struct ri_analysis *analysis, const struct ri_group *group,
			     bool are_reached)
{
	const struct ri_population *population = analysis->population;
	uint64_t living = 0;

	for (uint32_t i = 0; i < group->member_count; i++) {
		uint32_t object = population->memberships[group->first_member + i].object;

		living += !(population->objects[object].state & RI_OBJECT_DEAD_BITS) &&
			  !(are_reached && ri_object_is_unreachable(analysis, object));
	}
	return living;
}

/* Whether nothing but its count says that the object is dead, and what that means was found by
 * shape: counts of some programs start at 0. */
static bool is_dead_by_guess(const struct ri_analysis *analysis, uint32_t object)
{
	return ri_object_standing(analysis, object) != RI_STANDING_DECLARED &&
	       (analysis->population->objects[object].state & RI_OBJECT_DEAD_BITS) ==
		       RI_OBJECT_COUNT_DEAD;
}

static bool is_inferred_group(const struct ri_analysis *analysis, const struct ri_group *group)
{
	return group->rule != RI_NONE &&
	       ri_group_is_inferred(&analysis->layout->groups.items[group->rule]);
}

/* Why the group is dead, or null.  What hangs on an object that leaked, the leak tells; that it
 * should not have been listed there only a declared rule knows. */
static const char *death_of_group(const struct ri_analysis *analysis, const struct ri_group *group,
				  bool *ret_is_reach)
{
	enum ri_object_cause cause;

	*ret_is_reach = false;
	if (group->state & RI_GROUP_HEAD_FREED)
		return "its head lies in freed memory";
	if (group->object == RI_NONE)
		return NULL;
	cause = ri_object_cause(analysis, group->object);
	if (cause == RI_CAUSE_EXEMPT || cause == RI_CAUSE_BAD_MAGIC || cause == RI_CAUSE_FREED_MARK)
		return NULL;
	if (is_dead_by_guess(analysis, group->object))
		return NULL;
	if (analysis->population->objects[group->object].state & RI_OBJECT_DEAD_BITS)
		return "the object that contains its head is dead";
	if (cause == RI_CAUSE_NONE && ri_object_is_unreachable(analysis, group->object) &&
	    !is_inferred_group(analysis, group)) {
		*ret_is_reach = true;
		return "the object that contains its head is unreachable";
	}
	return NULL;
}

static void run_dead_group(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	struct ri_absence absence = ri_absence_measure(analysis);

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		bool rests_on_reach;
		const char *why = death_of_group(analysis, group, &rests_on_reach);
		uint64_t living = why ? count_living(analysis, group, rests_on_reach) : 0;
		struct ri_finding *finding;

		if (!living)
			continue;
		finding = ri_finding_of_group(findings, check, analysis, g);
		ri_finding_summarize(finding,
				     "group %s: %s while it has %" PRIu64 " living members",
				     finding->group_name, why, living);
		ri_finding_identify(finding, NULL);
		if (group->object != RI_NONE)
			ri_finding_explain(finding, "the head is part of %s 0x%" PRIx64,
					   ri_object_type_name(analysis, group->object),
					   population->objects[group->object].addr);
		if (group->break_count)
			ri_finding_imply(finding, "broken-link");
		if (rests_on_reach)
			ri_finding_rest_on_absence(finding, analysis, &absence);
		if (rests_on_reach || (group->state & RI_GROUP_HEAD_FREED))
			ri_finding_rest_on_liveness(finding, analysis);
		ri_finding_show_group(finding, analysis, g);
	}
}

const struct ri_check ri_check_dead_group = {
	.code = "dead-group",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group is gone while it has members",
	.help = "The head of a group lies in freed memory, or the object around it is dead or "
		"unreachable, while living objects are still chained to it. Removing one of them "
		"writes into the freed head. The group must be emptied before it is released, or "
		"each member must hold a reference to it. A group that is lost together with all "
		"its members is part of that leak, not told here.",
	.run = run_dead_group,
};
