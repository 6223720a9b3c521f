/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which roots keep what alive: for every node the holder class through which the nearest
 * root leads to it.
 */
#ifndef RI_CENSUS_ROOTS_H
#define RI_CENSUS_ROOTS_H

#include "census/holders.h"

/*
 * Per node, the class of the first holder on a shortest path from a root: a variable, a
 * member of a static object, a group whose head is static, a stack.  Paths over certain
 * owners come before those over possible ones, whatever their length.  RI_NONE: no path,
 * or the node is a root itself.  A new array of node_count.  Linear in the edges.
 */
uint32_t *ri_roots_find(const struct ri_holders *holders, const struct ri_population *population);

#endif
