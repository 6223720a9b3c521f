/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scan: every struct of every module once, unnamed structs and unions inside
 * them included, for members whose declaration looks like a reference count;
 * then the functions of the modules that have any, for pairs; then what follows
 * from seeing all of them: which are accepted, which of two counts is the second
 * one, which structs are headers, which are one convention.
 *
 * Knows layout and order; what a name or a type is worth is infer_score.c's.
 * Cost: linear in the members, with a cut per struct; the functions are one more
 * pass over the DWARF of modules with candidates.
 *
 * Blind spots: counts packed with flags into one integer by code alone; counts
 * that are pointers or floating-point numbers; two structs of one name and
 * module with other layouts, of which a profile can name only one.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "profile/infer_private.h"

#define FLATTEN_MAX    4     /* unnamed structs and unions inside each other */
#define WRAPPERS_MAX   4
#define VISITS_MAX     8192  /* members looked at per struct */
#define WRAPPED_MAX    8     /* members of a wrapper that are looked at */
#define COUNTS_MAX     64    /* kept per struct */
#define PATH_BYTES_MAX 512

/* One candidate member while its struct is scanned. */
struct candidate {
	const char *path;
	const char *name;
	const struct ri_type *declared; /* as the member declares it, stripped */
	uint64_t offset_bits;
	uint32_t bit_size;
	uint8_t size_bytes, wrappers;
	bool is_atomic, is_negative;
	struct ri_member_score score;
};

struct found {
	const struct ri_type *type;
	size_t module;           /* index into modules */
	RI_VEC(struct candidate) candidates;
};

struct scan {
	struct ri_types *types;
	const struct ri_modules *modules;
	const struct ri_layout *layout;
	const struct ri_infer_options *options;
	struct ri_inference *inference;
	RI_VEC(struct found) found;
	bool *is_left_out;       /* per module */
	struct found *at_hand;
	unsigned visits;
	char path[PATH_BYTES_MAX];
	size_t path_length;
};

/*
 * Modules
 */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* The C library and the loader count files, locales and link maps of their own: nobody
 * who looks for a leak in a program means these. */
static bool is_c_library(const char *path)
{
	static const char *const patterns[] = {
		"libc.so*", "libc-*.so", "ld-linux*", "ld-*.so*", "ld64.so*", "libpthread*.so*",
		"librt.so*", "librt-*.so", "libdl.so*", "libdl-*.so", "libc.musl*", "linux-vdso*",
		"libm.so*", "libm-*.so", "\\[vdso\\]",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (!fnmatch(patterns[i], base_name(path), 0))
			return true;
	return false;
}

/* Structs that mirror what the kernel or the wire says. */
static bool is_mirrored(const struct ri_type *type)
{
	const char *file = ri_type_source_file(type);

	return file && (strstr(file, "/uapi/") || strstr(file, "/include/linux/") ||
			strstr(file, "/include/asm") || strstr(file, "/include/netinet/") ||
			strstr(file, "/include/x86_64-linux-gnu/asm/"));
}

/*
 * Members
 */

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

/* Adds the names of typedefs and wrappers of `type`, and goes on to what is below them. */
static const struct ri_type *strip_noting(struct scan *scan, const struct ri_type *type,
					  struct ri_member_facts *facts)
{
	while (type && (type->kind == RI_TYPE_TYPEDEF || type->kind == RI_TYPE_QUALIFIED)) {
		facts->is_atomic |= type->is_atomic;
		if (type->kind == RI_TYPE_TYPEDEF && type->name &&
		    facts->chain_count < RI_CHAIN_MAX)
			facts->chain[facts->chain_count++] = type->name;
		type = ri_type_target(scan->types, type);
	}
	return type;
}

/* The one member with a size that a wrapper begins with; null where it is no wrapper. */
static const struct ri_type *unwrap_once(struct scan *scan, const struct ri_type *type)
{
	const struct ri_type *inner = NULL;

	if (type->kind != RI_TYPE_STRUCT || type->size_bytes > 8 ||
	    type->member_count > WRAPPED_MAX)
		return NULL;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *below = ri_type_strip(scan->types, member->type);

		if (below->kind == RI_TYPE_ARRAY)
			return NULL; /* what follows a count in an object of any length */
		if (!below->size_bytes || (below->kind == RI_TYPE_STRUCT && !below->member_count))
			continue;
		if (inner || member->offset_bits || member->bit_size)
			return NULL;
		inner = member->type;
	}
	return inner;
}

/* Down to the integer; null where the member is none. */
static const struct ri_type *find_integer(struct scan *scan, const struct ri_type *type,
					  struct ri_member_facts *facts, uint8_t *ret_wrappers)
{
	*ret_wrappers = 0;
	for (unsigned i = 0; i <= WRAPPERS_MAX; i++) {
		type = strip_noting(scan, type, facts);
		if (!type)
			return NULL;
		if (type->kind == RI_TYPE_INT)
			return type;
		if (type->name && facts->chain_count < RI_CHAIN_MAX)
			facts->chain[facts->chain_count++] = type->name;
		type = unwrap_once(scan, type);
		if (!type)
			return NULL;
		++*ret_wrappers;
	}
	return NULL;
}

static bool has_in_chain(const struct ri_member_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->chain_count; i++)
		if (!strcmp(facts->chain[i], name))
			return true;
	return false;
}

static void rate_member(struct scan *scan, const struct ri_type *owner,
			const struct ri_member *member, uint64_t base_bits)
{
	struct ri_member_facts facts = {
		.name = member->name, .struct_name = owner->name, .bit_size = member->bit_size,
	};
	struct candidate *candidate;
	struct ri_member_score score;
	const struct ri_type *integer;
	uint8_t wrappers;

	integer = find_integer(scan, member->type, &facts, &wrappers);
	if (!integer || !is_printable(scan->path) || integer->size_bytes > 8 || !integer->size_bytes ||
	    (integer->size_bytes & (integer->size_bytes - 1)) ||
	    scan->at_hand->candidates.count >= COUNTS_MAX)
		return;
	facts.is_bool = integer->is_bool;
	facts.is_enum = integer->is_enum;
	facts.size_bytes = (uint8_t)integer->size_bytes;
	ri_member_rate(&facts, scan->inference->strings, &score);
	if (score.points > 0 && is_mirrored(owner)) {
		ri_vec_deinit(&score.reasons);
		facts.is_mirrored = true;
		ri_member_rate(&facts, scan->inference->strings, &score);
	}
	if (score.points <= 0) {
		ri_vec_deinit(&score.reasons);
		return;
	}
	candidate = ri_push(&scan->at_hand->candidates);
	candidate->path = ri_strings_add(scan->inference->strings, scan->path);
	candidate->name = member->name;
	candidate->declared = ri_type_strip(scan->types, member->type);
	candidate->offset_bits = base_bits + member->offset_bits;
	candidate->bit_size = member->bit_size;
	candidate->size_bytes = (uint8_t)integer->size_bytes;
	candidate->wrappers = wrappers;
	candidate->is_atomic = facts.is_atomic;
	candidate->is_negative = has_in_chain(&facts, "grefcount");
	candidate->score = score;
}

static size_t push_path(struct scan *scan, const char *name)
{
	size_t before = scan->path_length, length = name ? strlen(name) : 0;

	if (!length || before + length + 2 > sizeof(scan->path))
		return before;
	if (before)
		scan->path[scan->path_length++] = '.';
	memcpy(scan->path + scan->path_length, name, length + 1);
	scan->path_length += length;
	return before;
}

static void pop_path(struct scan *scan, size_t before)
{
	scan->path_length = before;
	scan->path[before] = '\0';
}

/* The members of `type`, which is `owner` or lies unnamed in it. */
static void scan_members(struct scan *scan, const struct ri_type *owner,
			 const struct ri_type *type, uint64_t base_bits, unsigned depth)
{
	for (size_t i = 0; i < type->member_count && scan->visits < VISITS_MAX; i++) {
		const struct ri_member *member = &type->members[i];
		const struct ri_type *below = ri_type_strip(scan->types, member->type);
		size_t path = push_path(scan, member->name);

		scan->visits++;
		if ((below->kind == RI_TYPE_STRUCT || below->kind == RI_TYPE_UNION) &&
		    !below->name && depth < FLATTEN_MAX)
			scan_members(scan, owner, below, base_bits + member->offset_bits,
				     depth + 1);
		else if (member->name && scan->path_length > path)
			rate_member(scan, owner, member, base_bits);
		pop_path(scan, path);
	}
}

/*
 * Structs
 */

/* A struct that is nothing but a wrapper counts nothing itself: what holds it does. */
static bool is_wrapper(struct scan *scan, const struct ri_type *type)
{
	return unwrap_once(scan, type) != NULL;
}

static void free_candidates(struct found *found)
{
	for (size_t i = 0; i < found->candidates.count; i++)
		ri_vec_deinit(&found->candidates.items[i].score.reasons);
	ri_vec_deinit(&found->candidates);
}

static bool visit_struct(const struct ri_type *type, void *data)
{
	struct scan *scan = data;
	size_t module = type->module ? ri_modules_index(scan->modules, type->module) : 0;
	struct found found = { .type = type, .module = module };

	if (!type->name || !is_printable(type->name) || type->kind != RI_TYPE_STRUCT ||
	    !type->size_bytes || scan->is_left_out[module] || is_wrapper(scan, type))
		return true;
	scan->at_hand = &found;
	scan->visits = 0;
	pop_path(scan, 0);
	scan_members(scan, type, type, 0, 0);
	if (found.candidates.count)
		*ri_push(&scan->found) = found;
	return true;
}

/*
 * What pairs of functions add
 */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int best_name_points(const struct found *found)
{
	int best = 0;

	for (size_t i = 0; i < found->candidates.count; i++)
		if (found->candidates.items[i].score.name_points > best)
			best = found->candidates.items[i].score.name_points;
	return best;
}

static void add_pair(struct scan *scan, struct found *found, const struct ri_pairs *pairs)
{
	const char *get, *put;
	int weight = ri_pairs_find(pairs, ri_unqualified_name(found->type->name), &get, &put);
	int best = best_name_points(found);

	for (size_t i = 0; weight && best && i < found->candidates.count; i++) {
		struct candidate *candidate = &found->candidates.items[i];
		struct ri_inferred_reason *reason;

		if (candidate->score.name_points < best)
			continue;
		reason = ri_push(&candidate->score.reasons);
		reason->points = weight;
		reason->text = ri_strings_format(scan->inference->strings, "%s and %s take it", get,
						 put);
		candidate->score.points += weight;
	}
}

static void add_pairs(struct scan *scan)
{
	RI_VEC(const char *) names = { 0 };
	RI_VEC(const struct ri_module *) chosen = { 0 };
	size_t module_count, unique = 0;
	const struct ri_module *list = ri_modules_list(scan->modules, &module_count);
	bool *has_found = ri_calloc(module_count, sizeof(*has_found));
	struct ri_pairs *pairs;

	for (size_t i = 0; i < scan->found.count; i++) {
		has_found[scan->found.items[i].module] = true;
		*ri_push(&names) = ri_unqualified_name(scan->found.items[i].type->name);
	}
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), compare_texts);
	for (size_t i = 0; i < names.count; i++)
		if (!i || strcmp(names.items[i], names.items[unique - 1]) != 0)
			names.items[unique++] = names.items[i];
	for (size_t i = 0; i < module_count; i++)
		if (has_found[i] && list[i].has_dwarf)
			*ri_push(&chosen) = &list[i];
	pairs = ri_pairs_create(scan->types, chosen.items, chosen.count, names.items, unique);
	for (size_t i = 0; i < scan->found.count; i++)
		add_pair(scan, &scan->found.items[i], pairs);
	ri_pairs_destroy(pairs);
	free(has_found);
	ri_vec_deinit(&names);
	ri_vec_deinit(&chosen);
}

/*
 * Which are kept
 */

static bool is_packed(const struct candidate *candidate)
{
	/* what a profile can read: within 8 bytes from the byte it begins in */
	return candidate->bit_size &&
	       candidate->offset_bits % 8 + candidate->bit_size > 64;
}

/* A weak count beside an accepted one of the same type is its sibling. */
static void add_siblings(struct found *found)
{
	const struct ri_type *accepted = NULL;

	for (size_t i = 0; i < found->candidates.count; i++)
		if (found->candidates.items[i].score.points >= RI_INFER_ACCEPT)
			accepted = found->candidates.items[i].declared;
	for (size_t i = 0; accepted && i < found->candidates.count; i++) {
		struct candidate *candidate = &found->candidates.items[i];
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

static void take_counts(struct found *found, struct ri_inferred_type *type)
{
	type->counts = ri_calloc(found->candidates.count, sizeof(*type->counts));
	for (size_t i = 0; i < found->candidates.count; i++) {
		struct candidate *from = &found->candidates.items[i];
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

/* Whether a profile knows the struct already. */
static bool is_covered(const struct scan *scan, const struct ri_type *type)
{
	for (size_t i = 0; scan->layout && i < scan->layout->conventions.count; i++)
		if (ri_structs_are_one(scan->layout->conventions.items[i].type, type))
			return true;
	for (size_t i = 0; scan->layout && i < scan->layout->types.count; i++)
		if (ri_structs_are_one(scan->layout->types.items[i].type, type))
			return true;
	return false;
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

static void keep_types(struct scan *scan)
{
	struct ri_inference *inference = scan->inference;

	for (size_t i = 0; i < scan->found.count; i++) {
		struct found *found = &scan->found.items[i];
		struct ri_inferred_type type = { .type = found->type, .name = found->type->name };

		add_siblings(found);
		take_counts(found, &type);
		free_candidates(found);
		if (!type.count_count) {
			free(type.counts);
			continue;
		}
		type.module = ri_strings_add(inference->strings,
					     base_name(type.type->module ? type.type->module->path
									 : NULL));
		type.convention = type.name;
		type.state = is_covered(scan, type.type) ? RI_INFERRED_COVERED :
			     type.counts[0].score >= RI_INFER_ACCEPT ? RI_INFERRED_ACCEPTED :
								       RI_INFERRED_POSSIBLE;
		*ri_push(&inference->types) = type;
	}
	if (inference->types.count)
		qsort(inference->types.items, inference->types.count,
		      sizeof(*inference->types.items), compare_types);
}

static void free_type(struct ri_inferred_type *type)
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
	for (size_t k = first; k < i && k < first + COUNTS_MAX; k++) {
		struct ri_inferred_type *other = by_name[k], *one = by_name[i];
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
		for (size_t k = first; k < i && k < first + COUNTS_MAX && !is_twin; k++)
			is_twin = by_name[k]->count_count && is_alike(by_name[k], by_name[i]);
		if (is_twin) {
			free_type(by_name[i]);
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

struct ri_inference *ri_inference_create(struct ri_types *types, const struct ri_modules *modules,
					 const struct ri_layout *layout,
					 const struct ri_infer_options *options)
{
	struct ri_inference *inference = ri_calloc(1, sizeof(*inference));
	struct scan scan = { .types = types, .modules = modules, .layout = layout,
			     .options = options, .inference = inference };
	size_t module_count;
	const struct ri_module *list = ri_modules_list(modules, &module_count);

	inference->strings = ri_strings_create();
	scan.is_left_out = ri_calloc(module_count + 1, sizeof(*scan.is_left_out));
	for (size_t i = 0; i < module_count; i++)
		scan.is_left_out[i] = !options->is_all && is_c_library(list[i].path);
	ri_types_each_struct(types, visit_struct, &scan);
	add_pairs(&scan);
	keep_types(&scan);
	merge_modules(inference);
	ri_inference_relate(inference, types);
	free(scan.is_left_out);
	ri_vec_deinit(&scan.found);
	return inference;
}

void ri_inference_destroy(struct ri_inference *inference)
{
	if (!inference)
		return;
	for (size_t i = 0; i < inference->types.count; i++)
		free_type(&inference->types.items[i]);
	ri_vec_deinit(&inference->types);
	ri_strings_destroy(inference->strings);
	free(inference);
}
