/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation that cannot fail: see memory.h. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATUS_UNUSABLE 2
#define HUGE_PAGE_BYTES (2u << 20)
#define CACHE_LINE_BYTES 64

_Noreturn void ri_memory_exhausted(size_t size_bytes)
{
	/* the one piece of state in this program: of all threads that find no memory one speaks */
	static atomic_flag is_told = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&is_told))
		usleep(1000); /* until the other one has ended the process */
	if (size_bytes)
		dprintf(STDERR_FILENO, "refinspect: out of memory (%zu bytes were asked for)\n",
			size_bytes);
	else
		dprintf(STDERR_FILENO, "refinspect: out of memory\n");
	_exit(STATUS_UNUSABLE);
}

/* Asks for huge pages inside [p, p + size_bytes) where that is large enough for them to pay:
 * what is that large is read and written at random more often than not. */
static void *advise_huge(void *p, size_t size_bytes)
{
	uintptr_t start = ((uintptr_t)p + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
	uintptr_t end = ((uintptr_t)p + size_bytes) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);

	if (start < end && end - start >= HUGE_PAGE_BYTES)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
	return p;
}

void *ri_malloc(size_t size_bytes)
{
	void *p = malloc(size_bytes ? size_bytes : 1);

	if (!p)
		ri_memory_exhausted(size_bytes);
	return advise_huge(p, size_bytes);
}

void *ri_calloc(size_t count, size_t size_bytes)
{
	void *p = calloc(count ? count : 1, size_bytes ? size_bytes : 1);

	if (!p)
		ri_memory_exhausted(count * size_bytes);
	return advise_huge(p, count * size_bytes);
}

void *ri_realloc(void *p, size_t count, size_t size_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, size_bytes, &total))
		ri_memory_exhausted(SIZE_MAX);
	p = realloc(p, total ? total : 1);
	if (!p)
		ri_memory_exhausted(total);
	return advise_huge(p, total);
}

void *ri_copy_aligned(const void *items, size_t count, size_t size_bytes)
{
	size_t total = count * size_bytes; /* cannot overflow: `items` exists */
	void *p = NULL;

	if (posix_memalign(&p, CACHE_LINE_BYTES, total ? total : 1))
		ri_memory_exhausted(total);
	advise_huge(p, total);
	if (total)
		memcpy(p, items, total);
	return p;
}

char *ri_strdup(const char *string)
{
	return ri_strndup(string, strlen(string));
}

char *ri_strndup(const char *string, size_t length)
{
	size_t n = strnlen(string, length);
	char *copy = ri_malloc(n + 1);

	memcpy(copy, string, n);
	copy[n] = '\0';
	return copy;
}

char *ri_format(const char *format, ...)
{
	va_list args;
	char *string;

	va_start(args, format);
	string = ri_vformat(format, args);
	va_end(args);
	return string;
}

char *ri_vformat(const char *format, va_list args)
{
	char *string;

	if (vasprintf(&string, format, args) < 0)
		ri_memory_exhausted(strlen(format));
	return string;
}

void *ri_grow(void *p, size_t *capacity, size_t needed, size_t size_bytes)
{
	size_t wanted = *capacity ? *capacity : 8;

	if (needed <= *capacity)
		return p;
	while (wanted < needed)
		wanted = wanted > SIZE_MAX / 2 ? needed : wanted * 2;
	p = ri_realloc(p, wanted, size_bytes);
	*capacity = wanted;
	return p;
}

void ri_free_and_null(void **p)
{
	free(*p);
	*p = NULL;
}

void *ri_table_create(size_t size_bytes)
{
	void *p = mmap(NULL, size_bytes ? size_bytes : 1, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		ri_memory_exhausted(size_bytes);
	(void)madvise(p, size_bytes, MADV_HUGEPAGE);
	return p;
}

void ri_table_destroy(void *p, size_t size_bytes)
{
	if (p)
		munmap(p, size_bytes ? size_bytes : 1);
}
