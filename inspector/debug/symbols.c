/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF symbols of modules, by address and by name.
 *
 * A module's table is read when it is first asked for: .symtab and .dynsym of
 * its file, of its debug file and of the small symbol table that some
 * distributions embed (.gnu_debugdata).  libdwfl opens those; the sections are
 * read here because its symbol names are not checked for an end.  Sections,
 * files, undefined, absolute and thread-local symbols are left out.
 *
 * Look-up is a binary search for the last start at or before the address, then
 * a walk back while some earlier symbol can still reach that far; the walk is
 * bounded, so symbols that overlap in bulk (a hostile file) may be missed.
 * Tables are filled behind a const interface: one thread at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "debug/modules_private.h"

#define WALK_BACK_MAX 64
#define ELFS_MAX 4

struct symbol {
	uint64_t addr, size_bytes;
	uint64_t reach;          /* greatest end of this and all symbols before it */
	const char *name;        /* without its version */
	uint32_t rank;           /* higher is preferred at the same address */
	uint32_t order;          /* as read */
};

struct ri_symbols {
	RI_VEC(struct symbol) by_addr;
	uint32_t *by_name;       /* indices into by_addr, sorted by name */
};

void ri_symbols_destroy(struct ri_symbols *symbols)
{
	if (!symbols)
		return;
	ri_vec_deinit(&symbols->by_addr);
	free(symbols->by_name);
	free(symbols);
}

static bool is_wanted(const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_shndx != SHN_COMMON &&
	       (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC ||
		type == STT_GNU_IFUNC);
}

static uint32_t rank_of(const Elf64_Sym *sym)
{
	unsigned binding = ELF64_ST_BIND(sym->st_info);

	return (sym->st_size ? 4u : 0u) + (ELF64_ST_TYPE(sym->st_info) != STT_NOTYPE ? 8u : 0u) +
	       (binding == STB_GLOBAL ? 2u : binding == STB_WEAK ? 1u : 0u);
}

/* "name@@VERSION" as "name" */
static const char *without_version(struct ri_strings *strings, const char *name)
{
	const char *at = strchr(name + 1, '@'), *interned;
	char *copy;

	if (!at)
		return name;
	copy = ri_strndup(name, (size_t)(at - name));
	interned = ri_strings_add(strings, copy);
	free(copy);
	return interned;
}

static void read_section(struct ri_strings *strings, const struct ri_module *module, Elf *elf,
			 Elf_Scn *section, uint64_t bias, struct ri_symbols *symbols)
{
	const Elf64_Shdr *shdr = elf64_getshdr(section);
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 1; i < count; i++) {
		const Elf64_Sym *sym = &((const Elf64_Sym *)data->d_buf)[i];
		uint64_t addr = sym->st_value + bias;
		const char *name;
		struct symbol *symbol;

		if (!is_wanted(sym) || addr < module->start || addr >= module->end)
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym->st_name);
		if (!name || !*name)
			continue;
		symbol = ri_push(&symbols->by_addr);
		symbol->addr = addr;
		symbol->size_bytes = sym->st_size < module->end - addr ? sym->st_size
								       : module->end - addr;
		symbol->name = without_version(strings, name);
		symbol->rank = rank_of(sym);
		symbol->order = (uint32_t)symbols->by_addr.count;
	}
}

static void read_elf(struct ri_strings *strings, const struct ri_module *module, Elf *elf,
		     uint64_t bias, struct ri_symbols *symbols)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		const Elf64_Shdr *shdr = elf64_getshdr(section);

		if (shdr && (shdr->sh_type == SHT_SYMTAB || shdr->sh_type == SHT_DYNSYM))
			read_section(strings, module, elf, section, bias, symbols);
	}
}

/* Every ELF object in which libdwfl found symbols, besides the module's own. */
static void read_elfs(struct ri_strings *strings, const struct ri_module *module,
		      const struct ri_module_state *state, struct ri_symbols *symbols)
{
	int count = dwfl_module_getsymtab(state->dwfl);
	Elf *seen[ELFS_MAX];
	size_t seen_count = 0;
	GElf_Addr bias;

	seen[0] = dwfl_module_getelf(state->dwfl, &bias);
	if (seen[0])
		read_elf(strings, module, seen[seen_count++], bias, symbols);
	for (int i = 1; i < count && seen_count < ELFS_MAX; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		Elf *elf = NULL;
		size_t k = 0;

		if (!dwfl_module_getsym_info(state->dwfl, i, &sym, &addr, NULL, &elf,
					     &bias) ||
		    !elf)
			continue;
		while (k < seen_count && seen[k] != elf)
			k++;
		if (k == seen_count) {
			read_elf(strings, module, elf, bias, symbols);
			seen[seen_count++] = elf;
		}
	}
}

static int compare_addr(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	if (left->addr != right->addr)
		return left->addr < right->addr ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left->order > right->order ? -1 : left->order < right->order;
}

static int compare_name(const void *a, const void *b, void *data)
{
	const struct symbol *symbols = data;
	const struct symbol *left = &symbols[*(const uint32_t *)a];
	const struct symbol *right = &symbols[*(const uint32_t *)b];
	int order = strcmp(left->name, right->name);

	if (order)
		return order;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	return left->addr < right->addr ? -1 : left->addr > right->addr;
}

static const struct ri_symbols *symbols_of(const struct ri_modules *modules,
					   const struct ri_module *module)
{
	struct ri_module_state *state = ri_modules_state(modules, module);
	struct ri_symbols *symbols;
	uint64_t reach = 0;

	if (state->symbols)
		return state->symbols;
	symbols = state->symbols = ri_calloc(1, sizeof(*symbols));
	if (state->dwfl)
		read_elfs(modules->strings, module, state, symbols);
	if (symbols->by_addr.count)
		qsort(symbols->by_addr.items, symbols->by_addr.count,
		      sizeof(*symbols->by_addr.items), compare_addr);
	symbols->by_name = ri_calloc(symbols->by_addr.count, sizeof(*symbols->by_name));
	for (size_t i = 0; i < symbols->by_addr.count; i++) {
		struct symbol *symbol = &symbols->by_addr.items[i];

		if (symbol->addr + symbol->size_bytes > reach)
			reach = symbol->addr + symbol->size_bytes;
		symbol->reach = reach;
		symbols->by_name[i] = (uint32_t)i;
	}
	if (symbols->by_addr.count)
		qsort_r(symbols->by_name, symbols->by_addr.count, sizeof(*symbols->by_name),
			compare_name, symbols->by_addr.items);
	return symbols;
}

/* Index + 1 of the last symbol that starts at or before `addr`; 0: none. */
static size_t last_before(const struct ri_symbols *symbols, uint64_t addr)
{
	size_t low = 0, high = symbols->by_addr.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->by_addr.items[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct symbol *find_containing(const struct ri_symbols *symbols, size_t end,
					    uint64_t addr)
{
	for (size_t i = end; i > 0 && end - i < WALK_BACK_MAX; i--) {
		const struct symbol *symbol = &symbols->by_addr.items[i - 1];

		if (addr - symbol->addr < symbol->size_bytes)
			return symbol;
		if (symbol->reach <= addr)
			break;
	}
	return NULL;
}

const char *ri_modules_find_symbol(const struct ri_modules *modules, uint64_t addr,
				   bool exact_size, uint64_t *ret_offset,
				   uint64_t *ret_size_bytes)
{
	const struct ri_module *module = ri_modules_find(modules, addr);
	const struct ri_symbols *symbols;
	const struct symbol *symbol;
	size_t end;

	if (!module)
		return NULL;
	symbols = symbols_of(modules, module);
	end = last_before(symbols, addr);
	symbol = find_containing(symbols, end, addr);
	if (!symbol && !exact_size && end)
		symbol = &symbols->by_addr.items[end - 1];
	if (!symbol)
		return NULL;
	if (ret_offset)
		*ret_offset = addr - symbol->addr;
	if (ret_size_bytes)
		*ret_size_bytes = symbol->size_bytes;
	return symbol->name;
}

static bool find_in_module(const struct ri_modules *modules, const struct ri_module *module,
			   const char *name, uint64_t *ret)
{
	const struct ri_symbols *symbols = symbols_of(modules, module);
	size_t low = 0, high = symbols->by_addr.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(symbols->by_addr.items[symbols->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == symbols->by_addr.count ||
	    strcmp(symbols->by_addr.items[symbols->by_name[low]].name, name))
		return false;
	*ret = symbols->by_addr.items[symbols->by_name[low]].addr;
	return true;
}

bool ri_modules_find_symbol_addr(const struct ri_modules *modules, const struct ri_module *module,
				 const char *name, uint64_t *ret)
{
	if (module)
		return find_in_module(modules, module, name, ret);
	for (size_t i = 0; i < modules->count; i++)
		if (find_in_module(modules, &modules->list[i], name, ret))
			return true;
	return false;
}
