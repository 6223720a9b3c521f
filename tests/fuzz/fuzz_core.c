/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file: its program headers and notes become an image, mappings and threads, and every
 * byte that the image promises is there.
 */
#include "base/gaps.h"
#include "fuzz.h"
#include "target/target.h"

#define SIZE_MAX_BYTES ((size_t)1 << 20)

static uint64_t sum_image(const struct ri_target *target)
{
	uint64_t sum = 0;
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(target->image, &count);

	for (size_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].end ||
		    (i && ranges[i].start < ranges[i - 1].end))
			abort();
		/* those that stand for zeros may be longer than any file */
		for (uint64_t k = 0; ranges[i].bytes && !(ranges[i].flags & RI_RANGE_ZERO) &&
				     k < ranges[i].end - ranges[i].start; k += 64)
			sum += ranges[i].bytes[k];
	}
	return sum;
}

static uint64_t sum_rest(const struct ri_target *target)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < target->mapping_count; i++) {
		if (i && target->mappings[i].start < target->mappings[i - 1].end)
			abort();
		for (const char *p = target->mappings[i].path; p && *p; p++)
			sum += (unsigned char)*p;
	}
	for (size_t i = 0; i < target->thread_count; i++)
		for (size_t k = 0; k < target->threads[i].vector_size_bytes; k++)
			sum += target->threads[i].vector[k];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	volatile uint64_t sum = 0;
	struct ri_target *target;
	struct ri_error *error;
	struct ri_gaps gaps;
	struct file file;

	if (size_bytes > SIZE_MAX_BYTES)
		return 0;
	file_open(&file, bytes, size_bytes);
	ri_gaps_init(&gaps);
	error = ri_target_open_core(file.path, &gaps, &target);
	if (!error) {
		ri_image_seal(target->image);
		sum = sum_image(target) + sum_rest(target);
		ri_target_close(target);
	}
	(void)sum;
	ri_error_destroy(error);
	ri_gaps_deinit(&gaps);
	file_close(&file);
	return 0;
}
