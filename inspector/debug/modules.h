/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules: the ELF objects mapped into a target, each identified by the
 * build-id found in the target's own memory, with the files that carry its
 * sections, symbols and DWARF.  Files are opened by our own finder: regular
 * files only, never blocking, build-id equal.
 *
 * libdwfl stands behind this header and does not show through it.
 */
#ifndef RI_DEBUG_MODULES_H
#define RI_DEBUG_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/gaps.h"
#include "target/target.h"

#define RI_BUILD_ID_MAX_BYTES 64

struct ri_module {
	const char *path;        /* as the target names it */
	const char *file;        /* the file that was used; null: none found or refused */
	const char *debug_file;  /* separate debug file in use, or null */
	uint64_t start, end;     /* [start, end) of its mappings */
	uint64_t bias;           /* added to the file's addresses */
	uint8_t build_id[RI_BUILD_ID_MAX_BYTES];
	uint32_t build_id_size_bytes; /* 0: none in memory */
	bool is_main;            /* the executable */
	bool has_dwarf;          /* DWARF with at least one unit */
	const char *why_not;     /* one line: why file or DWARF is not there; null: all there */
};

struct ri_modules_options {
	const char *exe_path;    /* -e EXE, or null; a build-id that differs is an error */
	const char *const *debug_dirs; /* searched besides /usr/lib/debug; null-terminated or null */
	const char *sysroot;     /* put in front of the target's paths first; or null */
};

struct ri_modules;

/*
 * Finds the modules of `target`, opens their files, completes the image with
 * the FILE ranges and seals it.  `target` must outlive the result.  An error
 * only for what the user asked for by name (exe_path); all else is a gap.
 */
struct ri_error *ri_modules_create(struct ri_target *target,
				   const struct ri_modules_options *options,
				   struct ri_gaps *gaps, struct ri_modules **ret);
void ri_modules_destroy(struct ri_modules *modules);

/* The modules in ascending order of start. */
const struct ri_module *ri_modules_list(const struct ri_modules *modules, size_t *ret_count);

/* The executable's module, or null; `modules` may be null. */
const struct ri_module *ri_modules_main(const struct ri_modules *modules);

/* The module whose mappings contain `addr`, or null. */
const struct ri_module *ri_modules_find(const struct ri_modules *modules, uint64_t addr);

/* Index of a module in ri_modules_list(). */
size_t ri_modules_index(const struct ri_modules *modules, const struct ri_module *module);

/*
 * The ELF symbol that contains `addr` (or, for `exact_size` false, the nearest
 * one before it in the same module): its name, valid as long as the modules,
 * with the distance in *ret_offset and its size in *ret_size_bytes; null if
 * there is none.  The out parameters may be null.
 */
const char *ri_modules_find_symbol(const struct ri_modules *modules, uint64_t addr,
				   bool exact_size, uint64_t *ret_offset,
				   uint64_t *ret_size_bytes);

/* Address of the first global or local data or function symbol called `name`
 * in any module (in `module` alone unless null). */
bool ri_modules_find_symbol_addr(const struct ri_modules *modules,
				 const struct ri_module *module, const char *name,
				 uint64_t *ret);

/* Writable data of a module as mapped (.data, .bss, .data.rel.ro), one range
 * per PT_LOAD that is writable in the file: calls back with [start, end). */
void ri_modules_each_data_range(const struct ri_modules *modules,
				void (*callback)(const struct ri_module *module, uint64_t start,
						 uint64_t end, void *data),
				void *data);

#endif
