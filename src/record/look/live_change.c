/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_change - compares two readings of the table of live samples (look/live_change.h).
 */
#include "record/look/live_change.h"

#include <errno.h>
#include <stdlib.h>

#include "stats/sampling/weight.h"

enum { READ_RECORDS = 1024, MISSED_MOST = 1 << 30 };

/* Returns what the sample represents; all zero: it is no block of the allocator. */
static struct gg_weight weight_of(const struct gg_region_sample *record)
{
	struct gg_draw draw = gg_region_sample_draw(record);

	if (record->id == 0 || record->heap != 0 || record->address == 0 ||
	    (record->flags & GG_REGION_SAMPLE_MAPPING) != 0 || !gg_draw_is_valid(&draw))
		return (struct gg_weight){ 0 };
	return gg_weight_of(&draw, record->size_bytes);
}

void gg_live_change_begin(struct gg_live_change *change, uint64_t begin_ns)
{
	change->weights.count = 0;
	change->before_bytes = change->early_bytes = 0;
	change->number_before = change->number_max = change->early_count = 0;
	change->begin_ns = begin_ns;
}

static void note_number(struct gg_live_change *change, const struct gg_region_sample *record,
                        double weight_bytes)
{
	if (record->id > change->number_max)
		change->number_max = record->id;
	if (record->time_ns > change->begin_ns) {
		change->early_count++;
		change->early_bytes += weight_bytes;
	} else if (record->id > change->number_before) {
		change->number_before = record->id;
	}
}

bool gg_live_change_note(struct gg_live_change *change, uint32_t index,
                         const struct gg_region_sample *record)
{
	struct gg_weight weight = weight_of(record);

	while (change->weights.count <= index)
		if (!gg_array_push(&change->weights, (struct gg_live_weight){ 0 }))
			return false;
	if (record->id != 0)
		note_number(change, record, weight.bytes);
	if (!(weight.bytes > 0))
		return true;
	change->weights.items[index] = (struct gg_live_weight){ record->id, weight.bytes,
		                                                weight.bytes_variance };
	change->before_bytes += weight.bytes;
	return true;
}

/* Sums over the second reading. */
struct second_reading {
	const struct gg_live_change *change;
	struct gg_live_difference sums;
	uint64_t from_ns, to_ns;
	uint64_t number_max, new_count;
	double new_bytes;
};

static void add(struct second_reading *reading, uint32_t index,
                const struct gg_region_sample *record)
{
	const struct gg_live_change *change = reading->change;
	struct gg_weight weight;

	if (record->id != 0 && index < change->weights.count &&
	    change->weights.items[index].number == record->id) {
		reading->sums.after_bytes += change->weights.items[index].bytes;
		reading->sums.after_variance += change->weights.items[index].variance;
		reading->sums.stayed_bytes += change->weights.items[index].bytes;
		return;
	}
	weight = weight_of(record);
	reading->sums.after_bytes += weight.bytes;
	reading->sums.after_variance += weight.bytes_variance;
	if (record->id == 0)
		return;
	if (record->time_ns <= reading->from_ns)
		reading->sums.new_bytes += weight.bytes;
	else if (record->time_ns <= reading->to_ns)
		reading->sums.new_unsure_bytes += weight.bytes;
	if (record->id <= change->number_before)
		return;
	reading->new_count++;
	reading->new_bytes += weight.bytes;
	if (record->id > reading->number_max)
		reading->number_max = record->id;
}

/* Blocks that no reading has are as large as the new ones that a reading has. */
static double unseen_bytes(const struct second_reading *reading)
{
	const struct gg_live_change *change = reading->change;
	uint64_t range = reading->number_max - change->number_before;
	uint64_t seen_count = change->early_count + reading->new_count;
	uint64_t count = range > seen_count ? range - seen_count : 0;

	/* A damaged region may have any numbers: that many records were never there. */
	if (count > MISSED_MOST)
		count = MISSED_MOST;
	return seen_count > 0 ? (change->early_bytes + reading->new_bytes) / (double)seen_count *
	                                (double)count
	                      : 0;
}

int gg_live_change_read(const struct gg_live_change *change, struct gg_region_reader *reader,
                        uint64_t from_ns, uint64_t to_ns, struct gg_live_difference *ret,
                        struct gg_error *error)
{
	struct gg_region_sample *records = calloc(READ_RECORDS, sizeof(*records));
	struct second_reading reading = { .change = change,
		                          .sums.before_bytes = change->before_bytes,
		                          .from_ns = from_ns,
		                          .to_ns = to_ns,
		                          .number_max = change->number_max };
	int status = records != NULL ? gg_region_reader_refresh(reader, error)
	                             : gg_error_memory(error, "a look");
	uint32_t end = status == 0 ? gg_region_reader_used(reader, GG_TABLE_LIVE) : 0;

	for (uint32_t first = 0; first < end && status == 0; first += READ_RECORDS) {
		uint32_t count = end - first < READ_RECORDS ? end - first : READ_RECORDS;

		if (!gg_region_reader_read(reader, GG_TABLE_LIVE, first, count, records))
			break;
		for (uint32_t i = 0; i < count; i++)
			add(&reading, first + i, &records[i]);
	}
	free(records);
	reading.sums.unseen_bytes = unseen_bytes(&reading);
	if (status == 0)
		*ret = reading.sums;
	return status;
}

void gg_live_change_done(struct gg_live_change *change)
{
	gg_array_done(&change->weights);
}
