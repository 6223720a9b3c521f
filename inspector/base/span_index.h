/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An index over sorted address spans: "which span starts last at or before
 * this address?", for millions of spans and hundreds of millions of questions.
 *
 * A bitmap with one bit per granule (8 bytes) of the covered ranges and a
 * running rank per 64 bits; two memory accesses a question.  Starts are split
 * into clusters where the gap between neighbours is large, so that the bitmap
 * is in proportion to the memory that holds starts, not to the address space
 * nor to the largest span.
 */
#ifndef RI_BASE_SPAN_INDEX_H
#define RI_BASE_SPAN_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define RI_SPAN_NONE UINT32_MAX

struct ri_span_index;

/*
 * Builds the index over `count` spans (below 2^32 - 1) whose starts ascend
 * (equal starts allowed).  `start_of(data, i)` gives the start of span i and
 * `end_of(data, i)` its end (exclusive, >= start).  The spans themselves are
 * not kept.
 */
struct ri_span_index *ri_span_index_create(size_t count,
					   uint64_t (*start_of)(const void *data, size_t i),
					   uint64_t (*end_of)(const void *data, size_t i),
					   const void *data);
void ri_span_index_destroy(struct ri_span_index *index);

/* [*ret_low, *ret_high): outside it no question has an answer (for a fast
 * range test before the look-up).  Both 0 for an empty index. */
void ri_span_index_bounds(const struct ri_span_index *index, uint64_t *ret_low,
			  uint64_t *ret_high);

/*
 * The last span whose start lies at or before the end of addr's granule;
 * RI_SPAN_NONE if there is none, or if it is far away and no span reaches addr.
 * The caller compares with the span's start (it may begin up to 7 bytes after addr,
 * then the one before it is meant) and with its end.  Of spans that start in one
 * granule the last is given.
 */
uint32_t ri_span_index_find(const struct ri_span_index *index, uint64_t addr);

/* The last span that starts in addr's granule of 8 bytes, or RI_SPAN_NONE: one question
 * where the look-up above would take two. */
uint32_t ri_span_index_find_start(const struct ri_span_index *index, uint64_t addr);

/* Asks the processor to fetch what a later find of `addr` will read. */
void ri_span_index_prefetch(const struct ri_span_index *index, uint64_t addr);

#endif
