/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominators of random graphs against what taking each node out shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "census/dominators.h"
#include "heap/heap.h"

#define NODES_MAX 24
#define EDGES_MAX 72

struct graph {
	uint32_t node_count, edge_count;
	uint32_t sources[EDGES_MAX], ends[EDGES_MAX];
};

/* What is reached from node 0 without passing `without` (RI_NONE: everything). */
static void reach(const struct graph *g, uint32_t without, bool *ret)
{
	bool changed = true;

	memset(ret, 0, NODES_MAX * sizeof(*ret));
	if (without == 0)
		return;
	ret[0] = true;
	while (changed) {
		changed = false;
		for (uint32_t e = 0; e < g->edge_count; e++)
			if (ret[g->sources[e]] && !ret[g->ends[e]] && g->ends[e] != without)
				ret[g->ends[e]] = changed = true;
	}
}

static uint32_t *find(const struct graph *g)
{
	uint32_t first[NODES_MAX + 1], targets[EDGES_MAX], count = 0;
	struct ri_flow flow = { g->node_count, first, targets };

	for (uint32_t n = 0; n < g->node_count; n++) {
		first[n] = count;
		for (uint32_t e = 0; e < g->edge_count; e++)
			if (g->sources[e] == n)
				targets[count++] = g->ends[e];
	}
	first[g->node_count] = count;
	return ri_dominators_find(&flow);
}

/* The immediate dominator is the strict one that all other strict ones dominate. */
static void expect_brute(const struct graph *g)
{
	static bool dominates[NODES_MAX][NODES_MAX];
	bool all[NODES_MAX], rest[NODES_MAX];
	uint32_t *found = find(g);

	reach(g, RI_NONE, all);
	for (uint32_t d = 0; d < g->node_count; d++) {
		reach(g, d, rest);
		for (uint32_t n = 0; n < g->node_count; n++)
			dominates[d][n] = all[n] && !rest[n];
	}
	for (uint32_t n = 0; n < g->node_count; n++) {
		uint32_t expected = RI_NONE;

		for (uint32_t d = 0; n && all[n] && d < g->node_count; d++)
			if (d != n && dominates[d][n] &&
			    (expected == RI_NONE || dominates[expected][d]))
				expected = d;
		assert_int_equal(found[n], expected);
	}
	free(found);
}

static void random_graphs(void **state)
{
	unsigned short seed[3] = { 7, 11, 13 };

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct graph g = { .node_count = 1 + (uint32_t)(nrand48(seed) % NODES_MAX) };

		g.edge_count = (uint32_t)(nrand48(seed) % (3 * g.node_count));
		for (uint32_t e = 0; e < g.edge_count; e++) {
			g.sources[e] = (uint32_t)(nrand48(seed) % g.node_count);
			g.ends[e] = (uint32_t)(nrand48(seed) % g.node_count);
		}
		expect_brute(&g);
	}
}

static void a_diamond_and_what_no_way_leads_to(void **state)
{
	const struct graph g = { 6, 6, { 0, 0, 1, 2, 3, 5 }, { 1, 2, 3, 3, 4, 4 } };
	uint32_t *found = find(&g);

	(void)state;
	assert_int_equal(found[0], RI_NONE);
	assert_int_equal(found[3], 0);
	assert_int_equal(found[4], 3);
	assert_int_equal(found[5], RI_NONE);
	free(found);
}

/* A path of a million nodes with an edge back and one ahead at each: no deep recursion. */
static void a_long_chain(void **state)
{
	enum { LENGTH = 1000000 };
	uint32_t *first = ri_malloc((LENGTH + 1) * sizeof(*first));
	uint32_t *targets = ri_malloc(3 * LENGTH * sizeof(*targets)), count = 0;
	struct ri_flow flow = { LENGTH, first, targets };
	uint32_t *found;

	(void)state;
	for (uint32_t n = 0; n < LENGTH; n++) {
		first[n] = count;
		if (n + 1 < LENGTH)
			targets[count++] = n + 1;
		if (n + 2 < LENGTH && n % 3 == 0)
			targets[count++] = n + 2;
		targets[count++] = n / 2;
	}
	first[LENGTH] = count;
	found = ri_dominators_find(&flow);
	/* n may be passed by where n % 3 is 1 */
	for (uint32_t n = 1; n < LENGTH; n++)
		assert_int_equal(found[n], n % 3 == 2 ? n - 2 : n - 1);
	free(found);
	free(first);
	free(targets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs),
		cmocka_unit_test(a_diamond_and_what_no_way_leads_to),
		cmocka_unit_test(a_long_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
