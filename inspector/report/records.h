/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of a listing as JSON records: what listing.c asks of json.c, the one
 * file that knows the JSON library.
 */
#ifndef RI_REPORT_RECORDS_H
#define RI_REPORT_RECORDS_H

#include "report/report.h"

/* Writes {"NAME": cell, ...} on one line without a newline; null cells are null,
 * those of number columns numbers where they parse as one. */
void ri_json_write_record(FILE *stream, const struct ri_column *columns,
			  const char *const *cells, size_t column_count);

/* Writes `text` as a JSON string. */
void ri_json_write_string(FILE *stream, const char *text);

#endif
