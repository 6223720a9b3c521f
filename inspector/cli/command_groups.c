/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `groups`: the groups.  `group NAME`: the members of one, in list order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "report/rows.h"
#include "report/words.h"

#define CELL_BYTES 32

static void add_group_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			  const struct ri_group *group, uint64_t walked)
{
	const struct ri_population *population = analysis->population;
	const struct ri_group_rule *rule = &analysis->layout->groups.items[group->rule];
	char head[CELL_BYTES], members[CELL_BYTES], stored[CELL_BYTES];
	char *membership = ri_words_weight(&group->membership);
	const char *cells[] = {
		group->name, head, ri_words_link_kind(rule->kind), members,
		group->has_stored_count ? stored : NULL, membership,
		group->parent != RI_NONE ? population->groups[group->parent].name : NULL,
		ri_words_group_state(group, walked),
	};

	snprintf(head, sizeof(head), "%#" PRIx64, group->struct_addr);
	snprintf(members, sizeof(members), "%" PRIu64, walked);
	snprintf(stored, sizeof(stored), "%" PRId64, group->stored_count);
	ri_listing_add(listing, cells);
	free(membership);
}

static struct ri_error *run_groups(struct ri_command_context *context, int word_count,
				   char **words, int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "group", false }, { "address", false },    { "kind", false },
		{ "members", true }, { "stored", true },     { "membership", false },
		{ "parent", false }, { "state", false },
	};
	const struct ri_population *population = context->analysis->population;
	struct ri_listing *listing;
	uint64_t *walked;

	(void)word_count;
	(void)words;
	(void)ret_status;
	walked = ri_report_walked_lengths(context->analysis);
	listing = ri_listing_create(context->out, context->request.format, "groups", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < population->group_count; i++)
		if (!context->request.group ||
		    !strcmp(population->groups[i].name, context->request.group))
			add_group_row(listing, context->analysis, &population->groups[i],
				      walked[i]);
	ri_listing_finish(listing);
	free(walked);
	return NULL;
}

const struct ri_command ri_command_groups = {
	.name = "groups",
	.arguments = "",
	.summary = "the groups, their lengths and their own counters",
	.help = "A row per group: its name, the address of the struct around its head, its kind, "
		"the members found by walking it, its own counter, whether membership owns a "
		"reference, the group it is nested in, and its state.",
	.needs_target = true,
	.run = run_groups,
};

static void add_member_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			   const struct ri_membership *membership)
{
	const struct ri_object *object = &analysis->population->objects[membership->object];
	char addr[CELL_BYTES], node[CELL_BYTES], count[CELL_BYTES];
	char *state = ri_command_state_words(object->state);
	const char *cells[] = { addr, analysis->population->types[object->type].name, node, count,
				state };

	snprintf(addr, sizeof(addr), "%#" PRIx64, object->addr);
	snprintf(node, sizeof(node), "%#" PRIx64, membership->node);
	snprintf(count, sizeof(count), "%" PRId64, object->count);
	ri_listing_add(listing, cells);
	free(state);
}

static bool is_group_meant(const struct ri_group *group, const char *text)
{
	char *end;
	uint64_t addr = strtoull(text, &end, 0);

	if (*text && !*end)
		return addr == group->head || addr == group->struct_addr;
	return !strcmp(group->name, text);
}

static struct ri_error *run_group(struct ri_command_context *context, int word_count, char **words,
				  int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false }, { "node", false },
		{ "count", true },    { "state", false },
	};
	const struct ri_population *population = context->analysis->population;
	struct ri_listing *listing = NULL;

	(void)word_count;
	(void)ret_status;
	for (size_t i = 0; i < population->group_count; i++) {
		const struct ri_group *group = &population->groups[i];

		if (!is_group_meant(group, words[0]))
			continue;
		if (!listing)
			listing = ri_listing_create(context->out, context->request.format,
						    "members", columns,
						    sizeof(columns) / sizeof(columns[0]),
						    &context->report);
		for (uint32_t k = 0; k < group->member_count; k++)
			add_member_row(listing, context->analysis,
				       &population->memberships[group->first_member + k]);
	}
	if (!listing)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "there is no group '%s'; 'groups' lists them", words[0]);
	ri_listing_finish(listing);
	return NULL;
}

const struct ri_command ri_command_group = {
	.name = "group",
	.arguments = "NAME|ADDR",
	.summary = "the members of one group, in list order",
	.help = "A row per member of the group with that name (all of them, where several share "
		"it) or with its head at that address: the object, its type, the address of its "
		"link, its count and its state.",
	.needs_target = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_group,
};
