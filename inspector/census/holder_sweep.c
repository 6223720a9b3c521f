/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sweep over memory: see holder_sweep.h.
 *
 * Sources are visited in the order of their node numbers (objects, blocks,
 * regions), so that the edges come out sorted by source; a word belongs to the
 * innermost object around it, else to its block, else to its region.  The
 * sources are cut into tasks of about equal work; a task's edges go to a part of
 * its own and depend on nothing that another task does.
 *
 * Most words fail the range test and cost no more than reading them.  The others
 * are queued; a full queue is resolved in three steps, each of which asks for the
 * memory that the next one reads (index record, entry, object), so that the
 * misses of a whole queue overlap.
 *
 * Free blocks and the allocator's records are never read.  In the module that
 * carries malloc, words that point at a chunk header are the allocator's: they
 * equal the last 8 bytes of the block in front, and program data there is
 * unlikely to point at exactly those.
 */
#include "census/holder_sweep.h"

#include <pthread.h>
#include <stdlib.h>

#include "census/sweep_tasks.h"
#include "census/variables.h"
#include "census/words.h"

#define QUEUE_SIZE 256

struct source {
	uint64_t base;           /* address of word 0, rounded down to 8 */
	uint64_t start, end;
	const struct ri_shape *shape;
	uint32_t node, object, block;
	uint32_t flags;          /* RI_EDGE_UNSURE, for all of its words */
	uint64_t spare_from;     /* words from there on are a vector's spare room: unsure, ... */
	bool is_spare_dead;      /* ... or known to hold nothing */
	bool repeats;            /* the shape is an array's element */
	bool is_registers;       /* candidate.addr is the word's index */
	bool is_module;          /* words may belong to static variables */
	bool has_allocator;
	bool is_member;          /* an object that some group chains */
	bool has_links;
};

struct candidate {
	uint64_t value, addr;
	const struct ri_slot *slot;
	uint32_t source, entry;
};

/* What all workers share; nothing in it changes while they run but `next_task`
 * and each node's own count. */
struct plan {
	const struct ri_census_input *input;
	const struct ri_classifier *classifier;
	const struct ri_extents *extents;
	const struct ri_region *regions;
	const struct ri_range *ranges;
	size_t range_count;
	const uint32_t *typed_block_of; /* per block: index into typed_blocks[], or RI_NONE */
	uint64_t low, span;
	ri_words_skip_function *skip;
	ri_sweep_task_list tasks;
	struct ri_holder_sweep_part *parts;
	uint64_t *counts;
	size_t next_task;
};

struct worker {
	struct plan *plan;
	struct ri_holder_sweep_part *part;
	bool counts_nodes;       /* the task has whole sources */
	size_t range;            /* where the last piece was */
	uint32_t next_object;    /* first object at or after the last block */
	struct source source;    /* the one being swept */
	bool is_queued;          /* it is the last of sources[] */
	struct source sources[QUEUE_SIZE];
	struct candidate queue[QUEUE_SIZE];
	uint32_t source_count, queue_count;
};

static uint64_t object_start(const struct plan *plan, uint32_t o)
{
	return ri_extents_object_start(plan->input->population,
				       &plan->input->population->objects[o]);
}

static uint64_t object_end(const struct plan *plan, uint32_t o)
{
	return ri_extents_object_end(plan->input->population,
				     &plan->input->population->objects[o]);
}

/* What is known of the word at `addr` of module data. */
static const struct ri_slot *find_static_slot(const struct plan *plan, uint64_t addr)
{
	const struct ri_variable_span *variable = ri_variables_find(plan->input, addr);

	if (!variable || variable->shape >= plan->input->shapes->shapes.count)
		return NULL;
	return ri_classify_slot(&plan->input->shapes->shapes.items[variable->shape],
				addr - variable->addr, true);
}

static bool is_chunk_header(const struct plan *plan, const struct ri_hit *hit, uint64_t value)
{
	return hit->block != RI_NONE &&
	       value == ri_extents_block_end(&plan->input->heap->blocks[hit->block]) - 8;
}

static void resolve(struct worker *w, const struct candidate *c)
{
	const struct plan *plan = w->plan;
	const struct source *source = &w->sources[c->source];
	struct ri_word word = { .value = c->value,
				.object = source->object,
				.block = source->block,
				.flags = source->flags };
	struct ri_edge edges[RI_EXTENTS_DEPTH_MAX];
	struct ri_hit hit;
	unsigned n;

	if (!ri_extents_resolve(plan->extents, c->entry, c->value, &hit))
		return;
	if (source->has_allocator && is_chunk_header(plan, &hit, c->value))
		return;
	if (source->spare_from && c->addr >= source->spare_from) {
		if (source->is_spare_dead)
			return;
		word.flags |= RI_EDGE_UNSURE;
	}
	w->part->words_hit++;
	word.index = (uint32_t)c->addr;
	if (!source->is_registers) {
		word.addr = c->addr;
		word.index = (uint32_t)((c->addr - source->base) / 8);
		word.slot = source->is_module ? find_static_slot(plan, c->addr) : c->slot;
		word.is_link = source->has_links && ri_links_has(plan->input->links, c->addr);
	}
	n = ri_classify(plan->classifier, &word, &hit, edges);
	for (unsigned i = 0; i < n; i++)
		*ri_push(&w->part->edges) = edges[i];
	if (w->counts_nodes)
		plan->counts[source->node + 1] += n;
}

static void flush(struct worker *w)
{
	const struct ri_extents *extents = w->plan->extents;
	const struct ri_population *population = w->plan->input->population;

	for (uint32_t i = 0; i < w->queue_count; i++) {
		struct candidate *c = &w->queue[i];

		c->entry = ri_extents_find_entry(extents, c->value);
		if (c->entry != RI_NONE)
			__builtin_prefetch(&extents->entries[c->entry]);
	}
	for (uint32_t i = 0; i < w->queue_count; i++) {
		uint32_t entry = w->queue[i].entry, id;

		if (entry == RI_NONE)
			continue;
		id = extents->entries[entry];
		if (id < population->object_count) {
			/* an object may lie across two cache lines */
			__builtin_prefetch(&population->objects[id]);
			__builtin_prefetch((const char *)(&population->objects[id] + 1) - 1);
		} else {
			__builtin_prefetch(
				&w->plan->input->heap->blocks[id - population->object_count]);
		}
	}
	for (uint32_t i = 0; i < w->queue_count; i++)
		if (w->queue[i].entry != RI_NONE)
			resolve(w, &w->queue[i]);
	w->queue_count = 0;
	w->source_count = 0;
	w->is_queued = false;
}

/* Words that hold nothing wherever they point: headers, and the links of members. */
static bool is_passed_over(const struct source *source, const struct ri_slot *slot)
{
	return slot && (slot->kind == RI_SLOT_HEADER ||
			(slot->kind == RI_SLOT_LINK && source->is_member));
}

static void push(struct worker *w, uint64_t value, uint64_t addr)
{
	const struct ri_slot *slot = NULL;
	struct candidate *c;

	if (w->source.shape)
		slot = ri_classify_slot(w->source.shape, addr - w->source.start,
					w->source.repeats);
	if (is_passed_over(&w->source, slot))
		return;
	if (w->queue_count == QUEUE_SIZE)
		flush(w);
	if (!w->is_queued) {
		w->source.has_links =
			w->plan->input->links && !w->source.is_registers &&
			ri_links_touches(w->plan->input->links, w->source.start, w->source.end);
		w->sources[w->source_count++] = w->source;
		w->is_queued = true;
	}
	c = &w->queue[w->queue_count++];
	c->value = value;
	c->addr = addr;
	c->slot = slot;
	c->source = w->source_count - 1;
	ri_span_index_prefetch(w->plan->extents->index, value);
}

static void set_source(struct worker *w, const struct source *source)
{
	w->source = *source;
	w->source.base = source->start & ~7ull;
	w->is_queued = false;
}

/* `count` words at `p`, which stand at `addr` in the target. */
static void scan_words(struct worker *w, const uint8_t *p, uint64_t addr, size_t count)
{
	uint64_t low = w->plan->low, span = w->plan->span;

	for (size_t i = 0; i < count;) {
		size_t end;

		if (count - i >= RI_WORDS_GROUP)
			i = w->plan->skip(p, i, count, low, span);
		end = count - i < RI_WORDS_GROUP ? count : i + RI_WORDS_GROUP;
		for (; i < end; i++) {
			uint64_t word = ri_words_load(p, i);

			if (word - low < span)
				push(w, word, addr + i * 8);
		}
	}
	w->part->bytes_searched += count * 8;
}

/* The first range that ends after `addr`: usually the last one used, or its neighbour. */
static size_t find_range(const struct plan *plan, size_t hint, uint64_t addr)
{
	size_t low = 0, high = plan->range_count;

	if (hint < plan->range_count && plan->ranges[hint].start <= addr &&
	    addr < plan->ranges[hint].end)
		return hint;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plan->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The aligned words of [start, end) that the image has. */
static void scan(struct worker *w, uint64_t start, uint64_t end)
{
	const struct plan *plan = w->plan;

	w->range = find_range(plan, w->range, start);
	for (size_t i = w->range; i < plan->range_count && plan->ranges[i].start < end; i++) {
		const struct ri_range *range = &plan->ranges[i];
		uint64_t from = ((start > range->start ? start : range->start) + 7) & ~7ull;
		uint64_t to = (end < range->end ? end : range->end) & ~7ull;

		w->range = i;
		if (range->bytes && from < to)
			scan_words(w, range->bytes + (from - range->start), from, (to - from) / 8);
	}
}

/* [start, end) without the spans that belong to the allocator's records. */
static void scan_unskipped(struct worker *w, uint64_t start, uint64_t end)
{
	const struct ri_census_input *input = w->plan->input;

	for (size_t i = 0; i < input->skipped_count; i++) {
		const struct ri_skipped_span *span = &input->skipped[i];

		if (span->end <= start || span->start >= end)
			continue;
		if (span->start > start)
			scan(w, start, span->start);
		start = span->end;
	}
	if (start < end)
		scan(w, start, end);
}

/*
 * The words of object `o` that belong to no object inside it.  Objects ascend by
 * start, those inside o follow it; one that begins inside o and ends behind it
 * (an overlap) ends o's own words.
 */
static void sweep_object(struct worker *w, uint32_t o)
{
	const struct plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_object *object = &population->objects[o];
	uint32_t shape = plan->input->shape_of_type[object->type];
	uint64_t at = object_start(plan, o), end = object_end(plan, o);
	struct source source = { .start = at, .end = end, .node = o, .object = o,
				 .block = RI_NONE };

	source.is_member = ri_classify_is_member(plan->classifier->is_member, o);
	if (object->block != RI_NONE) {
		const struct ri_block *block = &plan->input->heap->blocks[object->block];

		if (block->state == RI_BLOCK_FREE || block->state == RI_BLOCK_RECORD)
			return;
		if (block->state == RI_BLOCK_USED)
			source.block = object->block;
		else
			source.flags = RI_EDGE_UNSURE;
		if (at < block->addr)
			at = block->addr;
		if (end > ri_extents_block_end(block))
			end = ri_extents_block_end(block);
	}
	if (object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_SUSPECT))
		source.flags = RI_EDGE_UNSURE;
	if (shape < plan->input->shapes->shapes.count)
		source.shape = &plan->input->shapes->shapes.items[shape];
	set_source(w, &source);
	for (uint32_t next = o + 1; next < population->object_count && at < end;
	     next = plan->extents->subtree_end[next]) {
		uint64_t start = object_start(plan, next);

		if (start >= end)
			break;
		if (start > at)
			scan(w, at, start);
		at = object_end(plan, next) > at ? object_end(plan, next) : at;
	}
	if (at < end)
		scan(w, at, end);
}

/* The parts of [at, end) outside all objects; `o` is the first object at or after `at`.
 * Returns the first one at or after `end`. */
static uint32_t scan_outside(struct worker *w, uint64_t at, uint64_t end, uint32_t o,
			     void (*scan_part)(struct worker *w, uint64_t start, uint64_t end))
{
	const struct plan *plan = w->plan;
	size_t object_count = plan->input->population->object_count;

	while (o < object_count && object_start(plan, o) < end) {
		uint64_t start = object_start(plan, o), behind = object_end(plan, o);

		if (start > at)
			scan_part(w, at, start);
		at = behind > at ? behind : at;
		o = plan->extents->subtree_end[o];
	}
	if (at < end)
		scan_part(w, at, end);
	return o;
}

/* Where the outermost object around `at` ends; `at` if there is none. */
static uint64_t end_of_object_around(const struct plan *plan, uint64_t at)
{
	struct ri_hit hit;
	uint32_t o;

	if (!ri_extents_find(plan->extents, at, &hit) || hit.object == RI_NONE)
		return at;
	o = hit.object;
	for (unsigned i = 0; i < RI_EXTENTS_DEPTH_MAX; i++)
		if (plan->input->population->objects[o].parent != RI_NONE)
			o = plan->input->population->objects[o].parent;
	return object_end(plan, o) > at ? object_end(plan, o) : at;
}

static void set_block_source(struct worker *w, uint32_t b)
{
	const struct plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_block *block = &plan->input->heap->blocks[b];
	struct source source = { .start = block->addr,
				 .end = ri_extents_block_end(block),
				 .node = (uint32_t)population->object_count + b,
				 .object = RI_NONE,
				 .block = b };
	uint32_t typed = plan->typed_block_of ? plan->typed_block_of[b] : RI_NONE;

	if (typed != RI_NONE) {
		const struct ri_typed_block *t = &population->typed_blocks[typed];

		if (t->shape < plan->input->shapes->shapes.count)
			source.shape = &plan->input->shapes->shapes.items[t->shape];
		source.repeats = true;
		source.flags = t->is_exact ? 0 : RI_EDGE_UNSURE;
		if (t->spare_bytes)
			source.spare_from = source.end - t->spare_bytes;
		source.is_spare_dead = t->is_spare_dead;
	}
	set_source(w, &source);
}

static void sweep_blocks(struct worker *w, const struct ri_sweep_task *task)
{
	const struct ri_heap *heap = w->plan->input->heap;
	const struct ri_population *population = w->plan->input->population;
	uint32_t o = ri_extents_first_object(population, task->from < task->to
								 ? task->from
								 : heap->blocks[task->first].addr);

	for (uint32_t b = task->first; b < task->end; b++) {
		const struct ri_block *block = &heap->blocks[b];

		if (block->state != RI_BLOCK_USED)
			continue;
		set_block_source(w, b);
		if (task->from < task->to) {
			uint64_t at = end_of_object_around(w->plan, task->from);

			scan_outside(w, at, task->to, o, scan);
			continue;
		}
		while (o < population->object_count && object_start(w->plan, o) < block->addr)
			o++;
		o = scan_outside(w, block->addr, ri_extents_block_end(block), o, scan);
	}
}

static void sweep_registers(struct worker *w, const struct ri_region *region)
{
	const struct ri_thread *thread = &w->plan->input->target->threads[region->thread];
	size_t count = ri_regions_register_count(thread);

	for (size_t i = 0; i < count; i++) {
		uint64_t value = ri_regions_register(thread, i);

		if (value - w->plan->low < w->plan->span)
			push(w, value, i);
	}
}

static void sweep_region(struct worker *w, const struct ri_sweep_task *task)
{
	const struct plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_region *region = &plan->regions[task->first];
	const struct ri_regions_input *data = &plan->input->regions;
	struct source source = {
		.start = region->start,
		.end = region->end,
		.node = (uint32_t)(population->object_count + plan->input->heap->block_count +
				   task->first),
		.object = RI_NONE,
		.block = RI_NONE,
		.is_registers = region->kind == RI_REGION_REGISTERS,
		.is_module = region->kind == RI_REGION_MODULE,
	};

	for (size_t i = 0; i < data->data_count; i++)
		if (source.is_module && data->data[i].module == region->module)
			source.has_allocator |= data->data[i].has_allocator;
	set_source(w, &source);
	if (source.is_registers)
		sweep_registers(w, region);
	else
		scan_outside(w, end_of_object_around(plan, task->from), task->to,
			     ri_extents_first_object(population, task->from), scan_unskipped);
}

static void *work(void *data)
{
	struct worker *w = ri_calloc(1, sizeof(*w));
	struct plan *plan = data;
	size_t t;

	w->plan = plan;
	while ((t = __atomic_fetch_add(&plan->next_task, 1, __ATOMIC_RELAXED)) <
	       plan->tasks.count) {
		const struct ri_sweep_task *task = &plan->tasks.items[t];

		w->part = &plan->parts[t];
		w->counts_nodes = task->from == task->to;
		if (task->kind == RI_SWEEP_OBJECTS)
			for (uint32_t o = task->first; o < task->end; o++)
				sweep_object(w, o);
		else if (task->kind == RI_SWEEP_BLOCKS)
			sweep_blocks(w, task);
		else
			sweep_region(w, task);
		flush(w);
		w->part->edges.items = ri_realloc(w->part->edges.items, w->part->edges.count,
						  sizeof(*w->part->edges.items));
		w->part->edges.capacity = w->part->edges.count;
	}
	free(w);
	return NULL;
}

static void run_threads(struct plan *plan, unsigned thread_count)
{
	pthread_t *threads = ri_calloc(thread_count, sizeof(*threads));
	unsigned started = 0;

	/* A thread that cannot be started leaves its work to the others. */
	while (started + 1 < thread_count &&
	       !pthread_create(&threads[started], NULL, work, plan))
		started++;
	work(plan);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static uint32_t *map_typed_blocks(const struct ri_population *population, size_t block_count)
{
	uint32_t *map;

	if (!population->typed_block_count)
		return NULL;
	map = ri_malloc(block_count * sizeof(*map));
	for (size_t b = 0; b < block_count; b++)
		map[b] = RI_NONE;
	for (size_t i = 0; i < population->typed_block_count; i++)
		if (population->typed_blocks[i].block < block_count)
			map[population->typed_blocks[i].block] = (uint32_t)i;
	return map;
}

void ri_holder_sweep_run(struct ri_holder_sweep *sweep, const struct ri_census_input *input,
		  const struct ri_classifier *classifier, const struct ri_region *regions,
		  size_t region_count, uint64_t *ret_counts)
{
	uint32_t *typed = map_typed_blocks(input->population, input->heap->block_count);
	struct plan plan = { .input = input,
			     .classifier = classifier,
			     .extents = classifier->extents,
			     .regions = regions,
			     .typed_block_of = typed,
			     .low = classifier->extents->low,
			     .span = classifier->extents->high - classifier->extents->low,
			     .skip = ri_words_skipper(),
			     .counts = ret_counts };

	for (size_t r = 0; r < region_count; r++)
		if (regions[r].kind == RI_REGION_MODULE && input->variable_count)
			ri_variables_shape(input, plan.extents, regions[r].start, regions[r].end);
	plan.ranges = ri_image_ranges(input->target->image, &plan.range_count);
	ri_sweep_tasks_list(input, regions, region_count, &plan.tasks);
	plan.parts = ri_calloc(plan.tasks.count, sizeof(*plan.parts));
	if (plan.span)
		run_threads(&plan, input->thread_count);
	for (size_t t = 0; t < plan.tasks.count; t++) {
		const struct ri_sweep_task *task = &plan.tasks.items[t];
		size_t node = input->population->object_count + task->first;

		if (task->from == task->to)
			continue;
		if (task->kind == RI_SWEEP_REGION)
			node += input->heap->block_count;
		ret_counts[node + 1] += plan.parts[t].edges.count;
	}
	sweep->parts = plan.parts;
	sweep->part_count = plan.tasks.count;
	ri_vec_deinit(&plan.tasks);
	free(typed);
}

void ri_holder_sweep_part_deinit(struct ri_holder_sweep_part *part)
{
	ri_vec_deinit(&part->edges);
}

void ri_holder_sweep_deinit(struct ri_holder_sweep *sweep)
{
	for (size_t i = 0; i < sweep->part_count; i++)
		ri_holder_sweep_part_deinit(&sweep->parts[i]);
	free(sweep->parts);
	sweep->parts = NULL;
	sweep->part_count = 0;
}
