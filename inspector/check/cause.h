/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Beside ri_object_cause() (check.h): the codes that one primary finding
 * implies.
 */
#ifndef RI_CHECK_CAUSE_H
#define RI_CHECK_CAUSE_H

#include "check/check.h"
#include "check/evidence.h"

/* Puts into `also` every code that the state of `object` bears out besides the
 * finding's own.  In a free block the magic and the count are what is left
 * there: named where they are wrong, never a finding of their own. */
void ri_finding_imply_states(struct ri_finding *finding, const struct ri_analysis *analysis,
			     uint32_t object);

/* The causes of all objects (enum ri_object_cause), for struct ri_analysis: most
 * checks ask for each object's.  A new array of object_count. */
uint8_t *ri_causes_create(const struct ri_analysis *analysis);

/* Tells, once per type found by its shape, how many of its dead objects something points
 * at that is not known to own them. */
void ri_causes_tell(const struct ri_analysis *analysis, struct ri_gaps *gaps);

#endif
