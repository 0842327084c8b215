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

struct heap_v2_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_dump dump;
	char buffer[65536];
	struct gg_dump_sums *threads; /* by thread number of the model */
	struct gg_text_dump_addresses addresses;
};

static void write_head(struct heap_v2_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_dump_sums total = { 0 };

	for (size_t i = 0; i < extract->row_count; i++) {
		gg_text_dump_add(&total, &extract->rows[i]);
		gg_text_dump_add(&writer->threads[extract->rows[i].thread], &extract->rows[i]);
	}
	gg_dump_heap_v2(&writer->dump, extract->interval_bytes, &total);
	for (size_t i = 0; i < extract->model->thread_count; i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		if (!(writer->threads[i].allocated.count + writer->threads[i].live.count > 0))
			continue;
		gg_extract_thread_name(extract, (uint32_t)i, &name);
		gg_dump_thread(&writer->dump, i, &writer->threads[i], gg_buf_text(&name));
	}
}

/* Writes rows [first, end), which are one stack of one process, sorted by thread. */
static int write_stack(struct heap_v2_export *writer, size_t first, size_t end)
{
	const struct gg_extract_row *rows = writer->extract->rows;
	struct gg_dump_sums total = { 0 };

	if (!gg_text_dump_walk(&writer->space, writer->extract->model, rows[first].stack,
	                       &writer->addresses))
		return gg_export_out_of_memory(writer->job);
	for (size_t i = first; i < end; i++)
		gg_text_dump_add(&total, &rows[i]);
	gg_dump_stack(&writer->dump, writer->addresses.items, writer->addresses.count);
	gg_dump_total(&writer->dump, &total);
	while (first < end) {
		struct gg_dump_sums of_thread = { 0 };
		uint32_t thread = rows[first].thread;

		for (; first < end && rows[first].thread == thread; first++)
			gg_text_dump_add(&of_thread, &rows[first]);
		gg_dump_thread(&writer->dump, thread, &of_thread, NULL);
	}
	return 0;
}

static int write_all(struct heap_v2_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	int status = 0;

	write_head(writer);
	for (size_t i = 0, end; i < extract->row_count && status == 0; i = end) {
		gg_export_progress(writer->job, i, extract->row_count);
		for (end = i; end < extract->row_count &&
		              extract->rows[end].stack == extract->rows[i].stack &&
		              extract->rows[end].process == extract->rows[i].process;)
			end++;
		status = write_stack(writer, i, end);
	}
	gg_text_dump_mappings(&writer->space, extract->model, &writer->dump);
	return status == 0 ? gg_dump_end(&writer->dump) : status;
}

static int write_heap_v2(const struct gg_export *job)
{
	struct heap_v2_export *writer = calloc(1, sizeof(*writer));
	int status;

	if (writer == NULL)
		return gg_export_out_of_memory(job);
	writer->job = job;
	writer->extract = job->extract;
	writer->dump = (struct gg_dump){ writer->buffer, sizeof(writer->buffer),
		                         .flush = gg_text_dump_append, .context = job->out };
	writer->threads = calloc(job->extract->model->thread_count, sizeof(*writer->threads));
	status = writer->threads == NULL
	                 ? gg_export_out_of_memory(job)
	                 : gg_address_space_make(&writer->space, job->extract, job->error);
	if (status == 0)
		status = write_all(writer);
	gg_address_space_done(&writer->space);
	free(writer->threads);
	gg_array_done(&writer->addresses);
	free(writer);
	return status;
}

const struct gg_export_format gg_export_heap_v2 = {
	.name = "heap_v2",
	.suffix = ".heap",
	.has_both = true,
	.write = write_heap_v2,
};
