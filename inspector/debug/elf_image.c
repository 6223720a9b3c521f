/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF objects in target memory.
 *
 * The kernel writes the first page of every ELF mapping into a core (bit 4 of
 * coredump_filter, on by default), so header, program headers and, as linkers
 * lay them out, the build-id note are there even where the text is not.  All
 * of it is the target's word: sizes and counts are bounded here, and what the
 * addresses mean is checked by the callers against the mappings.
 */
#include "debug/elf_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NOTES_MAX_BYTES (64u << 10)
#define DYNAMIC_MAX 1024u

uint64_t ri_page_down(uint64_t addr)
{
	return addr & ~(uint64_t)(RI_PAGE_BYTES - 1);
}

uint64_t ri_page_up(uint64_t addr)
{
	if (addr > UINT64_MAX - RI_PAGE_BYTES)
		return ri_page_down(UINT64_MAX);
	return ri_page_down(addr + RI_PAGE_BYTES - 1);
}

bool ri_ehdr_is_usable(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) &&
	       ehdr->e_ident[EI_CLASS] == ELFCLASS64 && ehdr->e_ident[EI_DATA] == ELFDATA2LSB &&
	       ehdr->e_machine == EM_X86_64 &&
	       (!ehdr->e_phnum ||
		((ehdr->e_type == ET_EXEC || ehdr->e_type == ET_DYN) &&
		 ehdr->e_phentsize == sizeof(Elf64_Phdr) && ehdr->e_phnum <= RI_PHDRS_MAX));
}

bool ri_phdrs_find_bias(const Elf64_Phdr *phdrs, size_t phdr_count, uint64_t base, uint64_t *ret)
{
	for (size_t i = 0; i < phdr_count; i++) {
		if (phdrs[i].p_type != PT_LOAD || ri_page_down(phdrs[i].p_offset))
			continue;
		*ret = base - ri_page_down(phdrs[i].p_vaddr);
		return true;
	}
	return false;
}

bool ri_elf_image_read(const struct ri_image *image, uint64_t base, struct ri_elf_image *ret)
{
	struct ri_elf_image elf = { .base = base };
	size_t size_bytes;

	if (!ri_image_read(image, base, &elf.ehdr, sizeof(elf.ehdr)) ||
	    !ri_ehdr_is_usable(&elf.ehdr))
		return false;
	elf.phdr_count = elf.ehdr.e_phnum;
	size_bytes = elf.phdr_count * sizeof(*elf.phdrs);
	elf.phdrs = ri_malloc(size_bytes);
	if (!ri_image_read(image, base + elf.ehdr.e_phoff, elf.phdrs, size_bytes) ||
	    !ri_phdrs_find_bias(elf.phdrs, elf.phdr_count, base, &elf.bias)) {
		free(elf.phdrs);
		return false;
	}
	*ret = elf;
	return true;
}

void ri_elf_image_deinit(struct ri_elf_image *elf)
{
	free(elf->phdrs);
	*elf = (struct ri_elf_image){ 0 };
}

void ri_phdrs_extent(const Elf64_Phdr *phdrs, size_t phdr_count, uint64_t bias,
		     uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < phdr_count; i++) {
		uint64_t low = phdrs[i].p_vaddr + bias, high;

		if (phdrs[i].p_type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(low, phdrs[i].p_memsz, &high))
			continue;
		if (low < start)
			start = low;
		if (high > end)
			end = high;
	}
	*ret_start = start < end ? ri_page_down(start) : 0;
	*ret_end = start < end ? ri_page_up(end) : 0;
}

uint32_t ri_notes_find_build_id(const uint8_t *notes, size_t size_bytes, uint64_t align_bytes,
				uint8_t *ret, uint32_t max_bytes)
{
	uint64_t mask = align_bytes == 8 ? 7 : 3, at = 0;
	Elf64_Nhdr note;

	while (at + sizeof(note) <= size_bytes) {
		uint64_t name_at = at + sizeof(note), desc_at;

		memcpy(&note, notes + at, sizeof(note));
		desc_at = (name_at + note.n_namesz + mask) & ~mask;
		if (desc_at + note.n_descsz > size_bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name_at, "GNU", sizeof("GNU")) && note.n_descsz > 0 &&
		    note.n_descsz <= max_bytes) {
			memcpy(ret, notes + desc_at, note.n_descsz);
			return note.n_descsz;
		}
		at = (desc_at + note.n_descsz + mask) & ~mask;
	}
	return 0;
}

uint32_t ri_elf_image_build_id(const struct ri_image *image, const struct ri_elf_image *elf,
			       uint8_t *ret, uint32_t max_bytes)
{
	for (size_t i = 0; i < elf->phdr_count; i++) {
		const Elf64_Phdr *phdr = &elf->phdrs[i];
		uint32_t found = 0;
		uint8_t *notes;

		if (phdr->p_type != PT_NOTE || phdr->p_filesz > NOTES_MAX_BYTES)
			continue;
		notes = ri_malloc(phdr->p_filesz);
		if (ri_image_read(image, phdr->p_vaddr + elf->bias, notes, phdr->p_filesz))
			found = ri_notes_find_build_id(notes, phdr->p_filesz, phdr->p_align, ret,
						       max_bytes);
		free(notes);
		if (found)
			return found;
	}
	return 0;
}

bool ri_elf_image_dynamic(const struct ri_image *image, const struct ri_elf_image *elf,
			  int64_t tag, uint64_t *ret)
{
	for (size_t i = 0; i < elf->phdr_count; i++) {
		uint64_t addr = elf->phdrs[i].p_vaddr + elf->bias;
		Elf64_Dyn dyn;

		if (elf->phdrs[i].p_type != PT_DYNAMIC)
			continue;
		for (size_t k = 0; k < DYNAMIC_MAX; k++) {
			if (!ri_image_read(image, addr + k * sizeof(dyn), &dyn, sizeof(dyn)) ||
			    dyn.d_tag == DT_NULL)
				break;
			if (dyn.d_tag == tag) {
				*ret = dyn.d_un.d_val;
				return true;
			}
		}
	}
	return false;
}
