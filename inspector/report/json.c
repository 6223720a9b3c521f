/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The JSON writer: docs/json.md describes the format, which is stable.  The one
 * file that knows the JSON library.
 *
 * The frame of a report is written by hand and its parts are dumped one record
 * at a time, so that a report of any length needs the memory of one finding.
 * The last member, "complete", says that nothing is cut off.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check/check.h"
#include "check/evidence.h"
#include "report/records.h"
#include "report/chain_rows.h"
#include "report/rows.h"
#include "report/words.h"

#define FORMAT_VERSION 1
#define DUMP_FLAGS     (JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))

/* Before any other call of the library: a member that is missing for want of memory would
 * not be noticed. */
__attribute__((constructor)) static void let_memory_run_out_aloud(void)
{
	json_set_alloc_funcs(ri_malloc, free);
}

/* Text as it may stand in JSON; null gives null. */
static json_t *text(const char *raw)
{
	char *clean = ri_words_clean(raw);
	json_t *value = clean ? json_string(clean) : json_null();

	free(clean);
	return value ? value : json_string("(not UTF-8)");
}

static json_t *address(uint64_t addr)
{
	return json_sprintf("0x%" PRIx64, addr);
}

static json_t *number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* Writes `value` and gives it up. */
static void dump(FILE *stream, json_t *value)
{
	json_dumpf(value, stream, DUMP_FLAGS);
	json_decref(value);
}

/* Starts the member `key` of the report's frame. */
static void begin_member(FILE *stream, const char *key)
{
	fprintf(stream, ",\n\"%s\": ", key);
}

/* An array of records under `key`: begin, then each with add_record(), then end. */
struct records {
	FILE *stream;
	size_t count;
};

static struct records begin_records(FILE *stream, const char *key)
{
	begin_member(stream, key);
	fputc('[', stream);
	return (struct records){ stream, 0 };
}

static void add_record(struct records *records, json_t *value)
{
	fputs(records->count++ ? ",\n" : "\n", records->stream);
	dump(records->stream, value);
}

static void end_records(struct records *records)
{
	fputs(records->count ? "\n]" : "]", records->stream);
}

static json_t *target_record(const struct ri_analysis *analysis)
{
	const struct ri_target *target = analysis->target;
	json_t *record = json_object();

	if (!target)
		return record;
	json_object_set_new(record, "kind",
			    json_string(target->kind == RI_TARGET_CORE ? "core" : "live"));
	json_object_set_new(record, "path", text(target->path));
	json_object_set_new(record, "pid", json_integer(target->pid));
	json_object_set_new(record, "command", text(target->command));
	json_object_set_new(record, "threads", number(target->thread_count));
	if (target->signal) {
		char *signal = ri_words_signal(target->signal);

		json_object_set_new(record, "signal", json_integer(target->signal));
		json_object_set_new(record, "signal_name", text(signal));
		free(signal);
		if (ri_target_has_fault_addr(target))
			json_object_set_new(record, "fault_address", address(target->fault_addr));
	}
	if (target->kind == RI_TARGET_LIVE) {
		if (!target->is_held)
			json_object_set_new(record, "pause_seconds",
					    json_real((double)target->pause_ns / 1e9));
		json_object_set_new(record, "bytes_copied", number(target->bytes_copied));
	}
	return record;
}

static json_t *gaps_record(const struct ri_gaps *gaps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < gaps->count; i++) {
		const struct ri_gap *gap = &gaps->items[i];
		json_t *record = json_object();

		json_object_set_new(record, "stage", text(gap->stage));
		json_object_set_new(record, "message", text(gap->message));
		json_object_set_new(record, "count", number(gap->count));
		json_object_set_new(
			record, "weight",
			json_string(gap->weight == RI_GAP_MATTERS ? "matters" : "told"));
		json_array_append_new(list, record);
	}
	return list;
}

static void add_heap(json_t *record, const struct ri_heap *heap)
{
	json_object_set_new(record, "allocator", text(heap->allocator));
	json_object_set_new(record, "foreign_allocator", text(heap->foreign_allocator));
	json_object_set_new(record, "blocks_used", number(heap->used_count));
	json_object_set_new(record, "blocks_used_bytes", number(heap->used_bytes));
	json_object_set_new(record, "blocks_free", number(heap->free_count));
	json_object_set_new(record, "blocks_free_bytes", number(heap->free_bytes));
	json_object_set_new(record, "arenas", number(heap->arena_count));
	json_object_set_new(record, "heap_damages", number(heap->damage_count));
}

static void add_frames(json_t *record, const struct ri_unwind *unwind)
{
	struct ri_unwind_totals totals = ri_unwind_count(unwind);

	json_object_set_new(record, "threads_unwound", number(totals.threads_whole));
	json_object_set_new(record, "threads_unwound_in_part", number(totals.threads_cut));
	json_object_set_new(record, "frames", number(totals.frame_count));
}

static json_t *coverage_record(const struct ri_analysis *analysis)
{
	struct ri_coverage coverage = ri_report_measure_coverage(analysis);
	const struct ri_holders *holders = analysis->holders;
	json_t *record = json_object();

	json_object_set_new(record, "bytes_present", number(coverage.present_bytes));
	json_object_set_new(record, "bytes_from_files", number(coverage.file_bytes));
	json_object_set_new(record, "bytes_untouched", number(coverage.untouched_bytes));
	json_object_set_new(record, "bytes_missing", number(coverage.missing_bytes));
	json_object_set_new(record, "bytes_missing_writable",
			    number(coverage.missing_writable_bytes));
	if (analysis->target)
		json_object_set_new(record, "missing_percent",
				    json_real(analysis->target->missing_percent));
	if (holders) {
		json_object_set_new(record, "bytes_searched", number(holders->bytes_searched));
		json_object_set_new(record, "bytes_skipped_free",
				    number(holders->bytes_skipped_free));
		json_object_set_new(record, "bytes_skipped_unknown",
				    number(holders->bytes_skipped_unknown));
		json_object_set_new(record, "holders", number(holders->edge_count));
	}
	json_object_set_new(record, "modules", number(coverage.module_count));
	json_object_set_new(record, "modules_with_debug_information",
			    number(coverage.modules_with_dwarf));
	json_object_set_new(record, "threads", number(coverage.thread_count));
	json_object_set_new(record, "threads_with_registers",
			    number(coverage.threads_with_registers));
	if (analysis->unwind)
		add_frames(record, analysis->unwind);
	if (analysis->heap)
		add_heap(record, analysis->heap);
	if (analysis->graph) {
		json_object_set_new(record, "plain_leaks",
				    number(analysis->graph->plain_leak_count));
		json_object_set_new(record, "plain_leaks_bytes",
				    number(analysis->graph->plain_leak_bytes));
	}
	json_object_set_new(record, "strict", json_boolean(analysis->is_strict));
	json_object_set_new(record, "gaps", gaps_record(&analysis->gaps));
	return record;
}

static bool is_wanted_name(const char *filter, const char *name)
{
	return !filter || !strcmp(filter, name);
}

static void write_types(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options)
{
	struct ri_type_row *rows = ri_report_type_rows(analysis);
	struct records records = begin_records(stream, "types");

	for (size_t t = 0; t < analysis->population->type_count; t++) {
		const struct ri_type_row *row = &rows[t];
		json_t *record;

		if (!row->objects || !is_wanted_name(options->type, row->name))
			continue;
		record = json_object();
		json_object_set_new(record, "type", text(row->name));
		json_object_set_new(record, "objects", number(row->objects));
		json_object_set_new(record, "live", number(row->live));
		json_object_set_new(record, "surplus", number(row->surplus));
		json_object_set_new(record, "deficit", number(row->deficit));
		json_object_set_new(record, "unreachable", number(row->unreachable));
		json_object_set_new(record, "cycles", number(row->cycles));
		json_object_set_new(record, "damaged", number(row->damaged));
		add_record(&records, record);
	}
	end_records(&records);
	free(rows);
}

static void write_groups(FILE *stream, const struct ri_analysis *analysis,
			 const struct ri_report_options *options)
{
	const struct ri_population *population = analysis->population;
	uint64_t *walked = ri_report_walked_lengths(analysis);
	struct records records = begin_records(stream, "groups");

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		const struct ri_group_rule *rule = ri_group_rule_of(analysis, g);
		const char *label = ri_group_label(analysis, g);
		char *membership;
		json_t *record;

		if (!is_wanted_name(options->group, label))
			continue;
		membership = ri_words_weight(&group->membership);
		record = json_object();
		json_object_set_new(record, "group", text(label));
		json_object_set_new(record, "address", address(group->struct_addr));
		json_object_set_new(record, "kind",
				    rule ? json_string(ri_words_link_kind(rule->kind))
					 : json_null());
		json_object_set_new(record, "members", number(walked[g]));
		json_object_set_new(record, "stored",
				    group->has_stored_count ? json_integer(group->stored_count)
							    : json_null());
		json_object_set_new(record, "membership", text(membership));
		json_object_set_new(record, "parent",
				    group->parent != RI_NONE
					    ? text(ri_group_label(analysis, group->parent))
					    : json_null());
		json_object_set_new(record, "state",
				    json_string(ri_words_group_state(group, walked[g])));
		add_record(&records, record);
		free(membership);
	}
	end_records(&records);
	free(walked);
}

static json_t *holders_record(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_holders *holders = analysis->holders;
	json_t *list = json_array();

	for (uint64_t i = holders->in_first[object]; i < holders->in_first[object + 1]; i++) {
		uint64_t edge = holders->in_edges[i];
		uint64_t word =
			ri_holders_word_addr(holders, analysis->population, analysis->heap, edge);
		char *worth = ri_words_worth(analysis, &holders->edges[edge]);
		json_t *record = json_object();

		json_object_set_new(record, "word", word ? address(word) : json_null());
		json_object_set_new(
			record, "class",
			text(ri_class_name(analysis, holders->edges[edge].class_index)));
		json_object_set_new(record, "worth", text(worth));
		json_array_append_new(list, record);
		free(worth);
	}
	return list;
}

static void add_lists(json_t *record, const struct ri_finding *finding)
{
	json_t *also = json_array(), *addresses = json_array(), *evidence = json_array();

	for (size_t i = 0; i < finding->also.count; i++)
		json_array_append_new(also, json_string(finding->also.items[i]));
	for (size_t i = 0; i < finding->addrs.count; i++)
		json_array_append_new(addresses, address(finding->addrs.items[i]));
	for (size_t i = 0; i + 1 < finding->evidence.count; i++)
		json_array_append_new(evidence, text(finding->evidence.items[i]));
	json_object_set_new(record, "also", also);
	json_object_set_new(record, "addresses", addresses);
	json_object_set_new(record, "summary", text(finding->summary));
	json_object_set_new(record, "evidence", evidence);
	json_object_set_new(record, "command", text(ri_finding_command(finding)));
}

/* What hangs on something, by type. */
static json_t *parts_record(const struct ri_analysis *analysis, const struct ri_chain_part *parts,
			    size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct ri_chain_part *part = &parts[i];
		bool is_held = part->class_index != RI_NONE;
		json_t *record = json_object();

		json_object_set_new(record, "type",
				    text(analysis->population->types[part->type].name));
		json_object_set_new(record, "objects", number(part->count));
		json_object_set_new(record, "bytes", number(part->bytes));
		json_object_set_new(record, "leaked",
				    number(analysis->chains->lost_of_type[part->type]));
		json_object_set_new(record, "held_in",
				    is_held ? text(ri_class_name(analysis, part->class_index))
					    : json_null());
		json_object_set_new(record, "holders", number(part->class_count));
		json_object_set_new(record, "other_classes", number(part->class_others));
		json_array_append_new(list, record);
	}
	return list;
}

static json_t *release_record(const struct ri_finding *finding)
{
	json_t *list = json_array();

	for (size_t i = 0; i < finding->release.count; i++)
		json_array_append_new(list, text(finding->release.items[i]));
	return list;
}

/* Of leaks: what hangs on the object, and what to release. */
static void add_chain(json_t *record, const struct ri_analysis *analysis,
		      const struct ri_finding *finding)
{
	bool is_cycle = !strcmp(finding->check->code, "cycle");
	ri_chain_part_list parts = { 0 };

	if (!analysis->chains || finding->object == RI_NONE ||
	    (!is_cycle && strcmp(finding->check->code, "unreachable")))
		return;
	ri_chains_list_parts(analysis->chains, finding->object, &parts);
	json_object_set_new(record, "behind", parts_record(analysis, parts.items, parts.count));
	if (is_cycle) {
		json_object_set_new(record, "release", release_record(finding));
		json_object_set_new(record, "release_is_fewest",
				    json_boolean(finding->release_is_fewest));
	}
	ri_vec_deinit(&parts);
}

static json_t *finding_record(const struct ri_analysis *analysis, const struct ri_finding *finding,
			      const struct ri_report_options *options)
{
	json_t *record = json_object();

	json_object_set_new(record, "code", json_string(finding->check->code));
	json_object_set_new(record, "severity",
			    json_string(ri_words_severity(ri_finding_severity(finding))));
	json_object_set_new(record, "status", json_string(ri_words_status(finding->status)));
	json_object_set_new(record, "type", text(finding->type_name));
	json_object_set_new(record, "address",
			    finding->addr ? address(finding->addr) : json_null());
	json_object_set_new(record, "group", text(finding->group_name));
	json_object_set_new(record, "stored",
			    finding->has_counts ? json_integer(finding->stored) : json_null());
	json_object_set_new(record, "certain",
			    finding->has_counts ? json_integer(finding->certain) : json_null());
	json_object_set_new(record, "possible",
			    finding->has_counts ? json_integer(finding->possible) : json_null());
	json_object_set_new(record, "fingerprint", text(finding->fingerprint));
	add_lists(record, finding);
	add_chain(record, analysis, finding);
	if (finding->object != RI_NONE && options->show_names) {
		char *name = ri_object_name(analysis, finding->object);

		json_object_set_new(record, "name", text(name));
		free(name);
	}
	if (finding->object != RI_NONE && options->is_verbose && analysis->holders)
		json_object_set_new(record, "holders", holders_record(analysis, finding->object));
	return record;
}

static void write_findings(FILE *stream, const struct ri_analysis *analysis,
			   const struct ri_report_options *options)
{
	struct records records = begin_records(stream, "findings");
	size_t left_out = 0;

	for (size_t i = 0; i < analysis->findings->count; i++) {
		const struct ri_finding *finding = &analysis->findings->items[i];

		if (!ri_report_wants_finding(analysis, options, finding))
			continue;
		if (options->limit && records.count >= options->limit)
			left_out++;
		else
			add_record(&records, finding_record(analysis, finding, options));
	}
	end_records(&records);
	begin_member(stream, "findings_left_out");
	dump(stream, number(left_out));
}

static json_t *chain_record(const struct ri_analysis *analysis, const struct ri_chain_row *row)
{
	const struct ri_chains *chains = analysis->chains;
	const struct ri_chain *chain = row->chain;
	const char *type = NULL;
	json_t *record = json_object(), *addresses = json_array();

	if (!chain->is_plain)
		type = analysis->population->types[chain->type].name;
	else if (chain->shape != RI_NONE)
		type = analysis->shapes->shapes.items[chain->shape].name;
	for (uint32_t r = 0; r < chain->root_count; r++)
		json_array_append_new(addresses,
				      address(ri_report_node_address(
					      analysis, chains->roots[chain->first_root + r])));
	json_object_set_new(record, "kind",
			    json_string(chain->is_plain	   ? "block"
					: chain->is_cyclic ? "cycle"
							   : "object"));
	json_object_set_new(record, "type", text(type));
	json_object_set_new(record, "roots", number(chain->root_count));
	json_object_set_new(record, "own", number(chain->own_count));
	json_object_set_new(record, "own_bytes", number(chain->own_bytes));
	json_object_set_new(record, "sure", number(row->sure));
	json_object_set_new(record, "unchecked", number(row->unchecked));
	json_object_set_new(record, "release",
			    row->release ? release_record(row->release) : json_null());
	json_object_set_new(record, "behind",
			    parts_record(analysis, &chains->parts.items[chain->first_part],
					 chain->part_count));
	json_object_set_new(record, "blocks", number(chain->plain_count));
	json_object_set_new(record, "blocks_bytes", number(chain->plain_bytes));
	json_object_set_new(record, "addresses", addresses);
	return record;
}

static void write_chains(FILE *stream, const struct ri_analysis *analysis,
			 const struct ri_report_options *options)
{
	struct records records = begin_records(stream, "chains");
	size_t count;
	struct ri_chain_row *rows = ri_report_chain_rows(analysis, &count);

	for (size_t c = 0; c < count; c++)
		if (ri_report_wants_chain(analysis, options, rows[c].chain))
			add_record(&records, chain_record(analysis, &rows[c]));
	end_records(&records);
	free(rows);
}

static void write_stages(FILE *stream, const struct ri_analysis *analysis)
{
	json_t *stages = json_array();

	for (size_t i = 0; i < analysis->stage_count; i++) {
		json_t *record = json_object();

		json_object_set_new(record, "stage", json_string(analysis->stages[i].name));
		json_object_set_new(record, "seconds", json_real(analysis->stages[i].seconds));
		json_array_append_new(stages, record);
	}
	begin_member(stream, "stages");
	dump(stream, stages);
}

static json_t *verdict_record(const struct ri_analysis *analysis)
{
	static const char *const names[] = {
		[RI_VERDICT_CLEAN] = "clean",
		[RI_VERDICT_FINDINGS] = "findings",
		[RI_VERDICT_UNCHECKED] = "unchecked",
	};
	enum ri_verdict verdict = ri_analysis_verdict(analysis);
	char *words = ri_words_verdict(analysis);
	json_t *record = json_object();

	json_object_set_new(record, "verdict", json_string(names[verdict]));
	json_object_set_new(record, "exit_status", json_integer(verdict));
	json_object_set_new(record, "summary", text(words));
	free(words);
	return record;
}

static void begin_report(FILE *stream, const char *format)
{
	fprintf(stream, "{\"format\": \"%s\", \"version\": %d", format, FORMAT_VERSION);
	begin_member(stream, "tool_version");
	dump(stream, json_string(RI_VERSION));
}

static void end_report(FILE *stream)
{
	fputs(",\n\"complete\": true}\n", stream);
}

static void write_check(FILE *stream, const struct ri_analysis *analysis,
			const struct ri_report_options *options)
{
	begin_report(stream, "refinspect-report");
	begin_member(stream, "target");
	dump(stream, target_record(analysis));
	if (!options->is_quiet) {
		begin_member(stream, "coverage");
		dump(stream, coverage_record(analysis));
		write_types(stream, analysis, options);
		write_groups(stream, analysis, options);
	}
	write_findings(stream, analysis, options);
	if (!options->is_quiet)
		write_chains(stream, analysis, options);
	if (options->is_verbose)
		write_stages(stream, analysis);
	begin_member(stream, "verdict");
	dump(stream, verdict_record(analysis));
	end_report(stream);
}

static void write_modules(FILE *stream, const struct ri_analysis *analysis)
{
	struct records records = begin_records(stream, "modules");
	const struct ri_module *modules = NULL;
	size_t count = 0;

	if (analysis->modules)
		modules = ri_modules_list(analysis->modules, &count);
	for (size_t i = 0; i < count; i++) {
		json_t *record = json_object();

		json_object_set_new(record, "path", text(modules[i].path));
		json_object_set_new(record, "start", address(modules[i].start));
		json_object_set_new(record, "end", address(modules[i].end));
		json_object_set_new(record, "file", text(modules[i].file));
		json_object_set_new(record, "debug_file", text(modules[i].debug_file));
		json_object_set_new(record, "has_debug_information",
				    json_boolean(modules[i].has_dwarf));
		json_object_set_new(record, "why_not", text(modules[i].why_not));
		add_record(&records, record);
	}
	end_records(&records);
}

static void write_coverage(FILE *stream, const struct ri_analysis *analysis,
			   const struct ri_report_options *options)
{
	begin_report(stream, "refinspect-coverage");
	begin_member(stream, "target");
	dump(stream, target_record(analysis));
	begin_member(stream, "coverage");
	dump(stream, coverage_record(analysis));
	write_modules(stream, analysis);
	if (options->is_verbose)
		write_stages(stream, analysis);
	end_report(stream);
}

const struct ri_writer ri_writer_json = {
	.name = "json",
	.write_check = write_check,
	.write_coverage = write_coverage,
};

/* A cell of a number column: an integer, a real, else the text itself. */
static json_t *number_cell(const char *cell)
{
	char *end;
	long long integer;
	double real;

	errno = 0;
	integer = strtoll(cell, &end, 10);
	if (end != cell && !*end && !errno)
		return json_integer(integer);
	if (!errno && strspn(cell, "0123456789.-+eE") == strlen(cell)) {
		real = strtod(cell, &end);
		if (end != cell && !*end && !errno)
			return json_real(real);
	}
	return text(cell);
}

void ri_json_write_record(FILE *stream, const struct ri_column *columns, const char *const *cells,
			  size_t column_count)
{
	json_t *record = json_object();

	for (size_t c = 0; c < column_count; c++)
		json_object_set_new(record, columns[c].name,
				    !cells[c]              ? json_null()
				    : columns[c].is_number ? number_cell(cells[c])
							   : text(cells[c]));
	dump(stream, record);
}

void ri_json_write_string(FILE *stream, const char *string)
{
	dump(stream, text(string));
}
