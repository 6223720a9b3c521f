/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Another struct conn, of this unit alone: smaller, and not counted. */
#include "world.h"

struct conn {
	char line[20];
	long baud;
};

/* What the public header of a library might show of a user: the same name, less. */
struct session {
	uint32_t id;
	struct conn *conn;
};

static struct conn serial = { "ttyS0", 115200 };
static struct session sessions[2] = { { 1, &serial }, { 2, &serial } };

long legacy_start(void)
{
	volatile struct session *first = &sessions[0];

	return first->conn->baud + (long)first->id;
}
