/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interned strings: each distinct text is kept once, for the life of the pool,
 * so that names can be compared by pointer and never need freeing one by one.
 */
#ifndef RI_BASE_STRINGS_H
#define RI_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ri_strings;

struct ri_strings *ri_strings_create(void);
void ri_strings_destroy(struct ri_strings *strings);

/* The pool's copy of `text`; valid until the pool is destroyed. */
const char *ri_strings_add(struct ri_strings *strings, const char *text);

/* The same for formatted text. */
const char *ri_strings_format(struct ri_strings *strings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* 64-bit hash of `size_bytes` bytes (FNV-1a); for tables, not for security. */
uint64_t ri_hash_bytes(const void *p, size_t size_bytes);

/* A well-mixed hash of one 64-bit value, for tables keyed by address. */
uint64_t ri_hash_u64(uint64_t value);

/* Copies `text` to a new string in which control bytes, backslashes and bytes
 * that are not UTF-8 stand as \xNN: text from a target is untrusted and must
 * not drive a terminal.  Owned by the caller. */
char *ri_string_escape(const char *text);

#endif
