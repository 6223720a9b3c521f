/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the steps that build a population share: the objects found so far, how
 * to find one by its header, and how an address is judged to be an object.
 * Private to the census floor; population.c owns the sequence of steps.
 *
 * An object is known by its header: (header address, base convention) is its
 * key.  Whatever finds the same header again adds to how it was found.
 */
#ifndef RI_CENSUS_FINDER_H
#define RI_CENSUS_FINDER_H

#include "base/memory.h"
#include "base/span_index.h"
#include "base/strings.h"
#include "census/address_map.h"
#include "census/population.h"
#include "census/reader.h"
#include "census/shapes.h"

/* finder.block_use[block]: 0 nothing known; else what was recognised there. */
#define RI_BLOCK_HAS_OBJECT RI_NONE /* otherwise: 1 + index into typed[] */

/* The types of one convention, its derived ones included, by ascending extent. */
struct ri_type_list {
	uint32_t *types;
	size_t count, capacity;
};

/* A head to be walked: see groups.c. */
struct ri_head {
	uint32_t rule;
	uint64_t head, struct_addr;
	const char *name;        /* null: not yet known */
	bool is_certain;         /* found where a head must be, or by its magic */
	bool is_beyond;          /* where there may be none: behind what surely was asked for */
};

struct ri_descriptors;
struct ri_traversal;
struct ri_groups;

struct ri_finder {
	const struct ri_target *target;
	const struct ri_image *image;
	const struct ri_modules *modules; /* null: none known */
	struct ri_types *dwarf;           /* null: none known */
	const struct ri_heap *heap;
	const struct ri_layout *layout;
	struct ri_shapes *shapes;
	struct ri_gaps *gaps;
	struct ri_reader reader;

	RI_VEC(struct ri_counted_type) types;
	RI_VEC(struct ri_declared_owner *) owner_tables; /* read from descriptors */
	struct ri_type_list *types_of;    /* per convention (base ones hold the derived) */

	RI_VEC(struct ri_object) objects;
	size_t indexed_count;             /* objects[0 .. indexed_count) ascend by header */
	struct ri_span_index *headers;    /* over those */
	uint32_t indexed_base;            /* the base convention of all of them, or RI_NONE */
	uint64_t *is_pointed_at;          /* a bit per indexed object: RI_FOUND_POINTER, kept
					   * apart so that a pointer need not touch its object */
	struct ri_address_map late;       /* header and convention to the objects behind them */

	size_t examined_count;            /* objects[0 .. examined_count) that were confirmed are
					   * examined: see traverse.c */
	RI_VEC(uint32_t) confirmed;       /* those of them that were confirmed later */

	uint32_t *block_use;              /* per heap block */
	uint64_t *is_contested;           /* a bit per heap block: a sound pointer to its start was
					   * declared to lead to something that is not counted */
	RI_VEC(struct ri_typed_block) typed;
	uint64_t reread_words;            /* of typed blocks: may still be read once more */
	RI_VEC(struct ri_unused_span) unused;
	RI_VEC(struct ri_unproved) unproved; /* the population's in the end */
	RI_VEC(struct ri_head) heads;
	struct ri_address_map head_index; /* head address to heads[] */

	const struct ri_lost *lost;       /* what an earlier census showed, or null */
	struct ri_descriptors *descriptors;
};

static inline uint32_t ri_finder_base(const struct ri_finder *finder, uint32_t convention)
{
	return finder->layout->conventions.items[convention].base;
}

static inline uint64_t ri_finder_header(const struct ri_finder *finder,
					const struct ri_object *object)
{
	return object->addr + (uint64_t)finder->types.items[object->type].header_offset;
}

/* [start, end) of an object of `type` at `addr`. */
static inline uint64_t ri_type_start(const struct ri_counted_type *type, uint64_t addr)
{
	return addr - type->front_bytes;
}

static inline uint64_t ri_type_end(const struct ri_counted_type *type, uint64_t addr)
{
	return addr - type->front_bytes + type->extent_bytes;
}

/* Fills the finder's own tables; the inputs are set by the caller. */
void ri_finder_init(struct ri_finder *finder);
void ri_finder_deinit(struct ri_finder *finder);

/* Adds a counted type; returns its index. */
uint32_t ri_finder_add_type(struct ri_finder *finder, const struct ri_counted_type *type);

/* Appends an object of the sweep without looking for repeats. */
void ri_finder_append(struct ri_finder *finder, uint64_t addr, uint32_t type, uint32_t block,
		      uint32_t found);

/* Sorts what was appended by header, merges repeats, makes it findable. */
void ri_finder_index(struct ri_finder *finder);

/* The object whose header of (base) `convention` lies at `header`, or RI_NONE. */
uint32_t ri_finder_find(const struct ri_finder *finder, uint64_t header, uint32_t convention);

/* A quick answer for objects of the sweep: the one whose header of `convention` lies at
 * `header`; RI_NONE: ask ri_finder_find(). */
static inline uint32_t ri_finder_glance(const struct ri_finder *finder, uint64_t header,
					uint32_t convention)
{
	uint32_t object;

	if (header % 8 || finder->indexed_base != ri_finder_base(finder, convention))
		return RI_NONE;
	object = ri_span_index_find_start(finder->headers, header);
	return object == RI_SPAN_NONE ? RI_NONE : object;
}

/* Whether a sound pointer is known to lead to an object of the sweep. */
static inline bool ri_finder_is_pointed_at(const struct ri_finder *finder, uint32_t object)
{
	return object < finder->indexed_count &&
	       finder->is_pointed_at[object / 64] >> object % 64 & 1;
}

/* Whether anything but its magic, or a guess, says that there is an object. */
static inline bool ri_finder_is_confirmed(const struct ri_finder *finder, uint32_t object)
{
	const uint32_t looks = RI_FOUND_MAGIC | RI_FOUND_GUESS;

	return ri_finder_is_pointed_at(finder, object) ||
	       finder->objects.items[object].found & ~looks;
}

/* Notes that `found` speaks for an object, and that it is of `type` (RI_NONE: of any). */
void ri_finder_confirm(struct ri_finder *finder, uint32_t object, uint32_t type, uint32_t found);

/* The same for a sound pointer to `type`; what is known already costs no look at the object. */
static inline void ri_finder_point_at(struct ri_finder *finder, uint32_t object, uint32_t type)
{
	if (!ri_finder_is_pointed_at(finder, object))
		ri_finder_confirm(finder, object, type, RI_FOUND_POINTER);
}

/*
 * Adds the object of `type` at `addr`, or adds `found` to the one known by the
 * same header, whose type changes if this evidence is better.  Its index.
 */
uint32_t ri_finder_add(struct ri_finder *finder, uint64_t addr, uint32_t type, uint32_t found);

/* The index of the heap block that contains `addr`, or RI_NONE. */
uint32_t ri_finder_block(const struct ri_finder *finder, uint64_t addr);

/* Whether `addr` lies in a module's data, apart from heaps. */
bool ri_finder_is_static(const struct ri_finder *finder, uint64_t addr);

/* Whether a request of `size` bytes would have been given `usable` ones. */
bool ri_finder_fits(uint64_t size_bytes, uint64_t usable_bytes);

/* Whether the struct ends in an array without a length, so that blocks may be
 * larger than it. */
bool ri_finder_has_flexible_tail(const struct ri_finder *finder, const struct ri_type *type);

/* Whether blocks of this counted type may be larger: that, or a payload behind the struct. */
bool ri_finder_has_tail(const struct ri_finder *finder, const struct ri_counted_type *type);

/* The magics of the header; `type` may be RI_NONE: those at the end are left out. */
enum ri_magic_state ri_finder_magic(struct ri_finder *finder, uint32_t convention,
				    uint64_t header, uint32_t type);

/* Reads a field as ri_field_read() does, through the reader. */
static inline bool ri_finder_field(struct ri_finder *finder, uint64_t base,
				   const struct ri_field *field, int64_t *ret)
{
	uint64_t value;

	if (!field->is_present)
		return false;
	if (field->bit_size)
		return ri_field_read(finder->image, base, field, ret);
	if (!ri_reader_uint(&finder->reader, base + (uint64_t)field->offset_bytes,
			    field->size_bytes, &value))
		return false;
	if (field->is_signed && field->size_bytes < sizeof(value)) {
		unsigned shift = 64 - 8 * field->size_bytes;

		value = (uint64_t)((int64_t)(value << shift) >> shift);
	}
	*ret = (int64_t)value;
	return true;
}

/* The field read as an address; 0 where absent, null or not mapped. */
static inline uint64_t ri_finder_pointer(struct ri_finder *finder, uint64_t base,
					 const struct ri_field *field)
{
	int64_t value;

	return ri_finder_field(finder, base, field, &value) ? (uint64_t)value : 0;
}

/*
 * The one type of `convention` whose object with its header at `header` fills
 * `block` (RI_NONE: the one type there is); RI_NONE when there is none or
 * several.
 */
uint32_t ri_finder_decide(const struct ri_finder *finder, uint32_t convention, uint64_t header,
			  uint32_t block);

/* Whether an earlier census showed that blocks like `block` have objects of `type` at places
 * like `header`; see pools.h. */
bool ri_finder_is_in_pool(const struct ri_finder *finder, uint32_t type, uint64_t header,
			  uint32_t block);
/* Keeps what something leads to and was not convincing: it may turn out to be in a pool. */
void ri_finder_keep_unproved(struct ri_finder *finder, uint32_t type, uint64_t header,
			     uint32_t block);

/* Whether an object of `type` with its header at `header` lies inside `block`. */
bool ri_finder_inside(const struct ri_finder *finder, uint32_t type, uint64_t header,
		      uint32_t block);

/*
 * The object with its header at `header`, known or now recognised: by its
 * descriptor, as `expected` (RI_NONE: anything of the convention), or as the
 * only type that fits.  RI_NONE when it cannot be told, or is none.
 */
uint32_t ri_finder_recognise(struct ri_finder *finder, uint32_t convention, uint64_t header,
			     uint32_t expected, uint32_t found);

/* Adds a head, or completes the one known at the same address; its index. */
uint32_t ri_finder_add_head(struct ri_finder *finder, const struct ri_head *head);

/* descriptors.c */
struct ri_descriptors *ri_descriptors_create(void);
void ri_descriptors_destroy(struct ri_descriptors *descriptors);

/* The type that the descriptor at `addr` describes, validated on first sight
 * and added to the types if new; RI_NONE if it is no descriptor of `convention`. */
uint32_t ri_descriptors_type(struct ri_finder *finder, uint32_t convention, uint64_t addr);

/* Only if already seen and valid; RI_NONE otherwise. */
uint32_t ri_descriptors_known(const struct ri_finder *finder, uint32_t convention, uint64_t addr);

/* Reads the field tables that descriptors carry into types[].owners. */
void ri_descriptors_read_owners(struct ri_finder *finder);

/* [*ret_low, *ret_high] of the valid descriptors' addresses; low > high: none. */
void ri_descriptors_bounds(const struct ri_finder *finder, uint64_t *ret_low, uint64_t *ret_high);

/* remnants.c: a bit per block in which an object that more than its magic tells takes a
 * part.  To be destroyed. */
uint64_t *ri_pools_create(const struct ri_finder *finder);
void ri_pools_destroy(const struct ri_finder *finder, uint64_t *pools);

/* Whether the object, whose count was looked at, may be what is left of a freed one in a
 * block of another use. */
bool ri_is_remnant(struct ri_finder *finder, const struct ri_object *object,
		   const uint64_t *pools);

/* idle.c: takes objects with a count of zero for alive where most of their type have it. */
void ri_idle_settle(struct ri_finder *finder);

/* rivals.c: drops objects that stand where better known ones do; finder->objects are in
 * their final order, place_of[] says where each was put and is updated.  Sets the
 * population's rivals. */
void ri_rivals_drop(struct ri_finder *finder, uint32_t *place_of,
		    struct ri_population *population);

/* Whether a struct of type `outer` begins with one of type `inner`. */
bool ri_type_begins_with(struct ri_types *types, const struct ri_type *outer,
			 const struct ri_type *inner);

/* How many more of the object's typed pointers lead to what they should than do not: from
 * about -6 to 3. */
int ri_pointers_balance(struct ri_finder *finder, const struct ri_object *object);

/* sweep.c: appends what the magics show, indexes it, then adds what the known
 * descriptors show where the magic is bad.  Heads with a magic are added too. */
void ri_sweep(struct ri_finder *finder);

/* sweep_described.c: appends the objects that begin used blocks and point at descriptors
 * which are objects too. */
void ri_sweep_described(struct ri_finder *finder);

/* Whether a header of `convention`, at a place where such an object may have it in `block`,
 * carries a live count. */
bool ri_described_is_at(struct ri_finder *finder, uint32_t convention, uint64_t header,
			uint32_t block);

/* A new array, per object: how many words it is longer than its type's extent, or shorter;
 * null where none can be. */
int32_t *ri_described_measure(struct ri_finder *finder);

/* sweep_vtables.c: adds what is known by the symbol of its vtable alone. */
void ri_sweep_vtables(struct ri_finder *finder);

/* sweep_named.c: adds what points at something static that is called after its struct. */
void ri_sweep_named(struct ri_finder *finder);

/* traverse.c */
struct ri_traversal *ri_traversal_create(struct ri_finder *finder);
void ri_traversal_destroy(struct ri_traversal *traversal);

/* Follows the static variables' pointers. */
void ri_traversal_variables(struct ri_traversal *traversal);

/* Examines every object and typed block added since the last call; true if
 * there was one. */
bool ri_traversal_run(struct ri_traversal *traversal);

/* When nothing new is found any more: where nothing but a magic says that a block holds an
 * object, and a sound pointer says that it is something else, it is that.  Whether anything
 * was new. */
bool ri_traversal_settle(struct ri_traversal *traversal);

/* Last: examines objects that their magic alone tells, and follows what is left in doubt, to
 * objects that are guesses (RI_FOUND_GUESS) where they have no magic.  Whether there was any. */
bool ri_traversal_guess(struct ri_traversal *traversal);

/* groups.c */
struct ri_groups *ri_groups_create(struct ri_finder *finder);
void ri_groups_destroy(struct ri_groups *groups);

/* Adds the heads that the members' back pointers name, for objects added since
 * the last call, and walks every head not yet walked; true if there was one. */
bool ri_groups_run(struct ri_groups *groups);

/* When nothing new is found any more: the same for objects that were not sure enough before.
 * True if there was one. */
bool ri_groups_look_again(struct ri_groups *groups);

/* Completes broken groups from the known objects, then hands everything to
 * `population` (whose objects are still in the finder's order). */
void ri_groups_finish(struct ri_groups *groups, struct ri_population *population);

/* Fills back_group and back_pointer of the population's objects. */
void ri_groups_read_backs(struct ri_groups *groups, struct ri_population *population);

#endif
