/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small questions to a DIE that libdw takes several calls to answer. */
#ifndef RI_DEBUG_DIE_H
#define RI_DEBUG_DIE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a DIE is, without libdw's cache; the address tells DIEs of all open
 * DWARF apart. */
struct ri_die {
	void *addr;              /* null: no DIE */
	Dwarf_CU *unit;
};

struct ri_die ri_die_of(const Dwarf_Die *die);
Dwarf_Die ri_die_open(struct ri_die die);

/* A constant attribute of any form, signed forms sign-extended; false if absent
 * or not a constant. */
bool ri_die_constant(Dwarf_Die *die, unsigned attribute, uint64_t *ret);

/* A flag that is present and set. */
bool ri_die_flag(Dwarf_Die *die, unsigned attribute);

/* The DIE that a reference attribute leads to, in whatever unit or file; `is_integrated`
 * follows DW_AT_specification and DW_AT_abstract_origin first. */
bool ri_die_reference(Dwarf_Die *die, unsigned attribute, bool is_integrated, Dwarf_Die *ret);

/* The signature in a reference attribute by signature that leads to no DIE of its own
 * DWARF; false for others. */
bool ri_die_signature(Dwarf_Die *die, unsigned attribute, uint64_t *ret);

/*
 * Steps through the children of `parent`: *child is the first one when `is_first`, else
 * the next sibling of the current *child.  False at the end and on damage, a sibling
 * that lies backwards included, so that every walk ends.
 */
bool ri_die_next_child(Dwarf_Die *parent, bool is_first, Dwarf_Die *child);

/* Whether a unit is written in C, where structs hold no functions. */
bool ri_die_is_of_c(Dwarf_Die *unit);

bool ri_tag_is_aggregate(int tag);      /* struct, class, interface, union */
bool ri_tag_is_struct(int tag);         /* struct, class, interface */

#endif
