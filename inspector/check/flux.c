/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads in the middle of a change: see flux.h.
 *
 * A thread is in motion where it was not in a system call (its orig_rax says so).  What it
 * is changing stands in its general registers, in the red zone, or in the frame at the top
 * of its stack: up to the frame pointer where that is near, else a few words.  A thread
 * that waits in the kernel changes nothing: its registers are full of what it used before,
 * and a finding must not vanish behind them.  But it may hold a lock: a declared
 * `lock-owner` that is the id or the thread pointer (pthread_self) of a thread.
 *
 * Of a thread that a fault ended neither counts: it is what the damage did to it, and the
 * finding is what is looked for.  A thread whose registers are not known excuses nothing.
 *
 * Cost: some 80 words per thread, sorted once; a binary search per finding and thing.
 * Blind spot: a reader in motion looks like a writer, so that damage beside what it reads
 * is a note in this image; in the next one it is a finding.
 */
#include "check/flux.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "check/evidence.h"

#define RED_ZONE_BYTES 128
#define FRAME_BYTES 256       /* read above the stack pointer without a frame pointer */
#define FRAME_MAX_BYTES 4096  /* a frame pointer farther away is none */
#define LINK_BYTES 16
#define MATCHES_MAX 64        /* of one thing: more threads than that are not looked at */
#define THINGS_MAX 32
#define GROUPS_MAX 8          /* of an object: memberships whose locks are looked at */

struct flux_word {
	uint64_t value;
	uint32_t thread;
};

struct ri_flux {
	RI_VEC(struct flux_word) words; /* ascending */
};

/* Whether the thread is the one that a fault ended. */
static bool has_faulted(const struct ri_target *target, size_t thread)
{
	switch (target->signal) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
	case SIGSYS:
	case SIGABRT:
		return target->kind == RI_TARGET_CORE && !thread;
	default:
		return false;
	}
}

static bool is_in_motion(const struct ri_target *target, size_t i)
{
	const struct ri_thread *thread = &target->threads[i];

	return thread->has_registers && !thread->registers_partial && !has_faulted(target, i) &&
	       (int64_t)thread->registers[RI_REG_ORIG_RAX] < 0;
}

static void add_word(struct ri_flux *flux, uint32_t thread, uint64_t value)
{
	if (value)
		*ri_push(&flux->words) = (struct flux_word){ value, thread };
}

static void add_thread(struct ri_flux *flux, const struct ri_target *target, uint32_t i)
{
	const uint64_t *registers = target->threads[i].registers;
	uint64_t sp = registers[RI_REG_RSP] & ~7ull, rbp = registers[RI_REG_RBP];
	uint64_t end = sp + FRAME_BYTES;

	if (rbp > sp && rbp - sp < FRAME_MAX_BYTES)
		end = rbp + LINK_BYTES;
	for (size_t r = RI_REG_R15; r <= RI_REG_RDI; r++)
		add_word(flux, i, registers[r]);
	for (uint64_t at = sp - RED_ZONE_BYTES; at < end; at += 8) {
		uint64_t value;

		if (target->image && ri_image_read_u64(target->image, at, &value))
			add_word(flux, i, value);
	}
}

static int compare_words(const void *a, const void *b)
{
	const struct flux_word *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

struct ri_flux *ri_flux_create(const struct ri_analysis *analysis)
{
	const struct ri_target *target = analysis->target;
	struct ri_flux *flux = ri_calloc(1, sizeof(*flux));

	for (size_t i = 0; target && i < target->thread_count; i++)
		if (is_in_motion(target, i))
			add_thread(flux, target, (uint32_t)i);
	if (flux->words.count)
		qsort(flux->words.items, flux->words.count, sizeof(*flux->words.items),
		      compare_words);
	return flux;
}

void ri_flux_destroy(struct ri_flux *flux)
{
	if (!flux)
		return;
	ri_vec_deinit(&flux->words);
	free(flux);
}

struct ri_flux_thing ri_flux_object(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_object *o = &analysis->population->objects[object];

	return (struct ri_flux_thing){ ri_object_start(analysis->population, o),
				       ri_object_end(analysis->population, o) };
}

struct ri_flux_thing ri_flux_group(const struct ri_analysis *analysis, uint32_t group)
{
	const struct ri_group *g = &analysis->population->groups[group];
	const struct ri_group_rule *rule = ri_group_rule_of(analysis, group);
	uint64_t end = g->head + LINK_BYTES;

	if (rule && g->struct_addr + rule->head_struct_bytes > end)
		end = g->struct_addr + rule->head_struct_bytes;
	return (struct ri_flux_thing){ g->struct_addr < g->head ? g->struct_addr : g->head, end };
}

struct ri_flux_thing ri_flux_link(const struct ri_analysis *analysis, uint64_t addr)
{
	uint32_t object = analysis->population->index && addr
				  ? ri_population_find(analysis->population, addr)
				  : RI_NONE;

	if (object != RI_NONE)
		return ri_flux_object(analysis, object);
	return (struct ri_flux_thing){ addr, addr ? addr + LINK_BYTES : 0 };
}

/* The first of words[0 .. count) that is not below `value`. */
static size_t first_word(const struct flux_word *words, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (words[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool points_into(const struct ri_flux *flux, const struct ri_flux_thing *thing,
			uint32_t thread)
{
	size_t i = first_word(flux->words.items, flux->words.count, thing->start);

	for (size_t n = 0; n < MATCHES_MAX && i < flux->words.count &&
			   flux->words.items[i].value < thing->end;
	     n++, i++)
		if (flux->words.items[i].thread == thread)
			return true;
	return false;
}

static bool is_counted_already(const struct ri_flux_thing *things, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (things[k].start == things[i].start)
			return true;
	return false;
}

static size_t count_things(const struct ri_flux *flux, const struct ri_flux_thing *things,
			   size_t thing_count, uint32_t thread)
{
	size_t count = 0;

	for (size_t i = 0; i < thing_count; i++)
		count += things[i].end > things[i].start && !is_counted_already(things, i) &&
			 points_into(flux, &things[i], thread);
	return count;
}

/* A thread in motion with pointers into enough of the things, or null. */
static const struct ri_thread *find_thread(const struct ri_analysis *analysis,
					   const struct ri_flux *flux,
					   const struct ri_flux_thing *things, size_t thing_count,
					   size_t least)
{
	if (thing_count > THINGS_MAX)
		thing_count = THINGS_MAX;
	for (size_t t = 0; t < thing_count; t++) {
		size_t i = first_word(flux->words.items, flux->words.count, things[t].start);

		for (size_t n = 0; n < MATCHES_MAX && i < flux->words.count &&
				   flux->words.items[i].value < things[t].end;
		     n++, i++) {
			uint32_t thread = flux->words.items[i].thread;

			if (count_things(flux, things, thing_count, thread) >= least)
				return &analysis->target->threads[thread];
		}
	}
	return NULL;
}

/* What a lock's owner field holds where a thread has it, once per thread and way. */
struct ri_lock_owners {
	RI_VEC(struct flux_word) words; /* ascending */
};

struct ri_lock_owners *ri_lock_owners_create(const struct ri_target *target)
{
	struct ri_lock_owners *owners = ri_calloc(1, sizeof(*owners));

	for (size_t i = 0; i < target->thread_count; i++) {
		const struct ri_thread *thread = &target->threads[i];

		if (has_faulted(target, i))
			continue;
		*ri_push(&owners->words) =
			(struct flux_word){ (uint64_t)(int64_t)thread->tid, (uint32_t)i };
		if (thread->has_registers)
			*ri_push(&owners->words) = (struct flux_word){
				thread->registers[RI_REG_FS_BASE], (uint32_t)i
			};
	}
	if (owners->words.count)
		qsort(owners->words.items, owners->words.count, sizeof(*owners->words.items),
		      compare_words);
	return owners;
}

void ri_lock_owners_destroy(struct ri_lock_owners *owners)
{
	if (!owners)
		return;
	ri_vec_deinit(&owners->words);
	free(owners);
}

/* The thread that a lock's owner field names, the first of several; or null. */
static const struct ri_thread *find_owner(const struct ri_analysis *analysis, uint64_t base,
					  const struct ri_field *lock_owner)
{
	const struct ri_lock_owners *owners = analysis->lock_owners;
	const struct ri_target *target = analysis->target;
	int64_t value;
	size_t i;

	if (!owners || !target || !target->image ||
	    !ri_field_read(target->image, base, lock_owner, &value) || !value)
		return NULL;
	i = first_word(owners->words.items, owners->words.count, (uint64_t)value);
	return i < owners->words.count && owners->words.items[i].value == (uint64_t)value
		       ? &target->threads[owners->words.items[i].thread]
		       : NULL;
}

static const struct ri_thread *find_group_owner(const struct ri_analysis *analysis, uint32_t group)
{
	const struct ri_group_rule *rule =
		group == RI_NONE ? NULL : ri_group_rule_of(analysis, group);

	return rule ? find_owner(analysis, analysis->population->groups[group].struct_addr,
				 &rule->lock_owner)
		    : NULL;
}

/* Of the object's own lock, or of one of a group that it is in. */
static const struct ri_thread *find_object_owner(const struct ri_analysis *analysis,
						 uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const struct ri_object *o = &population->objects[object];
	uint32_t convention = population->types[o->type].convention;
	const struct ri_thread *owner = NULL;
	uint32_t first = 0, end = 0;

	if (analysis->layout && convention < analysis->layout->conventions.count)
		owner = find_owner(analysis, ri_object_header(population, o),
				   &analysis->layout->conventions.items[convention].lock_owner);
	if (population->member_of_first) {
		first = population->member_of_first[object];
		end = population->member_of_first[object + 1];
	}
	for (uint32_t i = first; !owner && i < end && i - first < GROUPS_MAX; i++)
		owner = find_group_owner(
			analysis, population->memberships[population->member_of[i]].group);
	if (!owner && population->back_group)
		owner = find_group_owner(analysis, population->back_group[object]);
	return owner;
}

/* Whether a thread holds a lock of what the finding is about, which is then in flux. */
static bool consider_lock(struct ri_finding *finding, const struct ri_analysis *analysis,
			  uint32_t group, uint32_t object)
{
	const struct ri_thread *thread = find_group_owner(analysis, group);

	if (finding->status != RI_FINDING_SURE)
		return false;
	if (!thread && object != RI_NONE)
		thread = find_object_owner(analysis, object);
	if (!thread)
		return false;
	ri_finding_explain(finding, "in flux: thread %d holds the lock", (int)thread->tid);
	finding->status = RI_FINDING_IN_FLUX;
	return true;
}

void ri_finding_consider_flux(struct ri_finding *finding, const struct ri_analysis *analysis,
			      const struct ri_flux *flux, const struct ri_flux_thing *things,
			      size_t thing_count, size_t least, uint32_t group, uint32_t object)
{
	const struct ri_thread *thread;

	if (consider_lock(finding, analysis, group, object) || finding->status != RI_FINDING_SURE)
		return;
	thread = find_thread(analysis, flux, things, thing_count, least);
	if (!thread)
		return;
	ri_finding_explain(finding,
			   "in flux: thread %d was running, with pointers to what this is about in "
			   "its registers or top frame",
			   (int)thread->tid);
	finding->status = RI_FINDING_IN_FLUX;
}

void ri_finding_consider_lock(struct ri_finding *finding, const struct ri_analysis *analysis)
{
	consider_lock(finding, analysis, finding->group, finding->object);
}
