/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading .dwp packages with a libdw that knows none.
 *
 * The index of a package gives for each unit which part of each section was its
 * .dwo file's.  Units that came from one file share their abbreviations and string
 * offsets and lie side by side; for each such group libdw is shown an ELF file of
 * its own, whose section headers name the group's parts.  Those headers stand in memory
 * in front of the one mapping of the package, each image reaching from its own
 * header to the package's end, so that nothing is copied:
 *
 *	| headers N-1 | ... | headers 1 | headers 0 | the package |
 *
 * A type unit is in a package once, so references by signature lead from one group into
 * others; libdw cannot follow those, ri_package_type() does.
 *
 * Formats: DWARF 5, section 7.3.5, and the older one of GCC's DebugFissionDWP.
 * Cost: linear in the index, a libdw session per group.
 */
#include "debug/package.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "debug/elf_file.h"

#define COLUMNS_MAX 16u
#define UNITS_MAX (1u << 22)
#define VIEWS_MAX (1u << 17)
#define VIEW_BYTES 768u

/* The sections that matter, in our order. */
enum { INFO, TYPES, ABBREV, STR_OFFSETS, STR, SECTION_COUNT };

static const char *const section_names[SECTION_COUNT] = {
	".debug_info.dwo", ".debug_types.dwo", ".debug_abbrev.dwo", ".debug_str_offsets.dwo",
	".debug_str.dwo",
};

struct extent {
	uint64_t offset, size_bytes; /* within its section */
};

/* One row of an index. */
struct unit {
	uint64_t id;             /* of a unit's contents, or a type's signature */
	struct extent parts[SECTION_COUNT];
	uint32_t view;
	bool is_type;
};

/* A group of units as libdw sees it. */
struct view {
	struct extent parts[SECTION_COUNT];
	Elf *elf;
	Dwarf *dwarf;
};

struct type {
	uint64_t signature;
	struct ri_die die;
};

struct ri_package {
	struct ri_elf_file *file;
	struct extent sections[SECTION_COUNT]; /* in the file */
	RI_VEC(struct unit) units;             /* by id, once it is open */
	RI_VEC(struct view) views;
	RI_VEC(struct type) types;             /* by signature */
	uint8_t *memory;         /* headers and package */
	size_t memory_bytes, headers_bytes;
};

/* What the headers in front of the package are, for one view. */
struct view_headers {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[SECTION_COUNT + 2];
	char names[128];
};

/*
 * The index
 */

struct index {
	const uint8_t *bytes;
	size_t size_bytes;
	uint32_t columns, units, slots;
	const uint8_t *ids, *rows, *kinds, *offsets, *sizes;
};

static uint32_t get32(const uint8_t *from, size_t i)
{
	uint32_t value;

	memcpy(&value, from + i * sizeof(value), sizeof(value));
	return value;
}

static bool lay_out_index(struct index *index)
{
	uint16_t version;
	uint64_t cells, need;

	if (index->size_bytes < 16)
		return false;
	memcpy(&version, index->bytes, sizeof(version));
	if (version != 2 && version != 5)
		return false;
	index->columns = get32(index->bytes, 1);
	index->units = get32(index->bytes, 2);
	index->slots = get32(index->bytes, 3);
	if (index->columns > COLUMNS_MAX || index->units > UNITS_MAX || index->slots > 2 * UNITS_MAX)
		return false;
	cells = (uint64_t)index->columns * index->units;
	need = 16 + (uint64_t)index->slots * 12 + (uint64_t)index->columns * 4 + cells * 8;
	if (need > index->size_bytes)
		return false;
	index->ids = index->bytes + 16;
	index->rows = index->ids + (size_t)index->slots * 8;
	index->kinds = index->rows + (size_t)index->slots * 4;
	index->offsets = index->kinds + (size_t)index->columns * 4;
	index->sizes = index->offsets + cells * 4;
	return true;
}

/* Ours for a column's DW_SECT number; SECTION_COUNT: of no concern. */
static unsigned section_of_kind(uint32_t kind)
{
	switch (kind) {
	case 1:
		return INFO;
	case 2:
		return TYPES;
	case 3:
		return ABBREV;
	case 6:
		return STR_OFFSETS;
	default:
		return SECTION_COUNT;
	}
}

static bool read_row(const struct ri_package *package, const struct index *index, uint32_t row,
		     struct unit *unit)
{
	for (uint32_t column = 0; column < index->columns; column++) {
		unsigned section = section_of_kind(get32(index->kinds, column));
		size_t cell = (size_t)row * index->columns + column;
		struct extent *part = &unit->parts[section];

		if (section == SECTION_COUNT)
			continue;
		part->offset = get32(index->offsets, cell);
		part->size_bytes = get32(index->sizes, cell);
		if (part->offset > package->sections[section].size_bytes ||
		    part->size_bytes > package->sections[section].size_bytes - part->offset)
			return false;
	}
	return true;
}

static bool read_index(struct ri_package *package, const uint8_t *bytes, size_t size_bytes,
		       bool is_types)
{
	struct index index = { .bytes = bytes, .size_bytes = size_bytes };

	if (!lay_out_index(&index))
		return false;
	for (uint32_t slot = 0; slot < index.slots; slot++) {
		uint32_t row = get32(index.rows, slot);
		struct unit unit = { .is_type = is_types };

		if (!row)
			continue;
		memcpy(&unit.id, index.ids + (size_t)slot * 8, sizeof(unit.id));
		if (row > index.units || package->units.count >= UNITS_MAX ||
		    !read_row(package, &index, row - 1, &unit))
			return false;
		*ri_push(&package->units) = unit;
	}
	return true;
}

/*
 * Views
 */

#define COMPARE(left, right)                                                                       \
	if ((left) != (right))                                                                     \
		return (left) < (right) ? -1 : 1

static int compare_origins(const void *a, const void *b)
{
	const struct unit *left = a, *right = b;

	COMPARE(left->parts[ABBREV].offset, right->parts[ABBREV].offset);
	COMPARE(left->parts[STR_OFFSETS].offset, right->parts[STR_OFFSETS].offset);
	COMPARE(left->parts[TYPES].offset, right->parts[TYPES].offset);
	COMPARE(left->parts[INFO].offset, right->parts[INFO].offset);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct unit *left = a, *right = b;

	COMPARE(left->id, right->id);
	return 0;
}

static int compare_types(const void *a, const void *b)
{
	const struct type *left = a, *right = b;

	COMPARE(left->signature, right->signature);
	return 0;
}

static bool is_same_extent(const struct extent *a, const struct extent *b)
{
	return a->offset == b->offset && a->size_bytes == b->size_bytes;
}

/* Makes `part` longer by what follows it directly; false if `more` is not that. */
static bool extend(struct extent *part, const struct extent *more)
{
	if (!more->size_bytes)
		return true;
	if (!part->size_bytes) {
		*part = *more;
		return true;
	}
	if (more->offset != part->offset + part->size_bytes)
		return false;
	part->size_bytes += more->size_bytes;
	return true;
}

static bool joins(struct view *view, const struct unit *unit)
{
	struct extent info = view->parts[INFO], types = view->parts[TYPES];

	if (!is_same_extent(&view->parts[ABBREV], &unit->parts[ABBREV]) ||
	    !is_same_extent(&view->parts[STR_OFFSETS], &unit->parts[STR_OFFSETS]) ||
	    !extend(&info, &unit->parts[INFO]) || !extend(&types, &unit->parts[TYPES]))
		return false;
	view->parts[INFO] = info;
	view->parts[TYPES] = types;
	return true;
}

static void group_units(struct ri_package *package)
{
	struct view *view = NULL;

	if (package->units.count)
		qsort(package->units.items, package->units.count, sizeof(struct unit),
		      compare_origins);
	for (size_t i = 0; i < package->units.count; i++) {
		struct unit *unit = &package->units.items[i];

		if (!view || !joins(view, unit)) {
			view = ri_push(&package->views);
			memcpy(view->parts, unit->parts, sizeof(view->parts));
			view->parts[STR] = (struct extent){
				.size_bytes = package->sections[STR].size_bytes
			};
		}
		unit->view = (uint32_t)(package->views.count - 1);
	}
	if (package->units.count)
		qsort(package->units.items, package->units.count, sizeof(struct unit),
		      compare_ids);
}

static bool map_memory(struct ri_package *package)
{
	const struct ri_elf_file *file = package->file;
	size_t size_bytes = file->rewritten.bytes ? file->rewritten.size_bytes : file->size_bytes;
	uint8_t *memory, *copy;

	package->headers_bytes = ri_page_up(package->views.count * VIEW_BYTES);
	package->memory_bytes = package->headers_bytes + size_bytes;
	memory = mmap(NULL, package->memory_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	package->memory = memory;
	copy = memory + package->headers_bytes;
	if (file->rewritten.bytes) {
		memcpy(copy, file->rewritten.bytes, size_bytes);
		return true;
	}
	return mmap(copy, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file->fd,
		    0) != MAP_FAILED;
}

/* Shows libdw view number `i`. */
static bool open_view(struct ri_package *package, size_t i)
{
	struct view *view = &package->views.items[i];
	size_t before_package = (i + 1) * VIEW_BYTES, name = 1;
	uint8_t *start = package->memory + package->headers_bytes - before_package;
	struct view_headers *headers = (struct view_headers *)start;

	_Static_assert(sizeof(struct view_headers) <= VIEW_BYTES, "headers of a view");
	headers->ehdr = package->file->ehdr;
	headers->ehdr.e_type = ET_REL;
	headers->ehdr.e_phnum = 0;
	headers->ehdr.e_shoff = offsetof(struct view_headers, shdrs);
	headers->ehdr.e_shentsize = sizeof(Elf64_Shdr);
	headers->ehdr.e_shnum = SECTION_COUNT + 2;
	headers->ehdr.e_shstrndx = SECTION_COUNT + 1;
	for (size_t k = 0; k < SECTION_COUNT; k++) {
		strcpy(headers->names + name, section_names[k]);
		if (view->parts[k].size_bytes)
			headers->shdrs[k + 1] = (Elf64_Shdr){
				.sh_name = (Elf64_Word)name,
				.sh_type = SHT_PROGBITS,
				.sh_addralign = 1,
				.sh_offset = before_package + package->sections[k].offset +
					     view->parts[k].offset,
				.sh_size = view->parts[k].size_bytes,
			};
		name += strlen(section_names[k]) + 1;
	}
	headers->shdrs[SECTION_COUNT + 1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_addralign = 1,
		.sh_offset = offsetof(struct view_headers, names),
		.sh_size = sizeof(headers->names),
	};
	view->elf = elf_memory((char *)start,
			       before_package + package->memory_bytes - package->headers_bytes);
	view->dwarf = view->elf ? dwarf_begin_elf(view->elf, DWARF_C_READ, NULL) : NULL;
	return view->dwarf;
}

/* Takes down the types of a view's type units. */
static void index_types(struct ri_package *package, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;

	while (!dwarf_get_units(dwarf, unit, &unit, NULL, NULL, NULL, NULL)) {
		uint8_t kind = 0;
		uint64_t signature = 0;
		Dwarf_Die die = { 0 };
		struct type *type;

		dwarf_cu_info(unit, NULL, &kind, NULL, NULL, &signature, NULL, NULL);
		if (kind != DW_UT_type && kind != DW_UT_split_type)
			continue;
		dwarf_cu_info(unit, NULL, NULL, NULL, &die, NULL, NULL, NULL);
		if (!die.addr)
			continue;
		type = ri_push(&package->types);
		type->signature = signature;
		type->die = ri_die_of(&die);
	}
}

static bool open_views(struct ri_package *package)
{
	if (!map_memory(package))
		return false;
	for (size_t i = 0; i < package->views.count; i++) {
		if (!open_view(package, i))
			return false;
		index_types(package, package->views.items[i].dwarf);
	}
	if (package->types.count)
		qsort(package->types.items, package->types.count, sizeof(struct type),
		      compare_types);
	return true;
}

/*
 * The file
 */

/* Finds the sections and reads the indices; false for what cannot be. */
static bool read_sections(struct ri_package *package)
{
	const struct ri_elf_file *file = package->file;
	struct extent indices[2] = { 0 }; /* of units' contents, of types */
	const uint8_t *bytes = file->rewritten.bytes ? file->rewritten.bytes : file->bytes;
	size_t size_bytes = file->rewritten.bytes ? file->rewritten.size_bytes : file->size_bytes;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return false;
	while ((section = elf_nextscn(file->elf, section))) {
		const Elf64_Shdr *shdr = elf64_getshdr(section);
		const char *name = shdr ? elf_strptr(file->elf, names, shdr->sh_name) : NULL;
		struct extent *to = NULL;

		for (size_t k = 0; name && k < SECTION_COUNT; k++)
			if (!strcmp(name, section_names[k]))
				to = &package->sections[k];
		if (name && !strcmp(name, ".debug_cu_index"))
			to = &indices[0];
		else if (name && !strcmp(name, ".debug_tu_index"))
			to = &indices[1];
		if (!to)
			continue;
		if ((shdr->sh_flags & SHF_COMPRESSED) || shdr->sh_type == SHT_NOBITS ||
		    shdr->sh_offset > size_bytes || shdr->sh_size > size_bytes - shdr->sh_offset)
			return false;
		*to = (struct extent){ shdr->sh_offset, shdr->sh_size };
	}
	return indices[0].size_bytes &&
	       read_index(package, bytes + indices[0].offset, indices[0].size_bytes, false) &&
	       (!indices[1].size_bytes ||
		read_index(package, bytes + indices[1].offset, indices[1].size_bytes, true));
}

struct ri_error *ri_package_open(const char *path, struct ri_package **ret)
{
	struct ri_package *package = ri_calloc(1, sizeof(*package));
	struct ri_error *error = ri_elf_file_open(path, &package->file);

	if (!error && !read_sections(package))
		error = ri_error_create(RI_ERROR_INPUT, "%s is not a package that can be read",
					path);
	if (!error) {
		group_units(package);
		if (package->views.count > VIEWS_MAX)
			error = ri_error_create(RI_ERROR_INPUT, "%s has too many parts", path);
		else if (!open_views(package))
			error = ri_error_create(RI_ERROR_INPUT, "%s cannot be read: %s", path,
						dwarf_errmsg(-1));
	}
	if (error) {
		ri_package_close(package);
		return error;
	}
	ri_elf_file_close_descriptor(package->file);
	*ret = package;
	return NULL;
}

void ri_package_close(struct ri_package *package)
{
	if (!package)
		return;
	for (size_t i = 0; i < package->views.count; i++) {
		if (package->views.items[i].dwarf)
			dwarf_end(package->views.items[i].dwarf);
		if (package->views.items[i].elf)
			elf_end(package->views.items[i].elf);
	}
	if (package->memory)
		munmap(package->memory, package->memory_bytes);
	ri_vec_deinit(&package->units);
	ri_vec_deinit(&package->views);
	ri_vec_deinit(&package->types);
	ri_elf_file_close(package->file);
	free(package);
}

Dwarf *ri_package_find(const struct ri_package *package, uint64_t id)
{
	const struct unit key = { .id = id }, *found;

	if (!package->units.count)
		return NULL;
	found = bsearch(&key, package->units.items, package->units.count, sizeof(key),
			compare_ids);
	return found ? package->views.items[found->view].dwarf : NULL;
}

Dwarf *ri_package_dwarf(const struct ri_package *package, size_t i)
{
	return i < package->views.count ? package->views.items[i].dwarf : NULL;
}

struct ri_die ri_package_type(const struct ri_package *package, uint64_t signature)
{
	const struct type key = { .signature = signature }, *found = NULL;

	if (package->types.count)
		found = bsearch(&key, package->types.items, package->types.count, sizeof(key),
				compare_types);
	return found ? found->die : (struct ri_die){ 0 };
}
