/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lost blocks that may be objects and cannot be told: collected per set of types, put into
 * words, and told as gaps, together with the types that the user's profiles name in vain.
 */
#include "census/lost_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "profile/infer.h"

#define DOUBTS_MAX 64        /* sets of types; the rest is told as one */

void ri_lost_add_doubt(struct ri_lost *lost, const char *types, bool is_reachable,
		       const struct ri_block *block)
{
	struct ri_lost_doubt *doubt = NULL;

	for (size_t i = 0; i < lost->doubts.count && !doubt; i++)
		if (lost->doubts.items[i].is_reachable == is_reachable &&
		    !strcmp(lost->doubts.items[i].types, types))
			doubt = &lost->doubts.items[i];
	if (!doubt && lost->doubts.count >= DOUBTS_MAX) {
		doubt = &lost->doubts.items[DOUBTS_MAX - 1];
	} else if (!doubt) {
		doubt = ri_push(&lost->doubts);
		doubt->types = ri_strdup(lost->doubts.count == DOUBTS_MAX ? "other types" : types);
		doubt->is_reachable = is_reachable;
	}
	if (!doubt->count || block->addr < doubt->first_addr)
		doubt->first_addr = block->addr;
	doubt->count++;
	doubt->bytes += block->size_bytes;
}

/* Whether a profile of the user names the type itself, rather than its header. */
static bool is_named_by_user(const struct ri_layout *layout, uint32_t type)
{
	uint32_t convention = layout->types.items[type].convention;
	const struct ri_convention *c = &layout->conventions.items[convention];

	return c->mark.file && strncmp(c->mark.file, "<builtin>", strlen("<builtin>")) &&
	       !ri_convention_is_inferred(c) &&
	       (c->base != convention ||
		(!c->is_header && ri_types_are_same(c->type, layout->types.items[type].type)));
}

bool *ri_lost_list_missing(const struct ri_lost_input *input)
{
	const struct ri_layout *layout = input->layout;
	const struct ri_population *population = input->population;
	bool *is_missing = ri_calloc(layout->types.count, sizeof(*is_missing));

	for (uint32_t i = 0; i < layout->types.count; i++)
		is_missing[i] = is_named_by_user(layout, i);
	for (size_t i = 0; i < population->object_count; i++)
		if (population->objects[i].type < layout->types.count)
			is_missing[population->objects[i].type] = false;
	return is_missing;
}

static void tell_doubt(const struct ri_lost_doubt *doubt, struct ri_gaps *gaps)
{
	char *message = ri_lost_doubt_words(doubt);

	ri_gaps_add(gaps, RI_GAP_MATTERS, "census", "%s", message);
	free(message);
}

char *ri_lost_doubt_words(const struct ri_lost_doubt *doubt)
{
	const char *plural = doubt->count == 1 ? "" : "s";
	const char *first = doubt->count == 1 ? "" : "the first at ";

	if (doubt->is_reachable)
		return ri_format("no object of type %s was found, but %" PRIu64
				 " used block%s (%" PRIu64 " bytes) that no typed pointer leads "
				 "to may be such: %s0x%" PRIx64,
				 doubt->types, doubt->count, plural, doubt->bytes, first,
				 doubt->first_addr);
	return ri_format("%" PRIu64 " lost block%s (%" PRIu64 " bytes) may be %s of type %s, "
			 "which nothing but pointers identifies: %s0x%" PRIx64,
			 doubt->count, plural, doubt->bytes,
			 doubt->count == 1 ? "an object" : "objects", doubt->types, first,
			 doubt->first_addr);
}

void ri_lost_tell(const struct ri_lost *lost, const struct ri_lost_input *input,
		  struct ri_gaps *gaps)
{
	bool *is_missing = ri_lost_list_missing(input);

	for (uint32_t i = 0; i < input->layout->types.count; i++)
		if (is_missing[i])
			ri_gaps_add(gaps, RI_GAP_TOLD, "census",
				    "the profile names type %s, and no object of it was found",
				    input->layout->types.items[i].name);
	for (size_t i = 0; i < lost->doubts.count; i++)
		tell_doubt(&lost->doubts.items[i], gaps);
	free(is_missing);
}
