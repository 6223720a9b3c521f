/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kinds of edits: one word of a sound image becomes wrong, and what must be
 * found follows from the sound analysis alone.
 *
 * Knows the places in headers, counts, magics and descriptors, and the words that
 * hold objects; those of groups are in edit_groups.c.  A kind whose place the
 * convention does not have draws nothing.
 */
#include "edits.h"

#include "profile/infer.h"

#include <stdlib.h>
#include <string.h>

/* Words that no allocator hands out: list poison, freed-memory patterns. */
static const uint64_t poisons[] = {
	0xdeadbeefdeadbeef, 0x6b6b6b6b6b6b6b6b, 0x5a5a5a5a5a5a5a5a, 0xdead000000000100,
	0xdead000000000122, 0xffffffffffffffff, 0xcccccccccccccccc, 0x0000000000000100,
};

uint64_t sound_draw(struct sound *sound, uint64_t limit)
{
	sound->random ^= sound->random << 13;
	sound->random ^= sound->random >> 7;
	sound->random ^= sound->random << 17;
	return (uint64_t)((unsigned __int128)sound->random * limit >> 64);
}

uint64_t sound_draw_poison(struct sound *sound)
{
	return poisons[sound_draw(sound, sizeof(poisons) / sizeof(*poisons))];
}

uint64_t sound_draw_unmapped(struct sound *sound)
{
	uint64_t addr;

	do {
		addr = sound_draw(sound, UINT64_C(1) << 47) & ~UINT64_C(7);
	} while (ri_image_find(sound->analysis->target->image, addr));
	return addr;
}

/*
 * Objects
 */

uint32_t sound_draw_object(struct sound *sound)
{
	return (uint32_t)sound_draw(sound, sound->analysis->population->object_count);
}

bool edit_is_member(const struct ri_population *population, uint32_t object)
{
	return population->member_of_first[object] != population->member_of_first[object + 1];
}

/* Certain owners besides groups that own their members. */
static int64_t count_owners(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	int64_t owners = analysis->holders->certain[object];

	for (uint32_t i = population->member_of_first[object];
	     i < population->member_of_first[object + 1]; i++) {
		const struct ri_membership *m = &population->memberships[population->member_of[i]];
		const struct ri_group *group = &population->groups[m->group];

		if (group->membership.kind == RI_WEIGHT_FIXED)
			owners -= group->membership.weight;
	}
	return owners;
}

static const struct ri_convention *convention_of(const struct ri_analysis *analysis,
						 const struct ri_object *object)
{
	return &analysis->layout->conventions
			.items[analysis->population->types[object->type].convention];
}

/* Types that their looks alone told are judged by how well they fit. */
static bool is_inferred(const struct ri_analysis *analysis, const struct ri_object *object)
{
	const char *file = convention_of(analysis, object)->mark.file;

	return file && !strcmp(file, RI_INFERRED_FILE);
}

static bool is_described(const struct ri_analysis *analysis, uint32_t o)
{
	return convention_of(analysis, &analysis->population->objects[o])
		->descriptor.meta.is_present;
}

/* Whether the object is known without its looks: one that describes itself and is in no
 * group is no object without a live count and a descriptor. */
static bool is_known_anyway(const struct ri_analysis *analysis, uint32_t o)
{
	return !is_described(analysis, o) || edit_is_member(analysis->population, o);
}

/* The finding is `code` about object `o`, whose header's `field` is edited. */
static void edit_object(struct sound *sound, struct mutation *m, uint32_t o,
			    const struct ri_field *field, const char *code)
{
	const struct ri_population *population = sound->analysis->population;

	m->object = o;
	m->addr = ri_object_header(population, &population->objects[o]) +
		  (uint64_t)field->offset_bytes;
	m->size_bytes = field->size_bytes;
	m->code = code;
	m->finding_addr = population->objects[o].addr;
}

/* The value that a count's field would be read as. */
static int64_t as_count(const struct ri_field *field, uint64_t raw)
{
	unsigned unused = 64 - 8 * field->size_bytes;

	return field->is_signed ? (int64_t)(raw << unused) >> unused
				: (int64_t)(raw << unused >> unused);
}

/* Draws an object and edits its count to `raw`, which is a finding `code`. */
static bool edit_count(struct sound *sound, struct mutation *m, uint32_t o, uint64_t raw,
		       const char *code, enum ri_count_state state)
{
	const struct ri_object *object = &sound->analysis->population->objects[o];
	const struct ri_count_rule *rule = &convention_of(sound->analysis, object)->counts[0];

	if (rule->mask != UINT64_MAX || rule->shift || rule->is_negative || rule->bias ||
	    rule->field.bit_size || rule->plus.is_present ||
	    object->state & RI_OBJECT_IGNORE || is_inferred(sound->analysis, object) ||
	    (state != RI_COUNT_LIVE && !is_known_anyway(sound->analysis, o)))
		return false;
	edit_object(sound, m, o, &rule->field, code);
	m->value = raw;
	return ri_count_classify(rule, as_count(&rule->field, raw)) == state;
}

static bool make_surplus(struct sound *sound, struct mutation *m, uint64_t step)
{
	uint32_t o = sound_draw_object(sound);
	const struct ri_holders *holders = sound->analysis->holders;

	/* a static one may have a reference more than its holders */
	if (sound->analysis->population->objects[o].state & RI_OBJECT_STATIC)
		return false;
	return edit_count(sound, m, o, holders->certain[o] + holders->possible[o] + step,
			  "surplus", RI_COUNT_LIVE);
}

static bool make_surplus_by_one(struct sound *sound, struct mutation *m)
{
	return make_surplus(sound, m, 1);
}

static bool make_surplus_by_some(struct sound *sound, struct mutation *m)
{
	return make_surplus(sound, m, 2 + sound_draw(sound, 1000));
}

static bool make_deficit(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);
	uint32_t certain = sound->analysis->holders->certain[o];

	return certain >= 2 &&
	       edit_count(sound, m, o, 1 + sound_draw(sound, certain - 1), "deficit",
			  RI_COUNT_LIVE);
}

static bool make_dead_count(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);

	m->object_dies = true;
	return count_owners(sound->analysis, o) > 0 &&
	       edit_count(sound, m, o, 0, "bad-count", RI_COUNT_DEAD);
}

static bool make_dead_member(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);

	m->object_dies = true;
	return edit_is_member(sound->analysis->population, o) &&
	       count_owners(sound->analysis, o) <= 0 &&
	       edit_count(sound, m, o, 0, "dead-member", RI_COUNT_DEAD);
}

static bool make_negative_count(struct sound *sound, struct mutation *m)
{
	uint64_t value = -(1 + sound_draw(sound, 100));

	return edit_count(sound, m, sound_draw_object(sound), value, "bad-count", RI_COUNT_IMPOSSIBLE);
}

static bool make_saturated_count(struct sound *sound, struct mutation *m)
{
	uint64_t value = (uint64_t)(INT32_MIN / 2) + sound_draw(sound, 1000) - 500;

	return edit_count(sound, m, sound_draw_object(sound), value, "bad-count", RI_COUNT_SATURATED);
}

static bool make_poison_count(struct sound *sound, struct mutation *m)
{
	return edit_count(sound, m, sound_draw_object(sound), sound_draw_poison(sound), "bad-count",
			  RI_COUNT_IMPOSSIBLE);
}

bool edit_is_listed(const uint64_t *values, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return false;
}

static const struct ri_magic_rule *magic_of(struct sound *sound, uint32_t o)
{
	const struct ri_convention *convention =
		convention_of(sound->analysis, &sound->analysis->population->objects[o]);

	return convention->magic_count && !convention->magics[0].at_end ? &convention->magics[0]
									: NULL;
}

static bool make_bad_magic(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);
	const struct ri_magic_rule *rule = magic_of(sound, o);

	if (!rule)
		return false;
	edit_object(sound, m, o, &rule->field, "bad-magic");
	m->value = sound_draw(sound, UINT64_C(1) << 32);
	m->object_dies = true;
	return !edit_is_listed(rule->live, rule->live_count, m->value) &&
	       !edit_is_listed(rule->dead, rule->dead_count, m->value);
}

static bool make_dead_magic(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);
	const struct ri_magic_rule *rule = magic_of(sound, o);

	if (!rule || !rule->dead_count)
		return false;
	edit_object(sound, m, o, &rule->field,
		    edit_is_member(sound->analysis->population, o) ? "dead-member"
							      : "freed-object");
	m->value = rule->dead[0];
	m->object_dies = true;
	return edit_is_member(sound->analysis->population, o) ||
	       sound->analysis->holders->certain[o] > 0;
}

/* Whether the object is the descriptor of a type: without its own descriptor it is none, and
 * all objects of its type have a bad one. */
static bool describes_others(const struct ri_population *population, uint32_t o)
{
	for (size_t t = 0; t < population->type_count; t++)
		if (population->types[t].descriptor &&
		    ri_population_find(population, population->types[t].descriptor) == o)
			return true;
	return false;
}

static bool make_bad_type(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);
	const struct ri_counted_type *type;
	const struct ri_descriptor_rule *rule =
		&convention_of(sound->analysis, &sound->analysis->population->objects[o])
			 ->descriptor;

	if (!rule->is_present || !is_known_anyway(sound->analysis, o) ||
	    sound->analysis->population->objects[o].state & RI_OBJECT_IGNORE)
		return false;
	/* without its descriptor, what it holds is not known for certain */
	m->object_dies = m->loses_type = is_described(sound->analysis, o);
	type = &sound->analysis->population->types[sound->analysis->population->objects[o].type];
	if (type->owns_descriptor)
		m->loses_owner = ri_population_find(sound->analysis->population, type->descriptor);
	edit_object(sound, m, o, &rule->field, "bad-type");
	m->value = sound_draw(sound, 2) ? sound_draw_poison(sound) : sound_draw_unmapped(sound);
	return !describes_others(sound->analysis->population, o);
}

/*
 * References
 */

/* A word that certainly owns a reference to object `o`; `but` is another edge. */
static bool draw_owner(struct sound *sound, uint32_t o, uint64_t but, uint64_t *ret_word)
{
	const struct ri_analysis *analysis = sound->analysis;
	const struct ri_holders *holders = analysis->holders;
	uint64_t count = holders->in_first[o + 1] - holders->in_first[o], edge;
	const char *name;

	if (!count)
		return false;
	edge = holders->in_edges[holders->in_first[o] + sound_draw(sound, count)];
	if (edge == but || holders->edges[edge].flags || holders->edges[edge].word == RI_NONE)
		return false;
	/* the pointer to a descriptor that is owned: without it the object has no type */
	name = analysis->shapes->classes.items[holders->edges[edge].class_index].name;
	if (strlen(name) > 7 && !strcmp(name + strlen(name) - 7, ".(type)"))
		return false;
	*ret_word = ri_holders_word_addr(holders, analysis->population, analysis->heap, edge);
	return *ret_word;
}

static void edit_owner(struct sound *sound, struct mutation *m, uint32_t o, uint64_t word,
		       const char *code)
{
	m->addr = word;
	m->size_bytes = 8;
	m->code = code;
	m->finding_addr = sound->analysis->population->objects[o].addr;
	m->loses_owner = o;
}

/* Whether one owner less may be no surplus: others may own, or the object is static. */
static bool has_slack(const struct ri_analysis *analysis, uint32_t o)
{
	const struct ri_object *object = &analysis->population->objects[o];
	uint64_t most = (uint64_t)analysis->holders->certain[o] + analysis->holders->possible[o];

	return object->state & RI_OBJECT_STATIC || object->count != (int64_t)most;
}

/* Another path keeps the object: the shortest one does not lead through the word. */
static bool make_lost_reference(struct sound *sound, struct mutation *m)
{
	uint32_t o = sound_draw_object(sound);
	size_t length;
	uint64_t *path, word;
	bool is_found;

	if (sound->analysis->holders->certain[o] < 2 || has_slack(sound->analysis, o))
		return false;
	path = ri_graph_path(sound->analysis->holders, o, RI_EDGE_LINK | RI_EDGE_BORROWS, &length);
	is_found = length && draw_owner(sound, o, path[length - 1], &word);
	free(path);
	if (is_found)
		edit_owner(sound, m, o, word, "surplus");
	return is_found;
}

/* Nothing else holds the object; what hangs on it is lost with it. */
static bool make_lost_object(struct sound *sound, struct mutation *m)
{
	const struct ri_holders *holders = sound->analysis->holders;
	uint32_t o = sound_draw_object(sound);
	uint64_t word;

	/* an object that is known by its one owner alone is a plain block without it */
	if (!(sound->analysis->population->objects[o].found &
	      (RI_FOUND_MAGIC | RI_FOUND_DESCRIPTOR | RI_FOUND_GROUP)) ||
	    holders->certain[o] != 1 || holders->possible[o] ||
	    !draw_owner(sound, o, UINT64_MAX, &word))
		return false;
	edit_owner(sound, m, o, word, "unreachable");
	m->may_lose_more = true;
	return true;
}

const struct edit_kind edit_kinds[] = {
	{ "count-plus-one", make_surplus_by_one },
	{ "count-plus-some", make_surplus_by_some },
	{ "count-minus", make_deficit },
	{ "count-zero-held", make_dead_count },
	{ "count-zero-member", make_dead_member },
	{ "count-negative", make_negative_count },
	{ "count-saturated", make_saturated_count },
	{ "count-poison", make_poison_count },
	{ "magic-garbage", make_bad_magic },
	{ "magic-dead", make_dead_magic },
	{ "descriptor-garbage", make_bad_type },
	{ "group-counter", edit_make_wrong_counter },
	{ "group-magic", edit_make_bad_group_magic },
	{ "back-to-other-group", edit_make_back_to_other },
	{ "back-to-null", edit_make_back_to_null },
	{ "back-to-garbage", edit_make_back_to_garbage },
	{ "back-without-group", edit_make_orphan },
	{ "link-to-null", edit_make_link_to_null },
	{ "link-to-unmapped", edit_make_link_to_unmapped },
	{ "link-to-poison", edit_make_link_to_poison },
	{ "link-to-same-list", edit_make_link_to_same_list },
	{ "link-to-other-list", edit_make_link_to_other_list },
	{ "link-to-itself", edit_make_link_to_itself },
	{ "link-to-head", edit_make_link_to_head },
	{ "link-unaligned", edit_make_link_unaligned },
	{ "reference-cleared", make_lost_reference },
	{ "last-reference-cleared", make_lost_object },
	{ NULL, NULL },
};
