/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_heap_v2 - jemalloc's text dump for jeprof: totals, and the numbers of each thread.
 *
 * The head has the sampling interval, by which jeprof scales the numbers.  The exporter writes
 * numbers that become geiger's estimates when jeprof scales them (dump/heap_text.h).  Threads have
 * the numbers of the model, which are unique among all processes.
 */
#include <stdlib.h>

#include "format/export/export.h"
#include "format/export/text_dump.h"

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_dump dump;
	char buffer[65536];
	struct gg_dump_sums *threads; /* by thread number of the model */
	struct gg_text_dump_addresses addresses;
};

static void write_head(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	struct gg_dump_sums total = { 0 };

	for (size_t i = 0; i < extract->row_count; i++) {
		gg_text_dump_add(&total, &extract->rows[i]);
		gg_text_dump_add(&writing->threads[extract->rows[i].thread], &extract->rows[i]);
	}
	gg_dump_heap_v2(&writing->dump, extract->interval_bytes, &total);
	for (size_t i = 0; i < extract->model->thread_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		if (!(writing->threads[i].allocated.count + writing->threads[i].live.count > 0))
			continue;
		gg_extract_thread_name(extract, (uint32_t)i, &name);
		gg_dump_thread(&writing->dump, i, &writing->threads[i], gg_buf_text(&name));
	}
}

/* Writes rows [first, end), which are one stack of one process, sorted by thread. */
static int write_stack(struct writing *writing, size_t first, size_t end)
{
	const struct gg_extract_row *rows = writing->extract->rows;
	struct gg_dump_sums total = { 0 };

	if (!gg_text_dump_walk(&writing->space, writing->extract->model, rows[first].stack,
	                       &writing->addresses))
		return gg_export_out_of_memory(writing->job);
	for (size_t i = first; i < end; i++)
		gg_text_dump_add(&total, &rows[i]);
	gg_dump_stack(&writing->dump, writing->addresses.items, writing->addresses.count);
	gg_dump_total(&writing->dump, &total);
	while (first < end) {
		struct gg_dump_sums of_thread = { 0 };
		uint32_t thread = rows[first].thread;

		for (; first < end && rows[first].thread == thread; first++)
			gg_text_dump_add(&of_thread, &rows[first]);
		gg_dump_thread(&writing->dump, thread, &of_thread, NULL);
	}
	return 0;
}

static int write_all(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	int code = 0;

	write_head(writing);
	for (size_t i = 0, end; i < extract->row_count && code == 0; i = end) {
		gg_export_progress(writing->job, i, extract->row_count);
		for (end = i; end < extract->row_count &&
		              extract->rows[end].stack == extract->rows[i].stack &&
		              extract->rows[end].process == extract->rows[i].process;)
			end++;
		code = write_stack(writing, i, end);
	}
	gg_text_dump_mappings(&writing->space, extract->model, &writing->dump);
	return code == 0 ? gg_dump_end(&writing->dump) : code;
}

static int write_heap_v2(const struct gg_export *job)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	int code;

	if (writing == NULL)
		return gg_export_out_of_memory(job);
	writing->job = job;
	writing->extract = job->extract;
	writing->dump = (struct gg_dump){ writing->buffer, sizeof(writing->buffer),
		                          .flush = gg_text_dump_append, .context = job->out };
	writing->threads = calloc(job->extract->model->thread_count, sizeof(*writing->threads));
	code = writing->threads == NULL
	               ? gg_export_out_of_memory(job)
	               : gg_address_space_make(&writing->space, job->extract, job->error);
	if (code == 0)
		code = write_all(writing);
	gg_address_space_done(&writing->space);
	free(writing->threads);
	gg_array_done(&writing->addresses);
	free(writing);
	return code;
}

const struct gg_export_format gg_export_heap_v2 = {
	.name = "heap_v2",
	.suffix = ".heap",
	.has_both = true,
	.write = write_heap_v2,
};
