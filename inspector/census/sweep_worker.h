/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of the holders' sweep does with the words of one source after the
 * other: filter, queue, resolve, classify.  Private to census/.
 */
#ifndef RI_CENSUS_SWEEP_WORKER_H
#define RI_CENSUS_SWEEP_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census/classify.h"
#include "census/encodings.h"
#include "census/holder_sweep.h"
#include "census/input.h"
#include "census/sweep_tasks.h"
#include "census/words.h"

#define RI_SWEEP_QUEUE_SIZE 256

struct ri_sweep_source {
	uint64_t start, end;
	const struct ri_shape *shape;
	uint32_t node, object, block;
	uint32_t flags;          /* RI_EDGE_UNSURE, for all of its words */
	uint64_t lead_end;       /* words before it hold nothing; 0: all may */
	uint64_t spare_from;     /* words from there on are a vector's spare room: unsure, ... */
	bool is_spare_dead;      /* ... or known to hold nothing */
	bool repeats;            /* the shape is an array's element */
	bool is_registers;       /* candidate.addr is the word's index */
	bool is_module;          /* words may belong to static or thread-local variables */
	bool has_allocator;
	bool is_member;          /* an object that some group chains */
	/* filled in by the worker: */
	uint64_t base;           /* address of word 0: `start` rounded down to 8 */
	bool has_encoded;        /* some slot of its shape is encoded */
	bool has_links;          /* link words by address lie in it */
};

struct ri_sweep_candidate {
	uint64_t value, addr;    /* value: decoded */
	const struct ri_slot *slot; /* null: not known yet, or nothing is */
	uint32_t source, entry;
};

/* What all workers share; nothing in it changes while they run but `next_task`
 * and each node's own count. */
struct ri_sweep_plan {
	const struct ri_census_input *input;
	const struct ri_classifier *classifier;
	const struct ri_extents *extents;
	const struct ri_region *regions;
	const struct ri_range *ranges;
	size_t range_count;
	const struct ri_encodings *encodings; /* or null */
	const uint32_t *typed_block_of; /* per block: index into typed_blocks[], or RI_NONE */
	uint64_t low, span;
	ri_words_skip_function *skip;
	ri_sweep_task_list tasks;
	struct ri_holder_sweep_part *parts;
	uint32_t *counts;
	size_t next_task;
};

struct ri_sweep_worker {
	struct ri_sweep_plan *plan;
	struct ri_holder_sweep_part *part;
	bool counts_nodes;       /* the task has whole sources */
	size_t range;            /* where the last piece was */
	struct ri_sweep_source source;    /* the one being swept */
	bool is_queued;          /* it is the last of sources[] */
	struct ri_sweep_source sources[RI_SWEEP_QUEUE_SIZE];
	struct ri_sweep_candidate queue[RI_SWEEP_QUEUE_SIZE];
	uint32_t source_count, queue_count;
};

/* What is swept from now on. */
void ri_sweep_worker_set_source(struct ri_sweep_worker *w, const struct ri_sweep_source *source);

/* One word of the source that is in the plan's range and holds no encoded pointer. */
void ri_sweep_worker_push(struct ri_sweep_worker *w, uint64_t value, uint64_t addr);

/* The aligned words of [start, end), a part of the source, as far as the image has them. */
void ri_sweep_worker_scan(struct ri_sweep_worker *w, uint64_t start, uint64_t end);

/* Makes edges of all words that are queued still. */
void ri_sweep_worker_flush(struct ri_sweep_worker *w);

#endif
