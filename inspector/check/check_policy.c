/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy: a whole type whose counts differ from their holders by one constant,
 * as where an object starts at 1 and nobody puts that reference.  It is said
 * once per type and is no finding: surplus and deficit leave these objects out.
 *
 * Voters are reachable objects with a sound header and at least one holder (a
 * leaked object that nothing holds says nothing about the others).  A constant
 * is believed where at least POLICY_MIN voters are there and POLICY_SHARE_PERCENT
 * of them have it; the majority is found with one candidate per type in one
 * pass and counted in a second.  Blind spot: a reference leaked on nearly every
 * object of a type looks the same.
 *
 * Where a count of 0 stands for one reference, objects with one holder look dead: they
 * vote too, and are left to the note where it explains them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check/cause.h"

#define POLICY_MIN 16
#define POLICY_SHARE_PERCENT 90

/* Whether nothing but a dead value speaks against the object. */
static bool merely_counts_as_dead(const struct ri_analysis *analysis, uint32_t object)
{
	const uint32_t damage = RI_OBJECT_DEAD_BITS | RI_OBJECT_MAGIC_BAD |
				RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED;

	return (analysis->population->objects[object].state & damage) == RI_OBJECT_COUNT_DEAD &&
	       ri_object_cause(analysis, object) == RI_CAUSE_BAD_COUNT;
}

bool ri_policy_explains_death(const struct ri_analysis *analysis, const int64_t *offsets,
			      uint32_t object)
{
	int64_t offset = offsets[analysis->population->objects[object].type];

	return offset < 0 && merely_counts_as_dead(analysis, object) &&
	       ri_object_residual(analysis, object) == offset;
}

static bool is_voter(const struct ri_analysis *analysis, uint32_t object)
{
	return (ri_object_cause(analysis, object) == RI_CAUSE_NONE ||
		merely_counts_as_dead(analysis, object)) &&
	       ri_object_standing(analysis, object) != RI_STANDING_UNDECIDED &&
	       !(analysis->population->objects[object].state & RI_OBJECT_NOT_LEAK) &&
	       (analysis->holders->certain[object] || analysis->holders->possible[object]) &&
	       !ri_object_is_unreachable(analysis, object);
}

struct poll {
	int64_t candidate;
	uint64_t lead; /* of the candidate while voting */
	uint64_t voters, votes;
};

static struct poll *take_polls(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	struct poll *polls = ri_calloc(population->type_count, sizeof(*polls));

	for (uint32_t o = 0; o < population->object_count; o++) {
		struct poll *poll = &polls[population->objects[o].type];
		int64_t residual;

		if (!is_voter(analysis, o))
			continue;
		residual = ri_object_residual(analysis, o);
		if (!poll->lead)
			poll->candidate = residual;
		if (poll->candidate == residual)
			poll->lead++;
		else
			poll->lead--;
	}
	for (uint32_t o = 0; o < population->object_count; o++) {
		struct poll *poll = &polls[population->objects[o].type];

		if (!poll->candidate || !is_voter(analysis, o))
			continue;
		poll->voters++;
		poll->votes += ri_object_residual(analysis, o) == poll->candidate;
	}
	return polls;
}

static bool is_policy(const struct poll *poll)
{
	return poll->candidate && poll->voters >= POLICY_MIN &&
	       poll->votes * 100 >= poll->voters * POLICY_SHARE_PERCENT;
}

int64_t *ri_policy_offsets(const struct ri_analysis *analysis)
{
	struct poll *polls = take_polls(analysis);
	size_t type_count = analysis->population->type_count;
	int64_t *offsets = ri_calloc(type_count, sizeof(*offsets));

	for (size_t t = 0; t < type_count; t++)
		if (is_policy(&polls[t]))
			offsets[t] = polls[t].candidate;
	free(polls);
	return offsets;
}

static void run_policy(const struct ri_check *check, const struct ri_analysis *analysis,
		       struct ri_findings *findings)
{
	struct poll *polls = take_polls(analysis);

	for (size_t t = 0; t < analysis->population->type_count; t++) {
		const struct poll *poll = &polls[t];
		int64_t distance = poll->candidate < 0 ? -poll->candidate : poll->candidate;
		struct ri_finding *finding;

		if (!is_policy(poll))
			continue;
		finding = ri_findings_add(findings, check, 0);
		finding->type_name = analysis->population->types[t].name;
		ri_finding_summarize(finding,
				     "%s: %" PRIu64 " of %" PRIu64 " held objects count %" PRId64
				     " %s than their holders",
				     finding->type_name, poll->votes, poll->voters, distance,
				     poll->candidate > 0 ? "more" : "less");
		ri_finding_identify(finding, NULL);
		if (poll->candidate > 0)
			ri_finding_explain(finding,
					   "they start with a reference that nobody puts, or "
					   "something outside this memory holds each");
		else
			ri_finding_explain(finding,
					   "a holder that is taken for an owner only borrows");
		ri_finding_explain(finding, "if it is meant, say so in a profile: bias: %" PRId64,
				   -poll->candidate);
		ri_finding_explain(finding, "objects %s", finding->type_name);
	}
	free(polls);
}

const struct ri_check ri_check_policy = {
	.code = "policy",
	.severity = RI_SEVERITY_NOTE,
	.summary = "the counts of a whole type are off by one constant",
	.help = "Nearly all objects of a type count the same number more (or less) than their "
		"holders. That is a convention rather than a fault: an object starts at 1 and "
		"nobody puts that reference, a holder outside this memory has one each, or the "
		"first reference counts as 0. It is said once and does not decide the exit status; "
		"a reference leaked on every object "
		"of the type would look the same. A `bias` in the profile answers it.",
	.run = run_policy,
};
