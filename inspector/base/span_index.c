/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bitmap-and-rank index over sorted span starts: see span_index.h.
 *
 * The starts are cut into clusters wherever one lies further than CLUSTER_GAP
 * behind the one before it; a cluster's bitmap covers its starts, from the first
 * to the last.  What lies behind the last start, up to the furthest end or the next
 * cluster, has that start for an answer, and no bits: a block may be as large as the
 * address space.  A record holds the bits of 64 granules and how many bits the index
 * has before them, so that a question reads one record (16 bytes) after a binary
 * search over the clusters, of which a process has a few dozen.
 *
 * Spans that start in the same granule share its bit.  Only where that happens
 * does the index keep a table from bit number to span.
 */
#include "base/span_index.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

#define GRANULE_SHIFT 3
#define GRANULES_PER_RECORD 64
#define CLUSTER_GAP (4u << 20)

struct record {
	uint64_t bits;
	uint64_t rank; /* bits set in the index before this record */
};

struct cluster {
	uint64_t start, end;   /* [start, end) in the target, start on a granule */
	/* records[first_record .. first_record + record_count), and one without bits for what
	 * lies behind them */
	uint64_t first_record, record_count;
};

struct ri_span_index {
	struct cluster *clusters; /* ascending */
	size_t cluster_count, cluster_capacity;
	struct cluster largest;  /* a copy: most questions are about it */
	struct record *records;
	size_t records_bytes;
	uint32_t *last_span; /* by bit number; null: bit number and span index are the same */
};

#define RECORD_BYTES ((uint64_t)GRANULES_PER_RECORD << GRANULE_SHIFT)

struct spans {
	size_t count;
	uint64_t (*start_of)(const void *data, size_t i);
	uint64_t (*end_of)(const void *data, size_t i);
	const void *data;
};

/* In a dozen instructions and without a call, on any x86-64. */
static unsigned count_bits(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555;
	bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (unsigned)(bits * 0x0101010101010101 >> 56);
}

/* The cluster's last start is `start`, and its spans end at `end` at the latest; returns
 * the number of the first record behind it. */
static uint64_t end_cluster(struct cluster *cluster, uint64_t start, uint64_t end)
{
	cluster->end = end;
	cluster->record_count = (start - cluster->start) / RECORD_BYTES + 1;
	return cluster->first_record + cluster->record_count + 1;
}

/* Cuts the spans into clusters; returns how many records they need. */
static uint64_t cut_into_clusters(struct ri_span_index *index, const struct spans *spans)
{
	uint64_t record_count = 0, last_start = 0, last_end = 0;
	struct cluster *cluster = NULL;

	for (size_t i = 0; i < spans->count; i++) {
		uint64_t start = spans->start_of(spans->data, i);
		uint64_t end = spans->end_of(spans->data, i);

		if (!cluster || start - last_start > CLUSTER_GAP) {
			uint64_t granule = start >> GRANULE_SHIFT << GRANULE_SHIFT;

			if (cluster)
				record_count = end_cluster(cluster, last_start,
							   last_end < granule ? last_end : granule);
			index->clusters = ri_grow(index->clusters, &index->cluster_capacity,
						  index->cluster_count + 1, sizeof(*cluster));
			cluster = &index->clusters[index->cluster_count++];
			cluster->start = granule;
			cluster->first_record = record_count;
		}
		if (start >= last_end)
			last_end = start + 1;
		if (end > last_end)
			last_end = end;
		last_start = start;
	}
	return cluster ? end_cluster(cluster, last_start, last_end) : 0;
}

/* Sets the bits; returns how many spans found their granule's bit already set. */
static size_t set_bits(struct ri_span_index *index, const struct spans *spans)
{
	const struct cluster *cluster = index->clusters;
	size_t shared = 0;

	for (size_t i = 0; i < spans->count; i++) {
		uint64_t start = spans->start_of(spans->data, i);
		uint64_t granule, bit;
		struct record *record;

		while (start >= cluster->end)
			cluster++;
		granule = (start - cluster->start) >> GRANULE_SHIFT;
		record = &index->records[cluster->first_record + granule / GRANULES_PER_RECORD];
		bit = 1ull << granule % GRANULES_PER_RECORD;
		shared += (record->bits & bit) != 0;
		record->bits |= bit;
	}
	return shared;
}

static void fill_ranks(struct ri_span_index *index, uint64_t record_count)
{
	uint64_t rank = 0;

	for (uint64_t i = 0; i < record_count; i++) {
		index->records[i].rank = rank;
		rank += count_bits(index->records[i].bits);
	}
}

static void fill_last_spans(struct ri_span_index *index, const struct spans *spans)
{
	uint64_t bit_number = UINT64_MAX, granule = UINT64_MAX;

	index->last_span = ri_calloc(spans->count, sizeof(*index->last_span));
	for (size_t i = 0; i < spans->count; i++) {
		uint64_t g = spans->start_of(spans->data, i) >> GRANULE_SHIFT;

		if (g != granule)
			bit_number++;
		granule = g;
		index->last_span[bit_number] = (uint32_t)i;
	}
}

struct ri_span_index *ri_span_index_create(size_t count,
					   uint64_t (*start_of)(const void *data, size_t i),
					   uint64_t (*end_of)(const void *data, size_t i),
					   const void *data)
{
	struct ri_span_index *index = ri_calloc(1, sizeof(*index));
	const struct spans spans = { count, start_of, end_of, data };
	uint64_t record_count = cut_into_clusters(index, &spans);

	for (size_t i = 0; i < index->cluster_count; i++)
		if (index->clusters[i].record_count > index->largest.record_count)
			index->largest = index->clusters[i];
	index->records_bytes = (record_count + 1) * sizeof(*index->records);
	index->records = ri_table_create(index->records_bytes);
	if (set_bits(index, &spans))
		fill_last_spans(index, &spans);
	fill_ranks(index, record_count);
	return index;
}

void ri_span_index_destroy(struct ri_span_index *index)
{
	if (!index)
		return;
	ri_table_destroy(index->records, index->records_bytes);
	free(index->last_span);
	free(index->clusters);
	free(index);
}

void ri_span_index_bounds(const struct ri_span_index *index, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = index->cluster_count ? index->clusters[0].start : 0;
	*ret_high = index->cluster_count ? index->clusters[index->cluster_count - 1].end : 0;
}

/* The cluster that covers `addr`, or null. */
static const struct cluster *find_cluster(const struct ri_span_index *index, uint64_t addr)
{
	size_t low = 0, count = index->cluster_count;

	if (addr - index->largest.start < index->largest.end - index->largest.start)
		return &index->largest;
	while (count > 1) {
		size_t half = count / 2;

		if (index->clusters[low + half].start <= addr)
			low += half;
		count -= half;
	}
	if (!count || addr < index->clusters[low].start || addr >= index->clusters[low].end)
		return NULL;
	return &index->clusters[low];
}

static uint64_t record_of(const struct cluster *cluster, uint64_t addr)
{
	uint64_t record = (addr - cluster->start) / RECORD_BYTES;

	return cluster->first_record +
	       (record < cluster->record_count ? record : cluster->record_count);
}

/* The last span whose bit is at or before that of `granule` of the record's cluster. */
static uint32_t span_at(const struct ri_span_index *index, const struct record *record,
			uint64_t granule)
{
	uint64_t mask = ~0ull >> (GRANULES_PER_RECORD - 1 - granule % GRANULES_PER_RECORD);
	/* at least 1: a cluster starts with a span */
	uint64_t bit_number = record->rank + count_bits(record->bits & mask);

	return index->last_span ? index->last_span[bit_number - 1] : (uint32_t)(bit_number - 1);
}

uint32_t ri_span_index_find(const struct ri_span_index *index, uint64_t addr)
{
	const struct cluster *cluster = find_cluster(index, addr);

	if (!cluster)
		return RI_SPAN_NONE;
	return span_at(index, &index->records[record_of(cluster, addr)],
		       (addr - cluster->start) >> GRANULE_SHIFT);
}

uint32_t ri_span_index_find_start(const struct ri_span_index *index, uint64_t addr)
{
	const struct cluster *cluster = find_cluster(index, addr);
	const struct record *record;
	uint64_t granule;

	if (!cluster)
		return RI_SPAN_NONE;
	granule = (addr - cluster->start) >> GRANULE_SHIFT;
	record = &index->records[record_of(cluster, addr)];
	if (!(record->bits >> granule % GRANULES_PER_RECORD & 1))
		return RI_SPAN_NONE;
	return span_at(index, record, granule);
}

void ri_span_index_prefetch(const struct ri_span_index *index, uint64_t addr)
{
	const struct cluster *cluster = find_cluster(index, addr);

	if (cluster)
		__builtin_prefetch(&index->records[record_of(cluster, addr)]);
}
