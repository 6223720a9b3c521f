/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Split DWARF: the .dwo files, or the .dwp package, that hold the contents of a module's
 * skeleton units.
 */
#ifndef RI_DEBUG_SPLIT_H
#define RI_DEBUG_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/gaps.h"
#include "base/memory.h"
#include "debug/die.h"
#include "debug/package.h"

struct ri_elf_file;
struct ri_module;
struct ri_module_state;
struct ri_modules_options;

/* One skeleton unit. */
struct ri_split {
	Dwarf_Off skeleton;      /* offset of its DIE */
	uint64_t id;             /* ties it to its contents */
	uint64_t address_base;   /* in bytes: where its part of .debug_addr starts */
	Dwarf *dwarf;            /* which has the unit with this id; null: not found */
	struct ri_elf_file *file; /* behind `dwarf`; null: an earlier unit or the package has it */
};

struct ri_splits {
	RI_VEC(struct ri_split) items; /* ascending by skeleton */
	struct ri_package *package; /* or null */
	const uint8_t *addresses; /* .debug_addr of the module's file */
	size_t addresses_bytes;
};

/* Finds the contents of all skeleton units in state->dwarf.  What is not found is a gap
 * that names the file, and matters where the module is the executable. */
void ri_splits_open(const struct ri_module *module, struct ri_module_state *state,
		    const struct ri_modules_options *options, struct ri_gaps *gaps);
void ri_splits_close(struct ri_splits *splits);

/* The split whose skeleton unit's DIE is at this offset, or null. */
const struct ri_split *ri_splits_find(const struct ri_splits *splits, Dwarf_Off skeleton);

/* The DIE of the type with this signature in the package; addr null: none. */
struct ri_die ri_splits_type(const struct ri_splits *splits, uint64_t signature);

/* Whether `unit` of split->dwarf is what the skeleton stands for or, where the file is
 * its own, a type unit. */
bool ri_split_has_unit(const struct ri_split *split, Dwarf_CU *unit);

/* Whether it is a type unit, of a package or of a split's own file. */
bool ri_split_is_type_unit(Dwarf_CU *unit);

/* Address number `index` of the skeleton's unit, without bias; false if there is none. */
bool ri_split_address(const struct ri_splits *splits, const struct ri_split *split,
		      uint64_t index, uint64_t *ret);

#endif
