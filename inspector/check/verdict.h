/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why an analysis without findings is not clean: every doubt as one line.
 */
#ifndef RI_CHECK_VERDICT_H
#define RI_CHECK_VERDICT_H

#include "check/analysis.h"

typedef RI_VEC(char *) ri_doubts;

/* Appends one line per thing that matters and could not be checked; first an
 * executable without which the rest could not be had. */
void ri_analysis_doubts(const struct ri_analysis *analysis, ri_doubts *doubts);
void ri_doubts_deinit(ri_doubts *doubts);

/* Sure findings above a note, and findings that could not be checked. */
void ri_analysis_count_findings(const struct ri_analysis *analysis, size_t *ret_sure,
				size_t *ret_unchecked, size_t *ret_notes);

/* Whether any object of a counted type was found, or a group that was ever used. */
bool ri_analysis_has_counted(const struct ri_analysis *analysis);

#endif
