/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places in words: see describe.h.  Reads every stage, judges nothing. */
#include "census/describe.h"

#include <stdlib.h>

#include "base/memory.h"
#include "debug/locals.h"

const char *ri_register_name(uint32_t index)
{
	static const char *const names[RI_REGISTER_COUNT] = {
		"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax",
		"rcx", "rdx", "rsi", "rdi", "orig_rax", "rip", "cs", "eflags", "rsp", "ss",
		"fs_base", "gs_base", "ds", "es", "fs", "gs",
	};

	return index < RI_REGISTER_COUNT ? names[index] : "vector register";
}

static char *with_offset(const char *what, uint64_t addr, uint64_t offset)
{
	if (!offset)
		return ri_format("%s %#llx", what, (unsigned long long)addr);
	return ri_format("%s %#llx + %llu", what, (unsigned long long)addr,
			 (unsigned long long)offset);
}

static char *describe_block(const struct ri_heap *heap, uint32_t block, uint64_t addr)
{
	static const char *const states[] = { "block", "free block", "unread heap range",
					      "allocator record" };
	const struct ri_block *b = &heap->blocks[block];
	char *place = with_offset(states[b->state], b->addr, addr - b->addr);
	char *whole = ri_format("%s (%llu bytes)", place, (unsigned long long)b->size_bytes);

	free(place);
	return whole;
}

/* A symbol, a module, a mapping, or just the address. */
static char *describe_other(const struct ri_describer *describer, uint64_t addr)
{
	uint64_t offset;
	const char *symbol =
		ri_modules_find_symbol(describer->modules, addr, true, &offset, NULL);
	const struct ri_mapping *mapping;
	char *escaped, *text;

	if (symbol) {
		escaped = ri_string_escape(symbol);
		text = offset ? ri_format("%s + %llu", escaped, (unsigned long long)offset)
			      : ri_strdup(escaped);
		free(escaped);
		return text;
	}
	mapping = ri_target_find_mapping(describer->target, addr);
	if (!mapping)
		return ri_format("%#llx (not mapped)", (unsigned long long)addr);
	escaped = ri_string_escape(mapping->path ? mapping->path : "anonymous memory");
	text = ri_format("%#llx (%s)", (unsigned long long)addr, escaped);
	free(escaped);
	return text;
}

char *ri_describe_addr(const struct ri_describer *describer, uint64_t addr)
{
	const struct ri_population *population = describer->population;
	uint32_t object = population ? ri_population_find(population, addr) : RI_NONE, block;

	if (object != RI_NONE) {
		const struct ri_object *o = &population->objects[object];
		const char *name = population->types[o->type].name;

		if (addr >= o->addr)
			return with_offset(name, o->addr, addr - o->addr);
		return ri_format("%s %#llx - %llu", name, (unsigned long long)o->addr,
				 (unsigned long long)(o->addr - addr));
	}
	block = ri_heap_find(describer->heap, addr);
	if (block != RI_NONE)
		return describe_block(describer->heap, block, addr);
	return describe_other(describer, addr);
}

char *ri_describe_node(const struct ri_describer *describer, uint32_t node)
{
	const struct ri_holders *holders = describer->holders;

	if (node < holders->object_count) {
		const struct ri_object *object = &describer->population->objects[node];

		return with_offset(describer->population->types[object->type].name, object->addr,
				   0);
	}
	node -= holders->object_count;
	if (node < holders->block_count)
		return describe_block(describer->heap, node,
				      describer->heap->blocks[node].addr);
	return ri_string_escape(holders->regions[node - holders->block_count].name);
}

static bool is_region(const struct ri_holders *holders, uint32_t node)
{
	return node >= holders->object_count + holders->block_count;
}

/* ", local NAME" of the variable of `frame` that `addr` lies in; empty: none is known. */
static char *name_local(const struct ri_describer *describer, const struct ri_frame *frame,
			uint64_t addr)
{
	struct ri_local local;
	char *name, *text;

	if (!describer->shapes->types ||
	    !ri_types_find_local(describer->shapes->types, frame, addr, &local))
		return ri_strdup("");
	name = ri_string_escape(local.name);
	text = ri_format(", local %s", name);
	free(name);
	return text;
}

/* A word of a region: "CLASS at PLACE, REGION", and where it is in a frame of some thread,
 * "stack of thread 12, frame 3 serve, local c, at ADDR". */
static char *describe_region_word(const struct ri_describer *describer, uint32_t node,
				  uint64_t addr, const char *class_name)
{
	const struct ri_holders *holders = describer->holders;
	const struct ri_region *region =
		&holders->regions[node - holders->object_count - holders->block_count];
	const struct ri_frame *frame = ri_unwind_find(describer->unwind, addr);
	char *source = ri_describe_node(describer, node), *text, *place, *function, *local;
	const char *symbol;

	if (!frame || region->kind == RI_REGION_TLS) {
		place = region->kind == RI_REGION_TLS
				? ri_format("%#llx", (unsigned long long)addr)
				: ri_describe_addr(describer, addr);
		text = ri_format("%s at %s, %s", class_name, place, source);
		free(place);
		free(source);
		return text;
	}
	symbol = ri_unwind_function(describer->unwind, frame);
	function = ri_string_escape(symbol ? symbol : "of an unknown function");
	local = name_local(describer, frame, addr);
	place = ri_format("stack of thread %d, frame %u %s%s, at %#llx",
			  (int)describer->target->threads[frame->thread].tid, frame->depth,
			  function, local, (unsigned long long)addr);
	free(local);
	text = region->kind == RI_REGION_STACK && region->thread == frame->thread
		       ? ri_strdup(place)
		       : ri_format("%s, %s", place, source);
	free(place);
	free(function);
	free(source);
	return text;
}

char *ri_describe_edge(const struct ri_describer *describer, uint64_t edge)
{
	const struct ri_holders *holders = describer->holders;
	const struct ri_edge *e = &holders->edges[edge];
	const char *class_name = describer->shapes->classes.items[e->class_index].name;
	uint32_t node = ri_holders_source(holders, edge);
	uint64_t word = ri_holders_word_addr(holders, describer->population, describer->heap, edge);
	char *source = ri_describe_node(describer, node), *text;

	if (e->flags & RI_EDGE_EMBEDS) {
		text = ri_format("embedded together with %s", source);
	} else if (e->flags & RI_EDGE_MEMBERSHIP) {
		text = ri_format("member of %s", class_name);
	} else if (is_region(holders, node) && !word) {
		text = ri_format("register %s, %s", ri_register_name(e->word), source);
	} else if (is_region(holders, node)) {
		text = describe_region_word(describer, node, word, class_name);
	} else {
		text = ri_format("%s of %s", class_name, source);
	}
	free(source);
	return text;
}
