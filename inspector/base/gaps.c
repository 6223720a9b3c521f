/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of what could not be done: see gaps.h.  Lists are short (a line per
 * kind of failure), so a linear search for repeats is enough; after
 * MAX_DISTINCT different messages the rest are counted in one. */
#include "base/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MAX_DISTINCT 256

void ri_gaps_init(struct ri_gaps *gaps)
{
	*gaps = (struct ri_gaps){ 0 };
}

void ri_gaps_deinit(struct ri_gaps *gaps)
{
	for (size_t i = 0; i < gaps->count; i++)
		free(gaps->items[i].message);
	ri_vec_deinit(gaps);
}

static struct ri_gap *find(struct ri_gaps *gaps, const char *stage, const char *message)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (!strcmp(gaps->items[i].stage, stage) &&
		    !strcmp(gaps->items[i].message, message))
			return &gaps->items[i];
	return NULL;
}

/* Takes the message. */
static void add(struct ri_gaps *gaps, enum ri_gap_weight weight, const char *stage, char *message,
		uint64_t count)
{
	struct ri_gap *gap = find(gaps, stage, message);

	if (!gap && gaps->count >= MAX_DISTINCT) {
		free(message);
		message = ri_strdup("further gaps, not listed one by one");
		gap = find(gaps, stage, message);
	}
	if (gap) {
		free(message);
	} else {
		gap = ri_push(gaps);
		gap->stage = stage;
		gap->message = message;
	}
	if (weight > gap->weight)
		gap->weight = weight;
	gap->count += count;
}

void ri_gaps_add(struct ri_gaps *gaps, enum ri_gap_weight weight, const char *stage,
		 const char *format, ...)
{
	va_list args;
	char *message;

	va_start(args, format);
	message = ri_vformat(format, args);
	va_end(args);
	add(gaps, weight, stage, message, 1);
}

void ri_gaps_move(struct ri_gaps *gaps, struct ri_gaps *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct ri_gap *gap = &from->items[i];

		add(gaps, gap->weight, gap->stage, ri_strdup(gap->message), gap->count);
	}
	ri_gaps_deinit(from);
	ri_gaps_init(from);
}

bool ri_gaps_has_serious(const struct ri_gaps *gaps)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].weight == RI_GAP_MATTERS)
			return true;
	return false;
}
