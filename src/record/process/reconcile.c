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
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "record/process/target.h"
#include "region/reader/view.h"
#include "unwind/unwind.h"

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
		end.free_ns = end_ns; /* a process that has ended freed it before */
		gg_profile_writer_end(writer, sample->id, &end);
		/* An inherited block counts as untimed once, as the ancestor's sample. */
		writer->untimed_count += sample->number >= target->reader.header.inherited_below_id;
		gg_live_set_end(live_set, sample, target->set->round_count);
		writer->lost_count++;
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
		target->chunk_bytes += gg_target_chunk_bytes(&view->live[i]);
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

		if (known == NULL && gg_target_ensure_sample(target, &view->live[i]) != NULL)
			target->writer->lost_count++;
	}
	return target->writer->status;
}

/* Makes the known live samples equal to those of the view, with the arguments of end_lost(). */
static int reconcile_samples(struct gg_target *target, const struct gg_region_view *view,
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

static int read_view(struct gg_target *target, struct gg_region_view *ret_view,
                     struct gg_error *error)
{
	if (!is_backed(target))
		return gg_error_set(error, -EBADMSG, "the region", NULL,
		                    "says that it uses more than it has");
	return gg_region_view_read(ret_view, target->reader.fd, "the region", error);
}

/* --- the end --- */

/*
 * A site total of the region with the profile's ids.  Several nodes of the region can become one
 * stack of the profile, and their rows one total.
 */
struct total_row {
	uint32_t stack, thread, index;
};

static int compare_total_rows(const void *a, const void *b)
{
	const struct total_row *left = a, *right = b;

	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static void add_site_total(struct gg_profile_total *total, const struct gg_region_site_total *row)
{
	gg_sums_add(&total->allocated, &row->allocated);
	gg_sums_add(&total->freed, &row->freed);
	for (int i = 0; i < GG_REGION_LIFETIME_COUNT; i++)
		total->lifetimes[i] += row->lifetimes[i];
}

/* Writes the totals of each stack and thread.  Sorting brings the rows of one total together. */
static int put_totals(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;
	struct total_row *rows = calloc(view->site_total_count + 1, sizeof(*rows));
	uint32_t count = 0;

	if (rows == NULL)
		return gg_profile_writer_keep(writer, -ENOMEM);
	for (uint32_t i = 0; i < view->site_total_count && writer->status == 0; i++) {
		const struct gg_region_site_total *total = &view->site_totals[i];

		if (total->allocated.sample_count == 0 && total->freed.sample_count == 0)
			continue;
		rows[count++] = (struct total_row){
			.stack = gg_stack_map_stack(&target->stack_map, &target->reader, writer,
			                            total->stack, UINT64_MAX),
			.thread = gg_target_thread(target, total->thread),
			.index = i,
		};
	}
	qsort(rows, count, sizeof(*rows), compare_total_rows);
	for (uint32_t i = 0; i < count && writer->status == 0;) {
		struct gg_profile_total total = { .process = target->id,
			                          .thread = rows[i].thread,
			                          .stack = rows[i].stack };
		uint32_t first = i;

		if (i % 1024 == 0)
			gg_profile_writer_progress(writer);
		while (i < count && compare_total_rows(&rows[first], &rows[i]) == 0)
			add_site_total(&total, &view->site_totals[rows[i++].index]);
		writer->taken_count += total.allocated.sample_count;
		gg_profile_writer_keep(
			writer, gg_profile_put_total(writer->profile, &total, writer->error));
	}
	free(rows);
	return writer->status;
}

/* True if the differences can be sums.  In a damaged region, totals may be below the samples. */
static bool are_sums(const struct gg_sums *sums)
{
	return sums->size_bytes <= INT64_MAX && gg_fixed_value(sums->count) >= 0 &&
	       gg_fixed_value(sums->count_variance) >= 0 && gg_fixed_value(sums->bytes) >= 0 &&
	       gg_fixed_value(sums->bytes_variance) >= 0;
}

/*
 * Writes one aggregate; true: it was written.  While the process runs, an event may arrive after
 * the view was taken, and its sample makes the difference negative.  In an open span such sums wait
 * for the next reconciliation; otherwise they count as damaged.
 */
static bool add_coarse(struct gg_target *target, uint32_t node, uint32_t thread,
                       const struct gg_sums *sums, const struct gg_span *span)
{
	struct gg_profile_writer *writer = target->writer;
	struct gg_profile_coarse coarse = {
		.process = target->id,
		.thread = gg_target_thread(target, thread),
		.stack = gg_stack_map_stack(&target->stack_map, &target->reader, writer, node,
		                            UINT64_MAX),
		.from_ns = span->from_ns,
		.to_ns = span->to_ns,
		.bucket_ns = span->bucket_ns,
		.size_class = 255,
		.interval_bytes = target->record.interval_bytes,
		.sums = *sums,
		.lost = true,
		.is_shared = target->is_shared,
	};

	if (!are_sums(sums)) {
		if (span->is_open)
			target->has_coarse_left = true;
		else
			target->bad_count++;
		return false;
	}
	writer->lost_count += sums->sample_count;
	writer->untimed_count += sums->sample_count;
	writer->coarse_count += sums->sample_count;
	return gg_profile_writer_keep(
		       writer, gg_profile_add_coarse(writer->profile, &coarse, writer->error)) == 0;
}

struct unseen_sums {
	uint32_t node, thread;
	/* allocated samples without an event; < 0: the region counts some in another row */
	int64_t sample_count;
	struct gg_sums sums;
};

static int compare_unseen(const void *a, const void *b)
{
	const struct unseen_sums *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static struct unseen_sums unseen_sums_of(uint32_t node, uint32_t thread,
                                         const struct gg_sums *total, const struct gg_sums *seen)
{
	struct unseen_sums unseen = { .node = node, .thread = thread, .sums = *total };

	gg_sums_subtract(&unseen.sums, seen);
	unseen.sample_count = (int64_t)unseen.sums.sample_count;
	return unseen;
}

/* Counts the sums as seen, so that the next aggregate does not contain them again. */
static void mark_seen(struct gg_target *target, const struct unseen_sums *unseen_sums)
{
	struct gg_seen *seen = gg_target_seen(target, unseen_sums->node, unseen_sums->thread);

	gg_sums_add(&target->seen_sums, &unseen_sums->sums);
	if (seen != NULL)
		gg_sums_add(&seen->sums, &unseen_sums->sums);
	else
		target->seen_is_full = true;
}

/*
 * Writes the unseen sums of one stack, one aggregate for each thread.  When site totals run out,
 * the region counts several threads in one row (folding).  Then single threads have negative
 * differences, and only the sum over all threads is right: it becomes one aggregate without a
 * thread.
 */
static void write_unseen(struct gg_target *target, const struct unseen_sums *unseen, uint32_t count,
                         const struct gg_span *span)
{
	struct gg_sums sum = { 0 };
	int64_t sample_count = 0;
	bool is_folded = false;

	for (uint32_t i = 0; i < count; i++) {
		is_folded |= unseen[i].sample_count < 0;
		sample_count += unseen[i].sample_count;
		gg_sums_add(&sum, &unseen[i].sums);
	}
	if (is_folded && sample_count > 0 && add_coarse(target, unseen[0].node, 0, &sum, span))
		for (uint32_t i = 0; i < count; i++)
			mark_seen(target, &unseen[i]);
	for (uint32_t i = 0; i < count && !is_folded; i++)
		if (unseen[i].sample_count > 0 &&
		    add_coarse(target, unseen[i].node, unseen[i].thread, &unseen[i].sums, span))
			mark_seen(target, &unseen[i]);
}

/*
 * Writes one aggregate for all stacks.  Once `seen` is full, no stack's own difference is known,
 * but the sums over all stacks still are.
 */
static int put_coarse_sum(struct gg_target *target, const struct gg_region_view *view,
                          const struct gg_span *span)
{
	struct gg_region_totals totals = gg_region_view_totals(view);

	gg_sums_subtract(&totals.allocated, &target->seen_sums);
	if ((int64_t)totals.allocated.sample_count <= 0)
		return 0;
	if (add_coarse(target, GG_STACK_EMPTY, 0, &totals.allocated, span))
		gg_sums_add(&target->seen_sums, &totals.allocated);
	return target->writer->status;
}

/*
 * Writes as aggregates the blocks that were allocated and freed without any event arriving: totals
 * minus known samples.
 *
 *   1. Each row of the totals is compared with the known samples of its stack and thread.  If two
 *      rows have the same key, only the first is: `used` keeps samples from being subtracted twice.
 *   2. Known samples without a row are in a folded row, so they enter with a negative count.
 *   3. Sorting brings the threads of a stack together for write_unseen().
 */
static int put_coarse(struct gg_target *target, const struct gg_region_view *view,
                      const struct gg_span *span)
{
	static const struct gg_sums nothing;
	uint32_t most = view->site_total_count + target->seen.count, count = 0;
	struct unseen_sums *unseen = calloc(most > 0 ? most : 1, sizeof(*unseen));
	uint8_t *used = calloc(target->seen.count + 1, 1);

	if (target->seen_is_full) {
		free(unseen);
		free(used);
		return put_coarse_sum(target, view, span);
	}
	if (unseen == NULL || used == NULL) {
		free(unseen);
		free(used);
		return gg_profile_writer_keep(target->writer, -ENOMEM);
	}
	for (uint32_t i = 0; i < view->site_total_count; i++) {
		const struct gg_region_site_total *row = &view->site_totals[i];
		uint64_t key = (uint64_t)row->stack << 16 | (row->thread & 0xffff);
		uint64_t seen = gg_map_get(&target->seen_map, key);
		bool is_first = seen != GG_MAP_NONE && !used[seen];

		if (is_first)
			used[seen] = 1;
		unseen[count] = unseen_sums_of(row->stack, row->thread, &row->allocated,
		                               is_first ? &target->seen.items[seen].sums
		                                        : &nothing);
		count += unseen[count].sample_count != 0 || unseen[count].sums.size_bytes != 0;
	}
	for (uint32_t i = 0; i < target->seen.count; i++)
		if (!used[i])
			unseen[count++] = unseen_sums_of(target->seen.items[i].node,
			                                 target->seen.items[i].thread, &nothing,
			                                 &target->seen.items[i].sums);
	qsort(unseen, count, sizeof(*unseen), compare_unseen);
	for (uint32_t i = 0, end; i < count; i = end) {
		if (i % 1024 == 0)
			gg_profile_writer_progress(target->writer);
		for (end = i + 1; end < count && unseen[end].node == unseen[i].node;)
			end++;
		write_unseen(target, unseen + i, end - i, span);
	}
	free(unseen);
	free(used);
	return target->writer->status;
}

/* Writes the two events that bound a loss: when the history was last complete, and now. */
static void write_lost_events(struct gg_target *target, uint64_t drop_count, int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;

	gg_profile_writer_event(writer, target->id, target->complete_ns, "lost",
	                        "from here on events of the history were lost");
	gg_profile_writer_event(writer, target->id, end_ns, "drop",
	                        "%llu events of the history had no place in the ring",
	                        (unsigned long long)(drop_count - target->drop_count));
	target->drop_count = drop_count;
}

/*
 * Returns how many inherited samples a forked process freed before the recorder saw them.  They
 * have no identity: the totals add them to the blocks that the process allocated and freed itself.
 */
static uint64_t count_inherited_unseen(const struct gg_target *target,
                                       const struct gg_region_view *view)
{
	uint64_t count = view->header.counters[GG_COUNT_INHERITED];

	return count > target->inherited_count ? count - target->inherited_count : 0;
}

/*
 * Writes aggregates for a running process, which bounds their times more closely than at its end.
 * Skips it if the view is inconsistent or has too many rows; the sums then wait for a later call.
 */
static void put_coarse_so_far(struct gg_target *target, const struct gg_region_view *view,
                              int64_t complete_ns)
{
	struct gg_span span = { .from_ns = target->coarse_from_ns,
		                .to_ns = target->writer->now_ns,
		                .is_open = true };

	/* Sums with unseen inherited samples wait for the end, for has_only_inherited(). */
	if (view->torn || target->seen_is_full || view->site_total_count > RECONCILE_ROWS_MAX ||
	    count_inherited_unseen(target, view) > 0)
		return;
	target->has_coarse_left = false;
	put_coarse(target, view, &span);
	/*
	 * Between the view and now, a late event can have made up for a lost one in the difference.
	 * So the next aggregates begin one step earlier, at the last complete moment before it.
	 */
	if (!target->has_coarse_left)
		target->coarse_from_ns = complete_ns;
}

/* Finds the changes of a running process that were lost up to now, and notes the range of times. */
static void put_losses(struct gg_target *target, const struct gg_region_view *view,
                       uint64_t before_id, uint64_t drop_count, int64_t complete_ns)
{
	int64_t end_ns = target->writer->now_ns;

	reconcile_samples(target, view, before_id, end_ns);
	put_coarse_so_far(target, view, complete_ns);
	write_lost_events(target, drop_count, end_ns);
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

	gg_target_drain(target, false);
	is_drained = target->ring.tail >= head;
	before_id = writer->next_id;
	if (read_view(target, &view, NULL) < 0)
		return writer->status;
	gg_target_drain(target, false);
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

bool gg_target_is_lossy(const struct gg_target *target)
{
	uint64_t drop_count;

	return read_drop_count(target, &drop_count) && drop_count != target->drop_count;
}

int gg_target_reconcile(struct gg_target *target)
{
	uint64_t drop_count;

	if (!read_drop_count(target, &drop_count))
		return target->writer->status;
	return reconcile_running(target, drop_count);
}

int gg_target_reconcile_if_lossy(struct gg_target *target)
{
	if (target->writer->now_ns < target->next_reconcile_ns || !gg_target_is_lossy(target))
		return target->writer->status;
	return gg_target_reconcile(target);
}

static int put_counters(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;

	for (uint32_t i = 0; i < GG_COUNTER_COUNT && writer->status == 0; i++) {
		const char *name = gg_region_counter_name(i);

		if (name != NULL && view->header.counters[i] != 0)
			gg_profile_writer_keep(
				writer,
				gg_profile_put_counter(writer->profile, target->id, name,
			                               view->header.counters[i], writer->error));
	}
	for (int i = 0; i < GG_UNWIND_ENDINGS && writer->status == 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "walks: %s",
		         gg_unwind_ending_text((enum gg_unwind_ending)i));
		if (view->header.unwind_endings[i] != 0)
			gg_profile_writer_keep(
				writer, gg_profile_put_counter(writer->profile, target->id, name,
			                                       view->header.unwind_endings[i],
			                                       writer->error));
	}
	return writer->status;
}

/*
 * Updates the threads in the profile: their last names and ends.  Skips threads that no sample
 * named, since the profile does not have them.  Threads that still ran get `end_ns`.
 */
static int put_threads(struct gg_target *target, const struct gg_region_view *view, int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;

	for (uint32_t i = 1; i < view->thread_count && i < target->threads.count; i++) {
		const struct gg_region_thread_record *row = &view->threads[i];
		char name[sizeof(row->name) + 1];
		struct gg_profile_thread thread = {
			.process = target->id,
			.tid = row->tid,
			.start_ns = gg_profile_writer_time(writer, row->start_ns),
			.end_ns = row->end_ns != 0 ? gg_profile_writer_time(writer, row->end_ns)
			                           : end_ns,
			.name = name,
		};

		if (target->threads.items[i] == 0 || row->ready != 1)
			continue;
		memcpy(name, row->name, sizeof(row->name));
		name[sizeof(row->name)] = '\0';
		if (row->tid == view->header.pid && target->main_thread[0] != '\0')
			memcpy(name, target->main_thread, sizeof(target->main_thread));
		thread.id = target->threads.items[i];
		gg_profile_writer_keep(writer, gg_profile_update_thread(writer->profile, thread.id,
		                                                        &thread, writer->error));
	}
	return writer->status;
}

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
	writer->lost_child_count += target->is_ours ? counters[GG_COUNT_LOST_CHILDREN] : 0;
	writer->dropped_count += dropped;
	writer->dropped_event_count += target->is_ours ? counters[GG_COUNT_DROP_EVENTS] : 0;
	writer->damaged_count += target->bad_count + view->damaged_count;
}

/* Updates the addresses of live objects: garbage collectors have moved them without any event. */
static int put_moved(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;

	for (uint32_t i = 0; i < view->live_count && writer->status == 0; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		const struct gg_live_set_sample *known;

		if (sample->heap == 0)
			continue;
		known = gg_live_set_find(&target->live_set, sample->id);
		if (known != NULL && gg_live_set_is_live(known))
			gg_profile_writer_move(writer, known->id, gg_target_address(sample),
			                       (sample->flags & GG_REGION_SAMPLE_OLD) != 0);
	}
	return writer->status;
}

/*
 * True if the totals exceed the known samples only by inherited blocks that the process freed
 * before the recorder saw them.  The ancestor's samples stand for these, so an aggregate would
 * count them twice.  If other blocks are among them, nobody can tell which: then the aggregates are
 * marked as shared (struct gg_profile_coarse).
 */
static bool has_only_inherited(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_sums rest = gg_region_view_totals(view).allocated;
	uint64_t freed_count;

	if (target->reader.header.inherited_below_id == 0)
		return false;
	freed_count = count_inherited_unseen(target, view);
	if (freed_count == 0)
		return false;
	gg_sums_subtract(&rest, &target->seen_sums);
	if (rest.sample_count == freed_count)
		return true;
	target->is_shared = true;
	target->writer->shared_count++;
	return false;
}

/*
 * Reads the region for the last time and writes everything that it tells: live samples, losses,
 * totals, threads, and counters.  `end_ns` is its latest possible end.  A dead process changes
 * nothing after the view, so every known sample can be compared with the view.
 */
static int take_final_state(struct gg_target *target, int64_t end_ns)
{
	struct gg_profile_writer *writer = target->writer;
	bool is_dead = end_ns != GG_TIME_NONE;
	struct gg_span span = { .from_ns = target->has_ring ? target->coarse_from_ns
		                                            : target->record.start_ns };
	uint64_t before_id = is_dead ? UINT64_MAX : writer->next_id;
	uint64_t lost_count = writer->lost_count;
	struct gg_error error = { 0 };
	struct gg_region_view view;

	if (read_view(target, &view, &error) < 0)
		return gg_profile_writer_event(writer, target->id, writer->now_ns, "damage",
		                               "the last state of the region %s", error.message);
	if (!is_dead)
		gg_target_drain(target, false);
	gg_stack_map_update(&target->stack_map, &target->reader, writer);
	span.to_ns = is_dead ? end_ns : writer->now_ns;
	reconcile_samples(target, &view, before_id, span.to_ns);
	put_moved(target, &view);
	put_totals(target, &view);
	if (!has_only_inherited(target, &view))
		put_coarse(target, &view, &span);
	/* Without a recorder nobody noted when sampling was off: the event gets the start. */
	if (!target->is_ours &&
	    (view.header.control.active == 0 || view.header.counters[GG_COUNT_DROP_OFF] > 0))
		gg_profile_writer_event(writer, target->id, target->record.start_ns, "off",
		                        "it was switched off at some time");
	if (target->is_ours && (view.header.counters[GG_COUNT_DROP_EVENTS] != target->drop_count ||
	                        writer->lost_count != lost_count))
		write_lost_events(target, view.header.counters[GG_COUNT_DROP_EVENTS], span.to_ns);
	put_threads(target, &view, end_ns);
	put_counters(target, &view);
	write_losses(target, &view, span.to_ns);
	gg_stack_map_write(&target->stack_map, writer);
	gg_region_view_done(&view);
	return writer->status;
}

int gg_target_apply_view(struct gg_target *target, const struct gg_region_view *view,
                         const struct gg_span *span)
{
	struct gg_profile_writer *writer = target->writer;
	uint64_t lost_count = writer->lost_count;

	gg_stack_map_update(&target->stack_map, &target->reader, target->writer);
	reconcile_samples(
		target, view, UINT64_MAX,
		target->writer->now_ns); /* every known sample comes from an earlier view */
	if (writer->lost_count != lost_count) {
		gg_profile_writer_event(writer, target->id, target->complete_ns, "lost",
		                        "what was freed from here on was found at the next look");
		gg_profile_writer_event(writer, target->id, writer->now_ns, "reconciled", "a look");
	}
	target->complete_ns = span->to_ns;
	put_coarse(target, view, span);
	put_threads(target, view, GG_TIME_NONE);
	put_counters(target, view);
	return target->writer->status;
}

int gg_target_finish(struct gg_target *target, struct gg_target_end end, const char *ending)
{
	struct gg_profile_writer *writer = target->writer;
	int64_t end_ns = end.end_ns;

	if (target->is_finished)
		return writer->status;
	if (target->is_ours)
		gg_target_watch_control(target);
	gg_profile_writer_expose(writer, &target->record, &target->control);
	/*
	 * A drain reads one round of the ring at most.  The second drain reads the events that
	 * arrived during the first; a dead process adds no more.
	 */
	gg_target_drain(target, end_ns != GG_TIME_NONE);
	gg_target_drain(target, end_ns != GG_TIME_NONE);
	target->record.end_ns = end_ns;
	target->record.end_range_ns = end.least_ns < end_ns ? end_ns - end.least_ns : 0;
	if (writer->status == 0)
		take_final_state(target, end_ns);
	target->record.ending = ending;
	gg_profile_writer_keep(writer, gg_profile_update_process(writer->profile, target->id,
	                                                         &target->record, writer->error));
	gg_target_close(target);
	return writer->status;
}
