/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_samples - reads the table of live samples in batches (look/look_samples.h).
 *
 * A record keeps its place in the table as long as its sample lives.  So a sample still lives if
 * the record at its place has the same number and the same address.
 */
#include "record/look/look_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "stats/sampling/rng.h"

enum { BATCH_RECORDS = 1024 };

static int add(struct gg_look_samples *samples, const struct gg_region_sample *record,
               uint32_t index, const struct gg_live_set *live_set)
{
	const struct gg_live_set_sample *known;

	if (record->id == 0 || record->heap != 0 || record->address == 0 || record->size_bytes == 0)
		return 0;
	known = live_set != NULL ? gg_live_set_find(live_set, record->id) : NULL;
	if (live_set != NULL &&
	    (known == NULL || known->time_ns != record->time_ns)) /* also if it has ended */
		return 0;
	return gg_array_push(
		       &samples->list,
		       (struct gg_look_sample){
			       .id = known != NULL ? known->id : record->id,
			       .number = record->id,
			       .address = record->address,
			       .size_bytes = record->size_bytes,
			       .usable_bytes = (uint64_t)record->size_bytes + record->slack_bytes,
			       .weight_bytes = samples->change.weights.items[index].bytes,
			       .index = index,
			       .is_mapping = (record->flags & GG_REGION_SAMPLE_MAPPING) != 0,
		       })
	               ? 0
	               : -ENOMEM;
}

/* Reads a batch of records from `first` on; returns their count, or 0 at the end or a failure. */
static uint32_t read_batch(const struct gg_region_reader *reader, uint32_t first, uint32_t end,
                           struct gg_region_sample *records)
{
	uint32_t count = first < end ? end - first : 0;

	count = count < BATCH_RECORDS ? count : BATCH_RECORDS;
	return gg_region_reader_read(reader, GG_TABLE_LIVE, first, count, records) ? count : 0;
}

int gg_look_samples_read(struct gg_look_samples *samples, struct gg_region_reader *reader,
                         const struct gg_live_set *live_set, struct gg_error *error)
{
	struct gg_region_sample *records = calloc(BATCH_RECORDS, sizeof(*records));
	uint32_t end = 0, count;
	int status;

	gg_live_change_begin(&samples->change, gg_clock_monotonic_ns());
	status = records != NULL ? gg_region_reader_refresh(reader, error) : -ENOMEM;
	samples->list.count = samples->chosen_count = samples->gone_count = 0;
	if (status == 0)
		end = gg_region_reader_used(reader, GG_TABLE_LIVE);
	samples->is_too_large = end > GG_LOOK_LIVE_MAX;
	if (samples->is_too_large)
		end = 0;
	for (uint32_t first = 0; status == 0; first += count) {
		count = read_batch(reader, first, end, records);
		if (count == 0)
			break;
		for (uint32_t i = 0; i < count && status == 0; i++)
			status = gg_live_change_note(&samples->change, first + i, &records[i])
			                 ? add(samples, &records[i], first + i, live_set)
			                 : -ENOMEM;
	}
	free(records);
	return status == -ENOMEM ? gg_error_memory(error, "a look") : status;
}

static int compare_indexes(const void *a, const void *b)
{
	const struct gg_look_sample *left = a, *right = b;

	return left->index < right->index ? -1 : left->index > right->index;
}

/* The first steps of a shuffle by Fisher and Yates choose a random subset. */
void gg_look_samples_choose(struct gg_look_samples *samples, size_t max, uint64_t seed)
{
	struct gg_look_sample *items = samples->list.items;
	size_t count = samples->list.count;
	struct gg_rng rng;

	samples->chosen_count = count < max ? count : max;
	if (samples->chosen_count == count)
		return;
	gg_rng_seed(&rng, seed, 0);
	for (size_t i = 0; i < samples->chosen_count; i++) {
		size_t other = i + (size_t)gg_rng_below(&rng, count - i);
		struct gg_look_sample chosen = items[other];

		items[other] = items[i];
		items[i] = chosen;
	}
	qsort(items, samples->chosen_count, sizeof(*items), compare_indexes);
}

int gg_look_samples_check(struct gg_look_samples *samples, struct gg_region_reader *reader,
                          struct gg_error *error)
{
	struct gg_region_sample *records = calloc(BATCH_RECORDS, sizeof(*records));
	uint32_t first = 0, count = 0;
	int status = records != NULL ? gg_region_reader_refresh(reader, error)
	                             : gg_error_memory(error, "a look");

	samples->gone_count = 0;
	for (size_t i = 0; i < samples->chosen_count && status == 0; i++) {
		struct gg_look_sample *sample = &samples->list.items[i];
		const struct gg_region_sample *record;

		if (sample->index - first >= count) {
			first = sample->index;
			count = read_batch(reader, first,
			                   gg_region_reader_used(reader, GG_TABLE_LIVE), records);
		}
		record = &records[sample->index - first];
		sample->is_gone = count == 0 || record->id != sample->number ||
		                  record->address != sample->address;
		samples->gone_count += sample->is_gone;
	}
	free(records);
	return status;
}

void gg_look_samples_done(struct gg_look_samples *samples)
{
	gg_live_change_done(&samples->change);
	gg_array_done(&samples->list);
}
