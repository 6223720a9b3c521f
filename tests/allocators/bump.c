/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An allocator that nobody knows, for tests/run-allocators to preload: it hands out pieces
 * of mappings of its own, with nothing around them, and its free lists run through
 * the freed pieces.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES ((size_t)8 << 20)
#define CLASS_BYTES 32u
#define CLASS_COUNT 64u

struct freed {
	struct freed *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed *lists[CLASS_COUNT];
static char *at, *end;

/* The size of each piece stands far away from it, by its place. */
static uint8_t classes[1u << 20];
static char *first;

static void *take(size_t bytes)
{
	char *piece = NULL;

	if (end - at < (ptrdiff_t)bytes) {
		size_t whole = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;

		at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED) {
			at = end = NULL;
			return NULL;
		}
		end = at + whole;
		if (!first)
			first = at;
	}
	piece = at;
	at += bytes;
	return piece;
}

static uint8_t *class_of(void *p)
{
	size_t place = (size_t)((char *)p - first) / CLASS_BYTES;

	return (char *)p >= first && place < sizeof(classes) ? &classes[place] : NULL;
}

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *p, size_t bytes);
void free(void *p);

void *malloc(size_t bytes)
{
	size_t class = (bytes + CLASS_BYTES - 1) / CLASS_BYTES;
	void *p;
	uint8_t *size;

	class += !class;
	pthread_mutex_lock(&lock);
	if (class < CLASS_COUNT && lists[class]) {
		p = lists[class];
		lists[class] = lists[class]->next;
	} else {
		p = take(class * CLASS_BYTES);
	}
	size = p ? class_of(p) : NULL;
	if (size)
		*size = class < CLASS_COUNT ? (uint8_t)class : 0;
	pthread_mutex_unlock(&lock);
	if (!p)
		errno = ENOMEM;
	return p;
}

void *calloc(size_t count, size_t bytes)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(all);
	return p ? memset(p, 0, all) : NULL;
}

void *realloc(void *p, size_t bytes)
{
	void *q = malloc(bytes);
	uint8_t *size = p ? class_of(p) : NULL;
	size_t had = size ? *size * (size_t)CLASS_BYTES : 0;

	if (q && had)
		memcpy(q, p, had < bytes ? had : bytes);
	free(p);
	return q;
}

void free(void *p)
{
	uint8_t *size = p ? class_of(p) : NULL;

	if (!size || !*size)
		return;
	pthread_mutex_lock(&lock);
	((struct freed *)p)->next = lists[*size];
	lists[*size] = p;
	pthread_mutex_unlock(&lock);
}
