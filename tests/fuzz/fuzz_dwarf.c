/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An executable with DWARF, mapped as it would be: its modules, types and variables are read and
 * the built-in profiles and one more are bound to them.
 *
 * libelf, libdw and libdwfl read most of the bytes first, and are not built with instruments: what
 * they do wrong shows as a crash whose innermost frames are theirs, and is told from ours by
 * tests/fuzz.sh, which see.
 */
#include <elf.h>
#include <string.h>

#include "base/gaps.h"
#include "base/memory.h"
#include "debug/modules.h"
#include "debug/types.h"
#include "fuzz.h"
#include "profile/layout.h"

#define SIZE_MAX_BYTES ((size_t)1 << 20)
#define BIAS           0x555555554000ull
#define PAGE_BYTES     4096ull
#define MAPPINGS_MAX   8

static const char profile_text[] =
	"version: 1\n"
	"name: fuzz\n"
	"types:\n"
	"- struct: session\n"
	"  counts: ref\n"
	"- struct: item\n"
	"  counts: refs\n"
	"  name: name\n"
	"groups:\n"
	"- head: { variable: all_items }\n"
	"  link: { struct: item, member: link }\n"
	"  membership: borrows\n";

static void add_segment(struct ri_target *target, const struct file *file, const uint8_t *bytes,
			size_t size_bytes, const Elf64_Phdr *phdr)
{
	uint64_t start = phdr->p_vaddr & ~(PAGE_BYTES - 1), lead = phdr->p_vaddr - start;
	uint64_t end = start + ((lead + phdr->p_filesz + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1));
	struct ri_mapping *mapping = &target->mappings[target->mapping_count];
	struct ri_range range = { .flags = RI_RANGE_READ | (phdr->p_flags & PF_W ? RI_RANGE_WRITE
										 : 0) };

	if (phdr->p_filesz > size_bytes || phdr->p_offset > size_bytes - phdr->p_filesz ||
	    phdr->p_offset < lead || phdr->p_vaddr >= 1ull << 40 ||
	    target->mapping_count == MAPPINGS_MAX)
		return;
	range.start = BIAS + start;
	range.end = BIAS + phdr->p_vaddr + phdr->p_filesz;
	range.bytes = bytes + phdr->p_offset - lead;
	*mapping = (struct ri_mapping){ .start = range.start, .end = BIAS + end,
					.file_offset = phdr->p_offset - lead, .flags = range.flags,
					.path = ri_strdup(file->path) };
	if (range.start >= range.end ||
	    (target->mapping_count && mapping->start < mapping[-1].end)) {
		free(mapping->path);
		return;
	}
	target->mapping_count++;
	ri_image_add(target->image, &range);
}

static struct ri_target *make_target(const struct file *file, const uint8_t *bytes,
				     size_t size_bytes)
{
	struct ri_target *target;
	Elf64_Ehdr elf;
	Elf64_Phdr phdr;

	if (size_bytes < sizeof(elf))
		return NULL;
	memcpy(&elf, bytes, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_phoff > size_bytes)
		return NULL;
	target = ri_calloc(1, sizeof(*target));
	target->kind = RI_TARGET_CORE;
	target->image = ri_image_create();
	target->mappings = ri_calloc(MAPPINGS_MAX, sizeof(*target->mappings));
	target->auxv_phdr = BIAS + elf.e_phoff;
	target->auxv_phnum = elf.e_phnum;
	target->auxv_entry = BIAS + elf.e_entry;
	for (uint64_t i = 0; i < elf.e_phnum; i++) {
		if ((i + 1) * sizeof(phdr) > size_bytes - elf.e_phoff)
			break;
		memcpy(&phdr, bytes + elf.e_phoff + i * sizeof(phdr), sizeof(phdr));
		if (phdr.p_type == PT_LOAD)
			add_segment(target, file, bytes, size_bytes, &phdr);
	}
	return target;
}

static bool look_at_variable(const struct ri_variable *variable, void *data)
{
	ri_type_spell(data, variable->type);
	return true;
}

static bool look_at_struct(const struct ri_type *type, void *data)
{
	for (size_t i = 0; i < type->member_count; i++)
		ri_type_spell(data, ri_type_strip(data, type->members[i].type));
	return true;
}

static void bind(const struct ri_modules *modules, struct ri_gaps *gaps)
{
	const bool is_user[] = { false, true };
	struct ri_profile *profiles[2];
	struct ri_types *types = ri_types_create(modules, gaps);
	struct ri_layout *layout;

	if (ri_profile_parse("builtin", ri_builtin_profiles[0].text,
			     ri_builtin_profiles[0].size_bytes, &profiles[0]) ||
	    ri_profile_parse("fuzz", profile_text, strlen(profile_text), &profiles[1]))
		abort();
	layout = ri_layout_create((const struct ri_profile *const *)profiles, is_user, 2, types,
				  modules, gaps);
	ri_types_each_variable(types, look_at_variable, types);
	ri_types_each_struct(types, look_at_struct, types);
	ri_layout_destroy(layout);
	ri_types_destroy(types);
	ri_profile_destroy(profiles[0]);
	ri_profile_destroy(profiles[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const char *const no_debug_dirs[] = { NULL };
	const struct ri_modules_options options = { .debug_dirs = no_debug_dirs };
	struct ri_modules *modules;
	struct ri_target *target;
	struct ri_gaps gaps;
	struct file file;

	if (size_bytes > SIZE_MAX_BYTES)
		return 0;
	file_open(&file, bytes, size_bytes);
	ri_gaps_init(&gaps);
	target = make_target(&file, bytes, size_bytes);
	if (target) {
		struct ri_error *error = ri_modules_create(target, &options, &gaps, &modules);

		if (!error) {
			bind(modules, &gaps);
			ri_modules_destroy(modules);
		}
		ri_error_destroy(error);
		ri_target_close(target);
	}
	ri_gaps_deinit(&gaps);
	file_close(&file);
	return 0;
}
