/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening live processes: what is copied, what is in the registers, and that
 * the process goes on afterwards as if nothing had been, whatever it was doing.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>

#include "live_child.h"

#define PAGE 4096u
#define MAGIC 0x0123456789abcdefull
#define THREADS 3

static bool has_gap(const struct ri_gaps *gaps, enum ri_gap_weight weight, const char *part)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].weight == weight && strstr(gaps->items[i].message, part))
			return true;
	return false;
}

static void assert_word(const struct ri_target *target, uint64_t addr, uint64_t expected)
{
	uint64_t value;

	assert_true(ri_image_read_u64(target->image, addr, &value));
	assert_true(value == expected);
}

static void assert_kind(const struct ri_target *target, uint64_t addr, enum ri_range_kind kind)
{
	const struct ri_range *range = ri_image_find(target->image, addr);

	assert_non_null(range);
	assert_int_equal(range->kind, kind);
}

/* --- memory and registers --- */

static uint64_t data_word = 1, bss_word;
static const uint64_t *const relocated_word = &data_word;

struct place {
	struct shared *shared;
	int number;
};

/* Sits in a system call with known values in registers that it preserves. */
static void *hold_registers(void *data)
{
	const struct place *place = data;
	uint64_t number = (uint64_t)place->number;

	place->shared->tids[number] = (pid_t)syscall(SYS_gettid);
	__atomic_add_fetch(&place->shared->ready, 1, __ATOMIC_SEQ_CST);
	__asm__ volatile("mov %0, %%r12\n\t"
			 "lea 1(%%r12), %%r13\n\t"
			 "movq %%r12, %%xmm7\n"
			 "1:\tmov $34, %%eax\n\t" /* pause */
			 "syscall\n\t"
			 "jmp 1b"
			 :: "r"(MAGIC + 16 * number)
			 : "rax", "rcx", "r11", "r12", "r13", "xmm7", "memory");
	return NULL;
}

static void hold_state(struct shared *shared)
{
	static struct place places[THREADS];
	uint64_t *heap = malloc(1000);

	data_word = MAGIC + 1;
	bss_word = MAGIC + 2;
	heap[5] = MAGIC + 3;
	shared->addrs[0] = (uintptr_t)&data_word;
	shared->addrs[1] = (uintptr_t)&bss_word;
	shared->addrs[2] = (uintptr_t)&heap[5];
	shared->addrs[3] = MAGIC + 4;
	for (int i = 0; i < THREADS; i++) {
		places[i] = (struct place){ shared, i };
		start_thread(hold_registers, &places[i]);
	}
	start_thread(count_for_ever, shared);
}

static void memory_and_registers_are_copied(void **state)
{
	struct child child = start_child(hold_state, THREADS);
	struct ri_target *target;
	struct ri_gaps gaps;

	(void)state;
	WAIT_UNTIL(child.shared->counter > 0);
	for (int i = 0; i < THREADS; i++)
		WAIT_UNTIL(state_of(child.shared->tids[i]) == 'S');
	target = open_live(child.pid, NULL, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_int_equal(target->kind, RI_TARGET_LIVE);
	assert_int_equal(target->pid, child.pid);
	assert_int_equal(target->auxv_entry, getauxval(AT_ENTRY));
	assert_int_equal(target->auxv_phdr, getauxval(AT_PHDR));
	assert_non_null(strstr(target->arguments, "target_live_test"));
	assert_true(target->pause_ns > 0 && target->pause_ns < 5000000000ull);
	assert_true(target->bytes_copied > 100 * 1024);

	assert_word(target, (uintptr_t)&data_word, MAGIC + 1);
	assert_word(target, (uintptr_t)&bss_word, MAGIC + 2);
	assert_word(target, child.shared->addrs[2], MAGIC + 3);
	assert_word(target, (uintptr_t)&child.shared->addrs[3], MAGIC + 4);
	assert_word(target, (uintptr_t)&relocated_word, (uintptr_t)&data_word);

	assert_int_equal(target->thread_count, THREADS + 2);
	assert_int_equal(target->threads[0].tid, child.pid);
	for (int i = 0; i < THREADS; i++) {
		const struct ri_thread *thread = find_thread(target, child.shared->tids[i]);
		uint64_t xmm7;

		assert_true(thread->has_registers && !thread->registers_partial);
		assert_true(thread->registers[RI_REG_R12] == MAGIC + 16 * (uint64_t)i);
		assert_true(thread->registers[RI_REG_R13] == MAGIC + 16 * (uint64_t)i + 1);
		assert_int_equal(thread->registers[RI_REG_ORIG_RAX], SYS_pause);
		/* XMM registers begin at byte 160 of the FXSAVE and XSAVE areas */
		assert_true(thread->vector_size_bytes >= 512);
		memcpy(&xmm7, thread->vector + 160 + 7 * 16, sizeof(xmm7));
		assert_true(xmm7 == MAGIC + 16 * (uint64_t)i);
		assert_kind(target, thread->registers[RI_REG_RSP], RI_RANGE_PRESENT);
	}
	assert_runs(&child);
	close_live(target, &gaps);
	end_child(&child);
}

static void mappings_tell_what_they_are(void **state)
{
	struct child child = start_child(hold_state, THREADS);
	const struct ri_mapping *mapping;
	struct ri_target *target;
	struct ri_gaps gaps;

	(void)state;
	target = open_live(child.pid, NULL, &gaps);
	mapping = ri_target_find_mapping(target, (uintptr_t)hold_state);
	assert_non_null(strstr(mapping->path, "target_live_test"));
	assert_int_equal(mapping->flags, RI_RANGE_READ | RI_RANGE_EXEC);
	assert_kind(target, (uintptr_t)hold_state, RI_RANGE_MISSING); /* the file has it */
	mapping = ri_target_find_mapping(target, child.shared->addrs[2]);
	assert_true(!mapping->path || !strcmp(mapping->path, "[heap]"));
	assert_int_equal(mapping->flags, RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_ANONYMOUS);
	mapping = ri_target_find_mapping(target, (uintptr_t)child.shared);
	assert_int_equal(mapping->flags, RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_SHARED);
	/* ELF headers, for the build-id; the vdso, which has no file */
	assert_memory_equal(ri_image_peek(target->image, target->auxv_phdr & ~0xfffull, 4),
			    "\177ELF", 4);
	assert_memory_equal(ri_image_peek(target->image, target->auxv_sysinfo_ehdr, 4),
			    "\177ELF", 4);
	mapping = ri_target_find_mapping(target, target->auxv_sysinfo_ehdr);
	assert_string_equal(mapping->path, "[vdso]");
	assert_kind(target, mapping->end - 1, RI_RANGE_PRESENT);
	close_live(target, &gaps);
	end_child(&child);
}

#define RESERVED (1ull << 40)

static void hold_sparse_memory(struct shared *shared)
{
	int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint8_t *reserved = mmap(NULL, RESERVED, access, flags, -1, 0);
	uint8_t *small = mmap(NULL, 1 << 20, access, flags, -1, 0);
	uint8_t *none = mmap(NULL, PAGE, PROT_NONE, flags, -1, 0);
	int fd = memfd_create("beyond", 0);
	uint8_t *beyond;

	if (ftruncate(fd, PAGE))
		abort();
	beyond = mmap(NULL, 3 * PAGE, access, MAP_SHARED, fd, 0);
	reserved[RESERVED / 2] = 1;
	reserved[RESERVED / 2 + 5 * PAGE] = 2;
	reserved[RESERVED - 1] = 3;
	small[PAGE] = 4;
	beyond[0] = 5;
	shared->addrs[0] = (uintptr_t)reserved;
	shared->addrs[1] = (uintptr_t)small;
	shared->addrs[2] = (uintptr_t)none;
	shared->addrs[3] = (uintptr_t)beyond;
	shared->ready = 1;
}

static void pages_that_do_not_exist_are_not_copied(void **state)
{
	struct child child = start_child(hold_sparse_memory, 1);
	uint64_t reserved = child.shared->addrs[0], small = child.shared->addrs[1];
	uint64_t beyond = child.shared->addrs[3];
	struct ri_target *target;
	struct ri_gaps gaps;
	uint8_t byte;

	(void)state;
	target = open_live(child.pid, NULL, &gaps);
	assert_true(target->bytes_copied < 64 << 20);
	assert_kind(target, reserved, RI_RANGE_UNTOUCHED);
	assert_kind(target, reserved + RESERVED / 2, RI_RANGE_PRESENT);
	assert_kind(target, reserved + RESERVED / 2 + 3 * PAGE, RI_RANGE_PRESENT);
	assert_int_equal(*ri_image_peek(target->image, reserved + RESERVED / 2, 1), 1);
	assert_int_equal(*ri_image_peek(target->image, reserved + RESERVED / 2 + 5 * PAGE, 1), 2);
	assert_int_equal(*ri_image_peek(target->image, reserved + RESERVED - 1, 1), 3);
	assert_true(ri_image_read(target->image, reserved + RESERVED / 4, &byte, 1));
	assert_int_equal(byte, 0);
	assert_kind(target, small, RI_RANGE_PRESENT);
	assert_int_equal(*ri_image_peek(target->image, small, 1), 0);
	assert_int_equal(*ri_image_peek(target->image, small + PAGE, 1), 4);
	assert_kind(target, child.shared->addrs[2], RI_RANGE_UNTOUCHED);
	/* pages behind the end of a mapped file: reading them is SIGBUS */
	assert_int_equal(*ri_image_peek(target->image, beyond, 1), 5);
	assert_kind(target, beyond + PAGE, RI_RANGE_MISSING);
	assert_kind(target, beyond + 3 * PAGE - 1, RI_RANGE_MISSING);
	assert_true(has_gap(&gaps, RI_GAP_TOLD, "could not be read"));
	assert_false(ri_gaps_has_serious(&gaps));
	close_live(target, &gaps);
	end_child(&child);
}

/* --- the process goes on --- */

static struct shared *handler_shared;

static void count_signal(int signal_number)
{
	(void)signal_number;
	handler_shared->counter++;
}

static void take_signals(struct shared *shared)
{
	struct sigaction action = { .sa_handler = count_signal };

	handler_shared = shared;
	sigaction(SIGRTMIN, &action, NULL);
	shared->ready = 1;
}

/* Sends queued signals all the time; none may be lost, whenever it arrives. */
static void *send_signals(void *data)
{
	const struct child *child = data;
	uint64_t sent = 0;

	while (!child->shared->go) {
		if (!sigqueue(child->pid, SIGRTMIN, (union sigval){ 0 }))
			sent++;
		usleep(20);
	}
	child->shared->addrs[0] = sent;
	return NULL;
}

static void signals_that_are_pending_arrive(void **state)
{
	struct child child = start_child(take_signals, 1);
	pthread_t sender;

	(void)state;
	assert_int_equal(pthread_create(&sender, NULL, send_signals, &child), 0);
	for (int i = 0; i < 60; i++) {
		struct ri_gaps gaps;
		struct ri_target *target = open_live(child.pid, NULL, &gaps);

		assert_int_equal(target->thread_count, 1);
		close_live(target, &gaps);
	}
	child.shared->go = 1;
	pthread_join(sender, NULL);
	assert_true(child.shared->addrs[0] > 100);
	WAIT_UNTIL(child.shared->counter >= child.shared->addrs[0]);
	assert_int_equal(child.shared->counter, child.shared->addrs[0]);
	end_child(&child);
}

static void count_in_main_thread(struct shared *shared)
{
	shared->ready = 1;
	count_for_ever(shared);
}

static void stopped_process_stays_stopped(void **state)
{
	struct child child = start_child(count_in_main_thread, 1);
	struct ri_target *target;
	struct ri_gaps gaps;
	uint64_t before;

	(void)state;
	kill(child.pid, SIGSTOP);
	WAIT_UNTIL(state_of(child.pid) == 'T');
	before = child.shared->counter;
	target = open_live(child.pid, NULL, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_true(target->threads[0].has_registers);
	close_live(target, &gaps);
	usleep(20000);
	assert_int_equal(state_of(child.pid), 'T');
	assert_int_equal(child.shared->counter, before);
	kill(child.pid, SIGCONT);
	assert_runs(&child);
	end_child(&child);
}

static void *wait_in_vfork(void *data)
{
	struct shared *shared = data;

	shared->tids[0] = (pid_t)syscall(SYS_gettid);
	if (!vfork()) {
		shared->ready++;
		while (!shared->go)
			usleep(1000);
		_exit(0);
	}
	shared->ready++;
	return NULL;
}

static void start_vfork(struct shared *shared)
{
	start_thread(count_for_ever, shared);
	start_thread(wait_in_vfork, shared);
}

static void thread_in_vfork_is_passed_over(void **state)
{
	struct child child = start_child(start_vfork, 1);
	const struct ri_thread *thread;
	struct ri_target *target;
	struct ri_gaps gaps;

	(void)state;
	WAIT_UNTIL(state_of(child.shared->tids[0]) == 'D');
	target = open_live(child.pid, NULL, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "uninterruptible"));
	assert_int_equal(target->thread_count, 3);
	thread = find_thread(target, child.shared->tids[0]);
	assert_true(thread->registers_partial);
	assert_kind(target, thread->registers[RI_REG_RSP], RI_RANGE_PRESENT);
	assert_false(target->threads[0].registers_partial);
	close_live(target, &gaps);
	assert_runs(&child);
	child.shared->go = 1;
	WAIT_UNTIL(child.shared->ready == 2); /* it was let go, though it never stopped */
	end_child(&child);
}

static void *end_at_once(void *data)
{
	return data;
}

static void churn_threads(struct shared *shared)
{
	shared->ready = 1;
	for (;;) {
		pthread_t threads[8];

		for (int i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, end_at_once, NULL))
				abort();
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		shared->counter++;
	}
}

static void threads_may_come_and_go(void **state)
{
	struct child child = start_child(churn_threads, 1);

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct ri_gaps gaps;
		struct ri_target *target = open_live(child.pid, NULL, &gaps);

		assert_int_equal(gaps.count, 0);
		assert_true(target->thread_count >= 1);
		assert_true(find_thread(target, child.pid)->has_registers);
		close_live(target, &gaps);
		assert_runs(&child);
	}
	end_child(&child);
}

static void end_first_thread(struct shared *shared)
{
	start_thread(count_for_ever, shared);
	data_word = MAGIC;
	shared->ready = 1;
	pthread_exit(NULL);
}

static void first_thread_may_have_ended(void **state)
{
	struct child child = start_child(end_first_thread, 1);
	struct ri_target *target;
	struct ri_gaps gaps;

	(void)state;
	WAIT_UNTIL(state_of(child.pid) == 'Z');
	target = open_live(child.pid, NULL, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_int_equal(target->thread_count, 1);
	assert_int_equal(target->pid, child.pid);
	assert_word(target, (uintptr_t)&data_word, MAGIC);
	assert_runs(&child);
	close_live(target, &gaps);
	end_child(&child);
}

/* --- beside a debugger --- */

/* A tracer that stops the child, says so and waits. */
static pid_t start_tracer(const struct child *child)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, child->pid, NULL, NULL) ||
		    ptrace(PTRACE_INTERRUPT, child->pid, NULL, NULL) ||
		    waitpid(child->pid, NULL, 0) != child->pid)
			_exit(1);
		for (;;)
			pause();
	}
	WAIT_UNTIL(state_of(child->pid) == 't');
	return pid;
}

static void held_process_is_read_without_ptrace(void **state)
{
	struct child child = start_child(count_in_main_thread, 1);
	pid_t tracer = start_tracer(&child);
	struct ri_target_live_options options = { .held_by_debugger = true };
	struct ri_thread given = { .tid = child.pid, .has_registers = true,
				   .registers = { [RI_REG_RBX] = MAGIC },
				   .vector = (uint8_t *)"vector", .vector_size_bytes = 7 };
	struct ri_target *target;
	struct ri_gaps gaps;

	(void)state;
	target = open_live(child.pid, &options, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "not searched"));
	assert_int_equal(target->thread_count, 1);
	assert_true(target->threads[0].registers_partial);
	assert_kind(target, target->threads[0].registers[RI_REG_RSP], RI_RANGE_PRESENT);
	assert_word(target, (uintptr_t)&child.shared->counter, child.shared->counter);
	close_live(target, &gaps);

	options.threads = &given;
	options.thread_count = 1;
	target = open_live(child.pid, &options, &gaps);
	assert_int_equal(gaps.count, 0);
	assert_int_equal(target->thread_count, 1);
	assert_true(target->threads[0].registers[RI_REG_RBX] == MAGIC);
	assert_string_equal((const char *)target->threads[0].vector, "vector");
	close_live(target, &gaps);
	assert_int_equal(state_of(child.pid), 't');
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	assert_runs(&child);
	end_child(&child);
}

/* --- refusals --- */

static void assert_refused(pid_t pid, enum ri_error_code code, const char *part)
{
	struct ri_target *target = NULL;
	struct ri_error *error;
	struct ri_gaps gaps;

	ri_gaps_init(&gaps);
	error = ri_target_open_live(pid, NULL, &gaps, &target);
	assert_non_null(error);
	assert_null(target);
	assert_int_equal(error->code, code);
	if (!strstr(error->message, part))
		fail_msg("\"%s\" does not say \"%s\"", error->message, part);
	ri_error_destroy(error);
	ri_gaps_deinit(&gaps);
}

static void processes_that_cannot_be_read_are_refused(void **state)
{
	struct child child = start_child(hold_state, THREADS);
	pid_t pid, tracer;

	(void)state;
	assert_refused(0, RI_ERROR_INPUT, "no process number");
	assert_refused(-5, RI_ERROR_INPUT, "no process number");
	assert_refused(getpid(), RI_ERROR_INPUT, "itself");
	assert_refused(child.shared->tids[0], RI_ERROR_INPUT, "thread of process");
	if (!access("/proc/2/stat", F_OK) && access("/proc/2/exe", F_OK))
		assert_refused(2, RI_ERROR_INPUT, "kernel thread");
	tracer = start_tracer(&child);
	assert_refused(child.pid, RI_ERROR_PERMISSION, "traced by process");
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	end_child(&child);

	pid = fork();
	if (!pid)
		_exit(0);
	WAIT_UNTIL(state_of(pid) == 'Z');
	assert_refused(pid, RI_ERROR_INPUT, "zombie");
	waitpid(pid, NULL, 0);
	assert_refused(pid, RI_ERROR_NOT_FOUND, "no process");
}

/* A 32-bit executable that waits for signals for ever. */
static int create_32_bit_executable(void)
{
	static const uint8_t code[] = { 0xb8, 29, 0, 0, 0, /* mov $29, %eax: pause */
					0xcd, 0x80,        /* int $0x80 */
					0xeb, 0xf7 };      /* jmp to the start */
	Elf32_Ehdr header = { .e_ident = ELFMAG, .e_type = ET_EXEC, .e_machine = EM_386,
			      .e_version = EV_CURRENT, .e_ehsize = sizeof(header),
			      .e_phoff = sizeof(header), .e_phnum = 1,
			      .e_phentsize = sizeof(Elf32_Phdr) };
	Elf32_Phdr phdr = { .p_type = PT_LOAD, .p_vaddr = 0x8048000, .p_flags = PF_R | PF_X,
			    .p_align = PAGE };
	int fd = memfd_create("exe32", MFD_CLOEXEC);

	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	phdr.p_filesz = phdr.p_memsz = sizeof(header) + sizeof(phdr) + sizeof(code);
	header.e_entry = phdr.p_vaddr + sizeof(header) + sizeof(phdr);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, &phdr, sizeof(phdr)), sizeof(phdr));
	assert_int_equal(write(fd, code, sizeof(code)), sizeof(code));
	return fd;
}

static void process_of_32_bits_is_refused(void **state)
{
	int exe = create_32_bit_executable(), pipe_fds[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		char *const arguments[] = { "exe32", NULL }, *const environment[] = { NULL };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fexecve(exe, arguments, environment);
		_exit(write(pipe_fds[1], "x", 1) != 1); /* no 32-bit programs here */
	}
	close(exe);
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) == 0)
		assert_refused(pid, RI_ERROR_INPUT, "is a 32-bit process");
	else
		print_message("skipped: 32-bit programs do not run here\n");
	close(pipe_fds[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void another_users_process_is_refused(void **state)
{
	struct child child = start_child(count_in_main_thread, 1);
	int status;
	pid_t pid;

	(void)state;
	if (getuid()) {
		end_child(&child);
		skip();
	}
	pid = fork();
	if (!pid) {
		struct ri_target *target;
		struct ri_error *error;
		struct ri_gaps gaps;

		ri_gaps_init(&gaps);
		if (setgid(65534) || setuid(65534))
			_exit(1);
		error = ri_target_open_live(child.pid, NULL, &gaps, &target);
		_exit(!error || error->code != RI_ERROR_PERMISSION ||
		      !strstr(error->message, "CAP_SYS_PTRACE"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_runs(&child);
	end_child(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_and_registers_are_copied),
		cmocka_unit_test(mappings_tell_what_they_are),
		cmocka_unit_test(pages_that_do_not_exist_are_not_copied),
		cmocka_unit_test(signals_that_are_pending_arrive),
		cmocka_unit_test(stopped_process_stays_stopped),
		cmocka_unit_test(thread_in_vfork_is_passed_over),
		cmocka_unit_test(threads_may_come_and_go),
		cmocka_unit_test(first_thread_may_have_ended),
		cmocka_unit_test(held_process_is_read_without_ptrace),
		cmocka_unit_test(processes_that_cannot_be_read_are_refused),
		cmocka_unit_test(process_of_32_bits_is_refused),
		cmocka_unit_test(another_users_process_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
