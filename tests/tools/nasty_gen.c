/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a random convention of counted structs: DIR/layout.h with the structs and tables
 * that describe them to tests/nasty/world.c, and DIR/profile.yaml, which describes
 * the same to refinspect.  The seed decides everything.
 *
 *	nasty_gen SEED DIR
 *
 * What varies: the number of types; whether the count lies in the struct or in an
 * embedded header, at which offset, with what width, sign, mask, bias; magics;
 * uninitialised room anywhere; members that own (typed pointers, void pointers,
 * arrays, nested structs, unions, tagged words, vectors on the heap) and that
 * borrow; the groups, their kinds, counters, back pointers and what they are worth; headers in
 * front of the struct; slabs.
 */
#include <err.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 9, FIELDS_MAX = 8, LINKS_MAX = 3, GROUPS_MAX = TYPES_MAX * LINKS_MAX };

/* How a count is stored: declaration, C of reading it from and writing v to `o->PATH`, rule. */
static const struct count_kind {
	const char *declare, *member, *get, *set, *rule;
} count_kinds[] = {
	{ "int refs;", "refs", "%s", "%s = (int)v", "" },
	{ "unsigned refs;", "refs", "%s", "%s = (unsigned)v", "" },
	{ "short refs;", "refs", "%s", "%s = (short)v", "" },
	{ "unsigned short refs;", "refs", "%s", "%s = (unsigned short)v", "" },
	{ "unsigned char refs;", "refs", "%s", "%s = (unsigned char)v", "" },
	{ "long refs;", "refs", "%s", "%s = v", "" },
	{ "uint64_t refs;", "refs", "(long)%s", "%s = (uint64_t)v", "" },
	{ "_Atomic int refs;", "refs", "%s", "%s = (int)v", "" },
	{ "_Atomic unsigned long refs;", "refs", "(long)%s", "%s = (unsigned long)v", "" },
	{ "unsigned flags : 12; unsigned refs : 20;", "refs", "%s", "%s = v & 0xfffff", "" },
	{ "unsigned refs : 18; unsigned flags : 14;", "refs", "%s", "%s = v & 0x3ffff", "" },
	{ "uint64_t flags : 9; uint64_t refs : 37;", "refs", "(long)%s",
	  "%s = (uint64_t)v & 0x1fffffffff", "" },
	{ "struct { int counter; } refs;", "refs", "%s.counter", "%s.counter = (int)v", "" },
	{ "uint32_t state;", "state", "%s >> 4", "%s = (uint32_t)v << 4 | 5",
	  ", mask: 0xfffffff0, shift: 4" },
	{ "int refs;", "refs", "-%s", "%s = (int)-v", ", negative: true" },
	{ "int refs;", "refs", "%s - 1", "%s = (int)v + 1", ", bias: -1" },
};

static const char *const field_kinds[] = {
	"PTR", "BORROW", "VOID", "VOID_BORROW", "ARRAY", "NEST", "UNION", "TAG", "VECTOR",
};
enum { PTR, BORROW, VOID, VOID_BORROW, ARRAY, NEST, UNION, TAG, VECTOR, FIELD_KINDS };

static const char *const group_kinds[] = { "LIST", "HLIST", "SLIST", "TAILQ", "HASH_HLIST",
					   "HASH_LIST", "STAILQ", "BSD_LIST", "DLIST", "ISC",
					   "TREE", "NODES", "ARRAY_OF" };
enum {
	LIST, HLIST, SLIST, TAILQ, HASH_HLIST, HASH_LIST, FIRST_KINDS,
	STAILQ = FIRST_KINDS, BSD_LIST, DLIST, ISC, TREE, NODES, ARRAY_OF, GROUP_KINDS
};

struct field {
	unsigned kind, target;
};

struct group {
	unsigned kind, type, link, heads, worth;
	bool has_counter, has_back, has_name, is_heap;
};

struct type {
	bool is_headed, has_magic, has_dead_magic;
	bool is_fronted; /* the header lies before the struct */
	unsigned slab;   /* objects in one block */
	unsigned count, fields, links;
	struct field field[FIELDS_MAX];
	unsigned group_of_link[LINKS_MAX];
	uint32_t magic;
};

static struct world {
	uint64_t state, variation; /* of what is drawn, and of what varies it */
	unsigned types, groups, header_count;
	bool header_magic;
	struct type type[TYPES_MAX];
	struct group group[GROUPS_MAX];
	FILE *c, *yaml;
	char owns[8192], borrows[8192], encodings[8192];
} w;

static unsigned draw(unsigned below)
{
	w.state ^= w.state << 13;
	w.state ^= w.state >> 7;
	w.state ^= w.state << 17;
	return (unsigned)((w.state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

/* As draw(), from numbers of its own: what is drawn so leaves the rest of a seed's world. */
static unsigned vary(unsigned below)
{
	w.variation = w.variation * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(w.variation >> 33) % below;
}

static bool chance(unsigned percent)
{
	return draw(100) < percent;
}

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t size, const char *format,
						      ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

/* ---- drawing ---- */

static void draw_type(struct type *type, unsigned index)
{
	*type = (struct type){
		.is_headed = chance(40),
		.has_magic = chance(50),
		.has_dead_magic = chance(50),
		.count = draw(sizeof(count_kinds) / sizeof(count_kinds[0])),
		.fields = 1 + draw(FIELDS_MAX - 1),
		.links = draw(LINKS_MAX + 1),
		.magic = 0x40000000 | draw(0x3fffffff),
	};
	for (unsigned f = 0; f < type->fields; f++)
		type->field[f] = (struct field){ draw(FIELD_KINDS), draw(w.types) };
	type->is_fronted = type->is_headed && vary(100) < 35;
	type->slab = vary(100) < 25 ? 4 + vary(40) : 0;
	for (unsigned l = 0; l < type->links; l++) {
		struct group *group = &w.group[w.groups];

		type->group_of_link[l] = w.groups++;
		*group = (struct group){
			.kind = draw(FIRST_KINDS),
			.type = index,
			.link = l,
			.heads = 1 + draw(5),
			.worth = chance(40),
			.has_counter = chance(70),
			.has_back = chance(60),
			.has_name = chance(50),
			.is_heap = chance(50),
		};
		if (vary(100) < 50)
			group->kind = FIRST_KINDS + vary(GROUP_KINDS - FIRST_KINDS);
	}
}

static void draw_world(uint64_t seed)
{
	w.state = seed * 0x9e3779b97f4a7c15ull ^ 0x1234567887654321ull;
	w.variation = seed * 0xd1342543de82ef95ull + 77;
	for (unsigned i = 0; i < 20; i++)
		draw(2);
	w.types = 3 + draw(TYPES_MAX - 2);
	w.header_count = draw(sizeof(count_kinds) / sizeof(count_kinds[0]));
	w.header_magic = chance(50);
	for (unsigned t = 0; t < w.types; t++)
		draw_type(&w.type[t], t);
	/* no type without one that is held by a plain pointer: of several members
	 * that are all doubtful nothing can be told */
	for (unsigned t = 0; t < w.types; t++)
		w.type[t].field[0] = (struct field){ PTR, (t + 1) % w.types };
}

/* ---- structs ---- */

static void write_pad(unsigned *number)
{
	static const unsigned sizes[] = { 1, 3, 4, 8, 8, 13, 16, 24, 40, 120 };

	if (chance(45))
		fprintf(w.c, "\tunsigned char pad%u[%u];\n", (*number)++, sizes[draw(10)]);
	else if (chance(20))
		fprintf(w.c, "\tuint64_t pad%u;\n", (*number)++);
	else if (chance(20))
		fprintf(w.c, "\tdouble pad%u;\n", (*number)++);
}

static void write_field(const struct field *field, unsigned f)
{
	static const char *const formats[FIELD_KINDS] = {
		[PTR] = "\tstruct t%u *f%u;\n",
		[BORROW] = "\tstruct t%u *f%u;\n",
		[ARRAY] = "\tstruct t%u *f%u[3];\n",
		[NEST] = "\tstruct { short x; struct t%u *p; } f%u;\n",
		[UNION] = "\tunion { char c[12]; struct t%u *p; uint64_t v; } f%u;\n",
	};

	if (field->kind == VOID || field->kind == VOID_BORROW)
		fprintf(w.c, "\tvoid *f%u;\n", f);
	else if (field->kind == TAG)
		fprintf(w.c, "\tuintptr_t f%u;\n", f);
	else if (field->kind == VECTOR)
		fprintf(w.c, "\tstruct t%u **f%u; unsigned f%u_count, f%u_size;\n", field->target, f,
			f, f);
	else
		fprintf(w.c, formats[field->kind], field->target, f);
}

static void write_link(const struct type *type, unsigned t, unsigned l)
{
	const struct group *group = &w.group[type->group_of_link[l]];

	switch (group->kind) {
	case LIST:
	case HASH_LIST:
		fprintf(w.c, "\tstruct list_head l%u;\n", l);
		break;
	case HLIST:
	case HASH_HLIST:
		fprintf(w.c, "\tstruct hlist_node l%u;\n", l);
		break;
	case SLIST:
		fprintf(w.c, "\tstruct t%u *l%u;\n", t, l);
		break;
	case STAILQ:
		fprintf(w.c, "\tstruct { struct t%u *stqe_next; } l%u;\n", t, l);
		break;
	case BSD_LIST:
		fprintf(w.c, "\tstruct { struct t%u *le_next, **le_prev; } l%u;\n", t, l);
		break;
	case DLIST:
	case ISC:
		fprintf(w.c, "\tstruct { struct t%u *next, *prev; } l%u;\n", t, l);
		break;
	case TREE:
		fprintf(w.c, "\tstruct rb_node l%u;\n", l);
		break;
	case TAILQ:
		fprintf(w.c, "\tstruct { struct t%u *tqe_next, **tqe_prev; } l%u;\n", t, l);
		break;
	}
	if (group->has_back)
		fprintf(w.c, "\tstruct g%u *back%u;\n", type->group_of_link[l], l);
}

static void write_struct(unsigned t)
{
	const struct type *type = &w.type[t];
	unsigned parts[FIELDS_MAX + LINKS_MAX + 2], n = 0, pad = 0;

	for (unsigned f = 0; f < type->fields + type->links + 2; f++)
		parts[n++] = f;
	for (unsigned i = n; i > 1; i--) {
		unsigned j = draw(i), swap = parts[j];

		parts[j] = parts[i - 1];
		parts[i - 1] = swap;
	}
	fprintf(w.c, "struct t%u {\n", t);
	for (unsigned i = 0; i < n; i++) {
		unsigned part = parts[i];

		write_pad(&pad);
		if (part < type->fields)
			write_field(&type->field[part], part);
		else if ((part -= type->fields) < type->links)
			write_link(type, t, part);
		else if (part == type->links)
			fprintf(w.c, "\t%s\n",
				type->is_fronted  ? "" :
				type->is_headed ? "struct hdr h;" : count_kinds[type->count].declare);
		else if (!type->is_headed && type->has_magic)
			fprintf(w.c, "\tuint32_t magic;\n");
	}
	write_pad(&pad);
	if (chance(8))
		fprintf(w.c, "\tunsigned char big[%u];\n", 500 + draw(4000));
	fprintf(w.c, "};\n\n");
}

/* A node apart: its three words in any order. */
static void write_node(unsigned g)
{
	static const char *const orders[] = { "pnv", "vnp", "nvp", "npv", "vpn" };
	const char *order = orders[vary(5)];

	fprintf(w.c, "struct n%u {\n", g);
	for (; *order; order++) {
		if (vary(100) < 20)
			fprintf(w.c, "\tint key%c;\n", *order);
		if (*order == 'v' && vary(2))
			fprintf(w.c, "\tvoid *data;\n");
		else if (*order == 'v')
			fprintf(w.c, "\tstruct t%u *data;\n", w.group[g].type);
		else
			fprintf(w.c, "\tstruct n%u *%s;\n", g, *order == 'n' ? "next" : "prev");
	}
	fprintf(w.c, "};\n");
}

static void write_group_struct(unsigned g)
{
	const struct group *group = &w.group[g];
	static const char *const heads[GROUP_KINDS] = {
		[LIST] = "struct list_head head;",
		[HLIST] = "struct hlist_head head;",
		[HASH_HLIST] = "struct hlist_head head[16];",
		[HASH_LIST] = "struct list_head head[16];",
		[TREE] = "struct { struct rb_node *rb_node; } head;",
	};
	/* of elements, or of nodes apart */
	static const char *const typed_heads[GROUP_KINDS] = {
		[SLIST] = "struct t%u *head;",
		[TAILQ] = "struct { struct t%u *tqh_first, **tqh_last; } head;",
		[STAILQ] = "struct { struct t%u *stqh_first, **stqh_last; } head;",
		[BSD_LIST] = "struct { struct t%u *lh_first; } head;",
		[DLIST] = "struct { struct t%u *first, *last; } head;",
		[ISC] = "struct { struct t%u *head, *tail; } head;",
		[NODES] = "struct { struct n%u *first, *last; } head;",
		[ARRAY_OF] = "struct t%u **head; unsigned length;",
	};
	unsigned pad = 0;

	if (group->kind == NODES)
		write_node(g);
	fprintf(w.c, "struct g%u {\n", g);
	write_pad(&pad);
	if (group->has_counter && chance(50))
		fprintf(w.c, "\tunsigned nr;\n");
	else if (group->has_counter)
		fprintf(w.c, "\tsize_t nr;\n");
	fputc('\t', w.c);
	if (heads[group->kind])
		fputs(heads[group->kind], w.c);
	else
		fprintf(w.c, typed_heads[group->kind], group->kind == NODES ? g : group->type);
	fputc('\n', w.c);
	write_pad(&pad);
	if (group->has_name)
		fprintf(w.c, "\tchar name[12];\n");
	fprintf(w.c, "};\n");
	fprintf(w.c, "extern struct g%u %sheads%u[%u];\nstruct g%u %sheads%u[%u];\n\n", g,
		group->is_heap ? "*" : "", g, group->heads, g, group->is_heap ? "*" : "", g,
		group->heads);
}

/* ---- tables ---- */

static const char *count_path(const struct type *type)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s%s",
		 type->is_headed && !type->is_fronted ? "h." : "",
		 count_kinds[type->is_headed ? w.header_count : type->count].member);
	return path;
}

static void write_accessors(unsigned t)
{
	const struct type *type = &w.type[t];
	const struct count_kind *kind =
		&count_kinds[type->is_headed ? w.header_count : type->count];
	char lvalue[128];

	if (type->is_fronted)
		snprintf(lvalue, sizeof(lvalue), "((struct hdr *)((char *)p - 16))->%s",
			 count_path(type));
	else
		snprintf(lvalue, sizeof(lvalue), "((struct t%u *)p)->%s", t, count_path(type));
	fprintf(w.c, "static long get%u(const void *p)\n{\n\treturn ", t);
	fprintf(w.c, kind->get, lvalue);
	fprintf(w.c, ";\n}\nstatic void set%u(void *p, long v)\n{\n\t", t);
	fprintf(w.c, kind->set, lvalue);
	fprintf(w.c, ";\n}\n");
	fprintf(w.c, "extern struct t%u *array%u[64], **table%u;\nstruct t%u *array%u[64], **table%u;\n",
		t, t, t, t, t, t);
	fprintf(w.c, "static const struct field fields%u[] = {\n", t);
	for (unsigned f = 0; f < type->fields; f++) {
		unsigned k = type->field[f].kind;

		fprintf(w.c, "\t{ %s, %u, offsetof(struct t%u, f%u%s)", field_kinds[k],
			type->field[f].target, t, f, k == NEST || k == UNION ? ".p" : "");
		if (k == VECTOR)
			fprintf(w.c, ", offsetof(struct t%u, f%u_count) },\n", t, f);
		else
			fprintf(w.c, ", 0 },\n");
	}
	fprintf(w.c, "};\n");
}

static void write_tls(void)
{
	for (unsigned t = 0; t < w.types; t++)
		fprintf(w.c, "extern __thread struct t%u *tls%u[4];\n__thread struct t%u *tls%u[4];\n",
			t, t, t, t);
	fprintf(w.c, "static void **tls_of(int t)\n{\n\tswitch (t) {\n");
	for (unsigned t = 0; t < w.types; t++)
		fprintf(w.c, "\tcase %u:\n\t\treturn (void **)tls%u;\n", t, t);
	fprintf(w.c, "\t}\n\tabort();\n}\n");
}

static void write_tables(void)
{
	for (unsigned t = 0; t < w.types; t++)
		write_accessors(t);
	write_tls();
	fprintf(w.c, "static const struct type types[] = {\n");
	for (unsigned t = 0; t < w.types; t++) {
		const struct type *type = &w.type[t];
		bool magic = type->is_headed ? w.header_magic : type->has_magic;

		fprintf(w.c, "\t{ sizeof(struct t%u), get%u, set%u, fields%u, %u, ", t, t, t, t,
			type->fields);
		if (magic && type->is_fronted)
			fprintf(w.c, "(long)offsetof(struct hdr, magic) - 16, 0x7e57ab1e, ");
		else if (magic)
			fprintf(w.c, "offsetof(struct t%u, %smagic), %#x, ", t,
				type->is_headed ? "h." : "",
				type->is_headed ? 0x7e57ab1e : type->magic);
		else
			fprintf(w.c, "NONE, 0, ");
		fprintf(w.c, "%d, (void **)array%u, (void ***)&table%u, ",
			magic && (type->is_headed || type->has_dead_magic), t, t);
		fprintf(w.c, "%u, %u, (sizeof(struct t%u) + %u + 15) / 16 * 16 },\n",
			type->is_fronted ? 16 : 0, type->slab, t, type->is_fronted ? 16 : 0);
	}
	fprintf(w.c, "};\nstatic const struct group groups[] = {\n");
	for (unsigned g = 0; g < w.groups; g++) {
		const struct group *group = &w.group[g];

		fprintf(w.c, "\t{ %s, %u, ", group_kinds[group->kind], group->type);
		if (group->kind == NODES || group->kind == ARRAY_OF)
			fprintf(w.c, "0, ");
		else
			fprintf(w.c, "offsetof(struct t%u, l%u), ", group->type, group->link);
		if (group->has_back)
			fprintf(w.c, "offsetof(struct t%u, back%u), ", group->type, group->link);
		else
			fprintf(w.c, "NONE, ");
		fprintf(w.c, "offsetof(struct g%u, head), ", g);
		if (group->has_counter)
			fprintf(w.c, "offsetof(struct g%u, nr), sizeof(((struct g%u *)0)->nr), ",
				g, g);
		else
			fprintf(w.c, "NONE, 0, ");
		fprintf(w.c, "sizeof(struct g%u), %u, %u, %d, heads%u", g, group->heads,
			group->worth, group->is_heap, g);
		if (group->has_name)
			fprintf(w.c, ", offsetof(struct g%u, name)", g);
		else
			fprintf(w.c, ", NONE");
		if (group->kind == ARRAY_OF)
			fprintf(w.c, ", offsetof(struct g%u, length)", g);
		if (group->kind == NODES)
			fprintf(w.c,
				", 0, sizeof(struct n%u), offsetof(struct n%u, data), "
				"offsetof(struct n%u, next), offsetof(struct n%u, prev)",
				g, g, g, g);
		fprintf(w.c, " },\n");
	}
	if (!w.groups)
		fprintf(w.c, "\t{ 0 }\n");
	fprintf(w.c, "};\nenum { TYPES = %u, GROUPS = %u };\n", w.types, w.groups);
}

/* ---- profile ---- */

static void write_count_rule(const struct type *type)
{
	const struct count_kind *kind = &count_kinds[type ? type->count : w.header_count];

	fprintf(w.yaml, "  counts: { member: %s%s }\n", kind->member, kind->rule);
}

static void write_groups(void)
{
	if (w.groups)
		fprintf(w.yaml, "groups:\n");
	for (unsigned g = 0; g < w.groups; g++) {
		const struct group *group = &w.group[g];
		static const char *const kinds[GROUP_KINDS] = {
			[LIST] = "list", [HLIST] = "hlist", [SLIST] = "slist",
			[TAILQ] = "tailq", [HASH_HLIST] = "hash", [HASH_LIST] = "hash",
			[STAILQ] = "slist", [BSD_LIST] = "hlist", [DLIST] = "dlist",
			[ISC] = "dlist", [TREE] = "tree", [NODES] = "dlist", [ARRAY_OF] = "array",
		};

		fprintf(w.yaml, "- kind: %s\n", kinds[group->kind]);
		if (group->kind == HASH_HLIST || group->kind == HASH_LIST)
			fprintf(w.yaml, "  bucket: %s\n",
				group->kind == HASH_LIST ? "list" : "hlist");
		fprintf(w.yaml, "  head: { struct: g%u, member: head }\n", g);
		if (group->kind == SLIST)
			fprintf(w.yaml, "  link: { struct: t%u, next: l%u }\n", group->type,
				group->link);
		else if (group->kind == NODES || group->kind == ARRAY_OF)
			fprintf(w.yaml, "  link: { struct: t%u }\n", group->type);
		else
			fprintf(w.yaml, "  link: { struct: t%u, member: l%u }\n", group->type,
				group->link);
		if (group->kind == NODES)
			fprintf(w.yaml, "  node: { struct: n%u, payload: data }\n", g);
		if (group->kind == ARRAY_OF)
			fprintf(w.yaml, "  length: length\n");
		if (group->kind == ISC)
			fprintf(w.yaml, "  end-mark: -1\n");
		if (group->kind == TREE)
			fprintf(w.yaml, "  tag-mask: 3\n");
		if (group->has_counter)
			fprintf(w.yaml, "  count: nr\n");
		if (group->has_name)
			fprintf(w.yaml, "  name: name\n");
		if (group->has_back)
			fprintf(w.yaml, "  back: back%u\n", group->link);
		fprintf(w.yaml, "  membership: %s\n", group->worth ? "owns" : "borrows");
	}
}

static void write_ownership(void)
{
	for (unsigned t = 0; t < w.types; t++) {
		for (unsigned f = 0; f < w.type[t].fields; f++) {
			unsigned k = w.type[t].field[f].kind;

			if (k == VOID || k == TAG)
				add(w.owns, sizeof(w.owns), "%s\"t%u.f%u\"", *w.owns ? ", " : "",
				    t, f);
			if (k == BORROW || k == VOID_BORROW)
				add(w.borrows, sizeof(w.borrows), "%s\"t%u.f%u\"",
				    *w.borrows ? ", " : "", t, f);
			if (k == TAG)
				add(w.encodings, sizeof(w.encodings),
				    "- { class: \"t%u.f%u\", mask: 7 }\n", t, f);
		}
	}
	if (*w.owns)
		fprintf(w.yaml, "owns: [ %s ]\n", w.owns);
	if (*w.borrows)
		fprintf(w.yaml, "borrows: [ %s ]\n", w.borrows);
	if (*w.encodings)
		fprintf(w.yaml, "encodings:\n%s", w.encodings);
}

static void write_profile(void)
{
	bool any = false;

	fprintf(w.yaml, "version: 1\nname: nasty\n");
	for (unsigned t = 0; t < w.types; t++)
		any |= w.type[t].is_headed;
	if (any) {
		fprintf(w.yaml, "headers:\n- struct: hdr\n");
		write_count_rule(NULL);
		if (w.header_magic)
			fprintf(w.yaml,
				"  magic: { member: magic, live: 0x7e57ab1e, dead: 0xdeadbeef }\n");
	}
	for (unsigned t = 0, first = 1; t < w.types; t++) {
		const struct type *type = &w.type[t];

		if (type->is_headed && !type->is_fronted)
			continue;
		if (first)
			fprintf(w.yaml, "types:\n");
		first = 0;
		fprintf(w.yaml, "- struct: t%u\n", t);
		if (type->is_fronted) {
			fprintf(w.yaml, "  header: { offset: -16, struct: hdr }\n");
			continue;
		}
		write_count_rule(type);
		if (type->has_magic)
			fprintf(w.yaml, "  magic: { member: magic, live: %#x%s }\n", type->magic,
				type->has_dead_magic ? ", dead: 0xdeadbeef" : "");
	}
	write_groups();
	write_ownership();
}

static FILE *create(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file)
		err(2, "%s", path);
	return file;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: nasty_gen SEED DIR");
	draw_world(strtoull(argv[1], NULL, 0));
	w.c = create(argv[2], "layout.h");
	w.yaml = create(argv[2], "profile.yaml");
	for (unsigned t = 0; t < w.types; t++)
		fprintf(w.c, "struct t%u;\n", t);
	for (unsigned g = 0; g < w.groups; g++)
		fprintf(w.c, "struct g%u;\n", g);
	fprintf(w.c, "struct rb_node {\n\tunsigned long __rb_parent_color;\n"
		     "\tstruct rb_node *rb_right, *rb_left;\n};\n\n");
	fprintf(w.c, "struct hdr {\n");
	if (w.header_magic && chance(50))
		fprintf(w.c, "\tuint32_t magic;\n\t%s\n", count_kinds[w.header_count].declare);
	else
		fprintf(w.c, "\t%s\n%s", count_kinds[w.header_count].declare,
			w.header_magic ? "\tuint32_t magic;\n" : "");
	fprintf(w.c, "};\n\n");
	for (unsigned t = 0; t < w.types; t++)
		write_struct(t);
	for (unsigned g = 0; g < w.groups; g++)
		write_group_struct(g);
	write_tables();
	write_profile();
	if (fclose(w.c) || fclose(w.yaml))
		err(2, "%s", argv[2]);
	return 0;
}
