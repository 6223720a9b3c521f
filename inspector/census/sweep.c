/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sweep: objects and group heads that their magics show, in one pass over
 * writable memory; then the objects that only their descriptor shows.
 *
 * Knows which memory can hold objects: used heap blocks, module data and other
 * writable mappings.  Free blocks are full of stale objects and never searched;
 * neither are stacks, where a live thread's stack pointer tells the mapping.
 *
 * A heap is scanned straight through, and only a hit asks which block it lies
 * in, with a cursor that moves along: the cost is that of reading memory plus
 * some work per object.  A hit becomes an object if its type can be told and
 * its extent lies in its block.
 *
 * A damaged magic hides an object from that pass.  The second one asks each
 * used block without an object whether it holds a known descriptor's address
 * where the objects of that type, by the vote of the sound ones, have it.
 * Types whose objects do not start their blocks (pools, slabs) are left to
 * pointers and groups: there a stale word is as likely as an object.
 */
#include "census/finder.h"

#include <stdlib.h>

#include "census/words.h"
#include "debug/modules.h"

#define CHUNK_BYTES (64u << 10)
#define DEFAULT_ALIGNMENT 8
#define PROBES_MAX 64

/* One value to look for. */
struct pattern {
	bool is_group;
	uint32_t index;     /* of the convention, or of the group's rule */
	int64_t offset;     /* of the value from the header (or the head's struct) */
	unsigned size;      /* bytes: 4 or 8 are fast */
	uint64_t alignment; /* of the header */
	uint64_t value;
};

struct span {
	uint64_t start, end; /* [start, end) within one range */
	const uint8_t *bytes;
	bool is_heap;
};

/* A live magic whose descriptor pointer is damaged: what it belongs to is decided
 * when all types are known. */
struct undescribed {
	uint32_t convention, block;
	uint64_t header;
};

struct sweep {
	struct ri_finder *finder;
	RI_VEC(struct undescribed) undescribed;
	RI_VEC(struct pattern) patterns;
	RI_VEC(struct span) spans;
	ri_words_differ_function *skip;
	size_t block;       /* the first block that ends behind the last hit */
};

/*
 * Which values, in which memory
 */

static void add_patterns(struct sweep *sweep, const struct ri_magic_rule *magic, bool is_group,
			 uint32_t index, uint64_t alignment)
{
	for (size_t i = 0; i < magic->live_count; i++) {
		struct pattern *pattern = ri_push(&sweep->patterns);

		pattern->is_group = is_group;
		pattern->index = index;
		pattern->offset = magic->field.offset_bytes;
		pattern->size = magic->field.size_bytes;
		pattern->alignment = alignment ? alignment : DEFAULT_ALIGNMENT;
		pattern->value = magic->live[i];
	}
}

/* The alignment that the convention gives its headers, or less where one of its types is
 * known to have the header elsewhere: one of small members need not be at a multiple of 8. */
static uint64_t alignment_of(const struct ri_finder *finder, uint32_t convention)
{
	const struct ri_type_list *list = &finder->types_of[ri_finder_base(finder, convention)];
	uint64_t alignment = finder->layout->conventions.items[convention].alignment;

	if (!alignment)
		alignment = DEFAULT_ALIGNMENT;
	for (size_t i = 0; i < list->count; i++)
		while ((uint64_t)finder->types.items[list->types[i]].header_offset % alignment)
			alignment /= 2;
	return alignment;
}

static void list_patterns(struct sweep *sweep)
{
	const struct ri_layout *layout = sweep->finder->layout;

	for (size_t i = 0; i < layout->conventions.count; i++) {
		const struct ri_convention *c = &layout->conventions.items[i];
		size_t m = 0;

		while (m < c->magic_count &&
		       (c->magics[m].at_end || !c->magics[m].field.is_present))
			m++;
		if (m < c->magic_count && c->base == i)
			add_patterns(sweep, &c->magics[m], false, (uint32_t)i,
				     alignment_of(sweep->finder, (uint32_t)i));
	}
	for (size_t i = 0; i < layout->groups.count; i++)
		if (layout->groups.items[i].magic.field.is_present)
			add_patterns(sweep, &layout->groups.items[i].magic, true, (uint32_t)i,
				     DEFAULT_ALIGNMENT);
}

/* Whether a live thread's stack pointer lies in [start, end). */
static bool is_stack(const struct ri_target *target, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct ri_thread *thread = &target->threads[i];

		if (thread->has_registers && thread->registers[RI_REG_RSP] >= start &&
		    thread->registers[RI_REG_RSP] < end)
			return true;
	}
	return false;
}

static void add_span(struct sweep *sweep, const struct ri_range *range, uint64_t start,
		     uint64_t end, bool is_heap)
{
	struct span *span;

	if (start >= end || (!is_heap && is_stack(sweep->finder->target, start, end)))
		return;
	span = ri_push(&sweep->spans);
	span->start = start;
	span->end = end;
	span->bytes = range->bytes + (start - range->start);
	span->is_heap = is_heap;
}

/* Cuts the writable ranges at the heap regions' borders, both ascending. */
static void list_spans(struct sweep *sweep)
{
	const struct ri_heap *heap = sweep->finder->heap;
	size_t range_count, region = 0;
	const struct ri_range *ranges = ri_image_ranges(sweep->finder->image, &range_count);

	for (size_t i = 0; i < range_count; i++) {
		const struct ri_range *range = &ranges[i];
		uint64_t at = range->start;

		if (!range->bytes || !(range->flags & RI_RANGE_WRITE))
			continue;
		while (region < heap->region_count && heap->regions[region].end <= at)
			region++;
		for (size_t r = region; r < heap->region_count; r++) {
			const struct ri_heap_region *reg = &heap->regions[r];
			uint64_t end = reg->end < range->end ? reg->end : range->end;

			if (reg->start >= range->end)
				break;
			if (reg->start > at) {
				add_span(sweep, range, at, reg->start, false);
				at = reg->start;
			}
			add_span(sweep, range, at, end, reg->is_understood);
			at = end;
		}
		add_span(sweep, range, at, range->end, false);
	}
}

/*
 * Hits
 */

/* The block that contains `addr`; hits ascend but for a few bytes. */
static uint32_t block_of(struct sweep *sweep, uint64_t addr)
{
	const struct ri_heap *heap = sweep->finder->heap;
	size_t i = sweep->block;

	while (i && addr < heap->blocks[i - 1].addr + heap->blocks[i - 1].size_bytes)
		i--;
	while (i < heap->block_count && addr >= heap->blocks[i].addr + heap->blocks[i].size_bytes)
		i++;
	sweep->block = i;
	return i < heap->block_count && addr >= heap->blocks[i].addr ? (uint32_t)i : RI_NONE;
}

static bool may_hold_objects(const struct ri_finder *finder, uint32_t block)
{
	return block != RI_NONE && (finder->heap->blocks[block].state == RI_BLOCK_USED ||
				    finder->heap->blocks[block].state == RI_BLOCK_UNKNOWN);
}

static bool lies_in(const struct span *span, uint64_t start, uint64_t size)
{
	return start >= span->start && start <= span->end && size <= span->end - start;
}

static void take_object(struct sweep *sweep, const struct span *span,
			const struct pattern *pattern, uint64_t header)
{
	struct ri_finder *finder = sweep->finder;
	const struct ri_convention *c = &finder->layout->conventions.items[pattern->index];
	const struct ri_counted_type *t;
	uint32_t block = RI_NONE, type = RI_NONE, found = RI_FOUND_MAGIC;
	uint64_t addr;

	if (span->is_heap) {
		block = block_of(sweep, header);
		if (!may_hold_objects(finder, block))
			return;
	}
	if (c->descriptor.is_present)
		type = ri_descriptors_type(finder, pattern->index,
					   ri_finder_pointer(finder, header,
							     &c->descriptor.field));
	if (type != RI_NONE) {
		found |= RI_FOUND_DESCRIPTOR;
	} else if (!c->descriptor.is_present) {
		type = ri_finder_decide(finder, pattern->index, header, block);
	} else if (block != RI_NONE) {
		*ri_push(&sweep->undescribed) =
			(struct undescribed){ pattern->index, block, header };
	}
	if (type == RI_NONE)
		return;
	t = &finder->types.items[type];
	addr = header - (uint64_t)t->header_offset;
	if (block != RI_NONE ? !ri_finder_inside(finder, type, header, block)
			     : !lies_in(span, ri_type_start(t, addr), t->extent_bytes))
		return;
	ri_finder_append(finder, addr, type, block, found);
}

static void take_head(struct sweep *sweep, const struct span *span, const struct pattern *pattern,
		      uint64_t struct_addr)
{
	const struct ri_group_rule *rule = &sweep->finder->layout->groups.items[pattern->index];
	struct ri_head head = {
		.rule = pattern->index,
		.head = struct_addr + (uint64_t)rule->head_offset,
		.struct_addr = struct_addr,
		.is_certain = true,
	};

	if (span->is_heap && !may_hold_objects(sweep->finder, block_of(sweep, struct_addr)))
		return;
	ri_finder_add_head(sweep->finder, &head);
}

static void take_hit(struct sweep *sweep, const struct span *span, const struct pattern *pattern,
		     uint64_t at)
{
	uint64_t base = at - (uint64_t)pattern->offset;

	if (pattern->is_group)
		take_head(sweep, span, pattern, base);
	else
		take_object(sweep, span, pattern, base);
}

/*
 * Scanning: offsets of the next match in bytes[at .. end), or `end`
 */

static uint64_t next_u32(const uint8_t *bytes, uint64_t at, uint64_t end, uint64_t step,
			 uint32_t value)
{
	for (; at + sizeof(value) <= end; at += step) {
		uint32_t word;

		memcpy(&word, bytes + at, sizeof(word));
		if (word == value)
			return at;
	}
	return end;
}

static uint64_t next_u64(const uint8_t *bytes, uint64_t at, uint64_t end, uint64_t step,
			 uint64_t value)
{
	for (; at + sizeof(value) <= end; at += step) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		if (word == value)
			return at;
	}
	return end;
}

static uint64_t next_small(const uint8_t *bytes, uint64_t at, uint64_t end, uint64_t step,
			   uint64_t value, unsigned size)
{
	for (; at + size <= end; at += step) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, size);
		if (word == value)
			return at;
	}
	return end;
}

/* Values of 4 and 8 bytes that begin at multiples of 8 are passed over in groups. */
static uint64_t skip_groups(const struct sweep *sweep, const struct pattern *pattern,
			    const uint8_t *bytes, uint64_t at, uint64_t end)
{
	uint64_t mask = pattern->size == 8 ? UINT64_MAX : UINT32_MAX;

	if ((pattern->size != 4 && pattern->size != 8) || pattern->alignment != 8 || at > end)
		return at;
	return at + 8 * sweep->skip(bytes + at, 0, (end - at) / 8, pattern->value, mask);
}

static uint64_t next_match(const struct sweep *sweep, const struct pattern *pattern,
			   const uint8_t *bytes, uint64_t at, uint64_t end)
{
	at = skip_groups(sweep, pattern, bytes, at, end);
	if (pattern->size == 4)
		return next_u32(bytes, at, end, pattern->alignment, (uint32_t)pattern->value);
	if (pattern->size == 8)
		return next_u64(bytes, at, end, pattern->alignment, pattern->value);
	return next_small(bytes, at, end, pattern->alignment, pattern->value, pattern->size);
}

/* One pattern over one chunk [from, end) of a span, offsets from its start. */
static void scan(struct sweep *sweep, const struct span *span, const struct pattern *pattern,
		 uint64_t from, uint64_t end)
{
	uint64_t base = span->start + from - (uint64_t)pattern->offset;
	uint64_t ahead = (pattern->alignment - base % pattern->alignment) % pattern->alignment;
	uint64_t limit = end + pattern->size - 1; /* a value may begin in this chunk */
	uint64_t at = from + ahead;

	if (limit > span->end - span->start)
		limit = span->end - span->start;
	while ((at = next_match(sweep, pattern, span->bytes, at, limit)) < end) {
		take_hit(sweep, span, pattern, span->start + at);
		at += pattern->alignment;
	}
}

static void scan_spans(struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->spans.count; i++) {
		const struct span *span = &sweep->spans.items[i];
		uint64_t size = span->end - span->start;

		for (uint64_t from = 0; from < size; from += CHUNK_BYTES) {
			uint64_t end = size - from > CHUNK_BYTES ? from + CHUNK_BYTES : size;

			for (size_t p = 0; p < sweep->patterns.count; p++)
				scan(sweep, span, &sweep->patterns.items[p], from, end);
		}
	}
}

static void decide_undescribed(struct sweep *sweep)
{
	struct ri_finder *finder = sweep->finder;

	for (size_t i = 0; i < sweep->undescribed.count; i++) {
		const struct undescribed *u = &sweep->undescribed.items[i];
		uint32_t type = ri_finder_decide(finder, u->convention, u->header, u->block);

		if (type != RI_NONE)
			ri_finder_add(finder,
				      u->header -
					      (uint64_t)finder->types.items[type].header_offset,
				      type, RI_FOUND_MAGIC);
	}
	ri_vec_deinit(&sweep->undescribed);
}

/*
 * Objects that only their descriptor shows
 */

/* A place in blocks where types that start their blocks have their descriptor. */
struct probe {
	uint32_t convention;
	uint64_t offset; /* of the word in the block */
};

typedef RI_VEC(struct probe) probe_list;

static uint64_t probe_offset(const struct ri_finder *finder, const struct ri_counted_type *type)
{
	const struct ri_convention *c = &finder->layout->conventions.items[type->convention];

	return type->front_bytes + (uint64_t)type->header_offset +
	       (uint64_t)c->descriptor.field.offset_bytes;
}

static void add_probe(probe_list *probes, uint32_t convention, uint64_t offset)
{
	struct probe *probe;

	for (size_t i = 0; i < probes->count; i++)
		if (probes->items[i].convention == convention && probes->items[i].offset == offset)
			return;
	if (probes->count >= PROBES_MAX)
		return;
	probe = ri_push(probes);
	probe->convention = convention;
	probe->offset = offset;
}

/* The places of the types most of whose sound objects start their blocks. */
static void list_probes(const struct ri_finder *finder, probe_list *probes)
{
	uint32_t *total = ri_calloc(finder->types.count, sizeof(*total));
	uint32_t *at_start = ri_calloc(finder->types.count, sizeof(*at_start));

	for (size_t i = 0; i < finder->objects.count; i++) {
		const struct ri_object *object = &finder->objects.items[i];

		const struct ri_counted_type *type = &finder->types.items[object->type];

		/* those that describe themselves were looked for where they can be */
		if (object->block == RI_NONE ||
		    finder->layout->conventions.items[type->convention].descriptor.meta.is_present)
			continue;
		total[object->type]++;
		at_start[object->type] +=
			ri_type_start(&finder->types.items[object->type], object->addr) ==
			finder->heap->blocks[object->block].addr;
	}
	for (size_t i = 0; i < finder->types.count; i++)
		if (finder->types.items[i].descriptor && at_start[i] > total[i] / 2)
			add_probe(probes, ri_finder_base(finder, finder->types.items[i].convention),
				  probe_offset(finder, &finder->types.items[i]));
	free(total);
	free(at_start);
}

static void probe_block(struct ri_finder *finder, const probe_list *probes, uint32_t block,
			uint64_t low, uint64_t high)
{
	const struct ri_block *b = &finder->heap->blocks[block];

	for (size_t i = 0; i < probes->count; i++) {
		const struct probe *probe = &probes->items[i];
		const struct ri_counted_type *type;
		uint64_t word;
		uint32_t index;

		if (probe->offset + sizeof(word) > b->size_bytes ||
		    !ri_reader_u64(&finder->reader, b->addr + probe->offset, &word) ||
		    word < low || word > high)
			continue;
		index = ri_descriptors_known(finder, probe->convention, word);
		if (index == RI_NONE)
			continue;
		type = &finder->types.items[index];
		if (probe_offset(finder, type) != probe->offset ||
		    !ri_finder_fits(type->extent_bytes, b->size_bytes))
			continue;
		ri_finder_add(finder, b->addr + type->front_bytes, index, RI_FOUND_DESCRIPTOR);
		return;
	}
}

static void probe_blocks(struct ri_finder *finder)
{
	probe_list probes = { 0 };
	uint64_t low, high;

	ri_descriptors_bounds(finder, &low, &high);
	list_probes(finder, &probes);
	for (size_t i = 0; probes.count && i < finder->heap->block_count; i++)
		if (finder->heap->blocks[i].state == RI_BLOCK_USED && !finder->block_use[i])
			probe_block(finder, &probes, (uint32_t)i, low, high);
	ri_vec_deinit(&probes);
}

void ri_sweep(struct ri_finder *finder)
{
	struct sweep sweep = { .finder = finder, .skip = ri_words_differ_skipper() };

	list_patterns(&sweep);
	if (sweep.patterns.count) {
		list_spans(&sweep);
		scan_spans(&sweep);
	}
	ri_sweep_described(finder);
	ri_finder_index(finder);
	decide_undescribed(&sweep);
	probe_blocks(finder);
	ri_sweep_vtables(finder);
	ri_sweep_named(finder);
	ri_vec_deinit(&sweep.patterns);
	ri_vec_deinit(&sweep.spans);
}
