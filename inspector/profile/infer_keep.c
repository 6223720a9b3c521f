/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From scored members to inferred types: which are kept, which count of a struct is the
 * first, what profiles know already, and what is one struct seen in several modules.
 *
 * Everything is looked up by hash or sorted; structs of one name are compared pairwise,
 * but no more than SAME_NAME_MAX of them.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/infer_private.h"

#define SAME_NAME_MAX 64

struct keeping {
	struct ri_inference *inference;
	const struct ri_layout *layout; /* or null */
	ri_found_list *found;
	const struct ri_type **covered; /* hash table of the structs that profiles know */
	size_t covered_count;    /* of its slots, a power of two */
};

static void free_candidates(struct ri_found_struct *found)
{
	for (size_t i = 0; i < found->candidates.count; i++)
		ri_vec_deinit(&found->candidates.items[i].score.reasons);
	ri_vec_deinit(&found->candidates);
}

static bool is_packed(const struct ri_candidate *candidate)
{
	/* what a profile can read: within 8 bytes from the byte it begins in */
	return candidate->bit_size &&
	       candidate->offset_bits % 8 + candidate->bit_size > 64;
}

/* A weak count beside an accepted one of the same type is its sibling. */
static void add_siblings(struct ri_found_struct *found)
{
	const struct ri_type *accepted = NULL;

	for (size_t i = 0; i < found->candidates.count; i++)
		if (found->candidates.items[i].score.points >= RI_INFER_ACCEPT)
			accepted = found->candidates.items[i].declared;
	for (size_t i = 0; accepted && i < found->candidates.count; i++) {
		struct ri_candidate *candidate = &found->candidates.items[i];
		struct ri_inferred_reason *reason;

		if (candidate->score.points >= RI_INFER_ACCEPT ||
		    candidate->score.name_points <= 0 || !ri_name_is_secondary(candidate->name) ||
		    candidate->declared->kind != accepted->kind ||
		    candidate->declared->size_bytes != accepted->size_bytes)
			continue;
		reason = ri_push(&candidate->score.reasons);
		reason->points = RI_INFER_ACCEPT - candidate->score.points;
		reason->text = "the weak sibling of an accepted count";
		candidate->score.points = RI_INFER_ACCEPT;
	}
}

/* What the first count of a struct is before another: accepted, not weak or internal, then
 * the higher score, then the first. */
static int compare_counts(const void *a, const void *b)
{
	const struct ri_inferred_count *x = a, *y = b;
	bool x_accepted = x->score >= RI_INFER_ACCEPT, y_accepted = y->score >= RI_INFER_ACCEPT;

	if (x_accepted != y_accepted)
		return x_accepted ? -1 : 1;
	if (x->is_secondary != y->is_secondary)
		return x->is_secondary ? 1 : -1;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->offset_bits < y->offset_bits ? -1 : x->offset_bits > y->offset_bits;
}

static void take_counts(struct ri_found_struct *found, struct ri_inferred_type *type)
{
	type->counts = ri_calloc(found->candidates.count, sizeof(*type->counts));
	for (size_t i = 0; i < found->candidates.count; i++) {
		struct ri_candidate *from = &found->candidates.items[i];
		struct ri_inferred_count *to;

		if (from->score.points < RI_INFER_POSSIBLE || is_packed(from))
			continue;
		to = &type->counts[type->count_count++];
		to->path = from->path;
		to->offset_bits = from->offset_bits;
		to->bit_size = from->bit_size;
		to->size_bytes = from->size_bytes;
		to->wrappers = from->wrappers;
		to->is_atomic = from->is_atomic;
		to->is_negative = from->is_negative;
		to->is_secondary = ri_name_is_secondary(from->name);
		to->score = from->score.points;
		to->reasons = from->score.reasons.items;
		to->reason_count = from->score.reasons.count;
		memset(&from->score.reasons, 0, sizeof(from->score.reasons));
	}
	if (type->count_count)
		qsort(type->counts, type->count_count, sizeof(*type->counts), compare_counts);
	for (size_t i = 0; i < type->count_count; i++)
		type->counts[i].is_secondary = i > 0;
}

/* The `i`th struct that profiles know, null beyond the last. */
static const struct ri_type *nth_known(const struct ri_layout *layout, size_t i)
{
	if (i < layout->conventions.count)
		return layout->conventions.items[i].type;
	i -= layout->conventions.count;
	if (i < layout->types.count)
		return layout->types.items[i].type;
	i -= layout->types.count;
	return i < layout->uncounted.count ? layout->uncounted.items[i] : NULL;
}

static size_t covered_slot(const struct keeping *k, const struct ri_type *type)
{
	size_t i = ri_struct_hash(type) & (k->covered_count - 1);

	while (k->covered[i] && !ri_structs_are_one(k->covered[i], type))
		i = (i + 1) & (k->covered_count - 1);
	return i;
}

/* The structs that profiles know: with a count of their own, with a header inside, or with
 * a counter that they say is none. */
static void list_covered(struct keeping *k)
{
	const struct ri_layout *layout = k->layout;
	size_t count = layout ? layout->conventions.count + layout->types.count +
					layout->uncounted.count : 0;

	for (k->covered_count = 64; k->covered_count < 2 * (count + 1);)
		k->covered_count *= 2;
	k->covered = ri_calloc(k->covered_count, sizeof(*k->covered));
	for (size_t i = 0; i < count; i++) {
		const struct ri_type *type = nth_known(layout, i);

		if (type && type->name)
			k->covered[covered_slot(k, type)] = type;
	}
}

static bool is_covered(const struct keeping *k, const struct ri_type *type)
{
	return k->covered[covered_slot(k, type)] != NULL;
}

/* Executables first, then modules with more accepted types: an order for reading. */
static int compare_types(const void *a, const void *b)
{
	const struct ri_inferred_type *x = a, *y = b;
	bool x_main = x->type->module && x->type->module->is_main;
	bool y_main = y->type->module && y->type->module->is_main;
	int order;

	if (x->state != y->state)
		return x->state == RI_INFERRED_ACCEPTED ? -1 :
		       y->state == RI_INFERRED_ACCEPTED ? 1 :
							  (x->state > y->state) - (x->state < y->state);
	if (x_main != y_main)
		return x_main ? -1 : 1;
	order = strcmp(x->module, y->module);
	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = (x->type->size_bytes > y->type->size_bytes) -
			(x->type->size_bytes < y->type->size_bytes);
	if (!order)
		order = (x->type->die_offset > y->type->die_offset) -
			(x->type->die_offset < y->type->die_offset);
	return order;
}

static void keep_types(struct keeping *k)
{
	struct ri_inference *inference = k->inference;

	for (size_t i = 0; i < k->found->count; i++) {
		struct ri_found_struct *found = &k->found->items[i];
		struct ri_inferred_type type = { .type = found->type, .name = found->type->name };

		add_siblings(found);
		take_counts(found, &type);
		free_candidates(found);
		if (!type.count_count) {
			free(type.counts);
			continue;
		}
		type.module = ri_strings_add(inference->strings,
					     ri_module_base_name(type.type->module ? type.type->module->path
									 : NULL));
		type.convention = type.name;
		type.state = is_covered(k, type.type) ? RI_INFERRED_COVERED :
			     type.counts[0].score >= RI_INFER_ACCEPT ? RI_INFERRED_ACCEPTED :
								       RI_INFERRED_POSSIBLE;
		*ri_push(&inference->types) = type;
	}
	if (inference->types.count)
		qsort(inference->types.items, inference->types.count,
		      sizeof(*inference->types.items), compare_types);
}

void ri_inferred_type_deinit(struct ri_inferred_type *type)
{
	for (size_t i = 0; i < type->count_count; i++)
		free(type->counts[i].reasons);
	free(type->counts);
}

/* One struct that several modules define alike is one type; one that they define otherwise
 * is told apart by the module. */
static int compare_names(const void *a, const void *b)
{
	const struct ri_inferred_type *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x > *y) - (*x < *y);
}

static bool is_alike(const struct ri_inferred_type *a, const struct ri_inferred_type *b)
{
	return ri_structs_are_one(a->type, b->type) &&
	       a->counts[0].offset_bits == b->counts[0].offset_bits;
}

/* Of two structs of one name in one module the binder takes the one that DWARF has first. */
static void shadow(struct ri_inferred_type **by_name, size_t first, size_t i)
{
	for (size_t n = first; n < i && n < first + SAME_NAME_MAX; n++) {
		struct ri_inferred_type *other = by_name[n], *one = by_name[i];
		bool is_in_force = other->state != RI_INFERRED_SHADOWED;

		if (!other->count_count || other->type->module != one->type->module || !is_in_force)
			continue;
		if (other->type->die_offset < one->type->die_offset)
			one->state = RI_INFERRED_SHADOWED;
		else
			other->state = RI_INFERRED_SHADOWED;
	}
}

static void merge_modules(struct ri_inference *inference)
{
	size_t count = inference->types.count, kept = 0;
	struct ri_inferred_type **by_name = ri_calloc(count, sizeof(*by_name));

	for (size_t i = 0; i < count; i++)
		by_name[i] = &inference->types.items[i];
	if (count)
		qsort(by_name, count, sizeof(*by_name), compare_names);
	for (size_t i = 0, first = 0; i < count; i++) {
		bool is_twin = false;

		if (strcmp(by_name[i]->name, by_name[first]->name) != 0)
			first = i;
		for (size_t n = first; n < i && n < first + SAME_NAME_MAX && !is_twin; n++)
			is_twin = by_name[n]->count_count && is_alike(by_name[n], by_name[i]);
		if (is_twin) {
			ri_inferred_type_deinit(by_name[i]);
			by_name[i]->counts = NULL;
			by_name[i]->count_count = 0;
		} else if (i > first) {
			by_name[i]->needs_module = by_name[first]->needs_module = true;
			shadow(by_name, first, i);
		}
	}
	for (size_t i = 0; i < count; i++)
		if (inference->types.items[i].count_count)
			inference->types.items[kept++] = inference->types.items[i];
	inference->types.count = kept;
	free(by_name);
}

void ri_inference_keep(struct ri_inference *inference, const struct ri_layout *layout,
		       ri_found_list *found)
{
	struct keeping k = { .inference = inference, .layout = layout, .found = found };

	list_covered(&k);
	keep_types(&k);
	merge_modules(inference);
	free(k.covered);
}
