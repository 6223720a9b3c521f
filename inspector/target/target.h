/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target: a core file or a live process, opened into an image of its memory,
 * its threads' registers and its mapped files.  Nothing is run or changed in a
 * live process; it is stopped, its writable memory copied, and released before
 * the open function returns.
 *
 * This header is for those who use a target.  A new kind of target is one file
 * with an open function that fills `struct ri_target` (see core.c, live.c).
 */
#ifndef RI_TARGET_TARGET_H
#define RI_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/gaps.h"
#include "target/image.h"

enum ri_target_kind {
	RI_TARGET_CORE,
	RI_TARGET_LIVE,
};

/* The order of struct user_regs_struct in <sys/user.h>, x86-64. */
enum ri_register {
	RI_REG_R15, RI_REG_R14, RI_REG_R13, RI_REG_R12, RI_REG_RBP, RI_REG_RBX, RI_REG_R11,
	RI_REG_R10, RI_REG_R9, RI_REG_R8, RI_REG_RAX, RI_REG_RCX, RI_REG_RDX, RI_REG_RSI,
	RI_REG_RDI, RI_REG_ORIG_RAX, RI_REG_RIP, RI_REG_CS, RI_REG_EFLAGS, RI_REG_RSP, RI_REG_SS,
	RI_REG_FS_BASE, RI_REG_GS_BASE, RI_REG_DS, RI_REG_ES, RI_REG_FS, RI_REG_GS,
	RI_REGISTER_COUNT,
};

struct ri_thread {
	pid_t tid;
	bool has_registers;      /* false: only the tid is known */
	bool registers_partial;  /* RIP and RSP alone are real (from /proc), the others 0 */
	uint64_t registers[RI_REGISTER_COUNT];
	uint8_t *vector;         /* XSAVE or FXSAVE area, or null; vector_size_bytes long */
	size_t vector_size_bytes;
};

/* One mapping: a row of NT_FILE or of /proc/PID/maps. */
struct ri_mapping {
	uint64_t start, end;     /* [start, end) */
	uint64_t file_offset;    /* bytes */
	uint32_t flags;          /* RI_RANGE_*; 0 where the source does not say */
	char *path;              /* null: anonymous; else as written there, e.g. "[heap]" */
};

struct ri_target {
	enum ri_target_kind kind;
	char *path;              /* the core file as given; null for a live process */
	pid_t pid;
	char *command;           /* executable's base name (NT_PRPSINFO, comm), or null */
	char *arguments;         /* start of the command line, or null */
	int signal;              /* the signal that ended a core's process, 0: none */
	int signal_code;         /* si_code; valid if has_siginfo */
	uint64_t fault_addr;     /* si_addr; valid if has_siginfo and the signal has one */
	bool has_siginfo;

	struct ri_thread *threads; /* the one that took the signal first */
	size_t thread_count;
	bool has_lost_threads;     /* a core's notes are damaged: there may be more threads */
	struct ri_mapping *mappings; /* ascending; a core's come from NT_FILE and PT_LOAD */
	size_t mapping_count;

	/* from the auxiliary vector; 0 where absent */
	uint64_t auxv_phdr, auxv_entry, auxv_base, auxv_sysinfo_ehdr;
	uint64_t auxv_phnum;
	uint64_t auxv_random, auxv_execfn; /* both lie at the top of the main thread's stack */

	struct ri_image *image;  /* owned; sealed by the module loader */

	double missing_percent;  /* of a truncated core's bytes; 0: whole */
	bool is_held;            /* a live process that a debugger keeps stopped: no pause of ours */
	uint64_t pause_ns;       /* how long a live process stood still; 0 if held */
	uint64_t bytes_copied;   /* out of a live process */
};

/*
 * Opens the core file `path`.  RI_ERROR_INPUT when it is no x86-64 ELF core
 * (the message says what it is), RI_ERROR_PERMISSION, RI_ERROR_NOT_FOUND.
 * Never blocks on a FIFO or device.  Partial failures (truncation, damaged
 * notes) go to `gaps`.
 */
struct ri_error *ri_target_open_core(const char *path, struct ri_gaps *gaps,
				     struct ri_target **ret);

/*
 * Seizes every thread of `pid`, copies, releases.  When `held_by_debugger` is
 * set, the process is already stopped by another tracer (gdb): memory is read
 * from /proc without ptrace and the registers are taken from `threads`
 * (`thread_count` of them, may be 0: then each thread's stack pointer from
 * /proc, and a gap says that registers were not searched).
 */
struct ri_target_live_options {
	bool held_by_debugger;
	const struct ri_thread *threads;
	size_t thread_count;
};

struct ri_error *ri_target_open_live(pid_t pid, const struct ri_target_live_options *options,
				     struct ri_gaps *gaps, struct ri_target **ret);

/* Frees everything, the image included; null is allowed. */
void ri_target_close(struct ri_target *target);

/* Whether the signal that ended the process carries the address of a fault. */
bool ri_target_has_fault_addr(const struct ri_target *target);

/* The mapping that contains `addr`, or null. */
const struct ri_mapping *ri_target_find_mapping(const struct ri_target *target, uint64_t addr);

#endif
