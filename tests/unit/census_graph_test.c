/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reachability, cycles, leak roots and paths: on hand-made targets through the
 * census, and on random graphs against definitions that are written out naively.
 */
#include "holders_world.h"


static void take_graph(struct world *w)
{
	world_take_census(w);
	w->graph = ri_graph_create(w->holders, &w->population, &w->heap);
}

/* A static pointer to sessions at DATA + 0x100. */
static void add_variable(struct world *w)
{
	uint32_t shape = world_shape(w, "root", 8);

	world_slot(w, shape, 0, RI_SLOT_POINTER, "root", SESSION);
	*ri_push(&w->variables) =
		(struct ri_variable_span){ DATA + 0x100, 8, "root", NULL, shape };
}

/* Objects CONN, SESSION, CONN, ... at HEAP + 0x100, + 0x200, ... */
static void add_objects(struct world *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_block_object(w, HEAP + 0x100 * (i + 1ull), i % 2 ? SESSION : CONN);
}

static uint64_t addr_of(uint32_t object)
{
	return HEAP + 0x100 * (object + 1ull);
}

static void hold(struct world *w, uint32_t source, uint32_t target)
{
	poke(w, addr_of(source) + 16, addr_of(target));
}

#define ALL (RI_REACH_CERTAIN | RI_REACH_ANY | RI_REACH_GROUP)

static void levels_of_reachability(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	add_variable(&w);
	add_objects(&w, 9);
	poke(&w, DATA + 0x100, addr_of(1)); /* certain */
	hold(&w, 1, 2);
	poke(&w, SP, addr_of(3)); /* stack: possible */
	hold(&w, 3, 4);
	add_group(&w, "borrowing", addr_of(2) + 48, 2, RI_WEIGHT_FIXED, 0);
	add_member(&w, 5);
	hold(&w, 5, 6);
	poke(&w, addr_of(2) + 56, addr_of(7)); /* back: owns nothing, leads nowhere */
	take_graph(&w);
	assert_int_equal(w.graph->reach[1], ALL);
	assert_int_equal(w.graph->reach[2], ALL);
	assert_int_equal(w.graph->reach[3], RI_REACH_ANY | RI_REACH_GROUP);
	assert_int_equal(w.graph->reach[4], RI_REACH_ANY | RI_REACH_GROUP);
	assert_int_equal(w.graph->reach[5], RI_REACH_GROUP);
	assert_int_equal(w.graph->reach[6], RI_REACH_GROUP);
	assert_int_equal(w.graph->reach[7], 0);
	assert_int_equal(w.graph->reach[0], 0);
	assert_int_equal(w.graph->leak_root[1], RI_NONE);
	assert_int_equal(w.graph->leak_root[7], 7);
	assert_int_equal(w.graph->leak_root[0], 0);
	assert_int_equal(w.graph->leak_root[6], 5);
	assert_int_equal(w.graph->cycle_count, 0);
	world_deinit(&w);
}

static void marked_and_static_objects_are_roots(void **state)
{
	struct world w;
	uint64_t *path;
	size_t count;

	(void)state;
	world_init(&w);
	add_objects(&w, 2);
	add_object(&w, DATA + 0x200, CONN, RI_NONE, RI_OBJECT_STATIC);
	add_object(&w, SP + 0x40, CONN, RI_NONE, 0);
	w.objects.items[0].state = RI_OBJECT_NOT_LEAK;
	poke(&w, DATA + 0x200 + 16, addr_of(1));
	take_graph(&w);
	assert_int_equal(w.graph->reach[0], ALL);
	assert_int_equal(w.graph->reach[1], ALL);
	assert_int_equal(w.graph->reach[2], ALL);
	assert_int_equal(w.graph->reach[3], RI_REACH_ANY | RI_REACH_GROUP);
	path = ri_graph_path(w.holders, 1, 0, &count);
	assert_int_equal(count, 2);
	assert_int_equal(w.holders->edges[path[0]].flags, RI_EDGE_EMBEDS);
	assert_int_equal(w.holders->edges[path[1]].target, 1);
	free(path);
	world_deinit(&w);
}

static void two_objects_in_a_cycle_and_a_chain_behind(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	add_objects(&w, 6);
	hold(&w, 2, 3); /* 2 and 3 hold one another, 3 is the group of 4, which holds 5 */
	hold(&w, 3, 2);
	add_group(&w, "children", addr_of(3) + 48, 3, RI_WEIGHT_FIXED, 1);
	add_member(&w, 4);
	hold(&w, 4, 5);
	take_graph(&w);
	assert_int_equal(w.graph->cycle_count, 1);
	assert_int_equal(w.graph->cycles[0].count, 2);
	assert_int_equal(w.graph->cycle_members[0], 2);
	assert_int_equal(w.graph->cycle_members[1], 3);
	assert_int_equal(w.graph->cycle_of[3], 0);
	assert_int_equal(w.graph->cycle_of[4], RI_NONE);
	for (uint32_t o = 2; o < 6; o++)
		assert_int_equal(w.graph->leak_root[o], 2);
	assert_int_equal(w.graph->hangs_on_count[2], 3);
	assert_int_equal(w.graph->hangs_on_bytes[2], 3 * (TYPE_BYTES + 8));
	assert_int_equal(w.graph->leak_root[0], 0);
	assert_int_equal(w.graph->hangs_on_count[0], 0);
	world_deinit(&w);
}

static void cycle_through_a_plain_block(void **state)
{
	struct world w;
	uint32_t a, b;

	(void)state;
	world_init(&w);
	a = add_block_object(&w, HEAP + 0x100, CONN);
	add_block(&w, HEAP + 0x200, 104, RI_BLOCK_USED); /* between them */
	b = add_block_object(&w, HEAP + 0x300, SESSION);
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x200);
	poke(&w, HEAP + 0x208, HEAP + 0x300);
	poke(&w, HEAP + 0x300 + 16, HEAP + 0x100);
	add_block(&w, HEAP + 0x400, 40, RI_BLOCK_USED); /* a plain leak, and one behind it */
	add_block(&w, HEAP + 0x500, 24, RI_BLOCK_USED);
	poke(&w, HEAP + 0x408, HEAP + 0x500);
	take_graph(&w);
	assert_int_equal(w.graph->cycle_count, 1);
	assert_int_equal(w.graph->cycles[0].count, 2);
	assert_int_equal(w.graph->leak_root[b], a);
	assert_int_equal(w.graph->hangs_on_count[a], 1);
	assert_int_equal(w.graph->hangs_on_bytes[a], TYPE_BYTES + 8 + 104);
	assert_int_equal(w.graph->plain_leak_count, 2);
	assert_int_equal(w.graph->plain_leak_bytes, 64);
	world_deinit(&w);
}

/* One object and a plain block that hold one another; an object in its own group. */
static void self_loops(void **state)
{
	struct world w;
	uint32_t a, b;

	(void)state;
	world_init(&w);
	a = add_block_object(&w, HEAP + 0x100, CONN);
	add_block(&w, HEAP + 0x200, 40, RI_BLOCK_USED);
	b = add_block_object(&w, HEAP + 0x300, CONN);
	add_block_object(&w, HEAP + 0x400, CONN);
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x200);
	poke(&w, HEAP + 0x208, HEAP + 0x100);
	add_group(&w, "own", HEAP + 0x330, b, RI_WEIGHT_FIXED, 1);
	add_member(&w, b);
	world_slot(&w, w.shape_of_type[CONN], 40, RI_SLOT_POINTER, "conn.self", CONN);
	poke(&w, HEAP + 0x400 + 40, HEAP + 0x400);      /* may be no reference: no cycle */
	poke(&w, HEAP + 0x400 + 64, HEAP + 0x400);      /* from the rest of its block: none */
	take_graph(&w);
	assert_int_equal(w.graph->cycle_count, 2);
	assert_int_equal(w.graph->cycle_of[a], 0);
	assert_int_equal(w.graph->cycle_of[b], 1);
	assert_int_equal(w.graph->cycle_of[2], RI_NONE);
	assert_int_equal(w.graph->leak_root[2], 2);
	world_deinit(&w);
}

static void embedding_is_no_cycle(void **state)
{
	struct world w;
	uint32_t outer, inner, other;

	(void)state;
	world_init(&w);
	w.types[BUFFER].extent_bytes = 0x80;
	add_block(&w, HEAP + 0x100, 0x88, RI_BLOCK_USED);
	outer = add_object(&w, HEAP + 0x100, BUFFER, RI_NONE, 0);
	inner = add_object(&w, HEAP + 0x140, CONN, outer, 0);
	other = add_block_object(&w, HEAP + 0x200, SESSION);
	take_graph(&w);
	assert_int_equal(w.graph->cycle_count, 0);
	assert_int_equal(w.graph->leak_root[inner], outer);
	assert_int_equal(w.graph->hangs_on_bytes[outer], 0);
	poke(&w, HEAP + 0x140 + 16, HEAP + 0x200);
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x140);
	take_graph(&w);
	assert_int_equal(w.graph->cycle_count, 1);
	assert_int_equal(w.graph->cycles[0].count, 2);
	assert_int_equal(w.graph->cycle_of[inner], 0);
	assert_int_equal(w.graph->cycle_of[other], 0);
	assert_int_equal(w.graph->leak_root[other], outer);
	world_deinit(&w);
}

static void freed_objects_are_no_leaks(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	add_block(&w, HEAP + 0x100, 72, RI_BLOCK_FREE);
	add_object(&w, HEAP + 0x100, CONN, RI_NONE, RI_OBJECT_FREED);
	take_graph(&w);
	assert_int_equal(w.graph->leak_root[0], RI_NONE);
	assert_int_equal(w.graph->plain_leak_count, 0);
	world_deinit(&w);
}

static void shortest_path(void **state)
{
	struct world w;
	uint64_t *path;
	size_t count;

	(void)state;
	world_init(&w);
	add_variable(&w);
	add_objects(&w, 6);
	poke(&w, DATA + 0x100, addr_of(1));
	hold(&w, 1, 2);
	hold(&w, 2, 3);
	poke(&w, SP, addr_of(2));
	path = NULL;
	take_graph(&w);
	path = ri_graph_path(w.holders, 3, 0, &count);
	assert_int_equal(count, 2); /* through the stack */
	assert_int_equal(w.holders->edges[path[0]].target, 2);
	assert_int_equal(ri_holders_source(w.holders, path[0]),
			 region_node(&w, RI_REGION_STACK, SP));
	assert_int_equal(w.holders->edges[path[1]].target, 3);
	free(path);
	path = ri_graph_path(w.holders, 3, RI_EDGE_POSSIBLE, &count);
	assert_int_equal(count, 3);
	assert_int_equal(ri_holders_source(w.holders, path[0]),
			 region_node(&w, RI_REGION_MODULE, DATA));
	assert_int_equal(w.holders->edges[path[1]].target, 2);
	free(path);
	path = ri_graph_path(w.holders, 5, 0, &count);
	assert_null(path);
	assert_int_equal(count, 0);
	world_deinit(&w);
}

/*
 * Random graphs
 */

enum { OBJECTS = 24, BLOCKS = 12, REGIONS = 3, NODES = OBJECTS + BLOCKS + REGIONS, EDGES = 60 };

struct random_graph {
	struct ri_holders holders;
	struct ri_edge edges[EDGES];
	uint32_t first[NODES + 1];
	uint32_t source[EDGES];
	struct ri_region regions[REGIONS];
	struct ri_population population;
	struct ri_object objects[OBJECTS];
	struct ri_counted_type type;
	struct ri_heap heap;
	struct ri_block blocks[BLOCKS];
};

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

/* Objects stand outside of the blocks; some nodes are roots or freed. */
static void make_graph(struct random_graph *g, uint64_t *seed)
{
	uint32_t edge_count = next_random(seed) % EDGES, e = 0;

	memset(g, 0, sizeof(*g));
	g->type.extent_bytes = 32;
	for (uint32_t o = 0; o < OBJECTS; o++) {
		g->objects[o] = (struct ri_object){ .addr = 0x1000 + o * 64, .block = RI_NONE,
						    .parent = RI_NONE };
		if (next_random(seed) % 16 == 0)
			g->objects[o].state = next_random(seed) % 2 ? RI_OBJECT_NOT_LEAK
								    : RI_OBJECT_FREED;
	}
	for (uint32_t b = 0; b < BLOCKS; b++) {
		g->blocks[b].addr = 0x9000 + b * 64;
		g->blocks[b].size_bytes = 40;
		g->blocks[b].state = next_random(seed) % 8 ? RI_BLOCK_USED : RI_BLOCK_FREE;
	}
	g->regions[0].kind = RI_REGION_MODULE;
	g->regions[1].kind = RI_REGION_STACK;
	g->regions[2].kind = RI_REGION_MAPPING;
	for (uint32_t n = 0; n < NODES; n++) {
		g->first[n] = e;
		for (uint32_t k = next_random(seed) % 4; k && e < edge_count; k--, e++) {
			static const uint32_t flags[] = { 0, 0, 0, RI_EDGE_POSSIBLE,
							  RI_EDGE_BORROWS, RI_EDGE_LINK,
							  RI_EDGE_MEMBERSHIP,
							  RI_EDGE_MEMBERSHIP | RI_EDGE_BORROWS };

			g->source[e] = n;
			g->edges[e].target = next_random(seed) % (OBJECTS + BLOCKS);
			g->edges[e].flags = flags[next_random(seed) % 8];
		}
	}
	g->first[NODES] = e;
	g->population = (struct ri_population){ .types = &g->type, .type_count = 1,
						.objects = g->objects, .object_count = OBJECTS };
	g->heap = (struct ri_heap){ .blocks = g->blocks, .block_count = BLOCKS };
	g->holders = (struct ri_holders){ .node_count = NODES, .object_count = OBJECTS,
					  .block_count = BLOCKS, .region_count = REGIONS,
					  .regions = g->regions, .edges = g->edges,
					  .first = g->first, .edge_count = e };
}

static bool passes(uint32_t flags, uint8_t level)
{
	if (flags & RI_EDGE_LINK || (flags & RI_EDGE_POSSIBLE && level == RI_REACH_CERTAIN))
		return false;
	if (!(flags & RI_EDGE_BORROWS))
		return true;
	return level == RI_REACH_GROUP && flags & RI_EDGE_MEMBERSHIP;
}

/* Repeats over all edges until nothing changes. */
static void reach_slowly(const struct random_graph *g, uint8_t level, bool *reached)
{
	bool changed = true;

	for (uint32_t n = 0; n < NODES; n++)
		reached[n] = n >= OBJECTS + BLOCKS
				     ? level != RI_REACH_CERTAIN || n == OBJECTS + BLOCKS
				     : n < OBJECTS && g->objects[n].state & RI_OBJECT_NOT_LEAK;
	while (changed) {
		changed = false;
		for (uint64_t e = 0; e < g->holders.edge_count; e++)
			if (reached[g->source[e]] && !reached[g->edges[e].target] &&
			    passes(g->edges[e].flags, level))
				changed = reached[g->edges[e].target] = true;
	}
}

struct slow {
	bool reached[3][NODES];
	bool takes_part[NODES];
	bool leads[NODES][NODES]; /* over at least one edge, among those that take part */
	uint32_t root[OBJECTS];
};

static void find_slowly(const struct random_graph *g, struct slow *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned level = 0; level < 3; level++)
		reach_slowly(g, (uint8_t)(1 << level), s->reached[level]);
	for (uint32_t n = 0; n < OBJECTS + BLOCKS; n++)
		s->takes_part[n] = !s->reached[1][n] &&
				   (n < OBJECTS ? !(g->objects[n].state & RI_OBJECT_FREED)
						: g->blocks[n - OBJECTS].state == RI_BLOCK_USED);
	for (uint64_t e = 0; e < g->holders.edge_count; e++)
		if (s->takes_part[g->source[e]] && s->takes_part[g->edges[e].target] &&
		    passes(g->edges[e].flags, RI_REACH_ANY))
			s->leads[g->source[e]][g->edges[e].target] = true;
	for (uint32_t k = 0; k < NODES; k++)
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t j = 0; j < NODES; j++)
				s->leads[i][j] |= s->leads[i][k] && s->leads[k][j];
	for (uint32_t o = 0; o < OBJECTS; o++)
		s->root[o] = RI_NONE;
	for (uint32_t r = 0; r < OBJECTS; r++) {
		bool is_root = s->takes_part[r];

		for (uint32_t o = 0; o < OBJECTS; o++)
			if (o != r && s->leads[o][r] && (!s->leads[r][o] || o < r))
				is_root = false;
		if (!is_root)
			continue;
		s->root[r] = r;
		for (uint32_t o = 0; o < OBJECTS; o++)
			if (s->leads[r][o] && s->root[o] == RI_NONE)
				s->root[o] = r;
	}
}

static bool is_self_reference(const struct random_graph *g, uint32_t o)
{
	for (uint64_t e = g->first[o]; e < g->first[o + 1]; e++)
		if (g->edges[e].target == o && passes(g->edges[e].flags, RI_REACH_CERTAIN))
			return true;
	return false;
}

static void compare_leaks(const struct random_graph *g, const struct slow *s,
			  const struct ri_graph *graph)
{
	uint32_t plain = 0, hanging[OBJECTS] = { 0 };

	for (uint32_t o = 0; o < OBJECTS; o++) {
		bool on_cycle = is_self_reference(g, o) && s->takes_part[o];

		assert_int_equal(graph->leak_root[o], s->root[o]);
		if (s->root[o] != RI_NONE && s->root[o] != o)
			hanging[s->root[o]]++;
		for (uint32_t n = 0; n < OBJECTS + BLOCKS; n++)
			on_cycle |= n != o && s->leads[o][n] && s->leads[n][o];
		assert_int_equal(graph->cycle_of[o] != RI_NONE, on_cycle);
		for (uint32_t n = 0; n < OBJECTS; n++)
			if (n != o && on_cycle && s->leads[o][n] && s->leads[n][o])
				assert_int_equal(graph->cycle_of[o], graph->cycle_of[n]);
	}
	for (uint32_t o = 0; o < OBJECTS; o++)
		assert_int_equal(graph->hangs_on_count[o], hanging[o]);
	for (uint32_t b = OBJECTS; b < OBJECTS + BLOCKS; b++) {
		bool is_held = false;

		for (uint32_t o = 0; o < OBJECTS; o++)
			is_held |= s->leads[o][b];
		plain += s->takes_part[b] && !is_held;
	}
	assert_int_equal(graph->plain_leak_count, plain);
	assert_int_equal(graph->plain_leak_bytes, plain * 40);
}

/* A path starts at a region, is connected, and no shorter than it must be. */
static void compare_path(const struct random_graph *g, uint32_t node)
{
	uint32_t distance[NODES], source = RI_NONE;
	uint64_t *path;
	size_t count;
	bool changed = true;

	for (uint32_t n = 0; n < NODES; n++)
		distance[n] = n < OBJECTS + BLOCKS ? RI_NONE : 0;
	while (changed) {
		changed = false;
		for (uint64_t e = 0; e < g->holders.edge_count; e++) {
			uint32_t d = distance[g->source[e]];

			if (g->edges[e].flags & RI_EDGE_BORROWS || d == RI_NONE ||
			    distance[g->edges[e].target] <= d + 1)
				continue;
			distance[g->edges[e].target] = d + 1;
			changed = true;
		}
	}
	path = ri_graph_path(&g->holders, node, RI_EDGE_BORROWS, &count);
	assert_int_equal(count, distance[node] == RI_NONE ? 0 : distance[node]);
	for (size_t i = 0; i < count; i++) {
		if (i)
			assert_int_equal(g->source[path[i]], source);
		else
			assert_true(g->source[path[i]] >= OBJECTS + BLOCKS);
		source = g->edges[path[i]].target;
	}
	assert_true(!count || source == node);
	free(path);
}

static void random_graphs_match_the_definitions(void **state)
{
	uint64_t seed = 20240229;

	(void)state;
	for (unsigned round = 0; round < 1500; round++) {
		struct random_graph g;
		struct ri_graph *graph;
		static struct slow s;

		make_graph(&g, &seed);
		find_slowly(&g, &s);
		graph = ri_graph_create(&g.holders, &g.population, &g.heap);
		for (uint32_t n = 0; n < NODES; n++)
			assert_int_equal(graph->reach[n], s.reached[0][n] | s.reached[1][n] << 1 |
								  s.reached[2][n] << 2);
		compare_leaks(&g, &s, graph);
		compare_path(&g, next_random(&seed) % (OBJECTS + BLOCKS));
		ri_graph_destroy(graph);
	}
}

static void long_chain_does_not_overflow_the_stack(void **state)
{
	enum { COUNT = 200000 };
	struct ri_holders h = { .node_count = COUNT, .object_count = COUNT, .edge_count = COUNT };
	struct ri_counted_type type = { .extent_bytes = 8 };
	struct ri_population population = { .types = &type, .type_count = 1,
					    .object_count = COUNT };
	struct ri_heap heap = { 0 };
	struct ri_graph *graph;

	(void)state;
	h.edges = ri_calloc(COUNT, sizeof(*h.edges));
	h.first = ri_calloc(COUNT + 1, sizeof(*h.first));
	population.objects = ri_calloc(COUNT, sizeof(*population.objects));
	for (uint32_t o = 0; o < COUNT; o++) {
		population.objects[o] = (struct ri_object){ .addr = 8ull * o + 8,
							    .block = RI_NONE, .parent = RI_NONE };
		h.edges[o].target = (o + 1) % COUNT;
		h.first[o + 1] = o + 1;
	}
	graph = ri_graph_create(&h, &population, &heap);
	assert_int_equal(graph->cycle_count, 1);
	assert_int_equal(graph->cycles[0].count, COUNT);
	assert_int_equal(graph->hangs_on_count[0], COUNT - 1);
	ri_graph_destroy(graph);
	free(h.edges);
	free(h.first);
	free(population.objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_of_reachability),
		cmocka_unit_test(marked_and_static_objects_are_roots),
		cmocka_unit_test(two_objects_in_a_cycle_and_a_chain_behind),
		cmocka_unit_test(cycle_through_a_plain_block),
		cmocka_unit_test(self_loops),
		cmocka_unit_test(embedding_is_no_cycle),
		cmocka_unit_test(freed_objects_are_no_leaks),
		cmocka_unit_test(shortest_path),
		cmocka_unit_test(random_graphs_match_the_definitions),
		cmocka_unit_test(long_chain_does_not_overflow_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
