/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The notes of a core file: threads, signal, auxiliary vector, mapped files.
 * Knows the note formats of x86-64 Linux; leaves segments and files to core.c.
 *
 * Every size in a note is the file's claim and checked against what is there;
 * all offsets are 64-bit, so that sums of 32-bit sizes cannot wrap.  A damaged
 * note is a gap, and reading goes on behind it as long as its sizes let the
 * next one be found.  One pass, in proportion to the bytes of the segment.
 */
#include <elf.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "target/target_private.h"

#define STAGE "target"

/* No processor saves more than some 11 KiB today (AVX-512 and AMX). */
#define VECTOR_MAX_BYTES (1u << 16)

_Static_assert(sizeof(struct user_regs_struct) == RI_REGISTER_COUNT * sizeof(uint64_t),
	       "enum ri_register follows struct user_regs_struct");
_Static_assert(sizeof(((struct elf_prstatus *)0)->pr_reg) == sizeof(struct user_regs_struct),
	       "NT_PRSTATUS carries struct user_regs_struct");

struct note {
	uint32_t type;
	const char *name; /* name_size bytes, the NUL included where there is one */
	size_t name_size;
	const uint8_t *desc;
	uint64_t desc_size;
};

static bool has_name(const struct note *note, const char *name)
{
	size_t length = strlen(name);

	return note->name_size >= length && !memcmp(note->name, name, length) &&
	       (note->name_size == length || !note->name[length]);
}

static void read_prstatus(struct ri_core_notes *notes, const struct note *note)
{
	struct elf_prstatus status;
	struct ri_thread *thread;

	if (note->desc_size < sizeof(status)) {
		notes->target->has_lost_threads = true;
		ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread's note (NT_PRSTATUS) is too short; its registers are unknown");
		return;
	}
	memcpy(&status, note->desc, sizeof(status));
	thread = ri_push(&notes->threads);
	thread->tid = status.pr_pid;
	thread->has_registers = true;
	memcpy(thread->registers, &status.pr_reg, sizeof(thread->registers));
	if (notes->threads.count == 1 && !notes->target->signal && status.pr_cursig > 0)
		notes->target->signal = status.pr_cursig;
}

/* The floating-point and vector registers belong to the thread before them. */
static void read_vector(struct ri_core_notes *notes, const struct note *note)
{
	struct ri_thread *thread;

	if (!notes->threads.count || !note->desc_size || note->desc_size > VECTOR_MAX_BYTES) {
		ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
			    "a note with vector registers is damaged or belongs to no thread");
		return;
	}
	thread = &notes->threads.items[notes->threads.count - 1];
	if (thread->vector_size_bytes >= note->desc_size)
		return; /* XSAVE begins with what FXSAVE holds: the longer one is kept */
	free(thread->vector);
	thread->vector = ri_malloc(note->desc_size);
	thread->vector_size_bytes = note->desc_size;
	memcpy(thread->vector, note->desc, note->desc_size);
}

static void read_psinfo(struct ri_core_notes *notes, const struct note *note)
{
	struct ri_target *target = notes->target;
	struct elf_prpsinfo info;
	size_t length;

	if (target->command)
		return;
	if (note->desc_size < sizeof(info)) {
		ri_gaps_add(notes->gaps, RI_GAP_TOLD, STAGE,
			    "the note that names the process (NT_PRPSINFO) is too short");
		return;
	}
	memcpy(&info, note->desc, sizeof(info));
	target->pid = info.pr_pid;
	target->command = ri_strndup(info.pr_fname, sizeof(info.pr_fname));
	length = strnlen(info.pr_psargs, sizeof(info.pr_psargs));
	while (length && info.pr_psargs[length - 1] == ' ')
		length--; /* the kernel writes a blank for each argument's NUL */
	target->arguments = ri_strndup(info.pr_psargs, length);
}

static void read_siginfo(struct ri_core_notes *notes, const struct note *note)
{
	struct ri_target *target = notes->target;
	siginfo_t info;

	if (target->has_siginfo)
		return; /* the first thread's; gdb writes one for each */
	if (note->desc_size < sizeof(info)) {
		ri_gaps_add(notes->gaps, RI_GAP_TOLD, STAGE,
			    "the note about the signal (NT_SIGINFO) is too short");
		return;
	}
	memcpy(&info, note->desc, sizeof(info));
	target->has_siginfo = true;
	target->signal_code = info.si_code;
	if (info.si_signo > 0 && info.si_signo <= SIGRTMAX)
		target->signal = info.si_signo;
	if (ri_target_has_fault_addr(target))
		memcpy(&target->fault_addr, &info.si_addr, sizeof(target->fault_addr));
}

void ri_target_take_auxv(struct ri_target *target, const void *auxv, size_t size_bytes)
{
	const uint8_t *bytes = auxv;
	Elf64_auxv_t entry;

	for (size_t at = 0; size_bytes - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, bytes + at, sizeof(entry));
		switch (entry.a_type) {
		case AT_NULL:
			return;
		case AT_PHDR:
			target->auxv_phdr = entry.a_un.a_val;
			break;
		case AT_PHNUM:
			target->auxv_phnum = entry.a_un.a_val;
			break;
		case AT_ENTRY:
			target->auxv_entry = entry.a_un.a_val;
			break;
		case AT_BASE:
			target->auxv_base = entry.a_un.a_val;
			break;
		case AT_SYSINFO_EHDR:
			target->auxv_sysinfo_ehdr = entry.a_un.a_val;
			break;
		case AT_RANDOM:
			target->auxv_random = entry.a_un.a_val;
			break;
		case AT_EXECFN:
			target->auxv_execfn = entry.a_un.a_val;
			break;
		}
	}
}

/* One row of NT_FILE; offsets are in units of `page_size`. */
struct file_row {
	uint64_t start, end, page_offset;
};

/* Adds a row; false when it makes no sense. */
static bool add_file(struct ri_core_notes *notes, const struct file_row *row, uint64_t page_size,
		     const char *path)
{
	struct ri_mapping *mapping;
	uint64_t offset, offset_end;

	if (row->start >= row->end ||
	    __builtin_mul_overflow(row->page_offset, page_size, &offset) ||
	    __builtin_add_overflow(offset, row->end - row->start, &offset_end))
		return false;
	mapping = ri_push(&notes->files);
	mapping->start = row->start;
	mapping->end = row->end;
	mapping->file_offset = offset;
	mapping->path = ri_strdup(path);
	return true;
}

/* NT_FILE: count, page size, `count` rows, then as many NUL-terminated names. */
static void read_files(struct ri_core_notes *notes, const struct note *note)
{
	const char *name, *end = (const char *)note->desc + note->desc_size;
	uint64_t count, page_size;
	bool damaged = false;

	if (note->desc_size < 2 * sizeof(uint64_t))
		goto useless;
	memcpy(&count, note->desc, sizeof(count));
	memcpy(&page_size, note->desc + sizeof(count), sizeof(page_size));
	if (count > (note->desc_size - 2 * sizeof(uint64_t)) / sizeof(struct file_row))
		goto useless;
	name = (const char *)note->desc + 2 * sizeof(uint64_t) + count * sizeof(struct file_row);
	for (uint64_t i = 0; i < count; i++) {
		const char *nul = memchr(name, 0, (size_t)(end - name));
		struct file_row row;

		if (!nul) {
			damaged = true;
			break;
		}
		memcpy(&row, note->desc + 2 * sizeof(uint64_t) + i * sizeof(row), sizeof(row));
		damaged |= !add_file(notes, &row, page_size, name);
		name = nul + 1;
	}
	notes->has_files = true;
	if (damaged)
		ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
			    "the list of mapped files (NT_FILE) is damaged; some are unknown");
	return;
useless:
	ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
		    "the list of mapped files (NT_FILE) is damaged and was not used");
}

static void read_note(struct ri_core_notes *notes, const struct note *note)
{
	if (has_name(note, "VMCOREINFO")) {
		notes->is_kernel_dump = true;
	} else if (has_name(note, "LINUX")) {
		if (note->type == NT_X86_XSTATE)
			read_vector(notes, note);
	} else if (has_name(note, "CORE")) {
		switch (note->type) {
		case NT_PRSTATUS:
			read_prstatus(notes, note);
			break;
		case NT_FPREGSET:
			read_vector(notes, note);
			break;
		case NT_PRPSINFO:
			read_psinfo(notes, note);
			break;
		case NT_SIGINFO:
			read_siginfo(notes, note);
			break;
		case NT_AUXV:
			ri_target_take_auxv(notes->target, note->desc, note->desc_size);
			break;
		case NT_FILE:
			read_files(notes, note);
			break;
		}
	}
}

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

void ri_core_notes_read(struct ri_core_notes *notes, const uint8_t *bytes, uint64_t size_bytes,
			uint64_t align)
{
	uint64_t at = 0;

	align = align == 8 ? 8 : 4; /* the kernel writes 0 or 4 and means 4 */
	while (size_bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		struct note note;
		uint64_t desc_at, end;

		memcpy(&header, bytes + at, sizeof(header));
		desc_at = at + round_up(sizeof(header) + header.n_namesz, align);
		end = desc_at + header.n_descsz;
		if (!header.n_namesz && !header.n_descsz && !header.n_type) {
			notes->target->has_lost_threads = true;
			ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
				    "a note is blank; the notes behind it (threads, mapped "
				    "files) were not read");
			return;
		}
		if (end > size_bytes) {
			notes->target->has_lost_threads = true;
			ri_gaps_add(notes->gaps, RI_GAP_MATTERS, STAGE,
				    "a note runs past the end of its segment; it and the notes "
				    "behind it (threads, mapped files) were not read");
			return;
		}
		note = (struct note){ header.n_type, (const char *)bytes + at + sizeof(header),
				      header.n_namesz, bytes + desc_at, header.n_descsz };
		read_note(notes, &note);
		at = desc_at + round_up(header.n_descsz, align);
		if (at > size_bytes)
			at = size_bytes; /* the last one's padding may be left out */
	}
}
