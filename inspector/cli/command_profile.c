/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `profile`: the conventions in force, in the syntax that --profile reads. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

#define APPEND_ALL(to, from)                                                                       \
	for (size_t k = 0; k < (from)->count; k++)                                                 \
		*ri_push(to) = (from)->items[k]

/* Whether a type was found by its shape and memory says that it counts something else. */
static bool is_refuted(const struct ri_analysis *analysis, const struct ri_profile_type *type)
{
	const struct ri_population *population = analysis->population;
	bool is_against = false;

	if (!type->mark.file || strcmp(type->mark.file, RI_INFERRED_FILE) != 0)
		return false;
	for (size_t t = 0; analysis->fits && t < population->type_count; t++) {
		const struct ri_convention *convention =
			&analysis->layout->conventions.items[population->types[t].convention];

		if (!ri_convention_is_inferred(convention) ||
		    convention->mark.line != type->mark.line || !analysis->fits[t].objects)
			continue;
		if (analysis->fits[t].standing != RI_STANDING_REFUTED)
			return false;
		is_against = true;
	}
	return is_against;
}

/* Appends the rules of `profile` to `whole`; the texts stay the profile's. */
static void append_rules(struct ri_profile *whole, const struct ri_profile *profile,
			 const struct ri_analysis *analysis)
{
	for (size_t i = 0; i < profile->types.count; i++)
		if (!is_refuted(analysis, &profile->types.items[i]))
			*ri_push(&whole->types) = profile->types.items[i];
	APPEND_ALL(&whole->groups, &profile->groups);
	APPEND_ALL(&whole->owners, &profile->owners);
	APPEND_ALL(&whole->encodings, &profile->encodings);
}

static bool is_in_force(const struct ri_layout *layout, const struct ri_profile *profile)
{
	for (size_t i = 0; profile->name.text && i < layout->in_force.count; i++)
		if (!strcmp(layout->in_force.items[i], profile->name.text))
			return true;
	return false;
}

static void print_merged(FILE *out, const struct ri_profile *const *profiles, size_t count,
			 const struct ri_analysis *analysis)
{
	struct ri_profile whole = { .file = "in force" };
	char *text;

	for (size_t i = 0; i < count; i++)
		append_rules(&whole, profiles[i], analysis);
	text = ri_profile_print(&whole);
	fputs(text, out);
	free(text);
	/* shallow: the elements' own lists belong to the profiles */
	ri_vec_deinit(&whole.types);
	ri_vec_deinit(&whole.groups);
	ri_vec_deinit(&whole.owners);
	ri_vec_deinit(&whole.encodings);
}

/* Why the types are there that no profile of a person declares. */
static void print_inferred(FILE *out, const struct ri_analysis *analysis)
{
	const struct ri_inference *inference = analysis->inference;
	bool is_all = analysis->infer_mode == RI_INFER_ALL;

	for (size_t i = 0; inference && i < inference->types.count; i++) {
		const struct ri_inferred_type *type = &inference->types.items[i];
		char *why, *line;

		if (!ri_inferred_is_in_force(type, is_all))
			continue;
		why = ri_command_reason_words(&type->counts[0]);
		/* on one line whatever the names hold */
		line = ri_string_escape(why);
		fprintf(out, "# inferred: %s.%s, %d points: %s\n", type->name,
			type->counts[0].path, type->counts[0].score, line);
		free(line);
		free(why);
	}
}

/* With a target: what bound to it, and what did not. */
static void print_bound(FILE *out, const struct ri_analysis *analysis)
{
	const struct ri_profile **in_force =
		ri_calloc(analysis->profile_count, sizeof(*in_force));
	size_t count = 0;

	fputs("# conventions in force for this target, in the syntax that --profile reads\n", out);
	for (size_t i = 0; i < analysis->profile_count; i++) {
		bool is_used = analysis->profile_is_user[i] ||
			       is_in_force(analysis->layout, analysis->profiles[i]);

		fprintf(out, "# %s: %s\n", analysis->profiles[i]->file,
			is_used ? "in force" : "not in force, its types do not occur");
		if (is_used)
			in_force[count++] = analysis->profiles[i];
	}
	for (size_t i = 0; i < analysis->layout->unbound.count; i++) {
		const struct ri_unbound *unbound = &analysis->layout->unbound.items[i];

		fprintf(out, "# unbound: %s:%u:%u: %s\n", unbound->mark.file, unbound->mark.line,
			unbound->mark.column, unbound->message);
	}
	print_inferred(out, analysis);
	print_merged(out, in_force, count, analysis);
	free(in_force);
}

/* Without one: the built-in profiles and those given. */
static struct ri_error *print_available(FILE *out, const struct ri_options *options)
{
	struct ri_error *error = NULL;

	for (size_t i = 0; !options->no_builtin_profiles && ri_builtin_profiles[i].name; i++)
		fprintf(out, "# built in: %s\n%s\n", ri_builtin_profiles[i].name,
			ri_builtin_profiles[i].text);
	for (size_t i = 0; !error && options->profile_paths.items[i]; i++) {
		struct ri_profile *profile;
		char *text;

		error = ri_profile_read(options->profile_paths.items[i], &profile);
		if (error)
			break;
		text = ri_profile_print(profile);
		fprintf(out, "# %s\n%s\n", options->profile_paths.items[i], text);
		free(text);
		ri_profile_destroy(profile);
	}
	return error;
}

static struct ri_error *run_profile(struct ri_command_context *context, int word_count,
				    char **words, int *ret_status)
{
	(void)word_count;
	(void)words;
	(void)ret_status;
	if (!context->analysis)
		return print_available(context->out, context->options);
	print_bound(context->out, context->analysis);
	return NULL;
}

const struct ri_command ri_command_profile = {
	.name = "profile",
	.arguments = "",
	.summary = "the conventions in force, as --profile reads them",
	.help = "With a target, prints the conventions that bound to it as one profile that can "
		"be edited and passed back with --profile, and the names that did not bind with "
		"their places. Without a target, prints the built-in profiles and checks and "
		"prints those given with --profile.",
	.is_text_only = true,
	.run = run_profile,
};
