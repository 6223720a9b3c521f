/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was being changed while the memory was taken: inconsistencies that a thread was
 * about to mend are notes (RI_FINDING_IN_FLUX), not findings.
 */
#ifndef RI_CHECK_FLUX_H
#define RI_CHECK_FLUX_H

#include "check/check.h"

/* A range of addresses that stand for one thing: an object, a head, a link. */
struct ri_flux_thing {
	uint64_t start, end;     /* [start, end); empty: left out */
};

struct ri_flux;

/* The words of all threads that may be changing something; to be destroyed. */
struct ri_flux *ri_flux_create(const struct ri_analysis *analysis);
void ri_flux_destroy(struct ri_flux *flux);

/* The object's bytes, or the head of a group and what its struct has besides. */
struct ri_flux_thing ri_flux_object(const struct ri_analysis *analysis, uint32_t object);
struct ri_flux_thing ri_flux_group(const struct ri_analysis *analysis, uint32_t group);
/* What `addr` lies in: an object, else a link at that address. */
struct ri_flux_thing ri_flux_link(const struct ri_analysis *analysis, uint64_t addr);

/*
 * Makes `finding` a note where one thread has pointers into at least `least` different
 * ones of `things` in its registers or at the top of its stack, or holds the declared lock
 * of `group` or `object` (RI_NONE: none).  The evidence says which thread.  A finding that
 * could not be checked anyway is left as it is.
 */
void ri_finding_consider_flux(struct ri_finding *finding, const struct ri_analysis *analysis,
			      const struct ri_flux *flux, const struct ri_flux_thing *things,
			      size_t thing_count, size_t least, uint32_t group, uint32_t object);

/* The threads by what names them as a lock's owner, for the analysis (analysis->lock_owners;
 * without it locks are not considered); to be destroyed. */
struct ri_lock_owners *ri_lock_owners_create(const struct ri_target *target);
void ri_lock_owners_destroy(struct ri_lock_owners *owners);

/* The same by the locks alone: of the finding's group and of its object. */
void ri_finding_consider_lock(struct ri_finding *finding, const struct ri_analysis *analysis);

#endif
