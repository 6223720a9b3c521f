/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * refobj.h in C++: compiles without warnings, counts and chains.  That C and C++ see
 * one layout is asserted by the header itself, in both languages.
 */
#include <cstdio>
#include <cstring>

#include "refobj.h"

namespace {

struct session {
	refobj ref;
	int id;
};

struct conn {
	int fd;
	session *owner;
	refobj ref;
};

int released;

void session_release(void *object)
{
	delete static_cast<session *>(object);
	released++;
}

REFOBJ_OWNS_NOTHING(session_owns);
REFOBJ_TYPE(session_type, "session", session, ref, session_release, session_owns);

void conn_release(void *object)
{
	conn *c = static_cast<conn *>(object);

	refobj_put(&c->owner->ref);
	delete c;
	released++;
}

REFOBJ_OWNS(conn_owns, conn, owner);
REFOBJ_TYPE(conn_type, "conn", conn, ref, conn_release, conn_owns);

struct page {
	char bytes[4096];
};

void page_release(void *object)
{
	refobj_free(object);
	released++;
}

REFOBJ_FRONT_TYPE(page_type, "page", page, page_release, nullptr);

int failures;

void check(bool holds, const char *what)
{
	if (!holds) {
		std::fprintf(stderr, "refobj_languages: %s\n", what);
		failures++;
	}
}

} // namespace

int main()
{
	session *s = new session();
	conn *c = new conn();
	refobj_group group;

	refobj_init(&s->ref, &session_type);
	refobj_init(&c->ref, &conn_type);
	c->owner = s; /* takes over the caller's reference */
	refobj_group_init(&group, "all", REFOBJ_GROUP_OWNS);
	check(refobj_group_add(&group, &c->ref), "add");
	check(refobj_count(&c->ref) == 2, "the group's reference");
	check(!refobj_put(&c->ref), "put, not the last");
	refobj *member;
	int members = 0;
	REFOBJ_GROUP_EACH(member, &group)
		members++;
	check(members == 1, "for each");
	check(refobj_get_unless_zero(&s->ref) && !refobj_put(&s->ref), "get_unless_zero");
	refobj_group_deinit(&group);
	check(released == 2, "conn took its session along");

	void *p = refobj_alloc(&page_type, 0, 4096);
	check(p && reinterpret_cast<uintptr_t>(p) % 4096 == 0, "page alignment");
	if (p)
		check(refobj_put(refobj_from_payload(p)) && released == 3, "page released");

	return failures != 0;
}
