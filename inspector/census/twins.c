/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Twins: objects of run-time types carry a pointer to their class (a table of functions, a
 * type descriptor) near their start.  A block of the same size as that of a known object,
 * with the same pointer at the same place, is an object of the same type: see recognise.h.
 *
 * A word counts as such a pointer where the type's debug information has a pointer to a
 * plain struct among its first words, the known objects agree on its value, and it leads
 * to something that is neither an object nor in the object's own block.  A block is taken if
 * its count is alive; one where two types' words would do is left alone.
 *
 * Blind spots: siblings that point at one shared parent by their first member look like
 * twins; what tells them apart is the size of their block.  Cost: the known objects and, per
 * unknown block, the few places that known ones of its size have.
 */
#include <stdlib.h>

#include "base/strings.h"
#include "census/address_map.h"
#include "census/extents.h"
#include "census/finder.h"
#include "census/word_kinds.h"

#define WORDS_LOOKED_AT 2   /* of an object's struct */
#define PLACES_MAX 8        /* per block size */
#define UNSPLIT_BYTES 16    /* a block may be larger by a remainder too small to split off */
#define AMBIGUOUS (RI_NONE - 1)

/* Where objects of a type have their class pointer in blocks of one size. */
struct place {
	uint32_t object_offset;  /* of the object's start in the block */
	uint32_t word_offset;    /* of the pointer in the block */
};

struct places {
	struct place items[PLACES_MAX];
	uint32_t count;
};

/* A class pointer of one type, as its known objects have it. */
struct mark {
	uint64_t value;
	uint32_t seen, same;
};

struct search {
	const struct ri_recognise_input *input;
	const bool *wanted;
	struct ri_shapes *shapes; /* of its own: the census' stay as they are */
	struct mark (*marks)[WORDS_LOOKED_AT]; /* per type */
	RI_VEC(struct places) places;
	struct ri_address_map places_of; /* block size to places[] */
	struct ri_address_map types_of;  /* hash of size, place and value to a type */
};

static uint64_t make_key(uint64_t size_bytes, const struct place *place, uint64_t value)
{
	return ri_hash_u64(size_bytes << 32 ^ ri_hash_u64((uint64_t)place->object_offset << 32 |
							  place->word_offset)) ^
	       ri_hash_u64(value);
}

/* Whether word `w` of the struct is declared as a pointer to a plain struct. */
static bool is_class_pointer(struct search *s, uint32_t type, unsigned w)
{
	const struct ri_counted_type *t = &s->input->population->types[type];
	const struct ri_slot *slot;
	uint32_t shape;

	if (!t->type)
		return false;
	shape = ri_shapes_counted(s->shapes, t, type);
	slot = ri_shape_slot(&s->shapes->shapes.items[shape], t->front_bytes + 8ull * w);
	return slot && !slot->in_union && slot->kind == RI_SLOT_POINTER && slot->pointee &&
	       slot->pointee_type == RI_NONE;
}

/* The block that a known object stands in, if the object may teach; else null. */
static const struct ri_block *teaching_block(const struct search *s,
					     const struct ri_object *object)
{
	const struct ri_block *block;

	if (object->block == RI_NONE || object->parent != RI_NONE ||
	    object->type >= s->input->layout->types.count || !s->wanted[object->type] ||
	    object->state & (RI_OBJECT_DEAD_BITS | RI_OBJECT_DOUBTED_BITS |
			     RI_OBJECT_MAGIC_BAD | RI_OBJECT_COUNT_IMPOSSIBLE) ||
	    !(object->found & ~(uint32_t)RI_FOUND_GUESS))
		return NULL;
	block = &s->input->heap->blocks[object->block];
	return block->state == RI_BLOCK_USED && ri_extents_object_start(s->input->population,
									  object) >= block->addr
		       ? block
		       : NULL;
}

/* Whether a class pointer may have this value in an object in `block`. */
static bool may_be_class(const struct search *s, const struct ri_block *block, uint64_t value)
{
	return value && ri_image_find(s->input->image, value) &&
	       (value < block->addr || value >= block->addr + block->size_bytes) &&
	       ri_population_find(s->input->population, value) == RI_NONE;
}

/* What each type's known objects have at its class pointers. */
static void read_marks(struct search *s)
{
	const struct ri_population *population = s->input->population;

	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		const struct ri_block *block = teaching_block(s, object);

		for (unsigned w = 0; block && w < WORDS_LOOKED_AT; w++) {
			struct mark *mark = &s->marks[object->type][w];
			uint64_t value;

			if (!is_class_pointer(s, object->type, w) ||
			    !ri_image_read_u64(s->input->image, object->addr + 8ull * w, &value) ||
			    !may_be_class(s, block, value))
				continue;
			if (!mark->seen++)
				mark->value = value;
			mark->same += value == mark->value;
		}
	}
}

static void add_place(struct search *s, uint64_t size_bytes, const struct place *place,
		      uint64_t value, uint32_t type)
{
	uint32_t index = ri_address_map_find(&s->places_of, size_bytes);
	uint64_t key = make_key(size_bytes, place, value);
	uint32_t known = ri_address_map_find(&s->types_of, key);
	struct places *places;
	uint32_t i = 0;

	if (index == RI_NONE) {
		index = (uint32_t)s->places.count;
		ri_push(&s->places);
		ri_address_map_set(&s->places_of, size_bytes, index);
	}
	places = &s->places.items[index];
	while (i < places->count && (places->items[i].object_offset != place->object_offset ||
				     places->items[i].word_offset != place->word_offset))
		i++;
	if (i == PLACES_MAX)
		return;
	if (i == places->count)
		places->items[places->count++] = *place;
	if (known != type)
		ri_address_map_set(&s->types_of, key, known == RI_NONE ? type : AMBIGUOUS);
}

/* Learns where the known objects have their class pointers. */
static void list_places(struct search *s)
{
	const struct ri_population *population = s->input->population;

	for (size_t o = 0; o < population->object_count; o++) {
		const struct ri_object *object = &population->objects[o];
		const struct ri_block *block = teaching_block(s, object);

		for (unsigned w = 0; block && w < WORDS_LOOKED_AT; w++) {
			const struct mark *mark = &s->marks[object->type][w];
			uint64_t start = ri_extents_object_start(population, object);
			struct place place = { (uint32_t)(start - block->addr),
					       (uint32_t)(object->addr + 8ull * w - block->addr) };

			if (mark->seen && mark->same == mark->seen)
				add_place(s, block->size_bytes, &place, mark->value, object->type);
		}
	}
}

/* The object that an unknown block is if it was asked for like those of `size_bytes`, in *ret;
 * false if it is none. */
static bool find_twin(const struct search *s, const struct ri_block *block, uint64_t size_bytes,
		      struct ri_lost_object *ret)
{
	uint32_t index = ri_address_map_find(&s->places_of, size_bytes);
	const struct places *places;

	if (index == RI_NONE)
		return false;
	places = &s->places.items[index];
	for (uint32_t i = 0; i < places->count; i++) {
		const struct place *place = &places->items[i];
		uint64_t value, addr;
		uint32_t type;

		if (!ri_image_read_u64(s->input->image, block->addr + place->word_offset, &value) ||
		    !value)
			continue;
		type = ri_address_map_find(&s->types_of,
					   make_key(size_bytes, place, value));
		if (type == RI_NONE || type == AMBIGUOUS)
			continue;
		addr = block->addr + place->object_offset +
		       s->input->population->types[type].front_bytes;
		if (!ri_looks_alive(s->input, type, addr, NULL))
			continue;
		*ret = (struct ri_lost_object){ addr, type };
		return true;
	}
	return false;
}

void ri_twins_find(const struct ri_recognise_input *input, const bool *wanted,
		   const bool *is_known, ri_recognised_list *ret)
{
	struct search s = { .input = input, .wanted = wanted };
	struct ri_lost_object twin;

	if (!input->types)
		return;
	s.shapes = ri_shapes_create(input->layout, input->types);
	s.marks = ri_calloc(input->population->type_count + 1, sizeof(*s.marks));
	read_marks(&s);
	list_places(&s);
	for (size_t b = 0; s.places.count && b < input->heap->block_count; b++) {
		const struct ri_block *block = &input->heap->blocks[b];

		if (block->state == RI_BLOCK_USED && !is_known[b] &&
		    (find_twin(&s, block, block->size_bytes, &twin) ||
		     find_twin(&s, block, block->size_bytes - UNSPLIT_BYTES, &twin)))
			*ri_push(ret) = twin;
	}
	ri_address_map_deinit(&s.places_of);
	ri_address_map_deinit(&s.types_of);
	ri_vec_deinit(&s.places);
	free(s.marks);
	ri_shapes_destroy(s.shapes);
}
