/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk over the functions of a module: their names and what their first two
 * parameters point at.
 *
 * Top-level DIEs, what namespaces hold and, in other languages than C, what
 * classes hold; bodies are stepped over.  Where a parameter's type leads to is
 * looked up once per type DIE.  Siblings that lie backwards end their level, and
 * addresses only grow within a unit, so the walk is linear whatever the DWARF says.
 *
 * Blind spots: contents of .dwo files and of dwz's common file; functions that
 * are known by their symbol alone.
 */
#include "debug/functions.h"

#include "debug/modules_private.h"
#include "debug/types_private.h"

#define DEPTH_MAX 32
#define STEPS_MAX 8 /* typedefs and qualifiers before and behind the pointer */

struct walk {
	struct ri_types *types;
	struct ri_die_map *pointees; /* type DIE -> the struct's name; "" for none */
	bool (*callback)(const struct ri_function *function, void *data);
	void *data;
	const char *last_addr;
	bool is_c, is_over;
};

static bool is_alias(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

/* The name of the struct that a type DIE points at, "" for none. */
static const char *find_pointee(struct walk *walk, Dwarf_Die *type)
{
	const char *naming = NULL, *name;
	bool is_pointer = false;
	Dwarf_Die die = *type;

	for (int i = 0; i < STEPS_MAX; i++) {
		int tag = dwarf_tag(&die);

		if (ri_tag_is_aggregate(tag)) {
			name = dwarf_diename(&die);
			if (!name)
				name = ri_die_map_find(walk->types->names.anonymous, die.addr);
			if (!name)
				name = naming;
			return is_pointer && name ? name : "";
		}
		if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type) {
			if (is_pointer)
				return "";
			is_pointer = true;
			naming = NULL;
		} else if (!is_alias(tag)) {
			return "";
		} else if (tag == DW_TAG_typedef) {
			naming = dwarf_diename(&die);
		}
		if (!ri_die_reference(&die, DW_AT_type, false, &die))
			return "";
	}
	return "";
}

static const char *pointee_of(struct walk *walk, Dwarf_Die *parameter)
{
	Dwarf_Attribute attr;
	const char *name;
	Dwarf_Die type;

	if (!dwarf_attr(parameter, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		return NULL;
	name = ri_die_map_find(walk->pointees, type.addr);
	if (!name) {
		name = find_pointee(walk, &type);
		ri_die_map_put(walk->pointees, type.addr, name);
	}
	return *name ? name : NULL;
}

static void visit_function(struct walk *walk, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	struct ri_function function = { 0 };
	unsigned count = 0;
	Dwarf_Die child;

	/* an instance of an inline function has its name at its origin, which comes too */
	if (!dwarf_attr(die, DW_AT_name, &attr))
		return;
	function.name = dwarf_formstring(&attr);
	if (!function.name || !dwarf_haschildren(die))
		return;
	for (bool ok = ri_die_next_child(die, true, &child);
	     ok && count < RI_FUNCTION_PARAMETERS && dwarf_tag(&child) == DW_TAG_formal_parameter;
	     ok = ri_die_next_child(die, false, &child))
		function.pointees[count++] = pointee_of(walk, &child);
	if (count && (function.pointees[0] || function.pointees[1]))
		walk->is_over = !walk->callback(&function, walk->data);
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;
	int status;

	if (depth >= DEPTH_MAX || !dwarf_haschildren(parent))
		return;
	for (status = dwarf_child(parent, &child); !status && !walk->is_over;
	     status = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		if ((const char *)child.addr <= walk->last_addr)
			return;
		walk->last_addr = child.addr;
		if (tag == DW_TAG_subprogram)
			visit_function(walk, &child);
		else if (tag == DW_TAG_namespace || (!walk->is_c && ri_tag_is_aggregate(tag)))
			walk_children(walk, &child, depth + 1);
	}
}

void ri_types_each_function(struct ri_types *types, const struct ri_module *module,
			    bool (*callback)(const struct ri_function *function, void *data),
			    void *data)
{
	struct walk walk = { .types = types, .callback = callback, .data = data };
	struct ri_module_state *state = ri_modules_state(types->names.modules, module);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (!state->dwarf)
		return;
	walk.pointees = ri_die_map_create();
	while (!walk.is_over &&
	       !dwarf_get_units(state->dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		if (!die.addr)
			continue;
		walk.last_addr = die.addr;
		walk.is_c = ri_die_is_of_c(&die);
		walk_children(&walk, &die, 0);
	}
	ri_die_map_destroy(walk.pointees);
}

const char *ri_type_source_file(const struct ri_type *type)
{
	Dwarf_Die die = ri_die_open(ri_type_node_of(type)->die);

	return die.addr ? dwarf_decl_file(&die) : NULL;
}
