/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The world of world.c: what a layout says, what the program knows about its objects (the
 * book), and how it makes them and has them hold one another.
 */
#ifndef WORLD_H
#define WORLD_H

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "../../fixtures/fixture.h"

enum { NONE = -1, ROOT = -1 };
enum field_kind {
	PTR, BORROW, VOID, VOID_BORROW, ARRAY, NEST, UNION, TAG, VECTOR,
	TLS, STACK, REGISTER, /* of roots alone */
};
enum group_kind {
	LIST, HLIST, SLIST, TAILQ, HASH_HLIST, HASH_LIST,
	STAILQ, BSD_LIST, DLIST, ISC, TREE, NODES, ARRAY_OF, /* chains.h */
};
enum { LINKS_MAX = 3, FIELDS_MAX = 8, BUCKETS = 16, STATIC_SLOTS = 64, FAULT_ADDRS = 8,
       SLABS_MAX = 2000, REGISTERS_MAX = 4 };

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

struct tailq_entry {
	void *next;
	void **prev;
};

struct field {
	enum field_kind kind;
	int target;
	size_t offset, count_offset; /* a vector's room follows its length */
};

struct type {
	size_t bytes;
	long (*get)(const void *object);
	void (*set)(void *object, long count);
	const struct field *fields;
	int field_count;
	long magic_offset; /* or NONE */
	uint32_t magic;
	bool has_dead_magic;
	void **array;      /* STATIC_SLOTS static variables */
	void ***table;     /* one static variable: a table on the heap without spare room */
	size_t front;      /* bytes before the struct, which begin with the header */
	int slab;          /* objects of one block, or 0: each has its own */
	size_t stride;     /* then: from one to the next, front included */
};

struct group {
	enum group_kind kind;
	int type;
	size_t link_offset;
	long back_offset;  /* or NONE */
	size_t head_offset;
	long counter_offset; /* or NONE */
	size_t counter_bytes, bytes;
	int heads;
	bool owns, is_heap;
	void *base;
	long name_offset;  /* or NONE */
	size_t length_offset; /* of ARRAY_OF */
	size_t node_bytes, payload_offset, next_offset, prev_offset; /* of NODES */
};

#include "layout.h"

/* ---- the book ---- */

struct object {
	char *p;
	int type;
	char *start;         /* of its memory */
	size_t room;         /* bytes from there */
	bool is_freed;
	int head[LINKS_MAX]; /* per link: which of its group's heads, or NONE */
	bool is_used;        /* a fault is here or next to it */
	bool is_reached;
	unsigned strays;     /* words that point at it beside owners, borrowers and links */
	unsigned certain, doubtful; /* owning words and memberships; those in unions */
	bool is_known, is_sure; /* see find_known() */
};

struct edge {
	int source, target;  /* objects, or ROOT */
	void **word;
	enum field_kind kind;
};

struct fault {
	const char *name, *codes;
	void *addrs[FAULT_ADDRS];
	int victims[4], victim_count; /* masked if another word points at one of them */
	long count;          /* of a missing reference: what is stored; else -1 */
	const struct group *group; /* that the fault shows in, or null */
	int head;
	bool is_masked, is_spoiled_by_strays;
};

struct slab {
	char *base;
	int type, used;
};

struct book {
	struct object *objects;
	int object_count, object_max;
	struct edge *edges;
	size_t edge_count, edge_max;
	struct fault *faults;
	int fault_count;
	void **blocks;       /* used, other than objects */
	size_t block_count, block_max;
	int *table_used;     /* per type */
	struct slab *slabs;
	int slab_count;
	int tls_used[TYPES], stack_used, registers_used;
	void *registers[REGISTERS_MAX];
};

static struct book *book;
static uint64_t random_state;
/* Where a chain is broken, being in it is no certain holder. */
static struct broken {
	const struct group *group;
	int head;
} broken[8];
static int broken_count;
extern char *buffers[4096]; /* else the compiler drops what is only written */
char *buffers[4096];
static int buffer_count;
static atomic_int stage;

static unsigned draw(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)((random_state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static bool chance(unsigned percent)
{
	return draw(100) < percent;
}

static void *book_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Room for everything; found again at the end, to be unmapped. */
static size_t book_bytes[7];

static void book_open(int objects)
{
	int max = objects * 2 + 1000;

	book = book_alloc(sizeof(*book));
	book->object_max = max;
	book->edge_max = (size_t)max * 40;
	book->block_max = (size_t)max * 4;
	book->objects = book_alloc(book_bytes[1] = (size_t)max * sizeof(struct object));
	book->edges = book_alloc(book_bytes[2] = book->edge_max * sizeof(struct edge));
	book->faults = book_alloc(book_bytes[3] = 1000 * sizeof(struct fault));
	book->blocks = book_alloc(book_bytes[4] = book->block_max * sizeof(void *));
	book->table_used = book_alloc(book_bytes[5] = TYPES * sizeof(int));
	book->slabs = book_alloc(book_bytes[6] = SLABS_MAX * sizeof(struct slab));
}

static void book_close(void)
{
	munmap(book->objects, book_bytes[1]);
	munmap(book->edges, book_bytes[2]);
	munmap(book->faults, book_bytes[3]);
	munmap(book->blocks, book_bytes[4]);
	munmap(book->table_used, book_bytes[5]);
	munmap(book->slabs, book_bytes[6]);
	munmap(book, sizeof(*book));
	book = NULL;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void note_block(void *p)
{
	if (book->block_count == book->block_max)
		abort();
	book->blocks[book->block_count++] = p;
}

static void forget_block(void *p)
{
	for (size_t i = book->block_count; i-- > 0;)
		if (book->blocks[i] == p) {
			book->blocks[i] = book->blocks[--book->block_count];
			return;
		}
	abort();
}

#include "storage.h"

/* ---- objects ---- */

static const struct type *type_of(const struct object *object)
{
	return &types[object->type];
}

/* The group that `link` of objects of `type` is for, or null. */
static const struct group *group_of_link(int type, int link)
{
	for (int g = 0; g < GROUPS; g++)
		if (groups[g].type == type && link-- == 0)
			return &groups[g];
	return NULL;
}

static void *word_at(const void *base, size_t offset)
{
	void *word;

	memcpy(&word, (const char *)base + offset, sizeof(word));
	return word;
}

static unsigned number_at(const void *base, size_t offset)
{
	unsigned number;

	memcpy(&number, (const char *)base + offset, sizeof(number));
	return number;
}

/* Bytes of a member's own that chain it. */
static size_t link_bytes(const struct group *group)
{
	switch (group->kind) {
	case NODES:
	case ARRAY_OF:
		return 0;
	case SLIST:
	case STAILQ:
		return sizeof(void *);
	case TREE:
		return 3 * sizeof(void *);
	default:
		return 2 * sizeof(void *);
	}
}

static void init_members(char *p, const struct type *type)
{
	for (int f = 0; f < type->field_count; f++) {
		const struct field *field = &type->fields[f];

		memset(p + field->offset, 0,
		       field->kind == ARRAY ? 3 * sizeof(void *) : sizeof(void *));
		if (field->kind == VECTOR)
			memset(p + field->count_offset, 0, 2 * sizeof(unsigned));
	}
	if (type->magic_offset != NONE)
		memcpy(p + type->magic_offset, &type->magic, sizeof(type->magic));
}

static int create_object(int t)
{
	const struct type *type = &types[t];
	size_t room;
	char *p = allocate(t, &room);
	int o = book->object_count++;

	if (o >= book->object_max)
		abort();
	init_members(p, type);
	type->set(p, 0);
	book->objects[o] = (struct object){ .p = p, .type = t, .start = p - type->front,
					     .room = room, .head = { NONE, NONE, NONE } };
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(t, l);

		if (!group)
			break;
		if (group->back_offset != NONE)
			memset(p + group->back_offset, 0, sizeof(void *));
		if (chance(60))
			memset(p + group->link_offset, 0, link_bytes(group));
	}
	return o;
}

/* Frees some copies of live objects: of each, all that it points at stays behind. */
static FIXTURE_NOINLINE void leave_ghosts(int count)
{
	enum { BATCH = 48 };
	void *ghosts[BATCH];
	int n = 0;

	for (int i = 0; book->object_count && i < count; i++) {
		const struct object *object = &book->objects[draw((unsigned)book->object_count)];
		const struct type *type = type_of(object);
		char *ghost = must(malloc(type->front + type->bytes));

		memcpy(ghost, object->start, type->front + type->bytes);
		ghost += type->front;
		if (type->has_dead_magic && chance(50)) {
			static const uint32_t dead = 0xdeadbeef;

			memcpy(ghost + type->magic_offset, &dead, sizeof(dead));
		}
		if (chance(40))
			type->set(ghost, 0);
		ghosts[n++] = ghost - type->front;
		if (n == BATCH || i == count - 1) {
			while (n > 0) {
				unsigned k = draw((unsigned)n);

				free(ghosts[k]);
				ghosts[k] = ghosts[--n];
			}
		}
	}
	memset(ghosts, 0, sizeof(ghosts));
}

/* Blocks without a type that nobody cleared. */
static FIXTURE_NOINLINE void leave_buffers(int count)
{
	for (int i = 0; i < count && buffer_count < 4096; i++) {
		size_t bytes = 24 + draw(400);
		char *buffer = must(malloc(bytes));

		snprintf(buffer, bytes, "buffer %d", buffer_count);
		buffers[buffer_count++] = buffer;
		note_block(buffer);
	}
}

/* ---- holders ---- */

static bool owns(enum field_kind kind)
{
	return kind != BORROW && kind != VOID_BORROW;
}

static bool fits(const struct field *field, int type)
{
	return field->kind == VOID || field->kind == VOID_BORROW || field->kind == TAG ||
	       field->target == type;
}

static void count_add(const struct object *object, long delta)
{
	const struct type *type = type_of(object);

	type->set(object->p, type->get(object->p) + delta);
}

static void push_vector(char *p, const struct field *field, void *value)
{
	unsigned count = number_at(p, field->count_offset);
	unsigned size = number_at(p, field->count_offset + sizeof(unsigned));
	void **items = word_at(p, field->offset);

	if (count == size) {
		size = size ? size * 2 : 2;
		if (items)
			forget_block(items);
		items = must(realloc(items, size * sizeof(*items)));
		note_block(items);
		memcpy(p + field->offset, &items, sizeof(void *));
		memcpy(p + field->count_offset + sizeof(unsigned), &size, sizeof(size));
	}
	items[count++] = value;
	memcpy(p + field->count_offset, &count, sizeof(count));
}

/* Takes back the vector's last element: it stays where it was. */
static void *pop_vector(char *p, const struct field *field)
{
	unsigned count = number_at(p, field->count_offset) - 1;

	memcpy(p + field->count_offset, &count, sizeof(count));
	return ((void **)word_at(p, field->offset))[count];
}

/* Stores a pointer to `target` in a field of `source`; false if it has no room. */
static bool store(int source, int f, int target)
{
	const struct object *object = &book->objects[source];
	const struct field *field = &type_of(object)->fields[f];
	char *value = book->objects[target].p, *place = object->p + field->offset;

	if (!fits(field, book->objects[target].type))
		return false;
	if (field->kind == VECTOR) {
		push_vector(object->p, field, value);
	} else {
		for (int i = 0; word_at(place, 0); place += sizeof(void *))
			if (field->kind != ARRAY || ++i == 3)
				return false;
		if (field->kind == TAG)
			value += 1 + draw(7);
		memcpy(place, &value, sizeof(value));
	}
	if (owns(field->kind))
		count_add(&book->objects[target], 1);
	return true;
}

/* In a thread-local variable, or where another thread alone has it; false if full. */
static bool store_in_thread(int target)
{
	const struct object *object = &book->objects[target];
	unsigned where = draw(10);

	if (where < 6 && book->tls_used[object->type] < 2 * TLS_SLOTS)
		*tls_word(object->type, book->tls_used[object->type]++) = object->p;
	else if (where < 9 && book->stack_used < STACK_SLOTS)
		waiting.stack[book->stack_used++] = object->p;
	else if (where == 9 && book->registers_used < REGISTERS)
		book->registers[book->registers_used++] = object->p;
	else
		return false;
	count_add(object, 1);
	return true;
}

static void store_in_root(int target)
{
	const struct object *object = &book->objects[target];
	const struct type *type = type_of(object);
	int used;

	if (chance(8) && store_in_thread(target))
		return;
	used = book->table_used[object->type]++;
	if (used < STATIC_SLOTS) {
		type->array[used] = object->p;
	} else {
		void **table = *type->table;
		size_t n = (size_t)used - STATIC_SLOTS;

		if (n % 16 == 0) {
			if (table)
				forget_block(table);
			table = must(realloc(table, (n + 16) * sizeof(*table)));
			memset(table + n, 0, 16 * sizeof(*table));
			note_block(table);
			*type->table = table;
		}
		table[n] = object->p;
	}
	count_add(object, 1);
}

static bool is_typed(enum field_kind kind)
{
	return kind == PTR || kind == ARRAY || kind == NEST || kind == VECTOR;
}

/* Gives `target` an owner among the objects before it, which are all held, or a root. */
static void attach(int target)
{
	bool has_magic = type_of(&book->objects[target])->magic_offset != NONE;

	if (target > 4 && chance(1) && store_in_thread(target))
		return;
	for (int i = 0; target > 4 && i < 30; i++) {
		int source = (int)draw((unsigned)target);
		const struct type *type = type_of(&book->objects[source]);
		int f = (int)draw((unsigned)type->field_count);

		if (owns(type->fields[f].kind) &&
		    (has_magic || is_typed(type->fields[f].kind)) && store(source, f, target))
			return;
	}
	store_in_root(target);
}

/* Fills some of the rest at random, and makes stale tails of vectors. */
static void cross_reference(int source)
{
	const struct type *type = type_of(&book->objects[source]);

	for (int f = 0; f < type->field_count; f++) {
		for (int i = 0; i < 12 && chance(60); i++) {
			int target = (int)draw((unsigned)book->object_count);

			if (target != source)
				store(source, f, target);
		}
		if (type->fields[f].kind == VECTOR) {
			char *p = book->objects[source].p;

			for (int i = 0; i < 3 && chance(40); i++) {
				int target = (int)draw((unsigned)book->object_count);

				if (target != source && store(source, f, target)) {
					pop_vector(p, &type->fields[f]);
					count_add(&book->objects[target], -1);
				}
			}
		}
	}
}

#endif
