/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of the report: see words.h. */
#include "report/words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "check/check.h"
#include "check/verdict.h"

#define NAME_MAX_BYTES 256
#define DOUBTS_SHOWN   3

char *ri_words_clean(const char *text)
{
	RI_VEC(char) result = { 0 };
	char *part, *escaped;

	if (!text)
		return NULL;
	for (;;) {
		size_t length = strcspn(text, "\\"), added;
		bool is_last = !text[length];

		part = ri_strndup(text, length);
		escaped = ri_string_escape(part);
		added = strlen(escaped);
		result.items = ri_grow(result.items, &result.capacity, result.count + added + 1, 1);
		memcpy(result.items + result.count, escaped, added);
		result.count += added;
		result.items[result.count++] = is_last ? '\0' : '\\';
		free(part);
		free(escaped);
		if (is_last)
			return result.items;
		text += length + 1;
	}
}

const char *ri_words_severity(enum ri_severity severity)
{
	switch (severity) {
	case RI_SEVERITY_NOTE:
		return "note";
	case RI_SEVERITY_WARNING:
		return "warning";
	case RI_SEVERITY_ERROR:
		break;
	}
	return "error";
}

const char *ri_words_status(enum ri_finding_status status)
{
	switch (status) {
	case RI_FINDING_SURE:
		return "sure";
	case RI_FINDING_IN_FLUX:
		return "in-flux";
	case RI_FINDING_UNCHECKED:
		break;
	}
	return "unchecked";
}

const char *ri_words_link_kind(enum ri_link_kind kind)
{
	static const char *const words[] = {
		[RI_LINK_LIST] = "list",   [RI_LINK_HLIST] = "hlist", [RI_LINK_SLIST] = "slist",
		[RI_LINK_DLIST] = "dlist", [RI_LINK_TAILQ] = "tailq", [RI_LINK_TREE] = "tree",
		[RI_LINK_ARRAY] = "array", [RI_LINK_HASH] = "hash",
	};

	return kind < sizeof(words) / sizeof(*words) ? words[kind] : "unknown";
}

const char *ri_words_group_state(const struct ri_group *group, uint64_t walked)
{
	if (group->state & RI_GROUP_UNINITIALISED)
		return "never used";
	if (group->state & RI_GROUP_HEAD_FREED)
		return "head freed";
	if (group->state & RI_GROUP_HEAD_BAD_MAGIC)
		return "bad magic";
	if (group->state & RI_GROUP_LOOP)
		return "loop";
	if (group->state & RI_GROUP_INCOMPLETE)
		return "broken, members may be missing";
	if (group->break_count)
		return "broken";
	if (group->has_stored_count &&
	    (group->stored_count < 0 || (uint64_t)group->stored_count != walked))
		return "count differs";
	return "sound";
}

char *ri_words_weight(const struct ri_weight *weight)
{
	if (weight->kind != RI_WEIGHT_FIXED)
		return ri_strdup("possible");
	if (!weight->weight)
		return ri_strdup("borrows");
	if (weight->weight == 1)
		return ri_strdup("owns");
	return ri_format("owns %" PRId64, weight->weight);
}

/* Whether a link edge is none, but a pointer to the payload of a control block. */
static bool is_to_payload(const struct ri_analysis *analysis, const struct ri_edge *edge)
{
	const struct ri_population *population = analysis->population;

	return edge->flags & RI_EDGE_INTERIOR && population &&
	       edge->target < population->object_count &&
	       population->types[population->objects[edge->target].type].payload.is_present;
}

char *ri_words_worth(const struct ri_analysis *analysis, const struct ri_edge *edge)
{
	const struct ri_shapes *shapes = analysis->shapes;
	int64_t weight = shapes && edge->class_index < shapes->classes.count
				 ? shapes->classes.items[edge->class_index].weight
				 : 1;

	if (edge->flags & RI_EDGE_EMBEDS)
		return ri_strdup("embeds");
	if (edge->flags & RI_EDGE_LINK)
		return ri_strdup(is_to_payload(analysis, edge) ? "payload" : "link");
	if (edge->flags & RI_EDGE_BORROWS)
		return ri_strdup("borrows");
	if (edge->flags & RI_EDGE_POSSIBLE)
		return ri_strdup("possible");
	return weight == 1 ? ri_strdup("owns") : ri_format("owns %" PRId64, weight);
}

char *ri_words_signal(int signal)
{
	const char *name = sigabbrev_np(signal), *text = sigdescr_np(signal);

	if (name && text)
		return ri_format("SIG%s (%s)", name, text);
	return ri_format("signal %d", signal);
}

static char *join_doubts(const struct ri_analysis *analysis)
{
	ri_doubts doubts = { 0 };
	char *text = ri_strdup("could not check: "), *longer;

	ri_analysis_doubts(analysis, &doubts);
	for (size_t i = 0; i < doubts.count && i < DOUBTS_SHOWN; i++) {
		longer = ri_format("%s%s%s", text, i ? "; " : "", doubts.items[i]);
		free(text);
		text = longer;
	}
	if (doubts.count > DOUBTS_SHOWN) {
		longer = ri_format("%s; and %zu more reasons", text, doubts.count - DOUBTS_SHOWN);
		free(text);
		text = longer;
	}
	ri_doubts_deinit(&doubts);
	return text;
}

char *ri_words_verdict(const struct ri_analysis *analysis)
{
	size_t sure, unchecked, notes;
	char *text, *clean;

	switch (ri_analysis_verdict(analysis)) {
	case RI_VERDICT_CLEAN:
		return ri_strdup("clean");
	case RI_VERDICT_UNCHECKED:
		text = join_doubts(analysis);
		clean = ri_words_clean(text);
		free(text);
		return clean;
	case RI_VERDICT_FINDINGS:
		break;
	}
	ri_analysis_count_findings(analysis, &sure, &unchecked, &notes);
	if (unchecked)
		return ri_format("%zu finding%s, %zu more could not be checked", sure,
				 sure == 1 ? "" : "s", unchecked);
	return ri_format("%zu finding%s", sure, sure == 1 ? "" : "s");
}

/* The convention of the object's type; null where the stage that knows it is absent. */
static const struct ri_convention *convention_of(const struct ri_analysis *analysis,
						 uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t index = population->types[population->objects[object].type].convention;

	if (!analysis->layout || !analysis->target || !analysis->target->image ||
	    index >= analysis->layout->conventions.count)
		return NULL;
	return &analysis->layout->conventions.items[index];
}

bool ri_object_read_index(const struct ri_analysis *analysis, uint32_t object, int64_t *ret)
{
	const struct ri_population *population = analysis->population;
	const struct ri_convention *convention = convention_of(analysis, object);

	return convention &&
	       ri_field_read(analysis->target->image,
			     ri_object_header(population, &population->objects[object]),
			     &convention->index_field, ret);
}

char *ri_object_name(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_convention *convention = convention_of(analysis, object);
	uint64_t base;
	int64_t addr;
	char *raw, *name;

	if (!convention || !convention->name_field.is_present)
		return NULL;
	base = ri_object_header(analysis->population, &analysis->population->objects[object]);
	if (convention->name_field.text_bytes) {
		size_t size_bytes = convention->name_field.text_bytes;
		const uint8_t *text;

		text = ri_image_peek(analysis->target->image,
				     base + (uint64_t)convention->name_field.offset_bytes,
				     size_bytes);
		raw = text ? ri_strndup((const char *)text,
					size_bytes < NAME_MAX_BYTES ? size_bytes : NAME_MAX_BYTES)
			   : NULL;
	} else {
		raw = ri_field_read(analysis->target->image, base, &convention->name_field, &addr)
			      ? ri_image_read_string(analysis->target->image, (uint64_t)addr,
						     NAME_MAX_BYTES)
			      : NULL;
	}
	name = ri_words_clean(raw);
	free(raw);
	return name;
}

bool ri_report_shows_names(const struct ri_report_options *options)
{
	return options->is_terminal || options->show_names;
}

bool ri_report_wants_finding(const struct ri_analysis *analysis,
			     const struct ri_report_options *options,
			     const struct ri_finding *finding)
{
	int64_t index;
	char *name;
	bool fits;

	if (options->has_object && finding->object != options->object)
		return false;
	if (options->has_index &&
	    (finding->object == RI_NONE ||
	     !ri_object_read_index(analysis, finding->object, &index) || index != options->index))
		return false;
	if (options->code && strcmp(options->code, finding->check->code)) {
		size_t i = 0;

		while (i < finding->also.count && strcmp(finding->also.items[i], options->code))
			i++;
		if (i == finding->also.count)
			return false;
	}
	if (options->type && (!finding->type_name || strcmp(options->type, finding->type_name)))
		return false;
	if (options->group && (!finding->group_name || strcmp(options->group, finding->group_name)))
		return false;
	if (!options->name)
		return true;
	name = finding->object != RI_NONE ? ri_object_name(analysis, finding->object) : NULL;
	fits = name && !strcmp(name, options->name);
	free(name);
	return fits;
}

const char *ri_finding_command(const struct ri_finding *finding)
{
	return finding->evidence.count ? finding->evidence.items[finding->evidence.count - 1]
				       : NULL;
}
