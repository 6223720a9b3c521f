/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What chains.c and chain_parts.c share.  Private to them. */
#ifndef RI_CENSUS_CHAINS_PRIVATE_H
#define RI_CENSUS_CHAINS_PRIVATE_H

#include "census/chains.h"

/* The index of a lost node in nodes[], or RI_NONE. */
uint32_t ri_chains_find(const struct ri_chains *chains, uint32_t node);

/* Where in order[] a lost node lies, or RI_NONE. */
uint32_t ri_chains_place(const struct ri_chains *chains, uint32_t node);

/* Appends what of order[from + 1 .. end) hangs on order[from], by type, most first. */
void ri_chains_sort_out(const struct ri_chains *chains, size_t from, size_t end,
			ri_chain_part_list *parts);

#endif
