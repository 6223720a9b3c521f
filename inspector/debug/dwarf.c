/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The libdwfl session and each module's DWARF.
 *
 * libdwfl is told the modules that we found, at the addresses that we found,
 * and gets the files that our finder took through its two callbacks: it neither
 * searches nor asks debuginfod.  Two corners are covered besides:
 *
 * - libdwfl takes an ELF file with .debug_frame or .debug_line alone for one
 *   that carries its DWARF and then never asks for the separate debug file; we
 *   open that one ourselves.
 * - libdw looks for the common file that dwz splits off by itself when it first
 *   meets a reference into it, and opens whatever file is named there.  So the
 *   alternate is always set: to the right file, or to an empty one.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "debug/finder.h"
#include "debug/modules_private.h"
#include "debug/split.h"

/* Gives libdwfl the ELF object that is already open. */
static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base,
		    char **ret_file_name, Elf **ret_elf)
{
	struct ri_module_state *state = *userdata;
	struct ri_elf_file *file = state->main_file ? state->main_file : state->debug_file;

	(void)dwfl_module;
	(void)name;
	(void)base;
	errno = ENOENT;
	if (file && file->elf) {
		*ret_elf = file->elf;
		file->elf = NULL;
		*ret_file_name = strdup(file->path);
	} else if (state->vdso_elf) {
		*ret_elf = state->vdso_elf;
		state->vdso_elf = NULL;
	}
	return -1;
}

/* Gives libdwfl the separate debug file, once; a second question is for the
 * file that dwz split off, which open_alternate() sets. */
static int find_debuginfo(Dwfl_Module *dwfl_module, void **userdata, const char *name,
			  Dwarf_Addr base, const char *file_name, const char *link_name,
			  GElf_Word link_crc, char **ret_file_name)
{
	struct ri_module_state *state = *userdata;
	int fd;

	(void)dwfl_module;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link_name;
	(void)link_crc;
	errno = ENOENT;
	/* what was rewritten is in no file: open_own_dwarf() reads it */
	if (!state->main_file || !state->debug_file || state->debug_file->fd < 0 ||
	    state->debug_file->rewritten.bytes)
		return -1;
	fd = state->debug_file->fd;
	state->debug_file->fd = -1;
	*ret_file_name = strdup(state->debug_file->path);
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

/* libdwfl computes the bias back from the module's start and the first PT_LOAD
 * of its file, with the same rounding. */
static uint64_t dwfl_start(const struct ri_module *module, const struct ri_module_state *state)
{
	for (size_t i = 0; i < state->phdr_count; i++)
		if (state->phdrs[i].p_type == PT_LOAD)
			return module->bias + (state->phdrs[i].p_vaddr & -state->phdrs[i].p_align);
	return module->start;
}

static void report_modules(struct ri_modules *modules)
{
	dwfl_report_begin(modules->dwfl);
	for (size_t i = 0; i < modules->count; i++) {
		struct ri_module_state *state = &modules->states[i];
		const struct ri_module *module = &modules->list[i];
		uint64_t start = dwfl_start(module, state);
		void **userdata;

		if ((!state->main_file && !state->debug_file && !state->vdso_elf) ||
		    start >= module->end)
			continue;
		state->dwfl = dwfl_report_module(modules->dwfl, module->path, start, module->end);
		if (!state->dwfl)
			continue;
		dwfl_module_info(state->dwfl, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = state;
	}
	dwfl_report_end(modules->dwfl, NULL, NULL);
}

static bool has_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;

	return dwarf && !dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL);
}

static uint64_t first_load_vaddr(const Elf64_Phdr *phdrs, size_t phdr_count)
{
	for (size_t i = 0; i < phdr_count; i++)
		if (phdrs[i].p_type == PT_LOAD)
			return ri_page_down(phdrs[i].p_vaddr);
	return 0;
}

/* libdw's own ends the process with status 1. */
__attribute__((noreturn)) static void end_without_memory(void)
{
	ri_memory_exhausted(0);
}

/* The separate debug file where libdwfl did not ask for it. */
static void open_own_dwarf(const struct ri_module *module, struct ri_module_state *state)
{
	struct ri_elf_file *file = state->debug_file;

	if (!file || !file->elf)
		return;
	state->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (state->dwarf && !has_units(state->dwarf)) {
		dwarf_end(state->dwarf);
		state->dwarf = NULL;
	}
	state->owns_dwarf = state->dwarf;
	state->dwarf_bias = module->bias + first_load_vaddr(state->phdrs, state->phdr_count) -
			    first_load_vaddr(file->phdrs, file->phdr_count);
}

/* An ELF file whose .debug_info is one byte long, which no unit fits in. */
struct empty_elf {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[3];
	char names[24];
	uint8_t info[1];
};

static struct ri_elf_file *create_empty_alternate(void)
{
	struct ri_elf_file *file = ri_calloc(1, sizeof(*file));
	struct empty_elf *image = ri_calloc(1, sizeof(*image));

	memcpy(image->ehdr.e_ident, ELFMAG, SELFMAG);
	image->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	image->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	image->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	image->ehdr.e_type = ET_DYN;
	image->ehdr.e_machine = EM_X86_64;
	image->ehdr.e_version = EV_CURRENT;
	image->ehdr.e_ehsize = sizeof(Elf64_Ehdr);
	image->ehdr.e_shoff = offsetof(struct empty_elf, shdrs);
	image->ehdr.e_shentsize = sizeof(Elf64_Shdr);
	image->ehdr.e_shnum = 3;
	image->ehdr.e_shstrndx = 1;
	memcpy(image->names, "\0.shstrtab\0.debug_info", sizeof("\0.shstrtab\0.debug_info"));
	image->shdrs[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_addralign = 1,
					.sh_offset = offsetof(struct empty_elf, names),
					.sh_size = sizeof(image->names) };
	image->shdrs[2] = (Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_addralign = 1,
					.sh_offset = offsetof(struct empty_elf, info),
					.sh_size = sizeof(image->info) };
	file->fd = -1;
	file->path = (char *)image; /* freed with the file, after libelf is done with it */
	file->elf = elf_memory((char *)image, sizeof(*image));
	return file;
}

static void open_alternate(struct ri_module_state *state, const char *path,
			   const struct ri_modules_options *options, const char *module_path,
			   struct ri_gaps *gaps)
{
	const char *name;
	const void *build_id;
	ssize_t size_bytes = dwelf_dwarf_gnu_debugaltlink(state->dwarf, &name, &build_id);

	if (!size_bytes)
		return;
	if (size_bytes > 0 && size_bytes <= RI_BUILD_ID_MAX_BYTES && path)
		state->alternate_file = ri_finder_find_alternate(options, path, name, build_id,
								 (uint32_t)size_bytes);
	if (!state->alternate_file) {
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "%s: its DWARF refers to %s, which was not found; types are missing",
			    module_path, size_bytes > 0 ? name : "a damaged .gnu_debugaltlink");
		state->alternate_file = create_empty_alternate();
	}
	state->alternate = dwarf_begin_elf(state->alternate_file->elf, DWARF_C_READ, NULL);
	if (!state->alternate)
		return;
	dwarf_new_oom_handler(state->alternate, end_without_memory);
	dwarf_setalt(state->dwarf, state->alternate);
}

static const char *why_unread(const struct ri_module_state *state)
{
	const struct ri_elf_file *file = state->debug_file ? state->debug_file : state->main_file;

	return file && file->why_unread ? file->why_unread : dwfl_errmsg(-1);
}

static void open_dwarf(struct ri_modules *modules, size_t i,
		       const struct ri_modules_options *options, struct ri_gaps *gaps)
{
	struct ri_module_state *state = &modules->states[i];
	struct ri_module *module = &modules->list[i];
	Dwarf_Addr bias = 0;
	const char *path;

	if (!state->dwfl || state->is_vdso)
		return;
	errno = 0;
	state->dwarf = dwfl_module_getdwarf(state->dwfl, &bias);
	if (!state->dwarf && errno == ENOMEM)
		end_without_memory();
	state->dwarf_bias = bias;
	if (!has_units(state->dwarf)) {
		state->dwarf = NULL;
		open_own_dwarf(module, state);
	}
	if (!state->dwarf) {
		if (!state->why_not)
			state->why_not = ri_format("its DWARF cannot be read: %s",
						   why_unread(state));
		module->why_not = state->why_not;
		return;
	}
	module->has_dwarf = true;
	dwarf_new_oom_handler(state->dwarf, end_without_memory);
	path = state->main_file ? state->main_file->path : NULL;
	if (state->debug_file) {
		path = state->debug_file->path;
		state->debug_path = ri_strdup(path);
		module->debug_file = state->debug_path;
	}
	open_alternate(state, path, options, module->path, gaps);
	ri_splits_open(module, state, options, gaps);
}

void ri_modules_open_dwarf(struct ri_modules *modules, const struct ri_modules_options *options,
			   struct ri_gaps *gaps)
{
	modules->dwfl = dwfl_begin(&callbacks);
	if (!modules->dwfl) {
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug", "libdwfl: %s", dwfl_errmsg(-1));
		return;
	}
	report_modules(modules);
	for (size_t i = 0; i < modules->count; i++) {
		open_dwarf(modules, i, options, gaps);
		/* what libdwfl did not ask for: descriptors are few */
		if (modules->states[i].debug_file)
			ri_elf_file_close_descriptor(modules->states[i].debug_file);
	}
}

void ri_modules_close_dwarf(struct ri_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		ri_splits_close(&modules->states[i].splits);
	for (size_t i = 0; i < modules->count; i++)
		if (modules->states[i].owns_dwarf)
			dwarf_end(modules->states[i].dwarf);
	if (modules->dwfl)
		dwfl_end(modules->dwfl);
	for (size_t i = 0; i < modules->count; i++)
		if (modules->states[i].alternate)
			dwarf_end(modules->states[i].alternate);
}
