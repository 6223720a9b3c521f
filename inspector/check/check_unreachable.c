/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leaks that the graph shows: unreachable and group-only (cycle is a file of its
 * own).  unreachable is one finding per leak root, the first object of a chain
 * (leak.h); what hangs on it is counted by type.  The lost pointer shows as a
 * surplus of the root too: that is the same cause and is named beside.
 *
 * group-only is a note per group: which of its members nothing but the group
 * leads to, however they came to be leaked.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/cause.h"
#include "check/leak.h"
#include "check/leak_group.h"

/* Objects by the leak root they hang on: items[first[root] .. first[root + 1]). */
struct chains {
	uint32_t *first;
	uint32_t *items;
	bool *has_members; /* per object: it contains the head of a group that has any */
};

static struct chains chains_create(const struct ri_analysis *analysis)
{
	size_t count = analysis->population->object_count;
	const uint32_t *root = analysis->graph->leak_root;
	struct chains chains = { ri_calloc(count + 2, sizeof(uint32_t)),
				 ri_calloc(count, sizeof(uint32_t)),
				 ri_find_group_owners(analysis) };

	for (size_t o = 0; o < count; o++)
		if (root[o] != RI_NONE && root[o] != o)
			chains.first[root[o] + 2]++;
	for (size_t o = 2; o < count + 2; o++)
		chains.first[o] += chains.first[o - 1];
	for (uint32_t o = 0; o < count; o++)
		if (root[o] != RI_NONE && root[o] != o)
			chains.items[chains.first[root[o] + 1]++] = o;
	return chains;
}

static void chains_destroy(struct chains *chains)
{
	free(chains->first);
	free(chains->items);
	free(chains->has_members);
}

struct type_count {
	uint32_t type;
	uint32_t count;
};

#define TYPES_KEPT  16
#define TYPES_SHOWN 4

static int compare_type_counts(const void *a, const void *b)
{
	const struct type_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->type > y->type) - (x->type < y->type);
}

static void explain_chain(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct chains *chains, uint32_t root)
{
	const struct ri_population *population = analysis->population;
	struct type_count types[TYPES_KEPT];
	size_t kept = 0;
	uint32_t rest = 0;
	char *bytes;

	if (!analysis->graph->hangs_on_count[root] && !analysis->graph->hangs_on_bytes[root]) {
		ri_finding_explain(finding, "nothing else hangs on it");
		return;
	}
	bytes = ri_format_bytes(analysis->graph->hangs_on_bytes[root]);
	ri_finding_explain(finding, "%" PRIu32 " more objects hang on it, %s",
			   analysis->graph->hangs_on_count[root], bytes);
	free(bytes);
	for (uint32_t i = chains->first[root]; i < chains->first[root + 1]; i++) {
		uint32_t type = population->objects[chains->items[i]].type;
		size_t t = 0;

		while (t < kept && types[t].type != type)
			t++;
		if (t < kept)
			types[t].count++;
		else if (kept < TYPES_KEPT)
			types[kept++] = (struct type_count){ type, 1 };
		else
			rest++;
	}
	qsort(types, kept, sizeof(*types), compare_type_counts);
	for (size_t t = 0; t < kept; t++) {
		if (t < TYPES_SHOWN)
			ri_finding_explain(finding, "of these %" PRIu32 " %s", types[t].count,
					   population->types[types[t].type].name);
		else
			rest += types[t].count;
	}
	if (rest)
		ri_finding_explain(finding, "of these %" PRIu32 " of other types", rest);
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, const struct ri_absence *absence,
		   const struct chains *chains, const struct ri_leak_groups *groups,
		   uint32_t object)
{
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, object);

	ri_finding_summarize(
		finding, "%s 0x%" PRIx64 ": count %" PRId64 ", and no path leads to it from a root",
		finding->type_name, finding->addr, finding->stored);
	ri_finding_identify(finding, NULL);
	if (analysis->population->objects[object].found == RI_FOUND_CONTENT)
		ri_finding_explain(finding, "known by the size and content of its block alone");
	explain_chain(finding, analysis, chains, object);
	if (!ri_finding_explain_leak_group(finding, analysis, groups))
		ri_finding_explain(finding, "it is in no group, and nothing tells one that it was in");
	ri_finding_explain_holders(finding, analysis, object);
	if (analysis->graph->reach[object] & RI_REACH_GROUP)
		ri_finding_imply(finding, "group-only");
	if (chains->has_members[object])
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
	struct chains chains;

	if (!analysis->graph)
		return;
	chains = chains_create(analysis);
	groups = ri_leak_groups_create(analysis);
	for (uint32_t o = 0; o < analysis->population->object_count; o++)
		if (ri_object_is_leak_root(analysis, o))
			report(check, analysis, findings, &absence, &chains, groups, o);
	ri_leak_groups_destroy(groups);
	chains_destroy(&chains);
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
