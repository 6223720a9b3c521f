/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Allocation that cannot fail, growable arrays and formatted strings.
 *
 * A failed allocation writes one line to stderr and ends the process with
 * status 2: the analysis runs in a child, so its parent can tell the user.
 * Sizes that come from a target must be checked against the image before they
 * are allocated; these functions do not know what is plausible.
 */
#ifndef RI_BASE_MEMORY_H
#define RI_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Says that memory has run out, one line on stderr, and ends the process with status 2; for
 * failures of other libraries.  `size_bytes`: how much was asked for, 0 if unknown. */
_Noreturn void ri_memory_exhausted(size_t size_bytes);

/* malloc, calloc, realloc and strdup that do not return null; the caller frees
 * the result with free().  A size of 0 gives a unique pointer.  For large ones huge pages
 * are advised. */
void *ri_malloc(size_t size_bytes);
void *ri_calloc(size_t count, size_t size_bytes);
void *ri_realloc(void *p, size_t count, size_t size_bytes);
char *ri_strdup(const char *string);

/* A new array of `count` elements, a copy of `items`, that begins with a cache line, for
 * elements that are met at random and must not lie across two. */
void *ri_copy_aligned(const void *items, size_t count, size_t size_bytes);

char *ri_strndup(const char *string, size_t length);

/* A new formatted string, owned by the caller. */
char *ri_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *ri_vformat(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Makes room for at least `needed` elements of `size_bytes` in the array `p`
 * of `*capacity` elements; grows by doubling.  Returns the array, which may
 * have moved.  Elements beyond the old capacity are not initialised. */
void *ri_grow(void *p, size_t *capacity, size_t needed, size_t size_bytes);

/*
 * A growable array: `struct { T *items; size_t count, capacity; } v = { 0 };`
 * ri_push(&v) appends one zeroed element and gives a pointer to it, valid until
 * the next push.  ri_vec_deinit(&v) frees the items.
 */
#define RI_VEC(T)                                                                                  \
	struct {                                                                                   \
		T *items;                                                                          \
		size_t count, capacity;                                                            \
	}

#define ri_push(vec)                                                                               \
	((vec)->count < (vec)->capacity                                                            \
		 ? (void)0                                                                         \
		 : (void)((vec)->items = ri_grow((vec)->items, &(vec)->capacity, (vec)->count + 1, \
						 sizeof(*(vec)->items))),                          \
	 (void)__builtin_memset(&(vec)->items[(vec)->count], 0, sizeof(*(vec)->items)),            \
	 &(vec)->items[(vec)->count++])

#define ri_vec_deinit(vec)                                                                         \
	(ri_free_and_null((void **)&(vec)->items), (vec)->count = 0, (vec)->capacity = 0)

void ri_free_and_null(void **p);

/*
 * Large zeroed tables that are written and read at random: anonymous memory
 * with huge pages advised.  The caller frees with ri_table_destroy() and the
 * same size.
 */
void *ri_table_create(size_t size_bytes);
void ri_table_destroy(void *p, size_t size_bytes);

#endif
