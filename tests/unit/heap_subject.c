/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program whose heap heap_glibc_test.c examines.  It allocates and frees in
 * the ways its arguments name, prints for each block whether it is alive
 *
 *     U ADDRESS REQUESTED USABLE
 *     F ADDRESS
 *
 * and where what it damaged lies (D ADDRESS), then READY, and waits to be killed.
 * The truth is kept outside the heap.
 *
 *     heap_subject SEED OPERATIONS THREADS WORD...
 *
 * Words: "damage-size" overwrites a chunk's size, "damage-grown" makes one lead
 * into the middle of a later chunk, "damage-freed" and "damage-fast" write to a
 * freed chunk in the tcache and in a fastbin, "damage-binned" in a bin,
 * "damage-twice" makes a list of freed chunks name one twice; "trim" trims first; "brk" takes
 * memory from brk behind malloc's back; "nobrk" makes brk fail half way; "large"
 * makes each thread allocate 80 MB.
 */
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS_MAX 400000

struct block {
	void *p;
	size_t requested; /* 0: freed */
	size_t usable;
};

static struct block blocks[BLOCKS_MAX];
static unsigned block_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t started, worked, ended;
static unsigned operations;
static int is_large;

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static size_t pick_size(uint32_t *random)
{
	switch (next_random(random) % 16) {
	case 0:
		return 1 + next_random(random) % 100000;
	case 1:
	case 2:
		return 1 + next_random(random) % 5000;
	case 3:
		return next_random(random) % 64 ? 640 : 150000 + next_random(random) % 900000;
	default:
		return 1 + next_random(random) % 200;
	}
}

static void *allocate(size_t size, uint32_t *random)
{
	void *p = NULL;

	switch (next_random(random) % 8) {
	case 0:
		return calloc(1, size);
	case 1:
		if (posix_memalign(&p, (size_t)16 << next_random(random) % 10, size))
			abort();
		return p;
	default:
		return malloc(size);
	}
}

static void remember(void *p, size_t size)
{
	pthread_mutex_lock(&lock);
	if (block_count == BLOCKS_MAX)
		abort();
	blocks[block_count++] = (struct block){ p, size, malloc_usable_size(p) };
	pthread_mutex_unlock(&lock);
}

/* Takes a block that any thread allocated, as its index; or -1. */
static int take_any(uint32_t *random)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (int tries = 0; tries < 8 && block_count && found < 0; tries++) {
		unsigned i = next_random(random) % block_count;

		if (blocks[i].requested && blocks[i].p) {
			found = (int)i;
			blocks[i].requested = 0;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void work(uint32_t seed, unsigned count)
{
	uint32_t random = seed;

	while (count--) {
		unsigned kind = next_random(&random) % 10;
		size_t size = pick_size(&random);
		int i;

		if (kind < 5) {
			void *p = allocate(size, &random);

			memset(p, 0x5a, size);
			remember(p, size);
			continue;
		}
		i = take_any(&random);
		if (i < 0)
			continue;
		if (kind == 5)
			remember(realloc(blocks[i].p, size), size);
		else
			free(blocks[i].p);
	}
}

static void *thread_main(void *data)
{
	uintptr_t number = (uintptr_t)data;

	pthread_barrier_wait(&started);
	/* More than one heap of 64 MiB holds. */
	for (int i = 0; is_large && i < 800; i++) {
		char *p = malloc(100000 + (size_t)i);

		p[i % 100] = 1;
		remember(p, 100000 + (size_t)i);
	}
	work((uint32_t)number * 7919, operations);
	pthread_barrier_wait(&worked);
	/* Every other thread ends; the rest keep their caches. */
	if (number % 2)
		return NULL;
	pthread_barrier_wait(&ended);
	for (;;)
		pause();
	return NULL;
}

static pthread_t threads[64];

/* Threads are started first, so that what libc allocates for them never takes
 * memory that was freed. */
static void start_threads(unsigned count)
{
	pthread_barrier_init(&started, NULL, count + 1);
	pthread_barrier_init(&worked, NULL, count + 1);
	pthread_barrier_init(&ended, NULL, count / 2 + 1);
	for (uintptr_t i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, thread_main, (void *)(i + 1));
}

static void run_threads(unsigned count)
{
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&worked);
	for (unsigned i = 0; i < count; i += 2)
		pthread_join(threads[i], NULL);
	pthread_barrier_wait(&ended);
}

/* Fills the tcache of several sizes and, behind it, the fastbins. */
static void fill_caches(void)
{
	for (size_t size = 24; size <= 1000; size += 96) {
		void *p[12];

		for (int i = 0; i < 12; i++) {
			p[i] = malloc(size);
			memset(p[i], 0x5a, size);
			remember(p[i], size);
		}
		for (int i = 0; i < 10; i++) {
			free(p[i]);
			blocks[block_count - 12 + (unsigned)i].requested = 0;
		}
	}
}

static void print_damaged(const void *p)
{
	printf("D %lx\n", (unsigned long)p);
}

static void forget(unsigned from_end)
{
	blocks[block_count - from_end].requested = 0;
}

static void damage(const char *word)
{
	char *p[24];
	size_t size = strcmp(word, "damage-binned") ? 104 : 2000;

	/* 24 chunks one behind the other */
	for (int i = 0; i < 24; i++) {
		p[i] = malloc(size);
		memset(p[i], 0x5a, size);
		remember(p[i], size);
		if (i && p[i] - p[i - 1] != (ptrdiff_t)((size + 23) & ~15ul)) {
			p[0] = p[i];
			i = 0;
		}
	}
	if (!strcmp(word, "damage-size")) {
		memset(p[10], 0x41, size + 16);
		print_damaged(p[10] + size + 8);
	} else if (!strcmp(word, "damage-grown")) {
		/* a size that leads into the middle of a later chunk */
		*(uint64_t *)(p[10] - 8) += 0x50 + 0x70 * 2;
		print_damaged(p[10]);
	} else if (!strcmp(word, "damage-binned")) {
		free(p[10]);
		forget(14);
		*(uint64_t *)p[10] += 16;
		print_damaged(p[10]);
	} else {
		/* 7 go to the tcache, the others to a fastbin */
		int end = !strcmp(word, "damage-fast") ? 14 : 7, hit = end - 3;

		for (int i = 0; i < end; i++) {
			free(p[i]);
			forget(24 - (unsigned)i);
		}
		if (!strcmp(word, "damage-twice")) {
			/* p[6] leads to p[5]: now to p[6] again */
			*(uint64_t *)p[hit] = (uint64_t)p[end - 1] ^ (uint64_t)p[hit] >> 12;
			print_damaged(p[end - 1]);
		} else {
			*(uint64_t *)p[hit] += 1;
			print_damaged(p[hit]);
		}
	}
}

static void refuse_brk(void)
{
	/* RLIMIT_DATA would stop mappings too; a page in the way stops brk. */
	if (mmap((void *)(((uintptr_t)sbrk(0) + 0x200000) & ~0xffful), 4096, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		abort();
}

int main(int argc, char **argv)
{
	unsigned thread_count;
	uint32_t seed;

	if (argc < 4)
		return 2;
	setvbuf(stdout, (char[1 << 16]){ 0 }, _IOFBF, 1 << 16);
	seed = (uint32_t)atoi(argv[1]);
	operations = (unsigned)atoi(argv[2]);
	thread_count = (unsigned)atoi(argv[3]);
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], "nobrk"))
			refuse_brk();
		else if (!strcmp(argv[i], "large"))
			is_large = 1;
	start_threads(thread_count);
	work(seed, operations / 2);
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], "brk"))
			memset(sbrk(50000), 0x33, 50000);
	work(seed + 1, operations / 2);
	run_threads(thread_count);
	fill_caches();
	for (int i = 4; i < argc; i++) {
		if (!strcmp(argv[i], "trim"))
			malloc_trim(0);
		if (!strncmp(argv[i], "damage", 6))
			damage(argv[i]);
	}
	for (unsigned i = 0; i < block_count; i++) {
		const struct block *b = &blocks[i];

		if (b->requested)
			printf("U %lx %zu %zu\n", (unsigned long)b->p, b->requested, b->usable);
		else if (b->p)
			printf("F %lx\n", (unsigned long)b->p);
	}
	printf("READY\n");
	fflush(stdout);
	for (;;)
		pause();
}
