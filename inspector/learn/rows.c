/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From edges to rows.  A class that is too coarse makes false findings, one too fine only
 * undecided ones: what is not known to be alike is kept apart.
 *
 *   a field, a variable, a pointer array, a membership   as the census names it
 *   a large untyped block         each one by itself: one may be a vector of owners, the
 *                                 next a table of borrowers
 *   a pointer into the middle     by the offset that it points at
 *   stack, registers, other mappings, data without a symbol, doubtful places
 *                                 possible, never learned
 *   a word inside the object itself  no holder
 *   a list's head            where it points at a link member, as the links of the type that
 *                            point there (its own class would be too rare to be learned)
 *
 * Rows are found again by a hash; cost: the edges to the objects, and one look-up each
 * for their source where the class needs it.
 */
#include "learn/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

#define HEAD_HOLDERS_MAX 3 /* of a head's class: more can be learned */
#define LINKS_MIN 3        /* of the links' class */
#define COUNT_MAX (1ll << 40) /* counts beyond are no numbers of holders */

bool ri_rows_is_judged(const struct ri_population *population, uint32_t o)
{
	const struct ri_object *object = &population->objects[o];

	return !(object->state &
		 (RI_OBJECT_FREED | RI_OBJECT_MAGIC_DEAD | RI_OBJECT_DOUBTED_BITS |
		  RI_OBJECT_MAGIC_BAD | RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_SATURATED | RI_OBJECT_IMMORTAL |
		  RI_OBJECT_IGNORE | RI_OBJECT_DESCRIPTOR_BAD)) &&
	       object->count < COUNT_MAX && object->count > -COUNT_MAX;
}

int ri_rows_compare_splits(const void *a, const void *b)
{
	const struct ri_rows_split *x = a, *y = b;

	if (x->holder_class != y->holder_class)
		return x->holder_class < y->holder_class ? -1 : 1;
	return x->container < y->container ? -1 : x->container > y->container;
}

/* Whether that container is split off its class; RI_NONE: whether any is. */
static bool is_split(const ri_rows_splits *splits, uint32_t holder_class, uint32_t container)
{
	const struct ri_rows_split key = { holder_class, container == RI_NONE ? 0 : container };
	const struct ri_rows_split *found;
	size_t low = 0, high = splits->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ri_rows_compare_splits(&splits->items[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	found = low < splits->count ? &splits->items[low] : NULL;
	return found && found->holder_class == holder_class &&
	       (container == RI_NONE || found->container == container);
}

/* Where the edge's word points, from the object's P. */
static int64_t target_offset(const struct ri_ownership_input *input, uint32_t o, uint64_t edge)
{
	uint64_t addr = ri_holders_word_addr(input->holders, input->population, input->heap, edge);
	uint64_t value;

	if (!addr || !ri_image_read_u64(input->image, addr, &value))
		return 0;
	return (int64_t)(value - input->population->objects[o].addr);
}

static enum ri_rows_role role_of_declared(const struct ri_edge *edge)
{
	if (edge->flags & RI_EDGE_BORROWS)
		return RI_ROWS_NOTHING;
	return edge->flags & RI_EDGE_POSSIBLE ? RI_ROWS_POSSIBLE : RI_ROWS_DECLARED;
}

enum ri_rows_role ri_rows_role_of(const struct ri_ownership_input *input,
				  const ri_rows_splits *splits, uint32_t o, uint64_t e,
				  struct ri_rows_key *ret_key)
{
	const struct ri_edge *edge = &input->holders->edges[e];
	const struct ri_holder_class *class = &input->shapes->classes.items[edge->class_index];
	bool is_large = class->kind == RI_CLASS_UNTYPED_BLOCK && !strchr(class->name, '+');

	if (edge->flags & (RI_EDGE_LINK | RI_EDGE_EMBEDS) || class->count_index)
		return RI_ROWS_NOTHING;
	if (class->is_declared)
		return role_of_declared(edge);
	if (class->kind == RI_CLASS_STACK || class->kind == RI_CLASS_REGISTER ||
	    class->kind == RI_CLASS_MAPPING || class->kind == RI_CLASS_STATIC)
		return RI_ROWS_POSSIBLE;
	if (edge->flags & RI_EDGE_UNSURE && !(edge->flags & RI_EDGE_INTERIOR))
		return RI_ROWS_POSSIBLE;
	*ret_key = (struct ri_rows_key){ edge->class_index, RI_NONE, 0 };
	if (edge->flags & RI_EDGE_INTERIOR)
		ret_key->target_offset = target_offset(input, o, e);
	if (is_large || is_split(splits, edge->class_index, RI_NONE)) {
		uint32_t source = ri_holders_source(input->holders, e);

		if (is_large || is_split(splits, edge->class_index, source))
			ret_key->container = source;
	}
	return RI_ROWS_LEARNED;
}

/* ---- tables ----------------------------------------------------------------- */

/* Indices by hash, open addressing; 0: empty, else index + 1. */
struct table {
	uint32_t *slots;
	size_t capacity, count;  /* capacity: a power of two */
};

static void table_grow(struct table *table)
{
	free(table->slots);
	table->capacity = table->capacity ? table->capacity * 2 : 256;
	table->slots = ri_calloc(table->capacity, sizeof(*table->slots));
}

static bool table_is_full(const struct table *table)
{
	return table->count * 2 >= table->capacity;
}

struct maker {
	struct ri_rows *rows;
	const struct ri_ownership_input *input;
	struct table row_table;
	RI_VEC(uint64_t) row_hashes;
	RI_VEC(struct ri_fit_entry) entries; /* of the row being made */
	RI_VEC(uint32_t) place; /* per class: 1 + its place in entries, 0: not there */
};

static uint64_t hash_key(const struct ri_rows_key *key)
{
	return ri_hash_u64(ri_hash_u64((uint64_t)key->holder_class << 32 | key->container) ^
			   (uint64_t)key->target_offset);
}

/* The slot of `key`: empty, or 1 + the class with that key. */
static uint32_t *class_slot(const struct ri_rows *rows, const struct ri_rows_key *key)
{
	size_t i = hash_key(key) & (rows->class_capacity - 1);

	for (; rows->class_slots[i]; i = (i + 1) & (rows->class_capacity - 1)) {
		const struct ri_rows_key *other = &rows->classes.items[rows->class_slots[i] - 1];

		if (other->holder_class == key->holder_class &&
		    other->container == key->container &&
		    other->target_offset == key->target_offset)
			break;
	}
	return &rows->class_slots[i];
}

static void index_classes(struct ri_rows *rows, size_t capacity)
{
	free(rows->class_slots);
	rows->class_capacity = capacity;
	rows->class_slots = ri_calloc(capacity, sizeof(*rows->class_slots));
	for (uint32_t k = 0; k < rows->classes.count; k++)
		*class_slot(rows, &rows->classes.items[k]) = k + 1;
}

uint32_t ri_rows_find_class(const struct ri_rows *rows, const struct ri_rows_key *key)
{
	uint32_t slot = *class_slot(rows, key);

	assert(slot);
	return rows->alias_of[slot - 1];
}

static uint32_t get_class(struct maker *maker, const struct ri_rows_key *key)
{
	struct ri_rows *rows = maker->rows;
	uint32_t *slot;

	if (rows->classes.count * 2 >= rows->class_capacity)
		index_classes(rows, rows->class_capacity ? rows->class_capacity * 2 : 256);
	slot = class_slot(rows, key);
	if (!*slot) {
		*ri_push(&rows->classes) = *key;
		*ri_push(&maker->place) = 0;
		*slot = (uint32_t)rows->classes.count;
	}
	return *slot - 1;
}

static int by_class(const void *a, const void *b)
{
	const struct ri_fit_entry *x = a, *y = b;

	return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

static uint64_t hash_row(const struct maker *maker, int64_t count, uint64_t slack)
{
	uint64_t hash = ri_hash_u64((uint64_t)count ^ ri_hash_u64(slack));

	for (size_t i = 0; i < maker->entries.count; i++)
		hash = ri_hash_u64(hash ^ ((uint64_t)maker->entries.items[i].class_index << 32 |
					   maker->entries.items[i].holders));
	return hash;
}

static bool is_row(const struct maker *maker, uint32_t r, int64_t count, uint64_t slack)
{
	const struct ri_fit_row *row = &maker->rows->rows.items[r];

	return row->count == count && row->slack == slack &&
	       row->entry_count == maker->entries.count &&
	       (!row->entry_count || !memcmp(&maker->rows->entries.items[row->first],
					     maker->entries.items,
					     row->entry_count * sizeof(struct ri_fit_entry)));
}

/* The row with that count and slack and the maker's entries. */
static uint32_t find_row(struct maker *maker, int64_t count, uint64_t slack)
{
	struct table *table = &maker->row_table;
	uint64_t hash = hash_row(maker, count, slack);
	uint32_t r = (uint32_t)maker->rows->rows.count;
	size_t i;

	if (table_is_full(table)) {
		table_grow(table);
		for (uint32_t j = 0; j < r; j++) {
			size_t at = maker->row_hashes.items[j] & (table->capacity - 1);

			while (table->slots[at])
				at = (at + 1) & (table->capacity - 1);
			table->slots[at] = j + 1;
		}
	}
	for (i = hash & (table->capacity - 1); table->slots[i];
	     i = (i + 1) & (table->capacity - 1)) {
		uint32_t other = table->slots[i] - 1;

		if (maker->row_hashes.items[other] == hash && is_row(maker, other, count, slack))
			return other;
	}
	table->slots[i] = r + 1;
	table->count++;
	*ri_push(&maker->row_hashes) = hash;
	*ri_push(&maker->rows->rows) =
		(struct ri_fit_row){ .count = count,
				     .slack = slack,
				     .first = maker->rows->entries.count,
				     .entry_count = (uint32_t)maker->entries.count };
	for (size_t k = 0; k < maker->entries.count; k++)
		*ri_push(&maker->rows->entries) = maker->entries.items[k];
	return r;
}

/* ---- objects ---------------------------------------------------------------- */

static void count_holder(struct maker *maker, uint32_t k)
{
	if (!maker->place.items[k]) {
		*ri_push(&maker->entries) = (struct ri_fit_entry){ k, 0 };
		maker->place.items[k] = (uint32_t)maker->entries.count;
	}
	maker->entries.items[maker->place.items[k] - 1].holders++;
}

static void add_object(struct maker *maker, const ri_rows_splits *splits, uint32_t o)
{
	const struct ri_holders *holders = maker->input->holders;
	uint64_t slack = 0;
	int64_t base = 0;
	uint32_t row;

	maker->entries.count = 0;
	for (uint64_t i = holders->in_first[o]; i < holders->in_first[o + 1]; i++) {
		uint64_t e = holders->in_edges[i];
		struct ri_rows_key key;

		switch (ri_rows_role_of(maker->input, splits, o, e, &key)) {
		case RI_ROWS_NOTHING:
			break;
		case RI_ROWS_DECLARED:
			base += maker->input->shapes->classes.items[holders->edges[e].class_index]
					.weight;
			break;
		case RI_ROWS_POSSIBLE:
			slack++;
			break;
		case RI_ROWS_LEARNED:
			count_holder(maker, get_class(maker, &key));
			break;
		}
	}
	for (size_t i = 0; i < maker->entries.count; i++)
		maker->place.items[maker->entries.items[i].class_index] = 0;
	if (maker->entries.count)
		qsort(maker->entries.items, maker->entries.count, sizeof(struct ri_fit_entry),
		      by_class);
	row = find_row(maker, maker->input->population->objects[o].count - base, slack);
	maker->rows->rows.items[row].objects++;
	*ri_push(&maker->rows->row_of) = row;
	*ri_push(&maker->rows->base_of) = base;
}

/* ---- an order that does not depend on addresses ------------------------------ */

struct named_key {
	const char *name;
	struct ri_rows_key key;
	uint32_t old;
};

static int by_name(const void *a, const void *b)
{
	const struct named_key *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->key.target_offset != y->key.target_offset)
		return x->key.target_offset < y->key.target_offset ? -1 : 1;
	return x->key.container < y->key.container ? -1 : x->key.container > y->key.container;
}

/* Sorts the classes by name, so that ties are broken the same way from dump to dump. */
static void sort_classes(struct maker *maker)
{
	struct ri_rows *rows = maker->rows;
	size_t count = rows->classes.count;
	struct named_key *order = ri_calloc(count + 1, sizeof(*order));
	uint32_t *new_of = ri_calloc(count + 1, sizeof(*new_of));

	for (size_t k = 0; k < count; k++) {
		const struct ri_rows_key *key = &rows->classes.items[k];

		order[k] = (struct named_key){
			maker->input->shapes->classes.items[key->holder_class].name, *key,
			(uint32_t)k
		};
	}
	qsort(order, count, sizeof(*order), by_name);
	for (size_t k = 0; k < count; k++) {
		rows->classes.items[k] = order[k].key;
		new_of[order[k].old] = (uint32_t)k;
	}
	for (size_t i = 0; i < rows->entries.count; i++)
		rows->entries.items[i].class_index = new_of[rows->entries.items[i].class_index];
	if (count)
		index_classes(rows, rows->class_capacity);
	free(new_of);
	free(order);
}

/* ---- heads of lists ----------------------------------------------------------- */

/* The member that a class is named for: "prev" of "conn.link.prev". */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static const struct ri_holder_class *class_of(const struct maker *maker, size_t k)
{
	return &maker->input->shapes->classes.items[maker->rows->classes.items[k].holder_class];
}

/* Whether class `k` is a member of objects of `type` that points into objects of `type`. */
static bool is_link(const struct maker *maker, size_t k, const char *type)
{
	const struct ri_holder_class *class = class_of(maker, k);
	size_t length = strlen(type);

	return maker->rows->classes.items[k].target_offset && class->kind == RI_CLASS_FIELD &&
	       !strncmp(class->name, type, length) && class->name[length] == '.';
}

static bool may_be_head(const struct maker *maker, size_t k)
{
	enum ri_class_kind kind = class_of(maker, k)->kind;

	return maker->rows->classes.items[k].target_offset &&
	       (kind == RI_CLASS_VARIABLE || kind == RI_CLASS_FIELD || kind == RI_CLASS_PLAIN_FIELD);
}

/* The links that a head of few holders goes with: by where they point, and by name where
 * several point there; `k` itself if there are none. */
static uint32_t find_links(const struct maker *maker, const uint64_t *objects, uint32_t k,
			   const char *type)
{
	const struct ri_rows_key *keys = maker->rows->classes.items;
	uint32_t found = k;

	for (uint32_t other = 0; other < maker->rows->classes.count; other++) {
		if (other == k || keys[other].target_offset != keys[k].target_offset ||
		    objects[other] < LINKS_MIN || !is_link(maker, other, type))
			continue;
		if (found == k || !strcmp(last_part(class_of(maker, other)->name),
					  last_part(class_of(maker, k)->name)))
			found = other;
	}
	return found;
}

/* Takes the entries of row `r` for what their classes count for. */
static void rename_entries(struct ri_rows *rows, struct ri_fit_row *row)
{
	struct ri_fit_entry *entries = &rows->entries.items[row->first];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < row->entry_count; i++)
		entries[i].class_index = rows->alias_of[entries[i].class_index];
	if (row->entry_count)
		qsort(entries, row->entry_count, sizeof(*entries), by_class);
	for (uint32_t i = 0; i < row->entry_count; i++) {
		if (kept && entries[kept - 1].class_index == entries[i].class_index)
			entries[kept - 1].holders += entries[i].holders;
		else
			entries[kept++] = entries[i];
	}
	row->entry_count = kept;
}

/* Gives heads of lists the classes of their links. */
static void join_heads(struct maker *maker, const char *type)
{
	struct ri_rows *rows = maker->rows;
	uint64_t *objects = ri_calloc(rows->classes.count + 1, sizeof(*objects));
	bool any = false;

	rows->alias_of = ri_calloc(rows->classes.count + 1, sizeof(*rows->alias_of));
	for (size_t r = 0; r < rows->rows.count; r++)
		for (uint32_t i = 0; i < rows->rows.items[r].entry_count; i++)
			objects[rows->entries.items[rows->rows.items[r].first + i].class_index] +=
				rows->rows.items[r].objects;
	for (uint32_t k = 0; k < rows->classes.count; k++) {
		rows->alias_of[k] = k;
		if (objects[k] < HEAD_HOLDERS_MAX && may_be_head(maker, k))
			rows->alias_of[k] = find_links(maker, objects, k, type);
		any |= rows->alias_of[k] != k;
	}
	for (size_t r = 0; any && r < rows->rows.count; r++)
		rename_entries(rows, &rows->rows.items[r]);
	free(objects);
}

void ri_rows_init(struct ri_rows *rows, const struct ri_ownership_input *input,
		  const uint32_t *objects, size_t count, const ri_rows_splits *splits)
{
	struct maker maker = { .rows = rows, .input = input };

	memset(rows, 0, sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		add_object(&maker, splits, objects[i]);
	sort_classes(&maker);
	join_heads(&maker, count ? input->population->types[input->population->objects[objects[0]].type].name
				 : "");
	free(maker.row_table.slots);
	ri_vec_deinit(&maker.row_hashes);
	ri_vec_deinit(&maker.entries);
	ri_vec_deinit(&maker.place);
}

void ri_rows_deinit(struct ri_rows *rows)
{
	free(rows->class_slots);
	free(rows->alias_of);
	ri_vec_deinit(&rows->classes);
	ri_vec_deinit(&rows->rows);
	ri_vec_deinit(&rows->entries);
	ri_vec_deinit(&rows->row_of);
	ri_vec_deinit(&rows->base_of);
}
