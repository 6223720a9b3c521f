/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups that no profile declares, and how far what is wrong in them can be believed.
 */
#ifndef RI_CHECK_GROUP_INFERENCE_H
#define RI_CHECK_GROUP_INFERENCE_H

#include "base/gaps.h"
#include "census/lost.h"
#include "check/finding.h"

struct ri_analysis;

/*
 * Looks for groups of the inferred types, with the heap known and before any census, and
 * binds the profiles anew with them; analysis->groups says what came of it.  Where a population
 * was taken with what is bound in the end, it is left in the analysis, and what it could not
 * do in `population_gaps`; else it is null.  `known` may be null.
 */
void ri_analysis_infer_groups(struct ri_analysis *analysis, const struct ri_lost *known,
			      struct ri_gaps *population_gaps);

/*
 * Makes findings about the chains of inferred groups ones that could not be checked where so
 * much is off in the groups of one rule that the rule may be what is wrong.
 */
void ri_findings_doubt_groups(struct ri_findings *findings, const struct ri_analysis *analysis);

#endif
