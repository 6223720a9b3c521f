/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binding against the DWARF of a program that is compiled for the test: what
 * offsets a profile's names get is compared with what the compiler says
 * (offsetof, printed by the same program).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "debug/modules.h"
#include "debug/types.h"
#include "profile/layout.h"
#include "target/target.h"

static const char program[] =
	"#include <stddef.h>\n"
	"#include <stdint.h>\n"
	"#include <stdio.h>\n"
	"#include <unistd.h>\n"
	"struct list_head { struct list_head *next, *prev; };\n"
	"struct hnode { struct hnode *next, **pprev; };\n"
	"struct hhead { struct hnode *first; };\n"
	"struct rb { unsigned long __rb_parent_color; struct rb *rb_right, *rb_left; };\n"
	"struct root { struct rb *rb_node; };\n"
	"struct type_desc { const char *name; size_t size; long ref_off; void (*release)(void *); };\n"
	"struct group;\n"
	"struct ref { uint32_t magic; int32_t count; const struct type_desc *type;\n"
	"	struct list_head link; struct group *group; };\n"
	"struct group { long pad; struct list_head head; char name[24]; unsigned short nr;\n"
	"	unsigned is_owner : 1; struct group *up; };\n"
	"struct buf { struct ref ref; struct buf *next; };\n"
	"struct session { uint64_t id; struct ref ref; };\n"
	"struct outer { int a; struct session inner; };\n"     /* nested: through session */
	"struct two { struct ref first; long x; struct ref other; };\n"
	"struct mixed { long y; union { struct ref u; long l; }; struct ref many[2]; };\n"
	"struct lone { int n; }; struct with_lone { int a; struct lone l; };\n"
	"struct unheld { int n; };\n"
	"struct atomic { int counter; };\n"
	"struct refcount { struct atomic refs; };\n"
	"struct obj { long id; char tag[8]; struct refcount uses; unsigned low : 3, weak : 15,\n"
	"	sflags : 2; signed int neg : 12; struct list_head node; struct hnode hn;\n"
	"	struct rb rb; struct obj *chain; struct obj *tqe_next, **tqe_prev; float f;\n"
	"	struct type_desc *ops; uint8_t tiny; struct box *owner; };\n"
	"struct derived { struct obj base; int more; };\n"
	"struct box { struct list_head objs; struct hhead hash[16]; struct hhead *heap;\n"
	"	unsigned heap_size; struct root tree; struct obj *first; struct obj *slots[10];\n"
	"	struct { struct obj *tqh_first, **tqh_last; } q; int locked_by; };\n"
	"struct ext { struct ext *prev, *next; void *value; };\n"
	"struct extlist { struct ext *head, *tail; unsigned long len; };\n"
	"typedef struct { int n; } anon_ref;\n"
	"struct with_anon { long a; anon_ref r; };\n"
	"#include \"refobj.h\"\n"
	"struct gadget { int x; struct refobj ref; } a_gadget; struct refobj_group a_group;\n"
	"struct front { long payload[4]; };\n"
	"struct mote { int n; }; struct some { struct mote a, b; } some;\n"
	"struct crowd { struct mote a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q; } crowd;\n"
	"struct group the_group; struct list_head bare_list; struct box the_box;\n"
	"struct group *group_pointer; struct group group_array[3]; struct lone a_lone;\n"
	"struct with_lone a_with_lone; struct unheld *an_unheld;\n"
	"struct buf b; struct session s; struct outer o; struct two t; struct mixed m;\n"
	"struct derived d; struct extlist e; struct ext x; struct with_anon w; struct front f;\n"
	"#define P(t, m) printf(#t \".\" #m \" %zu\\n\", offsetof(struct t, m))\n"
	"int main(void) {\n"
	"	P(session, ref); P(outer, inner.ref); P(two, other); P(ref, count); P(ref, link);\n"
	"	P(ref, group); P(group, head); P(group, name); P(group, nr); P(group, up);\n"
	"	P(obj, uses); P(obj, node); P(obj, hn); P(obj, rb); P(obj, chain);\n"
	"	P(obj, tqe_next); P(obj, ops); P(obj, tiny); P(obj, owner); P(obj, tag);\n"
	"	P(box, hash); P(box, heap);\n"
	"	P(box, heap_size); P(box, tree); P(box, first); P(box, slots); P(box, q);\n"
	"	P(ext, next); P(ext, value); P(extlist, len); P(with_anon, r);\n"
	"	printf(\"the_group %zu\\n\", (size_t)&the_group);\n"
	"	printf(\"bare_list %zu\\n\", (size_t)&bare_list);\n"
	"	printf(\"READY\\n\"); fflush(stdout); for (;;) pause(); }\n";

struct world {
	pid_t pid;
	char truth[8192];
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_gaps gaps;
};

static void compile(const char *dir)
{
	const char *cc = getenv("CC");
	char *command = ri_format("%s -g -O0 -Iinclude -o %s/program %s/program.c", cc ? cc : "cc",
				  dir, dir);
	char *path = ri_format("%s/program.c", dir);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(program, file);
	fclose(file);
	assert_int_equal(system(command), 0);
	free(path);
	free(command);
}

static void start(struct world *world, const char *dir)
{
	char *path = ri_format("%s/program", dir);
	size_t used = 0;
	int out[2];

	assert_int_equal(pipe(out), 0);
	world->pid = fork();
	if (!world->pid) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	while (!strstr(world->truth, "READY\n")) {
		ssize_t got = read(out[0], world->truth + used, sizeof(world->truth) - used - 1);

		assert_true(got > 0);
		used += (size_t)got;
	}
	close(out[0]);
	free(path);
}

static int set_up(void **state)
{
	struct world *world = ri_calloc(1, sizeof(*world));
	const struct ri_target_live_options live = { 0 };
	const struct ri_modules_options options = { 0 };
	char dir[] = "/tmp/profile-bind-XXXXXX";
	char *clean;

	assert_non_null(mkdtemp(dir));
	compile(dir);
	start(world, dir);
	ri_gaps_init(&world->gaps);
	assert_null(ri_target_open_live(world->pid, &live, &world->gaps, &world->target));
	assert_null(ri_modules_create(world->target, &options, &world->gaps, &world->modules));
	world->types = ri_types_create(world->modules, &world->gaps);
	clean = ri_format("rm -rf %s", dir);
	assert_int_equal(system(clean), 0);
	free(clean);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	ri_types_destroy(world->types);
	ri_modules_destroy(world->modules);
	ri_target_close(world->target);
	ri_gaps_deinit(&world->gaps);
	kill(world->pid, SIGKILL);
	waitpid(world->pid, NULL, 0);
	free(world);
	return 0;
}

/* What the program printed for `what`. */
static int64_t truth(const struct world *world, const char *what)
{
	char *line = ri_format("\n%s ", what);
	const char *found;
	int64_t value = -1;

	if (!strncmp(world->truth, line + 1, strlen(line) - 1))
		found = world->truth - 1;
	else
		found = strstr(world->truth, line);
	if (!found)
		fail_msg("the program says nothing of %s", what);
	sscanf(found + strlen(line), "%ld", &value);
	free(line);
	return value;
}

struct bound {
	struct ri_layout *layout;
	struct ri_gaps gaps;
};

static struct bound bind_all(const struct world *world, const char *const *texts,
			     const bool *is_user, size_t count)
{
	struct ri_profile *profiles[4] = { NULL };
	struct bound bound = { .layout = NULL };

	for (size_t i = 0; i < count; i++) {
		struct ri_error *error =
			ri_profile_parse("p", texts[i], strlen(texts[i]), &profiles[i]);

		if (error)
			print_error("%s\n", error->message);
		assert_null(error);
	}
	ri_gaps_init(&bound.gaps);
	bound.layout = ri_layout_create((const struct ri_profile *const *)profiles, is_user, count,
					world->types, world->modules, &bound.gaps);
	for (size_t i = 0; i < count; i++)
		ri_profile_destroy(profiles[i]);
	return bound;
}

static struct bound bind(const struct world *world, const char *text)
{
	static const bool is_user = true;

	return bind_all(world, &text, &is_user, 1);
}

static void unbind(struct bound *bound)
{
	ri_layout_destroy(bound->layout);
	ri_gaps_deinit(&bound->gaps);
}

static const struct ri_counted_type *find_type(const struct bound *bound, const char *name)
{
	for (size_t i = 0; i < bound->layout->types.count; i++)
		if (!strcmp(bound->layout->types.items[i].name, name))
			return &bound->layout->types.items[i];
	return NULL;
}

static const struct ri_counted_type *get_type(const struct bound *bound, const char *name)
{
	const struct ri_counted_type *type = find_type(bound, name);

	if (!type)
		fail_msg("no counted type '%s'", name);
	return type;
}

static void expect_gap(const struct bound *bound, const char *message)
{
	for (size_t i = 0; i < bound->gaps.count; i++)
		if (!strcmp(bound->gaps.items[i].message, message))
			return;
	for (size_t i = 0; i < bound->gaps.count; i++)
		print_error("gap: %s\n", bound->gaps.items[i].message);
	fail_msg("no gap: %s", message);
}

static void expect_no_gaps(const struct bound *bound)
{
	for (size_t i = 0; i < bound->gaps.count; i++)
		print_error("gap: %s\n", bound->gaps.items[i].message);
	assert_int_equal(bound->gaps.count, 0);
	assert_int_equal(bound->layout->unbound.count, 0);
}

#define V "version: 1\n"
#define REF V "headers:\n- struct: ref\n  counts: count\n"

static void test_header_makes_embedding_structs_types(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, REF);
	const struct ri_counted_type *type;

	type = get_type(&bound, "buf");
	assert_int_equal(type->header_offset, 0);
	assert_int_equal(type->size_bytes, 48);
	assert_int_equal(type->extent_bytes, 48);
	assert_int_equal(type->front_bytes, 0);
	assert_int_equal(type->container, RI_LAYOUT_NONE);
	assert_string_equal(type->type->name, "buf");
	type = get_type(&bound, "session");
	assert_int_equal(type->header_offset, truth(world, "session.ref"));
	/* at the second depth */
	type = get_type(&bound, "outer");
	assert_int_equal(type->header_offset, truth(world, "outer.inner.ref"));
	assert_int_equal(type->convention, 0);
	/* neither through unions nor arrays, but it is told */
	assert_null(find_type(&bound, "mixed"));
	expect_gap(&bound, "counted structs in union '(unnamed)' of struct 'mixed' are not "
			   "followed");
	expect_gap(&bound, "counted structs in array 'many' of struct 'mixed' are not followed");
	assert_false(ri_gaps_has_serious(&bound.gaps));
	/* the header itself is none, and what has nothing in it neither */
	assert_null(find_type(&bound, "ref"));
	assert_null(find_type(&bound, "group"));
	assert_int_equal(bound.layout->conventions.count, 1);
	assert_true(bound.layout->conventions.items[0].is_header);
	assert_int_equal(bound.layout->conventions.items[0].size_bytes, 40);
	assert_int_equal(bound.layout->conventions.items[0].counts[0].field.offset_bytes,
			 truth(world, "ref.count"));
	unbind(&bound);
}

static void test_two_headers_in_a_struct(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, REF);
	const struct ri_counted_type *two = get_type(&bound, "two");
	const struct ri_counted_type *other = get_type(&bound, "two.other");

	assert_int_equal(two->header_offset, 0);
	assert_int_equal(two->container, RI_LAYOUT_NONE);
	assert_int_equal(other->header_offset, 0);
	assert_int_equal(other->size_bytes, 40);
	assert_string_equal(other->type->name, "ref");
	assert_ptr_equal(&bound.layout->types.items[other->container], two);
	assert_int_equal(other->container_offset, truth(world, "two.other"));
	assert_null(find_type(&bound, "two.first"));
	unbind(&bound);
}

/* A control block apart from its payload. */
static void test_payload(void **state)
{
	struct bound bound = bind(*state, V "types:\n- struct: lone\n  counts: n\n"
					    "  payload: { offset: 8, pointer: true }\n");

	assert_true(get_type(&bound, "lone")->payload.is_present);
	assert_true(get_type(&bound, "lone")->payload_is_pointer);
	assert_int_equal(get_type(&bound, "lone")->payload.offset_bytes, 8);
	expect_no_gaps(&bound);
	unbind(&bound);
}

/* What a struct has more of than is followed is no silence. */
static void test_crowded_struct_is_a_gap(void **state)
{
	struct bound bound = bind(*state, V "headers:\n- struct: mote\n  counts: n\n");

	assert_non_null(find_type(&bound, "some"));
	assert_non_null(find_type(&bound, "crowd"));
	assert_true(ri_gaps_has_serious(&bound.gaps));
	assert_int_equal(bound.gaps.count, 1);
	assert_non_null(strstr(bound.gaps.items[0].message, "'crowd'"));
	unbind(&bound);
}

/* Where nothing embeds it, or a variable is one. */
static void test_a_lone_header_is_a_type(void **state)
{
	struct bound bound = bind(*state, V "headers:\n- {struct: lone, counts: n}\n"
					    "- {struct: unheld, counts: n}\n");

	assert_int_equal(bound.layout->types.count, 3);
	assert_int_equal(get_type(&bound, "lone")->size_bytes, 4);
	assert_int_equal(get_type(&bound, "with_lone")->header_offset, 4);
	assert_int_equal(get_type(&bound, "unheld")->convention, 1);
	expect_no_gaps(&bound);
	unbind(&bound);
}

/* kobject and kref: the outer header's count is the inner one. */
static void test_a_header_inside_a_header_is_no_second_count(void **state)
{
	struct bound bound = bind(*state, REF "- struct: session\n  counts: ref.count\n");

	assert_int_equal(get_type(&bound, "outer")->convention, 1);
	assert_int_equal(get_type(&bound, "outer")->header_offset, 8);
	assert_null(find_type(&bound, "outer.inner"));
	assert_int_equal(get_type(&bound, "session")->convention, 1); /* a variable */
	assert_int_equal(get_type(&bound, "buf")->convention, 0);
	unbind(&bound);
}

static void test_a_header_known_by_a_typedef_alone(void **state)
{
	struct bound bound = bind(*state, V "headers: [{struct: anon_ref, counts: n}]\n");

	assert_int_equal(get_type(&bound, "with_anon")->header_offset,
			 truth(*state, "with_anon.r"));
	expect_no_gaps(&bound);
	unbind(&bound);
}

static void test_embedding_a_counted_struct(void **state)
{
	struct bound bound = bind(*state, V
		"types: [{struct: obj, counts: uses, label: object}]\n");
	const struct ri_counted_type *obj = get_type(&bound, "object");
	const struct ri_counted_type *derived = get_type(&bound, "derived");

	assert_int_equal(bound.layout->types.count, 2);
	assert_int_equal(obj->header_offset, 0);
	assert_int_equal(derived->header_offset, 0);
	assert_int_equal(derived->convention, obj->convention);
	assert_true(derived->size_bytes > obj->size_bytes);
	assert_false(bound.layout->conventions.items[0].is_header);
	expect_no_gaps(&bound);
	unbind(&bound);
}

static void test_a_type_with_its_header_and_more(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, REF
		"  magic: {member: magic, live: 1}\n"
		"types:\n- struct: session\n  header: ref\n  index: id\n  label: sess\n");
	const struct ri_counted_type *session = get_type(&bound, "sess");
	const struct ri_convention *c = &bound.layout->conventions.items[session->convention];
	const struct ri_counted_type *outer = get_type(&bound, "outer");

	assert_int_equal(session->header_offset, 8);
	assert_int_equal(c->base, 0);
	assert_int_equal(session->convention, 1);
	assert_int_equal(c->counts[0].field.offset_bytes, 4);
	assert_int_equal(c->index_field.offset_bytes, -8); /* relative to the header */
	assert_int_equal(c->magic_count, 1);
	assert_int_equal(outer->convention, 1);
	assert_int_equal(outer->header_offset, truth(world, "outer.inner.ref"));
	assert_int_equal(get_type(&bound, "buf")->convention, 0);
	assert_null(find_type(&bound, "session"));
	unbind(&bound);
}

static void test_a_header_in_front(void **state)
{
	struct bound bound = bind(*state, REF
		"  in-front: true\n"
		"types:\n- struct: front\n  header: {offset: -48, struct: ref}\n");
	const struct ri_counted_type *type = get_type(&bound, "front");

	assert_true(bound.layout->conventions.items[0].may_stand_in_front);
	assert_int_equal(type->header_offset, -48);
	assert_int_equal(type->front_bytes, 48);
	assert_int_equal(type->size_bytes, 32);
	assert_int_equal(type->extent_bytes, 80);
	unbind(&bound);
}

static void test_fields_of_all_kinds(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, V
		"types:\n- struct: obj\n  counts:\n"
		"  - uses\n"
		"  - {member: weak, plus: {member: sflags, mask: 2}, dead: []}\n"
		"  - {member: neg, mask: 0x7f}\n"
		"  - {member: neg}\n"
		"  - {member: id, mask: 0xffff0000, shift: 16}\n"
		"  - {member: id}\n"
		"  - {member: tiny}\n"
		"  descriptor: {member: ops, name: name, size: size, header-offset: ref_off}\n"
		"  name: tag\n"
		"  lock-owner: owner\n");
	const struct ri_convention *c = &bound.layout->conventions.items[0];
	const struct ri_count_rule *counts = c->counts;

	expect_no_gaps(&bound);
	assert_int_equal(c->count_count, 7);
	/* through two structs of one member */
	assert_int_equal(counts[0].field.offset_bytes, truth(world, "obj.uses"));
	assert_int_equal(counts[0].field.size_bytes, 4);
	assert_true(counts[0].field.is_signed);
	assert_string_equal(counts[0].name, "uses");
	assert_int_equal(counts[0].live.low, 1);
	assert_int_equal(counts[0].live.high, INT32_MAX / 2);
	/* bit-fields */
	assert_int_equal(counts[1].field.bit_size, 15);
	assert_false(counts[1].field.is_signed);
	assert_int_equal(counts[1].live.high, 32767);
	assert_int_equal(counts[1].dead_count, 0);
	assert_int_equal(counts[1].plus.field.bit_size, 2);
	assert_int_equal(counts[1].plus_value, 1);
	assert_false(counts[2].field.is_signed); /* its sign bit is masked off */
	assert_int_equal(counts[2].live.high, 127);
	assert_true(counts[3].field.is_signed);
	assert_int_equal(counts[3].live.high, 2047);
	assert_int_equal(counts[4].live.high, 65535);
	assert_true(counts[5].live.high == (int64_t)1 << 62);
	assert_int_equal(counts[6].live.high, 255);
	/* the descriptor's struct is what the member points at */
	assert_string_equal(c->descriptor.type->name, "type_desc");
	assert_int_equal(c->descriptor.size.offset_bytes, 8);
	assert_true(c->descriptor.header_offset.is_signed);
	assert_false(c->descriptor.magic.is_present);
	assert_int_equal(c->name_field.offset_bytes, truth(world, "obj.tag"));
	assert_int_equal(c->name_field.text_bytes, 8);
	assert_int_equal(c->lock_owner.size_bytes, 8);
	unbind(&bound);
}

/* Bit-fields are read where the compiler put them. */
static void test_bit_fields_are_read(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, V "types: [{struct: obj, counts: weak}]\n");
	const struct ri_field *field = &bound.layout->conventions.items[0].counts[0].field;

	/* low:3, weak:15 in one 32-bit word right behind `uses` */
	assert_int_equal(8 * field->offset_bytes + field->bit_shift,
			 8 * (truth(world, "obj.uses") + 4) + 3);
	unbind(&bound);
}

static void test_groups_of_a_header(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, REF
		"groups:\n"
		"- head: {struct: group, member: head}\n"
		"  name: name\n  count: nr\n  parent: up\n"
		"  link: {struct: ref, member: link}\n"
		"  back: group\n"
		"  membership: {owns-if: {member: is_owner}}\n"
		"- label: bare\n"
		"  head: {variable: bare_list}\n"
		"  link: link\n"
		"  membership: 2\n"
		"- head: {variable: the_group, member: head}\n"
		"  link: {member: link}\n");
	const struct ri_group_rule *rule = bound.layout->groups.items;

	assert_int_equal(bound.layout->unbound.count, 0);
	assert_int_equal(bound.layout->groups.count, 3);
	assert_string_equal(rule->head_type->name, "group");
	assert_int_equal(rule->head_offset, truth(world, "group.head"));
	assert_int_equal(rule->head_first_offset, 0);
	assert_int_equal(rule->head_last_offset, 8);
	assert_int_equal(rule->name_field.text_bytes, 24);
	assert_int_equal(rule->count.offset_bytes, truth(world, "group.nr"));
	assert_int_equal(rule->count.size_bytes, 2);
	assert_int_equal(rule->parent_group.offset_bytes, truth(world, "group.up"));
	assert_int_equal(rule->element_convention, 0);
	assert_int_equal(rule->link_offset, truth(world, "ref.link"));
	assert_int_equal(rule->next_offset, 0);
	assert_int_equal(rule->prev_offset, 8);
	assert_int_equal(rule->parent_offset, -1);
	assert_int_equal(rule->back.offset_bytes, truth(world, "ref.group"));
	assert_int_equal(rule->membership.kind, RI_WEIGHT_IF);
	assert_int_equal(rule->membership.owns_if.field.bit_size, 1);
	rule++;
	assert_string_equal(rule->name, "bare");
	assert_true(rule->has_variable);
	assert_int_equal(rule->variable_addr, truth(world, "bare_list"));
	assert_null(rule->head_type);
	assert_int_equal(rule->head_offset, 0);
	assert_int_equal(rule->membership.weight, 2);
	rule++;
	assert_int_equal(rule->variable_addr, truth(world, "the_group"));
	assert_string_equal(rule->head_type->name, "group");
	assert_int_equal(rule->head_offset, truth(world, "group.head"));
	assert_int_equal(rule->membership.kind, RI_WEIGHT_NONE);
	unbind(&bound);
}

#define OBJ V "types: [{struct: obj, counts: uses}]\ngroups:\n"

/* The members' number in a variable beside the head. */
static void test_count_in_a_variable(void **state)
{
	struct bound bound = bind(*state, V
				  "types:\n- {struct: obj, counts: uses}\ngroups:\n"
				  "- head: { variable: bare_list }\n"
				  "  link: { struct: obj, member: node }\n"
				  "  count: { variable: a_lone, member: n }\n"
				  "- head: { variable: bare_list }\n"
				  "  link: { struct: obj, member: node }\n"
				  "  count: { variable: a_lone, offset: 2, size: 2 }\n"
				  "- head: { variable: bare_list }\n"
				  "  link: { struct: obj, member: node }\n"
				  "  count: { variable: a_lone }\n");
	const struct ri_group_rule *rules = bound.layout->groups.items;

	assert_int_equal(bound.layout->groups.count, 3);
	assert_true(rules[0].count.is_present && rules[0].count_variable_addr);
	assert_int_equal(rules[0].count.offset_bytes, 0);
	assert_int_equal(rules[0].count.size_bytes, 4);
	assert_int_equal(rules[1].count.offset_bytes, 2);
	assert_int_equal(rules[1].count_variable_addr, rules[0].count_variable_addr);
	assert_int_equal(rules[2].count.size_bytes, 4); /* through the struct of one member */
	expect_no_gaps(&bound);
	unbind(&bound);

	bound = bind(*state, V "types:\n- {struct: obj, counts: uses}\ngroups:\n"
			       "- head: { variable: bare_list }\n"
			       "  link: { struct: obj, member: node }\n"
			       "  count: { variable: a_loan }\n");
	assert_false(bound.layout->groups.items[0].count.is_present);
	assert_non_null(strstr(bound.gaps.items[0].message, "no variable 'a_loan'"));
	unbind(&bound);
}

static void test_groups_of_every_kind(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, OBJ
		"- {head: {struct: box, member: objs}, link: {struct: obj, member: node}}\n"
		"- {kind: hash, bucket: hlist, head: {struct: box, member: hash},\n"
		"   link: {struct: obj, member: hn}}\n"
		"- {kind: hash, bucket: hlist, head: {struct: box, member: heap}, length: heap_size,\n"
		"   link: {struct: obj, member: hn}}\n"
		"- {kind: tree, head: {struct: box, member: tree}, link: {struct: obj, member: rb},\n"
		"   tag-mask: 3}\n"
		"- {kind: slist, head: {struct: box, member: first}, end-mark: -1,\n"
		"   link: {struct: obj, next: chain}}\n"
		"- {kind: slist, head: {struct: box, member: first},\n"
		"   link: {struct: obj, member: chain}}\n"
		"- {kind: array, head: {struct: box, member: slots}, link: {struct: obj}}\n"
		"- {kind: tailq, head: {struct: box, member: q}, link: {struct: obj}}\n"
		"- {kind: dlist, head: {struct: extlist, offset: 0}, count: len,\n"
		"   link: {struct: obj}, node: {struct: ext, payload: value}}\n"
		"- {headless: true, link: {struct: obj, member: node}, back: {member: owner, to: head}}\n");
	const struct ri_group_rule *rule = bound.layout->groups.items;

	expect_no_gaps(&bound);
	assert_int_equal(bound.layout->groups.count, 10);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(rule[i].element_convention, RI_LAYOUT_NONE);
		assert_int_equal(rule[i].element_type, 0);
	}
	assert_int_equal(rule->link_offset, truth(world, "obj.node"));
	rule++; /* hash, inline */
	assert_int_equal(rule->link_offset, truth(world, "obj.hn"));
	assert_false(rule->head_is_pointer);
	assert_int_equal(rule->fixed_length, 16);
	assert_int_equal(rule->slot_bytes, 8);
	assert_int_equal(rule->head_first_offset, 0);
	assert_int_equal(rule->head_last_offset, -1);
	rule++; /* hash, behind a pointer */
	assert_true(rule->head_is_pointer);
	assert_int_equal(rule->fixed_length, 0);
	assert_int_equal(rule->length.offset_bytes, truth(world, "box.heap_size"));
	assert_int_equal(rule->slot_bytes, 8);
	rule++; /* tree */
	assert_int_equal(rule->next_offset, 16);
	assert_int_equal(rule->right_offset, 8);
	assert_int_equal(rule->parent_offset, 0);
	assert_int_equal(rule->prev_offset, -1);
	assert_int_equal(rule->tag_mask, 3);
	rule++; /* next as a member of the element */
	assert_int_equal(rule->link_offset, 0);
	assert_int_equal(rule->next_offset, truth(world, "obj.chain"));
	assert_true(rule->has_end_mark && rule->end_mark == UINT64_MAX);
	assert_int_equal(rule->head_first_offset, 0);
	rule++; /* the same, said in the other way */
	assert_int_equal(rule->link_offset, 0);
	assert_int_equal(rule->next_offset, truth(world, "obj.chain"));
	rule++; /* array */
	assert_int_equal(rule->fixed_length, 10);
	assert_int_equal(rule->slot_bytes, 8);
	rule++; /* tailq: points at elements */
	assert_int_equal(rule->link_offset, 0);
	assert_int_equal(rule->next_offset, truth(world, "obj.tqe_next"));
	assert_int_equal(rule->prev_offset, truth(world, "obj.tqe_next") + 8);
	assert_int_equal(rule->head_offset, truth(world, "box.q"));
	assert_int_equal(rule->head_last_offset, 8);
	rule++; /* external nodes */
	assert_int_equal(rule->node_bytes, 24);
	assert_int_equal(rule->payload_offset, truth(world, "ext.value"));
	assert_int_equal(rule->link_offset, 0);
	assert_int_equal(rule->next_offset, truth(world, "ext.next"));
	assert_int_equal(rule->prev_offset, 0);
	assert_int_equal(rule->count.offset_bytes, truth(world, "extlist.len"));
	rule++;
	assert_true(rule->is_headless && rule->back_to_head);
	assert_int_equal(rule->back.offset_bytes, truth(world, "obj.owner"));
	unbind(&bound);
}

/* The head's words are members of the struct, whatever lies before them. */
static void test_heads_without_a_struct(void **state)
{
	const struct world *world = *state;
	struct bound bound = bind(world, OBJ
		"- {kind: dlist, head: {struct: extlist, offset: 0, first: head, last: tail},\n"
		"   link: {struct: obj}, node: {struct: ext, payload: value}}\n"
		"- {kind: dlist, head: {struct: extlist, offset: 0, first: tail, last: head},\n"
		"   link: {struct: obj}, node: {struct: ext, payload: value}}\n"
		"- {kind: slist, head: {struct: box, offset: 0, first: first},\n"
		"   link: {struct: obj, next: chain}}\n");
	const struct ri_group_rule *rule = bound.layout->groups.items;

	expect_no_gaps(&bound);
	assert_int_equal(bound.layout->groups.count, 3);
	assert_int_equal(rule->head_offset, 0);
	assert_int_equal(rule->head_first_offset, 0);
	assert_int_equal(rule->head_last_offset, 8);
	rule++;
	assert_int_equal(rule->head_offset, 0);
	assert_int_equal(rule->head_first_offset, 8);
	assert_int_equal(rule->head_last_offset, 0);
	rule++;
	assert_int_equal(rule->head_offset, truth(world, "box.first"));
	assert_int_equal(rule->head_first_offset, 0);
	assert_int_equal(rule->head_last_offset, -1);
	unbind(&bound);
}

static const struct {
	const char *text, *message;
} wrong_names[] = {
	{ V "headers:\n- struct: reff\n  counts: count\n",
	  "p:3:11: no struct 'reff'; did you mean 'ref'?" },
	{ V "headers:\n- struct: nothing_like_it_at_all\n  counts: count\n",
	  "p:3:11: no struct 'nothing_like_it_at_all'" },
	{ V "headers:\n- struct: ref\n  counts: [{member: cuont}]\n",
	  "p:4:21: struct ref has no member 'cuont'; did you mean 'count'?" },
	{ V "types:\n- struct: obj\n  counts: uses.refs.conter\n",
	  "p:4:11: struct atomic has no member 'conter'; did you mean 'counter'?" },
	{ V "types:\n- struct: obj\n  counts: f\n",
	  "p:4:11: 'f' is float, not an integer of 1, 2, 4 or 8 bytes" },
	{ V "types:\n- struct: obj\n  counts: node\n",
	  "p:4:11: 'node' is struct list_head, not an integer of 1, 2, 4 or 8 bytes" },
	{ V "types:\n- struct: obj\n  counts: uses\n  name: tiny\n",
	  "p:5:9: 'tiny' is uint8_t, not a pointer to characters or an array of them" },
	{ V "types:\n- struct: obj\n  counts: uses\n  descriptor: {member: tiny}\n",
	  "p:5:24: 'tiny' is uint8_t, not a pointer" },
	{ V "types:\n- struct: obj\n  counts: uses\n  descriptor: {member: ops, name: nme}\n",
	  "p:5:35: struct type_desc has no member 'nme'; did you mean 'name'?" },
	{ V "types:\n- struct: obj\n  counts: uses\n"
	    "  descriptor: {member: ops, struct: type_dsc, name: name}\n",
	  "p:5:37: no struct 'type_dsc'; did you mean 'type_desc'?" },
	{ V "types:\n- struct: obj\n  module: 'libx*'\n  counts: uses\n",
	  "p:3:11: no struct 'obj' in modules like 'libx*'; did you mean 'obj'?" },
	{ V "types:\n- struct: session\n  header: ref\n",
	  "p:4:11: no header 'ref' is declared under 'headers'" },
	{ OBJ "- {head: {struct: bx, member: objs}, link: {struct: obj, member: node}}\n",
	  "p:4:19: no struct 'bx'; did you mean 'box'?" },
	{ OBJ "- {head: {struct: box, member: obj}, link: {struct: obj, member: node}}\n",
	  "p:4:32: struct box has no member 'obj'; did you mean 'objs'?" },
	{ OBJ "- {head: {struct: box, member: objs}, link: {struct: ojb, member: node}}\n",
	  "p:4:54: no counted struct or header 'ojb'; did you mean 'obj'?" },
	{ OBJ "- {head: {struct: box, member: objs}, link: {struct: group, member: head}}\n",
	  "p:4:54: no counted struct or header 'group'" },
	{ OBJ "- {head: {struct: box, member: objs}, link: {struct: obj, member: nod}}\n",
	  "p:4:67: struct obj has no member 'nod'; did you mean 'node'?" },
	{ OBJ "- {head: {struct: box, member: objs}, link: {struct: obj, member: hn}}\n",
	  "p:4:45: struct hnode has no 'prev' to be the link's; 'prev:' says which member it is" },
	{ OBJ "- {head: {struct: box, member: objs}, link: {struct: obj, member: node}, count: n}\n",
	  "p:4:81: struct box has no member 'n'" },
	{ OBJ "- {head: {struct: box, member: objs}, link: node}\n",
	  "p:4:3: which struct are the members? 'link: { struct: ... }' says it" },
	{ OBJ "- {head: {variable: the_bx, member: objs}, link: {struct: obj, member: node}}\n",
	  "p:4:21: no variable 'the_bx'; did you mean 'the_box'?" },
	{ OBJ "- {head: {variable: group_pointer, member: head}, link: {struct: obj, member: node}}\n",
	  "p:4:21: variable 'group_pointer' is a pointer: name the struct instead, "
	  "head: { struct: group, ... }" },
	{ OBJ "- {head: {variable: group_array, member: head}, link: {struct: obj, member: node}}\n",
	  "p:4:21: variable 'group_array' is an array: name the struct instead, "
	  "head: { struct: group, ... }" },
	{ OBJ "- {kind: hash, head: {struct: box, member: objs}, link: {struct: obj, member: node}}\n",
	  "p:4:3: the head of an array or hash is an array or a pointer to one, not struct "
	  "list_head" },
};

static void test_wrong_names_are_told_with_positions(void **state)
{
	for (size_t i = 0; i < sizeof(wrong_names) / sizeof(*wrong_names); i++) {
		struct bound bound = bind(*state, wrong_names[i].text);
		const struct ri_unbound *unbound;

		expect_gap(&bound, wrong_names[i].message);
		assert_true(ri_gaps_has_serious(&bound.gaps));
		assert_int_equal(bound.layout->unbound.count, 1);
		unbound = &bound.layout->unbound.items[0];
		assert_string_equal(unbound->mark.file, "p");
		assert_non_null(strstr(wrong_names[i].message, unbound->message));
		unbind(&bound);
	}
}

/* A wrong name costs what it names and no more. */
static void test_the_rest_still_binds(void **state)
{
	struct bound bound = bind(*state, REF
		"  magic: {member: magick, live: 1}\n"
		"  not-leak: flags\n"
		"groups:\n"
		"- head: {struct: group, member: head}\n"
		"  count: number\n"
		"  link: link\n");

	assert_int_equal(bound.layout->unbound.count, 3);
	assert_int_equal(bound.layout->conventions.items[0].magic_count, 0);
	assert_false(bound.layout->conventions.items[0].not_leak.is_present);
	assert_non_null(find_type(&bound, "buf"));
	assert_int_equal(bound.layout->groups.count, 1);
	assert_false(bound.layout->groups.items[0].count.is_present);
	unbind(&bound);
}

static void test_the_users_profile_overrides(void **state)
{
	const char *const texts[] = {
		REF "name: builtin\nrequires: [ref]\nowns: ['*']\n"
		    "groups: [{head: {struct: group, member: head}, link: link}]\n",
		V "name: mine\nheaders: [{struct: ref, label: mine, counts: count}]\n"
		  "borrows: ['buf.*']\n",
	};
	const bool is_user[] = { false, true };
	struct bound bound = bind_all(*state, texts, is_user, 2);

	assert_int_equal(bound.layout->in_force.count, 2);
	assert_int_equal(bound.layout->conventions.count, 1);
	assert_string_equal(bound.layout->conventions.items[0].name, "mine");
	assert_int_equal(ri_layout_weight(bound.layout, "buf.next").weight, 0);
	assert_int_equal(ri_layout_weight(bound.layout, "x.next").weight, 1);
	unbind(&bound);
}

/* The last rule that matches decides, whichever of them have wildcards. */
static void test_the_last_rule_decides(void **state)
{
	static const struct {
		const char *class_name;
		enum ri_weight_kind kind;
		int64_t weight;
	} wanted[] = {
		{ "a.one", RI_WEIGHT_FIXED, 0 },   { "a.two", RI_WEIGHT_FIXED, 1 },
		{ "a[].x", RI_WEIGHT_POSSIBLE, 0 }, { "b.one", RI_WEIGHT_FIXED, 1 },
		{ "c.one", RI_WEIGHT_NONE, 0 },    { "", RI_WEIGHT_NONE, 0 },
	};
	struct bound bound = bind(*state, V
		"types: [{struct: lone, counts: n}]\n"
		"borrows: ['a.one', 'a.two', 'b.one']\n"
		"owns: ['a.*']\n"
		"possible: ['a[].x', 'a.one']\n"
		"weights: [{ class: 'b.*', weight: 1 }, { class: 'a.one', weight: 0 }]\n");

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct ri_weight weight = ri_layout_weight(bound.layout, wanted[i].class_name);

		assert_int_equal(weight.kind, wanted[i].kind);
		if (weight.kind == RI_WEIGHT_FIXED)
			assert_int_equal(weight.weight, wanted[i].weight);
	}
	unbind(&bound);
}

/* With debug information, the structs that embed the fixed header have names. */
static void test_refobj_profile_with_types(void **state)
{
	static const bool is_user = false;
	const struct ri_builtin_profile *refobj = ri_builtin_profiles;
	struct bound bound;

	while (strcmp(refobj->name, "refobj") != 0)
		refobj++;
	bound = bind_all(*state, &refobj->text, &is_user, 1);

	assert_string_equal(bound.layout->in_force.items[0], "refobj");
	expect_no_gaps(&bound);
	assert_int_equal(bound.layout->types.count, 2);
	assert_int_equal(get_type(&bound, "gadget")->header_offset, 8);
	assert_int_equal(get_type(&bound, "refobj_group")->header_offset, 80);
	assert_string_equal(bound.layout->conventions.items[0].type->name, "refobj");
	assert_string_equal(bound.layout->conventions.items[0].descriptor.type->name,
			    "refobj_type");
	assert_string_equal(bound.layout->groups.items[0].head_type->name, "refobj_group");
	assert_int_equal(bound.layout->groups.items[0].link_offset, 16);
	unbind(&bound);
}

/* Of a variable without debug information the ELF symbol's address will do. */
static void test_a_variable_known_by_its_symbol(void **state)
{
	const struct world *world = *state;
	struct world blind = *world;
	struct bound bound;

	blind.types = NULL;
	bound = bind(&blind, V "headers: [{label: r, bytes: 40, counts: {offset: 4, size: 4}}]\n"
			     "groups: [{head: {variable: bare_list}, link: {offset: 16}}]\n");
	expect_no_gaps(&bound);
	assert_int_equal(bound.layout->groups.items[0].variable_addr, truth(world, "bare_list"));
	assert_int_equal(bound.layout->groups.items[0].head_last_offset, 8);
	unbind(&bound);
}

/* A built-in profile that does not apply here is not heard of. */
static void test_builtin_that_does_not_apply(void **state)
{
	static const bool is_user = false;
	const char *text = V "requires: [ref, kobject]\nheaders: [{struct: ref, counts: count}]\n";
	struct bound bound = bind_all(*state, &text, &is_user, 1);

	assert_int_equal(bound.layout->in_force.count, 0);
	assert_int_equal(bound.layout->conventions.count, 0);
	expect_no_gaps(&bound);
	unbind(&bound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_makes_embedding_structs_types),
		cmocka_unit_test(test_payload),
		cmocka_unit_test(test_crowded_struct_is_a_gap),
		cmocka_unit_test(test_two_headers_in_a_struct),
		cmocka_unit_test(test_a_lone_header_is_a_type),
		cmocka_unit_test(test_a_header_inside_a_header_is_no_second_count),
		cmocka_unit_test(test_a_header_known_by_a_typedef_alone),
		cmocka_unit_test(test_embedding_a_counted_struct),
		cmocka_unit_test(test_a_type_with_its_header_and_more),
		cmocka_unit_test(test_a_header_in_front),
		cmocka_unit_test(test_fields_of_all_kinds),
		cmocka_unit_test(test_bit_fields_are_read),
		cmocka_unit_test(test_groups_of_a_header),
		cmocka_unit_test(test_count_in_a_variable),
		cmocka_unit_test(test_groups_of_every_kind),
		cmocka_unit_test(test_heads_without_a_struct),
		cmocka_unit_test(test_wrong_names_are_told_with_positions),
		cmocka_unit_test(test_the_rest_still_binds),
		cmocka_unit_test(test_the_last_rule_decides),
		cmocka_unit_test(test_the_users_profile_overrides),
		cmocka_unit_test(test_builtin_that_does_not_apply),
		cmocka_unit_test(test_refobj_profile_with_types),
		cmocka_unit_test(test_a_variable_known_by_its_symbol),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
