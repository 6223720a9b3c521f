/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ownership`: who owns references to the objects of each type, as the counts of all of
 * them say.  A type that the audit itself did not learn is learned here, and nothing is
 * changed by that.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "learn/ownership.h"

#define CELL_BYTES 64

struct ownership_listing {
	struct ri_listing *listing;
	const struct ri_analysis *analysis;
	bool is_of_models;       /* --explain */
};

/* What the fit says of a type as a whole. */
static void add_type_row(const struct ownership_listing *to, const struct ri_learned_type *type)
{
	static const char *const states[] = {
		[RI_LEARNED_FITS] = NULL,
		[RI_LEARNED_PARTLY] = "holders do not explain most counts",
		[RI_LEARNED_NOT] = "holders explain hardly any count",
	};
	char worth[CELL_BYTES], objects[CELL_BYTES], fits[CELL_BYTES], off[CELL_BYTES];
	uint64_t out = type->result.objects - type->result.explained;
	char *remark = states[type->state]
			       ? ri_strdup(states[type->state])
			       : ri_format("%" PRIu64 " surplus, %" PRIu64 " deficit, %" PRIu64
					   " undecided",
					   type->surplus, type->deficit, type->undecided);
	const char *cells[] = { to->analysis->population->types[type->type].name,
				"(all)", worth, NULL, objects, fits, off, NULL, remark };

	/* Rounded down: 100 % is said of all alone. */
	snprintf(worth, sizeof(worth), "explains %.1f %%",
		 floor(1000.0 * (double)type->result.explained /
		       (double)(type->result.objects ? type->result.objects : 1)) / 10);
	snprintf(objects, sizeof(objects), "%" PRIu64, type->result.objects);
	snprintf(fits, sizeof(fits), "%" PRIu64, type->result.explained);
	snprintf(off, sizeof(off), "%" PRIu64, out);
	ri_listing_add(to->listing, cells);
	free(remark);
}

static char *describe_class(const struct ri_analysis *analysis,
			    const struct ri_learned_class *class)
{
	const char *name = analysis->shapes->classes.items[class->holder_class].name;
	const struct ri_holders *holders = analysis->holders;
	uint32_t block = class->container - holders->object_count;
	char *place, *offset;

	if (class->container == RI_NONE)
		place = ri_strdup("");
	else if (class->container < holders->object_count)
		place = ri_format(" at %#" PRIx64,
				  analysis->population->objects[class->container].addr);
	else if (block < holders->block_count)
		place = ri_format(" at %#" PRIx64, analysis->heap->blocks[block].addr);
	else
		place = ri_format(" in %s",
				  holders->regions[block - holders->block_count].name);
	offset = class->target_offset
			 ? ri_format("%s%s -> %+" PRId64, name, place, class->target_offset)
			 : ri_format("%s%s", name, place);
	free(place);
	return offset;
}

static const char *word_worth(const struct ri_fit_class *fit)
{
	if (fit->is_rare)
		return "possible";
	if (fit->is_undecided || fit->is_contested)
		return "undecided";
	return fit->weight ? "owns" : "borrows";
}

static char *remark_on(const struct ri_fit_class *fit)
{
	if (fit->is_rare)
		return ri_strdup("too few to tell");
	if (fit->group_size > 1)
		return ri_format("%" PRIu32 " of these %" PRIu32 " own: always found together",
				 fit->group_weight, fit->group_size);
	if (fit->is_contested)
		return ri_strdup("contested");
	if (fit->is_undecided)
		return ri_strdup("another model explains as much");
	return fit->is_moved ? ri_strdup("moved: counts say so, its type does not") : NULL;
}

static void add_class_row(const struct ownership_listing *to, const struct ri_learned_type *type,
			  const struct ri_learned_class *class)
{
	const struct ri_fit_class *fit = &class->fit;
	char *name = describe_class(to->analysis, class), *remark = remark_on(fit);
	char margin[CELL_BYTES], objects[CELL_BYTES], in_favour[CELL_BYTES], against[CELL_BYTES],
		prior[CELL_BYTES];
	const char *cells[] = { to->analysis->population->types[type->type].name,
				name,
				word_worth(fit),
				fit->is_rare ? NULL : margin,
				objects,
				fit->is_rare ? NULL : in_favour,
				fit->is_rare ? NULL : against,
				prior,
				remark };

	snprintf(margin, sizeof(margin), "%.0f", fit->margin_bits);
	snprintf(objects, sizeof(objects), "%" PRIu64, fit->objects);
	snprintf(in_favour, sizeof(in_favour), "%" PRIu64, fit->for_objects);
	snprintf(against, sizeof(against), "%" PRIu64, fit->against_objects);
	snprintf(prior, sizeof(prior), "%.2f", fit->prior);
	ri_listing_add(to->listing, cells);
	free(remark);
	free(name);
}

static void add_model_row(const struct ownership_listing *to, const struct ri_learned_type *type,
			  const char *model, double bits, const uint64_t *numbers,
			  const char *remark)
{
	char texts[4][CELL_BYTES];
	const char *cells[] = { to->analysis->population->types[type->type].name, model, texts[0],
				texts[1], texts[2], texts[3], remark };

	snprintf(texts[0], CELL_BYTES, "%.0f", bits);
	for (int i = 0; i < 3; i++)
		snprintf(texts[i + 1], CELL_BYTES, "%" PRIu64, numbers[i]);
	ri_listing_add(to->listing, cells);
}

/* "sessions[] borrows", "2 of 3 like conn.peer own": where they are always found together. */
static char *describe_change(const struct ri_analysis *analysis,
			     const struct ri_learned_class *class, uint32_t weight)
{
	char *name = describe_class(analysis, class), *text;

	if (class->fit.group_size > 1)
		text = ri_format("%" PRIu32 " of %" PRIu32 " like %s own", weight,
				 class->fit.group_size, name);
	else
		text = ri_format("%s %s", name, weight ? "owns" : "borrows");
	free(name);
	return text;
}

/* The cheapest model in which `class` is worth something else. */
static void add_other_row(const struct ownership_listing *to, const struct ri_learned_type *type,
			  const struct ri_learned_class *classes, uint32_t k)
{
	const struct ri_fit_class *fit = &classes[k].fit;
	const struct ri_fit_other *other = &fit->other;
	const uint64_t numbers[] = { other->explained, other->surplus, other->deficit };
	bool is_possible = fit->is_undecided || fit->is_contested;
	char *model = ri_strdup("");

	for (uint32_t i = 0; i < other->change_count && i < RI_FIT_CHANGES; i++) {
		uint32_t changed = other->changes[i].class_index;
		char *change = describe_change(to->analysis, &classes[changed],
					       other->changes[i].weight);
		char *longer = ri_format("%s%s%s", model, i ? ", " : "", change);

		free(change);
		free(model);
		model = longer;
	}
	if (other->change_count > RI_FIT_CHANGES) {
		char *longer = ri_format("%s and others", model);

		free(model);
		model = longer;
	}
	add_model_row(to, type, model, fit->margin_bits, numbers,
		      is_possible ? "not ruled out: these holders are possible" : "ruled out");
	free(model);
}

/* Whether a class before it stands for the same model: their changes are the same ones. */
static bool is_told(const struct ri_learned_class *classes, uint32_t k)
{
	const struct ri_fit_other *other = &classes[k].fit.other;

	for (uint32_t i = 0; i < other->change_count && i < RI_FIT_CHANGES; i++) {
		uint32_t c = other->changes[i].class_index;
		const struct ri_fit_other *before = &classes[c].fit.other;
		bool has_me = false;

		if (c >= k || before->change_count != other->change_count)
			continue;
		for (uint32_t m = 0; m < before->change_count && m < RI_FIT_CHANGES; m++)
			has_me |= before->changes[m].class_index == k;
		if (has_me)
			return true;
	}
	return false;
}

/* The best model, those that cannot be ruled out, and of the others the nearest one. */
static void add_models(const struct ownership_listing *to, const struct ri_ownership *ownership,
		       const struct ri_learned_type *type)
{
	const struct ri_learned_class *classes = &ownership->classes.items[type->class_first];
	const uint64_t numbers[] = { type->result.explained, type->result.surplus,
				     type->result.deficit };
	uint32_t nearest = RI_NONE;

	add_model_row(to, type, "as learned", 0, numbers,
		      type->state == RI_LEARNED_FITS ? NULL
						     : "explains too little to judge counts by");
	for (uint32_t k = 0; k < type->class_count; k++) {
		const struct ri_fit_class *fit = &classes[k].fit;

		if (!fit->other.is_there)
			continue;
		if (fit->is_undecided || fit->is_contested) {
			if (!is_told(classes, k))
				add_other_row(to, type, classes, k);
		} else if (nearest == RI_NONE ||
			   fit->margin_bits < classes[nearest].fit.margin_bits) {
			nearest = k;
		}
	}
	if (nearest != RI_NONE)
		add_other_row(to, type, classes, nearest);
}

static void add_type(const struct ownership_listing *to, const struct ri_ownership *ownership,
		     const struct ri_learned_type *type)
{
	if (to->is_of_models) {
		add_models(to, ownership, type);
		return;
	}
	add_type_row(to, type);
	for (uint32_t k = 0; k < type->class_count; k++)
		add_class_row(to, type, &ownership->classes.items[type->class_first + k]);
}

static struct ri_error *run_ownership(struct ri_command_context *context, int word_count,
				      char **words, int *ret_status)
{
	static const struct ri_column columns[] = {
		{ "type", false },    { "holders", false }, { "worth", false },
		{ "margin", true },   { "objects", true },  { "for", true },
		{ "against", true },  { "prior", true },    { "remark", false },
	};
	static const struct ri_column model_columns[] = {
		{ "type", false },   { "model", false },  { "costs", true },
		{ "explains", true }, { "surplus", true }, { "deficit", true },
		{ "remark", false },
	};
	const struct ri_analysis *analysis = context->analysis;
	const struct ri_population *population = analysis->population;
	const char *wanted = word_count ? words[0] : context->request.type;
	struct ownership_listing to = { NULL, analysis, context->request.wants_models };
	struct ri_ownership *ownership;
	uint8_t *wishes;

	(void)ret_status;
	if (wanted && ri_command_find_type(analysis, wanted) == RI_NONE)
		return ri_error_create(RI_ERROR_USAGE, "there is no counted type '%s'", wanted);
	if (to.is_of_models)
		to.listing = ri_listing_create(context->out, context->request.format, "models",
					       model_columns,
					       sizeof(model_columns) / sizeof(model_columns[0]),
					       &context->report);
	else
		to.listing = ri_listing_create(context->out, context->request.format, "ownership",
					       columns, sizeof(columns) / sizeof(columns[0]),
					       &context->report);
	wishes = ri_calloc(population->type_count + 1, sizeof(*wishes));
	for (uint32_t t = 0; t < population->type_count; t++)
		if ((!wanted || !strcmp(population->types[t].name, wanted)) &&
		    !ri_ownership_find(analysis->ownership, t))
			wishes[t] = RI_OWNERSHIP_LOOK;
	ownership = ri_ownership_learn(
		&(struct ri_ownership_input){ analysis->target->image, analysis->heap, population,
					      analysis->shapes, analysis->holders },
		wishes);
	for (uint32_t t = 0; t < population->type_count; t++) {
		const struct ri_learned_type *type = ri_ownership_find(ownership, t);
		const struct ri_ownership *of = ownership;

		if (!type) {
			of = analysis->ownership;
			type = ri_ownership_find(of, t);
		}
		if (type && (!wanted || !strcmp(population->types[t].name, wanted)))
			add_type(&to, of, type);
	}
	ri_ownership_destroy(ownership);
	free(wishes);
	ri_listing_finish(to.listing);
	return NULL;
}

const struct ri_command ri_command_ownership = {
	.name = "ownership",
	.arguments = "[TYPE]",
	.summary = "who owns references, as the counts of all objects say",
	.help = "For each type a row that says how many objects' counts are explained by what "
		"holds them, then a row per class of holders: whether one of them owns a "
		"reference, how many bits a model costs more in which it is otherwise, the "
		"objects that have such holders, how many of them are explained only so and how "
		"many only otherwise, and how likely the class was to own before any object was "
		"looked at. "
		"*undecided* means that another model explains as much, *moved* that the counts "
		"contradict what the type of the place suggests: that may be a convention, or a get "
		"that is missing everywhere. What a profile declares is taken as it is and not "
		"listed. For types of a profile this is what could be learned, and the audit does "
		"not go by it. "
		"With --explain a row per model instead: the one that was learned, those that "
		"cannot be ruled out, and the nearest of the others; how many bits it costs more, "
		"how many objects' counts it explains, and how many would be too high (surplus) or "
		"too low (deficit) if it were the true one.",
	.needs_target = true,
	.max_words = 1,
	.run = run_ownership,
};
