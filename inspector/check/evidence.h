/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the checks share: findings made for an object or a group, evidence in
 * words, and the two conditions that turn a finding into "could not check".
 *
 * Names of groups and types may come from the target's memory and go into
 * findings as they stand; whoever prints findings escapes them.
 */
#ifndef RI_CHECK_EVIDENCE_H
#define RI_CHECK_EVIDENCE_H

#include "census/describe.h"
#include "check/check.h"

/* Memory that could hold a holder and is not there. */
struct ri_absence {
	uint64_t missing_bytes;    /* writable, content unknown; with --strict untouched too */
	uint64_t untouched_bytes;  /* presumed never written */
	double truncated_percent;  /* of a core's bytes that the file ends before */
	uint64_t unread_bytes;     /* of heap that was not searched, for its records are damaged */
	size_t blind_threads;      /* threads without registers, or with some of them */
	bool has_lost_threads;     /* there may be threads that are not known at all */
};

/* One pass over the image's ranges; what the census left out. */
struct ri_absence ri_absence_measure(const struct ri_analysis *analysis);

/* Whether a holder may lie in memory that is missing or was not searched. */
bool ri_absence_matters(const struct ri_absence *absence);

/*
 * For a finding that says "nothing holds this": UNCHECKED where memory is
 * missing or was not searched, or the finding's object lies in shared memory;
 * names what was presumed untouched.
 */
void ri_finding_rest_on_absence(struct ri_finding *finding, const struct ri_analysis *analysis,
				const struct ri_absence *absence);

/*
 * For a finding that falls if registers hold `holders` references more: UNCHECKED where
 * threads' registers are not known and have room for so many.
 */
void ri_finding_rest_on_registers(struct ri_finding *finding, const struct ri_absence *absence,
				  uint64_t holders);

/* For a finding that says which blocks are used or free: UNCHECKED under an
 * allocator that is not understood. */
void ri_finding_rest_on_liveness(struct ri_finding *finding, const struct ri_analysis *analysis);

/* A new finding about object `object`: address, type, group, counts. */
struct ri_finding *ri_finding_of_object(struct ri_findings *findings,
					const struct ri_check *check,
					const struct ri_analysis *analysis, uint32_t object);

/* A new finding about group `group`: address of the struct around the head, name
 * of the group and, where its elements have one type, that. */
struct ri_finding *ri_finding_of_group(struct ri_findings *findings, const struct ri_check *check,
				       const struct ri_analysis *analysis, uint32_t group);

/* Sets the group that the finding concerns. */
void ri_finding_set_group(struct ri_finding *finding, const struct ri_analysis *analysis,
			  uint32_t group);

/* Sets the fingerprint: "code:type" ("-" for no type), then ":class=CLASS" where `class_name` is
 * not null, else ":group=NAME" where the finding has a group. */
void ri_finding_identify(struct ri_finding *finding, const char *class_name);

/* Names `code` in `also`, once; the finding's own code is left out. */
void ri_finding_imply(struct ri_finding *finding, const char *code);

/* Adds the last line of evidence: the command that shows a group again. */
void ri_finding_show_group(struct ri_finding *finding, const struct ri_analysis *analysis,
			   uint32_t group);

/* Adds lines that say by which classes, how often and with what worth the
 * object is held (LINK words left out).  Linear in its holders. */
void ri_finding_explain_holders(struct ri_finding *finding, const struct ri_analysis *analysis,
				uint32_t object);

/* What describes places of the analysis in words. */
struct ri_describer ri_analysis_describer(const struct ri_analysis *analysis);

/* What lies at `addr` in words (census/describe.h), names escaped; "null" for
 * 0, the bare address where the stages that know are not there.  Owned by the caller. */
char *ri_evidence_addr(const struct ri_analysis *analysis, uint64_t addr);

/* "17 bytes", "3.2 MiB"; owned by the caller. */
char *ri_format_bytes(uint64_t size_bytes);

/* The group that `object` is chained in, of several the one that its back pointer
 * names; if it is in none the one that its back pointer names; else RI_NONE. */
uint32_t ri_object_group(const struct ri_analysis *analysis, uint32_t object);

/* The group's name, else its rule's, its variable's, its head's type; never
 * null and never an address. */
const char *ri_group_label(const struct ri_analysis *analysis, uint32_t group);

/* The rule of a group. */
const struct ri_group_rule *ri_group_rule_of(const struct ri_analysis *analysis, uint32_t group);

/* Name of the type of `object`; the name of class `class_index`. */
const char *ri_object_type_name(const struct ri_analysis *analysis, uint32_t object);
const char *ri_class_name(const struct ri_analysis *analysis, uint32_t class_index);

/* Whether the edge says that somebody may own its target: no link word, no
 * borrowing holder, and not the bytes of one object in another. */
bool ri_edge_may_own(const struct ri_edge *edge);

/* Whether no path leads from a root to `object` over certain and possible owners. */
bool ri_object_is_unreachable(const struct ri_analysis *analysis, uint32_t object);

/*
 * Per type, the one constant by which the counts of nearly all its held
 * objects differ from their holders (0: none): positive for counts above.  A
 * new array of type_count, owned by the caller.  See check_policy.c.
 */
int64_t *ri_policy_offsets(const struct ri_analysis *analysis);

/* Whether the object counts as dead only because its type counts less than its holders by
 * one constant of `offsets`, as where the first reference is 0. */
bool ri_policy_explains_death(const struct ri_analysis *analysis, const int64_t *offsets,
			      uint32_t object);

/* The distance of the stored count from the interval of its holders: positive
 * above it (surplus), negative below (deficit), 0 within. */
int64_t ri_object_residual(const struct ri_analysis *analysis, uint32_t object);

#endif
