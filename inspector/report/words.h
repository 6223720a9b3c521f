/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words and numbers that every writer needs: nothing here depends on a format.
 */
#ifndef RI_REPORT_WORDS_H
#define RI_REPORT_WORDS_H

#include "report/report.h"

/*
 * `text` made safe for any stream: control bytes and bytes that are not UTF-8
 * stand as \xNN.  Backslashes are left alone, so that text which was escaped once
 * stays as it is.  Owned by the caller; null gives null.
 */
char *ri_words_clean(const char *text);

/* "note", "warning", "error". */
const char *ri_words_severity(enum ri_severity severity);
/* "sure", "unchecked", "in-flux". */
const char *ri_words_status(enum ri_finding_status status);
/* "list", "tree", ... */
const char *ri_words_link_kind(enum ri_link_kind kind);
/* "sound", "broken", "count differs", ...; `walked` is the length of the chain,
 * nodes that are no elements included. */
const char *ri_words_group_state(const struct ri_group *group, uint64_t walked);
/* "owns", "owns 2", "borrows", "possible"; owned by the caller. */
char *ri_words_weight(const struct ri_weight *weight);
/* What an edge is worth: "owns", "owns 2", "possible", "borrows", "link",
 * "payload" (a pointer to it is no handle), "embeds"; owned by the caller. */
char *ri_words_worth(const struct ri_analysis *analysis, const struct ri_edge *edge);
/* "SIGSEGV (Segmentation fault)"; owned by the caller. */
char *ri_words_signal(int signal);
/* The verdict in one line: "clean", "3 findings", "could not check: ...";
 * cleaned, owned by the caller. */
char *ri_words_verdict(const struct ri_analysis *analysis);

/* The object's name member, read from memory and cleaned; null: it has none or
 * it is not readable.  Owned by the caller. */
char *ri_object_name(const struct ri_analysis *analysis, uint32_t object);

/* Reads the object's index member into *ret; false: it has none or it is not readable. */
bool ri_object_read_index(const struct ri_analysis *analysis, uint32_t object, int64_t *ret);

/* Whether names of objects may be shown at all. */
bool ri_report_shows_names(const struct ri_report_options *options);

/* Whether every filter of the options lets the finding through. */
bool ri_report_wants_finding(const struct ri_analysis *analysis,
			     const struct ri_report_options *options,
			     const struct ri_finding *finding);

/* The last line of evidence, which is the command that shows the finding again;
 * null where there is none. */
const char *ri_finding_command(const struct ri_finding *finding);

#endif
