/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a confined process can still do, and what ends it: each attempt is made in a process of
 * its own, whose status and words are looked at.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/confine.h"

#define STATUS_DONE   0  /* the attempt came back with success */
#define STATUS_FAILED 40 /* it came back with an error */
#define STATUS_ENDED  2  /* the process was ended, with one line */

static char said[512]; /* by the last attempt */
static uint64_t max_memory_bytes; /* of the attempts */

/* The status of a process that confines itself and makes the attempt. */
static int try(int (*make)(void), unsigned flags)
{
	int pipe_fds[2], wait_status = 0;
	ssize_t length;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct ri_error *error;

		dup2(pipe_fds[1], STDERR_FILENO);
		alarm(30);
		ri_confine_resources(max_memory_bytes);
		error = ri_confine(RI_CONFINE_AUTO, flags);
		_exit(error ? 41 : make() ? STATUS_FAILED : STATUS_DONE);
	}
	close(pipe_fds[1]);
	length = read(pipe_fds[0], said, sizeof(said) - 1);
	said[length > 0 ? length : 0] = '\0';
	close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFEXITED(wait_status));
	return WEXITSTATUS(wait_status);
}

static bool has(const char *what)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool found;

	ri_confine_describe(out);
	fclose(out);
	found = strstr(text, what) != NULL;
	free(text);
	return found;
}

static bool has_seccomp(void)
{
	return has("confinement: seccomp;") && !has("valgrind");
}

static bool has_landlock(void)
{
	return has("Landlock ABI") && !has("valgrind");
}

static void skip_without_seccomp(void)
{
	if (has_seccomp() && !ri_confine_is_loose())
		return;
	print_message("no seccomp here, or it is loose for a sanitizer\n");
	skip();
}

static void assert_ended(int (*make)(void))
{
	assert_int_equal(try(make, 0), STATUS_ENDED);
	assert_non_null(strstr(said, "which its confinement forbids"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

/* ---- what the analysis needs -------------------------------------------------- */

static int read_file(void)
{
	char byte;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	return fd < 0 || read(fd, &byte, 1) != 1 || close(fd);
}

static int map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	return p == MAP_FAILED || munmap(p, 4096);
}

static void *return_it(void *data)
{
	return data;
}

static int use_threads(void)
{
	pthread_t threads[4];
	void *result = NULL;

	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, return_it, threads))
			return 1;
	for (size_t i = 0; i < 4; i++)
		if (pthread_join(threads[i], &result) || result != threads)
			return 1;
	return 0;
}

static int use_memory(void)
{
	char *p = malloc((size_t)64 << 20);

	if (!p)
		return 1;
	memset(p, 1, (size_t)64 << 20);
	p = realloc(p, (size_t)128 << 20);
	free(p);
	return !p;
}

static int opened_before = -1;

static int write_to_open(void)
{
	return write(opened_before, "x", 1) != 1 || ftruncate(opened_before, 0) ||
	       close(opened_before);
}

static void the_analysis_can_work(void **state)
{
	(void)state;
	assert_int_equal(try(read_file, 0), STATUS_DONE);
	assert_int_equal(try(map_file, 0), STATUS_DONE);
	assert_int_equal(try(use_threads, 0), STATUS_DONE);
	assert_int_equal(try(use_memory, 0), STATUS_DONE);
	opened_before = memfd_create("report", MFD_CLOEXEC);
	assert_int_equal(try(write_to_open, 0), STATUS_DONE);
	close(opened_before);
	assert_string_equal(said, "");
}

/* ---- what ends it --------------------------------------------------------------- */

static char victim[64];

static int write_file(void)
{
	return open(victim, O_WRONLY) < 0;
}

static int read_and_write_file(void)
{
	return open(victim, O_RDWR | O_APPEND) < 0;
}

static int truncate_file(void)
{
	return open(victim, O_RDONLY | O_TRUNC) < 0;
}

static int create_file(void)
{
	return open("/tmp/refinspect-not-to-be", O_RDONLY | O_CREAT, 0600) < 0;
}

static int create_nameless_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600) < 0;
}

static int remove_file(void)
{
	return unlink(victim);
}

static int rename_file(void)
{
	return rename(victim, "/tmp/refinspect-not-to-be");
}

static int change_mode(void)
{
	return chmod(victim, 0777);
}

static int make_folder(void)
{
	return mkdir("/tmp/refinspect-not-to-be", 0700);
}

static int make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0;
}

static int make_unix_socket(void)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int start_program(void)
{
	return execl("/bin/true", "true", NULL);
}

static int make_process(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	return child < 0;
}

static int trace_parent(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), 0, 0) != 0;
}

static int signal_parent(void)
{
	return kill(getppid(), SIGCONT);
}

static void writing_to_files_ends_it(void **state)
{
	struct stat status;
	int fd;

	(void)state;
	skip_without_seccomp();
	strcpy(victim, "/tmp/refinspect-test-XXXXXX");
	fd = mkstemp(victim);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_ended(write_file);
	assert_ended(read_and_write_file);
	assert_ended(truncate_file);
	assert_ended(create_file);
	assert_ended(create_nameless_file);
	assert_ended(remove_file);
	assert_ended(rename_file);
	assert_ended(change_mode);
	assert_ended(make_folder);
	assert_int_equal(stat(victim, &status), 0);
	assert_int_equal(status.st_size, 1);
	assert_int_not_equal(stat("/tmp/refinspect-not-to-be", &status), 0);
	close(fd);
	unlink(victim);
}

static void the_network_ends_it(void **state)
{
	(void)state;
	skip_without_seccomp();
	assert_ended(make_socket);
	assert_ended(make_unix_socket);
}

static void other_processes_end_it(void **state)
{
	(void)state;
	skip_without_seccomp();
	assert_ended(start_program);
	assert_ended(make_process);
	assert_ended(trace_parent);
	assert_ended(signal_parent);
}

/* ---- what merely fails ------------------------------------------------------------ */

static int map_executable(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0) == MAP_FAILED;
}

static int make_executable(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static int raise_limit(void)
{
	const struct rlimit limit = { 1, 1 };

	return setrlimit(RLIMIT_NOFILE, &limit);
}

static void new_code_is_refused(void **state)
{
	(void)state;
	skip_without_seccomp();
	assert_int_equal(try(map_executable, 0), STATUS_FAILED);
	assert_int_equal(try(make_executable, 0), STATUS_FAILED);
	assert_int_equal(try(raise_limit, 0), STATUS_FAILED);
}

static int abort_it(void)
{
	struct sigaction action = { .sa_handler = _exit };

	sigaction(SIGABRT, &action, NULL); /* its number is the status */
	abort();
}

static void a_failed_assertion_ends_by_its_own_signal(void **state)
{
	(void)state;
	assert_int_equal(try(abort_it, 0), SIGABRT);
}

/* ---- Landlock alone, where it adds to the list of calls ---------------------------- */

static int open_memory_of_parent(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	return open(path, O_RDONLY) < 0;
}

static void other_processes_are_hidden(void **state)
{
	(void)state;
	if (!has_landlock()) {
		print_message("no Landlock here\n");
		skip();
	}
	assert_int_equal(try(open_memory_of_parent, RI_CONFINE_SEES_PROCESSES), STATUS_DONE);
	assert_int_equal(try(open_memory_of_parent, 0), STATUS_FAILED);
}

/* ---- a server, and its children ----------------------------------------------------- */

static int confine_child(void)
{
	pid_t child = fork();
	struct ri_error *error;
	int wait_status;

	if (!child) {
		error = ri_confine(RI_CONFINE_AUTO, RI_CONFINE_SEES_PROCESSES);
		_exit(error || make_process() ? 42 : 43);
	}
	return child < 0 || waitpid(child, &wait_status, 0) != child ||
	       !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != STATUS_ENDED;
}

static void a_server_forks_and_its_children_do_not(void **state)
{
	(void)state;
	skip_without_seccomp();
	assert_int_equal(try(make_process, RI_CONFINE_MAY_FORK), STATUS_DONE);
	assert_int_equal(try(confine_child, RI_CONFINE_MAY_FORK), STATUS_DONE);
	assert_int_equal(try(start_program, RI_CONFINE_MAY_FORK), STATUS_ENDED);
	assert_int_equal(try(make_socket, RI_CONFINE_MAY_FORK), STATUS_ENDED);
}

/* ---- resources ------------------------------------------------------------------------ */

static int exhaust_memory(void)
{
	for (size_t i = 0; i < 1000; i++)
		memset(ri_malloc(1 << 20), 1, 1 << 20);
	return 0;
}

static int overgrow_file(void)
{
	return pwrite(opened_before, "x", 1, (off_t)64 << 20) == 1 || errno != EFBIG;
}

static void running_out_of_memory_is_one_line(void **state)
{
	(void)state;
	if (ri_confine_is_loose()) {
		print_message("no bound of memory under a sanitizer or valgrind\n");
		skip();
	}
	max_memory_bytes = (uint64_t)32 << 20;
	assert_int_equal(try(exhaust_memory, 0), STATUS_ENDED);
	assert_non_null(strstr(said, "refinspect: out of memory"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	opened_before = memfd_create("report", MFD_CLOEXEC);
	assert_int_equal(try(overgrow_file, 0), STATUS_DONE);
	close(opened_before);
	max_memory_bytes = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_analysis_can_work),
		cmocka_unit_test(writing_to_files_ends_it),
		cmocka_unit_test(the_network_ends_it),
		cmocka_unit_test(other_processes_end_it),
		cmocka_unit_test(new_code_is_refused),
		cmocka_unit_test(a_failed_assertion_ends_by_its_own_signal),
		cmocka_unit_test(other_processes_are_hidden),
		cmocka_unit_test(a_server_forks_and_its_children_do_not),
		cmocka_unit_test(running_out_of_memory_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
