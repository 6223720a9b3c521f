/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counted types by shape: words, points and pairs by themselves; then a program with
 * conventions that no profile knows, and decoys, of which exactly the right ones must be
 * accepted, for the right reasons; and a library with debug information beside a program
 * without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug_support.h"
#include "profile/infer_links.h"
#include "profile/infer_private.h"

static void assert_words(const char *name, const char *expected)
{
	struct ri_tokens tokens;
	char text[256] = "";

	ri_tokens_split(name, &tokens);
	for (size_t i = 0; i < tokens.count; i++)
		strcat(strcat(text, i ? " " : ""), tokens.items[i]);
	assert_string_equal(text, expected);
}

static void test_words(void **state)
{
	char long_name[400];

	(void)state;
	assert_words("ref_count", "ref count");
	assert_words("refCount", "ref count");
	assert_words("RefCount", "ref count");
	assert_words("m_refCount", "ref count");
	assert_words("_M_use_count", "use count");
	assert_words("HTTPRefCount", "http ref count");
	assert_words("ob_refcnt", "ob refcnt");
	assert_words("id2Refs", "id2 refs");
	assert_words("__refs__", "refs");
	assert_words("REFS", "refs");
	assert_words("m_", "m");
	assert_words("", "");
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 3; i < sizeof(long_name) - 1; i += 4)
		long_name[i] = '_';
	struct ri_tokens tokens;
	ri_tokens_split(long_name, &tokens);
	assert_int_equal(tokens.count, RI_TOKENS_MAX);
}

static int points_of(const struct ri_member_facts *facts)
{
	struct ri_strings *strings = ri_strings_create();
	struct ri_member_score score;
	int sum = 0;

	ri_member_rate(facts, strings, &score);
	for (size_t i = 0; i < score.reasons.count; i++)
		sum += score.reasons.items[i].points;
	assert_int_equal(sum, score.points); /* the reasons are all there is */
	ri_vec_deinit(&score.reasons);
	ri_strings_destroy(strings);
	return score.points;
}

static int points_of_name(const char *struct_name, const char *name)
{
	return points_of(&(struct ri_member_facts){ .name = name, .struct_name = struct_name,
						    .size_bytes = 4 });
}

static int points_of_type(const char *name, const char *type)
{
	return points_of(&(struct ri_member_facts){ .name = name, .struct_name = "thing",
						    .chain = { type }, .chain_count = 1,
						    .size_bytes = 4 });
}

static void test_names(void **state)
{
	static const struct {
		const char *struct_name, *name;
		int points;
	} cases[] = {
		{ "conn", "refcount", 6 },     { "conn", "ob_refcnt", 6 },
		{ "conn", "reference_count", 6 }, { "conn", "refCounter", 6 },
		{ "conn", "num_refs", 5 },     { "conn", "nrefs", 5 },
		{ "conn", "ref_num", 6 },      { "conn", "ref", 4 },
		{ "conn", "references", 6 },   { "conn", "cited_references", 4 }, { "conn", "use_count", 4 },
		{ "conn", "usecnt", 4 },       { "shared_ref", "count", 5 },
		{ "ConnRef", "cnt", 5 },       { "xref", "count", 1 },
		{ "inode", "i_count", 3 },     { "mm_struct", "mm_users", 3 },
		{ "inode", "x_count", 0 },     { "conn", "users", 2 },
		{ "conn", "count", 1 },        { "conn", "byte_count", 0 },
		{ "conn", "weak_count", 1 },  { "conn", "strong", 3 },       { "alloc::sync::ArcInner<main::Job>", "strong", 9 },
		{ "alloc::rc::RcBox<u8>", "weak", 9 },
		/* decoys */
		{ "conn", "href", 0 },         { "conn", "prefer", 0 },
		{ "conn", "reflect", 0 },      { "conn", "prefcnt", 0 },
		{ "conn", "xrefs", 0 },        { "conn", "refresh_count", 0 },
		{ "conn", "max_refs", 1 },     { "conn", "ref_count_bytes", 0 },
		{ "conn", "total_refcount", 2 }, { "conn", "show_ref_count", 4 },
		{ "conn", "dump_refs", 3 },    { "conn", "n_toggle_refs", 3 },
		{ "conn", "value", 0 },        { "refcount", "value", 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int points = points_of_name(cases[i].struct_name, cases[i].name);

		if (points != cases[i].points)
			fail_msg("%s.%s has %d points instead of %d", cases[i].struct_name,
				 cases[i].name, points, cases[i].points);
	}
}

static void test_types(void **state)
{
	struct ri_member_facts facts = { .name = "refs", .struct_name = "conn", .size_bytes = 4 };

	(void)state;
	assert_int_equal(points_of_type("alive", "refcount_t"), 6);
	assert_int_equal(points_of_type("refs", "kref"), 11);
	assert_int_equal(points_of_type("alive", "buf_refcnt_t"), 4);
	assert_int_equal(points_of_type("refs", "buf_ref_t"), 11);
	assert_int_equal(points_of_type("refs", "xref_t"), 5);
	assert_int_equal(points_of_type("refs", "atomic_t"), 7);
	assert_int_equal(points_of_type("limit", "atomic_t"), 0); /* a type alone is not enough */
	assert_int_equal(points_of_type("level", "gint"), 0);
	assert_int_equal(points_of_type("refs", "gboolean"), -1);
	facts.is_bool = true;
	assert_int_equal(points_of(&facts), -1);
	facts.is_bool = false;
	facts.is_enum = true;
	assert_int_equal(points_of(&facts), -1);
	facts.is_enum = false;
	facts.bit_size = 3;
	assert_int_equal(points_of(&facts), -1);
	facts.bit_size = 15;
	assert_int_equal(points_of(&facts), 5);
	facts.bit_size = 0;
	facts.size_bytes = 1;
	assert_int_equal(points_of(&facts), 2);
	facts.size_bytes = 8;
	facts.is_atomic = true;
	assert_int_equal(points_of(&facts), 7);
	facts.is_mirrored = true;
	assert_int_equal(points_of(&facts), 3);
}

static void assert_pair(int weight, const char *get, const char *put)
{
	const char *const names[] = { get, "conn_new", put, "conn_print" };
	const char *found_get, *found_put;

	assert_int_equal(ri_pairs_rate(names, 4, &found_get, &found_put), weight);
	if (!weight)
		return;
	assert_string_equal(found_get, get);
	assert_string_equal(found_put, put);
}

static void test_pairs(void **state)
{
	const char *get, *put;

	(void)state;
	assert_pair(4, "conn_ref", "conn_unref");
	assert_pair(4, "conn_get", "conn_put");
	assert_pair(4, "conn_hold_locked", "conn_release_locked");
	assert_pair(4, "dictkeys_incref", "dictkeys_decref");
	assert_pair(4, "conn_add_ref", "conn_del_ref");
	assert_pair(4, "session_add_ref", "session_remove_ref");
	assert_pair(4, "AddRef", "Release");
	assert_pair(3, "incrRefCount", "decrRefCount");
	assert_pair(4, "iget", "iput");
	assert_pair(4, "get_conn", "put_conn");
	assert_pair(1, "conn_copy", "conn_free");
	assert_pair(0, "conn_get", "session_put");
	assert_pair(0, "conn_get_name", "conn_put");
	assert_pair(0, "conn_target", "conn_output");
	assert_int_equal(ri_pairs_rate(NULL, 0, &get, &put), 0);
}

/* What the profile has no room for is counted, not dropped in silence. */
static void test_beyond(void **state)
{
	struct ri_inference inference = { 0 };

	(void)state;
	for (size_t i = 0; i < 2 * RI_INFERRED_TYPES_MAX + 3; i++)
		*ri_push(&inference.types) = (struct ri_inferred_type){
			.state = RI_INFERRED_ACCEPTED, .is_header = i % 2
		};
	assert_int_equal(ri_inference_beyond(&inference, false), 3);
	inference.types.items[0].state = RI_INFERRED_POSSIBLE;
	assert_int_equal(ri_inference_beyond(&inference, false), 2);
	assert_int_equal(ri_inference_beyond(&inference, true), 3);
	inference.types.count = 2 * RI_INFERRED_TYPES_MAX;
	assert_int_equal(ri_inference_beyond(&inference, true), 0);
	ri_vec_deinit(&inference.types);
}

/*
 * A whole program
 */

static const char program[] =
	"#include <stdatomic.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <unistd.h>\n"
	"struct list_head { struct list_head *next, *prev; };\n"
	"struct hnode { struct hnode *next, **pprev; };\n"
	"struct snode { struct snode *next; };\n"
	"struct rb { unsigned long parent_color; struct rb *right, *left; };\n"
	"struct counter { int value; };\n"
	"typedef struct { struct counter counter; } buf_refcnt_t;\n"
	"struct buf { long length; buf_refcnt_t refs; char text[]; };\n"
	"struct typed { char pad; buf_refcnt_t alive; };\n"      /* possible: by its type alone */
	"struct session { char lock[40]; int users; struct list_head link; struct session *next;\n"
	"	struct hnode hash; struct rb tree; struct session *peer, *next_free; struct snode s;\n"
	"	struct { struct session *tqe_next, **tqe_prev; } q; };\n"
	"struct job { uint32_t id; _Atomic uint64_t nrefs; };\n"
	"struct closure { unsigned kind : 4, ref_count : 15, is_ref : 1; void *call; };\n"
	"struct inner { long x; union { struct { short uses, refcnt; } a; long whole; } u; };\n"
	"struct control { void *vtable; int m_use_count; int m_weak_count; };\n"
	"struct external { long pad; unsigned irefs, erefs; };\n"
	"typedef struct { long tag; int refcount; } only_typedef;\n"
	"struct obj_ref { int count; void (*release)(void *); };\n" /* a header */
	"struct with_header { long a; struct obj_ref ref; };\n"
	"#define HEAD int magic; int refcnt; void *type;\n"
	"struct first { HEAD long a; }; struct second { HEAD char b[3]; };\n"
	"struct lone_wrapper { int refs; };\n"                  /* counts for who holds it */
	"struct holder { long a; struct lone_wrapper refcount; };\n"
	/* decoys */
	"typedef int gint; typedef int gboolean;\n"
	"struct gauge { gint value, level; atomic_int limit; };\n"
	"struct page { int href, prefer, reflect; long bytes_refs; gboolean has_refs;\n"
	"	long max_refs; unsigned ref_bits : 2; char *refname; double refcount; };\n"
	"#define K __attribute__((noinline, used))\n"
	"K struct session *session_get(struct session *s) { s->users++; return s; }\n"
	"K void session_put(struct session *s) { s->users--; }\n"
	"K void obj_ref_get(struct obj_ref *r) { r->count++; }\n"
	"K void obj_ref_put(struct obj_ref *r) { r->count--; }\n"
	"K void job_get(struct job *j) { j->nrefs++; }\n"
	"K void job_put(struct job *j) { j->nrefs--; }\n"
	"K void gauge_ref(struct gauge *g) { g->level++; }\n"
	"K void gauge_unref(struct gauge *g) { g->level--; }\n"
	"K void control_hold(int how, const struct control *c) { (void)how; (void)c; }\n"
	"K void control_release(int how, const struct control *c) { (void)how; (void)c; }\n"
	"struct buf b; struct typed ty; struct session s; struct job j; struct closure c;\n"
	"struct inner i; struct control co; struct external e; only_typedef o;\n"
	"struct with_header w; struct first f; struct second se; struct holder h;\n"
	"struct gauge g; struct page p;\n"
	"int main(void) { puts(\"READY\"); fflush(stdout); pause(); return 0; }\n";

struct fixture {
	struct scratch scratch;
	struct process process;
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_inference *inference;
};

static void fixture_open(struct fixture *fixture, bool is_all)
{
	const struct ri_modules_options options = { 0 };
	const struct ri_infer_options infer = { .is_all = is_all };

	process_start(&fixture->process, &fixture->scratch, "program");
	ri_gaps_init(&fixture->gaps);
	fixture->target = target_of(&fixture->process, true);
	assert_null(ri_modules_create(fixture->target, &options, &fixture->gaps,
				      &fixture->modules));
	fixture->types = ri_types_create(fixture->modules, &fixture->gaps);
	fixture->inference = ri_inference_create(fixture->types, fixture->modules, NULL, &infer);
}

static void fixture_close(struct fixture *fixture)
{
	ri_inference_destroy(fixture->inference);
	ri_types_destroy(fixture->types);
	ri_modules_destroy(fixture->modules);
	ri_target_close(fixture->target);
	ri_gaps_deinit(&fixture->gaps);
	process_end(&fixture->process);
	scratch_deinit(&fixture->scratch);
}

static void fixture_start(struct fixture *fixture, const char *flags)
{
	scratch_init(&fixture->scratch);
	write_text(&fixture->scratch, "main.c", program);
	assert_int_equal(run(&fixture->scratch, "cc -g %s -o program main.c", flags), 0);
	fixture_open(fixture, false);
}

static const struct ri_inferred_type *find(const struct fixture *fixture, const char *name)
{
	for (size_t i = 0; i < fixture->inference->types.count; i++)
		if (!strcmp(fixture->inference->types.items[i].name, name))
			return &fixture->inference->types.items[i];
	fail_msg("%s was not found", name);
	return NULL;
}

static bool has_reason(const struct ri_inferred_count *count, int points, const char *part)
{
	for (size_t i = 0; i < count->reason_count; i++)
		if (count->reasons[i].points == points && strstr(count->reasons[i].text, part))
			return true;
	return false;
}

/* The accepted members of all structs, the first one first: "buf.refs control.m_use_count,
 * m_weak_count ..." in the order of names. */
static char *list_accepted(const struct fixture *fixture)
{
	char *text = ri_strdup("");

	for (size_t i = 0; i < fixture->inference->types.count; i++) {
		const struct ri_inferred_type *type = &fixture->inference->types.items[i];

		for (size_t k = 0; k < type->count_count; k++) {
			char *longer;

			if (type->state != RI_INFERRED_ACCEPTED ||
			    type->counts[k].score < RI_INFER_ACCEPT)
				continue;
			longer = k ? ri_format("%s,%s", text, type->counts[k].path)
				   : ri_format("%s %s.%s", text, type->name, type->counts[k].path);
			free(text);
			text = longer;
		}
	}
	return text;
}

static void check_accepted(struct fixture *fixture)
{
	char *text = list_accepted(fixture);

	assert_string_equal(text, " buf.refs closure.ref_count control.m_use_count,m_weak_count"
				  " first.refcnt holder.refcount inner.u.a.refcnt job.nrefs"
				  " obj_ref.count only_typedef.refcount second.refcnt"
				  " session.users");
	free(text);
}

/* DWARF 4 does not say _Atomic. */
static void check_reasons(struct fixture *fixture, bool has_atomic)
{
	const struct ri_inferred_type *type = find(fixture, "session");

	assert_int_equal(type->counts[0].score, 6);
	assert_true(has_reason(&type->counts[0], 2, "users"));
	assert_true(has_reason(&type->counts[0], 4, "session_get and session_put"));
	type = find(fixture, "buf");
	assert_int_equal(type->counts[0].score, 11);
	assert_int_equal(type->counts[0].wrappers, 2);
	assert_true(has_reason(&type->counts[0], 6, "buf_refcnt_t"));
	type = find(fixture, "job");
	assert_int_equal(type->counts[0].size_bytes, 8);
	assert_int_equal(type->counts[0].is_atomic, has_atomic);
	assert_int_equal(has_reason(&type->counts[0], 2, "_Atomic"), has_atomic);
	assert_int_equal(type->counts[0].score, has_atomic ? 11 : 9);
	type = find(fixture, "closure");
	assert_int_equal(type->counts[0].bit_size, 15);
	assert_int_equal(type->counts[0].offset_bits, 4);
	type = find(fixture, "control");
	assert_false(type->counts[0].is_secondary);
	assert_true(type->counts[1].is_secondary);
	assert_true(has_reason(&type->counts[0], 4, "control_hold and control_release"));
	assert_true(has_reason(&type->counts[1], 5, "sibling"));
}

static void check_relations(struct fixture *fixture)
{
	assert_int_equal(find(fixture, "typed")->state, RI_INFERRED_POSSIBLE);
	assert_true(find(fixture, "obj_ref")->is_header);
	assert_false(find(fixture, "session")->is_header);
	assert_string_equal(find(fixture, "second")->convention, "first");
	assert_string_equal(find(fixture, "job")->convention, "job");
	/* external references are the first count though the internal ones come before */
	assert_string_equal(find(fixture, "external")->counts[0].path, "erefs");
}

static void test_program(void **state)
{
	static const char *const flags[] = { "-O0", "-O2", "-O2 -gdwarf-4", "-O2 -flto" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct fixture fixture = { 0 };

		fixture_start(&fixture, flags[i]);
		check_accepted(&fixture);
		check_reasons(&fixture, !strstr(flags[i], "dwarf-4"));
		check_relations(&fixture);
		fixture_close(&fixture);
	}
}

static void test_links(void **state)
{
	static const struct {
		const char *path;
		enum ri_shape_link_kind kind;
	} expected[] = {
		{ "link", RI_SHAPE_LIST }, { "next", RI_SHAPE_DIRECT }, { "hash", RI_SHAPE_HLIST },
		{ "tree", RI_SHAPE_TREE }, { "next_free", RI_SHAPE_DIRECT }, { "s", RI_SHAPE_SLIST },
		{ "q", RI_SHAPE_TAILQ },
	};
	struct fixture fixture = { 0 };
	ri_shape_link_list links = { 0 };
	struct ri_strings *strings = ri_strings_create();

	(void)state;
	fixture_start(&fixture, "-O0");
	ri_shape_links(fixture.types, find(&fixture, "session")->type, strings, &links);
	assert_int_equal(links.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < links.count; i++) {
		assert_string_equal(links.items[i].path, expected[i].path);
		assert_int_equal(links.items[i].kind, expected[i].kind);
	}
	ri_vec_deinit(&links);
	ri_strings_destroy(strings);
	fixture_close(&fixture);
}

static bool is_same_count(const struct ri_count_rule *a, const struct ri_count_rule *b)
{
	return a->field.offset_bytes == b->field.offset_bytes &&
	       a->field.size_bytes == b->field.size_bytes &&
	       a->field.bit_shift == b->field.bit_shift &&
	       a->field.bit_size == b->field.bit_size && a->live.high == b->live.high &&
	       !strcmp(a->name, b->name);
}

static void assert_same_layout(const struct ri_layout *a, const struct ri_layout *b)
{
	assert_int_equal(a->types.count, b->types.count);
	assert_int_equal(a->conventions.count, b->conventions.count);
	assert_int_equal(a->owners.count, b->owners.count);
	assert_int_equal(a->unbound.count + b->unbound.count, 0);
	for (size_t i = 0; i < a->types.count; i++) {
		assert_string_equal(a->types.items[i].name, b->types.items[i].name);
		assert_ptr_equal(a->types.items[i].type, b->types.items[i].type);
		assert_int_equal(a->types.items[i].header_offset, b->types.items[i].header_offset);
		assert_int_equal(a->types.items[i].convention, b->types.items[i].convention);
	}
	for (size_t i = 0; i < a->conventions.count; i++) {
		const struct ri_convention *x = &a->conventions.items[i];
		const struct ri_convention *y = &b->conventions.items[i];

		assert_int_equal(x->count_count, y->count_count);
		for (size_t k = 0; k < x->count_count; k++)
			assert_true(is_same_count(&x->counts[k], &y->counts[k]));
	}
}

/* What is in force, what it prints, and what that is when it is read back. */
static void test_round_trip(void **state)
{
	const struct ri_infer_options options = { 0 };
	struct fixture fixture = { 0 };
	struct ri_profile *profiles[2] = { NULL, NULL };
	struct ri_layout *layouts[2];
	const bool is_user[2] = { false, true };
	char *text;

	(void)state;
	fixture_start(&fixture, "-O0");
	assert_null(ri_inference_profile(fixture.inference, fixture.types, &options, NULL,
					 &profiles[0]));
	assert_non_null(profiles[0]);
	text = ri_profile_print(profiles[0]);
	assert_null(ri_profile_parse("edited.yaml", text, strlen(text), &profiles[1]));
	for (int i = 0; i < 2; i++)
		layouts[i] = ri_layout_create((const struct ri_profile *const *)&profiles[i],
					      &is_user[i], 1, fixture.types, fixture.modules,
					      &fixture.gaps);
	assert_same_layout(layouts[0], layouts[1]);
	/* with_header through its header, the header itself not */
	assert_int_equal(layouts[0]->types.count, 11);
	/* what the other links are worth the counts tell */
	assert_int_equal(layouts[0]->owners.count, 1);
	assert_string_equal(layouts[0]->owners.items[0].pattern, "session.next_free");
	/* a struct that a profile knows is covered */
	ri_inference_destroy(fixture.inference);
	fixture.inference = ri_inference_create(fixture.types, fixture.modules, layouts[0],
						&options);
	assert_int_equal(find(&fixture, "job")->state, RI_INFERRED_COVERED);
	assert_int_equal(find(&fixture, "typed")->state, RI_INFERRED_POSSIBLE);
	for (int i = 0; i < 2; i++) {
		ri_layout_destroy(layouts[i]);
		ri_profile_destroy(profiles[i]);
	}
	free(text);
	fixture_close(&fixture);
}

static const char cxx_program[] =
	"#include <atomic>\n#include <cstdio>\n#include <memory>\n#include <unistd.h>\n"
	"namespace net { class Conn { int m_refs = 1; public: long a = 0;\n"
	"	__attribute__((noinline, used)) void ref() { m_refs++; }\n"
	"	__attribute__((noinline, used)) void unref() { m_refs--; } };\n"
	"class Derived : public Conn { long b = 0; };\n"
	"struct Shared { std::atomic<int> refCount{1}; void *p = nullptr; }; }\n"
	"struct Plain { int m_refs = 1; long a = 0; };\n" /* no functions: possible */
	"net::Conn *conn = new net::Conn; net::Derived *derived = new net::Derived;\n"
	"net::Shared *shared = new net::Shared; Plain *plain = new Plain;\n"
	"std::shared_ptr<long> held = std::make_shared<long>(3);\n"
	"int main() { conn->ref(); puts(\"READY\"); fflush(stdout); pause(); return 0; }\n";

/* Classes: methods take `this`; counts of the standard library. */
static void test_cxx(void **state)
{
	struct fixture fixture = { 0 };
	const struct ri_inferred_type *type;

	(void)state;
	scratch_init(&fixture.scratch);
	write_text(&fixture.scratch, "main.cc", cxx_program);
	assert_int_equal(run(&fixture.scratch, "g++ -g -O0 -o program main.cc"), 0);
	fixture_open(&fixture, false);
	type = find(&fixture, "net::Conn");
	assert_int_equal(type->state, RI_INFERRED_ACCEPTED);
	assert_string_equal(type->counts[0].path, "m_refs");
	assert_true(has_reason(&type->counts[0], 4, "ref and unref"));
	type = find(&fixture, "net::Shared");
	assert_int_equal(type->state, RI_INFERRED_ACCEPTED);
	assert_true(type->counts[0].wrappers >= 1);
	assert_true(has_reason(&type->counts[0], 2, "atomic"));
	assert_int_equal(find(&fixture, "Plain")->state, RI_INFERRED_POSSIBLE);
	type = find(&fixture, "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>");
	assert_int_equal(type->state, RI_INFERRED_ACCEPTED);
	assert_string_equal(type->counts[0].path, "_M_use_count");
	assert_string_equal(type->counts[1].path, "_M_weak_count");
	assert_true(type->counts[1].is_secondary);
	fixture_close(&fixture);
}

static const char library[] = "struct shared { long a; int refcount; };\n"
			      "struct other { long a; int refcount; };\n"
			      "struct shared s; struct other o;\n"
			      "long lib(struct shared *t) { return t->refcount; }\n";
static const char second_library[] = "struct other { int refcount; long a, b; };\n"
				     "struct other o2; long lib2(void) { return o2.a; }\n";
static const char stripped[] =
	"#include <stdio.h>\n#include <unistd.h>\nstruct mine { long a; int refcount; } m;\n"
	"long lib(void *); long lib2(void);\n"
	"int main(void) { if (m.a) return (int)(lib(&m) + lib2());\n"
	"	puts(\"READY\"); fflush(stdout); pause(); return 0; }\n";

/* A program without debug information beside a library with it; and one name for two
 * structs in two libraries. */
static void test_modules(void **state)
{
	const struct ri_infer_options options = { 0 };
	struct fixture fixture = { 0 };
	struct ri_profile *profile = NULL;
	struct ri_layout *layout;
	const bool is_user = true;
	char *text;

	(void)state;
	scratch_init(&fixture.scratch);
	write_text(&fixture.scratch, "one.c", library);
	write_text(&fixture.scratch, "two.c", second_library);
	write_text(&fixture.scratch, "main.c", stripped);
	assert_int_equal(run(&fixture.scratch,
			     "cc -g -shared -fPIC -o libone.so one.c && "
			     "cc -g -shared -fPIC -o libtwo.so two.c && "
			     "cc -s -o program main.c -L. -lone -ltwo -Wl,-rpath,$PWD"), 0);
	fixture_open(&fixture, false);
	text = list_accepted(&fixture);
	assert_string_equal(text, " other.refcount shared.refcount other.refcount");
	free(text);
	assert_true(find(&fixture, "other")->needs_module);
	assert_false(find(&fixture, "shared")->needs_module);
	assert_null(ri_inference_profile(fixture.inference, fixture.types, &options, NULL, &profile));
	layout = ri_layout_create((const struct ri_profile *const *)&profile, &is_user, 1,
				  fixture.types, fixture.modules, &fixture.gaps);
	assert_int_equal(layout->types.count, 3);
	assert_int_equal(layout->unbound.count, 0);
	ri_layout_destroy(layout);
	ri_profile_destroy(profile);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_types),   cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_program), cmocka_unit_test(test_links),
		cmocka_unit_test(test_cxx),     cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_modules), cmocka_unit_test(test_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
