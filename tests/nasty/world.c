/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program full of stale memory, in a random convention (layout.h, written by
 * tests/tools/nasty_gen), with random faults in it.
 *
 *	world --seed=N --objects=N --faults=N
 *
 * Prints its faults, then READY, and waits:
 *
 *	FAULT NAME sure|masked CODE[,CODE...] ADDRESS[,ADDRESS...]
 *
 * A fault must be found under one of its codes at one of its addresses; a masked
 * one may be: some other word in used memory points at the object as well and
 * might be what its count stands for (these words are counted in all of the
 * program's memory right before READY), or nothing tells that there is an object: no magic,
 * no group, no typed pointer.
 *
 * Counts are right by construction: only own() stores an owning word.  What is
 * known about the objects is kept in mappings of its own (the book), which are
 * gone before READY.
 *
 * What makes it nasty: nothing is cleared, so that unused room in objects and
 * buffers, tails of vectors, and links of objects that are in no group hold what was
 * there before; complete copies of live objects were freed everywhere, from three
 * threads, one of which has ended; buffers without type lie in such copies.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "../../fixtures/fixture.h"

enum { NONE = -1, ROOT = -1 };
enum field_kind { PTR, BORROW, VOID, VOID_BORROW, ARRAY, NEST, UNION, TAG, VECTOR };
enum group_kind { LIST, HLIST, SLIST, TAILQ, HASH_HLIST, HASH_LIST };
enum { LINKS_MAX = 3, BUCKETS = 16, STATIC_SLOTS = 64, FAULT_ADDRS = 8 };

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
};

#include "layout.h"

/* ---- the book ---- */

struct object {
	char *p;
	int type;
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
	bool is_masked, is_spoiled_by_strays;
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
static size_t book_bytes[6];

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
}

static void book_close(void)
{
	munmap(book->objects, book_bytes[1]);
	munmap(book->edges, book_bytes[2]);
	munmap(book->faults, book_bytes[3]);
	munmap(book->blocks, book_bytes[4]);
	munmap(book->table_used, book_bytes[5]);
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
	char *p = must(malloc(type->bytes));
	int o = book->object_count++;

	if (o >= book->object_max)
		abort();
	init_members(p, type);
	type->set(p, 0);
	book->objects[o] = (struct object){ .p = p, .type = t, .head = { NONE, NONE, NONE } };
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(t, l);

		if (!group)
			break;
		if (group->back_offset != NONE)
			memset(p + group->back_offset, 0, sizeof(void *));
		if (chance(60))
			memset(p + group->link_offset, 0,
			       group->kind == SLIST ? sizeof(void *) : 2 * sizeof(void *));
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
		char *ghost = must(malloc(type->bytes));

		memcpy(ghost, object->p, type->bytes);
		if (type->has_dead_magic && chance(50)) {
			static const uint32_t dead = 0xdeadbeef;

			memcpy(ghost + type->magic_offset, &dead, sizeof(dead));
		}
		if (chance(40))
			type->set(ghost, 0);
		ghosts[n++] = ghost;
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

static void store_in_root(int target)
{
	const struct object *object = &book->objects[target];
	const struct type *type = type_of(object);
	int used = book->table_used[object->type]++;

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

/* ---- groups ---- */

static char *head_struct(const struct group *group, int head)
{
	return group->is_heap ? ((char **)group->base)[head]
			      : (char *)group->base + (size_t)head * group->bytes;
}

static void create_heads(void)
{
	for (int g = 0; g < GROUPS; g++) {
		const struct group *group = &groups[g];

		for (int i = 0; i < group->heads; i++) {
			char *p;

			if (group->is_heap) {
				((char **)group->base)[i] = must(malloc(group->bytes));
				note_block(((char **)group->base)[i]);
			}
			p = head_struct(group, i);
			if (group->name_offset != NONE)
				snprintf(p + group->name_offset, 12, "g%d-%d", g, i);
			if (group->counter_offset != NONE)
				memset(p + group->counter_offset, 0, group->counter_bytes);
			p += group->head_offset;
			for (int b = 0; b < (group->kind >= HASH_HLIST ? BUCKETS : 1); b++) {
				struct list_head *list = (struct list_head *)p + b;

				if (group->kind == LIST || group->kind == HASH_LIST)
					list->next = list->prev = list;
				else if (group->kind == TAILQ)
					*(struct tailq_entry *)p =
						(struct tailq_entry){ NULL, (void **)p };
				else
					((void **)p)[b] = NULL;
			}
		}
	}
}

static void counter_add(const struct group *group, int head, long delta)
{
	char *p = head_struct(group, head) + group->counter_offset;
	uint64_t value = 0;

	if (group->counter_offset == NONE)
		return;
	memcpy(&value, p, group->counter_bytes);
	value += (uint64_t)delta;
	memcpy(p, &value, group->counter_bytes);
}

static void chain(const struct group *group, char *head, char *p)
{
	void *link = p + group->link_offset;

	switch (group->kind) {
	case HASH_LIST:
		head += draw(BUCKETS) * sizeof(struct list_head);
		/* fall through */
	case LIST: {
		struct list_head *node = link, *list = (struct list_head *)head;

		node->next = list;
		node->prev = list->prev;
		list->prev->next = node;
		list->prev = node;
		break;
	}
	case HASH_HLIST:
		head += draw(BUCKETS) * sizeof(struct hlist_head);
		/* fall through */
	case HLIST: {
		struct hlist_node *node = link;
		struct hlist_head *list = (struct hlist_head *)head;

		node->next = list->first;
		if (node->next)
			node->next->pprev = &node->next;
		node->pprev = &list->first;
		list->first = node;
		break;
	}
	case SLIST:
		*(void **)link = *(void **)head;
		*(void **)head = p;
		break;
	case TAILQ: {
		struct tailq_entry *entry = link, *list = (struct tailq_entry *)head;

		entry->next = NULL;
		entry->prev = list->prev;
		*list->prev = p;
		list->prev = &entry->next;
		break;
	}
	}
}

/* Takes `p` out of its chain; its own link words stay as they are. */
static void unchain(const struct group *group, char *head, char *p)
{
	void *link = p + group->link_offset;

	switch (group->kind) {
	case HASH_LIST:
	case LIST: {
		struct list_head *node = link;

		node->prev->next = node->next;
		node->next->prev = node->prev;
		break;
	}
	case HASH_HLIST:
	case HLIST: {
		struct hlist_node *node = link;

		*node->pprev = node->next;
		if (node->next)
			node->next->pprev = node->pprev;
		break;
	}
	case SLIST: {
		void **word = (void **)head;

		while (*word != p)
			word = (void **)((char *)*word + group->link_offset);
		*word = *(void **)link;
		break;
	}
	case TAILQ: {
		struct tailq_entry *entry = link, *list = (struct tailq_entry *)head;

		if (entry->next)
			((struct tailq_entry *)((char *)entry->next + group->link_offset))->prev =
				entry->prev;
		else
			list->prev = entry->prev;
		*entry->prev = entry->next;
		break;
	}
	}
}

static void join(int o, int l, int head)
{
	struct object *object = &book->objects[o];
	const struct group *group = group_of_link(object->type, l);
	char *p = head_struct(group, head);

	chain(group, p + group->head_offset, object->p);
	object->head[l] = head;
	counter_add(group, head, 1);
	if (group->back_offset != NONE)
		memcpy(object->p + group->back_offset, &p, sizeof(p));
	if (group->owns)
		count_add(object, 1);
}

/* As a program does it right, but that it leaves the back pointer. */
static void leave(int o, int l)
{
	struct object *object = &book->objects[o];
	const struct group *group = group_of_link(object->type, l);
	int head = object->head[l];

	unchain(group, head_struct(group, head) + group->head_offset, object->p);
	object->head[l] = NONE;
	counter_add(group, head, -1);
	if (group->owns)
		count_add(object, -1);
}

static void join_some(int o)
{
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(book->objects[o].type, l);

		if (!group)
			return;
		if (!chance(80))
			continue;
		join(o, l, (int)draw((unsigned)group->heads));
		if (chance(10)) {
			leave(o, l);
			if (group->back_offset != NONE)
				memset(book->objects[o].p + group->back_offset, 0, sizeof(void *));
		}
	}
}

/* ---- building ---- */

static FIXTURE_NOINLINE void create_some(int count)
{
	for (int i = 0; i < count; i++) {
		create_object((int)draw(TYPES));
		if (chance(30))
			leave_ghosts(1 + (int)draw(3));
	}
	leave_ghosts(count / 3);
	leave_buffers(count / 20);
}

static void *thread_main(void *argument)
{
	int *count = argument;
	bool is_to_end = *count < 0;

	create_some(is_to_end ? -*count : *count);
	if (is_to_end)
		return NULL;
	fixture_wipe();
	atomic_store(&stage, 1);
	for (;;)
		pause();
}

static FIXTURE_NOINLINE void build(int objects)
{
	static int ended_count, waiting_count;
	pthread_t thread;

	create_heads();
	create_some(objects / 2);
	ended_count = -objects / 4;
	waiting_count = objects - objects / 2 - objects / 4;
	if (pthread_create(&thread, NULL, thread_main, &ended_count) ||
	    pthread_join(thread, NULL) ||
	    pthread_create(&thread, NULL, thread_main, &waiting_count))
		abort();
	while (!atomic_load(&stage))
		usleep(1000);
	for (int o = 0; o < book->object_count; o++) {
		attach(o);
		if (chance(20))
			leave_ghosts(2);
	}
	for (int o = 0; o < book->object_count; o++) {
		join_some(o);
		cross_reference(o);
		if (chance(20))
			leave_ghosts(2);
	}
	leave_ghosts(objects / 2);
	leave_buffers(objects / 20);
	leave_ghosts(objects / 4);
}

/* ---- what is true of it ---- */

static int by_address(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* The object in whose block `addr` lies, or NONE; objects are in order. */
static int object_at(uint64_t addr)
{
	int low = 0, high = book->object_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if ((uint64_t)book->objects[middle].p <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low--)
		return NONE;
	return addr - (uint64_t)book->objects[low].p < malloc_usable_size(book->objects[low].p)
		       ? low
		       : NONE;
}

static void put_edge(int source, void **word, enum field_kind kind)
{
	uint64_t value = (uint64_t)*word & ~7ull;
	struct edge *edge = &book->edges[book->edge_count++];
	int target = value ? object_at(value) : NONE;

	if (book->edge_count > book->edge_max)
		abort();
	*edge = (struct edge){ source, target, word, kind };
	if (target == NONE)
		book->edge_count--;
}

static void collect_fields(int o)
{
	const struct object *object = &book->objects[o];
	const struct type *type = type_of(object);

	for (int f = 0; f < type->field_count; f++) {
		const struct field *field = &type->fields[f];
		void **word = (void **)(object->p + field->offset);
		unsigned count = 1;

		if (field->kind == ARRAY) {
			count = 3;
		} else if (field->kind == VECTOR) {
			word = *word;
			count = number_at(object->p, field->count_offset);
		}
		for (unsigned i = 0; i < count; i++)
			put_edge(o, word + i, field->kind);
	}
}

/* Which objects can be told from mere memory: by a group, by a typed pointer from one that is
 * sure itself, or by their magic, which alone makes none sure. */
static void find_known(void)
{
	bool any = true;

	for (int o = 0; o < book->object_count; o++) {
		struct object *object = &book->objects[o];

		object->is_sure = false;
		for (int l = 0; l < LINKS_MAX; l++)
			object->is_sure |= object->head[l] != NONE;
		object->is_known = object->is_sure || type_of(object)->magic_offset != NONE;
	}
	while (any) {
		any = false;
		for (size_t e = 0; e < book->edge_count; e++) {
			const struct edge *edge = &book->edges[e];
			const struct object *source =
				edge->source == ROOT ? NULL : &book->objects[edge->source];
			struct object *target = &book->objects[edge->target];

			if (!is_typed(edge->kind) && edge->kind != BORROW)
				continue;
			if (!target->is_known && (!source || source->is_sure))
				target->is_known = any = true;
			if (!target->is_sure && target->is_known && (!source || source->is_known))
				target->is_sure = any = true;
		}
	}
}

static bool is_broken(const struct group *group, int head)
{
	for (int i = 0; i < broken_count; i++)
		if (broken[i].group == group && broken[i].head == head)
			return true;
	return false;
}

/* The words that the program knows of: edges from objects and from roots. */
static void collect_edges(void)
{
	book->edge_count = 0;
	for (int o = 0; o < book->object_count; o++)
		collect_fields(o);
	for (int t = 0; t < TYPES; t++)
		for (int i = 0; i < book->table_used[t]; i++)
			put_edge(ROOT,
				 i < STATIC_SLOTS ? &types[t].array[i]
						  : &(*types[t].table)[i - STATIC_SLOTS],
				 PTR);
	find_known();
	for (int o = 0; o < book->object_count; o++) {
		struct object *object = &book->objects[o];

		object->certain = object->doubtful = 0;
		for (int l = 0; l < LINKS_MAX; l++)
			if (object->head[l] != NONE && group_of_link(object->type, l)->owns) {
				if (is_broken(group_of_link(object->type, l), object->head[l]))
					object->doubtful++;
				else
					object->certain++;
			}
	}
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];
		struct object *target = &book->objects[edge->target];

		if (!owns(edge->kind))
			continue;
		if (edge->kind == UNION ||
		    (edge->source != ROOT && !book->objects[edge->source].is_known))
			target->doubtful++;
		else
			target->certain++;
	}
}

/* Marks what roots and owning groups lead to over owners; returns how many are not. */
static int find_reached(void)
{
	bool any = true;
	int lost = 0;

	for (int o = 0; o < book->object_count; o++) {
		struct object *object = &book->objects[o];

		object->is_reached = false;
		for (int l = 0; l < LINKS_MAX; l++)
			if (object->head[l] != NONE && group_of_link(object->type, l)->owns)
				object->is_reached = true;
	}
	while (any) {
		any = false;
		for (size_t e = 0; e < book->edge_count; e++) {
			const struct edge *edge = &book->edges[e];
			struct object *target = &book->objects[edge->target];

			if (target->is_reached || !owns(edge->kind) ||
			    (edge->source != ROOT && !book->objects[edge->source].is_reached))
				continue;
			target->is_reached = any = true;
		}
	}
	for (int o = 0; o < book->object_count; o++)
		lost += !book->objects[o].is_reached;
	return lost;
}

/* Whether the word of `object` at `offset` is a link, a back pointer, or borrows. */
static bool is_known_word(const struct object *object, size_t offset)
{
	const struct type *type = type_of(object);

	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(object->type, l);

		if (!group)
			break;
		if (offset - group->link_offset < (group->kind == SLIST ? 8 : 16) ||
		    (long)offset == group->back_offset)
			return true;
	}
	for (int f = 0; f < type->field_count; f++)
		if (!owns(type->fields[f].kind) && offset == type->fields[f].offset)
			return true;
	return false;
}

/* Counts the words in [start, end) for the objects that they point at; `o` is the
 * object that they are in, or NONE. */
static void scan(const char *start, const char *end, int o)
{
	for (const char *p = start; p + 8 <= end; p += 8) {
		int target = object_at((uint64_t)word_at(p, 0));

		if (target == NONE || target == o)
			continue;
		if (o != NONE && p < book->objects[o].p + type_of(&book->objects[o])->bytes &&
		    is_known_word(&book->objects[o], (size_t)(p - start)))
			continue;
		book->objects[target].strays++;
	}
}

extern char __data_start, _end;

/* All words in used memory that point at objects, less those that own and are counted. */
static void count_strays(void)
{
	for (int o = 0; o < book->object_count; o++)
		book->objects[o].strays = 0;
	scan(&__data_start, &_end, NONE);
	for (size_t b = 0; b < book->block_count; b++) {
		char *p = book->blocks[b];

		scan(p, p + malloc_usable_size(p), NONE);
	}
	for (int o = 0; o < book->object_count; o++) {
		char *p = book->objects[o].p;

		scan(p, p + malloc_usable_size(p), o);
	}
	/* the heads in blocks and variables point at links */
	for (int g = 0; g < GROUPS; g++)
		for (int i = 0; i < groups[g].heads; i++) {
			char *p = head_struct(&groups[g], i) + groups[g].head_offset;
			size_t words = groups[g].kind == LIST || groups[g].kind == TAILQ ? 2
				       : groups[g].kind == HASH_HLIST ? BUCKETS
				       : groups[g].kind == HASH_LIST ? 2 * BUCKETS : 1;

			for (size_t k = 0; k < words; k++) {
				int o = object_at((uint64_t)word_at(p, k * 8));

				if (o != NONE)
					book->objects[o].strays--;
			}
		}
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (owns(edge->kind) && edge->source != edge->target)
			book->objects[edge->target].strays--;
	}
}

/* ---- faults ---- */

static void use(int o)
{
	book->objects[o].is_used = true;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target == o && edge->source != ROOT)
			book->objects[edge->source].is_used = true;
		if (edge->source == o)
			book->objects[edge->target].is_used = true;
	}
}

/* An object that nothing was done to, mostly one that no stray word points at. */
static int choose(void)
{
	bool any = chance(20);

	for (int i = 0; i < 200; i++) {
		int o = (int)draw((unsigned)book->object_count);

		if (!book->objects[o].is_used && (any || !book->objects[o].strays))
			return o;
	}
	return NONE;
}

static struct fault *add_fault(const char *name, const char *codes, void *addr, int victim)
{
	struct fault *fault = &book->faults[book->fault_count++];

	*fault = (struct fault){ .name = name, .codes = codes, .addrs = { addr }, .count = -1 };
	if (victim != NONE) {
		fault->victims[fault->victim_count++] = victim;
		use(victim);
	}
	return fault;
}

static void leak_reference(int o)
{
	count_add(&book->objects[o], 1 + draw(2));
	add_fault("leaked-reference", "surplus", book->objects[o].p, o)->is_spoiled_by_strays = true;
}

static void miss_reference(int o)
{
	struct object *object = &book->objects[o];
	const struct type *type = type_of(object);
	struct fault *fault;

	count_add(object, -1);
	fault = add_fault("missing-reference",
			  type->get(object->p) ? "deficit" : "bad-count,dead-member,dangling",
			  object->p, o);
	fault->count = type->get(object->p);
}

static void lose_last_holder(int o)
{
	struct object *object = &book->objects[o];
	void **word = NULL;

	if (object->certain + object->doubtful != 1)
		return;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target != o || !owns(edge->kind))
			continue;
		if (edge->kind == VECTOR)
			return;
		word = edge->word;
	}
	if (!word)
		return;
	add_fault("lost-holder", "unreachable,surplus", object->p, o)->is_spoiled_by_strays = true;
	*word = NULL;
	collect_edges();
	find_reached();
	for (int i = 0; i < book->object_count; i++) {
		if (book->objects[i].is_reached || book->objects[i].is_used)
			continue;
		/* what hangs on it is lost too; it must be little, and sound */
		use(i);
	}
}

static bool has_sound_group(int o, int *ret_link)
{
	int first = (int)draw(LINKS_MAX);

	for (int i = 0; i < LINKS_MAX; i++) {
		int l = (first + i) % LINKS_MAX;

		if (book->objects[o].head[l] != NONE) {
			*ret_link = l;
			return true;
		}
	}
	return false;
}

static void die_in_group(int o)
{
	struct object *object = &book->objects[o];
	int l;

	if (!has_sound_group(o, &l))
		return;
	type_of(object)->set(object->p, 0);
	add_fault("dead-in-group", "dead-member,bad-count", object->p, o);
}

static void orphan(int o)
{
	struct object *object = &book->objects[o];
	int l;

	if (!has_sound_group(o, &l) ||
	    group_of_link(object->type, l)->back_offset == NONE ||
	    object->certain + object->doubtful < 2)
		return;
	leave(o, l);
	add_fault("orphan", "orphan", object->p, o);
}

/* Whether a group or a typed pointer from what has no magic itself would still tell. */
static bool is_known_without_magic(int o)
{
	for (int l = 0; l < LINKS_MAX; l++)
		if (book->objects[o].head[l] != NONE)
			return true;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target == o && edge->source == ROOT)
			return true;
	}
	return false;
}

static void spoil_magic(int o)
{
	struct object *object = &book->objects[o];
	uint32_t bad = draw(1u << 30);

	if (type_of(object)->magic_offset == NONE || !is_known_without_magic(o))
		return;
	memcpy(object->p + type_of(object)->magic_offset, &bad, sizeof(bad));
	add_fault("bad-magic", "bad-magic", object->p, o);
}

static void spoil_back(int o)
{
	struct object *object = &book->objects[o];
	const struct group *group;
	char *wrong = NULL;
	int l;

	if (!has_sound_group(o, &l))
		return;
	group = group_of_link(object->type, l);
	if (group->back_offset == NONE)
		return;
	if (group->heads > 1)
		wrong = head_struct(group, (object->head[l] + 1) % group->heads);
	memcpy(object->p + group->back_offset, &wrong, sizeof(wrong));
	add_fault("wrong-back-pointer", "wrong-group", object->p, o);
}

static void garbage_cycle(int ignored)
{
	int length = 1 + (int)draw(4), chosen[4], field[4], o[4];
	struct fault *fault;

	(void)ignored;
	for (int attempt = 0; attempt < 300; attempt++) {
		int n = 0;

		for (; n < length; n++)
			chosen[n] = (int)draw(TYPES);
		for (n = 0; n < length; n++) {
			const struct type *type = &types[chosen[n]];

			field[n] = (int)draw((unsigned)type->field_count);
			if (!owns(type->fields[field[n]].kind) ||
			    type->fields[field[n]].kind == UNION ||
			    !fits(&type->fields[field[n]], chosen[(n + 1) % length]))
				break;
		}
		if (n < length)
			continue;
		/* what points at itself may be no holder */
		fault = add_fault("garbage-cycle", length > 1 ? "cycle" : "cycle,unreachable", NULL,
				  NONE);
		for (n = 0; n < length; n++) {
			o[n] = create_object(chosen[n]);
			fault->addrs[n] = book->objects[o[n]].p;
			book->objects[o[n]].is_used = true;
			fault->victims[fault->victim_count++] = o[n];
		}
		for (n = 0; n < length; n++) {
			const struct group *group = group_of_link(chosen[n], 0);

			if (!store(o[n], field[n], o[(n + 1) % length]))
				abort();
			if (group && !group->owns && chance(50))
				join(o[n], 0, (int)draw((unsigned)group->heads));
		}
		fault->is_spoiled_by_strays = true;
		return;
	}
}

/* ---- faults of groups ---- */

/* A group that nothing was done to yet. */
static const struct group *choose_group(const bool *used, int *ret_head)
{
	for (int i = 0; GROUPS && i < 50; i++) {
		int g = (int)draw((unsigned)GROUPS);

		if (used[g])
			continue;
		*ret_head = (int)draw((unsigned)groups[g].heads);
		return &groups[g];
	}
	return NULL;
}

static void spoil_counter(const struct group *group, int head)
{
	if (group->counter_offset == NONE)
		return;
	counter_add(group, head, 1 + draw(3));
	add_fault("wrong-counter", "count-mismatch", head_struct(group, head), NONE);
}

static int choose_member(const struct group *group, int head)
{
	for (int i = 0; i < 300; i++) {
		int o = (int)draw((unsigned)book->object_count);

		for (int l = 0; l < LINKS_MAX; l++)
			if (!book->objects[o].is_used &&
			    group_of_link(book->objects[o].type, l) == group &&
			    book->objects[o].head[l] == head)
				return o;
	}
	return NONE;
}

static void break_link(const struct group *group, int head)
{
	static const uint64_t bad[] = { 0, 0xdead000000000100, 0x4141414141414141, 0x1000 };
	int o = choose_member(group, head);
	uint64_t word = bad[draw(4)];
	struct fault *fault;
	char *place;

	if (o == NONE)
		return;
	place = book->objects[o].p + group->link_offset;
	if (group->kind == SLIST) {
		if (!word || !word_at(place, 0))
			return;
	} else if (group->kind == LIST || group->kind == HASH_LIST) {
		place += 8 * draw(2);
	} else {
		place += 8;
	}
	fault = add_fault("broken-link", "broken-link,list-loop", head_struct(group, head), o);
	fault->addrs[1] = book->objects[o].p;
	broken[broken_count++] = (struct broken){ group, head };
	memcpy(place, &word, sizeof(word));
}

static void plant_group_faults(void)
{
	bool used[GROUPS + 1];

	memset(used, 0, sizeof(used));
	for (int i = 0; i < 3; i++) {
		const struct group *group;
		int head = 0;

		group = choose_group(used, &head);
		if (!group)
			return;
		used[group - groups] = true;
		if (chance(50))
			spoil_counter(group, head);
		else
			break_link(group, head);
	}
}

/* A count that is not what it should be before any fault is a mistake of this program. */
static void check_counts(void)
{
	for (int o = 0; o < book->object_count; o++) {
		const struct object *object = &book->objects[o];

		if (type_of(object)->get(object->p) != (long)(object->certain + object->doubtful)) {
			fprintf(stderr, "t%d %p: count %ld, %u owners\n", object->type,
				(void *)object->p, type_of(object)->get(object->p),
				object->certain + object->doubtful);
			abort();
		}
	}
}

static void plant(int count)
{
	static void (*const plants[])(int) = {
		leak_reference, miss_reference, lose_last_holder, die_in_group, orphan,
		spoil_magic, spoil_back,
	};

	for (int i = 0; count && i < 1 + count / 8; i++)
		garbage_cycle(NONE);
	for (int o = 0; o < book->object_count; o++)
		book->objects[o].is_reached = false;
	qsort(book->objects, (size_t)book->object_count, sizeof(struct object), by_address);
	for (int f = 0; f < book->fault_count; f++)
		for (int v = 0; v < book->faults[f].victim_count; v++)
			book->faults[f].victims[v] = object_at((uint64_t)book->faults[f].addrs[v]);
	collect_edges();
	check_counts();
	count_strays();
	for (int tries = 0; tries < count * 10 && book->fault_count < count; tries++) {
		int o = choose();

		if (o == NONE)
			break;
		plants[draw(sizeof(plants) / sizeof(plants[0]))](o);
		collect_edges();
	}
	if (count)
		plant_group_faults();
}

/* Whether a broken chain that owns its members may have had the object. */
static bool may_be_lost_member(const struct object *object)
{
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(object->type, l);

		for (int i = 0; group && group->owns && object->head[l] == NONE && i < broken_count;
		     i++)
			if (broken[i].group == group)
				return true;
	}
	return false;
}

static void print_faults(void)
{
	collect_edges();
	count_strays();
	for (int f = 0; f < book->fault_count; f++) {
		struct fault *fault = &book->faults[f];

		for (int v = 0; v < fault->victim_count; v++) {
			const struct object *victim = &book->objects[fault->victims[v]];

			if (!victim->is_known ||
			    (fault->is_spoiled_by_strays && may_be_lost_member(victim)) || (fault->is_spoiled_by_strays && victim->strays) ||
			    (fault->count >= 0 && (long)victim->certain <= fault->count))
				fault->is_masked = true;
		}
		printf("FAULT %s %s %s ", fault->name, fault->is_masked ? "masked" : "sure",
		       fault->codes);
		for (int a = 0; a < FAULT_ADDRS && fault->addrs[a]; a++)
			printf("%s0x%lx", a ? "," : "", (unsigned long)fault->addrs[a]);
		putchar('\n');
	}
}

static FIXTURE_NOINLINE void run(void)
{
	int objects = (int)fixture_number("--objects", 2000);

	random_state = fixture_number("--seed", 1) * 0x9e3779b97f4a7c15ull ^ 0x5851f42d4c957f2dull;
	book_open(objects);
	build(objects);
	plant((int)fixture_number("--faults", 0));
	print_faults();
	book_close();
}

int main(int argc, char **argv)
{
	fixture_start(argc, argv);
	run();
	fixture_ready();
}
