/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unreclaimed: at the end of a program, counted objects that something still holds.  A
 * finding per type, with the roots that keep its objects: what nothing leads to is a leak
 * like any other, and has its own finding.
 *
 * Runs with --at-exit alone: while a program works, its objects are meant to be alive.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "census/roots.h"
#include "check/cause.h"

#define ROOTS_KEPT  64 /* per type; the objects of further ones are counted together */
#define ROOTS_SHOWN 4

struct kept {
	uint32_t class_index;
	uint64_t count;
};

struct survivors {
	uint64_t count, bytes, rest;
	uint32_t first;          /* the first of them */
	struct kept roots[ROOTS_KEPT];
	size_t root_count;
};

static bool is_unreclaimed(const struct ri_analysis *analysis, uint32_t object)
{
	const uint32_t left_alone = RI_OBJECT_NOT_LEAK | RI_OBJECT_STATIC | RI_OBJECT_SHARED;

	return !(analysis->population->objects[object].state & left_alone) &&
	       !ri_object_is_unreachable(analysis, object) &&
	       ri_object_cause(analysis, object) == RI_CAUSE_NONE;
}

static void add_survivor(const struct ri_analysis *analysis, struct survivors *s, uint32_t object,
			 uint32_t class_index)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];

	if (!s->count++)
		s->first = object;
	if (o->parent == RI_NONE)
		s->bytes += ri_object_end(population, o) - ri_object_start(population, o);
	for (size_t i = 0; i < s->root_count; i++)
		if (s->roots[i].class_index == class_index) {
			s->roots[i].count++;
			return;
		}
	if (s->root_count < ROOTS_KEPT)
		s->roots[s->root_count++] = (struct kept){ class_index, 1 };
	else
		s->rest++;
}

static int compare_kept(const void *a, const void *b, void *data)
{
	const struct kept *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(ri_class_name(data, x->class_index), ri_class_name(data, y->class_index));
}

static void explain_roots(struct ri_finding *finding, const struct ri_analysis *analysis,
			  struct survivors *s)
{
	uint64_t rest = s->rest;

	qsort_r(s->roots, s->root_count, sizeof(*s->roots), compare_kept, (void *)analysis);
	for (size_t i = 0; i < s->root_count; i++) {
		if (i < ROOTS_SHOWN && s->roots[i].class_index != RI_NONE)
			ri_finding_explain(finding, "%" PRIu64 " kept by %s", s->roots[i].count,
					   ri_class_name(analysis, s->roots[i].class_index));
		else
			rest += s->roots[i].count;
	}
	if (rest)
		ri_finding_explain(finding, "%" PRIu64 " kept by others", rest);
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, uint32_t type, struct survivors *s,
		   int64_t policy)
{
	struct ri_finding *finding = ri_findings_add(findings, check, 0);
	char *bytes = ri_format_bytes(s->bytes);

	finding->type_name = analysis->population->types[type].name;
	ri_finding_summarize(finding, "%s: %" PRIu64 " object%s (%s) %s still alive",
			     finding->type_name, s->count, s->count == 1 ? "" : "s", bytes,
			     s->count == 1 ? "is" : "are");
	free(bytes);
	ri_finding_identify(finding, NULL);
	explain_roots(finding, analysis, s);
	if (policy)
		ri_finding_explain(finding,
				   "their counts are %" PRId64 " %s than their holders, all alike: "
				   "see the note policy",
				   policy < 0 ? -policy : policy, policy < 0 ? "less" : "more");
	ri_finding_explain(finding, "why 0x%" PRIx64 " tells how the first of them is held",
			   analysis->population->objects[s->first].addr);
	ri_finding_rest_on_liveness(finding, analysis);
	ri_finding_explain(finding, "objects %s", finding->type_name);
}

static void run_unreclaimed(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	struct survivors *survivors;
	int64_t *policies;
	uint32_t *root_of;

	if (!analysis->is_at_exit || !analysis->holders)
		return;
	root_of = ri_roots_find(analysis->holders, population);
	policies = ri_policy_offsets(analysis);
	survivors = ri_calloc(population->type_count, sizeof(*survivors));
	for (uint32_t o = 0; o < population->object_count; o++)
		if (is_unreclaimed(analysis, o))
			add_survivor(analysis, &survivors[population->objects[o].type], o,
				     root_of[o]);
	for (uint32_t t = 0; t < population->type_count; t++)
		if (survivors[t].count)
			report(check, analysis, findings, t, &survivors[t], policies[t]);
	free(survivors);
	free(policies);
	free(root_of);
}

const struct ri_check ri_check_unreclaimed = {
	.code = "unreclaimed",
	.severity = RI_SEVERITY_WARNING,
	.summary = "counted objects are still alive while the program ends",
	.help = "With --at-exit alone: objects of the type are alive and something still leads to "
		"them, though the program is ending and should have released what it made. A "
		"finding per type, with the variables and groups at the roots of what keeps them: "
		"one that was never cleared keeps all that hangs on it. Objects that nothing leads "
		"to are told as leaks; static ones, and those marked as no leak, are left out. "
		"The coverage tells when a thread stands in exit().",
	.run = run_unreclaimed,
};
