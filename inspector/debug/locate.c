/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which ELF objects are mapped, and where.
 *
 * A mapping of file offset 0 with an ELF header in memory is a module if its
 * other PT_LOADs are mapped from the same file where the header's bias puts
 * them: a file that was mapped as data (a loader's cache, a profiler reading
 * symbols) fails that, and so does the second mapping of page 0 that small
 * programs have.  Executable segments are not asked for, since programs remap
 * their text onto huge pages.  Objects that the mappings do not name (no
 * NT_FILE, or a truncated one) are added from the dynamic linker's link map,
 * the vdso and, failing that, the executable from the auxiliary vector.
 *
 * The executable is where AT_PHDR points, unless that is the dynamic linker run
 * as a command: then the object whose DT_DEBUG the linker has filled in.
 *
 * Cost: O(n log n) in the mappings.  Blind spots: objects whose header page is
 * not in memory are only noticed through an executable mapping; of link maps
 * those of further namespaces (dlmopen) are not walked, and objects linked for
 * an address other than 0 (prelink) not found there.
 */
#include "debug/locate.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#define LINK_MAP_MAX 16384u
#define MODULES_MAX 16384u
#define NAME_MAX_BYTES 4096u

/* Index of the first mapping that ends after `addr`. */
static size_t first_mapping_after(const struct ri_target *target, uint64_t addr)
{
	size_t low = 0, high = target->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (target->mappings[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void ri_locate_each_mapped(const struct ri_target *target, const char *path, uint64_t start,
			   uint64_t end, uint64_t file_offset,
			   void (*callback)(uint64_t start, uint64_t end, uint64_t file_offset,
					    void *data),
			   void *data)
{
	if (!path) {
		if (start < end)
			callback(start, end, file_offset, data);
		return;
	}
	for (size_t i = first_mapping_after(target, start); i < target->mapping_count; i++) {
		const struct ri_mapping *mapping = &target->mappings[i];
		uint64_t low = mapping->start > start ? mapping->start : start;
		uint64_t high = mapping->end < end ? mapping->end : end;

		if (mapping->start >= end)
			break;
		if (low < high && mapping->path && !strcmp(mapping->path, path) &&
		    mapping->file_offset + (low - mapping->start) == file_offset + (low - start))
			callback(low, high, file_offset + (low - start), data);
	}
}

static void set_true(uint64_t start, uint64_t end, uint64_t file_offset, void *data)
{
	(void)start;
	(void)end;
	(void)file_offset;
	*(bool *)data = true;
}

/* Whether the first page of each PT_LOAD that holds data of the file is mapped
 * from `path` at its place. */
static bool is_mapped_as_module(const struct ri_target *target, const char *path,
				const struct ri_elf_image *elf)
{
	for (size_t i = 0; i < elf->phdr_count; i++) {
		const Elf64_Phdr *phdr = &elf->phdrs[i];
		uint64_t start = ri_page_down(phdr->p_vaddr) + elf->bias;
		bool is_mapped = false;

		if (phdr->p_type != PT_LOAD || !phdr->p_filesz || (phdr->p_flags & PF_X))
			continue;
		ri_locate_each_mapped(target, path, start, start + RI_PAGE_BYTES,
				      ri_page_down(phdr->p_offset), set_true, &is_mapped);
		if (!is_mapped)
			return false;
	}
	return true;
}

static struct ri_located *find_located(struct ri_located_list *list, uint64_t addr)
{
	for (size_t i = list->count; i > 0; i--)
		if (addr >= list->items[i - 1].start && addr < list->items[i - 1].end)
			return &list->items[i - 1];
	return NULL;
}

/* Takes `elf` and a copy of `path`. */
static struct ri_located *add(struct ri_located_list *list, const char *path,
			      const struct ri_elf_image *elf)
{
	struct ri_located *located = ri_push(list);

	located->path = path ? ri_strdup(path) : NULL;
	located->elf = *elf;
	located->start = elf->base;
	ri_phdrs_extent(elf->phdrs, elf->phdr_count, elf->bias, &located->start, &located->end);
	if (located->start > elf->base || located->end <= elf->base) {
		/* the header says that it does not lie in its own segments */
		located->start = elf->base;
		located->end = elf->base + RI_PAGE_BYTES;
	}
	located->map_end = located->end;
	return located;
}

/* The end of the last of the mappings from `i` on that carry the same path
 * without another one of offset 0 between, and whether one of them is executable. */
static uint64_t follow_rows(const struct ri_target *target, size_t i, bool *ret_has_exec)
{
	const struct ri_mapping *first = &target->mappings[i];
	uint64_t end = first->end;

	*ret_has_exec = false;
	for (; i < target->mapping_count; i++) {
		const struct ri_mapping *mapping = &target->mappings[i];
		const struct ri_range *range = ri_image_find(target->image, mapping->start);

		if (!mapping->path || strcmp(mapping->path, first->path) ||
		    (mapping != first && !mapping->file_offset))
			break;
		end = mapping->end;
		if ((mapping->flags & RI_RANGE_EXEC) || (range && (range->flags & RI_RANGE_EXEC)))
			*ret_has_exec = true;
	}
	return end;
}

static void add_from_mapping(const struct ri_target *target, size_t i,
			     struct ri_located_list *list)
{
	const struct ri_mapping *mapping = &target->mappings[i];
	struct ri_elf_image elf = { .base = mapping->start };
	struct ri_located *located;
	bool has_exec;
	uint64_t end;

	if (!mapping->path || mapping->path[0] != '/' || mapping->file_offset ||
	    (list->count && list->items[list->count - 1].end > mapping->start))
		return;
	if (ri_elf_image_read(target->image, mapping->start, &elf)) {
		if (!is_mapped_as_module(target, mapping->path, &elf)) {
			ri_elf_image_deinit(&elf);
			return;
		}
		located = add(list, mapping->path, &elf);
	} else {
		if (ri_image_peek(target->image, mapping->start, SELFMAG))
			return; /* the page is there and is no ELF header that we read */
		end = follow_rows(target, i, &has_exec);
		if (!has_exec)
			return;
		located = ri_push(list);
		located->path = ri_strdup(mapping->path);
		located->elf = elf;
		located->start = mapping->start;
		located->end = end;
	}
	located->map_end = mapping->end;
	located->is_by_path = true;
}

/* Adds the object whose header lies at `base`, unless there is one already. */
static struct ri_located *add_at(const struct ri_target *target, uint64_t base, const char *path,
				 struct ri_located_list *list)
{
	struct ri_located *located = find_located(list, base);
	struct ri_elf_image elf;

	if (located || list->count >= MODULES_MAX ||
	    !ri_elf_image_read(target->image, base, &elf))
		return located;
	return add(list, path, &elf);
}

static bool has_debug_pointer(const struct ri_target *target, const struct ri_located *located,
			      uint64_t *ret)
{
	return ri_elf_image_dynamic(target->image, &located->elf, DT_DEBUG, ret) && *ret;
}

static bool has_interpreter(const struct ri_located *located)
{
	for (size_t i = 0; i < located->elf.phdr_count; i++)
		if (located->elf.phdrs[i].p_type == PT_INTERP)
			return true;
	return false;
}

static void mark_main(const struct ri_target *target, struct ri_located_list *list)
{
	struct ri_located *main = NULL;
	uint64_t debug;

	if (target->auxv_phdr) {
		main = find_located(list, target->auxv_phdr);
		if (!main)
			main = add_at(target, ri_page_down(target->auxv_phdr), NULL, list);
	}
	if (!main && target->auxv_entry)
		main = find_located(list, target->auxv_entry);
	if (!main || !has_debug_pointer(target, main, &debug))
		for (size_t i = 0; i < list->count; i++)
			if (has_interpreter(&list->items[i]) &&
			    has_debug_pointer(target, &list->items[i], &debug)) {
				main = &list->items[i];
				break;
			}
	if (main)
		main->is_main = true;
}

static struct ri_located *find_main(struct ri_located_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].is_main)
			return &list->items[i];
	return NULL;
}

/* Walks the dynamic linker's list from the executable's DT_DEBUG. */
static void add_link_map(const struct ri_target *target, struct ri_gaps *gaps,
			 struct ri_located_list *list)
{
	struct ri_located *main = find_main(list);
	uint64_t debug, at;
	struct r_debug head;

	if (!main || !has_debug_pointer(target, main, &debug) ||
	    !ri_image_read(target->image, debug, &head, sizeof(head)))
		return;
	at = (uint64_t)(uintptr_t)head.r_map;
	for (size_t i = 0; at; i++) {
		struct link_map entry;
		char *name;

		if (i >= LINK_MAP_MAX || !ri_image_read(target->image, at, &entry, sizeof(entry))) {
			ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
				    "the dynamic linker's list of loaded objects breaks off");
			return;
		}
		name = ri_image_read_string(target->image, (uint64_t)(uintptr_t)entry.l_name,
					    NAME_MAX_BYTES);
		if (!find_located(list, (uint64_t)(uintptr_t)entry.l_ld))
			add_at(target, entry.l_addr, name && *name ? name : NULL, list);
		free(name);
		at = (uint64_t)(uintptr_t)entry.l_next;
	}
}

static int compare_located(const void *a, const void *b)
{
	const struct ri_located *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void located_deinit(struct ri_located *located)
{
	free(located->path);
	ri_elf_image_deinit(&located->elf);
}

/* Sorts; an object that reaches into the next one ends there. */
static void settle(struct ri_located_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_located);
	for (size_t i = 0; i < list->count; i++) {
		if (kept && list->items[kept - 1].start == list->items[i].start) {
			located_deinit(&list->items[i]);
			continue;
		}
		if (kept && list->items[kept - 1].end > list->items[i].start)
			list->items[kept - 1].end = list->items[i].start;
		list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

void ri_locate_modules(const struct ri_target *target, struct ri_gaps *gaps,
		       struct ri_located_list *ret)
{
	struct ri_located *vdso;

	*ret = (struct ri_located_list){ 0 };
	for (size_t i = 0; i < target->mapping_count; i++) {
		if (ret->count >= MODULES_MAX) {
			ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
				    "more than %u mapped ELF objects; the rest are left out",
				    MODULES_MAX);
			break;
		}
		add_from_mapping(target, i, ret);
	}
	if (target->auxv_sysinfo_ehdr) {
		vdso = add_at(target, target->auxv_sysinfo_ehdr, "[vdso]", ret);
		if (vdso)
			vdso->is_vdso = true;
	}
	mark_main(target, ret);
	add_link_map(target, gaps, ret);
	settle(ret);
}

void ri_located_list_deinit(struct ri_located_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		located_deinit(&list->items[i]);
	ri_vec_deinit(list);
}
