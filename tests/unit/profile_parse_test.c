/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading and printing profiles: every value lands where it should, printing
 * and reading again gives the same profile, and whatever is wrong is named with
 * its line and column.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "profile/suggest.h"
#include "profile/yaml_tree.h"

static struct ri_profile *parse(const char *text)
{
	struct ri_profile *profile = NULL;
	struct ri_error *error = ri_profile_parse("dir/demo.yaml", text, strlen(text), &profile);

	if (error)
		print_error("%s\n", error->message);
	assert_null(error);
	return profile;
}

static void expect_error_of(const char *text, size_t size_bytes, const char *message)
{
	struct ri_profile *profile = NULL;
	struct ri_error *error = ri_profile_parse("p", text, size_bytes, &profile);

	if (!error)
		fail_msg("no error from:\n%s", text);
	assert_null(profile);
	assert_int_equal(error->code, RI_ERROR_INPUT);
	if (strcmp(error->message, message) != 0)
		print_error("from:\n%s\n", text);
	assert_string_equal(error->message, message);
	ri_error_destroy(error);
}

static void expect_error(const char *text, const char *message)
{
	expect_error_of(text, strlen(text), message);
}

/* Whether two structs that `schema` fills say the same, marks apart. */
static bool is_same_section(const struct ri_schema *schema, const void *a, const void *b);

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_list(const struct ri_schema_key *key, const void *a, const void *b)
{
	struct ri_any_vec x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	if (x.count != y.count)
		return false;
	for (size_t i = 0; i < x.count; i++) {
		if (key->kind == RI_SCHEMA_TEXTS) {
			if (!is_same_text(((struct ri_name *)x.items)[i].text,
					  ((struct ri_name *)y.items)[i].text))
				return false;
		} else if (key->kind == RI_SCHEMA_SECTIONS) {
			size_t at = i * key->section->size_bytes;

			if (!is_same_section(key->section, (char *)x.items + at,
					     (char *)y.items + at))
				return false;
		} else if (((uint64_t *)x.items)[i] != ((uint64_t *)y.items)[i]) {
			return false;
		}
	}
	return true;
}

static bool is_same_value(const struct ri_schema_key *key, const void *a, const void *b)
{
	const struct ri_profile_weight *x = a, *y = b;

	switch (key->kind) {
	case RI_SCHEMA_TEXT:
		return is_same_text(((const struct ri_name *)a)->text,
				    ((const struct ri_name *)b)->text);
	case RI_SCHEMA_U64:
	case RI_SCHEMA_I64:
		return !memcmp(a, b, 8);
	case RI_SCHEMA_BAND:
		return !memcmp(a, b, sizeof(struct ri_band));
	case RI_SCHEMA_UINT:
	case RI_SCHEMA_CHOICE:
		return !memcmp(a, b, sizeof(unsigned));
	case RI_SCHEMA_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case RI_SCHEMA_SECTION:
		return is_same_section(key->section, a, b);
	case RI_SCHEMA_WEIGHT:
		return x->kind == y->kind && x->weight == y->weight &&
		       (x->kind != RI_WEIGHT_IF || is_same_section(&ri_schema_weight, x, y));
	case RI_SCHEMA_VERSION:
	case RI_SCHEMA_OWNERS: /* as `weights` */
		return true;
	case RI_SCHEMA_LEDGER:
		return !((const struct ri_mark *)a)->line == !((const struct ri_mark *)b)->line;
	default:
		return is_same_list(key, a, b);
	}
}

static bool is_same_section(const struct ri_schema *schema, const void *a, const void *b)
{
	for (const struct ri_schema_key *key = schema->keys; key->name; key++) {
		if (key->present &&
		    ((const bool *)a)[key->present - 1] != ((const bool *)b)[key->present - 1])
			return false;
		if (!is_same_value(key, (const char *)a + key->offset,
				   (const char *)b + key->offset)) {
			print_error("'%s' of %s differs\n", key->name, schema->what);
			return false;
		}
	}
	return true;
}

static void expect_round_trip(const struct ri_profile *profile)
{
	char *text = ri_profile_print(profile), *again_text;
	struct ri_profile *again = NULL;
	struct ri_error *error = ri_profile_parse("printed", text, strlen(text), &again);

	if (error)
		print_error("%s\n%s\n", error->message, text);
	assert_null(error);
	if (!is_same_section(&ri_schema_profile, profile, again))
		fail_msg("differs after printing:\n%s", text);
	assert_int_equal(profile->types.count, again->types.count);
	again_text = ri_profile_print(again);
	assert_string_equal(text, again_text);
	free(again_text);
	free(text);
	ri_profile_destroy(again);
}

/* Every key of the schema, each with a value that its absence would not have. */
static const char everything[] =
	"version: 1\n"
	"name: demo\n"
	"about: 'all of it: \"quotes\", \\backslashes\\ and ümlauts'\n"
	"requires: [ref, 'ns::thing<int>']\n"
	"always: true\n"
	"types:\n"
	"- struct: conn\n"
	"  module: 'libconn.so*'\n"
	"  label: connection\n"
	"  header: { member: ref, struct: ref }\n"
	"  counts:\n"
	"  - { name: refs, member: state.refs, mask: 0xfffc, shift: 2, sign: unsigned,\n"
	"      live: [1, 99], saturated: [0x3000, 0x3fff], immortal: 0x2000, dead: [0, -7],\n"
	"      holders: ['conn.*', 'group:all'] }\n"
	"  - { name: weak, offset: -4, size: 4, sign: signed, negative: true, bias: -1, dead: [],\n"
	"      plus: { member: strong, mask: 0xff, equals: 2, not: true, value: 3 } }\n"
	"  - bare\n"
	"  magic:\n"
	"  - { member: magic, live: [0x11, 0x12], dead: 0xdead }\n"
	"  - { offset: 8, size: 8, at-end: true, live: 0x8877665544332211 }\n"
	"  descriptor:\n"
	"    member: ops\n"
	"    struct: conn_ops\n"
	"    magic: { member: magic, live: [1, 2] }\n"
	"    name: name\n"
	"    size: { offset: 8, size: 4 }\n"
	"    header-offset: off\n"
	"    release: { offset: 24 }\n"
	"    owns: owned\n"
	"    vtable: '_ZTV*'\n"
	"  poison: [0x6b6b6b6b6b6b6b6b, 0xdeadbeef]\n"
	"  payload: { member: ptr, pointer: true }\n"
	"  not-leak: is_static\n"
	"  ignore: { member: flags, mask: 0x10, not: true }\n"
	"  lock-owner: lock.owner\n"
	"  name: { offset: 64, size: 32 }\n"
	"  index: id\n"
	"headers:\n"
	"- struct: ref\n"
	"  bytes: 48\n"
	"  alignment: 16\n"
	"  in-front: true\n"
	"  counts: count\n"
	"groups:\n"
	"- label: all\n"
	"  kind: hash\n"
	"  bucket: hlist\n"
	"  head: { struct: server, variable: the_server, member: conns, bytes: 4096, first: first,\n"
	"          last: { offset: 8 } }\n"
	"  headless: true\n"
	"  name: name\n"
	"  magic: { member: magic, live: 7 }\n"
	"  count: n\n"
	"  length: { member: buckets }\n"
	"  link: { struct: conn, member: link, next: n, prev: p, left: l, right: r, parent: u }\n"
	"  node: { struct: node, bytes: 24, payload: data }\n"
	"  back: { member: owner, to: head }\n"
	"  belongs-if: { member: state, equals: 3 }\n"
	"  membership: { owns-if: { member: flags, mask: 1 } }\n"
	"  lock-owner: lock.owner\n"
	"  parent: up\n"
	"  tag-mask: 3\n"
	"  end-mark: -1\n"
	"owns: ['a.*', b]\n"
	"borrows: c\n"
	"possible: [d]\n"
	"weights:\n"
	"- { class: e, weight: 2 }\n"
	"- { class: f, weight: possible }\n"
	"encodings:\n"
	"- { class: g, mask: 7, shift: 3, xor: 0xff, add: -16 }\n"
	"ledger: { anything: [goes] }\n";

static void test_every_key_is_read(void **state)
{
	struct ri_profile *profile = parse(everything);
	const struct ri_profile_type *ref = &profile->types.items[0];
	const struct ri_profile_type *conn = &profile->types.items[1];
	const struct ri_profile_count *weak = &conn->counts.items[1];
	const struct ri_profile_group *group = &profile->groups.items[0];

	(void)state;
	assert_string_equal(profile->name.text, "demo");
	assert_int_equal(profile->requires_types.count, 2);
	assert_true(profile->is_always);
	assert_int_equal(profile->types.count, 2); /* the header first */
	assert_true(ref->is_header && ref->may_stand_in_front);
	assert_int_equal(ref->size_bytes, 48);
	assert_int_equal(ref->alignment, 16);
	assert_string_equal(ref->counts.items[0].field.member.text, "count");
	assert_int_equal(ref->counts.items[0].dead.count, 1);
	assert_int_equal(ref->counts.items[0].dead.items[0], 0);
	assert_true(ref->counts.items[0].mask == UINT64_MAX);
	assert_false(conn->is_header);
	assert_int_equal(conn->alignment, 8);
	assert_int_equal(conn->counts.count, 3);
	assert_int_equal(conn->counts.items[0].immortal.low, 0x2000);
	assert_int_equal(conn->counts.items[0].immortal.high, 0x2000);
	assert_int_equal(conn->counts.items[0].dead.items[1], -7);
	assert_int_equal(conn->counts.items[0].holders.count, 2);
	assert_true(weak->is_negative && weak->plus.is_present && weak->plus.is_negated);
	assert_int_equal(weak->field.offset_bytes, -4);
	assert_int_equal(weak->bias, -1);
	assert_int_equal(weak->dead.count, 0);
	assert_int_equal(weak->plus.equals, 2);
	assert_int_equal(weak->plus_value, 3);
	assert_true(weak->live.low > weak->live.high);
	assert_true(conn->magics.items[1].at_end);
	assert_true(conn->magics.items[1].live.items[0] == 0x8877665544332211u);
	assert_true(conn->descriptor.is_present && conn->descriptor.has_fields);
	assert_true(conn->payload_is_pointer);
	assert_int_equal(conn->name_field.size_bytes, 32);
	assert_true(conn->not_leak.is_present && conn->not_leak.mask == UINT64_MAX);
	assert_int_equal(group->kind, RI_LINK_HASH);
	assert_int_equal(group->bucket, RI_LINK_HLIST);
	assert_int_equal(group->back_target, RI_BACK_TO_HEAD);
	assert_int_equal(group->membership.kind, RI_WEIGHT_IF);
	assert_string_equal(group->membership.owns_if.field.member.text, "flags");
	assert_true(group->has_end_mark && group->end_mark == UINT64_MAX);
	assert_int_equal(profile->owners.count, 6);
	assert_string_equal(profile->owners.items[2].pattern.text, "c");
	assert_int_equal(profile->owners.items[2].weight.weight, 0);
	assert_int_equal(profile->owners.items[4].weight.weight, 2);
	assert_int_equal(profile->owners.items[5].weight.kind, RI_WEIGHT_POSSIBLE);
	assert_int_equal(profile->encodings.items[0].add, -16);
	assert_int_equal(profile->ledger.line, 72);
	ri_profile_destroy(profile);
}

/* Marks: of a name, and of a field at an offset. */
static void test_marks(void **state)
{
	struct ri_profile *profile = parse("version: 1\n"
					   "headers:\n"
					   "- struct:   ref\n"
					   "  counts: [ { offset: 4, size: 4 } ]\n"
					   "owns: [ a,\n"
					   "        b ]\n");
	const struct ri_profile_type *type = &profile->types.items[0];

	(void)state;
	assert_string_equal(profile->name.text, "demo"); /* after the file */
	assert_string_equal(type->type.mark.file, "dir/demo.yaml");
	assert_int_equal(type->type.mark.line, 3);
	assert_int_equal(type->type.mark.column, 13);
	assert_int_equal(type->mark.line, 3);
	assert_int_equal(type->mark.column, 3);
	assert_int_equal(type->counts.items[0].field.mark.line, 4);
	assert_int_equal(type->counts.items[0].field.mark.column, 13);
	assert_int_equal(profile->owners.items[1].pattern.mark.line, 6);
	assert_int_equal(profile->owners.items[1].pattern.mark.column, 9);
	ri_profile_destroy(profile);
}

static void test_round_trip(void **state)
{
	struct ri_profile *profile = parse(everything);

	(void)state;
	expect_round_trip(profile);
	ri_profile_destroy(profile);
	profile = parse("version: 1\n");
	expect_round_trip(profile);
	ri_profile_destroy(profile);
}

static void test_awkward_texts_survive(void **state)
{
	struct ri_profile *profile = parse("version: 1\nname: 'true'\nabout: '- x: #1'\n"
					   "owns: ['*', '&a', '12', 'null', ' lead', '{', '~',\n"
					   "       '0x1', 'a: b', 'back\\slash', '\"', 'é', 'x[]']\n");
	char *text = ri_profile_print(profile);

	(void)state;
	assert_int_equal(profile->owners.count, 13);
	assert_non_null(strstr(text, "name: \"true\"\n")); /* for other readers of YAML */
	free(text);
	expect_round_trip(profile);
	ri_profile_destroy(profile);
}

/* The order of ownership rules decides, so it survives however kinds alternate. */
static void test_order_of_owners_survives(void **state)
{
	struct ri_profile *profile = parse("version: 1\nborrows: ['*']\nowns: [a, b]\n");
	struct ri_profile_owner *owner;
	char *text = ri_profile_print(profile);

	(void)state;
	assert_non_null(strstr(text, "borrows: [\"*\"]\nowns: [a, b]\n"));
	free(text);
	expect_round_trip(profile);
	owner = ri_push(&profile->owners);
	owner->pattern.text = "again";
	owner->weight.kind = RI_WEIGHT_FIXED;
	expect_round_trip(profile);
	text = ri_profile_print(profile);
	assert_non_null(strstr(text, "weights:\n- { class: \"*\", weight: borrows }\n"
				     "- { class: a, weight: owns }\n"));
	free(text);
	ri_profile_destroy(profile);
}

static void test_builtin_profiles(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct ri_builtin_profile *p = ri_builtin_profiles; p->name; p++, count++) {
		struct ri_profile *profile = NULL;

		assert_null(ri_profile_parse(p->name, p->text, p->size_bytes, &profile));
		assert_string_equal(profile->name.text, p->name);
		assert_true(profile->is_always || profile->requires_types.count ||
			    profile->requires_any.count);
		expect_round_trip(profile);
		ri_profile_destroy(profile);
	}
	assert_true(count >= 1);
}

#define V "version: 1\n"
#define TYPE V "types:\n- struct: t\n"
#define GROUP V "groups:\n- "

static const struct {
	const char *text, *message;
} errors[] = {
	/* the whole */
	{ "", "p:1:1: the profile is empty; it begins with 'version: 1'" },
	{ "# nothing\n", "p:1:1: the profile is empty; it begins with 'version: 1'" },
	{ "name: x\n", "p:1:1: a profile needs 'version'" },
	{ "- version: 1\n", "p:1:1: a profile is a mapping of keys, this is a list" },
	{ "version\n", "p:1:1: a profile is a mapping of keys, this is a single value" },
	{ "version: 2\n", "p:1:10: this is schema version 2; only version 1 is known" },
	{ "version: one\n", "p:1:10: 'version' must be a number: 'one' is not a number (decimal, "
			    "or hexadecimal after 0x)" },
	{ "version: 1\nversion: 1\n", "p:2:1: 'version' is given twice; the first is on line 1" },
	{ V "---\nversion: 1\n", "p:2:1: a profile is one YAML document; a second one begins here" },
	{ V "heders: []\n", "p:2:1: a profile has no key 'heders'; did you mean 'headers'?" },
	{ V "zzzzzzzz: []\n", "p:2:1: a profile has no key 'zzzzzzzz'" },
	{ V "[a]: b\n", "p:2:1: a key must be one word, not a list" },
	{ V "name: !!binary aGk=\n", "p:2:7: tags are not used in profiles" },
	{ V "name: [\n", "p:3:1: not valid YAML: while parsing a flow node, did not find expected "
			 "node content" },
	{ V "name: *nobody\n", "p:2:7: not valid YAML: found undefined alias" },
	{ V "name: \"a\\0b\"\n", "p:2:7: a text cannot contain a NUL byte" },
	{ V "name: \"a\\tb\"\n", "p:2:7: 'name' cannot contain control characters" },
	/* wrong kinds */
	{ V "name: [x]\n", "p:2:7: 'name' must be a name, not a list" },
	{ V "name: {a: b}\n", "p:2:7: 'name' must be a name, not a mapping" },
	{ V "name:\n", "p:2:6: 'name' must be a name, not nothing" },
	{ V "always: 1\n", "p:2:9: 'always' must be true or false" },
	{ V "headers: x\n", "p:2:10: 'headers' must be a mapping, not a single value" },
	{ V "headers: [[]]\n", "p:2:11: 'headers' must be a mapping, not a list" },
	{ V "groups: [x]\n", "p:2:10: 'groups' must be a mapping, not a single value" },
	{ TYPE "  bytes: \"8\"\n", "p:4:10: 'bytes' must be a number, written without quotes" },
	{ TYPE "  bytes: []\n", "p:4:10: 'bytes' must be a number, not a list" },
	{ TYPE "  bytes: -1\n", "p:4:10: 'bytes' must be between 0 and 1073741824" },
	{ TYPE "  bytes: 0x\n", "p:4:10: 'bytes' must be a number: '0x' is not a number" },
	{ TYPE "  bytes: 010\n", "p:4:10: 'bytes' must be a number: '010' begins with 0: write "
				 "octal numbers in decimal or hexadecimal" },
	{ TYPE "  poison: 0x10000000000000000\n",
	  "p:4:11: 'poison' must be a number: '0x10000000000000000' does not fit 64 bits" },
	{ TYPE "  poison: [1, 1x]\n", "p:4:15: 'poison' must be a number: '1x' is not a number "
				      "(decimal, or hexadecimal after 0x)" },
	{ TYPE "  counts: {member: a, bias: 0xffffffffffffffff}\n",
	  "p:4:29: 'bias' is a signed number: '0xffffffffffffffff' is more than "
	  "0x7fffffffffffffff" },
	{ TYPE "  counts: {member: a, bias: -9223372036854775809}\n",
	  "p:4:29: 'bias' must be a number: '-9223372036854775809' does not fit 64 bits" },
	{ TYPE "  counts: [[a]]\n", "p:4:12: 'counts' must be a member or a mapping, not a list" },
	{ TYPE "  counts: []\n", "p:3:3: a type needs 'counts', or the place of its 'header'" },
	{ V "headers: [{struct: r}]\n", "p:2:11: a header needs 'counts'" },
	{ V "types: [{counts: a}]\n",
	  "p:2:9: a type needs 'struct', or a 'label' where its layout is fixed" },
	{ V "types: [{label: x, counts: a}]\n",
	  "p:2:9: a type without 'struct' needs its size: 'bytes'" },
	{ TYPE "  counts: a\n  alignment: 12\n", "p:3:3: 'alignment' must be a power of two" },
	/* counts */
	{ TYPE "  counts: [{membr: a}]\n",
	  "p:4:13: a count has no key 'membr'; did you mean 'member'?" },
	{ TYPE "  counts: [{name: refs}]\n",
	  "p:4:12: a count needs its place: 'member' or 'offset'" },
	{ TYPE "  counts: [{member: a, offset: 4}]\n",
	  "p:4:12: a count lies at a 'member' or at an 'offset', not both" },
	{ TYPE "  counts: [{member: a, size: 4}]\n",
	  "p:4:12: 'size' goes with 'offset'; a member has its own size" },
	{ TYPE "  counts: [{offset: 4}]\n",
	  "p:4:12: a count at an 'offset' needs its 'size': 1, 2, 4 or 8" },
	{ TYPE "  counts: [{offset: 4, size: 3}]\n",
	  "p:4:12: a count at an 'offset' needs its 'size': 1, 2, 4 or 8" },
	{ TYPE "  counts: [{member: a, mask: 0}]\n", "p:4:12: a mask of 0 leaves nothing to count" },
	{ TYPE "  counts: [{member: a, mask: 3, shift: 2}]\n",
	  "p:4:12: 'shift' moves every bit of 'mask' out" },
	{ TYPE "  counts: [{member: a, shift: 64}]\n",
	  "p:4:31: 'shift' must be between 0 and 63" },
	{ TYPE "  counts: [{member: a, sign: sined}]\n",
	  "p:4:30: 'sign' cannot be 'sined', only one of of-type, signed, unsigned; did you mean "
	  "'signed'?" },
	{ TYPE "  counts: [{member: a, live: [1]}]\n",
	  "p:4:30: 'live' must be a band, [LOWEST, HIGHEST]" },
	{ TYPE "  counts: [{member: a, live: [5, 1]}]\n",
	  "p:4:30: the band 'live' is empty: 5 is more than 1" },
	{ TYPE "  counts: [{member: a, plus: {member: b, mask: 3, equals: 4}}]\n",
	  "p:4:30: 'equals' has bits that 'mask' takes away, so it never holds" },
	{ TYPE "  counts: [{member: a, plus: {mask: 3}}]\n",
	  "p:4:30: a conditional reference needs its place: 'member' or 'offset'" },
	/* magics, descriptors, conditions */
	{ TYPE "  counts: a\n  magic: {member: m}\n",
	  "p:5:10: a magic needs its value: 'live: 0x...'" },
	{ TYPE "  counts: a\n  magic: m\n", "p:5:10: 'magic' must be a mapping, not a single value" },
	{ TYPE "  counts: a\n  magic: {member: m, live: 1, at-end: true}\n",
	  "p:5:10: 'at-end' needs an 'offset', counted back from the object's end" },
	{ TYPE "  counts: a\n  descriptor: {struct: d}\n",
	  "p:5:15: a descriptor needs its place: 'member' or 'offset'" },
	{ TYPE "  counts: a\n  descriptor: {member: d, magic: {member: m}}\n",
	  "p:5:34: a descriptor's magic needs 'live'" },
	{ TYPE "  counts: a\n  descriptor: {member: d, nmae: n}\n",
	  "p:5:27: a descriptor has no key 'nmae'; did you mean 'name'?" },
	{ TYPE "  counts: a\n  not-leak: {member: f, mask: 0}\n",
	  "p:5:13: a mask of 0 leaves nothing to test" },
	{ TYPE "  counts: a\n  in-front: true\n",
	  "p:5:3: a type has no key 'in-front'" },
	{ V "headers: [{struct: r, counts: a, header: b}]\n",
	  "p:2:34: a header has no key 'header'" },
	/* groups */
	{ GROUP "kind: list\n", "p:3:3: a group needs its 'head', or 'headless: true'" },
	{ GROUP "kind: ring\n",
	  "p:3:9: 'kind' cannot be 'ring', only one of list, hlist, slist, dlist, tailq, tree, "
	  "array, hash" },
	{ GROUP "head: {member: h}\n",
	  "p:3:9: a head needs the 'struct' it lies in, or the 'variable' that it is" },
	{ GROUP "head: {struct: s}\n", "p:3:9: a head needs its 'member' in the struct; where its "
	  "words are themselves members, 'offset: 0', 'first' and 'last'" },
	{ GROUP "head: {variable: v}\n", "p:3:3: a group needs the 'link' that chains its members" },
	{ GROUP "head: {struct: s, member: h}\n  link: {struct: e, member: l}\n"
		"  count: {variable: n}\n",
	  "p:3:3: a count in a 'variable' counts one group: its head is a variable too" },
	{ GROUP "head: {variable: v}\n  link: {struct: e, member: l}\n  count: {}\n",
	  "p:5:10: a group's count needs its place: 'member', 'offset' or 'variable'" },
	{ GROUP "headless: true\n  link: l\n",
	  "p:3:3: a headless group is found through its members: it needs 'back'" },
	{ GROUP "head: {variable: v}\n  link: l\n  bucket: hlist\n",
	  "p:3:3: 'bucket' says what a hash's slots are: list, hlist, slist, ..." },
	{ GROUP "head: {variable: v}\n  link: l\n  membership: maybe\n",
	  "p:5:15: 'membership' must be owns, borrows, possible or a number, not 'maybe'" },
	{ GROUP "head: {variable: v}\n  link: l\n  membership: 999\n",
	  "p:5:15: 'weight' must be between 0 and 255" },
	{ GROUP "head: {variable: v}\n  link: l\n  membership: {}\n",
	  "p:5:15: 'membership' needs 'owns-if' here" },
	{ GROUP "head: {variable: v}\n  link: l\n  node: {struct: n}\n",
	  "p:5:9: an external node needs 'payload'" },
	{ GROUP "head: {variable: v}\n  link: l\n  node: {payload: n}\n",
	  "p:5:9: a node needs its 'struct', or its size: 'bytes'" },
	{ GROUP "head: {variable: v}\n  link: l\n  back: {to: head}\n",
	  "p:5:9: a back pointer needs its place: 'member' or 'offset'" },
	/* ownership */
	{ V "owns: {a: b}\n", "p:2:7: 'owns' must be a name, not a mapping" },
	{ V "weights: [{class: a}]\n", "p:2:11: a rule of ownership needs 'weight'" },
	{ V "weights: [{class: a, weight: {owns-if: f}}]\n",
	  "p:2:11: 'owns-if' is for the membership of a group alone" },
	{ V "encodings: [{mask: 3}]\n", "p:2:13: an encoding needs 'class'" },
};

static void test_errors_have_positions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		expect_error(errors[i].text, errors[i].message);
}

/* Whatever comes, an answer comes, and soon. */

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static char *repeat(const char *begin, const char *piece, size_t count)
{
	size_t length = strlen(piece), at = strlen(begin);
	char *text = ri_malloc(at + length * count + 1);

	memcpy(text, begin, at + 1);
	for (size_t i = 0; i < count; i++, at += length)
		memcpy(text + at, piece, length);
	text[at] = '\0';
	return text;
}

static void expect_any_error(const char *text, size_t size_bytes, const char *part)
{
	struct ri_profile *profile = NULL;
	struct timespec start;
	struct ri_error *error;

	clock_gettime(CLOCK_MONOTONIC, &start);
	error = ri_profile_parse("p", text, size_bytes, &profile);
	assert_non_null(error);
	if (!strstr(error->message, part))
		fail_msg("'%s' is not in: %s", part, error->message);
	ri_error_destroy(error);
	assert_true(seconds_since(&start) < 5);
}

static void expect_repeated(const char *begin, const char *piece, size_t count, const char *part)
{
	char *text = repeat(begin, piece, count);

	expect_any_error(text, strlen(text), part);
	free(text);
}

static void test_hostile_texts_end_in_errors(void **state)
{
	static const char bomb[] =
		V "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
	char *text;

	(void)state;
	expect_any_error(bomb, strlen(bomb), "too many entries for a profile once");
	expect_error(V "about: &a [*a]\n",
		     "p:2:8: nested too deeply for a profile once its aliases are followed");
	expect_repeated(V "name: ", "[", 400000, "p:2:22: nested too deeply");
	expect_repeated(V "name: ", "{a: ", 200000, "nested too deeply");
	expect_repeated(V, "- ", 400000, "p:2:1: not valid YAML");
	expect_repeated(V "name:\n", "? ", 400000, "nested too deeply");
	expect_repeated(V "owns: [", "&a x,", 150000, "too many anchors");
	expect_repeated(V "owns: [", "x,", 400000, "too many entries");
	expect_repeated(V "name: ", "x", 5000, "p:2:7: this text is too long");
	expect_repeated(V "about: ", "\"", 400000, "p:2:");
	expect_repeated(V "", "\t", 400000, "p:");
	expect_repeated(V "name: |\n", "\n", 500000, "p:2:");
	expect_repeated(V "name: ", "!", 400000, "p:2:");
	expect_repeated("%TAG ! ", "x", 400000, "p:2:1: not valid YAML");
	expect_repeated(V "", "a: b\n", (1 << 20) / 5 + 5, "p: too large for a profile");
	expect_any_error("\x7f" "ELF\2\1\1\0\0\0", 10, "p:1:1: this is not text");
	expect_any_error(V "\xff\xfe\x01", 14, "p:2:1: this is not text");
	expect_any_error(V "name: a\0b", 20, "p:2:8: this is not text");
	expect_error(V "groups:\n- head: { \"a\\nb\\e[31m\": d }\n",
		     "p:3:11: a head has no key 'a?b?[31m'");
	/* a hundred megabytes */
	text = calloc(1, 100u << 20);
	assert_non_null(text);
	memset(text, '[', 100u << 20);
	expect_any_error(text, 100u << 20, "p: too large for a profile (limit 1 MiB)");
	free(text);
}

/* Anchors of a sensible size are fine. */
static void test_aliases_work(void **state)
{
	struct ri_profile *profile = parse(V "headers:\n"
					   "- {struct: a, counts: &c {member: n, bias: 1}}\n"
					   "- {struct: b, counts: *c}\n");

	(void)state;
	assert_int_equal(profile->types.items[1].counts.items[0].bias, 1);
	expect_round_trip(profile);
	ri_profile_destroy(profile);
}

static void test_every_prefix_and_mutation_ends(void **state)
{
	size_t size_bytes = strlen(everything);

	(void)state;
	for (size_t i = 0; i < 2 * size_bytes; i++) {
		char *text = ri_strdup(everything);
		struct ri_profile *profile = NULL;
		size_t at = i % size_bytes;

		if (i < size_bytes)
			text[at] = "[]{}:-\"'&*#\n"[i % 12];
		ri_error_destroy(ri_profile_parse("p", text, i < size_bytes ? size_bytes : at,
						  &profile));
		ri_profile_destroy(profile);
		free(text);
	}
}

static void test_reading_files(void **state)
{
	char path[] = "/tmp/profile-test-XXXXXX";
	struct ri_profile *profile = NULL;
	struct ri_error *error;
	int fd = mkstemp(path);
	char *message;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "version: 1\nnme: x\n", 18), 18);
	close(fd);
	error = ri_profile_read(path, &profile);
	message = ri_format("%s:2:1: a profile has no key 'nme'; did you mean 'name'?", path);
	assert_string_equal(error->message, message);
	free(message);
	ri_error_destroy(error);
	unlink(path);
	error = ri_profile_read(path, &profile);
	assert_int_equal(error->code, RI_ERROR_NOT_FOUND);
	ri_error_destroy(error);
	error = ri_profile_read("/dev/zero", &profile);
	assert_string_equal(error->message, "/dev/zero: not a regular file");
	ri_error_destroy(error);
	error = ri_profile_read("/", &profile);
	assert_string_equal(error->message, "/: not a regular file");
	ri_error_destroy(error);
	assert_null(ri_profile_read("fixtures/perf_target.yaml", &profile));
	assert_string_equal(profile->name.text, "perf_target");
	expect_round_trip(profile);
	ri_profile_destroy(profile);
}

static const char *suggest(const char *wanted, const char *const *candidates)
{
	struct ri_suggestion suggestion;

	ri_suggestion_init(&suggestion, wanted);
	for (; *candidates; candidates++)
		ri_suggestion_offer(&suggestion, *candidates);
	return suggestion.best ? suggestion.best : "";
}

static void test_suggestions(void **state)
{
	static const char *const names[] = { "conn", "session", "count", "x", "refs", NULL };

	(void)state;
	assert_string_equal(suggest("connn", names), "conn");
	assert_string_equal(suggest("ocnn", names), "conn");
	assert_string_equal(suggest("sesion", names), "session");
	assert_string_equal(suggest("cuont", names), "count");
	assert_string_equal(suggest("ref", names), "refs");
	assert_string_equal(suggest("y", names), "");
	assert_string_equal(suggest("something_else", names), "");
	assert_string_equal(suggest("", names), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_is_read),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_awkward_texts_survive),
		cmocka_unit_test(test_order_of_owners_survives),
		cmocka_unit_test(test_builtin_profiles),
		cmocka_unit_test(test_errors_have_positions),
		cmocka_unit_test(test_hostile_texts_end_in_errors),
		cmocka_unit_test(test_aliases_work),
		cmocka_unit_test(test_every_prefix_and_mutation_ends),
		cmocka_unit_test(test_reading_files),
		cmocka_unit_test(test_suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
