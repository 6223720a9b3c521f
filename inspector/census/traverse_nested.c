/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies inside an element of a known type becomes known with it: counted structs
 * that it embeds are objects, group heads are walked later, and memory that two of its
 * pointers bound is left out of the search.  Which of these a type has is its plan's to
 * say (traverse_plans.c).
 */
#include "census/traverse_private.h"

#define UNUSED_MAX 4096 /* spans; each region is searched around all of them */

static bool is_zero(struct ri_finder *finder, uint64_t addr, uint64_t size)
{
	const uint8_t *p = ri_reader_peek(&finder->reader, addr, size);

	for (uint64_t i = 0; p && i < size; i++)
		if (p[i])
			return false;
	return true;
}

/* A counted struct inside something known: an object, unless its header was
 * never initialised. */
static void add_embedded(struct ri_finder *finder, uint32_t type, uint64_t addr, uint32_t found)
{
	const struct ri_counted_type *t = &finder->types.items[type];
	const struct ri_convention *c = &finder->layout->conventions.items[t->convention];
	uint64_t header = addr + (uint64_t)t->header_offset, size;

	size = c->is_header && c->size_bytes ? c->size_bytes : t->size_bytes;
	if (is_zero(finder, header, size))
		return;
	/* static memory starts as zeros; elsewhere it may never have been written */
	if (!(found & RI_FOUND_VARIABLE) &&
	    ri_finder_magic(finder, t->convention, header, type) == RI_MAGIC_BAD &&
	    ri_descriptors_known(finder, t->convention,
				 ri_finder_pointer(finder, header, &c->descriptor.field)) != type)
		return;
	/* an embedded header that an outer type counts through stands for that one */
	if (!(found & RI_FOUND_VARIABLE) &&
	    ri_finder_find(finder, header, t->convention) != RI_NONE)
		return;
	ri_finder_add(finder, addr, type, found);
}

/* The path of a nested head with its own indices in place of "[]". */
static const char *indexed_path(struct ri_finder *finder, const char *path, uint64_t index)
{
	const char *last = NULL, *at = path;

	while ((at = strstr(at, "[]")))
		last = at++;
	if (!last)
		return path;
	return ri_strings_format(finder->shapes->strings, "%.*s[%llu]%s", (int)(last - path), path,
				 (unsigned long long)index, last + 2);
}

static void add_head(struct ri_finder *finder, const struct ri_nested *nested, uint64_t addr,
		     const char *prefix, const char *path, bool is_beyond)
{
	const struct ri_group_rule *rule = &finder->layout->groups.items[nested->index];
	const struct ri_head head = {
		.rule = nested->index,
		.head = addr + (uint64_t)rule->head_offset,
		.struct_addr = addr,
		.name = *path ? ri_strings_format(finder->shapes->strings, "%s%s", prefix, path)
			      : ri_strings_add(finder->shapes->strings, prefix),
		.is_certain = !is_beyond,
		.is_beyond = is_beyond,
	};

	ri_finder_add_head(finder, &head);
}

/* The memory that two pointers of the struct at `addr` bound. */
static void add_unused(struct ri_finder *finder, uint32_t rule, uint64_t addr)
{
	const struct ri_unused_rule *r = &finder->layout->unused.items[rule];
	uint64_t from = ri_finder_pointer(finder, addr, &r->from);
	uint64_t to = ri_finder_pointer(finder, addr, &r->to);
	const struct ri_range *range = from ? ri_image_find(finder->image, from) : NULL;

	if (range && from < to && to <= range->end && finder->unused.count < UNUSED_MAX)
		*ri_push(&finder->unused) = (struct ri_unused_span){ from, to };
}

void ri_plan_add_nested(struct ri_finder *finder, const struct ri_plan *plan, uint64_t addr,
			const char *prefix, bool is_variable, uint32_t found)
{
	for (size_t n = 0; n < plan->nested.count; n++) {
		const struct ri_nested *nested = &plan->nested.items[n];

		for (uint64_t i = 0; i < nested->count; i++) {
			uint64_t at = addr + nested->offset_bytes + i * nested->stride_bytes;

			if (nested->is_unused) {
				add_unused(finder, nested->index, at);
				continue;
			}
			if (!nested->is_head) {
				add_embedded(finder, nested->index, at, found);
				continue;
			}
			add_head(finder, nested, at, prefix,
				 is_variable ? indexed_path(finder, nested->path, i)
					     : nested->path,
				 false);
		}
	}
}

void ri_plan_add_heads_beyond(struct ri_finder *finder, const struct ri_plan *plan, uint64_t addr,
			      const char *prefix)
{
	for (size_t n = 0; n < plan->nested.count; n++)
		if (plan->nested.items[n].is_head && plan->nested.items[n].count == 1)
			add_head(finder, &plan->nested.items[n],
				 addr + plan->nested.items[n].offset_bytes, prefix,
				 plan->nested.items[n].path, true);
}
