/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leaks that the graph shows: unreachable and group-only (cycle is a file of its
 * own).  unreachable is one finding per leak root, the first object of a chain
 * (leak.h); what hangs on it is counted by type, with the fields that hold it there.
 * The lost pointer shows as a surplus of the root too: that is the same cause and is
 * named beside.
 *
 * group-only is a note per group: which of its members nothing but the group
 * leads to, however they came to be leaked.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"
#include "check/leak.h"
#include "check/leak_group.h"

#define TYPES_SHOWN 4

/* "of these 12 conn, in session.conns[]". */
static void explain_part(struct ri_finding *finding, const struct ri_analysis *analysis,
			 const struct ri_chain_part *part)
{
	const char *type = analysis->population->types[part->type].name;

	if (part->class_index == RI_NONE)
		ri_finding_explain(finding, "of these %" PRIu64 " %s", part->count, type);
	else
		ri_finding_explain(finding, "of these %" PRIu64 " %s, in %s%s", part->count, type,
				   ri_class_name(analysis, part->class_index),
				   part->class_others ? " and others" : "");
}

/* What hangs on the object, and through which fields. */
static void explain_chain(struct ri_finding *finding, const struct ri_analysis *analysis,
			  uint32_t root)
{
	uint32_t count = analysis->graph->hangs_on_count[root];
	ri_chain_part_list parts = { 0 };
	uint64_t rest = 0, alone = 0;
	char *bytes;

	if (!count && !analysis->graph->hangs_on_bytes[root]) {
		ri_finding_explain(finding, "nothing else hangs on it");
		return;
	}
	bytes = ri_format_bytes(analysis->graph->hangs_on_bytes[root]);
	ri_finding_explain(finding, "%" PRIu32 " more objects hang on it, %s", count, bytes);
	free(bytes);
	ri_chains_list_parts(analysis->chains, root, &parts);
	for (size_t i = 0; i < parts.count; i++) {
		alone += parts.items[i].count;
		if (i < TYPES_SHOWN)
			explain_part(finding, analysis, &parts.items[i]);
		else
			rest += parts.items[i].count;
	}
	if (rest)
		ri_finding_explain(finding, "of these %" PRIu64 " of other types", rest);
	if (analysis->chains && alone < count)
		ri_finding_explain(finding, "other lost objects lead to %" PRIu64 " of them too",
				   count - alone);
	ri_vec_deinit(&parts);
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, const struct ri_absence *absence,
		   const bool *has_members, const struct ri_leak_groups *groups,
		   uint32_t object)
{
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, object);

	ri_finding_summarize(
		finding, "%s 0x%" PRIx64 ": count %" PRId64 ", and no path leads to it from a root",
		finding->type_name, finding->addr, finding->stored);
	ri_finding_identify(finding, NULL);
	if (analysis->population->objects[object].found == RI_FOUND_CONTENT)
		ri_finding_explain(finding, "known by the size and content of its block alone");
	explain_chain(finding, analysis, object);
	if (!ri_finding_explain_leak_group(finding, analysis, groups))
		ri_finding_explain(finding, "it is in no group, and nothing tells one that it was in");
	ri_finding_explain_holders(finding, analysis, object);
	if (analysis->graph->reach[object] & RI_REACH_GROUP)
		ri_finding_imply(finding, "group-only");
	if (has_members[object])
		ri_finding_imply(finding, "dead-group");
	if (!ri_object_is_in_used_block(analysis, object)) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding,
				   "could not check: it lies in no block that the allocator's "
				   "records show as used");
	} else if (ri_object_residual(analysis, object) > 0) {
		ri_finding_imply(finding, "surplus");
	}
	ri_finding_rest_on_absence(finding, analysis, absence);
	ri_finding_rest_on_registers(finding, absence, 1);
	ri_finding_rest_on_liveness(finding, analysis);
	ri_finding_explain(finding, "why 0x%" PRIx64, finding->addr);
}

static void run_unreachable(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	struct ri_absence absence = ri_absence_measure(analysis);
	struct ri_leak_groups *groups;
	bool *has_members; /* per object: it contains the head of a group that has any */

	if (!analysis->graph)
		return;
	has_members = ri_find_group_owners(analysis);
	groups = ri_leak_groups_create(analysis);
	for (uint32_t o = 0; o < analysis->population->object_count; o++)
		if (ri_object_is_leak_root(analysis, o))
			report(check, analysis, findings, &absence, has_members, groups, o);
	ri_leak_groups_destroy(groups);
	free(has_members);
}

const struct ri_check ri_check_unreachable = {
	.code = "unreachable",
	.severity = RI_SEVERITY_WARNING,
	.summary = "a live object that no path from a root leads to",
	.help = "The object's block is used and its count is alive, but no variable, stack, "
		"register or thread-local word leads to it over owners, certain or possible. It is "
		"leaked. "
		"Only the first object of each chain is reported, with what hangs on it: fix that "
		"one and the rest goes with it. The group that it is in or last was in often "
		"names the code that lost it; the evidence says what tells the group: being "
		"chained in it, the back pointer, stale link words, a neighbour's link word, a "
		"pointer to the group's struct, or that most objects of its block or of its type "
		"are in it.",
	.run = run_unreachable,
};

static void run_group_only(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	struct ri_absence absence = ri_absence_measure(analysis);

	for (uint32_t g = 0; analysis->graph && g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		struct ri_finding *finding = NULL;

		if (group->membership.kind != RI_WEIGHT_FIXED || group->membership.weight)
			continue; /* it may own: then its owner is what is lost */
		for (uint32_t i = 0; i < group->member_count; i++) {
			uint32_t o = population->memberships[group->first_member + i].object;

			if (!ri_object_is_leaked(analysis, o) ||
			    (population->objects[o].state & RI_OBJECT_SHARED) ||
			    !(analysis->graph->reach[o] & RI_REACH_GROUP))
				continue;
			if (!finding)
				finding = ri_finding_of_group(findings, check, analysis, g);
			*ri_push(&finding->addrs) = population->objects[o].addr;
		}
		if (!finding)
			continue;
		ri_finding_summarize(
			finding, "group %s: nothing else leads to %zu of its %" PRIu32 " members",
			finding->group_name, finding->addrs.count, group->member_count);
		ri_finding_identify(finding, NULL);
		ri_finding_explain(finding, "membership in it owns nothing: they are leaked");
		ri_finding_rest_on_absence(finding, analysis, &absence);
		ri_finding_rest_on_liveness(finding, analysis);
		ri_finding_show_group(finding, analysis, g);
	}
}

const struct ri_check ri_check_group_only = {
	.code = "group-only",
	.severity = RI_SEVERITY_NOTE,
	.summary = "only a group that owns nothing keeps live objects findable",
	.help = "Leaked objects are still chained in a group that is known to borrow: the program "
		"can find them there, and nobody will ever put their last reference. The leaks "
		"themselves are reported as `unreachable` or `cycle`; this note names the group "
		"and all such members. If the group was meant to own them, the profile should say "
		"so.",
	.run = run_group_only,
};
