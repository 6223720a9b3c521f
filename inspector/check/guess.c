/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Guesses at what holder classes of inferred types are worth: see guess.h.
 *
 * Links are the classes that the inferred profile's own rules name (conn.next).  An
 * object at the end of a chain lacks a holder of one of its type's link classes; a
 * class that points at ends alone is a head, and whether a head holds a reference is as
 * little known as it is of the links.  Two passes over the edges, one over the classes.
 *
 * Blind spots: a chain of one element shows no head; a variable that happens to point at
 * the first element of a list is taken for its head.
 */
#include "check/guess.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOLDERS_MIN 10 /* with fewer, one count that speaks against a class is enough */
#define MISFITS_PER 10 /* else more than one in so many */

static bool is_holder(const struct ri_holders *holders, const struct ri_edge *edge)
{
	return edge->target < holders->object_count &&
	       !(edge->flags & (RI_EDGE_LINK | RI_EDGE_EMBEDS));
}

static enum ri_standing standing_of(const struct ri_guess *guess, const struct ri_edge *edge)
{
	return guess->fits[guess->population->objects[edge->target].type].standing;
}

/* Whether a class is a link by a rule of the inferred profile: the last rule that matches. */
static bool is_link_class(const struct ri_guess *guess, const struct ri_holder_class *class)
{
	const struct ri_layout *layout = guess->layout;

	if (!class->is_declared || !class->is_possible)
		return false;
	for (size_t i = layout->owners.count; i-- > 0;)
		if (ri_pattern_matches(layout->owners.items[i].pattern, class->name))
			return layout->owners.items[i].mark.file &&
			       !strcmp(layout->owners.items[i].mark.file, RI_INFERRED_FILE);
	return false;
}

/* Who is chained how. */
struct chains {
	uint32_t *link_bit;      /* per class: its bit among its type's links; 0: no link */
	uint32_t *type_links;    /* per type: all bits */
	uint32_t *in_links;      /* per object: the bits of the links that point at it */
	bool *has_next;          /* per object: a link of its own leads on */
};

static void note_link(const struct ri_guess *guess, struct chains *chains, uint64_t e)
{
	const struct ri_edge *edge = &guess->holders->edges[e];
	uint32_t type = guess->population->objects[edge->target].type, source;

	if (chains->link_bit[edge->class_index] == UINT32_MAX) {
		uint32_t used = chains->type_links[type];

		chains->link_bit[edge->class_index] = used + 1; /* the lowest bit not used */
		chains->type_links[type] = (used << 1) | 1;
	}
	chains->in_links[edge->target] |= chains->link_bit[edge->class_index];
	source = ri_holders_source(guess->holders, e);
	if (source < guess->holders->object_count)
		chains->has_next[source] = true;
}

static struct chains chains_create(const struct ri_guess *guess)
{
	const struct ri_shapes *shapes = guess->shapes;
	const struct ri_holders *holders = guess->holders;
	struct chains chains = {
		ri_calloc(shapes->classes.count, sizeof(*chains.link_bit)),
		ri_calloc(guess->population->type_count, sizeof(*chains.type_links)),
		ri_calloc(holders->object_count, sizeof(*chains.in_links)),
		ri_calloc(holders->object_count, sizeof(*chains.has_next)),
	};
	bool has_links = false;

	for (size_t c = 0; c < shapes->classes.count; c++)
		if (is_link_class(guess, &shapes->classes.items[c])) {
			chains.link_bit[c] = UINT32_MAX; /* its type's next bit, when it is met */
			has_links = true;
		}
	for (uint64_t e = 0; has_links && e < holders->edge_count; e++)
		if (is_holder(holders, &holders->edges[e]) &&
		    chains.link_bit[holders->edges[e].class_index])
			note_link(guess, &chains, e);
	return chains;
}

static void chains_destroy(struct chains *chains)
{
	free(chains->link_bit);
	free(chains->type_links);
	free(chains->in_links);
	free(chains->has_next);
}

static bool is_at_end(const struct ri_guess *guess, const struct chains *chains, uint32_t object)
{
	uint32_t links = chains->type_links[guess->population->objects[object].type];

	return links && chains->in_links[object] != links &&
	       (chains->in_links[object] || chains->has_next[object]);
}

bool ri_guess_heads(const struct ri_guess *guess)
{
	enum { HOLDS_ENDS = 1, HOLDS_OTHERS = 2 };
	const struct ri_holders *holders = guess->holders;
	struct chains chains = chains_create(guess);
	uint8_t *holds = ri_calloc(guess->shapes->classes.count, 1);
	bool has_changed = false;

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];

		if (!is_holder(holders, edge))
			continue;
		if (standing_of(guess, edge) == RI_STANDING_DECLARED ||
		    !is_at_end(guess, &chains, edge->target))
			holds[edge->class_index] |= HOLDS_OTHERS;
		else
			holds[edge->class_index] |= HOLDS_ENDS;
	}
	for (size_t c = 0; c < guess->shapes->classes.count; c++) {
		struct ri_holder_class *class = &guess->shapes->classes.items[c];

		if (holds[c] != HOLDS_ENDS || class->is_declared || class->is_possible)
			continue;
		class->is_possible = true;
		has_changed = true;
	}
	free(holds);
	chains_destroy(&chains);
	return has_changed;
}

/* What the holders of one class hold. */
struct class_tally {
	uint64_t supported, misfits, doubted, declared;
};

static struct class_tally *tally_classes(const struct ri_guess *guess)
{
	const struct ri_holders *holders = guess->holders;
	struct class_tally *tallies = ri_calloc(guess->shapes->classes.count, sizeof(*tallies));

	for (uint64_t e = 0; e < holders->edge_count; e++) {
		const struct ri_edge *edge = &holders->edges[e];
		struct class_tally *tally = &tallies[edge->class_index];
		const struct ri_object *object;

		if (!is_holder(holders, edge))
			continue;
		object = &guess->population->objects[edge->target];
		switch (standing_of(guess, edge)) {
		case RI_STANDING_DECLARED:
			tally->declared++;
			break;
		case RI_STANDING_SUPPORTED:
			tally->supported++;
			tally->misfits += !(edge->flags & RI_EDGE_POSSIBLE) &&
					  object->count < holders->certain[edge->target];
			break;
		default:
			tally->doubted++;
			break;
		}
	}
	return tallies;
}

static bool is_spoken_against(const struct class_tally *tally)
{
	return tally->misfits && (tally->supported < HOLDERS_MIN ||
				  tally->misfits * MISFITS_PER > tally->supported);
}

bool ri_guess_unsupported(const struct ri_guess *guess, struct ri_gaps *gaps)
{
	struct class_tally *tallies = tally_classes(guess);
	bool has_changed = false;

	for (size_t c = 0; c < guess->shapes->classes.count; c++) {
		struct ri_holder_class *class = &guess->shapes->classes.items[c];
		const struct class_tally *tally = &tallies[c];

		if (class->is_declared || class->is_possible || tally->declared)
			continue;
		if (is_spoken_against(tally))
			ri_gaps_add(gaps, RI_GAP_MATTERS, "check",
				    "whether '%s' holds references is not to be told: %" PRIu64
				    " of %" PRIu64 " objects there count too little for it",
				    class->name, tally->misfits, tally->supported);
		else if (!tally->doubted || tally->supported)
			continue;
		class->is_possible = true;
		has_changed = true;
	}
	free(tallies);
	return has_changed;
}
