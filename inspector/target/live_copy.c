/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies the memory of a stopped process into an image.  Knows which mappings
 * matter and how to read them; leaves stopping and releasing to live.c.
 *
 * A plan is made first: for each mapping the pieces that the image gets (with
 * bytes, or why without), and within the pieces the jobs, the bytes that are
 * copied.  All bytes go into one anonymous mapping, which is zero where no job
 * writes.  Private anonymous pages that do not exist are left out of the jobs,
 * so that reading neither creates page tables in the target nor waits for a
 * userfaultfd handler that stands still like the rest of the process.
 *
 * What is copied: everything readable that can be written; read-only data
 * (relocated tables, constants); the first page of each mapped executable, for
 * its headers.  Text is left MISSING: the module loader has it from the file.
 * Not copied: devices (reading may have effects), and of large mappings with a
 * file behind them all but the pages that tell of the process (see policies).
 *
 * Cost: the pause is spent here, which is why memory for the copy is found and
 * cleared before, while the process still runs, by a plan made for that alone.  A
 * page that cannot be read costs a few system calls; a mapping that only fails is
 * given up after FAILURES_MAX pages.
 * Blind spots: large shared mappings are copied only as far as this process has
 * their pages in its page tables; the rest is MISSING.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target/live_private.h"

#define STAGE "target"
#define PAGE_SIZE 4096u
#define FAILURES_MAX 1024u

/* From this size on, a mapping's pages are looked up before it is copied. */
#define LARGE_BYTES (64ull << 20)

/* Where a large mapping's absent pages become a range of their own. */
#define SPLIT_BYTES (1ull << 20)

/* From this size on, a job is given huge pages to write to. */
#define HUGE_JOB_BYTES (4ull << 20)

/* Room for what a process adds to its memory before it is stopped. */
#define SPARE_BYTES (1u << 20)

/* Smaller jobs find their memory as they are written. */
#define POPULATE_BYTES (64u << 10)

/* Older headers do not have it. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Copied in one system call at most. */
#define BATCH_IOVECS 256
#define BATCH_BYTES (64u << 20)

/* Bytes to copy: [start, end) of the target to `offset` in the buffer. */
struct job {
	uint64_t start, end, offset;
	uint32_t flags; /* of the mapping */
};

/* A range for the image; `offset` counts where it has bytes. */
struct piece {
	uint64_t start, end, offset;
	enum ri_range_kind kind; /* PRESENT, UNTOUCHED, MISSING */
	uint32_t flags;
};

struct copy {
	struct ri_target *target;
	struct ri_gaps *gaps;
	pid_t tid;
	bool use_mem;
	int mem_fd;                      /* /proc/TID/mem, or -1 */
	struct ri_pagemap *pagemap;      /* or null */
	RI_VEC(struct piece) pieces;     /* ascending */
	RI_VEC(struct job) jobs;         /* ascending */
	RI_VEC(struct ri_page_run) lost; /* could not be read; ascending */
	uint8_t *buffer;
	uint64_t buffer_bytes;
};

/* What is done with a mapping. */
enum policy {
	SKIP,             /* MISSING, which is no news */
	SKIP_AND_TELL,    /* MISSING, with a gap */
	NEVER_WRITTEN,    /* UNTOUCHED */
	FIRST_PAGE,       /* the rest MISSING */
	COPY,             /* all of it */
	COPY_EXISTING,    /* pages that exist; the others are zero */
	SPLIT_EXISTING,   /* pages that exist; large holes become UNTOUCHED */
	COPY_KNOWN,       /* pages that exist here; the others are MISSING */
	COPY_PRIVATE,     /* pages that were written here; the others are MISSING */
};

static bool has_prefix(const char *path, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(path, *prefixes, strlen(*prefixes)))
			return true;
	return false;
}

static bool is_device(const char *path)
{
	static const char *const memory[] = { "/dev/shm/", "/dev/zero", "/dev/hugepages", NULL };
	static const char *const devices[] = { "/dev/", "/sys/", "/proc/", "anon_inode:",
					       "/dmabuf", NULL };

	return path && has_prefix(path, devices) && !has_prefix(path, memory);
}

/*
 * Whether pages of the mapping that do not exist read as zeros.  Not so the
 * kernel's own mappings, such as [vdso], whose pages appear when first used.
 */
static bool is_zero_filled(const struct ri_mapping *mapping)
{
	static const char *const names[] = { "[heap]", "[stack", "[anon:", "/anon_hugepage",
					     NULL };

	return mapping->flags & RI_RANGE_ANONYMOUS && !(mapping->flags & RI_RANGE_SHARED) &&
	       (!mapping->path || has_prefix(mapping->path, names));
}

static enum policy choose_policy(const struct ri_mapping *mapping)
{
	static const char *const kernel_pages[] = { "[vvar", "[vsyscall]", NULL };
	bool is_large = mapping->end - mapping->start >= LARGE_BYTES;
	uint32_t access = mapping->flags & (RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_EXEC);

	if (mapping->path && has_prefix(mapping->path, kernel_pages))
		return SKIP;
	if (is_device(mapping->path))
		return access & RI_RANGE_WRITE ? SKIP_AND_TELL : SKIP;
	if (is_zero_filled(mapping)) {
		if (!access)
			return NEVER_WRITTEN; /* a guard or a reservation */
		return is_large ? SPLIT_EXISTING : COPY_EXISTING;
	}
	if (!(access & (RI_RANGE_READ | RI_RANGE_WRITE)))
		return SKIP;
	if (mapping->flags & RI_RANGE_SHARED) {
		if (!is_large)
			return COPY;
		return access & RI_RANGE_WRITE ? COPY_KNOWN : SKIP_AND_TELL;
	}
	if (access & RI_RANGE_WRITE)
		return is_large ? COPY_KNOWN : COPY;
	if (mapping->flags & RI_RANGE_ANONYMOUS)
		return COPY; /* [vdso] */
	if (access & RI_RANGE_EXEC)
		return mapping->file_offset ? SKIP : FIRST_PAGE;
	return is_large ? COPY_PRIVATE : COPY;
}

static void add_piece(struct copy *copy, uint64_t start, uint64_t end, enum ri_range_kind kind,
		      uint32_t flags)
{
	struct piece *piece;

	if (start >= end)
		return;
	piece = ri_push(&copy->pieces);
	*piece = (struct piece){ start, end, copy->buffer_bytes, kind, flags };
	if (kind == RI_RANGE_PRESENT)
		copy->buffer_bytes += end - start;
}

/* Adds a job for [start, end), which lies in the last piece. */
static void add_job(struct copy *copy, uint64_t start, uint64_t end)
{
	const struct piece *piece = &copy->pieces.items[copy->pieces.count - 1];
	struct job *job = ri_push(&copy->jobs);

	*job = (struct job){ start, end, piece->offset + (start - piece->start), piece->flags };
}

static void plan_whole(struct copy *copy, uint64_t start, uint64_t end, uint32_t flags)
{
	add_piece(copy, start, end, RI_RANGE_PRESENT, flags);
	add_job(copy, start, end);
}

/*
 * Plans a mapping of which only the pages in `runs` exist.  Holes of at least
 * `split_bytes` become pieces of kind `hole`; smaller ones are zero.
 */
static void plan_runs(struct copy *copy, const struct ri_mapping *mapping,
		      const struct ri_page_runs *runs, uint64_t split_bytes,
		      enum ri_range_kind hole)
{
	uint64_t at = mapping->start;
	size_t i = 0;

	while (i < runs->count) {
		uint64_t piece_start = runs->items[i].start - at >= split_bytes
					       ? runs->items[i].start : at;
		size_t behind = i + 1;
		uint64_t end;

		while (behind < runs->count &&
		       runs->items[behind].start - runs->items[behind - 1].end < split_bytes)
			behind++;
		end = runs->items[behind - 1].end;
		if (behind == runs->count && mapping->end - end < split_bytes)
			end = mapping->end;
		add_piece(copy, at, piece_start, hole, mapping->flags);
		add_piece(copy, piece_start, end, RI_RANGE_PRESENT, mapping->flags);
		for (; i < behind; i++)
			add_job(copy, runs->items[i].start, runs->items[i].end);
		at = end;
	}
	add_piece(copy, at, mapping->end, hole, mapping->flags);
}

/* Plans a mapping whose pages must be looked up first. */
static void plan_by_pages(struct copy *copy, const struct ri_mapping *mapping, enum policy policy)
{
	struct ri_page_runs runs = { 0 };
	bool found = copy->pagemap &&
		     ri_pagemap_find(copy->pagemap, mapping->start, mapping->end,
				     policy == COPY_PRIVATE, &runs);

	if (!found) {
		bool is_large = mapping->end - mapping->start >= LARGE_BYTES;

		if (!is_large) {
			plan_whole(copy, mapping->start, mapping->end, mapping->flags);
			return;
		}
		add_piece(copy, mapping->start, mapping->end, RI_RANGE_MISSING, mapping->flags);
		ri_gaps_add(copy->gaps,
			    mapping->flags & RI_RANGE_WRITE ? RI_GAP_MATTERS : RI_GAP_TOLD, STAGE,
			    "a large mapping was not copied: which of its pages exist could not be "
			    "read from /proc/PID/pagemap");
		return;
	}
	switch (policy) {
	case SPLIT_EXISTING:
		plan_runs(copy, mapping, &runs, SPLIT_BYTES, RI_RANGE_UNTOUCHED);
		break;
	case COPY_EXISTING:
		if (runs.count)
			plan_runs(copy, mapping, &runs, UINT64_MAX, RI_RANGE_UNTOUCHED);
		else
			add_piece(copy, mapping->start, mapping->end, RI_RANGE_PRESENT,
				  mapping->flags);
		break;
	default:
		plan_runs(copy, mapping, &runs, 1, RI_RANGE_MISSING);
		break;
	}
	ri_vec_deinit(&runs);
}

static void plan_mapping(struct copy *copy, const struct ri_mapping *mapping)
{
	enum policy policy = choose_policy(mapping);

	switch (policy) {
	case SKIP_AND_TELL:
		ri_gaps_add(copy->gaps, RI_GAP_TOLD, STAGE,
			    "a mapping was not copied: a device, or a large file shared read-only");
		/* fall through */
	case SKIP:
		add_piece(copy, mapping->start, mapping->end, RI_RANGE_MISSING, mapping->flags);
		break;
	case NEVER_WRITTEN:
		add_piece(copy, mapping->start, mapping->end, RI_RANGE_UNTOUCHED, mapping->flags);
		break;
	case FIRST_PAGE:
		plan_whole(copy, mapping->start, mapping->start + PAGE_SIZE, mapping->flags);
		add_piece(copy, mapping->start + PAGE_SIZE, mapping->end, RI_RANGE_MISSING,
			  mapping->flags);
		break;
	case COPY:
		plan_whole(copy, mapping->start, mapping->end, mapping->flags);
		break;
	default:
		plan_by_pages(copy, mapping, policy);
		break;
	}
}

/*
 * The buffer: small pages by default, for thread stacks and the like are mostly
 * holes; large ones where a job fills them.  Null when there is no memory.
 */
static uint8_t *map_buffer(const struct copy *copy, uint64_t size_bytes)
{
	uint8_t *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, size_bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < copy->jobs.count; i++) {
		const struct job *job = &copy->jobs.items[i];

		if (job->end - job->start >= HUGE_JOB_BYTES)
			(void)madvise(p + job->offset, job->end - job->start, MADV_HUGEPAGE);
	}
	return p;
}

static struct ri_error *take_buffer(struct copy *copy, const struct ri_live_buffer *buffer)
{
	uint64_t size_bytes = copy->buffer_bytes + 1;

	if (buffer->size_bytes >= size_bytes) {
		copy->buffer = buffer->p;
		size_bytes = buffer->size_bytes;
	} else {
		if (buffer->p)
			munmap(buffer->p, buffer->size_bytes);
		copy->buffer = map_buffer(copy, size_bytes);
	}
	if (!copy->buffer)
		return ri_error_create(RI_ERROR_IO,
				       "there is no memory for a copy of process %d (%llu MiB)",
				       (int)copy->target->pid,
				       (unsigned long long)copy->buffer_bytes >> 20);
	ri_image_own_mapping(copy->target->image, copy->buffer, size_bytes);
	return NULL;
}

/* Where the copying stands: `done` bytes of jobs[job]. */
struct cursor {
	size_t job;
	uint64_t done;
	uint64_t failures; /* pages of this job that could not be read */
};

static void advance(const struct copy *copy, struct cursor *cursor, uint64_t size_bytes)
{
	while (cursor->job < copy->jobs.count) {
		const struct job *job = &copy->jobs.items[cursor->job];
		uint64_t left = job->end - job->start - cursor->done;

		if (size_bytes < left) {
			cursor->done += size_bytes;
			return;
		}
		size_bytes -= left;
		*cursor = (struct cursor){ cursor->job + 1, 0, 0 };
	}
}

/* Reads on from the cursor in one system call; returns as process_vm_readv(). */
static ssize_t read_batch(const struct copy *copy, const struct cursor *cursor)
{
	struct iovec ours[BATCH_IOVECS], theirs[BATCH_IOVECS];
	uint64_t done = cursor->done, room = BATCH_BYTES;
	size_t count = 0;

	for (size_t i = cursor->job; i < copy->jobs.count && count < BATCH_IOVECS && room; i++) {
		const struct job *job = &copy->jobs.items[i];
		uint64_t size = job->end - job->start - done;

		if (size > room)
			size = room;
		ours[count] = (struct iovec){ copy->buffer + job->offset + done, size };
		theirs[count++] = (struct iovec){ (void *)(uintptr_t)(job->start + done), size };
		room -= size;
		done = 0;
	}
	return process_vm_readv(copy->tid, ours, count, theirs, count, 0);
}

/* Reads from /proc/TID/mem at the cursor, `max_bytes` at most. */
static ssize_t read_mem(struct copy *copy, const struct cursor *cursor, uint64_t max_bytes)
{
	const struct job *job = &copy->jobs.items[cursor->job];
	uint64_t size = job->end - job->start - cursor->done;
	char path[64];

	if (copy->mem_fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)copy->tid);
		copy->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (copy->mem_fd < 0)
			return -1;
	}
	if (size > max_bytes)
		size = max_bytes;
	return pread(copy->mem_fd, copy->buffer + job->offset + cursor->done, size,
		     (off_t)(job->start + cursor->done));
}

/* Gives the page at the cursor up, or the whole job when it has only failed. */
static void lose_page(struct copy *copy, struct cursor *cursor)
{
	const struct job *job = &copy->jobs.items[cursor->job];
	uint64_t start = job->start + cursor->done, end = start + PAGE_SIZE;
	struct ri_page_run *last;

	if (++cursor->failures > FAILURES_MAX || end > job->end)
		end = job->end;
	last = copy->lost.count ? &copy->lost.items[copy->lost.count - 1] : NULL;
	if (last && last->end == start) {
		last->end = end;
	} else {
		last = ri_push(&copy->lost);
		*last = (struct ri_page_run){ start, end };
	}
	if (job->flags & RI_RANGE_WRITE && !(job->flags & RI_RANGE_SHARED))
		ri_gaps_add(copy->gaps, RI_GAP_MATTERS, STAGE,
			    "writable memory of the process could not be read");
	else
		ri_gaps_add(copy->gaps, RI_GAP_TOLD, STAGE,
			    "read-only or shared memory of the process could not be read");
	advance(copy, cursor, end - start);
}

static struct ri_error *ended_meanwhile(const struct copy *copy)
{
	return ri_error_create(RI_ERROR_NOT_FOUND, "process %d ended while it was being copied",
			       (int)copy->target->pid);
}

static struct ri_error *run_jobs(struct copy *copy)
{
	struct cursor cursor = { 0 };

	while (cursor.job < copy->jobs.count) {
		ssize_t n = copy->use_mem ? -1 : read_batch(copy, &cursor);

		if (n <= 0)
			n = read_mem(copy, &cursor, copy->use_mem ? BATCH_BYTES : PAGE_SIZE);
		if (n > 0) {
			advance(copy, &cursor, (uint64_t)n);
			copy->target->bytes_copied += (uint64_t)n;
			continue;
		}
		if (copy->mem_fd < 0 && (errno == EACCES || errno == EPERM))
			return ri_error_create_errno(errno, "/proc/%d/mem", (int)copy->tid);
		if (!cursor.failures && ri_proc_has_ended(copy->tid))
			return ended_meanwhile(copy);
		lose_page(copy, &cursor);
	}
	return NULL;
}

static void add_range(struct copy *copy, const struct piece *piece, uint64_t start, uint64_t end,
		      enum ri_range_kind kind)
{
	const uint8_t *bytes = NULL;

	if (kind == RI_RANGE_PRESENT)
		bytes = copy->buffer + piece->offset + (start - piece->start);
	ri_image_add(copy->target->image,
		     &(struct ri_range){ start, end, bytes, kind, piece->flags });
}

/* Hands the pieces to the image, without the pages that were lost. */
static void fill_image(struct copy *copy)
{
	size_t lost = 0;

	for (size_t i = 0; i < copy->pieces.count; i++) {
		const struct piece *piece = &copy->pieces.items[i];
		uint64_t at = piece->start;

		while (lost < copy->lost.count && copy->lost.items[lost].start < piece->end) {
			const struct ri_page_run *run = &copy->lost.items[lost];
			uint64_t start = run->start > at ? run->start : at;
			uint64_t end = run->end < piece->end ? run->end : piece->end;

			add_range(copy, piece, at, start, piece->kind);
			add_range(copy, piece, start, end, RI_RANGE_MISSING);
			at = end;
			if (run->end > piece->end)
				break; /* goes on in the next piece */
			lost++;
		}
		add_range(copy, piece, at, piece->end, piece->kind);
	}
}

static void plan(struct copy *copy)
{
	copy->pagemap = ri_pagemap_open(copy->tid);
	for (size_t i = 0; i < copy->target->mapping_count; i++)
		plan_mapping(copy, &copy->target->mappings[i]);
	ri_pagemap_close(copy->pagemap);
}

static void deinit(struct copy *copy)
{
	if (copy->mem_fd >= 0)
		close(copy->mem_fd);
	ri_vec_deinit(&copy->pieces);
	ri_vec_deinit(&copy->jobs);
	ri_vec_deinit(&copy->lost);
}

/* Has the kernel find the pages that the jobs will write to. */
static void populate(const struct copy *copy, uint8_t *buffer)
{
	for (size_t i = 0; i < copy->jobs.count; i++) {
		const struct job *job = &copy->jobs.items[i];

		if (job->end - job->start >= POPULATE_BYTES &&
		    madvise(buffer + job->offset, job->end - job->start, MADV_POPULATE_WRITE))
			return; /* before Linux 5.14, or no memory */
	}
}

void ri_live_prepare(pid_t tid, struct ri_live_buffer *ret)
{
	struct ri_target target = { .pid = tid };
	struct ri_gaps gaps;
	struct copy copy = { .target = &target, .gaps = &gaps, .tid = tid, .mem_fd = -1 };
	struct ri_error *error;

	*ret = (struct ri_live_buffer){ 0 };
	ri_gaps_init(&gaps);
	error = ri_proc_read_mappings(&target, tid, &gaps);
	if (!error) {
		plan(&copy);
		/* the process may grow until it is stopped */
		ret->size_bytes = copy.buffer_bytes + copy.buffer_bytes / 8 + SPARE_BYTES;
		ret->p = map_buffer(&copy, ret->size_bytes);
		if (ret->p)
			populate(&copy, ret->p);
		else
			ret->size_bytes = 0;
	}
	ri_error_destroy(error);
	ri_gaps_deinit(&gaps);
	ri_target_deinit_mappings(&target);
	deinit(&copy);
}

struct ri_error *ri_live_copy(struct ri_target *target, pid_t tid, bool use_mem,
			      const struct ri_live_buffer *buffer, struct ri_gaps *gaps)
{
	struct copy copy = { .target = target, .gaps = gaps, .tid = tid, .use_mem = use_mem,
			     .mem_fd = -1 };
	struct ri_error *error;

	plan(&copy);
	error = take_buffer(&copy, buffer);
	if (!error)
		error = run_jobs(&copy);
	if (!error)
		fill_image(&copy);
	deinit(&copy);
	return error;
}
