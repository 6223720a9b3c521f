/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects found by what lies in memory: magics, descriptors, blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "census_world.h"

static struct world *make_world(uint64_t *ret_conn)
{
	struct world *w = world_create();

	world_add_refobj(w);
	*ret_conn = world_descriptor(w, "conn", 80, 16);
	return w;
}

/* A live conn in a block of its own; its address. */
static uint64_t make_conn(struct world *w, uint64_t conn)
{
	uint64_t addr = world_block(w, 80, RI_BLOCK_USED);

	world_header(w, addr + 16, conn);
	return addr;
}

static void objects_are_found_by_their_descriptor(void **state)
{
	const struct ri_population *population;
	uint64_t conn, addr[3];
	struct world *w = make_world(&conn);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		addr[i] = make_conn(w, conn);
	population = world_find(w);
	assert_int_equal(population->type_count, 1);
	assert_string_equal(population->types[0].name, "conn");
	assert_int_equal(population->types[0].descriptor, conn);
	assert_true(population->types[0].is_from_descriptor);
	assert_int_equal(population->object_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct ri_object *object = &population->objects[i];

		assert_int_equal(object->addr, addr[i]);
		assert_int_equal(object->count, 1);
		assert_int_equal(object->block, i);
		assert_int_equal(object->found, RI_FOUND_MAGIC | RI_FOUND_DESCRIPTOR);
		assert_int_equal(object->state, 0);
		assert_int_equal(object->parent, RI_NONE);
		assert_int_equal(ri_object_header(population, object), addr[i] + 16);
		assert_int_equal(ri_population_find(population, addr[i]), i);
		assert_int_equal(ri_population_find(population, addr[i] + 79), i);
		assert_int_equal(ri_population_find(population, addr[i] + 80), RI_NONE);
		assert_int_equal(population->back_group[i], RI_NONE);
	}
	assert_true(ri_gaps_has_serious(&w->gaps));
	world_destroy(w);
}

static void free_blocks_hold_no_objects(void **state)
{
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		make_conn(w, conn);
	w->blocks.items[1].state = RI_BLOCK_FREE;
	w->blocks.items[2].state = RI_BLOCK_RECORD;
	assert_int_equal(world_find(w)->object_count, 2);
	w->blocks.items[2].state = RI_BLOCK_UNKNOWN;
	assert_int_equal(world_find(w)->object_count, 3);
	assert_int_equal(w->population->objects[1].state, RI_OBJECT_SUSPECT);
	/* a live header in the gap between two blocks */
	w->blocks.items[3].addr += 32;
	w->blocks.items[3].size_bytes -= 32;
	assert_int_equal(world_find(w)->object_count, 2);
	world_destroy(w);
}

static void extent_must_lie_in_the_block(void **state)
{
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	make_conn(w, conn);
	w->blocks.items[0].size_bytes = 72;
	assert_int_equal(world_find(w)->object_count, 1);
	world_destroy(w);
}

/* Spoils one word of the descriptor and expects it to be refused. */
static void refuse(uint64_t offset, uint64_t value)
{
	uint64_t conn;
	struct world *w = make_world(&conn);
	const struct ri_population *population;

	make_conn(w, conn);
	world_put64(w, conn + offset, value);
	population = world_find(w);
	for (size_t i = 0; i < population->type_count; i++)
		assert_int_equal(population->types[i].descriptor, 0);
	assert_int_equal(population->object_count, 0);
	world_destroy(w);
}

static void damaged_descriptors_are_refused(void **state)
{
	(void)state;
	refuse(0, REFOBJ_TYPE_MAGIC + 1);       /* magic */
	refuse(8, 0);                           /* name */
	refuse(8, 0xdead0000);
	refuse(8, WORLD_STATIC + 0x3ffe);       /* an empty string */
	refuse(16, 0);                          /* size */
	refuse(16, (1ull << 32) + 1);
	refuse(16, UINT64_MAX);
	refuse(16, 63);                         /* the header ends at 64 */
	refuse(24, (uint64_t)-4097);            /* header offset */
	refuse(24, 33);
	refuse(24, INT64_MAX);
	refuse(24, (uint64_t)INT64_MIN);
}

static void names_must_look_like_names(void **state)
{
	static const struct {
		const char *name;
		bool is_good;
	} cases[] = {
		{ "conn", true }, { "_x9", true }, { "ns::list<int, 4>", true }, { "9x", false },
		{ "", false }, { "a\tb", false }, { "caf\xc3\xa9", false }, { "a\x1b[31m", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = world_create();

		world_add_refobj(w);
		make_conn(w, world_descriptor(w, cases[i].name, 80, 16));
		assert_int_equal(world_find(w)->object_count, cases[i].is_good);
		world_destroy(w);
	}
}

static void descriptors_on_the_heap_are_refused(void **state)
{
	uint64_t conn, copy;
	struct world *w = make_world(&conn);

	(void)state;
	copy = world_block(w, 48, RI_BLOCK_USED);
	memcpy(world_at(w, copy), world_at(w, conn), 48);
	make_conn(w, copy);
	assert_int_equal(world_find(w)->object_count, 0);
	world_destroy(w);
}

static void types_of_one_name_stay_apart(void **state)
{
	const struct ri_population *population;
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	world_header(w, world_block(w, 96, RI_BLOCK_USED) + 16,
		     world_descriptor(w, "conn", 96, 16));
	population = world_find(w);
	assert_int_equal(population->type_count, 2);
	assert_string_equal(population->types[0].name, "conn");
	assert_string_equal(population->types[1].name, "conn:96");
	world_destroy(w);
}

static void descriptor_joins_the_type_of_the_layout(void **state)
{
	const struct ri_population *population;
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	*ri_push(&w->layout.types) = (struct ri_counted_type){
		.name = "conn",
		.header_offset = 16,
		.size_bytes = 80,
		.extent_bytes = 80,
		.container = RI_LAYOUT_NONE,
	};
	make_conn(w, conn);
	population = world_find(w);
	assert_int_equal(population->type_count, 1);
	assert_int_equal(population->types[0].descriptor, conn);
	assert_false(population->types[0].is_from_descriptor);
	world_destroy(w);
}

static void header_may_stand_in_front(void **state)
{
	const struct ri_population *population;
	uint64_t conn, block, front;
	struct world *w = make_world(&conn);

	(void)state;
	front = world_descriptor(w, "page", 64, -48);
	block = world_block(w, 64 + 64, RI_BLOCK_USED);
	world_header(w, block + 16, front);
	population = world_find(w);
	assert_int_equal(population->object_count, 1);
	assert_int_equal(population->objects[0].addr, block + 64);
	assert_int_equal(ri_object_start(population, &population->objects[0]), block + 16);
	assert_int_equal(ri_object_end(population, &population->objects[0]), block + 128);
	assert_int_equal(ri_population_find(population, block + 16), 0);
	assert_int_equal(ri_population_find(population, block + 15), RI_NONE);
	world_destroy(w);
}

static const struct ri_object *object_at(const struct ri_population *population, uint64_t addr)
{
	uint32_t object = ri_population_find(population, addr);

	assert_int_not_equal(object, RI_NONE);
	return &population->objects[object];
}

static void damaged_magic_is_found_by_the_descriptor(void **state)
{
	const struct ri_population *population;
	uint64_t conn, addr[6];
	struct world *w = make_world(&conn);

	(void)state;
	for (size_t i = 0; i < 6; i++)
		addr[i] = make_conn(w, conn);
	world_put32(w, addr[1] + 16, 0x12345678);
	world_put32(w, addr[2] + 16, REFOBJ_MAGIC_DEAD);
	world_put32(w, addr[2] + 20, 0);
	population = world_find(w);
	assert_int_equal(population->object_count, 6);
	assert_int_equal(object_at(population, addr[1])->state, RI_OBJECT_MAGIC_BAD);
	assert_int_equal(object_at(population, addr[1])->found, RI_FOUND_DESCRIPTOR);
	assert_int_equal(object_at(population, addr[2])->state,
			 RI_OBJECT_MAGIC_DEAD | RI_OBJECT_COUNT_DEAD);
	world_destroy(w);
}

static void stale_descriptor_pointers_are_no_objects(void **state)
{
	uint64_t conn, block;
	struct world *w = make_world(&conn);

	(void)state;
	for (size_t i = 0; i < 6; i++)
		make_conn(w, conn);
	/* at another offset; in a block of another size; in static memory */
	block = world_block(w, 80, RI_BLOCK_USED);
	world_put64(w, block + 32, conn);
	world_put64(w, world_block(w, 160, RI_BLOCK_USED) + 24, conn);
	world_put64(w, world_static(w, 128) + 24, conn);
	assert_int_equal(world_find(w)->object_count, 6);
	world_destroy(w);
}

static void damaged_descriptor_pointer_is_told(void **state)
{
	const struct ri_population *population;
	uint64_t conn, addr;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	addr = make_conn(w, conn);
	world_put64(w, addr + 24, conn + 8);
	population = world_find(w);
	assert_int_equal(object_at(population, addr)->state, RI_OBJECT_DESCRIPTOR_BAD);
	/* two types fit the block: it cannot be told which it was */
	world_header(w, world_block(w, 80, RI_BLOCK_USED) + 16,
		     world_descriptor(w, "link", 88, 16));
	population = world_find(w);
	assert_int_equal(ri_population_find(population, addr), RI_NONE);
	world_destroy(w);
}

static void counts_and_marks_are_read(void **state)
{
	static const struct {
		uint32_t count, flags, state;
	} cases[] = {
		{ 7, 0, 0 },
		{ 0, 0, RI_OBJECT_COUNT_DEAD },
		{ 0xffffffff, 0, RI_OBJECT_COUNT_IMPOSSIBLE },
		{ 1, REFOBJ_NOT_LEAK, RI_OBJECT_NOT_LEAK },
		{ 1, REFOBJ_IGNORE, RI_OBJECT_IGNORE },
	};
	const struct ri_population *population;
	uint64_t conn, addr[5];
	struct world *w = make_world(&conn);

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		addr[i] = make_conn(w, conn);
		world_put32(w, addr[i] + 20, cases[i].count);
		world_put32(w, addr[i] + 16 + 40, cases[i].flags);
	}
	population = world_find(w);
	for (size_t i = 0; i < 5; i++) {
		const struct ri_object *object = object_at(population, addr[i]);

		assert_int_equal(object->state, cases[i].state);
		assert_int_equal(object->count, (int32_t)cases[i].count);
	}
	world_destroy(w);
}

static void static_objects_have_no_block(void **state)
{
	const struct ri_population *population;
	uint64_t conn, addr;
	struct world *w = make_world(&conn);

	(void)state;
	addr = world_static(w, 80);
	world_header(w, addr + 16, conn);
	population = world_find(w);
	assert_int_equal(population->object_count, 1);
	assert_int_equal(population->objects[0].block, RI_NONE);
	assert_int_equal(population->objects[0].state, RI_OBJECT_STATIC);
	world_destroy(w);
}

static void mappings_hold_suspects_and_stacks_nothing(void **state)
{
	const struct ri_population *population;
	static uint8_t bytes[4096];
	const struct ri_range range = {
		.start = 0x20000000,
		.end = 0x20001000,
		.bytes = bytes,
		.flags = RI_RANGE_READ | RI_RANGE_WRITE | RI_RANGE_ANONYMOUS,
	};
	struct ri_thread thread = { .has_registers = true };
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	make_conn(w, conn);
	memcpy(bytes + 64, world_at(w, w->blocks.items[0].addr), 80);
	memcpy(bytes + 4040, world_at(w, w->blocks.items[0].addr), 56);
	ri_image_add(w->target.image, &range);
	ri_image_seal(w->target.image);
	population = world_find(w);
	assert_int_equal(population->object_count, 2);
	assert_int_equal(object_at(population, 0x20000040)->state, RI_OBJECT_SUSPECT);
	thread.registers[RI_REG_RSP] = 0x20000800;
	w->target.threads = &thread;
	w->target.thread_count = 1;
	assert_int_equal(world_find(w)->object_count, 1);
	world_destroy(w);
}

static void pooled_objects_share_a_block(void **state)
{
	const struct ri_population *population;
	uint64_t conn, pool;
	struct world *w = make_world(&conn);

	(void)state;
	pool = world_block(w, 1024, RI_BLOCK_USED);
	for (size_t i = 0; i < 8; i++)
		world_header(w, pool + 32 + 88 * i + 16, conn);
	population = world_find(w);
	assert_int_equal(population->object_count, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(population->objects[i].addr, pool + 32 + 88 * i);
		assert_int_equal(ri_population_find(population, pool + 32 + 88 * i + 40), i);
	}
	world_destroy(w);
}

static void contained_objects_have_parents(void **state)
{
	const struct ri_population *population;
	uint64_t conn, outer, big;
	struct world *w = make_world(&conn);

	(void)state;
	big = world_descriptor(w, "big", 400, 0);
	outer = world_block(w, 400, RI_BLOCK_USED);
	world_header(w, outer, big);
	world_header(w, outer + 64 + 16, conn);
	world_header(w, outer + 320 + 16, conn);
	population = world_find(w);
	assert_int_equal(population->object_count, 3);
	assert_int_equal(population->objects[0].addr, outer);
	assert_int_equal(population->objects[1].parent, 0);
	assert_int_equal(population->objects[2].parent, 0);
	assert_int_equal(ri_population_find(population, outer + 8), 0);
	assert_int_equal(ri_population_find(population, outer + 64), 1);
	assert_int_equal(ri_population_find(population, outer + 144), 0);
	assert_int_equal(ri_population_find(population, outer + 399), 2);
	assert_int_equal(ri_population_find(population, outer + 400), RI_NONE);
	world_destroy(w);
}

static const struct ri_holder_class *class_at(struct world *w, uint64_t offset)
{
	uint32_t shape = ri_shapes_counted(w->shapes, &w->population->types[0], 0);
	const struct ri_slot *slot = ri_shape_slot(&w->shapes->shapes.items[shape], offset);

	assert_non_null(slot);
	return &w->shapes->classes.items[slot->class_index];
}

static void words_of_an_undescribed_type_are_possible_holders(void **state)
{
	uint64_t conn;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	world_find(w);
	assert_string_equal(class_at(w, 0x40)->name, "conn+0x40");
	assert_int_equal(class_at(w, 0x40)->kind, RI_CLASS_UNTYPED_OBJECT);
	assert_true(class_at(w, 0x40)->is_possible);
	assert_int_equal(class_at(w, 0x18)->weight, 0); /* the descriptor pointer */
	assert_false(class_at(w, 0x18)->is_possible);
	world_destroy(w);
}

static void owner_table_says_what_owns(void **state)
{
	uint64_t conn, table, name;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	name = world_string(w, "session");
	table = world_static(w, 48);
	world_put64(w, table, 8);
	world_put64(w, table + 8, name);
	world_put64(w, table + 16, 72);
	world_put64(w, table + 32, UINT64_MAX);
	world_put64(w, conn + 40, table);
	world_find(w);
	assert_int_equal(w->gaps.count, 0);
	assert_int_equal(w->population->types[0].owner_count, 2);
	assert_string_equal(class_at(w, 8)->name, "conn.session");
	assert_string_equal(class_at(w, 72)->name, "conn+0x48");
	for (uint64_t offset = 0; offset < 80; offset += 8) {
		bool owns = offset == 8 || offset == 72;

		assert_int_equal(class_at(w, offset)->weight, owns);
		assert_false(class_at(w, offset)->is_possible);
		assert_true(class_at(w, offset)->is_declared);
	}
	/* without its end mark the table is not believed */
	world_put64(w, table + 32, 1000);
	world_find(w);
	assert_false(w->population->types[0].has_owners);
	assert_true(ri_gaps_has_serious(&w->gaps));
	world_destroy(w);
}

static void owner_rules_override_the_table(void **state)
{
	uint64_t conn, table;
	struct world *w = make_world(&conn);

	(void)state;
	make_conn(w, conn);
	table = world_static(w, 32);
	world_put64(w, table, 8);
	world_put64(w, table + 16, UINT64_MAX);
	world_put64(w, conn + 40, table);
	*ri_push(&w->layout.owners) = (struct ri_owner_rule){
		.pattern = "conn+0x8",
		.weight = { .kind = RI_WEIGHT_FIXED, .weight = 2 },
	};
	world_find(w);
	assert_int_equal(class_at(w, 8)->weight, 2);
	world_destroy(w);
}

/* What a field table says is owned leads to freed objects too. */
static void owned_word_into_a_free_block_is_a_freed_object(void **state)
{
	const struct ri_population *population;
	uint64_t conn, table, holder, freed;
	struct world *w = make_world(&conn);

	(void)state;
	holder = make_conn(w, conn);
	freed = make_conn(w, conn);
	w->blocks.items[1].state = RI_BLOCK_FREE;
	world_put32(w, freed + 16, REFOBJ_MAGIC_DEAD);
	world_put64(w, holder + 72, freed);
	assert_int_equal(world_find(w)->object_count, 1);
	table = world_static(w, 32);
	world_put64(w, table, 72);
	world_put64(w, table + 16, UINT64_MAX);
	world_put64(w, conn + 40, table);
	population = world_find(w);
	assert_int_equal(population->object_count, 2);
	assert_int_equal(object_at(population, freed)->state,
			 RI_OBJECT_FREED | RI_OBJECT_MAGIC_DEAD);
	assert_int_equal(object_at(population, freed)->found, RI_FOUND_POINTER);
	world_destroy(w);
}

static void magic_without_descriptor_needs_a_decidable_type(void **state)
{
	uint64_t conn, addr;
	struct world *w = make_world(&conn);

	(void)state;
	w->layout.conventions.items[0].descriptor.is_present = false;
	for (size_t i = 0; i < 2; i++)
		*ri_push(&w->layout.types) = (struct ri_counted_type){
			.name = i ? "user" : "conn",
			.header_offset = 16,
			.size_bytes = i ? 200 : 80,
			.extent_bytes = i ? 200 : 80,
			.container = RI_LAYOUT_NONE,
		};
	addr = make_conn(w, conn);
	assert_int_equal(world_find(w)->object_count, 1);
	assert_int_equal(object_at(w->population, addr)->type, 0);
	/* a block that neither fills, then one that is filled with the header elsewhere */
	w->blocks.items[0].size_bytes = 120;
	assert_int_equal(world_find(w)->object_count, 0);
	w->blocks.items[0].size_bytes = 88;
	world_put32(w, addr + 16, 0);
	world_header(w, addr + 24, conn);
	assert_int_equal(world_find(w)->object_count, 0);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_found_by_their_descriptor),
		cmocka_unit_test(free_blocks_hold_no_objects),
		cmocka_unit_test(extent_must_lie_in_the_block),
		cmocka_unit_test(damaged_descriptors_are_refused),
		cmocka_unit_test(names_must_look_like_names),
		cmocka_unit_test(descriptors_on_the_heap_are_refused),
		cmocka_unit_test(types_of_one_name_stay_apart),
		cmocka_unit_test(descriptor_joins_the_type_of_the_layout),
		cmocka_unit_test(header_may_stand_in_front),
		cmocka_unit_test(damaged_magic_is_found_by_the_descriptor),
		cmocka_unit_test(stale_descriptor_pointers_are_no_objects),
		cmocka_unit_test(damaged_descriptor_pointer_is_told),
		cmocka_unit_test(counts_and_marks_are_read),
		cmocka_unit_test(static_objects_have_no_block),
		cmocka_unit_test(mappings_hold_suspects_and_stacks_nothing),
		cmocka_unit_test(pooled_objects_share_a_block),
		cmocka_unit_test(contained_objects_have_parents),
		cmocka_unit_test(words_of_an_undescribed_type_are_possible_holders),
		cmocka_unit_test(owner_table_says_what_owns),
		cmocka_unit_test(owner_rules_override_the_table),
		cmocka_unit_test(owned_word_into_a_free_block_is_a_freed_object),
		cmocka_unit_test(magic_without_descriptor_needs_a_decidable_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
