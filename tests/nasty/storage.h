/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the objects of world.c lie: blocks of their own, slabs, headers in front; and what holds
 * them beside variables: thread-local ones, another thread's stack and its registers.
 */
#ifndef STORAGE_H
#define STORAGE_H

/* This file is part of world.h and stands behind what it declares. */

enum {
	SLAB_HEADER = 24,
	TLS_SLOTS = 4,      /* of each of two threads */
	STACK_SLOTS = 12, REGISTERS = REGISTERS_MAX,
};

/* What the waiting thread holds. */
static struct {
	void **tls[TYPES];
	void **stack;       /* STACK_SLOTS words of its frame */
	void *registers[REGISTERS]; /* until it has loaded them */
} waiting;

/* Word `i` of the thread-local variable for type `t`: this thread's, then the waiting one's. */
static void **tls_word(int t, int i)
{
	return i < TLS_SLOTS ? &tls_of(t)[i] : &waiting.tls[t][i - TLS_SLOTS];
}

/* ---- blocks and slabs ---- */

/* A place of a slab that is not in use: nothing of it was cleared but what says so. */
static void empty_place(char *p, const struct type *type)
{
	static const uint32_t dead = 0xdeadbeef, none;

	if (type->magic_offset != NONE)
		memcpy(p + type->magic_offset, type->has_dead_magic ? &dead : &none, sizeof(dead));
	type->set(p, 0);
}

static char *slab_place(const struct slab *slab, int i)
{
	const struct type *type = &types[slab->type];

	return slab->base + SLAB_HEADER + (size_t)i * type->stride + type->front;
}

static char *take_place(int t)
{
	struct slab *slab = NULL;

	for (int s = book->slab_count; s-- > 0 && !slab;)
		if (book->slabs[s].type == t && book->slabs[s].used < types[t].slab)
			slab = &book->slabs[s];
	if (!slab) {
		if (book->slab_count == SLABS_MAX)
			abort();
		slab = &book->slabs[book->slab_count++];
		*slab = (struct slab){ .type = t };
		slab->base = must(malloc(SLAB_HEADER + (size_t)types[t].slab * types[t].stride));
		/* a whole copy in a place that nothing else tells is one */
		memset(slab->base, 0, types[t].magic_offset != NONE ? SLAB_HEADER :
			SLAB_HEADER + (size_t)types[t].slab * types[t].stride);
		for (int i = 0; i < types[t].slab; i++)
			empty_place(slab_place(slab, i), &types[t]);
	}
	return slab_place(slab, slab->used++);
}

/* Memory for an object of type `t`; how much there is goes to *ret_bytes. */
static char *allocate(int t, size_t *ret_bytes)
{
	const struct type *type = &types[t];
	char *p;

	if (type->slab) {
		*ret_bytes = type->stride;
		return take_place(t);
	}
	p = must(malloc(type->front + type->bytes));
	*ret_bytes = malloc_usable_size(p);
	return p + type->front;
}

#endif
