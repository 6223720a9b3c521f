/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned strings in an open-addressing table, and text escaping. */
#include "base/strings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct ri_strings {
	char **slots; /* null: empty; capacity is a power of two */
	size_t count, capacity;
};

struct ri_strings *ri_strings_create(void)
{
	struct ri_strings *strings = ri_calloc(1, sizeof(*strings));

	strings->capacity = 64;
	strings->slots = ri_calloc(strings->capacity, sizeof(*strings->slots));
	return strings;
}

void ri_strings_destroy(struct ri_strings *strings)
{
	if (!strings)
		return;
	for (size_t i = 0; i < strings->capacity; i++)
		free(strings->slots[i]);
	free(strings->slots);
	free(strings);
}

static char **find_slot(char **slots, size_t capacity, const char *text)
{
	size_t i = ri_hash_bytes(text, strlen(text)) & (capacity - 1);

	while (slots[i] && strcmp(slots[i], text))
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

static void double_capacity(struct ri_strings *strings)
{
	size_t capacity = strings->capacity * 2;
	char **slots = ri_calloc(capacity, sizeof(*slots));

	for (size_t i = 0; i < strings->capacity; i++)
		if (strings->slots[i])
			*find_slot(slots, capacity, strings->slots[i]) = strings->slots[i];
	free(strings->slots);
	strings->slots = slots;
	strings->capacity = capacity;
}

const char *ri_strings_add(struct ri_strings *strings, const char *text)
{
	char **slot = find_slot(strings->slots, strings->capacity, text);

	if (*slot)
		return *slot;
	if (strings->count * 2 >= strings->capacity) {
		double_capacity(strings);
		slot = find_slot(strings->slots, strings->capacity, text);
	}
	*slot = ri_strdup(text);
	strings->count++;
	return *slot;
}

const char *ri_strings_format(struct ri_strings *strings, const char *format, ...)
{
	const char *interned;
	va_list args;
	char *text;

	va_start(args, format);
	text = ri_vformat(format, args);
	va_end(args);
	interned = ri_strings_add(strings, text);
	free(text);
	return interned;
}

uint64_t ri_hash_bytes(const void *p, size_t size_bytes)
{
	const unsigned char *bytes = p;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size_bytes; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

uint64_t ri_hash_u64(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdu;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53u;
	return value ^ value >> 33;
}

/* The length of the well-formed UTF-8 sequence at `p`, or 0. */
static size_t utf8_length(const unsigned char *p)
{
	size_t length = p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
			: p[0] >= 0xe0 && p[0] < 0xf0 ? 3
			: p[0] >= 0xc2 && p[0] < 0xe0 ? 2
						      : 0;

	for (size_t i = 1; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* C1 controls, overlong forms, surrogates, beyond U+10FFFF */
	if ((p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xe0 && p[1] < 0xa0) ||
	    (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return length;
}

char *ri_string_escape(const char *text)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)text;
	char *escaped = ri_malloc(4 * strlen(text) + 1), *out = escaped;

	while (*p) {
		size_t length = *p >= 0x20 && *p < 0x7f && *p != '\\' ? 1 : utf8_length(p);

		if (length) {
			memcpy(out, p, length);
			out += length;
			p += length;
		} else {
			*out++ = '\\';
			*out++ = 'x';
			*out++ = hex[*p >> 4];
			*out++ = hex[*p++ & 15];
		}
	}
	*out = '\0';
	return escaped;
}
