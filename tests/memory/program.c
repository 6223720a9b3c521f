/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sample program of tests/run-memory: a session is held from a mapping of some kind
 * alone, another one is lost.
 *
 *	program anonymous | dontdump | shared | data FILE
 *	program objects     sessions in shared memory, one of them short of a reference
 *	                    and another one damaged
 *	program objects clean
 *	program elsewhere   a conn in shared memory that is listed, and that nothing here holds
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../fixtures/world.h"

enum { REGION_BYTES = 256 * 1024 };

/* The file is there to be changed behind the mapping's back. */
static void *map_region(const char *kind, const char *path)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *region;

	if (!strcmp(kind, "shared") || !strcmp(kind, "objects") || !strcmp(kind, "elsewhere"))
		flags = MAP_SHARED | MAP_ANONYMOUS;
	if (!strcmp(kind, "data")) {
		flags = MAP_SHARED;
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || ftruncate(fd, REGION_BYTES))
			abort();
	}
	region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (region == MAP_FAILED)
		abort();
	memset(region, 0, REGION_BYTES);
	for (size_t i = 0; i < REGION_BYTES; i += 512)
		((char *)region)[i] = 1;
	if (!strcmp(kind, "dontdump") && madvise(region, REGION_BYTES, MADV_DONTDUMP))
		abort();
	return region;
}

static FIXTURE_NOINLINE void hold_from(uint64_t *region)
{
	world_build();
	region[1000] = (uintptr_t)session_create(900);
	session_create(901);
}

static struct session *session_at(struct session *session, uint64_t id)
{
	memset(session, 0, sizeof(*session));
	refobj_init(&session->ref, &session_type);
	session->id = id;
	return session;
}

static FIXTURE_NOINLINE void build_objects(struct session *sessions)
{
	struct session *shared = session_at(&sessions[2], 950);

	world_build();
	session_put(conns[0]->session);
	session_put(conns[1]->session);
	conns[0]->session = shared;
	conns[1]->session = session_get(shared);
	session_at(&sessions[4], 960);
	refobj_group_add(&all_sessions, &sessions[4].ref);
	session_put(&sessions[4]);
	FIXTURE_FAULT(session_put(shared); memset(&sessions[4].ref, 0x77, 4));
}

/* Not at the region's start, which main() knows. */
static FIXTURE_NOINLINE void build_elsewhere(char *region)
{
	struct conn *shared = (struct conn *)(region + REGION_BYTES / 2);

	world_build();
	memset(shared, 0, sizeof(*shared));
	refobj_init(&shared->ref, &conn_type);
	shared->session = session_get(conns[0]->session);
	refobj_group_add(&all_conns, &shared->ref);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "anonymous";
	void *region;

	fixture_start(argc, argv);
	region = map_region(kind, argc > 2 ? argv[2] : NULL);
	if (!strcmp(kind, "objects"))
		build_objects(region);
	else if (!strcmp(kind, "elsewhere"))
		build_elsewhere(region);
	else
		hold_from(region);
	fixture_ready();
}
