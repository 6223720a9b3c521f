/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The module table: finds each module's files, completes the image from them,
 * and answers which module an address belongs to.
 *
 * locate.c knows where ELF objects are mapped, finder.c where files are looked
 * for, elf_file.c what makes a file the right one, dwarf.c opens DWARF through
 * libdwfl, symbols.c reads symbol tables.
 *
 * The image is completed with FILE ranges: the parts of the PT_LOADs of a
 * matching file that the target maps at the file offsets that the program
 * headers say.  The kernel leaves a private file mapping out of a core only
 * while it has no anonymous page, so an absent writable segment is unmodified
 * and can be filled as well; the image lets bytes that the core has win.
 */
#include "debug/modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "debug/finder.h"
#include "debug/locate.h"
#include "debug/modules_private.h"

struct ri_module_state *ri_modules_state(const struct ri_modules *modules,
					 const struct ri_module *module)
{
	return &modules->states[ri_modules_index(modules, module)];
}

/* Takes over what was located. */
static void fill_module(struct ri_modules *modules, size_t i, struct ri_located *located)
{
	struct ri_module_state *state = &modules->states[i];
	struct ri_module *module = &modules->list[i];
	const char *command = modules->target->command;

	if (!located->path)
		located->path = ri_strdup(located->is_main && command ? command : "[unnamed]");
	state->path = located->path;
	state->base = located->elf.base;
	state->map_end = located->map_end;
	state->is_by_path = located->is_by_path;
	state->is_vdso = located->is_vdso;
	state->phdrs = located->elf.phdrs;
	state->phdr_count = located->elf.phdr_count;
	module->path = state->path;
	module->start = located->start;
	module->end = located->end;
	module->bias = located->elf.bias;
	module->is_main = located->is_main;
	module->build_id_size_bytes =
		ri_elf_image_build_id(modules->target->image, &located->elf, module->build_id,
				      sizeof(module->build_id));
	located->path = NULL;
	located->elf.phdrs = NULL;
}

static void set_why_not(struct ri_modules *modules, size_t i, char *why)
{
	free(modules->states[i].why_not);
	modules->states[i].why_not = why;
	modules->list[i].why_not = why;
}

/* With the file's own program headers the bias is the file's too: a prelinked
 * file may lie at other addresses than the copy in memory was linked for. */
static bool adopt_phdrs(struct ri_modules *modules, size_t i, const struct ri_elf_file *file)
{
	struct ri_module_state *state = &modules->states[i];
	struct ri_module *module = &modules->list[i];
	uint64_t bias, start, end;

	if (!ri_phdrs_find_bias(file->phdrs, file->phdr_count, state->base, &bias))
		return false;
	if (file->ehdr.e_type == ET_EXEC && bias)
		return false;
	free(state->phdrs);
	state->phdr_count = file->phdr_count;
	state->phdrs = ri_calloc(file->phdr_count, sizeof(*state->phdrs));
	memcpy(state->phdrs, file->phdrs, file->phdr_count * sizeof(*state->phdrs));
	module->bias = bias;
	ri_phdrs_extent(state->phdrs, state->phdr_count, bias, &start, &end);
	/* its .bss; up to the next module, which settle() saw to for memory's headers */
	if (end > module->end && (i + 1 == modules->count || end <= modules->list[i + 1].start))
		module->end = end;
	return true;
}

static void take_found(struct ri_modules *modules, size_t i, struct ri_found *found,
		       struct ri_gaps *gaps)
{
	struct ri_module_state *state = &modules->states[i];
	struct ri_module *module = &modules->list[i];
	struct ri_elf_file *file = found->file;

	if (file && !adopt_phdrs(modules, i, file)) {
		found->why_not = ri_format("%s does not lie where its headers say", file->path);
		ri_elf_file_close(file);
		file = NULL;
	}
	state->debug_file = found->debug;
	if (!file) {
		set_why_not(modules, i, found->why_not);
		return;
	}
	free(found->why_not);
	state->main_file = file;
	state->file_path = ri_strdup(file->path);
	module->file = state->file_path;
	if (!module->build_id_size_bytes && file->build_id_size_bytes &&
	    found->identity != RI_IDENTITY_UNKNOWN) {
		memcpy(module->build_id, file->build_id, file->build_id_size_bytes);
		module->build_id_size_bytes = file->build_id_size_bytes;
	}
	if (found->identity == RI_IDENTITY_FIRST_PAGE)
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "%s has no build-id in memory: taken for %s by its headers alone",
			    file->path, module->path);
	else if (found->identity == RI_IDENTITY_UNKNOWN)
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "%s was taken for %s unchecked: the target's memory does not hold "
			    "its headers",
			    file->path, module->path);
}

static struct ri_error *find_files(struct ri_modules *modules, size_t i,
				   const struct ri_modules_options *options, struct ri_gaps *gaps)
{
	const struct ri_module_state *state = &modules->states[i];
	const struct ri_module *module = &modules->list[i];
	struct ri_target *target = modules->target;
	struct ri_elf_image elf = { .base = state->base, .bias = module->bias,
				    .phdrs = state->phdrs, .phdr_count = state->phdr_count };
	struct ri_wanted wanted = {
		.path = state->path,
		.image = target->image,
		.elf = &elf,
		.build_id = module->build_id,
		.build_id_size_bytes = module->build_id_size_bytes,
		.live_pid = target->kind == RI_TARGET_LIVE ? target->pid : 0,
		.map_start = state->base,
		.map_end = state->map_end,
		.is_main = module->is_main,
	};
	struct ri_found found = { 0 };
	struct ri_error *error = NULL;

	if (module->is_main && options->exe_path)
		error = ri_finder_open_exe(options, &wanted, &found);
	if (!error && !found.file)
		ri_finder_find_file(options, &wanted, &found);
	if (!error)
		take_found(modules, i, &found, gaps);
	return error;
}

struct file_part {
	const struct ri_elf_file *file;
	struct ri_image *image;
	uint32_t flags;
	bool has_mapping;
};

static void add_file_part(uint64_t start, uint64_t end, uint64_t file_offset, void *data)
{
	struct file_part *part = data;
	uint64_t mapped_bytes = ri_page_up(part->file->size_bytes);
	struct ri_range range = { .start = start, .kind = RI_RANGE_FILE, .flags = part->flags };

	if (file_offset >= mapped_bytes)
		return;
	range.end = end - start < mapped_bytes - file_offset ? end
							      : start + (mapped_bytes - file_offset);
	range.bytes = part->file->bytes + file_offset;
	ri_image_add(part->image, &range);
	part->has_mapping = true;
}

/*
 * Adds the file-backed pages of each PT_LOAD.  Whole pages, as they are mapped,
 * except the end of a segment that goes on with .bss: there the kernel zeroed
 * the rest of the page.
 */
static void add_file_ranges(struct ri_modules *modules, size_t i)
{
	struct ri_module_state *state = &modules->states[i];
	struct file_part part = { .file = state->main_file, .image = modules->target->image };

	if (!state->main_file)
		return;
	for (size_t k = 0; k < state->phdr_count; k++) {
		const Elf64_Phdr *phdr = &state->phdrs[k];
		uint64_t start = ri_page_down(phdr->p_vaddr) + modules->list[i].bias, end;

		if (phdr->p_type != PT_LOAD || !phdr->p_filesz ||
		    ((phdr->p_vaddr ^ phdr->p_offset) & (RI_PAGE_BYTES - 1)))
			continue;
		end = phdr->p_vaddr + modules->list[i].bias + phdr->p_filesz;
		if (phdr->p_memsz == phdr->p_filesz || !(phdr->p_flags & PF_W))
			end = ri_page_up(end);
		part.flags = (phdr->p_flags & PF_R ? RI_RANGE_READ : 0) |
			     (phdr->p_flags & PF_W ? RI_RANGE_WRITE : 0) |
			     (phdr->p_flags & PF_X ? RI_RANGE_EXEC : 0);
		ri_locate_each_mapped(modules->target, state->is_by_path ? state->path : NULL,
				      start, end, ri_page_down(phdr->p_offset), add_file_part,
				      &part);
	}
	ri_elf_file_give_bytes(state->main_file, modules->target->image);
}

/* libdwfl's copy of the vdso: symbols and unwinding through it. */
static void read_vdso(struct ri_modules *modules, size_t i)
{
	struct ri_module_state *state = &modules->states[i];
	const struct ri_module *module = &modules->list[i];
	size_t size_bytes = module->end - module->start;

	if (size_bytes > (1u << 20))
		return;
	state->vdso_bytes = ri_malloc(size_bytes);
	elf_version(EV_CURRENT);
	if (ri_image_read(modules->target->image, module->start, state->vdso_bytes, size_bytes))
		state->vdso_elf = elf_memory((char *)state->vdso_bytes, size_bytes);
}

static void find_debug_file(struct ri_modules *modules, size_t i,
			    const struct ri_modules_options *options)
{
	struct ri_module_state *state = &modules->states[i];
	const struct ri_module *module = &modules->list[i];
	char *why = NULL;

	if (state->main_file && state->main_file->has_units)
		return;
	if (!state->debug_file)
		state->debug_file = ri_finder_find_debug(options, state->main_file,
							 state->path, module->build_id,
							 module->build_id_size_bytes, &why);
	if (state->debug_file && !state->main_file && !adopt_phdrs(modules, i, state->debug_file)) {
		ri_elf_file_close(state->debug_file);
		state->debug_file = NULL;
		why = ri_strdup("its debug file does not lie where its headers say");
	}
	if (!state->debug_file && state->main_file)
		set_why_not(modules, i, why);
	else
		free(why);
}

static struct ri_error *open_files(struct ri_modules *modules,
				   const struct ri_modules_options *options, struct ri_gaps *gaps)
{
	struct ri_error *error;

	for (size_t i = 0; i < modules->count; i++) {
		if (modules->states[i].is_vdso) {
			read_vdso(modules, i);
			continue;
		}
		error = find_files(modules, i, options, gaps);
		if (error)
			return error;
		find_debug_file(modules, i, options);
	}
	/* only now: the finder compares with what the target itself holds */
	for (size_t i = 0; i < modules->count; i++)
		add_file_ranges(modules, i);
	ri_image_seal(modules->target->image);
	return NULL;
}

static void tell_gaps(const struct ri_modules *modules, bool has_main, struct ri_gaps *gaps)
{
	for (size_t i = 0; i < modules->count; i++)
		if (modules->list[i].why_not)
			ri_gaps_add(gaps, RI_GAP_TOLD, "debug", "%s: %s", modules->list[i].path,
				    modules->list[i].why_not);
	if (!has_main)
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "the executable was not found in the target's memory");
}

static struct ri_error *check_exe_path(const struct ri_modules_options *options, bool has_main)
{
	struct ri_found found = { 0 };
	struct ri_error *error;

	if (has_main || !options->exe_path)
		return NULL;
	/* nothing to compare it with, but a file that is no program is still an error */
	error = ri_finder_open_exe(options, NULL, &found);
	ri_elf_file_close(found.file);
	ri_elf_file_close(found.debug);
	return error;
}

struct ri_error *ri_modules_create(struct ri_target *target,
				   const struct ri_modules_options *options,
				   struct ri_gaps *gaps, struct ri_modules **ret)
{
	struct ri_modules *modules = ri_calloc(1, sizeof(*modules));
	struct ri_located_list located;
	struct ri_error *error;
	bool has_main = false;

	ri_image_seal(target->image);
	ri_locate_modules(target, gaps, &located);
	modules->target = target;
	modules->strings = ri_strings_create();
	modules->count = located.count;
	modules->list = ri_calloc(located.count, sizeof(*modules->list));
	modules->states = ri_calloc(located.count, sizeof(*modules->states));
	for (size_t i = 0; i < located.count; i++) {
		fill_module(modules, i, &located.items[i]);
		has_main |= modules->list[i].is_main;
	}
	ri_located_list_deinit(&located);
	error = check_exe_path(options, has_main);
	if (!error)
		error = open_files(modules, options, gaps);
	if (error) {
		ri_modules_destroy(modules);
		return error;
	}
	ri_modules_open_dwarf(modules, options, gaps);
	tell_gaps(modules, has_main, gaps);
	ri_tls_init(modules, gaps);
	*ret = modules;
	return NULL;
}

void ri_modules_destroy(struct ri_modules *modules)
{
	if (!modules)
		return;
	ri_tls_deinit(modules);
	ri_modules_close_dwarf(modules);
	for (size_t i = 0; i < modules->count; i++) {
		struct ri_module_state *state = &modules->states[i];

		ri_symbols_destroy(state->symbols);
		ri_elf_file_close(state->main_file);
		ri_elf_file_close(state->debug_file);
		ri_elf_file_close(state->alternate_file);
		if (state->vdso_elf)
			elf_end(state->vdso_elf);
		free(state->vdso_bytes);
		free(state->phdrs);
		free(state->path);
		free(state->file_path);
		free(state->debug_path);
		free(state->why_not);
	}
	ri_strings_destroy(modules->strings);
	free(modules->states);
	free(modules->list);
	free(modules);
}

const struct ri_module *ri_modules_list(const struct ri_modules *modules, size_t *ret_count)
{
	*ret_count = modules->count;
	return modules->list;
}

const struct ri_module *ri_modules_main(const struct ri_modules *modules)
{
	for (size_t i = 0; modules && i < modules->count; i++)
		if (modules->list[i].is_main)
			return &modules->list[i];
	return NULL;
}

const struct ri_module *ri_modules_find(const struct ri_modules *modules, uint64_t addr)
{
	size_t low = 0, high = modules->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (modules->list[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == modules->count || addr < modules->list[low].start)
		return NULL;
	return &modules->list[low];
}

size_t ri_modules_index(const struct ri_modules *modules, const struct ri_module *module)
{
	return (size_t)(module - modules->list);
}

bool ri_module_maps(const struct ri_modules *modules, const struct ri_module *module,
		    uint64_t addr, uint64_t size_bytes)
{
	const struct ri_module_state *state = ri_modules_state(modules, module);

	for (size_t i = 0; i < state->phdr_count; i++) {
		uint64_t start = state->phdrs[i].p_vaddr + module->bias;

		if (state->phdrs[i].p_type == PT_LOAD && addr >= start &&
		    addr - start < state->phdrs[i].p_memsz &&
		    size_bytes <= state->phdrs[i].p_memsz - (addr - start))
			return true;
	}
	return false;
}

void ri_modules_each_data_range(const struct ri_modules *modules,
				void (*callback)(const struct ri_module *module, uint64_t start,
						 uint64_t end, void *data),
				void *data)
{
	for (size_t i = 0; i < modules->count; i++) {
		const struct ri_module *module = &modules->list[i];
		const struct ri_module_state *state = &modules->states[i];

		for (size_t k = 0; k < state->phdr_count; k++) {
			const Elf64_Phdr *phdr = &state->phdrs[k];
			uint64_t start = phdr->p_vaddr + module->bias;
			uint64_t end = start + phdr->p_memsz;

			if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_W))
				continue;
			if (start >= module->start && start < module->end && end > start)
				callback(module, start, end < module->end ? end : module->end,
					 data);
		}
	}
}
