/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Edits of what makes a group: its counter and magic, the members' back pointers,
 * every word of its chain.  Lists with two links per node alone.
 *
 * A link word that leads to a node which the walk in its direction passed already
 * makes a loop, and the finding is list-loop; anything else is broken-link, blamed on
 * that word.
 */
#include "edits.h"

/*
 * Groups
 */

static const struct ri_group_rule *rule_of(const struct ri_analysis *analysis, uint32_t group)
{
	return &analysis->layout->groups.items[analysis->population->groups[group].rule];
}

/* A circular list with some members. */
static bool draw_group(struct sound *sound, uint32_t *ret)
{
	const struct ri_population *population = sound->analysis->population;

	if (!population->group_count)
		return false;
	*ret = (uint32_t)sound_draw(sound, population->group_count);
	return rule_of(sound->analysis, *ret)->kind == RI_LINK_LIST &&
	       population->groups[*ret].member_count >= 5 && !population->groups[*ret].state;
}

static void edit_group(struct sound *sound, struct mutation *m, uint32_t g,
		       const struct ri_field *field, const char *code)
{
	m->group = g;
	m->finding_addr = sound->analysis->population->groups[g].struct_addr;
	m->addr = m->finding_addr + (uint64_t)field->offset_bytes;
	m->size_bytes = field->size_bytes;
	m->code = code;
}

bool edit_make_wrong_counter(struct sound *sound, struct mutation *m)
{
	const struct ri_group *group;
	uint64_t step = 1 + sound_draw(sound, 20);
	uint32_t g;

	if (!draw_group(sound, &g) || !rule_of(sound->analysis, g)->count.is_present)
		return false;
	group = &sound->analysis->population->groups[g];
	edit_group(sound, m, g, &rule_of(sound->analysis, g)->count, "count-mismatch");
	m->value = (uint64_t)group->stored_count + (sound_draw(sound, 2) ? step : -step);
	return true;
}

bool edit_make_bad_group_magic(struct sound *sound, struct mutation *m)
{
	const struct ri_group_rule *rule;
	uint32_t g;

	if (!draw_group(sound, &g))
		return false;
	rule = rule_of(sound->analysis, g);
	if (!rule->magic.field.is_present)
		return false;
	edit_group(sound, m, g, &rule->magic.field, "bad-magic");
	m->value = sound_draw(sound, UINT64_MAX);
	return !edit_is_listed(rule->magic.live, rule->magic.live_count, m->value);
}

/* Whether elements of the rule's groups may be objects like `object`. */
static bool fits_rule(const struct ri_analysis *analysis, const struct ri_group_rule *rule,
		      const struct ri_object *object)
{
	return rule->element_convention != RI_LAYOUT_NONE
		       ? rule->element_convention ==
				 analysis->population->types[object->type].convention
		       : rule->element_type == object->type;
}

/* Where the rule's offsets in an element count from. */
static uint64_t element_base(const struct ri_analysis *analysis, const struct ri_group_rule *rule,
			     const struct ri_object *object)
{
	return rule->element_convention != RI_LAYOUT_NONE
		       ? ri_object_header(analysis->population, object)
		       : object->addr;
}

static void edit_back(struct sound *sound, struct mutation *m, uint32_t o,
		      const struct ri_group_rule *rule, const char *code)
{
	const struct ri_object *object = &sound->analysis->population->objects[o];

	m->object = o;
	m->addr = element_base(sound->analysis, rule, object) + (uint64_t)rule->back.offset_bytes;
	m->size_bytes = 8;
	m->code = code;
	m->finding_addr = object->addr;
}

/* A member with a back pointer. */
static bool edit_member_back(struct sound *sound, struct mutation *m, uint32_t *ret_group)
{
	const struct ri_population *population = sound->analysis->population;
	const struct ri_group *group;

	if (!draw_group(sound, ret_group) ||
	    !rule_of(sound->analysis, *ret_group)->back.is_present)
		return false;
	group = &population->groups[*ret_group];
	edit_back(sound, m,
		  population->memberships[group->first_member +
					  sound_draw(sound, group->member_count)]
			  .object,
		  rule_of(sound->analysis, *ret_group), "wrong-group");
	return true;
}

bool edit_make_back_to_other(struct sound *sound, struct mutation *m)
{
	uint32_t g, other;

	if (!edit_member_back(sound, m, &g) || !draw_group(sound, &other) || other == g)
		return false;
	m->value = sound->analysis->population->groups[other].struct_addr;
	return true;
}

bool edit_make_back_to_null(struct sound *sound, struct mutation *m)
{
	uint32_t g;

	return edit_member_back(sound, m, &g);
}

bool edit_make_back_to_garbage(struct sound *sound, struct mutation *m)
{
	uint32_t g;

	if (!edit_member_back(sound, m, &g))
		return false;
	m->value = sound_draw(sound, 2) ? sound_draw_poison(sound) : sound_draw_unmapped(sound);
	return true;
}

bool edit_make_orphan(struct sound *sound, struct mutation *m)
{
	const struct ri_population *population = sound->analysis->population;
	uint32_t o = sound_draw_object(sound), g;

	if (edit_is_member(population, o) || population->back_pointer[o] || !draw_group(sound, &g) ||
	    !rule_of(sound->analysis, g)->back.is_present ||
	    !fits_rule(sound->analysis, rule_of(sound->analysis, g), &population->objects[o]))
		return false;
	edit_back(sound, m, o, rule_of(sound->analysis, g), "orphan");
	m->value = population->groups[g].struct_addr;
	return true;
}

/*
 * Links
 */

/* A link word: of the member at `place` of its group, or of the head. */
struct link {
	uint32_t group;
	int64_t place;           /* -1: head */
	uint64_t node;
	bool is_next;
};

static const struct ri_membership *member_at(struct sound *sound, uint32_t g, int64_t place)
{
	const struct ri_population *population = sound->analysis->population;

	return &population->memberships[population->groups[g].first_member + (uint32_t)place];
}

/* The ends of the chain, where most can go wrong, more often than other places. */
static int64_t draw_place(struct sound *sound, uint32_t g)
{
	int64_t count = sound->analysis->population->groups[g].member_count;

	switch (sound_draw(sound, 4)) {
	case 0:
		return -1;
	case 1:
		return sound_draw(sound, 2) ? (int64_t)sound_draw(sound, 2)
					    : count - 1 - (int64_t)sound_draw(sound, 2);
	default:
		return (int64_t)sound_draw(sound, (uint64_t)count);
	}
}

static bool draw_link(struct sound *sound, struct mutation *m, struct link *link)
{
	const struct ri_population *population = sound->analysis->population;
	const struct ri_group_rule *rule;
	int64_t offset;

	if (!draw_group(sound, &link->group))
		return false;
	rule = rule_of(sound->analysis, link->group);
	link->place = draw_place(sound, link->group);
	link->is_next = sound_draw(sound, 2);
	m->size_bytes = 8;
	m->code = "broken-link";
	if (link->place < 0) {
		link->node = population->groups[link->group].head;
		m->finding_addr = link->node;
		offset = link->is_next ? rule->head_first_offset : rule->head_last_offset;
	} else {
		link->node = member_at(sound, link->group, link->place)->node;
		m->finding_addr =
			population->objects[member_at(sound, link->group, link->place)->object]
				.addr;
		offset = link->is_next ? rule->next_offset : rule->prev_offset;
	}
	m->addr = m->word = link->node + (uint64_t)offset;
	return offset >= 0;
}

/* The word leads to the member at `place` of its own group: to one that was
 * passed already, which makes a loop, or beyond others. */
static void lead_to_place(struct sound *sound, struct mutation *m, const struct link *link,
			  int64_t place)
{
	m->value = member_at(sound, link->group, place)->node;
	if (link->place < 0 || (link->is_next ? place > link->place : place < link->place))
		return;
	m->code = "list-loop";
	m->word = 0;
	m->finding_addr = sound->analysis->population->groups[link->group].struct_addr;
}

static bool is_new_value(struct sound *sound, const struct mutation *m)
{
	uint64_t old;

	return ri_image_read_uint(sound->analysis->target->image, m->addr, m->size_bytes, &old) &&
	       old != m->value;
}

bool edit_make_link_to_null(struct sound *sound, struct mutation *m)
{
	struct link link;

	return draw_link(sound, m, &link);
}

bool edit_make_link_to_unmapped(struct sound *sound, struct mutation *m)
{
	struct link link;

	m->value = sound_draw_unmapped(sound);
	return draw_link(sound, m, &link);
}

bool edit_make_link_to_poison(struct sound *sound, struct mutation *m)
{
	struct link link;

	m->value = sound_draw_poison(sound);
	return draw_link(sound, m, &link);
}

bool edit_make_link_to_same_list(struct sound *sound, struct mutation *m)
{
	struct link link;

	if (!draw_link(sound, m, &link))
		return false;
	lead_to_place(sound, m, &link,
		      (int64_t)sound_draw(sound, sound->analysis->population->groups[link.group]
							 .member_count));
	return is_new_value(sound, m);
}

bool edit_make_link_to_other_list(struct sound *sound, struct mutation *m)
{
	struct link link;
	int64_t place;
	uint32_t other;

	if (!draw_link(sound, m, &link) || !draw_group(sound, &other) || other == link.group)
		return false;
	place = draw_place(sound, other);
	m->value = place < 0 ? sound->analysis->population->groups[other].head
			     : member_at(sound, other, place)->node;
	return true;
}

bool edit_make_link_to_itself(struct sound *sound, struct mutation *m)
{
	struct link link;

	if (!draw_link(sound, m, &link))
		return false;
	if (link.place < 0)
		m->value = link.node;
	else
		lead_to_place(sound, m, &link, link.place);
	return true;
}

bool edit_make_link_to_head(struct sound *sound, struct mutation *m)
{
	struct link link;

	if (!draw_link(sound, m, &link))
		return false;
	m->value = sound->analysis->population->groups[link.group].head;
	return is_new_value(sound, m);
}

bool edit_make_link_unaligned(struct sound *sound, struct mutation *m)
{
	uint64_t tag = 0;
	struct link link;

	if (!draw_link(sound, m, &link) ||
	    !ri_image_read_u64(sound->analysis->target->image, m->addr, &m->value))
		return false;
	/* tag bits are no part of the address */
	tag = rule_of(sound->analysis, link.group)->tag_mask;
	m->value ^= (1 + sound_draw(sound, 7)) & ~tag;
	return is_new_value(sound, m);
}
