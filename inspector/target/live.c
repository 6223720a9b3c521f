/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Live processes: stops every thread, takes registers and memory, lets go.  The
 * one file that uses ptrace; what is copied is decided in live_copy.c.
 *
 * Threads are seized and interrupted, never attached: no SIGSTOP is sent that
 * could be lost or seen.  The list of threads is read again until it names no
 * new one, since a thread that still ran may have created another.  A thread is
 * then in one of two stops: the one that was asked for (or the group stop of a
 * process that was stopped before, into which it falls back by itself), or it
 * was just about to take a signal; that one is handed over when the thread is
 * released.
 *
 * All this runs in a tracing thread, because the kernel releases a tracer's
 * threads when the tracer ends, whatever state they are in: also those that
 * never stopped (uninterruptible, such as the parent in vfork) and cannot be
 * detached.  If refinspect is killed, the same happens.
 *
 * The pause is from the first interrupt to the last release; memory for the copy
 * is found before.  Threads that do not stop are waited for together, so that many
 * of them cost no more than one.  Blind spots: a thread in an uninterruptible wait
 * has no registers to give but its stack pointer; a few system calls (epoll_wait
 * among them) return EINTR in a thread that was stopped in them, as they do after
 * SIGSTOP and SIGCONT.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/live_private.h"

#define STAGE "target"
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* A thread that cannot be interrupted is given up soon, others are waited for. */
#define LOOK_AFTER_NS (10 * NS_PER_MS) /* from then on, its state is read */
#define WAIT_UNINTERRUPTIBLE_NS (200 * NS_PER_MS)
#define WAIT_OTHERS_NS (5 * NS_PER_S)

#define VECTOR_MAX_BYTES (1u << 16)

/* The kernel's largest possible process number. */
#define TID_LIMIT (1u << 22)

enum stop {
	SEIZED,      /* interrupted, not yet seen to stop */
	STOPPED,
	UNSTOPPABLE, /* did not stop in time */
	GONE,        /* ended meanwhile */
};

struct tracee {
	enum stop stop;
	int signal;  /* to hand over on release, or 0 */
	struct ri_thread thread;
};

struct session {
	struct ri_target *target;
	struct ri_gaps *gaps;
	struct ri_error *error; /* what the tracing thread came to; null: success */
	uint8_t *known;         /* a bit per thread number */
	uint64_t started_ns;    /* the first interrupt, or 0 */
	struct ri_live_buffer buffer; /* prepared for the copy; empty once it is taken */
	RI_VEC(struct tracee) tracees;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* Why the system does not let us read `pid`, as far as can be told. */
static struct ri_error *refused(pid_t pid)
{
	struct ri_proc_status status;
	char scope = '0';
	int fd;

	if (ri_proc_read_status(pid, &status) && status.tracer)
		return ri_error_create(RI_ERROR_PERMISSION,
				       "process %d is traced by process %d; a process can have one "
				       "tracer (if it is gdb, use refcheck there, or detach)",
				       (int)pid, (int)status.tracer);
	fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &scope, 1) != 1)
			scope = '0';
		close(fd);
	}
	if (scope > '0')
		return ri_error_create(RI_ERROR_PERMISSION,
				       "process %d may not be traced: kernel.yama.ptrace_scope is %c "
				       "here; run as root (CAP_SYS_PTRACE), or lower it for the time",
				       (int)pid, scope);
	return ri_error_create(RI_ERROR_PERMISSION,
			       "process %d may not be traced; run as its user or as root "
			       "(CAP_SYS_PTRACE)", (int)pid);
}

/* Refuses executables that are not 64-bit x86-64. */
static struct ri_error *check_executable(pid_t pid)
{
	Elf64_Ehdr header = { 0 };
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return refused(pid);
	if (fd < 0)
		return NULL; /* no name for it any more; its registers will tell */
	n = pread(fd, &header, sizeof(header), 0);
	close(fd);
	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64)
		return NULL;
	return ri_error_create(RI_ERROR_INPUT,
			       "process %d is a %s process; only 64-bit x86-64 can be read", (int)pid,
			       header.e_ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "foreign");
}

/* Everything that can be said against `pid` before it is stopped. */
static struct ri_error *check_process(pid_t pid, bool held_by_debugger)
{
	struct ri_proc_status status;

	if (pid <= 0)
		return ri_error_create(RI_ERROR_INPUT, "%d is no process number", (int)pid);
	if (pid == getpid())
		return ri_error_create(RI_ERROR_INPUT, "process %d is refinspect itself", (int)pid);
	if (!ri_proc_read_status(pid, &status)) {
		if (!kill(pid, 0) || errno == EPERM)
			return ri_error_create(RI_ERROR_PERMISSION,
					       "process %d is hidden from this user in /proc",
					       (int)pid);
		return ri_error_create(RI_ERROR_NOT_FOUND, "there is no process %d", (int)pid);
	}
	if (status.tgid != pid)
		return ri_error_create(RI_ERROR_INPUT,
				       "%d is a thread of process %d; give the process",
				       (int)pid, (int)status.tgid);
	if (status.is_kernel_thread)
		return ri_error_create(RI_ERROR_INPUT,
				       "process %d is a kernel thread: it has no memory of its own",
				       (int)pid);
	if (status.tracer && !held_by_debugger)
		return refused(pid);
	if (strchr("ZXx", status.state)) {
		size_t count;

		/* the first thread may have ended before the others */
		free(ri_proc_list_threads(pid, &count));
		if (count < 2)
			return ri_error_create(RI_ERROR_INPUT,
					       "process %d has ended (it is a zombie)", (int)pid);
		return NULL;
	}
	return check_executable(pid);
}

/* Whether `tid` is new; marks it as known. */
static bool is_new(struct session *session, pid_t tid)
{
	uint8_t bit = (uint8_t)(1u << (unsigned)tid % 8);
	uint8_t *byte;

	if (tid <= 0 || (unsigned)tid >= TID_LIMIT)
		return false;
	byte = &session->known[(unsigned)tid / 8];
	if (*byte & bit)
		return false;
	*byte |= bit;
	return true;
}

static struct ri_error *seize(struct session *session, pid_t tid)
{
	struct tracee *tracee;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int saved = errno;

		if (saved == ESRCH || ri_proc_has_ended(tid))
			return NULL;
		if (saved == EPERM || saved == EACCES)
			return refused(session->target->pid);
		return ri_error_create_errno(saved, "thread %d cannot be traced", (int)tid);
	}
	tracee = ri_push(&session->tracees);
	tracee->thread.tid = tid;
	if (!session->started_ns)
		session->started_ns = now_ns();
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		tracee->stop = GONE;
	return NULL;
}

/* Takes note of what waitpid() said of a tracee. */
static void take_status(struct tracee *tracee, int status)
{
	if (!WIFSTOPPED(status)) {
		tracee->stop = GONE;
		return;
	}
	tracee->stop = STOPPED;
	if (status >> 16 != PTRACE_EVENT_STOP)
		tracee->signal = WSTOPSIG(status);
}

/* Waits for a thread to stop, to end, or to show that it cannot; it was interrupted at
 * `started` or before. */
static void wait_for_stop(struct tracee *tracee, uint64_t started)
{
	uint64_t pause = 20000;

	while (tracee->stop == SEIZED) {
		uint64_t waited = now_ns() - started;
		struct ri_proc_status proc;
		int status;
		pid_t got = waitpid(tracee->thread.tid, &status, __WALL | WNOHANG);

		if (got == tracee->thread.tid) {
			take_status(tracee, status);
		} else if (got < 0 && errno != EINTR) {
			tracee->stop = GONE;
		} else if (waited > LOOK_AFTER_NS &&
			   (!ri_proc_read_status(tracee->thread.tid, &proc) ||
			    strchr("ZXx", proc.state))) {
			tracee->stop = GONE; /* the first thread of a process, say */
		} else if (waited > WAIT_OTHERS_NS ||
			   (waited > WAIT_UNINTERRUPTIBLE_NS && proc.state == 'D')) {
			tracee->stop = UNSTOPPABLE;
		} else {
			sleep_ns(pause);
			pause = pause < NS_PER_MS ? pause * 2 : NS_PER_MS;
		}
	}
}

/* Seizes the threads that are not known yet and waits for them; how many in
 * *ret_count. */
static struct ri_error *seize_new_threads(struct session *session, size_t *ret_count)
{
	size_t count, first = session->tracees.count;
	pid_t *tids = ri_proc_list_threads(session->target->pid, &count);
	struct ri_error *error = NULL;
	uint64_t interrupted;

	for (size_t i = 0; i < count && !error; i++)
		if (is_new(session, tids[i]))
			error = seize(session, tids[i]);
	free(tids);
	interrupted = now_ns();
	for (size_t i = first; i < session->tracees.count; i++)
		wait_for_stop(&session->tracees.items[i], interrupted);
	*ret_count = session->tracees.count - first;
	return error;
}

static struct ri_error *read_registers(struct session *session, struct tracee *tracee,
				       uint8_t *scratch)
{
	struct ri_thread *thread = &tracee->thread;
	struct user_regs_struct registers;
	struct iovec iov = { &registers, sizeof(registers) };

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &iov)) {
		if (errno == ESRCH) {
			tracee->stop = GONE; /* killed while it stood */
			return NULL;
		}
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "the registers of a thread could not be read");
		return NULL;
	}
	if (iov.iov_len != sizeof(registers))
		return ri_error_create(RI_ERROR_INPUT,
				       "process %d runs 32-bit code; only 64-bit x86-64 can be read",
				       (int)session->target->pid);
	memcpy(thread->registers, &registers, sizeof(thread->registers));
	thread->has_registers = true;
	iov = (struct iovec){ scratch, VECTOR_MAX_BYTES };
	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &iov)) {
		iov = (struct iovec){ scratch, VECTOR_MAX_BYTES };
		if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRFPREG, &iov)) {
			ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
				    "the vector registers of a thread could not be read");
			return NULL;
		}
	}
	thread->vector = ri_malloc(iov.iov_len);
	thread->vector_size_bytes = iov.iov_len;
	memcpy(thread->vector, scratch, iov.iov_len);
	return NULL;
}

/* All that is known of a thread that did not stop comes from /proc. */
static void read_stack_pointer(struct session *session, struct ri_thread *thread)
{
	if (ri_proc_read_stack_pointer(thread->tid, thread))
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread could not be stopped (uninterruptible wait): its registers "
			    "were not searched");
	else
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread could not be stopped: its registers and stack are unknown, "
			    "and memory may have changed while it was copied");
}

static struct ri_error *read_all_registers(struct session *session)
{
	uint8_t *scratch = ri_malloc(VECTOR_MAX_BYTES);
	struct ri_error *error = NULL;

	for (size_t i = 0; i < session->tracees.count && !error; i++) {
		struct tracee *tracee = &session->tracees.items[i];

		if (tracee->stop == STOPPED)
			error = read_registers(session, tracee, scratch);
		else if (tracee->stop == UNSTOPPABLE)
			read_stack_pointer(session, &tracee->thread);
	}
	free(scratch);
	return error;
}

/* Hands the threads that are there to the target. */
static void take_threads(struct session *session)
{
	struct ri_target *target = session->target;

	target->threads = ri_calloc(session->tracees.count, sizeof(*target->threads));
	for (size_t i = 0; i < session->tracees.count; i++) {
		struct tracee *tracee = &session->tracees.items[i];

		if (tracee->stop != GONE)
			target->threads[target->thread_count++] = tracee->thread;
		else
			free(tracee->thread.vector);
		tracee->thread.vector = NULL;
	}
}

static struct ri_error *copy_memory(struct session *session, pid_t tid, bool use_mem)
{
	struct ri_live_buffer buffer = session->buffer;

	session->buffer = (struct ri_live_buffer){ 0 };
	return ri_live_copy(session->target, tid, use_mem, &buffer, session->gaps);
}

/* Copies while everything stands. */
static struct ri_error *copy_stopped(struct session *session)
{
	struct ri_target *target = session->target;
	struct ri_error *error = read_all_registers(session);
	pid_t tid;

	take_threads(session);
	if (error)
		return error;
	if (!target->thread_count)
		return ri_error_create(RI_ERROR_NOT_FOUND,
				       "process %d ended before it could be stopped",
				       (int)target->pid);
	/* Not the process number: its first thread may have ended, and has no memory. */
	tid = target->threads[0].tid;
	ri_proc_describe(target, tid);
	error = ri_proc_read_mappings(target, tid, session->gaps);
	return error ? error : copy_memory(session, tid, false);
}

static void release(struct session *session)
{
	for (size_t i = 0; i < session->tracees.count; i++) {
		const struct tracee *tracee = &session->tracees.items[i];

		if (tracee->stop == STOPPED)
			(void)ptrace(PTRACE_DETACH, tracee->thread.tid, NULL,
				     (void *)(intptr_t)tracee->signal);
	}
	if (session->started_ns)
		session->target->pause_ns = now_ns() - session->started_ns;
}

/* The tracing thread: what it seized and could not detach is let go by its end. */
static void *run_session(void *data)
{
	enum { ROUNDS_MAX = 1000 };
	struct session *session = data;
	size_t count = 1;

	for (int round = 0; count && round < ROUNDS_MAX && !session->error; round++)
		session->error = seize_new_threads(session, &count);
	if (!session->error && count)
		session->error = ri_error_create(RI_ERROR_IO,
						 "process %d creates threads faster than they can be "
						 "stopped", (int)session->target->pid);
	if (!session->error)
		session->error = copy_stopped(session);
	release(session);
	return NULL;
}

/*
 * Runs the tracing thread.  Meanwhile the terminal cannot stop refinspect: the
 * process would stand still as long as refinspect does.
 */
static struct ri_error *seize_and_copy(struct session *session)
{
	sigset_t terminal_stops, before;
	pthread_t tracer;
	int failed;

	ri_live_prepare(session->target->pid, &session->buffer);
	sigemptyset(&terminal_stops);
	sigaddset(&terminal_stops, SIGTSTP);
	sigaddset(&terminal_stops, SIGTTIN);
	sigaddset(&terminal_stops, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &terminal_stops, &before);
	failed = pthread_create(&tracer, NULL, run_session, session);
	if (failed)
		session->error = ri_error_create_errno(failed, "a thread cannot be created");
	else
		pthread_join(tracer, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return session->error;
}

/* A thread's registers as the debugger gave them, or its stack pointer. */
static void take_held_thread(struct session *session, pid_t tid, const struct ri_thread *given)
{
	struct ri_thread *thread = &((struct tracee *)ri_push(&session->tracees))->thread;
	struct ri_proc_status status;

	session->tracees.items[session->tracees.count - 1].stop = STOPPED;
	thread->tid = tid;
	if (!ri_proc_read_status(tid, &status) || !strchr("tTZXx", status.state))
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread is not stopped: memory may have changed while it was copied");
	if (given && given->has_registers) {
		*thread = *given;
		thread->vector = NULL;
		thread->vector_size_bytes = 0;
		if (!given->vector)
			return;
		thread->vector = ri_malloc(given->vector_size_bytes);
		thread->vector_size_bytes = given->vector_size_bytes;
		memcpy(thread->vector, given->vector, given->vector_size_bytes);
	} else if (ri_proc_read_stack_pointer(tid, thread)) {
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread's registers are known to the debugger alone and were not "
			    "searched");
	} else {
		ri_gaps_add(session->gaps, RI_GAP_MATTERS, STAGE,
			    "a thread's registers and stack are unknown");
	}
}

/* The process is stopped by another tracer: no ptrace, /proc alone. */
static struct ri_error *copy_held(struct session *session,
				  const struct ri_target_live_options *options)
{
	struct ri_target *target = session->target;
	struct ri_error *error;
	size_t count;
	pid_t *tids, tid = target->pid;

	for (size_t i = 0; i < options->thread_count; i++)
		if (is_new(session, options->threads[i].tid))
			take_held_thread(session, options->threads[i].tid, &options->threads[i]);
	tids = ri_proc_list_threads(target->pid, &count);
	for (size_t i = 0; i < count; i++)
		if (is_new(session, tids[i]) && !ri_proc_has_ended(tids[i]))
			take_held_thread(session, tids[i], NULL);
	free(tids);
	take_threads(session);
	if (ri_proc_has_ended(tid) && target->thread_count)
		tid = target->threads[0].tid;
	ri_proc_describe(target, tid);
	error = ri_proc_read_mappings(target, tid, session->gaps);
	if (!error)
		error = copy_memory(session, tid, true);
	if (error && error->code == RI_ERROR_PERMISSION) {
		ri_error_destroy(error);
		error = ri_error_create(RI_ERROR_PERMISSION,
					"the memory of process %d may not be read beside its "
					"debugger; run as root (CAP_SYS_PTRACE)", (int)target->pid);
	}
	return error;
}

struct ri_error *ri_target_open_live(pid_t pid, const struct ri_target_live_options *options,
				     struct ri_gaps *gaps, struct ri_target **ret)
{
	struct session session = { .gaps = gaps };
	bool held = options && options->held_by_debugger;
	struct ri_error *error = check_process(pid, held);
	struct ri_target *target;

	if (error)
		return error;
	target = ri_calloc(1, sizeof(*target));
	target->kind = RI_TARGET_LIVE;
	target->pid = pid;
	target->is_held = held;
	target->image = ri_image_create();
	session.target = target;
	session.known = ri_calloc(TID_LIMIT / 8, 1);
	error = held ? copy_held(&session, options) : seize_and_copy(&session);
	for (size_t i = 0; i < session.tracees.count; i++)
		free(session.tracees.items[i].thread.vector);
	ri_vec_deinit(&session.tracees);
	free(session.known);
	if (session.buffer.p)
		munmap(session.buffer.p, session.buffer.size_bytes);
	if (error) {
		ri_target_close(target);
		return error;
	}
	ri_image_seal(target->image);
	*ret = target;
	return NULL;
}
