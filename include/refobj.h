/* SPDX-License-Identifier: MIT */
#ifndef REFOBJ_H
#define REFOBJ_H

#include <stdint.h>

#define REFOBJ_MAGIC 0x6a626f72u       /* "robj", a live object */
#define REFOBJ_MAGIC_DEAD 0x64616564u  /* "dead", set when the last reference is put */
#define REFOBJ_TYPE_MAGIC 0x657079746a626f72u /* "robjtype" */
#define REFOBJ_GROUP_MAGIC 0x707267206a626f72u /* "robj grp" */

struct refobj_link {
	struct refobj_link *next, *prev;
};

struct refobj;
struct refobj_group;

/* offset == UINT64_MAX ends a table */
struct refobj_field {
	uint64_t offset;
	const char *name;
};

struct refobj_type {
	uint64_t magic;
	const char *name;
	uint64_t size;           /* of the struct (or payload) at the handle */
	int64_t header_offset;   /* of the header from the handle; negative: in front */
	void (*release)(void *object);
	const struct refobj_field *owns; /* members that own a reference; null: not declared */
};

struct refobj {              /* 48 bytes */
	uint32_t magic;          /* 0 */
	int32_t count;           /* 4; atomic */
	const struct refobj_type *type; /* 8 */
	struct refobj_link link; /* 16, 24 */
	struct refobj_group *group; /* 32 */
	uint32_t flags;          /* 40: 1 not_leak, 2 ignore */
	uint32_t reserved;       /* 44 */
};

struct refobj_group {        /* 128 bytes */
	uint64_t magic;          /* 0 */
	struct refobj_link head; /* 8, 16 */
	uint64_t count;          /* 24: members */
	const char *name;        /* 32 */
	struct refobj_group *parent; /* 40: owns a reference where the parent is counted */
	void (*lock)(void *);    /* 48 */
	void (*unlock)(void *);  /* 56 */
	void *lock_data;         /* 64 */
	uint32_t flags;          /* 72: 1 the group owns a reference to each member */
	uint32_t reserved;       /* 76 */
	struct refobj object;    /* 80: magic 0 while the group is not counted */
};

#endif
