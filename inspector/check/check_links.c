/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links of each group: broken-link, list-loop, and the group's own counter,
 * count-mismatch.  The walks were done by the population; here its records of
 * where neighbours disagree become findings.
 *
 * A break inside a member that lies in a free block is the freeing's trace, and
 * dead-member tells it; the word that closes a loop is told by list-loop; a group
 * whose head lies in freed memory is told by dead-group.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"

/* Whether another finding has the same cause and names this code. */
static bool is_told_elsewhere(const struct ri_analysis *analysis, const struct ri_group *group,
			      const struct ri_group_break *fault)
{
	if (group->state & RI_GROUP_HEAD_FREED)
		return true;
	if ((group->state & RI_GROUP_LOOP) && fault->value == group->loop_node)
		return true;
	return fault->object != RI_NONE &&
	       (analysis->population->objects[fault->object].state & RI_OBJECT_FREED) &&
	       ri_object_cause(analysis, fault->object) == RI_CAUSE_DEAD_MEMBER;
}

static void explain_sides(struct ri_finding *finding, const struct ri_group *group,
			  const struct ri_group_break *fault)
{
	if (fault->from_head != RI_NONE)
		ri_finding_explain(finding, "%" PRIu32 " members from the head's side to the break",
				   fault->from_head);
	else
		ri_finding_explain(finding, "not reached from the head's side");
	if (fault->from_tail != RI_NONE)
		ri_finding_explain(finding, "%" PRIu32 " members from the tail's side to the break",
				   fault->from_tail);
	else
		ri_finding_explain(finding, "not reached from the tail's side");
	if (group->state & RI_GROUP_INCOMPLETE)
		ri_finding_explain(finding, "members between two breaks may be missing from the "
					    "%" PRIu32 " that were found",
				   group->member_count);
}

static void report_break(const struct ri_check *check, const struct ri_analysis *analysis,
			 struct ri_findings *findings, uint32_t g,
			 const struct ri_group_break *fault)
{
	const struct ri_population *population = analysis->population;
	const struct ri_group *group = &population->groups[g];
	struct ri_finding *finding = ri_finding_of_group(findings, check, analysis, g);
	char *word = ri_evidence_addr(analysis, fault->word_addr);
	char *value = ri_evidence_addr(analysis, fault->value);

	if (fault->object != RI_NONE) {
		finding->object = fault->object;
		finding->addr = population->objects[fault->object].addr;
		finding->type_name = ri_object_type_name(analysis, fault->object);
		ri_finding_summarize(finding, "group %s: %s at %s 0x%" PRIx64, finding->group_name,
				     fault->what, finding->type_name, finding->addr);
	} else {
		finding->addr = fault->node ? fault->node : group->struct_addr;
		ri_finding_summarize(finding, "group %s: %s at the %s 0x%" PRIx64,
				     finding->group_name, fault->what,
				     fault->node == group->head || !fault->node ? "head" : "node",
				     finding->addr);
	}
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding, "the link word 0x%" PRIx64 " (%s) holds %s", fault->word_addr,
			   word, value);
	free(word);
	free(value);
	if (fault->expected) {
		char *expected = ri_evidence_addr(analysis, fault->expected);

		ri_finding_explain(finding, "its neighbour implies %s", expected);
		free(expected);
	}
	explain_sides(finding, group, fault);
	*ri_push(&finding->addrs) = fault->word_addr;
	*ri_push(&finding->addrs) = fault->value;
	if (fault->expected)
		*ri_push(&finding->addrs) = fault->expected;
	ri_finding_show_group(finding, analysis, g);
}

static void run_broken_link(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];

		if (group->state & RI_GROUP_UNINITIALISED)
			continue;
		for (uint32_t i = 0; i < group->break_count; i++) {
			const struct ri_group_break *fault =
				&population->breaks[group->break_first + i];

			if (!is_told_elsewhere(analysis, group, fault))
				report_break(check, analysis, findings, g, fault);
		}
	}
}

const struct ri_check ri_check_broken_link = {
	.code = "broken-link",
	.severity = RI_SEVERITY_ERROR,
	.summary = "neighbours in a group's chain disagree",
	.help = "A link word of a group does not lead where its neighbour implies: `next->prev` or "
		"`prev->next` does not lead back, the word holds a poison value, or it points at "
		"nothing. The chain is walked from both ends; the evidence says how many members "
		"each side passed before the break, and what the word holds and should hold. "
		"Typical causes: two threads changed the list without its lock, an object was "
		"freed while chained, or memory was overwritten.",
	.run = run_broken_link,
};

static void run_list_loop(const struct ri_check *check, const struct ri_analysis *analysis,
			  struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		struct ri_finding *finding;
		char *node;

		if (!(group->state & RI_GROUP_LOOP) || (group->state & RI_GROUP_HEAD_FREED))
			continue;
		finding = ri_finding_of_group(findings, check, analysis, g);
		node = ri_evidence_addr(analysis, group->loop_node);
		ri_finding_summarize(finding,
				     "group %s: the chain comes back to node 0x%" PRIx64
				     " without passing the head",
				     finding->group_name, group->loop_node);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "met twice: %s", node);
		ri_finding_explain(finding, "%" PRIu32 " members were passed", group->member_count);
		for (uint32_t i = 0; i < group->break_count; i++) {
			const struct ri_group_break *fault =
				&population->breaks[group->break_first + i];

			if (fault->value != group->loop_node)
				continue;
			ri_finding_explain(finding, "the link word 0x%" PRIx64 " closes the loop",
					   fault->word_addr);
			ri_finding_imply(finding, "broken-link");
		}
		*ri_push(&finding->addrs) = group->loop_node;
		ri_finding_show_group(finding, analysis, g);
		free(node);
	}
}

const struct ri_check ri_check_list_loop = {
	.code = "list-loop",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group's chain never comes back to its head",
	.help = "A walk along the chain meets a node for the second time without having passed the "
		"head: code that iterates the group hangs. Usually an object was added twice, or "
		"added to a second group while it was still in this one.",
	.run = run_list_loop,
};

/* Per group, how many nodes of it are no elements (they count in its length),
 * and how many living objects outside name it: new arrays. */
static void count_strays(const struct ri_analysis *analysis, uint64_t *foreign, uint64_t *orphans)
{
	const struct ri_population *population = analysis->population;

	for (size_t i = 0; i < population->foreign_node_count; i++)
		foreign[population->foreign_nodes[i].group]++;
	for (uint32_t o = 0; population->back_group && o < population->object_count; o++) {
		uint32_t group = population->back_group[o];

		if (group != RI_NONE && ri_object_cause(analysis, o) == RI_CAUSE_NONE &&
		    (!population->member_of_first ||
		     population->member_of_first[o] == population->member_of_first[o + 1]))
			orphans[group]++;
	}
}

static bool is_counter_of_interest(const struct ri_group *group, uint64_t walked)
{
	return group->has_stored_count &&
	       !(group->state & (RI_GROUP_UNINITIALISED | RI_GROUP_HEAD_FREED)) &&
	       (group->stored_count < 0 || (uint64_t)group->stored_count != walked);
}

static void run_count_mismatch(const struct ri_check *check, const struct ri_analysis *analysis,
			       struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	uint64_t *foreign = ri_calloc(population->group_count, sizeof(*foreign));
	uint64_t *orphans = ri_calloc(population->group_count, sizeof(*orphans));

	count_strays(analysis, foreign, orphans);
	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		uint64_t walked = group->member_count + foreign[g];
		struct ri_finding *finding;

		if (!is_counter_of_interest(group, walked))
			continue;
		finding = ri_finding_of_group(findings, check, analysis, g);
		ri_finding_summarize(finding,
				     "group %s: its counter says %" PRId64 ", %" PRIu64
				     " members are chained",
				     finding->group_name, group->stored_count, walked);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "off by %+" PRId64,
				   (int64_t)((uint64_t)group->stored_count - walked));
		if (orphans[g])
			ri_finding_explain(finding, "%" PRIu64
						    " living objects name this group and are in none",
					   orphans[g]);
		if (group->state & (RI_GROUP_INCOMPLETE | RI_GROUP_LOOP)) {
			finding->status = RI_FINDING_UNCHECKED;
			ri_finding_explain(finding, "could not check: the chain is damaged, and members "
						    "may be missing from the walk");
		}
		ri_finding_show_group(finding, analysis, g);
	}
	free(foreign);
	free(orphans);
}

const struct ri_check ri_check_count_mismatch = {
	.code = "count-mismatch",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group's own counter differs from the length of its chain",
	.help = "The group keeps the number of its members, and walking the chain gives another "
		"one. An object was chained or unchained without the counter, or the counter was "
		"overwritten. Where the chain itself is broken so that members may be missing, "
		"this is not checked.",
	.run = run_count_mismatch,
};
