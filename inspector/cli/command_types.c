/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `types`: the counted types and how they are laid out.  `objects`: their
 * instances, filtered. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "census/unknown.h"
#include "check/evidence.h"
#include "cli/commands.h"
#include "report/words.h"

#define CELL_BYTES 32

/* Objects per type: all of them, and those whose count is alive. */
struct type_tally {
	uint64_t all, live;
};

static struct type_tally *tally_types(const struct ri_population *population)
{
	struct type_tally *tallies = ri_calloc(population->type_count, sizeof(*tallies));

	for (size_t i = 0; i < population->object_count; i++) {
		struct type_tally *tally = &tallies[population->objects[i].type];

		tally->all++;
		tally->live += !(population->objects[i].state & RI_OBJECT_DEAD_BITS);
	}
	return tallies;
}

static const char *type_source(const struct ri_counted_type *type,
			       const struct ri_convention *convention)
{
	if (ri_convention_is_inferred(convention))
		return "DWARF, shape";
	if (type->is_from_descriptor)
		return type->type ? "descriptor, DWARF" : "descriptor";
	return type->type ? "DWARF" : "fixed layout";
}

static void add_type_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			 const struct ri_counted_type *type, const struct type_tally *tally)
{
	const struct ri_convention *convention =
		&analysis->layout->conventions.items[type->convention];
	char objects[CELL_BYTES], live[CELL_BYTES], size[CELL_BYTES], header[CELL_BYTES],
		count[CELL_BYTES];
	const char *cells[] = { type->name, objects, live, size, header, count, convention->name,
				type_source(type, convention) };

	snprintf(objects, sizeof(objects), "%" PRIu64, tally->all);
	snprintf(live, sizeof(live), "%" PRIu64, tally->live);
	snprintf(size, sizeof(size), "%" PRIu64, type->size_bytes);
	snprintf(header, sizeof(header), "%" PRId64, type->header_offset);
	snprintf(count, sizeof(count), "%" PRId64,
		 type->header_offset + convention->counts[0].field.offset_bytes);
	ri_listing_add(listing, cells);
}

/* Found by its shape, and counting something else: shown where it is asked for alone. */
static bool is_left_out(const struct ri_analysis *analysis, size_t type)
{
	return analysis->fits && analysis->fits[type].standing == RI_STANDING_REFUTED;
}

/* Blocks of no known type, by size, with the one of each that others hang on. */
static void list_unknown(const struct ri_command_context *context)
{
	static const struct ri_column columns[] = {
		{ "size", true },     { "blocks", true },  { "bytes", true },
		{ "with_pointers", true }, { "address", false }, { "settles", true },
		{ "settles_bytes", true }, { "held_in", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_heap *heap = analysis->heap;
	struct ri_unknown *unknown = ri_unknown_find(analysis->holders, analysis->population, heap,
						     analysis->shapes);
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "unknown", columns,
				  sizeof(columns) / sizeof(columns[0]), &context->report);

	for (size_t c = 0; c < unknown->count; c++) {
		const struct ri_unknown_class *class = &unknown->classes[c];
		char texts[7][CELL_BYTES];
		const char *cells[8];

		snprintf(texts[0], CELL_BYTES, "%" PRIu64, class->size_bytes);
		snprintf(texts[1], CELL_BYTES, "%" PRIu64, class->blocks);
		snprintf(texts[2], CELL_BYTES, "%" PRIu64, class->blocks * class->size_bytes);
		snprintf(texts[3], CELL_BYTES, "%" PRIu64, class->with_pointers);
		snprintf(texts[4], CELL_BYTES, "%#" PRIx64,
			 (uint64_t)heap->blocks[class->best].addr);
		snprintf(texts[5], CELL_BYTES, "%" PRIu64, class->settles);
		snprintf(texts[6], CELL_BYTES, "%" PRIu64, class->settles_bytes);
		for (size_t i = 0; i < 7; i++)
			cells[i] = texts[i];
		cells[7] = class->held_class == RI_NONE
				   ? NULL
				   : ri_class_name(analysis, class->held_class);
		ri_listing_add(listing, cells);
	}
	ri_listing_finish(listing);
	if (context->request.format[0] == 't') {
		fprintf(context->out,
			"%" PRIu64 " of %" PRIu64 " used blocks, %" PRIu64 " of %" PRIu64
			" bytes, have no known type\n",
			unknown->blocks, heap->used_count, unknown->bytes, heap->used_bytes);
		if (unknown->best != RI_NONE)
			fprintf(context->out,
				"--assume=%#" PRIx64 "=TYPE would settle the most: %" PRIu64
				" more hang on it, %" PRIu64 " bytes\n",
				(uint64_t)heap->blocks[unknown->classes[unknown->best].best].addr,
				unknown->classes[unknown->best].settles,
				unknown->classes[unknown->best].settles_bytes);
	}
	ri_unknown_destroy(unknown);
}

static struct ri_error *run_types(struct ri_command_context *context, int word_count, char **words,
				  int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "type", false },   { "objects", true }, { "live", true },
		{ "size", true },    { "header", true },  { "count", true },
		{ "convention", false }, { "known_by", false },
	};
	const struct ri_population *population = context->analysis->population;
	const char *wanted = word_count ? words[0] : context->request.type;
	struct type_tally *tallies;
	struct ri_listing *listing;

	(void)ret_status;
	if (context->request.wants_unknown) {
		if (wanted)
			return ri_error_create(RI_ERROR_USAGE,
					       "--unknown is about blocks of no type: not of '%s'",
					       wanted);
		list_unknown(context);
		return NULL;
	}
	if (wanted && ri_command_find_type(context->analysis, wanted) == RI_NONE)
		return ri_error_create(RI_ERROR_USAGE, "there is no counted type '%s'", wanted);
	tallies = tally_types(population);
	listing = ri_listing_create(context->out, context->request.format, "types", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < population->type_count; i++)
		if (wanted ? !strcmp(population->types[i].name, wanted)
			   : !is_left_out(context->analysis, i))
			add_type_row(listing, context->analysis, &population->types[i],
				     &tallies[i]);
	ri_listing_finish(listing);
	free(tallies);
	return NULL;
}

const struct ri_command ri_command_types = {
	.name = "types",
	.arguments = "[TYPE]",
	.summary = "the counted types, and where their counts lie",
	.help = "A row per counted type: how many objects there are and how many are alive, the "
		"struct's size, the offsets of the header and of the count from the address that "
		"handles point at (negative: in front of it), the convention, and whether the "
		"type is known from debug information (by a profile, or by its shape alone: see "
		"'inferred'), from a descriptor in memory, or from a fixed layout. "
		"With --unknown instead the used heap blocks of which no type is known: a row per "
		"size, with how many hold pointers at all; the address of the one from which most "
		"others of no known type are reached through such blocks, how many these are, and "
		"where that block is held. Who knows what lies there says so with --assume, an "
		"option of the whole analysis, and its pointers are followed.",
	.needs_target = true,
	.max_words = 1,
	.run = run_types,
};

char *ri_command_state_words(uint32_t state)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{ RI_OBJECT_MAGIC_BAD, "bad magic" },     { RI_OBJECT_MAGIC_DEAD, "freed magic" },
		{ RI_OBJECT_FREED, "free block" },        { RI_OBJECT_COUNT_DEAD, "dead" },
		{ RI_OBJECT_COUNT_IMPOSSIBLE, "impossible count" },
		{ RI_OBJECT_SATURATED, "saturated" },     { RI_OBJECT_IMMORTAL, "immortal" },
		{ RI_OBJECT_SUSPECT, "suspect" },         { RI_OBJECT_REMNANT, "remnant" },
		{ RI_OBJECT_NOT_LEAK, "not a leak" },
		{ RI_OBJECT_IGNORE, "ignored" },          { RI_OBJECT_DESCRIPTOR_BAD, "bad type" },
		{ RI_OBJECT_SHARED, "shared memory" },    { RI_OBJECT_STATIC, "static" },
	};
	char *text = ri_strdup(""), *longer;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!(state & words[i].bit))
			continue;
		longer = ri_format("%s%s%s", text, *text ? ", " : "", words[i].word);
		free(text);
		text = longer;
	}
	if (!(state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_MAGIC_BAD | RI_OBJECT_COUNT_IMPOSSIBLE))) {
		longer = ri_format("live%s%s", *text ? ", " : "", text);
		free(text);
		text = longer;
	}
	return text;
}

char *ri_command_group_words(const struct ri_population *population, uint32_t object)
{
	char *text = ri_strdup(""), *longer;

	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		const struct ri_membership *membership =
			&population->memberships[population->member_of[i]];

		longer = ri_format("%s%s%s", text, *text ? ", " : "",
				   population->groups[membership->group].name);
		free(text);
		text = longer;
	}
	return text;
}

static void add_object_row(struct ri_listing *listing, const struct ri_command_context *context,
			   uint32_t index)
{
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_object *object = &analysis->population->objects[index];
	bool wants_name = ri_report_shows_names(&context->report);
	char addr[CELL_BYTES], count[CELL_BYTES], certain[CELL_BYTES], possible[CELL_BYTES];
	char *state = ri_command_state_words(object->state);
	char *groups = ri_command_group_words(analysis->population, index);
	char *name = wants_name ? ri_object_name(analysis, index) : NULL;
	const char *cells[] = { addr, analysis->population->types[object->type].name, count,
				certain, possible, state, groups, name };

	snprintf(addr, sizeof(addr), "%#" PRIx64, object->addr);
	snprintf(count, sizeof(count), "%" PRId64, object->count);
	snprintf(certain, sizeof(certain), "%" PRIu32, analysis->holders->certain[index]);
	snprintf(possible, sizeof(possible), "%" PRIu32, analysis->holders->possible[index]);
	ri_listing_add(listing, cells);
	free(name);
	free(groups);
	free(state);
}

static struct ri_error *run_objects(struct ri_command_context *context, int word_count,
				    char **words, int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false },  { "count", true }, { "certain", true },
		{ "possible", true }, { "state", false }, { "groups", false }, { "name", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	struct ri_listing *listing;
	struct ri_error *error;

	(void)ret_status;
	if (word_count) {
		context->request.type = words[0];
		error = ri_filter_check(analysis, &context->request);
		if (error)
			return error;
	}
	listing = ri_listing_create(context->out, context->request.format, "objects", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < analysis->population->object_count; i++)
		if (ri_filter_has_object(analysis, &context->request, (uint32_t)i))
			add_object_row(listing, context, (uint32_t)i);
	ri_listing_finish(listing);
	return NULL;
}

const struct ri_command ri_command_objects = {
	.name = "objects",
	.arguments = "[TYPE]",
	.summary = "the counted objects, by address",
	.help = "A row per object: its address, type, stored count, the number of certain owners "
		"and of possible ones, its state and the groups it is in. Narrow the list with "
		"--type, --group, --name, --index, --object and --limit.",
	.needs_target = true,
	.max_words = 1,
	.run = run_objects,
};
