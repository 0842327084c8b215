/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_state - writes the end of a process and everything that its region then tells.
 */
#include "record/process/final_state.h"

#include <math.h>

#include "base/assert.h"
#include "record/process/aggregates.h"
#include "record/process/attach_record.h"
#include "record/process/exact_history.h"
#include "record/process/fault_records.h"
#include "record/process/ingest.h"
#include "record/process/process_debt.h"
#include "record/process/process_tables.h"
#include "record/process/reconcile.h"
#include "region/control.h"
#include "region/reader/view.h"

/* Writes events and notes about everything that this process's part of the profile lacks. */
static void write_losses(struct gg_target *target, const struct gg_region_view *view,
                         int64_t end_ns)
{
	const uint64_t *counters = view->header.counters;
	uint64_t dropped = gg_region_dropped(&view->header);
	struct gg_profile_writer *writer = target->writer;

	if (dropped > 0)
		gg_profile_writer_event(writer, target->id, end_ns, "drop",
		                        "%llu samples or frees were not recorded",
		                        (unsigned long long)dropped);
	/* In a recorded session, one note covers all processes (record/diagnose/notes.c). */
	if (counters[GG_COUNT_LOST_CHILDREN] > 0 && !target->is_ours)
		gg_profile_writer_note(
			writer,
			"%llu process%s that process %u forked could have no region (no place, no "
			"permission, or a sandbox): not in this profile.",
			(unsigned long long)counters[GG_COUNT_LOST_CHILDREN],
			counters[GG_COUNT_LOST_CHILDREN] == 1 ? "" : "es", target->pid);
	if (target->bad_count + view->damaged_count > 0)
		gg_profile_writer_event(
			writer, target->id, end_ns, "damage",
			"%llu records of the region were left out: no writer makes such",
			(unsigned long long)(target->bad_count + view->damaged_count));
	if (view->torn)
		gg_profile_writer_event(writer, target->id, end_ns, "torn",
		                        "the last state was read while the process went on");
	if (view->torn && !target->is_ours)
		gg_profile_writer_note(
			writer,
			"Process %u went on while its region was read: what is live and what "
			"was freed may differ by what happened in that moment.",
			target->pid);
	writer->counts.lost_child_count += target->is_ours ? counters[GG_COUNT_LOST_CHILDREN] : 0;
	writer->counts.unnoted_child_count += counters[GG_COUNT_UNNOTED_CHILDREN];
	writer->counts.dropped_count += dropped;
	writer->counts.dropped_event_count += target->is_ours ? counters[GG_COUNT_DROP_EVENTS] : 0;
	writer->counts.damaged_count += target->bad_count + view->damaged_count;
}

/*
 * Blocks without a sample may have been exposed to the coarsest interval.  In a forked child, this
 * may be one of its parent's control, which had ended at the fork.
 */
static void note_coarsest(struct gg_target *target, double coarsest)
{
	struct gg_session_counts *counts = &target->writer->counts;

	if (target->exact != NULL)
		return;
	coarsest = fmin(coarsest, (double)GG_REGION_INTERVAL_MAX);
	if (coarsest > target->record.interval_bytes)
		target->record.interval_bytes = coarsest;
	if (coarsest > counts->interval_most)
		counts->interval_most = coarsest;
}

/* Adds what the agent measured while it controlled the overhead. */
static void count_overhead(struct gg_target *target, const struct gg_region_header *header)
{
	struct gg_session_counts *counts = &target->writer->counts;

	note_coarsest(target, (double)header->counters[GG_COUNT_COARSEST_INTERVAL]);
	if (header->counters[GG_COUNT_ASKED_OVERHEAD] == 0 &&
	    header->counters[GG_COUNT_ASKED_ERROR] == 0)
		return;
	gg_process_debt_take(counts, header, target->charges.charged_ns,
	                     target->charges.recorder_ns);
	counts->recorder_ns += header->counters[GG_COUNT_RECORDER_NS];
	counts->program_ns += header->counters[GG_COUNT_PROGRAM_NS];
	counts->sampling_ns += header->counters[GG_COUNT_SAMPLING_NS];
	counts->hooks_ns += header->counters[GG_COUNT_HOOKS_NS];
	counts->interval_change_count += header->counters[GG_COUNT_INTERVAL_CHANGES];
	if (header->control.overhead_ppm > counts->overhead_ppm)
		counts->overhead_ppm = header->control.overhead_ppm;
	if (header->control.error_ppm > counts->error_ppm)
		counts->error_ppm = header->control.error_ppm;
}

/*
 * Reads the events that a living process put before the view, and none of those that came after it:
 * the profile ends with the view, and its samples add up to the view's totals.  A torn view has no
 * such moment.
 */
static void drain_up_to(struct gg_target *target, const struct gg_region_view *view)
{
	if (!view->torn)
		target->ring.end = view->ring_head;
	gg_ingest_drain(target, false);
}

/*
 * Reads the region for the last time and writes everything that it tells: live samples, losses,
 * totals, threads, and counters.  `end_ns` is its latest possible end.  If no known sample is
 * younger than the view, each of them can be compared with it: a dead process changes nothing.
 */
static int take_final_state(struct gg_target *target, int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;
	bool is_dead = end_ns != GG_TIME_NONE;
	struct gg_span span = { .from_ns = target->has_ring ? target->aggregate_from_ns
		                                            : target->record.start_ns };
	uint64_t before_id = writer->next_id;
	uint64_t lost_count = writer->counts.lost_count;
	struct gg_error error = { 0 };
	struct gg_region_view view;

	if (gg_reconcile_read_view(target, &view, &error) < 0) {
		/* The rows that wait tell of blocks that ended before. */
		if (target->exact != NULL)
			gg_exact_history_put_live(target);
		return gg_profile_writer_event(writer, target->id, writer->now_ns, "damage",
		                               "the last state of the region %s", error.message);
	}
	if (!is_dead)
		drain_up_to(target, &view);
	gg_stack_map_update(&target->stack_map, &target->reader, writer);
	if (is_dead || !view.torn)
		before_id = UINT64_MAX;
	span.to_ns = is_dead ? end_ns : writer->now_ns;
	gg_reconcile_samples(target, &view, before_id, span.to_ns);
	gg_process_tables_moved(target, &view);
	gg_process_tables_totals(target, &view);
	if (target->exact != NULL) {
		gg_exact_history_take(target, &view, span.to_ns);
		gg_exact_history_put_live(target);
		gg_exact_history_note(target, &view);
	} else if (!gg_aggregates_has_only_inherited(target, &view))
		gg_aggregates_write(target, &view, &span);
	/* Without a recorder nobody noted when sampling was off: the event gets the start. */
	if (!target->is_ours &&
	    (view.header.control.active == 0 || view.header.counters[GG_COUNT_WAS_OFF] > 0))
		gg_profile_writer_event(writer, target->id, target->record.start_ns, "off",
		                        "it was switched off at some time");
	if (target->is_ours && (view.header.counters[GG_COUNT_DROP_EVENTS] != target->drop_count ||
	                        writer->counts.lost_count != lost_count))
		gg_reconcile_write_loss(target, view.header.counters[GG_COUNT_DROP_EVENTS],
		                        span.to_ns);
	gg_process_tables_threads(target, &view, end_ns);
	gg_process_tables_counters(target, &view);
	gg_target_watch_collections(target, true);
	gg_attach_record_write(writer, target->id, &view.header);
	gg_fault_records_write(target, &view);
	write_losses(target, &view, span.to_ns);
	count_overhead(target, &view.header);
	gg_stack_map_write(&target->stack_map, writer);
	gg_region_view_done(&view);
	return writer->status;
}

int gg_final_state_write(struct gg_target *target, struct gg_end_bounds end, const char *ending)
{
	struct gg_profile_writer *writer = target->writer;
	int64_t end_ns = end.end_ns;

	gg_assert(end.least_ns <= end.end_ns);
	if (target->is_finished)
		return writer->status;
	if (target->is_ours)
		gg_target_watch_control(target);
	gg_profile_writer_expose(writer, &target->record, &target->control);
	/*
	 * A drain reads one round of the ring at most.  The second drain reads the events that
	 * arrived during the first; a dead process adds no more.
	 */
	gg_ingest_drain(target, end_ns != GG_TIME_NONE);
	gg_ingest_drain(target, end_ns != GG_TIME_NONE);
	target->record.end_ns = end_ns;
	target->record.end_range_ns = end.least_ns < end_ns ? end_ns - end.least_ns : 0;
	if (writer->status == 0)
		take_final_state(target, end_ns);
	if (GG_ASSERTIONS) /* otherwise it would only cost time */
		gg_live_set_validate(&target->live_set);
	target->record.ending = ending;
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, target->id,
	                                                         &target->record, writer->error));
	gg_target_close(target);
	gg_lineage_end(&target->set->lineage, target->lineage, end_ns);
	return writer->status;
}
