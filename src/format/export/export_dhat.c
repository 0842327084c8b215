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

#include "base/json.h"
#include "format/codec/string_table.h"
#include "format/export/address_space.h"
#include "format/export/export.h"

/* A stack of a process.  The numbers stay estimates until they are written. */
struct point {
	uint32_t process, stack;
	double total_bytes, total_count, end_bytes, end_count;
	double bytes, count, most_bytes, most_count; /* now, and at the maximum of bytes */
	double peak_bytes, peak_count;               /* at the global peak */
	double lifetimes_us;
	uint64_t whole[4]; /* total and end, as in the extract's rows */
};

struct writing {
	const struct gg_export *job;
	const struct gg_extract *extract;
	struct gg_address_space space;
	struct gg_string_table frames; /* the frames of the file; number 0 is "[root]" there */
	struct gg_json json;
	struct gg_extract_block *blocks; /* `stack` becomes the number of a point */
	uint32_t *by_end;
	size_t block_count, end_count;
	struct point *points;
	size_t point_count;
	int64_t peak_ns;
	bool has_processes;
};

static int compare_points(const void *a, const void *b)
{
	const struct point *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct point *find_point(struct writing *writing, uint32_t process, uint32_t stack)
{
	const struct point key = { .process = process, .stack = stack };

	return bsearch(&key, writing->points, writing->point_count, sizeof(key), compare_points);
}

static int make_points(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	size_t count = writing->block_count + extract->row_count, kept = 0;

	writing->points = calloc(count + 1, sizeof(*writing->points));
	if (writing->points == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++) {
		writing->points[i].process = writing->blocks[i].process;
		writing->points[i].stack = writing->blocks[i].stack;
	}
	for (size_t i = 0; i < extract->row_count; i++) {
		writing->points[writing->block_count + i].process = extract->rows[i].process;
		writing->points[writing->block_count + i].stack = extract->rows[i].stack;
	}
	qsort(writing->points, count, sizeof(*writing->points), compare_points);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 ||
		    compare_points(&writing->points[kept - 1], &writing->points[i]) != 0)
			writing->points[kept++] = writing->points[i];
	writing->point_count = kept;
	writing->has_processes = kept > 0 &&
	                         writing->points[0].process != writing->points[kept - 1].process;
	return 0;
}

static int add_up(struct writing *writing)
{
	if (gg_extract_ends(writing->blocks, writing->block_count, &writing->by_end,
	                    &writing->end_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++) {
		struct gg_extract_block *block = &writing->blocks[i];
		struct point *point = find_point(writing, block->process, block->stack);
		bool is_live = block->free_ns == GG_TIME_NONE;
		int64_t until_ns = is_live ? writing->extract->end_ns : block->free_ns;

		block->stack = (uint32_t)(point - writing->points);
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
static void find_most(struct writing *writing)
{
	double live = 0, most = 0;
	size_t end = 0;

	writing->peak_ns = writing->extract->start_ns;
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		struct point *point = &writing->points[block->stack];

		for (; end < writing->end_count; end++) {
			const struct gg_extract_block *gone =
				&writing->blocks[writing->by_end[end]];
			struct point *of = &writing->points[gone->stack];

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
			writing->peak_ns = block->alloc_ns;
		}
	}
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		struct point *point = &writing->points[block->stack];

		if (block->alloc_ns > writing->peak_ns || block->free_ns <= writing->peak_ns)
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
static void find_whole(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	bool has_begin = extract->query.from_ns <= 0;

	for (size_t i = 0; i < writing->point_count; i++) {
		struct point *point = &writing->points[i];
		double values[4] = { point->total_bytes, point->total_count, point->end_bytes,
			             point->end_count };

		for (int k = 0; k < 4; k++)
			point->whole[k] = has_begin ? 0 : gg_extract_whole(values[k]);
	}
	for (size_t i = 0; i < extract->row_count && has_begin; i++) {
		const struct gg_extract_row *row = &extract->rows[i];
		struct point *point = find_point(writing, row->process, row->stack);

		/* If more is live than was allocated, the process inherited it at its fork. */
		point->whole[0] += most(row->allocated.bytes, row->live.bytes);
		point->whole[1] += most(row->allocated.count, row->live.count);
		point->whole[2] += row->live.bytes;
		point->whole[3] += row->live.count;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

static uint32_t process_frame(struct writing *writing, uint32_t process)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	gg_extract_process_name(writing->extract, process, &name);
	return gg_string_table_printf(&writing->frames, "0x0: %s (%u)", gg_buf_text(&name),
	                              writing->extract->model->processes[process].pid);
}

static uint32_t place_frame(struct writing *writing, uint64_t address,
                            const struct gg_code_location *place)
{
	const struct gg_model *model = writing->extract->model;
	struct gg_model_line line = model->lines[place->line];
	struct gg_model_function function = model->functions[place->function];
	unsigned long long at = address;

	if (line.file != NULL && line.line != 0)
		return gg_string_table_printf(&writing->frames, "0x%llX: %s (%s:%u)", at,
		                              function.name, line.file, line.line);
	return gg_string_table_printf(&writing->frames, "0x%llX: %s (in %s)", at, function.name,
	                              model->modules[function.module].path);
}

static void write_stack(struct writing *writing, const struct point *point)
{
	const struct gg_model *model = writing->extract->model;
	uint32_t stack = point->stack;

	gg_json_open(&writing->json, "fs", '[');
	do {
		uint64_t address = gg_address_space_address(&writing->space,
		                                            gg_model_stack_frame(model, stack));
		size_t count;
		const struct gg_code_location *places = gg_model_stack_locations(model, stack,
		                                                                 &count);

		for (size_t i = 0; i < count; i++)
			gg_json_integer(&writing->json, NULL,
			                place_frame(writing, address, &places[i]));
		stack = model->stacks[stack].parent;
	} while (stack != 0);
	if (writing->has_processes)
		gg_json_integer(&writing->json, NULL, process_frame(writing, point->process));
	gg_json_close(&writing->json);
}

static uint64_t between(double value, uint64_t least, uint64_t most)
{
	uint64_t whole = gg_extract_whole(value);

	if (whole < least)
		whole = least;
	return whole > most ? most : whole;
}

static void write_point(struct writing *writing, const struct point *point)
{
	struct gg_json *json = &writing->json;
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
	write_stack(writing, point);
	gg_json_close(json);
}

static void write_head(struct writing *writing)
{
	const struct gg_extract *extract = writing->extract;
	struct gg_json *json = &writing->json;
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
	                writing->point_count > 0 ? processes[writing->points[0].process].pid : 0);
	gg_json_integer(json, "te", (uint64_t)(extract->end_ns - extract->start_ns) / 1000);
	gg_json_integer(json, "tg", (uint64_t)(writing->peak_ns - extract->start_ns) / 1000);
}

static void write_file(struct writing *writing)
{
	struct gg_json *json = &writing->json;

	gg_string_table_put(&writing->frames, "");
	gg_json_open(json, NULL, '{');
	write_head(writing);
	gg_json_open(json, "pps", '[');
	for (size_t i = 0; i < writing->point_count; i++) {
		gg_export_progress(writing->job, i, writing->point_count);
		write_point(writing, &writing->points[i]);
	}
	gg_json_close(json);
	gg_json_open(json, "ftbl", '[');
	gg_json_text(json, NULL, "[root]");
	for (size_t i = 1; i < writing->frames.texts.count; i++)
		gg_json_text(json, NULL, writing->frames.texts.items[i]);
	gg_json_close(json);
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
}

static int write_dhat(const struct gg_export *job)
{
	struct writing writing = { .job = job,
		                   .extract = job->extract,
		                   .json = { .out = job->out } };
	int code = gg_address_space_make(&writing.space, job->extract, job->error);

	if (code == 0)
		code = gg_extract_blocks(job->extract, &writing.blocks, &writing.block_count,
		                         job->error);
	if (code == 0 && (make_points(&writing) < 0 || add_up(&writing) < 0))
		code = gg_export_out_of_memory(job);
	if (code == 0) {
		find_most(&writing);
		find_whole(&writing);
		write_file(&writing);
		if (writing.frames.failed)
			code = gg_export_out_of_memory(job);
	}
	gg_address_space_done(&writing.space);
	gg_string_table_done(&writing.frames);
	free(writing.blocks);
	free(writing.by_end);
	free(writing.points);
	return code;
}

const struct gg_export_format gg_export_dhat = {
	.name = "dhat",
	.suffix = ".dhat.json",
	.has_both = true,
	.write = write_dhat,
};
