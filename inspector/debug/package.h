/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packages of split DWARF (.dwp): many .dwo files in one, with an index.
 */
#ifndef RI_DEBUG_PACKAGE_H
#define RI_DEBUG_PACKAGE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "debug/die.h"

struct ri_package;

/* Opens a package; RI_ERROR_INPUT for a file that is none or whose index lies. */
struct ri_error *ri_package_open(const char *path, struct ri_package **ret);
void ri_package_close(struct ri_package *package);

/* The DWARF that has the unit with this id, or null; owned by the package. */
Dwarf *ri_package_find(const struct ri_package *package, uint64_t id);

/* The DWARF number `i` of the package, null from the last one on; each has some units. */
Dwarf *ri_package_dwarf(const struct ri_package *package, size_t i);

/* The type with this signature, if one of its type units has it: addr null otherwise. */
struct ri_die ri_package_type(const struct ri_package *package, uint64_t signature);

#endif
