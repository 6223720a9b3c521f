/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is true of the world of world.c: who holds whom, what leads where, what can be told
 * from memory alone, and which stray words point at what.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include "groups.h"

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

		if ((uint64_t)book->objects[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low--)
		return NONE;
	return addr - (uint64_t)book->objects[low].start < book->objects[low].room
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

static bool is_broken(const struct group *group, int head)
{
	for (int i = 0; i < broken_count; i++)
		if (broken[i].group == group && broken[i].head == head)
			return true;
	return false;
}

/* Whether a walk along the group gets to all members: a chain without way back ends where it
 * is broken. */
static bool is_walked(const struct group *group, int head)
{
	return (group->kind != SLIST && group->kind != STAILQ) || !is_broken(group, head);
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
			object->is_sure |=
				object->head[l] != NONE &&
				is_walked(group_of_link(object->type, l), object->head[l]);
		object->is_known = object->is_sure || type_of(object)->magic_offset != NONE;
	}
	while (any) {
		any = false;
		for (size_t e = 0; e < book->edge_count; e++) {
			const struct edge *edge = &book->edges[e];
			const struct object *source =
				edge->source == ROOT ? NULL : &book->objects[edge->source];
			struct object *target = &book->objects[edge->target];

			if (!is_typed(edge->kind) && edge->kind != BORROW && edge->kind != TLS)
				continue;
			if (!target->is_known && (!source || source->is_sure))
				target->is_known = any = true;
			if (!target->is_sure && target->is_known && (!source || source->is_known))
				target->is_sure = any = true;
		}
	}
}

/* The words that the program knows of: edges from objects and from roots. */
static void collect_edges(void)
{
	book->edge_count = 0;
	for (int o = 0; o < book->object_count; o++)
		if (!book->objects[o].is_freed)
			collect_fields(o);
	for (int t = 0; t < TYPES; t++)
		for (int i = 0; i < book->table_used[t]; i++)
			put_edge(ROOT,
				 i < STATIC_SLOTS ? &types[t].array[i]
						  : &(*types[t].table)[i - STATIC_SLOTS],
				 PTR);
	for (int t = 0; t < TYPES; t++)
		for (int i = 0; i < book->tls_used[t]; i++)
			put_edge(ROOT, tls_word(t, i), TLS);
	for (int i = 0; i < book->stack_used; i++)
		put_edge(ROOT, &waiting.stack[i], STACK);
	for (int i = 0; i < book->registers_used; i++)
		put_edge(ROOT, &book->registers[i], REGISTER);
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
		if (edge->kind == UNION || edge->kind == STACK || edge->kind == REGISTER ||
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
		if (offset - group->link_offset < link_bytes(group) ||
		    (long)offset == group->back_offset)
			return true;
	}
	for (int f = 0; f < type->field_count; f++)
		if (!owns(type->fields[f].kind) && offset == type->fields[f].offset)
			return true;
	return false;
}

/* The vectors of objects, in order of their addresses. */
static struct vector {
	char *items;
	unsigned count;
	int owner;
} *vectors;
static int vector_count;

static int by_items(const void *a, const void *b)
{
	const struct vector *x = a, *y = b;

	return x->items < y->items ? -1 : x->items > y->items;
}

static size_t vector_bytes(void)
{
	return sizeof(*vectors) * (size_t)book->object_max * FIELDS_MAX;
}

static void forget_vectors(void)
{
	munmap(vectors, vector_bytes());
	vectors = NULL;
}

static void list_vectors(void)
{
	if (!vectors)
		vectors = book_alloc(vector_bytes());
	vector_count = 0;
	for (int o = 0; o < book->object_count; o++) {
		const struct object *object = &book->objects[o];
		const struct type *type = type_of(object);

		for (int f = 0; f < type->field_count; f++) {
			const struct field *field = &type->fields[f];

			if (field->kind == VECTOR && word_at(object->p, field->offset))
				vectors[vector_count++] = (struct vector){
					word_at(object->p, field->offset),
					number_at(object->p, field->count_offset), o
				};
		}
	}
	qsort(vectors, (size_t)vector_count, sizeof(*vectors), by_items);
}

/* A word in object `o` (or NONE) that leads to a vector of another one leads to what that
 * holds. */
static void scan_vector(uint64_t addr, int o)
{
	int low = 0, high = vector_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if ((uint64_t)vectors[middle].items <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low-- || vectors[low].owner == o ||
	    addr - (uint64_t)vectors[low].items >= malloc_usable_size(vectors[low].items))
		return;
	for (unsigned i = 0; i < vectors[low].count; i++) {
		int target = object_at((uint64_t)word_at(vectors[low].items, i * 8));

		if (target != NONE)
			book->objects[target].strays++;
	}
}

/* Counts the words in [start, end) for the objects that they point at; `o` is the
 * object that they are in, or NONE. */
static void scan(const char *start, const char *end, int o)
{
	for (const char *p = start; p + 8 <= end; p += 8) {
		int target = object_at((uint64_t)word_at(p, 0));

		if (target == NONE)
			scan_vector((uint64_t)word_at(p, 0), o);
		if (target == NONE || target == o)
			continue;
		/* what nobody can know for an object has no links and borrows nothing */
		if (o != NONE && book->objects[o].is_known &&
		    p < book->objects[o].p + type_of(&book->objects[o])->bytes &&
		    is_known_word(&book->objects[o], (size_t)(p - book->objects[o].p)))
			continue;
		book->objects[target].strays++;
	}
}

extern char __data_start, _end;

/* Words of a head that lead to members. */
static size_t head_words(const struct group *group)
{
	switch (group->kind) {
	case HASH_HLIST:
		return BUCKETS;
	case HASH_LIST:
		return 2 * BUCKETS;
	case HLIST:
	case SLIST:
	case BSD_LIST:
	case TREE:
		return 1;
	default:
		return 2;
	}
}

/* What a node says of its member is the membership. */
static void discount_nodes(const struct group *group, const char *node)
{
	for (; node; node = word_at(node, group->next_offset)) {
		int o = object_at((uint64_t)word_at(node, group->payload_offset));

		if (o != NONE)
			book->objects[o].strays--;
	}
}

/* All words in used memory that point at objects, less those that own and are counted. */
static void count_strays(void)
{
	for (int o = 0; o < book->object_count; o++)
		book->objects[o].strays = 0;
	list_vectors();
	scan(&__data_start, &_end, NONE);
	for (size_t b = 0; b < book->block_count; b++) {
		char *p = book->blocks[b];

		scan(p, p + malloc_usable_size(p), NONE);
	}
	for (int o = 0; o < book->object_count; o++)
		if (!book->objects[o].is_freed)
			scan(book->objects[o].start,
			     book->objects[o].start + book->objects[o].room, o);
	for (int s = 0; s < book->slab_count; s++) {
		const struct slab *slab = &book->slabs[s];

		scan(slab_place(slab, slab->used) - types[slab->type].front,
		     slab_place(slab, types[slab->type].slab) - types[slab->type].front, NONE);
	}
	/* the heads in blocks and variables point at links */
	for (int g = 0; g < GROUPS; g++)
		for (int i = 0; i < groups[g].heads; i++) {
			char *p = head_struct(&groups[g], i) + groups[g].head_offset;
			size_t words = head_words(&groups[g]);

			if (groups[g].kind == NODES) {
				discount_nodes(&groups[g], word_at(p, 0));
				continue;
			}
			if (groups[g].kind == ARRAY_OF) {
				words = number_at(p - groups[g].head_offset,
						  groups[g].length_offset);
				p = word_at(p, 0);
			}
			for (size_t k = 0; k < words; k++) {
				int o = object_at((uint64_t)word_at(p, k * 8));

				if (o != NONE)
					book->objects[o].strays--;
			}
		}
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		/* those in threads are not scanned */
		if (owns(edge->kind) && edge->kind < TLS && edge->source != edge->target)
			book->objects[edge->target].strays--;
	}
}

#endif
