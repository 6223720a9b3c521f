/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of world.c: heads, and chaining objects to them. */
#ifndef GROUPS_H
#define GROUPS_H

#include "chains.h"

static char *head_struct(const struct group *group, int head)
{
	return group->is_heap ? ((char **)group->base)[head]
			      : (char *)group->base + (size_t)head * group->bytes;
}

static void create_heads(void)
{
	for (int g = 0; g < GROUPS; g++) {
		const struct group *group = &groups[g];

		for (int i = 0; i < group->heads; i++) {
			char *p;

			if (group->is_heap) {
				((char **)group->base)[i] = must(malloc(group->bytes));
				note_block(((char **)group->base)[i]);
			}
			p = head_struct(group, i);
			if (group->name_offset != NONE)
				snprintf(p + group->name_offset, 12, "g%d-%d", g, i);
			if (group->counter_offset != NONE)
				memset(p + group->counter_offset, 0, group->counter_bytes);
			p += group->head_offset;
			if (group->kind > HASH_LIST) {
				open_chain(group, p);
				continue;
			}
			for (int b = 0; b < (group->kind >= HASH_HLIST ? BUCKETS : 1); b++) {
				struct list_head *list = (struct list_head *)p + b;

				if (group->kind == LIST || group->kind == HASH_LIST)
					list->next = list->prev = list;
				else if (group->kind == TAILQ)
					*(struct tailq_entry *)p =
						(struct tailq_entry){ NULL, (void **)p };
				else
					((void **)p)[b] = NULL;
			}
		}
	}
}

static void counter_add(const struct group *group, int head, long delta)
{
	char *p = head_struct(group, head) + group->counter_offset;
	uint64_t value = 0;

	if (group->counter_offset == NONE)
		return;
	memcpy(&value, p, group->counter_bytes);
	value += (uint64_t)delta;
	memcpy(p, &value, group->counter_bytes);
}

static void chain(const struct group *group, char *head, char *p)
{
	void *link = p + group->link_offset;

	switch (group->kind) {
	case HASH_LIST:
		head += draw(BUCKETS) * sizeof(struct list_head);
		/* fall through */
	case LIST: {
		struct list_head *node = link, *list = (struct list_head *)head;

		node->next = list;
		node->prev = list->prev;
		list->prev->next = node;
		list->prev = node;
		break;
	}
	case HASH_HLIST:
		head += draw(BUCKETS) * sizeof(struct hlist_head);
		/* fall through */
	case HLIST: {
		struct hlist_node *node = link;
		struct hlist_head *list = (struct hlist_head *)head;

		node->next = list->first;
		if (node->next)
			node->next->pprev = &node->next;
		node->pprev = &list->first;
		list->first = node;
		break;
	}
	case SLIST:
		*(void **)link = *(void **)head;
		*(void **)head = p;
		break;
	case TAILQ: {
		struct tailq_entry *entry = link, *list = (struct tailq_entry *)head;

		entry->next = NULL;
		entry->prev = list->prev;
		*list->prev = p;
		list->prev = &entry->next;
		break;
	}
	default:
		chain_more(group, head, p);
	}
}

/* Takes `p` out of its chain; its own link words stay as they are. */
static void unchain(const struct group *group, char *head, char *p)
{
	void *link = p + group->link_offset;

	switch (group->kind) {
	case HASH_LIST:
	case LIST: {
		struct list_head *node = link;

		node->prev->next = node->next;
		node->next->prev = node->prev;
		break;
	}
	case HASH_HLIST:
	case HLIST: {
		struct hlist_node *node = link;

		*node->pprev = node->next;
		if (node->next)
			node->next->pprev = node->pprev;
		break;
	}
	case SLIST: {
		void **word = (void **)head;

		while (*word != p)
			word = (void **)((char *)*word + group->link_offset);
		*word = *(void **)link;
		break;
	}
	case TAILQ: {
		struct tailq_entry *entry = link, *list = (struct tailq_entry *)head;

		if (entry->next)
			((struct tailq_entry *)((char *)entry->next + group->link_offset))->prev =
				entry->prev;
		else
			list->prev = entry->prev;
		*entry->prev = entry->next;
		break;
	}
	default:
		unchain_more(group, head, p);
	}
}

static void join(int o, int l, int head)
{
	struct object *object = &book->objects[o];
	const struct group *group = group_of_link(object->type, l);
	char *p = head_struct(group, head);

	chain(group, p + group->head_offset, object->p);
	object->head[l] = head;
	counter_add(group, head, 1);
	if (group->back_offset != NONE)
		memcpy(object->p + group->back_offset, &p, sizeof(p));
	if (group->owns)
		count_add(object, 1);
}

/* As a program does it right, but that it leaves the back pointer. */
static void leave(int o, int l)
{
	struct object *object = &book->objects[o];
	const struct group *group = group_of_link(object->type, l);
	int head = object->head[l];

	unchain(group, head_struct(group, head) + group->head_offset, object->p);
	object->head[l] = NONE;
	counter_add(group, head, -1);
	if (group->owns)
		count_add(object, -1);
}

static void join_some(int o)
{
	for (int l = 0; l < LINKS_MAX; l++) {
		const struct group *group = group_of_link(book->objects[o].type, l);

		if (!group)
			return;
		if (!chance(80))
			continue;
		join(o, l, (int)draw((unsigned)group->heads));
		if (chance(10)) {
			leave(o, l);
			if (group->back_offset != NONE)
				memset(book->objects[o].p + group->back_offset, 0, sizeof(void *));
		}
	}
}

#endif
