/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damages core files (or executables) at random or by a plan and sees that refinspect ends by
 * itself, within 20 seconds of CPU time, with a status of its own and at most one line of complaint.
 *
 *	corrupt [options] FILE -- REFINSPECT [ARGUMENT...]
 *		--trials=N   (default 100)
 *		--seed=N     printed
 *		--trial=N    only this one
 *		--keep=FILE  of the last trial made
 *		--keep-failed=DIR  copies of what made trials fail
 *		--plan=KIND  instead of at random: all damage of this kind, see damage.h
 *		--every=N    of these only each Nth
 *		--never-clean  status 0 is wrong: the undamaged FILE has findings
 *
 * Each trial damages a copy of FILE and runs the command, in which a word `@` (or
 * the end of a word, as in `--core=@`) stands for the copy.  An executable keeps its
 * build-id.  The analysis runs in a child of refinspect: where that child died, the
 * report is not wrong but missing; such a death is counted and listed, and fails the
 * trial too.
 *
 * The last line is `N passed, N failed, N skipped`; the exit status is 0 when
 * nothing failed.
 */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "damage.h"

/* CPU time decides, which other work on the machine does not use up; the other is for what sleeps. */
enum { TRIAL_CPU_SECONDS = 20, TRIAL_SECONDS = 600, COMPLAINT_BYTES = 2000 };

struct options {
	unsigned trials, every;
	uint64_t seed;
	long trial; /* -1: all */
	const char *keep, *keep_failed, *file;
	bool is_never_clean;
	bool (*plan)(struct image *image, unsigned trial); /* null: at random */
	char **command;
};

/* What all trials came to. */
struct outcome {
	unsigned passed, failed, statuses[4];
	unsigned slowest, largest; /* trials */
	double slowest_seconds;  /* of CPU time */
	long largest_kib;
};

static uint64_t draw(struct image *image, uint64_t limit)
{
	image->random ^= image->random << 13;
	image->random ^= image->random >> 7;
	image->random ^= image->random << 17;
	return (uint64_t)((unsigned __int128)image->random * limit >> 64);
}

/*
 * Damage
 */

/* A value that code might trip over. */
static uint64_t draw_value(struct image *image)
{
	static const uint64_t values[] = {
		0, 1, 7, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff8,
		0x7ffffffff000, 0xdeadbeefdeadbeef,
	};
	uint64_t other;

	switch (draw(image, 4)) {
	case 0:
		return values[draw(image, sizeof(values) / sizeof(*values))];
	case 1: /* what stands elsewhere: pointers that lead somewhere */
		memcpy(&other, image->bytes + draw(image, image->size / 8) * 8, 8);
		return other;
	case 2:
		return draw(image, image->size * 2);
	default:
		return draw(image, UINT64_MAX);
	}
}

static void damage_word(struct image *image, size_t start, size_t end)
{
	static const unsigned sizes[] = { 1, 2, 4, 8, 8, 8 };
	unsigned size = sizes[draw(image, sizeof(sizes) / sizeof(*sizes))];
	size_t at = start + draw(image, (end - start) / size) * size;
	uint64_t value = draw_value(image);

	if (!draw(image, 3)) { /* a little off is as bad as far off */
		memcpy(&value, image->bytes + at, size);
		value += draw(image, 33) - 16;
	}
	put(image, at, &value, size);
}

static void damage_stretch(struct image *image)
{
	static const uint8_t fillings[] = { 0, 0xff, 0x41, 0xcc };
	size_t length = 1 + draw(image, 8192), at = draw(image, image->size);
	size_t from = draw(image, image->size);
	uint8_t filling = fillings[draw(image, sizeof(fillings))];
	bool is_copy = draw(image, 2);

	for (size_t i = 0; i < length && at + i < image->size && from + i < image->size; i++)
		put(image, at + i, is_copy ? &image->bytes[from + i] : &filling, 1);
}

/* The file range of the program header's segment, or of the table itself. */
static void draw_part(struct image *image, size_t *start, size_t *end)
{
	Elf64_Ehdr elf;
	Elf64_Phdr header;
	uint64_t i;

	*start = 0;
	*end = image->size;
	memcpy(&elf, image->bytes, sizeof(elf));
	switch (draw(image, 12)) {
	case 0:
		*end = sizeof(elf);
		return;
	case 1:
	case 2:
		*start = elf.e_phoff;
		*end = elf.e_phoff + elf.e_phnum * sizeof(header);
		break;
	case 3: /* a segment, the notes most often */
	case 4:
	case 5:
	case 6:
		if (!elf.e_phnum)
			return;
		i = draw(image, 2) ? 0 : draw(image, elf.e_phnum);
		if (elf.e_phoff > image->size - sizeof(header) ||
		    i * sizeof(header) > image->size - sizeof(header) - elf.e_phoff)
			return;
		memcpy(&header, image->bytes + elf.e_phoff + i * sizeof(header), sizeof(header));
		*start = header.p_offset;
		*end = header.p_offset + header.p_filesz;
		break;
	case 7:
		if (elf.e_shoff && elf.e_type != ET_CORE) {
			*start = elf.e_shoff;
			*end = elf.e_shoff + elf.e_shnum * sizeof(Elf64_Shdr);
		}
		break;
	default: /* anywhere */
		break;
	}
	if (*end > image->size || *start + 8 > *end) {
		*start = 0;
		*end = image->size;
	}
}

static void damage(struct image *image)
{
	static const unsigned amounts[] = { 1, 2, 8, 50, 400, 3000 };
	unsigned amount = amounts[draw(image, sizeof(amounts) / sizeof(*amounts))];
	size_t start, end;

	draw_part(image, &start, &end);
	for (unsigned i = 0; i < amount; i++) {
		if (!draw(image, 300))
			draw_part(image, &start, &end);
		damage_word(image, start, end);
	}
	for (unsigned i = draw(image, 4) ? 0 : (unsigned)draw(image, 5); i; i--)
		damage_stretch(image);
	if (!draw(image, 8))
		image->size = draw(image, image->size + 1);
}

/* Finds the build-id's note, which stays: with another one the file would not be
 * looked at any further. */
static void find_build_id(struct image *image)
{
	static const uint8_t note[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	const uint8_t *found = memmem(image->bytes, image->size, note, sizeof(note));

	if (!found || ((const Elf64_Ehdr *)(const void *)image->bytes)->e_type == ET_CORE)
		return;
	image->id_start = (size_t)(found - image->bytes);
	image->id_end = image->id_start + sizeof(note) + 20;
}

/*
 * Trials
 */

static void read_file(const char *path, struct image *image)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		err(2, "%s", path);
	image->size = (size_t)st.st_size;
	image->bytes = ri_malloc(image->size);
	for (size_t done = 0; done < image->size;) {
		ssize_t count = read(fd, image->bytes + done, image->size - done);

		if (count <= 0)
			err(2, "%s", path);
		done += (size_t)count;
	}
	close(fd);
	find_build_id(image);
}

static void write_file(const char *path, const struct image *image)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		err(2, "%s", path);
	for (size_t done = 0; done < image->size;) {
		ssize_t count = write(fd, image->bytes + done, image->size - done);

		if (count <= 0)
			err(2, "%s", path);
		done += (size_t)count;
	}
	close(fd);
}

/* In the child: runs the command on `path`. */
__attribute__((noreturn)) static void run_command(char **command, const char *path, int complaint)
{
	const struct rlimit limit = { TRIAL_CPU_SECONDS, TRIAL_CPU_SECONDS + 5 };
	int null = open("/dev/null", O_RDWR);

	for (char **word = command; *word; word++) {
		size_t length = strlen(*word);

		if (length && (*word)[length - 1] == '@')
			*word = ri_format("%.*s%s", (int)length - 1, *word, path);
	}
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(complaint, STDERR_FILENO);
	setrlimit(RLIMIT_CPU, &limit);
	alarm(TRIAL_SECONDS);
	execv(command[0], command);
	_exit(127);
}

/* What is wrong with how the command ended; null: nothing. */
static const char *judge(const struct options *options, int status, const char *complaint)
{
	size_t lines = 0;

	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? "did not end" : "was killed";
	if (WEXITSTATUS(status) > 3)
		return "ended with a status that is none of its own";
	for (const char *p = complaint; (p = strchr(p, '\n')); p++)
		lines++;
	if (strstr(complaint, "ended by signal"))
		return strstr(complaint, "(CPU time") ? "took too much CPU time" : "its analysis died";
	if (strstr(complaint, "not done after"))
		return "took too long";
	if (strstr(complaint, "out of memory"))
		return "took too much memory";
	if (lines > 1 || (*complaint && strncmp(complaint, "refinspect: ", 12)))
		return "complained in more than one line";
	if (WEXITSTATUS(status) == 2 && !lines)
		return "did not say why it ended with status 2";
	if (WEXITSTATUS(status) == 0 && options->is_never_clean)
		return "called it clean";
	return NULL;
}

/* Far apart for seeds and numbers that are near; never 0. */
static uint64_t trial_random(uint64_t seed, unsigned trial)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15 + trial + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) | 1;
}

static void count_trial(struct outcome *outcome, unsigned trial, int status,
			const struct rusage *usage)
{
	double seconds = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
			 (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;

	if (WIFEXITED(status) && WEXITSTATUS(status) < 4)
		outcome->statuses[WEXITSTATUS(status)]++;
	if (seconds > outcome->slowest_seconds) {
		outcome->slowest_seconds = seconds;
		outcome->slowest = trial;
	}
	if (usage->ru_maxrss > outcome->largest_kib) {
		outcome->largest_kib = usage->ru_maxrss;
		outcome->largest = trial;
	}
}

static void keep_failed(const struct options *options, unsigned trial, const struct image *image)
{
	const char *slash = strrchr(options->file, '/');
	char *path = ri_format("%s/%s.%d.%u", options->keep_failed,
			       slash ? slash + 1 : options->file, (int)getpid(), trial);

	write_file(path, image);
	printf("kept: %s\n", path);
	free(path);
}

/* False if there is no such trial. */
static bool make_trial(const struct options *options, const char *path, unsigned trial,
		       struct outcome *outcome)
{
	struct image image = { .random = trial_random(options->seed, trial) };
	int complaint = memfd_create("complaint", MFD_CLOEXEC), status;
	char text[COMPLAINT_BYTES + 1];
	struct rusage usage;
	const char *wrong;
	ssize_t length;
	pid_t child;

	read_file(options->file, &image);
	if (!options->plan) {
		damage(&image);
	} else if (!options->plan(&image, trial)) {
		close(complaint);
		free(image.bytes);
		return false;
	}
	write_file(path, &image);
	fflush(stdout);
	child = fork();
	if (child < 0 || complaint < 0)
		err(2, "trial");
	if (!child)
		run_command(options->command, path, complaint);
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			err(2, "wait4");
	length = pread(complaint, text, COMPLAINT_BYTES, 0);
	text[length > 0 ? length : 0] = '\0';
	close(complaint);
	count_trial(outcome, trial, status, &usage);
	wrong = judge(options, status, text);
	if (wrong)
		printf("failed: %s: %s=%" PRIu64 " --trial=%u: %s (status %#x): %s\n", options->file,
		       options->plan ? "plan; --seed" : "--seed", options->seed, trial, wrong,
		       status, text);
	if (wrong && options->keep_failed)
		keep_failed(options, trial, &image);
	free(image.bytes);
	*(wrong ? &outcome->failed : &outcome->passed) += 1;
	return true;
}

static bool (*find_plan(const char *name))(struct image *image, unsigned trial)
{
	for (size_t i = 0; i < sizeof(damage_kinds) / sizeof(damage_kinds[0]); i++)
		if (!strcmp(damage_kinds[i].name, name))
			return damage_kinds[i].damage;
	errx(2, "there is no plan '%s'", name);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{ "trials", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "trial", required_argument, NULL, 't' },
		{ "keep", required_argument, NULL, 'k' },
		{ "keep-failed", required_argument, NULL, 'f' },
		{ "plan", required_argument, NULL, 'p' },
		{ "every", required_argument, NULL, 'e' },
		{ "never-clean", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", long_options, NULL)) != -1)
		switch (c) {
		case 'n':
			options->trials = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			options->seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			options->trial = strtol(optarg, NULL, 10);
			break;
		case 'k':
			options->keep = optarg;
			break;
		case 'f':
			options->keep_failed = optarg;
			break;
		case 'e':
			options->every = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			options->plan = find_plan(optarg);
			options->trials = UINT32_MAX;
			break;
		case 'c':
			options->is_never_clean = true;
			break;
		default:
			exit(2);
		}
	if (argc - optind < 3 || strcmp(argv[optind + 1], "--"))
		errx(2, "usage: corrupt [options] FILE -- REFINSPECT [ARGUMENT...]");
	options->file = argv[optind];
	options->command = argv + optind + 2;
}

int main(int argc, char **argv)
{
	struct options options = { .trials = 100, .every = 1, .seed = 1, .trial = -1 };
	struct outcome outcome = { 0 };
	char *path;

	parse(argc, argv, &options);
	path = options.keep ? ri_strdup(options.keep)
			    : ri_format("/tmp/refinspect-corrupt.%d", (int)getpid());
	for (unsigned trial = 0; trial < options.trials; trial += options.every ? options.every : 1)
		if (options.trial < 0 || trial == (unsigned long)options.trial)
			if (!make_trial(&options, path, trial, &outcome))
				break;
	if (!options.keep)
		unlink(path);
	free(path);
	printf("%s, seed %" PRIu64 ": %u ended with status 0, %u with 1, %u with 2, %u with 3; "
	       "slowest trial %u, %.1f s of CPU time; largest trial %u, %ld MiB\n",
	       options.file, options.seed, outcome.statuses[0], outcome.statuses[1],
	       outcome.statuses[2], outcome.statuses[3], outcome.slowest, outcome.slowest_seconds,
	       outcome.largest, outcome.largest_kib / 1024);
	printf("%u passed, %u failed, 0 skipped\n", outcome.passed, outcome.failed);
	return outcome.failed || !outcome.passed;
}
