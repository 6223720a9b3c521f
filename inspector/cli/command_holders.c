/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `holders`, `show` and `why`: one object, who holds it, and what keeps it. */
#include <inttypes.h>
#include <stdlib.h>

#include "check/evidence.h"
#include "cli/commands.h"
#include "report/words.h"

static struct ri_error *run_holders(struct ri_command_context *context, int word_count,
				    char **words, int *ret_status)
{
	uint32_t object;
	struct ri_error *error = ri_command_take_object(context->analysis, words[0], &object);

	(void)word_count;
	(void)ret_status;
	if (error)
		return error;
	ri_command_say_meant(context, words[0]);
	ri_report_holders(context->out, context->request.format, context->analysis, object,
			  &context->report);
	return NULL;
}

const struct ri_command ri_command_holders = {
	.name = "holders",
	.arguments = "ADDR",
	.summary = "every holder of the object at ADDR, and its worth",
	.help = "A row per word (field, variable, array element, stack slot, register) that points "
		"at the object, and per group that it is a member of, with its holder class and "
		"whether it owns a reference, borrows, or might own. The stored count should lie "
		"between the owners and the owners plus the possible ones.\n"
		"ADDR is a number, or the name of a variable or symbol: one that is a counted "
		"object means that object, a pointer to one means the object it points at.",
	.needs_target = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_holders,
};

/* What the object itself points at. */
static void list_references(struct ri_command_context *context, uint32_t object)
{
	static const struct ri_column columns[] = {
		{ "field", false }, { "worth", false }, { "target", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_holders *holders = analysis->holders;
	const struct ri_describer describer = ri_analysis_describer(analysis);
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "references", columns,
				  sizeof(columns) / sizeof(columns[0]), &context->report);

	for (uint64_t i = holders->first[object]; i < holders->first[object + 1]; i++) {
		const struct ri_edge *edge = &holders->edges[i];
		const struct ri_holder_class *class =
			&analysis->shapes->classes.items[edge->class_index];
		char *target = ri_describe_node(&describer, edge->target);
		char *worth = ri_words_worth(analysis, edge);
		const char *cells[] = { class->name, worth, target };

		if (!(edge->flags & (RI_EDGE_EMBEDS | RI_EDGE_LINK)))
			ri_listing_add(listing, cells);
		free(worth);
		free(target);
	}
	ri_listing_finish(listing);
}

static void add_fact(struct ri_listing *listing, const char *what, char *value)
{
	const char *cells[] = { what, value };

	if (value)
		ri_listing_add(listing, cells);
	free(value);
}

static void list_counts(struct ri_listing *listing, const struct ri_analysis *analysis,
			const struct ri_object *object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_convention *convention =
		&analysis->layout->conventions.items[population->types[object->type].convention];
	uint64_t header = ri_object_header(population, object);

	for (size_t i = 0; i < convention->count_count; i++) {
		int64_t count;
		char *label = ri_format("count %s", convention->counts[i].name);

		if (ri_count_read(analysis->target->image, header, &convention->counts[i],
				  &count) != RI_COUNT_UNREADABLE)
			add_fact(listing, label, ri_format("%" PRId64, count));
		free(label);
	}
}

static void list_facts(struct ri_command_context *context, uint32_t index)
{
	static const struct ri_column columns[] = { { "what", false }, { "value", false } };
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_population *population = analysis->population;
	const struct ri_object *object = &population->objects[index];
	const struct ri_counted_type *type = &population->types[object->type];
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "object", columns, 2,
				  &context->report);
	char *name = ri_report_shows_names(&context->report) ? ri_object_name(analysis, index)
							     : NULL;

	add_fact(listing, "type", ri_strdup(type->name));
	add_fact(listing, "address", ri_format("%#" PRIx64, object->addr));
	add_fact(listing, "bytes",
		 ri_format("%#" PRIx64 " to %#" PRIx64, ri_object_start(population, object),
			   ri_object_end(population, object)));
	add_fact(listing, "header",
		 ri_format("%#" PRIx64, ri_object_header(population, object)));
	add_fact(listing, "name", name);
	add_fact(listing, "state", ri_command_state_words(object->state));
	list_counts(listing, analysis, object);
	add_fact(listing, "certain owners",
		 ri_format("%" PRIu32, analysis->holders->certain[index]));
	add_fact(listing, "possible owners",
		 ri_format("%" PRIu32, analysis->holders->possible[index]));
	if (object->block != RI_NONE)
		add_fact(listing, "block",
			 ri_format("%#" PRIx64 ", %" PRIu64 " bytes",
				   analysis->heap->blocks[object->block].addr,
				   (uint64_t)analysis->heap->blocks[object->block].size_bytes));
	add_fact(listing, "groups", ri_command_group_words(population, index));
	ri_listing_finish(listing);
}

static struct ri_error *run_show(struct ri_command_context *context, int word_count, char **words,
				 int *ret_status)
{
	uint32_t object, block;
	uint64_t addr;
	struct ri_error *error = ri_command_parse_addr(context->analysis, words[0], &addr);

	(void)word_count;
	(void)ret_status;
	if (error)
		return error;
	error = ri_command_take_object(context->analysis, words[0], &object);
	if (!error) {
		ri_command_say_meant(context, words[0]);
		list_facts(context, object);
		if (context->request.format[0] == 't')
			fputs("\nreferences out of it\n", context->out);
		list_references(context, object);
		return NULL;
	}
	block = ri_heap_find(context->analysis->heap, addr);
	if (block != RI_NONE || ri_image_find(context->analysis->target->image, addr)) {
		const struct ri_describer describer = ri_analysis_describer(context->analysis);
		static const struct ri_column columns[] = { { "what", false },
							    { "value", false } };
		struct ri_listing *listing =
			ri_listing_create(context->out, context->request.format, "address", columns,
					  2, &context->report);

		ri_error_destroy(error);
		add_fact(listing, "place", ri_describe_addr(&describer, addr));
		ri_listing_finish(listing);
		return NULL;
	}
	return error;
}

const struct ri_command ri_command_show = {
	.name = "show",
	.arguments = "ADDR",
	.summary = "what lies at ADDR: the object, its counts, its references",
	.help = "For a counted object: its type, extent, state, counts, owners and groups, and "
		"what its fields point at. For any other address: the block, symbol or mapping "
		"that contains it.\n"
		"ADDR is a number, or the name of a variable or symbol: one that is a counted "
		"object means that object, a pointer to one means the object it points at, any "
		"other the place where it lies.",
	.needs_target = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_show,
};

static const char *reach_words(uint8_t reach)
{
	if (reach & RI_REACH_CERTAIN)
		return "reachable over owners that are certain";
	if (reach & RI_REACH_ANY)
		return "reachable, but only over holders that might not own";
	if (reach & RI_REACH_GROUP)
		return "found through a group that does not own its members, held by nobody else";
	return "unreachable: no root leads to it";
}

/* The best path there is: owners first, then anything that can be followed. */
static uint64_t *find_path(const struct ri_holders *holders, uint32_t object, size_t *ret_count)
{
	static const uint32_t without[] = {
		RI_EDGE_LINK | RI_EDGE_BORROWS | RI_EDGE_POSSIBLE,
		RI_EDGE_LINK | RI_EDGE_BORROWS,
		RI_EDGE_LINK,
	};
	uint64_t *path = NULL;

	for (size_t i = 0; !path && i < sizeof(without) / sizeof(without[0]); i++)
		path = ri_graph_path(holders, object, without[i], ret_count);
	return path;
}

static void print_path(struct ri_command_context *context, const uint64_t *path, size_t count)
{
	static const struct ri_column columns[] = {
		{ "step", true }, { "holder", false }, { "holds", false },
	};
	const struct ri_describer describer = ri_analysis_describer(context->analysis);
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "path", columns, 3,
				  &context->report);

	for (size_t i = 0; i < count; i++) {
		char *step = ri_format("%zu", i + 1);
		char *holder = ri_describe_edge(&describer, path[i]);
		char *target = ri_describe_node(
			&describer, context->analysis->holders->edges[path[i]].target);
		const char *cells[] = { step, holder, target };

		ri_listing_add(listing, cells);
		free(target);
		free(holder);
		free(step);
	}
	ri_listing_finish(listing);
}

static void print_leak_root(struct ri_command_context *context, uint32_t object)
{
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_graph *graph = analysis->graph;
	const struct ri_describer describer = ri_analysis_describer(analysis);
	uint32_t root = graph->leak_root[object];
	char *text;

	if (root == RI_NONE)
		return;
	text = ri_describe_node(&describer, root);
	if (root == object)
		fprintf(context->out, "it is a leak root: %" PRIu32 " objects, %" PRIu64
				      " bytes hang on it\n",
			graph->hangs_on_count[object], graph->hangs_on_bytes[object]);
	else
		fprintf(context->out, "it hangs on the leaked %s\n", text);
	free(text);
}

/* What the text report says around the path. */
static void list_reach(struct ri_command_context *context, uint32_t index)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false },   { "reach", false },
		{ "leak_root", false }, { "behind", true }, { "bytes_behind", true },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_graph *graph = analysis->graph;
	const struct ri_object *object = &analysis->population->objects[index];
	uint32_t root = graph->leak_root[index];
	char *addr = ri_format("%#" PRIx64, object->addr), *root_addr = NULL, *behind = NULL;
	char *bytes_behind = NULL;
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "reach", columns,
				  sizeof(columns) / sizeof(columns[0]), &context->report);

	if (root != RI_NONE)
		root_addr = ri_format("%#" PRIx64, analysis->population->objects[root].addr);
	if (root == index) {
		behind = ri_format("%" PRIu32, graph->hangs_on_count[index]);
		bytes_behind = ri_format("%" PRIu64, graph->hangs_on_bytes[index]);
	}
	ri_listing_add(listing,
		       (const char *const[]){ addr, analysis->population->types[object->type].name,
					      reach_words(graph->reach[index]), root_addr, behind,
					      bytes_behind });
	ri_listing_finish(listing);
	free(addr);
	free(root_addr);
	free(behind);
	free(bytes_behind);
}

static struct ri_error *run_why(struct ri_command_context *context, int word_count, char **words,
				int *ret_status)
{
	const struct ri_analysis *analysis = context->analysis;
	bool is_text = context->request.format[0] == 't';
	uint32_t object;
	struct ri_error *error = ri_command_take_object(analysis, words[0], &object);
	uint64_t *path;
	size_t count = 0;

	(void)word_count;
	(void)ret_status;
	if (error)
		return error;
	ri_command_say_meant(context, words[0]);
	if (is_text) {
		const struct ri_describer describer = ri_analysis_describer(analysis);
		char *text = ri_describe_node(&describer, object);

		fprintf(context->out, "%s: %s\n", text, reach_words(analysis->graph->reach[object]));
		free(text);
	} else {
		list_reach(context, object);
	}
	path = find_path(analysis->holders, object, &count);
	if (count || !is_text)
		print_path(context, path, count);
	free(path);
	if (is_text)
		print_leak_root(context, object);
	return NULL;
}

const struct ri_command ri_command_why = {
	.name = "why",
	.arguments = "ADDR",
	.summary = "the shortest path from a root to the object at ADDR",
	.help = "Says whether a variable, a stack or a register leads to the object, over owners "
		"that are certain if there is such a path, else over possible ones, else over "
		"borrowed pointers, and prints it step by step. A word on a stack is told with its "
		"frame and the local variable there. For a leaked object: the leak "
		"root that it hangs on.\n"
		"ADDR is a number, or the name of a variable or symbol: one that is a counted "
		"object means that object, a pointer to one means the object it points at.",
	.needs_target = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_why,
};
