/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that no typed pointer leads to: behind void pointers, by the pointer to their
 * class, and by their likeness to known ones; and blocks that must not be taken for any.
 */
#include "whole_program.h"

#include "census/recognise.h"

#define PEOPLE 400
#define LOST 5

static const char source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	/* values behind void pointers */
	"struct value { unsigned kind:4, encoding:4, age:24; int refs; void *data; };\n"
	"struct entry { void *key; void *value; struct entry *next; };\n"
	"struct entry *table[64];\n"
	/* numbers of the same size, which are no counts of holders */
	"struct sample { int weight; unsigned serial; void *data; };\n"
	"struct item { void *sample; struct item *next; };\n"
	"struct item *items;\n"
	/* objects with a class */
	"struct class { const char *name; void (*release)(void *); };\n"
	"struct instance { struct class *class; int refs; int id; char *title; };\n"
	"struct class doc_class, view_class, other_class;\n"
	/* a pointer that differs is none to a class */
	"struct visit { struct class *place; int refs; int id; char *title; };\n"
	"struct visit *seen[2]; void *visits[3];\n"
	/* one class for two types tells neither */
	"struct left { struct class *class; int refs; int id; char *title; } *a_left;\n"
	"struct right { struct class *class; int refs; int id; char *title; } *a_right;\n"
	"void *others[3];\n"
	"struct instance *first_doc; void *docs[400], *views[400];\n"
	"static void *keep[400];\n"
	"static struct value *new_value(int i) { struct value *v = malloc(sizeof *v);\n"
	"	memset(v, 0, sizeof *v); v->encoding = 8; v->age = 0x5a1234; v->refs = 1;\n"
	"	v->data = malloc(70); sprintf(v->data, \"value %d of some length\", i); return v; }\n"
	"static void *new_instance(struct class *c, int i) { struct instance *d = malloc(sizeof *d);\n"
	"	d->class = c; d->refs = 1; d->id = i; d->title = 0; return d; }\n"
	"static void __attribute__((noinline)) build(const char *what)\n"
	"{\n"
	"	for (int i = 0; i < 400; i++) {\n"
	"		struct entry *e = calloc(1, sizeof *e); struct value *v = new_value(i);\n"
	"		e->key = malloc(12); sprintf(e->key, \"key %d\", i);\n"
	"		e->value = v; e->next = table[i % 16]; table[i % 16] = e;\n"
	"		if (i % 7 == 0) { keep[i] = v; v->refs++; }\n"
	"		for (int k = 0; k < 5; k++) {\n"
	"			struct item *it = calloc(1, sizeof *it); struct sample *s;\n"
	"			s = calloc(1, sizeof *s); s->serial = 1000000 + i;\n"
	"			s->weight = 1 + i * 37 % 50;\n"
	"			it->sample = s; it->next = items; items = it; }\n"
	"		docs[i] = new_instance(&doc_class, i);\n"
	"		views[i] = new_instance(&view_class, i);\n"
	"	}\n"
	"	first_doc = docs[0]; first_doc->refs++;\n"
	"	seen[0] = new_instance(&doc_class, 1); seen[1] = new_instance(&other_class, 2);\n"
	"	a_left = new_instance(&other_class, 3); a_right = new_instance(&other_class, 4);\n"
	"	for (int i = 0; i < 3; i++) { visits[i] = new_instance(&view_class, i);\n"
	"		others[i] = new_instance(&other_class, i); }\n"
	"	if (!strcmp(what, \"leak\")) {\n"
	"		for (int i = 0; i < 5; i++) { new_value(i); new_instance(&doc_class, i); }\n"
	"		for (int i = 0; i < 5; i++) { char *t = malloc(20);\n"
	"			memset(t, 0, 20); strcpy(t, \"not a value at all\"); }\n"
	"	}\n"
	"}\n"
	"static void wipe(void) { volatile char area[65536]; for (size_t i = 0;\n"
	"	i < sizeof area; i++) area[i] = 0; }\n"
	"static char buffer[4096];\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argc; setvbuf(stdout, buffer, _IOFBF, sizeof buffer); build(argv[1]); wipe();\n"
	"	puts(\"READY\"); fflush(stdout); for (;;) pause();\n"
	"}\n";

static const char profile[] = "version: 1\n"
			      "name: recognise\n"
			      "types:\n"
			      "- { struct: value, counts: refs }\n"
			      "- { struct: sample, counts: weight }\n"
			      "- { struct: instance, counts: refs }\n"
			      "- { struct: visit, counts: refs }\n"
			      "- { struct: left, counts: refs }\n"
			      "- { struct: right, counts: refs }\n";

struct lesson {
	struct whole_program p;
	ri_recognised_list list;
	bool *wanted;
};

static uint32_t type_named(const struct lesson *lesson, const char *name)
{
	const struct ri_layout *layout = lesson->p.analysis->layout;

	for (uint32_t t = 0; t < layout->types.count; t++)
		if (!strcmp(layout->types.items[t].name, name))
			return t;
	fail_msg("no type %s", name);
	return 0;
}

static size_t count_of(const struct lesson *lesson, const char *name)
{
	uint32_t type = type_named(lesson, name);
	size_t count = 0;

	for (size_t i = 0; i < lesson->list.count; i++)
		count += lesson->list.items[i].type == type;
	return count;
}

/* One look at the program's first census. */
static void look(struct lesson *lesson)
{
	const struct ri_analysis *a = lesson->p.analysis;
	const struct ri_recognise_input input = { a->target->image, a->layout, a->heap,
						  a->population, a->types, a->shapes, a->holders };

	lesson->list.count = 0;
	ri_recognise(&input, lesson->wanted, &lesson->list);
	for (size_t i = 1; i < lesson->list.count; i++)
		assert_true(lesson->list.items[i].addr > lesson->list.items[i - 1].addr);
}

/* The census taken again with what was recognised, as the analysis does it. */
static void take_again(struct lesson *lesson)
{
	struct ri_analysis *a = lesson->p.analysis;
	struct ri_lost known = { 0 };

	for (size_t o = 0; o < a->population->object_count; o++)
		if (a->population->objects[o].found & RI_FOUND_CONTENT)
			*ri_push(&known.objects) = (struct ri_lost_object){
				a->population->objects[o].addr, a->population->objects[o].type
			};
	for (size_t i = 0; i < lesson->list.count; i++)
		*ri_push(&known.objects) = lesson->list.items[i];
	ri_graph_destroy(a->graph);
	ri_holders_destroy(a->holders);
	ri_population_destroy(a->population);
	ri_shapes_destroy(a->shapes);
	a->shapes = ri_shapes_create(a->layout, a->types);
	a->population = ri_population_create(a->target, a->modules, a->types, a->heap, a->layout,
					     &known, a->shapes, &a->gaps);
	a->holders = ri_holders_create(a->target, a->modules, a->types, a->heap, a->population,
				       a->shapes, 1, &a->gaps);
	a->graph = ri_graph_create(a->holders, a->population, a->heap);
	ri_vec_deinit(&known.objects);
}

static void begin(struct lesson *lesson, const char *what)
{
	memset(lesson, 0, sizeof(*lesson));
	whole_program_open(&lesson->p, source, what, profile);
	lesson->wanted = ri_calloc(lesson->p.analysis->layout->types.count, sizeof(bool));
	memset(lesson->wanted, true, lesson->p.analysis->layout->types.count);
}

static void end(struct lesson *lesson)
{
	ri_vec_deinit(&lesson->list);
	free(lesson->wanted);
	whole_program_close(&lesson->p);
}

/* Leaves the types with classes out. */
static void want_plain(struct lesson *lesson)
{
	static const char *const names[] = { "instance", "visit", "left", "right" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		lesson->wanted[type_named(lesson, names[i])] = false;
}

static void class_pointers_tell_twins(void **state)
{
	struct lesson lesson;

	(void)state;
	begin(&lesson, "leak");
	look(&lesson);
	/* first_doc is known; views have another class, and nothing typed leads to one */
	assert_int_equal(count_of(&lesson, "instance"), PEOPLE - 1 + LOST);
	assert_int_equal(lesson.list.count, PEOPLE - 1 + LOST);
	end(&lesson);
}

static void counts_that_follow_holders_tell_payloads(void **state)
{
	struct lesson lesson;

	(void)state;
	begin(&lesson, "sound");
	want_plain(&lesson);
	look(&lesson);
	assert_int_equal(count_of(&lesson, "value"), PEOPLE);
	assert_int_equal(count_of(&lesson, "sample"), 0);
	end(&lesson);
}

static void likeness_tells_lost_objects(void **state)
{
	struct lesson lesson;

	(void)state;
	begin(&lesson, "leak");
	want_plain(&lesson);
	look(&lesson);
	assert_int_equal(count_of(&lesson, "value"), PEOPLE);
	take_again(&lesson);
	look(&lesson);
	assert_int_equal(count_of(&lesson, "value"), LOST);
	assert_int_equal(lesson.list.count, LOST);
	take_again(&lesson);
	look(&lesson);
	assert_int_equal(lesson.list.count, 0);
	end(&lesson);
}

static void unwanted_types_are_left_alone(void **state)
{
	struct lesson lesson;

	(void)state;
	begin(&lesson, "leak");
	memset(lesson.wanted, false, lesson.p.analysis->layout->types.count);
	look(&lesson);
	assert_int_equal(lesson.list.count, 0);
	end(&lesson);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(class_pointers_tell_twins),
		cmocka_unit_test(counts_that_follow_holders_tell_payloads),
		cmocka_unit_test(likeness_tells_lost_objects),
		cmocka_unit_test(unwanted_types_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
