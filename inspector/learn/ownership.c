/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learns type by type: rows, a fit, and what it says about each object.
 *
 * A prior says how likely a holder of a class owns before any object was looked at: a
 * plain typed pointer mostly does, a list link or a pointer named "parent" mostly does not.
 * Priors decide where objects do not; a class whose weight is not as its prior has it was
 * moved by the population.
 *
 * One container may be unlike the rest of its class (a table of borrowers among tables of
 * owners).  After a fit, one that holds many objects, of which half do not fit, becomes a
 * class of its own, and the type is fitted again.  Whether an object fits is asked of the best
 * model alone: the odd container may be just what made the others' weight contested.
 *
 * A constant is not fitted along with the weights: it would explain a leak.  Where holders do
 * not explain the counts as they stand, two conventions are tried: counts of the further owners
 * alone, 0 for an object with one, and counts of one more than memory shows.  What they would
 * explain is told (bias), and for the caller to act on.
 *
 * Blind spots: other constants; a get that is missing on every holder of a class looks like
 * borrowing, and is told as moved.
 */
#include "learn/ownership.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "learn/rows.h"

#define ROUNDS_MAX 4
#define SPLIT_OBJECTS_MIN 8
#define SPLITS_MAX 256
#define NOT_EXPLAINED_OBJECTS_MIN 10
#define NOT_EXPLAINED_DIVISOR 10 /* fewer than one in so many explained: RI_LEARNED_NOT */
#define BIAS_OBJECTS_MIN 10
#define BIAS_UNEXPLAINED_MIN 5   /* fewer may be faults */
#define BIAS_ZEROS_MIN 3         /* of objects that count 0 and are held */
#define BIAS_GAIN 3              /* so many times fewer objects must stay unexplained */

/* ---- priors ----------------------------------------------------------------- */

#define PRIOR_INTERIOR 0.1
#define PRIOR_BACK 0.3 /* at most, of members named like these: */

/* Whether the last part of a class' name ("conn.parent") has a word that members
 * which do not own tend to have. */
static bool is_named_like_borrower(const char *name)
{
	static const char *const words[] = { "parent", "owner", "weak", "cache", "last", "back",
					     "prev",   "next",  "head", "tail" };
	const char *last = strrchr(name, '.'), *p = last ? last + 1 : name;

	while (*p) {
		size_t length = 0;

		while (isalpha((unsigned char)p[length]))
			length++;
		for (size_t i = 0; length && i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i]) == length && !strncasecmp(p, words[i], length))
				return true;
		p += length ? length : 1;
	}
	return false;
}

static double prior_of_kind(enum ri_class_kind kind)
{
	switch (kind) {
	case RI_CLASS_FIELD:
	case RI_CLASS_PLAIN_FIELD:
		return 0.8;
	case RI_CLASS_VARIABLE:
	case RI_CLASS_ARRAY:
		return 0.6;
	case RI_CLASS_MEMBERSHIP:
		return 0.25;
	default:
		return 0.5;
	}
}

static double prior_of(const struct ri_holder_class *class, const struct ri_rows_key *key)
{
	double prior = prior_of_kind(class->kind);

	if (key->target_offset)
		return PRIOR_INTERIOR;
	if (prior > PRIOR_BACK &&
	    (class->kind == RI_CLASS_FIELD || class->kind == RI_CLASS_PLAIN_FIELD) &&
	    is_named_like_borrower(class->name))
		return PRIOR_BACK;
	return prior;
}

/* ---- containers that are unlike their class --------------------------------- */

/* A container of failing objects, by holder class and node. */
struct container {
	struct ri_rows_split split;
	uint64_t failing, all;
};

/* The objects of one type under way. */
struct pupil {
	const struct ri_ownership_input *input;
	const uint32_t *objects; /* objects[0 .. object_count), judged ones alone */
	size_t object_count;
	ri_rows_splits splits;
	int64_t bias;            /* added to all counts */
	struct ri_rows rows;
	struct ri_fit_class *classes;
	struct ri_fit_range *ranges; /* per row */
	struct ri_fit_result result;
};

static int verdict_of_row(const struct pupil *pupil, uint32_t r)
{
	int64_t count = pupil->rows.rows.items[r].count;

	return count > pupil->ranges[r].high ? 1 : count < pupil->ranges[r].low ? -1 : 0;
}

static bool may_be_container(enum ri_class_kind kind)
{
	return kind == RI_CLASS_ARRAY || kind == RI_CLASS_PLAIN_FIELD || kind == RI_CLASS_FIELD ||
	       kind == RI_CLASS_TAIL;
}

static int by_split(const void *a, const void *b)
{
	const struct container *x = a, *y = b;

	if (x->split.holder_class != y->split.holder_class)
		return x->split.holder_class < y->split.holder_class ? -1 : 1;
	return x->split.container < y->split.container ? -1
						       : x->split.container > y->split.container;
}

typedef RI_VEC(struct container) container_list;

/* Adds an entry per holder of object `o` that lies in a container not split off yet. */
static void list_containers_of(const struct pupil *pupil, uint32_t o, container_list *list)
{
	const struct ri_ownership_input *input = pupil->input;
	const struct ri_holders *holders = input->holders;

	for (uint64_t i = holders->in_first[o]; i < holders->in_first[o + 1]; i++) {
		uint64_t e = holders->in_edges[i];
		struct ri_rows_key key;

		if (ri_rows_role_of(input, &pupil->splits, o, e, &key) != RI_ROWS_LEARNED ||
		    key.container != RI_NONE ||
		    !may_be_container(input->shapes->classes.items[key.holder_class].kind))
			continue;
		*ri_push(list) = (struct container){
			{ key.holder_class, ri_holders_source(holders, e) }, 1, 0
		};
	}
}

/* The containers that hold enough failing objects, ascending. */
static void find_suspects(const struct pupil *pupil, container_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < pupil->object_count; i++)
		if (!pupil->ranges[pupil->rows.row_of.items[i]].is_explained)
			list_containers_of(pupil, pupil->objects[i], list);
	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_split);
	for (size_t i = 0, next; i < list->count; i = next) {
		struct container container = list->items[i];

		for (next = i + 1; next < list->count &&
				   !by_split(&list->items[next], &container);
		     next++)
			container.failing++;
		if (container.failing * 2 >= SPLIT_OBJECTS_MIN)
			list->items[kept++] = container;
	}
	list->count = kept;
}

/* Counts all holders in the containers; holders_of[class] those of the whole class. */
static void count_holders(const struct pupil *pupil, container_list *suspects,
			  uint64_t *holders_of)
{
	container_list of_object = { 0 };

	for (size_t i = 0; i < pupil->object_count; i++) {
		of_object.count = 0;
		list_containers_of(pupil, pupil->objects[i], &of_object);
		for (size_t k = 0; k < of_object.count; k++) {
			struct container *found =
				bsearch(&of_object.items[k], suspects->items, suspects->count,
					sizeof(*suspects->items), by_split);

			holders_of[of_object.items[k].split.holder_class]++;
			if (found)
				found->all++;
		}
	}
	ri_vec_deinit(&of_object);
}

/* Splits off the containers that are unlike their class; false: there are none. */
static bool split_containers(struct pupil *pupil)
{
	container_list suspects = { 0 };
	size_t before = pupil->splits.count;
	uint64_t *holders_of;

	find_suspects(pupil, &suspects);
	if (!suspects.count) {
		ri_vec_deinit(&suspects);
		return false;
	}
	holders_of = ri_calloc(pupil->input->shapes->classes.count, sizeof(*holders_of));
	count_holders(pupil, &suspects, holders_of);
	for (size_t i = 0; i < suspects.count && pupil->splits.count < SPLITS_MAX; i++) {
		const struct container *container = &suspects.items[i];

		if (container->all >= SPLIT_OBJECTS_MIN &&
		    container->failing * 2 >= container->all &&
		    container->all * 2 < holders_of[container->split.holder_class])
			*ri_push(&pupil->splits) = container->split;
	}
	free(holders_of);
	ri_vec_deinit(&suspects);
	if (pupil->splits.count)
		qsort(pupil->splits.items, pupil->splits.count, sizeof(*pupil->splits.items),
		      ri_rows_compare_splits);
	return pupil->splits.count > before;
}

/* ---- one type --------------------------------------------------------------- */

/* Whether all holders of a class are one thing: those at one offset of untyped blocks of one
 * size are a mixture, in which stale words may outvote a few that hold. */
static bool is_one_thing(enum ri_class_kind kind)
{
	return kind == RI_CLASS_FIELD || kind == RI_CLASS_PLAIN_FIELD ||
	       kind == RI_CLASS_VARIABLE || kind == RI_CLASS_ARRAY ||
	       kind == RI_CLASS_MEMBERSHIP;
}

static void drop_fit(struct pupil *pupil)
{
	ri_rows_deinit(&pupil->rows);
	free(pupil->classes);
	free(pupil->ranges);
}

static void fit_pupil(struct pupil *pupil)
{
	const struct ri_shapes *shapes = pupil->input->shapes;
	struct ri_rows *rows = &pupil->rows;

	ri_rows_init(rows, pupil->input, pupil->objects, pupil->object_count, &pupil->splits);
	pupil->classes = ri_calloc(rows->classes.count + 1, sizeof(*pupil->classes));
	pupil->ranges = ri_calloc(rows->rows.count + 1, sizeof(*pupil->ranges));
	for (size_t k = 0; k < rows->classes.count; k++) {
		const struct ri_rows_key *key = &rows->classes.items[k];

		const struct ri_holder_class *class = &shapes->classes.items[key->holder_class];

		pupil->classes[k].prior = prior_of(class, key);
		pupil->classes[k].is_mixture = !is_one_thing(class->kind) && !key->target_offset;
	}
	for (size_t r = 0; pupil->bias && r < rows->rows.count; r++)
		rows->rows.items[r].count += pupil->bias;
	pupil->result = ri_fit(rows->rows.items, rows->rows.count, rows->entries.items,
			       pupil->classes, rows->classes.count, pupil->ranges);
}

static enum ri_learned_state state_of(const struct ri_fit_result *result)
{
	if (result->explained * 2 >= result->objects)
		return RI_LEARNED_FITS;
	if (result->objects >= NOT_EXPLAINED_OBJECTS_MIN &&
	    result->explained * NOT_EXPLAINED_DIVISOR < result->objects)
		return RI_LEARNED_NOT;
	return RI_LEARNED_PARTLY;
}

/* What the holders of the i-th object are worth, and what it counts against that. */
static void record_object(const struct pupil *pupil, size_t i, struct ri_learned_type *type,
			  struct ri_fit_range *ret)
{
	uint32_t r = pupil->rows.row_of.items[i];
	int verdict = verdict_of_row(pupil, r);

	ret->low = pupil->ranges[r].low + pupil->rows.base_of.items[i];
	ret->high = pupil->ranges[r].high + pupil->rows.base_of.items[i];
	if (verdict)
		++*(verdict > 0 ? &type->surplus : &type->deficit);
	else if (ret->low != ret->high)
		type->undecided++;
}

static uint32_t clamp(int64_t value)
{
	return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* The flags of a holder of learned class `k`.  What borrows keeps nothing reachable; where
 * that was learned of a mixture, it may. */
static uint32_t flags_of(const struct pupil *pupil, enum ri_learned_state state, uint32_t k)
{
	const struct ri_fit_class *class = &pupil->classes[k];
	uint32_t holder_class = pupil->rows.classes.items[k].holder_class;

	if (state != RI_LEARNED_FITS || class->is_undecided || class->is_contested)
		return RI_EDGE_POSSIBLE;
	if (class->weight)
		return 0;
	return is_one_thing(pupil->input->shapes->classes.items[holder_class].kind)
		       ? RI_EDGE_BORROWS
		       : RI_EDGE_POSSIBLE;
}

static bool is_unowned(const struct pupil *pupil, uint32_t o)
{
	return pupil->input->population->objects[o].state & RI_OBJECT_COUNT_DEAD;
}

/* Weighs the holders of the i-th object by what was learned. */
static void apply_to_object(const struct pupil *pupil, enum ri_learned_state state, size_t i,
			    const struct ri_fit_range *range)
{
	struct ri_holders *holders = pupil->input->holders;
	uint32_t o = pupil->objects[i];

	for (uint64_t at = holders->in_first[o]; at < holders->in_first[o + 1]; at++) {
		uint64_t e = holders->in_edges[at];
		struct ri_edge *edge = &holders->edges[e];
		struct ri_rows_key key;

		switch (ri_rows_role_of(pupil->input, &pupil->splits, o, e, &key)) {
		case RI_ROWS_LEARNED:
			edge->flags &= ~(uint32_t)(RI_EDGE_POSSIBLE | RI_EDGE_BORROWS);
			edge->flags |= flags_of(pupil, state, ri_rows_find_class(&pupil->rows, &key));
			/* what borrows an object that nothing owns is what keeps it: a cache */
			if (edge->flags & RI_EDGE_BORROWS && is_unowned(pupil, o))
				edge->flags ^= RI_EDGE_BORROWS | RI_EDGE_POSSIBLE;
			break;
		case RI_ROWS_POSSIBLE:
			edge->flags &= ~(uint32_t)RI_EDGE_BORROWS;
			edge->flags |= RI_EDGE_POSSIBLE;
			break;
		default:
			break;
		}
	}
	if (state == RI_LEARNED_FITS) {
		holders->certain[o] = clamp(range->low);
		holders->possible[o] = clamp(range->high - clamp(range->low));
	} else {
		holders->certain[o] = clamp(pupil->rows.base_of.items[i]);
		holders->possible[o] = state == RI_LEARNED_NOT ? UINT32_MAX
							       : clamp(range->high);
	}
}

static void keep_classes(struct ri_ownership *ownership, const struct pupil *pupil,
			 struct ri_learned_type *type)
{
	uint32_t *place = ri_malloc((pupil->rows.classes.count + 1) * sizeof(*place));

	type->class_first = (uint32_t)ownership->classes.count;
	for (size_t k = 0; k < pupil->rows.classes.count; k++) {
		const struct ri_rows_key *key = &pupil->rows.classes.items[k];

		if (pupil->rows.alias_of[k] != k)
			continue;
		place[k] = type->class_count++;
		*ri_push(&ownership->classes) = (struct ri_learned_class){
			key->holder_class, key->container, key->target_offset, pupil->classes[k]
		};
	}
	for (uint32_t k = 0; k < type->class_count; k++) {
		struct ri_fit_other *other =
			&ownership->classes.items[type->class_first + k].fit.other;

		for (uint32_t i = 0; i < other->change_count && i < RI_FIT_CHANGES; i++)
			other->changes[i].class_index = place[other->changes[i].class_index];
	}
	free(place);
}

static void fit_with_splits(struct pupil *pupil)
{
	fit_pupil(pupil);
	for (unsigned round = 1; round < ROUNDS_MAX && split_containers(pupil); round++) {
		drop_fit(pupil);
		fit_pupil(pupil);
	}
}

/* How many objects' counts holders explain with `bias` added. */
static uint64_t explained_with(const struct pupil *pupil, int64_t bias)
{
	struct pupil other = { .input = pupil->input, .objects = pupil->objects,
			       .object_count = pupil->object_count, .bias = bias };
	uint64_t explained;

	fit_with_splits(&other);
	explained = other.result.explained;
	drop_fit(&other);
	ri_vec_deinit(&other.splits);
	return explained;
}

/* What the counts of the type are off by as a convention, or 0; see ri_learned_type. */
static int8_t find_bias(const struct pupil *pupil)
{
	uint64_t objects = pupil->result.objects, explained = pupil->result.explained;
	uint64_t other, zeros = 0;

	if (objects < BIAS_OBJECTS_MIN || objects - explained < BIAS_UNEXPLAINED_MIN)
		return 0;
	for (size_t i = 0; i < pupil->object_count; i++)
		zeros += pupil->input->population->objects[pupil->objects[i]].count == 0;
	if (zeros >= BIAS_ZEROS_MIN && zeros * 20 >= objects) {
		other = explained_with(pupil, 1);
		if (other * 4 >= objects * 3 && (objects - other) * BIAS_GAIN <= objects - explained)
			return 1;
	}
	if (explained * 2 >= objects)
		return 0;
	other = explained_with(pupil, -1);
	return other * 20 >= objects * 17 ? -1 : 0;
}

/* Whether the row counts just what its holders are worth, rather than something in a range. */
static bool is_told(const struct pupil *pupil, uint32_t r)
{
	return !verdict_of_row(pupil, r) && pupil->ranges[r].low == pupil->ranges[r].high;
}

/* Whether the i-th object counts what it has to if the type's counts are as `other` has them, and
 * not as they stand.  One that nothing owns is left out: that a hidden reference keeps it can
 * be said of whatever leaked. */
static bool is_gained(const struct pupil *pupil, const struct pupil *other, size_t i)
{
	uint32_t r = pupil->rows.row_of.items[i];

	return verdict_of_row(pupil, r) && pupil->ranges[r].high > 0 &&
	       is_told(other, other->rows.row_of.items[i]);
}

/* Where counts that start elsewhere would explain more objects, those are marked. */
static void weigh_against_bias(struct ri_ownership *ownership, const struct pupil *pupil,
			       int64_t bias)
{
	struct pupil other = { .input = pupil->input, .objects = pupil->objects,
			       .object_count = pupil->object_count, .bias = bias };
	size_t gained = 0, lost = 0;

	fit_with_splits(&other);
	for (size_t i = 0; i < pupil->object_count; i++) {
		gained += is_gained(pupil, &other, i);
		lost += is_told(pupil, pupil->rows.row_of.items[i]) &&
			!is_told(&other, other.rows.row_of.items[i]);
	}
	for (size_t i = 0; gained > lost && i < pupil->object_count; i++)
		ownership->ranges[pupil->objects[i]].is_otherwise |= is_gained(pupil, &other, i);
	drop_fit(&other);
	ri_vec_deinit(&other.splits);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void keep_owning(struct ri_ownership *ownership, struct ri_learned_type *type)
{
	type->owning_first = (uint32_t)ownership->owning.count;
	for (uint32_t k = 0; k < type->class_count; k++) {
		const struct ri_learned_class *class =
			&ownership->classes.items[type->class_first + k];

		if (!class->target_offset && !class->fit.is_rare && !class->fit.is_undecided &&
		    class->fit.weight)
			*ri_push(&ownership->owning) = class->holder_class;
	}
	type->owning_count = (uint32_t)ownership->owning.count - type->owning_first;
	if (type->owning_count)
		qsort(&ownership->owning.items[type->owning_first], type->owning_count,
		      sizeof(*ownership->owning.items), by_number);
}

static void learn_type(struct ri_ownership *ownership, const struct ri_ownership_input *input,
		       uint32_t t, enum ri_ownership_wish wish, const uint32_t *objects,
		       size_t object_count)
{
	struct pupil pupil = { .input = input, .objects = objects, .object_count = object_count };
	struct ri_learned_type type = { .type = t };

	fit_with_splits(&pupil);
	if (wish == RI_OWNERSHIP_APPLY)
		type.bias = find_bias(&pupil);
	type.result = pupil.result;
	type.state = state_of(&pupil.result);
	for (size_t i = 0; i < object_count; i++) {
		struct ri_fit_range *range = &ownership->ranges[objects[i]];

		record_object(&pupil, i, &type, range);
		if (wish == RI_OWNERSHIP_APPLY)
			apply_to_object(&pupil, type.state, i, range);
	}
	for (int64_t bias = -1; wish == RI_OWNERSHIP_APPLY && bias <= 1; bias += 2)
		if (object_count >= BIAS_OBJECTS_MIN && type.surplus + type.deficit)
			weigh_against_bias(ownership, &pupil, bias);
	keep_classes(ownership, &pupil, &type);
	keep_owning(ownership, &type);
	*ri_push(&ownership->types) = type;
	drop_fit(&pupil);
	ri_vec_deinit(&pupil.splits);
}

/* ---- all types -------------------------------------------------------------- */

struct ri_ownership *ri_ownership_learn(const struct ri_ownership_input *input,
					const uint8_t *wishes)
{
	const struct ri_population *population = input->population;
	struct ri_ownership *ownership = ri_calloc(1, sizeof(*ownership));
	size_t *first = ri_calloc(population->type_count + 2, sizeof(*first));
	uint32_t *objects = ri_calloc(population->object_count + 1, sizeof(*objects));

	/* objects[first[t] .. first[t + 1]): the judged ones of type t */
	for (uint32_t o = 0; o < population->object_count; o++)
		if (wishes[population->objects[o].type] && ri_rows_is_judged(population, o))
			first[population->objects[o].type + 2]++;
	for (size_t t = 0; t < population->type_count; t++)
		first[t + 2] += first[t + 1];
	for (uint32_t o = 0; o < population->object_count; o++)
		if (wishes[population->objects[o].type] && ri_rows_is_judged(population, o))
			objects[first[population->objects[o].type + 1]++] = o;
	ownership->object_count = population->object_count;
	ownership->ranges = ri_calloc(population->object_count + 1, sizeof(*ownership->ranges));
	for (size_t o = 0; o < population->object_count; o++)
		ownership->ranges[o].high = -1;
	for (uint32_t t = 0; t < population->type_count; t++)
		if (first[t + 1] > first[t])
			learn_type(ownership, input, t, wishes[t], &objects[first[t]],
				   first[t + 1] - first[t]);
	free(objects);
	free(first);
	return ownership;
}

void ri_ownership_destroy(struct ri_ownership *ownership)
{
	if (!ownership)
		return;
	ri_vec_deinit(&ownership->types);
	ri_vec_deinit(&ownership->classes);
	ri_vec_deinit(&ownership->owning);
	free(ownership->ranges);
	free(ownership);
}

static int by_type(const void *key, const void *item)
{
	uint32_t type = *(const uint32_t *)key, other = ((const struct ri_learned_type *)item)->type;

	return type < other ? -1 : type > other;
}

const struct ri_learned_type *ri_ownership_find(const struct ri_ownership *ownership,
						uint32_t type)
{
	return ownership && ownership->types.count
		       ? bsearch(&type, ownership->types.items, ownership->types.count,
				 sizeof(*ownership->types.items), by_type)
		       : NULL;
}

bool ri_ownership_is_owning(const struct ri_ownership *ownership, uint32_t type,
			    uint32_t holder_class)
{
	const struct ri_learned_type *learned = ri_ownership_find(ownership, type);

	return learned && learned->owning_count &&
	       bsearch(&holder_class, &ownership->owning.items[learned->owning_first],
		       learned->owning_count, sizeof(*ownership->owning.items), by_number);
}
