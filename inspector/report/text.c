/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report for people: the program, what could be searched, a row per counted
 * type and per group, the findings, and the verdict as the last line.
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check/evidence.h"
#include "report/chain_rows.h"
#include "report/rows.h"
#include "report/words.h"

#define GROUP_ROWS 20

const char *ri_text_colour(const struct ri_report_options *options, enum ri_severity severity)
{
	if (!options->use_colour)
		return "";
	return severity == RI_SEVERITY_ERROR     ? "\033[1;31m"
	       : severity == RI_SEVERITY_WARNING ? "\033[1;33m"
						 : "\033[1;36m";
}

const char *ri_text_plain(const struct ri_report_options *options)
{
	return options->use_colour ? "\033[0m" : "";
}

const char *ri_text_bold(const struct ri_report_options *options)
{
	return options->use_colour ? "\033[1m" : "";
}

void ri_text_write(FILE *stream, unsigned indent, const char *text)
{
	char *clean = ri_words_clean(text);
	const char *rest = clean;
	size_t room = RI_TEXT_WIDTH - indent;
	unsigned hanging = indent;

	while (strnlen(rest, room + 1) > room) {
		size_t cut = room;

		while (cut && rest[cut] != ' ')
			cut--;
		if (!cut)
			cut = strcspn(rest, " ");
		fprintf(stream, "%*s%.*s\n", (int)hanging, "", (int)cut, rest);
		rest += cut + strspn(rest + cut, " ");
		hanging = indent + 2;
		room = RI_TEXT_WIDTH - hanging;
	}
	if (*rest || rest == clean)
		fprintf(stream, "%*s%s\n", (int)hanging, "", rest);
	free(clean);
}

void ri_text_print(FILE *stream, unsigned indent, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ri_vformat(format, args);
	va_end(args);
	ri_text_write(stream, indent, text);
	free(text);
}

static void write_target(FILE *stream, const struct ri_analysis *analysis)
{
	const struct ri_target *target = analysis->target;
	char *signal, *copied;

	if (!target)
		return;
	ri_text_print(stream, 0, "program: %s, pid %d%s%s",
		      target->command ? target->command : "unknown", (int)target->pid,
		      target->path ? ", core " : "", target->path ? target->path : "");
	if (target->signal) {
		signal = ri_words_signal(target->signal);
		if (ri_target_has_fault_addr(target))
			ri_text_print(stream, 0, "ended by: %s at 0x%" PRIx64, signal,
				      target->fault_addr);
		else
			ri_text_print(stream, 0, "ended by: %s", signal);
		free(signal);
	}
	if (target->kind == RI_TARGET_LIVE) {
		copied = ri_format_bytes(target->bytes_copied);
		if (target->is_held)
			ri_text_print(stream, 0, "stopped by the debugger that holds it; %s copied",
				      copied);
		else
			ri_text_print(stream, 0, "stopped for: %.3f s, %s copied",
				      (double)target->pause_ns / 1e9, copied);
		free(copied);
	}
}

static void write_memory(FILE *stream, const struct ri_analysis *analysis,
			 const struct ri_coverage *coverage)
{
	char *present = ri_format_bytes(coverage->present_bytes);
	char *file = ri_format_bytes(coverage->file_bytes);
	char *untouched = ri_format_bytes(coverage->untouched_bytes);
	char *missing = ri_format_bytes(coverage->missing_bytes);
	char *writable = ri_format_bytes(coverage->missing_writable_bytes);

	if (analysis->target && analysis->target->missing_percent > 0)
		ri_text_print(stream, 0, "the core is cut off: %.3g %% of its bytes are missing",
			      analysis->target->missing_percent);
	ri_text_print(stream, 0,
		      "memory: %s in the target, %s from ELF files, %s %s, %s missing (%s of it "
		      "writable)",
		      present, file, untouched,
		      analysis->is_strict ? "untouched or left out" : "presumed never touched",
		      missing, writable);
	free(present);
	free(file);
	free(untouched);
	free(missing);
	free(writable);
}

static void write_search(FILE *stream, const struct ri_holders *holders,
			 uint64_t missing_bytes)
{
	char *searched = ri_format_bytes(holders->bytes_searched);
	char *skipped_free = ri_format_bytes(holders->bytes_skipped_free);
	char *unknown = ri_format_bytes(holders->bytes_skipped_unknown);
	uint64_t able = holders->bytes_searched + missing_bytes + holders->bytes_skipped_unknown;

	ri_text_print(stream, 0,
		      "searched for holders: %s (%.3g %% of what may hold any), %" PRIu64
		      " found; left out: %s of free blocks, %s of heap that could not be read",
		      searched,
		      able ? 100.0 * (double)holders->bytes_searched / (double)able : 100.0,
		      holders->edge_count, skipped_free, unknown);
	free(searched);
	free(skipped_free);
	free(unknown);
}

static void write_heap(FILE *stream, const struct ri_heap *heap)
{
	char *used = ri_format_bytes(heap->used_bytes);
	char *freed = ri_format_bytes(heap->free_bytes);

	ri_text_print(stream, 0,
		      "heap: %s, %" PRIu64 " used blocks (%s), %" PRIu64 " free (%s), %" PRIu64
		      " arena%s",
		      heap->allocator ? heap->allocator : "unknown", heap->used_count, used,
		      heap->free_count, freed, heap->arena_count,
		      heap->arena_count == 1 ? "" : "s");
	if (heap->foreign_allocator)
		ri_text_print(stream, 0, "heap: not understood: %s", heap->foreign_allocator);
	free(used);
	free(freed);
}

static void write_gaps(FILE *stream, const struct ri_gaps *gaps)
{
	/* Those that matter first. */
	for (int weight = RI_GAP_MATTERS; weight >= RI_GAP_TOLD; weight--)
		for (size_t i = 0; i < gaps->count; i++) {
			const struct ri_gap *gap = &gaps->items[i];

			if ((int)gap->weight != weight)
				continue;
			if (gap->count > 1)
				ri_text_print(stream, 0, "gap%s: %s: %s (%" PRIu64 " times)",
					      weight == RI_GAP_MATTERS ? " that matters" : "",
					      gap->stage, gap->message, gap->count);
			else
				ri_text_print(stream, 0, "gap%s: %s: %s",
					      weight == RI_GAP_MATTERS ? " that matters" : "",
					      gap->stage, gap->message);
		}
}

static void write_plain_leaks(FILE *stream, const struct ri_graph *graph)
{
	char *bytes;

	if (!graph || !graph->plain_leak_count)
		return;
	bytes = ri_format_bytes(graph->plain_leak_bytes);
	ri_text_print(stream, 0,
		      "lost besides: %" PRIu32 " used blocks without counted objects (%s) that "
		      "nothing leads to",
		      graph->plain_leak_count, bytes);
	free(bytes);
}

static void write_stages(FILE *stream, const struct ri_analysis *analysis)
{
	for (size_t i = 0; i < analysis->stage_count; i++)
		fprintf(stream, "%s%s %.3f s", i ? ", " : "time: ", analysis->stages[i].name,
			analysis->stages[i].seconds);
	if (analysis->stage_count)
		fputc('\n', stream);
}

static void write_frames(FILE *stream, const struct ri_unwind *unwind)
{
	struct ri_unwind_totals totals;

	if (!unwind)
		return;
	totals = ri_unwind_count(unwind);
	if (totals.threads_whole && !totals.threads_cut && !totals.threads_without)
		ri_text_print(stream, 0, "stacks: %zu frames, all unwound", totals.frame_count);
	else
		ri_text_print(stream, 0,
			      "stacks: %zu frames; %zu unwound, %zu in part, %zu not at all",
			      totals.frame_count, totals.threads_whole, totals.threads_cut,
			      totals.threads_without);
}

static void write_what_it_rests_on(FILE *stream, const struct ri_analysis *analysis,
				   const struct ri_report_options *options)
{
	struct ri_coverage coverage = ri_report_measure_coverage(analysis);

	write_memory(stream, analysis, &coverage);
	if (analysis->holders)
		write_search(stream, analysis->holders, coverage.missing_writable_bytes);
	ri_text_print(stream, 0, "modules: %zu of %zu with debug information",
		      coverage.modules_with_dwarf, coverage.module_count);
	if (analysis->heap)
		write_heap(stream, analysis->heap);
	if (coverage.threads_with_registers == coverage.thread_count)
		ri_text_print(stream, 0, "threads: %zu, the registers of all",
			      coverage.thread_count);
	else
		ri_text_print(stream, 0, "threads: %zu, the registers of %zu",
			      coverage.thread_count, coverage.threads_with_registers);
	write_frames(stream, analysis->unwind);
	write_plain_leaks(stream, analysis->graph);
	write_gaps(stream, &analysis->gaps);
	if (options->is_verbose)
		write_stages(stream, analysis);
}

static struct ri_report_options without_limit(const struct ri_report_options *options)
{
	struct ri_report_options all = *options;

	all.limit = 0;
	return all;
}

static void write_types(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options)
{
	static const struct ri_column columns[] = {
		{ "type", false },   { "objects", true }, { "live", true },
		{ "surplus", true }, { "deficit", true }, { "unreachable", true },
		{ "cycles", true },  { "damaged", true },
	};
	struct ri_type_row *rows = ri_report_type_rows(analysis);
	struct ri_report_options all = without_limit(options);
	struct ri_listing *listing = ri_listing_create(stream, "text", "counted objects", columns,
						       sizeof(columns) / sizeof(*columns), &all);

	for (size_t t = 0; t < analysis->population->type_count; t++) {
		const struct ri_type_row *row = &rows[t];
		const uint64_t numbers[] = { row->objects, row->live,        row->surplus,
					     row->deficit, row->unreachable, row->cycles,
					     row->damaged };
		enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };
		char texts[NUMBERS][24];
		const char *cells[NUMBERS + 1] = { row->name };

		if (!row->objects || (options->type && strcmp(options->type, row->name)))
			continue;
		for (size_t i = 0; i < NUMBERS; i++) {
			snprintf(texts[i], sizeof(texts[i]), "%" PRIu64, numbers[i]);
			cells[i + 1] = texts[i];
		}
		ri_listing_add(listing, cells);
	}
	ri_listing_finish(listing);
	free(rows);
}

/* A row of the table of groups: one group, or several alike. */
struct group_row {
	const char *label, *kind, *state;
	uint64_t groups, members;
	int64_t stored;
	bool has_stored;
};

static int compare_group_rows(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;
	bool is_x_sound = !strcmp(x->state, "sound"), is_y_sound = !strcmp(y->state, "sound");
	int order;

	if (is_x_sound != is_y_sound)
		return is_x_sound ? 1 : -1;
	order = strcmp(x->label, y->label);
	if (!order)
		order = strcmp(x->kind, y->kind);
	return order ? order : strcmp(x->state, y->state);
}

/* Adds up neighbours that are alike; returns how many rows are left. */
static size_t fold_group_rows(struct group_row *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && !compare_group_rows(&rows[kept - 1], &rows[i])) {
			struct group_row *row = &rows[kept - 1];

			row->groups += rows[i].groups;
			row->members += rows[i].members;
			row->stored = (int64_t)((uint64_t)row->stored + (uint64_t)rows[i].stored);
			row->has_stored &= rows[i].has_stored;
		} else {
			rows[kept++] = rows[i];
		}
	}
	return kept;
}

static size_t make_group_rows(const struct ri_analysis *analysis,
			      const struct ri_report_options *options, struct group_row *rows)
{
	const struct ri_population *population = analysis->population;
	uint64_t *walked = ri_report_walked_lengths(analysis);
	size_t count = 0;

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);
		const char *label = ri_group_label(analysis, g);

		if (options->group && strcmp(options->group, label))
			continue;
		rows[count++] = (struct group_row){
			.label = label,
			.kind = rule ? ri_words_link_kind(rule->kind) : "unknown",
			.state = ri_words_group_state(group, walked[g]),
			.groups = 1,
			.members = walked[g],
			.stored = group->has_stored_count ? group->stored_count : 0,
			.has_stored = group->has_stored_count,
		};
	}
	free(walked);
	return count;
}

static void add_group_row(struct ri_listing *listing, const struct group_row *row)
{
	char members[24], stored[24], groups[24];
	const char *cells[] = { row->label, row->kind, members, row->has_stored ? stored : NULL,
				row->state, groups };

	snprintf(members, sizeof(members), "%" PRIu64, row->members);
	snprintf(stored, sizeof(stored), "%" PRId64, row->stored);
	snprintf(groups, sizeof(groups), "%" PRIu64, row->groups);
	ri_listing_add(listing, cells);
}

static void write_groups(FILE *stream, const struct ri_analysis *analysis,
			 const struct ri_report_options *options)
{
	static const struct ri_column columns[] = {
		{ "group", false }, { "kind", false },  { "members", true },
		{ "stored", true }, { "state", false }, { "groups", true },
	};
	size_t column_count = sizeof(columns) / sizeof(*columns);
	struct group_row *rows = ri_calloc(analysis->population->group_count, sizeof(*rows));
	size_t count = make_group_rows(analysis, options, rows), shown;
	struct ri_report_options all = without_limit(options);
	struct ri_listing *listing;

	qsort(rows, count, sizeof(*rows), compare_group_rows);
	if (count > GROUP_ROWS && !options->is_verbose)
		count = fold_group_rows(rows, count);
	else
		column_count--;
	shown = count > GROUP_ROWS && !options->is_verbose ? GROUP_ROWS : count;
	listing = ri_listing_create(stream, "text", "groups", columns, column_count, &all);
	for (size_t i = 0; i < shown; i++)
		add_group_row(listing, &rows[i]);
	ri_listing_finish(listing);
	if (shown < count)
		ri_text_print(stream, 0, "and %zu more kinds of groups; `groups` lists all",
			      count - shown);
	free(rows);
}

static void write_verdict(FILE *stream, const struct ri_analysis *analysis,
			  const struct ri_report_options *options)
{
	static const enum ri_severity severities[] = {
		[RI_VERDICT_FINDINGS] = RI_SEVERITY_ERROR,
		[RI_VERDICT_UNCHECKED] = RI_SEVERITY_WARNING,
	};
	enum ri_verdict verdict = ri_analysis_verdict(analysis);
	char *words = ri_words_verdict(analysis);

	fprintf(stream, "%s%s%s\n",
		verdict == RI_VERDICT_CLEAN ? ri_text_bold(options)
					    : ri_text_colour(options, severities[verdict]),
		words, ri_text_plain(options));
	free(words);
}

static void write_check(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options)
{
	if (!options->is_quiet) {
		write_target(stream, analysis);
		write_what_it_rests_on(stream, analysis, options);
		fputc('\n', stream);
		write_types(stream, analysis, options);
		fputc('\n', stream);
		if (analysis->population->group_count) {
			write_groups(stream, analysis, options);
			fputc('\n', stream);
		}
	}
	ri_text_write_findings(stream, analysis, options);
	if (!options->is_quiet)
		ri_text_write_chains(stream, analysis, options);
	write_verdict(stream, analysis, options);
}

static void write_modules(FILE *stream, const struct ri_analysis *analysis,
			  const struct ri_report_options *options)
{
	static const struct ri_column columns[] = {
		{ "module", false },
		{ "debug_information", false },
		{ "remark", false },
	};
	struct ri_listing *listing = ri_listing_create(stream, "text", "modules", columns,
						       sizeof(columns) / sizeof(*columns), options);
	const struct ri_module *modules = NULL;
	size_t count = 0;

	if (analysis->modules)
		modules = ri_modules_list(analysis->modules, &count);
	for (size_t i = 0; i < count; i++) {
		const char *cells[] = { modules[i].path, modules[i].has_dwarf ? "yes" : "no",
					modules[i].why_not };

		ri_listing_add(listing, cells);
	}
	ri_listing_finish(listing);
}

static void write_coverage(FILE *stream, const struct ri_analysis *analysis,
			   const struct ri_report_options *options)
{
	write_target(stream, analysis);
	write_what_it_rests_on(stream, analysis, options);
	fputc('\n', stream);
	write_modules(stream, analysis, options);
}

const struct ri_writer ri_writer_text = {
	.name = "text",
	.write_check = write_check,
	.write_coverage = write_coverage,
};
