/* SPDX-License-Identifier: Apache-2.0 */
/* exact_history - turns the counters of a region into aggregates, tick by tick. */
#include "record/process/exact_history.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "record/process/exact_state.h"
#include "record/process/ingest.h"
#include "region/reader/view.h"

#define TICK_NS INT64_C(95000000) /* rounds of the recorder are 100 ms apart */

#define LIVE_NS INT64_C(1000000000) /* between two times at which rows are written */

enum {
	TICK_COST = 20, /* a pause is that many times what the work before it took */
	PENDING_MOST = 100000,
	TICK_RECORDS = 64, /* at once */
};

/* --- what is written --- */

static int write_row(struct gg_profile_writer *writer, const struct gg_profile_aggregate *aggregate)
{
	return gg_profile_writer_keep(
		writer, gg_profile_add_aggregate(writer->profile, aggregate, writer->error));
}

/* to_ns GG_TIME_NONE: they are live. */
static int add(struct gg_target *target, uint32_t node, uint32_t thread, int64_t from_ns,
               int64_t to_ns, uint64_t count, uint64_t bytes, bool is_temporary)
{
	struct gg_profile_writer *writer = target->writer;
	struct gg_profile_aggregate aggregate = {
		.process = target->id,
		.thread = gg_ingest_thread(target, thread),
		.stack = gg_stack_map_stack(&target->stack_map, &target->reader, writer, node,
		                            UINT64_MAX),
		.from_ns = from_ns - 1, /* at the end of a bucket of 1 ns */
		.to_ns = to_ns,
		.bucket_ns = 1,
		.size_class = 255,
		.interval_bytes = 1,
		.sums = gg_sums_exact(count, bytes),
		.is_exact = true,
		.is_temporary = is_temporary,
	};

	if (count == 0 && bytes == 0)
		return writer->status;
	if (to_ns == GG_TIME_NONE)
		return write_row(writer, &aggregate);
	return gg_array_push(&target->exact->pending, aggregate)
	               ? writer->status
	               : gg_profile_writer_keep(writer, -ENOMEM);
}

/* --- batches --- */

static void push(struct gg_target *target, uint32_t node, uint32_t thread, int64_t now_ns,
                 uint64_t count, uint64_t bytes)
{
	struct gg_exact_history *history = target->exact;
	uint32_t at = history->free_batch;
	struct gg_exact_batch *batch;

	if (count == 0 && bytes == 0)
		return;
	if (!gg_array_extend(&history->newest, (size_t)node + 1) ||
	    (at == GG_EXACT_NO_BATCH && gg_array_add(&history->batches) == NULL)) {
		gg_profile_writer_keep(target->writer, -ENOMEM);
		return;
	}
	if (at == GG_EXACT_NO_BATCH)
		at = (uint32_t)history->batches.count - 1;
	else
		history->free_batch = history->batches.items[at].next;
	batch = &history->batches.items[at];
	*batch = (struct gg_exact_batch){ .next = history->newest.items[node],
		                          .thread = thread,
		                          .time_ns = now_ns,
		                          .count = count,
		                          .bytes = bytes };
	history->newest.items[node] = at;
}

static uint64_t least(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* Ends the newest blocks of the stack: of one thread, or of any.  The row keeps the
 * rest of its debt. */
static void pop(struct gg_target *target, uint32_t node, uint32_t thread, bool any_thread,
                int64_t now_ns, struct gg_exact_row *row)
{
	struct gg_exact_history *history = target->exact;
	uint32_t *link;

	if (node >= history->newest.count)
		return;
	link = &history->newest.items[node];
	while (*link != GG_EXACT_NO_BATCH && (row->owed_count != 0 || row->owed_bytes != 0)) {
		uint32_t at = *link;
		struct gg_exact_batch *batch = &history->batches.items[at];
		uint64_t count = least(batch->count, row->owed_count);
		uint64_t bytes = least(batch->bytes, row->owed_bytes);

		if (!any_thread && batch->thread != thread) {
			link = &batch->next;
			continue;
		}
		add(target, node, batch->thread, batch->time_ns, now_ns, count, bytes, false);
		batch->count -= count;
		batch->bytes -= bytes;
		row->owed_count -= count;
		row->owed_bytes -= bytes;
		history->live_bytes -= bytes;
		if (batch->count != 0 || batch->bytes != 0) {
			link = &batch->next;
			continue;
		}
		*link = batch->next;
		batch->next = history->free_batch;
		history->free_batch = at;
	}
}

/* --- a tick --- */

static bool is_plausible(const struct gg_exact_sums *before, const struct gg_exact_sums *now)
{
	return now->allocated_count >= before->allocated_count &&
	       now->allocated_bytes >= before->allocated_bytes &&
	       now->freed_count >= before->freed_count && now->freed_bytes >= before->freed_bytes &&
	       now->temporary_count >= before->temporary_count &&
	       now->temporary_bytes >= before->temporary_bytes;
}

/*
 * Counts what the record did since the last tick.  Blocks that came and went go into one aggregate,
 * and temporary ones into another.
 */
static void take_row(struct gg_target *target, uint32_t index, const struct gg_exact_total *record,
                     const struct gg_exact_sums *now, int64_t now_ns)
{
	struct gg_exact_history *history = target->exact;
	struct gg_exact_row *row = &history->rows.items[index];
	uint64_t allocated_count, allocated_bytes, freed_count, freed_bytes, count, bytes;
	uint64_t temporary_count, temporary_bytes;

	if (!is_plausible(&row->sums, now)) {
		target->bad_count++;
		return;
	}
	allocated_count = now->allocated_count - row->sums.allocated_count;
	allocated_bytes = now->allocated_bytes - row->sums.allocated_bytes;
	freed_count = now->freed_count - row->sums.freed_count + row->owed_count;
	freed_bytes = now->freed_bytes - row->sums.freed_bytes + row->owed_bytes;
	temporary_count = least(now->temporary_count - row->sums.temporary_count,
	                        least(allocated_count, freed_count));
	temporary_bytes = least(now->temporary_bytes - row->sums.temporary_bytes,
	                        least(allocated_bytes, freed_bytes));
	row->sums = *now;
	target->writer->counts.exact_count += allocated_count;
	history->live_bytes += allocated_bytes;
	add(target, record->stack, record->thread, now_ns, now_ns, temporary_count, temporary_bytes,
	    true);
	count = least(allocated_count, freed_count) - temporary_count;
	bytes = least(allocated_bytes, freed_bytes) - temporary_bytes;
	add(target, record->stack, record->thread, now_ns, now_ns, count, bytes, false);
	count += temporary_count;
	bytes += temporary_bytes;
	history->live_bytes -= bytes;
	push(target, record->stack, record->thread, now_ns, allocated_count - count,
	     allocated_bytes - bytes);
	row->owed_count = freed_count - count;
	row->owed_bytes = freed_bytes - bytes;
	if ((row->owed_count != 0 || row->owed_bytes != 0) &&
	    !gg_array_push(&history->touched, index))
		gg_profile_writer_keep(target->writer, -ENOMEM);
}

/* After all rows: a thread may have freed what another one allocated at this tick. */
static void pay(struct gg_target *target, const struct gg_exact_total *records, int64_t now_ns)
{
	struct gg_exact_history *history = target->exact;

	for (int any_thread = 0; any_thread < 2; any_thread++) {
		for (uint32_t i = 0; i < history->touched.count; i++) {
			uint32_t index = history->touched.items[i];
			const struct gg_exact_total *record = &records[index];

			pop(target, record->stack, record->thread, any_thread != 0, now_ns,
			    &history->rows.items[index]);
		}
	}
	history->touched.count = 0;
}

static int take(struct gg_target *target, const struct gg_exact_total *records, uint32_t count,
                const struct gg_region_exact *header, int64_t now_ns)
{
	struct gg_exact_history *history = target->exact;
	struct gg_profile_writer *writer = target->writer;
	int64_t peak_ns = gg_profile_writer_time(writer, header->peak_ns);
	uint64_t nodes = gg_region_table_of(&target->reader.header, GG_TABLE_STACKS)->used_count;

	if (!gg_array_extend(&history->rows, count))
		return gg_profile_writer_keep(writer, -ENOMEM);
	/* Times of ticks grow; two of them may be one only if the session has just begun. */
	now_ns = now_ns > history->last_ns ? now_ns : history->last_ns + 1;
	if (header->peak_number != history->peak_number) {
		peak_ns = peak_ns > history->last_ns ? peak_ns : history->last_ns + 1;
		peak_ns = peak_ns < now_ns ? peak_ns : now_ns;
		for (uint32_t i = 0; i < count && writer->status == 0; i++) {
			struct gg_exact_sums sums = gg_exact_total_at_peak(&records[i],
			                                                   header->peak_number);

			if (records[i].ready == 1 && records[i].stack < nodes &&
			    is_plausible(&history->rows.items[i].sums, &sums))
				take_row(target, i, &records[i], &sums, peak_ns);
		}
		pay(target, records, peak_ns);
		history->last_ns = peak_ns;
		history->peak_number = header->peak_number;
		now_ns = now_ns > peak_ns ? now_ns : peak_ns + 1;
	}
	for (uint32_t i = 0; i < count && writer->status == 0; i++) {
		struct gg_exact_sums sums = gg_exact_total_sums(&records[i]);

		if (records[i].ready == 1 && records[i].stack < nodes)
			take_row(target, i, &records[i], &sums, now_ns);
	}
	pay(target, records, now_ns);
	history->last_ns = now_ns;
	target->live_bytes = (double)history->live_bytes;
	return writer->status;
}

int gg_exact_history_take(struct gg_target *target, const struct gg_region_view *view,
                          int64_t now_ns)
{
	gg_assert(target->exact != NULL && view->exact_totals != NULL);
	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	return take(target, view->exact_totals, view->site_total_count, &view->header.exact,
	            now_ns);
}

/* Reads all records.  A record that cannot be read now is read at the next tick. */
static uint32_t read_records(struct gg_target *target)
{
	struct gg_exact_history *history = target->exact;
	uint32_t count = gg_region_reader_used(&target->reader, GG_TABLE_SITE_TOTALS), end;

	if (!gg_array_extend(&history->records, count)) {
		gg_profile_writer_keep(target->writer, -ENOMEM);
		return 0;
	}
	for (uint32_t i = 0; i < count; i = end) {
		end = count - i < TICK_RECORDS ? count : i + TICK_RECORDS;
		if (!gg_region_reader_read(&target->reader, GG_TABLE_SITE_TOTALS, i, end - i,
		                           &history->records.items[i]))
			return i;
	}
	return count;
}

/* Reads and takes all records. */
static void tick(struct gg_target *target, int64_t now_ns)
{
	/* Before the records: what was saved for a later peak is of no use for this one. */
	struct gg_region_exact header = target->reader.header.exact;
	uint32_t count = read_records(target);

	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	take(target, target->exact->records.items, count, &header, now_ns);
}

/*
 * The time at which work is due again that began at now_ns and took so much of the processor.  The
 * clock's time would say more about other programs if the machine is busy.
 */
static int64_t next_time(int64_t now_ns, int64_t pause_ns, uint64_t began_cpu_ns)
{
	int64_t cost_ns = (int64_t)(gg_clock_thread_ns() - began_cpu_ns) * TICK_COST;

	return now_ns + (cost_ns > pause_ns ? cost_ns : pause_ns);
}

int gg_exact_history_tick(struct gg_target *target)
{
	struct gg_exact_history *history = target->exact;
	struct gg_profile_writer *writer = target->writer;
	int64_t now_ns = (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
	uint64_t cpu_ns = gg_clock_thread_ns(), live_cpu_ns;

	if (now_ns < history->next_ns || target->is_finished ||
	    gg_region_reader_refresh(&target->reader, NULL) < 0)
		return writer->status;
	if (history->next_ns == 0)
		history->next_live_ns = now_ns + LIVE_NS;
	tick(target, now_ns);
	history->next_ns = next_time(now_ns, TICK_NS, cpu_ns);
	if (now_ns < history->next_live_ns && history->pending.count < PENDING_MOST)
		return writer->status;
	live_cpu_ns = gg_clock_thread_ns();
	gg_exact_history_put_live(target);
	history->next_live_ns = next_time(now_ns, LIVE_NS, live_cpu_ns);
	/* Rows that fill up within a tick must not make each tick write all that is live. */
	history->next_ns = next_time(now_ns, TICK_NS, cpu_ns);
	return writer->status;
}

int gg_exact_history_put_live(struct gg_target *target)
{
	struct gg_exact_history *history = target->exact;
	struct gg_profile_writer *writer = target->writer;

	for (size_t i = 0; i < history->pending.count && writer->status == 0; i++)
		write_row(writer, &history->pending.items[i]);
	history->pending.count = 0;
	if (history->has_live)
		gg_profile_writer_keep(writer, gg_profile_remove_live_aggregates(writer->profile,
		                                                                 target->id, true,
		                                                                 writer->error));
	history->has_live = true;
	for (uint32_t node = 0; node < history->newest.count && writer->status == 0; node++)
		for (uint32_t at = history->newest.items[node]; at != GG_EXACT_NO_BATCH;
		     at = history->batches.items[at].next) {
			const struct gg_exact_batch *batch = &history->batches.items[at];

			add(target, node, batch->thread, batch->time_ns, GG_TIME_NONE, batch->count,
			    batch->bytes, false);
		}
	return writer->status;
}

/* --- notes --- */

static void note_inherited(struct gg_target *target, const struct gg_region_view *view)
{
	const struct gg_region_exact *exact = &view->header.exact;
	uint64_t freed_count = 0, freed_bytes = 0;

	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_exact_total *total = &view->exact_totals[i];

		freed_count += total->inherited_freed_count;
		freed_bytes += total->inherited_freed_bytes[total->inherited_freed_count & 1];
	}
	/* The profile does not know which of them the process held how long. */
	gg_profile_writer_keep(target->writer,
	                       gg_profile_put_counter(target->writer->profile, target->id,
	                                              gg_region_counter_name(GG_COUNT_INHERITED),
	                                              exact->inherited_count,
	                                              target->writer->error));
	gg_profile_writer_event(
		target->writer, target->id, target->record.start_ns, "inherited",
		"%llu blocks of %llu bytes were live at the fork; it freed %llu of %llu bytes "
		"(exact; neither is in its sums)",
		(unsigned long long)exact->inherited_count,
		(unsigned long long)exact->inherited_bytes, (unsigned long long)freed_count,
		(unsigned long long)freed_bytes);
}

int gg_exact_history_note(struct gg_target *target, const struct gg_region_view *view)
{
	const struct gg_region_exact *exact = &view->header.exact;
	struct gg_profile_writer *writer = target->writer;

	gg_profile_writer_keep(writer, gg_profile_put_counter(writer->profile, target->id,
	                                                      "exact peak bytes", exact->peak_bytes,
	                                                      writer->error));
	if (exact->inherited_count != 0)
		note_inherited(target, view);
	if ((exact->flags & GG_REGION_EXACT_STOPPED) != 0) {
		int64_t stopped_ns = gg_profile_writer_time(writer, exact->stopped_ns);

		gg_profile_writer_keep(
			writer, gg_profile_put_counter(writer->profile, target->id,
		                                       GG_PROFILE_COUNTER_EXACT_STOPPED,
		                                       stopped_ns > 0 ? (uint64_t)stopped_ns : 0,
		                                       writer->error));
		gg_profile_writer_note(
			writer,
			"Process %u had more live blocks than its table holds: from %.1f s on, "
			"what was allocated is exact, and frees and what is live are not known.",
			target->pid, (double)stopped_ns / 1e9);
	}
	return writer->status;
}
