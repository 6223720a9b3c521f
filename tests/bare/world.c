/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that nobody wrote for this tool, in a random convention (layout.h, written by
 * tests/tools/bare_gen), with random faults in it.  There is no profile for it.
 *
 *	world --seed=N --faults=N
 *
 * Prints what is true of it, then READY, and waits:
 *
 *	OBJECTS COUNT
 *	FAULT KIND sure|masked CODE[,CODE...] TYPE ADDRESS[,ADDRESS...]
 *
 * Counts are right by construction: attach() and store() alone make owners.  At the end all
 * containers and members are walked once more: each count must be what they say, but for the
 * faults.  Then all used memory is searched: a fault is masked where some other word, a stale
 * one, leads to its object and might be what the count stands for.
 *
 * What is known about the objects is kept in mappings of its own, which are gone before READY.
 */
#include <malloc.h>
#include <stddef.h>
#include <sys/mman.h>

#include "../../fixtures/fixture.h"

enum { NONE = -1, WORDS_MAX = 200000, OBJECTS_MAX = 8000, BLOCKS_MAX = 60000, FAULTS_MAX = 200 };
enum { SLOT_COUNT = 512, BUCKETS = 32, MAP_BUCKETS = 64, SLAB_OBJECTS = 32 };

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct kref {
	refcount_t refcount;
};

struct list_head {
	struct list_head *next, *prev;
};

struct node {
	void *data;
	struct node *next, *prev;
};

struct entry {
	struct entry *next;
	uint64_t hash;
	void *value;
};

struct map {
	struct entry **buckets;
	unsigned size, used;
};

struct tailq {
	void *first, **last;
};

struct table {
	void **items;
	unsigned count, size;
};

struct slab {
	struct slab *next;
	unsigned used;
};

enum field_kind { PTR, ARRAY, VECTOR, VOID, NESTED, NODES, BORROW };
enum root_kind { SLOTS, TABLE, LIST, TAILQ, HASH, CHAIN, TREE, MAP, LAST };

struct field {
	enum field_kind kind;
	int target;
	size_t offset, count_offset; /* a vector's room follows its length */
};

struct root {
	enum root_kind kind;
	bool owns;
	void *base;
	size_t link;             /* a tree's left, right and up stand together */
};

struct type {
	const char *name;
	size_t bytes;
	long (*get)(const void *object);
	void (*set)(void *object, long count);
	void (*dress)(void *object);
	const struct field *fields;
	int field_count, objects, bias;
	bool is_pooled, clears;
	int root_count;
	struct root roots[3];
};

#include "layout.h"

struct object {
	char *p;
	int type;
	long owners;             /* in memory, as the last walk found them */
	long delta;              /* of the count, by a fault */
	unsigned strays;
	bool is_faulty;
};

struct fault {
	const char *kind, *codes;
	char *addrs[2];
	bool is_masked;
};

struct book {
	struct object objects[OBJECTS_MAX];
	int object_count;
	void *blocks[BLOCKS_MAX];
	int block_count;
	void **words[WORDS_MAX]; /* that own, borrow or link */
	int word_count;
	struct fault faults[FAULTS_MAX];
	int fault_count;
};

static struct book *book;
static uint64_t random_state;
static int slot_used[TYPES];
static struct slab *slabs[TYPES];
static void *free_slots[TYPES];
extern char *buffers[64]; /* else the compiler drops what is only written */
char *buffers[64];
static int buffer_count;

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

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void *make(size_t bytes, bool clears)
{
	void *p = clears ? calloc(1, bytes) : malloc(bytes);

	must(p && book->block_count < BLOCKS_MAX);
	book->blocks[book->block_count++] = p;
	return p;
}

static void *remake(void *p, size_t bytes)
{
	for (int i = 0; p; i++) {
		must(i < book->block_count);
		if (book->blocks[i] == p) {
			book->blocks[i] = book->blocks[--book->block_count];
			break;
		}
	}
	p = realloc(p, bytes);
	must(p);
	book->blocks[book->block_count++] = p;
	return p;
}

static void *word_at(const void *p, size_t offset)
{
	void *word;

	memcpy(&word, (const char *)p + offset, sizeof(word));
	return word;
}

/* ---- objects ---- */

static char *take_slot(int t)
{
	size_t stride = (types[t].bytes + 15) & ~(size_t)15;
	char *p = free_slots[t];

	if (p) {
		free_slots[t] = word_at(p, 0);
		return p;
	}
	if (!slabs[t] || slabs[t]->used == SLAB_OBJECTS) {
		struct slab *slab = make(sizeof(*slab) + stride * SLAB_OBJECTS, true);

		slab->next = slabs[t];
		slabs[t] = slab;
	}
	return (char *)(slabs[t] + 1) + stride * slabs[t]->used++;
}

static void clear_members(char *p, const struct type *type)
{
	for (int f = 0; f < type->field_count; f++) {
		const struct field *field = &type->fields[f];

		memset(p + field->offset, 0, field->kind == ARRAY ? 24 : 8);
		if (field->kind == VECTOR)
			memset(p + field->count_offset, 0, 8);
	}
	for (int r = 0; r < type->root_count; r++)
		memset(p + type->roots[r].link, 0,
		       type->roots[r].kind == TREE ? 24
		       : type->roots[r].kind == LIST || type->roots[r].kind == TAILQ ? 16
		       : type->roots[r].kind == HASH ? 8 : 0);
}

/* Without an owner: its count says so. */
static int create_object(int t)
{
	const struct type *type = &types[t];
	char *p = type->is_pooled ? take_slot(t) : make(type->bytes, type->clears);
	int o = book->object_count++;

	must(o < OBJECTS_MAX);
	if (type->clears || type->is_pooled)
		memset(p, 0, type->bytes);
	clear_members(p, type);
	type->dress(p);
	type->set(p, type->bias);
	book->objects[o] = (struct object){ .p = p, .type = t };
	return o;
}

static const struct type *type_of(int o)
{
	return &types[book->objects[o].type];
}

static void count_add(int o, long delta)
{
	char *p = book->objects[o].p;

	type_of(o)->set(p, type_of(o)->get(p) + delta);
}

/* Objects that were released: copies of living ones, in free memory. */
static FIXTURE_NOINLINE void leave_ghosts(int count)
{
	enum { BATCH = 16 };
	void *ghosts[BATCH] = { NULL };

	for (int i = 0; book->object_count && i < count && i < BATCH; i++) {
		int o = (int)draw((unsigned)book->object_count), t = book->objects[o].type;
		char *ghost = types[t].is_pooled ? take_slot(t) : malloc(types[t].bytes);

		must(ghost);
		memcpy(ghost, book->objects[o].p, types[t].bytes);
		types[t].set(ghost, types[t].bias);
		if (types[t].is_pooled) {
			memcpy(ghost, &free_slots[t], sizeof(void *));
			free_slots[t] = ghost;
		} else {
			ghosts[i] = ghost;
		}
	}
	for (int i = 0; i < BATCH; i++)
		free(ghosts[i]);
	memset(ghosts, 0, sizeof(ghosts));
}

/* ---- holders ---- */

static void push(struct table *table, void *value)
{
	if (table->count == table->size) {
		table->size = table->size ? table->size * 2 : 2;
		table->items = remake(table->items, table->size * sizeof(void *));
	}
	table->items[table->count++] = value;
}

static void push_node(struct node **head, void *value)
{
	struct node *node = make(sizeof(*node), false);

	*node = (struct node){ value, *head, NULL };
	if (*head)
		(*head)->prev = node;
	*head = node;
}

static void insert_in_tree(char **place, char *p, size_t link)
{
	char *up = NULL;

	while (*place) {
		up = *place;
		place = (char **)(up + link + 8 * draw(2));
	}
	*place = p;
	memcpy(p + link + 16, &up, sizeof(up));
}

static void insert_in_map(struct map *map, void *value)
{
	struct entry *entry = make(sizeof(*entry), false);
	unsigned bucket = draw(MAP_BUCKETS);

	if (!map->buckets) {
		map->size = MAP_BUCKETS;
		map->buckets = make(MAP_BUCKETS * sizeof(void *), true);
	}
	*entry = (struct entry){ map->buckets[bucket], (uint64_t)draw(1 << 30) << 6 | bucket, value };
	map->buckets[bucket] = entry;
	map->used++;
}

static void insert_in_list(struct list_head *head, struct list_head *node)
{
	if (!head->next)
		head->next = head->prev = head;
	*node = (struct list_head){ head, head->prev };
	head->prev->next = node;
	head->prev = node;
}

static void insert_in_queue(struct tailq *queue, char *p, size_t link)
{
	if (!queue->last)
		queue->last = &queue->first;
	memset(p + link, 0, sizeof(void *));
	memcpy(p + link + 8, &queue->last, sizeof(void *));
	*queue->last = p;
	queue->last = (void **)(p + link);
}

static void insert(int o, const struct root *root)
{
	char *p = book->objects[o].p, **bucket;
	int t = book->objects[o].type;

	switch (root->kind) {
	case SLOTS:
		must(slot_used[t] < SLOT_COUNT);
		((void **)root->base)[slot_used[t]++] = p;
		break;
	case TABLE:
		push(root->base, p);
		break;
	case LIST:
		insert_in_list(root->base, (struct list_head *)(p + root->link));
		break;
	case TAILQ:
		insert_in_queue(root->base, p, root->link);
		break;
	case HASH:
		bucket = (char **)root->base + draw(BUCKETS);
		memcpy(p + root->link, bucket, sizeof(*bucket));
		*bucket = p;
		break;
	case CHAIN:
		push_node(root->base, p);
		break;
	case TREE:
		insert_in_tree(root->base, p, root->link);
		break;
	case MAP:
		insert_in_map(root->base, p);
		break;
	case LAST:
		*(void **)root->base = p;
		break;
	}
	if (root->owns)
		count_add(o, 1);
}

/* Stores a pointer to `target` in a member of `source`; false if it has no room. */
static bool store(int source, int f, int target)
{
	const struct field *field = &type_of(source)->fields[f];
	char *place = book->objects[source].p + field->offset, *value = book->objects[target].p;
	struct table table;

	if (field->target != book->objects[target].type || source == target)
		return false;
	switch (field->kind) {
	case VECTOR:
		table.items = word_at(place, 0);
		memcpy(&table.count, book->objects[source].p + field->count_offset, 8);
		push(&table, value);
		memcpy(place, &table.items, sizeof(void *));
		memcpy(book->objects[source].p + field->count_offset, &table.count, 8);
		break;
	case NODES:
		push_node((struct node **)place, value);
		break;
	default:
		for (int i = 0; word_at(place, 0); place += sizeof(void *))
			if (field->kind != ARRAY || ++i == 3)
				return false;
		memcpy(place, &value, sizeof(value));
		break;
	}
	if (field->kind != BORROW)
		count_add(target, 1);
	return true;
}

/* A vector's last element is taken out; it stays where it was. */
static void pop(int source, int f)
{
	const struct field *field = &type_of(source)->fields[f];
	char *p = book->objects[source].p;
	unsigned count;

	memcpy(&count, p + field->count_offset, sizeof(count));
	count--;
	memcpy(p + field->count_offset, &count, sizeof(count));
}

static void cross_reference(int source)
{
	const struct type *type = type_of(source);

	for (int f = 0; f < type->field_count; f++) {
		bool is_vector = type->fields[f].kind == VECTOR;

		for (int i = 0; i < 6 && chance(55); i++) {
			int target = (int)draw((unsigned)book->object_count);

			if (!store(source, f, target))
				continue;
			if (is_vector && chance(15)) {
				pop(source, f);
				count_add(target, -1);
			}
		}
	}
}

/* Every object has an owner: a member of an earlier one, or its type's first container. */
static void attach(int o)
{
	for (int i = 0; o > 8 && i < 12; i++) {
		int source = (int)draw((unsigned)o);
		int f = (int)draw((unsigned)type_of(source)->field_count);

		if (type_of(source)->fields[f].kind != BORROW && chance(60) && store(source, f, o))
			return;
	}
	insert(o, &type_of(o)->roots[0]);
}

/* The containers beside the first: of all objects, or, for a table that borrows, of some. */
static void enrol(int o)
{
	const struct type *type = type_of(o);

	for (int r = 1; r < type->root_count; r++)
		if (type->roots[r].owns || type->roots[r].kind != TABLE || chance(30))
			insert(o, &type->roots[r]);
}

static void leave_buffer(void)
{
	size_t bytes = 24 + draw(300);
	char *buffer = make(bytes, false);

	snprintf(buffer, bytes, "buffer %d", buffer_count);
	buffers[buffer_count++ % 64] = buffer;
}

static FIXTURE_NOINLINE void build(void)
{
	int left[TYPES], all = 0;

	for (int t = 0; t < TYPES; t++)
		all += left[t] = types[t].objects;
	while (all) {
		int t = (int)draw(TYPES);

		if (!left[t])
			continue;
		left[t]--;
		all--;
		t = create_object(t);
		attach(t);
		enrol(t);
		if (chance(15))
			leave_ghosts(1 + (int)draw(6));
		if (chance(3))
			leave_buffer();
	}
	for (int o = 0; o < book->object_count; o++) {
		cross_reference(o);
		if (chance(10))
			leave_ghosts(1 + (int)draw(6));
	}
}

/* ---- truth ---- */

static int by_address(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

static int by_word(const void *a, const void *b)
{
	void **x = *(void **const *)a, **y = *(void **const *)b;

	return x < y ? -1 : x > y;
}

/* The object around `addr`, or NONE; objects are in order. */
static int object_at(const void *addr)
{
	int low = 0, high = book->object_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (book->objects[middle].p <= (const char *)addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low-- && (size_t)((const char *)addr - book->objects[low].p) < type_of(low)->bytes
		       ? low : NONE;
}

static void know(void *word, bool owns)
{
	int target = object_at(*(void **)word);

	must(book->word_count < WORDS_MAX);
	book->words[book->word_count++] = word;
	if (owns && target != NONE)
		book->objects[target].owners++;
}

static void walk_field(char *p, const struct field *field)
{
	char *place = p + field->offset;
	unsigned count = field->kind == ARRAY ? 3 : 1;

	if (field->kind == NODES) {
		for (struct node *node = word_at(place, 0); node; node = node->next)
			know(&node->data, true);
		return;
	}
	if (field->kind == VECTOR) {
		memcpy(&count, p + field->count_offset, sizeof(count));
		place = word_at(place, 0);
	}
	for (unsigned i = 0; i < count; i++)
		know(place + 8 * i, field->kind != BORROW);
}

static void walk_map(const struct map *map, bool owns)
{
	for (unsigned b = 0; b < map->size; b++)
		for (struct entry *entry = map->buckets[b]; entry; entry = entry->next)
			know(&entry->value, owns);
}

/* What of a container stands outside its objects. */
static void walk_root(const struct root *root)
{
	struct table *table = root->base;

	switch (root->kind) {
	case TABLE:
		for (unsigned i = 0; i < table->count; i++)
			know(&table->items[i], root->owns);
		break;
	case CHAIN:
		for (struct node *node = *(struct node **)root->base; node; node = node->next)
			know(&node->data, root->owns);
		break;
	case MAP:
		walk_map(root->base, root->owns);
		break;
	case LIST:
	case TAILQ:
		know(root->base, false);
		know((char *)root->base + 8, false);
		break;
	case LAST:
		break; /* nothing tells what a single word is worth: stray */
	default:
		for (int i = 0; i < (root->kind == SLOTS ? SLOT_COUNT
				     : root->kind == HASH ? BUCKETS : 1); i++)
			know((char *)root->base + 8 * i, root->owns);
		break;
	}
}

/* What of the containers stands in object `o`. */
static void walk_links(int o)
{
	char *p = book->objects[o].p;

	for (int r = 0; r < type_of(o)->root_count; r++) {
		const struct root *root = &type_of(o)->roots[r];
		int words = root->kind == TREE ? 3 : root->kind == HASH ? 1
			    : root->kind == LIST || root->kind == TAILQ ? 2 : 0;

		for (int i = 0; i < words; i++)
			know(p + root->link + 8 * i,
			     root->owns && (root->kind == HASH || (root->kind == TREE && i < 2)));
		if (root->kind == LIST && root->owns && word_at(p, root->link))
			book->objects[o].owners++;
	}
}

/* Walks everything; each count must be what that says. */
static void walk(void)
{
	qsort(book->objects, (size_t)book->object_count, sizeof(struct object), by_address);
	book->word_count = 0;
	for (int o = 0; o < book->object_count; o++)
		book->objects[o].owners = 0;
	for (int o = 0; o < book->object_count; o++) {
		for (int f = 0; f < type_of(o)->field_count; f++)
			walk_field(book->objects[o].p, &type_of(o)->fields[f]);
		walk_links(o);
	}
	for (int t = 0; t < TYPES; t++)
		for (int r = 0; r < types[t].root_count; r++)
			walk_root(&types[t].roots[r]);
	qsort(book->words, (size_t)book->word_count, sizeof(void **), by_word);
	for (int o = 0; o < book->object_count; o++)
		must(type_of(o)->get(book->objects[o].p) ==
		     book->objects[o].owners + type_of(o)->bias + book->objects[o].delta);
}

static void scan(char *start, char *end)
{
	for (char *p = start; p + 8 <= end; p += 8) {
		int target = object_at(word_at(p, 0));
		void **word = (void **)p;

		if (target == NONE || object_at(p) == target ||
		    bsearch(&word, book->words, (size_t)book->word_count, sizeof(word), by_word))
			continue;
		book->objects[target].strays++;
	}
}

extern char __data_start, _end;

static void count_strays(void)
{
	scan(&__data_start, &_end);
	for (int b = 0; b < book->block_count; b++) {
		char *p = book->blocks[b];

		scan(p, p + malloc_usable_size(p));
	}
}

/* ---- faults ---- */

static void add_fault(const char *kind, const char *codes, int first, int second)
{
	struct fault *fault = &book->faults[book->fault_count++];

	must(book->fault_count <= FAULTS_MAX);
	*fault = (struct fault){ .kind = kind, .codes = codes };
	fault->addrs[0] = book->objects[first].p;
	book->objects[first].is_faulty = true;
	if (second == NONE)
		return;
	fault->addrs[1] = book->objects[second].p;
	book->objects[second].is_faulty = true;
}

static void lose(int like)
{
	int o = create_object(book->objects[like].type);

	enrol(o);
	cross_reference(o);
	count_add(o, 1);
	book->objects[o].delta = 1;
	add_fault("lost", "unreachable,surplus", o, NONE);
}

static void miscount(int o, long delta)
{
	if (book->objects[o].is_faulty || book->objects[o].owners + delta < 1)
		return;
	count_add(o, delta);
	book->objects[o].delta = delta;
	add_fault(delta > 0 ? "surplus" : "deficit", delta > 0 ? "surplus" : "deficit,bad-count", o,
		  NONE);
}

static bool has_registry(int t)
{
	return types[t].root_count > 1 && types[t].roots[1].owns;
}

/* A member of objects of type `t` that owns one of type `target`, or NONE. */
static int find_owner(int t, int target)
{
	for (int f = 0; f < types[t].field_count; f++)
		if (types[t].fields[f].target == target && types[t].fields[f].kind != BORROW)
			return f;
	return NONE;
}

static void lose_cycle(int t)
{
	int other = (int)draw(TYPES), there = find_owner(t, other), back = find_owner(other, t);
	int a, b;

	if (there == NONE || back == NONE || has_registry(t) || has_registry(other))
		return;
	a = create_object(t);
	b = create_object(other);
	enrol(a);
	enrol(b);
	must(store(a, there, b) && store(b, back, a));
	cross_reference(a);
	cross_reference(b);
	add_fault("cycle", "cycle", a, b);
}

static FIXTURE_NOINLINE void plant(int count)
{
	walk();
	for (int i = 0; i < count; i++) {
		int o = (int)draw((unsigned)book->object_count);
		unsigned kind = draw(100);

		if (kind < 30)
			lose(o);
		else if (kind < 60)
			miscount(o, 1);
		else if (kind < 85)
			miscount(o, -1);
		else
			lose_cycle(book->objects[o].type);
	}
}

static FIXTURE_NOINLINE void tell(void)
{
	walk();
	count_strays();
	printf("OBJECTS %d\n", book->object_count);
	for (int i = 0; i < book->fault_count; i++) {
		struct fault *fault = &book->faults[i];
		int first = object_at(fault->addrs[0]);

		for (int k = 0; k < 2 && fault->addrs[k]; k++)
			fault->is_masked |= book->objects[object_at(fault->addrs[k])].strays > 0;
		if (!strcmp(fault->kind, "deficit"))
			fault->is_masked = false;
		printf("FAULT %s %s %s %s %p", fault->kind, fault->is_masked ? "masked" : "sure",
		       fault->codes, type_of(first)->name, (void *)fault->addrs[0]);
		if (fault->addrs[1])
			printf(",%p", (void *)fault->addrs[1]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	int faults;

	fixture_start(argc, argv);
	random_state = (fixture_number("--seed", 1) + 7) * 0x9e3779b97f4a7c15ull;
	faults = (int)fixture_number("--faults", 0);
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(book != MAP_FAILED);
	build();
	plant(faults);
	tell();
	munmap(book, sizeof(*book));
	book = NULL;
	fixture_ready();
}
