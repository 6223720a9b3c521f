/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program full of stale memory, in a random convention (layout.h, written by
 * tests/tools/nasty_gen), with random faults in it.
 *
 *	world --seed=N --objects=N --faults=N
 *
 * Prints its faults, then READY, and waits:
 *
 *	FAULT NAME sure|masked CODE[,CODE...] ADDRESS[,ADDRESS...]
 *
 * A fault must be found under one of its codes at one of its addresses; a masked
 * one may be: some other word in used memory points at the object as well and
 * might be what its count stands for (these words are counted in all of the
 * program's memory right before READY), or nothing tells that there is an object: no magic,
 * no group, no typed pointer.
 *
 * Counts are right by construction: only own() stores an owning word.  What is
 * known about the objects is kept in mappings of its own (the book), which are
 * gone before READY.
 *
 * What makes it nasty: nothing is cleared, so that unused room in objects and
 * buffers, tails of vectors, and links of objects that are in no group hold what was
 * there before; complete copies of live objects were freed everywhere, from three
 * threads, one of which has ended; buffers without type lie in such copies.
 */
#include "truth.h"

/* ---- building ---- */

static FIXTURE_NOINLINE void create_some(int count)
{
	for (int i = 0; i < count; i++) {
		create_object((int)draw(TYPES));
		if (chance(30))
			leave_ghosts(1 + (int)draw(3));
	}
	leave_ghosts(count / 3);
	leave_buffers(count / 20);
}

/* From here on the registers of the thread are all that leads to some objects. */
static _Noreturn void hold_in_registers(void)
{
	__asm__ volatile("mov (%0), %%r12\n\tmov 8(%0), %%r13\n\t"
			 "mov 16(%0), %%r14\n\tmov 24(%0), %%r15\n\t"
			 "movq $0, (%0)\n\tmovq $0, 8(%0)\n\t"
			 "movq $0, 16(%0)\n\tmovq $0, 24(%0)\n\t"
			 "movl $3, (%1)\n"
			 "1:\tmov $34, %%eax\n\tsyscall\n\tjmp 1b" /* pause() */
			 :
			 : "b"(waiting.registers), "D"(&stage)
			 : "memory", "rax", "rcx", "r11", "r12", "r13", "r14", "r15");
	__builtin_unreachable();
}

static void *thread_main(void *argument)
{
	void *slots[STACK_SLOTS];
	int *count = argument;
	bool is_to_end = *count < 0;

	create_some(is_to_end ? -*count : *count);
	if (is_to_end)
		return NULL;
	fixture_wipe();
	memset(slots, 0, sizeof(slots));
	waiting.stack = slots;
	for (int t = 0; t < TYPES; t++)
		waiting.tls[t] = tls_of(t);
	atomic_store(&stage, 1);
	while (atomic_load(&stage) < 2)
		usleep(1000);
	hold_in_registers();
}

/* Has the waiting thread load what it alone is to hold. */
static void fill_registers(void)
{
	memcpy(waiting.registers, book->registers, sizeof(waiting.registers));
	atomic_store(&stage, 2);
	while (atomic_load(&stage) < 3)
		usleep(1000);
}

static FIXTURE_NOINLINE void build(int objects)
{
	static int ended_count, waiting_count;
	pthread_t thread;

	create_some(objects / 2);
	create_heads();
	ended_count = -objects / 4;
	waiting_count = objects - objects / 2 - objects / 4;
	if (pthread_create(&thread, NULL, thread_main, &ended_count) ||
	    pthread_join(thread, NULL) ||
	    pthread_create(&thread, NULL, thread_main, &waiting_count))
		abort();
	while (!atomic_load(&stage))
		usleep(1000);
	/* of a pool with few objects nothing can be told where they have no magic */
	for (int s = 0; s < book->slab_count; s++)
		while (book->slabs[s].used < types[book->slabs[s].type].slab)
			create_object(book->slabs[s].type);
	for (int o = 0; o < book->object_count; o++) {
		attach(o);
		if (chance(20))
			leave_ghosts(2);
	}
	for (int o = 0; o < book->object_count; o++) {
		join_some(o);
		cross_reference(o);
		if (chance(20))
			leave_ghosts(2);
	}
	leave_ghosts(objects / 2);
	leave_buffers(objects / 20);
	leave_ghosts(objects / 4);
}

/* ---- faults ---- */

static void use(int o)
{
	book->objects[o].is_used = true;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target == o && edge->source != ROOT)
			book->objects[edge->source].is_used = true;
		if (edge->source == o)
			book->objects[edge->target].is_used = true;
	}
}

/* An object that nothing was done to, mostly one that no stray word points at. */
static int choose(void)
{
	bool any = chance(20);

	for (int i = 0; i < 200; i++) {
		int o = (int)draw((unsigned)book->object_count);

		if (!book->objects[o].is_used && (any || !book->objects[o].strays))
			return o;
	}
	return NONE;
}

static struct fault *add_fault(const char *name, const char *codes, void *addr, int victim)
{
	struct fault *fault = &book->faults[book->fault_count++];

	*fault = (struct fault){ .name = name, .codes = codes, .addrs = { addr }, .count = -1 };
	if (victim != NONE) {
		fault->victims[fault->victim_count++] = victim;
		use(victim);
	}
	return fault;
}

static void show_in(struct fault *fault, const struct object *object, int l)
{
	fault->group = group_of_link(object->type, l);
	fault->head = object->head[l];
}

static void leak_reference(int o)
{
	count_add(&book->objects[o], 1 + draw(2));
	add_fault("leaked-reference", "surplus", book->objects[o].p, o)->is_spoiled_by_strays = true;
}

static void miss_reference(int o)
{
	struct object *object = &book->objects[o];
	const struct type *type = type_of(object);
	struct fault *fault;

	count_add(object, -1);
	fault = add_fault("missing-reference",
			  type->get(object->p) ? "deficit" : "bad-count,dead-member,dangling",
			  object->p, o);
	fault->count = type->get(object->p);
}

static void lose_last_holder(int o)
{
	struct object *object = &book->objects[o];
	struct fault *fault;
	void **word = NULL;
	int hanging = 0;

	if (object->certain + object->doubtful != 1)
		return;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target != o || !owns(edge->kind))
			continue;
		if (edge->kind == VECTOR)
			return;
		word = edge->word;
	}
	if (!word)
		return;
	fault = add_fault("lost-holder", "unreachable,surplus", object->p, o);
	fault->is_spoiled_by_strays = true;
	*word = NULL;
	collect_edges();
	find_reached();
	for (int i = 0; i < book->object_count; i++) {
		if (book->objects[i].is_reached || book->objects[i].is_used)
			continue;
		/* what hangs on it is lost too, and the first of these where it cannot be told */
		use(i);
		if (++hanging < FAULT_ADDRS - 1)
			fault->addrs[hanging] = book->objects[i].p;
	}
}

static bool has_sound_group(int o, int *ret_link)
{
	int first = (int)draw(LINKS_MAX);

	for (int i = 0; i < LINKS_MAX; i++) {
		int l = (first + i) % LINKS_MAX;

		if (book->objects[o].head[l] != NONE) {
			*ret_link = l;
			return true;
		}
	}
	return false;
}

static void die_in_group(int o)
{
	struct object *object = &book->objects[o];
	int l;

	if (!has_sound_group(o, &l))
		return;
	type_of(object)->set(object->p, 0);
	show_in(add_fault("dead-in-group", "dead-member,bad-count", object->p, o), object, l);
}

static void orphan(int o)
{
	struct object *object = &book->objects[o];
	struct fault *fault;
	int l;

	if (!has_sound_group(o, &l) ||
	    group_of_link(object->type, l)->back_offset == NONE ||
	    object->certain + object->doubtful < 2)
		return;
	fault = add_fault("orphan", "orphan", object->p, o);
	show_in(fault, object, l);
	leave(o, l);
}

/* Whether a group or a typed pointer from what has no magic itself would still tell. */
static bool is_known_without_magic(int o)
{
	for (int l = 0; l < LINKS_MAX; l++)
		if (book->objects[o].head[l] != NONE)
			return true;
	for (size_t e = 0; e < book->edge_count; e++) {
		const struct edge *edge = &book->edges[e];

		if (edge->target == o && edge->source == ROOT)
			return true;
	}
	return false;
}

static void spoil_magic(int o)
{
	struct object *object = &book->objects[o];
	uint32_t bad = draw(1u << 30);

	if (type_of(object)->magic_offset == NONE || !is_known_without_magic(o))
		return;
	memcpy(object->p + type_of(object)->magic_offset, &bad, sizeof(bad));
	add_fault("bad-magic", "bad-magic", object->p, o);
}

static void spoil_back(int o)
{
	struct object *object = &book->objects[o];
	const struct group *group;
	char *wrong = NULL;
	int l;

	if (!has_sound_group(o, &l))
		return;
	group = group_of_link(object->type, l);
	if (group->back_offset == NONE)
		return;
	if (group->heads > 1)
		wrong = head_struct(group, (object->head[l] + 1) % group->heads);
	memcpy(object->p + group->back_offset, &wrong, sizeof(wrong));
	show_in(add_fault("wrong-back-pointer", "wrong-group", object->p, o), object, l);
}

static void garbage_cycle(int ignored)
{
	int length = 1 + (int)draw(4), chosen[4], field[4], o[4];
	struct fault *fault;

	(void)ignored;
	for (int attempt = 0; attempt < 300; attempt++) {
		int n = 0;

		for (; n < length; n++)
			chosen[n] = (int)draw(TYPES);
		for (n = 0; n < length; n++) {
			const struct type *type = &types[chosen[n]];

			field[n] = (int)draw((unsigned)type->field_count);
			if (!owns(type->fields[field[n]].kind) ||
			    type->fields[field[n]].kind == UNION ||
			    !fits(&type->fields[field[n]], chosen[(n + 1) % length]))
				break;
		}
		if (n < length)
			continue;
		/* what points at itself may be no holder */
		fault = add_fault("garbage-cycle", length > 1 ? "cycle" : "cycle,unreachable", NULL,
				  NONE);
		for (n = 0; n < length; n++) {
			o[n] = create_object(chosen[n]);
			fault->addrs[n] = book->objects[o[n]].p;
			book->objects[o[n]].is_used = true;
			fault->victims[fault->victim_count++] = o[n];
		}
		for (n = 0; n < length; n++) {
			const struct group *group = group_of_link(chosen[n], 0);

			if (!store(o[n], field[n], o[(n + 1) % length]))
				abort();
			if (group && !group->owns && chance(50))
				join(o[n], 0, (int)draw((unsigned)group->heads));
		}
		fault->is_spoiled_by_strays = true;
		return;
	}
}

/* ---- faults of groups ---- */

/* A group that nothing was done to yet. */
static const struct group *choose_group(const bool *used, int *ret_head)
{
	for (int i = 0; GROUPS && i < 50; i++) {
		int g = (int)draw((unsigned)GROUPS);

		if (used[g])
			continue;
		*ret_head = (int)draw((unsigned)groups[g].heads);
		return &groups[g];
	}
	return NULL;
}

static void spoil_counter(const struct group *group, int head)
{
	if (group->counter_offset == NONE)
		return;
	counter_add(group, head, 1 + draw(3));
	add_fault("wrong-counter", "count-mismatch", head_struct(group, head), NONE);
}

static int choose_member(const struct group *group, int head)
{
	for (int i = 0; i < 300; i++) {
		int o = (int)draw((unsigned)book->object_count);

		for (int l = 0; l < LINKS_MAX; l++)
			if (!book->objects[o].is_used &&
			    group_of_link(book->objects[o].type, l) == group &&
			    book->objects[o].head[l] == head)
				return o;
	}
	return NONE;
}

static void break_link(const struct group *group, int head)
{
	static const uint64_t bad[] = { 0, 0xdead000000000100, 0x4141414141414141, 0x1000 };
	int o = choose_member(group, head);
	uint64_t word = bad[draw(4)];
	struct fault *fault;
	char *place;

	if (o == NONE)
		return;
	place = book->objects[o].p + group->link_offset;
	if (group->kind == ARRAY_OF)
		return;
	if (group->kind == NODES) {
		/* its own list of nodes is walked for the truth */
		place = node_of(group, (void **)(head_struct(group, head) + group->head_offset),
				book->objects[o].p) + group->prev_offset;
	} else if (group->kind == SLIST || group->kind == STAILQ) {
		if (!word || !word_at(place, 0))
			return;
	} else if (group->kind == TREE) {
		/* from below alone: what a parent does not lead to is not there */
		if (!(word_at(place, 0) > (void *)3))
			return;
	} else if (group->kind == DLIST || group->kind == ISC) {
		place += 8 * draw(2);
		if (word_at(place, 0) == (void *)word)
			return;
	} else if (group->kind == LIST || group->kind == HASH_LIST) {
		place += 8 * draw(2);
	} else {
		place += 8;
	}
	if (word_at(place, 0) == (void *)word)
		return;
	fault = add_fault("broken-link", "broken-link,list-loop", head_struct(group, head), o);
	fault->addrs[1] = book->objects[o].p;
	broken[broken_count++] = (struct broken){ group, head };
	memcpy(place, &word, sizeof(word));
}

static void plant_group_faults(void)
{
	bool used[GROUPS + 1];

	memset(used, 0, sizeof(used));
	for (int i = 0; i < 3; i++) {
		const struct group *group;
		int head = 0;

		group = choose_group(used, &head);
		if (!group)
			return;
		used[group - groups] = true;
		if (chance(50))
			spoil_counter(group, head);
		else
			break_link(group, head);
	}
}

/* A count that is not what it should be before any fault is a mistake of this program. */
static void check_counts(void)
{
	for (int o = 0; o < book->object_count; o++) {
		const struct object *object = &book->objects[o];

		if (type_of(object)->get(object->p) != (long)(object->certain + object->doubtful)) {
			fprintf(stderr, "t%d %p: count %ld, %u owners\n", object->type,
				(void *)object->p, type_of(object)->get(object->p),
				object->certain + object->doubtful);
			abort();
		}
	}
}

static void plant(int count)
{
	static void (*const plants[])(int) = {
		leak_reference, miss_reference, lose_last_holder, die_in_group, orphan,
		spoil_magic, spoil_back,
	};

	for (int i = 0; count && i < 1 + count / 8; i++)
		garbage_cycle(NONE);
	for (int o = 0; o < book->object_count; o++)
		book->objects[o].is_reached = false;
	qsort(book->objects, (size_t)book->object_count, sizeof(struct object), by_address);
	for (int f = 0; f < book->fault_count; f++)
		for (int v = 0; v < book->faults[f].victim_count; v++)
			book->faults[f].victims[v] = object_at((uint64_t)book->faults[f].addrs[v]);
	collect_edges();
	check_counts();
	count_strays();
	for (int tries = 0; tries < count * 10 && book->fault_count < count; tries++) {
		int o = choose();

		if (o == NONE)
			break;
		plants[draw(sizeof(plants) / sizeof(plants[0]))](o);
		collect_edges();
	}
	if (count)
		plant_group_faults();
}

/* Whether a broken chain that owns its members may have had the object. */
static bool may_be_lost_member(const struct object *object)
{
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(object->type, l);

		for (int i = 0; group && group->owns && object->head[l] == NONE && i < broken_count;
		     i++)
			if (broken[i].group == group)
				return true;
	}
	return false;
}

/* What is behind a break of a chain without way back is not in it for anybody to see. */
static bool is_in_lost_part(const struct fault *fault)
{
	return fault->group && !is_walked(fault->group, fault->head);
}

/* A lost object of a pool is told by its magic at best, and then it may be a remnant: its block
 * is its neighbours'. */
static bool is_lost_in_pool(const struct fault *fault, const struct object *victim)
{
	return fault->is_spoiled_by_strays && type_of(victim)->slab;
}

static void print_faults(void)
{
	collect_edges();
	count_strays();
	for (int f = 0; f < book->fault_count; f++) {
		struct fault *fault = &book->faults[f];

		for (int v = 0; v < fault->victim_count; v++) {
			const struct object *victim = &book->objects[fault->victims[v]];

			if (!victim->is_known || is_in_lost_part(fault) ||
			    is_lost_in_pool(fault, victim) ||
			    (fault->is_spoiled_by_strays && may_be_lost_member(victim)) || (fault->is_spoiled_by_strays && victim->strays) ||
			    (fault->count >= 0 && (long)victim->certain <= fault->count))
				fault->is_masked = true;
		}
		/* then all that shows is that it is not where it says */
		if (is_in_lost_part(fault) && !strcmp(fault->codes, "wrong-group"))
			fault->codes = "wrong-group,orphan";
		printf("FAULT %s %s %s ", fault->name, fault->is_masked ? "masked" : "sure",
		       fault->codes);
		for (int a = 0; a < FAULT_ADDRS && fault->addrs[a]; a++)
			printf("%s0x%lx", a ? "," : "", (unsigned long)fault->addrs[a]);
		putchar('\n');
	}
	find_reached();
	for (int o = 0; o < book->object_count; o++)
		if (!book->objects[o].is_reached)
			printf("FAULT lost masked unreachable,cycle %p\n",
			       (void *)book->objects[o].p);
}

static FIXTURE_NOINLINE void run(void)
{
	int objects = (int)fixture_number("--objects", 2000);

	random_state = fixture_number("--seed", 1) * 0x9e3779b97f4a7c15ull ^ 0x5851f42d4c957f2dull;
	book_open(objects);
	build(objects);
	plant((int)fixture_number("--faults", 0));
	fill_registers();
	print_faults();
	forget_vectors();
	book_close();
}

int main(int argc, char **argv)
{
	fixture_start(argc, argv);
	run();
	fixture_ready();
}
