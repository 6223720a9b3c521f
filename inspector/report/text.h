/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text writer's parts: lines that wrap, colours, and the findings.
 */
#ifndef RI_REPORT_TEXT_H
#define RI_REPORT_TEXT_H

#include "report/report.h"

#define RI_TEXT_WIDTH 100

/* Escape sequences of a severity and of "normal"; "" without colours. */
const char *ri_text_colour(const struct ri_report_options *options, enum ri_severity severity);
const char *ri_text_plain(const struct ri_report_options *options);
const char *ri_text_bold(const struct ri_report_options *options);

/* Writes `text` cleaned, `indent` blanks in front of each line, broken at blanks
 * after RI_TEXT_WIDTH columns where that is possible; ends the line. */
void ri_text_write(FILE *stream, unsigned indent, const char *text);
void ri_text_print(FILE *stream, unsigned indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The findings that the options want: those alike folded into one unless
 * verbose, notes last. */
void ri_text_write_findings(FILE *stream, const struct ri_analysis *analysis,
			    const struct ri_report_options *options);

#endif
