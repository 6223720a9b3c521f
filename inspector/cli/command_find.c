/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `find`: the words that point somewhere, at once.  Where no census was taken (on the command
 * line) it needs memory, modules and the heap's blocks alone; at the prompt and in gdb, where
 * there is one, objects are named too.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "census/found_words.h"
#include "check/evidence.h"
#include "check/verdict.h"
#include "cli/commands.h"

#define RED_ZONE_BYTES 128
#define THREADS_MAX 8

/* A number; false if it is none. */
static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	return !errno && isdigit((unsigned char)text[0]) && !*end;
}

static struct ri_error *parse_words(const struct ri_analysis *analysis, int word_count,
				    char **words, uint64_t *ret_low, uint64_t *ret_span)
{
	*ret_span = 1;
	if (!parse_number(words[0], ret_low) &&
	    !ri_modules_find_symbol_addr(analysis->modules, NULL, words[0], ret_low))
		return ri_error_create(RI_ERROR_USAGE,
				       "'%s' is no address (0x... or decimal), and no symbol has "
				       "that name", words[0]);
	if (word_count > 1 && (!parse_number(words[1], ret_span) || !*ret_span))
		return ri_error_create(RI_ERROR_USAGE, "'%s' is no number of bytes", words[1]);
	return NULL;
}

/* The thread on whose stack `addr` lies: the one with the highest stack pointer that is not
 * above it, in the same range of memory; else, below all of them, the lowest.  RI_NONE: no
 * thread's stack pointer leads there. */
static uint32_t find_stack(const struct ri_target *target, uint64_t addr, bool *ret_is_used)
{
	const struct ri_range *range = ri_image_find(target->image, addr);
	uint32_t above = RI_NONE, below = RI_NONE;
	uint64_t above_sp = UINT64_MAX, below_sp = 0;

	for (size_t i = 0; range && i < target->thread_count; i++) {
		uint64_t sp = target->threads[i].registers[RI_REG_RSP];

		if (!target->threads[i].has_registers || sp < range->start || sp >= range->end)
			continue;
		if (sp <= addr + RED_ZONE_BYTES && sp >= below_sp) {
			below = (uint32_t)i;
			below_sp = sp;
		} else if (sp > addr + RED_ZONE_BYTES && sp <= above_sp) {
			above = (uint32_t)i;
			above_sp = sp;
		}
	}
	*ret_is_used = below != RI_NONE;
	return *ret_is_used ? below : above;
}

static char *describe(const struct ri_analysis *analysis, const struct ri_found_word *word)
{
	const struct ri_describer describer = ri_analysis_describer(analysis);
	const struct ri_target *target = analysis->target;
	bool is_used;
	uint32_t thread;

	if (word->thread != UINT32_MAX)
		return ri_format("register %s of thread %d",
				 ri_register_name((uint32_t)word->addr),
				 (int)target->threads[word->thread].tid);
	thread = find_stack(target, word->addr, &is_used);
	if (thread != RI_NONE)
		return ri_format("%s of thread %d", is_used ? "stack" : "unused stack",
				 (int)target->threads[thread].tid);
	return ri_describe_addr(&describer, word->addr);
}

static void list_words(struct ri_command_context *context, const ri_found_word_list *list,
		       uint64_t low)
{
	static const struct ri_column columns[] = {
		{ "word", false }, { "offset", true }, { "place", false },
	};
	struct ri_listing *listing =
		ri_listing_create(context->out, context->request.format, "words", columns,
				  sizeof(columns) / sizeof(columns[0]), &context->report);

	for (size_t i = 0; i < list->count; i++) {
		const struct ri_found_word *word = &list->items[i];
		char *place = describe(context->analysis, word), *addr = NULL;
		char *offset = ri_format("%" PRIu64, word->value - low);

		if (word->thread == UINT32_MAX)
			addr = ri_format("%#" PRIx64, word->addr);
		ri_listing_add(listing, (const char *const[]){ addr, offset, place });
		free(addr);
		free(offset);
		free(place);
	}
	ri_listing_finish(listing);
}

/* What was not searched, since it is not there; the exit status. */
static int tell_missing(const struct ri_analysis *analysis)
{
	struct ri_absence absence = ri_absence_measure(analysis);

	if (absence.missing_bytes)
		fprintf(stderr, "refinspect: could not search: %" PRIu64
				" bytes of writable memory are missing\n", absence.missing_bytes);
	if (absence.blind_threads)
		fprintf(stderr, "refinspect: could not search: registers of %zu threads\n",
			absence.blind_threads);
	return absence.missing_bytes || absence.blind_threads || absence.has_lost_threads
		       ? (int)RI_VERDICT_UNCHECKED : 0;
}

static struct ri_error *run_find(struct ri_command_context *context, int word_count, char **words,
				 int *ret_status)
{
	const struct ri_analysis *analysis = context->analysis;
	ri_found_word_list list = { 0 };
	uint64_t low, span;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned thread_count = context->options->thread_count;
	struct ri_error *error = parse_words(analysis, word_count, words, &low, &span);

	if (error)
		return error;
	if (!thread_count)
		thread_count = processors < 1 ? 1 : processors < THREADS_MAX
							? (unsigned)processors : THREADS_MAX;
	if (ri_found_words_list(analysis->target, low, span, thread_count, &list)) {
		list_words(context, &list, low);
		*ret_status = tell_missing(analysis);
	} else {
		error = ri_error_create(RI_ERROR_INPUT,
					"more than %u words of memory have such a value: it is no "
					"address, or the range is too long", RI_FOUND_WORDS_MAX);
	}
	ri_vec_deinit(&list);
	return error;
}

const struct ri_command ri_command_find_words = {
	.name = "find",
	.arguments = "ADDR [BYTES]",
	.summary = "every word that points at ADDR, at once, without a census",
	.help = "A row per aligned word of memory, and per register, whose value is ADDR, or with "
		"BYTES one from ADDR on to so many bytes behind it: where it lies, and by how "
		"much its value is above ADDR. The place is the block of the heap, the symbol, "
		"the stack or the mapping; a word in a free block or on an unused stack is most "
		"likely stale. What the word is worth as a holder only 'holders' can tell, which "
		"takes the census first; 'find' costs little more than reading the core once.\n"
		"ADDR is a number, or the name of a symbol, which means its own address. Pointers "
		"that are stored in another form (tagged, shifted, relative) are not found.",
	.needs_target = true,
	.needs_memory_alone = true,
	.min_words = 1,
	.max_words = 2,
	.run = run_find,
};
