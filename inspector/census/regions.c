/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which memory outside heaps is searched, and as what: see regions.h.
 *
 * Every range of the image that has bytes is cut along five lists: heap
 * regions that were understood (searched block by block, so no region), thread-local
 * storage, stacks, data of modules, modules.  What is left is a mapping.
 *
 * A live thread's stack is [SP - 128, top): the red zone belongs to it.  Below
 * lies what returned functions left, which holds nothing; but only where that
 * is evident, i.e. in the stack that the kernel made (called "[stack]" in a live
 * process; in a core, the range with what the auxiliary vector points at) or where
 * the thread's control block says that the memory is its stack.  A stack that lies in a mapping of another
 * kind (a coroutine's, an alternate one) has its dead part searched as the mapping
 * that it is.  The stack of an ended thread is not searched.  Nor is code that
 * comes from an ELF file.
 *
 * Blind spot: the stack of a thread without registers is searched as a mapping.
 */
#include "census/regions.h"

#include <stdlib.h>
#include <string.h>

#include "census/stacks.h"

#define RED_ZONE_BYTES 128
/* Longer regions are cut: a word's index must fit 32 bits. */
#define REGION_MAX_BYTES (16ull << 30)

struct span {
	uint64_t start, end;
	uint32_t kind;           /* enum ri_region_kind, or SPAN_SKIPPED */
	uint32_t thread, module;
	const char *name;
};

#define SPAN_SKIPPED UINT32_MAX

typedef RI_VEC(struct span) span_list;

enum { LIST_HEAP, LIST_TLS, LIST_STACK, LIST_DATA, LIST_MODULE, LIST_COUNT };

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void add_heap_spans(const struct ri_heap *heap, span_list *list)
{
	for (size_t i = 0; i < heap->region_count; i++) {
		const struct ri_heap_region *region = &heap->regions[i];

		if (!region->is_understood || region->start >= region->end)
			continue;
		*ri_push(list) = (struct span){ region->start, region->end, SPAN_SKIPPED, RI_NONE,
						RI_NONE, NULL };
	}
}

static bool lies_in_data(const struct ri_regions_input *input, uint64_t addr)
{
	size_t low = 0, high = input->data_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->data[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < input->data_count && input->data[low].start <= addr;
}

static const struct ri_stack *find_stack(const ri_stack_list *stacks, uint32_t thread, uint64_t sp)
{
	size_t low = 0, high = stacks->count;
	const struct ri_stack *stack;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stacks->items[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	stack = low < stacks->count ? &stacks->items[low] : NULL;
	return stack && stack->thread == thread && sp >= stack->start && sp < stack->end ? stack
										      : NULL;
}

static bool is_stack_range(const struct ri_range *range)
{
	return range->bytes && range->flags & RI_RANGE_WRITE && !(range->flags & RI_RANGE_SHARED);
}

/*
 * Whether `sp` lies in the stack that the kernel gave the process, which begins at the
 * top with what AT_RANDOM and AT_EXECFN point at; no core file names it.  Its bounds:
 * a core may hold it in several ranges, one behind the other.
 */
static bool find_kernel_stack(const struct ri_target *target, uint64_t sp, uint64_t *ret_start,
			      uint64_t *ret_end)
{
	uint64_t top = target->auxv_random ? target->auxv_random : target->auxv_execfn;
	size_t count, i = 0, first;
	const struct ri_range *ranges = ri_image_ranges(target->image, &count);

	while (i < count && ranges[i].end <= sp)
		i++;
	if (!top || i == count || ranges[i].start > sp || !is_stack_range(&ranges[i]))
		return false;
	for (first = i; first && ranges[first - 1].end == ranges[first].start &&
			is_stack_range(&ranges[first - 1]);)
		first--;
	while (i + 1 < count && ranges[i].end == ranges[i + 1].start &&
	       is_stack_range(&ranges[i + 1]))
		i++;
	*ret_start = ranges[first].start;
	*ret_end = ranges[i].end;
	return top >= sp && top < *ret_end;
}

/*
 * Bounds of the stack that `sp` points into: as its control block tells them, else
 * those of the mapping.  *ret_is_known: all of it is the stack's.
 */
static bool find_bounds(const struct ri_target *target, const struct ri_stack *stack, uint64_t sp,
			uint64_t *ret_start, uint64_t *ret_end, bool *ret_is_known)
{
	const struct ri_mapping *mapping = ri_target_find_mapping(target, sp);
	const struct ri_range *range = ri_image_find(target->image, sp);

	if (stack) {
		*ret_start = stack->start;
		*ret_end = stack->end;
		*ret_is_known = true;
		return true;
	}
	if (!mapping && !range)
		return false;
	if (!(mapping && mapping->path) && find_kernel_stack(target, sp, ret_start, ret_end)) {
		*ret_is_known = true;
		return true;
	}
	*ret_start = mapping ? mapping->start : range->start;
	*ret_end = mapping ? mapping->end : range->end;
	*ret_is_known =
		mapping && mapping->path && !strncmp(mapping->path, "[stack", strlen("[stack"));
	return true;
}

/* Adds [SP - 128, top), and in front of it the dead part where that is evident. */
static void add_stack(const struct ri_regions_input *input, const ri_stack_list *stacks,
		      uint32_t thread, span_list *list)
{
	const struct ri_thread *t = &input->target->threads[thread];
	uint64_t sp = t->registers[RI_REG_RSP], start, end, live;
	bool is_known;

	if (!t->has_registers || lies_in_data(input, sp) ||
	    !find_bounds(input->target, find_stack(stacks, thread, sp), sp, &start, &end,
			 &is_known))
		return;
	live = sp - start > RED_ZONE_BYTES ? (sp - RED_ZONE_BYTES) & ~7ull : start;
	if (live > start && is_known)
		*ri_push(list) = (struct span){ start, live, SPAN_SKIPPED, thread, RI_NONE, NULL };
	*ri_push(list) = (struct span){ live, end, RI_REGION_STACK, thread, RI_NONE, NULL };
}

/* All of it but the first words of the control block, by which the thread library
 * still holds the thread's vector of TLS blocks. */
static void add_ended_stack(const struct ri_stack *stack, span_list *list)
{
	uint64_t behind = stack->control_block + RI_STACK_HEADER_BYTES;

	*ri_push(list) = (struct span){ stack->start, stack->control_block, RI_REGION_ENDED_STACK,
					RI_NONE, RI_NONE, NULL };
	if (behind < stack->end)
		*ri_push(list) = (struct span){ behind, stack->end, RI_REGION_ENDED_STACK, RI_NONE,
						RI_NONE, NULL };
}

static void add_stacks(const struct ri_regions_input *input, span_list *list)
{
	ri_stack_list stacks = { 0 };

	ri_stacks_find(input->target, input->heap, &stacks);
	for (size_t i = 0; i < input->target->thread_count; i++)
		add_stack(input, &stacks, (uint32_t)i, list);
	for (size_t i = 0; i < stacks.count; i++)
		if (stacks.items[i].thread == RI_NONE)
			add_ended_stack(&stacks.items[i], list);
	ri_vec_deinit(&stacks);
}

/*
 * Sorts, and ends each span where the next one begins.  In a mapping with
 * several stacks only the lowest one's dead part is known to be dead: the part
 * below the others may be the living stack of a thread further down.
 */
static void flatten_stacks(span_list *list)
{
	size_t n = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_spans);
	for (size_t i = 0; i < list->count; i++) {
		struct span span = list->items[i];

		if (n && list->items[n - 1].end > span.start) {
			if (span.kind == SPAN_SKIPPED)
				continue;
			list->items[n - 1].end = span.start;
			if (list->items[n - 1].end <= list->items[n - 1].start)
				n--;
		}
		list->items[n++] = span;
	}
	list->count = n;
}

static void add_tls_spans(const struct ri_regions_input *input, span_list *list)
{
	for (size_t i = 0; i < input->tls_count; i++) {
		const struct ri_tls_block *block = &input->tls[i];

		*ri_push(list) = (struct span){ block->start, block->end, RI_REGION_TLS,
						block->thread, block->module, NULL };
	}
}

static void add_module_spans(const struct ri_regions_input *input, span_list *data,
			     span_list *modules)
{
	for (size_t i = 0; i < input->data_count; i++) {
		const struct ri_data_range *range = &input->data[i];

		if (range->start < range->end)
			*ri_push(data) = (struct span){ range->start, range->end, RI_REGION_MODULE,
							RI_NONE, range->module, NULL };
	}
	for (size_t i = 0; i < input->module_count; i++) {
		const struct ri_module_span *module = &input->modules[i];

		if (module->start < module->end &&
		    (!modules->count || module->start >= modules->items[modules->count - 1].end))
			*ri_push(modules) = (struct span){ module->start, module->end,
							   RI_REGION_MODULE, RI_NONE,
							   module->module, module->name };
	}
}

static char *region_name(const struct ri_regions_input *input, const struct span *owner,
			 uint64_t addr)
{
	const struct ri_mapping *mapping;

	if (owner && owner->kind == RI_REGION_STACK)
		return ri_format("stack of thread %d",
				 (int)input->target->threads[owner->thread].tid);
	if (owner && owner->kind == RI_REGION_TLS)
		return ri_format("thread-local storage of thread %d",
				 (int)input->target->threads[owner->thread].tid);
	if (owner && owner->kind == RI_REGION_ENDED_STACK)
		return ri_strdup("stack of an ended thread");
	if (owner && owner->kind == RI_REGION_MODULE) {
		for (size_t i = 0; i < input->module_count; i++)
			if (input->modules[i].module == owner->module)
				return ri_format("%s data", input->modules[i].name);
		return ri_strdup("module data");
	}
	mapping = ri_target_find_mapping(input->target, addr);
	return mapping && mapping->path ? ri_format("mapping of %s", mapping->path)
					: ri_strdup("anonymous mapping");
}

/* Adds [start, end), or lengthens the last region where it is the same thing. */
static void add_region(const struct ri_regions_input *input, const struct span *owner,
		       uint64_t start, uint64_t end, ri_region_list *list)
{
	struct ri_region region = {
		.kind = owner ? (enum ri_region_kind)owner->kind : RI_REGION_MAPPING,
		.thread = owner ? owner->thread : RI_NONE,
		.module = owner ? owner->module : RI_NONE,
	};
	struct ri_region *last = list->count ? &list->items[list->count - 1] : NULL;

	if (owner && last && last->end == start && last->kind == region.kind &&
	    last->thread == region.thread && last->module == region.module &&
	    end - last->start <= REGION_MAX_BYTES) {
		last->end = end;
		return;
	}
	while (start < end) {
		region.start = start;
		region.end = end - start > REGION_MAX_BYTES ? start + REGION_MAX_BYTES : end;
		region.name = region_name(input, owner, start);
		*ri_push(list) = region;
		start = region.end;
	}
}

/* Cuts one range of the image along the lists; `next` is where each list stands. */
static void cut_range(const struct ri_regions_input *input, const struct ri_range *range,
		      const span_list *spans, size_t *next, ri_region_list *list)
{
	bool is_file_code = range->kind == RI_RANGE_FILE && range->flags & RI_RANGE_EXEC;
	uint64_t at = range->start;

	while (at < range->end) {
		const struct span *owner = NULL;
		uint64_t end = range->end;

		for (unsigned k = 0; k < LIST_COUNT; k++) {
			const struct span *span;

			while (next[k] < spans[k].count && spans[k].items[next[k]].end <= at)
				next[k]++;
			if (next[k] == spans[k].count)
				continue;
			span = &spans[k].items[next[k]];
			if (span->start > at) {
				end = span->start < end ? span->start : end;
				continue;
			}
			end = span->end < end ? span->end : end;
			owner = owner ? owner : span;
		}
		if (!(owner && owner->kind == SPAN_SKIPPED) &&
		    !(is_file_code && (!owner || owner->name)))
			add_region(input, owner, at, end, list);
		at = end;
	}
}

static void add_registers(const struct ri_target *target, ri_region_list *list)
{
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct ri_thread *thread = &target->threads[i];
		struct ri_region *region;

		if (!thread->has_registers)
			continue;
		region = ri_push(list);
		region->kind = RI_REGION_REGISTERS;
		region->end = 8 * ri_regions_register_count(thread);
		region->thread = (uint32_t)i;
		region->module = RI_NONE;
		region->name = ri_format("registers of thread %d", (int)thread->tid);
	}
}

void ri_regions_list(const struct ri_regions_input *input, ri_region_list *list)
{
	span_list spans[LIST_COUNT] = { 0 };
	size_t next[LIST_COUNT] = { 0 };
	size_t range_count;
	const struct ri_range *ranges = ri_image_ranges(input->target->image, &range_count);

	add_heap_spans(input->heap, &spans[LIST_HEAP]);
	add_tls_spans(input, &spans[LIST_TLS]);
	add_stacks(input, &spans[LIST_STACK]);
	flatten_stacks(&spans[LIST_STACK]);
	add_module_spans(input, &spans[LIST_DATA], &spans[LIST_MODULE]);
	for (size_t i = 0; i < range_count; i++)
		if (ranges[i].bytes)
			cut_range(input, &ranges[i], spans, next, list);
	add_registers(input->target, list);
	for (unsigned k = 0; k < LIST_COUNT; k++)
		ri_vec_deinit(&spans[k]);
}

size_t ri_regions_register_count(const struct ri_thread *thread)
{
	return RI_REGISTER_COUNT + (thread->vector ? thread->vector_size_bytes / 8 : 0);
}

uint64_t ri_regions_register(const struct ri_thread *thread, size_t i)
{
	uint64_t value;

	if (i < RI_REGISTER_COUNT)
		return thread->registers[i];
	memcpy(&value, thread->vector + (i - RI_REGISTER_COUNT) * 8, sizeof(value));
	return value;
}
