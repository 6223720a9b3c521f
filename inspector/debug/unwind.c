/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwinding: see unwind.h.
 *
 * libdwfl does it, over the modules that were reported to it and three callbacks:
 * which threads there are, their registers, and a word of memory, which comes from the
 * image alone.  It knows threads by positive numbers; they get their index plus one,
 * since a core's thread ids may be anything.
 *
 * On x86-64 the canonical frame address is the stack pointer of the caller, so a frame
 * ends where the next one's stack pointer is.  That has to grow from frame to frame,
 * except where a signal handler on a stack of its own interrupted a frame on another
 * one.  Where it does not, or where there are more frames than anybody looks at, the
 * call frame information is wrong or hostile, and the thread is cut off there.
 *
 * Where a module has no call frame information for a pc, libdwfl follows the frame
 * pointer.  So the outer frames may be guesses: they name places and prove nothing.
 *
 * Cost: some ten microseconds a frame; the number of all frames is bounded.  Symbols
 * are read when a function's name is asked for.  Blind spots: frames of modules whose
 * file was not found, and of code that was made at run time.
 */
#include "debug/unwind.h"

#include <stdlib.h>

#include "base/memory.h"
#include "debug/modules_private.h"

#define DEPTH_MAX 1024
#define FRAMES_MAX 200000
#define SWITCHES_MAX 16  /* of the stack, by signals within signals */
#define RED_ZONE_BYTES 128
#define DWARF_RSP 7
#define DWARF_RETURN_ADDRESS 16

struct thread_frames {
	size_t first, count;     /* frames[first .. first + count) */
	bool is_whole;
};

/* A frame's memory, for look-up by address. */
struct frame_span {
	uint64_t start, end;
	uint32_t frame;
};

struct ri_unwind {
	const struct ri_modules *modules;
	struct thread_frames *threads; /* per thread of the target */
	size_t thread_count;
	RI_VEC(struct ri_frame) frames;
	struct frame_span *spans;      /* ascending by start */
	size_t span_count;
};

/* The unwinding of one thread. */
struct walk {
	struct ri_unwind *unwind;
	uint32_t thread;
	unsigned switches;
	bool is_cut;
};

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread_data)
{
	const struct ri_modules *modules = data;
	struct ri_thread *threads = modules->target->threads;
	const struct ri_thread *last = *thread_data;

	(void)dwfl;
	for (size_t i = last ? (size_t)(last - threads) + 1 : 0; i < modules->target->thread_count;
	     i++)
		if (threads[i].has_registers) {
			*thread_data = &threads[i];
			return (pid_t)(i + 1);
		}
	return 0;
}

static bool set_registers(Dwfl_Thread *dwfl_thread, void *thread_data)
{
	/* DWARF's order (psABI): rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15, return address */
	static const enum ri_register order[] = {
		RI_REG_RAX, RI_REG_RDX, RI_REG_RCX, RI_REG_RBX, RI_REG_RSI, RI_REG_RDI,
		RI_REG_RBP, RI_REG_RSP, RI_REG_R8,  RI_REG_R9,  RI_REG_R10, RI_REG_R11,
		RI_REG_R12, RI_REG_R13, RI_REG_R14, RI_REG_R15, RI_REG_RIP,
	};
	const unsigned count = sizeof(order) / sizeof(order[0]);
	Dwarf_Word values[sizeof(order) / sizeof(order[0])];
	const struct ri_thread *thread = thread_data;

	for (unsigned i = 0; i < count; i++)
		values[i] = thread->registers[order[i]];
	return dwfl_thread_state_registers(dwfl_thread, 0, count, values);
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *data)
{
	const struct ri_modules *modules = data;
	uint64_t value;

	(void)dwfl;
	if (!ri_image_read_u64(modules->target->image, addr, &value))
		return false;
	*ret = value;
	return true;
}

static const Dwfl_Thread_Callbacks callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static void read_registers(Dwfl_Frame *state, struct ri_frame *frame)
{
	for (unsigned i = 0; i < RI_FRAME_REGISTERS; i++) {
		Dwarf_Word value;

		if (dwfl_frame_reg(state, i, &value))
			continue;
		frame->registers[i] = value;
		frame->known |= 1u << i;
	}
}

/* Whether `frame` can be the one that the last frame of the walk was called from. */
static bool is_plausible(struct walk *walk, const struct ri_frame *last,
			 const struct ri_frame *frame)
{
	if (!(frame->known >> DWARF_RSP & 1))
		return false;
	if (!last || frame->sp > last->sp)
		return true;
	return frame->is_activation && walk->switches++ < SWITCHES_MAX;
}

static int take_frame(Dwfl_Frame *state, void *data)
{
	struct walk *walk = data;
	struct ri_unwind *unwind = walk->unwind;
	struct thread_frames *thread = &unwind->threads[walk->thread];
	struct ri_frame *last = thread->count
					? &unwind->frames.items[thread->first + thread->count - 1]
					: NULL;
	struct ri_frame frame = { .thread = walk->thread, .depth = (uint32_t)thread->count };
	Dwarf_Addr pc;

	walk->is_cut = true;
	if (thread->count == DEPTH_MAX || unwind->frames.count == FRAMES_MAX ||
	    !dwfl_frame_pc(state, &pc, &frame.is_activation))
		return DWARF_CB_ABORT;
	read_registers(state, &frame);
	frame.pc = pc;
	frame.sp = frame.registers[DWARF_RSP];
	if (!is_plausible(walk, last, &frame))
		return DWARF_CB_ABORT;
	if (last)
		last->cfa = frame.sp > last->sp ? frame.sp : 0;
	*ri_push(&unwind->frames) = frame;
	thread->count++;
	walk->is_cut = false;
	return DWARF_CB_OK;
}

/* The rules that the call frame information has for the frame, to be freed; or null. */
static Dwarf_Frame *find_rules(const struct ri_modules *modules, const struct ri_frame *frame)
{
	uint64_t pc = frame->pc - !frame->is_activation;
	const struct ri_module *module = ri_modules_find(modules, pc);
	Dwfl_Module *dwfl = module ? ri_modules_state(modules, module)->dwfl : NULL;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi = dwfl ? dwfl_module_eh_cfi(dwfl, &bias) : NULL;
	Dwarf_Frame *rules;

	return cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &rules) ? rules : NULL;
}

/* Whether the call frame information says that nobody called the frame.  libdwfl takes a
 * return address that it cannot read for the same. */
static bool is_outermost(const struct ri_modules *modules, const struct ri_frame *frame)
{
	Dwarf_Frame *rules = find_rules(modules, frame);
	Dwarf_Op memory[3], *ops;
	bool is_undefined;
	size_t count;

	is_undefined = rules &&
		       !dwarf_frame_register(rules, DWARF_RETURN_ADDRESS, memory, &ops, &count) &&
		       !count && ops == memory;
	free(rules);
	return is_undefined;
}

/* Where call frame information led all the way. */
static void mark_exact(struct ri_unwind *unwind, const struct thread_frames *thread)
{
	for (size_t i = 0; i < thread->count; i++) {
		struct ri_frame *frame = &unwind->frames.items[thread->first + i];
		Dwarf_Frame *rules = find_rules(unwind->modules, frame);

		if (!rules)
			return;
		frame->is_exact = true;
		free(rules);
	}
}

static int take_thread(Dwfl_Thread *dwfl_thread, void *data)
{
	struct ri_unwind *unwind = data;
	struct walk walk = { .unwind = unwind,
			     .thread = (uint32_t)(dwfl_thread_tid(dwfl_thread) - 1) };
	struct thread_frames *thread = &unwind->threads[walk.thread];
	int status;

	thread->first = unwind->frames.count;
	if (unwind->modules->target->threads[walk.thread].registers_partial)
		return DWARF_CB_OK;
	status = dwfl_thread_getframes(dwfl_thread, take_frame, &walk);
	mark_exact(unwind, thread);
	thread->is_whole =
		!status && !walk.is_cut && thread->count &&
		is_outermost(unwind->modules, &unwind->frames.items[unwind->frames.count - 1]);
	return DWARF_CB_OK;
}

static int compare_spans(const void *a, const void *b)
{
	const struct frame_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void index_frames(struct ri_unwind *unwind)
{
	unwind->spans = ri_calloc(unwind->frames.count, sizeof(*unwind->spans));
	for (size_t i = 0; i < unwind->frames.count; i++) {
		const struct ri_frame *frame = &unwind->frames.items[i];
		uint64_t red_zone = frame->depth || frame->sp < RED_ZONE_BYTES ? 0 : RED_ZONE_BYTES;

		if (frame->cfa)
			unwind->spans[unwind->span_count++] = (struct frame_span){
				frame->sp - red_zone, frame->cfa, (uint32_t)i
			};
	}
	if (unwind->span_count)
		qsort(unwind->spans, unwind->span_count, sizeof(*unwind->spans), compare_spans);
}

static void tell_gaps(const struct ri_unwind *unwind, struct ri_gaps *gaps)
{
	struct ri_unwind_totals totals = ri_unwind_count(unwind);

	if (totals.threads_cut)
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "the stacks of %zu threads could not be unwound to their end: what "
			    "lies there is searched as well, without the names of frames",
			    totals.threads_cut);
}

struct ri_unwind *ri_unwind_create(const struct ri_modules *modules, struct ri_gaps *gaps)
{
	struct ri_unwind *unwind = ri_calloc(1, sizeof(*unwind));

	unwind->modules = modules;
	unwind->thread_count = modules->target->thread_count;
	unwind->threads = ri_calloc(unwind->thread_count, sizeof(*unwind->threads));
	/* attached once, to what lives as long: an unwinding may be done again */
	if (modules->dwfl && unwind->thread_count &&
	    (dwfl_pid(modules->dwfl) > 0 ||
	     dwfl_attach_state(modules->dwfl, NULL, 1, &callbacks, (void *)modules)))
		dwfl_getthreads(modules->dwfl, take_thread, unwind);
	index_frames(unwind);
	tell_gaps(unwind, gaps);
	return unwind;
}

void ri_unwind_destroy(struct ri_unwind *unwind)
{
	if (!unwind)
		return;
	free(unwind->threads);
	free(unwind->spans);
	ri_vec_deinit(&unwind->frames);
	free(unwind);
}

const struct ri_frame *ri_unwind_frames(const struct ri_unwind *unwind, uint32_t thread,
					size_t *ret_count)
{
	*ret_count = thread < unwind->thread_count ? unwind->threads[thread].count : 0;
	return *ret_count ? &unwind->frames.items[unwind->threads[thread].first] : NULL;
}

const struct ri_frame *ri_unwind_all(const struct ri_unwind *unwind, size_t *ret_count)
{
	*ret_count = unwind->frames.count;
	return unwind->frames.items;
}

const struct ri_frame *ri_unwind_find(const struct ri_unwind *unwind, uint64_t addr)
{
	size_t low = 0, high = unwind ? unwind->span_count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unwind->spans[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || addr >= unwind->spans[low - 1].end)
		return NULL;
	return &unwind->frames.items[unwind->spans[low - 1].frame];
}

const char *ri_unwind_function(const struct ri_unwind *unwind, const struct ri_frame *frame)
{
	/* a call may be the last instruction of its function */
	return ri_modules_find_symbol(unwind->modules, frame->pc - !frame->is_activation, true,
				      NULL, NULL);
}

struct ri_unwind_totals ri_unwind_count(const struct ri_unwind *unwind)
{
	struct ri_unwind_totals totals = { .frame_count = unwind->frames.count };

	for (size_t i = 0; i < unwind->thread_count; i++) {
		if (!unwind->threads[i].count)
			totals.threads_without++;
		else if (unwind->threads[i].is_whole)
			totals.threads_whole++;
		else
			totals.threads_cut++;
	}
	return totals;
}
