/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wrong in inferred groups: damage is rare, so where much is wrong with the groups of
 * one rule, the rule is.  Rules were accepted by a sample; this looks at all that was walked.
 * That a member has a count of zero is no damage by itself: caches chain what nobody holds.
 */
#include <stdlib.h>
#include <string.h>

#include "check/analysis.h"
#include "check/check.h"
#include "check/group_inference.h"

#define MEMBERS_MIN 4

/* What lies in the groups of one rule. */
struct tally {
	uint64_t groups, members, breaks, foreign, dead, miscounted;
};

static bool is_few(uint64_t bad, uint64_t all, uint64_t allowed)
{
	return bad * 10 <= all || (bad <= allowed && all >= MEMBERS_MIN);
}

static struct tally *take_tallies(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	struct tally *tallies = ri_calloc(analysis->layout->groups.count + 1, sizeof(*tallies));
	uint64_t *foreign = ri_calloc(population->group_count + 1, sizeof(*foreign));

	for (size_t i = 0; i < population->foreign_node_count; i++)
		foreign[population->foreign_nodes[i].group]++;
	for (size_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		struct tally *tally = &tallies[group->rule];

		if (group->state & (RI_GROUP_UNINITIALISED | RI_GROUP_HEAD_FREED))
			continue;
		tally->groups++;
		tally->members += group->member_count;
		tally->breaks += group->break_count;
		tally->foreign += foreign[g];
		tally->miscounted += group->has_stored_count &&
				     (uint64_t)group->stored_count != group->member_count + foreign[g];
		for (uint32_t i = 0; i < group->member_count; i++)
			tally->dead += (population->objects[population->memberships
								    [group->first_member + i].object]
						.state & RI_OBJECT_DEAD_BITS) != 0;
	}
	free(foreign);
	return tallies;
}

/* Whether nothing but its count says that the member is dead. */
static bool is_merely_unheld(const struct ri_analysis *analysis, const struct ri_finding *finding)
{
	return !strcmp(finding->check->code, "dead-member") && finding->object != RI_NONE &&
	       !(analysis->population->objects[finding->object].state &
		 (RI_OBJECT_FREED | RI_OBJECT_MAGIC_DEAD));
}

static bool is_doubtful(const struct tally *tally, const char *code)
{
	if (!strcmp(code, "count-mismatch"))
		return !is_few(tally->miscounted, tally->groups, 1);
	if (strcmp(code, "broken-link") && strcmp(code, "list-loop") &&
	    strcmp(code, "foreign-member") && strcmp(code, "dead-member") &&
	    strcmp(code, "two-groups"))
		return false;
	return !is_few(tally->breaks, tally->members, 2) ||
	       !is_few(tally->foreign, tally->members, 1) ||
	       !is_few(tally->dead, tally->members, 1);
}

void ri_findings_doubt_groups(struct ri_findings *findings, const struct ri_analysis *analysis)
{
	struct tally *tallies;

	if (!analysis->groups)
		return;
	tallies = take_tallies(analysis);
	for (size_t i = 0; i < findings->count; i++) {
		struct ri_finding *finding = &findings->items[i];
		uint32_t rule = finding->group == RI_NONE
					? RI_NONE
					: analysis->population->groups[finding->group].rule;

		if (rule == RI_NONE || finding->status != RI_FINDING_SURE ||
		    !ri_group_is_inferred(&analysis->layout->groups.items[rule]) ||
		    (!is_merely_unheld(analysis, finding) &&
		     !is_doubtful(&tallies[rule], finding->check->code)))
			continue;
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding, is_merely_unheld(analysis, finding)
						    ? "could not check: no profile says that the "
						      "group does not keep what nobody holds"
						    : "could not check: the group was found by its "
						      "shape, and too much in groups like it is off "
						      "to believe that");
	}
	free(tallies);
}
