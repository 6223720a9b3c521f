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

/*
 * DWARF 4 by hand.  Abbreviations: 1 unit, 2 struct (name, size), 3 member (name, type,
 * location), 4 typedef (name, type), 5 int, 6 array (type), 7 subrange (upper bound),
 * 8 struct with a sibling reference (name, size, sibling).
 */
static const char lies_assembly[] =
	".section .debug_abbrev\n"
	".uleb128 1,0x11\n.byte 1\n.uleb128 0x13,0x5,0,0\n"
	".uleb128 2,0x13\n.byte 1\n.uleb128 0x3,0x8,0xb,0x7,0,0\n"
	".uleb128 3,0xd\n.byte 0\n.uleb128 0x3,0x8,0x49,0x13,0x38,0xf,0,0\n"
	".uleb128 4,0x16\n.byte 0\n.uleb128 0x3,0x8,0x49,0x13,0,0\n"
	".uleb128 5,0x24\n.byte 0\n.uleb128 0x3,0x8,0xb,0xb,0x3e,0xb,0,0\n"
	".uleb128 6,0x1\n.byte 1\n.uleb128 0x49,0x13,0,0\n"
	".uleb128 7,0x21\n.byte 0\n.uleb128 0x2f,0x7,0,0\n"
	".uleb128 8,0x13\n.byte 1\n.uleb128 0x3,0x8,0xb,0x7,0x1,0x13,0,0\n"
	".byte 0\n"
	".section .debug_info\nunit: .long end - begin\nbegin: .short 4\n.long .debug_abbrev\n"
	".byte 8\n.uleb128 1\n.short 0xc\n"
	"integer: .uleb128 5\n.asciz \"int\"\n.byte 4, 5\n"
	"whole: .uleb128 2\n.asciz \"honest\"\n.quad 8\n"
	" .uleb128 3\n.asciz \"a\"\n.long integer - unit\n.uleb128 4\n.byte 0\n"
	"self: .uleb128 2\n.asciz \"holds_itself\"\n.quad 8\n"
	" .uleb128 3\n.asciz \"me\"\n.long self_name - unit\n.uleb128 0\n"
	" .uleb128 3\n.asciz \"fine\"\n.long integer - unit\n.uleb128 4\n.byte 0\n"
	"self_name: .uleb128 4\n.asciz \"self_t\"\n.long self - unit\n"
	"loop: .uleb128 4\n.asciz \"loop_t\"\n.long loop2 - unit\n"
	"loop2: .uleb128 4\n.asciz \"loop2_t\"\n.long loop - unit\n"
	" .uleb128 2\n.asciz \"beyond\"\n.quad 8\n"
	" .uleb128 3\n.asciz \"in\"\n.long integer - unit\n.uleb128 0\n"
	" .uleb128 3\n.asciz \"out\"\n.long integer - unit\n.uleb128 6\n"
	" .uleb128 3\n.asciz \"far\"\n.long integer - unit\n.uleb128 0x7fffffffffffffff\n.byte 0\n"
	" .uleb128 2\n.asciz \"huge\"\n.quad 0x1000000000000000\n"
	" .uleb128 3\n.asciz \"in\"\n.long integer - unit\n.uleb128 0\n.byte 0\n"
	"array: .uleb128 6\n.long integer - unit\n.uleb128 7\n.quad 0x7000000000000000\n"
	" .uleb128 7\n.quad 0x7000000000000000\n.byte 0\n"
	" .uleb128 4\n.asciz \"array_t\"\n.long array - unit\n"
	" .uleb128 4\n.asciz \"chain_t\"\n.long chain - unit\n"
	".set k, 0\nchain: .rept 60000\n.set k, k + 1\n.uleb128 4\n.asciz \"t\"\n"
	".long chain - unit + 7 * k\n.endr\n"
	" .uleb128 5\n.asciz \"int\"\n.byte 4, 5\n"
	"back: .uleb128 8\n.asciz \"goes_back\"\n.quad 4\n.long integer - unit\n"
	" .uleb128 3\n.asciz \"in\"\n.long integer - unit\n.uleb128 0\n.byte 0\n"
	".byte 0\nend:\n"
	"unit2: .long end2 - begin2\nbegin2: .short 4\n.long .debug_abbrev\n"
	".byte 8\n.uleb128 1\n.short 0x4\n"
	" .uleb128 8\n.asciz \"goes_inside\"\n.quad 4\n.long inside - unit2\n"
	"inside: .uleb128 2\n.asciz \"inside\"\n.quad 8\n.byte 0\n.byte 0\n"
	".byte 0\nend2:\n.section .note.GNU-stack,\"\",@progbits\n";

static const struct ri_type *get_type(struct ri_types *types, const char *name)
{
	const struct ri_type *type = ri_types_find(types, name, NULL, NULL);

	if (!type)
		fail_msg("no type '%s'", name);
	return type;
}

static uint64_t count_gap(const struct ri_gaps *gaps, const char *part)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (strstr(gaps->items[i].message, part))
			return gaps->items[i].count;
	return 0;
}

static void check_lies(struct ri_types *types, const struct ri_gaps *gaps)
{
	const struct ri_type *type;

	assert_int_equal(get_type(types, "honest")->member_count, 1);
	type = get_type(types, "holds_itself");
	assert_int_equal(type->member_count, 2);
	type = ri_type_strip(types, type->members[0].type);
	assert_int_equal(type->kind, RI_TYPE_UNKNOWN);
	assert_int_equal(ri_type_strip(types, get_type(types, "loop_t"))->kind, RI_TYPE_UNKNOWN);
	assert_int_equal(ri_type_strip(types, get_type(types, "loop2_t"))->kind, RI_TYPE_UNKNOWN);
	assert_int_equal(get_type(types, "beyond")->member_count, 1);
	assert_int_equal(get_type(types, "huge")->size_bytes, 0);
	type = ri_type_strip(types, get_type(types, "array_t"));
	assert_int_equal(type->kind, RI_TYPE_ARRAY);
	assert_int_equal(type->size_bytes, 0);
	assert_int_equal(get_type(types, "goes_back")->member_count, 1);
	assert_int_equal(get_type(types, "chain_t")->kind, RI_TYPE_TYPEDEF);
	assert_true(count_gap(gaps, "types nested too deeply"));
	assert_true(count_gap(gaps, "holds itself by value"));
	assert_true(count_gap(gaps, "a member beyond its struct"));
	assert_true(count_gap(gaps, "a size beyond any memory"));
	assert_true(count_gap(gaps, "an array beyond any memory"));
	assert_int_equal(count_gap(gaps, "damaged DWARF"), 2);
}

static void lies(void **state)
{
	struct ri_modules_options options = { 0 };
	struct ri_modules *modules;
	struct ri_types *types;
	struct fixture fixture = { 0 };

	(void)state;
	scratch_init(&fixture.scratch);
	write_text(&fixture.scratch, "main.c", program);
	write_text(&fixture.scratch, "lies.s", lies_assembly);
	assert_int_equal(run(&fixture.scratch, "%s -o program main.c lies.s", compiler()), 0);
	process_start(&fixture.process, &fixture.scratch, "program");
	ri_gaps_init(&fixture.gaps);
	fixture.target = target_of(&fixture.process, true);
	drop_libraries(fixture.target);
	assert_null(ri_modules_create(fixture.target, &options, &fixture.gaps, &modules));
	types = ri_types_create(modules, &fixture.gaps);
	check_lies(types, &fixture.gaps);
	ri_types_destroy(types);
	ri_modules_destroy(modules);
	use_everything(fixture.target, &fixture.gaps);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lies),
		cmocka_unit_test(damaged_dwarf),
		cmocka_unit_test(truncated_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
