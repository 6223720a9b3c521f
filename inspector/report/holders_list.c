/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The holders of one object, a row each: where the word lies, its class, what
 * it is worth, and in words what it is part of.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check/evidence.h"
#include "report/words.h"

static char *flag_words(uint32_t flags)
{
	char *text = ri_format("%s%s%s%s", flags & RI_EDGE_INTERIOR ? ",interior" : "",
			       flags & RI_EDGE_TAGGED ? ",tagged" : "",
			       flags & RI_EDGE_UNTYPED ? ",untyped" : "",
			       flags & RI_EDGE_MEMBERSHIP ? ",membership" : "");
	char *words = ri_strdup(*text ? text + 1 : "");

	free(text);
	return words;
}

/* Without the stages that know places, the source's kind and number. */
static char *source_words(const struct ri_analysis *analysis, uint64_t edge)
{
	const struct ri_describer describer = ri_analysis_describer(analysis);
	uint32_t source;

	if (analysis->target && analysis->modules && analysis->heap && analysis->shapes)
		return ri_describe_edge(&describer, edge);
	source = ri_holders_source(analysis->holders, edge);
	if (source < analysis->holders->object_count)
		return ri_format("%s 0x%" PRIx64, ri_object_type_name(analysis, source),
				 analysis->population->objects[source].addr);
	return ri_format("node %" PRIu32, source);
}

static void add_row(struct ri_listing *listing, const struct ri_analysis *analysis, uint64_t index)
{
	const struct ri_edge *edge = &analysis->holders->edges[index];
	uint64_t word = ri_holders_word_addr(analysis->holders, analysis->population,
					     analysis->heap, index);
	char *addr = word ? ri_format("0x%" PRIx64, word) : NULL;
	char *worth = ri_words_worth(analysis, edge);
	char *source = source_words(analysis, index);
	char *flags = flag_words(edge->flags);
	const char *cells[] = { addr, ri_class_name(analysis, edge->class_index), worth, source,
				flags };

	ri_listing_add(listing, cells);
	free(addr);
	free(worth);
	free(source);
	free(flags);
}

void ri_report_holders(FILE *stream, const char *format, const struct ri_analysis *analysis,
		       uint32_t object, const struct ri_report_options *options)
{
	static const struct ri_column columns[] = {
		{ "word", false },   { "class", false }, { "worth", false },
		{ "source", false }, { "flags", false },
	};
	struct ri_listing *listing = ri_listing_create(stream, format, "holders", columns,
						       sizeof(columns) / sizeof(*columns), options);
	const struct ri_holders *holders = analysis->holders;

	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++)
		add_row(listing, analysis, holders->in_edges[i]);
	ri_listing_finish(listing);
}
