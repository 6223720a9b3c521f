/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the stages of one analysis in their order and times each.  Where the graph
 * shows lost blocks that are evidently objects, the census is taken again with these
 * known, since they hold others: its stages are values, and the new ones take the place
 * of the old.  Knows which
 * stage reads which; what the stages do is theirs.  A stage that fails in parts
 * says so in the gaps; only an unusable target, executable or profile is an
 * error.
 */
#include "check/analysis.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "census/pool_slots.h"
#include "census/pools.h"
#include "census/recognise.h"
#include "check/cause.h"
#include "check/check.h"
#include "check/exits.h"
#include "check/flux.h"
#include "check/group_inference.h"
#include "check/verdict.h"
#include "debug/locals.h"

#define THREADS_MAX 8
#define BINDINGS_MAX 3 /* as often what counts are off by is learned */
#define CENSUS_MAX 4 /* lost objects lead to more lost objects so often */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Notes that the stage called `name` took the time since *since. */
static void end_stage(struct ri_analysis *analysis, const char *name, double *since)
{
	double end = now();

	for (size_t i = 0; i < analysis->stage_count; i++)
		if (!strcmp(analysis->stages[i].name, name)) {
			analysis->stages[i].seconds += end - *since;
			*since = end;
			return;
		}
	if (analysis->stage_count < RI_STAGE_MAX)
		analysis->stages[analysis->stage_count++] =
			(struct ri_stage_time){ name, end - *since };
	*since = end;
}

static struct ri_error *open_target(struct ri_analysis *analysis,
				    const struct ri_analysis_options *options)
{
	if (options->core_path)
		return ri_target_open_core(options->core_path, &analysis->gaps, &analysis->target);
	return ri_target_open_live(options->pid, &options->live, &analysis->gaps,
				   &analysis->target);
}

static void add_profile(struct ri_analysis *analysis, struct ri_profile *profile, bool is_user)
{
	size_t count = analysis->profile_count + 1;

	analysis->profiles = ri_realloc(analysis->profiles, count, sizeof(*analysis->profiles));
	analysis->profile_is_user =
		ri_realloc(analysis->profile_is_user, count, sizeof(*analysis->profile_is_user));
	analysis->profiles[count - 1] = profile;
	analysis->profile_is_user[count - 1] = is_user;
	analysis->profile_count = count;
}

/* The built-in profiles first: what the user says comes later and wins. */
static struct ri_error *read_profiles(struct ri_analysis *analysis,
				      const struct ri_analysis_options *options)
{
	struct ri_error *error;
	struct ri_profile *profile;

	for (const struct ri_builtin_profile *b = ri_builtin_profiles;
	     !options->no_builtin_profiles && b->name; b++) {
		char *file = ri_format("<builtin>/%s.yaml", b->name);

		error = ri_profile_parse(file, b->text, b->size_bytes, &profile);
		free(file);
		if (error)
			return error;
		add_profile(analysis, profile, false);
	}
	for (const char *const *path = options->profile_paths; path && *path; path++) {
		error = ri_profile_read(*path, &profile);
		if (error)
			return error;
		add_profile(analysis, profile, true);
	}
	return NULL;
}

static unsigned choose_thread_count(unsigned wanted)
{
	long count = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);

	if (count < 1)
		return 1;
	return wanted || count < THREADS_MAX ? (unsigned)count : THREADS_MAX;
}

static void drop_census(struct ri_analysis *analysis)
{
	ri_chains_destroy(analysis->chains);
	ri_graph_destroy(analysis->graph);
	ri_ownership_destroy(analysis->ownership);
	free(analysis->fits);
	ri_holders_destroy(analysis->holders);
	ri_population_destroy(analysis->population);
	analysis->population = NULL;
	ri_shapes_destroy(analysis->shapes);
}

/* Objects, holders and graph; `lost` are objects that are known beforehand. */
static void take_census_with(struct ri_analysis *analysis, const struct ri_lost *lost,
			     unsigned thread_count, struct ri_gaps *gaps, double *since)
{
	if (!analysis->population) {
		analysis->shapes = ri_shapes_create(analysis->layout, analysis->types);
		analysis->population = ri_population_create(
			analysis->target, analysis->modules, analysis->types, analysis->heap,
			analysis->layout, lost, analysis->shapes, gaps);
	}
	end_stage(analysis, "population", since);
	analysis->holders =
		ri_holders_create(analysis->target, analysis->modules, analysis->types,
				  analysis->heap, analysis->population, analysis->shapes,
				  choose_thread_count(thread_count), gaps);
	end_stage(analysis, "holders", since);
	analysis->fits = ri_standings_create(
		analysis->layout,
		&(struct ri_ownership_input){ analysis->target->image, analysis->heap,
					      analysis->population, analysis->shapes,
					      analysis->holders },
		&analysis->ownership, gaps);
	ri_holders_settle(analysis->holders, analysis->population, analysis->shapes);
	end_stage(analysis, "learning", since);
	analysis->graph = ri_graph_create(analysis->holders, analysis->population, analysis->heap);
	end_stage(analysis, "graph", since);
}

/* Adds to `lost` the objects of inferred types, or others that may be, that their looks tell. */
static void recognise(const struct ri_analysis *analysis, const struct ri_lost *known,
		      struct ri_lost *lost)
{
	const struct ri_recognise_input input = {
		analysis->target->image, analysis->layout,     analysis->heap,
		analysis->population,    analysis->types,      analysis->shapes,
		analysis->holders,
	};
	bool *wanted;
	ri_recognised_list list = { 0 };

	if (analysis->heap->foreign_allocator)
		return;
	wanted = ri_standings_wanted(analysis->layout, analysis->fits);
	if (!wanted)
		return;
	ri_recognise(&input, wanted, &list);
	for (size_t i = 0; i < list.count; i++)
		if (!ri_lost_is_stale(known, list.items[i].addr))
			*ri_push(&lost->objects) = list.items[i];
	ri_vec_deinit(&list);
	free(wanted);
}

/* Tells what may have leaked in pools of inferred types. */
static void tell_pool_slots(const struct ri_analysis *analysis, struct ri_gaps *gaps)
{
	bool *wanted;

	if (analysis->heap->foreign_allocator)
		return;
	wanted = ri_standings_wanted(analysis->layout, analysis->fits);
	if (!wanted)
		return;
	ri_pool_slots_tell(analysis->target->image, analysis->layout, analysis->population, wanted,
			   gaps);
	free(wanted);
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void add_stale(struct ri_lost *known, const struct ri_lost *found)
{
	for (size_t i = 0; i < found->stale.count; i++)
		*ri_push(&known->stale) = found->stale.items[i];
	if (found->stale.count)
		qsort(known->stale.items, known->stale.count, sizeof(uint64_t), compare_addresses);
}

static void add_pools(struct ri_lost *known, const struct ri_lost *found)
{
	for (size_t i = 0; i < found->pools.count; i++)
		*ri_push(&known->pools) = found->pools.items[i];
}

static void bind(struct ri_analysis *analysis, struct ri_gaps *gaps)
{
	analysis->layout = ri_layout_create((const struct ri_profile *const *)analysis->profiles,
					    analysis->profile_is_user, analysis->profile_count,
					    analysis->types, analysis->modules, gaps);
}

/* Whether what is counted by `inferred` may be given `bias`: all of its types that tell agree. */
static bool may_have_bias(const struct ri_analysis *analysis, size_t inferred, int8_t bias)
{
	for (size_t i = 0; i < analysis->ownership->types.count; i++) {
		const struct ri_learned_type *type = &analysis->ownership->types.items[i];

		if (type->bias != bias && type->result.objects &&
		    ri_inference_find(analysis->inference, analysis->layout,
				      &analysis->population->types[type->type]) == inferred)
			return false;
	}
	return true;
}

/* Notes what the counts of inferred types are off by as a convention; false: nothing new. */
static bool note_biases(struct ri_analysis *analysis)
{
	bool any = false;

	for (size_t i = 0; analysis->inference && analysis->ownership &&
			   i < analysis->ownership->types.count; i++) {
		const struct ri_learned_type *type = &analysis->ownership->types.items[i];
		size_t inferred = type->bias ? ri_inference_find(analysis->inference, analysis->layout,
						     &analysis->population->types[type->type])
					     : SIZE_MAX;
		struct ri_inferred_count *count;

		if (inferred == SIZE_MAX || !may_have_bias(analysis, inferred, type->bias))
			continue;
		count = &analysis->inference->types.items[inferred].counts[0];
		any |= !count->bias;
		if (!count->bias)
			count->bias = type->bias;
	}
	return any;
}

/* Binds the inferred profile again, with what memory said of its counts. */
static bool bind_biases(struct ri_analysis *analysis)
{
	const struct ri_infer_options infer = { .is_all = analysis->infer_mode == RI_INFER_ALL };
	struct ri_profile *profile = NULL;
	struct ri_error *error;
	struct ri_gaps gaps;
	size_t last = analysis->profile_count - 1;

	if (!note_biases(analysis))
		return false;
	error = ri_inference_profile(analysis->inference, analysis->types, &infer,
				     analysis->groups, &profile);
	if (error || !profile) {
		ri_error_destroy(error);
		return false;
	}
	drop_census(analysis);
	ri_layout_destroy(analysis->layout);
	ri_profile_destroy(analysis->profiles[last]);
	analysis->profiles[last] = profile;
	ri_gaps_init(&gaps); /* the first binding said all of it */
	bind(analysis, &gaps);
	ri_gaps_deinit(&gaps);
	return true;
}

/* The first census once more, with a layout that is bound anew. */
static void begin_again(struct ri_analysis *analysis, struct ri_lost *known, struct ri_gaps *gaps,
			unsigned thread_count, double *since)
{
	known->objects.count = known->stale.count = known->pools.count = 0;
	ri_gaps_deinit(gaps);
	ri_gaps_init(gaps);
	take_census_with(analysis, known, thread_count, gaps, since);
}

/* Everything that is found in memory: blocks, objects, holders, graph; again while lost
 * objects or stale ones show.  What the census before the last one could not do does not count. */
static void take_census(struct ri_analysis *analysis, unsigned thread_count, double *since)
{
	struct ri_lost known = { 0 };
	struct ri_gaps gaps;

	ri_gaps_init(&gaps);
	analysis->heap = ri_heap_create(analysis->target, analysis->modules, &analysis->gaps);
	end_stage(analysis, "heap", since);
	ri_assumed_resolve(analysis->types, analysis->heap, analysis->assumptions,
			   analysis->assumption_count, &known, &analysis->gaps);
	ri_analysis_infer_groups(analysis, &known, &gaps);
	end_stage(analysis, "inference", since);
	take_census_with(analysis, &known, thread_count, &gaps, since);
	for (unsigned i = 0, bindings = 0;; i++) {
		struct ri_lost_input input = { analysis->target->image, analysis->types,
					       analysis->layout, analysis->heap,
					       analysis->population, analysis->graph,
					       &known };
		struct ri_lost *lost;

		/* before anything is built on the counts, and once more when all objects are known */
		if (!i && bindings < BINDINGS_MAX && bind_biases(analysis)) {
			begin_again(analysis, &known, &gaps, thread_count, since);
			bindings++;
			i = UINT_MAX; /* 0 in the next round */
			continue;
		}
		lost = ri_lost_find(&input, i == CENSUS_MAX);
		if (i < CENSUS_MAX)
			ri_stale_find(&input, analysis->holders, lost);
		if (i < CENSUS_MAX)
			ri_pools_find(&input, lost);
		end_stage(analysis, "lost", since);
		if (i < CENSUS_MAX)
			recognise(analysis, &known, lost);
		end_stage(analysis, "recognition", since);
		if (!lost->objects.count && !lost->stale.count && !lost->pools.count) {
			if (i && bindings < BINDINGS_MAX && bind_biases(analysis)) {
				ri_lost_destroy(lost);
				begin_again(analysis, &known, &gaps, thread_count, since);
				bindings++;
				i = UINT_MAX; /* 0 in the next round */
				continue;
			}
			ri_lost_tell(lost, &input, &gaps);
			tell_pool_slots(analysis, &gaps);
			ri_holders_tell_backs(analysis->holders, analysis->population,
					      analysis->shapes, &gaps);
			analysis->lost = lost;
			break;
		}
		for (size_t k = 0; k < lost->objects.count; k++)
			*ri_push(&known.objects) = lost->objects.items[k];
		add_stale(&known, lost);
		add_pools(&known, lost);
		ri_lost_destroy(lost);
		drop_census(analysis);
		ri_gaps_deinit(&gaps);
		ri_gaps_init(&gaps);
		take_census_with(analysis, &known, thread_count, &gaps, since);
	}
	analysis->chains = ri_chains_create(analysis->holders, analysis->population,
					    analysis->heap, analysis->graph);
	end_stage(analysis, "chains", since);
	ri_vec_deinit(&known.objects);
	ri_vec_deinit(&known.assumed);
	ri_vec_deinit(&known.stale);
	ri_vec_deinit(&known.pools);
	ri_gaps_move(&analysis->gaps, &gaps);
}

static void suggest_at_exit(struct ri_analysis *analysis)
{
	const char *symbol;
	const struct ri_thread *thread = ri_exits_find(analysis, &symbol);

	if (thread)
		ri_gaps_add(&analysis->gaps, RI_GAP_TOLD, "check",
			    "thread %d stands in exit (%s): --at-exit tells what is still alive",
			    (int)thread->tid, symbol);
}

static void run_checks(struct ri_analysis *analysis)
{
	analysis->causes = ri_causes_create(analysis);
	ri_causes_tell(analysis, &analysis->gaps);
	analysis->findings = ri_calloc(1, sizeof(*analysis->findings));
	for (size_t i = 0; analysis->checks[i]; i++)
		analysis->checks[i]->run(analysis->checks[i], analysis, analysis->findings);
	ri_findings_doubt_groups(analysis->findings, analysis);
	ri_findings_sort(analysis->findings);
	if (!analysis->is_at_exit)
		suggest_at_exit(analysis);
	if (!ri_analysis_has_counted(analysis))
		ri_gaps_add(
			&analysis->gaps, RI_GAP_MATTERS, "check",
			analysis->layout->types.count
				? "no counted type was found: the profiles apply to types of this "
				  "program, but no object or group of them is in memory"
				: analysis->inference
				? "no counted type was found: no profile applies to this program's "
				  "types, and none looks counted; name one with --profile"
				: "no counted type was found: no profile applies to this program's "
				  "types; name one with --profile");
}

/* What was found by shape and takes no part all the same. */
static void tell_left_out(const struct ri_inference *inference, struct ri_types *types, bool is_all,
			  struct ri_gaps *gaps)
{
	size_t beyond = ri_inference_beyond(inference, is_all);
	size_t links = ri_inference_links_beyond(inference, types, is_all);

	if (links)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "profile",
			    "%zu links between free objects are more than a profile takes; they "
			    "may pass for owners", links);
	if (beyond)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "profile",
			    "%zu types that look counted are more than a profile takes; their "
			    "objects are not looked for", beyond);
	for (size_t i = 0; i < inference->types.count; i++) {
		const struct ri_inferred_type *type = &inference->types.items[i];

		if (type->state == RI_INFERRED_SHADOWED &&
		    type->counts[0].score >= RI_INFER_ACCEPT)
			ri_gaps_add(gaps, RI_GAP_TOLD, "profile",
				    "several structs are called '%s' in %s; only the first of them "
				    "is looked for", type->name, type->module);
	}
}

/* Binds the profiles; then, unless the user knows better, looks for counted types that none
 * of them covers and binds again with what was found. */
static void bind_profiles(struct ri_analysis *analysis, const struct ri_analysis_options *options,
			  double *since)
{
	const struct ri_infer_options infer = { .is_all = options->infer == RI_INFER_ALL };
	bool has_user_profile = options->profile_paths && options->profile_paths[0];
	struct ri_profile *profile = NULL;
	struct ri_error *error;
	struct ri_gaps gaps;

	ri_gaps_init(&gaps);
	bind(analysis, &gaps);
	end_stage(analysis, "layout", since);
	if (options->infer == RI_INFER_NONE ||
	    (options->infer == RI_INFER_AUTO && has_user_profile)) {
		ri_gaps_move(&analysis->gaps, &gaps);
		return;
	}
	analysis->inference = ri_inference_create(analysis->types, analysis->modules,
						  analysis->layout, &infer);
	error = ri_inference_profile(analysis->inference, analysis->types, &infer, NULL,
				     &profile);
	if (error) {
		ri_gaps_add(&gaps, RI_GAP_MATTERS, "profile",
			    "what was found by shape is no profile: %s", error->message);
		ri_error_destroy(error);
	}
	end_stage(analysis, "inference", since);
	if (profile) {
		/* what binding could not do without it, it says again */
		ri_gaps_deinit(&gaps);
		ri_gaps_init(&gaps);
		ri_layout_destroy(analysis->layout);
		add_profile(analysis, profile, false);
		bind(analysis, &gaps);
		end_stage(analysis, "layout", since);
	}
	tell_left_out(analysis->inference, analysis->types, infer.is_all, &gaps);
	ri_gaps_move(&analysis->gaps, &gaps);
}

/* All that depends on the program rather than on what its memory holds. */
static struct ri_error *open_stages(struct ri_analysis *analysis,
				    const struct ri_analysis_options *options)
{
	struct ri_error *error;
	double since = now();

	/* First: a mistake in a profile must not cost a live process its pause. */
	error = read_profiles(analysis, options);
	if (error)
		return error;
	end_stage(analysis, "profiles", &since);
	error = open_target(analysis, options);
	if (!error && options->target_opened)
		error = options->target_opened(options->target_opened_data);
	if (error)
		return error;
	end_stage(analysis, "target", &since);
	error = ri_modules_create(analysis->target, &options->modules, &analysis->gaps,
				  &analysis->modules);
	if (error)
		return error;
	end_stage(analysis, "modules", &since);
	if (options->is_memory_alone)
		return NULL;
	analysis->types = ri_types_create(analysis->modules, &analysis->gaps);
	end_stage(analysis, "types", &since);
	bind_profiles(analysis, options, &since);
	return NULL;
}

struct ri_error *ri_analysis_open(const struct ri_analysis_options *options,
				  struct ri_analysis **ret)
{
	struct ri_analysis *analysis = ri_calloc(1, sizeof(*analysis));
	struct ri_error *error;

	ri_gaps_init(&analysis->gaps);
	analysis->is_strict = options->is_strict;
	analysis->is_at_exit = options->is_at_exit;
	analysis->assumptions = options->assumptions;
	analysis->assumption_count = options->assumption_count;
	analysis->checks = options->checks ? options->checks : ri_checks;
	analysis->infer_mode = options->infer;
	error = open_stages(analysis, options);
	if (error) {
		ri_analysis_destroy(analysis);
		return error;
	}
	*ret = analysis;
	return NULL;
}

void ri_analysis_run(struct ri_analysis *analysis, unsigned thread_count)
{
	double since = now();

	analysis->unwind = ri_unwind_create(analysis->modules, &analysis->gaps);
	ri_types_use_frames(analysis->types, analysis->unwind);
	end_stage(analysis, "unwind", &since);
	take_census(analysis, thread_count, &since);
	analysis->lock_owners = ri_lock_owners_create(analysis->target);
	run_checks(analysis);
	end_stage(analysis, "checks", &since);
}

struct ri_error *ri_analysis_create(const struct ri_analysis_options *options,
				    struct ri_analysis **ret)
{
	struct ri_error *error = ri_analysis_open(options, ret);

	if (!error && options->is_memory_alone)
		(*ret)->heap = ri_heap_create((*ret)->target, (*ret)->modules, &(*ret)->gaps);
	else if (!error)
		ri_analysis_run(*ret, options->thread_count);
	return error;
}

void ri_analysis_destroy(struct ri_analysis *analysis)
{
	if (!analysis)
		return;
	ri_findings_destroy(analysis->findings);
	free(analysis->causes);
	ri_lock_owners_destroy(analysis->lock_owners);
	ri_lost_destroy(analysis->lost);
	drop_census(analysis);
	ri_heap_destroy(analysis->heap);
	ri_layout_destroy(analysis->layout);
	ri_inference_destroy(analysis->inference);
	ri_inferred_groups_destroy(analysis->groups);
	for (size_t i = 0; i < analysis->profile_count; i++)
		ri_profile_destroy(analysis->profiles[i]);
	free(analysis->profiles);
	free(analysis->profile_is_user);
	ri_types_destroy(analysis->types);
	ri_unwind_destroy(analysis->unwind);
	ri_modules_destroy(analysis->modules);
	ri_target_close(analysis->target);
	ri_gaps_deinit(&analysis->gaps);
	free(analysis);
}
