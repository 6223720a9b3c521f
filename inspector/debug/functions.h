/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that DWARF knows, with what their first parameters point at:
 * enough to see which structs come with a get and a put.  Read in one pass of
 * its own when somebody asks; nothing of it is kept.
 */
#ifndef RI_DEBUG_FUNCTIONS_H
#define RI_DEBUG_FUNCTIONS_H

#include <stdbool.h>

#include "debug/types.h"

#define RI_FUNCTION_PARAMETERS 2

struct ri_function {
	const char *name;        /* source name, unqualified */
	/* The structs (classes, unions) that the first parameters point at, through typedefs
	 * and qualifiers: unqualified names, those of typedefs for structs that have no other;
	 * null: no such pointer, or no such parameter.  C++: `this` is the first. */
	const char *pointees[RI_FUNCTION_PARAMETERS];
};

/*
 * Calls back for each function of `module` that is defined or declared in its DWARF;
 * inline ones come once per unit.  Texts are valid as long as the modules.  Stops on
 * false.  Linear in the DWARF; units in .dwo and dwz files are left out.
 */
void ri_types_each_function(struct ri_types *types, const struct ri_module *module,
			    bool (*callback)(const struct ri_function *function, void *data),
			    void *data);

/* The source file that declares the struct, as DWARF names it; null where it does not say. */
const char *ri_type_source_file(const struct ri_type *type);

#endif
