/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Typed pointers followed, on a live process of traverse_subject.c, whose counted
 * structs have no magic, so that nothing else finds them.
 */
#include "live_child.h"
#include "subject.h"
#include "traverse_subject.h"

#include "census/population.h"
#include "census/shapes.h"
#include "debug/modules.h"
#include "debug/types.h"
#include "heap/heap.h"
#include "profile/layout.h"

static const char profile_text[] =
	"version: 1\n"
	"name: traverse\n"
	"headers:\n"
	"- struct: tr_ref\n"
	"  counts: [count]\n"
	"types:\n"
	"- struct: tr_user\n"
	"  counts: [refs]\n"
	"- struct: tr_conn\n"
	"  counts: [refs]\n"
	"- struct: tr_item\n"
	"  counts: [refs]\n"
	"- struct: tr_pair\n"
	"  counts: [refs]\n"
	"groups:\n"
	"- head: { struct: tr_bag, member: members }\n"
	"  kind: list\n"
	"  link: { struct: tr_item, member: link }\n"
	"  membership: borrows\n";

struct subject {
	struct subject_process process;
	uint64_t addrs[ADDR_COUNT];
	struct ri_gaps gaps;
	struct ri_target *target;
	struct ri_modules *modules;
	struct ri_types *types;
	struct ri_profile *profile;
	struct ri_layout *layout;
	struct ri_heap *heap;
	struct ri_shapes *shapes;
	struct ri_population *population;
};

static int set_up(void **state)
{
	struct subject *s = ri_calloc(1, sizeof(*s));
	const struct ri_profile *profile;
	struct ri_error *error;
	bool is_user = true;

	subject_start(&s->process, __FILE__, "traverse_subject.c", s->addrs, ADDR_COUNT);
	s->target = open_live(s->process.pid, &(struct ri_target_live_options){ 0 }, &s->gaps);
	error = ri_modules_create(s->target, &(struct ri_modules_options){ 0 }, &s->gaps,
				  &s->modules);
	assert_null(error);
	s->types = ri_types_create(s->modules, &s->gaps);
	error = ri_profile_parse("traverse.yaml", profile_text, sizeof(profile_text) - 1,
				 &s->profile);
	if (error)
		fail_msg("%s", error->message);
	profile = s->profile;
	s->layout = ri_layout_create(&profile, &is_user, 1, s->types, s->modules, &s->gaps);
	s->heap = ri_heap_create(s->target, s->modules, &s->gaps);
	s->shapes = ri_shapes_create(s->layout, s->types);
	s->population = ri_population_create(s->target, s->modules, s->types, s->heap, s->layout, NULL,
					     s->shapes, &s->gaps);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct subject *s = *state;

	ri_population_destroy(s->population);
	ri_shapes_destroy(s->shapes);
	ri_heap_destroy(s->heap);
	ri_layout_destroy(s->layout);
	ri_profile_destroy(s->profile);
	ri_types_destroy(s->types);
	ri_modules_destroy(s->modules);
	close_live(s->target, &s->gaps);
	subject_end(&s->process);
	free(s);
	return 0;
}

static const char *type_name(const struct subject *s, const struct ri_object *object)
{
	return s->population->types[object->type].name;
}

static size_t count_type(const struct subject *s, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < s->population->object_count; i++)
		count += !strcmp(type_name(s, &s->population->objects[i]), name);
	return count;
}

/* The object at `addr`, or null. */
static const struct ri_object *object_at(const struct subject *s, uint64_t addr)
{
	uint32_t i = ri_population_find(s->population, addr);

	return i == RI_NONE ? NULL : &s->population->objects[i];
}

static uint64_t variable(const struct subject *s, const char *name)
{
	struct ri_variable found;

	assert_true(ri_types_find_variable(s->types, name, &found));
	return found.addr;
}

static uint64_t word(const struct subject *s, uint64_t addr)
{
	uint64_t value;

	assert_true(ri_image_read_u64(s->target->image, addr, &value));
	return value;
}

static void objects_behind_typed_pointers_are_found(void **state)
{
	const struct subject *s = *state;

	/* first two, table, dynamic */
	assert_int_equal(count_type(s, "tr_conn"), 4);
	/* user, boss, agreeing, peer, vector's five, static and its boss, outer's user,
	 * freed */
	assert_int_equal(count_type(s, "tr_user"), 13);
}

static void disagreeing_unions_and_void_pointers_are_not_followed(void **state)
{
	const struct subject *s = *state;

	assert_null(object_at(s, s->addrs[IN_UNION]));
	assert_null(object_at(s, s->addrs[IN_VOID]));
}

static void pointer_into_a_free_block_gives_a_freed_object(void **state)
{
	const struct subject *s = *state;
	const struct ri_object *freed = object_at(s, s->addrs[FREED_USER]);

	assert_non_null(freed);
	assert_int_equal(freed->state, RI_OBJECT_FREED);
	assert_int_equal(freed->found, RI_FOUND_POINTER);
}

static void variables_are_objects_unless_never_used(void **state)
{
	const struct subject *s = *state;
	const struct ri_object *object = object_at(s, variable(s, "tr_static"));

	assert_non_null(object);
	assert_int_equal(object->state, RI_OBJECT_STATIC);
	assert_true(object->found & RI_FOUND_VARIABLE);
	assert_null(object_at(s, variable(s, "tr_unused")));
}

static void struct_that_counts_through_a_member_is_one_object(void **state)
{
	const struct subject *s = *state;
	uint64_t outer = word(s, variable(s, "tr_outer"));

	assert_int_equal(count_type(s, "tr_outer"), 1);
	assert_int_equal(object_at(s, outer)->addr, outer);
	assert_ptr_equal(object_at(s, outer), object_at(s, outer + 8));
}

static void counted_member_with_its_own_count_is_another_object(void **state)
{
	const struct subject *s = *state;
	uint64_t pair = word(s, variable(s, "tr_pair"));
	const struct ri_object *outer = object_at(s, pair);
	const struct ri_object *inner = object_at(s, pair + offsetof(struct tr_pair, inner));

	assert_non_null(outer);
	assert_non_null(inner);
	assert_string_equal(type_name(s, outer), "tr_pair");
	assert_string_equal(type_name(s, inner), "tr_pair.inner");
	assert_int_equal(outer->count, 5);
	assert_int_equal(inner->count, 6);
	assert_true(inner->found & RI_FOUND_EMBEDDED);
	assert_ptr_equal(&s->population->objects[inner->parent], outer);
}

/* The pointer is to the tr_node, but only a tr_dev fills the block. */
static void pointer_to_a_base_finds_the_whole(void **state)
{
	const struct subject *s = *state;
	const struct ri_object *dev = object_at(s, s->addrs[DEV]);

	assert_non_null(dev);
	assert_string_equal(type_name(s, dev), "tr_dev");
	assert_int_equal(dev->count, 1);
	assert_int_equal(count_type(s, "tr_node"), 0);
}

static const struct ri_typed_block *typed_at(const struct subject *s, uint64_t addr)
{
	uint32_t block = ri_heap_find(s->heap, addr);

	for (size_t i = 0; i < s->population->typed_block_count; i++)
		if (s->population->typed_blocks[i].block == block)
			return &s->population->typed_blocks[i];
	return NULL;
}

static const struct ri_shape *shape_of(const struct subject *s, const struct ri_typed_block *typed)
{
	assert_non_null(typed);
	return &s->shapes->shapes.items[typed->shape];
}

static const struct ri_holder_class *class_at(const struct subject *s, const struct ri_shape *shape,
					      uint64_t offset)
{
	const struct ri_slot *slot = ri_shape_slot(shape, offset);

	assert_non_null(slot);
	return &s->shapes->classes.items[slot->class_index];
}

static void plain_blocks_are_typed(void **state)
{
	const struct subject *s = *state;
	uint64_t first = word(s, variable(s, "tr_first"));
	uint64_t second = word(s, first + offsetof(struct tr_plain, next));
	const struct ri_shape *shape = shape_of(s, typed_at(s, second));

	assert_string_equal(shape->name, "tr_plain");
	assert_true(typed_at(s, first)->is_exact);
	assert_true(typed_at(s, second)->is_exact);
	assert_string_equal(class_at(s, shape, 8)->name, "tr_plain.conn");
	assert_false(class_at(s, shape, 8)->is_possible);
	assert_int_equal(class_at(s, shape, 8)->kind, RI_CLASS_PLAIN_FIELD);
}

static void arrays_are_named_after_what_holds_them(void **state)
{
	const struct subject *s = *state;
	const struct ri_shape *shape = shape_of(s, typed_at(s, word(s, variable(s, "tr_dynamic"))));

	assert_string_equal(class_at(s, shape, 56)->name, "tr_dynamic[]");
	assert_int_equal(class_at(s, shape, 56)->kind, RI_CLASS_ARRAY);
	assert_false(class_at(s, shape, 56)->is_possible);
	assert_int_equal(ri_shape_slot(shape, 56)->kind, RI_SLOT_POINTER);
	shape = shape_of(s, typed_at(s, word(s, variable(s, "tr_any"))));
	assert_string_equal(class_at(s, shape, 0)->name, "tr_any[]");
	assert_true(class_at(s, shape, 0)->is_possible);
	assert_int_equal(ri_shape_slot(shape, 0)->kind, RI_SLOT_VOID_POINTER);
}

static void spare_room_of_a_vector_is_told(void **state)
{
	const struct subject *s = *state;
	uint64_t items = word(s, variable(s, "tr_vector"));
	const struct ri_typed_block *typed = typed_at(s, items);

	assert_string_equal(class_at(s, shape_of(s, typed), 0)->name, "tr_vector.items[]");
	assert_true(typed->is_exact);
	assert_int_equal(s->heap->blocks[typed->block].size_bytes - typed->spare_bytes, 3 * 8);
	assert_false(typed->is_spare_dead);
}

static void own_counter_goes_before_the_room(void **state)
{
	const struct subject *s = *state;
	uint64_t slots = word(s, variable(s, "tr_spare") + 8);
	const struct ri_typed_block *typed = typed_at(s, slots);

	assert_true(typed->is_exact);
	assert_int_equal(s->heap->blocks[typed->block].size_bytes - typed->spare_bytes, 8);
}

static void rounded_up_room_is_told(void **state)
{
	const struct subject *s = *state;
	const struct ri_typed_block *typed = typed_at(s, word(s, variable(s, "tr_any")));

	assert_int_equal(s->heap->blocks[typed->block].size_bytes - typed->spare_bytes, 30 * 8);
}

static void link_types_are_not_spread_over_blocks(void **state)
{
	const struct subject *s = *state;

	assert_null(typed_at(s, s->addrs[LINKED]));
}

static void heads_in_variables_are_groups(void **state)
{
	const struct subject *s = *state;
	const struct ri_group *groups = s->population->groups;

	assert_int_equal(s->population->group_count, 2);
	assert_string_equal(groups[0].name, "tr_bags[0].members");
	assert_string_equal(groups[1].name, "tr_bags[1].members");
	assert_int_equal(groups[0].member_count, 0);
	assert_int_equal(groups[1].member_count, 2);
	assert_int_equal(count_type(s, "tr_item"), 2);
}

static uint32_t type_index(const struct subject *s, const char *name)
{
	for (uint32_t i = 0; i < s->population->type_count; i++)
		if (!strcmp(s->population->types[i].name, name))
			return i;
	fail_msg("no type %s", name);
	return 0;
}

static const struct ri_shape *counted_shape(const struct subject *s, const char *name)
{
	uint32_t type = type_index(s, name);
	uint32_t shape = ri_shapes_counted(s->shapes, &s->population->types[type], type);

	return &s->shapes->shapes.items[shape];
}

static void words_of_a_counted_struct_have_their_kinds(void **state)
{
	const struct subject *s = *state;
	const struct ri_shape *shape = counted_shape(s, "tr_conn");
	const struct ri_slot *slot;

	slot = ri_shape_slot(shape, offsetof(struct tr_conn, user));
	assert_int_equal(slot->kind, RI_SLOT_POINTER);
	assert_int_equal(slot->pointee_type, type_index(s, "tr_user"));
	assert_false(slot->in_union);
	assert_string_equal(class_at(s, shape, slot->offset_bytes)->name, "tr_conn.user");
	assert_false(class_at(s, shape, slot->offset_bytes)->is_possible);
	slot = ri_shape_slot(shape, offsetof(struct tr_conn, mixed));
	assert_true(slot->in_union);
	assert_true(class_at(s, shape, slot->offset_bytes)->is_possible);
	slot = ri_shape_slot(shape, offsetof(struct tr_conn, agreeing));
	assert_false(slot->in_union);
	assert_false(class_at(s, shape, slot->offset_bytes)->is_possible);
	slot = ri_shape_slot(shape, offsetof(struct tr_conn, any));
	assert_int_equal(slot->kind, RI_SLOT_VOID_POINTER);
	assert_true(class_at(s, shape, slot->offset_bytes)->is_possible);
	slot = ri_shape_slot(shape, offsetof(struct tr_conn, peers[1]));
	assert_string_equal(class_at(s, shape, slot->offset_bytes)->name, "tr_conn.peers[]");
	slot = ri_shape_slot(shape, offsetof(struct tr_conn, refs));
	assert_int_equal(slot->kind, RI_SLOT_HEADER);
	assert_int_equal(class_at(s, shape, slot->offset_bytes)->weight, 0);
	assert_null(ri_shape_slot(shape, offsetof(struct tr_conn, room)));
	assert_null(ri_shape_slot(shape, offsetof(struct tr_conn, user) + 4));
}

static void link_words_are_no_holders(void **state)
{
	const struct subject *s = *state;
	const struct ri_shape *shape = counted_shape(s, "tr_item");

	assert_int_equal(ri_shape_slot(shape, offsetof(struct tr_item, link))->kind, RI_SLOT_LINK);
	assert_int_equal(ri_shape_slot(shape, offsetof(struct tr_item, link) + 8)->kind,
			 RI_SLOT_LINK);
	assert_int_equal(class_at(s, shape, offsetof(struct tr_item, link))->weight, 0);
}

static void variable_shapes_collapse_indices(void **state)
{
	const struct subject *s = *state;
	struct ri_variable found;
	uint32_t index;

	assert_true(ri_types_find_variable(s->types, "tr_table", &found));
	index = ri_shapes_shape(s->shapes, found.type, found.name, RI_CLASS_VARIABLE);
	assert_string_equal(class_at(s, &s->shapes->shapes.items[index], 16)->name, "tr_table[]");
	assert_int_equal(class_at(s, &s->shapes->shapes.items[index], 16)->kind,
			 RI_CLASS_VARIABLE);
	assert_true(ri_types_find_variable(s->types, "tr_bags", &found));
	index = ri_shapes_shape(s->shapes, found.type, found.name, RI_CLASS_VARIABLE);
	assert_int_equal(ri_shape_slot(&s->shapes->shapes.items[index], 24 + 8)->kind,
			 RI_SLOT_HEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_behind_typed_pointers_are_found),
		cmocka_unit_test(disagreeing_unions_and_void_pointers_are_not_followed),
		cmocka_unit_test(pointer_into_a_free_block_gives_a_freed_object),
		cmocka_unit_test(variables_are_objects_unless_never_used),
		cmocka_unit_test(struct_that_counts_through_a_member_is_one_object),
		cmocka_unit_test(counted_member_with_its_own_count_is_another_object),
		cmocka_unit_test(pointer_to_a_base_finds_the_whole),
		cmocka_unit_test(plain_blocks_are_typed),
		cmocka_unit_test(arrays_are_named_after_what_holds_them),
		cmocka_unit_test(spare_room_of_a_vector_is_told),
		cmocka_unit_test(own_counter_goes_before_the_room),
		cmocka_unit_test(rounded_up_room_is_told),
		cmocka_unit_test(link_types_are_not_spread_over_blocks),
		cmocka_unit_test(heads_in_variables_are_groups),
		cmocka_unit_test(words_of_a_counted_struct_have_their_kinds),
		cmocka_unit_test(link_words_are_no_holders),
		cmocka_unit_test(variable_shapes_collapse_indices),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
