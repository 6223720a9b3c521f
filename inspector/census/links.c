/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Link words by address: see links.h.
 *
 * Shapes mark the link words inside counted types and typed structs.  What is
 * left are heads in memory without types, the slots of arrays and buckets of
 * hashes, and external nodes: their places follow from the group's rule and
 * from where its head and its nodes lie.  Cost: a span per group, and one per
 * membership of groups with external nodes; a sort; questions by binary search.
 */
#include "census/links.h"

#include <stdlib.h>

#include "base/memory.h"
#include "profile/infer_groups.h"

struct span_list {
	struct ri_link_span *items;
	size_t count, capacity;
};

static void add_offset(struct ri_link_span *span, int64_t offset)
{
	if (offset < 0 || offset > UINT16_MAX - 8 || span->offset_count == RI_LINK_WORDS_MAX)
		return;
	span->offsets[span->offset_count++] = (uint16_t)offset;
}

/* Ends the span behind its last word, `repeats` strides long. */
static void add_span(struct span_list *list, struct ri_link_span *span, uint64_t repeats)
{
	uint64_t last = 0;

	if (!span->offset_count || !repeats)
		return;
	for (unsigned i = 0; i < span->offset_count; i++)
		if (span->offsets[i] > last)
			last = span->offsets[i];
	if (!span->stride)
		span->stride = (uint32_t)last + 8;
	span->end = span->start + (repeats - 1) * span->stride + last + 8;
	if (span->end < span->start)
		return;
	*ri_push(list) = *span;
}

/* The words of one head that lies at `head`. */
static void add_head(struct span_list *list, const struct ri_group_rule *rule, uint64_t head,
		     uint32_t stride, uint64_t repeats)
{
	struct ri_link_span span = { .start = head, .stride = stride,
				     .is_inferred = ri_group_is_inferred(rule) };

	add_offset(&span, rule->head_first_offset);
	add_offset(&span, rule->head_last_offset);
	add_span(list, &span, repeats);
}

static void add_slots(struct span_list *list, const struct ri_group *group,
		      const struct ri_group_rule *rule)
{
	struct ri_link_span span = { .start = group->slots,
				     .is_inferred = ri_group_is_inferred(rule) };

	if (!rule->slot_bytes || rule->slot_bytes > UINT32_MAX)
		return;
	if (rule->kind == RI_LINK_HASH) {
		add_head(list, rule, group->slots, (uint32_t)rule->slot_bytes, group->slot_count);
		return;
	}
	span.stride = (uint32_t)rule->slot_bytes;
	add_offset(&span, 0);
	add_span(list, &span, group->slot_count);
}

static void add_nodes(struct span_list *list, const struct ri_population *population,
		      const struct ri_group *group, const struct ri_group_rule *rule)
{
	for (uint32_t i = 0; i < group->member_count; i++) {
		const struct ri_membership *m =
			&population->memberships[group->first_member + i];
		struct ri_link_span span = { .start = m->node,
					     .is_inferred = ri_group_is_inferred(rule) };

		if (rule->next_offset >= 0)
			add_offset(&span, rule->link_offset + rule->next_offset);
		if (rule->prev_offset >= 0)
			add_offset(&span, rule->link_offset + rule->prev_offset);
		add_offset(&span, rule->payload_offset);
		add_span(list, &span, 1);
	}
}

static int compare_spans(const void *a, const void *b)
{
	const struct ri_link_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Two groups may claim the same place in a damaged image: the first one keeps it. */
static void drop_overlaps(struct span_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		if (!n || list->items[i].start >= list->items[n - 1].end)
			list->items[n++] = list->items[i];
	list->count = n;
}

struct ri_links *ri_links_create(const struct ri_population *population,
				 const struct ri_layout *layout)
{
	struct ri_links *links = ri_calloc(1, sizeof(*links));
	struct span_list list = { 0 };

	for (size_t g = 0; layout && g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		const struct ri_group_rule *rule;

		if (group->rule >= layout->groups.count)
			continue;
		rule = &layout->groups.items[group->rule];
		if (rule->kind == RI_LINK_ARRAY || rule->kind == RI_LINK_HASH)
			add_slots(&list, group, rule);
		else if (!rule->is_headless)
			add_head(&list, rule, group->head, 0, 1);
		if (rule->node_bytes)
			add_nodes(&list, population, group, rule);
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_spans);
	drop_overlaps(&list);
	links->spans = list.items;
	links->count = list.count;
	return links;
}

void ri_links_destroy(struct ri_links *links)
{
	if (!links)
		return;
	free(links->spans);
	free(links);
}

/* The last span that starts before `addr`, or null. */
static const struct ri_link_span *find_before(const struct ri_links *links, uint64_t addr)
{
	size_t low = 0, high = links->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (links->spans[middle].start < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &links->spans[low - 1] : NULL;
}

bool ri_links_touches(const struct ri_links *links, uint64_t start, uint64_t end)
{
	const struct ri_link_span *span = find_before(links, end);

	return span && span->end > start;
}

const struct ri_link_span *ri_links_find(const struct ri_links *links, uint64_t addr)
{
	const struct ri_link_span *span = find_before(links, addr + 1);
	uint64_t offset;

	if (!span || addr >= span->end)
		return NULL;
	offset = (addr - span->start) % span->stride;
	for (unsigned i = 0; i < span->offset_count; i++)
		if (span->offsets[i] == offset)
			return span;
	return NULL;
}
