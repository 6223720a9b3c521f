/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ELF object as it lies in the target's memory: header, program headers,
 * build-id.  Nothing here opens a file or needs libelf.
 */
#ifndef RI_DEBUG_ELF_IMAGE_H
#define RI_DEBUG_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/image.h"

#define RI_PAGE_BYTES 4096u
#define RI_PHDRS_MAX 512u

struct ri_elf_image {
	uint64_t base;           /* where file offset 0 is mapped */
	uint64_t bias;           /* added to p_vaddr */
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;       /* phdr_count of them */
	size_t phdr_count;       /* 0: no header in memory */
};

/* Rounds down and up to a page; up saturates instead of wrapping. */
uint64_t ri_page_down(uint64_t addr);
uint64_t ri_page_up(uint64_t addr);

/* Whether `ehdr` is the header of an x86-64 executable or shared object, with
 * program headers of the size and number that we read, or of a file without any
 * (the common debug files that dwz writes). */
bool ri_ehdr_is_usable(const Elf64_Ehdr *ehdr);

/*
 * The bias of an object with these program headers whose file offset 0 is
 * mapped at `base`.  False if no PT_LOAD maps the first page of the file.
 */
bool ri_phdrs_find_bias(const Elf64_Phdr *phdrs, size_t phdr_count, uint64_t base,
			uint64_t *ret);

/* Reads the object whose file offset 0 is mapped at `base`; false if there is
 * no ELF header with readable program headers.  To be deinited on true. */
bool ri_elf_image_read(const struct ri_image *image, uint64_t base, struct ri_elf_image *ret);
void ri_elf_image_deinit(struct ri_elf_image *elf);

/* [*ret_start, *ret_end): from the first to the last byte of its PT_LOADs,
 * rounded to pages. */
void ri_phdrs_extent(const Elf64_Phdr *phdrs, size_t phdr_count, uint64_t bias,
		     uint64_t *ret_start, uint64_t *ret_end);

/* The GNU build-id from the PT_NOTEs in memory: copied to `ret` (room for
 * `max_bytes`), its size returned; 0 if there is none to be read. */
uint32_t ri_elf_image_build_id(const struct ri_image *image, const struct ri_elf_image *elf,
			       uint8_t *ret, uint32_t max_bytes);

/* The same from `size_bytes` of a note segment or section with this alignment. */
uint32_t ri_notes_find_build_id(const uint8_t *notes, size_t size_bytes, uint64_t align_bytes,
				uint8_t *ret, uint32_t max_bytes);

/* The value of the dynamic tag `tag` in memory; false if not there. */
bool ri_elf_image_dynamic(const struct ri_image *image, const struct ri_elf_image *elf,
			  int64_t tag, uint64_t *ret);

#endif
