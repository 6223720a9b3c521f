/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores of live processes: the tool that writes them (tests/tools/coremaker)
 * and the reader, against the live image of the same process while it stands.
 */
#include <errno.h>

#include "live_child.h"

#define PAGE 4096u
#define MAGIC 0xfedcba9876543210ull

/* AddressSanitizer marks much of its own memory as not to be dumped. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#define HAS_SANITIZER __has_feature(address_sanitizer)
#else
#define HAS_SANITIZER 0
#endif

static uint64_t data_word = 1, bss_words[2 * PAGE];

static void *wait_for_ever(void *data)
{
	struct shared *shared = data;
	uint64_t on_stack = MAGIC + 4;

	shared->addrs[3] = (uintptr_t)&on_stack;
	__asm__ volatile("" :: "r"(&on_stack) : "memory");
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

/* Memory of each kind; then a stop, so that all pictures are of one moment. */
static void hold_state(struct shared *shared)
{
	int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint64_t *heap = malloc(1000), *anonymous = mmap(NULL, 16 * PAGE, access, flags, -1, 0);
	uint64_t *marked = mmap(NULL, 16 * PAGE, access, flags, -1, 0);
	uint64_t *untouched = mmap(NULL, 16 * PAGE, access, flags, -1, 0);

	/* neighbours with equal flags would become one mapping */
	mprotect(untouched, PAGE, PROT_READ);
	madvise(marked, 16 * PAGE, MADV_DONTDUMP);
	data_word = MAGIC;
	bss_words[PAGE] = MAGIC + 1;
	heap[1] = MAGIC + 2;
	anonymous[5 * PAGE / 8] = MAGIC + 3;
	marked[0] = MAGIC + 5;
	shared->addrs[0] = (uintptr_t)&heap[1];
	shared->addrs[1] = (uintptr_t)&anonymous[5 * PAGE / 8];
	shared->addrs[2] = (uintptr_t)&untouched[8 * PAGE / 8];
	shared->addrs[4] = (uintptr_t)marked;
	start_thread(wait_for_ever, shared);
	start_thread(wait_for_ever, shared);
	while (shared->ready < 2)
		usleep(1000);
	raise(SIGSTOP);
}

static struct child start_stopped_child(void)
{
	struct child child = start_child(hold_state, 2);

	WAIT_UNTIL(state_of(child.pid) == 'T');
	return child;
}

/* Runs the tool with `options` (may be ""); returns the core's path, to free. */
static char *make_core(pid_t pid, const char *options)
{
	char self[4096] = "", command[8192], *core = strdup("/tmp/ri-coremaker-XXXXXX"), *slash;
	int fd = mkstemp(core);

	assert_true(fd >= 0);
	close(fd);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	slash = strrchr(self, '/');
	assert_non_null(slash);
	*slash = '\0';
	snprintf(command, sizeof(command), "'%s/../tools/coremaker' %s %d %s", self, options,
		 (int)pid, core);
	assert_int_equal(system(command), 0);
	return core;
}

static struct ri_target *open_core(const char *path, struct ri_gaps *gaps)
{
	struct ri_target *target = NULL;
	struct ri_error *error;

	ri_gaps_init(gaps);
	error = ri_target_open_core(path, gaps, &target);
	if (error)
		fail_msg("%s", error->message);
	return target;
}

static void remove_core(char *path)
{
	unlink(path);
	free(path);
}

static void assert_word(const struct ri_target *target, uint64_t addr, uint64_t expected)
{
	uint64_t value;

	assert_true(ri_image_read_u64(target->image, addr, &value));
	assert_true(value == expected);
}

/* Every byte that both have is the same; returns how many bytes that are. */
static uint64_t compare_images(const struct ri_image *live, const struct ri_image *core)
{
	uint64_t compared = 0;
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(core, &count);

	for (size_t i = 0; i < count; i++) {
		for (uint64_t addr = ranges[i].start; ranges[i].bytes && addr < ranges[i].end;
		     addr += PAGE) {
			const uint8_t *ours = ri_image_peek(core, addr, PAGE);
			const uint8_t *theirs = ri_image_peek(live, addr, PAGE);

			if (!theirs)
				continue;
			assert_memory_equal(ours, theirs, PAGE);
			compared += PAGE;
		}
	}
	return compared;
}

/* What was written privately in the live image is in the core. */
static void assert_written_memory_is_there(const struct ri_image *live,
					   const struct ri_image *core, uint64_t marked)
{
	const uint32_t wanted = RI_RANGE_WRITE | RI_RANGE_ANONYMOUS;
	static const uint8_t zeros[PAGE];
	size_t count;
	const struct ri_range *ranges = ri_image_ranges(live, &count);

	for (size_t i = 0; i < count; i++) {
		if (!ranges[i].bytes || (ranges[i].flags & wanted) != wanted)
			continue;
		for (uint64_t addr = ranges[i].start; addr < ranges[i].end; addr += PAGE)
			if (memcmp(ri_image_peek(live, addr, PAGE), zeros, PAGE) &&
			    (addr < marked || addr >= marked + 16 * PAGE))
				assert_non_null(ri_image_peek(core, addr, PAGE));
	}
}

static void compare_threads(const struct ri_target *live, const struct ri_target *core)
{
	assert_int_equal(live->thread_count, core->thread_count);
	for (size_t i = 0; i < live->thread_count; i++) {
		const struct ri_thread *a = &live->threads[i];
		const struct ri_thread *b = find_thread(core, a->tid);

		assert_memory_equal(a->registers, b->registers, sizeof(a->registers));
		assert_int_equal(a->vector_size_bytes, b->vector_size_bytes);
		assert_memory_equal(a->vector, b->vector, a->vector_size_bytes);
	}
}

static void compare_mappings(const struct ri_target *live, const struct ri_target *core)
{
	for (size_t i = 0; i < live->mapping_count; i++) {
		const struct ri_mapping *a = &live->mappings[i];
		const struct ri_mapping *b = ri_target_find_mapping(core, a->start);

		assert_non_null(b);
		assert_int_equal(a->end, b->end);
		assert_int_equal(a->flags, b->flags);
		if (!(a->flags & RI_RANGE_ANONYMOUS)) {
			assert_string_equal(a->path, b->path);
			assert_int_equal(a->file_offset, b->file_offset);
		}
	}
	assert_int_equal(live->mapping_count, core->mapping_count);
}

static void assert_core_equals_live(const char *options)
{
	struct child child = start_stopped_child();
	struct ri_gaps live_gaps, core_gaps;
	struct ri_target *live = open_live(child.pid, NULL, &live_gaps);
	char *path = make_core(child.pid, options);
	struct ri_target *core = open_core(path, &core_gaps);

	assert_int_equal(live_gaps.count, 0);
	assert_int_equal(core_gaps.count, 0);
	assert_true(compare_images(live->image, core->image) > 50 * PAGE);
	if (!HAS_SANITIZER)
		assert_written_memory_is_there(live->image, core->image, child.shared->addrs[4]);
	compare_threads(live, core);
	compare_mappings(live, core);
	assert_int_equal(core->pid, child.pid);
	assert_string_equal(core->command, live->command);
	assert_int_equal(core->auxv_entry, live->auxv_entry);
	assert_int_equal(core->auxv_sysinfo_ehdr, live->auxv_sysinfo_ehdr);
	assert_int_equal(core->signal, 11);
	assert_word(core, (uintptr_t)&data_word, MAGIC);
	assert_word(core, (uintptr_t)&bss_words[PAGE], MAGIC + 1);
	assert_word(core, child.shared->addrs[0], MAGIC + 2);
	assert_word(core, child.shared->addrs[1], MAGIC + 3);
	assert_word(core, child.shared->addrs[3], MAGIC + 4);
	assert_int_equal(ri_image_find(core->image, child.shared->addrs[2])->kind,
			 RI_RANGE_UNTOUCHED);
	assert_int_equal(ri_image_find(core->image, child.shared->addrs[4])->kind,
			 RI_RANGE_UNTOUCHED); /* MADV_DONTDUMP cannot be told from it */
	close_live(live, &live_gaps);
	close_live(core, &core_gaps);
	remove_core(path);
	assert_int_equal(state_of(child.pid), 'T');
	end_child(&child);
}

static void kernel_shaped_core_equals_live(void **state)
{
	(void)state;
	assert_core_equals_live("--signal 11");
}

static void gdb_shaped_core_equals_live(void **state)
{
	(void)state;
	assert_core_equals_live("--signal 11 --gdb-shape");
}

static void truncated_core_is_told(void **state)
{
	struct child child = start_stopped_child();
	char *path = make_core(child.pid, "--truncate 60");
	struct ri_gaps gaps;
	struct ri_target *core = open_core(path, &gaps);

	(void)state;
	assert_true(core->missing_percent > 30 && core->missing_percent < 50);
	assert_true(ri_gaps_has_serious(&gaps));
	assert_int_equal(core->thread_count, 3);
	assert_int_equal(core->signal, 0);
	close_live(core, &gaps);
	remove_core(path);
	end_child(&child);
}

static void dropped_memory_looks_untouched(void **state)
{
	struct child child = start_stopped_child();
	char *path = make_core(child.pid, "--drop-anon");
	struct ri_gaps gaps;
	struct ri_target *core = open_core(path, &gaps);

	(void)state;
	assert_int_equal(gaps.count, 0);
	assert_word(core, (uintptr_t)&data_word, MAGIC);
	assert_word(core, (uintptr_t)&bss_words[PAGE], MAGIC + 1);
	assert_word(core, child.shared->addrs[1], 0);
	assert_word(core, child.shared->addrs[3], MAGIC + 4);
	assert_int_equal(ri_image_find(core->image, child.shared->addrs[1])->kind,
			 RI_RANGE_UNTOUCHED);
	close_live(core, &gaps);
	remove_core(path);
	end_child(&child);
}

/* How often `word` occurs in what the command prints; -1: it does not run. */
static int count_in_output(const char *command, const char *word)
{
	char line[4096];
	int count = 0;
	FILE *output = popen(command, "r");

	assert_non_null(output);
	while (fgets(line, sizeof(line), output))
		count += strstr(line, word) != NULL;
	return pclose(output) ? -1 : count;
}

static void other_tools_can_read_the_core(void **state)
{
	struct child child = start_stopped_child();
	char command[256];

	(void)state;
	for (int gdb_shape = 0; gdb_shape < 2; gdb_shape++) {
		char *path = make_core(child.pid, gdb_shape ? "--gdb-shape" : "");

		if (system("command -v eu-readelf >/dev/null") == 0) {
			snprintf(command, sizeof(command), "eu-readelf -n %s 2>&1", path);
			assert_int_equal(count_in_output(command, " PRSTATUS"), 3);
		}
		if (system("command -v gdb >/dev/null") == 0) {
			snprintf(command, sizeof(command),
				 "gdb -nx -batch -ex 'thread 3' -ex 'x/gx %p' /proc/%d/exe %s 2>&1",
				 (void *)&data_word, (int)getpid(), path);
			assert_int_equal(count_in_output(command, "0xfedcba9876543210"), 1);
		}
		remove_core(path);
	}
	end_child(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_shaped_core_equals_live),
		cmocka_unit_test(gdb_shaped_core_equals_live),
		cmocka_unit_test(truncated_core_is_told),
		cmocka_unit_test(dropped_memory_looks_untouched),
		cmocka_unit_test(other_tools_can_read_the_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
