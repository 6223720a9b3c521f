/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that stand in exit(): see exits.h.
 *
 * Every aligned word of a stack that points into code is taken for a return address.  None
 * of the functions looked for returns, so that none leaves a stale address behind while the
 * program goes on; a mere pointer to one (in a table of functions) points at its start, and
 * a return address never does.  A call that does not return may be a function's last
 * instruction: the symbol is the one of the byte before.
 *
 * Cost: a look-up of a range per word, of a symbol per word that points into code; bounded.
 */
#include "check/exits.h"

#include <string.h>

#define STACK_BYTES_READ (1u << 20) /* per thread, from its stack pointer */
#define WORDS_READ_MAX (1u << 20)   /* of all threads */

static bool is_exit(const char *symbol)
{
	static const char *const names[] = {
		"exit", "_exit", "_Exit", "quick_exit", "__run_exit_handlers", "__cxa_finalize",
		"__call_tls_dtors", "_dl_fini", "exit_group", "__GI_exit", "__GI__exit",
	};

	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(symbol, names[i]))
			return true;
	return false;
}

/* The name of the exit function that `addr`, in code, lies behind the start of. */
static const char *exit_at(const struct ri_analysis *analysis, uint64_t addr)
{
	const struct ri_range *range = ri_image_find(analysis->target->image, addr);
	uint64_t offset = 0;
	const char *symbol;

	if (!range || !(range->flags & RI_RANGE_EXEC))
		return NULL;
	symbol = ri_modules_find_symbol(analysis->modules, addr - 1, true, &offset, NULL);
	return is_exit(symbol) ? symbol : NULL;
}

/* __cxa_finalize and _dl_fini run for dlclose() too: they count with exit() alone. */
static bool is_final(const char *symbol)
{
	return strcmp(symbol, "__cxa_finalize") && strcmp(symbol, "_dl_fini") &&
	       strcmp(symbol, "__call_tls_dtors");
}

static const char *find_in_stack(const struct ri_analysis *analysis,
				 const struct ri_thread *thread, size_t *words_left)
{
	uint64_t at = thread->registers[RI_REG_RSP] & ~7ull;

	for (uint64_t end = at + STACK_BYTES_READ; at < end && *words_left; at += 8) {
		uint64_t word;
		const char *symbol;

		if (!ri_image_read_u64(analysis->target->image, at, &word))
			return NULL;
		--*words_left;
		symbol = exit_at(analysis, word);
		if (symbol && is_final(symbol))
			return symbol;
	}
	return NULL;
}

const struct ri_thread *ri_exits_find(const struct ri_analysis *analysis, const char **ret_symbol)
{
	size_t words_left = WORDS_READ_MAX;

	if (!analysis->target || !analysis->target->image || !analysis->modules)
		return NULL;
	for (size_t i = 0; i < analysis->target->thread_count; i++) {
		const struct ri_thread *thread = &analysis->target->threads[i];
		const char *symbol;

		if (!thread->has_registers)
			continue;
		symbol = exit_at(analysis, thread->registers[RI_REG_RIP]);
		if (!symbol || !is_final(symbol))
			symbol = find_in_stack(analysis, thread, &words_left);
		if (symbol) {
			*ret_symbol = symbol;
			return thread;
		}
	}
	return NULL;
}
