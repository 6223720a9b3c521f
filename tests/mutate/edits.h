/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that make edits share. */
#ifndef EDITS_H
#define EDITS_H

#include "mutate.h"

/* A word that no allocator hands out; one that leads to no memory. */
uint64_t sound_draw_poison(struct sound *sound);
uint64_t sound_draw_unmapped(struct sound *sound);

uint32_t sound_draw_object(struct sound *sound);

/* Whether some group chains the object. */
bool edit_is_member(const struct ri_population *population, uint32_t object);

bool edit_is_listed(const uint64_t *values, size_t count, uint64_t value);

/* Kinds of edits, see struct edit_kind: edit_groups.c. */
bool edit_make_wrong_counter(struct sound *sound, struct mutation *m);
bool edit_make_bad_group_magic(struct sound *sound, struct mutation *m);
bool edit_make_back_to_other(struct sound *sound, struct mutation *m);
bool edit_make_back_to_null(struct sound *sound, struct mutation *m);
bool edit_make_back_to_garbage(struct sound *sound, struct mutation *m);
bool edit_make_orphan(struct sound *sound, struct mutation *m);
bool edit_make_link_to_null(struct sound *sound, struct mutation *m);
bool edit_make_link_to_unmapped(struct sound *sound, struct mutation *m);
bool edit_make_link_to_poison(struct sound *sound, struct mutation *m);
bool edit_make_link_to_same_list(struct sound *sound, struct mutation *m);
bool edit_make_link_to_other_list(struct sound *sound, struct mutation *m);
bool edit_make_link_to_itself(struct sound *sound, struct mutation *m);
bool edit_make_link_to_head(struct sound *sound, struct mutation *m);
bool edit_make_link_unaligned(struct sound *sound, struct mutation *m);

#endif
