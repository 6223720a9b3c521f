/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inside of structs, classes and unions: members, bit-fields, base classes
 * and the variant parts of Rust enumerations.
 *
 * A member that would lie beyond its struct is dropped, so that nobody reads
 * outside of an object because DWARF says so.  Base classes come out as
 * anonymous members, variant parts as an anonymous union of their variants.
 * Blind spots: virtual base classes lie where the object's vtable says and are
 * left out.
 */
#include <string.h>

#include "debug/loader.h"

#define DISCRIMINANT_NAME "__discriminant"

typedef RI_VEC(struct ri_member) member_list;

/* DW_AT_data_member_location in bytes: a constant, or an expression that adds
 * one.  False for other expressions; absent is 0, as in unions. */
static bool read_location(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	*ret = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr) ||
	    ri_die_constant(die, DW_AT_data_member_location, ret))
		return true;
	if (dwarf_getlocation(&attr, &ops, &count))
		return false;
	if (count == 1 && ops[0].atom == DW_OP_plus_uconst) {
		*ret = ops[0].number;
		return true;
	}
	if (count == 2 && (ops[0].atom == DW_OP_constu || ops[0].atom == DW_OP_consts) &&
	    ops[1].atom == DW_OP_plus) {
		*ret = ops[0].number;
		return true;
	}
	return false;
}

/* Places a bit-field: DW_AT_data_bit_offset counts from the struct's start,
 * the older DW_AT_bit_offset from the most significant bit of the storage
 * unit, whose size is the member's own or its type's.  False: it cannot be one. */
static bool place_bits(Dwarf_Die *die, struct ri_member *member)
{
	uint64_t bit_size, offset, storage_bytes = member->type->size_bytes;

	if (!ri_die_constant(die, DW_AT_bit_size, &bit_size))
		return true;
	if (!bit_size || bit_size > 64 || (storage_bytes && bit_size > storage_bytes * 8))
		return false;
	member->bit_size = (uint32_t)bit_size;
	if (ri_die_constant(die, DW_AT_data_bit_offset, &offset)) {
		/* DWARF 5 allows a byte location besides, from which it then counts */
		if (offset > RI_TYPE_MAX_BYTES * 8)
			return false;
		member->offset_bits += offset;
	} else if (ri_die_constant(die, DW_AT_bit_offset, &offset)) {
		ri_die_constant(die, DW_AT_byte_size, &storage_bytes);
		member->offset_bits += storage_bytes * 8 - offset - bit_size;
	}
	return true;
}

static bool is_empty_struct(const struct ri_type *type)
{
	return type->kind == RI_TYPE_STRUCT && !type->member_count && type->size_bytes <= 1;
}

static bool fits(const struct ri_type *outer, const struct ri_member *member)
{
	uint64_t outer_bits = outer->size_bytes * 8;
	uint64_t bits = member->bit_size ? member->bit_size : member->type->size_bytes * 8;

	/* an empty base class or member may lie at the very end */
	if (is_empty_struct(member->type))
		bits = 0;
	return member->offset_bits <= outer_bits && bits <= outer_bits - member->offset_bits;
}

static void add_member(struct loader *loader, const struct ri_type_node *outer, Dwarf_Die *die,
		       const char *name, member_list *members)
{
	struct ri_member member = { .name = name };
	uint64_t location;

	if (!read_location(die, &location)) {
		ri_gaps_add(loader->types->gaps, RI_GAP_TOLD, "debug",
			    "members whose place is computed at run time are left out");
		return;
	}
	member.type = &ri_loader_load_value(loader, die)->type;
	if (location > RI_TYPE_MAX_BYTES) {
		ri_loader_tell_lie(loader, die, "a member beyond its struct");
		return;
	}
	member.offset_bits = location * 8;
	if (!place_bits(die, &member)) {
		ri_loader_tell_lie(loader, die, "a bit-field that is no part of its type");
		return;
	}
	if (!fits(&outer->type, &member)) {
		ri_loader_tell_lie(loader, die, "a member beyond its struct");
		return;
	}
	*ri_push(members) = member;
}

static void add_base(struct loader *loader, const struct ri_type_node *outer, Dwarf_Die *die,
		     member_list *members)
{
	uint64_t virtuality = DW_VIRTUALITY_none;

	ri_die_constant(die, DW_AT_virtuality, &virtuality);
	if (virtuality != DW_VIRTUALITY_none) {
		ri_gaps_add(loader->types->gaps, RI_GAP_TOLD, "debug",
			    "virtual base classes are left out of their classes");
		return;
	}
	add_member(loader, outer, die, NULL, members);
}

static bool is_static_member(Dwarf_Die *die)
{
	return ri_die_flag(die, DW_AT_external) || ri_die_flag(die, DW_AT_declaration);
}

static void set_members(struct ri_type_node *node, member_list *members)
{
	node->members = members->items;
	node->type.members = members->items;
	node->type.member_count = members->count;
}

static void add_variants(struct loader *loader, const struct ri_type_node *arms,
			 Dwarf_Die *variant, member_list *members)
{
	Dwarf_Die child;

	for (bool ok = ri_die_next_child(variant, true, &child); ok;
	     ok = ri_die_next_child(variant, false, &child))
		if (dwarf_tag(&child) == DW_TAG_member)
			add_member(loader, arms, &child, dwarf_diename(&child), members);
}

static void add_discriminant(struct loader *loader, const struct ri_type_node *outer,
			     Dwarf_Die *die, struct ri_type_node *arms, member_list *members)
{
	const char *name = dwarf_diename(die);
	size_t before = members->count;

	add_member(loader, outer, die, name ? name : DISCRIMINANT_NAME, members);
	if (members->count == before)
		return;
	arms->type.has_discriminant = true;
	arms->type.discriminant_bytes = members->items[before].offset_bits / 8;
}

/* The discriminant becomes a member of the struct, the variants the arms of an
 * anonymous union over the whole of it. */
static void add_variant_part(struct loader *loader, const struct ri_type_node *outer,
			     Dwarf_Die *part, member_list *members)
{
	struct ri_type_node *arms = ri_loader_create_node(loader->types, loader->module);
	struct ri_member *member;
	member_list arm_list = { 0 };
	Dwarf_Die child;

	arms->tag = DW_TAG_union_type;
	arms->type.kind = RI_TYPE_UNION;
	arms->type.size_bytes = outer->type.size_bytes;
	arms->type.die_offset = dwarf_dieoffset(part);
	for (bool ok = ri_die_next_child(part, true, &child); ok;
	     ok = ri_die_next_child(part, false, &child)) {
		if (dwarf_tag(&child) == DW_TAG_member)
			add_discriminant(loader, outer, &child, arms, members);
		else if (dwarf_tag(&child) == DW_TAG_variant)
			add_variants(loader, arms, &child, &arm_list);
	}
	set_members(arms, &arm_list);
	member = ri_push(members);
	member->type = &arms->type;
}

void ri_loader_fill_aggregate(struct loader *loader, struct ri_type_node *node, Dwarf_Die *die)
{
	member_list members = { 0 };
	Dwarf_Die child;

	node->type.kind = node->tag == DW_TAG_union_type ? RI_TYPE_UNION : RI_TYPE_STRUCT;
	for (bool ok = ri_die_next_child(die, true, &child); ok;
	     ok = ri_die_next_child(die, false, &child)) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_member:
			if (!is_static_member(&child))
				add_member(loader, node, &child, dwarf_diename(&child), &members);
			break;
		case DW_TAG_inheritance:
			add_base(loader, node, &child, &members);
			break;
		case DW_TAG_variant_part:
			add_variant_part(loader, node, &child, &members);
			break;
		default:
			break;
		}
	}
	set_members(node, &members);
}
