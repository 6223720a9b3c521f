/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a random program's counted structs as C, for tests/bare/world.c: DIR/layout.h has
 * the structs, their functions and variables, and tables that describe them to the world.
 * Nothing describes them to refinspect.  The seed decides everything.
 *
 *	bare_gen SEED DIR
 *
 * What varies: the number of types and of their objects; the count's type, width, name, place,
 * and what it says (the number of owners; one less; one more that no pointer stands for);
 * get and put functions; magic numbers; tables of functions; pools; what owns (typed and void
 * pointers, arrays, vectors, lists of nodes, nested structs) and what borrows; and the
 * containers that hold all objects of a type, which own or borrow them.
 */
#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 5, FIELDS_MAX = 5, ROOTS_MAX = 3, MEMBERS_MAX = 24, TEXT_MAX = 160 };

/* Declaration of a count, and its path in the object. */
static const struct count_kind {
	const char *declare, *path;
	bool needs_pair; /* the name alone does not say enough */
} count_kinds[] = {
	{ "int refcnt;", "refcnt", false },
	{ "int refcount;", "refcount", false },
	{ "unsigned usecount;", "usecount", true },
	{ "int refs;", "refs", true },
	{ "unsigned ref_count;", "ref_count", false },
	{ "long refcount;", "refcount", false },
	{ "uint64_t references;", "references", false },
	{ "uint16_t refcount;", "refcount", false },
	{ "unsigned flags : 8; unsigned refcnt : 24;", "refcnt", false },
	{ "_Atomic int refs;", "refs", false },
	{ "_Atomic long nrefs;", "nrefs", false },
	{ "atomic_t refcnt;", "refcnt.counter", false },
	{ "refcount_t ref;", "ref.refs.counter", false },
	{ "struct kref kref;", "kref.refcount.refs.counter", false },
};

enum { PTR, ARRAY, VECTOR, VOID, NESTED, NODES, BORROW, FIELD_KINDS };
static const char *const field_kinds[] = { "PTR",    "ARRAY", "VECTOR", "VOID",
					   "NESTED", "NODES", "BORROW" };
enum { SLOTS, TABLE, LIST, TAILQ, HASH, CHAIN, TREE, MAP, LAST };
static const char *const root_kinds[] = { "SLOTS", "TABLE", "LIST", "TAILQ", "HASH",
					  "CHAIN", "TREE",  "MAP",  "LAST" };

static const char *const type_names[] = {
	"session", "route", "conn", "peer", "ticket", "policy", "channel", "asset", "device",
	"stream", "bundle", "worker", "zone", "lease", "filter",
};
static const char *const owner_names[] = {
	"target", "upstream", "source", "subject", "handler", "via", "backing", "primary",
	"second", "cred",
};
static const char *const borrower_names[] = { "parent", "owner", "last_seen", "cache", "home",
					      "origin" };

struct field {
	unsigned kind, target;
	char name[32];
};

struct root {
	unsigned kind;
	bool owns;
};

struct type {
	const char *name;
	const struct count_kind *count;
	bool has_pair, has_magic, has_ops, is_pooled, clears;
	int bias;                /* of what is stored, against the number of owners */
	unsigned objects, fields, roots;
	struct field field[FIELDS_MAX];
	struct root root[ROOTS_MAX];
};

static uint64_t state;
static struct type types[TYPES_MAX];
static unsigned type_count;
static FILE *out;

static unsigned draw(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static bool chance(unsigned percent)
{
	return draw(100) < percent;
}

/* ---- drawing ---- */

static unsigned draw_objects(void)
{
	unsigned kind = draw(100);

	return kind < 8 ? 1 + draw(3) : kind < 18 ? 12 + draw(12) : 40 + draw(260);
}

static bool has_root(const struct type *type, unsigned kind)
{
	for (unsigned r = 0; r < type->roots; r++)
		if (type->root[r].kind == kind)
			return true;
	return false;
}

static void add_root(struct type *type, bool owns)
{
	static const unsigned owners[] = { SLOTS, TABLE, LIST, HASH, CHAIN, TREE, MAP };
	static const unsigned borrowers[] = { TABLE, LIST, TAILQ, LAST };
	unsigned kind;

	do
		kind = owns ? owners[draw(sizeof(owners) / sizeof(owners[0]))]
			    : borrowers[draw(sizeof(borrowers) / sizeof(borrowers[0]))];
	while (has_root(type, kind));
	type->root[type->roots++] = (struct root){ kind, owns };
}

static bool has_name(const struct type *type, const char *name)
{
	for (unsigned f = 0; f < type->fields; f++)
		if (!strcmp(type->field[f].name, name))
			return true;
	return false;
}

static void add_field(struct type *type)
{
	struct field field = { draw(FIELD_KINDS), draw(type_count), "" };

	do {
		bool borrows = field.kind == BORROW && chance(70);
		const char *name = borrows ? borrower_names[draw(6)] : owner_names[draw(10)];

		snprintf(field.name, sizeof(field.name), "%s", name);
	} while (has_name(type, field.name));
	type->field[type->fields++] = field;
}

static void draw_type(struct type *type)
{
	unsigned kind = draw(sizeof(count_kinds) / sizeof(count_kinds[0])), convention = draw(100);
	unsigned fields = 1 + draw(FIELDS_MAX);

	do
		type->name = type_names[draw(sizeof(type_names) / sizeof(type_names[0]))];
	while (type > types && !strcmp(type->name, type[-1].name));
	for (struct type *other = types; other < type; other++)
		if (!strcmp(other->name, type->name)) {
			draw_type(type);
			return;
		}
	type->count = &count_kinds[kind];
	type->has_pair = type->count->needs_pair || chance(50);
	type->has_magic = chance(40);
	type->has_ops = chance(40);
	type->is_pooled = chance(20);
	type->clears = chance(60);
	type->bias = convention < 15 ? -1 : convention < 25 ? 1 : 0;
	type->objects = draw_objects();
	type->fields = type->roots = 0;
	add_root(type, true);
	if (convention >= 85) /* one more, which a registry of all holds */
		add_root(type, true);
	if (chance(50))
		add_root(type, false);
	for (unsigned f = 0; f < fields; f++)
		add_field(type);
}

/* ---- structs ---- */

static char members[MEMBERS_MAX][TEXT_MAX];
static unsigned member_count;

__attribute__((format(printf, 1, 2))) static void add_member(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(members[member_count++], TEXT_MAX, format, arguments);
	va_end(arguments);
}

static void add_field_member(const struct field *field)
{
	const char *target = types[field->target].name, *name = field->name;

	switch (field->kind) {
	case ARRAY:
		add_member("struct %s *%s[3];", target, name);
		break;
	case VECTOR:
		add_member("struct %s **%s; unsigned %s_count, %s_size;", target, name, name, name);
		break;
	case VOID:
		add_member("void *%s;", name);
		break;
	case NESTED:
		add_member("struct { int state; struct %s *%s; } in_%s;", target, name, name);
		break;
	case NODES:
		add_member("struct node *%s;", name);
		break;
	default:
		add_member("struct %s *%s;", target, name);
		break;
	}
}

static void add_root_member(const struct type *type, const struct root *root)
{
	const char *name = type->name;

	if (root->kind == LIST)
		add_member("struct list_head %s;", root->owns ? "link" : "all_link");
	else if (root->kind == TAILQ)
		add_member("struct { struct %s *tqe_next, **tqe_prev; } entry;", name);
	else if (root->kind == HASH)
		add_member("struct %s *hash_next;", name);
	else if (root->kind == TREE)
		add_member("struct %s *left, *right, *up;", name);
}

static void put_struct(const struct type *type)
{
	static const char *const fillers[] = { "int flags_set;", "unsigned id;",
					       "uint64_t created;", "char label[20];",
					       "char *text;", "double weight;" };
	unsigned filler_count = sizeof(fillers) / sizeof(fillers[0]), first = draw(filler_count);

	member_count = 0;
	add_member("%s", type->count->declare);
	for (unsigned f = 0; f < type->fields; f++)
		add_field_member(&type->field[f]);
	for (unsigned r = 0; r < type->roots; r++)
		add_root_member(type, &type->root[r]);
	for (unsigned i = draw(4); i-- > 0;)
		add_member("%s", fillers[(first + i) % filler_count]);
	fprintf(out, "struct %s {\n", type->name);
	if (type->has_ops)
		fprintf(out, "\tconst struct %s_ops *ops;\n", type->name);
	if (type->has_magic)
		fprintf(out, "\tuint32_t magic;\n");
	while (member_count) {
		unsigned m = draw(member_count--);

		fprintf(out, "\t%s\n", members[m]);
		memmove(members[m], members[member_count], TEXT_MAX);
	}
	fprintf(out, "};\n\n");
}

static void put_functions(const struct type *type)
{
	const char *name = type->name, *path = type->count->path;

	if (type->has_ops)
		fprintf(out,
			"struct %s_ops {\n\tconst char *name;\n\tvoid (*release)(struct %s *);\n};\n"
			"static void %s_release(struct %s *o)\n{\n\to->%s = 0;\n}\n"
			"static const struct %s_ops %s_ops = { \"%s\", %s_release };\n\n",
			name, name, name, name, path, name, name, name, name);
	if (type->has_pair)
		fprintf(out,
			"struct %s *%s_get(struct %s *o);\nvoid %s_put(struct %s *o);\n"
			"struct %s *%s_get(struct %s *o)\n{\n\to->%s++;\n\treturn o;\n}\n"
			"void %s_put(struct %s *o)\n{\n\to->%s--;\n}\n\n",
			name, name, name, name, name, name, name, name, path, name, name, path);
	fprintf(out,
		"static long count_of_%s(const void *p)\n{\n\treturn (long)((const struct %s *)p)->%s;\n}\n"
		"static void set_count_of_%s(void *p, long v)\n{\n\t((struct %s *)p)->%s = v;\n}\n",
		name, name, path, name, name, path);
	fprintf(out, "static void dress_%s(void *p)\n{\n\tstruct %s *o = p;\n\n\t(void)o;\n", name,
		name);
	if (type->has_ops)
		fprintf(out, "\to->ops = &%s_ops;\n", name);
	if (type->has_magic)
		fprintf(out, "\to->magic = 0x%x;\n", 0x40000000 | draw(0x3fffffff));
	fprintf(out, "}\n\n");
}

/* ---- tables ---- */

static void put_fields(const struct type *type)
{
	fprintf(out, "static const struct field fields_of_%s[] = {\n", type->name);
	for (unsigned f = 0; f < type->fields; f++) {
		const struct field *field = &type->field[f];
		char path[80];

		snprintf(path, sizeof(path), field->kind == NESTED ? "in_%s.%s" : "%s",
			 field->name, field->name);
		fprintf(out, "\t{ %s, %u, offsetof(struct %s, %s), ", field_kinds[field->kind],
			field->target, type->name, path);
		if (field->kind == VECTOR)
			fprintf(out, "offsetof(struct %s, %s_count) },\n", type->name, field->name);
		else
			fprintf(out, "0 },\n");
	}
	fprintf(out, "};\n");
}

static void put_root_variable(const struct type *type, unsigned r)
{
	const char *name = type->name;

	switch (type->root[r].kind) {
	case SLOTS:
		fprintf(out, "static struct %s *%s_slots[512];\n", name, name);
		break;
	case TABLE:
		fprintf(out,
			"static struct { struct %s **items; unsigned count, size; } %s_table%u;\n",
			name, name, r);
		break;
	case LIST:
		fprintf(out, "static struct list_head %s_list%u;\n", name, r);
		break;
	case TAILQ:
		fprintf(out, "static struct { struct %s *tqh_first, **tqh_last; } %s_queue;\n", name,
			name);
		break;
	case HASH:
		fprintf(out, "static struct %s *%s_buckets[32];\n", name, name);
		break;
	case CHAIN:
		fprintf(out, "static struct node *%s_nodes;\n", name);
		break;
	case TREE:
		fprintf(out, "static struct %s *%s_root;\n", name, name);
		break;
	case MAP:
		fprintf(out, "static struct map %s_map;\n", name);
		break;
	default:
		fprintf(out, "static struct %s *last_%s;\n", name, name);
		break;
	}
}

static void put_root(const struct type *type, unsigned r)
{
	static const char *const variables[] = { "%s_slots", "%s_table%u", "%s_list%u", "%s_queue",
						 "%s_buckets", "%s_nodes", "%s_root", "%s_map",
						 "last_%s" };
	const struct root *root = &type->root[r];
	const char *link = root->kind == LIST ? root->owns ? "link" : "all_link"
			   : root->kind == TAILQ ? "entry"
			   : root->kind == HASH ? "hash_next"
			   : root->kind == TREE ? "left" : NULL;
	char variable[80];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(variable, sizeof(variable), variables[root->kind], type->name, r);
#pragma GCC diagnostic pop
	fprintf(out, "\t\t{ %s, %s, &%s, ", root_kinds[root->kind],
		root->owns ? "true" : "false", variable);
	if (link)
		fprintf(out, "offsetof(struct %s, %s) },\n", type->name, link);
	else
		fprintf(out, "0 },\n");
}

static void put_table(const struct type *type)
{
	fprintf(out,
		"\t{ .name = \"%s\", .bytes = sizeof(struct %s), .get = count_of_%s,\n"
		"\t  .set = set_count_of_%s, .dress = dress_%s, .fields = fields_of_%s,\n"
		"\t  .field_count = %u, .objects = %u, .bias = %d, .is_pooled = %d, .clears = %d,\n"
		"\t  .root_count = %u, .roots = {\n",
		type->name, type->name, type->name, type->name, type->name, type->name,
		type->fields, type->objects, type->bias, type->is_pooled, type->clears, type->roots);
	for (unsigned r = 0; r < type->roots; r++)
		put_root(type, r);
	fprintf(out, "\t} },\n");
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 3)
		errx(2, "usage: bare_gen SEED DIR");
	state = (strtoull(argv[1], NULL, 0) + 1) * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 8; i++)
		draw(2);
	snprintf(path, sizeof(path), "%s/layout.h", argv[2]);
	out = fopen(path, "w");
	if (!out)
		err(2, "%s", path);
	type_count = 2 + draw(TYPES_MAX - 1);
	for (unsigned t = 0; t < type_count; t++)
		draw_type(&types[t]);
	for (unsigned t = 0; t < type_count; t++)
		fprintf(out, "struct %s;\nstruct %s_ops;\n", types[t].name, types[t].name);
	for (unsigned t = 0; t < type_count; t++)
		put_struct(&types[t]);
	for (unsigned t = 0; t < type_count; t++) {
		put_functions(&types[t]);
		put_fields(&types[t]);
		for (unsigned r = 0; r < types[t].roots; r++)
			put_root_variable(&types[t], r);
	}
	fprintf(out, "static const struct type types[] = {\n");
	for (unsigned t = 0; t < type_count; t++)
		put_table(&types[t]);
	fprintf(out, "};\nenum { TYPES = %u };\n", type_count);
	if (fclose(out))
		err(2, "%s", path);
	return 0;
}
