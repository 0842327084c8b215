/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_csv - a table for spreadsheets and data frames.
 *
 * The first line has the names of the columns; each further line is a row (RFC 4180).  Each number
 * stands beside both ends of its confidence interval.  The first numbers belong to the metric of
 * the query, or to live memory.  An end that does not exist is empty.  Pinned memory has no counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "format/export/export.h"

static void put_text(struct gg_buf *out, const char *text)
{
	if (text != NULL && text[0] != '\0')
		gg_csv_append(out, text, strlen(text));
}

static void put_number(struct gg_buf *out, double value)
{
	if (isfinite(value))
		gg_buf_printf(out, ",%.0f", value);
	else
		gg_buf_append_text(out, ",");
}

static void put_sum(const struct gg_extract *extract, const struct gg_extract_sum *sum,
                    struct gg_buf *out)
{
	struct gg_interval bytes = gg_extract_interval(extract, sum, GG_BYTES);
	struct gg_interval count = gg_extract_interval(extract, sum, GG_ALLOCATIONS);
	struct gg_tally tally;

	gg_plain_tally_tally(&sum->tally, &tally);
	gg_buf_printf(out, ",%llu", (unsigned long long)tally.sample_count);
	put_number(out, (double)sum->bytes);
	put_number(out, bytes.low);
	put_number(out, bytes.high);
	if (sum->is_pinned)
		return;
	put_number(out, (double)sum->count);
	put_number(out, count.low);
	put_number(out, count.high);
}

static void put_names(struct gg_buf *out, enum gg_metric metric)
{
	enum { BYTES_END = 4 };

	static const char *const what[] = { "samples", "bytes",     "bytes_low", "bytes_high",
		                            "count",   "count_low", "count_high" };
	size_t end = metric == GG_METRIC_PINNED ? BYTES_END : GG_COUNT(what);

	for (size_t i = 0; i < end; i++)
		gg_buf_printf(out, ",%s_%s", gg_metric_name(metric), what[i]);
}

static void put_stack(const struct gg_model *model, const struct gg_code_location *locations,
                      size_t depth, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf stack = { 0 };

	while (depth-- > 0) {
		gg_buf_append_text(&stack, model->functions[locations[depth].function].name);
		gg_buf_append_text(&stack, depth > 0 ? ";" : "");
	}
	put_text(out, gg_buf_text(&stack));
	out->failed |= stack.failed;
}

static int write_row(const struct gg_export *job, const struct gg_extract_row *row,
                     struct gg_export_path *path)
{
	const struct gg_extract *extract = job->extract;
	const struct gg_model *model = extract->model;
	GG_CLEANUP(gg_buf_done) struct gg_buf program = { 0 };
	GG_CLEANUP(gg_buf_done) struct gg_buf thread = { 0 };
	struct gg_buf *out = job->out;
	struct gg_model_line line;

	if (!gg_export_path(model, row->stack, path))
		return gg_export_out_of_memory(job);
	line = model->lines[path->items[0].line];
	gg_extract_process_name(extract, row->process, &program);
	gg_extract_thread_name(extract, row->thread, &thread);
	gg_buf_printf(out, "%u,", model->processes[row->process].pid);
	put_text(out, gg_buf_text(&program));
	gg_buf_printf(out, ",%u,", model->threads[row->thread].tid);
	put_text(out, gg_buf_text(&thread));
	gg_buf_append_text(out, ",");
	put_text(out, gg_extract_kind(extract, row->kind));
	gg_buf_append_text(out, ",");
	put_text(out, model->functions[path->items[0].function].name);
	gg_buf_append_text(out, ",");
	put_text(out, line.file);
	gg_buf_append_text(out, ",");
	if (line.line != 0)
		gg_buf_printf(out, "%u", line.line);
	gg_buf_append_text(out, ",");
	put_text(out, model->modules[gg_model_stack_frame(model, row->stack)->module].path);
	gg_buf_append_text(out, ",");
	put_stack(model, path->items, path->count, out);
	put_sum(extract, &row->live, out);
	put_sum(extract, &row->allocated, out);
	gg_buf_append_text(out, "\r\n");
	return 0;
}

static int write_csv(const struct gg_export *job)
{
	const struct gg_extract *extract = job->extract;
	struct gg_export_path path = { 0 };
	int status = 0;

	gg_buf_append_text(job->out, "pid,program,tid,thread,kind,function,file,line,module,stack");
	put_names(job->out,
	          extract->metric == GG_METRIC_ALLOCATED ? GG_METRIC_LIVE : extract->metric);
	put_names(job->out, GG_METRIC_ALLOCATED);
	gg_buf_append_text(job->out, "\r\n");
	for (size_t i = 0; i < extract->row_count && status == 0; i++) {
		gg_export_progress(job, i, extract->row_count);
		status = write_row(job, &extract->rows[i], &path);
	}
	gg_array_done(&path);
	return status;
}

const struct gg_export_format gg_export_csv = {
	.name = "csv",
	.suffix = ".csv",
	.write = write_csv,
};
