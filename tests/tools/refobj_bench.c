/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What refobj_get() + refobj_put() cost against the bare pair of atomic
 * instructions that any reference count needs.  Prints the ratio of the medians;
 * it decides nothing, machines under load differ too much.
 *
 * The rounds of both are interleaved, so that a change of clock or load meets
 * both alike.  The objects are opaque to the compiler: neither loop may be
 * folded or hoisted.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "refobj.h"

enum { ROUNDS = 31, PAIRS = 1000000 };

struct thing {
	int payload;
	struct refobj ref;
};

static REFOBJ_TYPE(thing_type, "thing", struct thing, ref, NULL, NULL);

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double time_bare(int32_t *count)
{
	double start = seconds();

	for (int i = 0; i < PAIRS; i++) {
		__asm__ volatile("" : "+r"(count) : : "memory");
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
		if (__atomic_fetch_sub(count, 1, __ATOMIC_RELEASE) == 1)
			abort();
	}
	return seconds() - start;
}

static double time_refobj(struct refobj *object)
{
	double start = seconds();

	for (int i = 0; i < PAIRS; i++) {
		__asm__ volatile("" : "+r"(object) : : "memory");
		refobj_get(object);
		if (refobj_put(object))
			abort();
	}
	return seconds() - start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

int main(void)
{
	double bare[ROUNDS], ours[ROUNDS];
	struct thing thing;

	refobj_init(&thing.ref, &thing_type);
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = time_bare(&thing.ref.count);
		ours[i] = time_refobj(&thing.ref);
	}
	printf("bare atomic pair %.2f ns, refobj_get + refobj_put %.2f ns, ratio %.3f\n",
	       median(bare) * 1e9 / PAIRS, median(ours) * 1e9 / PAIRS, median(ours) / median(bare));
	return 0;
}
