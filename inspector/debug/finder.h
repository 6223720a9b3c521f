/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the files of a module are looked for, and which of them are taken.
 * Never asks the network.
 */
#ifndef RI_DEBUG_FINDER_H
#define RI_DEBUG_FINDER_H

#include "debug/elf_file.h"

/* What is known of a module before any file is open. */
struct ri_wanted {
	const char *path;        /* as the target names it; null: no name */
	const struct ri_image *image;
	const struct ri_elf_image *elf; /* phdr_count 0: no header in memory */
	const uint8_t *build_id;
	uint32_t build_id_size_bytes;
	pid_t live_pid;          /* 0: a core */
	uint64_t map_start, map_end; /* its first mapping, for a live process */
	bool is_main;
};

struct ri_found {
	struct ri_elf_file *file;  /* null: none */
	struct ri_elf_file *debug; /* a debug-only file met on the way (-e); or null */
	enum ri_identity identity; /* of `file` */
	char *why_not;             /* new line: the most telling refusal; null with a file */
};

/* Looks for the module's own file: sysroot + path, path, the same without
 * " (deleted)", the live process's own view, DEBUGDIR/.build-id. */
void ri_finder_find_file(const struct ri_modules_options *options, const struct ri_wanted *wanted,
			 struct ri_found *ret);

/* Opens options->exe_path as the main executable; an error if it is not it.
 * With `wanted` null there is nothing to compare with: taken, UNKNOWN. */
struct ri_error *ri_finder_open_exe(const struct ri_modules_options *options,
				    const struct ri_wanted *wanted, struct ri_found *ret);

/*
 * The separate debug file: DEBUGDIR/.build-id/xx/yyyy.debug, then what the
 * .gnu_debuglink of `file` (may be null) names beside it, in .debug/, under each
 * DEBUGDIR, and straight in each of the user's own; there too NAME.debug, after
 * the target's `path` (may be null).  A file is taken by its build-id or, where a
 * link names it, its CRC.  Null with a new line in *ret_why if there is none.
 */
struct ri_elf_file *ri_finder_find_debug(const struct ri_modules_options *options,
					 const struct ri_elf_file *file, const char *path,
					 const uint8_t *build_id,
					 uint32_t build_id_size_bytes, char **ret_why);

/* The file that a .gnu_debugaltlink in `from` names (dwz), with this build-id,
 * or null. */
struct ri_elf_file *ri_finder_find_alternate(const struct ri_modules_options *options,
					     const char *from, const char *name,
					     const uint8_t *build_id,
					     uint32_t build_id_size_bytes);

/*
 * Calls back with each path at which the .dwo file called `name` of a unit compiled in
 * `comp_dir` (may be null) may lie, until the callback, which owns the path, returns true:
 * there, under the sysroot, beside each of `holders` (ended by null), under each DEBUGDIR,
 * and straight in each of the user's own.
 */
void ri_finder_each_split(const struct ri_modules_options *options, const char *const *holders,
			  const char *comp_dir, const char *name,
			  bool (*callback)(char *path, void *data), void *data);

#endif
