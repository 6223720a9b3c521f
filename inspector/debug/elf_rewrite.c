/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decompresses and joins the debug sections of an ELF file.
 *
 * The copy is the file itself, mapped privately, with the new contents and a new
 * table of section headers after it; nothing else moves, so that all offsets into the
 * file stay true.  Sections keep their numbers; one that was joined to an earlier one
 * becomes a null section.
 *
 * libdw would inflate what zlib compressed by itself, all sections at once as well; with
 * libdeflate that takes less than half the time, which is a good part of what a small
 * target costs.
 *
 * Joining is sound for units of .dwo files alone: they refer to others by signature, and
 * nothing in them is relocated.  Sizes are the file's own claims, so what is
 * decompressed is bounded in proportion to what is there.
 */
#include "debug/elf_rewrite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#ifdef RI_HAVE_DEFLATE
#include <libdeflate.h>
#endif

#include "base/memory.h"
#include "debug/elf_image.h"

#define COMPRESS_ZSTD 2 /* ELFCOMPRESS_ZSTD, newer than some <elf.h> */
#define RATIO_MAX 256   /* debug information shrinks to a third */
#define ADDED_MAX_BYTES ((uint64_t)4 << 30)
#ifdef RI_HAVE_DEFLATE
#define INFLATES true
#else
#define INFLATES false /* libdw does what zlib can */
#endif

/* What becomes of one section. */
struct part {
	const Elf64_Shdr *shdr;
	const char *name;
	uint64_t size_bytes;     /* of its contents, decompressed */
	size_t joins;            /* the section that it becomes part of: often itself */
	bool is_new;             /* its contents are written anew */
};

struct rewrite {
	const uint8_t *bytes;
	size_t size_bytes;
	struct part *parts;
	size_t part_count;
	const char *why;
};

static bool is_joined(const char *name)
{
	return !strcmp(name, ".debug_info.dwo") || !strcmp(name, ".debug_types.dwo");
}

/* The header in front of a compressed section's bytes; false if it is none. */
static bool read_compression(const struct rewrite *rewrite, const Elf64_Shdr *shdr,
			     Elf64_Chdr *ret)
{
	if (!(shdr->sh_flags & SHF_COMPRESSED) || shdr->sh_size < sizeof(*ret))
		return false;
	memcpy(ret, rewrite->bytes + shdr->sh_offset, sizeof(*ret));
	return true;
}

static bool is_inside(const struct rewrite *rewrite, const Elf64_Shdr *shdr)
{
	return shdr->sh_offset <= rewrite->size_bytes &&
	       shdr->sh_size <= rewrite->size_bytes - shdr->sh_offset;
}

/* Takes down what a section is; false if it is of no concern. */
static bool examine(struct rewrite *rewrite, Elf *elf, size_t names, size_t i)
{
	struct part *part = &rewrite->parts[i];
	Elf_Scn *section = elf_getscn(elf, i);
	Elf64_Chdr compression;

	part->joins = i;
	part->shdr = section ? elf64_getshdr(section) : NULL;
	part->name = part->shdr ? elf_strptr(elf, names, part->shdr->sh_name) : NULL;
	if (!part->name || strncmp(part->name, ".debug_", 7) ||
	    part->shdr->sh_type == SHT_NOBITS || !is_inside(rewrite, part->shdr))
		return false;
	part->size_bytes = part->shdr->sh_size;
	if (!read_compression(rewrite, part->shdr, &compression))
		return true;
	part->size_bytes = compression.ch_size;
	part->is_new = compression.ch_type == COMPRESS_ZSTD ||
		       (INFLATES && compression.ch_type == ELFCOMPRESS_ZLIB);
	if (compression.ch_size / RATIO_MAX > part->shdr->sh_size) {
		part->is_new = false;
		part->size_bytes = part->shdr->sh_size;
		rewrite->why = "a compressed section claims a size that cannot be true";
		return false;
	}
	return true;
}

/* Makes section `i` part of an earlier one of its name. */
static void join(struct rewrite *rewrite, size_t i, size_t *first_info, size_t *first_types)
{
	struct part *part = &rewrite->parts[i];
	size_t *first = strcmp(part->name, ".debug_info.dwo") ? first_types : first_info;

	if (!is_joined(part->name))
		return;
	if (!*first) {
		*first = i;
		return;
	}
	part->joins = *first;
	part->is_new = true;
	rewrite->parts[*first].is_new = true;
}

static bool plan(struct rewrite *rewrite, Elf *elf)
{
	size_t names, first_info = 0, first_types = 0;
	bool is_needed = false;

	if (elf_getshdrstrndx(elf, &names) || elf_getshdrnum(elf, &rewrite->part_count))
		return false;
	rewrite->parts = ri_calloc(rewrite->part_count, sizeof(*rewrite->parts));
	for (size_t i = 0; i < rewrite->part_count; i++)
		if (examine(rewrite, elf, names, i))
			join(rewrite, i, &first_info, &first_types);
	for (size_t i = 0; i < rewrite->part_count; i++)
		is_needed |= rewrite->parts[i].is_new;
	return is_needed;
}

/* Writes all of `to` from a zlib stream; false where it does not say exactly that. */
static bool inflate_zlib(const uint8_t *from, size_t from_bytes, uint8_t *to, size_t to_bytes)
{
#ifdef RI_HAVE_DEFLATE
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	bool ok = decompressor && libdeflate_zlib_decompress(decompressor, from, from_bytes, to,
							     to_bytes, NULL) == LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(decompressor);
	return ok;
#else
	uLongf written = to_bytes;

	return uncompress(to, &written, from, from_bytes) == Z_OK && written == to_bytes;
#endif
}

/* Writes a section's contents, decompressed, to `to`. */
static bool write_contents(const struct rewrite *rewrite, const struct part *part, uint8_t *to)
{
	const uint8_t *from = rewrite->bytes + part->shdr->sh_offset;
	size_t from_bytes = part->shdr->sh_size - sizeof(Elf64_Chdr);
	Elf64_Chdr compression;

	if (!read_compression(rewrite, part->shdr, &compression)) {
		memcpy(to, from, part->size_bytes);
		return true;
	}
	from += sizeof(compression);
	if (compression.ch_type == COMPRESS_ZSTD)
		return ZSTD_decompress(to, part->size_bytes, from, from_bytes) == part->size_bytes;
	return compression.ch_type == ELFCOMPRESS_ZLIB &&
	       inflate_zlib(from, from_bytes, to, part->size_bytes);
}

/* Writes section `i` and what joins it at `offset` of the copy; its end. */
static uint64_t write_section(struct rewrite *rewrite, uint8_t *copy, size_t i, uint64_t offset,
			      Elf64_Shdr *shdrs)
{
	uint64_t end = offset;

	for (size_t k = i; k < rewrite->part_count; k++) {
		const struct part *part = &rewrite->parts[k];

		if (part->joins != i)
			continue;
		if (!write_contents(rewrite, part, copy + end)) {
			rewrite->why = "a compressed section cannot be decompressed";
			return offset;
		}
		end += part->size_bytes;
	}
	shdrs[i].sh_offset = offset;
	shdrs[i].sh_size = end - offset;
	shdrs[i].sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	shdrs[i].sh_addralign = 1;
	return end;
}

static void write_all(struct rewrite *rewrite, uint8_t *copy, uint64_t table_offset)
{
	Elf64_Shdr *shdrs = (Elf64_Shdr *)(copy + table_offset);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)copy;
	uint64_t offset = table_offset + rewrite->part_count * sizeof(*shdrs);

	for (size_t i = 0; i < rewrite->part_count; i++) {
		const struct part *part = &rewrite->parts[i];

		if (part->shdr)
			shdrs[i] = *part->shdr;
		if (part->joins != i)
			shdrs[i] = (Elf64_Shdr){ .sh_type = SHT_NULL };
		else if (part->is_new)
			offset = write_section(rewrite, copy, i, offset, shdrs);
	}
	ehdr->e_shoff = table_offset;
}

/* The file mapped privately with `added_bytes` of memory after its last page. */
static uint8_t *map_copy(int fd, size_t size_bytes, uint64_t table_offset, uint64_t added_bytes)
{
	size_t whole = table_offset + added_bytes;
	uint8_t *copy = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	if (mmap(copy, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		munmap(copy, whole);
		return NULL;
	}
	return copy;
}

static void rewrite_file(struct rewrite *rewrite, int fd, struct ri_rewritten *ret)
{
	uint64_t table_offset = ri_page_up(rewrite->size_bytes);
	uint64_t added = rewrite->part_count * sizeof(Elf64_Shdr);
	uint8_t *copy;

	for (size_t i = 0; i < rewrite->part_count; i++)
		if (rewrite->parts[i].is_new &&
		    (__builtin_add_overflow(added, rewrite->parts[i].size_bytes, &added) ||
		     added > ADDED_MAX_BYTES)) {
			rewrite->why = "its compressed sections are too large";
			return;
		}
	copy = map_copy(fd, rewrite->size_bytes, table_offset, added);
	if (!copy) {
		rewrite->why = "no memory for its decompressed sections";
		return;
	}
	write_all(rewrite, copy, table_offset);
	ret->bytes = copy;
	ret->size_bytes = table_offset + added;
}

void ri_elf_rewrite(Elf *elf, int fd, size_t size_bytes, struct ri_rewritten *ret,
		    const char **ret_why)
{
	size_t raw_bytes;
	struct rewrite rewrite = { .bytes = (const uint8_t *)elf_rawfile(elf, &raw_bytes) };

	*ret = (struct ri_rewritten){ 0 };
	rewrite.size_bytes = raw_bytes < size_bytes ? raw_bytes : size_bytes;
	if (rewrite.bytes && plan(&rewrite, elf))
		rewrite_file(&rewrite, fd, ret);
	free(rewrite.parts);
	*ret_why = rewrite.why;
}

void ri_rewritten_deinit(struct ri_rewritten *rewritten)
{
	if (rewritten->bytes)
		munmap(rewritten->bytes, rewritten->size_bytes);
	*rewritten = (struct ri_rewritten){ 0 };
}
