/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State wins (record/target.h): what the history of a process lost is found in its region.
 *
 * While it runs   the view is taken first and the ring drained afterwards.  A sample that is held here
 *                 and was not there has been freed; if its event has not come by then it was lost.
 *                 (A thread that stands between the two since then still puts it: the entry is kept
 *                 for a while after its end, and the event finds it ended.)
 * At the end      the same, and what totals say beyond the samples becomes coarse rows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record/target.h"
#include "region/view.h"
#include "unwind/unwind.h"

#define YOUNG_NS INT64_C(1000000000)

/*
 * A sample has its time before it is published, and its thread may have to wait between the two: what is
 * younger than this may be in the history and not yet in the view.
 */
static uint64_t a_while_ago(const struct gg_output *output)
{
	return output->start_ns +
	       (output->now_ns > YOUNG_NS ? (uint64_t)(output->now_ns - YOUNG_NS) : 0);
}

/* The numbers of the samples that a view holds. */
static int list_numbers(const struct gg_region_view *view, struct gg_map *ret_numbers)
{
	for (uint32_t i = 0; i < view->live_count; i++)
		if (gg_map_put(ret_numbers, view->live[i].id, i) < 0)
			return -ENOMEM;
	return 0;
}

/* Ends what is held here and not there, if it is older than the view. */
static int end_lost(struct gg_target *target, const struct gg_map *numbers, uint64_t before_ns)
{
	struct gg_output *output = target->output;
	struct gg_held *held = &target->held;
	struct gg_sample_end end = { .missed = true };
	uint32_t count = held->used_count;

	for (uint32_t i = 0; i < count && output->status == 0; i++) {
		struct gg_held_sample *sample = &held->samples[i];

		if (sample->number == 0 || !gg_held_is_live(sample) ||
		    sample->time_ns >= before_ns ||
		    gg_map_get(numbers, sample->number) != GG_MAP_NONE)
			continue;
		/* A process that has ended freed it before. */
		end.free_ns = target->record.end_ns != GG_TIME_NONE ? target->record.end_ns
		                                                    : output->now_ns;
		gg_output_end(output, sample->id, &end);
		gg_held_end(held, sample);
		output->lost_count++;
	}
	return output->status;
}

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

/* Takes over what the view holds. */
static int settle(struct gg_target *target, const struct gg_region_view *view, uint64_t before_ns)
{
	struct gg_map numbers = { 0 };
	int status = list_numbers(view, &numbers);

	if (status < 0)
		gg_output_keep(target->output, status);
	else
		end_lost(target, &numbers, before_ns);
	gg_map_done(&numbers);
	for (uint32_t i = 0; i < view->live_count && target->output->status == 0; i++) {
		struct gg_held_sample *held = gg_held_find(&target->held, view->live[i].id);

		if (held == NULL && gg_target_hold(target, &view->live[i]) != NULL)
			target->output->lost_count++;
	}
	return target->output->status;
}

/*
 * Agents have space allocated before they use it, so what a session's region says that it uses is there.
 * One that says more would have us read terabytes of zeros.
 */
static bool is_backed(struct gg_target *target)
{
	uint64_t used_bytes = 0;
	struct stat file;

	if (!target->is_ours || fstat(target->source.fd, &file) < 0 ||
	    gg_source_refresh(&target->source, NULL) < 0)
		return true;
	for (int i = 0; i < GG_TABLE_COUNT; i++) {
		const struct gg_region_table *table = gg_region_table_of(&target->source.header, i);

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
	return gg_region_view_read(ret_view, target->source.fd, "the region", error);
}

int gg_target_settle(struct gg_target *target)
{
	uint64_t before_ns = a_while_ago(target->output);
	struct gg_region_view view;

	if (read_view(target, &view, NULL) < 0)
		return target->output->status;
	gg_target_drain(target, false);
	gg_places_update(&target->places, &target->source, target->output);
	settle(target, &view, before_ns);
	sum_live(target, &view);
	gg_region_view_done(&view);
	return target->output->status;
}

/* --- the end --- */

/* A row of the region and where it goes: nodes that mean the same stack are one total. */
struct place {
	uint32_t stack, thread, row;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static void add_row(struct gg_total *total, const struct gg_region_row *row)
{
	gg_sums_add(&total->allocated, &row->allocated);
	gg_sums_add(&total->freed, &row->freed);
	for (int i = 0; i < GG_REGION_LIFETIME_COUNT; i++)
		total->lifetimes[i] += row->lifetimes[i];
}

static int put_totals(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_output *output = target->output;
	struct place *places = calloc(view->row_count + 1, sizeof(*places));
	uint32_t count = 0;

	if (places == NULL)
		return gg_output_keep(output, -ENOMEM);
	for (uint32_t i = 0; i < view->row_count && output->status == 0; i++) {
		const struct gg_region_row *row = &view->rows[i];

		if (row->allocated.sample_count == 0 && row->freed.sample_count == 0)
			continue;
		places[count++] = (struct place){
			.stack = gg_places_stack(&target->places, &target->source, output,
			                         row->stack, UINT64_MAX),
			.thread = gg_target_thread(target, row->thread),
			.row = i,
		};
	}
	qsort(places, count, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < count && output->status == 0;) {
		struct gg_total total = { .process = target->id,
			                  .thread = places[i].thread,
			                  .stack = places[i].stack };
		uint32_t first = i;

		if (i % 1024 == 0)
			gg_output_progress(output);
		while (i < count && compare_places(&places[first], &places[i]) == 0)
			add_row(&total, &view->rows[places[i++].row]);
		output->taken_count += total.allocated.sample_count;
		gg_output_keep(output,
		               gg_profile_put_total(output->profile, &total, output->error));
	}
	free(places);
	return output->status;
}

/* Totals that somebody spoilt may be less than what was seen. */
static bool are_sums(const struct gg_sums *sums)
{
	return sums->size_bytes <= INT64_MAX && gg_fixed_value(sums->count) >= 0 &&
	       gg_fixed_value(sums->count_variance) >= 0 && gg_fixed_value(sums->bytes) >= 0 &&
	       gg_fixed_value(sums->bytes_variance) >= 0;
}

/* True if it was written. */
static bool add_coarse(struct gg_target *target, uint32_t node, uint32_t thread,
                       const struct gg_sums *sums, const struct gg_span *span)
{
	struct gg_output *output = target->output;
	struct gg_coarse coarse = {
		.process = target->id,
		.thread = gg_target_thread(target, thread),
		.stack = gg_places_stack(&target->places, &target->source, output, node,
		                         UINT64_MAX),
		.from_ns = span->from_ns,
		.to_ns = span->to_ns,
		.bucket_ns = span->bucket_ns,
		.size_class = 255,
		.interval_bytes = target->record.interval_bytes,
		.sums = *sums,
		.lost = true,
	};

	if (!are_sums(sums)) {
		target->bad_count++;
		return false;
	}
	output->lost_count += sums->sample_count;
	output->coarse_count += sums->sample_count;
	return gg_output_keep(output,
	                      gg_profile_add_coarse(output->profile, &coarse, output->error)) == 0;
}

struct rest {
	uint32_t node, thread;
	int64_t sample_count; /* allocated and not seen; < 0: counted in another thread's row */
	struct gg_sums sums;
};

static int compare_rests(const void *a, const void *b)
{
	const struct rest *left = a, *right = b;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static struct rest rest_of(uint32_t node, uint32_t thread, const struct gg_sums *total,
                           const struct gg_sums *seen)
{
	struct rest rest = { .node = node, .thread = thread, .sums = *total };

	gg_sums_subtract(&rest.sums, seen);
	rest.sample_count = (int64_t)rest.sums.sample_count;
	return rest;
}

/* What is in a coarse row is not to be in the next. */
static void see(struct gg_target *target, const struct rest *rest)
{
	struct gg_seen *seen = gg_target_seen(target, rest->node, rest->thread);

	gg_sums_add(&target->seen_sums, &rest->sums);
	if (seen != NULL)
		gg_sums_add(&seen->sums, &rest->sums);
	else
		target->seen_is_full = true;
}

/* Writes what one stack has left.  By thread, unless a row counts for other threads too (folding). */
static void write_rests(struct gg_target *target, const struct rest *rests, uint32_t count,
                        const struct gg_span *span)
{
	struct gg_sums sum = { 0 };
	int64_t sample_count = 0;
	bool is_folded = false;

	for (uint32_t i = 0; i < count; i++) {
		is_folded |= rests[i].sample_count < 0;
		sample_count += rests[i].sample_count;
		gg_sums_add(&sum, &rests[i].sums);
	}
	if (is_folded && sample_count > 0 && add_coarse(target, rests[0].node, 0, &sum, span))
		for (uint32_t i = 0; i < count; i++)
			see(target, &rests[i]);
	for (uint32_t i = 0; i < count && !is_folded; i++)
		if (rests[i].sample_count > 0 &&
		    add_coarse(target, rests[i].node, rests[i].thread, &rests[i].sums, span))
			see(target, &rests[i]);
}

/* Too many stacks to tell them apart: one row for all. */
static int put_coarse_sum(struct gg_target *target, const struct gg_region_view *view,
                          const struct gg_span *span)
{
	struct gg_region_totals totals = gg_region_view_totals(view);

	gg_sums_subtract(&totals.allocated, &target->seen_sums);
	if ((int64_t)totals.allocated.sample_count <= 0)
		return 0;
	if (add_coarse(target, GG_STACK_EMPTY, 0, &totals.allocated, span))
		gg_sums_add(&target->seen_sums, &totals.allocated);
	return target->output->status;
}

/* What was allocated and freed while nobody looked: totals minus samples. */
static int put_coarse(struct gg_target *target, const struct gg_region_view *view,
                      const struct gg_span *span)
{
	static const struct gg_sums nothing;
	uint32_t most = view->row_count + target->seen_count, count = 0;
	struct rest *rests = calloc(most > 0 ? most : 1, sizeof(*rests));
	uint8_t *used = calloc(target->seen_count + 1, 1);

	if (target->seen_is_full) {
		free(rests);
		free(used);
		return put_coarse_sum(target, view, span);
	}
	if (rests == NULL || used == NULL) {
		free(rests);
		free(used);
		return gg_output_keep(target->output, -ENOMEM);
	}
	for (uint32_t i = 0; i < view->row_count; i++) {
		const struct gg_region_row *row = &view->rows[i];
		uint64_t key = (uint64_t)row->stack << 16 | (row->thread & 0xffff);
		uint64_t seen = gg_map_get(&target->seen_map, key);
		bool is_first = seen != GG_MAP_NONE && !used[seen];

		if (is_first)
			used[seen] = 1;
		rests[count] = rest_of(row->stack, row->thread, &row->allocated,
		                       is_first ? &target->seen[seen].sums : &nothing);
		count += rests[count].sample_count != 0 || rests[count].sums.size_bytes != 0;
	}
	for (uint32_t i = 0; i < target->seen_count; i++)
		if (!used[i])
			rests[count++] = rest_of(target->seen[i].node, target->seen[i].thread,
			                         &nothing, &target->seen[i].sums);
	qsort(rests, count, sizeof(*rests), compare_rests);
	for (uint32_t i = 0, end; i < count; i = end) {
		if (i % 1024 == 0)
			gg_output_progress(target->output);
		for (end = i + 1; end < count && rests[end].node == rests[i].node;)
			end++;
		write_rests(target, rests + i, end - i, span);
	}
	free(rests);
	free(used);
	return target->output->status;
}

static int put_counters(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_output *output = target->output;

	for (uint32_t i = 0; i < GG_COUNTER_COUNT && output->status == 0; i++) {
		const char *name = gg_region_counter_name(i);

		if (name != NULL && view->header.counters[i] != 0)
			gg_output_keep(output, gg_profile_put_counter(
						       output->profile, target->id, name,
						       view->header.counters[i], output->error));
	}
	for (int i = 0; i < GG_UNWIND_ENDINGS && output->status == 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "walks: %s",
		         gg_unwind_ending_text((enum gg_unwind_ending)i));
		if (view->header.unwind_endings[i] != 0)
			gg_output_keep(output,
			               gg_profile_put_counter(output->profile, target->id, name,
			                                      view->header.unwind_endings[i],
			                                      output->error));
	}
	return output->status;
}

static int put_threads(struct gg_target *target, const struct gg_region_view *view, int64_t end_ns)
{
	struct gg_output *output = target->output;

	for (uint32_t i = 1; i < view->thread_count && i < target->thread_capacity; i++) {
		const struct gg_region_thread_row *row = &view->threads[i];
		char name[sizeof(row->name) + 1];
		struct gg_thread thread = {
			.process = target->id,
			.tid = row->tid,
			.start_ns = gg_output_time(output, row->start_ns),
			.end_ns = row->end_ns != 0 ? gg_output_time(output, row->end_ns) : end_ns,
			.name = name,
		};

		if (target->threads[i] == 0 || row->ready != 1)
			continue;
		memcpy(name, row->name, sizeof(row->name));
		name[sizeof(row->name)] = '\0';
		if (row->tid == view->header.pid && target->main_thread[0] != '\0')
			memcpy(name, target->main_thread, sizeof(target->main_thread));
		thread.id = target->threads[i];
		gg_output_keep(output, gg_profile_update_thread(output->profile, thread.id, &thread,
		                                                output->error));
	}
	return output->status;
}

/* What people should know of how complete this is. */
static void tell_losses(struct gg_target *target, const struct gg_region_view *view)
{
	const uint64_t *counters = view->header.counters;
	uint64_t dropped = gg_region_dropped(&view->header);
	struct gg_output *output = target->output;

	if (target->is_ours && counters[GG_COUNT_DROP_EVENTS] != target->drop_count)
		gg_output_event(
			output, target->id, output->now_ns, "drop",
			"%llu events of the history had no place in the ring",
			(unsigned long long)(counters[GG_COUNT_DROP_EVENTS] - target->drop_count));
	if (dropped > 0)
		gg_output_event(output, target->id, output->now_ns, "drop",
		                "%llu samples or frees were not recorded",
		                (unsigned long long)dropped);
	if (counters[GG_COUNT_LOST_CHILDREN] > 0)
		gg_output_note(
			output,
			"%llu process%s that process %u forked could have no region (no place, no "
			"permission, or a sandbox): not in this profile.",
			(unsigned long long)counters[GG_COUNT_LOST_CHILDREN],
			counters[GG_COUNT_LOST_CHILDREN] == 1 ? "" : "es", target->pid);
	if (target->bad_count + view->damaged_count > 0)
		gg_output_event(output, target->id, output->now_ns, "damage",
		                "%llu records of the region were left out: no writer makes such",
		                (unsigned long long)(target->bad_count + view->damaged_count));
	if (view->torn)
		gg_output_event(output, target->id, output->now_ns, "torn",
		                "the last state was read while the process went on");
	if (view->torn && !target->is_ours)
		gg_output_note(
			output,
			"Process %u went on while its region was read: what is live and what "
			"was freed may differ by what happened in that moment.",
			target->pid);
	output->dropped_count += dropped;
	output->dropped_event_count += target->is_ours ? counters[GG_COUNT_DROP_EVENTS] : 0;
	output->damaged_count += target->bad_count + view->damaged_count;
}

/* Where collectors have moved the objects that are live. */
static int put_moved(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_output *output = target->output;

	for (uint32_t i = 0; i < view->live_count && output->status == 0; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		const struct gg_held_sample *held;

		if (sample->heap == 0)
			continue;
		held = gg_held_find(&target->held, sample->id);
		if (held != NULL && gg_held_is_live(held))
			gg_output_move(output, held->id, gg_target_address(sample),
			               (sample->flags & GG_SAMPLE_OLD) != 0);
	}
	return output->status;
}

static int take_final_state(struct gg_target *target, int64_t end_ns)
{
	struct gg_output *output = target->output;
	bool is_dead = end_ns != GG_TIME_NONE;
	struct gg_span span = { .from_ns = target->record.start_ns,
		                .to_ns = is_dead ? end_ns : output->now_ns };
	uint64_t before_ns = is_dead ? UINT64_MAX : a_while_ago(output);
	struct gg_error error = { 0 };
	struct gg_region_view view;

	if (read_view(target, &view, &error) < 0)
		return gg_output_event(output, target->id, output->now_ns, "damage",
		                       "the last state of the region %s", error.message);
	if (!is_dead)
		gg_target_drain(target, false);
	gg_places_update(&target->places, &target->source, output);
	settle(target, &view, before_ns);
	put_moved(target, &view);
	put_totals(target, &view);
	put_coarse(target, &view, &span);
	put_threads(target, &view, end_ns);
	put_counters(target, &view);
	tell_losses(target, &view);
	gg_places_write(&target->places, output);
	gg_region_view_done(&view);
	return output->status;
}

int gg_target_look(struct gg_target *target, const struct gg_region_view *view,
                   const struct gg_span *span)
{
	gg_places_update(&target->places, &target->source, target->output);
	settle(target, view, UINT64_MAX); /* what is held is of views alone: it was published */
	put_coarse(target, view, span);
	put_threads(target, view, GG_TIME_NONE);
	put_counters(target, view);
	return target->output->status;
}

int gg_target_finish(struct gg_target *target, int64_t end_ns, const char *ending)
{
	struct gg_output *output = target->output;

	if (target->is_finished)
		return output->status;
	if (target->is_ours)
		gg_target_watch_control(target);
	gg_output_expose(output, &target->record, &target->control);
	/* Twice: what was put while the first round was read.  A dead process has no more than that. */
	gg_target_drain(target, end_ns != GG_TIME_NONE);
	gg_target_drain(target, end_ns != GG_TIME_NONE);
	target->record.end_ns = end_ns;
	if (output->status == 0)
		take_final_state(target, end_ns);
	target->record.ending = ending;
	gg_output_keep(output, gg_profile_update_process(output->profile, target->id,
	                                                 &target->record, output->error));
	gg_target_close(target);
	return output->status;
}
