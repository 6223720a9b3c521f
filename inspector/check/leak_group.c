/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which group a leaked object belongs to: see leak_group.h.
 *
 * Being chained and the back pointer are facts that the census has.  An object that was
 * unchained in haste keeps its link words, and they lead to its old neighbours or to the
 * head; where its own are poisoned or cleared, a neighbour's may still lead to it.  Next
 * comes what the object points at: a struct with the head of a group for its type in it
 * (the pool or table that it was made for).  What is left is likeness: the group of most
 * objects in the same block, then of most of the type.  Groups are asked for alone whose
 * elements are of the object's type.
 *
 * Cost: a sort of heads and breaks, one pass over the memberships; then, per question, the
 * object's words and a bounded number of neighbours.
 */
#include "check/leak_group.h"

#include <stdlib.h>

#include "check/evidence.h"

#define BLOCK_NEIGHBOURS 64      /* looked at to either side, in one block */
#define WORDS_MAX        512     /* of an object, looked at */
#define EDGES_MAX        256     /* that lead to it */
#define PLACE_BYTES_MAX  65536   /* between the start of a pool and its group's head */
#define ANCHORS_MAX      16      /* looked at in one pool */

/* An address that stands for a group: its head, the struct around it, that object. */
struct anchor {
	uint64_t addr;
	uint32_t group;
};

#define MEMBERS_AHEAD 16 /* whose objects are fetched */

typedef RI_VEC(uint32_t) ri_type_indices;

struct ri_leak_groups {
	const struct ri_analysis *analysis;
	RI_VEC(struct anchor) anchors; /* ascending by address */
	RI_VEC(struct anchor) broken;  /* where the breaks of groups lead, ascending */
	uint32_t *of_type;             /* the group of most objects of each type, or RI_NONE */
};

static int compare_anchors(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static size_t first_anchor(const struct anchor *anchors, size_t count, uint64_t addr)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (anchors[middle].addr < addr)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

static bool takes_type(const struct ri_analysis *analysis, const struct ri_group_rule *rule,
		       uint32_t object)
{
	const struct ri_population *population = analysis->population;
	uint32_t type = population->objects[object].type;
	uint32_t convention = population->types[type].convention;
	const struct ri_layout *layout = analysis->layout;

	if (!rule)
		return false;
	if (rule->element_convention == RI_LAYOUT_NONE)
		return rule->element_type == type;
	return rule->element_convention == convention ||
	       (layout && convention < layout->conventions.count &&
		rule->element_convention == layout->conventions.items[convention].base);
}

/* Whether elements of `group` are of the object's type. */
static bool takes(const struct ri_leak_groups *groups, uint32_t group, uint32_t object)
{
	return takes_type(groups->analysis, ri_group_rule_of(groups->analysis, group), object);
}

/* The group at `addr` that takes objects like `object`, or RI_NONE. */
static uint32_t group_at(const struct ri_leak_groups *groups, uint64_t addr, uint32_t object)
{
	const struct anchor *anchors = groups->anchors.items;

	for (size_t i = first_anchor(anchors, groups->anchors.count, addr);
	     i < groups->anchors.count && anchors[i].addr == addr; i++)
		if (takes(groups, anchors[i].group, object))
			return anchors[i].group;
	return RI_NONE;
}

static void list_anchors(struct ri_leak_groups *groups)
{
	const struct ri_population *population = groups->analysis->population;

	for (uint32_t g = 0; g < population->group_count; g++) {
		const struct ri_group *group = &population->groups[g];

		*ri_push(&groups->anchors) = (struct anchor){ group->head, g };
		if (group->struct_addr != group->head)
			*ri_push(&groups->anchors) = (struct anchor){ group->struct_addr, g };
		if (group->object < population->object_count &&
		    population->objects[group->object].addr != group->struct_addr)
			*ri_push(&groups->anchors) =
				(struct anchor){ population->objects[group->object].addr, g };
		for (uint32_t i = 0; i < group->break_count; i++) {
			const struct ri_group_break *fault =
				&population->breaks[group->break_first + i];

			*ri_push(&groups->broken) = (struct anchor){ fault->value, g };
			*ri_push(&groups->broken) = (struct anchor){ fault->expected, g };
		}
	}
	if (groups->anchors.count)
		qsort(groups->anchors.items, groups->anchors.count, sizeof(struct anchor),
		      compare_anchors);
	if (groups->broken.count)
		qsort(groups->broken.items, groups->broken.count, sizeof(struct anchor),
		      compare_anchors);
}

/* Per type, how many objects are neither dead nor leaked. */
static uint32_t *count_living(const struct ri_analysis *analysis)
{
	const struct ri_population *population = analysis->population;
	uint32_t *living = ri_calloc(population->type_count, sizeof(*living));

	for (uint32_t o = 0; o < population->object_count; o++)
		living[population->objects[o].type] +=
			!(population->objects[o].state & RI_OBJECT_DEAD_BITS) &&
			!ri_object_is_unreachable(analysis, o);
	return living;
}

/* How many reachable members of each type the group has: here[]; `met` gets the types. */
static void count_members(const struct ri_analysis *analysis, const struct ri_group *group,
			  uint32_t *here, ri_type_indices *met)
{
	const struct ri_population *population = analysis->population;
	const struct ri_membership *members = &population->memberships[group->first_member];

	for (uint32_t i = 0; i < group->member_count; i++) {
		uint32_t t = population->objects[members[i].object].type;

		if (group->member_count - i > MEMBERS_AHEAD)
			__builtin_prefetch(
				&population->objects[members[i + MEMBERS_AHEAD].object]);
		if (ri_object_is_unreachable(analysis, members[i].object))
			continue;
		if (!here[t]++)
			*ri_push(met) = t;
	}
}

/* The group in which more than half of each type's living objects sit. */
static void find_groups_of_types(struct ri_leak_groups *groups)
{
	const struct ri_population *population = groups->analysis->population;
	uint32_t *living = count_living(groups->analysis);
	uint32_t *here = ri_calloc(population->type_count, sizeof(*here));
	uint32_t *best = ri_calloc(population->type_count, sizeof(*best));
	ri_type_indices met = { 0 };

	groups->of_type = ri_malloc(population->type_count * sizeof(uint32_t));
	for (size_t t = 0; t < population->type_count; t++)
		groups->of_type[t] = RI_NONE;
	for (uint32_t g = 0; g < population->group_count; g++) {
		met.count = 0;
		count_members(groups->analysis, &population->groups[g], here, &met);
		for (size_t i = 0; i < met.count; i++) {
			uint32_t t = met.items[i];

			if (here[t] > best[t] && (uint64_t)here[t] * 2 > living[t]) {
				best[t] = here[t];
				groups->of_type[t] = g;
			}
			here[t] = 0;
		}
	}
	ri_vec_deinit(&met);
	free(living);
	free(here);
	free(best);
}

struct ri_leak_groups *ri_leak_groups_create(const struct ri_analysis *analysis)
{
	struct ri_leak_groups *groups = ri_calloc(1, sizeof(*groups));

	groups->analysis = analysis;
	list_anchors(groups);
	find_groups_of_types(groups);
	return groups;
}

void ri_leak_groups_destroy(struct ri_leak_groups *groups)
{
	if (!groups)
		return;
	ri_vec_deinit(&groups->anchors);
	ri_vec_deinit(&groups->broken);
	free(groups->of_type);
	free(groups);
}

/* The group of rule `r` that chains `object`, or RI_NONE. */
static uint32_t group_of_rule(const struct ri_population *population, uint32_t object, uint32_t r)
{
	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		uint32_t g = population->memberships[population->member_of[i]].group;

		if (population->groups[g].rule == r)
			return g;
	}
	return RI_NONE;
}

/* The group that a stale link word with `value` leads to. */
static uint32_t led_to(const struct ri_leak_groups *groups, uint64_t value, uint32_t object,
		       uint32_t r)
{
	const struct ri_population *population = groups->analysis->population;
	uint32_t neighbour = ri_population_find(population, value), g;

	if (neighbour == object)
		return RI_NONE;
	if (neighbour != RI_NONE && population->member_of_first) {
		g = group_of_rule(population, neighbour, r);
		if (g != RI_NONE)
			return g;
	}
	g = group_at(groups, value, object);
	return g != RI_NONE && population->groups[g].rule == r ? g : RI_NONE;
}

static uint32_t find_by_links(const struct ri_leak_groups *groups, uint32_t object)
{
	const struct ri_analysis *analysis = groups->analysis;
	const struct ri_object *o = &analysis->population->objects[object];

	for (uint32_t r = 0; analysis->layout && r < analysis->layout->groups.count; r++) {
		const struct ri_group_rule *rule = &analysis->layout->groups.items[r];
		uint64_t base = rule->element_convention != RI_LAYOUT_NONE
					? ri_object_header(analysis->population, o)
					: o->addr;
		const int64_t offsets[] = { rule->next_offset, rule->prev_offset };

		if (rule->node_bytes || !takes_type(analysis, rule, object))
			continue;
		for (size_t i = 0; i < 2; i++) {
			uint64_t value, mask = rule->tag_mask;
			uint32_t g = RI_NONE;

			if (offsets[i] >= 0 &&
			    ri_image_read_u64(analysis->target->image,
					      base + (uint64_t)(rule->link_offset + offsets[i]),
					      &value) &&
			    value & ~mask)
				g = led_to(groups, value & ~mask, object, r);
			if (g != RI_NONE)
				return g;
		}
	}
	return RI_NONE;
}

/* The group of the object that the edge's link word stands in. */
static uint32_t group_of_source(const struct ri_leak_groups *groups, uint64_t edge,
				uint32_t object)
{
	const struct ri_holders *holders = groups->analysis->holders;
	uint32_t source = ri_holders_source(holders, edge), g;

	if (!(holders->edges[edge].flags & RI_EDGE_LINK) || source == object ||
	    source >= holders->object_count)
		return RI_NONE;
	g = ri_object_group(groups->analysis, source);
	if (g == RI_NONE)
		g = find_by_links(groups, source);
	return g != RI_NONE && takes(groups, g, object) ? g : RI_NONE;
}

static uint32_t find_by_neighbours(const struct ri_leak_groups *groups, uint32_t object)
{
	const struct ri_population *population = groups->analysis->population;
	const struct ri_holders *holders = groups->analysis->holders;
	const struct ri_object *o = &population->objects[object];
	size_t i = first_anchor(groups->broken.items, groups->broken.count,
				ri_object_start(population, o));

	if (i < groups->broken.count && groups->broken.items[i].addr < ri_object_end(population, o))
		return groups->broken.items[i].group;
	for (uint64_t k = holders ? holders->in_first[object] : 0, n = 0;
	     holders && k < holders->in_first[object + 1] && n < EDGES_MAX; k++, n++) {
		uint32_t g = group_of_source(groups, holders->in_edges[k], object);

		if (g != RI_NONE)
			return g;
	}
	return RI_NONE;
}

/* The end of the block or variable that begins at `addr`; `addr` where none does. */
static uint64_t end_of_place(const struct ri_analysis *analysis, uint64_t addr)
{
	const struct ri_heap *heap = analysis->heap;
	uint32_t block = heap && heap->block_count ? ri_heap_find(heap, addr) : RI_NONE;
	uint64_t offset = 1, size_bytes = 0;

	if (block != RI_NONE)
		return heap->blocks[block].addr == addr &&
				       heap->blocks[block].state == RI_BLOCK_USED
			       ? addr + heap->blocks[block].size_bytes
			       : addr;
	if (!analysis->modules || !ri_modules_find(analysis->modules, addr) ||
	    !ri_modules_find_symbol(analysis->modules, addr, true, &offset, &size_bytes) || offset)
		return addr;
	return addr + size_bytes;
}

/* The first group that takes such objects and whose head lies in what begins at `addr`. */
static uint32_t group_inside(const struct ri_leak_groups *groups, uint64_t addr, uint32_t object)
{
	const struct anchor *anchors = groups->anchors.items;
	size_t i = first_anchor(anchors, groups->anchors.count, addr);
	uint64_t end;

	if (i == groups->anchors.count || anchors[i].addr - addr >= PLACE_BYTES_MAX)
		return RI_NONE;
	end = end_of_place(groups->analysis, addr);
	for (unsigned n = 0; n < ANCHORS_MAX && i < groups->anchors.count && anchors[i].addr < end;
	     n++, i++)
		if (takes(groups, anchors[i].group, object))
			return anchors[i].group;
	return RI_NONE;
}

static uint32_t find_by_pool(const struct ri_leak_groups *groups, uint32_t object)
{
	const struct ri_population *population = groups->analysis->population;
	const struct ri_object *o = &population->objects[object];
	uint64_t at = (ri_object_start(population, o) + 7) & ~7ull;

	for (unsigned i = 0; i < WORDS_MAX && at + 8 <= ri_object_end(population, o);
	     i++, at += 8) {
		uint64_t word = 0; /* what cannot be read tells nothing */
		uint32_t g = RI_NONE;

		if (ri_image_read_u64(groups->analysis->target->image, at, &word) && word)
			g = group_at(groups, word, object);
		if (g == RI_NONE && word)
			g = group_inside(groups, word, object);
		if (g != RI_NONE)
			return g;
	}
	return RI_NONE;
}

/* The vote of the objects next to it in its block, RI_NONE without a majority. */
static uint32_t find_by_block(const struct ri_leak_groups *groups, uint32_t object)
{
	const struct ri_population *population = groups->analysis->population;
	const struct ri_object *all = population->objects;
	uint32_t low = object, high = object, candidate = RI_NONE, voters = 0, votes = 0, lead = 0;

	if (all[object].block == RI_NONE)
		return RI_NONE;
	while (low && object - low < BLOCK_NEIGHBOURS && all[low - 1].block == all[object].block)
		low--;
	while (high + 1 < population->object_count && high - object < BLOCK_NEIGHBOURS &&
	       all[high + 1].block == all[object].block)
		high++;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = low; i <= high; i++) {
			uint32_t g = i == object || all[i].type != all[object].type
					     ? RI_NONE
					     : ri_object_group(groups->analysis, i);

			if (g == RI_NONE)
				continue;
			if (pass) {
				voters++;
				votes += g == candidate;
			} else if (!lead || g == candidate) {
				candidate = g;
				lead++;
			} else {
				lead--;
			}
		}
	}
	return votes * 2 > voters ? candidate : RI_NONE;
}

uint32_t ri_leak_group(const struct ri_leak_groups *groups, uint32_t object,
		       enum ri_group_clue *ret_clue)
{
	static const struct {
		enum ri_group_clue clue;
		uint32_t (*find)(const struct ri_leak_groups *groups, uint32_t object);
	} ways[] = {
		{ RI_CLUE_LINKS, find_by_links },
		{ RI_CLUE_NEIGHBOUR, find_by_neighbours },
		{ RI_CLUE_POOL, find_by_pool },
		{ RI_CLUE_BLOCK, find_by_block },
	};
	const struct ri_population *population = groups->analysis->population;
	uint32_t g = ri_object_group(groups->analysis, object);
	bool has_image = groups->analysis->target && groups->analysis->target->image;

	*ret_clue = RI_CLUE_NONE;
	if (g != RI_NONE) {
		*ret_clue = population->member_of_first &&
					    population->member_of_first[object + 1] >
						    population->member_of_first[object]
				    ? RI_CLUE_MEMBER
				    : RI_CLUE_BACK;
		return g;
	}
	for (size_t i = 0; has_image && i < sizeof(ways) / sizeof(*ways); i++) {
		g = ways[i].find(groups, object);
		if (g != RI_NONE) {
			*ret_clue = ways[i].clue;
			return g;
		}
	}
	g = groups->of_type[population->objects[object].type];
	if (g != RI_NONE)
		*ret_clue = RI_CLUE_TYPE;
	return g;
}

const char *ri_leak_group_words(enum ri_group_clue clue)
{
	static const char *const words[] = {
		[RI_CLUE_NONE] = "",
		[RI_CLUE_MEMBER] = "it is in it",
		[RI_CLUE_BACK] = "its back pointer names it",
		[RI_CLUE_LINKS] = "its stale link words lead there",
		[RI_CLUE_NEIGHBOUR] = "a link word there leads to it",
		[RI_CLUE_POOL] = "it points at what has the head of the group in it",
		[RI_CLUE_BLOCK] = "most objects of its block are in it",
		[RI_CLUE_TYPE] = "most objects of its type are in it",
	};

	return words[clue];
}

bool ri_finding_explain_leak_group(struct ri_finding *finding, const struct ri_analysis *analysis,
				   const struct ri_leak_groups *groups)
{
	enum ri_group_clue clue;
	uint32_t group = ri_leak_group(groups, finding->object, &clue);

	if (group == RI_NONE)
		return false;
	ri_finding_set_group(finding, analysis, group);
	switch (clue) {
	case RI_CLUE_MEMBER:
		if (analysis->graph->reach[finding->object] & RI_REACH_GROUP)
			ri_finding_explain(finding, "its membership in group %s borrows",
					   finding->group_name);
		else
			ri_finding_explain(finding, "it is in group %s", finding->group_name);
		break;
	case RI_CLUE_BACK:
	case RI_CLUE_LINKS:
	case RI_CLUE_NEIGHBOUR:
		ri_finding_explain(finding, "it last belonged to group %s: %s", finding->group_name,
				   ri_leak_group_words(clue));
		break;
	default:
		ri_finding_explain(finding, "it may have belonged to group %s: %s",
				   finding->group_name, ri_leak_group_words(clue));
	}
	return true;
}
