/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_tables - copies tables of a region into the profile (record/process/process_tables.h).
 */
#include "record/process/process_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "record/process/ingest.h"
#include "region/reader/view.h"
#include "unwind/unwind.h"

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

int gg_process_tables_totals(struct gg_target *target, const struct gg_region_view *view)
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
			.thread = gg_ingest_thread(target, total->thread),
			.index = i,
		};
	}
	gg_assert(count <= view->site_total_count);
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
		writer->counts.taken_count += total.allocated.sample_count;
		gg_profile_writer_keep(
			writer, gg_profile_put_total(writer->profile, &total, writer->error));
	}
	free(rows);
	return writer->status;
}

int gg_process_tables_threads(struct gg_target *target, const struct gg_region_view *view,
                              int64_t end_ns)
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

int gg_process_tables_counters(struct gg_target *target, const struct gg_region_view *view)
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

int gg_process_tables_moved(struct gg_target *target, const struct gg_region_view *view)
{
	struct gg_profile_writer *writer = target->writer;

	for (uint32_t i = 0; i < view->live_count && writer->status == 0; i++) {
		const struct gg_region_sample *sample = &view->live[i];
		const struct gg_live_set_sample *known;

		if (sample->heap == 0)
			continue;
		known = gg_live_set_find(&target->live_set, sample->id);
		if (known != NULL && gg_live_set_is_live(known))
			gg_profile_writer_change(writer, known->id, gg_target_address(sample),
			                         known->has_type ? 0
			                                         : gg_ingest_type(target, sample),
			                         (sample->flags & GG_REGION_SAMPLE_OLD) != 0);
	}
	return writer->status;
}
