/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of inferred types, before the census: a population is taken, its heads and links vote,
 * the groups go into the inferred profile, which is bound anew; and again, since what a group
 * chains holds other heads.  Only where an inferred type has a link at all.
 */
#include <stdlib.h>
#include <string.h>

#include "census/group_votes.h"
#include "check/analysis.h"
#include "check/group_inference.h"

#define ROUNDS_MAX 3

/* Leaves the population behind. */
static struct ri_inferred_groups *take_votes(struct ri_analysis *analysis,
					     const struct ri_lost *known, struct ri_gaps *gaps)
{
	analysis->shapes = ri_shapes_create(analysis->layout, analysis->types);
	analysis->population = ri_population_create(
		analysis->target, analysis->modules, analysis->types, analysis->heap,
		analysis->layout, known, analysis->shapes, gaps);
	return ri_group_votes_take(&(struct ri_group_votes_input){
		analysis->target->image, analysis->types, analysis->heap, analysis->layout,
		analysis->population, analysis->shapes });
}

/* What was taken with another layout is of no use. */
static void drop_population(struct ri_analysis *analysis, struct ri_gaps *gaps)
{
	ri_population_destroy(analysis->population);
	ri_shapes_destroy(analysis->shapes);
	analysis->population = NULL;
	analysis->shapes = NULL;
	ri_gaps_deinit(gaps);
	ri_gaps_init(gaps);
}

static size_t count_accepted(const struct ri_inferred_groups *groups)
{
	size_t count = 0;

	for (size_t i = 0; groups && i < groups->items.count; i++)
		count += groups->items.items[i].state == RI_GROUP_ACCEPTED;
	return count;
}

/* The inferred profile with the groups in place of the one without, and a layout of it. */
static void rebind(struct ri_analysis *analysis, struct ri_profile *profile)
{
	struct ri_gaps ignored; /* said when it was bound without the groups */

	ri_gaps_init(&ignored);
	ri_profile_destroy(analysis->profiles[analysis->profile_count - 1]);
	analysis->profiles[analysis->profile_count - 1] = profile;
	ri_layout_destroy(analysis->layout);
	analysis->layout = ri_layout_create((const struct ri_profile *const *)analysis->profiles,
					    analysis->profile_is_user, analysis->profile_count,
					    analysis->types, analysis->modules, &ignored);
	ri_gaps_deinit(&ignored);
}

static bool is_last_inferred(const struct ri_analysis *analysis)
{
	return analysis->profile_count &&
	       !strcmp(analysis->profiles[analysis->profile_count - 1]->file, RI_INFERRED_FILE);
}

void ri_analysis_infer_groups(struct ri_analysis *analysis, const struct ri_lost *known,
			      struct ri_gaps *population_gaps)
{
	struct ri_gaps *gaps = &analysis->gaps;
	const struct ri_infer_options options = { .is_all = analysis->infer_mode == RI_INFER_ALL };

	if (!analysis->inference || !is_last_inferred(analysis) ||
	    analysis->heap->foreign_allocator ||
	    !ri_group_votes_are_of_use(analysis->layout, analysis->types))
		return;
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		struct ri_inferred_groups *groups = take_votes(analysis, known, population_gaps);
		bool is_more = count_accepted(groups) > count_accepted(analysis->groups);
		struct ri_profile *profile = NULL;
		struct ri_error *error;

		if (!is_more && analysis->groups) {
			ri_inferred_groups_destroy(groups);
			break;
		}
		ri_inferred_groups_destroy(analysis->groups);
		analysis->groups = groups;
		if (!is_more)
			break;
		error = ri_inference_profile(analysis->inference, analysis->types, &options, groups,
					     &profile);
		if (error) {
			ri_gaps_add(gaps, RI_GAP_MATTERS, "profile",
				    "the groups that were found are no profile: %s", error->message);
			ri_error_destroy(error);
			break;
		}
		drop_population(analysis, population_gaps);
		rebind(analysis, profile);
	}
	for (size_t i = 0; analysis->groups && i < analysis->groups->items.count; i++) {
		const struct ri_inferred_group *group = &analysis->groups->items.items[i];

		if (group->state == RI_GROUP_BROKEN)
			ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
				    "%s%s%s looks like the head of %s.%s, but in too many places "
				    "neighbours disagree: it is taken for no group",
				    group->variable ? group->variable : group->head_struct,
				    group->variable ? "" : ".",
				    group->variable ? "" : group->head_member, group->element,
				    group->link);
	}
}
