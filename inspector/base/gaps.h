/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What could not be done.  Every stage counts its partial failures here and
 * goes on; coverage prints them, and those that matter turn a clean result
 * into "could not check" (exit status 3).
 */
#ifndef RI_BASE_GAPS_H
#define RI_BASE_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ri_gap_weight {
	RI_GAP_TOLD,    /* coverage tells it; the status does not change */
	RI_GAP_MATTERS, /* something was not checked: never exit 0 */
};

struct ri_gap {
	enum ri_gap_weight weight;
	const char *stage;   /* "target", "debug", "heap", "profile", "census", ... static text */
	char *message;       /* one line: what is missing and, where known, what would help */
	uint64_t count;      /* how often the same message was added */
};

struct ri_gaps {
	struct ri_gap *items;
	size_t count, capacity;
};

void ri_gaps_init(struct ri_gaps *gaps);
void ri_gaps_deinit(struct ri_gaps *gaps);

/* Adds a gap, or counts it once more where the same stage said the same. */
void ri_gaps_add(struct ri_gaps *gaps, enum ri_gap_weight weight, const char *stage,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Moves all of `from` behind those of `gaps`; `from` is empty then. */
void ri_gaps_move(struct ri_gaps *gaps, struct ri_gaps *from);

/* Whether any gap has RI_GAP_MATTERS. */
bool ri_gaps_has_serious(const struct ri_gaps *gaps);

#endif
