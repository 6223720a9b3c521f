/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak chains: see chains.h.
 *
 * A flow graph is made of what is unreachable: an entry, a node per chain, and the lost
 * objects and blocks; the entry leads to the chains, a chain to its roots, and what may own
 * something to that.  In its dominator tree (dominators.c) hangs below a root what it alone
 * keeps, below a chain what its roots keep together, and directly below the entry what
 * several chains share.  The tree is laid out so that what is below a node follows it.
 *
 * Roots are alike when they are of one type and all, or none, in a cycle; plain blocks when
 * they have one type, or none and one size.  Why objects are where they are is told by the
 * classes of the holders within the chain (chain_parts.c).
 *
 * Blind spots: objects that a lost plain block keeps are roots all the same (graph.h), so
 * nothing counted ever hangs on plain blocks alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "census/chains_private.h"
#include "census/dominators.h"
#include "census/extents.h"
#include "census/graph_private.h"

#define DENSE 16 /* one node in so many is lost: a table of all pays */

/* A leak root and what makes it like others. */
struct root {
	bool is_plain, is_cyclic;
	uint32_t type, shape;
	uint64_t block_bytes;
	uint32_t node;
};

struct search {
	struct ri_chains *chains;
	const struct ri_holders *holders;
	const struct ri_population *population;
	const struct ri_heap *heap;
	const struct ri_graph *graph;
	uint32_t *block_object;  /* see extents.h */
	RI_VEC(struct root) roots;
	uint32_t local_first;    /* the number of nodes[0] in the flow */
	uint32_t *first, *targets;
	uint32_t *dominators;
};

static bool is_lost(const struct search *s, uint32_t node)
{
	if (s->graph->reach[node] & RI_REACH_ANY)
		return false;
	if (node < s->holders->object_count)
		return !(s->population->objects[node].state & RI_OBJECT_FREED);
	return s->heap->blocks[node - s->holders->object_count].state == RI_BLOCK_USED;
}

static void list_nodes(struct search *s)
{
	struct ri_chains *chains = s->chains;
	uint32_t count = s->holders->object_count + s->holders->block_count;
	RI_VEC(uint32_t) nodes = { 0 };

	for (uint32_t n = 0; n < count; n++) {
		if (!is_lost(s, n))
			continue;
		*ri_push(&nodes) = n;
		if (n < s->holders->object_count)
			chains->lost_of_type[s->population->objects[n].type]++;
	}
	chains->nodes = nodes.items;
	chains->node_count = nodes.count;
}

/*
 * Roots and chains
 */

static uint32_t shape_of(const struct ri_population *population, uint32_t block)
{
	size_t low = 0, high = population->typed_block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (population->typed_blocks[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low < population->typed_block_count && population->typed_blocks[low].block == block
		       ? population->typed_blocks[low].shape
		       : RI_NONE;
}

/* The first of the members' types by name: it does not depend on addresses. */
static uint32_t type_of_cycle(const struct search *s, const struct ri_cycle *cycle)
{
	const uint32_t *members = &s->graph->cycle_members[cycle->first];
	uint32_t best = s->population->objects[members[0]].type;

	for (uint32_t i = 1; i < cycle->count; i++) {
		uint32_t type = s->population->objects[members[i]].type;

		if (type != best && strcmp(s->population->types[type].name,
					   s->population->types[best].name) < 0)
			best = type;
	}
	return best;
}

static void list_roots(struct search *s)
{
	for (uint32_t o = 0; o < s->holders->object_count; o++) {
		uint32_t cycle = s->graph->cycle_of[o];
		struct root *root;

		if (s->graph->leak_root[o] != o)
			continue;
		root = ri_push(&s->roots);
		root->is_cyclic = cycle != RI_NONE;
		root->type = s->population->objects[o].type;
		if (root->is_cyclic)
			root->type = type_of_cycle(s, &s->graph->cycles[cycle]);
		root->shape = RI_NONE;
		root->node = o;
	}
	for (size_t i = 0; i < s->graph->plain_root_count; i++) {
		uint32_t block = s->graph->plain_roots[i];
		uint32_t shape = shape_of(s->population, block);

		*ri_push(&s->roots) = (struct root){
			.is_plain = true,
			.type = RI_NONE,
			.shape = shape,
			.block_bytes = shape == RI_NONE ? s->heap->blocks[block].size_bytes : 0,
			.node = s->holders->object_count + block,
		};
	}
}

static int compare_kinds(const struct root *x, const struct root *y)
{
	if (x->is_plain != y->is_plain)
		return x->is_plain ? 1 : -1;
	if (x->is_cyclic != y->is_cyclic)
		return x->is_cyclic ? 1 : -1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	return (x->block_bytes > y->block_bytes) - (x->block_bytes < y->block_bytes);
}

static int compare_roots(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	int order = compare_kinds(x, y);

	return order ? order : (x->node > y->node) - (x->node < y->node);
}

static void make_chains(struct search *s)
{
	struct ri_chains *chains = s->chains;
	size_t capacity = 0;

	if (s->roots.count)
		qsort(s->roots.items, s->roots.count, sizeof(*s->roots.items), compare_roots);
	chains->roots = ri_malloc(s->roots.count * sizeof(*chains->roots));
	for (size_t i = 0; i < s->roots.count; i++) {
		const struct root *root = &s->roots.items[i];

		chains->roots[i] = root->node;
		if (!i || compare_kinds(&root[-1], root)) {
			chains->items = ri_grow(chains->items, &capacity, chains->count + 1,
						sizeof(*chains->items));
			chains->items[chains->count++] = (struct ri_chain){
				.is_plain = root->is_plain,
				.is_cyclic = root->is_cyclic,
				.type = root->type,
				.shape = root->shape,
				.block_bytes = root->block_bytes,
				.first_root = (uint32_t)i,
			};
		}
		chains->items[chains->count - 1].root_count++;
	}
}

/*
 * The flow graph: 0 the entry, then chains, then lost nodes
 */

/* A table where much is lost; a few nodes are found by halving. */
static void index_nodes(struct search *s)
{
	struct ri_chains *chains = s->chains;

	chains->index_count = (size_t)s->holders->object_count + s->holders->block_count;
	if (chains->node_count < chains->index_count / DENSE)
		return;
	chains->index_of = ri_malloc(chains->index_count * sizeof(*chains->index_of));
	memset(chains->index_of, 0xff, chains->index_count * sizeof(*chains->index_of));
	for (size_t i = 0; i < chains->node_count; i++)
		chains->index_of[chains->nodes[i]] = (uint32_t)i;
}

static void make_flow(struct search *s)
{
	const struct ri_holders *h = s->holders;
	const struct ri_chains *chains = s->chains;
	size_t node_count = s->local_first + chains->node_count, room = 0;
	uint32_t count = 0;

	for (size_t i = 0; i < chains->node_count; i++)
		room += h->first[chains->nodes[i] + 1] - h->first[chains->nodes[i]];
	s->first = ri_malloc((node_count + 1) * sizeof(*s->first));
	s->targets = ri_malloc((room + chains->count + s->roots.count) * sizeof(*s->targets));
	s->first[0] = 0;
	for (uint32_t c = 0; c < chains->count; c++)
		s->targets[count++] = 1 + c;
	for (uint32_t c = 0; c < chains->count; c++) {
		const struct ri_chain *chain = &chains->items[c];

		s->first[1 + c] = count;
		for (uint32_t r = 0; r < chain->root_count; r++)
			s->targets[count++] =
				s->local_first +
				ri_chains_find(chains, chains->roots[chain->first_root + r]);
	}
	for (size_t i = 0; i < chains->node_count; i++) {
		uint32_t node = chains->nodes[i];

		s->first[s->local_first + i] = count;
		for (uint64_t e = h->first[node]; e < h->first[node + 1]; e++) {
			uint32_t target = ri_graph_passes(h->edges[e].flags, RI_REACH_ANY)
						  ? ri_chains_find(chains, h->edges[e].target)
						  : RI_NONE;

			if (target != RI_NONE)
				s->targets[count++] = s->local_first + target;
		}
	}
	s->first[node_count] = count;
}

/* The children of node n in the dominator tree: targets[first[n] .. first[n + 1]), in place
 * of the flow graph. */
static void list_children(struct search *s, uint32_t node_count)
{
	s->first = ri_realloc(s->first, node_count + 2ul, sizeof(*s->first));
	s->targets = ri_realloc(s->targets, node_count + 1ul, sizeof(*s->targets));
	memset(s->first, 0, (node_count + 2ul) * sizeof(*s->first));
	for (uint32_t n = 1; n < node_count; n++)
		if (s->dominators[n] != RI_NONE)
			s->first[s->dominators[n] + 2]++;
	for (uint32_t n = 2; n < node_count + 2; n++)
		s->first[n] += s->first[n - 1];
	for (uint32_t n = 1; n < node_count; n++)
		if (s->dominators[n] != RI_NONE)
			s->targets[s->first[s->dominators[n] + 1]++] = n;
}

/* The tree in preorder: fills order[], and place[] and size[] by number in the flow. */
static void walk_tree(struct search *s, uint32_t *place, uint32_t *size)
{
	struct ri_chains *chains = s->chains;
	uint32_t placed = 0;

	for (uint32_t at = 0;;) {
		if (place[at] == RI_NONE) {
			place[at] = placed;
			chains->order[placed++] =
				at < s->local_first ? RI_NONE : chains->nodes[at - s->local_first];
			size[at] = s->first[at]; /* the next child, until all are done */
		}
		if (size[at] < s->first[at + 1]) {
			at = s->targets[size[at]++];
			continue;
		}
		size[at] = placed - place[at];
		if (!at)
			return;
		at = s->dominators[at];
	}
}

static void lay_out_tree(struct search *s)
{
	struct ri_chains *chains = s->chains;
	uint32_t node_count = s->local_first + (uint32_t)chains->node_count;
	uint32_t *place = ri_malloc(node_count * sizeof(*place));
	uint32_t *size = ri_calloc(node_count, sizeof(*size));

	list_children(s, node_count);
	memset(place, 0xff, node_count * sizeof(*place));
	chains->order = ri_malloc(node_count * sizeof(*chains->order));
	walk_tree(s, place, size);
	for (uint32_t c = 0; c < chains->count; c++) {
		chains->items[c].place = place[1 + c];
		chains->items[c].size = size[1 + c];
	}
	chains->place = ri_malloc(chains->node_count * sizeof(*chains->place));
	chains->size = ri_malloc(chains->node_count * sizeof(*chains->size));
	for (size_t i = 0; i < chains->node_count; i++) {
		chains->place[i] = place[s->local_first + i];
		chains->size[i] = size[s->local_first + i];
	}
	free(place);
	free(size);
}

/*
 * What the nodes are worth
 */

static void mark_own(struct search *s)
{
	struct ri_chains *chains = s->chains;

	for (size_t r = 0; r < s->roots.count; r++) {
		const struct root *root = &s->roots.items[r];
		const struct ri_cycle *cycle;

		chains->is_own[ri_chains_place(chains, root->node)] = true;
		if (!root->is_cyclic)
			continue;
		cycle = &s->graph->cycles[s->graph->cycle_of[root->node]];
		for (uint32_t i = 0; i < cycle->count; i++) {
			uint32_t member = s->graph->cycle_members[cycle->first + i];
			uint32_t place = ri_chains_place(chains, member);

			if (place != RI_NONE)
				chains->is_own[place] = true;
		}
	}
}

static void weigh_nodes(struct search *s)
{
	struct ri_chains *chains = s->chains;
	size_t places = s->local_first + chains->node_count;

	chains->bytes = ri_calloc(places, sizeof(*chains->bytes));
	chains->is_own = ri_calloc(places, sizeof(*chains->is_own));
	for (size_t i = 0; i < chains->node_count; i++)
		if (chains->place[i] != RI_NONE)
			chains->bytes[chains->place[i]] =
				ri_graph_lost_bytes(s->population, s->heap, s->block_object,
						    chains->nodes[i]);
	mark_own(s);
}

static bool is_plain(const struct search *s, uint32_t node)
{
	return node != RI_NONE && node >= s->holders->object_count &&
	       s->block_object[node - s->holders->object_count] == RI_NONE;
}

static void measure_chain(struct search *s, struct ri_chain *chain)
{
	struct ri_chains *chains = s->chains;

	for (size_t p = chain->place; p < chain->place + chain->size; p++) {
		uint32_t node = chains->order[p];

		if (chains->is_own[p]) {
			chain->own_count++;
			chain->own_bytes += chains->bytes[p];
		} else if (is_plain(s, node)) {
			chain->plain_count++;
			chain->plain_bytes += chains->bytes[p];
		}
	}
	chain->first_part = chains->parts.count;
	ri_chains_sort_out(chains, chain->place, chain->place + chain->size, &chains->parts);
	chain->part_count = chains->parts.count - chain->first_part;
}

static uint64_t count_behind(const struct ri_chains *chains, const struct ri_chain *chain)
{
	uint64_t count = 0;

	for (size_t i = 0; i < chain->part_count; i++)
		count += chains->parts.items[chain->first_part + i].count;
	return count;
}

static int compare_chains(const void *a, const void *b, void *data)
{
	const struct ri_chains *chains = data;
	const struct ri_chain *x = a, *y = b;
	uint64_t m = count_behind(chains, x), n = count_behind(chains, y);

	if (x->is_plain != y->is_plain)
		return x->is_plain ? 1 : -1;
	if (m != n)
		return m < n ? 1 : -1;
	if (x->own_bytes != y->own_bytes)
		return x->own_bytes < y->own_bytes ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

struct ri_chains *ri_chains_create(const struct ri_holders *holders,
				   const struct ri_population *population,
				   const struct ri_heap *heap, const struct ri_graph *graph)
{
	struct ri_chains *chains = ri_calloc(1, sizeof(*chains));
	struct search s = {
		.chains = chains,
		.holders = holders,
		.population = population,
		.heap = heap,
		.graph = graph,
	};
	struct ri_flow flow;

	chains->holders = holders;
	chains->population = population;
	chains->lost_of_type = ri_calloc(population->type_count, sizeof(*chains->lost_of_type));
	chains->part_of_type = ri_malloc(population->type_count * sizeof(uint32_t));
	for (size_t t = 0; t < population->type_count; t++)
		chains->part_of_type[t] = RI_NONE;
	list_nodes(&s);
	if (!chains->node_count)
		return chains;
	s.block_object = ri_extents_list_block_objects(population, heap);
	list_roots(&s);
	make_chains(&s);
	s.local_first = 1 + (uint32_t)chains->count;
	index_nodes(&s);
	make_flow(&s);
	flow = (struct ri_flow){ s.local_first + (uint32_t)chains->node_count, s.first, s.targets };
	s.dominators = ri_dominators_find(&flow);
	lay_out_tree(&s);
	weigh_nodes(&s);
	for (size_t c = 0; c < chains->count; c++)
		measure_chain(&s, &chains->items[c]);
	if (chains->count)
		qsort_r(chains->items, chains->count, sizeof(*chains->items), compare_chains,
			chains);
	free(s.block_object);
	free(s.first);
	free(s.targets);
	free(s.dominators);
	ri_vec_deinit(&s.roots);
	return chains;
}

void ri_chains_destroy(struct ri_chains *chains)
{
	if (!chains)
		return;
	free(chains->items);
	free(chains->roots);
	ri_vec_deinit(&chains->parts);
	free(chains->lost_of_type);
	free(chains->part_of_type);
	free(chains->nodes);
	free(chains->index_of);
	free(chains->place);
	free(chains->size);
	free(chains->order);
	free(chains->bytes);
	free(chains->is_own);
	free(chains);
}
