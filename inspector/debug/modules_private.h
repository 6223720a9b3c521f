/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the rest of debug/ may know of a module: its files, program headers,
 * libdwfl and libdw handles.
 */
#ifndef RI_DEBUG_MODULES_PRIVATE_H
#define RI_DEBUG_MODULES_PRIVATE_H

#include <elfutils/libdwfl.h>

#include "base/strings.h"
#include "debug/elf_file.h"
#include "debug/modules.h"
#include "debug/split.h"

struct ri_symbols;
struct ri_tls;

struct ri_module_state {
	char *path, *file_path, *debug_path, *why_not; /* behind struct ri_module's */
	Elf64_Phdr *phdrs;       /* of the file where there is one, else of memory */
	size_t phdr_count;
	bool is_by_path, is_vdso;
	uint64_t base, map_end;  /* first mapping */

	struct ri_elf_file *main_file;  /* what libdwfl is given as the module's ELF file */
	struct ri_elf_file *debug_file; /* separate debug file, or null */
	uint8_t *vdso_bytes;
	Elf *vdso_elf;           /* until libdwfl has it */
	struct ri_elf_file *alternate_file; /* of dwz */
	Dwarf *alternate;

	Dwfl_Module *dwfl;       /* or null */
	Dwarf *dwarf;            /* with at least one unit, or null */
	bool owns_dwarf;         /* ours, not libdwfl's */
	uint64_t dwarf_bias;     /* added to addresses in `dwarf` */
	struct ri_splits splits; /* what its skeleton units stand for */

	struct ri_symbols *symbols; /* read when first asked for */
};

struct ri_modules {
	struct ri_target *target;
	struct ri_module *list;  /* list[i] is states[i]'s public face */
	struct ri_module_state *states;
	size_t count;
	Dwfl *dwfl;
	struct ri_strings *strings;
	struct ri_tls *tls;      /* see tls.h */
};

/* The private side of `module`. */
struct ri_module_state *ri_modules_state(const struct ri_modules *modules,
					 const struct ri_module *module);

/* Whether [addr, addr + size_bytes) lies in one PT_LOAD of the module. */
bool ri_module_maps(const struct ri_modules *modules, const struct ri_module *module,
		    uint64_t addr, uint64_t size_bytes);

/*
 * Reports every module with a file to a new libdwfl session and opens the
 * DWARF: fills dwfl, dwarf, dwarf_bias, alternate of each state (dwarf.c).
 */
void ri_modules_open_dwarf(struct ri_modules *modules, const struct ri_modules_options *options,
			   struct ri_gaps *gaps);
void ri_modules_close_dwarf(struct ri_modules *modules);

void ri_symbols_destroy(struct ri_symbols *symbols);

/* Finds, and frees, modules->tls (tls.c); symbols must be readable. */
void ri_tls_init(struct ri_modules *modules, struct ri_gaps *gaps);
void ri_tls_deinit(struct ri_modules *modules);

#endif
