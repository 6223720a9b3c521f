/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Findings as text.  Those with one fingerprint and one status are one entry:
 * how many, the first addresses, the evidence of the first.  Entries come in the
 * order of the checks and then of the fingerprints, which is the same from dump
 * to dump; notes come last.  Verbose: an entry each, with every holder.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check/check.h"
#include "report/text.h"
#include "report/words.h"

#define ADDRESSES_SHOWN 3

/* The findings that are wanted, in the order in which they are written. */
struct selection {
	const struct ri_finding **items;
	size_t count;
};

static bool is_note(const struct ri_finding *finding)
{
	return ri_finding_severity(finding) == RI_SEVERITY_NOTE;
}

static bool are_alike(const struct ri_finding *a, const struct ri_finding *b)
{
	return a->check == b->check && a->status == b->status &&
	       !strcmp(a->fingerprint, b->fingerprint);
}

static int compare(const void *a, const void *b)
{
	const struct ri_finding *x = *(const struct ri_finding *const *)a;
	const struct ri_finding *y = *(const struct ri_finding *const *)b;
	int order;

	if (is_note(x) != is_note(y))
		return is_note(x) ? 1 : -1;
	if (x->check != y->check)
		return ri_check_order(x->check) < ri_check_order(y->check) ? -1 : 1;
	order = strcmp(x->fingerprint, y->fingerprint);
	if (order)
		return order;
	if (x->status != y->status)
		return x->status < y->status ? -1 : 1;
	return (x > y) - (x < y);
}

static struct selection select_findings(const struct ri_analysis *analysis,
					const struct ri_report_options *options)
{
	const struct ri_findings *all = analysis->findings;
	struct selection selection = { ri_calloc(all->count, sizeof(*selection.items)), 0 };

	for (size_t i = 0; i < all->count; i++)
		if (ri_report_wants_finding(analysis, options, &all->items[i]))
			selection.items[selection.count++] = &all->items[i];
	qsort(selection.items, selection.count, sizeof(*selection.items), compare);
	return selection;
}

static void write_title(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options, const struct ri_finding *finding)
{
	char *summary = ri_words_clean(finding->summary), *name = NULL;

	if (finding->object != RI_NONE && ri_report_shows_names(options))
		name = ri_object_name(analysis, finding->object);
	fprintf(stream, "%s%s%s%s: ", ri_text_colour(options, ri_finding_severity(finding)),
		finding->check->code, ri_text_plain(options),
		finding->status == RI_FINDING_UNCHECKED ? " (could not check)"
		: finding->status == RI_FINDING_IN_FLUX ? " (in flux)"
							: "");
	fputs(summary, stream);
	if (name && *name)
		fprintf(stream, " \"%s\"", name);
	fputc('\n', stream);
	free(summary);
	free(name);
}

static void write_also(FILE *stream, const struct ri_finding *finding)
{
	if (!finding->also.count)
		return;
	fputs("    also:", stream);
	for (size_t i = 0; i < finding->also.count; i++)
		fprintf(stream, "%s %s", i ? "," : "", finding->also.items[i]);
	fputc('\n', stream);
}

static void write_body(FILE *stream, const struct ri_report_options *options,
		       const struct ri_finding *finding)
{
	const char *command = ri_finding_command(finding);
	const char *prefix = options->command_prefix ? options->command_prefix : "refinspect";

	for (size_t i = 0; i + 1 < finding->evidence.count; i++)
		ri_text_write(stream, 4, finding->evidence.items[i]);
	write_also(stream, finding);
	if (command) {
		/* Not wrapped: it is there to be copied. */
		char *line = ri_format("%s %s", prefix, command);
		char *clean = ri_words_clean(line);

		fprintf(stream, "    again: %s\n", clean);
		free(line);
		free(clean);
	}
}

/* "3 alike: 0x1000, 0x2000, 0x3000". */
static void write_addresses(FILE *stream, const struct ri_finding *const *alike, size_t count)
{
	fprintf(stream, "    %zu alike:", count);
	for (size_t i = 0; i < count && i < ADDRESSES_SHOWN; i++)
		fprintf(stream, "%s 0x%" PRIx64, i ? "," : "", alike[i]->addr);
	fputs(count > ADDRESSES_SHOWN ? ", ... (-v lists all)\n" : "\n", stream);
}

static void write_entry(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options,
			const struct ri_finding *const *alike, size_t count)
{
	write_title(stream, analysis, options, alike[0]);
	if (count > 1)
		write_addresses(stream, alike, count);
	write_body(stream, options, alike[0]);
	if (options->is_verbose && alike[0]->object != RI_NONE && analysis->holders &&
	    analysis->holders->in_first)
		ri_report_holders(stream, "text", analysis, alike[0]->object, options);
}

void ri_text_write_findings(FILE *stream, const struct ri_analysis *analysis,
			    const struct ri_report_options *options)
{
	struct selection selection = select_findings(analysis, options);
	size_t entries = 0, left_out = 0;
	bool has_told_notes = false;

	for (size_t i = 0, end; i < selection.count; i = end) {
		const struct ri_finding *const *first =
			(const struct ri_finding *const *)&selection.items[i];

		end = i + 1;
		while (!options->is_verbose && end < selection.count &&
		       are_alike(*first, selection.items[end]))
			end++;
		if (options->limit && entries >= options->limit) {
			left_out += end - i;
			continue;
		}
		if (is_note(*first) && !has_told_notes)
			fprintf(stream, "%snotes%s\n", ri_text_bold(options),
				ri_text_plain(options));
		has_told_notes |= is_note(*first);
		write_entry(stream, analysis, options, first, end - i);
		fputc('\n', stream);
		entries++;
	}
	if (left_out)
		fprintf(stream, "%zu more findings left out by the limit\n\n", left_out);
	free(selection.items);
}
