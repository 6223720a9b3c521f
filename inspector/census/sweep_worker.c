/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the words of a source to edges: see sweep_worker.h.
 *
 * Most words fail the range test and cost no more than reading them.  The others
 * are queued; a full queue is resolved in three steps, each of which asks for the
 * memory that the next one reads (index record, entry, object), so that the
 * misses of a whole queue overlap.
 *
 * Pointers that are stored encoded are read where a shape says that they are, and
 * decoded; the word as it stands is none.
 *
 * In the module that carries malloc, words that point at a chunk header are the
 * allocator's: they equal the last 8 bytes of the block in front, and program data
 * there is unlikely to point at exactly those.
 */
#include "census/sweep_worker.h"

#include "census/variables.h"

/* What is known of the word at `addr` of module data. */
static const struct ri_slot *find_static_slot(const struct ri_sweep_plan *plan, uint64_t addr)
{
	const struct ri_variable_span *variable = ri_variables_find(plan->input, addr);

	if (!variable || variable->shape >= plan->input->shapes->shapes.count)
		return NULL;
	return ri_classify_slot(&plan->input->shapes->shapes.items[variable->shape],
				addr - variable->addr, true);
}

static bool is_chunk_header(const struct ri_sweep_plan *plan, const struct ri_hit *hit,
			    uint64_t value)
{
	return hit->block != RI_NONE &&
	       value == ri_extents_block_end(&plan->input->heap->blocks[hit->block]) - 8;
}

/* Whether the word leads to a block that is a table from some way on, and not to where that
 * begins, as what holds the table does: it was left from an earlier use of the block. */
static bool is_before_table(const struct ri_sweep_plan *plan, const struct ri_hit *hit,
			    uint64_t value)
{
	const struct ri_typed_block *typed;
	uint32_t index = plan->typed_block_of ? plan->typed_block_of[hit->block] : RI_NONE;

	if (index == RI_NONE)
		return false;
	typed = &plan->input->population->typed_blocks[index];
	return typed->lead_bytes &&
	       (value & ~7ull) < plan->input->heap->blocks[hit->block].addr + typed->lead_bytes;
}

static void resolve(struct ri_sweep_worker *w, const struct ri_sweep_candidate *c)
{
	const struct ri_sweep_plan *plan = w->plan;
	const struct ri_sweep_source *source = &w->sources[c->source];
	struct ri_word word = { .value = c->value,
				.object = source->object,
				.block = source->block,
				.flags = source->flags };
	struct ri_edge edges[RI_EXTENTS_DEPTH_MAX];
	const struct ri_link_span *span;
	struct ri_hit hit;
	unsigned n;

	if (!ri_extents_resolve(plan->extents, c->entry, c->value, &hit))
		return;
	if (source->has_allocator && is_chunk_header(plan, &hit, c->value))
		return;
	if (!source->is_registers && hit.object == RI_NONE && is_before_table(plan, &hit, c->value))
		return;
	if (c->addr < source->lead_end && !source->is_registers)
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
		word.slot = c->slot;
		if (source->is_module && !c->slot) {
			word.slot = find_static_slot(plan, c->addr);
			if (ri_encodings_find(plan->encodings, word.slot))
				return;
		}
		span = source->has_links ? ri_links_find(plan->input->links, c->addr) : NULL;
		word.is_link = span != NULL;
		word.is_inferred_link = span && span->is_inferred;
	}
	n = ri_classify(plan->classifier, &word, &hit, edges);
	for (unsigned i = 0; i < n; i++)
		*ri_push(&w->part->edges) = edges[i];
	if (w->counts_nodes)
		plan->counts[source->node + 1] += n;
}

void ri_sweep_worker_flush(struct ri_sweep_worker *w)
{
	const struct ri_extents *extents = w->plan->extents;
	const struct ri_population *population = w->plan->input->population;

	for (uint32_t i = 0; i < w->queue_count; i++) {
		struct ri_sweep_candidate *c = &w->queue[i];

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
			__builtin_prefetch(&population->objects[id]);
			if (extents->shares_block)
				__builtin_prefetch(&extents->shares_block[id / 64]);
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
static bool is_passed_over(const struct ri_sweep_source *source, const struct ri_slot *slot)
{
	return slot && (slot->kind == RI_SLOT_HEADER ||
			(slot->kind == RI_SLOT_LINK && source->is_member));
}

static void enqueue(struct ri_sweep_worker *w, uint64_t value, uint64_t addr,
		    const struct ri_slot *slot)
{
	struct ri_sweep_candidate *c;

	if (w->queue_count == RI_SWEEP_QUEUE_SIZE)
		ri_sweep_worker_flush(w);
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

void ri_sweep_worker_push(struct ri_sweep_worker *w, uint64_t value, uint64_t addr)
{
	const struct ri_slot *slot = NULL;

	if (w->source.shape)
		slot = ri_classify_slot(w->source.shape, addr - w->source.start,
					w->source.repeats);
	if (!is_passed_over(&w->source, slot) && !ri_encodings_find(w->plan->encodings, slot))
		enqueue(w, value, addr, slot);
}

void ri_sweep_worker_set_source(struct ri_sweep_worker *w, const struct ri_sweep_source *source)
{
	const struct ri_encodings *encodings = w->plan->encodings;

	w->source = *source;
	w->source.base = source->start & ~7ull;
	w->source.has_encoded =
		encodings && source->shape &&
		encodings->of_shape[source->shape - w->plan->input->shapes->shapes.items];
	w->is_queued = false;
}

/* `count` words at `p`, which stand at `addr` in the target. */
static void scan_words(struct ri_sweep_worker *w, const uint8_t *p, uint64_t addr, size_t count)
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
				ri_sweep_worker_push(w, word, addr + i * 8);
		}
	}
	w->part->bytes_searched += count * 8;
}

/* The first range that ends after `addr`: usually the last one used, or its neighbour. */
static size_t find_range(const struct ri_sweep_plan *plan, size_t hint, uint64_t addr)
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

/* The encoded words of [from, to) in something of the shape that begins at `base`. */
static void scan_encoded(struct ri_sweep_worker *w, const struct ri_shape *shape, uint64_t base,
			 bool repeats, uint64_t from, uint64_t to)
{
	const struct ri_sweep_plan *plan = w->plan;
	uint64_t step = shape->element_bytes;

	for (size_t i = 0; i < shape->slot_count && step; i++) {
		const struct ri_encoding *encoding =
			ri_encodings_find(plan->encodings, &shape->slots[i]);
		uint64_t addr = base + shape->slots[i].offset_bytes, word;

		if (encoding && repeats && addr < from)
			addr += (from - addr + step - 1) / step * step;
		for (; encoding && addr < to && to - addr >= 8; addr += step) {
			if (addr >= from && ri_image_read_u64(plan->input->target->image, addr,
							      &word)) {
				word = ri_encodings_decode(encoding, word);
				if (word - plan->low < plan->span)
					enqueue(w, word, addr, &shape->slots[i]);
			}
			if (!repeats)
				break;
		}
	}
}

/* The encoded words of variables in [from, to). */
static void scan_encoded_variables(struct ri_sweep_worker *w, uint64_t from, uint64_t to)
{
	const struct ri_census_input *input = w->plan->input;

	for (size_t i = ri_variables_first(input, from);
	     i < input->variable_count && input->variables[i].addr < to; i++) {
		const struct ri_variable_span *v = &input->variables[i];
		uint64_t end = v->addr + v->size_bytes;

		if (v->shape < w->plan->encodings->shape_count &&
		    w->plan->encodings->of_shape[v->shape])
			scan_encoded(w, &input->shapes->shapes.items[v->shape], v->addr, true,
				     from > v->addr ? from : v->addr, to < end ? to : end);
	}
}

/* The aligned words of [start, end) that the image has. */
void ri_sweep_worker_scan(struct ri_sweep_worker *w, uint64_t start, uint64_t end)
{
	const struct ri_sweep_plan *plan = w->plan;

	w->range = find_range(plan, w->range, start);
	for (size_t i = w->range; i < plan->range_count && plan->ranges[i].start < end; i++) {
		const struct ri_range *range = &plan->ranges[i];
		uint64_t from = ((start > range->start ? start : range->start) + 7) & ~7ull;
		uint64_t to = (end < range->end ? end : range->end) & ~7ull;

		w->range = i;
		if (range->bytes && from < to)
			scan_words(w, range->bytes + (from - range->start), from, (to - from) / 8);
	}
	if (w->source.has_encoded)
		scan_encoded(w, w->source.shape, w->source.start, w->source.repeats, start, end);
	else if (plan->encodings && w->source.is_module)
		scan_encoded_variables(w, start, end);
}
