/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The glibc walker on the heaps of heap_subject.c, compiled here without
 * sanitizers (those bring an allocator of their own): each live block must be
 * found exactly once as used, with the size that malloc says, and no freed block
 * may be found as used.
 *
 * HEAP_SUBJECT in the environment names a heap_subject that was linked against
 * another glibc, to be examined in place of the one compiled here.
 */
#include <libgen.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "heap/heap.h"

#define UNEXPLAINED_MAX 40 /* what libc allocates for itself, threads included */

struct truth {
	uint64_t addr, requested, usable;
};

struct subject {
	pid_t pid;
	RI_VEC(struct truth) live;
	RI_VEC(uint64_t) freed;
	uint64_t damaged;        /* as printed, or 0 */
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_heap *heap;
};

static char directory[] = "/tmp/refinspect-heap-XXXXXX";
static char program[256], static_program[256];

static int compile(const char *flags, char *output, const char *name)
{
	char *source = strdup(__FILE__), *command;
	int status;

	snprintf(output, sizeof(program), "%s/%s", directory, name);
	command = ri_format("cc -O1 -g -pthread -D_GNU_SOURCE %s -o %s %s/heap_subject.c", flags,
			    output, dirname(source));
	status = system(command);
	free(command);
	free(source);
	return status;
}

static int set_up(void **state)
{
	const char *given = getenv("HEAP_SUBJECT");

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	if (compile("", program, "subject") || compile("-static", static_program, "static"))
		return -1;
	if (given) {
		unlink(program);
		snprintf(program, sizeof(program), "%s", given);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!getenv("HEAP_SUBJECT"))
		unlink(program);
	unlink(static_program);
	return rmdir(directory);
}

static void read_truth(struct subject *subject, FILE *in)
{
	char line[128];
	bool is_ready = false;

	while (!is_ready && fgets(line, sizeof(line), in)) {
		struct truth truth = { 0 };

		if (sscanf(line, "U %lx %lu %lu", &truth.addr, &truth.requested,
			   &truth.usable) == 3)
			*ri_push(&subject->live) = truth;
		else if (sscanf(line, "F %lx", &truth.addr) == 1)
			*ri_push(&subject->freed) = truth.addr;
		else if (sscanf(line, "D %lx", &truth.addr) == 1)
			subject->damaged = truth.addr;
		is_ready = !strcmp(line, "READY\n");
	}
	assert_true(is_ready);
}

/* Runs `path` with arguments and one environment variable (or null). */
static void start(struct subject *subject, const char *path, const char *environment,
		  const char *arguments)
{
	char *command = ri_format("exec %s %s", path, arguments);
	int ends[2];
	FILE *in;

	memset(subject, 0, sizeof(*subject));
	assert_int_equal(pipe(ends), 0);
	subject->pid = fork();
	if (!subject->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test does not kill it */
		if (environment)
			putenv((char *)(uintptr_t)environment);
		dup2(ends[1], 1);
		close(ends[0]);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	read_truth(subject, in);
	fclose(in);
	free(command);
	ri_gaps_init(&subject->gaps);
}

static void walk(struct subject *subject, bool with_modules)
{
	struct ri_target_live_options options = { 0 };
	struct ri_error *error;

	error = ri_target_open_live(subject->pid, &options, &subject->gaps, &subject->target);
	if (error)
		fail_msg("%s", error->message);
	if (with_modules) {
		struct ri_modules_options module_options = { 0 };

		error = ri_modules_create(subject->target, &module_options, &subject->gaps,
					  &subject->modules);
		if (error)
			fail_msg("%s", error->message);
	}
	ri_image_seal(subject->target->image);
	subject->heap = ri_heap_create(subject->target, subject->modules, &subject->gaps);
}

static void finish(struct subject *subject)
{
	ri_heap_destroy(subject->heap);
	ri_modules_destroy(subject->modules);
	ri_target_close(subject->target);
	ri_gaps_deinit(&subject->gaps);
	ri_vec_deinit(&subject->live);
	ri_vec_deinit(&subject->freed);
	kill(subject->pid, SIGKILL);
	waitpid(subject->pid, NULL, 0);
}

static void check_order(const struct ri_heap *heap)
{
	for (size_t i = 1; i < heap->block_count; i++)
		assert_true(heap->blocks[i].addr >=
			    heap->blocks[i - 1].addr + heap->blocks[i - 1].size_bytes);
	for (size_t i = 1; i < heap->region_count; i++)
		assert_true(heap->regions[i].start >= heap->regions[i - 1].end);
}

/* How many live blocks were not found as they are. */
static size_t count_wrong_live(const struct subject *subject)
{
	const struct ri_heap *heap = subject->heap;
	size_t wrong = 0;

	for (size_t i = 0; i < subject->live.count; i++) {
		const struct truth *truth = &subject->live.items[i];
		uint32_t b = ri_heap_find(heap, truth->addr);
		bool is_right = b != RI_NONE && heap->blocks[b].addr == truth->addr &&
				heap->blocks[b].state == RI_BLOCK_USED &&
				heap->blocks[b].size_bytes == truth->usable &&
				truth->usable >= truth->requested &&
				ri_heap_find_region(heap, truth->addr);

		if (!is_right && wrong < 5)
			print_message("live %lx usable %lu: block %d addr %lx size %lu state %d\n",
				      truth->addr, truth->usable, (int)b,
				      b == RI_NONE ? 0 : heap->blocks[b].addr,
				      b == RI_NONE ? 0 : (uint64_t)heap->blocks[b].size_bytes,
				      b == RI_NONE ? -1 : (int)heap->blocks[b].state);
		wrong += !is_right;
	}
	return wrong;
}

static int compare_addr(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* How many freed blocks lie in a used block that is not a live one. */
static size_t count_wrong_freed(const struct subject *subject)
{
	const struct ri_heap *heap = subject->heap;
	uint64_t *live = ri_calloc(subject->live.count, sizeof(*live));
	size_t wrong = 0;

	for (size_t i = 0; i < subject->live.count; i++)
		live[i] = subject->live.items[i].addr;
	qsort(live, subject->live.count, sizeof(*live), compare_addr);
	for (size_t i = 0; i < subject->freed.count; i++) {
		uint32_t b = ri_heap_find(heap, subject->freed.items[i]);
		uint64_t addr = b == RI_NONE ? 0 : heap->blocks[b].addr;

		if (b == RI_NONE || heap->blocks[b].state != RI_BLOCK_USED ||
		    bsearch(&addr, live, subject->live.count, sizeof(*live), compare_addr))
			continue;
		if (wrong++ < 5)
			print_message("freed %lx is in used block %lx size %lu\n",
				      subject->freed.items[i], addr,
				      (uint64_t)heap->blocks[b].size_bytes);
	}
	free(live);
	return wrong;
}

static void print_damages(const struct ri_heap *heap)
{
	for (size_t i = 0; i < heap->damage_count; i++)
		print_message("damage at %lx, neighbour %lx: %s\n", heap->damages[i].addr,
			      heap->damages[i].neighbour, heap->damages[i].what);
}

static void check_all_right(const struct subject *subject)
{
	const struct ri_heap *heap = subject->heap;

	check_order(heap);
	assert_int_equal(count_wrong_live(subject), 0);
	assert_int_equal(count_wrong_freed(subject), 0);
	assert_true(heap->used_count >= subject->live.count);
	assert_in_range(heap->used_count - subject->live.count, 0, UNEXPLAINED_MAX);
	print_damages(heap);
	assert_int_equal(heap->damage_count, 0);
	assert_null(heap->foreign_allocator);
	assert_string_equal(heap->allocator, "glibc 64-bit");
}

static void expect_right(const char *path, const char *environment, const char *arguments,
			 bool with_modules)
{
	struct subject subject;

	start(&subject, path, environment, arguments);
	walk(&subject, with_modules);
	print_message("%s %s: %zu live, %zu blocks, %lu used, %lu arenas, %zu regions\n",
		      environment ? environment : "", arguments, subject.live.count,
		      subject.heap->block_count, subject.heap->used_count,
		      subject.heap->arena_count, subject.heap->region_count);
	check_all_right(&subject);
	finish(&subject);
}

static void one_thread(void **state)
{
	(void)state;
	expect_right(program, NULL, "1 4000 0", false);
	expect_right(program, NULL, "2 40000 0", false);
}

static void one_thread_with_modules(void **state)
{
	(void)state;
	expect_right(program, NULL, "3 4000 0", true);
}

static void many_threads(void **state)
{
	(void)state;
	expect_right(program, NULL, "4 4000 12", false);
	expect_right(program, NULL, "5 20000 7", true);
}

static void several_heaps_per_arena(void **state)
{
	(void)state;
	expect_right(program, NULL, "6 2000 2 large", false);
}

static void limited_arenas(void **state)
{
	(void)state;
	expect_right(program, "MALLOC_ARENA_MAX=1", "7 4000 4", false);
	expect_right(program, "MALLOC_ARENA_MAX=2", "8 4000 6", false);
}

static void tunables(void **state)
{
	(void)state;
	expect_right(program, "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", "9 4000 3", false);
	expect_right(program, "GLIBC_TUNABLES=glibc.malloc.tcache_count=100", "10 9000 3", false);
	expect_right(program, "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096", "11 4000 2",
		     false);
	expect_right(program, "MALLOC_PERTURB_=165", "12 4000 3", false);
}

static void static_executable(void **state)
{
	(void)state;
	expect_right(static_program, NULL, "13 4000 0", false);
	expect_right(static_program, NULL, "14 4000 5", true);
}

static void trimmed(void **state)
{
	(void)state;
	expect_right(program, NULL, "15 4000 3 trim", false);
}

static void foreign_brk(void **state)
{
	(void)state;
	expect_right(program, NULL, "16 4000 1 brk", false);
	expect_right(static_program, NULL, "17 4000 0 brk", false);
}

static void failing_brk(void **state)
{
	(void)state;
	expect_right(program, NULL, "18 30000 0 nobrk", false);
	expect_right(program, NULL, "19 30000 3 nobrk", true);
}

/* Only blocks in the damaged range may be missed, and none but it is damaged. */
static void expect_damage(const char *arguments, size_t wrong_live_max, const char *what,
			  uint64_t offset)
{
	struct subject subject;

	start(&subject, program, NULL, arguments);
	walk(&subject, false);
	check_order(subject.heap);
	print_message("%s: damaged %lx\n", arguments, subject.damaged);
	print_damages(subject.heap);
	assert_int_equal(subject.heap->damage_count, 1);
	assert_int_equal(subject.heap->damages[0].addr, subject.damaged - offset);
	assert_non_null(strstr(subject.heap->damages[0].what, what));
	assert_in_range(count_wrong_live(&subject), 0, wrong_live_max);
	assert_int_equal(count_wrong_freed(&subject), 0);
	finish(&subject);
}

static void overwritten_header(void **state)
{
	(void)state;
	expect_damage("20 3000 0 damage-size", 1, "overwritten", 16);
	expect_damage("21 3000 2 damage-size", 1, "overwritten", 16);
}

static void size_that_leads_astray(void **state)
{
	(void)state;
	expect_damage("22 3000 0 damage-grown", 1, "does not lead", 16);
	expect_damage("23 3000 2 damage-grown", 1, "does not lead", 16);
}

static void use_after_free(void **state)
{
	(void)state;
	expect_damage("24 3000 0 damage-freed", 0, "written to after", 16);
	expect_damage("25 3000 2 damage-fast", 0, "written to after", 16);
	expect_damage("26 3000 0 damage-binned", 0, "do not point back", 16);
}

static void double_free(void **state)
{
	(void)state;
	expect_damage("27 3000 0 damage-twice", 0, "freed twice", 16);
}

/* The program's memory again, with its own copy of what is writable. */
static struct ri_target *copy_target(const struct ri_target *from, uint8_t **ret_words,
				     size_t *ret_size)
{
	struct ri_target *copy = ri_calloc(1, sizeof(*copy));
	size_t count, size = 0, done = 0;
	const struct ri_range *ranges = ri_image_ranges(from->image, &count);
	uint8_t *bytes;

	copy->kind = RI_TARGET_CORE;
	copy->image = ri_image_create();
	for (size_t i = 0; i < count; i++)
		if (ranges[i].bytes && ranges[i].flags & RI_RANGE_WRITE)
			size += ranges[i].end - ranges[i].start;
	bytes = ri_malloc(size);
	for (size_t i = 0; i < count; i++) {
		struct ri_range range = ranges[i];
		size_t range_size = range.end - range.start;

		if (range.bytes && range.flags & RI_RANGE_WRITE) {
			memcpy(bytes + done, range.bytes, range_size);
			range.bytes = bytes + done;
			done += range_size;
		}
		ri_image_add(copy->image, &range);
	}
	ri_image_seal(copy->image);
	*ret_words = bytes;
	*ret_size = size;
	return copy;
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A word that a damaged image may hold: a bit off, small, huge, or an address. */
static uint64_t twist(uint64_t word, const uint8_t *bytes, size_t size)
{
	switch (next_random() % 6) {
	case 0:
		return word ^ 1ull << next_random() % 64;
	case 1:
		return next_random() % 4096;
	case 2:
		return next_random();
	case 3:
		return word + (next_random() % 64 - 32) * 16;
	case 4:
		return 0;
	default:
		memcpy(&word, bytes + next_random() % (size / 8) * 8, 8);
		return word;
	}
}

static void walk_twisted(struct ri_target *target, uint8_t *bytes, size_t size)
{
	struct change { size_t offset; uint64_t word; } changes[64];
	size_t count = 1 + next_random() % 64;
	struct ri_gaps gaps;
	struct ri_heap *heap;

	for (size_t i = 0; i < count; i++) {
		uint64_t word;

		/* Mostly words that say something; memory is largely zeros. */
		for (int tries = 0; tries < 64; tries++) {
			changes[i].offset = next_random() % (size / 8) * 8;
			memcpy(&changes[i].word, bytes + changes[i].offset, 8);
			if (changes[i].word && changes[i].word != 0x5a5a5a5a5a5a5a5a)
				break;
		}
		word = twist(changes[i].word, bytes, size);
		memcpy(bytes + changes[i].offset, &word, 8);
	}
	ri_gaps_init(&gaps);
	heap = ri_heap_create(target, NULL, &gaps);
	check_order(heap);
	for (size_t i = 0; i < heap->block_count; i += 97)
		assert_int_equal(ri_heap_find(heap, heap->blocks[i].addr), i);
	ri_heap_destroy(heap);
	ri_gaps_deinit(&gaps);
	while (count--)
		memcpy(bytes + changes[count].offset, &changes[count].word, 8);
}

static void random_damage_ends(const char *arguments, unsigned rounds)
{
	struct subject subject;
	struct ri_target *copy;
	uint8_t *bytes;
	size_t size;

	start(&subject, program, NULL, arguments);
	walk(&subject, false);
	copy = copy_target(subject.target, &bytes, &size);
	while (rounds--)
		walk_twisted(copy, bytes, size);
	/* All changes were taken back: the copy is as good as the process. */
	ri_heap_destroy(subject.heap);
	subject.heap = ri_heap_create(copy, NULL, &subject.gaps);
	assert_int_equal(count_wrong_live(&subject), 0);
	assert_int_equal(count_wrong_freed(&subject), 0);
	ri_target_close(copy);
	free(bytes);
	finish(&subject);
}

static void random_damage(void **state)
{
	(void)state;
	random_damage_ends("28 1000 0", 300);
	random_damage_ends("29 1000 3", 300);
	random_damage_ends("30 9000 1 nobrk", 30);
}

/* An arena whose heap_info was overwritten is found over the other arenas. */
static void damaged_heap_info(void **state)
{
	struct subject subject;
	struct ri_target *copy;
	const uint64_t *size_at = NULL;
	uint64_t addr = 0;
	uint8_t *bytes;
	size_t size;

	(void)state;
	start(&subject, program, NULL, "31 1000 2");
	walk(&subject, false);
	copy = copy_target(subject.target, &bytes, &size);
	for (size_t i = 0; i < subject.heap->region_count && !addr; i++)
		if (subject.heap->regions[i].start % (64u << 20) == 0)
			addr = subject.heap->regions[i].start;
	assert_true(addr);
	size_at = (const uint64_t *)(const void *)ri_image_peek(copy->image, addr + 16, 8);
	memset((void *)(uintptr_t)size_at, 0x41, 8);
	ri_heap_destroy(subject.heap);
	subject.heap = ri_heap_create(copy, NULL, &subject.gaps);
	print_damages(subject.heap);
	assert_int_equal(count_wrong_live(&subject), 0);
	assert_int_equal(count_wrong_freed(&subject), 0);
	assert_int_equal(subject.heap->damage_count, 1);
	assert_int_equal(subject.heap->damages[0].addr, addr);
	ri_target_close(copy);
	free(bytes);
	finish(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(one_thread_with_modules),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(several_heaps_per_arena),
		cmocka_unit_test(limited_arenas),
		cmocka_unit_test(tunables),
		cmocka_unit_test(static_executable),
		cmocka_unit_test(trimmed),
		cmocka_unit_test(foreign_brk),
		cmocka_unit_test(failing_brk),
		cmocka_unit_test(overwritten_header),
		cmocka_unit_test(size_that_leads_astray),
		cmocka_unit_test(use_after_free),
		cmocka_unit_test(double_free),
		cmocka_unit_test(damaged_heap_info),
		cmocka_unit_test(random_damage),
	};

	if (getenv("TEST_FILTER"))
		cmocka_set_test_filter(getenv("TEST_FILTER"));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
