/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps through types that take null, for targets without debug information and
 * for DWARF that leads nowhere.  Private to the census floor. */
#ifndef RI_CENSUS_TYPE_WALK_H
#define RI_CENSUS_TYPE_WALK_H

#include "debug/types.h"

/* `type` without typedefs and qualifiers; null for null. */
static inline const struct ri_type *ri_type_bare(struct ri_types *types, const struct ri_type *type)
{
	return type ? ri_type_strip(types, type) : NULL;
}

/* What a pointer or array refers to, bare; null where it refers to nothing. */
static inline const struct ri_type *ri_type_below(struct ri_types *types,
						  const struct ri_type *type)
{
	return type ? ri_type_bare(types, ri_type_target(types, type)) : NULL;
}

#endif
