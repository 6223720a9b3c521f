/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak chains as the report tells them: those that have findings, and how sure these are.
 */
#ifndef RI_REPORT_CHAIN_ROWS_H
#define RI_REPORT_CHAIN_ROWS_H

#include "report/report.h"

struct ri_chain_row {
	const struct ri_chain *chain;
	uint64_t sure, unchecked;    /* findings about its roots */
	/* a cycle: one of its findings, where all name the same fields to release; or null */
	const struct ri_finding *release;
};

/* A row per chain of the analysis, in its order; a new array of *ret_count. */
struct ri_chain_row *ri_report_chain_rows(const struct ri_analysis *analysis, size_t *ret_count);

/* What a chain's roots are: "9 session", "2 cycles of route", "12 blocks of 64 bytes";
 * owned by the caller. */
char *ri_report_chain_roots(const struct ri_analysis *analysis, const struct ri_chain *chain);

/* The address of an object or a block, numbered as in census/holders.h. */
uint64_t ri_report_node_address(const struct ri_analysis *analysis, uint32_t node);

/* "conn.session, session.owner"; owned by the caller; null where none are known. */
char *ri_report_release_fields(const struct ri_finding *finding);

/* Whether the filters let a chain through: its roots' type, or one of what hangs on it. */
bool ri_report_wants_chain(const struct ri_analysis *analysis,
			   const struct ri_report_options *options, const struct ri_chain *chain);

/* Text: a line per type that hangs on leak roots, where any does. */
void ri_text_write_chains(FILE *stream, const struct ri_analysis *analysis,
			  const struct ri_report_options *options);

#endif
