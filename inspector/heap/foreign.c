/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an allocator that this floor cannot walk serves the target.
 *
 * Three signs, each enough: a file of a known allocator or sanitizer is mapped;
 * the executable defines a symbol that only such a library has (linked in
 * statically); `malloc` is defined by a module other than the C library, or no
 * glibc arena exists although something has been allocated.  A statically
 * linked glibc program defines malloc too, and is told by its arena.
 *
 * Blind spot: a stripped program that wraps mmap in an allocator of its own and
 * uses glibc's malloc as well.  Its objects lie in plain mappings.
 */
#include <string.h>

#include "heap/heap_builder.h"

struct sign {
	const char *text;        /* start of a file's name, or a symbol */
	const char *what;
};

static const struct sign file_signs[] = {
	{ "libjemalloc", "jemalloc serves malloc (its library is mapped)" },
	{ "libtcmalloc", "tcmalloc serves malloc (its library is mapped)" },
	{ "libmimalloc", "mimalloc serves malloc (its library is mapped)" },
	{ "libsnmalloc", "snmalloc serves malloc (its library is mapped)" },
	{ "libhoard", "Hoard serves malloc (its library is mapped)" },
	{ "libscudo", "scudo serves malloc (its library is mapped)" },
	{ "librpmalloc", "rpmalloc serves malloc (its library is mapped)" },
	{ "libtbbmalloc_proxy", "tbbmalloc serves malloc (its library is mapped)" },
	{ "libumem", "libumem serves malloc (its library is mapped)" },
	{ "libhardened_malloc", "hardened_malloc serves malloc (its library is mapped)" },
	{ "libefence", "Electric Fence serves malloc (its library is mapped)" },
	{ "libasan", "AddressSanitizer serves malloc (its library is mapped)" },
	{ "libclang_rt.asan", "AddressSanitizer serves malloc (its library is mapped)" },
	{ "libtsan", "ThreadSanitizer serves malloc (its library is mapped)" },
	{ "libclang_rt.tsan", "ThreadSanitizer serves malloc (its library is mapped)" },
	{ "liblsan", "LeakSanitizer serves malloc (its library is mapped)" },
	{ "vgpreload_memcheck", "valgrind serves malloc (the program runs under it)" },
	{ "vgpreload_massif", "valgrind serves malloc (the program runs under it)" },
	{ "vgpreload_dhat", "valgrind serves malloc (the program runs under it)" },
	{ "ld-musl", "musl's malloc serves the program (its loader is mapped)" },
	{ "libc.musl", "musl's malloc serves the program (its library is mapped)" },
};

static const struct sign symbol_signs[] = {
	{ "__asan_init", "AddressSanitizer serves malloc (the executable contains it)" },
	{ "__tsan_init", "ThreadSanitizer serves malloc (the executable contains it)" },
	{ "__msan_init", "MemorySanitizer serves malloc (the executable contains it)" },
	{ "__hwasan_init", "HWAddressSanitizer serves malloc (the executable contains it)" },
	{ "__lsan_init", "LeakSanitizer serves malloc (the executable contains it)" },
	{ "je_mallocx", "jemalloc serves the executable (it contains it)" },
	{ "mallocx", "jemalloc serves the executable (it contains it)" },
	{ "je_malloc", "jemalloc serves the executable (it contains it)" },
	{ "tc_malloc", "tcmalloc serves the executable (it contains it)" },
	{ "mi_malloc", "mimalloc serves the executable (it contains it)" },
	{ "rpmalloc", "rpmalloc serves the executable (it contains it)" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

static const char *find_file_sign(const char *path)
{
	const char *name = base_name(path);

	for (size_t i = 0; name && i < COUNT(file_signs); i++)
		if (has_prefix(name, file_signs[i].text))
			return file_signs[i].what;
	return NULL;
}

/* glibc's own library, also where it is named by its version (libc-2.31.so). */
static bool is_libc(const char *path)
{
	const char *name = base_name(path);

	return has_prefix(name, "libc.so") || has_prefix(name, "libc-2");
}

/* Files that define malloc without taking it from the program: the loader (up
 * to glibc 2.33) and glibc's own debugging library. */
static bool may_define_malloc(const char *path)
{
	const char *name = base_name(path);

	return is_libc(path) || has_prefix(name, "ld-") || has_prefix(name, "ld.so") ||
	       has_prefix(name, "libc_malloc_debug");
}

static const char *find_by_symbols(const struct ri_modules *modules, bool has_arena)
{
	size_t count;
	const struct ri_module *list = ri_modules_list(modules, &count);
	bool has_libc = false;
	uint64_t addr;

	for (size_t i = 0; i < count; i++)
		has_libc = has_libc || is_libc(list[i].path);
	for (size_t i = 0; i < count; i++) {
		const struct ri_module *module = &list[i];

		for (size_t k = 0; module->is_main && k < COUNT(symbol_signs); k++)
			if (ri_modules_find_symbol_addr(modules, module, symbol_signs[k].text,
							&addr))
				return symbol_signs[k].what;
		if (may_define_malloc(module->path) || (!has_libc && has_arena))
			continue;
		if (ri_modules_find_symbol_addr(modules, module, "malloc", &addr))
			return module->is_main ?
				       "an allocator in the executable serves malloc" :
				       "an allocator in a library other than libc serves malloc";
	}
	return NULL;
}

/* Whether the target allocated memory in a way that any allocator would. */
static bool has_heap_mapping(const struct ri_target *target)
{
	for (size_t i = 0; i < target->mapping_count; i++)
		if (target->mappings[i].path && !strcmp(target->mappings[i].path, "[heap]"))
			return true;
	return false;
}

static bool has_libc_mapping(const struct ri_target *target)
{
	for (size_t i = 0; i < target->mapping_count; i++)
		if (is_libc(target->mappings[i].path))
			return true;
	return false;
}

const char *ri_heap_find_foreign(const struct ri_target *target, const struct ri_modules *modules,
				 bool has_arena)
{
	const char *what = NULL;

	for (size_t i = 0; !what && i < target->mapping_count; i++)
		what = find_file_sign(target->mappings[i].path);
	if (!what && modules)
		what = find_by_symbols(modules, has_arena);
	/* Only of a live process can be told that it has not allocated anything yet:
	 * a core does not name its brk heap. */
	if (!what && !has_arena &&
	    (target->kind != RI_TARGET_LIVE || has_heap_mapping(target) ||
	     !has_libc_mapping(target)))
		what = "an unknown allocator may serve the program (no glibc arena was found)";
	return what;
}
