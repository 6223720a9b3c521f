/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each segment of a core was in the process: which file, if any, was
 * mapped there, whether it was shared, and what absent bytes may have held.
 * Knows the rows of NT_FILE and the segments; leaves reading both to notes.c
 * and core.c.
 *
 * A core does not record MAP_SHARED.  Taken as shared are names that belong to
 * shared memory (memfd, System V, /dev/shm, /dev/zero) and writable mappings
 * of files that are not ELF.  A file is ELF if its first page was dumped and
 * says so; if that page is absent, a file with a mapping that is not writable
 * counts as ELF, for objects have text and data files mapped to be written
 * seldom have anything else.
 *
 * Rows and segments are sorted; each segment asks for the rows at its two ends
 * by binary search, so overlapping segments cost no more than others.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "target/core_private.h"

#define STAGE "target"

/* The segment that starts last at or before `addr`, if it contains it. */
static const struct ri_core_load *find_load(const struct ri_core *core, uint64_t addr)
{
	const struct ri_core_load *low = core->loads.items;
	size_t count = core->loads.count;

	while (count > 1) {
		size_t half = count / 2;

		if (low[half].start <= addr)
			low += half;
		count -= half;
	}
	return count && addr >= low->start && addr < low->end ? low : NULL;
}

/* Number of the first row that ends behind `addr`, or the number of rows. */
static size_t first_file_behind(const struct ri_core *core, uint64_t addr)
{
	size_t low = 0, high = core->notes.files.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (core->notes.files.items[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int compare_paths(const void *a, const void *b)
{
	const struct ri_mapping *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

enum elf_answer { IS_ELF, IS_NOT_ELF, IS_UNKNOWN };

/* Whether the file that `row` maps from its beginning is ELF. */
static enum elf_answer look_at_magic(const struct ri_core *core, const struct ri_mapping *row)
{
	const struct ri_core_load *load = find_load(core, row->start);

	if (row->file_offset || !load || load->present_end < row->start ||
	    load->present_end - row->start < SELFMAG)
		return IS_UNKNOWN;
	return memcmp(load->bytes + (row->start - load->start), ELFMAG, SELFMAG) ? IS_NOT_ELF
										 : IS_ELF;
}

/* Marks the rows of one file: rows[0 .. count). */
static void mark_shared(const struct ri_core *core, struct ri_mapping **rows, size_t count)
{
	bool by_name = ri_path_is_shared_memory(rows[0]->path), has_read_only = false;
	enum elf_answer answer = IS_UNKNOWN;

	if (ri_path_is_anonymous(rows[0]->path)) {
		for (size_t i = 0; i < count; i++)
			rows[i]->flags |= RI_RANGE_ANONYMOUS;
		return;
	}

	for (size_t i = 0; i < count; i++) {
		enum elf_answer found = look_at_magic(core, rows[i]);

		if (found == IS_ELF || answer == IS_UNKNOWN)
			answer = found;
		has_read_only |= !(rows[i]->flags & RI_RANGE_WRITE);
	}
	if (answer == IS_UNKNOWN)
		answer = has_read_only ? IS_ELF : IS_NOT_ELF;
	for (size_t i = 0; i < count; i++)
		if (by_name || (answer == IS_NOT_ELF && rows[i]->flags & RI_RANGE_WRITE))
			rows[i]->flags |= RI_RANGE_SHARED;
}

/* Sorts the rows of NT_FILE and gives them flags. */
static void arrange_files(struct ri_core *core)
{
	size_t count, first = 0;
	struct ri_mapping **by_path;

	if (ri_mappings_arrange(core->notes.files.items, &core->notes.files.count))
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "mapped files overlap in the core's notes (NT_FILE)");
	count = core->notes.files.count;
	if (!count)
		return;
	by_path = ri_calloc(count, sizeof(*by_path));
	for (size_t i = 0; i < count; i++) {
		struct ri_mapping *row = &core->notes.files.items[i];
		const struct ri_core_load *load = find_load(core, row->start);

		row->flags = load ? load->flags : 0;
		by_path[i] = row;
	}
	qsort(by_path, count, sizeof(*by_path), compare_paths);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && !strcmp(by_path[i]->path, by_path[first]->path))
			continue;
		mark_shared(core, by_path + first, i - first);
		first = i;
	}
	free(by_path);
}

/* The flags of a segment: its own, and what the files mapped there add. */
static uint32_t flags_of(const struct ri_core *core, const struct ri_core_load *load)
{
	size_t i = first_file_behind(core, load->start);
	const struct ri_mapping *row;

	if (!core->notes.has_files)
		return load->flags;
	if (i == core->notes.files.count || core->notes.files.items[i].start >= load->end)
		return load->flags | RI_RANGE_ANONYMOUS;
	row = &core->notes.files.items[i];
	return load->flags | (row->flags & (RI_RANGE_SHARED | RI_RANGE_ANONYMOUS));
}

/*
 * Whether what is absent of a mapping with these flags may be presumed never
 * written: it is anonymous, and could be written or was not accessible at all
 * (a guard or a reservation).
 */
static bool may_be_untouched(uint32_t flags)
{
	return flags & RI_RANGE_ANONYMOUS &&
	       (flags & RI_RANGE_WRITE ||
		!(flags & (RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_EXEC)));
}

/* Whether a thread stands with its stack in memory that counts as never written. */
static bool has_absent_stack(const struct ri_core *core)
{
	for (size_t i = 0; i < core->target->thread_count; i++) {
		const struct ri_thread *thread = &core->target->threads[i];
		uint64_t stack = thread->registers[RI_REG_RSP];
		const struct ri_core_load *load = find_load(core, stack);

		if (thread->has_registers && load && stack >= load->dumped_end &&
		    load->flags & RI_RANGE_WRITE && may_be_untouched(flags_of(core, load)))
			return true;
	}
	return false;
}

static void add_load(struct ri_core *core, const struct ri_core_load *load, bool presume_untouched)
{
	struct ri_image *image = core->target->image;
	uint32_t flags = flags_of(core, load);
	bool untouched = presume_untouched && may_be_untouched(flags);

	ri_core_add_bytes(core, load, flags);
	ri_image_add(image, &(struct ri_range){ load->present_end, load->dumped_end, NULL,
						RI_RANGE_MISSING, flags });
	ri_image_add(image, &(struct ri_range){ load->dumped_end, load->end, NULL,
						untouched ? RI_RANGE_UNTOUCHED : RI_RANGE_MISSING,
						flags });
}

static void add_mapping(struct ri_core *core, uint64_t start, uint64_t end, uint32_t flags)
{
	struct ri_target *target = core->target;
	struct ri_mapping *mapping;

	if (start >= end)
		return;
	mapping = &target->mappings[target->mapping_count++];
	*mapping = (struct ri_mapping){ .start = start, .end = end, .flags = flags };
}

/*
 * The mappings: the rows of NT_FILE, and of each segment the parts before its
 * first row and behind its last one.  (Between two rows there is nothing to add
 * in the cores of any known writer: each segment is one mapping.)
 */
static void list_mappings(struct ri_core *core)
{
	struct ri_target *target = core->target;
	size_t file_count = core->notes.files.count;
	const struct ri_mapping *files = core->notes.files.items;

	target->mappings = ri_calloc(file_count + 2 * core->loads.count,
				     sizeof(*target->mappings));
	for (size_t i = 0; i < core->loads.count; i++) {
		const struct ri_core_load *load = &core->loads.items[i];
		size_t first = first_file_behind(core, load->start);
		size_t behind = first_file_behind(core, load->end - 1);
		uint32_t flags = load->flags | (core->notes.has_files ? RI_RANGE_ANONYMOUS : 0u);

		if (first == file_count || files[first].start >= load->end) {
			add_mapping(core, load->start, load->end, flags);
			continue;
		}
		add_mapping(core, load->start, files[first].start, flags);
		if (behind == file_count || files[behind].start >= load->end)
			add_mapping(core, files[behind - 1].end, load->end, flags);
	}
	for (size_t i = 0; i < file_count; i++)
		target->mappings[target->mapping_count++] = files[i];
	free(core->notes.files.items); /* the paths are the target's now */
	core->notes.files.items = NULL;
	core->notes.files.count = 0;
	ri_mappings_arrange(target->mappings, &target->mapping_count);
}

void ri_core_fill(struct ri_core *core)
{
	bool presume_untouched;

	arrange_files(core);
	if (!core->notes.has_files)
		ri_gaps_add(core->gaps, RI_GAP_TOLD, STAGE,
			    "the core does not list its mapped files (NT_FILE): memory that is "
			    "absent from it counts as missing");
	presume_untouched = !has_absent_stack(core);
	if (!presume_untouched)
		ri_gaps_add(core->gaps, RI_GAP_MATTERS, STAGE,
			    "the core leaves out memory that was in use (the stack of a thread): "
			    "was it written with a coredump_filter without private memory?");
	for (size_t i = 0; i < core->loads.count; i++)
		add_load(core, &core->loads.items[i], presume_untouched);
	/* files without a segment, as gdb leaves them */
	for (size_t i = 0; i < core->notes.files.count; i++) {
		const struct ri_mapping *row = &core->notes.files.items[i];

		ri_image_add(core->target->image,
			     &(struct ri_range){ row->start, row->end, NULL, RI_RANGE_MISSING,
						 row->flags });
	}
	list_mappings(core);
}
