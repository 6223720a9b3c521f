/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged debug information under the right build-id: whatever it says, the
 * index and the loader end, stay in bounds and cut down what cannot be true.
 * The damage is random with a fixed start; HOSTILE_ROUNDS in the environment
 * asks for more of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gelf.h>

#include "debug/types.h"
#include "debug_support.h"

static const char program[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"struct list { struct list *next, *prev; };\n"
	"typedef struct { int refs : 12; unsigned flags : 20; } header_t;\n"
	"struct node { header_t h; struct list l; struct node *child[4]; union { int i; char c[9]; }; };\n"
	"struct node nodes[3]; static struct list head = { &head, &head }; enum e { A, B } value;\n"
	"int (*call)(struct node *, const char *); double matrix[3][4];\n"
	"int main(void) { static struct list inner; puts(\"READY\"); fflush(stdout); pause();\n"
	"  return head.next == &inner; }\n";

struct section {
	size_t offset, size_bytes;
};

/* The .debug_* sections of the file. */
static size_t find_sections(const char *path, struct section *sections, size_t max)
{
	int fd = open(path, O_RDONLY);
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t names, count = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	elf_getshdrstrndx(elf, &names);
	while ((scn = elf_nextscn(elf, scn)) && count < max) {
		GElf_Shdr shdr;

		gelf_getshdr(scn, &shdr);
		if (!strncmp(elf_strptr(elf, names, shdr.sh_name), ".debug_", 7))
			sections[count++] = (struct section){ shdr.sh_offset, shdr.sh_size };
	}
	elf_end(elf);
	close(fd);
	return count;
}

struct walk {
	struct ri_types *types;
	size_t structs, variables;
};

static bool visit_struct(const struct ri_type *type, void *data)
{
	struct walk *walk = data;

	walk->structs++;
	ri_type_spell(walk->types, type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *stripped = ri_type_strip(walk->types, member->type);
		struct ri_place place;

		assert_true(member->offset_bits / 8 <= type->size_bytes);
		ri_type_spell(walk->types, member->type);
		if (stripped->kind == RI_TYPE_POINTER)
			ri_type_spell(walk->types, ri_type_target(walk->types, stripped));
		if (member->name)
			ri_error_destroy(ri_type_resolve_path(walk->types, type, member->name,
							      &place));
	}
	return true;
}

static bool visit_variable(const struct ri_variable *variable, void *data)
{
	struct walk *walk = data;

	walk->variables++;
	ri_type_spell(walk->types, variable->type);
	return true;
}

static struct walk use_everything(struct ri_target *target, struct ri_gaps *gaps)
{
	struct ri_modules_options options = { 0 };
	struct ri_modules *modules;
	struct walk walk = { 0 };

	assert_null(ri_modules_create(target, &options, gaps, &modules));
	walk.types = ri_types_create(modules, gaps);
	ri_types_each_struct(walk.types, visit_struct, &walk);
	ri_types_each_variable(walk.types, visit_variable, &walk);
	ri_types_find(walk.types, "node", "h.refs", NULL);
	ri_types_find(walk.types, "struct list", "prev", NULL);
	ri_types_destroy(walk.types);
	ri_modules_destroy(modules);
	return walk;
}

/* The program's own mappings alone: no debug file of libc in every round. */
static void drop_libraries(struct ri_target *target)
{
	for (size_t i = 0; i < target->mapping_count; i++)
		if (target->mappings[i].path && !strstr(target->mappings[i].path, "/program")) {
			free(target->mappings[i].path);
			target->mappings[i].path = NULL;
		}
}

static void write_file(const char *path, const uint8_t *bytes, size_t size_bytes)
{
	FILE *file;

	unlink(path); /* it is running */
	file = fopen(path, "w");
	assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
	fclose(file);
}

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_gaps gaps;
	struct ri_target *target;
	char *path;
	uint8_t *bytes;
	size_t size_bytes;
	struct section sections[32];
	size_t section_count;
};

static bool open_fixture(struct fixture *fixture, const char *cc, const char *flags)
{
	struct stat status;
	FILE *file;

	scratch_init(&fixture->scratch);
	write_text(&fixture->scratch, "main.c", program);
	if (run(&fixture->scratch, "%s %s -static -o program main.c", cc, flags)) {
		scratch_deinit(&fixture->scratch);
		return false;
	}
	process_start(&fixture->process, &fixture->scratch, "program");
	ri_gaps_init(&fixture->gaps);
	fixture->target = target_of(&fixture->process, true);
	drop_libraries(fixture->target);
	fixture->path = ri_format("%s/program", fixture->scratch.dir);
	assert_int_equal(stat(fixture->path, &status), 0);
	fixture->size_bytes = (size_t)status.st_size;
	fixture->bytes = ri_malloc(fixture->size_bytes);
	file = fopen(fixture->path, "r");
	assert_int_equal(fread(fixture->bytes, 1, fixture->size_bytes, file), fixture->size_bytes);
	fclose(file);
	fixture->section_count = find_sections(fixture->path, fixture->sections, 32);
	return true;
}

static void close_fixture(struct fixture *fixture)
{
	ri_target_close(fixture->target);
	ri_gaps_deinit(&fixture->gaps);
	process_end(&fixture->process);
	scratch_deinit(&fixture->scratch);
	free(fixture->path);
	free(fixture->bytes);
}

static void damage(const struct fixture *fixture, uint8_t *bytes)
{
	int count = 1 + rand() % 30;

	for (int i = 0; i < count; i++) {
		const struct section *section =
			&fixture->sections[(size_t)rand() % fixture->section_count];

		if (section->size_bytes)
			bytes[section->offset + (size_t)rand() % section->size_bytes] =
				rand() % 3 ? (uint8_t)rand() : 0xff;
	}
}

static void random_damage(const char *cc, const char *flags)
{
	const char *asked = getenv("HOSTILE_ROUNDS");
	int rounds = asked ? atoi(asked) : 25;
	struct fixture fixture;
	struct walk whole;
	size_t structs = 0;
	uint8_t *bytes;

	if (!open_fixture(&fixture, cc, flags))
		return;
	whole = use_everything(fixture.target, &fixture.gaps);
	assert_true(whole.structs >= 2 && whole.variables >= 6);
	bytes = ri_malloc(fixture.size_bytes);
	srand(1);
	for (int i = 0; i < rounds; i++) {
		memcpy(bytes, fixture.bytes, fixture.size_bytes);
		damage(&fixture, bytes);
		write_file(fixture.path, bytes, fixture.size_bytes);
		structs += use_everything(fixture.target, &fixture.gaps).structs;
	}
	assert_true(structs > (size_t)rounds / 4); /* it was not all refused */
	free(bytes);
	close_fixture(&fixture);
}

static void damaged_dwarf(void **state)
{
	(void)state;
	random_damage(compiler(), "-gdwarf-5");
	random_damage(compiler(), "-gdwarf-4 -fdebug-types-section");
	random_damage("clang", "-gdwarf-5");
}

static void truncated_file(void **state)
{
	struct fixture fixture;

	(void)state;
	assert_true(open_fixture(&fixture, compiler(), "-gdwarf-5"));
	for (size_t part = 1; part < 16; part++) {
		write_file(fixture.path, fixture.bytes, fixture.size_bytes * part / 16);
		use_everything(fixture.target, &fixture.gaps);
	}
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_dwarf),
		cmocka_unit_test(truncated_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
