/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file that gdb writes for us, where only gdb can read the memory.  It
 * takes two calls of `gdb-session`: the first says where the file shall be, the
 * second finds it there.  What must be known in between lies in the answer's
 * directory.
 */
#ifndef RI_CLI_GDB_DUMP_H
#define RI_CLI_GDB_DUMP_H

#include "base/error.h"
#include "cli/gdb_context.h"

/*
 * Makes a private folder for the core file, in $TMPDIR or /var/tmp (/tmp may be
 * memory), and remembers it and the arguments in `directory`.  The path of the
 * file is a new string in *ret.
 */
struct ri_error *ri_gdb_dump_prepare(const char *directory, const struct ri_gdb_context *context,
				     char **ret);

/*
 * Opens the core file that was asked for and removes it and its folder, so that
 * whatever happens to us, nothing of that size stays behind; puts the arguments
 * back into `context`.  *ret is a descriptor.  RI_ERROR_NOT_FOUND: gdb wrote none.
 */
struct ri_error *ri_gdb_dump_take(const char *directory, struct ri_gdb_context *context, int *ret);

/* Removes what is left of an exchange that did not come to its end. */
void ri_gdb_dump_discard(const char *directory);

#endif
