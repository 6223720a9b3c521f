/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the report says per type, per group and about coverage, as numbers: each
 * writer lays them out its own way.
 */
#ifndef RI_REPORT_ROWS_H
#define RI_REPORT_ROWS_H

#include "report/report.h"

struct ri_type_row {
	const char *name;
	uint64_t objects, live;      /* live: not dead by count, magic or block */
	uint64_t surplus, deficit;   /* findings of that code, or that name it beside theirs */
	uint64_t unreachable;        /* leaked objects in no cycle: roots and what hangs on them */
	uint64_t cycles;             /* objects that are in a reported cycle */
	uint64_t damaged;            /* findings of other codes than notes, about an object */
};

/* A row per counted type, in the population's order; a new array of type_count. */
struct ri_type_row *ri_report_type_rows(const struct ri_analysis *analysis);

/* Per group, the length of its chain: members and nodes that are no elements;
 * a new array of group_count. */
uint64_t *ri_report_walked_lengths(const struct ri_analysis *analysis);

struct ri_coverage {
	uint64_t present_bytes, file_bytes, untouched_bytes, missing_bytes;
	uint64_t missing_writable_bytes; /* the part that could have held holders */
	size_t module_count, modules_with_dwarf;
	size_t thread_count, threads_with_registers;
};

/* One pass over the image's ranges; stages that are absent count nothing. */
struct ri_coverage ri_report_measure_coverage(const struct ri_analysis *analysis);

#endif
