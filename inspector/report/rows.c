/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of the report: see rows.h.  Linear in objects, findings, ranges. */
#include "report/rows.h"

#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/leak.h"

static bool is_damage(const struct ri_finding *finding)
{
	static const char *const others[] = { "surplus", "deficit", "unreachable", "cycle" };

	if (ri_finding_severity(finding) == RI_SEVERITY_NOTE)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(finding->check->code, others[i]))
			return false;
	return true;
}

/* Whether the finding is of `code` or names it beside its own. */
static bool says(const struct ri_finding *finding, const char *code)
{
	if (!strcmp(finding->check->code, code))
		return true;
	for (size_t i = 0; i < finding->also.count; i++)
		if (!strcmp(finding->also.items[i], code))
			return true;
	return false;
}

/* Counts the members of the cycle that the finding is about. */
static void count_cycle(const struct ri_analysis *analysis, const struct ri_finding *finding,
			struct ri_type_row *rows)
{
	const struct ri_graph *graph = analysis->graph;
	uint32_t index = graph ? graph->cycle_of[finding->object] : RI_NONE;

	if (index == RI_NONE)
		return;
	for (uint32_t i = 0; i < graph->cycles[index].count; i++) {
		uint32_t o = graph->cycle_members[graph->cycles[index].first + i];

		rows[analysis->population->objects[o].type].cycles++;
	}
}

struct ri_type_row *ri_report_type_rows(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	struct ri_type_row *rows = ri_calloc(population->type_count, sizeof(*rows));

	for (size_t t = 0; t < population->type_count; t++)
		rows[t].name = population->types[t].name;
	for (size_t o = 0; o < population->object_count; o++) {
		struct ri_type_row *row = &rows[population->objects[o].type];

		row->objects++;
		row->live += !(population->objects[o].state & RI_OBJECT_DEAD_BITS);
		row->unreachable += analysis->graph && ri_object_is_leaked(analysis, (uint32_t)o) &&
				    analysis->graph->cycle_of[o] == RI_NONE;
	}
	for (size_t i = 0; analysis->findings && i < analysis->findings->count; i++) {
		const struct ri_finding *finding = &analysis->findings->items[i];
		const char *code = finding->check->code;
		struct ri_type_row *row;

		if (finding->object == RI_NONE || finding->status == RI_FINDING_IN_FLUX)
			continue;
		row = &rows[population->objects[finding->object].type];
		row->surplus += says(finding, "surplus");
		row->deficit += says(finding, "deficit");
		row->damaged += is_damage(finding);
		if (!strcmp(code, "cycle"))
			count_cycle(analysis, finding, rows);
	}
	return rows;
}

uint64_t *ri_report_walked_lengths(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	uint64_t *lengths = ri_calloc(population->group_count, sizeof(*lengths));

	for (size_t g = 0; g < population->group_count; g++)
		lengths[g] = population->groups[g].member_count;
	for (size_t i = 0; i < population->foreign_node_count; i++)
		lengths[population->foreign_nodes[i].group]++;
	return lengths;
}

struct ri_coverage ri_report_measure_coverage(const struct ri_analysis *analysis)
{
	struct ri_coverage coverage = { 0 };
	const struct ri_target *target = analysis->target;
	const struct ri_range *ranges = NULL;
	const struct ri_module *modules = NULL;
	size_t count = 0;

	if (target && target->image)
		ranges = ri_image_ranges(target->image, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t size_bytes = ranges[i].end - ranges[i].start;

		coverage.present_bytes += ranges[i].kind == RI_RANGE_PRESENT ? size_bytes : 0;
		coverage.file_bytes += ranges[i].kind == RI_RANGE_FILE ? size_bytes : 0;
		coverage.untouched_bytes += ranges[i].kind == RI_RANGE_UNTOUCHED ? size_bytes : 0;
		if (ranges[i].kind == RI_RANGE_MISSING) {
			coverage.missing_bytes += size_bytes;
			if (ranges[i].flags & RI_RANGE_WRITE)
				coverage.missing_writable_bytes += size_bytes;
		}
	}
	if (analysis->modules)
		modules = ri_modules_list(analysis->modules, &coverage.module_count);
	for (size_t i = 0; i < coverage.module_count; i++)
		coverage.modules_with_dwarf += modules[i].has_dwarf;
	coverage.thread_count = target ? target->thread_count : 0;
	for (size_t i = 0; i < coverage.thread_count; i++)
		coverage.threads_with_registers += target->threads[i].has_registers &&
						   !target->threads[i].registers_partial;
	return coverage;
}
