/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every kind of target has in common: freeing, looking up mappings, and
 * putting the list of mappings in order.  How a target is opened is in core.c
 * and live.c.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "target/target.h"
#include "target/target_private.h"

void ri_target_deinit_mappings(struct ri_target *target)
{
	for (size_t i = 0; i < target->mapping_count; i++)
		free(target->mappings[i].path);
	free(target->mappings);
	target->mappings = NULL;
	target->mapping_count = 0;
}

void ri_target_close(struct ri_target *target)
{
	if (!target)
		return;
	for (size_t i = 0; i < target->thread_count; i++)
		free(target->threads[i].vector);
	free(target->threads);
	ri_target_deinit_mappings(target);
	free(target->path);
	free(target->command);
	free(target->arguments);
	ri_image_destroy(target->image);
	free(target);
}

const struct ri_mapping *ri_target_find_mapping(const struct ri_target *target, uint64_t addr)
{
	const struct ri_mapping *low = target->mappings;
	size_t count = target->mapping_count;

	while (count > 1) {
		size_t half = count / 2;

		if (low[half].start <= addr)
			low += half;
		count -= half;
	}
	return count && addr >= low->start && addr < low->end ? low : NULL;
}

bool ri_target_has_fault_addr(const struct ri_target *target)
{
	if (!target->has_siginfo)
		return false;
	switch (target->signal) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		/* else sent by a process: the sender's pid and uid are there */
		return target->signal_code > 0;
	default:
		return false;
	}
}

bool ri_path_is_shared_memory(const char *path)
{
	static const char *const prefixes[] = { "/memfd:", "/SYSV", "/dev/shm/",
						"/dev/zero (deleted)" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool ri_path_is_anonymous(const char *path)
{
	return !strncmp(path, "/anon_hugepage", strlen("/anon_hugepage"));
}

/* By start; where starts are equal, those with a path first. */
static int compare_mappings(const void *a, const void *b)
{
	const struct ri_mapping *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return !x->path - !y->path;
}

size_t ri_mappings_arrange(struct ri_mapping *mappings, size_t *count)
{
	size_t kept = 0, cut = 0;
	uint64_t end = 0;

	if (*count)
		qsort(mappings, *count, sizeof(*mappings), compare_mappings);
	for (size_t i = 0; i < *count; i++) {
		struct ri_mapping *mapping = &mappings[i];

		if (mapping->start < end && mapping->start < mapping->end) {
			cut++;
			mapping->file_offset += end - mapping->start;
			mapping->start = end;
		}
		if (mapping->start >= mapping->end) {
			free(mapping->path);
			continue;
		}
		end = mapping->end;
		mappings[kept++] = *mapping;
	}
	*count = kept;
	return cut;
}
