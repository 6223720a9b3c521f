/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scan: every struct of every module once, unnamed structs and unions inside
 * them included, for members whose declaration looks like a reference count; then the
 * functions of the modules that have any, for pairs.  infer_keep.c and infer_relate.c
 * say what follows from seeing all of them.
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

struct scan {
	struct ri_types *types;
	const struct ri_modules *modules;
	const struct ri_layout *layout;
	const struct ri_infer_options *options;
	struct ri_inference *inference;
	ri_found_list found;
	bool *is_left_out;       /* per module */
	struct ri_found_struct *at_hand;
	unsigned visits;
	char path[PATH_BYTES_MAX];
	size_t path_length;
};

/*
 * Modules
 */

const char *ri_module_base_name(const char *path)
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
		if (!fnmatch(patterns[i], ri_module_base_name(path), 0))
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
	struct ri_candidate *candidate;
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

static bool visit_struct(const struct ri_type *type, void *data)
{
	struct scan *scan = data;
	size_t module = type->module ? ri_modules_index(scan->modules, type->module) : 0;
	struct ri_found_struct found = { .type = type, .module = module };

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

static int best_name_points(const struct ri_found_struct *found)
{
	int best = 0;

	for (size_t i = 0; i < found->candidates.count; i++)
		if (found->candidates.items[i].score.name_points > best)
			best = found->candidates.items[i].score.name_points;
	return best;
}

static void add_pair(struct scan *scan, struct ri_found_struct *found, const struct ri_pairs *pairs)
{
	const char *get, *put;
	int weight = ri_pairs_find(pairs, ri_unqualified_name(found->type->name), &get, &put);
	int best = best_name_points(found);

	for (size_t i = 0; weight && best && i < found->candidates.count; i++) {
		struct ri_candidate *candidate = &found->candidates.items[i];
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
	ri_inference_keep(inference, layout, &scan.found);
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
		ri_inferred_type_deinit(&inference->types.items[i]);
	ri_vec_deinit(&inference->types);
	ri_strings_destroy(inference->strings);
	free(inference->slots);
	free(inference);
}
