/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One analysis: every stage's value for one target, from image to findings.
 * Stages run in order, once; none changes an earlier one's value.
 */
#ifndef RI_CHECK_ANALYSIS_H
#define RI_CHECK_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/gaps.h"
#include "census/assumed.h"
#include "census/chains.h"
#include "census/graph.h"
#include "census/holders.h"
#include "census/lost.h"
#include "census/population.h"
#include "census/shapes.h"
#include "check/finding.h"
#include "check/standing.h"
#include "debug/modules.h"
#include "debug/types.h"
#include "debug/unwind.h"
#include "heap/heap.h"
#include "learn/ownership.h"
#include "profile/infer.h"
#include "profile/infer_groups.h"
#include "profile/layout.h"
#include "profile/profile.h"
#include "target/target.h"

struct ri_check;

enum ri_infer_mode {
	RI_INFER_AUTO,           /* where the user named no profile */
	RI_INFER_NONE,
	RI_INFER_ALL,            /* with what is only possible, and whatever profiles there are */
};

struct ri_analysis_options {
	const char *core_path;   /* or null: `pid` */
	pid_t pid;
	struct ri_target_live_options live;
	struct ri_modules_options modules;
	const char *const *profile_paths; /* null-terminated, or null */
	bool no_builtin_profiles;
	enum ri_infer_mode infer;
	unsigned thread_count;   /* 0: as many as there are processors, at most 8 */
	bool is_strict;          /* presumed-untouched memory counts as missing */
	bool is_memory_alone;    /* target, modules and heap: no types, census or findings */
	const struct ri_assumption *assumptions; /* must outlive the analysis */
	size_t assumption_count;
	bool is_at_exit;         /* the program is ending: what is still alive is a finding */
	/* Null-terminated, must outlive the analysis; null: all (ri_checks, check/check.h). */
	const struct ri_check *const *checks;
	/* Called once the target is open (a live one copied), before anything reads what it
	 * says of its modules; its error ends the analysis.  Null: nothing is called. */
	struct ri_error *(*target_opened)(void *data);
	void *target_opened_data;
};

struct ri_stage_time {
	const char *name;        /* "target", "modules", "types", "layout", "heap", ... */
	double seconds;
};

#define RI_STAGE_MAX 16

struct ri_analysis {
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_unwind *unwind; /* null: threads were not unwound */
	struct ri_profile **profiles;
	bool *profile_is_user;
	size_t profile_count;
	struct ri_layout *layout;
	struct ri_inference *inference; /* counted types by their shape; null: not looked for */
	struct ri_inferred_groups *groups; /* what chains their objects; null: not looked for */
	struct ri_heap *heap;
	struct ri_shapes *shapes;
	struct ri_population *population;
	struct ri_holders *holders;
	struct ri_ownership *ownership; /* of the types whose holders were weighed by it; or null */
	struct ri_type_fit *fits; /* per type of the population; null: all are declared */
	struct ri_graph *graph;
	struct ri_chains *chains; /* what hangs on what of the unreachable; or null */
	struct ri_lost *lost;    /* what may be lost objects; null: not looked for */
	struct ri_lock_owners *lock_owners; /* check/flux.h; null: no lock is considered */
	uint8_t *causes;         /* per object, see check/cause.h; null: found when asked for */
	struct ri_findings *findings;
	struct ri_stage_time stages[RI_STAGE_MAX];
	size_t stage_count;
	bool is_strict, is_at_exit;
	enum ri_infer_mode infer_mode;
	const struct ri_assumption *assumptions;
	size_t assumption_count;
	const struct ri_check *const *checks;
};

/* Opens the target and runs every stage.  Errors: the target or a profile is
 * unusable. */
struct ri_error *ri_analysis_create(const struct ri_analysis_options *options,
				    struct ri_analysis **ret);

/* Its two halves.  The first opens the target and binds the profiles to its types;
 * the second, which must run once, takes the census of its memory and runs the
 * checks. */
struct ri_error *ri_analysis_open(const struct ri_analysis_options *options,
				  struct ri_analysis **ret);
void ri_analysis_run(struct ri_analysis *analysis, unsigned thread_count);

void ri_analysis_destroy(struct ri_analysis *analysis);

enum ri_verdict {
	RI_VERDICT_CLEAN = 0,
	RI_VERDICT_FINDINGS = 1,
	RI_VERDICT_UNCHECKED = 3, /* nothing found, but something could not be checked */
};

/* What the analysis as a whole says; the values are the exit statuses. */
enum ri_verdict ri_analysis_verdict(const struct ri_analysis *analysis);

#endif
