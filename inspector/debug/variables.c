/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Static variables: sorted by address, one per address.  Where several DIEs
 * give the same address (aliases, a declaration repeated with its location),
 * the first one of the walk stays.  Thread-local ones are kept once, by module and
 * offset, and handed out for each thread that has a copy; how many that are in all
 * is bounded, since a target decides both factors.
 */
#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"
#include "debug/modules_private.h"
#include "debug/tls.h"

#define THREAD_COPIES_MAX (1u << 22)

static int compare_addr(const void *a, const void *b)
{
	const struct ri_variable_entry *left = a, *right = b;

	if (left->addr != right->addr)
		return left->addr < right->addr ? -1 : 1;
	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	/* within a module the DIE's address is its place in the walk */
	return left->die.addr < right->die.addr ? -1 : left->die.addr > right->die.addr;
}

static int compare_name(const void *a, const void *b, void *data)
{
	const struct ri_variable_entry *variables = data;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int order = strcmp(variables[left].name, variables[right].name);

	return order ? order : left < right ? -1 : left > right;
}

static int compare_offset(const void *a, const void *b)
{
	const struct ri_variable_entry *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	if (left->addr != right->addr)
		return left->addr < right->addr ? -1 : 1;
	return left->die.addr < right->die.addr ? -1 : left->die.addr > right->die.addr;
}

static void arrange_thread_variables(struct ri_types *types)
{
	struct ri_variable_entry *items = types->names.thread_variables.items;
	size_t kept = 0;

	if (types->names.thread_variables.count)
		qsort(items, types->names.thread_variables.count, sizeof(*items), compare_offset);
	for (size_t i = 0; i < types->names.thread_variables.count; i++)
		if (!kept || items[kept - 1].module != items[i].module ||
		    items[kept - 1].addr != items[i].addr)
			items[kept++] = items[i];
	types->thread_variable_count = kept;
}

void ri_variables_init(struct ri_types *types)
{
	struct ri_variable_entry *items = types->names.variables.items;
	size_t kept = 0;

	arrange_thread_variables(types);

	if (types->names.variables.count)
		qsort(items, types->names.variables.count, sizeof(*items), compare_addr);
	for (size_t i = 0; i < types->names.variables.count; i++)
		if (!kept || items[kept - 1].addr != items[i].addr)
			items[kept++] = items[i];
	types->variable_count = kept;
	types->variables_by_name = ri_calloc(kept, sizeof(*types->variables_by_name));
	for (size_t i = 0; i < kept; i++)
		types->variables_by_name[i] = (uint32_t)i;
	if (kept)
		qsort_r(types->variables_by_name, kept, sizeof(*types->variables_by_name),
			compare_name, items);
}

void ri_variables_deinit(struct ri_types *types)
{
	free(types->variables_by_name);
}

static void describe(struct ri_types *types, const struct ri_variable_entry *entry,
		     struct ri_variable *ret)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(types->names.modules, &count);

	ret->name = entry->name;
	ret->addr = entry->addr;
	ret->type = &ri_loader_load_type_of(types, entry->module, entry->die)->type;
	ret->module = &list[entry->module];
	ret->thread = UINT32_MAX;
}

void ri_types_each_variable(struct ri_types *types,
			    bool (*callback)(const struct ri_variable *variable, void *data),
			    void *data)
{
	for (size_t i = 0; i < types->variable_count; i++) {
		struct ri_variable variable;

		describe(types, &types->names.variables.items[i], &variable);
		if (!callback(&variable, data))
			return;
	}
}

void ri_types_each_thread_variable(struct ri_types *types,
				   bool (*callback)(const struct ri_variable *variable,
						    void *data),
				   void *data)
{
	const struct ri_modules *modules = types->names.modules;
	size_t thread_count = modules ? modules->target->thread_count : 0;
	size_t count = types->thread_variable_count;

	if (count && thread_count > THREAD_COPIES_MAX / count) {
		ri_gaps_add(types->gaps, RI_GAP_TOLD, "debug",
			    "too many threads and thread-local variables; some were left out");
		thread_count = THREAD_COPIES_MAX / count;
	}
	for (uint32_t t = 0; t < thread_count; t++)
		for (size_t i = 0; i < count; i++) {
			const struct ri_variable_entry *entry =
				&types->names.thread_variables.items[i];
			struct ri_variable variable;
			uint64_t addr;

			if (!ri_tls_find(modules, entry->module, t, entry->addr, &addr))
				continue;
			describe(types, entry, &variable);
			variable.addr = addr;
			variable.thread = t;
			if (!callback(&variable, data))
				return;
		}
}

bool ri_types_find_variable(struct ri_types *types, const char *name, struct ri_variable *ret)
{
	const struct ri_variable_entry *items = types->names.variables.items;
	size_t low = 0, high = types->variable_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(items[types->variables_by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == types->variable_count || strcmp(items[types->variables_by_name[low]].name, name))
		return false;
	describe(types, &items[types->variables_by_name[low]], ret);
	return true;
}
