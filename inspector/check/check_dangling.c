/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dangling: a free block that somebody certain still points at.  Objects that
 * are dead in a used block are told by bad-count and freed-object, which name this
 * code beside theirs; members of groups by dead-member.  And heap-damage.
 */
#include <inttypes.h>

#include "check/cause.h"

static void run_dangling(const struct ri_check *check, const struct ri_analysis *analysis,
			 struct ri_findings *findings)
{
	for (uint32_t o = 0; o < analysis->population->object_count; o++) {
		struct ri_finding *finding;

		if (ri_object_cause(analysis, o) != RI_CAUSE_FREED)
			continue;
		finding = ri_finding_of_object(findings, check, analysis, o);
		ri_finding_summarize(finding,
				     "%s 0x%" PRIx64 " lies in a free block and %" PRId64
				     " certain holders point at it",
				     finding->type_name, finding->addr, finding->certain);
		ri_finding_identify(finding, NULL);
		ri_finding_explain_holders(finding, analysis, o);
		ri_finding_imply_states(finding, analysis, o);
		ri_finding_rest_on_liveness(finding, analysis);
		ri_finding_explain(finding, "holders 0x%" PRIx64, finding->addr);
	}
}

const struct ri_check ri_check_dangling = {
	.code = "dangling",
	.severity = RI_SEVERITY_ERROR,
	.summary = "a certain holder points at a freed or dead object",
	.help = "A typed member of a live object, a variable or an owning membership points at an "
		"object that was freed. The next use through it reads memory that belongs to "
		"nobody. The object was put once too often, or the holder was not cleared when "
		"its reference was given up. `holders` names the words.",
	.run = run_dangling,
};

static void run_heap_damage(const struct ri_check *check, const struct ri_analysis *analysis,
			    struct ri_findings *findings)
{
	const struct ri_heap *heap = analysis->heap;

	for (size_t i = 0; heap && i < heap->damage_count; i++) {
		const struct ri_heap_damage *damage = &heap->damages[i];
		struct ri_finding *finding = ri_findings_add(findings, check, damage->addr);
		uint32_t object = RI_NONE;

		ri_finding_summarize(finding, "the allocator's record at 0x%" PRIx64 ": %s",
				     damage->addr, damage->what);
		ri_finding_identify(finding, damage->what);
		if (damage->neighbour) {
			ri_finding_explain(finding, "the record before it is at 0x%" PRIx64,
					   damage->neighbour);
			*ri_push(&finding->addrs) = damage->neighbour;
		}
		/* The bytes just before a damaged record are the likely overrun's source. */
		if (analysis->population && analysis->population->index && damage->addr)
			object = ri_population_find(analysis->population, damage->addr - 1);
		if (object != RI_NONE) {
			finding->type_name = ri_object_type_name(analysis, object);
			ri_finding_explain(finding, "%s 0x%" PRIx64 " ends right before it",
					   finding->type_name,
					   analysis->population->objects[object].addr);
			ri_finding_explain(finding, "show 0x%" PRIx64,
					   analysis->population->objects[object].addr);
		} else {
			ri_finding_explain(finding, "coverage");
		}
	}
}

const struct ri_check ri_check_heap_damage = {
	.code = "heap-damage",
	.severity = RI_SEVERITY_ERROR,
	.summary = "the allocator's own records are inconsistent",
	.help = "A record of the allocator (a chunk header of glibc, a pool's header or chain of "
		"free blocks of pymalloc, the guards of CPython's debug hooks) cannot be true: its "
		"size or flags do not fit its neighbours. Most often the block before it was "
		"written beyond its end. The blocks between the damage and the next record that "
		"fits are unknown: what rests on them is not checked.",
	.run = run_heap_damage,
};
