/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What holders of inferred types are worth, as far as memory shows it without a
 * profile: the default (typed pointers own) but for the heads of chains, and for
 * classes that the counts speak against.
 */
#ifndef RI_CHECK_GUESS_H
#define RI_CHECK_GUESS_H

#include "check/standing.h"
#include "profile/infer.h"

struct ri_guess {
	const struct ri_layout *layout;
	const struct ri_population *population;
	struct ri_holders *holders;
	struct ri_shapes *shapes;
	const struct ri_type_fit *fits; /* per type; what is not DECLARED is inferred */
};

/*
 * Makes classes possible whose every holder points at the end of a chain: the heads of
 * lists that are made of pointers from object to object.  Returns whether any changed.
 */
bool ri_guess_heads(const struct ri_guess *guess);

/*
 * Makes classes possible that hold nothing but objects of types without support, and those
 * of supported types that the counts speak against, which `gaps` tells: more than one in
 * ten of what they hold, or any where they hold few, counts too little for them.  Returns
 * whether any changed.
 */
bool ri_guess_unsupported(const struct ri_guess *guess, struct ri_gaps *gaps);

#endif
