/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which objects are the first of a leaked chain: what unreachable, group-only
 * and surplus must agree on, so that one lost pointer is one finding.
 */
#ifndef RI_CHECK_LEAK_H
#define RI_CHECK_LEAK_H

#include "check/check.h"

/* Unreachable, with a sound header and a live count, and neither static nor
 * marked as no leak. */
bool ri_object_is_leaked(const struct ri_analysis *analysis, uint32_t object);

/*
 * A leaked object that no other leaked object holds and that is in no cycle.  A
 * leak root of the graph that is dead or exempt gets no finding; the living
 * objects that it alone holds are then the first of their chain.
 */
bool ri_object_is_leak_root(const struct ri_analysis *analysis, uint32_t object);

/* Per object, whether it contains the head of a group that has members: a new array. */
bool *ri_find_group_owners(const struct ri_analysis *analysis);

/* Whether the object lies in a block that the allocator's records show as used:
 * else nobody knows whether it is alive. */
bool ri_object_is_in_used_block(const struct ri_analysis *analysis, uint32_t object);

#endif
