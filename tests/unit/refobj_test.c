/* SPDX-License-Identifier: GPL-3.0-or-later */
/* refobj.h: counts, their edges, groups, headers in front of payloads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned warning_count;
#define REFOBJ_WARN(object, text) ((void)(object), (void)(text), (void)warning_count++)
#include "refobj.h"

struct conn {
	int fd;
	struct conn *peers[3];
	struct refobj ref;
	struct conn *next;
};

static void *released;
static uint32_t released_magic;

static void conn_release(void *object)
{
	struct conn *conn = object;

	released = conn;
	released_magic = conn->ref.magic;
}

static REFOBJ_OWNS(conn_owns, struct conn, peers[1], next);
static REFOBJ_TYPE(conn_type, "conn", struct conn, ref, conn_release, conn_owns);

static int set_up(void **state)
{
	(void)state;
	warning_count = 0;
	released = NULL;
	released_magic = 0;
	return 0;
}

static void descriptor_tells_the_layout(void **state)
{
	(void)state;
	assert_true(conn_type.magic == REFOBJ_TYPE_MAGIC);
	assert_string_equal(conn_type.name, "conn");
	assert_int_equal(conn_type.size, sizeof(struct conn));
	assert_int_equal(conn_type.header_offset, offsetof(struct conn, ref));
	assert_ptr_equal(conn_type.owns, conn_owns);
	assert_int_equal(sizeof(conn_owns) / sizeof(*conn_owns), 3);
	assert_int_equal(conn_owns[0].offset, offsetof(struct conn, peers[1]));
	assert_string_equal(conn_owns[0].name, "peers[1]");
	assert_int_equal(conn_owns[1].offset, offsetof(struct conn, next));
	assert_true(conn_owns[2].offset == UINT64_MAX);
}

struct wide {
	void *m[16];
};

static REFOBJ_OWNS(wide_owns, struct wide, m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8],
		   m[9], m[10], m[11], m[12], m[13], m[14], m[15]);
static REFOBJ_OWNS_NOTHING(no_owns);

static void owner_tables_keep_order_and_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(wide_owns[i].offset, i * sizeof(void *));
	assert_true(wide_owns[16].offset == UINT64_MAX);
	assert_int_equal(sizeof(no_owns), sizeof(struct refobj_field));
	assert_true(no_owns[0].offset == UINT64_MAX);
}

static void last_put_kills_then_releases(void **state)
{
	struct conn conn = { .fd = 1 };

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	assert_int_equal(conn.ref.magic, REFOBJ_MAGIC);
	assert_int_equal(refobj_count(&conn.ref), 1);
	assert_ptr_equal(refobj_handle(&conn.ref), &conn);
	assert_ptr_equal(refobj_header(&conn, &conn_type), &conn.ref);
	refobj_get(&conn.ref);
	assert_int_equal(refobj_count(&conn.ref), 2);
	assert_false(refobj_put(&conn.ref));
	assert_null(released);
	assert_true(refobj_put(&conn.ref));
	assert_ptr_equal(released, &conn);
	assert_int_equal(released_magic, REFOBJ_MAGIC_DEAD);
	assert_int_equal(refobj_count(&conn.ref), 0);
	assert_int_equal(warning_count, 0);
}

static void put_without_release_function(void **state)
{
	static REFOBJ_TYPE(type, "conn", struct conn, ref, NULL, NULL);
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &type);
	assert_true(refobj_put(&conn.ref));
	assert_int_equal(conn.ref.magic, REFOBJ_MAGIC_DEAD);
}

static void misuse_saturates(void **state)
{
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	assert_true(refobj_put(&conn.ref));
	refobj_get(&conn.ref); /* dead */
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_int_equal(warning_count, 1);

	refobj_init(&conn.ref, &conn_type);
	assert_true(refobj_put(&conn.ref));
	released = NULL;
	assert_false(refobj_put(&conn.ref)); /* one too many */
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_null(released);
	assert_int_equal(warning_count, 2);

	refobj_init(&conn.ref, &conn_type);
	conn.ref.count = INT32_MAX;
	refobj_get(&conn.ref); /* overflow */
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_int_equal(warning_count, 3);
}

static void saturated_stays_saturated(void **state)
{
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	conn.ref.count = REFOBJ_SATURATED;
	refobj_get(&conn.ref);
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_false(refobj_put(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_true(refobj_get_unless_zero(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	conn.ref.count = -1;
	assert_false(refobj_put(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
	assert_null(released);
}

static void get_unless_zero_refuses_the_dead(void **state)
{
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	assert_true(refobj_get_unless_zero(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), 2);
	refobj_put(&conn.ref);
	refobj_put(&conn.ref);
	assert_false(refobj_get_unless_zero(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), 0);
	assert_int_equal(warning_count, 0);
	conn.ref.count = INT32_MAX;
	assert_true(refobj_get_unless_zero(&conn.ref));
	assert_int_equal(refobj_count(&conn.ref), REFOBJ_SATURATED);
}

static void marks_add_up(void **state)
{
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	refobj_mark_not_leak(&conn.ref);
	assert_int_equal(conn.ref.flags, REFOBJ_NOT_LEAK);
	refobj_mark_ignore(&conn.ref);
	assert_int_equal(conn.ref.flags, REFOBJ_NOT_LEAK | REFOBJ_IGNORE);
}

static struct refobj_group *releasing_group;

static void member_release(void *object)
{
	struct conn *conn = object;

	released = object;
	if (releasing_group)
		assert_true(refobj_group_del(releasing_group, &conn->ref));
}

static REFOBJ_TYPE(member_type, "conn", struct conn, ref, member_release, NULL);

/* Checks order and both directions of a group against `members`. */
static void assert_members(struct refobj_group *group, struct conn *const *members, size_t count)
{
	struct refobj_link *link = group->head.next;
	struct refobj *object;
	size_t i = 0;

	REFOBJ_GROUP_EACH(object, group) {
		assert_true(i < count);
		assert_ptr_equal(refobj_handle(object), members[i]);
		assert_ptr_equal(object->group, group);
		i++;
	}
	assert_int_equal(i, count);
	assert_int_equal(refobj_group_count(group), count);
	for (; link != &group->head; link = link->next)
		assert_ptr_equal(link->prev->next, link);
	assert_ptr_equal(group->head.prev->next, &group->head);
}

static void borrowing_group_leaves_counts_alone(void **state)
{
	struct conn a, b, c;
	struct refobj_group group, other;

	(void)state;
	refobj_group_init(&group, "all_conns", 0);
	refobj_group_init(&other, "other", 0);
	assert_true(group.magic == REFOBJ_GROUP_MAGIC);
	assert_string_equal(refobj_group_name(&group), "all_conns");
	assert_false(refobj_group_is_counted(&group));
	assert_members(&group, NULL, 0);
	refobj_init(&a.ref, &member_type);
	refobj_init(&b.ref, &member_type);
	refobj_init(&c.ref, &member_type);
	assert_true(refobj_group_add(&group, &a.ref));
	assert_true(refobj_group_add(&group, &b.ref));
	assert_true(refobj_group_add(&group, &c.ref));
	assert_false(refobj_group_add(&group, &b.ref));
	assert_false(refobj_group_add(&other, &b.ref));
	assert_members(&group, (struct conn *[]){ &a, &b, &c }, 3);
	assert_int_equal(refobj_count(&b.ref), 1);
	assert_false(refobj_group_del(&other, &b.ref));
	releasing_group = &group;
	assert_true(refobj_put(&b.ref));
	assert_members(&group, (struct conn *[]){ &a, &c }, 2);
	assert_null(b.ref.group);
	assert_null(b.ref.link.next);
	releasing_group = NULL;
	refobj_group_deinit(&group);
	assert_true(group.magic != REFOBJ_GROUP_MAGIC);
	assert_null(a.ref.group);
	assert_int_equal(refobj_count(&a.ref), 1);
}

static unsigned lock_depth, lock_count;

static void lock(void *data)
{
	assert_ptr_equal(data, &lock_count);
	assert_int_equal(lock_depth++, 0);
	lock_count++;
}

static void unlock(void *data)
{
	assert_ptr_equal(data, &lock_count);
	assert_int_equal(--lock_depth, 0);
}

static void release_outside_the_lock(void *object)
{
	assert_int_equal(lock_depth, 0);
	released = object;
}

static void owning_group_counts_and_locks(void **state)
{
	static REFOBJ_TYPE(type, "conn", struct conn, ref, release_outside_the_lock, NULL);
	struct refobj_group group;
	struct conn a, b;

	(void)state;
	lock_count = 0;
	refobj_group_init(&group, "owning", REFOBJ_GROUP_OWNS);
	refobj_group_set_lock(&group, lock, unlock, &lock_count);
	refobj_init(&a.ref, &type);
	refobj_init(&b.ref, &type);
	refobj_group_add(&group, &a.ref);
	refobj_group_add(&group, &b.ref);
	assert_int_equal(lock_count, 2);
	assert_int_equal(refobj_count(&a.ref), 2);
	assert_false(refobj_put(&a.ref));
	assert_null(released);
	assert_true(refobj_group_del(&group, &a.ref));
	assert_ptr_equal(released, &a);
	assert_int_equal(lock_count, 3);
	released = NULL;
	refobj_group_deinit(&group); /* the caller's own reference to b stays */
	assert_null(released);
	assert_int_equal(refobj_count(&b.ref), 1);
}

struct directory {
	int id;
	struct refobj_group group;
};

static void directory_release(void *object)
{
	struct directory *directory = object;

	released = object;
	refobj_group_deinit(&directory->group);
}

static REFOBJ_OWNS(directory_owns, struct directory, group.parent);
static REFOBJ_TYPE(directory_type, "directory", struct directory, group.object, directory_release,
		   directory_owns);

static void counted_groups_nest(void **state)
{
	struct directory parent = { .id = 1 }, child = { .id = 2 };

	(void)state;
	refobj_group_init_counted(&parent.group, "parent", 0, &directory_type, NULL);
	refobj_group_init_counted(&child.group, "child", 0, &directory_type, &parent.group);
	assert_true(refobj_group_is_counted(&child.group));
	assert_int_equal(refobj_count(&parent.group.object), 2);
	assert_ptr_equal(refobj_handle(&child.group.object), &child);
	assert_true(refobj_group_add(&parent.group, &child.group.object));
	assert_int_equal(refobj_group_count(&parent.group), 1);
	assert_true(refobj_group_del(&parent.group, &child.group.object));
	assert_false(refobj_put(&parent.group.object));
	assert_true(refobj_put(&child.group.object)); /* takes the parent with it */
	assert_ptr_equal(released, &parent);
	assert_int_equal(parent.group.object.magic, REFOBJ_MAGIC_DEAD);
}

struct page {
	char bytes[100];
};

static void page_release(void *object)
{
	released = object;
	refobj_free(object);
}

static REFOBJ_FRONT_TYPE(page_type, "page", struct page, page_release, no_owns);

static void header_in_front_of_aligned_payloads(void **state)
{
	(void)state;
	for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
		char *page = refobj_alloc(&page_type, 0, alignment);
		struct refobj *object;

		assert_non_null(page);
		assert_int_equal((uintptr_t)page % alignment, 0);
		object = refobj_from_payload(page);
		assert_ptr_equal((char *)object + sizeof(*object), page);
		assert_ptr_equal(refobj_handle(object), page);
		assert_ptr_equal(refobj_header(page, &page_type), object);
		memset(page, 0xff, sizeof(struct page));
		assert_int_equal(refobj_count(object), 1);
		assert_true(refobj_put(object));
		assert_ptr_equal(released, page);
	}
}

static void alloc_refuses_unusable_arguments(void **state)
{
	char *large;

	(void)state;
	assert_null(refobj_alloc(&page_type, 0, 8));
	assert_null(refobj_alloc(&page_type, 0, 48));
	assert_null(refobj_alloc(&page_type, 0, 0));
	assert_null(refobj_alloc(&page_type, SIZE_MAX - 8, 16));
	assert_null(refobj_alloc(&conn_type, 0, 16));
	large = refobj_alloc(&page_type, 10000, 64);
	assert_non_null(large);
	memset(large, 0xff, 10000);
	refobj_free(large);
	refobj_free(NULL);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *get_and_put(void *data)
{
	struct conn *conn = data;

	for (int i = 0; i < ROUNDS; i++) {
		refobj_get(&conn->ref);
		if (!refobj_get_unless_zero(&conn->ref))
			return data;
		if (refobj_put(&conn->ref) || refobj_put(&conn->ref))
			return data;
	}
	return NULL;
}

static void threads_lose_no_reference(void **state)
{
	pthread_t threads[THREADS];
	struct conn conn;

	(void)state;
	refobj_init(&conn.ref, &conn_type);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_and_put, &conn), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(refobj_count(&conn.ref), 1);
	assert_null(released);
	assert_int_equal(warning_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(descriptor_tells_the_layout, set_up),
		cmocka_unit_test_setup(owner_tables_keep_order_and_end, set_up),
		cmocka_unit_test_setup(last_put_kills_then_releases, set_up),
		cmocka_unit_test_setup(put_without_release_function, set_up),
		cmocka_unit_test_setup(misuse_saturates, set_up),
		cmocka_unit_test_setup(saturated_stays_saturated, set_up),
		cmocka_unit_test_setup(get_unless_zero_refuses_the_dead, set_up),
		cmocka_unit_test_setup(marks_add_up, set_up),
		cmocka_unit_test_setup(borrowing_group_leaves_counts_alone, set_up),
		cmocka_unit_test_setup(owning_group_counts_and_locks, set_up),
		cmocka_unit_test_setup(counted_groups_nest, set_up),
		cmocka_unit_test_setup(header_in_front_of_aligned_payloads, set_up),
		cmocka_unit_test_setup(alloc_refuses_unusable_arguments, set_up),
		cmocka_unit_test_setup(threads_lose_no_reference, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
