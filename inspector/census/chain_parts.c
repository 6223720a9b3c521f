/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What hangs on a chain, on a root, on any lost object, by type: see chains.h.  The
 * dominator tree is there; what hangs on a node follows it in order[].  The classes of the
 * holders between it and that tell through which fields.  Cost: linear in what hangs there
 * and its holders, but for sorting those.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "census/chains_private.h"
#include "census/graph_private.h"

uint32_t ri_chains_find(const struct ri_chains *chains, uint32_t node)
{
	size_t low = 0, high = chains->node_count;

	if (chains->index_of)
		return node < chains->index_count ? chains->index_of[node] : RI_NONE;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (chains->nodes[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < chains->node_count && chains->nodes[low] == node ? (uint32_t)low : RI_NONE;
}

uint32_t ri_chains_place(const struct ri_chains *chains, uint32_t node)
{
	uint32_t index = ri_chains_find(chains, node);

	return index == RI_NONE ? RI_NONE : chains->place[index];
}

/* A holder within a chain: type of what it holds, and class. */
typedef RI_VEC(uint64_t) holder_list;

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int compare_parts(const void *a, const void *b)
{
	const struct ri_chain_part *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->type > y->type) - (x->type < y->type);
}

static int compare_part_types(const void *a, const void *b)
{
	const struct ri_chain_part *x = a, *y = b;

	return (x->type > y->type) - (x->type < y->type);
}

static bool is_behind(const struct ri_chains *chains, size_t place)
{
	return chains->order[place] < chains->holders->object_count && !chains->is_own[place];
}

/* Every holder in order[from .. end) of an object behind the first of them. */
static void list_holders(const struct ri_chains *chains, size_t from, size_t end,
			 holder_list *list)
{
	const struct ri_holders *h = chains->holders;

	for (size_t p = from; p < end; p++) {
		uint32_t node = chains->order[p];

		for (uint64_t e = node == RI_NONE ? 0 : h->first[node];
		     node != RI_NONE && e < h->first[node + 1]; e++) {
			const struct ri_edge *edge = &h->edges[e];
			uint32_t place;

			if (edge->target >= h->object_count || edge->flags & RI_EDGE_EMBEDS ||
			    !ri_graph_passes(edge->flags, RI_REACH_ANY))
				continue;
			place = ri_chains_place(chains, edge->target);
			if (place > from && place < end && is_behind(chains, place))
				*ri_push(list) =
					(uint64_t)chains->population->objects[edge->target].type
						<< 32 |
					edge->class_index;
		}
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_u64);
}

/* Gives parts[0 .. count), ascending by type, their most frequent class. */
static void choose_classes(struct ri_chain_part *parts, size_t count, const holder_list *list)
{
	size_t part = 0;

	for (size_t i = 0, end; i < list->count; i = end) {
		uint32_t type = (uint32_t)(list->items[i] >> 32);

		for (end = i + 1; end < list->count && list->items[end] == list->items[i];)
			end++;
		while (part < count && parts[part].type < type)
			part++;
		if (part == count || parts[part].type != type)
			continue;
		parts[part].class_others += parts[part].class_index != RI_NONE;
		if (end - i > parts[part].class_count) {
			parts[part].class_count = end - i;
			parts[part].class_index = (uint32_t)list->items[i];
		}
	}
}

void ri_chains_sort_out(const struct ri_chains *chains, size_t from, size_t end,
		     ri_chain_part_list *parts)
{
	size_t before = parts->count;
	holder_list list = { 0 };

	for (size_t p = from + 1; p < end; p++) {
		struct ri_chain_part *part;
		uint32_t *index;

		if (!is_behind(chains, p))
			continue;
		index = &chains->part_of_type[chains->population->objects[chains->order[p]].type];
		if (*index == RI_NONE) {
			*index = (uint32_t)(parts->count - before);
			part = ri_push(parts);
			part->type = (uint32_t)(index - chains->part_of_type);
			part->class_index = RI_NONE;
		}
		part = &parts->items[before + *index];
		part->count++;
		part->bytes += chains->bytes[p];
	}
	if (parts->count == before)
		return;
	for (size_t i = before; i < parts->count; i++)
		chains->part_of_type[parts->items[i].type] = RI_NONE;
	qsort(parts->items + before, parts->count - before, sizeof(*parts->items),
	      compare_part_types);
	list_holders(chains, from, end, &list);
	choose_classes(parts->items + before, parts->count - before, &list);
	qsort(parts->items + before, parts->count - before, sizeof(*parts->items), compare_parts);
	ri_vec_deinit(&list);
}

/* order[*ret_place + 1 .. *ret_end) hangs on `node`; false: it is not lost. */
static bool find_range(const struct ri_chains *chains, uint32_t node, size_t *ret_place,
		       size_t *ret_end)
{
	uint32_t index = chains ? ri_chains_find(chains, node) : RI_NONE;

	if (index == RI_NONE || chains->place[index] == RI_NONE)
		return false;
	*ret_place = chains->place[index];
	*ret_end = *ret_place + chains->size[index];
	return true;
}

struct ri_hanging ri_chains_measure(const struct ri_chains *chains, uint32_t node)
{
	struct ri_hanging hanging = { 0 };
	size_t place, end;

	if (!find_range(chains, node, &place, &end))
		return hanging;
	for (size_t p = place + 1; p < end; p++) {
		if (chains->order[p] < chains->holders->object_count)
			hanging.object_count++;
		else if (chains->bytes[p])
			hanging.plain_count++;
		hanging.bytes += chains->bytes[p];
	}
	return hanging;
}

void ri_chains_list_parts(const struct ri_chains *chains, uint32_t node,
			  ri_chain_part_list *parts)
{
	size_t place, end;

	if (find_range(chains, node, &place, &end))
		ri_chains_sort_out(chains, place, end, parts);
}
