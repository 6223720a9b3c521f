/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `inferred`: what the shapes of structs say: members that are or may be reference
 * counts, why, and what memory says to it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "report/words.h"

#define CELL_BYTES 32

/* What memory says of the types that are counted by one inferred struct. */
struct outcome {
	uint64_t objects, fitting;
	bool is_supported, is_undecided, is_refuted;
};

static struct outcome *take_outcomes(const struct ri_analysis *analysis)
{
	const struct ri_inference *inference = analysis->inference;
	struct outcome *outcomes = ri_calloc(inference->types.count, sizeof(*outcomes));

	for (size_t t = 0; analysis->fits && t < analysis->population->type_count; t++) {
		const struct ri_type_fit *fit = &analysis->fits[t];
		size_t found = fit->objects ? ri_inference_find(inference, analysis->layout,
								&analysis->population->types[t])
					    : SIZE_MAX;

		if (found == SIZE_MAX)
			continue;
		outcomes[found].objects += fit->objects;
		outcomes[found].fitting += fit->fitting;
		outcomes[found].is_supported |= fit->standing == RI_STANDING_SUPPORTED;
		outcomes[found].is_undecided |= fit->standing == RI_STANDING_UNDECIDED;
		outcomes[found].is_refuted |= fit->standing == RI_STANDING_REFUTED;
	}
	return outcomes;
}

static const char *state_words(const struct ri_inferred_type *type,
			       const struct ri_inferred_count *count,
			       const struct outcome *outcome)
{
	if (type->state == RI_INFERRED_COVERED)
		return "covered";
	if (type->state == RI_INFERRED_SHADOWED)
		return "shadowed";
	if (count != type->counts && count->score >= RI_INFER_ACCEPT)
		return "secondary";
	if (outcome->is_undecided)
		return "undecided";
	if (outcome->is_supported)
		return "supported";
	if (outcome->is_refuted)
		return "fits no object";
	return count->score >= RI_INFER_ACCEPT ? "accepted" : "possible";
}

char *ri_command_reason_words(const struct ri_inferred_count *count)
{
	char *text = ri_strdup(""), *longer;

	for (size_t i = 0; i < count->reason_count; i++) {
		longer = ri_format("%s%s%+d %s", text, *text ? "; " : "", count->reasons[i].points,
				   count->reasons[i].text);
		free(text);
		text = longer;
	}
	return text;
}

static void add_rows(struct ri_listing *listing, const struct ri_inferred_type *type,
		     const struct outcome *outcome)
{
	for (size_t i = 0; i < type->count_count; i++) {
		const struct ri_inferred_count *count = &type->counts[i];
		char offset[CELL_BYTES], points[CELL_BYTES], objects[CELL_BYTES] = "",
			fitting[CELL_BYTES] = "";
		char *why = ri_command_reason_words(count);
		const char *cells[] = { type->name, count->path, offset, points,
					state_words(type, count, outcome), objects, fitting,
					type->convention, type->module, why };

		snprintf(offset, sizeof(offset), "%" PRIu64, count->offset_bits / 8);
		snprintf(points, sizeof(points), "%d", count->score);
		if (!i && type->state != RI_INFERRED_COVERED) {
			snprintf(objects, sizeof(objects), "%" PRIu64, outcome->objects);
			snprintf(fitting, sizeof(fitting), "%" PRIu64, outcome->fitting);
		}
		ri_listing_add(listing, cells);
		free(why);
	}
}

static const char *group_state_words(enum ri_inferred_group_state state)
{
	switch (state) {
	case RI_GROUP_ACCEPTED:
		return "group";
	case RI_GROUP_AMBIGUOUS:
		return "ambiguous group";
	case RI_GROUP_TOO_FEW:
		return "too few for a group";
	case RI_GROUP_BROKEN:
		return "broken: no group";
	}
	return "";
}

/* A row per place that may be the head of what chains objects: the link, what its nodes say. */
static void add_group_row(struct ri_listing *listing, const struct ri_inferred_group *group)
{
	char nodes[CELL_BYTES], fitting[CELL_BYTES];
	char *head = group->variable ? ri_strdup(group->variable)
				     : ri_format("%s.%s", group->head_struct, group->head_member);
	char *why = ri_format("its heads (%" PRIu64 " not empty) lead to %" PRIu64 " nodes, %" PRIu64
			      " at a %s%s%s%s%s; neighbours disagree in %" PRIu64 "%s%s",
			      group->heads, group->nodes, group->fitting, group->element,
			      *group->link ? "." : "", group->link, group->rival ? "; fits as well: "
										  : "",
			      group->rival ? group->rival : "", group->breaks,
			      group->count ? "; their number is " : "",
			      group->count ? group->count : "");
	char *link = ri_format("%s%s%s", group->element, *group->link ? "." : "", group->link);
	const char *cells[] = { head, link, "", "", group_state_words(group->state), nodes, fitting,
				ri_words_link_kind(group->is_hash ? RI_LINK_HASH : group->kind), "",
				why };

	snprintf(nodes, sizeof(nodes), "%" PRIu64, group->nodes);
	snprintf(fitting, sizeof(fitting), "%" PRIu64, group->fitting);
	ri_listing_add(listing, cells);
	free(head);
	free(link);
	free(why);
}

static void add_group_rows(struct ri_listing *listing, const struct ri_inferred_groups *groups,
			   const char *element)
{
	for (size_t i = 0; groups && i < groups->items.count; i++)
		if (!element || !strcmp(groups->items.items[i].element, element))
			add_group_row(listing, &groups->items.items[i]);
}

static struct ri_error *run_inferred(struct ri_command_context *context, int word_count,
				     char **words, int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "type", false },    { "member", false },  { "offset", true },
		{ "points", true },   { "state", false },   { "objects", true },
		{ "fitting", true },  { "convention", false }, { "module", false },
		{ "reasons", false },
	};
	const struct ri_inference *inference = context->analysis->inference;
	struct ri_listing *listing;
	struct outcome *outcomes;

	(void)ret_status;
	if (!inference)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "shapes were not looked at: --profile or --no-infer was given "
				       "(--infer=all looks at them all the same)");
	outcomes = take_outcomes(context->analysis);
	listing = ri_listing_create(context->out, context->request.format, "inferred", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < inference->types.count; i++)
		if (!word_count || !strcmp(inference->types.items[i].name, words[0]))
			add_rows(listing, &inference->types.items[i], &outcomes[i]);
	add_group_rows(listing, context->analysis->groups, word_count ? words[0] : NULL);
	ri_listing_finish(listing);
	free(outcomes);
	return NULL;
}

const struct ri_command ri_command_inferred = {
	.name = "inferred",
	.arguments = "[TYPE]",
	.summary = "counted types found by their shape, and why",
	.help = "A row per struct member whose declaration looks like a reference count, with "
		"points and the reasons for them: names, types, pairs of functions like get and "
		"put. From 6 points a member is accepted; 3 to 5 is possible, and takes part with "
		"--infer=all alone. Then memory is asked: a type is supported where three in four of "
		"at least 10 objects have a count that fits their holders (where they fit only "
		"because it is open who owns, the result is 'could not check'), undecided where "
		"fewer do (its counts are not compared, and the result is the same), and left "
		"out where no object's count fits. A covered struct is one that a profile knows; a "
		"secondary count is a struct's second one (weak, internal), which holders do not "
		"feed; of several structs that have one name in one module, all but one are "
		"shadowed, since a profile can name only one. Structs that begin with the same "
		"members up to the count share a convention. Below the types stands a row per "
		"place that chains their objects: "
		"the head, the link, how many nodes were looked at and how many of them are such "
		"objects. It is a group where nearly all are; where another link or struct fits "
		"as well, where there are too few or where too many neighbours disagree, it is "
		"none. 'profile' prints what is in force in a form that can be edited and "
		"passed back with --profile.",
	.needs_target = true,
	.max_words = 1,
	.run = run_inferred,
};
