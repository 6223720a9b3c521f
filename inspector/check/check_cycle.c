/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cycle: unreachable objects that hold one another, one finding per component
 * of the graph.  Which fields hold them and which to release comes from
 * cycle_edges.c; here it is put into words.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/cause.h"
#include "check/cycle_edges.h"
#include "check/leak.h"
#include "check/leak_group.h"

#define EDGES_LISTED   8
#define CLASSES_LISTED 8

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* "conn 0x5000" or "block 0x6000"; owned by the caller. */
static char *name_node(const struct ri_analysis *analysis, uint32_t node)
{
	uint32_t object_count = analysis->holders->object_count;

	if (node < object_count)
		return ri_format("%s 0x%" PRIx64, ri_object_type_name(analysis, node),
				 analysis->population->objects[node].addr);
	return ri_format("block 0x%" PRIx64, analysis->heap->blocks[node - object_count].addr);
}

static void explain_edge(struct ri_finding *finding, const struct ri_analysis *analysis,
			 const struct ri_cycle_edge *edge)
{
	char *source = name_node(analysis, edge->source);
	char *target = name_node(analysis, edge->target);

	if (edge->flags & RI_EDGE_EMBEDS)
		ri_finding_explain(finding, "%s and %s lie in one another", source, target);
	else
		ri_finding_explain(finding, "%s holds %s in %s%s", source, target,
				   ri_class_name(analysis, edge->class_index),
				   edge->flags & RI_EDGE_POSSIBLE ? " (possible)" : "");
	free(source);
	free(target);
}

struct class_count {
	const char *name;
	uint64_t count;
};

/* Many first, then by name: the order of fields in a fingerprint must not
 * depend on addresses. */
static int compare_class_counts(const void *a, const void *b)
{
	const struct class_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The class names of the edges (of those to release alone), sorted, in a new
 * array of *ret_count. */
static const char **class_names(const struct ri_analysis *analysis,
				const struct ri_cycle_edges *edges, bool is_release,
				size_t *ret_count)
{
	const char **names = ri_malloc(edges->count * sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < edges->count; i++)
		if (!(edges->items[i].flags & RI_EDGE_EMBEDS) &&
		    (!is_release || edges->items[i].is_to_release))
			names[count++] = ri_class_name(analysis, edges->items[i].class_index);
	qsort(names, count, sizeof(*names), compare_names);
	*ret_count = count;
	return names;
}

/* One line per class: "50 in conn.peer". */
static void explain_classes(struct ri_finding *finding, const struct ri_analysis *analysis,
			    const struct ri_cycle_edges *edges, bool is_release)
{
	RI_VEC(struct class_count) classes = { 0 };
	size_t count;
	const char **names = class_names(analysis, edges, is_release, &count);

	for (size_t i = 0; i < count; i++) {
		if (!classes.count || strcmp(classes.items[classes.count - 1].name, names[i]))
			ri_push(&classes)->name = names[i];
		classes.items[classes.count - 1].count++;
	}
	if (classes.count)
		qsort(classes.items, classes.count, sizeof(*classes.items), compare_class_counts);
	for (size_t i = 0; i < classes.count && i < CLASSES_LISTED; i++)
		ri_finding_explain(finding, "%s%" PRIu64 " in %s", is_release ? "release " : "",
				   classes.items[i].count, classes.items[i].name);
	if (classes.count > CLASSES_LISTED)
		ri_finding_explain(finding, "and %zu more classes", classes.count - CLASSES_LISTED);
	ri_vec_deinit(&classes);
	free(names);
}

/* "without conn.session there is no loop: no fewer fields do". */
static void explain_fields(struct ri_finding *finding, const struct ri_cycle_edges *edges)
{
	char *names = NULL;

	for (size_t i = 0; i < finding->release.count; i++) {
		char *longer = names ? ri_format("%s and %s", names, finding->release.items[i])
				     : ri_strdup(finding->release.items[i]);

		free(names);
		names = longer;
	}
	if (names)
		ri_finding_explain(finding, "without %s there is no loop%s", names,
				   edges->is_fewest ? "; no fewer fields do" : "");
	free(names);
}

static void explain_edges(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct ri_cycle_edges *edges)
{
	if (edges->count <= EDGES_LISTED)
		for (size_t i = 0; i < edges->count; i++)
			explain_edge(finding, analysis, &edges->items[i]);
	else
		explain_classes(finding, analysis, edges, false);
	if (edges->is_cut)
		ri_finding_explain(finding, "further holders lie in plain blocks between them");
	if (!edges->release_count)
		return;
	if (edges->is_simple) {
		ri_finding_explain(finding, "releasing any one of these fields breaks the cycle");
		return;
	}
	explain_fields(finding, edges);
	ri_finding_explain(finding, "releasing %zu of these fields breaks every loop%s:",
			   edges->release_count,
			   edges->is_smallest ? "" : " (the smallest set that was found)");
	if (edges->release_count > EDGES_LISTED) {
		explain_classes(finding, analysis, edges, true);
		return;
	}
	for (size_t i = 0; i < edges->count; i++)
		if (edges->items[i].is_to_release)
			explain_edge(finding, analysis, &edges->items[i]);
}

/* The first of the members' type names: it does not depend on addresses. */
static const char *first_type_name(const struct ri_analysis *analysis, const struct ri_cycle *cycle)
{
	const char *name = NULL;

	for (uint32_t i = 0; i < cycle->count; i++) {
		uint32_t o = analysis->graph->cycle_members[cycle->first + i];
		const char *type = ri_object_type_name(analysis, o);

		if (!name || strcmp(type, name) < 0)
			name = type;
	}
	return name;
}

static uint32_t smallest_member(const struct ri_analysis *analysis, const struct ri_cycle *cycle)
{
	const uint32_t *members = &analysis->graph->cycle_members[cycle->first];
	const struct ri_object *objects = analysis->population->objects;
	uint32_t best = members[0];

	for (uint32_t i = 1; i < cycle->count; i++)
		if (objects[members[i]].addr < objects[best].addr)
			best = members[i];
	return best;
}

static bool has_shared_member(const struct ri_analysis *analysis, const struct ri_cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->count; i++) {
		uint32_t o = analysis->graph->cycle_members[cycle->first + i];

		if (analysis->population->objects[o].state & RI_OBJECT_SHARED)
			return true;
	}
	return false;
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, const struct ri_absence *absence,
		   struct ri_cycle_tracer *tracer, const struct ri_leak_groups *groups,
		   const bool *has_members, size_t index)
{
	const struct ri_cycle *cycle = &analysis->graph->cycles[index];
	uint32_t smallest = smallest_member(analysis, cycle);
	struct ri_cycle_edges edges = ri_cycle_trace(tracer, index);
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, smallest);
	size_t class_count;
	const char **classes = class_names(analysis, &edges, false, &class_count);
	const char *own_type = finding->type_name;

	for (uint32_t i = 0; i < cycle->count; i++) {
		uint32_t o = analysis->graph->cycle_members[cycle->first + i];

		*ri_push(&finding->addrs) = analysis->population->objects[o].addr;
		if (has_members[o])
			ri_finding_imply(finding, "dead-group");
	}
	qsort(finding->addrs.items, finding->addrs.count, sizeof(uint64_t), compare_u64);
	finding->type_name = first_type_name(analysis, cycle);
	ri_finding_identify(finding, class_count ? classes[0] : NULL);
	finding->type_name = own_type;
	if (cycle->count == 1)
		ri_finding_summarize(finding,
				     "%s 0x%" PRIx64 " holds itself, and nothing leads to it",
				     finding->type_name, finding->addr);
	else
		ri_finding_summarize(finding,
				     "%" PRIu32 " objects hold one another, %s 0x%" PRIx64
				     " first, and nothing leads to them",
				     cycle->count, finding->type_name, finding->addr);
	for (size_t i = 0; i < edges.field_count; i++)
		*ri_push(&finding->release) = ri_class_name(analysis, edges.fields[i]);
	if (finding->release.count)
		qsort(finding->release.items, finding->release.count, sizeof(const char *),
		      compare_names);
	finding->release_is_fewest = edges.is_fewest;
	explain_edges(finding, analysis, &edges);
	if (analysis->graph->hangs_on_count[smallest] >= cycle->count)
		ri_finding_explain(finding, "%" PRIu32 " objects more hang on the cycle",
				   analysis->graph->hangs_on_count[smallest] - (cycle->count - 1));
	ri_finding_explain_leak_group(finding, analysis, groups);
	ri_finding_rest_on_absence(finding, analysis, absence);
	ri_finding_rest_on_registers(finding, absence, 1);
	if (finding->status == RI_FINDING_SURE && has_shared_member(analysis, cycle)) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding,
				   "could not check: one of them lies in memory shared with "
				   "other processes, which may hold it");
	}
	ri_finding_rest_on_liveness(finding, analysis);
	ri_finding_explain(finding, "why 0x%" PRIx64, finding->addr);
	free(classes);
	ri_cycle_edges_deinit(&edges);
}

/* At least one member is sound and leaked; one of no leak or in no block of the
 * heap keeps the whole cycle. */
static bool is_leaked(const struct ri_analysis *analysis, const struct ri_cycle *cycle)
{
	bool is_sound = false;

	for (uint32_t i = 0; i < cycle->count; i++) {
		uint32_t o = analysis->graph->cycle_members[cycle->first + i];

		if (analysis->population->objects[o].state &
		    (RI_OBJECT_NOT_LEAK | RI_OBJECT_STATIC))
			return false;
		is_sound |= ri_object_cause(analysis, o) == RI_CAUSE_NONE;
	}
	return is_sound;
}

static void run_cycle(const struct ri_check *check, const struct ri_analysis *analysis,
		      struct ri_findings *findings)
{
	struct ri_absence absence = ri_absence_measure(analysis);
	struct ri_cycle_tracer *tracer;
	struct ri_leak_groups *groups;
	bool *has_members;

	if (!analysis->graph || !analysis->graph->cycle_count)
		return;
	tracer = ri_cycle_tracer_create(analysis);
	groups = ri_leak_groups_create(analysis);
	has_members = ri_find_group_owners(analysis);
	for (size_t i = 0; i < analysis->graph->cycle_count; i++)
		if (is_leaked(analysis, &analysis->graph->cycles[i]))
			report(check, analysis, findings, &absence, tracer, groups, has_members, i);
	ri_leak_groups_destroy(groups);
	free(has_members);
	ri_cycle_tracer_destroy(tracer);
}

const struct ri_check ri_check_cycle = {
	.code = "cycle",
	.severity = RI_SEVERITY_WARNING,
	.summary = "unreachable objects that hold one another",
	.help = "Objects own references to one another in a loop, and no path from a root leads to "
		"any of them: their counts are right and they are leaked all the same. The "
		"evidence names the fields that make the loop, as few fields as will do for no "
		"loop to be left, and the smallest set of holders in them: exact for small cycles, "
		"and said to be the smallest that was found for large ones. One of those should "
		"borrow, or be cleared before the last outside reference is put.",
	.run = run_cycle,
};
