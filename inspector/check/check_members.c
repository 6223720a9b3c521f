/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The members of each group: dead-member, foreign-member, wrong-group.  One pass
 * over the memberships (or over the foreign nodes) each.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"
#include "check/flux.h"
#include "check/membership.h"

#define MEMBERSHIPS_LISTED 8

/* Per object, the index of the first break that lies in it, or RI_NONE; null
 * where there is no break at all. */
static uint32_t *index_breaks(const struct ri_population *population)
{
	uint32_t *first;

	if (!population->break_count)
		return NULL;
	first = ri_malloc(population->object_count * sizeof(*first));
	for (size_t o = 0; o < population->object_count; o++)
		first[o] = RI_NONE;
	for (size_t i = population->break_count; i-- > 0;)
		if (population->breaks[i].object != RI_NONE)
			first[population->breaks[i].object] = (uint32_t)i;
	return first;
}

static const char *death(uint32_t state)
{
	if (state & RI_OBJECT_FREED)
		return "lies in a free block";
	if (state & RI_OBJECT_MAGIC_DEAD)
		return "carries the magic of a freed object";
	return "has a dead count";
}

static void explain_break(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct ri_group_break *fault)
{
	char *value = ri_evidence_addr(analysis, fault->value);

	ri_finding_explain(finding, "its link word 0x%" PRIx64 " holds %s: %s", fault->word_addr,
			   value, fault->what);
	ri_finding_imply(finding, "broken-link");
	free(value);
}

static void explain_memberships(struct ri_finding *finding, const struct ri_analysis *analysis,
				uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t first = population->member_of_first[object];
	uint32_t count = population->member_of_first[object + 1] - first;

	for (uint32_t i = 0; i < count && i < MEMBERSHIPS_LISTED; i++) {
		const struct ri_membership *m =
			&population->memberships[population->member_of[first + i]];

		ri_finding_explain(finding, "chained in %s at node 0x%" PRIx64,
				   ri_group_label(analysis, m->group), m->node);
	}
	if (count > MEMBERSHIPS_LISTED)
		ri_finding_explain(finding, "and in %" PRIu32 " more places",
				   count - MEMBERSHIPS_LISTED);
}

static void report_dead_member(const struct ri_check *check, const struct ri_analysis *analysis,
			       struct ri_findings *findings, uint32_t o,
			       const struct ri_group_break *fault)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *object = &population->objects[o];
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, o);

	ri_finding_summarize(finding, "group %s: member %s 0x%" PRIx64 " %s", finding->group_name,
			     finding->type_name, object->addr, death(object->state));
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding, "count %" PRId64 "%s%s%s", object->count,
			   object->state & RI_OBJECT_COUNT_DEAD ? " (dead)" : "",
			   object->state & RI_OBJECT_MAGIC_DEAD ? ", freed magic" : "",
			   object->state & RI_OBJECT_FREED ? ", in a free block" : "");
	explain_memberships(finding, analysis, o);
	ri_finding_explain_holders(finding, analysis, o);
	ri_finding_imply_states(finding, analysis, o);
	if (fault && (object->state & RI_OBJECT_FREED))
		explain_break(finding, analysis, fault);
	if (!(object->state & (RI_OBJECT_MAGIC_DEAD | RI_OBJECT_COUNT_DEAD)))
		ri_finding_rest_on_liveness(finding, analysis);
	ri_finding_show_group(finding, analysis, finding->group);
}

static void run_dead_member(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	uint32_t *break_of = index_breaks(population);

	for (uint32_t o = 0; o < population->object_count; o++)
		if (ri_object_cause(analysis, o) == RI_CAUSE_DEAD_MEMBER)
			report_dead_member(check, analysis, findings, o,
					   break_of && break_of[o] != RI_NONE
						   ? &population->breaks[break_of[o]]
						   : NULL);
	free(break_of);
}

const struct ri_check ri_check_dead_member = {
	.code = "dead-member",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group chains an object that is dead",
	.help = "An object whose count is dead, whose header carries the freed magic, or whose "
		"block is free is still chained in a group. Code that iterates the group will "
		"use it. It was put to zero without being removed, or a lookup that takes a "
		"reference raced with the last put.",
	.run = run_dead_member,
};

static void run_foreign_member(const struct ri_check *check, const struct ri_analysis *analysis,
			       struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;

	for (size_t i = 0; i < population->foreign_node_count; i++) {
		const struct ri_foreign_node *node = &population->foreign_nodes[i];
		struct ri_finding *finding;
		char *what;

		if (population->groups[node->group].state & RI_GROUP_HEAD_FREED)
			continue;
		finding = ri_finding_of_group(findings, check, analysis, node->group);
		what = ri_evidence_addr(analysis, node->node);
		finding->addr = node->node;
		ri_finding_summarize(finding, "group %s: node 0x%" PRIx64 " is no element of it",
				     finding->group_name, node->node);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "there lies %s", what);
		ri_finding_show_group(finding, analysis, node->group);
		free(what);
	}
}

const struct ri_check ri_check_foreign_member = {
	.code = "foreign-member",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group chains a node that is not of its element type",
	.help = "The chain leads through a node around which no element of the group's type lies. "
		"An object was added to the wrong list, its memory was used anew for something "
		"else while it was chained, or another list was spliced in.",
	.run = run_foreign_member,
};

static void report_wrong_group(const struct ri_check *check, const struct ri_analysis *analysis,
			       struct ri_findings *findings, uint32_t membership,
			       enum ri_back_state back, uint64_t value, uint32_t other)
{
	const struct ri_membership *m = &analysis->population->memberships[membership];
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, m->object);
	char *named = ri_evidence_addr(analysis, value);

	ri_finding_set_group(finding, analysis, m->group);
	if (back == RI_BACK_NULL)
		ri_finding_summarize(
			finding, "%s 0x%" PRIx64 " is in group %s, but its back pointer is null",
			finding->type_name, finding->addr, finding->group_name);
	else if (other != RI_NONE)
		ri_finding_summarize(finding,
				     "%s 0x%" PRIx64 " is in group %s, but says that it is in %s",
				     finding->type_name, finding->addr, finding->group_name,
				     ri_group_label(analysis, other));
	else
		ri_finding_summarize(finding,
				     "%s 0x%" PRIx64
				     " is in group %s, but its back pointer names no group",
				     finding->type_name, finding->addr, finding->group_name);
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding, "back pointer: %s", named);
	ri_finding_explain(finding, "chained at node 0x%" PRIx64, m->node);
	if (other != RI_NONE)
		*ri_push(&finding->addrs) = analysis->population->groups[other].struct_addr;
	ri_finding_consider_lock(finding, analysis);
	ri_finding_explain(finding, "show 0x%" PRIx64, finding->addr);
	free(named);
}

static void run_wrong_group(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	bool *is_doubly_chained = ri_find_doubly_chained(analysis);

	for (uint32_t i = 0; i < population->membership_count; i++) {
		const struct ri_membership *m = &population->memberships[i];
		enum ri_object_cause cause = ri_object_cause(analysis, m->object);
		enum ri_back_state back;
		uint64_t value;
		uint32_t other;

		/* A destroyed header or a dead member says nothing more by its back pointer;
		 * of a link in two chains two-groups tells. */
		if ((is_doubly_chained && is_doubly_chained[m->object]) ||
		    cause == RI_CAUSE_BAD_MAGIC || cause == RI_CAUSE_DEAD_MEMBER ||
		    (population->groups[m->group].state & RI_GROUP_HEAD_FREED) ||
		    (analysis->population->objects[m->object].state &
		     (RI_OBJECT_IGNORE | RI_OBJECT_DOUBTED_BITS)))
			continue;
		back = ri_membership_back(analysis, i, &value, &other);
		if (back == RI_BACK_NULL || back == RI_BACK_OTHER)
			report_wrong_group(check, analysis, findings, i, back, value, other);
	}
	free(is_doubly_chained);
}

const struct ri_check ri_check_wrong_group = {
	.code = "wrong-group",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a member's back pointer names another group",
	.help = "An object is chained in one group while its own pointer to its group names "
		"another one, nothing, or garbage. Removing it will change the wrong group's "
		"counter and take the wrong lock. It was moved between groups by half.",
	.run = run_wrong_group,
};
