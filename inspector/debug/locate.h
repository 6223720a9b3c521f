/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where ELF objects lie in a target, from its mappings, link map and auxiliary
 * vector, before any file is opened.
 */
#ifndef RI_DEBUG_LOCATE_H
#define RI_DEBUG_LOCATE_H

#include "base/memory.h"
#include "debug/elf_image.h"
#include "target/target.h"

struct ri_located {
	char *path;              /* null: no name known */
	uint64_t start, end;     /* [start, end): extent of its PT_LOADs or mappings */
	uint64_t map_end;        /* end of the mapping at `start` */
	struct ri_elf_image elf; /* phdr_count 0: no header in memory */
	bool is_main;
	bool is_vdso;
	bool is_by_path;         /* rows of `path` are in the target's mappings */
};

struct ri_located_list {
	struct ri_located *items;
	size_t count, capacity;
};

/* Finds them, ascending by start, not overlapping.  `image` must be sealed. */
void ri_locate_modules(const struct ri_target *target, struct ri_gaps *gaps,
		       struct ri_located_list *ret);
void ri_located_list_deinit(struct ri_located_list *list);

/*
 * Calls back with each part of [start, end) that the target maps from `path` at
 * the file offsets that go with `start` at `file_offset`.  Where the module is
 * not in the target's mappings (path null), with the whole of it.
 */
void ri_locate_each_mapped(const struct ri_target *target, const char *path, uint64_t start,
			   uint64_t end, uint64_t file_offset,
			   void (*callback)(uint64_t start, uint64_t end, uint64_t file_offset,
					    void *data),
			   void *data);

#endif
