/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damage by plan, for corrupt.c: each kind is a numbered list of edits that code which reads the
 * format might trip over.  A function makes edit number `trial` and returns false behind the last
 * one; nothing is left to chance.
 *
 *	truncate  the file ends at, before and behind whatever begins or ends in it
 *	headers   fields of the ELF header and of program headers; overlaps, circles, PN_XNUM
 *	notes     sizes and types of notes, the words of their contents
 *	chunks    words that look like the sizes of glibc's chunks
 *	pointers  words in writable memory that point into it: to themselves, in circles, astray;
 *	          among them are lists, bins, link maps and the loader's own
 *	dwarf     attributes of an executable's types and variables
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

/* The file being damaged, and where its build-id lies, which stays: with another one the file
 * would not be looked at any further. */
struct image {
	uint8_t *bytes;
	size_t size, id_start, id_end;
	uint64_t random;
};

static void put(struct image *image, size_t at, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count && at + i < image->size; i++)
		if (at + i < image->id_start || at + i >= image->id_end)
			image->bytes[at + i] = ((const uint8_t *)bytes)[i];
}

static void put_u64(struct image *image, size_t at, uint64_t value, size_t size_bytes)
{
	put(image, at, &value, size_bytes);
}

static uint64_t get_u64(const struct image *image, size_t at)
{
	uint64_t value = 0;

	if (at <= image->size && image->size - at >= sizeof(value))
		memcpy(&value, image->bytes + at, sizeof(value));
	return value;
}

static const uint64_t awkward[] = {
	0, 1, 7, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 40, 1ull << 47, 1ull << 60,
	INT64_MAX, 1ull << 63, UINT64_MAX - 7, UINT64_MAX,
};
#define AWKWARD_COUNT (sizeof(awkward) / sizeof(awkward[0]))

static Elf64_Phdr *phdrs_of(const struct image *image, size_t *ret_count)
{
	Elf64_Ehdr elf;

	memcpy(&elf, image->bytes, sizeof(elf));
	*ret_count = 0;
	if (elf.e_phoff >= image->size ||
	    elf.e_phnum > (image->size - elf.e_phoff) / sizeof(Elf64_Phdr))
		return NULL;
	*ret_count = elf.e_phnum;
	return (Elf64_Phdr *)(void *)(image->bytes + elf.e_phoff);
}

/* A list of offsets that begins anew for each trial. */
typedef RI_VEC(size_t) offset_list;

static bool take_offset(offset_list *list, unsigned trial, size_t *ret)
{
	bool is_there = trial < list->count;

	if (is_there)
		*ret = list->items[trial];
	ri_vec_deinit(list);
	return is_there;
}

/*
 * Ends of the file
 */

static void add_around(offset_list *list, size_t offset)
{
	*ri_push(list) = offset - 1;
	*ri_push(list) = offset;
	*ri_push(list) = offset + 1;
}

static bool damage_truncate(struct image *image, unsigned trial)
{
	offset_list ends = { 0 };
	size_t count, end;
	const Elf64_Phdr *phdrs = phdrs_of(image, &count);

	for (size_t i = 1; i <= sizeof(Elf64_Ehdr); i += 9)
		*ri_push(&ends) = i;
	for (size_t i = 0; i < count; i++) {
		add_around(&ends, sizeof(Elf64_Ehdr) + i * sizeof(*phdrs));
		if (!phdrs[i].p_filesz)
			continue;
		add_around(&ends, phdrs[i].p_offset);
		*ri_push(&ends) = phdrs[i].p_offset + phdrs[i].p_filesz / 2;
	}
	/* notes are worth more ends than their share of the file */
	for (size_t i = 0; count && i < 24; i++)
		*ri_push(&ends) = phdrs[0].p_offset + i * phdrs[0].p_filesz / 24;
	if (!take_offset(&ends, trial, &end))
		return false;
	if (end < image->size)
		image->size = end;
	return true;
}

/*
 * Headers
 */

static bool damage_whole_headers(struct image *image, unsigned trial)
{
	Elf64_Ehdr *elf = (Elf64_Ehdr *)(void *)image->bytes;
	size_t count;
	Elf64_Phdr *phdrs = phdrs_of(image, &count);
	Elf64_Shdr section = { .sh_info = UINT32_MAX };

	if (trial >= 12)
		return false;
	if (trial < 3) { /* more than fit: the number is in section 0, which is not there or lies */
		elf->e_phnum = PN_XNUM;
		elf->e_shoff = trial ? (trial == 1 ? UINT64_MAX : sizeof(*elf)) : 0;
		elf->e_shnum = 1;
		elf->e_shentsize = sizeof(section);
		if (trial == 2)
			put(image, sizeof(*elf), &section, sizeof(section));
		return true;
	}
	for (size_t i = 0; i < count; i++)
		switch (trial) {
		case 3: /* all in one place */
			phdrs[i].p_vaddr = phdrs[count - 1].p_vaddr;
			break;
		case 4: /* each a little into the next */
			phdrs[i].p_memsz += 4096;
			break;
		case 5:
			phdrs[i].p_memsz = 1ull << 60;
			break;
		case 6:
			phdrs[i].p_filesz = phdrs[i].p_memsz = UINT64_MAX - phdrs[i].p_vaddr;
			break;
		case 7: /* notes that are the headers themselves */
			phdrs[i].p_offset = 0;
			phdrs[i].p_filesz = image->size;
			break;
		case 8:
			phdrs[i].p_type = PT_NOTE;
			break;
		case 9:
			phdrs[i].p_type = PT_LOAD;
			break;
		case 10: /* downwards */
			phdrs[i].p_vaddr = (uint64_t)(count - i) << 30;
			break;
		default: /* the whole address space, a byte at a time */
			phdrs[i].p_vaddr = i ? UINT64_MAX - i : 0;
			phdrs[i].p_memsz = i ? 1 : UINT64_MAX;
		}
	return true;
}

static bool damage_headers(struct image *image, unsigned trial)
{
	static const size_t fields[] = { 16, 18, 20, 32, 40, 48, 52, 54, 56, 58, 60, 62 };
	enum { FIELDS = sizeof(fields) / sizeof(fields[0]), VALUES = 3, PHDRS = 8 };
	static const uint64_t values[VALUES] = { 0, 0x7fffffff, UINT64_MAX };
	size_t count, i;

	if (trial < FIELDS * VALUES) {
		put_u64(image, fields[trial / VALUES], values[trial % VALUES],
			fields[trial / VALUES] == 32 || fields[trial / VALUES] == 40 ? 8 : 2);
		return true;
	}
	trial -= FIELDS * VALUES;
	phdrs_of(image, &count);
	/* p_type to p_align of some, the notes' first */
	if (trial < PHDRS * 7 * 2) {
		i = trial / 14 * (count > PHDRS ? count / PHDRS : 1);
		put_u64(image, sizeof(Elf64_Ehdr) + i * sizeof(Elf64_Phdr) + 8 * (trial / 2 % 7),
			trial % 2 ? 1ull << 60 : UINT64_MAX - 4095, 8);
		return true;
	}
	return damage_whole_headers(image, trial - PHDRS * 7 * 2);
}

/*
 * Notes
 */

static bool damage_notes(struct image *image, unsigned trial)
{
	offset_list words = { 0 };
	size_t count, at;
	const Elf64_Phdr *phdrs = phdrs_of(image, &count);
	uint64_t start = count ? phdrs[0].p_offset : 0, end = count ? start + phdrs[0].p_filesz : 0;

	end = end > image->size ? image->size : end;
	for (size_t pos = start; pos + sizeof(Elf64_Nhdr) <= end;) {
		Elf64_Nhdr note;
		size_t name = pos + sizeof(note), text, step;

		memcpy(&note, image->bytes + pos, sizeof(note));
		text = name + ((note.n_namesz + 3) & ~3u);
		*ri_push(&words) = pos; /* both sizes at once */
		*ri_push(&words) = pos + 4; /* that of the contents, and the type */
		/* all words of lists, some of what is long */
		step = note.n_type == NT_FILE || note.n_type == NT_AUXV ? 8 : 40;
		for (size_t k = 0, n = 0; k + 8 <= note.n_descsz && n < 24; k += step, n++)
			*ri_push(&words) = text + k;
		pos = text + ((note.n_descsz + 3) & ~3u);
	}
	if (!take_offset(&words, trial, &at))
		return false;
	put_u64(image, at, awkward[trial % AWKWARD_COUNT], 8);
	return true;
}

/*
 * Memory
 */

/* The file's writable segments, in turn: `i` goes on behind the one found. */
static const Elf64_Phdr *next_writable(const struct image *image, size_t *i)
{
	size_t count;
	const Elf64_Phdr *phdrs = phdrs_of(image, &count);

	for (; *i < count; ++*i) {
		const Elf64_Phdr *phdr = &phdrs[*i];

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_W &&
		    phdr->p_offset < image->size && phdr->p_filesz <= image->size - phdr->p_offset) {
			++*i;
			return phdr;
		}
	}
	return NULL;
}

/* A size, behind which another one stands. */
static bool is_chunk_size(const struct image *image, const Elf64_Phdr *phdr, uint64_t pos)
{
	uint64_t size = get_u64(image, phdr->p_offset + pos), next;

	if ((size & ~7ull) < 32 || size & 8 || (size & ~7ull) > phdr->p_filesz - pos - 8)
		return false;
	next = get_u64(image, phdr->p_offset + pos + (size & ~7ull));
	return (next & ~7ull) >= 32 && !(next & 8) && (next & ~7ull) <= phdr->p_filesz;
}

static bool damage_chunks(struct image *image, unsigned trial)
{
	enum { TRIALS = 64 };
	size_t seen = 0;
	const Elf64_Phdr *phdr;

	for (size_t i = 0; trial < TRIALS && (phdr = next_writable(image, &i));) {
		RI_VEC(size_t) sites = { 0 };

		for (uint64_t pos = 8; pos + 8 < phdr->p_filesz; pos += 16)
			if (is_chunk_size(image, phdr, pos) && seen++ % TRIALS == trial)
				*ri_push(&sites) = phdr->p_offset + pos;
		for (size_t k = 0; k < sites.count; k++) {
			uint64_t old = get_u64(image, sites.items[k]);
			const uint64_t values[] = {
				0, 1, old + 16, old - 16, old ^ 1, old | 2, old | 4, 1ull << 60 | 1,
				-old, UINT64_MAX, 17, old | 8,
			};

			put_u64(image, sites.items[k], values[trial % 12], 8);
		}
		ri_vec_deinit(&sites);
	}
	return trial < TRIALS;
}

static bool is_pointer(const struct image *image, uint64_t value)
{
	const Elf64_Phdr *phdr;

	for (size_t i = 0; (phdr = next_writable(image, &i));)
		if (value >= phdr->p_vaddr && value - phdr->p_vaddr < phdr->p_filesz)
			return true;
	return false;
}

/* Every 16th pointer at once, so that all have been damaged when all trials are through. */
static bool damage_pointers(struct image *image, unsigned trial)
{
	enum { SHARES = 16, WAYS = 4 };
	uint64_t last = 0;
	size_t seen = 0;
	const Elf64_Phdr *phdr;

	if (trial >= SHARES * WAYS)
		return false;
	for (size_t i = 0; (phdr = next_writable(image, &i));)
		for (uint64_t pos = 0; pos + 8 <= phdr->p_filesz; pos += 8) {
			uint64_t own = phdr->p_vaddr + pos;
			const uint64_t values[WAYS] = {
				own,                                     /* itself */
				last ? last : own,                       /* the one before */
				phdr->p_vaddr + phdr->p_filesz - 1,      /* half outside */
				UINT64_MAX - 7,
			};

			if (!is_pointer(image, get_u64(image, phdr->p_offset + pos)) ||
			    seen++ % SHARES != trial / WAYS)
				continue;
			put_u64(image, phdr->p_offset + pos, values[trial % WAYS], 8);
			last = own;
		}
	return true;
}

/*
 * DWARF
 */

/* An attribute that lies in .debug_info with a size of its own. */
struct site {
	size_t at, size_bytes;
	unsigned attribute;
	uint64_t own, parent;     /* offsets of its DIE and of that one's parent, in their unit */
};

struct sites {
	const struct image *image;
	RI_VEC(struct site) list;
	uint64_t own, parent;
};

static int add_site(Dwarf_Attribute *attribute, void *data)
{
	struct sites *sites = data;
	size_t size_bytes = 0;

	switch (attribute->form) {
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
		size_bytes = 1;
		break;
	case DW_FORM_data2:
	case DW_FORM_ref2:
		size_bytes = 2;
		break;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
		size_bytes = 4;
		break;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_addr:
		size_bytes = 8;
		break;
	case DW_FORM_exprloc: /* its length and its first operation */
		size_bytes = 2;
		break;
	default:
		break;
	}
	if (size_bytes && attribute->valp > sites->image->bytes &&
	    attribute->valp < sites->image->bytes + sites->image->size)
		*ri_push(&sites->list) = (struct site){
			(size_t)(attribute->valp - sites->image->bytes), size_bytes,
			attribute->code, sites->own, sites->parent,
		};
	return DWARF_CB_OK;
}

static void add_die(struct sites *sites, Dwarf_Die *die, uint64_t parent)
{
	Dwarf_Die child;

	sites->own = dwarf_cuoffset(die);
	sites->parent = parent;
	dwarf_getattrs(die, add_site, sites, 0);
	if (dwarf_child(die, &child))
		return;
	parent = dwarf_cuoffset(die);
	do {
		add_die(sites, &child, parent);
	} while (!dwarf_siblingof(&child, &child));
}

static void find_sites(struct sites *sites, const struct image *image)
{
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	*sites = (struct sites){ .image = image };
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image->bytes, image->size);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	while (dwarf && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL))
		add_die(sites, &die, 0);
	dwarf_end(dwarf);
	elf_end(elf);
}

/* All attributes of one sort to one value; then some one by one. */
static bool damage_dwarf(struct image *image, unsigned trial)
{
	static const unsigned sorts[] = {
		DW_AT_type, DW_AT_byte_size, DW_AT_data_member_location, DW_AT_upper_bound,
		DW_AT_name, DW_AT_location, DW_AT_encoding, DW_AT_sibling, DW_AT_abstract_origin,
		DW_AT_specification, DW_AT_low_pc, DW_AT_data_bit_offset, DW_AT_bit_size,
		DW_AT_stmt_list, DW_AT_ranges, DW_AT_decl_line,
	};
	enum { SORTS = sizeof(sorts) / sizeof(sorts[0]), VALUES = 5, SINGLE = 64 };
	struct sites sites;

	if (trial >= SORTS * VALUES + SINGLE)
		return false;
	find_sites(&sites, image);
	for (size_t i = 0; i < sites.list.count; i++) {
		const struct site *site = &sites.list.items[i];
		/* a type that is itself, one that its parent is part of, none, the first DIE */
		const uint64_t values[VALUES] = { UINT64_MAX, site->own, site->parent, 0, 12 };

		if (trial < SORTS * VALUES
			    ? site->attribute != sorts[trial / VALUES]
			    : i != (trial - SORTS * VALUES) * sites.list.count / SINGLE)
			continue;
		put_u64(image, site->at, values[trial % VALUES], site->size_bytes);
	}
	ri_vec_deinit(&sites.list);
	return true;
}

static const struct {
	const char *name;
	bool (*damage)(struct image *image, unsigned trial);
} damage_kinds[] = {
	{ "truncate", damage_truncate }, { "headers", damage_headers }, { "notes", damage_notes },
	{ "chunks", damage_chunks },     { "pointers", damage_pointers }, { "dwarf", damage_dwarf },
};

#endif
