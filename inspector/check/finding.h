/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Findings: what the checks found, each with its evidence.
 */
#ifndef RI_CHECK_FINDING_H
#define RI_CHECK_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "heap/heap.h" /* RI_NONE */

enum ri_severity {
	RI_SEVERITY_NOTE,        /* told; does not decide the exit status */
	RI_SEVERITY_WARNING,     /* a leak: memory is lost, nothing will crash for it */
	RI_SEVERITY_ERROR,       /* damage, or a use after free that is bound to happen */
};

enum ri_finding_status {
	RI_FINDING_SURE,
	RI_FINDING_UNCHECKED,    /* would be a finding if memory that is absent held nothing */
	RI_FINDING_IN_FLUX,      /* would be one if no thread had been changing it: a note */
};

struct ri_check;

struct ri_finding {
	const struct ri_check *check;
	enum ri_finding_status status;
	uint64_t addr;           /* of the object, or of the group's head struct */
	uint32_t object;         /* index, or RI_NONE */
	uint32_t group;          /* the group concerned, or RI_NONE */
	const char *type_name;   /* of the object, or null */
	const char *group_name;  /* null: none; the last known one for a leaked object */
	bool has_counts;
	int64_t stored, certain, possible; /* with has_counts */
	char *fingerprint;       /* "surplus:conn:group=all_conns"; never an address */
	char *summary;           /* one line */
	RI_VEC(char *) evidence; /* lines; the last one is the command that shows it again */
	RI_VEC(const char *) also; /* codes of checks that this finding implies, static text */
	/* cycle: names of the fields, as few as were found, without which no loop is left */
	RI_VEC(const char *) release;
	bool release_is_fewest;  /* no fewer do */
	RI_VEC(uint64_t) addrs;  /* further objects: members of a cycle, the list's two sides */
};

struct ri_findings {
	struct ri_finding *items; /* by code in table order, then by address */
	size_t count, capacity;
};

/* A new finding of `check`, owned by `findings`, to be filled; the pointer is
 * valid until the next call. */
struct ri_finding *ri_findings_add(struct ri_findings *findings, const struct ri_check *check,
				   uint64_t addr);

/* The check's severity; of a finding in flux that of a note. */
enum ri_severity ri_finding_severity(const struct ri_finding *finding);

/* Adds a line of evidence / a formatted summary. */
void ri_finding_explain(struct ri_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ri_finding_summarize(struct ri_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void ri_findings_sort(struct ri_findings *findings);
void ri_findings_destroy(struct ri_findings *findings);

#endif
