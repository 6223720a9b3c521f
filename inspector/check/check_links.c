/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links of each group: broken-link, list-loop, and the group's own counter,
 * count-mismatch.  The walks were done by the population; here its records of
 * where neighbours disagree become findings.
 *
 * A break whose word leads forward to a node that was passed already (or back to
 * one that is still to come) makes a loop for whoever walks that way, though the
 * other direction may be whole: list-loop tells it, once per group.  A break
 * inside a member that lies in a free block is the freeing's trace, and
 * dead-member tells it; one at a link that is chained in two groups is told by
 * two-groups, and a group whose head lies in freed memory by dead-group.  Both words
 * of one node that is broken both ways (poisoned, overwritten) are one finding.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"
#include "check/flux.h"
#include "check/membership.h"

#define BREAKS_LISTED 8

/* By object; null where there is no break to be looked at, or no such link. */
static bool *find_doubly_chained(const struct ri_analysis *analysis)
{
	return analysis->population->break_count ? ri_find_doubly_chained(analysis) : NULL;
}

/* The place of the member whose node is `node` in the chain of group `g`; RI_NONE
 * if there is none. */
static uint32_t place_of(const struct ri_population *population, uint32_t g, uint64_t node)
{
	uint32_t membership = ri_find_membership(population, g, node);

	return membership == RI_NONE ? RI_NONE : membership - population->groups[g].first_member;
}

/* Whether a walk that follows the word of `fault` comes back to where it was. */
static bool closes_loop(const struct ri_analysis *analysis, uint32_t g,
			const struct ri_group_break *fault)
{
	const struct ri_group *group = &analysis->population->groups[g];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);
	int64_t offset = (int64_t)(fault->word_addr - fault->node);
	uint32_t from, to;

	if ((group->state & RI_GROUP_LOOP) && fault->value == group->loop_node)
		return true;
	if (!rule || !fault->value)
		return false;
	from = place_of(analysis->population, g, fault->node);
	to = place_of(analysis->population, g, fault->value);
	if (from == RI_NONE || to == RI_NONE)
		return false;
	if (rule->next_offset >= 0 && offset == rule->next_offset)
		return to <= from;
	/* Circular and double lists alone are walked backwards. */
	return (rule->kind == RI_LINK_LIST || rule->kind == RI_LINK_DLIST) &&
	       rule->prev_offset >= 0 && offset == rule->prev_offset && to >= from;
}

/* Whether dead-member, two-groups or dead-group tells the break. */
static bool is_told_by_member(const struct ri_analysis *analysis, const bool *is_doubly_chained,
			      uint32_t g, const struct ri_group_break *fault)
{
	if (analysis->population->groups[g].state & RI_GROUP_HEAD_FREED)
		return true;
	if (fault->object == RI_NONE)
		return false;
	if (is_doubly_chained && is_doubly_chained[fault->object])
		return true;
	return (analysis->population->objects[fault->object].state & RI_OBJECT_FREED) &&
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
		ri_finding_explain(finding,
				   "members between two breaks may be missing from the "
				   "%" PRIu32 " that were found",
				   group->member_count);
}

/* What one link word holds and should hold. */
static void explain_word(struct ri_finding *finding, const struct ri_analysis *analysis,
			 const struct ri_group_break *fault)
{
	char *word = ri_evidence_addr(analysis, fault->word_addr);
	char *value = ri_evidence_addr(analysis, fault->value);

	ri_finding_explain(finding, "the link word 0x%" PRIx64 " (%s) holds %s", fault->word_addr,
			   word, value);
	free(word);
	free(value);
	if (fault->expected) {
		char *expected = ri_evidence_addr(analysis, fault->expected);

		ri_finding_explain(finding, "its neighbour implies %s", expected);
		free(expected);
	}
	*ri_push(&finding->addrs) = fault->word_addr;
	*ri_push(&finding->addrs) = fault->value;
	if (fault->expected)
		*ri_push(&finding->addrs) = fault->expected;
}

/* Breaks of one group, by node: next[i] is the one behind i at the same node, or RI_NONE;
 * is_first[i]: none is before it. */
struct by_node {
	uint32_t *order, *next;
	bool *is_first;
};

static int compare_break_nodes(const void *a, const void *b, void *data)
{
	const struct ri_group_break *faults = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (faults[x].node != faults[y].node)
		return faults[x].node < faults[y].node ? -1 : 1;
	return (x > y) - (x < y);
}

/* Those of faults[0 .. count) for which `is_told` holds. */
static struct by_node by_node_create(const struct ri_group_break *faults, uint32_t count,
				     const bool *is_told)
{
	struct by_node n = { ri_calloc(count, sizeof(uint32_t)), ri_calloc(count, sizeof(uint32_t)),
			     ri_calloc(count, sizeof(bool)) };
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		n.next[i] = RI_NONE;
		if (is_told[i])
			n.order[kept++] = i;
	}
	if (kept)
		qsort_r(n.order, kept, sizeof(*n.order), compare_break_nodes, (void *)faults);
	for (uint32_t k = 0; k < kept; k++) {
		uint32_t i = n.order[k], before = k ? n.order[k - 1] : RI_NONE;

		n.is_first[i] = !k || !faults[i].node || faults[before].node != faults[i].node;
		if (!n.is_first[i])
			n.next[before] = i;
	}
	return n;
}

static void by_node_destroy(struct by_node *n)
{
	free(n->order);
	free(n->next);
	free(n->is_first);
}

#define FLUX_THINGS 8

/* Who changes a link has two of the neighbours at hand; who merely has one, reads. */
static void consider_flux(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct ri_flux *flux, uint32_t g, const struct by_node *nodes,
			  uint32_t index)
{
	const struct ri_group *group = &analysis->population->groups[g];
	struct ri_flux_thing things[FLUX_THINGS];
	size_t count = 0;

	for (uint32_t i = index; i != RI_NONE && count + 3 <= FLUX_THINGS; i = nodes->next[i]) {
		const struct ri_group_break *fault =
			&analysis->population->breaks[group->break_first + i];
		const uint64_t addrs[] = { fault->node, fault->value, fault->expected };

		for (size_t a = 0; a < sizeof(addrs) / sizeof(*addrs); a++)
			things[count++] = !addrs[a] || addrs[a] == group->head
						  ? ri_flux_group(analysis, g)
						  : ri_flux_link(analysis, addrs[a]);
	}
	ri_finding_consider_flux(finding, analysis, flux, things, count, 2, g, finding->object);
}

/* Whether the word leads to memory that was there and is absent now: a node in it shows that
 * it was not "never touched". */
static bool leads_to_absent(const struct ri_analysis *analysis, const struct ri_group_break *fault)
{
	const struct ri_range *range =
		analysis->target ? ri_image_find(analysis->target->image, fault->value) : NULL;

	return range && (range->kind == RI_RANGE_MISSING || range->kind == RI_RANGE_UNTOUCHED);
}

/* The chain may be sound beyond what can be read, unless another word is wrong too. */
static void rest_on_absent(struct ri_finding *finding, const struct ri_analysis *analysis,
			   const struct ri_group_break *faults, const struct by_node *nodes,
			   uint32_t index)
{
	for (uint32_t i = index; i != RI_NONE; i = nodes->next[i])
		if (!leads_to_absent(analysis, &faults[i]))
			return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: the memory that the chain leads to is absent");
}

/* The break `index` of group `g` and the others at its node. */
static void report_break(const struct ri_check *check, const struct ri_analysis *analysis,
			 struct ri_findings *findings, const struct ri_flux *flux, uint32_t g,
			 const struct by_node *nodes, uint32_t index)
{
	const struct ri_population *population = analysis->population;
	const struct ri_group *group = &population->groups[g];
	const struct ri_group_break *faults = &population->breaks[group->break_first];
	const struct ri_group_break *fault = &faults[index];
	struct ri_finding *finding = ri_finding_of_group(findings, check, analysis, g);

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
	for (uint32_t i = index; i != RI_NONE; i = nodes->next[i])
		explain_word(finding, analysis, &faults[i]);
	explain_sides(finding, group, fault);
	rest_on_absent(finding, analysis, faults, nodes, index);
	consider_flux(finding, analysis, flux, g, nodes, index);
	ri_finding_show_group(finding, analysis, g);
}

static void run_broken_link(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	bool *is_doubly_chained = find_doubly_chained(analysis);
	struct ri_flux *flux = ri_flux_create(analysis);

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		const struct ri_group_break *faults = &population->breaks[group->break_first];
		struct by_node nodes;
		bool *is_told;

		if (group->state & RI_GROUP_UNINITIALISED || !group->break_count)
			continue;
		is_told = ri_calloc(group->break_count, sizeof(*is_told));
		for (uint32_t i = 0; i < group->break_count; i++)
			is_told[i] = !is_told_by_member(analysis, is_doubly_chained, g,
							&faults[i]) &&
				     !closes_loop(analysis, g, &faults[i]);
		nodes = by_node_create(faults, group->break_count, is_told);
		for (uint32_t i = 0; i < group->break_count; i++)
			if (nodes.is_first[i])
				report_break(check, analysis, findings, flux, g, &nodes, i);
		by_node_destroy(&nodes);
		free(is_told);
	}
	free(is_doubly_chained);
	ri_flux_destroy(flux);
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

/* Which way whoever follows the word goes. */
static const char *direction_of(const struct ri_analysis *analysis, uint32_t g,
				const struct ri_group_break *fault)
{
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);
	int64_t offset = (int64_t)(fault->word_addr - fault->node);

	if (!rule)
		return "";
	if (rule->next_offset >= 0 && offset == rule->next_offset)
		return ", walking forward";
	return rule->prev_offset >= 0 && offset == rule->prev_offset ? ", walking backward" : "";
}

#define BUCKETS_READ (1u << 16)

/* The bucket of a hash in whose chain `node` is: members are in the order of the buckets,
 * so it is the last one that begins no later. */
static void explain_bucket(struct ri_finding *finding, const struct ri_analysis *analysis,
			   uint32_t g, uint64_t node)
{
	const struct ri_group *group = &analysis->population->groups[g];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);
	uint32_t place = place_of(analysis->population, g, node), best = RI_NONE;
	uint64_t slots = group->head, length, best_bucket = 0;
	int64_t stored = 0;

	if (!rule || rule->kind != RI_LINK_HASH || place == RI_NONE || !analysis->target ||
	    (rule->head_is_pointer &&
	     !ri_image_read_u64(analysis->target->image, group->head, &slots)))
		return;
	if (!rule->fixed_length)
		ri_field_read(analysis->target->image, group->struct_addr, &rule->length, &stored);
	length = rule->fixed_length ? rule->fixed_length : stored > 0 ? (uint64_t)stored : 0;
	for (uint64_t i = 0; i < length && i < BUCKETS_READ; i++) {
		uint64_t first;
		uint32_t at;

		if (rule->head_first_offset < 0 ||
		    !ri_image_read_u64(analysis->target->image,
				       slots + i * rule->slot_bytes +
					       (uint64_t)rule->head_first_offset,
				       &first))
			break;
		at = first ? place_of(analysis->population, g, first) : RI_NONE;
		if (at != RI_NONE && at <= place && (best == RI_NONE || at >= best)) {
			best = at;
			best_bucket = i;
		}
	}
	if (best != RI_NONE)
		ri_finding_explain(finding, "in bucket %" PRIu64, best_bucket);
}

static void report_loop(const struct ri_check *check, const struct ri_analysis *analysis,
			struct ri_findings *findings, uint32_t g,
			uint64_t loop_node)
{
	const struct ri_population *population = analysis->population;
	const struct ri_group *group = &population->groups[g];
	struct ri_finding *finding = ri_finding_of_group(findings, check, analysis, g);
	char *node = ri_evidence_addr(analysis, loop_node);

	ri_finding_summarize(finding,
			     "group %s: the chain comes back to node 0x%" PRIx64
			     " without passing the head",
			     finding->group_name, loop_node);
	ri_finding_identify(finding, NULL);
	ri_finding_explain(finding, "met twice: %s", node);
	explain_bucket(finding, analysis, g, loop_node);
	for (uint32_t i = 0, listed = 0; i < group->break_count && listed < BREAKS_LISTED; i++) {
		const struct ri_group_break *fault = &population->breaks[group->break_first + i];

		if (!closes_loop(analysis, g, fault))
			continue;
		listed++;
		ri_finding_explain(finding, "the link word 0x%" PRIx64 " closes the loop%s",
				   fault->word_addr, direction_of(analysis, g, fault));
		if (fault->expected)
			ri_finding_explain(finding, "its neighbour implies 0x%" PRIx64,
					   fault->expected);
		ri_finding_imply(finding, "broken-link");
	}
	ri_finding_explain(finding, "%" PRIu32 " members were found", group->member_count);
	*ri_push(&finding->addrs) = loop_node;
	ri_finding_show_group(finding, analysis, g);
	free(node);
}

static void run_list_loop(const struct ri_check *check, const struct ri_analysis *analysis,
			  struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	bool *is_doubly_chained = find_doubly_chained(analysis);

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		uint64_t loop_node = group->state & RI_GROUP_LOOP ? group->loop_node : 0;

		if (group->state & (RI_GROUP_HEAD_FREED | RI_GROUP_UNINITIALISED))
			continue;
		for (uint32_t i = 0; !loop_node && i < group->break_count; i++) {
			const struct ri_group_break *fault =
				&population->breaks[group->break_first + i];

			if (!is_told_by_member(analysis, is_doubly_chained, g, fault) &&
			    closes_loop(analysis, g, fault))
				loop_node = fault->value;
		}
		if (loop_node || (group->state & RI_GROUP_LOOP))
			report_loop(check, analysis, findings, g, loop_node);
	}
	free(is_doubly_chained);
}

const struct ri_check ri_check_list_loop = {
	.code = "list-loop",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a group's chain never comes back to its head",
	.help = "A walk along the chain (forward, or backward) meets a node for the second time "
		"without having passed the head: code that iterates the group that way hangs. "
		"Usually an object was added twice, or added to a second group while it was still "
		"in this one.",
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

static bool is_off_by_one(const struct ri_group *group, uint64_t walked)
{
	uint64_t difference = (uint64_t)group->stored_count - walked;

	return difference == 1 || difference == UINT64_MAX;
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
	struct ri_flux *flux = ri_flux_create(analysis);

	count_strays(analysis, foreign, orphans);
	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		uint64_t walked = group->member_count + foreign[g];
		struct ri_finding *finding;
		struct ri_flux_thing thing;

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
			ri_finding_explain(finding,
					   "%" PRIu64
					   " living objects name this group and are in none",
					   orphans[g]);
		if (group->state & (RI_GROUP_INCOMPLETE | RI_GROUP_LOOP)) {
			finding->status = RI_FINDING_UNCHECKED;
			ri_finding_explain(finding,
					   "could not check: the chain is damaged, and members "
					   "may be missing from the walk");
		}
		thing = ri_flux_group(analysis, g);
		if (is_off_by_one(group, walked))
			ri_finding_consider_flux(finding, analysis, flux, &thing, 1, 1, g,
						 RI_NONE);
		ri_finding_show_group(finding, analysis, g);
	}
	free(foreign);
	free(orphans);
	ri_flux_destroy(flux);
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
