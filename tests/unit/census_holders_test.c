/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The census on hand-made targets: which words are holders, of what, how certain. */
#include "holders_world.h"


#define WHY (RI_EDGE_POSSIBLE | RI_EDGE_BORROWS | RI_EDGE_INTERIOR | RI_EDGE_TAGGED | RI_EDGE_LINK)

#define assert_edge(edge, class_name, flags_)                                                      \
	do {                                                                                       \
		const struct ri_edge *edge__ = (edge);                                             \
		assert_non_null(edge__);                                                           \
		assert_string_equal(class_of(&w, edge__), class_name);                             \
		assert_int_equal(edge__->flags &WHY, flags_);                                      \
	} while (0)

/* Two conns and a session, a block each. */
struct three {
	uint32_t a, b, session;
};

static struct three add_three(struct world *w)
{
	struct three t;

	t.a = add_block_object(w, HEAP + 0x100, CONN);
	t.b = add_block_object(w, HEAP + 0x200, CONN);
	t.session = add_block_object(w, HEAP + 0x300, SESSION);
	return t;
}

static void typed_pointer_is_certain(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 16, HEAP + 0x300);
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 2, t.session), "conn.session", 0);
	assert_int_equal(w.holders->certain[t.session], 1);
	assert_int_equal(w.holders->possible[t.session], 0);
	assert_int_equal(w.holders->edge_count, 1);
	assert_int_equal(w.holders->words_hit, 1);
	assert_int_equal(ri_holders_source(w.holders, 0), t.a);
	assert_int_equal(ri_holders_word_addr(w.holders, &w.population, &w.heap, 0), HEAP + 0x110);
	assert_int_equal(w.holders->in_first[t.session], 0);
	assert_int_equal(w.holders->in_first[t.session + 1], 1);
	assert_int_equal(w.holders->in_edges[0], 0);
	world_deinit(&w);
}

static void other_places_are_possible(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 16, HEAP + 0x200); /* a session pointer that hits a conn */
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x300); /* void */
	poke(&w, HEAP + 0x100 + 40, HEAP + 0x300); /* no slot */
	poke(&w, HEAP + 0x100 + 64, HEAP + 0x300); /* behind the object, in its block */
	poke(&w, HEAP + 0x100, HEAP + 0x300);      /* header: nothing */
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 2, t.b), "conn.session", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, t.a, 3, t.session), "conn.cookie", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, t.a, 5, t.session), "conn+0x28", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, block_node(&w, 0), 8, t.session), "conn tail", RI_EDGE_POSSIBLE);
	assert_null(find_edge(&w, t.a, 0, t.session));
	assert_int_equal(w.holders->certain[t.session], 0);
	assert_int_equal(w.holders->possible[t.session], 3);
	/* the object leads to the rest of its block */
	assert_non_null(find_edge(&w, t.a, RI_NONE, block_node(&w, 0)));
	world_deinit(&w);
}

static void declared_class_of_a_void_pointer_is_certain(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	world_class(&w, "conn.cookie")->is_declared = true;
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x300);
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 3, t.session), "conn.cookie", 0);
	assert_int_equal(w.holders->certain[t.session], 1);
	world_deinit(&w);
}

static void weighing_again_follows_the_classes(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 16, HEAP + 0x300);
	world_take_census(&w);
	world_class(&w, "conn.session")->weight = 2;
	ri_holders_weigh(w.holders, w.shapes);
	assert_int_equal(w.holders->certain[t.session], 2);
	world_class(&w, "conn.session")->weight = 0;
	ri_holders_weigh(w.holders, w.shapes);
	assert_int_equal(w.holders->certain[t.session], 0);
	assert_edge(find_edge(&w, t.a, 2, t.session), "conn.session", RI_EDGE_BORROWS);
	world_class(&w, "conn.session")->is_possible = true;
	ri_holders_weigh(w.holders, w.shapes);
	assert_int_equal(w.holders->possible[t.session], 1);
	world_class(&w, "conn.session")->count_index = 1;
	ri_holders_weigh(w.holders, w.shapes);
	assert_int_equal(w.holders->possible[t.session], 0);
	world_deinit(&w);
}

static void tags_and_interior_pointers(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 16, HEAP + 0x301);      /* tagged, typed */
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x303);      /* tagged, void */
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x308);      /* typed, but inside */
	poke(&w, HEAP + 0x200 + 24, HEAP + 0x300 + 64); /* behind the object, in its block */
	poke(&w, HEAP + 0x200 + 32, HEAP + 0x300 + 80); /* behind the block */
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 2, t.session), "conn.session", RI_EDGE_TAGGED);
	assert_edge(find_edge(&w, t.a, 3, t.session), "conn.cookie",
		    RI_EDGE_TAGGED | RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, t.b, 2, t.session), "conn.session",
		    RI_EDGE_INTERIOR | RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, t.b, 3, t.session), "conn.cookie",
		    RI_EDGE_INTERIOR | RI_EDGE_POSSIBLE);
	assert_int_equal(out_count(&w, t.b), 2);
	assert_int_equal(w.holders->certain[t.session], 1);
	assert_int_equal(w.holders->possible[t.session], 3);
	world_deinit(&w);
}

static void words_inside_their_own_object(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 24, HEAP + 0x100); /* nothing */
	poke(&w, HEAP + 0x100 + 32, HEAP + 0x120); /* nothing */
	poke(&w, HEAP + 0x100 + 40, HEAP + 0x140); /* into the rest of its own block: nothing */
	world_slot(&w, w.shape_of_type[CONN], 48, RI_SLOT_POINTER, "conn.self", CONN);
	poke(&w, HEAP + 0x100 + 48, HEAP + 0x100); /* a typed one may count */
	world_take_census(&w);
	assert_int_equal(w.holders->edge_count, 1);
	assert_edge(find_edge(&w, t.a, 6, t.a), "conn.self", RI_EDGE_POSSIBLE);
	world_deinit(&w);
}

static void dead_sources_are_possible_and_free_blocks_hold_nothing(void **state)
{
	struct world w;
	uint32_t target, dead, unread;

	(void)state;
	world_init(&w);
	target = add_block_object(&w, HEAP + 0x100, SESSION);
	add_block(&w, HEAP + 0x200, 72, RI_BLOCK_USED);
	dead = add_object(&w, HEAP + 0x200, CONN, RI_NONE, RI_OBJECT_COUNT_DEAD);
	add_block(&w, HEAP + 0x300, 72, RI_BLOCK_FREE);
	add_object(&w, HEAP + 0x300, CONN, RI_NONE, RI_OBJECT_FREED);
	add_block(&w, HEAP + 0x400, 72, RI_BLOCK_FREE);
	add_block(&w, HEAP + 0x500, 72, RI_BLOCK_RECORD);
	add_block(&w, HEAP + 0x600, 0x100, RI_BLOCK_UNKNOWN);
	unread = add_object(&w, HEAP + 0x600, CONN, RI_NONE, 0);
	for (uint64_t block = 0x200; block <= 0x600; block += 0x100)
		poke(&w, HEAP + block + 16, HEAP + 0x100);
	poke(&w, HEAP + 0x680, HEAP + 0x100);
	poke(&w, HEAP + 0x148, HEAP + 0x100); /* between blocks */
	poke(&w, DATA, HEAP + 0x400);         /* a free block is no node to point at */
	poke(&w, DATA + 8, HEAP + 0x300);     /* a freed object is */
	world_take_census(&w);
	assert_edge(find_edge(&w, dead, 2, target), "conn.session", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, unread, 2, target), "conn.session", RI_EDGE_POSSIBLE);
	assert_int_equal(w.holders->possible[target], 2);
	assert_int_equal(w.holders->certain[target], 0);
	assert_int_equal(w.holders->edge_count, 3);
	assert_non_null(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 1, 2));
	assert_int_equal(w.holders->bytes_skipped_free, 144);
	assert_int_equal(w.holders->bytes_skipped_unknown, 0x100);
	assert_int_equal(w.gaps.count, 1);
	assert_false(ri_gaps_has_serious(&w.gaps));
	world_deinit(&w);
}

static void plain_blocks(void **state)
{
	struct world w;
	uint32_t target, block, large, typed, inexact, shape;

	(void)state;
	world_init(&w);
	target = add_block_object(&w, HEAP + 0x100, SESSION);
	block = add_block(&w, HEAP + 0x200, 40, RI_BLOCK_USED);
	large = add_block(&w, HEAP + 0x300, 2000, RI_BLOCK_USED);
	typed = add_block(&w, HEAP + 0x1000, 48, RI_BLOCK_USED);
	inexact = add_block(&w, HEAP + 0x1100, 48, RI_BLOCK_USED);
	shape = world_shape(&w, "table", 16);
	world_slot(&w, shape, 8, RI_SLOT_POINTER, "table.session", SESSION);
	*ri_push(&w.typed_blocks) = (struct ri_typed_block){ typed, shape, true, 0, false, 0 };
	*ri_push(&w.typed_blocks) = (struct ri_typed_block){ inexact, shape, false, 0, false, 0 };
	poke(&w, HEAP + 0x208, HEAP + 0x100);
	poke(&w, HEAP + 0x210, HEAP + 0x218); /* itself */
	poke(&w, HEAP + 0x308, HEAP + 0x100);
	poke(&w, HEAP + 0x1008, HEAP + 0x100);
	poke(&w, HEAP + 0x1018, HEAP + 0x100); /* the second element */
	poke(&w, HEAP + 0x1020, HEAP + 0x200); /* no slot, to a plain block */
	poke(&w, HEAP + 0x1028, HEAP + 0x208); /* a pointer, to a plain block */
	poke(&w, HEAP + 0x1108, HEAP + 0x100);
	world_take_census(&w);
	assert_edge(find_edge(&w, block_node(&w, block), 1, target), "heap:40+8", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, block_node(&w, large), 1, target), "heap:large", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, block_node(&w, typed), 1, target), "table.session", 0);
	assert_edge(find_edge(&w, block_node(&w, typed), 3, target), "table.session", 0);
	assert_edge(find_edge(&w, block_node(&w, typed), 4, block_node(&w, block)), "heap:48+32",
		    RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, block_node(&w, typed), 5, block_node(&w, block)), "table.session",
		    RI_EDGE_INTERIOR);
	assert_edge(find_edge(&w, block_node(&w, inexact), 1, target), "table.session",
		    RI_EDGE_POSSIBLE);
	assert_int_equal(out_count(&w, block_node(&w, block)), 1);
	assert_int_equal(w.holders->certain[target], 2);
	assert_int_equal(w.holders->possible[target], 3);
	world_deinit(&w);
}

static void stacks_registers_and_mappings(void **state)
{
	struct world w;
	uint64_t vector[8] = { 0 };
	struct three t;
	uint32_t stack, registers, mapping;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, SP - 136, HEAP + 0x100); /* below the red zone: dead */
	poke(&w, SP - 128, HEAP + 0x100);
	poke(&w, SP + 0x1000, HEAP + 0x100);
	w.thread.registers[RI_REG_RBX] = HEAP + 0x200;
	vector[5] = HEAP + 0x300;
	w.thread.vector = (uint8_t *)vector;
	w.thread.vector_size_bytes = sizeof(vector);
	poke(&w, MAPPING + 8, HEAP + 0x300);
	world_take_census(&w);
	stack = region_node(&w, RI_REGION_STACK, SP);
	registers = region_node(&w, RI_REGION_REGISTERS, 0);
	mapping = region_node(&w, RI_REGION_MAPPING, MAPPING);
	assert_int_equal(out_count(&w, stack), 2);
	assert_edge(find_edge(&w, stack, 0, t.a), "stack", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, stack, (0x1000 + 128) / 8, t.a), "stack", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, registers, RI_REG_RBX, t.b), "register", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, registers, RI_REGISTER_COUNT + 5, t.session), "register",
		    RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, mapping, 1, t.session), "mapping", RI_EDGE_POSSIBLE);
	assert_string_equal(
		w.holders->regions[stack - w.holders->object_count - w.holders->block_count].name,
		"stack of thread 7");
	assert_int_equal(ri_holders_word_addr(w.holders, &w.population, &w.heap,
					      w.holders->first[registers]),
			 0);
	assert_int_equal(ri_holders_word_addr(w.holders, &w.population, &w.heap,
					      w.holders->first[stack]),
			 SP - 128);
	world_deinit(&w);
}

static void thread_without_registers_is_a_serious_gap(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	w.thread.has_registers = false;
	poke(&w, STACK, HEAP + 0x100);
	world_take_census(&w);
	assert_true(ri_gaps_has_serious(&w.gaps));
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MAPPING, STACK), 0, t.a), "mapping",
		    RI_EDGE_POSSIBLE);
	world_deinit(&w);
}

/* Only where it is evident is the part below SP taken for dead. */
static void stack_in_an_unknown_mapping_is_searched_whole(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	w.mappings[1].path = NULL;
	poke(&w, STACK, HEAP + 0x100);
	world_take_census(&w);
	assert_non_null(find_edge(&w, region_node(&w, RI_REGION_MAPPING, STACK), 0, t.a));
	world_deinit(&w);
}

/* A core file names no mapping "[stack]"; the auxiliary vector says which it is. */
static void stack_of_the_kernel_is_known_in_a_core(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	w.target.mapping_count = 1; /* the stack's range has no name, not even a row */
	w.target.auxv_random = STACK + PART_BYTES - 0x100;
	poke(&w, STACK, HEAP + 0x100);
	poke(&w, SP + 8, HEAP + 0x200);
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.a], 0);
	assert_int_equal(w.holders->possible[t.b], 1);
	/* a thread that runs elsewhere says nothing about its part below SP */
	w.target.auxv_random = MAPPING + 0x100;
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.a], 1);
	world_deinit(&w);
}

/* A control block of glibc's at `block`, for the stack [start, start + size_bytes). */
static void poke_control_block(struct world *w, uint64_t block, uint32_t id, uint64_t start,
			       uint64_t size_bytes)
{
	poke(w, block, block);
	poke(w, block + 16, block);
	poke(w, block + 0x2d0, id);
	poke(w, block + 0x690, start);
	poke(w, block + 0x698, size_bytes);
}

static void stacks_by_their_control_blocks(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	w.mappings[1].path = NULL;
	w.thread.registers[RI_REG_FS_BASE] = STACK + 0xe000;
	poke_control_block(&w, STACK + 0xe000, 7, STACK + 0x1000, 0xf000);
	poke(&w, STACK + 8, HEAP + 0x100);      /* below the stack */
	poke(&w, STACK + 0x2000, HEAP + 0x200); /* its dead part */
	poke(&w, STACK + 0x9000, HEAP + 0x300);
	world_take_census(&w);
	assert_non_null(find_edge(&w, region_node(&w, RI_REGION_MAPPING, STACK), 1, t.a));
	assert_int_equal(w.holders->possible[t.b], 0);
	assert_int_equal(w.holders->possible[t.session], 1);
	/* one of a thread that ended, whose TLS vector the library keeps */
	poke_control_block(&w, MAPPING + 0x4000, 0, MAPPING + 0x1000, 0x4000);
	poke(&w, MAPPING + 0x2000, HEAP + 0x200);
	poke(&w, MAPPING + 0x4008, HEAP + 0x200);
	poke(&w, MAPPING + 0x4100, HEAP + 0x200);
	poke(&w, MAPPING + 0x5000, HEAP + 0x200);
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.b], 2);
	assert_non_null(find_edge(&w, region_node(&w, RI_REGION_MAPPING, MAPPING + 0x4008), 1, t.b));
	assert_non_null(find_edge(&w, region_node(&w, RI_REGION_MAPPING, MAPPING + 0x5000), 0, t.b));
	assert_int_not_equal(region_node(&w, RI_REGION_ENDED_STACK, MAPPING + 0x2000), RI_NONE);
	/* the same of a thread that lives: it may be anywhere in it */
	poke(&w, MAPPING + 0x42d0, 7);
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.b], 4);
	/* threads that the target lost look as if they had ended: nothing is taken for it */
	poke(&w, MAPPING + 0x42d0, 0);
	w.target.has_lost_threads = true;
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.b], 4);
	w.target.has_lost_threads = false;
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.b], 2);
	/* nor where no id is known to lie */
	poke(&w, STACK + 0xe2d0, 8);
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.b], 4);
	world_deinit(&w);
}

static void static_variables(void **state)
{
	struct world w;
	struct three t;
	uint32_t shape, data;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	shape = world_shape(&w, "root_table", 8);
	world_slot(&w, shape, 0, RI_SLOT_POINTER, "root_table[]", SESSION);
	*ri_push(&w.variables) =
		(struct ri_variable_span){ DATA + 0x100, 32, "root_table", NULL, shape };
	poke(&w, DATA + 0x0f8, HEAP + 0x300);
	poke(&w, DATA + 0x100, HEAP + 0x300);
	poke(&w, DATA + 0x118, HEAP + 0x300);
	poke(&w, DATA + 0x120, HEAP + 0x300);
	poke(&w, DATA + 0x110, HEAP + 0x100); /* not a session */
	poke(&w, RODATA, HEAP + 0x300);
	world_take_census(&w);
	data = region_node(&w, RI_REGION_MODULE, DATA);
	assert_edge(find_edge(&w, data, 0xf8 / 8, t.session), "static", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, data, 0x100 / 8, t.session), "root_table[]", 0);
	assert_edge(find_edge(&w, data, 0x118 / 8, t.session), "root_table[]", 0);
	assert_edge(find_edge(&w, data, 0x120 / 8, t.session), "static", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, data, 0x110 / 8, t.a), "root_table[]", RI_EDGE_POSSIBLE);
	assert_int_equal(region_node(&w, RI_REGION_MODULE, RODATA) != RI_NONE, true);
	assert_int_equal(w.holders->certain[t.session], 2);
	assert_int_equal(w.holders->possible[t.session], 3);
	world_deinit(&w);
}

static void allocator_records_hold_nothing(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	w.skipped[0] = (struct ri_skipped_span){ DATA + 0x100, DATA + 0x200 };
	w.skipped_count = 1;
	poke(&w, DATA + 0x0f8, HEAP + 0x100);
	poke(&w, DATA + 0x100, HEAP + 0x100);
	poke(&w, DATA + 0x1f8, HEAP + 0x100);
	poke(&w, DATA + 0x200, HEAP + 0x100);
	poke(&w, DATA + 0x300, HEAP + 0x100 + 64); /* the header of the chunk behind */
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.a], 3);
	w.data.has_allocator = true;
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.a], 2);
	world_deinit(&w);
}

static void memberships_stand_for_link_words(void **state)
{
	struct world w;
	struct three t;
	uint32_t data, stray, lost;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	stray = add_block_object(&w, HEAP + 0x400, CONN);
	lost = add_block_object(&w, HEAP + 0x500, CONN);
	*ri_push(&w.layout.groups) = (struct ri_group_rule){ .kind = RI_LINK_LIST,
							     .head_first_offset = 0,
							     .head_last_offset = 8 };
	poke(&w, DATA + 0x40, HEAP + 0x108); /* first */
	poke(&w, DATA + 0x48, HEAP + 0x208); /* last */
	poke(&w, HEAP + 0x108, HEAP + 0x208);
	poke(&w, HEAP + 0x208, HEAP + 0x508); /* a member's link word, to no member */
	poke(&w, HEAP + 0x408, HEAP + 0x508); /* no member's, to no member */
	poke(&w, HEAP + 0x508, HEAP + 0x108); /* no member's, to a member */
	add_group(&w, "owning", DATA + 0x40, RI_NONE, RI_WEIGHT_FIXED, 1);
	add_member(&w, t.a);
	add_member(&w, t.b);
	add_group(&w, "borrowing", HEAP + 0x320, t.session, RI_WEIGHT_FIXED, 0);
	add_member(&w, t.a);
	add_group(&w, "unknown", MAPPING + 0x40, RI_NONE, RI_WEIGHT_POSSIBLE, 0);
	add_member(&w, t.b);
	add_group(&w, "owning", 0x12345000, RI_NONE, RI_WEIGHT_FIXED, 0); /* lies nowhere */
	add_member(&w, t.session);
	world_take_census(&w);
	data = region_node(&w, RI_REGION_MODULE, DATA);
	assert_int_equal(out_count(&w, data), 2);
	assert_edge(find_edge(&w, data, RI_NONE, t.a), "group:owning", 0);
	assert_edge(find_edge(&w, data, RI_NONE, t.b), "group:owning", 0);
	assert_edge(find_edge(&w, t.session, RI_NONE, t.a), "group:borrowing", RI_EDGE_BORROWS);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MAPPING, MAPPING), RI_NONE, t.b),
		    "group:unknown", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, w.holders->node_count - 1, RI_NONE, t.session),
		    "group:owning (weight 0)", RI_EDGE_BORROWS);
	assert_edge(find_edge(&w, stray, 1, lost), "link", RI_EDGE_LINK | RI_EDGE_INTERIOR);
	assert_int_equal(w.holders->edge_count, 6);
	assert_int_equal(w.holders->certain[t.a], 1);
	assert_int_equal(w.holders->possible[t.a], 0);
	assert_int_equal(w.holders->possible[t.b], 1);
	assert_int_equal(w.holders->certain[t.session] + w.holders->possible[t.session], 0);
	ri_vec_deinit(&w.layout.groups);
	world_deinit(&w);
}

static void back_pointers_borrow(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	poke(&w, HEAP + 0x100 + 56, HEAP + 0x300);
	poke(&w, HEAP + 0x200 + 56, HEAP + 0x320); /* to the head inside */
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 7, t.session), "back", RI_EDGE_BORROWS);
	assert_edge(find_edge(&w, t.b, 7, t.session), "back", RI_EDGE_BORROWS | RI_EDGE_INTERIOR);
	assert_int_equal(w.holders->possible[t.session], 0);
	world_class(&w, "back")->weight = 1;
	ri_holders_weigh(w.holders, w.shapes);
	assert_int_equal(w.holders->certain[t.session], 2);
	world_deinit(&w);
}

static void embedded_objects(void **state)
{
	struct world w;
	uint32_t outer, inner, same, holder;

	(void)state;
	world_init(&w);
	w.types[BUFFER].extent_bytes = 0x80;
	add_block(&w, HEAP + 0x100, 0x88, RI_BLOCK_USED);
	outer = add_object(&w, HEAP + 0x100, BUFFER, RI_NONE, 0);
	same = add_object(&w, HEAP + 0x100, CONN, outer, 0);
	inner = add_object(&w, HEAP + 0x140, SESSION, outer, 0);
	holder = add_block_object(&w, HEAP + 0x200, CONN);
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x140); /* typed: the inner one */
	poke(&w, HEAP + 0x200 + 24, HEAP + 0x100); /* void: both that start there */
	poke(&w, HEAP + 0x110, HEAP + 0x200);      /* belongs to the conn inside */
	poke(&w, HEAP + 0x150, HEAP + 0x100);      /* typed, from the inner one to `same` */
	world_take_census(&w);
	assert_edge(find_edge(&w, holder, 2, inner), "conn.session", 0);
	assert_edge(find_edge(&w, holder, 3, outer), "conn.cookie", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, holder, 3, same), "conn.cookie", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, same, 2, holder), "conn.session", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, inner, 2, same), "session.conn", 0);
	for (uint32_t o = same; o <= inner; o++) {
		assert_int_equal(find_edge(&w, outer, RI_NONE, o)->flags, RI_EDGE_EMBEDS);
		assert_int_equal(find_edge(&w, o, RI_NONE, outer)->flags, RI_EDGE_EMBEDS);
	}
	assert_int_equal(w.holders->possible[outer], 1);
	world_deinit(&w);
}

/* A base somewhere inside, the header alone: pointers to the same count. */
static void pointers_by_header(void **state)
{
	struct world w;
	uint32_t object, holder;

	(void)state;
	world_init(&w);
	w.types[SESSION].header_offset = 16;
	w.types[CONN].header_offset = 0;
	w.types[CONN].convention = w.types[SESSION].convention;
	object = add_block_object(&w, HEAP + 0x100, CONN);
	holder = add_block_object(&w, HEAP + 0x200, CONN);
	/* a struct session whose header is at 16 would begin 16 bytes in front */
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x100 - 16);
	world_take_census(&w);
	assert_int_equal(w.holders->edge_count, 0);
	w.types[CONN].header_offset = 32;
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x110);
	world_take_census(&w);
	assert_edge(find_edge(&w, holder, 2, object), "conn.session", 0);
	w.types[CONN].convention = 77;
	world_take_census(&w);
	assert_edge(find_edge(&w, holder, 2, object), "conn.session",
		    RI_EDGE_POSSIBLE | RI_EDGE_INTERIOR);
	world_deinit(&w);
}

static void header_in_front(void **state)
{
	struct world w;
	uint32_t object, holder;

	(void)state;
	world_init(&w);
	w.types[SESSION].header_offset = -32;
	w.types[SESSION].front_bytes = 32;
	add_block(&w, HEAP + 0x100, 72, RI_BLOCK_USED);
	object = add_object(&w, HEAP + 0x120, SESSION, RI_NONE, 0);
	holder = add_block_object(&w, HEAP + 0x200, CONN);
	poke(&w, HEAP + 0x200 + 16, HEAP + 0x120); /* P */
	poke(&w, HEAP + 0x200 + 24, HEAP + 0x100); /* the header */
	poke(&w, HEAP + 0x100 + 16, HEAP + 0x200); /* slot 16 from the start */
	world_take_census(&w);
	assert_edge(find_edge(&w, holder, 2, object), "conn.session", 0);
	assert_edge(find_edge(&w, holder, 3, object), "conn.cookie", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, object, 2, holder), "session.conn", 0);
	world_deinit(&w);
}

static void blocks_with_several_objects(void **state)
{
	struct world w;
	uint32_t first, second, block;

	(void)state;
	world_init(&w);
	block = add_block(&w, HEAP + 0x100, 0xa0, RI_BLOCK_USED);
	first = add_object(&w, HEAP + 0x108, CONN, RI_NONE, 0);
	second = add_object(&w, HEAP + 0x150, CONN, RI_NONE, 0);
	poke(&w, DATA, HEAP + 0x100);     /* the block itself */
	poke(&w, DATA + 8, HEAP + 0x148); /* between them */
	poke(&w, DATA + 16, HEAP + 0x150);
	poke(&w, HEAP + 0x148, HEAP + 0x108);
	world_take_census(&w);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 0, block_node(&w, block)),
		    "static", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 1, block_node(&w, block)),
		    "static", RI_EDGE_POSSIBLE | RI_EDGE_INTERIOR);
	assert_int_equal(w.holders->possible[second], 1);
	assert_edge(find_edge(&w, block_node(&w, block), 9, first), "heap:several",
		    RI_EDGE_POSSIBLE);
	world_deinit(&w);
}

/* The spare room of a vector: unsure, or known to hold nothing. */
static void spare_room_of_an_array(void **state)
{
	struct world w;
	uint32_t target, shape, array;

	(void)state;
	world_init(&w);
	target = add_block_object(&w, HEAP + 0x100, SESSION);
	array = add_block(&w, HEAP + 0x200, 40, RI_BLOCK_USED);
	shape = world_shape(&w, "queue[]", 8);
	world_slot(&w, shape, 0, RI_SLOT_POINTER, "queue[]", SESSION);
	*ri_push(&w.typed_blocks) = (struct ri_typed_block){
		.block = array, .shape = shape, .is_exact = true, .spare_bytes = 24
	};
	for (uint64_t i = 0; i < 40; i += 8)
		poke(&w, HEAP + 0x200 + i, HEAP + 0x100);
	world_take_census(&w);
	assert_int_equal(w.holders->certain[target], 2);
	assert_int_equal(w.holders->possible[target], 3);
	w.typed_blocks.items[0].is_spare_dead = true;
	world_take_census(&w);
	assert_int_equal(w.holders->certain[target], 2);
	assert_int_equal(w.holders->possible[target], 0);
	world_deinit(&w);
}

static void encoded_pointers(void **state)
{
	const uint64_t key = 0x5555000000000000, clear = HEAP + 0x300;
	struct world w;
	struct three t;
	uint32_t shape, block;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	block = add_block(&w, HEAP + 0x400, 72, RI_BLOCK_USED);
	*ri_push(&w.layout.encodings) = (struct ri_encoding){ .pattern = "conn.session",
							      .xor_value = key };
	*ri_push(&w.layout.encodings) =
		(struct ri_encoding){ .pattern = "packed[].session[]",
				      .mask = 0xff00000000000000, .shift = 3, .add = -16 };
	shape = world_shape(&w, "packed", 16);
	world_slot(&w, shape, 8, RI_SLOT_POINTER, "packed[].session[]", SESSION);
	*ri_push(&w.typed_blocks) = (struct ri_typed_block){ block, shape, true, 0, false, 0 };
	*ri_push(&w.variables) =
		(struct ri_variable_span){ DATA + 0x100, 32, "packed", NULL, shape };
	poke(&w, HEAP + 0x100 + 16, clear ^ key);
	poke(&w, HEAP + 0x200 + 16, clear); /* not encoded: no pointer */
	poke(&w, HEAP + 0x408, (clear + 16) >> 3 | 0x1100000000000000);
	poke(&w, HEAP + 0x418, (clear + 16) >> 3);
	poke(&w, HEAP + 0x420, (clear + 16) >> 3); /* not at a slot */
	poke(&w, DATA + 0x118, (clear + 16) >> 3);
	poke(&w, DATA + 0x108, clear);
	world_take_census(&w);
	assert_edge(find_edge(&w, t.a, 2, t.session), "conn.session", 0);
	assert_edge(find_edge(&w, block_node(&w, block), 1, t.session), "packed[].session[]", 0);
	assert_edge(find_edge(&w, block_node(&w, block), 3, t.session), "packed[].session[]", 0);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 0x118 / 8, t.session),
		    "packed[].session[]", 0);
	assert_int_equal(w.holders->edge_count, 4);
	ri_vec_deinit(&w.layout.encodings);
	world_deinit(&w);
}

/* Objects that do not begin at a multiple of 8. */
static void misaligned_objects(void **state)
{
	struct world w;
	uint32_t first, second;

	(void)state;
	world_init(&w);
	add_block(&w, HEAP + 0x100, 0x108, RI_BLOCK_USED);
	first = add_object(&w, HEAP + 0x104, CONN, RI_NONE, 0);
	second = add_object(&w, HEAP + 0x104 + TYPE_BYTES, SESSION, RI_NONE, 0);
	poke(&w, DATA, HEAP + 0x104);
	poke(&w, DATA + 8, HEAP + 0x104 + TYPE_BYTES - 2); /* the end of the first */
	poke(&w, DATA + 16, HEAP + 0x100);                 /* before both */
	poke(&w, HEAP + 0x128, HEAP + 0x104 + TYPE_BYTES);
	world_take_census(&w);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 0, first), "static",
		    RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 1, first), "static",
		    RI_EDGE_POSSIBLE | RI_EDGE_INTERIOR);
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 2, block_node(&w, 0)),
		    "static", RI_EDGE_POSSIBLE);
	assert_edge(find_edge(&w, first, 5, second), "conn+0x24", RI_EDGE_POSSIBLE);
	assert_int_equal(ri_holders_word_addr(w.holders, &w.population, &w.heap,
					      w.holders->first[first]),
			 HEAP + 0x128);
	world_deinit(&w);
}

/* Slots of an array group and words of external nodes, wherever they lie. */
static void link_words_by_address(void **state)
{
	struct world w;
	struct three t;
	uint32_t slots, node;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	slots = add_block(&w, HEAP + 0x400, 104, RI_BLOCK_USED);
	node = add_block(&w, HEAP + 0x500, 40, RI_BLOCK_USED);
	*ri_push(&w.layout.groups) = (struct ri_group_rule){
		.kind = RI_LINK_ARRAY, .head_is_pointer = true, .slot_bytes = 16
	};
	*ri_push(&w.layout.groups) = (struct ri_group_rule){ .kind = RI_LINK_SLIST,
							     .head_last_offset = -1,
							     .prev_offset = -1,
							     .node_bytes = 40,
							     .payload_offset = 24 };
	add_group(&w, "array", DATA + 0x40, RI_NONE, RI_WEIGHT_FIXED, 1);
	w.groups.items[0].slots = HEAP + 0x400;
	w.groups.items[0].slot_count = 3;
	add_member(&w, t.a);
	add_group(&w, "list", DATA + 0x80, RI_NONE, RI_WEIGHT_FIXED, 1);
	w.groups.items[1].rule = 1;
	add_member(&w, t.b);
	w.memberships.items[1].node = HEAP + 0x500;
	poke(&w, DATA + 0x40, HEAP + 0x400);
	poke(&w, HEAP + 0x400, HEAP + 0x100);
	poke(&w, HEAP + 0x408, HEAP + 0x100); /* between slots */
	poke(&w, HEAP + 0x420, HEAP + 0x300); /* a slot to no member */
	poke(&w, HEAP + 0x430, HEAP + 0x100); /* behind the last */
	poke(&w, DATA + 0x80, HEAP + 0x500);
	poke(&w, HEAP + 0x500 + 24, HEAP + 0x200);
	poke(&w, HEAP + 0x500 + 16, HEAP + 0x200); /* another word of the node */
	world_take_census(&w);
	assert_int_equal(w.holders->possible[t.a], 2);
	assert_int_equal(w.holders->possible[t.b], 1);
	assert_int_equal(w.holders->possible[t.session], 0);
	assert_edge(find_edge(&w, block_node(&w, slots), 4, t.session), "heap:104+32",
		    RI_EDGE_LINK);
	assert_edge(find_edge(&w, block_node(&w, slots), 6, t.a), "heap:104+48", RI_EDGE_POSSIBLE);
	/* a head leads to its nodes */
	assert_edge(find_edge(&w, region_node(&w, RI_REGION_MODULE, DATA), 16,
			      block_node(&w, node)),
		    "static", 0);
	ri_vec_deinit(&w.layout.groups);
	world_deinit(&w);
}

/* With a query far away the upper bits of the addresses are not all the same. */
static void bound_counts_every_offset(size_t query_count)
{
	struct world w;
	uint64_t across = HEAP + 0x23f;
	struct ri_bound_query queries[] = { { HEAP + 0x200, HEAP + 0x240, 9 },
					    { HEAP + 0x100, HEAP + 0x140, 9 },
					    { HEAP + 0x110, HEAP + 0x120, 9 },
					    { 0x7f0000000000, 0x7f0000000010, 9 } };

	world_init(&w);
	poke(&w, HEAP + 0x100, HEAP + 0x100);   /* its own word; the inner query counts none */
	poke(&w, HEAP + 0x100 + 8, HEAP + 0x110); /* own for the outer, not for the inner */
	poke(&w, HEAP + 0x1003, HEAP + 0x13f);
	poke(&w, MAPPING + PART_BYTES - 8, HEAP + 0x100);
	poke(&w, MAPPING + PART_BYTES - 21, HEAP + 0x118);
	poke(&w, STACK, HEAP + 0x140); /* one byte behind */
	memcpy(w.memory[1] + PART_BYTES - 3, &across, 3); /* from one range into the next */
	memcpy(w.memory[2], (const char *)&across + 3, 5);
	poke(&w, RODATA + 0x105, 0x7f000000000f);
	w.thread.registers[RI_REG_RAX] = HEAP + 0x201;
	ri_holders_bound(&w.target, queries, query_count);
	assert_int_equal(queries[0].words, 2);
	assert_int_equal(queries[1].words, 3);
	assert_int_equal(queries[2].words, 2);
	assert_int_equal(queries[3].words, query_count == 4 ? 1 : 9);
	world_deinit(&w);
}

static void the_bound_counts_every_offset(void **state)
{
	(void)state;
	bound_counts_every_offset(3);
	bound_counts_every_offset(4);
}

/* Queries inside and across one another, against counting word by word. */
static void the_bound_of_nested_queries(void **state)
{
	enum { BYTES = 2048, QUERIES = 48, ROUNDS = 50 };
	const uint64_t base = 0x7f0000001000, place = 0x600000;
	uint8_t bytes[BYTES];
	const struct ri_range range = { place, place + BYTES, bytes, RI_RANGE_PRESENT,
					RI_RANGE_READ };
	struct ri_bound_query queries[QUERIES];
	struct ri_target target = { 0 };

	(void)state;
	srand(7);
	target.image = ri_image_create();
	ri_image_add(target.image, &range);
	ri_image_seal(target.image);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BYTES; i += 8) {
			uint64_t word = base + (uint64_t)(rand() % 5000);

			memcpy(bytes + i, &word, sizeof(word));
		}
		for (size_t i = 0; i < QUERIES; i++) {
			queries[i].start = base + (uint64_t)(rand() % 4096);
			queries[i].end = queries[i].start + 1 +
					 (uint64_t)(rand() % (rand() % 4 ? 64 : 2048));
		}
		ri_holders_bound(&target, queries, QUERIES);
		for (size_t i = 0; i < QUERIES; i++) {
			uint64_t words = 0, word;

			for (size_t at = 0; at + 8 <= BYTES; at++) {
				memcpy(&word, bytes + at, sizeof(word));
				words += word >= queries[i].start && word < queries[i].end;
			}
			assert_int_equal(queries[i].words, words);
		}
	}
	ri_image_destroy(target.image);
}

/* A pointer to the first of several objects in one block may be one to the array. */
static void pointer_to_an_array_of_objects_is_possible(void **state)
{
	struct world w;
	uint32_t holder, first, second, shape;

	(void)state;
	world_init(&w);
	holder = add_block_object(&w, HEAP + 0x100, SESSION);
	add_block(&w, HEAP + 0x200, 2 * TYPE_BYTES + 8, RI_BLOCK_USED);
	first = add_object(&w, HEAP + 0x200, CONN, RI_NONE, 0);
	second = add_object(&w, HEAP + 0x200 + TYPE_BYTES, CONN, RI_NONE, 0);
	shape = world_shape(&w, "slab", 8);
	world_slot(&w, shape, 0, RI_SLOT_POINTER, "slab", CONN);
	*ri_push(&w.variables) = (struct ri_variable_span){ DATA + 0x100, 16, "slab", NULL, shape };
	poke(&w, DATA + 0x100, HEAP + 0x200);
	poke(&w, DATA + 0x108, HEAP + 0x200 + TYPE_BYTES);
	world_take_census(&w);
	(void)holder;
	assert_int_equal(w.holders->certain[first], 0);
	assert_int_equal(w.holders->possible[first], 1);
	assert_int_equal(w.holders->certain[second], 1);
	world_class(&w, "slab")->is_declared = true;
	world_take_census(&w);
	assert_int_equal(w.holders->certain[first], 1);
	world_deinit(&w);
}

static void undeclared_back_pointers_are_told(void **state)
{
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	world_class(&w, "back")->is_possible = true;
	poke(&w, w.objects.items[t.a].addr + 56, HEAP + 0x300);
	world_take_census(&w);
	ri_holders_tell_backs(w.holders, &w.population, w.shapes, &w.gaps);
	assert_int_equal(w.gaps.count, 1);
	assert_string_equal(w.gaps.items[0].message,
			    "back: ownership not declared, deficits of session may go unseen");
	assert_int_equal(w.gaps.items[0].weight, RI_GAP_TOLD);
	ri_gaps_deinit(&w.gaps);
	ri_gaps_init(&w.gaps);
	world_class(&w, "back")->is_declared = true;
	ri_holders_tell_backs(w.holders, &w.population, w.shapes, &w.gaps);
	assert_int_equal(w.gaps.count, 0);
	world_deinit(&w);
}

/* One link word in two chains is one membership; which one, nobody knows. */
static void link_in_two_groups_is_possible(void **state)
{
	uint32_t first[] = { 0, 2, 2, 2 }, of[] = { 0, 1 };
	struct world w;
	struct three t;

	(void)state;
	world_init(&w);
	t = add_three(&w);
	add_group(&w, "one", DATA + 0x40, RI_NONE, RI_WEIGHT_FIXED, 1);
	add_member(&w, t.a);
	add_group(&w, "two", DATA + 0x80, RI_NONE, RI_WEIGHT_FIXED, 1);
	add_member(&w, t.a);
	w.population.member_of_first = first;
	w.population.member_of = of;
	world_take_census(&w);
	assert_int_equal(w.holders->certain[t.a], 0);
	assert_int_equal(w.holders->possible[t.a], 2);
	/* the clean twin: two links */
	w.memberships.items[1].node += 16;
	world_take_census(&w);
	assert_int_equal(w.holders->certain[t.a], 2);
	world_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_pointer_is_certain),
		cmocka_unit_test(other_places_are_possible),
		cmocka_unit_test(declared_class_of_a_void_pointer_is_certain),
		cmocka_unit_test(weighing_again_follows_the_classes),
		cmocka_unit_test(tags_and_interior_pointers),
		cmocka_unit_test(words_inside_their_own_object),
		cmocka_unit_test(dead_sources_are_possible_and_free_blocks_hold_nothing),
		cmocka_unit_test(plain_blocks),
		cmocka_unit_test(stacks_registers_and_mappings),
		cmocka_unit_test(thread_without_registers_is_a_serious_gap),
		cmocka_unit_test(stack_in_an_unknown_mapping_is_searched_whole),
		cmocka_unit_test(pointer_to_an_array_of_objects_is_possible),
		cmocka_unit_test(undeclared_back_pointers_are_told),
		cmocka_unit_test(link_in_two_groups_is_possible),
		cmocka_unit_test(stack_of_the_kernel_is_known_in_a_core),
		cmocka_unit_test(stacks_by_their_control_blocks),
		cmocka_unit_test(static_variables),
		cmocka_unit_test(allocator_records_hold_nothing),
		cmocka_unit_test(memberships_stand_for_link_words),
		cmocka_unit_test(back_pointers_borrow),
		cmocka_unit_test(embedded_objects),
		cmocka_unit_test(pointers_by_header),
		cmocka_unit_test(header_in_front),
		cmocka_unit_test(blocks_with_several_objects),
		cmocka_unit_test(spare_room_of_an_array),
		cmocka_unit_test(encoded_pointers),
		cmocka_unit_test(misaligned_objects),
		cmocka_unit_test(link_words_by_address),
		cmocka_unit_test(the_bound_counts_every_offset),
		cmocka_unit_test(the_bound_of_nested_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
