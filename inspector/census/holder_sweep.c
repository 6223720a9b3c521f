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
 * What is done with the words is in sweep_worker.c.  Free blocks and the allocator's
 * records are never read.
 */
#include "census/holder_sweep.h"

#include <pthread.h>
#include <stdlib.h>

#include "census/sweep_worker.h"
#include "census/variables.h"

#define SLACK_BYTES 24 /* fewer were added by an allocator */

static uint64_t object_start(const struct ri_sweep_plan *plan, uint32_t o)
{
	return ri_extents_object_start(plan->input->population,
				       &plan->input->population->objects[o]);
}

static uint64_t object_end(const struct ri_sweep_plan *plan, uint32_t o)
{
	return ri_extents_object_end(plan->input->population,
				     &plan->input->population->objects[o]);
}

/* A skipped span that starts at or before `addr`, none behind it; 0: the first one. */
static size_t first_skipped(const struct ri_census_input *input, uint64_t addr)
{
	size_t low = 0, high = input->skipped_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->skipped[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

/* [start, end) without the spans that hold nothing: the allocator's records, dead locals. */
static void scan_unskipped(struct ri_sweep_worker *w, uint64_t start, uint64_t end)
{
	const struct ri_census_input *input = w->plan->input;

	for (size_t i = first_skipped(input, start);
	     i < input->skipped_count && input->skipped[i].start < end; i++) {
		const struct ri_skipped_span *span = &input->skipped[i];

		if (span->end <= start)
			continue;
		if (span->start > start)
			ri_sweep_worker_scan(w, start, span->start);
		start = span->end;
	}
	if (start < end)
		ri_sweep_worker_scan(w, start, end);
}

/*
 * The words of object `o` that belong to no object inside it.  Objects ascend by
 * start, those inside o follow it; one that begins inside o and ends behind it
 * (an overlap) ends o's own words.
 */
static void sweep_object(struct ri_sweep_worker *w, uint32_t o)
{
	const struct ri_sweep_plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_object *object = &population->objects[o];
	uint32_t shape = plan->input->shape_of_type[object->type];
	uint64_t at = object_start(plan, o), end = object_end(plan, o);
	struct ri_sweep_source source = { .start = at, .end = end, .node = o, .object = o,
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
	if (object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS))
		source.flags = RI_EDGE_UNSURE;
	/* what may be something else altogether has no members to go by */
	if (shape < plan->input->shapes->shapes.count && !(object->state & RI_OBJECT_REMNANT) &&
	    !(ri_found_by_looks(object->found) && object->state & RI_OBJECT_COUNT_DEAD))
		source.shape = &plan->input->shapes->shapes.items[shape];
	ri_sweep_worker_set_source(w, &source);
	for (uint32_t next = o + 1; next < population->object_count && at < end;
	     next = plan->extents->subtree_end[next]) {
		uint64_t start = object_start(plan, next);

		if (start >= end)
			break;
		if (start > at)
			ri_sweep_worker_scan(w, at, start);
		at = object_end(plan, next) > at ? object_end(plan, next) : at;
	}
	if (at < end)
		ri_sweep_worker_scan(w, at, end);
}

/* The parts of [at, end) outside all objects; `o` is the first object at or after `at`.
 * Returns the first one at or after `end`. */
static uint32_t scan_outside(struct ri_sweep_worker *w, uint64_t at, uint64_t end, uint32_t o,
			     void (*scan_part)(struct ri_sweep_worker *w, uint64_t start, uint64_t end))
{
	const struct ri_sweep_plan *plan = w->plan;
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
static uint64_t end_of_object_around(const struct ri_sweep_plan *plan, uint64_t at)
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

static void set_block_source(struct ri_sweep_worker *w, uint32_t b)
{
	const struct ri_sweep_plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_block *block = &plan->input->heap->blocks[b];
	struct ri_sweep_source source = { .start = block->addr,
				 .end = ri_extents_block_end(block),
				 .node = (uint32_t)population->object_count + b,
				 .object = RI_NONE,
				 .block = b,
				 .is_module = plan->input->storage_blocks &&
					      ri_storage_blocks_has(plan->input->storage_blocks,
								    b) };
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
		source.lead_end = t->lead_bytes ? block->addr + t->lead_bytes : 0;
	}
	ri_sweep_worker_set_source(w, &source);
}

/* Whether all that the block has besides its object, which says itself how long it is, is
 * what the allocator added. */
static bool is_slack(const struct ri_sweep_plan *plan, uint32_t b)
{
	const struct ri_population *population = plan->input->population;
	const struct ri_layout *layout = plan->input->shapes->layout;
	uint32_t o = plan->extents->block_object[b];
	const struct ri_counted_type *type;

	if (o >= population->object_count || !population->extra_words)
		return false;
	type = &population->types[population->objects[o].type];
	return type->descriptor && !type->item_bytes &&
	       layout->conventions.items[type->convention].descriptor.meta.is_present &&
	       object_start(plan, o) == plan->input->heap->blocks[b].addr &&
	       ri_extents_block_end(&plan->input->heap->blocks[b]) - object_end(plan, o) <
		       SLACK_BYTES;
}

static void sweep_blocks(struct ri_sweep_worker *w, const struct ri_sweep_task *task)
{
	const struct ri_heap *heap = w->plan->input->heap;
	const struct ri_population *population = w->plan->input->population;
	uint32_t o = ri_extents_first_object(population, task->from < task->to
								 ? task->from
								 : heap->blocks[task->first].addr);

	for (uint32_t b = task->first; b < task->end; b++) {
		const struct ri_block *block = &heap->blocks[b];

		if (block->state != RI_BLOCK_USED || is_slack(w->plan, b))
			continue;
		set_block_source(w, b);
		if (task->from < task->to) {
			uint64_t at = end_of_object_around(w->plan, task->from);

			scan_outside(w, at, task->to, o, ri_sweep_worker_scan);
			continue;
		}
		while (o < population->object_count && object_start(w->plan, o) < block->addr)
			o++;
		o = scan_outside(w, block->addr, ri_extents_block_end(block), o, ri_sweep_worker_scan);
	}
}

static void sweep_registers(struct ri_sweep_worker *w, const struct ri_region *region)
{
	const struct ri_thread *thread = &w->plan->input->target->threads[region->thread];
	size_t count = ri_regions_register_count(thread);

	for (size_t i = 0; i < count; i++) {
		uint64_t value = ri_regions_register(thread, i);

		if (value - w->plan->low < w->plan->span)
			ri_sweep_worker_push(w, value, i);
	}
}

static void sweep_region(struct ri_sweep_worker *w, const struct ri_sweep_task *task)
{
	const struct ri_sweep_plan *plan = w->plan;
	const struct ri_population *population = plan->input->population;
	const struct ri_region *region = &plan->regions[task->first];
	const struct ri_regions_input *data = &plan->input->regions;
	struct ri_sweep_source source = {
		.start = region->start,
		.end = region->end,
		.node = (uint32_t)(population->object_count + plan->input->heap->block_count +
				   task->first),
		.object = RI_NONE,
		.block = RI_NONE,
		.is_registers = region->kind == RI_REGION_REGISTERS,
		.is_module = region->kind == RI_REGION_MODULE || region->kind == RI_REGION_TLS,
	};

	for (size_t i = 0; i < data->data_count; i++)
		if (source.is_module && data->data[i].module == region->module)
			source.has_allocator |= data->data[i].has_allocator;
	ri_sweep_worker_set_source(w, &source);
	if (source.is_registers)
		sweep_registers(w, region);
	else
		scan_outside(w, end_of_object_around(plan, task->from), task->to,
			     ri_extents_first_object(population, task->from), scan_unskipped);
}

static void *work(void *data)
{
	struct ri_sweep_worker *w = ri_calloc(1, sizeof(*w));
	struct ri_sweep_plan *plan = data;
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
		ri_sweep_worker_flush(w);
		w->part->edges.items = ri_realloc(w->part->edges.items, w->part->edges.count,
						  sizeof(*w->part->edges.items));
		w->part->edges.capacity = w->part->edges.count;
	}
	free(w);
	return NULL;
}

static void run_threads(struct ri_sweep_plan *plan, unsigned thread_count)
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
			 size_t region_count, uint32_t *ret_counts)
{
	uint32_t *typed = map_typed_blocks(input->population, input->heap->block_count);
	struct ri_encodings *encodings;
	struct ri_sweep_plan plan = {
		.input = input,
		.classifier = classifier,
		.extents = classifier->extents,
		.regions = regions,
		.typed_block_of = typed,
		.low = classifier->extents->low,
		.span = classifier->extents->high - classifier->extents->low,
		.skip = ri_words_skipper(),
		.counts = ret_counts,
	};

	for (size_t r = 0; r < region_count; r++)
		if (regions[r].kind == RI_REGION_MODULE && input->variable_count)
			ri_variables_shape(input, plan.extents, regions[r].start, regions[r].end);
	for (size_t i = 0; i < input->regions.tls_count && input->variable_count; i++)
		ri_variables_shape(input, plan.extents, input->regions.tls[i].start,
				   input->regions.tls[i].end);
	plan.encodings = encodings = ri_encodings_create(input->shapes);
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
		ret_counts[node + 1] += (uint32_t)plan.parts[t].edges.count;
	}
	sweep->parts = plan.parts;
	sweep->part_count = plan.tasks.count;
	ri_vec_deinit(&plan.tasks);
	ri_encodings_destroy(encodings);
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
