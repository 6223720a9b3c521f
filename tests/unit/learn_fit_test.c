/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Weights from counts: populations are made with known owners, counts follow from them,
 * faults are planted, and the fit must find owners and faults and accuse no sound object.
 * Numbers are pseudo-random from fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "learn/fit.h"

#define CLASSES 8
#define OBJECTS 1000

struct people {
	size_t class_count, object_count;
	struct ri_fit_class classes[CLASSES];
	uint32_t owns[CLASSES];              /* the truth */
	uint32_t holders[OBJECTS][CLASSES];
	int64_t count[OBJECTS], fault[OBJECTS];
	uint64_t slack[OBJECTS];
	struct ri_fit_row rows[OBJECTS];
	struct ri_fit_entry entries[OBJECTS * CLASSES];
	struct ri_fit_range ranges[OBJECTS];
	struct ri_fit_result result;
	uint64_t random;
};

static uint32_t draw(struct people *p, uint32_t below)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(p->random >> 33) % below;
}

static struct people *people(size_t object_count, uint64_t seed)
{
	struct people *p = ri_calloc(1, sizeof(*p));

	p->object_count = object_count;
	p->random = seed;
	return p;
}

/* A class of which every object has `least` to `most` holders. */
static size_t add_class(struct people *p, uint32_t owns, double prior, uint32_t least,
			uint32_t most)
{
	size_t k = p->class_count++;

	p->owns[k] = owns;
	p->classes[k].prior = prior;
	for (size_t o = 0; o < p->object_count; o++)
		p->holders[o][k] = least + draw(p, most - least + 1);
	return k;
}

static void settle_counts(struct people *p)
{
	for (size_t o = 0; o < p->object_count; o++) {
		p->count[o] = p->fault[o];
		for (size_t k = 0; k < p->class_count; k++)
			p->count[o] += (int64_t)p->owns[k] * p->holders[o][k];
	}
}

static void fit(struct people *p)
{
	size_t entry_count = 0;

	for (size_t o = 0; o < p->object_count; o++) {
		p->rows[o] = (struct ri_fit_row){ .count = p->count[o],
						  .objects = 1,
						  .slack = p->slack[o],
						  .first = entry_count };
		for (size_t k = 0; k < p->class_count; k++)
			if (p->holders[o][k]) {
				p->entries[entry_count++] =
					(struct ri_fit_entry){ (uint32_t)k, p->holders[o][k] };
				p->rows[o].entry_count++;
			}
	}
	p->result = ri_fit(p->rows, p->object_count, p->entries, p->classes, p->class_count,
			   p->ranges);
}

static int verdict(const struct people *p, size_t o)
{
	return p->count[o] > p->ranges[o].high ? 1 : p->count[o] < p->ranges[o].low ? -1 : 0;
}

struct tally {
	size_t faults, found, wrong, undecided;
};

static struct tally judge(const struct people *p)
{
	struct tally tally = { 0 };

	for (size_t o = 0; o < p->object_count; o++) {
		int64_t fault = p->fault[o];
		int said = verdict(p, o);

		tally.faults += fault != 0;
		if (said)
			*((fault > 0) - (fault < 0) == said ? &tally.found : &tally.wrong) += 1;
		else
			tally.undecided += p->ranges[o].low != p->ranges[o].high;
	}
	return tally;
}

/* Plants a fault on every `every`th object. */
static void plant(struct people *p, size_t every, int64_t least, int64_t most)
{
	for (size_t o = 0; o < p->object_count; o += every)
		do {
			p->fault[o] = least + draw(p, (uint32_t)(most - least + 1));
		} while (!p->fault[o]);
}

static void owners_and_borrowers_are_told_apart(void **state)
{
	struct people *p = people(500, 1);
	struct tally tally;

	(void)state;
	add_class(p, 1, 0.8, 0, 3);
	add_class(p, 0, 0.8, 0, 2);  /* a typed pointer that borrows */
	add_class(p, 1, 0.25, 0, 1); /* a membership that owns */
	add_class(p, 0, 0.5, 0, 4);
	settle_counts(p);
	fit(p);
	for (size_t k = 0; k < p->class_count; k++) {
		assert_false(p->classes[k].is_undecided);
		assert_int_equal(p->classes[k].weight, p->owns[k]);
	}
	assert_false(p->classes[0].is_moved);
	assert_true(p->classes[1].is_moved);
	assert_true(p->classes[2].is_moved);
	assert_int_equal(p->result.explained, 500);
	tally = judge(p);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(tally.undecided, 0);
	free(p);
}

static void faults_are_found_and_nobody_else_accused(void **state)
{
	static const struct {
		size_t every;
		int64_t least, most;
		size_t missed_percent;
	} cases[] = { { 100, -1, 2, 0 }, { 10, -1, 2, 2 }, { 10, 1, 1, 2 }, { 10, -1, -1, 2 },
		      { 5, -1, 2, 5 },   { 5, 1, 1, 5 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct people *p = people(OBJECTS, 7 + i);
		struct tally tally;

		add_class(p, 1, 0.8, 0, 2);
		add_class(p, 0, 0.8, 0, 1);
		add_class(p, 1, 0.5, 1, 2);
		add_class(p, 0, 0.25, 0, 1);
		add_class(p, 1, 0.6, 0, 1);
		plant(p, cases[i].every, cases[i].least, cases[i].most);
		settle_counts(p);
		fit(p);
		tally = judge(p);
		assert_int_equal(tally.wrong, 0);
		assert_true(tally.found * 100 >= tally.faults * (100 - cases[i].missed_percent));
		free(p);
	}
}

/* Past one half the faulty majority looks like the rule: then nothing may be said. */
static void when_most_are_faulty_nobody_is_accused_wrongly(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct people *p = people(600, seed);

		add_class(p, 1, 0.8, 1, 1);
		add_class(p, 1, 0.6, 0, 1);
		for (size_t o = 0; o < p->object_count; o++)
			p->fault[o] = o % 10 < 4 + seed % 3 ? -1 : 0;
		settle_counts(p);
		fit(p);
		assert_int_equal(judge(p).wrong, 0);
		free(p);
	}
}

/* Of two classes that nearly always occur together the one that the prior prefers only
 * borrows: neither moves alone without losing nearly all. */
static void pairs_move_together(void **state)
{
	struct people *p = people(600, 29);
	size_t field, list;

	(void)state;
	field = add_class(p, 0, 0.8, 1, 1);
	list = add_class(p, 1, 0.25, 1, 1);
	for (size_t o = 0; o < 30; o++)
		p->holders[o][o % 2 ? field : list] = 0;
	settle_counts(p);
	fit(p);
	assert_int_equal(p->classes[field].weight, 0);
	assert_int_equal(p->classes[list].weight, 1);
	assert_false(p->classes[list].is_undecided);
	assert_int_equal(p->result.explained, 600);
	free(p);
}

/* A hash and a list hold the same objects, one of the two owns. */
static void of_collinear_classes_the_sum_is_known(void **state)
{
	struct people *p = people(300, 3);
	size_t list, hash;
	struct tally tally;

	(void)state;
	add_class(p, 1, 0.8, 0, 3);
	list = add_class(p, 1, 0.25, 0, 1);
	hash = add_class(p, 0, 0.6, 0, 0);
	for (size_t o = 0; o < p->object_count; o++)
		p->holders[o][hash] = p->holders[o][list];
	plant(p, 50, 1, 1);
	settle_counts(p);
	fit(p);
	assert_int_equal(p->classes[list].group, p->classes[hash].group);
	assert_int_equal(p->classes[list].group_size, 2);
	assert_int_equal(p->classes[list].group_weight, 1);
	assert_true(p->classes[list].is_undecided);
	assert_true(p->classes[hash].is_undecided);
	tally = judge(p);
	assert_int_equal(tally.found, tally.faults);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(tally.undecided, 0);
	free(p);
}

/* Nearly collinear: the models tie but for a few objects, and the sum is still known. */
static void whole_models_keep_what_single_classes_would_lose(void **state)
{
	struct people *p = people(300, 5);
	size_t list, hash;
	struct tally tally;

	(void)state;
	add_class(p, 1, 0.8, 0, 3);
	list = add_class(p, 1, 0.5, 1, 1);
	hash = add_class(p, 0, 0.5, 1, 1);
	p->holders[17][hash] = 0; /* one object is in the list alone */
	p->count[17] = 0;
	plant(p, 50, 1, 2);
	settle_counts(p);
	fit(p);
	tally = judge(p);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(tally.found, tally.faults);
	assert_true(p->classes[list].is_undecided || p->classes[hash].is_undecided);
	free(p);
}

static void few_objects_decide_nothing(void **state)
{
	(void)state;
	for (size_t count = 1; count <= 2; count++) {
		struct people *p = people(count, 11);

		add_class(p, 1, 0.8, 1, 2);
		add_class(p, 0, 0.5, 1, 1);
		p->fault[0] = -1;
		settle_counts(p);
		fit(p);
		for (size_t o = 0; o < count; o++)
			assert_int_equal(verdict(p, o), 0);
		free(p);
	}
}

static void a_count_above_all_holders_is_surplus_whatever_owns(void **state)
{
	struct people *p = people(2, 11);

	(void)state;
	add_class(p, 1, 0.8, 1, 1);
	p->fault[0] = 1;
	settle_counts(p);
	fit(p);
	assert_int_equal(verdict(p, 0), 1);
	assert_int_equal(verdict(p, 1), 0);
	free(p);
}

/* "One more for all" is never learned: it would explain a leak on every object. */
static void a_constant_is_not_absorbed(void **state)
{
	struct people *p = people(400, 13);

	(void)state;
	add_class(p, 1, 0.8, 0, 3);
	plant(p, 1, 1, 1);
	settle_counts(p);
	fit(p);
	assert_int_equal(p->classes[0].weight, 1);
	assert_int_equal(p->result.explained, 0);
	free(p);
}

static void slack_is_possible_and_never_learned(void **state)
{
	struct people *p = people(200, 17);

	(void)state;
	add_class(p, 1, 0.8, 0, 3);
	p->slack[4] = 2; /* two stack slots */
	p->fault[4] = 2;
	p->slack[5] = 2;
	p->fault[5] = 3;
	settle_counts(p);
	fit(p);
	assert_int_equal(verdict(p, 4), 0);
	assert_int_equal(verdict(p, 5), 1);
	assert_int_equal(p->ranges[4].high - p->ranges[4].low, 2);
	free(p);
}

/* Stale words outvote the few that hold: what was learned of a mixture proves no surplus. */
static void holders_of_a_mixture_may_own_all_the_same(void **state)
{
	struct people *p = people(300, 31);
	size_t mixture;

	(void)state;
	add_class(p, 1, 0.8, 1, 2);
	mixture = add_class(p, 0, 0.5, 0, 1);
	p->classes[mixture].is_mixture = true;
	p->holders[4][mixture] = 1;
	p->fault[4] = 1;
	p->fault[5] = 1;
	p->holders[5][mixture] = 0;
	settle_counts(p);
	fit(p);
	assert_int_equal(p->classes[mixture].weight, 0);
	assert_int_equal(verdict(p, 4), 0);
	assert_int_equal(verdict(p, 5), 1);
	free(p);
}

static void the_same_input_gives_the_same_model(void **state)
{
	struct people *a = people(500, 23), *b = people(500, 23);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct people *p = i ? b : a;

		for (size_t k = 0; k < CLASSES; k++)
			add_class(p, k % 3 == 0, 0.5, 0, 1 + (uint32_t)k % 3);
		plant(p, 4, -1, 2);
		settle_counts(p);
		fit(p);
	}
	assert_memory_equal(a->ranges, b->ranges, sizeof(a->ranges));
	assert_memory_equal(a->classes, b->classes, sizeof(a->classes));
	free(a);
	free(b);
}

/* Hundreds of classes that nothing decides: more models tie than are kept, and no object is
 * accused for what was left out. */
static void more_ties_than_are_kept_accuse_nobody(void **state)
{
	enum { TIES = 400, EACH = 4 };
	struct ri_fit_class *classes = ri_calloc(2 * TIES, sizeof(*classes));
	struct ri_fit_entry *entries = ri_calloc(2 * TIES * EACH, sizeof(*entries));
	struct ri_fit_row *rows = ri_calloc(TIES * EACH, sizeof(*rows));
	struct ri_fit_range *ranges = ri_calloc(TIES * EACH, sizeof(*ranges));
	struct ri_fit_result result;
	size_t entry_count = 0;

	(void)state;
	for (uint32_t k = 0; k < 2 * TIES; k++)
		classes[k].prior = 0.5;
	for (uint32_t t = 0; t < TIES; t++)
		for (uint32_t i = 0; i < EACH; i++) {
			struct ri_fit_row *row = &rows[t * EACH + i];

			/* two classes on the same objects, but for one that has the first alone */
			*row = (struct ri_fit_row){ .count = 1,
						    .objects = 1,
						    .first = entry_count,
						    .entry_count = i ? 2 : 1 };
			entries[entry_count++] = (struct ri_fit_entry){ 2 * t, 1 };
			if (i)
				entries[entry_count++] = (struct ri_fit_entry){ 2 * t + 1, 1 };
		}
	result = ri_fit(rows, TIES * EACH, entries, classes, 2 * TIES, ranges);
	assert_true(result.model_count <= 257);
	for (size_t r = 0; r < TIES * EACH; r++) {
		assert_true(ranges[r].low <= 1);
		assert_true(ranges[r].high >= 1);
	}
	free(classes);
	free(entries);
	free(rows);
	free(ranges);
}

/* Each object is in the one list, nearly each has one owner, of one of three kinds: the list
 * would explain most of the counts with one weight, and its children a parent. */
static void what_all_have_does_not_pass_for_their_owners(void **state)
{
	struct people *p = people(140, 11);
	size_t list = add_class(p, 0, 0.3, 1, 1), back = add_class(p, 0, 0.1, 1, 1);
	size_t target = add_class(p, 1, 0.8, 0, 0), left = add_class(p, 1, 0.8, 0, 0);
	size_t right = add_class(p, 1, 0.8, 0, 0), up = add_class(p, 0, 0.8, 0, 0);
	size_t via = add_class(p, 1, 0.8, 0, 0);
	const size_t owners[] = { target, left, via, target, right, via };

	(void)state;
	for (size_t o = 0; o < p->object_count; o++) {
		p->holders[o][owners[o % 6]] = 1;
		if (o % 4 == 0)
			p->holders[o][via]++;
		if (o % 9 < 2)
			p->holders[o][up] = 1 + draw(p, 2);
	}
	p->fault[20] = p->fault[40] = 1;
	p->fault[60] = -1;
	settle_counts(p);
	fit(p);
	for (size_t k = 0; k < p->class_count; k++)
		assert_int_equal(p->classes[k].weight, p->owns[k]);
	assert_int_equal(p->result.explained, p->object_count - 3);
	assert_false(p->classes[list].is_undecided || p->classes[back].is_undecided);
	assert_int_equal(verdict(p, 20), 1);
	assert_int_equal(verdict(p, 60), -1);
	free(p);
}

static void nothing_to_fit_is_no_trouble(void **state)
{
	struct ri_fit_row row = { .count = 3, .objects = 1 };
	struct ri_fit_range range;
	struct ri_fit_result result;

	(void)state;
	result = ri_fit(NULL, 0, NULL, NULL, 0, NULL);
	assert_int_equal(result.objects, 0);
	result = ri_fit(&row, 1, NULL, NULL, 0, &range);
	assert_int_equal(result.objects, 1);
	assert_int_equal(result.explained, 0);
	assert_int_equal(range.low, 0);
	assert_int_equal(range.high, 0);
}

/* What a class' cheapest other model is said to mean, against counting it out. */
static void expect_other(const struct people *p, size_t k)
{
	const struct ri_fit_other *other = &p->classes[k].other;
	uint32_t weights[CLASSES];
	uint64_t numbers[3] = { 0 };
	bool changes_it = false;

	for (size_t c = 0; c < p->class_count; c++)
		weights[c] = p->classes[c].weight;
	assert_in_range(other->change_count, 1, RI_FIT_CHANGES);
	for (uint32_t i = 0; i < other->change_count; i++) {
		assert_int_not_equal(weights[other->changes[i].class_index],
				     other->changes[i].weight);
		weights[other->changes[i].class_index] = other->changes[i].weight;
		changes_it |= other->changes[i].class_index == k;
	}
	assert_true(changes_it);
	for (size_t o = 0; o < p->object_count; o++) {
		int64_t sum = 0;

		for (size_t c = 0; c < p->class_count; c++)
			sum += (int64_t)weights[c] * p->holders[o][c];
		numbers[p->count[o] > sum ? 1 : p->count[o] < sum ? 2 : 0]++;
	}
	assert_int_equal(other->explained, numbers[0]);
	assert_int_equal(other->surplus, numbers[1]);
	assert_int_equal(other->deficit, numbers[2]);
}

static void other_models_are_as_told(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct people *p = people(200, seed);

		add_class(p, 1, 0.6, 0, 2);
		add_class(p, seed & 1, 0.3, 0, 3);
		add_class(p, 0, 0.5, 1, 4);
		plant(p, 9, -1, 2);
		settle_counts(p);
		fit(p);
		for (size_t k = 0; k < p->class_count; k++) {
			assert_true(p->classes[k].other.is_there);
			expect_other(p, k);
		}
		assert_int_equal(p->result.explained + p->result.surplus + p->result.deficit, 200);
		free(p);
	}
}

/* Two classes that are together on all objects but one: which of them owns is open, and the
 * other model swaps them. */
static void the_other_of_two_that_go_together(void **state)
{
	struct people *p = people(30, 3);

	(void)state;
	add_class(p, 1, 0.5, 1, 1);
	add_class(p, 0, 0.5, 1, 1);
	p->holders[7][1] = 0;
	settle_counts(p);
	fit(p);
	assert_int_equal(p->classes[1].other.change_count, 2);
	assert_int_equal(p->classes[1].other.explained, 29);
	assert_int_equal(p->classes[1].other.surplus, 1);
	expect_other(p, 0);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_models_are_as_told),
		cmocka_unit_test(the_other_of_two_that_go_together),
		cmocka_unit_test(owners_and_borrowers_are_told_apart),
		cmocka_unit_test(faults_are_found_and_nobody_else_accused),
		cmocka_unit_test(when_most_are_faulty_nobody_is_accused_wrongly),
		cmocka_unit_test(pairs_move_together),
		cmocka_unit_test(of_collinear_classes_the_sum_is_known),
		cmocka_unit_test(whole_models_keep_what_single_classes_would_lose),
		cmocka_unit_test(few_objects_decide_nothing),
		cmocka_unit_test(a_count_above_all_holders_is_surplus_whatever_owns),
		cmocka_unit_test(a_constant_is_not_absorbed),
		cmocka_unit_test(slack_is_possible_and_never_learned),
		cmocka_unit_test(holders_of_a_mixture_may_own_all_the_same),
		cmocka_unit_test(the_same_input_gives_the_same_model),
		cmocka_unit_test(more_ties_than_are_kept_accuse_nobody),
		cmocka_unit_test(what_all_have_does_not_pass_for_their_owners),
		cmocka_unit_test(nothing_to_fit_is_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
