/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a profile, and reading one from a file.  What its text means is
 * parse.c's.
 *
 * A path may come from anywhere: it is opened without blocking, must be a
 * regular file, and no more of it is read than a profile may have.
 */
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "profile/schema.h"
#include "profile/yaml_tree.h"

struct ri_profile *ri_profile_create(const char *file)
{
	struct ri_profile *profile = ri_calloc(1, sizeof(*profile));

	profile->strings = ri_strings_create();
	profile->file = ri_strings_add(profile->strings, file);
	ri_schema_init(&ri_schema_profile, profile);
	return profile;
}

void ri_profile_destroy(struct ri_profile *profile)
{
	if (!profile)
		return;
	ri_schema_deinit(&ri_schema_profile, profile);
	ri_strings_destroy(profile->strings);
	free(profile);
}

/* Reads the open file to its end; one byte more than allowed is enough to know. */
static struct ri_error *read_all(int fd, const char *path, char **ret, size_t *ret_size_bytes)
{
	const size_t limit = RI_YAML_BYTES_MAX + 1;
	size_t size_bytes = 0, capacity = 0;
	char *text = NULL;

	while (size_bytes < limit) {
		size_t chunk = limit - size_bytes < 16384 ? limit - size_bytes : 16384;
		ssize_t got;

		text = ri_grow(text, &capacity, size_bytes + chunk, 1);
		got = read(fd, text + size_bytes, chunk);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			struct ri_error *error = ri_error_create_errno(errno, "%s", path);

			free(text);
			return error;
		}
		if (got == 0)
			break;
		size_bytes += (size_t)got;
	}
	*ret = text;
	*ret_size_bytes = size_bytes;
	return NULL;
}

struct ri_error *ri_profile_read(const char *path, struct ri_profile **ret)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct ri_error *error = NULL;
	size_t size_bytes = 0;
	char *text = NULL;
	struct stat st;

	if (fd < 0)
		return ri_error_create_errno(errno, "%s", path);
	if (fstat(fd, &st) < 0)
		error = ri_error_create_errno(errno, "%s", path);
	else if (!S_ISREG(st.st_mode))
		error = ri_error_create(RI_ERROR_INPUT, "%s: not a regular file", path);
	else
		error = read_all(fd, path, &text, &size_bytes);
	close(fd);
	if (!error)
		error = ri_profile_parse(path, text, size_bytes, ret);
	free(text);
	return error;
}
