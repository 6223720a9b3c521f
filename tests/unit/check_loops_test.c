/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets that break every loop of random graphs, against trying all sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/loops.h"

#define NODES_MAX 7
#define EDGES_MAX 12

struct graph {
	struct ri_loop_edge edges[EDGES_MAX];
	struct ri_loops loops;
};

static int compare_edges(const void *a, const void *b)
{
	const struct ri_loop_edge *x = a, *y = b;

	return (x->source > y->source) - (x->source < y->source);
}

static void make_graph(struct graph *g, unsigned short *seed)
{
	uint32_t nodes = 1 + (uint32_t)(nrand48(seed) % NODES_MAX);
	size_t edges = 1 + (size_t)(nrand48(seed) % EDGES_MAX);

	for (size_t e = 0; e < edges; e++)
		g->edges[e] = (struct ri_loop_edge){
			.source = (uint32_t)(nrand48(seed) % nodes),
			.target = (uint32_t)(nrand48(seed) % nodes),
			.class_index = (uint32_t)(nrand48(seed) % 4),
			.is_fixed = nrand48(seed) % 8 == 0,
		};
	qsort(g->edges, edges, sizeof(*g->edges), compare_edges);
	g->loops = (struct ri_loops){ nodes, g->edges, edges };
}

/* Whether the edges that `out` leaves make no loop: nodes without a way in are taken off. */
static bool is_loop_free(const struct ri_loops *loops, const bool *out)
{
	bool is_off[NODES_MAX] = { false }, changed = true;

	while (changed) {
		changed = false;
		for (uint32_t n = 0; n < loops->node_count; n++) {
			bool has_in = false;

			for (size_t e = 0; e < loops->edge_count; e++)
				has_in |= !out[e] && loops->edges[e].target == n &&
					  !is_off[loops->edges[e].source];
			if (!is_off[n] && !has_in)
				is_off[n] = changed = true;
		}
	}
	for (uint32_t n = 0; n < loops->node_count; n++)
		if (!is_off[n])
			return false;
	return true;
}

static bool fixed_loop(const struct ri_loops *loops)
{
	bool out[EDGES_MAX];

	for (size_t e = 0; e < loops->edge_count; e++)
		out[e] = !loops->edges[e].is_fixed;
	return !is_loop_free(loops, out);
}

/* The least number of edges, or of classes, without which there is no loop. */
static int least(const struct ri_loops *loops, bool by_class)
{
	int best = 99;

	for (uint32_t set = 0; set < 1u << (by_class ? 4 : loops->edge_count); set++) {
		bool out[EDGES_MAX];

		for (size_t e = 0; e < loops->edge_count; e++)
			out[e] = !loops->edges[e].is_fixed &&
				 set >> (by_class ? loops->edges[e].class_index : e) & 1;
		if (__builtin_popcount(set) < best && is_loop_free(loops, out))
			best = __builtin_popcount(set);
	}
	return best;
}

static int count_true(const bool *items, size_t count)
{
	int sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += items[i];
	return sum;
}

static void sets_of_edges_are_smallest(void **state)
{
	unsigned short seed[3] = { 1, 2, 3 };

	(void)state;
	for (int round = 0; round < 600; round++) {
		bool out[EDGES_MAX] = { false };
		uint64_t steps = 1u << 30;
		struct graph g;

		make_graph(&g, seed);
		if (fixed_loop(&g.loops))
			continue;
		assert_true(ri_loops_choose_edges(&g.loops, &steps, out));
		assert_true(is_loop_free(&g.loops, out));
		assert_int_equal(count_true(out, g.loops.edge_count), least(&g.loops, false));
	}
}

static void a_search_breaks_all_loops_too(void **state)
{
	unsigned short seed[3] = { 4, 5, 6 };

	(void)state;
	for (int round = 0; round < 600; round++) {
		bool out[EDGES_MAX] = { false };
		uint64_t steps = 0;
		struct graph g;

		make_graph(&g, seed);
		for (size_t e = 0; e < g.loops.edge_count; e++)
			g.edges[e].is_fixed = false;
		assert_false(ri_loops_choose_edges(&g.loops, &steps, out));
		assert_true(is_loop_free(&g.loops, out));
	}
}

static void sets_of_classes_are_smallest(void **state)
{
	unsigned short seed[3] = { 7, 8, 9 };

	(void)state;
	for (int round = 0; round < 600; round++) {
		uint64_t steps = 1u << 30;
		bool is_exact;
		size_t count;
		uint32_t *classes;
		struct graph g;

		make_graph(&g, seed);
		classes = ri_loops_choose_classes(&g.loops, &steps, &is_exact, &count);
		if (fixed_loop(&g.loops)) {
			assert_null(classes);
		} else if (least(&g.loops, true)) {
			bool out[EDGES_MAX] = { false };

			for (size_t e = 0; e < g.loops.edge_count; e++)
				for (size_t c = 0; c < count; c++)
					out[e] |= !g.edges[e].is_fixed &&
						  g.edges[e].class_index == classes[c];
			assert_true(is_exact);
			assert_int_equal(count, least(&g.loops, true));
			assert_true(is_loop_free(&g.loops, out));
		}
		free(classes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_of_edges_are_smallest),
		cmocka_unit_test(a_search_breaks_all_loops_too),
		cmocka_unit_test(sets_of_classes_are_smallest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
