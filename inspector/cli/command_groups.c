/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `groups`: the groups.  `group NAME`: the members of one, in list order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "report/rows.h"
#include "report/words.h"

#define CELL_BYTES 32

static int compare_names(const void *a, const void *b, void *data)
{
	const struct ri_group *groups = data;

	return strcmp(groups[*(const uint32_t *)a].name, groups[*(const uint32_t *)b].name);
}

/* Per group, whether others have the same name: a new array. */
static bool *find_shared_names(const struct ri_population *population)
{
	size_t count = population->group_count;
	uint32_t *order = ri_calloc(count, sizeof(*order));
	bool *is_shared = ri_calloc(count, sizeof(*is_shared));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), compare_names, population->groups);
	for (size_t i = 1; i < count; i++)
		if (!compare_names(&order[i - 1], &order[i], population->groups))
			is_shared[order[i - 1]] = is_shared[order[i]] = true;
	free(order);
	return is_shared;
}

/* What tells the group from all others: its name, with its address where that is not
 * its own.  Owned by the caller. */
static char *full_name(const struct ri_group *group, bool is_shared)
{
	return is_shared ? ri_format("%s@%#" PRIx64, group->name, group->struct_addr)
			 : ri_strdup(group->name);
}

static void add_group_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			  const struct ri_group *group, bool is_shared, uint64_t walked)
{
	const struct ri_population *population = analysis->population;
	const struct ri_group_rule *rule = &analysis->layout->groups.items[group->rule];
	char addr[CELL_BYTES], head[CELL_BYTES], members[CELL_BYTES], stored[CELL_BYTES];
	char *membership = ri_words_weight(&group->membership);
	char *name = full_name(group, is_shared);
	const char *cells[] = {
		name, addr, ri_words_link_kind(rule->kind), members,
		group->has_stored_count ? stored : NULL, membership,
		group->parent != RI_NONE ? population->groups[group->parent].name : NULL,
		ri_words_group_state(group, walked), head,
	};

	snprintf(addr, sizeof(addr), "%#" PRIx64, group->struct_addr);
	snprintf(head, sizeof(head), "%#" PRIx64, group->head);
	snprintf(members, sizeof(members), "%" PRIu64, walked);
	snprintf(stored, sizeof(stored), "%" PRId64, group->stored_count);
	ri_listing_add(listing, cells);
	free(membership);
	free(name);
}

static struct ri_error *run_groups(struct ri_command_context *context, int word_count,
				   char **words, int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "group", false }, { "address", false },    { "kind", false },
		{ "members", true }, { "stored", true },     { "membership", false },
		{ "parent", false }, { "state", false },     { "head", false },
	};
	const struct ri_population *population = context->analysis->population;
	struct ri_listing *listing;
	uint64_t *walked;
	bool *is_shared;

	(void)word_count;
	(void)words;
	(void)ret_status;
	walked = ri_report_walked_lengths(context->analysis);
	is_shared = find_shared_names(population);
	listing = ri_listing_create(context->out, context->request.format, "groups", columns,
				    sizeof(columns) / sizeof(columns[0]), &context->report);
	for (size_t i = 0; i < population->group_count; i++)
		if (!context->request.group ||
		    !strcmp(population->groups[i].name, context->request.group))
			add_group_row(listing, context->analysis, &population->groups[i],
				      is_shared[i], walked[i]);
	ri_listing_finish(listing);
	free(walked);
	free(is_shared);
	return NULL;
}

const struct ri_command ri_command_groups = {
	.name = "groups",
	.arguments = "",
	.summary = "the groups, their lengths and their own counters",
	.help = "A row per group: its name (NAME@ADDR where several share it), the address of the "
		"struct around its head, its kind, "
		"the members found by walking it, its own counter, whether membership owns a "
		"reference, the group it is nested in, its state, and where the head itself is.",
	.needs_target = true,
	.run = run_groups,
};

static void add_member_row(struct ri_listing *listing, const struct ri_analysis *analysis,
			   const struct ri_membership *membership, const char *group)
{
	const struct ri_object *object = &analysis->population->objects[membership->object];
	char addr[CELL_BYTES], node[CELL_BYTES], count[CELL_BYTES];
	char *state = ri_command_state_words(object->state);
	const char *cells[] = { addr, analysis->population->types[object->type].name, node, count,
				state, group };

	snprintf(addr, sizeof(addr), "%#" PRIx64, object->addr);
	snprintf(node, sizeof(node), "%#" PRIx64, membership->node);
	snprintf(count, sizeof(count), "%" PRId64, object->count);
	ri_listing_add(listing, cells);
	free(state);
}

/* "0x5000": its address; "NAME"; or "NAME@0x5000": the one of that name there. */
static bool is_group_meant(const struct ri_group *group, const char *text)
{
	const char *at = strrchr(text, '@');
	char *end;
	uint64_t addr = strtoull(text, &end, 0);

	if (*text && !*end)
		return addr == group->head || addr == group->struct_addr;
	if (!strcmp(group->name, text))
		return true;
	if (!at || strlen(group->name) != (size_t)(at - text) ||
	    strncmp(group->name, text, (size_t)(at - text)))
		return false;
	addr = strtoull(at + 1, &end, 0);
	return at[1] && !*end && (addr == group->head || addr == group->struct_addr);
}

static struct ri_listing *create_members(struct ri_command_context *context)
{
	static const struct ri_column columns[] = {
		{ "address", false }, { "type", false },  { "node", false },
		{ "count", true },    { "state", false }, { "group", false },
	};
	/* a text listing has a section per group instead of the last column */
	size_t count = sizeof(columns) / sizeof(columns[0]) -
		       (context->request.format[0] == 't');

	return ri_listing_create(context->out, context->request.format, "members", columns, count,
				 &context->report);
}

static void add_members(struct ri_listing *listing, const struct ri_analysis *analysis,
			const struct ri_group *group, const char *name)
{
	for (uint32_t k = 0; k < group->member_count; k++)
		add_member_row(listing, analysis,
			       &analysis->population->memberships[group->first_member + k], name);
}

/* One group after another: in text each a section, headed where there are several; else
 * all rows in one listing. */
static void list_members(struct ri_command_context *context, const uint32_t *groups, size_t count)
{
	const struct ri_population *population = context->analysis->population;
	bool is_text = context->request.format[0] == 't';
	struct ri_listing *listing = is_text ? NULL : create_members(context);

	for (size_t i = 0; i < count; i++) {
		const struct ri_group *group = &population->groups[groups[i]];
		char *name = full_name(group, count > 1);

		if (is_text && count > 1)
			fprintf(context->out, "%sgroup %s: %" PRIu32 " members\n", i ? "\n" : "",
				name, group->member_count);
		if (is_text)
			listing = create_members(context);
		add_members(listing, context->analysis, group, name);
		if (is_text)
			ri_listing_finish(listing);
		free(name);
	}
	if (!is_text)
		ri_listing_finish(listing);
}

static struct ri_error *run_group(struct ri_command_context *context, int word_count, char **words,
				  int *ret_status)
{
	const struct ri_population *population = context->analysis->population;
	RI_VEC(uint32_t) meant = { 0 };

	(void)word_count;
	(void)ret_status;
	for (uint32_t i = 0; i < population->group_count; i++)
		if (is_group_meant(&population->groups[i], words[0]))
			*ri_push(&meant) = i;
	if (!meant.count)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "there is no group '%s'; 'groups' lists them", words[0]);
	list_members(context, meant.items, meant.count);
	ri_vec_deinit(&meant);
	return NULL;
}

const struct ri_command ri_command_group = {
	.name = "group",
	.arguments = "NAME|ADDR",
	.summary = "the members of one group, in list order",
	.help = "A row per member of the group with that name (a section for each, where several "
		"share it; NAME@ADDR is one of them) or with its head at that address: the "
		"object, its type, the address of its "
		"link, its count and its state.",
	.needs_target = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_group,
};
