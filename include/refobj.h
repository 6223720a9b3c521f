/* SPDX-License-Identifier: MIT */
/*
 * refobj.h: reference counts that can be audited from a core dump.
 *
 * A counted object embeds `struct refobj`, anywhere in it, or carries it
 * directly in front of the payload.  The header says what the object is (a
 * constant type descriptor), how many references there are, and which group
 * the object is chained in.  Magics make all of it findable in a memory image,
 * so that refinspect can check every count and every list, with debug
 * information or without.
 *
 * Header-only, C11 and C++17, for compilers with the __atomic builtins (gcc,
 * clang).  No global table, no lock of its own, no dependency but libc.
 *
 *	struct conn {
 *		int fd;
 *		struct session *session;	// owns a reference
 *		struct refobj ref;
 *	};
 *
 *	static void conn_release(void *object);
 *	static REFOBJ_OWNS(conn_owns, struct conn, session);
 *	static REFOBJ_TYPE(conn_type, "conn", struct conn, ref, conn_release, conn_owns);
 *
 *	refobj_init(&conn->ref, &conn_type);	// the caller holds one reference
 *	refobj_get(&conn->ref);			// one more
 *	refobj_put(&conn->ref);			// the last one calls conn_release(conn)
 *
 * What the words mean here: the *handle* of an object is the address that the
 * program's pointers hold: of the struct that embeds the header, or of the
 * payload that follows it.
 *
 * Counts behave as the Linux kernel's refcount_t: they stick at REFOBJ_SATURATED
 * when they would overflow, when a reference is taken on a dead object, and
 * when more is put than was taken.  A saturated object is never released: it
 * leaks instead of being used after its end.
 *
 * A program that wants to hear of such misuse defines, before it includes this
 * file, REFOBJ_WARN(object, text): `object` is the struct refobj *, `text` a
 * constant string.
 *
 * Copyright (c) The refinspect authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in
 * all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */
#ifndef REFOBJ_H
#define REFOBJ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define REFOBJ_ASSERT(condition, text) static_assert(condition, text)
#else
#include <stdbool.h>
#define REFOBJ_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/*
 * The layout.  It is fixed: tools read it from memory images, of programs
 * without debug information too.
 */

#define REFOBJ_MAGIC 0x6a626f72u       /* "robj", a live object */
#define REFOBJ_MAGIC_DEAD 0x64616564u  /* "dead", set when the last reference is put */
#define REFOBJ_TYPE_MAGIC 0x657079746a626f72u /* "robjtype" */
#define REFOBJ_GROUP_MAGIC 0x707267206a626f72u /* "robj grp" */

struct refobj_link {
	struct refobj_link *next, *prev; /* both null while in no group */
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
	struct refobj_group *group; /* 32; borrows */
	uint32_t flags;          /* 40: 1 not_leak, 2 ignore */
	uint32_t reserved;       /* 44; refobj_alloc(): bytes of the block before the header */
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

REFOBJ_ASSERT(sizeof(void *) == 8, "refobj.h: 64-bit targets only");
REFOBJ_ASSERT(sizeof(struct refobj_field) == 16, "refobj_field");
REFOBJ_ASSERT(sizeof(struct refobj_type) == 48, "refobj_type");
REFOBJ_ASSERT(offsetof(struct refobj_type, header_offset) == 24, "refobj_type.header_offset");
REFOBJ_ASSERT(offsetof(struct refobj_type, owns) == 40, "refobj_type.owns");
REFOBJ_ASSERT(sizeof(struct refobj) == 48, "refobj");
REFOBJ_ASSERT(offsetof(struct refobj, count) == 4, "refobj.count");
REFOBJ_ASSERT(offsetof(struct refobj, type) == 8, "refobj.type");
REFOBJ_ASSERT(offsetof(struct refobj, link) == 16, "refobj.link");
REFOBJ_ASSERT(offsetof(struct refobj, group) == 32, "refobj.group");
REFOBJ_ASSERT(offsetof(struct refobj, flags) == 40, "refobj.flags");
REFOBJ_ASSERT(sizeof(struct refobj_group) == 128, "refobj_group");
REFOBJ_ASSERT(offsetof(struct refobj_group, head) == 8, "refobj_group.head");
REFOBJ_ASSERT(offsetof(struct refobj_group, count) == 24, "refobj_group.count");
REFOBJ_ASSERT(offsetof(struct refobj_group, name) == 32, "refobj_group.name");
REFOBJ_ASSERT(offsetof(struct refobj_group, parent) == 40, "refobj_group.parent");
REFOBJ_ASSERT(offsetof(struct refobj_group, flags) == 72, "refobj_group.flags");
REFOBJ_ASSERT(offsetof(struct refobj_group, object) == 80, "refobj_group.object");

/* refobj.flags */
#define REFOBJ_NOT_LEAK 1u
#define REFOBJ_IGNORE 2u

/* refobj_group.flags */
#define REFOBJ_GROUP_OWNS 1u

/* The count of an object whose references can no longer be told. */
#define REFOBJ_SATURATED (INT32_MIN / 2)

#ifndef REFOBJ_WARN
#define REFOBJ_WARN(object, text) ((void)(object), (void)(text))
#endif

/*
 * Descriptors.  Each macro defines one constant object; put `static` in front
 * unless several files share it.  `owns` is a table made by REFOBJ_OWNS, or
 * NULL: then a tool has to know from elsewhere which members own a reference.
 */

/* The type `name` of `struct_type`, which embeds its header as `member`.
 * `release` gets the handle when the last reference was put. */
#define REFOBJ_TYPE(variable, name, struct_type, member, release, owns) \
	const struct refobj_type variable = { \
		REFOBJ_TYPE_MAGIC, name, sizeof(struct_type), \
		(int64_t)offsetof(struct_type, member), release, owns \
	}

/* The type `name` of payloads of `struct_type` with the header in front of
 * them, see refobj_alloc(). */
#define REFOBJ_FRONT_TYPE(variable, name, struct_type, release, owns) \
	const struct refobj_type variable = { \
		REFOBJ_TYPE_MAGIC, name, sizeof(struct_type), \
		-(int64_t)sizeof(struct refobj), release, owns \
	}

/* The table of the pointer members of `struct_type` that own a reference, 1 to
 * 16 of them; an element of an array is written `peers[2]`. */
#define REFOBJ_OWNS(variable, struct_type, ...) \
	const struct refobj_field variable[] = { \
		REFOBJ_EACH_(struct_type, __VA_ARGS__) \
		{ UINT64_MAX, NULL } \
	}

/* The empty table: a type whose members own nothing. */
#define REFOBJ_OWNS_NOTHING(variable) \
	const struct refobj_field variable[] = { { UINT64_MAX, NULL } }

#define REFOBJ_FIELD_(s, m) { offsetof(s, m), #m },
#define REFOBJ_1_(s, m) REFOBJ_FIELD_(s, m)
#define REFOBJ_2_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_1_(s, __VA_ARGS__)
#define REFOBJ_3_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_2_(s, __VA_ARGS__)
#define REFOBJ_4_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_3_(s, __VA_ARGS__)
#define REFOBJ_5_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_4_(s, __VA_ARGS__)
#define REFOBJ_6_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_5_(s, __VA_ARGS__)
#define REFOBJ_7_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_6_(s, __VA_ARGS__)
#define REFOBJ_8_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_7_(s, __VA_ARGS__)
#define REFOBJ_9_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_8_(s, __VA_ARGS__)
#define REFOBJ_10_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_9_(s, __VA_ARGS__)
#define REFOBJ_11_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_10_(s, __VA_ARGS__)
#define REFOBJ_12_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_11_(s, __VA_ARGS__)
#define REFOBJ_13_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_12_(s, __VA_ARGS__)
#define REFOBJ_14_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_13_(s, __VA_ARGS__)
#define REFOBJ_15_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_14_(s, __VA_ARGS__)
#define REFOBJ_16_(s, m, ...) REFOBJ_FIELD_(s, m) REFOBJ_15_(s, __VA_ARGS__)
#define REFOBJ_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define REFOBJ_EACH_(s, ...) \
	REFOBJ_PICK_(__VA_ARGS__, REFOBJ_16_, REFOBJ_15_, REFOBJ_14_, REFOBJ_13_, REFOBJ_12_, \
		REFOBJ_11_, REFOBJ_10_, REFOBJ_9_, REFOBJ_8_, REFOBJ_7_, REFOBJ_6_, REFOBJ_5_, \
		REFOBJ_4_, REFOBJ_3_, REFOBJ_2_, REFOBJ_1_, )(s, __VA_ARGS__)

/*
 * Objects
 */

/*
 * Makes `object` a live object of `type` with one reference, which the caller
 * holds; in no group, unmarked.  Not atomic: nobody else may see the object
 * yet, and it has to be published with release order as any other data.
 */
static inline void refobj_init(struct refobj *object, const struct refobj_type *type)
{
	object->type = type;
	object->link.next = NULL;
	object->link.prev = NULL;
	object->group = NULL;
	object->flags = 0;
	object->reserved = 0;
	__atomic_store_n(&object->count, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&object->magic, REFOBJ_MAGIC, __ATOMIC_RELAXED);
}

/* The handle: the address of the struct (or payload) that `object` is the
 * header of.  The object must be initialised. */
static inline void *refobj_handle(const struct refobj *object)
{
	return (char *)(uintptr_t)object - object->type->header_offset;
}

/* The header of the object of `type` at `handle`. */
static inline struct refobj *refobj_header(void *handle, const struct refobj_type *type)
{
	return (struct refobj *)(void *)((char *)handle + type->header_offset);
}

/*
 * The count at this moment; another thread may change it at once, so it is
 * good for messages and assertions alone.  Relaxed.  0: dead; negative:
 * saturated.
 */
static inline int32_t refobj_count(const struct refobj *object)
{
	return __atomic_load_n(&object->count, __ATOMIC_RELAXED);
}

/* Internal: pins the count where it can never reach 0 again. */
static inline void refobj_saturate_(struct refobj *object, const char *text)
{
	__atomic_store_n(&object->count, REFOBJ_SATURATED, __ATOMIC_RELAXED);
	REFOBJ_WARN(object, text);
}

/*
 * Takes a reference; the caller must hold one, or something else must keep the
 * object alive meanwhile.  Any thread, no lock.  Relaxed: whoever holds a
 * reference sees the object already.  On a dead object (count 0), a saturated
 * one and at INT32_MAX the count saturates.
 */
static inline void refobj_get(struct refobj *object)
{
	int32_t old = __atomic_fetch_add(&object->count, 1, __ATOMIC_RELAXED);

	if (__builtin_expect(old <= 0 || old == INT32_MAX, 0))
		refobj_saturate_(object, old ? "count overflow" : "get on a dead object");
}

/*
 * Takes a reference unless the object is dead; true if it did.  For look-ups
 * that find the object without holding a reference: a lock or a grace period
 * must keep its memory from being freed meanwhile.  Any thread, no lock.
 * Relaxed: what was found is ordered by what it was found under.
 */
static inline bool refobj_get_unless_zero(struct refobj *object)
{
	int32_t old = refobj_count(object);

	do {
		if (old == 0)
			return false;
	} while (!__atomic_compare_exchange_n(&object->count, &old,
					      (int32_t)((uint32_t)old + 1), true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (__builtin_expect(old < 0 || old == INT32_MAX, 0))
		refobj_saturate_(object, "count overflow");
	return true;
}

/*
 * Gives one reference back; true if it was the last one.  Then the object
 * carries the dead magic and its type's release function has run: neither
 * handle nor header may be used any more.  Any thread, no lock; the release
 * function runs in this thread.  Release order, and acquire order before the
 * release function: it sees all that was done under any reference.  A put too
 * many saturates the count and returns false.
 */
static inline bool refobj_put(struct refobj *object)
{
	int32_t old = __atomic_fetch_sub(&object->count, 1, __ATOMIC_RELEASE);

	if (old == 1) {
		const struct refobj_type *type = object->type;

		/* Reads this thread's own 0, which ends the release sequence that all
		 * earlier puts are part of; as good as a fence, and tools understand it. */
		(void)__atomic_load_n(&object->count, __ATOMIC_ACQUIRE);
		__atomic_store_n(&object->magic, REFOBJ_MAGIC_DEAD, __ATOMIC_RELAXED);
		if (type->release)
			type->release(refobj_handle(object));
		return true;
	}
	if (__builtin_expect(old <= 0, 0))
		refobj_saturate_(object, "more references put than taken");
	return false;
}

/*
 * Says that the object is meant to live to the end of the process: tools take
 * it for a root and never for a leak; its count is still checked.  Relaxed, any
 * thread that holds a reference.
 */
static inline void refobj_mark_not_leak(struct refobj *object)
{
	(void)__atomic_fetch_or(&object->flags, REFOBJ_NOT_LEAK, __ATOMIC_RELAXED);
}

/*
 * Says that tools shall not audit the object at all (references to it live
 * where no tool can see them).  Relaxed, any thread that holds a reference.
 */
static inline void refobj_mark_ignore(struct refobj *object)
{
	(void)__atomic_fetch_or(&object->flags, REFOBJ_IGNORE, __ATOMIC_RELAXED);
}

/*
 * Objects with the header in front of the payload
 */

/* The header of a payload made by refobj_alloc(). */
static inline struct refobj *refobj_from_payload(void *payload)
{
	return (struct refobj *)(void *)((char *)payload - sizeof(struct refobj));
}

/* Internal: bytes from the block's start to the payload. */
static inline size_t refobj_front_bytes_(size_t alignment)
{
	return (sizeof(struct refobj) + alignment - 1) & ~(alignment - 1);
}

/*
 * Allocates a payload of `size` bytes (at least type->size; 0: exactly that)
 * with its header directly in front of it, initialised with one reference for
 * the caller.  `alignment` of the payload in bytes: a power of two, at least 16.
 * The payload's contents are indeterminate.  `type` comes from
 * REFOBJ_FRONT_TYPE.  Returns the payload, to be freed with refobj_free(),
 * usually by the release function; null when there is no memory or an argument
 * is unusable.  As thread-safe as aligned_alloc().
 */
static inline void *refobj_alloc(const struct refobj_type *type, size_t size, size_t alignment)
{
	size_t front, bytes;
	char *block;

	if (size < type->size)
		size = (size_t)type->size;
	if (alignment < 16 || (alignment & (alignment - 1)) || alignment > UINT32_MAX / 2 ||
	    type->header_offset != -(int64_t)sizeof(struct refobj))
		return NULL;
	front = refobj_front_bytes_(alignment);
	if (size > SIZE_MAX / 2 - front)
		return NULL;
	bytes = (front + size + alignment - 1) & ~(alignment - 1);
	block = (char *)aligned_alloc(alignment, bytes);
	if (!block)
		return NULL;
	refobj_init(refobj_from_payload(block + front), type);
	refobj_from_payload(block + front)->reserved = (uint32_t)(front - sizeof(struct refobj));
	return block + front;
}

/* Frees what refobj_alloc() returned; null is fine. */
static inline void refobj_free(void *payload)
{
	if (payload) {
		struct refobj *object = refobj_from_payload(payload);

		free((char *)object - object->reserved);
	}
}

/*
 * Groups: what a kset is to kobjects.  A head chains objects through their
 * headers; an object is in one group at most, and its header says in which.
 * A group's fields are guarded by its lock hooks: without them the caller sees
 * to it that no two threads work on one group at a time.
 */

/*
 * Makes `group` an empty group called `name` (a string that lives as long as
 * the group), not counted, without parent and lock hooks.  `flags`: 0 or
 * REFOBJ_GROUP_OWNS.  Not atomic, as refobj_init().
 */
static inline void refobj_group_init(struct refobj_group *group, const char *name, uint32_t flags)
{
	group->head.next = &group->head;
	group->head.prev = &group->head;
	group->count = 0;
	group->name = name;
	group->parent = NULL;
	group->lock = NULL;
	group->unlock = NULL;
	group->lock_data = NULL;
	group->flags = flags;
	group->reserved = 0;
	group->object.magic = 0;
	group->object.count = 0;
	group->object.type = NULL;
	group->object.link.next = NULL;
	group->object.link.prev = NULL;
	group->object.group = NULL;
	group->object.flags = 0;
	group->object.reserved = 0;
	group->magic = REFOBJ_GROUP_MAGIC;
}

/* Sets the functions that refobj_group_*() call with `data` around each access;
 * before the group is shared. */
static inline void refobj_group_set_lock(struct refobj_group *group, void (*lock)(void *),
					 void (*unlock)(void *), void *data)
{
	group->lock = lock;
	group->unlock = unlock;
	group->lock_data = data;
}

/* Whether the group is itself a counted object. */
static inline bool refobj_group_is_counted(const struct refobj_group *group)
{
	return __atomic_load_n(&group->object.magic, __ATOMIC_RELAXED) == REFOBJ_MAGIC;
}

/*
 * Sets the group's parent, or null, and takes a reference to it if it is
 * counted; the reference to an earlier parent is given back.  The caller keeps
 * other threads out.
 */
static inline void refobj_group_set_parent(struct refobj_group *group,
					   struct refobj_group *parent)
{
	struct refobj_group *old = group->parent;

	if (parent && refobj_group_is_counted(parent))
		refobj_get(&parent->object);
	group->parent = parent;
	if (old && refobj_group_is_counted(old))
		(void)refobj_put(&old->object);
}

/*
 * Like refobj_group_init(), and the group is a counted object of `type` with
 * one reference for the caller, which owns a reference to `parent` (null: none)
 * if that is counted.  `type` is made by REFOBJ_TYPE for the struct that
 * contains the group, with `object` of the group as its header member, or by
 * REFOBJ_GROUP_TYPE for a group by itself; its release function calls
 * refobj_group_deinit().
 */
static inline void refobj_group_init_counted(struct refobj_group *group, const char *name,
					     uint32_t flags, const struct refobj_type *type,
					     struct refobj_group *parent)
{
	refobj_group_init(group, name, flags);
	refobj_init(&group->object, type);
	refobj_group_set_parent(group, parent);
}

/* The type `name` of groups that are counted objects by themselves. */
#define REFOBJ_GROUP_TYPE(variable, name, release, owns) \
	REFOBJ_TYPE(variable, name, struct refobj_group, object, release, owns)

/* Takes the group's lock, if it has one. */
static inline void refobj_group_lock(struct refobj_group *group)
{
	if (group->lock)
		group->lock(group->lock_data);
}

/* Gives the group's lock back. */
static inline void refobj_group_unlock(struct refobj_group *group)
{
	if (group->unlock)
		group->unlock(group->lock_data);
}

/* The number of members.  Relaxed, without the lock: a moment's value. */
static inline uint64_t refobj_group_count(const struct refobj_group *group)
{
	return __atomic_load_n(&group->count, __ATOMIC_RELAXED);
}

/* The group's name, as given to refobj_group_init(). */
static inline const char *refobj_group_name(const struct refobj_group *group)
{
	return group->name;
}

/*
 * Chains `object` at the end of `group` and takes a reference for the group if
 * the group owns its members.  Takes the lock.  False, and nothing done, if the
 * object is in a group already.
 */
static inline bool refobj_group_add(struct refobj_group *group, struct refobj *object)
{
	bool was_free;

	refobj_group_lock(group);
	was_free = !object->group;
	if (was_free) {
		if (group->flags & REFOBJ_GROUP_OWNS)
			refobj_get(object);
		object->group = group;
		object->link.next = &group->head;
		object->link.prev = group->head.prev;
		group->head.prev->next = &object->link;
		group->head.prev = &object->link;
		__atomic_store_n(&group->count, group->count + 1, __ATOMIC_RELAXED);
	}
	refobj_group_unlock(group);
	return was_free;
}

/*
 * Unchains `object` from `group` and gives the group's reference back if the
 * group owns its members; the release function may run, after the lock was
 * given back.  Takes the lock.  False, and nothing done, if the object is not in
 * this group.  Release functions call it for groups that do not own.
 */
static inline bool refobj_group_del(struct refobj_group *group, struct refobj *object)
{
	bool was_member, owned;

	refobj_group_lock(group);
	was_member = object->group == group;
	owned = was_member && (group->flags & REFOBJ_GROUP_OWNS);
	if (was_member) {
		object->link.prev->next = object->link.next;
		object->link.next->prev = object->link.prev;
		object->link.next = NULL;
		object->link.prev = NULL;
		object->group = NULL;
		__atomic_store_n(&group->count, group->count - 1, __ATOMIC_RELAXED);
	}
	refobj_group_unlock(group);
	if (owned)
		(void)refobj_put(object);
	return was_member;
}

/* Internal: the member at or after `link`, or null at the head. */
static inline struct refobj *refobj_group_at_(struct refobj_group *group,
					      struct refobj_link *link)
{
	if (link == &group->head)
		return NULL;
	return (struct refobj *)(void *)((char *)link - offsetof(struct refobj, link));
}

/* The first member, or null.  The caller holds the lock. */
static inline struct refobj *refobj_group_first(struct refobj_group *group)
{
	return refobj_group_at_(group, group->head.next);
}

/* The member after `object`, or null.  The caller holds the lock. */
static inline struct refobj *refobj_group_next(struct refobj_group *group,
					       const struct refobj *object)
{
	return refobj_group_at_(group, object->link.next);
}

/*
 * Ends the group: members still in it are taken out (as refobj_group_del()),
 * the reference to a counted parent is given back, the magic is cleared.  Called
 * by the release function of a counted group, and by whoever made another one.
 * Nobody else may be using the group.
 */
static inline void refobj_group_deinit(struct refobj_group *group)
{
	struct refobj *member = refobj_group_first(group);

	while (member && refobj_group_del(group, member))
		member = refobj_group_first(group);
	refobj_group_set_parent(group, NULL);
	group->magic = 0;
}

/*
 * Loops over the members in order; `object` is a struct refobj *.  The caller
 * holds the lock, and takes no member out meanwhile: refobj_group_first() in a
 * loop does for emptying a group.
 */
#define REFOBJ_GROUP_EACH(object, group) \
	for ((object) = refobj_group_first(group); (object); \
	     (object) = refobj_group_next((group), (object)))

#endif
