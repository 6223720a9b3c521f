/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edits one word of a sound core at a time and sees that exactly the right
 * finding comes of it, and that nothing else in the analysis changes.
 *
 *	mutate [options] CORE
 *		--profile=FILE   a profile of the user's (repeatable)
 *		--trials=N       of each kind of edit (default 100)
 *		--at-most=N      of each code: kinds that give one take turns
 *		--seed=N         of the random places; printed
 *		--kind=NAME      only this kind of edit
 *		--trial=N        only this trial of each kind
 *		--jobs=N         so many at a time (default: processors)
 *		--gaps           no finding before any edit is enough: gaps may stand
 *		--require=CODE   fail unless at least --trials were made that must
 *		                 give CODE (a list with commas)
 *		--self-test      instead: see that wrong expectations make trials fail
 *
 * The place and value of a trial follow from seed, kind and number alone.  Each
 * worker has a copy of the core in memory, which an analysis has opened; a trial
 * edits the copy, and a child of the worker goes on from there to the findings,
 * so that a crash is one failed trial.  The last line is
 * `N passed, N failed, N skipped`; the exit status is 0 when nothing failed.
 */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check/check.h"
#include "mutate.h"

enum { TRIAL_SECONDS = 600, DRAWS_MAX = 20000, KINDS_MAX = 64, CODES_MAX = 64 };

/* How a self-test spoils a trial; each must make it fail. */
enum sabotage {
	SABOTAGE_NONE,
	NO_EDIT,
	OTHER_CODE,
	OTHER_ADDRESS,
	SECOND_EDIT,
	NOTHING_MAY_DIFFER,
	SABOTAGES,
};

static const char *const sabotage_names[SABOTAGES] = {
	"", "nothing edited", "another code", "another address", "a second edit",
	"the edited place may not differ",
};

struct options {
	const char *core;
	RI_VEC(const char *) profiles; /* ends with null */
	unsigned trials, jobs, at_most; /* at_most 0: no limit */
	uint64_t seed;
	const char *kind;
	long trial;              /* -1: all */
	const char *required;
	bool is_self_test;
	bool has_gaps;
};

/* Shared by all workers. */
struct results {
	struct {
		uint32_t passed, failed, undrawn;
	} kinds[KINDS_MAX];
	uint32_t codes[CODES_MAX]; /* trials made that must give ri_checks[i] */
};

/* What stood in the core where something was edited. */
struct edit {
	off_t offset;
	unsigned size_bytes;
	uint64_t old;
};

struct worker {
	const struct options *options;
	struct results *results;
	int fd;                  /* the copy of the core */
	RI_VEC(struct edit) edits; /* made and not undone */
	struct ri_analysis *before; /* complete, of the sound image */
	struct ri_analysis *opened; /* what a trial's child goes on with */
};

/*
 * Image
 */

static int copy_core(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("core", MFD_CLOEXEC);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st))
		err(2, "%s", path);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t done = sendfile(to, from, NULL, (size_t)left);

		if (done <= 0)
			err(2, "%s", path);
		left -= done;
	}
	close(from);
	return to;
}

/* Where in the core file the bytes at `addr` lie; -1: not in it. */
static off_t file_offset(int fd, uint64_t addr, unsigned size_bytes)
{
	Elf64_Ehdr elf;
	Elf64_Phdr header;

	if (pread(fd, &elf, sizeof(elf), 0) != sizeof(elf))
		err(2, "the core");
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		if (pread(fd, &header, sizeof(header),
			  (off_t)(elf.e_phoff + i * sizeof(header))) != sizeof(header))
			err(2, "the core");
		if (header.p_type == PT_LOAD && addr >= header.p_vaddr &&
		    addr + size_bytes <= header.p_vaddr + header.p_filesz)
			return (off_t)(header.p_offset + (addr - header.p_vaddr));
	}
	return -1;
}

static void edit_image(struct worker *worker, uint64_t addr, unsigned size_bytes, uint64_t value)
{
	struct edit *edit = ri_push(&worker->edits);

	edit->offset = file_offset(worker->fd, addr, size_bytes);
	edit->size_bytes = size_bytes;
	if (edit->offset < 0 ||
	    pread(worker->fd, &edit->old, size_bytes, edit->offset) != size_bytes ||
	    pwrite(worker->fd, &value, size_bytes, edit->offset) != size_bytes)
		errx(2, "0x%" PRIx64 " cannot be edited", addr);
}

static void undo_edits(struct worker *worker)
{
	for (; worker->edits.count; worker->edits.count--) {
		struct edit *edit = &worker->edits.items[worker->edits.count - 1];

		if (pwrite(worker->fd, &edit->old, edit->size_bytes, edit->offset) !=
		    edit->size_bytes)
			err(2, "the core");
	}
}

/*
 * Trials
 */

static uint64_t trial_random(const struct options *options, unsigned kind, unsigned trial)
{
	uint64_t x = options->seed * 0x9e3779b97f4a7c15 + ((uint64_t)kind << 32 | trial) + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) | 1;
}

static bool draw_mutation(struct sound *sound, unsigned kind, struct mutation *mutation)
{
	const struct ri_image *image = sound->analysis->target->image;

	for (unsigned i = 0; i < DRAWS_MAX; i++) {
		uint64_t old, value;

		*mutation = (struct mutation){ .object = RI_NONE,
					       .group = RI_NONE,
					       .loses_owner = RI_NONE };
		if (!edit_kinds[kind].make(sound, mutation))
			continue;
		value = mutation->value;
		if (mutation->size_bytes < 8)
			value &= (UINT64_C(1) << 8 * mutation->size_bytes) - 1;
		if (ri_image_read_uint(image, mutation->addr, mutation->size_bytes, &old) &&
		    old != value)
			return true;
	}
	return false;
}

/* Makes the expectation, or the edit, a wrong one. */
static void spoil(struct worker *worker, struct mutation *mutation, enum sabotage sabotage)
{
	const struct ri_population *population = worker->before->population;
	uint32_t other = 0;

	/* memory that no file stands for */
	while (other + 1 < population->object_count &&
	       (other == mutation->object || population->objects[other].block == RI_NONE ||
		population->objects[other].state))
		other++;

	switch (sabotage) {
	case NO_EDIT:
		undo_edits(worker);
		break;
	case OTHER_CODE:
		mutation->code = "policy";
		break;
	case OTHER_ADDRESS:
		mutation->finding_addr += 8;
		break;
	case SECOND_EDIT: /* of another object's magic and count, or the like */
		edit_image(worker, ri_object_header(population, &population->objects[other]), 8,
			   0);
		break;
	case NOTHING_MAY_DIFFER:
		mutation->object = mutation->group = RI_NONE;
		break;
	default:
		break;
	}
}

/* In the child: goes on with the analysis of the edited image and compares; what it
 * writes to the log comes out at once. */
__attribute__((noreturn)) static void run_trial(const struct worker *worker,
						const struct mutation *mutation, const char *title)
{
	char *text;
	size_t size;
	FILE *log = open_memstream(&text, &size);
	bool is_right;

	if (!log)
		err(2, "trial");
	alarm(TRIAL_SECONDS);
	fprintf(log, "%s: 0x%" PRIx64 " := 0x%" PRIx64 " must give %s 0x%" PRIx64 "\n", title,
		mutation->addr, mutation->value, mutation->code, mutation->finding_addr);
	ri_analysis_run(worker->opened, 1);
	is_right = compare_analyses(worker->before, worker->opened, mutation, log);
	fclose(log);
	if (!is_right && !worker->options->is_self_test && write(STDOUT_FILENO, text, size) < 0)
		err(2, "trial");
	_exit(is_right ? 0 : 1);
}

/* Whether the trial ended with the right finding and nothing else. */
static bool trial_is_right(struct worker *worker, const struct mutation *original,
			   const char *title, enum sabotage sabotage)
{
	struct mutation mutation = *original;
	int status;
	pid_t child;

	edit_image(worker, mutation.addr, mutation.size_bytes, mutation.value);
	spoil(worker, &mutation, sabotage);
	fflush(stdout);
	child = fork();
	if (child < 0)
		err(2, "fork");
	if (!child)
		run_trial(worker, &mutation, title);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			err(2, "waitpid");
	undo_edits(worker);
	if (WIFSIGNALED(status))
		printf("%s: 0x%" PRIx64 " := 0x%" PRIx64 " must give %s: killed by signal %d\n",
		       title, mutation.addr, mutation.value, mutation.code, WTERMSIG(status));
	else if (WEXITSTATUS(status) > 1)
		errx(2, "a trial could not be made");
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Counts a trial that must give `code`; false where there were enough of them. */
static bool count_code(struct results *results, const char *code, unsigned at_most)
{
	for (size_t i = 0; ri_checks[i] && i < CODES_MAX; i++) {
		if (strcmp(ri_checks[i]->code, code) != 0)
			continue;
		if (at_most && __atomic_load_n(&results->codes[i], __ATOMIC_RELAXED) >= at_most)
			return false;
		__atomic_add_fetch(&results->codes[i], 1, __ATOMIC_RELAXED);
	}
	return true;
}

static void count_result(struct results *results, unsigned kind, bool is_right)
{
	__atomic_add_fetch(is_right ? &results->kinds[kind].passed : &results->kinds[kind].failed,
			   1, __ATOMIC_RELAXED);
}

static void self_test_trial(struct worker *worker, unsigned kind, const struct mutation *mutation,
			    const char *title)
{
	for (enum sabotage s = SABOTAGE_NONE; s < SABOTAGES; s++) {
		bool is_right;

		if (s == NOTHING_MAY_DIFFER && mutation->object == RI_NONE &&
		    mutation->group == RI_NONE)
			continue;
		is_right = trial_is_right(worker, mutation, title, s);
		if (is_right != (s == SABOTAGE_NONE))
			printf("self-test: %s: %s\n", title,
			       s ? sabotage_names[s] : "failed, and nothing was spoiled");
		count_result(worker->results, kind, is_right == (s == SABOTAGE_NONE));
	}
}

/* False: this kind of edit has no place here. */
static bool make_trial(struct worker *worker, unsigned kind, unsigned trial)
{
	struct sound sound = { worker->before, trial_random(worker->options, kind, trial) };
	struct mutation mutation;
	char title[128];

	if (!draw_mutation(&sound, kind, &mutation)) {
		__atomic_add_fetch(&worker->results->kinds[kind].undrawn, 1, __ATOMIC_RELAXED);
		return false;
	}
	snprintf(title, sizeof(title), "--seed=%" PRIu64 " --kind=%s --trial=%u",
		 worker->options->seed, edit_kinds[kind].name, trial);
	if (!count_code(worker->results, mutation.code, worker->options->at_most))
		return true;
	if (worker->options->is_self_test)
		self_test_trial(worker, kind, &mutation, title);
	else
		count_result(worker->results, kind,
			     trial_is_right(worker, &mutation, title, SABOTAGE_NONE));
	return true;
}

/*
 * Workers
 */

static bool is_clean(const struct ri_analysis *analysis, bool has_gaps)
{
	for (size_t i = 0; i < analysis->findings->count; i++)
		printf("before any edit: %s\n", analysis->findings->items[i].summary);
	return !analysis->findings->count &&
	       (has_gaps || ri_analysis_verdict(analysis) == RI_VERDICT_CLEAN);
}

/* Reads, once for all trials, what the population needs of the debug information. */
static void read_ahead(const struct ri_analysis *opened)
{
	struct ri_gaps gaps;
	struct ri_shapes *shapes = ri_shapes_create(opened->layout, opened->types);
	struct ri_population *population;
	struct ri_heap *heap;

	ri_gaps_init(&gaps);
	heap = ri_heap_create(opened->target, opened->modules, &gaps);
	population = ri_population_create(opened->target, opened->modules, opened->types, heap,
					  opened->layout, NULL, shapes, &gaps);
	ri_population_destroy(population);
	ri_heap_destroy(heap);
	ri_shapes_destroy(shapes);
	ri_gaps_deinit(&gaps);
}

static void open_worker(struct worker *worker)
{
	char path[64];
	struct ri_analysis_options options = {
		.core_path = path,
		.profile_paths = worker->options->profiles.items,
		.thread_count = 1,
	};
	struct ri_error *error;

	worker->fd = copy_core(worker->options->core);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", worker->fd);
	error = ri_analysis_create(&options, &worker->before);
	if (!error)
		error = ri_analysis_open(&options, &worker->opened);
	if (error)
		errx(2, "%s: %s", worker->options->core, error->message);
	if (!is_clean(worker->before, worker->options->has_gaps))
		errx(2, "%s: not clean before any edit", worker->options->core);
	read_ahead(worker->opened);
}

__attribute__((noreturn)) static void run_worker(const struct options *options,
						 struct results *results, unsigned number)
{
	struct worker worker = { .options = options, .results = results };
	bool has_no_place[KINDS_MAX] = { false };

	open_worker(&worker);
	for (unsigned trial = 0; trial < options->trials; trial++)
		for (unsigned kind = 0; edit_kinds[kind].name; kind++)
			if ((!options->kind || !strcmp(options->kind, edit_kinds[kind].name)) &&
			    (options->trial < 0 || trial == (unsigned long)options->trial) &&
			    (kind + trial) % options->jobs == number && !has_no_place[kind])
				has_no_place[kind] = !make_trial(&worker, kind, trial);
	fflush(stdout);
	_exit(0);
}

/* False if a worker did not come to its end. */
static bool run_workers(const struct options *options, struct results *results)
{
	bool is_whole = true;
	int status;

	fflush(stdout);
	for (unsigned i = 0; i < options->jobs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(2, "fork");
		if (!pid)
			run_worker(options, results, i);
	}
	while (wait(&status) > 0)
		is_whole &= WIFEXITED(status) && !WEXITSTATUS(status);
	return is_whole;
}

/*
 * Results
 */

/* How many required codes had too few trials. */
static unsigned count_missing(const struct options *options, const struct results *results)
{
	char *list = ri_strdup(options->required ? options->required : ""), *rest = NULL;
	unsigned missing = 0;

	for (char *code = strtok_r(list, ",", &rest); code; code = strtok_r(NULL, ",", &rest)) {
		uint32_t made = 0;

		for (size_t i = 0; ri_checks[i] && i < CODES_MAX; i++)
			if (!strcmp(ri_checks[i]->code, code))
				made = results->codes[i];
		if (made >= (options->at_most ? options->at_most : options->trials))
			continue;
		printf("%s: only %u trials\n", code, made);
		missing++;
	}
	free(list);
	return missing;
}

static int report(const struct options *options, const struct results *results, bool is_whole)
{
	unsigned passed = 0, failed = 0;

	for (unsigned kind = 0; edit_kinds[kind].name; kind++) {
		passed += results->kinds[kind].passed;
		failed += results->kinds[kind].failed;
		if (results->kinds[kind].passed + results->kinds[kind].failed)
			printf("%-22s %5u passed, %u failed%s\n", edit_kinds[kind].name,
			       results->kinds[kind].passed, results->kinds[kind].failed,
			       results->kinds[kind].undrawn ? ", and no place for more" : "");
	}
	for (size_t i = 0; ri_checks[i] && i < CODES_MAX; i++)
		if (results->codes[i])
			printf("%-22s %5u times\n", ri_checks[i]->code, results->codes[i]);
	failed += count_missing(options, results) + !is_whole;
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed || !passed;
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option long_options[] = {
		{ "profile", required_argument, NULL, 'P' }, { "trials", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },    { "kind", required_argument, NULL, 'k' },
		{ "trial", required_argument, NULL, 't' },   { "jobs", required_argument, NULL, 'j' },
		{ "require", required_argument, NULL, 'r' }, { "self-test", no_argument, NULL, 'x' },
		{ "at-most", required_argument, NULL, 'm' }, { "gaps", no_argument, NULL, 'g' },	     { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 'P':
			*ri_push(&options->profiles) = optarg;
			break;
		case 'n':
			options->trials = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			options->seed = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			options->kind = optarg;
			break;
		case 't':
			options->trial = strtol(optarg, NULL, 10);
			break;
		case 'j':
			options->jobs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			options->required = optarg;
			break;
		case 'm':
			options->at_most = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'g':
			options->has_gaps = true;
			break;
		case 'x':
			options->is_self_test = true;
			break;
		default:
			exit(2);
		}
	if (optind + 1 != argc || !options->trials || !options->jobs)
		errx(2, "usage: mutate [options] CORE");
	options->core = argv[optind];
	*ri_push(&options->profiles) = NULL;
}

int main(int argc, char **argv)
{
	struct options options = {
		.trials = 100,
		.jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.seed = 1,
		.trial = -1,
	};
	struct results *results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	if (results == MAP_FAILED)
		err(2, "mmap");
	parse(argc, argv, &options);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%s, seed %" PRIu64 "\n", options.core, options.seed);
	status = report(&options, results, run_workers(&options, results));
	ri_vec_deinit(&options.profiles);
	return status;
}
