/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of a profile: it is refused in one line, or what it says prints as a profile that
 * says the same.
 */
#include <string.h>

#include "fuzz.h"
#include "profile/profile.h"

#define SIZE_MAX_BYTES ((size_t)1 << 16)

static void check_message(const struct ri_error *error)
{
	if (!*error->message || strchr(error->message, '\n'))
		abort();
}

static void check_printed(const struct ri_profile *profile)
{
	char *text = ri_profile_print(profile), *again;
	struct ri_profile *copy;
	struct ri_error *error = ri_profile_parse("printed", text, strlen(text), &copy);

	if (error) {
		fprintf(stderr, "what was printed cannot be read: %s\n%s", error->message, text);
		abort();
	}
	again = ri_profile_print(copy);
	if (strcmp(text, again)) {
		fprintf(stderr, "printed once:\n%sprinted again:\n%s", text, again);
		abort();
	}
	free(again);
	free(text);
	ri_profile_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct ri_profile *profile;
	struct ri_error *error;

	if (size_bytes > SIZE_MAX_BYTES)
		return 0;
	error = ri_profile_parse("input", (const char *)bytes, size_bytes, &profile);
	if (error) {
		check_message(error);
		ri_error_destroy(error);
		return 0;
	}
	check_printed(profile);
	ri_profile_destroy(profile);
	return 0;
}
