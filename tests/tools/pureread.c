/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The yardstick of the benchmark: maps a file, adds up all its words in one
 * thread, first touch included, and prints how many seconds that took.
 *
 *	pureread FILE
 *
 * Nothing that looks at every byte of a core can be faster.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double start = now();
	const uint64_t *words;
	uint64_t sums[8] = { 0 };
	size_t count;
	struct stat st;
	int fd;

	if (argc != 2)
		errx(2, "usage: pureread FILE");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", argv[1]);
	words = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (words == MAP_FAILED)
		err(2, "%s", argv[1]);
	count = (size_t)st.st_size / sizeof(*words);
	for (size_t i = 0; i + 8 <= count; i += 8) /* as wide as the compiler can */
		for (size_t j = 0; j < 8; j++)
			sums[j] += words[i + j];
	for (size_t j = 1; j < 8; j++)
		sums[0] += sums[j];
	printf("%.6f seconds, sum %" PRIx64 "\n", now() - start, sums[0]);
	return 0;
}
