/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_firefox - the processed profile of the Firefox Profiler, version 61.
 *
 * Each thread has a table of native allocations.  A block has a row with its bytes and, when it was
 * freed, one with minus its bytes and the same address.  The viewer derives retained memory from
 * them.  The exporter numbers blocks and uses each number once as an address, because a reused
 * address would look like the other block.  A free appears in the thread that allocated the block.
 * The same blocks are the thread's samples, weighted by their bytes, so that the viewer draws its
 * graph.  Each process has a counter of its live memory, which the viewer shows as a track.  The
 * viewer has only bytes, so markers hold the confidence intervals of a thread's live and allocated
 * bytes.
 *
 * The version is fixed, because a viewer reads files older than itself and refuses newer ones.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "format/export/firefox/firefox.h"

/* Rounds the bytes of all blocks; each block takes the rounding error of the blocks before it. */
static int weigh(struct gg_firefox *writer)
{
	double owed[2] = { 0 }; /* for freed blocks, and for the others */

	writer->weights = malloc((writer->block_count + 1) * sizeof(*writer->weights));
	if (writer->weights == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writer->block_count; i++) {
		const struct gg_extract_block *block = &writer->blocks[i];
		double *of = &owed[block->free_ns == GG_TIME_NONE];
		double whole = fmax(0, floor(block->bytes + *of + 0.5));

		*of += block->bytes - whole;
		writer->weights[i] = gg_extract_whole(whole);
	}
	return 0;
}

/* Returns the step of a counter that a moment falls into. */
static size_t step_of(const struct gg_extract *extract, int64_t time_ns)
{
	double length = fmax(1, (double)(extract->end_ns - extract->start_ns));
	double share = (double)(time_ns - extract->start_ns) / length;

	return (size_t)(fmin(fmax(share, 0), 1) * GG_FIREFOX_COUNTER_STEPS);
}

/* Adds to a sum, which saturates if a profile claims more memory than any machine has. */
static void change(int64_t *sum, int64_t by)
{
	if (__builtin_add_overflow(*sum, by, sum))
		*sum = by > 0 ? INT64_MAX : -INT64_MAX;
}

static void note_changes(struct gg_firefox *writer)
{
	for (size_t i = 0; i < writer->block_count; i++) {
		const struct gg_extract_block *block = &writer->blocks[i];
		int64_t *changes =
			&writer->changes[(size_t)block->process * (GG_FIREFOX_COUNTER_STEPS + 1)];
		int64_t weight = (int64_t)writer->weights[i];

		change(&changes[step_of(writer->extract, block->alloc_ns)], weight);
		if (block->free_ns != GG_TIME_NONE)
			change(&changes[step_of(writer->extract, block->free_ns)], -weight);
	}
}

/* Computes the sums of threads and processes in one pass. */
static int divide(struct gg_firefox *writer)
{
	const struct gg_extract *extract = writer->extract;

	writer->by_thread = malloc((writer->block_count + 1) * sizeof(*writer->by_thread));
	writer->thread_end = calloc(extract->model->thread_count + 1, sizeof(*writer->thread_end));
	writer->live = calloc(extract->model->thread_count, sizeof(*writer->live));
	writer->allocated = calloc(extract->model->thread_count, sizeof(*writer->allocated));
	writer->changes = calloc(extract->model->process_count * (GG_FIREFOX_COUNTER_STEPS + 1),
	                         sizeof(*writer->changes));
	if (writer->by_thread == NULL || writer->thread_end == NULL || writer->live == NULL ||
	    writer->allocated == NULL || writer->changes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writer->block_count; i++)
		writer->thread_end[writer->blocks[i].thread + 1]++;
	for (size_t i = 0; i < extract->model->thread_count; i++)
		writer->thread_end[i + 1] += writer->thread_end[i];
	for (size_t i = 0; i < writer->block_count;
	     i++) /* turns the beginning of each part into its end */
		writer->by_thread[writer->thread_end[writer->blocks[i].thread]++] = (uint32_t)i;
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		gg_plain_tally_add(&writer->live[row->thread], &row->live.tally);
		gg_plain_tally_add(&writer->allocated[row->thread], &row->allocated.tally);
	}
	note_changes(writer);
	return 0;
}

static int number_libraries(struct gg_firefox *writer)
{
	size_t count = writer->extract->model->module_count;

	writer->library_of = malloc(count * sizeof(*writer->library_of));
	if (writer->library_of == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		writer->library_of[i] = GG_FIREFOX_NONE;
	for (size_t i = 0; i < writer->space.used_count; i++)
		writer->library_of[writer->space.order[i]] = (int64_t)i;
	return 0;
}

static int write_all(struct gg_firefox *writer)
{
	size_t thread_count;
	uint32_t *shown;
	int status;

	shown = calloc(writer->extract->model->thread_count + 1, sizeof(*shown));
	if (shown == NULL)
		return -ENOMEM;
	gg_json_open(&writer->json, NULL, '{');
	gg_firefox_write_meta(writer);
	gg_firefox_write_libraries(writer);
	gg_json_open(&writer->json, "pages", '[');
	gg_json_close(&writer->json);
	status = gg_firefox_write_threads(writer, shown, &thread_count);
	gg_firefox_write_counters(writer, shown, thread_count);
	gg_firefox_write_shared(writer);
	gg_json_close(&writer->json);
	gg_buf_append_text(writer->json.out, "\n");
	free(shown);
	return writer->strings.failed || writer->files.failed ? -ENOMEM : status;
}

static int write_firefox(const struct gg_export *job)
{
	struct gg_firefox writer = { .job = job,
		                     .extract = job->extract,
		                     .json = { .out = job->out } };
	int status = gg_address_space_make(&writer.space, job->extract, job->error);

	if (status == 0)
		status = gg_extract_blocks(job->extract, &writer.blocks, &writer.block_count,
		                           job->error);
	if (status == 0 &&
	    (weigh(&writer) < 0 || divide(&writer) < 0 || number_libraries(&writer) < 0 ||
	     gg_firefox_make_stacks(&writer) < 0 || write_all(&writer) < 0))
		status = gg_export_out_of_memory(job);
	gg_address_space_done(&writer.space);
	gg_string_table_done(&writer.strings);
	gg_string_table_done(&writer.files);
	gg_map_done(&writer.func_of);
	gg_map_done(&writer.frame_of);
	gg_array_done(&writer.funcs);
	gg_array_done(&writer.frames);
	gg_array_done(&writer.stacks);
	free(writer.stack_of);
	free(writer.blocks);
	free(writer.weights);
	free(writer.library_of);
	free(writer.by_thread);
	free(writer.thread_end);
	free(writer.live);
	free(writer.allocated);
	free(writer.changes);
	return status;
}

const struct gg_export_format gg_export_firefox = {
	.name = "firefox",
	.suffix = ".profile.json",
	.has_both = true,
	.write = write_firefox,
};
