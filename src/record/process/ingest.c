/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest - turns the events of a process's ring into samples and ends (record/process/target.h).
 *
 * The target translates everything that a sample names: its thread, heap, type and stack get ids of
 * the profile when a sample names them for the first time.
 *
 * Hostile  the profiled program writes the region.  Each index has a limit, and invalid events are
 *          counted and dropped.
 */
#include "record/process/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "record/process/origins.h"

enum {
	BATCH_EVENTS = 1024,
	CHUNK_EXTRA_BYTES = 32, /* headers and rounding of an allocator, beyond a block's slack */
	/* Pairs of stack and thread.  With more, losses are written only as one sum over all. */
	SEEN_MAX = 1 << 18,
	THREADS_MAX = 1 << 16, /* the width of a sample's field */
	NAMES_MAX = 1 << 16,
};

/* --- names of a sample: threads, heaps, types --- */

static struct gg_profile_thread thread_record(const struct gg_target *target,
                                              const struct gg_region_thread_record *row,
                                              char name[17])
{
	memcpy(name, row->name, sizeof(row->name));
	name[sizeof(row->name)] = '\0';
	return (struct gg_profile_thread){
		.process = target->id,
		.tid = row->tid,
		.start_ns = gg_profile_writer_time(target->writer, row->start_ns),
		.end_ns = row->end_ns != 0 ? gg_profile_writer_time(target->writer, row->end_ns)
		                           : GG_TIME_NONE,
		.name = name,
	};
}

uint32_t gg_ingest_thread(struct gg_target *target, uint32_t index)
{
	struct gg_profile_writer *writer = target->writer;
	struct gg_region_thread_record row;
	struct gg_profile_thread record;
	char name[17];

	if (index == 0 || index >= THREADS_MAX ||
	    !gg_array_extend(&target->threads, (size_t)index + 1))
		return 0;
	if (target->threads.items[index] != 0)
		return target->threads.items[index];
	if ((index >= gg_region_table_of(&target->reader.header, GG_TABLE_THREADS)->used_count &&
	     index >= gg_region_reader_used(&target->reader, GG_TABLE_THREADS)) ||
	    !gg_region_reader_read(&target->reader, GG_TABLE_THREADS, index, 1, &row) ||
	    row.ready != 1) /* its thread has not filled it yet, or it is damaged */
		return 0;
	record = thread_record(target, &row, name);
	gg_profile_writer_keep(writer,
	                       gg_profile_add_thread(writer->profile, &record,
	                                             &target->threads.items[index], writer->error));
	return target->threads.items[index];
}

/* Returns the profile's id of a heap or type; 0: it has no name, or no valid record. */
static uint32_t name_of(struct gg_target *target, enum gg_name_kind kind, uint32_t index)
{
	enum gg_region_table_id table = kind == GG_NAME_HEAP ? GG_TABLE_HEAPS : GG_TABLE_TYPES;
	struct gg_profile_writer *writer = target->writer;
	struct gg_region_name record;
	char text[256];

	if (index == 0 || index >= NAMES_MAX ||
	    !gg_array_extend(&target->names[kind], (size_t)index + 1))
		return 0;
	if (target->names[kind].items[index] != 0)
		return target->names[kind].items[index];
	if (index >= gg_region_reader_used(&target->reader, table) ||
	    !gg_region_reader_read(&target->reader, table, index, 1, &record) || record.ready != 1)
		return 0;
	gg_region_reader_text(&target->reader, record.offset, record.bytes, text, sizeof(text));
	gg_profile_writer_keep(writer, gg_profile_intern_name(writer->profile, kind, text,
	                                                      &target->names[kind].items[index],
	                                                      writer->error));
	return target->names[kind].items[index];
}

uint32_t gg_ingest_type(struct gg_target *target, const struct gg_region_sample *sample)
{
	return name_of(target, GG_NAME_TYPE, sample->type);
}

struct gg_seen *gg_ingest_seen(struct gg_target *target, uint32_t node, uint32_t thread)
{
	uint64_t key = (uint64_t)node << 16 | (thread & 0xffff);
	uint64_t index = gg_map_get(&target->seen_map, key);
	struct gg_seen *seen;

	if (index != GG_MAP_NONE)
		return &target->seen.items[index];
	if (target->seen.count >= SEEN_MAX)
		return NULL;
	if (!gg_array_reserve(&target->seen, target->seen.count + 1) ||
	    gg_map_put(&target->seen_map, key, target->seen.count) < 0)
		return NULL;
	seen = gg_array_add(&target->seen);
	seen->node = node;
	seen->thread = thread;
	return seen;
}

/* --- samples --- */

static bool is_valid(const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	return sample->id != 0 && sample->address != 0 && gg_draw_is_valid(&draw);
}

static struct gg_profile_sample sample_record(struct gg_target *target,
                                              const struct gg_region_sample *sample)
{
	struct gg_profile_writer *writer = target->writer;

	return (struct gg_profile_sample){
		.alloc_ns = gg_profile_writer_time(writer, sample->time_ns),
		.free_ns = GG_TIME_NONE,
		.process = target->id,
		.thread = gg_ingest_thread(target, sample->thread),
		.stack = gg_stack_map_stack(&target->stack_map, &target->reader, writer,
		                            sample->stack, sample->time_ns),
		.heap = name_of(target, GG_NAME_HEAP, sample->heap),
		.type = name_of(target, GG_NAME_TYPE, sample->type),
		.size_bytes = sample->size_bytes,
		.usable_bytes = sample->size_bytes + sample->slack_bytes,
		.address = gg_target_address(sample),
		.draw = gg_region_sample_draw(sample),
		.flags = ((sample->flags & GG_REGION_SAMPLE_MAPPING) != 0
		                  ? GG_PROFILE_SAMPLE_MAPPING
		                  : 0) |
		         ((sample->flags & GG_REGION_SAMPLE_OLD) != 0 ? GG_PROFILE_SAMPLE_OLD : 0),
		.origin = gg_target_is_inherited(target, sample) ? gg_origins_find(target, sample)
		                                                 : 0,
	};
}

double gg_ingest_chunk_bytes(const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);

	/* Objects of a program's own heap lie in larger blocks, which count themselves. */
	if (sample->heap != 0)
		return 0;
	return gg_weight_of(&draw, sample->size_bytes).count *
	       ((double)sample->size_bytes + (double)sample->slack_bytes + CHUNK_EXTRA_BYTES);
}

/* Counts a sample, so that no aggregate of the totals has it as well (aggregates.c). */
static void see(struct gg_target *target, const struct gg_region_sample *sample,
                const struct gg_sums *sums)
{
	struct gg_seen *seen;

	if (target->tells_inherited && gg_target_is_inherited(target, sample))
		return;
	gg_sums_add(&target->seen_sums, sums);
	seen = gg_ingest_seen(target, sample->stack, sample->thread);
	if (seen != NULL)
		gg_sums_add(&seen->sums, sums);
	else
		target->seen_is_full = true;
}

/*
 * Adds a sample that the target does not know, to the profile and to the target's own sums.
 * Returns its entry; NULL: refused.
 *
 * An inherited sample refers to the sample that stands for its block in the profile (inherited.c).
 * If no ancestor's sample does, this one becomes an orphan, and stands for the block itself.
 */
static struct gg_live_set_sample *add_sample(struct gg_target *target,
                                             const struct gg_region_sample *sample)
{
	struct gg_draw draw = gg_region_sample_draw(sample);
	struct gg_sums sums = gg_sums_of(&draw, sample->size_bytes);
	struct gg_live_set_sample *known;
	struct gg_profile_sample record;
	uint64_t id;

	if (target->live_set.live_count >= target->live_set.limit) {
		target->bad_count++; /* the region has no room for that many samples */
		return NULL;
	}
	record = sample_record(target, sample);
	id = gg_profile_writer_sample(target->writer, &record);
	if (id == 0)
		return NULL;
	if (record.origin == GG_PROFILE_WRITER_NO_ORIGIN) {
		record.origin = id;
		gg_profile_writer_keep(target->writer, gg_origins_add_orphan(target, sample, id));
	}
	if (record.origin != 0 && gg_map_put(&target->origins, sample->id, record.origin) < 0)
		gg_profile_writer_keep(target->writer, -ENOMEM);
	if (gg_live_set_add(&target->live_set, sample->id, id, sample->time_ns) < 0) {
		gg_profile_writer_keep(target->writer, -ENOMEM);
		return NULL;
	}
	see(target, sample, &sums);
	target->live_bytes += gg_fixed_value(sums.bytes);
	target->chunk_bytes += gg_ingest_chunk_bytes(sample);
	if (target->chunk_bytes > target->chunk_most_bytes)
		target->chunk_most_bytes = target->chunk_bytes;
	if (gg_target_is_inherited(target, sample)) {
		target->inherited_bytes += gg_fixed_value(sums.bytes);
		target->inherited_count++;
	}
	known = gg_live_set_find(&target->live_set, sample->id);
	known->has_type = sample->type != 0;
	/* Its ancestor has put the event of the allocation. */
	known->has_alloc_event = gg_target_is_inherited(target, sample);
	return known;
}

struct gg_live_set_sample *gg_ingest_sample(struct gg_target *target,
                                            const struct gg_region_sample *sample)
{
	struct gg_live_set_sample *known = gg_live_set_find(&target->live_set, sample->id);

	return known != NULL ? known : add_sample(target, sample);
}

/*
 * Applies one event.  Each event has a whole copy of its sample, so a free whose allocation event
 * was lost still adds the sample, with its own allocation time.  A second end of a sample changes
 * nothing.
 */
static void take_event(struct gg_target *target, const struct gg_region_event *event)
{
	const struct gg_region_sample *sample = &event->sample;
	struct gg_live_set_sample *known;
	struct gg_draw draw;
	struct gg_profile_sample_end end;
	double bytes;

	if (event->kind < GG_EVENT_ALLOC || event->kind > GG_EVENT_MISSED_FREE ||
	    !is_valid(sample)) {
		target->bad_count++;
		return;
	}
	if (event->time_ns > target->last_event_ns)
		target->last_event_ns = event->time_ns;
	if (event->kind != GG_EVENT_ALLOC && event->time_ns > target->last_free_ns)
		target->last_free_ns = event->time_ns;
	known = gg_live_set_find(&target->live_set, sample->id);
	if (known == NULL && gg_live_set_is_late(&target->live_set, sample->id))
		return;
	if (known == NULL)
		known = add_sample(target, sample);
	if (known != NULL && event->kind == GG_EVENT_ALLOC)
		known->has_alloc_event = true;
	else if (known != NULL)
		known->has_end_event = true;
	if (known == NULL || event->kind == GG_EVENT_ALLOC || !gg_live_set_is_live(known))
		return;
	gg_assert(known->id != 0 && known->number == sample->id);
	if (sample->type != 0 && !known->has_type) {
		known->has_type = true;
		gg_profile_writer_change(target->writer, known->id, gg_target_address(sample),
		                         gg_ingest_type(target, sample), false);
	}
	draw = gg_region_sample_draw(sample);
	end = (struct gg_profile_sample_end){
		.free_ns = gg_profile_writer_time(target->writer, event->time_ns),
		.thread = gg_ingest_thread(target, event->thread),
		.stack = gg_stack_map_stack(&target->stack_map, &target->reader, target->writer,
		                            event->free_stack, event->time_ns),
		/*
		 * If a child's sample stands for the block, it is certain there, and this
		 * process's own sample counts in upper bounds only.
		 */
		.missed = event->kind == GG_EVENT_MISSED_FREE ||
		          (!gg_target_is_inherited(target, sample) &&
		           gg_origins_is_orphan(target, sample)),
		.is_old = (sample->flags & GG_REGION_SAMPLE_OLD) != 0,
	};
	/* No sample ends before it began, whatever the event claims. */
	if (end.free_ns < gg_profile_writer_time(target->writer, known->time_ns))
		end.free_ns = gg_profile_writer_time(target->writer, known->time_ns);
	gg_profile_writer_end(target->writer, known->id, &end);
	bytes = gg_weight_of(&draw, sample->size_bytes).bytes;
	target->live_bytes -= bytes;
	target->chunk_bytes -= gg_ingest_chunk_bytes(sample);
	target->inherited_bytes -= gg_target_is_inherited(target, sample) ? bytes : 0;
	gg_live_set_end(&target->live_set, known, target->set->round_count);
}

/*
 * Notes that the history is complete up to `moment_ns`, if it is: the ring's reader has passed the
 * `head` of that moment, and no event was dropped since the last reconciliation.
 */
static void note_complete(struct gg_target *target, uint64_t head, int64_t moment_ns)
{
	uint64_t drop_count;

	if (target->has_ring && target->ring.tail >= head &&
	    gg_region_reader_counter(&target->reader, GG_COUNT_DROP_EVENTS, &drop_count) &&
	    drop_count == target->drop_count)
		target->complete_ns = moment_ns;
}

/* Returns the buffer for a batch of events; NULL: no memory. */
static struct gg_region_event *batch_of(struct gg_target *target)
{
	struct gg_target_set *set = target->set;

	if (set->events == NULL)
		set->events = calloc(BATCH_EVENTS, sizeof(*set->events));
	if (set->events == NULL)
		gg_profile_writer_keep(target->writer, -ENOMEM);
	return set->events;
}

double gg_ingest_drain(struct gg_target *target, bool final)
{
	struct gg_region_event *events;
	uint64_t drained = 0, head;
	int64_t began_ns;

	if (!target->has_ring || target->is_finished || target->exact != NULL)
		return 0;
	events = batch_of(target);
	if (events == NULL)
		return 0;
	began_ns = (int64_t)(gg_clock_monotonic_ns() - target->writer->start_ns);
	head = gg_ring_head(&target->ring);
	/* One round of the ring at most: a ring that always looks full ends here as well. */
	while (drained < target->ring.capacity && target->writer->status == 0) {
		int count = gg_ring_read(&target->ring, events, BATCH_EVENTS, final);

		if (count < 0) {
			target->has_ring = false;
			target->bad_count++;
			gg_profile_writer_event(
				target->writer, target->id, target->writer->now_ns, "damage",
				"the history of the region cannot be read (%s)", strerror(-count));
			break;
		}
		if (count == 0)
			break;
		gg_assert(count <= BATCH_EVENTS);
		gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
		for (int i = 0; i < count; i++)
			take_event(target, &events[i]);
		drained += (uint64_t)count;
		target->event_count += (uint64_t)count;
	}
	note_complete(target, head, began_ns);
	return (double)drained / (double)target->ring.capacity;
}
