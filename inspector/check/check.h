/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of checks.  A check is one file with one function; its row says
 * what it is called and what it means, once, for the report, `help CODE`, the
 * manual and the machine formats.
 *
 * To add a check: write inspector/check/check_NAME.c with a `const struct
 * ri_check ri_check_NAME`, add it to the table in checks.c, and a fixture that
 * fires it with a clean twin (CONTRIBUTING.md has the steps).
 *
 * Where several codes are true of one object at once for one cause, one check
 * reports it and names the others in `also`.  Which one is decided by
 * ri_object_cause(), the one place that knows the precedence.
 */
#ifndef RI_CHECK_CHECK_H
#define RI_CHECK_CHECK_H

#include "check/analysis.h"
#include "check/finding.h"

struct ri_check {
	const char *code;        /* "surplus": stable, never renamed */
	enum ri_severity severity;
	const char *summary;     /* "the count is higher than all that holds the object" */
	const char *help;        /* the man page paragraph: when it fires, what it means, what to do */
	/* Reads the stages' values and adds findings; never fails. */
	void (*run)(const struct ri_check *check, const struct ri_analysis *analysis,
		    struct ri_findings *findings);
};

/* All checks, in the order of the report; null-terminated. */
extern const struct ri_check *const ri_checks[];

/* The check called `code`, or null. */
const struct ri_check *ri_check_find(const char *code);

/* The check's place in the table. */
size_t ri_check_order(const struct ri_check *check);

/* What is wrong with one object itself: at most one primary cause. */
enum ri_object_cause {
	RI_CAUSE_NONE,        /* header intact, count alive: compare it with the holders */
	RI_CAUSE_DEAD_MEMBER,  /* dead by count, freed magic or free block, and in a group */
	RI_CAUSE_FREED,       /* in a free block while a certain owner holds it: `dangling` */
	RI_CAUSE_BAD_MAGIC,    /* its magic is wrong */
	RI_CAUSE_FREED_MARK,   /* carries the freed magic while a certain owner holds it */
	RI_CAUSE_BAD_COUNT,    /* an impossible value, or dead while a certain owner holds it */
	RI_CAUSE_DEAD,         /* dead and nothing certain holds it: nothing to report */
	RI_CAUSE_EXEMPT,       /* marked ignore, suspect, or its count is immortal */
};

enum ri_object_cause ri_object_cause(const struct ri_analysis *analysis, uint32_t object);

#endif
