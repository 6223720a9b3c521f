/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk that fills the name index.
 *
 * One pass over each unit: its top-level DIEs, what namespaces and, in other
 * languages than C, classes hold, and functions for the statics and types in
 * them; calls, inlined bodies and, in C, members are stepped over.  Of an
 * alternate (dwz) file the units that are imported are walked.
 *
 * Addresses of visited DIEs only ever grow within a unit; where they do not, a
 * sibling attribute lies and the rest of the unit is left out.  So the walk is
 * linear whatever the DWARF says.
 */
#include <stdlib.h>
#include <string.h>

#include "debug/modules_private.h"
#include "debug/names.h"

#define DEPTH_MAX 64

struct walk {
	struct ri_names *names;
	const struct ri_module *module;
	struct ri_module_state *state;
	uint32_t module_index;
	uint64_t bias;           /* of addresses in this unit */
	const char *last_addr;   /* of the DIE visited last */
	bool is_c;
	bool is_damaged;
	const struct ri_split *split; /* while its file is walked; or null */
	RI_VEC(struct ri_die) imports; /* units of the alternate file */
	struct ri_die_map *imported;
};

/* The attributes that the walk looks at, from one pass over the DIE. */
struct attributes {
	const char *name;
	uint64_t size_bytes, decl_line;
	Dwarf_Attribute type, location, specification, import;
	bool has_type, has_location, has_specification, has_import, is_declaration;
};

static int take_attribute(Dwarf_Attribute *attr, void *data)
{
	struct attributes *attributes = data;
	Dwarf_Word value;

	switch (dwarf_whatattr(attr)) {
	case DW_AT_name:
		attributes->name = dwarf_formstring(attr);
		break;
	case DW_AT_byte_size:
		if (!dwarf_formudata(attr, &value))
			attributes->size_bytes = value;
		break;
	case DW_AT_decl_line:
		if (!dwarf_formudata(attr, &value))
			attributes->decl_line = value;
		break;
	case DW_AT_declaration:
		dwarf_formflag(attr, &attributes->is_declaration);
		break;
	case DW_AT_type:
		attributes->type = *attr;
		attributes->has_type = true;
		break;
	case DW_AT_location:
		attributes->location = *attr;
		attributes->has_location = true;
		break;
	case DW_AT_specification:
	case DW_AT_abstract_origin:
		attributes->specification = *attr;
		attributes->has_specification = true;
		break;
	case DW_AT_import:
		attributes->import = *attr;
		attributes->has_import = true;
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

static void read_attributes(Dwarf_Die *die, struct attributes *ret)
{
	*ret = (struct attributes){ 0 };
	dwarf_getattrs(die, take_attribute, ret, 0);
}

static const char *join_scope(struct walk *walk, const char *scope, const char *name)
{
	return scope ? ri_strings_format(walk->names->strings, "%s::%s", scope, name)
		     : ri_strings_add(walk->names->strings, name);
}

/* What the first operation of a location pushes, without bias. */
static bool find_operand(const struct walk *walk, Dwarf_Attribute *location, const Dwarf_Op *op,
			 uint64_t *ret)
{
	Dwarf_Attribute indexed;

	if (op->atom == DW_OP_addr) {
		*ret = op->number;
		return true;
	}
	if (walk->split)
		return ri_split_address(&walk->state->splits, walk->split, op->number, ret);
	return !dwarf_getlocation_attr(location, op, &indexed) && !dwarf_formaddr(&indexed, ret);
}

/* The address of a variable whose location is one constant; false otherwise
 * (registers, stack, thread-local, optimised out). */
static bool find_address(struct walk *walk, Dwarf_Attribute *location, uint64_t *ret)
{
	Dwarf_Block block;
	Dwarf_Op *ops;
	size_t count;
	uint64_t addr;

	if (dwarf_formblock(location, &block) || !block.length)
		return false;
	if (block.data[0] != DW_OP_addr && block.data[0] != DW_OP_addrx &&
	    block.data[0] != DW_OP_GNU_addr_index)
		return false;
	if (dwarf_getlocation(location, &ops, &count) || !count || count > 2 ||
	    !find_operand(walk, location, &ops[0], &addr))
		return false;
	if (count == 2) {
		if (ops[1].atom != DW_OP_plus_uconst)
			return false;
		addr += ops[1].number;
	}
	*ret = addr + walk->bias;
	/* what the linker dropped has address 0 or -1 */
	return ri_module_maps(walk->names->modules, walk->module, *ret, 1);
}

/* An entry of .debug_addr as an offset in the TLS segment.  Compilers have been seen to let
 * the linker put the address in the segment's image there. */
static uint64_t as_thread_offset(const struct walk *walk, uint64_t value)
{
	for (size_t i = 0; i < walk->state->phdr_count; i++) {
		const Elf64_Phdr *phdr = &walk->state->phdrs[i];

		if (phdr->p_type == PT_TLS && value >= phdr->p_memsz && value >= phdr->p_vaddr &&
		    value - phdr->p_vaddr < phdr->p_memsz)
			return value - phdr->p_vaddr;
	}
	return value;
}

/* The offset in the module's TLS segment of a variable that is thread-local: a constant and
 * the operator that makes it an address in the current thread. */
static bool find_thread_offset(const struct walk *walk, Dwarf_Attribute *location, uint64_t *ret)
{
	Dwarf_Block block;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_formblock(location, &block) || block.length < 2 ||
	    (block.data[block.length - 1] != DW_OP_form_tls_address &&
	     block.data[block.length - 1] != DW_OP_GNU_push_tls_address) ||
	    dwarf_getlocation(location, &ops, &count) || count != 2)
		return false;
	switch (ops[0].atom) {
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
		*ret = ops[0].number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		/* an entry of .debug_addr may be a constant as well */
		if (!find_operand(walk, location, &ops[0], ret))
			return false;
		*ret = as_thread_offset(walk, *ret);
		return true;
	default:
		return false;
	}
}

static void add_variable(struct walk *walk, Dwarf_Die *die, struct attributes *attributes)
{
	struct ri_variable_entry *entry;
	bool is_static;
	Dwarf_Attribute attr;
	uint64_t addr;

	if (!attributes->has_location)
		return;
	is_static = find_address(walk, &attributes->location, &addr);
	if (!is_static && !find_thread_offset(walk, &attributes->location, &addr))
		return;
	if (!attributes->name && attributes->has_specification &&
	    dwarf_attr_integrate(die, DW_AT_name, &attr))
		attributes->name = dwarf_formstring(&attr);
	if (!attributes->name)
		return;
	entry = is_static ? ri_push(&walk->names->variables)
			  : ri_push(&walk->names->thread_variables);
	entry->name = attributes->name;
	entry->addr = addr;
	entry->die = ri_die_of(die);
	entry->module = walk->module_index;
}

/* Whether this typedef is the only name of a struct, union or enumeration. */
static bool names_anonymous(struct walk *walk, struct attributes *attributes)
{
	Dwarf_Die target;
	int tag;

	if (!attributes->has_type || !dwarf_formref_die(&attributes->type, &target))
		return false;
	tag = dwarf_tag(&target);
	if ((!ri_tag_is_aggregate(tag) && tag != DW_TAG_enumeration_type) ||
	    dwarf_hasattr(&target, DW_AT_name))
		return false;
	ri_die_map_put(walk->names->anonymous, target.addr, attributes->name);
	return ri_die_map_find(walk->names->anonymous, target.addr) == attributes->name;
}

static void add_type(struct walk *walk, Dwarf_Die *die, int tag, const char *scope,
		     bool is_local, struct attributes *attributes)
{
	struct ri_name_entry entry = {
		.name = attributes->name,
		.scope = scope,
		.die = ri_die_of(die),
		.size_bytes = attributes->size_bytes,
		.module = walk->module_index,
		.decl_line = (uint32_t)attributes->decl_line,
		.tag = (uint16_t)tag,
		.is_local = is_local,
	};
	Dwarf_Die declaration;

	if (attributes->is_declaration) {
		if (scope)
			ri_die_map_put(walk->names->scopes, die->addr, scope);
		return;
	}
	if (attributes->has_specification &&
	    dwarf_formref_die(&attributes->specification, &declaration)) {
		/* defined outside of its class or, in a type unit, of its namespace */
		if (!entry.name)
			entry.name = dwarf_diename(&declaration);
		if (!scope)
			entry.scope = ri_die_map_find(walk->names->scopes, declaration.addr);
	}
	if (!entry.name)
		return;
	if (entry.scope)
		ri_die_map_put(walk->names->scopes, die->addr, entry.scope);
	if (tag == DW_TAG_typedef)
		entry.is_naming = names_anonymous(walk, attributes);
	ri_names_add(walk->names, &entry);
}

static void add_import(struct walk *walk, struct attributes *attributes)
{
	Dwarf_Die unit;

	/* units of the same file are walked anyhow */
	if (!attributes->has_import || !walk->state->alternate ||
	    !dwarf_formref_die(&attributes->import, &unit) ||
	    dwarf_cu_getdwarf(unit.cu) != walk->state->alternate ||
	    ri_die_map_find(walk->imported, unit.addr))
		return;
	ri_die_map_put(walk->imported, unit.addr, unit.addr);
	*ri_push(&walk->imports) = ri_die_of(&unit);
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, const char *scope, bool is_local,
			  int depth);

static void visit_type(struct walk *walk, Dwarf_Die *die, int tag, const char *scope,
		       bool is_local, int depth)
{
	struct attributes attributes;

	read_attributes(die, &attributes);
	add_type(walk, die, tag, scope, is_local, &attributes);
	if (walk->is_c || tag == DW_TAG_typedef || tag == DW_TAG_template_alias ||
	    tag == DW_TAG_enumeration_type || !dwarf_haschildren(die))
		return;
	if (attributes.name)
		scope = join_scope(walk, scope, attributes.name);
	walk_children(walk, die, scope, is_local, depth);
}

static void visit(struct walk *walk, Dwarf_Die *die, const char *scope, bool is_local, int depth)
{
	int tag = dwarf_tag(die);
	struct attributes attributes;
	const char *name;

	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		visit_type(walk, die, tag, scope, is_local, depth);
		break;
	case DW_TAG_variable:
		read_attributes(die, &attributes);
		add_variable(walk, die, &attributes);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
		name = dwarf_diename(die);
		walk_children(walk, die,
			      join_scope(walk, scope, name ? name : "(anonymous namespace)"),
			      is_local, depth);
		break;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		walk_children(walk, die, scope, true, depth);
		break;
	case DW_TAG_imported_unit:
		read_attributes(die, &attributes);
		add_import(walk, &attributes);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, const char *scope, bool is_local,
			  int depth)
{
	Dwarf_Die child;
	int status;

	if (depth >= DEPTH_MAX || !dwarf_haschildren(parent))
		return;
	for (status = dwarf_child(parent, &child); !status && !walk->is_damaged;
	     status = dwarf_siblingof(&child, &child)) {
		if ((const char *)child.addr <= walk->last_addr) {
			walk->is_damaged = true;
			return;
		}
		walk->last_addr = child.addr;
		visit(walk, &child, scope, is_local, depth + 1);
	}
	if (status < 0)
		walk->is_damaged = true;
}

static void walk_unit(struct walk *walk, Dwarf_Die *unit)
{
	walk->is_c = ri_die_is_of_c(unit);
	walk->last_addr = unit->addr;
	walk->is_damaged = false;
	walk_children(walk, unit, NULL, false, 0);
	if (walk->is_damaged)
		ri_gaps_add(walk->names->gaps, RI_GAP_MATTERS, "debug",
			    "%s: damaged DWARF, the rest of a unit is left out",
			    walk->module->path);
}

/* What a skeleton unit stands for, and the type units that its file has besides. */
static void walk_split(struct walk *walk, const struct ri_split *split)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	walk->split = split;
	while (!dwarf_get_units(split->dwarf, unit, &unit, NULL, NULL, &die, NULL))
		if (die.addr && ri_split_has_unit(split, unit))
			walk_unit(walk, &die);
	walk->split = NULL;
}

/* The type units of a package; they hold no variables, so no skeleton is needed. */
static void walk_package(struct walk *walk, const struct ri_package *package)
{
	Dwarf *dwarf;
	Dwarf_Die die;

	for (size_t i = 0; (dwarf = ri_package_dwarf(package, i)); i++)
		for (Dwarf_CU *unit = NULL;
		     !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL);)
			if (die.addr && ri_split_is_type_unit(unit))
				walk_unit(walk, &die);
}

static void walk_imports(struct walk *walk)
{
	/* the list grows while units import further ones */
	for (size_t i = 0; i < walk->imports.count; i++) {
		Dwarf_Die unit = ri_die_open(walk->imports.items[i]);

		walk_unit(walk, &unit);
	}
	ri_vec_deinit(&walk->imports);
}

void ri_names_walk_module(struct ri_names *names, const struct ri_module *module)
{
	struct walk walk = {
		.names = names,
		.module = module,
		.state = ri_modules_state(names->modules, module),
		.module_index = (uint32_t)ri_modules_index(names->modules, module),
		.imported = ri_die_map_create(),
	};
	const struct ri_split *split;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int status;

	walk.bias = walk.state->dwarf_bias;
	while (!(status = dwarf_get_units(walk.state->dwarf, unit, &unit, NULL, NULL, &die, NULL)))
		if (die.addr) {
			walk_unit(&walk, &die);
			split = ri_splits_find(&walk.state->splits, dwarf_dieoffset(&die));
			if (split && split->dwarf)
				walk_split(&walk, split);
		}
	if (status < 0)
		ri_gaps_add(names->gaps, RI_GAP_MATTERS, "debug",
			    "%s: damaged DWARF, further units are left out", module->path);
	if (walk.state->splits.package)
		walk_package(&walk, walk.state->splits.package);
	walk_imports(&walk);
	ri_die_map_destroy(walk.imported);
}
