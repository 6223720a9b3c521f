/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a DIE to a struct ri_type.
 *
 * A type is loaded with everything that it holds by value (members, elements,
 * what a typedef or qualifier stands for); what it points at is loaded when
 * somebody asks.  So the recursion is as deep as types nest, which is bounded
 * here, and a type met again while it is still being loaded holds itself by
 * value, which cannot be: it is cut.  A DIE that only declares a struct gives
 * the type of the definition, found by signature or by name.
 *
 * members.c loads the inside of structs.
 */
#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"
#include "debug/modules_private.h"

#define NESTING_MAX 128
#define DIMENSIONS_MAX 16
#define REFERENCES_MAX 4

void ri_loader_init(struct ri_types *types)
{
	types->nodes = ri_die_map_create();
	types->void_node = ri_loader_create_node(types, 0);
	types->void_node->type.kind = RI_TYPE_VOID;
	types->unknown_node = ri_loader_create_node(types, 0);
	types->unknown_node->type.kind = RI_TYPE_UNKNOWN;
}

void ri_loader_deinit(struct ri_types *types)
{
	for (size_t i = 0; i < types->all.count; i++) {
		free(types->all.items[i]->members);
		free(types->all.items[i]->dimensions);
		free(types->all.items[i]);
	}
	ri_vec_deinit(&types->all);
	ri_die_map_destroy(types->nodes);
}

struct ri_type_node *ri_loader_create_node(struct ri_types *types, uint32_t module)
{
	struct ri_type_node *node = ri_calloc(1, sizeof(*node));
	size_t count;
	const struct ri_module *list = ri_modules_list(types->names.modules, &count);

	node->type.module = module < count ? &list[module] : NULL;
	*ri_push(&types->all) = node;
	return node;
}

void ri_loader_tell_lie(struct loader *loader, Dwarf_Die *die, const char *what)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(loader->types->names.modules, &count);
	const char *name = dwarf_diename(die);

	ri_gaps_add(loader->types->gaps, RI_GAP_TOLD, "debug",
		    "%s: the DWARF of %s cannot be true (%s); cut down", list[loader->module].path,
		    name ? name : "a nameless type", what);
}

/* Whether there is a reference that no other file is needed for (dwz's may be missing). */
static bool refers_to_own_file(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, attribute, &attr))
		return false;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref_addr:
		return true;
	default:
		return false;
	}
}

/* Follows a reference, by signature into another part of a package too. */
static bool follow(struct loader *loader, Dwarf_Die *die, unsigned attribute,
		   bool is_integrated, Dwarf_Die *ret)
{
	const struct ri_modules *modules = loader->types->names.modules;
	uint64_t signature;
	struct ri_die found;
	size_t count;

	if (ri_die_reference(die, attribute, is_integrated, ret))
		return true;
	if (!ri_die_signature(die, attribute, &signature)) {
		if (refers_to_own_file(die, attribute))
			ri_loader_tell_lie(loader, die, "a reference that leads nowhere");
		return false;
	}
	found = ri_splits_type(&ri_modules_state(modules, &ri_modules_list(modules, &count)
								  [loader->module])->splits,
			       signature);
	*ret = ri_die_open(found);
	return found.addr;
}

/* A type held by value: none that is still being loaded. */
struct ri_type_node *ri_loader_load_value(struct loader *loader, Dwarf_Die *die)
{
	struct ri_type_node *node;
	Dwarf_Die target;

	if (!follow(loader, die, DW_AT_type, true, &target))
		return loader->types->void_node;
	node = ri_loader_load_die(loader, &target);
	if (!node->is_loading)
		return node;
	ri_loader_tell_lie(loader, die, "a type that holds itself by value");
	return loader->types->unknown_node;
}

static const char *qualified_name(struct ri_types *types, Dwarf_Die *die, const char *scope)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_attr_integrate(die, DW_AT_name, &attr) ? dwarf_formstring(&attr)
									 : NULL;

	if (!name || !scope)
		return name;
	return ri_strings_format(types->names.strings, "%s::%s", scope, name);
}

static void fill_base(struct ri_type_node *node, Dwarf_Die *die)
{
	uint64_t encoding = 0;

	ri_die_constant(die, DW_AT_encoding, &encoding);
	node->type.kind = RI_TYPE_INT;
	switch (encoding) {
	case DW_ATE_boolean:
		node->type.is_bool = true;
		break;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		node->type.is_signed = true;
		break;
	case DW_ATE_float:
	case DW_ATE_complex_float:
	case DW_ATE_imaginary_float:
	case DW_ATE_decimal_float:
		node->type.kind = RI_TYPE_FLOAT;
		break;
	default:
		break;
	}
}

static void fill_enumeration(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	struct ri_type_node *underlying = ri_loader_load_value(loader, die);

	node->type.kind = RI_TYPE_INT;
	node->type.is_enum = true;
	while (underlying->has_target && underlying->type.kind != RI_TYPE_POINTER &&
	       underlying->target)
		underlying = underlying->target;
	node->type.is_signed = underlying->type.is_signed;
	if (!node->type.size_bytes)
		node->type.size_bytes = underlying->type.size_bytes;
}

/* Typedefs and qualifiers. */
static void fill_alias(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	node->type.kind = node->tag == DW_TAG_typedef || node->tag == DW_TAG_template_alias
				  ? RI_TYPE_TYPEDEF
				  : RI_TYPE_QUALIFIED;
	node->type.is_atomic = node->tag == DW_TAG_atomic_type;
	node->has_target = true;
	node->target = ri_loader_load_value(loader, die);
	node->type.size_bytes = node->target->type.size_bytes;
}

/* What is loaded when asked for. */
static void set_lazy_target(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	Dwarf_Die target;

	node->has_target = true;
	if (follow(loader, die, DW_AT_type, true, &target))
		node->target_die = ri_die_of(&target);
}

static void fill_pointer(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	node->type.kind = RI_TYPE_POINTER;
	if (!node->type.size_bytes)
		node->type.size_bytes = 8;
	set_lazy_target(loader, node, die);
	if (node->target_die.addr == die->addr) {
		ri_loader_tell_lie(loader, die, "a pointer to its own type");
		node->target_die.addr = NULL;
	}
}

/* The number of elements that a subrange gives; 0: none, unknown or variable.
 * Old compilers write the upper bound of a flexible array as -1. */
static uint64_t count_subrange(Dwarf_Die *subrange)
{
	uint64_t upper, lower = 0, count;

	if (ri_die_constant(subrange, DW_AT_count, &count))
		return count;
	if (!ri_die_constant(subrange, DW_AT_upper_bound, &upper) || upper == UINT64_MAX ||
	    upper == UINT32_MAX)
		return 0;
	ri_die_constant(subrange, DW_AT_lower_bound, &lower);
	return upper >= lower ? upper - lower + 1 : 0;
}

static void read_dimensions(struct ri_type_node *node, Dwarf_Die *die)
{
	uint64_t dimensions[DIMENSIONS_MAX];
	Dwarf_Die child;
	size_t count = 0;

	for (bool ok = ri_die_next_child(die, true, &child); ok && count < DIMENSIONS_MAX;
	     ok = ri_die_next_child(die, false, &child))
		if (dwarf_tag(&child) == DW_TAG_subrange_type)
			dimensions[count++] = count_subrange(&child);
		else if (dwarf_tag(&child) == DW_TAG_enumeration_type)
			dimensions[count++] = 0;
	node->dimension_count = count;
	node->dimensions = ri_calloc(count, sizeof(*dimensions));
	memcpy(node->dimensions, dimensions, count * sizeof(*dimensions));
}

static void fill_array(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	uint64_t count = 1, size_bytes;

	node->type.kind = RI_TYPE_ARRAY;
	node->has_target = true;
	node->target = ri_loader_load_value(loader, die);
	read_dimensions(node, die);
	for (size_t i = 0; i < node->dimension_count; i++)
		if (__builtin_mul_overflow(count, node->dimensions[i], &count))
			count = UINT64_MAX;
	if (!node->dimension_count)
		count = 0;
	if (__builtin_mul_overflow(count, node->target->type.size_bytes, &size_bytes) ||
	    size_bytes > RI_TYPE_MAX_BYTES || count > RI_TYPE_MAX_BYTES) {
		ri_loader_tell_lie(loader, die, "an array beyond any memory");
		count = size_bytes = 0;
	}
	node->type.element_count = count;
	node->type.size_bytes = size_bytes;
}

static void fill(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	switch (node->tag) {
	case DW_TAG_base_type:
		fill_base(node, die);
		break;
	case DW_TAG_enumeration_type:
		fill_enumeration(loader, node, die);
		break;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
		fill_alias(loader, node, die);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		fill_pointer(loader, node, die);
		break;
	case DW_TAG_array_type:
		fill_array(loader, node, die);
		break;
	case DW_TAG_subroutine_type:
		node->type.kind = RI_TYPE_FUNCTION;
		set_lazy_target(loader, node, die);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_union_type:
		ri_loader_fill_aggregate(loader, node, die);
		break;
	default:
		node->type.kind = RI_TYPE_UNKNOWN; /* pointers to members, sets, files, ... */
		break;
	}
}

static void read_size(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	uint64_t size_bytes;

	if (!ri_die_constant(die, DW_AT_byte_size, &size_bytes))
		return;
	if (size_bytes > RI_TYPE_MAX_BYTES)
		ri_loader_tell_lie(loader, die, "a size beyond any memory");
	else
		node->type.size_bytes = size_bytes;
}

/* The definition that a declaration stands for: by signature, then by name. */
static bool find_definition(struct loader *loader, uint32_t *module, Dwarf_Die *die)
{
	struct ri_types *types = loader->types;
	const char *name, *scope;
	uint32_t index;
	Dwarf_Die target;

	for (int i = 0; i < REFERENCES_MAX && follow(loader, die, DW_AT_signature, false, &target);
	     i++)
		*die = target;
	if (!ri_die_flag(die, DW_AT_declaration))
		return true;
	name = dwarf_diename(die);
	if (!name)
		return false;
	scope = ri_die_map_find(types->names.scopes, die->addr);
	index = ri_names_find_definition(&types->names, *module, dwarf_tag(die), name, scope);
	if (index == RI_NAMES_NONE)
		return false;
	*module = types->names.entries.items[index].module;
	*die = ri_die_open(types->names.entries.items[index].die);
	return true;
}

static struct ri_type_node *load_new(struct loader *loader, Dwarf_Die *die, bool is_complete)
{
	struct ri_types *types = loader->types;
	struct ri_type_node *node = ri_loader_create_node(types, loader->module);
	const char *scope = ri_die_map_find(types->names.scopes, die->addr);

	ri_die_map_put(types->nodes, die->addr, node);
	node->tag = dwarf_tag(die);
	node->die = ri_die_of(die);
	node->type.die_offset = dwarf_dieoffset(die);
	node->type.name = qualified_name(types, die, scope);
	if (!is_complete) {
		node->type.kind = RI_TYPE_UNKNOWN;
		return node;
	}
	if (!node->type.name) {
		node->type.name = ri_die_map_find(types->names.anonymous, die->addr);
		node->is_named_by_typedef = node->type.name;
	}
	node->is_loading = true;
	read_size(loader, node, die);
	fill(loader, node, die);
	node->is_loading = false;
	return node;
}

struct ri_type_node *ri_loader_load_die(struct loader *loader, Dwarf_Die *die)
{
	struct ri_types *types = loader->types;
	struct ri_type_node *node = ri_die_map_find(types->nodes, die->addr);
	uint32_t module = loader->module;
	Dwarf_Die definition = *die;
	bool is_complete = true;

	if (node)
		return node;
	if (loader->depth >= NESTING_MAX) {
		ri_loader_tell_lie(loader, die, "types nested too deeply");
		return types->unknown_node;
	}
	loader->depth++;
	if (ri_tag_is_aggregate(dwarf_tag(die)) || dwarf_tag(die) == DW_TAG_enumeration_type)
		is_complete = find_definition(loader, &loader->module, &definition);
	node = ri_die_map_find(types->nodes, definition.addr);
	if (!node)
		node = load_new(loader, &definition, is_complete);
	if (definition.addr != die->addr)
		ri_die_map_put(types->nodes, die->addr, node);
	loader->module = module;
	loader->depth--;
	return node;
}

struct ri_type_node *ri_loader_load(struct ri_types *types, uint32_t module, struct ri_die die)
{
	struct loader loader = { .types = types, .module = module };
	Dwarf_Die opened = ri_die_open(die);

	return ri_loader_load_die(&loader, &opened);
}

struct ri_type_node *ri_loader_load_type_of(struct ri_types *types, uint32_t module,
					    struct ri_die die)
{
	struct loader loader = { .types = types, .module = module };
	Dwarf_Die opened = ri_die_open(die), target;

	if (!follow(&loader, &opened, DW_AT_type, true, &target))
		return types->void_node;
	return ri_loader_load(types, module, ri_die_of(&target));
}

struct ri_type_node *ri_loader_target(struct ri_types *types, struct ri_type_node *node)
{
	if (!node->has_target)
		return NULL;
	if (!node->target && !node->target_die.addr)
		node->target = types->void_node;
	if (!node->target) {
		size_t module = ri_modules_index(types->names.modules, node->type.module);

		node->target = ri_loader_load(types, (uint32_t)module, node->target_die);
	}
	return node->target;
}
