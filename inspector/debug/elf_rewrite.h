/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF files that libdw cannot read as they are, or only slowly: written anew, in memory.
 */
#ifndef RI_DEBUG_ELF_REWRITE_H
#define RI_DEBUG_ELF_REWRITE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

struct ri_rewritten {
	void *bytes;             /* null: nothing was to be done; else to be unmapped */
	size_t size_bytes;
};

/*
 * Where `elf`, the file of `size_bytes` open at `fd`, has debug sections that are compressed
 * in a way that libelf may not know (zstd) or that is inflated faster here, or several of a
 * name of which there must be one (each type unit of a .dwo file in a section of its own):
 * makes a private copy of the file with the sections decompressed and joined.  *ret_why is a
 * constant text, or null: why a section had to be left as it is.
 */
void ri_elf_rewrite(Elf *elf, int fd, size_t size_bytes, struct ri_rewritten *ret,
		    const char **ret_why);
void ri_rewritten_deinit(struct ri_rewritten *rewritten);

#endif
