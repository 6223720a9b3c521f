/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ownership learned from the objects of a small hand-made target: sessions that
 * connections hold through one typed pointer and one void pointer, tables, a group.
 */
#include "holders_world.h"

#include "learn/ownership.h"

#define CONNS 60
#define STRIDE 0x60ull
#define CONN_ADDR(i) (HEAP + (uint64_t)(i) * STRIDE)
#define SESSION_ADDR(i) (HEAP + 0x4000 + (uint64_t)(i) * STRIDE)
#define TABLE_ADDR(i) (HEAP + 0x8000 + (uint64_t)(i) * 0x1000)

struct lesson {
	struct world w;
	struct ri_ownership *ownership;
	uint32_t sessions;       /* the first session's index */
};

/* CONNS connections, each pointing at a session of its own, which counts 1. */
static void set_up(struct lesson *lesson)
{
	struct world *w = &lesson->w;

	world_init(w);
	for (uint64_t i = 0; i < CONNS; i++) {
		add_block_object(w, CONN_ADDR(i), CONN);
		poke(w, CONN_ADDR(i) + 16, SESSION_ADDR(i));
	}
	lesson->sessions = (uint32_t)w->objects.count;
	for (uint64_t i = 0; i < CONNS; i++)
		add_block_object(w, SESSION_ADDR(i), SESSION);
	lesson->ownership = NULL;
}

static struct ri_object *session(struct lesson *lesson, uint32_t i)
{
	return &lesson->w.objects.items[lesson->sessions + i];
}

static const struct ri_learned_type *learn(struct lesson *lesson, enum ri_ownership_wish wish)
{
	struct world *w = &lesson->w;
	uint8_t wishes[WORLD_TYPE_COUNT] = { [SESSION] = wish };
	struct ri_ownership_input input;

	ri_ownership_destroy(lesson->ownership);
	world_take_census(w);
	input = (struct ri_ownership_input){ w->target.image, &w->heap, &w->population, w->shapes,
					     w->holders };
	lesson->ownership = ri_ownership_learn(&input, wishes);
	assert_null(ri_ownership_find(lesson->ownership, CONN));
	return ri_ownership_find(lesson->ownership, SESSION);
}

static void tear_down(struct lesson *lesson)
{
	ri_ownership_destroy(lesson->ownership);
	world_deinit(&lesson->w);
}

/* The learned class of the holder class called `name`; the first with a container if
 * `split`. */
static const struct ri_fit_class *class_named(const struct lesson *lesson, const char *name,
					      bool split)
{
	for (size_t i = 0; i < lesson->ownership->classes.count; i++) {
		const struct ri_learned_class *class = &lesson->ownership->classes.items[i];

		if (!strcmp(lesson->w.shapes->classes.items[class->holder_class].name, name) &&
		    (class->container != RI_NONE) == split)
			return &class->fit;
	}
	return NULL;
}

static uint32_t certain(const struct lesson *lesson, uint32_t i)
{
	return lesson->w.holders->certain[lesson->sessions + i];
}

static uint32_t possible(const struct lesson *lesson, uint32_t i)
{
	return lesson->w.holders->possible[lesson->sessions + i];
}

static const struct ri_edge *field_edge(const struct lesson *lesson, uint32_t i)
{
	return find_edge(&lesson->w, i, 2, lesson->sessions + i);
}

static void looking_changes_nothing(void **state)
{
	struct lesson lesson;
	const struct ri_learned_type *type;

	(void)state;
	set_up(&lesson);
	for (uint32_t i = 0; i < CONNS; i++)
		session(&lesson, i)->count = 0; /* the field borrows */
	type = learn(&lesson, RI_OWNERSHIP_LOOK);
	assert_int_equal(type->state, RI_LEARNED_FITS);
	assert_int_equal(type->result.objects, CONNS);
	assert_int_equal(class_named(&lesson, "conn.session", false)->weight, 0);
	assert_true(class_named(&lesson, "conn.session", false)->is_moved);
	assert_int_equal(certain(&lesson, 0), 1);
	assert_false(field_edge(&lesson, 0)->flags & RI_EDGE_BORROWS);
	learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_int_equal(certain(&lesson, 0), 0);
	assert_int_equal(possible(&lesson, 0), 0);
	assert_true(field_edge(&lesson, 0)->flags & RI_EDGE_BORROWS);
	tear_down(&lesson);
}

static void an_untyped_place_that_owns_is_learned(void **state)
{
	struct lesson lesson;
	const struct ri_learned_type *type;

	(void)state;
	set_up(&lesson);
	for (uint32_t i = 0; i < CONNS; i += 2) {
		poke(&lesson.w, CONN_ADDR(i) + 24, SESSION_ADDR(i));
		session(&lesson, i)->count = 2;
	}
	session(&lesson, 4)->count = 3; /* one leaked reference */
	session(&lesson, 5)->count = 0; /* one put too many */
	type = learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_int_equal(class_named(&lesson, "conn.cookie", false)->weight, 1);
	assert_int_equal(type->surplus, 1);
	assert_int_equal(type->deficit, 1);
	assert_int_equal(type->undecided, 0);
	assert_int_equal(certain(&lesson, 4), 2);
	assert_int_equal(possible(&lesson, 4), 0);
	assert_int_equal(certain(&lesson, 5), 1);
	assert_false(find_edge(&lesson.w, 4, 3, lesson.sessions + 4)->flags & RI_EDGE_POSSIBLE);
	tear_down(&lesson);
}

static void a_stack_slot_stays_possible(void **state)
{
	struct lesson lesson;

	(void)state;
	set_up(&lesson);
	poke(&lesson.w, SP + 64, SESSION_ADDR(7));
	session(&lesson, 7)->count = 2;
	assert_int_equal(learn(&lesson, RI_OWNERSHIP_APPLY)->surplus, 0);
	assert_int_equal(certain(&lesson, 7), 1);
	assert_int_equal(possible(&lesson, 7), 1);
	tear_down(&lesson);
}

static void what_is_declared_is_not_learned(void **state)
{
	struct lesson lesson;
	const struct ri_learned_type *type;

	(void)state;
	set_up(&lesson);
	world_class(&lesson.w, "conn.session")->is_declared = true;
	for (uint32_t i = 0; i < CONNS; i++)
		session(&lesson, i)->count = 0;
	type = learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_null(class_named(&lesson, "conn.session", false));
	assert_int_equal(type->result.explained, 0);
	assert_int_equal(type->state, RI_LEARNED_NOT);
	assert_int_equal(certain(&lesson, 0), 1); /* as declared */
	tear_down(&lesson);
}

/* Holders explain no count: perhaps it is no reference count, and none is too high. */
static void counts_that_nothing_explains_make_no_findings(void **state)
{
	struct lesson lesson;
	const struct ri_learned_type *type;

	(void)state;
	set_up(&lesson);
	for (uint32_t i = 0; i < CONNS; i++)
		session(&lesson, i)->count = 100 + 17 * i % 91;
	type = learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_int_equal(type->state, RI_LEARNED_NOT);
	for (uint32_t i = 0; i < CONNS; i++) {
		assert_int_equal(certain(&lesson, i), 0);
		assert_true(field_edge(&lesson, i)->flags & RI_EDGE_POSSIBLE);
		assert_true(possible(&lesson, i) >= session(&lesson, i)->count);
	}
	tear_down(&lesson);
}

/* Of four tables (large blocks of known type) with 20 sessions each, one borrows. */
static void a_table_unlike_the_others_is_a_class_of_its_own(void **state)
{
	struct lesson lesson;
	struct world *w = &lesson.w;
	const struct ri_learned_type *type;
	uint32_t shape;

	(void)state;
	set_up(&lesson);
	shape = world_shape(w, "tables", 8);
	w->shapes->classes.items[world_slot(w, shape, 0, RI_SLOT_POINTER, "tables[]", SESSION)]
		.kind = RI_CLASS_ARRAY;
	for (uint32_t t = 0; t < 4; t++) {
		uint32_t block = add_block(w, TABLE_ADDR(t), 0x800, RI_BLOCK_USED);

		*ri_push(&w->typed_blocks) = (struct ri_typed_block){ .block = block,
								      .shape = shape,
								      .is_exact = true };
		for (uint32_t k = 0; k < 20; k++) {
			uint32_t i = (t * 15 + k) % CONNS;

			poke(w, TABLE_ADDR(t) + 8ull * k, SESSION_ADDR(i));
			session(&lesson, i)->count += t != 3;
		}
	}
	type = learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_int_equal(class_named(&lesson, "tables[]", false)->weight, 1);
	assert_non_null(class_named(&lesson, "tables[]", true));
	assert_int_equal(class_named(&lesson, "tables[]", true)->weight, 0);
	assert_int_equal(type->surplus + type->deficit, 0);
	tear_down(&lesson);
}

static void dead_and_doubted_objects_teach_nothing(void **state)
{
	struct lesson lesson;
	const struct ri_learned_type *type;

	(void)state;
	set_up(&lesson);
	session(&lesson, 1)->state = RI_OBJECT_FREED;
	session(&lesson, 2)->state = RI_OBJECT_REMNANT;
	session(&lesson, 3)->count = INT64_MAX;
	type = learn(&lesson, RI_OWNERSHIP_APPLY);
	assert_int_equal(type->result.objects, CONNS - 3);
	assert_true(lesson.ownership->ranges[lesson.sessions + 1].high <
		    lesson.ownership->ranges[lesson.sessions + 1].low);
	assert_int_equal(lesson.ownership->ranges[lesson.sessions].low, 1);
	tear_down(&lesson);
}

/* Each session has an owner of one of two kinds, every fourth has both; all count `bias` less
 * than they have. */
static const struct ri_learned_type *learn_biased(struct lesson *lesson, int64_t bias,
						  enum ri_ownership_wish wish)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		bool has_both = i % 4 == 0;

		poke(&lesson->w, CONN_ADDR(i) + 16, has_both || i % 2 ? SESSION_ADDR(i) : 0);
		poke(&lesson->w, CONN_ADDR(i) + 24, has_both || !(i % 2) ? SESSION_ADDR(i) : 0);
		session(lesson, i)->count = 1 + has_both - bias;
	}
	return learn(lesson, wish);
}

static void counts_that_start_elsewhere_are_told(void **state)
{
	struct lesson lesson;

	(void)state;
	set_up(&lesson);
	assert_int_equal(learn_biased(&lesson, 0, RI_OWNERSHIP_APPLY)->bias, 0);
	assert_int_equal(learn_biased(&lesson, 1, RI_OWNERSHIP_APPLY)->bias, 1);
	assert_int_equal(learn_biased(&lesson, -1, RI_OWNERSHIP_APPLY)->bias, -1);
	assert_int_equal(learn_biased(&lesson, -2, RI_OWNERSHIP_APPLY)->bias, 0);
	assert_int_equal(learn_biased(&lesson, 1, RI_OWNERSHIP_LOOK)->bias, 0);
	tear_down(&lesson);
}

/* Objects that count 0 while a cache holds them are no convention. */
static void cached_objects_are_no_bias(void **state)
{
	struct lesson lesson;

	(void)state;
	set_up(&lesson);
	for (uint32_t i = 0; i < CONNS; i++) {
		bool is_used = i % 4 == 0;

		poke(&lesson.w, CONN_ADDR(i) + 24, is_used ? SESSION_ADDR(i) : 0);
		session(&lesson, i)->count = is_used;
	}
	assert_int_equal(learn(&lesson, RI_OWNERSHIP_APPLY)->bias, 0);
	assert_int_equal(class_named(&lesson, "conn.session", false)->weight, 0);
	tear_down(&lesson);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_changes_nothing),
		cmocka_unit_test(an_untyped_place_that_owns_is_learned),
		cmocka_unit_test(a_stack_slot_stays_possible),
		cmocka_unit_test(what_is_declared_is_not_learned),
		cmocka_unit_test(counts_that_nothing_explains_make_no_findings),
		cmocka_unit_test(a_table_unlike_the_others_is_a_class_of_its_own),
		cmocka_unit_test(dead_and_doubted_objects_teach_nothing),
		cmocka_unit_test(counts_that_start_elsewhere_are_told),
		cmocka_unit_test(cached_objects_are_no_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
