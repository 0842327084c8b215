/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_dhat - version 2 of the format of Valgrind's DHAT.
 *
 * For each stack the file has its total, its own maximum, its part of the global peak, its live
 * memory at the end, and lifetimes.
 *
 * Changes at one moment count together, frees first, so the peak is the one that `geiger report`
 * calls the peak.  Times are microseconds since the start of the window.  If there are several
 * processes, each is the outermost frame of its stacks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/json.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"
#include "format/export/export.h"
#include "format/export/extract_blocks.h"

/* A stack of a process.  The numbers stay estimates until they are written. */
struct dhat_point {
	uint32_t process, stack;
	double total_bytes, total_count, end_bytes, end_count;
	double bytes, count, most_bytes, most_count; /* now, and at the maximum of bytes */
	double peak_bytes, peak_count;               /* at the global peak */
	double lifetimes_us;
	uint64_t whole[4]; /* total and end, as in the extract's rows */
};

struct dhat_export {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table frames; /* the frames of the file; number 0 is "[root]" there */
	struct gg_json json;
	struct gg_extract_block *blocks; /* `stack` becomes the number of a point */
	uint32_t *by_end;
	size_t block_count, end_count;
	struct dhat_point *points;
	size_t point_count;
	int64_t peak_ns;
	bool has_processes;
};

static int compare_points(const void *a, const void *b)
{
	const struct dhat_point *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct dhat_point *find_point(struct dhat_export *writer, uint32_t process, uint32_t stack)
{
	const struct dhat_point key = { .process = process, .stack = stack };

	return bsearch(&key, writer->points, writer->point_count, sizeof(key), compare_points);
}

static int make_points(struct dhat_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	size_t count = writer->block_count + extract->row_count, kept = 0;

	writer->points = calloc(count + 1, sizeof(*writer->points));
	if (writer->points == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writer->block_count; i++) {
		writer->points[i].process = writer->blocks[i].process;
		writer->points[i].stack = writer->blocks[i].stack;
	}
	for (size_t i = 0; i < extract->row_count; i++) {
		writer->points[writer->block_count + i].process = extract->rows[i].process;
		writer->points[writer->block_count + i].stack = extract->rows[i].stack;
	}
	qsort(writer->points, count, sizeof(*writer->points), compare_points);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_points(&writer->points[kept - 1], &writer->points[i]) != 0)
			writer->points[kept++] = writer->points[i];
	writer->point_count = kept;
	writer->has_processes = kept > 0 &&
	                        writer->points[0].process != writer->points[kept - 1].process;
	return 0;
}

static int add_up(struct dhat_export *writer)
{
	if (gg_extract_ends(writer->blocks, writer->block_count, &writer->by_end,
	                    &writer->end_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < writer->block_count; i++) {
		struct gg_extract_block *block = &writer->blocks[i];
		struct dhat_point *point = find_point(writer, block->process, block->stack);
		bool is_live = block->free_ns == GG_TIME_NONE;
		int64_t until_ns = is_live ? writer->extract->end_ns : block->free_ns;

		gg_assert(point != NULL); /* make_points() has made one for each block */
		block->stack = (uint32_t)(point - writer->points);
		point->total_bytes += block->bytes;
		point->total_count += block->count;
		point->end_bytes += is_live ? block->bytes : 0;
		point->end_count += is_live ? block->count : 0;
		if (until_ns > block->alloc_ns)
			point->lifetimes_us += block->count * (double)(until_ns - block->alloc_ns) *
			                       1e-3;
	}
	return 0;
}

/* Replays the events in order of time, and finds each stack's maximum and the global peak. */
static void find_most(struct dhat_export *writer)
{
	double live = 0, most = 0;
	size_t end = 0;

	writer->peak_ns = writer->extract->start_ns;
	for (size_t i = 0; i < writer->block_count; i++) {
		const struct gg_extract_block *block = &writer->blocks[i];
		struct dhat_point *point = &writer->points[block->stack];

		for (; end < writer->end_count; end++) {
			const struct gg_extract_block *gone = &writer->blocks[writer->by_end[end]];
			struct dhat_point *of = &writer->points[gone->stack];

			if (gone->free_ns > block->alloc_ns)
				break;
			if (gone->free_ns <= gone->alloc_ns)
				continue; /* allocated and freed at one moment */
			of->bytes -= gone->bytes;
			of->count -= gone->count;
			live -= gone->bytes;
		}
		if (block->free_ns <= block->alloc_ns)
			continue;
		point->bytes += block->bytes;
		point->count += block->count;
		live += block->bytes;
		if (point->bytes > point->most_bytes) {
			point->most_bytes = point->bytes;
			point->most_count = point->count;
		}
		if (live > most * (1 + 1e-12)) { /* the margin ignores rounding errors */
			most = live;
			writer->peak_ns = block->alloc_ns;
		}
	}
	for (size_t i = 0; i < writer->block_count; i++) {
		const struct gg_extract_block *block = &writer->blocks[i];
		struct dhat_point *point = &writer->points[block->stack];

		if (block->alloc_ns > writer->peak_ns || block->free_ns <= writer->peak_ns)
			continue;
		point->peak_bytes += block->bytes;
		point->peak_count += block->count;
	}
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Takes whole numbers from the extract's rows.  If the window starts late, the rows lack the blocks
 * from before it, and the sums of the points are rounded instead.
 */
static void find_whole(struct dhat_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	bool has_begin = extract->query.from_ns <= 0;

	for (size_t i = 0; i < writer->point_count; i++) {
		struct dhat_point *point = &writer->points[i];
		double values[4] = { point->total_bytes, point->total_count, point->end_bytes,
			             point->end_count };

		for (int k = 0; k < 4; k++)
			point->whole[k] = has_begin ? 0 : gg_extract_whole(values[k]);
	}
	for (size_t i = 0; i < extract->row_count && has_begin; i++) {
		const struct gg_extract_row *row = &extract->rows[i];
		struct dhat_point *point = find_point(writer, row->process, row->stack);

		/* If more is live than was allocated, the process inherited it at its fork. */
		point->whole[0] += most(row->allocated.bytes, row->live.bytes);
		point->whole[1] += most(row->allocated.count, row->live.count);
		point->whole[2] += row->live.bytes;
		point->whole[3] += row->live.count;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

static uint32_t process_frame(struct dhat_export *writer, uint32_t process)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	gg_extract_process_name(writer->extract, process, &name);
	return gg_string_table_printf(&writer->frames, "0x0: %s (%u)", gg_buf_text(&name),
	                              writer->extract->model->processes[process].pid);
}

static uint32_t location_frame(struct dhat_export *writer, uint64_t address,
                               const struct gg_code_location *location)
{
	const struct gg_model *model = writer->extract->model;
	struct gg_model_line line = model->lines[location->line];
	struct gg_model_function function = model->functions[location->function];
	unsigned long long at = address;

	if (line.file != NULL && line.line != 0)
		return gg_string_table_printf(&writer->frames, "0x%llX: %s (%s:%u)", at,
		                              function.name, line.file, line.line);
	return gg_string_table_printf(&writer->frames, "0x%llX: %s (in %s)", at, function.name,
	                              model->modules[function.module].path);
}

static void write_stack(struct dhat_export *writer, const struct dhat_point *point)
{
	const struct gg_model *model = writer->extract->model;
	uint32_t stack = point->stack;

	gg_json_open(&writer->json, "fs", '[');
	do {
		uint64_t address = gg_address_space_address(&writer->space,
		                                            gg_model_stack_frame(model, stack));
		size_t count;
		const struct gg_code_location *locations = gg_model_stack_locations(model, stack,
		                                                                    &count);

		for (size_t i = 0; i < count; i++)
			gg_json_integer(&writer->json, NULL,
			                location_frame(writer, address, &locations[i]));
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	if (writer->has_processes)
		gg_json_integer(&writer->json, NULL, process_frame(writer, point->process));
	gg_json_close(&writer->json);
}

static uint64_t between(double value, uint64_t least, uint64_t most)
{
	uint64_t whole = gg_extract_whole(value);

	if (whole < least)
		whole = least;
	return whole > most ? most : whole;
}

static void write_point(struct dhat_export *writer, const struct dhat_point *point)
{
	struct gg_json *json = &writer->json;
	uint64_t total = point->whole[0], count = point->whole[1];
	uint64_t peak_bytes = between(point->peak_bytes, 0, total);
	uint64_t peak_count = between(point->peak_count, 0, count);

	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "tb", total);
	gg_json_integer(json, "tbk", count);
	gg_json_integer(json, "tl", between(point->lifetimes_us, 0, UINT64_C(1) << 53));
	gg_json_integer(json, "mb", between(point->most_bytes, peak_bytes, total));
	gg_json_integer(json, "mbk", between(point->most_count, 0, count));
	gg_json_integer(json, "gb", peak_bytes);
	gg_json_integer(json, "gbk", peak_count);
	gg_json_integer(json, "eb", point->whole[2]);
	gg_json_integer(json, "ebk", point->whole[3]);
	write_stack(writer, point);
	gg_json_close(json);
}

static void write_head(struct dhat_export *writer)
{
	const struct gg_extract *extract = writer->extract;
	struct gg_json *json = &writer->json;
	const char *command = NULL;
	const struct gg_profile_process *processes = extract->model->processes;

	if (extract->model->session_count > 0)
		command = extract->model->sessions[0].command;
	gg_json_integer(json, "dhatFileVersion", 2);
	gg_json_text(json, "mode", "heap");
	gg_json_text(json, "verb", "Allocated");
	gg_json_bool(json, "bklt", true);
	gg_json_bool(json, "bkacc", false);
	gg_json_text(json, "tu", "us");
	gg_json_text(json, "Mtu", "s");
	gg_json_integer(json, "tuth", 1000);
	gg_json_text(json, "cmd", command != NULL ? command : "");
	gg_json_integer(json, "pid",
	                writer->point_count > 0 ? processes[writer->points[0].process].pid : 0);
	gg_json_integer(json, "te", (uint64_t)(extract->end_ns - extract->start_ns) / 1000);
	gg_json_integer(json, "tg", (uint64_t)(writer->peak_ns - extract->start_ns) / 1000);
}

static void write_file(struct dhat_export *writer)
{
	struct gg_json *json = &writer->json;

	gg_string_table_put(&writer->frames, "");
	gg_json_open(json, NULL, '{');
	write_head(writer);
	gg_json_open(json, "pps", '[');
	for (size_t i = 0; i < writer->point_count; i++) {
		gg_export_progress(writer->job, i, writer->point_count);
		write_point(writer, &writer->points[i]);
	}
	gg_json_close(json);
	gg_json_open(json, "ftbl", '[');
	gg_json_text(json, NULL, "[root]");
	for (size_t i = 1; i < writer->frames.texts.count; i++)
		gg_json_text(json, NULL, writer->frames.texts.items[i]);
	gg_json_close(json);
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
}

static int write_dhat(const struct gg_export *job)
{
	struct dhat_export writer = { .job = job,
		                      .extract = job->extract,
		                      .json = { .out = job->out } };
	int status = gg_address_space_make(&writer.space, job->extract, job->error);

	if (status == 0)
		status = gg_extract_blocks(job->extract, &writer.blocks, &writer.block_count,
		                           job->error);
	if (status == 0 && (make_points(&writer) < 0 || add_up(&writer) < 0))
		status = gg_export_out_of_memory(job);
	if (status == 0) {
		find_most(&writer);
		find_whole(&writer);
		write_file(&writer);
		if (writer.frames.failed)
			status = gg_export_out_of_memory(job);
	}
	gg_address_space_done(&writer.space);
	gg_string_table_done(&writer.frames);
	free(writer.blocks);
	free(writer.by_end);
	free(writer.points);
	return status;
}

const struct gg_export_format gg_export_dhat = {
	.name = "dhat",
	.suffix = ".dhat.json",
	.has_both = true,
	.write = write_dhat,
};
