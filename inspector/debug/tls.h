/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where each thread has its copy of each module's thread-local storage, from the
 * threads' saved registers and the records of the dynamic linker, read out of the
 * image.
 */
#ifndef RI_DEBUG_TLS_H
#define RI_DEBUG_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gaps.h"
#include "debug/modules.h"

/* One thread's copy of one module's PT_TLS segment. */
struct ri_tls_block {
	uint64_t start, end;     /* [start, end), all of it mapped and writable */
	uint32_t module;         /* index in ri_modules_list() */
	uint32_t thread;         /* index into target->threads[] */
};

/* All that were found, ascending by start, not overlapping; none where `modules` is null.
 * Valid as long as the modules. */
const struct ri_tls_block *ri_tls_blocks(const struct ri_modules *modules, size_t *ret_count);

/*
 * The address in the memory of thread `thread` of what lies `offset` bytes into the
 * thread-local storage of module `module`.  False where that thread has none (it never
 * used it) or where it cannot be told.
 */
bool ri_tls_find(const struct ri_modules *modules, uint32_t module, uint32_t thread,
		 uint64_t offset, uint64_t *ret);

#endif
