/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of report writers. */
#include <string.h>

#include "report/report.h"

extern const struct ri_writer ri_writer_text, ri_writer_json;

const struct ri_writer *const ri_writers[] = {
	&ri_writer_text,
	&ri_writer_json,
	NULL,
};

const struct ri_writer *ri_writer_find(const char *name)
{
	for (size_t i = 0; ri_writers[i]; i++)
		if (!strcmp(ri_writers[i]->name, name))
			return ri_writers[i];
	return NULL;
}
