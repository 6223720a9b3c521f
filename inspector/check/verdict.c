/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verdict of an analysis: findings, clean, or could not check.  A sure
 * finding decides; without one, any doubt that matters keeps the answer from
 * being clean.
 */
#include "check/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "check/evidence.h"

bool ri_analysis_has_counted(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;

	for (uint32_t o = 0; population && o < population->object_count; o++)
		if (ri_object_standing(analysis, o) != RI_STANDING_REFUTED)
			return true;
	for (size_t g = 0; population && g < population->group_count; g++)
		if (!(population->groups[g].state & RI_GROUP_UNINITIALISED))
			return true;
	return false;
}

/* Objects that no check looks at, since nothing but their content says that they
 * are alive; those that the program wants left alone are not counted. */
static size_t count_suspects(const struct ri_population *population)
{
	size_t count = 0;

	for (size_t o = 0; population && o < population->object_count; o++)
		count += (population->objects[o].state & (RI_OBJECT_SUSPECT | RI_OBJECT_IGNORE)) ==
			 RI_OBJECT_SUSPECT;
	return count;
}

void ri_analysis_count_findings(const struct ri_analysis *analysis, size_t *ret_sure,
				size_t *ret_unchecked, size_t *ret_notes)
{
	*ret_sure = *ret_unchecked = *ret_notes = 0;
	for (size_t i = 0; analysis->findings && i < analysis->findings->count; i++) {
		const struct ri_finding *finding = &analysis->findings->items[i];

		if (ri_finding_severity(finding) == RI_SEVERITY_NOTE)
			++*ret_notes;
		else if (finding->status == RI_FINDING_SURE)
			++*ret_sure;
		else
			++*ret_unchecked;
	}
}

static size_t count_in_flux(const struct ri_findings *findings)
{
	size_t count = 0;

	for (size_t i = 0; findings && i < findings->count; i++)
		count += findings->items[i].status == RI_FINDING_IN_FLUX;
	return count;
}

static bool has_serious_gap(const struct ri_analysis *analysis, const char *stage)
{
	for (size_t i = 0; i < analysis->gaps.count; i++)
		if (analysis->gaps.items[i].weight == RI_GAP_MATTERS &&
		    !strcmp(analysis->gaps.items[i].stage, stage))
			return true;
	return false;
}

/* Names that do not bind and types that do not occur are what follows from an
 * executable that is not there or has no debug information: that comes first.
 * Null where nothing follows from it; owned by the caller. */
static char *doubt_executable(const struct ri_analysis *analysis)
{
	const struct ri_module *executable = ri_modules_main(analysis->modules);

	if (!analysis->modules || (executable && executable->has_dwarf))
		return NULL;
	if (ri_analysis_has_counted(analysis) && !has_serious_gap(analysis, "profile"))
		return NULL;
	if (!executable)
		return ri_strdup("the executable was not found in the target's memory");
	return ri_format("the executable %s: %s", executable->path,
			 executable->why_not ? executable->why_not : "no DWARF");
}

void ri_analysis_doubts(const struct ri_analysis *analysis, ri_doubts *doubts)
{
	struct ri_absence absence = ri_absence_measure(analysis);
	char *executable = doubt_executable(analysis);
	size_t sure, unchecked, notes, suspects = count_suspects(analysis->population);
	size_t in_flux = count_in_flux(analysis->findings);

	ri_analysis_count_findings(analysis, &sure, &unchecked, &notes);
	if (executable)
		*ri_push(doubts) = executable;
	for (size_t i = 0; i < analysis->gaps.count; i++)
		if (analysis->gaps.items[i].weight == RI_GAP_MATTERS)
			*ri_push(doubts) = ri_strdup(analysis->gaps.items[i].message);
	if (!ri_analysis_has_counted(analysis) && !has_serious_gap(analysis, "check"))
		*ri_push(doubts) = ri_strdup("no counted type was found");
	if (absence.missing_bytes) {
		char *bytes = ri_format_bytes(absence.missing_bytes);

		*ri_push(doubts) = ri_format("%s of writable memory are missing", bytes);
		free(bytes);
	}
	if (absence.unread_bytes) {
		char *bytes = ri_format_bytes(absence.unread_bytes);

		*ri_push(doubts) = ri_format("%s of damaged heap were not searched", bytes);
		free(bytes);
	}
	if (absence.blind_threads)
		*ri_push(doubts) =
			ri_format("%zu threads without registers", absence.blind_threads);
	if (analysis->heap && analysis->heap->foreign_allocator &&
	    ri_analysis_has_counted(analysis))
		*ri_push(doubts) = ri_format("counted objects under an allocator that is not "
					     "understood (%s)",
					     analysis->heap->foreign_allocator);
	if (suspects)
		*ri_push(doubts) = ri_format("%zu objects are known by their content alone, in "
					     "memory of no allocator that is understood",
					     suspects);
	if (unchecked)
		*ri_push(doubts) = ri_format("%zu findings that could not be checked", unchecked);
	if (in_flux)
		*ri_push(doubts) = ri_format("%zu inconsistenc%s in flux: a thread was changing "
					     "what is not sound; look at another image of it",
					     in_flux, in_flux == 1 ? "y" : "ies");
}

void ri_doubts_deinit(ri_doubts *doubts)
{
	for (size_t i = 0; i < doubts->count; i++)
		free(doubts->items[i]);
	ri_vec_deinit(doubts);
}

enum ri_verdict ri_analysis_verdict(const struct ri_analysis *analysis)
{
	size_t sure, unchecked, notes, doubt_count;
	ri_doubts doubts = { 0 };

	ri_analysis_count_findings(analysis, &sure, &unchecked, &notes);
	if (sure)
		return RI_VERDICT_FINDINGS;
	ri_analysis_doubts(analysis, &doubts);
	doubt_count = doubts.count;
	ri_doubts_deinit(&doubts);
	return doubt_count ? RI_VERDICT_UNCHECKED : RI_VERDICT_CLEAN;
}
