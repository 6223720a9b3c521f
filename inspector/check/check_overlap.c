/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * overlap: two objects that both stand up to every test claim the same bytes, and
 * neither embeds the other.  Three ways that happens:
 *
 *   one begins inside the other and ends behind it (a pool that hands out too little);
 *   one lies inside the other where that has something else (its count, its links);
 *   both begin at one address (memory used anew while an old pointer still leads to it).
 *   The census kept the one that more speaks for; the other is a rival.
 *
 * An object is taken seriously if it is alive by every sign and something certain leads
 * to it: what merely looks like one may be a copy.  What lies inside another is no
 * overlap where the outer type has a struct of that type there, untyped bytes or a union,
 * or is not known.  Two types that count at the same place are two views of one object.
 *
 * One pass over the objects, which ascend by start.  Blind spots: of objects that overlap
 * in a row, neighbours are compared alone; copies of an object in untyped storage.
 */
#include <inttypes.h>
#include <string.h>

#include "census/shapes.h"
#include "check/cause.h"

#define DEPTH_MAX 32

static bool is_alive(uint32_t state)
{
	return !(state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS | RI_OBJECT_MAGIC_BAD |
			  RI_OBJECT_COUNT_IMPOSSIBLE | RI_OBJECT_DESCRIPTOR_BAD |
			  RI_OBJECT_IGNORE));
}

/* A type that was found by its shape is a guess, and so is an overlap with it. */
static bool is_declared(const struct ri_analysis *analysis, uint32_t type)
{
	return !analysis->fits || analysis->fits[type].standing == RI_STANDING_DECLARED;
}

static bool is_validated(const struct ri_analysis *analysis, uint32_t object)
{
	const struct ri_population *population = analysis->population;
	const uint32_t *first = population->member_of_first;

	return is_alive(population->objects[object].state) &&
	       is_declared(analysis, population->objects[object].type) &&
	       ((analysis->holders && analysis->holders->certain[object]) ||
		population->objects[object].found & (RI_FOUND_VARIABLE | RI_FOUND_ASSUMED) ||
		(first && first[object + 1] > first[object]));
}

/* The member of `type` that contains all of [offset, offset + size), or null. */
static const struct ri_member *member_around(struct ri_types *types, const struct ri_type *type,
					     uint64_t offset, uint64_t size_bytes)
{
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *bare = ri_type_strip(types, member->type);
		uint64_t start = member->offset_bits / 8;

		if (!member->bit_size && offset >= start &&
		    offset - start + size_bytes <= bare->size_bytes)
			return member;
	}
	return NULL;
}

/* Whether an object of `inner` may lie at `offset` of a struct of `outer`. */
static bool may_embed(struct ri_types *types, const struct ri_type *outer, uint64_t offset,
		      const struct ri_type *inner, uint64_t inner_bytes)
{
	const struct ri_type *type = outer;

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		const struct ri_member *member;

		if (!type || (inner && offset == 0 && ri_types_are_same(type, inner)))
			return true;
		if (type->kind == RI_TYPE_ARRAY) {
			type = ri_type_target(types, type);
			type = type ? ri_type_strip(types, type) : NULL;
			if (!type || type->size_bytes <= 1 || type->kind == RI_TYPE_INT)
				return true;
			offset %= type->size_bytes;
			continue;
		}
		if (type->kind != RI_TYPE_STRUCT)
			return type->kind == RI_TYPE_UNION || type->kind == RI_TYPE_UNKNOWN;
		member = member_around(types, type, offset, inner_bytes);
		if (!member)
			return false;
		offset -= member->offset_bits / 8;
		type = ri_type_strip(types, member->type);
	}
	return true;
}

static uint64_t count_addr(const struct ri_analysis *analysis, const struct ri_object *object)
{
	const struct ri_counted_type *type = &analysis->population->types[object->type];
	const struct ri_convention *convention;

	if (!analysis->layout || type->convention >= analysis->layout->conventions.count)
		return 0;
	convention = &analysis->layout->conventions.items[type->convention];
	return convention->count_count ? ri_object_header(analysis->population, object) +
						 (uint64_t)convention->counts[0].field.offset_bytes
				       : 0;
}

/* Whether two objects are two views of one: two headers of a struct, or one count. */
static bool are_views(const struct ri_analysis *analysis, const struct ri_object *a,
		      const struct ri_object *b)
{
	const struct ri_counted_type *t = &analysis->population->types[a->type];
	const struct ri_counted_type *u = &analysis->population->types[b->type];
	uint64_t count = count_addr(analysis, a);

	return t->container != RI_LAYOUT_NONE || u->container != RI_LAYOUT_NONE ||
	       (t->name && u->name && a->type != b->type && !strcmp(t->name, u->name)) ||
	       (count && count == count_addr(analysis, b));
}

/* `inner` lies inside `outer`, an object around it. */
static bool is_foreign_inside(const struct ri_analysis *analysis, const struct ri_object *outer,
			      const struct ri_object *inner)
{
	const struct ri_counted_type *t = &analysis->population->types[outer->type];
	const struct ri_counted_type *u = &analysis->population->types[inner->type];

	if (inner->found & RI_FOUND_EMBEDDED || !analysis->types || !t->type)
		return false;
	if (inner->addr < outer->addr || u->front_bytes)
		return true; /* beside the struct, or a header in front: no member can be both */
	return !may_embed(analysis->types, t->type, inner->addr - outer->addr, u->type,
			  u->size_bytes);
}

static void report(const struct ri_check *check, const struct ri_analysis *analysis,
		   struct ri_findings *findings, uint32_t object, const struct ri_object *other,
		   const char *how)
{
	const struct ri_population *population = analysis->population;
	struct ri_finding *finding = ri_finding_of_object(findings, check, analysis, object);
	const struct ri_object *o = &population->objects[object];
	const char *other_name = population->types[other->type].name;

	ri_finding_summarize(finding, "%s 0x%" PRIx64 " and %s 0x%" PRIx64 " claim the same bytes",
			     finding->type_name, finding->addr, other_name, other->addr);
	ri_finding_identify(finding, other_name);
	ri_finding_explain(finding, "%s 0x%" PRIx64 " %s", finding->type_name, finding->addr, how);
	ri_finding_explain(finding, "[0x%" PRIx64 ", 0x%" PRIx64 ") is %s, [0x%" PRIx64
				    ", 0x%" PRIx64 ") is %s",
			   ri_object_start(population, o), ri_object_end(population, o),
			   finding->type_name, ri_object_start(population, other),
			   ri_object_end(population, other), other_name);
	ri_finding_explain_holders(finding, analysis, object);
	ri_finding_explain(finding, "the other's count is %" PRId64, other->count);
	*ri_push(&finding->addrs) = other->addr;
	ri_finding_rest_on_liveness(finding, analysis);
	ri_finding_explain(finding, "show 0x%" PRIx64, finding->addr);
}

static void check_object(const struct ri_check *check, const struct ri_analysis *analysis,
			 struct ri_findings *findings, uint32_t object)
{
	const struct ri_object *all = analysis->population->objects, *o = &all[object];
	uint64_t start = ri_object_start(analysis->population, o);
	uint32_t before = object - 1;

	if (!object || !is_validated(analysis, object))
		return;
	/* the nearest before it that reaches into it, and is not around it */
	while (before != RI_NONE && before != o->parent &&
	       ri_object_end(analysis->population, &all[before]) <= start)
		before = all[before].parent;
	if (before == RI_NONE || !is_validated(analysis, before) ||
	    are_views(analysis, &all[before], o))
		return;
	if (before != o->parent)
		report(check, analysis, findings, object, &all[before],
		       "begins inside the other and ends behind it");
	else if (is_foreign_inside(analysis, &all[before], o))
		report(check, analysis, findings, object, &all[before],
		       "lies inside the other, whose type has something else there");
}

static void run_overlap(const struct ri_check *check, const struct ri_analysis *analysis,
			struct ri_findings *findings)
{
	const struct ri_population *population = analysis->population;
	const uint32_t sure = RI_FOUND_GROUP | RI_FOUND_POINTER | RI_FOUND_VARIABLE |
			      RI_FOUND_ASSUMED;

	for (uint32_t o = 0; o < population->object_count; o++)
		check_object(check, analysis, findings, o);
	for (size_t i = 0; i < population->rival_count; i++) {
		const struct ri_rival *rival = &population->rivals[i];

		if (is_alive(rival->claim.state) && rival->claim.found & sure &&
		    is_declared(analysis, rival->claim.type) &&
		    is_validated(analysis, rival->object) &&
		    !are_views(analysis, &population->objects[rival->object], &rival->claim))
			report(check, analysis, findings, rival->object, &rival->claim,
			       "and the other begin at one address, and more speaks for it");
	}
}

const struct ri_check ri_check_overlap = {
	.code = "overlap",
	.severity = RI_SEVERITY_ERROR,
	.summary = "two objects claim the same bytes and neither embeds the other",
	.help = "Two objects that are sound by every sign, and that something certain leads to, "
		"lie in the same memory, though neither type contains the other there. What one "
		"of them writes damages the other. Memory was given out twice, a pool hands out "
		"less than its objects need, or memory was used for a new object while an old "
		"pointer of another type still leads to it: `holders` of the address lists both "
		"kinds of pointers.",
	.run = run_overlap,
};
