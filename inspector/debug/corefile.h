/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What libbfd is used for: the failing command and signal of a core file, and
 * C++ and Rust demangling.  The one file that includes bfd.h is corefile.c.
 */
#ifndef RI_DEBUG_COREFILE_H
#define RI_DEBUG_COREFILE_H

/* The command that a core says it failed in, and the signal number (0: none
 * known).  *ret_command is owned by the caller and may be null. */
void ri_corefile_describe(const char *path, char **ret_command, int *ret_signal);

/* A new demangled name, or null if `name` is not mangled. */
char *ri_demangle(const char *name);

#endif
