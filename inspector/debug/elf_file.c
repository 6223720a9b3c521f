/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening and identifying ELF files.
 *
 * The names of the files come from the target, so a name may lead to a FIFO, a
 * device or a file that has been replaced since: open without blocking, take
 * regular files only, and use none whose identity does not match the memory
 * image.  What counts as identity is the build-id; objects linked without one
 * are compared by ELF header, program headers and the rest of the first page,
 * leaving out the fields that strip(1) changes.
 */
#include "debug/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

/* After a failed call: a file that cannot be read for want of memory is not a file less, or the
 * report would depend on what else the machine does. */
static void end_without_memory(void)
{
	if (errno == ENOMEM)
		ri_memory_exhausted(0);
}

static struct ri_error *map_file(struct ri_elf_file *file)
{
	struct stat status;

	file->fd = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (file->fd < 0)
		return ri_error_create_errno(errno, "cannot open %s", file->path);
	if (fstat(file->fd, &status) < 0)
		return ri_error_create_errno(errno, "cannot examine %s", file->path);
	if (!S_ISREG(status.st_mode))
		return ri_error_create(RI_ERROR_INPUT, "%s is not a regular file", file->path);
	if (status.st_size < (off_t)sizeof(Elf64_Ehdr))
		return ri_error_create(RI_ERROR_INPUT, "%s is too short for an ELF file",
				       file->path);
	file->size_bytes = (size_t)status.st_size;
	file->bytes = mmap(NULL, file->size_bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
	if (file->bytes == MAP_FAILED) {
		file->bytes = NULL;
		end_without_memory();
		return ri_error_create_errno(errno, "cannot map %s", file->path);
	}
	return NULL;
}

static struct ri_error *read_headers(struct ri_elf_file *file)
{
	size_t size_bytes;

	memcpy(&file->ehdr, file->bytes, sizeof(file->ehdr));
	if (!ri_ehdr_is_usable(&file->ehdr))
		return ri_error_create(RI_ERROR_INPUT,
				       "%s is not an x86-64 ELF executable or shared object",
				       file->path);
	file->phdr_count = file->ehdr.e_phnum;
	size_bytes = file->phdr_count * sizeof(*file->phdrs);
	if (!file->phdr_count)
		return NULL;
	if (file->ehdr.e_phoff > file->size_bytes ||
	    size_bytes > file->size_bytes - file->ehdr.e_phoff)
		return ri_error_create(RI_ERROR_INPUT, "%s is cut short: no program headers",
				       file->path);
	file->phdrs = ri_malloc(size_bytes);
	memcpy(file->phdrs, file->bytes + file->ehdr.e_phoff, size_bytes);
	return NULL;
}

static void take_notes(struct ri_elf_file *file, uint64_t offset, uint64_t size_bytes,
		       uint64_t align_bytes)
{
	if (file->build_id_size_bytes || offset > file->size_bytes ||
	    size_bytes > file->size_bytes - offset)
		return;
	file->build_id_size_bytes =
		ri_notes_find_build_id(file->bytes + offset, size_bytes, align_bytes,
				       file->build_id, sizeof(file->build_id));
}

/* The sections say where a debug-only file keeps its notes (its program
 * headers still speak of the whole file) and what else it carries. */
static void read_sections(struct ri_elf_file *file)
{
	size_t names;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(file->elf, &names) < 0)
		return;
	while ((section = elf_nextscn(file->elf, section))) {
		const Elf64_Shdr *shdr = elf64_getshdr(section);
		const char *name = shdr ? elf_strptr(file->elf, names, shdr->sh_name) : NULL;

		if (!name)
			continue;
		if (shdr->sh_type == SHT_NOTE)
			take_notes(file, shdr->sh_offset, shdr->sh_size, shdr->sh_addralign);
		if (shdr->sh_type == SHT_NOBITS &&
		    ((shdr->sh_flags & SHF_EXECINSTR) || !strcmp(name, ".dynamic")))
			file->is_debug_only = true;
		if (shdr->sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info") ||
		     !strcmp(name, ".debug_types")))
			file->has_units = true;
	}
}

/* Where libelf cannot read the debug sections as they are; false if nothing can be read. */
static bool rewrite(struct ri_elf_file *file)
{
	ri_elf_rewrite(file->elf, file->fd, file->size_bytes, &file->rewritten,
		       &file->why_unread);
	if (!file->rewritten.bytes)
		return true;
	elf_end(file->elf);
	file->elf = elf_memory(file->rewritten.bytes, file->rewritten.size_bytes);
	return file->elf;
}

static struct ri_error *examine(struct ri_elf_file *file)
{
	struct ri_error *error = map_file(file);

	if (!error)
		error = read_headers(file);
	if (error)
		return error;
	elf_version(EV_CURRENT);
	/* a mapping of libelf's own, since it writes to the headers of sections that
	 * it decompresses */
	errno = 0;
	file->elf = elf_begin(file->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF || elf_cntl(file->elf, ELF_C_FDREAD)) {
		end_without_memory();
		return ri_error_create(RI_ERROR_INPUT, "%s: %s", file->path, elf_errmsg(-1));
	}
	read_sections(file);
	if (!rewrite(file))
		return ri_error_create(RI_ERROR_INPUT, "%s: %s", file->path, elf_errmsg(-1));
	for (size_t i = 0; i < file->phdr_count && !file->is_debug_only; i++)
		if (file->phdrs[i].p_type == PT_NOTE)
			take_notes(file, file->phdrs[i].p_offset, file->phdrs[i].p_filesz,
				   file->phdrs[i].p_align);
	return NULL;
}

struct ri_error *ri_elf_file_open(const char *path, struct ri_elf_file **ret)
{
	struct ri_elf_file *file = ri_calloc(1, sizeof(*file));
	struct ri_error *error;

	file->path = ri_strdup(path);
	file->fd = -1;
	error = examine(file);
	if (error) {
		ri_elf_file_close(file);
		return error;
	}
	*ret = file;
	return NULL;
}

void ri_elf_file_close(struct ri_elf_file *file)
{
	if (!file)
		return;
	if (file->elf)
		elf_end(file->elf);
	if (file->bytes)
		munmap(file->bytes, file->size_bytes);
	ri_rewritten_deinit(&file->rewritten);
	ri_elf_file_close_descriptor(file);
	free(file->phdrs);
	free(file->path);
	free(file);
}

void ri_elf_file_give_bytes(struct ri_elf_file *file, struct ri_image *image)
{
	if (file->bytes)
		ri_image_own_mapping(image, file->bytes, file->size_bytes);
	file->bytes = NULL;
	ri_elf_file_close_descriptor(file);
}

void ri_elf_file_close_descriptor(struct ri_elf_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* Sets what strip(1) changes to zero. */
static void blank_section_fields(uint8_t *page)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)page;

	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
	ehdr->e_shentsize = 0;
}

/* Over as much of the page as the first PT_LOAD maps; false too if the image
 * does not hold it. */
static bool first_pages_equal(const struct ri_elf_file *file, const struct ri_image *image,
			      const struct ri_elf_image *elf)
{
	_Alignas(Elf64_Ehdr) uint8_t theirs[RI_PAGE_BYTES], ours[RI_PAGE_BYTES];
	size_t size_bytes = sizeof(ours);

	for (size_t i = 0; i < file->phdr_count; i++)
		if (file->phdrs[i].p_type == PT_LOAD && !ri_page_down(file->phdrs[i].p_offset)) {
			uint64_t end = file->phdrs[i].p_offset + file->phdrs[i].p_filesz;

			size_bytes = end < size_bytes ? end : size_bytes;
			break;
		}
	if (size_bytes > file->size_bytes)
		size_bytes = file->size_bytes;
	if (size_bytes < sizeof(Elf64_Ehdr) ||
	    !ri_image_read(image, elf->base, theirs, size_bytes))
		return false;
	memcpy(ours, file->bytes, size_bytes);
	blank_section_fields(ours);
	blank_section_fields(theirs);
	return !memcmp(ours, theirs, size_bytes);
}

static char *describe_difference(const struct ri_elf_file *file, const uint8_t *build_id,
				 uint32_t build_id_size_bytes)
{
	char *ours = ri_build_id_format(file->build_id, file->build_id_size_bytes);
	char *theirs = ri_build_id_format(build_id, build_id_size_bytes);
	char *why = ri_format("%s is another build: its build-id is %s, the one in memory is %s",
			      file->path, ours, theirs);

	free(ours);
	free(theirs);
	return why;
}

enum ri_identity ri_elf_file_compare(const struct ri_elf_file *file, const struct ri_image *image,
				     const struct ri_elf_image *elf, const uint8_t *build_id,
				     uint32_t build_id_size_bytes, char **ret_why)
{
	if (build_id_size_bytes && file->build_id_size_bytes) {
		if (build_id_size_bytes == file->build_id_size_bytes &&
		    !memcmp(build_id, file->build_id, build_id_size_bytes))
			return RI_IDENTITY_BUILD_ID;
		*ret_why = describe_difference(file, build_id, build_id_size_bytes);
		return RI_IDENTITY_OTHER;
	}
	if (!elf->phdr_count)
		return RI_IDENTITY_UNKNOWN;
	/* A debug-only file has no first page to compare, so without build-ids on
	 * both sides nothing ties it to the image. */
	if (!file->is_debug_only && first_pages_equal(file, image, elf))
		return RI_IDENTITY_FIRST_PAGE;
	*ret_why = describe_difference(file, build_id, build_id_size_bytes);
	return RI_IDENTITY_OTHER;
}

char *ri_build_id_format(const uint8_t *build_id, uint32_t size_bytes)
{
	static const char hex[] = "0123456789abcdef";
	char *text;

	if (!size_bytes)
		return ri_strdup("none");
	text = ri_malloc(2 * (size_t)size_bytes + 1);
	for (uint32_t i = 0; i < size_bytes; i++) {
		text[2 * i] = hex[build_id[i] >> 4];
		text[2 * i + 1] = hex[build_id[i] & 15];
	}
	text[2 * (size_t)size_bytes] = '\0';
	return text;
}

uint32_t ri_elf_file_crc(const struct ri_elf_file *file)
{
	return (uint32_t)crc32_z(0, file->bytes, file->size_bytes);
}
