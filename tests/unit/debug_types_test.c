/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types and variables against what a program says of itself, over the ways in
 * which compilers write DWARF.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/types.h"
#include "debug_support.h"

static const char truth_macros[] =
	"#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
	"#define S(t) printf(\"size|%s|%zu\\n\", #t, sizeof(t));\n"
	"#define M(t, p) printf(\"member|%s|%s|%zu\\n\", #t, #p, offsetof(t, p));\n"
	"#define V(v) printf(\"variable|%s|%lx|%zu\\n\", #v, (unsigned long)&v, sizeof(v));\n"
	"#define B(t, p) { t x; memset(&x, 0, sizeof(x)); x.p = -1; first_bits(#t, #p, &x, "
	"sizeof(x)); }\n"
	"static void first_bits(const char *t, const char *p, void *x, size_t n) {\n"
	"  size_t first = 0, count = 0; unsigned char *b = (unsigned char *)x;\n"
	"  while (first < n * 8 && !(b[first / 8] >> first % 8 & 1)) first++;\n"
	"  while (first + count < n * 8 && (b[(first + count) / 8] >> (first + count) % 8 & 1)) "
	"count++;\n"
	"  printf(\"bits|%s|%s|%zu|%zu|%zu\\n\", t, p, first / 8, first % 8, count); }\n";

static const char c_program[] =
	"struct list { struct list *next, *prev; };\n"
	"typedef unsigned int u32; typedef u32 count_t; typedef const volatile count_t cv_t;\n"
	"struct header { u32 magic; _Atomic count_t refs; };\n"
	"struct opaque;\n"
	"typedef struct { int a; struct list link; } anonymous_t;\n"
	"struct bits { unsigned a : 3; unsigned b : 13; int c : 20; unsigned long d : 40; "
	"_Bool e : 1; unsigned char f; };\n"
	"enum colour { RED, GREEN = 70000 };\n"
	"struct conn {\n"
	"  char name[16]; struct header hdr; cv_t flags;\n"
	"  union { struct { int x, y; }; struct list *slots[4]; double d; };\n"
	"  struct { struct { u32 deep; } inner; } named;\n"
	"  anonymous_t *anon; anonymous_t by_value[3]; int grid[3][5];\n"
	"  struct opaque *hidden; struct conn *self; int (*release)(struct conn *, int);\n"
	"  void *const fixed; const char *text; enum colour colour; long double ld;\n"
	"  struct bits bits; char tail[]; };\n"
	"union either { int i; struct conn *c; };\n"
	"struct conn first_conn = { \"first\" }; struct conn *all_conns[7] = { &first_conn };\n"
	"static struct list head = { &head, &head }; static anonymous_t zeroed;\n"
	"static _Thread_local int per_thread = 3; union either pick; enum colour now;\n"
	"struct conn *extra(void); struct opaque *other_make(void);\n"
	"static int counted(void) { static struct header inner_static = { 9 };\n"
	"  V(inner_static) return ++inner_static.magic; }\n"
	"int main(void) {\n"
	"  S(struct list) S(struct header) S(anonymous_t) S(struct bits) S(struct conn)\n"
	"  S(union either) S(count_t) S(cv_t) S(enum colour) S(struct conn *)\n"
	"  M(struct conn, hdr) M(struct conn, hdr.refs) M(struct conn, flags) M(struct conn, x)\n"
	"  M(struct conn, y) M(struct conn, slots[3]) M(struct conn, named.inner.deep)\n"
	"  M(struct conn, by_value[2].link.prev) M(struct conn, grid[2][4]) M(struct conn, d)\n"
	"  M(struct conn, hidden) M(struct conn, release) M(struct conn, colour)\n"
	"  M(struct conn, ld) M(struct conn, tail) M(struct list, prev) M(anonymous_t, link)\n"
	"  M(struct conn, bits.f)\n"
	"  B(struct bits, a) B(struct bits, b) B(struct bits, c) B(struct bits, d)\n"
	"  V(first_conn) V(all_conns) V(head) V(zeroed) V(pick) V(now)\n"
	"  counted(); per_thread++; zeroed.a = other_make() != 0;\n"
	"  puts(\"READY\"); fflush(stdout); pause(); return head.next == 0; }\n";

static const char c_other_unit[] =
	"struct list { struct list *next, *prev; };\n"
	"struct opaque { int one; struct list two; };\n"
	"struct twice { int here; };\n"
	"static struct opaque the_opaque; static struct twice the_twice;\n"
	"struct opaque *other_make(void) { the_twice.here++; return &the_opaque; }\n";

static const char c_third_unit[] =
	"struct twice { char pad[24]; long there; };\n"
	"__attribute__((used)) struct twice *third_twice;\n"
	"__attribute__((used)) struct never *never_defined;\n"
	"long third(struct twice *t) { third_twice = t; return t->there; }\n";

/* A program, its target, modules and types. */
struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
};

static void fixture_open(struct fixture *fixture)
{
	struct ri_modules_options options = { 0 };

	process_start(&fixture->process, &fixture->scratch, "program");
	ri_gaps_init(&fixture->gaps);
	fixture->target = target_of(&fixture->process, true);
	assert_null(ri_modules_create(fixture->target, &options, &fixture->gaps,
				      &fixture->modules));
	fixture->types = ri_types_create(fixture->modules, &fixture->gaps);
}

static void fixture_close(struct fixture *fixture)
{
	ri_types_destroy(fixture->types);
	ri_modules_destroy(fixture->modules);
	ri_target_close(fixture->target);
	ri_gaps_deinit(&fixture->gaps);
	process_end(&fixture->process);
	scratch_deinit(&fixture->scratch);
}

/* False when this compiler cannot make the program (no clang, no static libc). */
static bool compile_c(struct fixture *fixture, const char *cc, const char *flags)
{
	char *text = ri_format("%s%s", truth_macros, c_program);
	int status;

	scratch_init(&fixture->scratch);
	write_text(&fixture->scratch, "main.c", text);
	write_text(&fixture->scratch, "other.c", c_other_unit);
	write_text(&fixture->scratch, "third.c", c_third_unit);
	free(text);
	status = run(&fixture->scratch, "%s %s -Wno-everything -w -o program main.c other.c third.c",
		     cc, flags);
	if (status)
		scratch_deinit(&fixture->scratch);
	return !status;
}

static const struct ri_type *get_type(struct ri_types *types, const char *name)
{
	const struct ri_type *type = ri_types_find(types, name, NULL, NULL);

	if (!type)
		fail_msg("no type '%s'", name);
	return type;
}

static struct ri_place get_place(struct ri_types *types, const char *type, const char *path)
{
	struct ri_place place;
	struct ri_error *error = ri_type_resolve_path(types, get_type(types, type), path, &place);

	if (error)
		fail_msg("%s of %s: %s", path, type, error->message);
	return place;
}

static void check_size(struct ri_types *types, const char *name, unsigned long size_bytes)
{
	size_t length = strlen(name);

	if (name[length - 1] == '*')
		return; /* no name to look up */
	assert_int_equal(get_type(types, name)->size_bytes, size_bytes);
}

static void check_variable(struct ri_types *types, const char *name, unsigned long addr,
			   unsigned long size_bytes)
{
	struct ri_variable variable;

	if (!ri_types_find_variable(types, name, &variable))
		fail_msg("no variable '%s'", name);
	assert_string_equal(variable.name, name);
	assert_int_equal(variable.addr, addr);
	assert_int_equal(ri_type_strip(types, variable.type)->size_bytes, size_bytes);
	assert_true(variable.module->is_main);
}

static void check_bits(struct ri_types *types, const char *type, const char *path,
		       unsigned long offset, unsigned long shift, unsigned long bits)
{
	struct ri_place place = get_place(types, type, path);

	assert_int_equal(place.offset_bytes, offset);
	assert_int_equal(place.bit_shift, shift);
	assert_int_equal(place.bit_size, bits);
}

/* Compares each line that the program printed; the number of lines. */
static size_t check_truth(struct fixture *fixture)
{
	char type[128], path[128];
	unsigned long a, b, c;
	size_t checked = 0;

	for (char *line = strtok(fixture->process.truth, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "size|%127[^|]|%lu", type, &a) == 2)
			check_size(fixture->types, type, a);
		else if (sscanf(line, "member|%127[^|]|%127[^|]|%lu", type, path, &a) == 3)
			assert_int_equal(get_place(fixture->types, type, path).offset_bytes, a);
		else if (sscanf(line, "variable|%127[^|]|%lx|%lu", type, &a, &b) == 3)
			check_variable(fixture->types, type, a, b);
		else if (sscanf(line, "bits|%127[^|]|%127[^|]|%lu|%lu|%lu", type, path, &a, &b,
				&c) == 5)
			check_bits(fixture->types, type, path, a, b, c);
		else
			continue;
		checked++;
	}
	return checked;
}

static void assert_spelled(struct fixture *fixture, const char *path, const char *spelling)
{
	struct ri_place place = get_place(fixture->types, "struct conn", path);

	assert_string_equal(ri_type_spell(fixture->types, place.type), spelling);
}

static void check_spelling(struct fixture *fixture)
{
	assert_spelled(fixture, "", "struct conn");
	assert_spelled(fixture, "name", "char [16]");
	assert_spelled(fixture, "slots", "struct list *[4]");
	assert_spelled(fixture, "grid", "int [3][5]");
	assert_spelled(fixture, "release", "int (*)()");
	assert_spelled(fixture, "fixed", "void *const");
	assert_spelled(fixture, "text", "const char *");
	assert_spelled(fixture, "anon", "anonymous_t *");
	assert_spelled(fixture, "hidden", "struct opaque *");
	assert_spelled(fixture, "colour", "enum colour");
	assert_spelled(fixture, "tail", "char []");
}

/* Before DWARF 5 there was no way to say _Atomic. */
static void check_kinds(struct fixture *fixture, bool says_atomic)
{
	struct ri_types *types = fixture->types;
	struct ri_place refs = get_place(types, "struct conn", "hdr.refs");
	const struct ri_type *type = ri_type_strip(types, refs.type);
	bool is_atomic = false;

	assert_int_equal(type->kind, RI_TYPE_INT);
	assert_false(type->is_signed);
	for (const struct ri_type *t = refs.type;
	     t->kind == RI_TYPE_TYPEDEF || t->kind == RI_TYPE_QUALIFIED; t = ri_type_target(types, t))
		is_atomic |= t->is_atomic;
	assert_int_equal(is_atomic, says_atomic);
	assert_true(get_place(types, "struct conn", "x").in_union);
	assert_false(get_place(types, "struct conn", "flags").in_union);
	assert_true(get_place(types, "struct bits", "e").type->is_bool);
	assert_true(ri_type_strip(types, get_place(types, "struct bits", "c").type)->is_signed);
	assert_true(get_type(types, "enum colour")->is_enum);
	assert_int_equal(get_place(types, "struct conn", "ld").type->kind, RI_TYPE_FLOAT);
	assert_int_equal(get_place(types, "struct conn", "tail").type->size_bytes, 0);
	type = ri_type_strip(types, get_place(types, "struct conn", "grid").type);
	assert_int_equal(type->element_count, 15);
	assert_int_equal(ri_type_target(types, type)->size_bytes, 4);
	type = ri_type_target(types, get_place(types, "struct conn", "fixed").type);
	assert_int_equal(type->kind, RI_TYPE_POINTER);
	assert_int_equal(ri_type_target(types, type)->kind, RI_TYPE_VOID);
}

/* Declared in one unit, defined in another; defined twice; never defined. */
static void check_units(struct fixture *fixture)
{
	struct ri_types *types = fixture->types;
	const struct ri_type *type;
	struct ri_variable variable;
	bool is_ambiguous;

	type = ri_type_target(types, get_place(types, "struct conn", "hidden").type);
	assert_int_equal(type->kind, RI_TYPE_STRUCT);
	assert_ptr_equal(type, get_type(types, "opaque"));
	assert_non_null(ri_types_find(types, "struct list", NULL, &is_ambiguous));
	assert_false(is_ambiguous);
	assert_non_null(ri_types_find(types, "twice", NULL, &is_ambiguous));
	assert_true(is_ambiguous);
	type = ri_types_find(types, "twice", "there", &is_ambiguous);
	assert_int_equal(type->size_bytes, 32);
	assert_false(is_ambiguous);
	assert_int_equal(ri_types_find(types, "twice", "here", NULL)->size_bytes, 4);
	assert_null(ri_types_find(types, "twice", "nowhere", NULL));
	assert_null(ri_types_find(types, "union twice", NULL, NULL));
	assert_null(ri_types_find(types, "never", NULL, NULL));
	assert_true(ri_types_find_variable(types, "never_defined", &variable));
	type = ri_type_target(types, variable.type);
	assert_int_equal(type->kind, RI_TYPE_UNKNOWN);
	assert_string_equal(ri_type_spell(types, variable.type), "struct never *");
	assert_false(ri_types_find_variable(types, "per_thread", &variable));
}

struct census {
	size_t lists, conns, anonymous, twices;
};

static bool count_struct(const struct ri_type *type, void *data)
{
	struct census *census = data;

	if (!type->name || !type->module->is_main)
		return true;
	census->lists += !strcmp(type->name, "list");
	census->conns += !strcmp(type->name, "conn");
	census->twices += !strcmp(type->name, "twice");
	census->anonymous += !strcmp(type->name, "anonymous_t");
	return true;
}

static void check_each_struct(struct fixture *fixture)
{
	struct census census = { 0 };

	ri_types_each_struct(fixture->types, count_struct, &census);
	assert_int_equal(census.conns, 1);
	assert_int_equal(census.anonymous, 1);
	assert_int_equal(census.twices, 2);
	assert_in_range(census.lists, 1, 2); /* in main.c and other.c on other lines */
}

static bool count_any(const struct ri_type *type, void *data)
{
	size_t *count = data;

	*count += type->module->is_main ? 1 : 0x10000;
	return true;
}

/* The executable alone defines these; nobody the last one. */
static void check_structs_near(struct fixture *fixture)
{
	const char *const names[] = { "anonymous_t", "conn", "nowhere" };
	struct census census = { 0 };
	size_t count = 0, all = 0;

	ri_types_each_struct_near(fixture->types, names, 1, count_struct, &census);
	assert_int_equal(census.conns, 1);
	assert_int_equal(census.anonymous, 1);
	assert_int_equal(census.twices, 2);
	ri_types_each_struct_near(fixture->types, names + 1, 2, count_any, &count);
	ri_types_each_struct(fixture->types, count_any, &all);
	assert_int_equal(count, all % 0x10000);
	assert_true(count > 3);
	count = 0;
	ri_types_each_struct_near(fixture->types, names + 2, 1, count_any, &count);
	assert_int_equal(count, 0);
}

static bool check_ascending(const struct ri_variable *variable, void *data)
{
	uint64_t *last = data;

	assert_true(variable->addr > *last);
	assert_non_null(variable->type);
	*last = variable->addr;
	return true;
}

static void check_all(const char *cc, const char *flags)
{
	struct fixture fixture;
	uint64_t last = 0;

	if (!compile_c(&fixture, cc, flags)) {
		print_message("skipped: %s %s does not work here\n", cc, flags);
		return;
	}
	fixture_open(&fixture);
	check_spelling(&fixture);
	check_kinds(&fixture, !strstr(flags, "-gdwarf-") || strstr(flags, "-gdwarf-5"));

	check_units(&fixture);
	check_each_struct(&fixture);
	check_structs_near(&fixture);
	ri_types_each_variable(fixture.types, check_ascending, &last);
	assert_int_equal(check_truth(&fixture), 39);
	fixture_close(&fixture);
}

static void default_compiler(void **state)
{
	(void)state;
	check_all(compiler(), "-g");
	check_all(compiler(), "-g -O2 -no-pie");
	check_all(compiler(), "-gdwarf-4 -gz");
	check_all(compiler(), "-gdwarf-3 -gstrict-dwarf -O1");
	check_all(compiler(), "-gdwarf-4 -fdebug-types-section");
	check_all(compiler(), "-gdwarf-5 -fdebug-types-section");
	check_all(compiler(), "-gdwarf-5 -gsplit-dwarf");
	check_all(compiler(), "-gdwarf-4 -gsplit-dwarf");
	check_all(compiler(), "-g -static-pie");
	check_all(compiler(), "-g -static");
	check_all(compiler(), "-g -flto -O2 -fno-section-anchors");
}

static void other_compiler(void **state)
{
	(void)state;
	check_all("clang", "-gdwarf-5");
	check_all("clang", "-gdwarf-4 -O2");
	check_all("clang", "-gdwarf-5 -fdebug-types-section");
	check_all("clang", "-gdwarf-5 -gsplit-dwarf");
}

static void errors_name_the_step(void **state)
{
	struct fixture fixture;
	struct ri_place place;
	struct ri_error *error;
	static const struct { const char *path, *message; } cases[] = {
		{ "nope", "struct conn has no member 'nope'; it has name, hdr, flags, named, anon, "
			  "by_value, grid, hidden, ..." },
		{ "hdr.nope", "struct header has no member 'nope'; it has magic, refs" },
		{ "self.hdr", "'hdr' in 'self.hdr': struct conn * has no members" },
		{ "slots[4]", "'slots[4]': subscript beyond struct list *[4]" },
		{ "self[0]", "'self[0]': struct conn * is no array" },
		{ "slots[x]", "'slots[x]': a subscript is a number in brackets" },
		{ "grid[1][9]x", "'grid[1][9]x' is no member path: 'a.b[3].c' is one" },
	};

	(void)state;
	assert_true(compile_c(&fixture, compiler(), "-g"));
	fixture_open(&fixture);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		error = ri_type_resolve_path(fixture.types, get_type(fixture.types, "conn"),
					     cases[i].path, &place);
		assert_non_null(error);
		assert_int_equal(error->code, RI_ERROR_NOT_FOUND);
		assert_string_equal(error->message, cases[i].message);
		ri_error_destroy(error);
	}
	fixture_close(&fixture);
}

static const char cxx_program[] =
	"#define private public\n#include <memory>\n"
	"namespace ns { namespace inner { struct node { node *next; int v; }; }\n"
	"  class base { public: virtual ~base() {} int b; static int shared; };\n"
	"  class other { public: long o; };\n"
	"  class derived : public base, public other { public: int d; struct nested { char c[3]; };\n"
	"    nested n; static inner::node *list; class later; later *l; };\n"
	"  class derived::later { public: short s[9]; };\n"
	"  template <class T> struct box { T value; int refs; };\n"
	"  struct flat : virtual base { int f; }; }\n"
	"namespace { struct hidden { int h[6]; } in_anonymous; }\n"
	"int ns::base::shared = 4; ns::inner::node *ns::derived::list;\n"
	"ns::derived d; ns::box<ns::inner::node> boxed; ns::flat flat; int &ref = d.b;\n"
	"ns::derived::later later_one; std::shared_ptr<ns::derived> owner;\n"
	"int main() { S(ns::derived) S(ns::inner::node) S(ns::derived::nested)\n"
	"  S(ns::box<ns::inner::node>) S(ns::derived::later)\n"
	"  printf(\"size|hidden|%zu\\n\", sizeof(hidden));\n"
	"  M(ns::derived, b) M(ns::derived, o) M(ns::derived, d) M(ns::derived, n)\n"
	"  M(ns::box<ns::inner::node>, refs) M(ns::box<ns::inner::node>, value.v)\n"
	"  V(d) V(boxed) printf(\"variable|shared|%lx|4\\n\", (unsigned long)&ns::base::shared);\n"
	"  printf(\"variable|list|%lx|8\\n\", (unsigned long)&ns::derived::list);\n"
	"  in_anonymous.h[0] = flat.f; owner = std::make_shared<ns::derived>();\n"
	"  puts(\"READY\"); fflush(stdout); pause(); }\n";

static void check_cxx(const char *cxx, const char *flags)
{
	struct fixture fixture;
	char *text;

	scratch_init(&fixture.scratch);
	text = ri_format("%s%s", truth_macros, cxx_program);
	write_text(&fixture.scratch, "main.cc", text);
	free(text);
	if (run(&fixture.scratch, "%s %s -w -o program main.cc", cxx, flags)) {
		print_message("skipped: %s %s does not work here\n", cxx, flags);
		scratch_deinit(&fixture.scratch);
		return;
	}
	fixture_open(&fixture);
	assert_string_equal(get_type(fixture.types, "derived")->name, "ns::derived");
	assert_string_equal(get_type(fixture.types, "class ns::derived")->name, "ns::derived");
	assert_null(ri_types_find(fixture.types, "wrong::derived", NULL, NULL));
	assert_int_equal(check_truth(&fixture), 16);
	fixture_close(&fixture);
}

static void cxx(void **state)
{
	(void)state;
	check_cxx("c++", "-g -std=c++17");
	check_cxx("c++", "-g -std=c++17 -O2 -fdebug-types-section");
	check_cxx("clang++", "-gdwarf-5 -std=c++17");
}

static bool has_gap(const struct ri_gaps *gaps, const char *part)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (strstr(gaps->items[i].message, part))
			return true;
	return false;
}

/* Declared in the program, defined in a library; in two libraries that differ. */
static void other_module(void **state)
{
	struct fixture fixture;
	struct ri_variable variable;
	const struct ri_type *type;

	(void)state;
	scratch_init(&fixture.scratch);
	write_text(&fixture.scratch, "one.c",
		   "struct in_one { int a, b, c; } one; struct in_both { int a; } both_one;");
	write_text(&fixture.scratch, "two.c",
		   "struct in_both { long a; } both_two; struct in_one *two;");
	write_text(&fixture.scratch, "main.c",
		   "#include <stdio.h>\n#include <unistd.h>\n"
		   "struct in_one *p; struct in_both *q; extern int both_one, both_two;\n"
		   "int main(void) { puts(\"READY\"); fflush(stdout); pause();\n"
		   "  return both_one + both_two; }\n");
	assert_int_equal(run(&fixture.scratch,
			     "%s -g -shared -fPIC -o libone.so one.c && "
			     "%s -g -shared -fPIC -o libtwo.so two.c && "
			     "%s -g -o program main.c -L. -lone -ltwo -Wl,-rpath,$PWD",
			     compiler(), compiler(), compiler()),
			 0);
	fixture_open(&fixture);
	assert_true(ri_types_find_variable(fixture.types, "p", &variable));
	type = ri_type_target(fixture.types, variable.type);
	assert_int_equal(type->size_bytes, 12);
	assert_non_null(strstr(type->module->path, "libone.so"));
	assert_true(ri_types_find_variable(fixture.types, "q", &variable));
	assert_int_equal(ri_type_target(fixture.types, variable.type)->kind, RI_TYPE_UNKNOWN);
	assert_true(ri_types_find_variable(fixture.types, "two", &variable));
	assert_ptr_equal(ri_type_target(fixture.types, variable.type), type);
	fixture_close(&fixture);
}

/* Types that dwz moved to a file of their own; the file gone; a FIFO instead. */
static void alternate_file(void **state)
{
	struct fixture fixture;

	(void)state;
	assert_true(compile_c(&fixture, compiler(), "-g"));
	if (run(&fixture.scratch, "command -v dwz >/dev/null && cp program second && "
				  "objcopy --only-keep-debug program p.debug && "
				  "objcopy --only-keep-debug second s.debug && strip program && "
				  "objcopy --add-gnu-debuglink=p.debug program && "
				  "dwz -m common.debug -M common.debug p.debug s.debug")) {
		print_message("skipped: no dwz\n");
		scratch_deinit(&fixture.scratch);
		return;
	}
	/* dwz wrote to the debug file, so that its checksum is another one; the
	 * build-id is still there */
	fixture_open(&fixture);
	assert_int_equal(check_truth(&fixture), 39);
	check_spelling(&fixture);
	ri_types_destroy(fixture.types);
	ri_modules_destroy(fixture.modules);
	for (int i = 0; i < 2; i++) {
		struct ri_modules_options options = { 0 };

		run(&fixture.scratch, i ? "mkfifo common.debug" : "rm common.debug");
		assert_null(ri_modules_create(fixture.target, &options, &fixture.gaps,
					      &fixture.modules));
		fixture.types = ri_types_create(fixture.modules, &fixture.gaps);
		assert_null(ri_types_find(fixture.types, "struct header", NULL, NULL));
		assert_true(has_gap(&fixture.gaps, "refers to common.debug"));
		if (!i) {
			ri_types_destroy(fixture.types);
			ri_modules_destroy(fixture.modules);
		}
	}
	fixture_close(&fixture);
}

/* Missing .dwo files are told; a FIFO in place of one does not stop us. */
static void split_files(void **state)
{
	struct fixture fixture;

	(void)state;
	assert_true(compile_c(&fixture, compiler(), "-g -gsplit-dwarf"));
	run(&fixture.scratch, "for f in *.dwo; do rm $f; mkfifo $f; done");
	fixture_open(&fixture);
	assert_null(ri_types_find(fixture.types, "struct header", NULL, NULL));
	assert_true(has_gap(&fixture.gaps, "the types of 3 units lie in .dwo files"));
	fixture_close(&fixture);
}

static const char rust_program[] =
	"use std::sync::Arc;\n"
	"pub enum Shape { Empty, Circle(f64), Named { w: u32, name: String } }\n"
	"pub struct Session { id: u64, peer: Option<Arc<Session>>, shape: Shape }\n"
	"static mut GLOBAL: Option<Arc<Session>> = None;\n"
	"fn main() { let a = Arc::new(Session { id: 1, peer: None, shape: Shape::Empty });\n"
	"  let s = Session { id: 2, peer: Some(a.clone()), shape: Shape::Circle(1.0) };\n"
	"  let n = Shape::Named { w: 1, name: String::new() };\n"
	"  unsafe { GLOBAL = Some(a); }\n"
	"  println!(\"size|program::Session|{}\", std::mem::size_of::<Session>());\n"
	"  println!(\"size|Shape|{}\", std::mem::size_of::<Shape>());\n"
	"  println!(\"variable|GLOBAL|{:x}|8\", &raw const GLOBAL as usize);\n"
	"  println!(\"member|program::Session|peer|{}\", std::mem::offset_of!(Session, peer));\n"
	"  println!(\"READY\"); if matches!(n, Shape::Named { .. }) && s.id == 2 {\n"
	"  std::thread::park(); } }\n";

static void rust(void **state)
{
	struct fixture fixture;
	struct ri_place place;

	(void)state;
	scratch_init(&fixture.scratch);
	write_text(&fixture.scratch, "program.rs", rust_program);
	if (run(&fixture.scratch, "rustc -g -A warnings -o program program.rs 2>/dev/null")) {
		print_message("skipped: no rustc, or too old a one\n");
		scratch_deinit(&fixture.scratch);
		return;
	}
	fixture_open(&fixture);
	assert_int_equal(check_truth(&fixture), 4);
	place = get_place(fixture.types, "alloc::sync::ArcInner<program::Session>", "strong");
	assert_int_equal(place.offset_bytes, 0);
	place = get_place(fixture.types, "program::Session", "shape.Circle.__0");
	assert_true(place.in_union);
	assert_int_equal(place.type->kind, RI_TYPE_FLOAT);
	place = get_place(fixture.types, "program::Shape", "__discriminant");
	assert_false(place.in_union);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_compiler),
		cmocka_unit_test(other_compiler),
		cmocka_unit_test(errors_name_the_step),
		cmocka_unit_test(cxx),
		cmocka_unit_test(other_module),
		cmocka_unit_test(alternate_file),
		cmocka_unit_test(split_files),
		cmocka_unit_test(rust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
