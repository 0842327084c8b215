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
static int weigh(struct gg_firefox *writing)
{
	double owed[2] = { 0 }; /* for freed blocks, and for the others */

	writing->weights = malloc((writing->block_count + 1) * sizeof(*writing->weights));
	if (writing->weights == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		double *of = &owed[block->free_ns == GG_TIME_NONE];
		double whole = fmax(0, floor(block->bytes + *of + 0.5));

		*of += block->bytes - whole;
		writing->weights[i] = gg_extract_whole(whole);
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

static void note_changes(struct gg_firefox *writing)
{
	for (size_t i = 0; i < writing->block_count; i++) {
		const struct gg_extract_block *block = &writing->blocks[i];
		int64_t *changes =
			&writing->changes[(size_t)block->process * (GG_FIREFOX_COUNTER_STEPS + 1)];
		int64_t weight = (int64_t)writing->weights[i];

		change(&changes[step_of(writing->extract, block->alloc_ns)], weight);
		if (block->free_ns != GG_TIME_NONE)
			change(&changes[step_of(writing->extract, block->free_ns)], -weight);
	}
}

/* Computes the sums of threads and processes in one pass. */
static int divide(struct gg_firefox *writing)
{
	const struct gg_extract *extract = writing->extract;

	writing->by_thread = malloc((writing->block_count + 1) * sizeof(*writing->by_thread));
	writing->thread_end = calloc(extract->model->thread_count + 1,
	                             sizeof(*writing->thread_end));
	writing->live = calloc(extract->model->thread_count, sizeof(*writing->live));
	writing->allocated = calloc(extract->model->thread_count, sizeof(*writing->allocated));
	writing->changes = calloc(extract->model->process_count * (GG_FIREFOX_COUNTER_STEPS + 1),
	                          sizeof(*writing->changes));
	if (writing->by_thread == NULL || writing->thread_end == NULL || writing->live == NULL ||
	    writing->allocated == NULL || writing->changes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < writing->block_count; i++)
		writing->thread_end[writing->blocks[i].thread + 1]++;
	for (size_t i = 0; i < extract->model->thread_count; i++)
		writing->thread_end[i + 1] += writing->thread_end[i];
	for (size_t i = 0; i < writing->block_count;
	     i++) /* turns the beginning of each part into its end */
		writing->by_thread[writing->thread_end[writing->blocks[i].thread]++] = (uint32_t)i;
	for (size_t i = 0; i < extract->row_count; i++) {
		const struct gg_extract_row *row = &extract->rows[i];

		gg_plain_tally_add(&writing->live[row->thread], &row->live.rough);
		gg_plain_tally_add(&writing->allocated[row->thread], &row->allocated.rough);
	}
	note_changes(writing);
	return 0;
}

static int number_libraries(struct gg_firefox *writing)
{
	size_t count = writing->extract->model->module_count;

	writing->library_of = malloc(count * sizeof(*writing->library_of));
	if (writing->library_of == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		writing->library_of[i] = GG_FIREFOX_NONE;
	for (size_t i = 0; i < writing->space.used_count; i++)
		writing->library_of[writing->space.order[i]] = (int64_t)i;
	return 0;
}

static int write_all(struct gg_firefox *writing)
{
	size_t thread_count;
	uint32_t *shown;
	int code;

	shown = calloc(writing->extract->model->thread_count + 1, sizeof(*shown));
	if (shown == NULL)
		return -ENOMEM;
	gg_json_open(&writing->json, NULL, '{');
	gg_firefox_write_meta(writing);
	gg_firefox_write_libraries(writing);
	gg_json_open(&writing->json, "pages", '[');
	gg_json_close(&writing->json);
	code = gg_firefox_write_threads(writing, shown, &thread_count);
	gg_firefox_write_counters(writing, shown, thread_count);
	gg_firefox_write_shared(writing);
	gg_json_close(&writing->json);
	gg_buf_append_text(writing->json.out, "\n");
	free(shown);
	return writing->strings.failed || writing->files.failed ? -ENOMEM : code;
}

static int write_firefox(const struct gg_export *job)
{
	struct gg_firefox writing = { .job = job,
		                      .extract = job->extract,
		                      .json = { .out = job->out } };
	int code = gg_address_space_make(&writing.space, job->extract, job->error);

	if (code == 0)
		code = gg_extract_blocks(job->extract, &writing.blocks, &writing.block_count,
		                         job->error);
	if (code == 0 &&
	    (weigh(&writing) < 0 || divide(&writing) < 0 || number_libraries(&writing) < 0 ||
	     gg_firefox_make_stacks(&writing) < 0 || write_all(&writing) < 0))
		code = gg_export_out_of_memory(job);
	gg_address_space_done(&writing.space);
	gg_string_table_done(&writing.strings);
	gg_string_table_done(&writing.files);
	gg_map_done(&writing.func_of);
	gg_map_done(&writing.frame_of);
	gg_array_done(&writing.funcs);
	gg_array_done(&writing.frames);
	gg_array_done(&writing.stacks);
	free(writing.stack_of);
	free(writing.blocks);
	free(writing.weights);
	free(writing.library_of);
	free(writing.by_thread);
	free(writing.thread_end);
	free(writing.live);
	free(writing.allocated);
	free(writing.changes);
	return code;
}

const struct gg_export_format gg_export_firefox = {
	.name = "firefox",
	.suffix = ".profile.json",
	.has_both = true,
	.write = write_firefox,
};
