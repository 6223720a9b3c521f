/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Confinement of the analysis: see confine.h.  Knows nothing of targets.
 *
 * Two layers, each of which is left out where the build or the kernel lacks it:
 *
 *	seccomp   a list of the system calls that reading, computing and threads take;
 *	          any other one ends the process.  The C library, libdw and libbfd decide
 *	          which calls these are: a new version of theirs may want one that is not
 *	          listed, and --confine=never is there for that day.
 *	Landlock  all files below / may be read, and nothing else; from ABI 4 on no TCP, from
 *	          ABI 6 on no signals and no abstract sockets either.  It hides what /proc shows of
 *	          other processes, too.
 *
 * A sanitizer's run-time library starts processes and traces: an instrumented build keeps
 * the list and adds these.  Under valgrind, which needs system calls of its own, there is
 * no confinement.
 */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#ifdef RI_HAVE_SECCOMP
#include <seccomp.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#define STATUS_UNUSABLE 2
#define FILES_MAX 4096

bool ri_confine_is_loose(void)
{
	return IS_SANITIZED || RUNNING_ON_VALGRIND;
}

/*
 * Landlock, by its stable numbers (linux/landlock.h): the header of the build may be older than
 * the kernel.
 */

#define LANDLOCK_EXECUTE    (1ull << 0)
#define LANDLOCK_READ_FILE  (1ull << 2)
#define LANDLOCK_READ_DIR   (1ull << 3)
#define LANDLOCK_ABI_LATEST 6
#define LANDLOCK_VERSION    1u /* the flag that asks for the ABI */
#define LANDLOCK_PATH       1  /* the kind of rule */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

struct landlock_ruleset {
	uint64_t fs;
	uint64_t net;   /* from ABI 4 on */
	uint64_t scope; /* from ABI 6 on */
};

struct landlock_path {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

/* 0: this kernel has none. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	return abi > 0 ? (int)abi : 0;
}

/* Everything that the ABI can forbid, and how much of the struct it knows. */
static size_t make_ruleset(int abi, struct landlock_ruleset *ruleset)
{
	/* by ABI: rights on files are bits [0, count) */
	static const unsigned counts[LANDLOCK_ABI_LATEST + 1] = { 0, 13, 14, 15, 15, 16, 16 };
	unsigned known = (unsigned)(abi < LANDLOCK_ABI_LATEST ? abi : LANDLOCK_ABI_LATEST);

	ruleset->fs = (1ull << counts[known]) - 1;
	if (IS_SANITIZED) /* its reports start a symbolizer */
		ruleset->fs &= ~LANDLOCK_EXECUTE;
	ruleset->net = known >= 4 ? 3 : 0;
	ruleset->scope = known >= 6 ? 3 : 0;
	if (known >= 6)
		return sizeof(*ruleset);
	return known >= 4 ? offsetof(struct landlock_ruleset, scope)
			  : offsetof(struct landlock_ruleset, net);
}

/* 0 or an errno; without an ABI the kernel's own is ENOSYS or EOPNOTSUPP. */
static int restrict_files(int abi)
{
	struct landlock_ruleset ruleset = { 0 };
	size_t size_bytes = make_ruleset(abi, &ruleset);
	struct landlock_path root = { .allowed = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size_bytes, 0), failed = 0;

	if (fd < 0)
		return errno;
	root.folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root.folder < 0 || syscall(SYS_landlock_add_rule, fd, LANDLOCK_PATH, &root, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, fd, 0))
		failed = errno;
	if (root.folder >= 0)
		close(root.folder);
	close(fd);
	return failed;
}

/*
 * seccomp
 */

#ifdef RI_HAVE_SECCOMP

/* Whatever the arguments are. */
static const int allowed_always[] = {
	/* reading, and writing to what is open */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv), SCMP_SYS(write),
	SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(close),
	SCMP_SYS(close_range), SCMP_SYS(ftruncate), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
	SCMP_SYS(fadvise64), SCMP_SYS(readahead),
	/* names of files */
	SCMP_SYS(fstat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	SCMP_SYS(getdents),
	SCMP_SYS(getcwd),
	/* memory */
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(mincore),
	/* threads */
	SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
	SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler), SCMP_SYS(membarrier), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(getcpu), SCMP_SYS(restart_syscall),
	/* signals of its own */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	/* what it is, and when */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrlimit), SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(alarm),
};

/* For a child that serves commands: it talks on sockets that are open, waits for its own
 * children, and these confine themselves. */
static const int allowed_to_server[] = {
	SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(seccomp),
};

/* For a sanitizer's reports and its search for leaks. */
static const int allowed_to_sanitizer[] = {
	SCMP_SYS(clone), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(ptrace),
	SCMP_SYS(wait4), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(prctl), SCMP_SYS(kill),
	SCMP_SYS(tgkill), SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(fcntl), SCMP_SYS(prlimit64),
	SCMP_SYS(setrlimit), SCMP_SYS(arch_prctl), SCMP_SYS(poll), SCMP_SYS(ioctl),
	SCMP_SYS(process_vm_readv), SCMP_SYS(personality),
};

/* Where an argument is not what it may be, the call fails, and that is not worth dying of:
 * the C library has another way, or lives without. */
static const int fails_softly[] = {
	SCMP_SYS(clone3), /* its flags lie in memory; clone is tried next */
	SCMP_SYS(mmap), SCMP_SYS(mprotect), /* PROT_EXEC, as for a module of iconv */
	SCMP_SYS(fcntl), SCMP_SYS(ioctl), SCMP_SYS(prctl), SCMP_SYS(prlimit64), SCMP_SYS(tgkill),
	SCMP_SYS(mlock), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
	SCMP_SYS(set_mempolicy),
};

/* Where an argument is not what it may be, the process ends. */
static const int fails_hard[] = { SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(clone) };

static int allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count && !failed; i++)
		failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return failed;
}

/* Allows `call` where its argument number `argument`, masked, is `value`. */
static int allow_where(scmp_filter_ctx filter, int call, unsigned argument, uint64_t mask,
		       uint64_t value)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value));
}

static int allow_values(scmp_filter_ctx filter, int call, unsigned argument,
			const uint64_t *values, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count && !failed; i++)
		failed = allow_where(filter, call, argument, UINT32_MAX, values[i]);
	return failed;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Those of fails_hard, by their arguments. */
static int allow_harmless(scmp_filter_ctx filter, bool may_fork)
{
	const uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND |
				 (O_TMPFILE & ~O_DIRECTORY);
	const uint64_t kinds = CLONE_THREAD | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
			       CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
			       CLONE_UNTRACED;
	int failed = allow_where(filter, SCMP_SYS(open), 1, writing, O_RDONLY);

	if (!failed)
		failed = allow_where(filter, SCMP_SYS(openat), 2, writing, O_RDONLY);
	if (!failed)
		failed = allow_where(filter, SCMP_SYS(clone), 0, kinds, CLONE_THREAD);
	if (!failed && may_fork)
		failed = allow_where(filter, SCMP_SYS(clone), 0, kinds, 0);
	return failed;
}

/* Those of fails_softly, by their arguments. */
static int allow_known(scmp_filter_ctx filter)
{
	static const uint64_t fcntls[] = { F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC };
	static const uint64_t ioctls[] = { TCGETS, TIOCGWINSZ };
	static const uint64_t prctls[] = { PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG,
					   PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_GET_SECCOMP };
	int failed = allow_values(filter, SCMP_SYS(fcntl), 1, fcntls, COUNT_OF(fcntls));

	if (!failed)
		failed = allow_values(filter, SCMP_SYS(ioctl), 1, ioctls, COUNT_OF(ioctls));
	if (!failed)
		failed = allow_values(filter, SCMP_SYS(prctl), 0, prctls, COUNT_OF(prctls));
	if (!failed)
		failed = allow_where(filter, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
	if (!failed)
		failed = allow_where(filter, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
	if (!failed) /* asked for, not set */
		failed = allow_where(filter, SCMP_SYS(prlimit64), 2, UINT64_MAX, 0);
	if (!failed) /* as abort() does */
		failed = allow_where(filter, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint32_t)getpid());
	if (!failed)
		failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return failed;
}

static int allow_lists(scmp_filter_ctx filter, bool may_fork)
{
	int failed = allow(filter, allowed_always, COUNT_OF(allowed_always));

	if (!failed && may_fork)
		failed = allow(filter, allowed_to_server, COUNT_OF(allowed_to_server));
	if (!failed && IS_SANITIZED)
		failed = allow(filter, allowed_to_sanitizer, COUNT_OF(allowed_to_sanitizer));
	return failed;
}

/* Ends the process at a call that no list has, and at a harmful one of fails_hard. */
static int add_hard_rules(scmp_filter_ctx filter, bool may_fork)
{
	int failed = allow_lists(filter, may_fork);

	if (!failed)
		failed = allow(filter, fails_softly, COUNT_OF(fails_softly));
	if (!failed)
		failed = allow_harmless(filter, may_fork);
	return failed;
}

/* Refuses the unknown ones of fails_softly.  Comes before the hard rules, and lets their
 * filter be loaded. */
static int add_soft_rules(scmp_filter_ctx filter, bool may_fork)
{
	const int load[] = { SCMP_SYS(seccomp) };
	int failed = allow_lists(filter, may_fork);

	if (!failed)
		failed = allow(filter, fails_hard, COUNT_OF(fails_hard));
	if (!failed)
		failed = allow(filter, load, COUNT_OF(load));
	if (!failed)
		failed = allow_known(filter);
	return failed;
}

/*
 * One filter: `otherwise` is what becomes of a call without a rule.  A filter cannot have
 * rules of two actions for one call, hence two; of what they say the harder counts.
 * Returns 0 or an errno.
 */
static int load_filter(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter, bool may_fork),
		       bool may_fork)
{
	scmp_filter_ctx filter = seccomp_init(otherwise);
	int failed;

	if (!filter)
		return ENOSYS;
	failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!failed && seccomp_api_get() >= 2)
		failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!failed && seccomp_api_get() >= 4) /* there is no secret in here to be guessed */
		failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	if (!failed)
		failed = add_rules(filter, may_fork);
	if (!failed)
		failed = seccomp_load(filter);
	seccomp_release(filter);
	return -failed;
}

/* For SIGSYS: in whatever state the process is, one line and the end. */
static void report_violation(int signal_number, siginfo_t *info, void *context)
{
	static const char before[] = "refinspect: the analysis made system call ";
	static const char after[] = ", which its confinement forbids; nothing is reported\n";
	char line[sizeof(before) + sizeof(after) + 16], digits[16];
	unsigned number = (unsigned)info->si_syscall, digit_count = 0;
	size_t length = sizeof(before) - 1;

	(void)signal_number;
	(void)context;
	memcpy(line, before, length);
	do {
		digits[digit_count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (digit_count)
		line[length++] = digits[--digit_count];
	memcpy(line + length, after, sizeof(after) - 1);
	length += sizeof(after) - 1;
	if (write(STDERR_FILENO, line, length) < 0)
		_exit(STATUS_UNUSABLE);
	_exit(STATUS_UNUSABLE);
}

static int confine_calls(bool may_fork)
{
	struct sigaction action = { .sa_sigaction = report_violation, .sa_flags = SA_SIGINFO };
	int failed;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGSYS, &action, NULL))
		return errno;
	failed = load_filter(SCMP_ACT_ERRNO(EPERM), add_soft_rules, may_fork);
	return failed ? failed : load_filter(SCMP_ACT_TRAP, add_hard_rules, may_fork);
}

static bool has_seccomp(void)
{
	uint32_t action = SCMP_ACT_TRAP;

	return syscall(SYS_seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &action) == 0;
}

#define SECCOMP_IS_BUILT_IN true

#else

static int confine_calls(bool may_fork)
{
	(void)may_fork;
	return ENOSYS;
}

static bool has_seccomp(void)
{
	return false;
}

#define SECCOMP_IS_BUILT_IN false

#endif

/*
 * Both
 */

struct ri_error *ri_confine(enum ri_confine_mode mode, unsigned flags)
{
	bool is_required = mode == RI_CONFINE_REQUIRE;
	int failed = 0;

	if (mode == RI_CONFINE_NEVER)
		return NULL;
	if (RUNNING_ON_VALGRIND)
		return is_required ? ri_error_create(RI_ERROR_INPUT, "the analysis cannot be "
						     "confined: not under valgrind")
				   : NULL;
	if (!(flags & RI_CONFINE_SEES_PROCESSES))
		failed = restrict_files(landlock_abi());
	if (failed && is_required)
		return ri_error_create(RI_ERROR_INPUT, "the analysis cannot be confined: Landlock: %s",
				       strerror(failed));
	failed = has_seccomp() ? confine_calls(flags & RI_CONFINE_MAY_FORK) : ENOSYS;
	if (failed && is_required)
		return ri_error_create(RI_ERROR_INPUT, "the analysis cannot be confined: seccomp: %s",
				       SECCOMP_IS_BUILT_IN ? strerror(failed) : "not in this build");
	return NULL;
}

void ri_confine_describe(FILE *out)
{
	int abi = landlock_abi();

	if (!SECCOMP_IS_BUILT_IN)
		fputs("confinement: no seccomp in this build; ", out);
	else
		fprintf(out, "confinement: seccomp%s; ", has_seccomp() ? "" : " not in this kernel");
	if (abi)
		fprintf(out, "Landlock ABI %d", abi);
	else
		fputs("Landlock not in this kernel", out);
	if (RUNNING_ON_VALGRIND)
		fputs("; none under valgrind", out);
	else if (IS_SANITIZED)
		fputs("; loose, for the sanitizer", out);
	fputc('\n', out);
}

/*
 * Resources
 */

/* The soft limit; what is lower already stays. */
static void lower_limit(int resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_cur <= most)
		return;
	limit.rlim_cur = limit.rlim_max = most;
	(void)setrlimit((__rlimit_resource_t)resource, &limit);
}

static uint64_t memory_of_machine(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : (uint64_t)(info.totalram + info.totalswap) * info.mem_unit;
}

void ri_confine_resources(uint64_t max_memory_bytes)
{
	uint64_t bytes = max_memory_bytes == RI_MEMORY_OF_MACHINE ? memory_of_machine()
								   : max_memory_bytes;

	lower_limit(RLIMIT_CORE, 0);
	lower_limit(RLIMIT_NOFILE, FILES_MAX);
	if (!bytes || ri_confine_is_loose())
		return;
	signal(SIGXFSZ, SIG_IGN); /* the write fails, and says so */
	lower_limit(RLIMIT_FSIZE, bytes);
	/* not RLIMIT_AS: a core file is mapped whole, and may be larger than memory */
	lower_limit(RLIMIT_DATA, bytes);
}

void ri_confine_time(unsigned seconds)
{
	sigset_t alarm_set;

	if (!seconds)
		return;
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm_set);
	sigaddset(&alarm_set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_set, NULL);
	alarm(seconds);
}
