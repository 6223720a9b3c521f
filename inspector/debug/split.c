/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finding and opening .dwo files and packages of them.
 *
 * libdw would look for them by itself, but waits at a FIFO, reads no file with several
 * .debug_info.dwo sections, and knows two places; so we open them, and compare the id that
 * a skeleton unit shares with its contents.  The two stay unconnected for libdw.
 * All that a unit's contents need of its skeleton are addresses, which lie in
 * the module's own file.
 *
 * A package (package.c) goes before files, since it has all of them.
 *
 * Cost: a file opened per skeleton unit, or one package.
 */
#include "debug/split.h"

#include <dwarf.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "debug/finder.h"
#include "debug/modules_private.h"

#define ADDRESS_BYTES 8

/* A search for one unit's contents. */
struct search {
	struct ri_split *split;
	char *why;               /* the most telling refusal so far */
};

static uint64_t unit_id(Dwarf_CU *unit, uint8_t *ret_type)
{
	uint64_t id = 0;

	*ret_type = 0;
	dwarf_cu_info(unit, NULL, ret_type, NULL, NULL, &id, NULL, NULL);
	return id;
}

static bool has_contents(Dwarf *dwarf, uint64_t id)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;

	while (!dwarf_get_units(dwarf, unit, &unit, NULL, NULL, NULL, NULL))
		if (unit_id(unit, &type) == id && type == DW_UT_split_compile)
			return true;
	return false;
}

static bool try_file(char *path, void *data)
{
	struct search *search = data;
	struct ri_elf_file *file;
	struct ri_error *error = ri_elf_file_open(path, &file);
	Dwarf *dwarf;

	if (error) {
		if (error->code != RI_ERROR_NOT_FOUND && !search->why)
			search->why = ri_strdup(error->message);
		ri_error_destroy(error);
		free(path);
		return false;
	}
	dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (dwarf && has_contents(dwarf, search->split->id)) {
		search->split->dwarf = dwarf;
		search->split->file = file;
		ri_elf_file_close_descriptor(file);
	} else {
		if (!search->why)
			search->why = ri_format("%s belongs to another build", path);
		if (dwarf)
			dwarf_end(dwarf);
		ri_elf_file_close(file);
	}
	free(path);
	return search->split->dwarf;
}

/* A text attribute of the skeleton by either of its names. */
static const char *find_text(Dwarf_Die *die, unsigned name, unsigned other_name)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, name, &attr) && !dwarf_attr(die, other_name, &attr))
		return NULL;
	return dwarf_formstring(&attr);
}

/* DWARF 5 has a header of eight bytes before the first unit's addresses. */
static uint64_t find_address_base(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word base;

	if (dwarf_attr(die, DW_AT_addr_base, &attr) && !dwarf_formudata(&attr, &base))
		return base;
	if (dwarf_attr(die, DW_AT_GNU_addr_base, &attr) && !dwarf_formudata(&attr, &base))
		return base;
	return 0;
}

static void find_addresses(Dwarf *dwarf, struct ri_splits *splits)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const Elf64_Shdr *shdr = elf64_getshdr(section);
		const char *name = shdr ? elf_strptr(elf, names, shdr->sh_name) : NULL;
		Elf_Data *data;

		if (!name || (strcmp(name, ".debug_addr") && strcmp(name, ".zdebug_addr")) ||
		    !(data = elf_getdata(section, NULL)) || !data->d_buf)
			continue;
		splits->addresses = data->d_buf;
		splits->addresses_bytes = data->d_size;
	}
}

static char *describe_place(const char *comp_dir, const char *name)
{
	return *name == '/' || !comp_dir ? ri_strdup(name) : ri_format("%s/%s", comp_dir, name);
}

/* A search for the package. */
struct package_search {
	struct ri_package *package;
	char *why;
};

static bool try_package(char *path, void *data)
{
	struct package_search *search = data;
	struct ri_error *error = ri_package_open(path, &search->package);

	if (error && error->code != RI_ERROR_NOT_FOUND && !search->why)
		search->why = ri_strdup(error->message);
	ri_error_destroy(error);
	free(path);
	return search->package;
}

/* NAME.dwp where debug files are looked for; `name` (or null) is a file's path. */
static void look_for_package(const struct ri_modules_options *options, const char *name,
			     struct package_search *search)
{
	const char *const holders[] = { name, NULL };
	char *copy, *package;

	if (!name || search->package)
		return;
	copy = ri_strdup(name);
	package = ri_format("%s.dwp", strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	ri_finder_each_split(options, holders, dirname(copy), package, try_package, search);
	free(package);
	free(copy);
}

/* *ret_why is a new line if there is one that cannot be read. */
static struct ri_package *find_package(const struct ri_module_state *state,
				       const struct ri_modules_options *options, char **ret_why)
{
	struct package_search search = { 0 };

	look_for_package(options, state->file_path, &search);
	look_for_package(options, state->path, &search);
	look_for_package(options, state->debug_path, &search);
	*ret_why = search.why;
	return search.package;
}

/* `missing` is what the first missing file is called, `why` (or null) why it was refused. */
static void tell_missing(const struct ri_module *module, size_t count, const char *missing,
			 const char *why, struct ri_gaps *gaps)
{
	enum ri_gap_weight weight = module->is_main ? RI_GAP_MATTERS : RI_GAP_TOLD;

	if (why)
		ri_gaps_add(gaps, weight, "debug",
			    "%s: the types of %zu units lie in .dwo files that were not found or not "
			    "taken: %s; %s",
			    module->path, count, missing, why);
	else
		ri_gaps_add(gaps, weight, "debug",
			    "%s: the types of %zu units lie in .dwo files that were not found, %s "
			    "first; --debug-dir names a folder that has them",
			    module->path, count, missing);
}

/* The contents that `split`, the newest one, stands for; false: not found, *ret_why says why. */
static bool open_one(const struct ri_module_state *state, struct ri_splits *splits,
		     const struct ri_modules_options *options, const char *comp_dir,
		     const char *name, char **ret_why)
{
	struct ri_split *split = &splits->items.items[splits->items.count - 1];
	struct ri_split *before = splits->items.count > 1 ? split - 1 : NULL;
	const char *holders[3] = { 0 };
	struct search search = { .split = split };
	size_t count = 0;

	if (splits->package && (split->dwarf = ri_package_find(splits->package, split->id)))
		return true;
	/* a file may hold the contents of several units */
	if (before && before->dwarf && has_contents(before->dwarf, split->id)) {
		split->dwarf = before->dwarf;
		return true;
	}
	if (state->debug_path)
		holders[count++] = state->debug_path;
	if (state->file_path)
		holders[count++] = state->file_path;
	ri_finder_each_split(options, holders, comp_dir, name, try_file, &search);
	if (split->dwarf)
		free(search.why);
	else
		*ret_why = search.why;
	return split->dwarf;
}

/* Appends a skeleton unit; false if it is none, its contents' name in *ret_name else. */
static bool add_skeleton(struct ri_splits *splits, Dwarf_CU *unit, Dwarf_Die *die,
			 const char **ret_name)
{
	struct ri_split *split;
	uint8_t type;

	if (!die->addr || !(*ret_name = find_text(die, DW_AT_dwo_name, DW_AT_GNU_dwo_name)))
		return false;
	split = ri_push(&splits->items);
	split->skeleton = dwarf_dieoffset(die);
	split->id = unit_id(unit, &type);
	split->address_base = find_address_base(die);
	return true;
}

void ri_splits_open(const struct ri_module *module, struct ri_module_state *state,
		    const struct ri_modules_options *options, struct ri_gaps *gaps)
{
	struct ri_splits *splits = &state->splits;
	char *missing = NULL, *missing_why = NULL;
	size_t missing_count = 0;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (!dwarf_get_units(state->dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		const char *name, *comp_dir;
		char *why = NULL;

		if (!add_skeleton(splits, unit, &die, &name))
			continue;
		if (splits->items.count == 1)
			splits->package = find_package(state, options, &missing_why);
		comp_dir = find_text(&die, DW_AT_comp_dir, DW_AT_comp_dir);
		if (open_one(state, splits, options, comp_dir, name, &why))
			continue;
		if (!missing_count++)
			missing = describe_place(comp_dir, name);
		if (!missing_why)
			missing_why = why;
		else
			free(why);
	}
	if (splits->items.count)
		find_addresses(state->dwarf, splits);
	if (missing_count)
		tell_missing(module, missing_count, missing, missing_why, gaps);
	free(missing);
	free(missing_why);
}

void ri_splits_close(struct ri_splits *splits)
{
	for (size_t i = 0; i < splits->items.count; i++)
		if (splits->items.items[i].file) {
			dwarf_end(splits->items.items[i].dwarf);
			ri_elf_file_close(splits->items.items[i].file);
		}
	ri_package_close(splits->package);
	ri_vec_deinit(&splits->items);
}

struct ri_die ri_splits_type(const struct ri_splits *splits, uint64_t signature)
{
	return splits->package ? ri_package_type(splits->package, signature)
			       : (struct ri_die){ 0 };
}

const struct ri_split *ri_splits_find(const struct ri_splits *splits, Dwarf_Off skeleton)
{
	size_t low = 0, high = splits->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (splits->items.items[middle].skeleton < skeleton)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == splits->items.count || splits->items.items[low].skeleton != skeleton)
		return NULL;
	return &splits->items.items[low];
}

bool ri_split_is_type_unit(Dwarf_CU *unit)
{
	uint8_t type;

	unit_id(unit, &type);
	return type == DW_UT_type || type == DW_UT_split_type;
}

bool ri_split_has_unit(const struct ri_split *split, Dwarf_CU *unit)
{
	uint8_t type;
	uint64_t id = unit_id(unit, &type);

	if (ri_split_is_type_unit(unit))
		return split->file;
	return type == DW_UT_split_compile && id == split->id;
}

bool ri_split_address(const struct ri_splits *splits, const struct ri_split *split,
		      uint64_t index, uint64_t *ret)
{
	uint64_t offset;

	if (__builtin_mul_overflow(index, (uint64_t)ADDRESS_BYTES, &offset) ||
	    __builtin_add_overflow(offset, split->address_base, &offset) ||
	    splits->addresses_bytes < ADDRESS_BYTES ||
	    offset > splits->addresses_bytes - ADDRESS_BYTES)
		return false;
	memcpy(ret, splits->addresses + offset, ADDRESS_BYTES);
	return true;
}
