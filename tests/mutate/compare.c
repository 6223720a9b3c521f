/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an edited image's analysis must say: one finding, the right one, and of
 * everything that was not edited the same as before.
 *
 * What the edited object holds may become possible where it was certain, if the
 * edit makes it dead: the sum must stay.
 */
#include "mutate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

struct comparison {
	const struct ri_analysis *before, *after;
	const struct mutation *mutation;
	uint32_t *held;          /* per object, how often the dead object certainly held it */
	FILE *log;
	unsigned differences;
};

enum { TOLD_MAX = 12 };

__attribute__((format(printf, 2, 3))) static void differ(struct comparison *c, const char *format,
							 ...)
{
	va_list arguments;

	if (c->differences++ >= TOLD_MAX)
		return;
	fputs("    ", c->log);
	va_start(arguments, format);
	vfprintf(c->log, format, arguments);
	va_end(arguments);
	fputc('\n', c->log);
}

static bool is_expected(const struct comparison *c, const struct ri_finding *finding)
{
	const struct mutation *m = c->mutation;

	return !strcmp(finding->check->code, m->code) && finding->addr == m->finding_addr &&
	       finding->status == RI_FINDING_SURE &&
	       finding->check->severity != RI_SEVERITY_NOTE &&
	       (!m->word || (finding->addrs.count && finding->addrs.items[0] == m->word));
}

static void compare_findings(struct comparison *c)
{
	const struct ri_findings *findings = c->after->findings;
	bool is_found = false;

	for (size_t i = 0; i < findings->count; i++) {
		const struct ri_finding *finding = &findings->items[i];

		if (!is_found && is_expected(c, finding)) {
			is_found = true;
			continue;
		}
		if (c->mutation->may_lose_more && !strcmp(finding->check->code, "group-only"))
			continue; /* the note that tells where what was lost can be found */
		differ(c, "unexpected %s 0x%" PRIx64 "%s: %s", finding->check->code, finding->addr,
		       finding->status == RI_FINDING_SURE ? "" : " (could not be checked)",
		       finding->summary);
		if (finding->addrs.count)
			differ(c, "  it blames the word 0x%" PRIx64, finding->addrs.items[0]);
	}
	if (!is_found)
		differ(c, "no %s 0x%" PRIx64, c->mutation->code, c->mutation->finding_addr);
	if (ri_analysis_verdict(c->after) != RI_VERDICT_FINDINGS)
		differ(c, "the verdict is %d", (int)ri_analysis_verdict(c->after));
}

static uint64_t head_of(const struct ri_population *population, uint32_t group)
{
	return group == RI_NONE ? 0 : population->groups[group].head;
}

static void compare_object(struct comparison *c, uint32_t o)
{
	const struct ri_population *before = c->before->population, *after = c->after->population;
	const struct ri_object *x = &before->objects[o], *y = &after->objects[o];
	uint32_t certain = c->before->holders->certain[o] - (o == c->mutation->loses_owner);
	uint32_t possible = c->before->holders->possible[o];
	uint32_t certain_now = c->after->holders->certain[o];
	uint32_t possible_now = c->after->holders->possible[o];

	if (x->addr != y->addr ||
	    (!(c->mutation->loses_type && o == c->mutation->object) &&
	     strcmp(before->types[x->type].name, after->types[y->type].name)))
		differ(c, "%s 0x%" PRIx64 " has become %s 0x%" PRIx64,
		       before->types[x->type].name, x->addr, after->types[y->type].name, y->addr);
	if (certain_now > certain ||
	    (certain - certain_now > c->held[o] && !c->mutation->loses_type) ||
	    (certain_now + possible_now != certain + possible && !c->mutation->loses_type))
		differ(c, "0x%" PRIx64 ": %u certain and %u possible holders, not %u and %u",
		       x->addr, certain_now, possible_now, certain, possible);
	if (!c->mutation->may_lose_more &&
	    ((c->before->graph->reach[o] ^ c->after->graph->reach[o]) & RI_REACH_ANY))
		differ(c, "0x%" PRIx64 ": reachable, or not, as it was not before", x->addr);
	if (o == c->mutation->object)
		return;
	if (x->count != y->count || x->state != y->state)
		differ(c, "0x%" PRIx64 ": count %" PRId64 " state %#x, not %" PRId64 " %#x",
		       x->addr, y->count, y->state, x->count, x->state);
	if (before->back_pointer[o] != after->back_pointer[o] ||
	    head_of(before, before->back_group[o]) != head_of(after, after->back_group[o]))
		differ(c, "0x%" PRIx64 ": its back pointer differs", x->addr);
}

static void compare_objects(struct comparison *c)
{
	const struct ri_population *before = c->before->population, *after = c->after->population;

	if (before->object_count != after->object_count) {
		differ(c, "%zu objects, not %zu", after->object_count, before->object_count);
		return;
	}
	for (uint32_t o = 0; o < before->object_count; o++)
		compare_object(c, o);
}

static void compare_members(struct comparison *c, const struct ri_group *x,
			    const struct ri_group *y)
{
	for (uint32_t i = 0; i < x->member_count; i++) {
		const struct ri_membership *m =
			&c->before->population->memberships[x->first_member + i];
		const struct ri_membership *n =
			&c->after->population->memberships[y->first_member + i];

		if (m->object != n->object || m->node != n->node)
			differ(c,
			       "group %s: member %u is object %u at 0x%" PRIx64
			       ", not %u at 0x%" PRIx64,
			       x->name, i, n->object, n->node, m->object, m->node);
	}
}

static void compare_group(struct comparison *c, uint32_t g, const struct ri_group *y)
{
	const struct ri_group *x = &c->before->population->groups[g];

	if (x->rule != y->rule || x->struct_addr != y->struct_addr || strcmp(x->name, y->name) ||
	    x->member_count != y->member_count) {
		differ(c, "group %s with %u members, not %s with %u", y->name, y->member_count,
		       x->name, x->member_count);
		return;
	}
	compare_members(c, x, y);
	if (g != c->mutation->group &&
	    (x->has_stored_count != y->has_stored_count || x->stored_count != y->stored_count ||
	     x->state != y->state))
		differ(c, "group %s: counter %" PRId64 " state %#x, not %" PRId64 " %#x", x->name,
		       y->stored_count, y->state, x->stored_count, x->state);
}

/* Groups come in the order in which they were found, which may differ. */
static void compare_groups(struct comparison *c)
{
	const struct ri_population *before = c->before->population, *after = c->after->population;

	if (before->group_count != after->group_count) {
		differ(c, "%zu groups, not %zu", after->group_count, before->group_count);
		return;
	}
	for (uint32_t g = 0; g < before->group_count; g++) {
		uint32_t other = 0;

		while (other < after->group_count &&
		       after->groups[other].head != before->groups[g].head)
			other++;
		if (other < after->group_count)
			compare_group(c, g, &after->groups[other]);
		else
			differ(c, "group %s is not there", before->groups[g].name);
	}
}

static void compare_rest(struct comparison *c)
{
	const struct ri_graph *before = c->before->graph, *after = c->after->graph;

	if (before->cycle_count != after->cycle_count ||
	    before->plain_leak_count != after->plain_leak_count)
		differ(c, "%zu cycles and %u lost blocks, not %zu and %u", after->cycle_count,
		       after->plain_leak_count, before->cycle_count, before->plain_leak_count);
	if (c->before->heap->block_count != c->after->heap->block_count ||
	    c->after->heap->damage_count)
		differ(c, "the heap has become another one");
}

/* Counts, per object, the certain holders in the object that the edit kills. */
static void count_held(struct comparison *c)
{
	const struct ri_holders *holders = c->before->holders;

	if (!c->mutation->object_dies || c->mutation->object == RI_NONE)
		return;
	for (uint64_t i = holders->first[c->mutation->object];
	     i < holders->first[c->mutation->object + 1]; i++)
		if (holders->edges[i].target < holders->object_count)
			c->held[holders->edges[i].target]++;
}

bool compare_analyses(const struct ri_analysis *before, const struct ri_analysis *after,
		      const struct mutation *mutation, FILE *log)
{
	struct comparison c = {
		.before = before,
		.after = after,
		.mutation = mutation,
		.held = ri_calloc(before->population->object_count, sizeof(*c.held)),
		.log = log,
	};

	count_held(&c);
	compare_findings(&c);
	compare_objects(&c);
	compare_groups(&c);
	compare_rest(&c);
	free(c.held);
	if (c.differences > TOLD_MAX)
		fprintf(log, "    and %u more differences\n", c.differences - TOLD_MAX);
	return !c.differences;
}
