/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * two-groups: one link member that two heads lead to.
 *
 * Two chains that share one link share all that follows in a list with an end;
 * that is one cause.  So there is one finding per pair of groups, about the first
 * shared member in the order of the longer chain, which is most likely the one
 * that it was in before.  Cost: a sort of the memberships of objects that are in
 * several groups.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/cause.h"
#include "check/membership.h"

/* A link that is chained in both groups; `group` is the longer chain. */
struct shared {
	uint32_t group, other;
	uint32_t membership; /* in `group`: ascending is the chain's order */
};

typedef RI_VEC(struct shared) shared_list;

/* Longer chains first, then by name, so that the answer does not depend on
 * addresses where it need not. */
static bool comes_first(const struct ri_analysis *analysis, uint32_t a, uint32_t b)
{
	const struct ri_group *groups = analysis->population->groups;
	int order;

	if (groups[a].member_count != groups[b].member_count)
		return groups[a].member_count > groups[b].member_count;
	order = strcmp(ri_group_label(analysis, a), ri_group_label(analysis, b));
	return order ? order < 0 : a < b;
}

static void collect(const struct ri_analysis *analysis, shared_list *list)
{
	const struct ri_membership *all = analysis->population->memberships;
	size_t count;
	struct ri_shared_link *links = ri_find_shared_links(analysis, &count);

	for (size_t i = 0; i < count; i++) {
		uint32_t a = all[links[i].first].group, b = all[links[i].second].group;

		if (comes_first(analysis, a, b))
			*ri_push(list) = (struct shared){ a, b, links[i].first };
		else
			*ri_push(list) = (struct shared){ b, a, links[i].second };
	}
	free(links);
}

static int compare(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->other != y->other)
		return x->other < y->other ? -1 : 1;
	return (x->membership > y->membership) - (x->membership < y->membership);
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, const struct shared *shared, size_t count)
{
	const struct ri_group *groups = analysis->population->groups;
	const struct ri_membership *m = &analysis->population->memberships[shared->membership];
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, m->object);

	ri_finding_set_group(finding, analysis, shared->group);
	ri_finding_summarize(finding, "%s 0x%" PRIx64 ": one link is chained in %s and in %s",
			     finding->type_name, finding->addr,
			     ri_group_label(analysis, shared->group),
			     ri_group_label(analysis, shared->other));
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding,
			   "the link member at 0x%" PRIx64 " is reached from heads 0x%" PRIx64
			   " and 0x%" PRIx64,
			   m->node, groups[shared->group].head, groups[shared->other].head);
	if (count > 1)
		ri_finding_explain(finding, "the two chains share %zu members from here on", count);
	*ri_push(&finding->addrs) = groups[shared->group].struct_addr;
	*ri_push(&finding->addrs) = groups[shared->other].struct_addr;
	/* The chain that it was in before is broken there. */
	if (groups[shared->group].break_count || groups[shared->other].break_count)
		ri_finding_imply(finding, "broken-link");
	ri_finding_explain(finding, "show 0x%" PRIx64, finding->addr);
}

static void run_two_groups(const struct ri_check *check, const struct ri_analysis *analysis,
			   struct ri_findings *findings)
{
	shared_list list = { 0 };

	collect(analysis, &list);
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare);
	for (size_t i = 0, end; i < list.count; i = end) {
		end = i + 1;
		while (end < list.count && list.items[end].group == list.items[i].group &&
		       list.items[end].other == list.items[i].other)
			end++;
		report(check, analysis, findings, &list.items[i], end - i);
	}
	ri_vec_deinit(&list);
}

const struct ri_check ri_check_two_groups = {
	.code = "two-groups",
	.severity = RI_SEVERITY_ERROR,
	.summary = "the same link member is chained in two groups",
	.help = "One link member is reached from two heads. A link can be in one chain only: the "
		"two chains share their tails, and removing the object damages one of them. It was "
		"added to a second group without being removed from the first.",
	.run = run_two_groups,
};
