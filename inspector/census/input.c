/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the earlier stages to the census' plain tables: shapes of types, static and
 * thread-local variables, module data, the allocator's own records, link words by address.
 * The census itself is in holders.c and holder_sweep.c.
 */
#include "census/input.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "debug/locals.h"

/* A variable larger than this is DWARF gone wrong, not a variable. */
#define VARIABLE_MAX_BYTES (1ull << 36)
#define SKIPPED_MAX 65536

struct gathering {
	const struct ri_modules *modules;
	struct ri_types *types;
	RI_VEC(struct ri_data_range) data;
	RI_VEC(struct ri_variable_span) variables;
	RI_VEC(struct ri_module_span) spans;
	RI_VEC(struct ri_skipped_span) skipped;
	bool *has_allocator;     /* per module */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* glibc's malloc, in libc or linked into the executable. */
static bool carries_malloc(const struct ri_modules *modules, const struct ri_module *module)
{
	const char *name = base_name(module->path);
	uint64_t addr;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       (module->is_main &&
		ri_modules_find_symbol_addr(modules, module, "main_arena", &addr));
}

static void gather_modules(struct gathering *g)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(g->modules, &count);

	g->has_allocator = ri_calloc(count, sizeof(*g->has_allocator));
	for (size_t i = 0; i < count; i++) {
		struct ri_module_span *span = ri_push(&g->spans);

		span->start = list[i].start;
		span->end = list[i].end;
		span->module = (uint32_t)i;
		span->name = base_name(list[i].path);
		g->has_allocator[i] = carries_malloc(g->modules, &list[i]);
	}
}

static void gather_data(const struct ri_module *module, uint64_t start, uint64_t end, void *data)
{
	struct gathering *g = data;
	struct ri_data_range *range = ri_push(&g->data);

	range->start = start;
	range->end = end;
	range->module = (uint32_t)ri_modules_index(g->modules, module);
	range->has_allocator = g->has_allocator[range->module];
}

static int compare_data(const void *a, const void *b)
{
	const struct ri_data_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* main_arena and mp_ hold pointers into blocks and own nothing; where their
 * symbols are known they are left out altogether. */
static void gather_skipped(struct gathering *g)
{
	static const char *const names[] = { "main_arena", "mp_" };
	uint64_t addr, size;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (size_t m = 0; m < g->spans.count; m++) {
			size_t count;
			const struct ri_module *list = ri_modules_list(g->modules, &count);

			if (!g->has_allocator[m] ||
			    !ri_modules_find_symbol_addr(g->modules, &list[m], names[i], &addr) ||
			    !ri_modules_find_symbol(g->modules, addr, true, NULL, &size))
				continue;
			*ri_push(&g->skipped) = (struct ri_skipped_span){ addr, addr + size };
		}
}

/* What DWARF proves that no frame uses: see debug/locals.h. */
static bool gather_dead_local(const struct ri_local *local, void *data)
{
	struct gathering *g = data;

	if (local->is_dead)
		*ri_push(&g->skipped) =
			(struct ri_skipped_span){ local->addr, local->addr + local->size_bytes };
	return g->skipped.count < SKIPPED_MAX;
}

static int compare_skipped(const void *a, const void *b)
{
	const struct ri_skipped_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool gather_variable(const struct ri_variable *variable, void *data)
{
	struct gathering *g = data;
	const struct ri_type *type = ri_type_strip(g->types, variable->type);
	struct ri_variable_span *span;

	if (type->size_bytes < 8 || type->size_bytes > VARIABLE_MAX_BYTES)
		return true;
	span = ri_push(&g->variables);
	span->addr = variable->addr;
	span->size_bytes = type->size_bytes;
	span->name = variable->name;
	span->type = variable->type;
	span->shape = RI_NONE;
	return true;
}

static int compare_variables(const void *a, const void *b)
{
	const struct ri_variable_span *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void gather(struct gathering *g)
{
	gather_modules(g);
	ri_modules_each_data_range(g->modules, gather_data, g);
	if (g->data.count)
		qsort(g->data.items, g->data.count, sizeof(*g->data.items), compare_data);
	gather_skipped(g);
	ri_types_each_local(g->types, gather_dead_local, g);
	if (g->skipped.count)
		qsort(g->skipped.items, g->skipped.count, sizeof(*g->skipped.items),
		      compare_skipped);
	ri_types_each_variable(g->types, gather_variable, g);
	ri_types_each_thread_variable(g->types, gather_variable, g);
	if (g->variables.count)
		qsort(g->variables.items, g->variables.count, sizeof(*g->variables.items),
		      compare_variables);
}

/* Adds what is not in use to what is skipped; overlaps are joined. */
static void add_unused(struct gathering *g, const struct ri_population *population)
{
	size_t kept = 0;

	if (!population->unused_count)
		return;
	for (size_t i = 0; i < population->unused_count; i++)
		*ri_push(&g->skipped) = (struct ri_skipped_span){ population->unused[i].start,
								  population->unused[i].end };
	qsort(g->skipped.items, g->skipped.count, sizeof(*g->skipped.items), compare_skipped);
	for (size_t i = 1; i < g->skipped.count; i++) {
		struct ri_skipped_span *last = &g->skipped.items[kept];

		if (g->skipped.items[i].start > last->end)
			g->skipped.items[++kept] = g->skipped.items[i];
		else if (g->skipped.items[i].end > last->end)
			last->end = g->skipped.items[i].end;
	}
	g->skipped.count = kept + 1;
}

static const char *find_symbol(void *data, uint64_t addr)
{
	return ri_modules_find_symbol(data, addr, true, NULL, NULL);
}

/* The shape of each type, made now: the sweep only reads them. */
static uint32_t *list_shapes(struct ri_shapes *shapes, const struct ri_population *population)
{
	uint32_t *list = ri_calloc(population->type_count, sizeof(*list));

	for (size_t t = 0; t < population->type_count; t++)
		list[t] = ri_shapes_counted(shapes, &population->types[t], (uint32_t)t);
	return list;
}

struct ri_holders *ri_holders_create(const struct ri_target *target,
				     const struct ri_modules *modules, struct ri_types *types,
				     const struct ri_heap *heap,
				     const struct ri_population *population,
				     struct ri_shapes *shapes, unsigned thread_count,
				     struct ri_gaps *gaps)
{
	struct gathering g = { .modules = modules, .types = types };
	uint32_t *shape_of_type = list_shapes(shapes, population);
	struct ri_links *links = ri_links_create(population, shapes->layout);
	ri_storage_block_list storage_blocks = { 0 };
	struct ri_holders *holders;
	const struct ri_tls_block *tls;
	size_t tls_count;

	gather(&g);
	add_unused(&g, population);
	tls = ri_tls_blocks(modules, &tls_count);
	ri_storage_blocks_find(heap, tls, tls_count, &storage_blocks);
	holders = ri_holders_run(
		&(struct ri_census_input){
			.target = target,
			.heap = heap,
			.population = population,
			.shapes = shapes,
			.shape_of_type = shape_of_type,
			.regions = { target, heap, g.data.items, g.data.count, g.spans.items,
				     g.spans.count, tls, tls_count },
			.variables = g.variables.items,
			.variable_count = g.variables.count,
			.skipped = g.skipped.items,
			.skipped_count = g.skipped.count,
			.storage_blocks = &storage_blocks,
			.links = links,
			.symbol_of = find_symbol,
			.symbol_data = (void *)modules,
			.thread_count = thread_count ? thread_count : 1,
		},
		gaps);
	ri_vec_deinit(&storage_blocks);
	ri_links_destroy(links);
	free(shape_of_type);
	free(g.has_allocator);
	ri_vec_deinit(&g.data);
	ri_vec_deinit(&g.variables);
	ri_vec_deinit(&g.spans);
	ri_vec_deinit(&g.skipped);
	return holders;
}
