/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Doubly linked chains as circles, whatever their words hold: see
 * groups_private.h.  Judges nothing. */
#include "census/groups_private.h"

static bool is_circular(const struct ri_chain *chain)
{
	return chain->kind == RI_LINK_LIST;
}

/* Whether words back hold the address of a word instead of a node's. */
static bool points_at_words(const struct ri_chain *chain)
{
	return chain->kind == RI_LINK_HLIST || chain->kind == RI_LINK_TAILQ;
}

bool ri_chain_has_word(const struct ri_chain *chain, uint64_t node, enum ri_direction direction)
{
	return node != chain->head || direction == RI_FORWARD || chain->rule->is_headless ||
	       chain->rule->head_last_offset >= 0;
}

uint64_t ri_chain_word(const struct ri_chain *chain, uint64_t node, enum ri_direction direction)
{
	const struct ri_group_rule *rule = chain->rule;

	/* a head that is found as a node among others is a link like theirs */
	if (node == chain->head && !rule->is_headless)
		return node + (uint64_t)(direction == RI_FORWARD ? rule->head_first_offset
								 : rule->head_last_offset);
	return node + (uint64_t)(direction == RI_FORWARD ? rule->next_offset : rule->prev_offset);
}

static bool is_end(const struct ri_chain *chain, uint64_t value)
{
	return !value || (chain->rule->has_end_mark && value == chain->rule->end_mark);
}

bool ri_chain_read(const struct ri_chain *chain, uint64_t node, enum ri_direction direction,
		   uint64_t *ret_node, uint64_t *ret_value)
{
	uint64_t value;

	if (!ri_chain_has_word(chain, node, direction) ||
	    !ri_reader_u64(&chain->groups->finder->reader, ri_chain_word(chain, node, direction),
			   &value))
		return false;
	*ret_value = value;
	/* the head has one spelling in each direction, and the end mark; any other one is wrong */
	if (value == ri_chain_encode(chain, chain->head, direction) ||
	    (!is_circular(chain) && (direction == RI_FORWARD || !points_at_words(chain)) &&
	     is_end(chain, value))) {
		*ret_node = chain->head;
		return true;
	}
	value &= ~chain->rule->tag_mask;
	if (direction == RI_BACKWARD && points_at_words(chain) && value)
		value -= (uint64_t)chain->rule->next_offset;
	if (!is_circular(chain) && value == chain->head)
		value = 0;
	*ret_node = value;
	return true;
}

uint64_t ri_chain_encode(const struct ri_chain *chain, uint64_t node, enum ri_direction direction)
{
	if (direction == RI_BACKWARD && points_at_words(chain))
		return ri_chain_word(chain, node, RI_FORWARD);
	return node == chain->head && !is_circular(chain) ? 0 : node;
}
