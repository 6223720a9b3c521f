/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ELF file on disk: opened without blocking, regular files only, mapped
 * read-only, identified by its build-id or, without one, by its first page.
 */
#ifndef RI_DEBUG_ELF_FILE_H
#define RI_DEBUG_ELF_FILE_H

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "debug/elf_image.h"
#include "debug/elf_rewrite.h"
#include "debug/modules.h"

struct ri_elf_file {
	char *path;
	int fd;                  /* -1: handed over or closed */
	uint8_t *bytes;          /* the file mapped; null: handed over */
	size_t size_bytes;
	Elf *elf;                /* needs neither `fd` nor `bytes`; null: handed over */
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;
	size_t phdr_count;
	uint8_t build_id[RI_BUILD_ID_MAX_BYTES];
	uint32_t build_id_size_bytes; /* 0: none */
	bool is_debug_only;      /* its program sections were left out (objcopy --only-keep-debug) */
	bool has_units;          /* carries .debug_info or .debug_types */
	struct ri_rewritten rewritten; /* what `elf` reads instead of the file; or null bytes */
	const char *why_unread;  /* constant: what is the matter with its debug sections; or null */
};

/* Opens `path`; RI_ERROR_NOT_FOUND, RI_ERROR_PERMISSION, RI_ERROR_IO, or
 * RI_ERROR_INPUT for what is no regular file or no x86-64 ELF object. */
struct ri_error *ri_elf_file_open(const char *path, struct ri_elf_file **ret);

/* Releases whatever was not handed over; null is allowed. */
void ri_elf_file_close(struct ri_elf_file *file);

/* Hands the mapping over to `image`, which unmaps it at its end, and closes the
 * descriptor. */
void ri_elf_file_give_bytes(struct ri_elf_file *file, struct ri_image *image);

/* Closes the descriptor, if it is still there; all else stays usable. */
void ri_elf_file_close_descriptor(struct ri_elf_file *file);

enum ri_identity {
	RI_IDENTITY_BUILD_ID,    /* equal build-ids */
	RI_IDENTITY_FIRST_PAGE,  /* a build-id is missing; headers and first page are equal */
	RI_IDENTITY_UNKNOWN,     /* nothing in memory to compare with */
	RI_IDENTITY_OTHER,       /* another object */
};

/*
 * Whether `file` is what `elf` (with its build-id, if any) is an image of.  For
 * OTHER, *ret_why is a new line that says what differs.
 */
enum ri_identity ri_elf_file_compare(const struct ri_elf_file *file, const struct ri_image *image,
				     const struct ri_elf_image *elf, const uint8_t *build_id,
				     uint32_t build_id_size_bytes, char **ret_why);

/* A new string: the bytes in hexadecimal, "none" for no bytes. */
char *ri_build_id_format(const uint8_t *build_id, uint32_t size_bytes);

/* The CRC-32 that .gnu_debuglink stores, over the whole file. */
uint32_t ri_elf_file_crc(const struct ri_elf_file *file);

#endif
