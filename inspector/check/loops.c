/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breaking loops: see loops.h.
 *
 * Edges.  However the nodes are put in a row, without the edges that lead backward there is
 * no loop.  Small graphs get the best row, by dynamic programming over the sets of nodes
 * that stand in front (2^n sets, n^2 steps each): no smaller set of edges exists.  Larger
 * ones get the back edges of a depth-first search, the best one of those from every node
 * where that is cheap, else the one from the node with the most edges both ways.
 *
 * Classes.  Sets of classes are tried by their size, each with one pass over the edges;
 * where there are too many classes for all sets, classes are left in one by one, those with
 * the most edges first, as long as no loop comes with them.
 */
#include "check/loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "heap/heap.h"

#define EXACT_NODES 14
#define EXACT_CLASSES 10
#define SMALL_NODES 64
#define SMALL_EDGES 512
#define FIXED_COST 1000u /* avoided where there is another way */

/* first[n] .. first[n + 1): the edges of node n; a new array. */
static uint32_t *index_edges(const struct ri_loops *loops)
{
	uint32_t *first = ri_calloc(loops->node_count + 1ul, sizeof(*first));
	size_t e = 0;

	for (uint32_t n = 0; n < loops->node_count; n++) {
		first[n] = (uint32_t)e;
		while (e < loops->edge_count && loops->edges[e].source == n)
			e++;
	}
	first[loops->node_count] = (uint32_t)e;
	return first;
}

/*
 * Edges, exact
 */

/* best[S]: what the edges cost that lead backward among the nodes of S, which stand in
 * front; last[S]: the node that stands last among them. */
static void find_best_row(uint32_t node_count, const uint32_t *cost, uint32_t *best, uint8_t *last)
{
	best[0] = 0;
	for (uint32_t set = 1; set < 1u << node_count; set++) {
		best[set] = UINT32_MAX;
		for (uint32_t v = 0; v < node_count; v++) {
			uint32_t before = set & ~(1u << v), sum;

			if (before == set)
				continue;
			sum = best[before];
			for (uint32_t u = 0; u < node_count; u++)
				if (before >> u & 1)
					sum += cost[v * node_count + u];
			if (sum < best[set]) {
				best[set] = sum;
				last[set] = (uint8_t)v;
			}
		}
	}
}

static void choose_exactly(const struct ri_loops *loops, bool *ret)
{
	uint32_t n = loops->node_count, set = (1u << n) - 1;
	uint32_t cost[EXACT_NODES * EXACT_NODES] = { 0 }, rank[EXACT_NODES];
	uint32_t *best = ri_malloc((1ul << n) * sizeof(*best));
	uint8_t *last = ri_malloc(1ul << n);

	for (size_t e = 0; e < loops->edge_count; e++)
		cost[loops->edges[e].source * n + loops->edges[e].target] +=
			loops->edges[e].is_fixed ? FIXED_COST : 1;
	find_best_row(n, cost, best, last);
	for (uint32_t i = n; i-- > 0; set &= ~(1u << last[set]))
		rank[last[set]] = i;
	for (size_t e = 0; e < loops->edge_count; e++)
		ret[e] = rank[loops->edges[e].target] <= rank[loops->edges[e].source];
	free(best);
	free(last);
}

/*
 * Edges, by search
 */

enum colour { WHITE, GREY, BLACK };

struct search {
	uint32_t *first;         /* see index_edges() */
	uint8_t *colour;
	uint32_t *stack, *next;  /* nodes on the way, and each one's next edge */
};

/* Marks in back[] the edges that lead to a node on the way from `start`; returns their cost. */
static size_t find_back_edges(const struct ri_loops *loops, struct search *search, uint32_t start,
			      bool *back)
{
	size_t depth = 0, cost = 0;

	search->stack[depth] = start;
	search->next[depth++] = search->first[start];
	search->colour[start] = GREY;
	while (depth) {
		uint32_t node = search->stack[depth - 1];
		uint32_t e = search->next[depth - 1]++;
		uint32_t target;

		if (e >= search->first[node + 1]) {
			search->colour[node] = BLACK;
			depth--;
			continue;
		}
		target = loops->edges[e].target;
		if (search->colour[target] == GREY) {
			back[e] = true;
			cost += loops->edges[e].is_fixed ? FIXED_COST : 1;
		} else if (search->colour[target] == WHITE) {
			search->colour[target] = GREY;
			search->stack[depth] = target;
			search->next[depth++] = search->first[target];
		}
	}
	return cost;
}

/* The same from `start`, and from what that does not lead to. */
static size_t search_all(const struct ri_loops *loops, struct search *search, uint32_t start,
			 bool *back)
{
	size_t cost;

	memset(search->colour, WHITE, loops->node_count);
	memset(back, 0, loops->edge_count * sizeof(*back));
	cost = find_back_edges(loops, search, start, back);
	for (uint32_t n = 0; n < loops->node_count; n++)
		if (search->colour[n] == WHITE)
			cost += find_back_edges(loops, search, n, back);
	return cost;
}

/* The node with the most edges in the scarcer direction. */
static uint32_t busiest_node(const struct ri_loops *loops, const uint32_t *first)
{
	uint32_t *in = ri_calloc(loops->node_count, sizeof(*in));
	uint32_t best = 0, best_degree = 0;

	for (size_t e = 0; e < loops->edge_count; e++)
		in[loops->edges[e].target]++;
	for (uint32_t n = 0; n < loops->node_count; n++) {
		uint32_t out = first[n + 1] - first[n];
		uint32_t degree = in[n] < out ? in[n] : out;

		if (degree > best_degree) {
			best = n;
			best_degree = degree;
		}
	}
	free(in);
	return best;
}

static void choose_by_search(const struct ri_loops *loops, bool *ret)
{
	size_t count = loops->node_count, best_cost;
	struct search search = { index_edges(loops), ri_malloc(count),
				 ri_malloc(count * sizeof(uint32_t)),
				 ri_malloc(count * sizeof(uint32_t)) };
	bool *back = ri_malloc(loops->edge_count * sizeof(*back));

	best_cost = search_all(loops, &search, busiest_node(loops, search.first), ret);
	if (count <= SMALL_NODES && loops->edge_count <= SMALL_EDGES)
		for (uint32_t start = 0; start < count; start++) {
			size_t cost = search_all(loops, &search, start, back);

			if (cost < best_cost) {
				best_cost = cost;
				memcpy(ret, back, loops->edge_count * sizeof(*ret));
			}
		}
	free(search.first);
	free(search.colour);
	free(search.stack);
	free(search.next);
	free(back);
}

/* Takes `cost` off *steps where so many are left. */
static bool spend(uint64_t *steps, uint64_t cost)
{
	if (cost > *steps)
		return false;
	*steps -= cost;
	return true;
}

bool ri_loops_choose_edges(const struct ri_loops *loops, uint64_t *steps, bool *ret)
{
	uint64_t n = loops->node_count;
	bool is_exact = n <= EXACT_NODES && spend(steps, (n * n) << n);

	if (!loops->edge_count)
		return true;
	if (is_exact)
		choose_exactly(loops, ret);
	else
		choose_by_search(loops, ret);
	for (size_t e = 0; e < loops->edge_count; e++)
		ret[e] &= !loops->edges[e].is_fixed;
	return is_exact;
}

/*
 * Classes
 */

struct class {
	uint32_t index;
	uint64_t edge_count;
	bool is_out;
};

struct classes {
	struct class *items;     /* most edges first */
	size_t count;
	uint32_t *of_edge;       /* index into items[], or RI_NONE: fixed */
	uint32_t *first, *degree, *queue;
};

static int compare_classes(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	if (x->edge_count != y->edge_count)
		return x->edge_count < y->edge_count ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_indices(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void list_classes(const struct ri_loops *loops, struct classes *classes)
{
	size_t kept = 0;

	classes->items = ri_calloc(loops->edge_count, sizeof(*classes->items));
	for (size_t e = 0; e < loops->edge_count; e++)
		if (!loops->edges[e].is_fixed)
			classes->items[classes->count++].index = loops->edges[e].class_index;
	qsort(classes->items, classes->count, sizeof(*classes->items), compare_indices);
	for (size_t i = 0; i < classes->count; i++) {
		if (!kept || classes->items[kept - 1].index != classes->items[i].index)
			classes->items[kept++] = (struct class){ .index = classes->items[i].index };
		classes->items[kept - 1].edge_count++;
	}
	classes->count = kept;
	qsort(classes->items, kept, sizeof(*classes->items), compare_classes);
}

/* The few classes of a type graph are looked for one by one. */
static void number_edges(const struct ri_loops *loops, struct classes *classes)
{
	classes->of_edge = ri_malloc(loops->edge_count * sizeof(*classes->of_edge));
	for (size_t e = 0; e < loops->edge_count; e++) {
		classes->of_edge[e] = RI_NONE;
		for (size_t c = 0; !loops->edges[e].is_fixed && c < classes->count; c++)
			if (classes->items[c].index == loops->edges[e].class_index) {
				classes->of_edge[e] = (uint32_t)c;
				break;
			}
	}
}

/* Whether no loop is left without the classes that are out. */
static bool is_broken(const struct ri_loops *loops, struct classes *classes)
{
	size_t queued = 0;

	memset(classes->degree, 0, loops->node_count * sizeof(*classes->degree));
	for (size_t e = 0; e < loops->edge_count; e++)
		if (classes->of_edge[e] == RI_NONE || !classes->items[classes->of_edge[e]].is_out)
			classes->degree[loops->edges[e].target]++;
	for (uint32_t n = 0; n < loops->node_count; n++)
		if (!classes->degree[n])
			classes->queue[queued++] = n;
	for (size_t q = 0; q < queued; q++)
		for (uint32_t e = classes->first[classes->queue[q]];
		     e < classes->first[classes->queue[q] + 1]; e++)
			if ((classes->of_edge[e] == RI_NONE ||
			     !classes->items[classes->of_edge[e]].is_out) &&
			    !--classes->degree[loops->edges[e].target])
				classes->queue[queued++] = loops->edges[e].target;
	return queued == loops->node_count;
}

/* The smallest set of classes; of those of one size the one with the fewest edges. */
static bool choose_set(const struct ri_loops *loops, struct classes *classes)
{
	uint32_t best = UINT32_MAX;
	uint64_t best_edges = UINT64_MAX;

	for (int size = 1; size <= (int)classes->count && best == UINT32_MAX; size++)
		for (uint32_t set = 1; set < 1u << classes->count; set++) {
			uint64_t edges = 0;

			if (__builtin_popcount(set) != size)
				continue;
			for (size_t c = 0; c < classes->count; c++) {
				classes->items[c].is_out = set >> c & 1;
				if (classes->items[c].is_out)
					edges += classes->items[c].edge_count;
			}
			if (edges < best_edges && is_broken(loops, classes)) {
				best = set;
				best_edges = edges;
			}
		}
	for (size_t c = 0; c < classes->count; c++)
		classes->items[c].is_out = best >> c & 1;
	return best != UINT32_MAX;
}

static bool leave_in_one_by_one(const struct ri_loops *loops, struct classes *classes)
{
	for (size_t c = 0; c < classes->count; c++)
		classes->items[c].is_out = true;
	if (!is_broken(loops, classes))
		return false;
	for (size_t c = 0; c < classes->count; c++) {
		classes->items[c].is_out = false;
		classes->items[c].is_out = !is_broken(loops, classes);
	}
	return true;
}

uint32_t *ri_loops_choose_classes(const struct ri_loops *loops, uint64_t *steps,
				  bool *ret_is_exact, size_t *ret_count)
{
	uint64_t size = loops->edge_count + loops->node_count;
	struct classes classes = { 0 };
	uint32_t *chosen = NULL;
	bool has_set = false;

	*ret_count = 0;
	*ret_is_exact = false;
	if (!loops->edge_count)
		return NULL;
	list_classes(loops, &classes);
	classes.first = index_edges(loops);
	classes.degree = ri_malloc(loops->node_count * sizeof(*classes.degree));
	classes.queue = ri_malloc(loops->node_count * sizeof(*classes.queue));
	if (classes.count <= EXACT_CLASSES && spend(steps, size << classes.count)) {
		number_edges(loops, &classes);
		*ret_is_exact = has_set = choose_set(loops, &classes);
	} else if (spend(steps, size * classes.count)) {
		number_edges(loops, &classes);
		has_set = leave_in_one_by_one(loops, &classes);
	}
	if (has_set) {
		chosen = ri_malloc(classes.count * sizeof(*chosen));
		qsort(classes.items, classes.count, sizeof(*classes.items), compare_indices);
		for (size_t c = 0; c < classes.count; c++)
			if (classes.items[c].is_out)
				chosen[(*ret_count)++] = classes.items[c].index;
	}
	free(classes.items);
	free(classes.of_edge);
	free(classes.first);
	free(classes.degree);
	free(classes.queue);
	return chosen;
}
