/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Helpers over libdw's DIEs.  libdw checks that what it reads lies inside its
 * section; what it does not check is that siblings go forwards.
 */
#include "debug/die.h"

#include <string.h>

struct ri_die ri_die_of(const Dwarf_Die *die)
{
	return (struct ri_die){ die->addr, die->cu };
}

Dwarf_Die ri_die_open(struct ri_die die)
{
	Dwarf_Die opened = { .addr = die.addr, .cu = die.unit };

	return opened;
}

bool ri_die_constant(Dwarf_Die *die, unsigned attribute, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Sword signed_value;

	if (!dwarf_attr(die, attribute, &attr))
		return false;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		if (dwarf_formsdata(&attr, &signed_value))
			return false;
		*ret = (uint64_t)signed_value;
		return true;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		if (dwarf_formudata(&attr, &value))
			return false;
		*ret = value;
		return true;
	default:
		return false;
	}
}

bool ri_die_flag(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;
	bool flag;

	return dwarf_attr(die, attribute, &attr) && !dwarf_formflag(&attr, &flag) && flag;
}

bool ri_die_reference(Dwarf_Die *die, unsigned attribute, bool is_integrated, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Attribute *found = is_integrated ? dwarf_attr_integrate(die, attribute, &attr)
					       : dwarf_attr(die, attribute, &attr);

	return found && dwarf_formref_die(&attr, ret);
}

bool ri_die_signature(Dwarf_Die *die, unsigned attribute, uint64_t *ret)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, attribute, &attr) || dwarf_whatform(&attr) != DW_FORM_ref_sig8)
		return false;
	/* libdw has seen to it that the form's bytes lie inside of the section */
	memcpy(ret, attr.valp, sizeof(*ret));
	return true;
}

bool ri_die_next_child(Dwarf_Die *parent, bool is_first, Dwarf_Die *child)
{
	const char *before = is_first ? parent->addr : child->addr;

	if (is_first ? dwarf_child(parent, child) : dwarf_siblingof(child, child))
		return false;
	return (const char *)child->addr > before;
}

bool ri_tag_is_struct(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_interface_type;
}

bool ri_tag_is_aggregate(int tag)
{
	return ri_tag_is_struct(tag) || tag == DW_TAG_union_type;
}

bool ri_die_is_of_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case 0x002c: /* DW_LANG_C17, newer than some <dwarf.h> */
		return true;
	default:
		return false;
	}
}
