/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the program is ending. */
#ifndef RI_CHECK_EXITS_H
#define RI_CHECK_EXITS_H

#include "check/analysis.h"

/*
 * The first thread that stands in exit() or in what that calls (handlers, destructors),
 * or in _exit(), by the symbols of its program counter and of the return addresses on its
 * stack; null where there is none, or no symbols tell.  *ret_symbol is its name, owned by
 * the modules.
 */
const struct ri_thread *ri_exits_find(const struct ri_analysis *analysis,
				      const char **ret_symbol);

#endif
