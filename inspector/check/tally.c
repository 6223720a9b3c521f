/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The holders of an object in words, tallied by class: see evidence.h.  What
 * each holder is worth was decided by the census.
 */
#include "check/evidence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *ri_format_bytes(uint64_t size_bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)size_bytes;
	size_t unit = 0;

	if (size_bytes < 1024)
		return ri_format("%" PRIu64 " bytes", size_bytes);
	for (value /= 1024; value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	return ri_format("%.1f %s", value, units[unit]);
}

/* Holders of one class and one worth. */
struct tally {
	uint32_t class_index;
	uint32_t flags;
	uint64_t count;
};

#define TALLY_MAX   32
#define TALLY_SHOWN 8
#define WORTH_FLAGS (RI_EDGE_POSSIBLE | RI_EDGE_BORROWS)

struct tallies {
	struct tally items[TALLY_MAX];
	size_t count;
	uint64_t rest; /* holders of classes beyond TALLY_MAX */
};

static void tally_edge(struct tallies *tallies, const struct ri_edge *edge)
{
	uint32_t flags = edge->flags & WORTH_FLAGS;

	for (size_t i = 0; i < tallies->count; i++)
		if (tallies->items[i].class_index == edge->class_index &&
		    tallies->items[i].flags == flags) {
			tallies->items[i].count++;
			return;
		}
	if (tallies->count < TALLY_MAX)
		tallies->items[tallies->count++] = (struct tally){ edge->class_index, flags, 1 };
	else
		tallies->rest++;
}

static int compare_tallies(const void *a, const void *b, void *analysis)
{
	const struct tally *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->class_index != y->class_index)
		return strcmp(ri_class_name(analysis, x->class_index),
			      ri_class_name(analysis, y->class_index));
	return (x->flags > y->flags) - (x->flags < y->flags);
}

static void explain_tally(struct ri_finding *finding, const struct ri_analysis *analysis,
			  const struct tally *tally)
{
	const char *name = ri_class_name(analysis, tally->class_index);
	const struct ri_holder_class *class =
		analysis->shapes && tally->class_index < analysis->shapes->classes.count
			? &analysis->shapes->classes.items[tally->class_index]
			: NULL;
	int64_t weight = class ? class->weight : 1;

	if (tally->flags & RI_EDGE_BORROWS)
		ri_finding_explain(finding, "%" PRIu64 " in %s, which borrows", tally->count, name);
	else if (class && class->count_index) /* possible or not, it is none of this count's */
		ri_finding_explain(finding, "%" PRIu64 " in %s, which feed another count",
				   tally->count, name);
	else if (tally->flags & RI_EDGE_POSSIBLE)
		ri_finding_explain(finding, "%" PRIu64 " in %s, possible", tally->count, name);
	else if (weight == 1)
		ri_finding_explain(finding, "%" PRIu64 " in %s, certain", tally->count, name);
	else
		ri_finding_explain(finding, "%" PRIu64 " in %s, certain, worth %" PRId64 " each",
				   tally->count, name, weight);
}

void ri_finding_explain_holders(struct ri_finding *finding, const struct ri_analysis *analysis,
				uint32_t object)
{
	const struct ri_holders *holders = analysis->holders;
	struct tallies tallies = { .count = 0 };
	uint64_t rest;

	if (!holders || !holders->in_first)
		return;
	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++) {
		const struct ri_edge *edge = &holders->edges[holders->in_edges[i]];

		if (!(edge->flags & (RI_EDGE_LINK | RI_EDGE_EMBEDS)))
			tally_edge(&tallies, edge);
	}
	if (!tallies.count)
		ri_finding_explain(finding, "nothing that was searched holds it");
	qsort_r(tallies.items, tallies.count, sizeof(*tallies.items), compare_tallies,
		(void *)analysis);
	rest = tallies.rest;
	for (size_t i = 0; i < tallies.count; i++) {
		if (i < TALLY_SHOWN)
			explain_tally(finding, analysis, &tallies.items[i]);
		else
			rest += tallies.items[i].count;
	}
	if (rest)
		ri_finding_explain(finding, "%" PRIu64 " more of other classes", rest);
}
