/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spelling types as C declares them, from the inside out: the declarator grows
 * around what has been spelled so far until a type with a name is reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/loader.h"

#define NESTING_MAX 64

static const char *keyword_of(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

static const char *qualifier_of(int tag)
{
	switch (tag) {
	case DW_TAG_const_type:
		return "const";
	case DW_TAG_volatile_type:
		return "volatile";
	case DW_TAG_restrict_type:
		return "restrict";
	case DW_TAG_atomic_type:
		return "_Atomic";
	default:
		return "";
	}
}

/* "struct conn", "uint32_t", "struct {...}" */
static char *spell_name(const struct ri_type_node *node)
{
	const char *keyword = node->is_named_by_typedef ? "" : keyword_of(node->tag);

	if (node->type.kind == RI_TYPE_VOID && !node->type.name)
		return ri_strdup("void");
	if (node->type.name)
		return ri_format("%s%s", keyword, node->type.name);
	return *keyword ? ri_format("%s{...}", keyword) : ri_strdup("?");
}

/* Puts text around `inner`, which is freed. */
static char *wrap(char *inner, const char *before, const char *after)
{
	char *text = ri_format("%s%s%s", before, inner, after);

	free(inner);
	return text;
}

static char *wrap_array(const struct ri_type_node *node, char *inner)
{
	char count[32];

	if (!node->dimension_count)
		return wrap(inner, "", "[]");
	for (size_t i = 0; i < node->dimension_count; i++) {
		snprintf(count, sizeof(count), node->dimensions[i] ? "[%lu]" : "[]",
			 (unsigned long)node->dimensions[i]);
		inner = wrap(inner, "", count);
	}
	return inner;
}

/* In front of "*x" a space, in front of "[3]" none. */
static char *join(char *name, char *inner)
{
	const char *between = !*inner ? "" : " ";
	char *text = ri_format("%s%s%s", name, between, inner);

	free(name);
	free(inner);
	return text;
}

static char *wrap_pointer(const struct ri_type_node *node, const struct ri_type_node *target,
			  char *inner)
{
	inner = wrap(inner,
		     node->tag == DW_TAG_reference_type		 ? "&"
		     : node->tag == DW_TAG_rvalue_reference_type ? "&&"
								 : "*",
		     "");
	if (target->type.kind == RI_TYPE_ARRAY || target->type.kind == RI_TYPE_FUNCTION)
		inner = wrap(inner, "(", ")");
	return inner;
}

/* A qualifier of a pointer stands behind its star, of all else in front. */
static char *spell_declarator(struct ri_types *types, struct ri_type_node *node, char *inner,
			      int depth)
{
	struct ri_type_node *target = ri_loader_target(types, node);
	const char *qualifier;

	if (depth > NESTING_MAX)
		return join(ri_strdup("..."), inner);
	switch (node->type.kind) {
	case RI_TYPE_POINTER:
		return spell_declarator(types, target, wrap_pointer(node, target, inner),
					depth + 1);
	case RI_TYPE_ARRAY:
		return spell_declarator(types, target, wrap_array(node, inner), depth + 1);
	case RI_TYPE_FUNCTION:
		return spell_declarator(types, target, wrap(inner, "", "()"), depth + 1);
	case RI_TYPE_QUALIFIED:
		qualifier = qualifier_of(node->tag);
		if (target->type.kind == RI_TYPE_POINTER)
			return spell_declarator(types, target,
						*inner ? wrap(wrap(inner, " ", ""), qualifier, "")
						       : wrap(inner, qualifier, ""),
						depth + 1);
		inner = spell_declarator(types, target, inner, depth + 1);
		return *qualifier ? wrap(wrap(inner, " ", ""), qualifier, "") : inner;
	default:
		return join(spell_name(node), inner);
	}
}

const char *ri_type_spell(struct ri_types *types, const struct ri_type *type)
{
	struct ri_type_node *node = ri_type_node_of(type);
	char *text;

	if (!node->spelling) {
		text = spell_declarator(types, node, ri_strdup(""), 0);
		node->spelling = ri_strings_add(types->names.strings, text);
		free(text);
	}
	return node->spelling;
}
