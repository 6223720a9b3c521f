/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The census' result from the sweep's edges: see holders.h.
 *
 * The sweep delivers the edges of words in source order.  Here they are named
 * where their place has no type, and put into one array together with the edges
 * that no word stands for: memberships, from what holds the group's head, and
 * embeddings.  Then the classes' worth is applied and the reverse index built by
 * a counting pass.  All of it is linear, but for one sort of the groups by source.
 *
 * A part of the sweep is freed as soon as it was copied, so that the edges exist
 * about once.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "census/classify.h"
#include "census/input.h"
#include "census/naming.h"
#include "census/holder_sweep.h"

#define PREFETCH_AHEAD 16
#define EDGES_FOR_THREAD (1u << 16) /* fewer are not worth starting one */
#define EDGES_MAX (UINT32_MAX - 1)

struct group_source {
	uint32_t node, group, class_index;
};

struct assembly {
	const struct ri_census_input *input;
	const struct ri_extents *extents;
	struct ri_holders *holders;
	struct ri_naming *naming;
	struct ri_holder_sweep sweep;
	size_t part, part_edge;  /* the next edge of a word */
	struct group_source *groups; /* ascending by node */
	size_t group_count, next_group;
	uint32_t embeds_class;   /* RI_NONE until there is one */
	uint32_t *storage_of_thread; /* its first storage block without an edge, or RI_NONE */
	uint32_t *next_storage;      /* per storage block: the thread's next one */
	uint64_t capacity;
};

/* The node of what `addr` lies in: innermost object, block, region; RI_NONE: nothing. */
static uint32_t node_of(const struct assembly *a, uint64_t addr)
{
	const struct ri_holders *h = a->holders;
	struct ri_hit hit;
	uint32_t block;

	if (ri_extents_find(a->extents, addr, &hit) && hit.object != RI_NONE)
		return hit.object;
	block = ri_extents_find_block(a->input->heap, addr);
	if (block != RI_NONE)
		return h->object_count + block;
	/* the last region, which lies nowhere, is left out */
	for (uint32_t low = 0, high = h->region_count - 1; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		const struct ri_region *region = &h->regions[middle];

		if (region->kind == RI_REGION_REGISTERS || addr < region->start)
			high = middle;
		else if (addr >= region->end)
			low = middle + 1;
		else
			return h->object_count + h->block_count + middle;
	}
	return RI_NONE;
}

static int compare_group_sources(const void *x, const void *y)
{
	const struct group_source *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* Where each group's memberships come from.  A head that lies in nothing that was
 * searched (missing memory, a dead stack) stands for a root: the last region. */
static void place_groups(struct assembly *a)
{
	const struct ri_population *population = a->input->population;
	uint32_t nowhere = a->holders->node_count - 1;

	a->groups = ri_calloc(population->group_count, sizeof(*a->groups));
	for (size_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];
		uint32_t node = group->object;

		if (!group->member_count)
			continue;
		if (node >= population->object_count)
			node = node_of(a, group->head);
		a->groups[a->group_count++] = (struct group_source){
			.node = node == RI_NONE ? nowhere : node,
			.group = (uint32_t)g,
			.class_index = ri_naming_group(a->naming, group),
		};
		a->capacity += group->member_count;
	}
	if (a->group_count)
		qsort(a->groups, a->group_count, sizeof(*a->groups), compare_group_sources);
}

static bool has_edges(const struct assembly *a, uint32_t node)
{
	size_t low = 0, high = a->group_count;

	if (a->holders->first[node + 1])
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->groups[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < a->group_count && a->groups[low].node == node;
}

/* Appends an edge; what 32 bits cannot number is left out. */
static void put_edge(struct ri_holders *h, struct ri_edge edge)
{
	if (h->edge_count < EDGES_MAX)
		h->edges[h->edge_count++] = edge;
	else
		h->edges_dropped++;
}

static void put(struct assembly *a, uint32_t target, uint32_t class_index, uint32_t flags)
{
	assert(a->holders->edge_count < a->capacity);
	put_edge(a->holders, (struct ri_edge){ .target = target, .class_index = class_index,
					       .word = RI_NONE, .flags = flags });
}

static void put_word_edges(struct assembly *a, uint32_t node, uint32_t count)
{
	while (count) {
		struct ri_holder_sweep_part *part = &a->sweep.parts[a->part];
		struct ri_edge edge;

		if (a->part_edge == part->edges.count) {
			ri_holder_sweep_part_deinit(part);
			a->part++;
			a->part_edge = 0;
			continue;
		}
		edge = part->edges.items[a->part_edge++];
		if (edge.class_index == RI_CLASS_PENDING)
			edge.class_index = ri_naming_word(a->naming, node, edge.word);
		put_edge(a->holders, edge);
		count--;
	}
}

#define MEMBERSHIPS_COMPARED 64 /* of one object; more are damage */

/* The address of the link's first word: links that point at the element itself all have
 * that for their node. */
static uint64_t link_of(const struct assembly *a, const struct ri_membership *m)
{
	const struct ri_layout *layout = a->input->shapes->layout;
	uint32_t rule = a->input->population->groups[m->group].rule;

	return m->node + (layout && rule < layout->groups.count
				  ? (uint64_t)layout->groups.items[rule].next_offset
				  : 0);
}

/* Whether the link of membership `m` is chained in another group too.  It is one link:
 * which of the two memberships is meant, and owns, cannot be told. */
static bool is_doubly_chained(const struct assembly *a, const struct ri_membership *m)
{
	const struct ri_population *population = a->input->population;
	const uint32_t *first = population->member_of_first;

	for (uint32_t i = first ? first[m->object] : 0, n = 0;
	     first && i < first[m->object + 1] && n < MEMBERSHIPS_COMPARED; i++, n++) {
		const struct ri_membership *other =
			&population->memberships[population->member_of[i]];

		if (link_of(a, other) == link_of(a, m) && other->group != m->group)
			return true;
	}
	return false;
}

static void put_memberships(struct assembly *a, uint32_t node)
{
	const struct ri_population *population = a->input->population;

	for (; a->next_group < a->group_count && a->groups[a->next_group].node == node;
	     a->next_group++) {
		const struct group_source *source = &a->groups[a->next_group];
		const struct ri_group *group = &population->groups[source->group];

		for (uint32_t i = 0; i < group->member_count; i++) {
			const struct ri_membership *m =
				&population->memberships[group->first_member + i];

			put(a, m->object, source->class_index,
			    RI_EDGE_MEMBERSHIP |
				    (is_doubly_chained(a, m) ? RI_EDGE_UNSURE : 0));
		}
	}
}

/* Both ways between an object and those inside it; to the rest of its block where
 * that holds anything. */
static void put_embeddings(struct assembly *a, uint32_t o)
{
	const struct ri_population *population = a->input->population;
	const struct ri_heap *heap = a->input->heap;
	const struct ri_object *object = &population->objects[o];
	uint32_t end = a->extents->subtree_end[o];

	if (object->parent < o)
		put(a, object->parent, a->embeds_class, RI_EDGE_EMBEDS);
	for (uint32_t next = o + 1; next < end; next = a->extents->subtree_end[next])
		if (population->objects[next].parent == o)
			put(a, next, a->embeds_class, RI_EDGE_EMBEDS);
	if (object->parent == RI_NONE && object->block < heap->block_count &&
	    heap->blocks[object->block].state == RI_BLOCK_USED &&
	    has_edges(a, a->holders->object_count + object->block))
		put(a, a->holders->object_count + object->block, a->embeds_class, RI_EDGE_EMBEDS);
}

/* From a region to the objects that are part of it: static ones, those on a stack.
 * One in a mapping of another kind was handed out by some allocator. */
static void put_region_objects(struct assembly *a, const struct ri_region *region)
{
	const struct ri_population *population = a->input->population;
	uint32_t o;

	if (region->kind != RI_REGION_MODULE && region->kind != RI_REGION_STACK &&
	    region->kind != RI_REGION_TLS)
		return;
	for (o = ri_extents_first_object(population, region->start);
	     o < population->object_count &&
	     ri_extents_object_start(population, &population->objects[o]) < region->end;
	     o = a->extents->subtree_end[o])
		if (population->objects[o].block == RI_NONE &&
		    population->objects[o].parent == RI_NONE)
			put(a, o, a->embeds_class, RI_EDGE_EMBEDS);
}

/* From a thread's storage to the blocks that more of it lies in: from the first region of
 * its own, or from its registers where it has none. */
static void put_storage_blocks(struct assembly *a, const struct ri_region *region)
{
	const ri_storage_block_list *list = a->input->storage_blocks;

	uint32_t i;

	if (!list || (region->kind != RI_REGION_TLS && region->kind != RI_REGION_REGISTERS))
		return;
	for (i = a->storage_of_thread[region->thread]; i != RI_NONE; i = a->next_storage[i])
		put(a, a->holders->object_count + list->items[i].block, a->embeds_class,
		    RI_EDGE_EMBEDS);
	a->storage_of_thread[region->thread] = RI_NONE;
}

static void chain_storage_blocks(struct assembly *a)
{
	const ri_storage_block_list *list = a->input->storage_blocks;
	size_t thread_count = a->input->target->thread_count;

	a->storage_of_thread = ri_malloc(thread_count * sizeof(*a->storage_of_thread));
	a->next_storage = ri_malloc(list->count * sizeof(*a->next_storage));
	for (size_t t = 0; t < thread_count; t++)
		a->storage_of_thread[t] = RI_NONE;
	for (size_t i = 0; i < list->count; i++) {
		a->next_storage[i] = a->storage_of_thread[list->items[i].thread];
		a->storage_of_thread[list->items[i].thread] = (uint32_t)i;
	}
}

/* How many embeddings there can be; makes their class if there are any. */
static void plan_embeddings(struct assembly *a)
{
	const struct ri_population *population = a->input->population;
	uint64_t count = 0;

	for (uint32_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];

		if (object->parent != RI_NONE)
			count += 2;
		else if (object->block == RI_NONE ||
			 has_edges(a, a->holders->object_count + object->block))
			count++;
	}
	if (a->input->storage_blocks) {
		count += a->input->storage_blocks->count;
		chain_storage_blocks(a);
	}
	a->embeds_class = count ? ri_naming_embedding(a->naming) : RI_NONE;
	a->capacity += count;
}

static void put_of_region(struct assembly *a, const struct ri_region *region)
{
	put_region_objects(a, region);
	put_storage_blocks(a, region);
}

/* Turns first[] from counts (of node n at n + 1) into positions on the way. */
static void assemble_edges(struct assembly *a)
{
	struct ri_holders *h = a->holders;

	for (size_t p = 0; p < a->sweep.part_count; p++) {
		a->capacity += a->sweep.parts[p].edges.count;
		h->bytes_searched += a->sweep.parts[p].bytes_searched;
		h->words_hit += a->sweep.parts[p].words_hit;
	}
	h->edges = ri_malloc((a->capacity < EDGES_MAX ? a->capacity : EDGES_MAX) *
			     sizeof(*h->edges));
	for (uint32_t node = 0; node < h->node_count; node++) {
		uint32_t count = h->first[node + 1];

		h->first[node] = (uint32_t)h->edge_count;
		put_word_edges(a, node, count);
		put_memberships(a, node);
		if (node < h->object_count)
			put_embeddings(a, node);
		else if (node >= h->object_count + h->block_count)
			put_of_region(a, &h->regions[node - h->object_count - h->block_count]);
	}
	h->first[h->node_count] = (uint32_t)h->edge_count;
	h->edges = ri_realloc(h->edges, h->edge_count, sizeof(*h->edges));
}

/* The target of an edge that is soon met, to fetch what it needs. */
static uint32_t target_ahead(const struct ri_holders *h, uint32_t e)
{
	return h->edge_count - e > PREFETCH_AHEAD ? h->edges[e + PREFETCH_AHEAD].target : RI_NONE;
}

/* The reverse index, by counting: first the number of edges of each object, one
 * place ahead, then their places. */
static void index_targets(struct ri_holders *h)
{
	uint32_t sum = 0;

	h->in_first = ri_calloc((size_t)h->object_count + 2, sizeof(*h->in_first));
	for (uint32_t e = 0; e < h->edge_count; e++) {
		uint32_t later = target_ahead(h, e);

		if (later < h->object_count)
			__builtin_prefetch(&h->in_first[later + 2], 1);
		if (h->edges[e].target < h->object_count)
			h->in_first[h->edges[e].target + 2]++;
	}
	for (uint32_t o = 0; o < h->object_count; o++) {
		sum += h->in_first[o + 2];
		h->in_first[o + 2] = sum;
	}
	h->in_edges = ri_calloc(sum, sizeof(*h->in_edges));
	for (uint32_t e = 0; e < h->edge_count; e++) {
		uint32_t later = target_ahead(h, e);

		if (later < h->object_count)
			__builtin_prefetch(&h->in_first[later + 1], 1);
		if (h->edges[e].target < h->object_count)
			h->in_edges[h->in_first[h->edges[e].target + 1]++] = e;
	}
}

static void add_saturated(uint32_t *sum, int64_t value)
{
	uint64_t total = *sum + (value > 0 ? (uint64_t)value : 0);

	*sum = total < UINT32_MAX ? (uint32_t)total : UINT32_MAX;
}

void ri_holders_weigh(struct ri_holders *h, const struct ri_shapes *shapes)
{
	for (uint32_t o = 0; o < h->object_count; o++)
		h->certain[o] = h->possible[o] = 0;
	for (uint32_t e = 0; e < h->edge_count; e++) {
		struct ri_edge *edge = &h->edges[e];
		const struct ri_holder_class *class = &shapes->classes.items[edge->class_index];
		bool is_doubtful = edge->flags & RI_EDGE_UNSURE ||
				   (edge->flags & RI_EDGE_UNTYPED && !class->is_declared);
		uint32_t later = target_ahead(h, e);

		if (later < h->object_count) {
			__builtin_prefetch(&h->certain[later], 1);
			__builtin_prefetch(&h->possible[later], 1);
		}
		edge->flags &= ~(uint32_t)(RI_EDGE_POSSIBLE | RI_EDGE_BORROWS);
		if (edge->flags & (RI_EDGE_LINK | RI_EDGE_EMBEDS))
			continue;
		if (edge->target >= h->object_count) {
			edge->flags |= is_doubtful ? RI_EDGE_POSSIBLE : 0;
			continue;
		}
		if (!class->is_possible && !class->weight) {
			edge->flags |= RI_EDGE_BORROWS;
		} else if (is_doubtful || class->is_possible) {
			edge->flags |= RI_EDGE_POSSIBLE;
			if (!class->count_index)
				add_saturated(&h->possible[edge->target], 1);
		} else if (!class->count_index) {
			add_saturated(&h->certain[edge->target], class->weight);
		}
	}
}

static void *index_in_thread(void *holders)
{
	index_targets(holders);
	return NULL;
}

/* The worth of the edges and the reverse index: the one writes flags and reads targets, the
 * other reads targets alone, so that both can be done at once. */
static void weigh_and_index(struct ri_holders *h, const struct ri_census_input *input)
{
	bool is_started = false;
	pthread_t thread;

	if (input->thread_count > 1 && h->edge_count >= EDGES_FOR_THREAD)
		is_started = !pthread_create(&thread, NULL, index_in_thread, h);
	ri_holders_weigh(h, input->shapes);
	if (is_started)
		pthread_join(thread, NULL);
	else
		index_targets(h);
}

static void count_unsearched(struct ri_holders *h, const struct ri_census_input *input,
			     struct ri_gaps *gaps)
{
	size_t range_count, registerless = 0;
	const struct ri_range *ranges = ri_image_ranges(input->target->image, &range_count);

	for (size_t b = 0; b < input->heap->block_count; b++) {
		const struct ri_block *block = &input->heap->blocks[b];

		if (block->state == RI_BLOCK_FREE)
			h->bytes_skipped_free += block->size_bytes;
		else if (block->state == RI_BLOCK_UNKNOWN)
			h->bytes_skipped_unknown += block->size_bytes;
	}
	for (size_t i = 0; i < range_count; i++) {
		if (ranges[i].kind == RI_RANGE_MISSING)
			h->bytes_missing += ranges[i].end - ranges[i].start;
		else if (ranges[i].kind == RI_RANGE_UNTOUCHED)
			h->bytes_untouched += ranges[i].end - ranges[i].start;
	}
	for (size_t i = 0; i < input->target->thread_count; i++)
		registerless += !input->target->threads[i].has_registers;
	if (h->edges_dropped)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "census",
			    "%llu holders beyond the first %u were not counted",
			    (unsigned long long)h->edges_dropped, EDGES_MAX);
	if (h->bytes_skipped_unknown)
		ri_gaps_add(gaps, RI_GAP_TOLD, "census",
			    "%llu bytes of damaged heap were not searched for holders",
			    (unsigned long long)h->bytes_skipped_unknown);
	if (registerless)
		ri_gaps_add(gaps, RI_GAP_MATTERS, "census",
			    "%zu threads without registers: what they hold was not counted",
			    registerless);
}

static uint64_t *mark_members(const struct ri_population *population)
{
	uint64_t *is_member = ri_calloc(population->object_count / 64 + 1, sizeof(*is_member));

	for (size_t m = 0; m < population->membership_count; m++) {
		uint32_t o = population->memberships[m].object;

		if (o < population->object_count)
			is_member[o / 64] |= 1ull << o % 64;
	}
	return is_member;
}

/* The regions, and one behind them for heads that lie nowhere. */
static void list_regions(struct ri_holders *h, const struct ri_census_input *input)
{
	ri_region_list list = { 0 };
	struct ri_region *nowhere;

	ri_regions_list(&input->regions, &list);
	nowhere = ri_push(&list);
	nowhere->kind = RI_REGION_MAPPING;
	nowhere->thread = nowhere->module = RI_NONE;
	nowhere->name = ri_strdup("memory that was not searched");
	h->regions = list.items;
	h->region_count = (uint32_t)list.count;
}

struct ri_holders *ri_holders_run(const struct ri_census_input *input, struct ri_gaps *gaps)
{
	struct ri_holders *h = ri_calloc(1, sizeof(*h));
	uint64_t *is_member = mark_members(input->population);
	struct ri_extents *extents = ri_extents_create(input->population, input->heap);
	const struct ri_classifier classifier = { extents, input->shapes, is_member };
	struct assembly a = { .input = input, .extents = extents, .holders = h };

	h->object_count = (uint32_t)input->population->object_count;
	h->block_count = (uint32_t)input->heap->block_count;
	list_regions(h, input);
	h->node_count = h->object_count + h->block_count + h->region_count;
	h->first = ri_calloc((size_t)h->node_count + 1, sizeof(*h->first));
	ri_holder_sweep_run(&a.sweep, input, &classifier, h->regions, h->region_count, h->first);
	a.naming = ri_naming_create(input, extents, h);
	place_groups(&a);
	plan_embeddings(&a);
	assemble_edges(&a);
	ri_holder_sweep_deinit(&a.sweep);
	ri_naming_destroy(a.naming);
	free(a.groups);
	free(a.storage_of_thread);
	free(a.next_storage);
	ri_extents_destroy(extents);
	free(is_member);
	h->certain = ri_calloc(h->object_count, sizeof(*h->certain));
	h->possible = ri_calloc(h->object_count, sizeof(*h->possible));
	weigh_and_index(h, input);
	count_unsearched(h, input, gaps);
	return h;
}

void ri_holders_destroy(struct ri_holders *holders)
{
	if (!holders)
		return;
	for (uint32_t r = 0; r < holders->region_count; r++)
		free((char *)holders->regions[r].name);
	free(holders->regions);
	free(holders->edges);
	free(holders->first);
	free(holders->in_first);
	free(holders->in_edges);
	free(holders->certain);
	free(holders->possible);
	free(holders);
}

uint32_t ri_holders_source(const struct ri_holders *holders, uint64_t edge)
{
	uint32_t low = 0, high = holders->node_count;

	/* The last node whose edges begin at or before `edge`. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (holders->first[middle] <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t ri_holders_word_addr(const struct ri_holders *holders,
			      const struct ri_population *population, const struct ri_heap *heap,
			      uint64_t edge)
{
	uint32_t word = holders->edges[edge].word, node = ri_holders_source(holders, edge);
	uint64_t start;

	if (word == RI_NONE)
		return 0;
	if (node < holders->object_count) {
		start = ri_extents_object_start(population, &population->objects[node]);
	} else if (node < holders->object_count + holders->block_count) {
		start = heap->blocks[node - holders->object_count].addr;
	} else {
		const struct ri_region *region =
			&holders->regions[node - holders->object_count - holders->block_count];

		if (region->kind == RI_REGION_REGISTERS)
			return 0;
		start = region->start;
	}
	return (start & ~7ull) + word * 8ull;
}
