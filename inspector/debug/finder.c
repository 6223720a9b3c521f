/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file finder.
 *
 * Every candidate goes through ri_elf_file_open() and a comparison with the
 * memory image; where and in which order candidates are looked for is what
 * this file knows.  A candidate that is missing says nothing; one that is
 * another build is the line that the user wants to read, so the first such
 * refusal is kept.  libdwfl's own search is not used: it asks debuginfod where
 * DEBUGINFOD_URLS is set and opens what a core names without looking.
 */
#include "debug/finder.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwelf.h>

#include "base/memory.h"

#define DEFAULT_DEBUG_DIR "/usr/lib/debug"
static const char deleted_suffix[] = " (deleted)";

/* Calls back with each debug directory, the user's first; stops on true. */
static bool each_debug_dir(const struct ri_modules_options *options,
			   bool (*callback)(const char *dir, void *data), void *data)
{
	for (const char *const *dir = options->debug_dirs; dir && *dir; dir++)
		if (callback(*dir, data))
			return true;
	if (options->sysroot) {
		char *dir = ri_format("%s%s", options->sysroot, DEFAULT_DEBUG_DIR);
		bool is_done = callback(dir, data);

		free(dir);
		if (is_done)
			return true;
	}
	return callback(DEFAULT_DEBUG_DIR, data);
}

/* DIR/.build-id/xx/yyyySUFFIX */
static char *format_build_id_path(const char *dir, const uint8_t *build_id, uint32_t size_bytes,
				  const char *suffix)
{
	char *hex = ri_build_id_format(build_id, size_bytes);
	char *path = ri_format("%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, suffix);

	free(hex);
	return path;
}

/* Keeps the first refusal that speaks of another build; before it, the first
 * other one. */
static void note_refusal(struct ri_found *found, char *why, bool is_other_build)
{
	if (!found->why_not || (is_other_build && found->identity != RI_IDENTITY_OTHER)) {
		free(found->why_not);
		found->why_not = why;
		if (is_other_build)
			found->identity = RI_IDENTITY_OTHER;
	} else {
		free(why);
	}
}

/* Takes `file` for the module or closes it; true when the search is over. */
static bool take(struct ri_found *found, const struct ri_wanted *wanted, struct ri_elf_file *file)
{
	char *why = NULL;
	enum ri_identity identity = ri_elf_file_compare(file, wanted->image, wanted->elf,
							wanted->build_id,
							wanted->build_id_size_bytes, &why);

	if (identity == RI_IDENTITY_OTHER || identity == RI_IDENTITY_UNKNOWN) {
		if (!why)
			why = ri_format("%s cannot be compared: the target's memory does not hold "
					"the ELF header (coredump_filter without bit 4)",
					file->path);
		note_refusal(found, why, identity == RI_IDENTITY_OTHER);
		ri_elf_file_close(file);
		return false;
	}
	if (file->is_debug_only) {
		if (found->debug)
			ri_elf_file_close(file);
		else
			found->debug = file;
		return false;
	}
	free(found->why_not);
	found->why_not = NULL;
	found->file = file;
	found->identity = identity;
	return true;
}

static bool try_path(struct ri_found *found, const struct ri_wanted *wanted, const char *path)
{
	struct ri_elf_file *file;
	struct ri_error *error = ri_elf_file_open(path, &file);

	if (!error)
		return take(found, wanted, file);
	if (error->code != RI_ERROR_NOT_FOUND)
		note_refusal(found, ri_strdup(error->message), false);
	ri_error_destroy(error);
	return false;
}

/* Frees `path`. */
static bool try_new_path(struct ri_found *found, const struct ri_wanted *wanted, char *path)
{
	bool is_found = try_path(found, wanted, path);

	free(path);
	return is_found;
}

static bool try_named(const struct ri_modules_options *options, const struct ri_wanted *wanted,
		      const char *path, struct ri_found *found)
{
	if (path[0] != '/')
		return false;
	if (options->sysroot &&
	    try_new_path(found, wanted, ri_format("%s%s", options->sysroot, path)))
		return true;
	return try_path(found, wanted, path);
}

/* What the process itself sees: its root directory, its executable, and the
 * mapped file itself even where it was deleted or never had a name. */
static bool try_live(const struct ri_wanted *wanted, struct ri_found *found)
{
	int pid = (int)wanted->live_pid;

	if (!pid)
		return false;
	if (wanted->is_main && try_new_path(found, wanted, ri_format("/proc/%d/exe", pid)))
		return true;
	if (wanted->path && wanted->path[0] == '/' &&
	    try_new_path(found, wanted, ri_format("/proc/%d/root%s", pid, wanted->path)))
		return true;
	return try_new_path(found, wanted,
			    ri_format("/proc/%d/map_files/%lx-%lx", pid,
				      (unsigned long)wanted->map_start,
				      (unsigned long)wanted->map_end));
}

struct search {
	const struct ri_wanted *wanted;
	struct ri_found *found;
};

static bool try_build_id_dir(const char *dir, void *data)
{
	struct search *search = data;

	return try_new_path(search->found, search->wanted,
			    format_build_id_path(dir, search->wanted->build_id,
						 search->wanted->build_id_size_bytes, ""));
}

static char *without_deleted(const char *path)
{
	size_t length = strlen(path), suffix = sizeof(deleted_suffix) - 1;

	if (length <= suffix || strcmp(path + length - suffix, deleted_suffix))
		return NULL;
	return ri_strndup(path, length - suffix);
}

void ri_finder_find_file(const struct ri_modules_options *options, const struct ri_wanted *wanted,
			 struct ri_found *ret)
{
	struct search search = { wanted, ret };
	char *undeleted = wanted->path ? without_deleted(wanted->path) : NULL;
	bool is_found = false;

	if (wanted->path)
		is_found = try_named(options, wanted, wanted->path, ret);
	if (!is_found)
		is_found = try_live(wanted, ret);
	if (!is_found && undeleted)
		is_found = try_named(options, wanted, undeleted, ret);
	if (!is_found && wanted->build_id_size_bytes > 1)
		is_found = each_debug_dir(options, try_build_id_dir, &search);
	if (!is_found && !ret->why_not)
		ret->why_not = wanted->path ? ri_format("no file %s", wanted->path)
					    : ri_strdup("the target does not name its file");
	free(undeleted);
}

struct ri_error *ri_finder_open_exe(const struct ri_modules_options *options,
				    const struct ri_wanted *wanted, struct ri_found *ret)
{
	struct ri_elf_file *file;
	struct ri_error *error = ri_elf_file_open(options->exe_path, &file);
	char *why = NULL;

	if (error)
		return error;
	ret->identity = RI_IDENTITY_UNKNOWN;
	if (wanted)
		ret->identity = ri_elf_file_compare(file, wanted->image, wanted->elf,
						    wanted->build_id,
						    wanted->build_id_size_bytes, &why);
	if (ret->identity == RI_IDENTITY_OTHER) {
		error = ri_error_create(RI_ERROR_INPUT, "%s", why);
		free(why);
		ri_elf_file_close(file);
		return error;
	}
	if (file->is_debug_only)
		ret->debug = file;
	else
		ret->file = file;
	return NULL;
}

/* A search for a separate debug file. */
struct debug_search {
	const uint8_t *build_id;
	uint32_t build_id_size_bytes;
	bool has_crc;
	uint32_t crc;
	const char *subpath;     /* under a debug directory: "/usr/bin/prog.debug" */
	struct ri_elf_file *file;
	char *why;
};

static bool is_wanted_debug(const struct debug_search *search, const struct ri_elf_file *file)
{
	if (search->build_id_size_bytes && file->build_id_size_bytes)
		return search->build_id_size_bytes == file->build_id_size_bytes &&
		       !memcmp(search->build_id, file->build_id, file->build_id_size_bytes);
	return search->has_crc && search->crc == ri_elf_file_crc(file);
}

static bool try_debug(struct debug_search *search, char *path)
{
	struct ri_elf_file *file;
	struct ri_error *error = ri_elf_file_open(path, &file);

	if (error) {
		if (error->code != RI_ERROR_NOT_FOUND && !search->why)
			search->why = ri_strdup(error->message);
		ri_error_destroy(error);
	} else if (!file->has_units || !is_wanted_debug(search, file)) {
		if (!search->why)
			search->why = ri_format("debug file %s %s", path,
						file->has_units ? "belongs to another build"
								: "has no DWARF units");
		ri_elf_file_close(file);
	} else {
		search->file = file;
	}
	free(path);
	return search->file;
}

static bool try_debug_build_id(const char *dir, void *data)
{
	struct debug_search *search = data;

	return try_debug(search, format_build_id_path(dir, search->build_id,
						      search->build_id_size_bytes, ".debug"));
}

/* A folder of the user's own into which debug files were simply put. */
static bool try_debug_flat(const struct ri_modules_options *options, struct debug_search *search,
			   const char *name)
{
	for (const char *const *dir = options->debug_dirs; dir && *dir; dir++)
		if (try_debug(search, ri_format("%s/%s", *dir, name)))
			return true;
	return false;
}

static bool try_debug_subpath(const char *dir, void *data)
{
	struct debug_search *search = data;

	return try_debug(search, ri_format("%s%s", dir, search->subpath));
}

/* `path` is a file's; the link is looked for where gdb looks for it too. */
static bool try_debuglink(const struct ri_modules_options *options, struct debug_search *search,
			  const char *path, const char *name)
{
	char *copy = ri_strdup(path), *dir = dirname(copy), *subpath;
	bool is_found = try_debug(search, ri_format("%s/%s", dir, name)) ||
			try_debug(search, ri_format("%s/.debug/%s", dir, name));

	if (!is_found) {
		subpath = ri_format("%s/%s", dir, name);
		search->subpath = subpath;
		is_found = each_debug_dir(options, try_debug_subpath, search);
		free(subpath);
	}
	free(copy);
	return is_found;
}

static void follow_debuglink(const struct ri_modules_options *options,
			     struct debug_search *search, const struct ri_elf_file *file)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);
	char real[PATH_MAX];

	if (!name || !*name || strchr(name, '/'))
		return;
	search->has_crc = true;
	search->crc = crc;
	if (try_debuglink(options, search, file->path, name))
		return;
	if (realpath(file->path, real) && strcmp(real, file->path) &&
	    try_debuglink(options, search, real, name))
		return;
	try_debug_flat(options, search, name);
}

/* DIR/NAME.debug, after the program's own name. */
static void try_own_name(const struct ri_modules_options *options, struct debug_search *search,
			 const char *path)
{
	char *undeleted = without_deleted(path), *name;
	const char *whole = undeleted ? undeleted : path, *slash = strrchr(whole, '/');

	name = ri_format("%s.debug", slash ? slash + 1 : whole);
	try_debug_flat(options, search, name);
	free(name);
	free(undeleted);
}

struct ri_elf_file *ri_finder_find_debug(const struct ri_modules_options *options,
					 const struct ri_elf_file *file, const char *path,
					 const uint8_t *build_id,
					 uint32_t build_id_size_bytes, char **ret_why)
{
	struct debug_search search = { .build_id = build_id,
				       .build_id_size_bytes = build_id_size_bytes };
	char *hex;

	if (build_id_size_bytes > 1)
		each_debug_dir(options, try_debug_build_id, &search);
	if (!search.file && file)
		follow_debuglink(options, &search, file);
	if (!search.file && path)
		try_own_name(options, &search, path);
	if (search.file) {
		free(search.why);
		return search.file;
	}
	if (!search.why) {
		hex = ri_build_id_format(build_id, build_id_size_bytes);
		search.why = ri_format("no DWARF in the file, no separate debug file (build-id %s)",
				       hex);
		free(hex);
	}
	*ret_why = search.why;
	return NULL;
}

struct ri_elf_file *ri_finder_find_alternate(const struct ri_modules_options *options,
					     const char *from, const char *name,
					     const uint8_t *build_id,
					     uint32_t build_id_size_bytes)
{
	struct debug_search search = { .build_id = build_id,
				       .build_id_size_bytes = build_id_size_bytes };
	char real[PATH_MAX], *slash;

	if (build_id_size_bytes <= 1)
		return NULL;
	if (!each_debug_dir(options, try_debug_build_id, &search)) {
		if (*name == '/') {
			try_debug(&search, ri_strdup(name));
		} else if (realpath(from, real) && (slash = strrchr(real, '/'))) {
			*slash = '\0';
			try_debug(&search, ri_format("%s/%s", real, name));
		}
	}
	free(search.why);
	return search.file;
}

/* A search for the contents of a skeleton unit. */
struct split_search {
	const char *whole;       /* the name under the directory of compilation */
	bool (*callback)(char *path, void *data);
	void *data;
};

static bool try_split_under(const char *dir, void *data)
{
	struct split_search *search = data;

	return *search->whole == '/' &&
	       search->callback(ri_format("%s%s", dir, search->whole), search->data);
}

/* DIR/name and DIR/base name. */
static bool try_split_in(const struct split_search *search, const char *dir, const char *name)
{
	const char *slash = strrchr(name, '/');

	return (*name != '/' && search->callback(ri_format("%s/%s", dir, name), search->data)) ||
	       (slash && search->callback(ri_format("%s/%s", dir, slash + 1), search->data));
}

static bool try_split_beside(const struct split_search *search, const char *holder,
			     const char *name)
{
	char *dir = ri_strdup(holder);
	bool is_found = try_split_in(search, dirname(dir), name);

	free(dir);
	return is_found;
}

void ri_finder_each_split(const struct ri_modules_options *options, const char *const *holders,
			  const char *comp_dir, const char *name,
			  bool (*callback)(char *path, void *data), void *data)
{
	char *whole = *name == '/' || !comp_dir ? ri_strdup(name)
						: ri_format("%s/%s", comp_dir, name);
	struct split_search search = { whole, callback, data };
	bool is_found = *whole == '/' && callback(ri_strdup(whole), data);

	if (!is_found && options->sysroot)
		is_found = try_split_under(options->sysroot, &search);
	for (; !is_found && *holders; holders++)
		is_found = try_split_beside(&search, *holders, name);
	if (!is_found)
		is_found = each_debug_dir(options, try_split_under, &search);
	for (const char *const *dir = options->debug_dirs; !is_found && dir && *dir; dir++)
		is_found = try_split_in(&search, *dir, name);
	free(whole);
}
