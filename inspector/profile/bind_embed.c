/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which structs are counted: those that a profile declares, and every struct
 * that embeds one of them or a header, at any depth.
 *
 * For each struct the list of headers and counted structs inside it ("embeds")
 * is worked out once, from its members' lists, and kept by type; so the whole
 * costs one look at each member of each struct of the modules that define a
 * struct of such a name.  The first embed
 * gives the struct's own counted type, further ones give one each, called
 * after the member.
 *
 * A declared struct's own rule stands for the header that its count lies in: a
 * header inside a header is no second count.
 *
 * Not followed, and told in the gaps: unions (which arm holds is unknown) and
 * arrays of counted structs (the elements are objects, found by themselves).
 */
#include <stdlib.h>
#include <string.h>

#include "profile/bind.h"

#define MAX_DEPTH 64
#define MAX_EMBEDS 16 /* per struct */

struct embed {
	uint32_t root;
	int64_t header_offset;   /* from the struct's start */
	/* the struct's direct member that holds it; null: the struct itself is the root */
	const struct ri_member *member;
};

typedef RI_VEC(struct embed) embed_list;

/* The embeds of one type: embeds[first .. first + count). */
struct memo {
	const struct ri_type *type; /* stripped; null: free slot */
	uint32_t first, count;
};

struct search {
	struct ri_binder *binder;
	embed_list embeds;       /* of all types, each in one piece */
	struct memo *memos;      /* open addressing */
	size_t memo_count, memo_capacity; /* capacity: power of two */
	/* roots by root_hash(): the first of each chain (index + 1) and, per root, the next */
	uint32_t *root_slots, *root_next;
	size_t root_capacity;    /* power of two; 0: there are no roots */
	uint32_t *by_name;       /* counted types by hash of their name; RI_LAYOUT_NONE: free */
	size_t by_name_capacity;
};

/* Memos. */

static struct memo *memo_slot(struct memo *memos, size_t capacity, const struct ri_type *type)
{
	size_t i = ri_hash_u64((uint64_t)(uintptr_t)type) & (capacity - 1);

	while (memos[i].type && memos[i].type != type)
		i = (i + 1) & (capacity - 1);
	return &memos[i];
}

static void grow_memos(struct search *search)
{
	size_t capacity = search->memo_capacity ? 2 * search->memo_capacity : 1024;
	struct memo *memos = ri_calloc(capacity, sizeof(*memos));

	for (size_t i = 0; i < search->memo_capacity; i++)
		if (search->memos[i].type)
			*memo_slot(memos, capacity, search->memos[i].type) = search->memos[i];
	free(search->memos);
	search->memos = memos;
	search->memo_capacity = capacity;
}

/* The memo of `type`, made empty where it is new (*ret_is_new). */
static struct memo *memo_of(struct search *search, const struct ri_type *type, bool *ret_is_new)
{
	struct memo *memo;

	if (2 * (search->memo_count + 1) > search->memo_capacity)
		grow_memos(search);
	memo = memo_slot(search->memos, search->memo_capacity, type);
	*ret_is_new = !memo->type;
	if (*ret_is_new) {
		memo->type = type;
		search->memo_count++;
	}
	return memo;
}

/* Roots. */

/* Equal for a struct and each root that it may be (`type` stripped). */
static uint64_t root_hash(const struct ri_type *type)
{
	return type->name ? ri_hash_bytes(type->name, strlen(type->name))
			  : ri_hash_u64((uint64_t)(uintptr_t)type);
}

/* Chains keep the order of the roots. */
static void index_roots(struct search *search)
{
	const struct ri_bound *bound = search->binder->bound;

	if (!bound->roots.count || !search->binder->types)
		return;
	search->root_capacity = 64;
	while (search->root_capacity < 2 * bound->roots.count)
		search->root_capacity *= 2;
	search->root_slots = ri_calloc(search->root_capacity, sizeof(*search->root_slots));
	search->root_next = ri_calloc(bound->roots.count, sizeof(*search->root_next));
	for (size_t i = bound->roots.count; i-- > 0;) {
		const struct ri_type *type = bound->roots.items[i].type;
		uint32_t *slot;

		if (!type)
			continue;
		type = ri_type_strip(search->binder->types, type);
		slot = &search->root_slots[root_hash(type) & (search->root_capacity - 1)];
		search->root_next[i] = *slot;
		*slot = (uint32_t)i + 1;
	}
}

/* The root that a struct is: the same type, or the same name and size (another
 * unit's view of it). */
static uint32_t find_root(const struct search *search, const struct ri_type *type)
{
	const struct ri_bound *bound = search->binder->bound;
	uint32_t found = RI_LAYOUT_NONE, next;

	if (!search->root_capacity)
		return found;
	next = search->root_slots[root_hash(ri_type_strip(search->binder->types, type)) &
				  (search->root_capacity - 1)];
	for (; next; next = search->root_next[next - 1]) {
		const struct ri_root *root = &bound->roots.items[next - 1];

		if (root->type && (root->type == type ||
				   (ri_bind_is_same(search->binder, root->type, type) &&
				    ri_bind_is_in_module(type, root->module)))) {
			found = next - 1;
			if (root->is_user)
				break;
		}
	}
	return found;
}

/* Embeds. */

static const struct memo *find_embeds(struct search *search, const struct ri_type *type,
				      unsigned depth);

static const struct ri_type *element_of(struct search *search, const struct ri_type *type)
{
	struct ri_types *types = search->binder->types;

	for (unsigned i = 0; type && type->kind == RI_TYPE_ARRAY && i < MAX_DEPTH; i++) {
		type = ri_type_target(types, type);
		type = type ? ri_type_strip(types, type) : NULL;
	}
	return type;
}

/* Tells that counted structs inside a union or an array were not followed. */
static void tell_skipped(struct search *search, const struct ri_type *type,
			 const struct ri_member *member, const char *what)
{
	ri_gaps_add(search->binder->gaps, RI_GAP_TOLD, "profile",
		    "counted structs in %s '%s' of struct '%s' are not followed", what,
		    member->name ? member->name : "(unnamed)",
		    type->name ? type->name : "(unnamed)");
}

/* Whether the embed, in a member of a struct, makes that struct a view of the same object:
 * one whose only address is its start is an object by itself anywhere else. */
static bool is_view(const struct search *search, const struct embed *embed,
		    const struct ri_member *member)
{
	const struct ri_layout *layout = search->binder->layout;
	uint32_t convention = search->binder->bound->roots.items[embed->root].convention;

	return !member->offset_bits || !layout->conventions.items[convention].is_exact;
}

static void add_member(struct search *search, const struct ri_type *type,
		       const struct ri_member *member, unsigned depth, embed_list *list)
{
	const struct ri_type *stripped = ri_type_strip(search->binder->types, member->type);
	bool is_array = stripped->kind == RI_TYPE_ARRAY;
	uint32_t view_count = 0;
	struct memo memo;

	if (is_array)
		stripped = element_of(search, stripped);
	if (!stripped || member->bit_size ||
	    (stripped->kind != RI_TYPE_STRUCT && stripped->kind != RI_TYPE_UNION))
		return;
	memo = *find_embeds(search, stripped, depth + 1);
	for (uint32_t i = 0; i < memo.count; i++)
		view_count += is_view(search, &search->embeds.items[memo.first + i], member);
	if (!view_count)
		return;
	if (is_array || stripped->kind == RI_TYPE_UNION) {
		tell_skipped(search, type, member, is_array ? "array" : "union");
		return;
	}
	if (type->kind == RI_TYPE_STRUCT && view_count > MAX_EMBEDS - list->count)
		ri_gaps_add(search->binder->gaps, RI_GAP_MATTERS, "profile",
			    "struct '%s' embeds more than %d counted structs; the rest of them "
			    "were not followed",
			    type->name ? type->name : "(unnamed)", MAX_EMBEDS);
	for (uint32_t i = 0; i < memo.count && list->count < MAX_EMBEDS; i++) {
		struct embed embed = search->embeds.items[memo.first + i];

		if (!is_view(search, &embed, member))
			continue;
		embed.header_offset += (int64_t)(member->offset_bits / 8);
		embed.member = member;
		*ri_push(list) = embed;
	}
}

/* Puts the root that the struct itself is first, in place of the embed that its
 * header or count is. */
static void put_root_first(struct search *search, uint32_t root_index, embed_list *list)
{
	const struct ri_root *roots = search->binder->bound->roots.items;
	const struct ri_convention *conventions = search->binder->layout->conventions.items;
	const struct ri_root *root = &roots[root_index];
	const struct embed own = { root_index, root->header_offset, NULL };
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct embed *embed = &list->items[i];
		uint64_t size_bytes = conventions[roots[embed->root].convention].size_bytes;
		bool is_header = embed->header_offset == root->header_offset &&
				 roots[embed->root].is_header;
		bool has_count = embed->header_offset >= 0 &&
				 root->count_offset >= (uint64_t)embed->header_offset &&
				 root->count_offset - (uint64_t)embed->header_offset < size_bytes;

		if (!is_header && !has_count)
			list->items[kept++] = *embed;
	}
	list->count = kept;
	ri_push(list);
	memmove(&list->items[1], &list->items[0], kept * sizeof(own));
	list->items[0] = own;
}

/* The embeds of a stripped struct or union; valid until the next call.  A union's
 * are those of all its arms: its user says that they were not followed. */
static const struct memo *find_embeds(struct search *search, const struct ri_type *type,
				      unsigned depth)
{
	embed_list list = { 0 };
	struct memo *memo;
	uint32_t root;
	bool is_new;

	memo = memo_of(search, type, &is_new); /* empty meanwhile: a struct in itself ends here */
	if (!is_new || depth > MAX_DEPTH)
		return memo;
	for (size_t i = 0; i < type->member_count; i++)
		add_member(search, type, &type->members[i], depth, &list);
	root = find_root(search, type);
	if (root != RI_LAYOUT_NONE)
		put_root_first(search, root, &list);
	memo = memo_of(search, type, &is_new);
	memo->first = (uint32_t)search->embeds.count;
	memo->count = (uint32_t)list.count;
	for (size_t i = 0; i < list.count; i++)
		*ri_push(&search->embeds) = list.items[i];
	ri_vec_deinit(&list);
	return memo;
}

/* Counted types. */

static size_t name_slot(const struct search *search, const char *name)
{
	const struct ri_layout *layout = search->binder->layout;
	size_t i = ri_hash_bytes(name, strlen(name)) & (search->by_name_capacity - 1);

	while (search->by_name[i] != RI_LAYOUT_NONE &&
	       strcmp(layout->types.items[search->by_name[i]].name, name) != 0)
		i = (i + 1) & (search->by_name_capacity - 1);
	return i;
}

static void grow_names(struct search *search)
{
	size_t count = search->binder->layout->types.count;

	if (2 * (count + 1) <= search->by_name_capacity)
		return;
	search->by_name_capacity = search->by_name_capacity ? 2 * search->by_name_capacity : 256;
	free(search->by_name);
	search->by_name = ri_calloc(search->by_name_capacity, sizeof(*search->by_name));
	memset(search->by_name, 0xff, search->by_name_capacity * sizeof(*search->by_name));
	for (size_t i = 0; i < count; i++)
		search->by_name[name_slot(search, search->binder->layout->types.items[i].name)] =
			(uint32_t)i;
}

static bool is_same_type(const struct ri_counted_type *a, const struct ri_counted_type *b)
{
	return a->size_bytes == b->size_bytes && a->convention == b->convention &&
	       a->header_offset == b->header_offset;
}

/* Another struct of the same name has the name: says whose this is.  The name may be one
 * that the same struct got when it was seen before. */
static const char *distinct_name(struct search *search, const struct ri_counted_type *type)
{
	const struct ri_layout *layout = search->binder->layout;
	struct ri_strings *strings = layout->strings;
	const char *path = type->type && type->type->module ? type->type->module->path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *longer = path ? ri_strings_format(strings, "%s@%s", type->name,
						      slash ? slash + 1 : path) : type->name;

	for (unsigned i = 2;; i++) {
		uint32_t index = search->by_name[name_slot(search, longer)];

		if (index == RI_LAYOUT_NONE || is_same_type(&layout->types.items[index], type))
			return longer;
		longer = ri_strings_format(strings, "%s#%u", type->name, i);
	}
}

/* Adds a counted type; the index of the one that there is already where it is the
 * same struct seen again. */
static uint32_t add_type(struct search *search, const struct ri_counted_type *from)
{
	struct ri_layout *layout = search->binder->layout;
	struct ri_counted_type type = *from;
	uint32_t index;

	grow_names(search);
	type.name = ri_bind_text(search->binder, type.name);
	index = search->by_name[name_slot(search, type.name)];
	if (index != RI_LAYOUT_NONE && !is_same_type(&layout->types.items[index], &type)) {
		type.name = distinct_name(search, &type);
		index = search->by_name[name_slot(search, type.name)];
	}
	if (index != RI_LAYOUT_NONE)
		return index;
	index = (uint32_t)layout->types.count;
	search->by_name[name_slot(search, type.name)] = index;
	*ri_push(&layout->types) = type;
	return index;
}

static struct ri_counted_type type_of(const struct ri_root *root, const char *name,
				      const struct ri_type *type, uint64_t size_bytes,
				      int64_t header_offset)
{
	struct ri_counted_type counted = {
		.name = name,
		.type = type,
		.convention = root->convention,
		.header_offset = header_offset,
		.size_bytes = size_bytes,
		.front_bytes = header_offset < 0 ? (uint64_t)-header_offset : 0,
		.container = RI_LAYOUT_NONE,
		.payload = root->payload,
		.payload_is_pointer = root->payload_is_pointer,
	};

	counted.extent_bytes = counted.front_bytes + size_bytes;
	return counted;
}

/* "T.member": the object that `embed` is in its own right, inside type `container`. */
static void add_second(struct search *search, const struct embed *embed, uint32_t container)
{
	struct ri_binder *binder = search->binder;
	const struct ri_root *root = &binder->bound->roots.items[embed->root];
	const struct ri_member *member = embed->member;
	uint64_t offset = member->offset_bits / 8;
	const struct ri_type *inner = ri_type_strip(binder->types, member->type);
	struct ri_counted_type counted;
	char *name;

	if (!member->name) /* of an unnamed struct or a base class: the header stands for it */
		name = ri_format("%s.%s+%lld", binder->layout->types.items[container].name,
				 root->name, (long long)embed->header_offset);
	else
		name = ri_format("%s.%s", binder->layout->types.items[container].name,
				 member->name);
	counted = type_of(root, name, inner, inner->size_bytes,
			  embed->header_offset - (int64_t)offset);
	counted.container = container;
	counted.container_offset = offset;
	add_type(search, &counted);
	free(name);
}

/* The counted types that a struct called `name` is by its embeds. */
static uint32_t add_struct(struct search *search, const struct ri_type *type, const char *name)
{
	const struct memo memo = *find_embeds(search, type, 0);
	const struct embed *embeds = search->embeds.items + memo.first;
	struct ri_root *roots = search->binder->bound->roots.items;
	struct ri_counted_type counted;
	uint32_t index;

	if (!memo.count)
		return RI_LAYOUT_NONE;
	counted = type_of(&roots[embeds[0].root],
			  embeds[0].member ? name : roots[embeds[0].root].label, type,
			  type->size_bytes, embeds[0].header_offset);
	index = add_type(search, &counted);
	for (uint32_t i = 1; i < memo.count; i++)
		add_second(search, &embeds[i], index);
	return index;
}

/* A plain header is no type as long as something embeds it. */
static bool visit_struct(const struct ri_type *type, void *data)
{
	struct search *search = data;
	struct ri_root *roots = search->binder->bound->roots.items;
	struct memo memo;

	if (!type->name || type->kind != RI_TYPE_STRUCT)
		return true;
	memo = *find_embeds(search, type, 0);
	for (uint32_t i = 0; i < memo.count; i++) {
		const struct embed *embed = &search->embeds.items[memo.first + i];

		if (embed->member)
			roots[embed->root].is_embedded = true;
	}
	if (memo.count && (search->embeds.items[memo.first].member ||
			   !roots[search->embeds.items[memo.first].root].is_header))
		add_struct(search, type, type->name);
	return true;
}

/* A static variable that is a plain header makes the header a type, too. */
static bool visit_variable(const struct ri_variable *variable, void *data)
{
	struct search *search = data;
	const struct ri_type *type = ri_type_strip(search->binder->types, variable->type);
	uint32_t root;

	if (type->kind != RI_TYPE_STRUCT)
		return true;
	root = find_root(search, type);
	if (root != RI_LAYOUT_NONE && search->binder->bound->roots.items[root].is_header)
		search->binder->bound->roots.items[root].is_alone = true;
	return true;
}

static void add_root(struct search *search, size_t index)
{
	struct ri_root *root = &search->binder->bound->roots.items[index];
	struct ri_counted_type counted;

	if (root->is_header && ((root->is_embedded && !root->is_alone) || !root->type))
		return; /* without DWARF: types come from descriptors alone */
	if (root->type && root->header_offset >= 0) {
		root->counted_type = add_struct(search, root->type, root->name);
		return;
	}
	counted = type_of(root, root->label, root->type, root->size_bytes, root->header_offset);
	root->counted_type = add_type(search, &counted);
}

/* Goes through the structs that could embed a root: by value they can hold only what their
 * own module defines. */
static void visit_structs(struct search *search)
{
	const struct ri_bound *bound = search->binder->bound;
	const char **names = ri_calloc(bound->roots.count, sizeof(*names));
	size_t count = 0;
	bool is_nameless = false;

	for (size_t i = 0; i < bound->roots.count; i++) {
		const struct ri_type *type = bound->roots.items[i].type;

		if (!type)
			continue;
		type = ri_type_strip(search->binder->types, type);
		if (type->name)
			names[count++] = type->name;
		is_nameless |= !type->name;
	}
	if (is_nameless)
		ri_types_each_struct(search->binder->types, visit_struct, search);
	else
		ri_types_each_struct_near(search->binder->types, names, count, visit_struct,
					  search);
	free(names);
}

void ri_bind_embeddings(struct ri_binder *binder)
{
	struct search search = { .binder = binder };
	bool has_types = false, has_headers = false;

	index_roots(&search);
	for (size_t i = 0; i < binder->bound->roots.count; i++) {
		has_types |= binder->bound->roots.items[i].type != NULL;
		has_headers |= binder->bound->roots.items[i].is_header;
	}
	/* first, so that a declared type has its name before others of that name */
	for (size_t i = 0; i < binder->bound->roots.count; i++)
		if (!binder->bound->roots.items[i].is_header)
			add_root(&search, i);
	if (has_types && binder->types)
		visit_structs(&search);
	if (has_types && has_headers && binder->types)
		ri_types_each_variable(binder->types, visit_variable, &search);
	for (size_t i = 0; i < binder->bound->roots.count; i++)
		if (binder->bound->roots.items[i].is_header)
			add_root(&search, i);
	ri_vec_deinit(&search.embeds);
	free(search.memos);
	free(search.root_slots);
	free(search.root_next);
	free(search.by_name);
}
