/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Findings for objects and groups, and what they rest on: see evidence.h.
 * Knows no check; which evidence a code needs is the check's business.
 */
#include "check/evidence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What one thread's registers can hold: 16 general ones and 32 of 64 bytes. */
#define REGISTER_WORDS (16 + 32 * 8)

struct ri_absence ri_absence_measure(const struct ri_analysis *analysis)
{
	struct ri_absence absence = { 0 };
	const struct ri_target *target = analysis->target;
	const struct ri_range *ranges = NULL;
	size_t count = 0;

	if (!target)
		return absence;
	if (target->image)
		ranges = ri_image_ranges(target->image, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t size_bytes = ranges[i].end - ranges[i].start;

		if (!(ranges[i].flags & RI_RANGE_WRITE))
			continue;
		if (ranges[i].kind == RI_RANGE_UNTOUCHED && !analysis->is_strict)
			absence.untouched_bytes += size_bytes;
		else if (ranges[i].kind == RI_RANGE_UNTOUCHED || ranges[i].kind == RI_RANGE_MISSING)
			absence.missing_bytes += size_bytes;
	}
	absence.truncated_percent = target->missing_percent;
	absence.unread_bytes = analysis->holders ? analysis->holders->bytes_skipped_unknown : 0;
	for (size_t i = 0; i < target->thread_count; i++)
		absence.blind_threads += !target->threads[i].has_registers ||
					 target->threads[i].registers_partial;
	absence.has_lost_threads = target->has_lost_threads;
	return absence;
}

bool ri_absence_matters(const struct ri_absence *absence)
{
	return absence->missing_bytes > 0 || absence->truncated_percent > 0 ||
	       absence->unread_bytes > 0;
}

/* What is not there or was not searched, the worst first; owned by the caller. */
static char *describe_absence(const struct ri_absence *absence)
{
	char *bytes, *text;

	if (absence->truncated_percent > 0)
		return ri_format("%.3g %% of the core's bytes are cut off",
				 absence->truncated_percent);
	if (absence->missing_bytes) {
		bytes = ri_format_bytes(absence->missing_bytes);
		text = ri_format("%s of writable memory are missing", bytes);
	} else {
		bytes = ri_format_bytes(absence->unread_bytes);
		text = ri_format("%s of damaged heap were not searched", bytes);
	}
	free(bytes);
	return text;
}

void ri_finding_rest_on_absence(struct ri_finding *finding, const struct ri_analysis *analysis,
				const struct ri_absence *absence)
{
	char *text;

	if (ri_absence_matters(absence)) {
		text = describe_absence(absence);
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding, "could not check: %s; a holder there would explain it",
				   text);
		free(text);
	}
	if (finding->object != RI_NONE &&
	    (analysis->population->objects[finding->object].state & RI_OBJECT_SHARED)) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding, "could not check: it lies in memory shared with other "
					    "processes, which may hold it");
	}
	if (absence->untouched_bytes) {
		text = ri_format_bytes(absence->untouched_bytes);
		ri_finding_explain(finding,
				   "%s of anonymous memory are absent and presumed never touched",
				   text);
		free(text);
	}
}

void ri_finding_rest_on_registers(struct ri_finding *finding, const struct ri_absence *absence,
				  uint64_t holders)
{
	if (absence->has_lost_threads) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding, "could not check: threads may be missing from the core; "
					    "what one of them held would explain it");
	} else if (holders <= absence->blind_threads * (uint64_t)REGISTER_WORDS) {
		finding->status = RI_FINDING_UNCHECKED;
		ri_finding_explain(finding,
				   "could not check: the registers of %zu threads are not known; a "
				   "holder there would explain it",
				   absence->blind_threads);
	} else if (absence->blind_threads) {
		ri_finding_explain(finding, "the registers of %zu threads were not searched",
				   absence->blind_threads);
	}
}

void ri_finding_rest_on_liveness(struct ri_finding *finding, const struct ri_analysis *analysis)
{
	if (!analysis->heap || !analysis->heap->foreign_allocator)
		return;
	finding->status = RI_FINDING_UNCHECKED;
	ri_finding_explain(finding, "could not check: which blocks are free is not known (%s)",
			   analysis->heap->foreign_allocator);
}

struct ri_finding *ri_finding_of_object(struct ri_findings *findings, const struct ri_check *check,
					const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_object *o = &analysis->population->objects[object];
	struct ri_finding *finding = ri_findings_add(findings, check, o->addr);
	uint32_t group = ri_object_group(analysis, object);

	finding->object = object;
	finding->type_name = ri_object_type_name(analysis, object);
	if (group != RI_NONE)
		ri_finding_set_group(finding, analysis, group);
	finding->has_counts = true;
	finding->stored = o->count;
	if (analysis->holders) {
		finding->certain = analysis->holders->certain[object];
		finding->possible = analysis->holders->possible[object];
	}
	return finding;
}

/* How many members are looked at for the type of a group's elements. */
#define ELEMENT_SAMPLE 64

/* The one type that the elements of a group have, judged by the first of them
 * where the rule does not say; or null. */
static const char *element_type_name(const struct ri_analysis *analysis, uint32_t group)
{
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, group);
	const struct ri_population *population = analysis->population;
	const struct ri_group *g = &population->groups[group];
	uint32_t type;

	if (rule && rule->element_type < population->type_count)
		return population->types[rule->element_type].name;
	if (!g->member_count)
		return NULL;
	type = population->objects[population->memberships[g->first_member].object].type;
	for (uint32_t i = 1; i < g->member_count && i < ELEMENT_SAMPLE; i++) {
		uint32_t object = population->memberships[g->first_member + i].object;

		if (population->objects[object].type != type)
			return NULL;
	}
	return population->types[type].name;
}

struct ri_finding *ri_finding_of_group(struct ri_findings *findings, const struct ri_check *check,
				       const struct ri_analysis *analysis, uint32_t group)
{
	struct ri_finding *finding =
		ri_findings_add(findings, check, analysis->population->groups[group].struct_addr);

	finding->type_name = element_type_name(analysis, group);
	ri_finding_set_group(finding, analysis, group);
	return finding;
}

void ri_finding_set_group(struct ri_finding *finding, const struct ri_analysis *analysis,
			  uint32_t group)
{
	finding->group = group;
	finding->group_name = ri_group_label(analysis, group);
}

void ri_finding_identify(struct ri_finding *finding, const char *class_name)
{
	const char *type = finding->type_name ? finding->type_name : "-";

	free(finding->fingerprint);
	if (class_name)
		finding->fingerprint =
			ri_format("%s:%s:class=%s", finding->check->code, type, class_name);
	else if (finding->group_name)
		finding->fingerprint = ri_format("%s:%s:group=%s", finding->check->code, type,
						 finding->group_name);
	else
		finding->fingerprint = ri_format("%s:%s", finding->check->code, type);
}

void ri_finding_imply(struct ri_finding *finding, const char *code)
{
	if (!strcmp(finding->check->code, code))
		return;
	for (size_t i = 0; i < finding->also.count; i++)
		if (!strcmp(finding->also.items[i], code))
			return;
	*ri_push(&finding->also) = code;
}

/* A name that the user can type again as one word. */
static bool is_plain_word(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_.:")];
}

void ri_finding_show_group(struct ri_finding *finding, const struct ri_analysis *analysis,
			   uint32_t group)
{
	const struct ri_group *g = &analysis->population->groups[group];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, group);
	/* Names that lie in memory may be shared by many groups: then the address. */
	bool is_own_name = g->name && rule &&
			   ((rule->name && !strcmp(rule->name, g->name)) ||
			    (rule->variable_name && !strcmp(rule->variable_name, g->name)));

	if (is_own_name && is_plain_word(g->name))
		ri_finding_explain(finding, "group %s", g->name);
	else
		ri_finding_explain(finding, "group 0x%" PRIx64, g->struct_addr);
}

struct ri_describer ri_analysis_describer(const struct ri_analysis *analysis)
{
	return (struct ri_describer){
		.target = analysis->target,
		.modules = analysis->modules,
		.heap = analysis->heap,
		.population = analysis->population,
		.shapes = analysis->shapes,
		.holders = analysis->holders,
		.unwind = analysis->unwind,
	};
}

char *ri_evidence_addr(const struct ri_analysis *analysis, uint64_t addr)
{
	const struct ri_describer describer = ri_analysis_describer(analysis);

	if (!addr)
		return ri_strdup("null");
	if (!analysis->target || !analysis->modules || !analysis->heap || !analysis->population)
		return ri_format("0x%" PRIx64, addr);
	return ri_describe_addr(&describer, addr);
}

uint32_t ri_object_group(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t back = population->back_group ? population->back_group[object] : RI_NONE;
	uint32_t first = population->member_of_first ? population->member_of_first[object] : 0;
	uint32_t end = population->member_of_first ? population->member_of_first[object + 1] : 0;

	for (uint32_t i = first; i < end; i++)
		if (population->memberships[population->member_of[i]].group == back)
			return back;
	return first < end ? population->memberships[population->member_of[first]].group : back;
}

const struct ri_group_rule *ri_group_rule_of(const struct ri_analysis *analysis, uint32_t group)
{
	uint32_t rule = analysis->population->groups[group].rule;

	if (!analysis->layout || rule >= analysis->layout->groups.count)
		return NULL;
	return &analysis->layout->groups.items[rule];
}

const char *ri_group_label(const struct ri_analysis *analysis, uint32_t group)
{
	const struct ri_group *g = &analysis->population->groups[group];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, group);

	if (g->name)
		return g->name;
	if (rule && rule->name)
		return rule->name;
	if (rule && rule->variable_name)
		return rule->variable_name;
	if (rule && rule->head_type_name)
		return rule->head_type_name;
	return "(unnamed group)";
}

const char *ri_object_type_name(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t type = population->objects[object].type;

	return type < population->type_count && population->types[type].name
		       ? population->types[type].name
		       : "(unnamed type)";
}

const char *ri_class_name(const struct ri_analysis *analysis, uint32_t class_index)
{
	if (!analysis->shapes || class_index >= analysis->shapes->classes.count)
		return "(no class)";
	return analysis->shapes->classes.items[class_index].name;
}

bool ri_edge_may_own(const struct ri_edge *edge)
{
	return !(edge->flags & (RI_EDGE_LINK | RI_EDGE_BORROWS | RI_EDGE_EMBEDS));
}

bool ri_object_is_unreachable(const struct ri_analysis *analysis, uint32_t object)
{
	return analysis->graph && !(analysis->graph->reach[object] & RI_REACH_ANY);
}

int64_t ri_object_residual(const struct ri_analysis *analysis, uint32_t object)
{
	int64_t count = analysis->population->objects[object].count;
	int64_t certain = analysis->holders->certain[object];
	int64_t most = certain + analysis->holders->possible[object], residual;

	/* a static object exists without being held: its initial reference may be nobody's */
	most += (analysis->population->objects[object].state & RI_OBJECT_STATIC) != 0;
	if (count > most)
		return count - most;
	/* a damaged count may be as low as there are numbers */
	if (__builtin_sub_overflow(count, certain, &residual))
		residual = -INT64_MAX;
	return count < certain ? residual : 0;
}
