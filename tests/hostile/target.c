/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of hostile sizes.
 *
 *	target WHAT N
 *
 *	list     N nodes in one list, sound
 *	rho      N nodes whose last one leads back into the middle
 *	chain    N nodes, each holding the next, the last one the first: a cycle that nothing holds
 *	nest     N nodes, each holding the next, and a variable the first
 *	table    a hash table of N buckets, the most of them empty
 *	frames   N calls inside each other, each with a node in a variable of its own
 *	star     N nodes that all hold one
 *	empty    nothing
 *
 * Prints READY and waits.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct list_head {
	struct list_head *next, *prev;
};

struct node {
	int refcount;
	unsigned number;
	struct node *held;
	struct list_head link;
};

struct bucket {
	struct node *first;
};

struct table {
	unsigned long bucket_count;
	struct bucket *buckets;
};

extern struct list_head all_nodes;
extern struct node *first_node;
extern struct table table;
struct list_head all_nodes = { &all_nodes, &all_nodes };
struct node *first_node;
struct table table;

struct node *node_get(struct node *node);
void node_put(struct node *node);

struct node *node_get(struct node *node)
{
	if (node)
		node->refcount++;
	return node;
}

void node_put(struct node *node)
{
	if (node && !--node->refcount)
		free(node);
}

static struct node *make_node(unsigned number)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->refcount = 1;
	node->number = number;
	node->link.next = node->link.prev = &node->link;
	return node;
}

static void chain(struct node *node)
{
	node->link.prev = all_nodes.prev;
	node->link.next = &all_nodes;
	all_nodes.prev->next = &node->link;
	all_nodes.prev = &node->link;
}

static struct node *node_of(struct list_head *link)
{
	return (struct node *)((char *)link - offsetof(struct node, link));
}

static void make_list(unsigned long count, int is_rho)
{
	struct list_head *at = &all_nodes;

	for (unsigned long i = 0; i < count; i++)
		chain(make_node((unsigned)i));
	for (unsigned long i = 0; is_rho && i < count / 2; i++)
		at = at->next;
	if (is_rho)
		node_of(all_nodes.prev)->link.next = at;
}

/* Nodes of which each holds the next one; the first. */
static struct node *make_nest(unsigned long count, int is_cycle)
{
	struct node *first = make_node(0), *last = first;

	for (unsigned long i = 1; i < count; i++) {
		last->held = make_node((unsigned)i);
		last = last->held;
	}
	if (is_cycle)
		last->held = first;
	return first;
}

static void make_table(unsigned long count)
{
	table.bucket_count = count;
	table.buckets = calloc(count, sizeof(*table.buckets));
	if (!table.buckets)
		abort();
	for (unsigned long i = 0; i < 1000; i++)
		table.buckets[i * (count / 1000)].first = make_node((unsigned)i);
}

static void wait_for_the_end(void)
{
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}

static __attribute__((noinline)) void call(unsigned long count)
{
	struct node *volatile mine = make_node((unsigned)count);

	if (count)
		call(count - 1);
	else
		wait_for_the_end();
	node_put(mine);
}

/* The new limit of the stack counts from the next program on. */
static void get_stack(char **argv)
{
	struct rlimit limit = { 4ul << 30, 4ul << 30 };

	if (getenv("HAS_STACK"))
		return;
	setenv("HAS_STACK", "1", 1);
	if (!setrlimit(RLIMIT_STACK, &limit))
		execv("/proc/self/exe", argv);
	abort();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	alarm(900);
	if (!strcmp(what, "list") || !strcmp(what, "rho")) {
		make_list(count, *what == 'r');
	} else if (!strcmp(what, "chain")) {
		make_nest(count, 1);
	} else if (!strcmp(what, "nest")) {
		first_node = make_nest(count, 0);
	} else if (!strcmp(what, "table")) {
		make_table(count);
	} else if (!strcmp(what, "star")) {
		make_list(count, 0);
		first_node = make_node(0);
		for (struct list_head *at = all_nodes.next; at != &all_nodes; at = at->next)
			node_of(at)->held = node_get(first_node);
	} else if (!strcmp(what, "frames")) {
		get_stack(argv);
		call(count);
	} else if (strcmp(what, "empty")) {
		fprintf(stderr, "target: no state %s\n", what);
		return 2;
	}
	wait_for_the_end();
}
