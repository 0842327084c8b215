/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile - finds in the region of a process the changes whose events the ring lost.
 *
 * The state wins over the history (record/process/target.h).  While a process runs, the recorder
 *
 *   1. drains the ring,
 *   2. reads a view of the region, with its live samples and totals, and
 *   3. drains the ring again.
 *
 * A live sample that the recorder knew before step 2 and that the view lacks was freed before the
 * view.  If step 3 does not bring the event of that free, the event was lost, and the recorder ends
 * the sample itself.  A writer can stand between the change and its event for longer than that.
 * Its event arrives later and does no harm: the live set remembers ended samples for a while, so
 * the event finds the sample ended (live_set.h).
 *
 * The totals of a stack minus its known samples are blocks that were allocated and freed without
 * any event arriving.  They become aggregates.  When the process or its recording ends, the
 * recorder takes the same steps once more, and writes the totals.
 *
 * Times    A change that was found in this way happened after the last moment at which the history
 *          was complete (the event "lost") and before now (the event "drop").  Between the two
 *          times, reports count it in upper bounds only (model/model.h).
 * Hostile  the region may claim anything: the recorder checks sizes before it reads and sums before
 *          it writes them.
 */
#include "record/process/reconcile.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/clock.h"
#include "record/process/aggregates.h"
#include "record/process/ingest.h"
#include "region/reader/view.h"

#define RECONCILE_LEAST_NS INT64_C(50000000) /* the shortest pause between reconciliations */

enum {
	/* A pause is that many times as long as the reconciliation before it. */
	RECONCILE_COST = 10,
	/* While a process runs, the recorder compares totals only up to that many rows. */
	RECONCILE_ROWS_MAX = 1 << 14,
};

static int64_t now_of(const struct gg_profile_writer *writer)
{
	return (int64_t)(gg_clock_monotonic_ns() - writer->start_ns);
}

/* Maps the numbers of the view's live samples to their indices. */
static int list_numbers(const struct gg_region_view *view, struct gg_map *ret_numbers)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (gg_map_put(ret_numbers, view->live[i].id, i) < 0)
			return -ENOMEM;
	return 0;
}

/*
 * Ends the known live samples that the view lacks: the events of their frees were lost.  It spares
 * samples with ids from `before_id` on.  Those arrived after the view was taken, so their absence
 * proves nothing.  `end_ns` is the latest time at which the blocks can have been freed.
 */
static int end_lost(struct gg_target *target, const struct gg_map *numbers, uint64_t before_id,
                    int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;
	struct gg_live_set *live_set = &target->live_set;
	struct gg_profile_sample_end end = { .missed = true, .lost = true };
	uint32_t count = live_set->samples.count;

	for (uint32_t i = 0; i < count && writer->status == 0; i++) {
		struct gg_live_set_sample *sample = &live_set->samples.items[i];

		if (sample->number == 0 || !gg_live_set_is_live(sample) ||
		    sample->id >= before_id || gg_map_get(numbers, sample->number) != GG_MAP_NONE)
			continue;
		gg_assert(sample->id != 0);
		end.free_ns = end_ns; /* a process that has ended freed it before */
		gg_profile_writer_end(writer, sample->id, &end);
		/* An inherited block counts as untimed once, as the ancestor's sample. */
		writer->counts.untimed_count += sample->number >=
		                                target->reader.header.inherited_below_id;
		gg_live_set_end(live_set, sample, target->set->round_count);
		writer->counts.lost_count++;
	}
	return writer->status;
}

/*
 * Computes the estimates of live memory anew from the view.  The running sums of ingest.c drift
 * when events are lost.
 */
static void sum_live(struct gg_target *target, const struct gg_region_view *view)
{
	target->live_bytes = target->inherited_bytes = target->chunk_bytes = 0;
	for (uint32_t i = 0; i < view->live_count; i++) {
		struct gg_draw draw = gg_region_sample_draw(&view->live[i]);
		double bytes = gg_weight_of(&draw, view->live[i].size_bytes).bytes;

		target->live_bytes += bytes;
		target->chunk_bytes += gg_ingest_chunk_bytes(&view->live[i]);
		if (gg_target_is_inherited(target, &view->live[i]))
			target->inherited_bytes += bytes;
	}
}

/* Adds the view's live samples that the target does not know: their allocation events were lost. */
static int add_unseen(struct gg_target *target, const struct gg_region_view *view)
{
	for (uint32_t i = 0; i < view->live_count && target->writer->status == 0; i++) {
		struct gg_live_set_sample *known = gg_live_set_find(&target->live_set,
		                                                    view->live[i].id);

		if (known == NULL && gg_ingest_sample(target, &view->live[i]) != NULL)
			target->writer->counts.lost_count++;
	}
	return target->writer->status;
}

int gg_reconcile_samples(struct gg_target *target, const struct gg_region_view *view,
                         uint64_t before_id, int64_t end_ns)
{
	struct gg_map numbers = { 0 };
	int status = list_numbers(view, &numbers);

	if (status < 0)
		gg_profile_writer_keep(target->writer, status);
	else
		end_lost(target, &numbers, before_id, end_ns);
	gg_map_done(&numbers);
	return add_unseen(target, view);
}

/*
 * True if the file has as many allocated bytes as its header claims to use.  An agent allocates
 * space before it uses it, so a sound region passes.  A sparse file with a forged header fails;
 * otherwise it could make the recorder read terabytes of zeros.
 */
static bool is_backed(struct gg_target *target)
{
	uint64_t used_bytes = 0;
	struct stat file;

	if (!target->is_ours || fstat(target->reader.fd, &file) < 0 ||
	    gg_region_reader_refresh(&target->reader, NULL) < 0)
		return true;
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		const struct gg_region_table *table = gg_region_table_of(&target->reader.header, i);

		if (i != GG_TABLE_RING)
			used_bytes += table->used_count * table->record_bytes;
	}
	return used_bytes <= (uint64_t)file.st_blocks * 512 + GG_REGION_PAGE_BYTES;
}

int gg_reconcile_read_view(struct gg_target *target, struct gg_region_view *ret_view,
                           struct gg_error *error)
{
	if (!is_backed(target))
		return gg_error_set(error, -EBADMSG, "the region", NULL,
		                    "says that it uses more than it has");
	return gg_region_view_read(ret_view, target->reader.fd, "the region", error);
}

void gg_reconcile_write_loss(struct gg_target *target, uint64_t drop_count, int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;

	gg_profile_writer_event(writer, target->id, target->complete_ns, "lost",
	                        "from here on events of the history were lost");
	gg_profile_writer_event(writer, target->id, end_ns, "drop",
	                        "%llu events of the history had no place in the ring",
	                        (unsigned long long)(drop_count - target->drop_count));
	target->drop_count = drop_count;
	target->last_free_ns = gg_clock_monotonic_ns();
}

/*
 * Writes aggregates for a running process, which bounds their times more closely than at its end.
 * Skips it if the view is inconsistent or has too many rows; the sums then wait for a later call.
 */
static void put_aggregates_so_far(struct gg_target *target, const struct gg_region_view *view,
                                  int64_t complete_ns)
{
	struct gg_span span = { .from_ns = target->aggregate_from_ns,
		                .to_ns = target->writer->now_ns,
		                .is_open = true };

	/* Sums with unseen inherited samples wait for the end (final_state.c). */
	if (view->torn || target->seen_is_full || view->site_total_count > RECONCILE_ROWS_MAX ||
	    gg_aggregates_inherited_unseen(target, view) > 0)
		return;
	target->has_aggregates_left = false;
	gg_aggregates_write(target, view, &span);
	/*
	 * Between the view and now, a late event can have made up for a lost one in the difference.
	 * So the next aggregates begin one step earlier, at the last complete moment before it.
	 */
	if (!target->has_aggregates_left)
		target->aggregate_from_ns = complete_ns;
}

/* Finds the changes of a running process that were lost up to now, and notes the range of times. */
static void put_losses(struct gg_target *target, const struct gg_region_view *view,
                       uint64_t before_id, uint64_t drop_count, int64_t complete_ns)
{
	int64_t end_ns = target->writer->now_ns;

	gg_reconcile_samples(target, view, before_id, end_ns);
	put_aggregates_so_far(target, view, complete_ns);
	gg_reconcile_write_loss(target, drop_count, end_ns);
}

/*
 * Takes the steps at the head of this file.  The order matters: `before_id` is read between the
 * first drain and the view, so that all samples below it are older than the view.  The history was
 * complete at `began_ns` if the first drain reached the head that the ring had at that time.
 */
static int reconcile_running(struct gg_target *target, uint64_t drop_count)
{
	struct gg_profile_writer *writer = target->writer;
	int64_t began_ns = now_of(writer), complete_ns = target->complete_ns;
	uint64_t before_id, head = gg_ring_head(&target->ring);
	bool is_drained;
	struct gg_region_view view;

	gg_assert(target->has_ring && !target->is_finished);
	gg_ingest_drain(target, false);
	is_drained = target->ring.tail >= head;
	before_id = writer->next_id;
	if (gg_reconcile_read_view(target, &view, NULL) < 0)
		return writer->status;
	gg_ingest_drain(target, false);
	gg_stack_map_update(&target->stack_map, &target->reader, writer);
	writer->now_ns = now_of(writer);
	if (drop_count != target->drop_count)
		put_losses(target, &view, before_id, drop_count, complete_ns);
	else
		add_unseen(target, &view);
	if (is_drained)
		target->complete_ns = began_ns;
	sum_live(target, &view);
	gg_region_view_done(&view);
	target->next_reconcile_ns = writer->now_ns + RECONCILE_COST * (now_of(writer) - began_ns);
	if (target->next_reconcile_ns < writer->now_ns + RECONCILE_LEAST_NS)
		target->next_reconcile_ns = writer->now_ns + RECONCILE_LEAST_NS;
	return writer->status;
}

/* Reads how many events did not fit into the ring.  False: no ring is read, or reading failed. */
static bool read_drop_count(const struct gg_target *target, uint64_t *ret_drop_count)
{
	return target->has_ring && !target->is_finished &&
	       gg_region_reader_counter(&target->reader, GG_COUNT_DROP_EVENTS, ret_drop_count);
}

bool gg_reconcile_is_lossy(const struct gg_target *target)
{
	uint64_t drop_count;

	return read_drop_count(target, &drop_count) && drop_count != target->drop_count;
}

int gg_reconcile(struct gg_target *target)
{
	uint64_t drop_count;

	if (!read_drop_count(target, &drop_count))
		return target->writer->status;
	return reconcile_running(target, drop_count);
}

int gg_reconcile_if_lossy(struct gg_target *target)
{
	if (target->writer->now_ns < target->next_reconcile_ns || !gg_reconcile_is_lossy(target))
		return target->writer->status;
	return gg_reconcile(target);
}
