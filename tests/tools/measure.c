/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a command and appends a line about it to a file:
 *
 *	measure FILE COMMAND [ARGUMENT...]
 *	"WALL-SECONDS CPU-SECONDS PEAK-RSS-BYTES STATUS"
 *
 * CPU time and peak RSS are those of the command and of all that it waited for; the
 * peak is the largest single process's.  The exit status is the command's.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	double start = now(), wall;
	FILE *file;
	int status;
	pid_t child;

	if (argc < 3)
		errx(2, "usage: measure FILE COMMAND [ARGUMENT...]");
	child = fork();
	if (child < 0)
		err(2, "fork");
	if (!child) {
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	if (wait4(child, &status, 0, &usage) != child)
		err(2, "wait4");
	wall = now() - start;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	file = fopen(argv[1], "a");
	if (!file || fprintf(file, "%.6f %.6f %lld %d\n", wall,
			     seconds(usage.ru_utime) + seconds(usage.ru_stime),
			     (long long)usage.ru_maxrss * 1024, status) < 0 || fclose(file))
		err(2, "%s", argv[1]);
	return status;
}
